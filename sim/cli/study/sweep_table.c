#include "sim/cli/study/sweep_table.h"

#include "analysis/query.h"
#include "analysis/stats/stats.h"
#include "sim/cli/study/sweep_view.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <string.h>

/* Metrics shown, where the runs have them, if the study names none. */
static const char *const usual_metrics[] = {"request.ttft_s.p99", "request.tpot_s.p99", "request.finished",
                                            "job.jct_s.mean",     "job.finished",       "cluster.gpu_util"};
enum { N_USUAL = sizeof usual_metrics / sizeof *usual_metrics };

/* Writes the values at a point as a member: {"services.chat.replicas": 2}. */
static void write_params(const struct study *study, size_t point, struct answer *answer)
{
    struct arena arena;
    arena_init(&arena);
    const char *params = outcome_point(study, point, &arena);
    answer->failed |= params == NULL;
    answer_json(answer, "params", params != NULL ? params : "");
    arena_fini(&arena);
}

/* --- The list of runs --- */

static void write_runs(const struct study *study, struct answer *answer)
{
    answer_open(answer, NULL, '[');
    for (size_t i = 0; i < study->n_runs; i++) {
        answer_open_row(answer, NULL, '{');
        answer_number(answer, study->search != NULL ? "point" : "run", (double)i + 1);
        write_params(study, i / study->n_seeds, answer);
        answer_number(answer, "seed", (double)study->seeds[i % study->n_seeds]);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
}

static void show_runs(const struct study *study, struct answer *answer)
{
    struct sweep_columns columns = {0};
    struct answer_table table;
    struct arena arena;
    char heading[DIAG_TEXT_CHARS];
    arena_init(&arena);
    if (study->search != NULL)
        snprintf(heading, sizeof heading, "a search for '%s': at each point and seed at most %zu runs",
                 study->search->key, search_max_steps(study->search));
    else
        sweep_add_column(&columns, "run", COLUMN_RIGHT);
    sweep_add_keys(&columns, study, &arena);
    sweep_add_column(&columns, "seed", COLUMN_RIGHT);
    table_init(&table, columns.columns, columns.n);
    for (size_t i = 0; i < study->n_runs; i++) {
        if (study->search == NULL) table_number(&table, (double)i + 1);
        sweep_add_values(&columns, &table, study, i / study->n_seeds, &arena);
        table_number(&table, (double)study->seeds[i % study->n_seeds]);
    }
    answer_add(answer, NULL, study->search != NULL ? heading : NULL, &table);
    sweep_say_common(&columns, study, answer);
    sweep_say_left_out(study, 0, answer);
    arena_fini(&arena);
}

int sweep_table_runs(const struct study *study, enum answer_form form, FILE *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    (answer_is_data(form) ? write_runs : show_runs)(study, &answer);
    return answer_end(&answer, 0, out, diag);
}

/* --- Results --- */

/* Marks the runs of a point of which all have one result, but the first: they are no repetitions. Where seeds have an
 * effect, equal results are values like others, such as those of runs without a failure. */
static int mark_copies(struct sweep_view *view)
{
    const struct study *study = view->study;
    const struct merge_run **runs = mem_alloc((study->n_seeds + 1) * sizeof *runs);
    view->is_copy = arena_alloc(&view->arena, (view->merge.n_runs + 1) * sizeof *view->is_copy);
    const bool has_memory = runs != NULL && view->is_copy != NULL;
    if (has_memory) memset(view->is_copy, 0, view->merge.n_runs * sizeof *view->is_copy);
    for (size_t point = 0; has_memory && point < study->n_points; point++) {
        size_t n = 0;
        for (size_t seed = 0; seed < study->n_seeds; seed++) {
            const struct merge_run *run = merge_find(&view->merge, outcome_run_id(study, point, 0, seed));
            if (run != NULL && !run->failed && !run->unfit && run->result_hash[0] != 0) runs[n++] = run;
        }
        size_t n_same = 0;
        while (n_same < n && strcmp(runs[n_same]->result_hash, runs[0]->result_hash) == 0) n_same++;
        for (size_t i = 1; i < n && n_same == n; i++) view->is_copy[runs[i] - view->merge.runs] = true;
        view->n_copies += n_same == n && n > 1 ? n - 1 : 0;
    }
    mem_free(runs);
    if (!has_memory) return diag_nomem(view->diag);
    if (view->n_copies > 0)
        diag_warning(view->diag, NULL,
                     "a trace from a file is the same under each seed, \"replicate\" makes others of it",
                     "seeds without effect: %zu of %zu runs have the result of another seed at their point, and count "
                     "once with it",
                     view->n_copies, view->merge.n_runs);
    return 0;
}

/* The seeds of a point. n_done: with results of their own. */
struct seeds {
    size_t n_done, n_failed, n_unfit;
};

static struct seeds count_seeds(const struct sweep_view *view, size_t point)
{
    struct seeds seeds = {0};
    for (size_t seed = 0; seed < view->study->n_seeds; seed++) {
        const struct merge_run *run = merge_find(&view->merge, outcome_run_id(view->study, point, 0, seed));
        if (run == NULL) continue;
        seeds.n_unfit += run->unfit;
        seeds.n_failed += run->failed;
        seeds.n_done += !run->failed && !run->unfit && !view->is_copy[run - view->merge.runs];
    }
    return seeds;
}

/* Whether a point meets the conditions of the front, and what is to be said of it: "" of one whose runs are done and
 * have the metrics of the conditions. */
struct verdict {
    const char *meets; /* "yes", "no"; NULL: nobody knows */
    const char *note;
};

static int judge(const struct sweep_view *view, size_t point, const struct seeds *seeds, struct arena *arena,
                 struct verdict *verdict)
{
    bool meets;
    const char *absent;
    const int code = outcome_meets(&view->merge, view->study, point, &meets, &absent, view->diag);
    *verdict = (struct verdict){.note = ""};
    if (code != 0) return code;
    if (seeds->n_done > 0 && absent == NULL) verdict->meets = meets ? "yes" : "no";
    if (seeds->n_failed > 0)
        verdict->note = "failed";
    else if (seeds->n_unfit > 0)
        verdict->note = "does not fit";
    else if (absent != NULL && seeds->n_done > 0)
        verdict->note = arena_printf(arena, "%s is absent", absent);
    return verdict->note != NULL ? 0 : diag_nomem(view->diag);
}

static const double INTERVAL_LEVEL = 0.95;

/* Seeds that replicate no trace are independent runs. */
static struct interval interval_of(const struct sweep_view *view, double *values, size_t n)
{
    if (view->replicates.method == REPLICATES_NONE) return stats_mean_interval(values, n, INTERVAL_LEVEL);
    return replicates_interval(&view->replicates, values, n, INTERVAL_LEVEL);
}

int sweep_find_mean(const struct sweep_view *view, size_t point, const char *metric, struct interval *found)
{
    const struct study *study = view->study;
    const struct seeds seeds = count_seeds(view, point);
    double sum = 0, *values = mem_alloc((study->n_seeds + 1) * sizeof *values);
    size_t n = 0;
    int code = values != NULL ? 0 : diag_nomem(view->diag);
    *found = (struct interval){(double)NAN, (double)NAN, (double)NAN};
    for (size_t seed = 0; code == 0 && seed < study->n_seeds; seed++) {
        double value = 0;
        const struct merge_run *run = merge_find(&view->merge, outcome_run_id(study, point, 0, seed));
        if (run == NULL || run->failed || run->unfit || view->is_copy[run - view->merge.runs]) continue;
        code = merge_metric(&view->merge, run, metric, &value, view->diag);
        sum += value;
        values[n++] = value;
    }
    if (code == 0 && n > 1 && !isnan(sum)) *found = interval_of(view, values, n);
    found->mean = seeds.n_done > 0 ? sum / (double)seeds.n_done : (double)NAN;
    mem_free(values);
    return code;
}

/* The usual metrics that a point has. */
static int choose_usual(struct sweep_view *view)
{
    int code = 0;
    const char **metrics = arena_alloc(&view->arena, N_USUAL * sizeof *metrics);
    if (metrics == NULL) return diag_nomem(view->diag);
    view->metrics = metrics;
    for (size_t i = 0; code == 0 && i < N_USUAL; i++) {
        struct interval found = {.mean = (double)NAN};
        for (size_t point = 0; code == 0 && isnan(found.mean) && point < view->n_rows; point++)
            code = sweep_find_mean(view, point, usual_metrics[i], &found);
        if (!isnan(found.mean)) metrics[view->n_metrics++] = usual_metrics[i];
    }
    return code;
}

/* "0.43 (0.40 .. 0.47), recorded 0.49" */
static void add_interval(struct answer_table *table, const struct interval *found, double recorded)
{
    char mean[32], low[32], high[32], value[32], shown[192];
    text_show_number(found->mean, mean, sizeof mean);
    text_show_number(found->low, low, sizeof low);
    text_show_number(found->high, high, sizeof high);
    text_show_number(recorded, value, sizeof value);
    snprintf(shown, sizeof shown, "%s (%s .. %s)%s%s", mean, low, high, isnan(recorded) ? "" : ", recorded ",
             isnan(recorded) ? "" : value);
    table_shown(table, found->mean, shown);
}

/* "kept" or "missed": whether the first seed meets the conditions with slow times; NULL: it has no intervals. */
static int find_slow_end(const struct sweep_view *view, size_t point, const char **found)
{
    const struct study *study = view->study;
    const struct merge_run *run = merge_find(&view->merge, outcome_run_id(study, point, 0, 0));
    int code = 0;
    *found = NULL;
    for (size_t i = 0; code == 0 && run != NULL && i < study->n_conditions; i++) {
        double value;
        code = merge_slow(&view->merge, run, study->conditions[i].metric, &value, view->diag);
        if (code != 0 || isnan(value)) {
            *found = NULL;
            return code;
        }
        const bool is_kept = search_meets(&study->conditions[i], value);
        if (!is_kept || *found == NULL) *found = is_kept ? "kept" : "missed";
    }
    return code;
}

static bool has_slow_end(const struct study *study)
{
    return study->n_conditions > 0 && study->has_intervals;
}

/* The title of that column: the conditions may be all about latencies and limits of requests. */
static const char *title_of_meets(const struct study *study)
{
    bool is_slo = true;
    for (size_t i = 0; i < study->n_conditions; i++)
        is_slo &= strncmp(study->conditions[i].metric, "slo.", 4) == 0 ||
                  strncmp(study->conditions[i].metric, "request.", 8) == 0;
    return is_slo ? "keeps SLO" : "meets where";
}

/* Of independent seeds that all have one value, the value says all. */
static bool has_brackets(const struct sweep_view *view, const struct interval *found)
{
    return view->replicates.method == REPLICATES_NONE ? found->low < found->high : !isnan(found->low);
}

static int add_point(const struct sweep_view *view, const struct sweep_columns *columns, size_t point, bool has_notes,
                     struct answer_table *table, struct arena *arena)
{
    const struct seeds seeds = count_seeds(view, point);
    struct verdict verdict;
    int code = judge(view, point, &seeds, arena, &verdict);
    sweep_add_values(columns, table, view->study, point, arena);
    table_number(table, (double)seeds.n_done);
    if (view->study->n_conditions > 0 && verdict.meets == NULL)
        table_undefined(table);
    else if (view->study->n_conditions > 0)
        table_text(table, verdict.meets);
    if (code == 0 && has_slow_end(view->study)) {
        const char *slow_end;
        code = find_slow_end(view, point, &slow_end);
        table_text(table, slow_end != NULL ? slow_end : "-");
    }
    for (size_t i = 0; code == 0 && i < sweep_count_shown(view); i++) {
        struct interval found;
        double recorded = (double)NAN;
        code = sweep_find_mean(view, point, view->metrics[i], &found);
        if (code == 0) code = sweep_find_recorded(view, point, view->metrics[i], &recorded);
        if (isnan(found.mean))
            table_undefined(table);
        else if (has_brackets(view, &found))
            add_interval(table, &found, recorded);
        else
            table_number(table, found.mean);
    }
    if (has_notes) table_text(table, verdict.note);
    return code;
}

/* What brackets are, if the table has any. */
static int say_seeds(const struct sweep_view *view, struct answer *answer)
{
    bool has_any = false;
    int code = 0;
    for (size_t point = 0; code == 0 && !has_any && point < view->n_rows; point++)
        for (size_t i = 0; code == 0 && !has_any && i < sweep_count_shown(view); i++) {
            struct interval found;
            code = sweep_find_mean(view, point, view->metrics[i], &found);
            has_any = code == 0 && has_brackets(view, &found);
        }
    if (has_any)
        answer_say(answer,
                   "in brackets: 95 %% interval of the mean over the seeds, by Student's t, symmetric even past zero\n"
                   "rows share seeds: 'orrery compare' has the interval of a difference\n");
    return code;
}

static int show_points(struct sweep_view *view, struct answer *answer)
{
    const struct study *study = view->study;
    struct sweep_columns columns = {0};
    struct answer_table table;
    struct arena arena;
    bool has_notes = false;
    int code = 0;
    arena_init(&arena);
    for (size_t point = 0; code == 0 && point < view->n_rows; point++) {
        const struct seeds seeds = count_seeds(view, point);
        struct verdict verdict;
        code = judge(view, point, &seeds, &arena, &verdict);
        has_notes |= code == 0 && verdict.note[0] != 0;
    }
    sweep_add_keys(&columns, study, &arena);
    sweep_add_column(&columns, "seeds", COLUMN_RIGHT);
    if (study->n_conditions > 0) sweep_add_column(&columns, title_of_meets(study), COLUMN_LEFT);
    if (has_slow_end(study)) sweep_add_column(&columns, "slow end", COLUMN_LEFT);
    for (size_t i = 0; i < sweep_count_shown(view); i++) sweep_add_column(&columns, view->metrics[i], COLUMN_RIGHT);
    if (has_notes) sweep_add_column(&columns, "note", COLUMN_LEFT);
    table_init(&table, columns.columns, columns.n);
    for (size_t point = 0; code == 0 && point < view->n_rows; point++)
        code = add_point(view, &columns, point, has_notes, &table, &arena);
    answer_add(answer, NULL, NULL, &table);
    sweep_say_common(&columns, study, answer);
    if (code == 0 && view->replicates.method == REPLICATES_NONE) code = say_seeds(view, answer);
    if (code == 0) code = sweep_say_replicates(view, answer);
    if (view->n_rows < study->n_points) answer_say(answer, "... and %zu more points\n", study->n_points - view->n_rows);
    sweep_say_left_out(study, view->n_metrics - sweep_count_shown(view), answer);
    arena_fini(&arena);
    return code;
}

enum { MEAN, LOW, HIGH, RECORDED, N_PARTS };

/* Writes one part of all metrics' intervals as an object. */
static int write_part(const struct sweep_view *view, size_t point, int part, struct answer *answer)
{
    static const char *const keys[N_PARTS] = {"metrics", "low", "high", "recorded"};
    int code = 0;
    answer_open_row(answer, keys[part], '{');
    for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
        struct interval found = {(double)NAN, (double)NAN, (double)NAN};
        double recorded = (double)NAN;
        code = part == RECORDED ? sweep_find_recorded(view, point, view->metrics[i], &recorded)
                                : sweep_find_mean(view, point, view->metrics[i], &found);
        const double values[] = {found.mean, found.low, found.high, recorded};
        answer_number(answer, view->metrics[i], values[part]);
    }
    answer_close(answer, '}');
    return code;
}

static int write_point(struct sweep_view *view, size_t point, struct answer *answer)
{
    const struct seeds seeds = count_seeds(view, point);
    answer_open_row(answer, NULL, '{');
    write_params(view->study, point, answer);
    answer_number(answer, "seeds", (double)seeds.n_done);
    const int n_parts = view->replicates.has_recorded ? N_PARTS : view->study->n_seeds > 1 ? RECORDED : LOW;
    struct verdict verdict = {.note = ""};
    int code = judge(view, point, &seeds, &view->arena, &verdict);
    for (int part = MEAN; code == 0 && part < n_parts; part++) code = write_part(view, point, part, answer);
    if (code == 0 && view->study->n_conditions > 0) {
        answer_text(answer, "meets", verdict.meets);
        const char *slow_end = NULL;
        if (code == 0) code = find_slow_end(view, point, &slow_end);
        if (has_slow_end(view->study)) answer_text(answer, "slow_end", slow_end);
    }
    answer_text(answer, "note", verdict.note);
    answer_close(answer, '}');
    return code;
}

static int write_results(struct sweep_view *view, struct answer *answer)
{
    int code = 0;
    answer_text(answer, "study", view->study->name);
    answer_number(answer, "runs", (double)view->merge.n_runs);
    answer_open(answer, "points", '[');
    for (size_t point = 0; code == 0 && view->study->search == NULL && point < view->study->n_points; point++)
        code = write_point(view, point, answer);
    answer_close(answer, ']');
    answer_open(answer, "outcomes", '[');
    if (code == 0) code = sweep_write_outcomes(view, answer);
    answer_close(answer, ']');
    return code == 0 ? sweep_say_policies(view, answer) : code;
}

static int show_results(struct sweep_view *view, struct answer *answer)
{
    int code = view->study->search != NULL ? sweep_show_search(view, answer) : show_points(view, answer);
    if (code == 0) code = sweep_say_unfit(view, answer);
    if (code == 0) code = sweep_say_policies(view, answer);
    return code == 0 && view->study->n_pareto > 0 ? sweep_show_front(view, answer) : code;
}

/* Warns of runs whose schedulers had true run times for estimates. */
static int warn_exact_estimates(struct sweep_view *view)
{
    static const char sql[] = "SELECT coalesce(sum(instr(oracle, 'exact estimates') > 0), 0), count(*) FROM run";
    struct query_answer answer;
    const int code = query_run(&view->merge.inputs[0], sql, NULL, 0, "read the study", &view->arena, &answer,
                               view->diag);
    if (code != 0 || answer.columns[0].numbers[0] == 0) return code;
    diag_warning(
        view->diag, NULL, "a trace without estimates has such ones, --set jobs.estimates.law=lognormal makes others",
        "exact estimates: in %.0f of %.0f runs all estimates of run times are exact, and the scheduler may read "
        "them",
        answer.columns[0].numbers[0], answer.columns[1].numbers[0]);
    return 0;
}

/* Warns of runs with too much left at their end, by the rule of analysis/report/verdict.h for runs without rows; and
 * of work that was rejected. */
static int warn_left_out(struct sweep_view *view)
{
    static const char sql[] =
        "SELECT count(*) FILTER (WHERE left > 0.05 * arrived OR (submitted >= 20 AND gpus > 0 AND "
        "preemptions = 0 AND unfinished - gpus > 0.05 * submitted)), "
        "count(*) FILTER (WHERE no_jobs > 0 OR (no_requests > 0 AND no_requests >= 0.05 * arrived)), count(*) FROM ("
        "SELECT max(value) FILTER (WHERE name = 'request.arrived') AS arrived, "
        "max(value) FILTER (WHERE name = 'request.unfinished') AS left, "
        "max(value) FILTER (WHERE name = 'request.rejected') AS no_requests, "
        "max(value) FILTER (WHERE name = 'job.submitted') AS submitted, "
        "max(value) FILTER (WHERE name = 'job.unfinished') AS unfinished, "
        "coalesce(max(value) FILTER (WHERE name = 'job.preemptions.sum'), 0) AS preemptions, "
        "max(value) FILTER (WHERE name = 'job.rejected') AS no_jobs, "
        "max(value) FILTER (WHERE name = 'job.gpus_in_use.max') AS gpus FROM metric GROUP BY run_id)";
    struct query_answer answer;
    const int code = query_run(&view->merge.inputs[0], sql, NULL, 0, "read the study", &view->arena, &answer,
                               view->diag);
    if (code != 0) return code;
    const double saturated = answer.columns[0].numbers[0], rejected = answer.columns[1].numbers[0];
    const double n = answer.columns[2].numbers[0];
    if (saturated > 0)
        diag_warning(
            view->diag, NULL, "compare what was done as well, such as job.ended, or let the runs go on",
            "saturated: in %.0f of %.0f runs more than 5 %% of the requests, or of the jobs beyond one for each "
            "GPU, were left at the end: times leave them out, and may measure the length of the runs, not the "
            "quality of the system",
            saturated, n);
    if (rejected > 0)
        diag_warning(
            view->diag, NULL, NULL,
            "rejected: in %.0f of %.0f runs some jobs, or 5 %% of the requests, were rejected: times are those "
            "of the others alone",
            rejected, n);
    return 0;
}

/* Warns of metrics that the study shows and no run has, with their definitions, which say what they need. */
static int warn_absent(struct sweep_view *view)
{
    struct query_answer names;
    const int code = query_run(&view->merge.inputs[0], "SELECT name FROM metric GROUP BY name", NULL, 0,
                               "read the metrics", &view->arena, &names, view->diag);
    for (size_t i = 0; code == 0 && names.n_rows > 0 && i < view->study->n_show; i++) {
        const char *name = view->study->show[i];
        const struct metric_def *metric = metric_find(name);
        size_t k = 0;
        while (k < names.n_rows && strcmp(names.columns[0].texts[k], name) != 0) k++;
        if (k == names.n_rows)
            diag_warning(view->diag, NULL, NULL, "no run has '%s'%s%s", name, metric != NULL ? ": " : "",
                         metric != NULL ? metric->definition : "");
    }
    return code;
}

int sweep_table_results(const struct study *study, const char *output, enum answer_form form, FILE *out,
                        struct diag *diag)
{
    struct sweep_view view = {.study = study, .diag = diag, .n_metrics = study->n_show, .metrics = study->show};
    struct answer answer;
    arena_init(&view.arena);
    view.n_rows = study->n_points < SWEEP_MAX_ROWS ? study->n_points : SWEEP_MAX_ROWS;
    answer_init(&answer, form, study->search != NULL ? "outcomes" : "points");
    int code = merge_open(&view.merge, &output, 1, study->hash, merge_hint_output, diag);
    if (code == 0 && study->search == NULL && study->n_seeds > 1)
        code = replicates_read(&view.merge.inputs[0], &view.arena, &view.replicates, diag);
    if (code == 0 && study->search == NULL) code = mark_copies(&view);
    if (code == 0) code = warn_exact_estimates(&view);
    if (code == 0) code = warn_absent(&view);
    if (code == 0 && study->search == NULL) code = warn_left_out(&view);
    if (code == 0 && study->search == NULL && study->n_show == 0) code = choose_usual(&view);
    if (code == 0) code = (answer_is_data(form) ? write_results : show_results)(&view, &answer);
    if (code == 0 && answer_is_data(form)) code = sweep_say_replicates(&view, &answer);
    merge_close(&view.merge);
    code = answer_end(&answer, code, out, diag);
    arena_fini(&view.arena);
    return code;
}
