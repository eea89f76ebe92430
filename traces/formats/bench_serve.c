/* Results of the serving benchmarks of vLLM (vllm bench serve --save-result --save-detailed) and SGLang (bench_serving
 * with --output-details): JSON objects, one after another, that describe one benchmark each.
 *
 * Read are input_lens and output_lens, lists with a number for each request, and start_times, seconds of one clock, if
 * there. request_rate is quoted in the message for files without start_times. Measured times (ttfts, itls) and all else
 * are skipped. Requests that failed have no output tokens; they are left out and counted.
 *
 * Arrivals are the start times, counted from the first one, or come from an arrival process, which takes precedence.
 * With start times, requests are sorted by them. */
#include "traces/formats/document.h"
#include "traces/registry.h"

#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum list { INPUT_LENS, OUTPUT_LENS, START_TIMES, N_LISTS };

static const char *const list_names[N_LISTS] = {"input_lens", "output_lens", "start_times"};

struct bench_params {
    struct document_file file;
    int64_t benchmark; /* 1-based; 0: the only one */
};

/* One list of a benchmark: tokens, or times in ns. */
struct numbers {
    bool present;
    size_t n, capacity;
    int64_t *values;
};

struct bench_state {
    bool loaded;
    size_t given;
    struct numbers lists[N_LISTS];
    char rate[JSON_STREAM_TEXT_CHARS]; /* request_rate as written, or "" */
};

static void fini(void *state)
{
    struct bench_state *bench = state;
    for (int i = 0; i < N_LISTS; i++) mem_free(bench->lists[i].values);
}

/* --- Reading a benchmark --- */

static bool read_time(struct json_stream *json, int64_t *ns)
{
    if (!json_stream_scalar(json)) return false;
    if (number_ns(json->text, strlen(json->text), SIM_NS_PER_S, ns) == NUMBER_OK && *ns >= 0 &&
        *ns <= READER_MAX_CALENDAR_NS)
        return true;
    return json_stream_bad(
        json, NULL, "'start_times' must be a number of seconds from 0, within 146 years, got '%.40s'", json->text);
}

static bool read_list(struct json_stream *json, enum list list, struct numbers *numbers)
{
    numbers->present = true;
    numbers->n = 0;
    if (!json_stream_enter(json, '[')) return false;
    while (json_stream_element(json)) {
        int64_t value;
        const bool read = list == START_TIMES ? read_time(json, &value)
                                              : document_count(json, list_names[list], INT32_MAX, &value);
        if (!read) return false;
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

static bool read_member(struct json_stream *json, struct bench_state *bench)
{
    for (int i = 0; i < N_LISTS; i++)
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

static int missing_lengths(const struct document *document, const char *name, struct diag *diag)
{
    return diag_error(
        diag, SIM_E_DATA, document->file->path,
        "let vllm bench serve write it with --save-detailed, SGLang's bench_serving with --output-details",
        "'%s' is missing: the file has no lengths of single requests", name);
}

static int missing_times(const struct document *document, const struct bench_state *bench, struct diag *diag)
{
    char hint[DIAG_TEXT_CHARS] = "name an arrival process: \"arrival\": {\"process\": \"poisson\", \"rate\": \"4/s\"}";
    double rate;
    if (strcmp(bench->rate, "inf") == 0 || strcmp(bench->rate, "Infinity") == 0) {
        snprintf(hint, sizeof hint,
                 "all were sent at once (request_rate inf): \"arrival\": {\"process\": \"fixed\", "
                 "\"rate\": \"1000/s\"} comes close");
    } else if (number_f64(bench->rate, strlen(bench->rate), &rate) == NUMBER_OK && rate > 0) {
        snprintf(hint, sizeof hint,
                 "its request_rate was %.20s: set \"arrival\": {\"process\": \"poisson\", \"rate\": "
                 "\"%.20s/s\"}",
                 bench->rate, bench->rate);
    }
    return diag_error(diag, SIM_E_DATA, document->file->path, hint,
                      "'start_times' is missing: the file does not say when requests were sent");
}

static int check_lists(const struct document *document, const struct bench_state *bench, struct diag *diag)
{
    const struct numbers *lists = bench->lists;
    for (int i = 0; i < START_TIMES; i++)
        if (!lists[i].present) return missing_lengths(document, list_names[i], diag);
    if (document->arrivals == NULL && !lists[START_TIMES].present) return missing_times(document, bench, diag);
    for (int i = OUTPUT_LENS; i < (document->arrivals == NULL ? N_LISTS : START_TIMES); i++) {
        if (lists[i].n == lists[INPUT_LENS].n) continue;
        return diag_error(diag, SIM_E_DATA, document->file->path, "a benchmark has one entry of each for a request",
                          "'%s' has %zu entries, '%s' has %zu", list_names[INPUT_LENS], lists[INPUT_LENS].n,
                          list_names[i], lists[i].n);
    }
    return 0;
}

/* Reads the benchmark that the parameters choose, and to the end of the file if it must be the only one. */
static int load(struct document *document, struct bench_state *bench, struct diag *diag)
{
    const struct bench_params *params = (const struct bench_params *)document->file;
    struct json_stream *json = &document->json;
    int64_t n = 0;
    const int64_t wanted = params->benchmark > 0 ? params->benchmark : 1;
    while (n < wanted && json_stream_peek(json) != 0) {
        n++;
        if (!(n == wanted ? read_benchmark(json, bench) : json_stream_skip(json))) return json->code;
    }
    if (json->code != 0) return json->code;
    if (n == 0) return diag_error(diag, SIM_E_DATA, params->file.path, NULL, "file is empty; expected a benchmark");
    if (n < wanted)
        return diag_error(diag, SIM_E_DATA, params->file.path, NULL,
                          "the file has %" PRId64 " benchmark%s, not %" PRId64, n, n == 1 ? "" : "s", wanted);
    if (params->benchmark == 0 && json_stream_peek(json) != 0)
        return diag_error(diag, SIM_E_DATA, params->file.path, "choose one: \"benchmark\": 1 is the first",
                          "the file has several benchmarks");
    return json->code != 0 ? json->code : check_lists(document, bench, diag);
}

static int next_request(struct document *document, union trace_record *record, enum row_result *result,
                        struct diag *diag)
{
    struct bench_state *bench = document->state;
    const struct numbers *lists = bench->lists;
    const int code = bench->loaded ? 0 : load(document, bench, diag);
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
