/* The nine distributions of event-queue studies: increments of the HOLD model, in ns, from a table that is made
 * beforehand so that drawing costs next to nothing.
 *
 * Exponential, uniform, triangular and bimodal as in Jones (CACM 1986) and Ronngren and Ayani (TOMACS 1997), who also
 * give camel: 99.9 % of the mass in two humps that take 0.2 % of the time. Ties: a lattice with a third of the pending
 * events at the next time. Log-uniform: eight decades. LLM mix: decode iterations of about 20 ms, prefills, requests,
 * and timeouts of a day. Means are near 1 s except for the mix. */
#ifndef ORRERY_TESTS_BENCH_INCREMENTS_H
#define ORRERY_TESTS_BENCH_INCREMENTS_H

#include "sim/core/rng.h"
#include "sim/core/units.h"

#include <math.h>

enum { N_INCREMENTS = 32768 };

static inline double draw_exponential(struct rng *rng)
{
    return rng_exponential(rng, 1.0);
}

static inline double draw_uniform(struct rng *rng)
{
    return 2 * rng_uniform(rng);
}

static inline double draw_triangular(struct rng *rng)
{
    return 1.5 * sqrt(rng_uniform(rng));
}

static inline double draw_bimodal(struct rng *rng)
{
    double u = rng_uniform(rng);
    return 0.95238 * u + (u < 0.1 ? 9.5238 : 0);
}

static inline double draw_pareto(struct rng *rng)
{
    return pow(rng_uniform(rng), -1 / 1.1) / 11;
}

static inline double draw_camel(struct rng *rng)
{
    double u = 2 * rng_uniform(rng);
    if (rng_uniform(rng) > 0.999) return u;
    return (u < 1 ? 0.5 : 1.5) + 0.002 * (rng_uniform(rng) - 0.5);
}

static inline double draw_ties(struct rng *rng)
{
    return (1 + (double)rng_below(rng, 5)) / 3;
}

static inline double draw_log_uniform(struct rng *rng)
{
    return pow(10, 8 * rng_uniform(rng)) * log(1e8) / 1e8;
}

static inline double draw_llm_mix(struct rng *rng)
{
    double u = rng_uniform(rng);
    if (u < 0.7) return 0.02 * (0.9 + 0.2 * rng_uniform(rng));
    return rng_exponential(rng, u < 0.95 ? 0.1 : u < 0.999 ? 10 : 1e5);
}

static const struct distribution {
    const char *name;
    double (*draw_s)(struct rng *rng);
} distributions[] = {
    {"exponential", draw_exponential}, {"uniform", draw_uniform},         {"triangular", draw_triangular},
    {"bimodal", draw_bimodal},         {"pareto", draw_pareto},           {"camel", draw_camel},
    {"ties", draw_ties},               {"log-uniform", draw_log_uniform}, {"llm-mix", draw_llm_mix},
};

enum { N_DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

static inline void draw_increments(const struct distribution *distribution, sim_ns increments_ns[N_INCREMENTS])
{
    struct rng rng;
    rng_init(&rng, 1, 0, distribution->name, 0);
    for (int i = 0; i < N_INCREMENTS; i++) increments_ns[i] = sim_ns_from_s(distribution->draw_s(&rng));
}

#endif
