/* Keeps the utilisation of the replicas at a target, by the rule of Kubernetes (hpa.h): the share of their KV blocks in
 * use, or of the time in which they compute. As there, a starting replica counts as unused if more are wanted, and if
 * that reverses the decision, nothing changes; it does not count if fewer are wanted. If there is no replica, a request
 * starts one.
 *
 * A replica computes whenever it has a request, so the share of time says little about how many more it can take. */
#include "policies/autoscaling/hpa.h"
#include "policies/declared.h"

enum use { USE_KV, USE_TIME };

/* Parameters, and what was wanted so far. */
struct target_utilisation {
    double target;
    int of;
    struct hpa hpa;
};

static const char *const use_names[] = {"kv", "time", NULL};

#define ROW_OF struct target_utilisation
static const struct config_field utilisation_fields[] = {
    ROW_REAL("target", target, DEFAULT("0.6"), WITHIN(1e-3, 1),
             "target share in use, mean over the replicas that are up"),
    ROW_CHOICE("of", of, DEFAULT("kv"), use_names, "what is measured: KV blocks, or time since the previous decision"),
    HPA_FIELDS,
    {0}};
#undef ROW_OF

static void utilisation_fini(void *state)
{
    hpa_fini(&((struct target_utilisation *)state)->hpa);
}

static int64_t wanted_of(const struct target_utilisation *scaler, const struct autoscaling_view *view)
{
    const int64_t replicas = view->up + view->starting;
    const double used = scaler->of == USE_KV ? view->kv_used_frac : view->busy_frac;
    const double ratio = used / scaler->target;
    if (view->up == 0) return replicas > 0 ? replicas : view->outstanding > 0;
    if (view->starting == 0) return hpa_wanted(&scaler->hpa, replicas, ratio);
    if (ratio <= 1)
        return ratio < 1 - scaler->hpa.params.tolerance ? hpa_wanted(&scaler->hpa, view->up, ratio) : replicas;
    const int64_t more = hpa_wanted(&scaler->hpa, replicas, ratio * (double)view->up / (double)replicas);
    return more > replicas ? more : replicas;
}

static int utilisation_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    struct target_utilisation *scaler = state;
    return hpa_plan(&scaler->hpa, view, wanted_of(scaler, view), plan);
}

const struct autoscaler autoscaling_target_utilisation = {
    .policy = {POLICY_HEAD(autoscaler, POLICY_AUTOSCALING),
               .name = "target-utilisation",
               .summary = "a target share of KV cache or time in use, by Kubernetes' rule",
               .source = "Kubernetes, Horizontal Pod Autoscaling",
               .params = utilisation_fields,
               .params_bytes = sizeof(struct target_utilisation),
               .state_bytes = sizeof(struct target_utilisation),
               .fini = utilisation_fini},
    .decide = utilisation_decide,
};
