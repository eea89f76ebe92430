#include "models/training/placement.h"

/* A plan that takes one placement after another, and the best of them. */
struct search {
    struct training_plan plan;
    struct training_parts parts; /* of this plan */
    enum training_home kept;
    double reserve_frac, best_s;
    int64_t layers;
    bool found;
    struct training_placement best;
};

void training_placement_set(struct training_plan *plan, enum training_home kept,
                            const struct training_placement *placement)
{
    plan->tiers.persistent = placement->persistent;
    plan->tiers.buffers = placement->buffers;
    plan->tiers.swapped = placement->swapped;
    plan->tiers.activations = placement->swapped > 0 ? kept : HOME_GPU;
    plan->recompute = placement->recomputed > 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
    plan->recompute_layers = placement->recomputed;
}

static struct training_memory memory_of(struct search *search, const struct training_placement *placement)
{
    training_placement_set(&search->plan, search->kept, placement);
    return training_memory_of(&search->parts);
}

static bool fits(struct search *search, const struct training_placement *placement)
{
    const struct training_memory memory = memory_of(search, placement);
    return training_memory_lacks(&search->parts, &memory, search->reserve_frac) == TRAINING_HOMES;
}

static double step_s(struct search *search, const struct training_placement *placement)
{
    training_placement_set(&search->plan, search->kept, placement);
    return training_step_of(&search->parts, search->reserve_frac).step_s;
}

/* The least that the GPU holds with these persistent layers and buffers: all layers recomputed, or all swapped. */
static struct training_placement smallest(struct search *search, int64_t persistent, int64_t buffers, double *bytes)
{
    const struct training_placement recomputed = {persistent, buffers, 0, search->layers};
    const struct training_placement swapped = {persistent, buffers, search->layers, 0};
    const double recomputed_bytes = memory_of(search, &recomputed).total_bytes;
    const double swapped_bytes = memory_of(search, &swapped).total_bytes;
    const bool swaps = search->kept != HOME_GPU && swapped_bytes < recomputed_bytes;
    *bytes = swaps ? swapped_bytes : recomputed_bytes;
    return swaps ? swapped : recomputed;
}

static bool has_room(struct search *search, int64_t persistent, int64_t buffers)
{
    double bytes;
    smallest(search, persistent, buffers, &bytes);
    return bytes <= search->parts.gpu->memory_bytes * (1.0 - search->reserve_frac);
}

/* Recomputes the fewest layers with which the placement fits. From the first one on, each further one takes less
 * memory. False if no number fits. */
static bool recompute_fewest(struct search *search, struct training_placement *placement)
{
    int64_t least = 1, most = search->layers - placement->swapped;
    placement->recomputed = 0;
    if (fits(search, placement)) return true;
    if (most < 1) return false;
    while (least < most) {
        placement->recomputed = least + (most - least) / 2;
        if (fits(search, placement))
            most = placement->recomputed;
        else
            least = placement->recomputed + 1;
    }
    placement->recomputed = least;
    return fits(search, placement);
}

/* All layers that may be swapped or recomputed, given those that are persistent and buffered. */
static void try_activations(struct search *search, int64_t persistent, int64_t buffers)
{
    const int64_t most = search->kept != HOME_GPU ? search->layers : 0;
    for (int64_t swapped = 0; swapped <= most; swapped++) {
        struct training_placement placement = {persistent, buffers, swapped, 0};
        double seconds = step_s(search, &placement);
        if (search->found && seconds >= search->best_s) return; /* as are all that swap more */
        if (!recompute_fewest(search, &placement)) continue;
        if (placement.recomputed > 0) seconds = step_s(search, &placement);
        if (search->found && seconds >= search->best_s) continue;
        search->found = true;
        search->best_s = seconds;
        search->best = placement;
    }
}

/* The most persistent layers, short of all, that leave room for two buffers. */
static int64_t most_persistent(struct search *search)
{
    int64_t most = -1;
    while (most + 1 < search->layers && has_room(search, most + 1, 2)) most++;
    return most;
}

bool training_placement_find(const struct training_parts *parts, double reserve_frac, struct training_placement *best)
{
    struct search search = {.plan = *parts->plan, .parts = *parts, .kept = parts->plan->tiers.activations,
                            .reserve_frac = reserve_frac, .layers = training_plan_layers(parts->plan, parts->llm, 0)};
    double bytes;
    search.parts.plan = &search.plan;
    try_activations(&search, search.layers, 2); /* no weights come: buffers hold none */
    for (int64_t persistent = most_persistent(&search); persistent >= 0; persistent--)
        for (int64_t buffers = 2; buffers == 2 || buffers <= search.layers - persistent; buffers++) {
            if (!has_room(&search, persistent, buffers)) break;
            try_activations(&search, persistent, buffers);
        }
    *best = search.found ? search.best : smallest(&search, 0, 2, &bytes);
    return search.found;
}
