/* Requests in order of priority, as engines with priority scheduling have them: a number for each class of requests,
 * lower ones first, then order of arrival. */
#ifndef ORRERY_POLICIES_BATCHING_PRIORITY_ORDER_H
#define ORRERY_POLICIES_BATCHING_PRIORITY_ORDER_H

#include "sim/core/config/config_field.h"
#include "sim/world/policy/batching.h"

#include <stdbool.h>

/* The priority of the requests of a class, by its name. */
struct class_priority {
    const char *class;
    int64_t priority;
};
extern const struct config_field class_priority_fields[];

/* Warns of the order "priority" if no class has one, and of priorities under another order. */
void priority_warn(const char *policy, bool by_priority, const struct config_list *priorities, struct diag *diag);

/* 0 for classes without an entry. `priorities`: of struct class_priority. */
int64_t priority_of(const struct config_list *priorities, const struct request_view *request);

/* By priority, arrival, and id. */
bool priority_before(const struct config_list *priorities, const struct request_view *a, const struct request_view *b);

/* Whether a running request gives way before another: that of the lower priority, else the one that came later. */
bool priority_yields(const struct config_list *priorities, const struct request_view *a, const struct request_view *b);

/* The first of the queue in this order behind `last` (NULL: of all); NULL: none. Visits the whole queue. */
const struct request_view *priority_next(const struct config_list *priorities, const struct request_view *queue,
                                         const struct request_view *last);

#endif
