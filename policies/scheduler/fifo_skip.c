/* First in, first out with skipping: jobs start in order of submission, and a job that does not fit delays no other
 * job. Nothing is reserved, so wide jobs may wait long. */
#include "policies/declared.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

static void fifo_skip_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    skipping_notify(state, note, (struct rank){.first = note->job->sequence});
}

static int fifo_skip_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    return skipping_decide(state, view, plan, "oldest that fits");
}

const struct scheduler scheduler_fifo_skip = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "fifo-skip",
               .summary = "order of submission, skipping jobs that do not fit",
               .source = "Tiresias (NSDI 2019) simulator, fjf",
               .state_bytes = sizeof(struct skipping),
               .fini = skipping_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = fifo_skip_notify,
    .decide = fifo_skip_decide,
    .ignores_estimates = true,
};
