/* Random sites with prefix stores for the naive simulator (naive_store.h) and for Orrery. */
#ifndef ORRERY_TESTS_ORACLE_NAIVE_STORE_CASES_H
#define ORRERY_TESTS_ORACLE_NAIVE_STORE_CASES_H

#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/oracle/naive_store.h"
#include "tests/support/bed.h"

#include <stdint.h>

/* Draws replicas, tiers, links and costs. */
void store_random_site(struct store_scenario *s, struct rng *rng);

/* GPU memory of which what runs never needs all, and little more. Needs the requests. */
void store_random_memory(struct store_scenario *s, struct rng *rng);

/* Has the scenario, with its requests and memory, batch as vLLM v1; alone: requests wait for their loads alone. */
void store_random_v1(struct store_scenario *s, bool alone, struct rng *rng);

/* Writes the scenario with the requests of `trace`, a file of this format. */
void store_write_scenario(const struct store_scenario *s, const char *format, const char *trace, struct text *text);

/* Checks that times, replicas, cached tokens and the counts of the tiers are equal. */
void store_compare(const struct naive_store *naive, const struct bed_rows *rows, uint64_t seed, const char *text);

#endif
