/* orrery size: the cheapest fleets that serve a load within an objective. */
#include "sim/cli/size/size.h"

#include "sim/catalog/calibration.h"
#include "sim/cli/answer.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "sim/cli/run/clock.h"
#include "sim/cli/study/sweeping.h"
#include "sim/core/number.h"
#include "sim/core/output.h"
#include "sim/core/units.h"
#include "traces/guess.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct size_verb_options {
    struct option_texts slos, gpus, settings;
    const char *trace, *format, *rate, *prompt, *output_tokens, *count, *prices, *most_gpus, *study, *page, *workers;
    int form; /* enum answer_form */
    bool disaggregated, sure, quiet;
};

#define AT(name) offsetof(struct size_verb_options, name)
static const struct option size_options_table[] = {
    {"The load", "trace", 't', OPTION_TEXT, AT(trace), "FILE", NULL, "requests of this trace"},
    {NULL, "format", 'f', OPTION_TEXT, AT(format), "NAME", NULL,
     "its format, of 'orrery list formats' (default: a guess from its beginning)"},
    {NULL, "rate", 'r', OPTION_TEXT, AT(rate), "N/s", NULL,
     "instead of a trace: Poisson arrivals at this rate, with --prompt and --output-tokens"},
    {NULL, "prompt", 0, OPTION_TEXT, AT(prompt), "TOKENS", NULL,
     "their prompts (default: lengths of the Azure conversation trace)"},
    {NULL, "output-tokens", 0, OPTION_TEXT, AT(output_tokens), "TOKENS", NULL, "their outputs (default: as for --prompt)"},
    {NULL, "requests", 0, OPTION_TEXT, AT(count), "N", NULL, "their number (default: those of a minute, 5,000 to 100,000)"},
    {"What it must meet", "slo", 0, OPTION_TEXTS, AT(slos), "LIMIT", NULL,
     "such as ttft.p99=1s, tpot.p95=50ms, e2e.p50=20s; of one class, chat:ttft.p99=1s; several times"},
    {NULL, "sure", 0, OPTION_FLAG, AT(sure), NULL, NULL,
     "also with times at both ends of the interval by their error, not only as predicted"},
    {"What may be bought", "gpu", 'g', OPTION_TEXTS, AT(gpus), "NAME[=$N/h]", NULL,
     "this GPU, with its price; several times (default: all GPUs that have a price)"},
    {NULL, "prices", 0, OPTION_TEXT, AT(prices), "LIST", NULL,
     "prices on demand of this list of 'orrery list prices' (default: those of 'orrery list gpus')"},
    {NULL, "max-gpus", 0, OPTION_TEXT, AT(most_gpus), "N", NULL, "at most so many GPUs (default: 64)"},
    {NULL, "disaggregated", 'd', OPTION_FLAG, AT(disaggregated), NULL, NULL,
     "try pools for prompts and decoding, too; KV moves over a network of 50 GB/s per GPU"},
    {NULL, "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL,
     "set a value of the scenario; the service is services.llm"},
    {"What comes out", "study", 0, OPTION_TEXT, AT(study), "FILE", NULL,
     "write a study of the best configurations, for 'orrery sweep'; its scenario is beside it: NAME.scenario.json of NAME.json"},
    {NULL, "page", 0, OPTION_TEXT, AT(page), "FILE", NULL, "write the answer as a page (HTML) with its Pareto front"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print JSON"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the best configurations as CSV"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print Markdown"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "no progress and no closing line"},
    {NULL, "jobs", 'j', OPTION_TEXT, AT(workers), "N", NULL, "runs in parallel (default: one per core)"},
    {0}};
#undef AT

/* --- Reading the question --- */

/* A limit without a unit: it might be in seconds, or in milliseconds as serving benchmarks have it. */
static const char *unit_hint(struct cli *cli, const char *text, struct arena *arena)
{
    const char *limit = strchr(text, '=');
    double number;
    if (limit == NULL || number_f64(limit + 1, strlen(limit + 1), &number) != NUMBER_OK || !(number > 0)) return NULL;
    const int n_name = (int)(limit - text);
    const char *percentile = memchr(text, '.', (size_t)n_name) == NULL ? ".p99" : "";
    const char *hint = arena_printf(arena, "a limit has a unit: %.*s%s%s%s or %.*s%s%s%s", n_name, text, percentile,
                                    limit, number < 10 ? "s" : "ms", n_name, text, percentile, limit,
                                    number < 10 ? "ms" : "s");
    if (hint == NULL) diag_nomem(&cli->diag);
    return hint;
}

static int fail_slo(struct cli *cli, const char *text, struct arena *arena)
{
    const char *hint = unit_hint(cli, text, arena);
    return diag_error(&cli->diag, SIM_E_USAGE, "--slo",
                      hint != NULL ? hint : "such as ttft.p99=1s, tpot.p95=50ms or chat:e2e.p50=20s",
                      "must be a time, a percentile and a limit, got '%s'", text);
}

static int read_slo(struct cli *cli, const char *text, struct arena *arena, struct size_objective *objective)
{
    static const char *const times[SIZE_TIMES] = {"ttft", "tpot", "e2e"};
    *objective = (struct size_objective){0};
    const char *colon = strchr(text, ':'), *name = colon != NULL ? colon + 1 : text;
    const char *dot = strchr(name, '.'), *equals = strchr(name, '=');
    if (dot == NULL || equals == NULL || dot > equals || dot[1] != 'p') return fail_slo(cli, text, arena);
    int time = 0;
    while (time < SIZE_TIMES &&
           (strlen(times[time]) != (size_t)(dot - name) || strncmp(times[time], name, (size_t)(dot - name)) != 0))
        time++;
    double percent;
    const char *why;
    if (time == SIZE_TIMES || number_f64(dot + 2, (size_t)(equals - dot - 2), &percent) != NUMBER_OK ||
        !(percent > 0 && percent <= 100))
        return fail_slo(cli, text, arena);
    objective->time = (enum size_time)time;
    objective->quantile = percent / 100;
    if (unit_parse(equals + 1, UNIT_TIME, &objective->limit_s, &why) != 0 || !(objective->limit_s > 0))
        return fail_slo(cli, text, arena);
    if (colon != NULL) objective->class_name = arena_printf(arena, "%.*s", (int)(colon - text), text);
    objective->name = arena_printf(arena, "%.*s%s%.*s p%.*s", colon != NULL ? (int)(colon - text) : 0, text,
                                   colon != NULL ? ": " : "", (int)(dot - name), name, (int)(equals - dot - 2),
                                   dot + 2);
    return objective->name != NULL && (colon == NULL || objective->class_name != NULL) ? 0 : diag_nomem(&cli->diag);
}

static bool has_class(const struct size_objective *objective, const char *name)
{
    if (objective->class_name == NULL || name == NULL) return objective->class_name == name;
    return strcmp(objective->class_name, name) == 0;
}

/* Two limits of one percentile would be one limit, twice in every table and under one key of JSON. */
static int refuse_second(struct cli *cli, const struct option_texts *slos, size_t i,
                         const struct size_question *question)
{
    const struct size_objective *all = question->objectives;
    for (size_t k = 0; k < i; k++)
        if (all[k].time == all[i].time && all[k].quantile == all[i].quantile && has_class(&all[k], all[i].class_name))
            return diag_error(&cli->diag, SIM_E_USAGE, "--slo", "keep the stricter one",
                              "%s has two limits, in %s and %s", all[k].name, slos->items[k], slos->items[i]);
    return 0;
}

static int read_slos(struct cli *cli, const struct option_texts *slos, struct arena *arena,
                     struct size_question *question)
{
    int code = 0;
    if (slos->n == 0)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "such as --slo ttft.p99=1s --slo tpot.p99=50ms",
                          "no objective is given: without one a single replica is enough");
    if (slos->n > SIZE_MAX_OBJECTIVES)
        return diag_error(&cli->diag, SIM_E_USAGE, "--slo", NULL, "at most %d objectives", SIZE_MAX_OBJECTIVES);
    for (size_t i = 0; code == 0 && i < slos->n; i++) {
        code = read_slo(cli, slos->items[i], arena, &question->objectives[question->n_objectives++]);
        if (code == 0) code = refuse_second(cli, slos, i, question);
    }
    return code;
}

/* Adds to the origin of a slice's price that it is a part of the price that `origin` is of. */
static int tell_part(struct cli *cli, const struct gpu_spec *gpu, struct arena *arena, const char **origin)
{
    if (gpu->slices <= 1 || *origin == NULL) return 0;
    *origin = arena_printf(arena, "one of %" PRId64 " parts of the GPU's price: %s", gpu->slices, *origin);
    return *origin != NULL ? 0 : diag_nomem(&cli->diag);
}

/* The price of a GPU's hardware file and its origin; NAN: it has none. */
static int find_file_price(struct cli *cli, const struct catalog *catalog, const char *name, const char *where,
                           struct arena *arena, struct gpu_spec *gpu, struct size_gpu *found)
{
    *found = (struct size_gpu){.name = name, .usd_per_h = (double)NAN};
    int code = catalog_gpu(catalog, name, where, arena, gpu, &cli->diag);
    if (code != 0) return code;
    found->usd_per_h = gpu->usd_per_h;
    found->slices = gpu->slices;
    code = catalog_gpu_price_origin(catalog, name, arena, &found->origin, &cli->diag);
    return code != 0 ? code : tell_part(cli, gpu, arena, &found->origin);
}

/* The price of a GPU and its origin: of the list, or of its hardware file; NAN: it has none. */
static int find_price(struct cli *cli, const struct catalog *catalog, const struct price_list *prices, const char *name,
                      const char *where, struct arena *arena, struct size_gpu *found)
{
    struct gpu_spec gpu;
    struct price_entry price;
    const int code = find_file_price(cli, catalog, name, where, arena, &gpu, found);
    if (code != 0 || prices == NULL) return code;
    *found = (struct size_gpu){.name = name, .usd_per_h = (double)NAN, .slices = gpu.slices};
    if (!price_list_price(prices, &gpu, name, &price)) return 0;
    found->usd_per_h = price.on_demand_usd_per_h;
    found->origin = arena_printf(arena, "list %s (%s): %s", prices->name, prices->date, prices->source);
    if (found->origin == NULL) return diag_nomem(&cli->diag);
    return price_list_find(prices, name) != NULL ? 0 : tell_part(cli, &gpu, arena, &found->origin);
}

static int add_gpu(struct cli *cli, const struct size_gpu *gpu, struct size_question *question)
{
    if (question->n_gpus == SIZE_MAX_GPUS)
        return diag_error(&cli->diag, SIM_E_USAGE, "--gpu", NULL, "at most %d GPUs", SIZE_MAX_GPUS);
    question->gpus[question->n_gpus++] = *gpu;
    return 0;
}

static int read_gpu(struct cli *cli, const char *text, const struct catalog *catalog, const struct price_list *prices,
                    struct arena *arena, struct size_question *question)
{
    const char *equals = strchr(text, '='), *why;
    const char *name = arena_printf(arena, "%.*s", (int)(equals != NULL ? equals - text : (long)strlen(text)), text);
    if (name == NULL) return diag_nomem(&cli->diag);
    struct size_gpu gpu;
    int code = find_price(cli, catalog, prices, name, "--gpu", arena, &gpu);
    if (code != 0) return code;
    if (equals != NULL) gpu.origin = "given by --gpu";
    if (equals != NULL && unit_parse(equals + 1, UNIT_MONEY_PER_H, &gpu.usd_per_h, &why) != 0)
        return diag_error(&cli->diag, SIM_E_USAGE, "--gpu", "such as --gpu 'h100-sxm=$2.50/h'", "the price '%s' %s",
                          equals + 1, why);
    if (equals != NULL && !(gpu.usd_per_h > 0))
        return diag_error(&cli->diag, SIM_E_USAGE, "--gpu", "such as --gpu 'h100-sxm=$2.50/h'",
                          "the price '%s' is not above 0, and the cheapest fleet is wanted", equals + 1);
    if (!(gpu.usd_per_h > 0))
        return diag_error(&cli->diag, SIM_E_USAGE, "--gpu", "add it: --gpu 'NAME=$2.50/h', or take another --prices",
                          prices != NULL ? "no price of '%s' is in list %s" : "no price of '%s' is known", name,
                          prices != NULL ? prices->name : "");
    return add_gpu(cli, &gpu, question);
}

/* A GPU that the list lacks is told of if its hardware file has a price: it would be tried without the list. */
static int add_unpriced(struct cli *cli, const struct catalog *catalog, const char *name, struct arena *arena,
                        struct size_question *question)
{
    struct gpu_spec spec;
    struct size_gpu gpu;
    const int code = find_file_price(cli, catalog, name, "--gpu", arena, &spec, &gpu);
    if (code == 0 && gpu.usd_per_h > 0 && question->n_unpriced < SIZE_MAX_GPUS)
        question->unpriced[question->n_unpriced++] = gpu;
    return code;
}

static int read_gpus(struct cli *cli, const struct size_verb_options *options, const struct catalog *catalog,
                     struct arena *arena, struct size_question *question)
{
    struct price_list prices, *list = options->prices != NULL ? &prices : NULL;
    struct catalog_names names;
    int code = list != NULL ? catalog_prices(catalog, options->prices, "--prices", arena, &prices, &cli->diag) : 0;
    question->prices = code == 0 && list != NULL ? prices.name : NULL;
    for (size_t i = 0; code == 0 && i < options->gpus.n; i++)
        code = read_gpu(cli, options->gpus.items[i], catalog, list, arena, question);
    if (code != 0 || options->gpus.n > 0) return code;
    code = catalog_list_gpus(catalog, arena, &names, &cli->diag);
    for (size_t i = 0; code == 0 && i < names.n; i++) {
        struct size_gpu gpu;
        code = find_price(cli, catalog, list, names.names[i], "--gpu", arena, &gpu);
        if (code != 0) break;
        code = gpu.usd_per_h > 0 ? add_gpu(cli, &gpu, question)
                                 : add_unpriced(cli, catalog, names.names[i], arena, question);
    }
    return code;
}

static int read_number(struct cli *cli, const char *option, const char *text, int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    if (text == NULL) return 0;
    if (number_i64(text, strlen(text), value) == NUMBER_OK && *value >= 1 && *value <= 1000000000) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, option, NULL, "must be a whole number of at least 1, got '%s'", text);
}

static void write_length(const char *key, const char *option, struct json_writer *json)
{
    if (option == NULL) return;
    json_write_open_row(json, key, '{');
    json_write_string(json, "distribution", "fixed");
    json_write_key(json, "tokens");
    text_add(json->text, option);
    json_write_close(json, '}');
}

/* The section "trace": of a file in the format, found from the current directory or absolute; or generated. */
static const char *make_trace(const struct size_verb_options *options, int64_t count, const char *format,
                              const char *path, struct arena *arena)
{
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open_row(&json, NULL, '{');
    if (options->trace != NULL) {
        json_write_string(&json, "format", format);
        json_write_string(&json, "path", path);
    } else {
        json_write_string(&json, "format", "generate");
        json_write_number(&json, "count", (double)count);
        json_write_open_row(&json, "arrival", '{');
        json_write_string(&json, "process", "poisson");
        json_write_string(&json, "rate", options->rate);
        json_write_close(&json, '}');
        write_length("prompt", options->prompt, &json);
        write_length("output", options->output_tokens, &json);
    }
    json_write_close(&json, '}');
    const char *made = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return made;
}

/* The format that -f names, else that of the file. */
static int find_format(struct cli *cli, const struct size_verb_options *options, const char **name)
{
    static const char hint[] = "name it with -f; csv reads any table, with --set services.llm.trace.columns.KEY=NAME";
    const struct trace_format *format;
    const int first = cli->diag.n_items;
    *name = options->format;
    if (options->trace == NULL || options->format != NULL) return 0;
    const int code = trace_guess(options->trace, TRACE_REQUESTS, hint, &format, &cli->diag);
    if (code == 0) *name = format->name;
    if (code == SIM_E_IO) diag_add_hint(&cli->diag, first, "'orrery list traces' says where public traces are");
    return code;
}

/* Requests of a rate, unless the user says: those of LEAST_S, within bounds. */
enum { LEAST_REQUESTS = 5000, MOST_REQUESTS = 100000 };

static int64_t default_count(double rate_per_s)
{
    const double n = rate_per_s * SIZE_LEAST_S;
    return n < LEAST_REQUESTS ? LEAST_REQUESTS : n > MOST_REQUESTS ? MOST_REQUESTS : (int64_t)n;
}

static int read_rate(struct cli *cli, const char *text, double *rate_per_s)
{
    char rewritten[64], hint[96] = "such as --rate 5/s or --rate 300/min";
    const char *why;
    *rate_per_s = 0;
    if (text == NULL || (unit_parse(text, UNIT_RATE, rate_per_s, &why) == 0 && *rate_per_s > 0)) return 0;
    if (unit_rewrite(text, UNIT_RATE, rewritten, sizeof rewritten, &why))
        snprintf(hint, sizeof hint, "write --rate %s", rewritten);
    return diag_error(&cli->diag, SIM_E_USAGE, "--rate", hint, "must be a number of requests per time, got '%s'", text);
}

static int read_load(struct cli *cli, const struct size_verb_options *options, struct arena *arena,
                     struct size_question *question)
{
    int64_t count, tokens;
    double rate_per_s;
    char full[PATH_MAX];
    if ((options->trace != NULL) == (options->rate != NULL))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL,
                          "--trace FILE, or --rate 5/s --prompt 1000 --output-tokens 200",
                          "give a trace or a rate of requests");
    int code = read_rate(cli, options->rate, &rate_per_s);
    if (code == 0) code = read_number(cli, "--requests", options->count, default_count(rate_per_s), &count);
    if (code == 0) code = read_number(cli, "--prompt", options->prompt, 1, &tokens);
    if (code == 0) code = read_number(cli, "--output-tokens", options->output_tokens, 1, &tokens);
    const char *format = NULL;
    if (code == 0) code = find_format(cli, options, &format);
    if (code != 0) return code;
    const char *absolute = options->trace != NULL && realpath(options->trace, full) != NULL ? full : options->trace;
    question->trace_json = make_trace(options, count, format, options->trace, arena);
    question->study_trace_json = make_trace(options, count, format, absolute, arena);
    const char *base = options->trace != NULL ? strrchr(options->trace, '/') : NULL;
    question->load_text = options->trace == NULL ? arena_printf(arena, "%s", options->rate)
                          : base != NULL         ? base + 1
                                                 : options->trace;
    return question->trace_json != NULL && question->study_trace_json != NULL && question->load_text != NULL
               ? 0
               : diag_nomem(&cli->diag);
}

/* A second argument is most likely the trace. */
static int check_arguments(struct cli *cli, const struct cli_call *call)
{
    if (call->n_arguments == 1) return 0;
    const bool is_second = paths_is_file(call->arguments[1]);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, "usage: orrery size LLM --trace FILE|--rate N/s --slo LIMIT",
                      "unexpected argument '%s': the LLM comes first, and the trace '%s' behind --trace",
                      call->arguments[is_second ? 1 : 0], call->arguments[is_second ? 1 : 0]);
}

/* --- The command --- */

/* Adds a word as a shell takes it: in quotes if it has more than letters, digits and a few signs. */
static void add_word(const char *word, struct text *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=+%@";
    const bool is_plain = word[0] != 0 && word[strspn(word, plain)] == 0;
    text_add(text, is_plain ? "" : "'");
    for (; *word != 0; word++) text_add_bytes(text, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    text_add(text, is_plain ? "" : "'");
}

static void add_option(const struct option *option, const void *options, struct text *text)
{
    const void *at = (const char *)options + option->offset;
    const struct option_texts *texts = at;
    const bool is_list = option->kind == OPTION_TEXTS;
    const size_t n = is_list ? texts->n : option->kind == OPTION_TEXT ? *(const char *const *)at != NULL : 0;
    for (size_t i = 0; i < n; i++) {
        text_printf(text, " --%s ", option->name);
        add_word(is_list ? texts->items[i] : *(const char *const *)at, text);
    }
    if (option->kind == OPTION_FLAG && *(const bool *)at) text_printf(text, " --%s", option->name);
}

/* The options with a value, in the order of the table, but for those that say how to work and where to write. */
static const char *make_command(const char *llm, const struct size_verb_options *options, struct arena *arena)
{
    static const char *const left_out[] = {"study", "page", "jobs", "quiet"};
    struct text text;
    text_init(&text);
    text_add(&text, "orrery size ");
    add_word(llm, &text);
    for (const struct option *option = size_options_table; option->name != NULL; option++) {
        bool is_left_out = false;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            is_left_out |= strcmp(option->name, left_out[i]) == 0;
        if (!is_left_out) add_option(option, options, &text);
    }
    const char *command = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return command;
}

/* --- The verb --- */

struct size_watch {
    FILE *err;
    bool is_shown;
};

static void show_progress(void *context, int64_t n_runs)
{
    const struct size_watch *watch = context;
    if (!watch->is_shown) return;
    fprintf(watch->err, "\r\033[K%" PRId64 " runs", n_runs);
    fflush(watch->err);
}

static int check_outputs(struct cli *cli, const struct size_verb_options *options, struct arena *arena)
{
    struct outputs outputs = {.diag = &cli->diag};
    int code = options->page != NULL ? outputs_add_form(&outputs, "--page", options->page, "HTML", "html htm") : 0;
    const char *scenario = options->study != NULL ? size_scenario_path(options->study, arena) : NULL;
    if (options->study != NULL && scenario == NULL) return diag_nomem(&cli->diag);
    if (code == 0 && options->study != NULL) code = outputs_add(&outputs, "--study", options->study);
    if (code == 0 && options->study != NULL) code = outputs_add(&outputs, "the scenario of --study", scenario);
    if (code == 0) code = outputs_check(&outputs, options->trace);
    return code == 0 ? outputs_check_plugins(&outputs, cli->plugins) : code;
}

static int write_page(struct cli *cli, const char *path, const struct size_question *question,
                      const struct size_result *result, struct arena *arena)
{
    struct output *output;
    int code = output_open(path, &output, &cli->diag);
    if (code != 0) return code;
    const int page_code = size_page(question, result, arena, output_text(output));
    if (page_code != 0) diag_nomem(&cli->diag);
    code = output_close(output, page_code != 0, &cli->diag);
    return page_code != 0 ? page_code : code;
}

static void warn_of_span(const struct size_requests *requests, struct diag *diag)
{
    if (requests->is_closed || requests->n < 2 || requests->span_s > 0.9 * SIZE_LEAST_S) return;
    diag_warning(diag, NULL, "a longer trace, or more --requests",
                 "the load arrives in %.3g s: longer ones may need more GPUs, since answers that still run add up",
                 requests->span_s);
}

/* Reads the calibrations of all GPUs into the catalog's memory, of which each process of the search inherits a copy. A
 * run that needs one reports what is wrong with it. */
static void read_calibrations(const struct size_question *question, const struct catalog *catalog)
{
    static const bool needs_none[KERNEL_CLASS_COUNT];
    const struct catalog unnoted = {.root = catalog->root, .memory = catalog->memory};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < question->n_gpus; i++) {
        const struct calibration_request request = {.gpu = question->gpus[i].name, .kernels = "in-model",
                                                    .collectives = "in-model", .needed = needs_none};
        struct calibration calibration;
        struct diag unheard;
        diag_init(&unheard);
        calibration_read(&unnoted, &request, &arena, &calibration, &unheard);
    }
    arena_fini(&arena);
}

/* CSV has no place for warnings. */
static int print_warnings(const struct size_warnings *warnings, FILE *err)
{
    bool failed = false;
    for (size_t i = 0; i < warnings->n; i++) {
        struct text line;
        text_init(&line);
        size_add_warning(&warnings->items[i], &line);
        if (!line.failed) answer_print(err, "warning: %s\n", line.chars);
        failed |= line.failed;
        text_fini(&line);
    }
    return failed ? SIM_E_NOMEM : 0;
}

static int answer_question(struct cli *cli, const struct size_verb_options *options, const struct catalog *catalog,
                           struct arena *arena, struct size_question *question)
{
    int workers;
    struct size_result result = {0};
    const double started_s = clock_wall_s();
    struct size_watch watch = {cli->err, !options->quiet && isatty(fileno(cli->err))};
    int code = sweeping_read_count(cli, "--jobs", options->workers, &workers);
    if (code == 0) read_calibrations(question, catalog);
    if (code == 0)
        code = size_search(question, workers, cli->interrupt, show_progress, &watch, arena, &result, &cli->diag);
    if (watch.is_shown) fprintf(cli->err, "\r\033[K");
    if (code == 0 && result.n_best > 0) warn_of_span(&result.requests, &cli->diag);
    if (code == 0) code = size_find_trust(question, catalog, arena, &result);
    if (code == 0 && options->study != NULL)
        code = size_write_study(question, &result, options->study, arena, &cli->diag);
    if (code == 0 && options->page != NULL) code = write_page(cli, options->page, question, &result, arena);
    if (code == 0) code = size_answer(question, &result, options->form, arena, cli->out, &cli->diag);
    if (code == 0 && options->form == ANSWER_CSV) code = print_warnings(&result.warnings, cli->err);
    if (code == 0 && !options->quiet)
        fprintf(cli->err, "%" PRId64 " runs in %.1f s\n", result.n_simulations, clock_wall_s() - started_s);
    size_result_fini(&result);
    return code;
}

static int size_verb(struct cli *cli, const struct cli_call *call)
{
    const struct size_verb_options *options = call->options;
    struct arena arena;
    struct catalog_memory memory;
    struct size_question question = {.llm = call->arguments[0], .settings = &options->settings, .memory = &memory,
                                     .disaggregated = options->disaggregated, .sure = options->sure, .plugins = cli->plugins};
    arena_init(&arena);
    catalog_memory_init(&memory);
    struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    struct llm_spec llm;
    int code = catalog.root != NULL ? 0 : diag_nomem(&cli->diag);
    if (code == 0) code = check_arguments(cli, call);
    if (code == 0) code = check_outputs(cli, options, &arena);
    if (code == 0) code = file_kind_check_llm(question.llm, "size", &cli->diag);
    if (code == 0) code = catalog_llm(&catalog, question.llm, "LLM", &arena, &llm, &cli->diag);
    question.has_experts = code == 0 && llm.experts > 0;
    question.max_context = code == 0 ? llm.max_context : 0;
    if (code == 0) code = size_check_settings(&options->settings, &arena, &cli->diag);
    if (code == 0) code = read_slos(cli, &options->slos, &arena, &question);
    if (code == 0) code = read_number(cli, "--max-gpus", options->most_gpus, 64, &question.most_gpus);
    if (code == 0) code = read_gpus(cli, options, &catalog, &arena, &question);
    if (code == 0) code = read_load(cli, options, &arena, &question);
    question.command = make_command(question.llm, options, &arena);
    if (code == 0 && question.command == NULL) code = diag_nomem(&cli->diag);
    if (code == 0) code = answer_question(cli, options, &catalog, &arena, &question);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}

const struct verb verb_size = {
    .name = "size",
    .summary = "find the cheapest GPUs, replicas and batching that serve a load within latency limits",
    .usage = "LLM --trace FILE|--rate N/s --slo LIMIT [options]",
    .notes = "Searches GPUs, tensor and pipeline parallelism, batching policies with their token budgets, and numbers of\n"
             "replicas. An LLM with experts is also tried with an attention group per GPU, on up to 32 GPUs of 4 nodes.\n"
             "Pools and replicas of more than a node have a network of 50 GB/s per GPU. What cannot hold the LLM is left\n"
             "out. Prices count the GPUs of the replicas.\n",
    .options = size_options_table,
    .explain_key = size_explain_option,
    .options_bytes = sizeof(struct size_verb_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .takes_plugins = true,
    .run = size_verb,
};
