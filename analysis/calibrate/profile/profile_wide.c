/* SGLang's layers of experts behind DeepEP's dispatch, on one GPU of many, in milliseconds (ai-dynamo/aiconfigurator @
 * 095f58a5, systems/data, wideep_generation_moe_perf and wideep_context_moe_perf; collector/wideep/sglang,
 * collect_deepep_moe.py).
 *
 * A row times the experts that one of moe_ep_size GPUs holds whole, without dispatch and combine: two grouped products
 * of DeepGEMM and the activation between. num_tokens are those of all GPUs together. "power_law_X" are the means of
 * five draws, each of the GPU with the most rows; rounding's rest is dealt to the GPUs in turn. The layer is
 * DeepSeek-V3's, with a scale per block of weights; these columns are constant and absent. Both tables have the same
 * columns, so a file is known by its name, too.
 *
 * generation: behind low-latency dispatch, in a CUDA graph, at most 128 tokens of each GPU. Rows of an expert lie in a
 * slot of their own, and a mask counts them. "uniform" gives all experts of the GPU equally many rows; with fewer rows
 * than experts, one row each to as many experts.
 *
 * context: behind normal dispatch. Rows lie one expert behind the other (contiguous layout), those of an expert
 * padded to whole tiles of 128. Scattering rows to their places, and adding up the results, are timed, too. Both walk
 * along the tokens of all GPUs, though dispatch delivers only those with an expert here: shapes are not `dispatched`.
 * The host starts the kernels one by one. Rows that take less than twice as long as the fastest of those kept so far
 * may measure the host, and are left out. "uniform" does not pad: a tile multiplies all its rows by the weights of
 * its first row's expert, so that with a row per expert one of 128 experts works. These rows are left out, too,
 * unless the rows of an expert fill whole tiles. */
#include "analysis/calibrate/profile/profile_format.h"

#include "sim/core/number.h"
#include "sim/core/path.h"

#include <math.h>
#include <string.h>

static const double ms = 1e-3;

static const double hidden = 7168.0, inner = 2048.0, chosen = 8.0, experts = 256.0;

enum { TOKENS, GPUS, LATENCY, DISTRIBUTION, COLUMNS };

static const struct sheet_column columns[] = {
    [TOKENS] = {"num_tokens", 1.0}, [GPUS] = {"moe_ep_size", 1.0}, [LATENCY] = {"latency", 0.0},
    [DISTRIBUTION] = {"distribution", 0.0}};

static bool is_named(const struct profile_reader *reader, const char *table)
{
    return reader->sheet.n_header == COLUMNS && strstr(path_name(reader->profile->path), table) != NULL;
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

static bool fills_tiles(const struct moe_shape *shape)
{
    const double tile_rows = 128.0;
    return fmod(shape->tokens * shape->chosen / shape->experts, tile_rows) == 0.0;
}

/* Adds the current row, of a table of contiguous or of masked rows. */
static int read_experts(struct profile_reader *reader, enum kernel_class class, bool is_contiguous)
{
    struct profile_row row = {.op = OP_EXPERTS, .call.class = class};
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
    shape->dispatched = !is_contiguous;
    shape->weights = shape->compute = FORMAT_FP8;
    if (is_contiguous && shape->in_turn && !fills_tiles(shape))
        return profile_drop(reader, "rows of an expert fill no whole tiles");
    row.measured_s = ms * values[LATENCY];
    row.tokens = shape->tokens;
    status = profile_group(reader, &row.group, "%g GPUs", values[GPUS]);
    return status == 0 ? profile_add(reader, &row) : status;
}

/* --- Masked rows --- */

static bool recognise_masked(const struct profile_reader *reader)
{
    return is_named(reader, "wideep_generation_moe");
}

static int read_masked(struct profile_reader *reader)
{
    return read_experts(reader, KERNEL_MOE_FP8_MASKED, false);
}

const struct profile_format profile_aiconfigurator_masked = {
    .name = "aiconfigurator-masked-experts", .set = "isolated", .grouped_by = "GPUs", .columns = columns,
    .n_columns = COLUMNS, .n_required = COLUMNS, .recognise = recognise_masked, .read_row = read_masked};

/* --- Contiguous rows --- */

static bool recognise_contiguous(const struct profile_reader *reader)
{
    return is_named(reader, "wideep_context_moe");
}

static int read_contiguous(struct profile_reader *reader)
{
    return read_experts(reader, KERNEL_MOE_FP8_CONTIGUOUS, true);
}

static void drop_launched_by_host(struct profile *profile)
{
    const double least = 2.0; /* times the fastest row */
    double fastest_s = (double)INFINITY;
    size_t kept = 0;
    for (size_t i = 0; i < profile->n; i++) fastest_s = fmin(fastest_s, profile->rows[i].measured_s);
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row row = profile->rows[i];
        if (row.measured_s >= least * fastest_s)
            profile->rows[kept++] = row;
        else
            dropped_add(profile->dropped, &profile->n_dropped, "launched by the host", 1);
    }
    profile->n = kept;
}

const struct profile_format profile_aiconfigurator_contiguous = {
    .name = "aiconfigurator-contiguous-experts", .set = "isolated", .grouped_by = "GPUs", .columns = columns,
    .n_columns = COLUMNS, .n_required = COLUMNS, .recognise = recognise_contiguous, .read_row = read_contiguous,
    .finish = drop_launched_by_host};
