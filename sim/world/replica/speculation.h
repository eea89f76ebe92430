/* Speculation at a replica: the drafts of an iteration, what they cost, and how many of them are right.
 *
 * In an iteration with drafts every decoding sequence gets one token and those of its drafts that are right. Sequences
 * then stand at different lengths, so they are visited one by one when it ends. Iterations up to the next change of the
 * batch are computed at once (drafted_run.c). Iterations without drafts keep their closed form (replica.h).
 *
 * Whether drafts are right follows from (seed, run, service, request, output position) alone. The draw at a position
 * gives the number of right drafts in a row, were there any number of drafts. It depends neither on the policy nor on
 * the batch, so policies meet the same luck.
 *
 * KV of an iteration: a slot for the newest token and for each draft, none beyond the last token of a request. Fewer
 * drafts are verified where blocks are short; vLLM v1 cuts drafts to its token budget, and preempts where blocks are
 * short (vllm/v1/core/sched/scheduler.py, schedule). Blocks that only rejected drafts used return at the end of the
 * iteration. So SGLang frees the slots of rejected drafts after verification (EagleVerifyInput), and TensorRT-LLM
 * rewinds its cache (rewindKVCache). vLLM v1 keeps the block (allocate_slots of kv_cache_manager.py), which is the next
 * one that the sequence fills. Left out: that an engine cannot know a request's last token, and the slots that vLLM
 * keeps ahead for EAGLE's own cache (num_lookahead_tokens).
 *
 * Drafts come before verification, on the same GPUs: `passes` iterations of the draft model, one after the other.
 * Before its first draft of a sequence, the draft model processes the tokens that it lacks, as one prompt: the
 * request's prompt, and what was generated without drafts. Left out: drafts that overlap with scheduling.
 *
 * With pipeline stages the last stage alone has the draft model and makes the drafts: behind the verification of a
 * batch, before it takes the next batch. The drafts of several batches are under way at once. So do vLLM
 * (vllm-project/vllm, vllm/v1/worker/gpu/pp_utils.py @ 007f85b, PPHandler.broadcast_drafts; pull requests 50514 and
 * 46994, merged) and SGLang (sgl-project/sglang, pull request 30775, merged, SGLANG_ENABLE_PP_SPEC). Both draft for
 * the next verification of the batch, here the time counts with the verification itself. A sequence pays as often: an
 * engine also drafts behind its prompt, and behind its last token in vain. Left out: that its tokens are known before
 * the drafts are made, and what the last stage sends to the first one, some bytes per draft. */
#ifndef ORRERY_WORLD_REPLICA_SPECULATION_H
#define ORRERY_WORLD_REPLICA_SPECULATION_H

#include "models/draft_tree.h"
#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/core/hash.h"
#include "sim/world/policy/speculation.h"
#include "sim/world/replica/work.h"

#include <stdbool.h>
#include <stdint.h>

/* How often drafts are right. */
struct acceptance {
    /* [i]: probability that the first i drafts are right; never rising, [0] is 1 */
    double right_frac[SPECULATION_MAX_DEPTH + 1];
    uint64_t right_draws[SPECULATION_MAX_DEPTH + 1]; /* so many of 2^53 draws make them right: acceptance_set_right */
    const double *rates; /* [n_rates]: geometric rate of request id modulo n_rates, in place of right_frac; or NULL */
    int64_t n_rates;
    const struct draft_rates *ranks; /* of candidates, where right_frac is of a chain of the best; NULL: not given */
    uint64_t key; /* of seed, run and service */
};

/* Sets the probability that the first i drafts are right. */
void acceptance_set_right(struct acceptance *acceptance, int64_t i, double right_frac);

/* The probabilities of drafts whose conditional rates are rates[n]; the last rate holds for all further drafts. */
void acceptance_from_rates(struct acceptance *acceptance, const double *rates, int64_t n);

/* The acceptance of these trees of drafts, by acceptance->ranks. A draw that makes k drafts of a tree right makes no
 * fewer right in a tree that reaches every depth as often: all trees meet the same luck, as chains do. */
void acceptance_of_trees(const struct acceptance *acceptance, const struct draft_tree *trees, int32_t n,
                         struct acceptance *of_trees);

/* Right drafts in a row, at most `most`, behind output position `position` of a request. */
int64_t acceptance_draw(const struct acceptance *acceptance, int64_t request, int64_t position, int64_t most);

/* The increment of SplitMix64 (Steele et al., OOPSLA 2014); its output function is hash_mix. */
#define ACCEPTANCE_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The draws of one request, for repeated use. */
struct acceptance_of {
    uint64_t key;
    double rate; /* geometric, of this request; 0 where right_frac holds */
};

static inline struct acceptance_of acceptance_of(const struct acceptance *acceptance, int64_t request)
{
    return (struct acceptance_of){hash_mix(acceptance->key + ACCEPTANCE_GOLDEN * ((uint64_t)request + 1)),
                                  acceptance->rates != NULL ? acceptance->rates[request % acceptance->n_rates] : 0.0};
}

/* The number drawn behind an output position, below 2^53. */
static inline uint64_t acceptance_number(const struct acceptance_of *of, int64_t position)
{
    return hash_mix(of->key + ACCEPTANCE_GOLDEN * ((uint64_t)position + 1)) >> 11;
}

/* The right drafts by this number where `most` is at most ACCEPTANCE_FEW and no request has a rate of its own. */
enum { ACCEPTANCE_FEW = 4 };
static inline int64_t acceptance_few(const struct acceptance *acceptance, uint64_t draw, int64_t most)
{
    const uint64_t *right = acceptance->right_draws;
    const int64_t n = (int64_t)(draw < right[1]) + (draw < right[2]) + (draw < right[3]) + (draw < right[4]);
    return n < most ? n : most;
}

/* acceptance_draw for its request. right_frac never rises, so counting needs no early end: where the draw falls is
 * unpredictable. */
static inline int64_t acceptance_draw_of(const struct acceptance *acceptance, const struct acceptance_of *of,
                                         int64_t position, int64_t most)
{
    const uint64_t draw = acceptance_number(of, position), *right = acceptance->right_draws;
    int64_t n = 0;
    if (acceptance->rates == NULL && most <= ACCEPTANCE_FEW) return acceptance_few(acceptance, draw, most);
    const double drawn = (double)draw * 0x1p-53;
    if (acceptance->rates == NULL)
        for (int64_t i = 1; i <= most; i++) n += draw < right[i];
    else
        for (double right_frac = of->rate; n < most && drawn < right_frac; right_frac *= of->rate) n++;
    return n;
}

/* The state of a policy whose plans are alike (speculator.plans_alike). */
struct shared_policy {
    void *state;
    int32_t n_replicas; /* that use it */
};

/* Shared by the replicas of a pool. */
struct speculation_model {
    const struct speculator *policy;
    const void *params;
    struct acceptance acceptance;
    double assumed_rate; /* of right drafts; 0: the scenario gives the acceptance */
    bool drafts_for_free; /* a draft LLM would make the drafts, but the scenario has none */
    bool layer_is_made_up; /* the policy drafts with layers for multi-token prediction, but the LLM has none */
    struct iteration_model draft; /* of the draft LLM or layer; cost NULL: none */
    double draft_frac;            /* its times count times this */
    double pass_s, sequence_s;    /* CPU time of each pass, and of each sequence in an iteration with drafts */
    struct llm_spec draft_llm;
    struct llm_reads draft_reads;
    struct energy_model draft_energy; /* all zero: not known */
    void *memo; /* of the LLM's cost_row, which changes it though the rest is const; NULL: there is no cost_row */
    struct shared_policy *shared; /* changes too; NULL: each replica has a state of its own */
};

/* An iteration of a drafted run. */
struct drafted_iteration {
    sim_ns start_ns;
    double first_ns; /* its duration, not yet rounded */
    double extrapolated_frac;
    int64_t drafted_blocks, used_blocks; /* of KV: taken when it starts; filled when it ends */
    int64_t accepted; /* right drafts of all members */
};

/* A member, as the last computed iteration has it. */
struct drafted_member {
    struct acceptance_of acceptance;
    int64_t position, end; /* output tokens before this iteration, and in the end */
    int64_t before_tokens; /* processed beside the output tokens */
    int64_t slack_tokens; /* that its KV blocks have room for; beyond any number if it does not grow */
};

/* Iterations with drafts that are computed ahead (drafted_run.c). */
struct drafted_run {
    struct drafted_iteration *iterations; /* [n] */
    struct iteration_work *works;         /* [n]: of each; they differ in contexts alone */
    int32_t n, capacity, works_capacity;
    int32_t at;                     /* the one that the replica stands in */
    struct drafted_member *members; /* [n_members], in their order in the batch */
    int32_t n_members, members_capacity;
    uint8_t *right; /* [n][n_members]: right drafts; of the last iteration, if the run is not over, not yet drawn */
    int32_t right_capacity;
    int64_t free_blocks; /* at the start of the last iteration, before it takes some */
    bool is_over;        /* the batcher decides after the last iteration */
};

/* Trees that a plan had, and what they were found sound for. */
struct trees_seen {
    const struct draft_tree *trees; /* NULL: none yet */
    int32_t n_trees;
    int64_t depth, tokens;
};

/* The drafts of an iteration. */
struct drafting {
    struct speculation_plan plan;
    struct iteration_work lacking; /* prompts that the draft model processes in it */
    bool is_cut;                   /* fewer drafts than planned: KV blocks are short */
    bool of_trees;                 /* their acceptance is that of `trees`, not the model's */
    struct acceptance trees;       /* of the trees planned latest */
    struct trees_seen seen;        /* that `trees` is of */
};

/* State of a replica with speculation. */
struct speculating {
    struct drafting now; /* of the iteration that is next or under way; with stages, of the batch that is looked at */
    struct speculation_history history;
    struct drafted_run run;
    void *state; /* of the policy */
};

/* How often the drafts of the iteration are right. */
static inline const struct acceptance *drafting_acceptance(const struct drafting *drafting,
                                                           const struct speculation_model *model)
{
    return drafting->of_trees ? &drafting->trees : &model->acceptance;
}

/* Seconds of drafting for an iteration with this work, before it starts. lacking: prompts that the draft model still
 * has to process, or none. */
double speculation_draft_s(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *lacking, const struct iteration_work *work);

/* Seconds of the draft model for these prompts. Only if there is one. */
double speculation_prompts_s(const struct speculation_model *model, const struct iteration_work *lacking);

/* Joules of these passes beside those of their time. */
double speculation_draft_j(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *lacking, const struct iteration_work *work);

#endif
