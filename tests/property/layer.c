/* What an iteration launches, counted over random shapes: operations and bytes are those of the closed forms, every
 * part of a split does its share of the whole, and calls depend on nothing but their drivers. */
#include "models/operators/layer.h"
#include "tests/support/harness.h"
#include "tests/support/iteration_sums.h"

enum { CASES = 3000 };

static int64_t up_to(struct rng *rng, int64_t most)
{
    return 1 + (int64_t)rng_below(rng, (uint64_t)most);
}

static bool chance(struct rng *rng)
{
    return rng_below(rng, 2) == 1;
}

static struct llm_spec random_llm(struct rng *rng)
{
    const int64_t kv_heads = (int64_t)1 << rng_below(rng, 6);
    struct llm_spec llm = {
        .layers = up_to(rng, 96), .hidden = 128 * up_to(rng, 100), .kv_heads = kv_heads,
        .q_heads = (kv_heads < 8 ? 8 : kv_heads) * up_to(rng, 8), .head_dim = 64 * up_to(rng, 2),
        .ffn = 512 * up_to(rng, 50), .vocab = 32000, .max_context = 4096, .layer_norms = 2, .gated_ffn = chance(rng),
        .parallel_block = chance(rng), .qk_norm = chance(rng), .sliding_window = chance(rng) ? up_to(rng, 4000) : 0,
        .weights = chance(rng) ? FORMAT_FP8 : FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
    };
    if (chance(rng)) {
        llm.experts = 8 * up_to(rng, 20);
        llm.experts_per_token = up_to(rng, 8);
        llm.expert_ffn = 64 * up_to(rng, 32);
        if (chance(rng)) llm.ffn = 0;
        if (chance(rng)) llm.dense_layers = (int64_t)rng_below(rng, (uint64_t)llm.layers);
        if (llm.dense_layers > 0) llm.dense_ffn = 512 * up_to(rng, 50);
    }
    for (enum llm_part part = 0; part < LLM_PART_COUNT; part++)
        if (rng_below(rng, 4) == 0 && llm_has(&llm, part)) llm.part_formats[part] = 1 + FORMAT_INT8;
    if (rng_below(rng, 4) == 0) {
        llm.kv_heads = llm.q_heads;
        llm.kv_latent = 64 * up_to(rng, 16);
        llm.query_latent = chance(rng) ? 64 * up_to(rng, 32) : 0;
        llm.rotary_dim = 32 * up_to(rng, 4);
        llm.value_dim = 32 * up_to(rng, 8);
        llm.qk_norm = false;
    }
    CHECK(llm_problem(&llm) == NULL);
    return llm;
}

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 300e12}, .memory_bytes_per_s = 2e12, .sm_count = 108,
    .boost_hz = 1.41e9,
    .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9, .pcie_bytes_per_s = 32e9,
};

static const struct llm_split whole = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8};

static struct llm_split random_split(struct rng *rng, const struct llm_spec *llm)
{
    struct llm_split split = {.tensor = (int64_t)1 << rng_below(rng, 4), .pipeline = 1, .expert = 1,
                              .sequence = chance(rng), .mixed_attention = chance(rng), .gpus_per_node = 4,
                              .network_bytes_per_s = 50e9};
    if (llm->experts > 0) split.expert = (int64_t)1 << rng_below(rng, 4);
    if (split.expert > split.tensor) split.expert = split.tensor;
    return split;
}

/* One chunk of a prompt and some decoding sequences, or only one of both. */
static struct iteration_work random_work(struct rng *rng)
{
    struct iteration_work work = {.prefill_sequences = 0};
    const uint64_t kind = rng_below(rng, 3);
    if (kind != 0) {
        const int64_t n = up_to(rng, 4000), p = chance(rng) ? up_to(rng, 8000) : 0;
        work = (struct iteration_work){.prefill_sequences = 1, .prefill_tokens = n, .prefill_context_tokens = p,
                                       .prefill_pairs = (double)n * (double)n + 2.0 * (double)n * (double)p};
    }
    if (kind != 1) {
        work.decode_sequences = up_to(rng, 300);
        work.decode_context_tokens = work.decode_sequences * up_to(rng, 8000);
    }
    return work;
}

static struct iteration_sums sum_of(const struct llm_spec *llm, const struct llm_split *split,
                                    const struct iteration_work *work, enum llm_operator first, enum llm_operator last)
{
    return iteration_sums(llm, split, &gpu, work, first, last);
}

static struct iteration_sums all_of(const struct llm_spec *llm, const struct llm_split *split,
                                    const struct iteration_work *work)
{
    return sum_of(llm, split, work, OP_EMBEDDING, OP_HEAD);
}

static void check_share(double actual, double expected)
{
    CHECK_NEAR(actual / expected, 1.0, 1e-9);
}

/* Weights that turn latent vectors into keys and values; 0 without. */
static double expansion(const struct llm_spec *llm)
{
    return (double)(llm->layers * llm->q_heads * llm->kv_latent * (llm->head_dim + llm->value_dim));
}

/* Two per weight that a token meets, the head once per sequence, and attention over half of the square of a prompt's
 * tokens (each query sees itself and what stands before it, on average half a token less) and over all earlier ones,
 * as far as a window reaches. Latent attention decodes over wider vectors, and expands those of earlier tokens again
 * for each chunk of a prompt. */
TEST(operations_are_those_of_the_closed_form)
{
    struct rng rng = test_rng(1, "operations", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct iteration_work work = random_work(&rng);
        const double tokens = (double)(work.prefill_tokens + work.decode_sequences);
        const double sequences = (double)(work.prefill_sequences + work.decode_sequences);
        const double per_pair = llm_flop_per_token(&llm, 1) - llm_flop_per_token(&llm, 0);
        const double latent = 2.0 * (double)(llm.layers * llm.q_heads * (2 * llm.kv_latent + llm.rotary_dim));
        const double per_context = llm.kv_latent > 0 ? latent : per_pair;
        const double window = (double)llm.sliding_window, decoding = (double)work.decode_sequences;
        double pairs = work.prefill_pairs, context = (double)work.decode_context_tokens;
        if (llm.sliding_window > 0) {
            pairs = llm_window_pairs((double)work.prefill_tokens, (double)work.prefill_context_tokens, window);
            context = fmin(context, decoding * window);
        }
        const double expected = tokens * (llm_flop_per_token(&llm, 0) - llm_head_flop(&llm)) +
                                sequences * llm_head_flop(&llm) + pairs / 2.0 * per_pair + context * per_context +
                                (double)work.prefill_context_tokens * 2.0 * expansion(&llm);
        struct llm_split mixed = whole;
        mixed.mixed_attention = true;
        check_share(all_of(&llm, &whole, &work).flop, expected);
        check_share(all_of(&llm, &mixed, &work).flop, expected);
    }
}

/* Bytes of the weights of all matrix products of an iteration. */
static double weight_bytes(const struct llm_spec *llm, const struct llm_split *split, const struct iteration_work *work)
{
    struct kernel_use uses[LLM_MAX_USES];
    double bytes = 0.0;
    const size_t n = llm_iteration_kernels(llm, split, &gpu, work, uses);
    for (size_t i = 0; i < n; i++) {
        const struct kernel_call *call = &uses[i].call;
        const struct gemm_shape *gemm = &call->shape.gemm;
        if (call->class <= KERNEL_GEMM_INT4)
            bytes += uses[i].count * gemm->k * gemm->n * number_format_bytes(gemm->weights);
        if (call->class != KERNEL_MOE) continue;
        const struct moe_shape *moe = &call->shape.moe;
        const double touched = moe->held * (1.0 - pow(1.0 - moe->chosen / moe->experts, moe->tokens));
        bytes += uses[i].count * touched * moe->matrices * moe->hidden * moe->inner * number_format_bytes(moe->weights);
    }
    return bytes;
}

/* But for those that expand latent vectors, which prompts and decoding sequences read each for themselves. */
TEST(weights_are_read_once)
{
    struct rng rng = test_rng(2, "weights", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct iteration_work work = random_work(&rng);
        const bool mixed = work.prefill_tokens > 0 && work.decode_sequences > 0;
        const double again = mixed ? expansion(&llm) * number_format_bytes(llm_format(&llm, LLM_PART_ATTENTION)) : 0.0;
        check_share(weight_bytes(&llm, &whole, &work),
                    llm_read_bytes(&llm, work.prefill_tokens + work.decode_sequences) + again);
    }
}

/* Each token of context costs its keys and values, and each new token writes its own. */
TEST(the_cache_is_read_and_written)
{
    struct rng rng = test_rng(3, "cache", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec llm = random_llm(&rng);
        llm.sliding_window = 0;
        llm.kv = chance(&rng) ? FORMAT_FP8 : FORMAT_FP16;
        const int64_t b = up_to(&rng, 200), context = up_to(&rng, 9000), more = up_to(&rng, 9000);
        const struct iteration_work now = {.decode_sequences = b, .decode_context_tokens = b * context};
        const struct iteration_work later = {.decode_sequences = b, .decode_context_tokens = b * (context + more)};
        const double kv_bytes = llm_kv_bytes_per_token(&llm);
        const double read = all_of(&llm, &whole, &later).bytes - all_of(&llm, &whole, &now).bytes;
        CHECK_NEAR(read / (kv_bytes * (double)(b * more)), 1.0, 1e-6);
        const double numbers = kv_bytes / number_format_bytes(llm.kv);
        check_share(sum_of(&llm, &whole, &now, OP_KV_WRITE, OP_KV_WRITE).bytes, (double)b * (kv_bytes + 2.0 * numbers));
    }
}

/* Where attention writes the cache, its prompts' calls move the bytes, and no other kernel does. */
TEST(attention_may_write_the_cache)
{
    struct llm_split split = whole;
    split.attention_writes_kv = true;
    struct rng rng = test_rng(3, "writing", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct iteration_work work = random_work(&rng);
        const bool latent = llm.kv_latent > 0;
        const double apart = sum_of(&llm, &whole, &work, OP_KV_WRITE, OP_KV_WRITE).bytes;
        const double left = sum_of(&llm, &split, &work, OP_KV_WRITE, OP_KV_WRITE).bytes;
        CHECK(apart > 0.0 && left == (latent ? apart : 0.0));
        const double before = sum_of(&llm, &whole, &work, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION).bytes;
        const double after = sum_of(&llm, &split, &work, OP_PREFILL_ATTENTION, OP_PREFILL_ATTENTION).bytes;
        CHECK((after > before) == (work.prefill_tokens > 0 && !latent));
    }
}

/* All GPUs of a group together do the work of one that holds everything, but that keys and values of few heads are
 * made by several, latent vectors by all, and the router runs on all of them unless each routes its own tokens. */
TEST(parts_add_up)
{
    struct rng rng = test_rng(4, "parts", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct llm_split split = random_split(&rng, &llm);
        const struct iteration_work work = random_work(&rng);
        if (llm_split_problem(&llm, &split)) continue;
        const double gpus = (double)split.tensor, tokens = (double)(work.prefill_tokens + work.decode_sequences);
        const int64_t copies = split.tensor > llm.kv_heads ? split.tensor - llm.kv_heads : 0;
        const double copied = 2.0 * 2.0 * (double)(copies * llm.hidden * llm.head_dim);
        const double routers = split.sequence && split.expert > 1 ? 0.0 : gpus - 1.0;
        const double routed = routers * 2.0 * (double)((llm.layers - llm.dense_layers) * llm.hidden * llm.experts);
        const int64_t latent = llm.kv_latent > 0 ? llm.query_latent + llm.kv_latent + llm.rotary_dim : 0;
        const double made = (gpus - 1.0) * 2.0 * (double)(latent * llm.hidden);
        check_share(gpus * all_of(&llm, &split, &work).flop,
                    all_of(&llm, &whole, &work).flop + tokens * ((double)llm.layers * (copied + made) + routed));
    }
}

/* A pipeline's stages do all layers together; each runs them on all tokens. */
TEST(stages_add_up)
{
    struct rng rng = test_rng(5, "stages", 0);
    for (int i = 0; i < CASES; i++) {
        struct llm_spec llm = random_llm(&rng);
        const int64_t stages = up_to(&rng, 8);
        llm.layers *= stages;
        llm.dense_layers = llm.dense_ffn = 0;
        const struct llm_split split = {.tensor = 1, .pipeline = stages, .expert = 1, .gpus_per_node = 8};
        const struct iteration_work work = random_work(&rng);
        const double head = sum_of(&llm, &whole, &work, OP_HEAD, OP_HEAD).flop;
        check_share((double)stages * (all_of(&llm, &split, &work).flop - head),
                    all_of(&llm, &whole, &work).flop - head);
        const double hidden_bytes = (double)((work.prefill_tokens + work.decode_sequences) * llm.hidden) * 2.0;
        CHECK_NEAR(sum_of(&llm, &split, &work, OP_SEND, OP_SEND).link_bytes, stages > 1 ? hidden_bytes : 0.0, 0.0);
    }
}

/* DeepSeek-V2-Lite, by hand: of 27 layers 26 have experts, one has a dense feed-forward layer; 512 + 64 numbers per
 * token and layer are kept, over which 16 heads decode. */
TEST(latent_attention_by_hand)
{
    const struct llm_spec llm = {
        .layers = 27, .hidden = 2048, .q_heads = 16, .kv_heads = 16, .head_dim = 128, .kv_latent = 512,
        .rotary_dim = 64, .value_dim = 128, .ffn = 2816, .experts = 64, .experts_per_token = 6, .expert_ffn = 1408,
        .dense_layers = 1, .dense_ffn = 10944, .vocab = 102400, .max_context = 163840, .layer_norms = 2,
        .gated_ffn = true, .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
    };
    const struct iteration_work work = {.decode_sequences = 3, .decode_context_tokens = 3000};
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm, &whole, &gpu, &work, uses);
    double ups = 0.0, experts = 0.0;
    for (size_t i = 0; i < n; i++) {
        const struct decode_shape *decode = &uses[i].call.shape.decode;
        if (uses[i].op == OP_UP) ups += uses[i].count * uses[i].call.shape.gemm.n;
        if (uses[i].op == OP_EXPERTS) experts += uses[i].count;
        if (uses[i].op != OP_DECODE_ATTENTION) continue;
        CHECK(decode->q_heads == 16.0 && decode->kv_heads == 1.0 && decode->shared_kv);
        CHECK(decode->key_dim == 576.0 && decode->value_dim == 512.0 && decode->context == 1000.0);
    }
    CHECK_NEAR(ups, 2.0 * (10944.0 + 26.0 * 2816.0), 0.0);
    CHECK_NEAR(experts, 26.0, 0.0);
    CHECK_NEAR(sum_of(&llm, &whole, &work, OP_KV_WRITE, OP_KV_WRITE).bytes, 3.0 * 27.0 * 576.0 * 4.0, 0.0);
}

/* A reduce-scatter and an all-gather move what the all-reduce moved (and the head's rows are gathered once more). */
TEST(sequence_parallelism_moves_as_much)
{
    struct rng rng = test_rng(6, "sequence", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        struct llm_split split = random_split(&rng, &llm);
        const struct iteration_work work = random_work(&rng);
        split.expert = 1;
        if (split.tensor == 1 || llm_split_problem(&llm, &split)) continue;
        split.sequence = false;
        const double reduced = all_of(&llm, &split, &work).link_bytes;
        split.sequence = true;
        CHECK_NEAR(all_of(&llm, &split, &work).link_bytes / reduced, 1.0, 1e-12);
    }
}

/* The engine's own all-reduce takes what is below 8 MiB: 1023 tokens of 8 KiB, not 1024. */
TEST(messages_of_eight_mebibytes_go_to_the_library)
{
    const struct llm_spec llm = {.layers = 2, .hidden = 4096, .q_heads = 32, .kv_heads = 32, .head_dim = 128,
                                 .ffn = 8192, .vocab = 1000, .weights = FORMAT_FP16, .compute = FORMAT_FP16,
                                 .kv = FORMAT_FP16};
    const struct llm_split split = {.tensor = 2, .pipeline = 1, .expert = 1, .gpus_per_node = 8,
                                    .direct_all_reduce = true};
    for (int64_t tokens = 1023; tokens <= 1024; tokens++) {
        const struct iteration_work work = {.prefill_sequences = 1, .prefill_tokens = tokens,
                                            .prefill_pairs = (double)(tokens * tokens)};
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
        int n_direct = 0, n_library = 0;
        for (size_t i = 0; i < n; i++) {
            n_direct += uses[i].call.class == KERNEL_DIRECT_ALL_REDUCE;
            n_library += uses[i].call.class == KERNEL_ALL_REDUCE;
        }
        CHECK((n_direct > 0) == (tokens < 1024) && (n_library > 0) == (tokens == 1024));
    }
}

/* Whether all-reduces of short messages are the engine's own, among so many GPUs. */
static bool reduces_directly(const struct gpu_spec *pcie, int64_t gpus)
{
    const struct llm_spec llm = {.layers = 2, .hidden = 4096, .q_heads = 32, .kv_heads = 32, .head_dim = 128,
                                 .ffn = 8192, .vocab = 1000, .weights = FORMAT_FP16, .compute = FORMAT_FP16,
                                 .kv = FORMAT_FP16};
    const struct llm_split split = {.tensor = gpus, .pipeline = 1, .expert = 1, .gpus_per_node = 8,
                                    .direct_all_reduce = true};
    const struct iteration_work work = {.decode_sequences = 4, .decode_context_tokens = 400};
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm, &split, pcie, &work, uses);
    size_t n_direct = 0, n_library = 0;
    for (size_t i = 0; i < n; i++) {
        n_direct += uses[i].call.class == KERNEL_DIRECT_ALL_REDUCE;
        n_library += uses[i].call.class == KERNEL_ALL_REDUCE;
    }
    CHECK((n_direct > 0) != (n_library > 0));
    return n_direct > 0;
}

/* vLLM's rule: all GPUs on NVLink, or two with peer access over PCIe. */
TEST(own_all_reduces_need_nvlink_or_two_peers)
{
    struct gpu_spec pcie = gpu;
    pcie.fabric = FABRIC_BRIDGE;
    pcie.nvlink_gpus = 2;
    CHECK(reduces_directly(&gpu, 8) && reduces_directly(&pcie, 2) && !reduces_directly(&pcie, 4));
    pcie.fabric = FABRIC_NONE;
    pcie.nvlink_gpus = 0;
    CHECK(!reduces_directly(&pcie, 2));
    pcie.peer_to_peer = true;
    CHECK(reduces_directly(&pcie, 2) && !reduces_directly(&pcie, 4));
}

/* With one expert per token it goes to one GPU of all; with ever more, to every GPU, but never twice to the same. */
TEST(tokens_travel_once_to_each_group)
{
    struct llm_spec llm = {.layers = 3, .hidden = 512, .q_heads = 8, .kv_heads = 8, .head_dim = 64, .experts = 64,
                           .experts_per_token = 1, .expert_ffn = 256, .vocab = 1000, .weights = FORMAT_FP16,
                           .compute = FORMAT_FP16, .kv = FORMAT_FP16};
    struct llm_split split = {.tensor = 8, .pipeline = 1, .expert = 8, .dispatch = DISPATCH_ALL_TO_ALL,
                              .sequence = true, .gpus_per_node = 8};
    const struct iteration_work work = {.decode_sequences = 80, .decode_context_tokens = 800};
    const double own_bytes = 80.0 / 8.0 * 512.0 * 2.0, sent = 2.0 * 3.0 * 7.0 / 8.0 * own_bytes;
    CHECK_NEAR(sum_of(&llm, &split, &work, OP_ALL_TO_ALL, OP_ALL_TO_ALL).link_bytes / sent, 1.0, 1e-12);
    double before = 1.0;
    for (llm.experts_per_token = 2; llm.experts_per_token <= 64; llm.experts_per_token *= 2) {
        const double copies = sum_of(&llm, &split, &work, OP_ALL_TO_ALL, OP_ALL_TO_ALL).link_bytes / sent;
        CHECK(copies > before && copies < 8.0 && copies < (double)llm.experts_per_token);
        before = copies;
    }
    CHECK_NEAR(before, 8.0, 0.01);
    split.expert = 4;
    CHECK_NEAR(sum_of(&llm, &split, &work, OP_ALL_TO_ALL, OP_ALL_TO_ALL).link_bytes / sent, 8.0, 0.01);
    split.sequence = false;
    CHECK_NEAR(sum_of(&llm, &split, &work, OP_ALL_TO_ALL, OP_ALL_TO_ALL).link_bytes, 0.0, 0.0);
}

static bool same_call(const struct kernel_use *a, const struct kernel_use *b)
{
    double at[KERNEL_MAX_AXES] = {0.0}, bt[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(&a->call, at);
    kernel_call_axes(&b->call, bt);
    for (size_t i = 0; i < KERNEL_MAX_AXES; i++)
        if (at[i] != bt[i]) return false;
    const struct prefill_shape *chunks = &a->call.shape.prefill, *others = &b->call.shape.prefill;
    if (a->call.class == KERNEL_PREFILL_ATTENTION &&
        (chunks->pairs != others->pairs || chunks->decode_context != others->decode_context))
        return false;
    return a->op == b->op && a->driver == b->driver && a->count == b->count && a->call.class == b->call.class;
}

/* Whether the calls of one driver are the same in two batches. */
static bool same_calls(const struct llm_spec *llm, const struct llm_split *split, enum kernel_driver driver,
                       const struct iteration_work *one, const struct iteration_work *other)
{
    struct kernel_use a[LLM_MAX_USES], b[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(llm, split, &gpu, one, a);
    const size_t m = llm_iteration_kernels(llm, split, &gpu, other, b);
    size_t j = 0;
    for (size_t i = 0; i < n; i++) {
        if (a[i].driver != driver) continue;
        while (j < m && b[j].driver != driver) j++;
        if (j == m || !same_call(&a[i], &b[j++])) return false;
    }
    for (; j < m; j++)
        if (b[j].driver == driver) return false;
    return true;
}

/* Of two random batches the second takes over from the first what a driver names; nothing else may count. */
TEST(calls_depend_on_their_drivers_alone)
{
    struct rng rng = test_rng(7, "drivers", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct llm_split split = random_split(&rng, &llm);
        const struct iteration_work work = random_work(&rng), other = random_work(&rng);
        if (llm_split_problem(&llm, &split)) continue;
        const int64_t tokens = work.prefill_tokens + work.decode_sequences;
        const struct iteration_work as_decode = {.decode_sequences = tokens, .decode_context_tokens = 7 * tokens};
        CHECK(same_calls(&llm, &split, BY_TOKENS, &work, &as_decode));
        struct iteration_work mixed = other;
        mixed.prefill_sequences = work.prefill_sequences + work.decode_sequences;
        mixed.prefill_tokens = mixed.prefill_sequences;
        mixed.prefill_pairs = (double)mixed.prefill_tokens;
        mixed.decode_sequences = mixed.decode_context_tokens = 0;
        CHECK(same_calls(&llm, &split, BY_SEQUENCES, &work, &mixed));
        mixed = work;
        mixed.decode_sequences = other.decode_sequences;
        mixed.decode_context_tokens = other.decode_context_tokens;
        const bool apart = llm.kv_latent > 0; /* attention of prompts and of decoding sequences */
        CHECK(mixed.prefill_tokens == 0 || !apart || same_calls(&llm, &split, BY_PREFILL, &work, &mixed));
        mixed = other;
        mixed.decode_sequences = work.decode_sequences;
        mixed.decode_context_tokens = work.decode_context_tokens;
        const bool alike = apart || (work.prefill_tokens == 0 && other.prefill_tokens == 0);
        CHECK(mixed.decode_sequences == 0 || !alike || same_calls(&llm, &split, BY_DECODE, &work, &mixed));
    }
}

/* The attention of one batch, taken over to another, is that of the other. */
TEST(calls_move_to_other_batches)
{
    struct rng rng = test_rng(8, "batches", 0);
    for (int i = 0; i < CASES; i++) {
        const struct llm_spec llm = random_llm(&rng);
        const struct iteration_work one = random_work(&rng), other = random_work(&rng);
        if (!one.prefill_tokens != !other.prefill_tokens || !one.decode_sequences != !other.decode_sequences) continue;
        struct kernel_use a[LLM_MAX_USES], b[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(&llm, &whole, &gpu, &one, a);
        CHECK_EQ_INT(llm_iteration_kernels(&llm, &whole, &gpu, &other, b), n);
        for (size_t u = 0; u < n; u++) {
            if (a[u].driver != BY_PREFILL && a[u].driver != BY_DECODE) continue;
            kernel_use_rebatch(&a[u], &other);
            CHECK(same_call(&a[u], &b[u]));
        }
    }
}

TEST(formats_choose_the_products)
{
    struct gpu_spec with_fp8 = gpu;
    with_fp8.peak_flop_per_s[FORMAT_FP8] = 600e12;
    struct gpu_spec with_fp4 = with_fp8;
    with_fp4.peak_flop_per_s[FORMAT_NVFP4] = 1200e12;
    const struct gpu_spec *const gpus[] = {&gpu, &with_fp8, &with_fp4};
    struct llm_spec llm = {.layers = 1, .hidden = 512, .q_heads = 8, .kv_heads = 8, .head_dim = 64, .ffn = 1024,
                           .vocab = 1000, .weights = FORMAT_FP8, .compute = FORMAT_BF16, .kv = FORMAT_BF16};
    const struct iteration_work work = {.decode_sequences = 4, .decode_context_tokens = 40};
    static const struct {
        enum number_format weights;
        int gpu; /* 0 with units of 16 bits, 1 of 8, too, 2 of 4, too */
        enum kernel_class class;
        enum number_format compute;
    } cases[] = {
        {FORMAT_FP8, 1, KERNEL_GEMM_FP8, FORMAT_FP8},     {FORMAT_FP8, 0, KERNEL_GEMM, FORMAT_BF16},
        {FORMAT_INT4, 1, KERNEL_GEMM_INT4, FORMAT_BF16},  {FORMAT_BF16, 1, KERNEL_GEMM, FORMAT_BF16},
        {FORMAT_FP8_BLOCK, 0, KERNEL_GEMM, FORMAT_BF16},  {FORMAT_FP8_BLOCK, 1, KERNEL_GEMM_FP8_BLOCK, FORMAT_FP8_BLOCK},
        {FORMAT_NVFP4, 1, KERNEL_GEMM_INT4, FORMAT_BF16}, {FORMAT_NVFP4, 2, KERNEL_GEMM_NVFP4, FORMAT_NVFP4},
        {FORMAT_MXFP4, 2, KERNEL_GEMM_INT4, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernel_use uses[LLM_MAX_USES];
        llm.weights = cases[i].weights;
        const size_t n = llm_iteration_kernels(&llm, &whole, gpus[cases[i].gpu], &work, uses);
        for (size_t u = 0; u < n; u++) {
            const struct kernel_call *call = &uses[u].call;
            if (uses[u].op == OP_QKV) CHECK(call->class == cases[i].class);
            if (uses[u].op == OP_QKV) CHECK(call->shape.gemm.compute == cases[i].compute);
            if (uses[u].op == OP_QKV) CHECK(call->shape.gemm.weights == cases[i].weights);
            if (uses[u].op == OP_HEAD) CHECK(call->class == KERNEL_GEMM && call->shape.gemm.weights == FORMAT_BF16);
        }
    }
}

/* The product of a part has the kernels of its format, and no other product has. Scales per block and per tensor have
 * experts of their own. */
TEST(parts_choose_their_products)
{
    static const enum llm_operator ops[LLM_PART_COUNT][2] = {
        {OP_QKV, OP_QKV}, {OP_OUT, OP_OUT}, {OP_UP, OP_DOWN}, {OP_UP, OP_DOWN}, {OP_EXPERTS, OP_EXPERTS}, {OP_HEAD, OP_HEAD}};
    struct gpu_spec with_fp8 = gpu;
    with_fp8.peak_flop_per_s[FORMAT_FP8] = 600e12;
    const struct iteration_work work = {.decode_sequences = 4, .decode_context_tokens = 40};
    for (enum llm_part part = 0; part < LLM_PART_COUNT; part++) {
        struct llm_spec llm = {.layers = 2, .hidden = 512, .q_heads = 8, .kv_heads = 8, .head_dim = 64, .vocab = 1000,
                               .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16};
        if (part == LLM_PART_DENSE)
            llm.ffn = 1024;
        else
            llm.experts = 4, llm.experts_per_token = 1, llm.expert_ffn = 64, llm.ffn = 64;
        llm.part_formats[part] = 1 + FORMAT_FP8_BLOCK;
        if (part == LLM_PART_ATTENTION) llm.part_formats[LLM_PART_OUT] = 1 + FORMAT_BF16;
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(&llm, &whole, &with_fp8, &work, uses);
        for (size_t u = 0; u < n; u++) {
            const enum kernel_class class = uses[u].call.class;
            const bool is_narrow = class == KERNEL_GEMM_FP8_BLOCK || class == KERNEL_MOE_FP8;
            CHECK(is_narrow == (uses[u].op == ops[part][0] || uses[u].op == ops[part][1]));
        }
        if (part != LLM_PART_EXPERTS) continue;
        llm.part_formats[part] = 1 + FORMAT_FP8;
        CHECK(llm_iteration_kernels(&llm, &whole, &with_fp8, &work, uses) == n);
        for (size_t u = 0; u < n; u++)
            CHECK((uses[u].call.class == KERNEL_MOE_FP8_TENSOR) == (uses[u].op == OP_EXPERTS));
    }
}

/* Prompts and decoding sequences share a launch of attention, but not on GPUs with units of 4 bits. */
TEST(units_of_four_bits_part_the_attention)
{
    const struct llm_spec llm = {.layers = 1, .hidden = 512, .q_heads = 8, .kv_heads = 8, .head_dim = 64, .ffn = 1024,
                                 .vocab = 1000};
    const struct iteration_work work = {.prefill_sequences = 1, .prefill_tokens = 64, .prefill_pairs = 4096.0,
                                        .decode_sequences = 4, .decode_context_tokens = 40};
    struct gpu_spec with_fp4 = gpu;
    struct llm_split split = whole;
    split.mixed_attention = true;
    with_fp4.peak_flop_per_s[FORMAT_NVFP4] = 1200e12;
    for (int parted = 0; parted < 2; parted++) {
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(&llm, &split, parted ? &with_fp4 : &gpu, &work, uses);
        int n_mixed = 0, n_decode = 0;
        for (size_t u = 0; u < n; u++) {
            n_mixed += uses[u].op == OP_MIXED_ATTENTION;
            n_decode += uses[u].op == OP_DECODE_ATTENTION;
        }
        CHECK(n_mixed == !parted && n_decode == parted);
    }
}

TEST(impossible_splits_are_named)
{
    struct llm_spec llm = {.layers = 4, .hidden = 512, .q_heads = 8, .kv_heads = 8, .head_dim = 64, .ffn = 1024,
                           .vocab = 1000};
    struct llm_split split = {.tensor = 4, .pipeline = 1, .expert = 1, .gpus_per_node = 8};
    CHECK(llm_split_problem(&llm, &split) == NULL);
    split.expert = 2;
    CHECK(llm_split_problem(&llm, &split) != NULL);
    llm.experts = 16;
    CHECK(llm_split_problem(&llm, &split) == NULL);
    llm.experts = 15;
    CHECK(llm_split_problem(&llm, &split) != NULL);
    llm.experts = 18;
    split.expert = 3;
    CHECK(llm_split_problem(&llm, &split) != NULL);
    split.expert = 0;
    CHECK(llm_split_problem(&llm, &split) != NULL);
}
