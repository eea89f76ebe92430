/* Checkpoints as flows: `to` of "checkpoint". Each save moves the bytes of the job's state over the network: to storage
 * that the site shares ("remote" of cluster.storage), or to the memory of the next node of the job (a peer). Each GPU
 * writes an equal slice through a NIC of its node. How long a save takes follows from the shares of the links, so that
 * saves of several jobs, and all other traffic, slow each other down. A job that restarts reads its state back in the
 * same way before it works. With "load", any other start reads the bytes given there, also that of a job without GPUs.
 *
 * The designs are those of models/checkpoint.h. A synchronous save stalls the job until its last byte has moved. One
 * of FastPersist stalls it from the end of the overlap on. One of DataStates stalls it for the copy to the host, beyond
 * the overlap. Its pinned memory holds one save: the next one waits for the end of the flow, while the job stalls.
 * Work counts from the end of the flow.
 *
 * A job on one node has no peer: its saves to a peer never count, and the run warns. If it shrinks to one node while it
 * reads its state back, it reads the rest from a node that it had before.
 *
 * The state of a job whose optimizer is beyond its GPUs (job_swaps.c) leaves host memory, by the switch of the NIC.
 *
 * Leaves out: whether the peer that holds a state has failed as well, PCIe links of others, and host memory of the
 * peer. Also the capacity of the storage, and which GPUs of its nodes the job has: it uses their lowest NICs. */
#ifndef ORRERY_WORLD_JOBS_JOB_SAVER_H
#define ORRERY_WORLD_JOBS_JOB_SAVER_H

#include "sim/core/units.h"

#include <stdbool.h>

struct job;
struct link_path;
struct job_progress;
struct jobs;
struct job_type;
struct topology;

/* Whether saves of the job are flows. */
bool job_saves_by_flows(const struct job *job);

/* Whether the job saves or reads by flows. */
bool job_has_saver(const struct job *job);

/* Whether a start of the job reads what its type loads, unless it restores. */
bool job_loads(const struct job *job);

/* Flows of a job in an idle network: their rate, all together (0: there is no path), and the latency of their path. */
struct job_idle_flows {
    int32_t n;
    double bytes_per_s;
    sim_ns latency_ns;
};

/* `n` flows, as if all passed the shared links of one path. NULL: the path to a peer is not known yet. */
struct job_idle_flows job_idle_flows(const struct job *job, const struct link_path *path, bool to_peer, int32_t n);

/* Time in which flows that share their rate equally move `slice_bytes` each; and `bytes` in all, with the latency. */
sim_ns job_idle_ns(const struct job_idle_flows *idle, int64_t slice_bytes);
sim_ns job_idle_whole_ns(const struct job_idle_flows *idle, int64_t bytes);

/* Rate at which the job can save in an idle network; 0: it cannot. */
double job_saver_idle_bytes_per_s(const struct job *job);

/* Time that a job which does not run reads at its next start, in an idle network; 0: it reads nothing. */
sim_ns job_expected_read_ns(const struct job *job);

/* Replaces the open end of what a running job reads, or of a save that stalls it, by an estimate: what has not moved,
 * at the rate of an idle network. `progress` is a copy of the job's, moved to now. */
void job_saver_expect(const struct job *job, sim_ns now, struct job_progress *progress);

/* The job begins a run whose progress has begun at `now`, or continues one. If it `starts`, it reads its state or what
 * it loads once its wait is over; else what is left of that. Returns 0 or a negative code. */
int job_saver_begin(struct job *job, sim_ns now, bool starts);

/* The GPUs of a running job have changed, and it does not work for `idle_ns`: what has moved of a save or of the state
 * read back counts, and the rest moves over the links of its new GPUs. A save to a peer that it has no more does not
 * count. Returns 0 or SIM_E_NOMEM. */
int job_saver_resized(struct job *job, sim_ns now, sim_ns idle_ns);

/* The speed of a running job may have changed, and its progress has been moved to now. At speed 0 it begins no save,
 * and no overlap of a save ends; what moves goes on. Of jobs with an activity. */
void job_saver_paced(struct job *job, sim_ns now);

/* Warns of runs that save nothing. Returns 0 or the sink's code. */
int job_savers_warn(const struct jobs *jobs);

/* The run ends. Its progress has been moved to now. Of jobs with an activity. */
void job_saver_end(struct job *job);
void job_saver_forget(struct job *job); /* after the run: frees only */

#endif
