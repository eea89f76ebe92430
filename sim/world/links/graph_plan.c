/* Paths for many flows at once, by colouring.
 *
 * Flows between leaves are the edges of a bipartite graph: leaves that send, leaves that receive. A port of the leaf is
 * a colour. If each leaf sends and receives at most as many flows as it has ports, all flows can have ports of their
 * own, since a bipartite graph needs as many colours as its largest degree (Koenig, 1916). A leaf with more flows is
 * seen as several with at most that many each, so that no port carries more than the flows of its leaf over its ports,
 * rounded up. The flows between pods over each port are then coloured with the ports of the pod switches.
 *
 * The edges are coloured one by one. If no colour is free at both ends, two colours are exchanged along the alternating
 * path that starts at one of them. */
#include "sim/core/mem.h"
#include "sim/world/links/graph.h"

#include <stdlib.h>
#include <string.h>

struct edge {
    int64_t ends[2]; /* vertices as the caller numbers them; the first below 0: no edge */
    int32_t at[2];   /* rows of the table */
    int32_t colour;
};

struct colouring {
    struct edge *edges;
    int32_t n, n_colours;
    int64_t *vertices;     /* [n] of one side, sorted */
    int32_t *of_vertex;    /* [n]: edges seen so far of the vertex at this place of `vertices` */
    int32_t *table;        /* [rows][n_colours]: edge of this colour, or -1 */
    int32_t *path;         /* [n]: buffer */
};

static int by_value(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int32_t place_of(const int64_t *vertices, int32_t n, int64_t vertex)
{
    int32_t low = 0, high = n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (vertices[middle] < vertex)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Gives the vertices of a side rows from `first` on. The first place of a vertex among the sorted ones is the sum of
 * the degrees before it, so that row numbers do not meet. Returns the row behind the last. */
static int32_t number_side(struct colouring *colouring, int side, int32_t first)
{
    int32_t n = 0, rows = first;
    for (int32_t i = 0; i < colouring->n; i++)
        if (colouring->edges[i].ends[0] >= 0) colouring->vertices[n++] = colouring->edges[i].ends[side];
    qsort(colouring->vertices, (size_t)n, sizeof *colouring->vertices, by_value);
    memset(colouring->of_vertex, 0, (size_t)colouring->n * sizeof *colouring->of_vertex);
    for (int32_t i = 0; i < colouring->n; i++) {
        struct edge *edge = &colouring->edges[i];
        if (edge->ends[0] < 0) continue;
        const int32_t place = place_of(colouring->vertices, n, edge->ends[side]);
        const int32_t seen = colouring->of_vertex[place]++;
        edge->at[side] = first + place + seen / colouring->n_colours;
        if (edge->at[side] >= rows) rows = edge->at[side] + 1;
    }
    return rows;
}

static int32_t *cell(const struct colouring *colouring, int32_t row, int32_t colour)
{
    return &colouring->table[(int64_t)row * colouring->n_colours + colour];
}

static int32_t free_colour(const struct colouring *colouring, int32_t row)
{
    int32_t colour = 0;
    while (*cell(colouring, row, colour) >= 0) colour++;
    return colour;
}

static int32_t common_colour(const struct colouring *colouring, const struct edge *edge)
{
    for (int32_t colour = 0; colour < colouring->n_colours; colour++)
        if (*cell(colouring, edge->at[0], colour) < 0 && *cell(colouring, edge->at[1], colour) < 0) return colour;
    return -1;
}

/* Exchanges colours a and b along the path that leaves the receiving end of `edge` with colour a. The path never
 * reaches the sending end, at which a is free: it arrives at sending ends with colour a only. */
static void exchange(const struct colouring *colouring, const struct edge *edge, int32_t a, int32_t b)
{
    int32_t n = 0, row = edge->at[1], colour = a;
    for (int side = 1;; side = 1 - side, colour = colour == a ? b : a) {
        const int32_t next = *cell(colouring, row, colour);
        if (next < 0) break;
        colouring->path[n++] = next;
        row = colouring->edges[next].at[1 - side];
    }
    for (int32_t i = 0; i < n; i++) {
        const struct edge *moved = &colouring->edges[colouring->path[i]];
        for (int side = 0; side < 2; side++) *cell(colouring, moved->at[side], moved->colour) = -1;
    }
    for (int32_t i = 0; i < n; i++) {
        struct edge *moved = &colouring->edges[colouring->path[i]];
        moved->colour = moved->colour == a ? b : a;
        for (int side = 0; side < 2; side++) *cell(colouring, moved->at[side], moved->colour) = colouring->path[i];
    }
}

static void colour_all(const struct colouring *colouring)
{
    for (int32_t i = 0; i < colouring->n; i++) {
        struct edge *edge = &colouring->edges[i];
        if (edge->ends[0] < 0) continue;
        int32_t colour = common_colour(colouring, edge);
        if (colour < 0) {
            colour = free_colour(colouring, edge->at[0]);
            exchange(colouring, edge, colour, free_colour(colouring, edge->at[1]));
        }
        edge->colour = colour;
        for (int side = 0; side < 2; side++) *cell(colouring, edge->at[side], colour) = i;
    }
}

/* Colours the edges. Returns 0 or SIM_E_NOMEM. */
static int colour_edges(struct edge *edges, int32_t n, int32_t n_colours)
{
    struct colouring colouring = {.edges = edges, .n = n, .n_colours = n_colours};
    int code = SIM_E_NOMEM;
    colouring.vertices = mem_zalloc((size_t)n, sizeof *colouring.vertices);
    colouring.of_vertex = mem_zalloc((size_t)n, sizeof *colouring.of_vertex);
    colouring.path = mem_zalloc((size_t)n, sizeof *colouring.path);
    if (colouring.vertices != NULL && colouring.of_vertex != NULL && colouring.path != NULL) {
        const size_t cells = (size_t)number_side(&colouring, 1, number_side(&colouring, 0, 0)) * (size_t)n_colours;
        colouring.table = mem_zalloc(cells > 0 ? cells : 1, sizeof *colouring.table);
        if (colouring.table != NULL) {
            memset(colouring.table, -1, cells * sizeof *colouring.table);
            colour_all(&colouring);
            code = 0;
        }
    }
    mem_free(colouring.vertices);
    mem_free(colouring.of_vertex);
    mem_free(colouring.path);
    mem_free(colouring.table);
    return code;
}

int graph_plan(const struct graph *graph, const struct graph_flow *flows, int32_t n, struct graph_choice *choices)
{
    struct edge *edges = n > 0 ? mem_zalloc((size_t)n, sizeof *edges) : NULL;
    memset(choices, 0, (size_t)n * sizeof *choices);
    if (n == 0 || graph->uplinks == 0) {
        mem_free(edges);
        return 0;
    }
    if (edges == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < n; i++) {
        const int32_t from = graph_leaf_of(graph, flows[i].from), to = graph_leaf_of(graph, flows[i].to);
        edges[i] = (struct edge){.ends = {from == to ? -1 : from, to}};
    }
    int code = colour_edges(edges, n, graph->uplinks);
    for (int32_t i = 0; i < n; i++) {
        choices[i].uplink = edges[i].colour;
        if (edges[i].ends[0] < 0) continue;
        const int32_t from = graph_pod_of(graph, (int32_t)edges[i].ends[0]),
                      to = graph_pod_of(graph, (int32_t)edges[i].ends[1]);
        edges[i] = (struct edge){.ends = {from == to ? -1 : (int64_t)from * graph->uplinks + edges[i].colour,
                                          (int64_t)to * graph->uplinks + edges[i].colour}};
    }
    if (code == 0 && graph->pod_uplinks > 0) {
        code = colour_edges(edges, n, graph->pod_uplinks);
        for (int32_t i = 0; i < n; i++) choices[i].pod_uplink = edges[i].colour;
    }
    mem_free(edges);
    return code;
}
