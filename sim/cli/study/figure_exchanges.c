#include "sim/cli/study/figure_exchanges.h"

#include "sim/cli/answer.h"
#include "sim/cli/paths.h"

int figure_exchanges_make(struct cli *cli, const char *path, const char *output, bool quiet)
{
    struct arena arena;
    struct catalog_memory memory;
    struct exchanges_file file = {0};
    arena_init(&arena);
    catalog_memory_init(&memory);
    const struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    int code = catalog.root != NULL ? exchanges_load(path, &arena, &file, &cli->diag) : diag_nomem(&cli->diag);
    if (code == 0) code = exchanges_write(&file, &catalog, &arena, output, &cli->diag);
    if (code == 0 && !quiet) answer_print(cli->err, "%s: %zu published rows\n", output, file.rows.n);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}
