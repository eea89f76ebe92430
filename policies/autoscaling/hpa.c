#include "policies/autoscaling/hpa.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>

void hpa_fini(struct hpa *hpa)
{
    mem_free(hpa->wishes);
}

int64_t hpa_wanted(const struct hpa *hpa, int64_t replicas, double ratio)
{
    if (1.0 - hpa->params.tolerance <= ratio && ratio <= 1.0 + hpa->params.tolerance) return replicas;
    return (int64_t)fmin(ceil((double)replicas * ratio), 1e9);
}

/* Drops the wishes outside both windows. */
static void forget(struct hpa *hpa, sim_ns now)
{
    const sim_ns up_ns = hpa->params.up_window_ns, down_ns = hpa->params.down_window_ns;
    const sim_ns longest_ns = up_ns > down_ns ? up_ns : down_ns;
    size_t kept = 0;
    for (size_t i = 0; i < hpa->n; i++)
        if (hpa->wishes[i].at_ns > now - longest_ns) hpa->wishes[kept++] = hpa->wishes[i];
    hpa->n = kept;
}

static int remember(struct hpa *hpa, sim_ns now, int64_t replicas)
{
    forget(hpa, now);
    return vec_push(&hpa->wishes, &hpa->n, &hpa->capacity, (struct hpa_wish){now, replicas});
}

int hpa_plan(struct hpa *hpa, const struct autoscaling_view *view, int64_t wanted, struct autoscaling_plan *plan)
{
    const sim_ns now = view->now_ns;
    int64_t up = wanted, down = wanted;
    int code = hpa->capacity == 0 ? remember(hpa, now, plan->replicas) : 0;
    if (code == 0) code = remember(hpa, now, wanted);
    if (code != 0) return code;
    for (size_t i = 0; i < hpa->n; i++) {
        const struct hpa_wish *wish = &hpa->wishes[i];
        if (wish->at_ns > now - hpa->params.up_window_ns && wish->replicas < up) up = wish->replicas;
        if (wish->at_ns > now - hpa->params.down_window_ns && wish->replicas > down) down = wish->replicas;
    }
    if (plan->replicas < up) {
        plan->replicas = up;
        plan->reason = "the load is above its target";
    } else if (plan->replicas > down) {
        plan->replicas = down;
        plan->reason = "the load is below its target";
    }
    return 0;
}
