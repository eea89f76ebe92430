/* Gives calls of attention, and of products for it, the prompts or the decoding sequences of another batch. */
#include "models/operators/layer.h"

#include <math.h>

/* Query-key pairs within a window, for equal prompts. */
static double seen_pairs(const struct iteration_work *work, double window_tokens)
{
    const double prompts = (double)work->prefill_sequences, tokens = (double)work->prefill_tokens;
    if (window_tokens <= 0.0) return work->prefill_pairs;
    const double past = (double)work->prefill_context_tokens;
    return fmin(work->prefill_pairs, prompts * llm_window_pairs(tokens / prompts, past / prompts, window_tokens));
}

/* Cuts prompts at the ends of chunks: a first piece behind what its chunk holds already, then whole chunks. */
static void cut_at_chunks(struct prefill_shape *shape)
{
    const double prompts = shape->sequences, n = shape->tokens / prompts, p = shape->past / prompts;
    const double held = fmod(p, shape->chunk), first = fmin(n, shape->chunk - held);
    shape->sequences = prompts * (1.0 + ceil((n - first) / shape->chunk));
    shape->past = prompts * held;
    shape->pairs = fmin(shape->pairs, prompts * llm_chunk_pairs(n, p, shape->chunk));
    if (shape->decodes > 0.0) shape->decode_context = llm_chunk_context(shape->decode_context, shape->chunk);
}

void prefill_shape_rebatch(struct prefill_shape *shape, const struct iteration_work *work, bool mixes)
{
    shape->sequences = (double)work->prefill_sequences;
    shape->tokens = (double)work->prefill_tokens;
    shape->past = (double)work->prefill_context_tokens;
    if (mixes) {
        shape->decodes = (double)work->decode_sequences;
        shape->decode_drafts = (double)work->decode_drafts;
        shape->decode_longest = (double)work->decode_longest_tokens;
        shape->decode_context = shape->decodes > 0.0 ? (double)work->decode_context_tokens / shape->decodes : 0.0;
    }
    shape->pairs = seen_pairs(work, shape->window);
    if (shape->chunk > 0.0) cut_at_chunks(shape);
}

/* Gives a kernel that walks over contexts the prompts of a batch: half of their "pairs" are pairs. */
static void rebatch_prompt_scan(struct scan_shape *shape, const struct iteration_work *work)
{
    shape->queries = (double)work->prefill_tokens;
    shape->pairs = 0.5 * seen_pairs(work, shape->window);
    shape->keys = (double)(work->prefill_tokens + work->prefill_context_tokens);
    shape->sequences = (double)work->prefill_sequences;
}

/* The same for decoding sequences. */
static void rebatch_decode_scan(struct scan_shape *shape, const struct iteration_work *work)
{
    shape->sequences = (double)work->decode_sequences;
    shape->queries = (double)iteration_decode_tokens(work);
    shape->keys = (double)work->decode_context_tokens;
    if (shape->window > 0.0) shape->keys = fmin(shape->keys, shape->sequences * shape->window);
    shape->pairs = shape->keys * (double)(1 + work->decode_drafts);
}

static void rebatch_prefill(struct kernel_call *call, const struct iteration_work *work, bool mixes)
{
    if (kernel_is_scan(call->class))
        rebatch_prompt_scan(&call->shape.scan, work);
    else if (call->class == KERNEL_PREFILL_ATTENTION || call->class == KERNEL_LATENT_PREFILL)
        prefill_shape_rebatch(&call->shape.prefill, work, mixes);
    else
        call->shape.gemm.m = (double)work->prefill_tokens + (double)work->prefill_context_tokens;
}

static void rebatch_decode(struct kernel_call *call, const struct iteration_work *work)
{
    const double sequences = (double)work->decode_sequences;
    if (kernel_is_scan(call->class)) {
        rebatch_decode_scan(&call->shape.scan, work);
        return;
    }
    if (call->class != KERNEL_DECODE_ATTENTION && call->class != KERNEL_LATENT_DECODE) {
        call->shape.gemm.m = (double)iteration_decode_tokens(work);
        return;
    }
    call->shape.decode.sequences = sequences;
    call->shape.decode.drafts = (double)work->decode_drafts;
    call->shape.decode.context = (double)work->decode_context_tokens / sequences;
    call->shape.decode.longest = (double)work->decode_longest_tokens;
    if (call->shape.decode.chunk > 0.0)
        call->shape.decode.context = llm_chunk_context(call->shape.decode.context, call->shape.decode.chunk);
}

void kernel_use_rebatch(struct kernel_use *use, const struct iteration_work *work)
{
    if (use->driver == BY_PREFILL) rebatch_prefill(&use->call, work, use->mixes);
    if (use->driver == BY_DECODE) rebatch_decode(&use->call, work);
}
