#include "analysis/report/study.h"

#include "sim/core/json_doc.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const well_known[] = {
    "request.ttft_s.p99",  "request.tpot_s.p99",  "service.output_tokens_per_s", "job.jct_s.mean", "cost.usd",
    "energy.j",            "request.e2e_s.p99",   "job.bounded_slowdown.mean",   "job.wait_s.mean",
    "job.makespan_s",      "cluster.gpu_util",    "service.requests_per_s",      "request.finished", "job.finished"};
enum { N_WELL_KNOWN = sizeof well_known / sizeof *well_known };

/* --- Runs --- */

static int read_head(const struct report_source *source, struct study *study)
{
    struct page_query query = {.sql = "SELECT name, question, definition, hash FROM study"};
    struct query_answer answer;
    int code = source_query(source, &query, "read the study", &answer);
    if (code != 0) return code;
    const bool has_study = answer.n_rows > 0;
    study->name = has_study ? query_text(&answer, 0, 0) : "";
    study->question = has_study ? query_text(&answer, 1, 0) : "";
    study->definition = has_study ? query_text(&answer, 2, 0) : "";
    study->hash = has_study ? query_text(&answer, 3, 0) : "";
    return 0;
}

static int read_runs(const struct report_source *source, struct study *study)
{
    struct query_answer answer;
    study->queries[0].sql = "SELECT id, name, seed, status, result_hash FROM run ORDER BY id";
    int code = source_query(source, &study->queries[0], "read the study", &answer);
    if (code != 0) return code;
    study->n_runs = answer.n_rows;
    study->runs = arena_alloc(source->arena, (study->n_runs + 1) * sizeof *study->runs);
    study->points = arena_alloc(source->arena, (study->n_runs + 1) * sizeof *study->points);
    if (study->runs == NULL || study->points == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < study->n_runs; i++) {
        struct study_run *run = &study->runs[i];
        *run = (struct study_run){.id = (int64_t)answer.columns[0].numbers[i], .name = query_text(&answer, 1, i),
                                  .seed = answer.columns[2].numbers[i], .status = query_text(&answer, 3, i),
                                  .result_hash = query_text(&answer, 4, i)};
        for (size_t k = 0; k < STUDY_MAX_METRICS; k++) run->values[k] = (double)NAN;
        study->n_done += strcmp(run->status, "done") == 0;
        study->n_unfit += strcmp(run->status, "unfit") == 0;
    }
    return 0;
}

/* The run of that id, or NULL; runs are in order of their ids. */
static struct study_run *find_run(const struct study *study, double id)
{
    size_t low = 0, high = study->n_runs;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((double)study->runs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < study->n_runs && (double)study->runs[low].id == id ? &study->runs[low] : NULL;
}

/* --- Axes --- */

/* The index of the axis with that key; n_axes if there is none. */
static size_t find_axis(const struct study *study, const char *key)
{
    size_t i = 0;
    while (i < study->n_axes && strcmp(study->axes[i].key, key) != 0) i++;
    return i;
}

/* The index of a value on its axis; a new one is added (there is room for one per run). */
static size_t find_level(struct study_axis *axis, const char *value)
{
    for (size_t i = 0; i < axis->n; i++)
        if (strcmp(axis->values[i], value) == 0) return i;
    axis->values[axis->n] = value;
    return axis->n++;
}

static int add_axis(struct study *study, const char *key, struct arena *arena)
{
    if (study->n_axes == STUDY_MAX_AXES) return 0;
    struct study_axis *axis = &study->axes[study->n_axes++];
    *axis = (struct study_axis){.key = key, .name = key};
    axis->values = arena_alloc(arena, (study->n_runs + 1) * sizeof *axis->values);
    return axis->values != NULL ? 0 : SIM_E_NOMEM;
}

/* All values as numbers of one dimension. */
static bool parse_all(const struct study_axis *axis, enum unit_dim dim, double *numbers)
{
    const char *why;
    for (size_t i = 0; i < axis->n; i++)
        if (unit_parse(axis->values[i], dim, &numbers[i], &why) != 0) return false;
    return axis->n > 0;
}

static int number_axis(struct study_axis *axis, struct arena *arena)
{
    double *numbers = arena_alloc(arena, (axis->n + 1) * sizeof *numbers);
    if (numbers == NULL) return SIM_E_NOMEM;
    for (int dim = 0; dim < UNIT_DIM_COUNT && axis->numbers == NULL; dim++)
        if (parse_all(axis, (enum unit_dim)dim, numbers)) {
            axis->numbers = numbers;
            axis->dim = (enum unit_dim)dim;
        }
    return 0;
}

/* The shortest end of a dotted key that no other key ends with. */
static void name_axis(const struct study *study, struct study_axis *axis)
{
    const char *end = axis->key + strlen(axis->key);
    for (const char *start = end; start > axis->key;) {
        while (start > axis->key && start[-1] != '.') start--;
        size_t n_alike = 0;
        for (size_t i = 0; i < study->n_axes; i++) {
            const size_t n = strlen(study->axes[i].key), n_end = (size_t)(end - start);
            n_alike += n >= n_end && strcmp(study->axes[i].key + n - n_end, start) == 0;
        }
        axis->name = start;
        if (n_alike == 1) return;
        if (start > axis->key) start--;
    }
}

/* The names that the study gives to its axes. */
static int take_names(const struct report_source *source, struct study *study)
{
    struct page_query query = {.sql = "SELECT name.key, name.value FROM study, json_each(study.definition, '$.names') AS name\n"
                                      "WHERE json_valid(study.definition) AND name.type = 'text'"};
    struct query_answer answer;
    const int code = source_query(source, &query, "read the study", &answer);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const size_t axis = find_axis(study, query_text(&answer, 0, i));
        if (axis < study->n_axes) study->axes[axis].name = query_text(&answer, 1, i);
    }
    return code;
}

/* Values of all runs, a row of STUDY_MAX_AXES each; NULL where a run does not have the key. In the arena. */
static const char **fill_cells(const struct study *study, const struct query_answer *answer, struct arena *arena)
{
    const char **cells = arena_alloc(arena, (study->n_runs * STUDY_MAX_AXES + 1) * sizeof *cells);
    for (size_t i = 0; cells != NULL && i < answer->n_rows; i++) {
        const struct study_run *run = find_run(study, answer->columns[0].numbers[i]);
        const size_t axis = find_axis(study, query_text(answer, 1, i));
        if (run != NULL && axis < study->n_axes)
            cells[(size_t)(run - study->runs) * STUDY_MAX_AXES + axis] = query_text(answer, 2, i);
    }
    return cells;
}

static void place_run(struct study *study, struct study_run *run, const char *const *cells)
{
    struct study_point point = {0};
    for (size_t a = 0; a < study->n_axes; a++)
        point.levels[a] = find_level(&study->axes[a], cells[a] != NULL ? cells[a] : "");
    size_t k = 0;
    while (k < study->n_points && !study_same(study, &study->points[k], &point, ~0U)) k++;
    if (k == study->n_points) study->points[study->n_points++] = point;
    run->point = k;
    study->points[k].n_unfit += strcmp(run->status, "unfit") == 0;
}

/* The values as tables show them. */
static int brief_axis(struct study_axis *axis, struct arena *arena)
{
    for (size_t i = 0; i < axis->n; i++)
        if ((axis->values[i] = json_brief(axis->values[i], arena)) == NULL) return SIM_E_NOMEM;
    return 0;
}

/* Reads the axes, in order of first mention. A key that a run does not vary has the empty value. */
static int read_axes(const struct report_source *source, struct study *study)
{
    struct query_answer answer;
    study->queries[1].sql = "SELECT run_id, key, value FROM param ORDER BY run_id, key";
    int code = source_query(source, &study->queries[1], "read the study", &answer);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++)
        if (find_axis(study, query_text(&answer, 1, i)) == study->n_axes)
            code = add_axis(study, query_text(&answer, 1, i), source->arena);
    const char **cells = code == 0 ? fill_cells(study, &answer, source->arena) : NULL;
    if (code != 0 || cells == NULL) return code != 0 ? code : SIM_E_NOMEM;
    for (size_t i = 0; i < study->n_runs; i++) place_run(study, &study->runs[i], cells + i * STUDY_MAX_AXES);
    for (size_t a = 0; code == 0 && a < study->n_axes; a++) {
        name_axis(study, &study->axes[a]);
        code = number_axis(&study->axes[a], source->arena);
        if (code == 0) code = brief_axis(&study->axes[a], source->arena);
    }
    return code == 0 ? take_names(source, study) : code;
}

/* --- Metrics --- */

static void add_metric(const struct report_source *source, struct study *study, const char *name, const char *unit)
{
    const struct report_metric *known = source_define(source->options, name);
    study->metrics[study->n_metrics++] = (struct study_metric){
        .name = name, .unit = unit, .heading = name, .direction = known != NULL ? known->direction : REPORT_NEUTRAL};
}

static size_t find_name(const struct query_answer *names, const char *name)
{
    size_t i = 0;
    while (i < names->n_rows && strcmp(query_text(names, 0, i), name) != 0) i++;
    return i;
}

static int choose_asked(const struct report_source *source, struct study *study, const struct query_answer *names)
{
    const struct report_options *options = source->options;
    for (size_t i = 0; i < options->n_metrics && study->n_metrics < STUDY_MAX_METRICS; i++) {
        const size_t row = find_name(names, options->metrics[i]);
        if (row == names->n_rows)
            return diag_error(source->diag, SIM_E_USAGE, options->path, NULL, "no run has a metric '%s'",
                              options->metrics[i]);
        add_metric(source, study, query_text(names, 0, row), query_text(names, 1, row));
    }
    return 0;
}

/* Chooses the metrics that the study's "show" lists and its runs have. */
static int choose_shown(const struct report_source *source, struct study *study, const struct query_answer *names)
{
    struct page_query query = {.sql = "SELECT shown.value FROM study, json_each(study.definition, '$.show') AS shown\n"
                                      "WHERE json_valid(study.definition)"};
    struct query_answer answer;
    int code = source_query(source, &query, "read the study", &answer);
    for (size_t i = 0; code == 0 && i < answer.n_rows && study->n_metrics < STUDY_MAX_METRICS; i++) {
        const size_t row = find_name(names, query_text(&answer, 0, i));
        if (row < names->n_rows) add_metric(source, study, query_text(names, 0, row), query_text(names, 1, row));
    }
    return code;
}

/* Chooses well-known metrics that differ between runs; if none does, those that exist. */
static void choose_known(const struct report_source *source, struct study *study, const struct query_answer *names)
{
    for (int differ = 1; differ >= 0 && study->n_metrics == 0; differ--)
        for (size_t i = 0; i < N_WELL_KNOWN && study->n_metrics < STUDY_DEFAULT_METRICS; i++) {
            const size_t row = find_name(names, well_known[i]);
            if (row == names->n_rows) continue;
            if (!differ || names->columns[2].numbers[row] < names->columns[3].numbers[row])
                add_metric(source, study, query_text(names, 0, row), query_text(names, 1, row));
        }
}

static int choose_metrics(const struct report_source *source, struct study *study)
{
    struct page_query query = {
        .sql = "SELECT name, min(unit), min(value), max(value) FROM metric GROUP BY name ORDER BY name"};
    struct query_answer names;
    int code = source_query(source, &query, "read the study", &names);
    if (code != 0) return code;
    if (source->options->n_metrics > 0) return choose_asked(source, study, &names);
    code = choose_shown(source, study, &names);
    if (code == 0 && study->n_metrics == 0) choose_known(source, study, &names);
    return code;
}

/* "SELECT run_id, name, value FROM metric WHERE name IN ('a', 'b') ORDER BY run_id, name" */
static const char *metrics_sql(const struct study *study, struct arena *arena)
{
    const char *list = "";
    for (size_t i = 0; i < study->n_metrics && list != NULL; i++)
        list = arena_printf(arena, "%s%s'%s'", list, i > 0 ? ", " : "", study->metrics[i].name);
    if (list == NULL) return NULL;
    return arena_printf(arena, "SELECT run_id, name, value FROM metric\nWHERE name IN (%s) ORDER BY run_id, name",
                        list);
}

static int read_values(const struct report_source *source, struct study *study)
{
    struct query_answer answer;
    study->queries[2].sql = metrics_sql(study, source->arena);
    int code = source_query(source, &study->queries[2], "read the study", &answer);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        struct study_run *run = find_run(study, answer.columns[0].numbers[i]);
        for (size_t k = 0; run != NULL && k < study->n_metrics; k++)
            if (strcmp(study->metrics[k].name, query_text(&answer, 1, i)) == 0)
                run->values[k] = answer.columns[2].numbers[i];
    }
    return code;
}

/* Runs in order of their points: those of point p are at starts[p] .. starts[p + 1]. */
struct by_point {
    size_t *starts;
    struct study_run **runs;
};

static int sort_by_point(const struct study *study, struct arena *arena, struct by_point *sorted)
{
    sorted->starts = arena_alloc(arena, (study->n_points + 3) * sizeof *sorted->starts);
    sorted->runs = arena_alloc(arena, (study->n_runs + 1) * sizeof *sorted->runs);
    if (sorted->starts == NULL || sorted->runs == NULL) return SIM_E_NOMEM;
    size_t *ends = sorted->starts + 1; /* at first the start of point p; its end after its runs are placed */
    for (size_t i = 0; i < study->n_runs; i++) ends[study->runs[i].point + 1]++;
    for (size_t p = 0; p < study->n_points; p++) ends[p + 1] += ends[p];
    for (size_t i = 0; i < study->n_runs; i++) sorted->runs[ends[study->runs[i].point]++] = &study->runs[i];
    return 0;
}

/* Marks the runs of a point of which all have one result, but the first. Where seeds have an effect, equal results are
 * values like others. */
static void mark_copies(struct study *study, const struct by_point *by_point, size_t p)
{
    const struct study_run *first = NULL;
    bool is_same = true;
    for (size_t i = by_point->starts[p]; i < by_point->starts[p + 1]; i++) {
        const struct study_run *run = by_point->runs[i];
        if (strcmp(run->status, "done") != 0 || run->result_hash[0] == 0) continue;
        if (first == NULL) first = run;
        is_same &= strcmp(run->result_hash, first->result_hash) == 0;
    }
    for (size_t i = by_point->starts[p]; is_same && i < by_point->starts[p + 1]; i++) {
        struct study_run *run = by_point->runs[i];
        if (strcmp(run->status, "done") != 0 || run->result_hash[0] == 0 || run == first) continue;
        run->is_copy = true;
        study->n_copies++;
    }
}

struct interval study_interval(const struct study *study, double *values, size_t n, double level)
{
    return study->is_bootstrap ? stats_replicate_interval(values, n, level, NULL)
                               : stats_mean_interval(values, n, level);
}

static void average_point(struct study *study, const struct by_point *sorted, size_t p, double *values)
{
    struct study_point *point = &study->points[p];
    point->n_runs = 0;
    for (size_t k = 0; k < study->n_metrics; k++) {
        size_t n = 0;
        for (size_t i = sorted->starts[p]; i < sorted->starts[p + 1]; i++)
            if (!isnan(sorted->runs[i]->values[k]) && !sorted->runs[i]->is_copy)
                values[n++] = sorted->runs[i]->values[k];
        point->metrics[k] = study_interval(study, values, n, 0.95);
        if (n == 0) point->metrics[k].mean = (double)NAN;
        if (n > point->n_runs) point->n_runs = n;
    }
}

int study_average(struct study *study, struct arena *arena)
{
    struct by_point sorted;
    double *values = arena_alloc(arena, (study->n_runs + 1) * sizeof *values);
    if (values == NULL || sort_by_point(study, arena, &sorted) != 0) return SIM_E_NOMEM;
    for (size_t p = 0; p < study->n_points; p++) average_point(study, &sorted, p, values);
    return 0;
}

static int mark_all_copies(struct study *study, struct arena *arena)
{
    struct by_point sorted;
    if (sort_by_point(study, arena, &sorted) != 0) return SIM_E_NOMEM;
    for (size_t p = 0; p < study->n_points; p++) mark_copies(study, &sorted, p);
    return 0;
}

int study_read(const struct report_source *source, struct study *study)
{
    memset(study, 0, sizeof *study);
    int code = read_head(source, study);
    if (code == 0) code = read_runs(source, study);
    if (code == 0) code = replicates_read(source->database, source->arena, &study->replicates, source->diag);
    study->is_bootstrap = study->replicates.method == REPLICATES_BLOCKS;
    if (code == 0) code = read_axes(source, study);
    if (code == 0) code = choose_metrics(source, study);
    if (code == 0) code = read_values(source, study);
    if (code == 0) code = mark_all_copies(study, source->arena);
    if (code == 0) code = study_average(study, source->arena);
    return code == 0 ? study_read_recorded(source, study) : code;
}

/* --- What is asked of points --- */

const char *study_label(const struct study *study, const struct study_point *point, unsigned mask, struct arena *arena)
{
    const char *label = "";
    for (size_t a = 0; a < study->n_axes && label != NULL; a++) {
        if ((mask >> a & 1) == 0) continue;
        const char *value = study->axes[a].values[point->levels[a]];
        label = arena_printf(arena, "%s%s%s=%s", label, label[0] != 0 ? ", " : "", study->axes[a].name,
                             value[0] != 0 ? value : "as given");
    }
    return label;
}

const char *study_axis_name(const struct study *study, const char *key)
{
    const size_t i = find_axis(study, key);
    return i < study->n_axes ? study->axes[i].name : key;
}

bool study_same(const struct study *study, const struct study_point *a, const struct study_point *b, unsigned mask)
{
    for (size_t i = 0; i < study->n_axes; i++)
        if ((mask >> i & 1) != 0 && a->levels[i] != b->levels[i]) return false;
    return true;
}

bool study_is_better(const struct study_metric *metric, double a, double b)
{
    if (metric->direction == REPORT_LOWER) return a < b;
    return metric->direction == REPORT_HIGHER && a > b;
}

static bool beats(const struct study *study, const struct study_point *p, const struct study_point *q, size_t a,
                  size_t b)
{
    const double pa = p->metrics[a].mean, qa = q->metrics[a].mean, pb = p->metrics[b].mean, qb = q->metrics[b].mean;
    const bool better_a = study_is_better(&study->metrics[a], pa, qa),
               worse_a = study_is_better(&study->metrics[a], qa, pa);
    const bool better_b = study_is_better(&study->metrics[b], pb, qb),
               worse_b = study_is_better(&study->metrics[b], qb, pb);
    return (better_a || better_b) && !worse_a && !worse_b;
}

size_t study_front(const struct study *study, size_t metric_a, size_t metric_b, bool *on_front)
{
    size_t n = 0;
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        on_front[p] = !isnan(point->metrics[metric_a].mean) && !isnan(point->metrics[metric_b].mean);
        for (size_t q = 0; q < study->n_points && on_front[p]; q++)
            on_front[p] = !beats(study, &study->points[q], point, metric_a, metric_b);
        n += on_front[p];
    }
    return n;
}
