/* The resource requests of the jobs of a run: each different one once, under a number by which placers index their
 * state. resource_requests_learn reads the whole trace beforehand and counts how often each occurs. */
#ifndef ORRERY_WORLD_CLUSTER_RESOURCE_REQUESTS_H
#define ORRERY_WORLD_CLUSTER_RESOURCE_REQUESTS_H

#include "models/fragmentation.h"
#include "sim/world/cluster/node_resources.h"
#include "sim/world/policy/cluster_view.h"
#include "sim/world/rows/source.h"

#include <stdint.h>

struct resource_requests {
    struct resource_request *items;
    int64_t *counts; /* occurrences in the trace */
    int32_t n, capacity;
    int32_t *slots;  /* hash table of indices; -1: empty */
    int32_t n_slots;
    struct frag_task *tasks; /* the most frequent kinds, for fragmentation; NULL until resource_requests_learn */
    int32_t n_tasks;
};

void resource_requests_init(struct resource_requests *requests);
void resource_requests_fini(struct resource_requests *requests);

/* The request of a record at a site with these models. */
struct resource_request resource_request_of(const struct job_record *record, const struct gpu_models *models);

/* The number of a request, which is added if it is new. -1 when out of memory. A known request moves no others. */
int32_t resource_requests_index(struct resource_requests *requests, const struct resource_request *request);

/* Reads a source to its end, counts the requests of its jobs, and finds the kinds that make up `cover_frac` of them. A
 * kind is a request without memory, as the measure of fragmentation sees it. Returns 0, SIM_E_NOMEM, or the source's
 * code. */
int resource_requests_learn(struct resource_requests *requests, struct job_source *source,
                            const struct gpu_models *models, double cover_frac, struct diag *diag);

#endif
