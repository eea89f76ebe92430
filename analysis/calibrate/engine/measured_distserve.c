/* DistServe's coefficients (LLMServe/DistServe, simdistserve/estimators/profile_data): by LLM and tensor parallelism,
 * the polynomials that its authors fitted to measured iterations of SwiftTransformer on A100-80GB, in milliseconds:
 *
 *     prompt of l tokens   a + b l + c l^2
 *     b sequences of context L   a' + b' b L + c' b, other coefficients from 95 sequences on
 *
 * They replace measurements on a grid inside the fitted range: prompts of 256 to 2048 tokens, batches of up to 94
 * sequences. Larger batches are a separate group. A polynomial is left out when its slope over the context implies a
 * read of keys and values beyond the memory bandwidth.
 *
 * Constants may be fitted on small batches of OPT-13B; all other rows are for tests. */
#include "analysis/calibrate/engine/measured_reader.h"

#include "sim/core/json_doc.h"

#include <stdlib.h>
#include <string.h>

enum { COEFFICIENTS = 3 };

struct fitted_llm {
    const char *key, *name;
    double kv_bytes; /* per token */
    bool fit;
};

static const struct fitted_llm llms[] = {
    {"facebook/opt-13b", "opt-13b", 819200.0, true},
    {"facebook/opt-66b", "opt-66b", 2359296.0, false},
};

static const double memory_bytes_per_s = 2.039e12; /* A100-80GB, data sheet */

static const double prompts[] = {256.0, 512.0, 1024.0, 2048.0};

/* Batches with common coefficients. */
struct batch_grid {
    const char *key;
    size_t n_batches, n_contexts;
    double batches[6], contexts[3];
};

static const struct batch_grid small = {"decoding_smallbs", 6, 3, {1, 8, 16, 32, 64, 94}, {256, 512, 1024}};
static const struct batch_grid large = {"decoding_largebs", 3, 2, {128, 192, 256}, {128, 256}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int read_coefficients(struct measured_reader *reader, const struct json_node *split, const char *key,
                             double values[COEFFICIENTS])
{
    const struct json_node *list = json_member(split, key), *item = list != NULL ? list->first : NULL;
    char where[DIAG_WHERE_CHARS];
    for (size_t i = 0; i < COEFFICIENTS; i++, item = item->next) {
        if (item == NULL || item->kind != JSON_NUMBER)
            return diag_error(reader->sheet.diag, SIM_E_DATA, json_where(split, where, sizeof where), NULL,
                              "'%s' must be a list of %d numbers", key, COEFFICIENTS);
        values[i] = item->number;
    }
    return 0;
}

static int read_prompts(struct measured_reader *reader, const struct json_node *split, struct measured_row *row)
{
    double c[COEFFICIENTS] = {0.0};
    int status = read_coefficients(reader, split, "prefill", c);
    for (size_t i = 0; status == 0 && i < COUNT(prompts); i++) {
        const double n = prompts[i];
        row->work = (struct iteration_work){.prefill_sequences = 1, .prefill_tokens = (int64_t)n, .prefill_pairs = n * n};
        row->measured_s = 1e-3 * (c[0] + c[1] * n + c[2] * n * n);
        status = measured_add(reader, row);
    }
    return status;
}

static int read_tokens(struct measured_reader *reader, const struct fitted_llm *llm, const struct json_node *split,
                       const struct batch_grid *grid, struct measured_row *row)
{
    double c[COEFFICIENTS] = {0.0};
    int status = read_coefficients(reader, split, grid->key, c);
    if (status < 0) return status;
    if (llm->kv_bytes / (double)row->tensor_parallel > 1e-3 * c[1] * memory_bytes_per_s)
        return measured_drop(reader, "keys and values read faster than the memory can");
    for (size_t i = 0; status == 0 && i < grid->n_batches * grid->n_contexts; i++) {
        const double b = grid->batches[i / grid->n_contexts], context = grid->contexts[i % grid->n_contexts];
        row->work =
            (struct iteration_work){.decode_sequences = (int64_t)b, .decode_context_tokens = (int64_t)(b * context)};
        row->measured_s = 1e-3 * (c[0] + c[1] * b * context + c[2] * b);
        status = measured_add(reader, row);
    }
    return status;
}

static int read_split(struct measured_reader *reader, const struct fitted_llm *llm, const struct json_node *split)
{
    struct measured_row row = {
        .kind = MEASURED_ITERATION, .engine = "swifttransformer", .gpu = "a100-80-sxm", .llm = llm->name,
        .weights = FORMAT_FP16, .kv = FORMAT_FP16, .tensor_parallel = strtol(split->key, NULL, 10), .group = llm->name,
        .fit = llm->fit, .in_range = true, .line = (uint32_t)split->place.line};
    if ((row.tensor_parallel & (row.tensor_parallel - 1)) != 0)
        return measured_drop(reader, "heads that the GPUs do not divide (tensor-parallel 3)");
    int status = read_prompts(reader, split, &row);
    if (status == 0) status = read_tokens(reader, llm, split, &small, &row);
    row.group = "large-batches";
    row.fit = row.in_range = false;
    return status == 0 ? read_tokens(reader, llm, split, &large, &row) : status;
}

int measured_read_distserve(struct measured_reader *reader)
{
    struct json_node *root;
    int status = json_load(reader->sheet.arena, reader->measured->path, &root, reader->sheet.diag);
    if (status < 0) return status;
    reader->measured->format = "distserve";
    reader->measured->fitted_on = "OPT-13B";
    for (size_t i = 0; status == 0 && i < COUNT(llms); i++) {
        const struct json_node *splits = json_member(root, llms[i].key);
        const struct json_node *split = splits != NULL ? splits->first : NULL;
        for (; status == 0 && split != NULL; split = split->next) status = read_split(reader, &llms[i], split);
    }
    if (status == 0 && reader->measured->n == 0)
        return diag_error(reader->sheet.diag, SIM_E_DATA, reader->measured->path, NULL,
                          "no coefficients of OPT-13B or OPT-66B in the file");
    return status;
}
