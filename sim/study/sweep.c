#include "sim/study/sweep.h"

#include "sim/core/vec.h"
#include "sim/study/alike.h"
#include "sim/study/axes.h"
#include "sim/study/outcome.h"
#include "sim/study/shards.h"
#include "sim/study/size_limit.h"
#include "sim/study/workers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct sweeping {
    const struct study *study;
    const struct sweep_options *options;
    const struct sweep_runner *runner;
    struct sweep_result *result;
    struct shards shards;
    bool has_failed; /* the output exists, with failed runs that are run again */
    struct task *tasks; /* tasks of this round */
    size_t n_tasks, capacity;
};

/* --- What is to be done --- */

/* A shard has every n-th run, or every n-th point of a search. */
static bool is_mine(const struct sweep_options *options, size_t i)
{
    return options->n_shards == 0 || i % options->n_shards == options->shard - 1;
}

static int add_task(struct sweeping *sweeping, const struct task *task, struct diag *diag)
{
    if (vec_push(&sweeping->tasks, &sweeping->n_tasks, &sweeping->capacity, *task) != 0) return diag_nomem(diag);
    return 0;
}

static int list_plain(struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    const struct study *study = sweeping->study;
    int code = 0;
    for (size_t i = 0; code == 0 && i < study->n_runs; i++) {
        struct task task = {.run_id = (int64_t)i + 1, .point = i / study->n_seeds, .seed = i % study->n_seeds};
        if (is_mine(sweeping->options, i) && merge_find(found, task.run_id) == NULL)
            code = add_task(sweeping, &task, diag);
    }
    return code;
}

/* Adds the seeds of the next step at a point. */
static int list_step(struct sweeping *sweeping, const struct merge *found, size_t point, struct diag *diag)
{
    const struct study *study = sweeping->study;
    struct bisection state;
    struct arena arena;
    int code = outcome_replay(found, study, point, &state, diag);
    if (code != 0 || state.is_done) return code;
    arena_init(&arena);
    const char *value = range_show(&study->search->range, state.next, &arena);
    if (value == NULL) code = diag_nomem(diag);
    for (size_t seed = 0; code == 0 && seed < study->n_seeds; seed++) {
        struct task task = {.run_id = outcome_run_id(study, point, state.step, seed), .point = point, .seed = seed};
        snprintf(task.value, sizeof task.value, "%s", value);
        if (merge_find(found, task.run_id) == NULL) code = add_task(sweeping, &task, diag);
    }
    arena_fini(&arena);
    return code;
}

/* Lists the tasks that can run next, given the found runs. No task: all runs exist. */
static int list_tasks(struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    int code = 0;
    sweeping->n_tasks = 0;
    if (sweeping->study->search == NULL) return list_plain(sweeping, found, diag);
    for (size_t point = 0; code == 0 && point < sweeping->study->n_points; point++)
        if (is_mine(sweeping->options, point)) code = list_step(sweeping, found, point, diag);
    return code;
}

/* --- What was there before --- */

static int fail_taken(const char *output, struct diag *diag, const char *text)
{
    return diag_error(diag, SIM_E_USAGE, output, "name another file with -o, or move this one away", "%s", text);
}

/* Checks that an existing output holds all runs. */
static int read_output(struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    const char *output = sweeping->options->output;
    char text[80];
    int code = list_tasks(sweeping, found, diag);
    snprintf(text, sizeof text, "the file has only part of this study's runs: %zu are missing", sweeping->n_tasks);
    if (code == 0 && sweeping->n_tasks > 0) code = fail_taken(output, diag, text);
    if (code == 0 && !sweeping->options->resume)
        code = fail_taken(output, diag, "the file already has the runs of this study");
    for (size_t i = 0; i < found->n_runs; i++) sweeping->has_failed |= found->runs[i].failed;
    return code == 0 && sweeping->has_failed ? alike_check_program(found, sweeping->runner, diag) : code;
}

/* Whether the output is complete. An existing, incomplete output is an error, unless only failed runs are missing. */
static int check_output(struct sweeping *sweeping, bool *complete, struct diag *diag)
{
    const char *output = sweeping->options->output;
    struct merge found;
    *complete = false;
    if (sweeping->options->replaces || access(output, F_OK) != 0) return 0;
    int code = merge_open(&found, &output, 1, sweeping->study->hash, merge_hint_output, diag);
    if (code == 0) code = read_output(sweeping, &found, diag);
    *complete = code == 0 && !sweeping->has_failed;
    sweeping->result->n_runs = sweeping->result->n_found = found.n_runs;
    for (size_t i = 0; i < found.n_runs; i++) sweeping->result->n_unfit += found.runs[i].unfit;
    merge_close(&found);
    return code;
}

/* Stored data of a found run. */
struct stored {
    char scenario_hash[HASH_HEX_CHARS], trace_hash[HASH_HEX_CHARS], value[sizeof((struct task *)0)->value];
};

static int read_stored(const struct sweeping *sweeping, const struct merge *found, const struct merge_run *run,
                       struct stored *stored, struct diag *diag)
{
    static const char sql[] =
        "SELECT scenario_hash, coalesce(trace_hash, ''), coalesce((SELECT value FROM param WHERE run_id = id AND key = ?2), '') "
        "FROM run WHERE id = ?1";
    const struct database *database = &found->inputs[run->input];
    const struct study_search *search = sweeping->study->search;
    char *const texts[] = {stored->scenario_hash, stored->trace_hash, stored->value};
    const size_t bytes[] = {sizeof stored->scenario_hash, sizeof stored->trace_hash, sizeof stored->value};
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read a run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(select, 1, run->id);
    sqlite3_bind_text(select, 2, search != NULL ? search->key : "", -1, SQLITE_STATIC);
    bool has_row = sqlite3_step(select) == SQLITE_ROW;
    if (!has_row) code = database_error(database, "read a run", diag);
    for (int i = 0; has_row && i < 3; i++)
        snprintf(texts[i], bytes[i], "%s", (const char *)sqlite3_column_text(select, i));
    sqlite3_finalize(select);
    return code;
}

/* Whether the run's scenario and inputs are unchanged. */
static int check_run(const struct sweeping *sweeping, const struct merge *found, const struct merge_run *run,
                     struct task *task, struct diag *diag)
{
    static const char hint[] = "remove the directory to start anew, or name another file with -o";
    const struct sweep_runner *runner = sweeping->runner;
    char scenario_hash[HASH_HEX_CHARS] = "", trace_hash[HASH_HEX_CHARS] = "";
    struct stored stored;
    struct study_run described;
    struct arena arena;
    arena_init(&arena);
    int code = read_stored(sweeping, found, run, &stored, diag);
    if (code == 0) {
        snprintf(task->value, sizeof task->value, "%s", stored.value);
        code = workers_describe(sweeping->study, task, &arena, &described);
        if (code != 0) diag_nomem(diag);
    }
    if (code == 0)
        code = runner->identify(runner->context, sweeping->study, &described, scenario_hash, trace_hash, diag);
    const char *what = strcmp(scenario_hash, stored.scenario_hash) != 0 ? "scenario"
                       : strcmp(trace_hash, stored.trace_hash) != 0     ? "inputs (traces, catalog files)"
                                                                        : NULL;
    if (code == 0 && what != NULL)
        code = diag_error(diag, SIM_E_USAGE, sweeping->shards.directory, hint,
                          "the %s of run %" PRId64 " changed since the sweep began", what, run->id);
    arena_fini(&arena);
    return code;
}

/* Checks that found runs have the present scenario and inputs, on one run per value of each axis. */
static int check_each(const struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    const struct study *study = sweeping->study;
    size_t n_steps = study->search != NULL ? search_max_steps(study->search) : 1;
    bool *seen = mem_zalloc(axes_rows(study->axes), sizeof *seen);
    int code = seen != NULL ? 0 : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < found->n_runs; i++) {
        size_t number = (size_t)found->runs[i].id - 1;
        struct task task = {.run_id = found->runs[i].id, .seed = number % study->n_seeds};
        task.point = number / study->n_seeds / n_steps;
        if (found->runs[i].unfit) continue; /* it has no hashes */
        if (axes_mark(study->axes, task.point, seen)) code = check_run(sweeping, found, &found->runs[i], &task, diag);
    }
    mem_free(seen);
    return code;
}

/* Lists the found runs in a separate process, which has no connection to the shards. */
static int check_apart(void *context, struct diag *diag)
{
    const struct sweeping *sweeping = context;
    struct merge found;
    int code = shards_read(&sweeping->shards, sweeping->study, &found, diag);
    if (code == 0) code = check_each(sweeping, &found, diag);
    merge_close(&found);
    return code;
}

static int check_found(struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    if (found->n_runs == 0) return 0;
    return sweeping->runner->apart ? workers_apart(check_apart, sweeping, diag) : check_each(sweeping, found, diag);
}

/* Files findings. What does not fit becomes a warning. */
static void take_findings(int code, const struct diag *findings, struct diag *diag)
{
    for (int i = 0; i < findings->n_items; i++) {
        const struct diag_item *item = &findings->items[i];
        if (item->level == DIAG_WARNING || code == SIM_E_UNFIT)
            diag_warning(diag, item->where, item->hint, "%s", item->text);
        else
            diag_error(diag, item->code, item->where, item->hint, "%s", item->text);
    }
}

static int check_value(const struct study *study, const struct sweep_runner *runner, size_t point, const char *value,
                       struct diag *diag)
{
    char scenario_hash[HASH_HEX_CHARS], trace_hash[HASH_HEX_CHARS];
    struct task task = {.run_id = 1, .point = point};
    struct study_run run;
    struct arena arena;
    struct diag findings;
    diag_init(&findings);
    arena_init(&arena);
    snprintf(task.value, sizeof task.value, "%s", value);
    int code = workers_describe(study, &task, &arena, &run);
    code = code != 0 ? diag_nomem(&findings)
                     : runner->identify(runner->context, study, &run, scenario_hash, trace_hash, &findings);
    take_findings(code, &findings, diag);
    arena_fini(&arena);
    return code == SIM_E_UNFIT ? 0 : code;
}

static int check_point(const struct study *study, const struct sweep_runner *runner, size_t point, struct diag *diag)
{
    const struct study_search *search = study->search;
    struct arena arena;
    if (search == NULL) return check_value(study, runner, point, "", diag);
    arena_init(&arena);
    const char *from = range_show(&search->range, search->range.from, &arena);
    const char *to = range_show(&search->range, search->range.to, &arena);
    int code = from != NULL && to != NULL ? check_value(study, runner, point, from, diag) : diag_nomem(diag);
    if (code == 0) code = check_value(study, runner, point, to, diag);
    arena_fini(&arena);
    return code;
}

int sweep_check(const struct study *study, const struct sweep_runner *runner, struct diag *diag)
{
    bool *seen = mem_zalloc(axes_rows(study->axes), sizeof *seen);
    int first_code = 0;
    if (seen == NULL) return diag_nomem(diag);
    for (size_t point = 0; point < study->n_points; point++) {
        int code = axes_mark(study->axes, point, seen) ? check_point(study, runner, point, diag) : 0;
        if (first_code == 0) first_code = code;
    }
    mem_free(seen);
    return first_code;
}

/* --- Doing it --- */

/* Without tasks, checks the size of what the runs before have left. */
static int do_tasks(struct sweeping *sweeping, const struct merge *found, struct diag *diag)
{
    struct work work = {.study = sweeping->study,
                        .options = sweeping->options,
                        .runner = sweeping->runner,
                        .shards = &sweeping->shards,
                        .n_tasks = sweeping->n_tasks,
                        .tasks = sweeping->tasks,
                        .failures_shard = SHARD_OF_PARENT,
                        .progress = {.n_done = found->n_runs, .n_runs = found->n_runs + sweeping->n_tasks,
                                     .n_found = sweeping->result->n_found, .bytes = shards_bytes(&sweeping->shards)}};
    const struct ranks *ranks = sweeping->options->ranks;
    if (sweeping->n_tasks == 0)
        return size_limit_check(sweeping->options, sweeping->study, &sweeping->shards, &work.progress, diag);
    return ranks != NULL && ranks->n > 1 ? ranks->run(&work, diag) : workers_run(&work, diag);
}

/* One round for a plain study, one per step for a search. */
static int do_rounds(struct sweeping *sweeping, struct diag *diag)
{
    bool is_first = true;
    size_t n_before = 0;
    int code = 0;
    do {
        struct merge found;
        code = shards_read(&sweeping->shards, sweeping->study, &found, diag);
        if (code == 0 && is_first) {
            sweeping->result->n_found = found.n_runs;
            code = check_found(sweeping, &found, diag);
        }
        if (code == 0) code = list_tasks(sweeping, &found, diag);
        if (code == 0 && !is_first && sweeping->n_tasks > 0 && found.n_runs == n_before)
            code = diag_error(diag, SIM_E_STORE, sweeping->shards.directory, NULL, "finished runs are missing");
        is_first = false;
        n_before = found.n_runs;
        struct merge counted = {.n_runs = found.n_runs};
        merge_close(&found); /* no connection may be open when processes start */
        if (code == 0) code = do_tasks(sweeping, &counted, diag);
    } while (code == 0 && sweeping->n_tasks > 0);
    return code;
}

/* --- Failures --- */

static int code_of_name(const char *name)
{
    for (int code = -1; code >= SIM_E_INTERRUPTED; code--)
        if (strcmp(sim_err_name(code), name) == 0) return code;
    return SIM_E_NOMEM; /* a crash: exits with the status of internal errors */
}

static int report_failure(const struct merge *merge, const struct merge_run *run, struct diag *diag)
{
    static const char sql[] =
        "SELECT coalesce(code, ''), coalesce(text, ''), seed, coalesce((SELECT group_concat(key || '=' || value || ', ', '') "
        "FROM param WHERE run_id = id), '') FROM run LEFT JOIN warning ON run_id = id WHERE id = ?";
    const struct database *database = &merge->inputs[run->input];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, "read a run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(select, 1, run->id);
    if (sqlite3_step(select) == SQLITE_ROW)
        code = diag_error(diag, code_of_name((const char *)sqlite3_column_text(select, 0)), NULL, NULL,
                          "run %" PRId64 " (%sseed %" PRId64 ") failed: %s", run->id,
                          (const char *)sqlite3_column_text(select, 3), (int64_t)sqlite3_column_int64(select, 2),
                          (const char *)sqlite3_column_text(select, 1));
    sqlite3_finalize(select);
    return code;
}

static int report_failures(const struct merge *merge, struct sweep_result *result, struct diag *diag)
{
    int first_code = 0;
    result->n_runs = merge->n_runs;
    for (size_t i = 0; i < merge->n_runs; i++) {
        result->n_unfit += merge->runs[i].unfit;
        if (!merge->runs[i].failed) continue;
        int code = report_failure(merge, &merge->runs[i], diag);
        if (first_code == 0) first_code = code;
        result->n_failed++;
    }
    return first_code;
}

/* --- All together --- */

static int finish(struct sweeping *sweeping, struct diag *diag)
{
    struct merge merge;
    const struct sweep_options *options = sweeping->options;
    const struct merge_target target = {options->output, .replaces = options->replaces || sweeping->has_failed};
    int failure = 0, code = shards_read(&sweeping->shards, sweeping->study, &merge, diag);
    if (code == 0) code = merge_write(&merge, sweeping->study, &target, diag);
    if (code == 0) failure = report_failures(&merge, sweeping->result, diag);
    merge_close(&merge);
    if (code == 0) shards_remove(&sweeping->shards);
    return code != 0 ? code : failure;
}

static int lead(struct sweeping *sweeping, struct diag *diag)
{
    int code = check_output(sweeping, &sweeping->result->was_complete, diag);
    if (code != 0) return code;
    code = shards_open(&sweeping->shards, sweeping->study, sweeping->options, sweeping->runner, diag);
    if (code == 0 && sweeping->result->was_complete) shards_remove(&sweeping->shards); /* it was killed before that */
    else {
        if (sweeping->has_failed) sweeping->shards.earlier = sweeping->options->output;
        if (code == 0) code = shards_clean(&sweeping->shards, sweeping->study, diag);
        if (code == 0) code = do_rounds(sweeping, diag);
        if (code == 0) code = finish(sweeping, diag);
    }
    shards_close(&sweeping->shards);
    return code;
}

/* On a rank other than 0: the directory exists when work arrives. */
static int follow(struct sweeping *sweeping, struct diag *diag)
{
    arena_init(&sweeping->shards.arena);
    sweeping->shards.lock = -1;
    sweeping->shards.directory = arena_printf(&sweeping->shards.arena, "%s.shards", sweeping->options->output);
    struct work work = {.study = sweeping->study, .options = sweeping->options, .runner = sweeping->runner,
                        .shards = &sweeping->shards};
    int code = sweeping->shards.directory != NULL ? 0 : diag_nomem(diag);
    if (code == 0) code = sweeping->options->ranks->serve(&work, diag);
    shards_close(&sweeping->shards);
    return code;
}

int sweep(const struct study *study, const struct sweep_options *options, const struct sweep_runner *runner,
          struct sweep_result *result, struct diag *diag)
{
    struct sweep_result own;
    struct sweeping sweeping = {.study = study, .options = options, .runner = runner};
    const struct ranks *ranks = options->ranks;
    sweeping.result = result != NULL ? result : &own;
    *sweeping.result = (struct sweep_result){0};
    int code = ranks != NULL && ranks->rank > 0 ? follow(&sweeping, diag) : lead(&sweeping, diag);
    if (ranks != NULL && ranks->rank == 0) ranks->release();
    mem_free(sweeping.tasks);
    return code;
}

/* --- Merging results of several machines --- */

/* Copies an input's definition; NULL if it has none, as a file without runs. */
static int copy_definition(const struct database *input, struct arena *arena, const char **definition,
                           char hash[HASH_HEX_CHARS], struct diag *diag)
{
    static const char what[] = "read the study";
    sqlite3_stmt *select;
    int code = database_prepare(input, "SELECT definition, hash FROM study", &select, what, diag);
    if (code != 0) return code;
    const int step = sqlite3_step(select);
    const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(select, 0) : NULL;
    const char *hash_text = text != NULL ? (const char *)sqlite3_column_text(select, 1) : NULL;
    *definition = NULL;
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        code = database_error(input, what, diag);
    } else if (hash_text != NULL) {
        *definition = arena_strdup(arena, text);
        snprintf(hash, HASH_HEX_CHARS, "%s", hash_text);
        if (*definition == NULL) code = diag_nomem(diag);
    }
    sqlite3_finalize(select);
    return code;
}

/* The definition of the input with the first run or, without runs, of the first input that has one: a process may have
 * died before it wrote any. */
static int read_definition(const struct merge *merge, struct arena *arena, struct study *study, struct diag *diag)
{
    const char *definition = NULL;
    char hash[HASH_HEX_CHARS] = "";
    int code = 0;
    size_t i = merge->n_runs > 0 ? merge->runs[0].input : 0;
    for (; i < merge->n_inputs && code == 0; i++) {
        code = copy_definition(&merge->inputs[i], arena, &definition, hash, diag);
        if (definition != NULL) break;
    }
    if (code == 0 && definition == NULL)
        code = diag_error(diag, SIM_E_USAGE, merge->inputs[0].path, merge_hint_input,
                          "these are not the results of a study");
    if (code == 0) code = study_parse(merge->inputs[i].path, ".", definition, arena, study, diag);
    if (code == 0) { /* stored texts, whatever this version would write */
        study->definition = definition;
        memcpy(study->hash, hash, sizeof hash);
    }
    return code;
}

/* Names the first missing runs. */
static int report_missing(const struct sweeping *sweeping, struct diag *diag)
{
    struct text ids;
    text_init(&ids);
    for (size_t i = 0; i < sweeping->n_tasks && i < 10; i++)
        text_printf(&ids, "%s%" PRId64, i > 0 ? ", " : "", sweeping->tasks[i].run_id);
    int code = diag_error(diag, SIM_E_USAGE, NULL, "merge all shards, or give --partial",
                          "%zu runs of the study are missing: %s%s", sweeping->n_tasks,
                          ids.chars != NULL ? ids.chars : "", sweeping->n_tasks > 10 ? ", ..." : "");
    text_fini(&ids);
    return code;
}

static int merge_all(const struct merge *merge, const char *output, bool partial, struct arena *arena,
                     struct diag *diag)
{
    struct study study = {0};
    struct sweep_options options = {.output = output};
    struct sweep_result result = {0};
    struct sweeping sweeping = {.study = &study, .options = &options, .result = &result};
    int code = read_definition(merge, arena, &study, diag);
    if (code == 0) code = alike_check(merge, &study, diag);
    if (code == 0) code = list_tasks(&sweeping, merge, diag);
    if (code == 0 && sweeping.n_tasks > 0 && !partial) code = report_missing(&sweeping, diag);
    if (code == 0) code = merge_write(merge, &study, &(struct merge_target){.output = output}, diag);
    if (code == 0) code = report_failures(merge, &result, diag);
    mem_free(sweeping.tasks);
    return code;
}

int sweep_merge(const char *const *inputs, size_t n_inputs, const char *output, bool partial, struct diag *diag)
{
    struct merge merge;
    struct arena arena;
    if (access(output, F_OK) == 0)
        return diag_error(diag, SIM_E_USAGE, output, "name another file with -o, or move this one away",
                          "the file exists already");
    arena_init(&arena);
    int code = merge_open(&merge, inputs, n_inputs, NULL, merge_hint_input, diag);
    if (code == 0) code = merge_all(&merge, output, partial, &arena, diag);
    merge_close(&merge);
    arena_fini(&arena);
    return code;
}
