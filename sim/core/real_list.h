/* A list of numbers that grows. */
#ifndef ORRERY_CORE_REAL_LIST_H
#define ORRERY_CORE_REAL_LIST_H

#include <stddef.h>

/* Zero-initialised. */
struct real_list {
    size_t n, capacity;
    double *items;
};

/* Returns 0 or SIM_E_NOMEM. */
int real_list_add(struct real_list *list, double value);

/* Compares two doubles, neither of them NAN, for qsort in rising order. */
int real_compare(const void *a, const void *b);

/* Brings the numbers, none of which is NAN, into rising order. */
void real_list_sort(struct real_list *list);

/* Keeps the first of equal neighbours. */
void real_list_unique(struct real_list *list);

void real_list_fini(struct real_list *list);

#endif
