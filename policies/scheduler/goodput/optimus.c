/* Optimus (Peng et al., EuroSys 2018): every round, each job gets one GPU in order of submission, or the fewest on
 * which it runs: its unit, of which it gets multiples. Every further GPU
 * goes to the job whose remaining time falls most by it:
 *
 *     gain(k) = left (1 / speed(k) - 1 / speed(k + 1))
 *
 * where `left` is the remaining work by the user's estimate. If one more GPU gains nothing, the next number of GPUs
 * that gains takes the place of k + 1, and the gain counts per GPU: plans of training deal out whole micro-batches, so
 * that some numbers of ranks gain nothing. A job for which no number gains gets no more. Jobs keep their batch size.
 * This is Optimus as Pollux's authors compare with it (AdaptDL de25dcc9, policy/optimus.py): one kind of task instead
 * of workers and parameter servers, and remaining work that is known instead of fitted to the loss. It uses the
 * cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"
#include "policies/scheduler/goodput/gains.h"

struct optimus {
    struct elastic elastic; /* first */
    struct gains gains;
};

/* The gain of the next step of a job, whose unit is given: `unit` becomes the GPUs of the step. */
static struct gain gain_of(const struct elastic *elastic, struct elastic_job *job, double left_s, int32_t unit)
{
    const int32_t next = elastic_next_faster(elastic, job, unit), step = next - job->gpus;
    if (next == 0) return (struct gain){.job = job, .left_s = left_s, .unit = unit};
    const double now_s = left_s / elastic_speed(elastic, job, 0, job->gpus),
                 next_s = left_s / elastic_speed(elastic, job, 0, next);
    return (struct gain){.job = job, .left_s = left_s, .value = (now_s - next_s) / step, .unit = step};
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct optimus *optimus = (struct optimus *)elastic;
    struct gains *gains = &optimus->gains;
    int64_t left = elastic->gpus[0];
    int code = gains_begin(gains, elastic->n);
    for (size_t i = 0; code == 0 && i < elastic->n && left > 0; i++) {
        struct elastic_job *job = elastic->jobs[i];
        const int32_t unit = elastic_least_gpus(elastic, job, 0);
        if (unit == 0 || unit > left) continue;
        job->gpus = unit;
        left -= unit;
        const struct gain gain = gain_of(elastic, job, elastic_left_s(view, job), unit);
        gains_add(gains, &gain);
    }
    while (code == 0 && left > 0 && gains->n > 0 && gains->heap[0].value > 0) {
        struct gain *top = &gains->heap[0];
        const bool fits = top->unit <= left;
        if (fits) top->job->gpus += top->unit;
        if (fits) left -= top->unit;
        if (fits)
            *top = gain_of(elastic, top->job, top->left_s, elastic_least_gpus(elastic, top->job, 0));
        else
            top->value = 0;
        gains_sift(gains);
    }
    return code;
}

static const struct elastic_rule rule = {.choose = choose, .one_type = true, .stops = "its part of the GPUs changes",
                                         .starts = "its GPUs shorten the remaining time most"};

static int optimus_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    elastic_init(state, &rule, params);
    return 0;
}

static void optimus_fini(void *state)
{
    gains_fini(&((struct optimus *)state)->gains);
    elastic_fini(state);
}

#define ROW_OF struct elastic_params
static const struct config_field optimus_fields[] = {ELASTIC_ROWS(, "60s"), {0}};
#undef ROW_OF

const struct scheduler scheduler_optimus = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "optimus",
               .summary = "in rounds, one GPU for each job, and more where they shorten the remaining time most",
               .source = "Peng et al., Optimus (EuroSys 2018)",
               .oracle = ORACLE_SPEEDS,
               .params = optimus_fields,
               .params_bytes = sizeof(struct elastic_params),
               .state_bytes = sizeof(struct optimus),
               .init = optimus_init,
               .fini = optimus_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
};
