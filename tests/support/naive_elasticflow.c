/* ElasticFlow as a test has it: the shares of all promises anew for every new job, slot by slot and share by share. It
 * must give the jobs what policies/scheduler/deadlines/elasticflow.c gives them. */
#include "tests/support/naive_elasticflow.h"

#include "policies/scheduler/goodput/elastic.h"
#include "policies/scheduler/goodput/gains.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_SLOTS = 4096 };

struct promise {
    struct elastic_job *job;
    double left_s;
    bool is_new;
    int32_t share; /* k of its filling; 0: none suffices */
};

struct elasticflow {
    struct elastic elastic; /* first */
    struct gains gains;
    struct promise *promises; /* [n] jobs with deadlines that are admitted or new, the earliest deadline first */
    size_t n, capacity;
    int32_t *left;            /* [MOST_SLOTS]: GPUs left */
    int64_t n_refused;
};

/* Deadline jobs use until_ns of their slot: 0: new, 1: admitted, 2: not admitted. */
enum { IS_NEW, IS_ADMITTED, IS_REFUSED };

static int by_deadline(const void *one, const void *other)
{
    const struct job_view *a = ((const struct promise *)one)->job->view,
                          *b = ((const struct promise *)other)->job->view;
    if (a->deadline_ns != b->deadline_ns) return a->deadline_ns < b->deadline_ns ? -1 : 1;
    return a->sequence < b->sequence ? -1 : 1;
}

static int list_promises(struct elasticflow *flow, const struct cluster_view *view)
{
    struct elastic *elastic = &flow->elastic;
    const int code = vec_reserve(&flow->promises, &flow->capacity, elastic->n);
    flow->n = 0;
    for (size_t i = 0; code == 0 && i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        if (job->view->deadline_ns == SIM_NS_MAX || job->until_ns == IS_REFUSED) continue;
        flow->promises[flow->n++] = (struct promise){.job = job, .left_s = elastic_left_s(view, job),
                                                     .is_new = job->until_ns == IS_NEW};
    }
    if (flow->n > 1) qsort(flow->promises, flow->n, sizeof *flow->promises, by_deadline);
    return code;
}

/* Whole slots before the deadline. */
static int32_t slots_of(const struct elasticflow *flow, const struct cluster_view *view, const struct elastic_job *job)
{
    const sim_ns until_ns = job->view->deadline_ns - view->now_ns;
    const sim_ns n = until_ns > 0 ? until_ns / flow->elastic.params.round_ns : 0;
    return n < MOST_SLOTS ? (int32_t)n : MOST_SLOTS;
}

/* The largest power of two that is at most `gpus`. */
static int32_t power_within(int32_t gpus)
{
    int32_t power = 0;
    for (int32_t next = 1; next <= gpus; next *= 2) power = next;
    return power;
}

/* Work that at most k GPUs do in the slots before the deadline. Takes the GPUs if `takes`, and the last slots only as
 * far as they are needed. */
static double fill(struct elasticflow *flow, const struct promise *promise, int32_t k, int32_t slots, bool takes)
{
    const double slot_s = sim_s_from_ns(flow->elastic.params.round_ns);
    double work_s = 0;
    for (int32_t t = 0; t < slots && work_s < promise->left_s; t++) {
        int32_t gpus = power_within(flow->left[t] < k ? flow->left[t] : k);
        const double speed = gpus > 0 ? elastic_speed(&flow->elastic, promise->job, 0, gpus) : 0;
        if (!(speed > 0)) gpus = 0;
        work_s += speed * slot_s;
        if (!takes) continue;
        flow->left[t] -= gpus;
        if (t == 0) promise->job->gpus = gpus;
    }
    return work_s;
}

/* The share of a job; 0: it cannot keep its deadline. */
static int32_t share_of(struct elasticflow *flow, const struct cluster_view *view, const struct promise *promise)
{
    const int32_t slots = slots_of(flow, view, promise->job);
    const int32_t most = elastic_most_gpus(&flow->elastic, promise->job, 0);
    for (int32_t k = 1; k <= most; k *= 2)
        if (fill(flow, promise, k, slots, false) >= promise->left_s) return k;
    return 0;
}

/* Fills all promises in order, but not the new ones after `newest`. Returns whether each new one, and each that could
 * be kept before, is kept. `takes`: the jobs get the GPUs of the first slot. */
static bool fill_all(struct elasticflow *flow, const struct cluster_view *view, const struct elastic_job *newest,
                     bool takes)
{
    bool keeps = true;
    for (int32_t t = 0; t < MOST_SLOTS; t++) flow->left[t] = (int32_t)flow->elastic.gpus[0];
    for (size_t i = 0; i < flow->n; i++) {
        struct promise *promise = &flow->promises[i];
        if (promise->is_new && promise->job != newest) continue;
        const int32_t share = share_of(flow, view, promise);
        if (share > 0) fill(flow, promise, share, slots_of(flow, view, promise->job), true);
        if (!takes) promise->job->gpus = 0;
        keeps = keeps && (share > 0 || (promise->share == 0 && !promise->is_new));
        if (takes) promise->share = share;
    }
    return keeps;
}

/* Shares of the admitted jobs alone, which a new one must not take. */
static void measure(struct elasticflow *flow, const struct cluster_view *view)
{
    fill_all(flow, view, NULL, true);
    for (size_t i = 0; i < flow->n; i++) flow->promises[i].job->gpus = 0;
}

static int by_submission(const void *one, const void *other)
{
    const struct elastic_job *a = *(struct elastic_job *const *)one, *b = *(struct elastic_job *const *)other;
    return a->view->sequence < b->view->sequence ? -1 : 1;
}

static void admit(struct elasticflow *flow, const struct cluster_view *view)
{
    struct elastic *elastic = &flow->elastic;
    size_t n = 0;
    for (size_t i = 0; i < flow->n; i++)
        if (flow->promises[i].is_new) elastic->chosen[n++] = flow->promises[i].job;
    if (n > 1) qsort(elastic->chosen, n, sizeof *elastic->chosen, by_submission);
    for (size_t i = 0; i < n; i++) {
        struct elastic_job *job = elastic->chosen[i];
        measure(flow, view);
        const bool is_kept = fill_all(flow, view, job, false);
        job->until_ns = is_kept ? IS_ADMITTED : IS_REFUSED;
        flow->n_refused += !is_kept;
        for (size_t k = 0; k < flow->n; k++)
            if (flow->promises[k].job == job) flow->promises[k].is_new = !is_kept;
    }
}

/* --- What is left --- */

/* The least power of two on which the job runs; 0: none. */
static int32_t least_power(const struct elastic *elastic, const struct elastic_job *job)
{
    const int32_t most = elastic_most_gpus(elastic, job, 0);
    for (int32_t gpus = 1; gpus <= most; gpus *= 2)
        if (elastic_speed(elastic, job, 0, gpus) > 0) return gpus;
    return 0;
}

static double gpu_time_s(const struct elasticflow *flow, const struct elastic_job *job, double left_s, int32_t gpus)
{
    const struct elastic *elastic = &flow->elastic;
    const double slot_s = sim_s_from_ns(elastic->params.round_ns);
    const double speed = gpus > 0 ? elastic_speed(elastic, job, 0, gpus) : 0;
    const double used_s = fmin(slot_s, speed > 0 ? left_s / speed : slot_s);
    const int32_t least = least_power(elastic, job);
    return gpus * used_s + least * (left_s - speed * used_s) / elastic_speed(elastic, job, 0, least);
}

/* GPU time saved per GPU by twice as many. Further GPUs of a job that does not scale cost time: the least such job
 * comes first. */
static double gain_of(const struct elasticflow *flow, const struct elastic_job *job, double left_s)
{
    const struct elastic *elastic = &flow->elastic;
    const int32_t twice = 2 * job->gpus;
    if (twice > elastic_most_gpus(elastic, job, 0)) return -(double)INFINITY;
    if (!(elastic_speed(elastic, job, 0, twice) > elastic_speed(elastic, job, 0, job->gpus))) return -(double)INFINITY;
    return (gpu_time_s(flow, job, left_s, job->gpus) - gpu_time_s(flow, job, left_s, twice)) / job->gpus;
}

static int share_rest(struct elasticflow *flow, const struct cluster_view *view, int64_t left)
{
    struct elastic *elastic = &flow->elastic;
    struct gains *gains = &flow->gains;
    const int code = gains_begin(gains, elastic->n);
    for (size_t i = 0; code == 0 && i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        const int32_t least = job->gpus == 0 ? least_power(elastic, job) : 0;
        if (least > 0 && least <= left) {
            job->gpus = least;
            left -= least;
        }
        const double left_s = elastic_left_s(view, job);
        if (job->gpus > 0) gains_add(gains, &(struct gain){job, gain_of(flow, job, left_s), left_s, job->gpus});
    }
    while (code == 0 && left > 0 && gains->n > 0 && gains->heap[0].value > -(double)INFINITY) {
        struct gain *top = &gains->heap[0];
        const bool fits = top->job->gpus <= left;
        if (fits) left -= top->job->gpus;
        if (fits) top->job->gpus *= 2;
        top->value = fits ? gain_of(flow, top->job, top->left_s) : -(double)INFINITY;
        gains_sift(gains);
    }
    return code;
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct elasticflow *flow = (struct elasticflow *)elastic;
    int64_t left = elastic->gpus[0];
    int code = list_promises(flow, view);
    if (code != 0) return code;
    admit(flow, view);
    fill_all(flow, view, NULL, true);
    for (size_t i = 0; i < elastic->n; i++) left -= elastic->jobs[i]->gpus;
    return share_rest(flow, view, left);
}

static const struct elastic_rule rule = {.choose = choose, .one_type = true, .stops = "its share changes",
                                         .starts = "its share keeps its deadline, or is left by others"};

static int elasticflow_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct elasticflow *flow = state;
    flow->left = mem_zalloc(MOST_SLOTS, sizeof *flow->left);
    if (flow->left == NULL) return SIM_E_NOMEM;
    elastic_init(&flow->elastic, &rule, params);
    return 0;
}

static void elasticflow_fini(void *state)
{
    struct elasticflow *flow = state;
    gains_fini(&flow->gains);
    mem_free(flow->promises);
    mem_free(flow->left);
    elastic_fini(state);
}

#define ROW_OF struct elastic_params
static const struct config_field elasticflow_fields[] = {ELASTIC_ROWS(, "240s"), {0}};
#undef ROW_OF

const struct scheduler naive_elasticflow = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "naive-elasticflow",
               .summary = "ElasticFlow without shortcuts",
               .source = "Gu et al., ElasticFlow (ASPLOS 2023)",
               .params = elasticflow_fields,
               .params_bytes = sizeof(struct elastic_params),
               .state_bytes = sizeof(struct elasticflow),
               .init = elasticflow_init,
               .fini = elasticflow_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
};
