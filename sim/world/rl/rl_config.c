#include "sim/world/rl/rl_config.h"

static const char *const layout_names[] = {"apart", "together", NULL};
static const char *const update_names[] = {"drain", "halt", "beside", NULL};

#define ROW_OF struct rl_config
const struct config_field rl_config_fields[] = {
    ROW_TEXT("service", service, REQUIRED, WITHIN(1, 256), "service whose replicas generate the samples"),
    ROW_SECTION("training", training, REQUIRED, training_config_fields,
                "what is trained, and how; its batch follows from the samples of a step"),
    ROW_CHOICE(
        "layout", layout, DEFAULT("apart"), layout_names,
        "apart: training has GPUs of its own; together: it takes turns with the replicas on theirs, and its states "
        "wait in host memory"),
    ROW_INT("gpus", gpus, DEFAULT("0"), WITHIN(0, 1 << 20), "GPUs of the training; required with layout 'apart'"),
    ROW_NAME_OR_PATH("gpu", gpu, OPTIONAL, WITHIN(1, 4096),
                     "GPU type of the training, of the cluster or one of its node_types; default: the cluster's"),
    ROW_INT("prompts", prompts, REQUIRED, WITHIN(1, 1e6), "prompts of a step"),
    ROW_INT("samples", samples, DEFAULT("1"), WITHIN(1, 1e4), "samples of each prompt"),
    ROW_INT("steps", steps, REQUIRED, WITHIN(1, 1e6), "steps of the run; fewer if the service's trace ends before"),
    ROW_INT("staleness", staleness, DEFAULT("0"), WITHIN(0, 1000),
            "steps by which the weights that generate a sample may be behind those that it trains; 0: synchronous"),
    ROW_CHOICE("update", update, DEFAULT("drain"), update_names,
               "replicas take new weights between two steps' requests, halted between two iterations, or beside their "
               "requests"),
    ROW_INT("updates", updates, DEFAULT("1"), WITHIN(1, 1000),
            "updates of the weights in a step, each with an equal part of its tokens"),
    ROW_INT("forward_passes", forward_passes, DEFAULT("0"), WITHIN(0, 100),
            "forward passes over a step's tokens before its updates, such as probabilities under a reference model"),
    {0}};
#undef ROW_OF
