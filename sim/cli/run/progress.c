#include "sim/cli/run/progress.h"

#include "sim/cli/run/clock.h"

#include <inttypes.h>
#include <unistd.h>

static const double every_s = 0.2;

void progress_init(struct progress *progress, FILE *err, bool quiet, sim_ns until_ns)
{
    double now_s = clock_wall_s();
    *progress = (struct progress){.err = err,
                                  .is_shown = !quiet && isatty(fileno(err)),
                                  .until_ns = until_ns,
                                  .start_s = now_s,
                                  .shown_s = now_s};
}

static void print_clock(FILE *err, double seconds)
{
    int64_t s = (int64_t)seconds;
    fprintf(err, "%02" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
}

void progress_update(void *context, const struct world_progress *state)
{
    struct progress *progress = context;
    if (!progress->is_shown) return;
    double now_s = clock_wall_s();
    if (now_s - progress->shown_s < every_s) return;
    progress->shown_s = now_s;
    progress->has_line = true;
    double wall_s = now_s - progress->start_s, done = state->done_frac;
    if (progress->until_ns > 0 && (double)state->now_ns / (double)progress->until_ns > done)
        done = (double)state->now_ns / (double)progress->until_ns;
    fprintf(progress->err, "\r\033[K%3.0f %%  simulated ", 100 * done);
    print_clock(progress->err, sim_s_from_ns(state->now_ns));
    fprintf(progress->err, "  %.1f M events/s", (double)state->events / wall_s / 1e6);
    if (done > 0) {
        fprintf(progress->err, "  ETA ");
        print_clock(progress->err, wall_s * (1 - done) / done);
    }
    fflush(progress->err);
}

void progress_end(struct progress *progress)
{
    if (progress->has_line) fprintf(progress->err, "\r\033[K");
    progress->has_line = false;
}
