/* Measured against simulated times of the same requests: the tables of `trace replay` and `compare RUN LOG`. */
#ifndef ORRERY_CLI_TRACE_REPLAY_TIMES_H
#define ORRERY_CLI_TRACE_REPLAY_TIMES_H

#include "analysis/replay/errors.h"
#include "sim/cli/answer.h"
#include "traces/engine_log.h"

#include <stdbool.h>

/* The compared times, in the order of the report. */
enum replay_time { REPLAY_QUEUE, REPLAY_TTFT, REPLAY_TPOT, REPLAY_E2E, REPLAY_TIMES };
extern const char *const replay_time_names[REPLAY_TIMES]; /* "queue_s", "ttft_s" ... */

/* Takes the measured times of a log: [log.n] of each, NAN where unknown, in the arena. Returns 0 or SIM_E_NOMEM. */
int replay_times_take(const struct engine_log *log, struct arena *arena, double *measured[REPLAY_TIMES]);

/* [n] times that are NAN; NULL when out of memory. */
double *replay_times_none(struct arena *arena, size_t n);

/* Whether simulated requests arrive at the measured times, or all of them earlier or later by one span. */
struct replay_arrivals {
    bool same;
    double shift_s; /* NAN: no request so far */
};
void replay_times_begin_arrivals(struct replay_arrivals *arrivals, const struct engine_log *log);
void replay_times_note_arrival(struct replay_arrivals *arrivals, double arrival_s, const struct log_entry *entry);

struct replay_times {
    const struct engine_log *log;
    double *const *measured, *const *simulated; /* [REPLAY_TIMES][log.n], NAN: unknown, or not reached */
    const double *finish_s;                     /* [log.n], simulated, since the start of the run */
    bool same_arrivals;                         /* else only distributions are comparable */
    double shift_s;                             /* simulated - measured arrivals; NAN: none */
    struct replay_errors errors[REPLAY_TIMES];
};

/* Computes the errors. Returns 0 or SIM_E_NOMEM. */
int replay_times_compare(struct replay_times *times);

/* Adds the tables, and sentences about what is comparable. Without the measured arrivals, single requests and
 * throughput are left out. */
void replay_times_add(const struct replay_times *times, struct answer *answer);

#endif
