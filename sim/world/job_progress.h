/* How far a job has come. Work is counted in ns at speed 1, which is the speed on the GPUs that it asked for. From `from_ns` on it
 * first waits (it loads its state, its GPUs held), then works at a constant speed; whoever changes the speed moves the
 * progress to that moment first. At speed 1 all of it is exact. */
#ifndef ORRERY_WORLD_JOB_PROGRESS_H
#define ORRERY_WORLD_JOB_PROGRESS_H

#include "sim/core/units.h"

struct job_progress {
    sim_ns work_ns; /* all of it */
    sim_ns done_ns; /* at from_ns */
    sim_ns from_ns;
    sim_ns wait_ns; /* from then on, before it goes on */
    double speed;   /* work per time; 0: it does not get on */
};

/* Work done at `now` >= from_ns, never more than all of it. */
sim_ns job_progress_done_ns(const struct job_progress *progress, sim_ns now);

/* The moment at which all is done; SIM_NS_MAX: never, at this speed. */
sim_ns job_progress_end_ns(const struct job_progress *progress);

/* Brings it up to `now`: what is left of the wait stays. */
void job_progress_move(struct job_progress *progress, sim_ns now);

#endif
