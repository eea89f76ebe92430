/* Time of one dispatch of tokens to experts, or of one combine of their results, by DeepEP's kernels
 * (deepseek-ai/DeepEP @ dd758caf: csrc/kernels/legacy, docs/legacy.md).
 *
 *     t = start + experts expert_s + [several nodes] network_hop + soft_max(sms_s, max(link_s, network_s); softness)
 *     sms_s     = (tokens token_s + copies copy_s + (copies + own_copies tokens) token bytes / (sm_share W / S)) / sms
 *     link_s    = bytes over NVLink / (link_frac link)
 *     network_s = bytes over the network / (network_frac adapter)
 *
 * Normal kernels send a token once to each node that has one of its experts, to the GPU of the sender's own place
 * there. That GPU forwards it over NVLink to each GPU that has one of its experts: once, however many these are.
 * Combining takes the same way back, with sums at each end. `copies` are what reaches a GPU, its own tokens included.
 * The kernels occupy `sms` SMs, which computing lacks meanwhile.
 *
 * Low-latency kernels send each choice of an expert apart: inside the node over NVLink, else over the network straight
 * to its GPU. `copies` are all choices. Sending and receiving follow each other, so the softness is 1. Each SM serves
 * equally many experts in a dispatch, so that few experts leave SMs idle; all SMs combine. Beside a computation these
 * kernels wait without SMs (hooks). Their parts that send and receive do run on SMs. An overlapping computation hides
 * these parts too and pays nothing for them, which is optimistic.
 *
 * All GPUs have equally many tokens. Every expert is as likely as any other, but for `imbalance`: the busiest GPU gets
 * so many times the copies of a mean one. A token still goes once to a GPU and to a node. So normal kernels bring a GPU
 * at most all tokens, and from each sender's place at most each token once. The node of the busiest GPU is taken to be
 * as busy as that GPU. A combine takes the same way back.
 *
 * A token chooses among the experts of as many nodes as `groups` allows, each set of these with equal chances.
 * DeepSeek-V3 prefers the nodes with its best experts: node copies are then about 9 % more than expected here. Left
 * out: the notification before a dispatch of unknown sizes, the layout kernel, lost overlap of unequal GPUs. */
#ifndef ORRERY_MODELS_OPERATORS_EXCHANGE_H
#define ORRERY_MODELS_OPERATORS_EXCHANGE_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

#include <stdbool.h>

struct exchange_params {
    double start_s;      /* launch, barriers, sorting */
    double expert_s;     /* counters and flags of each expert of the layer */
    double token_s;      /* of an SM, for each token of its GPU */
    double copy_s;       /* of an SM, for each copy */
    double own_copies;   /* that a token of the GPU takes as long as, beside its copies: read, narrowed, summed up */
    double sm_share;     /* what an SM moves, as a share of its part of the memory bandwidth, W / S */
    double softness;     /* of the SMs and the links */
    double link_frac;    /* of the link inside a node */
    double network_hop_s;
    double network_frac; /* of the adapter */
};

struct exchange_shape {
    double tokens, hidden; /* of one GPU; numbers of a hidden state */
    double chosen, experts; /* of a token; in the layer, equally many on each GPU */
    double groups;          /* nodes whose experts one token may choose; 0: all */
    double gpus, nodes;     /* that hold the experts; nodes they lie on, equally many on each */
    double sms;             /* that normal kernels take; unused by low-latency ones */
    double imbalance;       /* copies that reach the busiest GPU over the mean; up to 1: all GPUs are alike */
    bool low_latency, combines;
    enum number_format sent; /* of the hidden states on the way */
    double link_bytes_per_s, network_bytes_per_s; /* per GPU and direction */
};

/* Expected number of `parts` that hold at least one of `chosen` different experts out of `experts`, which lie on the
 * parts in equal numbers: parts (1 - C(experts - experts/parts, chosen) / C(experts, chosen)). */
double exchange_parts_met(double parts, double experts, double chosen);

/* Bytes of one token on the way: its numbers, and for 8 bits a scale of 4 bytes per 128. Formats of fewer bits travel
 * in 8. Low-latency kernels put 16 bytes before what they dispatch in 8 bits. */
double exchange_token_bytes(const struct exchange_shape *shape);

/* What the busiest GPU gets. Without imbalance each gets as much as it sends. */
struct exchange_traffic {
    double copies;        /* of tokens that reach GPUs, the sender's own included */
    double node_copies;   /* of tokens that reach nodes, the own one included; low-latency: as copies */
    double moved_bytes;   /* of all copies */
    double link_bytes;    /* over NVLink */
    double network_bytes; /* over the network */
};

struct exchange_traffic exchange_traffic_of(const struct exchange_shape *shape);

/* Zero with one GPU. */
struct kernel_time exchange_time(const struct exchange_params *params, const struct gpu_spec *gpu,
                                 const struct exchange_shape *shape);

/* The time of a normal kernel of DeepEP's version 2 by what its authors state. An SM reads 200 and writes 50 GB/s;
 * kernels reach 0.9 of NVLink, and all of an adapter (deepseek-ai/DeepEP @ dd758caf, deep_ep/buffers/elastic.py,
 * get_theoretical_num_sms). Each token is read once, and once more on each node that it goes to, and written for each
 * GPU. Over several nodes it is also written for the adapter, and once for the own node in its share. Start and
 * softness are those of version 1, `params`. Left out: the kernel that then fills the outputs, which the published
 * times leave out too. So no scenario can choose it. */
struct kernel_time exchange_stated_time(const struct exchange_params *params, const struct exchange_shape *shape);

#endif
