/* What a policy under test did last. It lies where it outlives the process that writes it, so that the author of a
 * policy that never returns learns where it is. */
#ifndef ORRERY_STUDY_CONFORM_TRAIL_H
#define ORRERY_STUDY_CONFORM_TRAIL_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call of one of the policy's functions. */
struct trail_call {
    int64_t number; /* from 1; 0: none yet */
    char function[24];
    sim_ns at_ns;   /* -1: no view has shown a time yet */
    double returned; /* NAN: nothing, or not yet */
};

/* Holds no pointers. All zero: nothing has happened. */
struct conform_trail {
    int partner;          /* index of the built-in policy beside the one under test */
    int check;            /* enum conform_check of the run in progress; CONFORM_ENDS: the plain one */
    uint64_t events;      /* of that run, as of the latest look at it; 0: there was none */
    bool is_inside;       /* the latest call has not returned */
    bool shows_waiting;   /* the view of the latest call does */
    int64_t waiting, running; /* jobs or requests, if it does */
    struct trail_call latest, before;
};

/* A run begins: forgets the calls of the one before. */
void trail_begin(struct conform_trail *trail, int partner, int check);

/* A call begins, and ends. `at_ns` below 0: the view shows no time. */
void trail_enter(struct conform_trail *trail, const char *function, sim_ns at_ns);
void trail_leave(struct conform_trail *trail, double returned);

/* What the view of the latest call shows, once it has begun. */
void trail_see(struct conform_trail *trail, int64_t waiting, int64_t running);

/* Longest text of trail_tell, with its end. */
enum { CONFORM_TOLD_CHARS = 320 };

/* Simulated time of the latest call; NAN: unknown. */
double trail_time_s(const struct conform_trail *trail);

/* Writes what the policy did last: "it is inside call 7, of 'route' at 0.25 s; after at least 40 events; 3 wait, 2
 * run; call 6, of 'route' at 0.2 s, returned 1". Empty before the first call. Returns `text`. */
const char *trail_tell(const struct conform_trail *trail, char *text, size_t text_bytes);

#endif
