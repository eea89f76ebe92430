/* Fixed width: each job rents on arrival the number of GPUs that is optimal for its type, keeps them until it
 * finishes, and never queues. Among all policies whose mean bill stays within a budget, this one has the least mean
 * response time. policies/rental/widths.h has the optimum.
 *
 * The policy knows the arrival rate and the mean size of the jobs of each type, but neither sizes of single jobs nor
 * their number. A type that "classes" omits gets the width at the common price of the others. */
#include "policies/declared.h"
#include "policies/rental/widths.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/world/policy/rental.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* An entry of "classes". */
struct class_params {
    const char *name; /* key: a type of jobs */
    double rate_per_s, size_s, weight;
    double width; /* NAN: the optimum */
};

struct params {
    double budget_gpus, budget_usd_per_h; /* NAN: not given */
    double most_gpus;
    bool whole;
    struct config_list classes; /* struct class_params */
};

struct state {
    struct params params; /* first */
    int n;                        /* types of jobs */
    struct width_class *classes;  /* [n] */
    struct width_option *options; /* [n][offers] */
    int32_t *offers;              /* [n][offers]: the offer of an option */
    struct width_choice *choices; /* [n]; width 0: the GPUs that the job requests */
};

static void fini(void *state)
{
    struct state *own = state;
    mem_free(own->classes);
    mem_free(own->options);
    mem_free(own->offers);
    mem_free(own->choices);
}

static const struct class_params *class_of(const struct params *params, const char *type)
{
    const struct class_params *of = params->classes.items;
    for (size_t i = 0; i < params->classes.n; i++, of++)
        if (strcmp(of->name, type) == 0) return of;
    return NULL;
}

static int type_of(const struct market_view *view, const char *name)
{
    for (int i = 0; i < view->n_job_types; i++)
        if (strcmp(view->job_types[i].name, name) == 0) return i;
    return -1;
}

/* --- The optimum --- */

static int alloc(struct state *own, const struct market_view *view)
{
    const size_t n = (size_t)view->n_job_types + 1, n_options = n * (size_t)view->n_offers;
    own->n = view->n_job_types;
    own->classes = mem_zalloc(n, sizeof *own->classes);
    own->options = mem_zalloc(n_options, sizeof *own->options);
    own->offers = mem_zalloc(n_options, sizeof *own->offers);
    own->choices = mem_zalloc(n, sizeof *own->choices);
    return own->classes != NULL && own->options != NULL && own->offers != NULL && own->choices != NULL ? 0
                                                                                                       : SIM_E_NOMEM;
}

/* Lists the offers that jobs of a type can run on. Returns their number. */
static int fill_options(struct state *own, const struct market_view *view, int type)
{
    const int first = type * view->n_offers;
    int n = 0;
    for (int32_t i = 0; i < view->n_offers; i++) {
        const struct market_offer *offer = &view->offers[i];
        const double speed = view->job_types[type].speeds[i];
        if (!(speed > 0)) continue;
        own->offers[first + n] = i;
        own->options[first + n++] =
            (struct width_option){.speedup = view->job_types[type].speedup,
                                  .speed = speed,
                                  .price = isnan(own->params.budget_usd_per_h) ? 1.0 : offer->usd_per_h,
                                  .start_up_s = sim_s_from_ns(offer->start_up_ns),
                                  .pays_start_up = offer->pays_start_up};
    }
    return n;
}

static void fill_class(struct state *own, const struct market_view *view, int type)
{
    const struct class_params *of = class_of(&own->params, view->job_types[type].name);
    own->classes[type] = (struct width_class){.rate_per_s = of != NULL ? of->rate_per_s : 0.0,
                                              .size = of != NULL ? of->size_s : 1.0,
                                              .weight = of != NULL ? of->weight : 1.0,
                                              .most_gpus = own->params.most_gpus,
                                              .n_options = fill_options(own, view, type),
                                              .options = &own->options[type * view->n_offers]};
}

/* The number of types whose width the scenario omits. */
static int n_open(const struct params *params, const struct market_view *view)
{
    int n = 0;
    for (int i = 0; i < view->n_job_types; i++) {
        const struct class_params *of = class_of(params, view->job_types[i].name);
        n += of == NULL || isnan(of->width);
    }
    return n;
}

static bool needs_optimum(const struct params *params, const struct market_view *view)
{
    return n_open(params, view) > 0;
}

/* Widths do not change during the run. */
static void warn_of_changes(const struct params *params, const struct market_view *view, struct diag *diag)
{
    if (isnan(params->budget_usd_per_h) || !needs_optimum(params, view)) return;
    for (int32_t i = 0; i < view->n_offers; i++)
        if (view->offers[i].changes_price)
            diag_warning(diag, "market.renting.budget", "give a \"budget_gpus\", or leave out the \"price_changes\"",
                         "the price of offer '%s' changes, but widths keep to the budget at the prices of 0 s only",
                         view->offers[i].name);
}

static int check_classes(const struct params *params, const struct market_view *view, struct diag *diag)
{
    const struct class_params *of = params->classes.items;
    for (size_t i = 0; i < params->classes.n; i++, of++)
        if (type_of(view, of->name) < 0)
            return diag_error(diag, SIM_E_CONFIG, "market.renting.classes", "add its speedup to jobs.types",
                              "class '%s' is no type of jobs", of->name);
    if (params->classes.n == 0)
        diag_warning(diag, "market.renting", "add \"classes\" with rates and mean sizes, and a budget",
                     "no classes of jobs: every job rents the GPUs that it requests");
    else if (needs_optimum(params, view) && n_open(params, view) < view->n_job_types)
        return diag_error(diag, SIM_E_CONFIG, "market.renting.classes", "give every class a \"width\", or none",
                          "given and optimal widths together would not keep to one budget");
    else if (needs_optimum(params, view) && isnan(params->budget_gpus) == isnan(params->budget_usd_per_h))
        return diag_error(diag, SIM_E_CONFIG, "market.renting", "add \"budget_gpus\": 64, or \"budget\": \"$100/h\"",
                          "the optimal widths need either a mean number of GPUs or a mean bill");
    return 0;
}

static int solve(struct state *own, struct diag *diag)
{
    const bool by_gpus = isnan(own->params.budget_usd_per_h);
    const struct widths_problem problem = {.n = own->n, .classes = own->classes, .whole = own->params.whole,
                                           .budget = by_gpus ? own->params.budget_gpus : own->params.budget_usd_per_h};
    struct widths_plan plan;
    if (widths_solve(&problem, own->choices, &plan)) return 0;
    return diag_error(diag, SIM_E_CONFIG, "market.renting", NULL,
                      "a budget of %s%.6g%s is too small: these jobs take %.6g on average even on the cheapest widths",
                      by_gpus ? "" : "$", problem.budget, by_gpus ? " GPUs" : "/h", plan.least);
}

/* Applies the widths that the scenario gives. */
static void override(struct state *own, const struct market_view *view)
{
    for (int i = 0; i < own->n; i++) {
        const struct class_params *of = class_of(&own->params, view->job_types[i].name);
        if (of == NULL || isnan(of->width)) continue;
        own->choices[i].low.gpus = of->width;
        own->choices[i].high_frac = 0.0;
    }
}

static int prepare(void *state, const struct market_view *view, struct diag *diag)
{
    struct state *own = state;
    int code = check_classes(&own->params, view, diag);
    if (code == 0) warn_of_changes(&own->params, view, diag);
    if (code == 0) code = alloc(own, view);
    if (code != 0 || own->params.classes.n == 0) return code;
    for (int i = 0; i < own->n; i++) fill_class(own, view, i);
    if (needs_optimum(&own->params, view)) code = solve(own, diag);
    if (code == 0) override(own, view);
    return code;
}

/* --- Jobs --- */

static int rent(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental)
{
    struct state *own = state;
    int type = type_of(view, job->type);
    if (type < 0) type = type_of(view, "default");
    *rental = (struct rental){.offer = 0, .gpus = job->gpus};
    if (type < 0 || !(own->choices[type].low.gpus > 0)) return 0;
    const struct width_choice *choice = &own->choices[type];
    const bool is_high = choice->high_frac > 0.0 && rng_uniform(view->random) < choice->high_frac;
    const struct width width = is_high ? choice->high : choice->low;
    rental->offer = own->offers[type * view->n_offers + width.option];
    rental->gpus = width.gpus;
    return 0;
}

#define ROW_OF struct class_params
static const struct config_field class_fields[] = {
    ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, REQUIRED, WITHIN(0, 1e9), "arrivals of jobs of this type"),
    ROW_QUANTITY("size", size_s, UNIT_TIME, REQUIRED, POSITIVE, "mean run time on one GPU of speed 1"),
    ROW_REAL("weight", weight, DEFAULT("1"), POSITIVE, "weight of its jobs in the mean response time that is minimised"),
    ROW_REAL("width", width, OPTIONAL, WITHIN(1e-6, 1e9), "GPUs that each job rents, instead of the optimum"),
    {0}};
#undef ROW_OF

#define ROW_OF struct params
static const struct config_field fields[] = {
    ROW_REAL("budget_gpus", budget_gpus, OPTIONAL, POSITIVE, "budget as a mean number of rented GPUs"),
    ROW_QUANTITY("budget", budget_usd_per_h, UNIT_MONEY_PER_H, OPTIONAL, POSITIVE, "budget as a mean bill, instead of budget_gpus"),
    ROW_REAL("most_gpus", most_gpus, DEFAULT("1000000"), WITHIN(1, 1e9), "most GPUs that a job rents"),
    ROW_BOOL("whole", whole, DEFAULT("false"),
             "whole GPUs only; the jobs of at most one type get one of two widths at random"),
    ROW_MAP("classes", classes, OPTIONAL, ANY, struct class_params, class_fields,
            "arrival rate and mean size of the jobs of each type"),
    {0}};
#undef ROW_OF

const struct renter rental_fixed_width = {
    .policy = {POLICY_HEAD(renter, POLICY_RENTAL),
               .name = "fixed-width",
               .summary = "each job gets its type's optimal number of GPUs on arrival and never queues",
               .source = "How to Rent GPUs on a Budget, arXiv 2406.15560",
               .params = fields,
               .params_bytes = sizeof(struct params),
               .state_bytes = sizeof(struct state),
               .fini = fini},
    .prepare = prepare,
    .rent = rent,
};
