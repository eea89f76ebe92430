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

/* A preset with constants from other groups than one. */
struct left_out {
    struct left_out *next;
    const struct board_preset *of;
    const char *group, *engine;
    struct engine_preset preset;
};

/* The judged rows of the board as points to fit: row i of the points is rows[i] of the board. */
struct evidence {
    const struct board *board;
    struct engine_point *points;
    const struct board_row **rows;
    size_t n;
};

static int gather(const struct board *board, struct evidence *evidence)
{
    struct measured_row *asked = arena_alloc(board->arena, (board->n + 1) * sizeof *asked);
    *evidence = (struct evidence){.board = board};
    evidence->points = arena_alloc(board->arena, (board->n + 1) * sizeof *evidence->points);
    evidence->rows = arena_alloc(board->arena, (board->n + 1) * sizeof *evidence->rows);
    if (asked == NULL || evidence->points == NULL || evidence->rows == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < board->n; i++) {
        const struct board_row *row = &board->rows[i];
        if (!board_row_is_judged(row)) continue;
        struct measured_row *copy = &asked[evidence->n];
        *copy = row->asked;
        copy->fit = true;
        evidence->points[evidence->n] = row->point;
        evidence->points[evidence->n].row = copy;
        evidence->rows[evidence->n++] = row;
    }
    return 0;
}

static const struct board_preset *preset_of(const struct board_names *names, const struct board_row *row)
{
    const struct board_preset *preset = names->presets;
    while (preset != NULL && strcmp(preset->preset.name, row->preset) != 0) preset = preset->next;
    return preset;
}

/* Copies the points of other groups, of the engine alone or of all engines. Those whose host works beside the GPU tell
 * nothing of it. Returns how many. */
static size_t collect(const struct evidence *evidence, const struct left_out *out, bool of_engine,
                      struct engine_point *points)
{
    size_t n = 0;
    for (size_t i = 0; i < evidence->n; i++) {
        const struct board_row *row = evidence->rows[i];
        const bool other = strcmp(row->group, out->group) != 0 && !row->overlapped;
        if (other && (!of_engine || strcmp(row->engine, out->engine) == 0)) points[n++] = evidence->points[i];
    }
    return n;
}

/* One constant, since few groups tell of an engine: more of them would describe the LLMs of these groups. */
static int fit_without(struct left_out *out, const struct evidence *evidence)
{
    static const struct engine_recipe recipe = {.name = "left out", .terms = ENGINE_COMMON_ITERATION};
    struct arena *arena = evidence->board->arena;
    struct diag ignored = {0};
    struct engine_point *points = arena_alloc(arena, (evidence->n + 1) * sizeof *points);
    if (points == NULL) return SIM_E_NOMEM;
    const struct engine_preset shipped = out->preset;
    size_t n = collect(evidence, out, true, points);
    if (n == 0) n = collect(evidence, out, false, points);
    out->preset.overlapped_host = false; /* as in all these points */
    const int code = engine_fit(&recipe, points, n, arena, &out->preset, &ignored);
    out->preset.overlapped_host = shipped.overlapped_host;
    out->preset.launches = shipped.launches;
    if (code == SIM_E_DATA) out->preset.overheads = (struct config_list){0}; /* nothing is known of it */
    return code == SIM_E_NOMEM ? code : 0;
}

static int find_or_fit(struct left_out **list, const struct board_row *row, const struct board_preset *of,
                       const struct evidence *evidence, const struct engine_preset **preset)
{
    struct left_out *out = *list;
    while (out != NULL && (out->of != of || strcmp(out->group, row->group) != 0)) out = out->next;
    int code = 0;
    if (out == NULL) {
        out = arena_alloc(evidence->board->arena, sizeof *out);
        if (out == NULL) return SIM_E_NOMEM;
        *out = (struct left_out){.next = *list, .of = of, .group = row->group, .engine = row->engine,
                                 .preset = of->preset};
        *list = out;
        code = fit_without(out, evidence);
    }
    *preset = &out->preset;
    return code;
}

int board_leave_out(struct board *board, const struct board_names *names, struct diag *diag)
{
    struct left_out *list = NULL;
    struct evidence evidence;
    if (gather(board, &evidence) != 0) return diag_nomem(diag);
    for (size_t i = 0; i < board->n; i++) {
        struct board_row *row = &board->rows[i];
        const struct engine_preset *preset;
        if (row->reason != NULL) continue;
        if (find_or_fit(&list, row, preset_of(names, row), &evidence, &preset) != 0) return diag_nomem(diag);
        row->left_out_tpot_s = engine_point_s(preset, &row->point);
    }
    return 0;
}
