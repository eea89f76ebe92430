/* Random small scenarios that both Orrery and the naive simulator can run, and their comparison: the first token and
 * the end of every request to the nanosecond, its replica, its preemptions; and the same bytes in single steps. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_CASES_H
#define ORRERY_TESTS_ORACLE_NAIVE_CASES_H

#include "sim/core/rng.h"
#include "tests/oracle/naive_serving.h"

/* Of the LLM in the scenarios: its context, and the KV of a token. */
enum { NAIVE_MAX_CONTEXT = 4096, NAIVE_TOKEN_BYTES = 2 * 32 * 4096 * 2 };

struct naive_totals {
    int64_t requests, preemptions, cut_prompts, rejections, restarts, lost_moves, right, starts, drains;
    int64_t ties;    /* requests that end in the iteration in which the one before them in the rows does */
    int64_t turned;  /* of these, such as have the smaller id */
    int64_t halfway; /* scenarios that differ where a flow ends halfway between two nanoseconds */
};

/* A whole number in [low, high]; true once in n times. */
int naive_between(struct rng *rng, int low, int high);
bool naive_one_in(struct rng *rng, int n);

/* One replica or a few, whose costs are whole nanoseconds, so that no time is rounded on either side. */
void naive_random_scenario(struct naive_scenario *s, enum naive_kind kind, uint64_t seed);

/* Drafts whose draws and costs Orrery makes alike. */
void naive_random_speculation(struct naive_speculation *speculation, uint64_t seed);

/* Trees of drafts, made by a layer whose passes take a 32nd of an iteration: rounds the costs of the scenario so that
 * these times are whole nanoseconds too. */
void naive_random_tree(struct naive_scenario *s, struct naive_speculation *speculation, uint64_t seed);

/* Samples or beams whose draws Orrery makes alike. Leaves out requests until their sequences fit. */
void naive_random_sampling(struct naive_scenario *s, struct naive_sampling *sampling, bool beams, uint64_t seed);

/* A life from the stream of random numbers that Orrery draws it from. */
int64_t naive_life_ns(const struct naive_site *site, int cause, int component, int n);

/* Runs both, checks that they agree, and adds to the totals. A scenario that does not is written to
 * build/differential.json. Router choices of NAIVE_GIVEN are taken from Orrery. */
void naive_check_scenario(struct naive_scenario *s, uint64_t seed, struct naive_totals *totals);

#endif
