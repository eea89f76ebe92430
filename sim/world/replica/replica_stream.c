#include "sim/world/replica/replica_stream.h"

#include "sim/core/check.h"
#include "sim/world/kv/offload.h"
#include "sim/world/replica/inside.h"

#include <math.h>

static const double everything_bytes_per_s = 1e15; /* more than any path grants */
static const double rounding = 1e-9;               /* relative differences below this are ignored */
static const double drifts = 64;                   /* a demand counts as changed at a difference of 1/64 */

struct replica_stream {
    struct replica *replica;
    struct tier *tiers[OFFLOAD_TIERS]; /* NULL: none, or the GPUs' memory */
    struct tier own[OFFLOAD_TIERS];    /* drives that are not the cluster's */
    double most_bytes_per_s[OFFLOAD_LANES]; /* grant of each lane without competition; 0: no link limits it */
    double demands_bytes_per_s[OFFLOAD_LANES]; /* of the claims; 0: none */
    struct transfer claims[OFFLOAD_LANES];
    struct offload_limits limits; /* that price the current iteration */
    double left_frac;             /* left of the current iteration when these limits came into force */
    sim_ns since_ns;
};

/* --- Lanes --- */

static const enum offload_tier lane_ends[OFFLOAD_LANES][2] = {
    [OFFLOAD_HOST_TO_GPU] = {OFFLOAD_HOST, OFFLOAD_GPU_MEMORY},  [OFFLOAD_GPU_TO_HOST] = {OFFLOAD_GPU_MEMORY, OFFLOAD_HOST},
    [OFFLOAD_DISK_TO_HOST] = {OFFLOAD_DISK, OFFLOAD_HOST},       [OFFLOAD_HOST_TO_DISK] = {OFFLOAD_HOST, OFFLOAD_DISK},
    [OFFLOAD_CSD_TO_GPU] = {OFFLOAD_CSD, OFFLOAD_GPU_MEMORY},    [OFFLOAD_GPU_TO_CSD] = {OFFLOAD_GPU_MEMORY, OFFLOAD_CSD}};

static struct topology_end lane_end(struct replica_stream *stream, int lane, int side)
{
    return (struct topology_end){&stream->replica->placement, stream->tiers[lane_ends[lane][side]]};
}

static int find_drive(struct replica_stream *stream, enum offload_tier tier, enum tier_kind kind)
{
    const struct replica *replica = stream->replica;
    const char *name = replica->env->offload->tier_names[tier];
    if (name == NULL) return 0;
    int code = topology_tier_named(&replica->placement, name, &stream->tiers[tier]);
    if (code != 0 || (stream->tiers[tier] != NULL && stream->tiers[tier]->kind == kind)) return code;
    stream->own[tier] = (struct tier){.name = name, .kind = kind, .node = -1, .device = -1, .granularity_bytes = 1};
    stream->tiers[tier] = &stream->own[tier];
    return 0;
}

/* Whether a lane uses links of the site. A private drive to memory that is not described uses none. */
static bool has_links(const struct replica_stream *stream, int lane)
{
    const struct topology *topology = stream->replica->placement.topology;
    const struct tier *from = stream->tiers[lane_ends[lane][0]], *to = stream->tiers[lane_ends[lane][1]];
    const bool missing = (from == NULL && lane_ends[lane][0] != OFFLOAD_GPU_MEMORY) ||
                         (to == NULL && lane_ends[lane][1] != OFFLOAD_GPU_MEMORY);
    if (missing) return false;
    if (from == NULL || to == NULL)
        return topology_port_bytes_per_s(topology, stream->replica->env->offload->view.gpu) > 0;
    return from->spec != NULL || to->spec != NULL;
}

/* The lane's grant on otherwise unused links. */
static int measure(struct replica_stream *stream, int lane)
{
    struct transfer *claim = &stream->claims[lane];
    if (!has_links(stream, lane)) return 0;
    int code = topology_claim(stream->replica->placement.topology, lane_end(stream, lane, 0), lane_end(stream, lane, 1),
                              everything_bytes_per_s, claim, NULL);
    if (code != 0) return code;
    transfer_hold(claim);
    stream->most_bytes_per_s[lane] = claim->granted_bytes_per_s;
    transfer_cancel(claim);
    return 0;
}

int replica_stream_open(struct replica *replica)
{
    struct replica_stream *stream = mem_zalloc(1, sizeof *stream);
    replica->stream = stream;
    if (stream == NULL) return SIM_E_NOMEM;
    stream->replica = replica;
    int code = topology_tier(&replica->placement, TIER_DRAM, &stream->tiers[OFFLOAD_HOST]);
    if (code == 0) code = find_drive(stream, OFFLOAD_DISK, TIER_SSD);
    if (code == 0) code = find_drive(stream, OFFLOAD_CSD, TIER_CSD);
    for (int lane = 0; lane < OFFLOAD_LANES && code == 0; lane++) code = measure(stream, lane);
    return code;
}

void replica_stream_close(struct replica *replica)
{
    mem_free(replica->stream);
    replica->stream = NULL;
}

/* --- Shares --- */

static double limit_of(const struct replica_stream *stream, int lane)
{
    const double demand = stream->demands_bytes_per_s[lane], granted = stream->claims[lane].granted_bytes_per_s;
    const double most = stream->most_bytes_per_s[lane];
    if (most == 0) return (double)INFINITY;
    return demand > 0 && granted < demand * (1 - rounding) ? granted : most * (1 + rounding);
}

/* Returns whether any of them has changed. */
static bool learn_limits(struct replica_stream *stream)
{
    bool changed = false;
    for (int lane = 0; lane < OFFLOAD_LANES; lane++) {
        if (stream->demands_bytes_per_s[lane] > 0) transfer_grant(&stream->claims[lane]);
        const double limit = limit_of(stream, lane), before = stream->limits.bytes_per_s[lane];
        stream->limits.bytes_per_s[lane] = limit;
        changed = changed || (limit != before && !(fabs(limit - before) <= rounding * before));
    }
    return changed;
}

static void share_changed(struct transfer *claim, sim_ns now)
{
    struct replica_stream *stream = claim->holder;
    struct engine *engine = stream->replica->env->engine;
    if (!learn_limits(stream)) return;
    int code = replica_reprice(stream->replica, now);
    if (code != 0) engine_fail(engine, code);
}

static int claim(struct replica_stream *stream, int lane, double demand)
{
    struct transfer *transfer = &stream->claims[lane];
    const double before = stream->demands_bytes_per_s[lane];
    stream->demands_bytes_per_s[lane] = demand;
    if (demand == before) return 0;
    if (demand == 0) {
        transfer_cancel(transfer);
        return 0;
    }
    if (before > 0) {
        transfer_demand(transfer, demand);
        return 0;
    }
    int code = topology_claim(stream->replica->placement.topology, lane_end(stream, lane, 0), lane_end(stream, lane, 1),
                              demand, transfer, share_changed);
    if (code != 0) return code;
    transfer->holder = stream;
    transfer_hold(transfer);
    return 0;
}

/* 0 also for an iteration without time or without an end, which is refused for its time. */
static double demand_of(const struct offload_step *alone, int lane)
{
    const double demand = alone->lanes[lane].now / alone->seconds.now;
    return demand > 0 ? demand : 0;
}

static int claim_all(struct replica_stream *stream, const struct offload_step *alone)
{
    int code = 0;
    for (int lane = 0; lane < OFFLOAD_LANES && code == 0; lane++) {
        const bool linked = stream->most_bytes_per_s[lane] > 0;
        code = claim(stream, lane, linked ? demand_of(alone, lane) : 0);
    }
    return code;
}

/* The iteration from which on the demand for a lane has changed. */
static int64_t steady_until(const struct offload_step *alone, int lane)
{
    const struct piece bytes = alone->lanes[lane], seconds = alone->seconds;
    if (!(bytes.now > 0)) return INT64_MAX;
    const double grows = bytes.slope / bytes.now, slows = seconds.slope / seconds.now;
    /* |bytes/seconds - 1| = 1/drifts, solved for the iteration */
    const double change = drifts * fabs(grows - slows) - slows;
    return change > 0x1p-62 ? (int64_t)(1 / change) + 1 : INT64_MAX;
}

static const struct offload *model_of(const struct replica_stream *stream)
{
    return &stream->replica->env->offload->model;
}

int replica_stream_cost(struct replica_stream *stream, const struct iteration_work *work, struct iteration_cost *cost)
{
    struct offload_step step;
    int64_t until = INT64_MAX;
    offload_step(model_of(stream), work, &step);
    int code = claim_all(stream, &step);
    if (code != 0) return code;
    if (!topology_is_alone(&stream->replica->placement))
        for (int lane = 0; lane < OFFLOAD_LANES; lane++) until = piece_sooner(until, steady_until(&step, lane));
    learn_limits(stream);
    offload_limit(&stream->limits, &step);
    step.seconds.until = piece_sooner(step.seconds.until, until);
    offload_cost_of_step(&step, work, cost);
    replica_stream_begin(stream, engine_now(stream->replica->env->engine));
    return 0;
}

void replica_stream_end_claims(struct replica_stream *stream)
{
    for (int lane = 0; lane < OFFLOAD_LANES; lane++) claim(stream, lane, 0);
}

/* --- The current iteration --- */

void replica_stream_begin(struct replica_stream *stream, sim_ns start_ns)
{
    stream->left_frac = 1;
    stream->since_ns = start_ns;
}

sim_ns replica_stream_end_ns(struct replica_stream *stream, const struct iteration_work *work, sim_ns now,
                             sim_ns end_ns)
{
    struct offload_step step;
    offload_step(model_of(stream), work, &step);
    offload_limit(&stream->limits, &step);
    SIM_REQUIRE(end_ns > now && now >= stream->since_ns);
    stream->left_frac *= (double)(end_ns - now) / (double)(end_ns - stream->since_ns);
    stream->since_ns = now;
    const double left_ns = stream->left_frac * step.seconds.now * 1e9;
    if (!(left_ns < 0x1p62)) return SIM_NS_MAX;
    return sim_ns_add(now, left_ns < 1 ? 1 : llrint(left_ns));
}

void replica_stream_count(struct replica_stream *stream, const struct replica_batch *batch)
{
    struct offload_step step;
    offload_step(model_of(stream), &batch->work, &step);
    offload_limit(&stream->limits, &step);
    offload_count(stream->replica->env->offload, &step, batch->iterations);
    for (int lane = 0; lane < OFFLOAD_LANES; lane++)
        if (stream->demands_bytes_per_s[lane] > 0)
            transfer_count(&stream->claims[lane],
                           offload_lane_bytes(&step, (enum offload_lane)lane, batch->iterations));
}
