#include "analysis/report/placements.h"

#include "analysis/query.h"
#include "analysis/report/gantt.h"
#include "analysis/report/heat.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* From so many nodes on there is a map. */
enum { MAP_MIN_NODES = 2 };

/* --- Reading --- */

static int add_stretch(void *context, sqlite3_stmt *row)
{
    struct placements *placements = context;
    if (placements->n == placements->capacity) {
        const size_t capacity = placements->capacity > 0 ? 2 * placements->capacity : 256;
        struct stretch *stretches = mem_realloc(placements->stretches, capacity * sizeof *stretches);
        if (stretches == NULL) return SIM_E_NOMEM;
        placements->stretches = stretches;
        placements->capacity = capacity;
    }
    placements->stretches[placements->n++] =
        (struct stretch){.job = sqlite3_column_int64(row, 0), .node = sqlite3_column_int64(row, 1),
                         .gpus = sqlite3_column_int64(row, 2), .start_s = query_number(row, 3),
                         .end_s = query_number(row, 4)};
    return 0;
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *p = a, *q = b;
    if (p->node != q->node) return p->node < q->node ? -1 : 1;
    if (p->start_s != q->start_s) return p->start_s < q->start_s ? -1 : 1;
    if (p->end_s != q->end_s) return p->end_s < q->end_s ? -1 : 1;
    return (p->job > q->job) - (p->job < q->job);
}

static int64_t whole(double value)
{
    return value >= 1.0 && value < 1e9 ? (int64_t)value : 0;
}

static int read_cluster(const struct report_source *source, struct placements *placements)
{
    struct query_answer answer;
    placements->cluster.sql = arena_printf(source->arena,
                                           "SELECT json_extract(scenario, '$.cluster.nodes') AS nodes,\n"
                                           "       json_extract(scenario, '$.cluster.gpus_per_node') AS gpus_per_node\n"
                                           "FROM run WHERE id = %" PRId64 " AND json_valid(scenario)",
                                           source->run.id);
    if (placements->cluster.sql == NULL) return SIM_E_NOMEM;
    int code = query_run(source->database, placements->cluster.sql, NULL, 0, "read the cluster", source->arena, &answer,
                         source->diag);
    if (code != 0 || answer.n_rows == 0) return code;
    placements->cluster.n_rows = answer.n_rows;
    placements->n_nodes = whole(answer.columns[0].numbers[0]);
    placements->gpus_per_node = whole(answer.columns[1].numbers[0]);
    return 0;
}

int placements_read(const struct report_source *source, struct placements *placements)
{
    *placements = (struct placements){0};
    placements->query.sql = arena_printf(
        source->arena, "SELECT job, node, gpus, start_s, end_s FROM placement WHERE run_id = %" PRId64, source->run.id);
    if (placements->query.sql == NULL) return SIM_E_NOMEM;
    int code = query_each(source->database, placements->query.sql, NULL, 0, "read placements", add_stretch, placements,
                          source->diag);
    placements->query.n_rows = placements->n;
    if (placements->n > 0)
        qsort(placements->stretches, placements->n, sizeof *placements->stretches, compare_stretches);
    return code != 0 ? code : read_cluster(source, placements);
}

void placements_fini(struct placements *placements)
{
    mem_free(placements->stretches);
}

/* --- The map --- */

/* Adds a stretch's part of every column that it touches, as a share of the node's GPUs. */
static void spread(const struct stretch *stretch, double width_s, double gpus, double *means)
{
    const double end_s = stretch->end_s;
    size_t column = stretch->start_s > 0.0 ? (size_t)(stretch->start_s / width_s) : 0;
    for (; column < HEAT_COLUMNS && width_s * (double)column < end_s; column++) {
        const double from = fmax(stretch->start_s, width_s * (double)column);
        const double to = fmin(end_s, width_s * (double)(column + 1));
        if (to > from) means[column] += (double)stretch->gpus * (to - from) / (width_s * gpus);
    }
}

static int draw_map(const struct report_source *source, const struct placements *placements, struct text *html)
{
    const size_t n = (size_t)placements->n_nodes;
    double *means = arena_alloc(source->arena, n * HEAT_COLUMNS * sizeof *means);
    const char **names = arena_alloc(source->arena, n * sizeof *names);
    if (means == NULL || names == NULL) return SIM_E_NOMEM;
    for (size_t node = 0; node < n; node++)
        if ((names[node] = arena_printf(source->arena, "node %zu", node)) == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < placements->n; i++) {
        const struct stretch *stretch = &placements->stretches[i];
        if (stretch->node < 0 || stretch->node >= placements->n_nodes || isnan(stretch->end_s)) continue;
        spread(stretch, source->end_s / HEAT_COLUMNS, (double)placements->gpus_per_node,
               means + (size_t)stretch->node * HEAT_COLUMNS);
    }
    const struct heat heat = {.title = "GPUs that jobs hold", .axis = "share of the node's GPUs", .n = n,
                              .names = names, .means = means, .end_s = source->end_s, .high = 1.0, .query = &placements->query};
    return heat_draw(&heat, source->arena, html);
}

int placements_draw(const struct report_source *source, struct placements *placements, struct text *html)
{
    int code = gantt_draw(source, placements, html);
    if (code == 0 && placements->n_nodes >= MAP_MIN_NODES && placements->gpus_per_node > 0 && source->end_s > 0.0)
        code = draw_map(source, placements, html);
    return code;
}
