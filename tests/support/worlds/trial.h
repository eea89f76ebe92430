/* One world on trial: validated, and if it is valid, run in every manner that must give equal results.
 *
 * The manners: the calendar queue, the heap queue, every iteration visited (single step), all of it a second time in
 * one process, and a sweep of its own. The invariants are checked after every event. Of each run the rows must be sane
 * (laws.h). A world without findings has equal hashes in all manners, and leaves no memory behind. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_TRIAL_H
#define ORRERY_TESTS_SUPPORT_WORLDS_TRIAL_H

#include "sim/catalog/catalog.h"
#include "sim/core/hash.h"

#include <stdbool.h>
#include <stdint.h>

enum { TRIAL_TEXT_CHARS = 400 };

enum trial_verdict {
    TRIAL_INVALID, /* refused, by validation or when the world is built */
    TRIAL_SOUND,
    TRIAL_FOUND
};

struct trial_options {
    uint64_t most_events;          /* a run is cut there */
    bool sweep;                    /* also in a sweep of its own */
    struct catalog_memory *memory; /* shared by the trials of a process */
    void (*plant)(const char *json); /* called with a valid world; a test plants a bug here. NULL: nothing */
};

struct trial {
    enum trial_verdict verdict;
    int n_runs;
    bool is_cut;
    char hash[HASH_HEX_CHARS]; /* of the results of a run that ended in order; empty: none did */
    char text[TRIAL_TEXT_CHARS]; /* the finding, or the reason why the world is invalid */
};

/* Tries the scenario. A bug ends the process. */
void trial_run(const char *json, const struct trial_options *options, struct trial *trial);

#endif
