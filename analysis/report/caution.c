#include "analysis/report/caution.h"

#include "analysis/report/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double large_share = 0.05;

struct finding {
    const struct verdict_facts *facts;
    struct caution *cautions;
    size_t n;
};

__attribute__((format(printf, 3, 4))) static void add(struct finding *finding, const char *code, const char *format,
                                                      ...)
{
    struct caution *caution = &finding->cautions[finding->n++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(caution->text, sizeof caution->text, format, arguments);
    va_end(arguments);
    caution->code = code;
}

static double metric(const struct finding *finding, const char *name)
{
    return finding->facts->metric(finding->facts->context, name);
}

/* The metrics of requests and jobs leave out those that came before the end of the warm-up. */
static void find_unmeasured(struct finding *finding)
{
    char warmup[WORDS_CHARS], end[WORDS_CHARS];
    const double ended = metric(finding, "job.ended");
    if (metric(finding, "request.arrived") == 0.0 && !(finding->facts->warmup_s > 0.0))
        add(finding, "unmeasured", "no request arrives before the run ends: nothing is measured; raise 'until'");
    words_seconds(metric(finding, "sim.end_s"), end);
    if (metric(finding, "request.arrived") > 0.0 && metric(finding, "request.unfinished") > 0.0 &&
        metric(finding, "request.finished") == 0.0)
        add(finding, "unmeasured", "no request finishes before the run ends at %s: no time is measured; raise 'until'",
            end);
    if (!(finding->facts->warmup_s > 0.0)) return;
    words_seconds(finding->facts->warmup_s, warmup);
    if (metric(finding, "request.arrived") == 0.0)
        add(finding, "unmeasured",
            "no request arrives after the warm-up of %s, and the run ends at %s: no request is measured; shorten "
            "'warmup'",
            warmup, end);
    if (ended > 0.0 && isnan(metric(finding, "job.jct_s.mean")))
        add(finding, "unmeasured",
            "no job that ends is submitted after the warm-up of %s, and the run ends at %s: no job is measured; "
            "shorten 'warmup'",
            warmup, end);
}

/* A load above 1, with the makespan: while jobs come the GPUs are full, even if few are in use over the whole run. */
static void add_load(struct finding *finding)
{
    char load[WORDS_CHARS], span[WORDS_CHARS], end[WORDS_CHARS];
    const struct verdict_submissions *jobs = &finding->facts->submissions;
    const double left = metric(finding, "job.unfinished");
    words_number(round(100.0 * verdict_load(finding->facts)) / 100.0, load);
    words_seconds(jobs->last_s - jobs->first_s, span);
    words_seconds(left > 0.0 ? metric(finding, "sim.end_s") : metric(finding, "job.makespan_s"), end);
    add(finding, "saturated",
        "jobs bring %s%s times the GPU time that they can have while they are submitted: submissions last %s, %s %s; "
        "waiting times measure the length of the trace, not the quality of the scheduler",
        left > 0.0 ? "at least " : "", load, span, left > 0.0 ? "and jobs are left after" : "the makespan is", end);
}

static void find_saturation(struct finding *finding)
{
    const struct verdict_facts *facts = finding->facts;
    if (strcmp(facts->status, "stalled") == 0) return; /* what is left waits for something that never comes */
    if (verdict_requests_saturate(facts))
        add(finding, "saturated",
            verdict_requests_grow(facts)
                ? "requests arrive faster than they are served: waiting times measure the length of the run, not "
                  "the quality of the system"
                : "many requests were unfinished at the end of the run: waiting times may measure its length, not "
                  "the quality of the system");
    if (verdict_jobs_overload(facts))
        add_load(finding);
    else if (verdict_jobs_saturate(facts))
        add(finding, "saturated",
            facts->jobs != NULL && facts->jobs->grows
                ? "jobs arrive faster than they are done: waiting times measure the length of the run, not the "
                  "quality of the scheduler"
            : facts->jobs == NULL
                ? "many jobs were left at the end of the run, beyond one for each GPU: waiting times may measure its "
                  "length, not the quality of the scheduler"
                : "many jobs had not started at the end of the run: waiting times may measure its length, not the "
                  "quality of the scheduler");
}

static void find_rejections(struct finding *finding)
{
    char share[WORDS_CHARS];
    const double arrived = metric(finding, "request.arrived"), rejected = metric(finding, "request.rejected");
    if (!(arrived > 0.0) || !(rejected >= large_share * arrived)) return;
    add(finding, "rejected", "%s of the requests were rejected: latencies are those of the others alone",
        words_percent(rejected / arrived, share));
}

static void find_no_jobs(struct finding *finding)
{
    const double submitted = metric(finding, "job.submitted"), rejected = metric(finding, "job.rejected");
    if (!(submitted > 0.0) || rejected != submitted) return;
    if (submitted == 1.0)
        add(finding, "rejected", "the only job was rejected: no job ran");
    else
        add(finding, "rejected", "all %.0f jobs were rejected: no job ran", submitted);
}

static void find_brakes(struct finding *finding)
{
    char braked[WORDS_CHARS], run[WORDS_CHARS];
    const double braked_s = metric(finding, "power.braked_s"), end_s = metric(finding, "sim.end_s");
    if (!(end_s > 0.0) || !(braked_s >= large_share * end_s)) return;
    add(finding, "braked",
        "the power brake was in force for %s, summed over power domains, in a run of %s: GPUs ran at the brake's clock",
        words_seconds(braked_s, braked), words_seconds(end_s, run));
}

/* Sites above their budget by less are ordinary: those that study oversubscription, or the lack of a cap. */
static const double far_above = 2.0;

static void find_small_budgets(struct finding *finding)
{
    char most[WORDS_CHARS];
    const double most_frac = metric(finding, "power.budget_frac.max");
    if (!(most_frac >= far_above)) return;
    add(finding, "over-budget",
        "the power reaches %s of a budget: cluster.power.budget is that of each server, rack or row, or of the site, "
        "as 'level' says",
        words_percent(most_frac, most));
}

/* GPUs cost while they are held, and a replica that is down holds none. */
static void find_unpaid_time(struct finding *finding)
{
    char share[WORDS_CHARS];
    const double missing_frac = 1.0 - metric(finding, "cluster.available_frac");
    if (strcmp(finding->facts->status, "stalled") == 0) return;
    if (!(missing_frac >= large_share) || isnan(metric(finding, "cost.usd_per_h"))) return;
    if (!isnan(metric(finding, "cost.usd"))) return; /* leases have bills */
    add(finding, "unpaid",
        "failures took %s of the GPU time, and cost.* leaves it out: a site of one's own pays for it, too, as a fleet "
        "of 'market' does",
        words_percent(missing_frac, share));
}

/* Turns of sessions repeat their context. Engines keep it; here that is a section of its own. */
static void find_forgotten_prefixes(struct finding *finding)
{
    char again[WORDS_CHARS], kept[WORDS_CHARS];
    const double computed = metric(finding, "session.recomputed_tokens.sum");
    const double found = metric(finding, "session.hit_tokens.sum") + metric(finding, "session.loaded_tokens.sum");
    const double repeated = computed + found, all = repeated + metric(finding, "session.new_tokens.sum");
    if (!(computed >= large_share * all) || !(found < large_share * repeated)) return;
    if (!isnan(metric(finding, "chunk.hit_tokens.sum"))) return; /* another way to keep them */
    words_percent(computed / all, again);
    words_percent(found / repeated, kept);
    if (isnan(metric(finding, "prefix.hit_frac")))
        add(finding, "no-prefix-hits",
            "%s of the sessions' prompt tokens repeat earlier ones and were computed again, for no service has a "
            "prefix cache: \"kv\": {\"prefix_cache\": \"lru\"} of the service keeps them",
            again);
    else
        add(finding, "no-prefix-hits",
            "%s of the sessions' prompt tokens repeat earlier ones and were computed again: prefix caches had %s of "
            "what sessions repeat",
            again, kept);
}

static void find_exact_estimates(struct finding *finding)
{
    const char *oracle = finding->facts->oracle;
    if (oracle == NULL || strstr(oracle, "exact estimates") == NULL) return;
    add(finding, "exact-estimates",
        "all estimates of run times are exact, which no real scheduler has; --set jobs.estimates.law=lognormal makes others");
}

size_t cautions_find(const struct verdict_facts *facts, struct caution cautions[CAUTIONS_MAX])
{
    struct finding finding = {.facts = facts, .cautions = cautions};
    if (strcmp(facts->status, "done") != 0)
        add(&finding, "incomplete", "the run did not reach its end; its numbers cover a part of it");
    find_unmeasured(&finding);
    find_saturation(&finding);
    find_rejections(&finding);
    find_no_jobs(&finding);
    find_brakes(&finding);
    find_small_budgets(&finding);
    find_unpaid_time(&finding);
    find_forgotten_prefixes(&finding);
    find_exact_estimates(&finding);
    return finding.n;
}
