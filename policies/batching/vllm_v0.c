/* Continuous batching as in vLLM v0 (Kwon et al., SOSP 2023; vLLM 0.2 to 0.6 without chunked prefill): prefill first,
 * first come first served, paged KV blocks, preemption by recomputation or by swapping.
 *
 * The head of the queue is admitted while its prompt leaves the watermark of blocks free and the sequence and token
 * budgets hold. If a prompt was admitted, the iteration is prefill only; otherwise every running sequence decodes one
 * token. A decoding sequence needs one free block even if its last block has room (vLLM's own simple rule); if there is
 * none, the latest arrival is preempted. A prompt that can never be admitted is rejected, as in vLLM.
 *
 * Equal prompts of one prefill compute their common prefix each: a block counts as computed only after its batch
 * (vllm/core/block/prefix_caching_block.py @ 3322f8c, block_is_computed). vLLM gives them one block of memory; here
 * each holds its own.
 *
 * With swapping, the KV of a preempted sequence is copied to the host before the iteration that needs its blocks. While
 * swapped-out sequences wait, no prompt is admitted. They resume in order of arrival, each once its former blocks plus
 * one fit above the watermark, and their iteration waits for the copy. With pipeline stages a batch holds at most its
 * share of max_sequences (Vidur). */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct vllm_v0 {
    int64_t max_sequences, max_batched_tokens;
    double watermark;
    bool padded;
    int preemption; /* index of preemptions */
};

static const char *const preemptions[] = {"recompute", "swap", NULL};

#define ROW_OF struct vllm_v0
static const struct config_field vllm_v0_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("256"), WITHIN(1, 65536),
            "most running sequences (vLLM: max_num_seqs); with pipeline stages each batch holds its share"),
    ROW_INT("max_batched_tokens", max_batched_tokens, DEFAULT("0"), WITHIN(0, 1e9),
            "most prompt tokens in a prefill; 0: the LLM's context, at least 2048"),
    ROW_REAL("watermark", watermark, DEFAULT("0.01"), WITHIN(0, 1),
             "share of the KV blocks that an admission leaves free"),
    ROW_BOOL("padded", padded, DEFAULT("false"),
             "count prompts of a prefill at the length of the longest (vLLM before 0.3)"),
    ROW_CHOICE("preemption", preemption, DEFAULT("recompute"), preemptions,
               "KV of a preempted sequence: recomputed, or swapped to the host and back"),
    {0}};
#undef ROW_OF

static int64_t token_budget(const struct vllm_v0 *params, const struct replica_view *view)
{
    if (params->max_batched_tokens > 0) return params->max_batched_tokens;
    return view->max_context_tokens > 2048 ? view->max_context_tokens : 2048;
}

/* Admits from the head of the queue; stops at the first request that does not fit. Returns whether one is left over
 * that only a change at this replica can admit. */
static bool admit_from_head(const struct vllm_v0 *params, const struct replica_view *view, struct batch_plan *plan)
{
    int64_t budget = token_budget(params, view), watermark = (int64_t)(params->watermark * (double)view->total_blocks);
    int64_t free_blocks = view->free_blocks, running = replica_view_running(view), longest = 0, total = 0, added = 0;
    int64_t max_batch = sequences_per_batch(view, params->max_sequences);
    for (const struct request_view *head = view->waiting; head != NULL; head = head->next) {
        int64_t prompt = head->prompt_tokens, blocks = blocks_for_tokens(view, prompt);
        if (batch_plan_full(plan)) {
            plan->iterations = 1; /* the rest of the queue waits for the next plan */
            return true;
        }
        if (prompt > budget || blocks + watermark > view->total_blocks) {
            batch_plan_reject(plan, head,
                              prompt > budget ? "prompt exceeds the token budget" : "prompt exceeds the KV cache");
            continue;
        }
        int32_t tokens = prompt_chunk(view, head, prompt);
        if (tokens > longest) longest = tokens;
        total += tokens;
        added += request_view_sequences(head);
        int64_t n = plan->n_prefills + 1, needed = replica_view_needed_blocks(view, head, prompt);
        const bool has_tokens = (params->padded ? n * longest : total) <= budget;
        if (free_blocks - needed < watermark || !has_tokens ||
            (running + added > params->max_sequences && running + added > request_view_sequences(head)) ||
            n > max_batch) {
            batch_plan_limit(plan, head,
                             free_blocks - needed < watermark ? BATCH_LIMIT_KV_BLOCKS
                             : !has_tokens                    ? BATCH_LIMIT_TOKENS
                                                              : BATCH_LIMIT_SEQUENCES);
            return true;
        }
        free_blocks -= needed;
        batch_plan_prefill(plan, head, tokens);
    }
    return false;
}

static int vllm_v0_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct vllm_v0 *params = state;
    const struct room_rules rules = {.spare_blocks = 1, .max_batch = sequences_per_batch(view, params->max_sequences),
                                     .swap = params->preemption == 1};
    const bool has_swapped = view->n_nonresident > view->n_remote;
    if (has_swapped) batch_plan_limit(plan, NULL, BATCH_LIMIT_HOST);
    bool left_over = has_swapped || admit_from_head(params, view, plan);
    if (plan->n_prefills > 0) return 0;
    struct room room = make_room(view, plan, &rules);
    plan->recheck_on_arrival = !left_over;
    if (view->n_nonresident > 0)
        resume_requests(view, plan, &rules, params->max_sequences,
                        (int64_t)(params->watermark * (double)view->total_blocks), &room);
    return 0;
}

const struct batcher batching_vllm_v0 = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "vllm-v0",
               .summary = "prefill first, continuous batching, paged KV, preemption by recomputation or swapping",
               .source = "Kwon et al., SOSP 2023; vLLM 0.2",
               .params = vllm_v0_fields,
               .params_bytes = sizeof(struct vllm_v0),
               .state_bytes = sizeof(struct vllm_v0)},
    .compose = vllm_v0_compose,
    .accepts_remote = true,
    .forks = true,
    .order = BATCH_BY_ARRIVAL,
    .resumes_swapped = true,
};
