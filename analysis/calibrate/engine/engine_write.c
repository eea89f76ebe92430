#include "analysis/calibrate/engine/engine_calibrate.h"

#include "analysis/calibrate/write.h"
#include "sim/core/units.h"

enum { QUANTITY_CHARS = 64, DIGITS = 4 };

static const double least_s = 1e-9; /* shorter times count as none */

static void write_time(struct json_writer *json, const char *key, double seconds)
{
    char quantity[QUANTITY_CHARS];
    unit_format(calibration_round(seconds < least_s ? 0.0 : seconds, DIGITS), UNIT_TIME, quantity, sizeof quantity);
    json_write_string(json, key, quantity);
}

static void write_launches(struct json_writer *json, const struct config_list *list)
{
    const struct engine_launch *launches = list->items;
    if (list->n == 0) return;
    json_write_open(json, "launch", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "gpu", launches[i].gpu);
        write_time(json, "layer", launches[i].layer_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_overheads(struct json_writer *json, const struct config_list *list)
{
    const struct engine_overhead *overheads = list->items;
    if (list->n == 0) return;
    json_write_open(json, "overhead", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_number(json, "tensor_parallel", (double)overheads[i].tensor_parallel);
        write_time(json, "iteration", overheads[i].iteration_s);
        if (overheads[i].sequence_s >= least_s) write_time(json, "sequence", overheads[i].sequence_s);
        if (overheads[i].prompt_s >= least_s) write_time(json, "prompt", overheads[i].prompt_s);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_measured_on(struct json_writer *json, const struct config_list *list)
{
    const char *const *gpus = list->items;
    if (list->n == 0) return;
    json_write_open_row(json, "measured_on", '[');
    for (size_t i = 0; i < list->n; i++) json_write_string(json, NULL, gpus[i]);
    json_write_close(json, ']');
}

static void write_profiles(struct json_writer *json, const struct config_list *list)
{
    const struct calibration_profile *profiles = list->items;
    if (list->n == 0) return;
    json_write_open(json, "profiles", '[');
    for (size_t i = 0; i < list->n; i++) {
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "file", profiles[i].file);
        json_write_string(json, "hash", profiles[i].hash);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_errors(struct json_writer *json, const char *key, const struct config_list *list)
{
    const struct calibration_error *errors = list->items;
    if (list->n == 0) return;
    json_write_open(json, key, '{');
    for (size_t i = 0; i < list->n; i++)
        calibration_write_error(json, errors[i].name,
                                &(struct fit_error){.rows = errors[i].rows,
                                                    .median = errors[i].median,
                                                    .p90 = errors[i].p90,
                                                    .worst = errors[i].worst,
                                                    .bias = errors[i].bias});
    json_write_close(json, '}');
}

int engine_preset_write(const struct engine_preset *preset, struct text *json)
{
    struct json_writer writer;
    json_writer_init(&writer, json);
    json_write_open(&writer, NULL, '{');
    json_write_string(&writer, "summary", preset->summary);
    if (preset->source != NULL) json_write_string(&writer, "source", preset->source);
    json_write_string(&writer, "kernels", preset->kernels);
    json_write_string(&writer, "collectives", preset->collectives);
    json_write_bool(&writer, "direct_all_reduce", preset->direct_all_reduce);
    json_write_bool(&writer, "fused_residual", preset->fused_residual);
    json_write_bool(&writer, "mixed_attention", preset->mixed_attention);
    json_write_bool(&writer, "samples", preset->samples);
    json_write_bool(&writer, "fused_narrowing", preset->fused_narrowing);
    if (preset->graph_tokens > 0) json_write_number(&writer, "graph_tokens", (double)preset->graph_tokens);
    write_launches(&writer, &preset->launches);
    write_overheads(&writer, &preset->overheads);
    write_measured_on(&writer, &preset->measured_on);
    if (preset->fitted_on != NULL) json_write_string(&writer, "fitted_on", preset->fitted_on);
    write_profiles(&writer, &preset->profiles);
    write_errors(&writer, "fit", &preset->fit);
    write_errors(&writer, "kernels_fit", &preset->kernels_fit);
    write_errors(&writer, "held_out", &preset->held_out);
    json_write_close(&writer, '}');
    text_add(json, "\n");
    return json->failed ? SIM_E_NOMEM : 0;
}
