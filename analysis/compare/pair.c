/* One pair of runs. A metric made of requests or jobs gets an interval over these; any other metric is a single
 * value. */
#include "analysis/compare/paired.h"

#include "analysis/compare/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW = 20 };

struct pair_work {
    struct compare_work *work;
    struct paired paired[2]; /* requests, jobs */
    struct series series;
    const struct paired *of; /* source of the series, and index of the value */
    size_t value;
    double most_correlated; /* highest lag-1 autocorrelation of the differences, of all series */
};

static double quantile_of(const struct series *series, const double *values, double q)
{
    if (series->n == 0) return (double)NAN;
    memcpy(series->scratch, values, series->n * sizeof *values);
    return stats_select_quantile(series->scratch, series->n, q);
}

/* Values of both runs: quantiles, or means if q is NAN. */
static void fill_values(const struct series *series, double q, struct compare_row *row)
{
    row->base = isnan(q) ? stats_mean(series->base, series->n) : quantile_of(series, series->base, q);
    row->changed = isnan(q) ? stats_mean(series->changed, series->n) : quantile_of(series, series->changed, q);
}

/* --- Series --- */

static int fill_series(struct pair_work *pair, const struct paired *paired, size_t value)
{
    struct series *series = &pair->series;
    if (pair->of == paired && pair->value == value) return 0;
    if (series->base == NULL) { /* room for requests or jobs: four arrays in one block */
        const size_t room = 1 + (pair->paired[0].n > pair->paired[1].n ? pair->paired[0].n : pair->paired[1].n);
        series->base = mem_alloc(4 * room * sizeof *series->base);
        if (series->base == NULL) return SIM_E_NOMEM;
        series->changed = series->base + room;
        series->delta = series->changed + room;
        series->scratch = series->delta + room;
    }
    pair->of = paired;
    pair->value = value;
    series->n = 0;
    for (size_t i = 0; i < paired->n; i++) {
        const double base = paired->rows[i].base[value], changed = paired->rows[i].changed[value];
        if (isnan(base) || isnan(changed)) continue;
        series->base[series->n] = base;
        series->changed[series->n] = changed;
        series->delta[series->n++] = changed - base;
    }
    const double lag1 = stats_lag1(series->delta, series->n);
    if (lag1 > pair->most_correlated) pair->most_correlated = lag1;
    return 0;
}

static bool is_unmoved(const struct series *series)
{
    for (size_t i = 0; i < series->n; i++)
        if (series->delta[i] < 0 || series->delta[i] > 0) return false;
    return true;
}

/* --- Estimates over requests, which are taken as independent --- */

static int estimate_mean(const struct compare_options *options, const struct series *series, struct compare_row *row)
{
    row->n = series->n;
    row->p = stats_paired_t_p(series->delta, series->n);
    if (series->n < FEW) {
        row->method = COMPARE_T_REQUESTS;
        row->delta = stats_mean_interval(series->delta, series->n, options->level);
        if (series->n < 2) row->note = "too few pairs";
        return 0;
    }
    row->method = COMPARE_BOOTSTRAP;
    const int code = stats_bootstrap_mean(series->delta, series->n, options->level, options->resamples, options->seed,
                                          &row->delta);
    if (isnan(row->delta.low)) row->note = "too few of the pairs differ";
    return code;
}

static int estimate_quantile(const struct compare_options *options, const struct series *series, double q,
                             struct compare_row *row)
{
    row->n = series->n;
    row->method = COMPARE_BOOTSTRAP;
    const int code = stats_bootstrap_quantile_difference(series->base, series->changed, series->n, q, options->level,
                                                         options->resamples, options->seed, &row->delta, &row->p);
    if (isnan(row->delta.low)) row->note = "too few pairs beyond this percentile";
    return code;
}

/* --- Rows --- */

static double share_worse(const struct series *series, enum compare_direction direction)
{
    size_t n = 0;
    if (direction == COMPARE_NEUTRAL || series->n == 0) return (double)NAN;
    for (size_t i = 0; i < series->n; i++)
        n += direction == COMPARE_LOWER ? series->delta[i] > 0 : series->delta[i] < 0;
    return (double)n / (double)series->n;
}

static int estimate(struct compare_work *work, const struct series *series, double q, struct compare_row *row)
{
    fill_values(series, q, row);
    if (isnan(q)) row->worse_frac = share_worse(series, row->direction);
    if (work->options->steady) return steady_estimate(work->options, series, q, work->arena, row);
    return isnan(q) ? estimate_mean(work->options, series, row) : estimate_quantile(work->options, series, q, row);
}

/* Adds a row whose values are over the pairs of its interval. */
static int add_estimated(struct pair_work *pair, size_t metric, double q)
{
    const struct metric_set *set = &pair->work->metrics;
    const struct series *all = &pair->series;
    const struct series series = pair->work->options->steady ? steady_part(all) : *all;
    struct compare_row *row = work_add_row(pair->work, metric);
    if (row == NULL) return SIM_E_NOMEM;
    const int code = estimate(pair->work, &series, q, row);
    if (series.n == 0) fill_values(all, q, row);
    row->base_run = set->values[metric];
    row->changed_run = set->values[set->n + metric];
    if (isnan(row->delta.mean)) row->delta.mean = row->changed - row->base;
    if (code == 0 && all->n > 0 && is_unmoved(all)) { /* nothing to estimate */
        row->delta = (struct interval){0, 0, 0};
        row->p = 1;
        row->note = NULL;
    }
    return code;
}

static int add_single(struct compare_work *work, size_t metric)
{
    const double base = work->metrics.values[metric], changed = work->metrics.values[work->metrics.n + metric];
    struct compare_row *row = work_add_row(work, metric);
    if (row == NULL) return SIM_E_NOMEM;
    row->n = 1;
    row->base = base;
    row->changed = changed;
    row->delta.mean = changed - base;
    if (base <= changed && changed <= base)
        row->delta = (struct interval){0, 0, 0};
    else
        row->note = isnan(base) || isnan(changed) ? "only one of the runs has this metric" : "one value of each run";
    return 0;
}

/* The paired value that a metric summarises; NULL if it has none, or if nothing paired. */
static const struct paired *find_value(const struct pair_work *pair, const char *name, size_t *value, const char **part)
{
    for (size_t k = 0; k < 2; k++) {
        const struct paired_kind *kind = pair->paired[k].kind;
        for (size_t i = 0; pair->paired[k].n > 0 && i < kind->n_values; i++) {
            const size_t n = strlen(kind->metrics[i]);
            if (strncmp(name, kind->metrics[i], n) != 0 || name[n] != '.') continue;
            *value = i;
            *part = name + n + 1;
            return &pair->paired[k];
        }
    }
    return NULL;
}

static int add_metric_row(struct pair_work *pair, size_t metric)
{
    static const struct {
        const char *part;
        double q;
    } parts[] = {{"mean", (double)NAN}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
    size_t value = 0;
    const char *part = NULL;
    const struct paired *paired = find_value(pair, pair->work->metrics.names[metric], &value, &part);
    for (size_t i = 0; paired != NULL && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(part, parts[i].part) != 0) continue;
        const int code = fill_series(pair, paired, value);
        return code == 0 ? add_estimated(pair, metric, parts[i].q) : code;
    }
    return add_single(pair->work, metric);
}

/* --- Regressions --- */

static double regress(const struct paired_row *row, size_t value, enum compare_direction direction)
{
    const double delta = row->changed[value] - row->base[value];
    return direction == COMPARE_LOWER ? delta : direction == COMPARE_HIGHER ? -delta : 0;
}

/* Finds where a pair goes among the worst; of equals the one that arrived first comes first. */
static size_t find_worst(const struct paired *paired, size_t value, enum compare_direction direction,
                         size_t worst[COMPARE_WORST])
{
    size_t n = 0;
    for (size_t i = 0; i < paired->n; i++) {
        const double much = regress(&paired->rows[i], value, direction);
        if (!(much > 0)) continue;
        size_t at = n;
        while (at > 0 && regress(&paired->rows[worst[at - 1]], value, direction) < much) at--;
        if (at == COMPARE_WORST) continue;
        if (n < COMPARE_WORST) n++;
        memmove(worst + at + 1, worst + at, (n - at - 1) * sizeof *worst);
        worst[at] = i;
    }
    return n;
}

static int add_worst(struct pair_work *pair)
{
    struct comparison *comparison = pair->work->comparison;
    const struct metric_set *set = &pair->work->metrics;
    comparison->worst = arena_alloc(pair->work->arena, (set->n * COMPARE_WORST + 1) * sizeof *comparison->worst);
    if (comparison->worst == NULL) return SIM_E_NOMEM;
    for (size_t m = 0; m < set->n; m++) {
        size_t value, worst[COMPARE_WORST];
        const char *part;
        const struct paired *paired = find_value(pair, set->names[m], &value, &part);
        if (paired == NULL || strcmp(part, "mean") != 0) continue;
        const size_t n = find_worst(paired, value, set->directions[m], worst);
        for (size_t i = 0; i < n; i++) {
            const struct paired_row *row = &paired->rows[worst[i]];
            comparison->worst[comparison->n_worst++] = (struct compare_regression){
                paired->kind->metrics[value], row->service, row->id, row->base[value], row->changed[value]};
        }
    }
    return 0;
}

/* --- Remarks --- */

static int remark_rows(struct compare_work *work, const struct paired *paired)
{
    const char *what = paired->kind->what;
    const size_t n_only = paired->n_only_base + paired->n_only_changed + paired->n_others;
    int code = 0;
    work->comparison->n_paired_rows += paired->n;
    work->comparison->n_unpaired_rows += n_only;
    if (paired->n > 0)
        code = work_remark(work,
                           "%zu %s are paired by id; intervals are over these, at one seed, and do not cover "
                           "other seeds or traces",
                           paired->n, what);
    if (code == 0 && n_only > 0)
        code = work_remark(work,
                           "%s without a counterpart: %zu in the base only, %zu in the new run only, %zu have one of "
                           "another size",
                           what, paired->n_only_base, paired->n_only_changed, paired->n_others);
    if (code == 0 && paired->n_ended_base + paired->n_ended_changed > 0)
        code = work_remark(work,
                           "left out although paired, as they finish in one of the runs only: %zu %s in the base, "
                           "%zu in the new run",
                           paired->n_ended_base, what, paired->n_ended_changed);
    if (code == 0 && paired->n_moved > 0)
        code = work_remark(work, "%zu paired %s arrive at another time in the new run", paired->n_moved, what);
    return code;
}

static int remark_method(const struct pair_work *pair)
{
    struct compare_work *work = pair->work;
    if (pair->paired[0].n + pair->paired[1].n == 0)
        return work_remark(
            work, "no requests or jobs are paired (rows are not kept, or belong to other traces): there are no "
                  "intervals");
    if (work->options->steady)
        return work_remark(
            work, "values and intervals are of the pairs after the warm-up that MSER-5 finds, by batch means in "
                  "order of arrival; of percentiles by sectioning");
    if (pair->most_correlated > 0.2)
        return work_remark(work,
                           "differences of neighbours are correlated (up to %.2f): for claims beyond this trace the "
                           "bootstrap's intervals are too narrow; --steady accounts for it",
                           pair->most_correlated);
    return 0;
}

static double off_by(double shown, double of_run)
{
    return fabs(shown - of_run) / fmax(fabs(shown), fabs(of_run)); /* NAN where there is nothing to compare */
}

/* Remarks on metrics whose value over the pairs differs from the run's: the run's counts all that finished in it,
 * and its percentiles are off by up to 0.1 %. */
static int remark_values(struct compare_work *work)
{
    const struct comparison *comparison = work->comparison;
    const struct compare_row *most = NULL;
    double off = 0.002;
    for (size_t i = 0; i < comparison->n_rows; i++) {
        const struct compare_row *row = &comparison->rows[i];
        const double here = fmax(off_by(row->base, row->base_run), off_by(row->changed, row->changed_run));
        const bool lacks_one = isnan(row->base_run) || isnan(row->changed_run); /* a file from elsewhere */
        if (lacks_one || !(here > off)) continue;
        off = here;
        most = row;
    }
    if (most == NULL) return 0;
    return work_remark(
        work,
        "base and new cover pairs, not all that finished: the largest deviation is that of %s, which is %.4g and "
        "%.4g for the whole runs, here %.4g and %.4g",
        most->metric, most->base_run, most->changed_run, most->base, most->changed);
}

static int remark_inputs(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed)
{
    int code = 0;
    if (strcmp(base->trace_hash, changed->trace_hash) != 0) {
        bool is_one = false;
        code = runs_have_one_load(base, changed, &is_one, work->diag);
        if (code == 0)
            code = work_remark(
                work, "the input files differ (trace_hash %.8s and %.8s): %s",
                base->trace_hash[0] != 0 ? base->trace_hash : "none",
                changed->trace_hash[0] != 0 ? changed->trace_hash : "none",
                is_one ? "files of GPUs, LLMs, engines or calibrations, as the requests have equal sizes and times"
                       : COMPARE_INPUT_FILES);
        if (code == 0 && !is_one)
            diag_warning(work->diag, NULL, "compare runs of one trace",
                         "the two runs have read different input files: " COMPARE_INPUT_FILES);
    }
    if (code == 0 && base->seed != changed->seed) {
        code = work_remark(work, "the seeds differ, and so do generated requests");
        diag_warning(work->diag, NULL, "compare runs of one seed, or several seeds of each",
                     "the two runs have different seeds");
    }
    if (code == 0 && base->result_hash[0] != 0 && strcmp(base->result_hash, changed->result_hash) == 0)
        code = work_remark(work, "the result hashes are equal: both runs are the same, row by row");
    return code;
}

static void set_rejected(struct compare_work *work)
{
    struct comparison *comparison = work->comparison;
    struct rejections sum = {0};
    work_add_rejections(work, 0, 1, &sum);
    work_set_rejected(&sum, comparison->rejected_frac);
    for (size_t i = 0; i < comparison->n_rows; i++) work_set_rejected(&sum, comparison->rows[i].rejected_frac);
}

int compare_pair(struct compare_work *work, const struct compare_run *base, const struct compare_run *changed)
{
    struct pair_work pair = {.work = work};
    const struct compare_run **runs = arena_alloc(work->arena, 2 * sizeof *runs);
    if (runs == NULL) return SIM_E_NOMEM;
    runs[0] = base;
    runs[1] = changed;
    work->runs = (struct compared_runs){runs, runs + 1, 1, 1};
    work->comparison->n_pairs = 1;
    int code = metrics_read(work, runs, 2);
    if (code == 0) code = paired_read(&paired_requests, base, changed, work->arena, &pair.paired[0], work->diag);
    if (code == 0) code = paired_read(&paired_jobs, base, changed, work->arena, &pair.paired[1], work->diag);
    for (size_t i = 0; code == 0 && i < work->metrics.n; i++) code = add_metric_row(&pair, i);
    if (code == 0) set_rejected(work);
    if (code == 0) code = add_worst(&pair);
    if (code == 0) code = remark_inputs(work, base, changed);
    if (code == 0) code = work_remark_policies(work, base, changed);
    if (code == 0) code = remark_rows(work, &pair.paired[0]);
    if (code == 0) code = remark_rows(work, &pair.paired[1]);
    if (code == 0) code = remark_method(&pair);
    if (code == 0) code = remark_values(work);
    mem_free(pair.series.base);
    paired_fini(&pair.paired[0]);
    paired_fini(&pair.paired[1]);
    return code;
}

enum { BATCHES = 20, ENOUGH = 150, ENOUGH_BEYOND = 25 };

/* --- The steady state --- */

struct series steady_part(const struct series *all)
{
    const size_t base = stats_mser5(all->base, all->n), changed = stats_mser5(all->changed, all->n);
    const size_t cut = base > changed ? base : changed;
    if (cut > 0 && cut >= stats_mser5_limit(all->n)) return (struct series){.scratch = all->scratch};
    const size_t n = (all->n - cut) / BATCHES * BATCHES;
    return (struct series){n, all->base + cut, all->changed + cut, all->delta + cut, all->scratch};
}

/* The number of independent values that a series is worth; 0 if even its batch means correlate. */
static int count_independent(const double *values, size_t n, double *independent)
{
    struct interval interval;
    double lag1;
    *independent = stats_effective_n(values, n);
    const int code = stats_batch_means(values, n, BATCHES, 0.95, &interval, NULL, &lag1);
    if (lag1 > 2 / sqrt(BATCHES)) *independent = 0;
    return code;
}

/* As count_independent, for the indicator of a value beyond the quantile. */
static int count_independent_beyond(const struct series *steady, const double *values, double q, double *independent)
{
    memcpy(steady->scratch, values, steady->n * sizeof *values);
    const double quantile = stats_select_quantile(steady->scratch, steady->n, q);
    for (size_t i = 0; i < steady->n; i++) steady->scratch[i] = values[i] > quantile;
    return count_independent(steady->scratch, steady->n, independent);
}

/* Refuses runs that are short against their correlation time: their intervals would be too narrow. */
static int check_length(const struct series *steady, double q, struct arena *arena, struct compare_row *row)
{
    double needed = ENOUGH, worth = 0, other = HUGE_VAL;
    int code;
    if (isnan(q)) {
        code = count_independent(steady->delta, steady->n, &worth);
    } else {
        needed = fmax(ENOUGH, ENOUGH_BEYOND / fmin(q, 1 - q));
        code = count_independent_beyond(steady, steady->base, q, &worth);
        if (code == 0) code = count_independent_beyond(steady, steady->changed, q, &other);
        worth = fmin(worth, other);
    }
    if (code != 0 || worth >= needed * (1 - 1e-9)) return code;
    row->note = worth > 0
                    ? arena_printf(arena, "the run is too short for its correlation (worth %.0f values, not %.0f)",
                                   floor(worth), needed)
                    : "the run is too short for its correlation";
    return row->note != NULL ? 0 : SIM_E_NOMEM;
}

int steady_estimate(const struct compare_options *options, const struct series *steady, double q, struct arena *arena,
                    struct compare_row *row)
{
    row->method = COMPARE_BATCH_MEANS;
    row->n = BATCHES;
    if (steady->n == 0) {
        row->note = "no steady state: the warm-up does not end";
        return 0;
    }
    int code = check_length(steady, q, arena, row);
    if (code != 0 || row->note != NULL) return code;
    if (isnan(q)) {
        code = stats_batch_means(steady->delta, steady->n, BATCHES, options->level, &row->delta, &row->p, NULL);
    } else {
        code = stats_batch_quantile_difference(steady->base, steady->changed, steady->n, BATCHES, q, options->level,
                                               &row->delta, &row->p);
        if (isnan(row->delta.low)) row->note = "too few pairs beyond this percentile";
    }
    return code;
}
