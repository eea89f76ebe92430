#include "analysis/calibrate/power/power_write.h"

#include "sim/core/json_write.h"
#include "sim/core/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUANTITY_CHARS = 64 };

/* Kept to five digits. */
static double rounded(double value)
{
    char digits[QUANTITY_CHARS];
    snprintf(digits, sizeof digits, "%.5g", value);
    return strtod(digits, NULL);
}

static void write_parameters(struct json_writer *json, const struct power_class_info *info, const double *values)
{
    json_write_open_row(json, "parameters", '{');
    for (size_t i = 0; i < info->n_params; i++) {
        char quantity[QUANTITY_CHARS];
        if (i < info->n_watts) {
            unit_format(rounded(values[i]), UNIT_POWER, quantity, sizeof quantity);
            json_write_string(json, info->params[i].name, quantity);
        } else {
            json_write_number(json, info->params[i].name, rounded(values[i]));
        }
    }
    json_write_close(json, '}');
}

static void write_at_bound(struct json_writer *json, const struct power_class_info *info, const double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < info->n_params; i++) {
        if (!fit_is_at_bound(&info->params[i], values[i])) continue;
        if (n++ == 0) json_write_open_row(json, "at_bound", '[');
        json_write_string(json, NULL, info->params[i].name);
    }
    if (n > 0) json_write_close(json, ']');
}

static void write_range(struct json_writer *json, const struct power_fitted *fitted)
{
    static const char *const axes[2] = {"compute", "memory"};
    json_write_open_row(json, "range", '{');
    for (int axis = 0; axis < 2; axis++) {
        json_write_open(json, axes[axis], '[');
        json_write_number(json, NULL, rounded(fitted->low[axis]));
        json_write_number(json, NULL, rounded(fitted->high[axis]));
        json_write_close(json, ']');
    }
    json_write_close(json, '}');
}

static void write_profiles(struct json_writer *json, const struct power_data *files, size_t n_files,
                           enum power_class class)
{
    json_write_open(json, "profiles", '[');
    for (size_t i = 0; i < n_files; i++) {
        const char *slash = strrchr(files[i].path, '/');
        if ((class == POWER_ACTIVITY ? files[i].n_rows : files[i].n_caps) == 0) continue;
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "file", slash != NULL ? slash + 1 : files[i].path);
        json_write_string(json, "hash", files[i].hash);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

/* To a hundredth of a percent. */
static void write_share(struct json_writer *json, const char *key, double share)
{
    json_write_number(json, key, rint(share * 1e4) / 1e4 + 0.0);
}

static void write_errors(struct json_writer *json, const char *key, const struct power_errors *errors)
{
    json_write_open(json, key, '{');
    for (size_t i = 0; i < errors->n; i++) {
        const struct fit_error *error = &errors->items[i].error;
        json_write_open_row(json, errors->items[i].name, '{');
        json_write_number(json, "rows", (double)error->rows);
        write_share(json, "median", error->median);
        write_share(json, "p90", error->p90);
        write_share(json, "worst", error->worst);
        write_share(json, "bias", error->bias);
        json_write_close(json, '}');
    }
    json_write_close(json, '}');
}

static void write_class(struct json_writer *json, enum power_class class, const struct power_data *files,
                        size_t n_files, const struct power_fitted *fitted)
{
    const struct power_class_info *info = power_class_info(class);
    if (fitted->rows == 0) return;
    json_write_open(json, info->name, '{');
    write_parameters(json, info, fitted->values);
    write_at_bound(json, info, fitted->values);
    if (class == POWER_ACTIVITY) write_range(json, fitted);
    json_write_number(json, "rows", (double)fitted->rows);
    write_profiles(json, files, n_files, class);
    write_errors(json, "fit", &fitted->fit);
    if (fitted->held_out.n > 0) {
        json_write_open(json, "held_out", '{');
        json_write_string(json, "by", info->held_out_by);
        write_errors(json, "error", &fitted->held_out);
        json_write_close(json, '}');
    }
    json_write_close(json, '}');
}

int power_write(const char *gpu, const char *like, const struct power_data *files, size_t n_files,
                const struct power_fitted *fitted, struct text *json)
{
    struct json_writer writer;
    json_writer_init(&writer, json);
    json_write_open(&writer, NULL, '{');
    json_write_string(&writer, "gpu", gpu);
    if (like != NULL) json_write_string(&writer, "like", like);
    for (int class = 0; class < POWER_CLASS_COUNT; class ++)
        write_class(&writer, (enum power_class) class, files, n_files, &fitted[class]);
    json_write_close(&writer, '}');
    text_add(json, "\n");
    return json->failed ? SIM_E_NOMEM : 0;
}
