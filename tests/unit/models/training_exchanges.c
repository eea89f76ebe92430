/* What the ranks of a plan send, and the phases of its step that differ in power: closed forms and laws. */
#include "models/training/phases.h"
#include "tests/support/harness.h"
#include "tests/support/plan_bed.h"

/* --- Exchanges --- */

static double exchanged(const struct training_exchanges *stage, enum training_exchange_kind kind,
                        struct training_group group)
{
    for (int32_t i = 0; i < stage->n; i++)
        if (stage->of[i].kind == kind && training_groups_are_equal(stage->of[i].group, group))
            return stage->of[i].bytes;
    return 0.0;
}

/* Narayanan et al. 2021: 8 b s h (t-1)/t numbers of each layer and micro-batch leave a rank, whatever is split by
 * tokens; a repeated forward pass adds half of that. Embedding and head have two more collectives. */
TEST(tensor_groups_exchange_eight_hidden_states)
{
    for (int t = 2; t <= 8; t *= 2)
        for (int full = 0; full <= 1; full++) {
            struct plan_bed bed;
            struct training_exchanges stage;
            plan_bed_init(&bed, &plan_bed_gpt);
            bed.plan.tensor = t;
            bed.plan.recompute = full ? RECOMPUTE_FULL : RECOMPUTE_NONE;
            training_exchanges_of(&bed.parts, &stage);
            const double bsh = 2048.0 * 4096.0 * 2.0 * (t - 1) / t, layers = 8.0, batches = 4.0;
            CHECK_NEAR(exchanged(&stage, EXCHANGE_RING, training_tensor_group(&bed.plan)) /
                           (batches * bsh * (layers * (full ? 12.0 : 8.0) + 2.0 + 2.0)),
                       1.0, 1e-12);
            bed.plan.sequence = true; /* the input is gathered once more for its gradient, in each half and the head */
            training_exchanges_of(&bed.parts, &stage);
            CHECK_NEAR(exchanged(&stage, EXCHANGE_RING, training_tensor_group(&bed.plan)) /
                           (batches * bsh * (layers * (10.0 + (full ? 4.0 : 0.0)) + 2.0 + 3.0)),
                       1.0, 1e-12);
        }
}

/* Rajbhandari et al. 2020: gradients and weights once, of ZeRO 3 the weights twice in every micro-batch. */
TEST(replicas_exchange_gradients_and_weights)
{
    for (int64_t zero = 0; zero <= 3; zero++) {
        struct plan_bed bed;
        struct training_exchanges stage;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.plan.data = 16;
        bed.plan.zero = zero;
        training_exchanges_of(&bed.parts, &stage);
        const double weights = 2.0 * (double)llm_parameters(&bed.llm) * 15.0 / 16.0, m = 4.0;
        const double gradients = weights;
        const double expected[] = {2.0 * gradients, gradients + weights, m * gradients + weights,
                                   m * gradients + 2.0 * m * weights};
        CHECK_EQ_INT(stage.n, 1);
        CHECK_NEAR(stage.of[0].bytes / expected[zero], 1.0, 1e-12);
    }
}

/* Neighbouring stages send b s h numbers each way for every micro-batch and chunk, or a t-th of them. */
TEST(stages_exchange_hidden_states)
{
    for (int64_t chunks = 1; chunks <= 2; chunks++) {
        struct plan_bed bed;
        struct training_exchanges stages[4];
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.plan.pipeline = 4;
        bed.plan.chunks = chunks;
        bed.plan.schedule = chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B;
        bed.plan.tensor = 2;
        const struct training_group group = {2, 2};
        training_exchanges_of(&bed.parts, stages);
        const double message = 2.0 * 2048.0 * 4096.0, m = 4.0;
        for (int i = 0; i < 4; i++)
            CHECK_NEAR(exchanged(&stages[i], EXCHANGE_STAGES, group) / (m * (double)chunks * message), 1.0, 1e-12);
        CHECK_NEAR(stages[3].of[stages[3].n - 1].wrap_bytes, m * (double)(chunks - 1) * message, 1.0);
        bed.plan.scatter_gather = true;
        training_exchanges_of(&bed.parts, stages);
        CHECK_NEAR(exchanged(&stages[1], EXCHANGE_STAGES, group) / (m * (double)chunks * message / 2.0), 1.0, 1e-12);
    }
}

/* Li et al. 2021: keys and values circulate once forward, and twice as much backward. */
TEST(context_ranks_pass_on_keys_and_values)
{
    struct plan_bed bed;
    struct training_exchanges stage;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.context = 4;
    training_exchanges_of(&bed.parts, &stage);
    const double kv = 2.0 * (2048.0 / 4.0) * 32.0 * 256.0, layers = 8.0, m = 4.0;
    CHECK_NEAR(exchanged(&stage, EXCHANGE_SHIFT, training_context_group(&bed.plan)) / (m * layers * 3.0 * 3.0 * kv),
               1.0, 1e-12);
    bed.plan.context_form = CONTEXT_ALL_TO_ALL;
    training_exchanges_of(&bed.parts, &stage);
    CHECK_NEAR(exchanged(&stage, EXCHANGE_ALL_TO_ALL, training_context_group(&bed.plan)) /
                   (m * layers * 2.0 * 2.0 * kv * 3.0 / 4.0),
               1.0, 1e-12);
}

/* Each of a token's choices travels there and back, forward and backward, to others in (e-1)/e of the cases. */
TEST(experts_exchange_the_choices_of_tokens)
{
    for (int64_t tensor = 1; tensor <= 2; tensor++) {
        struct plan_bed bed;
        struct training_exchanges stage;
        plan_bed_init(&bed, &plan_bed_experts);
        bed.plan.data = bed.plan.expert = 8;
        bed.plan.tensor = tensor;
        training_exchanges_of(&bed.parts, &stage);
        const double choices = 2048.0 * 6.0 * 2048.0 * 2.0 / (double)tensor, sparse = 5.0, m = 4.0;
        CHECK_NEAR(exchanged(&stage, EXCHANGE_ALL_TO_ALL, training_expert_group(&bed.plan)) /
                       (m * sparse * 4.0 * choices * 7.0 / 8.0),
                   1.0, 1e-12);
    }
}

/* A spread that says what the plan says changes nothing; less bandwidth never makes a step shorter. */
TEST(a_spread_gives_nodes_and_bandwidth)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    bed.plan.data = 16;
    bed.plan.zero = 1;
    const double step_s = plan_bed_step(&bed).step_s, gbytes = 25e9;
    struct training_spread spread = {1, {{EXCHANGE_RING, training_replica_group(&bed.plan), 2.0, 1.0}}, NULL};
    bed.plan.spread = &spread;
    CHECK_NEAR(plan_bed_step(&bed).step_s, step_s, 0.0);
    double before_s = step_s;
    for (double frac = 0.8; frac > 0.1; frac -= 0.2) {
        spread.of[0].network_frac = frac;
        bed.plan.spread = &spread;
        const double slowed_s = plan_bed_step(&bed).step_s;
        CHECK(slowed_s > before_s);
        before_s = slowed_s;
        bed.plan.spread = NULL;
        bed.plan.network_bytes_per_s = gbytes * frac;
        CHECK_NEAR(plan_bed_step(&bed).step_s, slowed_s, 1e-12 * slowed_s);
        bed.plan.network_bytes_per_s = gbytes;
    }
}

/* --- Narrow numbers --- */

/* Operands are narrowed at the rate of element-wise operators, however slow the kernels are that engines narrow with:
 * 4 bytes of each input and gradient in every pass, of each weight once in a step. */
TEST(programs_narrow_operands_once)
{
    struct gpu_spec narrow = plan_bed_a100;
    narrow.peak_flop_per_s[FORMAT_FP8] = 2.0 * narrow.peak_flop_per_s[FORMAT_BF16];
    double step_s[3], bytes[3];
    for (int i = 0; i < 3; i++) {
        struct plan_bed bed;
        plan_bed_init(&bed, &plan_bed_gpt);
        bed.parts.gpu = &narrow;
        bed.kernels.params[KERNEL_GEMM_FP8].gemm = bed.kernels.params[KERNEL_GEMM].gemm;
        bed.kernels.params[KERNEL_GEMM_FP8].gemm.quantise_frac = i == 1 ? 0.01 : 0.5;
        bed.plan.compute = i < 2 ? FORMAT_FP8 : FORMAT_BF16;
        const struct training_step step = plan_bed_step(&bed);
        step_s[i] = step.step_s;
        bytes[i] = step.bytes;
    }
    const double tokens = 4.0 * 2048.0, h = 4096.0, weights = 12.0 * h * h, layers = 8.0;
    const double inputs = tokens * (h + h + h + 4.0 * h), outputs = tokens * (3.0 * h + h + 4.0 * h + h);
    const double cast_bytes = 4.0 * layers * (inputs + outputs + weights);
    /* inputs and weights are read as one byte instead of two: of each micro-batch forward, and of both gradients */
    const double spared = layers * (2.0 * (inputs + outputs) + 2.0 * 4.0 * weights);
    CHECK_NEAR(step_s[0], step_s[1], 1e-9 * step_s[0]);
    CHECK(step_s[0] < step_s[2]);
    CHECK_NEAR((bytes[0] - bytes[2]) / (cast_bytes - spared), 1.0, 1e-9);
}

/* --- Phases --- */

/* The phases are the step; GPUs compute no longer than in kernels that the core bounds, and below their peaks. */
TEST(phases_are_the_step)
{
    for (int kind = 0; kind < 4; kind++) {
        struct plan_bed bed;
        struct power_stage phases[TRAINING_PHASES];
        plan_bed_init(&bed, kind == 3 ? &plan_bed_experts : &plan_bed_gpt);
        bed.plan.pipeline = kind == 1 ? 4 : 1;
        bed.plan.data = kind == 0 ? 1 : 8;
        bed.plan.expert = kind == 3 ? 8 : 1;
        bed.plan.tensor = kind == 2 ? 2 : 1;
        bed.plan.offload.optimizer_frac = kind == 2 ? 0.5 : 0.0;
        bed.plan.offload.cpu_update_per_s = 6e9;
        bed.plan.offload.link_bytes_per_s = 20e9;
        bed.trainer.step_s = 0.01;
        const struct training_step step = plan_bed_step(&bed);
        training_phases_of(&bed.parts, &step, phases);
        double sum_s = 0.0;
        for (int i = 0; i < TRAINING_PHASES; i++) sum_s += phases[i].time_s;
        CHECK_NEAR(sum_s / step.step_s, 1.0, 1e-12);
        CHECK(phases[PHASE_COMPUTE].load.compute_frac > 0.2 && phases[PHASE_COMPUTE].load.compute_frac < 1.0);
        CHECK(phases[PHASE_COMPUTE].load.memory_frac > 0.0 && phases[PHASE_COMPUTE].load.memory_frac < 1.0);
        CHECK(phases[PHASE_COMPUTE].clock_share > 0.3 && phases[PHASE_COMPUTE].clock_share < 1.0);
        CHECK((phases[PHASE_BUBBLE].time_s > 0.0) == (kind == 1));
        CHECK((phases[PHASE_MESSAGES].time_s > 0.0) == (kind > 0));
        CHECK(phases[PHASE_WAITING].time_s >= 0.01 * (1.0 - 1e-12));
    }
}

/* Operations are those of the model: products thrice, those of attention three and a half times, and half of its pairs
 * are masked. */
TEST(kernels_do_the_operations_of_the_model)
{
    struct plan_bed bed;
    plan_bed_init(&bed, &plan_bed_gpt);
    const struct training_step step = plan_bed_step(&bed);
    const double tokens = training_plan_tokens(&bed.plan), scores = tokens * 8.0 * 2.0 * 2.0 * 4096.0 * 2048.0;
    CHECK_NEAR(step.flop / (step.model_flop - 3.0 * scores + 3.5 * 0.5 * scores), 1.0, 1e-3);
}
