#include "sim/world/kv/chunk_attention.h"

#include "sim/core/hash.h"
#include "sim/core/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>

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
        neighbours[j] = (struct chunk_neighbour){context[j].id, pair * context[j].tokens, -1};
        a_over_b += pair;
    }
    return 1.0 / (1.0 + exp(-a_over_b));
}

/* The place of a chunk in a context, or -1. */
static int32_t place_of(const struct prompt_chunk *context, int32_t n, uint64_t id)
{
    for (int32_t j = 0; j < n; j++)
        if (context[j].id == id) return j;
    return -1;
}

struct overlap {
    double common, all; /* sums of weights */
    int64_t pairs, swapped; /* of common chunks */
};

/* Counts the pairs that a common chunk makes with those before it in the old context. */
static void count_pairs(struct overlap *overlap, const struct chunk_neighbour *old, int32_t j)
{
    for (int32_t k = 0; k < j; k++) {
        overlap->pairs += old[k].place >= 0;
        overlap->swapped += old[k].place > old[j].place;
    }
}

double chunk_attention_cfo(const struct chunk_attention *model, double cci, struct chunk_neighbour *old, int32_t n_old,
                           const struct prompt_chunk *context, int32_t n)
{
    struct overlap overlap = {0};
    for (int32_t j = 0; j < n_old; j++) {
        old[j].place = place_of(context, n, old[j].id);
        overlap.all += old[j].weight;
        if (old[j].place < 0) continue;
        overlap.common += old[j].weight;
        count_pairs(&overlap, old, j);
    }
    const double beta = n_old == 0 ? n == 0 : overlap.all > 0.0 ? overlap.common / overlap.all : 1.0;
    const double gamma = overlap.pairs > 0 ? (double)overlap.swapped / (double)overlap.pairs : 0.0;
    const double cfo = model->alpha * cci * (1.0 - beta * (1.0 - gamma));
    return cfo < 1.0 ? cfo : 1.0;
}

uint64_t chunk_context_key(uint64_t chunk, const struct prompt_chunk *context, int32_t n)
{
    uint64_t key = hash_mix(chunk + 1);
    for (int32_t j = 0; j < n; j++) key = hash_mix(key + context[j].id);
    return key;
}
