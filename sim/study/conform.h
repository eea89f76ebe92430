/* The conformance suite: what every policy must do in small scenarios that have caught policies before, whatever it
 * decides.
 *
 * Each scenario runs several times: as it is, once more, with the other event queue, visiting every iteration, with a
 * second run beginning and ending in its middle, with a scheduler that is asked twice. A policy that crashes takes
 * the process with it: who does not trust it, runs a scenario in a process of its own. */
#ifndef ORRERY_STUDY_CONFORM_H
#define ORRERY_STUDY_CONFORM_H

#include "sim/core/config/config.h"
#include "sim/study/conform_cases.h"
#include "sim/world/policy/policy.h"
#include "sim/world/world.h"

#include <stddef.h>

/* X(enum, column, what it says) */
#define CONFORM_CHECKS(X)                                                                                              \
    X(CONFORM_ENDS, "ends", "the run ends: no impossible action, no standstill, no crash")                            \
    X(CONFORM_ROWS, "rows", "every job and request finishes or is rejected, once, and its times fit together")        \
    X(CONFORM_LAWS, "laws", "GPUs, KV blocks and requests are conserved at every event")                              \
    X(CONFORM_VIEW, "view", "what a policy is shown it leaves as it was")                                             \
    X(CONFORM_REPEATS, "repeats", "a second run gives the same results")                                              \
    X(CONFORM_QUEUE, "queue", "so does the other event queue")                                                        \
    X(CONFORM_STEPS, "steps", "so does visiting every iteration (services)")                                          \
    X(CONFORM_STATE, "state", "so does a run in the middle of another: nothing is kept outside of the state")         \
    X(CONFORM_STABLE, "stable", "a scheduler that is asked once more when nobody waits does nothing")               \
    X(CONFORM_MEMORY, "memory", "what was allocated is freed")

enum conform_check {
#define CONFORM_ENUM(id, name, text) id,
    CONFORM_CHECKS(CONFORM_ENUM)
#undef CONFORM_ENUM
        CONFORM_N_CHECKS
};

enum conform_verdict { CONFORM_NOT_CHECKED, CONFORM_PASSED, CONFORM_FAILED };

/* Holds no pointers, so that it can go through a pipe. */
struct conform_result {
    unsigned char verdicts[CONFORM_N_CHECKS]; /* enum conform_verdict */
    /* 0; SIM_E_GATE: some check failed; SIM_E_POLICY: a policy fault; else no verdict could be had */
    int code;
    int partner;       /* index of the built-in policy with which the first one failed; 0 when all passed */
    double t_s;        /* when it failed, simulated; NAN: unknown */
    char text[DIAG_TEXT_CHARS]; /* how */
};

struct conform_suite {
    struct config_families families; /* that know the policy */
    const struct catalog *catalog;
    size_t n_settings;
    const char *const *settings; /* "key=value" for the policy's own parameters */
};

const char *conform_check_name(enum conform_check check);

/* The scenario with a partner, settings laid over it: what `orrery run` repeats it from. Returns 0 or a negative
 * code. */
int conform_json(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                 int partner, struct text *json, struct diag *diag);

/* Runs one scenario with every partner and writes the verdicts. Findings in `diag` come only with a code that is
 * neither 0 nor SIM_E_GATE nor SIM_E_POLICY: the scenario could not be run, for a wrong setting. Returns
 * result->code. */
int conform_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                struct conform_result *result, struct diag *diag);

#endif
