#include "policies/scheduler/predictor.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

/* Jobs of one type and number of GPUs that have ended; gpus 0: of any number; type NULL: of any type. */
struct past_jobs {
    const char *type;
    int32_t gpus;
    int64_t n;
    double sum_s;
};

void predictor_fini(struct predictor *predictor)
{
    mem_free(predictor->past);
}

static struct past_jobs *find(const struct predictor *predictor, const char *type, int32_t gpus)
{
    for (size_t i = 0; i < predictor->n; i++) {
        struct past_jobs *past = &predictor->past[i];
        const bool is_type = type == NULL ? past->type == NULL : past->type != NULL && strcmp(past->type, type) == 0;
        if (is_type && past->gpus == gpus) return past;
    }
    return NULL;
}

int predictor_learn(struct predictor *predictor, const struct cluster_view *view, const struct job_view *job)
{
    const struct past_jobs groups[] = {{.type = job->type, .gpus = job->gpus}, {.type = job->type}, {.type = NULL}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        struct past_jobs *past = find(predictor, groups[i].type, groups[i].gpus);
        if (past == NULL) {
            if (vec_push(&predictor->past, &predictor->n, &predictor->capacity, groups[i]) != 0) return SIM_E_NOMEM;
            past = &predictor->past[predictor->n - 1];
        }
        past->n++;
        past->sum_s += sim_s_from_ns(job_view_executed_ns(view, job));
    }
    return 0;
}

/* In seconds on the requested GPUs. */
static double run_s(const struct predictor *predictor, const struct job_view *job)
{
    const struct past_jobs *past = find(predictor, job->type, job->gpus);
    if (past == NULL) past = find(predictor, job->type, 0);
    if (past == NULL) past = find(predictor, NULL, 0);
    return past != NULL ? past->sum_s / (double)past->n : sim_s_from_ns(job->estimate_ns);
}

double predictor_gpu_s(const struct predictor *predictor, const struct job_view *job)
{
    return run_s(predictor, job) * (job->gpus > 0 ? job->gpus : 1);
}
