#include "sim/cli/dictionary.h"

#include "sim/world/rows/metric.h"

struct report_metric *dictionary_make(struct arena *arena, size_t *n)
{
    static const enum report_direction directions[] = {
        [METRIC_NEUTRAL] = REPORT_NEUTRAL, [METRIC_LOWER] = REPORT_LOWER, [METRIC_HIGHER] = REPORT_HIGHER};
    for (*n = 0; metric_dictionary[*n].name != NULL; ++*n) {
    }
    struct report_metric *dictionary = arena_alloc(arena, *n * sizeof *dictionary);
    for (size_t i = 0; dictionary != NULL && i < *n; i++) {
        const struct metric_def *def = &metric_dictionary[i];
        dictionary[i] = (struct report_metric){.name = def->name, .unit = def->unit, .vllm = def->vllm,
                                               .direction = directions[def->direction],
                                               .definition = def->definition};
    }
    return dictionary;
}
