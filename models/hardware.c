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
        [FORMAT_INT4] = FORMAT_FP16, [FORMAT_INT8] = FORMAT_FP16, [FORMAT_FP8] = FORMAT_FP16,
        [FORMAT_BF16] = FORMAT_FP16, [FORMAT_FP16] = FORMAT_FP32, [FORMAT_TF32] = FORMAT_FP32,
        [FORMAT_FP32] = FORMAT_FP32,
    };
    while (!(gpu->peak_flop_per_s[format] > 0.0) && format != FORMAT_FP32) format = wider[format];
    return gpu->peak_flop_per_s[format];
}

double gpu_link_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus)
{
    return gpus <= gpu->nvlink_gpus ? gpu->nvlink_bytes_per_s : gpu->pcie_bytes_per_s;
}
