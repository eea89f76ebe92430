#include "models/operators/kernel_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Order --- */

static int compare_values(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int compare_places(const struct kernel_place *a, const struct kernel_place *b)
{
    const int order = compare_values(a->fixed, b->fixed, KERNEL_MAX_FIXED);
    return order != 0 ? order : compare_values(a->running, b->running, KERNEL_MAX_RUNNING);
}

static int compare_points(const void *left, const void *right)
{
    const struct kernel_point *a = left, *b = right;
    struct kernel_place a_place, b_place;
    kernel_call_place(&a->call, &a_place);
    kernel_call_place(&b->call, &b_place);
    const int order = compare_places(&a_place, &b_place);
    return order != 0 ? order : (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

static bool is_same_call(const struct kernel_point *a, const struct kernel_point *b)
{
    struct kernel_place a_place, b_place;
    kernel_call_place(&a->call, &a_place);
    kernel_call_place(&b->call, &b_place);
    return compare_places(&a_place, &b_place) == 0;
}

size_t kernel_points_reduce(struct kernel_point *points, size_t n)
{
    size_t kept = 0;
    qsort(points, n, sizeof *points, compare_points);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && is_same_call(&points[first], &points[next]); next++) {
        }
        points[kept++] = points[first + (next - first - 1) / 2];
    }
    return kept;
}

/* --- Making a table --- */

/* Which running member the points of a line have: the last one that the class has. */
static size_t inner_member(enum kernel_class class)
{
    size_t n = 0;
    for (const struct kernel_member *member = kernel_members(class); member->name; member++)
        n += member->role == MEMBER_RUNNING;
    return n - 1;
}

static double outer_value(const struct kernel_table *table, const struct kernel_place *place)
{
    return table->inner > 0 ? place->running[0] : 0.0;
}

/* The shape and the line being filled. */
struct filling {
    struct kernel_table_shape *shape;
    struct kernel_table_node *line;
    size_t n_lines;
};

/* Moves to the shape and the line of a place; adds them if new. */
static void advance(struct kernel_table *table, struct filling *filling, const struct kernel_place *place, size_t point)
{
    const double outer = outer_value(table, place);
    const bool is_known = filling->shape && compare_values(filling->shape->fixed, place->fixed, KERNEL_MAX_FIXED) == 0;
    if (!is_known) {
        filling->shape = &table->shapes[table->n_shapes++];
        *filling->shape = (struct kernel_table_shape){.first = filling->n_lines};
        memcpy(filling->shape->fixed, place->fixed, sizeof place->fixed);
    }
    if (is_known && filling->line->at == outer) return;
    filling->line = &table->lines[filling->n_lines++];
    *filling->line = (struct kernel_table_node){.at = outer, .log_at = log(1.0 + outer), .first = point};
    filling->shape->n++;
}

void kernel_table_fill(struct kernel_table *table, const struct kernel_point *points, size_t n,
                       const union kernel_params *params, const struct gpu_spec *gpu)
{
    struct filling filling = {NULL, NULL, 0};
    table->inner = inner_member(points[0].call.class);
    table->n_shapes = 0;
    for (size_t i = 0; i < n; i++) {
        struct kernel_place place;
        kernel_call_place(&points[i].call, &place);
        advance(table, &filling, &place, i);
        const double at = place.running[table->inner];
        const double model_s = kernel_call_time(params, gpu, &points[i].call).seconds;
        const double ratio = model_s > 0.0 ? points[i].seconds / model_s : 1.0;
        table->points[i] = (struct kernel_table_node){.at = at, .log_at = log(1.0 + at), .ratio = ratio};
        filling.line->n++;
    }
}

/* --- Looking up --- */

static const struct kernel_table_shape *find_shape(const struct kernel_table *table, const struct kernel_place *place)
{
    size_t low = 0, high = table->n_shapes;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_values(table->shapes[middle].fixed, place->fixed, KERNEL_MAX_FIXED);
        if (order == 0) return &table->shapes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct kernel_table_shape *kernel_table_find(const struct kernel_table *table, const struct kernel_call *call)
{
    struct kernel_place place;
    kernel_call_place(call, &place);
    return find_shape(table, &place);
}

/* The last node not beyond x, or NULL if x is outside all nodes. */
static const struct kernel_table_node *find_node(const struct kernel_table_node *nodes, size_t n, double x)
{
    if (!(x >= nodes[0].at && x <= nodes[n - 1].at)) return NULL;
    size_t first = 0;
    while (n > 1) {
        const size_t half = n / 2;
        first = nodes[first + half].at <= x ? first + half : first;
        n -= half;
    }
    return &nodes[first];
}

/* Position of x between a node and the next one, 0 to 1. */
static double node_weight(const struct kernel_table_node *node, double x)
{
    return (log(1.0 + x) - node[0].log_at) / (node[1].log_at - node[0].log_at);
}

static double chord(double from, double to, double weight)
{
    return from + weight * (to - from);
}

static bool line_ratio(const struct kernel_table *table, const struct kernel_table_node *line, double x, double *ratio)
{
    const struct kernel_table_node *node = find_node(&table->points[line->first], line->n, x);
    if (!node) return false;
    *ratio = node->at == x ? node->ratio : chord(node[0].ratio, node[1].ratio, node_weight(node, x));
    return true;
}

bool kernel_table_ratio(const struct kernel_table *table, const struct kernel_call *call, double *ratio)
{
    struct kernel_place place;
    kernel_call_place(call, &place);
    const struct kernel_table_shape *shape = find_shape(table, &place);
    if (!shape) return false;
    const double outer = outer_value(table, &place), at = place.running[table->inner];
    const struct kernel_table_node *line = find_node(&table->lines[shape->first], shape->n, outer);
    double next;
    if (!line || !line_ratio(table, line, at, ratio)) return false;
    if (line->at == outer) return true;
    if (!line_ratio(table, line + 1, at, &next)) return false;
    *ratio = chord(*ratio, next, node_weight(line, outer));
    return true;
}
