#include "models/hardware.h"

double number_format_bytes(enum number_format format)
{
    static const double bytes[FORMAT_COUNT] = {
#define NUMBER_FORMAT_BYTES(id, name, size) [id] = size,
        NUMBER_FORMATS(NUMBER_FORMAT_BYTES)
#undef NUMBER_FORMAT_BYTES
    };
    return bytes[format];
}

double gpu_peak_flop_per_s(const struct gpu_spec *gpu, enum number_format format)
{
    static const enum number_format wider[FORMAT_COUNT] = {
        [FORMAT_INT4] = FORMAT_FP16, [FORMAT_INT8] = FORMAT_FP16,     [FORMAT_FP8] = FORMAT_FP16,
        [FORMAT_BF16] = FORMAT_FP16, [FORMAT_FP16] = FORMAT_FP32,     [FORMAT_TF32] = FORMAT_FP32,
        [FORMAT_FP32] = FORMAT_FP32, [FORMAT_FP8_BLOCK] = FORMAT_FP8, [FORMAT_NVFP4] = FORMAT_FP8,
        [FORMAT_MXFP4] = FORMAT_FP8,
    };
    while (!(gpu->peak_flop_per_s[format] > 0.0) && format != FORMAT_FP32) format = wider[format];
    return gpu->peak_flop_per_s[format];
}

/* Dimensions of the largest cube that `gpus` GPUs fill, at least the one of a pair. */
static int cube_dimensions(int64_t gpus)
{
    int dimensions = 1;
    while (gpus >> (dimensions + 1)) dimensions++;
    return dimensions;
}

double gpu_link_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus)
{
    if (gpus > gpu->nvlink_gpus) return gpu->pcie_bytes_per_s;
    if (gpu->fabric != FABRIC_MESH) return gpu->nvlink_bytes_per_s;
    return gpu->nvlink_bytes_per_s * cube_dimensions(gpus) / cube_dimensions(gpu->nvlink_gpus);
}

double gpu_pair_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus)
{
    const double pair = gpu_link_bytes_per_s(gpu, 2), group = gpu_link_bytes_per_s(gpu, gpus);
    return pair < group ? pair : group;
}

bool gpu_switch_adds(const struct gpu_spec *gpu, int64_t gpus)
{
    return gpu->fabric == FABRIC_SWITCH && gpus <= gpu->nvlink_gpus && gpu->peak_flop_per_s[FORMAT_FP8] > 0.0;
}
