/* Autoscaling: how many replicas a service has. The view of a service, the plan, the struct of an autoscaler. */
#ifndef ORRERY_WORLD_POLICY_AUTOSCALING_H
#define ORRERY_WORLD_POLICY_AUTOSCALING_H

#include "sim/world/policy/policy.h"

#include <stdint.h>

/* A service when its autoscaler is called. Load and usage are as of seen_ns: now, or the latest report under an
 * information delay. Numbers of replicas are always current. */
struct autoscaling_view {
    sim_ns now_ns, seen_ns, interval_ns;
    int64_t min, max;               /* replicas */
    int64_t up, starting, draining; /* starting: have GPUs and load weights; draining: get no more requests */
    int64_t outstanding;            /* unfinished requests of the service */
    int64_t waiting;                /* of these, in no batch, including those that wait for a first replica */
    int64_t queued_tokens;          /* prompt tokens that replicas still have to process */
    int64_t arrived;                /* requests, since the previous decision */
    double kv_used_frac;            /* of the KV blocks of replicas that are up; 0: no replica is up */
    /* Computing share of the time since the previous decision, over these replicas, now; 0: no replica is up. */
    double busy_frac;
};

/* Handed over with up + starting; the world keeps it within min and max. */
struct autoscaling_plan {
    int64_t replicas;   /* wanted */
    const char *reason; /* a static text; NULL: the policy's name says enough */
};

/* decide: sets the number of replicas; called at every multiple of scaling.interval, at time 0 first. Additional
 * replicas take GPUs as these become free; surplus replicas finish their requests. Returns 0 or a negative code. */
#define AUTOSCALER_FUNCTIONS(X)                                                                                        \
    X(autoscaler, REQUIRED, int, decide,                                                                               \
      (void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan), (state, view, plan),          \
      view, POLICY_NONE)

struct autoscaler {
    struct policy policy;
    AUTOSCALER_FUNCTIONS(POLICY_MEMBER)
};

#endif
