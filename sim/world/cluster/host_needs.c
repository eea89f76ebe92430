#include "sim/world/cluster/host_needs.h"

#include "sim/world/cluster/cluster.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define ROW_OF struct host_point
static const struct config_field cpu_fields[] = {
    ROW_REAL("per_gpu", per_gpu, REQUIRED, WITHIN(0, 1e6), "CPUs for each GPU"),
    ROW_REAL("speed", speed, REQUIRED, WITHIN(DBL_MIN, 1e9), "speed with them, in any unit"), {0}};

static const struct config_field memory_fields[] = {
    ROW_QUANTITY("per_gpu", per_gpu, UNIT_BYTES, REQUIRED, AT_LEAST(0), "memory for each GPU"),
    ROW_REAL("speed", speed, REQUIRED, WITHIN(DBL_MIN, 1e9), "speed with it, in the unit of 'cpus'"), {0}};
#undef ROW_OF

#define ROW_OF struct host_needs
const struct config_field host_needs_fields[] = {
    ROW_LIST("cpus", cpus, OPTIONAL, ANY, struct host_point, cpu_fields, "points of a table, fewest CPUs first"),
    ROW_LIST("memory", memory, OPTIONAL, ANY, struct host_point, memory_fields, "points of a table, least memory first"),
    {0}};
#undef ROW_OF

bool host_needs_given(const struct host_needs *needs)
{
    return needs->cpus.n > 0 || needs->memory.n > 0;
}

static const char empty_hint[] = "leave it out, or add a point such as {\"per_gpu\": 3, \"speed\": 1}";
static const char order_hint[] = "put the points in the order of 'per_gpu', each amount once";
static const char fall_hint[] = "leave out points that are slower than the one before: nobody is slower with more";

/* The hint that mends a table; NULL: it is sound. */
static const char *hint_for(const struct config_list *points, bool is_given)
{
    const struct host_point *point = points->items;
    if (points->n == 0) return is_given ? empty_hint : NULL;
    const char *hint = NULL;
    for (size_t i = 1; i < points->n; i++) {
        if (point[i].per_gpu <= point[i - 1].per_gpu) return order_hint;
        if (point[i].speed < point[i - 1].speed) hint = fall_hint;
    }
    return hint;
}

int host_needs_check(const struct host_needs *needs, const struct config *config, const char *where, struct diag *diag)
{
    const struct config_list *lists[] = {&needs->cpus, &needs->memory};
    static const char *const names[] = {"cpus", "memory"};
    int code = 0;
    for (int i = 0; i < 2; i++) {
        char place[DIAG_WHERE_CHARS];
        snprintf(place, sizeof place, "%s.%s", where, names[i]);
        const char *hint = hint_for(lists[i], config_is_given(config, place));
        if (hint == NULL) continue;
        code = diag_error(diag, SIM_E_CONFIG, config_where(config, place), hint,
                          "a table needs points with rising 'per_gpu', and a 'speed' that does not fall");
    }
    return code;
}

/* --- The law --- */

static double speed_at(const struct config_list *points, double amount)
{
    const struct host_point *point = points->items;
    struct host_point low = {0.0, 0.0};
    for (size_t i = 0; i < points->n; low = point[i++]) {
        if (amount > point[i].per_gpu) continue;
        if (!(amount < point[i].per_gpu)) return point[i].speed;
        return low.speed + (point[i].speed - low.speed) * (amount - low.per_gpu) / (point[i].per_gpu - low.per_gpu);
    }
    return points->n > 0 ? low.speed : (double)INFINITY;
}

/* The highest speed of a table; INFINITY: there is none. */
static double highest(const struct config_list *points)
{
    return points->n > 0 ? ((const struct host_point *)points->items)[points->n - 1].speed : (double)INFINITY;
}

/* The least amount at which a table has a speed that it reaches. */
static double amount_for(const struct config_list *points, double speed)
{
    const struct host_point *point = points->items;
    struct host_point low = {0.0, 0.0};
    size_t i = 0;
    while (i + 1 < points->n && point[i].speed < speed) low = point[i++];
    if (!(point[i].speed > speed)) return point[i].per_gpu;
    if (low.speed >= speed || !(point[i].per_gpu > low.per_gpu)) return low.per_gpu;
    return low.per_gpu + (point[i].per_gpu - low.per_gpu) * (speed - low.speed) / (point[i].speed - low.speed);
}

double host_needs_speed(const struct host_needs *needs, const struct host_amount *amount)
{
    return fmin(speed_at(&needs->cpus, amount->cpus), speed_at(&needs->memory, amount->bytes));
}

struct host_amount host_needs_best(const struct host_needs *needs, const struct host_amount *asked)
{
    const double speed = fmin(highest(&needs->cpus), highest(&needs->memory));
    struct host_amount best = *asked;
    if (needs->cpus.n > 0) best.cpus = amount_for(&needs->cpus, speed);
    if (needs->memory.n > 0) best.bytes = amount_for(&needs->memory, speed);
    return best;
}

/* --- Of requests --- */

struct host_amount host_amount_of(const struct resource_request *request)
{
    const double gpus = request->gpus * (request->gpu_milli / 1000.0);
    if (!(gpus > 0.0)) return (struct host_amount){0.0, 0.0};
    return (struct host_amount){(double)request->cpu_milli / 1000.0 / gpus, (double)request->memory_bytes / gpus};
}

static int64_t least(int64_t so_far, int64_t amount, int32_t gpus)
{
    return amount < INT64_MAX && amount / gpus < so_far ? amount / gpus : so_far;
}

struct job_host cluster_share_of_gpu(const struct cluster *cluster)
{
    struct job_host share = {INT64_MAX, INT64_MAX};
    for (; cluster != NULL; cluster = cluster->next)
        for (int32_t i = 0; cluster->resources != NULL && i < cluster->n_nodes; i++) {
            const struct node_view *node = &cluster->resources->nodes[i];
            if (node->gpus == 0) continue;
            share.cpu_milli = least(share.cpu_milli, node->cpu_milli, node->gpus);
            share.memory_bytes = least(share.memory_bytes, node->memory_bytes, node->gpus);
        }
    if (share.cpu_milli == INT64_MAX) share.cpu_milli = 0;
    if (share.memory_bytes == INT64_MAX) share.memory_bytes = 0;
    return share;
}

/* What belongs to the GPUs of a request, of `each` GPU's amount. */
static int64_t part_of(const struct resource_request *request, int64_t each)
{
    return request->gpu_milli < 1000 ? each / 1000 * request->gpu_milli : each * request->gpus;
}

void host_needs_fill(const struct host_needs *needs, const struct job_host *share, struct resource_request *request)
{
    if (needs->cpus.n > 0 && request->cpu_milli == 0) request->cpu_milli = part_of(request, share->cpu_milli);
    if (needs->memory.n > 0 && request->memory_bytes == 0)
        request->memory_bytes = part_of(request, share->memory_bytes);
}
