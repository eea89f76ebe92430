#include "policies/autoscaling/hpa.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <string.h>

void hpa_fini(struct hpa *hpa)
{
    mem_free(hpa->least.wishes);
    mem_free(hpa->most.wishes);
}

int64_t hpa_wanted(const struct hpa *hpa, int64_t replicas, double ratio)
{
    if (1.0 - hpa->params.tolerance <= ratio && ratio <= 1.0 + hpa->params.tolerance) return replicas;
    return (int64_t)fmin(ceil((double)replicas * ratio), 1e9);
}

/* Drops the wishes that are as old as the window. */
static void forget(struct hpa_window *window, sim_ns since_ns)
{
    while (window->first < window->n && window->wishes[window->first].at_ns <= since_ns) window->first++;
    if (window->first < window->n - window->first) return;
    window->n -= window->first;
    memmove(window->wishes, window->wishes + window->first, window->n * sizeof *window->wishes);
    window->first = 0;
}

/* A wish makes those before it irrelevant that are no more extreme: sign 1 keeps the largest, -1 the smallest. */
static int remember(struct hpa_window *window, int sign, sim_ns now, int64_t replicas)
{
    while (window->n > window->first && sign * window->wishes[window->n - 1].replicas <= sign * replicas) window->n--;
    return vec_push(&window->wishes, &window->n, &window->capacity, (struct hpa_wish){now, replicas});
}

static int64_t extreme(const struct hpa_window *window, int64_t wanted)
{
    return window->first < window->n ? window->wishes[window->first].replicas : wanted;
}

static int remember_both(struct hpa *hpa, sim_ns now, int64_t replicas)
{
    const int code = remember(&hpa->least, -1, now, replicas);
    return code == 0 ? remember(&hpa->most, 1, now, replicas) : code;
}

int hpa_plan(struct hpa *hpa, const struct autoscaling_view *view, int64_t wanted, struct autoscaling_plan *plan)
{
    const sim_ns now = view->now_ns;
    int code = hpa->most.capacity == 0 ? remember_both(hpa, now, plan->replicas) : 0;
    if (code == 0) code = remember_both(hpa, now, wanted);
    if (code != 0) return code;
    forget(&hpa->least, now - hpa->params.up_window_ns);
    forget(&hpa->most, now - hpa->params.down_window_ns);
    const int64_t up = extreme(&hpa->least, wanted), down = extreme(&hpa->most, wanted);
    if (plan->replicas < up) {
        plan->replicas = up;
        plan->reason = "the load is above its target";
    } else if (plan->replicas > down) {
        plan->replicas = down;
        plan->reason = "the load is below its target";
    }
    return 0;
}
