/* The Horizontal Pod Autoscaler of Kubernetes, its algorithm without its plumbing (Kubernetes documentation,
 * "Horizontal Pod Autoscaling", algorithm details and stabilization window;
 * pkg/controller/podautoscaler/replica_calculator.go of version 1.33):
 *
 *     wanted = ceil(replicas * metric / target), or the present number if metric / target is within a tolerance of 1
 *
 * Down to the largest number wanted within the last `down_window`, up to the smallest within the last `up_window`: a
 * short lull ends no replica, and with an `up_window` a short burst starts none. The replicas at the start count as
 * wanted then. Kubernetes' defaults are 10 %, 5 minutes, 0. */
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
             "deviation of the metric from its target, as a share, that changes nothing"),                             \
        ROW_TIME("up_window", hpa.params.up_window_ns, DEFAULT("0s"), WITHIN(0, 9e9),                                  \
                 "time for which more must be wanted before a replica starts"),                                        \
        ROW_TIME("down_window", hpa.params.down_window_ns, DEFAULT("5min"), WITHIN(0, 9e9),                            \
                 "time for which fewer must be wanted before a replica drains")

struct hpa_wish {
    sim_ns at_ns;
    int64_t replicas;
};

/* Wishes within a window that may still be its extreme, by time: from `first` on each is less extreme than the one
 * before it. */
struct hpa_window {
    struct hpa_wish *wishes;
    size_t first, n, capacity;
};

struct hpa {
    struct hpa_params params;
    struct hpa_window least, most; /* within up_window, and within down_window */
};

void hpa_fini(struct hpa *hpa);

/* Replicas wanted, given `replicas` and the ratio of metric to target, >= 0. */
int64_t hpa_wanted(const struct hpa *hpa, int64_t replicas, double ratio);

/* Updates the plan, which holds the present replicas; `wanted` is the number wanted now. Returns 0 or SIM_E_NOMEM. */
int hpa_plan(struct hpa *hpa, const struct autoscaling_view *view, int64_t wanted, struct autoscaling_plan *plan);

#endif
