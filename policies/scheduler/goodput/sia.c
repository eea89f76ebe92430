/* Sia (Jayaram Subramanya et al., SOSP 2023): every round, each job gets at most one configuration, a number of
 * GPUs of one type. Numbers are 1, 2, 4 and so on within a node, then whole nodes. A job that trains by a plan gets
 * the whole ranks on such a number. With p = `fairness` below 0, the
 * choice minimises
 *
 *     sum over jobs with GPUs of A^p  +  lambda times the jobs without
 *
 * where A is the goodput relative to the job's lowest in any configuration. For a running job, A on other GPUs than
 * its own is multiplied by (age - restarts x wait) / (age + wait), once it is older than a wait. p above 0
 * maximises the sum instead, and lambda counts for jobs with GPUs. Jobs adapt their batch size to their GPUs.
 *
 * As in the released simulator (siasosp23/artifacts aaf7a0de, sia-simulator/sia.py), a job gets at most twice the
 * GPUs that it has ever held, at first the fewest on which it runs. That simulator rounds A^p to two digits and asks
 * a solver for integer programs; here the optimum is exact (knapsack.h), for all but large problems. Goodputs are
 * known, not learnt, and jobs of fixed size or of pipelines are left out. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"

#include "sim/core/mem.h"

#include <math.h>

struct sia_params {
    struct elastic_params elastic;
    double fairness, lambda;
    sim_ns wait_ns;
    bool explores;
};

struct sia {
    struct elastic elastic; /* first */
    struct sia_params params;
    struct elastic_choices choices;
};

/* The next number of GPUs after this one: powers of two within a node, then whole nodes. */
static int32_t next_size(const struct elastic *elastic, int type, int32_t gpus)
{
    const int32_t node = elastic->views[type]->gpus_per_node;
    if (node == 0 || 2 * gpus <= node) return 2 * gpus;
    return gpus < node ? node : gpus + node;
}

/* The configuration after one of `before` GPUs, which 0 precedes: the whole ranks on the next of these numbers that has
 * more of them. */
static int32_t next_gpus(const struct elastic *elastic, const struct elastic_job *job, int type, int32_t before)
{
    int32_t gpus = 1;
    while (elastic_whole_ranks(job, gpus) <= before) gpus = next_size(elastic, type, gpus);
    return elastic_whole_ranks(job, gpus);
}

/* The smallest configuration on which the job runs; 0: none. */
static int32_t least_gpus(const struct elastic *elastic, const struct elastic_job *job, int type)
{
    const int32_t most = elastic_most_gpus(elastic, job, type);
    if (job_view_rank_gpus(job->view) > most) return 0;
    for (int32_t gpus = next_gpus(elastic, job, type, 0); gpus <= most; gpus = next_gpus(elastic, job, type, gpus))
        if (elastic_speed(elastic, job, type, gpus) > 0) return gpus;
    return 0;
}

static int32_t most_gpus(const struct sia *sia, const struct elastic_job *job, int type)
{
    const int32_t most = elastic_most_gpus(&sia->elastic, job, type);
    if (!sia->params.explores) return most;
    return elastic_explored_gpus(job, least_gpus(&sia->elastic, job, type), most);
}

static double least_speed(const struct sia *sia, const struct elastic_job *job)
{
    double least = (double)INFINITY;
    for (int j = 0; j < sia->elastic.types; j++) {
        const int32_t most = most_gpus(sia, job, j);
        for (int32_t gpus = least_gpus(&sia->elastic, job, j); gpus > 0 && gpus <= most;
             gpus = next_gpus(&sia->elastic, job, j, gpus)) {
            const double speed = elastic_speed(&sia->elastic, job, j, gpus);
            if (speed > 0) least = fmin(least, speed);
        }
    }
    return least;
}

static double factor_of(const struct sia *sia, const struct cluster_view *view, const struct elastic_job *job)
{
    const bool is_young = view->now_ns - job->view->submit_ns < sia->params.wait_ns;
    if (job->view->state != JOB_RUNNING || is_young) return 1;
    return elastic_restart_factor(view, job, sim_s_from_ns(sia->params.wait_ns));
}

/* What a configuration adds to the objective, against none. */
static double gain(const struct sia *sia, double relative)
{
    const double value = pow(fmax(relative, 1e-4), sia->params.fairness);
    return sia->params.fairness < 0 ? sia->params.lambda - value : sia->params.lambda + value;
}

static int add_choices(struct sia *sia, const struct cluster_view *view, const struct elastic_job *job)
{
    const struct elastic *elastic = &sia->elastic;
    const double least = least_speed(sia, job), factor = factor_of(sia, view, job);
    int code = elastic_choices_next(&sia->choices);
    for (int j = 0; j < elastic->types; j++) {
        const int32_t most = most_gpus(sia, job, j);
        for (int32_t gpus = least_gpus(elastic, job, j); code == 0 && gpus > 0 && gpus <= most;
             gpus = next_gpus(elastic, job, j, gpus)) {
            const double speed = elastic_speed(elastic, job, j, gpus);
            const double kept = elastic_is_held(job, j, gpus) ? 1 : factor;
            if (speed > 0) code = elastic_choices_add(&sia->choices, gain(sia, speed / least * kept), j, gpus);
        }
    }
    return code;
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct sia *sia = (struct sia *)elastic;
    int code = elastic_choices_begin(&sia->choices, elastic->n);
    for (size_t i = 0; code == 0 && i < elastic->n; i++) code = add_choices(sia, view, elastic->jobs[i]);
    return code < 0 ? code : elastic_choices_apply(&sia->choices, elastic);
}

static const struct elastic_rule rule = {.choose = choose, .stops = "another configuration raises the sum of goodputs",
                                         .starts = "its configuration in the best sum of goodputs"};

static int sia_init(void *state, const void *params, struct diag *diag)
{
    struct sia *sia = state;
    sia->params = *(const struct sia_params *)params;
    if (sia->params.fairness == 0)
        return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.fairness", "take -0.5, as the paper",
                          "the power must not be 0");
    elastic_init(&sia->elastic, &rule, &sia->params.elastic);
    return 0;
}

static void sia_fini(void *state)
{
    struct sia *sia = state;
    elastic_choices_fini(&sia->choices);
    elastic_fini(state);
}

#define ROW_OF struct sia_params
static const struct config_field sia_fields[] = {
    ELASTIC_ROWS(elastic., "60s"),
    ROW_REAL("fairness", fairness, DEFAULT("-0.5"), WITHIN(-10, 10), "power of the goodputs; not 0"),
    ROW_REAL("lambda", lambda, DEFAULT("1.1"), WITHIN(0, 1e6), "what a job without GPUs costs"),
    ROW_TIME("restart", wait_ns, DEFAULT("30s"), AT_LEAST(1e-9), "time that a restart is taken to cost"),
    ROW_BOOL("explores", explores, DEFAULT("true"), "a job gets at most twice the GPUs that it has ever held"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_sia = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "sia",
               .summary = "in rounds, a number of GPUs of one type for each job, by an exact program over goodputs",
               .source = "Jayaram Subramanya et al., Sia (SOSP 2023)",
               .oracle = ORACLE_SPEEDS,
               .params = sia_fields,
               .params_bytes = sizeof(struct sia_params),
               .state_bytes = sizeof(struct sia),
               .init = sia_init,
               .fini = sia_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
    .uses_node_types = true,
    .adapts_batch = true,
    .ignores_estimates = true,
};
