/* Changes of metrics against a base: each run beside the run of its seed that has the base's value on one axis, and
 * equals it on all others. A change is in percent of the mean of the paired base runs, as `orrery compare` has it. The
 * interval of a point is that of its paired differences; of replicates of a trace that of the ratios of the pairs. */
#include "analysis/report/study.h"
#include "analysis/report/study_chart.h"

#include <math.h>

/* Runs by point: next[i] is the next run of the point of run i; n_runs ends. */
struct chains {
    size_t *first; /* [n_points] */
    size_t *next;  /* [n_runs] */
    size_t *base;  /* [n_points]: the base's point; n_points: none */
};

static int chain_runs(const struct study *study, struct arena *arena, struct chains *chains)
{
    chains->first = arena_alloc(arena, (study->n_points + 1) * sizeof *chains->first);
    chains->base = arena_alloc(arena, (study->n_points + 1) * sizeof *chains->base);
    chains->next = arena_alloc(arena, (study->n_runs + 1) * sizeof *chains->next);
    if (chains->first == NULL || chains->base == NULL || chains->next == NULL) return SIM_E_NOMEM;
    for (size_t p = 0; p < study->n_points; p++) chains->first[p] = study->n_runs;
    for (size_t i = study->n_runs; i-- > 0;) {
        chains->next[i] = chains->first[study->runs[i].point];
        chains->first[study->runs[i].point] = i;
    }
    return 0;
}

/* Finds the base of each point: equal on all axes but this one and those whose values follow from it. */
static void find_bases(const struct study *study, size_t axis, size_t level, struct chains *chains)
{
    const struct study_view all = {0};
    const unsigned equal = ~study_view_determined(study, &all, 1U << axis);
    for (size_t p = 0; p < study->n_points; p++) {
        size_t q = 0;
        while (q < study->n_points && (study->points[q].levels[axis] != level ||
                                       !study_same(study, &study->points[p], &study->points[q], equal)))
            q++;
        chains->base[p] = q;
    }
}

/* The run of the base with the seed of run i; NULL: there is none. */
static const struct study_run *partner_of(const struct study *study, const struct chains *chains, size_t i)
{
    const size_t base = chains->base[study->runs[i].point];
    if (base == study->n_points) return NULL;
    for (size_t k = chains->first[base]; k < study->n_runs; k = chains->next[k])
        if (study->runs[k].seed == study->runs[i].seed) return &study->runs[k];
    return NULL;
}

/* Values of the pairs of one point, each [n_runs], and the interval of changed / base of each point and metric. */
struct pairs {
    double *base, *changed, *scratch;
    struct interval *ratios; /* [n_points][n_metrics]; NANs: none */
};

static int make_pairs(const struct study *study, struct arena *arena, struct pairs *pairs)
{
    double *room = arena_alloc(arena, 3 * (study->n_runs + 1) * sizeof *room);
    pairs->ratios = arena_alloc(arena, (study->n_points * study->n_metrics + 1) * sizeof *pairs->ratios);
    if (room == NULL || pairs->ratios == NULL) return SIM_E_NOMEM;
    pairs->base = room;
    pairs->changed = room + study->n_runs + 1;
    pairs->scratch = room + 2 * (study->n_runs + 1);
    return 0;
}

/* Sets the changes of one metric at a point; NAN where a run has no partner. */
static void change_point(struct study *study, const struct chains *chains, size_t p, size_t metric,
                         const struct pairs *pairs)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = chains->first[p]; i < study->n_runs; i = chains->next[i]) {
        const struct study_run *partner = partner_of(study, chains, i);
        const double value = study->runs[i].values[metric];
        const double base = partner != NULL ? partner->values[metric] : (double)NAN;
        study->runs[i].values[metric] = value - base;
        if (isnan(value - base) || (study->runs[i].is_copy && partner->is_copy)) continue;
        sum += base;
        pairs->base[n] = base;
        pairs->changed[n++] = value;
    }
    pairs->ratios[p * study->n_metrics + metric] =
        study->is_bootstrap ? stats_replicate_ratio(pairs->base, pairs->changed, n, 0.95, pairs->scratch)
                            : (struct interval){(double)NAN, (double)NAN, (double)NAN};
    const double mean = n > 0 ? fabs(sum) / (double)n : 0.0;
    if (n > 0 && mean <= 0) study->metrics[metric].is_zero_base = true;
    for (size_t i = chains->first[p]; i < study->n_runs; i = chains->next[i])
        study->runs[i].values[metric] = mean > 0 ? 100.0 * study->runs[i].values[metric] / mean : (double)NAN;
}

/* Turns the recorded value of a point into its change from that of its base; NAN without one. */
static void change_recorded(struct study *study, const struct chains *chains, size_t p, size_t metric)
{
    const size_t q = chains->base[p];
    const double base = q < study->n_points ? study->points[q].recorded[metric] : (double)NAN;
    double *recorded = &study->points[p].recorded[metric];
    *recorded = base > 0 || base < 0 ? 100.0 * (*recorded - base) / fabs(base) : (double)NAN;
}

/* Takes out the points and runs of the base. */
static void drop_base(struct study *study, size_t axis, size_t level, size_t *moved)
{
    size_t n_points = 0, n_runs = 0;
    for (size_t p = 0; p < study->n_points; p++) {
        moved[p] = n_points;
        if (study->points[p].levels[axis] != level)
            study->points[n_points++] = study->points[p];
        else
            moved[p] = SIZE_MAX;
    }
    for (size_t i = 0; i < study->n_runs; i++) {
        if (moved[study->runs[i].point] == SIZE_MAX) continue;
        study->runs[n_runs] = study->runs[i];
        study->runs[n_runs].point = moved[study->runs[i].point];
        n_runs++;
    }
    study->n_points = n_points;
    study->n_runs = n_runs;
}

/* Gives the points that are left the intervals of the ratios of their pairs, where these have any. */
static void set_ratios(struct study *study, const size_t *moved, size_t n_before, const struct pairs *pairs)
{
    for (size_t p = 0; p < n_before; p++)
        for (size_t k = 0; moved[p] != SIZE_MAX && k < study->n_metrics; k++) {
            const struct interval *ratio = &pairs->ratios[p * study->n_metrics + k];
            struct interval *change = &study->points[moved[p]].metrics[k];
            if (isnan(ratio->low)) continue;
            change->low = 100.0 * (ratio->low - 1.0);
            change->high = 100.0 * (ratio->high - 1.0);
        }
}

/* Takes values out of an axis that no point has any more. */
static void drop_levels(struct study *study, size_t a)
{
    struct study_axis *axis = &study->axes[a];
    for (size_t level = axis->n; level-- > 0;) {
        bool is_used = false;
        for (size_t p = 0; p < study->n_points; p++) is_used |= study->points[p].levels[a] == level;
        if (is_used) continue;
        for (size_t k = level; k + 1 < axis->n; k++) {
            axis->values[k] = axis->values[k + 1];
            if (axis->numbers != NULL) axis->numbers[k] = axis->numbers[k + 1];
        }
        axis->n--;
        for (size_t p = 0; p < study->n_points; p++) study->points[p].levels[a] -= study->points[p].levels[a] > level;
    }
}

int study_relate(struct study *study, size_t axis, size_t level, struct arena *arena)
{
    struct chains chains;
    struct pairs pairs;
    const size_t n_points = study->n_points;
    size_t *moved = arena_alloc(arena, (study->n_points + 1) * sizeof *moved);
    bool *is_copy = arena_alloc(arena, (study->n_runs + 1) * sizeof *is_copy);
    if (moved == NULL || is_copy == NULL || chain_runs(study, arena, &chains) != 0 ||
        make_pairs(study, arena, &pairs) != 0)
        return SIM_E_NOMEM;
    find_bases(study, axis, level, &chains);
    const struct study_axis *of = &study->axes[axis];
    study->relative_to = of->numbers == NULL && of->values[level][0] != 0
                             ? of->values[level]
                             : arena_printf(arena, "%s=%s", of->name, of->values[level]);
    if (study->relative_to == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < study->n_runs; i++) {
        const struct study_run *partner = partner_of(study, &chains, i);
        is_copy[i] = study->runs[i].is_copy && partner != NULL && partner->is_copy;
    }
    for (size_t k = 0; k < study->n_metrics; k++) {
        for (size_t p = 0; p < study->n_points; p++) {
            if (study->points[p].levels[axis] == level) continue;
            change_point(study, &chains, p, k, &pairs);
            change_recorded(study, &chains, p, k);
        }
        study->metrics[k].unit = "%";
        study->metrics[k].heading = arena_printf(arena, "%s change %%", study->metrics[k].name);
        if (study->metrics[k].heading == NULL) return SIM_E_NOMEM;
    }
    for (size_t i = 0; i < study->n_runs; i++) study->runs[i].is_copy = is_copy[i];
    drop_base(study, axis, level, moved);
    for (size_t a = 0; a < study->n_axes; a++) drop_levels(study, a);
    study->n_copies = 0;
    for (size_t i = 0; i < study->n_runs; i++) study->n_copies += study->runs[i].is_copy;
    const int code = study_average(study, arena);
    if (code == 0) set_ratios(study, moved, n_points, &pairs);
    return code;
}
