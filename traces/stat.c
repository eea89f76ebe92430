#include "traces/stat.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/tally.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double trace_stat_window_s[TRACE_STAT_WINDOWS] = {1, 10, 60, 300};
const double trace_stat_quantile_frac[TRACE_STAT_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};

struct pair {
    double x, y, rank_x, rank_y;
};

/* Arrivals per window of one width; windows begin at the first arrival. */
struct window {
    int64_t index, count; /* of the present window */
    struct tally counts;  /* of the whole windows before it */
};

struct collector {
    int64_t n;
    sim_ns first_ns, last_ns;
    struct tally gaps_s, x, y;
    struct window windows[TRACE_STAT_WINDOWS];
    struct arrivals arrivals;
    struct pair *sample; /* [TRACE_STAT_SAMPLE] */
    struct rng rng;
};

static int collector_init(struct collector *collector, struct diag *diag)
{
    *collector = (struct collector){.sample = mem_zalloc(TRACE_STAT_SAMPLE, sizeof *collector->sample)};
    if (collector->sample == NULL) return diag_nomem(diag);
    arrivals_init(&collector->arrivals);
    tally_init(&collector->gaps_s);
    tally_init(&collector->x);
    tally_init(&collector->y);
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) tally_init(&collector->windows[i].counts);
    rng_init(&collector->rng, 0, 0, "trace.stat", 0);
    return 0;
}

static void count_arrival(struct window *window, int64_t index)
{
    for (; window->index < index; window->index++) {
        tally_add(&window->counts, (double)window->count);
        window->count = 0;
    }
    window->count++;
}

/* Algorithm R (Vitter, ACM TOMS 1985): every record so far is in the sample with equal probability. */
static void sample(struct collector *collector, double x, double y)
{
    uint64_t place = (uint64_t)collector->n;
    if (collector->n >= TRACE_STAT_SAMPLE) place = rng_below(&collector->rng, (uint64_t)collector->n + 1);
    if (place < TRACE_STAT_SAMPLE) collector->sample[place] = (struct pair){.x = x, .y = y};
}

static void collect(struct collector *collector, sim_ns time_ns, double x, double y)
{
    if (collector->n == 0)
        collector->first_ns = time_ns;
    else
        tally_add(&collector->gaps_s, sim_s_from_ns(time_ns - collector->last_ns));
    collector->last_ns = time_ns;
    arrivals_add(&collector->arrivals, time_ns - collector->first_ns);
    double since_first_s = sim_s_from_ns(time_ns - collector->first_ns);
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
        count_arrival(&collector->windows[i], (int64_t)(since_first_s / trace_stat_window_s[i]));
    }
    tally_add(&collector->x, x);
    tally_add(&collector->y, y);
    sample(collector, x, y);
    collector->n++;
}

static int compare_x(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->x, y = ((const struct pair *)b)->x;
    return (x > y) - (x < y);
}

static int compare_y(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->y, y = ((const struct pair *)b)->y;
    return (x > y) - (x < y);
}

static double cv(const struct tally *tally)
{
    return tally->mean != 0 ? sqrt(tally_variance(tally)) / tally->mean : (double)NAN;
}

/* The sample is sorted by the value that `use_y` chooses; equal values get the mean of their ranks. */
static void summarise(struct pair *pairs, size_t n, bool use_y, const struct tally *tally,
                      struct trace_quantity *quantity)
{
    *quantity = (struct trace_quantity){.mean = tally->mean, .cv = cv(tally), .min = tally->min, .max = tally->max};
    qsort(pairs, n, sizeof *pairs, use_y ? compare_y : compare_x);
    for (int i = 0; n > 0 && i < TRACE_STAT_QUANTILES; i++) {
        double rank = ceil(trace_stat_quantile_frac[i] * (double)n);
        const struct pair *at = &pairs[rank < 1 ? 0 : (size_t)rank - 1];
        quantity->quantiles[i] = use_y ? at->y : at->x;
    }
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && (use_y ? compare_y : compare_x)(&pairs[first], &pairs[end]) == 0;) end++;
        double rank = (double)(first + end - 1) / 2;
        for (size_t i = first; i < end; i++) *(use_y ? &pairs[i].rank_y : &pairs[i].rank_x) = rank;
    }
}

/* Pearson's correlation of the ranks. */
static double rank_correlation(const struct pair *pairs, size_t n)
{
    double mean = ((double)n - 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double x = pairs[i].rank_x - mean, y = pairs[i].rank_y - mean;
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

static void finish(struct collector *collector, struct trace_stat *stat, struct trace_quantity *x,
                   struct trace_quantity *y)
{
    size_t n = collector->n < TRACE_STAT_SAMPLE ? (size_t)collector->n : TRACE_STAT_SAMPLE;
    stat->n = collector->n;
    stat->first_s = sim_s_from_ns(collector->first_ns);
    stat->span_s = sim_s_from_ns(collector->last_ns - collector->first_ns);
    stat->rate_per_s = stat->span_s > 0 ? (double)(collector->n - 1) / stat->span_s : 0;
    arrivals_find(&collector->arrivals, stat->span_s, &stat->arrivals);
    stat->gap_cv = cv(&collector->gaps_s);
    for (int i = 0; i < TRACE_STAT_WINDOWS; i++) {
        const struct tally *counts = &collector->windows[i].counts;
        stat->idc[i] = counts->count >= 2 ? counts->m2 / tally_sum(counts) : (double)NAN;
    }
    summarise(collector->sample, n, false, &collector->x, x);
    summarise(collector->sample, n, true, &collector->y, y);
    stat->rank_correlation = rank_correlation(collector->sample, n);
    mem_free(collector->sample);
}

static void count_class(struct trace_stat *stat, const struct request_record *r)
{
    size_t i = 0;
    while (i < stat->n_classes && strcmp(stat->classes[i].name, r->class_name) != 0) i++;
    if (i == TRACE_STAT_CLASSES) return;
    struct trace_class_stat *class = &stat->classes[i];
    if (i == stat->n_classes) {
        stat->n_classes++;
        snprintf(class->name, sizeof class->name, "%s", r->class_name);
    }
    class->n++;
    class->prompt_tokens_sum += r->prompt_tokens;
    class->output_tokens_sum += r->output_tokens;
}

static void count_type(struct trace_stat *stat, const char *name, double gpu_s)
{
    size_t i = 0;
    while (i < stat->n_types && strcmp(stat->types[i].name, name) != 0) i++;
    if (i == TRACE_STAT_CLASSES) return;
    struct trace_type_stat *type = &stat->types[i];
    if (i == stat->n_types) {
        stat->n_types++;
        snprintf(type->name, sizeof type->name, "%s", name);
    }
    type->n++;
    type->gpu_s += gpu_s;
}

int trace_stat_requests(struct request_source *source, struct trace_stat *stat, struct diag *diag)
{
    struct collector collector;
    struct request_record r;
    *stat = (struct trace_stat){0};
    int code = collector_init(&collector, diag);
    if (code != 0) return code;
    while ((code = source->next(source, &r, diag)) == 1) {
        collect(&collector, r.arrival_ns, r.prompt_tokens, r.output_tokens);
        stat->prompt_tokens_sum += r.prompt_tokens;
        stat->output_tokens_sum += r.output_tokens;
        if (r.class_name != NULL) count_class(stat, &r);
    }
    finish(&collector, stat, &stat->prompt_tokens, &stat->output_tokens);
    return code;
}

int trace_stat_jobs(struct job_source *source, struct trace_stat *stat, struct diag *diag)
{
    struct collector collector;
    struct job_record r;
    *stat = (struct trace_stat){0};
    int code = collector_init(&collector, diag);
    if (code != 0) return code;
    while ((code = source->next(source, &r, diag)) == 1) {
        double duration_s = sim_s_from_ns(r.duration_ns), gpus = r.gpus == 1 ? r.gpu_milli / 1000.0 : r.gpus;
        collect(&collector, r.submit_ns, duration_s, gpus);
        stat->gpu_s += duration_s * gpus;
        stat->n_cpu_jobs += r.gpus == 0;
        stat->statuses[r.status].n++;
        stat->statuses[r.status].gpu_s += duration_s * gpus;
        if (r.type != NULL && *r.type != 0) count_type(stat, r.type, duration_s * gpus);
    }
    finish(&collector, stat, &stat->duration_s, &stat->gpus);
    return code;
}
