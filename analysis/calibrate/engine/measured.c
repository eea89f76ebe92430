/* Tables of measured iterations, in milliseconds.
 *
 * Splitwise's profile (Mutinifni/splitwise-sim, data/perf_model.csv): prompt and token times of vLLM of late 2023 on
 * DGX A100 and DGX H100, several repetitions of each shape. A row is two measurements: the iteration that processes all
 * prompts, and the mean decode iteration, whose context is that after half the tokens. Batches of more than 2048 prompt
 * tokens are a separate group: this vLLM had sized its memory pools for fewer and took up to twice as long beyond,
 * which no law here describes. Constants may be fitted on batches of at most 2048 prompt tokens of Llama-2-70B; larger
 * batches and BLOOM-176B are for tests.
 *
 * Vidur's CPU overheads (microsoft/vidur, data/profiling/GPU/cpu_overheads.csv): the CPU's steps of a decode iteration
 * of vLLM of early 2024, by batch size and tensor parallelism. Scheduling, preparing inputs, sampling, processing
 * outputs and messages to the Ray workers follow one another. Kernel launches are left out because they overlap with
 * the GPU. Runs on one GPU have no workers. The name of the file tells the host: a100__ or a40__.
 *
 * aiconfigurator's table of TTFT and TPOT (ai-dynamo/aiconfigurator, silicon_sample.csv): closed loops of `batch_size`
 * users with prompts and answers of fixed length on H100 SXM. Only the aggregated runs (prompts and decoding on the
 * same GPUs) of dense LLMs are a closed loop of one replica. By default, these versions batch 8192 tokens: vLLM mixes
 * chunks of prompts with decoding, TensorRT-LLM mixes whole prompts, SGLang processes chunks of prompts before it
 * decodes on. In fp8, TensorRT-LLM also stores keys and values in fp8, because more requests run at once than would fit
 * with 16 bits. Constants may be fitted on prompts of 1024 tokens; longer ones are for tests. */
#include "analysis/calibrate/engine/measured_reader.h"

#include "sim/core/path.h"

#include <math.h>
#include <string.h>

struct measured_format {
    const char *name, *fitted_on;
    const struct sheet_column *columns;
    size_t n_columns, n_required; /* the first ones are required */
    int (*read_row)(struct measured_reader *reader); /* the current row; 0 or a negative code */
};

/* No iteration is faster, and no size or time in milliseconds is larger. */
static const double least_s = 1e-9, max_number = 1e9;

int measured_add(struct measured_reader *reader, const struct measured_row *row)
{
    struct measured *measured = reader->measured;
    if (!(row->measured_s >= least_s) || isinf(row->measured_s)) return measured_drop(reader, "no time");
    measured->rows = rows_grown(reader->sheet.arena, measured->rows, measured->n, &reader->capacity, sizeof *row,
                                reader->sheet.diag);
    if (measured->rows == NULL) return SIM_E_NOMEM;
    measured->rows[measured->n] = *row;
    if (reader->sheet.csv != NULL) measured->rows[measured->n].line = (uint32_t)csv_line(reader->sheet.csv);
    measured->n++;
    return 0;
}

int measured_drop(struct measured_reader *reader, const char *reason)
{
    dropped_add(reader->measured->dropped, &reader->measured->n_dropped, reason, 1);
    return 0;
}

static const double ms = 1e-3;

/* --- Splitwise --- */

enum { FIT_BATCH_TOKENS = 2048 };

enum { PROMPT, BATCH, TOKENS, TENSOR, PROMPT_TIME, TOKEN_TIME, MODEL, HARDWARE, SPLITWISE_COLUMNS };

static const struct sheet_column splitwise_columns[] = {
    [PROMPT] = {"prompt_size", 1.0}, [BATCH] = {"batch_size", 1.0}, [TOKENS] = {"token_size", 2.0},
    [TENSOR] = {"tensor_parallel", 1.0}, [PROMPT_TIME] = {"prompt_time", 0.0}, [TOKEN_TIME] = {"token_time", 0.0},
    [MODEL] = {"model", 0.0}, [HARDWARE] = {"hardware", 0.0}};

static struct iteration_work prompts_of(const double *values)
{
    const double batch = values[BATCH], prompt = values[PROMPT];
    return (struct iteration_work){.prefill_sequences = (int64_t)batch, .prefill_tokens = (int64_t)(batch * prompt),
                                   .prefill_pairs = batch * prompt * prompt};
}

static struct iteration_work tokens_of(const double *values)
{
    const double context = values[PROMPT] + floor(0.5 * values[TOKENS]);
    return (struct iteration_work){.decode_sequences = (int64_t)values[BATCH],
                                   .decode_context_tokens = (int64_t)(values[BATCH] * context)};
}

static int read_splitwise(struct measured_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    const bool llama = sheet_text_is(sheet, MODEL, "llama2-70b"), bloom = sheet_text_is(sheet, MODEL, "bloom-176b");
    const bool a100 = sheet_text_is(sheet, HARDWARE, "a100-80gb"), h100 = sheet_text_is(sheet, HARDWARE, "h100-80gb");
    double values[SPLITWISE_COLUMNS];
    if (sheet_text_is(sheet, HARDWARE, "h100-80gb-pcap"))
        return measured_drop(reader, "computed from other rows, not measured (h100-80gb-pcap)");
    if (!(llama || bloom) || !(a100 || h100)) return measured_drop(reader, "an LLM or GPU that the catalog lacks");
    int status = sheet_numbers(&reader->sheet, PROMPT, MODEL, values);
    if (status < 0) return status;
    const bool is_long = values[BATCH] * values[PROMPT] > FIT_BATCH_TOKENS;
    if (values[TENSOR] < 3.0 && values[BATCH] > 32.0)
        return measured_drop(reader, "more requests than fit into memory at once (tensor-parallel 2, batch 64)");
    struct measured_row row = {
        .kind = MEASURED_ITERATION, .engine = "vllm-0.2", .gpu = a100 ? "a100-80-sxm" : "h100-sxm",
        .llm = llama ? "llama-2-70b" : "bloom-176b", .weights = llama ? FORMAT_FP16 : FORMAT_BF16,
        .kv = llama ? FORMAT_FP16 : FORMAT_BF16, .tensor_parallel = (int64_t)values[TENSOR], .work = prompts_of(values),
        .measured_s = ms * values[PROMPT_TIME], .group = is_long ? "long-prompts" : "prompts",
        .fit = llama && !is_long, .in_range = !is_long};
    status = measured_add(reader, &row);
    if (status < 0) return status;
    row.work = tokens_of(values);
    row.measured_s = ms * values[TOKEN_TIME];
    row.group = "tokens";
    return measured_add(reader, &row);
}

static const struct measured_format splitwise = {
    "splitwise",       "Llama-2-70B, batches of at most 2048 prompt tokens",
    splitwise_columns, SPLITWISE_COLUMNS,
    SPLITWISE_COLUMNS, read_splitwise};

/* --- LLMs by the names that tables give them --- */

/* Sets *found to the LLM that a column of the row names. That the catalog lacks it is no finding. Returns 0 or
 * SIM_E_NOMEM. */
static int find_llm(struct measured_reader *reader, int column, const struct measured_llm **found)
{
    struct sheet *sheet = &reader->sheet;
    struct measured_llm *llm = reader->llms;
    while (llm != NULL && !sheet_text_is(sheet, column, llm->name)) llm = llm->next;
    *found = llm;
    if (llm != NULL) return 0;
    struct diag ignored = {0};
    const struct csv_field field = sheet_text(sheet, column);
    llm = arena_alloc(sheet->arena, sizeof *llm);
    if (llm == NULL) return diag_nomem_at(sheet->diag, sheet->path);
    *llm = (struct measured_llm){.next = reader->llms,
                                 .name = arena_printf(sheet->arena, "%.*s", (int)field.n_chars, field.chars)};
    if (llm->name == NULL) return diag_nomem_at(sheet->diag, sheet->path);
    const int code = catalog_llm(reader->catalog, llm->name, "measured rows", sheet->arena, &llm->spec, &ignored);
    if (code == SIM_E_NOMEM) return diag_nomem_at(sheet->diag, sheet->path);
    llm->known = code == 0;
    reader->llms = llm;
    *found = llm;
    return 0;
}

/* --- CPU overheads --- */

enum { CPU_BATCH, CPU_TENSOR, CPU_STEPS, CPU_LLM = CPU_STEPS + 5, CPU_COLUMNS };

static const struct sheet_column cpu_columns[CPU_COLUMNS] = {
    [CPU_BATCH] = {"batch_size", 1.0}, [CPU_TENSOR] = {"tensor_parallel_degree", 1.0},
    [CPU_STEPS] = {"schedule_median", 0.0}, {"prepare_inputs_e2e_median", 0.0}, {"sampler_e2e_median", 0.0},
    {"process_model_outputs_median", 0.0}, {"ray_comm_time_mean", 0.0}, [CPU_LLM] = {"model_name", 0.0}};

/* The GPU of the host that a file was measured on; NULL: unknown. */
static const char *host_of(const char *path)
{
    static const struct {
        const char *start, *gpu;
    } hosts[] = {{"a100__", "a100-80-sxm"}, {"a40__", "a40"}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (strncmp(path_name(path), hosts[i].start, strlen(hosts[i].start)) == 0) return hosts[i].gpu;
    return NULL;
}

static int read_cpu_overheads(struct measured_reader *reader)
{
    double values[CPU_LLM], milliseconds = 0.0;
    const struct measured_llm *llm = NULL;
    int status = sheet_numbers(&reader->sheet, 0, CPU_LLM, values);
    if (status == 0 && sheet_has(&reader->sheet, CPU_LLM)) status = find_llm(reader, CPU_LLM, &llm);
    if (status < 0) return status;
    for (int i = CPU_STEPS; i < CPU_LLM; i++) milliseconds += values[i];
    const struct measured_row row = {
        .kind = MEASURED_HOST, .engine = "vllm-2024", .gpu = host_of(reader->sheet.path),
        .llm = llm == NULL ? NULL : llm->known ? llm->spec.name : llm->name,
        .tensor_parallel = (int64_t)values[CPU_TENSOR], .work = {.decode_sequences = (int64_t)values[CPU_BATCH]},
        .measured_s = ms * milliseconds, .group = "host", .fit = true, .in_range = true};
    return measured_add(reader, &row);
}

static const struct measured_format cpu_overheads = {"vidur-cpu-overheads", "all rows", cpu_columns,
                                                     CPU_COLUMNS,           CPU_LLM,    read_cpu_overheads};

/* --- TTFT and TPOT --- */

enum { FIT_PROMPT_TOKENS = 1024, BATCH_TOKENS = 8192 };

enum {
    LOOP_PROMPT, LOOP_OUTPUT, LOOP_USERS, LOOP_TENSOR, LOOP_TPOT, LOOP_NUMBERS, LOOP_BACKEND = LOOP_NUMBERS,
    LOOP_VERSION, LOOP_MODEL, LOOP_SYSTEM, LOOP_MODE, LOOP_QUANTISATION, LOOP_PIPELINE, LOOP_COLUMNS
};

static const struct sheet_column loop_columns[] = {
    [LOOP_PROMPT] = {"isl", 1.0}, [LOOP_OUTPUT] = {"osl", 2.0}, [LOOP_USERS] = {"batch_size", 1.0},
    [LOOP_TENSOR] = {"tp_size", 1.0}, [LOOP_TPOT] = {"silicon_tpot_ms", 0.0}, [LOOP_BACKEND] = {"backend", 0.0},
    [LOOP_VERSION] = {"backend_version", 0.0}, [LOOP_MODEL] = {"model_path", 0.0}, [LOOP_SYSTEM] = {"system", 0.0},
    [LOOP_MODE] = {"mode", 0.0}, [LOOP_QUANTISATION] = {"gemm_quant_mode", 0.0}, [LOOP_PIPELINE] = {"pp_size", 0.0}};

struct backend {
    const char *name, *version, *engine;
    bool chunked, prompts_first;
};

static const struct backend backends[] = {
    {"vllm", "0.12.0", "vllm-0.12", true, false},
    {"trtllm", "1.0.0rc3", "trtllm-1.0", false, false},
    {"sglang", "0.5.1.post1", "sglang-0.5", true, true},
};

bool measured_loop_rules(const char *engine, struct closed_loop *loop)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strcmp(backends[i].name, engine) != 0) continue;
        loop->batch_tokens = BATCH_TOKENS;
        loop->chunked = backends[i].chunked;
        loop->prompts_first = backends[i].prompts_first;
        return true;
    }
    return false;
}

static const struct backend *find_backend(const struct sheet *sheet)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (sheet_text_is(sheet, LOOP_BACKEND, backends[i].name) &&
            sheet_text_is(sheet, LOOP_VERSION, backends[i].version))
            return &backends[i];
    return NULL;
}

/* Why the row is left out; NULL: it is not. */
static const char *reason_against(const struct sheet *sheet, const struct measured_llm *llm)
{
    const bool quantised = sheet_text(sheet, LOOP_QUANTISATION).n_chars > 0;
    if (!sheet_text_is(sheet, LOOP_SYSTEM, "h100_sxm")) return "another GPU";
    if (!llm->known) return "an LLM that the catalog lacks";
    if (llm->spec.experts > 0) return "a mixture of experts";
    if (!sheet_text_is(sheet, LOOP_MODE, "agg")) return "disaggregated: prompts on other GPUs";
    if (find_backend(sheet) == NULL) return "a version with too few rows for constants of its own";
    if (!sheet_text_is(sheet, LOOP_PIPELINE, "1.0")) return "pipeline parallel";
    if (quantised && !sheet_text_is(sheet, LOOP_BACKEND, "trtllm")) return "fp8, format of keys and values not stated";
    if (quantised && !sheet_text_is(sheet, LOOP_QUANTISATION, "fp8")) return "another quantisation than fp8";
    return NULL;
}

static int read_loop(struct measured_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    const struct measured_llm *llm;
    int status = find_llm(reader, LOOP_MODEL, &llm);
    if (status != 0) return status;
    const char *reason = reason_against(sheet, llm);
    if (reason != NULL) return measured_drop(reader, reason);
    const struct backend *backend = find_backend(sheet);
    const enum number_format format = sheet_text_is(sheet, LOOP_QUANTISATION, "fp8") ? FORMAT_FP8 : FORMAT_BF16;
    double values[LOOP_NUMBERS];
    status = sheet_numbers(&reader->sheet, 0, LOOP_NUMBERS, values);
    if (status < 0) return status;
    const struct measured_row row = {.kind = MEASURED_TPOT,
                                     .engine = backend->engine,
                                     .gpu = "h100-sxm",
                                     .llm = llm->spec.name,
                                     .weights = format,
                                     .kv = format,
                                     .tensor_parallel = (int64_t)values[LOOP_TENSOR],
                                     .loop = {
                                         .users = (int64_t)values[LOOP_USERS],
                                         .prompt_tokens = (int64_t)values[LOOP_PROMPT],
                                         .output_tokens = (int64_t)values[LOOP_OUTPUT], .batch_tokens = BATCH_TOKENS,
                                         .chunked = backend->chunked, .prompts_first = backend->prompts_first},
                                     .measured_s = ms * values[LOOP_TPOT],
                                     .group = llm->spec.name,
                                     .fit = values[LOOP_PROMPT] <= FIT_PROMPT_TOKENS,
                                     .in_range = values[LOOP_PROMPT] <= FIT_PROMPT_TOKENS};
    return measured_add(reader, &row);
}

static const struct measured_format serving = {
    "aiconfigurator-serving", "prompts of 1024 tokens", loop_columns, LOOP_COLUMNS, LOOP_COLUMNS, read_loop};

/* --- The file --- */

static int read_rows(struct measured_reader *reader, const struct measured_format *format)
{
    int status = 0;
    reader->measured->format = format->name;
    reader->measured->fitted_on = format->fitted_on;
    while (status == 0 && (status = sheet_next(&reader->sheet)) > 0) status = format->read_row(reader);
    return status;
}

/* The first format whose columns the file has reads it. */
static int read_table(struct measured_reader *reader)
{
    static const struct measured_format *const formats[] = {&splitwise, &cpu_overheads, &serving};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct measured_format *format = formats[i];
        const int status = sheet_choose(&reader->sheet, format->columns, format->n_columns, format->n_required);
        if (status != 0) return status < 0 ? status : read_rows(reader, format);
    }
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->sheet.csv, 0, 0, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured iterations has these columns");
}

int measured_read(const char *path, const struct catalog *catalog, struct arena *arena, struct measured *measured,
                  struct diag *diag)
{
    *measured = (struct measured){.path = path};
    struct measured_reader reader = {
        .sheet = {.path = path, .arena = arena, .diag = diag, .max = max_number, .empty = (double)INFINITY},
        .catalog = catalog, .measured = measured};
    int status = file_hash(path, measured->hash, diag);
    if (status < 0) return status;
    if (path_is_json(path)) return measured_read_distserve(&reader);
    if (measured_layers_recognise(path)) return measured_read_layers(&reader);
    status = sheet_open(&reader.sheet, path);
    if (status == 0) status = read_table(&reader);
    sheet_close(&reader.sheet);
    return status;
}
