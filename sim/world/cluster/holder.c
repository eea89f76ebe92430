#include "sim/world/cluster/holder.h"

#include "sim/core/check.h"

#include <math.h>

void holders_watch(struct holders *holders, struct watcher *watcher)
{
    struct watcher **last = &holders->watchers;
    SIM_REQUIRE(holders->n_watchers < HOLDER_WATCHERS);
    while (*last != NULL) last = &(*last)->next;
    watcher->slot = holders->n_watchers++;
    *last = watcher;
}

void holders_enter(struct holders *holders, struct tenant *tenant)
{
    struct tenant **last = &holders->tenants;
    while (*last != NULL) last = &(*last)->next;
    holders->n_awaiting += tenant->awaits_nodes;
    *last = tenant;
}

void holders_end(struct holders *holders, struct tenant *tenant)
{
    if (!tenant->awaits_nodes) return;
    tenant->awaits_nodes = false;
    if (--holders->n_awaiting > 0) return;
    EACH_WATCHER(watcher, holders, none_awaited) watcher->ops->none_awaited(watcher);
}

int holders_join(struct holders *holders, struct holder *holder)
{
    int code = 0;
    *(holders->last != NULL ? &holders->last->next : &holders->first) = holder;
    holders->last = holder;
    EACH_WATCHER(watcher, holders, joins) if (code == 0) code = watcher->ops->joins(watcher, holder);
    return code != 0 || holder->held == NULL ? code : holders_given(holders, holder, 0);
}

void holders_redrawn(const struct holders *holders, struct holder *holder, sim_ns now)
{
    EACH_WATCHER(watcher, holders, redrawn) watcher->ops->redrawn(watcher, holder, now);
}

/* Independent risks: the rate is the sum of the rates, the wait their mean by rate. A single risk stays as it is. */
static struct holder_risk both(struct holder_risk a, struct holder_risk b)
{
    if (isinf(a.mtbf_s)) return b;
    if (isinf(b.mtbf_s)) return a;
    const double rate_a = 1.0 / a.mtbf_s, rate_b = 1.0 / b.mtbf_s, rate = rate_a + rate_b;
    return (struct holder_risk){1.0 / rate, (rate_a * a.restart_s + rate_b * b.restart_s) / rate};
}

struct holder_risk holders_risk(const struct holders *holders, const struct holder *holder)
{
    struct holder_risk risk = {(double)INFINITY, 0.0};
    EACH_WATCHER(watcher, holders, risk) risk = both(risk, watcher->ops->risk(watcher, holder));
    return risk;
}

struct holder_command holders_command(const struct holders *holders, const struct holder *holder)
{
    EACH_WATCHER(watcher, holders, command) return watcher->ops->command(watcher, holder);
    return (struct holder_command){0};
}

int holders_black_out(const struct holders *holders, int32_t first_node, int32_t n_nodes, sim_ns until_ns)
{
    int code = 0;
    EACH_WATCHER(watcher, holders, black_out)
    if (code == 0) code = watcher->ops->black_out(watcher, first_node, n_nodes, until_ns);
    return code;
}

int holders_make_room(const struct holders *holders, const char *gpu, int32_t gpus, int64_t groups, sim_ns now)
{
    for (struct tenant *tenant = holders->tenants; tenant != NULL; tenant = tenant->next)
        if (tenant->ops->make_room != NULL) return tenant->ops->make_room(tenant, gpu, gpus, groups, now);
    return 0;
}

void holders_changed(const struct holders *holders, enum site_change change)
{
    for (struct tenant *tenant = holders->tenants; tenant != NULL; tenant = tenant->next)
        tenant->ops->changed(tenant, change);
}
