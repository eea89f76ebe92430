#include "policies/placement/scored.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/vec.h"

/* Scores of one request. */
struct scored_table {
    int32_t *scores; /* [n_nodes]; -1: the job does not fit there */
    uint32_t *seen;  /* [n_nodes]: the node's change count when it was scored; 0: never */
    int8_t *gpus;    /* [n_nodes]: for a share, the GPU to take */
};

const char *const scored_ties_names[] = {"listed", "shuffled", NULL};

#define ROW_OF struct scored_params
const struct config_field scored_params[] = {SCORED_ROW_TIES(ties), {0}};
#undef ROW_OF

void scored_fini(void *state)
{
    struct scored *scored = state;
    for (int32_t i = 0; i < scored->n_tables; i++) {
        mem_free(scored->tables[i].scores);
        mem_free(scored->tables[i].seen);
        mem_free(scored->tables[i].gpus);
    }
    mem_free(scored->tables);
    mem_free(scored->order);
}

static int draw_order(struct scored *scored, const struct cluster_view *view)
{
    scored->order = mem_alloc((size_t)view->n_nodes * sizeof *scored->order);
    if (scored->order == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t j = (int32_t)rng_below(view->random, (uint64_t)i + 1);
        scored->order[i] = scored->order[j];
        scored->order[j] = i;
    }
    return 0;
}

/* Reads the size of the largest node and draws the order of ties, once. Returns 0 or SIM_E_NOMEM. */
static int begin(struct scored *scored, const struct cluster_view *view)
{
    if (scored->most_gpus > 0) return 0;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const struct node_view *node = &view->nodes[i];
        if (node->gpus > scored->most_gpus) scored->most_gpus = node->gpus;
        if (node->cpu_milli < INT64_MAX && node->cpu_milli > scored->most_cpu_milli)
            scored->most_cpu_milli = node->cpu_milli;
    }
    return scored->params.ties == SCORED_SHUFFLED ? draw_order(scored, view) : 0;
}

static struct scored_table *table_of(struct scored *scored, const struct cluster_view *view, int32_t request)
{
    if (vec_reserve(&scored->tables, &scored->tables_capacity, request + 1) != 0) return NULL;
    while (scored->n_tables <= request) scored->tables[scored->n_tables++] = (struct scored_table){0};
    struct scored_table *table = &scored->tables[request];
    const size_t n_nodes = (size_t)view->n_nodes;
    if (table->scores == NULL) table->scores = mem_zalloc(n_nodes, sizeof *table->scores);
    if (table->seen == NULL) table->seen = mem_zalloc(n_nodes, sizeof *table->seen);
    if (table->gpus == NULL) table->gpus = mem_zalloc(n_nodes, sizeof *table->gpus);
    return table->scores != NULL && table->seen != NULL && table->gpus != NULL ? table : NULL;
}

static int32_t score_node(struct scored *scored, scored_fn score, const struct cluster_view *view, int32_t node,
                          const struct part *part, int32_t *gpu)
{
    const struct node_view *of = &view->nodes[node];
    *gpu = -1;
    if (!part_fits(of, part)) return -1;
    if (part_is_share(part)) *gpu = part_best_gpu(of, part);
    return score(scored, view, node, part, gpu);
}

/* Up-to-date scores of all nodes, for a job that goes to one node. NULL: out of memory. */
static const struct scored_table *update_table(struct scored *scored, scored_fn score, const struct cluster_view *view,
                                               const struct job_view *job, const struct part *part)
{
    struct scored_table *table = table_of(scored, view, job->request);
    if (table == NULL) return NULL;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        if (table->seen[i] == view->nodes[i].changes) continue;
        int32_t gpu;
        table->scores[i] = score_node(scored, score, view, i, part, &gpu);
        table->gpus[i] = (int8_t)gpu;
        table->seen[i] = view->nodes[i].changes;
    }
    return table;
}

/* The first node with the highest score, or -1. */
static int32_t best_of(const struct scored *scored, const struct scored_table *table, int32_t n_nodes)
{
    int32_t best = -1, best_score = -1;
    for (int32_t i = 0; i < n_nodes; i++) {
        const int32_t node = scored->order != NULL ? scored->order[i] : i;
        if (table->scores[node] <= best_score) continue;
        best = node;
        best_score = table->scores[node];
    }
    return best;
}

/* The best node for one of several parts, which go to different nodes. */
static int32_t best_beside(struct scored *scored, scored_fn score, const struct cluster_view *view,
                           const struct part *part, const struct placement *placement)
{
    int32_t best = -1, best_score = -1, gpu;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t node = scored->order != NULL ? scored->order[i] : i;
        if (!part_is_open(view, node, part, placement)) continue;
        const int32_t value = score_node(scored, score, view, node, part, &gpu);
        if (value <= best_score) continue;
        best = node;
        best_score = value;
    }
    return best;
}

int scored_place(struct scored *scored, scored_fn score, const struct cluster_view *view, const struct job_view *job,
                 struct placement *placement)
{
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    const int code = begin(scored, view);
    if (code < 0) return code;
    const int32_t n = parts_n(&parts);
    for (int32_t i = 0; i < n; i++) {
        const struct part part = parts_get(&parts, i);
        const struct scored_table *table = NULL;
        if (n == 1 && (table = update_table(scored, score, view, job, &part)) == NULL) return SIM_E_NOMEM;
        const int32_t node = table != NULL ? best_of(scored, table, view->n_nodes)
                                           : best_beside(scored, score, view, &part, placement);
        if (node < 0) return 0;
        placement_add(placement, node, part.gpus);
        if (table != NULL) placement->gpu = table->gpus[node];
    }
    return 1;
}

double scored_rest_frac(const struct scored *scored, const struct node_view *node, const struct part *part)
{
    const double gpus = (double)(node->left_milli - part->gpus * part->gpu_milli) / (1000.0 * scored->most_gpus);
    if (scored->most_cpu_milli == 0) return gpus;
    return (double)(node->cpu_left_milli - part->cpu_milli) / (double)scored->most_cpu_milli * 0.5 + gpus * 0.5;
}
