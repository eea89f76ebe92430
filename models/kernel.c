#include "models/kernel.h"

#include "models/operators/kernel_table.h"
#include "models/operators/kernel_time.h"

#define SECONDS PARAM_SECONDS, PARAM_FITTED
#define PLAIN PARAM_PLAIN, PARAM_FITTED
#define SWITCH PARAM_SWITCH, PARAM_FITTED
#define POWER PARAM_POWER, PARAM_FITTED
#define LATE_SECONDS PARAM_SECONDS, PARAM_LATE
#define LATE PARAM_PLAIN, PARAM_LATE
#define OPTIONAL_SECONDS PARAM_SECONDS, PARAM_OPTIONAL
#define OPTIONAL_PLAIN PARAM_PLAIN, PARAM_OPTIONAL
#define ENGINE_SECONDS PARAM_SECONDS, PARAM_OF_ENGINE
#define ENGINE_SWITCH PARAM_SWITCH, PARAM_OF_ENGINE

#define GEMM_PARAMS(start)                                                                                             \
    {"start", "launch, ramp and drain of a kernel", SECONDS, start, 1e-7, 1e-4},                                       \
    {"compute_efficiency", "share of the peak that a large tile approaches", PLAIN, 0.85, 0.2, 1.2},                   \
    {"bandwidth_efficiency", "share of the memory bandwidth", PLAIN, 0.83, 0.2, 1.2},                                  \
    {"softness", "exponent of the soft maximum of computing and moving", PLAIN, 2.5, 0.5, 20.0},                       \
    {"prologue_k", "filling and draining a tile's pipeline, as extra k", PLAIN, 60.0, 1.0, 1000.0},                    \
    {"tile_loss", "loss of small tiles by loading their edges", PLAIN, 8.0, 0.01, 100.0},                            \
    {"wave_quantisation", "strength of the quantisation of tiles into waves", PLAIN, 0.3, 0.01, 1.0},                                  \
    {"split_cost", "reduction after split-K, in passes over partial sums", PLAIN, 2.0, 0.1, 100.0}

#define GEMM_NARROWING                                                                                                 \
    {"quantise_efficiency", "share of the memory bandwidth while activations are narrowed", PLAIN, 0.1, 0.005, 1.2},   \
    {"quantise_row_time", "an SM's time for each row of activations while they are narrowed", OPTIONAL_SECONDS, 3e-7, 1e-9, 1e-5}

#define GEMM_STEP                                                                                                      \
    {"step_time", "a tile's least time for each step of k", ENGINE_SECONDS, 7e-10, 1e-11, 1e-7}

static const struct kernel_param gemm_table[] = {GEMM_PARAMS(4e-6)};
static const struct kernel_param gemm_fp8_table[] = {GEMM_PARAMS(1.2e-5), GEMM_NARROWING};
static const struct kernel_param gemm_steps_table[] = {GEMM_PARAMS(1.2e-5), GEMM_NARROWING, GEMM_STEP};
static const struct kernel_param gemm_by_rows_table[] = {
    GEMM_PARAMS(1.2e-5),
    GEMM_NARROWING,
    GEMM_STEP,
    {"tiles_by_rows", "whether the tile follows from the rows, as in vLLM's kernels", ENGINE_SWITCH, 0.0, 0.0, 1.0},
    {"one_row_time", "more, for products of one row in this benchmark", ENGINE_SECONDS, 5e-6, 1e-9, 1e-4},
};
static const char *const gemm_axes[] = {"m", "n", "k"};
#define gemm_fp8_axes gemm_axes
#define gemm_steps_axes gemm_axes
#define gemm_by_rows_axes gemm_axes

static const struct kernel_param prefill_table[] = {
    {"start", "launch, ramp and drain of a kernel", SECONDS, 7e-6, 1e-6, 1e-3},
    {"compute_efficiency", "share of the peak", PLAIN, 0.6, 0.05, 1.2},
    {"bandwidth_efficiency", "share of the memory bandwidth", PLAIN, 0.5, 0.05, 1.2},
    {"edge_tiles", "extra tiles of each row of tiles", PLAIN, 2.0, 1e-3, 30.0},
    {"path_softness", "exponent of the soft maximum of average and longest thread block", PLAIN, 1.5, 0.3, 20.0},
    {"lone_speed", "speed of a lone thread block, relative to many at once", PLAIN, 1.0, 0.1, 5.0},
    {"write_passes", "times that new keys and values cross the memory to get into the cache", PLAIN, 4.0, 1.0, 10.0},
    {"decode_tile", "time of a tile of a sequence that decodes beside prompts, relative to a prompt's tile", LATE, 1.0, 0.05, 10.0},
    {"decode_edge_tiles", "extra tiles of each such sequence", LATE, 2.0, 1e-3, 30.0},
    {"empty_time", "time of a thread block without work", LATE_SECONDS, 2e-7, 1e-9, 1e-5},
    {"decode_straggle", "delay by the longest such sequence, in its tiles beyond the mean", LATE, 0.5, 1e-3, 5.0},
    {"flash_attention_3", "whether tiles are FlashAttention-3's, not FlashAttention-2's", SWITCH, 0.0, 0.0, 1.0},
    {"score_cycles", "an SM's cycles for each score, beside the products", OPTIONAL_PLAIN, 0.1, 0.001, 2.0},
    {"narrow_passes", "as write_passes, into a cache of fewer bits", OPTIONAL_PLAIN, 20.0, 1.0, 200.0},
    {"narrow_time", "a launch that narrows keys and values expanded from latent vectors", OPTIONAL_SECONDS, 4e-6, 1e-9,
     1e-4},
};
static const char *const prefill_axes[] = {"sequences", "tokens",    "past",      "q_heads", "kv_heads",
                                           "key_dim",   "value_dim", "shared_kv", "decodes", "decode_context"};

static const struct kernel_param decode_table[] = {
    {"start", "launch, ramp and drain of a kernel", SECONDS, 8e-6, 1e-6, 1e-3},
    {"bandwidth_efficiency", "share of the memory bandwidth", PLAIN, 0.85, 0.05, 1.2},
    {"stream_efficiency", "share of an SM's part of the bandwidth that one thread block uses", PLAIN, 1.2, 0.05, 10.0},
    {"unit_time", "a thread block's pass over its part of a sequence", SECONDS, 1.5e-6, 1e-8, 1e-4},
    {"combine_time", "joining the parts of split sequences", SECONDS, 2e-6, 1e-8, 1e-4},
    {"join_time", "joining, for each part of a sequence", SECONDS, 2e-7, 1e-9, 1e-5},
    {"group_time", "a transposition that grouped queries need", SECONDS, 5e-7, 1e-9, 1e-4},
    {"straggle", "delay by the longest sequence, in an SM's time for its tokens beyond the mean", LATE, 0.25, 1e-3,
     2.0},
    {"drain_time", "end of crowded thread blocks that read for long", OPTIONAL_SECONDS, 2e-5, 1e-9, 1e-3},
    {"fill_time", "reading time after which 63 % of that is lost", OPTIONAL_SECONDS, 5e-5, 1e-6, 1e-2},
    {"window_time", "a launch whose sliding window cuts the context", LATE_SECONDS, 3e-6, 1e-9, 1e-4},
    {"flash_attention_3", "whether it splits like FlashAttention-3, not FlashAttention-2", SWITCH, 0.0, 0.0, 1.0},
};
static const char *const decode_axes[] = {"sequences", "context",   "q_heads",  "kv_heads",
                                          "key_dim",   "value_dim", "shared_kv"};

static const struct kernel_param elementwise_table[] = {
    {"start", "launch, ramp and drain of a kernel", SECONDS, 2e-6, 1e-8, 1e-4},
    {"bandwidth_efficiency", "share of the memory bandwidth", PLAIN, 0.6, 0.02, 1.2},
    {"softness", "exponent of the soft maximum of walking along rows and moving", PLAIN, 2.0, 1.0, 20.0},
    {"row_cycles", "a thread block's time for its row, at any width", PLAIN, 600.0, 1.0, 1e5},
    {"number_cycles", "a thread block's time for each number of its row", PLAIN, 0.4, 1e-3, 20.0},
    {"rows_per_sm", "rows that an SM works on at once", POWER, 2.0, 1.0, 16.0},
    {"wave_quantisation", "strength of the quantisation of rows into waves", PLAIN, 0.3, 0.01, 1.0},
    {"cache_efficiency", "share of the memory bandwidth when operands lie in the cache", PLAIN, 0.8, 0.02, 10.0},
};
static const char *const elementwise_axes[] = {"tokens", "width"};

static const struct kernel_param moe_table[] = {
    {"start", "of all kernels, with sorting the choices by expert", SECONDS, 3e-5, 1e-7, 1e-3},
    {"compute_efficiency", "share of the peak in full tiles", PLAIN, 0.4, 0.02, 1.2},
    {"bandwidth_efficiency", "share of the memory bandwidth while weights are read", PLAIN, 0.9, 0.02, 1.5},
    {"softness", "exponent of the soft maximum of computing and reading weights", PLAIN, 1.5, 0.3, 20.0},
    {"expert_time", "each expert that is touched", SECONDS, 2e-7, 1e-10, 1e-5},
    {"pass_efficiency", "share of the memory bandwidth between the products", PLAIN, 0.7, 0.02, 1.5},
    {"cache_loss", "more computing time when hidden states exceed the L2", PLAIN, 0.15, 0.001, 2.0},
    {"tiles_per_sm", "tiles that keep an SM busy", PLAIN, 3.0, 0.1, 32.0},
    {"spared_passes", "share of the passes of choices of experts held elsewhere", OPTIONAL_PLAIN, 0.5, 1e-3, 1.0},
    {"held_time", "each expert on the GPU, touched or not", OPTIONAL_SECONDS, 1e-8, 1e-11, 1e-5},
};
static const char *const moe_axes[] = {"tokens", "hidden", "inner", "chosen", "experts"};

/* Behind dispatch a kernel sees the experts of its GPU alone. */
static const char *const sent_moe_axes[] = {"tokens", "hidden", "inner", "chosen", "held"};
#define sent_moe_table moe_table
#define sent_moe_shape moe_shape

static const struct kernel_param collective_table[] = {
    {"start", "launch and first handshake", SECONDS, 8e-6, 1e-7, 1e-3},
    {"hop_time", "each step inside a node", SECONDS, 8e-7, 1e-9, 1e-4},
    {"word_efficiency", "share of the link when each word has its own flag", PLAIN, 0.3, 0.02, 0.6},
    {"fill_time", "until the pipeline of chunks is full", SECONDS, 4e-6, 1e-8, 1e-3},
    {"bandwidth_efficiency", "share of the link in chunks", PLAIN, 0.75, 0.02, 1.2},
    {"switch_efficiency", "share of the link when the switch adds", PLAIN, 0.6, 0.02, 1.0},
    {"network_hop_time", "each step between nodes", SECONDS, 1e-5, 1e-8, 1e-3},
    {"network_efficiency", "share of the network link", PLAIN, 0.75, 0.02, 1.0},
};
static const char *const collective_axes[] = {"bytes", "gpus", "nodes"};

/* Equal bounds: not fitted. Where softness is 1, times inside a node do not tell copying and links apart. What links
 * reach is DeepSeek's statement: 160 of 200 GB/s over NVLink, 40 of 50 GB/s over InfiniBand (arXiv 2505.09343, 4.3).
 * Normal kernels reach no more. A message between nodes takes 3.7 us under two switches (there, table 5; memory). */
#define EXCHANGE_PARAMS(start, sm_share, softness, most_softness, link, least_link)                                    \
    {"start", "launch, barriers, sorting", SECONDS, start, 1e-7, 1e-3},                                                \
    {"expert_time", "counters and flags of each expert of the layer", OPTIONAL_SECONDS, 1e-8, 1e-10, 1e-6},            \
    {"token_time", "of an SM, for each token of its GPU", OPTIONAL_SECONDS, 4e-7, 1e-9, 1e-5},                         \
    {"copy_time", "of an SM, for each copy of a token", OPTIONAL_SECONDS, 5e-8, 1e-10, 1e-6},                          \
    {"own_copies", "passes of a GPU's own tokens, in copies", OPTIONAL_PLAIN, 1.0, 1e-2, 20.0},                        \
    {"sm_share", "what an SM moves, of its part of the memory bandwidth", PLAIN, sm_share, 0.02, 5.0},                 \
    {"softness", "exponent of the soft maximum of SMs and links", PLAIN, softness, 1.0, most_softness},                \
    {"link_efficiency", "share of the link inside a node", PLAIN, link, least_link, 0.8},                              \
    {"network_hop_time", "a message between nodes", SECONDS, 3.7e-6, 3.7e-6, 3.7e-6},                                  \
    {"network_efficiency", "share of the network link", PLAIN, 0.8, 0.8, 0.8}

static const struct kernel_param exchange_table[] = {EXCHANGE_PARAMS(3e-5, 0.5, 4.0, 20.0, 0.7, 0.02)};
static const struct kernel_param low_exchange_table[] = {EXCHANGE_PARAMS(1e-5, 0.2, 1.0, 1.0, 0.8, 0.8)};
static const char *const exchange_axes[] = {"tokens", "hidden", "chosen", "experts", "gpus", "nodes"};
#define low_exchange_axes exchange_axes

/* DeepSeek states up to 640 TFLOP/s on H800 and 1450 on B200 for sparse attention over prompts, 0.65 of the peaks, and
 * 410 on H800 for decoding over a cache of 8 bits (deepseek-ai/FlashMLA, README.md). No source is known for indexers
 * and linear attention: their shares are assumptions. */
#define SCAN_PARAMS(compute)                                                                                           \
    {"start", "launch, ramp and drain of a kernel", SECONDS, 5e-6, 1e-7, 1e-3},                                        \
    {"compute_efficiency", "share of the peak", PLAIN, compute, 0.01, 1.2},                                            \
    {"bandwidth_efficiency", "share of the memory bandwidth", PLAIN, 0.8, 0.02, 1.2}

static const struct kernel_param scan_table[] = {SCAN_PARAMS(0.65)};
static const struct kernel_param decoding_scan_table[] = {SCAN_PARAMS(0.41)};
static const char *const scan_axes[] = {"queries", "pairs", "keys", "sequences"};
#define decoding_scan_axes scan_axes

enum kernel_kind {
    SCAN, DECODING_SCAN, GEMM, GEMM_FP8, GEMM_STEPS, GEMM_BY_ROWS, PREFILL, DECODE, ELEMENTWISE, MOE, SENT_MOE,
    COLLECTIVE, EXCHANGE, LOW_EXCHANGE
};

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INFO(text, kind, stored) {text, COUNT(kind##_table), COUNT(kind##_axes), kind##_table, kind##_axes, stored}

#define GEMM_INFO(text) INFO(text, gemm, "weights")
#define GEMM_FP8_INFO(text) INFO(text, gemm_fp8, "weights")
#define GEMM_STEPS_INFO(text) INFO(text, gemm_steps, "weights")
#define GEMM_BY_ROWS_INFO(text) INFO(text, gemm_by_rows, "weights")
#define PREFILL_INFO(text) INFO(text, prefill, "kv")
#define DECODE_INFO(text) INFO(text, decode, "kv")
#define ELEMENTWISE_INFO(text) INFO(text, elementwise, NULL)
#define MOE_INFO(text) INFO(text, moe, "weights")
#define SENT_MOE_INFO(text) INFO(text, sent_moe, "weights")
#define COLLECTIVE_INFO(text) INFO(text, collective, NULL)
#define EXCHANGE_INFO(text) INFO(text, exchange, NULL)
#define SCAN_INFO(text) INFO(text, scan, NULL)
#define DECODING_SCAN_INFO(text) INFO(text, decoding_scan, NULL)
#define LOW_EXCHANGE_INFO(text) INFO(text, low_exchange, NULL)

static const struct kernel_class_info infos[] = {
#define CLASS_INFO(id, name, kind) kind##_INFO(name),
    KERNEL_CLASSES(CLASS_INFO)
#undef CLASS_INFO
};

static const enum kernel_kind kinds[] = {
#define CLASS_KIND(id, name, kind) kind,
    KERNEL_CLASSES(CLASS_KIND)
#undef CLASS_KIND
};

const struct kernel_class_info *kernel_class_info(enum kernel_class class)
{
    return &infos[class];
}

double kernel_param_default(const struct kernel_param *param)
{
    return param->stage == PARAM_FITTED ? param->initial : 0.0;
}

void kernel_set_init(struct kernel_set *set)
{
    *set = (struct kernel_set){0};
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++)
        for (size_t i = 0; i < infos[class].n_params; i++)
            set->params[class].values[i] = kernel_param_default(&infos[class].params[i]);
}

/* PLACE(kind, members in the order of its axes) */
#define PLACE(kind, ...)                                                                                               \
    static void kind##_place(const struct kind##_shape *shape, double axes[KERNEL_MAX_AXES])                           \
    {                                                                                                                  \
        const double values[] = {__VA_ARGS__};                                                                         \
        for (size_t i = 0; i < COUNT(values); i++) axes[i] = values[i];                                                \
    }

PLACE(gemm, shape->m, shape->n, shape->k)
PLACE(prefill, shape->sequences, shape->tokens, shape->past, shape->q_heads, shape->kv_heads, shape->key_dim,
      shape->value_dim, shape->shared_kv, shape->decodes, shape->decode_context)
PLACE(decode, shape->sequences, shape->context, shape->q_heads, shape->kv_heads, shape->key_dim, shape->value_dim,
      shape->shared_kv)
PLACE(elementwise, shape->tokens, shape->width)
PLACE(scan, shape->queries, shape->pairs, shape->keys, shape->sequences)
PLACE(moe, shape->tokens, shape->hidden, shape->inner, shape->chosen, shape->experts)
PLACE(sent_moe, shape->tokens, shape->hidden, shape->inner, shape->chosen, shape->held)
PLACE(collective, shape->bytes, shape->gpus, shape->nodes)
PLACE(exchange, shape->tokens, shape->hidden, shape->chosen, shape->experts, shape->gpus, shape->nodes)

enum number_format kernel_call_compute(const struct kernel_call *call)
{
    switch (kinds[call->class]) {
    case GEMM:
    case GEMM_STEPS:
    case GEMM_BY_ROWS:
    case GEMM_FP8: return call->shape.gemm.compute;
    case PREFILL: return call->shape.prefill.compute;
    case DECODE: return call->shape.decode.compute;
    case MOE:
    case SENT_MOE: return call->shape.moe.compute;
    case SCAN:
    case DECODING_SCAN: return call->shape.scan.compute;
    case ELEMENTWISE:
    case COLLECTIVE:
    case EXCHANGE:
    case LOW_EXCHANGE: break;
    }
    return FORMAT_FP16;
}

void kernel_call_axes(const struct kernel_call *call, double axes[KERNEL_MAX_AXES])
{
    switch (kinds[call->class]) {
    case GEMM:
    case GEMM_STEPS:
    case GEMM_BY_ROWS:
    case GEMM_FP8: gemm_place(&call->shape.gemm, axes); return;
    case PREFILL: prefill_place(&call->shape.prefill, axes); return;
    case DECODE: decode_place(&call->shape.decode, axes); return;
    case ELEMENTWISE: elementwise_place(&call->shape.elementwise, axes); return;
    case SCAN:
    case DECODING_SCAN: scan_place(&call->shape.scan, axes); return;
    case MOE: moe_place(&call->shape.moe, axes); return;
    case SENT_MOE: sent_moe_place(&call->shape.moe, axes); return;
    case COLLECTIVE: collective_place(&call->shape.collective, axes); return;
    case EXCHANGE:
    case LOW_EXCHANGE: exchange_place(&call->shape.exchange, axes); return;
    }
}

/* The format that stands for those which kernels of one class treat alike. */
static enum number_format as_measured(enum number_format format)
{
    if (format == FORMAT_FP8_BLOCK) return FORMAT_FP8;
    return format == FORMAT_BF16 ? FORMAT_FP16 : format;
}

struct kernel_formats kernel_call_formats(const struct kernel_call *call)
{
    struct kernel_formats formats = {FORMAT_FP16, FORMAT_FP16};
    switch (kinds[call->class]) {
    case GEMM:
    case GEMM_STEPS:
    case GEMM_BY_ROWS:
    case GEMM_FP8: formats = (struct kernel_formats){call->shape.gemm.weights, call->shape.gemm.compute}; break;
    case PREFILL: formats = (struct kernel_formats){call->shape.prefill.kv, call->shape.prefill.compute}; break;
    case DECODE: formats = (struct kernel_formats){call->shape.decode.kv, call->shape.decode.compute}; break;
    case MOE:
    case SENT_MOE: formats = (struct kernel_formats){call->shape.moe.weights, call->shape.moe.compute}; break;
    case SCAN:
    case DECODING_SCAN:
    case ELEMENTWISE:
    case COLLECTIVE:
    case EXCHANGE:
    case LOW_EXCHANGE: break;
    }
    return (struct kernel_formats){as_measured(formats.stored), as_measured(formats.compute)};
}

void kernel_range_add_formats(struct kernel_range *range, struct kernel_formats formats)
{
    range->formats[as_measured(formats.stored)][as_measured(formats.compute)] = true;
}

void kernel_range_add(struct kernel_range *range, const struct kernel_call *call)
{
    double axes[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(call, axes);
    for (size_t i = 0; i < infos[call->class].n_axes; i++) {
        if (!range->fitted || axes[i] < range->low[i]) range->low[i] = axes[i];
        if (!range->fitted || axes[i] > range->high[i]) range->high[i] = axes[i];
    }
    kernel_range_add_formats(range, kernel_call_formats(call));
    range->fitted = true;
}

bool kernel_in_range(const struct kernel_set *set, const struct kernel_call *call)
{
    const struct kernel_range *range = &set->ranges[call->class];
    const struct kernel_formats formats = kernel_call_formats(call);
    if (!range->fitted) return false;
    if (infos[call->class].stored && !range->formats[formats.stored][formats.compute]) return false;
    double axes[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(call, axes);
    for (size_t i = 0; i < infos[call->class].n_axes; i++)
        if (axes[i] < range->low[i] || axes[i] > range->high[i]) return false;
    return true;
}

static struct kernel_time prefill_time(const union kernel_params *params, const struct gpu_spec *gpu,
                                       const struct kernel_call *call)
{
    if (call->class != KERNEL_LATENT_PREFILL)
        return prefill_attention_time(&params->prefill, gpu, &call->shape.prefill);
    struct prefill_shape shape = call->shape.prefill;
    shape.expanded = true;
    return prefill_attention_time(&params->prefill, gpu, &shape);
}

static struct kernel_time experts_time(const union kernel_params *params, const struct gpu_spec *gpu,
                                       const struct kernel_call *call)
{
    struct moe_shape shape = call->shape.moe;
    shape.whole_tokens = call->class == KERNEL_MOE_FP8_CONTIGUOUS;
    return moe_time(&params->moe, gpu, &shape);
}

void kernel_call_prepare(struct kernel_call *call)
{
    const enum kernel_kind kind = kinds[call->class];
    if (kind == MOE || kind == SENT_MOE) moe_spread(&call->shape.moe);
}

struct kernel_time kernel_call_time(const union kernel_params *params, const struct gpu_spec *gpu,
                                    const struct kernel_call *call)
{
    switch (kinds[call->class]) {
    case GEMM:
    case GEMM_STEPS:
    case GEMM_BY_ROWS:
    case GEMM_FP8: return gemm_time(&params->gemm, gpu, &call->shape.gemm);
    case PREFILL: return prefill_time(params, gpu, call);
    case DECODE: return decode_attention_time(&params->decode, gpu, &call->shape.decode);
    case ELEMENTWISE: return elementwise_time(&params->elementwise, gpu, &call->shape.elementwise);
    case MOE:
    case SENT_MOE: return experts_time(params, gpu, call);
    case SCAN:
    case DECODING_SCAN: return scan_time(&params->scan, gpu, &call->shape.scan);
    case EXCHANGE:
    case LOW_EXCHANGE: return exchange_time(&params->exchange, gpu, &call->shape.exchange);
    case COLLECTIVE: break;
    }
    const int op = COLLECTIVE_ALL_REDUCE + ((int)call->class - KERNEL_ALL_REDUCE);
    return collective_time(&params->collective, (enum collective_op)op, &call->shape.collective);
}

struct kernel_time kernel_set_time(const struct kernel_set *set, const struct gpu_spec *gpu,
                                   const struct kernel_call *call, enum kernel_basis *basis)
{
    const struct kernel_table *table = set->tables[call->class];
    struct kernel_time time = kernel_call_time(&set->params[call->class], gpu, call);
    double ratio;
    if (!table || !kernel_table_ratio(table, call, &ratio)) {
        *basis = kernel_in_range(set, call) ? KERNEL_FITTED : KERNEL_EXTRAPOLATED;
        return time;
    }
    *basis = KERNEL_MEASURED;
    double *const parts[] = {&time.seconds, &time.compute_s, &time.memory_s, &time.network_s, &time.overhead_s};
    for (size_t i = 0; i < COUNT(parts); i++) *parts[i] *= ratio;
    return time;
}

enum kernel_bound kernel_time_bound(const struct kernel_time *time)
{
    const double parts[] = {time->compute_s, time->memory_s, time->network_s, time->overhead_s};
    int largest = BOUND_COMPUTE;
    for (int i = BOUND_COMPUTE + 1; i <= BOUND_OVERHEAD; i++)
        if (parts[i] > parts[largest]) largest = i;
    return (enum kernel_bound)largest;
}

const char *kernel_bound_name(enum kernel_bound bound)
{
    static const char *const names[] = {"compute", "memory", "network", "overhead"};
    return names[bound];
}

/* --- Members of a shape --- */

#define AT(shape_name, member) offsetof(struct kernel_call, shape.shape_name.member)
#define RUNNING(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_RUNNING, AT(shape_name, member), 1.0, true}
#define NEEDED(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_FIXED, AT(shape_name, member), 1.0, true}
#define MAYBE(shape_name, member, min) {#member, MEMBER_NUMBER, MEMBER_FIXED, AT(shape_name, member), min, false}
#define FOLLOWS(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_FOLLOWING, AT(shape_name, member), 1.0, false}
#define FORMAT_OF(shape_name, member) {#member, MEMBER_FORMAT, MEMBER_FIXED, AT(shape_name, member), 0.0, false}
#define FLAG_OF(shape_name, member) {#member, MEMBER_FLAG, MEMBER_FIXED, AT(shape_name, member), 0.0, false}
#define END {NULL, MEMBER_NUMBER, MEMBER_FIXED, 0, 0.0, false}

static const struct kernel_member gemm_members[] = {RUNNING(gemm, m),         NEEDED(gemm, n),          NEEDED(gemm, k),
                                                    FORMAT_OF(gemm, weights), FORMAT_OF(gemm, compute), END};

static const struct kernel_member prefill_members[] = {
    NEEDED(prefill, sequences),
    RUNNING(prefill, tokens),
    {"past", MEMBER_NUMBER, MEMBER_RUNNING, AT(prefill, past), 0.0, false},
    FOLLOWS(prefill, pairs),
    MAYBE(prefill, decodes, 0.0),
    MAYBE(prefill, decode_context, 0.0),
    FOLLOWS(prefill, decode_longest),
    NEEDED(prefill, q_heads),
    NEEDED(prefill, kv_heads),
    MAYBE(prefill, key_dim, 1.0),
    MAYBE(prefill, value_dim, 1.0),
    MAYBE(prefill, window, 0.0),
    FORMAT_OF(prefill, kv),
    FORMAT_OF(prefill, compute),
    FLAG_OF(prefill, shared_kv),
    FLAG_OF(prefill, full),
    FLAG_OF(prefill, writes_kv),
    END};

static const struct kernel_member decode_members[] = {
    RUNNING(decode, sequences),   RUNNING(decode, context), FOLLOWS(decode, longest),      NEEDED(decode, q_heads),     NEEDED(decode, kv_heads),
    MAYBE(decode, key_dim, 1.0),  MAYBE(decode, value_dim, 1.0), MAYBE(decode, window, 0.0),  FORMAT_OF(decode, kv),
    FORMAT_OF(decode, compute),   FLAG_OF(decode, shared_kv),    FLAG_OF(decode, writes_kv),  END};

static const struct kernel_member elementwise_members[] = {RUNNING(elementwise, tokens), NEEDED(elementwise, width),
                                                           MAYBE(elementwise, number_bytes, 0.5), END};

static const struct kernel_member moe_members[] = {
    RUNNING(moe, tokens),      NEEDED(moe, hidden),      NEEDED(moe, inner),        NEEDED(moe, chosen),
    NEEDED(moe, experts),      MAYBE(moe, held, 1.0),    MAYBE(moe, matrices, 1.0), MAYBE(moe, skew, 0.0),
    FLAG_OF(moe, in_turn),     FLAG_OF(moe, dealt),      FLAG_OF(moe, dispatched), FORMAT_OF(moe, weights),
    FORMAT_OF(moe, compute),   END};

static const struct kernel_member collective_members[] = {
    RUNNING(collective, bytes),
    NEEDED(collective, gpus),
    MAYBE(collective, nodes, 1.0),
    FOLLOWS(collective, link_bytes_per_s),
    FOLLOWS(collective, network_bytes_per_s),
    FLAG_OF(collective, switch_adds),
    {"bridges", MEMBER_NUMBER, MEMBER_FOLLOWING, AT(collective, bridges), 0.0, false},
    FLAG_OF(collective, host_staged),
    END};

static const struct kernel_member exchange_members[] = {
    RUNNING(exchange, tokens),
    NEEDED(exchange, hidden),
    NEEDED(exchange, chosen),
    NEEDED(exchange, experts),
    MAYBE(exchange, groups, 0.0),
    NEEDED(exchange, gpus),
    MAYBE(exchange, nodes, 1.0),
    MAYBE(exchange, sms, 1.0),
    MAYBE(exchange, imbalance, 0.0),
    FLAG_OF(exchange, low_latency),
    FLAG_OF(exchange, combines),
    FORMAT_OF(exchange, sent),
    FOLLOWS(exchange, link_bytes_per_s),
    FOLLOWS(exchange, network_bytes_per_s),
    END};

static const struct kernel_member scan_members[] = {
    RUNNING(scan, queries),           RUNNING(scan, pairs),           FOLLOWS(scan, keys),
    FOLLOWS(scan, sequences),         MAYBE(scan, window, 0.0),       MAYBE(scan, query_flop, 0.0),
    MAYBE(scan, pair_flop, 0.0),      MAYBE(scan, query_bytes, 0.0),  MAYBE(scan, pair_bytes, 0.0),
    MAYBE(scan, key_bytes, 0.0),      MAYBE(scan, sequence_bytes, 0.0), FORMAT_OF(scan, compute),
    END};

#define GEMM_MEMBERS gemm_members
#define GEMM_FP8_MEMBERS gemm_members
#define GEMM_STEPS_MEMBERS gemm_members
#define GEMM_BY_ROWS_MEMBERS gemm_members
#define PREFILL_MEMBERS prefill_members
#define DECODE_MEMBERS decode_members
#define ELEMENTWISE_MEMBERS elementwise_members
#define MOE_MEMBERS moe_members
#define SENT_MOE_MEMBERS moe_members
#define COLLECTIVE_MEMBERS collective_members
#define EXCHANGE_MEMBERS exchange_members
#define LOW_EXCHANGE_MEMBERS exchange_members
#define SCAN_MEMBERS scan_members
#define DECODING_SCAN_MEMBERS scan_members

static const struct kernel_member *const members_of[] = {
#define CLASS_MEMBERS(id, name, kind) kind##_MEMBERS,
    KERNEL_CLASSES(CLASS_MEMBERS)
#undef CLASS_MEMBERS
};

const struct kernel_member *kernel_members(enum kernel_class class)
{
    return members_of[class];
}

double kernel_member_value(const struct kernel_call *call, const struct kernel_member *member)
{
    const char *at = (const char *)call + member->offset;
    switch (member->kind) {
    case MEMBER_NUMBER: return *(const double *)(const void *)at;
    case MEMBER_FORMAT: return (double)*(const enum number_format *)(const void *)at;
    case MEMBER_FLAG: break;
    }
    return *(const bool *)at ? 1.0 : 0.0;
}

void kernel_call_place(const struct kernel_call *call, struct kernel_place *place)
{
    size_t n_fixed = 0, n_running = 0;
    *place = (struct kernel_place){.running = {0.0}};
    for (const struct kernel_member *member = members_of[call->class]; member->name; member++) {
        double value = kernel_member_value(call, member);
        if (member->kind == MEMBER_FORMAT) value = as_measured((enum number_format)value);
        if (member->role == MEMBER_FIXED) place->fixed[n_fixed++] = value;
        if (member->role == MEMBER_RUNNING) place->running[n_running++] = value;
    }
}
