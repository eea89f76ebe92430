/* How often the whole procedure for the steady state (warm-up, length, interval, p-value) finds a difference between
 * two queues that do not differ. Waits of M/M/1 at loads of 0.8 and 0.9 forget slowly: 20,000 of them are worth 240 and
 * 55 independent ones. What is found may be wrong in 5 % of what is judged; what is too short for that has to be
 * refused. */
#include "analysis/compare/work.h"
#include "tests/support/harness.h"

enum { MEAN, P50, P90, P99, N_ESTIMATES, MOST_WAITS = 20000 };

static const double quantiles[N_ESTIMATES] = {(double)NAN, 0.5, 0.9, 0.99};

struct tally {
    int judged, found, refused;
};

/* Waits of successive customers (Lindley 1952), service 1, from the empty queue on. */
static void draw_waits(struct rng *rng, size_t n, double load, double *waits)
{
    double wait_s = 0;
    for (size_t i = 0; i < n; i++) {
        waits[i] = wait_s;
        wait_s = fmax(0, wait_s + rng_exponential(rng, 1) - rng_exponential(rng, 1 / load));
    }
}

static void judge(const struct series *all, struct arena *arena, struct tally tallies[N_ESTIMATES])
{
    const struct compare_options options = {.level = 0.95};
    const struct series steady = steady_part(all);
    for (int i = 0; i < N_ESTIMATES; i++) {
        struct compare_row row = {.p = (double)NAN, .delta = {(double)NAN, (double)NAN, (double)NAN}};
        CHECK_EQ_INT(steady_estimate(&options, &steady, quantiles[i], arena, &row), 0);
        tallies[i].refused += row.note != NULL;
        tallies[i].judged += row.note == NULL;
        CHECK(isnan(row.delta.low) == (row.note != NULL) && isnan(row.p) == (row.note != NULL));
        tallies[i].found += row.p < 0.05 && (row.delta.low > 0 || row.delta.high < 0);
    }
}

/* Independent pairs of queues at two loads. */
static void tally_pairs(int n_pairs, size_t n, const double loads[2], struct tally tallies[N_ESTIMATES])
{
    SCOPED(arena) arena = {0};
    double *room = mem_alloc(4 * n * sizeof *room);
    const struct series all = {n, room, room + n, room + 2 * n, room + 3 * n};
    for (int pair = 1; room != NULL && pair <= n_pairs; pair++) {
        for (int side = 0; side < 2; side++) {
            struct rng rng;
            rng_init(&rng, (uint64_t)pair, 0, side == 0 ? "base" : "changed", 0);
            draw_waits(&rng, n, loads[side], side == 0 ? all.base : all.changed);
        }
        for (size_t i = 0; i < n; i++) all.delta[i] = all.changed[i] - all.base[i];
        judge(&all, &arena, tallies);
    }
    CHECK(room != NULL);
    mem_free(room);
}

static const double load_80[] = {0.8, 0.8}, load_90[] = {0.9, 0.9}, from_70_to_80[] = {0.7, 0.8};

/* Of the 460 that are judged 5 %, and 2 % for chance. */
TEST(what_is_judged_is_right)
{
    enum { PAIRS = 200 };
    struct tally tallies[N_ESTIMATES] = {{0}};
    tally_pairs(PAIRS, MOST_WAITS, load_80, tallies);
    CHECK(tallies[MEAN].judged > PAIRS / 2 && tallies[P50].judged > PAIRS / 2 && tallies[P90].judged > PAIRS / 4);
    CHECK_EQ_INT(tallies[P99].judged, 0);
    const int judged = tallies[MEAN].judged + tallies[P50].judged + tallies[P90].judged;
    CHECK(tallies[MEAN].found + tallies[P50].found + tallies[P90].found <= 0.07 * judged);
    for (int i = 0; i < N_ESTIMATES; i++) CHECK(tallies[i].found <= 0.07 * PAIRS);
}

TEST(what_is_too_short_is_refused)
{
    enum { PAIRS = 60 };
    struct tally at_80[N_ESTIMATES] = {{0}}, at_90[N_ESTIMATES] = {{0}};
    tally_pairs(PAIRS, 3000, load_80, at_80);
    tally_pairs(PAIRS, 6000, load_90, at_90);
    for (int i = 0; i < N_ESTIMATES; i++) {
        if (i != P50) CHECK(at_80[i].refused == PAIRS && at_90[i].refused == PAIRS);
        CHECK(at_80[i].found <= 0.07 * PAIRS && at_90[i].found <= 0.07 * PAIRS);
    }
}

/* Why: sections of 300 waits, which remember each other, tell of differences in nearly half of the pairs. */
TEST(sections_alone_would_lie)
{
    enum { PAIRS = 60, N = 6000 };
    double *base = mem_alloc(N * sizeof *base), *changed = mem_alloc(N * sizeof *changed), p;
    struct interval interval;
    int found = 0;
    MUST(base != NULL && changed != NULL);
    for (int pair = 1; pair <= PAIRS; pair++) {
        struct rng rng;
        rng_init(&rng, (uint64_t)pair, 0, "sections", 0);
        draw_waits(&rng, N, 0.9, base);
        draw_waits(&rng, N, 0.9, changed);
        MUST(stats_batch_quantile_difference(base, changed, N, 20, 0.9, 0.95, &interval, &p) == 0);
        found += p < 0.05;
    }
    CHECK(found > 0.25 * PAIRS);
    mem_free(base);
    mem_free(changed);
}

/* Refusing all would be right, too, and of no use: mean waits of 2.3 and 4 are told apart. */
TEST(what_differs_is_found)
{
    enum { PAIRS = 20 };
    struct tally tallies[N_ESTIMATES] = {{0}};
    tally_pairs(PAIRS, MOST_WAITS, from_70_to_80, tallies);
    CHECK(tallies[MEAN].found > 0.8 * PAIRS && tallies[MEAN].found == tallies[MEAN].judged);
    CHECK(tallies[P50].found > 0.8 * PAIRS && tallies[P90].found > 0.3 * PAIRS);
}
