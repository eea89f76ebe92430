#include "sim/catalog/cost_kind.h"

#include "models/operators/table.h"
#include "sim/catalog/table_file.h"

#include <float.h>
#include <string.h>

struct table_params {
    struct config_list prefill, decode; /* struct table_point */
    struct table_file file;             /* in their place */
    double mixed_factor;
};

#define ROW_OF struct table_point
static const struct config_field point_fields[] = {
    ROW_REAL("tokens", tokens, REQUIRED, AT_LEAST(0.0), "tokens in the iteration, one per decoding sequence"),
    ROW_QUANTITY("time", seconds, UNIT_TIME, REQUIRED, POSITIVE, "duration of the iteration"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct table_params
static const struct config_field fields[] = {
    ROW_LIST("prefill", prefill, OPTIONAL, ANY, struct table_point, point_fields, "measured iterations with prompts"),
    ROW_LIST("decode", decode, OPTIONAL, ANY, struct table_point, point_fields, "measured iterations that only decode"),
    ROW_SECTION("file", file, FILLED, table_file_fields,
                "measurements of both kinds from a file, in place of 'prefill' and 'decode'"),
    ROW_REAL("mixed_factor", mixed_factor, DEFAULT("1.1"), WITHIN(DBL_MIN, 10.0),
             "what decoding beside prompts multiplies the time of the prompts by"),
    {0},
};
#undef ROW_OF

/* A curve of its own from a list of points, one point per number of tokens. */
static int make_curve(const struct config_list *list, struct arena *arena, struct table_curve *curve)
{
    struct table_point *points = arena_alloc(arena, list->n * sizeof *points);
    if (!points) return SIM_E_NOMEM;
    memcpy(points, list->items, list->n * sizeof *points);
    *curve = (struct table_curve){points, table_reduce(points, list->n)};
    return 0;
}

static int read_points(const struct table_params *params, const struct cost_request *request, struct table *table)
{
    if (params->prefill.n == 0 || params->decode.n == 0)
        return diag_error(request->diag, SIM_E_CONFIG, request->where,
                          "give both 'prefill' and 'decode', or the 'path' of a 'file'",
                          "a table cost has no measurements of %s", params->prefill.n == 0 ? "prompts" : "decoding");
    const int code = make_curve(&params->prefill, request->arena, &table->prefill);
    return code == 0 ? make_curve(&params->decode, request->arena, &table->decode) : code;
}

static int read_measurements(const struct table_params *params, const struct cost_request *request, struct table *table)
{
    if (!params->file.path) return read_points(params, request, table);
    if (params->prefill.n > 0 || params->decode.n > 0)
        return diag_error(request->diag, SIM_E_CONFIG, request->where, NULL,
                          "a table cost has its measurements either from a 'file' or from 'prefill' and 'decode'");
    return table_file_read(&params->file, request->where, request->arena, &table->prefill, &table->decode,
                           request->diag);
}

static int build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct table_params *given = params;
    struct table *table = arena_alloc(request->arena, sizeof *table);
    if (!table) return SIM_E_NOMEM;
    table->mixed_factor = given->mixed_factor;
    model->model = table;
    model->cost = table_cost;
    model->calibrated = true;
    return read_measurements(given, request, table);
}

const struct cost_kind cost_table = {
    .name = "table",
    .summary = "measured times over tokens, linear in between and beyond",
    .fields = fields,
    .params_bytes = sizeof(struct table_params),
    .build = build,
};
