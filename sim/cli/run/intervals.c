#include "sim/cli/run/intervals.h"

#include "sim/cli/run/simulate.h"
#include "sim/core/text.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <string.h>

/* Ends of the metrics, in the order of the run's rows. */
struct widening {
    const struct metric_row *metrics;
    size_t n, next; /* next: where the row after the last one is looked for first */
    struct metric_interval *ends;
    double power_error; /* NAN: unknown */
};

static int widen(void *context, const struct metric_row *row)
{
    struct widening *widening = context;
    for (size_t tried = 0; tried < widening->n; tried++) {
        const size_t i = (widening->next + tried) % widening->n;
        if (strcmp(widening->metrics[i].name, row->name) != 0) continue;
        struct metric_interval *ends = &widening->ends[i];
        ends->low = fmin(ends->low, row->value);
        ends->high = fmax(ends->high, row->value);
        widening->next = i + 1;
        break;
    }
    return 0;
}

/* Runs the scenario at one end. Adds what the end rests on; nothing if no error is known, and then nothing runs.
 * Returns the code of the run; its first finding goes to `why`. */
static int run_end(const struct setup *setup, const struct world_options *how, enum time_case time_case,
                   struct widening *widening, struct text *basis, struct diag *why)
{
    struct world_options options = *how;
    struct world_result result;
    struct world *world;
    const struct sink sink = {.context = widening, .metric = widen};
    options.time_case = time_case;
    options.progress = NULL;
    int code = world_create(&setup->scenario, &options, &world, why);
    if (code != 0) return code;
    world_say_time_errors(world, basis);
    widening->power_error = world_power_error(world);
    if (basis->length > 0) code = world_run(world, &sink, &result);
    world_destroy(world);
    return code;
}

enum power_kind { NO_POWER, OF_POWER, PER_POWER, FROM_POWER };

/* FROM_POWER: a result of power in another way than by a factor, such as the time under a brake. */
static enum power_kind power_kind_of(const struct metric_row *metric)
{
    static const char *const units[] = {"J", "W", "J/token"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(metric->unit, units[i]) == 0) return OF_POWER;
    if (strcmp(metric->unit, "token/J") == 0) return PER_POWER;
    return strncmp(metric->name, "power.", 6) == 0 || strncmp(metric->name, "energy.", 7) == 0 ? FROM_POWER : NO_POWER;
}

/* Adds the error of the power model. Returns whether it is known, or does not matter. */
static bool widen_power(const struct metric_row *metric, double error, struct metric_interval *ends)
{
    const enum power_kind kind = power_kind_of(metric);
    if (kind == NO_POWER) return true;
    if (kind == FROM_POWER || !(error < 1.0)) return false;
    const double more = 1.0 / (1.0 - error), less = 1.0 / (1.0 + error);
    ends->low *= kind == OF_POWER ? less : 1.0 / more;
    ends->high *= kind == OF_POWER ? more : 1.0 / less;
    return true;
}

/* Keeps the metrics whose ends differ. */
static void keep_open(struct widening *widening, struct run_intervals *found)
{
    size_t n = 0;
    for (size_t i = 0; i < widening->n; i++) {
        struct metric_interval *ends = &widening->ends[i];
        if (ends->low < ends->high && widen_power(&widening->metrics[i], widening->power_error, ends))
            widening->ends[n++] = *ends;
    }
    found->n = n;
    found->items = widening->ends;
}

static void warn(int code, const struct diag *why, struct diag *diag)
{
    if (code == 0 || code == SIM_E_INTERRUPTED) return;
    diag_warning(diag, NULL, "--interval never leaves them out",
                 "no intervals, as a run at one of their ends failed: %s",
                 why->n_items > 0 ? why->items[0].text : sim_err_text(code));
}

int intervals_find(const struct setup *setup, const struct world_options *how, const struct metric_row *metrics,
                   size_t n_metrics, struct arena *arena, struct run_intervals *found, struct diag *diag)
{
    struct text basis, again;
    struct diag why;
    struct widening widening = {.metrics = metrics, .n = n_metrics};
    *found = (struct run_intervals){.share = TIME_ERROR_SHARE};
    if (setup->scenario.services.n == 0) return 0;
    widening.ends = arena_alloc(arena, (n_metrics + 1) * sizeof *widening.ends);
    if (widening.ends == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_metrics; i++)
        widening.ends[i] = (struct metric_interval){metrics[i].name, metrics[i].value, metrics[i].value};
    text_init(&basis);
    text_init(&again);
    diag_init(&why);
    int code = run_end(setup, how, TIMES_FAST, &widening, &basis, &why);
    if (code == 0 && basis.length > 0) code = run_end(setup, how, TIMES_SLOW, &widening, &again, &why);
    if (code == 0 && basis.length > 0) {
        keep_open(&widening, found);
        found->basis = arena_strdup(arena, basis.chars);
    }
    warn(code, &why, diag);
    const bool failed = basis.failed || again.failed || (found->n > 0 && found->basis == NULL);
    text_fini(&basis);
    text_fini(&again);
    return failed ? SIM_E_NOMEM : 0;
}
