/* One scenario of the conformance suite in a process of its own, so that a policy that crashes, never returns or breaks a law
 * of the world takes nothing else with it. */
#ifndef ORRERY_CLI_CONFORM_CHILD_H
#define ORRERY_CLI_CONFORM_CHILD_H

#include "sim/study/conform.h"

/* As conform_run, but a crash is a verdict, too: a policy fault. A scenario may use `cpu_s` seconds of processor time. */
int conform_child_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                      int cpu_s, struct conform_result *result, struct diag *diag);

#endif
