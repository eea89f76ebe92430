/* Synergy (Mohan et al., OSDI 2022): jobs share the CPUs and the memory of nodes by how much they gain from these. Each
 * decision takes the jobs in a base order and lets those run that fit by GPUs alone, one behind the other; a job that
 * does not fit is skipped. Running jobs that are not among them are preempted.
 *
 * A job's *best* is the least with which no more makes it faster. Its *own share* is what it asked for, but of each
 * resource at most its best.
 *
 *     proportional  all jobs have their own share: the baseline
 *     greedy        a job has its best, or waits until that fits, although GPUs are free
 *     tune          a job that starts has its best; if it does not fit, its own share; if that does not fit either,
 *                   jobs on the node give back what they have beyond their own share, the last in the order first, no
 *                   more than is missing. Then running jobs get what is left, the first in the order first
 *
 * So no job of `tune` is ever slower than with its own share. A job on several nodes has equal amounts for each of its
 * GPUs, and the node with least counts.
 *
 * Differs from the paper: the placer chooses nodes, unless others must give back; running jobs are not packed anew at
 * each round, so that none migrates; and jobs may have any amount between own share and best, not one of the two.
 * Profiles of jobs are exact and free, where the paper's take some minutes of a job. The cluster's own nodes only. */
#include "policies/declared.h"
#include "policies/scheduler/cpu_jobs.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/policy/scheduler.h"

#include <stdlib.h>
#include <string.h>

enum order { FIFO, SRTF };
enum division { PROPORTIONAL, GREEDY, TUNE };

static const char *const order_names[] = {"fifo", "srtf", NULL};
static const char *const division_names[] = {"proportional", "greedy", "tune", NULL};

struct synergy_params {
    int order, division;
};

struct host_job {
    struct ranked waiting; /* for cpu_jobs */
    const struct job_view *view;
    sim_ns key_ns;         /* in the order */
    struct job_host asked, own, best;
    bool is_chosen, is_preempted; /* in this decision */
};

struct synergy {
    struct synergy_params params;
    struct cpu_jobs cpu_jobs;
    struct host_job **jobs; /* [n] in the order of the latest decision, then of submission */
    size_t n, capacity;
    bool *refused;          /* [n_classes] by request, in a decision */
    size_t n_classes, refused_capacity;
    int code;
};

/* --- Who there is --- */

static void remove_job(struct synergy *synergy, const struct host_job *job)
{
    size_t at = 0;
    while (at < synergy->n && synergy->jobs[at] != job) at++;
    if (at == synergy->n) return;
    memmove((void *)&synergy->jobs[at], (void *)&synergy->jobs[at + 1], (--synergy->n - at) * sizeof *synergy->jobs);
}

static void synergy_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct synergy *synergy = state;
    struct host_job *job = job_view_slot(note->job);
    (void)view;
    cpu_jobs_notify(&synergy->cpu_jobs, note, &job->waiting);
    if (note->job->gpus == 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        job->view = note->job;
        if (vec_push(&synergy->jobs, &synergy->n, &synergy->capacity, job) != 0) synergy->code = SIM_E_NOMEM;
    }
    if (note->event == JOB_EVENT_FINISH) remove_job(synergy, job);
}

/* --- The jobs that run --- */

static int before(const void *a, const void *b)
{
    const struct host_job *one = *(struct host_job *const *)a, *other = *(struct host_job *const *)b;
    if (one->key_ns != other->key_ns) return one->key_ns < other->key_ns ? -1 : 1;
    return one->view->sequence < other->view->sequence ? -1 : one->view->sequence > other->view->sequence;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void refresh(const struct synergy *synergy, const struct cluster_view *view, struct host_job *job)
{
    job->key_ns = synergy->params.order == SRTF ? job_view_estimated_remaining_ns(view, job->view) : 0;
    job->is_preempted = false;
    if (view->nodes == NULL) return;
    const struct resource_request *request = &view->requests[job->view->request];
    job->asked = (struct job_host){request->cpu_milli, request->memory_bytes};
    job->best = synergy->params.division == PROPORTIONAL ? job->asked : job_view_host_best(view, job->view);
    job->own.cpu_milli = least(job->asked.cpu_milli, job->best.cpu_milli);
    job->own.memory_bytes = least(job->asked.memory_bytes, job->best.memory_bytes);
}

static void sort(struct synergy *synergy)
{
    size_t i = 1;
    while (i < synergy->n && before(&synergy->jobs[i - 1], &synergy->jobs[i]) < 0) i++;
    if (i < synergy->n) qsort((void *)synergy->jobs, synergy->n, sizeof *synergy->jobs, before);
}

/* Chooses the first jobs that fit by GPUs alone. */
static void choose(struct synergy *synergy, const struct cluster_view *view)
{
    int64_t left = view->total_gpus;
    for (size_t i = 0; i < synergy->n; i++) refresh(synergy, view, synergy->jobs[i]);
    sort(synergy);
    for (size_t i = 0; i < synergy->n; i++) {
        struct host_job *job = synergy->jobs[i];
        job->is_chosen = job->view->gpus <= left;
        if (job->is_chosen) left -= job->view->gpus;
    }
}

/* --- Room --- */

/* What a running job holds beyond its own share on a node. */
static struct job_host excess_on(const struct host_job *job, int32_t node)
{
    struct job_part part;
    for (int32_t i = 0; job_view_part(job->view, i, &part); i++) {
        if (part.node != node) continue;
        const struct job_host own = {
            resource_request_share(job->own.cpu_milli, part.gpus, job->view->gpus),
            resource_request_share(job->own.memory_bytes, part.gpus, job->view->gpus)};
        return (struct job_host){part.cpu_milli > own.cpu_milli ? part.cpu_milli - own.cpu_milli : 0,
                                 part.memory_bytes > own.memory_bytes ? part.memory_bytes - own.memory_bytes : 0};
    }
    return (struct job_host){0, 0};
}

static struct job_host held_by(const struct host_job *job)
{
    struct job_host held = {0, 0};
    struct job_part part;
    for (int32_t i = 0; job_view_part(job->view, i, &part); i++) {
        held.cpu_milli += part.cpu_milli;
        held.memory_bytes += part.memory_bytes;
    }
    return held;
}

/* The part of `missing` for one of the job's GPUs, rounded up, for all of them. */
static int64_t over_all(const struct host_job *job, int64_t missing, int32_t gpus)
{
    return (missing + gpus - 1) / gpus * job->view->gpus;
}

/* Takes from a job what is missing on a node, at most what it holds beyond its own share. Returns whether that is
 * any. */
static bool cut(const struct host_job *job, int32_t node, const struct job_host *missing, struct job_plan *plan)
{
    const struct job_host excess = excess_on(job, node);
    struct job_part part;
    struct job_host now = held_by(job);
    int32_t i = 0;
    while (job_view_part(job->view, i, &part) && part.node != node) i++;
    const int64_t cpu_milli = least(missing->cpu_milli, excess.cpu_milli),
                  bytes = least(missing->memory_bytes, excess.memory_bytes);
    if (cpu_milli <= 0 && bytes <= 0) return false;
    if (cpu_milli > 0) now.cpu_milli -= over_all(job, cpu_milli, part.gpus);
    if (bytes > 0) now.memory_bytes -= over_all(job, bytes, part.gpus);
    if (now.cpu_milli < job->own.cpu_milli && cpu_milli > 0) now.cpu_milli = job->own.cpu_milli;
    if (now.memory_bytes < job->own.memory_bytes && bytes > 0) now.memory_bytes = job->own.memory_bytes;
    return job_plan_set_host(plan, job->view, &now, "gives back what is beyond its own share");
}

static struct job_host missing_on(const struct node_view *node, const struct job_host *wanted)
{
    return (struct job_host){
        node->cpu_left_milli < wanted->cpu_milli ? wanted->cpu_milli - node->cpu_left_milli : 0,
        node->memory_left_bytes < wanted->memory_bytes ? wanted->memory_bytes - node->memory_left_bytes : 0};
}

/* All that jobs hold beyond their own shares on a node. */
static struct job_host all_excess(const struct synergy *synergy, int32_t node)
{
    struct job_host sum = {0, 0};
    for (size_t i = 0; i < synergy->n; i++) {
        if (synergy->jobs[i]->view->state != JOB_RUNNING) continue;
        const struct job_host excess = excess_on(synergy->jobs[i], node);
        sum.cpu_milli += excess.cpu_milli;
        sum.memory_bytes += excess.memory_bytes;
    }
    return sum;
}

static void cut_on(const struct synergy *synergy, const struct cluster_view *view, int32_t node,
                   const struct job_host *wanted, struct job_plan *plan)
{
    for (size_t i = synergy->n; i-- > 0;) {
        const struct job_host missing = missing_on(&view->nodes[node], wanted);
        if (missing.cpu_milli == 0 && missing.memory_bytes == 0) return;
        if (synergy->jobs[i]->view->state == JOB_RUNNING) cut(synergy->jobs[i], node, &missing, plan);
    }
}

/* Makes room for the own share of a job on one node: that with the fewest free GPUs which suffices. Returns its number;
 * -1: there is none. */
static int32_t make_room(const struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                         struct job_plan *plan)
{
    int32_t best = -1;
    for (int32_t node = 0; node < view->n_nodes; node++) {
        const struct node_view *at = &view->nodes[node];
        if (at->free_gpus < job->view->gpus || (best >= 0 && at->free_gpus >= view->nodes[best].free_gpus)) continue;
        const struct job_host missing = missing_on(at, &job->own), excess = all_excess(synergy, node);
        if (missing.cpu_milli == 0 && missing.memory_bytes == 0) continue; /* that is not why the placer refuses */
        if (missing.cpu_milli <= excess.cpu_milli && missing.memory_bytes <= excess.memory_bytes) best = node;
    }
    if (best >= 0) cut_on(synergy, view, best, &job->own, plan);
    return best;
}

/* All jobs give back what they hold beyond their own shares where GPUs are free. Returns whether that is any. */
static bool make_room_everywhere(const struct synergy *synergy, const struct cluster_view *view, struct job_plan *plan)
{
    bool is_any = false;
    static const struct job_host all = {INT64_MAX / 2, INT64_MAX / 2};
    for (int32_t node = 0; node < view->n_nodes; node++)
        for (size_t i = synergy->n; view->nodes[node].free_gpus > 0 && i-- > 0;)
            if (synergy->jobs[i]->view->state == JOB_RUNNING)
                is_any = cut(synergy->jobs[i], node, &all, plan) || is_any;
    return is_any;
}

/* --- Starts --- */

static bool is_alike(const struct job_host *a, const struct job_host *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes;
}

/* Starts where the placer says. */
static bool start_with(const struct host_job *job, const struct job_host *host, struct job_plan *plan,
                       const char *reason)
{
    return job_plan_start_with(plan, job->view, is_alike(host, &job->asked) ? NULL : host, NULL, reason);
}

/* Starts with its own share where others give back what is beyond theirs. */
static bool start_in_room(const struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                          struct job_plan *plan)
{
    static const char reason[] = "has its own share of CPUs and memory: others give back more";
    const struct resource_request *request = &view->requests[job->view->request];
    if (request->gpu_milli < 1000 || request->gpu_models != UINT64_MAX) return false;
    if (job->view->gpus > view->gpus_per_node || job->view->nodes > 1)
        return make_room_everywhere(synergy, view, plan) && start_with(job, &job->own, plan, reason);
    int32_t node = make_room(synergy, view, job, plan), gpus = job->view->gpus;
    const struct placement where = {&node, &gpus, 1, 1, -1};
    return node >= 0 && job_plan_start_with(plan, job->view, &job->own, &where, reason);
}

static bool start(const struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                  struct job_plan *plan)
{
    const struct job_view *waits = job->view;
    const int division = synergy->params.division;
    if (waits->gpus > view->free_gpus && !(waits->gpus == 1 && view->free_amount > 0)) return false;
    if (view->nodes == NULL) return job_plan_start(plan, waits, "fits in its turn");
    if (job->is_preempted && job_plan_start(plan, waits, "goes on: others find no room")) return true;
    if (start_with(job, &job->best, plan, "has the CPUs and memory that it gains by")) return true;
    if (division == GREEDY && view->n_running > 0) return false;
    if (!is_alike(&job->best, &job->own) && start_with(job, &job->own, plan, "has its own share of CPUs and memory"))
        return true;
    return division == TUNE && start_in_room(synergy, view, job, plan);
}

/* Starts those that are chosen, or those that are not. Equal requests have room together or not at all, but for a job
 * that goes on, and under `greedy`. */
static void start_all(struct synergy *synergy, const struct cluster_view *view, bool is_chosen, struct job_plan *plan)
{
    memset(synergy->refused, 0, synergy->n_classes * sizeof *synergy->refused);
    for (size_t i = 0; i < synergy->n && view->free_amount > 0; i++) {
        const struct host_job *job = synergy->jobs[i];
        const int32_t request = job->view->request;
        if (job->is_chosen != is_chosen || job->view->state != JOB_PENDING) continue;
        const bool has_class = view->nodes != NULL && synergy->params.division != GREEDY;
        if (has_class && synergy->refused[request] && !job->is_preempted) continue;
        if (!start(synergy, view, job, plan) && has_class) synergy->refused[request] = true;
    }
}

/* --- What is left --- */

/* The most that a running job may have for all of its GPUs, by the room on each of its nodes. */
static struct job_host room_for(const struct cluster_view *view, const struct host_job *job)
{
    struct job_host room = {INT64_MAX, INT64_MAX};
    struct job_part part;
    for (int32_t i = 0; job_view_part(job->view, i, &part); i++) {
        const struct node_view *node = &view->nodes[part.node];
        if (part.gpus == 0) return (struct job_host){0, 0};
        if (node->cpu_milli < INT64_MAX)
            room.cpu_milli = least(room.cpu_milli, (part.cpu_milli + node->cpu_left_milli) / part.gpus);
        if (node->memory_bytes < INT64_MAX)
            room.memory_bytes = least(room.memory_bytes, (part.memory_bytes + node->memory_left_bytes) / part.gpus);
    }
    if (room.cpu_milli < INT64_MAX) room.cpu_milli *= job->view->gpus;
    if (room.memory_bytes < INT64_MAX) room.memory_bytes *= job->view->gpus;
    return room;
}

/* Running jobs get what is left, up to their best. */
static void grow_all(const struct synergy *synergy, const struct cluster_view *view, struct job_plan *plan)
{
    for (size_t i = 0; i < synergy->n; i++) {
        const struct host_job *job = synergy->jobs[i];
        if (job->view->state != JOB_RUNNING) continue;
        const struct job_host held = held_by(job), room = room_for(view, job);
        struct job_host more = {least(job->best.cpu_milli, room.cpu_milli),
                                least(job->best.memory_bytes, room.memory_bytes)};
        if (more.cpu_milli < held.cpu_milli) more.cpu_milli = held.cpu_milli;
        if (more.memory_bytes < held.memory_bytes) more.memory_bytes = held.memory_bytes;
        if (is_alike(&more, &held)) continue;
        if (!(job_view_host_speed(view, job->view, &more) > job_view_host_speed(view, job->view, &held))) continue;
        job_plan_set_host(plan, job->view, &more, "gets what is left");
    }
}

static int synergy_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct synergy *synergy = state;
    synergy->n_classes = (size_t)view->n_requests + 1; /* later ones are other amounts than jobs asked for */
    if (synergy->code == 0)
        synergy->code = vec_reserve(&synergy->refused, &synergy->refused_capacity, synergy->n_classes);
    if (synergy->code != 0) return synergy->code;
    choose(synergy, view);
    for (size_t i = 0; i < synergy->n; i++) {
        struct host_job *job = synergy->jobs[i];
        if (job->view->state != JOB_RUNNING || job->is_chosen) continue;
        job_plan_preempt(plan, job->view, "others come before it");
        job->is_preempted = true;
    }
    start_all(synergy, view, true, plan);
    start_all(synergy, view, false, plan);
    const int code = cpu_jobs_start(&synergy->cpu_jobs, view, false, plan);
    if (view->nodes != NULL && synergy->params.division == TUNE) grow_all(synergy, view, plan);
    return code;
}

static void synergy_fini(void *state)
{
    struct synergy *synergy = state;
    cpu_jobs_fini(&synergy->cpu_jobs);
    mem_free((void *)synergy->jobs);
    mem_free(synergy->refused);
}

#define ROW_OF struct synergy_params
static const struct config_field synergy_fields[] = {
    ROW_CHOICE("order", order, DEFAULT("fifo"), order_names,
               "fifo: order of submission; srtf: shortest remaining time by the estimates"),
    ROW_CHOICE(
        "division", division, DEFAULT("tune"), division_names,
        "CPUs and memory of a job: its own share; its best or none; its best, cut back to its own share where others need it"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_synergy = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "synergy",
               .summary = "CPUs and memory by how much jobs gain from them; the GPUs decide who runs, in a base order; preemptive",
               .source = "Mohan et al., Synergy (OSDI 2022)",
               .params = synergy_fields,
               .params_bytes = sizeof(struct synergy_params),
               .state_bytes = sizeof(struct synergy),
               .fini = synergy_fini},
    .job_bytes = sizeof(struct host_job),
    .notify = synergy_notify,
    .decide = synergy_decide,
};
