#include "sim/cli/study/figure_board.h"

#include "analysis/calibrate/board/board_interval.h"
#include "sim/cli/answer.h"
#include "sim/cli/paths.h"

int figure_board_make(struct cli *cli, const char *path, const char *output, bool quiet)
{
    struct arena arena;
    struct catalog_memory memory;
    struct board_file file;
    struct board board = {0};
    struct board_interval intervals[N_BOARD_MODELS];
    arena_init(&arena);
    catalog_memory_init(&memory);
    const struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    int code = catalog.root != NULL ? board_load(path, cli->data, &arena, &file, &cli->diag) : diag_nomem(&cli->diag);
    if (code == 0) code = board_read(&board, &file, &catalog, &arena, &cli->diag);
    if (code == 0) code = board_predict(&board, &cli->diag);
    if (code == 0 && board_find_intervals(&board, intervals) != 0) code = diag_nomem(&cli->diag);
    if (code == 0) code = board_write(&board, output, &cli->diag);
    if (code == 0 && !quiet) answer_print(cli->err, "%s: %zu measured rows\n", output, board.n);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}
