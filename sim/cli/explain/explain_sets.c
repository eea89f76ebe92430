#include "sim/cli/explain/explain_sets.h"

#include "sim/catalog/calibration_file.h"

#include <math.h>
#include <string.h>

static void widen(struct sets_span *span, double seconds)
{
    span->least_s = span->n_sets == 0 ? seconds : fmin(span->least_s, seconds);
    span->most_s = span->n_sets == 0 ? seconds : fmax(span->most_s, seconds);
    span->n_sets++;
}

/* Whether the set measured a class, and attention in the same way: with or without writing the KV cache. A kernel that
 * engines take where told to is compared only where this one does: it is another kernel, not another measurement. */
static bool is_comparable(const struct cost_operators *cost, const struct calibration_set *set, enum kernel_class class)
{
    const bool is_attention = class == KERNEL_PREFILL_ATTENTION || class == KERNEL_DECODE_ATTENTION;
    const struct calibration_class *measured = &set->classes[class];
    const char *taken = cost->calibration.set[class];
    if (calibration_class_is_of_one_kernel(measured) && (!taken || strcmp(taken, set->name) != 0)) return false;
    return measured->rows > 0 && (!is_attention || measured->writes_kv == cost->calibration.writes_kv[class]);
}

/* Widens the spans of the operators whose class a set of a file has, by the iteration with its kernels. */
static int add_set(const struct catalog *catalog, const struct cost_operators *cost, const char *path,
                   const struct calibration_set *set, const struct iteration_work *work,
                   const struct iteration_breakdown *breakdown, struct arena *arena, struct sets_span *spans,
                   struct diag *diag)
{
    struct operators_parts parts = cost->operators.parts;
    struct iteration_breakdown other;
    struct calibration *calibration = arena_alloc(arena, sizeof *calibration);
    if (calibration == NULL) return diag_nomem(diag);
    const int code = calibration_load(catalog, path, set->name, arena, calibration, diag);
    if (code != 0) return code;
    engine_preset_adapt(&cost->engine, &calibration->kernels);
    parts.kernels = &calibration->kernels;
    iteration_breakdown(&parts, work, &other);
    for (size_t i = 0; i < breakdown->n && i < other.n; i++) {
        const enum kernel_class class = breakdown->operators[i].class;
        if (other.operators[i].class == class && is_comparable(cost, set, class))
            widen(&spans[i], other.operators[i].time.seconds);
    }
    return 0;
}

int explain_sets_find(const struct catalog *catalog, const struct cost_operators *cost,
                      const struct iteration_work *work, const struct iteration_breakdown *breakdown,
                      struct arena *arena, struct sets_span *spans, struct diag *diag)
{
    const struct calibration *calibration = &cost->calibration;
    int code = 0;
    memset(spans, 0, breakdown->n * sizeof *spans);
    for (size_t i = 0; i < calibration->n_measured; i++) {
        const struct calibration_measured *measured = &calibration->measured[i];
        const struct calibration_set *sets = measured->sets.items;
        for (size_t j = 0; code == 0 && j < measured->sets.n; j++)
            code = add_set(catalog, cost, measured->path, &sets[j], work, breakdown, arena, spans, diag);
    }
    return code;
}
