/* Shortest remaining service first, with preemption. Service is the true remaining run time times the GPUs. */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

static int srsf_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct preemptive *preemptive = state;
    preemptive->params = *(const struct preemptive_params *)params;
    preemptive->order = BY_GPU_TIME_LEFT;
    return 0;
}

const struct scheduler scheduler_srsf = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "srsf",
               .summary = "least remaining GPU time first; preemptive, knows the true run times",
               .source = "Tiresias (NSDI 2019) simulator, shortest-gpu",
               .oracle = ORACLE_DURATION,
               .params = preemptive_fields,
               .params_bytes = sizeof(struct preemptive_params),
               .state_bytes = sizeof(struct preemptive),
               .init = srsf_init,
               .fini = preemptive_fini},
    .job_bytes = sizeof(struct preemptive_job),
    .notify = preemptive_notify,
    .decide = preemptive_decide,
    .wants_speed_events = true,
};
