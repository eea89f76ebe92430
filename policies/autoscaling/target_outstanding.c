/* Requests per replica are to come to a target, by the rule of Kubernetes (hpa.h): a metric of the whole service, of
 * which each replica, starting ones included, is to have its part. Where there is no replica, the first request
 * starts one. */
#include "policies/autoscaling/hpa.h"
#include "policies/declared.h"

#include <math.h>

enum counted { COUNT_UNFINISHED, COUNT_WAITING };

struct outstanding_params {
    double target;
    int count;
    struct hpa_params hpa;
};

struct target_outstanding {
    struct hpa hpa;
    double target;
    int count;
};

static const char *const counted_names[] = {"unfinished", "waiting", NULL};

#define FIELD(name) offsetof(struct outstanding_params, name)
static const struct config_field outstanding_fields[] = {
    {.name = "target", .kind = CONFIG_REAL, .offset = FIELD(target), .value = "16", .min = 1e-3, .max = 1e9,
     .help = "requests per replica"},
    {.name = "count", .kind = CONFIG_CHOICE, .offset = FIELD(count), .value = "unfinished", .choices = counted_names,
     .help = "all that are unfinished, or those that wait for a place in a batch"},
    HPA_FIELDS(FIELD(hpa)),
    {0}};
#undef FIELD

static int outstanding_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    const struct outstanding_params *set = params;
    *(struct target_outstanding *)state = (struct target_outstanding){
        .hpa = {.params = set->hpa}, .target = set->target, .count = set->count};
    return 0;
}

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
               .summary = "so many unfinished requests per replica, by Kubernetes' rule",
               .source = "Kubernetes, Horizontal Pod Autoscaling",
               .params = outstanding_fields,
               .params_bytes = sizeof(struct outstanding_params),
               .state_bytes = sizeof(struct target_outstanding),
               .init = outstanding_init,
               .fini = outstanding_fini},
    .decide = outstanding_decide,
};
