#include "policies/rental/fleet_params.h"

#include "sim/core/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct config_field share_item[] = {
    {.kind = CONFIG_REAL, .min = 0, .max = 1, .help = "share of the requests"}, {0}};
static const struct config_field rate_item[] = {
    {.kind = CONFIG_QUANTITY, .dim = UNIT_RATE, .min = 0, .max = 1e9, .help = "requests per second"}, {0}};

#define ROW_OF struct fleet_kind
static const struct config_field kind_fields[] = {
    ROW_TEXT("offer", offer, OPTIONAL, ANY, "offer of the market for its GPUs; default: the offer named like the pool"),
    ROW_INT("gpus", gpus, DEFAULT("1"), WITHIN(1, 1000000), "GPUs of each replica"),
    ROW_LIST("max_throughput", max_per_s, REQUIRED, WITHIN(1, 1000), double, rate_item,
             "rate of each bucket that a replica serves within the SLO when it serves nothing else; 0: none"),
    {0}};
#undef ROW_OF

#define ROW_OF struct fleet_params
const struct config_field fleet_params_fields[] = {
    ROW_TEXT("service", service, OPTIONAL, ANY, "service whose pools the fleet is for"),
    ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, OPTIONAL, POSITIVE, "arrival rate of requests, all buckets together"),
    ROW_INT("slices", slices, DEFAULT("8"), WITHIN(1, 1000),
            "equal parts of each bucket that may go to GPUs of different kinds"),
    ROW_LIST("buckets", buckets, OPTIONAL, WITHIN(0, 1000), double, share_item,
             "share of the requests in each bucket of request lengths"),
    ROW_MAP("kinds", kinds, OPTIONAL, WITHIN(0, 64), struct fleet_kind, kind_fields,
            "pools of the service, and the throughput of a replica of each"),
    {0}};
#undef ROW_OF

static int check(const struct fleet_params *params, struct diag *diag)
{
    const struct fleet_kind *kind = params->kinds.items;
    double shares = 0.0;
    for (size_t i = 0; i < params->buckets.n; i++) shares += ((const double *)params->buckets.items)[i];
    if (params->service == NULL || isnan(params->rate_per_s) || fabs(shares - 1.0) > 1e-6)
        return diag_error(diag, SIM_E_CONFIG, "market.renting", NULL,
                          "a fleet needs a 'service', a 'rate', and 'buckets' whose shares add up to 1, got %.6g",
                          shares);
    for (size_t i = 0; i < params->kinds.n; i++, kind++)
        if (kind->max_per_s.n != params->buckets.n)
            return diag_error(diag, SIM_E_CONFIG, "market.renting.kinds", NULL,
                              "'max_throughput' of '%s' has %zu numbers, but there are %zu buckets", kind->name,
                              kind->max_per_s.n, params->buckets.n);
    return 0;
}

/* Arrays of one problem, the doubles in one block. */
struct arrays {
    double *usd_per_h, *most, *rate_per_s, *max_per_s;
    int64_t *replicas;
};

static int arrays_alloc(struct arrays *arrays, size_t kinds, size_t buckets)
{
    arrays->usd_per_h = mem_zalloc(2 * kinds + buckets + kinds * buckets + 1, sizeof(double));
    arrays->replicas = mem_zalloc(kinds + 1, sizeof *arrays->replicas);
    if (arrays->usd_per_h == NULL || arrays->replicas == NULL) return SIM_E_NOMEM;
    arrays->most = arrays->usd_per_h + kinds;
    arrays->rate_per_s = arrays->most + kinds;
    arrays->max_per_s = arrays->rate_per_s + buckets;
    return 0;
}

static void arrays_free(struct arrays *arrays)
{
    mem_free(arrays->usd_per_h);
    mem_free(arrays->replicas);
}

static int fill_kind(const struct fleet_params *params, const struct market_view *view, size_t i, struct arrays *arrays,
                     struct diag *diag)
{
    const struct fleet_kind *kind = (const struct fleet_kind *)params->kinds.items + i;
    const char *name = kind->offer != NULL ? kind->offer : kind->name;
    memcpy(arrays->max_per_s + i * params->buckets.n, kind->max_per_s.items, params->buckets.n * sizeof(double));
    for (int32_t j = 0; j < view->n_offers; j++) {
        if (strcmp(view->offers[j].name, name) != 0) continue;
        arrays->usd_per_h[i] = view->offers[j].usd_per_h * (double)kind->gpus;
        arrays->most[i] = floor(view->offers[j].limit_gpus / (double)kind->gpus);
        return 0;
    }
    return diag_error(diag, SIM_E_CONFIG, "market.renting.kinds",
                      "name it in market.offers, or give the kind an \"offer\"", "the market has no offer '%s'", name);
}

static int apply(const struct fleet_params *params, const struct arrays *arrays, struct fleet_plan *plan)
{
    int code = 0;
    for (size_t i = 0; i < params->kinds.n && code == 0; i++) {
        const struct fleet_kind *kind = (const struct fleet_kind *)params->kinds.items + i;
        code = fleet_plan_set(plan, params->service, kind->name, arrays->replicas[i]);
    }
    return code;
}

static int report_outcome(enum lp_outcome outcome, struct diag *diag)
{
    switch (outcome) {
    case LP_OPTIMAL: return 0;
    case LP_FEASIBLE:
        diag_warning(diag, "market.renting", "fewer 'slices' are faster",
                     "the search ended early: a cheaper fleet may exist");
        return 0;
    case LP_NO_MEMORY: return SIM_E_NOMEM;
    case LP_GAVE_UP:
    case LP_FAILED:
        return diag_error(diag, SIM_E_CONFIG, "market.renting", "take fewer 'slices', 'buckets' or 'kinds'",
                          "the search ended before it found a fleet; there may be one");
    case LP_INFEASIBLE:
    case LP_UNBOUNDED: break;
    }
    return diag_error(diag, SIM_E_CONFIG, "market.renting",
                      "raise 'limit' of the offers, the nodes that have their GPUs, or 'max_throughput'",
                      "no fleet can serve these requests");
}

static int plan_with(const struct fleet_params *params, const struct market_view *view, struct arrays *arrays,
                     struct fleet_plan *plan, fleet_solver *solve, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; i < params->buckets.n; i++)
        arrays->rate_per_s[i] = params->rate_per_s * ((const double *)params->buckets.items)[i];
    for (size_t i = 0; i < params->kinds.n && code == 0; i++) code = fill_kind(params, view, i, arrays, diag);
    if (code != 0) return code;
    const struct melange_problem problem = {.kinds = (int)params->kinds.n,
                                            .buckets = (int)params->buckets.n,
                                            .slices = params->slices,
                                            .usd_per_h = arrays->usd_per_h,
                                            .most_gpus = arrays->most,
                                            .rate_per_s = arrays->rate_per_s,
                                            .max_per_s = arrays->max_per_s};
    struct melange_fleet fleet = {.gpus = arrays->replicas};
    code = report_outcome(solve(&problem, &fleet), diag);
    return code != 0 ? code : apply(params, arrays, plan);
}

int fleet_params_plan(const struct fleet_params *params, const struct market_view *view, struct fleet_plan *plan,
                      fleet_solver *solve, struct diag *diag)
{
    struct arrays arrays = {0};
    if (params->kinds.n == 0) {
        diag_warning(diag, "market.renting", "add \"kinds\", \"buckets\" and a \"rate\"",
                     "no fleet to plan: services keep their replicas");
        return 0;
    }
    int code = check(params, diag);
    if (code == 0) code = arrays_alloc(&arrays, params->kinds.n, params->buckets.n);
    if (code == 0) code = plan_with(params, view, &arrays, plan, solve, diag);
    arrays_free(&arrays);
    return code;
}
