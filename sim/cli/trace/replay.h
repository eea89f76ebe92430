/* A real engine's log, replayed: its arrivals and lengths through a service of a scenario, and what comes out beside what was
 * measured. */
#ifndef ORRERY_CLI_TRACE_REPLAY_H
#define ORRERY_CLI_TRACE_REPLAY_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/world/world.h"
#include "traces/engine_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is compared, in the order of the report. */
enum replay_time { REPLAY_QUEUE, REPLAY_TTFT, REPLAY_TPOT, REPLAY_E2E, REPLAY_TIMES };
extern const char *const replay_time_names[REPLAY_TIMES]; /* "queue_s", "ttft_s" ... */

/* What the command line says. Members that are NULL are found out or left as they are. */
struct replay_request {
    const char *log, *format, *scenario, *service, *seed;
    const struct option_texts *settings; /* --set */
    int64_t allow_bad_rows;              /* of the log, that are left out */
};

/* Host time of the engine that takes the place of its own, in seconds; NAN: its own. */
struct replay_overhead {
    double iteration_s, sequence_s, prompt_s;
};

struct replay {
    struct replay_request request;
    const struct plugins *plugins;
    struct arena arena;
    struct engine_log log;
    const char *service;
    bool has_overhead; /* its cost model has an engine, whose host time can be set */
    double *measured[REPLAY_TIMES]; /* [log.n], NAN: not known */
    struct catalog_memory memory;
};

/* What the simulation made of it. */
struct replay_outcome {
    double *simulated[REPLAY_TIMES]; /* [log.n], NAN where a request did not get so far */
    double *finish_s;                /* [log.n], from the first arrival; likewise */
    int64_t finished, rejected, unfinished, absent; /* requests of the log; absent: left out by a transform or `until` */
    struct arena arena;
};

/* Reads the log and finds the service. Returns 0 or a negative code with findings; replay_close in either case. */
int replay_open(struct replay *replay, const struct replay_request *request, const struct plugins *plugins,
                struct diag *diag);
void replay_close(struct replay *replay);

/* The scenario with the log as its trace, and with this overhead (NULL: the engine's own). setup_fini in either case. */
int replay_setup(struct replay *replay, const struct replay_overhead *overhead, struct setup *setup, struct diag *diag);

/* Runs it. `also` gets all rows, too (NULL: nobody else does). replay_outcome_fini in either case. */
int replay_run(const struct replay *replay, const struct setup *setup, const struct sink *also,
               const volatile sig_atomic_t *interrupt, struct replay_outcome *outcome, struct world_result *result,
               struct diag *diag);
void replay_outcome_fini(struct replay_outcome *outcome);

#endif
