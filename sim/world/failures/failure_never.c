/* Warns of a run that no failure struck, although the scenario has causes or domains of failures: it costs what a run
 * without them costs. The warning has the number of failures that were to be expected.
 *
 * Of exponential lifetimes, and of jobs, that number is the time of the components by their mean life. Of other
 * lifetimes it is the number of components that fail by the end of the run, all being new at its start. Not in it:
 * failures that find their nodes down, or spare. */
#include "sim/world/failures/failure_state.h"

#include <math.h>
#include <stdio.h>

/* The failures of a component that is new at the start, by `time_s`: of other than exponential lifetimes, the share of
 * components that have failed. */
static double expected_of_each(const struct lifetime *lifetime, double time_s)
{
    enum { HALVINGS = 60 };
    if (lifetime->kind == LIFETIME_EXPONENTIAL) return time_s / lifetime->mean_s;
    if (lifetime->kind == LIFETIME_CONSTANT) return time_s >= lifetime->mean_s;
    double low = 0.0, high = 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        *(lifetime_quantile_s(lifetime, middle) <= time_s ? &low : &high) = middle;
    }
    return low;
}

/* The probability that a strike has an effect, on nodes that are up. */
static double effective_frac(const struct failure_source *source)
{
    return source->visible_frac * (1.0 - pow(1.0 - source->hit_frac, source->nodes_each));
}

static double expected(const struct failures *failures, const struct failure_source *source, sim_ns now)
{
    if (source->scope == FAILURE_JOB)
        return source->visible_frac * level_integral_s(&failures->exposed, now) / source->lifetime.mean_s;
    return (double)source->n_components * effective_frac(source) *
           expected_of_each(&source->lifetime, sim_s_from_ns(now));
}

int failure_never_finish(const struct failures *failures, sim_ns now)
{
    const struct sink *sink = failures->site->sink;
    char text[DIAG_TEXT_CHARS];
    double n_expected = 0.0;
    int32_t n_sources = 0;
    for (int32_t i = 0; i < failures->n_sources; i++) {
        const struct failure_source *source = &failures->sources[i];
        if (isinf(source->lifetime.mean_s)) continue; /* an outage, or a breaker */
        if (source->n_seen > 0) return 0;
        n_expected += expected(failures, source, now);
        n_sources++;
    }
    if (n_sources == 0 || sink->warning == NULL) return 0;
    if (n_expected > 0.0)
        snprintf(text, sizeof text,
                 "no failure struck in %.6g s, about %.2g were to be expected: results are those without failures; a "
                 "longer run, or more seeds, would meet some",
                 sim_s_from_ns(now), n_expected);
    else
        snprintf(text, sizeof text, "no failure struck in %.6g s, and none could: results are those without failures",
                 sim_s_from_ns(now));
    const struct warning_row row = {.t_s = (double)NAN, .code = "no-failures", .text = text, .count = 1};
    return sink->warning(sink->context, &row);
}
