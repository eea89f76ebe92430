#include "models/training/reduction.h"

#include "models/training/expert_pipeline.h"
#include "models/training/quantised.h"
#include "models/training/tiers.h"

#include <math.h>

/* Ranks with the same weights, `stride` apart, and how they share states. */
struct sharing {
    struct training_shards shards;
    int64_t replicas, stride;
    double parameters;
};

/* What ranks send for a step: for each micro-batch, layer by layer, and once at its end. */
struct traffic {
    struct training_reduction layer_weights, layer_gradients, end_gradients, end_weights;
    struct training_exchanges exchanges; /* of all */
};

/* `calls` equal collectives of some of these ranks, `bytes` together; `sum` is of the traffic. */
static void add_calls(const struct training_parts *parts, struct traffic *traffic, struct training_reduction *sum,
                      enum kernel_class class, struct training_group group, double bytes, double calls)
{
    const enum training_exchange_kind kind = class == KERNEL_ALL_TO_ALL ? EXCHANGE_ALL_TO_ALL : EXCHANGE_RING;
    const struct training_collective collective = training_collective_of(parts, class, group, bytes / calls);
    training_exchange_add(&traffic->exchanges, kind, group, calls * collective.exchanged_bytes);
    sum->seconds += calls * collective.seconds;
    sum->sent_bytes += calls * collective.sent_bytes;
    if (collective.outside) sum->outside_s += calls * collective.seconds;
}

static void add_quantising(struct training_reduction *sum, double calls, const struct training_quantising *each)
{
    sum->quantise_s += calls * each->seconds;
    sum->quantise_bytes += calls * each->bytes;
    sum->outside_s += calls * each->outside_s;
}

/* Gathers of `n` weights together. */
static void add_gathers(const struct training_parts *parts, struct traffic *traffic, struct training_reduction *sum,
                        struct training_group group, double n, double calls)
{
    const struct training_quantising each = training_quantise_gather(parts, group.gpus, n / calls);
    add_calls(parts, traffic, sum, KERNEL_ALL_GATHER, group, training_weight_message_bytes(parts) * n, calls);
    add_quantising(sum, calls, &each);
}

/* Each rank gets its part of the sums of `n` gradients together: by reduce-scatters, or in few bits by all-to-alls. */
static void add_scatters(const struct training_parts *parts, struct traffic *traffic, struct training_reduction *sum,
                         struct training_group group, double n, double calls)
{
    const double bytes = training_gradient_message_bytes(parts) * n;
    if (parts->plan->gradient_message == MESSAGE_STORED) {
        add_calls(parts, traffic, sum, KERNEL_REDUCE_SCATTER, group, bytes, calls);
        return;
    }
    const struct training_hops hops = training_hops_of(parts->plan, group);
    const struct training_quantising each = training_quantise_scatter(parts, &hops, n / calls);
    add_calls(parts, traffic, sum, KERNEL_ALL_TO_ALL, hops.within, bytes, calls);
    add_calls(parts, traffic, sum, KERNEL_ALL_TO_ALL, hops.between, bytes / (double)hops.within.gpus, calls);
    add_quantising(sum, calls, &each);
}

/* `count` ranks that lie `inner` shards apart. */
static struct training_group group_of(const struct sharing *sharing, int64_t count, int64_t inner)
{
    return (struct training_group){count, sharing->stride * inner};
}

/* The end of a step of a program that sums all gradients on all ranks with the same shard of them, after which each
 * rank broadcasts the weights that it has updated, one rank after another (AMSP, T_os). A broadcast around a ring of n
 * takes n - 1 steps, and every link carries all of it: an all-gather of n/(n - 1) times as much. */
static void add_broadcasts(const struct training_parts *parts, const struct sharing *sharing, double end_calls,
                           struct traffic *traffic)
{
    const struct training_shards shards = sharing->shards;
    const int64_t n = shards.optimizer / shards.weights, sums = sharing->replicas / shards.gradients;
    const double weight_bytes = parts->trainer->weight_bytes * sharing->parameters / (double)shards.weights;
    const double gradient_bytes = parts->trainer->gradient_bytes * sharing->parameters / (double)shards.gradients;
    if (sums > 1)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE, group_of(sharing, sums, shards.gradients),
                  gradient_bytes, end_calls);
    if (n > 1)
        add_calls(parts, traffic, &traffic->end_weights, KERNEL_ALL_GATHER, group_of(sharing, n, shards.weights),
                  weight_bytes * (double)n / (double)(n - 1), (double)n);
}

/* Weights for the forward and the backward pass of each micro-batch, layer by layer; backward but for those that are
 * still there. */
static void add_layer_weights(const struct training_parts *parts, const struct sharing *sharing, double n, double calls,
                              struct traffic *traffic)
{
    const double layers = (double)training_plan_layers(parts->plan, parts->llm, 0);
    const int64_t w = sharing->shards.weights, second = sharing->shards.secondary;
    if (second == 0) {
        const double gathers = 2.0 - training_buffered_layers(parts) / layers;
        add_gathers(parts, traffic, &traffic->layer_weights, group_of(sharing, w, 1), gathers * n, gathers * calls);
        return;
    }
    add_gathers(parts, traffic, &traffic->layer_weights, group_of(sharing, w, 1), n, calls);
    add_gathers(parts, traffic, &traffic->layer_weights, group_of(sharing, second, 1), n, calls);
}

static void add_sharing(const struct training_parts *parts, const struct sharing *sharing, double layers,
                        double end_calls, struct traffic *traffic)
{
    const struct training_shards shards = sharing->shards;
    const double n = sharing->parameters, batches = (double)parts->plan->micro_batches, calls = batches * layers;
    const int64_t w = shards.weights, g = shards.gradients, o = shards.optimizer;
    if (w > 1) {
        add_layer_weights(parts, sharing, batches * n, calls, traffic);
        add_scatters(parts, traffic, &traffic->layer_gradients, group_of(sharing, w, 1), batches * n, calls);
    }
    if (g > w)
        add_scatters(parts, traffic, &traffic->layer_gradients, group_of(sharing, g / w, w), batches * n / (double)w,
                     calls);
    if (parts->trainer->broadcasts) {
        add_broadcasts(parts, sharing, end_calls, traffic);
        return;
    }
    if (o > g)
        add_scatters(parts, traffic, &traffic->end_gradients, group_of(sharing, o / g, g), n / (double)g, end_calls);
    if (sharing->replicas > o)
        add_calls(parts, traffic, &traffic->end_gradients, KERNEL_ALL_REDUCE,
                  group_of(sharing, sharing->replicas / o, o), parts->trainer->gradient_bytes * n / (double)o,
                  end_calls);
    if (o > w) add_gathers(parts, traffic, &traffic->end_weights, group_of(sharing, o / w, w), n / (double)w, 1.0);
}

/* `end_calls`: messages of a kind that gradients are sent in at the end of a step. */
static struct traffic traffic_of(const struct training_parts *parts, const struct training_stage_size *size,
                                 double end_calls)
{
    const struct training_plan *plan = parts->plan;
    const struct training_parameters parameters = size->parameters;
    const double layers = size->layers;
    const int64_t replicas = training_plan_replicas(plan), expert_replicas = replicas / plan->expert;
    const struct sharing dense = {training_plan_shards(plan, replicas), replicas, plan->tensor, parameters.dense};
    const struct sharing expert = {training_plan_shards(plan, expert_replicas), expert_replicas,
                                   plan->tensor * plan->expert, parameters.expert};
    struct traffic traffic = {.exchanges.n = 0};
    add_sharing(parts, &dense, layers, end_calls, &traffic);
    if (parameters.expert > 0.0) add_sharing(parts, &expert, layers, end_calls, &traffic);
    return traffic;
}

/* What hides behind `cover_s` does not show, but for the part of one of `layers`. */
static double shown_s(double seconds, double cover_s, double layers, double overlap_frac)
{
    return fmax(seconds - overlap_frac * fmin(seconds, cover_s), seconds / layers);
}

/* `overlap_frac`: share that hides; 0: the plan overlaps nothing. */
static void add_shown(struct training_reduction *sum, const struct training_reduction *part, double overlap_frac,
                      double cover_s, double layers)
{
    sum->seconds += part->seconds;
    sum->sent_bytes += part->sent_bytes;
    sum->outside_s += part->outside_s;
    sum->quantise_s += part->quantise_s;
    sum->quantise_bytes += part->quantise_bytes;
    sum->exposed_s += shown_s(part->seconds, cover_s, layers, overlap_frac);
}

/* Seconds that gradients in parts save, in the fastest number of messages per layer: they go between other messages of
 * the last backward pass (Pan et al. 2025, FSMoE). Rings inside nodes gain nothing here. */
static double saved_by_parts_s(const struct training_parts *parts, const struct training_cover *cover,
                               const struct training_stage_size *size, const struct training_reduction *at_once)
{
    const struct training_plan *plan = parts->plan;
    const int64_t layers = (int64_t)fmax(rint(size->layers), 1.0); /* of a mean stage the nearest number */
    const double gap_s = fmax(cover->backward_s - cover->network_s, 0.0) / (double)layers;
    double saved_s = 0.0;
    if (plan->lengths != NULL) return 0.0; /* gaps of passes of unlike length are not known */
    if (!training_collective_is_far(parts, KERNEL_ALL_REDUCE, training_replica_group(plan))) return 0.0;
    for (int64_t n = 1; n <= plan->gradient_parts; n++) {
        const double calls = (double)(n * layers);
        const double seconds = traffic_of(parts, size, calls).end_gradients.seconds;
        saved_s = fmax(saved_s, at_once->seconds - expert_gradients_s(layers, n, seconds / calls, gap_s));
    }
    return saved_s;
}

struct training_reduction training_reduction_of(const struct training_parts *parts, const struct training_cover *cover,
                                                const struct training_stage_size *size)
{
    const struct training_plan *plan = parts->plan;
    const double layers = size->layers, batches = (double)plan->micro_batches;
    const double overlap_frac = parts->trainer->overlap_frac;
    const double weights_frac = plan->overlap_weights ? overlap_frac : 0.0;
    const double gradients_frac = plan->overlap_gradients ? overlap_frac : 0.0;
    const struct traffic traffic = traffic_of(parts, size, 1.0);
    struct training_reduction sum = {0};
    add_shown(&sum, &traffic.layer_weights, weights_frac, batches * (cover->forward_s + cover->backward_s),
              batches * layers);
    add_shown(&sum, &traffic.layer_gradients, gradients_frac, batches * cover->backward_s, batches * layers);
    add_shown(&sum, &traffic.end_gradients, gradients_frac, cover->backward_s, layers);
    sum.exposed_s -= saved_by_parts_s(parts, cover, size, &traffic.end_gradients);
    add_shown(&sum, &traffic.end_weights, weights_frac, cover->forward_s, layers);
    return sum;
}

struct training_exchanges training_reduction_exchanges(const struct training_parts *parts,
                                                       const struct training_stage_size *size)
{
    return traffic_of(parts, size, 1.0).exchanges;
}

struct training_stage_size training_stage_size_of(const struct training_parts *parts, int64_t stage)
{
    return (struct training_stage_size){training_stage_parameters(parts, stage),
                                        (double)training_plan_layers(parts->plan, parts->llm, stage)};
}
