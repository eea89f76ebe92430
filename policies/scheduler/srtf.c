/* Shortest remaining time first, with preemption, by the true run times. On one GPU it has the least mean completion
 * time of all schedules (Schrage 1968). */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

static int srtf_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct preemptive *preemptive = state;
    preemptive->params = *(const struct preemptive_params *)params;
    preemptive->order = BY_TIME_LEFT;
    return 0;
}

const struct scheduler scheduler_srtf = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "srtf",
               .summary = "shortest remaining run time first; preemptive, knows the true run times",
               .source = "Schrage (1968); Tiresias (NSDI 2019) simulator, shortest",
               .oracle = ORACLE_DURATION,
               .params = preemptive_fields,
               .params_bytes = sizeof(struct preemptive_params),
               .state_bytes = sizeof(struct preemptive),
               .init = srtf_init,
               .fini = preemptive_fini},
    .job_bytes = sizeof(struct preemptive_job),
    .notify = preemptive_notify,
    .decide = preemptive_decide,
    .wants_speed_events = true,
};
