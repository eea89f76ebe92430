/* Many random worlds, on several cores: draws, tries, shrinks what has findings, and reports.
 *
 * A worker is a process that takes one world after the other. One that a bug ends is replaced: a finding. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_WORLDS_H
#define ORRERY_TESTS_SUPPORT_WORLDS_WORLDS_H

#include "tests/support/worlds/reach.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct worlds_options {
    uint64_t n, seed, first; /* worlds first .. first + n - 1 of the seed */
    int workers;             /* 0: one per core */
    uint64_t most_events;    /* a run is cut there */
    uint64_t sweep_every;    /* all worlds run in sweeps of many; every so many in one of its own */
    bool lists;              /* prints why worlds are invalid, and what no valid world reached */
    bool progress;           /* a line now and then */
    const volatile sig_atomic_t *stop; /* or NULL; once it is set, no other world is begun */
    FILE *out;
};

struct worlds_summary {
    uint64_t n_valid, n_cut, n_runs, n_findings;
    size_t n_alternatives, n_alternatives_reached; /* policies, formats, distributions, costs */
    size_t n_keys, n_keys_reached;
};

/* Returns 0 or a negative code; findings are no error. */
int worlds_run(const struct worlds_options *options, struct worlds_summary *summary);

#endif
