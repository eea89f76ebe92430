#include "analysis/intervals.h"

#include "analysis/query.h"

#include <string.h>

int intervals_read(const struct database *database, int64_t run_id, struct arena *arena,
                   struct run_intervals *intervals, struct diag *diag)
{
    static const char basis_sql[] = "SELECT basis, share, systems FROM run_interval WHERE run_id = ?1";
    static const char ends_sql[] =
        "SELECT name, low, high, fast, slow FROM metric_interval WHERE run_id = ?1 ORDER BY name";
    struct query_answer basis, ends;
    *intervals = (struct run_intervals){0};
    int code = query_run(database, basis_sql, &run_id, 1, "read the intervals", arena, &basis, diag);
    if (code != 0 || basis.n_rows == 0) return code;
    code = query_run(database, ends_sql, &run_id, 1, "read the intervals", arena, &ends, diag);
    if (code != 0) return code;
    struct metric_interval *items = arena_alloc(arena, (ends.n_rows + 1) * sizeof *items);
    if (items == NULL) return diag_nomem_at(diag, database->path);
    for (size_t i = 0; i < ends.n_rows; i++)
        items[i] = (struct metric_interval){query_text(&ends, 0, i), ends.columns[1].numbers[i],
                                            ends.columns[2].numbers[i], ends.columns[3].numbers[i],
                                            ends.columns[4].numbers[i]};
    *intervals = (struct run_intervals){.n = ends.n_rows, .items = items, .share = basis.columns[1].numbers[0],
                                        .basis = query_text(&basis, 0, 0), .systems = query_text(&basis, 2, 0)};
    return 0;
}

const struct metric_interval *intervals_of(const struct run_intervals *intervals, const char *metric)
{
    for (size_t i = 0; i < intervals->n; i++)
        if (strcmp(intervals->items[i].name, metric) == 0) return &intervals->items[i];
    return NULL;
}
