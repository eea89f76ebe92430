#include "models/operators/expert_placement.h"

#include <math.h>
#include <stdlib.h>

/* The first `full` experts get every token; the rest of the choices is divided by the law. */
void expert_zipf_loads(double *loads, size_t experts, size_t chosen, double exponent)
{
    double left = 0.0;
    size_t full = 0;
    for (size_t i = 0; i < experts; i++) loads[i] = pow((double)(i + 1), -exponent);
    for (size_t i = experts; i > 0; i--) left += loads[i - 1];
    while (full < chosen && full < experts && (double)(chosen - full) * loads[full] > left) left -= loads[full++];
    for (size_t i = 0; i < experts && full > 0; i++)
        loads[i] = i < full ? 1.0 : loads[i] * (double)(chosen - full) / left;
}

static size_t count_copies(const struct expert_copy *copies, size_t n, size_t expert)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += copies[i].expert == expert;
    return count;
}

/* One copy of each expert, then the further ones. Loads are those of a copy. */
static void replicate(const double *loads, size_t experts, struct expert_copy *copies, size_t slots)
{
    for (size_t i = 0; i < experts; i++) copies[i] = (struct expert_copy){.expert = i, .load = loads[i]};
    for (size_t n = experts; n < slots; n++) {
        size_t busiest = 0;
        for (size_t i = 1; i < n; i++)
            if (copies[i].load > copies[busiest].load) busiest = i;
        const size_t expert = copies[busiest].expert;
        copies[n] = (struct expert_copy){.expert = expert};
        const double share = loads[expert] / (double)count_copies(copies, n + 1, expert);
        for (size_t i = 0; i <= n; i++)
            if (copies[i].expert == expert) copies[i].load = share;
    }
}

/* The busiest first; among equals the first expert. Copies of one expert are alike. */
static int compare_loads(const void *left, const void *right)
{
    const struct expert_copy *a = left, *b = right;
    if (a->load != b->load) return a->load > b->load ? -1 : 1;
    return a->expert < b->expert ? -1 : a->expert > b->expert;
}

void expert_place(const double *loads, size_t experts, struct expert_copy *copies, size_t slots,
                  struct expert_gpu *gpus, size_t n_gpus)
{
    replicate(loads, experts, copies, slots);
    qsort(copies, slots, sizeof *copies, compare_loads);
    const size_t room = slots / n_gpus;
    for (size_t gpu = 0; gpu < n_gpus; gpu++) gpus[gpu] = (struct expert_gpu){0.0, 0};
    for (size_t i = 0; i < slots; i++) {
        size_t idlest = 0;
        for (size_t gpu = 1; gpu < n_gpus; gpu++)
            if (gpus[gpu].copies < room && (gpus[idlest].copies == room || gpus[gpu].load < gpus[idlest].load))
                idlest = gpu;
        copies[i].gpu = idlest;
        gpus[idlest].load += copies[i].load;
        gpus[idlest].copies++;
    }
}

void expert_place_in_groups(const double *loads, size_t experts, struct expert_groups split, struct expert_copy *copies,
                            size_t slots, struct expert_gpu *gpus, size_t n_gpus)
{
    const size_t each = experts / split.groups, node_slots = slots / split.nodes, node_gpus = n_gpus / split.nodes;
    double of_group[EXPERT_GROUPS_MOST] = {0.0}, of_node[EXPERT_GROUPS_MOST];
    struct expert_copy on_node[EXPERT_GROUPS_MOST];
    struct expert_gpu nodes[EXPERT_GROUPS_MOST];
    for (size_t i = 0; i < experts; i++) of_group[i / each] += loads[i];
    expert_place(of_group, split.groups, on_node, split.groups, nodes, split.nodes);
    for (size_t node = 0; node < split.nodes; node++) {
        size_t named[EXPERT_GROUPS_MOST], n = 0;
        for (size_t i = 0; i < experts; i++)
            for (size_t j = 0; j < split.groups; j++)
                if (on_node[j].expert == i / each && on_node[j].gpu == node) {
                    of_node[n] = loads[i];
                    named[n++] = i;
                }
        struct expert_copy *own = copies + node * node_slots;
        expert_place(of_node, n, own, node_slots, gpus + node * node_gpus, node_gpus);
        for (size_t i = 0; i < node_slots; i++) {
            own[i].expert = named[own[i].expert];
            own[i].gpu += node * node_gpus;
        }
    }
}

double expert_imbalance(const struct expert_gpu *gpus, size_t n_gpus)
{
    double sum = 0.0, most = 0.0;
    for (size_t gpu = 0; gpu < n_gpus; gpu++) {
        sum += gpus[gpu].load;
        most = fmax(most, gpus[gpu].load);
    }
    return sum > 0.0 ? fmax(most * (double)n_gpus / sum, 1.0) : 1.0;
}
