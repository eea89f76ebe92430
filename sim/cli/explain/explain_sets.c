#include "sim/cli/explain/explain_sets.h"

#include "sim/catalog/calibration_file.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static void widen(struct sets_span *span, double seconds)
{
    span->least_s = span->n_sets == 0 ? seconds : fmin(span->least_s, seconds);
    span->most_s = span->n_sets == 0 ? seconds : fmax(span->most_s, seconds);
    span->n_sets++;
}

/* Widens the spans of the operators whose class the set has, by the iteration with its kernels. */
static int add_set(const struct catalog *catalog, const struct cost_operators *cost, const char *set,
                   const struct iteration_work *work, const struct iteration_breakdown *breakdown, struct arena *arena,
                   struct sets_span *spans, struct diag *diag)
{
    struct operators_parts parts = cost->operators.parts;
    struct iteration_breakdown other;
    struct calibration *calibration = arena_alloc(arena, sizeof *calibration);
    if (calibration == NULL) return diag_nomem(diag);
    const int code = calibration_load(catalog, gpu_whole_name(parts.gpu), set, arena, calibration, diag);
    if (code != 0) return code;
    engine_preset_adapt(&cost->engine, &calibration->kernels);
    parts.kernels = &calibration->kernels;
    iteration_breakdown(&parts, work, &other);
    for (size_t i = 0; i < breakdown->n && i < other.n; i++) {
        const enum kernel_class class = breakdown->operators[i].class;
        const bool is_own = !calibration->borrowed[class] && strcmp(calibration->origin[class], set) == 0;
        if (is_own && other.operators[i].class == class) widen(&spans[i], other.operators[i].time.seconds);
    }
    return 0;
}

int explain_sets_find(const struct catalog *catalog, const struct cost_operators *cost,
                      const struct iteration_work *work, const struct iteration_breakdown *breakdown,
                      struct arena *arena, struct sets_span *spans, struct diag *diag)
{
    struct calibration_file file;
    const char *gpu = gpu_whole_name(cost->operators.parts.gpu);
    const char *path = arena_printf(arena, "%s/calibration/%s.json", catalog->root, gpu);
    memset(spans, 0, breakdown->n * sizeof *spans);
    if (path == NULL) return diag_nomem(diag);
    if (access(path, F_OK) != 0) return 0;
    int code = calibration_file_read(path, arena, &file, diag);
    const struct calibration_set *sets = code == 0 ? file.sets.items : NULL;
    for (size_t i = 0; code == 0 && i < file.sets.n; i++)
        code = add_set(catalog, cost, sets[i].name, work, breakdown, arena, spans, diag);
    return code;
}
