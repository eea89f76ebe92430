/* Results of the serving benchmarks of vLLM (vllm bench serve --save-result --save-detailed) and SGLang (bench_serving
 * with --output-details): JSON objects, one after another or in a list, that describe one benchmark each.
 *
 * Read are input_lens and output_lens, lists with a number for each request, and start_times, seconds of one clock, if
 * there. request_rate is quoted in the message for files without start_times. Requests that failed have no output
 * tokens; they are left out and counted. Read as a log (bench_serve.h), the file also gives its measured times: ttfts,
 * a number for each request, and itls, a list for each request. All else is skipped.
 *
 * Arrivals are the start times, counted from the first one, or come from an arrival process, which takes precedence.
 * With start times, requests are sorted by them. */
#include "traces/formats/bench_serve.h"

#include "traces/formats/document.h"
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The last two only of a log. */
enum list { INPUT_LENS, OUTPUT_LENS, START_TIMES, TTFTS, ITLS, N_LISTS };

static const char *const list_names[N_LISTS] = {"input_lens", "output_lens", "start_times", "ttfts", "itls"};

/* In place of a time that is null or NaN. */
#define TIME_UNKNOWN INT64_MIN

struct bench_params {
    struct document_file file;
    int64_t benchmark; /* 1-based; 0: the only one */
};

/* One list of a benchmark: tokens, or times in ns; of itls the sum of each list. */
struct numbers {
    bool present;
    size_t n, capacity;
    int64_t *values;
};

struct bench_state {
    bool loaded;
    size_t given;
    bool is_log;
    struct numbers lists[N_LISTS];
    int64_t max_concurrency; /* 0: none is named */
    char rate[JSON_STREAM_TEXT_CHARS]; /* request_rate as written, or "" */
};

static void fini(void *state)
{
    struct bench_state *bench = state;
    for (int i = 0; i < N_LISTS; i++) mem_free(bench->lists[i].values);
}

/* --- Reading a benchmark --- */

static bool read_time(struct json_stream *json, enum list list, int64_t *ns)
{
    static const char *const unknown[] = {"null", "NaN"};
    if (!json_stream_scalar(json)) return false;
    for (int i = 0; i < 2 && list != START_TIMES; i++) {
        *ns = TIME_UNKNOWN;
        if (strcmp(json->text, unknown[i]) == 0) return true;
    }
    if (number_ns(json->text, strlen(json->text), SIM_NS_PER_S, ns) == NUMBER_OK && *ns >= 0 &&
        *ns <= READER_MAX_CALENDAR_NS)
        return true;
    return json_stream_bad(json, NULL, "'%s' must be a number of seconds from 0, within 146 years, got '%.40s'",
                           list_names[list], json->text);
}

/* The sum of a list of times, rounded once; unknown if it is empty, or holds an unknown one. */
static bool read_sum(struct json_stream *json, int64_t *sum_ns)
{
    double sum_s = 0.0, value_s;
    bool is_known = false;
    if (!json_stream_enter(json, '[')) return false;
    for (size_t n = 0; json_stream_element(json); n++) {
        int64_t ns;
        if (!read_time(json, ITLS, &ns)) return false;
        is_known = (n == 0 || is_known) && ns != TIME_UNKNOWN;
        if (is_known && number_f64(json->text, strlen(json->text), &value_s) == NUMBER_OK) sum_s += value_s;
    }
    *sum_ns = is_known && sum_s < 1e9 ? llrint(sum_s * 1e9) : TIME_UNKNOWN;
    return json->code == 0;
}

static bool read_value(struct json_stream *json, enum list list, int64_t *value)
{
    if (list == ITLS) return read_sum(json, value);
    return list >= START_TIMES ? read_time(json, list, value)
                               : document_count(json, list_names[list], INT32_MAX, value);
}

static bool read_list(struct json_stream *json, enum list list, struct numbers *numbers)
{
    numbers->present = true;
    numbers->n = 0;
    if (!json_stream_enter(json, '[')) return false;
    while (json_stream_element(json)) {
        int64_t value;
        if (!read_value(json, list, &value)) return false;
        if (vec_push(&numbers->values, &numbers->n, &numbers->capacity, value) == 0) continue;
        json->code = diag_nomem(json->diag);
        return false;
    }
    return json->code == 0;
}

static bool read_rate(struct json_stream *json, struct bench_state *bench)
{
    if (!(json_stream_peek(json) == '"' ? json_stream_string(json) : json_stream_scalar(json))) return false;
    snprintf(bench->rate, sizeof bench->rate, "%s", json->text);
    return true;
}

/* A whole number, or null. */
static bool read_concurrency(struct json_stream *json, int64_t *most)
{
    if (!json_stream_scalar(json)) return false;
    if (number_i64(json->text, strlen(json->text), most) != NUMBER_OK || *most < 0) *most = 0;
    return true;
}

static bool read_member(struct json_stream *json, struct bench_state *bench)
{
    if (bench->is_log && strcmp(json->text, "max_concurrency") == 0 && json_stream_peek(json) != '"')
        return read_concurrency(json, &bench->max_concurrency);
    for (int i = 0; i < (bench->is_log ? N_LISTS : TTFTS); i++)
        if (strcmp(json->text, list_names[i]) == 0) return read_list(json, (enum list)i, &bench->lists[i]);
    return strcmp(json->text, "request_rate") == 0 ? read_rate(json, bench) : json_stream_skip(json);
}

static bool read_benchmark(struct json_stream *json, struct bench_state *bench)
{
    if (!json_stream_enter(json, '{')) return false;
    while (json_stream_member(json))
        if (!read_member(json, bench)) return false;
    return json->code == 0;
}

/* --- What a benchmark must have --- */

static int missing_lengths(const char *path, const char *name, struct diag *diag)
{
    return diag_error(
        diag, SIM_E_DATA, path,
        "let vllm bench serve write it with --save-detailed, SGLang's bench_serving with --output-details",
        "'%s' is missing: the file has no %s of single requests", name,
        strcmp(name, list_names[TTFTS]) == 0 || strcmp(name, list_names[ITLS]) == 0 ? "times" : "lengths");
}

static int missing_times(const char *path, const struct bench_state *bench, const struct source_options *options,
                         struct diag *diag)
{
    char hint[DIAG_TEXT_CHARS + 80], how[DIAG_TEXT_CHARS], per_s[32];
    double rate;
    if (strcmp(bench->rate, "inf") == 0 || strcmp(bench->rate, "Infinity") == 0) {
        file_trace_arrival_hint(options, "fixed", "1000/s", how, sizeof how);
        snprintf(hint, sizeof hint, "all were sent at once (request_rate inf), to which this comes close: %s", how);
    } else if (number_f64(bench->rate, strlen(bench->rate), &rate) == NUMBER_OK && rate > 0) {
        snprintf(per_s, sizeof per_s, "%.20s/s", bench->rate);
        file_trace_arrival_hint(options, "poisson", per_s, how, sizeof how);
        snprintf(hint, sizeof hint, "its request_rate was %.20s: %s", bench->rate, how);
    } else {
        file_trace_arrival_hint(options, "poisson", "4/s", how, sizeof how);
        snprintf(hint, sizeof hint, "name an arrival process: %s", how);
    }
    return diag_error(diag, SIM_E_DATA, path, hint,
                      "'start_times' is missing: the file does not say when requests were sent");
}

/* Whether the list is needed: of a log its times, otherwise the start times, unless a process replaces them. */
static bool is_needed(const struct bench_state *bench, enum list list, bool has_process)
{
    if (list == START_TIMES) return bench->is_log ? bench->lists[list].present : !has_process;
    return list < START_TIMES || bench->is_log;
}

/* `options` are those of a trace; NULL: it is read as a log, which needs no times. */
static int check_lists(const char *path, const struct bench_state *bench, bool has_process,
                       const struct source_options *options, struct diag *diag)
{
    const struct numbers *lists = bench->lists;
    for (int i = 0; i < N_LISTS; i++) {
        if (!is_needed(bench, (enum list)i, has_process)) continue;
        if (!lists[i].present)
            return i == START_TIMES ? missing_times(path, bench, options, diag)
                                    : missing_lengths(path, list_names[i], diag);
    }
    for (int i = OUTPUT_LENS; i < N_LISTS; i++) {
        if (!is_needed(bench, (enum list)i, has_process) || lists[i].n == lists[INPUT_LENS].n) continue;
        return diag_error(diag, SIM_E_DATA, path, "a benchmark has one entry of each for a request",
                          "'%s' has %zu entries, '%s' has %zu", list_names[INPUT_LENS], lists[INPUT_LENS].n,
                          list_names[i], lists[i].n);
    }
    return 0;
}

/* Whether another benchmark follows, in the list that the document is, or else in the document. */
static bool has_next(struct json_stream *json, bool is_list)
{
    return is_list ? json_stream_element(json) : json_stream_peek(json) != 0;
}

/* Reads benchmark number `wanted`, from 1; 0: the only one, so to the end of the file. */
static int load(struct json_stream *json, const char *path, int64_t wanted, struct bench_state *bench,
                struct diag *diag)
{
    const int64_t last = wanted > 0 ? wanted : 1;
    const bool is_list = json_stream_peek(json) == '[';
    int64_t n = 0;
    if (is_list && !json_stream_enter(json, '[')) return json->code;
    while (n < last && has_next(json, is_list)) {
        n++;
        if (!(n == last ? read_benchmark(json, bench) : json_stream_skip(json))) return json->code;
    }
    if (json->code != 0) return json->code;
    if (n == 0) return diag_error(diag, SIM_E_DATA, path, NULL, "file is empty; expected a benchmark");
    if (n < last)
        return diag_error(diag, SIM_E_DATA, path, NULL, "the file has %" PRId64 " benchmark%s, not %" PRId64, n,
                          n == 1 ? "" : "s", last);
    if (wanted == 0 && has_next(json, is_list))
        return diag_error(diag, SIM_E_DATA, path,
                          bench->is_log ? "copy one of them to a file of its own"
                                        : "choose one: \"benchmark\": 1 is the first",
                          "the file has several benchmarks");
    return json->code;
}

static int load_trace(struct document *document, struct bench_state *bench, struct diag *diag)
{
    const struct bench_params *params = (const struct bench_params *)document->file;
    const char *path = params->file.path;
    const int code = load(&document->json, path, params->benchmark, bench, diag);
    return code != 0 ? code : check_lists(path, bench, document->arrivals != NULL, document->options, diag);
}

static int next_request(struct document *document, union trace_record *record, enum row_result *result,
                        struct diag *diag)
{
    struct bench_state *bench = document->state;
    const struct numbers *lists = bench->lists;
    const int code = bench->loaded ? 0 : load_trace(document, bench, diag);
    if (code != 0) return code;
    bench->loaded = true;
    if (bench->given == lists[INPUT_LENS].n) return 0;
    const size_t i = bench->given++;
    *result = document_request(document, record, document->arrivals == NULL ? lists[START_TIMES].values[i] : 0,
                               lists[INPUT_LENS].values[i], lists[OUTPUT_LENS].values[i]);
    return 1;
}

static const struct document_format format = {
    .hint = "write {\"input_lens\": [9], \"output_lens\": [4], \"start_times\": [0.5]}",
    .by_columns = true,
    .next = next_request,
    .state_bytes = sizeof(struct bench_state),
    .fini = fini};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    return document_open(&format, params, options, source, diag);
}

#define ROW_OF struct bench_params
static const struct config_field bench_fields[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    DOCUMENT_PARAMS(OPTIONAL, "arrival process, instead of start_times"),
    ROW_INT("benchmark", benchmark, DEFAULT("0"), WITHIN(0, 1e9),
            "number of the benchmark in a file of several, from 1; 0: the only one"),
    {0}};
#undef ROW_OF

/* --- As a log --- */

static double seconds_of(int64_t ns)
{
    return ns != TIME_UNKNOWN ? sim_s_from_ns(ns) : (double)NAN;
}

/* A request of several tokens without times between them was not streamed, so its first token has no time either. */
static struct log_entry entry_of(const struct bench_state *bench, size_t i, sim_ns origin_ns)
{
    const struct numbers *lists = bench->lists;
    const int64_t output_tokens = lists[OUTPUT_LENS].values[i];
    const double decode_s = output_tokens > 1 ? seconds_of(lists[ITLS].values[i]) : 0.0;
    const double ttft_s = isnan(decode_s) || lists[TTFTS].values[i] == 0 ? (double)NAN
                                                                         : seconds_of(lists[TTFTS].values[i]);
    return (struct log_entry){
        .id = (int64_t)i,
        .arrival_ns = bench->lists[START_TIMES].present ? lists[START_TIMES].values[i] - origin_ns : 0,
        .prompt_tokens = lists[INPUT_LENS].values[i],
        .output_tokens = output_tokens,
        .queue_s = (double)NAN,
        .ttft_s = ttft_s,
        .tpot_s = output_tokens > 1 && !isnan(ttft_s) ? decode_s / (double)(output_tokens - 1) : (double)NAN,
        .e2e_s = ttft_s + decode_s,
    };
}

static bool is_served(const struct bench_state *bench, size_t i)
{
    return bench->lists[INPUT_LENS].values[i] > 0 && bench->lists[OUTPUT_LENS].values[i] > 0;
}

static sim_ns first_start_ns(const struct bench_state *bench)
{
    const struct numbers *starts = &bench->lists[START_TIMES];
    sim_ns first_ns = INT64_MAX;
    for (size_t i = 0; starts->present && i < starts->n; i++)
        if (is_served(bench, i) && starts->values[i] < first_ns) first_ns = starts->values[i];
    return first_ns;
}

static int take_entries(const struct bench_state *bench, struct arena *arena, struct engine_log *log)
{
    const size_t n = bench->lists[INPUT_LENS].n;
    const sim_ns origin_ns = first_start_ns(bench);
    log->entries = arena_alloc(arena, (n + 1) * sizeof *log->entries);
    if (log->entries == NULL) return SIM_E_NOMEM;
    log->draws_arrivals = !bench->lists[START_TIMES].present;
    log->max_concurrency = bench->max_concurrency;
    for (size_t i = 0; i < n; i++) {
        if (!is_served(bench, i)) continue;
        struct log_entry *entry = &log->entries[log->n++];
        *entry = entry_of(bench, i, origin_ns);
        entry->name = arena_printf(arena, "%zu", i);
        if (entry->name == NULL) return SIM_E_NOMEM;
        log->n_untimed += isnan(entry->ttft_s) ? 1 : 0;
    }
    return 0;
}

int bench_log_read(const char *path, struct arena *arena, struct engine_log *log, struct diag *diag)
{
    struct bench_state bench = {.is_log = true};
    struct json_stream json;
    struct input *input;
    int code = input_open(path, &input, diag);
    if (code != 0) return code;
    code = json_stream_open(input, format.hint, &json, diag);
    json.diag = diag;
    if (code == 0) code = load(&json, path, 0, &bench, diag);
    if (code == 0) code = check_lists(path, &bench, false, NULL, diag);
    if (code == 0 && take_entries(&bench, arena, log) != 0) code = diag_nomem(diag);
    if (code == 0 && log->n == 0) code = diag_error(diag, SIM_E_DATA, path, NULL, "no request was served");
    json_stream_close(&json);
    fini(&bench);
    return code;
}

const struct trace_format trace_vllm_bench = {.name = "vllm-bench",
                                              .summary = "results of vllm bench serve, with lengths of single requests",
                                              .source = "vLLM, vllm bench serve --save-result --save-detailed",
                                              .params = bench_fields,
                                              .params_bytes = sizeof(struct bench_params),
                                              .members = "model_id,num_prompts,total_input_tokens",
                                              .open_requests = open_requests};

const struct trace_format trace_sglang_bench = {.name = "sglang-bench",
                                                .summary = "results of SGLang's bench_serving, with lengths of single requests",
                                                .source = "SGLang, python -m sglang.bench_serving --output-details",
                                                .params = bench_fields,
                                                .params_bytes = sizeof(struct bench_params),
                                                .members = "total_input_tokens,total_output_tokens_retokenized",
                                                .open_requests = open_requests};
