#include "sim/world/service/kv_transport.h"

#include "sim/core/check.h"

static int find_host(struct replica *replica, struct tier **host)
{
    return topology_tier(&replica->seat, TIER_DRAM, host);
}

int kv_transport_give_room(struct replica *replica, int64_t bytes, sim_ns now)
{
    struct tier *host;
    const int code = find_host(replica, &host);
    if (code == 0) tier_give(host, now, bytes);
    return code;
}

static int has_arrived(struct kv_move *move, sim_ns now)
{
    const int code = move->direction == KV_IN ? kv_transport_give_room(move->replica, move->bytes, now) : 0;
    return code != 0 ? code : replica_kv_moved(move, now);
}

static void on_arrival(struct transfer *transfer, sim_ns now)
{
    struct kv_move *move = TRANSFER_ENTITY(transfer, struct kv_move, transfer);
    struct engine *engine = move->replica->env->engine;
    int code = has_arrived(move, now);
    if (code != 0) engine_fail(engine, code);
}

int kv_transport_take_room(struct replica *replica, int64_t bytes, sim_ns now)
{
    struct tier *host;
    int code = find_host(replica, &host);
    return code != 0 ? code : tier_take(host, now, bytes);
}

int kv_transport_move(struct kv_move *move)
{
    struct topology_seat *seat = &move->replica->seat;
    struct topology_end gpus = {seat, NULL}, host = {seat, NULL};
    SIM_REQUIRE(move->request->handed_blocks == 0);
    int code = find_host(move->replica, &host.tier);
    if (code != 0) return code;
    bool out = move->direction == KV_OUT;
    return topology_move(seat->topology, out ? gpus : host, out ? host : gpus, move->bytes, &move->transfer,
                         on_arrival);
}
