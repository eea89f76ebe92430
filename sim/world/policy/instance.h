/* Creates and destroys the state of a policy. */
#ifndef ORRERY_WORLD_POLICY_INSTANCE_H
#define ORRERY_WORLD_POLICY_INSTANCE_H

#include "sim/world/policy/policy.h"

/* Makes the state of a policy that should be of `family` and whose struct should be `size` bytes. A policy of another
 * ABI, family or size is refused. Returns 0, SIM_E_POLICY, SIM_E_NOMEM, or what init returned; then there is no
 * state, and fini is not called. */
int policy_state_create(const struct policy *policy, enum policy_family family, size_t size, const void *params,
                        void **state, struct diag *diag);
/* Initialises a zeroed state, by the policy's init or by a copy of the parameters. Returns 0 or what init returned. */
int policy_state_init(const struct policy *policy, void *state, const void *params, struct diag *diag);
void policy_state_destroy(const struct policy *policy, void *state); /* a NULL state is allowed */

/* Records that a function of the policy, `call`, returned a negative code at `now`, unless it has left a finding
 * itself. Only SIM_E_NOMEM means something: other codes do not say what failed. Returns SIM_E_POLICY, or that code.
 * `diag` may be NULL. */
int policy_failed(const struct policy *policy, const char *call, int code, sim_ns now, struct diag *diag)
    __attribute__((cold));

/* The same of a function that has the diag, before the run, which had `n_errors` errors before. What it found there
 * stands, with its code. Returns 0 if the code is not negative. */
int policy_answered(const struct policy *policy, const char *call, int code, int n_errors, struct diag *diag);

#endif
