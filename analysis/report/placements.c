#include "analysis/report/sections.h"

#include "analysis/report/figures.h"
#include "analysis/report/words.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The Gantt chart of jobs on GPUs ---
 *
 * Rows do not contain which GPU of a node a job had, so lanes fill from the first one that is free. */

enum { GANTT_MAX_LANES = 64, GANTT_MAX_BARS = 1500 };

/* A bar is one lane of a stretch. Its colour shows how many GPUs of the node the job has. */
enum { N_SIZES = 4 };
static const char *const size_names[N_SIZES] = {"1 GPU", "2 or 3 GPUs", "4 to 7 GPUs", "8 GPUs and more"};

static int size_of(int64_t gpus)
{
    return gpus >= 8 ? 3 : gpus >= 4 ? 2 : gpus >= 2 ? 1 : 0;
}

/* A node and its consecutive stretches. */
struct node {
    int64_t id;
    size_t first, n;
    double gpu_s;
    bool is_shown;
    int64_t n_lanes, first_lane;
};

struct gantt {
    const struct report_source *source;
    const struct placements *placements;
    size_t n_nodes, n_shown, n_lanes, n_bars;
    struct node *nodes;
    const char **lanes;
    double gpu_s, shown_gpu_s;
    struct plot_series series[N_SIZES];
};

static double held_s(const struct stretch *stretch)
{
    const double length_s = stretch->end_s - stretch->start_s;
    return length_s > 0.0 ? length_s : 0.0;
}

static int find_nodes(struct gantt *gantt)
{
    const struct placements *placements = gantt->placements;
    gantt->nodes = arena_alloc(gantt->source->arena, placements->n * sizeof *gantt->nodes);
    if (gantt->nodes == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < placements->n; i++) {
        const struct stretch *stretch = &placements->stretches[i];
        if (i == 0 || stretch->node != stretch[-1].node)
            gantt->nodes[gantt->n_nodes++] = (struct node){.id = stretch->node, .first = i};
        struct node *node = &gantt->nodes[gantt->n_nodes - 1];
        node->n++;
        node->gpu_s += (double)stretch->gpus * held_s(stretch);
        gantt->gpu_s += (double)stretch->gpus * held_s(stretch);
        if (stretch->gpus > node->n_lanes) node->n_lanes = stretch->gpus;
    }
    for (size_t i = 0; i < gantt->n_nodes; i++) {
        struct node *node = &gantt->nodes[i];
        if (node->id >= 0 && placements->gpus_per_node > node->n_lanes) node->n_lanes = placements->gpus_per_node;
        if (node->id < 0 || node->n_lanes > GANTT_MAX_LANES) node->n_lanes = GANTT_MAX_LANES;
    }
    return 0;
}

/* Chooses the nodes with most GPU time that fit the lanes; at least one. */
static void choose_nodes(struct gantt *gantt)
{
    for (int64_t left = GANTT_MAX_LANES; left > 0;) {
        struct node *best = NULL;
        for (size_t i = 0; i < gantt->n_nodes; i++) {
            struct node *node = &gantt->nodes[i];
            if (!node->is_shown && (best == NULL || node->gpu_s > best->gpu_s)) best = node;
        }
        if (best == NULL || best->n_lanes > left) break;
        best->is_shown = true;
        gantt->n_shown++;
        left -= best->n_lanes;
    }
}

/* The first `gpus` lanes of a node that are free from `start_s` on, as bit mask from its first lane; 0 if there are
 * fewer. */
static uint64_t free_lanes(const double *free_s, int64_t n_lanes, int64_t gpus, double start_s)
{
    uint64_t lanes = 0;
    int64_t n = 0;
    for (int64_t lane = 0; lane < n_lanes && n < gpus; lane++) {
        if (free_s[lane] > start_s) continue;
        lanes |= UINT64_C(1) << lane;
        n++;
    }
    return n == gpus ? lanes : 0;
}

/* Stretches that find too few lanes are left out. */
static void fill_lanes(const struct gantt *gantt, const struct node *node)
{
    double free_s[GANTT_MAX_LANES];
    for (int i = 0; i < GANTT_MAX_LANES; i++) free_s[i] = -(double)INFINITY;
    for (size_t i = node->first; i < node->first + node->n; i++) {
        struct stretch *stretch = &gantt->placements->stretches[i];
        if (stretch->gpus < 1 || held_s(stretch) <= 0.0) continue;
        const uint64_t lanes = free_lanes(free_s, node->n_lanes, stretch->gpus, stretch->start_s);
        for (int lane = 0; lane < GANTT_MAX_LANES; lane++)
            if (lanes >> lane & 1) free_s[lane] = stretch->end_s;
        stretch->lanes = lanes << node->first_lane;
    }
}

/* Numbers lanes through all shown nodes; the first lane of a node has its name. */
static int name_lanes(struct gantt *gantt)
{
    gantt->lanes = arena_alloc(gantt->source->arena, GANTT_MAX_LANES * sizeof *gantt->lanes);
    if (gantt->lanes == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < gantt->n_nodes; i++) {
        struct node *node = &gantt->nodes[i];
        if (!node->is_shown) continue;
        node->first_lane = (int64_t)gantt->n_lanes;
        const char *name = node->id >= 0 ? arena_printf(gantt->source->arena, "node %" PRId64, node->id)
                                         : "no fixed node";
        if (name == NULL) return SIM_E_NOMEM;
        for (int64_t k = 0; k < node->n_lanes; k++) gantt->lanes[gantt->n_lanes++] = k == 0 ? name : "";
        fill_lanes(gantt, node);
    }
    return 0;
}

static int compare_held(const void *a, const void *b)
{
    const struct stretch *p = *(const struct stretch *const *)a, *q = *(const struct stretch *const *)b;
    if (held_s(p) != held_s(q)) return held_s(p) > held_s(q) ? -1 : 1;
    return (p > q) - (p < q);
}

/* Chooses the longest stretches that fit the bars. Returns their number. */
static size_t choose_stretches(struct gantt *gantt, const struct stretch **chosen)
{
    size_t n = 0, n_taken = 0;
    for (size_t i = 0; i < gantt->placements->n; i++)
        if (gantt->placements->stretches[i].lanes != 0) chosen[n++] = &gantt->placements->stretches[i];
    if (n > 0) qsort(chosen, n, sizeof *chosen, compare_held);
    while (n_taken < n && gantt->n_bars + (size_t)chosen[n_taken]->gpus <= GANTT_MAX_BARS) {
        gantt->n_bars += (size_t)chosen[n_taken]->gpus;
        gantt->shown_gpu_s += (double)chosen[n_taken]->gpus * held_s(chosen[n_taken]);
        n_taken++;
    }
    return n_taken;
}

/* The arrays behind the constant pointers of a series. */
struct bars {
    double *x, *x_end;
    size_t *row;
    const char **labels;
};

static int init_bars(const struct gantt *gantt, struct bars *bars)
{
    struct arena *arena = gantt->source->arena;
    bars->x = arena_alloc(arena, (gantt->n_bars + 1) * sizeof *bars->x);
    bars->x_end = arena_alloc(arena, (gantt->n_bars + 1) * sizeof *bars->x_end);
    bars->row = arena_alloc(arena, (gantt->n_bars + 1) * sizeof *bars->row);
    bars->labels = arena_alloc(arena, (gantt->n_bars + 1) * sizeof *bars->labels);
    return bars->x && bars->x_end && bars->row && bars->labels ? 0 : SIM_E_NOMEM;
}

static int add_bars(struct gantt *gantt, const struct stretch *stretch, struct bars *bars)
{
    struct plot_series *series = &gantt->series[size_of(stretch->gpus)];
    char words[WORDS_CHARS];
    const char *label = arena_printf(gantt->source->arena, "job %" PRId64 ", %" PRId64 " GPU%s, %s", stretch->job,
                                     stretch->gpus, stretch->gpus > 1 ? "s" : "",
                                     words_seconds(held_s(stretch), words));
    if (label == NULL) return SIM_E_NOMEM;
    for (size_t lane = 0; lane < GANTT_MAX_LANES; lane++) {
        if ((stretch->lanes >> lane & 1) == 0) continue;
        const size_t i = series->n++;
        bars->x[i] = stretch->start_s;
        bars->x_end[i] = stretch->end_s;
        bars->row[i] = lane;
        bars->labels[i] = label;
        label = NULL; /* label only the first lane */
    }
    return 0;
}

static int make_series(struct gantt *gantt)
{
    struct bars bars[N_SIZES];
    const struct stretch **chosen = arena_alloc(gantt->source->arena, (gantt->placements->n + 1) * sizeof *chosen);
    if (chosen == NULL) return SIM_E_NOMEM;
    const size_t n_chosen = choose_stretches(gantt, chosen);
    int code = 0;
    for (int i = 0; i < N_SIZES && code == 0; i++) code = init_bars(gantt, &bars[i]);
    for (size_t i = 0; i < n_chosen && code == 0; i++)
        code = add_bars(gantt, chosen[i], &bars[size_of(chosen[i]->gpus)]);
    for (int i = 0; i < N_SIZES && code == 0; i++) {
        struct plot_series *series = &gantt->series[i];
        series->name = size_names[i];
        series->x = bars[i].x;
        series->x_end = bars[i].x_end;
        series->row = bars[i].row;
        series->labels = bars[i].labels;
    }
    return code;
}

static const char *describe(const struct gantt *gantt)
{
    char words[WORDS_CHARS];
    const char *lanes =
        gantt->source->subject.n_services > 0
            ? "One row per GPU. The GPU that a job had on its node is not recorded, so rows fill from the first. "
              "White: no job holds them. Services may."
            : "One row per GPU. The GPU that a job had on its node is not recorded, so rows fill from the first.";
    if (gantt->shown_gpu_s >= gantt->gpu_s * (1.0 - 1e-12)) return lanes;
    return arena_printf(
        gantt->source->arena,
        "%s Shown are %zu of %zu nodes, those with most GPU time, and their longest allocations: %s of all GPU time "
        "that jobs held.",
        lanes, gantt->n_shown, gantt->n_nodes, words_percent(gantt->shown_gpu_s / gantt->gpu_s, words));
}

/* Series without bars are not listed. */
static size_t drop_empty(struct plot_series *series)
{
    size_t n = 0;
    for (size_t i = 0; i < N_SIZES; i++)
        if (series[i].n > 0) series[n++] = series[i];
    return n;
}

static int gantt_draw(const struct report_source *source, const struct placements *placements, struct text *html)
{
    struct gantt gantt = {.source = source, .placements = placements};
    int code = find_nodes(&gantt);
    if (code == 0) choose_nodes(&gantt);
    if (code == 0) code = name_lanes(&gantt);
    if (code == 0) code = make_series(&gantt);
    const char *note = code == 0 ? describe(&gantt) : NULL;
    if (note == NULL) return SIM_E_NOMEM;
    if (gantt.n_bars == 0) return 0;
    const struct plot_chart chart = {.kind = PLOT_GANTT, .title = "Jobs on GPUs",
                                     .x = {.title = "time", .scale = PLOT_TIME}, .y = {.title = ""},
                                     .n_categories = gantt.n_lanes, .categories = gantt.lanes,
                                     .n_series = drop_empty(gantt.series), .series = gantt.series,
                                     .n_events = source->n_events, .events = source->events};
    const struct page_query queries[] = {placements->query, placements->cluster};
    const struct page_figure figure = {.chart = &chart, .note = note, .queries = queries, .n_queries = 2, .wide = true};
    page_figure(html, &figure);
    return 0;
}

/* --- Reading --- */

static int add_stretch(void *context, sqlite3_stmt *row)
{
    struct placements *placements = context;
    const struct stretch stretch = {.job = sqlite3_column_int64(row, 0), .node = sqlite3_column_int64(row, 1),
                                    .gpus = sqlite3_column_int64(row, 2), .start_s = query_number(row, 3),
                                    .end_s = query_number(row, 4)};
    return vec_push(&placements->stretches, &placements->n, &placements->capacity, stretch);
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
    int code = source_query(source, &placements->cluster, "read the cluster", &answer);
    if (code != 0 || answer.n_rows == 0) return code;
    placements->n_nodes = whole(answer.columns[0].numbers[0]);
    placements->gpus_per_node = whole(answer.columns[1].numbers[0]);
    return 0;
}

int placements_read(const struct report_source *source, struct placements *placements)
{
    *placements = (struct placements){0};
    placements->query.sql = arena_printf(
        source->arena, "SELECT job, node, gpus, start_s, end_s FROM placement WHERE run_id = %" PRId64, source->run.id);
    int code = source_each(source, &placements->query, "read placements", add_stretch, placements);
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

/* Fewest nodes that get a map. */
enum { MAP_MIN_NODES = 2 };

/* Adds a stretch to every column that it touches, as a share of the node's GPUs. */
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
                              .names = names, .means = means, .end_s = source->end_s, .high = 1.0,
                              .query = &placements->query};
    return heat_draw(&heat, source, html);
}

int placements_draw(const struct report_source *source, const struct placements *placements, struct text *html)
{
    int code = gantt_draw(source, placements, html);
    if (code == 0 && placements->n_nodes >= MAP_MIN_NODES && placements->gpus_per_node > 0 && source->end_s > 0.0)
        code = draw_map(source, placements, html);
    return code;
}
