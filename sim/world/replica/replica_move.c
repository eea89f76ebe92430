/* KV on its way to the host and back, or from where a prompt was processed. Who moves it, and how fast, is env.move_kv's to
 * say; here is who waits for it, and where it is meanwhile. */
#include "sim/core/check.h"
#include "sim/world/replica/replica_batch.h"

/* KV of sequences that another replica processed comes from there, not from the host. */
static bool is_of_host(const struct kv_move *move)
{
    return move->request->handed_blocks == 0;
}

static int start(struct kv_move *move, sim_ns now)
{
    struct replica *replica = move->replica;
    if (move->direction == KV_IN && is_of_host(move)) replica->host_blocks -= move->blocks;
    replica->moving_blocks += move->blocks;
    return replica->env->move_kv(move, now);
}

static int request_move(struct replica *replica, struct request *request, enum kv_direction direction, bool wait,
                        sim_ns now)
{
    struct kv_move *move = pool_take(replica->env->kv_moves), *before = request->move;
    if (move == NULL) return SIM_E_NOMEM;
    int64_t blocks = kvcache_blocks(&replica->kv, request->context_tokens - 1);
    *move = (struct kv_move){.replica = replica, .request = request, .direction = direction, .wait = wait,
                             .blocks = blocks, .bytes = blocks * replica->env->kv_block_bytes};
    replica->n_moves++;
    if (is_of_host(move)) replica->counts.swapped_bytes += move->bytes;
    request->move = move;
    if (wait) {
        move->next = replica->unattached;
        replica->unattached = move;
    }
    if (before == NULL) return start(move, now);
    before->then = move; /* it has not left completely yet */
    move->before = before;
    return 0;
}

int replica_move_out(struct replica *replica, struct request *request, sim_ns now)
{
    return request_move(replica, request, KV_OUT, true, now);
}

int replica_move_in(struct replica *replica, struct request *request, bool wait, sim_ns now)
{
    return request_move(replica, request, KV_IN, wait, now);
}

static void detach(struct replica *replica, const struct kv_move *move)
{
    struct kv_move **at = &replica->unattached;
    while (*at != NULL && *at != move) at = &(*at)->next;
    if (*at != NULL) *at = move->next;
}

int replica_kv_moved(struct kv_move *move, sim_ns now)
{
    struct replica *replica = move->replica;
    struct request *request = move->request;
    replica->n_moves--;
    replica->moving_blocks -= move->blocks;
    if (move->direction == KV_OUT) replica->host_blocks += move->blocks;
    if (request->move == move) request->move = NULL;
    if (move->then != NULL) move->then->before = NULL;
    int code = move->then != NULL ? start(move->then, now) : 0;
    if (code == 0 && move->flight != NULL)
        code = replica_flight_loaded(replica, move->flight, now);
    else if (move->wait)
        detach(replica, move);
    if (move->direction == KV_IN && !move->wait) {
        request_list_remove(&replica->moving, request);
        request_list_push_back(&replica->arrived, request);
        replica_wake(replica, now, false);
    }
    engine_progress(replica->env->engine);
    pool_give(replica->env->kv_moves, move);
    return code;
}

void replica_enqueue_away(struct replica *replica, struct request *request, sim_ns now)
{
    request->replica = replica->index;
    request->view.state = REQUEST_AWAY;
    request->planned = 0; /* in no plan of this replica so far */
    request_list_push_back(&replica->away, request);
    replica->load->outstanding++;
    replica_wake(replica, now, true);
}

void replica_release_kv(struct replica *replica, struct request *request, sim_ns now)
{
    replica_catch_up(replica, now);
    if (request->prefix != NULL) replica->prefixes.handed_shares -= request->prefix->n_shared;
    kvcache_give(&replica->kv, request->handed_blocks - replica_release_prefix(replica, request));
    replica->handed_blocks -= request->handed_blocks;
    request->handed_blocks = 0;
    replica_wake(replica, now, true);
}
