/* The files of configs/calibration are what the code and the profiles give: each class predicts the rows that it was
 * fitted to with the error that its file tells, and what the files tell of rows that were left out keeps the bars.
 *
 * Profiles: microsoft/vidur @ 7f14d6ab, ai-dynamo/aiconfigurator @ 095f58a5, casys-kaist/LLMServingSim @ 5daddb21, and
 * configs/calibration/measured. */
#include "sim/catalog/calibration_file.h"
#include "sim/core/json_doc.h"
#include "tests/support/class_fit.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* Errors are kept to 1e-5, and parameters to six digits. */
static const double kept = 3e-5;

enum { MAX_FILES = 64 };

/* The profiles of one set. */
struct bench {
    struct arena arena;
    struct diag diag;
    struct json_node *sources;
    struct calibration_file file;
    size_t n_profiles;
    struct profile profiles[MAX_FILES];
    const char *names[MAX_FILES];
};

static bool bench_open(struct bench *bench, const char *name)
{
    memset(bench, 0, sizeof *bench);
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    if (!CHECK_EQ_INT(json_load(&bench->arena, "configs/calibration/sources.json", &bench->sources, &bench->diag), 0))
        return false;
    const char *path = arena_printf(&bench->arena, "configs/calibration/%s.json", name);
    return CHECK_EQ_INT(calibration_file_read(path, &bench->arena, &bench->file, &bench->diag), 0);
}

static void bench_close(struct bench *bench)
{
    arena_fini(&bench->arena);
}

/* The path in a list that ends in a file's name; NULL without one. */
static const char *path_in(const struct json_node *files, const char *file)
{
    for (const struct json_node *path = files != NULL ? files->first : NULL; path != NULL; path = path->next) {
        const char *slash = strrchr(path->text, '/');
        if (slash != NULL && strcmp(slash + 1, file) == 0) return path->text;
    }
    return NULL;
}

/* The entry of configs/calibration/sources.json that lists a profile, by the name of its file: the path as listed and
 * the GPU. The pooled fit lists files of others. */
static const char *listed_path(const struct json_node *sources, const char *file, const char **gpu)
{
    const struct json_node *entry = json_member(sources, "calibration");
    for (entry = entry != NULL ? entry->first : NULL; entry != NULL; entry = entry->next) {
        if (strcmp(entry->key, "default") == 0) continue;
        *gpu = entry->key;
        const char *path = path_in(json_member(entry, "files"), file);
        const struct json_node *sets = json_member(entry, "sets"), *set = sets != NULL ? sets->first : NULL;
        for (; path == NULL && set != NULL; set = set->next) path = path_in(set, file);
        if (path != NULL) return path;
    }
    return NULL;
}

/* Reads a profile unless that was done. Returns false without shared data. */
static bool read_profile(struct bench *bench, const struct calibration_profile *listed)
{
    for (size_t i = 0; i < bench->n_profiles; i++)
        if (strcmp(bench->names[i], listed->file) == 0) return true;
    const char *gpu_name = NULL, *path = listed_path(bench->sources, listed->file, &gpu_name);
    if (!CHECK(path != NULL && bench->n_profiles < MAX_FILES)) return false;
    const char *kernel = strchr(path, '@'); /* of those that the file names */
    const size_t n = kernel != NULL ? (size_t)(kernel - path) : strlen(path);
    const char *file = arena_printf(&bench->arena, "%.*s", (int)n, path);
    if (strncmp(path, "configs/", strlen("configs/")) != 0) file = test_shared(file);
    if (file == NULL) return false; /* without shared data */
    path = arena_printf(&bench->arena, "%s%s", file, kernel != NULL ? kernel : "");
    struct gpu_spec *gpu = arena_alloc(&bench->arena, sizeof *gpu);
    if (!CHECK(gpu != NULL && catalog_gpu(&catalog, gpu_name, "test", &bench->arena, gpu, &bench->diag) == 0))
        return false;
    const struct profile_options options = {.catalog = &catalog, .gpu = gpu};
    struct profile *profile = &bench->profiles[bench->n_profiles];
    bench->names[bench->n_profiles++] = listed->file;
    return CHECK_EQ_INT(profile_read(arena_strdup(&bench->arena, path), &options, &bench->arena, profile, &bench->diag),
                        0) &&
           CHECK_EQ_STR(profile->hash, listed->hash);
}

/* What the class's parameters make of all rows of the profiles that have it. */
static void check_class(const struct bench *bench, const char *set, enum kernel_class class,
                        const struct calibration_class *found, const struct profile *rows)
{
    const struct calibration_error *all = found->fit.items;
    struct fit_error error;
    MUST(found->fit.n > 0 && strcmp(all->name, "all") == 0);
    CHECK_EQ_INT(fit_measure(class, rows->rows, rows->n, &found->params, 0.0, (double)INFINITY, &error), 0);
    CHECK_EQ_INT(error.rows, found->rows);
    const bool is_same = fabs(error.median - all->median) < kept && fabs(error.p90 - all->p90) < kept;
    if (!is_same)
        printf("%s %s %s: %.5f / %.5f, not %.5f / %.5f\n", bench->file.gpu, set, kernel_class_info(class)->name,
               error.median, error.p90, all->median, all->p90);
    CHECK(is_same);
}

/* Reads what there is of a class's profiles; false when some are absent. */
static bool read_class(struct bench *bench, const struct calibration_class *class)
{
    const struct calibration_profile *profiles = class->profiles.items;
    bool complete = true;
    for (size_t i = 0; i < class->profiles.n; i++) complete = read_profile(bench, &profiles[i]) && complete;
    return complete;
}

static void check_set(struct bench *bench, const struct calibration_set *set)
{
    struct profile joined;
    bool complete[KERNEL_CLASS_COUNT];
    bench->n_profiles = 0;
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) complete[c] = read_class(bench, &set->classes[c]);
    if (bench->n_profiles == 0) return;
    CHECK_EQ_INT(profile_join(bench->profiles, bench->n_profiles, &bench->arena, &joined, &bench->diag), 0);
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
        if (set->classes[c].rows > 0 && complete[c])
            check_class(bench, set->name, (enum kernel_class)c, &set->classes[c], &joined);
}

static void check_file(const char *name)
{
    struct bench *bench = mem_alloc(sizeof *bench);
    MUST(bench != NULL);
    if (bench_open(bench, name)) {
        const struct calibration_set *sets = bench->file.sets.items;
        for (size_t i = 0; i < bench->file.sets.n; i++) check_set(bench, &sets[i]);
    }
    bench_close(bench);
    mem_free(bench);
}

TEST_OPTIMISED(files_contain_the_error_of_their_fit)
{
    struct arena arena;
    struct json_node *sources;
    int n = 0;
    arena_init(&arena);
    MUST(json_load(&arena, "configs/calibration/sources.json", &sources, NULL) == 0);
    const struct json_node *entries = json_member(sources, "calibration");
    MUST(entries != NULL);
    for (const struct json_node *entry = entries->first; entry != NULL; entry = entry->next) {
        if (json_member(entry, "files") == NULL && json_member(entry, "sets") == NULL) continue; /* like another GPU */
        check_file(entry->key);
        n++;
    }
    CHECK(n >= 10);
    arena_fini(&arena);
}

/* --- what was left out --- */

static const struct calibration_error *find_error(const struct config_list *list, const char *name)
{
    const struct calibration_error *errors = list->items;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(errors[i].name, name) == 0) return &errors[i];
    return NULL;
}

static void check_bar(const struct config_list *list, const char *name, double median, double p90)
{
    const struct calibration_error *error = find_error(list, name);
    if (!CHECK(error != NULL && error->rows > 0)) return;
    CHECK(error->median <= median);
    CHECK(error->p90 <= p90);
}

static const struct calibration_held_out *held_out(const struct bench *bench, const char *set, enum kernel_class class)
{
    static const struct calibration_held_out nothing = {.by = "nothing"};
    const struct calibration_set *found = calibration_file_set(&bench->file, set);
    return CHECK(found != NULL && found->classes[class].held_out.by != NULL) ? &found->classes[class].held_out
                                                                             : &nothing;
}

/* Vidur's products, one LLM left out: medians and 90th percentiles, the median of the band of 17-256 tokens, and those
 * of a roofline with three parameters. */
TEST(products_of_unseen_llms)
{
    static const struct {
        const char *gpu;
        size_t llms;
        double median, p90, band, roofline, roofline_p90;
    } bars[] = {{"a100-80-sxm", 6, 0.052, 0.145, 0.065, 0.058, 0.170},
                {"h100-sxm", 4, 0.065, 0.180, 0.062, 0.084, 0.229},
                {"a40", 4, 0.058, 0.175, 0.070, 0.065, 0.206}};
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        static struct bench bench;
        if (bench_open(&bench, bars[i].gpu)) {
            const struct calibration_held_out *gemm = held_out(&bench, "in-model", KERNEL_GEMM);
            const struct calibration_error *folds = gemm->folds.items;
            const struct calibration_error *roofline = find_error(&gemm->roofline, "all");
            CHECK_EQ_STR(gemm->by, "llm");
            CHECK_EQ_INT(gemm->folds.n, bars[i].llms);
            check_bar(&gemm->error, "all", bars[i].median, bars[i].p90);
            check_bar(&gemm->error, "17-256", bars[i].band, 1.0);
            check_bar(&gemm->layer_sum, "all", 0.05, 0.12);
            for (size_t j = 0; j < gemm->folds.n; j++) check_bar(&gemm->folds, folds[j].name, 0.075, 0.23);
            MUST(roofline != NULL);
            CHECK_NEAR(roofline->median, bars[i].roofline, 0.002);
            CHECK_NEAR(roofline->p90, bars[i].roofline_p90, 0.003);
        }
        bench_close(&bench);
    }
}

/* aiconfigurator's kernels, and our own of the H200, a fifth of the shapes or pairs of heads left out. */
TEST(kernels_of_unseen_shapes)
{
    static const struct {
        enum kernel_class class;
        const char *gpu, *cut;
        double median, p90;
    } bars[] = {
        {KERNEL_GEMM, "a100-80-sxm", "all", 0.072, 0.25},
        {KERNEL_GEMM, "a100-80-sxm", "nk-512-", 0.056, 0.185},
        {KERNEL_GEMM, "h100-sxm", "all", 0.058, 0.25},
        {KERNEL_GEMM, "h100-sxm", "nk-512-", 0.056, 0.185},
        {KERNEL_DECODE_ATTENTION, "a100-80-sxm", "all", 0.052, 0.195},
        {KERNEL_DECODE_ATTENTION, "h100-sxm", "all", 0.063, 0.26},
        {KERNEL_PREFILL_ATTENTION, "a100-80-sxm", "all", 0.058, 0.265},
        {KERNEL_PREFILL_ATTENTION, "h100-sxm", "all", 0.088, 0.32},
        {KERNEL_GEMM, "h200-sxm", "all", 0.035, 0.135},
        {KERNEL_GEMM, "h200-sxm", "17-256", 0.045, 0.150},
        {KERNEL_DECODE_ATTENTION, "h200-sxm", "all", 0.049, 0.150},
        {KERNEL_PREFILL_ATTENTION, "h200-sxm", "all", 0.028, 0.080},
        {KERNEL_MOE, "a100-80-sxm", "all", 0.10, 1.0},
        {KERNEL_MOE, "h100-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_REDUCE, "a100-80-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_REDUCE, "h100-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_GATHER, "a100-80-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_GATHER, "h100-sxm", "all", 0.10, 1.0},
        {KERNEL_REDUCE_SCATTER, "a100-80-sxm", "all", 0.10, 1.0},
        {KERNEL_REDUCE_SCATTER, "h100-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_TO_ALL, "a100-80-sxm", "all", 0.10, 1.0},
        {KERNEL_ALL_TO_ALL, "h100-sxm", "all", 0.10, 1.0},
    };
    static const char *const gpus[] = {"a100-80-sxm", "h100-sxm", "h200-sxm"};
    for (size_t gpu = 0; gpu < sizeof gpus / sizeof *gpus; gpu++) {
        static struct bench bench;
        const bool open = bench_open(&bench, gpus[gpu]);
        for (size_t i = 0; open && i < sizeof bars / sizeof *bars; i++)
            if (strcmp(bars[i].gpu, gpus[gpu]) == 0)
                check_bar(&held_out(&bench, "isolated", bars[i].class)->error, bars[i].cut, bars[i].median,
                          bars[i].p90);
        bench_close(&bench);
    }
}

/* Prompts over keys expanded from latent vectors, by the tolerances of configs/calibration/releases/README.md, which
 * precede the fit. */
TEST(prompts_in_latent_attention)
{
    static const char *const gpus[] = {"h100-sxm", "b200-sxm"};
    static struct bench bench;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        if (bench_open(&bench, gpus[i]))
            check_bar(&held_out(&bench, "trtllm-1.3", KERNEL_LATENT_PREFILL)->error, "all", 0.08, 0.25);
        bench_close(&bench);
    }
}

/* The B200 with vLLM 0.24, by the tolerances of configs/calibration/releases/README.md, which precede the fit. Products
 * in fp8_block come from TensorRT-LLM. */
TEST(kernels_of_the_b200)
{
    static const struct {
        enum kernel_class class;
        const char *set;
        double median, p90;
    } bars[] = {
        {KERNEL_GEMM, "vllm-0.24", 0.07, 0.20},
        {KERNEL_GEMM_NVFP4, "vllm-0.24", 0.07, 0.20},
        {KERNEL_PREFILL_ATTENTION, "vllm-0.24", 0.08, 0.25},
        {KERNEL_DECODE_ATTENTION, "vllm-0.24", 0.08, 0.25},
        {KERNEL_GEMM_FP8_BLOCK, "trtllm-1.3", 0.07, 0.20},
        {KERNEL_GEMM_FP8, "trtllm-1.3", 0.07, 0.20},
        {KERNEL_GEMM_FP8, "vllm-0.24", 0.07, 0.20},
    };
    static struct bench bench;
    if (bench_open(&bench, "b200-sxm"))
        for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
            const struct calibration_held_out *found = held_out(&bench, bars[i].set, bars[i].class);
            CHECK_EQ_INT(found->folds.n, 5);
            check_bar(&found->error, "all", bars[i].median, bars[i].p90);
        }
    bench_close(&bench);
}
