/* Which kernels multiply with weights of a number format on a GPU, and in which format they compute. */
#ifndef ORRERY_MODELS_OPERATORS_WEIGHT_KERNELS_H
#define ORRERY_MODELS_OPERATORS_WEIGHT_KERNELS_H

#include "models/hardware.h"
#include "models/kernel.h"

struct weight_kernels {
    enum kernel_class product, experts;
    enum number_format compute;
};

/* fp8 has a scale per tensor, row or column, fp8_block one per block of 128 x 128: both have kernels of their own.
 * `wide`: the format of computing and activations. Formats of 8 bits and nvfp4 narrow the activations, too, if the GPU
 * has units for them. Without, 8 bits are widened in the plain kernels; 4 bits in those with weights of 4 bits and
 * activations of 16, as int4 and mxfp4 always are (vLLM's Marlin kernels, and its default for gpt-oss). */
struct weight_kernels weight_kernels(const struct gpu_spec *gpu, enum number_format weights, enum number_format wide);

#endif
