/* Random numbers: named streams of the counter-based generator Philox4x32-10 (Salmon et al., SC 2011).
 *
 * A stream is identified by (seed, run, name, index): what one stream draws never depends on what another one drew, so
 * two policies compared under one seed see the same world. Stream state is a few words; creating one is free. */
#ifndef ORRERY_CORE_RNG_H
#define ORRERY_CORE_RNG_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

struct rng {
    uint32_t key[2];     /* seed and run */
    uint32_t counter[4]; /* counter[0..1]: block number; counter[2..3]: name and index */
    uint32_t block[4];
    uint32_t left; /* words of the block not yet used */
};

/* One block of Philox4x32-10: the published function, for the known-answer test. */
void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4]);

/* Starts the stream at its first number. */
void rng_init(struct rng *rng, uint64_t seed, uint32_t run, const char *name, uint64_t index);

uint32_t rng_u32(struct rng *rng);
uint64_t rng_u64(struct rng *rng);
double rng_uniform(struct rng *rng);             /* in (0, 1): never 0 nor 1; the middles of 2^52 equal cells */
uint64_t rng_below(struct rng *rng, uint64_t n); /* in [0, n), unbiased; n > 0 */
double rng_exponential(struct rng *rng, double mean);

/* For GSL's distributions: a gsl_rng that draws from `rng` itself, which must outlive it. Nothing to free:
 *
 *     gsl_rng gsl = rng_gsl(&rng);
 *     double service_s = gsl_ran_gamma(&gsl, shape, scale_s);
 */
gsl_rng rng_gsl(struct rng *rng);
extern const gsl_rng_type *const rng_gsl_type;

#endif
