/* Any bytes as one of the files that runs, studies and calibrations read; the first byte chooses which, the second one
 * a variant. Either the file is read without an error, or there is a finding for the error. */
#include "tests/fuzz/fuzz.h"

#include "analysis/calibrate/engine/measured.h"
#include "analysis/calibrate/power/power_data.h"
#include "analysis/calibrate/profile/profile.h"
#include "analysis/figure/figure.h"
#include "analysis/gate/baseline.h"
#include "analysis/gate/decision_log.h"
#include "policies/scheduler/sizes_file.h"
#include "sim/catalog/availability.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/calibration_file.h"
#include "sim/catalog/engine.h"
#include "sim/catalog/power.h"
#include "sim/catalog/storage.h"
#include "sim/store/readback.h"
#include "sim/study/study.h"
#include "sim/world/cluster/cluster_config.h"
#include "traces/engine_log.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct catalog catalog = {.root = "configs"};

/* A file to be read, and where the result goes. */
struct reading {
    const char *path;
    const char *bytes; /* of the file, terminated */
    size_t n_bytes;
    unsigned variant;
    struct arena arena;
    struct diag diag;
};

/* --- The catalog --- */

static int load_gpu(struct reading *reading)
{
    struct gpu_spec gpu;
    return catalog_gpu(&catalog, reading->path, "fuzz", &reading->arena, &gpu, &reading->diag);
}

static int load_llm(struct reading *reading)
{
    struct llm_spec llm;
    return catalog_llm(&catalog, reading->path, "fuzz", &reading->arena, &llm, &reading->diag);
}

static int load_prices(struct reading *reading)
{
    struct price_list prices;
    return catalog_prices(&catalog, reading->path, "fuzz", &reading->arena, &prices, &reading->diag);
}

static int load_storage(struct reading *reading)
{
    struct storage_spec storage;
    return catalog_storage(&catalog, reading->path, "fuzz", &reading->arena, &storage, &reading->diag);
}

static int load_engine(struct reading *reading)
{
    struct engine_preset preset;
    return catalog_engine(&catalog, reading->path, "fuzz", &reading->arena, &preset, &reading->diag);
}

static int load_calibration(struct reading *reading)
{
    struct calibration calibration;
    const struct calibration_request request = {
        .gpu = "h100-sxm", .kernels = "in-model", .collectives = "isolated", .file = reading->path};
    return calibration_read(&catalog, &request, &reading->arena, &calibration, &reading->diag);
}

static int load_calibration_file(struct reading *reading)
{
    struct calibration_file file;
    return calibration_file_read(reading->path, &reading->arena, &file, &reading->diag);
}

static int load_power(struct reading *reading)
{
    struct power_file file;
    return power_file_read(&catalog, reading->path, &reading->arena, &file, &reading->diag);
}

/* --- Studies, figures, baselines --- */

static int load_study(struct reading *reading)
{
    struct study study;
    return study_load(reading->path, &reading->arena, &study, &reading->diag);
}

static int load_figure(struct reading *reading)
{
    struct figure figure;
    return figure_load("fuzz/fuzz", reading->path, NULL, &reading->arena, &figure, &reading->diag);
}

static int load_baseline(struct reading *reading)
{
    struct baseline baseline;
    return baseline_load(&baseline, reading->path, reading->variant % 2 == 0, &reading->arena, &reading->diag);
}

/* The lines before and behind the first empty line. */
static int compare_decisions(struct reading *reading)
{
    const char *gap = strstr(reading->bytes, "\n\n");
    if (gap == NULL) gap = reading->bytes + strlen(reading->bytes);
    const char *behind = *gap != 0 ? gap + 2 : gap;
    const struct decision_lines before = {.chars = reading->bytes, .n_chars = (size_t)(gap - reading->bytes)};
    const struct decision_lines now = {.chars = behind, .n_chars = strlen(behind)};
    struct divergence divergence;
    return decision_log_compare(&before, &now, &reading->arena, &divergence, &reading->diag);
}

/* --- Lists of a site --- */

static int load_availability(struct reading *reading)
{
    struct availability availability;
    int n = 0;
    while (availability_format_names[n] != NULL) n++;
    int code = availability_read(reading->path, (enum availability_format)((int)reading->variant % n), &availability,
                                 &reading->diag);
    availability_fini(&availability);
    return code;
}

static int load_nodes(struct reading *reading)
{
    struct cluster_config cluster = {.gpus_per_node = 8, .nodes_file = {reading->path, 0, reading->variant % 2 == 1}};
    struct config *document;
    int code = config_parse("fuzz", ".", "{}", 2, &document, &reading->diag);
    if (code == 0) code = cluster_config_load(&cluster, document, &catalog, &reading->arena, &reading->diag);
    config_destroy(document);
    return code;
}

static int load_sizes(struct reading *reading)
{
    struct real_list sizes = {0};
    int code = sizes_file_read(reading->path, &sizes, &reading->diag);
    real_list_fini(&sizes);
    return code;
}

static int load_log(struct reading *reading)
{
    struct engine_log log;
    const char *format;
    int code = engine_log_guess(reading->path, &format, &reading->diag);
    return code != 0 ? code : engine_log_read(reading->path, format, 0, &reading->arena, &log, &reading->diag);
}

/* --- Measurements --- */

/* A GPU that files of measurements name, read for each of them. */
static int measured_gpu(struct reading *reading, struct gpu_spec *gpu)
{
    static const char *const names[] = {"h100-sxm", "a100-80-sxm"};
    return catalog_gpu(&catalog, names[reading->variant % 2], "fuzz", &reading->arena, gpu, &reading->diag);
}

static int load_profile(struct reading *reading)
{
    struct gpu_spec gpu;
    struct profile profile;
    int code = measured_gpu(reading, &gpu);
    const struct profile_options options = {&catalog, &gpu, reading->variant % 4 < 2 ? "llama-3.1-8b" : "mixtral-8x7b", 0};
    return code != 0 ? code : profile_read(reading->path, &options, &reading->arena, &profile, &reading->diag);
}

static int load_measured(struct reading *reading)
{
    struct measured measured;
    return measured_read(reading->path, &catalog, &reading->arena, &measured, &reading->diag);
}

static int load_power_data(struct reading *reading)
{
    struct gpu_spec gpu;
    struct power_data data;
    int code = measured_gpu(reading, &gpu);
    return code != 0 ? code : power_data_read(reading->path, &catalog, &gpu, &reading->arena, &data, &reading->diag);
}

/* --- Results --- */

static int load_results(struct reading *reading)
{
    struct run_record run;
    return results_read_run(reading->path, 0, &reading->arena, &run, &reading->diag);
}

/* --- The table --- */

static const struct load_path {
    const char *name, *file;
    int (*load)(struct reading *);
} paths[] = {
    {"gpu", "x.json", load_gpu},
    {"llm", "x.json", load_llm},
    {"prices", "x.json", load_prices},
    {"storage", "x.json", load_storage},
    {"engine", "x.json", load_engine},
    {"calibration", "x.json", load_calibration},
    {"calibration-file", "x.json", load_calibration_file},
    {"power", "x.json", load_power},
    {"study", "x.json", load_study},
    {"figure", "x.json", load_figure},
    {"baseline", "x.json", load_baseline},
    {"decisions", "x.txt", compare_decisions},
    {"availability", "x.json", load_availability},
    {"nodes", "x.csv", load_nodes},
    {"sizes", "x.csv", load_sizes},
    {"log", "x.log", load_log},
    {"profile", "A6000__Llama-3.1-8B__tp2__a100_dgx.csv", load_profile},
    {"measured", "x.csv", load_measured},
    {"measured-json", "x.json", load_measured},
    {"power-data", "x.csv", load_power_data},
    {"results", "x.db", load_results},
};

enum { N_PATHS = sizeof paths / sizeof *paths };

static bool write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written;
}

static bool read_path(const struct load_path *path, struct reading *reading)
{
    arena_init(&reading->arena);
    int code = path->load(reading);
    bool sound = code == 0 ? reading->diag.n_errors == 0 : code == reading->diag.code && reading->diag.n_errors > 0;
    if (!sound)
        fprintf(stderr, "%s: code %d, %d errors, the first one's code %d\n", path->name, code, reading->diag.n_errors,
                reading->diag.code);
    arena_fini(&reading->arena);
    return sound;
}

FUZZ_TARGET(load)
{
    char directory[64], name[160];
    if (bytes < 2) return true;
    const struct load_path *path = &paths[data[0] % N_PATHS];
    char *text = malloc(bytes);
    if (text == NULL) return true;
    memcpy(text, data + 2, bytes - 2);
    text[bytes - 2] = 0;
    struct reading reading = {.path = name, .bytes = text, .n_bytes = bytes - 2, .variant = data[1]};
    snprintf(directory, sizeof directory, P_tmpdir "/orrery-load-%ld", (long)getpid());
    snprintf(name, sizeof name, "%s/%s", directory, path->file);
    mkdir(directory, 0700);
    bool sound = !write_file(name, text, bytes - 2) || strstr(text, "xtends") != NULL || read_path(path, &reading);
    unlink(name);
    rmdir(directory);
    free(text);
    return sound;
}
