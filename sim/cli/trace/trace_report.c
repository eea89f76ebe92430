#include "sim/cli/trace/trace_report.h"

#include "sim/cli/answer.h"

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

int trace_report_stat(const struct trace_stat *stat, bool requests, const struct trace_caches *caches, bool as_json,
                      FILE *out)
{
    struct answer answer;
    answer_init(&answer, as_json ? ANSWER_JSON : ANSWER_TEXT, NULL);
    add_values(stat, requests, &answer);
    add_quantities(stat, requests, &answer);
    add_classes(stat, &answer);
    add_types(stat, &answer);
    add_caches(caches, &answer);
    return answer_end(&answer, 0, out);
}
