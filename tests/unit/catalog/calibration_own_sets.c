/* Sets that an engine names for its own kernels, its experts and its all-reduce: where they count, and where they are
 * refused. */
#include "sim/catalog/calibration.h"
#include "sim/core/path.h"
#include "tests/support/calibration_fixture.h"
#include "tests/support/harness.h"

#include <sys/stat.h>

/* A catalog of two GPUs, "mine" and "other", and what was read of the first. */
struct bench {
    const char *gpu_path, *other_path;
    struct catalog catalog;
    struct arena arena;
    struct diag diag;
    struct calibration calibration;
};

static void set_up(struct bench *bench)
{
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    bench->catalog = (struct catalog){.root = arena_strdup(&bench->arena, test_tmpdir())};
    const char *folder = path_join(&bench->arena, bench->catalog.root, "calibration");
    MUST(folder != NULL && mkdir(folder, 0777) == 0);
    bench->gpu_path = path_join(&bench->arena, folder, "mine.json");
    bench->other_path = path_join(&bench->arena, folder, "other.json");
    MUST(bench->gpu_path != NULL && bench->other_path != NULL);
}

static int read_mine(struct bench *bench, const struct calibration_request *request)
{
    return calibration_read(&bench->catalog, request, &bench->arena, &bench->calibration, &bench->diag);
}

static void check_class(const struct bench *bench, enum kernel_class class, double start_s, const char *origin)
{
    CHECK(bench->calibration.kernels.params[class].values[0] == start_s);
    CHECK_EQ_STR(bench->calibration.origin[class], origin);
}

/* Kernels of an engine's own have a set of their own, where the file has it and it has the class. */
TEST(sets_are_chosen_apart_for_own_kernels)
{
    static const struct calibration_part mine[] = {
        {"isolated", KERNEL_GEMM, 1e-6, 100.0, NULL}, {"isolated", KERNEL_MOE, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_MOE_FP8, 1e-6, 100.0, NULL}, {"isolated", KERNEL_ALL_REDUCE, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_GEMM_FP8, 1e-6, 100.0, NULL}, {"isolated", KERNEL_GEMM_FP8_BLOCK, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_GEMM_INT4, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_DIRECT_ALL_REDUCE, 1e-6, 100.0, NULL}, {"engine-1.0", KERNEL_GEMM, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_MOE, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_ALL_REDUCE, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_DIRECT_ALL_REDUCE, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_GEMM_FP8, 3e-6, 200.0, NULL}, {"engine-1.0", KERNEL_GEMM_NVFP4, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_GEMM_INT4, 3e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_LATENT_DECODE, 5e-6, 200.0, NULL},
        {"engine-1.0", KERNEL_LATENT_PREFILL, 6e-6, 200.0, NULL},
    };
    static const struct calibration_part others[] = {{"engine-2.0", KERNEL_MOE, 8e-6, 200.0, NULL},
                                                     {"engine-2.0", KERNEL_DIRECT_ALL_REDUCE, 8e-6, 200.0, NULL}};
    static const char *const own[] = {NULL, "isolated", "engine-1.0", "engine-2.0"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct bench bench;
        set_up(&bench);
        calibration_fixture_write(bench.gpu_path, mine, sizeof mine / sizeof *mine);
        calibration_fixture_write(bench.other_path, others,
                                  sizeof others / sizeof *others);
        const struct calibration_request request = {
            .gpu = "mine", .kernels = "isolated", .collectives = "isolated", .own_kernels = own[i], .own_all_reduce = own[i]};
        MUST(read_mine(&bench, &request) == 0);
        check_class(&bench, KERNEL_GEMM, 1e-6, "isolated");
        check_class(&bench, KERNEL_GEMM_FP8, i == 2 ? 3e-6 : 1e-6, i == 2 ? "engine-1.0" : "isolated");
        check_class(&bench, KERNEL_GEMM_FP8_BLOCK, 1e-6, "isolated");
        check_class(&bench, KERNEL_GEMM_NVFP4, 3e-6, "engine-1.0");
        check_class(&bench, KERNEL_GEMM_INT4, 1e-6, "isolated"); /* its activations have 16 bits */
        check_class(&bench, KERNEL_MOE, i == 2 ? 3e-6 : 1e-6, i == 2 ? "engine-1.0" : "isolated");
        check_class(&bench, KERNEL_DIRECT_ALL_REDUCE, i == 2 ? 3e-6 : 1e-6, i == 2 ? "engine-1.0" : "isolated");
        check_class(&bench, KERNEL_ALL_REDUCE, 1e-6, "isolated");
        check_class(&bench, KERNEL_MOE_FP8, 1e-6, "isolated");
        check_class(&bench, KERNEL_LATENT_DECODE, 5e-6, "engine-1.0");
        check_class(&bench, KERNEL_LATENT_PREFILL, 6e-6, "engine-1.0");
        arena_fini(&bench.arena);
    }
}

/* A set that a GPU lacks is silent, one that no GPU has such kernels in is an error: it would never have an effect. */
TEST(sets_of_own_kernels_exist_on_some_gpu)
{
    static const struct calibration_part mine[] = {{"isolated", KERNEL_GEMM, 1e-6, 100.0, NULL}};
    static const struct calibration_part others[] = {{"products", KERNEL_GEMM_FP8, 8e-6, 9.0, NULL},
                                                     {"experts", KERNEL_MOE, 8e-6, 9.0, NULL},
                                                     {"sums", KERNEL_DIRECT_ALL_REDUCE, 8e-6, 9.0, NULL}};
    static const struct {
        const char *own_kernels, *experts, *own_all_reduce, *error;
    } cases[] = {{"products", "experts", "sums", NULL},
                 {"experts", NULL, NULL, NULL},
                 {"product", NULL, NULL, "'own_kernels': no GPU has a set 'product' with such kernels"},
                 {"sums", NULL, NULL, "'own_kernels': no GPU has a set 'sums' with such kernels"},
                 {NULL, "expert", NULL, "'experts': no GPU has a set 'expert' with such kernels"},
                 {NULL, "products", NULL, "'experts': no GPU has a set 'products' with such kernels"},
                 {NULL, NULL, "sum", "'own_all_reduce': no GPU has a set 'sum' with such kernels"},
                 {NULL, NULL, "experts", "'own_all_reduce': no GPU has a set 'experts' with such kernels"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench bench;
        set_up(&bench);
        calibration_fixture_write(bench.gpu_path, mine, 1);
        calibration_fixture_write(bench.other_path, others, 3);
        const struct calibration_request request = {.gpu = "mine", .kernels = "isolated", .collectives = "isolated",
                                                    .own_kernels = cases[i].own_kernels, .experts = cases[i].experts,
                                                    .own_all_reduce = cases[i].own_all_reduce, .sets_where = "p.json"};
        const int code = read_mine(&bench, &request);
        CHECK_EQ_INT(code, cases[i].error ? SIM_E_CONFIG : 0);
        if (cases[i].error && bench.diag.n_items > 0) {
            CHECK_EQ_STR(bench.diag.items[0].text, cases[i].error);
            CHECK_EQ_STR(bench.diag.items[0].where, "p.json");
        }
        arena_fini(&bench.arena);
    }
}

/* Experts alone may have another set than an engine's other kernels; where it lacks a class, theirs counts. */
TEST(experts_may_have_another_set_than_own_kernels)
{
    static const struct calibration_part mine[] = {
        {"own", KERNEL_MOE, 3e-6, 9.0, NULL}, {"own", KERNEL_MOE_FP8, 3e-6, 9.0, NULL},
        {"own", KERNEL_LATENT_DECODE, 5e-6, 9.0, NULL}, {"other", KERNEL_MOE_FP8, 7e-6, 9.0, NULL}};
    const struct calibration_request request = {
        .gpu = "mine", .kernels = "own", .collectives = "own", .own_kernels = "own", .experts = "other"};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, mine, sizeof mine / sizeof *mine);
    MUST(read_mine(&bench, &request) == 0);
    check_class(&bench, KERNEL_MOE_FP8, 7e-6, "other");
    check_class(&bench, KERNEL_MOE, 3e-6, "own");
    arena_fini(&bench.arena);
}
