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

/* --- The first group that takes a sequence --- */

/* A tree over groups in their order, whose leaves are numbers `leaves` and up; `limit_s`: of every group. */
struct fitting {
    const struct mix_problem *problem;
    struct mix_slack *slack; /* [2 leaves] */
    int64_t leaves;
    double limit_s;
};

static const struct mix_slack no_group = {-(double)INFINITY, -(double)INFINITY, 0};

static struct fitting fitting_of(const struct mix_problem *problem, int64_t most_groups, double limit_s)
{
    struct fitting fitting = {problem, problem->slack, 1, limit_s};
    while (fitting.leaves < most_groups) fitting.leaves *= 2;
    for (int64_t i = 0; i < 2 * fitting.leaves; i++) fitting.slack[i] = no_group;
    return fitting;
}

/* A group has got a sequence. */
static void refit(const struct fitting *fitting, int64_t index)
{
    const struct mix_group *group = &fitting->problem->room[index];
    int64_t node = fitting->leaves + index;
    fitting->slack[node] = (struct mix_slack){(double)group->width * fitting->problem->rank_tokens - group->tokens,
                                              fitting->limit_s - group->seconds, group->width};
    for (node /= 2; node >= 1; node /= 2) {
        const struct mix_slack *left = &fitting->slack[2 * node], *right = left + 1;
        const bool is_uniform = left->width == right->width || right->tokens < 0.0;
        fitting->slack[node] = (struct mix_slack){fmax(left->tokens, right->tokens),
                                                  fmax(left->seconds, right->seconds), is_uniform ? left->width : 0};
    }
}

/* Whether a group below the node may take a sequence. The end is compared exactly at the group alone. */
static bool may_take(const struct fitting *fitting, int64_t node, double tokens)
{
    const struct mix_slack *slack = &fitting->slack[node];
    const struct mix_cost *cost = &fitting->problem->cost[slack->width];
    if (slack->tokens < tokens) return false;
    if (slack->width == 0 || isinf(fitting->limit_s)) return true;
    return cost->token_s * tokens + cost->square_s * square(tokens) <= slack->seconds + 1e-9 * fitting->limit_s;
}

/* Whether the group still holds its pack, and ends in time, with a further sequence. */
static bool takes(const struct fitting *fitting, const struct mix_group *group, double tokens)
{
    return holds(fitting->problem, group->width, group->tokens + tokens) &&
           pack_s(fitting->problem, group->width, group->tokens + tokens, group->squares + square(tokens)) <=
               fitting->limit_s;
}

/* The first group below the node that takes a sequence; -1: none does. */
static int64_t first_below(const struct fitting *fitting, int64_t node, double tokens)
{
    if (!may_take(fitting, node, tokens)) return -1;
    if (node >= fitting->leaves)
        return takes(fitting, &fitting->problem->room[node - fitting->leaves], tokens) ? node - fitting->leaves : -1;
    const int64_t found = first_below(fitting, 2 * node, tokens);
    return found >= 0 ? found : first_below(fitting, 2 * node + 1, tokens);
}

/* --- The group with the least work --- */

static bool is_before(const struct mix_group *a, const struct mix_group *b)
{
    return a->seconds != b->seconds ? a->seconds < b->seconds : a->index < b->index;
}

/* Work was added to the first of a heap of groups, which has had the least. */
static void sift(struct mix_group *heap, int64_t n)
{
    const struct mix_group moved = heap[0];
    int64_t at = 0;
    for (int64_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
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
    const struct fitting fitting = fitting_of(problem, problem->n, (double)INFINITY);
    int64_t n_packs = 0;
    for (int64_t i = 0; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        int64_t k = first_below(&fitting, 1, tokens);
        if (k < 0) packs[k = n_packs++] = (struct mix_group){.width = width};
        add_sequence(problem, &packs[k], tokens);
        refit(&fitting, k);
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
    for (int64_t g = 0; g < n_groups; g++) loads[g] = (struct mix_group){.index = g};
    for (int64_t i = 0; i < n_packs; i++) {
        loads[0].seconds += problem->room[i].seconds;
        most_s = fmax(most_s, loads[0].seconds);
        sift(loads, n_groups);
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

/* Makes groups that compute the sequences within `most_s`. Returns for how many of them the ranks suffice. */
static int64_t mix_within(const struct mix_problem *problem, double most_s, int64_t *groups_made)
{
    struct mix_group *groups = problem->room;
    const struct fitting fitting = fitting_of(problem, problem->n < problem->ranks ? problem->n : problem->ranks,
                                              most_s);
    int64_t n_groups = 0, left = problem->ranks, i = 0;
    for (; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        int64_t g = first_below(&fitting, 1, tokens);
        if (g < 0) {
            const int64_t width = narrowest(problem, tokens, most_s);
            if (width == 0 || width > left) break;
            groups[g = n_groups++] = (struct mix_group){.width = width};
            left -= width;
        }
        add_sequence(problem, &groups[g], tokens);
        refit(&fitting, g);
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
    if (!(high_s > 0.0)) high_s = 1e-6;
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
    const double share = sum_tokens(problem) / (double)count;
    double seconds = 0.0;
    int64_t from = 0;
    while (from < problem->n) {
        struct mix_problem part = *problem;
        part.tokens += from;
        part.n = 0;
        for (double tokens = 0.0; from + part.n < problem->n && tokens < share; part.n++)
            tokens += (double)part.tokens[part.n];
        part.n = mix_within(&part, (double)INFINITY, NULL);
        if (part.n == 0) return (double)INFINITY;
        seconds += mix_micro_batch(&part, uses);
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

/* A sequence on the ranks with the least work, together. Ranks are in the order of their work, and stay so. */
static void place_long(const struct mix_problem *problem, int64_t width, double tokens, struct mix_use *uses)
{
    struct mix_group *ranks = problem->room;
    const double end_s = ranks[width - 1].seconds + pack_s(problem, width, tokens, square(tokens));
    int64_t to = width;
    for (; to < problem->ranks && ranks[to].seconds < end_s; to++) ranks[to - width].seconds = ranks[to].seconds;
    for (int64_t i = to - width; i < to; i++) ranks[i].seconds = end_s;
    use(uses, width, 1.0, tokens, square(tokens));
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
    sift(problem->room, problem->ranks);
}

/* The fewest ranks that hold a sequence; 0: none. */
static int64_t fewest(const struct mix_problem *problem, double tokens)
{
    const int64_t least = (int64_t)ceil(tokens / problem->rank_tokens);
    for (int64_t width = least > 1 ? least : 1; width <= problem->ranks; width++)
        if (holds(problem, width, tokens)) return width;
    return 0;
}

/* The longest come first: no sequence needs several ranks after one that needs a single rank. Ranks in the order of
 * their work are a heap, too. */
static double hybrid_s(const struct mix_problem *problem, struct mix_use *uses)
{
    struct mix_group *ranks = problem->room;
    double most_s = 0.0;
    for (int64_t i = 0; i < problem->ranks; i++) ranks[i] = (struct mix_group){.index = i};
    for (int64_t i = 0; i < problem->n; i++) {
        const double tokens = (double)problem->tokens[i];
        const int64_t width = fewest(problem, tokens);
        if (width == 0) return (double)INFINITY;
        if (width > 1)
            place_long(problem, width, tokens, uses);
        else
            place_short(problem, tokens, uses);
    }
    for (int64_t i = 0; i < problem->ranks; i++) most_s = fmax(most_s, ranks[i].seconds);
    return most_s;
}

/* --- All --- */

/* What other sequences of a pack add at least to its time. Interpolated coefficients may be below 0; all others have
 * together at most `most` tokens, and that times their longest as squares. */
static double least_added_s(const struct mix_problem *problem, int64_t width)
{
    const struct mix_cost *cost = &problem->cost[width];
    const double most = (double)width * problem->rank_tokens;
    return fmin(cost->token_s, 0.0) * most + fmin(cost->square_s, 0.0) * most * fmin(most, (double)problem->tokens[0]);
}

double mix_bound(const struct mix_problem *problem)
{
    struct mix_group *least = problem->room; /* of each sequence: seconds of a pack, and as `squares` work in it */
    double most_s = 0.0, work_s = 0.0;
    for (int64_t i = 0; i < problem->n; i++) least[i].seconds = least[i].squares = (double)INFINITY;
    for (int64_t width = 1; width <= problem->ranks; width++) {
        const struct mix_cost *cost = &problem->cost[width];
        if (!cost->possible || problem->n == 0) continue;
        const double added_s = least_added_s(problem, width);
        for (int64_t i = problem->n - 1; i >= 0 && holds(problem, width, (double)problem->tokens[i]); i--) {
            const double tokens = (double)problem->tokens[i];
            const double seconds = pack_s(problem, width, tokens, square(tokens));
            least[i].seconds = fmin(least[i].seconds, seconds + added_s);
            least[i].squares = fmin(least[i].squares, (double)width * (seconds - fmax(cost->pack_s, 0.0)));
        }
    }
    for (int64_t i = 0; i < problem->n; i++) {
        most_s = fmax(most_s, least[i].seconds);
        work_s += least[i].squares;
    }
    return fmax(most_s, work_s / (double)problem->ranks);
}

struct mix_choice mix_choose(const struct mix_problem *problem, enum training_split split, struct mix_use *uses)
{
    if (split != SPLIT_FLEXIBLE && split != SPLIT_HYBRID)
        return (struct mix_choice){mix_static(problem, problem->width, uses), false};
    const int64_t width = best_width(problem);
    const double static_s = mix_static(problem, width, NULL);
    double mixed_s = (double)INFINITY;
    const int64_t count = split == SPLIT_FLEXIBLE ? best_count(problem, &mixed_s) : 0;
    if (split == SPLIT_HYBRID) mixed_s = hybrid_s(problem, NULL);
    if (static_s <= mixed_s) return (struct mix_choice){mix_static(problem, width, uses), true};
    return (struct mix_choice){
        split == SPLIT_FLEXIBLE ? micro_batches_s(problem, count, uses) : hybrid_s(problem, uses), false};
}
