/* The life of one request or job, gathered from the rows of a run: what happened to it when, and what its replica did. */
#ifndef ORRERY_CLI_EXPLAIN_STORY_H
#define ORRERY_CLI_EXPLAIN_STORY_H

#include "sim/core/mem.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whom it is about. */
struct story_subject {
    bool is_job;
    int64_t id;
    const char *service; /* of a request; empty for a job */
};

struct story_event {
    double t_s;
    size_t number; /* in the order in which they came */
    const char *what, *text; /* "admit", and the reason or a description */
};

/* What a replica did in some stretch of time. */
struct story_work {
    int64_t prefill_iterations, decode_iterations, prefill_tokens;
};

struct story {
    struct arena *arena;
    struct story_subject subject;
    struct request_row request; /* its service is NULL until it has come */
    struct job_row job;         /* its status is NULL until it has come */
    struct story_event *events;
    size_t n_events, capacity;
    bool in_batch;         /* as far as rows have come */
    int64_t replica;       /* where it was routed; -1: nowhere yet */
    double last_token_s;   /* NAN: none yet, or lost its place */
    double gap_s, gap_from_s; /* the longest wait for a token, and when it began */
    int64_t decode_iterations;
    double decode_s;
    struct story_work meanwhile; /* of the replica, while the request waits */
};

/* Texts go to the arena. */
void story_init(struct story *story, const struct story_subject *subject, struct arena *arena);
void story_fini(struct story *story);

/* Where the rows of the run go. Functions return 0 or SIM_E_NOMEM. */
struct sink story_sink(struct story *story);

#endif
