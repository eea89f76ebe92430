#include "models/training/mix.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* --- Packs --- */

static double square(double tokens)
{
    return tokens * tokens;
}

static double pack_s(const struct mix_problem *problem, int64_t width, double tokens, double squares)
{
    const struct mix_cost *cost = &problem->cost[width];
    return cost->pack_s + cost->token_s * tokens + cost->square_s * squares;
}

static bool holds(const struct mix_problem *problem, int64_t width, double tokens)
{
    return problem->cost[width].possible && tokens <= (double)width * problem->rank_tokens;
}

static void use(struct mix_use *uses, int64_t width, double packs, double tokens, double squares)
{
    if (uses == NULL) return;
    uses[width].packs += packs;
    uses[width].tokens += tokens;
    uses[width].squares += squares;
}

static void use_group(struct mix_use *uses, const struct mix_group *group)
{
    use(uses, group->width, 1.0, group->tokens, group->squares);
}

static void add_sequence(const struct mix_problem *problem, struct mix_group *group, double tokens)
{
    group->tokens += tokens;
    group->squares += square(tokens);
    group->seconds = pack_s(problem, group->width, group->tokens, group->squares);
}

/* --- Static --- */

static int compare_packs(const void *one, const void *other)
{
    const struct mix_group *a = one, *b = other;
    if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
    if (a->tokens != b->tokens) return a->tokens > b->tokens ? -1 : 1;
    return (a->squares < b->squares) - (a->squares > b->squares);
}

/* Packs all sequences for groups of `width`, into the first pack with room. Returns the number of packs. */
static int64_t pack_all(const struct mix_problem *problem, int64_t width)
{
    struct mix_group *packs = problem->room;
    int64_t n_packs = 0;
    for (int64_t i = 0; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        int64_t k = 0;
        while (k < n_packs && !holds(problem, width, packs[k].tokens + tokens)) k++;
        if (k == n_packs) packs[n_packs++] = (struct mix_group){.width = width};
        add_sequence(problem, &packs[k], tokens);
    }
    return n_packs;
}

double mix_static(const struct mix_problem *problem, int64_t width, struct mix_use *uses)
{
    struct mix_group *loads = problem->room + problem->n;
    const int64_t n_groups = problem->ranks / width;
    double most_s = 0.0;
    if (n_groups < 1 || (problem->n > 0 && !holds(problem, width, (double)problem->tokens[0]))) return (double)INFINITY;
    const int64_t n_packs = pack_all(problem, width);
    qsort(problem->room, (size_t)n_packs, sizeof *problem->room, compare_packs);
    for (int64_t g = 0; g < n_groups; g++) loads[g].seconds = 0.0;
    for (int64_t i = 0; i < n_packs; i++) {
        int64_t least = 0;
        for (int64_t g = 1; g < n_groups; g++)
            if (loads[g].seconds < loads[least].seconds) least = g;
        loads[least].seconds += problem->room[i].seconds;
        most_s = fmax(most_s, loads[least].seconds);
        use_group(uses, &problem->room[i]);
    }
    return most_s;
}

/* The static width that takes the least time. */
static int64_t best_width(const struct mix_problem *problem)
{
    int64_t best = problem->width;
    double best_s = mix_static(problem, best, NULL);
    for (int64_t width = 1; width <= problem->ranks; width *= 2) {
        const double seconds = problem->cost[width].possible ? mix_static(problem, width, NULL) : (double)INFINITY;
        if (seconds >= best_s) continue;
        best_s = seconds;
        best = width;
    }
    return best;
}

/* --- Flexible --- */

/* The narrowest group whose width is a power of two and which computes a sequence alone within `most_s`; 0: none. */
static int64_t narrowest(const struct mix_problem *problem, double tokens, double most_s)
{
    for (int64_t width = 1; width <= problem->ranks; width *= 2)
        if (holds(problem, width, tokens) && pack_s(problem, width, tokens, square(tokens)) <= most_s) return width;
    return 0;
}

/* Whether the group still holds its pack, and ends in time, with a further sequence. */
static bool takes(const struct mix_problem *problem, const struct mix_group *group, double tokens, double most_s)
{
    return holds(problem, group->width, group->tokens + tokens) &&
           pack_s(problem, group->width, group->tokens + tokens, group->squares + square(tokens)) <= most_s;
}

/* Makes groups that compute the sequences within `most_s`. Returns for how many of them the ranks suffice. */
static int64_t mix_within(const struct mix_problem *problem, double most_s, int64_t *groups_made)
{
    struct mix_group *groups = problem->room;
    int64_t n_groups = 0, left = problem->ranks, i = 0;
    for (; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        int64_t g = 0;
        while (g < n_groups && !takes(problem, &groups[g], tokens, most_s)) g++;
        if (g == n_groups) {
            const int64_t width = narrowest(problem, tokens, most_s);
            if (width == 0 || width > left) break;
            groups[n_groups++] = (struct mix_group){.width = width};
            left -= width;
        }
        add_sequence(problem, &groups[g], tokens);
    }
    if (groups_made != NULL) *groups_made = n_groups;
    return i;
}

static bool suffices(const struct mix_problem *problem, double most_s)
{
    return mix_within(problem, most_s, NULL) == problem->n;
}

double mix_micro_batch(const struct mix_problem *problem, struct mix_use *uses)
{
    const double precision = 1e-6;
    double low_s = 0.0, high_s = mix_bound(problem), seconds = 0.0;
    int64_t n_groups;
    if (problem->n == 0) return 0.0;
    if (!isfinite(high_s) || !suffices(problem, (double)INFINITY)) return (double)INFINITY;
    while (!suffices(problem, high_s)) {
        low_s = high_s;
        high_s *= 2.0;
    }
    while (high_s - low_s > precision * high_s) {
        const double middle_s = 0.5 * (low_s + high_s);
        *(suffices(problem, middle_s) ? &high_s : &low_s) = middle_s;
    }
    mix_within(problem, high_s, &n_groups);
    for (int64_t g = 0; g < n_groups; g++) {
        seconds = fmax(seconds, problem->room[g].seconds);
        use_group(uses, &problem->room[g]);
    }
    return seconds;
}

static double sum_tokens(const struct mix_problem *problem)
{
    double sum = 0.0;
    for (int64_t i = 0; i < problem->n; i++) sum += (double)problem->tokens[i];
    return sum;
}

/* The batch in `count` micro-batches of as many tokens, or more where ranks do not hold the sequences of one. */
static double micro_batches_s(const struct mix_problem *problem, int64_t count, struct mix_use *uses)
{
    const double all = sum_tokens(problem);
    double before = 0.0, seconds = 0.0;
    int64_t from = 0;
    while (from < problem->n) {
        const double until = before + all / (double)count;
        struct mix_problem part = *problem;
        part.tokens += from;
        part.n = 0;
        for (double tokens = before; from + part.n < problem->n && tokens < until; part.n++)
            tokens += (double)part.tokens[part.n];
        part.n = mix_within(&part, (double)INFINITY, NULL);
        if (part.n == 0) return (double)INFINITY;
        seconds += mix_micro_batch(&part, uses);
        before += sum_tokens(&part);
        from += part.n;
    }
    return seconds;
}

/* The number of micro-batches that takes the least time: of the fewest that hold all tokens, and some more. */
static int64_t best_count(const struct mix_problem *problem, double *best_s)
{
    enum { TRIES = 8 };
    const double holds_tokens = (double)problem->ranks * problem->rank_tokens;
    const int64_t least = (int64_t)ceil(sum_tokens(problem) / holds_tokens);
    int64_t best = 1;
    *best_s = (double)INFINITY;
    for (int64_t count = least > 1 ? least : 1, tries = 0; tries < TRIES; count++, tries++) {
        const double seconds = micro_batches_s(problem, count, NULL);
        if (seconds >= *best_s) continue;
        *best_s = seconds;
        best = count;
    }
    return best;
}

/* --- Hybrid --- */

/* Puts the first `count` of the ranks, which are in the order of their work and now all have as much, back in order. */
static void reorder(struct mix_group *ranks, int64_t n, int64_t count)
{
    for (int64_t i = count - 1; i >= 0; i--) {
        const struct mix_group moved = ranks[i];
        int64_t to = i;
        for (; to + 1 < n && ranks[to + 1].seconds < moved.seconds; to++) ranks[to] = ranks[to + 1];
        ranks[to] = moved;
    }
}

/* A sequence on the ranks with the least work, together. */
static void place_long(const struct mix_problem *problem, int64_t width, double tokens, struct mix_use *uses)
{
    struct mix_group *ranks = problem->room;
    const double end_s = ranks[width - 1].seconds + pack_s(problem, width, tokens, square(tokens));
    for (int64_t i = 0; i < width; i++) ranks[i].seconds = end_s;
    use(uses, width, 1.0, tokens, square(tokens));
    reorder(ranks, problem->ranks, width);
}

/* A sequence in the pack of the rank with the least work, or in a new one. */
static void place_short(const struct mix_problem *problem, double tokens, struct mix_use *uses)
{
    struct mix_group *rank = &problem->room[0];
    const struct mix_cost *cost = &problem->cost[1];
    const bool joins = rank->width == 1 && holds(problem, 1, rank->tokens + tokens);
    rank->seconds += (joins ? 0.0 : cost->pack_s) + cost->token_s * tokens + cost->square_s * square(tokens);
    rank->tokens = (joins ? rank->tokens : 0.0) + tokens;
    rank->width = 1;
    use(uses, 1, joins ? 0.0 : 1.0, tokens, square(tokens));
    reorder(problem->room, problem->ranks, 1);
}

/* The fewest ranks that hold a sequence; 0: none. */
static int64_t fewest(const struct mix_problem *problem, double tokens)
{
    for (int64_t width = 1; width <= problem->ranks; width++)
        if (holds(problem, width, tokens)) return width;
    return 0;
}

static double hybrid_s(const struct mix_problem *problem, struct mix_use *uses)
{
    struct mix_group *ranks = problem->room;
    for (int64_t i = 0; i < problem->ranks; i++) ranks[i] = (struct mix_group){.width = 0};
    for (int64_t i = 0; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        const int64_t width = fewest(problem, tokens);
        if (width == 0) return (double)INFINITY;
        if (width > 1)
            place_long(problem, width, tokens, uses);
        else
            place_short(problem, tokens, uses);
    }
    return ranks[problem->ranks - 1].seconds;
}

/* --- All --- */

double mix_bound(const struct mix_problem *problem)
{
    double most_s = 0.0, work_s = 0.0;
    for (int64_t i = 0; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        double least_s = (double)INFINITY, least_work_s = (double)INFINITY;
        for (int64_t width = 1; width <= problem->ranks; width++) {
            const double seconds = pack_s(problem, width, tokens, square(tokens));
            if (!holds(problem, width, tokens)) continue;
            least_s = fmin(least_s, seconds);
            least_work_s = fmin(least_work_s, (double)width * (seconds - problem->cost[width].pack_s));
        }
        most_s = fmax(most_s, least_s);
        work_s += least_work_s;
    }
    return fmax(most_s, work_s / (double)problem->ranks);
}

double mix_split(const struct mix_problem *problem, enum training_split split, struct mix_use *uses)
{
    if (split == SPLIT_STATIC) return mix_static(problem, problem->width, uses);
    const int64_t width = best_width(problem);
    const double static_s = mix_static(problem, width, NULL);
    double mixed_s = (double)INFINITY;
    const int64_t count = split == SPLIT_FLEXIBLE ? best_count(problem, &mixed_s) : 0;
    if (split == SPLIT_HYBRID) mixed_s = hybrid_s(problem, NULL);
    if (static_s <= mixed_s) return mix_static(problem, width, uses);
    return split == SPLIT_FLEXIBLE ? micro_batches_s(problem, count, uses) : hybrid_s(problem, uses);
}
