#include "sim/catalog/calibration.h"

#include "sim/catalog/calibration_file.h"
#include "sim/catalog/calibration_table.h"
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

/* What goes on while files are taken. */
struct taking {
    const struct catalog *catalog;
    const struct calibration_request *request;
    struct arena *arena;
    struct calibration *calibration;
    struct diag *diag;
};

/* Takes a class's measured points. Their ratios to the law are those on the GPU that was measured, which the file names. */
static int take_table(const struct taking *taking, const struct calibration_file *file, const char *path,
                      enum kernel_class class, const struct calibration_class *found)
{
    struct gpu_spec gpu;
    if (found->table.n == 0) return 0;
    const int code = catalog_gpu(taking->catalog, file->gpu, path, taking->arena, &gpu, taking->diag);
    if (code != 0) return code;
    return calibration_table_make(class, &found->table, &found->params, &gpu, taking->arena,
                                  &taking->calibration->kernels.tables[class], taking->diag);
}

/* Takes from a file the classes that are still at their initial values. A file of the GPU itself (`origin` NULL) brings
 * their range and table; others have none, and are the origin. */
static int take_file(const struct taking *taking, const struct calibration_file *file, const char *path,
                     const char *origin)
{
    const struct calibration_request *request = taking->request;
    struct calibration *calibration = taking->calibration;
    int code = 0;
    for (size_t i = 0; code == 0 && i < KERNEL_CLASS_COUNT; i++) {
        const char *preferred = i < KERNEL_ALL_REDUCE ? request->kernels : request->collectives;
        const struct calibration_set *set = find_set(file, preferred, i);
        if (!set || calibration->origin[i] != initial) continue;
        calibration->kernels.params[i] = set->classes[i].params;
        calibration->writes_kv[i] = set->classes[i].writes_kv;
        calibration->origin[i] = origin ? origin : set->name;
        if (origin) continue;
        calibration->kernels.ranges[i] = set->classes[i].range;
        code = take_table(taking, file, path, (enum kernel_class)i, &set->classes[i]);
    }
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

/* A class that nobody measured follows the law of a like one, and lies outside its range. */
static void borrow(struct calibration *calibration, enum kernel_class class, enum kernel_class like)
{
    if (calibration->origin[class] != initial) return;
    calibration->kernels.params[class] = calibration->kernels.params[like];
    calibration->origin[class] = calibration->origin[like];
}

/* Takes from the calibration of that name if there is one; `file` stays empty when there is none. */
static int take_name(const struct taking *taking, const char *name, const char *origin, struct calibration_file *file)
{
    const char *path = path_of(taking->catalog, name, taking->arena);
    *file = (struct calibration_file){0};
    if (!path) return diag_error(taking->diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    if (access(path, F_OK) != 0) return 0;
    const int code = calibration_file_read(path, taking->arena, file, taking->diag);
    return code == 0 ? take_file(taking, file, path, origin) : code;
}

int calibration_read(const struct catalog *catalog, const struct calibration_request *request, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    const struct taking taking = {catalog, request, arena, calibration, diag};
    struct calibration_file own, other;
    *calibration = (struct calibration){.calibrated = false};
    kernel_set_init(&calibration->kernels);
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) calibration->origin[i] = initial;
    int code = take_name(&taking, request->name, NULL, &own);
    calibration->calibrated = own.sets.n > 0;
    if (code == 0 && own.like && !is_complete(calibration, request->needed))
        code = take_name(&taking, own.like, own.like, &other);
    if (code == 0 && !is_complete(calibration, request->needed))
        code = take_name(&taking, by_default, by_default, &other);
    borrow(calibration, KERNEL_GEMM_INT4, KERNEL_GEMM); /* a quarter of its bytes */
    borrow(calibration, KERNEL_KV_WRITE, KERNEL_RESIDUAL);
    return code;
}

int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    const struct calibration_request request = {.name = name, .kernels = set, .collectives = set};
    return calibration_read(catalog, &request, arena, calibration, diag);
}

bool calibration_writes_kv(const struct calibration *calibration)
{
    return calibration->writes_kv[KERNEL_PREFILL_ATTENTION] && calibration->writes_kv[KERNEL_DECODE_ATTENTION];
}
