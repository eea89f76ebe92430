/* Groups of runs, paired by seed and by point of the study. Seeds are the repetitions. At one point: Student's t
 * over the differences of its seeds. Over all points: first each seed's mean over the points, then t over the seeds;
 * points share their seed's world, so they are no repetitions of each other. */
#include "analysis/compare/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_pair {
    const struct compare_run *base, *changed;
    size_t point, seed; /* indices */
};

struct grouping {
    struct compare_work *work;
    bool across_seeds; /* the selections name seeds, so seeds do not pair */
    bool is_bootstrap; /* seeds replicate one trace */
    size_t n, n_points, n_seeds;
    struct run_pair *pairs;  /* in order of points and seeds */
    double *base, *changed, *delta; /* [pairs] values of one metric */
};

static int compare_places(const struct compare_run *a, const struct compare_run *b, bool across_seeds)
{
    const int order = strcmp(a->point, b->point);
    if (order != 0 || across_seeds) return order;
    return (a->seed > b->seed) - (a->seed < b->seed);
}

static int compare_runs_by_place(const void *left, const void *right)
{
    const struct compare_run *a = left, *b = right;
    const int order = compare_places(a, b, false);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

static int compare_seeds(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* --- What may be compared at all --- */

static void drop_unfinished(struct compare_work *work, struct compare_group *group)
{
    size_t n = 0;
    for (size_t i = 0; i < group->n; i++)
        if (strcmp(group->runs[i].status, "done") == 0) group->runs[n++] = group->runs[i];
    work->comparison->n_unfinished_runs += group->n - n;
    group->n = n;
}

/* Drops repetitions of a run with the same result; two different runs at one place are an error. */
static int drop_repeated(struct grouping *grouping, struct compare_group *group)
{
    size_t n = 0;
    qsort(group->runs, group->n, sizeof *group->runs, compare_runs_by_place);
    for (size_t i = 0; i < group->n; i++) {
        const struct compare_run *run = &group->runs[i], *last = n > 0 ? &group->runs[n - 1] : NULL;
        if (last == NULL || compare_places(last, run, grouping->across_seeds) != 0)
            group->runs[n++] = *run;
        else if (strcmp(last->result_hash, run->result_hash) != 0)
            return diag_error(grouping->work->diag, SIM_E_USAGE, run->database->path,
                              "choose between them with more of key=value, or with name=...",
                              "runs %" PRId64 " and %" PRId64 " of '%s' have the same seed and parameters", last->id,
                              run->id, group->label);
    }
    group->n = n;
    return 0;
}

/* --- Pairing --- */

static int pair_runs(struct grouping *grouping, const struct compare_group *base, const struct compare_group *changed)
{
    struct arena *arena = grouping->work->arena;
    grouping->pairs = arena_alloc(arena, (base->n + 1) * sizeof *grouping->pairs);
    if (grouping->pairs == NULL) return SIM_E_NOMEM;
    const bool one_each = base->n == 1 && changed->n == 1; /* one run each: compare them whatever else differs */
    if (one_each) grouping->pairs[grouping->n++] = (struct run_pair){&base->runs[0], &changed->runs[0], 0, 0};
    for (size_t i = 0, k = 0; !one_each && i < base->n && k < changed->n;) {
        const int order = compare_places(&base->runs[i], &changed->runs[k], grouping->across_seeds);
        if (order == 0) grouping->pairs[grouping->n++] = (struct run_pair){&base->runs[i], &changed->runs[k], 0, 0};
        i += order <= 0;
        k += order >= 0;
    }
    grouping->work->comparison->n_pairs = grouping->n;
    grouping->work->comparison->n_unpaired = base->n + changed->n - 2 * grouping->n;
    return 0;
}

static bool is_same_case(const struct run_pair *a, const struct run_pair *b)
{
    return a->base->result_hash[0] != 0 && strcmp(a->base->result_hash, b->base->result_hash) == 0 &&
           strcmp(a->changed->result_hash, b->changed->result_hash) == 0;
}

/* If the seed changes nothing, as with a trace from a file, runs under other seeds are copies. Counted as
 * repetitions they would make a single case certain, so they count once. Where some pair of a point differs from the
 * others the seed has an effect, and equal pairs are values like others, such as those of seeds without a failure. */
static int drop_copies(struct grouping *grouping)
{
    size_t n = 0;
    for (size_t i = 0, end; i < grouping->n; i = end) {
        const struct run_pair *first = &grouping->pairs[i];
        bool is_same = true;
        for (end = i; end < grouping->n && strcmp(grouping->pairs[end].base->point, first->base->point) == 0; end++)
            is_same &= is_same_case(first, &grouping->pairs[end]);
        const size_t n_kept = is_same ? 1 : end - i;
        memmove(&grouping->pairs[n], first, n_kept * sizeof *first);
        n += n_kept;
    }
    const size_t n_copies = grouping->n - n;
    grouping->n = n;
    if (n_copies == 0) return 0;
    return work_remark(
        grouping->work,
        "%zu pairs of runs are counted once with another pair: their results are equal although their seeds "
        "differ, so the seed has no effect here",
        n_copies);
}

static int number_places(struct grouping *grouping)
{
    int64_t *seeds = mem_alloc((grouping->n + 1) * sizeof *seeds);
    if (seeds == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < grouping->n; i++) {
        struct run_pair *pair = &grouping->pairs[i];
        if (i == 0 || strcmp(pair->base->point, pair[-1].base->point) != 0) grouping->n_points++;
        pair->point = grouping->n_points - 1;
        seeds[i] = pair->base->seed;
    }
    if (grouping->n > 0) qsort(seeds, grouping->n, sizeof *seeds, compare_seeds);
    for (size_t i = 0; i < grouping->n; i++)
        if (i == 0 || seeds[i] != seeds[i - 1]) seeds[grouping->n_seeds++] = seeds[i];
    for (size_t i = 0; i < grouping->n; i++)
        while (seeds[grouping->pairs[i].seed] != grouping->pairs[i].base->seed) grouping->pairs[i].seed++;
    mem_free(seeds);
    return 0;
}

/* --- Rows --- */

static double base_value(const struct grouping *grouping, size_t pair, size_t metric)
{
    return grouping->work->metrics.values[pair * grouping->work->metrics.n + metric];
}

static double changed_value(const struct grouping *grouping, size_t pair, size_t metric)
{
    return base_value(grouping, grouping->n + pair, metric);
}

/* Sets the means over the first n of grouping->base and ->changed. Returns how many pairs differ. */
static size_t describe(struct grouping *grouping, size_t n, struct compare_row *row)
{
    size_t n_worse = 0, n_moved = 0;
    for (size_t i = 0; i < n; i++) {
        const double delta = grouping->delta[i] = grouping->changed[i] - grouping->base[i];
        n_worse += row->direction == COMPARE_LOWER ? delta > 0 : delta < 0;
        n_moved += delta < 0 || delta > 0;
    }
    row->n = n;
    row->base = stats_mean(grouping->base, n);
    row->changed = stats_mean(grouping->changed, n);
    row->delta.mean = stats_mean(grouping->delta, n);
    if (row->direction != COMPARE_NEUTRAL && n > 0) row->worse_frac = (double)n_worse / (double)n;
    if (n == 0) row->note = "no pair of runs has this metric";
    if (n > 0 && n_moved == 0) row->delta = (struct interval){0, 0, 0};
    return n_moved;
}

/* Student's t over the n values, one per seed; the spread of the values if they replicate one trace. */
static void estimate(struct grouping *grouping, size_t n, struct compare_row *row)
{
    const size_t n_moved = describe(grouping, n, row);
    const double level = grouping->work->options->level;
    struct interval interval;
    if (grouping->is_bootstrap) {
        interval = stats_replicate_interval(grouping->delta, n, level, &row->p);
    } else {
        interval = stats_mean_interval(grouping->delta, n, level);
        row->p = stats_paired_t_p(grouping->delta, n);
    }
    if (n >= 2) row->method = grouping->is_bootstrap ? COMPARE_REPLICATES : COMPARE_T_SEEDS;
    if (n_moved == 0) return;
    row->delta = interval;
    if (grouping->is_bootstrap) {
        interval = stats_replicate_ratio(grouping->base, grouping->changed, n, level, grouping->delta);
        row->ratio_low = interval.low;
        row->ratio_high = interval.high;
    }
    if (n < 2) row->note = "one pair of runs";
}

/* Sets the means of the recorded values over the points, or that of one (n_points: all). A point has them once. */
static void set_recorded(const struct grouping *grouping, size_t metric, size_t point, struct compare_row *row)
{
    const double *recorded = grouping->work->recorded;
    const size_t n_metrics = grouping->work->metrics.n;
    double base = 0, changed = 0;
    size_t n = 0;
    for (size_t i = 0; recorded != NULL && i < grouping->n; i++) {
        const double base_i = recorded[i * n_metrics + metric];
        const double changed_i = recorded[(grouping->n + i) * n_metrics + metric];
        const bool is_other = point < grouping->n_points && grouping->pairs[i].point != point;
        if (is_other || isnan(base_i) || isnan(changed_i)) continue;
        base += base_i;
        changed += changed_i;
        n++;
    }
    if (n == 0 || (point == grouping->n_points && n != grouping->n_points)) return;
    row->recorded_base = base / (double)n;
    row->recorded_changed = changed / (double)n;
}

static int add_point_row(struct grouping *grouping, size_t metric, size_t point)
{
    struct compare_row *row = work_add_row(grouping->work, metric);
    size_t n = 0;
    if (row == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < grouping->n; i++) {
        if (grouping->pairs[i].point != point) continue;
        row->point = grouping->pairs[i].base->point;
        const double base = base_value(grouping, i, metric), changed = changed_value(grouping, i, metric);
        if (isnan(base) || isnan(changed)) continue;
        grouping->base[n] = base;
        grouping->changed[n++] = changed;
    }
    estimate(grouping, n, row);
    set_recorded(grouping, metric, point, row);
    return 0;
}

/* Means over the pairs with one seed, or with one point. */
static bool mean_over(const struct grouping *grouping, size_t metric, bool of_seed, size_t which, double *base,
                      double *changed, size_t *n)
{
    *base = *changed = 0;
    *n = 0;
    for (size_t i = 0; i < grouping->n; i++) {
        const struct run_pair *pair = &grouping->pairs[i];
        if ((of_seed ? pair->seed : pair->point) != which) continue;
        const double base_i = base_value(grouping, i, metric), changed_i = changed_value(grouping, i, metric);
        if (isnan(base_i) || isnan(changed_i)) continue;
        *base += base_i;
        *changed += changed_i;
        ++*n;
    }
    if (*n > 0) *base /= (double)*n, *changed /= (double)*n;
    return *n > 0;
}

/* Adds the row over the seeds that have all points. With fewer than two such seeds it has means but no interval:
 * points share their seed's world, so agreement among them may be chance. */
static int add_overall_row(struct grouping *grouping, size_t metric)
{
    struct compare_row *row = work_add_row(grouping->work, metric);
    size_t n = 0, n_mixed;
    if (row == NULL) return SIM_E_NOMEM;
    set_recorded(grouping, metric, grouping->n_points, row);
    for (size_t s = 0; s < grouping->n_seeds; s++)
        if (mean_over(grouping, metric, true, s, &grouping->base[n], &grouping->changed[n], &n_mixed) &&
            n_mixed == grouping->n_points)
            n++;
    if (n >= 2 || grouping->n_points == 1) {
        estimate(grouping, n, row);
        return 0;
    }
    n = 0;
    for (size_t point = 0; point < grouping->n_points; point++)
        n += mean_over(grouping, metric, false, point, &grouping->base[n], &grouping->changed[n], &n_mixed);
    if (describe(grouping, n, row) > 0)
        row->note = grouping->n_seeds == 1 ? "one seed" : "fewer than two seeds have all points";
    return 0;
}

/* --- Without pairs --- */

static int add_welch_row(struct grouping *grouping, size_t metric, size_t n_base, size_t n_changed)
{
    const struct metric_set *set = &grouping->work->metrics;
    struct compare_row *row = work_add_row(grouping->work, metric);
    size_t n = 0, m = 0;
    if (row == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_base + n_changed; i++) {
        const double value = set->values[i * set->n + metric];
        if (isnan(value)) continue;
        if (i < n_base)
            grouping->base[n++] = value;
        else
            grouping->changed[m++] = value;
    }
    row->method = COMPARE_WELCH;
    row->n = n < m ? n : m;
    row->base = stats_mean(grouping->base, n);
    row->changed = stats_mean(grouping->changed, m);
    row->delta = stats_welch_interval(grouping->base, n, grouping->changed, m, grouping->work->options->level, &row->p);
    if (grouping->is_bootstrap) {
        row->delta.low = row->delta.high = row->p = (double)NAN;
        row->note = "bootstrap replicates of one trace need equal seeds in both groups";
    }
    if (!grouping->is_bootstrap && isnan(row->delta.low)) row->note = "fewer than two runs have this metric";
    return 0;
}

static bool any_bootstrap(const struct compare_group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->runs[i].is_bootstrap) return true;
    return false;
}

static int make_room(struct grouping *grouping, size_t n)
{
    double *room = arena_alloc(grouping->work->arena, 3 * (n + 1) * sizeof *room);
    grouping->base = room;
    grouping->changed = room != NULL ? room + n + 1 : NULL;
    grouping->delta = room != NULL ? room + 2 * (n + 1) : NULL;
    return room != NULL ? 0 : SIM_E_NOMEM;
}

static bool is_one_point(const struct compare_group *base, const struct compare_group *changed)
{
    for (size_t i = 0; i < base->n; i++)
        if (strcmp(base->runs[i].point, changed->runs[0].point) != 0) return false;
    for (size_t i = 0; i < changed->n; i++)
        if (strcmp(changed->runs[i].point, changed->runs[0].point) != 0) return false;
    return true;
}

static int nothing_pairs(const struct compare_work *work, const struct compare_group *base,
                         const struct compare_group *changed)
{
    const size_t n = work->comparison->n_unfinished_runs;
    char left_out[80] = "";
    if (n > 0)
        snprintf(left_out, sizeof left_out, "; left out: %zu %s that did not finish", n, n == 1 ? "run" : "runs");
    return diag_error(work->diag, SIM_E_DATA, NULL,
                      base->n == 0 || changed->n == 0
                          ? "'orrery sweep --resume' repeats unfinished runs; table run has the status of each"
                          : "runs are paired by seed and by the parameters outside --base and --new",
                      "no runs can be paired: %zu runs of '%s', %zu runs of '%s'%s", base->n, base->label, changed->n,
                      changed->label, left_out);
}

static void set_unpaired_rejected(struct compare_work *work, size_t n_base, size_t n_changed)
{
    struct comparison *comparison = work->comparison;
    struct rejections sum = {0};
    for (size_t i = 0; i < n_base; i++) work_add_rejections(work, i, SIZE_MAX, &sum);
    for (size_t i = 0; i < n_changed; i++) work_add_rejections(work, SIZE_MAX, n_base + i, &sum);
    work_set_rejected(&sum, comparison->rejected_frac);
    for (size_t i = 0; i < comparison->n_rows; i++) work_set_rejected(&sum, comparison->rows[i].rejected_frac);
}

static int compare_unpaired(struct grouping *grouping, const struct compare_group *base,
                            const struct compare_group *changed)
{
    struct compare_work *work = grouping->work;
    if (base->n < 2 || changed->n < 2 || !is_one_point(base, changed)) return nothing_pairs(work, base, changed);
    const size_t n = base->n + changed->n;
    const struct compare_run **runs = arena_alloc(work->arena, n * sizeof *runs);
    int code = runs != NULL ? make_room(grouping, n) : SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < n; i++) runs[i] = i < base->n ? &base->runs[i] : &changed->runs[i - base->n];
    if (code == 0) work->runs = (struct compared_runs){runs, runs + base->n, base->n, changed->n};
    if (code == 0) code = metrics_read(work, runs, n);
    for (size_t m = 0; code == 0 && m < work->metrics.n; m++) code = add_welch_row(grouping, m, base->n, changed->n);
    if (code == 0) set_unpaired_rejected(work, base->n, changed->n);
    work->comparison->n_unpaired = 0;
    return code == 0 ? work_remark(work,
                                   "the runs are not paired, as no seed is in both groups: Welch's t interval over %zu "
                                   "and %zu runs, wider than a paired interval",
                                   base->n, changed->n)
                     : code;
}

/* --- With pairs --- */

/* Sets the shares of rejected requests, over all points and of each. The rows of a metric are the one over all points
 * and those of the points, in order. Returns 0 or SIM_E_NOMEM. */
static int set_rejected(const struct grouping *grouping)
{
    struct comparison *comparison = grouping->work->comparison;
    struct rejections all = {0}, *points = mem_zalloc(grouping->n_points + 1, sizeof *points);
    size_t point = 0;
    if (points == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < grouping->n; i++) {
        work_add_rejections(grouping->work, i, grouping->n + i, &all);
        work_add_rejections(grouping->work, i, grouping->n + i, &points[grouping->pairs[i].point]);
    }
    work_set_rejected(&all, comparison->rejected_frac);
    for (size_t i = 0; i < comparison->n_rows; i++) {
        struct compare_row *row = &comparison->rows[i];
        if (row->point == NULL) point = 0;
        work_set_rejected(row->point == NULL ? &all : &points[point++], row->rejected_frac);
    }
    mem_free(points);
    return 0;
}

static int add_rows(struct grouping *grouping)
{
    struct compare_work *work = grouping->work;
    const struct compare_run **runs = arena_alloc(work->arena, 2 * grouping->n * sizeof *runs);
    int code = runs != NULL ? make_room(grouping, grouping->n) : SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < grouping->n; i++) {
        runs[i] = grouping->pairs[i].base;
        runs[grouping->n + i] = grouping->pairs[i].changed;
    }
    if (code == 0) work->runs = (struct compared_runs){runs, runs + grouping->n, grouping->n, grouping->n};
    if (code == 0) code = metrics_read(work, runs, 2 * grouping->n);
    if (code == 0) code = recorded_read(work, runs, 2 * grouping->n);
    for (size_t m = 0; code == 0 && m < work->metrics.n; m++) {
        code = add_overall_row(grouping, m);
        for (size_t point = 0; code == 0 && grouping->n_points > 1 && point < grouping->n_points; point++)
            code = add_point_row(grouping, m, point);
    }
    return code == 0 ? set_rejected(grouping) : code;
}

/* Of pairs that read different input files: how many there are, and how many of these are of other requests or
 * jobs. */
static int remark_inputs(const struct grouping *grouping)
{
    struct compare_work *work = grouping->work;
    size_t n_differ = 0, n_other_load = 0;
    int code = 0;
    for (size_t i = 0; i < grouping->n && code == 0; i++) {
        const struct compare_run *base = grouping->pairs[i].base, *changed = grouping->pairs[i].changed;
        bool is_one = false;
        if (strcmp(base->trace_hash, changed->trace_hash) == 0) continue;
        code = runs_have_one_load(base, changed, &is_one, work->diag);
        n_differ++;
        n_other_load += !is_one;
    }
    if (code != 0 || n_differ == 0) return code;
    if (n_other_load == 0)
        return work_remark(work,
                           "the input files differ in %zu pairs: files of GPUs, LLMs, engines or calibrations, as "
                           "the requests have equal sizes and times",
                           n_differ);
    diag_warning(work->diag, NULL, "compare runs of one trace",
                 "%zu pairs of runs have read different input files: " COMPARE_INPUT_FILES, n_other_load);
    return work_remark(
        work, "the input files differ in %zu pairs, and with them perhaps the load in %zu: " COMPARE_INPUT_FILES,
        n_differ, n_other_load);
}

static int remark_pairs(const struct grouping *grouping)
{
    struct compare_work *work = grouping->work;
    const char *over = grouping->n_points == 1 ? "intervals are over the seeds"
                       : grouping->n_seeds > 1
                           ? "intervals are over the seeds, of their means over the configurations"
                           : "there are no intervals, as configurations of one seed are not repetitions";
    int code = work_remark(work, "%zu pairs of runs, %zu %s at %zu %s: %s", grouping->n, grouping->n_seeds,
                           grouping->n_seeds == 1 ? "seed" : "seeds", grouping->n_points,
                           grouping->n_points == 1 ? "configuration" : "configurations", over);
    if (code == 0) code = remark_inputs(grouping);
    if (code == 0 && grouping->is_bootstrap)
        code = work_remark(work, "seeds replicate one trace by a block bootstrap: an interval is the spread of the "
                                 "replicates, which more seeds do not narrow");
    if (code == 0 && work->options->steady)
        code = work_remark(work, "--steady applies to one pair of runs; here each run is one value");
    return code;
}

static int remark_left_out(struct compare_work *work)
{
    const struct comparison *comparison = work->comparison;
    int code = 0;
    if (comparison->n_unpaired > 0)
        code = work_remark(work, "left out: %zu runs without a counterpart in the other group", comparison->n_unpaired);
    if (code == 0 && comparison->n_unfinished_runs > 0)
        code = work_remark(work, "left out: %zu runs that did not finish", comparison->n_unfinished_runs);
    return code;
}

int compare_selected(struct compare_work *work, struct compare_group *base, struct compare_group *changed,
                     const struct selection_keys *keys)
{
    struct grouping grouping = {.work = work};
    for (size_t i = 0; i < keys->n; i++) grouping.across_seeds |= strcmp(keys->items[i], "seed") == 0;
    grouping.is_bootstrap = any_bootstrap(base) || any_bootstrap(changed);
    drop_unfinished(work, base);
    drop_unfinished(work, changed);
    int code = drop_repeated(&grouping, base);
    if (code == 0) code = drop_repeated(&grouping, changed);
    if (code == 0) code = pair_runs(&grouping, base, changed);
    if (code == 0) code = drop_copies(&grouping);
    if (code == 0) code = number_places(&grouping);
    if (code == 0 && grouping.n == 0)
        code = compare_unpaired(&grouping, base, changed);
    else if (code == 0 && grouping.n == 1)
        code = compare_pair(work, grouping.pairs[0].base, grouping.pairs[0].changed);
    else if (code == 0)
        code = add_rows(&grouping);
    if (code == 0 && grouping.n > 1) code = remark_pairs(&grouping);
    if (code == 0 && grouping.n > 1)
        code = work_remark_policies(work, grouping.pairs[0].base, grouping.pairs[0].changed);
    if (code == 0 && grouping.n == 0 && base->n > 0 && changed->n > 0)
        code = work_remark_policies(work, &base->runs[0], &changed->runs[0]);
    return code == 0 ? remark_left_out(work) : code;
}
