#include "sim/world/job_progress.h"

#include <math.h>

/* Work in so much time. The product may exceed what is left, not what a sim_ns holds. */
static sim_ns work_in(sim_ns time_ns, double speed, sim_ns most_ns)
{
    if (speed == 1.0) return time_ns < most_ns ? time_ns : most_ns;
    const double work_ns = floor((double)time_ns * speed);
    return work_ns < (double)most_ns ? (sim_ns)work_ns : most_ns;
}

sim_ns job_progress_done_ns(const struct job_progress *progress, sim_ns now)
{
    const sim_ns time_ns = now - progress->from_ns - progress->wait_ns;
    if (time_ns <= 0) return progress->done_ns;
    return progress->done_ns + work_in(time_ns, progress->speed, progress->work_ns - progress->done_ns);
}

sim_ns job_progress_end_ns(const struct job_progress *progress)
{
    const sim_ns left_ns = progress->work_ns - progress->done_ns;
    const sim_ns start_ns = sim_ns_add(progress->from_ns, progress->wait_ns);
    if (progress->speed == 1.0) return sim_ns_add(start_ns, left_ns);
    const double time_ns = ceil((double)left_ns / progress->speed);
    return time_ns < (double)SIM_NS_MAX ? sim_ns_add(start_ns, (sim_ns)time_ns) : SIM_NS_MAX;
}

void job_progress_move(struct job_progress *progress, sim_ns now)
{
    const sim_ns waited_ns = now - progress->from_ns;
    progress->done_ns = job_progress_done_ns(progress, now);
    progress->wait_ns = waited_ns < progress->wait_ns ? progress->wait_ns - waited_ns : 0;
    progress->from_ns = now;
}
