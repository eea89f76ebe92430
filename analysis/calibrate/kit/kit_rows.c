#include "analysis/calibrate/kit/kit_rows.h"

#include "models/operators/operators.h"

#include <math.h>

const char kit_llm[] = "llama-3.1-8b";

/* Largest numbers: of tokens, whose products fit into 64 bits, and of bytes per second. */
static const double us = 1e-6, max_tokens = 1e9, max_rate = 1e18;

/* Opens a file whose rows have these columns. */
static int open_rows(struct sheet *sheet, const char *path, const struct sheet_column *columns, size_t n_columns)
{
    char where[DIAG_WHERE_CHARS];
    int code = sheet_open(sheet, path);
    if (code == 0) code = sheet_choose(sheet, columns, n_columns, n_columns);
    if (code != 0) return code < 0 ? code : 0;
    csv_where(sheet->csv, 0, 0, where);
    return diag_error(sheet->diag, SIM_E_DATA, where, "measure again with the kit of this program",
                      "a column of the kit is missing");
}

/* --- Iterations --- */

enum { SEQUENCES, TOKENS, PAST, CONTEXT, TIME, ITERATION_NUMBERS };
enum { PHASE = ITERATION_NUMBERS, SOURCE, ITERATION_COLUMNS };

static const struct sheet_column iteration_columns[ITERATION_COLUMNS] = {
    [SEQUENCES] = {"sequences", 1.0}, [TOKENS] = {"tokens", 1.0}, [PAST] = {"past", 0.0}, [CONTEXT] = {"context", 0.0},
    [TIME] = {"time_us", 1e-9},       [PHASE] = {"phase", 0.0},   [SOURCE] = {"source", 0.0}};

static struct iteration_work work_of(bool is_decode, const double numbers[ITERATION_NUMBERS])
{
    const int64_t sequences = (int64_t)numbers[SEQUENCES], tokens = (int64_t)numbers[TOKENS];
    const double each = numbers[TOKENS] / numbers[SEQUENCES];
    if (is_decode)
        return (struct iteration_work){.decode_sequences = sequences,
                                       .decode_context_tokens = sequences * (int64_t)numbers[CONTEXT]};
    return (struct iteration_work){.prefill_sequences = sequences, .prefill_tokens = tokens,
                                   .prefill_context_tokens = sequences * (int64_t)numbers[PAST],
                                   .prefill_pairs = numbers[TOKENS] * (each + 2.0 * numbers[PAST])};
}

static int read_iteration(struct sheet *sheet, struct kit_iterations *iterations, size_t *capacity)
{
    double numbers[ITERATION_NUMBERS];
    const int code = sheet_numbers(sheet, 0, ITERATION_NUMBERS, numbers);
    if (code != 0) return code;
    iterations->items = rows_grown(sheet->arena, iterations->items, iterations->n, capacity, sizeof *iterations->items,
                                   sheet->diag);
    if (iterations->items == NULL) return SIM_E_NOMEM;
    const struct csv_field source = sheet_text(sheet, SOURCE);
    iterations->items[iterations->n++] = (struct kit_iteration){
        .work = work_of(sheet_text_is(sheet, PHASE, "decode"), numbers), .measured_s = us * numbers[TIME],
        .is_flash2 = source.n_chars > 0 && source.chars[0] == 'F', .predicted_s = (double)NAN};
    return 0;
}

int kit_iterations_read(const char *path, struct arena *arena, struct kit_iterations *iterations, struct diag *diag)
{
    struct sheet sheet = {.arena = arena, .diag = diag, .max = max_tokens, .empty = (double)INFINITY};
    size_t capacity = 0;
    *iterations = (struct kit_iterations){0};
    int code = open_rows(&sheet, path, iteration_columns, ITERATION_COLUMNS);
    while (code == 0 && (code = sheet_next(&sheet)) > 0) code = read_iteration(&sheet, iterations, &capacity);
    sheet_close(&sheet);
    return code;
}

int kit_iterations_predict(struct kit_iterations *iterations, const struct calibration *calibration,
                           const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    enum { GPUS_PER_NODE = 8 };
    struct operators *operators = mem_alloc(sizeof *operators);
    if (operators == NULL) return SIM_E_NOMEM;
    const struct operators_parts parts = {
        .gpu = gpu, .llm = llm, .kernels = &calibration->kernels,
        .split = {.tensor = 1, .pipeline = 1, .expert = 1, .fused_residual = true,
                  .attention_writes_kv = calibration_writes_kv(calibration), .gpus_per_node = GPUS_PER_NODE}};
    operators_init(operators, &parts);
    for (size_t i = 0; i < iterations->n; i++) {
        struct iteration_cost cost;
        if (iterations->items[i].is_flash2) continue;
        operators_cost(operators, &iterations->items[i].work, &cost);
        iterations->items[i].predicted_s = cost.first_s;
    }
    mem_free(operators);
    return 0;
}

int kit_iterations_error(const struct kit_iterations *iterations, bool has_prompts, struct fit_error *error)
{
    double *errors = mem_zalloc(iterations->n + 1, sizeof *errors);
    size_t n = 0;
    if (errors == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < iterations->n; i++) {
        const struct kit_iteration *iteration = &iterations->items[i];
        if ((iteration->work.prefill_tokens > 0) != has_prompts || isnan(iteration->predicted_s)) continue;
        errors[n++] = iteration->predicted_s / iteration->measured_s - 1.0;
    }
    *error = fit_error_of(errors, n);
    mem_free(errors);
    return 0;
}

void kit_lay_over(const struct calibrated_set *set, struct calibration *calibration)
{
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        calibration->kernels.params[c] = set->classes[c]->report.params;
        calibration->kernels.ranges[c] = set->classes[c]->report.range;
        calibration->kernels.tables[c] = NULL;
        calibration->origin[c] = set->name;
        calibration->writes_kv[c] = false; /* the kit times attention and writing the cache apart */
    }
}

/* --- Copies --- */

enum { RATE, COPY_NUMBERS };
enum { COPY = COPY_NUMBERS, HOST, BESIDE, COPY_COLUMNS };

static const struct sheet_column copy_columns[COPY_COLUMNS] = {
    [RATE] = {"bytes_per_s", 0.0}, [COPY] = {"copy", 0.0}, [HOST] = {"host", 0.0}, [BESIDE] = {"beside", 0.0}};

static int read_copy(struct sheet *sheet, struct kit_copies *copies)
{
    double rate = 0.0;
    const int code = sheet_numbers(sheet, 0, COPY_NUMBERS, &rate);
    if (code != 0 || sheet_text(sheet, BESIDE).n_chars > 0 || sheet_text_is(sheet, HOST, "pageable")) return code;
    if (sheet_text_is(sheet, COPY, "h2d")) copies->to_gpu = fmax(copies->to_gpu, rate);
    if (sheet_text_is(sheet, COPY, "d2h")) copies->from_gpu = fmax(copies->from_gpu, rate);
    if (sheet_text_is(sheet, COPY, "p2p")) copies->peer = fmax(copies->peer, rate);
    return 0;
}

int kit_copies_read(const char *path, struct arena *arena, struct kit_copies *copies, struct diag *diag)
{
    struct sheet sheet = {.arena = arena, .diag = diag, .max = max_rate, .empty = 0.0};
    *copies = (struct kit_copies){0};
    int code = open_rows(&sheet, path, copy_columns, COPY_COLUMNS);
    while (code == 0 && (code = sheet_next(&sheet)) > 0) code = read_copy(&sheet, copies);
    sheet_close(&sheet);
    return code;
}
