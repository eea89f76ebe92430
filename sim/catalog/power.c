#include "sim/catalog/power.h"

#include "sim/catalog/shelf.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define WATTS(key, member, what) ROW_QUANTITY(key, member, UNIT_POWER, REQUIRED, WITHIN(DBL_MIN, 1e5), what)
#define MORE_WATTS(key, member, what) ROW_QUANTITY(key, member, UNIT_POWER, DEFAULT("0W"), WITHIN(0, 1e5), what)
#define SHARE(key, member, what) ROW_REAL(key, member, REQUIRED, WITHIN(0, 1), what)

#define ROW_OF struct power_file
/* Sections hold no struct of their own: offsets are from the start of struct power_file. */
static const struct config_field activity_parameters[] = {
    WATTS("active", active_w, "kernels running, beside the idle power with a process"),
    WATTS("compute", compute_w, "at peak FLOP/s, beside these"),
    WATTS("memory", memory_w, "at peak memory bandwidth, beside these"),
    MORE_WATTS("attention", attention_w, "where all of the bandwidth reads keys and values, beside these"),
    MORE_WATTS("widening", widening_w, "where widened weights per second would fill the bandwidth, beside these"),
    {0},
};

static const struct config_field clock_parameters[] = {
    WATTS("context", clock.context_w, "with a process and idle"),
    WATTS("active", clock.active_w, "kernels of training, what follows the clock"),
    WATTS("memory", clock.memory_w, "kernels of training, what follows their speed"),
    SHARE("clock_share", clock_share, "share of the kernels' time that waits for the core"),
    SHARE("voltage_floor", clock.voltage_floor, "least voltage over the highest"),
    SHARE("voltage_knee", clock.voltage_knee, "clock, over the highest, below which the voltage stays"),
    {0},
};

static const struct config_field limit_fields[] = {{.kind = CONFIG_REAL, .help = "lowest, highest"}, {0}};
static const struct config_field name_fields[] = {{.kind = CONFIG_TEXT, .help = "name of a parameter"}, {0}};

static const struct config_field range_fields[] = {
    ROW_LIST("compute", compute_range, OPTIONAL, WITHIN(2, 2), double, limit_fields,
             "achieved shares of the peak FLOP/s"),
    ROW_LIST("memory", memory_range, OPTIONAL, WITHIN(2, 2), double, limit_fields,
             "achieved shares of the peak memory bandwidth"),
    {0},
};

#define PART(part, parameters)                                                                                         \
    {.name = "parameters", .kind = CONFIG_SECTION, .flags = CONFIG_REQUIRED, .fields = parameters,                     \
     .help = "fitted parameters"},                                                                                \
    ROW_LIST("at_bound", part.at_bound, OPTIONAL, ANY, const char *, name_fields,                                      \
             "parameters that a bound of the fit determines, not the rows"),                                           \
    ROW_INT("rows", part.rows, REQUIRED, AT_LEAST(1), "measurements"),                                                 \
    ROW_LIST("profiles", part.profiles, OPTIONAL, ANY, struct calibration_profile, calibration_profile_fields,         \
             "files they come from"),                                                                                  \
    ROW_MAP("fit", part.fit, OPTIONAL, ANY, struct calibration_error, calibration_error_fields,                        \
            "the error that is left"),                                                                                 \
    ROW_SECTION("held_out", part.held_out, OPTIONAL, calibration_held_out_fields,                                      \
                "error on data left out of the fit")

static const struct config_field activity_fields[] = {
    PART(activity, activity_parameters),
    {.name = "range", .kind = CONFIG_SECTION, .flags = CONFIG_REQUIRED, .fields = range_fields,
     .help = "loads that were fitted"},
    {0},
};

static const struct config_field clock_fields[] = {PART(clock_part, clock_parameters), {0}};

static const struct config_field file_fields[] = {
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 256), "GPU of the catalog"),
    ROW_TEXT("like", like, OPTIONAL, WITHIN(1, 256),
             "a GPU with the same chip, used for what was not measured"),
    {.name = "activity", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .fields = activity_fields,
     .help = "power by achieved load, at the highest clock"},
    {.name = "clock", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .fields = clock_fields,
     .help = "power and speed by the clock"},
    {0},
};
#undef ROW_OF

int power_file_read(const struct catalog *catalog, const char *path, struct arena *arena, struct power_file *file,
                    struct diag *diag)
{
    memset(file, 0, sizeof *file);
    const int code = shelf_bind(catalog, path, file_fields, arena, file, sizeof *file, diag);
    file->clock.limit_w = (double)INFINITY;
    return code;
}

/* The file of a GPU by name; *found tells whether there is one. */
static int read_own(const struct catalog *catalog, const char *gpu, struct arena *arena, struct power_file *file,
                    bool *found, struct diag *diag)
{
    const char *path = arena_printf(arena, "%s/calibration/power/%s.json", catalog->root, gpu);
    if (path == NULL) return diag_nomem(diag);
    *found = access(path, R_OK) == 0;
    return *found ? power_file_read(catalog, path, arena, file, diag) : 0;
}

/* The first error of a list is that over all rows. */
static double p90_of(const struct power_part *part)
{
    const struct calibration_error *errors = part->held_out.error.items;
    return part->held_out.error.n > 0 ? errors[0].p90 : (double)NAN;
}

static void take_activity(const struct power_file *file, const struct gpu_spec *gpu, double compute_ratio,
                          double memory_ratio, struct gpu_power *power)
{
    const double *compute = file->compute_range.items, *memory = file->memory_range.items;
    power->from = file->gpu;
    power->p90_error = p90_of(&file->activity);
    power->model.context_w = gpu->context_w;
    power->model.limit_w = gpu->tdp_w;
    power->model.active_w = file->active_w;
    power->model.compute_w = file->compute_w * compute_ratio;
    power->model.memory_w = file->memory_w * memory_ratio;
    power->model.attention_w = file->attention_w * memory_ratio;
    power->model.widening_w = file->widening_w * memory_ratio;
    for (int i = 0; i < 2; i++) {
        power->compute_range[i] = compute[i];
        power->memory_range[i] = memory[i];
    }
}

static int take_alike(const struct catalog *catalog, const char *like, const struct gpu_spec *gpu, struct arena *arena,
                      struct gpu_power *power, struct diag *diag)
{
    struct power_file file;
    struct gpu_spec other;
    bool found = false;
    int code = read_own(catalog, like, arena, &file, &found, diag);
    if (code != 0 || !found || file.activity.rows == 0) return code;
    code = catalog_gpu(catalog, like, NULL, arena, &other, diag);
    if (code != 0) return code;
    take_activity(&file, gpu, gpu_peak_flop_per_s(gpu, FORMAT_FP16) / gpu_peak_flop_per_s(&other, FORMAT_FP16),
                  gpu->memory_bytes_per_s / other.memory_bytes_per_s, power);
    return 0;
}

/* `file` is NULL where the GPU has none. */
static int find_law(const struct catalog *catalog, const struct gpu_spec *gpu, const struct power_file *file,
                    struct arena *arena, struct gpu_power *power, struct diag *diag)
{
    int code = 0;
    if (file == NULL) return 0;
    if (file->clock_part.rows > 0) {
        power->model.voltage_floor = file->clock.voltage_floor;
        power->model.voltage_knee = file->clock.voltage_knee;
    }
    if (isnan(gpu->context_w)) {
        power->problem = "its idle power with a process (context_power) is not known";
        return 0;
    }
    power->is_measured = file->activity.rows > 0;
    if (power->is_measured)
        take_activity(file, gpu, 1.0, 1.0, power);
    else if (file->like != NULL)
        code = take_alike(catalog, file->like, gpu, arena, power, diag);
    else
        power->problem = "only sweeps of its power limit were measured";
    return code;
}

static const struct shelf powers = {"calibration/power", "GPU with power", "ls configs/calibration/power", NULL, NULL};

static bool is_of_generation(const struct gpu_spec *a, const struct gpu_spec *b)
{
    const size_t n = strcspn(a->architecture, " ");
    return n == strcspn(b->architecture, " ") && strncmp(a->architecture, b->architecture, n) == 0;
}

/* How far a GPU is from another: first by generation, then by TDP. */
static double distance(const struct gpu_spec *gpu, const struct gpu_spec *other)
{
    return fabs(log(other->tdp_w / gpu->tdp_w)) + (is_of_generation(gpu, other) ? 0.0 : 100.0);
}

/* What is only looked at is not among the files of the run. */
static int find_nearest(const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                        struct gpu_power *power, struct diag *diag)
{
    const struct catalog looked_at = {.root = catalog->root, .memory = catalog->memory};
    struct catalog_names names;
    double least = (double)INFINITY;
    const char *folder = arena_printf(arena, "%s/%s", catalog->root, powers.folder);
    if (folder == NULL) return diag_nomem(diag);
    if (access(folder, R_OK) != 0) return 0;
    int code = shelf_list(&looked_at, &powers, arena, &names, diag);
    for (size_t i = 0; i < names.n && code == 0; i++) {
        struct power_file file = {0};
        struct gpu_spec other;
        bool found = false;
        code = read_own(&looked_at, names.names[i], arena, &file, &found, diag);
        if (code == 0) code = catalog_gpu(&looked_at, names.names[i], NULL, arena, &other, diag);
        if (code != 0 || file.activity.rows == 0 || other.vendor != gpu->vendor || distance(gpu, &other) >= least)
            continue;
        least = distance(gpu, &other);
        power->nearest = names.names[i];
    }
    return code;
}

int catalog_gpu_power(const struct catalog *catalog, const struct gpu_spec *gpu, struct arena *arena,
                      struct gpu_power *power, struct diag *diag)
{
    const double nan = (double)NAN;
    struct power_file file = {0};
    bool found = false;
    *power = (struct gpu_power){.model = {nan, nan, nan, nan, nan, nan, nan, nan, nan}, .p90_error = nan,
                                .problem = "it was not measured"};
    int code = read_own(catalog, gpu->name, arena, &file, &found, diag);
    if (code == 0) code = find_law(catalog, gpu, found ? &file : NULL, arena, power, diag);
    return code != 0 || power->from != NULL ? code : find_nearest(catalog, gpu, arena, power, diag);
}

int catalog_power_voltage(const struct catalog *catalog, const char *gpu, const char *where, struct arena *arena,
                          struct power_model *model, struct diag *diag)
{
    struct power_file file;
    bool found = false;
    int code = read_own(catalog, gpu, arena, &file, &found, diag);
    if (code != 0) return code;
    if (!found || file.clock_part.rows == 0)
        return diag_error(diag, SIM_E_CONFIG, where, "take \"v100-32-pcie\", \"a40\" or \"p100\"",
                          "the power limit of '%s' was not swept, so its voltage by clock is not known", gpu);
    model->voltage_floor = file.clock.voltage_floor;
    model->voltage_knee = file.clock.voltage_knee;
    return 0;
}
