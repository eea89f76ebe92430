/* Keeps requests per replica at a target, by the rule of Kubernetes (hpa.h). The metric is that of the whole service;
 * starting replicas count. If there is no replica, the first request starts one. */
#include "policies/autoscaling/hpa.h"
#include "policies/declared.h"

#include <math.h>

enum counted { COUNT_UNFINISHED, COUNT_WAITING };

/* Parameters, and what was wanted so far. */
struct target_outstanding {
    double target;
    int count;
    struct hpa hpa;
};

static const char *const counted_names[] = {"unfinished", "waiting", NULL};

#define ROW_OF struct target_outstanding
static const struct config_field outstanding_fields[] = {
    ROW_REAL("target", target, DEFAULT("16"), WITHIN(1e-3, 1e9), "target of requests per replica"),
    ROW_CHOICE("count", count, DEFAULT("unfinished"), counted_names,
               "all unfinished requests, or those that wait for a place in a batch"),
    HPA_FIELDS,
    {0}};
#undef ROW_OF

static void outstanding_fini(void *state)
{
    hpa_fini(&((struct target_outstanding *)state)->hpa);
}

static int outstanding_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    struct target_outstanding *scaler = state;
    const int64_t replicas = view->up + view->starting;
    const double load = (double)(scaler->count == COUNT_WAITING ? view->waiting : view->outstanding);
    const double needed = load / scaler->target;
    const int64_t wanted = replicas > 0 ? hpa_wanted(&scaler->hpa, replicas, needed / (double)replicas)
                                        : (int64_t)fmin(ceil(needed), 1e9);
    return hpa_plan(&scaler->hpa, view, wanted, plan);
}

const struct autoscaler autoscaling_target_outstanding = {
    .policy = {POLICY_HEAD(autoscaler, POLICY_AUTOSCALING),
               .name = "target-outstanding",
               .summary = "a target of unfinished requests per replica, by Kubernetes' rule",
               .source = "Kubernetes, Horizontal Pod Autoscaling",
               .params = outstanding_fields,
               .params_bytes = sizeof(struct target_outstanding),
               .state_bytes = sizeof(struct target_outstanding),
               .fini = outstanding_fini},
    .decide = outstanding_decide,
};
