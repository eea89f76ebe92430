#include "sim/world/kv/chunk_attention.h"

#include "sim/core/hash.h"
#include "sim/core/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double chunk_attention_pair(const struct chunk_attention *model, uint64_t chunk, uint64_t neighbour)
{
    struct rng rng;
    rng_init(&rng, model->seed, model->run, "chunk-attention", hash_mix(hash_mix(chunk) + neighbour));
    gsl_rng gsl = rng_gsl(&rng);
    return model->inter * gsl_ran_lognormal(&gsl, -model->sigma * model->sigma / 2, model->sigma);
}

double chunk_attention_observe(const struct chunk_attention *model, uint64_t chunk, const struct prompt_chunk *context,
                               int32_t n, struct chunk_neighbour *neighbours)
{
    double a_over_b = 0.0;
    for (int32_t j = 0; j < n; j++) {
        const double pair = chunk_attention_pair(model, chunk, context[j].id);
        neighbours[j] = (struct chunk_neighbour){context[j].id, pair * context[j].tokens, context[j].tokens, -1};
        a_over_b += pair;
    }
    return 1.0 / (1.0 + exp(-a_over_b));
}

/* --- Places --- */

static int compare_places(const void *a, const void *b)
{
    const struct chunk_place *left = a, *right = b;
    if (left->id != right->id) return left->id < right->id ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

void chunk_order_fill(struct chunk_order *order, const struct prompt_chunk *chunks, int32_t n)
{
    order->n = n;
    for (int32_t i = 0; i < n; i++) order->places[i] = (struct chunk_place){chunks[i].id, chunks[i].tokens, i};
    if (n > 1) qsort(order->places, (size_t)n, sizeof *order->places, compare_places);
}

/* The first place of a chunk among the first n of a prompt, or -1. */
static int32_t place_of(const struct chunk_order *prompt, int32_t n, const struct chunk_neighbour *chunk)
{
    int32_t low = 0, high = prompt->n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (prompt->places[middle].id < chunk->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < prompt->n && prompt->places[low].id == chunk->id && prompt->places[low].place < n; low++)
        if (prompt->places[low].tokens == chunk->tokens) return prompt->places[low].place;
    return -1;
}

/* --- The order of common chunks ---
 *
 * A Fenwick tree over the places counts[1 .. n] of a context. */

static void count_place(int32_t *counts, int32_t n, int32_t place)
{
    for (int32_t k = place + 1; k <= n; k += k & -k) counts[k]++;
}

/* Counted places up to this one. */
static int64_t counted_up_to(const int32_t *counts, int32_t place)
{
    int64_t sum = 0;
    for (int32_t k = place + 1; k > 0; k -= k & -k) sum += counts[k];
    return sum;
}

/* Kendall's tau distance of the common chunks between the old context and the new one of n chunks, over its largest
 * value. */
static double tau_distance(const struct chunk_neighbour *old, int32_t n_old, int32_t *counts, int32_t n)
{
    int64_t pairs = 0, swapped = 0, before = 0;
    memset(counts, 0, ((size_t)n + 1) * sizeof *counts);
    for (int32_t j = 0; j < n_old; j++) {
        if (old[j].place < 0) continue;
        pairs += before;
        swapped += before - counted_up_to(counts, old[j].place);
        count_place(counts, n, old[j].place);
        before++;
    }
    return pairs > 0 ? (double)swapped / (double)pairs : 0.0;
}

double chunk_attention_cfo(const struct chunk_attention *model, double cci, struct chunk_neighbour *old, int32_t n_old,
                           const struct chunk_order *prompt, int32_t n)
{
    double all = 0.0, common = 0.0;
    for (int32_t j = 0; j < n_old; j++) {
        old[j].place = place_of(prompt, n, &old[j]);
        all += old[j].weight;
        if (old[j].place >= 0) common += old[j].weight;
    }
    const double beta = n_old == 0 ? n == 0 : all > 0.0 ? common / all : 1.0;
    const double gamma = beta > 0.0 ? tau_distance(old, n_old, prompt->counts, n) : 0.0;
    const double cfo = model->alpha * cci * (1.0 - beta * (1.0 - gamma));
    return cfo < 1.0 ? cfo : 1.0;
}

uint64_t chunk_context_key(const struct prompt_chunk *chunks, int32_t n)
{
    uint64_t key = 1;
    for (int32_t j = n - 1; j >= 0; j--) key = hash_mix(hash_mix(key + chunks[j].id) + (uint64_t)chunks[j].tokens);
    return key;
}
