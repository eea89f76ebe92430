/* How far the messages of a training plan reach (exchange.h), if its ranks fill nodes in order, and nodes fill racks.
 *
 * Of a ring over nodes, each node sends the bytes of one member to the next one, over as many GPUs as the node with
 * the fewest members has. The members of a node send to each other inside it. An all-to-all sends equal parts to all
 * others.
 *
 * The kinds of messages of a GPU take turns. So on the mean over a step's messages, a GPU sends to other racks the
 * share that these have of all that it sends to other nodes, or that the receiver gets, whichever is smaller. The
 * ratio of all that the GPUs of a rack could send, to what leaves or enters it so, is the oversubscription
 * `binds_at`: a job that is alone on the network is slower at any larger one, if its flows are spread evenly over the
 * ports. */
#ifndef ORRERY_MODELS_TRAINING_TRAFFIC_H
#define ORRERY_MODELS_TRAINING_TRAFFIC_H

#include "models/training/exchange.h"

#include <stddef.h>

/* Bytes of a step over all GPUs of the plan. */
struct training_levels {
    double node_bytes; /* inside nodes */
    double rack_bytes; /* between nodes of a rack */
    double site_bytes; /* between racks */
    double binds_at;   /* INFINITY: nothing leaves a rack */
};

/* Numbers of room for training_levels_of. */
static inline size_t training_levels_room(const struct training_plan *plan)
{
    return 4 * (size_t)training_plan_gpus(plan);
}

/* stages [plan->pipeline]: training_exchanges_of. nodes_per_rack 0: one rack. room [training_levels_room]: all zero. */
void training_levels_of(const struct training_plan *plan, const struct training_exchanges *stages,
                        int64_t nodes_per_rack, double *room, struct training_levels *levels);

#endif
