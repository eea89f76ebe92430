#include "sim/cli/run/summary.h"

#include "sim/cli/answer.h"
#include "sim/core/err.h"
#include "sim/core/vec.h"

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

static int catch_metric(void *context, const struct metric_row *row)
{
    struct summary *summary = context;
    const struct metric_row kept = {.name = arena_strdup(&summary->arena, row->name),
                                    .unit = arena_strdup(&summary->arena, row->unit),
                                    .value = row->value};
    if (kept.name == NULL || kept.unit == NULL) return SIM_E_NOMEM;
    return vec_push(&summary->metrics, &summary->n_metrics, &summary->capacity, kept);
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

/* Counts and fractions show no unit. */
static const char *shown_unit(const struct metric_row *metric)
{
    return strcmp(metric->unit, "1") != 0 ? metric->unit : NULL;
}

/* The parts of a distribution (metric_emit_distribution): the columns of the first table. */
static const char *const parts[] = {"mean", "p50", "p90", "p99", "max"};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* The distribution a metric is part of: "request.ttft_s", "[chat/batch]" for "request.ttft_s.p99[chat/batch]". */
struct part_name {
    const char *base, *entity; /* entity: "" if there is none */
    int base_bytes;            /* 0: a single value */
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

/* Whether at least two of its parts were emitted: a mean alone is a single value. */
static bool is_distribution(const struct summary *summary, const struct part_name *name)
{
    int found = 0;
    for (int i = 0; name->base_bytes > 0 && i < N_PARTS; i++) found += find_part(summary, name, parts[i]) != NULL;
    return found >= 2;
}

/* Whether it is the first emitted part of its distribution. */
static bool is_first_part(const struct summary *summary, size_t index, const struct part_name *name)
{
    for (int i = 0; i < N_PARTS; i++) {
        const struct metric_row *found = find_part(summary, name, parts[i]);
        if (found != NULL && found < &summary->metrics[index]) return false;
    }
    return true;
}

static void add_distributions(const struct summary *summary, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("metric"), RIGHT("mean"), RIGHT("p50"), RIGHT("p90"),
                                                  RIGHT("p99"),   RIGHT("max"),  LEFT("unit")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
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
    answer_add(answer, NULL, NULL, &table);
}

static void add_values(const struct summary *summary, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("metric"), RIGHT("value"), LEFT("unit")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_row *metric = &summary->metrics[i];
        const struct part_name name = split_name(metric->name);
        if (is_distribution(summary, &name)) continue;
        table_text(&table, metric->name);
        table_number(&table, metric->value);
        table_text(&table, shown_unit(metric));
    }
    answer_add(answer, NULL, NULL, &table);
}

static void add_warnings(const struct summary *summary, struct answer *answer)
{
    for (const struct summary_warning *warning = summary->first_warning; warning != NULL; warning = warning->next) {
        answer_say(answer, "warning: %s: %s", warning->row.code, warning->row.text);
        if (warning->row.count > 1) answer_say(answer, " (%" PRId64 " times)", warning->row.count);
        answer_say(answer, "\n");
    }
}

static void show(const struct summary *summary, const struct summary_run *run, struct answer *answer)
{
    answer_say(answer, "%s, seed %" PRId64 ": %s\nresult hash %s\n", run->scenario, run->seed, run->status,
               run->result_hash);
    add_distributions(summary, answer);
    add_values(summary, answer);
    if (summary->first_warning != NULL) answer_say(answer, "\n");
    add_warnings(summary, answer);
}

/* --- For programs --- */

static void write_out(const struct summary *summary, const struct summary_run *run, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("code"), LEFT("text"), RIGHT("count"), RIGHT("t_s")};
    struct answer_table warnings;
    answer_text(answer, "version", run->version);
    answer_text(answer, "scenario", run->scenario);
    answer_number(answer, "seed", (double)run->seed);
    answer_text(answer, "status", run->status);
    answer_text(answer, "result_hash", run->result_hash);
    answer_open(answer, "metrics", '{');
    for (size_t i = 0; i < summary->n_metrics; i++)
        answer_number(answer, summary->metrics[i].name, summary->metrics[i].value);
    answer_close(answer, '}');
    TABLE_INIT(&warnings, columns);
    for (const struct summary_warning *warning = summary->first_warning; warning != NULL; warning = warning->next) {
        table_text(&warnings, warning->row.code);
        table_text(&warnings, warning->row.text);
        table_number(&warnings, (double)warning->row.count);
        table_number(&warnings, warning->row.t_s);
    }
    answer_add(answer, "warnings", NULL, &warnings);
}

int summary_print(const struct summary *summary, const struct summary_run *run, enum answer_form form, FILE *out,
                  FILE *err, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, "metrics");
    (answer_is_data(form) ? write_out : show)(summary, run, &answer);
    const int code = answer_end(&answer, 0, out, diag);
    if (code != 0 || form != ANSWER_CSV) return code;
    answer_init(&answer, ANSWER_TEXT, NULL);
    add_warnings(summary, &answer);
    return answer_end(&answer, 0, err, diag);
}
