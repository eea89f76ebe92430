/* What an iteration launches of linear attention, of sparse attention with an indexer, and of attention within chunks:
 * operations and bytes are those of closed forms, over random shapes. */
#include "models/operators/layer.h"
#include "tests/support/harness.h"
#include "tests/support/iteration_sums.h"

enum { CASES = 1000 };

static int64_t up_to(struct rng *rng, int64_t most)
{
    return 1 + (int64_t)rng_below(rng, (uint64_t)most);
}

static bool chance(struct rng *rng)
{
    return rng_below(rng, 2) == 1;
}

static void add_experts(struct rng *rng, struct llm_spec *llm)
{
    llm->experts = 8 * up_to(rng, 20);
    llm->experts_per_token = up_to(rng, 8);
    llm->expert_ffn = 64 * up_to(rng, 32);
    llm->shared_gate = chance(rng);
}

/* Three of four layers, or any other number, with linear attention. */
static struct llm_spec random_linear(struct rng *rng)
{
    const int64_t layers = 2 + up_to(rng, 60);
    struct llm_spec llm = {
        .layers = layers, .hidden = 128 * up_to(rng, 50), .q_heads = 8 * up_to(rng, 4), .kv_heads = 8, .head_dim = 256,
        .ffn = 512 * up_to(rng, 30), .vocab = 32000, .max_context = 1 << 18, .layer_norms = 2, .gated_ffn = true,
        .qk_norm = true, .attention_gate = chance(rng),
        .linear_layers = up_to(rng, layers - 1), .linear_key_heads = 8 * up_to(rng, 2), .linear_key_dim = 64 * up_to(rng, 2),
        .linear_value_dim = 64 * up_to(rng, 2), .linear_conv = up_to(rng, 8), .weights = FORMAT_BF16,
        .compute = FORMAT_BF16, .kv = FORMAT_BF16,
    };
    llm.linear_value_heads = llm.linear_key_heads * up_to(rng, 4);
    if (chance(rng)) add_experts(rng, &llm);
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static struct llm_spec random_sparse(struct rng *rng)
{
    const int64_t layers = 2 + up_to(rng, 60), heads = 64 * up_to(rng, 2);
    struct llm_spec llm = {
        .layers = layers, .hidden = 128 * up_to(rng, 50), .q_heads = heads, .kv_heads = heads, .head_dim = 128,
        .query_latent = 512 * up_to(rng, 4), .kv_latent = 512, .rotary_dim = 64, .value_dim = 128,
        .index_heads = 8 * up_to(rng, 8), .index_dim = 128, .index_tokens = 64 * up_to(rng, 64),
        .index_layers = up_to(rng, layers),
        .ffn = 512 * up_to(rng, 30), .vocab = 32000, .max_context = 1 << 18, .layer_norms = 2, .gated_ffn = true,
        .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
    };
    if (chance(rng)) add_experts(rng, &llm);
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static struct llm_spec random_chunked(struct rng *rng)
{
    const int64_t layers = 2 + up_to(rng, 60);
    struct llm_spec llm = {
        .layers = layers, .hidden = 128 * up_to(rng, 50), .q_heads = 8 * up_to(rng, 8), .kv_heads = 8, .head_dim = 128,
        .ffn = 512 * up_to(rng, 30), .vocab = 32000, .max_context = 1 << 20, .layer_norms = 2, .gated_ffn = true,
        .sliding_window = 64 * up_to(rng, 64), .chunked = true,
        .full_layers = (int64_t)rng_below(rng, (uint64_t)layers), .weights = FORMAT_BF16, .compute = FORMAT_BF16,
        .kv = FORMAT_BF16,
    };
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 60e12, [FORMAT_FP16] = 900e12, [FORMAT_FP8] = 1800e12},
    .memory_bytes_per_s = 3e12, .sm_count = 132, .boost_hz = 1.8e9,
    .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 450e9, .pcie_bytes_per_s = 64e9,
};

static const struct llm_split whole = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8};

static struct iteration_work decoding(int64_t sequences, int64_t context, int64_t drafts)
{
    return (struct iteration_work){.decode_sequences = sequences, .decode_context_tokens = sequences * context,
                                   .decode_drafts = drafts};
}

static struct iteration_work prompt(int64_t tokens, int64_t before)
{
    struct iteration_work work = {.prefill_sequences = 0};
    iteration_add_prompt(&work, tokens, before);
    return work;
}

static struct iteration_sums sums_of(const struct llm_spec *llm, const struct llm_split *split,
                                     const struct iteration_work *work, enum llm_operator first, enum llm_operator last)
{
    return iteration_sums(llm, split, &gpu, work, first, last);
}

static double flop_of(const struct llm_spec *llm, const struct llm_split *split, const struct iteration_work *work)
{
    return sums_of(llm, split, work, OP_EMBEDDING, OP_HEAD).flop;
}

static double launches_of(const struct llm_spec *llm, const struct llm_split *split, const struct iteration_work *work,
                          enum llm_operator op)
{
    return sums_of(llm, split, work, op, op).launches;
}

/* The sum of what experts and a shared expert make is a kernel of its own, whether norms add the residuals or not. */
TEST(norms_add_residuals_alone)
{
    struct rng rng = test_rng(1, "residuals", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const struct iteration_work work = decoding(up_to(&rng, 64), 1000, 0);
        struct llm_split split = whole;
        const double beside = llm.experts > 0 ? (double)llm.layers : 0.0;
        CHECK_NEAR(launches_of(&llm, &split, &work, OP_RESIDUAL), 2.0 * (double)llm.layers + beside, 0.0);
        split.fused_residual = true;
        CHECK_NEAR(launches_of(&llm, &split, &work, OP_RESIDUAL), beside, 0.0);
    }
}

/* Norms on queries and keys over all heads add one sum of two numbers of 32 bits per token to each layer that has
 * heads, if several GPUs share them. */
TEST(wide_norms_sum_squares)
{
    struct rng rng = test_rng(1, "squares", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec llm = random_linear(&rng);
        const struct iteration_work work = decoding(up_to(&rng, 64), 1000, 0);
        const struct llm_split split = {.tensor = chance(&rng) ? 8 : 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8};
        struct kernel_use uses[LLM_MAX_USES];
        const double without = launches_of(&llm, &split, &work, OP_ALL_REDUCE);
        llm.wide_qk_norm = true;
        const double more = split.tensor > 1 ? (double)(llm.layers - llm.linear_layers) : 0.0;
        CHECK_NEAR(launches_of(&llm, &split, &work, OP_ALL_REDUCE), without + more, 0.0);
        const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
        size_t small = 0;
        for (size_t use = 0; use < n; use++)
            small += uses[use].op == OP_ALL_REDUCE && fabs(uses[use].count - more) < 1e-9 &&
                     uses[use].call.shape.collective.bytes == 8.0 * (double)work.decode_sequences;
        CHECK_EQ_INT((int64_t)small, split.tensor > 1);
    }
}

/* Every decoding sequence takes what the LLM states for a token at its context. */
TEST(decoding_takes_the_operations_of_the_closed_form)
{
    struct rng rng = test_rng(1, "decoding", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const int64_t n = up_to(&rng, 200), context = up_to(&rng, 30000);
        const struct iteration_work work = decoding(n, context, 0);
        CHECK_NEAR(flop_of(&llm, &whole, &work) / ((double)n * llm_flop_per_token(&llm, context)), 1.0, 1e-9);
    }
}

/* The same of sparse attention, but that it attends over latent vectors, as many as the indexer chose. */
TEST(sparse_attention_takes_the_operations_of_the_closed_form)
{
    struct rng rng = test_rng(2, "sparse", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_sparse(&rng);
        const int64_t n = up_to(&rng, 200), context = up_to(&rng, 30000);
        const int64_t seen = context < llm.index_tokens ? context : llm.index_tokens;
        const struct iteration_work work = decoding(n, context, 0);
        const double heads = (double)(llm.layers * llm.q_heads),
                     keys = (double)(llm_key_dim(&llm) + llm_value_dim(&llm));
        const double latent = (double)(2 * llm.kv_latent + llm.rotary_dim);
        const double expected = llm_flop_per_token(&llm, context) + 2.0 * heads * (double)seen * (latent - keys);
        CHECK_NEAR(flop_of(&llm, &whole, &work) / ((double)n * expected), 1.0, 1e-9);
    }
}

/* A prompt of n tokens takes what n decoding sequences take at the contexts that its tokens have: nothing is expanded,
 * and as many pairs are looked at, but for half a token of each query that the triangle counts otherwise. */
TEST(sparse_prompts_take_what_decoding_takes)
{
    struct rng rng = test_rng(3, "prompts", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec llm = random_sparse(&rng);
        const int64_t n = up_to(&rng, 64), before = 200 + up_to(&rng, 20000);
        const struct iteration_work chunk = prompt(n, before);
        double expected = (double)(1 - n) * llm_head_flop(&llm);
        for (int64_t k = 0; k < n; k++) {
            const struct iteration_work work = decoding(1, before + k + 1, 0);
            expected += flop_of(&llm, &whole, &work);
        }
        CHECK_NEAR(flop_of(&llm, &whole, &chunk) / expected, 1.0, 2e-3);
    }
}

/* Weights of all matrix products are read once. */
TEST(weights_are_read_once)
{
    struct rng rng = test_rng(4, "weights", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = chance(&rng) ? random_linear(&rng) : random_sparse(&rng);
        const int64_t n = up_to(&rng, 200);
        const struct iteration_work work = decoding(n, 1000, 0);
        struct kernel_use uses[LLM_MAX_USES];
        double bytes = 0.0;
        const size_t n_uses = llm_iteration_kernels(&llm, &whole, &gpu, &work, uses);
        for (size_t k = 0; k < n_uses; k++) {
            const struct gemm_shape *gemm = &uses[k].call.shape.gemm;
            if (uses[k].call.class == KERNEL_GEMM)
                bytes += uses[k].count * gemm->k * gemm->n * number_format_bytes(gemm->weights);
        }
        const struct llm_reads reads = llm_reads(&llm);
        const double experts = reads.sparse_layers * llm_experts_read(&reads, n) * reads.expert_bytes;
        CHECK_NEAR((bytes + experts) / llm_read_bytes(&llm, n), 1.0, 1e-9);
    }
}

/* A decoding sequence reads and writes its state once, and writes one more for each draft, whatever its context. */
TEST(states_are_read_and_written)
{
    struct rng rng = test_rng(5, "states", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const int64_t n = up_to(&rng, 200), drafts = (int64_t)rng_below(&rng, 5);
        const struct iteration_work near = decoding(n, 10, drafts), far = decoding(n, 10000, drafts);
        const double state = (double)(llm.linear_layers * llm.linear_key_dim * llm.linear_value_dim *
                                      llm.linear_value_heads) *
                             4.0;
        const double moved = 2.0 * (double)(llm.linear_layers * 2 * (llm_linear_keys(&llm) + llm_linear_values(&llm)));
        const struct iteration_sums sums = sums_of(&llm, &whole, &near, OP_LINEAR_ATTENTION, OP_LINEAR_ATTENTION);
        const struct iteration_sums later = sums_of(&llm, &whole, &far, OP_LINEAR_ATTENTION, OP_LINEAR_ATTENTION);
        CHECK_NEAR(sums.bytes / ((double)n * (state + (double)(1 + drafts) * (state + moved))), 1.0, 1e-12);
        CHECK(sums.bytes == later.bytes && sums.flop == later.flop);
    }
}

/* A prompt goes in chunks of 64 tokens: six products of their length with keys, four with values, six with states. */
TEST(prompts_take_chunks_of_the_delta_rule)
{
    struct rng rng = test_rng(13, "delta", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const int64_t n = up_to(&rng, 9000), before = (int64_t)rng_below(&rng, 2) * 5000;
        const struct iteration_work work = prompt(n, before);
        const double heads = (double)(llm.linear_layers * llm.linear_value_heads), keys = (double)llm.linear_key_dim;
        const double values = (double)llm.linear_value_dim, tokens = (double)n;
        const struct iteration_sums sums = sums_of(&llm, &whole, &work, OP_LINEAR_ATTENTION, OP_LINEAR_ATTENTION);
        const double flop = heads * tokens * (64.0 * (6.0 * keys + 4.0 * values) + 6.0 * keys * values);
        CHECK_NEAR(sums.flop / flop, 1.0, 1e-12);
        const double moved = (double)(llm.linear_layers * 2 * (llm_linear_keys(&llm) + llm_linear_values(&llm)));
        const double states = heads * keys * values * (2.0 * 4.0 + 2.0 * 2.0 * tokens / 64.0);
        CHECK_NEAR(sums.bytes / (3.0 * 2.0 * moved * tokens + states), 1.0, 1e-12);
    }
}

/* Sparse attention takes rows of 64 heads, however few there are on a GPU. */
TEST(few_heads_take_whole_rows)
{
    struct rng rng = test_rng(14, "rows", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_sparse(&rng);
        const struct llm_split split = {.tensor = llm.q_heads / 64 * 4, .pipeline = 1, .expert = 1, .gpus_per_node = 8};
        const struct iteration_work work = chance(&rng) ? decoding(up_to(&rng, 100), 5000, 0) : prompt(500, 3000);
        if (llm_split_problem(&llm, &split) != NULL) continue;
        const struct iteration_sums part = sums_of(&llm, &split, &work, OP_PREFILL_ATTENTION, OP_DECODE_ATTENTION);
        const struct iteration_sums all = sums_of(&llm, &whole, &work, OP_PREFILL_ATTENTION, OP_DECODE_ATTENTION);
        CHECK_NEAR(part.flop / all.flop, 64.0 / (double)llm.q_heads, 1e-12);
    }
}

/* The context beyond what the indexer chooses costs its keys and scores, and nothing else. */
TEST(far_tokens_are_only_scored)
{
    struct rng rng = test_rng(6, "scores", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_sparse(&rng);
        const int64_t n = up_to(&rng, 200), context = llm.index_tokens + up_to(&rng, 9000), more = up_to(&rng, 9000);
        const struct iteration_work near = decoding(n, context, 0), far = decoding(n, context + more, 0);
        const struct iteration_sums now = sums_of(&llm, &whole, &near, OP_EMBEDDING, OP_HEAD);
        const struct iteration_sums later = sums_of(&llm, &whole, &far, OP_EMBEDDING, OP_HEAD);
        const double pairs = (double)(n * more * llm.index_layers);
        CHECK_NEAR((later.bytes - now.bytes) / (pairs * (double)(llm.index_dim + 4 + 2 * 4)), 1.0, 1e-6);
        CHECK_NEAR((later.flop - now.flop) / (pairs * 2.0 * (double)(llm.index_heads * (llm.index_dim + 1))), 1.0,
                   1e-5);
    }
}

/* An indexer that chooses more than there is leaves the attention of decoding as it is without one. */
TEST(short_contexts_are_seen_whole)
{
    struct rng rng = test_rng(7, "short", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_sparse(&rng);
        struct llm_spec dense = llm;
        dense.index_heads = dense.index_dim = dense.index_tokens = dense.index_layers = 0;
        const struct iteration_work work = decoding(up_to(&rng, 200), up_to(&rng, llm.index_tokens), 0);
        const struct iteration_sums sparse = sums_of(&llm, &whole, &work, OP_DECODE_ATTENTION, OP_DECODE_ATTENTION);
        const struct iteration_sums plain = sums_of(&dense, &whole, &work, OP_DECODE_ATTENTION, OP_DECODE_ATTENTION);
        CHECK_NEAR(sparse.flop / plain.flop, 1.0, 1e-12);
        CHECK_NEAR(sparse.bytes / plain.bytes, 1.0, 1e-12);
        CHECK(sparse.launches == plain.launches);
        CHECK(sums_of(&dense, &whole, &work, OP_INDEX, OP_INDEX).launches == 0.0);
    }
}

/* All GPUs together do the work of one; the heads of linear attention are dealt to them. */
TEST(parts_of_linear_attention_add_up)
{
    struct rng rng = test_rng(8, "parts", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const struct llm_split split = {.tensor = 1 << rng_below(&rng, 4), .pipeline = 1, .expert = 1,
                                        .gpus_per_node = 8};
        const struct iteration_work work = chance(&rng) ? prompt(up_to(&rng, 3000), up_to(&rng, 3000))
                                                        : decoding(up_to(&rng, 300), up_to(&rng, 3000), 0);
        if (llm_split_problem(&llm, &split) != NULL) continue;
        const double gpus = (double)split.tensor;
        const struct iteration_sums part = sums_of(&llm, &split, &work, OP_LINEAR_ATTENTION, OP_LINEAR_ATTENTION);
        const struct iteration_sums all = sums_of(&llm, &whole, &work, OP_LINEAR_ATTENTION, OP_LINEAR_ATTENTION);
        CHECK_NEAR(gpus * part.flop / all.flop, 1.0, 1e-9);
        CHECK_NEAR(gpus * part.bytes / all.bytes, 1.0, 1e-9);
        const double routed = (gpus - 1.0) * 2.0 * (double)(llm.layers * llm.hidden) *
                              (double)(llm.experts + (llm.shared_gate ? 1 : 0));
        const double tokens = (double)(work.prefill_tokens + work.decode_sequences);
        CHECK_NEAR(gpus * flop_of(&llm, &split, &work) / (flop_of(&llm, &whole, &work) + tokens * routed), 1.0, 1e-9);
    }
}

/* Keys and values are those of the layers with softmax attention, and states those of the others. */
TEST(each_layer_keeps_its_own)
{
    struct rng rng = test_rng(9, "memory", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_linear(&rng);
        const double attending = (double)(llm.layers - llm.linear_layers);
        CHECK_NEAR(llm_kv_bytes_per_token(&llm) / (attending * 2.0 * (double)(llm.kv_heads * llm.head_dim) * 2.0), 1.0,
                   1e-12);
        const int64_t channels = 2 * llm_linear_keys(&llm) + llm_linear_values(&llm);
        const double state = (double)(llm.linear_key_dim * llm_linear_values(&llm)) * 4.0;
        const double kept = (double)(channels * (llm.linear_conv - 1)) * 2.0;
        CHECK_NEAR(llm_state_bytes(&llm, 1) / ((double)llm.linear_layers * (state + kept)), 1.0, 1e-12);
        CHECK_NEAR(8.0 * llm_state_bytes(&llm, 8) / llm_state_bytes(&llm, 1), 1.0, 1e-12);
    }
}

/* In its first chunk a sequence sees all of its context. From the third on it is anywhere in a chunk: the mean over
 * all places there. In the second the number falls evenly. */
TEST(decoding_sees_its_chunk)
{
    struct rng rng = test_rng(10, "chunks", 0);
    for (int i = 0; i < CASES / 10; i++) {
        const struct llm_spec llm = random_chunked(&rng);
        const int64_t n = up_to(&rng, 200), chunk = llm.sliding_window, near = up_to(&rng, chunk);
        const int64_t before = chunk * (1 + up_to(&rng, 5));
        const struct iteration_work first = decoding(n, near, 0);
        CHECK_NEAR(flop_of(&llm, &whole, &first) / ((double)n * llm_flop_per_token(&llm, near)), 1.0, 1e-9);
        double mean = 0.0, context = 0.0;
        for (int64_t at = before + 1; at <= before + chunk; at++) {
            mean += llm_flop_per_token(&llm, at) / (double)chunk;
            context += (double)at / (double)chunk;
        }
        struct iteration_work far = decoding(2 * n, 0, 0);
        far.decode_context_tokens = llround(2.0 * (double)n * context);
        CHECK_NEAR(flop_of(&llm, &whole, &far) / (2.0 * (double)n * mean), 1.0, 1e-9);
    }
}

TEST(what_is_seen_of_a_chunk_has_no_step)
{
    const double chunk = 8192.0;
    CHECK_NEAR(llm_chunk_context(chunk, chunk), chunk, 0.0);
    CHECK_NEAR(llm_chunk_context(2.0 * chunk, chunk), 0.5 * (chunk + 1.0), 1e-9);
    for (double at = 1.0; at <= 4.0 * chunk; at += 1.0) {
        const double step = llm_chunk_context(at + 1.0, chunk) - llm_chunk_context(at, chunk);
        CHECK(step <= 1.0 && step > -0.51);
    }
}

/* Prompts of unequal length never have more pairs in their chunks than in all. */
TEST(chunks_add_no_pairs)
{
    struct rng rng = test_rng(12, "unequal", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_chunked(&rng);
        struct llm_spec plain = llm;
        plain.chunked = false;
        plain.sliding_window = plain.full_layers = 0;
        struct iteration_work work = prompt(up_to(&rng, 300), 0);
        iteration_add_prompt(&work, up_to(&rng, 3), up_to(&rng, 30000));
        const double cut = sums_of(&llm, &whole, &work, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION).flop;
        CHECK(cut <= sums_of(&plain, &whole, &work, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION).flop * (1.0 + 1e-12));
    }
}

/* A prompt costs what its pieces cost as prompts of one batch. */
TEST(prompts_are_cut_at_chunks)
{
    struct rng rng = test_rng(11, "pieces", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec llm = random_chunked(&rng), plain;
        llm.full_layers = 0;
        plain = llm;
        plain.chunked = false;
        plain.sliding_window = 0;
        const int64_t chunk = llm.sliding_window, n = up_to(&rng, 9000), before = chance(&rng) ? up_to(&rng, 9000) : 0;
        const struct iteration_work work = prompt(n, before);
        struct iteration_work pieces = {.prefill_sequences = 0};
        for (int64_t at = before; at < before + n;) {
            const int64_t end = (at / chunk + 1) * chunk, last = end < before + n ? end : before + n;
            iteration_add_prompt(&pieces, last - at, at % chunk);
            at = last;
        }
        const struct iteration_sums cut = sums_of(&llm, &whole, &work, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION);
        const struct iteration_sums apart = sums_of(&plain, &whole, &pieces, OP_PREFILL_ATTENTION,
                                                    OP_PREFILL_ATTENTION);
        CHECK_NEAR(cut.flop / apart.flop, 1.0, 1e-9);
        CHECK_NEAR(cut.bytes / apart.bytes, 1.0, 1e-9);
        CHECK(cut.launches == apart.launches);
    }
}

static struct llm_spec random_hybrid(struct rng *rng)
{
    switch (rng_below(rng, 3)) {
    case 0: return random_linear(rng);
    case 1: return random_sparse(rng);
    default: return random_chunked(rng);
    }
}

/* Equal prompts, or equal decoding sequences, take as many times what one takes. */
TEST(equal_sequences_add_up)
{
    struct rng rng = test_rng(15, "equal", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_hybrid(&rng);
        const int64_t n = up_to(&rng, 30), tokens = up_to(&rng, 9000), before = chance(&rng) ? up_to(&rng, 9000) : 0;
        const int64_t drafts = (int64_t)rng_below(&rng, 4);
        struct iteration_work one = prompt(tokens, before), all = {.prefill_sequences = 0};
        if (chance(&rng))
            one = decoding(1, tokens, drafts), all = decoding(n, tokens, drafts);
        else
            for (int64_t k = 0; k < n; k++) iteration_add_prompt(&all, tokens, before);
        static const enum llm_operator ops[] = {OP_PREFILL_ATTENTION, OP_DECODE_ATTENTION, OP_LINEAR_ATTENTION, OP_INDEX};
        for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
            const struct iteration_sums a = sums_of(&llm, &whole, &one, ops[k], ops[k]);
            const struct iteration_sums b = sums_of(&llm, &whole, &all, ops[k], ops[k]);
            CHECK_NEAR(b.flop, (double)n * a.flop, 1e-9 * b.flop);
            CHECK_NEAR(b.bytes, (double)n * a.bytes, 1e-9 * b.bytes);
            CHECK(a.launches == b.launches);
        }
    }
}

/* One launch for prompts and decoding sequences takes the operations of two. */
TEST(mixed_launches_take_the_operations_of_both)
{
    struct rng rng = test_rng(16, "mixed", 0);
    struct llm_split mixed = whole;
    mixed.mixed_attention = true;
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_chunked(&rng);
        const struct iteration_work prompts = prompt(up_to(&rng, 3000), up_to(&rng, 9000));
        const struct iteration_work tokens = decoding(up_to(&rng, 200), up_to(&rng, 9000), (int64_t)rng_below(&rng, 4));
        struct iteration_work both = prompts;
        both.decode_sequences = tokens.decode_sequences;
        both.decode_context_tokens = tokens.decode_context_tokens;
        both.decode_drafts = tokens.decode_drafts;
        const double apart = sums_of(&llm, &mixed, &prompts, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION).flop +
                             sums_of(&llm, &mixed, &tokens, OP_DECODE_ATTENTION, OP_DECODE_ATTENTION).flop;
        const struct iteration_sums together = sums_of(&llm, &mixed, &both, OP_MIXED_ATTENTION, OP_MIXED_ATTENTION);
        CHECK(together.launches > 0.0);
        CHECK_NEAR(together.flop / apart, 1.0, 1e-9);
    }
}
