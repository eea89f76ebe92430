/* The cost of iterations of each service: a table over batch and context, and one iteration by operator if the cost
 * model has operators. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_COST_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/world/service/service.h"

#include <stdbool.h>

/* The iteration to show, as texts of the command line; NULL: default. */
struct explain_batch {
    const char *batch, *context, *prompt;
};

bool explain_batch_is_given(const struct explain_batch *given);

struct explain_cost_options {
    int form;       /* enum answer_form */
    bool operators; /* show only one iteration, by operator */
    bool traffic;   /* show only what one iteration sends */
    struct explain_batch batch;
};

/* A pool of a service, and its cost model. */
struct modelled_pool {
    const char *name; /* service, and pool if it has any: "chat", "chat/prompts" */
    struct pool_config pool;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct iteration_model model;
    double gpus;
};

/* Models a pool of a service. Returns 0 or a negative code with findings. */
int explain_model_pool(struct cli *cli, const struct setup *setup, const struct service_config *service, size_t index,
                       struct arena *arena, struct modelled_pool *modelled);

/* Returns 0 or a negative code with findings. */
int explain_cost(struct cli *cli, const struct setup *setup, const struct explain_cost_options *options);

#endif
