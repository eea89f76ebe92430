#include "sim/cli/trace/trace_replay.h"

#include "analysis/replay/refit.h"
#include "sim/catalog/cost.h"
#include "sim/catalog/cost_operators.h"
#include "sim/cli/answer.h"
#include "sim/cli/run/recording.h"
#include "sim/cli/trace/replay.h"
#include "sim/core/number.h"
#include "sim/core/real_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Printing --- */

/* Errors on one part of the log, with the scenario's own overhead and with the refitted one. */
struct replay_part {
    const char *name; /* "train", "test" */
    size_t n;         /* requests */
    struct replay_errors before[REPLAY_TIMES], after[REPLAY_TIMES];
};

struct replay_refit {
    struct replay_overhead overhead;
    int evaluations;
    bool converged, improved; /* the search converged; it found better than the start */
    struct replay_part parts[2];
};

struct replay_report {
    const struct replay *replay;
    const char *scenario; /* name of the scenario */
    const struct replay_outcome *outcome;
    struct replay_times measured;
    const struct replay_refit *refit; /* NULL: none */
};

static void fill_refit(const struct replay_refit *refit, struct answer_table *table)
{
    for (int i = 0; i < 2; i++) {
        const struct replay_part *part = &refit->parts[i];
        for (int time = 0; time < REPLAY_TIMES; time++) {
            if (part->before[time].n == 0) continue;
            table_text(table, part->name);
            table_number(table, (double)part->n);
            table_text(table, replay_time_names[time]);
            table_number(table, 100.0 * part->before[time].statistics[0].error_frac);
            table_number(table, 100.0 * part->before[time].mean_abs_frac);
            table_number(table, 100.0 * part->after[time].statistics[0].error_frac);
            table_number(table, 100.0 * part->after[time].mean_abs_frac);
        }
    }
}

/* The member of a scenario that sets the overhead that was found. */
static void add_overhead(const struct replay_overhead *overhead, struct text *text)
{
    text_printf(text, "{\"iteration\": \"%.8gms\", \"sequence\": \"%.8gus\", \"prompt\": \"%.8gms\"}",
                1e3 * overhead->iteration_s, 1e6 * overhead->sequence_s, 1e3 * overhead->prompt_s);
}

static void say_counts(const struct replay_report *report, struct answer *answer)
{
    const struct replay_outcome *outcome = report->outcome;
    answer_say(answer, "%s: %zu requests, through service '%s' of %s: %" PRId64 " finished",
               report->replay->request.log, report->replay->log.n, report->replay->service, report->scenario,
               outcome->finished);
    if (outcome->rejected > 0) answer_say(answer, ", %" PRId64 " rejected", outcome->rejected);
    if (outcome->unfinished > 0) answer_say(answer, ", %" PRId64 " unfinished", outcome->unfinished);
    if (outcome->absent > 0) answer_say(answer, ", %" PRId64 " left out", outcome->absent);
    answer_say(answer, "\n");
}

static void add_head(const struct replay_report *report, struct answer *answer)
{
    const struct replay_outcome *outcome = report->outcome;
    answer_text(answer, "log", report->replay->request.log);
    answer_text(answer, "format", report->replay->log.format);
    answer_text(answer, "scenario", report->scenario);
    answer_text(answer, "service", report->replay->service);
    answer_number(answer, "requests", (double)report->replay->log.n);
    answer_number(answer, "finished", (double)outcome->finished);
    answer_number(answer, "rejected", (double)outcome->rejected);
    answer_number(answer, "unfinished", (double)outcome->unfinished);
    answer_number(answer, "left_out", (double)outcome->absent);
}

static void add_parts(const struct replay_refit *refit, struct answer *answer)
{
    static const struct table_column columns[] = {
        LEFT("part"),        RIGHT("requests"),        LEFT("time"), RIGHT("mean_before"), RIGHT("by_request_before"),
        RIGHT("mean_after"), RIGHT("by_request_after")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    fill_refit(refit, &table);
    answer_add(answer, "refit", "CPU overhead refitted: error of the mean, and mean error by request, in percent",
               &table);
}

static void add_refit(const struct replay_refit *refit, struct answer *answer)
{
    struct text overhead;
    add_parts(refit, answer);
    text_init(&overhead);
    add_overhead(&refit->overhead, &overhead);
    answer->failed |= overhead.failed;
    const char *found = overhead.failed ? "" : overhead.chars;
    answer_number(answer, "evaluations", refit->evaluations);
    answer_bool(answer, "converged", refit->converged);
    answer_json(answer, "overhead", found);
    answer_say(answer, "\nFound in %d simulations; in the scenario's cost: \"overhead\": %s\n", refit->evaluations,
               found);
    if (!refit->improved) answer_say(answer, "It is unchanged: nothing else fitted the first part better.\n");
    const struct replay_part *test = &refit->parts[1];
    if (test->after[REPLAY_E2E].mean_abs_frac > test->before[REPLAY_E2E].mean_abs_frac)
        answer_say(answer,
                   "It does not generalise: on the second part, end-to-end times by request are worse than before.\n");
    if (!refit->converged) answer_say(answer, "The search has not converged.\n");
    text_fini(&overhead);
}

/* Returns 0 or SIM_E_NOMEM. */
static int replay_print(const struct replay_report *report, enum answer_form form, FILE *out)
{
    struct answer answer;
    answer_init(&answer, form, "distributions");
    say_counts(report, &answer);
    add_head(report, &answer);
    replay_times_add(&report->measured, &answer);
    if (report->refit != NULL) add_refit(report->refit, &answer);
    return answer_end(&answer, 0, out, NULL);
}

enum { N_RESIDUALS = 5 }; /* residuals per request of the train part */

/* The state of a replay. */
struct replaying {
    struct cli *cli;
    const struct trace_replay_options *options;
    struct replay replay;
    size_t n_train;
    bool *is_train; /* [log.n] */
    double *room;   /* [log.n] */
};

/* --- Fitting on one part, testing on the other --- */

static int compare_arrivals(const void *a, const void *b)
{
    const struct log_entry *x = *(const struct log_entry *const *)a, *y = *(const struct log_entry *const *)b;
    if (x->arrival_ns != y->arrival_ns) return x->arrival_ns < y->arrival_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Marks the first arrivals as the train part. */
static int split(struct replaying *replaying)
{
    const struct engine_log *log = &replaying->replay.log;
    const struct log_entry **order = arena_alloc(&replaying->replay.arena, (log->n + 1) * sizeof *order);
    replaying->is_train = arena_alloc(&replaying->replay.arena, log->n + 1);
    replaying->room = arena_alloc(&replaying->replay.arena, (log->n + 1) * sizeof *replaying->room);
    if (order == NULL || replaying->is_train == NULL || replaying->room == NULL)
        return diag_nomem(&replaying->cli->diag);
    for (size_t i = 0; i < log->n; i++) order[i] = &log->entries[i];
    qsort(order, log->n, sizeof *order, compare_arrivals);
    for (size_t i = 0; i < replaying->n_train; i++) replaying->is_train[order[i] - log->entries] = true;
    return 0;
}

static int read_train(struct replaying *replaying)
{
    const char *text = replaying->options->train;
    const size_t n = replaying->replay.log.n;
    double share = 0.5;
    if (text != NULL && (number_f64(text, strlen(text), &share) != NUMBER_OK || !(share > 0.0 && share < 1.0)))
        return diag_error(&replaying->cli->diag, SIM_E_USAGE, NULL, NULL,
                          "option '--train' must be a share between 0 and 1, got '%s'", text);
    replaying->n_train = (size_t)nearbyint(share * (double)n);
    if (replaying->n_train < 1 || replaying->n_train >= n)
        return diag_error(&replaying->cli->diag, SIM_E_USAGE, NULL, NULL,
                          "%zu requests are too few for a part to fit on and one to test", n);
    if (!replaying->replay.has_overhead)
        return diag_error(&replaying->cli->diag, SIM_E_USAGE, NULL, "its cost must be of the kind \"operators\"",
                          "service '%s' has no engine whose CPU overhead could be fitted", replaying->replay.service);
    return split(replaying);
}

/* Collects the times of the train part; a request that was not served counts as a day. */
static void take_train(const struct replaying *replaying, const double *times, double *taken)
{
    for (size_t i = 0; i < replaying->replay.log.n; i++)
        if (replaying->is_train[i]) *taken++ = isnan(times[i]) ? 86400.0 : times[i];
}

/* Residuals log(simulated / measured) over the train part, by rank or by request; 0 where nothing was measured.
 * `residuals` also holds the simulated times meanwhile. */
static void compare_train(const struct replaying *replaying, const double *measured_all, const double *simulated,
                          bool by_rank, double *residuals)
{
    double *measured = replaying->room;
    take_train(replaying, measured_all, measured);
    take_train(replaying, simulated, residuals);
    if (by_rank) {
        qsort(measured, replaying->n_train, sizeof *measured, real_compare);
        qsort(residuals, replaying->n_train, sizeof *residuals, real_compare);
    }
    for (size_t i = 0; i < replaying->n_train; i++)
        residuals[i] = measured[i] > 0.0 && residuals[i] > 0.0 ? log(residuals[i] / measured[i]) : 0.0;
}

/* All times by rank, because those of a single request jump when its arrival crosses a boundary of an iteration or a
 * router picks another replica. TPOT and end-to-end time also by request, which tells whose time is wrong. */
static void take_residuals(const struct replaying *replaying, const struct replay_outcome *outcome, double *residuals)
{
    static const struct {
        enum replay_time time;
        bool by_rank;
    } parts[N_RESIDUALS] = {{REPLAY_TTFT, true}, {REPLAY_TPOT, true}, {REPLAY_E2E, true},
                            {REPLAY_TPOT, false}, {REPLAY_E2E, false}};
    for (size_t i = 0; i < N_RESIDUALS; i++, residuals += replaying->n_train)
        compare_train(replaying, replaying->replay.measured[parts[i].time], outcome->simulated[parts[i].time],
                      parts[i].by_rank, residuals);
}

static struct replay_overhead overhead_of(const double *values)
{
    return (struct replay_overhead){values[0], values[1], values[2]};
}

/* Runs with an overhead. Drops warnings, which the first run has reported. */
static int run_with(struct replaying *replaying, const struct replay_overhead *overhead, struct replay_outcome *outcome)
{
    struct world_result result;
    struct setup setup;
    struct diag diag;
    diag_init(&diag);
    *outcome = (struct replay_outcome){0};
    int code = replay_setup(&replaying->replay, overhead, &setup, &diag);
    if (code == 0)
        code = replay_run(&replaying->replay, &setup, NULL, replaying->cli->interrupt, outcome, &result, &diag);
    if (code != 0) replaying->cli->diag = diag;
    setup_fini(&setup);
    return code;
}

static int residuals_with(void *context, const double *values, double *residuals)
{
    struct replaying *replaying = context;
    const struct replay_overhead overhead = overhead_of(values);
    struct replay_outcome outcome;
    const int code = run_with(replaying, &overhead, &outcome);
    if (code == 0) take_residuals(replaying, &outcome, residuals);
    replay_outcome_fini(&outcome);
    return code;
}

/* The errors over one part: requests of the other part get no measured time. */
static int measure_part(const struct replaying *replaying, const struct replay_outcome *outcome, bool train,
                        struct replay_errors errors[REPLAY_TIMES])
{
    const size_t n = replaying->replay.log.n;
    double *measured = mem_alloc((n + 1) * sizeof *measured);
    int code = measured != NULL ? 0 : SIM_E_NOMEM;
    for (int time = 0; code == 0 && time < REPLAY_TIMES; time++) {
        for (size_t i = 0; i < n; i++)
            measured[i] = replaying->is_train[i] == train ? replaying->replay.measured[time][i] : (double)NAN;
        code = replay_errors(measured, outcome->simulated[time], n, &errors[time]);
    }
    mem_free(measured);
    return code == 0 ? 0 : diag_nomem(&replaying->cli->diag);
}

static int measure_parts(struct replaying *replaying, const struct replay_outcome *before, struct replay_refit *refit)
{
    struct replay_outcome after;
    int code = run_with(replaying, &refit->overhead, &after);
    refit->parts[0] = (struct replay_part){.name = "train", .n = replaying->n_train};
    refit->parts[1] = (struct replay_part){.name = "test", .n = replaying->replay.log.n - replaying->n_train};
    for (int i = 0; code == 0 && i < 2; i++) {
        code = measure_part(replaying, before, i == 0, refit->parts[i].before);
        if (code == 0) code = measure_part(replaying, &after, i == 0, refit->parts[i].after);
    }
    replay_outcome_fini(&after);
    return code;
}

/* The CPU overhead the service has now: the engine's own, with what the scenario overrides. */
static int own_overhead(struct replaying *replaying, const struct setup *setup, double values[REFIT_MAX])
{
    const struct service_config *service = NULL;
    struct diag *diag = &replaying->cli->diag;
    struct arena *arena = &replaying->replay.arena;
    for (size_t i = 0; i < setup->scenario.services.n && service == NULL; i++)
        if (strcmp(scenario_service(&setup->scenario, i)->name, replaying->replay.service) == 0)
            service = scenario_service(&setup->scenario, i);
    const struct pool_config pool = service_pool(service, 0);
    const char *gpu_name = pool.gpu != NULL ? pool.gpu : setup->scenario.cluster.nodes.gpu;
    const int64_t per_node = cluster_config_gpus_per_node(&setup->scenario.cluster.nodes, gpu_name);
    struct iteration_model model = {.cost = NULL};
    struct gpu_spec gpu;
    struct llm_spec llm;
    int code = catalog_gpu(&setup->catalog, gpu_name, NULL, arena, &gpu, diag);
    if (code == 0) code = service_llm(service, &setup->catalog, NULL, arena, &llm, diag);
    const struct cost_request request = {.catalog = &setup->catalog, .gpu = &gpu, .llm = &llm,
                                         .tensor_parallel = pool.tensor_parallel,
                                         .pipeline_parallel = pool.pipeline_parallel,
                                         .data_parallel = pool.data_parallel,
                                         .nodes = pool_nodes(&pool, per_node, &setup->scenario.cluster.links.network),
                                         .host_waits = pool_host_waits(service, &pool),
                                         .arena = arena, .diag = diag};
    if (code == 0) code = cost_build(&pool.cost, &request, &model);
    if (code != 0) return code;
    const struct cost_operators *cost = cost_operators_of(&model);
    if (cost == NULL) return 0;
    values[0] = cost->operators.parts.engine.iteration_s;
    values[1] = cost->operators.parts.engine.sequence_s;
    values[2] = cost->operators.parts.engine.prompt_s;
    return 0;
}

static int refit_overhead(struct replaying *replaying, const struct setup *setup, const struct replay_outcome *before,
                          struct replay_refit *refit)
{
    struct refit search = {.n = 3, .units = {1e-3, 1e-5, 1e-3}, .has_start = true, .residuals = residuals_with,
                           .context = replaying};
    struct refit_result found;
    int code = read_train(replaying);
    search.n_residuals = N_RESIDUALS * replaying->n_train;
    if (code == 0) code = own_overhead(replaying, setup, search.start);
    if (code == 0) code = refit_search(&search, &found);
    if (code != 0) return code;
    refit->overhead = overhead_of(found.values);
    refit->evaluations = found.evaluations;
    refit->converged = found.converged;
    refit->improved = found.loss < found.start_loss;
    return measure_parts(replaying, before, refit);
}

/* --- The replay --- */

static int report(struct replaying *replaying, const struct setup *setup, const struct replay_outcome *outcome)
{
    struct replay_refit refit = {.evaluations = 0};
    const struct replay *replay = &replaying->replay;
    struct replay_report report = {
        .replay = replay, .scenario = setup->scenario.name, .outcome = outcome,
        .measured = {.log = &replay->log, .measured = replay->measured, .simulated = outcome->simulated,
                     .finish_s = outcome->finish_s, .same_arrivals = outcome->arrivals.same,
                     .shift_s = outcome->arrivals.shift_s}};
    int code = replay_times_compare(&report.measured) == 0 ? 0 : diag_nomem(&replaying->cli->diag);
    if (code == 0 && replaying->options->refit) {
        code = refit_overhead(replaying, setup, outcome, &refit);
        report.refit = &refit;
    }
    if (code != 0) return code;
    return replay_print(&report, replaying->options->form, replaying->cli->out);
}

static int run_recorded(struct replaying *replaying, const struct setup *setup, struct replay_outcome *outcome)
{
    struct cli *cli = replaying->cli;
    const struct recording_place place = {.path = replaying->options->output};
    char hash[HASH_HEX_CHARS];
    struct recording recording;
    struct world_result result;
    int code = recording_begin(&recording, &place, setup, &cli->diag);
    if (code != 0) return code;
    const struct sink sink = recording_sink(&recording);
    code = replay_run(&replaying->replay, setup, &sink, cli->interrupt, outcome, &result, &cli->diag);
    if (code == 0) code = recording_end(&recording, "done", &result, hash, &cli->diag);
    recording_close(&recording);
    return code;
}

static int check_output(const struct replaying *replaying, const struct setup *setup)
{
    struct outputs outputs = {.diag = &replaying->cli->diag};
    const int code = outputs_add(&outputs, "--output", replaying->options->output);
    return code == 0 ? setup_check_outputs(setup, &outputs) : code;
}

static int replay_once(struct replaying *replaying)
{
    struct replay_outcome outcome = {0};
    struct setup setup;
    int code = replay_setup(&replaying->replay, NULL, &setup, &replaying->cli->diag);
    if (code == 0) code = check_output(replaying, &setup);
    if (code == 0) code = run_recorded(replaying, &setup, &outcome);
    if (code == 0) code = report(replaying, &setup, &outcome);
    replay_outcome_fini(&outcome);
    setup_fini(&setup);
    return code;
}

int trace_replay(struct cli *cli, const struct trace_replay_options *options)
{
    struct replaying replaying = {.cli = cli, .options = options};
    int code = replay_open(&replaying.replay, &options->request, cli->plugins, &cli->diag);
    if (code == 0) code = replay_once(&replaying);
    replay_close(&replaying.replay);
    return code;
}
