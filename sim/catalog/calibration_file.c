#include "sim/catalog/calibration_file.h"

#include "sim/catalog/calibration_table.h"

#include <stddef.h>
#include <string.h>

/* --- Tables that no class has a part in --- */

#define SHARE(key, member, least, what) ROW_REAL(key, member, REQUIRED, AT_LEAST(least), what)

#define ROW_OF struct calibration_error
const struct config_field calibration_error_fields[] = {
    ROW_INT("rows", rows, REQUIRED, AT_LEAST(0), "measurements"),
    SHARE("median", median, 0.0, "median of |predicted / measured - 1|"),
    SHARE("p90", p90, 0.0, "90th percentile of |predicted / measured - 1|"),
    SHARE("worst", worst, 0.0, "maximum of |predicted / measured - 1|"),
    SHARE("bias", bias, -1.0, "median of predicted / measured - 1"),
    {0},
};
#undef ROW_OF

#define ERRORS(key, member, what)                                                                                      \
    ROW_MAP(key, member, OPTIONAL, ANY, struct calibration_error, calibration_error_fields, what)

#define ROW_OF struct calibration_held_out
const struct config_field calibration_held_out_fields[] = {
    ROW_TEXT("by", by, REQUIRED, WITHIN(1, 100), "what the rows of one fold have in common"),
    ERRORS("error", error, "error on rows that the fit has not seen, over bands and operators"),
    ERRORS("folds", folds, "error of each fold"),
    ERRORS("roofline", roofline, "error of a plain roofline, fitted in the same way"),
    ERRORS("layer_sum", layer_sum, "error of the products of a layer taken together"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct calibration_profile
const struct config_field calibration_profile_fields[] = {
    ROW_TEXT("file", file, REQUIRED, WITHIN(1, 1000), "name of the file"),
    ROW_TEXT("hash", hash, REQUIRED, WITHIN(1, 100), "XXH3-128 of the file"),
    {0},
};
#undef ROW_OF

static const struct config_field name_fields[] = {{.kind = CONFIG_TEXT, .help = "name of a parameter"}, {0}};
static const struct config_field limit_fields[] = {{.kind = CONFIG_REAL, .help = "lowest, highest"}, {0}};

/* --- Tables made from the description of a class --- */

static struct config_field *make_table(struct arena *arena, size_t n)
{
    return arena_alloc(arena, (n + 1) * sizeof(struct config_field)); /* ends with a zero field */
}

static const struct config_field *parameter_fields(const struct kernel_class_info *info, struct arena *arena)
{
    struct config_field *fields = make_table(arena, info->n_params);
    for (size_t i = 0; fields && i < info->n_params; i++) {
        const struct kernel_param *param = &info->params[i];
        const bool is_time = param->unit == PARAM_SECONDS, may_lack = param->stage != PARAM_FITTED;
        fields[i] = (struct config_field){.name = param->name, .kind = is_time ? CONFIG_QUANTITY : CONFIG_REAL,
                                          .flags = may_lack ? 0 : CONFIG_REQUIRED,
                                          .value = may_lack ? (is_time ? "0s" : "0") : NULL, .dim = is_time ? UNIT_TIME : UNIT_NONE,
                                          .offset = i * sizeof(double), .min = may_lack ? 0.0 : param->low, .max = param->high,
                                          .help = param->help};
    }
    return fields;
}

/* A file without it knows of no sequences among prompts: 0 to 0. */
static bool may_lack_axis(const char *axis)
{
    return strcmp(axis, "decode_context") == 0;
}

static const struct config_field *range_fields(const struct kernel_class_info *info, struct arena *arena)
{
    struct config_field *fields = make_table(arena, info->n_axes);
    for (size_t i = 0; fields && i < info->n_axes; i++)
        fields[i] = (struct config_field){.name = info->axes[i], .kind = CONFIG_LIST,
                                          .flags = may_lack_axis(info->axes[i]) ? 0 : CONFIG_REQUIRED,
                                          .offset = i * sizeof(struct config_list), .fields = limit_fields, .min = 2,
                                          .max = 2, .elem_bytes = sizeof(double),
                                          .help = "lowest and highest value that was fitted"};
    return fields;
}

/* Pairs of formats; a list that is always empty where the class has none. */
static const struct config_field *format_fields(const struct kernel_class_info *info, struct arena *arena)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME) NULL};
#undef FORMAT_NAME
    const struct config_field stored = {.name = info->stored, .kind = CONFIG_CHOICE, .flags = CONFIG_REQUIRED,
                                        .offset = offsetof(struct kernel_formats, stored), .choices = names,
                                        .help = "format of what is stored"};
    struct config_field *fields = make_table(arena, 2);
    if (!fields || !info->stored) return fields;
    fields[0] = fields[1] = stored;
    fields[1].name = "compute";
    fields[1].offset = offsetof(struct kernel_formats, compute);
    fields[1].help = "format of computing";
    return fields;
}

static const struct config_field *class_fields(enum kernel_class class, struct arena *arena)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    const struct config_field *parameters = parameter_fields(info, arena), *range = range_fields(info, arena);
    const struct config_field *shape = calibration_shape_fields(class, arena), *formats = format_fields(info, arena);
#define ROW_OF struct calibration_class
    const struct config_field fields[] = {
        ROW_SECTION("parameters", params, REQUIRED, parameters, "fitted parameters"),
        ROW_LIST("at_bound", at_bound, OPTIONAL, ANY, const char *, name_fields,
                 "parameters that a bound of the fit determines, not the rows"),
        ROW_TEXT("law", law, OPTIONAL, WITHIN(1, 1000),
                 "whose parameters and range these are, where the rows were too few to fit any"),
        ROW_SECTION("range", limits, OPTIONAL, range, "shapes that were fitted"),
        ROW_LIST("formats", formats, OPTIONAL, ANY, struct kernel_formats, formats,
                 "formats that were fitted; others are out of range"),
        ROW_LIST("table", table, OPTIONAL, ANY, struct calibration_shape, shape,
                 "measured points that correct the model"),
        ROW_INT("rows", rows, REQUIRED, AT_LEAST(1), "measurements that were fitted"),
        ROW_LIST("measured_with", measured_with, OPTIONAL, ANY, struct library_release, library_release_fields,
                 "libraries whose kernels were measured, by version and year"),
        ROW_LIST("profiles", profiles, OPTIONAL, ANY, struct calibration_profile, calibration_profile_fields,
                 "files they come from"),
        ERRORS("fit", fit, "the error that is left, over bands and operators"),
        ROW_SECTION("held_out", held_out, OPTIONAL, calibration_held_out_fields, "error on data left out of the fit"),
        ROW_BOOL("writes_kv", writes_kv, DEFAULT("false"),
                 "whether attention was measured together with writing the cache"),
    };
#undef ROW_OF
    const bool is_attention = class == KERNEL_PREFILL_ATTENTION || class == KERNEL_DECODE_ATTENTION;
    const size_t n = sizeof fields / sizeof *fields - (is_attention ? 0 : 1); /* the last one is of attention */
    struct config_field *table = make_table(arena, n);
    if (!table || !parameters || !range || !shape || !formats) return NULL;
    memcpy(table, fields, n * sizeof *fields);
    return table;
}

/* Of a set: one section per class. */
static const struct config_field *set_fields(struct arena *arena)
{
    struct config_field *fields = make_table(arena, KERNEL_CLASS_COUNT);
    for (size_t i = 0; fields && i < KERNEL_CLASS_COUNT; i++) {
        const struct kernel_class_info *info = kernel_class_info((enum kernel_class)i);
        fields[i] = (struct config_field){.name = info->name, .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL,
                                              .offset = offsetof(struct calibration_set, classes) +
                                                        i * sizeof(struct calibration_class),
                                              .fields = class_fields((enum kernel_class)i, arena), .help = "a class of kernels"};
        if (!fields[i].fields) return NULL;
    }
    return fields;
}

/* --- Reading --- */

/* Turns the limits and formats that were read into a range. */
static int take_range(const struct config *config, const char *set, enum kernel_class which, struct arena *arena,
                      struct calibration_class *found, struct diag *diag)
{
    const struct kernel_class_info *info = kernel_class_info(which);
    const struct kernel_formats *formats = found->formats.items;
    int code = 0;
    for (size_t i = 0; i < found->formats.n; i++) kernel_range_add_formats(&found->range, formats[i]);
    for (size_t i = 0; i < info->n_axes; i++) {
        if (found->limits[i].n == 0) continue;
        const double *limits = found->limits[i].items;
        found->range.fitted = true;
        found->range.low[i] = limits[0];
        found->range.high[i] = limits[1];
        if (limits[0] <= limits[1]) continue;
        const char *path = arena_printf(arena, "sets.%s.%s.range.%s", set, info->name, info->axes[i]);
        if (!path) return SIM_E_NOMEM;
        code = diag_error(diag, SIM_E_CONFIG, config_where(config, path), "write [lowest, highest]",
                          "the range of '%s' ends at %g, before it starts at %g", info->axes[i], limits[1], limits[0]);
    }
    return code;
}

static int check_table(const struct config *config, const char *set, enum kernel_class which, struct arena *arena,
                       const struct calibration_class *found, struct diag *diag)
{
    if (found->table.n == 0) return 0;
    const char *path = arena_printf(arena, "sets.%s.%s.table", set, kernel_class_info(which)->name);
    return path ? calibration_shapes_check(config, path, which, &found->table, arena, diag) : SIM_E_NOMEM;
}

static int take_classes(const struct config *config, const struct calibration_file *file, struct arena *arena,
                        struct diag *diag)
{
    struct calibration_set *sets = file->sets.items;
    int code = 0;
    for (size_t i = 0; i < file->sets.n; i++) {
        for (size_t j = 0; j < KERNEL_CLASS_COUNT; j++) {
            const enum kernel_class class = (enum kernel_class)j;
            const int taken = take_range(config, sets[i].name, class, arena, &sets[i].classes[j], diag);
            const int checked = check_table(config, sets[i].name, class, arena, &sets[i].classes[j], diag);
            if (taken != 0 || checked != 0) code = taken != 0 ? taken : checked;
        }
    }
    return code;
}

static int check_libraries(const struct calibration_file *file, const char *path, struct diag *diag)
{
    const struct calibration_set *sets = file->sets.items;
    int code = 0;
    for (size_t i = 0; i < file->sets.n; i++)
        for (size_t j = 0; j < KERNEL_CLASS_COUNT; j++)
            if (library_check(&sets[i].classes[j].measured_with, path, diag) != 0) code = SIM_E_CONFIG;
    return code;
}

int calibration_file_read(const char *path, struct arena *arena, struct calibration_file *file, struct diag *diag)
{
#define ROW_OF struct calibration_file
    const struct config_field fields[] = {
        ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 1000), "GPU that was measured"),
        ROW_TEXT("like", like, OPTIONAL, WITHIN(1, 1000),
                 "GPU with the same chip, used for what was not measured on this one"),
        ROW_MAP("sets", sets, OPTIONAL, WITHIN(0, 100), struct calibration_set, set_fields(arena),
                "parameters by method of measurement"),
        {0},
    };
#undef ROW_OF
    struct config *config = NULL;
    int code = fields[2].fields ? config_load(path, &config, diag) : diag_nomem_at(diag, path);
    if (code == 0) code = config_bind(config, fields, NULL, arena, file, sizeof *file, diag);
    if (code == 0) file->files = config_files(config);
    if (code == 0) code = take_classes(config, file, arena, diag);
    if (code == 0) code = check_libraries(file, path, diag);
    config_destroy(config);
    return code;
}

bool calibration_class_is_of_one_kernel(const struct calibration_class *class)
{
    const struct calibration_profile *profiles = class->profiles.items;
    for (size_t i = 0; i < class->profiles.n; i++)
        if (strchr(profiles[i].file, '@')) return true;
    return false;
}

const struct calibration_set *calibration_file_set(const struct calibration_file *file, const char *name)
{
    const struct calibration_set *sets = file->sets.items;
    for (size_t i = 0; i < file->sets.n; i++)
        if (strcmp(sets[i].name, name) == 0) return &sets[i];
    return NULL;
}
