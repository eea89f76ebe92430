/* The search for the cheapest fleets: on random options it finds what trying everything finds, with few tries. */
#include "sim/study/sizing.h"
#include "tests/support/harness.h"

enum { MOST_OPTIONS = 240, WANTED = 10, MOST_GPUS = 64 };

struct fleet_case {
    size_t n;
    struct sizing_option options[MOST_OPTIONS];
    int64_t needed[MOST_OPTIONS]; /* replicas; above options[i].most: more than there may be */
    int64_t n_everything;
};

/* Options in groups of four that need nearly as many replicas; closed forms ask for half of these or more. */
static void draw(struct rng *rng, struct fleet_case *drawn)
{
    drawn->n = 1 + rng_below(rng, MOST_OPTIONS);
    drawn->n_everything = 0;
    for (size_t i = 0; i < drawn->n; i++) {
        const int64_t gpus = (int64_t)1 << rng_below(rng, 4);
        struct sizing_option *option = &drawn->options[i];
        *option = (struct sizing_option){.replica_usd_per_h = (double)gpus * (0.5 + 5 * rng_uniform(rng)),
                                         .most = MOST_GPUS / gpus, .group = i - i % 4};
        int64_t needed = i % 4 == 0 ? 1 + (int64_t)(rng_below(rng, 100) / (uint64_t)gpus)
                                    : drawn->needed[i - i % 4] + (int64_t)rng_below(rng, 3) - 1;
        drawn->needed[i] = needed = needed < 1 ? 1 : needed;
        option->least = 1 + (int64_t)((double)(needed - 1) * (0.5 + 0.5 * rng_uniform(rng)));
        drawn->n_everything += option->most;
    }
}

static double cost_at(const struct fleet_case *drawn, size_t i, int64_t replicas)
{
    return drawn->options[i].replica_usd_per_h * (double)replicas;
}

/* How many options cost less than this by what they need. */
static size_t rank_of(const struct fleet_case *drawn, double cost)
{
    size_t n = 0;
    for (size_t i = 0; i < drawn->n; i++)
        n += drawn->needed[i] <= drawn->options[i].most && cost_at(drawn, i, drawn->needed[i]) < cost;
    return n;
}

static void search(struct fleet_case *drawn, size_t round, struct sizing *sizing)
{
    struct sizing_try tries[16];
    size_t n;
    sizing_start(sizing, drawn->options, drawn->n, WANTED);
    while ((n = sizing_next(sizing, tries, round)) > 0)
        for (size_t i = 0; i < n; i++) {
            const bool meets = tries[i].replicas >= drawn->needed[tries[i].option];
            CHECK(tries[i].replicas >= 1 && tries[i].replicas <= drawn->options[tries[i].option].most);
            sizing_tell(sizing, &tries[i], meets ? SIZING_MEETS : SIZING_FAILS);
        }
}

TEST(the_best_are_those_of_an_exhaustive_search)
{
    struct rng rng = test_rng(5, "sizing", 0);
    int64_t n_tries = 0, n_everything = 0;
    for (int i = 0; i < 400; i++) {
        struct fleet_case drawn;
        struct sizing sizing;
        size_t best[WANTED];
        draw(&rng, &drawn);
        search(&drawn, 1 + rng_below(&rng, 16), &sizing);
        const size_t n_best = sizing_best(&sizing, best, WANTED);
        const size_t n_possible = rank_of(&drawn, (double)INFINITY);
        CHECK_EQ_INT(n_best, n_possible < WANTED ? n_possible : WANTED);
        for (size_t rank = 0; rank < n_best; rank++) {
            const double cost = cost_at(&drawn, best[rank], drawn.needed[best[rank]]);
            CHECK_EQ_INT(drawn.options[best[rank]].good, drawn.needed[best[rank]]);
            CHECK(sizing_is_exact(&drawn.options[best[rank]]));
            CHECK(rank_of(&drawn, cost) <= rank);
        }
        n_tries += (int64_t)sizing.n_tries;
        n_everything += drawn.n_everything;
    }
    CHECK(10 * n_tries <= n_everything);
}

TEST(what_cannot_run_is_left_out)
{
    struct sizing sizing;
    struct sizing_try made;
    struct sizing_option options[] = {{.replica_usd_per_h = 1, .least = 1, .most = 4},
                                      {.replica_usd_per_h = 2, .least = 1, .most = 4, .group = 1},
                                      {.replica_usd_per_h = 0.1, .least = 5, .most = 4, .group = 2}};
    size_t best[3];
    sizing_start(&sizing, options, 3, 1);
    CHECK_EQ_INT(sizing_next(&sizing, &made, 1), 1);
    CHECK_EQ_INT(made.option, 0);
    sizing_tell(&sizing, &made, SIZING_CANNOT_RUN);
    CHECK_EQ_INT(sizing_next(&sizing, &made, 1), 1);
    CHECK_EQ_INT(made.option, 1);
    CHECK_EQ_INT(made.replicas, 1);
    sizing_tell(&sizing, &made, SIZING_MEETS);
    CHECK_EQ_INT(sizing_next(&sizing, &made, 1), 0);
    CHECK_EQ_INT(sizing_best(&sizing, best, 3), 1);
    CHECK_EQ_INT(best[0], 1);
}

TEST(nothing_meets_it)
{
    struct sizing sizing;
    struct sizing_try tries[4];
    struct sizing_option options[] = {{.replica_usd_per_h = 1, .least = 1, .most = 9}};
    size_t best[1], n;
    sizing_start(&sizing, options, 1, 10);
    while ((n = sizing_next(&sizing, tries, 4)) > 0) sizing_tell(&sizing, tries, SIZING_FAILS);
    CHECK_EQ_INT(options[0].bad, 9);
    CHECK_EQ_INT(sizing_best(&sizing, best, 1), 0);
    CHECK(sizing.n_tries <= 6);
}

/* Of options that cost the same, those that stand first are first, also where not all of them are wanted. */
TEST(equal_costs_keep_the_order_of_the_options)
{
    static const int64_t replicas[] = {1, 2, 1, 4};
    static const size_t order[] = {3, 0, 1, 2};
    struct sizing sizing;
    struct sizing_option options[] = {{.replica_usd_per_h = 4, .least = 1, .most = 9},
                                      {.replica_usd_per_h = 2, .least = 1, .most = 9, .group = 1},
                                      {.replica_usd_per_h = 4, .least = 1, .most = 9, .group = 2},
                                      {.replica_usd_per_h = 0.5, .least = 1, .most = 9, .group = 3}};
    size_t best[4];
    sizing_start(&sizing, options, 4, 4);
    for (size_t i = 0; i < 4; i++)
        sizing_tell(&sizing, &(struct sizing_try){.option = i, .replicas = replicas[i]}, SIZING_MEETS);
    for (size_t most = 1; most <= 4; most++) {
        CHECK_EQ_INT(sizing_best(&sizing, best, most), most);
        for (size_t rank = 0; rank < most; rank++) CHECK_EQ_INT(best[rank], order[rank]);
    }
}
