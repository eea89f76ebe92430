/* A function of many items, called on several processes. */
#ifndef ORRERY_STUDY_MAP_H
#define ORRERY_STUDY_MAP_H

#include "sim/core/err.h"

#include <signal.h>
#include <stddef.h>

struct map {
    size_t n;            /* items */
    size_t result_bytes; /* of one result, without pointers: it crosses the border of a process */
    int workers;         /* processes; 0: one per core */
    const volatile sig_atomic_t *interrupt; /* may be NULL */

    /* Writes the result of an item, which is zeroed before. Called in a child process. */
    void (*act)(void *context, size_t item, void *result);
    void *context;
};

/* Fills results[n], each of `result_bytes`. Returns 0, SIM_E_INTERRUPTED, SIM_E_IO, SIM_E_NOMEM, or SIM_E_CRASH with a
 * finding where the process of an item died; the other items are done. */
int map_run(const struct map *map, void *results, struct diag *diag);

#endif
