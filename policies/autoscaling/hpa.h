/* The Horizontal Pod Autoscaler of Kubernetes, its algorithm without its plumbing (Kubernetes documentation,
 * "Horizontal Pod Autoscaling", algorithm details and stabilization window;
 * pkg/controller/podautoscaler/replica_calculator.go):
 *
 *     wanted = ceil(replicas * metric / target), or as many as now while |metric / target - 1| is within a tolerance
 *
 * and of what was wanted within the last `down_window` the largest is taken, of the last `up_window` the smallest, so
 * that a short lull ends no replica, and, where the second is set, a short burst starts none. What there is at the
 * start counts as wanted then. Kubernetes takes 10 %, 5 minutes, 0. */
#ifndef ORRERY_POLICIES_AUTOSCALING_HPA_H
#define ORRERY_POLICIES_AUTOSCALING_HPA_H

#include "sim/world/policy/autoscaling.h"

struct hpa_params {
    double tolerance;
    sim_ns up_window_ns, down_window_ns;
};

/* Its parameters, of a struct ROW_OF with a struct hpa `hpa`. */
#define HPA_FIELDS                                                                                                     \
    ROW_REAL("tolerance", hpa.params.tolerance, DEFAULT("0.1"), WITHIN(0, 10),                                         \
             "change of the metric, as a share of its target, that changes nothing"),                                  \
        ROW_TIME("up_window", hpa.params.up_window_ns, DEFAULT("0s"), WITHIN(0, 9e9),                                  \
                 "for so long more must be wanted before any starts"),                                                 \
        ROW_TIME("down_window", hpa.params.down_window_ns, DEFAULT("5min"), WITHIN(0, 9e9),                            \
                 "for so long fewer must be wanted before any drains")

struct hpa_wish {
    sim_ns at_ns;
    int64_t replicas;
};

struct hpa {
    struct hpa_params params;
    struct hpa_wish *wishes; /* of the longer window, in the order of time */
    size_t n, capacity;
};

void hpa_fini(struct hpa *hpa);

/* What is wanted of `replicas` at this ratio of metric to target, >= 0. */
int64_t hpa_wanted(const struct hpa *hpa, int64_t replicas, double ratio);

/* Fills the plan in, handed over with what there is: `wanted` is what is wanted now. Returns 0 or SIM_E_NOMEM. */
int hpa_plan(struct hpa *hpa, const struct autoscaling_view *view, int64_t wanted, struct autoscaling_plan *plan);

#endif
