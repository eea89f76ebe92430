#include "sim/catalog/trainer.h"

#include "sim/catalog/shelf.h"

#include <string.h>

#define ROW_OF struct trainer_gpu
static const struct config_field gpu_fields[] = {
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 256), "GPU of the catalog"),
    ROW_REAL("sustained_compute", sustained_compute, REQUIRED, WITHIN(0.05, 2), "as the key of all GPUs"),
    ROW_QUANTITY("step", step_s, UNIT_TIME, DEFAULT("0s"), WITHIN(0, 100), "as the key of all GPUs"),
    ROW_QUANTITY("expert_layer", expert_layer_s, UNIT_TIME, DEFAULT("0s"), WITHIN(0, 10), "as the key of all GPUs"),
    ROW_TEXT("fitted_on", fitted_on, REQUIRED, WITHIN(1, 512), "measurements that the constant was fitted on"),
    {0}};
#undef ROW_OF

#define ROW_OF struct trainer_preset
static const struct config_field preset_fields[] = {
    ROW_TEXT("summary", summary, REQUIRED, WITHIN(1, 512), "program, version, how it was run"),
    ROW_TEXT("source", source, OPTIONAL, WITHIN(1, 1024), "where the values of this file come from"),
    ROW_TEXT("kernels", kernels, DEFAULT("isolated"), WITHIN(1, 64), "calibration set of the kernels"),
    ROW_TEXT("collectives", collectives, DEFAULT("isolated"), WITHIN(1, 64), "calibration set of the collectives"),
    ROW_TEXT("own_kernels", own_kernels, OPTIONAL, WITHIN(1, 64),
             "calibration set of experts, latent attention, products in FP8 and NVFP4, where the GPU has it; "
             "absent: as kernels"),
    ROW_REAL("sustained_compute", constants.sustained_compute, SOURCED_DEFAULT("1"), WITHIN(0.05, 2),
             "share of the calibrated rate of products and attention that a step sustains, on GPUs not listed"),
    ROW_LIST("measured", measured, OPTIONAL, ANY, struct trainer_gpu, gpu_fields, "GPUs on which that was fitted"),
    ROW_REAL("attention_backward", constants.attention_backward, SOURCED_DEFAULT("0.88"), WITHIN(0.1, 2),
             "rate of attention's backward pass over that of its forward pass"),
    ROW_QUANTITY("step", constants.step_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 100),
                 "CPU time of a step that no kernel hides"),
    ROW_QUANTITY("layer_launch", constants.layer_launch_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10),
                 "CPU time to launch the kernels of a layer forward, and half of it backward"),
    ROW_QUANTITY("expert_layer", constants.expert_layer_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10),
                 "CPU time of a layer with experts that no kernel hides"),
    ROW_REAL("overlap", constants.overlap_frac, SOURCED_DEFAULT("1"), WITHIN(0, 1),
             "share of a message that hides behind computing where a plan overlaps them"),
    ROW_BOOL("flash_attention", constants.flash_attention, DEFAULT("true"),
             "attention is one kernel, which keeps no scores in memory"),
    ROW_BOOL("dropout", constants.dropout, DEFAULT("false"), "dropout, whose masks are kept"),
    ROW_QUANTITY("weight", constants.weight_bytes, UNIT_BYTES, SOURCED_DEFAULT("2B"), WITHIN(0.25, 16),
                 "memory of a weight"),
    ROW_QUANTITY("gradient", constants.gradient_bytes, UNIT_BYTES, SOURCED_DEFAULT("4B"), WITHIN(0.25, 16),
                 "memory of a gradient, and its size in messages"),
    ROW_QUANTITY("optimizer", constants.optimizer_bytes, UNIT_BYTES, SOURCED_DEFAULT("12B"), WITHIN(0, 64),
                 "memory of the optimizer's states of a weight: master copy, two moments"),
    ROW_QUANTITY("update", constants.update_bytes, UNIT_BYTES, SOURCED_DEFAULT("30B"), WITHIN(0, 256),
                 "bytes that the update of a weight reads and writes"),
    ROW_REAL("loss_passes", constants.loss_passes, SOURCED_DEFAULT("3"), WITHIN(0, 100),
             "times that the loss reads or writes the logits"),
    ROW_QUANTITY("loss", constants.loss_bytes, UNIT_BYTES, SOURCED_DEFAULT("2B"), WITHIN(0, 64),
                 "memory of the loss for each logit, besides the logit"),
    ROW_QUANTITY("buffers", constants.buffer_bytes, UNIT_BYTES, SOURCED_DEFAULT("256MiB"), WITHIN(0, 1e12),
                 "workspaces of libraries on a rank"),
    ROW_QUANTITY("placeholder", constants.placeholder_bytes, UNIT_BYTES, SOURCED_DEFAULT("0B"), WITHIN(0, 16),
                 "placeholder of a gradient, of each shape of weights in a layer and of the head"),
    ROW_BOOL("broadcasts", constants.broadcasts, DEFAULT("false"),
             "at the end of a step ranks sum all gradients, and each broadcasts the weights that it has updated"),
    ROW_BOOL("first_adapters", constants.first_adapters, DEFAULT("false"),
             "rings of GPUs behind one PCIe switch share its first adapters, as with NCCL before 2.9.6"),
    ROW_REAL("staged_adapter", constants.staged_frac, SOURCED_DEFAULT("1"), WITHIN(0.05, 1),
             "with first_adapters: share of an adapter's bandwidth left where a ring passes host memory"),
    {0}};
#undef ROW_OF

static const struct shelf trainers = {"trainers", "training program", "orrery list trainers", NULL, NULL};

int catalog_trainer(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                    struct trainer_preset *preset, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &trainers, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, preset_fields, arena, preset, sizeof *preset, diag);
    if (code != 0) return code;
    preset->path = path;
    preset->name = shelf_entry_name(arena, path);
    return preset->name ? 0 : diag_nomem(diag);
}

int catalog_list_trainers(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                          struct diag *diag)
{
    return shelf_list(catalog, &trainers, arena, names, diag);
}

bool trainer_preset_constants(const struct trainer_preset *preset, const char *gpu, struct training_trainer *constants)
{
    const struct trainer_gpu *measured = preset->measured.items;
    *constants = preset->constants;
    for (size_t i = 0; i < preset->measured.n; i++) {
        if (strcmp(measured[i].gpu, gpu) != 0) continue;
        constants->sustained_compute = measured[i].sustained_compute;
        constants->step_s = measured[i].step_s;
        constants->expert_layer_s = measured[i].expert_layer_s;
        return true;
    }
    return false;
}
