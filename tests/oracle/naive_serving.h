/* A deliberately naive simulator of LLM serving, one token at a time, for comparison. It shares nothing with the
 * engine: its own arrays, whole numbers of nanoseconds, a scan over everything at every step. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_SERVING_H
#define ORRERY_TESTS_ORACLE_NAIVE_SERVING_H

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_REQUESTS = 256, NAIVE_REPLICAS = 8, NAIVE_STAGES = 4 };
enum { NAIVE_PRIORITIES = 3, NAIVE_WIDTH = 8 };
enum { NAIVE_NODES = 32, NAIVE_NODE_GPUS = 8, NAIVE_CAUSES = 2, NAIVE_GPUS = NAIVE_NODES * NAIVE_NODE_GPUS };

enum naive_kind { NAIVE_VLLM_V0, NAIVE_VLLM_V1, NAIVE_SARATHI, NAIVE_ORCA, NAIVE_FASTER_TRANSFORMER };
enum naive_reservation { NAIVE_MAX, NAIVE_POW2, NAIVE_ORACLE };
enum naive_routing { NAIVE_ROUND_ROBIN, NAIVE_LEAST_OUTSTANDING, NAIVE_LEAST_WAITING, NAIVE_LEAST_TOKENS, NAIVE_GIVEN };

/* Nanoseconds per iteration, token, sequence, token of context, and n^2 + 2 n p of n prompt tokens on top of p. */
struct naive_terms {
    double fixed, token, sequence, context, pair;
};

/* Nodes that fail. A component fails with nodes_each nodes, or with its GPU's node, and works again when repaired. */
struct naive_cause {
    bool of_gpus;
    int nodes_each;
    int64_t repair_ns, mean_ns; /* mean: of lives, for life_ns */
};

/* How many replicas a pool has: `start` at first, then by a target of unfinished requests for each, decided at every
 * multiple of the interval. max 0: the number is constant. */
struct naive_scaling {
    int start, min, max, target;
    int64_t interval_ns, delay_ns;
};

/* What happened to replicas of pools that scale. Flows that ended so close to half a nanosecond that Orrery, which
 * rounds rates to whole grains (sim/world/links/link_state.h), may round the time of their end the other way. */
struct naive_counts {
    int starts, drains, halfway;
};

/* Where replicas stand: nodes of GPUs, a network adapter per GPU or node, and what fails. Rates are bytes per
 * nanosecond and direction. */
struct naive_site {
    int nodes, node_gpus;
    int gpus, decode_gpus;     /* of a stage; the second: where replicas only decode */
    int groups, decode_groups; /* of data parallelism, of which given costs know nothing */
    double port, adapter, fabric, nvlink; /* PCIe of a GPU; fabric 0: does not limit */
    bool adapter_per_node;
    int64_t latency_ns, token_bytes, restart_ns;
    int n_causes;
    struct naive_cause causes[NAIVE_CAUSES];
    uint64_t seed;
    struct naive_scaling scaling[2]; /* of the pool that decodes only: the second; then `replicas` are the most */
    struct naive_counts *counts;     /* NULL: nobody asks */
    int64_t (*life_ns)(const struct naive_site *site, int cause, int component, int n); /* the n-th life, by chance */
};

/* A fixed number of drafts, made by another LLM with costs of its own; or a tree of them, made by a layer. */
struct naive_speculation {
    int drafts, n_rates; /* drafts: in a row; of a tree the levels */
    int branches, tokens; /* of a tree: candidates behind a node, nodes verified; tokens 0: a chain */
    bool is_likeliest;    /* the tree; else EAGLE-2's, which extends `branches` nodes of each level */
    int passes, width;    /* that make the tree: nodes in a pass */
    double rank_power; /* of the candidates of a tree; rates are those of the best one */
    double rates[3]; /* of right drafts at depth 1, 2 ...; the last one holds for the others */
    int64_t pass_ns; /* added to each pass of the draft LLM */
    int64_t sequence_ns; /* of each sequence with drafts */
    struct naive_terms prefill, decode; /* of the draft LLM */
    /* Right drafts in a row behind an output position, at most so many: by chance. */
    int (*right)(const struct naive_speculation *speculation, bool is_tree, int id, int position, int most);
};

/* Requests that decode as several sequences. */
struct naive_sampling {
    int width; /* at most NAIVE_WIDTH; times the requests at most NAIVE_REQUESTS */
    bool beams;
    double sigma, resampled;
    /* By chance: the output of a sequence, and the parents of beams behind an output position. */
    int (*length)(const struct naive_sampling *sampling, int id, int slot, int output, int most);
    void (*parents)(const struct naive_sampling *sampling, int id, int position, int *parents);
};

struct naive_request {
    int64_t arrival_ns;
    int prompt, output;
    int replica;  /* with NAIVE_GIVEN */
    int priority; /* with by_priority: of 0 .. NAIVE_PRIORITIES - 1, lower ones first */
};

struct naive_scenario {
    enum naive_kind kind;
    enum naive_reservation reservation; /* Orca */
    enum naive_routing routing;
    bool swap, padded; /* vLLM v0 */
    bool by_priority;  /* vLLM v1 */
    bool forgetful;    /* Sarathi in Vidur: a prompt preempted halfway keeps this part; the rest is generated */
    int replicas, stages, block_tokens, max_sequences, max_context;
    int max_tokens; /* of an iteration's prompts (vLLM v0), an iteration (vLLM v1, Sarathi), a sequence (others) */
    int64_t blocks, watermark_blocks;
    int64_t copy_block_ns; /* swap: between GPU and host */
    int prefill_replicas;  /* the first replicas; the others decode; 0: all do both */
    double kv_token_ns;    /* to move the KV of a token from one to the other */
    bool shared_link;      /* by all moves; otherwise each is alone */
    int decode_stages;     /* of replicas that only decode; 0: as the others. A stage then takes stages times as long,
                            * that of the others decode_stages times, so that all stages together are equally fast */
    const struct naive_speculation *speculation; /* NULL: one token per iteration */
    const struct naive_sampling *sampling; /* NULL: every request is one sequence */
    const struct naive_site *site; /* NULL: moves are as above, and nothing fails */
    int window_tokens, window_share; /* vLLM v1: KV behind the window is freed in layers that have so many times the KV
                                      * of the others; 0: all layers see all tokens */
    bool push;             /* KV sets out when the prompt is processed; else when the other takes the request */
    struct naive_terms prefill, decode, decode_large; /* the last from large_from sequences on; 0: never */
    int large_from;
    int n;
    struct naive_request requests[NAIVE_REQUESTS]; /* by arrival */
};

struct naive_outcome {
    int64_t first_ns, end_ns; /* -1: never */
    int64_t end_number;       /* among all ends, in the order in which they happen */
    int replica, preemptions, restarts;
    int cut_prompts; /* of the preemptions: amid a prompt, of which a part was processed */
    int64_t token_ns, max_gap_ns; /* of its latest token; largest time between two tokens, -1: it has fewer */
    int lost_moves; /* restarts of requests whose KV was to move to the replica that decodes */
    int right; /* drafts */
    bool rejected;
    int64_t rejected_ns;
};

/* Simulates until everything has ended. outcomes: [n]. Returns the number of batches, or -1 when nothing can go on. */
int64_t naive_serve(const struct naive_scenario *scenario, struct naive_outcome *outcomes);

#endif
