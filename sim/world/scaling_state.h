/* The inside of a service whose replicas come and go. Only the service_scaling*.c files include this. */
#ifndef ORRERY_WORLD_SCALING_STATE_H
#define ORRERY_WORLD_SCALING_STATE_H

#include "sim/world/service_state.h"

enum replica_life { REPLICA_DOWN, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING, REPLICA_LIVES };

/* A replica with GPUs, from when it takes them until it gives them back; `held_ns`: of the earlier ones. */
struct tenure {
    enum replica_life life;
    sim_ns since_ns, held_ns;
    sim_ns up_ns;            /* while it starts: when it will be up */
    sim_ns seen_ns, busy_ns; /* while it is up: the latest decision, or its coming up, and what it had computed by then */
};

struct service_scaling {
    struct service *service;
    const struct scaling_config *config;
    struct owner clock;   /* of the next decision, or of what comes before it */
    struct owner release; /* of requests that are held */
    const struct autoscaler *autoscaler;
    void *state;
    int32_t n; /* replicas, in all lives */
    struct tenure *tenures;
    int32_t count[REPLICA_LIVES];
    sim_ns delay_ns; /* from taking GPUs to being up */
    sim_ns next_ns;  /* the next decision; SIM_NS_MAX: none */
    int64_t wanted;
    bool moved;      /* GPUs, in this event */
    struct request_list held;
    struct level up, seated, missing; /* replicas */
    int64_t n_starts, n_drains, n_held, n_yielded;
    int64_t n_arrived, n_seen; /* requests; by the latest decision */
};

/* What the autoscaler sees; what it is told as since the previous decision starts anew. */
struct autoscaling_view scaling_look(struct service_scaling *scaling, sim_ns now);

#endif
