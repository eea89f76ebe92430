/* One simulation of an option: the quantiles of its objectives, exactly, or the first that is missed for good. */
#include "sim/cli/run/simulate.h"
#include "sim/cli/size/size.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct trying {
    const struct size_question *question;
    const struct size_requests *requests;
    struct size_outcome *outcome;
    struct size_warnings *warnings; /* NULL: nobody asks */
    int64_t prefill_replicas;
    bool is_whole;                       /* goes on after a miss */
    double *values[SIZE_MAX_OBJECTIVES]; /* of the requests that count, in the order of their ends */
    size_t n[SIZE_MAX_OBJECTIVES], n_over[SIZE_MAX_OBJECTIVES];
};

static double time_of(const struct request_row *row, enum size_time time)
{
    if (strcmp(row->status, "finished") != 0) return (double)INFINITY;
    return time == SIZE_TTFT ? row->ttft_s : time == SIZE_TPOT ? row->tpot_s : row->e2e_s;
}

/* The least value over the limit. One more request exceeds the limit than may, so the quantile is at least this. */
static double least_over(const struct trying *trying, size_t at)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i < trying->n[at]; i++)
        if (trying->values[at][i] > trying->question->objectives[at].limit_s)
            least = fmin(least, trying->values[at][i]);
    return least;
}

static int on_request(void *context, const struct request_row *row)
{
    struct trying *trying = context;
    const struct size_requests *requests = trying->requests;
    trying->outcome->n_rejected += strcmp(row->status, "rejected") == 0;
    trying->outcome->n_preemptions += row->preemptions;
    if (row->queue_s > trying->outcome->queue_max_s) trying->outcome->queue_max_s = row->queue_s;
    const struct size_request *request = size_requests_find(requests, row->id);
    for (size_t i = 0; request != NULL && i < trying->question->n_objectives; i++) {
        const struct size_objective *objective = &trying->question->objectives[i];
        if ((request->objectives >> i & 1) == 0) continue;
        const double value = time_of(row, objective->time);
        if (trying->n[i] < requests->counted[i]) trying->values[i][trying->n[i]++] = value;
        trying->n_over[i] += !(value <= objective->limit_s);
        if (trying->n_over[i] <= requests->counted[i] - size_rank(objective->quantile, requests->counted[i])) continue;
        if (trying->outcome->missed < 0) trying->outcome->missed = (int)i;
        if (trying->is_whole) continue;
        trying->outcome->reached_s = least_over(trying, i);
        trying->outcome->n_ended = trying->n[i];
        trying->outcome->is_cut = true;
        return SIM_E_GATE;
    }
    return 0;
}

static int on_warning(void *context, const struct warning_row *row)
{
    const struct trying *trying = context;
    struct size_outcome *outcome = trying->outcome;
    if (strcmp(row->code, "engine") == 0) snprintf(outcome->engine, sizeof outcome->engine, "%s", row->text);
    if (trying->warnings != NULL) size_warnings_take(trying->warnings, row);
    return 0;
}

static int on_metric(void *context, const struct metric_row *row)
{
    struct size_outcome *outcome = ((struct trying *)context)->outcome;
    if (strcmp(row->name, "replica.kv_peak_frac") == 0) outcome->kv_peak_frac = row->value;
    if (strcmp(row->name, "replica.busy_frac") == 0) outcome->busy_frac = row->value;
    return 0;
}

/* Replicas that serve prompts have the first numbers. */
static enum size_pool pool_of(const struct trying *trying, int64_t replica)
{
    return replica < trying->prefill_replicas ? SIZE_PREFILL : SIZE_DECODE;
}

static int on_batch(void *context, const struct batch_row *row)
{
    const struct trying *trying = context;
    const enum size_phase phase = row->prefill_sequences > 0 ? SIZE_WITH_PROMPTS : SIZE_DECODING_ALONE;
    trying->outcome->compute_s[pool_of(trying, row->replica)][phase] += row->end_s - row->start_s;
    return 0;
}

/* Samples of a replica, "llm/3". */
static int on_sample(void *context, const struct sample_row *row)
{
    const struct trying *trying = context;
    const char *slash = strchr(row->entity, '/');
    if (slash == NULL) return 0;
    const enum size_pool pool = pool_of(trying, strtoll(slash + 1, NULL, 10));
    double *most = strcmp(row->series, "replica.kv_used_frac") == 0 ? &trying->outcome->pool_kv_frac[pool]
                   : strcmp(row->series, "replica.waiting") == 0    ? &trying->outcome->pool_waiting[pool]
                                                                    : NULL;
    if (most != NULL && row->value > *most) *most = row->value;
    return 0;
}

/* The values of rank size_rank. A request that the run did not end exceeds every limit. */
static void take_quantiles(struct trying *trying)
{
    for (size_t i = 0; i < trying->question->n_objectives; i++) {
        const size_t n = trying->n[i], counted = trying->requests->counted[i];
        const size_t rank = size_rank(trying->question->objectives[i].quantile, counted), at = rank > 0 ? rank - 1 : 0;
        qsort(trying->values[i], n, sizeof(double), real_compare);
        trying->outcome->values[i] = at < n ? trying->values[i][at] : counted > 0 ? (double)INFINITY : (double)NAN;
        if (trying->outcome->missed < 0 && at >= n && counted > 0) trying->outcome->missed = (int)i;
    }
}

static int run(struct trying *trying, const struct setup *setup, enum time_case time_case,
               const volatile sig_atomic_t *interrupt, struct diag *diag)
{
    const struct sink sink = {.context = trying, .request = on_request, .warning = on_warning, .metric = on_metric,
                              .sample = trying->is_whole ? on_sample : NULL,
                              .batch = trying->is_whole ? on_batch : NULL};
    const struct world_options how = {.queue = QUEUE_CALENDAR, .time_case = time_case, .each_replica = true,
                                      .interrupt = interrupt};
    struct world_result result = {0};
    int code = simulate_rows(setup, &how, &sink, &result, diag);
    if (code != 0 && !trying->outcome->is_cut) return code;
    trying->outcome->extrapolated_frac = result.extrapolated_frac;
    if (!trying->outcome->is_cut) take_quantiles(trying);
    return 0;
}

bool size_is_wrong(int code, const struct diag *diag)
{
    static const char setting[] = "--set";
    const bool is_wrong = code == SIM_E_CONFIG || code == SIM_E_USAGE;
    return is_wrong && diag->n_items > 0 && strncmp(diag->items[0].where, setting, sizeof setting - 1) == 0;
}

int size_try_told(const struct size_question *question, const struct size_requests *requests,
                  const struct size_option *option, int64_t replicas, struct size_case how,
                  const volatile sig_atomic_t *interrupt, struct size_outcome *outcome, struct diag *diag)
{
    struct trying trying = {.question = question, .requests = requests, .outcome = outcome,
                            .warnings = how.warnings, .prefill_replicas = option->prefill_replicas, .is_whole = how.is_whole};
    struct setup setup;
    *outcome = (struct size_outcome){.missed = -1, .kv_peak_frac = (double)NAN,
                                      .busy_frac = (double)NAN};
    int code = size_load(question, option, replicas, &setup, diag);
    for (size_t i = 0; code == 0 && i < question->n_objectives; i++) {
        trying.values[i] = mem_zalloc(requests->counted[i] + 1, sizeof(double));
        if (trying.values[i] == NULL) code = SIM_E_NOMEM;
    }
    if (code == 0) code = run(&trying, &setup, how.time_case, interrupt, diag);
    outcome->has_run = code == 0;
    outcome->meets = code == 0 && outcome->missed < 0;
    outcome->is_wrong = size_is_wrong(code, diag);
    if (code != 0)
        snprintf(outcome->why, sizeof outcome->why, "%s", diag->n_items > 0 ? diag->items[0].text : sim_err_text(code));
    for (size_t i = 0; i < question->n_objectives; i++) mem_free(trying.values[i]);
    setup_fini(&setup);
    return code;
}

void size_try(const struct size_question *question, const struct size_requests *requests,
              const struct size_option *option, int64_t replicas, struct size_case how,
              const volatile sig_atomic_t *interrupt, struct size_outcome *outcome)
{
    struct diag diag;
    diag_init(&diag);
    size_try_told(question, requests, option, replicas, how, interrupt, outcome, &diag);
}
