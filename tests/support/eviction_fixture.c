#include "tests/support/eviction_fixture.h"

#include "policies/registry.h"
#include "sim/world/kv/cache.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

void paging_uniform(struct paging *paging, uint64_t seed, int n, int n_pages)
{
    struct rng rng = test_rng(seed, "uniform", 0);
    paging->n = n;
    for (int i = 0; i < n; i++) paging->pages[i] = rng_below(&rng, (uint64_t)n_pages);
}

void paging_local(struct paging *paging, uint64_t seed, int n, int n_pages, int local)
{
    uint64_t base = 0;
    struct rng rng = test_rng(seed, "local", 0);
    paging->n = n;
    for (int i = 0; i < n; i++) {
        bool stays = rng_below(&rng, 8) > 0;
        paging->pages[i] = stays ? (base + rng_below(&rng, (uint64_t)local)) % (uint64_t)n_pages
                                 : rng_below(&rng, (uint64_t)n_pages);
        if (rng_below(&rng, 20) == 0) base += rng_below(&rng, 3);
    }
}

void paging_next_uses(const struct paging *paging, int64_t next_uses[PAGING_MAX])
{
    for (int i = 0; i < paging->n; i++) {
        int next = i + 1;
        while (next < paging->n && paging->pages[next] != paging->pages[i]) next++;
        next_uses[i] = next < paging->n ? next : INT64_MAX;
    }
}

static int note_victim(void *context, uint64_t key)
{
    struct paging_run *run = context;
    run->victims[run->n_victims++] = key;
    return 0;
}

void paging_run(const struct paging *paging, const char *policy, const char *params, int64_t capacity, uint64_t seed,
                struct paging_run *run)
{
    static const char none[] = "no such policy";
    const struct policy *found = policy_find(POLICY_EVICTION, policy);
    int64_t next_uses[PAGING_MAX];
    struct cache_future future = {paging->n, next_uses};
    SCOPED(arena) arena = {0};
    struct cache cache;
    struct diag diag = {0};
    run->misses = run->n_victims = 0;
    if (found == NULL) CHECK_EQ_STR(policy, none);
    if (found == NULL) return;
    paging_next_uses(paging, next_uses);
    int code = cache_init(&cache, &(struct cache_options){.evictor = found,
                                                          .params = policy_params(found, params, &arena),
                                                          .capacity = capacity,
                                                          .seed = seed,
                                                          .future = &future,
                                                          .evicted = note_victim,
                                                          .context = run,
                                                          .diag = &diag});
    for (int i = 0; i < paging->n && code >= 0; i++) {
        int32_t item = cache_find(&cache, paging->pages[i]);
        run->misses += item == CACHE_NO_ITEM;
        code = item == CACHE_NO_ITEM ? cache_insert(&cache, paging->pages[i], &item) : cache_hit(&cache, item);
    }
    if (!CHECK(code >= 0)) printf("\n  %s: %s\n", policy, diag.items[0].text);
    cache_fini(&cache);
}

int paging_misses(const struct paging *paging, const char *policy, const char *params, int64_t capacity, uint64_t seed)
{
    struct paging_run run;
    paging_run(paging, policy, params, capacity, seed, &run);
    return run.misses;
}
