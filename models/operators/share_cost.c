/* Iterations whose time is not the plain sum of the tables: those with DeepEP's kernels, whose sending two batches may
 * hide, and those with a share of the network.
 *
 * What a share of the network adds is the difference of the collectives, kernel by kernel, at the share and without. It
 * is added where their time is: to the computing of a batch, or of a half, or to its sending. So it may be hidden too,
 * behind computing and behind a host that launches kernels. */
#include "models/operators/operators.h"
#include "models/operators/traffic.h"

#include <math.h>

/* The larger half of a batch: a prompt can be cut anywhere, a decoding sequence nowhere. */
static struct iteration_work half_of(const struct iteration_work *work)
{
    const int64_t decodes = work->decode_sequences, most = (decodes + 1) / 2;
    struct iteration_work half = *work;
    half.prefill_sequences = (work->prefill_sequences + 1) / 2;
    half.prefill_tokens = (work->prefill_tokens + 1) / 2;
    half.prefill_context_tokens = (work->prefill_context_tokens + 1) / 2;
    half.prefill_pairs = 0.5 * work->prefill_pairs;
    half.decode_sequences = most;
    if (decodes > 0)
        half.decode_context_tokens = work->decode_context_tokens / decodes * most +
                                     work->decode_context_tokens % decodes * most / decodes;
    return half;
}

/* A batch of which each group has this part. */
static struct iteration_work of_all_groups(const struct iteration_work *own, int64_t groups)
{
    struct iteration_work all = *own;
    all.prefill_sequences *= groups;
    all.prefill_tokens *= groups;
    all.prefill_context_tokens *= groups;
    all.prefill_pairs *= (double)groups;
    all.decode_sequences *= groups;
    all.decode_context_tokens *= groups;
    return all;
}

struct piece operators_overlap(struct piece computing, double sending_s, double layers)
{
    const struct piece sending = piece_line(sending_s, 0.0);
    const struct piece longer = piece_scale(piece_max(computing, sending), 2.0);
    return piece_add(longer, piece_scale(piece_min(computing, sending), 1.0 / layers));
}

/* Computing beside normal kernels that send: it lacks their SMs. */
static double slower_by_sms(const struct operators_parts *parts)
{
    const double all = (double)parts->gpu->sm_count, taken = (double)parts->split.dispatch_sms;
    return parts->split.dispatch == DISPATCH_NORMAL ? all / fmax(all - taken, 1.0) : 1.0;
}

/* Two halves of what a group has of a batch of all_tokens, at a share of the network. */
static struct piece cost_of_halves(const struct operators *operators, const struct iteration_work *own,
                                   int64_t all_tokens, double share_frac)
{
    const int64_t groups = operators->parts.split.data;
    const struct iteration_work half = half_of(own), halves = of_all_groups(&half, groups > 1 ? groups : 1);
    const struct operators_slower slower = operators_slower_at(&operators->parts, &halves, share_frac);
    const struct piece part = operators_computing(operators, &half, (all_tokens + 1) / 2).gpu;
    const double sent_s = operators_sending(operators, half.prefill_tokens + iteration_decode_tokens(&half)).seconds;
    const struct piece slowed = piece_scale(piece_add(part, piece_line(slower.computing_s, 0.0)),
                                            slower_by_sms(&operators->parts));
    return operators_overlap(slowed, sent_s + slower.sending_s, operators->layers);
}

void operators_cost_at_share(const void *model, const struct iteration_work *work, double share_frac,
                             struct iteration_cost *cost)
{
    const struct operators *operators = model;
    const struct operators_parts *parts = &operators->parts;
    const int64_t all_tokens = work->prefill_tokens + iteration_decode_tokens(work);
    const struct iteration_work own = llm_group_work(&parts->split, work);
    const struct operators_time sending = operators_sending(operators,
                                                            own.prefill_tokens + iteration_decode_tokens(&own));
    const struct operators_computing whole = operators_computing(operators, &own, all_tokens);
    struct piece gpu = piece_add(whole.gpu, piece_line(sending.seconds, 0.0));
    const double outside_frac = operators_share(whole.outside_s + sending.outside_s, gpu.now);
    const struct operators_slower slower = operators_slower_at(parts, work, share_frac);
    gpu = piece_add(gpu, piece_line(slower.computing_s + slower.sending_s, 0.0));
    if (parts->two_batches && llm_split_has_deepep(&parts->split))
        gpu = piece_min(gpu, cost_of_halves(operators, &own, all_tokens, share_frac));
    const struct piece all = engine_iteration(&parts->engine, operators->layers, &own, gpu);
    *cost = (struct iteration_cost){
        .first_s = all.now,
        .slope_s = all.slope,
        .until = own.prefill_tokens > 0 || own.decode_drafts > 0 ? 1 : all.until,
        .extrapolated_frac = outside_frac,
    };
}
