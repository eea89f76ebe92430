/* orrery plan FILE.rlhf.json: the fastest execution plan of a step of RLHF (Mei et al. 2024, ReaLHF).
 *
 * A step of PPO is six calls of four models:
 *
 *     generate -> reward, reference, values -> train actor, train critic
 *
 * A plan gives each call a mesh and a split of the model over it (tensor, data and pipeline ranks). A mesh is a part of
 * a node whose size divides the node's GPUs, or adjacent whole nodes. Actor and critic live where they are trained.
 * Before a call of them with another mesh or split, each GPU gets the weights that it lacks
 * (models/training/reallocation.h). If some GPU lacks any, all GPUs of the call have room for a whole copy, which is
 * dropped afterwards. If none does, the call runs on the weights that are there: nothing waits, and no copy is held.
 * Reference and reward model live where their one call is. All run by the rules of models/training/dataflow.h.
 *
 * A GPU holds the states of all models that live there, and what the one call that runs there needs beside them. A call
 * runs in the fastest of its ways that fits beside those states: micro-batches, recomputation, waves of sequences. */
#ifndef ORRERY_CLI_PLAN_RLHF_H
#define ORRERY_CLI_PLAN_RLHF_H

#include "models/training/dataflow.h"
#include "models/training/reallocation.h"
#include "sim/catalog/training.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

#include <signal.h>

enum rlhf_call {
    RLHF_GENERATE,
    RLHF_REWARD,
    RLHF_REFERENCE,
    RLHF_VALUES,
    RLHF_TRAIN_ACTOR,
    RLHF_TRAIN_CRITIC,
    RLHF_CALLS
};
enum rlhf_model { RLHF_ACTOR_MODEL, RLHF_CRITIC_MODEL, RLHF_REFERENCE_MODEL, RLHF_REWARD_MODEL, RLHF_MODELS };

/* Nodes of the data flow: the calls, and before two of them a move of weights. */
enum rlhf_node { RLHF_NODE_MOVE_ACTOR = RLHF_CALLS, RLHF_NODE_MOVE_CRITIC, RLHF_NODES };

extern const char *const rlhf_call_names[RLHF_CALLS];

/* The model of a call, and the call at which a model lives. */
enum rlhf_model rlhf_model_of(enum rlhf_call call);
enum rlhf_call rlhf_home_of(enum rlhf_model model);

/* --- The document --- */

struct rlhf_search_config {
    int64_t proposals, visits; /* of the Markov chain; of the search that proves the optimum */
    int64_t seed;
    double temperature;
};

struct rlhf_config {
    const char *gpu;
    int64_t gpus, gpus_per_node;
    double network_bytes_per_s, reserve_frac;
    struct training_config actor, critic;
    const char *reference, *reward; /* LLMs; NULL: the actor's, the critic's */
    int64_t prompts, samples, prompt_tokens, output_tokens, updates;
    struct config_variant cost;
    struct rlhf_search_config search;
};

extern const struct config_field rlhf_config_fields[];

static inline int64_t rlhf_sequences(const struct rlhf_config *config)
{
    return config->prompts * config->samples;
}

/* --- The space of plans --- */

/* One way to run a call: micro-batches of so many sequences, what the backward pass recomputes, the sequences of a data
 * rank in so many waves. Bytes beside weights, gradients and states. */
struct rlhf_way {
    double seconds, active_bytes;
    int64_t micro_batch, waves;
    enum training_recompute recompute; /* none or as the document says; full where that is faster */
};

enum { RLHF_WAYS = 40 }; /* more than halvings of the most sequences, 1e10, and than ways to train */

/* A split of a call over the GPUs of a mesh. The fastest way first, each further one with less memory. */
struct rlhf_option {
    int64_t tensor, data, pipeline;
    double home_bytes;   /* of the model on a GPU that it lives on, if it lives here */
    double weight_bytes; /* of a copy on a GPU */
    struct rlhf_way ways[RLHF_WAYS];
    int n_ways;
};

struct rlhf_options {
    const struct rlhf_option *items;
    int32_t n;
};

struct rlhf_mesh {
    int64_t first, gpus;
    int32_t size; /* index of gpus in sizes of the space */
};

enum { RLHF_NODES_MOST = 128, RLHF_SIZES = RLHF_NODES_MOST + 64 };

struct rlhf_space {
    int64_t gpus;
    double usable_bytes; /* of a GPU */
    struct reallocation_links links;
    struct reallocation_model models[RLHF_MODELS];
    int32_t n_sizes, n_meshes;
    int64_t sizes[RLHF_SIZES];
    struct rlhf_mesh *meshes;
    struct rlhf_options options[RLHF_CALLS][RLHF_SIZES];
};

/* Fills gpus, links.gpus_per_node, sizes and meshes; options are empty. `gpus` are whole nodes, or the first of one. */
int rlhf_space_meshes(struct rlhf_space *space, int64_t gpus, int64_t gpus_per_node, struct arena *arena,
                      struct diag *diag);

/* A mesh and one of its options. */
struct rlhf_choice {
    int32_t mesh, option;
};

struct rlhf_found {
    struct rlhf_choice calls[RLHF_CALLS];
    const struct rlhf_way *ways[RLHF_CALLS];
    double bytes[RLHF_CALLS]; /* on the fullest GPU of the call, while it runs */
    struct reallocation moves[2]; /* of the actor, of the critic; zero where no GPU lacks weights */
    struct dataflow_times times[RLHF_NODES];
    double step_s;
    double over_frac; /* of the memory, that the fullest GPU lacks; 0: it fits */
};

const struct rlhf_option *rlhf_option_of(const struct rlhf_space *space, enum rlhf_call call,
                                         struct rlhf_choice choice);

/* Layout of a call. */
struct reallocation_layout rlhf_layout_of(const struct rlhf_space *space, enum rlhf_call call,
                                          struct rlhf_choice choice);

/* The data flow of a plan: calls and moves by enum rlhf_node. */
void rlhf_dataflow_of(const struct rlhf_space *space, const struct rlhf_found *found,
                      struct dataflow_call nodes[RLHF_NODES]);

/* Fills all but `calls`. */
void rlhf_evaluate(const struct rlhf_space *space, struct rlhf_found *found);

/* --- rlhf_price.c --- */

struct rlhf_setup {
    const struct rlhf_config *config;
    const struct config *document; /* for findings; NULL: they name paths alone */
    struct training_setup actor, critic;
    struct llm_spec llms[RLHF_MODELS];
    const struct catalog *catalog;
};

/* Prices all options. Returns 0, or the code of a finding: also if no split at all trains the actor or the critic. */
int rlhf_price(struct rlhf_setup *setup, struct rlhf_space *space, struct arena *arena, struct diag *diag);

/* --- rlhf_search.c --- */

struct rlhf_search {
    bool has_megatron, has_symmetric, has_best, is_exact;
    bool is_interrupted; /* before its end: what is here was found until then */
    struct rlhf_found megatron;  /* one split for all calls over all GPUs: tensor ranks fill a node, few stages */
    struct rlhf_found symmetric; /* the fastest split of that kind */
    struct rlhf_found best;
    double walked_s; /* the best step when the Markov chains had ended; NAN: they met no plan that fits */
    int64_t n_evaluated; /* plans, with those that a bound ruled out */
    int64_t n_visited;
};

/* Searches all plans: from the symmetric one a Markov chain, descent to a plan that no change of one call betters, then
 * branch and bound within config->visits. Same seed, same plan. Once *interrupt is not 0 it ends with the best plan of
 * those seen; NULL: nothing interrupts it. */
int rlhf_search(const struct rlhf_space *space, const struct rlhf_search_config *config,
                const volatile sig_atomic_t *interrupt, struct rlhf_search *search, struct diag *diag);

/* --- rlhf_answer.c, rlhf.c --- */

int rlhf_answer(const struct rlhf_setup *setup, const struct rlhf_space *space, const struct rlhf_search *search,
                enum answer_form form, FILE *out, struct diag *diag);

bool rlhf_is_file(const char *subject);

/* The verb, for a document of this kind; `set` are assignments KEY=VALUE. */
int rlhf_plan(struct cli *cli, const char *path, const struct option_texts *set, enum answer_form form);

#endif
