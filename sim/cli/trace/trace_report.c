#include "sim/cli/trace/trace_report.h"

#include "sim/cli/table.h"
#include "sim/core/json_write.h"

#include <inttypes.h>
#include <math.h>

void trace_report_check(const struct trace_check *check, const char *path, bool requests, FILE *out)
{
    fprintf(out, "%s: ", path);
    if (check->n_bad_rows > 0)
        fprintf(out, "%" PRId64 " of %" PRId64 " rows are wrong\n", check->n_bad_rows, check->n_rows);
    else
        fprintf(out, "ok, %" PRId64 " %s in %" PRId64 " rows, over %.9g s\n", check->n_records,
                requests ? "requests" : "jobs", check->n_rows, sim_s_from_ns(check->last_ns - check->first_ns));
}

/* A number of the report; `name` is also its key in JSON. */
struct value {
    const char *name, *unit;
    double value;
};

enum { MAX_VALUES = 16 };

struct values {
    size_t n;
    struct value items[MAX_VALUES];
};

static void add(struct values *values, const char *name, const char *unit, double value)
{
    values->items[values->n++] = (struct value){name, unit, value};
}

static struct values collect_values(const struct trace_stat *stat, bool requests)
{
    static const char *const idc_names[TRACE_STAT_WINDOWS] = {"idc_1s", "idc_10s", "idc_60s", "idc_300s"};
    struct values values = {0};
    add(&values, requests ? "requests" : "jobs", NULL, (double)stat->n);
    add(&values, "span", "s", stat->span_s);
    add(&values, "rate", "1/s", stat->rate_per_s);
    add(&values, "gap_cv", NULL, stat->gap_cv);
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) add(&values, idc_names[i], NULL, stat->idc[i]);
    if (requests) {
        add(&values, "prompt_tokens_sum", "token", (double)stat->prompt_tokens_sum);
        add(&values, "output_tokens_sum", "token", (double)stat->output_tokens_sum);
    } else {
        add(&values, "gpu_s", "GPU s", stat->gpu_s);
        add(&values, "cpu_jobs", NULL, (double)stat->n_cpu_jobs);
        add(&values, "cancelled_jobs", NULL, (double)stat->fates[JOB_IS_CANCELLED].n);
        add(&values, "cancelled_gpu_s", "GPU s", stat->fates[JOB_IS_CANCELLED].gpu_s);
        add(&values, "failed_jobs", NULL, (double)stat->fates[JOB_FAILS].n);
        add(&values, "failed_gpu_s", "GPU s", stat->fates[JOB_FAILS].gpu_s);
    }
    add(&values, "rank_correlation", NULL, stat->rank_correlation);
    return values;
}

/* Two distributions: of prompts and outputs, or of durations and GPUs. */
struct quantity {
    const char *name;
    const struct trace_quantity *found;
};

static int print_quantities(const struct quantity *quantities, FILE *out)
{
    static const struct table_column columns[] = {
        {"quantity", COLUMN_LEFT, false}, {"mean", COLUMN_RIGHT, false}, {"cv", COLUMN_RIGHT, false},
        {"min", COLUMN_RIGHT, false},     {"p5", COLUMN_RIGHT, false},   {"p25", COLUMN_RIGHT, false},
        {"p50", COLUMN_RIGHT, false},     {"p75", COLUMN_RIGHT, false},  {"p90", COLUMN_RIGHT, false},
        {"p95", COLUMN_RIGHT, false},     {"p99", COLUMN_RIGHT, false},  {"max", COLUMN_RIGHT, false}};
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < 2; i++) {
        const struct trace_quantity *found = quantities[i].found;
        table_text(&table, quantities[i].name);
        table_number(&table, found->mean);
        table_number(&table, found->cv);
        table_number(&table, found->min);
        for (int q = 0; q < TRACE_STAT_QUANTILES; q++) table_number(&table, found->quantiles[q]);
        table_number(&table, found->max);
    }
    fputc('\n', out);
    int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static int print_values(const struct values *values, FILE *out)
{
    static const struct table_column columns[] = {
        {"statistic", COLUMN_LEFT, false}, {"value", COLUMN_RIGHT, false}, {"unit", COLUMN_LEFT, false}};
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < values->n; i++) {
        table_text(&table, values->items[i].name);
        table_number(&table, values->items[i].value);
        table_text(&table, values->items[i].unit);
    }
    int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static void write_quantity(struct json_writer *json, const struct quantity *quantity)
{
    static const char *const names[TRACE_STAT_QUANTILES] = {"p5", "p25", "p50", "p75", "p90", "p95", "p99"};
    const struct trace_quantity *found = quantity->found;
    json_write_open(json, quantity->name, '{');
    json_write_number(json, "mean", found->mean);
    json_write_number(json, "cv", found->cv);
    json_write_number(json, "min", found->min);
    for (int q = 0; q < TRACE_STAT_QUANTILES; q++) json_write_number(json, names[q], found->quantiles[q]);
    json_write_number(json, "max", found->max);
    json_write_close(json, '}');
}

/* --- Prefix caches --- */

static double frac(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static double capacity_of(const struct trace_cache *cache)
{
    int64_t capacity = cache->setting.capacity_blocks;
    return capacity < INT64_MAX ? (double)capacity : (double)INFINITY;
}

static int print_caches(const struct trace_caches *caches, FILE *out)
{
    static const struct table_column columns[] = {
        {"prefix_cache", COLUMN_LEFT, false}, {"capacity_blocks", COLUMN_RIGHT, false},
        {"blocks", COLUMN_RIGHT, false},      {"block_hits", COLUMN_RIGHT, false},
        {"hit_frac", COLUMN_RIGHT, false},    {"blocks_found", COLUMN_RIGHT, false},
        {"evictions", COLUMN_RIGHT, false}};
    struct table table;
    if (caches->n == 0) return 0;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < caches->n; i++) {
        const struct trace_cache *cache = &caches->items[i];
        table_text(&table, cache->policy);
        if (isinf(capacity_of(cache)))
            table_text(&table, "inf");
        else
            table_number(&table, capacity_of(cache));
        table_number(&table, (double)cache->found.blocks);
        table_number(&table, (double)cache->found.block_hits);
        table_number(&table, frac(cache->found.block_hits, cache->found.blocks));
        table_number(&table, (double)cache->found.blocks_found);
        table_number(&table, (double)cache->found.evictions);
    }
    fputc('\n', out);
    int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static void write_caches(struct json_writer *json, const struct trace_caches *caches)
{
    if (caches->n == 0) return;
    json_write_open(json, "prefix_cache", '[');
    for (size_t i = 0; i < caches->n; i++) {
        const struct trace_cache *cache = &caches->items[i];
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "policy", cache->policy);
        json_write_number(json, "capacity_blocks", capacity_of(cache));
        json_write_number(json, "blocks", (double)cache->found.blocks);
        json_write_number(json, "block_hits", (double)cache->found.block_hits);
        json_write_number(json, "hit_frac", frac(cache->found.block_hits, cache->found.blocks));
        json_write_number(json, "blocks_found", (double)cache->found.blocks_found);
        json_write_number(json, "evictions", (double)cache->found.evictions);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* --- Classes --- */

static double mean(int64_t sum, int64_t n)
{
    return n > 0 ? (double)sum / (double)n : (double)NAN;
}

static int print_classes(const struct trace_stat *stat, FILE *out)
{
    static const struct table_column columns[] = {{"class", COLUMN_LEFT, false},
                                                  {"requests", COLUMN_RIGHT, false},
                                                  {"share", COLUMN_RIGHT, false},
                                                  {"prompt_tokens", COLUMN_RIGHT, false},
                                                  {"output_tokens", COLUMN_RIGHT, false}};
    struct table table;
    if (stat->n_classes == 0) return 0;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < stat->n_classes; i++) {
        const struct trace_class_stat *class = &stat->classes[i];
        table_text(&table, class->name);
        table_number(&table, (double)class->n);
        table_number(&table, mean(class->n, stat->n));
        table_number(&table, mean(class->prompt_tokens_sum, class->n));
        table_number(&table, mean(class->output_tokens_sum, class->n));
    }
    fputc('\n', out);
    int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static void write_classes(struct json_writer *json, const struct trace_stat *stat)
{
    if (stat->n_classes == 0) return;
    json_write_open(json, "classes", '[');
    for (size_t i = 0; i < stat->n_classes; i++) {
        const struct trace_class_stat *class = &stat->classes[i];
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "class", class->name);
        json_write_number(json, "requests", (double)class->n);
        json_write_number(json, "share", mean(class->n, stat->n));
        json_write_number(json, "prompt_tokens_mean", mean(class->prompt_tokens_sum, class->n));
        json_write_number(json, "output_tokens_mean", mean(class->output_tokens_sum, class->n));
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static int print_types(const struct trace_stat *stat, FILE *out)
{
    static const struct table_column columns[] = {{"type", COLUMN_LEFT, false},
                                                  {"jobs", COLUMN_RIGHT, false},
                                                  {"share", COLUMN_RIGHT, false},
                                                  {"gpu_s", COLUMN_RIGHT, false},
                                                  {"gpu_time_share", COLUMN_RIGHT, false}};
    struct table table;
    if (stat->n_types == 0) return 0;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < stat->n_types; i++) {
        const struct trace_type_stat *type = &stat->types[i];
        table_text(&table, type->name);
        table_number(&table, (double)type->n);
        table_number(&table, mean(type->n, stat->n));
        table_number(&table, type->gpu_s);
        table_number(&table, type->gpu_s / stat->gpu_s);
    }
    fputc('\n', out);
    int code = table_write(&table, false, out);
    table_fini(&table);
    return code;
}

static void write_types(struct json_writer *json, const struct trace_stat *stat)
{
    if (stat->n_types == 0) return;
    json_write_open(json, "types", '[');
    for (size_t i = 0; i < stat->n_types; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "type", stat->types[i].name);
        json_write_number(json, "jobs", (double)stat->types[i].n);
        json_write_number(json, "gpu_s", stat->types[i].gpu_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static int print_json(const struct values *values, const struct quantity *quantities, const struct trace_stat *stat,
                      const struct trace_caches *caches, FILE *out)
{
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    for (size_t i = 0; i < values->n; i++) json_write_number(&json, values->items[i].name, values->items[i].value);
    for (int i = 0; i < 2; i++) write_quantity(&json, &quantities[i]);
    write_classes(&json, stat);
    write_types(&json, stat);
    write_caches(&json, caches);
    json_write_close(&json, '}');
    if (!text.failed) fprintf(out, "%s\n", text.chars);
    int code = text.failed ? SIM_E_NOMEM : 0;
    text_fini(&text);
    return code;
}

int trace_report_stat(const struct trace_stat *stat, bool requests, const struct trace_caches *caches, bool as_json,
                      FILE *out)
{
    const struct quantity quantities[2] = {
        {requests ? "prompt_tokens" : "duration_s", requests ? &stat->prompt_tokens : &stat->duration_s},
        {requests ? "output_tokens" : "gpus", requests ? &stat->output_tokens : &stat->gpus}};
    struct values values = collect_values(stat, requests);
    if (as_json) return print_json(&values, quantities, stat, caches, out);
    int code = print_values(&values, out);
    if (code == 0) code = print_quantities(quantities, out);
    if (code == 0) code = print_classes(stat, out);
    if (code == 0) code = print_types(stat, out);
    return code == 0 ? print_caches(caches, out) : code;
}
