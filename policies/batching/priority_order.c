#include "policies/batching/priority_order.h"

#include "sim/core/config/config.h"

#include <string.h>

const struct config_field class_priority_fields[] = {
    {.kind = CONFIG_INT, .offset = offsetof(struct class_priority, priority), .min = -1e6, .max = 1e6, .value = "0",
     .help = "lower ones go first"},
    {0}};

void priority_warn(const char *policy, bool by_priority, const struct config_list *priorities, struct diag *diag)
{
    const struct class_priority *of = priorities->items;
    size_t n = 0;
    for (size_t i = 0; i < priorities->n; i++) n += of[i].priority != 0;
    if (by_priority && n == 0)
        diag_warning(diag, NULL, "add \"priorities\": {\"CLASS\": -1} (lower ones go first), or leave out the order",
                     "%s: order 'priority' is that of arrival: no class has a priority", policy);
    if (!by_priority && priorities->n > 0)
        diag_warning(diag, NULL, "add \"order\": \"priority\", or leave them out",
                     "%s: 'priorities' have no effect: the order is not 'priority'", policy);
}

int64_t priority_of(const struct config_list *priorities, const struct request_view *request)
{
    const struct class_priority *of = priorities->items;
    const char *class = request->request_class != NULL ? request->request_class->name : "";
    for (size_t i = 0; i < priorities->n; i++)
        if (strcmp(of[i].class, class) == 0) return of[i].priority;
    return 0;
}

bool priority_before(const struct config_list *priorities, const struct request_view *a, const struct request_view *b)
{
    const int64_t first = priority_of(priorities, a), second = priority_of(priorities, b);
    if (first != second) return first < second;
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns < b->arrival_ns : a->id < b->id;
}

bool priority_yields(const struct config_list *priorities, const struct request_view *a, const struct request_view *b)
{
    const int64_t first = priority_of(priorities, a), second = priority_of(priorities, b);
    return first != second ? first > second : a->arrival_ns > b->arrival_ns;
}

const struct request_view *priority_next(const struct config_list *priorities, const struct request_view *queue,
                                         const struct request_view *last)
{
    const struct request_view *first = NULL;
    for (const struct request_view *r = queue; r != NULL; r = r->next) {
        if (last != NULL && !priority_before(priorities, last, r)) continue;
        if (first == NULL || priority_before(priorities, r, first)) first = r;
    }
    return first;
}
