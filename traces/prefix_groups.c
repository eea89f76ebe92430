/* Prompts form a tree by their prefix blocks. Each prefix of it may be that of a group, and each request is best in the
 * group of the longest one. So with prefixes of D tokens the groups save the sum of D over the requests, less that over
 * the groups. Below a prefix this depends on what lies above it only by the tokens `a` of the nearest group
 * there. The best is a convex function of a, made of lines: a prefix is a group while a is below its threshold,
 * and above it the slope of the function grows by the requests that the group would leave to the one above. So the tree
 * is weighed from its leaves with a heap of thresholds for each prefix. */
#include "traces/prefix_groups.h"

#include "sim/core/mem.h"

#include <stdbool.h>
#include <stdlib.h>

#define NONE SIZE_MAX

/* A request, by its place among the sorted prompts. */
struct prompt {
    const uint64_t *blocks;
    int32_t n_blocks, block_tokens, prompt_tokens, output_tokens;
    size_t row, group; /* index in the batch; node of its group, NONE: of no group */
};

/* A prefix that neighbours among the sorted prompts share, or a single prompt. */
struct node {
    int64_t tokens;
    size_t branches, next_branch; /* first node below it; next one below the same */
    size_t unweighed;             /* first branch that has not been weighed */
    size_t group_above;           /* nearest; NONE: there is none */
    /* Its line, whose slope is in requests: it is a group while the nearest group above has fewer than
     * threshold / slope tokens. */
    int64_t slope, threshold;
    bool counts;                            /* among the lines of a node above */
    size_t ended, next_ended;               /* lines that end at this node: here all prefixes above are too short */
    int64_t saved, slopes, thresholds;      /* tokens saved below with no group above; sums over the lines below */
    size_t heap, left, right, rank;         /* lines below it, lowest threshold first; this line in such a heap */
};

struct group {
    int64_t output_tokens, computed_tokens;
    size_t first_row;
};

struct prefix_tree {
    size_t n_prompts, n_nodes;
    struct prompt *prompts; /* [n_prompts], sorted */
    struct node *nodes;     /* [2 n_prompts]: at i < n_prompts the i-th prompt alone */
    size_t *path;           /* [2 n_prompts] */
    struct group *groups;   /* [3 n_prompts]: of the i-th node; of the i-th prompt without a group behind these */
};

/* --- The tree --- */

static int compare_prompts(const void *left, const void *right)
{
    const struct prompt *a = left, *b = right;
    const int32_t n = a->n_blocks < b->n_blocks ? a->n_blocks : b->n_blocks;
    for (int32_t i = 0; i < n; i++)
        if (a->blocks[i] != b->blocks[i]) return a->blocks[i] < b->blocks[i] ? -1 : 1;
    if (a->n_blocks != b->n_blocks) return a->n_blocks < b->n_blocks ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int64_t shared_tokens(const struct prompt *a, const struct prompt *b)
{
    int32_t n = 0;
    while (n < a->n_blocks && n < b->n_blocks && a->blocks[n] == b->blocks[n]) n++;
    const int64_t tokens = (int64_t)n * a->block_tokens;
    const int64_t most = a->prompt_tokens < b->prompt_tokens ? a->prompt_tokens : b->prompt_tokens;
    return tokens < most ? tokens : most;
}

static void put_below(struct prefix_tree *tree, size_t above, size_t below)
{
    tree->nodes[below].next_branch = tree->nodes[above].branches;
    tree->nodes[above].branches = below;
}

static const struct node new_node = {
    .branches = NONE, .next_branch = NONE, .ended = NONE, .next_ended = NONE, .heap = NONE, .left = NONE, .right = NONE};

/* Builds the tree from the lengths of the prefixes that neighbours share, and returns its root. */
static size_t grow(struct prefix_tree *tree)
{
    size_t last = 0, n_open = 0, *open = tree->path;
    for (size_t i = 1; i <= tree->n_prompts; i++) {
        const int64_t shared = i < tree->n_prompts ? shared_tokens(&tree->prompts[i - 1], &tree->prompts[i]) : -1;
        while (n_open > 0 && tree->nodes[open[n_open - 1]].tokens > shared) {
            put_below(tree, open[n_open - 1], last);
            last = open[--n_open];
        }
        if (i == tree->n_prompts) break;
        if (n_open == 0 || tree->nodes[open[n_open - 1]].tokens < shared) {
            tree->nodes[tree->n_nodes] = new_node;
            tree->nodes[tree->n_nodes].tokens = shared;
            open[n_open++] = tree->n_nodes++;
        }
        put_below(tree, open[n_open - 1], last);
        last = i;
    }
    return last;
}

/* --- Heaps of lines (leftist) --- */

static size_t rank_of(const struct prefix_tree *tree, size_t line)
{
    return line == NONE ? 0 : tree->nodes[line].rank;
}

static bool is_lower(const struct node *a, const struct node *b)
{
    return (double)a->threshold * (double)b->slope < (double)b->threshold * (double)a->slope;
}

static size_t meld(struct prefix_tree *tree, size_t a, size_t b)
{
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    if (is_lower(&tree->nodes[b], &tree->nodes[a])) return meld(tree, b, a);
    struct node *top = &tree->nodes[a];
    top->right = meld(tree, top->right, b);
    if (rank_of(tree, top->left) < rank_of(tree, top->right)) {
        const size_t left = top->left;
        top->left = top->right;
        top->right = left;
    }
    top->rank = rank_of(tree, top->right) + 1;
    return a;
}

static void drop_lowest(struct prefix_tree *tree, struct node *node)
{
    const struct node *lowest = &tree->nodes[node->heap];
    node->heap = meld(tree, lowest->left, lowest->right);
}

/* The lowest line that still counts; NONE: there is none. */
static size_t lowest_line(struct prefix_tree *tree, struct node *node)
{
    while (node->heap != NONE && !tree->nodes[node->heap].counts) drop_lowest(tree, node);
    return node->heap;
}

/* --- Groups --- */

static void add_line(struct prefix_tree *tree, size_t at, int64_t slope, int64_t threshold)
{
    struct node *node = &tree->nodes[at];
    node->slope = slope;
    node->threshold = threshold;
    node->counts = true;
    node->rank = 1;
    node->heap = meld(tree, node->heap, at);
    node->slopes += slope;
    node->thresholds += threshold;
}

static void take_out(struct node *node, struct node *line)
{
    node->slopes -= line->slope;
    node->thresholds -= line->threshold;
    line->counts = false;
}

/* Lets the line of path[depth] end where the prefixes above become too short for it. */
static void let_end(struct prefix_tree *tree, size_t depth)
{
    struct node *line = &tree->nodes[tree->path[depth]];
    size_t n_short = 0, n_above = depth; /* of the path: those before n_short are too short, from n_above on none is */
    while (n_short < n_above) {
        const size_t middle = n_short + (n_above - n_short) / 2;
        const bool is_short = tree->nodes[tree->path[middle]].tokens * line->slope <= line->threshold;
        if (is_short)
            n_short = middle + 1;
        else
            n_above = middle;
    }
    if (n_short == 0) return;
    struct node *last = &tree->nodes[tree->path[n_short - 1]];
    line->next_ended = last->ended;
    last->ended = tree->path[depth];
}

/* Weighs a prefix whose branches have been weighed: whether a group of it saves more than they save without it. */
static void weigh(struct prefix_tree *tree, size_t at)
{
    struct node *node = &tree->nodes[at];
    for (size_t line = node->ended; line != NONE; line = tree->nodes[line].next_ended)
        if (tree->nodes[line].counts) take_out(node, &tree->nodes[line]);
    const int64_t gain = (node->slopes - 1) * node->tokens - node->thresholds;
    if (gain <= 0) return;
    int64_t slope = 0, threshold = gain;
    for (size_t line; (line = lowest_line(tree, node)) != NONE; drop_lowest(tree, node)) {
        struct node *lowest = &tree->nodes[line];
        if (slope > 0 && (double)slope * (double)lowest->threshold >= (double)threshold * (double)lowest->slope) break;
        slope += lowest->slope;
        threshold += lowest->threshold;
        take_out(node, lowest);
    }
    node->saved += gain;
    add_line(tree, at, slope, threshold);
}

static void add_branch(struct prefix_tree *tree, struct node *node, const struct node *branch)
{
    node->heap = meld(tree, node->heap, branch->heap);
    node->saved += branch->saved;
    node->slopes += branch->slopes;
    node->thresholds += branch->thresholds;
}

static void weigh_all(struct prefix_tree *tree, size_t root)
{
    size_t depth = 0;
    tree->path[0] = root;
    for (size_t i = 0; i < tree->n_nodes; i++) tree->nodes[i].unweighed = tree->nodes[i].branches;
    for (;;) {
        const size_t at = tree->path[depth], below = tree->nodes[at].unweighed;
        if (below != NONE) {
            tree->nodes[at].unweighed = tree->nodes[below].next_branch;
            tree->path[++depth] = below;
            continue;
        }
        if (at < tree->n_prompts)
            add_line(tree, at, 1, 0);
        else
            weigh(tree, at);
        if (tree->nodes[at].counts) let_end(tree, depth);
        if (depth == 0) return;
        add_branch(tree, &tree->nodes[tree->path[--depth]], &tree->nodes[at]);
    }
}

/* Tells each prompt its group: nodes above are visited before those below. */
static void assign(struct prefix_tree *tree, size_t root)
{
    size_t n_left = 1, *left = tree->path;
    left[0] = root;
    tree->nodes[root].group_above = NONE;
    while (n_left > 0) {
        const size_t at = left[--n_left], above = tree->nodes[at].group_above;
        const struct node *node = &tree->nodes[at];
        if (at < tree->n_prompts) {
            tree->prompts[at].group = above;
            continue;
        }
        const int64_t tokens_above = above != NONE ? tree->nodes[above].tokens : 0;
        const bool is_group = tokens_above * node->slope < node->threshold;
        for (size_t below = node->branches; below != NONE; below = tree->nodes[below].next_branch) {
            tree->nodes[below].group_above = is_group ? at : above;
            left[n_left++] = below;
        }
    }
}

/* --- Their order --- */

static size_t group_of(const struct prefix_tree *tree, size_t i)
{
    return tree->prompts[i].group != NONE ? tree->prompts[i].group : 2 * tree->n_prompts + i;
}

static void count_groups(struct prefix_tree *tree)
{
    for (size_t i = 0; i < tree->n_prompts; i++) {
        const struct prompt *prompt = &tree->prompts[i];
        const int64_t shared = prompt->group != NONE ? tree->nodes[prompt->group].tokens : 0;
        struct group *group = &tree->groups[group_of(tree, i)];
        const bool is_first = group->computed_tokens == 0;
        group->output_tokens += prompt->output_tokens;
        group->computed_tokens += prompt->prompt_tokens - (is_first ? 0 : shared);
        if (is_first || prompt->row < group->first_row) group->first_row = prompt->row;
    }
}

/* A request in the order to be made. */
struct turn {
    double outputs_each; /* output tokens of its group for each computed prompt token */
    size_t first_row, place, row;
};

static int compare_turns(const void *left, const void *right)
{
    const struct turn *a = left, *b = right;
    if (a->outputs_each != b->outputs_each) return a->outputs_each > b->outputs_each ? -1 : 1;
    if (a->first_row != b->first_row) return a->first_row < b->first_row ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int order_groups(const struct prefix_tree *tree, size_t *order)
{
    struct turn *turns = mem_zalloc(tree->n_prompts, sizeof *turns);
    if (turns == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < tree->n_prompts; i++) {
        const struct group *group = &tree->groups[group_of(tree, i)];
        turns[i] = (struct turn){(double)group->output_tokens / (double)group->computed_tokens, group->first_row, i,
                                 tree->prompts[i].row};
    }
    qsort(turns, tree->n_prompts, sizeof *turns, compare_turns);
    for (size_t i = 0; i < tree->n_prompts; i++) order[i] = turns[i].row;
    mem_free(turns);
    return 0;
}

static int fill(struct prefix_tree *tree, const struct record_buffer *requests)
{
    const size_t n = tree->n_nodes = tree->n_prompts = requests->n;
    tree->prompts = mem_zalloc(n, sizeof *tree->prompts);
    tree->nodes = mem_zalloc(2 * n, sizeof *tree->nodes);
    tree->path = mem_zalloc(2 * n, sizeof *tree->path);
    tree->groups = mem_zalloc(3 * n, sizeof *tree->groups);
    if (tree->prompts == NULL || tree->nodes == NULL || tree->path == NULL || tree->groups == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const union trace_record record = record_buffer_get(requests, i);
        const struct request_record *request = &record.request;
        tree->prompts[i] = (struct prompt){request->prefix_blocks,
                                           request->n_prefix_blocks,
                                           request->prefix_block_tokens,
                                           request->prompt_tokens,
                                           request->output_tokens,
                                           i,
                                           NONE};
        tree->nodes[i] = new_node;
    }
    qsort(tree->prompts, n, sizeof *tree->prompts, compare_prompts);
    return 0;
}

int prefix_groups_order(const struct record_buffer *requests, size_t *order, int64_t *saved_tokens)
{
    struct prefix_tree tree = {0};
    *saved_tokens = 0;
    if (requests->n == 0) return 0;
    int code = fill(&tree, requests);
    if (code == 0) {
        const size_t root = grow(&tree);
        weigh_all(&tree, root);
        *saved_tokens = tree.nodes[root].saved;
        assign(&tree, root);
        count_groups(&tree);
        code = order_groups(&tree, order);
    }
    mem_free(tree.prompts);
    mem_free(tree.nodes);
    mem_free(tree.path);
    mem_free(tree.groups);
    return code;
}
