#include "sim/catalog/calibration_table.h"

#include <float.h>
#include <stddef.h>

#define FORMAT_NAME(id, name, bytes) name,
static const char *const format_names[] = {NUMBER_FORMATS(FORMAT_NAME) NULL};
#undef FORMAT_NAME

static const struct config_field time_fields[] = {
    {.kind = CONFIG_REAL, .min = DBL_MIN, .max = -1.0, .help = "measured time in seconds"}, {0}};
static const struct config_field count_fields[] = {
    {.kind = CONFIG_REAL, .min = 1.0, .max = 0.0, .help = "size of a measured call"}, {0}};
static const struct config_field size_fields[] = {
    {.kind = CONFIG_REAL, .min = 0.0, .max = -1.0, .help = "size of a measured call, which may be 0"}, {0}};

static struct config_field list_field(const char *name, size_t offset, const struct config_field *item)
{
    return (struct config_field){.name = name, .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, .offset = offset,
                                 .fields = item, .min = 1, .max = -1, .elem_bytes = sizeof(double),
                                 .help = "one number for each measured call"};
}

static struct config_field fixed_field(const struct kernel_member *member)
{
    struct config_field field = {.name = member->name, .flags = CONFIG_REQUIRED,
                                 .offset = offsetof(struct calibration_shape, call) + member->offset,
                                 .help = "what all of these calls have in common"};
    switch (member->kind) {
    case MEMBER_NUMBER:
        field.kind = CONFIG_REAL;
        field.min = member->min;
        field.max = member->min - 1.0;
        break;
    case MEMBER_FORMAT:
        field.kind = CONFIG_CHOICE;
        field.choices = format_names;
        break;
    case MEMBER_FLAG:
        field.kind = CONFIG_BOOL;
        field.flags = 0;
        field.value = "false";
        break;
    }
    return field;
}

const struct config_field *calibration_shape_fields(enum kernel_class class, struct arena *arena)
{
    enum { MOST = KERNEL_MAX_FIXED + KERNEL_MAX_COLUMNS + 2 }; /* with the seconds and a zero field */
    struct config_field *fields = arena_alloc(arena, MOST * sizeof *fields);
    size_t n = 0, n_columns = 0;
    if (!fields) return NULL;
    for (const struct kernel_member *member = kernel_members(class); member->name; member++) {
        const size_t column = offsetof(struct calibration_shape, columns) + n_columns * sizeof(struct config_list);
        const bool is_fixed = member->role == MEMBER_FIXED,
                   is_count = member->role == MEMBER_RUNNING && member->min > 0.0;
        fields[n++] = is_fixed ? fixed_field(member)
                               : list_field(member->name, column, is_count ? count_fields : size_fields);
        n_columns += !is_fixed;
    }
    fields[n] = list_field("seconds", offsetof(struct calibration_shape, seconds), time_fields);
    return fields;
}

static int check_shape(const struct config *config, const char *path, enum kernel_class class,
                       const struct calibration_shape *shape, struct arena *arena, struct diag *diag)
{
    const struct config_list *column = shape->columns;
    int code = 0;
    for (const struct kernel_member *member = kernel_members(class); member->name; member++) {
        if (member->role == MEMBER_FIXED || column++->n == shape->seconds.n) continue;
        const char *where = arena_printf(arena, "%s.%s", path, member->name);
        if (!where) return SIM_E_NOMEM;
        code = diag_error(diag, SIM_E_CONFIG, config_where(config, where), "write one for each measured call",
                          "'%s' has %zu numbers, but 'seconds' has %zu", member->name, column[-1].n, shape->seconds.n);
    }
    return code;
}

int calibration_shapes_check(const struct config *config, const char *path, enum kernel_class class,
                             const struct config_list *shapes, struct arena *arena, struct diag *diag)
{
    struct calibration_shape *items = shapes->items;
    int code = 0;
    for (size_t i = 0; i < shapes->n; i++) {
        const char *where = arena_printf(arena, "%s.%zu", path, i);
        if (where) items[i].where = arena_strdup(arena, config_where(config, where));
        if (!where || !items[i].where) return SIM_E_NOMEM;
        const int checked = check_shape(config, where, class, &items[i], arena, diag);
        if (checked != 0) code = checked;
    }
    return code;
}

/* The i-th measured call of a shape. */
static struct kernel_point point_of(const struct calibration_shape *shape, enum kernel_class class, size_t i)
{
    struct kernel_point point = {.call = shape->call, .seconds = ((const double *)shape->seconds.items)[i]};
    const struct config_list *column = shape->columns;
    point.call.class = class;
    for (const struct kernel_member *member = kernel_members(class); member->name; member++) {
        if (member->role == MEMBER_FIXED) continue;
        const double *values = column++->items;
        *(double *)(void *)((char *)&point.call + member->offset) = values[i];
    }
    return point;
}

static size_t list_points(enum kernel_class class, const struct config_list *shapes, struct kernel_point *points)
{
    const struct calibration_shape *items = shapes->items;
    size_t n = 0;
    for (size_t i = 0; i < shapes->n; i++)
        for (size_t j = 0; j < items[i].seconds.n; j++) points[n++] = point_of(&items[i], class, j);
    return n;
}

/* The shape that a point comes from. */
static const char *place_of(const struct config_list *shapes, size_t point)
{
    const struct calibration_shape *items = shapes->items;
    size_t i = 0;
    for (; point >= items[i].seconds.n; i++) point -= items[i].seconds.n;
    return items[i].where;
}

/* Times beyond these ratios are in another unit, or of another kernel. */
static int check_times(const struct config_list *shapes, const struct kernel_point *points, size_t n,
                       const union kernel_params *params, const struct gpu_spec *gpu, struct diag *diag)
{
    static const double most = 1000.0;
    for (size_t i = 0; i < n; i++) {
        const double law_s = kernel_call_time(params, gpu, &points[i].call).seconds, ratio = points[i].seconds / law_s;
        if (!(law_s > 0.0) || (ratio >= 1.0 / most && ratio <= most)) continue;
        return diag_error(diag, SIM_E_CONFIG, place_of(shapes, i), "are these seconds?",
                          "the measured time of %g s is %g times that of the fit, %g s", points[i].seconds, ratio,
                          law_s);
    }
    return 0;
}

static bool is_same_call(struct kernel_point a, struct kernel_point b)
{
    struct kernel_point both[] = {a, b};
    return kernel_points_reduce(both, 2) == 1;
}

/* Some call of the points stands twice: finds which. */
static int report_twice(const struct config_list *shapes, enum kernel_class class, struct kernel_point *points,
                        size_t n, struct diag *diag)
{
    size_t first = 0, second = 1;
    list_points(class, shapes, points); /* in the order of the file again */
    while (first < n && !is_same_call(points[first], points[second]))
        if (++second == n) second = ++first + 1;
    return diag_error(diag, SIM_E_CONFIG, place_of(shapes, second), "keep one of them",
                      "the same call stands twice in a table, with %g s and %g s", points[first].seconds,
                      points[second].seconds);
}

int calibration_table_make(enum kernel_class class, const struct config_list *shapes, const union kernel_params *params,
                           const struct gpu_spec *gpu, struct arena *arena, const struct kernel_table **table,
                           struct diag *diag)
{
    const struct calibration_shape *items = shapes->items;
    size_t n = 0;
    *table = NULL;
    if (shapes->n == 0) return 0;
    for (size_t i = 0; i < shapes->n; i++) n += items[i].seconds.n;
    struct kernel_point *points = mem_zalloc(n, sizeof *points);
    struct kernel_table *made = arena_alloc(arena, sizeof *made);
    struct kernel_table_node *nodes = arena_alloc(arena, 2 * n * sizeof *nodes);
    struct kernel_table_shape *places = arena_alloc(arena, n * sizeof *places);
    int code = 0;
    if (!points || !made || !nodes || !places) {
        code = diag_nomem(diag);
    } else {
        *made = (struct kernel_table){.shapes = places, .lines = nodes, .points = nodes + n};
        code = check_times(shapes, points, list_points(class, shapes, points), params, gpu, diag);
        if (code == 0 && kernel_points_reduce(points, n) < n) code = report_twice(shapes, class, points, n, diag);
        if (code == 0) kernel_table_fill(made, points, n, params, gpu);
        *table = made;
    }
    mem_free(points);
    return code;
}
