/* Attention over keys of decoding sequences in a launch with prompts, which the L2 holds for all heads of a group or
 * not. */
#include "models/kernel.h"
#include "models/transformer.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 312e12, [FORMAT_BF16] = 312e12},
    .memory_bytes_per_s = 2.039e12, .sm_count = 108,
};

static struct prefill_shape alike(double chunks, double n, double p)
{
    return (struct prefill_shape){
        .sequences = chunks, .tokens = chunks * n, .past = chunks * p, .pairs = chunks * (n * n + 2.0 * n * p),
        .q_heads = 32.0, .kv_heads = 8.0, .key_dim = 128.0, .value_dim = 128.0,
        .kv = FORMAT_FP16, .compute = FORMAT_FP16,
    };
}

/* Keys of a group of heads cross the memory once while what one head keeps fits into the L2, and once for each head
 * where that is twice as much. */
TEST(heads_of_a_group_share_what_the_cache_holds)
{
    struct gpu_spec cached = gpu;
    cached.l2_bytes = 40e6;
    static const union kernel_params bare = {.prefill = {1e-6, 1.0, 1.0, 1e-3, 1.0, 1.0, 1.0, .flash3 = 0.0}};
    struct prefill_shape shape = alike(1.0, 16.0, 0.0);
    shape.decodes = 128.0;
    shape.decode_context = 500.0; /* 33 MB per KV head */
    const double few = prefill_attention_time(&bare.prefill, &cached, &shape).bytes;
    CHECK_NEAR(few, prefill_attention_time(&bare.prefill, &gpu, &shape).bytes, 1.0);
    shape.decode_context = 1250.0; /* 82 MB */
    const double many = prefill_attention_time(&bare.prefill, &cached, &shape).bytes;
    const double once = prefill_attention_time(&bare.prefill, &gpu, &shape).bytes;
    CHECK_NEAR(many - once, 3.0 * 128.0 * 1250.0 * 4096.0, 1.0); /* 4 heads of a group, 128 sequences on 108 SMs */
}

/* Keys that no longer fit into the L2 make the launch slower step by step. One sequence more than b, each of a context
 * of which b fill the L2, takes at most five times its share. Then no launch is slower than all reading of all heads
 * at nine tenths of the bandwidth, however little of it prompts reach. */
TEST(one_sequence_more_takes_a_small_step_where_the_cache_overflows)
{
    struct gpu_spec cached = gpu;
    cached.l2_bytes = 40e6;
    static const union kernel_params kernel = {.prefill = {1e-6, 0.6, 0.4, 0.9, 1.0, 1.2, 3.5, .flash3 = 0.0}};
    int wrong = 0;
    for (double b = 32.0; b <= 400.0; b += 1.0) {
        struct prefill_shape shape = alike(1.0, 512.0, 0.0), more;
        shape.decodes = b;
        shape.decode_context = floor(40e6 / 512.0 / 130.0); /* of 130 sequences */
        more = shape;
        more.decodes = b + 1.0;
        const double before_s = prefill_attention_time(&kernel.prefill, &cached, &shape).seconds;
        const double after_s = prefill_attention_time(&kernel.prefill, &cached, &more).seconds;
        wrong += after_s < before_s || after_s > before_s * (1.0 + 5.0 / b);
        struct prefill_shape alone = shape;
        alone.decodes = 0.0;
        const double bytes = b * (4.0 * shape.decode_context * 4096.0 + 32.0 * 256.0 * 2.0);
        const double prompt_s = prefill_attention_time(&kernel.prefill, &cached, &alone).seconds;
        const double slowest_s = fmax(bytes / (0.9 * 2.039e12), bytes / 4.0 / (0.4 * 2.039e12)) * 1.01;
        wrong += b > 270.0 && before_s > prompt_s + slowest_s;
    }
    CHECK_EQ_INT(wrong, 0);
}
