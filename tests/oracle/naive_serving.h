/* A deliberately naive simulator of LLM serving, one token at a time, for comparison. It shares nothing with the
 * engine: its own arrays, whole numbers of nanoseconds, a scan over everything at every step. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_SERVING_H
#define ORRERY_TESTS_ORACLE_NAIVE_SERVING_H

#include <stdbool.h>
#include <stdint.h>

enum { NAIVE_REQUESTS = 256, NAIVE_REPLICAS = 8, NAIVE_STAGES = 4 };

enum naive_kind { NAIVE_VLLM_V0, NAIVE_VLLM_V1, NAIVE_SARATHI, NAIVE_ORCA, NAIVE_FASTER_TRANSFORMER };
enum naive_reservation { NAIVE_MAX, NAIVE_POW2, NAIVE_ORACLE };
enum naive_routing { NAIVE_ROUND_ROBIN, NAIVE_LEAST_OUTSTANDING, NAIVE_LEAST_WAITING, NAIVE_LEAST_TOKENS, NAIVE_GIVEN };

/* Nanoseconds per iteration, token, sequence, token of context, and n^2 + 2 n p of n prompt tokens on top of p. */
struct naive_terms {
    double fixed, token, sequence, context, pair;
};

struct naive_request {
    int64_t arrival_ns;
    int prompt, output;
    int replica; /* with NAIVE_GIVEN */
};

struct naive_scenario {
    enum naive_kind kind;
    enum naive_reservation reservation; /* Orca */
    enum naive_routing routing;
    bool swap, padded; /* vLLM v0 */
    bool forgetful;    /* Sarathi in Vidur: a prompt preempted halfway keeps this part; the rest is generated */
    int replicas, stages, block_tokens, max_sequences, max_context;
    int max_tokens; /* of an iteration's prompts (vLLM v0), an iteration (vLLM v1, Sarathi), a sequence (others) */
    int64_t blocks, watermark_blocks;
    int64_t copy_block_ns; /* swap: between GPU and host */
    int prefill_replicas;  /* the first replicas; the others decode; 0: all do both */
    double kv_token_ns;    /* to move the KV of a token from one to the other */
    bool shared_link;      /* by all moves; otherwise each is alone */
    bool push;             /* KV sets out when the prompt is processed; else when the other takes the request */
    struct naive_terms prefill, decode, decode_large; /* the last from large_from sequences on; 0: never */
    int large_from;
    int n;
    struct naive_request requests[NAIVE_REQUESTS]; /* by arrival */
};

struct naive_outcome {
    int64_t first_ns, end_ns; /* -1: never */
    int replica, preemptions;
    bool rejected;
};

/* Simulates until everything has ended. outcomes: [n]. Returns the number of batches, or -1 when nothing can go on. */
int64_t naive_serve(const struct naive_scenario *scenario, struct naive_outcome *outcomes);

#endif
