/* Replays the log of a real engine: its arrivals and lengths run through a service of a scenario, and the simulated
 * times are compared with the measured ones. */
#ifndef ORRERY_CLI_TRACE_REPLAY_H
#define ORRERY_CLI_TRACE_REPLAY_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/trace/replay_times.h"
#include "sim/world/world.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Texts of the command line. Members that are NULL are found or keep their default. */
struct replay_request {
    const char *log, *format, *scenario, *service, *seed;
    const struct option_texts *settings; /* --set */
    int64_t allow_bad_rows;              /* of the log, which are dropped */
};

/* CPU overhead that replaces the engine's own, in seconds; NAN: the engine's own. */
struct replay_overhead {
    double iteration_s, sequence_s, prompt_s;
};

struct replay {
    struct replay_request request;
    const struct plugins *plugins;
    struct arena arena;
    struct engine_log log;
    const char *service;
    bool has_overhead; /* the service's cost model has an engine, whose CPU overhead can be set */
    double *measured[REPLAY_TIMES]; /* [log.n], NAN: unknown */
    struct catalog_memory memory;
};

/* The simulated times. */
struct replay_outcome {
    double *simulated[REPLAY_TIMES]; /* [log.n], NAN if the request did not get that far */
    double *finish_s;                /* [log.n], since the first arrival; NAN as above */
    struct replay_arrivals arrivals;
    int64_t finished, rejected, unfinished, absent; /* requests of the log; absent: removed by a transform or `until` */
    struct arena arena;
};

/* Reads the log and finds the service. Returns 0 or a negative code with findings; replay_close may follow either. */
int replay_open(struct replay *replay, const struct replay_request *request, const struct plugins *plugins,
                struct diag *diag);
void replay_close(struct replay *replay);

/* Loads the scenario with the log as its trace and with this overhead (NULL: the engine's own). setup_fini must
 * follow in either case. */
int replay_setup(struct replay *replay, const struct replay_overhead *overhead, struct setup *setup, struct diag *diag);

/* Runs the scenario. `also` receives all rows too (NULL: nobody). replay_outcome_fini must follow in either case. */
int replay_run(const struct replay *replay, const struct setup *setup, const struct sink *also,
               const volatile sig_atomic_t *interrupt, struct replay_outcome *outcome, struct world_result *result,
               struct diag *diag);
void replay_outcome_fini(struct replay_outcome *outcome);

#endif
