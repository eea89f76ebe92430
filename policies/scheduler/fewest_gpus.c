/* Fewest GPUs first, the older of equals first, with preemption. The size of a job is the number of GPUs that it
 * requests, so no estimate of its run time is needed. */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

static void fewest_gpus_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct preemptive_job *job = job_view_slot(note->job);
    job->level = note->job->gpus;
    preemptive_notify(state, view, note);
}

const struct scheduler scheduler_fewest_gpus = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "fewest-gpus",
               .summary = "fewest GPUs first, then oldest; preemptive",
               .source = "Tiresias (NSDI 2019) simulator, sjf",
               .state_bytes = sizeof(struct preemptive),
               .fini = preemptive_fini},
    .job_bytes = sizeof(struct preemptive_job),
    .notify = fewest_gpus_notify,
    .decide = preemptive_decide,
    .ignores_estimates = true,
};
