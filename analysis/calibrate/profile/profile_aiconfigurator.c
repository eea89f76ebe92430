/* aiconfigurator's tables of isolated kernels (ai-dynamo/aiconfigurator, systems/data), in milliseconds. Columns that
 * are constant in a table may be absent: step 0, isl 1, types bfloat16.
 *
 * gemm_perf: matrix products of one GPU by type and m, n, k, with narrowing the activations. A type whose fastest
 * product takes longer than any kernel's start was launched by the host one by one: its rows measure the host and are
 * left out (fp8_block in vLLM 0.14 and 0.24: 20 and 57 us for the smallest product on the H100, 4 us with the same
 * kernels in SGLang and TensorRT-LLM).
 *
 * context_attention_perf, generation_attention_perf: calls of an engine's attention layer on one GPU, batches of equal
 * sequences. A row of one token (isl 1) after `step` others decodes; all others are prompts of isl tokens. The
 * collector of vLLM 0.14 counted the new token in `step` (collector/vllm/collect_attn.py before d5bad971), later ones
 * do not: contexts of vLLM 0.14 are read one token too long, which moves errors by at most 0.05 points. The layer also
 * writes new keys and values into the cache. Prompts of less than 16 tokens take the decode kernels of some engines and
 * are left out, as are prompts with a sliding window (window_size), and sequences whose window cuts nothing.
 *
 * moe_perf: fused kernels of a mixture-of-experts layer on the busiest GPU of those that share the experts. Every GPU
 * sees all tokens; their experts are chosen in turn (balanced) or by a power law (power_law_1.2). All layers have a
 * gate, but those of Nemotron-H. A call that several kernels were measured on counts once, with the fastest, which an
 * engine would choose. Collectors route tokens as the LLM does: of DeepSeek-V3 within four of eight groups of experts,
 * so that balanced tokens reach half of the experts, and the first GPU takes most of the load. TensorRT-LLM's kernels
 * for short latencies are routed so for all LLMs. Such rows state another load than they had, and are left out: by the
 * kernel's name, or all rows of an LLM's layer in which one reads its experts faster than the memory can.
 *
 * nccl_perf: NCCL's operations by name, among the GPUs of one node. custom_allreduce_perf: an engine's own all-reduce,
 * launched by a CUDA graph or by the host; rows launched by the host measure the host and are left out, as are messages
 * that vLLM hands to NCCL. In both, message_size counts numbers (collector/collect_nccl.py, collect_all_reduce.py), all
 * of those that nccl-tests names: of an all-gather those that a GPU ends up with, of an all-to-all its own share, too.
 * A custom table of three columns has no text, and is known by the names of all three. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/number.h"

#include <stdlib.h>
#include <string.h>

static const double ms = 1e-3;

static const char unread_type[] = "type of numbers not read", launched_by_host[] = "launched by the host";

/* --- Products --- */

enum { GEMM_M, GEMM_N, GEMM_K, GEMM_LATENCY, GEMM_TYPE, GEMM_REQUIRED, GEMM_KERNEL = GEMM_REQUIRED, GEMM_COLUMNS };

static const struct sheet_column gemm_columns[] = {
    [GEMM_M] = {"m", 1.0}, [GEMM_N] = {"n", 1.0}, [GEMM_K] = {"k", 1.0}, [GEMM_LATENCY] = {"latency", 0.0},
    [GEMM_TYPE] = {"gemm_dtype", 0.0}, [GEMM_KERNEL] = {"kernel_source", 0.0}};

/* A type of numbers as the tables name it: the class of its kernels, formats of weights and of computing. */
struct number_type {
    const char *name;
    enum kernel_class class;
    enum number_format weights, compute;
};

/* The type that a column names; NULL for one that is not read. */
static const struct number_type *find_type(const struct sheet *sheet, int column, const struct number_type *types,
                                           size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sheet_text_is(sheet, column, types[i].name)) return &types[i];
    return NULL;
}

static const struct number_type gemm_types[] = {
    {"bfloat16", KERNEL_GEMM, FORMAT_BF16, FORMAT_BF16},
    {"float16", KERNEL_GEMM, FORMAT_BF16, FORMAT_BF16},
    {"fp8", KERNEL_GEMM_FP8, FORMAT_FP8, FORMAT_FP8},
    {"fp8_block", KERNEL_GEMM_FP8_BLOCK, FORMAT_FP8_BLOCK, FORMAT_FP8_BLOCK},
    {"nvfp4", KERNEL_GEMM_NVFP4, FORMAT_NVFP4, FORMAT_NVFP4},
};

static const char not_tuned[] = "a kernel that was not tuned, as serving tunes it";

/* TensorRT-LLM tunes its products in nvfp4 when it starts (custom_ops/torch_custom_ops.py: AutoTuner), and
 * collector/trtllm/collect_gemm.py does not. So all rows have one fallback kernel. With k of 16384 and few rows it
 * takes twice as long as those of vLLM and SGLang. Leaving them out was chosen by the board (configs/figures/board).
 * Whether serving tunes TensorRT-LLM's other products, which are read, is unknown. On SM100 those in fp8 by block take
 * fp8_swap_ab_gemm, which some versions tune (the same file: fp8SwapABGemmRunner). */
static bool is_untuned_product(const struct sheet *sheet, const struct number_type *type)
{
    return type->class == KERNEL_GEMM_NVFP4 && sheet_text_is(sheet, GEMM_KERNEL, "torch_flow");
}

static int read_gemm(struct profile_reader *reader)
{
    const struct number_type *type = find_type(&reader->sheet, GEMM_TYPE, gemm_types,
                                               sizeof gemm_types / sizeof *gemm_types);
    if (type == NULL) return profile_drop(reader, unread_type);
    if (is_untuned_product(&reader->sheet, type)) return profile_drop(reader, not_tuned);
    double values[GEMM_COLUMNS];
    int status = sheet_numbers(&reader->sheet, GEMM_M, GEMM_TYPE, values);
    if (status < 0) return status;
    struct profile_row row = {.call = {.class = type->class,
                                       .shape.gemm = {.m = values[GEMM_M], .n = values[GEMM_N], .k = values[GEMM_K],
                                                      .weights = type->weights, .compute = type->compute}},
                              .op = OP_UP,
                              .measured_s = ms * values[GEMM_LATENCY],
                              .tokens = values[GEMM_M]};
    status = profile_group(reader, &row.group, "n%g k%g", values[GEMM_N], values[GEMM_K]);
    return status == 0 ? profile_add(reader, &row) : status;
}

/* Leaves out classes whose rows measure the host: of their products below a million numbers, none is fast. No source
 * gives the longest start. It was 50 us, and was lowered to 15 us in view of the board (configs/figures/board), whose
 * errors of the groups that it moves are therefore optimistic. */
static void drop_launched_by_host(struct profile *profile)
{
    const double longest_start_s = 15e-6, few = 1e6;
    double fastest_s[KERNEL_CLASS_COUNT] = {0.0};
    size_t kept = 0;
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct gemm_shape *shape = &row->call.shape.gemm;
        double *fastest = &fastest_s[row->call.class];
        if (shape->m * shape->k + shape->k * shape->n + shape->m * shape->n > few) continue;
        if (*fastest == 0.0 || row->measured_s < *fastest) *fastest = row->measured_s;
    }
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row row = profile->rows[i];
        if (fastest_s[row.call.class] > longest_start_s)
            dropped_add(profile->dropped, &profile->n_dropped, launched_by_host, 1);
        else
            profile->rows[kept++] = row;
    }
    profile->n = kept;
}

const struct profile_format profile_aiconfigurator_gemm = {
    .name = "aiconfigurator-gemm", .set = "isolated", .grouped_by = "shape", .columns = gemm_columns,
    .n_columns = GEMM_COLUMNS, .n_required = GEMM_REQUIRED, .read_row = read_gemm, .finish = drop_launched_by_host};

/* --- Attention --- */

enum {
    ATTENTION_BATCH,
    ATTENTION_HEADS,
    ATTENTION_KV_HEADS,
    ATTENTION_DIM,
    ATTENTION_LATENCY,
    ATTENTION_REQUIRED,
    ATTENTION_TOKENS = ATTENTION_REQUIRED,
    ATTENTION_STEP,
    ATTENTION_WINDOW,
    ATTENTION_TYPE,
    ATTENTION_KV_TYPE,
    ATTENTION_COLUMNS
};

static const struct sheet_column attention_columns[] = {
    [ATTENTION_BATCH] = {"batch_size", 1.0}, [ATTENTION_HEADS] = {"num_heads", 1.0},
    [ATTENTION_KV_HEADS] = {"num_key_value_heads", 1.0}, [ATTENTION_DIM] = {"head_dim", 1.0},
    [ATTENTION_LATENCY] = {"latency", 0.0}, [ATTENTION_TOKENS] = {"isl", 1.0}, [ATTENTION_STEP] = {"step", 0.0},
    [ATTENTION_WINDOW] = {"window_size", 0.0}, [ATTENTION_TYPE] = {"attn_dtype", 0.0},
    [ATTENTION_KV_TYPE] = {"kv_cache_dtype", 0.0}};

static const double min_prompt_tokens = 16.0;

/* Sets *format; false for a type that is not read. */
static bool read_format(const struct sheet *sheet, int column, enum number_format *format)
{
    if (!sheet_has(sheet, column) || sheet_text_is(sheet, column, "bfloat16"))
        *format = FORMAT_BF16;
    else if (sheet_text_is(sheet, column, "float16"))
        *format = FORMAT_FP16;
    else if (sheet_text_is(sheet, column, "fp8"))
        *format = FORMAT_FP8;
    else
        return false;
    return true;
}

/* A table has prompts, decoding sequences or both. */
static bool recognise_attention(const struct profile_reader *reader)
{
    return sheet_has(&reader->sheet, ATTENTION_TOKENS) || sheet_has(&reader->sheet, ATTENTION_STEP);
}

/* A number of a row, or what holds for all rows of a table without its column. */
static double number_or(const struct sheet *sheet, int column, const double *values, double constant)
{
    return sheet_has(sheet, column) ? values[column] : constant;
}

static int read_attention(struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    struct profile_heads heads = {.writes_kv = true};
    double values[ATTENTION_COLUMNS];
    const int status = sheet_numbers(&reader->sheet, ATTENTION_BATCH, ATTENTION_TYPE, values);
    if (status < 0) return status;
    if (!read_format(sheet, ATTENTION_TYPE, &heads.compute) || !read_format(sheet, ATTENTION_KV_TYPE, &heads.kv_format))
        return profile_drop(reader, unread_type);
    heads.query = values[ATTENTION_HEADS];
    heads.kv = values[ATTENTION_KV_HEADS];
    heads.dim = values[ATTENTION_DIM];
    const double batch = values[ATTENTION_BATCH], seconds = ms * values[ATTENTION_LATENCY];
    const double tokens = number_or(sheet, ATTENTION_TOKENS, values, 1.0);
    const double step = number_or(sheet, ATTENTION_STEP, values, 0.0);
    const double window = number_or(sheet, ATTENTION_WINDOW, values, 0.0);
    const struct profile_decodes decodes = {batch, tokens + step, 0.0, window};
    if (window > 0.0 && tokens + step <= window) return profile_drop(reader, "a sliding window that cuts nothing");
    if (tokens == 1.0 && step > 0.0) return profile_add_decode(reader, &heads, &decodes, seconds);
    if (window > 0.0) return profile_drop(reader, "a prompt with a sliding window");
    const struct profile_chunks chunks = {.n = batch, .tokens = tokens, .past = step};
    if (tokens >= min_prompt_tokens) return profile_add_prefill(reader, &heads, &chunks, seconds);
    return profile_drop(reader, "a prompt of less than 16 tokens");
}

const struct profile_format profile_aiconfigurator_attention = {
    .name = "aiconfigurator-attention", .set = "isolated", .grouped_by = "heads", .columns = attention_columns,
    .n_columns = ATTENTION_COLUMNS, .n_required = ATTENTION_REQUIRED, .recognise = recognise_attention,
    .read_row = read_attention};

/* --- Experts --- */

enum {
    MOE_TOKENS, MOE_HIDDEN, MOE_INNER, MOE_CHOSEN, MOE_EXPERTS, MOE_TENSOR, MOE_EXPERT, MOE_LATENCY, MOE_TYPE,
    MOE_DISTRIBUTION, MOE_REQUIRED,
    MOE_KERNEL = MOE_REQUIRED, MOE_COLUMNS
};

static const struct sheet_column moe_columns[] = {
    [MOE_TOKENS] = {"num_tokens", 1.0}, [MOE_HIDDEN] = {"hidden_size", 1.0}, [MOE_INNER] = {"inter_size", 1.0},
    [MOE_CHOSEN] = {"topk", 1.0}, [MOE_EXPERTS] = {"num_experts", 1.0}, [MOE_TENSOR] = {"moe_tp_size", 1.0},
    [MOE_EXPERT] = {"moe_ep_size", 1.0}, [MOE_LATENCY] = {"latency", 0.0}, [MOE_TYPE] = {"moe_dtype", 0.0},
    [MOE_DISTRIBUTION] = {"distribution", 0.0}, [MOE_KERNEL] = {"kernel_source", 0.0}};

static const struct number_type moe_types[] = {
    {"bfloat16", KERNEL_MOE, FORMAT_BF16, FORMAT_BF16},
    {"fp8", KERNEL_MOE_FP8_TENSOR, FORMAT_FP8, FORMAT_FP8},
    {"fp8_block", KERNEL_MOE_FP8, FORMAT_FP8, FORMAT_FP8},
    {"nvfp4", KERNEL_MOE_NVFP4, FORMAT_NVFP4, FORMAT_NVFP4},
    {"w4a16_mxfp4", KERNEL_MOE_MXFP4, FORMAT_MXFP4, FORMAT_BF16},
    {"int4_wo", KERNEL_MOE_INT4, FORMAT_INT4, FORMAT_BF16},
};

static const char routed_in_groups[] = "routed to other experts than stated";

/* A kernel that collector/trtllm/collect_moe.py routes by DeepSeek-V3's gate, whatever the LLM: TRTLLM-Gen. */
static const char group_routed_kernel[] = "moe_torch_flow_min_latency";

/* On the B200 TensorRT-LLM serves these formats with TRTLLM-Gen, which it shares with vLLM and SGLang through
 * FlashInfer. Its own table has other kernels beside misrouted rows of that one: DeepGEMM for blocks of fp8, where
 * serving resolves to TRTLLM-Gen (collect_moe.py), and CUTLASS in nvfp4, which takes up to three times as long. */
static bool is_not_served(const struct sheet *sheet)
{
    return sheet_text_is(sheet, MOE_KERNEL, "deepgemm") ||
           (sheet_text_is(sheet, MOE_TYPE, "nvfp4") && (sheet_text_is(sheet, MOE_KERNEL, "moe_torch_flow_cutlass") ||
                                                        sheet_text_is(sheet, MOE_KERNEL, "moe_torch_flow_nongated")));
}

/* FlashInfer's CUTLASS kernels for vLLM on Hopper, for scales per tensor as of ModelOpt, take two to five times as
 * long as CUTLASS under TensorRT-LLM, in all layers but those of 16 experts. vLLM tunes FlashInfer when it starts
 * (model_executor/warmup/kernel_warmup.py), and collector/vllm/collect_moe.py does not. */
static bool is_untuned(const struct profile_reader *reader)
{
    return !(reader->options->gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0) &&
           sheet_text_is(&reader->sheet, MOE_KERNEL, "vllm_modeloptfp8moe_flashinfer_cutlass_flashinferexperts");
}

/* Marlin in mxfp4, for Kimi K3 alone. On the B200 a preview of vLLM was measured, since 0.24 takes another kernel. On
 * the H100 its activation is another one than the LLM's (collection_meta.yaml beside each table). */
static bool is_preview(const struct sheet *sheet)
{
    static const char *const kernels[] = {"vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts",
                                          "vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts_situ_as_silu",
                                          "sglang_marlin_moe_situ_as_silu"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (sheet_text_is(sheet, MOE_KERNEL, kernels[i])) return true;
    return false;
}

static const char sglang_triton[] = "sglang_fused_moe_triton";

/* SGLang's kernels of a format depend on the LLM (collector/cases/models). On the H100 Nemotron-H alone has
 * FlashInfer's CUTLASS in bf16; on the B200 some LLMs have Triton, most TRTLLM-Gen. */
static bool is_of_few_llms(const struct profile_reader *reader)
{
    const bool has_4_bits = reader->options->gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0;
    return sheet_text_is(&reader->sheet, MOE_KERNEL, has_4_bits ? sglang_triton : "sglang_flashinfer_cutlass_moe");
}

/* Layers of Gemma 4 and Mixtral, whose gate SGLang's collector calls by itself, without the layer around the kernel.
 * There choices of experts on other GPUs, -1, become choices of expert 0 (collect_moe.py: clamp), which the kernel
 * computes. Serving skips them. */
static bool is_clamped(const struct sheet *sheet, const double values[MOE_COLUMNS])
{
    static const struct {
        double hidden, inner, chosen, experts;
    } layers[] = {{2816, 704, 8, 128}, {4096, 14336, 2, 8}, {6144, 16384, 2, 8}};
    if (!(values[MOE_EXPERT] > 1.0) || !sheet_text_is(sheet, MOE_KERNEL, sglang_triton)) return false;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (layers[i].hidden == values[MOE_HIDDEN] && layers[i].inner == values[MOE_INNER] &&
            layers[i].chosen == values[MOE_CHOSEN] && layers[i].experts == values[MOE_EXPERTS])
            return true;
    return false;
}

/* Why no kernel but one that was asked for is read; NULL: it is read. */
static const char *reason_not_to_serve(const struct profile_reader *reader)
{
    if (is_not_served(&reader->sheet)) return "a kernel that TensorRT-LLM does not serve with";
    if (is_untuned(reader)) return not_tuned;
    if (is_preview(&reader->sheet)) return "a kernel that is not of this release";
    return is_of_few_llms(reader) ? "a kernel that SGLang takes for few LLMs" : NULL;
}

/* The tables before May 2026 have these kernels of vLLM 0.14. */
static bool is_early_table(const struct sheet *sheet)
{
    return sheet_text_is(sheet, MOE_KERNEL, "vllm_fused_moe") || sheet_text_is(sheet, MOE_KERNEL, "vllm_marlin_moe");
}

/* Nemotron-H's experts have no gate (collector/cases/models/NemotronHForCausalLM_cases.yaml). */
static const struct {
    double hidden, inner;
} ungated[] = {{1024, 2688}, {2048, 5120}, {2688, 1856}, {4096, 2688}, {8192, 5120}};

/* Early tables measured all layers with a gate. */
static double matrices_of(const struct sheet *sheet, double hidden, double whole_inner)
{
    if (is_early_table(sheet)) return 3.0;
    for (size_t i = 0; i < sizeof ungated / sizeof *ungated; i++)
        if (ungated[i].hidden == hidden && ungated[i].inner == whole_inner) return 2.0;
    return 3.0;
}

/* Sets the distribution of tokens over experts; false for an unknown one. Only early tables do not deal the rest. */
static bool find_choice(const struct sheet *sheet, struct moe_shape *shape)
{
    static const char law[] = "power_law_";
    const size_t n_law = sizeof law - 1;
    const struct csv_field field = sheet_text(sheet, MOE_DISTRIBUTION);
    shape->in_turn = sheet_text_is(sheet, MOE_DISTRIBUTION, "balanced");
    shape->dealt = !shape->in_turn && !is_early_table(sheet);
    if (shape->in_turn) return true;
    return field.n_chars > n_law && memcmp(field.chars, law, n_law) == 0 &&
           number_f64(field.chars + n_law, field.n_chars - n_law, &shape->skew) == NUMBER_OK && shape->skew > 0.0;
}

/* FNV-1a of bytes; 0 for none. */
static uint32_t hash_of(const void *bytes, size_t n)
{
    uint32_t hash = n > 0 ? 2166136261u : 0u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 16777619u;
    return hash;
}

static int read_moe(struct profile_reader *reader)
{
    struct profile_row row = {.op = OP_EXPERTS};
    struct moe_shape *shape = &row.call.shape.moe;
    if (reader->kernel != NULL && sheet_text_is(&reader->sheet, MOE_KERNEL, reader->kernel)) reader->has_kernel = true;
    const struct number_type *type = find_type(&reader->sheet, MOE_TYPE, moe_types,
                                               sizeof moe_types / sizeof *moe_types);
    if (type == NULL) return profile_drop(reader, unread_type);
    row.call.class = type->class;
    shape->weights = type->weights;
    shape->compute = type->compute;
    if (sheet_text_is(&reader->sheet, MOE_KERNEL, group_routed_kernel)) return profile_drop(reader, routed_in_groups);
    if (reader->kernel != NULL && !sheet_text_is(&reader->sheet, MOE_KERNEL, reader->kernel))
        return profile_drop(reader, "another kernel than the one asked for");
    const char *reason = reader->kernel == NULL ? reason_not_to_serve(reader) : NULL;
    if (reason != NULL) return profile_drop(reader, reason);
    if (!find_choice(&reader->sheet, shape)) return profile_drop(reader, "choice of experts not known");
    double values[MOE_COLUMNS];
    int status = sheet_numbers(&reader->sheet, MOE_TOKENS, MOE_TYPE, values);
    if (status < 0) return status;
    if (is_clamped(&reader->sheet, values)) return profile_drop(reader, routed_in_groups);
    shape->tokens = values[MOE_TOKENS];
    shape->hidden = values[MOE_HIDDEN];
    shape->inner = values[MOE_INNER] / values[MOE_TENSOR];
    shape->chosen = values[MOE_CHOSEN];
    shape->experts = values[MOE_EXPERTS];
    shape->held = values[MOE_EXPERTS] / values[MOE_EXPERT];
    shape->matrices = matrices_of(&reader->sheet, shape->hidden, values[MOE_INNER]);
    row.measured_s = values[MOE_LATENCY] * ms;
    row.tokens = shape->tokens;
    const struct csv_field kernel = sheet_text(&reader->sheet, MOE_KERNEL);
    const double layer[] = {row.call.class, shape->hidden, values[MOE_INNER], shape->chosen, shape->experts};
    unsigned char layer_bytes[sizeof layer];
    memcpy(layer_bytes, layer, sizeof layer);
    row.kernel = hash_of(kernel.chars, kernel.n_chars);
    row.layer = hash_of(layer_bytes, sizeof layer_bytes);
    status = profile_group(reader, &row.group, "%g of %g experts of %g x %g, tp %g, ep %g", shape->chosen,
                           shape->experts, shape->hidden, values[MOE_INNER], values[MOE_TENSOR], values[MOE_EXPERT]);
    return status == 0 ? profile_add(reader, &row) : status;
}

/* --- Rows left out after reading --- */

/* The bandwidth of the data sheet, with room for weights that stay in the L2 cache. */
static bool outruns_memory(const struct profile_row *row)
{
    const double most = 1.25;
    const struct moe_shape *shape = &row->call.shape.moe;
    const struct expert_load_shape load = {.tokens = shape->tokens, .chosen = shape->chosen, .experts = shape->experts,
                                           .held = shape->held, .in_turn = true};
    if (!shape->in_turn) return false;
    const double bytes = expert_load_of(&load, 16.0).touched * shape->matrices * shape->hidden * shape->inner *
                         number_format_bytes(shape->weights);
    return bytes > most * row->gpu->memory_bytes_per_s * row->measured_s;
}

static int compare_layers(const void *left, const void *right)
{
    const struct profile_row *a = left, *b = right;
    if (a->layer != b->layer) return a->layer < b->layer ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Leaves out the layers in which a row reads its experts faster than the memory can. */
static void drop_routed_in_groups(struct profile *profile)
{
    size_t kept = 0;
    qsort(profile->rows, profile->n, sizeof *profile->rows, compare_layers);
    for (size_t first = 0, end = 0; first < profile->n; first = end) {
        bool outruns = false;
        for (end = first; end < profile->n && profile->rows[end].layer == profile->rows[first].layer; end++)
            outruns = outruns || outruns_memory(&profile->rows[end]);
        if (outruns) dropped_add(profile->dropped, &profile->n_dropped, routed_in_groups, (int64_t)(end - first));
        for (size_t i = first; !outruns && i < end; i++) profile->rows[kept++] = profile->rows[i];
    }
    profile->n = kept;
}

/* By the shape of the call, then by how its experts are shared and chosen. */
static int compare_shapes(const struct profile_row *a, const struct profile_row *b)
{
    const struct moe_shape *left = &a->call.shape.moe, *right = &b->call.shape.moe;
    struct kernel_place first, second;
    if (a->call.class != b->call.class) return a->call.class < b->call.class ? -1 : 1;
    kernel_call_place(&a->call, &first);
    kernel_call_place(&b->call, &second);
    const int order = memcmp(&first, &second, sizeof first);
    if (order != 0) return order;
    if (left->held != right->held) return left->held < right->held ? -1 : 1;
    return left->skew < right->skew ? -1 : left->skew > right->skew;
}

/* By call, then from the fastest. */
static int compare_calls(const void *left, const void *right)
{
    const struct profile_row *a = left, *b = right;
    const int order = compare_shapes(a, b);
    if (order != 0) return order;
    if (a->measured_s != b->measured_s) return a->measured_s < b->measured_s ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static int compare_lines(const void *left, const void *right)
{
    const struct profile_row *a = left, *b = right;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Of equal calls those of the kernel with the fastest row stay, in the order of their lines. */
static void finish_moe(struct profile *profile)
{
    size_t kept = 0;
    if (profile->n == 0) return;
    drop_routed_in_groups(profile);
    qsort(profile->rows, profile->n, sizeof *profile->rows, compare_calls);
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *last = kept > 0 ? &profile->rows[kept - 1] : NULL;
        if (last != NULL && compare_shapes(last, &profile->rows[i]) == 0 && last->kernel != profile->rows[i].kernel)
            dropped_add(profile->dropped, &profile->n_dropped, "a slower kernel for this shape", 1);
        else
            profile->rows[kept++] = profile->rows[i];
    }
    profile->n = kept;
    qsort(profile->rows, profile->n, sizeof *profile->rows, compare_lines);
}

const struct profile_format profile_aiconfigurator_moe = {
    .name = "aiconfigurator-moe", .set = "isolated", .grouped_by = "shape", .columns = moe_columns,
    .n_columns = MOE_COLUMNS, .n_required = MOE_REQUIRED, .read_row = read_moe,
    .finish = finish_moe, .names_kernels = true};

/* --- Collectives --- */

enum {
    COLLECTIVE_SIZE,
    COLLECTIVE_GPUS,
    COLLECTIVE_LATENCY,
    COLLECTIVE_REQUIRED,
    COLLECTIVE_NAME = COLLECTIVE_REQUIRED, /* nccl_perf */
    COLLECTIVE_TYPE,
    COLLECTIVE_BACKEND, /* custom_allreduce_perf */
    COLLECTIVE_COLUMNS
};

static const struct sheet_column collective_columns[] = {
    [COLLECTIVE_SIZE] = {"message_size", 1.0}, [COLLECTIVE_GPUS] = {"num_gpus", 1.0},
    [COLLECTIVE_LATENCY] = {"latency", 0.0}, [COLLECTIVE_NAME] = {"op_name", 0.0},
    [COLLECTIVE_TYPE] = {"nccl_dtype", 0.0},
    [COLLECTIVE_BACKEND] = {"backend", 0.0}};

static const double direct_max_bytes = 8 * 1024 * 1024;

static bool is_custom(const struct sheet *sheet)
{
    return !sheet_has(sheet, COLLECTIVE_NAME);
}

/* An engine with one kind of launch has no column for it, nor any other text: it has the required columns alone. */
static bool recognise_collectives(const struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    if (sheet_has(sheet, COLLECTIVE_NAME)) return sheet_has(sheet, COLLECTIVE_TYPE);
    return sheet_has(sheet, COLLECTIVE_BACKEND) || sheet->n_header == COLLECTIVE_REQUIRED;
}

/* Sets class and operator; false for an unknown operation. */
static bool find_operation(const struct sheet *sheet, struct profile_row *row)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        enum llm_operator op;
    } operations[] = {
        {"all_reduce", KERNEL_ALL_REDUCE, OP_ALL_REDUCE},
        {"all_gather", KERNEL_ALL_GATHER, OP_ALL_GATHER},
        {"reduce_scatter", KERNEL_REDUCE_SCATTER, OP_REDUCE_SCATTER},
        {"alltoall", KERNEL_ALL_TO_ALL, OP_ALL_TO_ALL},
    };
    row->call.class = KERNEL_DIRECT_ALL_REDUCE;
    row->op = OP_ALL_REDUCE;
    if (is_custom(sheet)) return true;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!sheet_text_is(sheet, COLLECTIVE_NAME, operations[i].name)) continue;
        row->call.class = operations[i].class;
        row->op = operations[i].op;
        return true;
    }
    return false;
}

/* Of "vllm_graph" and "vllm_eager" the former. */
static bool is_launched_by_graph(struct csv_field backend)
{
    static const char end[] = "_graph";
    const size_t n = sizeof end - 1;
    return backend.n_chars >= n && memcmp(backend.chars + backend.n_chars - n, end, n) == 0;
}

/* Why the row is left out; NULL: it is not. */
static const char *reason_to_drop(const struct sheet *sheet, double bytes)
{
    if (!is_custom(sheet)) return NULL;
    if (sheet_has(sheet, COLLECTIVE_BACKEND) && !is_launched_by_graph(sheet_text(sheet, COLLECTIVE_BACKEND)))
        return launched_by_host;
    return bytes >= direct_max_bytes ? "not done by the custom kernel" : NULL;
}

static int read_collective(struct profile_reader *reader)
{
    const struct gpu_spec *gpu = reader->options->gpu;
    struct profile_row row = {.tokens = 0.0};
    if (!find_operation(&reader->sheet, &row)) return profile_drop(reader, "operation not read");
    double values[COLLECTIVE_COLUMNS];
    int status = sheet_numbers(&reader->sheet, COLLECTIVE_SIZE, COLLECTIVE_REQUIRED, values);
    if (status < 0) return status;
    if (!(values[COLLECTIVE_GPUS] >= 1.0)) return profile_drop(reader, "no number of GPUs");
    const int64_t gpus = (int64_t)values[COLLECTIVE_GPUS];
    const bool is_int8 = sheet_text_is(&reader->sheet, COLLECTIVE_TYPE, "int8");
    const double bytes = values[COLLECTIVE_SIZE] * number_format_bytes(is_int8 ? FORMAT_INT8 : FORMAT_FP16);
    struct collective_shape *shape = &row.call.shape.collective;
    shape->bytes = bytes;
    shape->gpus = values[COLLECTIVE_GPUS];
    shape->nodes = 1.0;
    collective_set_link(shape, gpu, gpus);
    shape->switch_adds &= !is_int8;
    row.measured_s = values[COLLECTIVE_LATENCY] * ms;
    const char *reason = reason_to_drop(&reader->sheet, bytes);
    if (reason != NULL) return profile_drop(reader, reason);
    status = profile_group(reader, &row.group, "%.0f bytes", bytes);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_nccl = {
    .name = "aiconfigurator-collectives", .set = "isolated", .grouped_by = "size", .columns = collective_columns,
    .n_columns = COLLECTIVE_COLUMNS, .n_required = COLLECTIVE_REQUIRED, .recognise = recognise_collectives,
    .read_row = read_collective};
