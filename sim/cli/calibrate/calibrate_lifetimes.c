/* orrery calibrate lifetimes: Weibull laws of components from field data, as the section `failures` takes them. */
#include "analysis/calibrate/lifetimes/lifetimes_read.h"
#include "sim/cli/calibrate/calibrate_measured.h"
#include "sim/cli/calibrate/calibrate_print.h"
#include "sim/core/json_write.h"

#include <math.h>

enum { ROUNDS = 600, BURN = 200 };

static const char interval_note[] = "95 % intervals by the normal approximation of the logarithms";
static const char chain_note[] = "means and standard deviations over 400 rounds of stochastic EM, after 200";

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

/* The member "lifetime" of a cause. */
static int write_law(struct cli *cli, const char *path, double shape, double scale)
{
    struct text json;
    struct json_writer writer;
    char mean[64];
    text_init(&json);
    json_writer_init(&writer, &json);
    snprintf(mean, sizeof mean, "%.6gh", weibull_mean(shape, scale));
    json_write_open(&writer, NULL, '{');
    json_write_open_row(&writer, "lifetime", '{');
    json_write_string(&writer, "law", "weibull");
    json_write_string(&writer, "mean", mean);
    json_write_number(&writer, "shape", shape);
    json_write_close(&writer, '}');
    json_write_close(&writer, '}');
    text_add(&json, "\n");
    const int code = calibrate_write(cli, path, &json);
    text_fini(&json);
    return code;
}

static int too_few(struct cli *cli, const char *path, int code, size_t failures)
{
    if (code != SIM_E_DATA) return code == SIM_E_NOMEM ? diag_nomem(&cli->diag) : code;
    return diag_error(&cli->diag, SIM_E_DATA, path,
                      "a law needs failures at different ages, between 0.02 and 100 in shape",
                      "%zu failures do not determine a Weibull law", failures);
}

static int fit_observed(struct cli *cli, const struct lifetimes_data *data, const char *path,
                        const struct calibrate_output *output)
{
    struct weibull_fit fit;
    int code = weibull_fit(data->lives, data->n, &fit);
    if (code != 0) return too_few(cli, path, code, fit.failures);
    const struct estimate_row rows[] = {
        {"shape", fit.shape.value, fit.shape.low, fit.shape.high},
        {"scale_h", fit.scale.value, fit.scale.low, fit.scale.high},
        {"mean_h", weibull_mean(fit.shape.value, fit.scale.value), (double)NAN, (double)NAN},
        {"units", (double)fit.units, (double)NAN, (double)NAN},
        {"failures", (double)fit.failures, (double)NAN, (double)NAN}};
    if (output->path != NULL) code = write_law(cli, output->path, fit.shape.value, fit.scale.value);
    return code == 0 ? print(cli, rows, sizeof rows / sizeof *rows, interval_note, output->form) : code;
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
        {"mean_h", weibull_mean(fit.shape, fit.scale), (double)NAN, (double)NAN},
        {"lag_h", fit.lag, fit.lag - fit.lag_sd, fit.lag + fit.lag_sd},
        {"units", (double)fit.units, (double)NAN, (double)NAN},
        {"failures", (double)fit.returned, (double)NAN, (double)NAN}};
    if (output->path != NULL) code = write_law(cli, output->path, fit.shape, fit.scale);
    return code == 0 ? print(cli, rows, sizeof rows / sizeof *rows, chain_note, output->form) : code;
}

int calibrate_lifetimes(struct cli *cli, const struct calibrate_inputs *inputs, const struct calibrate_output *output)
{
    struct lifetimes_data data;
    const char *path = inputs->paths[0];
    int code = lifetimes_read(path, &data, &cli->diag);
    if (code == 0)
        code = data.shipped != NULL ? fit_shipped(cli, &data, path, output) : fit_observed(cli, &data, path, output);
    lifetimes_data_fini(&data);
    return code;
}
