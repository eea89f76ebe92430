/* aiconfigurator's mixture-of-experts layers (ai-dynamo/aiconfigurator, systems/data/.../moe_perf): vLLM's fused kernels
 * on the busiest GPU of those that share the experts, in milliseconds. Every GPU sees all tokens; their experts are
 * chosen in turn (balanced) or by a power law (power_law_1.2). All layers have a gate.
 *
 * Of the types, bfloat16, fp8 with a scale per tensor (fp8) or block (fp8_block) and int4 weights (int4_wo) are read. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/number.h"

#include <math.h>
#include <string.h>

enum moe_column { TOKENS, HIDDEN, INNER, CHOSEN, EXPERTS, TENSOR, EXPERT, LATENCY, MOE_COLUMNS };

static const char *const column_names[] = {
    [TOKENS] = "num_tokens",   [HIDDEN] = "hidden_size", [INNER] = "inter_size",   [CHOSEN] = "topk",
    [EXPERTS] = "num_experts", [TENSOR] = "moe_tp_size", [EXPERT] = "moe_ep_size", [LATENCY] = "latency",
};

static bool recognise(const struct profile_reader *reader)
{
    for (int i = 0; i < MOE_COLUMNS; i++)
        if (profile_column(reader, column_names[i]) < 0) return false;
    return profile_column(reader, "moe_dtype") >= 0 && profile_column(reader, "distribution") >= 0;
}

/* Sets class and formats; false for a type that is not read. */
static bool find_class(const struct profile_reader *reader, int dtype, struct kernel_call *call)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        enum number_format weights, compute;
    } types[] = {
        {"bfloat16", KERNEL_MOE, FORMAT_BF16, FORMAT_BF16},
        {"fp8", KERNEL_MOE_FP8_TENSOR, FORMAT_FP8, FORMAT_FP8},
        {"fp8_block", KERNEL_MOE_FP8, FORMAT_FP8, FORMAT_FP8},
        {"int4_wo", KERNEL_MOE_INT4, FORMAT_INT4, FORMAT_BF16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (!profile_text_is(reader, dtype, types[i].name)) continue;
        call->class = types[i].class;
        call->shape.moe.weights = types[i].weights;
        call->shape.moe.compute = types[i].compute;
        return true;
    }
    return false;
}

/* Sets how experts are chosen; false for a distribution that is not known. */
static bool find_choice(const struct profile_reader *reader, int distribution, struct moe_shape *shape)
{
    static const char law[] = "power_law_";
    const size_t n_law = sizeof law - 1;
    const struct csv_field field = profile_text(reader, distribution);
    shape->in_turn = profile_text_is(reader, distribution, "balanced");
    if (shape->in_turn) return true;
    return field.n_chars > n_law && memcmp(field.chars, law, n_law) == 0 &&
           number_f64(field.chars + n_law, field.n_chars - n_law, &shape->skew) == NUMBER_OK && shape->skew > 0.0;
}

static int read_numbers(struct profile_reader *reader, double numbers[MOE_COLUMNS])
{
    for (int i = 0; i < MOE_COLUMNS; i++) {
        const double min = i == LATENCY ? 0.0 : 1.0;
        const int status = profile_number(reader, profile_column(reader, column_names[i]), min, &numbers[i]);
        if (status < 0) return status;
    }
    return 0;
}

static int read_row(struct profile_reader *reader, int dtype, int distribution)
{
    struct profile_row row = {.op = OP_EXPERTS};
    struct moe_shape *shape = &row.call.shape.moe;
    if (!find_class(reader, dtype, &row.call)) {
        profile_drop(reader->profile, "type of numbers not read", 1);
        return 0;
    }
    if (!find_choice(reader, distribution, shape)) {
        profile_drop(reader->profile, "choice of experts not known", 1);
        return 0;
    }
    double numbers[MOE_COLUMNS];
    int status = read_numbers(reader, numbers);
    if (status < 0) return status;
    shape->tokens = numbers[TOKENS];
    shape->hidden = numbers[HIDDEN];
    shape->inner = numbers[INNER] / numbers[TENSOR];
    shape->chosen = numbers[CHOSEN];
    shape->experts = numbers[EXPERTS];
    shape->held = numbers[EXPERTS] / numbers[EXPERT];
    shape->matrices = 3.0;
    row.measured_s = numbers[LATENCY] * 1e-3;
    row.tokens = shape->tokens;
    status = profile_group(reader, &row.group, "%g of %g experts of %g x %g, tp %g, ep %g", shape->chosen,
                           shape->experts, shape->hidden, numbers[INNER], numbers[TENSOR], numbers[EXPERT]);
    return status == 0 ? profile_add(reader, &row) : status;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "isolated";
    reader->profile->grouped_by = "shape";
    const int dtype = profile_column(reader, "moe_dtype"), distribution = profile_column(reader, "distribution");
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, dtype, distribution);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_aiconfigurator_moe = {"aiconfigurator-moe", recognise, read};
