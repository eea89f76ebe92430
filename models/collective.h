/* Time of a collective operation among the GPUs of a node or of several, by latency and bandwidth (alpha-beta):
 *
 *     t = start_s + steps hop_s + soft_max(0, traffic / (bandwidth_frac link))
 *
 * `bytes` is the message: what each GPU ends up with (all-reduce, all-gather), starts from (reduce-scatter, all-to-all)
 * or sends (send). Ring traffic per GPU: 2 (n-1)/n bytes for an all-reduce, (n-1)/n for the others, all of it for a
 * send (Patarasuk and Yuan 2009; Thakur et al. 2005). */
#ifndef ORRERY_MODELS_COLLECTIVE_H
#define ORRERY_MODELS_COLLECTIVE_H

#include "models/hardware.h"
#include "models/kernel_time.h"

#include <stdbool.h>

enum collective_op {
    COLLECTIVE_ALL_REDUCE,
    COLLECTIVE_ALL_GATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALL_TO_ALL,
    COLLECTIVE_SEND
};

struct collective_params {
    double start_s;        /* launch and first handshake */
    double hop_s;          /* each step of the ring, or level of the tree */
    double bandwidth_frac; /* of the link between GPUs of a node */
    double softness;       /* of latency and traffic */
    double network_hop_s;  /* each step between nodes */
    double network_frac;   /* of the network link of a GPU */
};

struct collective_shape {
    double bytes;               /* the message */
    double gpus, nodes;         /* taking part; nodes they lie on */
    double link_bytes_per_s;    /* inside a node, per GPU and direction */
    double network_bytes_per_s; /* between nodes, per GPU and direction; unused on one node */
};

struct kernel_time collective_time(const struct collective_params *params, enum collective_op op,
                                   const struct collective_shape *shape);

#endif
