#include "models/operators/weight_kernels.h"

#include <stdbool.h>

struct weight_kernels weight_kernels(const struct gpu_spec *gpu, enum number_format weights, enum number_format wide)
{
    const bool native = gpu->peak_flop_per_s[weights == FORMAT_FP8_BLOCK ? FORMAT_FP8 : weights] > 0.0;
    if (weights == FORMAT_FP8 && native) return (struct weight_kernels){KERNEL_GEMM_FP8, KERNEL_MOE_FP8_TENSOR, weights};
    if (weights == FORMAT_FP8_BLOCK && native)
        return (struct weight_kernels){KERNEL_GEMM_FP8_BLOCK, KERNEL_MOE_FP8, weights};
    if (weights == FORMAT_NVFP4 && native)
        return (struct weight_kernels){KERNEL_GEMM_NVFP4, KERNEL_MOE_NVFP4, weights};
    if (weights == FORMAT_MXFP4) return (struct weight_kernels){KERNEL_GEMM_INT4, KERNEL_MOE_MXFP4, wide};
    if (weights == FORMAT_INT4 || weights == FORMAT_NVFP4)
        return (struct weight_kernels){KERNEL_GEMM_INT4, KERNEL_MOE_INT4, wide};
    return (struct weight_kernels){KERNEL_GEMM, KERNEL_MOE, wide};
}
