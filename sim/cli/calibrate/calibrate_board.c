/* orrery calibrate board: intervals of predictions from the errors of a board, for what no fit has seen. */
#include "analysis/calibrate/board/board_interval.h"
#include "sim/cli/calibrate/calibrate_measured.h"
#include "sim/cli/calibrate/calibrate_print.h"

#include <math.h>

static double in_percent(double frac)
{
    return rint(1e3 * frac) / 10.0;
}

static int print(struct cli *cli, const struct board_interval *intervals, enum answer_form form)
{
    static const struct table_column columns[] = {LEFT("kind"),       RIGHT("rows"),      RIGHT("groups"),
                                                  RIGHT("fastest_%"), RIGHT("slowest_%"), RIGHT("covered_%")};
    struct answer answer;
    struct answer_table table;
    answer_init(&answer, form, "intervals");
    TABLE_INIT(&table, columns);
    for (int model = 0; model < N_BOARD_MODELS; model++) {
        const struct board_interval *interval = &intervals[model];
        table_text(&table, board_model_name((enum board_model)model));
        table_number(&table, (double)interval->rows);
        table_number(&table, (double)interval->groups);
        table_number(&table, in_percent(interval->fast_frac - 1.0));
        table_number(&table, in_percent(interval->slow_frac - 1.0));
        table_number(&table, in_percent(interval->covered_frac));
    }
    answer_add(&answer, "intervals", "measured TPOT of 90 % of the judged rows, over the predicted one", &table);
    return answer_end(&answer, 0, cli->out, &cli->diag);
}

int calibrate_board(struct cli *cli, const struct catalog *catalog, const struct calibrate_inputs *inputs,
                    const struct calibrate_output *output)
{
    struct arena arena;
    struct board_file file;
    struct board board = {0};
    struct board_interval intervals[N_BOARD_MODELS];
    struct text json;
    arena_init(&arena);
    text_init(&json);
    int code = board_load(inputs->paths[0], NULL, &arena, &file, &cli->diag);
    if (code == 0) code = board_read(&board, &file, catalog, &arena, &cli->diag);
    if (code == 0) code = board_predict(&board, &cli->diag);
    if (code == 0 &&
        (board_find_intervals(&board, intervals) != 0 || board_write_intervals(&board, intervals, &json) != 0))
        code = diag_nomem(&cli->diag);
    if (code == 0 && intervals[BOARD_PRESETS].rows + intervals[BOARD_FOREIGN].rows == 0)
        code = diag_error(&cli->diag, SIM_E_DATA, inputs->paths[0], "see 'orrery figure run board' for the reasons",
                          "no row of the board is judged");
    if (code == 0 && output->path != NULL) code = calibrate_write(cli, output->path, &json);
    if (code == 0 && output->form == ANSWER_JSON)
        fputs(json.chars, cli->out);
    else if (code == 0)
        code = print(cli, intervals, output->form);
    text_fini(&json);
    arena_fini(&arena);
    return code;
}
