/* SGLang's layers of experts behind low-latency dispatch, on one GPU of many, in milliseconds
 * (ai-dynamo/aiconfigurator @ 095f58a5, systems/data, wideep_generation_moe_perf; collector/wideep/sglang,
 * collect_deepep_moe.py).
 *
 * A row times the experts that one of moe_ep_size GPUs holds whole, without dispatch and combine: two grouped products
 * of DeepGEMM and the activation between, in a CUDA graph. num_tokens are those of all GPUs together; at most 128 come
 * from each. Rows of an expert lie in a slot of their own, and a mask counts them. "uniform" gives all experts of the
 * GPU equally many rows; with fewer rows than experts, one row each to as many experts. "power_law_X" are the means of
 * five draws, each of the GPU with the most rows; rounding's rest is dealt to the GPUs in turn.
 *
 * The layer is DeepSeek-V3's, with a scale per block of weights; these columns are constant and absent.
 * wideep_context_moe_perf has the same columns, but other kernels started by the host, which takes 0.39 ms. So a file
 * is known by its name, too. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/number.h"
#include "sim/core/path.h"

#include <string.h>

static const double ms = 1e-3;

static const double hidden = 7168.0, inner = 2048.0, chosen = 8.0, experts = 256.0;

enum { TOKENS, GPUS, LATENCY, DISTRIBUTION, COLUMNS };

static const struct sheet_column columns[] = {
    [TOKENS] = {"num_tokens", 1.0}, [GPUS] = {"moe_ep_size", 1.0}, [LATENCY] = {"latency", 0.0},
    [DISTRIBUTION] = {"distribution", 0.0}};

static bool recognise(const struct profile_reader *reader)
{
    return reader->sheet.n_header == COLUMNS &&
           strstr(path_name(reader->profile->path), "wideep_generation_moe") != NULL;
}

/* Sets how tokens choose experts; false for an unknown distribution. */
static bool find_choice(const struct sheet *sheet, struct moe_shape *shape)
{
    static const char law[] = "power_law_";
    const size_t n_law = sizeof law - 1;
    const struct csv_field field = sheet_text(sheet, DISTRIBUTION);
    shape->in_turn = sheet_text_is(sheet, DISTRIBUTION, "uniform");
    shape->dealt = !shape->in_turn;
    if (shape->in_turn) return true;
    return field.n_chars > n_law && memcmp(field.chars, law, n_law) == 0 &&
           number_f64(field.chars + n_law, field.n_chars - n_law, &shape->skew) == NUMBER_OK && shape->skew > 0.0;
}

static int read_row(struct profile_reader *reader)
{
    struct profile_row row = {.op = OP_EXPERTS, .call.class = KERNEL_MOE_FP8_MASKED};
    struct moe_shape *shape = &row.call.shape.moe;
    if (!find_choice(&reader->sheet, shape)) return profile_drop(reader, "choice of experts not known");
    double values[COLUMNS];
    int status = sheet_numbers(&reader->sheet, TOKENS, DISTRIBUTION, values);
    if (status < 0) return status;
    if (!(values[GPUS] >= 1.0 && values[GPUS] <= experts)) return profile_drop(reader, profile_no_shape);
    shape->tokens = values[TOKENS];
    shape->hidden = hidden;
    shape->inner = inner;
    shape->chosen = chosen;
    shape->experts = experts;
    shape->held = experts / values[GPUS];
    shape->matrices = 3.0;
    shape->dispatched = true;
    shape->weights = shape->compute = FORMAT_FP8;
    row.measured_s = ms * values[LATENCY];
    row.tokens = shape->tokens;
    status = profile_group(reader, &row.group, "%g GPUs", values[GPUS]);
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_aiconfigurator_masked = {
    .name = "aiconfigurator-masked-experts", .set = "isolated", .grouped_by = "GPUs", .columns = columns,
    .n_columns = COLUMNS, .n_required = COLUMNS, .recognise = recognise, .read_row = read_row};
