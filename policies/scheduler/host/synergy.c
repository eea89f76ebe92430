/* Synergy (Mohan et al., OSDI 2022): jobs share the CPUs and the memory of nodes by how much they gain from these. Each
 * decision takes the jobs in a base order and lets those run that fit by GPUs alone, one behind the other; a job that
 * does not fit is skipped. Running jobs that are not among them are preempted.
 *
 * A job's *best* is the least with which no more makes it faster. Its *own share* is what it asked for, but of each
 * resource at most its best.
 *
 *     proportional  all jobs have what they asked for: the baseline
 *     greedy        a job has its best, or waits until that fits, although GPUs are free
 *     tune          a job that starts has its best; if it does not fit, its own share; if that does not fit either,
 *                   jobs on its node, or its nodes, give back what they have beyond their own share, the last in the
 *                   order first, no more than is missing. Then running jobs get what is left, the first in the order
 *                   first
 *     opt           as `tune`; then running jobs get what makes the sum of their speeds the most (synergy_opt.h)
 *
 * Orders are those of submission, of shortest remaining time, of least attained service (time on GPUs times their
 * number), and of worst finish-time fairness. That is (time in the system + remaining time) / run time, without
 * contention. The last two change while jobs wait, so each `round` looks at them anew. README.md has the rest. */
#include "policies/declared.h"
#include "policies/scheduler/cpu_jobs.h"
#include "policies/scheduler/host/synergy_opt.h"
#include "policies/scheduler/host/targets.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/policy/scheduler.h"

#include <stdlib.h>
#include <string.h>

enum order { FIFO, SRTF, LAS, FTF };
enum division { PROPORTIONAL, GREEDY, TUNE, OPT };

static const char *const order_names[] = {"fifo", "srtf", "las", "ftf", NULL};
static const char *const division_names[] = {"proportional", "greedy", "tune", "opt", NULL};

/* The default of "round". */
#define ROUND "5min"
static const sim_ns ROUND_NS = 300 * SIM_NS_PER_S;

struct synergy_params {
    int order, division;
    sim_ns round_ns;
};

struct host_job {
    struct ranked waiting; /* for cpu_jobs */
    const struct job_view *view;
    double key;            /* in the order: the least first */
    struct job_host asked, own, best;
    bool is_chosen, is_preempted; /* in this decision */
};

/* Of a node, in a decision. */
struct node_room {
    struct job_host excess; /* that jobs hold beyond their own shares */
    bool is_taken;          /* by another part of the job that looks for room */
};

/* Jobs with this best, and one request, find no room in this decision. */
struct refusal {
    struct job_host best;
    int32_t next; /* of the request; -1: none */
};

struct synergy {
    struct synergy_params params;
    struct cpu_jobs cpu_jobs;
    struct host_job **jobs; /* [n] in the order of the latest decision, then of submission */
    size_t n, capacity;
    int32_t *refused;       /* [n_requests]: the first refusal of each request, in a decision; -1: none */
    struct refusal *refusals;
    size_t n_requests, requests_capacity, n_refusals, refusals_capacity;
    struct node_room *rooms; /* [n_nodes], if knows_excess */
    size_t rooms_capacity;
    bool knows_excess;
    struct job_host *given; /* [n_nodes]: what jobs get of what is left, in a decision */
    size_t given_capacity;
    struct placement found; /* room for the job that is looked at */
    struct synergy_opt opt;
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
    if (one->key != other->key) return one->key < other->key ? -1 : 1;
    return one->view->sequence < other->view->sequence ? -1 : one->view->sequence > other->view->sequence;
}

static double key_of(const struct synergy *synergy, const struct cluster_view *view, const struct job_view *job)
{
    switch (synergy->params.order) {
    case SRTF: return (double)job_view_estimated_remaining_ns(view, job);
    case LAS: return (double)job_view_executed_ns(view, job) * job->gpus;
    case FTF:
        return -((double)(view->now_ns - job->submit_ns) + (double)job_view_estimated_remaining_ns(view, job)) /
               (double)(job->estimate_ns > 0 ? job->estimate_ns : 1);
    default: return 0.0;
    }
}

static void refresh(const struct synergy *synergy, const struct cluster_view *view, struct host_job *job)
{
    job->key = key_of(synergy, view, job->view);
    job->is_preempted = false;
    if (view->nodes == NULL) return;
    const struct resource_request *request = &view->requests[job->view->request];
    job->asked = (struct job_host){request->cpu_milli, request->memory_bytes};
    job->best = synergy->params.division == PROPORTIONAL ? job->asked : job_view_host_best(view, job->view);
    job->own.cpu_milli = lesser(job->asked.cpu_milli, job->best.cpu_milli);
    job->own.memory_bytes = lesser(job->asked.memory_bytes, job->best.memory_bytes);
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

/* --- Room ---
 *
 * A job that fits nowhere has the parts that placers make of it: one per node, or whole nodes and the rest, or as many
 * as it asked for. Each part goes to the node with the fewest free GPUs where jobs can give back enough. Nobody gives
 * anything back unless all parts have a node. */

static struct job_host excess_of(const struct host_job *job, const struct job_part *part)
{
    const int64_t cpu_milli = part->cpu_milli - resource_request_share(job->own.cpu_milli, part->gpus, job->view->gpus),
                  bytes = part->memory_bytes -
                          resource_request_share(job->own.memory_bytes, part->gpus, job->view->gpus);
    return (struct job_host){cpu_milli > 0 ? cpu_milli : 0, bytes > 0 ? bytes : 0};
}

/* Counts (+1) or uncounts (-1) what a running job holds beyond its own share, once somebody has asked for that. */
static void count_excess(struct synergy *synergy, const struct host_job *job, int sign)
{
    for (struct job_part part = {0}; synergy->knows_excess && job_view_next_part(job->view, &part);) {
        const struct job_host excess = excess_of(job, &part);
        synergy->rooms[part.node].excess.cpu_milli += sign * excess.cpu_milli;
        synergy->rooms[part.node].excess.memory_bytes += sign * excess.memory_bytes;
    }
}

static bool learn_excess(struct synergy *synergy, const struct cluster_view *view)
{
    if (synergy->knows_excess) return true;
    synergy->code = vec_reserve(&synergy->rooms, &synergy->rooms_capacity, (size_t)view->n_nodes);
    if (synergy->code != 0) return false;
    memset(synergy->rooms, 0, (size_t)view->n_nodes * sizeof *synergy->rooms);
    synergy->knows_excess = true;
    for (size_t i = 0; i < synergy->n; i++)
        if (synergy->jobs[i]->view->state == JOB_RUNNING) count_excess(synergy, synergy->jobs[i], 1);
    return true;
}

/* The part of `missing` for one of the job's GPUs, rounded up, for all of them. */
static int64_t over_all(const struct host_job *job, int64_t missing, int32_t gpus)
{
    return (missing + gpus - 1) / gpus * job->view->gpus;
}

/* Takes from a job what is missing on a node, at most what it holds beyond its own share. */
static void cut(struct synergy *synergy, const struct host_job *job, int32_t node, const struct job_host *missing,
                struct job_plan *plan)
{
    struct job_part part = {0};
    do {
        if (!job_view_next_part(job->view, &part)) return;
    } while (part.node != node);
    const struct job_host excess = excess_of(job, &part);
    struct job_host now = job_host_held(job->view);
    const int64_t cpu_milli = lesser(missing->cpu_milli, excess.cpu_milli),
                  bytes = lesser(missing->memory_bytes, excess.memory_bytes);
    if (cpu_milli <= 0 && bytes <= 0) return;
    now.cpu_milli -= over_all(job, cpu_milli, part.gpus);
    now.memory_bytes -= over_all(job, bytes, part.gpus);
    if (now.cpu_milli < job->own.cpu_milli) now.cpu_milli = job->own.cpu_milli;
    if (now.memory_bytes < job->own.memory_bytes) now.memory_bytes = job->own.memory_bytes;
    count_excess(synergy, job, -1);
    job_plan_set_host(plan, job->view, &now, "gives back what is beyond its own share");
    count_excess(synergy, job, 1);
}

static struct job_host missing_on(const struct node_view *node, const struct job_host *wanted)
{
    return (struct job_host){
        node->cpu_left_milli < wanted->cpu_milli ? wanted->cpu_milli - node->cpu_left_milli : 0,
        node->memory_left_bytes < wanted->memory_bytes ? wanted->memory_bytes - node->memory_left_bytes : 0};
}

static bool is_none(const struct job_host *host)
{
    return host->cpu_milli == 0 && host->memory_bytes == 0;
}

/* Jobs give back on a node until `wanted` is free, the last in the order first. Returns whether it is. */
static bool cut_on(struct synergy *synergy, const struct cluster_view *view, int32_t node,
                   const struct job_host *wanted, struct job_plan *plan)
{
    struct job_host missing = missing_on(&view->nodes[node], wanted);
    for (size_t i = synergy->n; i-- > 0 && !is_none(&missing);) {
        if (synergy->jobs[i]->view->state != JOB_RUNNING) continue;
        cut(synergy, synergy->jobs[i], node, &missing, plan);
        missing = missing_on(&view->nodes[node], wanted);
    }
    return is_none(&missing);
}

/* The own share of a part of the job. */
static struct job_host own_of(const struct host_job *job, int32_t gpus)
{
    return (struct job_host){resource_request_share(job->own.cpu_milli, gpus, job->view->gpus),
                             resource_request_share(job->own.memory_bytes, gpus, job->view->gpus)};
}

/* The GPU of the node that a share fits best: the lowest of those with the least sufficient part left. -1: none. */
static int32_t gpu_for(const struct node_view *node, int32_t gpu_milli)
{
    int32_t best = -1;
    for (int32_t g = 0; g < node->gpus; g++)
        if (node->gpu_left_milli[g] >= gpu_milli && (best < 0 || node->gpu_left_milli[g] < node->gpu_left_milli[best]))
            best = g;
    return best;
}

/* Whether a part of the job has room on the node once others there have given back. Where nothing is missing for a
 * whole job, that is not why the placer refuses. */
static bool has_room(const struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                     int32_t node, int32_t gpus)
{
    const struct node_view *at = &view->nodes[node];
    const struct resource_request *request = &view->requests[job->view->request];
    const struct node_room *room = &synergy->rooms[node];
    const struct job_host own = own_of(job, gpus), missing = missing_on(at, &own);
    if (room->is_taken || (request->gpu_models >> at->gpu_model & 1) == 0) return false;
    if (request->gpu_milli < 1000 ? gpu_for(at, request->gpu_milli) < 0 : at->free_gpus < gpus) return false;
    if (gpus == job->view->gpus && is_none(&missing)) return false;
    return missing.cpu_milli <= room->excess.cpu_milli && missing.memory_bytes <= room->excess.memory_bytes;
}

/* Finds nodes for n more parts: those with the fewest free GPUs, the lowest of equals. Returns whether there are. */
static bool find_nodes(struct synergy *synergy, const struct cluster_view *view, const struct host_job *job, int32_t n,
                       int32_t gpus)
{
    struct placement *found = &synergy->found;
    for (; n > 0; n--) {
        int32_t best = -1;
        for (int32_t node = 0; node < view->n_nodes; node++) {
            if (best >= 0 && view->nodes[node].free_gpus >= view->nodes[best].free_gpus) continue;
            if (has_room(synergy, view, job, node, gpus)) best = node;
        }
        if (best < 0 || found->n == found->capacity) return false;
        synergy->rooms[best].is_taken = true;
        placement_add(found, best, gpus);
    }
    return true;
}

/* Finds a node for each part of the job. Returns whether there are. */
static bool find_room(struct synergy *synergy, const struct cluster_view *view, const struct host_job *job)
{
    struct placement *found = &synergy->found;
    const int32_t gpus = job->view->gpus, most = view->gpus_per_node, whole = gpus / most, rest = gpus % most;
    const int32_t n = job->view->nodes < gpus ? job->view->nodes : gpus;
    const bool is_even = job->view->nodes > whole + (rest > 0);
    found->n = 0;
    found->gpu = -1;
    const bool is_found = is_even ? find_nodes(synergy, view, job, gpus % n, gpus / n + 1) &&
                                        find_nodes(synergy, view, job, n - gpus % n, gpus / n)
                                  : find_nodes(synergy, view, job, whole, most) &&
                                        find_nodes(synergy, view, job, rest > 0, rest);
    for (int32_t i = 0; i < found->n; i++) synergy->rooms[found->nodes[i]].is_taken = false;
    return is_found;
}

static bool reserve_found(struct synergy *synergy, int32_t n_nodes)
{
    struct placement *found = &synergy->found;
    if (found->capacity >= n_nodes) return true;
    int32_t *nodes = mem_realloc(found->nodes, (size_t)n_nodes * sizeof *nodes);
    if (nodes != NULL) found->nodes = nodes;
    int32_t *gpus = mem_realloc(found->gpus, (size_t)n_nodes * sizeof *gpus);
    if (gpus != NULL) found->gpus = gpus;
    if (nodes == NULL || gpus == NULL) {
        synergy->code = SIM_E_NOMEM;
        return false;
    }
    found->capacity = n_nodes;
    return true;
}

/* --- Starts --- */

static bool start_with(const struct host_job *job, const struct job_host *host, struct job_plan *plan,
                       const char *reason)
{
    return job_plan_start_with(plan, job->view, job_host_equal(host, &job->asked) ? NULL : host, NULL, reason);
}

/* Starts with its own share where others give back what is beyond theirs. */
static bool start_in_room(struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                          struct job_plan *plan)
{
    const int32_t gpu_milli = view->requests[job->view->request].gpu_milli;
    struct placement *found = &synergy->found;
    if (!learn_excess(synergy, view) || !reserve_found(synergy, view->n_nodes)) return false;
    if (!find_room(synergy, view, job)) return false;
    for (int32_t i = 0; i < found->n; i++) {
        const struct job_host own = own_of(job, found->gpus[i]);
        if (!cut_on(synergy, view, found->nodes[i], &own, plan)) return false;
    }
    if (gpu_milli < 1000) found->gpu = gpu_for(&view->nodes[found->nodes[0]], gpu_milli);
    return job_plan_start_with(plan, job->view, &job->own, found,
                               "has its own share of CPUs and memory: others give back more");
}

static bool start(struct synergy *synergy, const struct cluster_view *view, const struct host_job *job,
                  struct job_plan *plan)
{
    const struct job_view *waits = job->view;
    const int division = synergy->params.division;
    if (waits->gpus > view->free_gpus && !(waits->gpus == 1 && view->free_amount > 0)) return false;
    if (view->nodes == NULL) return job_plan_start(plan, waits, "fits in its turn");
    if (job->is_preempted && job_plan_start(plan, waits, "goes on: others find no room")) return true;
    if (start_with(job, &job->best, plan,
                   job_host_equal(&job->best, &job->asked) ? "has the CPUs and memory that it asked for"
                                                           : "has the CPUs and memory that it gains by"))
        return true;
    if (division == GREEDY && view->n_running > 0) return false;
    if (!job_host_equal(&job->best, &job->own) &&
        start_with(job, &job->own, plan, "has its own share of CPUs and memory"))
        return true;
    return division >= TUNE && start_in_room(synergy, view, job, plan);
}

static bool is_refused(const struct synergy *synergy, const struct host_job *job)
{
    int32_t at = synergy->refused[job->view->request];
    while (at >= 0 && !job_host_equal(&synergy->refusals[at].best, &job->best)) at = synergy->refusals[at].next;
    return at >= 0;
}

static void refuse(struct synergy *synergy, const struct host_job *job)
{
    int32_t *first = &synergy->refused[job->view->request];
    const struct refusal refusal = {job->best, *first};
    const int code = vec_push(&synergy->refusals, &synergy->n_refusals, &synergy->refusals_capacity, refusal);
    if (code != 0)
        synergy->code = code;
    else
        *first = (int32_t)synergy->n_refusals - 1;
}

/* Starts those that are chosen, or those that are not. Jobs with one request and one best have room together or not at
 * all, but for a job that goes on. */
static void start_all(struct synergy *synergy, const struct cluster_view *view, bool is_chosen, struct job_plan *plan)
{
    for (size_t i = 0; i < synergy->n_requests; i++) synergy->refused[i] = -1;
    synergy->n_refusals = 0;
    for (size_t i = 0; i < synergy->n && view->free_amount > 0; i++) {
        const struct host_job *job = synergy->jobs[i];
        if (job->is_chosen != is_chosen || job->view->state != JOB_PENDING) continue;
        const bool has_class = view->nodes != NULL;
        if (has_class && !job->is_preempted && is_refused(synergy, job)) continue;
        if (start(synergy, view, job, plan))
            count_excess(synergy, job, 1);
        else if (has_class)
            refuse(synergy, job);
    }
}

/* --- What is left --- */

/* The targets of all running jobs, the first in the order first. Nothing is decided yet. */
static int grow_all(struct synergy *synergy, const struct cluster_view *view)
{
    struct synergy_opt *opt = &synergy->opt;
    const int code = vec_reserve(&synergy->given, &synergy->given_capacity, (size_t)view->n_nodes);
    if (code != 0) return code;
    if (view->n_nodes > 0) memset(synergy->given, 0, (size_t)view->n_nodes * sizeof *synergy->given);
    opt->n = 0;
    for (size_t i = 0; i < synergy->n; i++) {
        const struct host_job *job = synergy->jobs[i];
        if (job->view->state != JOB_RUNNING) continue;
        const struct job_host held = job_host_held(job->view);
        struct opt_job one = {.view = job->view, .own = job->own, .best = job->best, .held = held, .target = held};
        target_grow(&one, view, synergy->given);
        if (vec_push(&opt->jobs, &opt->n, &opt->capacity, one) != 0) return SIM_E_NOMEM;
    }
    return 0;
}

/* Running jobs get what is left, or what makes the sum of their speeds the most. */
static int divide_all(struct synergy *synergy, const struct cluster_view *view, struct job_plan *plan)
{
    const bool is_opt = synergy->params.division == OPT;
    int code = grow_all(synergy, view);
    if (code == 0 && is_opt) code = synergy_opt_solve(&synergy->opt, view);
    if (code < 0) return code;
    if (code > 0)
        job_plan_warn(plan, "synergy-lp", "synergy: linear programs were given up, and jobs get what `tune` gives");
    targets_set(synergy->opt.jobs, synergy->opt.n, is_opt ? "the sum of speeds is the most" : "gets what is left",
                plan);
    return 0;
}

static int synergy_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct synergy *synergy = state;
    synergy->n_requests = (size_t)view->n_requests + 1; /* later ones are other amounts than jobs asked for */
    synergy->knows_excess = false;
    if (synergy->code == 0)
        synergy->code = vec_reserve(&synergy->refused, &synergy->requests_capacity, synergy->n_requests);
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
    int code = cpu_jobs_start(&synergy->cpu_jobs, view, false, plan);
    if (view->nodes != NULL && synergy->params.division >= TUNE && code == 0) code = divide_all(synergy, view, plan);
    if (view->nodes != NULL && synergy->params.division == OPT && code == 0) /* which may leave CPUs free */
        code = cpu_jobs_start(&synergy->cpu_jobs, view, false, plan);
    if (synergy->params.order >= LAS && view->n_pending > 0 && view->n_running > 0)
        job_plan_wake_at(plan,
                         sim_ns_add(view->now_ns - view->now_ns % synergy->params.round_ns, synergy->params.round_ns));
    return code != 0 ? code : synergy->code;
}

static void synergy_fini(void *state)
{
    struct synergy *synergy = state;
    cpu_jobs_fini(&synergy->cpu_jobs);
    mem_free((void *)synergy->jobs);
    mem_free(synergy->refused);
    mem_free(synergy->refusals);
    mem_free(synergy->rooms);
    mem_free(synergy->given);
    mem_free(synergy->found.nodes);
    mem_free(synergy->found.gpus);
    synergy_opt_fini(&synergy->opt);
}

#define ROW_OF struct synergy_params
static const struct config_field synergy_fields[] = {
    ROW_CHOICE(
        "order", order, DEFAULT("fifo"), order_names,
        "fifo: order of submission; srtf: shortest remaining time by the estimates; las: least attained service; "
        "ftf: worst finish-time fairness by the estimates"),
    ROW_CHOICE(
        "division", division, DEFAULT("tune"), division_names,
        "CPUs and memory of a job: its own share; its best or none; its best, cut back to its own share where others "
        "need it; most speed of all, by a linear program"),
    ROW_TIME("round", round_ns, DEFAULT(ROUND), AT_LEAST(1e-3),
             "for las and ftf: time between two looks while jobs wait"),
    {0}};
#undef ROW_OF

static int synergy_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    const struct synergy_params *params = &((const struct synergy *)state)->params;
    (void)view;
    if (params->order < LAS && params->round_ns != ROUND_NS)
        diag_warning(diag, "jobs.scheduler.round", "leave it out",
                     "has no effect: the order is neither 'las' nor 'ftf'");
    return 0;
}

const struct scheduler scheduler_synergy = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "synergy",
               .summary = "CPUs and memory by how much jobs gain from them; the GPUs decide who runs, in a base order; "
                          "preemptive",
               .source = "Mohan et al., Synergy (OSDI 2022)",
               .oracle = ORACLE_SPEEDS,
               .params = synergy_fields,
               .params_bytes = sizeof(struct synergy_params),
               .state_bytes = sizeof(struct synergy),
               .fini = synergy_fini},
    .job_bytes = sizeof(struct host_job),
    .prepare = synergy_prepare,
    .notify = synergy_notify,
    .decide = synergy_decide,
};
