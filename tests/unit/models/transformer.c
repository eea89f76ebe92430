#include "models/transformer.h"
#include "tests/support/harness.h"

static const struct llm_spec llama_2_7b = {
    .layers = 32, .hidden = 4096, .q_heads = 32, .kv_heads = 32, .head_dim = 128, .ffn = 11008, .vocab = 32000,
    .max_context = 4096, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};
static const struct llm_spec llama_2_70b = {
    .layers = 80, .hidden = 8192, .q_heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672, .vocab = 32000,
    .max_context = 4096, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};
static const struct llm_spec mixtral_8x7b = {
    .layers = 32, .hidden = 4096, .q_heads = 32, .kv_heads = 8, .head_dim = 128, .vocab = 32000,
    .experts = 8, .experts_per_token = 2, .expert_ffn = 14336, .max_context = 32768, .gated_ffn = true,
    .layer_norms = 2, .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
};
static const struct llm_spec opt_13b = {
    .layers = 40, .hidden = 5120, .q_heads = 40, .kv_heads = 40, .head_dim = 128, .ffn = 20480, .vocab = 50272,
    .max_context = 2048, .tied_embeddings = true, .qkv_bias = true, .output_bias = true, .ffn_bias = true,
    .norm_bias = true, .layer_norms = 2, .position_embeddings = 2050,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};

static const struct llm_spec deepseek_v3 = {
    .layers = 61, .hidden = 7168, .q_heads = 128, .kv_heads = 128, .head_dim = 128, .query_latent = 1536,
    .kv_latent = 512, .rotary_dim = 64, .value_dim = 128, .ffn = 2048, .experts = 256, .experts_per_token = 8,
    .expert_ffn = 2048, .dense_layers = 3, .dense_ffn = 18432, .vocab = 129280, .max_context = 163840,
    .gated_ffn = true, .layer_norms = 2, .weights = FORMAT_FP8, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
};
static const struct llm_spec deepseek_v2_lite = {
    .layers = 27, .hidden = 2048, .q_heads = 16, .kv_heads = 16, .head_dim = 128, .kv_latent = 512, .rotary_dim = 64,
    .value_dim = 128, .ffn = 2816, .experts = 64, .experts_per_token = 6, .expert_ffn = 1408, .dense_layers = 1,
    .dense_ffn = 10944, .vocab = 102400, .max_context = 163840, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_BF16, .compute = FORMAT_BF16, .kv = FORMAT_BF16,
};

/* Counts of the publishers' checkpoints (Hugging Face, safetensors metadata), without the rotary frequencies that
 * those of Llama 2 hold. */
TEST(parameters_are_those_of_the_checkpoints)
{
    CHECK_EQ_INT(llm_parameters(&llama_2_7b), INT64_C(6738417664) - 32 * 64);
    CHECK_EQ_INT(llm_parameters(&llama_2_70b), INT64_C(68976653312) - 80 * 64);
    CHECK_EQ_INT(llm_parameters(&mixtral_8x7b), INT64_C(46702792704));
    CHECK_EQ_INT(llm_parameters(&deepseek_v2_lite), INT64_C(15706484224));
    CHECK_EQ_INT(llm_active_parameters(&llama_2_7b), llm_parameters(&llama_2_7b));
}

/* DeepSeek-V3's README_WEIGHTS.md: 671 billion, of which a token meets 36.6, the head counted and the input embedding
 * not. */
TEST(latent_attention_has_the_published_parameters)
{
    const int64_t embedding = INT64_C(129280) * 7168;
    CHECK_NEAR((double)llm_parameters(&deepseek_v3), 671e9, 0.5e9);
    CHECK_NEAR((double)(llm_active_parameters(&deepseek_v3) - embedding), 36.6e9, 0.05e9);
}

/* In a format of b bytes, numbers of 2 bytes when widened, the weights read are 2/b of their bytes; of experts alone
 * where the others are wide already, and none where all are. */
TEST(narrow_weights_are_widened)
{
    static const int64_t tokens[] = {1, 7, 300};
    for (int i = 0; i < 3; i++) {
        struct llm_spec llm = mixtral_8x7b;
        const struct llm_reads wide = llm_reads(&llm);
        const double wide_bytes = llm_reads_bytes(&wide, tokens[i], 1);
        CHECK_NEAR(llm_widened_bytes(&wide, tokens[i], 1), 0.0, 0.0);
        llm.part_formats[LLM_PART_EXPERTS] = 1 + FORMAT_FP8;
        const struct llm_reads experts = llm_reads(&llm);
        const double saved_bytes = wide_bytes - llm_reads_bytes(&experts, tokens[i], 1);
        CHECK_NEAR(llm_widened_bytes(&experts, tokens[i], 1) / (2.0 * saved_bytes), 1.0, 1e-12);
        llm_set_weights(&llm, FORMAT_FP8);
        const struct llm_reads all = llm_reads(&llm);
        const double all_saved_bytes = wide_bytes - llm_reads_bytes(&all, tokens[i], 1);
        CHECK(all_saved_bytes > saved_bytes);
        CHECK_NEAR(llm_widened_bytes(&all, tokens[i], 1) / (2.0 * all_saved_bytes), 1.0, 1e-12);
    }
}

/* Each part has its own format, or that of the others: weights and bytes add up part by part. */
TEST(parts_have_formats_of_their_own)
{
    struct llm_spec llm = deepseek_v3;
    CHECK(llm_format(&llm, LLM_PART_HEAD) == FORMAT_BF16 && llm_format(&llm, LLM_PART_OUT) == FORMAT_FP8);
    llm_set_weights(&llm, FORMAT_BF16);
    const double wide_bytes = llm_weight_bytes(&llm), wide_reads = llm_read_bytes(&llm, 1000000);
    const double row = 3.0 * 7168.0;
    const double weights[] = {
        [LLM_PART_ATTENTION] = 61.0 * (7168.0 * (1536 + 512 + 64) + 128.0 * 1536 * 192 + 128.0 * 512 * 256),
        [LLM_PART_OUT] = 61.0 * 128 * 128 * 7168,
        [LLM_PART_DENSE] = 3.0 * row * 18432,
        [LLM_PART_SHARED] = 58.0 * row * 2048,
        [LLM_PART_EXPERTS] = 58.0 * row * 2048 * 256,
        [LLM_PART_HEAD] = 129280.0 * 7168,
    };
    for (enum llm_part part = 0; part < LLM_PART_COUNT; part++) {
        llm_set_weights(&llm, FORMAT_BF16);
        llm.part_formats[part] = 1 + FORMAT_INT4;
        if (part == LLM_PART_ATTENTION) llm.part_formats[LLM_PART_OUT] = 1 + FORMAT_BF16;
        CHECK_NEAR((wide_bytes - llm_weight_bytes(&llm)) / (1.5 * weights[part]), 1.0, 1e-9);
        CHECK_NEAR((wide_reads - llm_read_bytes(&llm, 1000000)) / (1.5 * weights[part]), 1.0, 1e-9);
    }
    llm_set_weights(&llm, FORMAT_BF16);
    llm.part_formats[LLM_PART_ATTENTION] = 1 + FORMAT_INT4;
    CHECK(llm_format(&llm, LLM_PART_OUT) == FORMAT_INT4);
    CHECK_NEAR(llm_weight_bytes(&llm) / (wide_bytes - 1.5 * (weights[LLM_PART_ATTENTION] + weights[LLM_PART_OUT])), 1.0,
               1e-9);
    llm_set_weights(&llm, FORMAT_FP8);
    CHECK(llm_format(&llm, LLM_PART_ATTENTION) == FORMAT_FP8);
}

/* DeepSeek-V3's module for a second token has 11.5 billion parameters beside embedding and head (README_WEIGHTS.md).
 * The checkpoint, which holds these two again, has 684.53 billion (safetensors metadata). The cache is that of a
 * layer. */
TEST(modules_for_more_tokens_have_the_published_parameters)
{
    struct llm_spec llm = deepseek_v3;
    llm.compute = FORMAT_INT8;
    llm_set_weights(&llm, FORMAT_INT8);
    llm.mtp_layers = 1;
    const double own = llm_mtp_shard(&llm, 1, 1).weight_bytes, vocabulary = 2.0 * 129280.0 * 7168.0;
    CHECK_NEAR(own, 11.5e9, 0.15e9);
    CHECK_NEAR((double)llm_parameters(&llm) + own + vocabulary, 684.53e9, 0.05e9);
    CHECK_NEAR(llm_mtp_shard(&llm, 1, 1).kv_bytes_per_token, llm_kv_bytes_per_token(&llm) / 61.0, 1e-9);
    CHECK_NEAR(llm_weight_bytes(&llm), (double)llm_parameters(&llm), 0.5);
    llm.mtp_layers = 3;
    CHECK_NEAR(llm_mtp_shard(&llm, 1, 1).weight_bytes / (3.0 * own), 1.0, 1e-12);
}

/* gpt-oss (arXiv 2508.10925): 116.83 and 20.91 billion, of which a token meets 5.13 and 3.61, the head counted and the
 * input embedding not. Biases of experts and sinks are among them. */
TEST(four_bit_experts_have_the_published_parameters)
{
    const int64_t embedding = INT64_C(201088) * 2880;
    struct llm_spec llm = {
        .layers = 36, .hidden = 2880, .vocab = 201088, .max_context = 131072, .q_heads = 64, .kv_heads = 8,
        .head_dim = 64,
        .sliding_window = 128, .full_layers = 18, .attention_sinks = true, .gated_ffn = true, .experts = 128,
        .experts_per_token = 4, .expert_ffn = 2880, .qkv_bias = true, .output_bias = true, .expert_bias = true,
        .layer_norms = 2, .weights = FORMAT_BF16, .part_formats[LLM_PART_EXPERTS] = 1 + FORMAT_MXFP4, .compute = FORMAT_BF16,
        .kv = FORMAT_BF16,
    };
    CHECK_NEAR((double)llm_parameters(&llm), 116.83e9, 0.005e9);
    CHECK_NEAR((double)(llm_active_parameters(&llm) - embedding), 5.13e9, 0.005e9);
    llm.layers = 24;
    llm.full_layers = 12;
    llm.experts = 32;
    CHECK_NEAR((double)llm_parameters(&llm), 20.91e9, 0.005e9);
    CHECK_NEAR((double)(llm_active_parameters(&llm) - embedding), 3.61e9, 0.005e9);
}

/* One latent vector of 512 and a rotary key of 64 per token and layer, on every GPU alike. */
TEST(latent_vectors_are_replicated)
{
    CHECK_NEAR(llm_kv_bytes_per_token(&deepseek_v3), 61.0 * 576.0 * 2.0, 0.0);
    CHECK_NEAR(llm_shard(&deepseek_v3, 8, 1).kv_bytes_per_token, 61.0 * 576.0 * 2.0, 0.0);
    CHECK_NEAR(llm_shard(&deepseek_v3, 8, 2).kv_bytes_per_token, 31.0 * 576.0 * 2.0, 0.0);
}

/* Of several stages the fullest is the last, which has layers with experts as long as there are any. */
TEST(dense_layers_come_first)
{
    CHECK_EQ_INT(llm_shard(&deepseek_v3, 1, 1).dense_layers, 3);
    CHECK_EQ_INT(llm_shard(&deepseek_v3, 1, 2).dense_layers, 0);
    struct llm_spec llm = deepseek_v3;
    llm.dense_layers = 40;
    CHECK_EQ_INT(llm_shard(&llm, 1, 2).dense_layers, 31 - 21);
}

/* Two of eight experts are met: 6 of 8 times 3 h f weights per layer are not. */
TEST(a_token_meets_some_of_the_experts)
{
    const int64_t unmet = INT64_C(32) * 6 * 3 * 4096 * 14336;
    CHECK_EQ_INT(llm_active_parameters(&mixtral_8x7b), llm_parameters(&mixtral_8x7b) - unmet);
}

/* InstAttention (HPCA 2025) states 0.78 MB of KV cache per token for OPT-13B in fp16. */
TEST(kv_bytes_per_token)
{
    CHECK_NEAR(llm_kv_bytes_per_token(&opt_13b), 819200.0, 0.0);
    CHECK_NEAR(llm_kv_bytes_per_token(&llama_2_7b), 524288.0, 0.0);
    CHECK_NEAR(llm_kv_bytes_per_token(&llama_2_70b), 327680.0, 0.0);
}

TEST(kv_heads_are_replicated_when_gpus_outnumber_them)
{
    CHECK_NEAR(llm_shard(&llama_2_70b, 8, 1).kv_bytes_per_token, 327680.0 / 8, 0.0);
    CHECK_NEAR(llm_shard(&llama_2_70b, 16, 1).kv_bytes_per_token, 327680.0 / 8, 0.0);
    CHECK_NEAR(llm_shard(&llama_2_70b, 4, 2).kv_bytes_per_token, 327680.0 / 8, 0.0);
}

/* 2 FLOP per weight but for the input embedding, which is looked up, and the norms. */
TEST(flop_per_token_are_twice_the_weights)
{
    const struct llm_spec *llm = &llama_2_7b;
    const int64_t looked_up = llm->vocab * llm->hidden, norms = (2 * llm->layers + 1) * llm->hidden;
    CHECK_NEAR(llm_flop_per_token(llm, 0), 2.0 * (double)(llm_parameters(llm) - looked_up - norms), 0.0);
    CHECK_NEAR(llm_flop_per_token(llm, 1000) - llm_flop_per_token(llm, 0), 4.0 * 32 * 4096 * 1000, 0.0);
}

TEST(a_window_bounds_attention)
{
    struct llm_spec windowed = llama_2_7b;
    windowed.sliding_window = 1024;
    CHECK(llm_flop_per_token(&windowed, 1024) == llm_flop_per_token(&llama_2_7b, 1024));
    CHECK(llm_flop_per_token(&windowed, 30000) == llm_flop_per_token(&windowed, 1024));
}

/* One GPU holds everything; n GPUs hold it together, and n - 1 more copies of norms, biases, router and positions. */
TEST(shards_add_up)
{
    CHECK_NEAR(llm_weight_bytes(&llama_2_7b), 2.0 * 6738415616.0, 0.0);
    CHECK_NEAR(llm_weight_bytes(&mixtral_8x7b), 2.0 * 46702792704.0, 0.0);
    CHECK_NEAR(llm_weight_bytes(&opt_13b), 2.0 * 12853473280.0, 0.0);
    const struct llm_spec *const models[] = {&llama_2_7b, &llama_2_70b, &mixtral_8x7b, &opt_13b, &deepseek_v3};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const double whole = llm_weight_bytes(models[i]);
        const double copy = 2.0 * llm_shard(models[i], 2, 1).weight_bytes - whole;
        CHECK(copy > 0.0 && copy < 0.002 * whole);
        for (int64_t tp = 4; tp <= 8; tp *= 2)
            CHECK_NEAR((double)tp * llm_shard(models[i], tp, 1).weight_bytes, whole + (double)(tp - 1) * copy, 0.0);
    }
}

/* The stages of a pipeline hold at least everything together, and no stage more than its layers and the vocabulary. */
TEST(stages_add_up)
{
    const double whole = llm_weight_bytes(&llama_2_70b), vocab = 2.0 * 32000 * 8192;
    CHECK(4.0 * llm_shard(&llama_2_70b, 1, 4).weight_bytes >= whole);
    CHECK(llm_shard(&llama_2_70b, 1, 4).weight_bytes <= whole / 4.0 + vocab);
    CHECK_EQ_INT(llm_shard(&llama_2_70b, 1, 3).layers, 27);
}

/* The first stage holds the embedding, which stays in the format of computing beside a head in fp8. */
TEST(the_first_stage_holds_the_embedding)
{
    struct llm_spec narrow = llama_2_70b, tied = llama_2_70b;
    narrow.part_formats[LLM_PART_HEAD] = 1 + FORMAT_FP8;
    tied.tied_embeddings = true;
    const double stage = llm_shard(&llama_2_70b, 1, 4).weight_bytes;
    CHECK_NEAR(llm_shard(&narrow, 1, 4).weight_bytes, stage, 0.0);
    CHECK_NEAR(llm_shard(&tied, 1, 4).weight_bytes, stage, 0.0);
    tied.part_formats[LLM_PART_HEAD] = 1 + FORMAT_FP8;
    CHECK_NEAR(llm_shard(&tied, 1, 4).weight_bytes, stage - 32000.0 * 8192.0, 0.0);
}

TEST(impossible_splits_are_named)
{
    CHECK(llm_parallel_problem(&llama_2_70b, 8, 1) == NULL);
    CHECK(llm_parallel_problem(&llama_2_70b, 16, 4) == NULL);
    const char *problem = llm_parallel_problem(&llama_2_70b, 3, 1);
    CHECK(problem && strstr(problem, "attention heads"));
    CHECK(llm_parallel_problem(&llama_2_70b, 0, 1) != NULL);
    problem = llm_parallel_problem(&llama_2_70b, 1, 81);
    CHECK(problem && strstr(problem, "layers"));
    struct llm_spec odd = llama_2_70b;
    odd.kv_heads = 12;
    problem = llm_parallel_problem(&odd, 8, 1);
    CHECK(problem && strstr(problem, "key-value"));
}

TEST(formats_fall_back_to_wider_units)
{
    struct gpu_spec gpu = {.peak_flop_per_s = {[FORMAT_FP32] = 1.0}};
    for (int format = 0; format < FORMAT_COUNT; format++)
        CHECK(gpu_peak_flop_per_s(&gpu, (enum number_format)format) == 1.0);
    gpu.peak_flop_per_s[FORMAT_FP16] = 2.0;
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_FP8) == 2.0);
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_BF16) == 2.0);
    gpu.peak_flop_per_s[FORMAT_FP8] = 4.0;
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_FP8) == 4.0);
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_FP8_BLOCK) == 4.0 && gpu_peak_flop_per_s(&gpu, FORMAT_NVFP4) == 4.0);
    gpu.peak_flop_per_s[FORMAT_NVFP4] = 8.0;
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_NVFP4) == 8.0 && gpu_peak_flop_per_s(&gpu, FORMAT_MXFP4) == 4.0);
}

/* A block of numbers with its scale: 16 of 4 bits and a byte, 32 and a byte, 128 x 128 of a byte and 4 bytes. */
TEST(formats_count_their_scales)
{
    CHECK(16.0 * number_format_bytes(FORMAT_NVFP4) == 9.0);
    CHECK(32.0 * number_format_bytes(FORMAT_MXFP4) == 17.0);
    CHECK(16384.0 * number_format_bytes(FORMAT_FP8_BLOCK) == 16388.0);
}

TEST(links_follow_the_fabric)
{
    const struct gpu_spec pair = {.fabric = FABRIC_BRIDGE, .nvlink_gpus = 2, .nvlink_bytes_per_s = 56.25e9,
                                  .pcie_bytes_per_s = 32e9};
    CHECK(gpu_link_bytes_per_s(&pair, 2) == 56.25e9 && gpu_pair_bytes_per_s(&pair, 2) == 56.25e9);
    CHECK(gpu_link_bytes_per_s(&pair, 4) == 32e9 && gpu_pair_bytes_per_s(&pair, 4) == 32e9);
    const struct gpu_spec lone = {.fabric = FABRIC_NONE, .pcie_bytes_per_s = 32e9};
    CHECK(gpu_link_bytes_per_s(&lone, 2) == 32e9 && gpu_pair_bytes_per_s(&lone, 2) == 32e9);
    const struct gpu_spec behind = {.fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9,
                                    .pcie_bytes_per_s = 32e9};
    for (int64_t gpus = 2; gpus <= 8; gpus++)
        CHECK(gpu_link_bytes_per_s(&behind, gpus) == 300e9 && gpu_pair_bytes_per_s(&behind, gpus) == 300e9);
    CHECK(gpu_link_bytes_per_s(&behind, 16) == 32e9);
}

/* A V100 of a DGX-1 has six links of 25 GB/s: two along each edge of the cube, so a pair has two, and of four GPUs
 * each has four to the others. */
TEST(a_mesh_gives_a_group_its_own_links)
{
    const struct gpu_spec v100 = {.fabric = FABRIC_MESH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 150e9,
                                  .pcie_bytes_per_s = 16e9};
    static const double links[] = {[2] = 2, [3] = 2, [4] = 4, [5] = 4, [6] = 4, [7] = 4, [8] = 6};
    for (int64_t gpus = 2; gpus <= 8; gpus++) {
        CHECK_NEAR(gpu_link_bytes_per_s(&v100, gpus), links[gpus] * 25e9, 1.0);
        CHECK_NEAR(gpu_pair_bytes_per_s(&v100, gpus), 50e9, 1.0);
    }
    CHECK(gpu_link_bytes_per_s(&v100, 9) == 16e9 && gpu_pair_bytes_per_s(&v100, 9) == 16e9);
}

/* Counted query by query. */
TEST(windows_leave_their_pairs)
{
    for (int64_t window = 1; window <= 12; window++)
        for (int64_t context = 0; context <= 12; context++)
            for (int64_t tokens = 1; tokens <= 12; tokens++) {
                double seen = 0.0; /* a query stands in the middle of its own key */
                for (int64_t i = 0; i < tokens; i++) {
                    const int64_t before = context + i;
                    seen += before < window ? (double)before + 0.5 : (double)window;
                }
                CHECK_NEAR(llm_window_pairs((double)tokens, (double)context, (double)window), 2.0 * seen, 1e-9);
            }
}

/* A dense LLM reads all but its input embedding and the vectors; of experts a token reads the chosen ones, many
 * all. */
TEST(iterations_read_the_matrices_they_meet)
{
    const double norms = 2.0 * (2 * 32 + 1) * 4096, embedding = 2.0 * 32000 * 4096;
    CHECK_NEAR(llm_read_bytes(&llama_2_7b, 1), llm_weight_bytes(&llama_2_7b) - norms - embedding, 0.0);
    CHECK_NEAR(llm_read_bytes(&llama_2_7b, 4096), llm_read_bytes(&llama_2_7b, 1), 0.0);
    CHECK_NEAR(llm_read_bytes(&mixtral_8x7b, 1),
               2.0 * (double)llm_active_parameters(&mixtral_8x7b) - norms - embedding, 1.0);
    CHECK_NEAR(llm_read_bytes(&mixtral_8x7b, 4096), llm_weight_bytes(&mixtral_8x7b) - norms - embedding, 1.0);
}

static void check_problem(const struct llm_spec *llm, const char *word)
{
    const char *problem = llm_problem(llm);
    CHECK(problem && strstr(problem, word));
}

/* A part has a format exactly where it has matrices. */
TEST(parts_without_matrices_have_no_format)
{
    struct llm_spec shared = mixtral_8x7b, first_dense = mixtral_8x7b;
    shared.ffn = 1024;
    first_dense.dense_layers = 1, first_dense.dense_ffn = 1024;
    const struct llm_spec *const shapes[] = {&llama_2_70b, &mixtral_8x7b, &shared, &first_dense};
    static const bool has[][LLM_PART_COUNT] = {{true, true, true, false, false, true},
                                               {true, true, false, false, true, true},
                                               {true, true, false, true, true, true},
                                               {true, true, true, false, true, true}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (enum llm_part part = 0; part < LLM_PART_COUNT; part++) {
            struct llm_spec llm = *shapes[i];
            const double bytes = llm_weight_bytes(&llm);
            llm.part_formats[part] = 1 + FORMAT_FP8;
            CHECK_EQ_INT(llm_has(&llm, part), has[i][part]);
            CHECK_EQ_INT(llm_problem(&llm) == NULL, has[i][part]);
            CHECK_EQ_INT(llm_weight_bytes(&llm) < bytes, has[i][part]);
        }
}

TEST(impossible_shapes_are_named)
{
    CHECK(llm_problem(&llama_2_70b) == NULL && llm_problem(&mixtral_8x7b) == NULL && llm_problem(&opt_13b) == NULL);
    struct llm_spec llm = llama_2_70b;
    llm.layers = INT64_C(4000000000000);
    check_problem(&llm, "layers");
    llm = llama_2_70b;
    llm.kv_heads = 7;
    check_problem(&llm, "key-value");
    llm.kv_heads = 128;
    check_problem(&llm, "key-value");
    llm = llama_2_70b;
    llm.ffn = 0;
    check_problem(&llm, "neither");
    llm.experts_per_token = 2;
    check_problem(&llm, "not counted");
    llm = llama_2_70b;
    llm.expert_bias = true;
    check_problem(&llm, "not counted");
    llm = mixtral_8x7b;
    llm.experts_per_token = 9;
    check_problem(&llm, "experts per token");
    llm.experts_per_token = 0;
    check_problem(&llm, "experts per token");
    llm = mixtral_8x7b;
    llm.expert_ffn = 0;
    check_problem(&llm, "missing");
    llm = llama_2_70b;
    llm.dense_layers = 1;
    check_problem(&llm, "dense layers");
    llm.dense_layers = 0;
    llm.rotary_dim = 64;
    check_problem(&llm, "'kv_latent' is missing");
}

TEST(impossible_latent_shapes_are_named)
{
    CHECK(llm_problem(&deepseek_v3) == NULL && llm_problem(&deepseek_v2_lite) == NULL);
    struct llm_spec llm = deepseek_v3;
    llm.kv_heads = 64;
    check_problem(&llm, "every attention head");
    llm = deepseek_v3;
    llm.value_dim = 0;
    check_problem(&llm, "values");
    llm = deepseek_v3;
    llm.rotary_dim = LLM_MAX_HEAD_DIM + 1;
    check_problem(&llm, "rotary");
    llm = deepseek_v3;
    llm.query_latent = LLM_MAX_HIDDEN + 1;
    check_problem(&llm, "latent vectors");
    llm = deepseek_v3;
    llm.dense_layers = 61;
    check_problem(&llm, "none of its layers");
    llm = deepseek_v3;
    llm.dense_ffn = 0;
    check_problem(&llm, "dense layers");
}

/* At the bounds nothing overflows: UBSan watches the counts, which the shards meet in floating point. */
TEST(the_largest_shape_can_be_counted)
{
    struct llm_spec llm = {
        .layers = LLM_MAX_LAYERS, .hidden = LLM_MAX_HIDDEN, .q_heads = LLM_MAX_HEADS, .kv_heads = LLM_MAX_HEADS,
        .head_dim = LLM_MAX_HEAD_DIM, .ffn = LLM_MAX_FFN, .vocab = LLM_MAX_VOCAB, .max_context = LLM_MAX_CONTEXT,
        .experts = LLM_MAX_EXPERTS, .experts_per_token = LLM_MAX_EXPERTS, .expert_ffn = LLM_MAX_FFN, .gated_ffn = true,
        .position_embeddings = LLM_MAX_CONTEXT, .norm_bias = true, .layer_norms = 8, .qkv_bias = true, .ffn_bias = true,
        .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
    };
    CHECK(llm_problem(&llm) == NULL);
    CHECK_NEAR((double)llm_parameters(&llm) * 2.0 / llm_weight_bytes(&llm), 1.0, 1e-9);
    CHECK(llm_flop_per_token(&llm, LLM_MAX_CONTEXT) > 0.0);
    llm.query_latent = llm.kv_latent = LLM_MAX_HIDDEN;
    llm.rotary_dim = llm.value_dim = LLM_MAX_HEAD_DIM;
    llm.dense_layers = LLM_MAX_LAYERS - 1;
    llm.dense_ffn = LLM_MAX_FFN;
    CHECK(llm_problem(&llm) == NULL);
    CHECK_NEAR((double)llm_parameters(&llm) * 2.0 / llm_weight_bytes(&llm), 1.0, 1e-9);
    CHECK(llm_flop_per_token(&llm, LLM_MAX_CONTEXT) > 0.0);
}

/* usable = weights + activations + reserve + blocks * block + rest, with 0 <= rest < block. */
TEST(blocks_fill_the_memory)
{
    const struct gpu_spec gpu = {.memory_bytes = 80.0 * 0x1p30};
    const struct kv_params params = {.usable_frac = 0.9, .reserve_bytes = 0x1p29, .batch_tokens = 4096,
                                     .batch_sequences = 256, .block_tokens = 16};
    for (int64_t tp = 1; tp <= 8; tp *= 2) {
        const struct kv_capacity kv = kv_capacity(&gpu, &llama_2_7b, tp, 1, &params);
        const double rest = kv.usable_bytes - kv.weight_bytes - kv.activation_bytes - kv.reserve_bytes -
                            (double)kv.blocks * kv.block_bytes;
        CHECK(rest >= 0.0 && rest < kv.block_bytes);
    }
    CHECK_EQ_INT(kv_capacity(&gpu, &llama_2_70b, 1, 1, &params).blocks, 0);
}

/* 32 copies in 58 layers on 32 GPUs: one expert more per layer and GPU, three matrices of 7168 x 2048 in fp8. */
TEST(redundant_experts_take_memory)
{
    const struct gpu_spec gpu = {.memory_bytes = 80.0 * 0x1p30};
    struct kv_params params = {.usable_frac = 0.9, .reserve_bytes = 0x1p29, .batch_tokens = 2048,
                               .batch_sequences = 256, .block_tokens = 64, .data_parallel = 32};
    const struct kv_capacity own = kv_capacity(&gpu, &deepseek_v3, 32, 1, &params);
    params.redundant_experts = 32;
    const struct kv_capacity with_copies = kv_capacity(&gpu, &deepseek_v3, 32, 1, &params);
    CHECK_NEAR((with_copies.weight_bytes - own.weight_bytes) / (58.0 * 3.0 * 7168.0 * 2048.0), 1.0, 1e-9);
    CHECK(with_copies.blocks < own.blocks);
}

/* Splitting leaves a block of latent vectors whole on every GPU. */
TEST(latent_blocks_are_whole_on_every_gpu)
{
    const struct gpu_spec gpu = {.memory_bytes = 141.0 * 0x1p30};
    const struct kv_params params = {.usable_frac = 0.9, .reserve_bytes = 0x1p29, .batch_tokens = 2048,
                                     .batch_sequences = 256, .block_tokens = 64};
    const struct kv_capacity kv = kv_capacity(&gpu, &deepseek_v3, 8, 1, &params);
    CHECK_NEAR(kv.block_bytes, 64.0 * 61.0 * 576.0 * 2.0, 0.0);
    CHECK(kv.blocks > 0 && kv_capacity(&gpu, &deepseek_v3, 1, 1, &params).blocks == 0);
    CHECK_NEAR(kv_capacity(&gpu, &deepseek_v2_lite, 1, 1, &params).block_bytes,
               kv_capacity(&gpu, &deepseek_v2_lite, 8, 1, &params).block_bytes, 0.0);
}

/* Llama-3.1-8B on an RTX 4090 (24564 MiB, of which CUDA offers 24080): vLLM 0.19 found 2588 blocks of 16 tokens. */
TEST(blocks_are_near_what_vllm_found)
{
    struct llm_spec llm = llama_2_7b;
    llm.kv_heads = 8;
    llm.ffn = 14336;
    llm.vocab = 128256;
    const struct gpu_spec gpu = {.memory_bytes = 24080.0 * 0x1p20};
    const struct kv_params params = {.usable_frac = 0.9, .reserve_bytes = 0x1p29, .batch_tokens = 2048,
                                     .batch_sequences = 256, .block_tokens = 16};
    CHECK_NEAR((double)kv_capacity(&gpu, &llm, 1, 1, &params).blocks / 2588.0, 1.0, 0.05);
}
