#include "sim/cli/study/figure_plans.h"

#include "sim/cli/answer.h"
#include "sim/cli/paths.h"

int figure_plans_make(struct cli *cli, const char *path, const char *output, bool quiet)
{
    struct arena arena;
    struct catalog_memory memory;
    struct plans_file file;
    struct plans plans = {0};
    arena_init(&arena);
    catalog_memory_init(&memory);
    const struct catalog catalog = {.root = paths_catalog(&arena), .memory = &memory};
    int code = catalog.root != NULL ? plans_load(path, cli->data, &arena, &file, &cli->diag) : diag_nomem(&cli->diag);
    if (code == 0) code = plans_read(&plans, &file, &catalog, &arena, &cli->diag);
    if (code == 0) code = plans_write(&plans, output, &cli->diag);
    if (code == 0 && !quiet) answer_print(cli->err, "%s: %zu plans\n", output, plans.n);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}
