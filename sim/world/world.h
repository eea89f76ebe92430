/* The datacenter: built from a scenario, run to its end, rows to a sink.
 *
 * world_create checks everything that can be checked before the first event: catalog names, GPUs, cost models,
 * traces. So the caller can open its results only after that.
 *
 * The numbered laws of the world. Each is checked beside the state that it guards, after every event with `--check
 * event` and at the end of every run. A violation is a bug of ours: it ends the process with the number of the law.
 *
 *     INV-1   requests are conserved: in the pool = at the replicas = queued + running + paused + nonresident; each is
 *             where its state says (service_end.c, replica_check.c)
 *     INV-2   KV is conserved: a replica's blocks = free + held by its requests + held for requests handed over; blocks
 *             on the host and in transfer belong to requests that are nonresident or wait for them (replica_check.c)
 *     INV-3   a decoding sequence has tokens to come, and the order of finishing contains it (replica_check.c)
 *     INV-4   processed tokens of the decoding sequences add up to the aggregate that costs are computed from
 *             (replica_check.c)
 *     INV-5   sequences by phase of block growth add up to the decoding sequences that grow (replica_check.c)
 *     INV-6   GPUs are conserved: total = free + in use + down, and no node has more free than it has (cluster.c)
 *     INV-7   Little's law, exactly: integral over time of the requests in the system = sum of their stays
 *             (service_end.c)
 *     INV-8   links carry what transfers move, to the byte: by kind of link, over each link of their paths
 *             (topology_stats.c)
 *     INV-9   a tier holds at least nothing and at most its capacity (topology_stats.c); of a prefix store's tiers
 *             those blocks are held that are being copied (prefix_store.c)
 *     INV-10  a replica that is not up has no requests; it holds all GPUs it needs, or none while it is down
 *             (service_scaling_view.c, replica_check.c)
 *     INV-11  the energy of the site is the integral of its power, to 1e-9: with `--check event`, in runs that visit
 *             every boundary or have no services (power.c)
 *     INV-12  leases add up: the leased GPUs and the bill are the sums over leases and over offers, to the micro-dollar
 *             (market.c)
 *     INV-13  rollouts are conserved: output tokens of finished samples = trained + waiting + dropped, and replicas
 *             have got the weights of each sending (rl.c)
 *     INV-14  CPU and memory are conserved: of each node that counts it, what is taken = what running jobs hold
 *             (job_run.c) */
#ifndef ORRERY_WORLD_WORLD_H
#define ORRERY_WORLD_WORLD_H

#include "sim/catalog/catalog.h"
#include "sim/core/engine.h"
#include "sim/world/rows/sink.h"
#include "sim/world/scenario.h"

struct world;

struct world_progress {
    sim_ns now_ns;
    uint64_t events;
    double done_frac; /* of the traces, the least of all sources */
};

struct world_options {
    const struct config *config;   /* what the scenario was bound from: for the places of findings */
    const struct catalog *catalog;
    uint32_t run;                  /* number of the replication: selects the random substreams */
    enum queue_kind queue;
    bool single_step;              /* visit every iteration boundary */
    bool strict_domain;            /* refuse cost models that are not calibrated: they have no range to keep to */
    enum time_case time_case;      /* of the iterations of services, where the error of their cost model is known */
    bool each_replica;             /* sample every replica, however many a service has */
    uint64_t stall_events;         /* watchdog, as in struct engine_options */
    bool check;                    /* check the invariants after every event and at the end */
    const volatile sig_atomic_t *interrupt;
    void (*progress)(void *context, const struct world_progress *progress); /* now and then; may be NULL */
    void *progress_context;
};

struct world_result {
    sim_ns end_ns;
    /* of the kernels' time, over all replicas; NAN: unknown, a cost model is not calibrated */
    double extrapolated_frac;
    bool has_exact_estimates; /* the scheduler may read estimates of run times, and all of them were exact */
    struct engine_stats engine;
};

/* Both pointers, the scenario's arena and `diag` must outlive the world. Returns 0 or a negative code with findings;
 * then there is nothing to destroy. */
int world_create(const struct scenario *scenario, const struct world_options *options, struct world **world,
                 struct diag *diag);
void world_destroy(struct world *world);

/* Reads the traces to their end, or to the time `until`, without simulating them. Those of generators of requests are
 * not read. Errors of records, and jobs that can never run, are findings. Returns 0 or the code of the first error. The
 * world can only be destroyed afterwards. */
int world_read_through(struct world *world);

/* Adds what the ends of the interval rest on. Only worlds with another time_case than TIMES_PREDICTED know it. */
void world_say_time_errors(const struct world *world, struct time_errors *errors);

/* Warns of what the rows of a run tell that is known before it. Its brake may slow no GPUs. At `where`: kernels may be
 * older than the engine of their pool, newer by years, or of another library. Returns 0 or SIM_E_NOMEM. */
int world_warn_ahead(const struct world *world, const char *where, struct diag *diag);

/* The 90th percentile of the error of the power of the services' GPUs, the largest of them; NAN: one is unknown. */
double world_power_error(const struct world *world);

/* The jobs, to be asked after the run (sim/world/jobs/jobs.h); NULL: it has none. */
struct jobs;
const struct jobs *world_jobs(const struct world *world);

/* Runs once. Also after an interrupt or a stall the rows and metrics of what has happened are emitted. Returns 0,
 * SIM_E_INTERRUPTED, SIM_E_STALLED, SIM_E_POLICY, SIM_E_DATA, the sink's code, or SIM_E_NOMEM. */
int world_run(struct world *world, const struct sink *sink, struct world_result *result);

#endif
