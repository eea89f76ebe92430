/* Jobs make room for services: preemptible running jobs release their GPUs and wait again.
 *
 * Jobs yield until nodes with the GPU type have `groups` groups of `gpus` free GPUs, each group on one node; where GPUs
 * are only counted, until the cluster has as many. Of several node types with that GPU, the first that can make all the
 * room makes it; else all do together, in their order. Jobs yield by the priority of their types, lowest first, then in
 * the order of jobs.yield. No job yields if others suffice, or if there would be no room anyway. Jobs that share GPUs
 * yield together, or not at all: the GPUs of one would pass to the others. Their turn is that of the last of them. */
#include "sim/world/jobs/job.h"

#include <stdlib.h>
#include <string.h>

/* Running jobs that may yield, one of each group, in the order in which they do, and the groups of free GPUs that nodes
 * have after that. */
struct yielders {
    const struct cluster *cluster;
    struct job **jobs;
    size_t n;
    int32_t gpus; /* of a group */
    int64_t groups;
    int32_t *free_gpus;  /* by node; NULL: GPUs are only counted */
    int32_t *left_milli; /* of each GPU, as in node_resources; NULL: not tracked */
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

/* GPU time since the job took its GPUs, in 1e-6 GPU ns. */
static tally_int128 spent_ugpu_ns(const struct job *job)
{
    return (tally_int128)job->holder.ugpus * (engine_now(job->jobs->site->engine) - job->since_ns);
}

/* Whether job `a` yields before job `b`: by priority, then by the scenario's order, then the later submission first. */
static bool yields_before(const struct job *a, const struct job *b)
{
    if (priority_of(a) != priority_of(b)) return priority_of(a) < priority_of(b);
    const bool by_work = a->jobs->config->yield == YIELD_LEAST_WORK;
    if (by_work && spent_ugpu_ns(a) != spent_ugpu_ns(b)) return spent_ugpu_ns(a) < spent_ugpu_ns(b);
    if (!by_work && a->since_ns != b->since_ns) return a->since_ns > b->since_ns;
    return job_number(a) > job_number(b);
}

static int compare(const void *a, const void *b)
{
    const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
    return yields_before(x, y) ? -1 : yields_before(y, x);
}

/* Whether the job yields for its group: all of the group may yield, and this job is the last of them. */
static bool speaks_for_group(const struct job *job)
{
    bool speaks = may_yield(job);
    for (const struct job *mate = job->mate; speaks && mate != NULL && mate != job; mate = mate->mate)
        speaks = may_yield(mate) && yields_before(mate, job);
    return speaks;
}

/* What all jobs of the group hold. */
static int64_t group_ugpus(const struct job *job)
{
    int64_t ugpus = job->holder.ugpus;
    for (const struct job *mate = job->mate; mate != NULL && mate != job; mate = mate->mate)
        ugpus += mate->holder.ugpus;
    return ugpus;
}

static void *copy(const void *items, size_t bytes)
{
    void *copied = mem_alloc(bytes);
    return copied != NULL ? memcpy(copied, items, bytes) : NULL;
}

static int64_t count_node_gpus(const struct node_resources *resources)
{
    int64_t n = 0;
    for (int32_t i = 0; i < resources->n_nodes; i++) n += resources->nodes[i].gpus;
    return n;
}

static int copy_nodes(struct yielders *yielders)
{
    const struct cluster *cluster = yielders->cluster;
    const struct node_resources *resources = cluster->resources;
    yielders->free_gpus = copy(cluster->node_free_gpus, (size_t)cluster->n_nodes * sizeof *yielders->free_gpus);
    if (resources != NULL)
        yielders->left_milli = copy(resources->left_milli,
                                    (size_t)(count_node_gpus(resources) + 1) * sizeof *yielders->left_milli);
    const bool short_of = yielders->free_gpus == NULL || (resources != NULL && yielders->left_milli == NULL);
    return short_of ? SIM_E_NOMEM : 0;
}

static int gather(struct jobs *jobs, int32_t node_type, int32_t gpus, struct yielders *yielders)
{
    *yielders = (struct yielders){.cluster = jobs_cluster_of(jobs, node_type), .gpus = gpus};
    yielders->jobs = mem_alloc((size_t)(jobs_running(jobs) + 1) * sizeof(struct job *));
    if (yielders->jobs == NULL || (jobs->placer != NULL && copy_nodes(yielders) != 0)) return SIM_E_NOMEM;
    for (struct job *job = jobs->oldest; job != NULL; job = job->next)
        if (job->view.node_type == node_type && speaks_for_group(job)) yielders->jobs[yielders->n++] = job;
    qsort(yielders->jobs, yielders->n, sizeof(struct job *), compare);
    return 0;
}

/* --- On nodes --- */

/* Free groups of GPUs on the nodes of a cluster. */
static int64_t free_groups(const struct cluster *cluster, int32_t gpus)
{
    int64_t groups = 0;
    for (int32_t free = gpus; free <= cluster->gpus_per_node; free++)
        groups += (int64_t)(free / gpus) * cluster->nodes_by_free[free].n_members;
    return groups;
}

/* Change in a node's wholly free GPUs when `part` is released (sign 1) or taken again (-1). */
static int32_t whole_gpus(const struct yielders *yielders, const struct allocation *part, int32_t sign)
{
    const struct node_resources *resources = yielders->cluster->resources;
    if (resources == NULL) return sign * part->gpus;
    const int64_t first = resources->nodes[part->node].gpu_left_milli - resources->left_milli;
    int32_t whole = 0;
    for (uint64_t set = part->details.gpu_set; set != 0; set &= set - 1) {
        int32_t *left = &yielders->left_milli[first + __builtin_ctzll(set)];
        whole -= *left == 1000;
        *left += sign * part->details.gpu_milli;
        whole += *left == 1000;
    }
    return whole;
}

/* The job yields (sign 1), or stays after all (-1). */
static void yield(struct yielders *yielders, const struct job *job, int32_t sign)
{
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        int32_t *free = &yielders->free_gpus[part->node];
        yielders->groups -= *free / yielders->gpus;
        *free += whole_gpus(yielders, part, sign);
        yielders->groups += *free / yielders->gpus;
    }
}

/* The first jobs that together make room for `groups` yield; of these, from the last one on, each job stays that is not
 * needed. False: even all jobs together do not make room. */
static bool choose_on_nodes(struct yielders *yielders, int64_t groups)
{
    size_t n = 0;
    yielders->groups = free_groups(yielders->cluster, yielders->gpus);
    while (n < yielders->n && yielders->groups < groups) yield(yielders, yielders->jobs[n++], 1);
    if (yielders->groups < groups) return false;
    for (size_t i = yielders->n = n; i-- > 0;) {
        yield(yielders, yielders->jobs[i], -1);
        if (yielders->groups >= groups)
            yielders->jobs[i] = NULL;
        else
            yield(yielders, yielders->jobs[i], 1);
    }
    return true;
}

/* --- Counted --- */

/* Keeps the first jobs that together hold enough. False: all of them do not, or the nodes have no room for the
 * groups. */
static bool count_off(struct yielders *yielders, int64_t groups)
{
    const struct cluster *cluster = yielders->cluster;
    const int64_t ugpus = groups * yielders->gpus * GPU_MICRO, there = cluster->total_gpus - cluster->down_gpus;
    int64_t missing = ugpus + cluster->ugpus_in_use.value - there * GPU_MICRO;
    size_t n = 0;
    if (free_groups(cluster, yielders->gpus) < groups) return false;
    while (n < yielders->n && missing > 0) missing -= group_ugpus(yielders->jobs[n++]);
    yielders->n = n;
    return missing <= 0;
}

/* --- All --- */

/* The jobs yield with their groups. Returns the number of jobs, or a negative code. */
static int interrupt_all(const struct yielders *yielders, sim_ns now)
{
    int n = 0;
    for (size_t i = 0; i < yielders->n; i++)
        for (struct job *job = yielders->jobs[i], *mate; job != NULL; job = mate) {
            mate = job->mate;
            const int code = job_interrupt(job, now, false, "yields to a service its");
            if (code != 0) return code;
            n++;
        }
    return n;
}

static void forget(struct yielders *yielders)
{
    mem_free(yielders->jobs);
    mem_free(yielders->free_gpus);
    mem_free(yielders->left_milli);
}

static int make_room_on(struct jobs *jobs, int32_t node_type, int32_t gpus, int64_t groups, sim_ns now)
{
    struct yielders yielders;
    int code = gather(jobs, node_type, gpus, &yielders);
    if (code == 0 && (jobs->placer != NULL ? choose_on_nodes(&yielders, groups) : count_off(&yielders, groups)))
        code = interrupt_all(&yielders, now);
    forget(&yielders);
    return code;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Groups that can be taken at once on one node type, and on all node types with this GPU. */
static int64_t groups_on(const struct cluster *cluster, int32_t gpus)
{
    return least(free_groups(cluster, gpus), cluster->free_gpus / gpus);
}

static int64_t groups_with(const struct jobs *jobs, const char *gpu, int32_t gpus)
{
    int64_t groups = 0;
    struct cluster *part = cluster_with_gpu(jobs->cluster, gpu);
    for (; part != NULL; part = cluster_with_gpu(part->next, gpu)) groups += groups_on(part, gpus);
    return groups;
}

/* Groups that could be taken in addition if all preemptible jobs yielded. */
static int64_t groups_to_yield(struct yielders *yielders, bool on_nodes)
{
    const struct cluster *cluster = yielders->cluster;
    int64_t ugpus = (cluster->total_gpus - cluster->down_gpus) * GPU_MICRO - cluster->ugpus_in_use.value;
    yielders->groups = free_groups(cluster, yielders->gpus);
    for (size_t i = 0; i < yielders->n; i++) {
        if (on_nodes) yield(yielders, yielders->jobs[i], 1);
        ugpus += group_ugpus(yielders->jobs[i]);
    }
    return least(yielders->groups, ugpus / GPU_MICRO / yielders->gpus) - groups_on(cluster, yielders->gpus);
}

/* groups_to_yield of a node type; 0 if it has another GPU. */
static int can_yield(struct jobs *jobs, int32_t node_type, const char *gpu, int32_t gpus, int64_t *groups)
{
    const struct cluster *cluster = jobs_cluster_of(jobs, node_type);
    struct yielders yielders;
    *groups = 0;
    if (cluster->n_nodes == 0 || cluster->gpu == NULL || strcmp(cluster->gpu, gpu) != 0) return 0;
    const int code = gather(jobs, node_type, gpus, &yielders);
    if (code == 0) *groups = groups_to_yield(&yielders, jobs->placer != NULL);
    forget(&yielders);
    return code;
}

/* Makes room for `more` groups on the node types in their order, which together can yield as many. */
static int make_room_on_all(struct jobs *jobs, const char *gpu, int32_t gpus, int64_t more, sim_ns now)
{
    int n = 0;
    for (int32_t i = 0; i < jobs->n_node_types && more > 0; i++) {
        int64_t can;
        int code = can_yield(jobs, i, gpu, gpus, &can);
        can = least(can, more);
        if (code == 0 && can > 0)
            code = make_room_on(jobs, i, gpus, can + groups_on(jobs_cluster_of(jobs, i), gpus), now);
        if (code < 0) return code;
        n += code;
        more -= can;
    }
    return n;
}

static int make_room(struct jobs *jobs, const char *gpu, int32_t gpus, int64_t groups, sim_ns now)
{
    if (!jobs->config->preemptible || jobs->cluster->n_nodes == 0) return 0;
    const int64_t more = groups - groups_with(jobs, gpu, gpus);
    int64_t all = 0;
    for (int32_t i = 0; i < jobs->n_node_types && more > 0; i++) {
        int64_t can;
        const int code = can_yield(jobs, i, gpu, gpus, &can);
        if (code != 0) return code;
        if (can >= more) return make_room_on(jobs, i, gpus, more + groups_on(jobs_cluster_of(jobs, i), gpus), now);
        all += can;
    }
    return more > 0 && all >= more ? make_room_on_all(jobs, gpu, gpus, more, now) : 0;
}

static int on_make_room(struct tenant *tenant, const char *gpu, int32_t gpus, int64_t groups, sim_ns now)
{
    return make_room(OWNER_ENTITY(tenant, struct jobs, tenant), gpu, gpus, groups, now);
}

/* The number of GPUs that jobs can use has changed: the scheduler decides. */
static void on_changed(struct tenant *tenant, enum site_change change)
{
    struct jobs *jobs = OWNER_ENTITY(tenant, struct jobs, tenant);
    const bool of_nodes = change == SITE_NODE_RETURNED || change == SITE_NODE_FAILED;
    const bool of_services = change == SITE_SERVICE_CHANGED && jobs_waiting(jobs) + jobs_running(jobs) > 0;
    if (of_nodes || of_services) jobs_request_decision(jobs);
}

const struct tenant_ops jobs_tenant_ops = {.make_room = on_make_room, .changed = on_changed};
