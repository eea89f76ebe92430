/* Time series: the state of the site on a grid of times.
 *
 * A sample is the value at its moment, after all events of that moment. It is no mean over the time before; means over
 * time are metrics. Sampling is no event: it keeps no run alive and ends no run of iterations, whose state at any time
 * follows from where it began. So the samples are the same in every mode.
 *
 *     service.waiting, replica.waiting            requests that wait for a place in the batch
 *     service.running, replica.running            sequences in the batch: prompts in progress and decoding
 *     service.kv_used_frac, replica.kv_used_frac  share of the KV blocks in use
 *     service.replicas, service.replicas_wanted   of a service that scales: replicas that are up; that are wanted
 *     cluster.gpus_by_use                         GPUs of each service and ("jobs") of all jobs, if a service scales
 *     cluster.gpus_in_use                         GPUs that services and jobs hold
 *     job.pending, job.running                    jobs that wait for GPUs; that hold GPUs
 *     rental.gpus                                 GPUs of a type that are "rented", and that are "in use"
 *     cost.usd                                    bill so far of an offer of the market
 *     power.site_w, power.domain_w                power of the site, of a domain that has a budget
 *     link.bytes_per_s                            over links of a kind ("pcie"), or over one ("node0/gpu1/pcie-in")
 *
 * By default the grid adapts: it begins with 512 points a second. Whenever SAMPLER_POINTS points are full, every other
 * one is dropped and the step doubled. So a series ends with at most SAMPLER_POINTS points, and with more than half as
 * many unless the run is too short. A configured period stays, with any number of points. */
#ifndef ORRERY_WORLD_ROWS_SAMPLER_H
#define ORRERY_WORLD_ROWS_SAMPLER_H

#include "sim/core/config/config.h"
#include "sim/core/units.h"
#include "sim/world/rows/sink.h"

#include <signal.h>
#include <stddef.h>

enum { SAMPLER_POINTS = 1024 };

struct sample_config {
    sim_ns period_ns; /* 0: the grid adapts */
};

extern const struct config_field sample_config_fields[];

struct sampler_series {
    const char *series, *entity;
};

/* `read` writes the values of all series at a time. */
struct sampler {
    const struct sink *sink;
    const volatile sig_atomic_t *interrupt; /* as in struct engine_options */
    size_t n_series;
    struct sampler_series *series;
    void (*read)(void *context, sim_ns at, double *values);
    void *context;
    sim_ns period_ns, next_ns;
    bool adapts;
    size_t n_points;
    double *values; /* [SAMPLER_POINTS][n_series], or of one point when the grid does not adapt */
};

/* Makes room for n_series series, which the caller fills in. Returns 0 or SIM_E_NOMEM. */
int sampler_init(struct sampler *sampler, const struct sample_config *config, size_t n_series);
void sampler_fini(struct sampler *sampler); /* also of a zeroed one */

/* Takes the samples of all times before `before_ns` that are due; the state is the same at all of them. An interrupt
 * ends that, with next_ns still before before_ns. Returns 0 or the code of the sink. */
int sampler_take(struct sampler *sampler, sim_ns before_ns);

/* Emits what is left to emit. */
int sampler_end(const struct sampler *sampler);

#endif
