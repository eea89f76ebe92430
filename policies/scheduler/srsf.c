/* Shortest remaining service first, with preemption. Service is the true remaining run time times the GPUs. */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

PREEMPTIVE_SCHEDULER(scheduler_srsf, BY_GPU_TIME_LEFT, .oracle = ORACLE_DURATION, .name = "srsf",
                     .summary = "least remaining GPU time first; preemptive, knows the true run times",
                     .source = "Tiresias (NSDI 2019) simulator, shortest-gpu");
