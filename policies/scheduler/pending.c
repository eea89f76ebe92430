#include "policies/scheduler/pending.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

void pending_fini(struct pending *pending)
{
    for (size_t i = 0; i < pending->n; i++) mem_free(pending->classes[i]);
    mem_free(pending->classes);
    *pending = (struct pending){0};
}

static bool is_before(const struct pending_class *class, const struct job_view *job)
{
    if (class->gpus != job->gpus) return class->gpus < job->gpus;
    return class->nodes != job->nodes ? class->nodes < job->nodes : class->request < job->request;
}

/* Index of the first class that is not before the job's. */
static size_t find(const struct pending *pending, const struct job_view *job)
{
    size_t low = 0, high = pending->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_before(pending->classes[middle], job))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct pending_class *add_class(struct pending *pending, size_t at, const struct job_view *job)
{
    if (vec_reserve(&pending->classes, &pending->capacity, pending->n + 1) != 0) return NULL;
    struct pending_class *class = mem_zalloc(1, sizeof *class);
    if (class == NULL) return NULL;
    class->gpus = job->gpus;
    class->nodes = job->nodes;
    class->request = job->request;
    memmove(&pending->classes[at + 1], &pending->classes[at], (pending->n - at) * sizeof *pending->classes);
    pending->classes[at] = class;
    pending->n++;
    return class;
}

struct pending_class *pending_class_of(struct pending *pending, const struct job_view *job)
{
    size_t at = find(pending, job);
    struct pending_class *class = at < pending->n ? pending->classes[at] : NULL;
    bool found = class != NULL && class->gpus == job->gpus && class->nodes == job->nodes &&
                 class->request == job->request;
    return found ? class : add_class(pending, at, job);
}

int pending_add(struct pending *pending, struct ranked *ranked)
{
    struct pending_class *class = pending_class_of(pending, ranked->job);
    if (class == NULL) return SIM_E_NOMEM;
    ranking_add(&class->jobs, ranked);
    return 0;
}

void pending_remove(struct pending *pending, struct ranked *ranked)
{
    ranking_remove(&pending_class_of(pending, ranked->job)->jobs, ranked);
}
