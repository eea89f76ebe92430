#include "models/operators/expert_affinity.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const double *step_of(const struct expert_flows *flows, size_t layer)
{
    return flows->flows + layer * flows->experts * flows->experts;
}

struct expert_steps expert_steps_of(const struct expert_flows *flows, const size_t *gpu_of)
{
    const size_t n = flows->experts;
    struct expert_steps steps = {0.0, 0.0};
    for (size_t layer = 0; layer + 1 < flows->layers; layer++)
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n; k++) {
                const double flow = step_of(flows, layer)[i * n + k];
                const bool stays = gpu_of[layer * n + i] == gpu_of[(layer + 1) * n + k];
                *(stays ? &steps.local : &steps.moved) += flow;
            }
    return steps;
}

void expert_place_in_order(const struct expert_flows *flows, size_t n_gpus, size_t *gpu_of)
{
    const size_t n = flows->experts;
    for (size_t i = 0; i < flows->layers * n; i++) gpu_of[i] = i % n / (n / n_gpus);
}

/* Lehmer's generator. */
static size_t draw(uint64_t *random, size_t below)
{
    *random = *random * 48271 % 2147483647;
    return (size_t)(*random % below);
}

/* Experts that are their own successors, whose rows are then shuffled. */
void expert_chain_flows(double *flows, size_t experts, double affinity)
{
    uint64_t random = 1;
    for (size_t i = 0; i < experts; i++)
        for (size_t k = 0; k < experts; k++)
            flows[i * experts + k] = (1.0 - affinity) / (double)experts + (k == i ? affinity : 0.0);
    for (size_t i = experts; i-- > 1;) {
        double *row = flows + i * experts, *other = flows + draw(&random, i + 1) * experts;
        for (size_t k = 0; k < experts; k++) {
            const double kept = row[k];
            row[k] = other[k];
            other[k] = kept;
        }
    }
}

/* --- One layer --- */

/* Memory of a search. */
struct search {
    const struct expert_flows *flows;
    size_t n_gpus;
    double *stays;       /* [experts][n_gpus]: what stays if the expert is on the GPU */
    double *best;        /* [n_gpus]: gain of the best path to the GPU */
    size_t *came_from;   /* [n_gpus]; n_gpus: from nowhere */
    size_t *moved;       /* [n_gpus]: the expert that the last move of this path takes along */
    double least;        /* gains below it are rounding */
};

/* With the layers before and behind, as far as they are placed: bit 0 and 1 of `sides`. */
static void count_stays(const struct search *search, const size_t *gpu_of, size_t layer, int sides)
{
    const size_t n = search->flows->experts, n_gpus = search->n_gpus;
    memset(search->stays, 0, n * n_gpus * sizeof(double));
    for (size_t i = 0; i < n && (sides & 1) != 0 && layer > 0; i++)
        for (size_t k = 0; k < n; k++)
            search->stays[k * n_gpus + gpu_of[(layer - 1) * n + i]] += step_of(search->flows, layer - 1)[i * n + k];
    for (size_t i = 0; i < n && (sides & 2) != 0 && layer + 1 < search->flows->layers; i++)
        for (size_t k = 0; k < n; k++)
            search->stays[i * n_gpus + gpu_of[(layer + 1) * n + k]] += step_of(search->flows, layer)[i * n + k];
}

/* Lengthens the best paths of moves by one. Returns a GPU whose path is better than before, or n_gpus. */
static size_t relax(const struct search *search, const size_t *gpus)
{
    size_t changed = search->n_gpus;
    for (size_t i = 0; i < search->flows->experts; i++)
        for (size_t to = 0; to < search->n_gpus; to++) {
            const size_t from = gpus[i];
            const double *stays = search->stays + i * search->n_gpus;
            const double gain = search->best[from] + stays[to] - stays[from];
            if (to == from || gain <= search->best[to] + search->least) continue;
            search->best[to] = gain;
            search->came_from[to] = from;
            search->moved[to] = i;
            changed = to;
        }
    return changed;
}

/* What is gained by moving experts along the cycle through the GPU. */
static double gain_of(const struct search *search, size_t gpu)
{
    const size_t last = gpu;
    double gain = 0.0;
    do {
        const double *stays = search->stays + search->moved[gpu] * search->n_gpus;
        gain += stays[gpu] - stays[search->came_from[gpu]];
        gpu = search->came_from[gpu];
    } while (gpu != last);
    return gain;
}

/* A GPU on the cycle that this GPU's path has come from; n_gpus: its path has a beginning. */
static size_t find_cycle(const struct search *search, size_t gpu)
{
    for (size_t i = 0; i < search->n_gpus && gpu < search->n_gpus; i++) gpu = search->came_from[gpu];
    return gpu;
}

/* Moves experts along the cycle through the GPU. False: rounding made the cycle, which gains nothing. */
static bool turn(const struct search *search, size_t *gpus, size_t gpu)
{
    if (gain_of(search, gpu) <= 0.0) return false;
    const size_t last = gpu;
    do {
        const size_t before = search->came_from[gpu];
        gpus[search->moved[gpu]] = gpu;
        gpu = before;
    } while (gpu != last);
    return true;
}

/* Turns cycles that gain until there is none (Bellman and Ford's rule, for gains). */
static void place_layer(const struct search *search, size_t *gpus)
{
    const size_t none = search->n_gpus;
    for (;;) {
        size_t changed, cycle;
        for (size_t gpu = 0; gpu < none; gpu++) search->best[gpu] = 0.0, search->came_from[gpu] = none;
        do {
            changed = relax(search, gpus);
            cycle = changed < none ? find_cycle(search, changed) : none;
        } while (changed < none && cycle == none);
        if (cycle == none || !turn(search, gpus, cycle)) return;
    }
}

/* --- All layers --- */

/* All layers again and again while a round gains. Returns what stays. */
static double improve(const struct search *search, size_t *gpu_of)
{
    const size_t n = search->flows->experts;
    double local = expert_steps_of(search->flows, gpu_of).local;
    for (double before = -1.0; local > before + search->least;) {
        before = local;
        for (size_t layer = 0; layer < search->flows->layers; layer++) {
            count_stays(search, gpu_of, layer, 3);
            place_layer(search, gpu_of + layer * n);
        }
        local = expert_steps_of(search->flows, gpu_of).local;
    }
    return local;
}

/* Layers one after the other from the first one placed on, to both sides; then all. */
static double place_layers(const struct search *search, size_t first, size_t *gpu_of)
{
    const size_t n = search->flows->experts, layers = search->flows->layers;
    for (size_t layer = first + 1; layer < layers; layer++) {
        count_stays(search, gpu_of, layer, 1);
        place_layer(search, gpu_of + layer * n);
    }
    for (size_t layer = first; layer-- > 0;) {
        count_stays(search, gpu_of, layer, 2);
        place_layer(search, gpu_of + layer * n);
    }
    return improve(search, gpu_of);
}

/* One layer in order, then at random, the same in every search. */
static void start_layer(const struct search *search, size_t start, uint64_t *random, size_t *gpus)
{
    const size_t n = search->flows->experts;
    for (size_t i = n - 1; i > 0 && start > 0; i--) {
        const size_t k = draw(random, i + 1), kept = gpus[i];
        gpus[i] = gpus[k];
        gpus[k] = kept;
    }
}

static void keep_better(const struct search *search, double local, const size_t *tried, double *best, size_t *gpu_of)
{
    if (local <= *best + search->least) return;
    *best = local;
    memcpy(gpu_of, tried, search->flows->layers * search->flows->experts * sizeof *gpu_of);
}

/* The best of the given placement, of experts in order and of some starts: more of them where they cost little. */
static void place_best(const struct search *search, size_t *tried, size_t *gpu_of)
{
    const size_t n = search->flows->experts;
    const size_t n_starts = n <= 16 ? 64 : n <= 64 ? 8 : 1;
    uint64_t random = 1;
    double best = improve(search, gpu_of);
    expert_place_in_order(search->flows, search->n_gpus, tried);
    keep_better(search, improve(search, tried), tried, &best, gpu_of);
    expert_place_in_order(search->flows, search->n_gpus, tried);
    for (size_t start = 0; start < n_starts; start++) {
        const size_t first = start % search->flows->layers;
        start_layer(search, start, &random, tried + first * n);
        keep_better(search, place_layers(search, first, tried), tried, &best, gpu_of);
    }
}

size_t expert_affinity_doubles(const struct expert_flows *flows, size_t n_gpus)
{
    return (flows->experts + 1) * n_gpus;
}

size_t expert_affinity_sizes(const struct expert_flows *flows, size_t n_gpus)
{
    return 2 * n_gpus + flows->layers * flows->experts;
}

void expert_place_by_affinity(const struct expert_flows *flows, size_t n_gpus, double *doubles, size_t *sizes,
                              size_t *gpu_of)
{
    const struct expert_steps steps = expert_steps_of(flows, gpu_of);
    const struct search search = {.flows = flows, .n_gpus = n_gpus,
                                  .stays = doubles,
                                  .best = doubles + flows->experts * n_gpus,
                                  .came_from = sizes,
                                  .moved = sizes + n_gpus,
                                  .least = 1e-12 * (steps.local + steps.moved)};
    place_best(&search, sizes + 2 * n_gpus, gpu_of);
}
