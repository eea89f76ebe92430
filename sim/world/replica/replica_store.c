/* A replica's use of its prefix store (prefix_store.h): what an admission loads, and what is fetched before it.
 *
 * Of a prompt, the leading blocks in GPU memory are hits. The blocks behind them that the tiers have are loaded when
 * the request is admitted, each from the highest tier that has it. The iteration that admits the request starts when
 * they have come; the whole batch waits, as in engines that load synchronously. What is left is computed. So each
 * token of an admitted prompt is a hit, loaded, or computed. Loaded blocks are published with those of the first piece
 * of the prompt. Two requests of one batch that need the same blocks each load them, unless the batcher's engine caches
 * scheduled blocks.
 *
 * With "waits": "request" loading is asynchronous: the batcher names requests to load before it admits them. Such a
 * request keeps its place in the queue and holds the KV blocks of its whole prompt; the others run meanwhile, and those
 * behind it may be admitted. When its loads have come, its loaded blocks are published and it waits to be admitted. A
 * loading request is not preempted. vLLM takes the blocks of the tokens that it loads only: requests that have loaded
 * could then hold all blocks and wait for more, for ever. With the whole prompt each can go on.
 *
 * With "prefetch" a request first waits, outside the queue, for copies of its blocks from lower tiers into the first
 * one. Then it joins the queue at its place by arrival. With "promote" the first tier gets what lower ones have
 * loaded.
 *
 * Sources: LMCache and vLLM's KV connectors load before the forward pass of the batch; SGLang's HiCache prefetches from
 * storage to host memory while a request queues (both as documented). Asynchronous loading: vllm-project/vllm,
 * vllm/v1/core/sched/scheduler.py @ 00024d3 (schedule with load_kv_async, _update_waiting_for_remote_kv). Leaves out:
 * loading layer by layer beside computing, giving up a prefetch. */
#include "sim/world/replica/inside.h"
#include "sim/world/replica/replica_chunks.h"

#include <stddef.h>

/* --- What GPU memory gets and loses --- */

static int on_inserted(void *context, uint64_t key)
{
    const struct replica *replica = context;
    return replica->prefixes.is_scheduling ? 0 : prefix_store_published(replica->store, key);
}

static int on_evicted(void *context, uint64_t key)
{
    const struct replica *replica = context;
    return prefix_store_evicted(replica->store, key);
}

void replica_watch_prefixes(struct replica *replica, struct cache_options *options)
{
    if (replica->store == NULL) return;
    options->inserted = on_inserted;
    options->evicted = on_evicted;
    options->context = replica;
}

static void fail(const struct replica *replica, int code)
{
    if (code < 0) engine_fail(replica->env->engine, code);
}

void replica_begin_writes(struct replica *replica)
{
    fail(replica, prefix_store_flush(replica->store));
}

/* The boundary at which GPU memory first evicts a block. Free blocks become no fewer before, except by decoding. */
int64_t replica_first_eviction(const struct replica *replica, int64_t end)
{
    const struct replica_prefixes *prefixes = &replica->prefixes;
    if (replica->store == NULL || prefixes->block_tokens == 0 || !prefix_store_takes_evicted(replica->store))
        return end;
    const int64_t slack = replica->kv.free_blocks - cache_evictable(&prefixes->cache) * prefixes->item_blocks;
    const struct running_batch *ready = replica->ready;
    if (kv_growth_lasts(&ready->growth, end - replica->run_steps, slack)) return end;
    if (kv_growth_at(&ready->growth, ready->step) > slack) return replica->run_steps + 1;
    const int64_t steps = kv_growth_steps_until_short(&ready->growth, ready->step, slack);
    return steps < end - replica->run_steps - 1 ? replica->run_steps + steps + 1 : end;
}

/* --- Loading --- */

/* Seconds that one iteration would take to process the rest of a prompt behind `processed` tokens. */
static double prefill_s(const struct replica *replica, const struct request *request, int64_t processed)
{
    const struct iteration_model *model = &replica->env->model;
    struct iteration_work work = {.prefill_sequences = 0};
    struct iteration_cost cost;
    iteration_add_prompt(&work, request->view.prompt_tokens - processed, processed);
    model->cost(model->model, &work, &cost);
    const double seconds = cost.first_s * (double)replica->view.stages + cost.entry_s;
    return replica->env->speed_frac > 0.0 ? seconds / replica->env->speed_frac : seconds;
}

static bool is_worth(const struct replica *replica, const struct request *request, int32_t hits, int32_t n)
{
    const int64_t block_tokens = replica->prefixes.block_tokens;
    if (replica->store->config->load == STORE_LOAD_ALWAYS) return true;
    const double saved_s = prefill_s(replica, request, hits * block_tokens) -
                           prefill_s(replica, request, (hits + n) * block_tokens);
    return prefix_store_load_s(replica->store, request->prefix->keys + hits, n) < saved_s;
}

int32_t replica_loadable_blocks(const struct replica *replica, const struct request *request, int32_t hits,
                                int32_t usable)
{
    if (replica->store == NULL || replica->store->n == 0 || hits >= usable) return 0;
    const int32_t n = prefix_store_match(replica->store, request->prefix->keys + hits, usable - hits);
    return n > 0 && is_worth(replica, request, hits, n) ? n : 0;
}

static void unlink_load(struct request *request, const struct kv_move *move)
{
    struct kv_move **at = &request->loads;
    while (*at != move) at = &(*at)->next_load;
    *at = move->next_load;
}

/* All that a loading request waits for has come. Blocks that others have published meanwhile stay its own. */
static int end_loading(struct replica *replica, struct request *request, sim_ns now)
{
    request->view.state = REQUEST_WAITING;
    replica_catch_up(replica, now);
    int code = replica_publish_prefix(replica, request);
    if (code == 0) code = replica_report_queue(replica, &request->view, now, ADMISSION_LOADED);
    replica_write_prefixes(replica);
    replica_wake(replica, now, false);
    return code;
}

static void on_loaded(struct transfer *transfer, sim_ns now)
{
    struct kv_move *move = TRANSFER_ENTITY(transfer, struct kv_move, transfer);
    struct replica *replica = move->replica;
    struct request *request = move->request;
    unlink_load(request, move);
    int code = move->copy != NULL ? prefix_store_unpin(move->copy, true) : 0;
    if (code == 0 && replica->store != NULL) code = prefix_store_flush(replica->store);
    if (code == 0) code = replica_kv_moved(move, now);
    if (code == 0 && request->view.state == REQUEST_LOADING && request->loads == NULL)
        code = end_loading(replica, request, now);
    fail(replica, code);
}

int replica_start_load(struct replica *replica, struct request *request, struct tier *device, int64_t bytes,
                       struct store_copy *copy)
{
    struct kv_move *move = pool_take(replica->env->kv_moves);
    if (move == NULL) return SIM_E_NOMEM;
    *move = (struct kv_move){.replica = replica, .request = request, .direction = KV_LOAD,
                             .wait = request->view.state != REQUEST_LOADING, .bytes = bytes,
                             .copy = copy, .next_load = request->loads};
    request->loads = move;
    if (move->wait) {
        move->next = replica->unattached;
        replica->unattached = move;
    }
    replica->n_moves++;
    const struct topology_placement *gpus = &replica->placement;
    return topology_move(gpus->topology, (struct topology_end){gpus, device}, (struct topology_end){gpus, NULL}, bytes,
                         &move->transfer, on_loaded);
}

int replica_load_blocks(struct replica *replica, struct request *request, int32_t hits, int32_t n)
{
    struct store_copy *copy = NULL, *next;
    int code = prefix_store_pin(replica->store, request->prefix->keys + hits, n, &copy);
    for (; copy != NULL && code == 0; copy = next) {
        next = copy->next;
        code = replica_start_load(replica, request, replica->store->tiers[copy->from]->device, store_copy_bytes(copy),
                                  copy);
    }
    replica->counts.loaded_tokens += (int64_t)n * replica->prefixes.block_tokens;
    return code;
}

int replica_drop_loads(struct replica *replica, struct request *request)
{
    int code = 0;
    while (request->loads != NULL && code == 0) {
        struct kv_move *move = request->loads;
        request->loads = move->next_load;
        transfer_cancel(&move->transfer);
        code = move->copy != NULL ? prefix_store_unpin(move->copy, false) : 0;
        pool_give(replica->env->kv_moves, move);
    }
    return code;
}

/* --- Opening, fetching --- */

void replica_open_store(struct replica *replica, sim_ns now)
{
    if (replica->store == NULL || replica->store->n > 0 || replica->prefixes.block_tokens == 0) return;
    fail(replica, prefix_store_open(replica->store, now));
}

int replica_leave_store(struct replica *replica, sim_ns now)
{
    if (replica->chunks != NULL) replica_close_chunks(replica, now);
    return replica->store != NULL ? prefix_store_close(replica->store, now) : 0;
}

static bool prefetches(const struct store_config *config)
{
    for (size_t tier = 1; tier < config->tiers.n; tier++)
        if (store_prefetches(config, tier)) return true;
    return false;
}

bool replica_fetch_prefix(struct replica *replica, struct request *request, sim_ns now)
{
    if (!prefetches(replica->store->config) || replica->store->n == 0 || request->prefix == NULL) return false;
    replica_catch_up(replica, now);
    int32_t usable;
    const int32_t hits = replica_matched_blocks(replica, request, &usable);
    const int32_t n = replica_loadable_blocks(replica, request, hits, usable);
    const int n_fetches = n > 0 ? prefix_store_fetch(replica->store, request->prefix->keys + hits, n, request) : 0;
    fail(replica, n_fetches);
    if (n_fetches <= 0) return false;
    request->n_fetches = n_fetches;
    request_list_push_back(&replica->fetching, request);
    fail(replica, replica_report_queue(replica, &request->view, now, ADMISSION_LOADS));
    return true;
}

/* `waiter` is a request. */
void replica_prefix_fetched(struct replica *replica, struct request *request, sim_ns now)
{
    if (--request->n_fetches > 0) return;
    request_list_remove(&replica->fetching, request);
    request_list_insert(&replica->waiting, request, BATCH_BY_ARRIVAL);
    fail(replica, replica_report_queue(replica, &request->view, now, ADMISSION_LOADED));
    if (replica->state != REPLICA_DECODE || replica->plan.recheck_on_arrival) replica_wake(replica, now, false);
}
