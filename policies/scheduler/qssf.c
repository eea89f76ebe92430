/* Quasi-shortest service first (Hu et al., Helios, SC 2021): least predicted GPU time first, without preemption.
 * The first job that does not fit stops all behind it, as in Lucid's simulator, or is skipped with "strict": false.
 *
 * The run time is predicted from jobs that have ended: the mean of those with the same type and GPUs, else of those
 * with the same type, else of all, else the user's estimate. Helios takes the mean over jobs of the same user and
 * name, or a regression over gradient-boosted trees; schedulers do not see users here. */
#include "policies/declared.h"
#include "policies/scheduler/skipping.h"
#include "sim/world/policy/scheduler.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

/* Jobs of one type and number of GPUs that have ended; gpus 0: of any number; type NULL: of any type. */
struct past {
    const char *type;
    int32_t gpus;
    int64_t n;
    double sum_s;
};

struct qssf {
    struct skipping skipping; /* first */
    struct past *past;
    size_t n, capacity;
};

/* The entry of these jobs, which is made if `makes`; NULL: there is none, or no memory for it. */
static struct past *find(struct qssf *qssf, const char *type, int32_t gpus, bool makes)
{
    for (size_t i = 0; i < qssf->n; i++) {
        struct past *past = &qssf->past[i];
        const bool is_type = type == NULL ? past->type == NULL : past->type != NULL && strcmp(past->type, type) == 0;
        if (is_type && past->gpus == gpus) return past;
    }
    if (!makes) return NULL;
    const struct past past = {.type = type, .gpus = gpus};
    if (vec_push(&qssf->past, &qssf->n, &qssf->capacity, past) != 0) {
        qssf->skipping.code = SIM_E_NOMEM;
        return NULL;
    }
    return &qssf->past[qssf->n - 1];
}

static void learn(struct qssf *qssf, const struct cluster_view *view, const struct job_view *job)
{
    const struct {
        const char *type;
        int32_t gpus;
    } groups[] = {{job->type, job->gpus}, {job->type, 0}, {NULL, 0}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct past *past = find(qssf, groups[i].type, groups[i].gpus, true);
        if (past == NULL) return;
        past->n++;
        past->sum_s += sim_s_from_ns(job_view_executed_ns(view, job));
    }
}

static double predict_s(struct qssf *qssf, const struct job_view *job)
{
    const struct past *past = find(qssf, job->type, job->gpus, false);
    if (past == NULL) past = find(qssf, job->type, 0, false);
    if (past == NULL) past = find(qssf, NULL, 0, false);
    return past != NULL ? past->sum_s / (double)past->n : sim_s_from_ns(job->estimate_ns);
}

/* A prediction is made when a job is submitted, or preempted by others. */
static void qssf_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct qssf *qssf = state;
    struct rank rank = {.second = note->job->sequence};
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT)
        rank.first = sim_ns_from_s(predict_s(qssf, note->job) * (note->job->gpus > 0 ? note->job->gpus : 1));
    skipping_notify(state, note, rank);
    if (note->event == JOB_EVENT_FINISH) learn(qssf, view, note->job);
}

static int qssf_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    return skipping_decide(state, view, plan, "least predicted GPU time");
}

static void qssf_fini(void *state)
{
    mem_free(((struct qssf *)state)->past);
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
