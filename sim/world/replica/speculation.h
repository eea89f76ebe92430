/* Speculation at a replica: the drafts of an iteration, what they cost, and how many of them are right.
 *
 * An iteration with drafts is a run of one iteration, in which every decoding sequence gets one token and those of its
 * drafts that are right. Sequences then stand at different lengths, so they are visited one by one when it ends.
 * Iterations without drafts keep their closed form (replica.h).
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
 * request's prompt, and what was generated without drafts. Left out: drafts that overlap with scheduling. */
#ifndef ORRERY_WORLD_REPLICA_SPECULATION_H
#define ORRERY_WORLD_REPLICA_SPECULATION_H

#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/world/policy/speculation.h"
#include "sim/world/replica/work.h"

#include <stdbool.h>
#include <stdint.h>

/* How often drafts are right. */
struct acceptance {
    /* [i]: probability that the first i drafts are right; never rising, [0] is 1 */
    double right_frac[SPECULATION_MAX_DEPTH + 1];
    const double *rates; /* [n_rates]: geometric rate of request id modulo n_rates, in place of right_frac; or NULL */
    int64_t n_rates;
    uint64_t key; /* of seed, run and service */
};

/* The probabilities of drafts whose conditional rates are rates[n]; the last rate holds for all further drafts. */
void acceptance_from_rates(struct acceptance *acceptance, const double *rates, int64_t n);

/* Right drafts in a row, at most `most`, behind output position `position` of a request. */
int64_t acceptance_draw(const struct acceptance *acceptance, int64_t request, int64_t position, int64_t most);

/* Shared by the replicas of a pool. */
struct speculation_model {
    const struct speculator *policy;
    const void *params;
    struct acceptance acceptance;
    struct iteration_model draft; /* of the draft LLM or layer; cost NULL: none */
    double draft_frac;            /* its times count times this */
    double pass_s, sequence_s;    /* CPU time of each pass, and of each sequence in an iteration with drafts */
    struct llm_spec draft_llm;
    struct llm_reads draft_reads;
    struct energy_model draft_energy; /* all zero: not known */
};

/* State of a replica with speculation. */
struct speculating {
    struct speculation_plan plan; /* of the iteration that is next or under way */
    struct iteration_work lacking; /* prompts that the draft model processes in it */
    struct speculation_history history;
    void *state; /* of the policy */
};

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
