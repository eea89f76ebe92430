#include "sim/world/jobs_yield.h"

#include "sim/world/job.h"

#include <stdlib.h>
#include <string.h>

/* Running jobs that may yield, in that order. */
struct yielders {
    struct job **jobs;
    size_t n;
    int32_t *free_gpus; /* by node, when they have yielded; NULL: GPUs are only counted */
};

static bool may_yield(const struct job *job)
{
    const struct jobs_config *config = job->jobs->config;
    return config->preemptible && (job->type == NULL || job->type->preemptible) && job->view.gpus > 0 &&
           job->view.state == JOB_RUNNING;
}

static int64_t priority_of(const struct job *job)
{
    return job->type != NULL ? job->type->priority : 0;
}

/* GPU time since it took its GPUs, in 1e-6 GPU ns: what it has done there. */
static tally_int128 spent_ugpu_ns(const struct job *job)
{
    return (tally_int128)job->held_ugpus * (engine_now(job->jobs->engine) - job->since_ns);
}

/* Whether one job yields before another: by priority, then by the scenario's order, then who was submitted last. */
static bool yields_before(const struct job *a, const struct job *b)
{
    if (priority_of(a) != priority_of(b)) return priority_of(a) < priority_of(b);
    const bool by_work = a->jobs->config->yield == YIELD_LEAST_WORK;
    if (by_work && spent_ugpu_ns(a) != spent_ugpu_ns(b)) return spent_ugpu_ns(a) < spent_ugpu_ns(b);
    if (!by_work && a->since_ns != b->since_ns) return a->since_ns > b->since_ns;
    return a->view.sequence > b->view.sequence;
}

static int compare(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    return yields_before(x, y) ? -1 : yields_before(y, x);
}

static int gather(struct jobs *jobs, int32_t node_type, struct yielders *yielders)
{
    const struct cluster *cluster = jobs_cluster_of(jobs, node_type);
    const size_t bytes = (size_t)cluster->n_nodes * sizeof *yielders->free_gpus;
    *yielders = (struct yielders){.jobs = mem_alloc((size_t)(jobs->view.n_running + 1) * sizeof(struct job *))};
    if (jobs->placer != NULL) yielders->free_gpus = mem_alloc(bytes);
    if (yielders->jobs == NULL || (jobs->placer != NULL && yielders->free_gpus == NULL)) return SIM_E_NOMEM;
    if (jobs->placer != NULL) memcpy(yielders->free_gpus, cluster->node_free_gpus, bytes);
    for (struct job *job = jobs->oldest; job != NULL; job = job->next)
        if (may_yield(job) && job->view.node_type == node_type) yielders->jobs[yielders->n++] = job;
    qsort(yielders->jobs, yielders->n, sizeof(struct job *), compare);
    return 0;
}

/* --- On nodes --- */

static int32_t held_on(const struct job *job, int32_t node)
{
    int32_t gpus = 0;
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next)
        if (part->node == node) gpus += part->gpus;
    return gpus;
}

/* Adds what a job holds to the free GPUs of its nodes. Returns the first node that then has enough, or -1. */
static int32_t add_free(const struct job *job, int32_t *free_gpus, int32_t gpus)
{
    int32_t enough = -1;
    for (const struct allocation *part = job->allocation; part != NULL; part = part->next) {
        free_gpus[part->node] += part->gpus;
        if (free_gpus[part->node] >= gpus && (enough < 0 || part->node < enough)) enough = part->node;
    }
    return enough;
}

/* The node that has enough GPUs free after the fewest of the jobs have left, or -1; the others are struck off. */
static int32_t find_node(struct yielders *yielders, int32_t gpus)
{
    int32_t node = -1;
    size_t n = 0;
    while (n < yielders->n && node < 0) node = add_free(yielders->jobs[n++], yielders->free_gpus, gpus);
    yielders->n = n;
    return node;
}

/* Those that the node has room without stay: whoever would yield last is tried first. */
static void spare_on_node(const struct cluster *cluster, struct yielders *yielders, int32_t node, int32_t gpus)
{
    int32_t spare = cluster->node_free_gpus[node] - gpus;
    for (size_t i = 0; i < yielders->n; i++) spare += held_on(yielders->jobs[i], node);
    for (size_t i = yielders->n; i-- > 0;) {
        const int32_t held = held_on(yielders->jobs[i], node);
        if (held > spare) continue;
        spare -= held;
        yielders->jobs[i] = NULL;
    }
}

/* --- Counted --- */

/* As many of the first jobs as hold enough; false: all of them do not. */
static bool count_off(const struct cluster *cluster, struct yielders *yielders, int32_t gpus)
{
    int64_t missing = (int64_t)gpus * GPU_MICRO + cluster->ugpus_in_use.value - cluster->total_gpus * GPU_MICRO;
    size_t n = 0;
    if (cluster_next_node(cluster, gpus, cluster->gpus_per_node, 0) < 0) return false;
    while (n < yielders->n && missing > 0) missing -= yielders->jobs[n++]->held_ugpus;
    yielders->n = n;
    return missing <= 0;
}

/* --- All --- */

static int interrupt_all(const struct yielders *yielders, sim_ns now)
{
    int n = 0;
    for (size_t i = 0; i < yielders->n; i++) {
        struct job *job = yielders->jobs[i];
        if (job == NULL) continue;
        const int code = job_interrupt(job, now, false, "yields to a service");
        if (code != 0) return code;
        n++;
    }
    return n;
}

/* Strikes off those that need not yield. Returns whether the others make room. */
static bool choose(const struct cluster *cluster, struct yielders *yielders, int32_t gpus)
{
    if (yielders->free_gpus == NULL) return count_off(cluster, yielders, gpus);
    const int32_t node = find_node(yielders, gpus);
    if (node >= 0) spare_on_node(cluster, yielders, node, gpus);
    return node >= 0;
}

static int make_room_on(struct jobs *jobs, int32_t node_type, int32_t gpus, sim_ns now)
{
    struct yielders yielders;
    int code = gather(jobs, node_type, &yielders);
    if (code == 0 && choose(jobs_cluster_of(jobs, node_type), &yielders, gpus)) code = interrupt_all(&yielders, now);
    mem_free(yielders.jobs);
    mem_free(yielders.free_gpus);
    return code;
}

int jobs_make_room(struct jobs *jobs, const char *gpu, int32_t gpus, sim_ns now)
{
    int n = 0;
    if (!jobs->config->preemptible) return 0;
    for (int32_t i = 0; i < jobs->n_node_types && n == 0; i++) {
        const struct cluster *cluster = jobs_cluster_of(jobs, i);
        if (cluster->n_nodes > 0 && cluster->gpu != NULL && strcmp(cluster->gpu, gpu) == 0)
            n = make_room_on(jobs, i, gpus, now);
    }
    return n;
}

void jobs_note_capacity(struct jobs *jobs)
{
    if (jobs->view.n_pending + jobs->view.n_running > 0) jobs_request_decision(jobs);
}
