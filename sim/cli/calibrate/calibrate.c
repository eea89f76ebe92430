/* orrery calibrate: fits the cost models of a GPU to measured profiles, or reports the error of a shipped fit on
 * them; fits the CPU overhead of an engine and the power of a GPU. */
#include "analysis/calibrate/profile/profile_library.h"
#include "sim/catalog/calibration.h"
#include "sim/cli/calibrate/calibrate_measured.h"
#include "sim/cli/calibrate/calibrate_print.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/core/number.h"
#include "sim/core/path.h"

#include <string.h>

enum { MAX_PROFILES = 256 };

struct calibrate_options {
    const char *gpu, *predict, *calibration, *engine, *set, *library, *llm, *tensor_parallel, *output, *report;
    const char *from, *until, *nodes;
    int form; /* enum answer_form */
    bool table;
};

#define AT(name) offsetof(struct calibrate_options, name)
static const struct option calibrate_options[] = {
    {"What is read", "gpu", 'g', OPTION_TEXT, AT(gpu), "GPU", NULL, "the GPU that was measured ('orrery list gpus')"},
    {NULL, "predict", 'p', OPTION_TEXT, AT(predict), "GPU", NULL, "fit nothing: the error of the shipped model of GPU"},
    {NULL, "calibration", 'c', OPTION_TEXT, AT(calibration), "FILE", NULL,
     "predict with a calibration file of your own, instead of the shipped one"},
    {NULL, "engine", 'e', OPTION_TEXT, AT(engine), "NAME", NULL,
     "the serving engine whose iterations were measured: fit its CPU overhead"},
    {NULL, "set", 's', OPTION_TEXT, AT(set), "SET", NULL,
     "parameter set; default: that of the format, in-model or isolated"},
    {NULL, "library", 0, OPTION_TEXT, AT(library), "LIB", NULL,
     "whose kernels were measured, with version and year: \"vLLM 0.14.0, 2026\""},
    {NULL, "llm", 0, OPTION_TEXT, AT(llm), "LLM", NULL, "the measured LLM, if the profile does not name it"},
    {NULL, "tp", 0, OPTION_TEXT, AT(tensor_parallel), "N", NULL,
     "tensor parallelism of the profile, if the profile does not state it"},
    {NULL, "from", 0, OPTION_TEXT, AT(from), "TIME", NULL,
     "begin of a log of failures, as its times are written; default: its first time"},
    {NULL, "until", 0, OPTION_TEXT, AT(until), "TIME", NULL,
     "end of a log of failures, for which nodes were observed; default: its last time"},
    {NULL, "nodes", 0, OPTION_TEXT, AT(nodes), "N", NULL,
     "nodes that a log of failures observed, also those without one; default: those in it"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL,
     "calibration file: fitted classes replace those in it"},
    {NULL, "table", 't', OPTION_FLAG, AT(table), NULL, NULL,
     "write the measured points too: costs near them are interpolated"},
    {NULL, "report", 0, OPTION_TEXT, AT(report), "DIR", NULL, "draw predicted over measured, and error by band (SVG)"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the errors as CSV"},
    {0}};
#undef AT

static const char pooled_name[] = "default";

/* The profiles that were read. */
struct reading {
    struct cli *cli;
    const struct calibrate_options *options;
    struct arena arena;
    struct catalog catalog;
    const char *gpu;         /* name of the measured GPU, also if it was given as a file */
    int64_t tensor_parallel; /* 0: not given */
    size_t n;
    struct profile *profiles;
};

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

/* --- Reading profiles --- */

/* Splits "GPU=FILE". */
static int split_argument(struct reading *reading, const char *argument, const char **gpu, const char **path)
{
    const char *equals = strchr(argument, '=');
    if (equals == NULL)
        return diag_error(&reading->cli->diag, SIM_E_USAGE, NULL, "write GPU=PROFILE: a fit over several GPUs",
                          "no GPU before '%s'", argument);
    *gpu = arena_printf(&reading->arena, "%.*s", (int)(equals - argument), argument);
    *path = equals + 1;
    return *gpu != NULL ? 0 : SIM_E_NOMEM;
}

static void check_profile(const struct profile *profile, const struct profile_options *options, struct diag *diag)
{
    calibrate_check_profile(profile, options->gpu, diag);
    if (options->llm != NULL && !profile->uses_llm)
        diag_warning(diag, profile->path, NULL, "'--llm' is not used: the profile names the measured LLM");
    if (options->tensor_parallel > 0 && !profile->uses_tensor_parallel)
        diag_warning(diag, profile->path, NULL, "'--tp' is not used: the profile gives the tensor parallelism");
}

/* Whose kernels were measured: as the user says, else as the repository says of its profiles. */
static int find_library(struct reading *reading, const char *path, struct library_release *release)
{
    const char *given = reading->options->library;
    if (given != NULL) return profile_library_parse(given, &reading->arena, release, &reading->cli->diag);
    return profile_library_find(&reading->catalog, path, &reading->arena, release, &reading->cli->diag);
}

static int read_profile(struct reading *reading, const char *argument, const char *gpu_name)
{
    const struct calibrate_options *options = reading->options;
    struct profile_options how = {
        .catalog = &reading->catalog, .llm = options->llm, .tensor_parallel = reading->tensor_parallel};
    const char *path = argument, *where = options->predict != NULL ? "--predict" : "--gpu";
    struct profile *profile = &reading->profiles[reading->n];
    int code = 0;
    reading->gpu = pooled_name;
    if (strcmp(gpu_name, pooled_name) == 0) {
        where = argument;
        code = split_argument(reading, argument, &gpu_name, &path);
    }
    struct gpu_spec *gpu = arena_alloc(&reading->arena, sizeof *gpu);
    if (gpu == NULL) return SIM_E_NOMEM;
    how.gpu = gpu;
    if (code == 0) code = catalog_gpu(&reading->catalog, gpu_name, where, &reading->arena, gpu, &reading->cli->diag);
    if (code == 0) code = profile_read(path, &how, &reading->arena, profile, &reading->cli->diag);
    if (code == 0 && options->predict == NULL) code = find_library(reading, path, &profile->library);
    if (code != 0) return code;
    check_profile(profile, &how, &reading->cli->diag);
    if (path == argument) reading->gpu = how.gpu->name;
    if (options->set != NULL) profile->set = options->set;
    reading->n++;
    return 0;
}

static int read_tensor_parallel(struct reading *reading)
{
    const char *text = reading->options->tensor_parallel;
    if (text == NULL) return 0;
    if (number_i64(text, strlen(text), &reading->tensor_parallel) == NUMBER_OK && reading->tensor_parallel >= 1)
        return 0;
    return diag_error(&reading->cli->diag, SIM_E_USAGE, NULL, NULL,
                      "option '--tp' must be a whole number from 1, got '%s'", text);
}

static int find_catalog(struct reading *reading)
{
    reading->catalog.root = paths_catalog(&reading->arena);
    return reading->catalog.root != NULL ? 0 : SIM_E_NOMEM;
}

static int read_profiles(struct reading *reading, const struct cli_call *call, const char *gpu)
{
    reading->profiles = arena_alloc(&reading->arena, (size_t)call->n_arguments * sizeof *reading->profiles);
    if (reading->profiles == NULL) return SIM_E_NOMEM;
    const char *llm = reading->options->llm;
    struct llm_spec spec;
    int code = read_tensor_parallel(reading);
    if (code == 0 && llm != NULL)
        code = catalog_llm(&reading->catalog, llm, "--llm", &reading->arena, &spec, &reading->cli->diag);
    for (int i = 0; code == 0 && i < call->n_arguments; i++) code = read_profile(reading, call->arguments[i], gpu);
    return code;
}

/* --- Fitting --- */

/* With a table of few rows the shipped models stay: the table corrects them. */
static int keep_laws(struct reading *reading, struct calibrated_set *set)
{
    struct calibration laws;
    struct diag ignored; /* a set of the user's own is in no shipped file */
    diag_init(&ignored);
    int code = calibration_load(&reading->catalog, reading->gpu, set->name, &reading->arena, &laws, &ignored);
    if (code == SIM_E_CONFIG)
        code = calibration_load(&reading->catalog, reading->gpu, "in-model", &reading->arena, &laws,
                                &reading->cli->diag);
    return code == 0 ? calibrate_keep_laws(set, &laws, &reading->arena, &reading->cli->diag) : code;
}

static int fit_sets(struct reading *reading, struct calibrated_set *sets, size_t *n_sets)
{
    const bool is_pooled = strcmp(reading->options->gpu, pooled_name) == 0;
    int code = calibrate_sets(reading->profiles, reading->n, is_pooled, &reading->arena, sets, n_sets,
                              &reading->cli->diag);
    for (size_t i = 0; code == 0 && i < *n_sets; i++) {
        sets[i].has_table = reading->options->table;
        if (sets[i].has_table) code = keep_laws(reading, &sets[i]);
    }
    return code;
}

static int fit(struct reading *reading)
{
    struct cli *cli = reading->cli;
    const struct calibrate_options *options = reading->options;
    struct calibrated_set *sets = arena_alloc(&reading->arena, reading->n * sizeof *sets);
    size_t n_sets;
    if (sets == NULL) return SIM_E_NOMEM;
    int code = options->report != NULL ? calibrate_make_directory(cli, options->report) : 0;
    if (code == 0) code = fit_sets(reading, sets, &n_sets);
    if (code == 0 && options->report != NULL) code = calibrate_draw(cli, options->report, reading->gpu, sets, n_sets);
    if (code == 0) code = calibrate_print_fit(reading->gpu, sets, n_sets, (enum answer_form)options->form, cli->out);
    if (code != 0 || options->output == NULL) return code;
    return calibrate_save(cli, options->output, reading->gpu, sets, n_sets);
}

/* --- Predicting --- */

/* Warns whose models stand in for missing measurements. */
static int warn_of_stand_ins(struct reading *reading, const struct calibration *calibration,
                             const struct profile *profile)
{
    const char *names[KERNEL_CLASS_COUNT];
    size_t n = 0;
    struct text text;
    text_init(&text);
    for (size_t class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        const char *origin = calibration->origin[class];
        size_t i = 0;
        if (calibration->kernels.ranges[class].fitted || !profile_has_class(profile, (enum kernel_class) class))
            continue;
        while (i < n && strcmp(names[i], origin) != 0) i++;
        if (i < n) continue;
        text_printf(&text, "%s'%s'", n > 0 ? ", " : "", origin);
        names[n++] = origin;
    }
    const int code = text.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && n > 0)
        diag_warning(&reading->cli->diag, reading->gpu, "'orrery calibrate --gpu' fits a profile of it",
                     "this GPU has no measurements for some of the rows; the models of %s stand in", text.chars);
    text_fini(&text);
    return code;
}

static int predict(struct reading *reading)
{
    struct cli *cli = reading->cli;
    const struct calibrate_options *options = reading->options;
    const char *gpu = reading->gpu, *set = reading->profiles[0].set;
    for (size_t i = 1; i < reading->n; i++)
        if (strcmp(reading->profiles[i].set, set) != 0)
            return fail_usage(cli, "name one of them with --set, or predict them one by one",
                              "the profiles belong to different sets of parameters");
    const struct calibration_request request = {
        .gpu = gpu, .kernels = set, .collectives = set, .file = options->calibration, .where = "--calibration",
        .sets_where = options->set != NULL ? "--set" : NULL};
    struct calibration calibration;
    struct profile joined;
    struct prediction prediction;
    int code = calibration_read(&reading->catalog, &request, &reading->arena, &calibration, &cli->diag);
    if (code == 0) code = profile_join(reading->profiles, reading->n, &reading->arena, &joined, &cli->diag);
    if (code == 0) {
        joined.path = reading->profiles[0].path;
        code = predict_profile(&calibration, set, &joined, &prediction, &cli->diag);
    }
    if (code == 0) code = warn_of_stand_ins(reading, &calibration, &joined);
    if (code != 0) return code;
    return calibrate_print_prediction(gpu, &prediction, &joined, (enum answer_form)options->form, cli->out);
}

/* --- The verb --- */

/* The output may replace an old calibration, but none of the files that are read. */
static int check_output(struct cli *cli, const struct cli_call *call)
{
    const struct calibrate_options *options = call->options;
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add(&outputs, "--output", options->output);
    for (int i = 0; code == 0 && i < call->n_arguments; i++) {
        const char *equals = strchr(call->arguments[i], '=');
        code = outputs_check(&outputs, call->arguments[i]);
        if (code == 0 && equals != NULL) code = outputs_check(&outputs, equals + 1);
    }
    return code == 0 ? outputs_check(&outputs, options->gpu) : code;
}

static int check_power_usage(struct cli *cli, const struct cli_call *call)
{
    const struct calibrate_options *options = call->options;
    if (options->gpu == NULL || call->n_arguments < 2)
        return fail_usage(cli, "write orrery calibrate power --gpu GPU MEASURED...",
                          "power is fitted to measurements of one GPU");
    if (options->predict == NULL && options->engine == NULL && options->calibration == NULL && options->set == NULL &&
        options->library == NULL && options->llm == NULL && options->tensor_parallel == NULL &&
        options->report == NULL && !options->table)
        return 0;
    return fail_usage(cli, "leave out all but --gpu, --output, --json and --csv",
                      "the measurements of power determine all else");
}

/* One file behind a word, and no options but those of the output. */
static int check_file_usage(struct cli *cli, const struct cli_call *call, const char *hint, const char *text)
{
    const struct calibrate_options *options = call->options;
    if (call->n_arguments == 2 && options->gpu == NULL && options->predict == NULL && options->engine == NULL &&
        options->calibration == NULL && options->set == NULL && options->library == NULL && options->llm == NULL &&
        options->tensor_parallel == NULL && options->report == NULL && !options->table)
        return 0;
    return fail_usage(cli, hint, text);
}

static int check_usage(struct cli *cli, const struct calibrate_options *options)
{
    if ((options->gpu != NULL) + (options->predict != NULL) + (options->engine != NULL) != 1)
        return fail_usage(cli,
                          "--gpu GPU fits a model to the profiles, --predict GPU reports the error of the shipped one, "
                          "--engine NAME fits the CPU overhead of an engine",
                          "exactly one of --gpu, --predict and --engine is needed");
    if (options->engine != NULL &&
        (options->report != NULL || options->set != NULL || options->llm != NULL || options->tensor_parallel != NULL))
        return fail_usage(cli, "leave out --report, --set, --llm and --tp",
                          "an engine's measurements determine all else");
    if (options->library != NULL && options->gpu == NULL)
        return fail_usage(cli, "leave out --library", "only a fitted file states a library");
    if (options->predict != NULL && (options->output != NULL || options->report != NULL))
        return fail_usage(cli, "leave out --output and --report", "a prediction fits nothing, and writes no files");
    if (options->table && (options->gpu == NULL || strcmp(options->gpu, pooled_name) == 0))
        return fail_usage(cli, "name the GPU with --gpu", "measured points are those of one GPU");
    if (options->table && path_is_json(options->gpu))
        return fail_usage(cli, "put the GPU's file into configs/hardware, and use its name",
                          "a calibration finds the GPU of its measured points in the catalog");
    if (options->calibration != NULL && options->predict == NULL)
        return fail_usage(cli, "leave out --calibration", "only a prediction takes a calibration");
    if (options->predict != NULL && strcmp(options->predict, pooled_name) == 0)
        return fail_usage(cli, "name the GPU that was measured; one without calibration is predicted by the defaults",
                          "'default' is no GPU");
    if (options->set != NULL && !profile_is_set_name(options->set, strlen(options->set)))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL,
                          "a set's name may hold only letters, digits, '_', '.' and '-', got '%s'", options->set);
    return 0;
}

static const char board_hint[] =
    "write orrery calibrate board NAME.board.json, with no more than --output, --json and --csv";
static const char lifetimes_hint[] = "write orrery calibrate lifetimes FILE.csv, with no more than --from, --until, "
                                     "--nodes, --output, --json and --csv";

static int calibrate(struct cli *cli, const struct cli_call *call)
{
    const struct calibrate_options *options = call->options;
    const char *const *paths = (const char *const *)call->arguments;
    const bool of_power = strcmp(call->arguments[0], "power") == 0, of_board = strcmp(call->arguments[0], "board") == 0,
               of_lifetimes = strcmp(call->arguments[0], "lifetimes") == 0;
    int code = 0;
    if (of_power)
        code = check_power_usage(cli, call);
    else if (of_board)
        code = check_file_usage(cli, call, board_hint, "a board is one file, and determines all else");
    else if (of_lifetimes)
        code = check_file_usage(cli, call, lifetimes_hint, "field data of lifetimes are one file");
    else
        code = check_usage(cli, options);
    if (code == 0 && !of_lifetimes && (options->from || options->until || options->nodes))
        code = fail_usage(cli, "leave out --from, --until and --nodes",
                          "only a log of failures has such an observation");
    if (code == 0) code = check_output(cli, call);
    if (code != 0) return code;
    struct reading reading = {.cli = cli, .options = options};
    arena_init(&reading.arena);
    code = find_catalog(&reading);
    const bool has_word = of_power || of_board || of_lifetimes;
    const struct calibrate_inputs inputs = {paths + has_word, (size_t)(call->n_arguments - has_word)};
    const struct calibrate_output output = {options->output, (enum answer_form)options->form};
    if (code == 0 && of_power)
        code = calibrate_power(cli, &reading.catalog, options->gpu, &inputs, &output);
    else if (code == 0 && of_lifetimes)
        code = calibrate_lifetimes(cli, &inputs, &(struct calibrate_observation){options->from, options->until, options->nodes},
                                   &output);
    else if (code == 0 && of_board)
        code = calibrate_board(cli, &reading.catalog, &inputs, &output);
    else if (code == 0 && options->engine != NULL)
        code = calibrate_engine(cli, &reading.catalog, options->engine, &inputs, &output);
    else if (code == 0)
        code = read_profiles(&reading, call, options->gpu != NULL ? options->gpu : options->predict);
    if (code == 0 && reading.n > 0) code = options->predict != NULL ? predict(&reading) : fit(&reading);
    arena_fini(&reading.arena);
    return code;
}

const struct verb verb_calibrate = {
    .name = "calibrate",
    .summary = "fit cost models to measured profiles of a GPU, or predict a profile",
    .usage = "--gpu GPU PROFILE... [-o FILE] [-t] [--report DIR] [-s SET] [--library LIB] [--json|--csv]\n"
             "--gpu default GPU=PROFILE... [-o FILE]\n"
             "--predict GPU PROFILE... [--calibration FILE] [--set SET] [--llm LLM] [--tp N] [--json|--csv]\n"
             "--engine NAME MEASURED... [-o FILE] [--json|--csv]\n"
             "power --gpu GPU MEASURED... [-o FILE] [--json|--csv]\n"
             "board NAME.board.json [-o FILE] [--json|--csv]\n"
             "lifetimes FILE.csv [--from TIME] [--until TIME] [--nodes N] [-o FILE] [--json|--csv]",
    .notes = "A profile is a CSV file, plain or gzip-compressed, known by its columns: those of Vidur, aiconfigurator,\n"
             "LLMServingSim, or one of your own with a row per kernel call:\n\n"
             "  kernel,m,n,k,weights,compute,time_us,group\n"
             "  gemm,16,4096,4096,fp16,fp16,21.5,llama-2-7b\n\n"
             "with the members of the kernel's shape as columns (see below), the time in 'time_us' or 'time_s', and\n"
             "optionally 'operator' and 'group' (rows to be held out together). Without -o nothing is written.\n"
             "FILE@KERNEL reads the rows of one kernel, of a table of experts that names several.\n"
             "The name of a file of Vidur's collectives gives its topology, like network__a100_dgx__all_reduce.csv.\n"
             "'--gpu default' fits all GPUs together: what GPUs without calibration use.\n"
             "With '--table' a file also keeps the measured points, and costs of the same shapes between them scale\n"
             "the fitted model to the measurements.\n\n"
             "'--engine' reads measured iterations instead: Splitwise's prompt and token times, Vidur's CPU overheads,\n"
             "aiconfigurator's table of TTFT and TPOT, DistServe's coefficients, LLMServingSim's operators.\n\n"
             "'power' reads measured power instead: Splitwise's shares of TDP, the ML.ENERGY leaderboard, Zeus' sweeps of\n"
             "the power limit, or loads of your own, with columns load,busy_frac,instant_w,flop_per_s,bytes_per_s.\n\n"
             "'board' predicts a board's rows without their groups, and writes the interval of these errors: what runs\n"
             "on GPUs, LLMs and engines get that no fit has seen.\n\n"
             "'lifetimes' fits a Weibull law to field data, in hours: columns age_h,failed[,from_h] for units that are\n"
             "observed from an age on until they fail or leave, or shipped_h,end_h,window_h,lag_h,age_h where only\n"
             "units that failed have a known date of deployment. Columns node,down_at[,up_at] are a log of failures,\n"
             "with calendar times or hours; a node is as new whenever it is up again. The file is the 'lifetime' of a\n"
             "cause of failures.\n",
    .print_more = calibrate_print_kernels,
    .options = calibrate_options,
    .options_bytes = sizeof(struct calibrate_options),
    .min_arguments = 1,
    .max_arguments = MAX_PROFILES,
    .run = calibrate,
};
