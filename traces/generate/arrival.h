/* Arrival processes: when requests or jobs come. The family "arrival" of configurations, tag "process".
 *
 * A process draws from one random stream of its own, so the lengths of requests do not depend on it. */
#ifndef ORRERY_TRACES_GENERATE_ARRIVAL_H
#define ORRERY_TRACES_GENERATE_ARRIVAL_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/rng.h"
#include "sim/core/units.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arrivals;

struct arrival_process {
    const char *name, *summary;
    const struct config_field *params;
    size_t params_bytes, state_bytes;
    int (*check)(const void *params, const char *where, struct diag *diag); /* checks beyond ranges; may be NULL */
    void (*start)(struct arrivals *arrivals);                               /* may be NULL */
    sim_ns (*next)(struct arrivals *arrivals);                              /* >= arrivals->now_ns */
    /* Closed loop only, else NULL: the pause of a user before the request that follows `ended_id`. */
    sim_ns (*think)(const struct arrivals *arrivals, int64_t ended_id);
};

struct arrivals {
    const struct arrival_process *process;
    const void *params;
    void *state;    /* state_bytes, zeroed */
    struct rng rng; /* stream "NAME.arrivals" */
    gsl_rng gsl;    /* the same, for GSL's distributions */
    sim_ns now_ns;  /* time of the latest arrival */
    int64_t n;      /* arrivals so far */
    bool ended;     /* no more arrivals: in a closed loop all users have arrived */
    uint64_t seed;
    uint32_t run;
};

/* Parameters, for the named mixes. */
struct modulator { /* a telegraph signal, +1 or -1 for exponential times; its correlation decays as exp(-t / time) */
    double amplitude_frac;
    sim_ns time_ns;
};
struct modulated_params {
    double rate_per_s;
    struct config_list modulators; /* of struct modulator */
};
struct diurnal_params {
    double rate_per_s, amplitude_frac, peak_hour;
    struct config_list hours, weekdays; /* of double; 24 and 7, or none */
    double start_hour;
    int start_day;
};

extern const struct arrival_process arrival_mmpp, arrival_modulated, arrival_diurnal;

/* All of them, in listing order, NULL at the end. */
extern const struct arrival_process *const arrival_processes[];

/* Starts a process at time 0; `params` must outlive it. Returns 0, SIM_E_CONFIG or SIM_E_NOMEM. */
int arrivals_create(const struct arrival_process *process, const void *params, const struct source_options *options,
                    struct arrivals **arrivals, struct diag *diag);
void arrivals_destroy(struct arrivals *arrivals); /* NULL is allowed */

/* The next arrival, not before the previous one. SIM_NS_MAX if it is past the end of time, or there is none. */
sim_ns arrivals_next(struct arrivals *arrivals);

/* Reports that arrivals, or the jobs they start, exceed the range of time. Returns SIM_E_CONFIG. */
int arrivals_out_of_time(const char *where, struct diag *diag);

/* --- Where a generated trace ends --- */

struct generate_end {
    int64_t count;      /* 0: no limit */
    sim_ns duration_ns; /* no arrivals from then on; 0: no limit */
};

/* The parameters "count" and "duration", of a struct ROW_OF with this member `end`. */
#define GENERATE_END_PARAMS                                                                                            \
    ROW_INT("count", end.count, DEFAULT("0"), WITHIN(0, 1e15), "records; 0: no limit"),                                \
        ROW_TIME("duration", end.duration_ns, DEFAULT("0s"), WITHIN(0, 9e9),                                           \
                 "no arrivals from then on, before rate_scale; 0s: no limit")

/* SIM_E_CONFIG without a count and a duration. */
int generate_end_check(const struct generate_end *end, const char *where, struct diag *diag);

/* Whether the record after `n` others, arriving at `arrival_ns`, is past the end. */
bool generate_end_reached(const struct generate_end *end, int64_t n, sim_ns arrival_ns);

struct source_place generate_end_place(const struct generate_end *end, int64_t n, sim_ns now_ns);

#endif
