#include "tests/oracle/naive_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PCIE_IN, PCIE_OUT = PCIE_IN + STORE_REPLICAS, DRIVE_READ = PCIE_OUT + STORE_REPLICAS, DRIVE_WRITE, LINKS };
enum { READ_LATENCY_NS = 45000, WRITE_LATENCY_NS = 17000 }; /* of samsung-980-pro */

double naive_store_item_bytes(const struct naive_store *naive)
{
    return (double)naive->s->item * NAIVE_TOKEN_BYTES;
}

/* --- Caches --- */

static void order_remove(struct cached *cached, int key)
{
    int at = 0;
    while (cached->order[at] != key) at++;
    cached->n_order--;
    for (; at < cached->n_order; at++) cached->order[at] = cached->order[at + 1];
}

static void hold(struct cached *cached, int key)
{
    if (cached->holds[key]++ == 0) order_remove(cached, key);
}

static void release(struct cached *cached, int key)
{
    if (--cached->holds[key] == 0) cached->order[cached->n_order++] = key;
}

/* Adds a block, held once. */
static void put(struct cached *cached, int key)
{
    cached->is_here[key] = true;
    cached->holds[key] = 1;
    cached->size++;
}

static int take_oldest(struct cached *cached)
{
    const int key = cached->order[0];
    order_remove(cached, key);
    cached->is_here[key] = false;
    cached->size--;
    return key;
}

static struct cached *tier_of(struct naive_store *naive, int replica, int place)
{
    return &naive->tiers[place][naive->s->shared[place] ? 0 : replica];
}

/* --- Copies over links --- */

static int links_of(const struct copy *copy, int *links)
{
    int n = 0;
    if (copy->from == 1) links[n++] = DRIVE_READ;
    if (copy->to < 0) links[n++] = PCIE_IN + copy->replica;
    if (copy->from < 0) links[n++] = PCIE_OUT + copy->replica;
    if (copy->to == 1) links[n++] = DRIVE_WRITE;
    return n;
}

static bool uses(const struct copy *copy, int link)
{
    int links[4];
    const int n = links_of(copy, links);
    for (int i = 0; i < n; i++)
        if (links[i] == link) return true;
    return false;
}

/* Max-min fair rates of what moves: the link with the smallest share for its copies fixes theirs, and so on. */
static void share_links(const struct naive_store *naive, double *rates)
{
    double left[LINKS];
    bool fixed[STORE_COPIES] = {false};
    for (int r = 0; r < STORE_REPLICAS; r++) left[PCIE_IN + r] = left[PCIE_OUT + r] = naive->s->pcie;
    left[DRIVE_READ] = 7.0 * naive->s->drives;
    left[DRIVE_WRITE] = 5.1 * naive->s->drives;
    for (;;) {
        int narrowest = -1;
        double least = INFINITY;
        for (int link = 0; link < LINKS; link++) {
            int n = 0;
            for (int i = 0; i < naive->n_copies; i++)
                n += naive->copies[i].moves && !fixed[i] && uses(&naive->copies[i], link);
            if (n > 0 && left[link] / n < least) least = left[link] / n, narrowest = link;
        }
        if (narrowest < 0) return;
        for (int i = 0; i < naive->n_copies; i++) {
            int links[4];
            if (!naive->copies[i].moves || fixed[i] || !uses(&naive->copies[i], narrowest)) continue;
            const int n = links_of(&naive->copies[i], links);
            for (int k = 0; k < n; k++) left[links[k]] -= least;
            rates[i] = least;
            fixed[i] = true;
        }
    }
}

/* After all events of a moment. */
static void follow_links(struct naive_store *naive)
{
    static double rates[STORE_COPIES];
    for (int i = 0; i < naive->n_copies; i++) {
        struct copy *copy = &naive->copies[i];
        if (copy->is_over || copy->moves || copy->begin_ns > naive->now_ns) continue;
        copy->moves = true;
        copy->anchor_ns = naive->now_ns;
        copy->rate = 0;
    }
    share_links(naive, rates);
    for (int i = 0; i < naive->n_copies; i++) {
        struct copy *copy = &naive->copies[i];
        if (!copy->moves || fabs(copy->rate - rates[i]) < 1e-12 * rates[i]) continue;
        copy->left -= copy->rate * (double)(naive->now_ns - copy->anchor_ns);
        copy->anchor_ns = naive->now_ns;
        copy->rate = rates[i];
        copy->end_ns = naive->now_ns + llrint(copy->left / copy->rate);
    }
}

static struct copy *new_copy(struct naive_store *naive, int replica, int from, int to)
{
    if (naive->n_copies == STORE_COPIES) abort();
    struct copy *copy = &naive->copies[naive->n_copies++];
    copy->replica = replica;
    copy->from = from;
    copy->to = to;
    copy->n = 0;
    copy->waiter = -1;
    return copy;
}

static void begin_copy(struct naive_store *naive, struct copy *copy)
{
    copy->left = copy->n * naive_store_item_bytes(naive);
    copy->begin_ns = naive->now_ns + (copy->from == 1 ? READ_LATENCY_NS : copy->to == 1 ? WRITE_LATENCY_NS : 0);
}

/* --- Writing down --- */

static void want(struct naive_store *naive, int replica, int place, int key)
{
    struct server *server = &naive->servers[replica];
    server->wants[place][server->n_wants[place]++] = key;
}

/* Returns whether the block has room. */
static bool make_room(struct naive_store *naive, int replica, int place)
{
    struct cached *tier = tier_of(naive, replica, place);
    if (tier->size < tier->capacity) return true;
    if (tier->n_order == 0) return false;
    const int victim = take_oldest(tier);
    naive->evicted[place]++;
    if (place == 0 && !naive->s->through[1]) want(naive, replica, 1, victim);
    return true;
}

void store_flush(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    for (int place = 0; place < STORE_PLACES; place++) {
        const bool back = !naive->s->through[place];
        const int n = server->n_wants[place];
        struct cached *tier = tier_of(naive, replica, place);
        if (n == 0) continue;
        const bool from_gpu = place == 0 || (naive->s->through[1] && !naive->s->through[0]);
        struct copy *copy = new_copy(naive, replica, from_gpu ? -1 : 0, place);
        server->n_wants[place] = 0;
        for (int i = 0; i < n; i++) {
            const int key = server->wants[place][back ? n - 1 - i : i];
            if (tier->is_here[key]) {
                if (back && tier->holds[key] == 0) hold(tier, key), release(tier, key);
                continue;
            }
            if (!make_room(naive, replica, place)) continue;
            put(tier, key);
            tier->arrives[key] = true;
            copy->keys[copy->n++] = key;
        }
        if (copy->n > 0)
            begin_copy(naive, copy);
        else
            naive->n_copies--;
    }
}

/* Host memory gets what the drives have loaded, its first block first. */
static void promote(struct naive_store *naive, const struct copy *copy)
{
    for (int i = 0; i < copy->n; i++)
        want(naive, copy->replica, 0, copy->keys[naive->s->through[0] ? i : copy->n - 1 - i]);
    naive->promoted += copy->n;
    store_flush(naive, copy->replica);
}

static void end_copy(struct naive_store *naive, struct copy *copy)
{
    struct server *server = &naive->servers[copy->replica];
    copy->is_over = true;
    copy->moves = false;
    struct cached *tier = tier_of(naive, copy->replica, copy->to < 0 ? copy->from : copy->to);
    for (int i = copy->n - 1; i >= 0; i--) {
        tier->arrives[copy->keys[i]] = false;
        release(tier, copy->keys[i]);
    }
    if (copy->to < 0) {
        struct store_request *waiter = copy->waiter >= 0 ? &naive->s->requests[copy->waiter] : NULL;
        naive->loaded[copy->from] += copy->n;
        if (copy->from == 1 && naive->s->promotes) promote(naive, copy);
        if (waiter == NULL)
            server->n_loads--;
        else if (--waiter->n_loads == 0)
            store_v1_loaded(naive, copy->replica, waiter);
        return;
    }
    naive->written[copy->to] += copy->n;
    if (copy->to > 0 || !naive->s->through[0] || !naive->s->through[1]) return;
    for (int i = 0; i < copy->n; i++) want(naive, copy->replica, 1, copy->keys[i]);
    store_flush(naive, copy->replica);
}

/* --- GPU memory --- */

int store_blocks_of(const struct naive_store *naive, int tokens)
{
    return (tokens + naive->s->kv_block - 1) / naive->s->kv_block;
}

void store_take_blocks(struct naive_store *naive, int replica, int n)
{
    struct server *server = &naive->servers[replica];
    const int per_item = naive->s->item / naive->s->kv_block;
    server->free_blocks -= n;
    if (server->free_blocks < 0) abort();
    while (server->gpu.n_order * per_item > server->free_blocks) {
        const int key = take_oldest(&server->gpu);
        if (!naive->s->through[0]) want(naive, replica, 0, key);
    }
    store_flush(naive, replica);
}

/* The highest tier that has the block, or STORE_PLACES. */
static int place_of(struct naive_store *naive, int replica, int key)
{
    int place = 0;
    for (; place < STORE_PLACES; place++) {
        const struct cached *tier = tier_of(naive, replica, place);
        if (tier->is_here[key] && !tier->arrives[key]) break;
    }
    return place;
}

int store_count_stored(struct naive_store *naive, int replica, const struct store_request *request, int first,
                       int usable)
{
    int i = first;
    while (i < usable && place_of(naive, replica, request->keys[i]) < STORE_PLACES) i++;
    return i - first;
}

static void share(struct naive_store *naive, int replica, struct store_request *request, int i)
{
    struct server *server = &naive->servers[replica];
    server->free_blocks -= server->gpu.holds[request->keys[i]] == 0 ? naive->s->item / naive->s->kv_block : 0;
    hold(&server->gpu, request->keys[i]);
    request->shares[i] = true;
}

void store_find_coming(struct naive_store *naive, int replica, struct store_request *request)
{
    for (int i = 0; i < request->n_published; i++) {
        if (request->shares[i]) continue;
        if (!naive->servers[replica].gpu.is_here[request->keys[i]]) abort();
        share(naive, replica, request, i);
    }
}

void store_find_prefix(struct naive_store *naive, int replica, struct store_request *request, int usable, bool loads,
                       const bool *coming)
{
    struct server *server = &naive->servers[replica];
    struct copy *from[STORE_PLACES] = {NULL};
    int i = 0;
    for (; i < usable; i++) {
        const int key = request->keys[i];
        if (server->gpu.is_here[key])
            share(naive, replica, request, i);
        else if (coming == NULL || !coming[key])
            break;
        else
            naive->found_coming++;
    }
    if (!request->was_admitted) request->hits = i;
    request->n_published = i;
    for (; loads && i < usable; i++) {
        const int key = request->keys[i], place = place_of(naive, replica, key);
        if (place == STORE_PLACES) break;
        if (from[place] == NULL) from[place] = new_copy(naive, replica, place, -1);
        hold(tier_of(naive, replica, place), key);
        from[place]->keys[from[place]->n++] = key;
    }
    request->done = i * naive->s->item;
    for (int place = 0; place < STORE_PLACES; place++) {
        if (from[place] == NULL) continue;
        begin_copy(naive, from[place]);
        if (request->is_parked) {
            from[place]->waiter = (int)(request - naive->s->requests);
            request->n_loads++;
        } else {
            server->n_loads++;
        }
    }
}

static void tell_tiers(struct naive_store *naive, int replica, int key)
{
    for (int place = 0; place < STORE_PLACES; place++)
        if (naive->s->through[place] && (place == 0 || !naive->s->through[0])) want(naive, replica, place, key);
}

void store_publish(struct naive_store *naive, int replica, struct store_request *request, int processed, bool early)
{
    struct server *server = &naive->servers[replica];
    const int per_item = naive->s->item / naive->s->kv_block;
    for (int i = 0; i < request->n_published && !early; i++) {
        if (!request->shares[i] || !server->gpu.is_early[request->keys[i]]) continue;
        server->gpu.is_early[request->keys[i]] = false;
        tell_tiers(naive, replica, request->keys[i]);
    }
    for (; request->n_published < processed / naive->s->item; request->n_published++) {
        const int i = request->n_published;
        const int key = request->keys[i];
        if (server->gpu.is_here[key]) continue;
        put(&server->gpu, key);
        request->shares[i] = true;
        request->own_blocks -= per_item;
        server->gpu.is_early[key] = early;
        if (!early) tell_tiers(naive, replica, key);
    }
}

/* The turns that wait for this answer alone are sent after their pause, at least 1 ns later. */
static void send_followers(struct naive_store *naive, int ended)
{
    for (int id = 0; id < naive->s->n; id++) {
        struct store_request *request = &naive->s->requests[id];
        if (request->parent != ended && naive->s->requests[ended].join != id) continue;
        if (--request->needed > 0) continue;
        request->arrival_ns = naive->now_ns + (request->wait_ns > 0 ? request->wait_ns : 1);
        request->order = ++naive->sent;
    }
}

void store_leave(struct naive_store *naive, int replica, int id)
{
    struct store_request *request = &naive->s->requests[id];
    request->end_ns = naive->now_ns;
    if (request->covers_output) store_publish(naive, replica, request, request->prompt + request->made - 1, false);
    store_give_blocks(naive, replica, request);
    send_followers(naive, id);
}

void store_give_blocks(struct naive_store *naive, int replica, struct store_request *request)
{
    struct server *server = &naive->servers[replica];
    const int per_item = naive->s->item / naive->s->kv_block;
    for (int i = request->n_published - 1; i >= 0; i--) {
        if (!request->shares[i]) continue;
        release(&server->gpu, request->keys[i]);
        server->free_blocks += server->gpu.holds[request->keys[i]] == 0 ? per_item : 0;
        request->shares[i] = false;
    }
    server->free_blocks += request->own_blocks;
    request->own_blocks = request->n_published = 0;
}

/* --- Batches --- */

double store_request_ns(const struct naive_terms *terms, double n, double before, bool is_prompt)
{
    return terms->sequence + terms->token * n + terms->context * before +
           (is_prompt ? terms->pair * (n * n + 2 * n * before) : 0);
}

/* Prompts first, as many as there is room for; otherwise everybody decodes. */
static void compose(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    struct store_request *requests = naive->s->requests;
    server->n_batch = 0;
    while (server->n_waiting > 0 && server->n_running + server->n_batch < naive->s->max_sequences) {
        server->batch[server->n_batch++] = server->waiting[0];
        server->n_waiting--;
        memmove(server->waiting, server->waiting + 1, (size_t)server->n_waiting * sizeof(int));
    }
    server->is_prefill = server->n_batch > 0;
    if (!server->is_prefill && server->n_running == 0) return;
    server->is_busy = true;
    server->end_ns = -1;
    if (!server->is_prefill) return;
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &requests[server->batch[i]];
        store_find_prefix(naive, replica, request, (request->prompt - 1) / naive->s->item, true, NULL);
        request->made = -request->done;
    }
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &requests[server->batch[i]];
        const int per_item = naive->s->item / naive->s->kv_block;
        request->own_blocks = store_blocks_of(naive, request->prompt) - request->hits * per_item;
        store_take_blocks(naive, replica, request->own_blocks);
    }
}

/* The batch starts when its loads have ended. */
static void start(struct naive_store *naive, struct server *server)
{
    const struct store_request *requests = naive->s->requests;
    double ns = server->is_prefill ? naive->s->prefill.fixed : naive->s->decode.fixed;
    for (int i = 0; i < server->n_batch; i++) {
        const struct store_request *request = &requests[server->batch[i]];
        ns += store_request_ns(&naive->s->prefill, request->prompt + request->made, -request->made, true);
    }
    for (int i = 0; !server->is_prefill && i < server->n_running; i++) {
        const struct store_request *request = &requests[server->running[i]];
        ns += store_request_ns(&naive->s->decode, 1, request->prompt + request->made, false);
    }
    server->end_ns = naive->now_ns + llrint(ns);
}

static void end_prefill(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    for (int i = 0; i < server->n_batch; i++) {
        struct store_request *request = &naive->s->requests[server->batch[i]];
        store_publish(naive, replica, request, request->prompt, false);
        request->first_ns = naive->now_ns;
        request->made = 1;
        if (request->output == 1)
            store_leave(naive, replica, server->batch[i]);
        else
            server->running[server->n_running++] = server->batch[i];
    }
    store_flush(naive, replica);
}

static int by_id(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void sort_ids(int *ids, int n)
{
    qsort(ids, (size_t)n, sizeof *ids, by_id);
}

static void end_decode(struct naive_store *naive, int replica)
{
    struct server *server = &naive->servers[replica];
    int n_blocks = 0, n = 0, n_over = 0, over[STORE_REQUESTS];
    for (int i = 0; i < server->n_running; i++) {
        struct store_request *request = &naive->s->requests[server->running[i]];
        const int context = request->prompt + request->made,
                  grows = store_blocks_of(naive, context) - store_blocks_of(naive, context - 1);
        request->own_blocks += grows;
        n_blocks += grows;
        request->made++;
    }
    store_take_blocks(naive, replica, n_blocks);
    for (int i = 0; i < server->n_running; i++) {
        const int id = server->running[i];
        if (naive->s->requests[id].made == naive->s->requests[id].output)
            over[n_over++] = id;
        else
            server->running[n++] = id;
    }
    server->n_running = n;
    sort_ids(over, n_over);
    for (int i = 0; i < n_over; i++) store_leave(naive, replica, over[i]);
    store_flush(naive, replica);
}

/* --- Time --- */

/* Of the requests that are sent and have not arrived the earliest, the first sent among equals; -1: none. */
static int next_arrival(const struct naive_store *naive)
{
    int best = -1;
    for (int id = 0; id < naive->s->n; id++) {
        const struct store_request *one = &naive->s->requests[id], *other = &naive->s->requests[best < 0 ? id : best];
        if (one->arrived || one->arrival_ns < 0) continue;
        if (best < 0 || one->arrival_ns < other->arrival_ns ||
            (one->arrival_ns == other->arrival_ns && one->order < other->order))
            best = id;
    }
    return best;
}

static void arrive(struct naive_store *naive, int id)
{
    const int replica = naive->n_arrived++ % naive->s->replicas;
    struct server *server = &naive->servers[replica];
    naive->s->requests[id].arrived = true;
    naive->s->requests[id].replica = replica;
    naive->s->requests[id].todo = naive->s->requests[id].prompt;
    server->waiting[server->n_waiting++] = id;
}

static int64_t next_ns(const struct naive_store *naive)
{
    const int arrival = next_arrival(naive);
    int64_t next = arrival >= 0 ? naive->s->requests[arrival].arrival_ns : INT64_MAX;
    for (int i = 0; i < naive->n_copies; i++) {
        const struct copy *copy = &naive->copies[i];
        const int64_t at = copy->moves ? copy->end_ns : copy->begin_ns;
        if (!copy->is_over && at < next) next = at;
    }
    for (int r = 0; r < naive->s->replicas; r++)
        if (naive->servers[r].end_ns > naive->now_ns && naive->servers[r].end_ns < next)
            next = naive->servers[r].end_ns;
    return next < INT64_MAX ? next : -1;
}

static void step(struct naive_store *naive)
{
    for (int id = next_arrival(naive); id >= 0 && naive->s->requests[id].arrival_ns == naive->now_ns;
         id = next_arrival(naive))
        arrive(naive, id);
    for (int i = 0, n = naive->n_copies; i < n; i++) /* in order of their starts */
        if (naive->copies[i].moves && naive->copies[i].end_ns == naive->now_ns) end_copy(naive, &naive->copies[i]);
    for (int r = 0; r < naive->s->replicas; r++) {
        struct server *server = &naive->servers[r];
        if (server->is_busy && server->end_ns == naive->now_ns) {
            server->is_busy = false;
            if (naive->s->is_v1)
                store_v1_end(naive, r);
            else if (server->is_prefill)
                end_prefill(naive, r);
            else
                end_decode(naive, r);
        }
        if (!server->is_busy) (naive->s->is_v1 ? store_v1_compose : compose)(naive, r);
        if (server->is_busy && server->end_ns < 0 && server->n_loads == 0)
            (naive->s->is_v1 ? store_v1_start : start)(naive, server);
    }
    follow_links(naive);
}

void naive_store_simulate(struct naive_store *naive, struct store_scenario *s)
{
    memset(naive, 0, sizeof *naive);
    naive->s = s;
    naive->now_ns = -1;
    for (int r = 0; r < s->replicas; r++) {
        naive->servers[r].free_blocks = s->kv_blocks;
        naive->servers[r].end_ns = -1;
        for (int place = 0; place < STORE_PLACES; place++) naive->tiers[place][r].capacity = s->capacity[place];
    }
    while ((naive->now_ns = next_ns(naive)) >= 0) step(naive);
}
