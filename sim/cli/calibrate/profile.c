/* orrery profile: writes the measuring kit; checks what it measured on a GPU, and fits all of it. */
#include "analysis/calibrate/write.h"
#include "sim/catalog/calibration.h"
#include "sim/cli/calibrate/calibrate_print.h"
#include "sim/cli/calibrate/profile_kit.h"
#include "sim/cli/calibrate/profile_print.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/core/path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct profile_verb_options {
    const char *gpu, *kit, *output, *power;
    int form; /* enum answer_form */
};

#define AT(name) offsetof(struct profile_verb_options, name)
static const struct option profile_verb_options[] = {
    {"What is read", "gpu", 'g', OPTION_TEXT, AT(gpu), "GPU", NULL,
     "the GPU that was measured; default: found by the manifest"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL,
     "calibration file: fitted classes replace those in it"},
    {NULL, "power", 'p', OPTION_TEXT, AT(power), "FILE", NULL, "file of the GPU's power"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {"The kit", "kit", 'k', OPTION_TEXT, AT(kit), "DIR", NULL, "write the Python files that measure a GPU into DIR"},
    {0}};
#undef AT

struct session {
    struct cli *cli;
    const struct profile_verb_options *options;
    struct arena arena;
    struct catalog catalog;
    struct gpu_spec gpu;
    struct profile_findings findings;
};

/* --- Reading --- */

static int open_catalog(struct session *session)
{
    session->catalog.root = paths_catalog(&session->arena);
    return session->catalog.root != NULL ? 0 : SIM_E_NOMEM;
}

static int find_gpu(struct session *session)
{
    struct diag *diag = &session->cli->diag;
    const struct kit *kit = &session->findings.kit;
    const char *name = session->options->gpu;
    int code = name != NULL ? 0 : kit_find_gpu(kit, &session->catalog, &session->arena, &name, diag);
    if (code == 0) code = catalog_gpu(&session->catalog, name, "--gpu", &session->arena, &session->gpu, diag);
    if (code == 0) kit_check_gpu(kit, &session->gpu, diag);
    session->findings.gpu = &session->gpu;
    session->findings.gpu_word = name;
    return code;
}

static void check_profile(const struct profile *profile, const struct gpu_spec *gpu, struct diag *diag)
{
    calibrate_check_profile(profile, gpu, diag);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        const struct kit_rates rates = kit_rates_of(profile, (enum kernel_class)c);
        kit_check_rates(&rates, kernel_class_info((enum kernel_class)c)->name, profile, gpu, diag);
    }
}

/* Whose kernels a file of the kit has: NCCL's collectives, all else PyTorch's; its own in Triton count as these. */
static void name_library(const struct kit *kit, const char *file, struct library_release *release)
{
    const bool is_nccl = strcmp(file, "kernels-collectives.csv") == 0;
    const char *version = is_nccl ? kit->nccl : kit->torch;
    const int64_t year = kit->date != NULL ? strtoll(kit->date, NULL, 10) : 0;
    if (version == NULL || year < 1990 || year > 2100) return;
    *release = (struct library_release){is_nccl ? "NCCL" : "PyTorch", version, year};
}

static int read_profiles(struct session *session)
{
    struct profile_findings *findings = &session->findings;
    struct diag *diag = &session->cli->diag;
    const struct profile_options how = {.catalog = &session->catalog, .gpu = &session->gpu};
    struct config_list files;
    int code = kit_files(&findings->kit, "kernels-", &session->arena, &files, diag);
    if (code != 0) return code;
    const char *const *names = files.items;
    findings->profiles = arena_alloc(&session->arena, (files.n + 1) * sizeof *findings->profiles);
    if (findings->profiles == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < files.n; i++) {
        struct profile *profile = &findings->profiles[findings->n_profiles++];
        const char *path = path_join(&session->arena, findings->kit.folder, names[i]);
        code = path != NULL ? profile_read(path, &how, &session->arena, profile, diag) : SIM_E_NOMEM;
        if (code == 0) check_profile(profile, &session->gpu, diag);
        if (code == 0) name_library(&findings->kit, names[i], &profile->library);
    }
    return code;
}

static int read_copies(struct session *session)
{
    struct profile_findings *findings = &session->findings;
    findings->copies_path = kit_path(&findings->kit, "copies", &session->arena);
    if (findings->copies_path == NULL) return 0;
    return kit_copies_read(findings->copies_path, &session->arena, &findings->copies, &session->cli->diag);
}

/* --- Fitting --- */

static int fit_kernels(struct session *session)
{
    struct profile_findings *findings = &session->findings;
    findings->sets = arena_alloc(&session->arena, (findings->n_profiles + 1) * sizeof *findings->sets);
    if (findings->sets == NULL) return SIM_E_NOMEM;
    return calibrate_sets(findings->profiles, findings->n_profiles, false, &session->arena, findings->sets,
                          &findings->n_sets, &session->cli->diag);
}

/* Predicts whole iterations by the fits, as a run that names the written file: classes that the first set lacks come
 * from the others, then from the shipped files. */
static int predict_iterations(struct session *session)
{
    struct profile_findings *findings = &session->findings;
    struct diag *diag = &session->cli->diag;
    const char *path = kit_path(&findings->kit, "iterations", &session->arena);
    struct calibration calibration;
    struct llm_spec llm;
    if (path == NULL || findings->n_sets == 0) return 0;
    int code = kit_iterations_read(path, &session->arena, &findings->iterations, diag);
    if (code == 0)
        code = calibration_load(&session->catalog, session->gpu.name, "isolated", &session->arena, &calibration, diag);
    if (code == 0) code = catalog_llm(&session->catalog, kit_llm, path, &session->arena, &llm, diag);
    if (code != 0) return code;
    for (size_t i = findings->n_sets; i > 0; i--) kit_lay_over(&findings->sets[i - 1], &calibration);
    return kit_iterations_predict(&findings->iterations, &calibration, &session->gpu, &llm);
}

static int fit_power(struct session *session)
{
    struct profile_findings *findings = &session->findings;
    const char *path = kit_path(&findings->kit, "power", &session->arena);
    if (path == NULL) return 0;
    if (isnan(session->gpu.context_w)) {
        findings->power_problem = "write the load 'idle with context' of power.csv as 'context_power' into the GPU's "
                                  "file (configs/hardware/README.md)";
        return 0;
    }
    int code = power_data_read(path, &session->catalog, &session->gpu, &session->arena, &findings->power,
                               &session->cli->diag);
    if (code != 0) return code;
    if (findings->power.n_rows < 2 * (POWER_MEMORY + 1)) {
        findings->power_problem = "too few loads were held";
        return 0;
    }
    return power_fit(POWER_ACTIVITY, &findings->power, 1, &session->gpu, &session->arena,
                     &findings->power_fit[POWER_ACTIVITY]);
}

/* --- Writing --- */

static int write_power(struct session *session)
{
    const struct profile_findings *findings = &session->findings;
    struct text json;
    if (findings->power_fit[POWER_ACTIVITY].rows == 0)
        return diag_error(&session->cli->diag, SIM_E_DATA, findings->kit.folder, NULL,
                          "there is no fit of power to write: %s",
                          findings->power_problem != NULL ? findings->power_problem : "it was not measured");
    text_init(&json);
    int code = power_write(session->gpu.name, NULL, &findings->power, 1, findings->power_fit, &json);
    if (code == 0) code = calibrate_write(session->cli, session->options->power, &json);
    text_fini(&json);
    return code;
}

static int write_files(struct session *session)
{
    const struct profile_findings *findings = &session->findings;
    const struct profile_verb_options *options = session->options;
    int code = 0;
    if (options->output != NULL && findings->n_sets == 0)
        return diag_error(&session->cli->diag, SIM_E_DATA, findings->kit.folder, NULL,
                          "no kernels were measured: there is nothing to write");
    if (options->output != NULL)
        code = calibrate_save(session->cli, options->output, session->gpu.name, findings->sets, findings->n_sets);
    return code == 0 && options->power != NULL ? write_power(session) : code;
}

/* --- The verb --- */

/* Outputs are none of the files of the folder. */
static int check_outputs(struct session *session)
{
    const struct profile_verb_options *options = session->options;
    const struct kit *kit = &session->findings.kit;
    struct outputs outputs = {.diag = &session->cli->diag};
    struct config_list files;
    int code = outputs_add(&outputs, "--output", options->output);
    if (code == 0) code = outputs_add(&outputs, "--power", options->power);
    if (code == 0) code = outputs_check(&outputs, options->gpu);
    if (code == 0) code = outputs_check(&outputs, path_join(&session->arena, kit->folder, "manifest.json"));
    if (code == 0) code = kit_files(kit, "", &session->arena, &files, &session->cli->diag);
    for (size_t i = 0; code == 0 && i < files.n; i++)
        code = outputs_check(&outputs, path_join(&session->arena, kit->folder, ((const char *const *)files.items)[i]));
    return code;
}

static int read_folder(struct session *session, const char *folder)
{
    struct profile_findings *findings = &session->findings;
    int code = kit_read(folder, &session->arena, &findings->kit, &session->cli->diag);
    if (code == 0) code = check_outputs(session);
    if (code == 0) code = find_gpu(session);
    if (code == 0) code = read_profiles(session);
    if (code == 0) code = read_copies(session);
    findings->requests_path = code == 0 ? kit_path(&findings->kit, "vllm-requests", &session->arena) : NULL;
    findings->output = session->options->output;
    findings->power_output = session->options->power;
    return code;
}

static int profile_folder(struct session *session, const char *folder)
{
    arena_init(&session->arena);
    int code = open_catalog(session);
    if (code == 0) code = read_folder(session, folder);
    if (code == 0 && session->findings.n_profiles > 0) code = fit_kernels(session);
    if (code == 0) code = predict_iterations(session);
    if (code == 0) code = fit_power(session);
    if (code == 0) code = write_files(session);
    if (code == 0)
        code = profile_print(&session->findings, (enum answer_form)session->options->form, session->cli->out);
    arena_fini(&session->arena);
    return code;
}

static int profile_verb(struct cli *cli, const struct cli_call *call)
{
    const struct profile_verb_options *options = call->options;
    const bool reads = options->gpu != NULL || options->output != NULL || options->power != NULL ||
                       options->form != ANSWER_TEXT;
    if (options->kit != NULL && (reads || call->n_arguments > 0))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave out all but --kit", "'--kit' only writes the kit");
    if (options->kit != NULL) return profile_kit_write(cli, options->kit);
    if (call->n_arguments == 0 && reads)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "usage: orrery profile DIR", "there is no folder to read");
    if (call->n_arguments == 0) {
        profile_kit_recipe(cli->out);
        return 0;
    }
    struct session session = {.cli = cli, .options = options};
    return profile_folder(&session, call->arguments[0]);
}

const struct verb verb_profile = {
    .name = "profile",
    .summary = "calibrate a GPU of your own: the measuring kit, and fits to what it measured",
    .usage = "[DIR [-o FILE] [--power FILE] [--gpu GPU] [--json]]\n"
             "--kit DIR",
    .notes = "Without arguments: how to calibrate a GPU in twenty minutes.\n"
             "'--kit' writes the measuring kit, Python files for the machine with the GPU. DIR is then the folder that\n"
             "the kit wrote there. Its manifest and rows are checked: the GPU against the catalog, columns and numbers,\n"
             "rates against the peaks of the data sheet. All kernels are fitted as by 'orrery calibrate'. Errors are\n"
             "those of the fit, of rows left out of it, and of whole iterations, which are in no fit. Without -o and\n"
             "--power nothing is written.\n",
    .options = profile_verb_options,
    .options_bytes = sizeof(struct profile_verb_options),
    .min_arguments = 0,
    .max_arguments = 1,
    .run = profile_verb,
};
