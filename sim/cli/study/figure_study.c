#include "sim/cli/study/figure_study.h"

#include "sim/cli/clock.h"
#include "sim/cli/study/sweeping.h"

#include <errno.h>
#include <unistd.h>

struct figure_watch {
    FILE *err;
    const char *output;
    bool is_shown, has_line;
};

static void look(void *context, const struct sweep_progress *progress)
{
    struct figure_watch *watch = context;
    if (!watch->is_shown || progress->n_runs == 0) return;
    fprintf(watch->err, "\r\033[K%s: %zu of %zu runs", watch->output, progress->n_done + progress->n_failed,
            progress->n_runs);
    fflush(watch->err);
    watch->has_line = true;
}

/* Results that are there go, unless they are to be taken. */
static int make_room(struct cli *cli, const char *output, const struct figure_study_options *options)
{
    if (options->resume || unlink(output) == 0 || errno == ENOENT) return 0;
    return diag_system_error(&cli->diag, output, "cannot remove the results of an earlier call", errno);
}

static void print_closing_line(const struct figure_watch *watch, const struct sweep_result *result, double wall_s)
{
    fprintf(watch->err, "%s: %zu runs", watch->output, result->n_runs);
    if (result->was_complete)
        fprintf(watch->err, ", all of them found\n");
    else
        fprintf(watch->err, ", %zu of them found, in %.2f s\n", result->n_found, wall_s);
}

int figure_study_run(struct cli *cli, const struct study *study, const char *output,
                     const struct figure_study_options *options)
{
    struct sweeping_host host;
    struct sweep_result result = {0};
    struct figure_watch watch = {.err = cli->err, .output = output};
    double started_s = clock_wall_s();
    watch.is_shown = !options->quiet && isatty(fileno(cli->err));
    struct sweep_options how = {.output = output,
                                .workers = options->workers,
                                .resume = options->resume,
                                .interrupt = cli->interrupt,
                                .look = look,
                                .look_context = &watch};
    int code = make_room(cli, output, options);
    if (code != 0) return code;
    code = sweeping_init(&host, cli);
    if (code == 0) code = sweep(study, &how, &host.runner, &result, &cli->diag);
    sweeping_fini(&host);
    if (watch.has_line) fprintf(cli->err, "\r\033[K");
    if (code == 0 && !options->quiet) print_closing_line(&watch, &result, clock_wall_s() - started_s);
    return code;
}
