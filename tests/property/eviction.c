/* Eviction policies against caches written as their definitions read, in quadratic time: the same victims, in the same
 * order. */
#include "tests/harness.h"

#include "tests/eviction_fixture.h"

#include <stdio.h>
#include <string.h>

/* A cached page of the naive cache. */
struct naive_page {
    uint64_t page;
    int64_t inserted, last_use, uses, next_use;
};

/* Whether `a` goes rather than `b`. */
typedef bool goes_fn(const struct naive_page *a, const struct naive_page *b);

static bool lru_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->last_use < b->last_use;
}

static bool fifo_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->inserted < b->inserted;
}

static bool lfu_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->uses < b->uses || (a->uses == b->uses && a->last_use < b->last_use);
}

static bool belady_goes(const struct naive_page *a, const struct naive_page *b)
{
    return a->next_use > b->next_use;
}

static int64_t find_next(const struct paging *paging, int from, uint64_t page)
{
    for (int i = from; i < paging->n; i++)
        if (paging->pages[i] == page) return i;
    return INT64_MAX;
}

static void naive_run(const struct paging *paging, goes_fn *goes, int capacity, struct paging_run *run)
{
    struct naive_page pages[64];
    int n = 0;
    run->misses = run->n_victims = 0;
    for (int i = 0; i < paging->n; i++) {
        int at = 0, victim = 0;
        while (at < n && pages[at].page != paging->pages[i]) at++;
        if (at == n) run->misses++;
        if (at == n && n == capacity) {
            for (int k = 1; k < n; k++)
                if (goes(&pages[k], &pages[victim])) victim = k;
            run->victims[run->n_victims++] = pages[victim].page;
            at = victim;
            pages[at] = (struct naive_page){.page = paging->pages[i], .inserted = i};
        } else if (at == n) {
            pages[n++] = (struct naive_page){.page = paging->pages[i], .inserted = i};
        }
        pages[at].last_use = i;
        pages[at].uses++;
        pages[at].next_use = find_next(paging, i + 1, paging->pages[i]);
    }
}

/* Ties among pages that never come back are Belady's only freedom: there the victims may differ, the misses do not. */
static void compare(const struct paging *paging, const char *policy, goes_fn *goes, int capacity)
{
    struct paging_run run, naive;
    paging_run(paging, policy, NULL, capacity, 1, &run);
    naive_run(paging, goes, capacity, &naive);
    CHECK_EQ_INT(run.misses, naive.misses);
    CHECK_EQ_INT(run.n_victims, naive.n_victims);
    if (goes != belady_goes)
        CHECK(memcmp(run.victims, naive.victims, (size_t)naive.n_victims * sizeof *naive.victims) == 0);
}

static void compare_all(const struct paging *paging, int capacity)
{
    compare(paging, "lru", lru_goes, capacity);
    compare(paging, "fifo", fifo_goes, capacity);
    compare(paging, "lfu", lfu_goes, capacity);
    compare(paging, "belady", belady_goes, capacity);
}

static void definitions_and_policies_agree(void)
{
    struct paging paging;
    for (uint64_t seed = 0; seed < 40; seed++) {
        int capacity = 1 + (int)(seed * 7 % 23);
        paging_uniform(&paging, seed, 400, capacity + 1 + (int)(seed % 30));
        compare_all(&paging, capacity);
        paging_local(&paging, seed, 400, 3 * capacity + 2, capacity + 1);
        compare_all(&paging, capacity);
    }
}

TEST_SUITE(eviction)
{
    TEST(definitions_and_policies_agree);
}
