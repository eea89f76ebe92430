/* Laws of a mixture-of-experts layer: its work is that of the closed form, however it is split. */
#include "models/kernel.h"
#include "models/operators/moe.h"
#include "tests/support/harness.h"

#include <math.h>

static const struct gpu_spec gpu = {.name = "any",
                                    .peak_flop_per_s = {[FORMAT_FP32] = 2e13, [FORMAT_BF16] = 3e14},
                                    .memory_bytes_per_s = 2e12,
                                    .l2_bytes = 4e7,
                                    .sm_count = 108};

static const struct moe_params params = {.start_s = 3e-5,
                                         .flop_frac = 0.5,
                                         .bandwidth_frac = 0.9,
                                         .softness = 1.5,
                                         .expert_s = 2e-7,
                                         .pass_frac = 0.7,
                                         .cache_loss = 0.3,
                                         .tiles_per_sm = 3.0};

static struct moe_shape layer_of(double tokens)
{
    return (struct moe_shape){.tokens = tokens,
                              .hidden = 2048.0,
                              .inner = 768.0,
                              .chosen = 8.0,
                              .experts = 128.0,
                              .held = 128.0,
                              .matrices = 3.0,
                              .weights = FORMAT_BF16,
                              .compute = FORMAT_BF16};
}

static struct kernel_time timed(const struct moe_shape *shape)
{
    return moe_time(&params, &gpu, shape);
}

TEST(operations_are_two_per_chosen_weight)
{
    for (double tokens = 1.0; tokens <= 65536.0; tokens *= 4.0) {
        struct moe_shape shape = layer_of(tokens);
        const double expected = 2.0 * tokens * 8.0 * 3.0 * 2048.0 * 768.0;
        CHECK_NEAR(timed(&shape).flop / expected, 1.0, 1e-9);
        shape.skew = 1.2;
        CHECK_NEAR(timed(&shape).flop / expected, 1.0, 1e-9);
        shape.skew = 0.0;
        shape.in_turn = true;
        CHECK_NEAR(timed(&shape).flop / expected, 1.0, 1e-9);
    }
}

/* What is computed ahead, for many parameters, is what each time computes. */
TEST(prepared_calls_take_the_same_time)
{
    static const enum kernel_class classes[] = {KERNEL_MOE, KERNEL_MOE_FP8_CONTIGUOUS};
    const union kernel_params both[] = {{.moe = params}, {.moe = {.start_s = 1e-5, .flop_frac = 0.3}}};
    for (int i = 0; i < 256; i++) {
        struct kernel_call call = {.class = classes[i % 2], .shape.moe = layer_of(ldexp(1.0, i / 2 % 8 * 2))};
        struct moe_shape *shape = &call.shape.moe;
        shape->held = i & 16 ? 128.0 : 8.0;
        shape->skew = i & 32 ? 1.2 : 0.0;
        shape->in_turn = i & 64;
        shape->dealt = shape->dispatched = i & 128;
        struct kernel_call prepared = call;
        kernel_call_prepare(&prepared);
        for (size_t k = 0; k < 2; k++) {
            const struct kernel_time plain = kernel_call_time(&both[k], &gpu, &call);
            const struct kernel_time ahead = kernel_call_time(&both[k], &gpu, &prepared);
            CHECK(ahead.compute_s == plain.compute_s && ahead.memory_s == plain.memory_s);
            CHECK(ahead.overhead_s == plain.overhead_s && ahead.bytes == plain.bytes && ahead.flop == plain.flop);
        }
    }
}

/* One token reads the weights of its experts, many read those of all. */
TEST(touched_weights_are_read_once)
{
    const double expert_bytes = 3.0 * 2048.0 * 768.0 * 2.0, pass_bytes = 4.0 * 8.0 * (3.0 * 768.0 + 2048.0);
    const struct moe_shape one = layer_of(1.0), many = layer_of(4096.0);
    CHECK_NEAR(timed(&one).bytes / (8.0 * expert_bytes + pass_bytes), 1.0, 1e-9);
    CHECK_NEAR(timed(&many).bytes / (128.0 * expert_bytes + 4096.0 * pass_bytes), 1.0, 1e-9);
}

TEST(no_tokens_cost_a_start)
{
    const struct moe_shape none = layer_of(0.0);
    CHECK(timed(&none).seconds == params.start_s);
}

TEST(a_layer_is_bound_by_its_weights_or_by_its_tiles)
{
    const struct moe_shape few = layer_of(64.0), many = layer_of(65536.0);
    const double weights_s = 128.0 * 3.0 * 2048.0 * 768.0 * 2.0 / (0.9 * 2e12);
    CHECK(timed(&few).memory_s > 2.0 * timed(&few).compute_s);
    CHECK(timed(&few).seconds > weights_s * 0.98 && timed(&few).seconds < 1.6 * weights_s);
    CHECK(timed(&many).compute_s > 2.0 * timed(&many).memory_s);
}

/* Two GPUs with half of every expert do as much as one with all; so do two with half of the experts. */
TEST(halves_do_half_the_work)
{
    for (double tokens = 1.0; tokens <= 65536.0; tokens *= 4.0) {
        const struct moe_shape whole = layer_of(tokens);
        struct moe_shape narrow = whole, half = whole;
        narrow.inner /= 2.0;
        half.held /= 2.0;
        CHECK_NEAR(timed(&narrow).flop / timed(&whole).flop, 0.5, 1e-9);
        CHECK_NEAR(timed(&half).flop / timed(&whole).flop, 0.5, 1e-9);
        CHECK(timed(&narrow).seconds < timed(&whole).seconds);
    }
}

/* An all-to-all leaves out what belongs to experts elsewhere. */
TEST(dispatched_rows_are_fewer)
{
    for (double gpus = 1.0; gpus <= 64.0; gpus *= 2.0) {
        struct moe_shape gathered = layer_of(2048.0);
        gathered.held /= gpus;
        struct moe_shape dispatched = gathered;
        dispatched.dispatched = true;
        CHECK(timed(&dispatched).flop == timed(&gathered).flop);
        if (gpus == 1.0)
            CHECK_NEAR(timed(&dispatched).seconds / timed(&gathered).seconds, 1.0, 1e-12);
        else
            CHECK(timed(&dispatched).seconds < timed(&gathered).seconds);
    }
}

/* A kernel that spares choices of experts elsewhere takes gathered tokens as if they were dispatched. */
TEST(spared_passes_are_those_of_other_gpus)
{
    struct moe_params sparing = params;
    sparing.spared_frac = 1.0;
    struct moe_shape shape = layer_of(2048.0);
    CHECK(moe_time(&sparing, &gpu, &shape).seconds == timed(&shape).seconds);
    shape.held /= 8.0;
    struct moe_shape dispatched = shape;
    dispatched.dispatched = true;
    CHECK(moe_time(&sparing, &gpu, &shape).seconds == timed(&dispatched).seconds);
    sparing.spared_frac = 0.5;
    const double half_s = moe_time(&sparing, &gpu, &shape).seconds;
    CHECK_NEAR(half_s, 0.5 * (timed(&shape).seconds + timed(&dispatched).seconds), 1e-12);
}

/* Whole tokens bring the choices of experts elsewhere, but a GPU gets no token without an expert of its own. With one
 * GPU these are all tokens. */
TEST(whole_tokens_are_those_with_an_expert_here)
{
    for (double gpus = 1.0; gpus <= 128.0; gpus *= 2.0) {
        struct moe_shape gathered = layer_of(2048.0);
        gathered.held /= gpus;
        struct moe_shape whole = gathered, rows = gathered;
        whole.dispatched = rows.dispatched = whole.whole_tokens = true;
        const double all_s = timed(&gathered).seconds - timed(&rows).seconds;
        const double got_s = timed(&whole).seconds - timed(&rows).seconds;
        const double got_share = 1.0 - pow(1.0 - 1.0 / gpus, 8.0);
        CHECK_NEAR(got_s, gpus == 1.0 ? 0.0 : all_s * (got_share * gpus - 1.0) / (gpus - 1.0), 1e-9);
    }
}

/* Experts without rows cost the kernels that walk along them, in proportion to their number. */
TEST(idle_experts_cost_their_visit)
{
    struct moe_params walking = params;
    walking.held_s = 1e-6;
    for (double gpus = 1.0; gpus <= 64.0; gpus *= 4.0) {
        struct moe_shape shape = layer_of(1.0);
        shape.held /= gpus;
        CHECK_NEAR(moe_time(&walking, &gpu, &shape).seconds - timed(&shape).seconds, shape.held * 1e-6, 1e-12);
    }
}

TEST(more_tokens_take_longer)
{
    for (double gpus = 1.0; gpus <= 64.0; gpus *= 4.0) {
        double before = 0.0;
        for (double tokens = 1.0; tokens < 1e5; tokens = ceil(tokens * 1.1)) {
            struct moe_shape shape = layer_of(tokens);
            shape.held /= gpus;
            const struct kernel_time time = timed(&shape);
            CHECK(time.seconds > before && time.seconds > time.compute_s && time.seconds > time.memory_s);
            before = time.seconds;
        }
    }
}

TEST(the_busiest_gpu_takes_longest)
{
    struct moe_shape shape = layer_of(4096.0);
    shape.held /= 16.0;
    const double fair_s = timed(&shape).seconds;
    shape.skew = 1.01;
    const double skewed_s = timed(&shape).seconds;
    shape.skew = 1.2;
    CHECK(fair_s < skewed_s && skewed_s < timed(&shape).seconds);
}

/* Of delivered tokens, contiguous rows pass choices of experts elsewhere, too. With all experts there are none. */
TEST(contiguous_experts_pass_whole_tokens)
{
    const union kernel_params any = {.moe = params};
    struct kernel_call call = {.shape.moe = layer_of(4096.0)};
    double seconds[2][2]; /* [contiguous][part of the experts] */
    call.shape.moe.dispatched = true;
    for (int part = 0; part < 2; part++) {
        call.shape.moe.held = part ? 32.0 : 128.0;
        call.class = KERNEL_MOE_FP8_MASKED;
        seconds[0][part] = kernel_call_time(&any, &gpu, &call).seconds;
        call.class = KERNEL_MOE_FP8_CONTIGUOUS;
        seconds[1][part] = kernel_call_time(&any, &gpu, &call).seconds;
    }
    CHECK_NEAR(seconds[1][0], seconds[0][0], 1e-15);
    CHECK(seconds[1][1] > seconds[0][1]);
}
