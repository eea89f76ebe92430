/* A replica whose GPUs fail: what it computes and holds is lost, and its requests go elsewhere.
 *
 * The current iteration is lost with all of its tokens; tokens of earlier boundaries have been sent. It has computed
 * and drawn power up to this moment. The caller that renews the replica drops its cached prompt blocks. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/inside.h"

#include <stdlib.h>

struct loss {
    struct request **requests;
    size_t n;
};

/* Leaving a running batch updates its members; all other lists are emptied at once. */
static void take_out(void *context, struct request *request)
{
    struct loss *loss = context;
    loss->requests[loss->n++] = request;
    if (request->running != NULL) running_leave(request->running, request);
}

static int by_arrival(const void *a, const void *b)
{
    const struct request_view *x = &(*(struct request *const *)a)->view, *y = &(*(struct request *const *)b)->view;
    if (x->arrival_ns != y->arrival_ns) return x->arrival_ns < y->arrival_ns ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (request_of(x)->slot > request_of(y)->slot) - (request_of(x)->slot < request_of(y)->slot);
}

/* Drops KV on the host or in transfer, the latest move first. */
static int drop_moved(struct replica *replica, const struct request *request, sim_ns now)
{
    if (request->view.state != REQUEST_NONRESIDENT && request->move == NULL) return 0;
    const int64_t blocks = request->move != NULL ? request->move->blocks
                                                 : kvcache_blocks(&replica->kv, request->context_tokens - 1);
    for (struct kv_move *move = request->move, *before; move != NULL; move = before) {
        before = move->before;
        transfer_cancel(&move->transfer);
        pool_give(replica->env->kv_moves, move);
    }
    return request->is_remote ? 0 : replica->env->give_host(replica, blocks * replica->env->kv_block_bytes, now);
}

/* Whether the request is still to process its prompt or a part of it. */
static bool is_prompt(const struct request *request)
{
    return request->view.state == REQUEST_WAITING || request->view.state == REQUEST_LOADING ||
           request->view.state == REQUEST_PREFILLING;
}

/* Tokens of the request with keys and values here. */
static int32_t processed_tokens(const struct request *request)
{
    if (request->view.state == REQUEST_LOADING) return request->view.prefilled_tokens - request->loading_tokens;
    return is_prompt(request) ? request->view.prefilled_tokens : request->context_tokens - 1;
}

void replica_restart_request(struct replica *replica, struct request *request)
{
    SIM_REQUIRE(request->handover == NULL && request->handed_blocks == 0);
    replica->counts.lost_tokens += processed_tokens(request);
    if (!is_prompt(request)) request->view.prompt_tokens = request->context_tokens;
    request->view.prefilled_tokens = 0;
    request->view.state = REQUEST_WAITING;
    request->held_blocks = request->window_blocks = request->planned = 0;
    request->draft_tokens = 0;
    request->in_flight = request->is_remote = request->kv_is_pushed = false;
    request->move = NULL;
    request->n_fetches = 0;
    request->is_parked = false;
}

static int start_anew(struct replica *replica, struct request *request, sim_ns now)
{
    int code = drop_moved(replica, request, now);
    if (code == 0 && request->loads != NULL) code = replica_drop_loads(replica, request);
    replica_leave_group(replica, request);
    replica_release_prefix(replica, request);
    replica_restart_request(replica, request);
    return code;
}

void replica_drop_remote(struct replica *replica, struct request *request, sim_ns now)
{
    struct kv_move *move = request->move;
    replica_catch_up(replica, now);
    if (move == NULL) {
        request_list_remove(&replica->nonresident, request);
        replica->n_remote--;
    } else {
        SIM_REQUIRE(!move->wait && move->before == NULL && move->then == NULL);
        request_list_remove(&replica->moving, request);
        kvcache_give(&replica->kv, request->held_blocks);
        replica->n_moves--;
        replica->moving_blocks -= move->blocks;
        pool_give(replica->env->kv_moves, move);
    }
    replica_add_load(replica, -1, 0, 0);
    replica_restart_request(replica, request);
    replica_wake(replica, now, true);
}

static void empty(struct replica *replica)
{
    engine_disarm(replica->env->engine, &replica->owner);
    replica_drop_inflight(replica);
    replica->ready->drafts = 0;
    if (replica->speculating != NULL) replica->speculating->run.n = replica->speculating->run.at = 0;
    replica->fetching = replica->waiting = replica->prefilling = replica->paused = (struct request_list){0};
    replica->nonresident = replica->moving = replica->arrived = (struct request_list){0};
    replica->unattached = NULL;
    replica->n_remote = replica->n_moves = replica->host_blocks = replica->moving_blocks = 0;
    replica->n_parked = replica->parked_tokens = replica->window_blocks = 0;
    replica_add_load(replica, -replica->load->outstanding, -replica->load->waiting, -replica->load->queued_tokens);
    replica->next_group = 0;
    replica->state = REPLICA_IDLE;
    replica->is_woken = false;
    replica_end_claims(replica);
}

/* Collects all requests. Energy already drawn by the current iteration stays counted. */
static int stop_work(struct replica *replica, struct loss *loss, sim_ns now)
{
    const bool draws = replica->env->energy != NULL;
    replica_catch_up(replica, now);
    const double drawn_j = draws ? replica_drawn_j(replica, now) : 0.0;
    const int code = replica_count_so_far(replica, now);
    replica_each_request(replica, take_out, loss);
    empty(replica);
    if (draws) replica->work.energy.excess_j -= drawn_j - replica_drawn_j(replica, now);
    return code;
}

int replica_lose(struct replica *replica, struct request_list *lost, sim_ns now)
{
    const size_t n = (size_t)replica->load->outstanding;
    struct loss loss = {.requests = mem_alloc((n + 1) * sizeof(struct request *))};
    if (loss.requests == NULL) return SIM_E_NOMEM;
    int code = stop_work(replica, &loss, now);
    SIM_REQUIRE(loss.n == n && replica->handed_blocks == 0);
    qsort(loss.requests, n, sizeof(struct request *), by_arrival);
    for (size_t i = 0; i < n; i++) {
        const int dropped = start_anew(replica, loss.requests[i], now);
        if (code == 0) code = dropped;
        if (replica_keep_beam(replica, loss.requests[i]))
            request_list_push_back(lost, loss.requests[i]);
        else
            replica->env->drop(replica, loss.requests[i]);
    }
    mem_free(loss.requests);
    replica->kv.free_blocks = replica->kv.total_blocks;
    return code;
}
