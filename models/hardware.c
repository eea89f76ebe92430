#include "models/hardware.h"

#include <stddef.h>

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

bool gpu_multiplies_blocks(const struct gpu_spec *gpu)
{
    return gpu->peak_flop_per_s[FORMAT_NVFP4] > 0.0 || gpu->peak_flop_per_s[FORMAT_MXFP4] > 0.0;
}

/* Dimensions of the largest cube that `gpus` GPUs fill, at least the one of a pair. */
static int cube_dimensions(int64_t gpus)
{
    int dimensions = 1;
    while (gpus >> (dimensions + 1)) dimensions++;
    return dimensions;
}

int64_t gpu_bridges(const struct gpu_spec *gpu, int64_t gpus)
{
    if (gpus <= gpu->nvlink_gpus || gpu->gpus_per_switch == 0) return 0;
    const int64_t beyond_switch = gpus > gpu->gpus_per_switch;
    return beyond_switch + (gpus > gpu->gpus_per_switch * gpu->switches_per_socket);
}

bool gpu_host_staged(const struct gpu_spec *gpu, int64_t gpus)
{
    return gpus > gpu->nvlink_gpus && !gpu->peer_to_peer;
}

const char *const gpu_vendor_names[] = {"NVIDIA", "AMD", "other", NULL};

const char *gpu_vendor_caveat(const struct gpu_spec *gpu)
{
    if (gpu->vendor == VENDOR_NVIDIA) return "";
    return gpu->vendor == VENDOR_AMD ? ": no kernel of AMD's GPUs was measured"
                                     : ": only kernels of NVIDIA's GPUs were measured";
}

/* GPUs that send through the uplink of one switch. */
static double uplink_gpus(const struct gpu_spec *gpu, int64_t gpus)
{
    if (!gpu_host_staged(gpu, gpus) || gpu->gpus_per_switch <= 1) return 1.0;
    return (double)(gpus < gpu->gpus_per_switch ? gpus : gpu->gpus_per_switch);
}

static double pcie_link_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus)
{
    double share = 1.0;
    for (int64_t i = gpu_bridges(gpu, gpus); i > 0; i--) share *= gpu->bridge_share;
    const double uplink = 1.0 / uplink_gpus(gpu, gpus);
    return gpu->pcie_bytes_per_s * (uplink < share ? uplink : share);
}

/* Links of a GPU to others, one for each; at least the one of a pair. */
static double links_of(int64_t gpus)
{
    return gpus > 2 ? (double)(gpus - 1) : 1.0;
}

double gpu_link_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus)
{
    if (gpus > gpu->nvlink_gpus) return pcie_link_bytes_per_s(gpu, gpus);
    if (gpu->fabric == FABRIC_FULL) return gpu->nvlink_bytes_per_s * links_of(gpus) / links_of(gpu->nvlink_gpus);
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
