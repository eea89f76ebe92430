#include "policies/scheduler/usage.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <string.h>

void usage_fini(struct usage *usage)
{
    mem_free(usage->points);
}

/* Index of the first point later than a time. */
static size_t behind(const struct usage *usage, sim_ns time_ns)
{
    size_t low = 0, high = usage->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (usage->points[middle].from_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Index of the point at this time, created if needed. The caller has reserved room for one. */
static size_t point_at(struct usage *usage, sim_ns time_ns)
{
    size_t at = behind(usage, time_ns);
    if (at > 0 && usage->points[at - 1].from_ns == time_ns) return at - 1;
    struct usage_point *point = &usage->points[at];
    memmove(point + 1, point, (usage->n++ - at) * sizeof *point);
    *point = (struct usage_point){time_ns, at > 0 ? point[-1].gpus : 0};
    return at;
}

static void drop(struct usage *usage, size_t at, size_t n)
{
    usage->n -= n;
    memmove(&usage->points[at], &usage->points[at + n], (usage->n - at) * sizeof *usage->points);
}

/* Drops a point that changes nothing. */
static void drop_idle(struct usage *usage, size_t at)
{
    int64_t before = at > 0 ? usage->points[at - 1].gpus : 0;
    if (usage->points[at].gpus == before) drop(usage, at, 1);
}

int usage_add(struct usage *usage, sim_ns from_ns, sim_ns to_ns, int64_t gpus)
{
    if (from_ns >= to_ns) return 0;
    if (vec_reserve(&usage->points, &usage->capacity, usage->n + 2) != 0) return SIM_E_NOMEM;
    size_t first = point_at(usage, from_ns), last = point_at(usage, to_ns);
    for (size_t i = first; i < last; i++) usage->points[i].gpus += gpus;
    drop_idle(usage, last);
    drop_idle(usage, first);
    return 0;
}

void usage_forget(struct usage *usage, sim_ns now_ns)
{
    size_t at = behind(usage, now_ns);
    if (at > 1) drop(usage, 0, at - 1);
}

sim_ns usage_earliest(const struct usage *usage, sim_ns now_ns, sim_ns span_ns, int64_t gpus, int64_t total_gpus)
{
    if (gpus > total_gpus) return SIM_NS_MAX;
    sim_ns start_ns = now_ns;
    for (size_t next = behind(usage, now_ns); next < usage->n; next++) {
        sim_ns end_ns = usage->points[next].from_ns;
        bool fits = next == 0 || usage->points[next - 1].gpus <= total_gpus - gpus;
        if (!fits) start_ns = end_ns;
        if (fits && end_ns - start_ns >= span_ns) return start_ns;
    }
    return start_ns;
}
