#include "models/training/tiers.h"

#include <math.h>

bool training_tiers_used(const struct training_tiers *tiers)
{
    return tiers->weights != HOME_GPU || tiers->gradients != HOME_GPU || tiers->optimizer != HOME_GPU ||
           tiers->activations != HOME_GPU;
}

double training_ranks_on_node(const struct training_plan *plan)
{
    const int64_t gpus = training_plan_gpus(plan), each = plan->gpus_per_node;
    return (double)(gpus < each ? gpus : each);
}

double training_moving_frac(const struct training_parts *parts)
{
    const double layers = (double)training_plan_layers(parts->plan, parts->llm, 0);
    return fmax(1.0 - (double)parts->plan->tiers.persistent / layers, 0.0);
}

double training_buffered_layers(const struct training_parts *parts)
{
    const double layers = (double)training_plan_layers(parts->plan, parts->llm, 0);
    if (parts->plan->tiers.weights == HOME_GPU) return 0.0;
    return fmin((double)parts->plan->tiers.buffers, training_moving_frac(parts) * layers);
}

/* --- Where things lie --- */

/* Bytes of a rank's states by tier, activations apart. */
static void state_bytes(const struct training_parts *parts, double bytes[TRAINING_HOMES])
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const struct training_holdings own = training_holdings_of(parts, 0);
    const double moving = training_moving_frac(parts);
    for (int home = 0; home < TRAINING_HOMES; home++) bytes[home] = 0.0;
    bytes[tiers->weights] += moving * parts->trainer->weight_bytes * own.weights;
    bytes[tiers->gradients] += moving * parts->trainer->gradient_bytes * own.gradients;
    bytes[tiers->optimizer] += moving * parts->trainer->optimizer_bytes * own.optimizer;
}

struct training_homes training_homes_of(const struct training_parts *parts)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    double bytes[TRAINING_HOMES];
    struct training_homes homes = {.host_bytes = 0.0};
    if (!training_tiers_used(tiers)) return homes;
    const double ranks = training_ranks_on_node(parts->plan);
    const double layers = (double)training_plan_layers(parts->plan, parts->llm, 0);
    state_bytes(parts, bytes);
    homes.disk_bytes = ranks * bytes[HOME_DISK];
    homes.host_bytes = ranks * (bytes[HOME_HOST] + fmin(2.0 / layers, 1.0) * bytes[HOME_DISK]);
    if (tiers->activations == HOME_GPU) return homes;
    const double kept = ranks * training_swapped_bytes(parts, 0),
                 room = fmax(tiers->host_bytes - homes.host_bytes, 0.0);
    const bool overflows = tiers->activations == HOME_DISK && tiers->host_bytes > 0.0 && kept > room;
    homes.activation_disk_frac = overflows ? 1.0 - room / kept : 0.0;
    homes.host_bytes += (1.0 - homes.activation_disk_frac) * kept;
    homes.disk_bytes += homes.activation_disk_frac * kept;
    return homes;
}

/* --- What moves --- */

/* Bandwidths that others leave. */
struct rates {
    double up, down, read, write; /* bytes/s; of drives those of a node */
};

/* Bytes of a pass or an update: over the link of a rank, and of the drives of a node. */
struct moved {
    double up, down, read, written;
};

static struct rates rates_of(const struct training_plan *plan)
{
    const struct training_tiers *tiers = &plan->tiers;
    const struct training_link_shares left = training_shares_of(plan);
    const double disk_frac = 1.0 - tiers->others_disk_frac, link_frac = 1.0 - tiers->others_link_frac;
    return (struct rates){
        left.up * tiers->link_bytes_per_s * link_frac, left.down * tiers->link_bytes_per_s * link_frac,
        left.read * tiers->read_bytes_per_s * disk_frac, left.write * tiers->write_bytes_per_s * disk_frac};
}

static double drives_s(const struct moved *moved, const struct rates *rates)
{
    return (moved->read > 0.0 ? moved->read / rates->read : 0.0) +
           (moved->written > 0.0 ? moved->written / rates->write : 0.0);
}

static struct training_load load_of(const struct moved *moved, const struct rates *rates, double gpu_s, double cpu_s)
{
    return (struct training_load){{[RESOURCE_GPU] = gpu_s,
                                   [RESOURCE_UP] = moved->up / rates->up,
                                   [RESOURCE_DOWN] = moved->down / rates->down,
                                   [RESOURCE_DRIVES] = drives_s(moved, rates),
                                   [RESOURCE_CPU] = cpu_s}};
}

/* Weights that a rank moves once, and those that its node reads. */
static struct moved weights_once(const struct training_parts *parts)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const double own = training_moving_frac(parts) * parts->trainer->weight_bytes *
                       training_holdings_of(parts, 0).weights;
    if (tiers->weights == HOME_GPU) return (struct moved){.up = 0.0};
    return (struct moved){.up = own,
                          .read = tiers->weights == HOME_DISK ? training_ranks_on_node(parts->plan) * own : 0.0};
}

/* What a link and a node's drives could move while the weights come once. Owners take turns: of a layer each tensor
 * rank has one. */
static struct moved weights_in_turn(const struct training_parts *parts)
{
    const struct training_parameters all = training_stage_parameters(parts, 0);
    const double whole = training_moving_frac(parts) * parts->trainer->weight_bytes * (all.dense + all.expert);
    const double owners = fmin((double)parts->plan->tensor, training_ranks_on_node(parts->plan));
    struct moved moved = weights_once(parts);
    if (!parts->plan->tiers.by_owner) return moved;
    if (moved.up > 0.0) moved.up = whole;
    if (moved.read > 0.0) moved.read = fmax(owners * whole, moved.read);
    return moved;
}

/* Activations of a micro-batch that a rank moves one way, and those that its node writes. */
static struct moved activations_once(const struct training_parts *parts)
{
    const double kept = training_swapped_bytes(parts, 0), ranks = training_ranks_on_node(parts->plan);
    return (struct moved){.down = kept, .written = training_homes_of(parts).activation_disk_frac * ranks * kept};
}

static struct moved backward_moved(const struct training_parts *parts, const struct moved *weights,
                                   const struct moved *kept)
{
    const struct training_plan *plan = parts->plan;
    const double layers = (double)training_plan_layers(plan, parts->llm, 0);
    const double again = 1.0 + (double)training_plan_recomputed(plan, parts->llm, 0) / layers;
    const double moving = training_moving_frac(parts), buffered = training_buffered_layers(parts) / layers;
    const double loads = plan->tiers.buffers == 0 ? again : moving > 0.0 ? 1.0 - buffered / moving : 0.0;
    const double gradients = moving * parts->trainer->gradient_bytes * training_holdings_of(parts, 0).gradients;
    const double on_disk = plan->tiers.gradients == HOME_DISK ? training_ranks_on_node(plan) * gradients : 0.0;
    const double batches = (double)plan->micro_batches;
    return (struct moved){
        .up = loads * weights->up + kept->down,
        .down = plan->tiers.gradients != HOME_GPU ? gradients : 0.0,
        .read = loads * weights->read + kept->written + on_disk * (batches - 1.0) / batches, /* of earlier ones */
        .written = on_disk,
    };
}

/* Whether GPUs reduce gradients at the end of a step. */
static bool reduces_at_end(const struct training_plan *plan)
{
    const int64_t replicas = training_plan_replicas(plan);
    return replicas > training_plan_shards(plan, replicas).gradients;
}

static struct moved scaled(const struct moved *moved, double frac)
{
    return (struct moved){frac * moved->up, frac * moved->down, frac * moved->read, frac * moved->written};
}

/* Gradients that GPUs reduce and weights that they gather at the end of a step come to them and go back, with those of
 * experts. */
static struct moved update_moved(const struct training_parts *parts)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const struct training_holdings own = training_holdings_of(parts, 0);
    const double ranks = training_ranks_on_node(parts->plan), states = parts->trainer->optimizer_bytes * own.optimizer;
    const double each_weight = parts->trainer->weight_bytes, each_gradient = parts->trainer->gradient_bytes;
    const bool by_cpu = tiers->optimizer != HOME_GPU;
    const bool reduces = tiers->gradients != HOME_GPU && reduces_at_end(parts->plan);
    const bool gathers = tiers->weights != HOME_GPU && own.weights > own.optimizer;
    struct moved moved = {.up = 0.0};
    if (by_cpu && (tiers->weights == HOME_GPU || gathers)) moved.up += each_weight * own.optimizer;
    if (tiers->weights != HOME_GPU && (!by_cpu || gathers)) moved.down += each_weight * own.weights;
    if (by_cpu && (tiers->gradients == HOME_GPU || reduces)) moved.down += each_gradient * own.optimizer;
    if (reduces) moved.up += each_gradient * own.gradients;
    if (tiers->optimizer == HOME_DISK) moved.read = moved.written = ranks * states;
    if (tiers->gradients == HOME_DISK) moved.read += ranks * each_gradient * own.gradients;
    if (tiers->weights == HOME_DISK) moved.written += ranks * each_weight * own.weights;
    return scaled(&moved, training_moving_frac(parts));
}

/* --- Time --- */

static double sum_of(const struct training_load *load)
{
    double sum_s = 0.0;
    for (int i = 0; i < TRAINING_RESOURCES; i++) sum_s += load->s[i];
    return sum_s;
}

static double most_of(const struct training_load *load)
{
    double most_s = 0.0;
    for (int i = 0; i < TRAINING_RESOURCES; i++) most_s = fmax(most_s, load->s[i]);
    return most_s;
}

static struct training_load both_of(const struct training_load *one, const struct training_load *other)
{
    struct training_load both;
    for (int i = 0; i < TRAINING_RESOURCES; i++) both.s[i] = one->s[i] + other->s[i];
    return both;
}

/* What the first layer brings and the last one leaves. */
static double rest_of(const struct training_load *load, double layers)
{
    const double most_s = most_of(load);
    return isfinite(most_s) ? (sum_of(load) - most_s) / layers : most_s;
}

static void set_times(const struct training_parts *parts, struct training_swaps *swaps)
{
    const double layers = (double)training_plan_layers(parts->plan, parts->llm, 0);
    const double batches = (double)parts->plan->micro_batches;
    const struct training_load *forward = &swaps->forward, *backward = &swaps->backward, *update = &swaps->update;
    const double gpu_s = batches * (forward->s[RESOURCE_GPU] + backward->s[RESOURCE_GPU]);
    double passes_s = batches * (sum_of(forward) + sum_of(backward));
    swaps->update_s = sum_of(update);
    if (parts->plan->tiers.flow == FLOW_PREFETCHED) {
        passes_s = batches * (most_of(forward) + most_of(backward)) + rest_of(forward, layers) +
                   rest_of(backward, layers);
        swaps->update_s = most_of(update) + rest_of(update, layers);
    } else if (parts->plan->tiers.flow == FLOW_PIPELINED) {
        const struct training_load last = both_of(backward, update);
        passes_s = batches * (most_of(forward) + most_of(backward)) + rest_of(forward, layers) + rest_of(&last, layers);
        swaps->update_s = fmax(most_of(&last) - most_of(backward), 0.0); /* both may be INFINITY */
    }
    swaps->wait_s = fmax(passes_s - gpu_s, 0.0);
}

/* The pass forward and backward, with weights as they come. */
static void set_passes(const struct training_parts *parts, const struct moved *weights, struct moved *forward,
                       struct moved *backward)
{
    const struct moved kept = activations_once(parts);
    *forward = (struct moved){weights->up, kept.down, weights->read, kept.written};
    *backward = backward_moved(parts, weights, &kept);
}

struct training_swaps training_swaps_of(const struct training_parts *parts, struct training_passes passes)
{
    const struct training_tiers *tiers = &parts->plan->tiers;
    const struct rates rates = rates_of(parts->plan);
    const double batches = (double)parts->plan->micro_batches;
    struct training_swaps swaps = {.wait_s = 0.0};
    if (!training_tiers_used(tiers)) return swaps;
    const struct moved weights = weights_once(parts), in_turn = weights_in_turn(parts), update = update_moved(parts);
    const double updated = training_moving_frac(parts) * training_ranks_on_node(parts->plan) *
                           training_holdings_of(parts, 0).optimizer;
    const double cpu_s = tiers->optimizer != HOME_GPU ? updated / tiers->cpu_update_per_s : 0.0;
    struct moved forward, backward;
    set_passes(parts, &in_turn, &forward, &backward);
    swaps.forward = load_of(&forward, &rates, passes.forward_s, 0.0);
    swaps.backward = load_of(&backward, &rates, passes.backward_s, 0.0);
    swaps.update = load_of(&update, &rates, 0.0, cpu_s);
    set_passes(parts, &weights, &forward, &backward);
    swaps.up_bytes = batches * (forward.up + backward.up) + update.up;
    swaps.down_bytes = batches * (forward.down + backward.down) + update.down;
    swaps.read_bytes = batches * (forward.read + backward.read) + update.read;
    swaps.written_bytes = batches * (forward.written + backward.written) + update.written;
    set_times(parts, &swaps);
    return swaps;
}
