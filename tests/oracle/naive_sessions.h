/* A naive simulator of sessions, which follows every token: contexts are lists of tokens, a block is cached under all
 * tokens up to its end, a sequence has a list of blocks, and all are scanned at every step. One or two replicas with
 * vLLM v1's batcher, prefix caches with LRU eviction, sessions with branches. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_SESSIONS_H
#define ORRERY_TESTS_ORACLE_NAIVE_SESSIONS_H

#include "tests/oracle/naive_serving.h"

#include <stdbool.h>
#include <stdint.h>

enum { SESSIONS = 8, TURNS = 10, REQUESTS = SESSIONS * TURNS, TOKENS = 1400, BLOCKS = 900, REPLICAS = 2 };

struct naive_turn {
    int input, output, parent, join; /* numbers in the session; -1: none */
    int64_t wait_ns;
};

struct naive_session {
    int64_t arrival_ns;
    int system_tokens, n, first; /* number of its first request */
    struct naive_turn turns[TURNS];
};

struct naive_sessions {
    int n_sessions, n_requests, replicas, block_tokens, blocks, max_sequences, budget;
    struct naive_terms prefill, decode;
    struct naive_session sessions[SESSIONS];
};

struct naive_sequence {
    int session, turn, prompt, output, n_tokens; /* with the whole output */
    int64_t tokens[TOKENS];
    int64_t arrival_ns, first_ns, end_ns, order; /* arrival -1: not sent; order: in which it was sent */
    int needed;                                  /* answers that it waits for */
    bool arrived;
    int replica, preemptions, cached; /* cached -1: never admitted */
    int todo, processed, generated;   /* processed: with the newest token once it decodes */
    int published, n_blocks, blocks[BLOCKS];
    int64_t admission;
};

/* Serves everything. sequences: [REQUESTS], what becomes of each request. */
void naive_sessions_serve(const struct naive_sessions *scenario, struct naive_sequence *sequences);

#endif
