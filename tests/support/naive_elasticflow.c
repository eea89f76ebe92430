/* ElasticFlow as a test has it: the shares of all promises anew for every new job, slot by slot and share by share. It
 * must give the jobs what policies/scheduler/deadlines/elasticflow.c gives them. */
#include "tests/support/naive_elasticflow.h"

#include "policies/scheduler/goodput/elastic.h"

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

static double speed_of(const struct elasticflow *flow, const struct elastic_job *job, int32_t gpus)
{
    return gpus > 0 ? elastic_speed(&flow->elastic, job, 0, gpus) : 0.0;
}

/* The first power of two on which the job runs; 0: none. */
static int32_t fewest_gpus(const struct elasticflow *flow, const struct elastic_job *job)
{
    int32_t gpus = 1;
    while (gpus <= elastic_most_gpus(&flow->elastic, job, 0) && !(speed_of(flow, job, gpus) > 0)) gpus *= 2;
    return gpus <= elastic_most_gpus(&flow->elastic, job, 0) ? gpus : 0;
}

/* GPU time of the rest of the job: this slot on `gpus` GPUs, and the fewest afterwards. */
static double rest_gpu_s(const struct elasticflow *flow, const struct cluster_view *view, const struct elastic_job *job,
                         int32_t gpus)
{
    const double left_s = elastic_left_s(view, job), slot_s = sim_s_from_ns(flow->elastic.params.round_ns);
    const double speed = speed_of(flow, job, gpus), used_s = fmin(slot_s, speed > 0 ? left_s / speed : slot_s);
    const int32_t fewest = fewest_gpus(flow, job);
    return gpus * used_s + fewest * (left_s - speed * used_s) / speed_of(flow, job, fewest);
}

/* The job that saves most GPU time per GPU by twice as many, of those that may have them; the older of equals; NULL:
 * none may. */
static struct elastic_job *best_to_double(const struct elasticflow *flow, const struct cluster_view *view,
                                          const bool *is_closed)
{
    struct elastic_job *best = NULL;
    double most = -(double)INFINITY;
    for (size_t i = 0; i < flow->elastic.n; i++) {
        struct elastic_job *job = flow->elastic.jobs[i];
        const int32_t gpus = job->gpus, twice = 2 * gpus;
        if (is_closed[i] || gpus == 0 || twice > elastic_most_gpus(&flow->elastic, job, 0)) continue;
        if (!(speed_of(flow, job, twice) > speed_of(flow, job, gpus))) continue;
        const double saved = (rest_gpu_s(flow, view, job, gpus) - rest_gpu_s(flow, view, job, twice)) / gpus;
        if (!(saved > most) && !(saved == most && best != NULL && job->view->sequence < best->view->sequence)) continue;
        most = saved;
        best = job;
    }
    return best;
}

/* A job for whose double share too few GPUs are left gets no more. */
static int share_rest(struct elasticflow *flow, const struct cluster_view *view, int64_t left)
{
    struct elastic *elastic = &flow->elastic;
    bool *is_closed = mem_zalloc(elastic->n + 1, sizeof *is_closed);
    if (is_closed == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < elastic->n; i++) {
        struct elastic_job *job = elastic->jobs[i];
        if (job->gpus > 0 || fewest_gpus(flow, job) > left) continue;
        job->gpus = fewest_gpus(flow, job);
        left -= job->gpus;
    }
    for (struct elastic_job *job; left > 0 && (job = best_to_double(flow, view, is_closed)) != NULL;) {
        size_t at = 0;
        while (elastic->jobs[at] != job) at++;
        is_closed[at] = job->gpus > left;
        if (is_closed[at]) continue;
        left -= job->gpus;
        job->gpus *= 2;
    }
    mem_free(is_closed);
    return 0;
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
