#include "models/training/traffic.h"

#include <math.h>

/* A walk over all messages: the first one adds up what each rank sends and gets, the second one what racks do. */
struct walk {
    const struct training_plan *plan;
    int64_t nodes_per_rack;
    struct training_levels *levels;
    double *leaves, *comes;         /* [ranks] bytes to and from other nodes */
    double *rack_leaves, *rack_comes; /* [racks] GPUs that send to other racks, and that get from them */
    bool is_second;
};

static int64_t node_of(const struct walk *walk, int64_t rank)
{
    return rank / walk->plan->gpus_per_node;
}

static int64_t rack_of(const struct walk *walk, int64_t rank)
{
    return walk->nodes_per_rack > 0 ? node_of(walk, rank) / walk->nodes_per_rack : 0;
}

static void add_message(struct walk *walk, int64_t from, int64_t to, double bytes)
{
    const bool leaves_node = node_of(walk, from) != node_of(walk, to);
    const bool leaves_rack = rack_of(walk, from) != rack_of(walk, to);
    if (!walk->is_second) {
        *(leaves_rack   ? &walk->levels->site_bytes
          : leaves_node ? &walk->levels->rack_bytes
                        : &walk->levels->node_bytes) += bytes;
        walk->leaves[from] += leaves_node ? bytes : 0.0;
        walk->comes[to] += leaves_node ? bytes : 0.0;
    } else if (leaves_rack) {
        const double part = bytes / fmax(walk->leaves[from], walk->comes[to]);
        walk->rack_leaves[rack_of(walk, from)] += part;
        walk->rack_comes[rack_of(walk, to)] += part;
    }
}

/* Members of a group. */
struct members {
    int64_t first, stride, n;
};

static int64_t member(const struct members *group, int64_t i)
{
    return group->first + i % group->n * group->stride;
}

/* The end of the members of a node, of which i is the first. */
static int64_t run_end(const struct walk *walk, const struct members *group, int64_t i)
{
    int64_t end = i + 1;
    while (end < group->n && node_of(walk, member(group, end)) == node_of(walk, member(group, i))) end++;
    return end;
}

static int64_t fewest_members(const struct walk *walk, const struct members *group)
{
    int64_t least = group->n;
    for (int64_t i = 0, end; i < group->n; i = end) {
        end = run_end(walk, group, i);
        least = end - i < least ? end - i : least;
    }
    return least;
}

static void walk_ring(struct walk *walk, const struct members *group, double bytes)
{
    const int64_t channels = fewest_members(walk, group);
    const bool is_wide = channels < group->n;
    for (int64_t i = 0, end; i < group->n; i = end) {
        end = run_end(walk, group, i);
        for (int64_t k = i; k + 1 < end || (k < end && !is_wide); k++)
            add_message(walk, member(group, k), member(group, k + 1), bytes);
        for (int64_t c = 0; c < channels && is_wide; c++)
            add_message(walk, member(group, i + c), member(group, end + c), bytes / (double)channels);
    }
}

static void walk_shift(struct walk *walk, const struct members *group, double bytes)
{
    for (int64_t i = 0; i < group->n; i++) add_message(walk, member(group, i), member(group, i + 1), bytes);
}

static void walk_all_to_all(struct walk *walk, const struct members *group, double bytes)
{
    for (int64_t i = 0; i < group->n; i++)
        for (int64_t k = 1; k < group->n; k++)
            add_message(walk, member(group, i), member(group, i + k), bytes / (double)(group->n - 1));
}

static void walk_stages(struct walk *walk, const struct training_exchange *exchange, int64_t stage)
{
    const int64_t ranks = exchange->group.stride, stages = walk->plan->pipeline;
    const double bytes = stage == stages - 1 ? exchange->wrap_bytes : exchange->bytes;
    for (int64_t i = 0; i < ranks && bytes > 0.0; i++) {
        const int64_t from = stage * ranks + i, to = (stage + 1) % stages * ranks + i;
        add_message(walk, from, to, bytes);
        add_message(walk, to, from, bytes);
    }
}

static void walk_exchange(struct walk *walk, const struct training_exchange *exchange, int64_t stage)
{
    const int64_t ranks = training_plan_gpus(walk->plan) / walk->plan->pipeline, stride = exchange->group.stride;
    const int64_t block = exchange->group.gpus * stride;
    if (exchange->kind == EXCHANGE_STAGES) {
        walk_stages(walk, exchange, stage);
        return;
    }
    for (int64_t first = stage * ranks; first + block <= (stage + 1) * ranks; first += block)
        for (int64_t i = 0; i < stride; i++) {
            const struct members group = {first + i, stride, exchange->group.gpus};
            if (exchange->kind == EXCHANGE_RING) walk_ring(walk, &group, exchange->bytes);
            if (exchange->kind == EXCHANGE_SHIFT) walk_shift(walk, &group, exchange->bytes);
            if (exchange->kind == EXCHANGE_ALL_TO_ALL) walk_all_to_all(walk, &group, exchange->bytes);
        }
}

void training_levels_of(const struct training_plan *plan, const struct training_exchanges *stages,
                        int64_t nodes_per_rack, double *room, struct training_levels *levels)
{
    const int64_t ranks = training_plan_gpus(plan);
    struct walk walk = {.plan = plan, .nodes_per_rack = nodes_per_rack, .levels = levels, .leaves = room,
                        .comes = room + ranks, .rack_leaves = room + 2 * ranks, .rack_comes = room + 3 * ranks};
    double most = 0.0;
    *levels = (struct training_levels){.binds_at = (double)INFINITY};
    for (int pass = 0; pass < 2; pass++) {
        walk.is_second = pass == 1;
        for (int64_t stage = 0; stage < plan->pipeline; stage++)
            for (int32_t i = 0; i < stages[stage].n; i++) walk_exchange(&walk, &stages[stage].of[i], stage);
    }
    for (int64_t rack = 0; rack < ranks; rack++) most = fmax(most, fmax(walk.rack_leaves[rack], walk.rack_comes[rack]));
    if (most > 0.0) levels->binds_at = (double)(nodes_per_rack * plan->gpus_per_node) / most;
}
