/* Sessions: conversations and agents, whose next prompt begins with the whole context so far, the answer included.
 *
 * A session is a tree of turns, known when it begins. A turn continues the context of an earlier one, its parent, by
 * new input tokens and then by its output. It is sent after its parent has been answered, and after all turns that it
 * joins; then a think time or the time of a tool call passes. Several turns with one parent are branches that run in
 * parallel and share their prefix, such as sub-agents. The last turn of the tree ends the session.
 *
 *     session arrives           turn 0: system prompt, input -> output
 *     turn 0 answered, pause    turn 1: context of turn 0, input -> output
 *
 * The key of a prefix block names the turn that added the block's last token, and the block's place. A block whose last
 * token belongs to the system prompt is shared by all sessions with that system prompt. So two prompts share exactly
 * the full blocks of their common tokens. The keys cover the output as well.
 *
 * A session whose request is rejected ends there: requests that were sent finish, and nothing follows. Times between
 * turns and lengths are fixed in the plan, so they depend on neither the order of events nor the speed of answers. */
#ifndef ORRERY_TRACES_SESSION_H
#define ORRERY_TRACES_SESSION_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session_turn {
    int32_t input_tokens, output_tokens; /* >= 1 */
    int32_t parent;                      /* number of an earlier turn; -1: the first turn */
    int32_t joined_by;                   /* the later turn that waits for this one beside its parent; -1: none */
    sim_ns wait_ns;                      /* from the last answer that it needs until it is sent */
    bool is_tool;                        /* the wait is a tool call, not a user who thinks */

    /* Set by session_plan_link. */
    int32_t end_tokens;        /* length of its context with its output */
    int32_t child, next_child; /* its first child; the next child of its parent; -1: none */
    int32_t n_needed;          /* answers that it still waits for */
};

struct session_plan {
    sim_ns arrival_ns;
    const char *class_name; /* interned for the life of the source; NULL: of no class */
    const char *system;     /* name of its system prompt, likewise; NULL: none */
    int32_t system_tokens;
    size_t n_turns, capacity;
    struct session_turn *turns;
};

enum { SESSION_MAX_TURNS = 1 << 20, SESSION_PROBLEM_CHARS = 160 };

/* Appends a turn. Returns 0 or SIM_E_NOMEM. */
int session_plan_add(struct session_plan *plan, const struct session_turn *turn);

/* Checks the turns and sets what follows from them. Returns false with the problem if a turn has no tokens, a parent
 * or join is not as above, a turn but the last one leads nowhere, or the context is longer than an int32_t counts. */
bool session_plan_link(struct session_plan *plan, char problem[SESSION_PROBLEM_CHARS]);

void session_plan_fini(struct session_plan *plan);

/* Where plans come from. */
struct session_maker {
    const struct session_maker_ops *ops;
};
struct session_maker_ops {
    /* Fills a plan whose turns are empty, and links it. Returns 1, 0 at the end or a negative code. Sessions come in
     * order of arrival. */
    int (*make)(struct session_maker *maker, struct session_plan *plan, struct diag *diag);
    struct source_place (*place)(const struct session_maker *maker);
    bool (*note)(const struct session_maker *maker, size_t index, struct source_note *note);
    void (*close)(struct session_maker *maker);
};

/* Opens the stream of requests of a maker's sessions, with the transforms behind it, in prefix blocks of block_tokens.
 * Sessions and requests are numbered as they are made: the requests of a session are consecutive. Takes the maker
 * over, also on failure. Returns 0, SIM_E_CONFIG or SIM_E_NOMEM. */
int session_requests_open(struct session_maker *maker, int64_t block_tokens, const struct trace_transform *transform,
                          const struct source_options *options, struct request_source **source, struct diag *diag);

/* The parameter "block_tokens", of a struct ROW_OF with this member. */
#define SESSION_BLOCK_PARAM                                                                                            \
    ROW_INT("block_tokens", block_tokens, DEFAULT("64"), WITHIN(1, 1e6),                                               \
            "tokens per prefix block, a multiple of kv.block_tokens")

#endif
