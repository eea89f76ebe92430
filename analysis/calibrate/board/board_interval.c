#include "analysis/calibrate/board/board_interval.h"

#include "analysis/calibrate/write.h"
#include "analysis/stats/stats.h"
#include "sim/catalog/time_error.h"
#include "sim/core/json_write.h"
#include "sim/core/mem.h"
#include "sim/core/real_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE_DIGITS = 4 };

/* Presets: by what runs get on a system that is in no fit. Of groups that are in one, that is the prediction
 * without them. */
static double predicted_s_of(const struct board_row *row, enum board_model model)
{
    if (model == BOARD_ROOFLINE) return row->roofline_tpot_s;
    return row->in_fit == BOARD_IN_NO_FIT ? row->predicted_tpot_s : row->left_out_tpot_s;
}

/* Measured over predicted TPOT of a judged row; NAN: the model does not predict it. */
static double ratio_of(const struct board_row *row, enum board_model model)
{
    const double predicted_s = predicted_s_of(row, model);
    if (model != BOARD_ROOFLINE && row->foreign != (model == BOARD_FOREIGN)) return (double)NAN;
    return board_row_is_judged(row) && predicted_s > 0.0 ? row->tpot_s / predicted_s : (double)NAN;
}

/* The interval from the rows of one kind outside of `group`; NULL: from all. */
static void find_own_ends(const struct board *board, enum board_model model, const char *group, double *ratios,
                          struct board_interval *interval)
{
    const double tail = 0.5 * (1.0 - TIME_ERROR_SHARE);
    size_t n = 0;
    for (size_t i = 0; i < board->n; i++) {
        const double ratio = ratio_of(&board->rows[i], model);
        if (!isnan(ratio) && (group == NULL || strcmp(board->rows[i].group, group) != 0)) ratios[n++] = ratio;
    }
    interval->rows = n;
    interval->fast_frac = interval->slow_frac = (double)NAN;
    if (n == 0) return;
    qsort(ratios, n, sizeof *ratios, real_compare);
    interval->fast_frac = stats_quantile(ratios, n, tail);
    interval->slow_frac = stats_quantile(ratios, n, 1.0 - tail);
}

/* The same, of foreign GPUs at least that of the other kind. */
static void find_ends(const struct board *board, enum board_model model, const char *group, double *ratios,
                      struct board_interval *interval)
{
    struct board_interval known;
    find_own_ends(board, model, group, ratios, interval);
    if (model != BOARD_FOREIGN || interval->rows == 0) return;
    find_own_ends(board, BOARD_PRESETS, group, ratios, &known);
    interval->fast_frac = fmin(interval->fast_frac, known.fast_frac); /* a NAN is passed over */
    interval->slow_frac = fmax(interval->slow_frac, known.slow_frac);
}

/* Judges the interval of a group by its rows, and notes it there. Returns the number of its rows inside. */
static size_t judge_group(struct board *board, enum board_model model, const char *group,
                          const struct board_interval *others)
{
    size_t n_inside = 0;
    for (size_t i = 0; i < board->n; i++) {
        struct board_row *row = &board->rows[i];
        const double ratio = ratio_of(row, model);
        if (isnan(ratio) || strcmp(row->group, group) != 0) continue;
        n_inside += ratio >= others->fast_frac && ratio <= others->slow_frac;
        if (model == BOARD_ROOFLINE) continue;
        row->fast_tpot_s = others->fast_frac * predicted_s_of(row, model);
        row->slow_tpot_s = others->slow_frac * predicted_s_of(row, model);
    }
    return n_inside;
}

/* Whether an earlier row that the model predicts is of the same group. */
static bool is_known_group(const struct board *board, enum board_model model, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!isnan(ratio_of(&board->rows[i], model)) && strcmp(board->rows[i].group, board->rows[at].group) == 0)
            return true;
    return false;
}

static void find_interval(struct board *board, enum board_model model, double *ratios, struct board_interval *interval)
{
    struct board_interval others;
    size_t n_inside = 0, n_judged = 0;
    find_ends(board, model, NULL, ratios, interval);
    interval->groups = 0;
    for (size_t i = 0; i < board->n; i++) {
        if (isnan(ratio_of(&board->rows[i], model)) || is_known_group(board, model, i)) continue;
        find_ends(board, model, board->rows[i].group, ratios, &others);
        interval->groups++;
        if (others.rows == 0) continue;
        n_inside += judge_group(board, model, board->rows[i].group, &others);
        n_judged += interval->rows - others.rows;
    }
    interval->covered_frac = n_judged > 0 ? (double)n_inside / (double)n_judged : (double)NAN;
}

/* The interval of a predicted row with prompts on other GPUs, from judged rows of other groups of its kind. */
static void set_apart(const struct board *board, struct board_row *row, double *ratios)
{
    const enum board_model model = row->foreign ? BOARD_FOREIGN : BOARD_PRESETS;
    struct board_interval others;
    find_ends(board, model, row->group, ratios, &others);
    row->fast_tpot_s = others.fast_frac * predicted_s_of(row, model); /* NAN: there are no others */
    row->slow_tpot_s = others.slow_frac * predicted_s_of(row, model);
}

int board_find_intervals(struct board *board, struct board_interval intervals[N_BOARD_MODELS])
{
    double *ratios = mem_alloc((board->n + 1) * sizeof *ratios);
    if (ratios == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < board->n; i++) board->rows[i].fast_tpot_s = board->rows[i].slow_tpot_s = (double)NAN;
    for (int model = 0; model < N_BOARD_MODELS; model++)
        find_interval(board, (enum board_model)model, ratios, &intervals[model]);
    for (size_t i = 0; i < board->n; i++) {
        struct board_row *row = &board->rows[i];
        if (row->reason == NULL && strcmp(row->mode, "disagg") == 0) set_apart(board, row, ratios);
    }
    mem_free(ratios);
    return 0;
}

const char *board_model_name(enum board_model model)
{
    static const char *const names[N_BOARD_MODELS] = {"operators", ("operators" TIME_ERROR_FOREIGN), "roofline"};
    return names[model];
}

static void write_interval(struct json_writer *json, const char *name, const struct board_interval *interval)
{
    if (interval->rows == 0) return;
    json_write_open_row(json, name, '{');
    json_write_number(json, "rows", (double)interval->rows);
    json_write_number(json, "groups", (double)interval->groups);
    json_write_number(json, "fast", calibration_round(fmin(interval->fast_frac, 1.0), SHARE_DIGITS));
    json_write_number(json, "slow", calibration_round(fmax(interval->slow_frac, 1.0), SHARE_DIGITS));
    json_write_close(json, '}');
}

int board_write_intervals(const struct board *board, const struct board_interval intervals[N_BOARD_MODELS],
                          struct text *text)
{
    struct json_writer json;
    json_writer_init(&json, text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "source", board->file->source);
    json_write_number(&json, "share", TIME_ERROR_SHARE);
    json_write_open(&json, "kinds", '{');
    for (int model = 0; model < BOARD_ROOFLINE; model++)
        write_interval(&json, board_model_name((enum board_model)model), &intervals[model]);
    json_write_close(&json, '}');
    json_write_close(&json, '}');
    text_add(text, "\n");
    return text->failed ? SIM_E_NOMEM : 0;
}
