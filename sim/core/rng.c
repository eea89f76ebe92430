/* Philox4x32-10 and what is drawn from it.
 *
 * Layout of a stream: key = seed + run * GOLDEN, counter words 2 and 3 = hash(name) ^ mix(index), counter words 0 and 1
 * count the blocks. All indices of a name have different streams, as have all runs of a seed; seeds below 2^40 never
 * meet in their first 2^20 runs. Different names meet with a chance of 2^-64 per pair of streams.
 * A stream has 2^66 words. Of libm only log() is used, in rng_exponential. */
#include "sim/core/rng.h"

#include "sim/core/check.h"
#include "sim/core/hash.h"

#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio: its multiples stay far apart */

__extension__ typedef unsigned __int128 uint128;

enum { ROUNDS = 10, BLOCK_WORDS = 4 };

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t block[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
#pragma GCC unroll 10
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)c0 * 0xD2511F53u, p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    block[0] = c0;
    block[1] = c1;
    block[2] = c2;
    block[3] = c3;
}

static void split(uint64_t value, uint32_t words[2])
{
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> 32);
}

void rng_init(struct rng *rng, uint64_t seed, uint32_t run, const char *name, uint64_t index)
{
    *rng = (struct rng){.left = 0};
    split(seed + run * GOLDEN, rng->key);
    split(XXH3_64bits(name, strlen(name)) ^ hash_mix(index), rng->counter + 2);
}

static void next_block(struct rng *rng)
{
    philox4x32_10(rng->counter, rng->key, rng->block);
    if (++rng->counter[0] == 0) rng->counter[1]++;
    rng->left = BLOCK_WORDS;
}

uint32_t rng_u32(struct rng *rng)
{
    if (rng->left == 0) next_block(rng);
    return rng->block[BLOCK_WORDS - rng->left--];
}

uint64_t rng_u64(struct rng *rng)
{
    if (rng->left == 0) next_block(rng);
    if (rng->left == 1) {
        uint64_t low = rng_u32(rng);
        return low | (uint64_t)rng_u32(rng) << 32;
    }
    const uint32_t *words = &rng->block[BLOCK_WORDS - rng->left];
    rng->left -= 2;
    return words[0] | (uint64_t)words[1] << 32;
}

double rng_uniform(struct rng *rng)
{
    return ((double)(rng_u64(rng) >> 12) + 0.5) * 0x1p-52;
}

/* The high half of a 64 x 64 bit product, where the low half tells the draws that would bias the result (Lemire, ACM
 * Transactions on Modeling and Computer Simulation 29(1), 2019). */
uint64_t rng_below(struct rng *rng, uint64_t n)
{
    SIM_REQUIRE(n > 0);
    uint128 product = (uint128)rng_u64(rng) * n;
    if ((uint64_t)product < n) {
        uint64_t biased = -n % n;
        while ((uint64_t)product < biased) product = (uint128)rng_u64(rng) * n;
    }
    return (uint64_t)(product >> 64);
}

double rng_exponential(struct rng *rng, double mean)
{
    return -mean * log(rng_uniform(rng));
}

static void gsl_set(void *state, unsigned long seed)
{
    rng_init(state, seed, 0, "gsl", 0);
}

static unsigned long gsl_get(void *state)
{
    return rng_u32(state);
}

static double gsl_get_double(void *state)
{
    return rng_uniform(state);
}

static const gsl_rng_type gsl_type = {.name = "philox4x32-10",
                                      .max = UINT32_MAX,
                                      .min = 0,
                                      .size = sizeof(struct rng),
                                      .set = gsl_set,
                                      .get = gsl_get,
                                      .get_double = gsl_get_double};
const gsl_rng_type *const rng_gsl_type = &gsl_type;

gsl_rng rng_gsl(struct rng *rng)
{
    return (gsl_rng){.type = rng_gsl_type, .state = rng};
}
