/* orrery sweep: all runs of a study, on all cores, as a shard of several, or on the ranks of MPI. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/cli/run/clock.h"
#include "sim/cli/run/results_limit.h"
#include "sim/cli/study/recorded.h"
#include "sim/cli/study/study_subject.h"
#include "sim/cli/study/sweep_refused.h"
#include "sim/cli/study/sweep_table.h"
#include "sim/cli/study/sweep_warnings.h"
#include "sim/cli/study/sweeping.h"
#include "sim/core/path.h"
#include "sim/study/sweep.h"

#ifdef ORRERY_MPI
#include "sim/study/mpi.h"
#else
#include "sim/study/workers.h"
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_verb_options {
    struct option_texts settings;
    const char *seeds, *name, *output, *results_limit, *workers, *shard, *data;
    int form; /* enum answer_form */
    int keep; /* in keeps */
    bool resume, dry_run, quiet;
};

static const char *const keeps[] = {"study", "metrics", "curves", "rows", "decisions", NULL};

#define AT(name) offsetof(struct sweep_verb_options, name)
static const struct option sweep_options[] = {
    {"What is simulated", "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "set a value of the scenario in every run"},
    {NULL, "seeds", 0, OPTION_TEXT, AT(seeds), "N", NULL, "seeds 1 .. N instead of the study's"},
    {NULL, "name", 0, OPTION_TEXT, AT(name), "TEXT", NULL, "title of the study in the results"},
    {NULL, "data", 0, OPTION_TEXT, AT(data), "DIR", NULL, DATA_OPTION_HELP},
    {NULL, "dry-run", 0, OPTION_FLAG, AT(dry_run), NULL, NULL,
     "list the runs, check every value of every axis, and stop"},
    {"What comes out", "output", 'o', OPTION_TEXT, AT(output), "DB", NULL,
     "the new results database (default: the study's name and '.db')"},
    {NULL, "keep", 0, OPTION_CHOICE, AT(keep), "study|metrics|curves|rows|decisions", keeps,
     "of each run, as the study says (default); metrics; + curves; + rows; + decisions"},
    {NULL, "results-limit", 0, OPTION_TEXT, AT(results_limit), "SIZE", NULL,
     "stop when the runs have written this much; default " RESULTS_LIMIT_DEFAULT},
    {NULL, "resume", 0, OPTION_FLAG, AT(resume), NULL, NULL,
     "resume a sweep that was stopped or killed; run failed runs again"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print runs, configurations or, of a search, outcomes as CSV"},
    {NULL, "latex", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print tables of LaTeX"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "no progress and no closing line"},
    {"Where it is computed (the result stays the same)", "jobs", 'j', OPTION_TEXT, AT(workers), "N", NULL,
     "runs in parallel (default: one per core)"},
    {NULL, "shard", 0, OPTION_TEXT, AT(shard), "I/N|slurm", NULL,
     "only the I-th of N parts, for 'orrery merge'; slurm: that of the job array's task"},
    {0}};
#undef AT

/* --- Options --- */

/* A whole number of at least 1 at the start of a text; 0 if there is none. */
static long read_count(const char *text, const char **end)
{
    char *stop;
    errno = 0;
    long n = strtol(text, &stop, 10);
    *end = stop;
    return stop != text && errno == 0 && n >= 1 && n <= 1000000 ? n : 0;
}

/* Tasks of a job array may start at any number; they are numbered in steps of one. */
static int read_slurm(struct cli *cli, struct sweep_options *how)
{
    static const char *const names[] = {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"};
    long values[3];
    for (int i = 0; i < 3; i++) {
        const char *text = getenv(names[i]);
        char *end;
        if (text == NULL)
            return diag_error(&cli->diag, SIM_E_USAGE, "--shard", "submit with sbatch --array=1-N",
                              "'slurm' needs %s, which only a task of a job array has", names[i]);
        values[i] = strtol(text, &end, 10);
        if (end == text || *end != 0)
            return diag_error(&cli->diag, SIM_E_USAGE, names[i], NULL, "is not a number: '%s'", text);
    }
    how->shard = (size_t)(values[0] - values[1] + 1);
    how->n_shards = (size_t)values[2];
    if (values[0] >= values[1] && how->shard <= how->n_shards) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, "--shard", "number the tasks in steps of one: --array=1-N",
                      "task %ld of an array of %ld tasks from %ld on is no shard", values[0], values[2], values[1]);
}

static int read_shard(struct cli *cli, const char *text, struct sweep_options *how)
{
    const char *end;
    if (text == NULL) return 0;
    if (strcmp(text, "slurm") == 0) return read_slurm(cli, how);
    how->shard = (size_t)read_count(text, &end);
    if (how->shard > 0 && *end == '/') how->n_shards = (size_t)read_count(end + 1, &end);
    if (how->n_shards >= how->shard && how->shard > 0 && *end == 0) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, "--shard", "such as --shard 3/16",
                      "must be I/N with I from 1 to N, got '%s'", text);
}

/* --- Progress --- */

struct sweep_watch {
    FILE *err;
    bool is_shown, has_line;
    double started_s;
    size_t n_done, n_runs; /* so far */
    struct sweeping_size size;
};

static void show_progress(void *context, const struct sweep_progress *progress)
{
    struct sweep_watch *watch = context;
    size_t n_ended = progress->n_done + progress->n_failed;
    double wall_s = clock_wall_s() - watch->started_s;
    sweeping_size_warn(&watch->size, progress);
    watch->n_done = progress->n_done;
    watch->n_runs = progress->n_runs;
    if (!watch->is_shown || progress->n_runs == 0) return;
    fprintf(watch->err, "\r\033[K%zu of %zu runs", n_ended, progress->n_runs);
    if (progress->n_failed > 0) fprintf(watch->err, ", %zu failed", progress->n_failed);
    if (n_ended > progress->n_found) {
        double left_s = wall_s / (double)(n_ended - progress->n_found) * (double)(progress->n_runs - n_ended);
        int64_t s = (int64_t)(left_s + 0.5);
        fprintf(watch->err, "  ETA %02" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    }
    fflush(watch->err);
    watch->has_line = true;
}

static void print_closing_line(const struct sweep_watch *watch, const struct sweep_result *result, const char *output)
{
    if (result->was_complete) {
        answer_print(watch->err, "%s is complete: nothing is left to do\n", output);
        return;
    }
    fprintf(watch->err, "%zu runs", result->n_runs);
    if (result->n_found > 0) fprintf(watch->err, ", %zu of them found", result->n_found);
    if (result->n_unfit > 0)
        fprintf(watch->err, ", %zu %s not fit", result->n_unfit, result->n_unfit == 1 ? "does" : "do");
    if (result->n_failed > 0) fprintf(watch->err, ", %zu failed", result->n_failed);
    answer_print(watch->err, ", in %.2f s; results in %s\n", clock_wall_s() - watch->started_s, output);
}

/* --- Ranks --- */

#ifdef ORRERY_MPI
static struct ranks join_ranks(void)
{
    return mpi_start();
}

static void leave_ranks(void)
{
    mpi_stop();
}

/* A rank that alone cannot load the study reports that and ends the sweep. */
static int agree(struct cli *cli, const struct ranks *ranks, int code)
{
    if (mpi_agree(code) || code != 0) return code;
    return diag_error(&cli->diag, SIM_E_CONFIG, NULL, "all of them must see the same files",
                      "rank %d can load the study, but others cannot", ranks->rank);
}
#else
static struct ranks join_ranks(void)
{
    return (struct ranks){.n = 1};
}

static void leave_ranks(void)
{
}

static int agree(struct cli *cli, const struct ranks *ranks, int code)
{
    const char *n = getenv("OMPI_COMM_WORLD_SIZE");
    if (code != 0 || n == NULL || strcmp(n, "1") == 0 || ranks->n > 1) return code;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, "build it with make MPI=1",
                      "orrery was started by mpirun, but built without MPI");
}
#endif

/* --- The verb --- */

static int do_sweep(struct cli *cli, const struct sweep_verb_options *options, const char *path,
                    const struct study *study, struct sweep_options *how)
{
    struct sweeping_host host;
    struct sweep_result result = {0};
    struct sweep_watch watch = {.err = cli->err, .started_s = clock_wall_s()};
    watch.is_shown = !options->quiet && isatty(fileno(cli->err));
    watch.size = (struct sweeping_size){.err = cli->err, .output = how->output, .keep = study->keep,
                                        .limit_bytes = how->limit_bytes, .is_shown = watch.is_shown};
    how->resume = options->resume;
    how->interrupt = cli->interrupt;
    how->on_progress = show_progress;
    how->progress_context = &watch;
    int code = sweeping_init(&host, cli);
    const bool is_first = how->ranks == NULL || how->ranks->rank == 0;
    if (code == 0) code = heard_create(study, &host.heard, &cli->diag);
    if (code == 0 && is_first) sweeping_replicates_warn(&host, study, path, how->output, cli->err);
    if (code == 0) code = sweep(study, how, &host.runner, &result, &cli->diag);
    how->progress_context = NULL;
    if (watch.has_line) fprintf(cli->err, "\r\033[K");
    bool is_written = (code == 0 || result.n_failed > 0) && is_first;
    if (is_written && how->n_shards == 0) {
        if (code == 0 && !options->quiet) code = study_subject_print(how->output, cli->err, &cli->diag);
        int table_code = sweep_table_results(study, how->output, (enum answer_form)options->form, cli->out, &cli->diag);
        if (code == 0) code = table_code;
        fflush(cli->out); /* warnings follow it */
        const int warnings_code = sweep_warnings_print(study, how->output, host.heard, cli->err, &cli->diag);
        if (code == 0) code = warnings_code;
        if (code == 0) code = recorded_warn(study, how->output, cli->plugins, cli->interrupt, &cli->diag);
    }
    heard_destroy(host.heard);
    sweeping_fini(&host);
    if (is_written && !options->quiet) print_closing_line(&watch, &result, how->output);
    if (code == SIM_E_INTERRUPTED && is_first)
        return diag_error(&cli->diag, code, how->output, "the same call with --resume goes on from there",
                          "interrupted: %zu of %zu runs are finished and kept", watch.n_done, watch.n_runs);
    return code;
}

/* Prints the runs and checks that their worlds can be built. */
static int list_runs(struct cli *cli, const struct sweep_verb_options *options, const char *path,
                     const struct study *study, const char *output)
{
    struct sweeping_host host;
    int code = sweeping_init(&host, cli);
    if (code == 0) code = sweep_table_runs(study, (enum answer_form)options->form, cli->out, &cli->diag);
    if (code == 0) sweeping_replicates_warn(&host, study, path, output, cli->err);
    if (code == 0) code = sweep_check(study, &host.runner, &cli->diag);
    sweeping_fini(&host);
    return code;
}

/* Whether the study's name is usable as the name of a visible file in this directory. */
static bool is_file_name(const char *name)
{
    enum { MAX_CHARS = 200 };
    for (const char *c = name; *c != 0; c++)
        if (*c == '/' || (unsigned char)*c < ' ' || *c == 127) return false;
    return name[0] != 0 && name[0] != '.' && name[0] != '-' && strlen(name) <= MAX_CHARS;
}

static const char *name_output(const struct sweep_verb_options *options, const struct study *study,
                               const struct sweep_options *how, struct arena *arena)
{
    if (options->output != NULL) return options->output;
    if (how->n_shards == 0) return arena_printf(arena, "%s.db", study->name);
    return arena_printf(arena, "%s.%zu-of-%zu.db", study->name, how->shard, how->n_shards);
}

/* Checked before the first run, not after the last. */
static int check_output(struct cli *cli, const struct sweep_verb_options *options, const char *output, const char *path,
                        const struct study *study)
{
    struct outputs outputs = {.diag = &cli->diag};
    if (options->output == NULL && !is_file_name(study->name))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name the results database with -o",
                          "the study's name '%s' is not usable as a file name", study->name);
    int code = outputs_add(&outputs, "--output", output);
    if (code == 0 && paths_is_directory(output))
        code = diag_error(&cli->diag, SIM_E_USAGE, output, "name a file in it, such as results.db",
                          "the results database would be a directory");
    if (code == 0) code = outputs_check(&outputs, path);
    if (code == 0) code = outputs_check(&outputs, study->scenario);
    if (code == 0) code = outputs_check_results(&outputs, "--output", output);
    return code == 0 ? outputs_check_plugins(&outputs, cli->plugins) : code;
}

static int load(struct cli *cli, const struct sweep_verb_options *options, const char *path, struct arena *arena,
                struct study *study, struct sweep_options *how)
{
    int n_seeds;
    int code = paths_take_data(cli, options->data);
    if (code == 0) code = sweeping_read_count(cli, "--seeds", options->seeds, &n_seeds);
    if (code == 0) code = sweeping_read_count(cli, "--jobs", options->workers, &how->workers);
    if (code == 0) code = read_shard(cli, options->shard, how);
    if (code == 0) code = results_limit_parse(options->results_limit, &how->limit_bytes, &cli->diag);
    if (code == 0) code = study_load(path, arena, study, &cli->diag);
    if (code != 0) return code;
    struct study_overlay overlay = {.n_settings = options->settings.n, .settings = options->settings.items,
                                    .n_seeds = n_seeds, .name = options->name,
                                    .keep = options->keep > 0 ? keeps[options->keep] : NULL};
    code = study_lay(study, &overlay, arena, &cli->diag);
    const bool is_first = how->ranks == NULL || how->ranks->rank == 0; /* other ranks would find the same */
    if (code == 0 && !options->dry_run && is_first) code = sweep_refused(cli, study, &cli->diag);
    if (code != 0) return code;
    how->output = name_output(options, study, how, arena);
    if (how->output == NULL) return diag_nomem(&cli->diag);
    return check_output(cli, options, how->output, path, study);
}

static int run_study(struct cli *cli, const struct sweep_verb_options *options, const char *path, struct arena *arena)
{
    struct ranks ranks = join_ranks();
    struct sweep_options how = {.ranks = ranks.n > 1 ? &ranks : NULL};
    struct study study;
    int code = agree(cli, &ranks, load(cli, options, path, arena, &study, &how));
    if (code == 0 && options->dry_run)
        code = ranks.rank == 0 ? list_runs(cli, options, path, &study, how.output) : 0;
    else if (code == 0)
        code = do_sweep(cli, options, path, &study, &how);
    leave_ranks();
    if (ranks.rank == 0) return code;
    diag_init(&cli->diag); /* rank 0 has reported it */
    return 0;
}

/* A bare name that is no file, or a path in "configs" as pages name it, is a study that comes with the program; if it
 * is unknown, it stays as it is. NULL when out of memory. */
static const char *find_study(const char *name, struct arena *arena)
{
    const bool is_shipped = strncmp(name, "configs/", strlen("configs/")) == 0;
    if ((strpbrk(name, "/.") != NULL && !is_shipped) || paths_is_file(name)) return name;
    const char *data = paths_data(arena);
    const char *path = data == NULL ? NULL
                       : is_shipped ? arena_printf(arena, "%s/%s", data, name)
                                    : arena_printf(arena, "%s/configs/studies/%s.json", data, name);
    return path != NULL && !paths_is_file(path) ? name : path;
}

/* Of a bare name that is no file, nor a study that comes with the program. */
static int fail_unknown(struct cli *cli, const char *name, struct arena *arena)
{
    static const char *const endings[] = {".json", NULL};
    struct file_names files = {0};
    const char *hint = paths_data_hint(arena), *data = paths_data(arena);
    const char *folder = data != NULL ? path_join(arena, data, "configs/studies") : NULL;
    if (folder != NULL && paths_list_files(arena, folder, endings, &files) == SIM_E_NOMEM)
        return diag_nomem(&cli->diag);
    for (size_t i = 0; i < files.n; i++) {
        files.names[i] = arena_printf(arena, "%.*s", (int)strcspn(files.names[i], "."), files.names[i]);
        if (files.names[i] == NULL) return diag_nomem(&cli->diag);
    }
    const char *nearest = text_nearest(name, files.names, files.n);
    if (hint == NULL && nearest != NULL) hint = arena_printf(arena, "did you mean '%s'?", nearest);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL,
                      hint != NULL ? hint : "name a file, or one of 'orrery list studies'", "no study '%s'", name);
}

/* Points to the right verb when the call names a scenario. */
static int check_is_study(struct cli *cli, const char *path, struct arena *arena)
{
    if (paths_is_database(path))
        return diag_error(&cli->diag, SIM_E_USAGE, path, "'orrery report' and 'orrery compare' read it",
                          "this is a database of results, not a study");
    const char *study = paths_shipped(arena, "studies", path);
    if (study != NULL)
        return diag_error(&cli->diag, SIM_E_USAGE, path, arena_printf(arena, "did you mean '%s'?", study),
                          "no such file");
    const char *data = paths_data(arena);
    const char *scenario = data != NULL ? arena_printf(arena, "%s/configs/scenarios/%s.json", data, path) : NULL;
    const bool is_bare = strpbrk(path, "/.") == NULL && !paths_is_file(path);
    if (is_bare && scenario != NULL && paths_is_file(scenario))
        return diag_error(&cli->diag, SIM_E_USAGE, path,
                          "'orrery run' simulates it; a study names it as its 'scenario'",
                          "this is a scenario, not a study");
    return is_bare ? fail_unknown(cli, path, arena) : file_kind_check_path(path, FILE_STUDY, &cli->diag);
}

static int sweep_verb(struct cli *cli, const struct cli_call *call)
{
    struct arena arena;
    arena_init(&arena);
    const char *path = find_study(call->arguments[0], &arena);
    int code = path != NULL ? check_is_study(cli, path, &arena) : SIM_E_NOMEM;
    if (code == 0) code = run_study(cli, call->options, path, &arena);
    arena_fini(&arena);
    return code;
}

const struct verb verb_sweep = {
    .name = "sweep",
    .summary = "run a study: a scenario for every combination of values on its axes, on all cores",
    .usage = "STUDY [-o results.db] [options]",
    .notes = "STUDY is a JSON file that names a scenario, axes and seeds, or the name of one in configs/studies. Finished runs\n"
             "are kept in DB.shards until all are finished; then DB appears.\n",
    .options = sweep_options,
    .explain_key = key_explain_option,
    .options_bytes = sizeof(struct sweep_verb_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .takes_plugins = true,
    .run = sweep_verb,
};

/* --- orrery merge --- */

struct merge_options {
    const char *output;
    bool partial;
};

#define AT(name) offsetof(struct merge_options, name)
static const struct option merge_options[] = {
    {"Options", "output", 'o', OPTION_TEXT, AT(output), "DB", NULL, "the new results database; needed"},
    {NULL, "partial", 0, OPTION_FLAG, AT(partial), NULL, NULL, "merge although runs are missing"},
    {0}};
#undef AT

static int merge(struct cli *cli, const struct cli_call *call)
{
    const struct merge_options *options = call->options;
    if (options->output == NULL)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name a new file with -o", "the output is missing");
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add(&outputs, "--output", options->output);
    for (int i = 0; code == 0 && i < call->n_arguments; i++) code = outputs_check(&outputs, call->arguments[i]);
    if (code == 0) code = outputs_check_results(&outputs, "--output", options->output);
    if (code != 0) return code;
    return sweep_merge((const char *const *)call->arguments, (size_t)call->n_arguments, options->output,
                       options->partial, &cli->diag);
}

const struct verb verb_merge = {
    .name = "merge",
    .summary = "merge the shards of a study into one results database",
    .usage = "SHARD.db... -o all.db [--partial]",
    .notes = "'orrery sweep STUDY --shard I/N -o SHARD.db' writes shards. The merged database equals that of a sweep without\n"
             "shards.\n",
    .options = merge_options,
    .options_bytes = sizeof(struct merge_options),
    .min_arguments = 1,
    .max_arguments = 100000,
    .results_arguments = 100000,
    .run = merge,
};
