#include "policies/placement/scored.h"

#include "sim/core/check.h"
#include "sim/core/count_tree.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/tournament.h"

#include <string.h>

enum { MOST_SCORES = 1 << 21, LEAST_TABLES = 8, MOST_TABLES = 2048 };

/* Scores of the parts of one request that are alike. */
struct scored_table {
    int32_t request;        /* its number plus 1; 0: the table is free */
    bool is_small;          /* of its small parts */
    struct tournament tournament; /* of the nodes in the order of ties; -1: the part does not fit there */
    struct count_tree open; /* of these, where it fits; only for a placer that draws */
    uint32_t *seen;         /* [n_nodes]: the node's change count when it was scored; 0: never */
    int8_t *gpus;           /* [n_nodes]: for a share, the GPU to take */
    uint64_t n_seen;        /* changes of nodes that are in the tournament */
};

const char *const scored_ties_names[] = {"listed", "shuffled", NULL};

#define ROW_OF struct scored_params
const struct config_field scored_params[] = {SCORED_ROW_TIES(ties), {0}};
#undef ROW_OF

void scored_fini(void *state)
{
    struct scored *scored = state;
    for (int32_t i = 0; i < scored->n_tables; i++) {
        tournament_fini(&scored->tables[i].tournament);
        count_tree_fini(&scored->tables[i].open);
        mem_free(scored->tables[i].seen);
        mem_free(scored->tables[i].gpus);
    }
    mem_free(scored->tables);
    mem_free(scored->order);
    mem_free(scored->places);
}

static int draw_order(struct scored *scored, const struct cluster_view *view)
{
    scored->order = mem_alloc((size_t)view->n_nodes * sizeof *scored->order);
    scored->places = mem_alloc((size_t)view->n_nodes * sizeof *scored->places);
    if (scored->order == NULL || scored->places == NULL) return SIM_E_NOMEM;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const int32_t j = (int32_t)rng_below(view->random, (uint64_t)i + 1);
        scored->order[i] = scored->order[j];
        scored->order[j] = i;
    }
    for (int32_t i = 0; i < view->n_nodes; i++) scored->places[scored->order[i]] = i;
    return 0;
}

static int32_t place_of(const struct scored *scored, int32_t node)
{
    return scored->places != NULL ? scored->places[node] : node;
}

static int make_tables(struct scored *scored, int32_t n_nodes)
{
    int32_t n = MOST_SCORES / n_nodes;
    if (n < LEAST_TABLES) n = LEAST_TABLES;
    if (n > MOST_TABLES) n = MOST_TABLES;
    scored->tables = mem_zalloc((size_t)n, sizeof *scored->tables);
    if (scored->tables == NULL) return SIM_E_NOMEM;
    scored->n_tables = n;
    return 0;
}

/* Reads the size of the largest node, makes free tables and draws the order of ties, once. Returns 0 or SIM_E_NOMEM. */
static int begin(struct scored *scored, const struct cluster_view *view)
{
    if (scored->tables != NULL) return 0;
    for (int32_t i = 0; i < view->n_nodes; i++) {
        const struct node_view *node = &view->nodes[i];
        if (node->gpus > scored->most_gpus) scored->most_gpus = node->gpus;
        if (node->cpu_milli < INT64_MAX && node->cpu_milli > scored->most_cpu_milli)
            scored->most_cpu_milli = node->cpu_milli;
    }
    if (make_tables(scored, view->n_nodes) != 0) return SIM_E_NOMEM;
    return scored->params.ties == SCORED_SHUFFLED ? draw_order(scored, view) : 0;
}

/* A question of a placer: where to put a part. */
struct scored_question {
    struct scored *scored;
    scored_fn score;
    const struct cluster_view *view;
    struct part part;
    struct scored_table *table;
};

static int32_t score_node(const struct scored_question *question, int32_t node, int32_t *gpu)
{
    const struct node_view *of = &question->view->nodes[node];
    *gpu = -1;
    if (!part_fits(of, &question->part)) return -1;
    if (part_is_share(&question->part)) *gpu = part_best_gpu(of, &question->part);
    return question->score(question->scored, question->view, node, &question->part, gpu);
}

static void set_score(const struct scored_question *question, int32_t node, int32_t score)
{
    const int32_t place = place_of(question->scored, node);
    tournament_set(&question->table->tournament, place, score);
    if (question->scored->draws) count_tree_set(&question->table->open, place, score >= 0);
}

static void update_node(const struct scored_question *question, int32_t node)
{
    int32_t gpu;
    struct scored_table *table = question->table;
    const uint32_t changes = question->view->nodes[node].changes;
    if (table->seen[node] == changes) return;
    set_score(question, node, score_node(question, node, &gpu));
    table->gpus[node] = (int8_t)gpu;
    table->seen[node] = changes;
}

static int fill_table(struct scored_table *table, int32_t n_nodes, bool draws)
{
    table->seen = mem_zalloc((size_t)n_nodes, sizeof *table->seen);
    table->gpus = mem_zalloc((size_t)n_nodes, sizeof *table->gpus);
    if (table->seen == NULL || table->gpus == NULL) return SIM_E_NOMEM;
    if (draws && count_tree_init(&table->open, n_nodes) != 0) return SIM_E_NOMEM;
    return tournament_init(&table->tournament, n_nodes);
}

/* The log of changes missed none. */
static bool is_up_to_date(const struct scored_question *question)
{
    const struct node_view *nodes = question->view->nodes;
    int32_t i = 0;
    while (i < question->view->n_nodes && question->table->seen[i] == nodes[i].changes) i++;
    return i == question->view->n_nodes;
}

/* The table of the request with up-to-date scores of all nodes. It takes the place of another one when there are more
 * requests than tables. Returns 0 or SIM_E_NOMEM. */
static int find_table(struct scored_question *question, int32_t request, bool is_small)
{
    struct scored *scored = question->scored;
    const struct cluster_view *view = question->view;
    const struct change_log *changed = view->changed_nodes;
    const int64_t number = (int64_t)request + (is_small ? scored->n_tables / 2 : 0);
    struct scored_table *table = question->table = &scored->tables[number % scored->n_tables];
    const bool is_other = table->request != request + 1 || table->is_small != is_small;
    if (table->tournament.n == 0 && fill_table(table, view->n_nodes, scored->draws) != 0) return SIM_E_NOMEM;
    if (is_other) memset(table->seen, 0, (size_t)view->n_nodes * sizeof *table->seen);
    table->request = request + 1;
    table->is_small = is_small;
    if (is_other || !change_log_reaches(changed, table->n_seen))
        for (int32_t i = 0; i < view->n_nodes; i++) update_node(question, i);
    else
        for (uint64_t i = table->n_seen; i < changed->n; i++) update_node(question, change_log_get(changed, i));
    table->n_seen = changed->n;
    SIM_ASSERT(is_up_to_date(question));
    return 0;
}

/* No other part goes to a node of the placement, from its entry `first` on. */
static void hide(const struct scored_question *question, const struct placement *placement, int32_t first)
{
    for (int32_t i = first; i < placement->n; i++) set_score(question, placement->nodes[i], -1);
}

static void show_again(const struct scored_question *question, const struct placement *placement)
{
    for (int32_t i = 0; i < placement->n; i++) {
        question->table->seen[placement->nodes[i]] = 0;
        update_node(question, placement->nodes[i]);
    }
}

/* The node for the next part; -1: there is no room now. */
static int32_t pick(const struct scored_question *question)
{
    const struct tournament *tournament = &question->table->tournament;
    const struct count_tree *open = &question->table->open;
    int32_t place = tournament_first(tournament);
    if (tournament->values[place] < 0) return -1;
    if (question->scored->draws)
        place = count_tree_find(open, (int32_t)rng_below(question->view->random, (uint64_t)open->n_counted));
    return question->scored->order != NULL ? question->scored->order[place] : place;
}

/* Puts `n` parts alike, each on the best node that the placement does not use yet. Returns 1, 0 if there is no room
 * now, or SIM_E_NOMEM. */
static int place_alike(struct scored_question *question, int32_t request, bool is_small, int32_t n, bool is_alone,
                       struct placement *placement)
{
    int32_t n_left = n, node = -1;
    if (n == 0) return 1;
    if (find_table(question, request, is_small) != 0) return SIM_E_NOMEM;
    if (!is_alone) hide(question, placement, 0);
    for (; n_left > 0 && (node = pick(question)) >= 0; n_left--) {
        placement_add(placement, node, question->part.gpus);
        if (is_alone)
            placement->gpu = question->table->gpus[node];
        else
            hide(question, placement, placement->n - 1);
    }
    if (!is_alone) show_again(question, placement);
    return n_left == 0;
}

int scored_place(struct scored *scored, scored_fn score, const struct cluster_view *view, const struct job_view *job,
                 struct placement *placement)
{
    const struct parts parts = parts_of(view, &view->requests[job->request]);
    const bool is_alone = parts_n(&parts) == 1;
    struct scored_question question = {.scored = scored, .score = score, .view = view};
    int code = begin(scored, view);
    if (code < 0) return code;
    if (parts.n_large > 0) question.part = parts_get(&parts, 0);
    code = place_alike(&question, job->request, false, parts.n_large, is_alone, placement);
    if (code != 1) return code;
    if (parts.n_small > 0) question.part = parts_get(&parts, parts.n_large);
    return place_alike(&question, job->request, true, parts.n_small, is_alone, placement);
}

int32_t score_equal(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)state, (void)view, (void)node, (void)part, (void)gpu;
    return 0;
}

int32_t score_fullest(void *state, const struct cluster_view *view, int32_t node, const struct part *part, int32_t *gpu)
{
    (void)state, (void)part, (void)gpu;
    return INT32_MAX - view->nodes[node].left_milli;
}

double scored_rest_frac(const struct scored *scored, const struct node_view *node, const struct part *part)
{
    const double gpus = (double)(node->left_milli - part->gpus * part->gpu_milli) / (1000.0 * scored->most_gpus);
    if (scored->most_cpu_milli == 0) return gpus;
    return (double)(node->cpu_left_milli - part->cpu_milli) / (double)scored->most_cpu_milli * 0.5 + gpus * 0.5;
}
