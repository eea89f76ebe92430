/* One scenario of the conformance suite in a process of its own, so that a policy that crashes, never returns or
 * breaks a law of the world takes nothing else with it. */
#ifndef ORRERY_CLI_STUDY_CONFORM_CHILD_H
#define ORRERY_CLI_STUDY_CONFORM_CHILD_H

#include "sim/study/conform.h"

#include <signal.h>

/* How long the runs of one scenario may take, by the clock on the wall as by processor time; what ends the wait
 * before. */
struct conform_patience {
    int limit_s;
    const volatile sig_atomic_t *interrupt; /* may be NULL */
};

/* As conform_run, but these are verdicts, too, all of them policy faults: a crash, no end within the limit, another
 * process left behind. For the last two *hangs is set: their like in the next scenario is not worth the wait. All
 * processes are gone. Returns SIM_E_INTERRUPTED without a verdict. */
int conform_child_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                      const struct conform_patience *patience, struct conform_result *result, bool *hangs,
                      struct diag *diag);

#endif
