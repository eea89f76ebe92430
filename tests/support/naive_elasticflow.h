/* ElasticFlow without shortcuts, for comparison. */
#ifndef ORRERY_TESTS_SUPPORT_NAIVE_ELASTICFLOW_H
#define ORRERY_TESTS_SUPPORT_NAIVE_ELASTICFLOW_H

#include "sim/world/policy/scheduler.h"

extern const struct scheduler naive_elasticflow;

#endif
