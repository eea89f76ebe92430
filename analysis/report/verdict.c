#include "analysis/report/verdict.h"

#include "analysis/report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Trends --- */

static const double least_rate = 0.01, least_factor = 2.0, least_arrivals = 20.0, most_left_frac = 0.05;

void trend_init(struct trend *trend, double start_s, double end_s)
{
    memset(trend, 0, sizeof *trend);
    trend->start_s = start_s;
    trend->width_s = end_s > start_s ? (end_s - start_s) / TREND_BINS : 1.0;
    trend->n_bins = TREND_BINS;
}

void trend_init_open(struct trend *trend)
{
    memset(trend, 0, sizeof *trend);
    trend->width_s = 1e-6;
    trend->widens = true;
}

/* Doubles the width of the bins: towards earlier times, or towards later ones. */
static void widen(struct trend *trend, bool earlier)
{
    enum { HALF = TREND_BINS / 2 };
    struct trend_bin joined[HALF];
    for (int i = 0; i < HALF; i++) {
        const struct trend_bin *a = &trend->bins[2 * i], *b = a + 1;
        joined[i] = (struct trend_bin){a->n + b->n, a->n_left + b->n_left, a->wait_sum_s + b->wait_sum_s};
    }
    memset(trend->bins, 0, sizeof trend->bins);
    memcpy(&trend->bins[earlier ? HALF : 0], joined, sizeof joined);
    if (earlier) trend->start_s -= trend->width_s * TREND_BINS;
    trend->width_s *= 2.0;
    trend->n_bins = (trend->n_bins + 1) / 2 + (earlier ? HALF : 0);
}

/* Makes the trend reach t. */
static void reach(struct trend *trend, double t_s)
{
    if (!trend->widens || !isfinite(t_s)) return;
    if (trend->n_bins == 0) trend->start_s = t_s;
    while (t_s < trend->start_s) widen(trend, true);
    while (t_s >= trend->start_s + trend->width_s * TREND_BINS) widen(trend, false);
}

int trend_bin_at(const struct trend *trend, double t_s)
{
    const double place = (t_s - trend->start_s) / trend->width_s;
    if (!(place >= 0.0)) return -1;
    return place < TREND_BINS ? (int)place : TREND_BINS - 1;
}

void trend_add(struct trend *trend, double t_s, double wait_s, bool is_left)
{
    if (isnan(wait_s)) return;
    reach(trend, t_s);
    const int i = trend_bin_at(trend, t_s);
    if (i < 0) return;
    if (i >= trend->n_bins) trend->n_bins = i + 1;
    trend->bins[i].n++;
    trend->bins[i].n_left += is_left;
    trend->bins[i].wait_sum_s += wait_s;
}

void trend_end(struct trend *trend, double end_s)
{
    for (int i = 0; i < trend->n_bins; i++) trend->bins[i].wait_sum_s += trend->bins[i].n_left * end_s;
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
    int n = trend->n_bins;
    while (n_left > 0.0 && n > 0 && trend->bins[n - 1].n <= 2.0 * trend->bins[n - 1].n_left) n--;
    return n;
}

/* Where arrivals begin: a trend that widens does not know it before. */
static int first_bin(const struct trend *trend)
{
    int i = 0;
    while (trend->widens && i < trend->n_bins && trend->bins[i].n == 0.0) i++;
    return i;
}

struct trend_growth trend_growth(const struct trend *trend)
{
    double n_all = 0.0, n_left = 0.0;
    for (int i = 0; i < TREND_BINS; i++) {
        n_all += trend->bins[i].n;
        n_left += trend->bins[i].n_left;
    }
    const int from = first_bin(trend), n = count_known(trend, n_left);
    const int quarter = from + (n - from) / 4, half = from + (n - from) / 2, last = n - (n - from) / 4;
    struct trend_growth growth = {.early_s = mean_wait(trend, quarter, half), .late_s = mean_wait(trend, last, n)};
    const double between = 0.5 * (last + n - quarter - half); /* distance of their middles, in bins */
    growth.left_frac = n_all > 0.0 ? n_left / n_all : 0.0;
    growth.until_s = n < trend->n_bins ? trend->start_s + n * trend->width_s : (double)NAN;
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
    else if (strcmp(facts->status, "unfit") == 0)
        text_add(text, "This does not fit, so there was no run; the warning says why. ");
    else if (strcmp(facts->status, "done") != 0)
        text_printf(text, "The run has status '%.40s' and no result; see the warnings. ", facts->status);
}

/* What became of requests or jobs: metrics that count them. */
struct fates {
    const char *things, *all, *rejected, *left;
    double ended;
    const char *failed, *cancelled; /* NULL: they neither fail nor are cancelled; else parts of `ended` */
};

/* "Of 1,000 jobs 900 finished (90 %), 40 failed, 50 were cancelled, 4 were rejected and 6 were left at the end. " */
static void say_served(const struct verdict_facts *facts, const struct fates *fates, struct text *text)
{
    char all[WORDS_CHARS], part[WORDS_CHARS], share[WORDS_CHARS];
    const double n = metric(facts, fates->all), rejected = counted(facts, fates->rejected);
    const double left = counted(facts, fates->left);
    const double failed = fates->failed != NULL ? counted(facts, fates->failed) : 0.0;
    const double cancelled = fates->cancelled != NULL ? counted(facts, fates->cancelled) : 0.0;
    const double finished = fates->ended - failed - cancelled;
    if (isnan(n)) return;
    words_number(n, all);
    if (n == 0.0) {
        text_printf(text, "There were no %s. ", fates->things);
        return;
    }
    if (finished == n && n == 1.0) {
        text_printf(text, "The only %.*s finished. ", (int)strlen(fates->things) - 1, fates->things);
        return;
    }
    if (finished == n) {
        text_printf(text, "All %s %s finished. ", all, fates->things);
        return;
    }
    text_printf(text, "Of %s %s %s finished (%s)", all, fates->things, words_number(finished, part),
                words_percent(finished / n, share));
    if (failed > 0.0) text_printf(text, ", %s failed", words_number(failed, part));
    if (cancelled > 0.0) text_printf(text, ", %s were cancelled", words_number(cancelled, part));
    if (rejected > 0.0) text_printf(text, ", %s were rejected", words_number(rejected, part));
    if (left > 0.0) text_printf(text, ", %s were left at the end", words_number(left, part));
    text_add(text, ". ");
}

/* Latencies are those of finished requests: those left at the end, which may have waited longest, have none. */
static void say_left_out(const struct verdict_facts *facts, const char *unfinished, const char *whose,
                         struct text *text)
{
    char part[WORDS_CHARS];
    const double left = counted(facts, unfinished);
    if (left > 0.0)
        text_printf(text, "These are times of %s alone, without the %s left at the end. ", whose,
                    words_number(left, part));
}

/* The upper end of a distribution of n values: its 99th percentile, or its maximum if n is too few for that. */
static double upper_end(const struct verdict_facts *facts, const char *name, double n)
{
    char full[64];
    snprintf(full, sizeof full, "%.48s.%s", name, words_has_quantile(n, 0.99) ? "p99" : "max");
    return metric(facts, full);
}

static void say_latency(const struct verdict_facts *facts, struct text *text)
{
    char p50[WORDS_CHARS], p99[WORDS_CHARS];
    const double n = metric(facts, "request.finished");
    const double ttft_s = metric(facts, "request.ttft_s.p50"), tpot_s = metric(facts, "request.tpot_s.p50");
    const double e2e_s = metric(facts, "request.e2e_s.p50");
    if (!isnan(ttft_s))
        text_printf(text, "The first token came after %s at the median and %s at %s", words_seconds(ttft_s, p50),
                    words_seconds(upper_end(facts, "request.ttft_s", n), p99),
                    words_has_quantile(n, 0.99) ? "the 99th percentile" : "most");
    if (!isnan(ttft_s) && !isnan(tpot_s))
        text_printf(text, ", the others every %s (%s)", words_seconds(tpot_s, p50),
                    words_seconds(upper_end(facts, "request.tpot_s", n), p99));
    if (!isnan(ttft_s) && !isnan(e2e_s))
        text_printf(text, "; the whole answer took %s (%s)", words_seconds(e2e_s, p50),
                    words_seconds(upper_end(facts, "request.e2e_s", n), p99));
    if (!isnan(ttft_s)) text_add(text, ". ");
    if (!isnan(ttft_s)) say_left_out(facts, "request.unfinished", "finished requests", text);
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

/* The GPUs that jobs may have: those of nodes that their scheduler uses and that work, without what services hold. The
 * share of nodes that work is taken to be that of the whole site: there is no metric of these nodes alone. */
static double job_gpus(const struct verdict_facts *facts)
{
    const double available = metric(facts, "cluster.available_frac"), end_s = metric(facts, "sim.end_s");
    const bool is_part = !isnan(metric(facts, "cluster.job_gpus"));
    const double held_gpu_s = metric(facts, "job.gpu_s.sum");
    const double in_use = metric(facts, is_part ? "cluster.job_gpus_in_use.mean" : "cluster.gpus_in_use.mean");
    const double of_services = end_s > 0.0 ? in_use - held_gpu_s / end_s : 0.0;
    return metric(facts, is_part ? "cluster.job_gpus" : "cluster.gpus") * (isnan(available) ? 1.0 : available) -
           fmax(of_services, 0.0);
}

/* The GPU time that jobs need: what they held, or their work on the requested GPUs and the waits of their first
 * starts, if that is less. First starts have their share of the waits of all starts. */
static double needed_gpu_s(const struct verdict_facts *facts)
{
    const double n = facts->submissions.n, first_frac = n / (n + counted(facts, "job.preemptions.sum"));
    const double wait_gpu_s = first_frac * counted(facts, "job.wait_gpu_s.sum");
    return fmin(metric(facts, "job.gpu_s.sum"), metric(facts, "job.useful_gpu_s.sum") + wait_gpu_s);
}

double verdict_load(const struct verdict_facts *facts)
{
    const struct verdict_submissions *jobs = &facts->submissions;
    const double span_s = jobs->last_s - jobs->first_s, gpus = job_gpus(facts);
    const bool is_stream = jobs->n >= least_arrivals && span_s > 0.0 && span_s >= jobs->held_s / jobs->n;
    if (!is_stream || !(gpus > 0.0) || !isnan(metric(facts, "rental.gpus.mean"))) return (double)NAN;
    return needed_gpu_s(facts) / (gpus * span_s * jobs->n / (jobs->n - 1.0)); /* n jobs have n - 1 gaps */
}

bool verdict_jobs_overload(const struct verdict_facts *facts)
{
    const bool waited = metric(facts, "job.wait_s.max") != 0.0 || counted(facts, "job.unfinished") > 0.0;
    return waited && verdict_load(facts) > 1.0;
}

/* Without rows: the share of the jobs that are left at the end, beyond one for each GPU in use. Where jobs need no
 * GPUs or take turns on them, nothing follows from their number. The SQL of sim/cli/study/sweep_table.c has the same
 * rule for all runs of a sweep. */
static double waiting_share(const struct verdict_facts *facts)
{
    const double submitted = metric(facts, "job.submitted"), gpus = metric(facts, "job.gpus_in_use.max");
    const double left = counted(facts, "job.unfinished") - gpus;
    if (!(gpus > 0.0) || counted(facts, "job.preemptions.sum") > 0.0) return 0.0;
    return submitted >= least_arrivals && left > 0.0 ? left / submitted : 0.0;
}

bool verdict_jobs_saturate(const struct verdict_facts *facts)
{
    const bool many_wait = facts->jobs != NULL ? facts->jobs->is_saturated : waiting_share(facts) > left_share;
    return many_wait || verdict_jobs_overload(facts);
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
    if (strcmp(facts->status, "stalled") == 0) return; /* what is left waits for something that never comes */
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
    const double jct_s = metric(facts, "job.jct_s.mean"), wait_s = metric(facts, "job.wait_s.mean");
    const double queue_s = metric(facts, "job.queue_s.mean");
    if (isnan(jct_s)) return;
    const double n = metric(facts, "job.ended");
    text_printf(text, "A job took %s from submission to its end on average (median %s, %s %s)",
                words_seconds(jct_s, mean), words_seconds(metric(facts, "job.jct_s.p50"), p50),
                words_has_quantile(n, 0.99) ? "99th percentile" : "at most",
                words_seconds(upper_end(facts, "job.jct_s", n), p99));
    if (wait_s > 0.0 && jct_s > 0.0) text_printf(text, ", %s of it without GPUs", words_percent(wait_s / jct_s, share));
    if (queue_s > 0.0 && jct_s > 0.0)
        text_printf(text, ", %s of it before the first start", words_percent(queue_s / jct_s, share));
    text_add(text, ". ");
    say_left_out(facts, "job.unfinished", "ended jobs", text);
}

static void say_job_saturation(const struct verdict_facts *facts, struct text *text)
{
    static const struct queue_words words = {"submissions", "done", "jobs"};
    char times[WORDS_CHARS];
    if (strcmp(facts->status, "stalled") == 0) return;
    if (facts->jobs != NULL && facts->jobs->is_saturated) {
        text_add(text, "The cluster is ");
        say_queue(facts->jobs, &words, text);
    }
    if (facts->jobs == NULL && waiting_share(facts) > left_share)
        text_printf(text,
                    "The cluster is saturated or was cut short: %s of the jobs were left, beyond one for each GPU. ",
                    words_percent(waiting_share(facts), times));
    if (verdict_jobs_overload(facts))
        text_printf(text, "Jobs brought %s times the GPU time that they could have while they were submitted. ",
                    words_number(round(100.0 * verdict_load(facts)) / 100.0, times));
}

/* --- The site --- */

/* "98.2 % of the requests attained their SLO (chat 97.4 %, assistant 99.9 %). " */
static void say_slo(const struct verdict_facts *facts, struct text *text)
{
    char share[WORDS_CHARS], name[96];
    const double attained = metric(facts, "slo.attained_frac");
    size_t n = 0;
    if (isnan(attained)) return;
    text_printf(text, "%s of the requests attained their SLO", words_percent(attained, share));
    for (size_t i = 0; i < facts->n_services && facts->n_services > 1 && n < 4; i++) {
        snprintf(name, sizeof name, "slo.attained_frac[%.60s]", facts->services[i].name);
        const double of_service = metric(facts, name);
        if (isnan(of_service)) continue;
        text_printf(text, "%s%.60s %s", n++ == 0 ? " (" : ", ", facts->services[i].name,
                    words_percent(of_service, share));
    }
    text_add(text, n > 0 ? "). " : ". ");
}

static const char *times(double n, char words[WORDS_CHARS])
{
    if (n == 1.0) return "once";
    char number[WORDS_CHARS];
    snprintf(words, WORDS_CHARS, "%.30s times", words_number(n, number));
    return words;
}

static void say_power(const struct verdict_facts *facts, struct text *text)
{
    char words[WORDS_CHARS], held[WORDS_CHARS];
    const double brakes = metric(facts, "power.brakes"), trips = metric(facts, "power.breaker_trips");
    if (brakes > 0.0)
        text_printf(text, "The power brake engaged %s, for %s in all. ", times(brakes, words),
                    words_seconds(metric(facts, "power.braked_s"), held));
    else if (brakes == 0.0)
        text_add(text, "The power brake never engaged. ");
    if (trips > 0.0) text_printf(text, "A breaker tripped %s. ", times(trips, words));
}

static void say_failures(const struct verdict_facts *facts, struct text *text)
{
    char events[WORDS_CHARS], jobs[WORDS_CHARS], replicas[WORDS_CHARS];
    const double n = metric(facts, "failure.events"), interrupts = counted(facts, "failure.interrupts");
    const double stops = counted(facts, "failure.replica_stops"), lost = counted(facts, "rental.interruptions");
    if (n > 0.0)
        text_printf(text, "Failures struck %s: they stopped running jobs %s and replicas %s. ", times(n, events),
                    interrupts > 0.0 ? times(interrupts, jobs) : "never",
                    stops > 0.0 ? times(stops, replicas) : "never");
    else if (n == 0.0)
        text_add(text, "Nothing failed. ");
    if (lost > 0.0) text_printf(text, "Rented GPUs were lost to interruptions %s. ", times(lost, events));
}

static void say_preemptions(const struct verdict_facts *facts, struct text *text)
{
    char words[WORDS_CHARS];
    const double yields = counted(facts, "scaling.yielded_jobs.sum");
    const double preemptions = counted(facts, "job.preemptions.sum") - counted(facts, "failure.interrupts") - yields;
    const double evictions = counted(facts, "replica.preemptions.sum");
    if (yields > 0.0) text_printf(text, "Jobs yielded their GPUs to replicas %s. ", times(yields, words));
    if (preemptions > 0.0) text_printf(text, "Jobs were preempted %s. ", times(preemptions, words));
    if (evictions > 0.0) text_printf(text, "Requests were evicted from a batch %s. ", times(evictions, words));
}

static void say_bill(const struct verdict_facts *facts, struct text *text)
{
    char usd[WORDS_CHARS];
    const double bill = metric(facts, "cost.usd"), per_h = metric(facts, "cost.usd_per_h");
    if (!isnan(bill))
        text_printf(text, "The bill is %s. ", words_usd(bill, usd));
    else if (!isnan(per_h))
        text_printf(text, "The GPUs of its services cost %s per hour. ", words_usd(per_h, usd));
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
    const struct fates requests = {"requests",
                                   "request.arrived",
                                   "request.rejected",
                                   "request.unfinished",
                                   counted(facts, "request.finished"),
                                   NULL,
                                   NULL};
    const double n_ended = metric(facts, "job.ended");
    const struct fates jobs = {
        "jobs",       "job.submitted", "job.rejected", "job.unfinished", isnan(n_ended) ? 0 : n_ended,
        "job.failed", "job.cancelled"};
    say_end(facts, text);
    say_served(facts, &requests, text);
    say_slo(facts, text);
    say_latency(facts, text);
    say_saturation(facts, text);
    say_served(facts, &jobs, text);
    say_jobs(facts, text);
    say_job_saturation(facts, text);
    say_preemptions(facts, text);
    say_failures(facts, text);
    say_power(facts, text);
    say_bill(facts, text);
    say_use(facts, text);
    say_doubt(facts, text);
    while (text->length > 0 && text->chars[text->length - 1] == ' ') text->chars[--text->length] = 0;
}
