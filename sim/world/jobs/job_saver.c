#include "sim/world/jobs/job_saver.h"

#include "models/checkpoint.h"
#include "sim/core/check.h"
#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char peer[] = "peer";

enum saver_state {
    SAVER_AWAITS,    /* the end of the wait, to read */
    SAVER_RESTORES,  /* reads; the job waits */
    SAVER_WORKS,     /* towards the next save; a flow of the last one may still move */
    SAVER_OVERLAPS,  /* the flow moves beside the work, until the overlap ends */
    SAVER_STALLS,    /* the job stalls until the flow has ended */
    SAVER_QUEUES     /* the job stalls until the flow of the last save has ended, for the next one */
};

struct saver_flow {
    struct topology_flow slice;
    struct job_saver *saver;
};

/* A node of the site, and the GPUs that a job has there. */
struct saver_node {
    int32_t node, gpus; /* node -1: none */
};
static const struct saver_node no_node = {-1, 1};

struct job_saver {
    struct job *job;
    enum saver_state state;
    sim_ns interval_ns;     /* of work between saves; 0: none */
    sim_ns covered_ns;      /* of the interval after a stall: work done beside the flow */
    sim_ns saving_ns;       /* work that counts when the flow has ended */
    sim_ns due_ns;          /* of the timer; before now: it is not armed */
    sim_ns left_ns;         /* while the speed is 0: work that is left when it rises again; -1: nothing was due */
    bool loads;             /* what it reads is not the job's state */
    int64_t read_bytes;     /* to read before the job works */
    int32_t n_flows, n_moving;
    struct saver_flow *flows; /* [n_flows] */
    struct saver_node nodes[2], lost_peer; /* of a state at peers: the first nodes of the job; the node that is no more
                                            * of the job, from which it restores */
};

/* --- Configuration --- */

static const struct checkpoint_config *config_of(const struct job *job)
{
    return &job->type->checkpoint;
}

static bool is_to_peer(const struct checkpoint_config *config)
{
    return config->to != NULL && strcmp(config->to, peer) == 0;
}

bool job_saves_by_flows(const struct job *job)
{
    return job->type != NULL && config_of(job)->to != NULL && job_checkpoint_is_taken(job) && job->view.gpus > 0;
}

bool job_loads(const struct job *job)
{
    return job->type != NULL && job->type->load.from != NULL && job_needs_node(job);
}

bool job_has_saver(const struct job *job)
{
    return job_saves_by_flows(job) || job_loads(job);
}

int job_savers_warn(const struct jobs *jobs)
{
    const struct warning_row row = {
        .t_s = (double)NAN, .code = "no-peer", .count = jobs->n_without_peer,
        .text = "jobs: runs on one node, whose checkpoints go to a peer: none is saved there"};
    if (jobs->n_without_peer == 0 || jobs->site->sink->warning == NULL) return 0;
    return jobs->site->sink->warning(jobs->site->sink->context, &row);
}

/* --- Flows --- */

static int32_t n_parts_of(const struct job *job)
{
    int32_t n = 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) n++;
    return n;
}

static bool has_nic_per_gpu(const struct job *job)
{
    return topology_config(job->jobs->topology)->network.per == NETWORK_PER_GPU;
}

/* Flows of a save or restore: one for each GPU, or each node that has one NIC. */
static int32_t n_parts_flows(const struct job *job)
{
    int32_t n = 0;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next)
        n += has_nic_per_gpu(job) && part->gpus > 0 ? part->gpus : 1;
    return n;
}

/* Of a save. */
static int32_t n_flows_of(const struct job *job)
{
    return !job_saves_by_flows(job) || (is_to_peer(config_of(job)) && n_parts_of(job) < 2) ? 0 : n_parts_flows(job);
}

static struct graph_nic nic_on(const struct job *job, const struct allocation *part, int32_t nic)
{
    const struct cluster *cluster = jobs_cluster_of(job->jobs, job->view.node_type);
    return (struct graph_nic){cluster->first_node + part->node, nic};
}

/* Where the job saves to, or reads from; NULL: a peer. */
static const char *storage_of(const struct job *job, bool writes)
{
    const struct job_saver *saver = job->activity->saver;
    if (!writes && saver != NULL && saver->loads) return job->type->load.from;
    return is_to_peer(config_of(job)) ? NULL : config_of(job)->to;
}

static int network_path(const struct job *job, const struct allocation *part, int32_t nic, bool writes,
                        struct link_path *path)
{
    struct topology *topology = job->jobs->topology;
    const struct graph_nic own = nic_on(job, part, nic);
    const char *storage = storage_of(job, writes);
    if (storage != NULL) return topology_storage_path(topology, own, storage, writes, path);
    const struct allocation *next = part->next != NULL ? part->next : job->holder.held;
    const int32_t of_next = has_nic_per_gpu(job) ? nic % (next->gpus > 0 ? next->gpus : 1) : 0;
    const struct job_saver *saver = job->activity->saver;
    const bool is_lost = saver != NULL && saver->lost_peer.node >= 0;
    const struct graph_nic beside = is_lost ? (struct graph_nic){saver->lost_peer.node, nic % saver->lost_peer.gpus}
                                            : nic_on(job, next, of_next);
    const struct topology_route route = {.label = job_number(job)};
    return writes ? topology_nic_path(topology, own, beside, route, path)
                  : topology_nic_path(topology, beside, own, route, path);
}

/* A state in host memory comes from there, or goes there. */
static int path_of(const struct job *job, const struct allocation *part, int32_t nic, bool writes,
                   struct link_path *path)
{
    const int code = network_path(job, part, nic, writes, path);
    const bool loads = !writes && job->activity->saver != NULL && job->activity->saver->loads;
    if (code != 0 || loads || !job_swaps_optimizer(job)) return code;
    return topology_add_host(job->jobs->topology, nic_on(job, part, nic), writes, path);
}

static void on_moved(struct link_net *net, struct link_flow *flow, sim_ns now);

static int64_t bytes_of(const struct job *job)
{
    return (int64_t)fmin(job_checkpoint_bytes(job), 9e18);
}

static int start_flow(struct job_saver *saver, const struct allocation *part, int32_t nic, bool writes, int64_t bytes)
{
    struct topology *topology = saver->job->jobs->topology;
    struct saver_flow *flow = &saver->flows[saver->n_moving];
    const int64_t n = saver->n_flows;
    struct link_path path;
    int code = path_of(saver->job, part, nic, writes, &path);
    flow->saver = saver;
    if (code == 0)
        code = topology_flow_start(topology, &flow->slice, &path, bytes / n + (saver->n_moving < bytes % n), on_moved);
    if (code == 0) saver->n_moving++;
    return code;
}

/* Moves `bytes` in all. */
static int start_flows(struct job_saver *saver, bool writes, int64_t bytes)
{
    int code = 0;
    for (const struct allocation *part = saver->job->holder.held; part != NULL && code == 0; part = part->next) {
        const int32_t n = has_nic_per_gpu(saver->job) && part->gpus > 0 ? part->gpus : 1;
        for (int32_t nic = 0; nic < n && code == 0; nic++) code = start_flow(saver, part, nic, writes, bytes);
    }
    return code;
}

/* Returns the bytes that have not moved. */
static int64_t stop_flows(struct job_saver *saver)
{
    const sim_ns now = engine_now(saver->job->jobs->site->engine);
    int64_t left = 0;
    for (int32_t i = 0; i < saver->n_flows; i++) {
        struct topology_flow *slice = &saver->flows[i].slice;
        if (slice->flow.state != LINK_FLOW_IDLE) left += slice->flow.bytes - link_flow_moved_bytes(&slice->flow, now);
        topology_flow_cancel(saver->job->jobs->topology, slice);
    }
    saver->n_moving = 0;
    return left;
}

/* --- The run of a job --- */

static void on_timer(struct engine *engine, struct owner *owner, sim_ns now);

static void arm(struct job_saver *saver, sim_ns now, sim_ns after_ns)
{
    saver->due_ns = sim_ns_add(now, after_ns);
    engine_arm(saver->job->jobs->site->engine, saver->due_ns, PRIORITY_LINK, on_timer, &saver->job->activity->save);
}

/* The progress stands still until it is released. */
static void hold(struct job_saver *saver, sim_ns *rest_ns, sim_ns now)
{
    job_progress_move(&saver->job->progress, now);
    *rest_ns = SIM_NS_MAX;
    job_rearm(saver->job);
    job_reader_turned(saver->job, now);
    job_activity_redraw(saver->job, now, true);
}

static void release(struct job_saver *saver, sim_ns *rest_ns, sim_ns now)
{
    job_progress_move(&saver->job->progress, now);
    *rest_ns = 0;
    job_rearm(saver->job);
    job_reader_turned(saver->job, now);
    job_activity_redraw(saver->job, now, true);
}

/* Time without work that is left of moves, waits and stalls. */
static sim_ns idle_left_ns(const struct job_saver *saver)
{
    const struct job_progress *progress = &saver->job->progress;
    return sim_ns_add(sim_ns_add(progress->move_ns, progress->wait_ns), progress->stall_ns);
}

static bool works(const struct job_saver *saver)
{
    return saver->job->progress.speed > 0.0;
}

/* Awaits the next save: the job idles, and then works for `work_ns`. At speed 0 that waits for job_saver_paced. */
static void await_save(struct job_saver *saver, sim_ns now, sim_ns idle_ns, sim_ns work_ns)
{
    saver->state = SAVER_WORKS;
    if (saver->interval_ns == 0 || saver->n_flows == 0) return;
    if (works(saver))
        arm(saver, now, sim_ns_add(idle_ns, work_ns));
    else
        saver->left_ns = work_ns;
}

void job_saver_paced(struct job *job, sim_ns now)
{
    struct job_saver *saver = job->activity->saver;
    if (saver == NULL || (saver->state != SAVER_WORKS && saver->state != SAVER_OVERLAPS)) return;
    if (works(saver) && saver->left_ns >= 0) {
        arm(saver, now, sim_ns_add(idle_left_ns(saver), saver->left_ns));
        saver->left_ns = -1;
    } else if (!works(saver) && saver->due_ns >= now) {
        const sim_ns left_ns = saver->due_ns - now - idle_left_ns(saver);
        saver->left_ns = left_ns > 0 ? left_ns : 0;
        saver->due_ns = -1;
        engine_disarm(job->jobs->site->engine, &job->activity->save);
    }
}

static sim_ns overlap_of(const struct job_saver *saver)
{
    return sim_ns_from_s(job_checkpoint_overlap_s(saver->job));
}

/* DataStates: what the copy to the host takes beyond the overlap. */
static sim_ns copy_stall_ns(const struct job_saver *saver)
{
    const struct checkpoint_config *config = config_of(saver->job);
    const double copy_s = job_checkpoint_bytes(saver->job) /
                          (config->gpu_copy_bytes_per_s * saver->job->view.held_gpus);
    return sim_ns_from_s(fmax(copy_s - job_checkpoint_overlap_s(saver->job), 0.0));
}

static int begin_save(struct job_saver *saver, sim_ns now)
{
    struct job_progress *progress = &saver->job->progress;
    job_progress_move(progress, now);
    job_rearm(saver->job); /* moving rounds */
    saver->saving_ns = progress->done_ns;
    progress->has_saved = true;
    const int code = start_flows(saver, true, bytes_of(saver->job));
    switch (config_of(saver->job)->design) {
    case CHECKPOINT_FASTPERSIST:
        saver->state = SAVER_OVERLAPS;
        arm(saver, now, overlap_of(saver));
        break;
    case CHECKPOINT_DATASTATES: {
        const sim_ns stall_ns = copy_stall_ns(saver);
        progress->stall_ns = stall_ns;
        job_rearm(saver->job);
        job_activity_redraw(saver->job, now, true);
        await_save(saver, now, stall_ns, saver->interval_ns);
        break;
    }
    default:
        saver->state = SAVER_STALLS;
        hold(saver, &progress->stall_ns, now);
    }
    return code;
}

static void fail(const struct job_saver *saver, int code)
{
    if (code < 0) engine_fail(saver->job->jobs->site->engine, code);
}

static void end_flows(struct job_saver *saver, sim_ns now);

static void on_timer(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_saver *saver = OWNER_ENTITY(owner, struct job_activity, save)->saver;
    (void)engine;
    saver->due_ns = -1;
    switch (saver->state) {
    case SAVER_AWAITS:
        saver->state = SAVER_RESTORES;
        if (saver->n_flows > 0)
            fail(saver, start_flows(saver, false, saver->read_bytes));
        else
            end_flows(saver, now);
        break;
    case SAVER_OVERLAPS:
        if (saver->n_moving == 0) {
            await_save(saver, now, 0, saver->interval_ns - overlap_of(saver));
            break;
        }
        saver->state = SAVER_STALLS;
        saver->covered_ns = overlap_of(saver);
        hold(saver, &saver->job->progress.stall_ns, now);
        break;
    case SAVER_WORKS:
        if (saver->n_moving == 0) {
            fail(saver, begin_save(saver, now));
            break;
        }
        saver->state = SAVER_QUEUES;
        hold(saver, &saver->job->progress.stall_ns, now);
        break;
    default: break;
    }
}

/* All bytes have moved. */
static void end_flows(struct job_saver *saver, sim_ns now)
{
    struct job_progress *progress = &saver->job->progress;
    if (saver->state == SAVER_RESTORES) {
        saver->loads = false;
        saver->lost_peer = no_node;
        release(saver, &progress->wait_ns, now);
        job_begins_work(saver->job, now);
        jobs_notify(saver->job->jobs, JOB_EVENT_SPEED, saver->job); /* its end was an estimate before */
        await_save(saver, now, 0, saver->interval_ns);
        return;
    }
    job_progress_move(progress, now);
    job_rearm(saver->job);
    progress->saved_ns = saver->saving_ns;
    if (saver->state == SAVER_STALLS) {
        release(saver, &progress->stall_ns, now);
        await_save(saver, now, 0, saver->interval_ns - saver->covered_ns);
    } else if (saver->state == SAVER_QUEUES) {
        release(saver, &progress->stall_ns, now);
        if (works(saver))
            fail(saver, begin_save(saver, now));
        else
            await_save(saver, now, 0, 0);
    }
}

static void on_moved(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    struct saver_flow *moved = LINK_FLOW_ENTITY(flow, struct saver_flow, slice.flow);
    struct job_saver *saver = moved->saver;
    (void)net;
    topology_flow_ended(saver->job->jobs->topology, &moved->slice);
    if (--saver->n_moving > 0) return;
    end_flows(saver, now);
}

static struct job_idle_flows idle_flows(const struct job *job, bool writes, int32_t n)
{
    struct link_path path;
    if (n == 0 || path_of(job, job->holder.held, 0, writes, &path) != 0) return (struct job_idle_flows){0};
    return job_idle_flows(job, &path, storage_of(job, writes) == NULL, n);
}

double job_saver_idle_bytes_per_s(const struct job *job)
{
    return idle_flows(job, true, n_flows_of(job)).bytes_per_s;
}

/* Counts the runs of which no save can count. */
static void note_peer(const struct job *job)
{
    if (is_to_peer(config_of(job)) && n_parts_of(job) < 2) job->jobs->n_without_peer++;
}

/* Work between two saves; 0: it does not save by flows. */
static sim_ns interval_of(struct job *job)
{
    return job_saves_by_flows(job) ? job_checkpoint_interval_ns(job) : 0;
}

static struct saver_node node_of(const struct job *job, const struct allocation *part)
{
    return (struct saver_node){nic_on(job, part, 0).node, part->gpus > 0 ? part->gpus : 1};
}

/* Notes the first nodes of a job whose state is at peers. */
static void note_nodes(struct job_saver *saver)
{
    const struct job *job = saver->job;
    const struct allocation *first = job->holder.held;
    saver->nodes[0] = saver->nodes[1] = no_node;
    if (!is_to_peer(config_of(job)) || first == NULL || first->next == NULL) return;
    saver->nodes[0] = node_of(job, first);
    saver->nodes[1] = node_of(job, first->next);
}

/* What the job must read before it works. A state that no peer can hold is not read. */
static void note_reads(struct job_saver *saver, bool starts)
{
    struct job *job = saver->job;
    const bool restores = job->progress.done_ns > 0 && n_flows_of(job) > 0;
    saver->loads = !restores && job_loads(job);
    if (!starts)
        saver->read_bytes = job->activity->unread_bytes;
    else if (restores)
        saver->read_bytes = bytes_of(job);
    else if (saver->loads)
        saver->read_bytes = (int64_t)fmin(job->type->load.bytes, 9e18);
    saver->loads = saver->loads && saver->read_bytes > 0;
    job->activity->unread_bytes = 0;
}

int job_saver_begin(struct job *job, sim_ns now, bool starts)
{
    struct job_saver *saver = mem_zalloc(1, sizeof *saver);
    if (saver == NULL) return SIM_E_NOMEM;
    job->activity->saver = saver;
    saver->job = job;
    saver->due_ns = saver->left_ns = -1;
    saver->lost_peer = no_node;
    note_nodes(saver);
    note_peer(job);
    note_reads(saver, starts);
    saver->n_flows = saver->loads ? n_parts_flows(job) : n_flows_of(job);
    saver->flows = mem_zalloc((size_t)saver->n_flows + 1, sizeof *saver->flows);
    if (saver->flows == NULL) return SIM_E_NOMEM;
    saver->interval_ns = interval_of(job);
    const sim_ns wait_ns = idle_left_ns(saver);
    if (saver->read_bytes > 0) {
        job->progress.wait_ns = SIM_NS_MAX;
        saver->state = SAVER_AWAITS;
        arm(saver, now, wait_ns);
    } else {
        await_save(saver, now, wait_ns, saver->interval_ns);
    }
    return 0;
}

/* No save is due, and the job works. */
static void forget_save(struct job_saver *saver, sim_ns now)
{
    if (saver->state == SAVER_STALLS || saver->state == SAVER_QUEUES)
        release(saver, &saver->job->progress.stall_ns, now);
    engine_disarm(saver->job->jobs->site->engine, &saver->job->activity->save);
    saver->due_ns = saver->left_ns = -1;
    saver->state = SAVER_WORKS;
}

/* The job has no peer: no save is under way or due, and what is left of a restore is on its node. */
static void lose_peer(struct job_saver *saver, sim_ns now)
{
    if (saver->state == SAVER_RESTORES) end_flows(saver, now);
    if (saver->state != SAVER_AWAITS) forget_save(saver, now);
}

/* Keeps the timer, which is as much later as the job idles. A job that could not save begins an interval. One that
 * saves no more begins no save; a save under way ends as it began. */
static void keep_timer(struct job_saver *saver, sim_ns now, sim_ns idle_ns)
{
    const bool saves_later = saver->state == SAVER_WORKS || saver->state == SAVER_QUEUES;
    if (saver->interval_ns == 0 && saves_later) forget_save(saver, now);
    if (saver->left_ns >= 0) return;
    if (saver->due_ns >= now)
        arm(saver, now, sim_ns_add(saver->due_ns - now, idle_ns));
    else if (saver->state == SAVER_WORKS)
        await_save(saver, now, idle_ns, saver->interval_ns);
}

/* A job that is left on one node amid a restore reads the rest from the node that it had beside this one. */
static void find_lost_peer(struct job_saver *saver)
{
    const struct job *job = saver->job;
    const bool restores = saver->state == SAVER_AWAITS || saver->state == SAVER_RESTORES;
    if (!restores || saver->loads || !is_to_peer(config_of(job)) || n_parts_of(job) >= 2) {
        saver->lost_peer = no_node;
        note_nodes(saver);
        return;
    }
    const int32_t own = node_of(job, job->holder.held).node;
    if (saver->lost_peer.node < 0) saver->lost_peer = saver->nodes[saver->nodes[0].node == own ? 1 : 0];
    if (saver->lost_peer.node == own) saver->lost_peer = no_node; /* the state is here */
}

int job_saver_resized(struct job *job, sim_ns now, sim_ns idle_ns)
{
    struct job_saver *saver = job->activity->saver;
    if (saver == NULL) return job_saver_begin(job, now, false);
    const bool moves = saver->n_moving > 0;
    const int64_t left = stop_flows(saver);
    struct saver_flow *before = saver->flows;
    note_peer(job);
    find_lost_peer(saver);
    saver->n_flows = saver->loads || saver->lost_peer.node >= 0 ? n_parts_flows(job) : n_flows_of(job);
    saver->flows = mem_zalloc((size_t)saver->n_flows + 1, sizeof *saver->flows);
    mem_free(before);
    if (saver->flows == NULL) return SIM_E_NOMEM;
    saver->interval_ns = interval_of(job);
    keep_timer(saver, now, idle_ns);
    if (saver->n_flows == 0) lose_peer(saver, now);
    return moves && saver->n_flows > 0 ? start_flows(saver, saver->state != SAVER_RESTORES, left) : 0;
}

/* What is left of the wait before it reads. */
static sim_ns wait_left_ns(const struct job_saver *saver, sim_ns move_ns, sim_ns now)
{
    const sim_ns left_ns = saver->due_ns - now - move_ns;
    return left_ns > 0 ? left_ns : 0;
}

/* Bytes that the flow with most of them has still to move. */
static int64_t slice_left_bytes(const struct job_saver *saver, sim_ns now)
{
    int64_t most = 0;
    for (int32_t i = 0; i < saver->n_flows; i++) {
        const struct link_flow *flow = &saver->flows[i].slice.flow;
        const int64_t left = flow->state != LINK_FLOW_IDLE ? flow->bytes - link_flow_moved_bytes(flow, now) : 0;
        most = left > most ? left : most;
    }
    return most;
}

void job_saver_expect(const struct job *job, sim_ns now, struct job_progress *progress)
{
    const struct job_saver *saver = job->activity != NULL ? job->activity->saver : NULL;
    if (saver == NULL || saver->state == SAVER_WORKS || saver->state == SAVER_OVERLAPS) return;
    const bool reads = saver->state == SAVER_AWAITS || saver->state == SAVER_RESTORES;
    const struct job_idle_flows idle = idle_flows(job, !reads, saver->n_flows);
    if (saver->state == SAVER_AWAITS)
        progress->wait_ns = sim_ns_add(wait_left_ns(saver, progress->move_ns, now),
                                       job_idle_whole_ns(&idle, saver->read_bytes));
    else
        *(reads ? &progress->wait_ns : &progress->stall_ns) = job_idle_ns(&idle, slice_left_bytes(saver, now));
}

void job_saver_end(struct job *job)
{
    struct job_saver *saver = job->activity->saver;
    if (saver == NULL) return;
    const enum saver_state state = saver->state;
    const int64_t left_bytes = stop_flows(saver);
    engine_disarm(job->jobs->site->engine, &job->activity->save);
    if (state == SAVER_STALLS || state == SAVER_QUEUES) job->progress.stall_ns = 0;
    if (state == SAVER_AWAITS)
        job->progress.wait_ns = wait_left_ns(saver, job->progress.move_ns, engine_now(job->jobs->site->engine));
    if (state == SAVER_RESTORES) job->progress.wait_ns = 0;
    job->activity->unread_bytes = state == SAVER_AWAITS ? saver->read_bytes : state == SAVER_RESTORES ? left_bytes : 0;
    job_saver_forget(job);
}

void job_saver_forget(struct job *job)
{
    struct job_saver *saver = job->activity->saver;
    if (saver == NULL) return;
    mem_free(saver->flows);
    mem_free(saver);
    job->activity->saver = NULL;
}
