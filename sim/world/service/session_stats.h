/* Counts of sessions (traces/session.h): how many, how long they take, and what becomes of the tokens that their
 * prompts repeat. On the first admission of its request every such token is found in a prefix cache, loaded from a
 * prefix store, or computed again.
 *
 * A session counts if it begins after the warm-up, a request if it arrives after it. */
#ifndef ORRERY_WORLD_SERVICE_SESSION_STATS_H
#define ORRERY_WORLD_SERVICE_SESSION_STATS_H

#include "sim/world/replica/request.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/sink.h"

struct session_stats {
    bool is_simulated; /* some sessions are not of a log, where only `begun` and `turns` are known */
    int64_t begun, finished;
    int64_t turns; /* finished requests of sessions */
    int64_t prompt_tokens, repeated_tokens;  /* of these requests, without those that a log names */
    int64_t hit_tokens, loaded_tokens;       /* of the repeated ones */
    struct distribution duration_s; /* from the first arrival to the last answer */
};

int session_stats_init(struct session_stats *stats); /* 0 or SIM_E_NOMEM */
void session_stats_fini(struct session_stats *stats);
int session_stats_merge(struct session_stats *into, const struct session_stats *from); /* 0 or SIM_E_NOMEM */

/* An arrival, and a request that finishes at `now`, which is in a session. Return 0 or SIM_E_NOMEM. */
void session_stats_add_arrival(struct session_stats *stats, const struct request *request);
int session_stats_add_finished(struct session_stats *stats, const struct request *request, sim_ns warmup_ns,
                               sim_ns now);

/* Emits session.* if there were sessions: if a log names all of them, session.begun and session.turns.sum alone. */
int session_stats_emit(const struct session_stats *stats, const struct sink *sink);

#endif
