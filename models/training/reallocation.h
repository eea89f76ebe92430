/* What moves when the parameters of a model go from one layout to another: the bytes that each GPU lacks.
 *
 * A layout splits a model over adjacent GPUs into t tensor, d data and p pipeline ranks. Tensor ranks lie side by side;
 * ranks come next, then stages. Stage s of p has layers s L/p to (s + 1) L/p; the first one has the embedding, the last
 * one the head. Tensor rank r has the part r/t to (r + 1)/t of each split matrix, and a copy of what is not split.
 *
 * A GPU keeps what it has in both layouts. What another GPU of its node has comes from there. All else enters the node
 * over the network once, and goes on to the other GPUs of the node that want it (a tree of broadcasts):
 *
 *     seconds = max(network bytes into a node / its receiving GPUs, network bytes of all / sending GPUs) / network rate
 *               at least the most bytes into a GPU / rate of the links inside nodes
 *
 * where the bytes of all count what several nodes want once, since a receiver sends on. Mei et al. 2024 (ReaLHF) also
 * broadcast each part from one GPU that has it to all that lack it.
 *
 * Leaves out: latencies, copies within a GPU, uneven senders, other traffic, experts, and that a tied head is the
 * embedding. */
#ifndef ORRERY_MODELS_TRAINING_REALLOCATION_H
#define ORRERY_MODELS_TRAINING_REALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

enum { REALLOCATION_GPUS = 1024 };

struct reallocation_layout {
    int64_t first; /* GPU */
    int64_t tensor, data, pipeline;
};

static inline int64_t reallocation_gpus(const struct reallocation_layout *layout)
{
    return layout->tensor * layout->data * layout->pipeline;
}

static inline bool reallocation_is_needed(const struct reallocation_layout *from, const struct reallocation_layout *to)
{
    return from->first != to->first || from->tensor != to->tensor || from->data != to->data ||
           from->pipeline != to->pipeline;
}

/* Bytes of a layer, the embedding or the head: those that tensor ranks split, and those that each of them has. */
struct reallocation_part {
    double split_bytes, copied_bytes;
};

struct reallocation_model {
    int64_t layers; /* divisible by the stages of all layouts */
    struct reallocation_part layer, embedding, head;
};

struct reallocation_links {
    int64_t gpus_per_node;
    double node_bytes_per_s;    /* of a GPU, to others of its node */
    double network_bytes_per_s; /* of a GPU, to other nodes; 0: nothing has to go there */
};

struct reallocation {
    double kept_bytes;    /* that GPUs of the new layout had already */
    double node_bytes;    /* over links inside nodes */
    double network_bytes; /* into nodes that had them not */
    double seconds;
};

/* Both layouts lie on GPUs 0 to REALLOCATION_GPUS - 1. kept + node + network bytes are all bytes of the new layout. */
struct reallocation reallocation_of(const struct reallocation_model *model, const struct reallocation_layout *from,
                                    const struct reallocation_layout *to, const struct reallocation_links *links);

/* Bytes on the fullest GPU. */
double reallocation_rank_bytes(const struct reallocation_model *model, const struct reallocation_layout *layout);

#endif
