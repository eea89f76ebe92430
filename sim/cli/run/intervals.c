#include "sim/cli/run/intervals.h"

#include "sim/cli/run/simulate.h"
#include "sim/core/text.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <string.h>

/* Ends of the metrics, in the order of the run's rows. */
struct widening {
    const struct metric_row *metrics;
    size_t n, next; /* next: where the row after the last one is looked for first */
    struct metric_interval *ends;
    enum time_case time_case;
    double power_error; /* NAN: unknown */
    bool prices_jobs;      /* some jobs draw what a power model says of their plan */
    const char *left_out;  /* the metric whose requests differ most, so that it has no interval; NULL: none */
    double left_out_share; /* the share of these requests */
};

static int widen(void *context, const struct metric_row *row)
{
    struct widening *widening = context;
    for (size_t tried = 0; tried < widening->n; tried++) {
        const size_t i = (widening->next + tried) % widening->n;
        if (strcmp(widening->metrics[i].name, row->name) != 0) continue;
        struct metric_interval *ends = &widening->ends[i];
        *(widening->time_case == TIMES_FAST ? &ends->fast : &ends->slow) = row->value;
        widening->next = i + 1;
        break;
    }
    return 0;
}

/* Runs the scenario at one end. Adds what the end rests on; nothing if no error is known, and then nothing runs.
 * Returns the code of the run; findings go to `why`. */
static int run_end(const struct setup *setup, const struct world_options *how, struct widening *widening,
                   struct time_errors *errors, struct diag *why)
{
    struct world_options options = *how;
    struct world_result result;
    struct world *world;
    const struct sink sink = {.context = widening, .metric = widen};
    options.time_case = widening->time_case;
    options.progress = NULL;
    int code = world_create(&setup->scenario, &options, &world, why);
    if (code != 0) return code;
    world_say_time_errors(world, errors);
    widening->power_error = world_power_error(world);
    if (errors->basis->length > 0) code = world_run(world, &sink, &result);
    widening->prices_jobs = widening->prices_jobs || (world_jobs(world) != NULL && jobs_are_priced(world_jobs(world)));
    world_destroy(world);
    return code;
}

/* --- Power --- */

enum power_kind { NO_POWER, OF_POWER, PER_POWER, FROM_POWER };

static bool is_energy_of_jobs(const char *name)
{
    return strncmp(name, "job.energy_j", 12) == 0 || strcmp(name, "energy.jobs_j") == 0 ||
           strcmp(name, "energy.j_per_job") == 0;
}

/* The power model of the services' GPUs has no part in the energy of jobs. */
static bool is_of_jobs(const char *name)
{
    return strncmp(name, "job.", 4) == 0 || is_energy_of_jobs(name);
}

static double value_of(const struct widening *widening, const char *name)
{
    for (size_t i = 0; i < widening->n; i++)
        if (strcmp(widening->metrics[i].name, name) == 0) return widening->metrics[i].value;
    return 0.0;
}

static bool is_of_site(const char *name)
{
    static const char *const of_site[] = {"energy.site_j", "energy.servers_j", "power.site_w.mean"};
    for (size_t i = 0; i < sizeof of_site / sizeof *of_site; i++)
        if (strcmp(name, of_site[i]) == 0) return true;
    return false;
}

/* The error of the model that prices jobs is not known here: neither their energy nor the site's has an interval. */
static bool is_of_priced_jobs(const struct widening *widening, const char *name)
{
    return widening->prices_jobs && (is_of_site(name) || is_energy_of_jobs(name));
}

/* The share of a metric that grows with the power of the model: of the site and of its servers, what GPUs without jobs
 * draw of the energy of all GPUs. */
static double modelled_frac(const struct widening *widening, const char *name)
{
    const double jobs_j = value_of(widening, "energy.jobs_j");
    const double others_j = value_of(widening, "energy.j") + value_of(widening, "energy.idle_j");
    return is_of_site(name) && jobs_j > 0 ? others_j / (others_j + jobs_j) : 1.0;
}

/* FROM_POWER: a result of power in another way than by a factor, such as the time under a brake, or a maximum that the
 * limit of a GPU bounds. */
static enum power_kind power_kind_of(const struct metric_row *metric)
{
    static const char *const units[] = {"J", "W", "J/token"};
    const size_t n = strcspn(metric->name, "[");
    if (is_of_jobs(metric->name)) return NO_POWER;
    if (strcmp(metric->unit, "token/J") == 0) return PER_POWER;
    if (strcmp(metric->unit, "W") == 0 && n > 4 && strncmp(metric->name + n - 4, ".max", 4) == 0) return FROM_POWER;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(metric->unit, units[i]) == 0) return OF_POWER;
    return strncmp(metric->name, "power.", 6) == 0 || strncmp(metric->name, "energy.", 7) == 0 ? FROM_POWER : NO_POWER;
}

/* Adds the error of the power model. Returns whether it is known, or does not matter. */
static bool widen_power(const struct widening *widening, const struct metric_row *metric, struct metric_interval *ends)
{
    const double error = widening->power_error, share = modelled_frac(widening, metric->name);
    const enum power_kind kind = power_kind_of(metric);
    if (is_of_priced_jobs(widening, metric->name)) return false;
    if (kind == NO_POWER) return true;
    if (kind == FROM_POWER || !(error < 1.0)) return false;
    const double more = 1.0 + share * error / (1.0 - error), less = 1.0 - share * error / (1.0 + error);
    ends->low *= kind == OF_POWER ? less : 1.0 / more;
    ends->high *= kind == OF_POWER ? more : 1.0 / less;
    return true;
}

/* --- The intervals --- */

/* Metrics of requests or jobs that end, and the metrics that count them. */
struct ended {
    const char *prefix, *all, *unfinished;
};

static const struct ended ended_kinds[] = {{"request.", "request.arrived", "request.unfinished"},
                                           {"slo.", "request.arrived", "request.unfinished"},
                                           {"session.", "request.arrived", "request.unfinished"},
                                           {"job.", "job.submitted", "job.unfinished"},
                                           {0}};

/* The share of the values beyond a statistic, by the end of the metric's name. 1: it counts or adds up what happens in
 * the time of the run. 0: the maximum, which a single request sets. */
static double beyond(const char *name)
{
    static const struct {
        const char *end;
        double share;
    } ends[] = {{".p50", 0.5}, {".p90", 0.1}, {".p95", 0.05}, {".p99", 0.01}, {"_s.mean", 0.01}, {".max", 0},
                {"_frac", 0.01}};
    const size_t n = strcspn(name, "[");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n_end = strlen(ends[i].end);
        if (n >= n_end && strncmp(name + n - n_end, ends[i].end, n_end) == 0) return ends[i].share;
    }
    return 1;
}

/* Finds the metric "NAME[SERVICE]" for the service or class of another one. */
static size_t find_beside(const struct widening *widening, const char *name, const char *other)
{
    const size_t n = strlen(name), n_other = strcspn(other, "[");
    size_t i = 0;
    while (i < widening->n && (strncmp(widening->metrics[i].name, name, n) != 0 ||
                               strcmp(widening->metrics[i].name + n, other + n_other) != 0))
        i++;
    return i;
}

/* The largest share of the requests or jobs behind a metric that may be in one of the three runs and not in another:
 * those that are unfinished in either. 0: as many finish in all three, or nothing counts them. */
static double other_share(const struct widening *widening, const char *name)
{
    const struct ended *kind = ended_kinds;
    while (kind->prefix != NULL && strncmp(kind->prefix, name, strlen(kind->prefix)) != 0) kind++;
    if (kind->prefix == NULL) return 0;
    const size_t all = find_beside(widening, kind->all, name), left = find_beside(widening, kind->unfinished, name);
    if (all == widening->n || left == widening->n) return 0;
    const double unfinished = widening->metrics[left].value;
    const struct metric_interval *ends = &widening->ends[left];
    if (ends->fast == unfinished && ends->slow == unfinished) return 0;
    return (unfinished + fmax(ends->fast, ends->slow)) / fmax(1, widening->metrics[all].value);
}

/* Whether the ends are of nearly the same requests: at most half as many may differ as lie beyond the statistic. */
static bool is_comparable(struct widening *widening, const char *name)
{
    const double share = other_share(widening, name), most = 0.5 * beyond(name);
    if (share <= most || beyond(name) == 1) return true;
    if (beyond(name) > 0 && strncmp(name, "job.", 4) != 0 && share > widening->left_out_share) {
        widening->left_out_share = share;
        widening->left_out = name;
    }
    return false;
}

/* Keeps the metrics that all three runs have of nearly the same requests, and whose ends differ. */
static void keep_open(struct widening *widening, struct run_intervals *found)
{
    size_t n = 0;
    for (size_t i = 0; i < widening->n; i++) /* before the ends move */
        if (!is_comparable(widening, widening->metrics[i].name)) widening->ends[i].fast = (double)NAN;
    for (size_t i = 0; i < widening->n; i++) {
        struct metric_interval ends = widening->ends[i];
        const double value = widening->metrics[i].value;
        if (isnan(value) || isnan(ends.fast) || isnan(ends.slow)) continue;
        ends.low = fmin(value, fmin(ends.fast, ends.slow));
        ends.high = fmax(value, fmax(ends.fast, ends.slow));
        if (widen_power(widening, &widening->metrics[i], &ends) && ends.low < ends.high) widening->ends[n++] = ends;
    }
    found->n = n;
    found->items = widening->ends;
}

static const char *first_error(int code, const struct diag *why)
{
    for (int i = 0; i < (int)why->n_items; i++)
        if (why->items[i].code != 0) return why->items[i].text;
    return sim_err_text(code);
}

static int find_ends(const struct setup *setup, const struct world_options *how, struct widening *widening,
                     struct time_errors *errors, struct diag *diag)
{
    struct text again[4];
    struct diag why;
    diag_init(&why);
    for (size_t i = 0; i < 4; i++) text_init(&again[i]);
    struct time_errors slow = {.basis = &again[0], .systems = &again[1], .unknown = &again[2], .why = &again[3]};
    widening->time_case = TIMES_FAST;
    int code = run_end(setup, how, widening, errors, &why);
    widening->time_case = TIMES_SLOW;
    if (code == 0 && errors->basis->length > 0) code = run_end(setup, how, widening, &slow, &why);
    if (code != 0 && code != SIM_E_INTERRUPTED)
        diag_warning(diag, NULL, "--interval never leaves them out",
                     "no intervals, as a run at one of their ends failed: %s", first_error(code, &why));
    for (size_t i = 0; i < 4; i++) text_fini(&again[i]);
    return code;
}

int intervals_find(const struct setup *setup, const struct world_options *how, const struct metric_row *metrics,
                   size_t n_metrics, struct arena *arena, struct run_intervals *found, struct diag *diag)
{
    struct text basis, systems, unknown, reasons;
    struct widening widening = {.metrics = metrics, .n = n_metrics};
    *found = (struct run_intervals){.share = TIME_ERROR_SHARE};
    if (setup->scenario.services.n == 0) return 0;
    widening.ends = arena_alloc(arena, (n_metrics + 1) * sizeof *widening.ends);
    if (widening.ends == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_metrics; i++)
        widening.ends[i] = (struct metric_interval){.name = metrics[i].name, .fast = (double)NAN, .slow = (double)NAN};
    text_init(&basis);
    text_init(&systems);
    text_init(&unknown);
    text_init(&reasons);
    struct time_errors errors = {.basis = &basis, .systems = &systems, .unknown = &unknown, .why = &reasons};
    int code = find_ends(setup, how, &widening, &errors, diag);
    if (code == 0 && basis.length > 0) keep_open(&widening, found);
    if (widening.left_out != NULL)
        diag_warning(diag, NULL, "what is under way at the end of a run weighs less in a longer one",
                     "no interval of %s, nor of others alike: up to %.3g %% of what it measures is unfinished in a run "
                     "with faster or slower kernels",
                     widening.left_out, 100 * fmin(1, widening.left_out_share));
    if (found->n > 0) {
        if (unknown.length > 0) text_printf(&basis, "; as predicted, since no error is known: (%s)", unknown.chars);
        found->basis = arena_strdup(arena, basis.chars);
        found->systems = arena_strdup(arena, systems.chars);
    }
    const bool is_said = code == 0 && basis.length == 0 && reasons.length > 0;
    found->none = is_said && !reasons.failed ? arena_strdup(arena, reasons.chars) : NULL;
    const bool failed = basis.failed || systems.failed || unknown.failed || reasons.failed ||
                        (is_said && !found->none) || (found->n > 0 && (!found->basis || !found->systems));
    text_fini(&basis);
    text_fini(&systems);
    text_fini(&unknown);
    text_fini(&reasons);
    return failed ? SIM_E_NOMEM : code == SIM_E_INTERRUPTED ? code : 0;
}
