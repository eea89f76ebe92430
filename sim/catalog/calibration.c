#include "sim/catalog/calibration.h"

#include "sim/catalog/calibration_file.h"
#include "sim/core/path.h"

#include <string.h>
#include <unistd.h>

static const char by_default[] = "default", initial[] = "initial";

/* The set that a class comes from: the preferred one, else the first that has it; NULL: none has. */
static const struct calibration_set *find_set(const struct calibration_file *file, const char *preferred, size_t class)
{
    const struct calibration_set *sets = file->sets.items, *set = calibration_file_set(file, preferred);
    if (set && set->classes[class].rows > 0) return set;
    for (size_t i = 0; i < file->sets.n; i++)
        if (sets[i].classes[class].rows > 0) return &sets[i];
    return NULL;
}

/* Takes from a file the classes that are still at their initial values. The defaults have no range. */
static void take_file(struct calibration *calibration, const struct calibration_request *request,
                      const struct calibration_file *file, bool is_default)
{
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) {
        const char *preferred = i < KERNEL_ALL_REDUCE ? request->kernels : request->collectives;
        const struct calibration_set *set = find_set(file, preferred, i);
        if (!set || calibration->origin[i] != initial) continue;
        calibration->kernels.params[i] = set->classes[i].params;
        calibration->origin[i] = is_default ? by_default : set->name;
        if (!is_default) calibration->kernels.ranges[i] = set->classes[i].range;
    }
}

/* Takes from a file if it exists. */
static int take_path(struct calibration *calibration, const struct calibration_request *request, const char *path,
                     bool is_default, struct arena *arena, bool *found, struct diag *diag)
{
    struct calibration_file file;
    if (!path) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    *found = access(path, F_OK) == 0;
    if (!*found) return 0;
    const int code = calibration_file_read(path, arena, &file, diag);
    if (code == 0) take_file(calibration, request, &file, is_default);
    return code;
}

static const char *path_of(const struct catalog *catalog, const char *name, struct arena *arena)
{
    return path_is_json(name) ? name : arena_printf(arena, "%s/calibration/%s.json", catalog->root, name);
}

static bool is_complete(const struct calibration *calibration, const bool *needed)
{
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
        if ((!needed || needed[i]) && calibration->origin[i] == initial) return false;
    return true;
}

/* Nobody measured products with 4-bit weights: without a fit of their own they follow the law of 16-bit ones, whose bytes
 * they have a quarter of, and lie outside its range. */
static void borrow_int4(struct calibration *calibration)
{
    if (calibration->origin[KERNEL_GEMM_INT4] != initial) return;
    calibration->kernels.params[KERNEL_GEMM_INT4] = calibration->kernels.params[KERNEL_GEMM];
    calibration->origin[KERNEL_GEMM_INT4] = calibration->origin[KERNEL_GEMM];
}

int calibration_read(const struct catalog *catalog, const struct calibration_request *request, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    bool has_defaults;
    *calibration = (struct calibration){.calibrated = false};
    kernel_set_init(&calibration->kernels);
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) calibration->origin[i] = initial;
    int code = take_path(calibration, request, path_of(catalog, request->name, arena), false, arena,
                         &calibration->calibrated, diag);
    if (code == 0 && !is_complete(calibration, request->needed))
        code = take_path(calibration, request, path_of(catalog, by_default, arena), true, arena, &has_defaults, diag);
    borrow_int4(calibration);
    return code;
}

int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    const struct calibration_request request = {.name = name, .kernels = set, .collectives = set};
    return calibration_read(catalog, &request, arena, calibration, diag);
}
