/* What one kernel does and how long it takes, in parts: what every kernel model returns. */
#ifndef ORRERY_MODELS_OPERATORS_KERNEL_TIME_H
#define ORRERY_MODELS_OPERATORS_KERNEL_TIME_H

/* The parts overlap, so `seconds` is less than their sum and at least each of them. */
struct kernel_time {
    double seconds;
    double compute_s, memory_s, network_s, overhead_s; /* what it would take if nothing else did */
    double flop, bytes, link_bytes; /* the work: operations and memory traffic, each operand once but for
                                      write_passes (attention.h); what one GPU sends over its link */
};

enum kernel_bound { BOUND_COMPUTE, BOUND_MEMORY, BOUND_NETWORK, BOUND_OVERHEAD };

/* The largest part; of equals the first in the order of the enum. */
enum kernel_bound kernel_time_bound(const struct kernel_time *time);

/* "compute", "memory", "network", "overhead". */
const char *kernel_bound_name(enum kernel_bound bound);

#endif
