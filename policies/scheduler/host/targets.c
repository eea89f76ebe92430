#include "policies/scheduler/host/targets.h"

bool job_host_equal(const struct job_host *a, const struct job_host *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes;
}

/* Whole amount * of / gpus, without the product. */
static int64_t for_all(int64_t amount, int32_t of, int32_t gpus)
{
    return amount / gpus * of + amount % gpus * of / gpus;
}

struct job_host job_host_held(const struct job_view *job)
{
    struct job_host held = {INT64_MAX, INT64_MAX};
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        held.cpu_milli = lesser(held.cpu_milli, for_all(part.cpu_milli, job->gpus, part.gpus));
        held.memory_bytes = lesser(held.memory_bytes, for_all(part.memory_bytes, job->gpus, part.gpus));
    }
    return held;
}

/* The most that a running job may have for all of its GPUs, by the room on each of its nodes. `given`: [n_nodes] of
 * that room, what others get. */
static struct job_host room_for(const struct cluster_view *view, const struct job_view *job,
                                const struct job_host *given)
{
    struct job_host room = {INT64_MAX, INT64_MAX};
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        const struct node_view *node = &view->nodes[part.node];
        const struct job_host left = {node->cpu_left_milli - given[part.node].cpu_milli,
                                      node->memory_left_bytes - given[part.node].memory_bytes};
        if (node->cpu_milli < INT64_MAX)
            room.cpu_milli = lesser(room.cpu_milli, (part.cpu_milli + left.cpu_milli) / part.gpus);
        if (node->memory_bytes < INT64_MAX)
            room.memory_bytes = lesser(room.memory_bytes, (part.memory_bytes + left.memory_bytes) / part.gpus);
    }
    if (room.cpu_milli < INT64_MAX) room.cpu_milli *= job->gpus;
    if (room.memory_bytes < INT64_MAX) room.memory_bytes *= job->gpus;
    return room;
}

/* Notes what a job gets beyond what it holds. */
static void give(const struct opt_job *job, struct job_host *given)
{
    const int32_t gpus = job->view->gpus;
    for (struct job_part part = {0}; job_view_next_part(job->view, &part);) {
        given[part.node].cpu_milli += resource_request_share(job->target.cpu_milli, part.gpus, gpus) - part.cpu_milli;
        given[part.node].memory_bytes += resource_request_share(job->target.memory_bytes, part.gpus, gpus) -
                                         part.memory_bytes;
    }
}

void target_grow(struct opt_job *job, const struct cluster_view *view, struct job_host *given)
{
    const struct job_host room = room_for(view, job->view, given);
    struct job_host more = {lesser(job->best.cpu_milli, room.cpu_milli),
                            lesser(job->best.memory_bytes, room.memory_bytes)};
    if (more.cpu_milli < job->held.cpu_milli) more.cpu_milli = job->held.cpu_milli;
    if (more.memory_bytes < job->held.memory_bytes) more.memory_bytes = job->held.memory_bytes;
    if (job_host_equal(&more, &job->held)) return;
    if (!(job_view_host_speed(view, job->view, &more) > job_view_host_speed(view, job->view, &job->held))) return;
    job->target = more;
    give(job, given);
}

/* A job that gives up some of one resource gets of the other at once, unless that is not free yet. */
static void give_back(const struct opt_job *job, const char *reason, struct job_plan *plan)
{
    const struct job_host *target = &job->target, *held = &job->held;
    const struct job_host less = {lesser(target->cpu_milli, held->cpu_milli),
                                  lesser(target->memory_bytes, held->memory_bytes)};
    if (job_host_equal(&less, held)) return;
    if (!job_plan_set_host(plan, job->view, target, reason)) job_plan_set_host(plan, job->view, &less, reason);
}

void targets_set(const struct opt_job *jobs, size_t n, const char *reason, struct job_plan *plan)
{
    for (size_t i = 0; i < n; i++) give_back(&jobs[i], reason, plan);
    for (size_t i = 0; i < n; i++) {
        const struct opt_job *job = &jobs[i];
        const struct job_host held = job_host_held(job->view);
        if (!job_host_equal(&job->target, &held)) job_plan_set_host(plan, job->view, &job->target, reason);
    }
}
