/* A naive simulator of replicas with prefix stores, one token at a time, for comparison. It shares nothing with the
 * engine: its own arrays, scans over everything. Replicas batch as vLLM v0 does: as many waiting prompts as there is
 * room for, otherwise a token for everybody; nothing is preempted. Or as vLLM v1 does (naive_store_v1.c), where
 * requests may wait for their loads alone. Copies share PCIe and drives by max-min fairness. Requests have arrival
 * times, or are the turns of sessions, which follow each other's answers. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_STORE_H
#define ORRERY_TESTS_ORACLE_NAIVE_STORE_H

#include "tests/oracle/naive_cases.h"

#include <stdbool.h>
#include <stdint.h>

enum { STORE_REQUESTS = 60, STORE_KEYS = 2000, STORE_REPLICAS = 2, STORE_PLACES = 2, STORE_COPIES = 4000 };
enum { STORE_BLOCKS = 128 }; /* of a request */

struct store_request {
    int64_t arrival_ns, first_ns, end_ns; /* arrival -1: not sent yet */
    int prompt, output, n_keys, keys[STORE_BLOCKS];
    bool covers_output; /* keys: of all its full blocks, not of the prompt's alone */
    int replica, hits;
    /* of a turn: requests, or -1 */
    int parent, join;
    int needed; /* answers that it waits for */
    int64_t wait_ns, order; /* order: in which it was sent */
    bool arrived;
    /* while it is served */
    int made; /* output tokens; negative before: prompt tokens that need no processing */
    int own_blocks, n_published;
    bool shares[STORE_BLOCKS]; /* holds the item of GPU memory */
    /* of vLLM v1 */
    int todo, done; /* prompt to process, after a preemption with what had been generated; tokens with KV */
    int n_loads, preemptions; /* n_loads: that it waits for alone */
    bool is_parked, was_admitted; /* parked: in the queue with the blocks of its prompt */
};

struct store_scenario {
    int n, replicas, max_sequences, kv_block, item; /* tokens of a KV block, of a prefix block */
    int kv_blocks, drives, capacity[STORE_PLACES];
    bool through[STORE_PLACES], shared[STORE_PLACES];
    bool promotes; /* what the drives have loaded, into host memory */
    bool is_v1, alone, full_prompt; /* vLLM v1; requests wait for loads alone; admitted if the whole prompt fits */
    int budget;                     /* of tokens in an iteration (vLLM v1) */
    int long_prompt;                /* most tokens of one prompt in an iteration (vLLM v1); 0: no limit */
    double pcie; /* bytes per ns */
    struct naive_terms prefill, decode;
    struct store_request requests[STORE_REQUESTS];
};

/* What is cached at a place, and in which order the unheld blocks were used. */
struct cached {
    int capacity, size, n_order;
    int order[STORE_KEYS], holds[STORE_KEYS];
    bool is_here[STORE_KEYS], arrives[STORE_KEYS];
    bool is_early[STORE_KEYS]; /* in GPU memory: to be computed by the iteration under way (vLLM v1) */
};

/* Blocks on their way. */
struct copy {
    bool is_over, moves;
    int replica, from, to; /* -1: GPU memory */
    int waiter;            /* request that waits for it alone, or -1 */
    int n, keys[STORE_KEYS];
    int64_t begin_ns, anchor_ns, end_ns;
    double left, rate; /* bytes at the anchor; bytes per ns */
};

struct server {
    struct cached gpu;
    int free_blocks; /* unheld cached ones included */
    int n_waiting, n_running, n_batch;
    int waiting[STORE_REQUESTS], running[STORE_REQUESTS], batch[STORE_REQUESTS];
    int tokens[STORE_REQUESTS]; /* of the batch (vLLM v1): of a prompt; 0: one that decodes */
    int n_loads; /* that the batch waits for */
    bool is_busy, is_prefill;
    int64_t end_ns;
    int n_wants[STORE_PLACES], wants[STORE_PLACES][STORE_KEYS];
};

struct naive_store {
    struct store_scenario *s;
    int64_t now_ns, sent;
    int n_arrived, n_copies;
    struct server servers[STORE_REPLICAS];
    struct cached tiers[STORE_PLACES][STORE_REPLICAS];
    struct copy copies[STORE_COPIES];
    int64_t parked, found_coming; /* the latter: hits that an earlier prompt of the iteration computes (vLLM v1) */
    int64_t loaded[STORE_PLACES], written[STORE_PLACES], evicted[STORE_PLACES], promoted;
};

/* Serves the scenario; its requests get their times and hits. */
void naive_store_simulate(struct naive_store *naive, struct store_scenario *s);

double naive_store_item_bytes(const struct naive_store *naive);

/* --- The inside, for naive_store_v1.c --- */

int store_blocks_of(const struct naive_store *naive, int tokens);
void store_take_blocks(struct naive_store *naive, int replica, int n);

/* Hits of the request's first `usable` blocks, then loads: of the batch, or of the request if it waits alone.
 * `coming`: blocks that it will share once others have cached them; NULL: none. */
void store_find_prefix(struct naive_store *naive, int replica, struct store_request *request, int usable, bool loads,
                       const bool *coming);
/* They have. */
void store_find_coming(struct naive_store *naive, int replica, struct store_request *request);
int store_count_stored(struct naive_store *naive, int replica, const struct store_request *request, int first,
                       int usable);

/* Caches the request's blocks of its first `processed` tokens; `early`: which the iteration is about to compute. Tiers
 * below get what has been computed. */
void store_publish(struct naive_store *naive, int replica, struct store_request *request, int processed, bool early);
void store_give_blocks(struct naive_store *naive, int replica, struct store_request *request);
void store_flush(struct naive_store *naive, int replica);
void store_leave(struct naive_store *naive, int replica, int id);
double store_request_ns(const struct naive_terms *terms, double n, double before, bool is_prompt);

void store_v1_compose(struct naive_store *naive, int replica);
void store_v1_start(struct naive_store *naive, struct server *server);
void store_v1_end(struct naive_store *naive, int replica);
void store_v1_loaded(struct naive_store *naive, int replica, struct store_request *request);

#endif
