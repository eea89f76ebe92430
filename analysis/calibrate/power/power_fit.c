#include "analysis/calibrate/power/power_fit.h"

#include "analysis/calibrate/power/power_baseline.h"
#include "analysis/calibrate/write.h"
#include "sim/core/path.h"
#include "sim/core/units.h"

#include <gsl/gsl_multimin.h>
#include <math.h>
#include <string.h>

/* Sites set limits of at least this share of the TDP (Zeus). */
static const double usual_cap_frac = 0.6;

#define PARAM(text, what, start, least, most)                                                                          \
    {.name = text, .help = what, .unit = PARAM_PLAIN, .initial = start, .low = least, .high = most}

static const struct kernel_param activity_params[POWER_ACTIVITY_PARAMS] = {
    [POWER_ACTIVE] = PARAM("active", "watts beside the idle power, kernels running", 60.0, 1.0, 1000.0),
    [POWER_COMPUTE] = PARAM("compute", "watts at peak FLOP/s", 600.0, 1.0, 20000.0),
    [POWER_MEMORY] = PARAM("memory", "watts at peak memory bandwidth", 300.0, 1.0, 5000.0),
    [POWER_ATTENTION] = PARAM("attention", "watts beside these, reading keys and values only", 100.0, 1.0, 5000.0),
    [POWER_WIDENING] = PARAM("widening", "watts, widened weights as fast as the memory", 50.0, 1.0, 5000.0),
};

static const struct kernel_param clock_params[POWER_CLOCK_PARAMS] = {
    [CLOCK_CONTEXT] = PARAM("context", "watts with a process and idle", 60.0, 10.0, 300.0),
    [CLOCK_ACTIVE] = PARAM("active", "watts beside these of kernels, that follow the clock", 150.0, 1.0, 1000.0),
    [CLOCK_MEMORY] = PARAM("memory", "watts of kernels that follow their speed", 30.0, 1.0, 500.0),
    [CLOCK_SHARE] = PARAM("clock_share", "share of the kernels' time that waits for the core", 0.6, 0.05, 1.0),
    [CLOCK_FLOOR] = PARAM("voltage_floor", "least voltage over the highest", 0.7, 0.3, 1.0),
    [CLOCK_KNEE] = PARAM("voltage_knee", "clock, over the highest, below which voltage stays", 0.5, 0.1, 0.99),
};

static const struct power_class_info classes[POWER_CLASS_COUNT] = {
    [POWER_ACTIVITY] = {"activity", "group", POWER_ACTIVITY_PARAMS, activity_params, POWER_ACTIVITY_PARAMS},
    [POWER_CLOCK] = {"clock", "job", POWER_CLOCK_PARAMS, clock_params, CLOCK_MEMORY + 1},
};

const struct power_class_info *power_class_info(enum power_class class)
{
    return &classes[class];
}

/* The law that values of a class make on a GPU. */
static struct power_model power_model_of(enum power_class class, const double *values, const struct gpu_spec *gpu)
{
    if (class == POWER_ACTIVITY)
        return (struct power_model){.context_w = gpu->context_w, .limit_w = gpu->tdp_w,
                                    .active_w = values[POWER_ACTIVE], .compute_w = values[POWER_COMPUTE],
                                    .memory_w = values[POWER_MEMORY], .attention_w = values[POWER_ATTENTION],
                                    .widening_w = values[POWER_WIDENING], .voltage_floor = 1.0};
    return (struct power_model){.context_w = values[CLOCK_CONTEXT], .limit_w = (double)INFINITY,
                                .active_w = values[CLOCK_ACTIVE], .memory_w = values[CLOCK_MEMORY],
                                .voltage_floor = values[CLOCK_FLOOR], .voltage_knee = values[CLOCK_KNEE]};
}

/* Watts of a row, by its phases. */
static double power_row_w(const struct power_model *model, const struct power_row *row)
{
    double watts = 0.0;
    for (size_t i = 0; i < row->n_phases; i++)
        watts += row->phases[i].time_frac * power_draw_w(model, &row->phases[i].load);
    return watts;
}

static struct power_state cap_state(const double *values, const struct power_cap_row *row, const struct gpu_spec *gpu)
{
    const struct power_model model = power_model_of(POWER_CLOCK, values, gpu);
    return power_job_under_cap(&model, values[CLOCK_SHARE], row->uncapped_w, row->cap_w);
}

/* --- The minimum of a function of a few bounded parameters --- */

struct search {
    const struct kernel_param *params; /* [n], 0 < low < high */
    size_t n;                          /* at most POWER_CLOCK_PARAMS */
    double (*loss)(const void *context, const double *values);
    const void *context;
};

enum { STEPS = 4000, STARTS = 5, RESTARTS = 3 };

static const double step = 0.7, tolerance = 1e-6;

/* The value at z: its logarithm runs between those of the bounds as the logistic function of z. */
static double value_at(const struct kernel_param *param, double z)
{
    return param->low * pow(param->high / param->low, 1.0 / (1.0 + exp(-z)));
}

static double place_of(const struct kernel_param *param, double value)
{
    const double place = log(value / param->low) / log(param->high / param->low);
    return log(place / (1.0 - place));
}

/* Sets the values that are searched; later ones keep theirs. */
static void take_values(const struct search *search, const gsl_vector *at, double *values)
{
    for (size_t i = 0; i < search->n; i++) values[i] = value_at(&search->params[i], gsl_vector_get(at, i));
}

static double loss_at(const gsl_vector *at, void *context)
{
    const struct search *search = context;
    double values[POWER_CLOCK_PARAMS] = {0};
    take_values(search, at, values);
    return search->loss(search->context, values);
}

/* Start 0 is the initial values; in the others, parameters are shifted to alternate sides of them. */
static void set_start(const struct search *search, int start, gsl_vector *at)
{
    for (size_t i = 0; i < search->n; i++) {
        const double side = (i + (size_t)start) % 2 == 0 ? 1.0 : -1.0, far = start > 2 ? 2.0 : 1.0;
        gsl_vector_set(at, i, place_of(&search->params[i], search->params[i].initial) + (start > 0 ? side * far : 0.0));
    }
}

/* Descends from `at`, RESTARTS times with a fresh simplex. Returns the least loss. */
static double descend(gsl_multimin_fminimizer *simplex, gsl_multimin_function *function, gsl_vector *at,
                      gsl_vector *size)
{
    for (int i = 0; i < RESTARTS; i++) {
        gsl_vector_set_all(size, step);
        gsl_multimin_fminimizer_set(simplex, function, at, size);
        for (int k = 0; k < STEPS; k++) {
            if (gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS) break;
            if (gsl_multimin_fminimizer_size(simplex) < tolerance) break;
        }
        gsl_vector_memcpy(at, simplex->x);
    }
    return simplex->fval;
}

/* Sets values[n] to the minimum. Returns 0 or SIM_E_NOMEM. */
static int search_run(const struct search *search, double *values)
{
    gsl_multimin_fminimizer *simplex = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, search->n);
    gsl_vector *at = gsl_vector_alloc(search->n), *size = gsl_vector_alloc(search->n);
    struct search copy = *search;
    gsl_multimin_function function = {loss_at, search->n, &copy};
    double least = (double)INFINITY;
    const int code = simplex != NULL && at != NULL && size != NULL ? 0 : SIM_E_NOMEM;
    for (int start = 0; code == 0 && start < STARTS; start++) {
        set_start(search, start, at);
        const double loss = descend(simplex, &function, at, size);
        if (!(loss < least)) continue;
        least = loss;
        take_values(search, at, values);
    }
    if (simplex != NULL) gsl_multimin_fminimizer_free(simplex);
    if (at != NULL) gsl_vector_free(at);
    if (size != NULL) gsl_vector_free(size);
    return code;
}

/* --- Rows of all files --- */

struct rows {
    const struct gpu_spec *gpu;
    struct power_row *rows;
    struct power_cap_row *caps;
    size_t n_rows, n_caps;
    const char *held_out; /* a group; NULL: none */
    size_t n_params;      /* of activity that these rows tell apart */
};

static int join(const struct power_data *files, size_t n_files, struct arena *arena, struct rows *all)
{
    size_t n_rows = 0, n_caps = 0, first_job = 0;
    for (size_t i = 0; i < n_files; i++) {
        n_rows += files[i].n_rows;
        n_caps += files[i].n_caps;
    }
    all->rows = arena_alloc(arena, (n_rows + 1) * sizeof *all->rows);
    all->caps = arena_alloc(arena, (n_caps + 1) * sizeof *all->caps);
    if (all->rows == NULL || all->caps == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n_files; first_job += files[i++].n_jobs) {
        for (size_t k = 0; k < files[i].n_rows; k++) all->rows[all->n_rows++] = files[i].rows[k];
        for (size_t k = 0; k < files[i].n_caps; k++) {
            all->caps[all->n_caps] = files[i].caps[k];
            all->caps[all->n_caps++].job += first_job;
        }
    }
    return 0;
}

static double soft_square(double predicted, double measured)
{
    const double root = fit_soft_l1_root(log(predicted / measured));
    return root * root;
}

static double activity_loss(const void *context, const double *values)
{
    const struct rows *all = context;
    const struct power_model model = power_model_of(POWER_ACTIVITY, values, all->gpu);
    double sum = 0.0;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct power_row *row = &all->rows[i];
        if (all->held_out != NULL && strcmp(row->group, all->held_out) == 0) continue;
        sum += soft_square(power_row_w(&model, row), row->measured_w);
    }
    return sum;
}

static bool is_for_fit(const struct power_cap_row *row)
{
    return row->job % 2 == 0;
}

static double clock_loss(const void *context, const double *values)
{
    const struct rows *all = context;
    double sum = 0.0;
    for (size_t i = 0; i < all->n_caps; i++) {
        const struct power_cap_row *row = &all->caps[i];
        if (!is_for_fit(row)) continue;
        const struct power_state state = cap_state(values, row, all->gpu);
        sum += soft_square(1.0 / state.speed_frac, row->slowdown) + soft_square(state.power_w, row->measured_w);
    }
    return sum;
}

/* --- Errors --- */

static void add_error(struct power_errors *errors, const char *name, double *values, size_t n)
{
    if (n == 0 || errors->n == POWER_MAX_ERRORS) return;
    errors->items[errors->n++] = (struct power_error){name, fit_error_of(values, n)};
}

/* The errors of the rows of a group and a part; NULL: of all groups, or all parts. */
static void add_activity_errors(const struct rows *all, const double *values, const char *group, const char *part,
                                double *scratch, struct power_errors *errors)
{
    const struct power_model model = power_model_of(POWER_ACTIVITY, values, all->gpu);
    size_t n = 0;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct power_row *row = &all->rows[i];
        if ((group != NULL && strcmp(row->group, group) != 0) || (part != NULL && strcmp(row->part, part) != 0))
            continue;
        scratch[n++] = power_row_w(&model, row) / row->measured_w - 1.0;
    }
    add_error(errors, group != NULL ? group : part != NULL ? part : "all", scratch, n);
}

/* Whether no earlier row has the part, or else the group, of row i. */
static bool is_first(const struct rows *all, size_t i, bool by_part)
{
    size_t first = 0;
    const char *text = by_part ? all->rows[i].part : all->rows[i].group;
    while (strcmp(by_part ? all->rows[first].part : all->rows[first].group, text) != 0) first++;
    return first == i;
}

/* Errors of the slowdown by caps, absolute (0.05: five points of the uncapped time), and of the power, relative. */
static void add_clock_errors(const struct rows *all, const double *values, bool for_fit, double *scratch,
                             struct power_errors *errors)
{
    static const char *const names[] = {"all", "slowdown", "slowdown-low-caps", "power"};
    for (int what = 0; what < 4; what++) {
        size_t n = 0;
        for (size_t i = 0; i < all->n_caps; i++) {
            const struct power_cap_row *row = &all->caps[i];
            const bool is_usual = row->cap_w >= usual_cap_frac * all->gpu->tdp_w - 1e-9;
            if (is_for_fit(row) != for_fit || (what < 3 && is_usual != (what < 2))) continue;
            const struct power_state state = cap_state(values, row, all->gpu);
            scratch[n++] = what < 3 ? 1.0 / state.speed_frac - row->slowdown : state.power_w / row->measured_w - 1.0;
        }
        add_error(errors, names[what], scratch, n);
    }
}

/* --- The two fits --- */

static void add_range(const struct rows *all, struct power_fitted *fitted)
{
    for (int axis = 0; axis < 2; axis++) fitted->low[axis] = (double)INFINITY;
    for (size_t i = 0; i < all->n_rows; i++) {
        for (size_t k = 0; k < all->rows[i].n_phases; k++) {
            const struct power_load *load = &all->rows[i].phases[k].load;
            const double shares[2] = {load->compute_frac, load->memory_frac};
            for (int axis = 0; axis < 2; axis++) {
                fitted->low[axis] = fmin(fitted->low[axis], shares[axis]);
                fitted->high[axis] = fmax(fitted->high[axis], shares[axis]);
            }
        }
    }
}

/* The errors of every group with the values fitted to the other groups, and of all groups together. */
static int hold_out(struct rows *all, const struct search *search, double *scratch, struct power_errors *errors)
{
    double *together = scratch + all->n_rows, values[POWER_CLOCK_PARAMS] = {0};
    size_t n = 0;
    int code = 0;
    errors->n = 1;
    for (size_t i = 0; i < all->n_rows && code == 0; i++) {
        if (!is_first(all, i, false)) continue;
        all->held_out = all->rows[i].group;
        code = search_run(search, values);
        const struct power_model model = power_model_of(POWER_ACTIVITY, values, all->gpu);
        for (size_t k = i; k < all->n_rows; k++)
            if (strcmp(all->rows[k].group, all->held_out) == 0)
                together[n++] = power_row_w(&model, &all->rows[k]) / all->rows[k].measured_w - 1.0;
        if (code == 0) add_activity_errors(all, values, all->held_out, NULL, scratch, errors);
    }
    all->held_out = NULL;
    errors->items[0] = (struct power_error){"all", fit_error_of(together, n)};
    if (errors->n < 3) errors->n = 0; /* a single group: no other rows to fit */
    return code;
}

/* The errors of the baselines on the same held-out rows. */
static void add_baselines(const struct rows *all, double *scratch, struct power_errors *errors)
{
    if (errors->n == 0) return;
    for (int i = 0; i < BASELINES; i++) {
        const enum power_baseline baseline = (enum power_baseline)i;
        if (!power_baseline_applies(baseline, all->rows, all->n_rows)) continue;
        power_baseline_errors(baseline, all->rows, all->n_rows, scratch);
        add_error(errors, power_baseline_name(baseline), scratch, all->n_rows);
    }
}

/* Rows that stay below this share of the peak say little of the power at it: then the board bounds that power. */
static const double near_peak_frac = 0.25;

/* Whether any row of the group of row i has the part of the load. */
static bool group_has(const struct rows *all, size_t i, bool is_widening)
{
    for (size_t k = 0; k < all->n_rows; k++) {
        if (strcmp(all->rows[k].group, all->rows[i].group) != 0) continue;
        for (size_t phase = 0; phase < all->rows[k].n_phases; phase++) {
            const struct power_load *load = &all->rows[k].phases[phase].load;
            if ((is_widening ? load->widening_frac : load->attention_frac) > 0.0) return true;
        }
    }
    return false;
}

/* How many of the first parameters these rows tell apart: what a single group says of a term is no law. */
static size_t params_to_fit(const struct rows *all)
{
    enum { LEAST_ATTENTION = 3, LEAST_WIDENING = 2 };
    size_t attention = 0, widening = 0;
    for (size_t i = 0; i < all->n_rows; i++) {
        if (!is_first(all, i, false)) continue;
        attention += group_has(all, i, false);
        widening += group_has(all, i, true);
    }
    if (attention < LEAST_ATTENTION) return POWER_ATTENTION;
    return widening < LEAST_WIDENING || gpu_multiplies_blocks(all->gpu) ? POWER_WIDENING : POWER_ACTIVITY_PARAMS;
}

/* The bounds of a fit to these rows. */
static void bound_by_board(const struct rows *all, struct kernel_param params[POWER_ACTIVITY_PARAMS])
{
    memcpy(params, activity_params, sizeof activity_params);
    for (size_t i = 0; i < all->n_rows; i++)
        for (size_t k = 0; k < all->rows[i].n_phases && !all->rows[i].is_assumed; k++)
            if (all->rows[i].phases[k].load.compute_frac >= near_peak_frac) return;
    for (int i = 0; i < POWER_ACTIVITY_PARAMS; i++) {
        params[i].high = fmin(params[i].high, all->gpu->tdp_w - all->gpu->context_w);
        params[i].initial = fmin(params[i].initial, 0.5 * params[i].high);
    }
}

static int fit_activity(struct rows *all, double *scratch, struct power_fitted *fitted)
{
    struct kernel_param params[POWER_ACTIVITY_PARAMS];
    add_range(all, fitted);
    bound_by_board(all, params);
    all->n_params = fitted->n_params = params_to_fit(all);
    const struct search search = {params, all->n_params, activity_loss, all};
    int code = search_run(&search, fitted->values);
    if (code != 0) return code;
    add_activity_errors(all, fitted->values, NULL, NULL, scratch, &fitted->fit);
    for (size_t i = 0; i < all->n_rows; i++)
        if (is_first(all, i, true))
            add_activity_errors(all, fitted->values, NULL, all->rows[i].part, scratch, &fitted->fit);
    for (int i = 0; i < POWER_ACTIVITY_PARAMS; i++) fitted->high_w[i] = params[i].high;
    code = hold_out(all, &search, scratch, &fitted->held_out);
    if (code == 0) add_baselines(all, scratch, &fitted->held_out);
    return code;
}

static int fit_clock(struct rows *all, double *scratch, struct power_fitted *fitted)
{
    fitted->n_params = POWER_CLOCK_PARAMS;
    const struct search search = {clock_params, POWER_CLOCK_PARAMS, clock_loss, all};
    const int code = search_run(&search, fitted->values);
    if (code != 0) return code;
    add_clock_errors(all, fitted->values, true, scratch, &fitted->fit);
    add_clock_errors(all, fitted->values, false, scratch, &fitted->held_out);
    return 0;
}

int power_fit(enum power_class class, const struct power_data *files, size_t n_files, const struct gpu_spec *gpu,
              struct arena *arena, struct power_fitted *fitted)
{
    struct rows all = {.gpu = gpu};
    memset(fitted, 0, sizeof *fitted);
    const int code = join(files, n_files, arena, &all);
    if (code != 0) return code;
    double *scratch = arena_alloc(arena, (2 * all.n_rows + all.n_caps + 1) * sizeof *scratch);
    if (scratch == NULL) return SIM_E_NOMEM;
    fitted->rows = (int64_t)(class == POWER_ACTIVITY ? all.n_rows : all.n_caps);
    if (fitted->rows == 0) return 0;
    return class == POWER_ACTIVITY ? fit_activity(&all, scratch, fitted) : fit_clock(&all, scratch, fitted);
}

/* --- The file --- */

enum { DIGITS = 5 };

static void write_parameters(struct json_writer *json, const struct power_class_info *info,
                             const struct power_fitted *fitted)
{
    json_write_open_row(json, "parameters", '{');
    for (size_t i = 0; i < fitted->n_params; i++)
        calibration_write_value(json, info->params[i].name, fitted->values[i], DIGITS,
                                i < info->n_watts ? UNIT_POWER : UNIT_NONE);
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
    write_parameters(json, info, fitted);
    struct kernel_param bounded[POWER_CLOCK_PARAMS];
    memcpy(bounded, info->params, fitted->n_params * sizeof *bounded);
    for (size_t i = 0; class == POWER_ACTIVITY && i < fitted->n_params; i++) bounded[i].high = fitted->high_w[i];
    calibration_write_at_bound(json, bounded, fitted->n_params, fitted->values);
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
