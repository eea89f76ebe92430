#include "policies/scheduler/cpu_jobs.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

void cpu_jobs_fini(struct cpu_jobs *cpu_jobs)
{
    pending_fini(&cpu_jobs->pending);
    mem_free(cpu_jobs->heap);
}

void cpu_jobs_notify(struct cpu_jobs *cpu_jobs, const struct job_note *note, struct ranked *slot)
{
    const enum job_event event = note->event;
    if (event == JOB_EVENT_FINISH || event == JOB_EVENT_PREEMPT) cpu_jobs_room(cpu_jobs);
    if (note->job->gpus > 0) return;
    if (event == JOB_EVENT_SUBMIT || event == JOB_EVENT_PREEMPT) {
        *slot = (struct ranked){.job = note->job, .rank = {.first = note->job->sequence}};
        const int code = pending_add(&cpu_jobs->pending, slot);
        if (code < 0) cpu_jobs->code = code;
    } else if (event == JOB_EVENT_START) {
        pending_remove(&cpu_jobs->pending, slot);
    }
}

static bool is_older(const struct pending_class *a, const struct pending_class *b)
{
    return rank_before(&a->jobs.first->rank, &b->jobs.first->rank);
}

/* Restores the heap of n classes below `at`. */
static void sift(struct pending_class **heap, size_t n, size_t at)
{
    struct pending_class *moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_older(heap[child + 1], heap[child])) child++;
        if (!is_older(heap[child], moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Lists the classes that may start. Returns their number. */
static size_t list_open(struct cpu_jobs *cpu_jobs)
{
    const struct pending *pending = &cpu_jobs->pending;
    size_t n = 0;
    for (size_t i = 0; i < pending->n; i++)
        if (pending_class_is_open(pending, pending->classes[i])) cpu_jobs->heap[n++] = pending->classes[i];
    for (size_t i = n / 2; i-- > 0;) sift(cpu_jobs->heap, n, i);
    return n;
}

static bool start(const struct job_view *job, int32_t n_types, struct job_plan *plan)
{
    for (struct job_grant grant = {0}; grant.node_type < n_types; grant.node_type++)
        if (job_plan_start_as(plan, job, &grant, "it needs no GPUs")) return true;
    return false;
}

int cpu_jobs_start(struct cpu_jobs *cpu_jobs, const struct cluster_view *view, bool all_types, struct job_plan *plan)
{
    struct pending *pending = &cpu_jobs->pending;
    uint64_t epochs = 0;
    int32_t n_types = 0;
    for (; view != NULL && (all_types || n_types == 0); view = view->next_type, n_types++)
        epochs += view->capacity_epoch;
    if (pending->round == 0 || epochs != cpu_jobs->capacity_epochs) cpu_jobs_room(cpu_jobs);
    cpu_jobs->capacity_epochs = epochs;
    if (vec_reserve(&cpu_jobs->heap, &cpu_jobs->capacity, pending->n) != 0) return SIM_E_NOMEM;
    for (size_t n = list_open(cpu_jobs); n > 0;) {
        struct pending_class *class = cpu_jobs->heap[0];
        if (!start(class->jobs.first->job, n_types, plan)) class->refused_in = pending->round;
        if (!pending_class_is_open(pending, class)) cpu_jobs->heap[0] = cpu_jobs->heap[--n];
        if (n > 0) sift(cpu_jobs->heap, n, 0);
    }
    return cpu_jobs->code;
}
