#include "sim/core/real_list.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdlib.h>

int real_list_add(struct real_list *list, double value)
{
    return vec_push(&list->items, &list->n, &list->capacity, value);
}

int real_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void real_list_sort(struct real_list *list)
{
    if (list->n > 1) qsort(list->items, list->n, sizeof *list->items, real_compare);
}

void real_list_unique(struct real_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (i == 0 || list->items[i] != list->items[kept - 1]) list->items[kept++] = list->items[i];
    list->n = kept;
}

void real_list_fini(struct real_list *list)
{
    mem_free(list->items);
}
