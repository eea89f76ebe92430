#include "sim/cli/summary.h"

#include "sim/cli/table.h"
#include "sim/core/err.h"
#include "sim/core/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void summary_init(struct summary *summary)
{
    *summary = (struct summary){0};
    arena_init(&summary->arena);
    summary->last_warning = &summary->first_warning;
}

void summary_fini(struct summary *summary)
{
    mem_free(summary->metrics);
    arena_fini(&summary->arena);
}

/* --- Catching rows --- */

static int grow_metrics(struct summary *summary)
{
    size_t capacity = summary->capacity > 0 ? 2 * summary->capacity : 64;
    struct metric_row *metrics = mem_realloc(summary->metrics, capacity * sizeof *metrics);
    if (metrics == NULL) return SIM_E_NOMEM;
    summary->metrics = metrics;
    summary->capacity = capacity;
    return 0;
}

static int catch_metric(void *context, const struct metric_row *row)
{
    struct summary *summary = context;
    if (summary->n_metrics == summary->capacity && grow_metrics(summary) != 0) return SIM_E_NOMEM;
    struct metric_row *kept = &summary->metrics[summary->n_metrics++];
    *kept = (struct metric_row){.name = arena_strdup(&summary->arena, row->name),
                                .unit = arena_strdup(&summary->arena, row->unit),
                                .value = row->value};
    return kept->name != NULL && kept->unit != NULL ? 0 : SIM_E_NOMEM;
}

static int catch_warning(void *context, const struct warning_row *row)
{
    struct summary *summary = context;
    struct summary_warning *kept = arena_alloc(&summary->arena, sizeof *kept);
    if (kept == NULL) return SIM_E_NOMEM;
    kept->row = *row;
    kept->row.code = arena_strdup(&summary->arena, row->code);
    kept->row.text = arena_strdup(&summary->arena, row->text);
    if (kept->row.code == NULL || kept->row.text == NULL) return SIM_E_NOMEM;
    *summary->last_warning = kept;
    summary->last_warning = &kept->next;
    return 0;
}

struct sink summary_sink(struct summary *summary)
{
    return (struct sink){.context = summary, .metric = catch_metric, .warning = catch_warning};
}

/* --- For people --- */

/* Counts and shares have no unit to be shown. */
static const char *shown_unit(const struct metric_row *metric)
{
    return strcmp(metric->unit, "1") != 0 ? metric->unit : NULL;
}

/* The parts of a distribution (metric_emit_distribution), which make up the columns of the first table. */
static const char *const parts[] = {"mean", "p50", "p90", "p99", "max"};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* The distribution that a metric is a part of: "request.ttft_s.p99[chat/batch]" of "request.ttft_s", "[chat/batch]". */
struct part_name {
    const char *base, *entity; /* entity: "" when there is none */
    int base_bytes;            /* 0: it is a single value */
};

static struct part_name split_name(const char *name)
{
    const char *entity = name + strcspn(name, "["), *dot = entity;
    while (dot > name && *dot != '.') dot--;
    const size_t n = dot > name ? (size_t)(entity - dot) - 1 : 0;
    for (int i = 0; i < N_PARTS; i++)
        if (strlen(parts[i]) == n && memcmp(dot + 1, parts[i], n) == 0)
            return (struct part_name){name, entity, (int)(dot - name)};
    return (struct part_name){name, entity, 0};
}

static const struct metric_row *find_part(const struct summary *summary, const struct part_name *of, const char *part)
{
    char name[512];
    snprintf(name, sizeof name, "%.*s.%s%s", of->base_bytes, of->base, part, of->entity);
    for (size_t i = 0; i < summary->n_metrics; i++)
        if (strcmp(summary->metrics[i].name, name) == 0) return &summary->metrics[i];
    return NULL;
}

/* Whether at least two parts of it were emitted: a mean alone is a single value. */
static bool is_distribution(const struct summary *summary, const struct part_name *name)
{
    int found = 0;
    for (int i = 0; name->base_bytes > 0 && i < N_PARTS; i++) found += find_part(summary, name, parts[i]) != NULL;
    return found >= 2;
}

/* Whether it is the first of its distribution's parts to come. */
static bool is_first_part(const struct summary *summary, size_t index, const struct part_name *name)
{
    for (int i = 0; i < N_PARTS; i++) {
        const struct metric_row *found = find_part(summary, name, parts[i]);
        if (found != NULL && found < &summary->metrics[index]) return false;
    }
    return true;
}

static int print_distributions(const struct summary *summary, FILE *out)
{
    static const struct table_column columns[] = {{"metric", COLUMN_LEFT, false}, {"mean", COLUMN_RIGHT, false},
                                                  {"p50", COLUMN_RIGHT, false},   {"p90", COLUMN_RIGHT, false},
                                                  {"p99", COLUMN_RIGHT, false},   {"max", COLUMN_RIGHT, false},
                                                  {"unit", COLUMN_LEFT, false}};
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_row *metric = &summary->metrics[i];
        const struct part_name of = split_name(metric->name);
        if (!is_distribution(summary, &of) || !is_first_part(summary, i, &of)) continue;
        char name[512];
        snprintf(name, sizeof name, "%.*s%s", of.base_bytes, of.base, of.entity);
        table_text(&table, name);
        for (int part = 0; part < N_PARTS; part++) {
            const struct metric_row *found = find_part(summary, &of, parts[part]);
            table_number(&table, found != NULL ? found->value : (double)NAN);
        }
        table_text(&table, shown_unit(metric));
    }
    if (table.n_cells > 0) fputc('\n', out);
    int code = table.n_cells > 0 ? table_write(&table, false, out) : 0;
    table_fini(&table);
    return code;
}

static int print_values(const struct summary *summary, FILE *out)
{
    static const struct table_column columns[] = {
        {"metric", COLUMN_LEFT, false}, {"value", COLUMN_RIGHT, false}, {"unit", COLUMN_LEFT, false}};
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_row *metric = &summary->metrics[i];
        const struct part_name name = split_name(metric->name);
        if (is_distribution(summary, &name)) continue;
        table_text(&table, metric->name);
        table_number(&table, metric->value);
        table_text(&table, shown_unit(metric));
    }
    if (table.n_cells > 0) fputc('\n', out);
    int code = table.n_cells > 0 ? table_write(&table, false, out) : 0;
    table_fini(&table);
    return code;
}

int summary_print(const struct summary *summary, const struct summary_run *run, FILE *out)
{
    fprintf(out, "%s, seed %" PRId64 ": %s\nresult hash %s\n", run->scenario, run->seed, run->status, run->result_hash);
    int code = print_distributions(summary, out);
    if (code == 0) code = print_values(summary, out);
    if (summary->first_warning != NULL) fputc('\n', out);
    for (const struct summary_warning *warning = summary->first_warning; warning != NULL; warning = warning->next) {
        fprintf(out, "warning: %s: %s", warning->row.code, warning->row.text);
        if (warning->row.count > 1) fprintf(out, " (%" PRId64 " times)", warning->row.count);
        fputc('\n', out);
    }
    return code;
}

/* --- For programs --- */

static void write_warnings(const struct summary *summary, struct json_writer *json)
{
    json_write_open(json, "warnings", '[');
    for (const struct summary_warning *warning = summary->first_warning; warning != NULL; warning = warning->next) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "code", warning->row.code);
        json_write_string(json, "text", warning->row.text);
        json_write_number(json, "count", (double)warning->row.count);
        json_write_number(json, "t_s", warning->row.t_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

int summary_print_json(const struct summary *summary, const struct summary_run *run, FILE *out)
{
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "version", run->version);
    json_write_string(&json, "scenario", run->scenario);
    json_write_number(&json, "seed", (double)run->seed);
    json_write_string(&json, "status", run->status);
    json_write_string(&json, "result_hash", run->result_hash);
    json_write_open(&json, "metrics", '{');
    for (size_t i = 0; i < summary->n_metrics; i++)
        json_write_number(&json, summary->metrics[i].name, summary->metrics[i].value);
    json_write_close(&json, '}');
    write_warnings(summary, &json);
    json_write_close(&json, '}');
    if (!text.failed) fprintf(out, "%s\n", text.chars);
    int code = text.failed ? SIM_E_NOMEM : 0;
    text_fini(&text);
    return code;
}
