/* Shortest job first by the users' estimated run times (true ones if the trace has no estimate), without preemption. A
 * job that does not fit is skipped or, with `strict`, stops all behind it. */
#include "policies/declared.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

#define ROW_OF struct skipping_params
static const struct config_field sjf_fields[] = {
    ROW_BOOL("strict", strict, DEFAULT("false"), "a shortest job that does not fit stops all behind it"), {0}};
#undef ROW_OF

static void sjf_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    skipping_notify(state, note, (struct rank){.first = note->job->estimate_ns, .second = note->job->sequence});
}

static int sjf_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    return skipping_decide(state, view, plan, "shortest estimate that fits");
}

const struct scheduler scheduler_sjf = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "sjf",
               .summary = "shortest estimated run time first, skipping jobs that do not fit; no preemption",
               .source = "Conway, Maxwell and Miller, Theory of Scheduling (1967)",
               .params = sjf_fields,
               .params_bytes = sizeof(struct skipping_params),
               .state_bytes = sizeof(struct skipping),
               .fini = skipping_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = sjf_notify,
    .decide = sjf_decide,
};
