/* What the jobs of a run ask for: each combination once, with a number of its own by which placers keep what they know of it. Where
 * it is wanted, the trace is read through beforehand to learn how often each occurs. */
#ifndef ORRERY_WORLD_CLUSTER_DEMANDS_H
#define ORRERY_WORLD_CLUSTER_DEMANDS_H

#include "models/fragmentation.h"
#include "sim/world/cluster/stock.h"
#include "sim/world/policy/view.h"
#include "sim/world/rows/source.h"

#include <stdint.h>

struct demands {
    struct job_demand *items;
    int64_t *counts; /* of each, in the trace */
    int32_t n, capacity;
    int32_t *slots;  /* hash table of indices; -1: empty */
    int32_t n_slots;
    struct frag_task *tasks; /* the most popular kinds, as fragmentation goes by; NULL until demands_learn */
    int32_t n_tasks;
};

void demands_init(struct demands *demands);
void demands_fini(struct demands *demands);

/* What a record asks of the nodes of a site with these models. */
struct job_demand demand_of(const struct job_record *record, const struct gpu_models *models);

/* The number of a demand, which joins those known. -1 when out of memory. */
int32_t demands_index(struct demands *demands, const struct job_demand *demand);

/* Reads a source to its end, counts what its jobs ask for, and finds the kinds that make up `cover_frac` of them. A kind is what the
 * measure of fragmentation looks at: memory is not in it. Returns 0, SIM_E_NOMEM, or what the source returned. */
int demands_learn(struct demands *demands, struct job_source *source, const struct gpu_models *models,
                  double cover_frac, struct diag *diag);

#endif
