#include "analysis/calibrate/engine/engine_hosts.h"

#include <string.h>

static bool is_on(const struct engine_point *point, const char *gpu)
{
    return point->row->gpu != NULL && strcmp(point->row->gpu, gpu) == 0;
}

/* --- Hosts apart --- */

/* Whether the points that are fitted are of more than one host; false if one of them does not name its host. */
static bool are_of_hosts(const struct engine_point *points, size_t n)
{
    const char *first = NULL;
    bool are = false;
    for (size_t i = 0; i < n; i++) {
        const struct measured_row *row = points[i].row;
        if (!row->fit) continue;
        if (row->gpu == NULL) return false;
        if (first == NULL) first = row->gpu;
        are = are || strcmp(first, row->gpu) != 0;
    }
    return are;
}

int engine_hosts_fit(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                     struct arena *arena, struct engine_preset *preset, struct diag *diag)
{
    struct engine_recipe by_host = *recipe;
    by_host.terms |= ENGINE_BY_HOST;
    int code = engine_fit(recipe, points, n, arena, preset, diag);
    if (code != 0 || recipe->terms == 0 || !are_of_hosts(points, n)) return code;
    struct engine_preset apart = *preset;
    code = engine_fit(&by_host, points, n, arena, &apart, diag);
    if (code != 0) return code;
    const struct config_list hosts = apart.overheads, all = preset->overheads;
    struct engine_overhead *entries = arena_alloc(arena, (hosts.n + all.n) * sizeof *entries);
    if (entries == NULL) return diag_nomem(diag);
    memcpy(entries, hosts.items, hosts.n * sizeof *entries);
    memcpy(entries + hosts.n, all.items, all.n * sizeof *entries);
    preset->overheads = (struct config_list){hosts.n + all.n, entries};
    preset->launches = apart.launches;
    return 0;
}

/* --- LLMs left out --- */

static bool is_left_out(const struct engine_point *point, const char *gpu, const char *llm)
{
    return point->row->in_range && is_on(point, gpu) && point->row->llm != NULL && strcmp(point->row->llm, llm) == 0;
}

int engine_hosts_leave_out(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                           const char *gpu, const char *llm, bool joint, struct arena *arena, struct fit_error *error)
{
    struct diag ignored = {0};
    struct engine_preset preset = engine_recipe_preset(recipe);
    struct engine_point *others = arena_alloc(arena, (n + 1) * sizeof *others);
    struct measured_row *rows = arena_alloc(arena, (n + 1) * sizeof *rows);
    double *errors = arena_alloc(arena, (n + 1) * sizeof *errors);
    size_t n_others = 0, n_errors = 0;
    bool is_known_host = false;
    *error = (struct fit_error){0};
    if (others == NULL || rows == NULL || errors == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct measured_row *row = points[i].row;
        if (!row->in_range || row->llm == NULL || strcmp(row->llm, llm) == 0) continue;
        is_known_host = is_known_host || is_on(&points[i], gpu);
        rows[n_others] = *row;
        rows[n_others].fit = true;
        others[n_others] = points[i];
        others[n_others].row = &rows[n_others];
        n_others++;
    }
    if (!is_known_host) return 0;
    const int code = joint ? engine_fit(recipe, others, n_others, arena, &preset, &ignored)
                           : engine_hosts_fit(recipe, others, n_others, arena, &preset, &ignored);
    if (code == SIM_E_NOMEM) return code;
    if (code != 0) return 0;
    for (size_t i = 0; i < n; i++)
        if (is_left_out(&points[i], gpu, llm))
            errors[n_errors++] = engine_point_s(&preset, &points[i]) / points[i].row->measured_s - 1.0;
    *error = fit_error_of(errors, n_errors);
    return 0;
}

/* Whether an earlier point is of the same host and LLM. */
static bool is_known(const struct engine_point *points, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (is_left_out(&points[i], points[at].row->gpu, points[at].row->llm)) return true;
    return false;
}

int engine_hosts_list_left_out(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                               struct arena *arena, struct config_list *errors)
{
    struct calibration_error *items = arena_alloc(arena, (n + 1) * sizeof *items);
    *errors = (struct config_list){0, items};
    if (items == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct measured_row *row = points[i].row;
        struct fit_error error;
        if (!row->in_range || row->gpu == NULL || row->llm == NULL || is_known(points, i)) continue;
        if (engine_hosts_leave_out(recipe, points, n, row->gpu, row->llm, false, arena, &error) != 0)
            return SIM_E_NOMEM;
        if (error.rows == 0) continue;
        const char *name = arena_printf(arena, "%s__%s", row->gpu, row->llm);
        if (name == NULL) return SIM_E_NOMEM;
        items[errors->n++] = (struct calibration_error){.name = name, .rows = error.rows, .median = error.median,
                                                        .p90 = error.p90, .worst = error.worst, .bias = error.bias};
    }
    return 0;
}
