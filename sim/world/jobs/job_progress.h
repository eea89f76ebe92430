/* The progress of a job. Work is counted in ns at speed 1, the speed on the GPUs that the job requested. From
 * `from_ns` on the job first moves from other GPUs to those it holds. Then it waits, loading its state while it holds
 * the GPUs. Then it works at a constant speed. Before the speed changes, the progress is moved to that moment. At
 * speed 1 all of it is exact.
 *
 * A job that takes checkpoints alternates between an interval of work and the stall of a save, without events. Work
 * done when a save began counts once the save has been flushed; a failure falls back to the latest work that counts.
 * A flush that does not end before the next save begins never counts. Once all its work is done, it counts, and no
 * save begins.
 *
 * A job whose speed is 0 does no work and begins no save; the stall and the flush of a save that has begun go on. A job
 * that pauses stalls and flushes no further, either: these go on after the pause. Moves and waits go on in both. */
#ifndef ORRERY_WORLD_JOBS_JOB_PROGRESS_H
#define ORRERY_WORLD_JOBS_JOB_PROGRESS_H

#include "sim/core/units.h"

#include <stdbool.h>

/* How a job saves its state. */
struct job_saves {
    sim_ns interval_ns; /* working time between two saves; 0: no saves */
    sim_ns stall_ns, flush_ns;
};

struct job_progress {
    sim_ns flushing_ns, flushed_at; /* work that will count at that time; flushed_at SIM_NS_MAX: none */
    sim_ns to_save_ns;              /* working time before the next save */
    struct job_saves saves;
    sim_ns saved_ns; /* work that counts at from_ns */
    sim_ns done_ns;  /* at from_ns */
    sim_ns work_ns;  /* all of it */
    sim_ns from_ns;
    sim_ns move_ns;  /* after from_ns: time left to move to its GPUs */
    sim_ns wait_ns;  /* after that: time left to wait before it works */
    sim_ns stall_ns; /* after that: time left of a save's stall */
    double speed;    /* work per time; 0: no progress */
    bool is_paused;
    bool has_saved; /* a save has begun, other than at a preemption */
    sim_ns stalled_ns, waited_ns, moved_ns; /* up to from_ns */
    sim_ns halted_ns, kept_ns;              /* also: it pauses, or its speed is 0; it holds GPUs after all its work */
};

/* Begins a run at `now` that first waits, and saves as `saves` says. Work done so far counts. */
void job_progress_begin(struct job_progress *progress, sim_ns now, sim_ns wait_ns, struct job_saves saves);

/* Changes how the job saves; a save under way ends as it began. Call job_progress_move to this moment before. */
void job_progress_save_as(struct job_progress *progress, struct job_saves saves);

/* Work done at `now` >= from_ns, at most work_ns; and the part that counts after a failure. */
sim_ns job_progress_done_ns(const struct job_progress *progress, sim_ns now);
sim_ns job_progress_saved_ns(const struct job_progress *progress, sim_ns now);

/* When all work is done; SIM_NS_MAX: never, at this speed. A save that would begin at the end is not taken. */
sim_ns job_progress_end_ns(const struct job_progress *progress);

/* Whether the job stalls for a save at `now` >= from_ns, once it has ceased to move and wait. */
bool job_progress_stalls(const struct job_progress *progress, sim_ns now);

/* When a stall next begins or ends, on a progress in which none has begun or ended since from_ns; SIM_NS_MAX: never,
 * or not before the end of a pause or a hang. */
sim_ns job_progress_turn_ns(const struct job_progress *progress);

/* A last save that took `save_ns` up to now counts: the work done when it began. A job whose speed is 0 takes none.
 * Call job_progress_move to this moment before. */
void job_progress_save_last(struct job_progress *progress, sim_ns save_ns);

/* Moves the progress to `now`. The rest of a wait or of a stall remains. */
void job_progress_move(struct job_progress *progress, sim_ns now);

#endif
