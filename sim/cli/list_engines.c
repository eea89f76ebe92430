/* orrery list engines, orrery list kernels: what was measured of serving engines and of GPUs, with which libraries. */
#include "sim/catalog/calibration.h"
#include "sim/catalog/calibration_file.h"
#include "sim/catalog/engine.h"
#include "sim/cli/listing.h"

#include <math.h>

int listing_add_each(struct listing *list, listing_names_fn list_names,
                     int (*add)(struct listing *list, const char *name))
{
    struct catalog_names names;
    int code = list_names(&list->catalog, &list->arena, &names, &list->cli->diag);
    for (size_t i = 0; code == 0 && i < names.n; i++) code = add(list, names.names[i]);
    return code;
}

/* --- Engines --- */

static void add_libraries(struct listing *list, const struct config_list *libraries)
{
    struct text text;
    text_init(&text);
    library_say_all(libraries, &text);
    list->table.failed |= text.failed;
    table_text(&list->table, text.chars);
    text_fini(&text);
}

/* Adds the value, or "-" if it was not measured. */
static void add_measured(struct answer_table *table, bool is_known, double value)
{
    if (is_known)
        table_number(table, value);
    else
        table_undefined(table);
}

static int add_measured_on(struct listing *list, const struct engine_preset *preset)
{
    const char *const *gpus = preset->measured_on.items;
    const char *names = preset->measured_on.n > 0 ? gpus[0] : NULL;
    for (size_t i = 1; i < preset->measured_on.n && names; i++)
        names = arena_printf(&list->arena, "%s, %s", names, gpus[i]);
    if (preset->overhead_of != NULL && names != NULL)
        names = arena_printf(&list->arena, "%s (only %s)", names, preset->overhead_of);
    table_text(&list->table, names);
    return names || preset->measured_on.n == 0 ? 0 : SIM_E_NOMEM;
}

/* Adds the constant CPU overhead of an iteration on one GPU and on eight, in ms. An engine with neither overheads
 * nor measurements has none by definition. */
static int add_engine(struct listing *list, const char *name)
{
    struct engine_preset read;
    const struct engine_preset *preset = &read;
    int code = catalog_engine(&list->catalog, name, name, &list->arena, &read, &list->cli->diag);
    if (code != 0) return code;
    struct answer_table *table = &list->table;
    struct engine_params one, eight;
    const struct calibration_error *held_out = preset->held_out.items;
    const bool is_defined = preset->overheads.n == 0 && preset->measured_on.n == 0;
    const bool eight_known = is_defined || engine_preset_lists(preset, "", 8);
    engine_preset_params(preset, "", 1, &one);
    engine_preset_params(preset, "", 8, &eight);
    table_text(table, preset->name);
    table_text(table, preset->kernels);
    add_libraries(list, &preset->libraries);
    code = add_measured_on(list, preset);
    add_measured(table, is_defined || engine_preset_lists(preset, "", 1), 1e3 * one.iteration_s);
    add_measured(table, eight_known, 1e3 * eight.iteration_s);
    add_measured(table, eight_known, 1e6 * eight.sequence_s);
    add_measured(table, is_defined || preset->launches.n > 0, 1e6 * eight.layer_launch_s);
    add_measured(table, preset->held_out.n > 0, preset->held_out.n > 0 ? round(held_out->median * 1e4) / 1e2 : 0.0);
    table_text(table, preset->summary);
    return code;
}

int list_engines(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("engine"),
                                                  LEFT("kernels"),
                                                  LEFT("libraries"),
                                                  LEFT("measured_on"),
                                                  RIGHT("iteration_ms_1_gpu"),
                                                  RIGHT("iteration_ms_8_gpus"),
                                                  RIGHT("sequence_us"),
                                                  RIGHT("layer_launch_us"),
                                                  RIGHT("error_%"),
                                                  LEFT("summary")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_engines, add_engine);
}

/* --- Measured kernels --- */

/* Whether a class was measured with a release; NULL: with none that is stated. */
static bool has_release(const struct calibration_class *class, const struct library_release *release)
{
    const struct library_release *releases = class->measured_with.items;
    if (release == NULL) return class->measured_with.n == 0;
    for (size_t i = 0; i < class->measured_with.n; i++)
        if (library_is_same(&releases[i], release)) return true;
    return false;
}

/* Whether an earlier class of the set has the release. */
static bool is_listed(const struct calibration_set *set, size_t class, const struct library_release *release)
{
    for (size_t i = 0; i < class; i++)
        if (set->classes[i].rows > 0 && has_release(&set->classes[i], release)) return true;
    return false;
}

/* Adds the row of a set's classes with a release. */
static void add_release(struct listing *list, const struct calibration_file *file, const struct calibration_set *set,
                        const struct library_release *release)
{
    struct answer_table *table = &list->table;
    struct text names;
    text_init(&names);
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
        if (set->classes[i].rows > 0 && has_release(&set->classes[i], release))
            text_printf(&names, "%s%s", names.length > 0 ? ", " : "", kernel_class_info((enum kernel_class)i)->name);
    table_text(table, file->gpu);
    table_text(table, set->name);
    table_text(table, release != NULL ? release->library : NULL);
    table_text(table, release != NULL ? release->version : NULL);
    if (release != NULL)
        table_number(table, (double)release->year);
    else
        table_undefined(table);
    table->failed |= names.failed;
    table_text(table, names.chars);
    text_fini(&names);
}

static void add_set(struct listing *list, const struct calibration_file *file, const struct calibration_set *set)
{
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
        const struct calibration_class *class = &set->classes[i];
        const struct library_release *releases = class->measured_with.items;
        if (class->rows == 0) continue;
        if (class->measured_with.n == 0 && !is_listed(set, i, NULL)) add_release(list, file, set, NULL);
        for (size_t j = 0; j < class->measured_with.n; j++)
            if (!is_listed(set, i, &releases[j])) add_release(list, file, set, &releases[j]);
    }
}

static int add_calibration(struct listing *list, const char *name)
{
    struct calibration_file file;
    const char *path = arena_printf(&list->arena, "%s/calibration/%s.json", list->catalog.root, name);
    if (path == NULL) return SIM_E_NOMEM;
    const int code = calibration_file_read(path, &list->arena, &file, &list->cli->diag);
    if (code != 0) return code;
    const struct calibration_set *sets = file.sets.items;
    for (size_t i = 0; i < file.sets.n; i++) add_set(list, &file, &sets[i]);
    return 0;
}

int list_kernels(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("gpu"),     LEFT("set"),   LEFT("library"),
                                                  LEFT("version"), RIGHT("year"), LEFT("kernels")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_calibrations, add_calibration);
}
