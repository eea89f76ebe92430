#include "sim/catalog/cost_kind.h"

#include "models/table.h"

#include <float.h>
#include <string.h>

struct table_params {
    struct config_list prefill, decode; /* struct table_point */
    double mixed_factor;
};

#define POINT(member) .offset = offsetof(struct table_point, member)

static const struct config_field point_fields[] = {
    {.name = "tokens", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, POINT(tokens), .min = 0.0, .max = -1.0,
     .help = "tokens in the iteration, one per decoding sequence"},
    {.name = "time", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED, POINT(seconds), .dim = UNIT_TIME,
     .min = DBL_MIN, .max = 0.0, .help = "duration of the iteration"},
    {0},
};

#define PARAM(member) .offset = offsetof(struct table_params, member)

static const struct config_field fields[] = {
    {.name = "prefill", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, PARAM(prefill), .fields = point_fields,
     .elem_bytes = sizeof(struct table_point), .min = 1, .max = 0, .help = "measured iterations with prompts"},
    {.name = "decode", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, PARAM(decode), .fields = point_fields,
     .elem_bytes = sizeof(struct table_point), .min = 1, .max = 0, .help = "measured iterations that only decode"},
    {.name = "mixed_factor", .kind = CONFIG_REAL, PARAM(mixed_factor), .value = "1.1", .min = DBL_MIN, .max = 10.0,
     .help = "what decoding beside prompts multiplies the time of the prompts by"},
    {0},
};

/* A curve of its own from a list of points, one point per number of tokens. */
static int make_curve(const struct config_list *list, struct arena *arena, struct table_curve *curve)
{
    struct table_point *points = arena_alloc(arena, list->n * sizeof *points);
    if (!points) return SIM_E_NOMEM;
    memcpy(points, list->items, list->n * sizeof *points);
    *curve = (struct table_curve){points, table_reduce(points, list->n)};
    return 0;
}

static int build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct table_params *given = params;
    struct table *table = arena_alloc(request->arena, sizeof *table);
    if (!table) return SIM_E_NOMEM;
    table->mixed_factor = given->mixed_factor;
    int code = make_curve(&given->prefill, request->arena, &table->prefill);
    if (code == 0) code = make_curve(&given->decode, request->arena, &table->decode);
    model->model = table;
    model->cost = table_cost;
    model->calibrated = true;
    return code;
}

const struct cost_kind cost_table = {
    .name = "table",
    .summary = "measured times over tokens, linear in between and beyond",
    .fields = fields,
    .params_bytes = sizeof(struct table_params),
    .build = build,
};
