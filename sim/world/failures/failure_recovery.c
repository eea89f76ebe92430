/* How failed jobs come back: "recovery" of "failures". A failure's cause is found automatically, in the time of
 * `diagnosis`, or else people find it. These begin when staff are next present, and need `staff_time`. Then the job
 * restarts as its cause says. It holds the GPUs that it has, or gets, meanwhile. If it fails again meanwhile, it waits
 * until the causes of all failures are found. People look for them at the same time.
 *
 * Whether the n-th failure of a source needs people is drawn for each source and n, from the stream
 * "failures.recovery". Under one seed it is the same for all policies. A cause of scope job strikes while jobs run, so
 * there the policy decides when the n-th failure comes, and which job it stops. Time 0 is midnight. Planned outages
 * and breakers need no diagnosis.
 *
 * Leaves out: people who are busy with another failure, holidays, and work that a shift leaves to the next one. */
#include "sim/world/failures/failure_state.h"
#include "sim/world/rows/metric.h"

#include <math.h>

static const sim_ns day_ns = INT64_C(86400000000000);

/* Time from `now` until staff are present. */
static sim_ns until_staff_ns(const struct recovery_config *recovery, sim_ns now)
{
    const sim_ns from_ns = recovery->staff_from_ns, until_ns = recovery->staff_until_ns, at_ns = now % day_ns;
    const bool wraps = from_ns > until_ns; /* a night shift */
    const bool is_present = wraps ? at_ns >= from_ns || at_ns < until_ns : at_ns >= from_ns && at_ns < until_ns;
    if (is_present) return 0;
    return from_ns > at_ns ? from_ns - at_ns : from_ns + day_ns - at_ns;
}

static bool is_given(const struct recovery_config *recovery)
{
    return recovery->staff_until_ns > 0;
}

static bool needs_diagnosis(const struct failure_source *source)
{
    return source->visible_frac / source->lifetime.mean_s > 0.0;
}

struct failure_recovery failure_recovery(const struct failures *failures, const struct failure_source *source,
                                         sim_ns now)
{
    const struct recovery_config *recovery = &failures->config->recovery;
    const uint64_t event = (uint64_t)(source - failures->sources) << FAILURE_COMPONENT_BITS | (uint64_t)source->n_seen;
    struct failure_recovery of = {.ready_ns = now};
    struct rng rng;
    if (!is_given(recovery) || !needs_diagnosis(source)) return of;
    rng_init(&rng, failures->site->seed, failures->site->run, "failures.recovery", event);
    of.by_staff = !(rng_uniform(&rng) < recovery->automatic_frac);
    const struct lifetime time = lifetime_config_get(of.by_staff ? &recovery->staff_time : &recovery->diagnosis);
    const sim_ns waits_ns = of.by_staff ? until_staff_ns(recovery, now) : 0;
    of.ready_ns = sim_ns_add(sim_ns_add(now, waits_ns), failure_draw_ns(&time, &rng));
    return of;
}

double failure_recovery_mean_s(const struct failures *failures)
{
    const struct recovery_config *recovery = &failures->config->recovery;
    return is_given(recovery) ? recovery_config_mean_s(recovery) : 0.0;
}

int failure_recovery_emit(const struct failures *failures)
{
    const struct sink *sink = failures->site->sink;
    if (!is_given(&failures->config->recovery)) return 0;
    const int code = metric_emit(sink, "failure.by_staff", (double)failures->n_by_staff);
    if (code != 0 || failures->n_recoveries == 0) return code;
    return metric_emit(sink, "failure.diagnosis_s.mean", failures->recovery_s / (double)failures->n_recoveries);
}
