/* Earliest deadline first (Liu and Layland, JACM 20(1), 1973), with preemption; jobs without a deadline come last, in
 * order of submission. A job gets the GPUs that it requested. */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

static void edf_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct preemptive_job *job = job_view_slot(note->job);
    job->level = note->job->deadline_ns;
    preemptive_notify(state, view, note);
}

const struct scheduler scheduler_edf = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "edf",
               .summary = "earliest deadline first; preemptive",
               .source = "Liu and Layland, JACM 20(1), 1973",
               .state_bytes = sizeof(struct preemptive),
               .fini = preemptive_fini},
    .job_bytes = sizeof(struct preemptive_job),
    .notify = edf_notify,
    .decide = preemptive_decide,
    .ignores_estimates = true,
    .reads_deadlines = true,
};
