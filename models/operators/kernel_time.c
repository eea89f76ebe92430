#include "models/operators/kernel_time.h"

enum kernel_bound kernel_time_bound(const struct kernel_time *time)
{
    const double parts[] = {time->compute_s, time->memory_s, time->network_s, time->overhead_s};
    int largest = BOUND_COMPUTE;
    for (int i = BOUND_COMPUTE + 1; i <= BOUND_OVERHEAD; i++)
        if (parts[i] > parts[largest]) largest = i;
    return (enum kernel_bound)largest;
}

const char *kernel_bound_name(enum kernel_bound bound)
{
    static const char *const names[] = {"compute", "memory", "network", "overhead"};
    return names[bound];
}
