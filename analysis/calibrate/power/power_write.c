#include "analysis/calibrate/power/power_write.h"

#include "analysis/calibrate/write.h"
#include "sim/core/path.h"
#include "sim/core/units.h"

enum { QUANTITY_CHARS = 64, DIGITS = 5 };

static void write_parameters(struct json_writer *json, const struct power_class_info *info, const double *values)
{
    json_write_open_row(json, "parameters", '{');
    for (size_t i = 0; i < info->n_params; i++) {
        char quantity[QUANTITY_CHARS];
        if (i < info->n_watts) {
            unit_format(calibration_round(values[i], DIGITS), UNIT_POWER, quantity, sizeof quantity);
            json_write_string(json, info->params[i].name, quantity);
        } else {
            json_write_number(json, info->params[i].name, calibration_round(values[i], DIGITS));
        }
    }
    json_write_close(json, '}');
}

static void write_range(struct json_writer *json, const struct power_fitted *fitted)
{
    static const char *const axes[2] = {"compute", "memory"};
    json_write_open_row(json, "range", '{');
    for (int axis = 0; axis < 2; axis++) {
        json_write_open(json, axes[axis], '[');
        json_write_number(json, NULL, calibration_round(fitted->low[axis], DIGITS));
        json_write_number(json, NULL, calibration_round(fitted->high[axis], DIGITS));
        json_write_close(json, ']');
    }
    json_write_close(json, '}');
}

static void write_profiles(struct json_writer *json, const struct power_data *files, size_t n_files,
                           enum power_class class)
{
    json_write_open(json, "profiles", '[');
    for (size_t i = 0; i < n_files; i++) {
        if ((class == POWER_ACTIVITY ? files[i].n_rows : files[i].n_caps) == 0) continue;
        json_write_open_row(json, NULL, '{');
        json_write_string(json, "file", path_name(files[i].path));
        json_write_string(json, "hash", files[i].hash);
        json_write_close(json, '}');
    }
    json_write_close(json, ']');
}

static void write_errors(struct json_writer *json, const char *key, const struct power_errors *errors)
{
    json_write_open(json, key, '{');
    for (size_t i = 0; i < errors->n; i++)
        calibration_write_error(json, errors->items[i].name, &errors->items[i].error);
    json_write_close(json, '}');
}

static void write_class(struct json_writer *json, enum power_class class, const struct power_data *files,
                        size_t n_files, const struct power_fitted *fitted)
{
    const struct power_class_info *info = power_class_info(class);
    if (fitted->rows == 0) return;
    json_write_open(json, info->name, '{');
    write_parameters(json, info, fitted->values);
    calibration_write_at_bound(json, info->params, info->n_params, fitted->values);
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
