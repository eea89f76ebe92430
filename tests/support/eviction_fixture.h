/* Paging sequences, and eviction policies run on them. */
#ifndef ORRERY_TESTS_SUPPORT_EVICTION_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_EVICTION_FIXTURE_H

#include "sim/core/err.h"
#include "sim/world/policy/all.h"

#include <stdint.h>

enum { PAGING_MAX = 4096 };

struct paging {
    int n;
    uint64_t pages[PAGING_MAX];
};

/* n requests to `n_pages` pages: uniform ones; or, locally, mostly of a working set of `local` pages that drifts. */
void paging_uniform(struct paging *paging, uint64_t seed, int n, int n_pages);
void paging_local(struct paging *paging, uint64_t seed, int n, int n_pages, int local);

/* What a policy made of a sequence. */
struct paging_run {
    int misses;
    int n_victims;
    uint64_t victims[PAGING_MAX];
};

/* Runs the policy of this name with parameters in JSON (NULL: none). Fails the test when there is an error. */
void paging_run(const struct paging *paging, const char *policy, const char *params, int64_t capacity, uint64_t seed,
                struct paging_run *run);

/* Misses alone. */
int paging_misses(const struct paging *paging, const char *policy, const char *params, int64_t capacity, uint64_t seed);

/* When each page of the sequence is asked for next. The numbers are the caller's. */
void paging_next_uses(const struct paging *paging, int64_t next_uses[PAGING_MAX]);

#endif
