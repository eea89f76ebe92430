#include "sim/cli/run/summary_groups.h"

#include "analysis/intervals.h"
#include "analysis/report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How a value is written. PREEMPTIONS: a count less the yields and the stops by failures in it, which stand apart.
 * HELD_DOLLARS: less the bill of idle GPUs in it, which stands apart. GPU_HOURS: a mean number of GPUs, over the whole
 * run; HELD_HOURS: the same, beside leases. GOODPUT: a share, if something failed.
 * PRICE: dollars per hour, with where the prices are from. */
enum manner { COUNT, PREEMPTIONS, SHARE, GOODPUT, SECONDS, DOLLARS, PRICE, HELD_DOLLARS, GPU_HOURS, HELD_HOURS, IN_UNIT };

static const double SECONDS_PER_H = 3600;

struct item {
    const char *metric;
    enum manner manner;
    const char *words;   /* behind the value */
    const char *instead; /* left out if the run has this metric; or NULL */
};

struct group {
    const char *name;
    bool shows_zero;
    const struct item *items; /* ended by one without metric */
};

static const struct item requests[] = {{"request.arrived", COUNT, "arrived", NULL},
                                       {"request.finished", COUNT, "finished", NULL},
                                       {"request.rejected", COUNT, "rejected", NULL},
                                       {"request.unfinished", COUNT, "unfinished", NULL},
                                       {"replica.preemptions.sum", COUNT, "preemptions", NULL},
                                       {"service.requests_per_s", COUNT, "requests/s", NULL},
                                       {"service.output_tokens_per_s", COUNT, "output tokens/s", NULL},
                                       {"prefix.hit_frac", SHARE, "of prompt tokens cached", NULL},
                                       {"store.loaded_tokens.sum", COUNT, "prompt tokens loaded from stores", NULL},
                                       {0}};
static const struct item slo[] = {{"slo.attained_frac", SHARE, "attained", NULL},
                                  {"slo.ttft_kept_frac", SHARE, "kept TTFT", NULL},
                                  {"slo.tpot_kept_frac", SHARE, "kept TPOT", NULL},
                                  {"slo.e2e_kept_frac", SHARE, "kept end-to-end time", NULL},
                                  {0}};
static const struct item jobs[] = {{"job.submitted", COUNT, "submitted", NULL},
                                   {"job.finished", COUNT, "finished", NULL},
                                   {"job.failed", COUNT, "failed", NULL},
                                   {"job.cancelled", COUNT, "cancelled", NULL},
                                   {"job.rejected", COUNT, "rejected", NULL},
                                   {"job.unfinished", COUNT, "unfinished (in none of these times)", NULL},
                                   {"job.preemptions.sum", PREEMPTIONS, "preemptions", NULL},
                                   {"scaling.yielded_jobs.sum", COUNT, "yields to replicas", NULL},
                                   {"job.makespan_s", SECONDS, "makespan", NULL},
                                   {"job.network_speed", SHARE, "of their speed in an idle network", NULL},
                                   {"job.offload_speed", SHARE, "of their speed on host links of their own", NULL},
                                   {0}};
static const struct item rl[] = {{"rl.steps", COUNT, "steps", NULL},
                                 {"rl.step_s.mean", SECONDS, "each", NULL},
                                 {"rl.rollout_idle_frac", SHARE, "of the time without rollouts", NULL},
                                 {"rl.training_idle_frac", SHARE, "without training", NULL},
                                 {"rl.tokens_per_s", COUNT, "trained tokens/s", NULL},
                                 {"rl.usd_per_h", PRICE, "of replicas and training", NULL},
                                 {"rl.tokens_per_usd", COUNT, "trained tokens per dollar", NULL},
                                 {0}};
static const struct item failures[] = {{"failure.events", COUNT, "failures", NULL},
                                       {"failure.interrupts", COUNT, "stops of jobs", NULL},
                                       {"failure.replica_stops", COUNT, "stops of replicas", NULL},
                                       {"rental.interruptions", COUNT, "leases lost", NULL},
                                       {"cluster.available_frac", SHARE, "of GPU time available", NULL},
                                       {"job.goodput_frac", GOODPUT, "of the GPU time that jobs hold is work they keep, less all losses: failures, restarts, "
                                        "saves, preemptions, slow clocks", NULL},
                                       {0}};
static const struct item power[] = {{"power.site_w.mean", IN_UNIT, "mean", NULL},
                                    {"power.gpus_w.mean", IN_UNIT, "mean of the services' GPUs", "power.site_w.mean"},
                                    {"power.budget_frac.max", SHARE, "of the budget at most", NULL},
                                    {"power.braked_s", SECONDS, "braked", NULL},
                                    {"power.held_s[low]", SECONDS, "capped, low priority, over all domains", NULL},
                                    {"power.held_s[high]", SECONDS, "capped, high priority, over all domains", NULL},
                                    {"power.breaker_trips", COUNT, "breaker trips", NULL},
                                    {"energy.site_j", IN_UNIT, "", NULL},
                                    {"energy.j", IN_UNIT, "", "energy.site_j"},
                                    {0}};
static const struct item cost[] = {{"cost.usd", DOLLARS, "bill of all leases", NULL},
                                   {"cost.services_usd", DOLLARS, "of it for services", NULL},
                                   {"cost.jobs_usd", HELD_DOLLARS, "for jobs while they hold GPUs", NULL},
                                   {"cost.idle_usd", DOLLARS, "for idle GPUs", NULL},
                                   {"rental.gpus.mean", GPU_HOURS, "GPU h leased, before rounding up", NULL},
                                   {"cluster.gpus_in_use.mean", HELD_HOURS, "of them held", NULL},
                                   {"cost.usd_per_job", DOLLARS, "per ended job, with idle GPUs", NULL},
                                   {"cost.usd_per_h", PRICE, "of the services' GPUs", "cost.usd"},
                                   {"cost.output_tokens_per_usd", COUNT, "output tokens per dollar", "cost.usd"},
                                   {0}};
static const struct item cluster[] = {{"cluster.gpus", COUNT, "GPUs", NULL},
                                      {"cluster.gpu_util", SHARE, "of GPU time held", NULL},
                                      {"scaling.replicas.mean", COUNT, "replicas up on average", NULL},
                                      {"replica.busy_frac", SHARE, "of the time replicas compute", NULL},
                                      {"replica.decode_batch.mean", COUNT, "sequences in a batch", NULL},
                                      {"replica.kv_peak_frac", SHARE, "of a KV cache at most", NULL},
                                      {"sim.end_s", SECONDS, "simulated", NULL},
                                      {0}};

static const struct group groups[] = {{"requests", false, requests}, {"SLO", true, slo},   {"jobs", false, jobs},
                                      {"RL", true, rl},              {"failures", false, failures},
                                      {"power", false, power},       {"cost", false, cost}, {"cluster", false, cluster}};

bool summary_shows(const char *base, int base_bytes, const char *entity)
{
    static const char *const shown[] = {"request.queue_s", "request.ttft_s", "request.tpot_s", "request.e2e_s",
                                        "job.jct_s",       "job.queue_s",    "job.wait_s",     "job.bounded_slowdown"};
    for (size_t i = 0; *entity == 0 && i < sizeof shown / sizeof *shown; i++)
        if (strlen(shown[i]) == (size_t)base_bytes && memcmp(shown[i], base, (size_t)base_bytes) == 0) return true;
    return false;
}

static const struct metric_row *find(const struct metric_row *metrics, size_t n, const char *name)
{
    for (size_t i = 0; name != NULL && i < n; i++)
        if (strcmp(metrics[i].name, name) == 0) return &metrics[i];
    return NULL;
}

static double value_of(const struct metric_row *metric, enum manner manner, const struct metric_row *metrics, size_t n)
{
    if (manner == HELD_DOLLARS) {
        const struct metric_row *idle = find(metrics, n, "cost.idle_usd");
        return metric->value - (idle != NULL ? idle->value : 0);
    }
    if (manner == GOODPUT) {
        const struct metric_row *events = find(metrics, n, "failure.events");
        return events != NULL && events->value > 0 ? metric->value : 0;
    }
    if (manner == HELD_HOURS && find(metrics, n, "rental.gpus.mean") == NULL) return 0;
    if (manner == GPU_HOURS || manner == HELD_HOURS) {
        const struct metric_row *end = find(metrics, n, "sim.end_s");
        return end != NULL ? metric->value * end->value / SECONDS_PER_H : 0;
    }
    if (manner != PREEMPTIONS) return metric->value;
    const struct metric_row *yields = find(metrics, n, "scaling.yielded_jobs.sum");
    const struct metric_row *stops = find(metrics, n, "failure.interrupts");
    return metric->value - (yields != NULL ? yields->value : 0) - (stops != NULL ? stops->value : 0);
}

/* "1.38 kW", "2.33 GJ": three digits with a prefix. */
static const char *prefixed(double value, const char *unit, char words[WORDS_CHARS])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    size_t i = 0;
    while (fabs(value) >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes) value /= 1e3, i++;
    snprintf(words, WORDS_CHARS, "%.3g %s%.16s", value, prefixes[i], unit);
    return words;
}

static const char *in_words(const struct metric_row *metric, enum manner manner, char words[WORDS_CHARS])
{
    switch (manner) {
    case SHARE:
    case GOODPUT: return words_percent(metric->value, words);
    case SECONDS: return words_seconds(metric->value, words);
    case DOLLARS:
    case PRICE:
    case HELD_DOLLARS: return words_usd(metric->value, words);
    case IN_UNIT: return prefixed(metric->value, metric->unit, words);
    default: return words_number(metric->value, words);
    }
}

/* " (chat 97.2 %, assistant 99.9 %)": the shares of the first four services or classes. */
static void add_entities(const struct metric_row *metrics, size_t n, const char *name, struct text *text)
{
    enum { MOST = 4 };
    const size_t bytes = strlen(name);
    char words[WORDS_CHARS];
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const char *entity = metrics[i].name + bytes;
        if (strncmp(metrics[i].name, name, bytes) != 0 || *entity != '[' || ++n_found > MOST) continue;
        text_printf(text, "%s%.*s %s", n_found == 1 ? " (" : ", ", (int)strcspn(entity + 1, "]"), entity + 1,
                    words_percent(metrics[i].value, words));
    }
    if (n_found > MOST) text_printf(text, ", %zu more", n_found - MOST);
    if (n_found > 0) text_add(text, ")");
}

static void add_group(const struct group *group, const struct metric_row *metrics, size_t n, bool has_warmup,
                      const char *unended, const char *price, struct text *text)
{
    bool is_first = true;
    for (const struct item *item = group->items; item->metric != NULL; item++) {
        char words[WORDS_CHARS];
        const struct metric_row *metric = find(metrics, n, item->metric);
        if (metric == NULL || find(metrics, n, item->instead) != NULL || isnan(metric->value)) continue;
        const struct metric_row shown = {.value = value_of(metric, item->manner, metrics, n),
                                         .unit = metric->unit};
        if (shown.value == 0.0 && !group->shows_zero) continue;
        if (is_first)
            text_printf(text, "%-8s  ", group->name);
        else
            text_add(text, ", ");
        text_add(text, in_words(&shown, item->manner, words));
        if (item->manner == PRICE) text_printf(text, " per hour, %s", price);
        text_printf(text, *item->words != 0 ? " %s" : "%s", item->words);
        if (strcmp(item->metric, "job.unfinished") == 0) text_add(text, unended);
        if (has_warmup && strcmp(item->metric, "replica.preemptions.sum") == 0) text_add(text, " in the whole run");
        if (strcmp(item->metric, "slo.attained_frac") == 0) add_entities(metrics, n, item->metric, text);
        is_first = false;
    }
    text_add(text, is_first ? "" : "\n");
}

void summary_groups(const struct metric_row *metrics, size_t n, bool has_warmup, const char *unended, const char *price,
                    struct text *text)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        add_group(&groups[i], metrics, n, has_warmup, unended, price, text);
}

void summary_intervals(const struct run_intervals *intervals, struct text *text)
{
    static const struct item shown[] = {{"request.ttft_s.p99", SECONDS, "TTFT p99", NULL},
                                        {"request.tpot_s.p99", SECONDS, "TPOT p99", NULL},
                                        {"service.output_tokens_per_s", COUNT, "output tokens/s", NULL},
                                        {"slo.attained_frac", SHARE, "SLO attained", NULL},
                                        {"request.finished", COUNT, "requests finished", NULL}};
    bool is_first = true;
    if (intervals->none != NULL) text_printf(text, "%-8s  none, as %s\n", "interval", intervals->none);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        char low[WORDS_CHARS], high[WORDS_CHARS];
        const struct metric_interval *interval = intervals_of(intervals, shown[i].metric);
        if (interval == NULL) continue;
        const struct metric_row ends[] = {{.value = interval->low}, {.value = interval->high}};
        text_printf(text, is_first ? "%-8s  " : ", ", "interval");
        text_printf(text, "%s %s to %s", shown[i].words, in_words(&ends[0], shown[i].manner, low),
                    in_words(&ends[1], shown[i].manner, high));
        is_first = false;
    }
    const bool has_ttft = intervals_of(intervals, "request.ttft_s.p99") != NULL;
    if (is_first) return;
    text_printf(text, "; by two more runs with faster and slower iterations: within their TPOT are %g %% of %s",
                100 * intervals->share, intervals->basis);
    text_add(text, has_ttft ? "; no error of TTFT is measured: its interval is what these two runs have\n" : "\n");
}
