/* A policy under watch. To the world it is the policy itself, but every call goes through checks of what the world
 * shows and of what the policy changes:
 *
 *     GPUs are conserved at every change and decision of a scheduler: free + held by running jobs = all, on nodes too
 *     items of a cache are conserved: inserted and not forgotten = cached, acquired and not released = in use
 *     what a policy is shown is afterwards as it was before
 *     a scheduler that is called once more when no job waits does nothing (when `ask_twice`)
 *
 * A guard can also interrupt a run in the middle of a call, to let another run begin and end there. */
#ifndef ORRERY_STUDY_GUARD_H
#define ORRERY_STUDY_GUARD_H

#include "sim/core/config/config.h"
#include "sim/world/policy/all.h"

#include <stdbool.h>
#include <stdint.h>

enum guard_breach { GUARD_NOTHING, GUARD_LAWS, GUARD_VIEW, GUARD_RESTLESS };

enum { GUARD_TEXT_CHARS = 160 };

struct guard {
    struct guard *self; /* what the policy's state finds it by */
    const struct policy *inner;
    const void *inner_params;
    bool ask_twice; /* only if can_ask_twice */
    int64_t interrupt_at; /* number of the call, from 1; 0: never */
    void (*interrupt)(void *context);
    void *context;
    bool can_ask_twice; /* set by guard_lay */
    /* What was seen. */
    int64_t n_calls;          /* of the policy's functions */
    /* other GPUs than jobs asked for: what jobs hold does not follow from what they ask for */
    bool grants_others;
    enum guard_breach breach; /* the first */
    sim_ns breach_ns;         /* 0 where the view shows no time */
    char text[GUARD_TEXT_CHARS];
    union {
        struct policy policy;
#define GUARD_MEMBER(id, name, family_struct, ...) struct family_struct family_struct;
        POLICY_FAMILIES(GUARD_MEMBER)
#undef GUARD_MEMBER
    } watched;
};

/* Puts the guard between the world and the policy of a bound scenario: `variant` is where it is named. The guard must
 * outlive the world. The members above "what was seen" may be set afterwards. */
void guard_lay(struct guard *guard, struct config_variant *variant);

#endif
