#include "policies/batching/reservation.h"

#include <stddef.h>

const char *const reservation_names[] = {"max", "pow2", "oracle", NULL};

static int64_t power_of_two(int64_t at_least)
{
    int64_t power = 1;
    while (power < at_least) power *= 2;
    return power;
}

static int64_t longest_tokens(const struct reservation_params *params, const struct replica_view *view)
{
    return params->max_tokens > 0 ? params->max_tokens : view->max_context_tokens;
}

/* Tokens to reserve for a waiting request, at most the capacity of the KV cache. If another replica decodes it, only
 * its prompt counts. */
static int64_t reserved_tokens(const struct reservation_params *params, const struct replica_view *view,
                               const struct request_view *request)
{
    int64_t tokens = longest_tokens(params, view), whole = view->total_blocks * view->block_tokens;
    int64_t prompt = request->prompt_tokens;
    if (!replica_view_decodes_here(view, request)) {
        tokens = prompt;
    } else if (params->kind != RESERVATION_MAX) {
        int64_t output = replica_view_output_tokens(view, request);
        if (params->kind == RESERVATION_POW2) output = power_of_two(output);
        if (prompt + output < tokens) tokens = prompt + output;
    }
    if (params->buddy) tokens = power_of_two(tokens);
    return tokens < whole ? tokens : whole;
}

/* Whether prompt and output exceed max_tokens. */
static bool is_exceeded(const struct reservation_params *params, const struct replica_view *view,
                        const struct request_view *request)
{
    if (params->max_tokens == 0) return false;
    int64_t output = replica_view_decodes_here(view, request) ? replica_view_output_tokens(view, request) : 0;
    return request->prompt_tokens + output > params->max_tokens;
}

bool reservation_admit(const struct reservation_params *params, const struct replica_view *view,
                       struct batch_plan *plan, int64_t present, int64_t max_sequences)
{
    int64_t free_blocks = view->free_blocks;
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next) {
        if (batch_plan_full(plan)) {
            plan->iterations = 1; /* the rest of the queue waits for the next plan */
            return true;
        }
        if (is_exceeded(params, view, r)) {
            batch_plan_reject(plan, r, "prompt and output exceed max_tokens");
            continue;
        }
        int64_t tokens = reserved_tokens(params, view, r), blocks = replica_view_needed_blocks(view, r, tokens);
        if (present++ >= max_sequences || blocks > free_blocks) {
            batch_plan_limit(plan, r, blocks > free_blocks ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_SEQUENCES);
            return true;
        }
        free_blocks -= blocks;
        batch_plan_prefill_holding(plan, r, r->prompt_tokens - (int32_t)replica_view_cached_tokens(view, r), tokens);
    }
    return false;
}
