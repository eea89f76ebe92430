#include "sim/world/jobs/job_progress.h"

#include <math.h>

/* Time at work for what is left; SIM_NS_MAX: for ever. */
static sim_ns time_left(const struct job_progress *progress)
{
    const sim_ns left_ns = progress->work_ns - progress->done_ns;
    if (progress->speed == 1.0 || left_ns == 0) return left_ns;
    const double time_ns = ceil((double)left_ns / progress->speed);
    return time_ns < (double)SIM_NS_MAX ? (sim_ns)time_ns : SIM_NS_MAX;
}

static bool is_done(const struct job_progress *progress, sim_ns worked_ns)
{
    const sim_ns left_ns = time_left(progress);
    return left_ns < SIM_NS_MAX && worked_ns >= left_ns;
}

/* Work in so much time, at most what is left. The product may exceed that, not what a sim_ns holds. */
static sim_ns work_in(const struct job_progress *progress, sim_ns time_ns)
{
    const sim_ns most_ns = progress->work_ns - progress->done_ns;
    if (progress->speed == 1.0) return time_ns < most_ns ? time_ns : most_ns;
    if (is_done(progress, time_ns)) return most_ns; /* whatever the rounding */
    const double work_ns = floor((double)time_ns * progress->speed);
    return work_ns < (double)most_ns ? (sim_ns)work_ns : most_ns;
}

/* Saves that begin before the end of the work, which must not be paused; its interval is not 0. */
static int64_t saves_left(const struct job_progress *progress)
{
    const sim_ns time_ns = time_left(progress), after_ns = time_ns - progress->to_save_ns;
    return time_ns == 0 || after_ns <= 0 ? 0 : 1 + (after_ns - 1) / progress->saves.interval_ns;
}

/* Since from_ns: what has passed of moving, waiting, stalling and working. The rest is halted. */
struct passed {
    sim_ns moved_ns, waited_ns, stalled_ns, worked_ns;
    sim_ns stall_left_ns;
    int64_t n_saves;    /* begun */
    sim_ns since_save;  /* time since the last of them began */
    sim_ns save_worked; /* worked_ns when it began */
};

static sim_ns least(sim_ns a, sim_ns b)
{
    return a < b ? a : b;
}

static struct passed passed_at(const struct job_progress *progress, sim_ns now)
{
    const struct job_saves *saves = &progress->saves;
    sim_ns time_ns = now - progress->from_ns;
    struct passed passed = {.moved_ns = least(time_ns, progress->move_ns)};
    time_ns -= passed.moved_ns;
    passed.waited_ns = least(time_ns, progress->wait_ns);
    time_ns -= passed.waited_ns;
    if (progress->is_paused) time_ns = 0;
    passed.stalled_ns = least(time_ns, progress->stall_ns);
    passed.stall_left_ns = progress->stall_ns - passed.stalled_ns;
    time_ns -= passed.stalled_ns;
    if (!(progress->speed > 0.0)) return passed;
    passed.worked_ns = time_ns;
    if (saves->interval_ns == 0 || time_ns < progress->to_save_ns || passed.stall_left_ns > 0) return passed;
    if (progress->is_paused) return passed;
    const sim_ns cycle_ns = sim_ns_add(saves->interval_ns, saves->stall_ns), over_ns = time_ns - progress->to_save_ns;
    const int64_t n_left = saves_left(progress), n_begun = over_ns / cycle_ns + 1;
    if (n_left == 0) return passed;
    passed.n_saves = n_begun < n_left ? n_begun : n_left;
    const int64_t n_cycles = passed.n_saves - 1;
    passed.since_save = over_ns - n_cycles * cycle_ns;
    passed.save_worked = progress->to_save_ns + n_cycles * saves->interval_ns;
    const sim_ns stalled_ns = least(passed.since_save, saves->stall_ns);
    passed.stall_left_ns = saves->stall_ns - stalled_ns;
    passed.stalled_ns += n_cycles * saves->stall_ns + stalled_ns;
    passed.worked_ns = passed.save_worked + passed.since_save - stalled_ns;
    return passed;
}

void job_progress_begin(struct job_progress *progress, sim_ns now, sim_ns wait_ns, struct job_saves saves)
{
    progress->from_ns = now;
    progress->move_ns = 0;
    progress->wait_ns = wait_ns;
    progress->stall_ns = 0;
    progress->saves = saves;
    progress->to_save_ns = saves.interval_ns;
    progress->saved_ns = progress->done_ns;
    progress->flushed_at = SIM_NS_MAX;
}

void job_progress_save_as(struct job_progress *progress, struct job_saves saves)
{
    if (progress->saves.interval_ns == 0 || progress->to_save_ns > saves.interval_ns)
        progress->to_save_ns = saves.interval_ns;
    progress->saves = saves;
}

static sim_ns done_after(const struct job_progress *progress, sim_ns worked_ns)
{
    if (is_done(progress, worked_ns)) return progress->work_ns;
    return progress->done_ns + work_in(progress, worked_ns);
}

sim_ns job_progress_done_ns(const struct job_progress *progress, sim_ns now)
{
    return done_after(progress, passed_at(progress, now).worked_ns);
}

/* Time from the beginning of a save until it counts. */
static sim_ns whole_save_ns(const struct job_saves *saves)
{
    return sim_ns_add(saves->stall_ns, saves->flush_ns);
}

/* Whether the save that was flushing at from_ns has been flushed. */
static bool has_flushed(const struct job_progress *progress, sim_ns now)
{
    return progress->flushed_at <= (progress->is_paused ? progress->from_ns : now);
}

/* What counts when so much has passed: all work once it is done, else that of the last save. The save before that one
 * has been flushed. */
static sim_ns saved_after(const struct job_progress *progress, const struct passed *passed, sim_ns now)
{
    if (done_after(progress, passed->worked_ns) == progress->work_ns) return progress->work_ns;
    const struct job_saves *saves = &progress->saves;
    const sim_ns before_ns = has_flushed(progress, now) ? progress->flushing_ns : progress->saved_ns;
    if (passed->n_saves == 0) return before_ns;
    if (passed->since_save >= whole_save_ns(saves)) return done_after(progress, passed->save_worked);
    return passed->n_saves == 1 ? before_ns : done_after(progress, passed->save_worked - saves->interval_ns);
}

sim_ns job_progress_saved_ns(const struct job_progress *progress, sim_ns now)
{
    const struct passed passed = passed_at(progress, now);
    return saved_after(progress, &passed, now);
}

sim_ns job_progress_end_ns(const struct job_progress *progress)
{
    const struct job_saves *saves = &progress->saves;
    const sim_ns idle_ns = sim_ns_add(sim_ns_add(progress->move_ns, progress->wait_ns), progress->stall_ns);
    const sim_ns start_ns = sim_ns_add(progress->from_ns, idle_ns);
    const sim_ns end_ns = sim_ns_add(start_ns, time_left(progress));
    const int64_t n_saves = saves->interval_ns > 0 ? saves_left(progress) : 0;
    const double stalls_ns = (double)n_saves * (double)saves->stall_ns;
    return stalls_ns < 9e18 ? sim_ns_add(end_ns, n_saves * saves->stall_ns) : SIM_NS_MAX;
}

bool job_progress_stalls(const struct job_progress *progress, sim_ns now)
{
    const sim_ns idle_ns = sim_ns_add(progress->move_ns, progress->wait_ns);
    return now >= sim_ns_add(progress->from_ns, idle_ns) && passed_at(progress, now).stall_left_ns > 0;
}

sim_ns job_progress_turn_ns(const struct job_progress *progress)
{
    const sim_ns idle_ns = sim_ns_add(progress->move_ns, progress->wait_ns);
    const sim_ns start_ns = sim_ns_add(progress->from_ns, idle_ns);
    if (progress->is_paused) return SIM_NS_MAX;
    if (progress->stall_ns > 0) return sim_ns_add(start_ns, progress->stall_ns);
    if (progress->saves.interval_ns == 0 || progress->saves.stall_ns == 0) return SIM_NS_MAX;
    if (!(progress->speed > 0.0)) return SIM_NS_MAX;
    return saves_left(progress) == 0 ? SIM_NS_MAX : sim_ns_add(start_ns, progress->to_save_ns);
}

void job_progress_save_last(struct job_progress *progress, sim_ns save_ns)
{
    if (!(progress->speed > 0.0)) return;
    const double since_ns = ceil((double)save_ns * progress->speed);
    const double counts_ns = (double)progress->done_ns - since_ns;
    if (counts_ns > (double)progress->saved_ns) progress->saved_ns = progress->done_ns - (sim_ns)since_ns;
}

void job_progress_move(struct job_progress *progress, sim_ns now)
{
    const struct passed passed = passed_at(progress, now);
    const struct job_saves *saves = &progress->saves;
    const bool flushes = passed.n_saves > 0 && passed.since_save < whole_save_ns(saves);
    const sim_ns saved_ns = saved_after(progress, &passed, now), done_ns = done_after(progress, passed.worked_ns);
    if (flushes) {
        progress->flushing_ns = done_after(progress, passed.save_worked);
        progress->flushed_at = sim_ns_add(now - passed.since_save, whole_save_ns(saves));
    } else if (passed.n_saves > 0 || has_flushed(progress, now)) {
        progress->flushed_at = SIM_NS_MAX;
    } else if (progress->is_paused) {
        progress->flushed_at = sim_ns_add(progress->flushed_at, now - progress->from_ns);
    }
    progress->has_saved |= passed.n_saves > 0;
    if (passed.n_saves > 0)
        progress->to_save_ns = saves->interval_ns - (passed.worked_ns - passed.save_worked);
    else
        progress->to_save_ns -= passed.worked_ns;
    if (progress->done_ns == progress->work_ns) progress->kept_ns += passed.worked_ns;
    progress->saved_ns = saved_ns;
    progress->done_ns = done_ns;
    progress->move_ns -= passed.moved_ns;
    progress->wait_ns -= passed.waited_ns;
    progress->stall_ns = passed.stall_left_ns;
    progress->moved_ns += passed.moved_ns;
    progress->waited_ns += passed.waited_ns;
    progress->stalled_ns += passed.stalled_ns;
    progress->halted_ns += now - progress->from_ns - passed.moved_ns - passed.waited_ns - passed.stalled_ns -
                           passed.worked_ns;
    progress->from_ns = now;
}
