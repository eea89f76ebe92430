#include "analysis/replicates.h"

#include "analysis/query.h"
#include "sim/core/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LEAST_SHARE_OF_MEAN = 0.1; /* of arrivals in a window */

/* "7 d", "60 h": the largest unit of which it is a whole number, else seconds. */
static void show_length(double length_s, char text[REPLICATES_CHARS])
{
    static const struct {
        const char *name;
        double s;
    } units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && fmod(length_s, units[i].s) > 0) i++;
    snprintf(text, REPLICATES_CHARS, "%.4g %s", length_s / units[i].s, units[i].name);
}

int replicates_read(const struct database *database, struct arena *arena, struct replicates *replicates,
                    struct diag *diag)
{
    static const char sql[] =
        "SELECT DISTINCT json_extract(tree.value, '$.method') AS method,\n"
        "  json_extract(tree.value, '$.length') AS length\n"
        "FROM run, json_tree(CASE WHEN json_valid(run.scenario) THEN run.scenario ELSE '{}' END) AS tree\n"
        "WHERE instr(run.scenario, '\"replicate\"') > 0 AND tree.key = 'replicate' AND tree.type = 'object'\n"
        "AND json_type(tree.value, '$.method') = 'text' AND json_type(tree.value, '$.length') = 'text'\n"
        "ORDER BY method, length";
    static const char recorded[] = "SELECT EXISTS (SELECT 1 FROM metric_recorded)";
    struct query_answer answer;
    *replicates = (struct replicates){.method = REPLICATES_NONE};
    int code = query_run(database, sql, NULL, 0, "read the study", arena, &answer, diag);
    if (code != 0 || answer.n_rows == 0) return code;
    const char *const *methods = answer.columns[0].texts, *const *lengths = answer.columns[1].texts, *why;
    double length_s;
    replicates->method = strcmp(methods[0], "windows") == 0 ? REPLICATES_WINDOWS : REPLICATES_BLOCKS;
    if (answer.n_rows == 1 && unit_parse(lengths[0], UNIT_TIME, &length_s, &why) == 0)
        show_length(length_s, replicates->length);
    code = query_run(database, recorded, NULL, 0, "read the study", arena, &answer, diag);
    if (code == 0) replicates->has_recorded = answer.columns[0].numbers[0] > 0;
    return code;
}

const char *replicates_parts(const struct replicates *replicates, char text[REPLICATES_CHARS])
{
    const bool has_length = replicates->length[0] != 0;
    snprintf(text, REPLICATES_CHARS, "%s%s%.24s", replicates->method == REPLICATES_WINDOWS ? "windows" : "blocks",
             has_length ? " of " : "", replicates->length);
    return text;
}

struct interval replicates_interval(const struct replicates *replicates, double *values, size_t n, double level)
{
    if (replicates->method == REPLICATES_BLOCKS) return stats_replicate_interval(values, n, level, NULL);
    if (replicates->method == REPLICATES_WINDOWS) return stats_mean_interval(values, n, level);
    return (struct interval){(double)NAN, (double)NAN, (double)NAN};
}

bool replicates_compares(const struct replicates *replicates, const char *metric)
{
    static const char *const ends[] = {".mean", ".p50", ".p90", ".p95", ".p99", "_frac", "_util", "_per_s", "_per_h"};
    const size_t n = strcspn(metric, "[");
    if (replicates->method != REPLICATES_WINDOWS) return replicates->method == REPLICATES_BLOCKS;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n_end = strlen(ends[i]);
        if (n >= n_end && strncmp(metric + n - n_end, ends[i], n_end) == 0) return true;
    }
    return false;
}

double replicates_beyond(const struct interval *interval, double recorded)
{
    const double width = interval->high - interval->low;
    if (isnan(recorded) || !(width > 0)) return 0;
    return fmax(0, fmax(recorded - interval->high, interval->low - recorded) / width);
}

size_t replicates_sparse(const double *arrivals, size_t n)
{
    double sum = 0;
    size_t least = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(arrivals[i])) return n;
        if (arrivals[i] < arrivals[least]) least = i;
        sum += arrivals[i];
    }
    return n > 1 && arrivals[least] < LEAST_SHARE_OF_MEAN * sum / (double)n ? least : n;
}

int replicates_find_sparse(const struct database *database, const struct replicates *replicates, struct arena *arena,
                           struct replicates_sparse_window *sparse, struct diag *diag)
{
    static const char sql[] =
        "SELECT run.seed, max(metric.value) FROM run JOIN metric ON metric.run_id = run.id\n"
        "WHERE run.status = 'done' AND metric.name =\n"
        "  iif(EXISTS (SELECT 1 FROM metric WHERE name = 'request.arrived'), 'request.arrived', 'job.submitted')\n"
        "GROUP BY run.seed ORDER BY run.seed";
    struct query_answer answer;
    *sparse = (struct replicates_sparse_window){.is_found = false};
    if (replicates->method != REPLICATES_WINDOWS) return 0;
    const int code = query_run(database, sql, NULL, 0, "read the study", arena, &answer, diag);
    if (code != 0) return code;
    const double *arrivals = answer.columns[1].numbers;
    const size_t least = replicates_sparse(arrivals, answer.n_rows);
    if (least == answer.n_rows) return 0;
    sparse->is_found = true;
    sparse->seed = (int64_t)answer.columns[0].numbers[least];
    sparse->arrivals = arrivals[least];
    sparse->mean = stats_mean(arrivals, answer.n_rows);
    return 0;
}
