/* Laws of the attention kernels, over random shapes and parameters: parts and bounds, never less time for more work,
 * what grouping, windows, formats and shared keys and values save, and chunks that are not alike. */
#include "models/kernel.h"
#include "models/transformer.h"
#include "tests/support/harness.h"

enum { CASES = 4000 };

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 312e12, [FORMAT_BF16] = 312e12},
    .memory_bytes_per_s = 2.039e12, .sm_count = 108,
};

static double up_to(struct rng *rng, double most)
{
    return ceil(most * rng_uniform(rng));
}

/* Evenly over orders of magnitude. */
static double log_up_to(struct rng *rng, double most)
{
    return ceil(exp(log(most) * rng_uniform(rng)));
}

static bool chance(struct rng *rng)
{
    return rng_below(rng, 2) == 1;
}

/* Anywhere inside the bounds of a fit. */
static union kernel_params random_params(struct rng *rng, enum kernel_class class)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    union kernel_params params = {.values = {0.0}};
    for (size_t i = 0; i < info->n_params; i++) {
        const struct kernel_param *param = &info->params[i];
        if (param->unit == PARAM_SWITCH)
            params.values[i] = chance(rng) ? 1.0 : 0.0;
        else
            params.values[i] = param->low * pow(param->high / param->low, rng_uniform(rng));
    }
    return params;
}

static struct decode_shape random_decode(struct rng *rng)
{
    struct decode_shape shape = {
        .sequences = log_up_to(rng, 2048.0), .context = log_up_to(rng, 200000.0),
        .kv_heads = exp2(up_to(rng, 5.0) - 1.0), .key_dim = 64.0 * up_to(rng, 3.0),
        .kv = chance(rng) ? FORMAT_FP16 : FORMAT_FP8, .compute = FORMAT_FP16,
        .window = rng_below(rng, 4) == 0 ? log_up_to(rng, 8192.0) : 0.0,
    };
    shape.q_heads = shape.kv_heads * up_to(rng, 9.0);
    shape.value_dim = shape.key_dim;
    return shape;
}

static struct prefill_shape alike(double chunks, double n, double p)
{
    return (struct prefill_shape){
        .sequences = chunks, .tokens = chunks * n, .past = chunks * p, .pairs = chunks * (n * n + 2.0 * n * p),
        .q_heads = 32.0, .kv_heads = 8.0, .key_dim = 128.0, .value_dim = 128.0,
        .kv = FORMAT_FP16, .compute = FORMAT_FP16,
    };
}

static struct prefill_shape random_prefill(struct rng *rng)
{
    struct prefill_shape shape = alike(log_up_to(rng, 256.0), log_up_to(rng, 16384.0),
                                       chance(rng) ? 0.0 : log_up_to(rng, 100000.0));
    shape.kv_heads = exp2(up_to(rng, 5.0) - 1.0);
    shape.q_heads = shape.kv_heads * up_to(rng, 9.0);
    shape.full = rng_below(rng, 8) == 0;
    shape.writes_kv = chance(rng);
    return shape;
}

static double decode_s(const union kernel_params *params, struct decode_shape shape)
{
    return decode_attention_time(&params->decode, &gpu, &shape).seconds;
}

static double prefill_s(const union kernel_params *params, struct prefill_shape shape)
{
    return prefill_attention_time(&params->prefill, &gpu, &shape).seconds;
}

/* Each part alone is a lower bound, all one after another an upper one. */
static bool is_between_its_parts(struct kernel_time time)
{
    const double parts[] = {time.compute_s, time.memory_s, time.overhead_s};
    double sum = 0.0;
    for (size_t i = 0; i < 3; i++) {
        if (!(parts[i] > 0.0) || time.seconds < parts[i] * (1.0 - 1e-12)) return false;
        sum += parts[i];
    }
    return isfinite(time.seconds) && time.seconds <= sum * (1.0 + 1e-12);
}

/* A row of batches whose context moves, as that of sequences does that decode: what is kept from one to the next must
 * not be seen. */
TEST(a_row_of_batches_takes_what_each_alone_does)
{
    struct rng rng = test_rng(1, "row", 0);
    for (int i = 0; i < CASES / 10; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_DECODE_ATTENTION);
        struct decode_shape shape = random_decode(&rng);
        struct decode_row row;
        shape.drafts = (double)rng_below(&rng, 9);
        decode_row_init(&row, &params.decode, &gpu, &shape);
        for (int k = 0; k < 60; k++) {
            shape.context += rng_below(&rng, 20) == 0 ? -0.5 * shape.context : 4.0 * rng_uniform(&rng);
            shape.longest = chance(&rng) ? shape.context + up_to(&rng, 5000.0) : 0.0;
            CHECK_NEAR(decode_row_seconds(&row, shape.context, shape.longest), decode_s(&params, shape), 0.0);
        }
    }
}

/* A row of batches of prompts: what is computed once is that of the first batch, and no other may need it anew. */
TEST(prompts_in_a_row_take_what_each_alone_does)
{
    struct rng rng = test_rng(1, "prompts in a row", 0);
    for (int i = 0; i < CASES / 10; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_LATENT_PREFILL);
        struct prefill_shape shape = random_prefill(&rng);
        struct prefill_row row;
        shape.kv = chance(&rng) ? FORMAT_FP8 : FORMAT_FP16;
        shape.expanded = chance(&rng);
        shape.window = chance(&rng) ? up_to(&rng, 4096.0) : 0.0;
        prefill_row_init(&row, &params.prefill, &gpu, &shape);
        for (int k = 0; k < 20; k++) {
            const struct prefill_shape next = random_prefill(&rng);
            shape.sequences = next.sequences, shape.tokens = next.tokens;
            shape.past = next.past, shape.pairs = next.pairs;
            shape.decodes = chance(&rng) ? up_to(&rng, 256.0) : 0.0;
            shape.decode_context = shape.decodes > 0.0 ? up_to(&rng, 5000.0) : 0.0;
            shape.decode_longest = chance(&rng) ? 2.0 * shape.decode_context : 0.0;
            const struct kernel_time part = prefill_row_time(&row, &shape);
            const struct kernel_time whole = prefill_attention_time(&params.prefill, &gpu, &shape);
            CHECK(part.seconds == whole.seconds && part.compute_s == whole.compute_s && part.flop == whole.flop);
            CHECK(part.memory_s == whole.memory_s && part.bytes == whole.bytes && part.overhead_s == whole.overhead_s);
        }
    }
}

TEST(time_lies_between_its_parts_and_above_the_peaks)
{
    struct rng rng = test_rng(1, "attention", 0);
    int outside = 0, too_fast = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params decode = random_params(&rng, KERNEL_DECODE_ATTENTION);
        const struct decode_shape one = random_decode(&rng);
        const struct kernel_time token = decode_attention_time(&decode.decode, &gpu, &one);
        const union kernel_params prefill = random_params(&rng, KERNEL_PREFILL_ATTENTION);
        const struct prefill_shape chunks = random_prefill(&rng);
        const struct kernel_time prompt = prefill_attention_time(&prefill.prefill, &gpu, &chunks);
        outside += !is_between_its_parts(token) + !is_between_its_parts(prompt);
        too_fast += token.seconds < token.flop / 312e12;
        too_fast += token.seconds < token.bytes / 2.039e12 / decode.decode.bandwidth_frac;
        too_fast += prompt.seconds < 0.999 * prompt.flop / 312e12 / prefill.prefill.flop_frac;
    }
    CHECK_EQ_INT(outside, 0);
    CHECK_EQ_INT(too_fast, 0);
}

TEST(decode_never_takes_less_for_more)
{
    struct rng rng = test_rng(2, "attention", 0);
    int faster = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_DECODE_ATTENTION);
        const struct decode_shape shape = random_decode(&rng);
        const double seconds = decode_s(&params, shape);
        struct decode_shape longer = shape, larger = shape, wider = shape;
        longer.context += log_up_to(&rng, 5000.0);
        larger.sequences += log_up_to(&rng, 100.0);
        wider.key_dim += 64.0;
        faster += decode_s(&params, longer) < seconds;
        faster += decode_s(&params, larger) < seconds;
        faster += decode_s(&params, wider) < seconds;
    }
    CHECK_EQ_INT(faster, 0);
}

TEST(prompts_never_take_less_for_more_chunks_or_context)
{
    struct rng rng = test_rng(3, "attention", 0);
    int faster = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_PREFILL_ATTENTION);
        const double chunks = log_up_to(&rng, 64.0), n = log_up_to(&rng, 8192.0), p = log_up_to(&rng, 30000.0);
        const double seconds = prefill_s(&params, alike(chunks, n, p));
        faster += prefill_s(&params, alike(chunks + up_to(&rng, 8.0), n, p)) < seconds * (1.0 - 1e-12);
        faster += prefill_s(&params, alike(chunks, n, p + log_up_to(&rng, 3000.0))) < seconds * (1.0 - 1e-12);
    }
    CHECK_EQ_INT(faster, 0);
}

/* A prompt's launch that sequences decode in. */
static struct prefill_shape random_mixed(struct rng *rng)
{
    struct prefill_shape shape = random_prefill(rng);
    shape.decodes = log_up_to(rng, 512.0);
    shape.decode_context = log_up_to(rng, 60000.0);
    shape.decode_longest = shape.decode_context * (1.0 + 3.0 * rng_uniform(rng));
    return shape;
}

TEST(sequences_among_prompts_never_take_less_for_more)
{
    struct rng rng = test_rng(4, "attention", 0);
    int faster = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_PREFILL_ATTENTION);
        const struct prefill_shape shape = random_mixed(&rng);
        struct prefill_shape none = shape, more = shape, longer = shape, longest = shape;
        none.decodes = 0.0;
        more.decodes += log_up_to(&rng, 100.0);
        longer.decode_context += log_up_to(&rng, 3000.0),
            longer.decode_longest += longer.decode_context - shape.decode_context;
        longest.decode_longest += log_up_to(&rng, 9000.0);
        const double seconds = prefill_s(&params, shape) * (1.0 - 1e-12);
        faster += prefill_s(&params, none) > seconds / (1.0 - 2e-12);
        faster += prefill_s(&params, more) < seconds;
        faster += prefill_s(&params, longer) < seconds;
        faster += prefill_s(&params, longest) < seconds;
    }
    CHECK_EQ_INT(faster, 0);
}

/* Windows and chunks, from one token on, cut all sequences alike: the longest holds nobody up. */
TEST(cut_sequences_are_not_held_up_by_the_longest)
{
    struct rng rng = test_rng(6, "attention", 0);
    for (int i = 0; i < 400; i++) {
        const union kernel_params mixed = random_params(&rng, KERNEL_PREFILL_ATTENTION);
        const union kernel_params alone = random_params(&rng, KERNEL_DECODE_ATTENTION);
        const double tokens = i % 4 < 2 ? 1.0 : floor(log_up_to(&rng, 4096.0));
        struct prefill_shape shape = random_mixed(&rng), longer;
        struct decode_shape decode = random_decode(&rng);
        shape.window = decode.window = i % 2 == 0 ? tokens : 0.0;
        shape.chunk = decode.chunk = i % 2 == 0 ? 0.0 : tokens;
        longer = shape;
        longer.decode_longest += 9000.0;
        CHECK(prefill_s(&mixed, longer) == prefill_s(&mixed, shape));
        decode.longest = decode.context + 9000.0;
        CHECK(decode_straggle_seconds(&alone.decode, &gpu, &decode) == 0.0);
    }
}

/* Only where sequences are left whole, and the same however long all of them have become. */
TEST(the_longest_sequence_holds_the_others_up)
{
    struct rng rng = test_rng(5, "attention", 0);
    int wrong = 0, held_up = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_DECODE_ATTENTION);
        struct decode_shape shape = random_decode(&rng);
        shape.longest = shape.context + log_up_to(&rng, 9000.0);
        const double s = decode_straggle_seconds(&params.decode, &gpu, &shape);
        const bool whole = params.decode.flash3 < 0.5 && shape.sequences * shape.kv_heads >= 1.6 * 108.0;
        wrong += (s > 0.0) != (whole && shape.window <= 0.0);
        struct decode_shape later = shape, further = shape, alike = shape;
        later.context += 1000.0, later.longest += 1000.0;
        further.longest = shape.context + 2.0 * (shape.longest - shape.context);
        alike.longest = 0.0;
        wrong += fabs(decode_straggle_seconds(&params.decode, &gpu, &later) - s) > 1e-9 * s;
        wrong += fabs(decode_straggle_seconds(&params.decode, &gpu, &further) - 2.0 * s) > 1e-9 * s;
        wrong += fabs(decode_s(&params, shape) - decode_s(&params, alike) - s) > 1e-9 * decode_s(&params, shape);
        held_up += s > 0.0;
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK(held_up > CASES / 8);
}

/* Fitted on ai-dynamo/aiconfigurator's tables: FlashAttention-2 on A100, FlashAttention-3 on H100. */
static const union kernel_params prefill_kernels[] = {
    {.prefill = {6.8e-6, 0.587, 0.68, 1.9, 1.16, 0.905, 4.0, .flash3 = 0.0}},
    {.prefill = {9.2e-6, 0.593, 0.41, 0.91, 1.40, 1.10, 3.5, .flash3 = 1.0}},
};
static const union kernel_params decode_kernels[] = {
    {.decode = {8.5e-6, 0.794, 1.20, 1.34e-6, 3.6e-6, 4.0e-7, 6.3e-6, .flash3 = 0.0}},
    {.decode = {7.7e-6, 0.943, 1.17, 1.69e-6, 1.3e-6, 1.1e-7, 5.4e-7, .flash3 = 1.0}},
};

static struct decode_shape llama_3_8b(double sequences, double context)
{
    return (struct decode_shape){
        .sequences = sequences, .context = context, .q_heads = 32.0, .kv_heads = 8.0, .key_dim = 128.0,
        .value_dim = 128.0, .kv = FORMAT_FP16, .compute = FORMAT_FP16,
    };
}

TEST(large_batches_run_at_the_memory_bandwidth)
{
    for (int i = 0; i < 2; i++) {
        const struct decode_shape shape = llama_3_8b(256.0, 8192.0);
        const struct kernel_time time = decode_attention_time(&decode_kernels[i].decode, &gpu, &shape);
        CHECK_NEAR(time.bytes, 256.0 * (8192.0 * 8.0 * 256.0 * 2.0 + 32.0 * 256.0 * 2.0), 1.0);
        CHECK_NEAR(time.flop, 256.0 * 8192.0 * 32.0 * 4.0 * 128.0, 1.0);
        CHECK_EQ_INT(kernel_time_bound(&time), BOUND_MEMORY);
        CHECK_NEAR(time.seconds / (time.bytes / (decode_kernels[i].decode.bandwidth_frac * 2.039e12)), 1.05, 0.05);
    }
}

/* One long sequence and one KV head: whole, a thread block streams all of it; in parts, many do. */
TEST(splitting_brings_one_sequence_to_many_sms)
{
    struct decode_shape shape = llama_3_8b(1.0, 65536.0);
    shape.q_heads = 8.0, shape.kv_heads = 1.0;
    const double split = decode_s(&decode_kernels[0], shape);
    shape.q_heads = 1.0; /* not grouped: FlashAttention-2 keeps it whole, FlashAttention-3 does not */
    CHECK(decode_s(&decode_kernels[0], shape) > 15.0 * split);
    CHECK(decode_s(&decode_kernels[1], shape) < 2.0 * split);
    shape.context = 128.0; /* a single block cannot be split */
    CHECK_NEAR(decode_s(&decode_kernels[1], shape), decode_kernels[1].decode.start_s, 5e-6);
}

TEST(smaller_caches_are_read_faster)
{
    static const enum number_format formats[] = {FORMAT_INT4, FORMAT_FP8, FORMAT_FP16};
    for (int i = 0; i < 2; i++) {
        double seconds[3];
        for (int f = 0; f < 3; f++) {
            struct decode_shape shape = llama_3_8b(128.0, 16384.0);
            shape.kv = formats[f];
            seconds[f] = decode_s(&decode_kernels[i], shape) - decode_kernels[i].decode.start_s;
        }
        CHECK_NEAR(seconds[2] / seconds[1], 2.0, 0.1);
        CHECK_NEAR(seconds[2] / seconds[0], 4.0, 0.3);
        struct decode_shape many = llama_3_8b(128.0, 16384.0), few = many;
        many.kv_heads = 32.0, few.kv_heads = 1.0;
        CHECK_NEAR(decode_s(&decode_kernels[i], many) / decode_s(&decode_kernels[i], few), 30.0, 3.0);
    }
}

TEST(a_window_ends_the_context)
{
    for (int i = 0; i < 2; i++) {
        struct decode_shape inside = llama_3_8b(16.0, 4096.0), beyond = llama_3_8b(16.0, 30000.0);
        beyond.window = 4096.0;
        CHECK_NEAR(decode_s(&decode_kernels[i], beyond), decode_s(&decode_kernels[i], inside), 0.0);
        struct prefill_shape chunk = alike(1.0, 4096.0, 4096.0), later = alike(1.0, 4096.0, 60000.0);
        chunk.window = later.window = 4096.0;
        chunk.pairs = later.pairs = 2.0 * 4096.0 * 4096.0;
        const double ratio = prefill_s(&prefill_kernels[i], later) / prefill_s(&prefill_kernels[i], chunk);
        CHECK_NEAR(ratio, 1.0, 0.1);
    }
}

/* The time of a launch with a window is added as soon as the window is shorter than the context, once. */
TEST(a_window_that_cuts_takes_its_time)
{
    for (int i = 0; i < 2; i++) {
        union kernel_params slower = decode_kernels[i];
        slower.decode.window_s += 5e-6;
        for (double context = 64.0; context <= 65536.0; context *= 2.0) {
            struct decode_shape shape = llama_3_8b(16.0, context);
            CHECK_NEAR(decode_s(&slower, shape), decode_s(&decode_kernels[i], shape), 0.0);
            shape.window = 1024.0;
            const double extra_s = decode_s(&slower, shape) - decode_s(&decode_kernels[i], shape);
            CHECK_NEAR(extra_s, context > 1024.0 ? 5e-6 : 0.0, 1e-15);
        }
    }
}

/* DeepSeek-V3's absorbed form: one latent vector of 576 numbers per token, 128 query heads. */
/* Tiles of K keys that rows of R queries meet, one by one. */
static double counted_tiles(double n, double p, double window, double rows_of, double k)
{
    double tiles = 0.0;
    for (double first = 0.0; first < n; first += rows_of) {
        const double last = fmin(first + rows_of, n) - 1.0, from = fmax(0.0, p + first - window + 1.0);
        tiles += floor((p + last) / k) - floor(from / k) + 1.0;
    }
    return tiles;
}

/* On one SM that computes a tile per second, time is the number of tiles: within a tile per row of those counted one by
 * one, and on average within 3 %. Heads of one group lie in a tile of 128 rows and 128 keys. */
TEST(tiles_under_a_window_are_those_counted)
{
    struct rng rng = test_rng(31, "tiles", 0);
    double sum = 0.0, counted = 0.0;
    struct gpu_spec one = gpu;
    one.sm_count = 1;
    one.memory_bytes_per_s = 1e30;
    for (int i = 0; i < CASES; i++) {
        union kernel_params params = {.prefill = {.flop_frac = 1.0, .bandwidth_frac = 1.0, .flash3 = 1.0,
                                                  .lone_speed = 1e9, .path_softness = 8.0}};
        const double n = up_to(&rng, 3000.0), p = chance(&rng) ? 128.0 * up_to(&rng, 20.0) : 0.0;
        const double group = exp2(up_to(&rng, 4.0) - 1.0), window = 128.0 * up_to(&rng, 12.0);
        struct prefill_shape shape = alike(1.0, n, p);
        shape.window = window;
        shape.q_heads = group;
        shape.kv_heads = 1.0;
        shape.key_dim = shape.value_dim = 64.0;
        shape.kv = shape.compute = FORMAT_FP16;
        one.peak_flop_per_s[FORMAT_FP16] = 2.0 * 128.0 * 128.0 * 128.0;
        const struct kernel_call call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape};
        const double tiles = kernel_call_time(&params, &one, &call).compute_s;
        const double expected = counted_tiles(n, p, window, 128.0 / group, 128.0);
        CHECK(fabs(tiles - expected) <= ceil(n * group / 128.0));
        sum += tiles;
        counted += expected;
    }
    CHECK_NEAR(sum / counted, 1.0, 0.03);
}

/* On one SM, which has no waves, more tokens of a prompt with a window never take less time. */
TEST(tokens_under_a_window_never_take_less)
{
    struct rng rng = test_rng(32, "more tokens", 0);
    struct gpu_spec one = gpu;
    one.sm_count = 1;
    for (int i = 0; i < CASES / 40; i++) {
        const union kernel_params params = random_params(&rng, KERNEL_PREFILL_ATTENTION);
        const double p = 64.0 * up_to(&rng, 200.0), window = 64.0 * up_to(&rng, 40.0);
        double before = 0.0;
        for (double n = 1.0; n < 700.0; n += up_to(&rng, 9.0)) {
            struct prefill_shape shape = alike(1.0, n, p);
            shape.window = window;
            shape.q_heads = 32.0;
            shape.kv_heads = 8.0;
            shape.key_dim = shape.value_dim = 64.0;
            shape.kv = shape.compute = FORMAT_FP16;
            shape.pairs = fmin(shape.pairs, llm_window_pairs(n, p, window));
            const struct kernel_call call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape};
            const double seconds = kernel_call_time(&params, &one, &call).seconds;
            CHECK(seconds >= before * (1.0 - 1e-12));
            before = fmax(before, seconds);
        }
    }
}

TEST(shared_latent_vectors_are_read_once_and_compute)
{
    struct decode_shape shape = llama_3_8b(64.0, 8192.0);
    shape.kv_heads = 1.0, shape.key_dim = 576.0, shape.value_dim = 512.0, shape.shared_kv = true;
    for (int i = 0; i < 2; i++) {
        shape.q_heads = 16.0;
        const struct kernel_time few = decode_attention_time(&decode_kernels[i].decode, &gpu, &shape);
        shape.q_heads = 128.0;
        const struct kernel_time many = decode_attention_time(&decode_kernels[i].decode, &gpu, &shape);
        CHECK_NEAR(few.bytes, 64.0 * (8192.0 * 576.0 + 16.0 * 1088.0) * 2.0, 1.0);
        CHECK_NEAR(many.flop, 64.0 * 8192.0 * 128.0 * 2.0 * 1088.0, 1.0);
        CHECK_EQ_INT(kernel_time_bound(&many), BOUND_COMPUTE);
        CHECK_NEAR(many.compute_s / few.compute_s, 2.0, 0.2); /* rows of 64 heads */
    }
}

TEST(long_prompts_run_at_their_share_of_the_peak)
{
    for (int i = 0; i < 2; i++) {
        const struct prefill_shape causal = alike(1.0, 65536.0, 0.0);
        struct prefill_shape full = causal;
        full.full = true;
        const struct kernel_time time = prefill_attention_time(&prefill_kernels[i].prefill, &gpu, &causal);
        CHECK_NEAR(time.flop, 2.0 * 65536.0 * 65536.0 * 32.0 * 128.0, 1.0);
        CHECK_NEAR(time.seconds / (time.flop / (prefill_kernels[i].prefill.flop_frac * 312e12)), 1.05, 0.05);
        CHECK_NEAR(prefill_s(&prefill_kernels[i], full) / time.seconds, 2.0, 0.05);
    }
}

/* A prompt in chunks does the operations of the whole in more time: each chunk starts anew, and waves of equally long
 * thread blocks round up, at most twofold. */
TEST(chunks_of_a_prompt_add_up)
{
    for (int i = 0; i < 2; i++) {
        const struct prefill_shape whole = alike(1.0, 8192.0, 0.0);
        const struct kernel_time once = prefill_attention_time(&prefill_kernels[i].prefill, &gpu, &whole);
        double flop = 0.0, seconds = 0.0;
        for (double past = 0.0; past < 8192.0; past += 512.0) {
            const struct prefill_shape chunk = alike(1.0, 512.0, past);
            const struct kernel_time part = prefill_attention_time(&prefill_kernels[i].prefill, &gpu, &chunk);
            flop += part.flop;
            seconds += part.seconds;
        }
        CHECK_NEAR(flop / once.flop, 1.0, 1e-12);
        CHECK(seconds > once.seconds);
        CHECK(seconds - 16.0 * prefill_kernels[i].prefill.start_s < 2.0 * once.seconds);
    }
}

/* Prompts of different length, known by their sums only, take no longer than one after another, and not much less than
 * the longest alone. */
TEST(uneven_prompts_lie_between_the_longest_and_the_sum)
{
    struct rng rng = test_rng(4, "attention", 0);
    int above = 0, below = 0;
    for (int i = 0; i < CASES; i++) {
        const union kernel_params *params = &prefill_kernels[i % 2];
        struct prefill_shape batch = alike(0.0, 0.0, 0.0);
        double sum_s = 0.0, longest_s = 0.0;
        for (uint64_t left = 1 + rng_below(&rng, 16); left > 0; left--) {
            const struct prefill_shape one = alike(1.0, log_up_to(&rng, 8192.0), 0.0);
            const double seconds = prefill_s(params, one);
            batch.sequences += 1.0;
            batch.tokens += one.tokens;
            batch.pairs += one.pairs;
            sum_s += seconds;
            longest_s = fmax(longest_s, seconds);
        }
        const double seconds = prefill_s(params, batch);
        above += seconds > 1.01 * sum_s;
        below += seconds < 0.85 * longest_s;
    }
    CHECK_EQ_INT(above, 0);
    CHECK_EQ_INT(below, 0);
}

/* Beside products of half as many numbers, the scores of narrow heads take as long as those of wide ones: half the work
 * takes more than half the time. Only GPUs with units of 4 bits have that limit, and gain by a narrow cache. */
TEST(scores_bound_narrow_heads_where_products_are_fast)
{
    struct gpu_spec fast = gpu;
    fast.boost_hz = 1e9;
    fast.peak_flop_per_s[FORMAT_FP8] = 2.0 * gpu.peak_flop_per_s[FORMAT_FP16];
    fast.peak_flop_per_s[FORMAT_NVFP4] = 4.0 * gpu.peak_flop_per_s[FORMAT_FP16];
    struct prefill_params params = {.flop_frac = 0.8, .bandwidth_frac = 1.0, .path_softness = 2.0, .lone_speed = 1.0,
                                    .write_passes = 1.0};
    struct prefill_shape wide = alike(8.0, 16384.0, 0.0), narrow;
    wide.q_heads = wide.kv_heads = 16.0;
    wide.key_dim = wide.value_dim = 128.0;
    wide.kv = wide.compute = FORMAT_FP16;
    narrow = wide;
    narrow.key_dim = narrow.value_dim = 64.0;
    const double alone_s = prefill_attention_time(&params, &gpu, &wide).seconds;
    CHECK_NEAR(prefill_attention_time(&params, &fast, &narrow).compute_s,
               0.5 * prefill_attention_time(&params, &fast, &wide).compute_s, 1e-9);
    params.score_cycles = 2.0 * 256.0 * (double)gpu.sm_count * fast.boost_hz / gpu.peak_flop_per_s[FORMAT_FP16];
    CHECK(prefill_attention_time(&params, &gpu, &wide).seconds == alone_s);
    const double wide_s = prefill_attention_time(&params, &fast, &wide).compute_s;
    CHECK(prefill_attention_time(&params, &fast, &narrow).compute_s > 0.7 * wide_s);
    wide.kv = FORMAT_FP8;
    CHECK(prefill_attention_time(&params, &fast, &wide).compute_s < wide_s);
    wide.writes_kv = true;
    const double plain_s = prefill_attention_time(&params, &fast, &wide).seconds;
    params.narrow_passes = 30.0;
    CHECK(prefill_attention_time(&params, &fast, &wide).seconds > plain_s);
}

static double latent_s(const union kernel_params *params, const struct gpu_spec *on, const struct prefill_shape *shape)
{
    return kernel_call_time(params, on, &(struct kernel_call){.class = KERNEL_LATENT_PREFILL, .shape.prefill = *shape})
        .seconds;
}

/* Without terms of their own, expanded keys and values take as long as any others. A cache of 8 bits adds the launch
 * that narrows them and its passes over memory, whatever the GPU. */
TEST(expanded_keys_are_narrowed_beside_a_narrow_cache)
{
    struct rng rng;
    rng_init(&rng, 3, 0, "expanded", 0);
    for (int i = 0; i < 200; i++) {
        union kernel_params params = random_params(&rng, KERNEL_LATENT_PREFILL);
        struct prefill_shape shape = random_prefill(&rng);
        shape.writes_kv = false;
        shape.decodes = 0.0;
        params.prefill.score_cycles = params.prefill.narrow_passes = params.prefill.narrow_s = 0.0;
        CHECK(latent_s(&params, &gpu, &shape) == prefill_s(&params, shape));
        shape.kv = FORMAT_FP8;
        const double alone_s = latent_s(&params, &gpu, &shape);
        params.prefill.narrow_passes = 8.0;
        params.prefill.narrow_s = 3e-6;
        const double bytes = shape.tokens * shape.kv_heads *
                             (shape.key_dim + (shape.shared_kv ? 0.0 : shape.value_dim));
        CHECK_NEAR(latent_s(&params, &gpu, &shape) - alone_s, 3e-6 + 8.0 * bytes / gpu.memory_bytes_per_s, 1e-9);
        shape.kv = FORMAT_FP16;
        params.prefill.narrow_passes = 0.0;
        CHECK(latent_s(&params, &gpu, &shape) == prefill_s(&params, shape));
    }
}
