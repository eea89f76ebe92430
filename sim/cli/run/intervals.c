#include "sim/cli/run/intervals.h"

#include "sim/cli/run/simulate.h"
#include "sim/core/text.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <string.h>

const struct metric_interval *intervals_of(const struct run_intervals *intervals, const char *metric)
{
    for (size_t i = 0; i < intervals->n; i++)
        if (strcmp(intervals->items[i].name, metric) == 0) return &intervals->items[i];
    return NULL;
}

/* Ends of the metrics, in the order of the run's rows. */
struct widening {
    const struct metric_row *metrics;
    size_t n, next; /* next: where the row after the last one is looked for first */
    struct metric_interval *ends;
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

/* Runs the scenario at one end. Adds what the end rests on. Returns whether an error is known and the run ended. */
static bool run_end(const struct setup *setup, const struct world_options *how, enum time_case time_case,
                    struct widening *widening, struct text *basis)
{
    struct world_options options = *how;
    struct world_result result;
    struct world *world;
    struct diag unseen;
    const struct sink sink = {.context = widening, .metric = widen};
    diag_init(&unseen);
    options.time_case = time_case;
    options.progress = NULL;
    if (world_create(&setup->scenario, &options, &world, &unseen) != 0) return false;
    world_say_time_errors(world, basis);
    const bool is_known = basis->length > 0 && !basis->failed && world_run(world, &sink, &result) == 0;
    world_destroy(world);
    return is_known;
}

static bool is_of_power(const char *unit)
{
    return strcmp(unit, "J") == 0 || strcmp(unit, "W") == 0 || strcmp(unit, "J/token") == 0 ||
           strcmp(unit, "token/J") == 0;
}

/* Keeps the metrics whose ends differ. */
static void keep_open(struct widening *widening, struct run_intervals *found)
{
    size_t n = 0;
    for (size_t i = 0; i < widening->n; i++)
        if (widening->ends[i].low < widening->ends[i].high && !is_of_power(widening->metrics[i].unit))
            widening->ends[n++] = widening->ends[i];
    found->n = n;
    found->items = widening->ends;
}

int intervals_find(const struct setup *setup, const struct world_options *how, const struct metric_row *metrics,
                   size_t n_metrics, struct arena *arena, struct run_intervals *found)
{
    struct text basis, again;
    struct widening widening = {.metrics = metrics, .n = n_metrics};
    *found = (struct run_intervals){.share = TIME_ERROR_SHARE};
    if (setup->scenario.services.n == 0) return 0;
    widening.ends = arena_alloc(arena, (n_metrics + 1) * sizeof *widening.ends);
    if (widening.ends == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_metrics; i++)
        widening.ends[i] = (struct metric_interval){metrics[i].name, metrics[i].value, metrics[i].value};
    text_init(&basis);
    text_init(&again);
    if (run_end(setup, how, TIMES_FAST, &widening, &basis) && run_end(setup, how, TIMES_SLOW, &widening, &again)) {
        keep_open(&widening, found);
        found->basis = arena_strdup(arena, basis.chars);
    }
    const bool failed = basis.failed || again.failed || (found->n > 0 && found->basis == NULL);
    text_fini(&basis);
    text_fini(&again);
    return failed ? SIM_E_NOMEM : 0;
}
