#include "sim/core/tally.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void tally_init(struct tally *tally)
{
    *tally = (struct tally){.count = 0};
}

void tally_merge(struct tally *into, const struct tally *from)
{
    if (from->count == 0) return;
    if (into->count == 0) {
        *into = *from;
        return;
    }
    double n_into = (double)into->count, n_from = (double)from->count, n = n_into + n_from;
    double delta = from->mean - into->mean;
    into->mean += delta * (n_from / n);
    into->m2 += from->m2 + delta * delta * (n_into / n * n_from);
    into->min = fmin(into->min, from->min);
    into->max = fmax(into->max, from->max);
    into->count += from->count;
    tally_add_to_sum(into, from->sum);
    tally_add_to_sum(into, from->sum_error);
}

double tally_sum(const struct tally *tally)
{
    return tally->sum + tally->sum_error;
}

double tally_variance(const struct tally *tally)
{
    return tally->count < 2 ? 0.0 : tally->m2 / (double)(tally->count - 1);
}

void level_init(struct level *level, sim_ns now, int64_t value)
{
    *level = (struct level){.start_ns = now, .since_ns = now, .value = value, .max = value};
}

static tally_int128 integral_at(const struct level *level, sim_ns now)
{
    SIM_REQUIRE(now >= level->since_ns);
    return level->integral + (tally_int128)level->value * ((tally_int128)now - level->since_ns);
}

void level_set(struct level *level, sim_ns now, int64_t value)
{
    level->integral = integral_at(level, now);
    level->since_ns = now;
    level->value = value;
    if (value > level->max) level->max = value;
}

double level_mean_in(const struct level *level, sim_ns now, int64_t unit)
{
    if (now == level->start_ns) return (double)level->value / (double)unit;
    const tally_int128 integral = integral_at(level, now);
    const double whole = (double)(integral / unit), rest = (double)(integral % unit) / (double)unit;
    return (whole + rest) / (double)((tally_int128)now - level->start_ns);
}

double level_mean(const struct level *level, sim_ns now)
{
    return level_mean_in(level, now, 1);
}

double level_integral_s_in(const struct level *level, sim_ns now, int64_t unit)
{
    const tally_int128 integral = integral_at(level, now) / unit;
    return (double)(integral / SIM_NS_PER_S) + (double)(integral % SIM_NS_PER_S) / 1e9;
}

double level_integral_s(const struct level *level, sim_ns now)
{
    return level_integral_s_in(level, now, 1);
}

enum { OCTAVES = 100, BUCKETS = 1024, MANTISSA_SHIFT = 52 - 10, ZERO_BUCKET = -1, TOP_BUCKET = OCTAVES * BUCKETS - 1 };

#define LOWEST 0x1p-40 /* lower edge of bucket 0; the upper edge of the highest one is 2^60 */

/* Exponent and upper ten mantissa bits of a positive double: a number that grows with the value. */
static int64_t bucket_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> MANTISSA_SHIFT;
}

static int bucket_of(double value)
{
    SIM_REQUIRE(value >= 0);
    const int64_t bucket = bucket_bits(value) - bucket_bits(LOWEST);
    if (bucket < 0) return ZERO_BUCKET;
    return bucket < TOP_BUCKET ? (int)bucket : TOP_BUCKET;
}

static double bucket_lower(int bucket)
{
    double value;
    int64_t bits = (bucket + bucket_bits(LOWEST)) << MANTISSA_SHIFT;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int histogram_init(struct histogram *histogram)
{
    *histogram = (struct histogram){.octaves = mem_zalloc(OCTAVES, sizeof *histogram->octaves)};
    return histogram->octaves == NULL ? SIM_E_NOMEM : 0;
}

void histogram_fini(struct histogram *histogram)
{
    for (int octave = 0; histogram->octaves != NULL && octave < OCTAVES; octave++) mem_free(histogram->octaves[octave]);
    mem_free(histogram->octaves);
    *histogram = (struct histogram){.octaves = NULL};
}

/* The first value of an octave; out of the way of what is done for every value. */
static __attribute__((noinline)) int open_octave(struct histogram *histogram, int bucket, uint64_t weight)
{
    uint64_t *octave = mem_zalloc(BUCKETS, sizeof *octave);
    if (octave == NULL) return SIM_E_NOMEM;
    histogram->octaves[(unsigned)bucket / BUCKETS] = octave;
    octave[(unsigned)bucket % BUCKETS] = weight;
    histogram->count += weight;
    return 0;
}

static inline int add_to_bucket(struct histogram *histogram, int bucket, uint64_t weight)
{
    if (weight == 0) return 0;
    if (bucket == ZERO_BUCKET) {
        histogram->zeros += weight;
    } else {
        uint64_t *octave = histogram->octaves[(unsigned)bucket / BUCKETS];
        if (octave == NULL) return open_octave(histogram, bucket, weight);
        octave[(unsigned)bucket % BUCKETS] += weight;
    }
    histogram->count += weight;
    return 0;
}

int histogram_add(struct histogram *histogram, double value, uint64_t weight)
{
    return add_to_bucket(histogram, bucket_of(value), weight);
}

/* first, first + step, ...: computed with rounding, these values still never turn back. */
struct series {
    double first, step, inverse_step;
};

static double series_value(const struct series *series, uint64_t i)
{
    return series->first + (double)i * series->step;
}

/* A rising series is past an edge at or above it, a falling one below it. */
static inline bool series_is_past(const struct series *series, bool rising, double edge, uint64_t i)
{
    double value = series_value(series, i);
    return rising ? value >= edge : value < edge;
}

/* The first index past the edge, in (in, out], by steps from `probe` that double and then by halves. */
static uint64_t series_search(const struct series *series, bool rising, double edge, uint64_t in, uint64_t out,
                              uint64_t probe)
{
    for (uint64_t stride = 1;; stride *= 2) {
        bool past = series_is_past(series, rising, edge, probe);
        if (past)
            out = probe;
        else
            in = probe;
        if (out - in <= stride) break;
        probe = past ? out - stride : in + stride;
    }
    while (out - in > 1) {
        uint64_t middle = in + (out - in) / 2;
        if (series_is_past(series, rising, edge, middle))
            out = middle;
        else
            in = middle;
    }
    return out;
}

/* The first index whose value lies past the edge, where that of `in` does not and that of `out` does. The closed form
 * gives a guess, which is nearly always right; rounding may have moved the true crossing. */
static inline uint64_t series_crossing(const struct series *series, bool rising, double edge, uint64_t in, uint64_t out)
{
    double after = (edge - series->first) * series->inverse_step + 1;
    uint64_t guess = after < (double)out ? (after > (double)in ? (uint64_t)after : in) : out;
    if (guess > in && series_is_past(series, rising, edge, guess) && !series_is_past(series, rising, edge, guess - 1))
        return guess;
    return series_search(series, rising, edge, in, out, guess);
}

/* The edge at which a series leaves the bucket. */
static inline double edge_ahead(int bucket, bool rising)
{
    return bucket_lower(rising ? bucket + 1 : bucket);
}

/* Bucket after bucket; mostly the next one is the neighbour. */
static inline int add_series(struct histogram *histogram, const struct series *series, bool rising, uint64_t n,
                             uint64_t weight)
{
    int bucket = bucket_of(series->first), last_bucket = bucket_of(series_value(series, n - 1));
    uint64_t begin = 0;
    while (bucket != last_bucket) {
        uint64_t end = series_crossing(series, rising, edge_ahead(bucket, rising), begin, n - 1);
        if (add_to_bucket(histogram, bucket, (end - begin) * weight) != 0) return SIM_E_NOMEM;
        bucket += rising ? 1 : -1;
        if (bucket < 0 || series_is_past(series, rising, edge_ahead(bucket, rising), end))
            bucket = bucket_of(series_value(series, end));
        begin = end;
    }
    return add_to_bucket(histogram, bucket, (n - begin) * weight);
}

int histogram_add_series(struct histogram *histogram, double first, double step, uint64_t n, uint64_t weight)
{
    if (n == 0) return 0;
    struct series series = {first, step, 1 / step};
    SIM_REQUIRE(n <= INT64_MAX && isfinite(step));
    return step > 0 ? add_series(histogram, &series, true, n, weight)
                    : add_series(histogram, &series, false, n, weight);
}

int histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (int bucket = 0; bucket <= TOP_BUCKET; bucket++) {
        const uint64_t *octave = from->octaves[bucket / BUCKETS];
        if (octave == NULL)
            bucket += BUCKETS - 1;
        else if (add_to_bucket(into, bucket, octave[bucket % BUCKETS]) != 0)
            return SIM_E_NOMEM;
    }
    return add_to_bucket(into, ZERO_BUCKET, from->zeros);
}

/* Counters are summed in blocks, most of which end before a quantile. */
enum { BLOCK = 32 };

static uint64_t sum_of(const uint64_t *counters, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) sum += counters[i];
    return sum;
}

double histogram_quantile(const struct histogram *histogram, double q)
{
    SIM_REQUIRE(q >= 0 && q <= 1);
    double rank = fmax(ceil(q * (double)histogram->count), 1);
    uint64_t seen = histogram->zeros;
    if ((double)seen >= rank) return 0.0;
    for (int octave = 0; octave < OCTAVES; octave++) {
        const uint64_t *counters = histogram->octaves[octave];
        for (int first = 0; counters != NULL && first < BUCKETS; first += BLOCK) {
            const uint64_t in_block = sum_of(counters + first, BLOCK);
            if ((double)(seen + in_block) < rank) {
                seen += in_block;
                continue;
            }
            int i = first;
            while ((double)(seen += counters[i]) < rank) i++;
            const int bucket = octave * BUCKETS + i;
            return (bucket_lower(bucket) + bucket_lower(bucket + 1)) / 2;
        }
    }
    return 0.0;
}

void histogram_each(const struct histogram *histogram,
                    void (*visit)(void *context, double lower, double upper, uint64_t count), void *context)
{
    if (histogram->zeros > 0) visit(context, 0.0, LOWEST, histogram->zeros);
    for (int octave = 0; octave < OCTAVES; octave++) {
        const uint64_t *counters = histogram->octaves[octave];
        for (int i = 0; counters != NULL && i < BUCKETS; i++) {
            int bucket = octave * BUCKETS + i;
            if (counters[i] > 0) visit(context, bucket_lower(bucket), bucket_lower(bucket + 1), counters[i]);
        }
    }
}
