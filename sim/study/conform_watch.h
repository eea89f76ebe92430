/* The rows of a conformance run, checked and kept for comparison: a hash of all results, every decision, and the first
 * inconsistent row. */
#ifndef ORRERY_STUDY_CONFORM_WATCH_H
#define ORRERY_STUDY_CONFORM_WATCH_H

#include "sim/store/record.h"
#include "sim/study/conform_cases.h"
#include "sim/world/rows/tee.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watched_decision {
    double t_s;
    int64_t subject;
    uint64_t mark; /* hash of the whole decision */
    char action[16];
};

struct conform_watch {
    struct hash_sink results;
    struct tee tee;
    char hash[HASH_HEX_CHARS];
    size_t n_decisions, capacity;
    struct watched_decision *decisions;
    size_t n;            /* jobs or requests expected */
    const bool *grants_others; /* of the guard: jobs may hold other GPUs than they requested */
    unsigned char *seen; /* [n] */
    size_t n_rows, n_rejected;
    int64_t gaps, gaps_expected; /* between tokens */
    double finished, gpu_s, preemptions, prompt_tokens, output_tokens; /* sums over the rows, for the metrics */
    char problem[120];   /* of the first inconsistent row */
    double problem_s;
};

/* For `n` jobs or requests. Returns 0 or SIM_E_NOMEM; conform_watch_fini may be called in either case. */
int conform_watch_init(struct conform_watch *watch, size_t n);
void conform_watch_fini(struct conform_watch *watch); /* also of a zeroed one */

/* The sink for the rows. The watch must not move. */
struct sink conform_watch_sink(struct conform_watch *watch);

/* Ends the watch after the last row. Returns 0 or SIM_E_NOMEM. */
int conform_watch_end(struct conform_watch *watch);

/* Whether every job or request has one consistent row and ended; if not, also the time and the reason. */
bool conform_watch_rows(const struct conform_watch *watch, const struct conform_case *wanted, bool may_reject,
                        double *t_s, char *text, size_t text_bytes);

/* Whether both runs emitted equal rows; if not, also the first decision that differs. */
bool conform_watch_same(const struct conform_watch *a, const struct conform_watch *b, double *t_s, char *text,
                        size_t text_bytes);

#endif
