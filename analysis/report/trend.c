#include "analysis/report/trend.h"

#include <math.h>
#include <string.h>

static const double least_rate = 0.01, least_factor = 2.0, least_arrivals = 20.0, most_left_frac = 0.05;

void trend_init(struct trend *trend, double start_s, double end_s)
{
    memset(trend, 0, sizeof *trend);
    trend->start_s = start_s;
    trend->width_s = end_s > start_s ? (end_s - start_s) / TREND_BINS : 1.0;
}

int trend_bin_at(const struct trend *trend, double t_s)
{
    const double place = (t_s - trend->start_s) / trend->width_s;
    if (!(place >= 0.0)) return -1;
    return place < TREND_BINS ? (int)place : TREND_BINS - 1;
}

void trend_add(struct trend *trend, double t_s, double wait_s, bool is_left)
{
    const int i = trend_bin_at(trend, t_s);
    if (i < 0 || isnan(wait_s)) return;
    trend->bins[i].n++;
    trend->bins[i].n_left += is_left;
    trend->bins[i].wait_sum_s += wait_s;
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

/* The number of bins up to the last one most of whose arrivals got their turn. */
static int count_known(const struct trend *trend, double n_left)
{
    int n = TREND_BINS;
    while (n_left > 0.0 && n > 0 && trend->bins[n - 1].n <= 2.0 * trend->bins[n - 1].n_left) n--;
    return n;
}

struct trend_growth trend_growth(const struct trend *trend)
{
    double n_all = 0.0, n_left = 0.0;
    for (int i = 0; i < TREND_BINS; i++) {
        n_all += trend->bins[i].n;
        n_left += trend->bins[i].n_left;
    }
    const int n = count_known(trend, n_left);
    const int quarter = n / 4, half = n / 2, last = n - n / 4;
    struct trend_growth growth = {.early_s = mean_wait(trend, quarter, half), .late_s = mean_wait(trend, last, n)};
    const double between = 0.5 * (last + n - quarter - half); /* the middles of both, in bins */
    growth.left_frac = n_all > 0.0 ? n_left / n_all : 0.0;
    growth.until_s = n < TREND_BINS ? trend->start_s + n * trend->width_s : (double)NAN;
    growth.rate = (growth.late_s - growth.early_s) / (between * trend->width_s);
    growth.grows = growth.rate >= least_rate && growth.late_s >= least_factor * growth.early_s;
    growth.is_saturated = growth.grows || (n_all >= least_arrivals && growth.left_frac > most_left_frac);
    return growth;
}
