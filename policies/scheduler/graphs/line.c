#include "policies/scheduler/graphs/line.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

void line_fini(struct line *line)
{
    cpu_jobs_fini(&line->cpu_jobs);
    mem_free(line->waiting);
    mem_free(line->heap);
}

/* --- Who waits --- */

static struct line_job *state_of(const struct job_view *job)
{
    return job_view_slot(job);
}

static void add(struct line *line, const struct job_view *job)
{
    state_of(job)->at = line->n;
    if (vec_push(&line->waiting, &line->n, &line->capacity, (struct line_place){.job = job}) != 0)
        line->code = SIM_E_NOMEM;
}

static void take_out(struct line *line, const struct job_view *job)
{
    const size_t at = state_of(job)->at;
    if (line->code != 0) return;
    line->waiting[at] = line->waiting[--line->n];
    if (at < line->n) state_of(line->waiting[at].job)->at = at;
}

void line_notify(struct line *line, const struct cluster_view *view, const struct job_note *note)
{
    cpu_jobs_notify(&line->cpu_jobs, note, &state_of(note->job)->ranked);
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) state_of(note->job)->ready_ns = view->now_ns;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) add(line, note->job);
    if (note->event == JOB_EVENT_START) take_out(line, note->job);
}

/* --- In order --- */

static bool is_before(const struct line_place *a, const struct line_place *b)
{
    if (a->key != b->key) return a->key < b->key;
    return a->job->submit_ns != b->job->submit_ns ? a->job->submit_ns < b->job->submit_ns : a->job->id < b->job->id;
}

static void sift(struct line *line, size_t at)
{
    const struct line_place moved = line->heap[at];
    for (size_t child; (child = 2 * at + 1) < line->n_heap; at = child) {
        if (child + 1 < line->n_heap && is_before(&line->heap[child + 1], &line->heap[child])) child++;
        if (!is_before(&line->heap[child], &moved)) break;
        line->heap[at] = line->heap[child];
    }
    line->heap[at] = moved;
}

static const struct job_view *pop(struct line *line)
{
    const struct job_view *first = line->heap[0].job;
    line->heap[0] = line->heap[--line->n_heap];
    if (line->n_heap > 0) sift(line, 0);
    return first;
}

static bool has_room(const struct cluster_view *type, const struct job_view *job)
{
    return type->free_gpus >= job->gpus || (job->gpus == 1 && type->free_amount > 0);
}

int line_start(struct line *line, const struct cluster_view *view, struct job_plan *plan, line_key *key,
               const void *scheduler, bool is_fixed, const char *reason)
{
    struct job_grant grant = {0};
    int code = line->code != 0 ? line->code : cpu_jobs_start(&line->cpu_jobs, view, true, plan);
    for (const struct cluster_view *type = view; type != NULL && code == 0; type = type->next_type, grant.node_type++) {
        code = vec_reserve(&line->heap, &line->heap_capacity, line->n);
        line->n_heap = 0;
        for (size_t i = 0; i < line->n && code == 0; i++) {
            const struct job_view *job = line->waiting[i].job;
            struct line_job *state = state_of(job);
            if (!has_room(type, job) || !(job_view_speed_on(type, job, job->gpus) > 0)) continue;
            if (!is_fixed || !state->is_keyed) state->key = key(scheduler, view, job);
            state->is_keyed = true;
            line->heap[line->n_heap++] = (struct line_place){job, state->key};
        }
        for (size_t i = line->n_heap / 2; i-- > 0;) sift(line, i);
        while (line->n_heap > 0 && type->free_amount > 0) {
            const struct job_view *job = pop(line);
            grant.gpus = job->gpus;
            if (has_room(type, job)) job_plan_start_as(plan, job, &grant, reason);
        }
    }
    return code;
}
