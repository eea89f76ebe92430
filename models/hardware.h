/* A GPU as its data sheet states it: peaks, capacities, links, power.
 *
 * Peaks are dense (no structured sparsity), assume accumulation in fp32, and hold at the clock that the data sheet
 * chose: mostly boost_hz, but 1.83 GHz for the tensor cores of H100 SXM and H200, 1.62 GHz for those of H100 PCIe. Cost
 * models decide what share of them a program reaches. Bandwidths of links are per direction. */
#ifndef ORRERY_MODELS_HARDWARE_H
#define ORRERY_MODELS_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enum, name in configs, bytes per number, the scales that belong to numbers included): fp8 has a scale per tensor
 * or channel, which is too little to count; fp8_block one of 4 bytes per block of 128 x 128; nvfp4 one byte per 16
 * numbers (NVIDIA); mxfp4 one byte per 32 (OCP Microscaling Formats 1.0). */
#define NUMBER_FORMATS(X)                                                                                              \
    X(FORMAT_FP32, "fp32", 4.0)                                                                                        \
    X(FORMAT_TF32, "tf32", 4.0)                                                                                        \
    X(FORMAT_FP16, "fp16", 2.0)                                                                                        \
    X(FORMAT_BF16, "bf16", 2.0)                                                                                        \
    X(FORMAT_FP8, "fp8", 1.0)                                                                                          \
    X(FORMAT_INT8, "int8", 1.0)                                                                                        \
    X(FORMAT_INT4, "int4", 0.5)                                                                                        \
    X(FORMAT_FP8_BLOCK, "fp8_block", 1.0 + 4.0 / (128.0 * 128.0))                                                      \
    X(FORMAT_NVFP4, "nvfp4", 0.5 + 1.0 / 16.0)                                                                         \
    X(FORMAT_MXFP4, "mxfp4", 0.5 + 1.0 / 32.0)

enum number_format {
#define NUMBER_FORMAT_ENUM(id, name, bytes) id,
    NUMBER_FORMATS(NUMBER_FORMAT_ENUM)
#undef NUMBER_FORMAT_ENUM
    FORMAT_COUNT
};

/* How the GPUs of a node reach each other besides PCIe: bridged pairs; a cube mesh with equally many links along each
 * edge of a hypercube; a link of its own for each pair; a switch that gives every pair the full bandwidth. */
enum gpu_fabric { FABRIC_NONE, FABRIC_BRIDGE, FABRIC_MESH, FABRIC_FULL, FABRIC_SWITCH };

enum gpu_vendor { VENDOR_NVIDIA, VENDOR_AMD, VENDOR_OTHER };

extern const char *const gpu_vendor_names[]; /* by gpu_vendor; NULL behind the last */

struct gpu_spec {
    const char *name, *architecture;
    enum gpu_vendor vendor; /* kernels of NVIDIA's GPUs alone were measured */
    double peak_flop_per_s[FORMAT_COUNT]; /* 0 or NAN: none; integer operations count as FLOP */
    double memory_bytes;                  /* total reported by nvidia-smi, including the driver's part */
    double memory_bytes_per_s, l2_bytes;
    int64_t sm_count;
    double boost_hz, base_hz; /* SM clock; base NAN where unknown */
    double usd_per_h;         /* list price of renting one; NAN where unknown */
    double tdp_w, idle_w;     /* idle without a process on the GPU; NAN where unknown */
    double context_w;         /* idle with one, its clocks up; NAN where unknown */
    enum gpu_fabric fabric;
    int64_t nvlink_gpus;      /* GPUs that reach each other over NVLink, 0 without */
    double nvlink_bytes_per_s, pcie_bytes_per_s; /* per GPU and direction */
    /* The server around the GPUs, for groups that NVLink does not connect. */
    bool peer_to_peer;          /* over PCIe GPUs write to each other, not to host memory and from there */
    int64_t gpus_per_switch;    /* behind one PCIe switch; 0: unknown, no bridge is modelled */
    int64_t switches_per_socket;
    double bridge_share;        /* of the bandwidth, left beyond a bridge between switches or sockets */
    /* A MIG slice: the GPU that it is cut from, and how many equal slices that has. NULL, 0: a whole GPU. */
    const struct gpu_spec *whole;
    int64_t slices;
};

/* What a calibration fitted to GPUs of NVIDIA leaves open: ": no kernel of AMD's GPUs was measured", or "". */
const char *gpu_vendor_caveat(const struct gpu_spec *gpu);

/* The part of a GPU that is one of its equal MIG slices. */
struct gpu_slice {
    int64_t slices, sm_count; /* of the GPU; of each */
    double memory_bytes, bandwidth_frac, l2_frac; /* of each; shares of the GPU's memory bandwidth and L2 */
};

/* Makes a GPU one of its slices: fewer SMs with the same peak each, and the stated memory, bandwidth and L2. Slices
 * share power, price and the PCIe link evenly. They reach other GPUs and slices through the host alone. The name
 * stays. */
void gpu_cut(struct gpu_spec *gpu, const struct gpu_slice *slice);

/* The name of the GPU that a slice is cut from, else of the GPU: measurements of its chip and server carry it. */
static inline const char *gpu_whole_name(const struct gpu_spec *gpu)
{
    return gpu->whole != NULL ? gpu->whole->name : gpu->name;
}

/* Bytes one number takes in memory. */
double number_format_bytes(enum number_format format);

/* Peak rate of matrix products in a format. A format without its own units runs in another format: nvfp4, mxfp4 and
 * fp8_block in fp8, fp8, int8, int4 and bf16 in fp16, fp16 in fp32. */
double gpu_peak_flop_per_s(const struct gpu_spec *gpu, enum number_format format);

/* Whether tensor cores multiply numbers with a scale for each block of them: they have a rate of nvfp4 or mxfp4. */
bool gpu_multiplies_blocks(const struct gpu_spec *gpu);

/* Rate at which each of `gpus` adjacent GPUs of one node sends to all others together, per direction: over NVLink if it
 * connects them all, else over PCIe (below). In a mesh only the links inside the group count: a third between 2 of 8
 * GPUs, two thirds among 4 (NVIDIA DGX-1 with Tesla V100 system architecture, hybrid cube mesh). So they do where each
 * pair has a link: a seventh between 2 of 8 GPUs.
 *
 * Over PCIe a ring runs at the rate of its slowest hop. Each bridge on that hop leaves bridge_share of the rate: one
 * between the switches of a socket, two between sockets. Without peer_to_peer every hop passes host memory, so that the
 * GPUs behind one switch share its link to the host. */
double gpu_link_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus);

/* Bridges on the slowest hop among `gpus` adjacent GPUs: 0, 1 or 2; 0 over NVLink. */
int64_t gpu_bridges(const struct gpu_spec *gpu, int64_t gpus);

/* Whether messages among `gpus` adjacent GPUs pass host memory: neither NVLink nor peer_to_peer connects them. */
bool gpu_host_staged(const struct gpu_spec *gpu, int64_t gpus);

/* The nodes that the GPUs of a replica lie on: equally many on each. */
struct gpu_nodes {
    int64_t gpus_per_node;      /* 0: all lie on one node */
    double network_bytes_per_s; /* between nodes, per GPU and direction; unused on one node */
};

/* Rate at which one of `gpus` such GPUs sends to one other, per direction. */
double gpu_pair_bytes_per_s(const struct gpu_spec *gpu, int64_t gpus);

/* Whether the switch between `gpus` GPUs of one node adds floating-point numbers itself (NVLink SHARP). Such switches
 * came with Hopper, as did FP8 units, by which they are recognised. */
bool gpu_switch_adds(const struct gpu_spec *gpu, int64_t gpus);

#endif
