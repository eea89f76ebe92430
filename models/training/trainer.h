/* Constants of a training program: how it stores states, which kernels it has, which share of the calibrated rate of
 * kernels it sustains. The catalog reads them from configs/trainers. */
#ifndef ORRERY_MODELS_TRAINING_TRAINER_H
#define ORRERY_MODELS_TRAINING_TRAINER_H

#include <stdbool.h>

struct training_trainer {
    /* Share of the rate of products and attention, as calibrated on kernels alone, that a step sustains: a GPU under
     * lasting load lowers its clock to keep its power limit. Kernels that are bound by memory keep their time. */
    double sustained_compute;
    double attention_backward; /* rate of attention's backward pass, in FLOP/s, over that of its forward pass */
    double step_s;             /* CPU time of a step that no kernel hides: schedule, loss, clipping */
    double layer_launch_s;     /* CPU time to launch the kernels of a layer, forward; twice as much backward */
    double overlap_frac;       /* share of a message that hides behind computing where the plan overlaps them */
    bool flash_attention;      /* else scores are written to memory: two products, softmax and dropout apart */
    bool dropout;              /* after attention and the feed-forward layer, and on scores; keeps masks */
    /* CPU time of a layer with experts, forward and backward together, that no kernel hides: the host waits for counts
     * of tokens before it launches the rest. */
    double expert_layer_s;
    double weight_bytes, gradient_bytes; /* of a parameter */
    double optimizer_bytes;    /* of a parameter: master copy and two moments */
    double update_bytes;       /* that the update of a parameter moves through memory */
    double loss_passes;        /* times that the loss reads or writes the logits */
    double loss_bytes;         /* of memory of each logit, besides the logit */
    double buffer_bytes;       /* of memory of a rank: workspaces of libraries */
    /* Bytes of a weight in placeholders of gradients: one for each shape of weights in a layer, and one of the head
     * while its backward pass runs. Products add gradients in place, but a framework's hooks want a tensor
     * (TransformerEngine, dummy weight gradients). */
    double placeholder_bytes;
    bool broadcasts;     /* at the end of a step all gradients are summed on all ranks, and each rank broadcasts
                                * the weights that it has updated; else gradients are scattered and weights gathered */
    bool first_adapters;       /* rings of a switch's GPUs share its first adapters (models/training/adapters.h) */
    double staged_frac;        /* with first_adapters: of an adapter's bandwidth, where messages pass host memory */
};

#endif
