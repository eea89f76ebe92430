/* Meshes, and the time and memory of one plan. */
#include "sim/cli/plan/rlhf.h"

#include <math.h>

const char *const rlhf_call_names[RLHF_CALLS] = {"generate", "reward",      "reference",
                                                 "values",   "train actor", "train critic"};

enum rlhf_model rlhf_model_of(enum rlhf_call call)
{
    static const enum rlhf_model models[RLHF_CALLS] = {RLHF_ACTOR_MODEL,  RLHF_REWARD_MODEL, RLHF_REFERENCE_MODEL,
                                                       RLHF_CRITIC_MODEL, RLHF_ACTOR_MODEL,  RLHF_CRITIC_MODEL};
    return models[call];
}

enum rlhf_call rlhf_home_of(enum rlhf_model model)
{
    static const enum rlhf_call homes[RLHF_MODELS] = {RLHF_TRAIN_ACTOR, RLHF_TRAIN_CRITIC, RLHF_REFERENCE, RLHF_REWARD};
    return homes[model];
}

/* --- Meshes --- */

/* Parts of a node whose size divides its GPUs, at multiples of that size; so more GPUs never take a mesh away. */
static void add_parts(struct rlhf_space *space, int64_t gpus_per_node)
{
    for (int64_t size = 1; size < gpus_per_node; size++) {
        if (gpus_per_node % size != 0) continue;
        if (size > space->gpus) return;
        for (int64_t first = 0; first + size <= space->gpus; first += size)
            space->meshes[space->n_meshes++] = (struct rlhf_mesh){first, size, space->n_sizes};
        space->sizes[space->n_sizes++] = size;
    }
}

static void add_nodes(struct rlhf_space *space, int64_t gpus_per_node)
{
    for (int64_t size = gpus_per_node; size <= space->gpus; size += gpus_per_node) {
        for (int64_t first = 0; first + size <= space->gpus; first += gpus_per_node)
            space->meshes[space->n_meshes++] = (struct rlhf_mesh){first, size, space->n_sizes};
        space->sizes[space->n_sizes++] = size;
    }
}

int rlhf_space_meshes(struct rlhf_space *space, int64_t gpus, int64_t gpus_per_node, struct arena *arena,
                      struct diag *diag)
{
    const int64_t nodes = gpus / gpus_per_node; /* 0: part of one */
    const size_t most = (size_t)(nodes * (nodes + 1) / 2 + 2 * gpus * 8);
    space->gpus = gpus;
    space->links.gpus_per_node = gpus_per_node;
    space->meshes = arena_alloc(arena, most * sizeof *space->meshes);
    if (space->meshes == NULL) return diag_nomem(diag);
    add_parts(space, gpus_per_node);
    add_nodes(space, gpus_per_node);
    return 0;
}

/* --- One plan --- */

const struct rlhf_option *rlhf_option_of(const struct rlhf_space *space, enum rlhf_call call, struct rlhf_choice choice)
{
    return &space->options[call][space->meshes[choice.mesh].size].items[choice.option];
}

struct reallocation_layout rlhf_layout_of(const struct rlhf_space *space, enum rlhf_call call,
                                          struct rlhf_choice choice)
{
    const struct rlhf_option *option = rlhf_option_of(space, call, choice);
    return (struct reallocation_layout){space->meshes[choice.mesh].first, option->tensor, option->data,
                                        option->pipeline};
}

static struct dataflow_span span_of(const struct rlhf_space *space, struct rlhf_choice choice)
{
    return (struct dataflow_span){space->meshes[choice.mesh].first, space->meshes[choice.mesh].gpus};
}

/* The move before a call; NULL: it runs where its model lives. */
static const struct reallocation *move_of(const struct rlhf_found *found, enum rlhf_call call)
{
    return call == RLHF_GENERATE ? &found->moves[0] : call == RLHF_VALUES ? &found->moves[1] : NULL;
}

/* Whether some GPU lacks weights for the call. */
static bool is_moved(const struct rlhf_found *found, enum rlhf_call call)
{
    const struct reallocation *move = move_of(found, call);
    return move != NULL && move->node_bytes + move->network_bytes > 0.0;
}

/* Bytes of all models that live on a GPU. */
static double home_bytes_at(const struct rlhf_space *space, const struct rlhf_found *found, int64_t gpu)
{
    double bytes = 0.0;
    for (int model = 0; model < RLHF_MODELS; model++) {
        const enum rlhf_call home = rlhf_home_of((enum rlhf_model)model);
        const struct dataflow_span span = span_of(space, found->calls[home]);
        if (gpu >= span.first && gpu < span.first + span.gpus)
            bytes += rlhf_option_of(space, home, found->calls[home])->home_bytes;
    }
    return bytes;
}

/* The most of any GPU of a mesh. The sum changes where a home begins or ends. */
static double most_home_bytes(const struct rlhf_space *space, const struct rlhf_found *found, struct dataflow_span span)
{
    double most = home_bytes_at(space, found, span.first);
    for (int model = 0; model < RLHF_MODELS; model++) {
        const struct dataflow_span home = span_of(space, found->calls[rlhf_home_of((enum rlhf_model)model)]);
        if (home.first > span.first && home.first < span.first + span.gpus)
            most = fmax(most, home_bytes_at(space, found, home.first));
    }
    return most;
}

static void choose_way(const struct rlhf_space *space, struct rlhf_found *found, enum rlhf_call call)
{
    const struct rlhf_option *option = rlhf_option_of(space, call, found->calls[call]);
    const double copy_bytes = is_moved(found, call) ? option->weight_bytes : 0.0;
    const double beside = most_home_bytes(space, found, span_of(space, found->calls[call])) + copy_bytes;
    int way = 0;
    while (way + 1 < option->n_ways && beside + option->ways[way].active_bytes > space->usable_bytes) way++;
    found->ways[call] = &option->ways[way];
    found->bytes[call] = beside + option->ways[way].active_bytes;
    found->over_frac = fmax(found->over_frac, found->bytes[call] / space->usable_bytes - 1.0);
}

static void choose_move(const struct rlhf_space *space, struct rlhf_found *found, enum rlhf_call call,
                        struct reallocation *move)
{
    const enum rlhf_model model = rlhf_model_of(call);
    const enum rlhf_call home = rlhf_home_of(model);
    *move = (struct reallocation){0};
    const struct reallocation_layout from = rlhf_layout_of(space, home, found->calls[home]);
    const struct reallocation_layout to = rlhf_layout_of(space, call, found->calls[call]);
    if (!reallocation_is_needed(&from, &to)) return;
    const struct reallocation needed = reallocation_of(&space->models[model], &from, &to, &space->links);
    if (needed.node_bytes + needed.network_bytes > 0.0) *move = needed;
}

#define BIT(node) (1U << (node))
#define SCORED (BIT(RLHF_REWARD) | BIT(RLHF_REFERENCE) | BIT(RLHF_VALUES))

void rlhf_dataflow_of(const struct rlhf_space *space, const struct rlhf_found *found,
                      struct dataflow_call nodes[RLHF_NODES])
{
    static const uint32_t after[RLHF_NODES] = {
        [RLHF_GENERATE] = BIT(RLHF_NODE_MOVE_ACTOR), [RLHF_REWARD] = BIT(RLHF_GENERATE),
        [RLHF_REFERENCE] = BIT(RLHF_GENERATE),       [RLHF_VALUES] = BIT(RLHF_NODE_MOVE_CRITIC),
        [RLHF_TRAIN_ACTOR] = SCORED,                 [RLHF_TRAIN_CRITIC] = SCORED,
        [RLHF_NODE_MOVE_ACTOR] = 0,                  [RLHF_NODE_MOVE_CRITIC] = BIT(RLHF_GENERATE)};
    for (int call = 0; call < RLHF_CALLS; call++)
        nodes[call] = (struct dataflow_call){
            .seconds = found->ways[call]->seconds, .on = {span_of(space, found->calls[call])}, .after = after[call]};
    for (int move = 0; move < 2; move++) {
        const enum rlhf_call call = move == 0 ? RLHF_GENERATE : RLHF_VALUES;
        struct dataflow_call *node = &nodes[RLHF_NODE_MOVE_ACTOR + move];
        *node = (struct dataflow_call){.after = after[RLHF_NODE_MOVE_ACTOR + move]};
        if (!is_moved(found, call)) continue;
        node->seconds = found->moves[move].seconds;
        node->on[0] = span_of(space, found->calls[call]);
        node->on[1] = span_of(space, found->calls[rlhf_home_of(rlhf_model_of(call))]);
    }
}

void rlhf_evaluate(const struct rlhf_space *space, struct rlhf_found *found)
{
    struct dataflow_call nodes[RLHF_NODES];
    found->over_frac = 0.0;
    choose_move(space, found, RLHF_GENERATE, &found->moves[0]);
    choose_move(space, found, RLHF_VALUES, &found->moves[1]);
    for (int call = 0; call < RLHF_CALLS; call++) choose_way(space, found, (enum rlhf_call)call);
    rlhf_dataflow_of(space, found, nodes);
    found->step_s = dataflow_schedule(nodes, RLHF_NODES, found->times);
}
