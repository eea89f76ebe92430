/* Runs a list of jobs on a cluster and keeps what came out, for the tests of schedulers and placers. The scheduler is
 * wrapped in one that checks, at every change and decision, that GPUs are conserved and that jobs hold all of theirs or
 * none; and the placements that come out of every run are checked to say the same as the rows of its jobs. */
#ifndef ORRERY_TESTS_SUPPORT_JOBRUN_H
#define ORRERY_TESTS_SUPPORT_JOBRUN_H

#include "sim/core/engine.h"
#include "sim/core/err.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/policy/all.h"
#include "sim/world/rows/sink.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A record of `gpus` GPUs whose estimate is its run time, in seconds; its id is that of its index in the list. */
struct job_record jobrun_record(int64_t id, double submit_s, double duration_s, int32_t gpus);

struct jobrun_spec {
    const struct job_record *records; /* ids are 0 .. n - 1; sorted by submission */
    size_t n;
    struct cluster_config cluster;
    const char *scheduler, *placement; /* names; placement NULL: "counted" */
    const char *scheduler_params; /* JSON; NULL: defaults */
    const struct scheduler *own_scheduler; /* instead of a name */
    const struct placer *own_placer;
    enum queue_kind queue;
    sim_ns until, warmup_ns;
    bool needs_no_waste; /* checks that no pending job would fit after a decision (counted GPUs, jobs of 64 at most) */
    int32_t group_gpus;  /* that a service holds on one node all the time */
    const struct restart_config *restart; /* NULL: no waits */
    struct config_list types;             /* struct job_type */
    sim_ns round_ns;
    struct deadlines_config deadlines; /* all 0: none */
    sim_ns disturb_every_ns; /* > 0: a running job loses its GPUs, or gets on at another speed, in turns */
    size_t bad_row;      /* > 0: the source fails with SIM_E_DATA after so many records */
    long fail_after;     /* > 0: so many allocations succeed, then none; the code is not checked */
};

struct jobrun_job {
    double submit_s, start_s, end_s, jct_s, gpu_s; /* NAN: does not apply */
    int64_t preemptions, starts, finish_rank;      /* starts and resumptions; order of the rows */
    const char *status;                            /* NULL: no row */
};

struct jobrun_decision {
    double t_s;
    const char *action, *reason;
    int64_t job;
};

struct jobrun {
    int code; /* of engine_run or of what came before */
    struct diag diag;
    struct jobrun_job *jobs; /* [n] */
    size_t n_rows, n_decisions, n_metrics, n_warnings;
    int64_t n_late; /* of the warning chronus-late */
    struct jobrun_decision *decisions;
    struct placement_row *placements;
    size_t n_placements;
    struct {
        char name[96];
        double value;
    } metrics[1024];
    double mean_jct_s, makespan_s; /* over the finished jobs; from time 0 to the last finish */
};

/* Checks that the run's code is `expected`. Free the result with jobrun_fini. */
void jobrun_init(struct jobrun *run, const struct jobrun_spec *spec, int expected);
void jobrun_fini(struct jobrun *run);

/* NAN when there is no such metric. */
double jobrun_metric(const struct jobrun *run, const char *name);

/* Whether both runs emitted the same rows. */
bool jobrun_equal(const struct jobrun *a, const struct jobrun *b, size_t n);

#endif
