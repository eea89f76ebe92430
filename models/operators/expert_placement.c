#include "models/operators/expert_placement.h"

#include <math.h>
#include <stdlib.h>

void expert_zipf_loads(double *loads, size_t experts, double exponent)
{
    for (size_t i = 0; i < experts; i++) loads[i] = pow((double)(i + 1), -exponent);
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

/* What the first n copies have put on a GPU. */
struct gpu_load {
    double load;
    size_t copies;
};

static struct gpu_load load_of(const struct expert_copy *copies, size_t n, size_t gpu)
{
    struct gpu_load sum = {0.0, 0};
    for (size_t i = 0; i < n; i++) {
        if (copies[i].gpu != gpu) continue;
        sum.load += copies[i].load;
        sum.copies++;
    }
    return sum;
}

void expert_place(const double *loads, size_t experts, size_t gpus, struct expert_copy *copies, size_t slots)
{
    replicate(loads, experts, copies, slots);
    qsort(copies, slots, sizeof *copies, compare_loads);
    for (size_t i = 0; i < slots; i++) {
        size_t idlest = gpus;
        double least = 0.0;
        for (size_t gpu = 0; gpu < gpus; gpu++) {
            const struct gpu_load held = load_of(copies, i, gpu);
            if (held.copies == slots / gpus || (idlest < gpus && held.load >= least)) continue;
            idlest = gpu;
            least = held.load;
        }
        copies[i].gpu = idlest;
    }
}

double expert_imbalance(const struct expert_copy *copies, size_t slots, size_t gpus)
{
    double sum = 0.0, most = 0.0;
    for (size_t gpu = 0; gpu < gpus; gpu++) {
        const double load = load_of(copies, slots, gpu).load;
        sum += load;
        most = fmax(most, load);
    }
    return fmax(most * (double)gpus / sum, 1.0);
}
