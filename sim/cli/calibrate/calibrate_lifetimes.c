/* orrery calibrate lifetimes: Weibull laws of components from field data, as the section `failures` takes them. */
#include "analysis/calibrate/lifetimes/lifetimes_read.h"
#include "sim/cli/calibrate/calibrate_measured.h"
#include "sim/cli/calibrate/calibrate_print.h"
#include "sim/cli/version.h"
#include "sim/core/json_write.h"
#include "sim/core/number.h"
#include "sim/core/path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 600, BURN = 200, MOST_NODES = 10000000 };

static const char interval_note[] = "95 % intervals by the normal approximation of the logarithms";
static const char chain_note[] =
    "means over 400 rounds of stochastic EM, after 200; mean_h is that of the law with this shape and scale; low and "
    "high are the spread of the chain, one standard deviation to each side";

struct estimate_row {
    const char *name;
    double value, low, high; /* of a chain: low and high one standard deviation from the mean */
};

static int print(struct cli *cli, const struct estimate_row *rows, size_t n, const char *note, enum answer_form form)
{
    static const struct table_column columns[] = {LEFT("estimate"), RIGHT("value"), RIGHT("low"), RIGHT("high")};
    struct answer answer;
    struct answer_table table;
    answer_init(&answer, form, "lifetimes");
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < n; i++) {
        table_text(&table, rows[i].name);
        table_number(&table, rows[i].value);
        table_number(&table, rows[i].low);
        table_number(&table, rows[i].high);
    }
    answer_add(&answer, "lifetimes", note, &table);
    return answer_end(&answer, 0, cli->out, &cli->diag);
}

/* A law, and what its file says of the source beside the version. */
struct law {
    double shape, scale;
    struct weibull_estimate mean;
    const char *interval; /* "95 % interval" */
    char source[512];     /* "gpus.csv: 5 rows" */
};

/* The members "source" and "lifetime" of a cause. */
static int write_law(struct cli *cli, const char *path, const struct law *law)
{
    struct text json, source;
    struct json_writer writer;
    char mean[64];
    text_init(&json);
    text_init(&source);
    json_writer_init(&writer, &json);
    snprintf(mean, sizeof mean, "%.6gh", weibull_mean(law->shape, law->scale));
    text_printf(&source, "%s; mean %.4g h, %s %.4g to %.4g h; orrery %s", law->source, law->mean.value, law->interval,
                law->mean.low, law->mean.high, version_commit());
    json_write_open(&writer, NULL, '{');
    json_write_string(&writer, "source", source.failed ? "" : source.chars);
    json_write_open_row(&writer, "lifetime", '{');
    json_write_string(&writer, "law", "weibull");
    json_write_string(&writer, "mean", mean);
    json_write_number(&writer, "shape", law->shape);
    json_write_close(&writer, '}');
    json_write_close(&writer, '}');
    text_add(&json, "\n");
    const int code = source.failed ? diag_nomem(&cli->diag) : calibrate_write(cli, path, &json);
    text_fini(&json);
    text_fini(&source);
    return code;
}

static int too_few(struct cli *cli, const char *path, int code, size_t failures)
{
    if (code != SIM_E_DATA) return code == SIM_E_NOMEM ? diag_nomem(&cli->diag) : code;
    return diag_error(&cli->diag, SIM_E_DATA, path,
                      "a law needs failures at different ages, between 0.02 and 100 in shape",
                      "%zu failures do not determine a Weibull law", failures);
}

static int fit_lives(struct cli *cli, const struct observed_life *lives, size_t n, const char *path, const char *source,
                     const struct calibrate_output *output)
{
    struct weibull_fit fit;
    int code = weibull_fit(lives, n, &fit);
    if (code != 0) return too_few(cli, path, code, fit.failures);
    const struct estimate_row rows[] = {
        {"shape", fit.shape.value, fit.shape.low, fit.shape.high},
        {"scale_h", fit.scale.value, fit.scale.low, fit.scale.high},
        {"mean_h", fit.mean.value, fit.mean.low, fit.mean.high},
        {"units", (double)fit.units, (double)NAN, (double)NAN},
        {"failures", (double)fit.failures, (double)NAN, (double)NAN}};
    struct law law = {.shape = fit.shape.value, .scale = fit.scale.value, .mean = fit.mean, .interval = "95 % interval"};
    snprintf(law.source, sizeof law.source, "%s, %zu lives, %zu failures", source, fit.units, fit.failures);
    if (output->path != NULL) code = write_law(cli, output->path, &law);
    return code == 0 ? print(cli, rows, sizeof rows / sizeof *rows, interval_note, output->form) : code;
}

/* "2024-03-01 08:30:00", or "5.5 h". */
static void time_text(double hours, bool is_calendar, char *text, size_t bytes)
{
    const time_t second = (time_t)llround(hours * 3600.0);
    struct tm tm;
    if (!is_calendar)
        snprintf(text, bytes, "%.6g h", hours);
    else if (gmtime_r(&second, &tm) == NULL || strftime(text, bytes, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        *text = '\0';
}

static int read_end(struct cli *cli, const char *option, const char *text, bool is_calendar, double *hours)
{
    bool is_date;
    *hours = (double)NAN;
    if (text == NULL) return 0;
    if (!lifetimes_time(text, strlen(text), hours, &is_date))
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL,
                          "%s must be a number of hours or a time such as 2024-03-01 08:30:00, got '%s'", option, text);
    if (is_date == is_calendar) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, "write it as the log writes its times",
                      is_calendar ? "%s '%s' is a number, and the log has calendar times"
                                  : "%s '%s' is a calendar time, and the log has numbers of hours",
                      option, text);
}

static int read_span(struct cli *cli, const struct calibrate_observation *observation, bool is_calendar,
                     struct events_span *span)
{
    const char *nodes = observation->nodes;
    int code = read_end(cli, "--from", observation->from, is_calendar, &span->from_h);
    if (code == 0) code = read_end(cli, "--until", observation->until, is_calendar, &span->until_h);
    span->n_nodes = 0;
    if (code != 0 || nodes == NULL) return code;
    if (number_i64(nodes, strlen(nodes), &span->n_nodes) == NUMBER_OK && span->n_nodes >= 1 &&
        span->n_nodes <= MOST_NODES)
        return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, NULL, "--nodes must be a whole number from 1 to %d, got '%s'",
                      MOST_NODES, nodes);
}

/* What the log does not say, and is assumed. */
static void warn_of_events(struct cli *cli, const struct lifetimes_data *data, const struct events_lives *lives,
                           const struct events_span *span, const struct calibrate_observation *observation,
                           const char *path)
{
    if (data->lacks_up)
        diag_warning(&cli->diag, path, "a column 'up_at' says when a node was up again",
                     "there is no column 'up_at': each node is taken to be up again at once");
    if (span->n_nodes == 0)
        diag_warning(&cli->diag, path, "--nodes N counts all nodes that were observed",
                     "nodes without a failure are not in the log, and none is counted: the mean may be too short");
    if (observation->from == NULL || observation->until == NULL)
        diag_warning(&cli->diag, path, "--from and --until say when it began and ended",
                     "the observation is taken to %s of the log",
                     observation->from != NULL    ? "end with the last time"
                     : observation->until != NULL ? "begin with the first time"
                                                  : "last from the first to the last time");
    if (lives->n_at_once > 0)
        diag_warning(&cli->diag, path, NULL, "failures of nodes that had been up for no time are left out: %zu",
                     lives->n_at_once);
}

static int fit_events(struct cli *cli, const struct lifetimes_data *data, const char *path,
                      const struct calibrate_observation *observation, const struct calibrate_output *output)
{
    struct events_span span;
    struct events_lives lives = {0};
    char source[384], from[64], until[64];
    int code = read_span(cli, observation, data->is_calendar, &span);
    if (code == 0) code = lifetimes_of_events(data->events, data->n, &span, path, &lives, &cli->diag);
    if (code == 0) {
        const int64_t n_nodes = span.n_nodes > 0 ? span.n_nodes : lives.n_logged;
        time_text(span.from_h, data->is_calendar, from, sizeof from);
        time_text(span.until_h, data->is_calendar, until, sizeof until);
        snprintf(source, sizeof source, "%.160s: %zu rows, %" PRId64 " nodes from %s to %s", path_name(path), data->n,
                 n_nodes, from, until);
        warn_of_events(cli, data, &lives, &span, observation, path);
        code = fit_lives(cli, lives.lives, lives.n, path, source, output);
    }
    mem_free(lives.lives);
    return code;
}

static int fit_shipped(struct cli *cli, const struct lifetimes_data *data, const char *path,
                       const struct calibrate_output *output)
{
    struct shipped_fit fit;
    struct rng rng;
    rng_init(&rng, 1, 0, "calibrate.lifetimes", 0);
    int code = shipped_fit(data->shipped, data->n, ROUNDS, BURN, &rng, &fit);
    if (code != 0) return too_few(cli, path, code, fit.returned);
    const struct estimate_row rows[] = {
        {"shape", fit.shape, fit.shape - fit.shape_sd, fit.shape + fit.shape_sd},
        {"scale_h", fit.scale, fit.scale - fit.scale_sd, fit.scale + fit.scale_sd},
        {"mean_h", fit.mean, fit.mean - fit.mean_sd, fit.mean + fit.mean_sd},
        {"lag_h", fit.lag, fit.lag - fit.lag_sd, fit.lag + fit.lag_sd},
        {"units", (double)fit.units, (double)NAN, (double)NAN},
        {"failures", (double)fit.returned, (double)NAN, (double)NAN}};
    struct law law = {.shape = fit.shape, .scale = fit.scale, .interval = "spread of the chain",
                      .mean = {fit.mean, fit.mean - fit.mean_sd, fit.mean + fit.mean_sd}};
    snprintf(law.source, sizeof law.source, "%.160s: %zu rows, %zu returned", path_name(path), fit.units, fit.returned);
    if (output->path != NULL) code = write_law(cli, output->path, &law);
    return code == 0 ? print(cli, rows, sizeof rows / sizeof *rows, chain_note, output->form) : code;
}

int calibrate_lifetimes(struct cli *cli, const struct calibrate_inputs *inputs,
                        const struct calibrate_observation *observation, const struct calibrate_output *output)
{
    struct lifetimes_data data;
    char source[256];
    const char *path = inputs->paths[0];
    int code = lifetimes_read(path, &data, &cli->diag);
    if (code == 0 && data.events == NULL && (observation->from || observation->until || observation->nodes))
        code = diag_error(&cli->diag, SIM_E_USAGE, path, "leave out --from, --until and --nodes",
                          "its units state their observation; only a log of failures (node,down_at) does not");
    snprintf(source, sizeof source, "%.160s: %zu rows", path_name(path), data.n);
    if (code == 0 && data.events != NULL)
        code = fit_events(cli, &data, path, observation, output);
    else if (code == 0)
        code = data.shipped != NULL ? fit_shipped(cli, &data, path, output)
                                    : fit_lives(cli, data.lives, data.n, path, source, output);
    lifetimes_data_fini(&data);
    return code;
}
