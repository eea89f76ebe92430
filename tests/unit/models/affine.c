#include "models/stated.h"
#include "tests/support/harness.h"

/* The closed form of the Vidur cases: t_us = 5000 + 50 T + 20 R + 0.1 C + 0.002 P over the whole batch. */
static const struct affine vidur = {
    .prefill.small = {.fixed_s = 5000e-6, .token_s = 50e-6, .sequence_s = 20e-6, .pair_s = 0.002e-6},
    .decode.small = {.fixed_s = 5000e-6, .token_s = 50e-6, .sequence_s = 20e-6, .context_token_s = 0.1e-6},
    .stages = 1.0,
};

/* DistServe's fit of OPT-13B, TP 1 (profiler-a100-80g.distserve.json), in ms:
 * prefill (a + b sum(len) + c sum(len^2))/pp + pp, decode (a + b sum(ctx+1) + c B)/pp, other coefficients from B = 95,
 * and per iteration 2 + 0.0001 sum(ctx), where ctx is without the newest token. */
static struct affine distserve(double stages)
{
    const struct affine_terms ray = {.fixed_s = 2e-3, .token_s = 1e-7};
    return (struct affine){
        .prefill = {.small = {.fixed_s = 18.10254647486372e-3, .token_s = 0.1019122572698738e-3,
                              .pair_s = 7.122264314252114e-09},
                    .stage_s = 1e-3,
                    .undivided = ray},
        .decode = {.small = {.fixed_s = 19.934702624895458e-3, .context_token_s = 0.0006269356524350583e-3,
                             .sequence_s = 0.03850697740828398e-3},
                   .large = {.fixed_s = 7.1661889468253595e-3, .context_token_s = 0.0005798000403396046e-3,
                             .sequence_s = 0.15831096191764046e-3},
                   .large_from = 95,
                   .undivided = {.fixed_s = 2e-3, .context_token_s = 1e-7, .sequence_s = -1e-7}},
        .stages = stages,
    };
}

static struct iteration_cost cost_of(const struct affine *model, struct iteration_work work)
{
    struct iteration_cost cost;
    affine_cost(model, &work, &cost);
    return cost;
}

TEST(vidur_closed_form)
{
    const struct iteration_work prefill = {.prefill_sequences = 3, .prefill_tokens = 1700, .prefill_pairs = 1.1e6};
    CHECK_NEAR(cost_of(&vidur, prefill).first_s, (5000 + 50 * 1700 + 20 * 3 + 0.002 * 1.1e6) * 1e-6, 1e-16);
    const struct iteration_work decode = {.decode_sequences = 37, .decode_context_tokens = 41000};
    CHECK_NEAR(cost_of(&vidur, decode).first_s, (5000 + 50 * 37 + 20 * 37 + 0.1 * 41000) * 1e-6, 1e-16);
    CHECK_NEAR(cost_of(&vidur, decode).slope_s, 0.1e-6 * 37, 1e-20);
    CHECK_EQ_INT(cost_of(&vidur, decode).until, INT64_MAX);
}

/* A mixed batch (chunked prefill) pays the fixed part once. */
TEST(vidur_mixed_batch)
{
    const struct iteration_work work = {.prefill_sequences = 1, .prefill_tokens = 475, .prefill_context_tokens = 512,
                                        .prefill_pairs = 475.0 * 475.0 + 2.0 * 475.0 * 512.0,
                                        .decode_sequences = 37, .decode_context_tokens = 41000};
    const double t_us = 5000 + 50 * (475 + 37) + 20 * 38 + 0.1 * 41000 + 0.002 * work.prefill_pairs;
    CHECK_NEAR(cost_of(&vidur, work).first_s, t_us * 1e-6, 1e-16);
    CHECK_EQ_INT(cost_of(&vidur, work).until, 1);
}

/* Values that simdistserve computed: the first prompt of r200.csv (314 tokens) and its first two decode steps. */
TEST(distserve_measured_events)
{
    const struct affine model = distserve(1.0);
    const struct iteration_work prefill = {.prefill_sequences = 1, .prefill_tokens = 314,
                                           .prefill_pairs = 314.0 * 314.0};
    CHECK_NEAR(cost_of(&model, prefill).first_s, 53.836622029932094e-3, 1e-15);
    const struct iteration_work decode = {.decode_sequences = 1, .decode_context_tokens = 315};
    const struct iteration_cost cost = cost_of(&model, decode);
    CHECK_NEAR(cost.first_s, 22.202094332820785e-3, 1e-15);
    CHECK_NEAR(cost.first_s + cost.slope_s, 22.202821268473215e-3, 1e-15);
}

TEST(distserve_on_two_stages)
{
    const struct affine model = distserve(2.0);
    const struct iteration_work prefill = {.prefill_sequences = 2, .prefill_tokens = 900,
                                           .prefill_pairs = 400.0 * 400.0 + 500.0 * 500.0};
    const double divided_ms = 18.10254647486372 + 0.1019122572698738 * 900 + 7.122264314252114e-06 * 410000.0;
    CHECK_NEAR(cost_of(&model, prefill).first_s, (divided_ms / 2 + 2 * 1.0 + 2 + 0.0001 * 900) * 1e-3, 1e-15);
}

/* At the threshold the other set holds: 94 sequences small, 95 large. */
TEST(coefficients_change_above_a_batch_size)
{
    const struct affine model = distserve(1.0);
    for (int64_t sequences = 94; sequences <= 95; sequences++) {
        const struct iteration_work work = {.decode_sequences = sequences, .decode_context_tokens = 60000 + sequences};
        const double b = (double)sequences, seen = 60000.0;
        const double small_ms = 19.934702624895458 + 0.0006269356524350583 * (seen + b) + 0.03850697740828398 * b;
        const double large_ms = 7.1661889468253595 + 0.0005798000403396046 * (seen + b) + 0.15831096191764046 * b;
        const double expected_ms = (sequences < 95 ? small_ms : large_ms) + 2 + 0.0001 * seen;
        CHECK_NEAR(cost_of(&model, work).first_s, expected_ms * 1e-3, 1e-15);
    }
}

/* Iteration i costs what the model says for i more tokens of context per sequence. */
TEST(runs_are_affine)
{
    const struct affine model = distserve(3.0);
    struct iteration_work work = {.decode_sequences = 120, .decode_context_tokens = 150000};
    const struct iteration_cost first = cost_of(&model, work);
    for (int64_t i = 0; i < 2000; i += 37) {
        struct iteration_work later = work;
        later.decode_context_tokens += i * work.decode_sequences;
        CHECK_NEAR(cost_of(&model, later).first_s, first.first_s + (double)i * first.slope_s, 1e-14);
    }
}
