/* Every kernel of an iteration: its class, shape, parameters and time, and the range in which the parameters were
 * fitted.
 *
 * Kernels of one class share parameters. Parameters and the axes of a range are arrays with names, so fitting, reading
 * and writing them is the same for all classes. */
#ifndef ORRERY_MODELS_KERNEL_H
#define ORRERY_MODELS_KERNEL_H

#include "models/operators/attention.h"
#include "models/operators/collective.h"
#include "models/operators/dense.h"
#include "models/operators/exchange.h"
#include "models/operators/kernel_time.h"
#include "models/operators/moe.h"
#include "models/operators/scan.h"

#include <stdbool.h>
#include <stddef.h>

/* X(class, name in files, kind of model). SENT_MOE: experts in fp8 by block behind a dispatch; masked: of rows that
 * low latency laid out; contiguous: of tokens that normal dispatch delivered. */
#define KERNEL_CLASSES(X)                                                                                              \
    X(KERNEL_GEMM, "gemm", GEMM)                                                                                       \
    X(KERNEL_GEMM_FP8, "gemm_fp8", GEMM_BY_ROWS)         /* a scale per tensor, row or column */                       \
    X(KERNEL_GEMM_FP8_BLOCK, "gemm_fp8_block", GEMM_FP8) /* a scale per block of weights */                            \
    X(KERNEL_GEMM_NVFP4, "gemm_nvfp4", GEMM_STEPS)       /* activations in 4 bits, too */                              \
    X(KERNEL_GEMM_INT4, "gemm_int4", GEMM)               /* weights of 4 bits, activations of 16 */                    \
    X(KERNEL_PREFILL_ATTENTION, "prefill_attention", PREFILL)                                                          \
    X(KERNEL_DECODE_ATTENTION, "decode_attention", DECODE)                                                             \
    X(KERNEL_LATENT_DECODE, "latent_decode_attention", DECODE) /* over latent vectors */                               \
    X(KERNEL_LATENT_PREFILL, "latent_prefill_attention", PREFILL) /* over keys and values expanded from these */       \
    X(KERNEL_SPARSE_PREFILL, "sparse_prefill_attention", SCAN) /* over the latent vectors that an indexer chose */     \
    X(KERNEL_SPARSE_DECODE, "sparse_decode_attention", DECODING_SCAN) /* the same */                                   \
    X(KERNEL_INDEX, "index_scores", SCAN) /* which chooses these, for prompts and decoding sequences */                \
    X(KERNEL_LINEAR_PREFILL, "linear_attention_prefill", SCAN) /* the gated delta rule, in chunks */                   \
    X(KERNEL_LINEAR_DECODE, "linear_attention_decode", SCAN)   /* the same, token by token */                          \
    X(KERNEL_NORM, "norm", ELEMENTWISE)                                                                                \
    X(KERNEL_ROTARY, "rotary", ELEMENTWISE)                                                                            \
    X(KERNEL_ACTIVATION, "activation", ELEMENTWISE)                                                                    \
    X(KERNEL_RESIDUAL, "residual", ELEMENTWISE)                                                                        \
    X(KERNEL_EMBEDDING, "embedding", ELEMENTWISE)                                                                      \
    X(KERNEL_KV_WRITE, "kv_write", ELEMENTWISE)                                                                        \
    X(KERNEL_SAMPLING, "sampling", ELEMENTWISE)                                                                        \
    X(KERNEL_MOE, "moe", MOE)                                                                                          \
    X(KERNEL_MOE_FP8, "moe_fp8", MOE) /* a scale per block of weights */                                               \
    X(KERNEL_MOE_FP8_TENSOR, "moe_fp8_tensor", MOE) /* a scale per tensor, row or column */                     \
    X(KERNEL_MOE_NVFP4, "moe_nvfp4", MOE)           /* activations in 4 bits, too */                                   \
    X(KERNEL_MOE_MXFP4, "moe_mxfp4", MOE)           /* activations of 16 bits */                                       \
    X(KERNEL_MOE_INT4, "moe_int4", MOE)                                                                                \
    X(KERNEL_MOE_FP8_MASKED, "moe_fp8_masked", SENT_MOE)                                                               \
    X(KERNEL_MOE_FP8_CONTIGUOUS, "moe_fp8_contiguous", SENT_MOE)                                                       \
    X(KERNEL_ALL_REDUCE, "all_reduce", COLLECTIVE)                                                                     \
    X(KERNEL_ALL_GATHER, "all_gather", COLLECTIVE)                                                                     \
    X(KERNEL_REDUCE_SCATTER, "reduce_scatter", COLLECTIVE)                                                             \
    X(KERNEL_ALL_TO_ALL, "all_to_all", COLLECTIVE)                                                                     \
    X(KERNEL_DIRECT_ALL_REDUCE, "direct_all_reduce", COLLECTIVE)                                                       \
    X(KERNEL_SEND, "send", COLLECTIVE)                                                                                 \
    X(KERNEL_DISPATCH, "dispatch", EXCHANGE) /* DeepEP's normal kernels */                                             \
    X(KERNEL_COMBINE, "combine", EXCHANGE)                                                                             \
    X(KERNEL_LOW_DISPATCH, "low_latency_dispatch", LOW_EXCHANGE)                                                       \
    X(KERNEL_LOW_COMBINE, "low_latency_combine", LOW_EXCHANGE)

enum kernel_class {
#define KERNEL_CLASS_ENUM(id, name, kind) id,
    KERNEL_CLASSES(KERNEL_CLASS_ENUM)
#undef KERNEL_CLASS_ENUM
    KERNEL_CLASS_COUNT
};

/* Kernels whose shape is a scan_shape. */
static inline bool kernel_is_scan(enum kernel_class class)
{
    return class >= KERNEL_SPARSE_PREFILL && class <= KERNEL_LINEAR_DECODE;
}

enum { KERNEL_MAX_PARAMS = 15, KERNEL_MAX_AXES = 10 };

/* One kernel launch: its class says which shape it has. */
struct kernel_call {
    enum kernel_class class;
    union {
        struct gemm_shape gemm;
        struct prefill_shape prefill;
        struct decode_shape decode;
        struct elementwise_shape elementwise;
        struct moe_shape moe;
        struct collective_shape collective;
        struct exchange_shape exchange;
        struct scan_shape scan;
    } shape;
};

union kernel_params {
    double values[KERNEL_MAX_PARAMS];
    struct gemm_params gemm;
    struct prefill_params prefill;
    struct decode_params decode;
    struct elementwise_params elementwise;
    struct moe_params moe;
    struct collective_params collective;
    struct exchange_params exchange;
    struct scan_params scan;
};

/* A switch is 0 or 1, a power one of 2 between its bounds: tried, not fitted. */
enum kernel_param_unit { PARAM_SECONDS, PARAM_PLAIN, PARAM_SWITCH, PARAM_POWER };

/* How a parameter gets its value. A late one belongs to a part of the model that few rows exercise: it is fitted to
 * these rows after all other parameters, which stay fixed. One of an engine belongs to kernels that not all
 * engines have, and stands last in its class: sets named by a library have it, sets that serve all engines do not. All
 * but fitted ones are 0 if no fit has found them; the model then omits their part. */
enum kernel_param_stage { PARAM_FITTED, PARAM_OPTIONAL, PARAM_OF_ENGINE, PARAM_LATE };

/* One parameter of a class, in the order of its struct. */
struct kernel_param {
    const char *name, *help;
    enum kernel_param_unit unit;
    enum kernel_param_stage stage;
    double initial, low, high; /* where a fit starts; bounds of a fit, 0 < low unless a switch */
};

/* Its value without calibration. */
double kernel_param_default(const struct kernel_param *param);

struct kernel_class_info {
    const char *name; /* as in calibration files */
    size_t n_params, n_axes;
    const struct kernel_param *params;
    const char *const *axes; /* names of the dimensions of a range: "m", "n", "k" */
    const char *stored;      /* operand with its own format: "weights", "kv"; NULL: the class has no formats */
};

const struct kernel_class_info *kernel_class_info(enum kernel_class class);

/* Formats of the stored operand and of computing. */
struct kernel_formats {
    enum number_format stored, compute;
};

/* The box of shapes that a class was fitted on, along its axes, and the formats seen there by `stored` and `compute`.
 * bf16, which is as fast as fp16, counts as fp16; fp8_block as fp8, since the class tells them apart. */
struct kernel_range {
    bool fitted; /* false: no shape lies inside */
    double low[KERNEL_MAX_AXES], high[KERNEL_MAX_AXES];
    bool formats[FORMAT_COUNT][FORMAT_COUNT]; /* unused where a class has none */
};

struct kernel_table;

/* All parameters of one GPU, and tables of measurements (kernel_table.h) for classes whose model is not accurate
 * enough. */
struct kernel_set {
    union kernel_params params[KERNEL_CLASS_COUNT];
    struct kernel_range ranges[KERNEL_CLASS_COUNT];
    const struct kernel_table *tables[KERNEL_CLASS_COUNT]; /* NULL: the model alone */
};

/* Every class at its defaults, with no range and no table. */
void kernel_set_init(struct kernel_set *set);

/* Format of a call's operations; fp16 for calls without any. */
enum number_format kernel_call_compute(const struct kernel_call *call);

/* The call's coordinates along the axes of its class; n_axes values. */
void kernel_call_axes(const struct kernel_call *call, double axes[KERNEL_MAX_AXES]);

/* The call's formats, with fp16 for bf16, fp8 for fp8_block; both fp16 when its class has none. */
struct kernel_formats kernel_call_formats(const struct kernel_call *call);

/* Adds formats to those of a range. */
void kernel_range_add_formats(struct kernel_range *range, struct kernel_formats formats);

/* Widens a range so that the call lies inside. */
void kernel_range_add(struct kernel_range *range, const struct kernel_call *call);

/* Whether the call lies in the range that its class was fitted on, whatever a table says. */
bool kernel_in_range(const struct kernel_set *set, const struct kernel_call *call);

/* Time by the model of the call's class. */
struct kernel_time kernel_call_time(const union kernel_params *params, const struct gpu_spec *gpu,
                                    const struct kernel_call *call);

/* Computes ahead what no parameter changes, for a call that is timed with many: later times stay the same to the bit.
 * The call may not change afterwards. */
void kernel_call_prepare(struct kernel_call *call);

/* Basis of a time: measured points around the call, the model within the range that it was fitted on, or beyond. */
enum kernel_basis { KERNEL_MEASURED, KERNEL_FITTED, KERNEL_EXTRAPOLATED };

/* Time of a call by a set: by the model, scaled by the class's table if that contains the call. */
struct kernel_time kernel_set_time(const struct kernel_set *set, const struct gpu_spec *gpu,
                                   const struct kernel_call *call, enum kernel_basis *basis);

enum kernel_bound { BOUND_COMPUTE, BOUND_MEMORY, BOUND_NETWORK, BOUND_OVERHEAD };

/* The largest part; among equals the first in the order of the enum. */
enum kernel_bound kernel_time_bound(const struct kernel_time *time);

/* "compute", "memory", "network", "overhead". */
const char *kernel_bound_name(enum kernel_bound bound);

/* The members of a kernel call's shape by name, as files spell them.
 *
 * A kernel is measured along one or two running members (rows of a product; sequences and context), at fixed values of
 * others (columns and inner dimension; heads; formats). The rest follows from these, or from the GPU and its site. */
enum kernel_member_kind { MEMBER_NUMBER, MEMBER_FORMAT, MEMBER_FLAG }; /* double, enum number_format, bool */
enum kernel_member_role { MEMBER_RUNNING, MEMBER_FIXED, MEMBER_FOLLOWING };

enum { KERNEL_MAX_RUNNING = 2, KERNEL_MAX_FIXED = 13, KERNEL_MAX_COLUMNS = 4 };

struct kernel_member {
    const char *name; /* as in its struct */
    enum kernel_member_kind kind;
    enum kernel_member_role role;
    size_t offset;    /* in struct kernel_call */
    double min;       /* least value of a number */
    bool required;    /* has no default in a profile */
};

/* The members of a class's shape, up to one without a name: at most KERNEL_MAX_RUNNING that run, KERNEL_MAX_FIXED that
 * are fixed, and KERNEL_MAX_COLUMNS that are not fixed. */
const struct kernel_member *kernel_members(enum kernel_class class);

/* The value of a member, whatever its kind. */
double kernel_member_value(const struct kernel_call *call, const struct kernel_member *member);

/* A call's place among measured ones; 0 for an absent second running member. Measurements in bf16 hold for fp16, which
 * is as fast, and vice versa. */
struct kernel_place {
    double fixed[KERNEL_MAX_FIXED], running[KERNEL_MAX_RUNNING];
};

void kernel_call_place(const struct kernel_call *call, struct kernel_place *place);

#endif
