/* States of training jobs beyond their GPUs, on the links of the hosts: "tiers" and "offload" of a plan
 * (models/training/tiers.h, step.h). Where the scenario describes links of hosts, the bytes that a step moves are on
 * them, beside those of other jobs and of services:
 *
 *     up, down       host memory to each GPU and back: its PCIe link, the switch that it shares, host memory
 *     read, written  the drives of each node, those that the scenario lists first, and host memory
 *     turns          the time of these drives: a step reads and writes them in turn (tiers.h), and so do jobs together
 *
 * The rules are those of collectives of replicas (sim/world/replica/replica_traffic.h). For others, a job takes the
 * bytes of a step over the time of a step: its *standing* claims. While a job moves bytes of a kind, it wants the rate
 * that its plan states, on all its GPUs at once. It gets its max-min fair share at that demand beside all others as
 * they stand: jobs and replicas at their standing claims, transfers elastic. The least share of a kind on any GPU is
 * that of the kind: the step is priced at that share of the plan's bandwidths. So transfers that computing hides
 * become longer for free, until they show. A step never ends before its bytes fit into the grants of its standing
 * claims. So no link carries more than its bandwidth.
 *
 * Jobs whose shares change are priced one after another, each beside the others as they stand then, until no share
 * changes by more than 1/16384. A moment has 64 rounds for this if jobs come, leave or are spread anew, and two if
 * transfers alone begin or end, which are short beside steps. What is left follows a step later, or with the next
 * change. A *sensor* claim tells of a change (link.h). Two jobs that want b bytes of a link of
 * bandwidth C, of which a step shows b/r beside g other seconds at a rate r, come to
 *
 *     r = max(C/2, C - b/step),  step = g + b/r
 *
 * GPUs of the job are the lowest ones of its nodes that no other job and no replica has, unless node resources name
 * them. Links count the bytes of the steps that the job has done, when it stops.
 *
 * Leaves out: jobs that meet at one moment, or avoid each other: they see each other's mean only. Memory traffic of
 * updates, and CPUs, which each job has for itself. Drives that the scenario does not list, likewise. Bytes of weights
 * that one owner brings (`gather`) count evenly over the links. While a save stalls the job, an outage pauses it, it
 * waits for data or its GPUs are slow, its claims stand. Checkpoints of states on drives read no drive. On nodes with
 * more than 64 GPUs jobs have all links alone, and the run warns. */
#include "models/training/tiers.h"
#include "sim/world/jobs/job.h"
#include "sim/world/jobs/job_traffic_state.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/priority.h"

#include <float.h>
#include <math.h>
#include <utlist.h>

static const double rounding = 1e-6;   /* relative differences below this are no lack of bandwidth */
static const double settled = 0x1p-14; /* a share counts as changed at this relative difference */

/* Rounds of one moment in which all jobs whose links have changed are priced, where jobs came, left or were spread
 * anew; where transfers alone began or ended, which are short beside steps. */
enum { ROUNDS_OF_JOBS = 64, ROUNDS_OF_TRANSFERS = 2 };

enum swap_kind { SWAP_UP, SWAP_DOWN, SWAP_READ, SWAP_WRITE, SWAP_TURNS, SWAP_KINDS };

/* Bytes of a kind on a GPU's link, or on the drives of a node. Turns: nanoseconds of the drives in place of bytes. */
struct swap_flow {
    struct job_swaps *swaps;
    enum swap_kind kind;
    double bytes;             /* of a step */
    double peak_bytes_per_s;  /* that it wants while it moves */
    struct link_flow standing;
};

/* One for each link of the job: flows at their peaks want more of a link than the narrowest of their paths tells. */
struct swap_sensor {
    struct job_swaps *swaps;
    const struct link *link;
    struct link_flow claim;
};

struct job_swaps {
    struct job *job;
    struct job_messages *messages; /* its plan on its GPUs */
    double bytes[SWAP_KINDS], peak_bytes_per_s[SWAP_KINDS]; /* of a GPU, or of the drives of a full node */
    int32_t n_flows, n_sensors, n_sensors_before; /* before: on the nodes that have been listed */
    struct swap_flow *flows;
    struct swap_sensor *sensors;
    double share_frac[SWAP_KINDS]; /* of its wish */
    double down_frac;              /* what it wishes from the GPU, of the link's bandwidth in its plan */
    double alone_s, step_s, speed; /* step on links of its own; on these links; ratio of the two */
    struct power_stage phases[TRAINING_PHASES];
    double held_gpus;              /* since it began */
    sim_ns since_ns, began_at_ns;  /* of the present speed; work done when it began */
    bool is_stale, is_respread;    /* is_respread: messages of its step have another share of the network */
    struct job_swaps *before_stale, *next_stale;
};

struct job_swapping {
    struct owner settle;
    struct job_swaps *stale;     /* whose links have changed, first to last */
    sim_ns moment_ns, armed_ns;  /* of the last round; of the next one, -1: none is armed */
    int32_t rounds, most_rounds; /* at that moment: so far, and at most */
    uint64_t *gpus_used;         /* [nodes of the site] of jobs that run */
    struct link_net *turns;      /* time of drives, beside the links of the site */
    struct link **drives;        /* [nodes of the site] in it; NULL until a job needs them */
    struct gpu_time_share speed; /* of such jobs: GPU time times their speed */
};

/* --- GPUs of jobs --- */

/* The lowest GPUs of a node that neither jobs nor services have; if there are too few, those that jobs do not have. */
static uint64_t choose_gpus(const struct jobs *jobs, int32_t node, int32_t n, int32_t of)
{
    uint64_t set = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < of && n > 0; i++) {
            const uint64_t bit = UINT64_C(1) << i;
            const bool is_free = ((jobs->swapping->gpus_used[node] | set) & bit) == 0;
            if (!is_free || (pass == 0 && topology_nic_is_taken(jobs->topology, (struct graph_nic){node, i}))) continue;
            set |= bit;
            n--;
        }
    return set;
}

void job_swaps_enters(struct job *job)
{
    const struct jobs *jobs = job->jobs;
    if (jobs->swapping == NULL) return;
    const struct cluster *cluster = jobs_cluster_of(jobs, job->view.node_type);
    if (cluster->resources != NULL || !job_swaps_follows(cluster)) return;
    for (struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        const int32_t node = cluster->first_node + part->node;
        part->details.gpu_set = choose_gpus(jobs, node, part->gpus, cluster_node_gpus(cluster, part->node));
        jobs->swapping->gpus_used[node] |= part->details.gpu_set;
    }
}

void job_swaps_leaves(struct job *job)
{
    const struct jobs *jobs = job->jobs;
    if (jobs->swapping == NULL) return;
    const struct cluster *cluster = jobs_cluster_of(jobs, job->view.node_type);
    if (cluster->resources != NULL || !job_swaps_follows(cluster)) return;
    for (struct allocation *part = job->holder.held; part != NULL; part = part->next)
        jobs->swapping->gpus_used[cluster->first_node + part->node] &= ~part->details.gpu_set;
}

/* --- The site --- */

int job_swaps_create(struct jobs *jobs)
{
    bool some = false, follows = false;
    const size_t n = (size_t)cluster_site_nodes(jobs->cluster);
    for (size_t i = 0; i < jobs->config->all_types.n; i++) some = some || job_type_swaps(jobs_type(jobs, i));
    for (const struct cluster *at = jobs->cluster; at != NULL; at = at->next)
        follows = follows || job_swaps_follows(at);
    if (!some || jobs->topology == NULL || !topology_has_host_links(jobs->topology)) return 0;
    job_swaps_warn(jobs);
    if (!follows || jobs->placer == NULL) return 0;
    struct job_swapping *swapping = jobs->swapping = mem_zalloc(1, sizeof *swapping);
    if (swapping == NULL) return SIM_E_NOMEM;
    swapping->moment_ns = swapping->armed_ns = -1;
    owner_init(&swapping->settle, site_env_owner_ids(jobs->site, 1));
    swapping->gpus_used = mem_zalloc(n + 1, sizeof *swapping->gpus_used);
    swapping->drives = (struct link **)mem_zalloc(n + 1, sizeof(*swapping->drives));
    swapping->turns = link_net_create(jobs->site->engine, site_env_owner_ids(jobs->site, LINK_NET_OWNERS));
    const bool has_memory = swapping->gpus_used != NULL && swapping->drives != NULL && swapping->turns != NULL;
    return has_memory ? 0 : SIM_E_NOMEM;
}

void job_swaps_destroy(struct jobs *jobs)
{
    if (jobs->swapping == NULL) return;
    link_net_destroy(jobs->swapping->turns);
    mem_free((void *)jobs->swapping->drives);
    mem_free(jobs->swapping->gpus_used);
    mem_free(jobs->swapping);
}

bool job_has_swaps(const struct job *job)
{
    return job->jobs->swapping != NULL && job->type != NULL && job->view.gpus > 0 && job_type_swaps(job->type);
}

bool job_swaps_optimizer(const struct job *job)
{
    if (!job_has_swaps(job) || !job_swaps_follows(jobs_cluster_of(job->jobs, job->view.node_type))) return false;
    const struct training_config *plan = &job->type->training.plan;
    return plan->offload.optimizer_frac > 0.0 || plan->tiers.optimizer != HOME_GPU;
}

/* --- Prices --- */

/* At these shares; NULL: on links of its own. */
static struct training_step price(struct job_swaps *swaps, const struct training_link_shares *shares)
{
    const struct job_messages *messages = swaps->messages;
    const struct job_traffic *traffic = swaps->job->activity->traffic;
    const bool is_spread = traffic != NULL && traffic->messages == messages;
    return job_messages_step(messages, is_spread ? &traffic->spread_now : NULL, shares, swaps->phases);
}

/* Whether nothing leaves the GPU but a flush that blocks, which has a rate of its own. */
static bool flushes_alone(const struct training_plan *plan)
{
    return plan->offload.optimizer_frac > 0.0 && plan->offload.blocks_flush && plan->offload.gpu_stride <= 1;
}

/* Bytes of a step, and the rates of its plan. */
static void describe(struct job_swaps *swaps)
{
    const struct training_plan *plan = &swaps->messages->plan;
    const struct training_step step = price(swaps, NULL);
    const double link_frac = 1.0 - plan->tiers.others_link_frac, disk_frac = 1.0 - plan->tiers.others_disk_frac;
    const double tier_link = step.up_bytes + step.down_bytes > 0.0 ? plan->tiers.link_bytes_per_s * link_frac : 0.0;
    const double offload_link = plan->offload.optimizer_frac > 0.0 ? plan->offload.link_bytes_per_s : 0.0;
    swaps->alone_s = swaps->step_s = step.step_s;
    swaps->bytes[SWAP_UP] = step.up_bytes + step.fetched_bytes;
    swaps->bytes[SWAP_DOWN] = step.down_bytes + step.flushed_bytes;
    swaps->bytes[SWAP_READ] = step.read_bytes;
    swaps->bytes[SWAP_WRITE] = step.written_bytes;
    const double link = fmax(tier_link, offload_link);
    swaps->down_frac = flushes_alone(plan) && !(tier_link > 0.0) ? fmin(plan->offload.flush_bytes_per_s / link, 1.0)
                                                                 : 1.0;
    swaps->peak_bytes_per_s[SWAP_UP] = link;
    swaps->peak_bytes_per_s[SWAP_DOWN] = swaps->down_frac * link;
    swaps->peak_bytes_per_s[SWAP_READ] = plan->tiers.read_bytes_per_s * disk_frac;
    swaps->peak_bytes_per_s[SWAP_WRITE] = plan->tiers.write_bytes_per_s * disk_frac;
    for (int k = 0; k < SWAP_KINDS; k++) swaps->share_frac[k] = 1.0;
}

/* --- Shares --- */

/* A rate above 0, as claims have. */
static double mean_of(const struct swap_flow *flow)
{
    return fmax(flow->bytes / flow->swaps->step_s, DBL_MIN);
}

/* The share of its wish that the flow of a kind with the least gets if all of them move now. Standing claims only try
 * that demand where the network is settled. Else they ask for it, and take it back. */
static double probe(struct job_swaps *swaps, enum swap_kind kind)
{
    struct link_net *net = kind == SWAP_TURNS ? swaps->job->jobs->swapping->turns
                                              : topology_net(swaps->job->jobs->topology);
    const bool tries = link_net_is_settled(net);
    double least = 1.0;
    for (int32_t i = 0; i < swaps->n_flows; i++) {
        struct swap_flow *flow = &swaps->flows[i];
        if (flow->kind == kind) (tries ? link_claim_try : link_claim_ask)(&flow->standing, flow->peak_bytes_per_s);
    }
    for (int32_t i = 0; i < swaps->n_flows; i++) {
        struct swap_flow *flow = &swaps->flows[i];
        const double peak = flow->peak_bytes_per_s;
        if (flow->kind == kind)
            least = fmin(least,
                         (tries ? link_claim_tried(&flow->standing, peak) : link_flow_bytes_per_s(&flow->standing)) /
                             peak);
    }
    for (int32_t i = 0; i < swaps->n_flows; i++) {
        struct swap_flow *flow = &swaps->flows[i];
        if (flow->kind != kind) continue;
        if (tries)
            link_claim_end_try(&flow->standing);
        else
            link_claim_ask(&flow->standing, mean_of(flow));
    }
    return least < 1.0 - rounding ? least : 1.0;
}

/* Finds the present shares. Of those that are nearly what they were, none changes. Returns whether some has. */
static bool find_shares(struct job_swaps *swaps)
{
    bool some = false;
    for (int k = 0; k < SWAP_KINDS; k++) {
        const double share_frac = probe(swaps, (enum swap_kind)k), before = swaps->share_frac[k];
        if (share_frac == before || fabs(share_frac - before) <= settled * before) continue;
        swaps->share_frac[k] = fmax(share_frac, DBL_MIN);
        some = true;
    }
    return some;
}

static bool is_whole(const struct job_swaps *swaps)
{
    for (int k = 0; k < SWAP_KINDS; k++)
        if (swaps->share_frac[k] < 1.0) return false;
    return true;
}

/* Lets the claims ask for what a step of this time needs. Returns the least time that their grants allow. */
static double stand(struct job_swaps *swaps)
{
    double least_s = 0.0;
    for (int32_t i = 0; i < swaps->n_flows; i++) link_claim_ask(&swaps->flows[i].standing, mean_of(&swaps->flows[i]));
    for (int32_t i = 0; i < swaps->n_flows; i++)
        least_s = fmax(least_s, swaps->flows[i].bytes / link_claim_grant(&swaps->flows[i].standing));
    for (int32_t i = 0; i < swaps->n_sensors; i++) link_claim_grant(&swaps->sensors[i].claim);
    return least_s;
}

/* Sets the time of a step at the present shares, and the speed. */
static void settle(struct job_swaps *swaps)
{
    const bool is_new = find_shares(swaps) || swaps->is_respread;
    const double *of = swaps->share_frac;
    const double down = of[SWAP_DOWN] < 1.0 ? of[SWAP_DOWN] * swaps->down_frac : 1.0;
    const struct training_link_shares shares = {of[SWAP_UP], down, fmin(of[SWAP_READ], of[SWAP_TURNS]),
                                                fmin(of[SWAP_WRITE], of[SWAP_TURNS])};
    if (swaps->is_respread) swaps->alone_s = price(swaps, NULL).step_s;
    if (is_new) swaps->step_s = is_whole(swaps) ? swaps->alone_s : price(swaps, &shares).step_s;
    swaps->is_respread = false;
    const double least_s = stand(swaps);
    const double time_s = least_s > swaps->step_s * (1.0 + rounding) ? least_s : swaps->step_s;
    swaps->speed = time_s > swaps->alone_s ? swaps->alone_s / time_s : 1.0;
}

double job_swaps_speed(const struct job *job)
{
    return job->activity->swaps != NULL ? job->activity->swaps->speed : 1.0;
}

const struct power_stage *job_swaps_phases(const struct job *job)
{
    const struct job_swaps *swaps = job->activity->swaps;
    return swaps != NULL && swaps->speed < 1.0 ? swaps->phases : NULL;
}

/* --- While it runs --- */

/* Counts the GPU time at the present speed. */
static void count_time(struct job_swaps *swaps, sim_ns now)
{
    gpu_time_share_count(&swaps->job->jobs->swapping->speed, &swaps->since_ns, now, swaps->held_gpus, swaps->speed);
}

static void begin_moment(struct job_swapping *swapping, sim_ns now)
{
    if (swapping->moment_ns == now) return;
    swapping->moment_ns = now;
    swapping->rounds = 0;
    swapping->most_rounds = ROUNDS_OF_TRANSFERS;
}

/* Takes it out of those whose shares are found anew. */
static void drop_stale(struct job_swapping *swapping, struct job_swaps *swaps)
{
    if (!swaps->is_stale) return;
    DL_DELETE2(swapping->stale, swaps, before_stale, next_stale);
    swaps->is_stale = false;
}

/* One job after another: each finds the others as they stand then. */
static void on_settle(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct job_swapping *swapping = OWNER_ENTITY(owner, struct job_swapping, settle);
    (void)engine;
    begin_moment(swapping, now);
    swapping->rounds++;
    swapping->armed_ns = -1;
    while (swapping->stale != NULL) {
        struct job_swaps *swaps = swapping->stale;
        const double before = swaps->speed;
        drop_stale(swapping, swaps);
        count_time(swaps, now);
        settle(swaps);
        if (swaps->speed == before) continue;
        job_activity_redraw(swaps->job, now, true);
        job_speed_changed(swaps->job, now);
    }
}

/* Its shares are found anew at the end of this moment. If that has had its rounds: a step later, unless links change
 * again before. */
static void note_stale(struct job_swaps *swaps, sim_ns now)
{
    struct jobs *jobs = swaps->job->jobs;
    struct job_swapping *swapping = jobs->swapping;
    begin_moment(swapping, now);
    const bool is_over = swapping->rounds >= swapping->most_rounds;
    const sim_ns at_ns = is_over ? sim_ns_add(now, sim_ns_from_s(swaps->step_s)) : now;
    if (swapping->armed_ns < 0 || at_ns < swapping->armed_ns) {
        swapping->armed_ns = at_ns;
        engine_arm(jobs->site->engine, at_ns, PRIORITY_LINK_SETTLE, on_settle, &swapping->settle);
    }
    if (swaps->is_stale) return;
    swaps->is_stale = true;
    DL_APPEND2(swapping->stale, swaps, before_stale, next_stale);
}

/* Jobs came, left or were spread anew. */
static void allow_rounds(struct job_swapping *swapping, sim_ns now)
{
    begin_moment(swapping, now);
    swapping->most_rounds = ROUNDS_OF_JOBS;
}

void job_swaps_respread(struct job *job, sim_ns now)
{
    if (job->activity->swaps == NULL) return;
    job->activity->swaps->is_respread = true;
    allow_rounds(job->jobs->swapping, now);
    note_stale(job->activity->swaps, now);
}

static void standing_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    note_stale(LINK_FLOW_ENTITY(claim, struct swap_flow, standing)->swaps, now);
}

static void sensor_changed(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    note_stale(LINK_FLOW_ENTITY(claim, struct swap_sensor, claim)->swaps, now);
}

/* --- A run of a job --- */

enum { MOST_LINKS = 16 }; /* of a node, beside the four of each GPU and its switch */

/* Senses a link of the node that is being listed, unless a flow before has done so. Returns 0 or SIM_E_NOMEM. */
static int start_sensor(struct job_swaps *swaps, struct link_net *net, struct link *link)
{
    for (int32_t i = swaps->n_sensors_before; i < swaps->n_sensors; i++)
        if (swaps->sensors[i].link == link) return 0;
    struct swap_sensor *sensor = &swaps->sensors[swaps->n_sensors];
    struct link_path path = {0};
    *sensor = (struct swap_sensor){.swaps = swaps, .link = link};
    link_path_add(&path, link);
    const int code = link_claim_start(net, &sensor->claim, &path, link_bytes_per_s(link), sensor_changed, NULL);
    if (code != 0) return code;
    swaps->n_sensors++;
    link_claim_sense(&sensor->claim);
    link_claim_leave_idle(&sensor->claim);
    return 0;
}

/* Starts the claims of a flow, unless nothing limits it. Returns 0 or SIM_E_NOMEM. */
static int start_flow(struct job_swaps *swaps, struct link_net *net, const struct swap_flow *wanted,
                      const struct link_path *path)
{
    struct swap_flow *flow = &swaps->flows[swaps->n_flows];
    if (path->n == 0 || !(wanted->bytes > 0.0)) return 0;
    *flow = *wanted;
    flow->swaps = swaps;
    int code = link_claim_start(net, &flow->standing, path, mean_of(flow), standing_changed, NULL);
    if (code != 0) return code;
    link_claim_hold(&flow->standing);
    link_claim_leave_idle(&flow->standing);
    swaps->n_flows++;
    for (int32_t i = 0; i < path->n && code == 0; i++) code = start_sensor(swaps, net, path->links[i]);
    return code;
}

static int start_gpu(struct job_swaps *swaps, int32_t node, int32_t gpu)
{
    struct topology *topology = swaps->job->jobs->topology;
    int code = 0;
    for (int kind = SWAP_UP; kind <= SWAP_DOWN && code == 0; kind++) {
        const struct swap_flow wanted = {.kind = (enum swap_kind)kind, .bytes = swaps->bytes[kind],
                                         .peak_bytes_per_s = swaps->peak_bytes_per_s[kind]};
        struct link_path path;
        code = topology_host_path(topology, node, gpu, &swaps->messages->setup->gpu, kind == SWAP_UP, &path);
        if (code == 0) code = start_flow(swaps, topology_net(topology), &wanted, &path);
    }
    return code;
}

static double narrowest_bytes_per_s(const struct link_path *path)
{
    double least = (double)INFINITY;
    for (int32_t i = 0; i < path->n; i++) least = fmin(least, link_bytes_per_s(path->links[i]));
    return least;
}

/* Turns at the drives, which need busy_s of each step; the plan takes plan_s for that. */
static int start_turns(struct job_swaps *swaps, int32_t node, double busy_s, double plan_s)
{
    struct job_swapping *swapping = swaps->job->jobs->swapping;
    struct link **drives = &swapping->drives[node];
    struct link_path path = {0};
    const double all_ns = 1e9;
    if (!(busy_s > 0.0)) return 0;
    if (*drives == NULL) *drives = link_net_add(swapping->turns, "drives", all_ns, 0);
    if (*drives == NULL) return SIM_E_NOMEM;
    link_path_add(&path, *drives);
    const struct swap_flow wanted = {.kind = SWAP_TURNS, .bytes = busy_s * all_ns,
                                     .peak_bytes_per_s = fmin(busy_s / plan_s, 1.0) * all_ns};
    return start_flow(swaps, swapping->turns, &wanted, &path);
}

/* `frac`: ranks on the node over those that fill one. Drives that are faster than the plan says are not busy all the
 * time that it takes for them. */
static int start_drives(struct job_swaps *swaps, int32_t node, double frac)
{
    struct topology *topology = swaps->job->jobs->topology;
    double busy_s = 0.0, plan_s = 0.0;
    int code = 0;
    for (int kind = SWAP_READ; kind <= SWAP_WRITE && code == 0; kind++) {
        const struct swap_flow wanted = {.kind = (enum swap_kind)kind, .bytes = frac * swaps->bytes[kind],
                                         .peak_bytes_per_s = swaps->peak_bytes_per_s[kind] * frac};
        struct link_path path;
        if (!(wanted.bytes > 0.0)) continue;
        code = topology_drive_path(topology, node, kind == SWAP_READ, &path);
        plan_s += swaps->bytes[kind] / swaps->peak_bytes_per_s[kind];
        busy_s += wanted.bytes / narrowest_bytes_per_s(&path);
        if (code == 0) code = start_flow(swaps, topology_net(topology), &wanted, &path);
    }
    return code == 0 ? start_turns(swaps, node, busy_s, plan_s) : code;
}

/* The flows of the job's GPUs on a node, and of its drives. */
static int start_node(struct job_swaps *swaps, const struct allocation *part)
{
    const struct job *job = swaps->job;
    const int32_t node = jobs_cluster_of(job->jobs, job->view.node_type)->first_node + part->node;
    int code = 0;
    swaps->n_sensors_before = swaps->n_sensors;
    for (uint64_t set = part->details.gpu_set; set != 0 && code == 0; set &= set - 1)
        code = start_gpu(swaps, node, __builtin_ctzll(set));
    if (code != 0) return code;
    return start_drives(swaps, node, part->gpus / training_ranks_on_node(&swaps->messages->plan));
}

int job_swaps_begin(struct job *job)
{
    struct job_messages *messages;
    size_t n = 0, n_links = 0;
    if (!job_has_swaps(job) || job->activity->swaps != NULL || job->holder.held == NULL) return 0;
    if (!job_swaps_follows(jobs_cluster_of(job->jobs, job->view.node_type))) return 0;
    const int found = job_training_messages(job->jobs, job->type, job->view.node_type, job->view.held_gpus, &messages);
    if (found <= 0) return found;
    struct job_swaps *swaps = job->activity->swaps = mem_zalloc(1, sizeof *swaps);
    if (swaps == NULL) return SIM_E_NOMEM;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next) {
        n += 2 * (size_t)part->gpus + 3;
        n_links += 4 * (size_t)part->gpus + MOST_LINKS;
    }
    *swaps = (struct job_swaps){.job = job, .messages = messages, .speed = 1.0, .held_gpus = job->view.held_gpus,
                                .since_ns = engine_now(job->jobs->site->engine),
                                .began_at_ns = job->progress.done_ns,
                                .flows = mem_zalloc(n, sizeof *swaps->flows),
                                .sensors = mem_zalloc(n_links, sizeof *swaps->sensors)};
    if (swaps->flows == NULL || swaps->sensors == NULL) return SIM_E_NOMEM;
    int code = 0;
    describe(swaps);
    for (const struct allocation *part = job->holder.held; part != NULL && code == 0; part = part->next)
        code = start_node(swaps, part);
    allow_rounds(job->jobs->swapping, swaps->since_ns);
    if (code == 0 && swaps->n_flows > 0) note_stale(swaps, swaps->since_ns);
    return code;
}

void job_swaps_end(struct job *job)
{
    struct job_swaps *swaps = job->activity->swaps;
    if (swaps == NULL) return;
    struct job_swapping *swapping = job->jobs->swapping;
    const double work_s = sim_s_from_ns(job->progress.done_ns - swaps->began_at_ns);
    const double steps = work_s / job_training_asked_s(job->jobs, job->type, (double)job->view.gpus);
    count_time(swaps, engine_now(job->jobs->site->engine));
    for (int32_t i = 0; i < swaps->n_flows; i++) {
        struct swap_flow *flow = &swaps->flows[i];
        const int64_t bytes = (int64_t)fmin(flow->bytes * steps, 9e18);
        if (flow->kind != SWAP_TURNS) {
            link_claim_count(&flow->standing, bytes);
            topology_count_moved(job->jobs->topology, &flow->standing, bytes);
        }
        link_flow_cancel(&flow->standing);
    }
    for (int32_t i = 0; i < swaps->n_sensors; i++) link_flow_cancel(&swaps->sensors[i].claim);
    drop_stale(swapping, swaps);
    allow_rounds(swapping, swaps->since_ns);
    if (swapping->stale == NULL && swapping->armed_ns >= 0) {
        engine_disarm(job->jobs->site->engine, &swapping->settle);
        swapping->armed_ns = -1;
    }
    job_swaps_forget(job);
}

void job_swaps_forget(struct job *job)
{
    struct job_swaps *swaps = job->activity->swaps;
    if (swaps == NULL) return;
    mem_free(swaps->flows);
    mem_free(swaps->sensors);
    mem_free(swaps);
    job->activity->swaps = NULL;
}

int job_swaps_emit(const struct jobs *jobs)
{
    if (jobs->swapping == NULL) return 0;
    return gpu_time_share_emit(&jobs->swapping->speed, jobs->site->sink, "job.offload_speed");
}
