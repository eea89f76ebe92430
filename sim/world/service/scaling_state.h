/* The inside of a service whose replicas come and go. Only the service_scaling*.c files include this. */
#ifndef ORRERY_WORLD_SERVICE_SCALING_STATE_H
#define ORRERY_WORLD_SERVICE_SCALING_STATE_H

#include "sim/world/service/service_state.h"

enum replica_life { REPLICA_DOWN, REPLICA_STARTING, REPLICA_UP, REPLICA_DRAINING, REPLICA_LIVES };

/* A replica with GPUs, from when it takes them until it gives them back; `held_ns`: of the earlier ones. */
struct tenure {
    enum replica_life life;
    bool is_struck;          /* a failure took it, and it is not up again */
    sim_ns since_ns, held_ns;
    sim_ns up_ns;            /* while it starts: when it will be up */
    sim_ns seen_ns, busy_ns; /* while it is up: the latest decision, or its coming up, and what it had computed by then */
};

struct service_scaling {
    struct service *service;
    const struct scaling_config *config;
    int64_t min;          /* replicas that stay when all is over */
    struct owner clock;   /* of the next decision, or of what comes before it */
    struct owner release; /* of requests that are held */
    const struct autoscaler *autoscaler; /* NULL: as many as `replicas` says, but for failures */
    void *state;
    int32_t n; /* replicas, in all lives */
    struct tenure *tenures;
    int32_t count[REPLICA_LIVES];
    sim_ns delay_ns; /* from taking GPUs to being up */
    sim_ns next_ns;  /* the next decision; SIM_NS_MAX: none */
    int64_t wanted;
    bool moved;      /* GPUs, in this event */
    bool tries_again; /* at the clock's next event: to have as many as are wanted */
    bool is_over;    /* and everybody knows */
    struct request_list held;
    struct level up, seated, missing; /* replicas */
    int64_t n_starts, n_drains, n_held, n_yielded;
    int64_t n_arrived, n_seen; /* requests; by the latest decision */
    struct level struck, gone;     /* replicas that failures keep from being up; 1 while they keep all */
    int64_t n_struck, n_struck_requests;
};

/* What the autoscaler sees; what it is told as since the previous decision starts anew. */
struct autoscaling_view scaling_look(struct service_scaling *scaling, sim_ns now);

/* Emits a decision row about a replica, or (-1) about none in particular. Returns 0 or the sink's code. */
int scaling_tell_as(const struct service_scaling *scaling, const char *policy, int32_t replica, const char *action,
                    const char *reason, sim_ns now);

/* An empty replica leaves its GPUs, and is down. Returns 0 or a negative code. */
int scaling_leave_gpus(struct service_scaling *scaling, int32_t index, sim_ns now);

/* At the end of this moment: it tries to have as many replicas as are wanted. */
void scaling_try_again(struct service_scaling *scaling);

/* Requests that wait at the service are routed, as long as a replica is up. An event of `release`. */
void scaling_route_held(struct engine *engine, struct owner *owner, sim_ns now);

/* service_struck.c: replicas that are up, or wanted, have changed. */
void scaling_count_struck(struct service_scaling *scaling, sim_ns now);

/* No failure keeps this one from being up any more. */
void scaling_forget_strike(struct service_scaling *scaling, int32_t index, sim_ns now);

#endif
