#include "sim/catalog/training_lengths.h"

#include "models/training/mixed.h"
#include "sim/core/rng.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

enum lengths_law { LAW_EQUAL, LAW_LOGNORMAL, LAW_PARETO };

enum { DEFAULT_MEDIAN = 1024, DEFAULT_SPREAD = 1, DEFAULT_BATCHES = 8, DEFAULT_SEED = 1 }; /* as in the table */

static const char *const laws[] = {"equal", "lognormal", "pareto", NULL};
static const char *const splits[] = {"static", "flexible", "hybrid", NULL};

#define ROW_OF struct training_lengths_config
const struct config_field training_lengths_fields[] = {
    ROW_CHOICE("law", law, DEFAULT("equal"), laws, "of the tokens of a sequence, at most 'sequence_tokens'"),
    ROW_INT("median", median_tokens, DEFAULT("1024"), WITHIN(1, 1 << 26), "tokens that half of the sequences exceed"),
    ROW_REAL("spread", spread, DEFAULT("1"), WITHIN(0, 10),
             "lognormal: standard deviation of the logarithm; pareto: one over the exponent of the tail"),
    ROW_CHOICE("split", split, DEFAULT("static"), splits,
               "ranks that share a sequence: 'context_parallel'; a mix for each micro-batch (FlexSP); the fewest that "
               "hold it (ByteScale)"),
    ROW_INT("batches", batches, DEFAULT("8"), WITHIN(1, 64), "batches that are drawn; a step takes their mean"),
    ROW_INT("seed", seed, DEFAULT("1"), WITHIN(0, INT32_MAX), "of the draws"),
    {0}};
#undef ROW_OF

/* The length that a share `u` of the sequences stays below. */
static int64_t quantile(const struct training_lengths_config *lengths, double u, int64_t most)
{
    const double tail = lengths->law == LAW_PARETO ? -log(2.0 * (1.0 - u)) : gsl_cdf_ugaussian_Pinv(u);
    const double tokens = (double)lengths->median_tokens * exp(lengths->spread * tail);
    return (int64_t)fmin(fmax(rint(tokens), 1.0), (double)most);
}

static int longest_first(const void *one, const void *other)
{
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a < b) - (a > b);
}

/* Keys that are given without a law would have no effect. */
static int check_equal(const struct training_lengths_config *lengths, const char *where, struct diag *diag)
{
    const bool as_default = lengths->split == 0 && lengths->median_tokens == DEFAULT_MEDIAN &&
                            fabs(lengths->spread - DEFAULT_SPREAD) == 0.0 && lengths->batches == DEFAULT_BATCHES &&
                            lengths->seed == DEFAULT_SEED;
    if (as_default || lengths->batches == 0) return 0; /* 0: of no table */
    return diag_error(diag, SIM_E_CONFIG, where, "such as \"law\": \"lognormal\"",
                      "keys of 'lengths' have no effect without 'lengths.law': all sequences are equal");
}

static int check(const struct training_config *config, const char *where, struct diag *diag)
{
    if (config->lengths.median_tokens > config->sequence_tokens)
        return diag_error(diag, SIM_E_CONFIG, where, "raise 'sequence_tokens', or lower 'lengths.median'",
                          "'lengths.median' is above 'sequence_tokens', which no sequence exceeds");
    if (config->global_batch == 0)
        return diag_error(diag, SIM_E_CONFIG, where, "such as \"global_batch\": 512",
                          "'lengths' need the number of sequences of a step, 'global_batch'");
    if (config->global_batch > TRAINING_MIXED_SEQUENCES)
        return diag_error(diag, SIM_E_CONFIG, where, "lower 'global_batch'",
                          "'lengths' allow at most %d sequences of a step", (int)TRAINING_MIXED_SEQUENCES);
    return 0;
}

int training_lengths_draw(const struct training_config *config, const char *where, struct arena *arena,
                          struct training_lengths **out, struct diag *diag)
{
    const size_t n = (size_t)config->global_batch;
    struct rng rng;
    *out = NULL;
    if (config->lengths.law == LAW_EQUAL) return check_equal(&config->lengths, where, diag);
    if (check(config, where, diag) != 0) return SIM_E_CONFIG;
    struct training_lengths *lengths = arena_alloc(arena, sizeof *lengths);
    int64_t *tokens = arena_alloc(arena, (size_t)config->lengths.batches * n * sizeof *tokens);
    struct training_room *room = arena_alloc(arena, sizeof *room);
    if (lengths == NULL || tokens == NULL || room == NULL) return diag_nomem(diag);
    *lengths = (struct training_lengths){.batches = config->lengths.batches, .sequences = (int64_t)n, .tokens = tokens,
                                         .room = room};
    for (int64_t batch = 0; batch < lengths->batches; batch++) {
        int64_t *drawn = tokens + (size_t)batch * n;
        rng_init(&rng, (uint64_t)config->lengths.seed, 0, "training.lengths", (uint64_t)batch);
        for (size_t i = 0; i < n; i++) {
            drawn[i] = quantile(&config->lengths, rng_uniform(&rng), config->sequence_tokens);
            lengths->step_tokens += (double)drawn[i] / (double)lengths->batches;
        }
        qsort(drawn, n, sizeof *drawn, longest_first);
    }
    *out = lengths;
    return 0;
}
