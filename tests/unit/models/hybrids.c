/* Shapes with linear or sparse attention: parameters of published LLMs, memory of their states, impossible ones. */
#include "models/transformer.h"
#include "tests/support/harness.h"

/* Qwen3.5-397B-A17B and GLM-5, as their config.json state them. */
static const struct llm_spec qwen3_5 = {
    .layers = 60, .hidden = 4096, .q_heads = 32, .kv_heads = 2, .head_dim = 256, .ffn = 1024, .vocab = 248320,
    .max_context = 262144, .experts = 512, .experts_per_token = 10, .expert_ffn = 1024, .linear_layers = 45,
    .linear_key_heads = 16, .linear_value_heads = 64, .linear_key_dim = 128, .linear_value_dim = 128, .linear_conv = 4,
    .gated_ffn = true, .attention_gate = true, .shared_gate = true, .qk_norm = true, .layer_norms = 2,
    .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
};
static const struct llm_spec glm_5 = {
    .layers = 78, .hidden = 6144, .q_heads = 64, .kv_heads = 64, .head_dim = 192, .query_latent = 2048, .kv_latent = 512,
    .rotary_dim = 64, .value_dim = 256, .index_heads = 32, .index_dim = 128, .index_tokens = 2048, .index_layers = 78,
    .ffn = 2048, .vocab = 154880, .max_context = 202752, .experts = 256, .experts_per_token = 8, .expert_ffn = 2048,
    .dense_layers = 3, .dense_ffn = 12288, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
};

/* By their names 397 billion parameters, of which a token meets 17; 744 and 40 (zai-org/GLM-5, README.md). The head is
 * counted among these, and the input embedding not. */
TEST(parameters_are_those_of_the_names)
{
    CHECK(llm_problem(&qwen3_5) == NULL && llm_problem(&glm_5) == NULL);
    const int64_t qwen_embedding = qwen3_5.vocab * qwen3_5.hidden, glm_embedding = glm_5.vocab * glm_5.hidden;
    CHECK_NEAR((double)llm_parameters(&qwen3_5), 397e9, 1e9);
    CHECK_NEAR((double)(llm_active_parameters(&qwen3_5) - qwen_embedding), 17e9, 0.7e9);
    CHECK_NEAR((double)llm_parameters(&glm_5), 744e9, 0.5e9);
    CHECK_NEAR((double)(llm_active_parameters(&glm_5) - glm_embedding), 40e9, 1e9);
}

/* All but the embeddings that are looked up, and vectors, is multiplied once; states and pairs come on top. */
TEST(operations_are_twice_the_weights)
{
    const struct llm_spec *const llms[] = {&qwen3_5, &glm_5};
    for (size_t i = 0; i < 2; i++) {
        const struct llm_spec *llm = llms[i];
        const double looked_up = (double)(llm->vocab * llm->hidden);
        const double states = 7.0 * (double)(llm->linear_layers * llm->linear_key_dim * llm_linear_values(llm));
        const double weights = (double)llm_active_parameters(llm) - looked_up;
        CHECK_NEAR((llm_flop_per_token(llm, 0) - states) / (2.0 * weights), 1.0, 1e-3);
    }
    const double pair = 2.0 * 78.0 * 64.0 * 512.0, score = 2.0 * 78.0 * 32.0 * 129.0;
    CHECK_NEAR(llm_flop_per_token(&glm_5, 2048) - llm_flop_per_token(&glm_5, 0), 2048.0 * (pair + score), 1.0);
    CHECK_NEAR(llm_flop_per_token(&glm_5, 9048) - llm_flop_per_token(&glm_5, 2048), 7000.0 * score, 1.0);
}

/* Of GLM-5 a latent vector and an indexer's key in each layer; of Qwen3.5 keys and values in every fourth. */
TEST(caches_hold_what_layers_keep)
{
    CHECK_NEAR(llm_kv_bytes_per_token(&glm_5), 78.0 * (576.0 * 2.0 + 132.0), 0.0);
    CHECK_NEAR(llm_kv_bytes_per_token(&qwen3_5), 15.0 * 2.0 * 2.0 * 256.0 * 2.0, 0.0);
    struct llm_spec shared = glm_5, narrow = glm_5;
    narrow.kv = FORMAT_FP8;
    CHECK_NEAR(llm_latent_bytes(&narrow), 656.0, 0.0);
    CHECK_NEAR(llm_kv_bytes_per_token(&narrow), 78.0 * (656.0 + 132.0), 0.0);
    shared.index_layers = 21;
    CHECK_NEAR(llm_kv_bytes_per_token(&shared), 78.0 * 576.0 * 2.0 + 21.0 * 132.0, 1e-9);
    CHECK_NEAR(llm_state_bytes(&qwen3_5, 1), 45.0 * (64.0 * 128.0 * 128.0 * 4.0 + 3.0 * 12288.0 * 2.0), 0.0);
    CHECK_NEAR(llm_state_bytes(&qwen3_5, 8), llm_state_bytes(&qwen3_5, 1) / 8.0, 0.0);
    CHECK(llm_state_bytes(&glm_5, 1) == 0.0);
    struct llm_spec drafting = qwen3_5;
    drafting.mtp_layers = 1;
    CHECK_NEAR(llm_mtp_shard(&drafting, 1, 1).kv_bytes_per_token, 2.0 * 2.0 * 256.0 * 2.0, 0.0);
}

/* A layer that drafts is one with whole attention, or with an indexer of its own. */
TEST(further_layers_see_all)
{
    const struct llm_spec layer = llm_further_layers(&qwen3_5, 1), sparse = llm_further_layers(&glm_5, 2);
    CHECK(llm_problem(&layer) == NULL && llm_problem(&sparse) == NULL);
    CHECK_NEAR(llm_kv_bytes_per_token(&layer), 2.0 * 2.0 * 256.0 * 2.0, 0.0);
    CHECK_NEAR(llm_kv_bytes_per_token(&sparse), llm_kv_bytes_per_token(&glm_5) / 39.0, 1e-9);
    struct llm_spec drafting = glm_5;
    drafting.mtp_layers = 1;
    CHECK_NEAR(llm_mtp_shard(&drafting, 1, 1).kv_bytes_per_token, llm_kv_bytes_per_token(&glm_5) / 78.0, 1e-9);
    CHECK(llm_state_bytes(&layer, 1) == 0.0 && sparse.index_layers == 2 && sparse.dense_layers == 0);
}

/* The states of the largest batch leave less room for blocks. */
TEST(states_take_room)
{
    const struct gpu_spec gpu = {.memory_bytes = 288e9};
    struct kv_params params = {.usable_frac = 0.9, .batch_tokens = 2048, .batch_sequences = 1, .block_tokens = 16};
    const struct kv_capacity one = kv_capacity(&gpu, &qwen3_5, 8, 1, &params);
    params.batch_sequences = 100;
    const struct kv_capacity many = kv_capacity(&gpu, &qwen3_5, 8, 1, &params);
    CHECK_NEAR(one.state_bytes, llm_state_bytes(&qwen3_5, 8), 0.0);
    CHECK_NEAR(many.state_bytes, 100.0 * llm_state_bytes(&qwen3_5, 8), 1e-3);
    const double left = many.usable_bytes - many.weight_bytes - many.activation_bytes - many.state_bytes;
    CHECK_EQ_INT(many.blocks, (int64_t)floor(left / many.block_bytes));
    CHECK(many.blocks < one.blocks);
    params.data_parallel = 8;
    CHECK_NEAR(kv_capacity(&gpu, &qwen3_5, 8, 1, &params).state_bytes, 100.0 * llm_state_bytes(&qwen3_5, 1), 1e-3);
    params.data_parallel = 1;
    const struct kv_capacity half = kv_capacity(&gpu, &qwen3_5, 8, 2, &params);
    CHECK_NEAR(half.state_bytes, 0.5 * many.state_bytes, 1e-3);
}

/* n GPUs hold what one holds; norms, routers, indexers and what makes latent vectors on each. */
TEST(shards_add_up)
{
    const struct llm_spec *const llms[] = {&qwen3_5, &glm_5};
    for (size_t i = 0; i < 2; i++) {
        const double whole = llm_weight_bytes(llms[i]), copy = 2.0 * llm_shard(llms[i], 2, 1).weight_bytes - whole;
        CHECK_NEAR(whole, 2.0 * (double)llm_parameters(llms[i]), 1e-6 * whole);
        CHECK(copy > 0.0 && copy < 0.01 * whole);
        const int64_t most = llms[i]->kv_heads < 8 ? 2 : 8;
        for (int64_t tp = 2; tp <= most; tp *= 2)
            CHECK_NEAR((double)tp * llm_shard(llms[i], tp, 1).weight_bytes, whole + (double)(tp - 1) * copy, 1.0);
    }
}

/* Counted query by query. */
TEST(chunks_leave_their_pairs)
{
    for (int64_t chunk = 1; chunk <= 12; chunk++)
        for (int64_t context = 0; context <= 25; context++)
            for (int64_t tokens = 1; tokens <= 25; tokens++) {
                double seen = 0.0; /* a query stands in the middle of its own key */
                for (int64_t i = 0; i < tokens; i++) seen += (double)((context + i) % chunk) + 0.5;
                CHECK_NEAR(llm_chunk_pairs((double)tokens, (double)context, (double)chunk), 2.0 * seen, 1e-9);
            }
}

/* Llama 4 Maverick: 400 billion parameters, of which a token meets 17 (Meta, 2025). Its stages have both kinds of
 * layers. */
TEST(dense_layers_may_alternate)
{
    struct llm_spec llm = {
        .layers = 48, .hidden = 5120, .q_heads = 40, .kv_heads = 8, .head_dim = 128, .sliding_window = 8192,
        .chunked = true, .full_layers = 12, .ffn = 8192, .vocab = 202048, .max_context = 1 << 20, .experts = 128,
        .experts_per_token = 1, .expert_ffn = 8192, .dense_layers = 24, .dense_ffn = 16384, .alternating_dense = true,
        .gated_ffn = true, .layer_norms = 2, .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
    };
    CHECK(llm_problem(&llm) == NULL);
    CHECK_NEAR((double)llm_parameters(&llm), 400e9, 1e9);
    CHECK_NEAR((double)llm_active_parameters(&llm), 17e9, 0.3e9);
    for (int64_t stages = 1; stages <= 8; stages *= 2)
        CHECK_EQ_INT(llm_shard(&llm, 1, stages).dense_layers, 24 / stages);
    llm.dense_layers = 24;
    llm.layers = 47;
    CHECK(llm_problem(&llm) != NULL);
    llm.layers = 48;
    llm.dense_layers = 23;
    CHECK(llm_problem(&llm) != NULL);
    llm.dense_layers = 24;
    llm.sliding_window = 0;
    CHECK(llm_problem(&llm) != NULL);
}

TEST(impossible_hybrids_are_named)
{
    static const struct {
        size_t offset;
        int64_t value;
        const char *problem;
    } linear[] = {
        {offsetof(struct llm_spec, linear_layers), 60, "none of its layers has softmax attention"},
        {offsetof(struct llm_spec, linear_layers), 0, "is described but has no layers"},
        {offsetof(struct llm_spec, linear_conv), 0, "are from 1 to 4096"},
        {offsetof(struct llm_spec, linear_key_dim), 5000, "are from 1 to 4096"},
        {offsetof(struct llm_spec, linear_key_heads), 24, "are not a multiple of its key heads"},
        {offsetof(struct llm_spec, sliding_window), 100, "beside whole attention with plain heads only"},
        {offsetof(struct llm_spec, ffn), 0, "a gate on the shared expert is described, but it has none"},
    }, sparse[] = {
        {offsetof(struct llm_spec, index_tokens), 0, "'index_tokens' is missing"},
        {offsetof(struct llm_spec, index_layers), 79, "'index_layers' is from 1 to 'layers'"},
        {offsetof(struct llm_spec, index_layers), 0, "'index_layers' is from 1 to 'layers'"},
        {offsetof(struct llm_spec, index_heads), 0, "an indexer has from 1 to 4096 heads"},
        {offsetof(struct llm_spec, query_latent), 0, "needs latent attention with a 'query_latent'"},
        {offsetof(struct llm_spec, sliding_window), 100, "exclude each other"},
    };
    for (size_t i = 0; i < sizeof linear / sizeof *linear + sizeof sparse / sizeof *sparse; i++) {
        const bool is_linear = i < sizeof linear / sizeof *linear;
        const size_t at = is_linear ? i : i - sizeof linear / sizeof *linear;
        struct llm_spec llm = is_linear ? qwen3_5 : glm_5;
        *(int64_t *)(void *)((char *)&llm +
                             (is_linear ? linear[at].offset : sparse[at].offset)) = is_linear ? linear[at].value
                                                                                              : sparse[at].value;
        const char *problem = llm_problem(&llm), *expected = is_linear ? linear[at].problem : sparse[at].problem;
        if (!CHECK(problem != NULL && strstr(problem, expected) != NULL)) puts(expected);
    }
    struct llm_spec gated = glm_5;
    gated.attention_gate = true;
    CHECK(llm_problem(&gated) != NULL);
    CHECK(llm_parallel_problem(&qwen3_5, 32, 1) != NULL && llm_parallel_problem(&qwen3_5, 16, 1) == NULL);
}
