/* Shortest job first by the run time that users stated (the true one where the trace has no statement), without
 * preemption. What does not fit is skipped, or with `strict` stops all behind it. */
#include "policies/declared.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

struct sjf_params {
    bool strict;
};

static const struct config_field sjf_fields[] = {
    {.name = "strict", .kind = CONFIG_BOOL, .offset = offsetof(struct sjf_params, strict), .value = "false",
     .help = "the shortest job, when it does not fit, holds all others up"},
    {0}};

static int sjf_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    ((struct skipping *)state)->strict = ((const struct sjf_params *)params)->strict;
    return 0;
}

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
               .summary = "shortest estimated run time first, skipping what does not fit; no preemption",
               .source = "Conway, Maxwell and Miller, Theory of Scheduling (1967)",
               .params = sjf_fields,
               .params_bytes = sizeof(struct sjf_params),
               .state_bytes = sizeof(struct skipping),
               .init = sjf_init,
               .fini = skipping_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = sjf_notify,
    .decide = sjf_decide,
};
