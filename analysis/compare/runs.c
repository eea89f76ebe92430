#include "analysis/compare/runs.h"

#include "analysis/query.h"
#include "sim/core/text.h"

#include <stdlib.h>
#include <string.h>

static const char *text_at(const struct query_answer *answer, const char *column, size_t row)
{
    const struct query_column *found = query_column(answer, column);
    const char *text = found != NULL && found->texts != NULL ? found->texts[row] : NULL;
    return text != NULL ? text : "";
}

static double number_at(const struct query_answer *answer, const char *column, size_t row)
{
    return query_column(answer, column)->numbers[row];
}

/* Parameters come in order of runs and keys, and so do the runs. */
static int read_params(const struct database *database, struct arena *arena, struct compare_group *all,
                       struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database, "SELECT run_id, key, value FROM param ORDER BY run_id, key", NULL, 0,
                         "read parameters", arena, &answer, diag);
    if (code != 0 || answer.n_rows == 0) return code;
    struct compare_param *params = arena_alloc(arena, answer.n_rows * sizeof *params);
    if (params == NULL) return SIM_E_NOMEM;
    for (size_t row = 0, run = 0; row < answer.n_rows; row++) {
        const int64_t id = (int64_t)number_at(&answer, "run_id", row);
        params[row] = (struct compare_param){text_at(&answer, "key", row), text_at(&answer, "value", row)};
        while (run < all->n && all->runs[run].id < id) run++;
        if (run == all->n || all->runs[run].id != id) continue;
        if (all->runs[run].n_params++ == 0) all->runs[run].params = &params[row];
    }
    return 0;
}

int runs_read(const struct database *database, struct arena *arena, struct compare_group *all, struct diag *diag)
{
    static const char sql[] = "SELECT id, seed, name, policies, trace_hash, scenario_hash, status, result_hash, "
                              "json_extract(scenario, '$.warmup') AS warmup FROM run ORDER BY id";
    struct query_answer answer;
    int code = query_run(database, sql, NULL, 0, "read runs", arena, &answer, diag);
    *all = (struct compare_group){.label = database->path};
    if (code != 0) return code;
    all->n = answer.n_rows;
    all->runs = arena_alloc(arena, (all->n + 1) * sizeof *all->runs);
    if (all->runs == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < all->n; i++)
        all->runs[i] = (struct compare_run){.database = database,
                                            .id = (int64_t)number_at(&answer, "id", i),
                                            .seed = (int64_t)number_at(&answer, "seed", i),
                                            .name = text_at(&answer, "name", i),
                                            .policies = text_at(&answer, "policies", i),
                                            .trace_hash = text_at(&answer, "trace_hash", i),
                                            .scenario_hash = text_at(&answer, "scenario_hash", i),
                                            .status = text_at(&answer, "status", i),
                                            .result_hash = text_at(&answer, "result_hash", i),
                                            .warmup = text_at(&answer, "warmup", i)};
    return read_params(database, arena, all, diag);
}

static bool is_selected(const struct selection_keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->items[i], key) == 0) return true;
    return false;
}

int runs_set_points(struct compare_group *group, const struct selection_keys *keys, struct arena *arena)
{
    struct text point;
    text_init(&point);
    for (size_t i = 0; i < group->n; i++) {
        struct compare_run *run = &group->runs[i];
        point.length = 0;
        text_add(&point, "");
        for (size_t k = 0; k < run->n_params; k++) {
            if (is_selected(keys, run->params[k].key)) continue;
            text_printf(&point, "%s%s=%s", point.length > 0 ? ", " : "", run->params[k].key, run->params[k].value);
        }
        if (run->n_params == 0 && keys->n == 0) text_add(&point, run->name);
        run->point = point.failed ? NULL : arena_strdup(arena, point.length > 0 ? point.chars : "");
        if (run->point == NULL) break;
    }
    const bool failed = point.failed || (group->n > 0 && group->runs[group->n - 1].point == NULL);
    text_fini(&point);
    return failed ? SIM_E_NOMEM : 0;
}
