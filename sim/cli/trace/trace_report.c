#include "sim/cli/trace/trace_report.h"

#include "sim/cli/answer.h"
#include "sim/core/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Four digits; large numbers without an exponent. */
static void print_mean(double mean, FILE *out)
{
    fprintf(out, mean >= 1000 ? " %.0f" : " %.4g", mean);
}

/* "; 6.7/s, 1140 prompt and 211 output tokens on average": for the eye to find columns that are swapped. */
static void print_means(const struct trace_check *check, FILE *out)
{
    const double span_s = sim_s_from_ns(check->last_ns - check->first_ns), n = (double)check->n_records;
    if (check->n_records == 0) return;
    fprintf(out, ";");
    if (span_s > 0.0) fprintf(out, " %.3g/s,", (n - 1.0) / span_s);
    print_mean((double)check->prompt_tokens / n, out);
    fprintf(out, " prompt and");
    print_mean((double)check->output_tokens / n, out);
    fprintf(out, " output tokens on average");
}

static void print_right(const struct trace_check *check, bool requests, FILE *out)
{
    fprintf(out, "ok, %" PRId64 " %s in %" PRId64 " rows, over %.9g s", check->n_records,
            requests ? "requests" : "jobs", check->n_rows, sim_s_from_ns(check->last_ns - check->first_ns));
    if (requests) print_means(check, out);
    fprintf(out, "\n");
}

void trace_report_check(const struct trace_check *check, const char *path, bool requests, FILE *out)
{
    answer_print(out, "%s: ", path);
    if (check->n_bad_rows > 0 && check->n_rows == 0)
        fprintf(out, "cannot be read\n");
    else if (check->n_bad_rows > 0)
        fprintf(out, "%" PRId64 " of %" PRId64 " rows are wrong\n", check->n_bad_rows, check->n_rows);
    else
        print_right(check, requests, out);
}

/* --- Statistics --- */

static void add_value(struct answer_table *table, const char *name, const char *unit, double value)
{
    table_text(table, name);
    table_number(table, value);
    table_text(table, unit);
}

static void add_values(const struct trace_stat *stat, bool requests, struct answer *answer)
{
    static const char *const idc_names[TRACE_STAT_WINDOWS] = {"idc_1s", "idc_10s", "idc_60s", "idc_300s"};
    static const struct table_column columns[] = {LEFT("statistic"), RIGHT("value"), LEFT_SHOWN("unit")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    add_value(&table, requests ? "requests" : "jobs", NULL, (double)stat->n);
    add_value(&table, "span", "s", stat->span_s);
    add_value(&table, "rate", "1/s", stat->rate_per_s);
    add_value(&table, "gap_cv", NULL, stat->gap_cv);
    if (stat->arrivals.begin.length_s > 0) add_value(&table, "sparse_beginning", "s", stat->arrivals.begin.length_s);
    if (stat->arrivals.end.length_s > 0) add_value(&table, "sparse_end", "s", stat->arrivals.end.length_s);
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) add_value(&table, idc_names[i], NULL, stat->idc[i]);
    if (requests) {
        add_value(&table, "prompt_tokens_sum", "token", (double)stat->prompt_tokens_sum);
        add_value(&table, "output_tokens_sum", "token", (double)stat->output_tokens_sum);
    } else {
        add_value(&table, "gpu_s", "GPU s", stat->gpu_s);
        add_value(&table, "cpu_jobs", NULL, (double)stat->n_cpu_jobs);
        add_value(&table, "cancelled_jobs", NULL, (double)stat->statuses[JOB_IS_CANCELLED].n);
        add_value(&table, "cancelled_gpu_s", "GPU s", stat->statuses[JOB_IS_CANCELLED].gpu_s);
        add_value(&table, "failed_jobs", NULL, (double)stat->statuses[JOB_FAILS].n);
        add_value(&table, "failed_gpu_s", "GPU s", stat->statuses[JOB_FAILS].gpu_s);
    }
    add_value(&table, "rank_correlation", NULL, stat->rank_correlation);
    answer_members(answer, &table);
}

/* "sparse beginning: 22 of 70783 jobs in the first 1728000 s (18 % of the span)". */
static void say_sparse(const struct trace_stat *stat, bool requests, bool is_end, struct answer *answer)
{
    const struct arrivals_sparse *part = is_end ? &stat->arrivals.end : &stat->arrivals.begin;
    if (!(part->length_s > 0)) return;
    answer_say(answer, "sparse %s: %" PRId64 " of %" PRId64 " %s in the %s %.0f s (%.3g %% of the span)\n",
               is_end ? "end" : "beginning", part->n, stat->n, requests ? "requests" : "jobs",
               is_end ? "last" : "first", part->length_s, 100 * part->length_s / stat->span_s);
}

/* Times of "window" count from time 0 of the trace, which may be before its first record. */
static void say_window(const struct trace_stat *stat, struct answer *answer)
{
    const double begin_s = stat->arrivals.begin.length_s, end_s = stat->arrivals.end.length_s;
    if (!(begin_s > 0) && !(end_s > 0)) return;
    answer_say(answer, "without sparse parts: \"window\": [\"%.0fs\", \"%.0fs\"]\n", floor(stat->first_s + begin_s),
               floor(stat->first_s + stat->span_s - end_s) + 1);
}

/* For people the arrivals over the span in one line, and what is sparse of it. */
static void say_arrivals(const struct trace_stat *stat, bool requests, struct answer *answer)
{
    const struct arrivals_found *found = &stat->arrivals;
    answer_say(answer, "\narrivals by tenth of the span, in %%:");
    for (int i = 0; i < ARRIVALS_PARTS; i++)
        answer_say(answer, " %.3g", stat->n > 0 ? 100 * (double)found->parts[i] / (double)stat->n : 0);
    answer_say(answer, "\n");
    say_sparse(stat, requests, false, answer);
    say_sparse(stat, requests, true, answer);
    say_window(stat, answer);
}

/* The same for programs. */
static void add_arrivals(const struct trace_stat *stat, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("quantity"), RIGHT("t1"), RIGHT("t2"), RIGHT("t3"),
                                                  RIGHT("t4"),      RIGHT("t5"), RIGHT("t6"), RIGHT("t7"),
                                                  RIGHT("t8"),      RIGHT("t9"), RIGHT("t10")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    table_text(&table, "arrivals_by_tenth");
    for (int i = 0; i < ARRIVALS_PARTS; i++) table_number(&table, (double)stat->arrivals.parts[i]);
    answer_members(answer, &table);
}

static void add_quantity(struct answer_table *table, const char *name, const struct trace_quantity *found)
{
    table_text(table, name);
    table_number(table, found->mean);
    table_number(table, found->cv);
    table_number(table, found->min);
    for (int q = 0; q < TRACE_STAT_QUANTILES; q++) table_number(table, found->quantiles[q]);
    table_number(table, found->max);
}

/* Two distributions: of prompt and output tokens, or of durations and GPUs. */
static void add_quantities(const struct trace_stat *stat, bool requests, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("quantity"), RIGHT("mean"), RIGHT("cv"),  RIGHT("min"),
                                                  RIGHT("p5"),      RIGHT("p25"),  RIGHT("p50"), RIGHT("p75"),
                                                  RIGHT("p90"),     RIGHT("p95"),  RIGHT("p99"), RIGHT("max")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    add_quantity(&table, requests ? "prompt_tokens" : "duration_s",
                 requests ? &stat->prompt_tokens : &stat->duration_s);
    add_quantity(&table, requests ? "output_tokens" : "gpus", requests ? &stat->output_tokens : &stat->gpus);
    answer_members(answer, &table);
}

static double frac(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static void add_caches(const struct trace_caches *caches, struct answer *answer)
{
    static const struct table_column columns[] = {{"prefix_cache", "policy", COLUMN_LEFT},
                                                  RIGHT("capacity_blocks"),
                                                  RIGHT("blocks"),
                                                  RIGHT("block_hits"),
                                                  RIGHT("hit_frac"),
                                                  RIGHT("blocks_found"),
                                                  RIGHT("evictions")};
    struct answer_table table;
    if (caches->n == 0) return;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < caches->n; i++) {
        const struct trace_cache *cache = &caches->items[i];
        const int64_t capacity_blocks = cache->setting.capacity_blocks;
        table_text(&table, cache->policy);
        if (capacity_blocks < INT64_MAX)
            table_number(&table, (double)capacity_blocks);
        else
            table_shown(&table, (double)INFINITY, "inf");
        table_number(&table, (double)cache->found.blocks);
        table_number(&table, (double)cache->found.block_hits);
        table_number(&table, frac(cache->found.block_hits, cache->found.blocks));
        table_number(&table, (double)cache->found.blocks_found);
        table_number(&table, (double)cache->found.evictions);
    }
    answer_add(answer, "prefix_cache", NULL, &table);
}

static void add_classes(const struct trace_stat *stat, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("class"),
                                                  RIGHT("requests"),
                                                  RIGHT("share"),
                                                  {"prompt_tokens", "prompt_tokens_mean", COLUMN_RIGHT},
                                                  {"output_tokens", "output_tokens_mean", COLUMN_RIGHT}};
    struct answer_table table;
    if (stat->n_classes == 0) return;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < stat->n_classes; i++) {
        const struct trace_class_stat *class = &stat->classes[i];
        table_text(&table, class->name);
        table_number(&table, (double)class->n);
        table_number(&table, frac(class->n, stat->n));
        table_number(&table, frac(class->prompt_tokens_sum, class->n));
        table_number(&table, frac(class->output_tokens_sum, class->n));
    }
    answer_add(answer, "classes", NULL, &table);
}

static void add_types(const struct trace_stat *stat, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("type"), RIGHT("jobs"), RIGHT_SHOWN("share"), RIGHT("gpu_s"),
                                                  RIGHT_SHOWN("gpu_time_share")};
    struct answer_table table;
    if (stat->n_types == 0) return;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < stat->n_types; i++) {
        const struct trace_type_stat *type = &stat->types[i];
        table_text(&table, type->name);
        table_number(&table, (double)type->n);
        table_number(&table, frac(type->n, stat->n));
        table_number(&table, type->gpu_s);
        table_number(&table, type->gpu_s / stat->gpu_s);
    }
    answer_add(answer, "types", NULL, &table);
}

int trace_report_stat(const struct trace_stat *stat, bool requests, const struct trace_caches *caches,
                      enum answer_form form, FILE *out)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    add_values(stat, requests, &answer);
    say_arrivals(stat, requests, &answer);
    add_quantities(stat, requests, &answer);
    if (answer_is_data(form)) add_arrivals(stat, &answer);
    add_classes(stat, &answer);
    add_types(stat, &answer);
    add_caches(caches, &answer);
    return answer_end(&answer, 0, out, NULL);
}

/* --- Prefix caches --- */

static const char form[] =
    "write POLICY=BLOCKS,BLOCKS,... with parameters as POLICY:KEY=VALUE=BLOCKS; 'inf' is no limit";

enum { MAX_NAMES = 64 };

/* The state of reading an option's text. */
struct reading {
    const char *text;
    const struct config_families *families;
    struct trace_caches *caches;
    struct diag *diag;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct reading *reading, const char *format, ...)
{
    char problem[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return diag_error(reading->diag, SIM_E_USAGE, "--prefix-cache", form, "'%s': %s", reading->text, problem);
}

/* A copy of the characters from `from` up to `end`; NULL when out of memory. */
static char *cut(struct arena *arena, const char *from, const char *end)
{
    return arena_printf(arena, "%.*s", (int)(end - from), from);
}

static int find_policy(const struct reading *reading, const char *name, struct config_alternative *found)
{
    const struct config_families *families = reading->families;
    const char *names[MAX_NAMES];
    size_t n = 0;
    for (size_t i = 0; families->alternative(families->context, "eviction", i, found); i++) {
        if (strcmp(found->name, name) == 0) return 0;
        if (n < MAX_NAMES) names[n++] = found->name;
    }
    const char *nearest = text_nearest(name, names, n);
    char hint[128] = "'orrery list policies' shows all";
    if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    return diag_error(reading->diag, SIM_E_USAGE, "--prefix-cache", hint, "unknown eviction policy '%s'", name);
}

/* Sets the policy's parameters from "KEY=VALUE" texts between colons. */
static int set_params(const struct reading *reading, char *settings, struct config *config)
{
    int code = 0;
    for (char *setting = settings, *next; setting != NULL && code == 0; setting = next) {
        next = strchr(setting, ':');
        if (next != NULL) *next++ = 0;
        code = config_set_in(config, setting, ".", "--prefix-cache", reading->diag);
    }
    return code;
}

static int bind_params(const struct reading *reading, const struct config_alternative *policy, char *settings,
                       void **params)
{
    if (settings != NULL && policy->fields == NULL) return fail(reading, "policy '%s' has no parameters", policy->name);
    if (policy->fields == NULL) return 0;
    struct arena *arena = &reading->caches->arena;
    struct config *config = NULL;
    int code = config_parse("the parameters", ".", "{}", 2, &config, reading->diag);
    if (code == 0) code = set_params(reading, settings, config);
    *params = arena_alloc(arena, policy->params_bytes);
    if (code == 0 && *params == NULL) code = SIM_E_NOMEM;
    if (code == 0)
        code = config_bind(config, policy->fields, reading->families, arena, *params, policy->params_bytes,
                           reading->diag);
    config_destroy(config);
    return code;
}

static int read_capacity(const struct reading *reading, const char *chars, size_t n_chars, int64_t *capacity)
{
    *capacity = INT64_MAX;
    if (n_chars == 3 && memcmp(chars, "inf", 3) == 0) return 0;
    if (number_i64(chars, n_chars, capacity) == NUMBER_OK && *capacity >= 1) return 0;
    return fail(reading, "a capacity must be a whole number of blocks from 1, or 'inf', got '%.*s'",
                (int)(n_chars < 40 ? n_chars : 40), chars);
}

/* Adds `made` with each of the capacities. */
static int add_capacities(const struct reading *reading, const char *list, const struct trace_cache *made)
{
    struct trace_caches *caches = reading->caches;
    int code = 0;
    for (const char *at = list; at != NULL && code == 0;) {
        size_t n_chars = strcspn(at, ",");
        struct trace_cache *cache = &caches->items[caches->n++];
        *cache = *made;
        code = read_capacity(reading, at, n_chars, &cache->setting.capacity_blocks);
        at = at[n_chars] == ',' ? at + n_chars + 1 : NULL;
    }
    return code;
}

/* Reads one option: the capacities follow the last '='. */
static int read_text(const struct reading *reading, uint64_t seed)
{
    struct arena *arena = &reading->caches->arena;
    const char *list = strrchr(reading->text, '=');
    if (list == NULL || list == reading->text) return fail(reading, "no capacities");
    struct trace_cache made = {.policy = cut(arena, reading->text, list), .setting = {.seed = seed}};
    char *name = cut(arena, reading->text, list);
    if (made.policy == NULL || name == NULL) return SIM_E_NOMEM;
    char *settings = strchr(name, ':');
    if (settings != NULL) *settings++ = 0;
    struct config_alternative policy;
    void *params = NULL;
    int code = find_policy(reading, name, &policy);
    if (code == 0) code = bind_params(reading, &policy, settings, &params);
    made.setting.evictor = policy.entry;
    made.setting.params = params;
    return code == 0 ? add_capacities(reading, list + 1, &made) : code;
}

static size_t count_capacities(const struct option_texts *texts)
{
    size_t n = texts->n;
    for (size_t i = 0; i < texts->n; i++)
        for (const char *at = texts->items[i]; *at != 0; at++) n += *at == ',';
    return n;
}

int trace_caches_read(const struct option_texts *texts, const struct config_families *families, uint64_t seed,
                      struct trace_caches *caches, struct diag *diag)
{
    *caches = (struct trace_caches){0};
    arena_init(&caches->arena);
    caches->items = arena_alloc(&caches->arena, (count_capacities(texts) + 1) * sizeof *caches->items);
    if (caches->items == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < texts->n && code == 0; i++) {
        struct reading reading = {texts->items[i], families, caches, diag};
        code = read_text(&reading, seed);
    }
    return code;
}

void trace_caches_fini(struct trace_caches *caches)
{
    arena_fini(&caches->arena);
}

int trace_caches_run(struct trace_caches *caches, struct block_log *log, struct diag *diag)
{
    struct cache_future future;
    if (caches->n == 0) return 0;
    if (log->n_blocks == 0)
        return diag_error(diag, SIM_E_DATA, "--prefix-cache", "the format 'mooncake' has them",
                          "the trace does not name the blocks of its prompts");
    bool predicted = false;
    for (size_t i = 0; i < caches->n; i++) predicted |= (caches->items[i].setting.evictor->oracle & ORACLE_FUTURE) != 0;
    int code = predicted ? block_log_future(log, &future) : 0;
    for (size_t i = 0; i < caches->n && code == 0; i++) {
        struct trace_cache *cache = &caches->items[i];
        code = cache_stat_run(log, predicted ? &future : NULL, &cache->setting, &cache->found, diag);
    }
    return code;
}
