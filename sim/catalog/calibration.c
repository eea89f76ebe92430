#include "sim/catalog/calibration.h"

#include "sim/catalog/calibration_file.h"
#include "sim/core/path.h"

#include <string.h>
#include <unistd.h>

static const char by_default[] = "default", initial[] = "initial";

/* Takes from a set the classes that are still at their initial values. A NULL origin is the set's own name. */
static void take_set(struct calibration *calibration, const struct calibration_set *set, const char *origin)
{
    for (size_t i = 0; set && i < KERNEL_CLASS_COUNT; i++) {
        const struct calibration_class *from = &set->classes[i];
        if (from->rows == 0 || calibration->origin[i] != initial) continue;
        calibration->kernels.params[i] = from->params;
        calibration->origin[i] = origin ? origin : set->name;
        if (!origin) calibration->kernels.ranges[i] = from->range;
    }
}

static void take_file(struct calibration *calibration, const struct calibration_file *file, const char *set,
                      const char *origin)
{
    const struct calibration_set *sets = file->sets.items;
    take_set(calibration, calibration_file_set(file, set), origin);
    for (size_t i = 0; i < file->sets.n; i++) take_set(calibration, &sets[i], origin);
}

/* Reads a file if it exists. */
static int take_path(struct calibration *calibration, const char *path, const char *set, const char *origin,
                     struct arena *arena, bool *found, struct diag *diag)
{
    struct calibration_file file;
    if (!path) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    *found = access(path, F_OK) == 0;
    if (!*found) return 0;
    const int code = calibration_file_read(path, arena, &file, diag);
    if (code == 0) take_file(calibration, &file, set, origin);
    return code;
}

static const char *path_of(const struct catalog *catalog, const char *name, struct arena *arena)
{
    return path_is_json(name) ? name : arena_printf(arena, "%s/calibration/%s.json", catalog->root, name);
}

int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    bool has_defaults;
    *calibration = (struct calibration){.calibrated = false};
    kernel_set_init(&calibration->kernels);
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) calibration->origin[i] = initial;
    const int code = take_path(calibration, path_of(catalog, name, arena), set, NULL, arena, &calibration->calibrated,
                               diag);
    if (code != 0) return code;
    return take_path(calibration, path_of(catalog, by_default, arena), set, by_default, arena, &has_defaults, diag);
}
