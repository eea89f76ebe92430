/* What jobs need of their nodes beside GPUs: their speed by the CPUs and the memory that they hold for each GPU, as the
 * section "host" of a job's type states it.
 *
 *     speed = the lesser of cpus(CPUs per GPU) and memory(bytes per GPU)
 *
 * CPUs prepare the input of a job, and memory caches it, while its GPUs work on the input before: the slowest of these
 * sets the pace. Each is a table: straight between its points, constant after the last one, straight from (0, 0) to the
 * first. A point at 0 is what a job does without any. A resource without a table limits nothing.
 *
 * Source: Mohan et al., Looking Beyond GPUs for DNN Scheduling on Multi-Tenant Clusters (Synergy), OSDI 2022, which
 * measures such tables job by job. Leaves out: tables over both amounts at once, and storage that jobs share. */
#ifndef ORRERY_WORLD_CLUSTER_HOST_NEEDS_H
#define ORRERY_WORLD_CLUSTER_HOST_NEEDS_H

#include "sim/core/config/config.h"
#include "sim/world/policy/cluster_view.h"

#include <stdbool.h>

struct host_point {
    double per_gpu, speed; /* CPUs or bytes; any unit of speed */
};

struct host_needs {
    struct config_list cpus, memory; /* struct host_point */
};

/* CPUs and memory for each GPU. */
struct host_amount {
    double cpus, bytes;
};

extern const struct config_field host_needs_fields[];

/* Whether the section is there. */
bool host_needs_given(const struct host_needs *needs);

/* Checks across fields of the section at path `where`: points, rising amounts, speeds that do not fall. Returns 0 or
 * SIM_E_CONFIG with a finding. */
int host_needs_check(const struct host_needs *needs, const struct config *config, const char *where, struct diag *diag);

/* The speed with these amounts; INFINITY: nothing limits it. */
double host_needs_speed(const struct host_needs *needs, const struct host_amount *amount);

/* The least amounts with which no greater ones make it faster; of a resource without a table that of `asked`. */
struct host_amount host_needs_best(const struct host_needs *needs, const struct host_amount *asked);

/* What a request has for each GPU, shares of a GPU counted as such. */
struct host_amount host_amount_of(const struct resource_request *request);

struct cluster;

/* What belongs to one GPU if a node divides its CPUs and memory evenly among its GPUs: the least over all nodes of the
 * site with GPUs. 0: no node counts it. */
struct job_host cluster_share_of_gpu(const struct cluster *cluster);

/* A request that asks for no CPUs or no memory asks for its part of the share where its jobs need some. */
void host_needs_fill(const struct host_needs *needs, const struct job_host *share, struct resource_request *request);

#endif
