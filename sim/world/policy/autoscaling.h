/* Autoscaling: how many replicas a service has. The view of a service, the plan, the struct of an autoscaler. */
#ifndef ORRERY_WORLD_POLICY_AUTOSCALING_H
#define ORRERY_WORLD_POLICY_AUTOSCALING_H

#include "sim/world/policy/policy.h"

#include <stdint.h>

/* A service when its autoscaler is asked. Load and usage are as of seen_ns: now, or under an information delay the latest
 * report; how many replicas there are is known at once. */
struct autoscaling_view {
    sim_ns now_ns, seen_ns, interval_ns;
    int64_t min, max;               /* replicas */
    int64_t up, starting, draining; /* starting: have their GPUs, and load weights; draining: get no more requests */
    int64_t outstanding;            /* requests of the service that are not finished */
    int64_t waiting;                /* of these, in no batch, those included that wait for a first replica */
    int64_t queued_tokens;          /* prompt tokens still to be processed, at replicas */
    int64_t arrived;                /* requests, since the previous decision */
    double kv_used_frac;            /* of the KV blocks of replicas that are up; 0: none is */
    double busy_frac;               /* share of the time since the previous decision that these computed, now; 0: none is */
};

/* Handed over with what there is, `up` and `starting` together; the world keeps it within min and max. */
struct autoscaling_plan {
    int64_t replicas;   /* that there are to be */
    const char *reason; /* a static text; NULL: the policy's name says enough */
};

/* decide: how many replicas a service is to have, asked at every multiple of scaling.interval, at time 0 first. Those that
 * are wanted take GPUs as these become free; those that are not finish what they have. Returns 0 or a negative code. */
#define AUTOSCALER_FUNCTIONS(X)                                                                                        \
    X(autoscaler, REQUIRED, int, decide,                                                                               \
      (void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan), (state, view, plan),           \
      view, POLICY_NONE)

struct autoscaler {
    struct policy policy;
    AUTOSCALER_FUNCTIONS(POLICY_MEMBER)
};

#endif
