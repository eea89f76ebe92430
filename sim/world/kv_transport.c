#include "sim/world/kv_transport.h"

#include "sim/core/check.h"

static int find_host(const struct kv_move *move, struct tier **host)
{
    return topology_tier(&move->replica->seat, TIER_DRAM, host);
}

static int has_arrived(struct kv_move *move, sim_ns now)
{
    struct tier *host;
    if (move->direction == KV_IN) {
        int code = find_host(move, &host);
        if (code != 0) return code;
        tier_give(host, now, move->bytes);
    }
    return replica_kv_moved(move, now);
}

static void on_arrival(struct transfer *transfer, sim_ns now)
{
    struct kv_move *move = TRANSFER_ENTITY(transfer, struct kv_move, transfer);
    struct engine *engine = move->replica->env->engine;
    int code = has_arrived(move, now);
    if (code != 0) engine_fail(engine, code);
}

static int take_room(const struct kv_move *move, struct tier *host, sim_ns now)
{
    const struct replica_env *env = move->replica->env;
    if (tier_take(host, now, move->bytes)) return 0;
    return diag_error(env->diag, SIM_E_CONFIG, NULL, "raise cluster.host.memory, or preempt by \"recompute\"",
                      "service '%s': at %.9f s the host's memory has no room for the %lld bytes of KV of request %lld",
                      env->service, sim_s_from_ns(now), (long long)move->bytes, (long long)move->request->view.id);
}

int kv_transport_move(struct kv_move *move, sim_ns now)
{
    struct topology_seat *seat = &move->replica->seat;
    struct topology_end gpus = {seat, NULL}, host = {seat, NULL};
    SIM_REQUIRE(move->request->handed_blocks == 0);
    int code = find_host(move, &host.tier);
    if (code == 0 && move->direction == KV_OUT) code = take_room(move, host.tier, now);
    if (code != 0) return code;
    bool out = move->direction == KV_OUT;
    return topology_move(seat->topology, out ? gpus : host, out ? host : gpus, move->bytes, &move->transfer,
                         on_arrival);
}
