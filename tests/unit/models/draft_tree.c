/* Trees of drafts against plainer ways to the same numbers: every way the right tokens can fall, every tree of some
 * nodes, Sequoia's dynamic program, EAGLE-2's levels one by one, and steps drawn one after the other. */
#include "models/draft_tree.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

/* Random rates that never rise with the rank; ranks beyond have none. Sometimes they sum to 1, or some are 0. */
static struct draft_rates random_rates(struct rng *rng, int32_t depths, int32_t ranks)
{
    struct draft_rates rates = {.depths = depths};
    for (int32_t depth = 0; depth < depths; depth++) {
        double sum = 0.0, most = 1.0;
        for (int32_t rank = 0; rank < ranks; rank++) {
            most = rng_below(rng, 6) == 0 ? most : most * rng_uniform(rng);
            if (rng_below(rng, 12) == 0) most = 0.0;
            rates.of[depth][rank] = most;
            sum += most;
        }
        const double whole = rng_below(rng, 4) == 0 ? 1.0 : rng_uniform(rng);
        for (int32_t rank = 0; rank < ranks && sum > 0.0; rank++) rates.of[depth][rank] *= whole / sum;
    }
    return rates;
}

static double drafts_of(const struct draft_rates *rates, const struct draft_tree *tree)
{
    double kept[DRAFT_MAX_NODES];
    return draft_tree_kept(rates, tree, kept);
}

static int32_t child(const struct draft_tree *tree, int32_t parent, int32_t rank)
{
    for (int32_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].parent == parent && tree->nodes[i].rank == rank) return i;
    return -2;
}

/* --- What a tree gives --- */

enum { RANKS = 3, DEPTH = 3 };

/* Adds the probability of each number of right drafts, over all ways that the ranks of the right tokens can fall. */
static void fall(const struct draft_rates *rates, const struct draft_tree *tree, int32_t at, int32_t depth, double frac,
                 double *with_right)
{
    double none = 1.0;
    for (int32_t rank = 1; rank <= RANKS && depth < DEPTH; rank++) {
        const double rate = draft_rate(rates, depth + 1, rank);
        const int32_t next = child(tree, at, rank);
        none -= rate;
        if (next == -2)
            with_right[depth] += frac * rate;
        else
            fall(rates, tree, next, depth + 1, frac * rate, with_right);
    }
    with_right[depth] += frac * none;
}

TEST(a_tree_gives_what_all_ways_of_falling_give)
{
    struct rng rng = test_rng(1, "falls", 0);
    for (int round = 0; round < 300; round++) {
        const struct draft_rates rates = random_rates(&rng, 1 + (int32_t)rng_below(&rng, DEPTH), RANKS);
        struct draft_tree tree;
        draft_tree_likeliest(&rates, DEPTH, RANKS, (int32_t)rng_below(&rng, 4), 1 + (int32_t)rng_below(&rng, 39),
                             &tree);
        double with_right[DEPTH + 1] = {0.0}, reach[DRAFT_MAX_DEPTH + 1], mean = 0.0;
        fall(&rates, &tree, -1, 0, 1.0, with_right);
        draft_trees_reach(&rates, &tree, 1, reach);
        for (int32_t depth = DEPTH; depth >= 0; depth--) {
            double beyond = 0.0;
            for (int32_t right = depth; right <= DEPTH; right++) beyond += with_right[right];
            CHECK_NEAR(reach[depth], beyond, 1e-12);
            mean += depth * with_right[depth];
        }
        CHECK_NEAR(drafts_of(&rates, &tree), mean, 1e-12);
    }
}

/* With one candidate for each token a tree is a chain: products of rates, to the bit. */
TEST(a_chain_is_a_tree_with_one_branch)
{
    struct rng rng = test_rng(1, "chains", 0);
    for (int round = 0; round < 50; round++) {
        const struct draft_rates rates = random_rates(&rng, 4, RANKS);
        double product = 1.0, reach[DRAFT_MAX_DEPTH + 1];
        struct draft_tree tree;
        draft_tree_likeliest(&rates, 6, 1, (int32_t)rng_below(&rng, 2), 6, &tree);
        draft_trees_reach(&rates, &tree, 1, reach);
        CHECK_EQ_INT(tree.n, 6);
        for (int32_t depth = 1; depth <= 6; depth++) {
            product *= draft_rate(&rates, depth, 1);
            CHECK(reach[depth] == product);
        }
        CHECK(reach[7] == 0.0);
    }
}

TEST(each_further_node_gives_as_much_or_more_and_less_than_the_one_before)
{
    struct rng rng = test_rng(1, "nodes", 0);
    for (int round = 0; round < 100; round++) {
        const struct draft_rates rates = random_rates(&rng, 3, 8);
        double before = 0.0, gained = 1.0;
        struct draft_tree tree, smaller = {.n = 0};
        for (int32_t n = 1; n <= 60; n++) {
            draft_tree_likeliest(&rates, 4, 8, 0, n, &tree);
            CHECK_EQ_INT(tree.n, n);
            CHECK(memcmp(tree.nodes, smaller.nodes, (size_t)smaller.n * sizeof *tree.nodes) == 0);
            CHECK(draft_tree_is_sound(&tree, 1, 4, n) && !draft_tree_is_sound(&tree, 1, 4, n - 1));
            const double drafts = drafts_of(&rates, &tree);
            CHECK(drafts >= before && drafts - before <= gained + 1e-12);
            gained = drafts - before;
            before = drafts;
            smaller = tree;
        }
    }
}

/* A tree that is sound, and what one member less or more makes unsound. Each bound is met exactly. */
TEST(each_limit_of_a_sound_tree_is_met_exactly)
{
    enum { TREES = 3, LEVELS = 4, N = 20 };
    struct rng rng = test_rng(1, "sound", 0);
    for (int round = 0; round < 50; round++) {
        const struct draft_rates rates = random_rates(&rng, 3, RANKS);
        struct draft_tree sound, bad;
        draft_tree_likeliest(&rates, LEVELS, RANKS, 0, N, &sound);
        MUST(sound.n == N);
        int64_t tokens = N + (sound.guesses = (uint8_t)rng_below(&rng, TREES));
        int32_t deepest = 0, twin = -1, of = -1;
        for (int32_t i = 0; i < N; i++) {
            tokens += sound.nodes[i].guesses = (uint8_t)rng_below(&rng, TREES);
            if (sound.nodes[i].depth > sound.nodes[deepest].depth) deepest = i;
            for (int32_t k = 0; k < i; k++)
                if (sound.nodes[k].parent == sound.nodes[i].parent) {
                    of = k;
                    twin = i;
                }
        }
        MUST(twin >= 0);
        const int64_t depth = sound.nodes[deepest].depth;
        CHECK(draft_tree_is_sound(&sound, TREES, depth, tokens));
        CHECK(!draft_tree_is_sound(&sound, TREES, depth, tokens - 1));
        CHECK(!draft_tree_is_sound(&sound, TREES, depth - 1, tokens));
        const int32_t i = (int32_t)rng_below(&rng, N);
        const struct {
            int32_t node; /* -1: of the tree */
            struct draft_node of;
        } bads[] = {
            {i, {(int16_t)i, sound.nodes[i].depth, sound.nodes[i].rank, 0}},
            {i, {-2, sound.nodes[i].depth, sound.nodes[i].rank, 0}},
            {i, {sound.nodes[i].parent, (uint8_t)(sound.nodes[i].depth + 1), sound.nodes[i].rank, 0}},
            {i, {sound.nodes[i].parent, (uint8_t)(sound.nodes[i].depth - 1), sound.nodes[i].rank, 0}},
            {i, {sound.nodes[i].parent, sound.nodes[i].depth, 0, 0}},
            {i, {sound.nodes[i].parent, sound.nodes[i].depth, DRAFT_MAX_RANK + 1, 0}},
            {i, {sound.nodes[i].parent, sound.nodes[i].depth, sound.nodes[i].rank, TREES}},
            {twin, {sound.nodes[of].parent, sound.nodes[of].depth, sound.nodes[of].rank, 0}},
        };
        for (size_t k = 0; k < sizeof bads / sizeof *bads; k++) {
            bad = sound;
            bad.nodes[bads[k].node] = bads[k].of;
            CHECK(!draft_tree_is_sound(&bad, TREES, LEVELS + 2, 1000));
        }
        /* Ranks up to the last, and trees with as many prompt tokens as lead to the last tree. */
        bad = sound;
        bad.nodes[N - 1].rank = DRAFT_MAX_RANK;
        bad.nodes[N - 1].guesses = bad.guesses = TREES - 1;
        CHECK(draft_tree_is_sound(&bad, TREES, LEVELS, 1000));
        bad.guesses = TREES;
        CHECK(!draft_tree_is_sound(&bad, TREES, LEVELS, 1000));
    }
}

TEST(trees_hold_no_more_nodes_than_they_have_room_for)
{
    const struct draft_rates rates = {.depths = 1, .of = {{0.5, 0.3}}};
    struct draft_tree tree = {.n = 0};
    CHECK(draft_tree_is_sound(&tree, 1, 0, 0));
    tree.n = -1;
    CHECK(!draft_tree_is_sound(&tree, 1, 0, 0));
    draft_tree_likeliest(&rates, DRAFT_MAX_DEPTH, DRAFT_MAX_RANK, 0, DRAFT_MAX_NODES, &tree);
    CHECK_EQ_INT(tree.n, DRAFT_MAX_NODES);
    CHECK(draft_tree_is_sound(&tree, 1, DRAFT_MAX_DEPTH, DRAFT_MAX_NODES));
    tree.n++;
    CHECK(!draft_tree_is_sound(&tree, 1, DRAFT_MAX_DEPTH, 1000));
}

/* --- The best tree --- */

/* The most that n further nodes give, chosen among candidates from `from` on, whose parents are chosen: all trees. */
static double best_of_all(const double *kept, const int32_t *parent, int32_t n_candidates, bool *chosen, int32_t from,
                          int32_t n)
{
    if (n == 0) return 0.0;
    double best = -1.0;
    for (int32_t i = from; i + n <= n_candidates; i++) {
        if (parent[i] >= 0 && !chosen[parent[i]]) continue;
        chosen[i] = true;
        const double rest = best_of_all(kept, parent, n_candidates, chosen, i + 1, n - 1);
        chosen[i] = false;
        if (rest >= 0.0 && kept[i] + rest > best) best = kept[i] + rest;
    }
    return best;
}

TEST(no_tree_of_as_many_nodes_gives_more)
{
    struct rng rng = test_rng(1, "all trees", 0);
    for (int round = 0; round < 40; round++) {
        const struct draft_rates rates = random_rates(&rng, DEPTH, RANKS);
        double kept[40];
        int32_t parent[40], depth[40], n_candidates = 0;
        for (int32_t at = -1; at < n_candidates; at++) { /* all candidates, parents first */
            const int32_t below = at < 0 ? 1 : depth[at] + 1;
            for (int32_t rank = 1; rank <= RANKS && below <= DEPTH; rank++, n_candidates++) {
                parent[n_candidates] = at;
                depth[n_candidates] = below;
                kept[n_candidates] = (at < 0 ? 1.0 : kept[at]) * draft_rate(&rates, below, rank);
            }
        }
        CHECK_EQ_INT(n_candidates, 39);
        for (int32_t n = 1; n <= 5; n++) {
            bool chosen[40] = {false};
            struct draft_tree tree;
            draft_tree_likeliest(&rates, DEPTH, RANKS, 0, n, &tree);
            CHECK_NEAR(drafts_of(&rates, &tree), best_of_all(kept, parent, n_candidates, chosen, 0, n), 1e-12);
        }
    }
}

enum { DP_NODES = 24, DP_DEPTH = 5, DP_RANKS = 4 };

/* Sequoia's dynamic program: the most drafts of n nodes behind a token at a depth, whose candidates from `rank` on may
 * be taken. The best candidate gets some of the nodes, and the others share the rest. */
static double dynamic(const struct draft_rates *rates, int32_t depth, int32_t rank, int32_t n,
                      double (*known)[DP_RANKS + 2][DP_NODES + 1])
{
    if (n == 0 || depth == DP_DEPTH || rank > DP_RANKS) return 0.0;
    double *best = &known[depth][rank][n];
    if (*best >= 0.0) return *best;
    *best = 0.0;
    for (int32_t behind = 0; behind < n; behind++)
        *best = fmax(*best, draft_rate(rates, depth + 1, rank) * (1.0 + dynamic(rates, depth + 1, 1, behind, known)) +
                                dynamic(rates, depth, rank + 1, n - 1 - behind, known));
    return *best;
}

TEST(the_likeliest_tree_is_that_of_the_dynamic_program)
{
    struct rng rng = test_rng(1, "dynamic", 0);
    for (int round = 0; round < 40; round++) {
        static double known[DP_DEPTH + 1][DP_RANKS + 2][DP_NODES + 1];
        const struct draft_rates rates = random_rates(&rng, 1 + (int32_t)rng_below(&rng, DP_DEPTH), DP_RANKS);
        double *all = &known[0][0][0];
        for (size_t i = 0; i < sizeof known / sizeof *all; i++) all[i] = -1.0;
        for (int32_t n = 1; n <= DP_NODES; n++) {
            struct draft_tree tree;
            draft_tree_likeliest(&rates, DP_DEPTH, DP_RANKS, 0, n, &tree);
            CHECK_NEAR(drafts_of(&rates, &tree), dynamic(&rates, 0, 1, n, known), 1e-12);
        }
    }
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* EAGLE-2 as its authors describe it: each level has the candidates of the best nodes of the level before, then all
 * candidates are ranked again. */
static double level_by_level(const struct draft_rates *rates, int32_t depth, int32_t branches, int32_t n)
{
    double all[400], extended[8] = {1.0}, sum = 0.0;
    int32_t n_all = 0, n_extended = 1;
    for (int32_t level = 1; level <= depth; level++) {
        double *of_level = &all[n_all];
        int32_t n_level = 0;
        for (int32_t i = 0; i < n_extended; i++)
            for (int32_t rank = 1; rank <= branches; rank++)
                of_level[n_level++] = extended[i] * draft_rate(rates, level, rank);
        qsort(of_level, (size_t)n_level, sizeof *of_level, falling);
        n_extended = n_level < branches ? n_level : branches;
        memcpy(extended, of_level, (size_t)n_extended * sizeof *extended);
        n_all += n_level;
    }
    qsort(all, (size_t)n_all, sizeof *all, falling);
    for (int32_t i = 0; i < n && i < n_all; i++) sum += all[i];
    return sum;
}

TEST(few_extended_nodes_are_eagle_2)
{
    struct rng rng = test_rng(1, "eagle-2", 0);
    double lost = 0.0;
    for (int round = 0; round < 300; round++) {
        const struct draft_rates rates = random_rates(&rng, 3, 5);
        const int32_t depth = 1 + (int32_t)rng_below(&rng, 4), branches = 2 + (int32_t)rng_below(&rng, 4);
        const int32_t n = 1 + (int32_t)rng_below(&rng, 50);
        struct draft_tree tree, best;
        draft_tree_likeliest(&rates, depth, branches, branches, n, &tree);
        draft_tree_likeliest(&rates, depth, branches, 0, n, &best);
        CHECK_NEAR(drafts_of(&rates, &tree), level_by_level(&rates, depth, branches, n), 1e-12);
        lost += drafts_of(&rates, &best) - drafts_of(&rates, &tree);
    }
    CHECK(lost > 0.01);
}

/* --- Parallel prompt decoding --- */

/* One guess, which is right with probability p. Prompt tokens behind the newest token alone: a right guess leaves
 * none, so a guess is made in 1 / (1 + p) of the steps. Prompt tokens behind the guess too: in every step. */
TEST(shares_of_trees_known_by_hand)
{
    for (double p = 0.0; p <= 1.0; p += 0.125) {
        const struct draft_rates rates = {.depths = 1, .of = {{p}}};
        struct draft_tree trees[2] = {{.guesses = 1}, {.n = 1, .guesses = 1, .nodes = {{-1, 1, 1, 0}}}};
        double reach[DRAFT_MAX_DEPTH + 1];
        draft_trees_reach(&rates, trees, 2, reach);
        CHECK_NEAR(reach[1], p / (1.0 + p), 1e-9);
        trees[1].nodes[0].guesses = 1;
        draft_trees_reach(&rates, trees, 2, reach);
        CHECK_NEAR(reach[1], p, 1e-9);
    }
}

/* The long run of a chain is its 2^24th step: rounding must not grow with the steps. */
TEST(shares_of_the_long_run_keep_their_digits)
{
    for (int i = 1; i < 37; i++) {
        const double p = i / 37.0;
        const struct draft_rates rates = {.depths = 1, .of = {{p}}};
        const struct draft_tree trees[2] = {{.guesses = 1}, {.n = 1, .guesses = 1, .nodes = {{-1, 1, 1, 0}}}};
        double reach[DRAFT_MAX_DEPTH + 1];
        draft_trees_reach(&rates, trees, 2, reach);
        CHECK_NEAR(reach[1], p / (1.0 + p), 1e-13);
    }
}

/* A step: walks down the tree as long as the right token is a candidate, and returns the node where it ends. */
static int32_t walk(const struct draft_rates *rates, const struct draft_tree *tree, struct rng *rng, int32_t *right)
{
    int32_t at = -1;
    for (*right = 0;; ++*right) {
        double drawn = rng_uniform(rng);
        int32_t next = -2;
        for (int32_t rank = 1; rank <= RANKS && next == -2; rank++) {
            drawn -= draft_rate(rates, *right + 1, rank);
            if (drawn < 0.0 && (next = child(tree, at, rank)) == -2) return at;
        }
        if (next == -2) return at;
        at = next;
    }
}

TEST(steps_one_after_the_other_are_as_expected)
{
    struct rng rng = test_rng(1, "steps", 0);
    for (int round = 0; round < 12; round++) {
        enum { STEPS = 100000 };
        const struct draft_rates rates = random_rates(&rng, 2, RANKS);
        const int32_t n_trees = round < 4 ? 1 : 2 + (int32_t)rng_below(&rng, 3);
        struct draft_tree trees[4];
        for (int32_t g = 0; g < n_trees; g++) {
            const int32_t levels = n_trees == 1 ? DEPTH : g, n = 1 + (int32_t)rng_below(&rng, 20);
            draft_tree_likeliest(&rates, levels, RANKS, 0, n, &trees[g]);
            trees[g].guesses = (uint8_t)rng_below(&rng, (uint64_t)n_trees);
            if (g == 0 && n_trees > 1) trees[g].guesses = (uint8_t)(n_trees - 1);
            for (int32_t i = 0; i < trees[g].n; i++)
                trees[g].nodes[i].guesses = (uint8_t)rng_below(&rng, (uint64_t)n_trees);
        }
        double reach[DRAFT_MAX_DEPTH + 1], expected = 0.0, batches[100] = {0.0}, mean = 0.0, squares = 0.0;
        draft_trees_reach(&rates, trees, n_trees, reach);
        for (int32_t depth = 1; depth <= DEPTH; depth++) expected += reach[depth];
        int32_t state = n_trees - 1;
        for (int step = 0; step < STEPS; step++) {
            int32_t right;
            const struct draft_tree *tree = &trees[state];
            const int32_t at = walk(&rates, tree, &rng, &right);
            state = at < 0 ? tree->guesses : tree->nodes[at].guesses;
            batches[step / (STEPS / 100)] += right * (100.0 / STEPS);
        }
        for (int i = 0; i < 100; i++) mean += batches[i] / 100;
        for (int i = 0; i < 100; i++) squares += (batches[i] - mean) * (batches[i] - mean) / 99;
        CHECK(fabs(mean - expected) <= 4.5 * sqrt(squares / 100) + 1e-3); /* the first steps are not of the long run */
    }
}

/* --- The law of powers --- */

/* The bounds that the header states, against the measurements that it names
 * (configs/figures/speculation/ranks.csv). */
TEST(the_power_law_is_near_what_was_measured)
{
    static const struct {
        const char *method;
        int depth;
        double power, bound;
    } fits[] = {{"sequoia", 1, 0.522, 0.006}, {"medusa", 1, 0.432, 0.011}, {"medusa", 2, 0.268, 0.011},
                {"medusa", 3, 0.188, 0.012},  {"medusa", 4, 0.153, 0.012}, {"medusa", 5, 0.137, 0.012},
                {"ppd", 1, 0.522, 0.014},     {"ppd", 2, 0.379, 0.025},    {"ppd", 3, 0.298, 0.039}};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        FILE *file = fopen("configs/figures/speculation/ranks.csv", "r");
        MUST(file != NULL);
        char line[100], method[20];
        int depth, rank, n = 0;
        double rate, measured = 0.0, modelled = 0.0;
        struct draft_rates rates = {.depths = 1};
        while (fgets(line, sizeof line, file) != NULL) {
            if (sscanf(line, "%19[a-z],%d,%d,%lf", method, &depth, &rank, &rate) != 4 || depth != fits[i].depth ||
                strcmp(method, fits[i].method) != 0)
                continue;
            CHECK_EQ_INT(rank, ++n);
            if (rank == 1) draft_rates_by_power(&rates, 1, rate, fits[i].power);
            measured += rate;
            modelled += draft_rate(&rates, 1, rank);
            CHECK_NEAR(modelled, measured, fits[i].bound);
        }
        fclose(file);
        CHECK(n >= 5);
    }
}
