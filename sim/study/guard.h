/* A guard stands in for a policy. It forwards every call, and checks the view before and the effects after it:
 *
 *     GPUs are conserved at every change and decision of a scheduler: free + held by running jobs = all, on nodes too
 *     items of a cache are conserved: inserted and not forgotten = cached, acquired and not released = in use
 *     the policy does not change its view
 *     a scheduler that is called again while no job waits does nothing (when `ask_twice`)
 *
 * A guard can also interrupt a run in the middle of a call, so that another run begins and ends there. */
#ifndef ORRERY_STUDY_GUARD_H
#define ORRERY_STUDY_GUARD_H

#include "sim/core/config/config.h"
#include "sim/study/conform_trail.h"
#include "sim/world/policy/all.h"

#include <stdbool.h>
#include <stdint.h>

enum guard_breach { GUARD_NOTHING, GUARD_LAWS, GUARD_VIEW, GUARD_RESTLESS };

enum { GUARD_TEXT_CHARS = 160 };

struct guard {
    struct guard *self; /* the policy's state finds the guard through it */
    const struct policy *inner;
    const void *inner_params;
    bool ask_twice; /* only if can_ask_twice */
    int64_t interrupt_at; /* number of the call, from 1; 0: never */
    void (*interrupt)(void *context);
    void *context;
    bool can_ask_twice; /* set by guard_lay */
    const struct cluster_view *decides_on; /* of a scheduler that decides; else NULL */
    struct conform_trail *trail; /* where calls are noted; NULL: in own_trail */
    struct conform_trail own_trail;
    /* Observations. */
    int64_t n_calls;          /* of the policy's functions */
    /* jobs may hold other GPUs than they requested */
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

/* Puts the guard between the world and the policy of a bound scenario: `variant` names that policy. The guard
 * must outlive the world. ask_twice and the members of the interruption may be set afterwards. */
void guard_lay(struct guard *guard, struct config_variant *variant);

/* What the policy did last. */
struct conform_trail *guard_trail(struct guard *guard);

#endif
