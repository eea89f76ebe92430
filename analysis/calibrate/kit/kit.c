#include "analysis/calibrate/kit/kit.h"

#include "sim/catalog/gpu_name.h"
#include "sim/core/path.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char manifest_name[] = "manifest.json";

/* --- The manifest --- */

static const char *const status_names[] = {"done", "partial", "skipped", "failed", NULL};

const char *kit_status_name(enum kit_status status)
{
    return status_names[status];
}

static const struct config_field name_fields[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 100, .help = "file"}, {0}};

#define ROW_OF struct kit_part
static const struct config_field part_fields[] = {
    ROW_CHOICE("status", status, REQUIRED, status_names, "what became of the part"),
    ROW_INT("measured", measured, REQUIRED, AT_LEAST(0), "points measured"),
    ROW_INT("planned", planned, REQUIRED, AT_LEAST(0), "points of the whole part"),
    ROW_REAL("seconds", seconds, REQUIRED, AT_LEAST(0), "time spent"),
    ROW_TEXT("reason", reason, OPTIONAL, ANY, "why the part is not done"),
    ROW_LIST("files", files, OPTIONAL, WITHIN(0, 16), const char *, name_fields, "files of its rows"),
    {0},
};
#undef ROW_OF

#define VERSION_OF(key) ROW_TEXT(#key, key, OPTIONAL, WITHIN(0, 100), "version")
#define FACT(key, help) ROW_REAL(#key, key, OPTIONAL, AT_LEAST(0), help)

#define ROW_OF struct kit
static const struct config_field manifest_fields[] = {
    ROW_INT("kit", version, REQUIRED, AT_LEAST(1), "version of this format"),
    ROW_TEXT("date", date, REQUIRED, WITHIN(1, 100), "begin of the measurement, UTC"),
    ROW_TEXT("gpu", gpu, REQUIRED, WITHIN(1, 200), "GPU as its driver names it"),
    ROW_TEXT("capability", capability, OPTIONAL, WITHIN(0, 20), "compute capability"),
    VERSION_OF(driver),
    VERSION_OF(cuda),
    VERSION_OF(python),
    VERSION_OF(torch),
    VERSION_OF(triton),
    VERSION_OF(cudnn),
    VERSION_OF(nccl),
    VERSION_OF(vllm),
    ROW_INT("gpus", gpus, REQUIRED, AT_LEAST(1), "GPUs of the machine"),
    ROW_INT("sms", sms, REQUIRED, AT_LEAST(1), "streaming multiprocessors"),
    ROW_REAL("memory_bytes", memory_bytes, REQUIRED, POSITIVE, "device memory as the driver reports it in total"),
    FACT(l2_bytes, "L2 cache"),
    FACT(power_limit_w, "power limit"),
    FACT(sm_max_mhz, "highest SM clock"),
    FACT(memory_max_mhz, "highest memory clock"),
    FACT(pcie_generation, "PCIe generation of the link"),
    FACT(pcie_width, "lanes of the link"),
    ROW_TEXT("power_sensor", power_sensor, OPTIONAL, WITHIN(0, 200), "what instant_w of power.csv is"),
    ROW_MAP("parts", parts, OPTIONAL, WITHIN(0, 64), struct kit_part, part_fields, "what became of each part"),
    {0},
};
#undef ROW_OF

static int check_names(const struct kit *kit, const struct config *config, struct diag *diag)
{
    const struct kit_part *parts = kit->parts.items;
    for (size_t i = 0; i < kit->parts.n; i++) {
        const char *const *files = parts[i].files.items;
        for (size_t j = 0; j < parts[i].files.n; j++)
            if (strchr(files[j], '/') != NULL)
                return diag_error(diag, SIM_E_CONFIG, config_where(config, "parts"), "files lie beside the manifest",
                                  "part '%s' names the file '%s'", parts[i].name, files[j]);
    }
    return 0;
}

static int bind_manifest(const struct config *config, struct arena *arena, struct kit *kit, struct diag *diag)
{
    int code = config_bind(config, manifest_fields, NULL, arena, kit, sizeof *kit, diag);
    if (code == 0 && kit->version != KIT_VERSION)
        code = diag_error(diag, SIM_E_CONFIG, config_where(config, "kit"),
                          "measure with the kit of this program: orrery profile --kit DIR",
                          "the manifest has version %" PRId64 ", read is %d", kit->version, KIT_VERSION);
    return code == 0 ? check_names(kit, config, diag) : code;
}

int kit_read(const char *folder, struct arena *arena, struct kit *kit, struct diag *diag)
{
    struct config *config;
    const char *path = path_join(arena, folder, manifest_name);
    *kit = (struct kit){0};
    if (path == NULL) return diag_nomem(diag);
    int code = config_load(path, &config, diag);
    if (code != 0) {
        diag_add_hint(diag, 0, "the folder that measure.py wrote has it: see 'orrery profile'");
        return code;
    }
    code = bind_manifest(config, arena, kit, diag);
    config_destroy(config);
    kit->folder = folder;
    return code;
}

/* --- Its files --- */

static bool is_listed(const struct config_list *list, const char *name)
{
    const char *const *names = list->items;
    size_t i = 0;
    while (i < list->n && strcmp(names[i], name) != 0) i++;
    return i < list->n;
}

int kit_files(const struct kit *kit, const char *prefix, struct arena *arena, struct config_list *files,
              struct diag *diag)
{
    const struct kit_part *parts = kit->parts.items;
    size_t n = 0;
    for (size_t i = 0; i < kit->parts.n; i++) n += parts[i].files.n;
    const char **names = arena_alloc(arena, (n + 1) * sizeof *names);
    if (names == NULL) return diag_nomem(diag);
    *files = (struct config_list){.items = names};
    for (size_t i = 0; i < kit->parts.n; i++) {
        const char *const *own = parts[i].files.items;
        for (size_t j = 0; j < parts[i].files.n; j++)
            if (strncmp(own[j], prefix, strlen(prefix)) == 0 && !is_listed(files, own[j])) names[files->n++] = own[j];
    }
    return 0;
}

const char *kit_path(const struct kit *kit, const char *stem, struct arena *arena)
{
    const struct kit_part *parts = kit->parts.items;
    const char *file = arena_printf(arena, "%s.csv", stem);
    for (size_t i = 0; file != NULL && i < kit->parts.n; i++)
        if (is_listed(&parts[i].files, file)) return path_join(arena, kit->folder, file);
    return NULL;
}

/* --- The GPU --- */

/* Share by which the memory of a manifest may differ from the catalog's. */
static const double memory_slack = 0.03;

static bool has_memory(const struct kit *kit, const struct gpu_spec *gpu)
{
    return fabs(kit->memory_bytes / gpu->memory_bytes - 1.0) <= memory_slack;
}

struct candidate {
    const char *name;
    int parts;
    bool is_alone;
};

static int try_gpu(const struct kit *kit, const struct catalog *catalog, const char *name, struct arena *arena,
                   struct candidate *best, struct diag *diag)
{
    struct gpu_spec gpu;
    const int parts = gpu_name_parts(kit->gpu, name);
    if (parts == 0 || parts < best->parts) return 0;
    const int code = catalog_gpu(catalog, name, "manifest", arena, &gpu, diag);
    if (code != 0 || gpu.sm_count != kit->sms || !has_memory(kit, &gpu)) return code;
    *best = (struct candidate){name, parts, parts > best->parts};
    return 0;
}

int kit_find_gpu(const struct kit *kit, const struct catalog *catalog, struct arena *arena, const char **name,
                 struct diag *diag)
{
    struct catalog_names names;
    struct candidate best = {0};
    int code = catalog_list_gpus(catalog, arena, &names, diag);
    for (size_t i = 0; code == 0 && i < names.n; i++) code = try_gpu(kit, catalog, names.names[i], arena, &best, diag);
    *name = best.name;
    if (code != 0 || best.is_alone) return code;
    return diag_error(diag, SIM_E_CONFIG, path_join(arena, kit->folder, manifest_name),
                      "name it with --gpu; 'orrery list gpus' shows all, configs/hardware/README.md how to add one",
                      "the catalog has %s GPU like '%s' with %" PRId64 " SMs and %.0f MiB",
                      best.name != NULL ? "more than one" : "no", kit->gpu, kit->sms, kit->memory_bytes / 1048576.0);
}

void kit_check_gpu(const struct kit *kit, const struct gpu_spec *gpu, struct diag *diag)
{
    static const char wrong[] = "is another GPU meant with --gpu?";
    const double full_power_frac = 0.95;
    if (kit->sms != gpu->sm_count)
        diag_warning(diag, kit->folder, wrong, "the measured GPU has %" PRId64 " SMs, '%s' has %" PRId64, kit->sms,
                     gpu->name, gpu->sm_count);
    if (!has_memory(kit, gpu))
        diag_warning(diag, kit->folder, wrong, "the measured GPU has %.0f MiB of memory, '%s' has %.0f",
                     kit->memory_bytes / 1048576.0, gpu->name, gpu->memory_bytes / 1048576.0);
    if (kit->power_limit_w > 0.0 && kit->power_limit_w < full_power_frac * gpu->tdp_w)
        diag_warning(diag, kit->folder, NULL,
                     "measured under a limit of %.0f W, '%s' is delivered with %.0f W: the "
                     "fit holds for that limit",
                     kit->power_limit_w, gpu->name, gpu->tdp_w);
}

/* --- Plausibility --- */

struct kit_rates kit_rates_of(const struct profile *profile, enum kernel_class class)
{
    enum { CACHED = 4 }; /* times the L2 */
    const double slack = 1.1;
    struct kit_rates rates = {0};
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        if (row->call.class != class) continue;
        const struct kernel_time work = profile_row_work(row);
        const double memory_frac = work.bytes / (row->measured_s * row->gpu->memory_bytes_per_s);
        rates.rows++;
        rates.flop_frac = fmax(rates.flop_frac, work.flop / (row->measured_s * gpu_peak_flop_per_s(
                                                                     row->gpu, kernel_call_compute(&row->call))));
        if (work.link_bytes > 0.0)
            rates.link_frac = fmax(rates.link_frac, work.link_bytes / (row->measured_s *
                                                                       row->call.shape.collective.link_bytes_per_s));
        if (work.bytes < CACHED * row->gpu->l2_bytes) continue;
        rates.memory_frac = fmax(rates.memory_frac, memory_frac);
        rates.beyond_memory += memory_frac > slack;
    }
    return rates;
}

void kit_check_rates(const struct kit_rates *rates, const char *class, const struct profile *profile,
                     const struct gpu_spec *gpu, struct diag *diag)
{
    const double max_beyond_frac = 0.05;
    if ((double)rates->beyond_memory > max_beyond_frac * (double)rates->rows)
        diag_warning(diag, profile->path, "wrong GPU, or operands that stayed in the cache?",
                     "%" PRId64 " of %" PRId64 " rows of '%s' would read faster than the memory of '%s'",
                     rates->beyond_memory, rates->rows, class, gpu->name);
}
