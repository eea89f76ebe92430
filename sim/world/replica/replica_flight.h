/* A batch in flight, as replica_flight.c and replica_stages.c know it. */
#ifndef ORRERY_WORLD_REPLICA_REPLICA_FLIGHT_H
#define ORRERY_WORLD_REPLICA_REPLICA_FLIGHT_H

#include "sim/world/replica/replica_batch.h"

struct flight {
    struct cohort *decoding; /* NULL: nobody */
    struct request_list prefilling;
    struct batch_prefill *chunks; /* [n_chunks] */
    int32_t n_chunks, capacity;
    int32_t n_moves; /* that it waits for */
    bool is_timed;
    sim_ns entry_ns, stage_ns; /* time on the first stage, and on each of the others */
    sim_ns busy_ns;            /* of a stage, in the mean */
    sim_ns start_ns, end_ns;
    double extrapolated_frac;
    struct iteration_work work;
    struct pace pace;
    struct flight *next; /* that waits for the same stage, or is spare (replica_stages.c) */
};

/* Fills an empty flight with the plan's batch. Returns 0 or a negative code. */
int flight_board(struct replica *replica, struct flight *flight, sim_ns now);

/* The first n of the cohort, or all, become the flight's. Returns 0 or SIM_E_NOMEM. */
int flight_board_decoding(struct replica *replica, struct flight *flight, struct cohort **from, int64_t n);

/* Its times, from its work. Returns 0 or a negative code. */
int flight_price(struct replica *replica, struct flight *flight);

/* An empty cohort, or NULL where there is no memory; and one that is empty again. */
struct cohort *flight_take_cohort(struct replica *replica);
void flight_give_cohort(struct replica *replica, struct cohort *cohort);
void flight_free_cohort(struct cohort *cohort);

/* Tells env->on_batch of it. */
int flight_tell(const struct replica *replica, const struct flight *flight, int64_t n, sim_ns end_ns);

/* All its sequences have their token and are put back, handed over or done. Returns 0 or a negative code. */
int flight_land(struct replica *replica, struct flight *flight, sim_ns now);

/* Its requests have left it: it is empty. */
void flight_drop(struct replica *replica, struct flight *flight);

/* Frees what it holds. */
void flight_fini(struct flight *flight);

#endif
