/* One scenario of the conformance suite in a process of its own, so that a policy that crashes, never returns or
 * breaks a law of the world ends that process only. */
#ifndef ORRERY_CLI_STUDY_CONFORM_CHILD_H
#define ORRERY_CLI_STUDY_CONFORM_CHILD_H

#include "sim/study/conform.h"

#include <signal.h>

/* The limit of the runs of one scenario, in wall-clock and in processor time, and a flag that ends the wait early. */
struct conform_patience {
    int limit_s;
    const volatile sig_atomic_t *interrupt; /* may be NULL */
};

/* As conform_run, with further policy faults: a crash, no end within the limit, a process left behind. The last two
 * set *hangs, since the next scenario would take as long. All processes have ended on return. Returns SIM_E_INTERRUPTED
 * without a verdict. */
int conform_child_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                      const struct conform_patience *patience, struct conform_result *result, bool *hangs,
                      struct diag *diag);

#endif
