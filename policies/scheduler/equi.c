/* EQUI: every job in the system gets an equal part of the GPUs. With linear speedup this is processor sharing. For
 * jobs with one concave speedup and exponential sizes it has the least mean response time of all policies that do not
 * know the sizes (Berg, Dorsman and Harchol-Balter 2018). */
#include "policies/declared.h"
#include "policies/scheduler/fluid.h"
#include "sim/world/policy/scheduler.h"

/* Equal parts below 1 GPU have equal remainders: the oldest jobs get a GPU each. */
static int equi_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct fluid *fluid = state;
    const bool is_whole = fluid_is_whole(view) && (uint64_t)view->total_gpus < fluid->n_all;
    fluid_begin(fluid);
    fluid_list_oldest(fluid, is_whole ? (size_t)view->total_gpus : fluid->n_all, 1.0 / (double)fluid->n_all);
    fluid_divide(fluid, view, plan);
    return fluid->code;
}

const struct scheduler scheduler_equi = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "equi",
               .summary = "an equal part of the GPUs for every job, whatever it requests; resizes all",
               .source = "Berg, Dorsman and Harchol-Balter, POMACS 1(2) (2018)",
               .state_bytes = sizeof(struct fluid),
               .fini = fluid_fini},
    .job_bytes = sizeof(struct fluid_slot),
    .notify = fluid_notify,
    .decide = equi_decide,
    .ignores_estimates = true,
};
