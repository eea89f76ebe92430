/* Tables of measured power.
 *
 * Splitwise's profile: power as a share of TDP, the mean over a request and its peak, on A100. A request is its prompt
 * and then its tokens, so a mean is of two loads, weighted by their times. The peaks are left out: they belong to the
 * kernels that run when power is read. Their FLOP per second is unknown; the mean rate over a prompt is half of it or
 * less. Times are in milliseconds; a power of 0 was not measured.
 *
 * The ML.ENERGY leaderboard: vLLM in a steady state with its highest number of concurrent requests. Power is the sum
 * over the GPUs. The table lacks the lengths of prompts, so tasks with long ones are left out. Two rows of chat fill
 * the memory of an H100: 691 sequences of Llama-3.1-8B and 474 of Qwen3-8B leave 643 and 826 tokens for each. Less half
 * an output these are prompts of 444 and 503 tokens, so all prompts are taken to have 450. In a steady state an
 * iteration has as many prompts as answers end in it. A sequence's context is its prompt and half its output. Rows of a
 * B200 whose iterations take longer than those of an H100 with the same task, LLM, number of GPUs and as many sequences
 * or more are left out: its GPU waits, which loads by FLOP and bytes do not tell.
 *
 * Loads of our own, each held for some tenths of a second (analysis/calibrate/kit): the power that NVML
 * reports at the time, and what the kernels achieve.
 *
 * Zeus' sweeps of the power limit (You et al., NSDI 2023): time per epoch and mean power of training jobs. A job is a
 * data set, a network, a batch size and an optimiser; rows of one job under one limit are averaged. */
#include "analysis/calibrate/power/power_data.h"

#include "sim/core/path.h"

#include <math.h>
#include <string.h>
#include <strings.h>

struct power_reader {
    struct sheet sheet;
    const struct catalog *catalog;
    const struct gpu_spec *gpu;
    struct power_data *data;
    size_t row_capacity, cap_capacity;
    void *state; /* of the format, between its rows */
};

struct power_format {
    const char *name;
    const struct sheet_column *columns;
    size_t n_columns;
    int (*read_row)(struct power_reader *reader); /* the sheet's current row */
    int (*finish)(struct power_reader *reader);   /* after the last row; may be NULL */
};

static const double max_number = 1e18;

static int add_row(struct power_reader *reader, const struct power_row *row)
{
    struct power_data *data = reader->data;
    data->rows = rows_grown(reader->sheet.arena, data->rows, data->n_rows, &reader->row_capacity, sizeof *row,
                            reader->sheet.diag);
    if (data->rows == NULL) return SIM_E_NOMEM;
    data->rows[data->n_rows++] = *row;
    return 0;
}

static int add_cap(struct power_reader *reader, const struct power_cap_row *row)
{
    struct power_data *data = reader->data;
    data->caps = rows_grown(reader->sheet.arena, data->caps, data->n_caps, &reader->cap_capacity, sizeof *row,
                            reader->sheet.diag);
    if (data->caps == NULL) return SIM_E_NOMEM;
    data->caps[data->n_caps++] = *row;
    return 0;
}

/* Counts a row as left out; `reason` is a static text. Returns 0. */
static int drop(struct power_reader *reader, const char *reason)
{
    dropped_add(reader->data->dropped, &reader->data->n_dropped, reason, 1);
    return 0;
}

static int find_llm(struct power_reader *reader, const char *name, struct llm_spec *llm)
{
    return catalog_llm(reader->catalog, name, reader->data->path, reader->sheet.arena, llm, reader->sheet.diag);
}

/* What a mean iteration processes: tokens, rows of logits, pairs of a query and a key, tokens whose keys and values are
 * read. */
struct mean_work {
    double tokens, rows, pairs, context_tokens;
};

static struct power_load load_of(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t gpus,
                                 const struct mean_work *work, double seconds)
{
    const double head = llm_head_flop(llm), matrices = llm_flop_per_token(llm, 0) - head;
    const double pair = llm_flop_per_token(llm, 1) - llm_flop_per_token(llm, 0);
    const double flop = work->tokens * matrices + work->rows * head + work->pairs * pair;
    const struct llm_reads reads = llm_reads(llm);
    const double context_bytes = work->context_tokens * llm_kv_bytes_per_token(llm);
    const double bytes = llm_reads_bytes(&reads, llrint(work->tokens), 1) + context_bytes;
    const double gpu_s = (double)gpus * seconds, peak_bytes = gpu_s * gpu->memory_bytes_per_s;
    return (struct power_load){.busy_frac = 1.0,
                               .compute_frac = flop / (gpu_s * gpu_peak_flop_per_s(gpu, llm->compute)),
                               .memory_frac = bytes / peak_bytes,
                               .attention_frac = context_bytes / peak_bytes,
                               .widening_frac = llm_widened_bytes(&reads, llrint(work->tokens), 1) / peak_bytes};
}

struct power_load power_load_of(const struct gpu_spec *gpu, const struct llm_spec *llm, int64_t gpus,
                                const struct iteration_work *work, double seconds)
{
    const struct mean_work mean = {
        .tokens = (double)(work->prefill_tokens + work->decode_sequences),
        .rows = (double)(work->prefill_sequences + work->decode_sequences),
        .pairs = 0.5 * (work->prefill_pairs + (double)work->prefill_tokens) + (double)work->decode_context_tokens,
        .context_tokens = (double)(work->prefill_context_tokens + work->prefill_tokens + work->decode_context_tokens)};
    return load_of(gpu, llm, gpus, &mean, seconds);
}

/* Whether a batch has so few tokens that they, and sums of them, are whole numbers. */
static bool is_batch(double sequences, double tokens_each)
{
    const double most = 1e15;
    return sequences * fmax(tokens_each, 1.0) <= most;
}

static const char too_many_tokens[] = "more tokens than a batch can have";

/* --- Splitwise --- */

enum { PROMPT, BATCH, TOKENS, PEAK, AVERAGE, PROMPT_TIME, TOKEN_TIME, TENSOR, SPLITWISE_NUMBERS };
enum { MODEL = SPLITWISE_NUMBERS, HARDWARE, SPLITWISE_COLUMNS };

static const struct sheet_column splitwise_columns[] = {
    [PROMPT] = {"prompt_size", 0.0}, [BATCH] = {"batch_size", 0.0}, [TOKENS] = {"token_size", 0.0},
    [PEAK] = {"peak_power", 0.0}, [AVERAGE] = {"average_power", 0.0}, [PROMPT_TIME] = {"prompt_time", 0.0},
    [TOKEN_TIME] = {"token_time", 0.0}, [TENSOR] = {"tensor_parallel", 0.0}, [MODEL] = {"model", 0.0},
    [HARDWARE] = {"hardware", 0.0}};

static const double ms = 1e-3;

static struct iteration_work prompts_of(const double *numbers)
{
    const double batch = numbers[BATCH], prompt = numbers[PROMPT];
    return (struct iteration_work){.prefill_sequences = (int64_t)batch, .prefill_tokens = (int64_t)(batch * prompt),
                                   .prefill_pairs = batch * prompt * prompt};
}

static struct iteration_work tokens_of(const double *numbers)
{
    const double context = numbers[PROMPT] + 0.5 * numbers[TOKENS];
    return (struct iteration_work){.decode_sequences = (int64_t)numbers[BATCH],
                                   .decode_context_tokens = (int64_t)(numbers[BATCH] * context)};
}

static int add_mean(struct power_reader *reader, const char *name, const double *numbers)
{
    struct llm_spec llm;
    const double prompt_s = ms * numbers[PROMPT_TIME], token_s = ms * numbers[TOKEN_TIME];
    const double all_s = prompt_s + (numbers[TOKENS] - 1.0) * token_s, tdp_w = reader->gpu->tdp_w;
    const int64_t gpus = (int64_t)numbers[TENSOR];
    const struct iteration_work prompts = prompts_of(numbers), tokens = tokens_of(numbers);
    int code = find_llm(reader, name, &llm);
    if (code != 0) return code;
    const struct power_load prompt = power_load_of(reader->gpu, &llm, gpus, &prompts, prompt_s);
    const struct power_load token = power_load_of(reader->gpu, &llm, gpus, &tokens, token_s);
    const struct power_row mean = {.group = name, .part = "mean", .measured_w = numbers[AVERAGE] * tdp_w, .n_phases = 2,
                                   .batch = numbers[BATCH],
                                   .phases = {{prompt_s / all_s, prompt}, {1.0 - prompt_s / all_s, token}}};
    if (mean.measured_w < reader->gpu->context_w) return drop(reader, "a mean below what an idle GPU draws");
    return add_row(reader, &mean);
}

static int read_splitwise(struct power_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    double numbers[SPLITWISE_NUMBERS];
    if (!sheet_text_is(sheet, HARDWARE, "a100-80gb") || strcmp(reader->gpu->name, "a100-80-sxm") != 0)
        return drop(reader, "of another GPU");
    const int status = sheet_numbers(&reader->sheet, 0, SPLITWISE_NUMBERS, numbers);
    if (status != 0) return status;
    if (numbers[PEAK] == 0.0 || numbers[AVERAGE] == 0.0) return drop(reader, "power was not measured");
    if (!is_batch(numbers[BATCH], numbers[PROMPT] + numbers[TOKENS])) return drop(reader, too_many_tokens);
    if (sheet_text_is(sheet, MODEL, "llama2-70b")) return add_mean(reader, "llama-2-70b", numbers);
    if (sheet_text_is(sheet, MODEL, "bloom-176b")) return add_mean(reader, "bloom-176b", numbers);
    return drop(reader, "an LLM that the catalog lacks");
}

static const struct power_format splitwise = {"splitwise", splitwise_columns, SPLITWISE_COLUMNS, read_splitwise, NULL};

/* --- ML.ENERGY --- */

enum { ML_GPUS, ML_BATCH, ML_OUTPUT, ML_THROUGHPUT, ML_POWER, ML_REPLICAS, ML_NUMBERS };
enum { ML_TASK = ML_NUMBERS, ML_MODEL, ML_GPU, ML_COLUMNS };

static const struct sheet_column mlenergy_columns[] = {
    [ML_GPUS] = {"num_gpus", 1e-9}, [ML_BATCH] = {"avg_batch_size", 1e-9}, [ML_OUTPUT] = {"avg_output_len", 1e-9},
    [ML_THROUGHPUT] = {"output_throughput_tokens_per_sec", 1e-9}, [ML_POWER] = {"avg_power_watts", 1e-9},
    [ML_REPLICAS] = {"data_parallel", 0.0}, [ML_TASK] = {"task", 0.0}, [ML_MODEL] = {"model_id", 0.0},
    [ML_GPU] = {"gpu_model", 0.0}};

enum { MAX_LLMS = 64, MAX_NAME_CHARS = 96, MAX_PACES = 4096 };

/* What an iteration of a row takes; rows of one `kind` have the same task, LLM and number of GPUs. */
struct pace {
    const char *kind;
    double batch, seconds;
    size_t row; /* of the data; unused for the slower GPU */
};

struct paces {
    struct pace items[MAX_PACES];
    size_t n;
};

/* LLMs by their name in the table, as the catalog knows them, and the paces of two GPUs. */
struct served {
    struct paces own, slower;
    struct {
        char theirs[MAX_NAME_CHARS];
        bool found;
        struct llm_spec llm;
    } items[MAX_LLMS];
    size_t n;
};

/* The state of the table. NULL when out of memory. */
static struct served *served_of(struct power_reader *reader)
{
    if (reader->state != NULL) return reader->state;
    struct served *served = arena_alloc(reader->sheet.arena, sizeof *served);
    if (served != NULL) served->n = served->own.n = served->slower.n = 0;
    return reader->state = served;
}

/* Looks up an LLM of the catalog by name or alias, not by the path of a file, which a table must not name. Returns 1, 0
 * when the catalog lacks it, or SIM_E_NOMEM. */
static int look_up(struct power_reader *reader, const char *name, struct llm_spec *llm)
{
    struct diag unheard;
    diag_init(&unheard);
    if (path_is_json(name)) return 0;
    const int code = catalog_llm(reader->catalog, name, NULL, reader->sheet.arena, llm, &unheard);
    return code == SIM_E_NOMEM ? diag_nomem(reader->sheet.diag) : code == 0;
}

/* The LLM of the current row; NULL with *code 0: the catalog lacks it. */
static const struct llm_spec *served_llm(struct power_reader *reader, int *code)
{
    const struct csv_field field = sheet_text(&reader->sheet, ML_MODEL);
    struct served *served = served_of(reader);
    *code = served != NULL ? 0 : diag_nomem(reader->sheet.diag);
    if (*code != 0 || field.n_chars >= MAX_NAME_CHARS) return NULL;
    size_t i = 0;
    while (i < served->n && !sheet_text_is(&reader->sheet, ML_MODEL, served->items[i].theirs)) i++;
    if (i == MAX_LLMS) return NULL;
    if (i == served->n) {
        memcpy(served->items[i].theirs, field.chars, field.n_chars);
        const int found = look_up(reader, served->items[i].theirs, &served->items[i].llm);
        *code = found < 0 ? found : 0;
        served->items[i].found = found > 0;
        served->n++;
    }
    return served->items[i].found ? &served->items[i].llm : NULL;
}

/* Whether the row is of this GPU: H100 is h100-sxm. */
static bool is_of_gpu(const struct sheet *sheet, const char *gpu)
{
    const struct csv_field field = sheet_text(sheet, ML_GPU);
    if (field.n_chars == 0 || field.n_chars > strlen(gpu)) return false;
    return strncasecmp(field.chars, gpu, field.n_chars) == 0 && strcmp(gpu + field.n_chars, "-sxm") == 0;
}

/* GPUs of the table, where one has more of everything than the other. */
static const char faster_gpu[] = "b200-sxm", slower_gpu[] = "h100-sxm";

static bool compares_paces(const struct power_reader *reader)
{
    return strcmp(reader->gpu->name, faster_gpu) == 0;
}

/* Notes the pace of the current row; rows beyond MAX_PACES are not compared. */
static int note_pace(struct power_reader *reader, struct paces *paces, const double *numbers)
{
    const struct csv_field task = sheet_text(&reader->sheet, ML_TASK), llm = sheet_text(&reader->sheet, ML_MODEL);
    if (!compares_paces(reader) || paces->n == MAX_PACES) return 0;
    const char *kind = arena_printf(reader->sheet.arena, "%.*s %.*s %g", (int)task.n_chars, task.chars,
                                    (int)llm.n_chars, llm.chars, numbers[ML_GPUS]);
    if (kind == NULL) return diag_nomem(reader->sheet.diag);
    paces->items[paces->n++] = (struct pace){.kind = kind, .batch = numbers[ML_BATCH],
                                             .seconds = numbers[ML_BATCH] / numbers[ML_THROUGHPUT],
                                             .row = reader->data->n_rows};
    return 0;
}

/* Whether the slower GPU takes less time for as many sequences, but for a fiftieth of them. */
static bool waits(const struct pace *pace, const struct paces *slower)
{
    for (size_t i = 0; i < slower->n; i++) {
        const struct pace *other = &slower->items[i];
        if (strcmp(other->kind, pace->kind) == 0 && other->batch >= 0.98 * pace->batch &&
            other->seconds < pace->seconds)
            return true;
    }
    return false;
}

/* Leaves out the rows whose GPU waits. */
static int finish_mlenergy(struct power_reader *reader)
{
    const struct served *served = reader->state;
    struct power_data *data = reader->data;
    size_t kept = 0, next = 0;
    for (size_t i = 0; served != NULL && i < data->n_rows; i++) {
        const bool is_noted = next < served->own.n && served->own.items[next].row == i;
        const bool is_late = is_noted && waits(&served->own.items[next], &served->slower);
        next += is_noted;
        if (is_late) drop(reader, "slower than an H100: the GPU waits");
        if (!is_late) data->rows[kept++] = data->rows[i];
    }
    if (served != NULL) data->n_rows = kept;
    return 0;
}

static const double prompt_tokens = 450.0;

/* A mean iteration. Each answer takes one iteration per token, and one prompt comes with it. */
static int add_serving(struct power_reader *reader, const struct llm_spec *llm, const double *numbers)
{
    const double batch = numbers[ML_BATCH], prompts = batch / numbers[ML_OUTPUT];
    const double decoded_context = batch * (prompt_tokens + 0.5 * numbers[ML_OUTPUT]);
    const struct mean_work work = {.tokens = batch + prompts * prompt_tokens,
                                   .rows = batch + prompts,
                                   .pairs = decoded_context + 0.5 * prompts * prompt_tokens * (prompt_tokens + 1.0),
                                   .context_tokens = decoded_context + prompts * prompt_tokens};
    const struct power_load load =
        load_of(reader->gpu, llm, (int64_t)numbers[ML_GPUS], &work, batch / numbers[ML_THROUGHPUT]);
    return add_row(reader, &(struct power_row){.group = llm->name, .part = "serving", .batch = batch, .n_phases = 1,
                                                 .is_assumed = true,
                                                 .measured_w = numbers[ML_POWER] / numbers[ML_GPUS],
                                                 .phases = {{1.0, load}}});
}

/* A row of another GPU, which may tell that this one waits. */
static int drop_foreign(struct power_reader *reader)
{
    double numbers[ML_NUMBERS];
    struct served *served = served_of(reader);
    if (served == NULL) return diag_nomem(reader->sheet.diag);
    if (compares_paces(reader) && is_of_gpu(&reader->sheet, slower_gpu)) {
        int code = sheet_numbers(&reader->sheet, 0, ML_NUMBERS, numbers);
        if (code == 0 && numbers[ML_REPLICAS] <= 1.0) code = note_pace(reader, &served->slower, numbers);
        if (code != 0) return code;
    }
    return drop(reader, "of another GPU");
}

static int read_mlenergy(struct power_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    double numbers[ML_NUMBERS];
    int code;
    if (!is_of_gpu(sheet, reader->gpu->name)) return drop_foreign(reader);
    if (!sheet_text_is(sheet, ML_TASK, "lm-arena-chat") && !sheet_text_is(sheet, ML_TASK, "gpqa"))
        return drop(reader, "long prompts, images or videos, of unknown length");
    const struct llm_spec *llm = served_llm(reader, &code);
    if (code == 0 && llm == NULL) return drop(reader, "an LLM that the catalog lacks");
    if (code == 0 && llm_is_unmeasured_kind(llm))
        return drop(reader, "an LLM with chunked, linear or sparse attention, whose loads are not counted");
    if (code == 0) code = sheet_numbers(&reader->sheet, 0, ML_NUMBERS, numbers);
    if (code != 0) return code;
    if (numbers[ML_REPLICAS] > 1.0) return drop(reader, "several replicas together");
    if (!is_batch(numbers[ML_BATCH], prompt_tokens + numbers[ML_OUTPUT]) ||
        !is_batch(numbers[ML_BATCH] / numbers[ML_OUTPUT], prompt_tokens))
        return drop(reader, too_many_tokens);
    code = note_pace(reader, &served_of(reader)->own, numbers);
    return code == 0 ? add_serving(reader, llm, numbers) : code;
}

static const struct power_format mlenergy = {"mlenergy", mlenergy_columns, ML_COLUMNS, read_mlenergy, finish_mlenergy};

/* --- Loads of our own --- */

enum { LOAD_BUSY, LOAD_POWER, LOAD_FLOP, LOAD_BYTES, LOAD_NUMBERS };
enum { LOAD_NAME = LOAD_NUMBERS, LOAD_COLUMNS };

static const struct sheet_column load_columns[] = {
    [LOAD_BUSY] = {"busy_frac", 0.0}, [LOAD_POWER] = {"instant_w", 0.0}, [LOAD_FLOP] = {"flop_per_s", 0.0},
    [LOAD_BYTES] = {"bytes_per_s", 0.0}, [LOAD_NAME] = {"load", 0.0}};

static int read_load(struct power_reader *reader)
{
    double numbers[LOAD_NUMBERS];
    const char *load = sheet_text_copy(&reader->sheet, LOAD_NAME);
    if (load == NULL) return SIM_E_NOMEM;
    const enum number_format format = strstr(load, "fp8") != NULL ? FORMAT_FP8 : FORMAT_BF16;
    const int status = sheet_numbers(&reader->sheet, 0, LOAD_NUMBERS, numbers);
    if (status != 0) return status;
    if (strcmp(load, "idle without context") == 0) return drop(reader, "no process on the GPU");
    if (strstr(load, "host") != NULL) return drop(reader, "a copy over PCIe, without kernels");
    if (strstr(load, "zeros") != NULL) return drop(reader, "numbers that are all zero");
    const struct power_load shares = {
        .busy_frac = numbers[LOAD_BUSY],
        .compute_frac = numbers[LOAD_FLOP] / gpu_peak_flop_per_s(reader->gpu, format),
        .memory_frac = numbers[LOAD_BYTES] / reader->gpu->memory_bytes_per_s};
    const char *kind = arena_printf(reader->sheet.arena, "%.*s", (int)strcspn(load, " ,"), load); /* the first word */
    const struct power_row row = {.group = kind, .part = "load", .measured_w = numbers[LOAD_POWER], .n_phases = 1,
                                  .phases = {{1.0, shares}}};
    return row.group != NULL ? add_row(reader, &row) : SIM_E_NOMEM;
}

static const struct power_format loads = {"loads", load_columns, LOAD_COLUMNS, read_load, NULL};

/* --- Zeus --- */

enum { MAX_MEANS = 4096 };

enum { ZEUS_LIMIT, ZEUS_TIME, ZEUS_POWER, ZEUS_NUMBERS };
enum { ZEUS_DATASET = ZEUS_NUMBERS, ZEUS_NETWORK, ZEUS_BATCH, ZEUS_OPTIMIZER, ZEUS_COLUMNS };

static const struct sheet_column zeus_columns[] = {
    [ZEUS_LIMIT] = {"power_limit", 1.0}, [ZEUS_TIME] = {"time_per_epoch", 1e-9}, [ZEUS_POWER] = {"average_power", 1e-9},
    [ZEUS_DATASET] = {"dataset", 0.0}, [ZEUS_NETWORK] = {"network", 0.0}, [ZEUS_BATCH] = {"batch_size", 0.0},
    [ZEUS_OPTIMIZER] = {"optimizer", 0.0}};

/* One job under one limit. */
struct mean {
    const char *job;
    double limit_w, time_s, power_w, n;
};

struct means {
    struct mean items[MAX_MEANS];
    size_t n;
};

static struct mean *mean_of(struct means *means, const char *job, double limit_w)
{
    for (size_t i = 0; i < means->n; i++)
        if (means->items[i].limit_w == limit_w && strcmp(means->items[i].job, job) == 0) return &means->items[i];
    if (means->n == MAX_MEANS) return NULL;
    means->items[means->n] = (struct mean){.job = job, .limit_w = limit_w};
    return &means->items[means->n++];
}

static const char *job_of(const struct sheet *sheet)
{
    const char *const parts[] = {sheet_text_copy(sheet, ZEUS_DATASET), sheet_text_copy(sheet, ZEUS_NETWORK),
                                 sheet_text_copy(sheet, ZEUS_BATCH), sheet_text_copy(sheet, ZEUS_OPTIMIZER)};
    for (int i = 0; i < 4; i++)
        if (parts[i] == NULL) return NULL;
    return arena_printf(sheet->arena, "%s/%s/%s/%s", parts[0], parts[1], parts[2], parts[3]);
}

static int read_zeus(struct power_reader *reader)
{
    double numbers[ZEUS_NUMBERS];
    if (reader->state == NULL) reader->state = arena_alloc(reader->sheet.arena, sizeof(struct means));
    if (reader->state == NULL) return SIM_E_NOMEM;
    const int status = sheet_numbers(&reader->sheet, 0, ZEUS_NUMBERS, numbers);
    if (status != 0) return status;
    const double time_s = numbers[ZEUS_TIME], power_w = numbers[ZEUS_POWER];
    const char *job = job_of(&reader->sheet);
    if (job == NULL) return SIM_E_NOMEM;
    if (time_s == 0.0 || power_w == 0.0) return drop(reader, "no time, or no power");
    struct mean *mean = mean_of(reader->state, job, numbers[ZEUS_LIMIT]);
    if (mean == NULL) return drop(reader, "more jobs and limits than are read");
    mean->n++;
    mean->time_s += (time_s - mean->time_s) / mean->n;
    mean->power_w += (power_w - mean->power_w) / mean->n;
    return 0;
}

/* The job's mean under its highest limit. */
static const struct mean *uncapped(const struct means *means, const char *job)
{
    const struct mean *best = NULL;
    for (size_t i = 0; i < means->n; i++)
        if (strcmp(means->items[i].job, job) == 0 && (best == NULL || means->items[i].limit_w > best->limit_w))
            best = &means->items[i];
    return best;
}

static bool is_first(const struct means *means, size_t i)
{
    size_t first = 0;
    while (strcmp(means->items[first].job, means->items[i].job) != 0) first++;
    return first == i;
}

static int add_job(struct power_reader *reader, const struct means *means, const char *job)
{
    const struct mean *whole = uncapped(means, job);
    int code = 0;
    for (size_t i = 0; i < means->n && code == 0; i++) {
        const struct mean *mean = &means->items[i];
        if (mean == whole || strcmp(mean->job, job) != 0) continue;
        code = add_cap(reader, &(struct power_cap_row){.job = reader->data->n_jobs, .cap_w = mean->limit_w,
                                                             .slowdown = mean->time_s / whole->time_s,
                                                             .measured_w = mean->power_w, .uncapped_w = whole->power_w});
    }
    reader->data->n_jobs++;
    return code;
}

static int finish_zeus(struct power_reader *reader)
{
    const struct means *means = reader->state;
    int code = 0;
    for (size_t i = 0; means != NULL && i < means->n && code == 0; i++)
        if (is_first(means, i)) code = add_job(reader, means, means->items[i].job);
    return code;
}

static const struct power_format zeus = {"zeus", zeus_columns, ZEUS_COLUMNS, read_zeus, finish_zeus};

/* --- The file --- */

static int read_rows(struct power_reader *reader, const struct power_format *format)
{
    int status = 0;
    reader->data->format = format->name;
    while (status == 0 && (status = sheet_next(&reader->sheet)) > 0) status = format->read_row(reader);
    return status == 0 && format->finish != NULL ? format->finish(reader) : status;
}

/* The first format whose columns the file has reads it. */
static int read_table(struct power_reader *reader)
{
    static const struct power_format *const formats[] = {&splitwise, &mlenergy, &loads, &zeus};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct power_format *format = formats[i];
        const int status = sheet_choose(&reader->sheet, format->columns, format->n_columns, format->n_columns);
        if (status != 0) return status < 0 ? status : read_rows(reader, format);
    }
    char where[DIAG_WHERE_CHARS];
    csv_where(reader->sheet.csv, 0, 0, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, "`orrery calibrate --help` lists the formats",
                      "no known table of measured power has these columns");
}

int power_data_read(const char *path, const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                    struct power_data *data, struct diag *diag)
{
    *data = (struct power_data){.path = path};
    struct power_reader reader = {.sheet = {.arena = arena, .diag = diag, .max = max_number, .empty = 0.0},
                                  .catalog = catalog, .gpu = gpu, .data = data};
    int status = file_hash(path, data->hash, diag);
    if (status == 0) status = sheet_open(&reader.sheet, path);
    if (status == 0) status = read_table(&reader);
    sheet_close(&reader.sheet);
    return status;
}
