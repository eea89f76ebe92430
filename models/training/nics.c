#include "models/training/nics.h"

#include <math.h>
#include <stddef.h>

int64_t training_nics_clusters(const struct training_plan *plan)
{
    return plan->nics.n > 0 && !plan->nics.is_mixed ? plan->nics.n : 1;
}

int64_t training_nics_cluster(const struct training_plan *plan, int64_t stage)
{
    const int64_t clusters = training_nics_clusters(plan);
    int64_t cluster = 0;
    for (int64_t end = plan->nics.stages[0]; cluster + 1 < clusters && stage >= end; end += plan->nics.stages[cluster])
        cluster++;
    return cluster;
}

static double slowest_network(const struct training_nics *nics)
{
    double slowest = nics->network_bytes_per_s[0];
    for (int64_t i = 1; i < nics->n; i++) slowest = fmin(slowest, nics->network_bytes_per_s[i]);
    return slowest;
}

double training_nics_network(const struct training_plan *plan, int64_t cluster)
{
    if (plan->nics.n == 0) return plan->network_bytes_per_s;
    return plan->nics.is_mixed ? slowest_network(&plan->nics) : plan->nics.network_bytes_per_s[cluster];
}

double training_nics_data_network(const struct training_plan *plan, int64_t cluster)
{
    const bool crosses = plan->nics.n > 1 && plan->nics.is_mixed;
    return crosses ? fmin(plan->nics.between_bytes_per_s, slowest_network(&plan->nics))
                   : training_nics_network(plan, cluster);
}

int64_t training_nics_node_gpus(const struct training_plan *plan)
{
    const int64_t stage_gpus = training_plan_gpus(plan) / plan->pipeline;
    int64_t least = plan->gpus_per_node;
    if (plan->nics.n < 2 || !plan->nics.is_mixed) return least;
    for (int64_t i = 0; i < plan->nics.n; i++) {
        const int64_t there = stage_gpus * plan->nics.stages[i] / plan->pipeline, rest = there % plan->gpus_per_node;
        if (rest > 0 && rest < least) least = rest; /* on its last node */
    }
    return least;
}

static bool holds_whole_nodes(const struct training_plan *plan, int64_t stages)
{
    return plan->nics.n == 1 || stages * (training_plan_gpus(plan) / plan->pipeline) % plan->gpus_per_node == 0;
}

/* Why the stages cannot each lie in all clusters, where those hold the same part of each stage. */
static const char *mixed_problem(const struct training_plan *plan)
{
    for (int64_t i = 0; i < plan->nics.n; i++) {
        const int64_t ranks = plan->data * plan->nics.stages[i];
        if (ranks % plan->pipeline != 0) return "a cluster has no whole number of the data ranks of a stage";
        if (ranks / plan->pipeline * plan->context % plan->expert != 0)
            return "mixed, groups of 'expert_parallel' ranks would lie in two clusters";
    }
    return NULL;
}

const char *training_nics_problem(const struct training_plan *plan, int64_t layers)
{
    const struct training_nics *nics = &plan->nics;
    int64_t stages = 0;
    if (nics->n == 0) return NULL;
    if (plan->pipeline > TRAINING_NICS_STAGES) return "clusters with NICs of their own have at most 64 stages";
    if (plan->chunks > 1) return "stages of clusters with NICs of their own are not interleaved";
    for (int64_t i = 0; i < nics->n; i++) {
        stages += nics->stages[i];
        if (!(nics->stages[i] > 0 && nics->network_bytes_per_s[i] > 0.0))
            return "each cluster needs stages and a network";
        if (!holds_whole_nodes(plan, nics->stages[i])) return "the stages of a cluster do not fill whole nodes";
    }
    if (nics->n > 1 && !(nics->between_bytes_per_s > 0.0)) return "clusters need the bandwidth 'nics.between'";
    if (stages != plan->pipeline) return "the stages of all clusters together are not 'pipeline_parallel'";
    if (plan->pipeline > layers) return "there are more stages than layers";
    return nics->is_mixed ? mixed_problem(plan) : NULL;
}

/* --- The split --- */

/* A split by cluster: layers of all its stages together. */
struct totals {
    int64_t of[TRAINING_CLUSTERS];
    double time_s; /* J, or more where a limit is not reached */
};

/* Limits of the largest terms of J, in seconds. */
struct limits {
    double pass_s, reduce_s;
};

/* The most layers of a stage within a limit. */
static int64_t most_layers(double limit_s, double cost_s, int64_t layers)
{
    const double most = floor(limit_s / cost_s * (1.0 + 1e-12));
    return cost_s > 0.0 && most < (double)layers ? (int64_t)most : layers;
}

/* The cluster with the least cost of a pass beyond those that are done; of equal ones the first. */
static int64_t cheapest(const struct training_plan *plan, const struct training_layer_cost *costs, const bool *done)
{
    int64_t best = -1;
    for (int64_t i = 0; i < plan->nics.n; i++)
        if (!done[i] && (best < 0 || costs[i].pass_s < costs[best].pass_s)) best = i;
    return best;
}

/* Deals layers within limits so that the sum of the passes is least. Returns false if too few have room. */
static bool deal(const struct training_plan *plan, const struct training_layer_cost *costs, int64_t layers,
                 struct limits limits, struct totals *totals)
{
    int64_t left = layers - plan->pipeline;
    bool done[TRAINING_CLUSTERS] = {false};
    double sum_s = 0.0;
    for (int64_t n = 0; n < plan->nics.n; n++) {
        const int64_t c = cheapest(plan, costs, done), stages = plan->nics.stages[c];
        const int64_t by_pass = most_layers(limits.pass_s, costs[c].pass_s, layers);
        const int64_t by_reduce = most_layers(limits.reduce_s, costs[c].reduce_s, layers);
        const int64_t most = by_pass < by_reduce ? by_pass : by_reduce, room = stages * (most - 1);
        if (most < 1) return false;
        totals->of[c] = stages + (room < left ? room : left);
        left -= totals->of[c] - stages;
        sum_s += (double)totals->of[c] * costs[c].pass_s;
        done[c] = true;
    }
    totals->time_s = (double)(plan->micro_batches - 1) * limits.pass_s + sum_s + limits.reduce_s;
    return left == 0;
}

/* No split within these limits has a smaller J: its layers pass the cheapest stages, and a term is at its limit. */
static double least_s(const struct training_plan *plan, const struct training_layer_cost *costs, int64_t layers,
                      struct limits limits)
{
    double cheapest_s = costs[0].pass_s;
    for (int64_t c = 1; c < plan->nics.n; c++) cheapest_s = fmin(cheapest_s, costs[c].pass_s);
    return (double)(plan->micro_batches - 1) * limits.pass_s + (double)layers * cheapest_s + limits.reduce_s;
}

/* Tries the limits of the reduction with one of the passes. */
static void try_reduces(const struct training_plan *plan, const struct training_layer_cost *costs, int64_t layers,
                        double pass_s, struct totals *best)
{
    for (int64_t c = 0; c < plan->nics.n; c++)
        for (int64_t k = 1; k <= layers; k++) {
            const struct limits limits = {pass_s, (double)k * costs[c].reduce_s};
            struct totals totals;
            if (least_s(plan, costs, layers, limits) >= best->time_s) break;
            if (deal(plan, costs, layers, limits, &totals) && totals.time_s < best->time_s) *best = totals;
        }
}

void training_nics_split(struct training_plan *plan, const struct training_layer_cost *costs, int64_t layers)
{
    struct totals best = {.time_s = (double)INFINITY};
    int64_t stage = 0;
    for (int64_t c = 0; c < plan->nics.n; c++)
        for (int64_t k = 1; k <= layers; k++) {
            const struct limits limits = {(double)k * costs[c].pass_s, 0.0};
            if (least_s(plan, costs, layers, limits) >= best.time_s) break;
            try_reduces(plan, costs, layers, limits.pass_s, &best);
        }
    for (int64_t c = 0; c < plan->nics.n; c++)
        for (int64_t i = 0; i < plan->nics.stages[c]; i++)
            plan->nics.layers[stage++] = best.of[c] / plan->nics.stages[c] + (i < best.of[c] % plan->nics.stages[c]);
}
