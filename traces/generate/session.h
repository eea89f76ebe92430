/* Prefix blocks of synthetic prompts: in a session of several turns each prompt contains the one before it.
 *
 * With a given probability a request continues a recent session whose last prompt is shorter than the new one.
 * Otherwise it begins a session. Every prompt begins with the same system prompt. The rest of a prompt, the answer to
 * the last turn included, is new text with new ids. */
#ifndef ORRERY_TRACES_GENERATE_SESSION_H
#define ORRERY_TRACES_GENERATE_SESSION_H

#include "sim/core/config/config.h"
#include "sim/core/rng.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_params {
    double continue_frac; /* 0: requests have no prefix blocks */
    int64_t block_tokens, system_blocks, max_sessions;
};

extern const struct config_field session_fields[]; /* of struct session_params */

struct sessions {
    const struct session_params *params;
    struct rng rng; /* stream "NAME.sessions" */
    struct session {
        int64_t prompt_tokens; /* of its last turn */
        size_t capacity;
        uint64_t *ids;
    } * ring; /* [max_sessions], the latest ones */
    uint64_t n_begun, next_id;
};

/* Returns 0 or SIM_E_NOMEM. */
int sessions_init(struct sessions *sessions, const struct session_params *params, const struct source_options *options,
                  struct diag *diag);
void sessions_fini(struct sessions *sessions);

/* Gives the request its blocks, ceil(prompt / block) of them, valid until the next call. Returns 0 or SIM_E_NOMEM. */
int sessions_next(struct sessions *sessions, struct request_record *request, struct diag *diag);

#endif
