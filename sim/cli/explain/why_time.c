#include "sim/cli/explain/why_time.h"

#include "sim/cli/explain/why_events.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Reading --- */

int why_read_stretch(const char *text, double end_s, double *from_s, double *to_s, struct diag *diag)
{
    *from_s = 0;
    *to_s = (double)INFINITY;
    const char *why = unit_parse_stretch(text, from_s, to_s);
    if (why == NULL && !(*from_s >= 0)) why = "begins before the run";
    if (why == NULL && *from_s >= end_s)
        return diag_error(diag, SIM_E_USAGE, NULL, NULL, "'%s' begins after the end of the run at %.6g s", text, end_s);
    if (*to_s >= end_s) *to_s = (double)INFINITY;
    if (why == NULL) return 0;
    return diag_error(diag, SIM_E_USAGE, NULL, "write a stretch of time, as 10min:12min", "'%s' %s", text, why);
}

/* --- Telling --- */

/* A quantity of a service: `of` returns its value over a stretch of so many seconds; NAN: there is none. */
struct quantity {
    const char *name;
    double (*of)(const struct stretch_load *load, double stretch_s);
};

static double arrivals_per_s(const struct stretch_load *load, double stretch_s)
{
    return (double)load->arrivals / stretch_s;
}

static double finished_per_s(const struct stretch_load *load, double stretch_s)
{
    return (double)load->finished / stretch_s;
}

static double tokens_per_s(const struct stretch_load *load, double stretch_s)
{
    return load->tokens / stretch_s;
}

static double busy_replicas(const struct stretch_load *load, double stretch_s)
{
    return load->busy_s / stretch_s;
}

static double slowed_percent(const struct stretch_load *load, double stretch_s)
{
    (void)stretch_s;
    return load->busy_s > 0 ? 100 * fmax(load->slowed_s, 0) / load->busy_s : (double)NAN;
}

static double queue_mean_s(const struct stretch_load *load, double stretch_s)
{
    (void)stretch_s;
    return load->n_queued > 0 ? load->queue_s / (double)load->n_queued : (double)NAN;
}

static double ttft_mean_s(const struct stretch_load *load, double stretch_s)
{
    (void)stretch_s;
    return load->n_answered > 0 ? load->ttft_s / (double)load->n_answered : (double)NAN;
}

static double ttft_p99_s(const struct stretch_load *load, double stretch_s)
{
    (void)stretch_s;
    return load->n_answered > 0 ? histogram_quantile(&load->ttft, 0.99) : (double)NAN;
}

static const struct quantity quantities[] = {
    {"arrivals_per_s", arrivals_per_s}, {"finished_per_s", finished_per_s}, {"output_tokens_per_s", tokens_per_s},
    {"busy_replicas", busy_replicas},   {"slowed_percent", slowed_percent}, {"queue_mean_s", queue_mean_s},
    {"ttft_mean_s", ttft_mean_s},       {"ttft_p99_s", ttft_p99_s}};

enum { N_QUANTITIES = sizeof quantities / sizeof *quantities };

/* Each quantity of each service, in the stretch and in the whole run. */
static void add_load(const struct stretch *stretch, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("service"), LEFT("quantity"), RIGHT("stretch"), RIGHT("run")};
    const double stretch_s = stretch->to_s - stretch->from_s;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < stretch->n_services; i++)
        for (size_t k = 0; k < N_QUANTITIES; k++) {
            const struct stretch_service *service = &stretch->services[i];
            table_text(&table, service->name);
            table_text(&table, quantities[k].name);
            table_number(&table, quantities[k].of(&service->in, stretch_s));
            table_number(&table, quantities[k].of(&service->all, stretch->story.end_s));
        }
    answer_add(answer, "load", NULL, &table);
}

/* What the table lacks of a service with pipeline stages. */
static const char *left_out(const struct stretch_service *service)
{
    return isnan(service->all.busy_s) ? "busy_replicas and slowed_percent: batches of pipeline stages overlap" : NULL;
}

static void say_counts(const struct stretch *stretch, struct answer *answer)
{
    const struct stretch_jobs *jobs = &stretch->jobs;
    answer_say(answer, "\n");
    for (size_t i = 0; i < stretch->n_services; i++) {
        const struct stretch_service *service = &stretch->services[i];
        answer_say(answer,
                   "%s: requests not yet scheduled at the start %" PRId64 ", at the end %" PRId64 "; preempted %" PRId64
                   ", restarted after failures %" PRId64 ", rejected %" PRId64 "\n",
                   service->name, service->not_scheduled.from, service->not_scheduled.to, service->preempted,
                   service->restarted, service->in.rejected);
        if (left_out(service) != NULL) answer_say(answer, "%s: left out: %s\n", service->name, left_out(service));
    }
    if (!stretch->has_jobs) return;
    answer_say(answer,
               "jobs: submitted %" PRId64 ", started %" PRId64 ", resumed %" PRId64 ", preempted %" PRId64
               ", yielded to services %" PRId64 ", stopped by failures %" PRId64 ", ended %" PRId64
               "; not yet started at the start %" PRId64 ", at the end %" PRId64 "\n",
               jobs->submitted, jobs->started, jobs->resumed, jobs->preempted, jobs->yielded, jobs->interrupted,
               jobs->ended, jobs->not_started.from, jobs->not_started.to);
}

/* "power of the site: mean 26.9 kW, highest 41.2 kW of 5 samples; in the whole run mean 26.3 kW, highest 41.9 kW" */
static void say_power(const struct stretch_power *power, struct answer *answer)
{
    if (isnan(power->run_mean_w)) return;
    if (power->n == 0)
        answer_say(answer, "power of the site: no sample in the stretch");
    else
        answer_say(answer, "power of the site: mean %.4g kW, highest %.4g kW of %" PRId64 " sample%s",
                   power->sum_w / (double)power->n / 1e3, power->max_w / 1e3, power->n, power->n == 1 ? "" : "s");
    answer_say(answer, "; in the whole run mean %.4g kW", power->run_mean_w / 1e3);
    if (!isnan(power->run_max_w)) answer_say(answer, ", highest %.4g kW", power->run_max_w / 1e3);
    answer_say(answer, "\n");
}

static void write_power(const struct stretch_power *power, struct answer *answer)
{
    const double none = (double)NAN;
    if (isnan(power->run_mean_w)) return;
    answer_open(answer, "power", '{');
    answer_number(answer, "samples", (double)power->n);
    answer_number(answer, "mean_w", power->n > 0 ? power->sum_w / (double)power->n : none);
    answer_number(answer, "max_w", power->n > 0 ? power->max_w : none);
    answer_number(answer, "run_mean_w", power->run_mean_w);
    answer_number(answer, "run_max_w", power->run_max_w);
    answer_close(answer, '}');
}

static void say_stretch(const struct stretch *stretch, struct answer *answer)
{
    const struct story *story = &stretch->story;
    answer_say(answer, "%.6f s to %.6f s, %.6g s of a run of %.6g s\n", stretch->from_s, stretch->to_s,
               stretch->to_s - stretch->from_s, story->end_s);
    add_load(stretch, answer);
    say_counts(stretch, answer);
    say_power(&stretch->power, answer);
    if (story->n_events > 0) answer_say(answer, "\n");
    why_say_events(story, true, answer);
}

static void write_services(const struct stretch *stretch, struct answer *answer)
{
    answer_open(answer, "services", '{');
    for (size_t i = 0; i < stretch->n_services; i++) {
        const struct stretch_service *service = &stretch->services[i];
        answer_open_row(answer, service->name, '{');
        answer_number(answer, "not_scheduled_from", (double)service->not_scheduled.from);
        answer_number(answer, "not_scheduled_to", (double)service->not_scheduled.to);
        answer_number(answer, "arrivals", (double)service->in.arrivals);
        answer_number(answer, "finished", (double)service->in.finished);
        answer_number(answer, "output_tokens", service->in.tokens);
        answer_number(answer, "preempted", (double)service->preempted);
        answer_number(answer, "restarted", (double)service->restarted);
        answer_number(answer, "rejected", (double)service->in.rejected);
        if (left_out(service) != NULL) answer_text(answer, "left_out", left_out(service));
        answer_close(answer, '}');
    }
    answer_close(answer, '}');
}

static void write_jobs(const struct stretch_jobs *jobs, struct answer *answer)
{
    const struct {
        const char *name;
        int64_t n;
    } counts[] = {{"submitted", jobs->submitted}, {"started", jobs->started},
                  {"resumed", jobs->resumed},     {"preempted", jobs->preempted},
                  {"yielded", jobs->yielded},     {"failed", jobs->interrupted},
                  {"ended", jobs->ended},         {"not_started_from", jobs->not_started.from},
                  {"not_started_to", jobs->not_started.to}};
    answer_open(answer, "jobs", '{');
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        answer_number(answer, counts[i].name, (double)counts[i].n);
    answer_close(answer, '}');
}

static void write_stretch(const struct stretch *stretch, struct answer *answer)
{
    answer_text(answer, "kind", "time");
    answer_number(answer, "from_s", stretch->from_s);
    answer_number(answer, "to_s", stretch->to_s);
    add_load(stretch, answer);
    write_services(stretch, answer);
    if (stretch->has_jobs) write_jobs(&stretch->jobs, answer);
    write_power(&stretch->power, answer);
    why_write_events(&stretch->story, answer);
}

void why_tell_stretch(const struct stretch *stretch, struct answer *answer)
{
    (answer_is_data(answer->form) ? write_stretch : say_stretch)(stretch, answer);
}
