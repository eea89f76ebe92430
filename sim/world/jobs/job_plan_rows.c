/* Rows of a plan: its decisions with their reasons, and the scheduler's warnings; and what the trace noted. */
#include "sim/world/jobs/job.h"

#include <stdio.h>
#include <string.h>

int job_plan_emit_warnings(const struct jobs *jobs)
{
    int code = 0;
    for (int32_t i = 0; code == 0 && i < jobs->plan.n_warnings && jobs->site->sink->warning != NULL; i++) {
        const struct job_warning *warning = &jobs->plan.warnings[i];
        const struct warning_row row = {.t_s = sim_s_from_ns(warning->first_ns), .code = warning->code,
                                        .text = warning->text, .count = warning->count};
        code = jobs->site->sink->warning(jobs->site->sink->context, &row);
    }
    return code;
}

/* The policy's reason, and the GPUs that the action moved. A stopped job may have had none. */
static void describe(const struct job_action *action, char *reason, size_t reason_bytes)
{
    const char *what = strcmp(action->name, "preempt") == 0 ? "gives back" : "takes";
    if (strcmp(action->name, "resize") == 0) what = "goes on with";
    if (strcmp(action->name, "migrate") == 0) what = "goes on elsewhere with";
    if (strcmp(action->name, "stop") == 0) {
        snprintf(reason, reason_bytes, "%s", action->reason);
        return;
    }
    int n = snprintf(reason, reason_bytes, "%s: %s %.10g GPU%s", action->reason, what, action->gpus,
                     action->gpus == 1 ? "" : "s");
    const struct cluster *cluster = jobs_cluster_of(action->job->jobs, action->job->view.node_type);
    if (n > 0 && (size_t)n < reason_bytes && cluster->total_gpus < INT64_MAX)
        snprintf(reason + n, reason_bytes - (size_t)n, ", then %.10g of %lld are free", action->free_gpus,
                 (long long)cluster->total_gpus);
}

int job_plan_emit_actions(const struct job_plan *plan)
{
    const struct jobs *jobs = plan->jobs;
    for (int32_t i = 0; i < plan->n_actions; i++) {
        const struct job_action *action = &plan->actions[i];
        if (action->job == NULL) continue;
        char reason[256];
        describe(action, reason, sizeof reason);
        struct decision_row row = {.t_s = sim_s_from_ns(jobs->view.now_ns),
                                   .service = "",
                                   .policy = jobs->scheduler->policy.name,
                                   .action = action->name,
                                   .subject = action->job->view.id,
                                   .reason = reason};
        int code = jobs->site->sink->decision(jobs->site->sink->context, &row);
        if (code < 0) return code;
    }
    return 0;
}

int jobs_emit_notes(const struct jobs *jobs)
{
    struct source_note note;
    int code = 0;
    for (size_t i = 0; code == 0 && jobs->site->sink->warning != NULL && jobs->source->note(jobs->source, i, &note);
         i++) {
        char text[512];
        snprintf(text, sizeof text, "jobs: %s%s%s", note.text, note.where != NULL ? ", first at " : "",
                 source_note_place(&note));
        struct warning_row row = {.t_s = (double)NAN, .code = note.code, .text = text, .count = note.count};
        code = jobs->site->sink->warning(jobs->site->sink->context, &row);
    }
    return code;
}
