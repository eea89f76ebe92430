/* heSRPT: parts of the GPUs that minimise the sum of response times if all jobs are present at the start and each gets
 * k^p times as fast on k GPUs (Berg, Vesilo and Harchol-Balter 2020). Of m jobs the i-th largest gets (i/m)^(1/(1-p))
 * - ((i-1)/m)^(1/(1-p)) of the GPUs, so all jobs run, and small ones faster. With later arrivals it is a heuristic.
 * The size of a job is its true remaining work. */
#include "policies/declared.h"
#include "policies/scheduler/fluid.h"
#include "sim/world/policy/scheduler.h"

#include <math.h>
#include <stdlib.h>

struct hesrpt_params {
    double exponent;
};

struct hesrpt {
    struct fluid fluid; /* first */
    struct hesrpt_params params;
};

#define ROW_OF struct hesrpt_params
static const struct config_field hesrpt_fields[] = {
    ROW_REAL("exponent", exponent, DEFAULT("0.5"), WITHIN(0, 0.999), "p of the speedup k^p, taken to hold for all jobs"),
    {0}};
#undef ROW_OF

static int hesrpt_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct hesrpt *)state)->params = *(const struct hesrpt_params *)params;
    return 0;
}

/* Remaining work, in seconds on one GPU. */
static double size_of(const void *state, const struct cluster_view *view, const struct job_view *job)
{
    const struct hesrpt *hesrpt = state;
    return sim_s_from_ns(job_view_remaining_work_ns(view, job)) * pow(job->gpus, hesrpt->params.exponent);
}

/* Smallest first; of equal jobs the youngest. */
static int by_size(const void *a, const void *b)
{
    const struct fluid_job *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return (x->job->sequence < y->job->sequence) - (x->job->sequence > y->job->sequence);
}

/* Lists the running jobs and the `most` smallest pending ones. */
static void list_smallest(struct hesrpt *hesrpt, const struct cluster_view *view, size_t most)
{
    struct fluid *fluid = &hesrpt->fluid;
    for (size_t i = 0; i < fluid->n_running; i++)
        fluid_list(fluid, fluid->running[i], size_of(hesrpt, view, fluid->running[i]), 0);
    const struct ranked *next = fluid->pending.first;
    for (; next != NULL && most > 0; most--, next = fluid_next_pending(fluid, next))
        fluid_list(fluid, next->job, size_of(hesrpt, view, next->job), 0);
    if (fluid->n > 0) qsort(fluid->jobs, fluid->n, sizeof *fluid->jobs, by_size);
}

/* Parts below 1 GPU fall with the size: of whole GPUs only as many jobs get any as there are GPUs, the smallest
 * ones. */
static int hesrpt_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct hesrpt *hesrpt = state;
    struct fluid *fluid = &hesrpt->fluid;
    const bool is_whole = fluid_is_whole(view) && (uint64_t)view->total_gpus < fluid->n_all;
    const size_t most = is_whole ? (size_t)view->total_gpus : fluid->n_all;
    const double n = (double)fluid->n_all, power = 1 / (1 - hesrpt->params.exponent);
    fluid_begin(fluid);
    fluid_rank_pending(fluid, view, size_of, true);
    list_smallest(hesrpt, view, most);
    for (size_t i = 0; i < most && i < fluid->n; i++) {
        const size_t larger = fluid->n_all - i - 1;
        const double before = larger > 0 ? pow((double)larger / n, power) : 0;
        fluid->jobs[i].weight = pow((double)(larger + 1) / n, power) - before;
    }
    fluid_divide(fluid, view, plan);
    return fluid->code;
}

const struct scheduler scheduler_hesrpt = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "hesrpt",
               .summary = "parts of the GPUs by rank of the remaining work, the least work the largest; resizes all; knows true run times",
               .source = "Berg, Vesilo and Harchol-Balter, heSRPT, Performance Evaluation 144 (2020)",
               .oracle = ORACLE_DURATION,
               .params = hesrpt_fields,
               .params_bytes = sizeof(struct hesrpt_params),
               .state_bytes = sizeof(struct hesrpt),
               .init = hesrpt_init,
               .fini = fluid_fini},
    .job_bytes = sizeof(struct fluid_slot),
    .notify = fluid_notify,
    .decide = hesrpt_decide,
    .ignores_estimates = true,
};
