#include "analysis/calibrate/engine/engine_hosts.h"

#include "sim/core/mem.h"

#include <string.h>

static bool is_on(const struct engine_point *point, const char *gpu)
{
    return point->row->gpu != NULL && strcmp(point->row->gpu, gpu) == 0;
}

/* --- Hosts apart --- */

/* The hosts of the points that are fitted, by first occurrence; *n is 0 if a point does not name its host. */
static int list_hosts(const struct engine_point *points, size_t n_points, struct arena *arena, const char ***hosts,
                      size_t *n)
{
    *n = 0;
    *hosts = arena_alloc(arena, (n_points + 1) * sizeof **hosts);
    if (*hosts == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_points; i++) {
        const struct measured_row *row = points[i].row;
        size_t at = 0;
        if (!row->fit) continue;
        if (row->gpu == NULL) return (int)(*n = 0);
        while (at < *n && strcmp((*hosts)[at], row->gpu) != 0) at++;
        if (at == *n) (*hosts)[(*n)++] = row->gpu;
    }
    return 0;
}

static int fit_host(const struct engine_recipe *recipe, const struct engine_point *points, size_t n, const char *gpu,
                    struct arena *arena, struct engine_preset *own)
{
    struct diag ignored = {0};
    struct engine_point *chosen = arena_alloc(arena, (n + 1) * sizeof *chosen);
    size_t n_chosen = 0;
    if (chosen == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (is_on(&points[i], gpu)) chosen[n_chosen++] = points[i];
    return engine_fit(recipe, chosen, n_chosen, arena, own, &ignored);
}

/* Replaces the launch times of `preset` by those of one host. */
static void take_launches(struct engine_preset *preset, const struct engine_preset *own)
{
    struct engine_launch *launches = preset->launches.items;
    const struct engine_launch *by_host = own->launches.items;
    for (size_t i = 0; i < own->launches.n; i++)
        for (size_t j = 0; j < preset->launches.n; j++)
            if (strcmp(launches[j].gpu, by_host[i].gpu) == 0) launches[j].layer_s = by_host[i].layer_s;
}

int engine_hosts_fit(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                     struct arena *arena, struct engine_preset *preset, struct diag *diag)
{
    const char **hosts;
    size_t n_hosts, n_entries = 0;
    int code = engine_fit(recipe, points, n, arena, preset, diag);
    if (code != 0) return code;
    if (list_hosts(points, n, arena, &hosts, &n_hosts) != 0) return diag_nomem(diag);
    if (n_hosts < 2 || recipe->terms == 0) return 0;
    const struct config_list joint = preset->overheads;
    struct engine_overhead *entries = arena_alloc(arena, (n_hosts + 1) * joint.n * sizeof *entries);
    if (entries == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < n_hosts; i++) {
        struct engine_preset own = *preset;
        code = fit_host(recipe, points, n, hosts[i], arena, &own);
        if (code == SIM_E_NOMEM) return diag_nomem(diag);
        if (code != 0) continue;
        take_launches(preset, &own);
        const struct engine_overhead *fitted = own.overheads.items;
        for (size_t j = 0; j < own.overheads.n; j++) {
            entries[n_entries] = fitted[j];
            entries[n_entries++].gpu = hosts[i];
        }
    }
    memcpy(entries + n_entries, joint.items, joint.n * sizeof *entries);
    preset->overheads = (struct config_list){n_entries + joint.n, entries};
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
    *error = (struct fit_error){0};
    if (others == NULL || rows == NULL || errors == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct measured_row *row = points[i].row;
        if (!row->in_range || row->llm == NULL || strcmp(row->llm, llm) == 0) continue;
        if (!joint && !is_on(&points[i], gpu)) continue;
        rows[n_others] = *row;
        rows[n_others].fit = true;
        others[n_others] = points[i];
        others[n_others].row = &rows[n_others];
        n_others++;
    }
    if (n_others == 0) return 0;
    const int code = engine_fit(recipe, others, n_others, arena, &preset, &ignored);
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
        const char *name = arena_printf(arena, "%s, %s", row->gpu, row->llm);
        if (name == NULL) return SIM_E_NOMEM;
        items[errors->n++] = (struct calibration_error){.name = name, .rows = error.rows, .median = error.median,
                                                        .p90 = error.p90, .worst = error.worst, .bias = error.bias};
    }
    return 0;
}
