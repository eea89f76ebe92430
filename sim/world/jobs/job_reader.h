/* The data set that jobs read while they train: "data" of an entry of "jobs.types". Each step reads `step_bytes` from
 * storage behind the network, all GPUs together, each an equal part through a NIC of its node. Loaders read up to
 * `prefetch` steps ahead, as the workers of PyTorch's DataLoader do. So a step waits only while nothing is read ahead:
 * alone, a long job takes the longer of its computing and its reading.
 *
 * While the job works, it holds a claim on the links from the storage to each NIC. The claim asks for what the job
 * needs at full speed in an idle network. Once a whole step of the buffer is free, it asks for all that the path or
 * `node_read` lets through, until the buffer is full. The data read ahead, Q bytes of all GPUs, change as a fluid:
 *
 *     dQ/dt = R - U      R: GPUs times the least grant per GPU; U: what the job works off, at most its need
 *
 * At Q = 0 the job is as fast as R lets it. So jobs that share storage have max-min fair rates, at most their needs. A
 * start after a failure or a preemption begins with nothing read ahead, and reads the data of repeated work again.
 *
 * Links count the bytes read, also of data that a job no longer uses, when the job stops. A job that stalls for a save
 * goes on to read ahead, and claims what it needs when it works. One whose speed is 0, such as in a pause, fills its
 * buffer and then claims nothing.
 *
 * Leaves out: the wait for the first bytes, seeks and opening of files, caches of the nodes, shuffling, PCIe and host
 * memory, and that GPUs with a faster path than others cease to read once their own buffer is full. Which GPUs of its
 * nodes the job has plays no part: it uses their lowest NICs. */
#ifndef ORRERY_WORLD_JOBS_JOB_READER_H
#define ORRERY_WORLD_JOBS_JOB_READER_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"

#include <stdbool.h>

struct job;
struct jobs;

struct data_config {
    const char *from; /* storage behind the network; NULL: its jobs read no data */
    double step_bytes, sample_bytes;  /* one of them; NAN: not given */
    double step_s;                    /* NAN: of the type's steps or plan */
    double node_read_bytes_per_s;     /* NAN: not limited */
    int64_t prefetch_steps;
};

extern const struct config_field data_config_fields[];

/* Checks the types that read data. Returns 0 or a negative code with findings. */
int job_readers_create(struct jobs *jobs);
void job_readers_destroy(struct jobs *jobs);

/* Whether the job reads data while it works. */
bool job_reads(const struct job *job);

/* The following functions are for jobs with an activity (job_activity.h). */

/* The job begins to work, or ceases to, on its present GPUs. begin returns 0 or SIM_E_NOMEM; does nothing for jobs
 * that read already, or never. Before end, its progress has been moved to now. */
int job_reader_begin(struct job *job);
void job_reader_end(struct job *job);
void job_reader_forget(struct job *job); /* after the run: frees only */

/* The speed of the job may have changed; a stall for a save has begun or ended. Its progress has been moved to now. */
void job_reader_paced(struct job *job, sim_ns now);
void job_reader_turned(struct job *job, sim_ns now);

/* The most speed that the data read let the job have; INFINITY: they do not slow it. */
double job_reader_speed(const struct job *job);

/* The share of its time that the job at present waits for data. */
double job_reader_waits_frac(const struct job *job);

/* Emits job.data_wait_frac, if jobs have read data. Returns 0 or the sink's code. */
int job_readers_emit(const struct jobs *jobs);

#endif
