#include "sim/catalog/expert_loads.h"

#include "models/operators/expert_placement.h"
#include "sim/catalog/expert_row.h"
#include "sim/core/mem.h"

struct placement {
    double loads[EXPERT_LOADS_MOST];
    struct expert_copy copies[EXPERT_LOADS_MOST];
    struct expert_gpu gpus[EXPERT_LOADS_MOST];
};

const char *expert_loads_problem(const struct expert_loads *loads)
{
    const int64_t groups = loads->groups, nodes = loads->nodes;
    if (groups == 0) return NULL;
    if (loads->experts % groups != 0) return "the number of experts is not a multiple of 'expert_groups'";
    if (groups % nodes != 0) return "'expert_groups' is not a multiple of the nodes; 0 places experts on any node";
    if (loads->copies % nodes != 0) return "'redundant_experts' is not a multiple of the nodes that groups lie on";
    return loads->gpus % nodes != 0 ? "the GPUs that hold experts are not a multiple of the nodes" : NULL;
}

static double place(const struct expert_loads *loads, struct placement *placement)
{
    const size_t slots = (size_t)(loads->experts + loads->copies), gpus = (size_t)loads->gpus;
    const struct expert_groups split = {(size_t)loads->groups, (size_t)loads->nodes};
    if (loads->groups == 0)
        expert_place(placement->loads, (size_t)loads->experts, placement->copies, slots, placement->gpus, gpus);
    else
        expert_place_in_groups(placement->loads, (size_t)loads->experts, split, placement->copies, slots,
                               placement->gpus, gpus);
    return expert_imbalance(placement->gpus, gpus);
}

static const char hint[] = "a row has the tokens of each expert of a layer; there is no header";

static int read_layers(const struct expert_loads *loads, struct csv *csv, struct placement *placement,
                       double *imbalance, struct diag *diag)
{
    char last[DIAG_WHERE_CHARS];
    double sum = 0.0;
    int64_t rows = 0;
    for (;;) {
        const int got = csv_next(csv, diag);
        if (got < 0) return got;
        if (got == 0) break;
        const int code = expert_row_read(csv, (size_t)loads->experts, "load", hint, placement->loads, diag);
        if (code != 0) return code;
        sum += place(loads, placement);
        rows++;
        csv_where(csv, 0, 0, last);
    }
    if (rows == 0)
        return diag_error(diag, SIM_E_DATA, loads->path, "write a row of loads for each layer", "the file has no rows");
    if (rows != 1 && rows != loads->layers)
        return diag_error(diag, SIM_E_DATA, last, "write one row for all layers, or one for each layer with experts",
                          "%lld rows, but the LLM has %lld layers with experts", (long long)rows,
                          (long long)loads->layers);
    *imbalance = sum / (double)rows;
    return 0;
}

int expert_loads_imbalance(const struct expert_loads *loads, double *imbalance, struct diag *diag)
{
    struct placement *placement = mem_alloc(sizeof *placement);
    if (!placement) return diag_nomem(diag);
    int code = 0;
    if (!loads->path) {
        expert_zipf_loads(placement->loads, (size_t)loads->experts, (size_t)loads->chosen, loads->skew);
        *imbalance = place(loads, placement);
    } else {
        struct input *input;
        struct csv *csv = NULL;
        code = input_open(loads->path, &input, diag);
        if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
        if (code == 0) code = read_layers(loads, csv, placement, imbalance, diag);
        csv_destroy(csv);
    }
    mem_free(placement);
    return code;
}
