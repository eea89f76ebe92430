/* The conformance suite: checks that every policy must pass, whatever it decides, in small scenarios that have caught
 * policies before.
 *
 * Each scenario runs several times: plainly, again, with the other event queue, visiting every iteration, with a second
 * run inside the first, and with a scheduler that is called twice. A policy that crashes ends the process: scenarios of
 * an untrusted policy need processes of their own. */
#ifndef ORRERY_STUDY_CONFORM_H
#define ORRERY_STUDY_CONFORM_H

#include "sim/core/config/config.h"
#include "sim/study/conform_cases.h"
#include "sim/study/conform_trail.h"
#include "sim/world/policy/policy.h"
#include "sim/world/world.h"

#include <stddef.h>

/* X(enum, column, meaning) */
#define CONFORM_CHECKS(X)                                                                                              \
    X(CONFORM_ENDS, "ends", "the run ends: no impossible action, no standstill, no crash")                            \
    X(CONFORM_ROWS, "rows", "every job and request finishes or is rejected, once, and its times fit together")        \
    X(CONFORM_LAWS, "laws", "conservation laws: GPUs, KV blocks and requests are conserved at every event")                              \
    X(CONFORM_VIEW, "view", "a policy does not change what it is shown")                                             \
    X(CONFORM_REPEATS, "repeats", "a second run gives the same results")                                              \
    X(CONFORM_QUEUE, "queue", "so does the other event queue")                                                        \
    X(CONFORM_STEPS, "steps", "so does visiting every iteration (services)")                                          \
    X(CONFORM_STATE, "state", "so does a run inside another one: the policy keeps nothing outside of its state")       \
    X(CONFORM_STABLE, "stable", "a scheduler that is called again while no job waits does nothing")                \
    X(CONFORM_MEMORY, "memory", "all memory is freed")

enum conform_check {
#define CONFORM_ENUM(id, name, text) id,
    CONFORM_CHECKS(CONFORM_ENUM)
#undef CONFORM_ENUM
        CONFORM_N_CHECKS
};

/* A finding, and what the policy did last. */
enum { CONFORM_TEXT_CHARS = DIAG_TEXT_CHARS + CONFORM_TOLD_CHARS + 8 };

enum conform_verdict { CONFORM_NOT_CHECKED, CONFORM_PASSED, CONFORM_FAILED };

/* Holds no pointers, so that it can go through a pipe. */
struct conform_result {
    unsigned char verdicts[CONFORM_N_CHECKS]; /* enum conform_verdict */
    /* 0; SIM_E_GATE: some check failed; SIM_E_POLICY: a policy fault; else there is no verdict */
    int code;
    int partner;       /* index of the built-in policy with which the first one failed; 0 when all passed */
    /* Simulated time of what was found. Of a run that fails, hangs or crashes: of the policy's last call before that.
     * NAN: unknown. */
    double t_s;
    bool is_last_call; /* t_s is that of the last call */
    char text[CONFORM_TEXT_CHARS]; /* how */
};

struct conform_suite {
    struct config_families families; /* including the policy under test */
    const struct catalog *catalog;
    bool brief; /* one run, with one partner: of the checks, those that need no second run */
    int turn;   /* of a brief suite: the partner of this number, which is taken modulo their number */
    size_t n_settings;
    const char *const *settings; /* "key=value" for the policy's own parameters */
    struct conform_trail *trail; /* where the calls of the policy are noted; NULL: nobody reads them */
};

const char *conform_check_name(enum conform_check check);

/* The scenario with a partner and the settings, from which `orrery run` repeats it. Returns 0 or a negative code. */
int conform_json(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                 int partner, struct text *json, struct diag *diag);

/* Runs one scenario with every partner and writes the verdicts. `diag` has findings only when the scenario cannot
 * run, for example with a wrong setting. Returns result->code. */
int conform_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                struct conform_result *result, struct diag *diag);

#endif
