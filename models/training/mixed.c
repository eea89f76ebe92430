#include "models/training/mixed.h"

#include "models/training/tiers.h"

#include <math.h>

/* --- Packs that are priced --- */

enum { POINTS = 3, SHORTER = 16, LEAST_TOKENS = 64 };

/* A micro-batch of equal sequences on a group. */
struct point {
    double tokens, squares;
    struct training_stage stage;
};

static double rank_tokens(const struct training_plan *plan)
{
    return training_plan_rank_tokens(plan);
}

static struct point price(const struct training_parts *parts, int64_t width, int64_t sequences, int64_t tokens)
{
    struct training_plan plan = *parts->plan;
    struct training_parts alone = *parts;
    struct training_priced priced;
    plan.context = width;
    plan.micro_batch = sequences;
    plan.sequence_tokens = tokens;
    alone.plan = &plan;
    training_blocks_of(&alone, &priced);
    return (struct point){(double)sequences * (double)tokens, (double)sequences * (double)tokens * (double)tokens,
                          training_stage_of(&alone, &priced, 0)};
}

/* The longest sequences that a group of `width` ranks holds, many short ones, few short ones. */
static void price_points(const struct training_parts *parts, int64_t width, struct point points[POINTS])
{
    const double most = (double)width * rank_tokens(parts->plan), full = (double)parts->plan->sequence_tokens;
    const int64_t longest = (int64_t)fmin(most, full), few = (int64_t)(most / (double)longest);
    points[0] = price(parts, width, few, longest);
    points[1] = price(parts, width, few * SHORTER, longest / SHORTER);
    points[2] = price(parts, width, few, longest / SHORTER);
}

/* How many of each point have together so many packs, tokens and squares. */
static void weigh(const struct point points[POINTS], const struct mix_use *use, double weights[POINTS])
{
    const double t1 = points[1].tokens - points[0].tokens, q1 = points[1].squares - points[0].squares;
    const double t2 = points[2].tokens - points[0].tokens, q2 = points[2].squares - points[0].squares;
    const double t = use->tokens - use->packs * points[0].tokens, q = use->squares - use->packs * points[0].squares;
    const double determinant = t1 * q2 - t2 * q1;
    weights[1] = (t * q2 - t2 * q) / determinant;
    weights[2] = (t1 * q - t * q1) / determinant;
    weights[0] = use->packs - weights[1] - weights[2];
}

static double weighed_s(const struct point points[POINTS], struct mix_use use)
{
    double weights[POINTS], seconds = 0.0;
    weigh(points, &use, weights);
    for (int k = 0; k < POINTS; k++) seconds += weights[k] * points[k].stage.sum_s;
    return seconds;
}

/* --- Widths --- */

static bool is_power_of_two(int64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Whether a split may have groups of this width: the plan's, powers of two, and those that a sequence may need. */
static bool is_width(const struct training_parts *parts, int64_t width)
{
    const struct training_plan *plan = parts->plan;
    const bool divides_heads = parts->llm->q_heads % (width * plan->tensor) == 0;
    if (width > 1 && plan->context_form == CONTEXT_ALL_TO_ALL && !divides_heads) return false;
    return width == plan->context || is_power_of_two(width) || (plan->split == SPLIT_HYBRID && width < plan->context);
}

static void find_costs(const struct training_parts *parts, struct training_room *room)
{
    const int64_t ranks = training_plan_replicas(parts->plan);
    for (int64_t width = 1; width <= ranks; width++) {
        struct point points[POINTS];
        room->cost[width] = (struct mix_cost){.possible = is_width(parts, width)};
        room->uses[width] = (struct mix_use){.packs = 0.0};
        if (!room->cost[width].possible) continue;
        price_points(parts, width, points);
        room->cost[width].pack_s = weighed_s(points, (struct mix_use){.packs = 1.0});
        room->cost[width].token_s = weighed_s(points, (struct mix_use){.tokens = 1.0});
        room->cost[width].square_s = weighed_s(points, (struct mix_use){.squares = 1.0});
    }
}

/* --- The step --- */

static void add_stage(struct training_stage *sum, double count, const struct training_stage *stage)
{
    training_time_add(&sum->forward, count, &stage->forward);
    training_time_add(&sum->backward, count, &stage->backward);
    training_time_add(&sum->weight, count, &stage->weight);
    training_time_add(&sum->recompute, count, &stage->recompute);
    sum->sum_s += count * stage->sum_s;
    sum->tensor_bytes += count * stage->tensor_bytes;
    sum->context_bytes += count * stage->context_bytes;
    sum->expert_bytes += count * stage->expert_bytes;
    sum->outside_s += count * stage->outside_s;
}

/* The packs of all batches, on the mean over batches and ranks. */
static void add_work(const struct training_parts *parts, const struct training_room *room, struct training_mixed *mixed)
{
    const int64_t ranks = training_plan_replicas(parts->plan);
    double tokens = 0.0;
    for (int64_t width = 1; width <= ranks; width++) {
        const struct mix_use *use = &room->uses[width];
        const double share = (double)width / (double)ranks / (double)parts->plan->lengths->batches;
        double weights[POINTS];
        struct point points[POINTS];
        if (!(use->packs > 0.0)) continue;
        price_points(parts, width, points);
        weigh(points, use, weights);
        for (int k = 0; k < POINTS; k++) add_stage(&mixed->work, weights[k] * share, &points[k].stage);
        mixed->width += (double)width * use->tokens;
        tokens += use->tokens;
    }
    mixed->width /= tokens;
}

static struct mix_problem problem_of(const struct training_plan *plan, int64_t batch)
{
    const struct training_lengths *lengths = plan->lengths;
    return (struct mix_problem){
        .ranks = training_plan_replicas(plan), .width = plan->context, .rank_tokens = rank_tokens(plan),
        .cost = lengths->room->cost, .tokens = lengths->tokens + batch * lengths->sequences, .n = lengths->sequences,
        .room = lengths->room->groups, .slack = lengths->room->slack};
}

/* Seconds of all batches in groups of `width`. */
static double static_s(const struct training_plan *plan, int64_t width)
{
    double sum_s = 0.0;
    for (int64_t i = 0; i < plan->lengths->batches; i++) {
        const struct mix_problem problem = problem_of(plan, i);
        sum_s += mix_static(&problem, width, NULL);
    }
    return sum_s;
}

/* The width of a static split. */
static int64_t width_of(const struct training_plan *plan)
{
    int64_t best = plan->context;
    if (plan->split != SPLIT_BEST_STATIC) return best;
    double best_s = static_s(plan, best);
    for (int64_t width = 1; width <= training_plan_replicas(plan); width *= 2) {
        const double seconds = plan->lengths->room->cost[width].possible ? static_s(plan, width) : (double)INFINITY;
        if (seconds >= best_s) continue;
        best_s = seconds;
        best = width;
    }
    return best;
}

struct training_mixed training_mixed_of(const struct training_parts *parts)
{
    const struct training_plan *plan = parts->plan;
    const struct training_lengths *lengths = plan->lengths;
    const double batches = (double)lengths->batches;
    struct training_mixed mixed = {.waits_s = 0.0};
    double seconds = 0.0;
    find_costs(parts, lengths->room);
    const int64_t width = width_of(plan);
    for (int64_t i = 0; i < lengths->batches; i++) {
        struct mix_problem problem = problem_of(plan, i);
        problem.width = width;
        const struct mix_choice choice = mix_choose(&problem, plan->split, lengths->room->uses);
        seconds += choice.seconds / batches;
        mixed.static_frac += (choice.fell_back ? 1.0 : 0.0) / batches;
        mixed.bound_s += mix_bound(&problem) / batches;
    }
    add_work(parts, lengths->room, &mixed);
    mixed.waits_s = fmax(seconds - mixed.work.sum_s, 0.0);
    return mixed;
}

double training_mixed_most_sequences(const struct training_plan *plan)
{
    const struct training_lengths *lengths = plan->lengths;
    int64_t most = lengths == NULL ? plan->micro_batch : 0;
    for (int64_t batch = 0; lengths != NULL && batch < lengths->batches; batch++) {
        const int64_t *tokens = lengths->tokens + batch * lengths->sequences;
        int64_t left = plan->micro_batch * plan->sequence_tokens, n = 0;
        while (n < lengths->sequences && tokens[lengths->sequences - 1 - n] <= left)
            left -= tokens[lengths->sequences - 1 - n++];
        most = n > most ? n : most;
    }
    return (double)most;
}

const char *training_mixed_problem(const struct training_plan *plan)
{
    const int64_t ranks = training_plan_replicas(plan);
    const struct training_shards shards = training_plan_shards(plan, ranks);
    if (plan->nics.n > 0)
        return "'lengths' and 'nics' exclude each other: sequences of unlike length have one stage, thus one network";
    if (training_tiers_used(&plan->tiers))
        return "'lengths' and 'tiers' exclude each other: ranks have unlike many micro-batches, each of which moves states";
    if (plan->pipeline > 1) return "sequences of unlike length need 'pipeline_parallel' 1";
    if (plan->expert > 1) return "sequences of unlike length need 'expert_parallel' 1";
    if (shards.weights > 1 || shards.gradients > 1)
        return "with sequences of unlike length ranks have unlike many micro-batches, so that 'zero' is at most 1";
    if (ranks > TRAINING_MIXED_RANKS) return "sequences of unlike length are shared by at most 4096 ranks";
    if (plan->sequence_tokens < LEAST_TOKENS) /* a SHORTER-th of them has tokens */
        return "sequences of unlike length need 'sequence_tokens' of at least 64";
    return training_plan_rank_tokens(plan) < (double)LEAST_TOKENS
               ? "sequences of unlike length need micro-batches of at least 64 tokens on each rank"
               : NULL;
}
