/* Weights that are sent to the replicas, and states that wait in host memory. */
#include "sim/world/rl/rl_state.h"

#include <math.h>

/* Bytes of the present phase to or from a replica. */
static int64_t bytes_of(const struct rl *rl, int32_t replica)
{
    if (rl->phase == RL_SEND) return service_weight_bytes(rl->env.service, replica);
    return llround(rl->state_bytes * service_replica_gpus(rl->env.service, replica)->n_gpus);
}

static int end_move(struct rl *rl, sim_ns now)
{
    return --rl->n_moving == 0 ? rl_moved(rl, now) : 0;
}

static void on_moved(struct transfer *transfer, sim_ns now)
{
    struct rl_move *move = TRANSFER_ENTITY(transfer, struct rl_move, transfer);
    struct rl *rl = move->rl;
    *(rl->phase == RL_SEND ? &rl->stats.sent_bytes : &rl->stats.swapped_bytes) += transfer->bytes;
    if (move->is_halted) service_go_on(rl->env.service, move->replica, now);
    move->is_halted = false;
    const int code = end_move(rl, now);
    if (code != 0) engine_fail(rl->env.site->engine, code);
}

static int start_move(struct rl *rl, struct rl_move *move)
{
    const struct topology_end gpus = {.placement = service_replica_gpus(rl->env.service, move->replica)};
    const struct topology_end host = {.placement = gpus.placement, .tier = move->host};
    const struct topology_end source = rl->config->layout == RL_APART
                                           ? (struct topology_end){.placement = &rl->placement} : host;
    const bool writes = rl->phase == RL_STASH;
    return topology_move(rl->env.topology, writes ? gpus : source, writes ? host : gpus, bytes_of(rl, move->replica),
                         &move->transfer, on_moved);
}

int rl_begin_moves(struct rl *rl, sim_ns now)
{
    const bool halts = rl->phase == RL_SEND && rl->config->update == RL_HALT;
    int code = 0;
    rl->n_moving = rl->n_replicas;
    for (int32_t i = 0; i < rl->n_replicas && code == 0; i++) {
        struct rl_move *move = &rl->moves[i];
        move->is_halted = halts;
        if (!halts || service_halt(rl->env.service, i, now)) code = start_move(rl, move);
    }
    return code;
}

int rl_halted(struct rl *rl, int32_t replica, sim_ns now)
{
    (void)now;
    return start_move(rl, &rl->moves[replica]);
}

/* --- Setting up --- */

static int find_host(struct rl *rl, struct rl_move *move)
{
    const struct site_env *site = rl->env.site;
    const struct topology_placement *gpus = service_replica_gpus(rl->env.service, move->replica);
    const double bytes = rl->state_bytes * gpus->n_gpus + (double)service_weight_bytes(rl->env.service, move->replica);
    const int code = topology_tier(gpus, TIER_DRAM, &move->host);
    if (code != 0) return code;
    if (tier_take(move->host, 0, llround(bytes))) return 0;
    return diag_error(site->diag, SIM_E_UNFIT, config_where(site->config, "cluster.host"),
                      "raise cluster.host.memory, or take \"layout\": \"apart\"",
                      "%.4g GB of the training's states and weights for replica %d of service '%s' do not fit into the "
                      "host's memory",
                      bytes / 1e9, move->replica, rl->config->service);
}

static int check_way(const struct rl *rl, int32_t replica)
{
    const struct site_env *site = rl->env.site;
    if (topology_reaches(&rl->placement, service_replica_gpus(rl->env.service, replica))) return 0;
    return diag_error(site->diag, SIM_E_CONFIG, config_where(site->config, "cluster"),
                      "add \"network\": {\"bandwidth\": \"50GB/s\"} to the cluster",
                      "new weights cannot reach replica %d of service '%s': nodes have no network", replica,
                      rl->config->service);
}

int rl_weights_create(struct rl *rl)
{
    int code = 0;
    rl->moves = mem_zalloc((size_t)rl->n_replicas, sizeof *rl->moves);
    if (rl->moves == NULL) return diag_nomem(rl->env.site->diag);
    for (int32_t i = 0; i < rl->n_replicas && code == 0; i++) {
        rl->moves[i] = (struct rl_move){.rl = rl, .replica = i};
        code = rl->config->layout == RL_TOGETHER ? find_host(rl, &rl->moves[i]) : check_way(rl, i);
    }
    return code;
}
