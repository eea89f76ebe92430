/* Splits of sequences over ranks against a naive twin: plain loops over groups and ranks, without trees and heaps,
 * that follow the rules of models/training/mix.h. Small whole lengths and round prices make ties and exact fits
 * common. */
#include "models/training/mix.h"
#include "sim/core/rng.h"
#include "tests/support/harness.h"

#include <math.h>

enum { RANKS = 16, SEQUENCES = 24, MICRO_BATCH_TRIES = 8 };

struct group {
    double tokens, squares, seconds;
    int64_t width;
};

struct twin {
    struct mix_cost cost[RANKS + 1];
    int64_t tokens[SEQUENCES], ranks, width, n;
    double rank_tokens;
};

static double time_of(const struct twin *twin, const struct group *group)
{
    const struct mix_cost *cost = &twin->cost[group->width];
    return cost->pack_s + cost->token_s * group->tokens + cost->square_s * group->squares;
}

static bool holds(const struct twin *twin, int64_t width, double tokens)
{
    return twin->cost[width].possible && tokens <= (double)width * twin->rank_tokens;
}

/* Adds the sequence if the group then holds its tokens and ends within most_s. */
static bool join(const struct twin *twin, struct group *group, double tokens, double most_s)
{
    struct group more = {group->tokens + tokens, group->squares + tokens * tokens, 0.0, group->width};
    more.seconds = time_of(twin, &more);
    if (!holds(twin, more.width, more.tokens) || more.seconds > most_s) return false;
    *group = more;
    return true;
}

static void use(struct mix_use *uses, int64_t width, double packs, double tokens, double squares)
{
    uses[width].packs += packs;
    uses[width].tokens += tokens;
    uses[width].squares += squares;
}

/* --- The rules --- */

static double static_s(const struct twin *twin, int64_t width, struct mix_use *uses)
{
    struct group packs[SEQUENCES];
    double load_s[RANKS] = {0.0}, most_s = 0.0;
    const int64_t n_groups = twin->ranks / width;
    int n_packs = 0;
    if (n_groups < 1 || !holds(twin, width, (double)twin->tokens[0])) return INFINITY;
    for (int64_t i = 0; i < twin->n; i++) {
        int k = 0;
        while (k < n_packs && !join(twin, &packs[k], (double)twin->tokens[i], INFINITY)) k++;
        if (k < n_packs) continue;
        packs[n_packs] = (struct group){.width = width};
        join(twin, &packs[n_packs++], (double)twin->tokens[i], INFINITY);
    }
    for (int placed = 0; placed < n_packs; placed++) {
        int longest = 0, idlest = 0;
        for (int k = 1; k < n_packs; k++)
            if (packs[k].seconds > packs[longest].seconds) longest = k;
        for (int g = 1; g < n_groups; g++)
            if (load_s[g] < load_s[idlest]) idlest = g;
        load_s[idlest] += packs[longest].seconds;
        most_s = fmax(most_s, load_s[idlest]);
        use(uses, width, 1.0, packs[longest].tokens, packs[longest].squares);
        packs[longest].seconds = -INFINITY;
    }
    return most_s;
}

/* The sequences [from, from + n) in groups that end within most_s. Returns for how many the ranks suffice. */
static int64_t fill(const struct twin *twin, int64_t from, int64_t n, double most_s, struct group *groups,
                    int *n_groups)
{
    int64_t left = twin->ranks;
    *n_groups = 0;
    for (int64_t i = 0; i < n; i++) {
        const double tokens = (double)twin->tokens[from + i];
        int g = 0;
        while (g < *n_groups && !join(twin, &groups[g], tokens, most_s)) g++;
        if (g < *n_groups) continue;
        int64_t width = 1;
        for (; width <= twin->ranks; width *= 2) {
            groups[g] = (struct group){.width = width};
            if (join(twin, &groups[g], tokens, most_s)) break;
        }
        if (width > left) return i;
        left -= width;
        ++*n_groups;
    }
    return n;
}

/* The least time of a sequence in any group, and the least work of it in rank-seconds; see the header. */
static double bound_s(const struct twin *twin, int64_t from, int64_t n)
{
    double most_s = 0.0, work_s = 0.0;
    for (int64_t i = from; i < from + n; i++) {
        const double tokens = (double)twin->tokens[i];
        double least_s = INFINITY, least_work_s = INFINITY;
        for (int64_t width = 1; width <= twin->ranks; width++) {
            const struct mix_cost *cost = &twin->cost[width];
            const double room = (double)width * twin->rank_tokens;
            const double longest = fmin(room, (double)twin->tokens[from]);
            const struct group alone = {tokens, tokens * tokens, 0.0, width};
            if (!holds(twin, width, tokens)) continue;
            least_s = fmin(least_s, time_of(twin, &alone) + fmin(cost->token_s, 0.0) * room +
                                        fmin(cost->square_s, 0.0) * room * longest);
            least_work_s = fmin(least_work_s, (double)width * (time_of(twin, &alone) - fmax(cost->pack_s, 0.0)));
        }
        most_s = fmax(most_s, least_s);
        work_s += least_work_s;
    }
    return fmax(most_s, work_s / (double)twin->ranks);
}

/* One micro-batch: the least time within which all its sequences find groups, by bisection. */
static double micro_batch_s(const struct twin *twin, int64_t from, int64_t n, struct mix_use *uses)
{
    struct group groups[RANKS + 1];
    int n_groups;
    double low_s = 0.0, high_s = bound_s(twin, from, n), most_s = 0.0;
    if (!isfinite(high_s) || fill(twin, from, n, INFINITY, groups, &n_groups) < n) return INFINITY;
    for (; fill(twin, from, n, high_s, groups, &n_groups) < n; high_s *= 2.0) low_s = high_s;
    while (high_s - low_s > 1e-6 * high_s) {
        const double middle_s = (low_s + high_s) / 2.0;
        if (fill(twin, from, n, middle_s, groups, &n_groups) == n)
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    fill(twin, from, n, high_s, groups, &n_groups);
    for (int g = 0; g < n_groups; g++) {
        most_s = fmax(most_s, groups[g].seconds);
        use(uses, groups[g].width, 1.0, groups[g].tokens, groups[g].squares);
    }
    return most_s;
}

static double sum_tokens(const struct twin *twin, int64_t from, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = from; i < from + n; i++) sum += (double)twin->tokens[i];
    return sum;
}

static double micro_batches_s(const struct twin *twin, int64_t count, struct mix_use *uses)
{
    const double share = sum_tokens(twin, 0, twin->n) / (double)count;
    double seconds = 0.0;
    for (int64_t from = 0; from < twin->n;) {
        struct group groups[RANKS + 1];
        int n_groups;
        int64_t n = 0;
        while (from + n < twin->n && sum_tokens(twin, from, n) < share) n++;
        n = fill(twin, from, n, INFINITY, groups, &n_groups);
        if (n == 0) return INFINITY;
        seconds += micro_batch_s(twin, from, n, uses);
        from += n;
    }
    return seconds;
}

static double flexible_s(const struct twin *twin, struct mix_use *uses)
{
    const double fewest = ceil(sum_tokens(twin, 0, twin->n) / ((double)twin->ranks * twin->rank_tokens));
    double best_s = INFINITY;
    for (int64_t count = (int64_t)fewest; count < (int64_t)fewest + MICRO_BATCH_TRIES; count++) {
        struct mix_use tried[RANKS + 1] = {0};
        const double seconds = micro_batches_s(twin, count, tried);
        if (!(seconds < best_s)) continue;
        best_s = seconds;
        memcpy(uses, tried, sizeof tried);
    }
    return best_s;
}

struct rank {
    double seconds, tokens; /* tokens: of its open pack */
    bool has_pack;
};

static void sort_ranks(const struct twin *twin, struct rank *ranks)
{
    for (int64_t n = twin->ranks; n > 1; n--)
        for (int64_t r = 1; r < n; r++) {
            const struct rank before = ranks[r - 1];
            if (!(ranks[r].seconds < before.seconds)) continue;
            ranks[r - 1] = ranks[r];
            ranks[r] = before;
        }
}

static struct rank *idlest_rank(const struct twin *twin, struct rank *ranks)
{
    int least = 0;
    for (int r = 1; r < twin->ranks; r++)
        if (ranks[r].seconds < ranks[least].seconds) least = r;
    return &ranks[least];
}

/* Sequences of several ranks come first. Ranks are numbered by their work then, and the lower of two equal ones gets
 * the next pack. */
static double hybrid_s(const struct twin *twin, struct mix_use *uses)
{
    struct rank ranks[RANKS] = {0};
    double most_s = 0.0;
    for (int64_t i = 0; i < twin->n; i++) {
        const double tokens = (double)twin->tokens[i];
        int64_t width = 1;
        while (width <= twin->ranks && !holds(twin, width, tokens)) width++;
        if (width > twin->ranks) return INFINITY;
        const struct group pack = {tokens, tokens * tokens, 0.0, width};
        if (width > 1) {
            const double end_s = ranks[width - 1].seconds + time_of(twin, &pack);
            for (int64_t r = 0; r < width; r++) ranks[r].seconds = end_s;
            sort_ranks(twin, ranks);
            use(uses, width, 1.0, pack.tokens, pack.squares);
            continue;
        }
        struct rank *rank = idlest_rank(twin, ranks);
        const bool joins = rank->has_pack && holds(twin, 1, rank->tokens + tokens);
        const struct mix_cost *cost = &twin->cost[1];
        rank->seconds += (joins ? 0.0 : cost->pack_s) + cost->token_s * tokens + cost->square_s * pack.squares;
        rank->tokens = joins ? rank->tokens + tokens : tokens;
        rank->has_pack = true;
        use(uses, 1, joins ? 0.0 : 1.0, pack.tokens, pack.squares);
    }
    for (int r = 0; r < twin->ranks; r++) most_s = fmax(most_s, ranks[r].seconds);
    return most_s;
}

static struct mix_choice choose(const struct twin *twin, enum training_split split, struct mix_use *uses)
{
    struct mix_use of_static[RANKS + 1] = {0}, mixed[RANKS + 1] = {0};
    const bool mixes = split == SPLIT_FLEXIBLE || split == SPLIT_HYBRID;
    double least_s = static_s(twin, twin->width, of_static), mixed_s = INFINITY;
    for (int64_t width = 1; mixes && width <= twin->ranks; width *= 2) {
        struct mix_use tried[RANKS + 1] = {0};
        const double seconds = static_s(twin, width, tried);
        if (!(seconds < least_s)) continue;
        least_s = seconds;
        memcpy(of_static, tried, sizeof tried);
    }
    if (mixes) mixed_s = split == SPLIT_FLEXIBLE ? flexible_s(twin, mixed) : hybrid_s(twin, mixed);
    memcpy(uses, mixed_s < least_s ? mixed : of_static, sizeof mixed);
    return (struct mix_choice){fmin(mixed_s, least_s), mixes && least_s <= mixed_s};
}

/* --- Both --- */

static void draw_costs(struct twin *twin, struct rng *rng)
{
    static const double losses[] = {0.0, 0.125, 0.5}, packs_s[] = {0.0, 1.0, 8.0};
    const double loss = losses[rng_below(rng, 3)], pack_s = packs_s[rng_below(rng, 3)];
    const bool is_uneven = rng_below(rng, 2) == 0;
    for (int64_t w = 1; w <= twin->ranks; w++) {
        const double slower = 1.0 + loss * log2((double)w);
        const bool is_possible = w == twin->width || rng_below(rng, 8) > 0;
        const double dearer = is_uneven ? exp2((double)rng_below(rng, 9) - 4.0) : 1.0;
        twin->cost[w] = (struct mix_cost){is_possible, pack_s * (rng_below(rng, 4) > 0 ? 1.0 : slower),
                                          dearer * 0.25 * slower / (double)w, dearer * 0.0625 * slower / (double)w};
    }
}

/* A batch whose longest sequence often fills a group to the brim. */
static struct twin draw(struct rng *rng)
{
    struct twin twin = {.ranks = 1 + (int64_t)rng_below(rng, RANKS), .rank_tokens = 16.0,
                        .n = 1 + (int64_t)rng_below(rng, SEQUENCES)};
    twin.width = 1 + (int64_t)rng_below(rng, (uint64_t)twin.ranks);
    draw_costs(&twin, rng);
    int64_t longest = 1 + (int64_t)rng_below(rng, (uint64_t)(16 * twin.width + 1));
    for (int64_t i = 0; i < twin.n; i++) {
        twin.tokens[i] = longest;
        if (rng_below(rng, 3) > 0) longest = 1 + (int64_t)rng_below(rng, (uint64_t)longest);
    }
    return twin;
}

static bool is_near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-9 * fabs(b);
}

static bool equal(const struct mix_choice *found, const struct mix_use *uses, const struct mix_choice *wanted,
                  const struct mix_use *wanted_uses)
{
    bool same = is_near(found->seconds, wanted->seconds) && found->fell_back == wanted->fell_back;
    for (int w = 0; isfinite(wanted->seconds) && w <= RANKS; w++)
        same = same && uses[w].packs == wanted_uses[w].packs && uses[w].tokens == wanted_uses[w].tokens &&
               uses[w].squares == wanted_uses[w].squares;
    return same;
}

/* Coefficients below 0, as interpolation may give them: each lowers the bound by as much as a full pack has. */
TEST(the_bound_is_its_formula_for_coefficients_of_any_sign)
{
    for (uint64_t trial = 0; trial < 1000; trial++) {
        struct rng rng = test_rng(trial, "mix bound", 0);
        struct twin twin = draw(&rng);
        struct mix_group room[RANKS + SEQUENCES];
        const struct mix_problem problem = {twin.ranks, twin.width, twin.rank_tokens, twin.cost, twin.tokens, twin.n,
                                            room,       NULL};
        for (int64_t w = 1; w <= twin.ranks; w++) {
            twin.cost[w].pack_s *= rng_below(&rng, 2) > 0 ? 1.0 : -1.0;
            twin.cost[w].token_s *= rng_below(&rng, 3) > 0 ? 1.0 : -1.0;
            twin.cost[w].square_s *= rng_below(&rng, 3) > 0 ? 1.0 : -1.0;
        }
        if (!CHECK(is_near(mix_bound(&problem), bound_s(&twin, 0, twin.n)))) return;
    }
}

/* A pack of one rank has no sequence that is longer than the rank holds. */
TEST(the_longest_of_a_pack_fits_into_it)
{
    const struct mix_cost cost[] = {{0}, {true, 83.0, 0.0, -1.0 / 64.0}, {true, 100.0, 0.0, -1.0 / 64.0}};
    const int64_t tokens[] = {32, 16};
    struct mix_group room[4];
    const struct mix_problem problem = {.ranks = 2, .width = 2, .rank_tokens = 16.0, .cost = cost, .tokens = tokens,
                                        .n = 2, .room = room};
    CHECK_NEAR(mix_bound(&problem), 83.0 - 4.0 - 16.0 * 16.0 / 64.0, 1e-12); /* of the shorter one */
}

TEST(every_split_equals_the_naive_twin)
{
    int n_mixed = 0;
    for (uint64_t trial = 0; trial < 2000; trial++) {
        struct rng rng = test_rng(trial, "mix twin", 0);
        const struct twin twin = draw(&rng);
        struct mix_group room[RANKS + SEQUENCES];
        struct mix_slack slack[4 * SEQUENCES];
        const struct mix_problem problem = {twin.ranks, twin.width, twin.rank_tokens, twin.cost, twin.tokens, twin.n,
                                            room,       slack};
        struct mix_use once[RANKS + 1] = {0}, wanted_once[RANKS + 1] = {0};
        const struct mix_choice wanted_micro = {micro_batch_s(&twin, 0, twin.n, wanted_once), false};
        const struct mix_choice micro = {mix_micro_batch(&problem, once), false};
        CHECK(is_near(mix_bound(&problem), bound_s(&twin, 0, twin.n)));
        CHECK(equal(&micro, once, &wanted_micro, wanted_once));
        for (int split = SPLIT_STATIC; split <= SPLIT_BEST_STATIC; split++) {
            struct mix_use uses[RANKS + 1] = {0}, wanted_uses[RANKS + 1] = {0};
            const struct mix_choice wanted = choose(&twin, (enum training_split)split, wanted_uses);
            const struct mix_choice found = mix_choose(&problem, (enum training_split)split, uses);
            n_mixed += isfinite(wanted.seconds) && !wanted.fell_back &&
                       (split == SPLIT_FLEXIBLE || split == SPLIT_HYBRID);
            if (equal(&found, uses, &wanted, wanted_uses)) continue;
            CHECK(false);
            printf("\n  trial %d, split %d: %.17g s, the twin %.17g s", (int)trial, split, found.seconds,
                   wanted.seconds);
            return;
        }
    }
    CHECK(n_mixed > 500);
}
