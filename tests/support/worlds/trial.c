#include "tests/support/worlds/trial.h"

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/run/simulate.h"
#include "sim/store/record.h"
#include "sim/world/rows/tee.h"
#include "tests/support/worlds/laws.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STALL_EVENTS = 100000, PATH_CHARS = 256 };

/* A run of a world. */
struct outcome {
    int code;
    bool is_cut;
    char hash[HASH_HEX_CHARS];
    char finding[DIAG_TEXT_CHARS]; /* the first error */
    struct laws laws;
};

/* How a run differs. */
struct manner {
    const char *name;
    enum queue_kind queue;
    bool single_step;
};

__attribute__((format(printf, 2, 3))) static void found(struct trial *trial, const char *format, ...)
{
    if (trial->verdict == TRIAL_FOUND) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->text, sizeof trial->text, format, arguments);
    va_end(arguments);
    trial->verdict = TRIAL_FOUND;
}

static const char *first_error(const struct diag *diag)
{
    for (int i = 0; i < diag->n_items; i++)
        if (diag->items[i].level == DIAG_ERROR) return diag->items[i].text;
    return "no finding";
}

/* --- One run --- */

enum { SAMPLES_PER_EVENT = 20 };

struct limit {
    uint64_t most_events, n_samples;
    volatile sig_atomic_t reached;
};

static void watch_events(void *context, const struct world_progress *progress)
{
    struct limit *limit = context;
    if (progress->events >= limit->most_events) limit->reached = 1;
}

/* A short period asks for any number of samples. */
static int count_sample(void *context, const struct sample_row *row)
{
    struct limit *limit = context;
    (void)row;
    if (++limit->n_samples >= SAMPLES_PER_EVENT * limit->most_events) limit->reached = 1;
    return 0;
}

/* Runs the world, which must have been built before: it cannot be refused any more. */
static void run(const struct setup *setup, const struct manner *manner, uint64_t most_events, struct outcome *outcome)
{
    static const enum results_keep keeps[] = {[SCENARIO_KEEP_METRICS] = KEEP_METRICS,
                                              [SCENARIO_KEEP_CURVES] = KEEP_CURVES,
                                              [SCENARIO_KEEP_ROWS] = KEEP_ROWS,
                                              [SCENARIO_KEEP_DECISIONS] = KEEP_DECISIONS};
    struct limit limit = {.most_events = most_events};
    struct world_options options = {.queue = manner->queue, .single_step = manner->single_step, .check = true,
                                    .stall_events = STALL_EVENTS, .interrupt = &limit.reached,
                                    .progress = watch_events, .progress_context = &limit};
    struct hash_sink hash = {0};
    struct tee tee = {0};
    struct diag diag;
    struct world_result result;
    *outcome = (struct outcome){0};
    diag_init(&diag);
    outcome->code = hash_sink_init(&hash, keeps[setup->scenario.keep]);
    tee_add(&tee, hash_sink(&hash));
    tee_add(&tee, (struct sink){.context = &limit, .sample = count_sample});
    tee_add(&tee, laws_sink(&outcome->laws, sim_s_from_ns(setup->scenario.until_ns)));
    struct sink sink = tee_sink(&tee);
    if (outcome->code == 0) outcome->code = simulate_rows(setup, &options, &sink, &result, &diag);
    outcome->is_cut = outcome->code == SIM_E_INTERRUPTED;
    if (outcome->is_cut) outcome->code = 0;
    if (outcome->code != 0) snprintf(outcome->finding, sizeof outcome->finding, "%s", first_error(&diag));
    if (hash_sink_hex(&hash, outcome->hash) != 0) outcome->code = SIM_E_NOMEM;
    hash_sink_fini(&hash);
}

/* --- Verdicts --- */

/* Whether the scenario is wrong, which some runs find only when they read a trace or compute a first cost. */
static bool is_refusal(int code)
{
    return code == SIM_E_CONFIG || code == SIM_E_UNFIT || code == SIM_E_DATA || code == SIM_E_USAGE;
}

static void judge(const struct outcome *outcome, const struct manner *manner, struct trial *trial)
{
    trial->n_runs++;
    trial->is_cut = trial->is_cut || outcome->is_cut;
    if (outcome->code != 0 && outcome->code != SIM_E_STALLED)
        found(trial, "%s: %s: %s", manner->name, sim_err_text(outcome->code), outcome->finding);
    if (outcome->laws.is_broken) found(trial, "%s: %s", manner->name, outcome->laws.text);
}

/* A run that was cut, or that the watchdog stopped, ends at the same event only where events are the same. */
static void compare(const struct outcome *first, const struct outcome *other, const struct manner *manner,
                    struct trial *trial)
{
    const bool ended = first->code != SIM_E_STALLED && !first->is_cut && !other->is_cut;
    judge(other, manner, trial);
    if (manner->single_step && !ended) return;
    if (other->code != first->code)
        found(trial, "%s: it ends with '%s', not '%s'", manner->name, sim_err_text(other->code),
              sim_err_text(first->code));
    else if (strcmp(other->hash, first->hash) != 0)
        found(trial, "%s: another result hash", manner->name);
}

static const struct manner plain = {.name = "calendar"};

static int load(const char *json, const struct trial_options *options, struct setup *setup, struct diag *diag)
{
    int code = setup_load_json(setup, "world", json, &(struct setup_options){0}, diag);
    setup->catalog.memory = options->memory;
    return code;
}

/* Whether the world can be built. */
static int build(const struct setup *setup, struct diag *diag)
{
    const struct world_options options = {.config = setup->config, .catalog = &setup->catalog};
    struct world *world;
    int code = world_create(&setup->scenario, &options, &world, diag);
    if (code == 0) world_destroy(world);
    return code;
}

static void run_again(const char *json, const struct trial_options *options, const struct outcome *first,
                      struct trial *trial)
{
    static const struct manner again = {.name = "a second time"};
    const long blocks = mem_live_blocks();
    struct outcome outcome;
    struct setup setup;
    struct diag diag;
    diag_init(&diag);
    int code = load(json, options, &setup, &diag);
    if (code == 0) {
        run(&setup, &again, options->most_events, &outcome);
        compare(first, &outcome, &again, trial);
    } else {
        found(trial, "a second time: refused: %s", first_error(&diag));
    }
    setup_fini(&setup);
    if (mem_live_blocks() != blocks) found(trial, "a second time: %ld blocks stay", mem_live_blocks() - blocks);
}

/* --- In a sweep --- */

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    const bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* The result hash of the first run in a database; empty: there is none. */
static void read_hash(const char *path, char hash[HASH_HEX_CHARS])
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    hash[0] = 0;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, "SELECT result_hash FROM run WHERE id = 1", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        snprintf(hash, HASH_HEX_CHARS, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

static int run_verb(char **words, int n, char *finding, size_t finding_bytes)
{
    static const volatile sig_atomic_t never = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    struct cli *cli = calloc(1, sizeof *cli);
    if (nowhere == NULL || cli == NULL) abort();
    *cli = (struct cli){.out = nowhere, .err = nowhere, .interrupt = &never};
    const int status = cli_main(cli, n, words);
    snprintf(finding, finding_bytes, "%s", first_error(&cli->diag));
    free(cli);
    fclose(nowhere);
    return status;
}

static void remove_file(const char *directory, const char *name)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

static void sweep_in(const char *directory, const char *json, const struct setup *setup, const char *wanted,
                     struct trial *trial)
{
    static const char *const keeps[] = {"metrics", "curves", "rows", "decisions"};
    char world[PATH_CHARS], study[PATH_CHARS], database[PATH_CHARS], text[PATH_CHARS], hash[HASH_HEX_CHARS];
    char finding[DIAG_TEXT_CHARS], verb[] = "sweep", program[] = "orrery", output[] = "-o", quiet[] = "-q";
    snprintf(world, sizeof world, "%s/world.json", directory);
    snprintf(study, sizeof study, "%s/study.json", directory);
    snprintf(database, sizeof database, "%s/study.db", directory);
    snprintf(text, sizeof text, "{\"scenario\": \"world.json\", \"seeds\": [%" PRId64 ", 7777], \"keep\": \"%s\"}",
             setup->scenario.seed, keeps[setup->scenario.keep]);
    if (!write_file(world, json) || !write_file(study, text)) abort();
    char *words[] = {program, verb, study, output, database, quiet, NULL};
    const int status = run_verb(words, 6, finding, sizeof finding);
    read_hash(database, hash);
    trial->n_runs++;
    if (hash[0] == 0)
        found(trial, "sweep: exit status %d, %s", status, finding);
    else if (strcmp(hash, wanted) != 0)
        found(trial, "sweep: another result hash");
}

static void run_in_sweep(const char *json, const struct setup *setup, const char *wanted, struct trial *trial)
{
    const char *temporary = getenv("TMPDIR");
    char directory[PATH_CHARS / 2];
    snprintf(directory, sizeof directory, "%s/world-XXXXXX", temporary != NULL ? temporary : P_tmpdir);
    if (mkdtemp(directory) == NULL) abort();
    sweep_in(directory, json, setup, wanted, trial);
    static const char *const files[] = {"world.json", "study.json", "study.db", NULL};
    for (const char *const *file = files; *file != NULL; file++) remove_file(directory, *file);
    rmdir(directory);
}

/* --- All manners --- */

static void run_all(const char *json, const struct setup *setup, const struct trial_options *options,
                    struct trial *trial)
{
    static const struct manner others[] = {{.name = "heap", .queue = QUEUE_HEAP},
                                           {.name = "single step", .single_step = true}};
    struct outcome first, other;
    if (options->plant != NULL) options->plant(json);
    run(setup, &plain, options->most_events, &first);
    if (is_refusal(first.code)) {
        *trial = (struct trial){.verdict = TRIAL_INVALID};
        snprintf(trial->text, sizeof trial->text, "%s", first.finding);
        return;
    }
    judge(&first, &plain, trial);
    for (int i = 0; i < 2; i++) {
        run(setup, &others[i], options->most_events, &other);
        compare(&first, &other, &others[i], trial);
    }
    run_again(json, options, &first, trial);
    if (first.code == 0 && !trial->is_cut) snprintf(trial->hash, sizeof trial->hash, "%s", first.hash);
    if (options->sweep && first.code == 0 && !first.is_cut) run_in_sweep(json, setup, first.hash, trial);
}

void trial_run(const char *json, const struct trial_options *options, struct trial *trial)
{
    struct setup setup;
    struct diag diag;
    *trial = (struct trial){.verdict = TRIAL_INVALID};
    diag_init(&diag);
    int code = load(json, options, &setup, &diag);
    if (code == 0) code = build(&setup, &diag);
    if (code == 0) {
        trial->verdict = TRIAL_SOUND;
        run_all(json, &setup, options, trial);
    } else if (is_refusal(code)) {
        snprintf(trial->text, sizeof trial->text, "%s", first_error(&diag));
    } else {
        found(trial, "building: %s: %s", sim_err_text(code), first_error(&diag));
    }
    setup_fini(&setup);
}
