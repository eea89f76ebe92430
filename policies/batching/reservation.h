/* Contiguous KV reservations, as engines made them before paged KV caches: slots for the whole sequence are taken at
 * admission and held to its end. Kwon et al. (SOSP 2023, section 6.1) compare three, which know more or less of the
 * output. */
#ifndef ORRERY_POLICIES_BATCHING_RESERVATION_H
#define ORRERY_POLICIES_BATCHING_RESERVATION_H

#include "sim/world/policy/batching.h"

enum reservation_kind {
    RESERVATION_MAX,    /* max_tokens, whatever the output */
    RESERVATION_POW2,   /* the output, rounded up to a power of two */
    RESERVATION_ORACLE, /* exactly prompt and output */
};

struct reservation_params {
    int kind; /* enum reservation_kind */
    int64_t max_tokens;
    bool buddy;
};

extern const char *const reservation_names[];

/* The parameters of a reservation, of a struct ROW_OF with a struct reservation_params `reservation`. */
#define RESERVATION_FIELDS                                                                                             \
    ROW_CHOICE("reservation", reservation.kind, DEFAULT("max"), reservation_names,                                     \
               "KV slots held for a sequence: max_tokens; prompt and output rounded up to a power of two; or exactly"), \
        ROW_INT("max_tokens", reservation.max_tokens, DEFAULT("0"), WITHIN(0, 1e9),                                    \
                "longest sequence, others are rejected; 0: the LLM's context"),                                        \
        ROW_BOOL("buddy", reservation.buddy, DEFAULT("false"),                                                         \
                 "round every reservation up to a power of two slots (buddy allocation)")

/* Admits whole prompts from the head of the queue while slots (`max_sequences`, of which `present` are taken) and
 * blocks for their reservations last. Returns whether requests are left that only a change at this replica can
 * admit. */
bool reservation_admit(const struct reservation_params *params, const struct replica_view *view,
                       struct batch_plan *plan, int64_t present, int64_t max_sequences);

#endif
