/* Shortest remaining time first, with preemption, by the true run times. On one GPU it has the least mean completion
 * time of all schedules (Schrage 1968). */
#include "policies/declared.h"
#include "policies/scheduler/preemptive.h"
#include "sim/world/policy/scheduler.h"

PREEMPTIVE_SCHEDULER(scheduler_srtf, BY_TIME_LEFT, .oracle = ORACLE_DURATION, .name = "srtf",
                     .summary = "shortest remaining run time first; preemptive, knows the true run times",
                     .source = "Schrage (1968); Tiresias (NSDI 2019) simulator, shortest");
