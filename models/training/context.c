#include "models/training/context.h"

#include <math.h>

/* A layer of the given kind among the context ranks, and the passes that get its messages. */
struct meeting {
    const struct training_parts *parts;
    const struct training_context *context;
    struct training_block *block;
    double ranks, share; /* share: of the layers */
};

enum { PASSES = 2 };

static struct training_time *pass_of(const struct meeting *meeting, int pass)
{
    return pass == 0 ? &meeting->block->forward : &meeting->block->input;
}

/* Time of the backward pass inside attention over that of the forward pass. */
static double pass_factor(const struct meeting *meeting, int pass)
{
    return pass == 0 ? 1.0 : 2.5 / meeting->parts->trainer->attention_backward;
}

static bool is_far(const struct meeting *meeting, enum kernel_class class)
{
    return training_collective_is_far(meeting->parts, class, training_context_group(meeting->parts->plan));
}

/* Adds the time of a message of this class, of which hidden_s of computing can hide a part. */
static void expose(const struct meeting *meeting, int pass, enum kernel_class class, double seconds, double hidden_s,
                   bool outside)
{
    struct training_time *time = pass_of(meeting, pass);
    const double exposed_s = meeting->share *
                             (seconds - meeting->parts->trainer->overlap_frac * fmin(seconds, hidden_s));
    time->context_s += exposed_s;
    if (outside) time->outside_s += exposed_s;
    if (is_far(meeting, class)) time->network_s += meeting->share * seconds;
}

static void count(const struct meeting *meeting, const struct training_collective *collective, double *exchanged)
{
    *exchanged += meeting->share * collective->exchanged_bytes;
    meeting->block->context_bytes += meeting->share * collective->sent_bytes;
}

static struct training_collective collective_of(const struct meeting *meeting, enum kernel_class class, double bytes)
{
    return training_collective_of(meeting->parts, class, training_context_group(meeting->parts->plan), bytes);
}

/* Heads for tokens, before and after attention: queries, keys, values and results. */
static void add_all_to_all(const struct meeting *meeting)
{
    const struct training_context *context = meeting->context;
    const double key = (double)llm_key_dim(meeting->parts->llm), value = (double)llm_value_dim(meeting->parts->llm);
    const double token_bytes = 2.0 * context->tokens;
    const double widths[] = {context->q_heads * key, context->kv_heads * key, context->kv_heads * value,
                             context->q_heads * value};
    for (int pass = 0; pass < PASSES; pass++)
        for (int i = 0; i < 4; i++) {
            const struct training_collective one = collective_of(meeting, KERNEL_ALL_TO_ALL, token_bytes * widths[i]);
            count(meeting, &one, &pass_of(meeting, pass)->context_sent);
            expose(meeting, pass, KERNEL_ALL_TO_ALL, one.seconds, 0.0, one.outside);
        }
}

/* Keys and values move on while a rank attends to those that it has; backward with their gradients. */
static void add_ring(const struct meeting *meeting)
{
    const struct training_context *context = meeting->context;
    const double width = (double)(llm_key_dim(meeting->parts->llm) + llm_value_dim(meeting->parts->llm));
    const double kv_bytes = 2.0 * context->tokens * context->kv_heads * width;
    for (int pass = 0; pass < PASSES; pass++) {
        const struct training_collective one = collective_of(meeting, KERNEL_SEND, kv_bytes * (pass == 0 ? 1.0 : 2.0));
        const double hidden_s = context->softmax_s / meeting->share / meeting->ranks * pass_factor(meeting, pass);
        for (double step = 1.0; step < meeting->ranks; step++) {
            count(meeting, &one, &pass_of(meeting, pass)->context_sent);
            expose(meeting, pass, KERNEL_SEND, one.seconds, hidden_s, one.outside);
        }
    }
}

/* Whether the next rank and the one before have links of their own, so that what goes to one does not wait for what
 * goes to the other. */
static bool has_two_links(const struct meeting *meeting)
{
    const struct gpu_spec *gpu = meeting->parts->gpu;
    const struct training_group group = training_context_group(meeting->parts->plan);
    return (gpu->fabric == FABRIC_MESH || gpu->fabric == FABRIC_FULL) && group.gpus > 2 &&
           !is_far(meeting, KERNEL_SEND) && group.gpus * group.stride <= gpu->nvlink_gpus;
}

/* Queries move on while a rank attends with those that it has; results go back to the rank of their queries. A rank
 * attends with its own queries first, whose results stay. Later results leave one step after their queries came. */
static void add_token_ring(const struct meeting *meeting)
{
    const struct training_context *context = meeting->context;
    const double key = (double)llm_key_dim(meeting->parts->llm), value = (double)llm_value_dim(meeting->parts->llm);
    const double rows = context->tokens * context->q_heads;
    const double on_bytes[] = {2.0 * rows * key, rows * (2.0 * (key + value) + 8.0)};
    const double back_bytes[] = {rows * (2.0 * value + 4.0), 2.0 * rows * key};
    const bool at_once = has_two_links(meeting);
    for (int pass = 0; pass < PASSES; pass++) {
        const struct training_collective on = collective_of(meeting, KERNEL_SEND, on_bytes[pass]);
        const struct training_collective back = training_return_of(meeting->parts, back_bytes[pass]);
        const double step_s = context->softmax_s / meeting->share / meeting->ranks * pass_factor(meeting, pass);
        for (double step = 0.0; step <= meeting->ranks; step++) {
            const bool sends = step<meeting->ranks - 1.0, returns = step> 1.0;
            const double on_s = sends ? on.seconds : 0.0, back_s = returns ? back.seconds : 0.0;
            if (sends) count(meeting, &on, &pass_of(meeting, pass)->context_sent);
            if (returns) count(meeting, &back, &pass_of(meeting, pass)->returned_sent);
            expose(meeting, pass, KERNEL_SEND, at_once ? fmax(on_s, back_s) : on_s + back_s,
                   step < meeting->ranks ? step_s : 0.0, (sends && on.outside) || (returns && back.outside));
        }
    }
}

/* States of all ranks are gathered beside the part within blocks, which needs none. */
static void add_states(const struct meeting *meeting)
{
    const struct training_context *context = meeting->context;
    const struct llm_spec *llm = meeting->parts->llm;
    const double key = (double)llm_key_dim(llm), value = (double)llm_value_dim(llm);
    const double own_bytes = 2.0 * context->kv_heads * key * value * (double)meeting->parts->plan->micro_batch;
    const double window = training_linear_window(llm, 0.5), block = 0.5 * (double)TRAINING_LINEAR_BLOCK;
    const struct training_collective one = collective_of(meeting, KERNEL_ALL_GATHER, own_bytes * meeting->ranks);
    for (int pass = 0; pass < PASSES; pass++) {
        const double hidden_s = context->linear_s / meeting->share * block / window * pass_factor(meeting, pass);
        count(meeting, &one, &pass_of(meeting, pass)->state_sent);
        expose(meeting, pass, KERNEL_ALL_GATHER, one.seconds, hidden_s, one.outside);
    }
}

double training_linear_window(const struct llm_spec *llm, double block_frac)
{
    const double key = (double)llm_key_dim(llm), value = (double)llm_value_dim(llm);
    return 2.0 * key * value / (key + value) + block_frac * (double)TRAINING_LINEAR_BLOCK;
}

void training_context_add(const struct training_parts *parts, const struct training_context *context,
                          struct training_block *block)
{
    const double linear_frac = training_linear_frac(parts);
    const struct meeting softmax = {parts, context, block, (double)parts->plan->context, 1.0 - linear_frac};
    const struct meeting linear = {parts, context, block, (double)parts->plan->context, linear_frac};
    if (parts->plan->context == 1) return;
    if (linear.share > 0.0) add_states(&linear);
    if (!(softmax.share > 0.0)) return;
    switch (parts->plan->context_form) {
    case CONTEXT_RING: add_ring(&softmax); return;
    case CONTEXT_ALL_TO_ALL: add_all_to_all(&softmax); return;
    case CONTEXT_TOKEN_RING: add_token_ring(&softmax); return;
    }
}
