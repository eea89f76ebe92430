#include "sim/cli/run/simulate.h"

#include "sim/cli/answer.h"
#include "sim/cli/apart.h"
#include "sim/cli/run/clock.h"
#include "sim/cli/run/derived_price.h"
#include "sim/cli/run/misfits.h"
#include "sim/cli/run/recording.h"
#include "sim/cli/run/results_limit.h"
#include "sim/cli/run/summary.h"
#include "sim/cli/version.h"
#include "sim/world/rows/tee.h"
#include "sim/world/world.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- Progress on stderr: one line, overwritten, on a terminal only --- */

struct progress {
    FILE *err;
    bool is_shown;   /* stderr is a terminal, and --quiet is absent */
    bool has_line;   /* a line is to be wiped */
    sim_ns until_ns; /* 0: no limit */
    double start_s, shown_s;
};

static const double every_s = 0.2;

static void progress_init(struct progress *progress, FILE *err, bool quiet, sim_ns until_ns)
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

/* The part of the run that is over, by the traces or by the time limit. */
static double done_of(const struct progress *progress, const struct world_progress *state)
{
    const double by_time = progress->until_ns > 0 ? (double)state->now_ns / (double)progress->until_ns : 0;
    return by_time > state->done_frac ? by_time : state->done_frac;
}

static void progress_update(struct progress *progress, const struct world_progress *state)
{
    if (!progress->is_shown) return;
    double now_s = clock_wall_s();
    if (now_s - progress->shown_s < every_s) return;
    progress->shown_s = now_s;
    progress->has_line = true;
    double wall_s = now_s - progress->start_s, done = done_of(progress, state);
    fprintf(progress->err, "\r\033[K%3.0f %%  simulated ", 100 * done);
    print_clock(progress->err, sim_s_from_ns(state->now_ns));
    fprintf(progress->err, "  %.1f M events/s", (double)state->events / wall_s / 1e6);
    if (done > 0) {
        fprintf(progress->err, "  ETA ");
        print_clock(progress->err, wall_s * (1 - done) / done);
    }
    fflush(progress->err);
}

/* Wipes the line. */
static void progress_end(struct progress *progress)
{
    if (progress->has_line) fprintf(progress->err, "\r\033[K");
    progress->has_line = false;
}

/* --- The run --- */

/* The state of a run. */
struct running {
    struct cli *cli;
    const struct simulate_options *options;
    const struct setup *setup;
    struct world *world;
    struct recording recording;
    struct timeline *timeline; /* NULL: none */
    struct summary summary;
    struct progress progress;
    struct results_limit results_limit;
    struct world_result result;
    double started_s, wall_s; /* wall_s: of the run alone */
};

static void look(void *context, const struct world_progress *state)
{
    struct running *running = context;
    char warning[320];
    const double done = done_of(&running->progress, state);
    progress_update(&running->progress, state);
    if (!results_limit_warns(&running->results_limit, done, warning, sizeof warning)) return;
    progress_end(&running->progress);
    answer_print(running->cli->err, "%s: warning: %s\n", running->options->output, warning);
}

static struct world_options options_of(struct running *running)
{
    return (struct world_options){
        .config = running->setup->config,
        .catalog = &running->setup->catalog,
        .queue = running->options->heap_queue ? QUEUE_HEAP : QUEUE_CALENDAR,
        .single_step = running->options->single_step,
        .strict_domain = running->options->strict_domain,
        .check = running->options->check_events,
        .interrupt = running->cli->interrupt,
        .progress = look,
        .progress_context = running,
    };
}

static int create_world(struct running *running)
{
    const struct world_options options = options_of(running);
    return world_create(&running->setup->scenario, &options, &running->world, &running->cli->diag);
}

static void print_closing_line(const struct running *running)
{
    FILE *err = running->cli->err;
    double wall_s = running->wall_s;
    uint64_t events = running->result.engine.fired;
    fprintf(err, "%" PRIu64 " events in %.2f s, %.2f M events/s", events, wall_s, (double)events / wall_s / 1e6);
    if (running->recording.run_id > 0)
        answer_print(err, "; run %" PRId64 " in %s", running->recording.run_id, running->options->output);
    fputc('\n', err);
}

static int check_domain(const struct running *running)
{
    double share = running->result.extrapolated_frac;
    if (!running->options->strict_domain || !(share > 0)) return 0;
    return diag_error(&running->cli->diag, SIM_E_GATE, NULL, "see model.extrapolated_frac in 'orrery list metrics'",
                      "%.3g %% of the kernels' time is modelled outside the fitted range of the cost model",
                      100 * share);
}

static int end_timeline(struct running *running, bool failed)
{
    struct timeline *timeline = running->timeline;
    running->timeline = NULL;
    return timeline_close(timeline, failed);
}

static int print_summary(struct running *running, const char *status, const char *result_hash)
{
    const struct scenario *scenario = &running->setup->scenario;
    struct diag *diag = &running->cli->diag;
    struct subject subject;
    struct text json;
    char oracle[POLICY_ORACLE_CHARS];
    text_init(&json);
    recording_oracle(&running->recording, &running->result, oracle);
    int code = setup_dump(running->setup, &json);
    if (code == 0) code = subject_of(json.chars, NULL, 0, &running->summary.arena, &subject, diag);
    const struct summary_run run = {.subject = &subject,
                                    .version = version_text(),
                                    .scenario = scenario->name,
                                    .seed = scenario->seed,
                                    .status = status,
                                    .warmup_s = sim_s_from_ns(scenario->warmup_ns),
                                    .oracle = oracle,
                                    .is_verbose = running->options->verbose,
                                    .result_hash = result_hash};
    if (code == 0)
        code = summary_print(&running->summary, &run, running->options->form, running->cli->out, running->cli->err,
                             diag);
    text_fini(&json);
    return code;
}

static void forget_leftovers(const struct running *running)
{
    if (running->cli->apart == NULL) return;
    running->cli->apart->run_id = 0;
    running->cli->apart->timeline[0] = 0;
}

/* Finds and stores the intervals of a run that ended in order. */
static int add_intervals(struct running *running)
{
    const enum interval_choice choice = running->options->interval;
    struct summary *summary = &running->summary;
    struct recording *recording = &running->recording;
    const bool is_small = running->result.engine.fired <= INTERVAL_MOST_EVENTS;
    if (choice == INTERVAL_AUTO && setup_reads_once(running->setup)) return 0;
    if (choice == INTERVAL_NEVER || (choice == INTERVAL_AUTO && !is_small)) return 0;
    const struct world_options how = options_of(running);
    struct diag why;
    int code = intervals_find(running->setup, &how, summary->metrics, summary->n_metrics, &summary->arena,
                              &summary->intervals, &running->cli->diag);
    if (code == SIM_E_NOMEM) return diag_nomem(&running->cli->diag);
    if (code != 0 || summary->intervals.n == 0 || recording->results == NULL) return code;
    diag_init(&why);
    if (results_add_intervals(recording->results, recording->run_id, &summary->intervals, &why) != 0)
        diag_warning(&running->cli->diag, running->options->output, NULL, "the intervals are not stored: %s",
                     why.n_items > 0 ? why.items[0].text : "cannot write");
    return 0;
}

/* Whether the summary has the price of the services' GPUs, rather than a bill. */
static bool shows_list_price(const struct summary *summary)
{
    bool has_price = false, has_bill = false;
    for (size_t i = 0; i < summary->n_metrics; i++) {
        has_price |= strcmp(summary->metrics[i].name, "cost.usd_per_h") == 0;
        has_bill |= strcmp(summary->metrics[i].name, "cost.usd") == 0;
    }
    return has_price && !has_bill;
}

/* Stores and prints the result of a run that ended in order, was interrupted or stalled. */
static int finish(struct running *running, const char *status, char result_hash[HASH_HEX_CHARS])
{
    struct cli *cli = running->cli;
    int code = recording_end(&running->recording, status, &running->result, result_hash, &cli->diag);
    if (code == 0) code = end_timeline(running, false);
    running->wall_s = clock_wall_s() - running->started_s;
    if (code == 0) forget_leftovers(running);
    if (code == 0 && strcmp(status, "done") == 0) code = add_intervals(running);
    if (code != 0 && code != SIM_E_INTERRUPTED) return code;
    const int interrupted = code;
    warn_absent_job_types(running->setup, running->world, &cli->diag);
    if (shows_list_price(&running->summary))
        code = warn_derived_prices(running->setup, &running->summary.arena, &cli->diag);
    if (code == 0 || code == SIM_E_INTERRUPTED) code = print_summary(running, status, result_hash);
    if (code == 0 && !running->options->quiet) print_closing_line(running);
    if (code == 0) code = check_domain(running);
    return code == 0 ? interrupted : code;
}

/* The status of a stored run that ended with this code; NULL if nothing is stored. */
static const char *kept_status(int code)
{
    switch (code) {
    case 0: return "done";
    case SIM_E_INTERRUPTED: return "interrupted";
    case SIM_E_STALLED: return "stalled";
    case SIM_E_STORE: return "failed"; /* ending the recording fails and reports why */
    default: return NULL;
    }
}

static int run_world(struct running *running, char result_hash[HASH_HEX_CHARS])
{
    struct tee tee = {0};
    summary_init(&running->summary);
    const struct sink recording = recording_sink(&running->recording);
    tee_add(&tee, recording);
    tee_add(&tee, summary_sink(&running->summary, recording.request != NULL));
    if (running->timeline != NULL) tee_add(&tee, timeline_sink(running->timeline));
    struct sink sink = tee_sink(&tee);
    int code = world_run(running->world, &sink, &running->result);
    progress_end(&running->progress);
    const char *status = kept_status(code);
    int finish_code = status != NULL ? finish(running, status, result_hash) : 0;
    summary_fini(&running->summary);
    return finish_code != 0 ? finish_code : code;
}

/* What the parent of this process removes if a plug-in ends it: nothing before the run and after it. */
static void note_leftovers(const struct running *running, bool has_created)
{
    struct apart *apart = running->cli->apart;
    const struct simulate_options *options = running->options;
    if (apart == NULL) return;
    apart->run_id = running->recording.run_id;
    apart->has_created = has_created;
    snprintf(apart->output, sizeof apart->output, "%s", options->output != NULL ? options->output : "");
    snprintf(apart->timeline, sizeof apart->timeline, "%s", options->timeline != NULL ? options->timeline : "");
}

int simulate(struct cli *cli, const struct simulate_options *options, const struct setup *setup,
             char result_hash[HASH_HEX_CHARS])
{
    result_hash[0] = 0;
    struct running running = {.cli = cli, .options = options, .setup = setup, .started_s = clock_wall_s()};
    progress_init(&running.progress, cli->err, options->quiet, setup->scenario.until_ns);
    int code = create_world(&running);
    if (code != 0) return code;
    struct recording_place place = {.path = options->output, .limit_bytes = options->results_limit_bytes,
                                    .resume = options->resume};
    const bool has_created = options->output != NULL && access(options->output, F_OK) != 0;
    if (options->timeline != NULL)
        code = timeline_open(options->timeline, options->timeline_part, &running.timeline, &cli->diag);
    if (code == 0) code = recording_begin(&running.recording, &place, setup, &cli->diag);
    if (code == 0) {
        note_leftovers(&running, has_created);
        results_limit_start(&running.results_limit, options->output, options->results_limit_bytes);
        code = run_world(&running, result_hash);
        recording_close(&running.recording);
    }
    end_timeline(&running, true);
    forget_leftovers(&running);
    world_destroy(running.world);
    return code;
}

/* Runs a world, records it and ends the recording. Another sink, unless NULL, gets the rows, too. */
static int record_world(struct world *world, struct recording *recording, const struct sink *also, struct diag *diag)
{
    char result_hash[HASH_HEX_CHARS];
    struct world_result result;
    struct tee tee = {0};
    tee_add(&tee, recording_sink(recording));
    if (also != NULL) tee_add(&tee, *also);
    struct sink sink = also != NULL ? tee_sink(&tee) : recording_sink(recording);
    int code = world_run(world, &sink, &result);
    if (code != 0 && code != SIM_E_STORE) return code;
    int end_code = recording_end(recording, "done", &result, result_hash, diag);
    return end_code != 0 ? end_code : code;
}

int simulate_into(const struct setup *setup, const struct recording_place *place,
                  const volatile sig_atomic_t *interrupt, const struct sink *also, struct diag *diag)
{
    struct world_options options = {.config = setup->config, .catalog = &setup->catalog, .interrupt = interrupt};
    struct recording recording;
    struct world *world;
    int code = world_create(&setup->scenario, &options, &world, diag);
    if (code != 0) return code;
    code = recording_begin(&recording, place, setup, diag);
    if (code == 0) {
        code = record_world(world, &recording, also, diag);
        if (code == 0) warn_absent_job_types(setup, world, diag);
        recording_close(&recording);
    }
    world_destroy(world);
    return code;
}

int simulate_rows(const struct setup *setup, const struct world_options *how, const struct sink *sink,
                  struct world_result *result, struct diag *diag)
{
    struct world_options options = *how;
    struct world *world;
    options.config = setup->config;
    options.catalog = &setup->catalog;
    int code = world_create(&setup->scenario, &options, &world, diag);
    if (code != 0) return code;
    code = world_run(world, sink, result);
    world_destroy(world);
    return code;
}
