#include "sim/cli/study/figure_plans.h"

#include "sim/cli/answer.h"
#include "sim/cli/paths.h"
#include "sim/core/path.h"

int figure_plans_make(struct cli *cli, const char *path, const char *output, bool quiet)
{
    struct arena arena;
    struct catalog_memory memory;
    struct plans_file file;
    struct plans plans = {0};
    arena_init(&arena);
    catalog_memory_init(&memory);
    const char *data = paths_data(&arena);
    const char *root = data != NULL ? path_join(&arena, data, "configs") : NULL;
    const struct catalog catalog = {.root = root, .memory = &memory};
    int code = root != NULL ? plans_load(path, cli->data, &arena, &file, &cli->diag) : diag_nomem(&cli->diag);
    if (code == 0) code = plans_read(&plans, &file, &catalog, &arena, &cli->diag);
    if (code == 0) code = plans_write(&plans, output, &cli->diag);
    if (code == 0 && !quiet) answer_print(cli->err, "%s: %zu plans\n", output, plans.n);
    catalog_memory_fini(&memory);
    arena_fini(&arena);
    return code;
}
