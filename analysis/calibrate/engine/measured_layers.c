/* Decode iterations as the sum of their measured operators: LLMServingSim's current profiles of Llama-3.1-8B on one GPU
 * (casys-kaist/LLMServingSim, profiler/perf/GPU/LLM/bf16/tp1), in microseconds. The calibrations of these GPUs are
 * fitted to the same operators, so the sums show the consistency of that fit and test nothing else.
 *
 * An iteration over b sequences is the sum of the operators of dense.csv for b tokens (each projection once per layer,
 * the norm twice), the head of per_sequence.csv for b sequences, and per layer the attention of attention.csv for b
 * sequences of equal context. Sampling is not an operator of an LLM; measurement and model leave it out. The path names
 * the file of attention; the two others lie beside it. */
#include "analysis/calibrate/engine/measured_reader.h"

#include "sim/core/path.h"

#include <string.h>

enum { MAX_SEQUENCES = 256, DENSE_OPERATORS = 9, LAYERS = 32 };

static const double kv_bytes_per_layer = 2.0 * 8.0 * 128.0 * 2.0; /* per token: keys and values, 8 heads of 128 */

/* The GPUs by the prefix of their files, and their memory bandwidth (data sheet). */
static const struct profiled_gpu {
    const char *prefix, *gpu;
    double memory_bytes_per_s;
} gpus[] = {
    {"RTX4090__Llama-3.1-8B__", "rtx-4090", 1.008e12},
    {"RTXPRO6000__Llama-3.1-8B__", "rtx-pro-6000", 1.792e12},
};

static const char suffix[] = "__attention.csv";

/* Partial sums by the number of sequences. */
struct layer_sums {
    const struct profiled_gpu *gpu;
    struct measured_reader *reader;
    double seconds[MAX_SEQUENCES + 1];
    int n_operators[MAX_SEQUENCES + 1]; /* number added */
};

static const struct sheet_column layer_columns[] = {{"layer", 0.0}, {"tokens", 0.0}, {"time_us", 0.0}};
static const struct sheet_column head_columns[] = {{"layer", 0.0}, {"sequences", 0.0}, {"time_us", 0.0}};
static const struct sheet_column attention_columns[] = {
    {"prefill_chunk", 0.0}, {"n_decode", 0.0}, {"kv_decode", 0.0}, {"time_us", 0.0}};

static void add_operator(struct layer_sums *sums, double count, double microseconds, double times)
{
    if (count < 1.0 || count > MAX_SEQUENCES) return;
    sums->seconds[(int)count] += times * 1e-6 * microseconds;
    sums->n_operators[(int)count]++;
}

static int add_dense(struct layer_sums *sums)
{
    struct sheet *sheet = &sums->reader->sheet;
    double values[3];
    const int status = sheet_numbers(sheet, 1, 3, values);
    if (status < 0) return status;
    const bool once = sheet_text_is(sheet, 0, "embedding") || sheet_text_is(sheet, 0, "final_layernorm");
    const double per_layer = sheet_text_is(sheet, 0, "layernorm") ? 2.0 : 1.0;
    add_operator(sums, values[1], values[2], once ? 1.0 : per_layer * LAYERS);
    return 0;
}

static int add_head(struct layer_sums *sums)
{
    struct sheet *sheet = &sums->reader->sheet;
    double values[3];
    const int status = sheet_numbers(sheet, 1, 3, values);
    if (status == 0 && sheet_text_is(sheet, 0, "lm_head")) add_operator(sums, values[1], values[2], 1.0);
    return status;
}

/* Adds an iteration: the attention of a batch plus the sum of the other operators. */
static int add_attention(struct layer_sums *sums)
{
    double values[4];
    const int status = sheet_numbers(&sums->reader->sheet, 0, 4, values);
    if (status < 0) return status;
    const double chunk = values[0], sequences = values[1], context = values[2], microseconds = values[3];
    const bool complete = chunk < 1.0 && sequences >= 1.0 && sequences <= MAX_SEQUENCES &&
                          sums->n_operators[(int)sequences] == DENSE_OPERATORS + 1;
    if (!complete) return 0;
    if (sequences * context * kv_bytes_per_layer > 1e-6 * microseconds * sums->gpu->memory_bytes_per_s)
        return measured_drop(sums->reader, "keys and values read faster than the memory can");
    const double attention_s = 1e-6 * microseconds * LAYERS;
    const struct measured_row row = {
        .kind = MEASURED_ITERATION, .engine = "vllm-0.19", .gpu = sums->gpu->gpu, .llm = "llama-3.1-8b",
        .weights = FORMAT_BF16, .kv = FORMAT_BF16, .tensor_parallel = 1,
        .work = {.decode_sequences = (int64_t)sequences, .decode_context_tokens = (int64_t)(sequences * context)},
        .measured_s = sums->seconds[(int)sequences] + attention_s, .group = sums->gpu->gpu, .kernels_fit = true};
    return measured_add(sums->reader, &row);
}

static int report_columns(const struct sheet *sheet)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(sheet->csv, 0, 0, where);
    return diag_error(sheet->diag, SIM_E_DATA, where, NULL, "this is no profile of LLMServingSim: columns are missing");
}

/* Calls `visit` for each row of one file. */
static int visit_file(struct layer_sums *sums, const char *path, const struct sheet_column *columns, size_t n_columns,
                      int (*visit)(struct layer_sums *sums))
{
    struct sheet *sheet = &sums->reader->sheet;
    int status = sheet_open(sheet, path);
    const int chosen = status == 0 ? sheet_choose(sheet, columns, n_columns, n_columns) : 0;
    if (status == 0 && chosen != 1) status = chosen < 0 ? chosen : report_columns(sheet);
    while (status == 0 && (status = sheet_next(sheet)) > 0) status = visit(sums);
    sheet_close(sheet);
    return status;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct profiled_gpu *find_gpu(const char *path)
{
    const char *name = path_name(path);
    const size_t n = strlen(name), n_suffix = strlen(suffix);
    if (n < n_suffix || strcmp(name + n - n_suffix, suffix) != 0) return NULL;
    for (size_t i = 0; i < COUNT(gpus); i++)
        if (strncmp(name, gpus[i].prefix, strlen(gpus[i].prefix)) == 0) return &gpus[i];
    return NULL;
}

bool measured_layers_recognise(const char *path)
{
    return find_gpu(path) != NULL;
}

/* The path of another file of the profile: `ending` instead of `suffix`. */
static const char *sibling(const struct measured_reader *reader, const char *ending)
{
    const char *path = reader->measured->path;
    return arena_printf(reader->sheet.arena, "%.*s%s", (int)(strlen(path) - strlen(suffix)), path, ending);
}

int measured_read_layers(struct measured_reader *reader)
{
    const char *dense = sibling(reader, "__dense.csv"), *head = sibling(reader, "__per_sequence.csv");
    struct layer_sums *sums = arena_alloc(reader->sheet.arena, sizeof *sums);
    if (sums == NULL || dense == NULL || head == NULL) return diag_nomem_at(reader->sheet.diag, reader->measured->path);
    sums->gpu = find_gpu(reader->measured->path);
    sums->reader = reader;
    reader->measured->format = "llmservingsim-iterations";
    int status = visit_file(sums, dense, layer_columns, COUNT(layer_columns), add_dense);
    if (status == 0) status = visit_file(sums, head, head_columns, COUNT(head_columns), add_head);
    if (status == 0)
        status = visit_file(sums, reader->measured->path, attention_columns, COUNT(attention_columns), add_attention);
    return status;
}
