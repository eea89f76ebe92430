/* Shortest job first by the run time that users stated (the true one where the trace has no statement), without
 * preemption; skips what does not fit. */
#include "policies/registry.h"
#include "policies/scheduler/skipping.h"

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
    .policy = {.abi = POLICY_ABI,
               .size = sizeof(struct scheduler),
               .family = POLICY_SCHEDULER,
               .name = "sjf",
               .summary = "shortest estimated run time first, skipping what does not fit; no preemption",
               .source = "Conway, Maxwell and Miller, Theory of Scheduling (1967)",
               .state_bytes = sizeof(struct skipping),
               .fini = skipping_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = sjf_notify,
    .decide = sjf_decide,
};
