/* Pollux (Qiao et al., OSDI 2021): every round, each job gets the number of GPUs that maximises the power mean of
 *
 *     s_j = goodput on its GPUs / goodput on its fair share, K / n rounded up, in units of a node's part of the cluster
 *
 * over the n jobs, with the power `fairness` (p = -1: harmonic mean). On other GPUs than the job holds, s_j counts
 * only by the part of its age in which the job was not restarting. Jobs adapt their batch size to their GPUs. As in
 * the released simulator (AdaptDL de25dcc9, simulator/pollux.py and simulator.py), `s_j + 0.001` takes the place of
 * s_j, and a job gets at most twice the GPUs that it has ever held, at first the fewest on which it runs.
 *
 * Pollux searches for node-by-node allocations by a genetic algorithm. Here the objective is maximised exactly, but
 * over numbers of GPUs: the placement policy finds the nodes, and no rule keeps two jobs of several nodes apart.
 * Goodputs are known, not learnt. With several node types the goodput on each counts, which the paper leaves open. */
#include "policies/declared.h"
#include "policies/scheduler/goodput/elastic.h"

#include "sim/core/mem.h"

#include <math.h>

struct pollux_params {
    struct elastic_params elastic;
    double fairness;
    sim_ns wait_ns;
    bool explores;
};

struct pollux {
    struct elastic elastic; /* first */
    struct pollux_params params;
    struct elastic_choices choices;
};

/* So that no job counts as infinitely slow. */
static const double LEAST_SPEEDUP = 1e-3;

/* Speed on the fair share of the first node type where the job can run. */
static double fair_speed(const struct elastic *elastic, const struct elastic_job *job)
{
    const double fair = ceil((double)elastic_all_gpus(elastic) / (double)elastic->n);
    for (int j = 0; j < elastic->types; j++) {
        const double least = (double)elastic_least_gpus(elastic, job, j);
        const double speed = elastic_speed(elastic, job, j, (int32_t)fmax(fmin(fair, (double)elastic->gpus[j]), least));
        if (speed > 0) return speed;
    }
    return 1;
}

/* p-th power of a speedup, with the sign that makes more of it better. */
static double utility(double speedup, double power)
{
    const double value = pow(speedup + LEAST_SPEEDUP, power);
    return power < 0 ? -value : value;
}

static int32_t most_gpus(const struct pollux *pollux, const struct elastic_job *job, int type)
{
    const int32_t most = elastic_most_gpus(&pollux->elastic, job, type);
    if (!pollux->params.explores) return most;
    return elastic_explored_gpus(job, elastic_least_gpus(&pollux->elastic, job, type), most);
}

static int add_choices(struct pollux *pollux, const struct cluster_view *view, const struct elastic_job *job)
{
    const struct elastic *elastic = &pollux->elastic;
    const double unit = view->n_nodes > 0 ? view->n_nodes / fmax((double)elastic_all_gpus(elastic), 1) : 1;
    const double fair = fair_speed(elastic, job), power = pollux->params.fairness;
    const double factor = elastic_restart_factor(view, job, sim_s_from_ns(pollux->params.wait_ns));
    const double none = utility(0, power);
    int code = elastic_choices_next(&pollux->choices);
    for (int j = 0; j < elastic->types; j++) {
        const int32_t most = most_gpus(pollux, job, j);
        for (int32_t gpus = 1; code == 0 && gpus <= most; gpus++) {
            if (elastic_whole_ranks(job, gpus) < gpus) continue;
            const double kept = elastic_is_held(job, j, gpus) ? 1 : factor;
            const double speedup = elastic_speed(elastic, job, j, gpus) / fair * unit * kept;
            code = elastic_choices_add(&pollux->choices, utility(speedup, power) - none, j, gpus);
        }
    }
    return code;
}

static int choose(struct elastic *elastic, const struct cluster_view *view)
{
    struct pollux *pollux = (struct pollux *)elastic;
    int code = elastic_choices_begin(&pollux->choices, elastic->n);
    for (size_t i = 0; code == 0 && i < elastic->n; i++) code = add_choices(pollux, view, elastic->jobs[i]);
    return code < 0 ? code : elastic_choices_apply(&pollux->choices, elastic);
}

static const struct elastic_rule rule = {.choose = choose, .stops = "other GPUs raise the mean goodput",
                                         .starts = "its GPUs in the highest mean goodput"};

static int pollux_init(void *state, const void *params, struct diag *diag)
{
    struct pollux *pollux = state;
    pollux->params = *(const struct pollux_params *)params;
    if (pollux->params.fairness == 0)
        return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.fairness", "take -1, as the paper",
                          "the power must not be 0");
    elastic_init(&pollux->elastic, &rule, &pollux->params.elastic);
    return 0;
}

static void pollux_fini(void *state)
{
    struct pollux *pollux = state;
    elastic_choices_fini(&pollux->choices);
    elastic_fini(state);
}

#define ROW_OF struct pollux_params
static const struct config_field pollux_fields[] = {
    ELASTIC_ROWS(elastic., "60s"),
    ROW_REAL("fairness", fairness, DEFAULT("-1"), WITHIN(-10, 1), "power of the mean of speedups; not 0"),
    ROW_TIME("restart", wait_ns, DEFAULT("30s"), AT_LEAST(1e-9), "time that a restart is taken to cost"),
    ROW_BOOL("explores", explores, DEFAULT("true"), "a job gets at most twice the GPUs that it has ever held"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_pollux = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "pollux",
               .summary = "in rounds, the numbers of GPUs with the highest mean goodput; jobs adapt their batch size",
               .source = "Qiao et al., Pollux (OSDI 2021)",
               .oracle = ORACLE_SPEEDS,
               .params = pollux_fields,
               .params_bytes = sizeof(struct pollux_params),
               .state_bytes = sizeof(struct pollux),
               .init = pollux_init,
               .fini = pollux_fini},
    .job_bytes = sizeof(struct elastic_job),
    .notify = elastic_notify,
    .decide = elastic_decide,
    .uses_node_types = true,
    .adapts_batch = true,
    .ignores_estimates = true,
};
