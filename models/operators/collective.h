/* Time of a collective operation among the GPUs of a node or of several, by latency and bandwidth (alpha-beta): the
 * fastest of the algorithms that a library such as NCCL chooses from.
 *
 *     words   t = start + steps hop + traffic / (fast_frac link)           each word travels with its own flag
 *     chunks  t = start + steps hop + (sqrt(fill) + sqrt(traffic / (bandwidth_frac link)))^2
 *     switch  t = start + (sqrt(fill) + sqrt((1 + 1/n) bytes / (switch_frac link)))^2   all-reduce added in the switch
 *
 * The square is the time of a message cut into chunks of the best size that follow one another through a pipeline
 * (Johnsson and Ho 1989). Ring traffic per GPU is 2 (n-1)/n bytes in 2 (n-1) steps for an all-reduce,
 * (n-1)/n in n-1 for the others, all of it for a send (Patarasuk and Yuan 2009; Thakur et al. 2005).
 *
 * An engine's own all-reduce (vLLM's custom kernel, up to 8 MiB) reads its peers directly: either each GPU reads the
 * whole message of all others (the first line), or its share of theirs and then, a second handshake `fill` later, the
 * sums of the others (the second line, without a pipeline). vLLM uses it where NVLink connects all GPUs, and between
 * two GPUs with peer-to-peer access over PCIe (vllm-project/vllm, custom_all_reduce.py).
 *
 * Over PCIe the link is the slowest hop of the ring (models/hardware.h). Each bridge on it is one more stage of the
 * pipeline: fill (1 + bridges). Where messages pass host memory, a step is two, up to it and down from it, and the
 * pipeline has one stage more.
 *
 * Between nodes a ring enters and leaves each node once: the adapters of its g GPUs share that traffic. The steps are
 * those of a ring inside a node and of one among the nodes, 2 (g-1) + 2 (nodes-1) for an all-reduce, half as many for
 * the others; each GPU of an all-to-all sends to all GPUs of other nodes itself. There the slower of link and network
 * counts, and messages go in chunks. With a network as fast as the links, GPUs on nodes of their own take as long as
 * one node in chunks. With g on each node, (g-1) (nodes-1) steps are spared, in an all-reduce twice as many. */
#ifndef ORRERY_MODELS_OPERATORS_COLLECTIVE_H
#define ORRERY_MODELS_OPERATORS_COLLECTIVE_H

#include "models/hardware.h"
#include "models/operators/kernel_time.h"

#include <stdbool.h>

enum collective_op { COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_TO_ALL,
                     COLLECTIVE_DIRECT_ALL_REDUCE, COLLECTIVE_SEND };

struct collective_params {
    double start_s;        /* launch and first handshake */
    double hop_s;          /* each step inside a node */
    double fast_frac;      /* of the link, in words */
    double fill_s;         /* until the pipeline of chunks is full */
    double bandwidth_frac; /* of the link, in chunks */
    double switch_frac;    /* of the link, where the switch adds; only all-reduces depend on it */
    double network_hop_s;  /* each step between nodes */
    double network_frac;   /* of the network link of a GPU */
};

struct collective_shape {
    /* What each GPU ends up with (all-reduce, all-gather), starts from (reduce-scatter; all-to-all, where a GPU keeps
     * 1/n of it) or sends (send). */
    double bytes;
    double gpus, nodes;         /* taking part; nodes they lie on, equally many on each */
    double link_bytes_per_s;    /* inside a node, per GPU and direction: gpu_link_bytes_per_s */
    double network_bytes_per_s; /* between nodes, per GPU and direction; unused on one node */
    bool switch_adds;           /* the switch between the GPUs adds these numbers: gpu_switch_adds, not for integers */
    double bridges;             /* on the slowest hop inside a node: gpu_bridges */
    bool host_staged;           /* messages pass host memory: gpu_host_staged */
};

/* The link among the first `on_node` GPUs of a node: rate, adding, bridges, staging. Leaves the other members. */
void collective_set_link(struct collective_shape *shape, const struct gpu_spec *gpu, int64_t on_node);

/* Bytes that the adapter of one GPU sends to other nodes; 0 on one node. */
double collective_network_bytes(enum collective_op op, const struct collective_shape *shape);

/* Zero with one GPU. The parts of the result are those of the chosen algorithm. */
struct kernel_time collective_time(const struct collective_params *params, enum collective_op op,
                                   const struct collective_shape *shape);

#endif
