/* The Gittins index against its definition, summed size by size, and where it is known: one size, sizes without memory,
 * and the best of all quanta. */
#include "models/gittins.h"
#include "sim/core/real_list.h"
#include "tests/support/harness.h"

enum { MOST = 40 };

struct list {
    struct gittins gittins;
    double sizes[MOST], sums[MOST + 1];
};

static void take(struct list *list, size_t n)
{
    qsort(list->sizes, n, sizeof list->sizes[0], real_compare);
    gittins_sum(list->sizes, n, list->sums);
    list->gittins = (struct gittins){n, list->sizes, list->sums};
}

/* Small whole sizes, often equal. */
static void draw(struct list *list, uint64_t round)
{
    struct rng rng = test_rng(3, "gittins", round);
    const size_t n = 1 + (size_t)rng_below(&rng, MOST);
    const uint64_t largest = 1 + rng_below(&rng, 30);
    for (size_t i = 0; i < n; i++) list->sizes[i] = 1 + (double)rng_below(&rng, largest);
    take(list, n);
}

/* The definition. */
static double plain(const struct list *list, double attained, double quantum)
{
    double ends = 0, service = 0;
    for (size_t i = 0; i < list->gittins.n; i++) {
        const double left = list->sizes[i] - attained;
        if (!(left > 0)) continue;
        ends += left <= quantum;
        service += fmin(left, quantum);
    }
    return ends > 0 ? ends / service : 0;
}

TEST(it_is_its_definition)
{
    struct list list;
    for (uint64_t round = 0; round < 300; round++) {
        draw(&list, round);
        for (double attained = 0; attained < 32; attained += 0.5)
            for (double quantum = 0.5; quantum < 40; quantum *= 1.7)
                CHECK_NEAR(gittins_index(&list.gittins, attained, quantum), plain(&list, attained, quantum), 1e-12);
        CHECK_NEAR(gittins_index(&list.gittins, 0.5, (double)INFINITY), plain(&list, 0.5, 1e9), 1e-12);
    }
}

/* A best quantum ends at one of the sizes. */
TEST(the_best_quantum_is_the_best_of_all)
{
    struct list list;
    struct gittins_quantum best[MOST + 1];
    for (uint64_t round = 0; round < 300; round++) {
        draw(&list, round);
        const size_t n = list.gittins.n;
        gittins_best(&list.gittins, best);
        for (size_t i = 0; i <= n; i++) {
            if (i > 0 && i < n && list.sizes[i] == list.sizes[i - 1]) continue;
            const double attained = i == 0 ? 0 : list.sizes[i - 1];
            double most = 0;
            for (size_t k = 0; k < n; k++)
                if (list.sizes[k] > attained) most = fmax(most, plain(&list, attained, list.sizes[k] - attained));
            CHECK_NEAR(best[i].index, most, 1e-12);
            if (i == n) continue;
            CHECK_NEAR(plain(&list, attained, list.sizes[best[i].end - 1] - attained), most, 1e-12);
        }
    }
}

/* What is left is known then: the nearer the end, the higher. */
TEST(one_size_is_ranked_by_what_is_left)
{
    struct list list = {.sizes = {100, 100, 100}};
    take(&list, 3);
    for (double attained = 0; attained < 100; attained += 10) {
        CHECK_NEAR(gittins_index(&list.gittins, attained, 1000), 1 / (100 - attained), 1e-15);
        CHECK_NEAR(gittins_index(&list.gittins, attained, 30), attained >= 70 ? 1 / (100 - attained) : 0, 1e-15);
    }
    CHECK_EQ_INT(gittins_index(&list.gittins, 100, 30) > 0, 0);
}

/* Sums of equal sizes are rounded, and so seem to fall now and then. */
TEST(jobs_of_one_size_all_end_within_the_best_quantum)
{
    struct gittins_quantum best[MOST + 1];
    for (size_t n = 1; n <= MOST; n++)
        for (double size = 0.01; size < 1e6; size *= 1.37) {
            struct list list;
            for (size_t i = 0; i < n; i++) list.sizes[i] = size;
            take(&list, n);
            gittins_best(&list.gittins, best);
            CHECK_NEAR(best[0].index * size, 1, 1e-12);
            CHECK_EQ_INT(best[0].end, n);
        }
}

/* Quantiles of exponential sizes of mean 1: index 1, whatever has been attained and whatever the quantum. */
TEST(sizes_without_memory_are_all_alike)
{
    enum { N = 200000 };
    double *sizes = malloc(N * sizeof *sizes), *sums = malloc((N + 1) * sizeof *sums);
    for (int i = 0; i < N; i++) sizes[i] = -log(1 - (i + 0.5) / N);
    gittins_sum(sizes, N, sums);
    const struct gittins gittins = {N, sizes, sums};
    for (double attained = 0; attained < 5; attained += 0.25)
        for (double quantum = 0.1; quantum < 8; quantum *= 2)
            CHECK_NEAR(gittins_index(&gittins, attained, quantum), 1, 0.005);
    free(sizes);
    free(sums);
}

/* By hand, with a quantum of 10 and sizes of 5, 8, 8 and 40. At 0 three end: P = 3/4 and E = (5 + 8 + 8 + 10) / 4;
 * released, at 4: a quantum from there reaches 14, with the same sums. Behind 8 nobody ends; released, its 39 would,
 * but the last one never does. */
TEST(released_takes_it_at_the_next_size)
{
    struct list list = {.sizes = {5, 8, 8, 40}};
    take(&list, 4);
    CHECK_NEAR(gittins_index(&list.gittins, 0, 10), 3.0 / 31, 1e-15);
    CHECK_NEAR(gittins_index_released(&list.gittins, 0, 10), round(0.75e6 / 7 * 1e4) / 1e4, 1e-9);
    CHECK_NEAR(gittins_index_released(&list.gittins, 5, 10), round(0.66667e6 / 8 * 1e4) / 1e4, 1e-9);
    CHECK_NEAR(gittins_index(&list.gittins, 30, 10), 0.1, 1e-15);
    CHECK_NEAR(gittins_index_released(&list.gittins, 30, 10), 0, 0);
    CHECK_NEAR(gittins_index_released(&list.gittins, 40, 10), 0, 0);
}

/* Less than a unit is no quantum to it. */
TEST(released_is_never_below_zero_nor_endless)
{
    struct list list = {.sizes = {10.2, 10.5, 40}};
    take(&list, 3);
    CHECK_NEAR(gittins_index_released(&list.gittins, 10.2, 0), 0, 0);
    list = (struct list){.sizes = {0.2, 0.3, 0.9, 40}};
    take(&list, 4);
    CHECK_NEAR(gittins_index_released(&list.gittins, 0.2, 0.5), 0, 0);
    for (double attained = 0; attained < 40; attained += 0.1)
        for (double quantum = 0; quantum < 40; quantum += 0.25) {
            const double index = gittins_index_released(&list.gittins, attained, quantum);
            CHECK(index >= 0 && index <= 1e6);
        }
}
