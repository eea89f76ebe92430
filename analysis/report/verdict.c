#include "analysis/report/verdict.h"

#include "analysis/report/words.h"

#include <math.h>
#include <string.h>

/* --- Trends --- */

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

/* The number of bins up to the last one most of whose arrivals were served. */
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
    const double between = 0.5 * (last + n - quarter - half); /* distance of their middles, in bins */
    growth.left_frac = n_all > 0.0 ? n_left / n_all : 0.0;
    growth.until_s = n < TREND_BINS ? trend->start_s + n * trend->width_s : (double)NAN;
    growth.rate = (growth.late_s - growth.early_s) / (between * trend->width_s);
    growth.grows = growth.rate >= least_rate && growth.late_s >= least_factor * growth.early_s;
    growth.is_saturated = growth.grows || (n_all >= least_arrivals && growth.left_frac > most_left_frac);
    return growth;
}

/* --- Sentences --- */

static const double left_share = 0.05, least_extrapolated = 0.01;

static double metric(const struct verdict_facts *facts, const char *name)
{
    return facts->metric(facts->context, name);
}

static double counted(const struct verdict_facts *facts, const char *name)
{
    const double value = metric(facts, name);
    return isnan(value) ? 0.0 : value;
}

static void say_end(const struct verdict_facts *facts, struct text *text)
{
    char end[WORDS_CHARS];
    const char *at = words_seconds(metric(facts, "sim.end_s"), end);
    if (strcmp(facts->status, "interrupted") == 0)
        text_printf(text, "The run was interrupted at %s of simulated time: what follows covers this part only. ", at);
    else if (strcmp(facts->status, "stalled") == 0)
        text_printf(text, "The run stopped making progress and ended at %s: its numbers are not a result. ", at);
    else if (strcmp(facts->status, "open") == 0)
        text_add(text, "The run is not complete: its process died or still runs. ");
    else if (strcmp(facts->status, "done") != 0)
        text_printf(text, "The run has status '%.40s' and no result; see the warnings. ", facts->status);
}

/* "Of 1,000 requests 990 finished (99 %), 4 were rejected and 6 were left at the end. " */
static void say_served(const struct verdict_facts *facts, const char *things, const char *const names[4],
                       struct text *text)
{
    char all[WORDS_CHARS], part[WORDS_CHARS], share[WORDS_CHARS];
    const double n = metric(facts, names[0]), finished = counted(facts, names[1]);
    const double rejected = counted(facts, names[2]), left = counted(facts, names[3]);
    if (isnan(n)) return;
    words_number(n, all);
    if (n == 0.0) {
        text_printf(text, "There were no %s. ", things);
        return;
    }
    if (finished == n) {
        text_printf(text, "All %s %s finished. ", all, things);
        return;
    }
    text_printf(text, "Of %s %s %s finished (%s)", all, things, words_number(finished, part),
                words_percent(finished / n, share));
    if (rejected > 0.0) text_printf(text, ", %s were rejected", words_number(rejected, part));
    if (left > 0.0) text_printf(text, ", %s were left at the end", words_number(left, part));
    text_add(text, ". ");
}

/* Latencies are those of finished requests: those left at the end, which may have waited longest, have none. */
static void say_left_out(const struct verdict_facts *facts, const char *unfinished, const char *things,
                         struct text *text)
{
    char part[WORDS_CHARS];
    const double left = counted(facts, unfinished);
    if (left > 0.0)
        text_printf(text, "These are times of finished %s alone, without the %s left at the end. ", things,
                    words_number(left, part));
}

static void say_latency(const struct verdict_facts *facts, struct text *text)
{
    char p50[WORDS_CHARS], p99[WORDS_CHARS];
    const double ttft_s = metric(facts, "request.ttft_s.p50"), tpot_s = metric(facts, "request.tpot_s.p50");
    const double e2e_s = metric(facts, "request.e2e_s.p50");
    if (!isnan(ttft_s))
        text_printf(text, "The first token came after %s at the median and %s at the 99th percentile",
                    words_seconds(ttft_s, p50), words_seconds(metric(facts, "request.ttft_s.p99"), p99));
    if (!isnan(ttft_s) && !isnan(tpot_s))
        text_printf(text, ", the others every %s (%s)", words_seconds(tpot_s, p50),
                    words_seconds(metric(facts, "request.tpot_s.p99"), p99));
    if (!isnan(ttft_s) && !isnan(e2e_s))
        text_printf(text, "; the whole answer took %s (%s)", words_seconds(e2e_s, p50),
                    words_seconds(metric(facts, "request.e2e_s.p99"), p99));
    if (!isnan(ttft_s)) text_add(text, ". ");
    if (!isnan(ttft_s)) say_left_out(facts, "request.unfinished", "requests", text);
}

bool verdict_requests_saturate(const struct verdict_facts *facts)
{
    const double arrived = metric(facts, "request.arrived");
    for (size_t i = 0; i < facts->n_services; i++)
        if (facts->services[i].growth.is_saturated) return true;
    return facts->n_services == 0 && arrived > 0.0 && counted(facts, "request.unfinished") > left_share * arrived;
}

bool verdict_requests_grow(const struct verdict_facts *facts)
{
    for (size_t i = 0; i < facts->n_services; i++)
        if (facts->services[i].growth.grows) return true;
    return false;
}

bool verdict_jobs_saturate(const struct verdict_facts *facts)
{
    return facts->jobs != NULL && facts->jobs->is_saturated;
}

/* The words for a queue and its entries. */
struct queue_words {
    const char *came, *served, *things;
};

/* Adds the load of a queue whose waits grow by `rate` seconds per second: rate + 1. */
static void say_growth(const struct trend_growth *growth, const struct queue_words *words, struct text *text)
{
    char early[WORDS_CHARS], late[WORDS_CHARS], load[WORDS_CHARS], until[WORDS_CHARS];
    text_printf(text, "saturated: the mean wait rises from %s in the second quarter of the %s",
                words_seconds(growth->early_s, early), words->came);
    if (!isnan(growth->until_s)) text_printf(text, " up to %s", words_seconds(growth->until_s, until));
    text_printf(text, " to %s in the last quarter", words_seconds(growth->late_s, late));
    text_printf(text, ", as if work arrived at %s times the rate at which it is %s",
                words_number(round(100.0 * (1.0 + growth->rate)) / 100.0, load), words->served);
    text_add(text, "; mean and percentiles of waiting depend on the length of the run. ");
}

/* Follows the name of the queue. */
static void say_queue(const struct trend_growth *growth, const struct queue_words *words, struct text *text)
{
    char left[WORDS_CHARS];
    if (growth->grows) {
        say_growth(growth, words, text);
        return;
    }
    text_printf(text, "saturated or was cut short: %s of its %s still waited at the end. ",
                words_percent(growth->left_frac, left), words->things);
}

static void say_saturation(const struct verdict_facts *facts, struct text *text)
{
    enum { MOST = 3 };
    static const struct queue_words words = {"arrivals", "served", "requests"};
    char left[WORDS_CHARS];
    size_t n = 0;
    for (size_t i = 0; i < facts->n_services; i++) {
        const struct verdict_trend *service = &facts->services[i];
        if (!service->growth.is_saturated || ++n > MOST) continue;
        if (facts->n_services == 1)
            text_add(text, "The service is ");
        else
            text_printf(text, "The service '%.60s' is ", service->name);
        say_queue(&service->growth, &words, text);
    }
    if (n > MOST) text_printf(text, "So %s %zu more. ", n == MOST + 1 ? "is" : "are", n - MOST);
    if (facts->n_services == 0 && verdict_requests_saturate(facts))
        text_printf(text, "The service is saturated or was cut short: %s of the requests were left at the end. ",
                    words_percent(metric(facts, "request.unfinished") / metric(facts, "request.arrived"), left));
}

static void say_jobs(const struct verdict_facts *facts, struct text *text)
{
    char mean[WORDS_CHARS], p50[WORDS_CHARS], p99[WORDS_CHARS], share[WORDS_CHARS];
    const double jct_s = metric(facts, "job.jct_s.mean"), queue_s = metric(facts, "job.queue_s.mean");
    if (isnan(jct_s)) return;
    text_printf(text, "A job took %s from submission to its end on average (median %s, 99th percentile %s)",
                words_seconds(jct_s, mean), words_seconds(metric(facts, "job.jct_s.p50"), p50),
                words_seconds(metric(facts, "job.jct_s.p99"), p99));
    if (queue_s > 0.0 && jct_s > 0.0)
        text_printf(text, ", %s of it before the first start", words_percent(queue_s / jct_s, share));
    text_add(text, ". ");
    say_left_out(facts, "job.unfinished", "jobs", text);
}

static void say_job_saturation(const struct verdict_facts *facts, struct text *text)
{
    static const struct queue_words words = {"submissions", "done", "jobs"};
    if (!verdict_jobs_saturate(facts)) return;
    text_add(text, "The cluster is ");
    say_queue(facts->jobs, &words, text);
}

static void say_use(const struct verdict_facts *facts, struct text *text)
{
    char busy[WORDS_CHARS], held[WORDS_CHARS];
    const double busy_frac = metric(facts, "replica.busy_frac"), gpu_util = metric(facts, "cluster.gpu_util");
    if (!isnan(busy_frac)) text_printf(text, "Replicas computed %s of the time. ", words_percent(busy_frac, busy));
    if (!isnan(gpu_util))
        text_printf(text, "Jobs and services held %s of the cluster's GPU time. ", words_percent(gpu_util, held));
}

static void say_doubt(const struct verdict_facts *facts, struct text *text)
{
    char share[WORDS_CHARS];
    const double extrapolated = metric(facts, "model.extrapolated_frac");
    if (facts->is_uncalibrated)
        text_add(text, "The cost model is not calibrated for this GPU. ");
    else if (extrapolated >= least_extrapolated)
        text_printf(text, "%s of the kernels' time lies outside the measured range. ",
                    words_percent(extrapolated, share));
}

void verdict_run(const struct verdict_facts *facts, struct text *text)
{
    static const char *const requests[] = {"request.arrived", "request.finished", "request.rejected",
                                           "request.unfinished"};
    static const char *const jobs[] = {"job.submitted", "job.finished", "job.rejected", "job.unfinished"};
    say_end(facts, text);
    say_served(facts, "requests", requests, text);
    say_latency(facts, text);
    say_saturation(facts, text);
    say_served(facts, "jobs", jobs, text);
    say_jobs(facts, text);
    say_job_saturation(facts, text);
    say_use(facts, text);
    say_doubt(facts, text);
    while (text->length > 0 && text->chars[text->length - 1] == ' ') text->chars[--text->length] = 0;
}
