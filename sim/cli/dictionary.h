/* The metric dictionary in the form that pages and charts take. */
#ifndef ORRERY_CLI_DICTIONARY_H
#define ORRERY_CLI_DICTIONARY_H

#include "analysis/report/report.h"
#include "sim/core/mem.h"

/* In the arena, *n entries in the dictionary's order; NULL when out of memory. */
struct report_metric *dictionary_make(struct arena *arena, size_t *n);

#endif
