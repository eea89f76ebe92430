#include "analysis/report/trend.h"

#include "sim/core/err.h"

#include <math.h>
#include <string.h>

static const double least_rate = 0.01, least_factor = 2.0, least_arrivals = 20.0;

int trend_init(struct trend *trend, double start_s, double end_s)
{
    memset(trend, 0, sizeof *trend);
    trend->start_s = start_s;
    trend->width_s = end_s > start_s ? (end_s - start_s) / TREND_BINS : 1.0;
    int code = 0;
    for (int i = 0; i < TREND_BINS && code == 0; i++) code = histogram_init(&trend->bins[i].latency_s);
    return code;
}

void trend_fini(struct trend *trend)
{
    for (int i = 0; i < TREND_BINS; i++) histogram_fini(&trend->bins[i].latency_s);
}

int trend_add(struct trend *trend, double t_s, double wait_s, double latency_s)
{
    const double place = (t_s - trend->start_s) / trend->width_s;
    if (!(place >= 0.0)) return 0;
    struct trend_bin *bin = &trend->bins[place < TREND_BINS ? (int)place : TREND_BINS - 1];
    if (!isnan(wait_s)) {
        bin->n++;
        bin->wait_sum_s += wait_s;
    }
    return latency_s >= 0.0 ? histogram_add(&bin->latency_s, latency_s, 1) : 0;
}

static double mean_wait(const struct trend *trend, int from, int to)
{
    double n = 0.0, sum_s = 0.0;
    for (int i = from; i < to; i++) {
        n += trend->bins[i].n;
        sum_s += trend->bins[i].wait_sum_s;
    }
    return n >= least_arrivals ? sum_s / n : (double)NAN;
}

struct trend_growth trend_growth(const struct trend *trend)
{
    enum { QUARTER = TREND_BINS / 4 };
    struct trend_growth growth = {.early_s = mean_wait(trend, QUARTER, 2 * QUARTER),
                                  .late_s = mean_wait(trend, 3 * QUARTER, TREND_BINS)};
    growth.rate = (growth.late_s - growth.early_s) / (2 * QUARTER * trend->width_s);
    growth.is_saturated = growth.rate >= least_rate && growth.late_s >= least_factor * growth.early_s;
    return growth;
}
