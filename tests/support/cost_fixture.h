/* A cost model made as a run makes it: parameters from a document, GPU and LLM from the catalog. */
#ifndef ORRERY_TESTS_SUPPORT_COST_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_COST_FIXTURE_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/transformer.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/time_error.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

struct cost_fixture {
    struct arena arena;
    struct catalog_memory *memory; /* of the catalog; NULL: none */
    struct diag diag;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct iteration_model model;
    struct time_error error; /* of its times */
    char message[1024]; /* the first finding */
};

/* `document` holds a "cost" as a service does; in it ' stands for ". Returns what failed first, or 0. In every case
 * cost_fixture_fini is due. */
int cost_fixture_init(struct cost_fixture *fixture, const char *document, const char *gpu, const char *llm,
                      int64_t tensor_parallel, int64_t pipeline_parallel);

/* The same on GPUs of several nodes, with attention groups, and with a memory of the catalog or NULL. */
struct cost_shape {
    int64_t tensor_parallel, pipeline_parallel, data_parallel;
    struct gpu_nodes nodes;
};
int cost_fixture_init_on(struct cost_fixture *fixture, struct catalog_memory *memory, const char *document,
                         const char *gpu, const char *llm, const struct cost_shape *shape);
void cost_fixture_fini(struct cost_fixture *fixture);

/* Seconds of the first iteration. */
double cost_fixture_s(const struct cost_fixture *fixture, struct iteration_work work);

#endif
