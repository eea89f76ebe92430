#include "sim/catalog/calibration.h"

#include "sim/catalog/calibration_file.h"
#include "sim/catalog/calibration_table.h"
#include "sim/catalog/shelf.h"
#include "sim/core/path.h"
#include "sim/core/text.h"

#include <string.h>
#include <unistd.h>

static const char by_default[] = "default", initial[] = "initial";

/* The GPU whose collectives over PCIe were measured. */
static const char pcie_measured[] = "l40s";

static const struct shelf calibrations = {"calibration", "calibration", "ls configs/calibration", "sources.json", NULL};

/* The set that a class comes from: the preferred one, else the first that has it; NULL: none has. */
static const struct calibration_set *find_set(const struct calibration_file *file, const char *preferred, size_t class)
{
    const struct calibration_set *sets = file->sets.items, *set = calibration_file_set(file, preferred);
    if (set && set->classes[class].rows > 0) return set;
    for (size_t i = 0; i < file->sets.n; i++)
        if (sets[i].classes[class].rows > 0) return &sets[i];
    return NULL;
}

static bool is_expert_class(size_t class)
{
    return class >= KERNEL_MOE && class < KERNEL_ALL_REDUCE;
}

static bool is_own_class(size_t class)
{
    const bool is_latent = class == KERNEL_LATENT_DECODE || class == KERNEL_LATENT_PREFILL;
    const bool is_narrow = class == KERNEL_GEMM_FP8 || class == KERNEL_GEMM_FP8_BLOCK || class == KERNEL_GEMM_NVFP4;
    return is_expert_class(class) || is_latent || is_narrow;
}

static bool is_own_all_reduce(size_t class)
{
    return class == KERNEL_DIRECT_ALL_REDUCE;
}

/* The set that has an engine's own kernels of a class; NULL: none is named. */
static const char *own_set(const struct calibration_request *request, size_t class)
{
    if (is_own_all_reduce(class)) return request->own_all_reduce;
    return is_own_class(class) ? request->own_kernels : NULL;
}

/* The set of the file that a class comes from by a request; NULL: none has it. */
static const struct calibration_set *asked_set(const struct calibration_file *file,
                                               const struct calibration_request *request, size_t class)
{
    const char *const own[] = {is_expert_class(class) ? request->experts : NULL, own_set(request, class)};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const struct calibration_set *set = own[i] ? calibration_file_set(file, own[i]) : NULL;
        if (set && set->classes[class].rows > 0) return set;
    }
    return find_set(file, class < KERNEL_ALL_REDUCE ? request->kernels : request->collectives, class);
}

/* A file that was read; without path: none. */
struct source {
    const char *path, *origin; /* origin NULL: what it holds was measured on the GPU itself, not one of its slices */
    struct calibration_file file;
};

enum { ASKED_FOR, OWN, ALIKE, PCIE, POOLED, SOURCES };

struct reading {
    const struct catalog *catalog;
    const struct calibration_request *request;
    struct arena *arena;
    struct calibration *calibration;
    struct diag *diag;
    struct source sources[SOURCES];
};

/* --- Finding files --- */

/* A file in the memory of the catalog. */
struct catalog_kept {
    struct catalog_kept *next;
    const char *path;
    struct calibration_file file;
};

void catalog_memory_init(struct catalog_memory *memory)
{
    *memory = (struct catalog_memory){0};
    arena_init(&memory->arena);
}

void catalog_memory_fini(struct catalog_memory *memory)
{
    arena_fini(&memory->arena);
}

/* Reads a file, or takes it from the memory. */
static int read_file(const struct reading *reading, const char *path, struct calibration_file *file)
{
    struct catalog_memory *memory = reading->catalog->memory;
    if (!memory) return calibration_file_read(path, reading->arena, file, reading->diag);
    struct catalog_kept *kept = memory->first;
    while (kept && strcmp(kept->path, path) != 0) kept = kept->next;
    if (!kept) {
        kept = arena_alloc(&memory->arena, sizeof *kept);
        if (!kept || !(kept->path = arena_strdup(&memory->arena, path))) return diag_nomem(reading->diag);
        const int code = calibration_file_read(path, &memory->arena, &kept->file, reading->diag);
        if (code != 0) return code;
        kept->next = memory->first;
        memory->first = kept;
    }
    *file = kept->file;
    return 0;
}

static int open_source(struct reading *reading, const char *path, const char *origin, struct source *source)
{
    source->path = path;
    source->origin = origin;
    const int code = read_file(reading, path, &source->file);
    if (code == 0) shelf_note(reading->catalog, &source->file.files);
    return code;
}

/* Where there is no such file, the source stays empty. */
static int open_if_there(struct reading *reading, const char *name, const char *origin, struct source *source)
{
    const char *path = arena_printf(reading->arena, "%s/%s/%s.json", reading->catalog->root, calibrations.folder, name);
    if (!path) return diag_nomem(reading->diag);
    return access(path, F_OK) == 0 ? open_source(reading, path, origin, source) : 0;
}

static bool is_pooled(const struct calibration_file *file)
{
    return file->gpu && strcmp(file->gpu, by_default) == 0;
}

/* The name of a GPU that may have been given by the path of its file. */
static const char *name_of(const char *gpu, struct arena *arena)
{
    return path_is_json(gpu) ? shelf_entry_name(arena, gpu) : gpu;
}

static int open_asked_for(struct reading *reading)
{
    const char *name = reading->request->file, *where = reading->request->where, *path;
    struct source *source = &reading->sources[ASKED_FOR];
    if (!name) return 0;
    int code = shelf_find(reading->catalog, &calibrations, name, where, reading->arena, &path, reading->diag);
    if (code == 0 && access(path, F_OK) != 0)
        code = diag_error(reading->diag, SIM_E_CONFIG, where, "a path is relative to the file that names it",
                          "there is no calibration '%s'", name);
    if (code == 0) code = open_source(reading, path, NULL, source);
    if (code == 0 && is_pooled(&source->file)) {
        source->origin = by_default;
    } else if (code == 0 && reading->request->is_slice) { /* whole GPUs were measured */
        source->origin = name_of(source->file.gpu, reading->arena);
        if (!source->origin) code = diag_nomem(reading->diag);
    }
    return code;
}

static int open_own(struct reading *reading)
{
    const struct source *asked = &reading->sources[ASKED_FOR];
    if (is_pooled(&asked->file)) return 0; /* the defaults were asked for */
    const char *gpu = reading->request->gpu ? reading->request->gpu : asked->file.gpu;
    const char *name = name_of(gpu, reading->arena);
    const char *origin = reading->request->is_slice ? name : NULL;
    return name ? open_if_there(reading, name, origin, &reading->sources[OWN]) : diag_nomem(reading->diag);
}

static int open_alike(struct reading *reading)
{
    const struct source *own = &reading->sources[OWN];
    const struct source *source = own->file.like ? own : &reading->sources[ASKED_FOR];
    const char *like = source->file.like, *path;
    if (!like) return 0;
    const int code = shelf_find(reading->catalog, &calibrations, like, source->path, reading->arena, &path,
                                reading->diag);
    return code == 0 ? open_source(reading, path, like, &reading->sources[ALIKE]) : code;
}

/* --- Checking what was found --- */

static bool is_like(const struct source *source, const char *gpu)
{
    return source->file.like && strcmp(source->file.like, gpu) == 0;
}

static int check_gpu(const struct reading *reading)
{
    const struct source *asked = &reading->sources[ASKED_FOR];
    if (!reading->request->gpu || !asked->path || is_pooled(&asked->file)) return 0;
    const char *gpu = name_of(reading->request->gpu, reading->arena);
    const char *measured = name_of(asked->file.gpu, reading->arena);
    if (!gpu || !measured) return diag_nomem(reading->diag);
    if (strcmp(measured, gpu) == 0 || is_like(asked, gpu) || is_like(&reading->sources[OWN], measured)) return 0;
    diag_warning(reading->diag, reading->request->where, "take the calibration of this GPU, or \"auto\"",
                 "the calibration '%s' is of '%s', but the GPU is '%s'", reading->request->file, asked->file.gpu, gpu);
    return 0;
}

static bool has_set(const struct reading *reading, const char *name)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (calibration_file_set(&reading->sources[i].file, name)) return true;
    return false;
}

/* The names of all sets of all sources. Returns how many; `names` NULL: only counts. */
static size_t list_sets(const struct reading *reading, const char **names)
{
    size_t n = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        const struct calibration_set *sets = reading->sources[i].file.sets.items;
        for (size_t j = 0; j < reading->sources[i].file.sets.n; j++, n++)
            if (names) names[n] = sets[j].name;
    }
    return n;
}

/* Without any set there is nothing to be misspelt. */
static int check_set(const struct reading *reading, const char *name)
{
    const size_t n = list_sets(reading, NULL);
    if (n == 0 || has_set(reading, name)) return 0;
    const char **names = arena_alloc(reading->arena, n * sizeof *names);
    if (!names) return diag_nomem(reading->diag);
    list_sets(reading, names);
    const char *nearest = text_nearest(name, names, n);
    const char *hint = nearest ? arena_printf(reading->arena, "did you mean '%s'?", nearest)
                               : "'orrery list kernels' shows the sets of each GPU, and those of 'default'";
    if (!hint) return diag_nomem(reading->diag);
    return diag_error(reading->diag, SIM_E_CONFIG, reading->request->sets_where, hint,
                      "no calibration of this GPU has a set '%s'", name);
}

/* A set that serves some classes only, where the GPU has it. */
struct part_set {
    const char *key, *name; /* in presets; name NULL: none is asked for */
    bool (*serves)(size_t class);
};

static bool has_part(const struct calibration_file *file, const struct part_set *part)
{
    const struct calibration_set *set = calibration_file_set(file, part->name);
    for (size_t i = 0; set && i < KERNEL_CLASS_COUNT; i++)
        if (part->serves(i) && set->classes[i].rows > 0) return true;
    return false;
}

/* Sets *found to whether the file of some GPU has kernels in the set that it is named for. */
static int seek_part(const struct reading *reading, const struct part_set *part, bool *found)
{
    struct catalog_names gpus;
    *found = false;
    for (size_t i = 0; i < SOURCES; i++) *found |= has_part(&reading->sources[i].file, part);
    int code = *found ? 0 : catalog_list_calibrations(reading->catalog, reading->arena, &gpus, reading->diag);
    for (size_t i = 0; code == 0 && !*found && i < gpus.n; i++) {
        struct calibration_file file = {.gpu = NULL};
        const char *path = arena_printf(reading->arena, "%s/%s/%s.json", reading->catalog->root, calibrations.folder,
                                        gpus.names[i]);
        code = path ? read_file(reading, path, &file) : diag_nomem(reading->diag);
        *found = code == 0 && has_part(&file, part);
    }
    return code;
}

/* GPUs need not have such a set, but some GPU must: else its name is misspelt, or it has no such kernels. */
static int check_part(const struct reading *reading, const struct part_set *part)
{
    bool found = true;
    const int code = part->name && list_sets(reading, NULL) > 0 ? seek_part(reading, part, &found) : 0;
    if (code != 0 || found) return code;
    return diag_error(reading->diag, SIM_E_CONFIG, reading->request->sets_where,
                      "'orrery list kernels' shows the sets of each GPU, and the kernels in them",
                      "'%s': no GPU has a set '%s' with such kernels", part->key, part->name);
}

static int check_sets(const struct reading *reading)
{
    const struct calibration_request *request = reading->request;
    const struct part_set parts[] = {{"own_kernels", request->own_kernels, is_own_class},
                                     {"experts", request->experts, is_expert_class},
                                     {"own_all_reduce", request->own_all_reduce, is_own_all_reduce}};
    int code = check_set(reading, request->kernels);
    if (code == 0 && strcmp(request->kernels, request->collectives) != 0)
        code = check_set(reading, request->collectives);
    for (size_t i = 0; code == 0 && i < sizeof parts / sizeof *parts; i++) code = check_part(reading, &parts[i]);
    return code;
}

/* --- Taking classes --- */

/* Takes a class's measured points. Their ratios to the law are those on the GPU that was measured, which the file
 * names. */
static int take_table(const struct reading *reading, const struct source *source, enum kernel_class class,
                      const struct calibration_class *found)
{
    struct gpu_spec gpu;
    if (found->table.n == 0) return 0;
    const int code = catalog_gpu(reading->catalog, source->file.gpu, source->path, reading->arena, &gpu, reading->diag);
    if (code != 0) return code;
    return calibration_table_make(class, &found->table, &found->params, &gpu, reading->arena,
                                  &reading->calibration->kernels.tables[class], reading->diag);
}

/* FlashAttention-3 takes longer where a window cuts the context. A set without such rows takes that time from another
 * set of its file. */
static void take_window_time(const struct calibration_file *file, struct decode_params *params)
{
    const struct calibration_set *sets = file->sets.items;
    for (size_t i = 0; i < file->sets.n && params->flash3 > 0.5 && params->window_s <= 0.0; i++) {
        const struct calibration_class *other = &sets[i].classes[KERNEL_DECODE_ATTENTION];
        if (other->rows > 0 && other->params.decode.flash3 > 0.5) params->window_s = other->params.decode.window_s;
    }
}

/* Whether a collective was measured among more GPUs than NVLink connects, so over PCIe. */
static bool is_over_pcie(const struct calibration_class *found, enum kernel_class class, int64_t nvlink_gpus)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    for (size_t i = 0; i < info->n_axes; i++)
        if (strcmp(info->axes[i], "gpus") == 0)
            return found->range.fitted && found->range.high[i] > (double)nvlink_gpus;
    return false;
}

/* Takes the classes that are still at their initial values: all; from the source over PCIe only collectives; with
 * `is_pcie` only collectives that were measured over PCIe. Range and table are those of the GPU itself alone. */
static int take_source(const struct reading *reading, const struct source *source, bool is_pcie)
{
    const struct calibration_request *request = reading->request;
    struct calibration *calibration = reading->calibration;
    const size_t first = source == &reading->sources[PCIE] ? KERNEL_ALL_REDUCE : 0;
    int code = 0;
    for (size_t i = first; code == 0 && i < KERNEL_CLASS_COUNT; i++) {
        const struct calibration_set *set = asked_set(&source->file, request, i);
        if (!set || calibration->origin[i] != initial) continue;
        if (is_pcie && !is_over_pcie(&set->classes[i], (enum kernel_class)i, request->nvlink_gpus)) continue;
        calibration->kernels.params[i] = set->classes[i].params;
        if (i == KERNEL_DECODE_ATTENTION) take_window_time(&source->file, &calibration->kernels.params[i].decode);
        calibration->writes_kv[i] = set->classes[i].writes_kv;
        calibration->measured_with[i] = &set->classes[i].measured_with;
        calibration->set[i] = set->name;
        calibration->origin[i] = source->origin ? source->origin : set->name;
        if (source->origin) continue;
        calibration->kernels.ranges[i] = set->classes[i].range;
        code = take_table(reading, source, (enum kernel_class)i, &set->classes[i]);
    }
    return code;
}

static bool is_complete(const struct calibration *calibration, const bool *needed)
{
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
        if ((!needed || needed[i]) && calibration->origin[i] == initial) return false;
    return true;
}

/* An unmeasured class follows the model of a similar one, and lies outside its range. */
static void borrow(struct calibration *calibration, enum kernel_class class, enum kernel_class like)
{
    if (calibration->origin[class] != initial) return;
    calibration->kernels.params[class] = calibration->kernels.params[like];
    calibration->set[class] = calibration->set[like];
    calibration->origin[class] = calibration->origin[like];
    calibration->measured_with[class] = calibration->measured_with[like];
    calibration->borrowed[class] = true;
}

/* A measured fused kernel behind dispatch does not walk along choices of experts elsewhere. */
static void borrow_for_contiguous(struct calibration *calibration)
{
    const enum kernel_class class = KERNEL_MOE_FP8_CONTIGUOUS;
    borrow(calibration, class, KERNEL_MOE_FP8);
    if (calibration->borrowed[class] && calibration->origin[class] != initial)
        calibration->kernels.params[class].moe.spared_frac = 1.0;
}

static int open_sources(struct reading *reading)
{
    int code = open_asked_for(reading);
    if (code == 0) code = open_own(reading);
    if (code == 0) code = check_gpu(reading);
    if (code == 0) code = open_alike(reading);
    if (code != 0 || !reading->request->over_pcie) return code;
    return open_if_there(reading, pcie_measured, pcie_measured, &reading->sources[PCIE]);
}

/* The defaults are opened only for classes and sets that no other source has. */
static int take_sources(struct reading *reading)
{
    const struct calibration_request *request = reading->request;
    int code = 0;
    /* Over PCIe, what a GPU with NVLink measured over that comes last. */
    static const struct {
        size_t source;
        bool is_pcie;
    } order[] = {{ASKED_FOR, false}, {OWN, true}, {PCIE, false}, {OWN, false}, {ALIKE, false}, {PCIE, false}};
    for (size_t i = 0; code == 0 && i < sizeof order / sizeof *order; i++) {
        const bool is_early = i == 1 || i == 2;
        if (is_early && !(request->over_pcie && request->nvlink_gpus > 0)) continue;
        code = take_source(reading, &reading->sources[order[i].source], order[i].is_pcie);
    }
    if (code == 0 && !(is_complete(reading->calibration, request->needed) && has_set(reading, request->kernels) &&
                       has_set(reading, request->collectives))) {
        code = open_if_there(reading, by_default, by_default, &reading->sources[POOLED]);
        if (code == 0) code = take_source(reading, &reading->sources[POOLED], false);
    }
    return code == 0 ? check_sets(reading) : code;
}

static bool has_kernels(const struct calibration_set *set)
{
    for (size_t i = 0; i < KERNEL_ALL_REDUCE; i++)
        if (set->classes[i].rows > 0) return true;
    return false;
}

/* Whether kernels of the GPU were measured, or its collectives beside kernels of the same chip. */
static bool is_measured(const struct source *source)
{
    const struct calibration_set *sets = source->file.sets.items;
    if (source->origin) return false;
    bool found = source->file.like && source->file.sets.n > 0;
    for (size_t i = 0; i < source->file.sets.n; i++) found |= has_kernels(&sets[i]);
    return found;
}

/* Lists the files that measured the GPU, or one that it is like. */
static void list_measured(const struct reading *reading)
{
    static const size_t order[CALIBRATION_MEASURED] = {ASKED_FOR, OWN, ALIKE};
    struct calibration *calibration = reading->calibration;
    for (size_t i = 0; i < CALIBRATION_MEASURED; i++) {
        const struct source *source = &reading->sources[order[i]];
        if (!source->path || is_pooled(&source->file)) continue;
        calibration->measured[calibration->n_measured++] =
            (struct calibration_measured){source->path, source->file.sets};
    }
}

int calibration_read(const struct catalog *catalog, const struct calibration_request *request, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    struct reading reading = {.catalog = catalog, .request = request, .arena = arena, .calibration = calibration,
                              .diag = diag};
    *calibration = (struct calibration){.calibrated = false};
    kernel_set_init(&calibration->kernels);
    for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++) calibration->origin[i] = initial;
    int code = open_sources(&reading);
    if (code == 0) code = take_sources(&reading);
    list_measured(&reading);
    calibration->calibrated = !request->is_slice &&
                              (is_measured(&reading.sources[ASKED_FOR]) || is_measured(&reading.sources[OWN]));
    borrow(calibration, KERNEL_GEMM_INT4, KERNEL_GEMM); /* a quarter of its bytes */
    borrow(calibration, KERNEL_GEMM_FP8_BLOCK, KERNEL_GEMM_FP8);
    borrow(calibration, KERNEL_GEMM_NVFP4, KERNEL_GEMM_FP8_BLOCK); /* at another peak */
    borrow(calibration, KERNEL_LATENT_DECODE, KERNEL_DECODE_ATTENTION);
    borrow(calibration, KERNEL_LATENT_PREFILL, KERNEL_PREFILL_ATTENTION);
    borrow(calibration, KERNEL_MOE_NVFP4, KERNEL_MOE_FP8);
    borrow(calibration, KERNEL_MOE_MXFP4, KERNEL_MOE_INT4);
    borrow(calibration, KERNEL_MOE_FP8_MASKED, KERNEL_MOE_FP8);
    borrow_for_contiguous(calibration);
    borrow(calibration, KERNEL_KV_WRITE, KERNEL_RESIDUAL);
    return code;
}

void calibration_leave_benchmarks(struct kernel_set *kernels)
{
    static const enum kernel_class products[] = {KERNEL_GEMM, KERNEL_GEMM_FP8, KERNEL_GEMM_FP8_BLOCK,
                                                 KERNEL_GEMM_NVFP4, KERNEL_GEMM_INT4};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        kernels->params[products[i]].gemm.one_row_s = 0.0;
}

int calibration_load(const struct catalog *catalog, const char *name, const char *set, struct arena *arena,
                     struct calibration *calibration, struct diag *diag)
{
    struct calibration_request request = {.kernels = set, .collectives = set};
    *(path_is_json(name) ? &request.file : &request.gpu) = name;
    return calibration_read(catalog, &request, arena, calibration, diag);
}

int catalog_list_calibrations(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                              struct diag *diag)
{
    return shelf_list(catalog, &calibrations, arena, names, diag);
}

bool calibration_writes_kv(const struct calibration *calibration)
{
    return calibration->writes_kv[KERNEL_PREFILL_ATTENTION] && calibration->writes_kv[KERNEL_DECODE_ATTENTION];
}
