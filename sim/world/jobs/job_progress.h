/* How far a job has come. Work is counted in ns at speed 1, which is the speed on the GPUs that it asked for. From `from_ns` on it
 * first moves (from other GPUs to those that it holds) and waits (it loads its state, its GPUs held), then works at a constant speed; whoever changes the speed moves the
 * progress to that moment first. At speed 1 all of it is exact.
 *
 * A job that takes checkpoints works for an interval, stands still for the stall of a save, and so on: no event for any of
 * them. What it had done when a save began counts once the save has been flushed; a failure falls back to the latest that
 * counts. A flush ends before the next save begins, or what it flushed never counts. */
#ifndef ORRERY_WORLD_JOBS_JOB_PROGRESS_H
#define ORRERY_WORLD_JOBS_JOB_PROGRESS_H

#include "sim/core/units.h"

/* How a job saves its state. */
struct job_saves {
    sim_ns interval_ns; /* of time at work between two saves; 0: it takes none */
    sim_ns stall_ns, flush_ns;
};

struct job_progress {
    sim_ns work_ns; /* all of it */
    sim_ns done_ns; /* at from_ns */
    sim_ns from_ns;
    sim_ns move_ns;  /* from then on, to be where it is */
    sim_ns wait_ns;  /* after that, before it goes on */
    sim_ns stall_ns; /* after that: what is left of a save's stall */
    double speed;    /* work per time; 0: it does not get on */
    struct job_saves saves;
    sim_ns to_save_ns;              /* time at work before the next save */
    sim_ns saved_ns;                /* work that counts at from_ns */
    sim_ns flushing_ns, flushed_at; /* work that will count at that time; flushed_at SIM_NS_MAX: none */
    sim_ns stalled_ns, waited_ns, moved_ns; /* up to from_ns */
};

/* Begins a stretch at `now` that waits first and saves like this. What is done by then counts. */
void job_progress_begin(struct job_progress *progress, sim_ns now, sim_ns wait_ns, struct job_saves saves);

/* Changes how it saves; a save under way ends as it began. To be moved to this moment before. */
void job_progress_save_as(struct job_progress *progress, struct job_saves saves);

/* Work done at `now` >= from_ns, never more than all of it; and what of it counts after a failure. */
sim_ns job_progress_done_ns(const struct job_progress *progress, sim_ns now);
sim_ns job_progress_saved_ns(const struct job_progress *progress, sim_ns now);

/* The moment at which all is done; SIM_NS_MAX: never, at this speed. A save that would begin at the end is not taken. */
sim_ns job_progress_end_ns(const struct job_progress *progress);

/* A last save, which took so long up to now, counts: what was done when it began. To be moved to this moment before. */
void job_progress_save_last(struct job_progress *progress, sim_ns save_ns);

/* Brings it up to `now`: what is left of the wait or of a stall stays. */
void job_progress_move(struct job_progress *progress, sim_ns now);

#endif
