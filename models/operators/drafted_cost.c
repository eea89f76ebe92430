/* Batches that verify drafts, one after the other: while sequences and drafts are the same, only attention changes,
 * and of attention only what follows from the context. */
#include "models/operators/operators.h"

#include <math.h>

static bool is_decode_attention(enum kernel_class class)
{
    return class == KERNEL_DECODE_ATTENTION || class == KERNEL_LATENT_DECODE;
}

/* The contexts for which the call lies in the range of its class: an interval, since the range is a box. */
static void set_range(const struct kernel_set *kernels, struct kernel_call call, struct operators_memo_use *kept)
{
    enum { CONTEXT_AXIS = 1 };
    const struct kernel_range *range = &kernels->ranges[call.class];
    call.shape.decode.context = range->low[CONTEXT_AXIS];
    const bool is_possible = kernel_in_range(kernels, &call);
    kept->low = is_possible ? range->low[CONTEXT_AXIS] : (double)NAN;
    kept->high = is_possible ? range->high[CONTEXT_AXIS] : (double)NAN;
}

static void keep_use(const struct operators_parts *parts, const struct kernel_use *use, struct operators_memo_use *kept)
{
    const struct kernel_call *call = &use->call;
    kept->count = use->count;
    kept->varies = is_decode_attention(call->class);
    if (kept->varies) {
        set_range(parts->kernels, *call, kept);
        decode_row_init(&kept->row, &parts->kernels->params[call->class].decode, parts->gpu, &call->shape.decode);
    } else {
        kept->fixed = operators_use_time(parts, use);
    }
}

static __attribute__((noinline)) void keep(const struct operators *operators, const struct iteration_work *own,
                                           int64_t all_tokens, struct operators_memo_batch *kept)
{
    const struct operators_parts *parts = &operators->parts;
    kept->sequences = own->decode_sequences;
    kept->drafts = own->decode_drafts;
    kept->all_tokens = all_tokens;
    kept->steady = operators_steady(operators, own, all_tokens);
    kept->n = operators->decode_attention.n;
    kept->is_possible = kept->n <= OPERATORS_MEMO_USES;
    for (size_t i = 0; kept->is_possible && i < kept->n; i++) {
        struct kernel_use use = operators->decode_attention.uses[i];
        kernel_use_rebatch(&use, own);
        keep_use(parts, &use, &kept->uses[i]);
        if (kernel_is_scan(use.call.class) || use.call.shape.decode.chunk > 0.0) kept->is_possible = false;
        if (kept->uses[i].varies && parts->kernels->tables[use.call.class] != NULL) kept->is_possible = false;
    }
}

static inline struct operators_time kept_time(struct operators_memo_use *kept, double context, double longest)
{
    if (!kept->varies) return kept->fixed;
    const double seconds = kept->count * decode_row_seconds(&kept->row, context, longest);
    return (struct operators_time){seconds, context >= kept->low && context <= kept->high ? 0.0 : seconds};
}

/* The kept batch like this one, made anew if it is another. */
static struct operators_memo_batch *find_kept(const struct operators *operators, struct operators_memo *memo,
                                              const struct iteration_work *own, int64_t all_tokens)
{
    struct operators_memo_batch *kept = &memo->batches[(uint64_t)own->decode_sequences % OPERATORS_MEMO_BATCHES];
    if (kept->sequences != own->decode_sequences || kept->drafts != own->decode_drafts ||
        kept->all_tokens != all_tokens)
        keep(operators, own, all_tokens, kept);
    return kept;
}

static inline void cost_of_kept(struct operators_memo_batch *kept, struct engine_seconds host,
                                const struct iteration_work *own, struct iteration_cost *cost)
{
    struct operators_time attention = {0.0, 0.0};
    const double context = (double)own->decode_context_tokens / (double)own->decode_sequences;
    for (size_t i = 0; i < kept->n; i++) {
        const struct operators_time time = kept_time(&kept->uses[i], context, (double)own->decode_longest_tokens);
        attention.seconds += time.seconds;
        attention.outside_s += time.outside_s;
    }
    const double gpu_s = attention.seconds + kept->steady.seconds;
    const double outside_s = kept->steady.outside_s + attention.outside_s;
    *cost = (struct iteration_cost){
        .first_s = larger_of(gpu_s, host.launch_s) + host.waiting_s,
        .until = 1,
        .extrapolated_frac = operators_share(outside_s, gpu_s),
    };
}

void operators_cost_row(const void *model, void *memo, const struct iteration_work *works, int32_t n,
                        struct iteration_cost *costs)
{
    const struct operators *operators = model;
    const struct llm_split *split = &operators->parts.split;
    const bool is_grouped = split->data > 1;
    const bool is_drafted = works->decode_drafts > 0 && works->prefill_tokens == 0 && works->decode_sequences > 0;
    struct operators_memo_batch *kept = NULL;
    struct engine_seconds host = {0.0, 0.0};
    struct iteration_work part;
    if (is_drafted && !llm_split_has_deepep(split)) {
        if (is_grouped) part = llm_group_work(split, works);
        kept = find_kept(operators, memo, is_grouped ? &part : works, iteration_decode_tokens(works));
        host = engine_seconds(&operators->parts.engine, operators->layers, is_grouped ? &part : works);
    }
    for (int32_t i = 0; i < n; i++) {
        if (kept == NULL || !kept->is_possible) {
            operators_cost(model, &works[i], &costs[i]);
            continue;
        }
        if (is_grouped) part = llm_group_work(split, &works[i]);
        cost_of_kept(kept, host, is_grouped ? &part : &works[i], &costs[i]);
    }
}
