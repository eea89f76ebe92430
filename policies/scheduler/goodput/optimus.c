/* Optimus (Peng et al., EuroSys 2018): every round, each job gets one GPU in order of submission, or the fewest on
 * which it runs: its unit, of which it gets multiples. Every further GPU
 * goes to the job whose remaining time falls most by it:
 *
 *     gain(k) = left (1 / speed(k) - 1 / speed(k + 1))
 *
 * where `left` is the remaining work by the user's estimate. A job for which one more GPU gains nothing gets no
 * more. Jobs keep their batch size. This is Optimus as Pollux's authors compare with it (AdaptDL de25dcc9,
 * policy/optimus.py): one kind of task instead of workers and parameter servers, and remaining work that is known
 * instead of fitted to the loss. It uses the cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"
#include "policies/scheduler/goodput/gains.h"

struct optimus {
    struct elastic elastic; /* first */
    struct gains gains;
};

/* Per GPU of its unit. */
static double gain_of(const struct elastic *elastic, const struct elastic_job *job, double left_s, int32_t unit)
{
    if (job->gpus + unit > elastic_most_gpus(elastic, job, 0)) return 0;
    const double now = elastic_speed(elastic, job, 0, job->gpus),
                 next = elastic_speed(elastic, job, 0, job->gpus + unit);
    return now > 0 && next > 0 ? left_s * (1 / now - 1 / next) / unit : 0;
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
        const double left_s = elastic_left_s(view, job), value = gain_of(elastic, job, left_s, unit);
        gains_add(gains, &(struct gain){.job = job, .left_s = left_s, .value = value, .unit = unit});
    }
    while (code == 0 && left > 0 && gains->n > 0 && gains->heap[0].value > 0) {
        struct gain *top = &gains->heap[0];
        const bool fits = top->unit <= left;
        if (fits) top->job->gpus += top->unit;
        if (fits) left -= top->unit;
        top->value = fits ? gain_of(elastic, top->job, top->left_s, top->unit) : 0;
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
               .params = optimus_fields,
               .params_bytes = sizeof(struct elastic_params),
               .state_bytes = sizeof(struct optimus),
               .init = optimus_init,
               .fini = optimus_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
};
