#include "sim/cli/run/summary.h"

#include "analysis/intervals.h"
#include "analysis/report/caution.h"
#include "analysis/report/words.h"
#include "sim/cli/answer.h"
#include "sim/cli/run/summary_groups.h"
#include "sim/core/err.h"
#include "sim/core/vec.h"
#include "sim/world/rows/metric.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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
    mem_free(summary->unended);
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

static struct trend *open_trend(struct arena *arena)
{
    struct trend *trend = arena_alloc(arena, sizeof *trend);
    if (trend != NULL) trend_init_open(trend);
    return trend;
}

/* NULL: too many services, or out of memory; then *failed. */
static struct trend *find_queue(struct summary *summary, const char *service, bool *failed)
{
    size_t i = 0;
    while (i < summary->n_services && strcmp(summary->services[i].service, service) != 0) i++;
    if (i == SUMMARY_MAX_SERVICES) return NULL;
    struct summary_queue *queue = &summary->services[i];
    if (i < summary->n_services) return queue->trend;
    *queue = (struct summary_queue){arena_strdup(&summary->arena, service), open_trend(&summary->arena)};
    *failed = queue->service == NULL || queue->trend == NULL;
    if (*failed) return NULL;
    summary->n_services++;
    return queue->trend;
}

/* A request that was never scheduled waits until the end, which is known later. */
static int catch_request(void *context, const struct request_row *row)
{
    bool failed = false;
    if (strcmp(row->status, "rejected") == 0) return 0;
    struct trend *trend = find_queue(context, row->service, &failed);
    const bool is_left = isnan(row->queue_s);
    if (trend != NULL) trend_add(trend, row->arrival_s, is_left ? -row->arrival_s : row->queue_s, is_left);
    return failed ? SIM_E_NOMEM : 0;
}

static int catch_job(void *context, const struct job_row *row)
{
    struct summary *summary = context;
    if (strcmp(row->status, "rejected") == 0) return 0;
    if (summary->jobs == NULL) summary->jobs = open_trend(&summary->arena);
    if (summary->jobs == NULL) return SIM_E_NOMEM;
    const bool is_left = isnan(row->start_s);
    trend_add(summary->jobs, row->submit_s, is_left ? -row->submit_s : row->start_s - row->submit_s, is_left);
    struct verdict_submissions *submissions = &summary->submissions;
    submissions->first_s = submissions->n > 0 ? fmin(submissions->first_s, row->submit_s) : row->submit_s;
    submissions->last_s = submissions->n++ > 0 ? fmax(submissions->last_s, row->submit_s) : row->submit_s;
    const double held_s = row->gpus > 0 ? row->gpu_s / (double)row->gpus : 0;
    submissions->held_s += held_s;
    if (strcmp(row->status, "unfinished") != 0) return 0;
    const struct unended_job job = {row->submit_s, held_s};
    return vec_push(&summary->unended, &summary->n_unended, &summary->unended_capacity, job);
}

struct sink summary_sink(struct summary *summary, bool takes_rows)
{
    return (struct sink){.context = summary,
                         .metric = catch_metric,
                         .request = takes_rows ? catch_request : NULL,
                         .job = takes_rows ? catch_job : NULL,
                         .warning = catch_warning};
}

/* --- Warnings that follow from the numbers --- */

static double find_value(const void *context, const char *name)
{
    const struct summary *summary = context;
    for (size_t i = 0; i < summary->n_metrics; i++)
        if (strcmp(summary->metrics[i].name, name) == 0) return summary->metrics[i].value;
    return (double)NAN;
}

static struct trend_growth end_trend(struct trend *trend, double end_s)
{
    trend_end(trend, end_s);
    return trend_growth(trend);
}

/* Adds them to the warnings that the run emitted. Returns 0 or SIM_E_NOMEM. */
static int add_cautions(struct summary *summary, const struct summary_run *run)
{
    struct caution cautions[CAUTIONS_MAX];
    struct verdict_trend services[SUMMARY_MAX_SERVICES];
    struct trend_growth jobs;
    const double end_s = find_value(summary, "sim.end_s");
    for (size_t i = 0; i < summary->n_services; i++)
        services[i] =
            (struct verdict_trend){summary->services[i].service, end_trend(summary->services[i].trend, end_s)};
    if (summary->jobs != NULL) jobs = end_trend(summary->jobs, end_s);
    const struct verdict_facts facts = {.status = run->status, .metric = find_value, .context = summary,
                                        .n_services = summary->n_services, .services = services,
                                        .jobs = summary->jobs != NULL ? &jobs : NULL,
                                        .submissions = summary->submissions, .warmup_s = run->warmup_s,
                                        .oracle = run->oracle};
    const size_t n = cautions_find(&facts, cautions);
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        code = catch_warning(summary, &(struct warning_row){.t_s = end_s, .code = cautions[i].code,
                                                            .text = cautions[i].text, .count = 1});
    return code;
}

/* --- For people --- */

/* Counts and fractions show no unit. */
static const char *shown_unit(const struct metric_row *metric)
{
    return strcmp(metric->unit, "1") != 0 ? metric->unit : NULL;
}

/* The parts of a distribution (metric_emit_distribution): the columns of the first table. */
static const char *const parts[] = {"mean", "p50", "p90", "p95", "p99", "max"};
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

static void add_distributions(const struct summary *summary, bool all, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("metric"), RIGHT("mean"), RIGHT("p50"), RIGHT("p90"),
                                                  RIGHT("p95"),   RIGHT("p99"),  RIGHT("max"), LEFT("unit")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_row *metric = &summary->metrics[i];
        const struct part_name of = split_name(metric->name);
        if (!is_distribution(summary, &of) || !is_first_part(summary, i, &of)) continue;
        if (!all && !summary_shows(of.base, of.base_bytes, of.entity)) continue;
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

static void say_subject(const struct subject *subject, struct answer *answer)
{
    struct text said;
    text_init(&said);
    subject_say(subject, &said);
    if (said.length > 0) answer_say(answer, "%s", said.chars);
    answer->failed |= said.failed;
    text_fini(&said);
}

/* Jobs that have not ended are in no time of the table: whether some have waited longer than any that has. Those that
 * change their number of GPUs have waited about so long. */
static void say_unended(const struct summary *summary, double warmup_s, struct text *said)
{
    const double end_s = find_value(summary, "sim.end_s"), most_s = find_value(summary, "job.wait_s.max");
    double longest_s = 0;
    size_t n = 0;
    for (size_t i = 0; i < summary->n_unended; i++) {
        const struct unended_job *job = &summary->unended[i];
        const double wait_s = end_s - job->submit_s - job->held_s;
        if (job->submit_s < warmup_s || !(wait_s > most_s + 1e-3)) continue;
        longest_s = fmax(longest_s, wait_s);
        n++;
    }
    char words[WORDS_CHARS];
    if (n > 0)
        text_printf(said,
                    ", of which %zu %s waited up to %s, longer than job.wait_s max (orrery why RESULTS job "
                    "longest-wait)",
                    n, n == 1 ? "has" : "have", words_seconds(longest_s, words));
}

static void say_groups(const struct summary *summary, double warmup_s, const char *price, struct answer *answer)
{
    struct text said;
    struct text unended;
    text_init(&said);
    text_init(&unended);
    say_unended(summary, warmup_s, &unended);
    summary_groups(summary->metrics, summary->n_metrics, warmup_s > 0, unended.length > 0 ? unended.chars : "", price,
                   &said);
    said.failed |= unended.failed;
    text_fini(&unended);
    summary_intervals(&summary->intervals, &said);
    if (said.length > 0) answer_say(answer, "\n%s", said.chars);
    answer->failed |= said.failed;
    text_fini(&said);
}

static void add_intervals(const struct summary *summary, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("metric"), RIGHT("low"), RIGHT("value"), RIGHT("high"),
                                                  LEFT("unit")};
    const struct run_intervals *intervals = &summary->intervals;
    char heading[DIAG_TEXT_CHARS];
    struct answer_table table;
    if (intervals->n == 0) return;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_row *metric = &summary->metrics[i];
        const struct metric_interval *interval = intervals_of(intervals, metric->name);
        if (interval == NULL) continue;
        table_text(&table, metric->name);
        table_number(&table, interval->low);
        table_number(&table, metric->value);
        table_number(&table, interval->high);
        table_text(&table, shown_unit(metric));
    }
    snprintf(heading, sizeof heading, "intervals by the error of the cost models: TPOT of %g %% of %s",
             100 * intervals->share, intervals->basis);
    answer_add(answer, NULL, heading, &table);
}

/* What a warm-up leaves out. */
static void say_windows(const struct summary_run *run, struct answer *answer)
{
    char words[WORDS_CHARS];
    if (!(run->warmup_s > 0)) return;
    answer_say(answer,
               "warm-up of %s: times, requests, SLO and intervals are of what comes after it; all else is of the whole "
               "run\n",
               words_seconds(run->warmup_s, words));
}

static void show(const struct summary *summary, const struct summary_run *run, struct answer *answer)
{
    const bool all = run->is_verbose || answer->form == ANSWER_LATEX; /* a paper takes the rows that it wants */
    say_subject(run->subject, answer);
    answer_say(answer, "%s, seed %" PRId64 ": %s\nresult hash %s\n", run->scenario, run->seed, run->status,
               run->result_hash);
    say_windows(run, answer);
    add_distributions(summary, all, answer);
    if (all) {
        add_values(summary, answer);
        add_intervals(summary, answer);
    } else {
        say_groups(summary, run->warmup_s, run->subject->price, answer);
    }
    if (summary->first_warning != NULL) answer_say(answer, "\n");
    add_warnings(summary, answer);
}

/* --- For programs --- */

static void write_intervals(const struct summary *summary, struct answer *answer)
{
    const struct run_intervals *intervals = &summary->intervals;
    if (intervals->n == 0) return;
    answer_open(answer, "intervals", '{');
    answer_number(answer, "share", intervals->share);
    answer_text(answer, "basis", intervals->basis);
    answer_open(answer, "metrics", '{');
    for (size_t i = 0; i < summary->n_metrics; i++) {
        const struct metric_interval *interval = intervals_of(intervals, summary->metrics[i].name);
        if (interval == NULL) continue;
        answer_open_row(answer, interval->name, '[');
        answer_number(answer, NULL, interval->low);
        answer_number(answer, NULL, interval->high);
        answer_close(answer, ']');
    }
    answer_close(answer, '}');
    answer_close(answer, '}');
}

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
    write_intervals(summary, answer);
    TABLE_INIT(&warnings, columns);
    for (const struct summary_warning *warning = summary->first_warning; warning != NULL; warning = warning->next) {
        table_text(&warnings, warning->row.code);
        table_text(&warnings, warning->row.text);
        table_number(&warnings, (double)warning->row.count);
        table_number(&warnings, warning->row.t_s);
    }
    answer_add(answer, "warnings", NULL, &warnings);
}

/* --- The order of metrics --- */

static ptrdiff_t place_of(const struct metric_row *metric)
{
    const struct metric_def *def = metric_find(metric->name);
    return def != NULL ? def - metric_dictionary : PTRDIFF_MAX;
}

/* By the dictionary, then by name: results files keep no other order, so a stored run prints as it did at first. */
static int compare_metrics(const void *left, const void *right)
{
    const struct metric_row *a = left, *b = right;
    const ptrdiff_t place_a = place_of(a), place_b = place_of(b);
    if (place_a != place_b) return place_a < place_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

int summary_print(struct summary *summary, const struct summary_run *run, enum answer_form form, FILE *out, FILE *err,
                  struct diag *diag)
{
    struct answer answer;
    if (add_cautions(summary, run) != 0) return diag_nomem(diag);
    if (summary->n_metrics > 0) qsort(summary->metrics, summary->n_metrics, sizeof *summary->metrics, compare_metrics);
    answer_init(&answer, form, "metrics");
    (answer_is_data(form) ? write_out : show)(summary, run, &answer);
    const int code = answer_end(&answer, 0, out, diag);
    if (code != 0 || form != ANSWER_CSV) return code;
    answer_init(&answer, ANSWER_TEXT, NULL);
    add_warnings(summary, &answer);
    return answer_end(&answer, 0, err, diag);
}
