/* Quasi-shortest service first (Hu et al., Helios, SC 2021): least predicted GPU time first, without preemption.
 * The first job that does not fit stops all behind it, as in Lucid's simulator, or is skipped with "strict": false.
 *
 * The run time is predicted from jobs that have ended (predictor.h). Helios takes the mean over jobs of the same
 * user and name, or a regression over gradient-boosted trees; schedulers do not see users here. */
#include "policies/declared.h"
#include "policies/scheduler/predictor.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

struct qssf {
    struct skipping skipping; /* first */
    struct predictor predictor;
};

/* A prediction is made when a job is submitted, or preempted by others. */
static void qssf_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct qssf *qssf = state;
    struct rank rank = {.second = note->job->sequence};
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT)
        rank.first = sim_ns_from_s(predictor_gpu_s(&qssf->predictor, note->job));
    skipping_notify(state, note, rank);
    if (note->event != JOB_EVENT_FINISH) return;
    const int code = predictor_learn(&qssf->predictor, view, note->job);
    if (code < 0) qssf->skipping.code = code;
}

static int qssf_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    return skipping_decide(state, view, plan, "least predicted GPU time");
}

static void qssf_fini(void *state)
{
    predictor_fini(&((struct qssf *)state)->predictor);
    skipping_fini(state);
}

#define ROW_OF struct skipping_params
static const struct config_field qssf_fields[] = {
    ROW_BOOL("strict", strict, DEFAULT("true"), "the first job that does not fit stops all behind it"), {0}};
#undef ROW_OF

const struct scheduler scheduler_qssf = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "qssf",
               .summary = "least GPU time first, as predicted from ended jobs of the same type and GPUs; no preemption",
               .source = "Hu et al., Helios (SC 2021)",
               .params = qssf_fields,
               .params_bytes = sizeof(struct skipping_params),
               .state_bytes = sizeof(struct qssf),
               .fini = qssf_fini},
    .job_bytes = sizeof(struct ranked),
    .notify = qssf_notify,
    .decide = qssf_decide,
};
