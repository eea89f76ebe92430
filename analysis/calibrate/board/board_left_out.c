#include "analysis/calibrate/board/board_left_out.h"

#include <string.h>

bool board_group_is_fitted(const struct board_preset *preset, const char *gpu, const char *llm)
{
    for (size_t f = 0; f < preset->n_files; f++)
        for (size_t i = 0; i < preset->files[f].n; i++) {
            const struct measured_row *row = &preset->files[f].rows[i];
            if (row->fit && row->gpu != NULL && strcmp(row->engine, preset->preset.name) == 0 &&
                strcmp(row->gpu, gpu) == 0 && strcmp(row->llm, llm) == 0)
                return true;
        }
    return false;
}

/* A preset without a group of its rows. */
struct left_out {
    struct left_out *next;
    const struct board_preset *of;
    const char *gpu, *llm;
    struct engine_preset preset;
};

static const struct board_preset *preset_of(const struct board_names *names, const struct board_row *row)
{
    const struct board_preset *preset = names->presets;
    while (preset != NULL && strcmp(preset->preset.name, row->preset) != 0) preset = preset->next;
    return preset;
}

/* Whether constants may be fitted on the point: it is one of those, and not of the group. */
static bool is_left(const struct engine_point *point, const struct left_out *out)
{
    return point->row->fit && (strcmp(point->row->gpu, out->gpu) != 0 || strcmp(point->row->llm, out->llm) != 0);
}

/* Appends the points of a preset outside of the group; all of them if it is another preset than that of the group. */
static void collect(const struct board_preset *preset, const struct left_out *out, struct engine_point *points,
                    size_t *n)
{
    for (size_t i = 0; i < preset->n_points; i++) {
        const struct engine_point *point = &preset->points[i];
        if (preset == out->of ? is_left(point, out) : point->row->fit) points[(*n)++] = *point;
    }
}

static int fit_without(struct left_out *out, const struct board_names *names, struct arena *arena)
{
    size_t n = 0, most = 0;
    struct diag ignored = {0};
    for (const struct board_preset *preset = names->presets; preset != NULL; preset = preset->next)
        most += preset->n_points;
    struct engine_point *points = arena_alloc(arena, (most + 1) * sizeof *points);
    if (points == NULL) return SIM_E_NOMEM;
    const struct engine_preset shipped = out->preset;
    collect(out->of, out, points, &n);
    int code = engine_fit(out->of->recipe, points, n, arena, &out->preset, &ignored);
    if (code == SIM_E_DATA) {
        for (const struct board_preset *preset = names->presets; preset != NULL; preset = preset->next)
            if (preset != out->of) collect(preset, out, points, &n);
        code = engine_fit(out->of->recipe, points, n, arena, &out->preset, &ignored);
    }
    out->preset.launches = shipped.launches;
    if (code == SIM_E_DATA) out->preset.overheads = (struct config_list){0}; /* nothing is known of it */
    return code == SIM_E_NOMEM ? code : 0;
}

static int find_or_fit(struct left_out **list, const struct board_row *row, const struct board_preset *of,
                       const struct board_names *names, struct arena *arena, const struct engine_preset **preset)
{
    struct left_out *out = *list;
    while (out != NULL && (out->of != of || strcmp(out->gpu, row->gpu) != 0 || strcmp(out->llm, row->llm) != 0))
        out = out->next;
    int code = 0;
    if (out == NULL) {
        out = arena_alloc(arena, sizeof *out);
        if (out == NULL) return SIM_E_NOMEM;
        *out = (struct left_out){.next = *list, .of = of, .gpu = row->gpu, .llm = row->llm, .preset = of->preset};
        *list = out;
        code = fit_without(out, names, arena);
    }
    *preset = &out->preset;
    return code;
}

int board_leave_out(struct board *board, const struct board_names *names, struct diag *diag)
{
    struct left_out *list = NULL;
    for (size_t i = 0; i < board->n; i++) {
        struct board_row *row = &board->rows[i];
        if (row->reason != NULL) continue;
        const struct board_preset *of = preset_of(names, row);
        const struct engine_preset *preset = &of->preset;
        if (of->recipe != NULL && board_group_is_fitted(of, row->gpu, row->llm) &&
            find_or_fit(&list, row, of, names, board->arena, &preset) != 0)
            return diag_nomem(diag);
        row->left_out_tpot_s = engine_point_s(preset, &row->point);
    }
    return 0;
}
