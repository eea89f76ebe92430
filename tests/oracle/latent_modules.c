/* Whole modules of latent attention in DeepSeek-V3 on an H100, with all 128 heads on the GPU: the sum of our kernels
 * beside measured modules that are in no fit. A module has the products in fp8 by block, norms of the latent vectors,
 * rotary embeddings, the write into the cache, and attention.
 *
 * Rows: ai-dynamo/aiconfigurator @ 095f58a5, h100_sxm, mla_generation_module_perf and mla_context_module_perf of
 * TensorRT-LLM 1.3.0rc20, wideep_generation_mla_perf of SGLang 0.5.10 (fa3). SGLang names the tokens before the new
 * one. They were seen before the bars were set, and made the set `sglang-0.5` get products of its own. Before,
 * DeepSeek's figures had products of `isolated`, vLLM 0.14's, with a scale per tensor. With them the median module here
 * takes 18 % longer than measured. */
#include "models/operators/layer.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/catalog.h"
#include "sim/core/real_list.h"
#include "tests/support/harness.h"

static const double median_bar = 0.10, worst_bar = 0.20;
/* Was 0.20 for products by block. It was lowered for those per tensor, once their 18 % had been seen. */
static const double slow_bar = 0.15;

struct module {
    int64_t sequences, context; /* that decode, each with so many tokens; or 0 and the tokens of one prompt */
    enum number_format kv;
    double milliseconds;
};

static const struct module modules[] = {
    /* TensorRT-LLM, decoding */
    {16, 2, FORMAT_BF16, 0.1205},
    {16, 4096, FORMAT_BF16, 0.1590},
    {32, 2048, FORMAT_BF16, 0.1740},
    {64, 2, FORMAT_BF16, 0.1338},
    {64, 4096, FORMAT_BF16, 0.2449},
    {128, 4096, FORMAT_BF16, 0.3904},
    {128, 8192, FORMAT_BF16, 0.6364},
    {64, 4096, FORMAT_FP8, 0.2298},
    {128, 4096, FORMAT_FP8, 0.3587},
    /* SGLang, decoding */
    {16, 4097, FORMAT_FP8, 0.1539},
    {32, 2049, FORMAT_FP8, 0.1588},
    {64, 4097, FORMAT_FP8, 0.2381},
    {128, 2049, FORMAT_FP8, 0.2660},
    /* TensorRT-LLM, a prompt */
    {0, 512, FORMAT_BF16, 0.3257},
    {0, 1024, FORMAT_BF16, 0.6256},
    {0, 2048, FORMAT_BF16, 1.254},
    {0, 4096, FORMAT_BF16, 3.144},
    {0, 8192, FORMAT_BF16, 8.828},
};

enum { MODULES = sizeof modules / sizeof *modules };

static bool is_in_module(const struct kernel_use *use, const struct llm_spec *llm)
{
    switch (use->op) {
    case OP_QKV:
    case OP_ROTARY:
    case OP_KV_WRITE:
    case OP_PREFILL_ATTENTION:
    case OP_DECODE_ATTENTION:
    case OP_OUT: return true;
    case OP_NORM: return use->call.shape.elementwise.width < 2.0 * (double)llm->hidden;
    default: return false;
    }
}

static double module_seconds(const struct calibration *calibration, const struct gpu_spec *gpu, struct llm_spec llm,
                             enum number_format weights, const struct module *module)
{
    static const struct llm_split split = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8};
    const int64_t n = module->sequences, tokens = module->context;
    struct iteration_work work = {.decode_sequences = n, .decode_context_tokens = n * tokens};
    if (n == 0)
        work = (struct iteration_work){.prefill_sequences = 1, .prefill_tokens = tokens,
                                       .prefill_pairs = (double)tokens * (double)tokens};
    struct kernel_use uses[LLM_MAX_USES];
    enum kernel_basis basis;
    double seconds = 0.0;
    llm.weights = weights;
    llm.kv = module->kv;
    const size_t n_uses = llm_iteration_kernels(&llm, &split, gpu, &work, uses);
    for (size_t i = 0; i < n_uses; i++)
        if (is_in_module(&uses[i], &llm))
            seconds += uses[i].count * kernel_set_time(&calibration->kernels, gpu, &uses[i].call, &basis).seconds;
    return seconds / (double)llm.layers;
}

/* Sets errors[MODULES] to predicted / measured - 1, sorted. */
static bool find_errors(const char *set, enum number_format weights, struct arena *arena, double *errors)
{
    static const struct catalog catalog = {.root = "configs"};
    const struct calibration_request request = {.gpu = "h100-sxm", .kernels = set, .collectives = set};
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct calibration calibration;
    diag_init(&diag);
    if (!CHECK(catalog_gpu(&catalog, "h100-sxm", "test", arena, &gpu, &diag) == 0) ||
        !CHECK(catalog_llm(&catalog, "deepseek-v3", "test", arena, &llm, &diag) == 0) ||
        !CHECK(calibration_read(&catalog, &request, arena, &calibration, &diag) == 0))
        return false;
    for (size_t i = 0; i < MODULES; i++)
        errors[i] = module_seconds(&calibration, &gpu, llm, weights, &modules[i]) / (1e-3 * modules[i].milliseconds) -
                    1.0;
    qsort(errors, MODULES, sizeof *errors, real_compare);
    return true;
}

TEST(modules_of_latent_attention_are_the_sum_of_their_kernels)
{
    struct arena arena;
    double errors[MODULES];
    arena_init(&arena);
    if (find_errors("sglang-0.5", FORMAT_FP8_BLOCK, &arena, errors)) {
        CHECK(errors[0] > -worst_bar && errors[MODULES - 1] < worst_bar);
        for (size_t i = 0; i < MODULES; i++) errors[i] = fabs(errors[i]);
        qsort(errors, MODULES, sizeof *errors, real_compare);
        CHECK(errors[MODULES / 2] < median_bar);
    }
    arena_fini(&arena);
}

/* What vLLM 0.14 took for products per tensor, which the figures had before. */
TEST(older_products_make_modules_slow)
{
    struct arena arena;
    double errors[MODULES];
    arena_init(&arena);
    if (find_errors("isolated", FORMAT_FP8, &arena, errors)) CHECK(errors[MODULES / 2] > slow_bar);
    arena_fini(&arena);
}
