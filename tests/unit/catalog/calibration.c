#include "sim/catalog/calibration.h"
#include "sim/catalog/calibration_file.h"
#include "tests/support/calibration_fixture.h"
#include "tests/support/harness.h"

#include <sys/stat.h>
#include <unistd.h>

/* A catalog in a directory of its own, and the calibration that a test loads from it. */
struct bench {
    char root[256], gpu_path[300], default_path[300];
    struct catalog catalog;
    struct arena arena;
    struct diag diag;
    char message[1200]; /* the first finding */
    struct calibration calibration;
};

static void set_up(struct bench *bench)
{
    char folder[300];
    snprintf(bench->root, sizeof bench->root, "%s", test_tmpdir());
    snprintf(folder, sizeof folder, "%s/calibration", bench->root);
    MUST(mkdir(folder, 0777) == 0);
    snprintf(bench->gpu_path, sizeof bench->gpu_path, "%s/calibration/mine.json", bench->root);
    snprintf(bench->default_path, sizeof bench->default_path, "%s/calibration/default.json", bench->root);
    bench->catalog = (struct catalog){.root = bench->root};
    arena_init(&bench->arena);
    diag_init(&bench->diag);
}

static int load(struct bench *bench, const char *name, const char *set)
{
    diag_init(&bench->diag);
    const int code = calibration_load(&bench->catalog, name, set, &bench->arena, &bench->calibration, &bench->diag);
    bench->message[0] = 0;
    if (bench->diag.n_items > 0) diag_format(&bench->diag.items[0], bench->message, sizeof bench->message);
    return code;
}

static void check_class(const struct bench *bench, enum kernel_class class, double start_s, const char *origin)
{
    CHECK(bench->calibration.kernels.params[class].values[0] == start_s);
    CHECK_EQ_STR(bench->calibration.origin[class], origin);
}

TEST(classes_come_from_the_nearest_set)
{
    static const struct calibration_part mine[] = {
        {"isolated", KERNEL_GEMM, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_NORM, 2e-6, 100.0, NULL},
        {"in-model", KERNEL_GEMM, 3e-6, 200.0, NULL},
    };
    static const struct calibration_part defaults[] = {
        {"in-model", KERNEL_GEMM, 4e-6, 0.0, NULL},
        {"in-model", KERNEL_ROTARY, 5e-6, 300.0, NULL},
    };
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, mine, sizeof mine / sizeof *mine);
    calibration_fixture_write(bench.default_path, defaults, sizeof defaults / sizeof *defaults);
    MUST(load(&bench, "mine", "in-model") == 0);
    const struct kernel_range *ranges = bench.calibration.kernels.ranges;
    CHECK(bench.calibration.calibrated);
    check_class(&bench, KERNEL_GEMM, 3e-6, "in-model");
    check_class(&bench, KERNEL_NORM, 2e-6, "isolated");
    check_class(&bench, KERNEL_ROTARY, 5e-6, "default");
    check_class(&bench, KERNEL_MOE, kernel_class_info(KERNEL_MOE)->params[0].initial, "initial");
    CHECK(ranges[KERNEL_GEMM].fitted && ranges[KERNEL_GEMM].high[2] == 200.0 && ranges[KERNEL_GEMM].low[0] == 0.0);
    CHECK(ranges[KERNEL_NORM].fitted && !ranges[KERNEL_ROTARY].fitted && !ranges[KERNEL_MOE].fitted);
    MUST(load(&bench, "mine", "isolated") == 0);
    check_class(&bench, KERNEL_GEMM, 1e-6, "isolated");
    MUST(load(&bench, bench.gpu_path, "isolated") == 0);
    check_class(&bench, KERNEL_GEMM, 1e-6, "isolated");
    MUST(load(&bench, "another", "in-model") == 0);
    CHECK(!bench.calibration.calibrated && !bench.calibration.kernels.ranges[KERNEL_GEMM].fitted);
    check_class(&bench, KERNEL_GEMM, 4e-6, "default");
    arena_fini(&bench.arena);
}

/* The defaults are left alone by who needs nothing of them. */
TEST(sets_are_chosen_apart_for_collectives)
{
    static const struct calibration_part mine[] = {
        {"isolated", KERNEL_GEMM, 1e-6, 100.0, NULL},
        {"isolated", KERNEL_SEND, 1e-6, 100.0, NULL},
        {"in-model", KERNEL_GEMM, 3e-6, 200.0, NULL},
        {"in-model", KERNEL_SEND, 3e-6, 200.0, NULL},
    };
    static const bool needed[KERNEL_CLASS_COUNT] = {[KERNEL_GEMM] = true, [KERNEL_SEND] = true};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, mine, sizeof mine / sizeof *mine);
    test_write(bench.default_path, "%s", "");
    const struct calibration_request request = {
        .gpu = "mine", .kernels = "in-model", .collectives = "isolated", .needed = needed};
    MUST(calibration_read(&bench.catalog, &request, &bench.arena, &bench.calibration, &bench.diag) == 0);
    check_class(&bench, KERNEL_GEMM, 3e-6, "in-model");
    check_class(&bench, KERNEL_SEND, 1e-6, "isolated");
    CHECK_EQ_INT(load(&bench, "mine", "in-model"), SIM_E_CONFIG);
    arena_fini(&bench.arena);
}

/* Unmeasured contiguous experts cost what the fused kernel does, and nothing for experts elsewhere. */
TEST(unmeasured_contiguous_experts_are_the_fused_kernel)
{
    static const struct calibration_part mine[] = {{"isolated", KERNEL_MOE_FP8, 1e-6, 100.0, NULL}};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, mine, 1);
    MUST(load(&bench, "mine", "isolated") == 0);
    const union kernel_params *params = bench.calibration.kernels.params;
    struct moe_params fused = params[KERNEL_MOE_FP8].moe;
    CHECK(bench.calibration.borrowed[KERNEL_MOE_FP8_CONTIGUOUS]);
    fused.spared_frac = 1.0;
    CHECK(memcmp(&params[KERNEL_MOE_FP8_CONTIGUOUS].moe, &fused, sizeof fused) == 0);
    arena_fini(&bench.arena);
}

/* A chip that was not measured is like another one, but outside of what was fitted there. */
TEST(what_is_missing_comes_from_a_gpu_alike)
{
    static const struct calibration_part mine[] = {{"isolated", KERNEL_GEMM, 1e-6, 100.0, NULL},
                                                   {"in-model", KERNEL_NORM, 2e-6, 100.0, NULL}};
    static const struct calibration_part defaults[] = {{"in-model", KERNEL_GEMM, 4e-6, 0.0, NULL},
                                                       {"in-model", KERNEL_ROTARY, 5e-6, 0.0, NULL}};
    char path[300];
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, mine, 2);
    calibration_fixture_write(bench.default_path, defaults, 2);
    snprintf(path, sizeof path, "%s/calibration/twin.json", bench.root);
    test_write(path, "{'gpu': 'twin', 'like': 'mine', 'sets': {}}");
    MUST(load(&bench, "twin", "in-model") == 0);
    CHECK(!bench.calibration.calibrated && !bench.calibration.kernels.ranges[KERNEL_NORM].fitted);
    check_class(&bench, KERNEL_GEMM, 1e-6, "mine");
    check_class(&bench, KERNEL_NORM, 2e-6, "mine");
    check_class(&bench, KERNEL_ROTARY, 5e-6, "default");
    arena_fini(&bench.arena);
}

static int read_asked_for(struct bench *bench, const char *gpu, const char *file, const char *set)
{
    const struct calibration_request request = {
        .gpu = gpu, .kernels = set, .collectives = set, .file = file, .where = "s.json:1:1", .sets_where = "e.json"};
    diag_init(&bench->diag);
    const int code = calibration_read(&bench->catalog, &request, &bench->arena, &bench->calibration, &bench->diag);
    bench->message[0] = 0;
    if (bench->diag.n_items > 0) diag_format(&bench->diag.items[0], bench->message, sizeof bench->message);
    return code;
}

/* One's own measurements go before the shipped ones, which stay where there are none. */
TEST(a_calibration_asked_for_stands_beside_the_own_one)
{
    static const struct calibration_part asked[] = {{"in-model", KERNEL_GEMM, 7e-6, 50.0, NULL}};
    static const struct calibration_part own[] = {{"in-model", KERNEL_GEMM, 1e-6, 100.0, NULL},
                                                  {"in-model", KERNEL_NORM, 2e-6, 100.0, NULL}};
    static const struct calibration_part defaults[] = {{"in-model", KERNEL_GEMM, 4e-6, 0.0, NULL},
                                                       {"in-model", KERNEL_ROTARY, 5e-6, 0.0, NULL}};
    char path[300];
    struct bench bench;
    set_up(&bench);
    snprintf(path, sizeof path, "%s/asked.json", bench.root);
    calibration_fixture_write(path, asked, 1);
    calibration_fixture_write(bench.default_path, defaults, 2);
    snprintf(bench.gpu_path, sizeof bench.gpu_path, "%s/calibration/made-up.json", bench.root);
    calibration_fixture_write(bench.gpu_path, own, 2);
    for (int i = 0; i < 2; i++) {
        MUST((i > 0 ? load(&bench, path, "in-model") : read_asked_for(&bench, "made-up", path, "in-model")) == 0);
        check_class(&bench, KERNEL_GEMM, 7e-6, "in-model");
        check_class(&bench, KERNEL_NORM, 2e-6, "in-model");
        check_class(&bench, KERNEL_ROTARY, 5e-6, "default");
        CHECK(bench.calibration.calibrated && bench.diag.n_items == 0);
        CHECK(bench.calibration.kernels.ranges[KERNEL_GEMM].high[0] == 50.0);
        CHECK(bench.calibration.kernels.ranges[KERNEL_NORM].high[0] == 100.0);
    }
    MUST(read_asked_for(&bench, "made-up", "made-up", "in-model") == 0);
    check_class(&bench, KERNEL_GEMM, 1e-6, "in-model");
    arena_fini(&bench.arena);
}

TEST(the_defaults_asked_for_calibrate_nothing)
{
    static const struct calibration_part own[] = {{"in-model", KERNEL_GEMM, 1e-6, 100.0, NULL}};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, own, 1);
    test_write(bench.default_path, "{'gpu': 'default', 'sets': {'in-model': {}}}");
    for (int i = 0; i < 2; i++) {
        MUST(read_asked_for(&bench, "mine", i > 0 ? bench.default_path : "default", "in-model") == 0);
        CHECK(!bench.calibration.calibrated && bench.diag.n_items == 0);
        CHECK_EQ_STR(bench.calibration.origin[KERNEL_GEMM], "initial");
    }
    arena_fini(&bench.arena);
}

static void check_message(const struct bench *bench, const char *expected)
{
    if (strstr(bench->message, expected) == NULL) CHECK_EQ_STR(bench->message, expected);
}

TEST(unknown_sets_are_errors)
{
    static const struct calibration_part own[] = {{"in-model", KERNEL_GEMM, 1e-6, 100.0, NULL}};
    static const struct calibration_part defaults[] = {{"isolated", KERNEL_GEMM, 1e-6, 0.0, NULL}};
    char twin[300];
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, own, 1);
    calibration_fixture_write(bench.default_path, defaults, 1);
    CHECK_EQ_INT(read_asked_for(&bench, "mine", NULL, "isolated"), 0);
    CHECK_EQ_INT(read_asked_for(&bench, "mine", NULL, "isolatd"), SIM_E_CONFIG);
    check_message(&bench, "e.json: error: no calibration of this GPU has a set 'isolatd'; did you mean 'isolated'?");
    CHECK_EQ_INT(load(&bench, "mine", "nonsense"), SIM_E_CONFIG);
    check_message(&bench, "error: no calibration of this GPU has a set 'nonsense'");
    CHECK_EQ_INT(read_asked_for(&bench, "mine", "mime", "in-model"), SIM_E_CONFIG);
    check_message(&bench, "s.json:1:1: error: unknown calibration 'mime'; did you mean 'mine'?");
    CHECK_EQ_INT(read_asked_for(&bench, "mine", "nowhere.json", "in-model"), SIM_E_CONFIG);
    check_message(&bench, "s.json:1:1: error: there is no calibration 'nowhere.json'");
    snprintf(twin, sizeof twin, "%s/calibration/sources.json", bench.root); /* lies there, and is no calibration */
    test_write(twin, "{}");
    CHECK_EQ_INT(read_asked_for(&bench, "mine", "sources", "in-model"), SIM_E_CONFIG);
    check_message(&bench, "unknown calibration 'sources'");
    snprintf(twin, sizeof twin, "%s/calibration/twin.json", bench.root);
    test_write(twin, "{'gpu': 'twin', 'like': 'mime', 'sets': {}}");
    CHECK_EQ_INT(load(&bench, "twin", "in-model"), SIM_E_CONFIG);
    check_message(&bench, "twin.json: error: unknown calibration 'mime'; did you mean 'mine'?");
    arena_fini(&bench.arena);
}

TEST(a_calibration_of_another_gpu_is_warned_of)
{
    static const struct calibration_part parts[] = {{"in-model", KERNEL_GEMM, 1e-6, 100.0, NULL}};
    char twin[300];
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, parts, 1);
    MUST(read_asked_for(&bench, "k80", bench.gpu_path, "in-model") == 0);
    CHECK(bench.diag.n_warnings == 1);
    check_message(&bench, "' is of 'made-up', but the GPU is 'k80'");
    snprintf(twin, sizeof twin, "%s/calibration/k80.json", bench.root);
    test_write(twin, "{'gpu': 'k80', 'like': 'made-up', 'sets': {}}");
    snprintf(twin, sizeof twin, "%s/calibration/made-up.json", bench.root);
    calibration_fixture_write(twin, parts, 1);
    MUST(read_asked_for(&bench, "k80", bench.gpu_path, "in-model") == 0);
    CHECK(bench.diag.n_items == 0);
    MUST(read_asked_for(&bench, "made-up", bench.gpu_path, "in-model") == 0);
    CHECK(bench.diag.n_items == 0);
    arena_fini(&bench.arena);
}

TEST(without_files_the_initial_values_hold)
{
    struct bench bench;
    struct kernel_set initial;
    set_up(&bench);
    kernel_set_init(&initial);
    MUST(load(&bench, "mine", "in-model") == 0);
    CHECK(!bench.calibration.calibrated);
    CHECK(memcmp(&bench.calibration.kernels, &initial, sizeof initial) == 0);
    arena_fini(&bench.arena);
}

TEST(products_with_4_bit_weights_follow_those_with_16)
{
    static const struct calibration_part parts[] = {{"in-model", KERNEL_GEMM, 3e-6, 200.0, ""}};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, parts, 1);
    MUST(load(&bench, "mine", "in-model") == 0);
    const struct calibration *read = &bench.calibration;
    CHECK(read->kernels.params[KERNEL_GEMM_INT4].gemm.start_s == read->kernels.params[KERNEL_GEMM].gemm.start_s);
    CHECK_EQ_STR(read->origin[KERNEL_GEMM_INT4], "in-model");
    CHECK(read->kernels.ranges[KERNEL_GEMM].fitted && !read->kernels.ranges[KERNEL_GEMM_INT4].fitted);
    arena_fini(&bench.arena);
}

TEST(writing_the_cache_follows_residual_sums)
{
    static const struct calibration_part parts[] = {{"in-model", KERNEL_RESIDUAL, 3e-6, 200.0, ""}};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, parts, 1);
    MUST(load(&bench, "mine", "in-model") == 0);
    const struct calibration *read = &bench.calibration;
    check_class(&bench, KERNEL_KV_WRITE, 3e-6, "in-model");
    CHECK(read->kernels.ranges[KERNEL_RESIDUAL].fitted && !read->kernels.ranges[KERNEL_KV_WRITE].fitted);
    arena_fini(&bench.arena);
}

/* The catalog's: aiconfigurator and LLMServingSim time the whole call of the layer, Vidur the kernel alone. */
TEST(attention_writes_the_cache_as_measured)
{
    static const struct {
        const char *gpu, *set;
        bool writes;
    } cases[] = {{"a100-80-sxm", "in-model", false}, {"a100-80-sxm", "isolated", true}, {"h100-sxm", "in-model", true},
                 {"rtx-4090", "in-model", true},     {"h200-sxm", "isolated", false},    {"l4", "isolated", true}};
    const struct catalog catalog = {.root = "configs"};
    struct bench bench;
    arena_init(&bench.arena);
    diag_init(&bench.diag);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int code = calibration_load(&catalog, cases[i].gpu, cases[i].set, &bench.arena, &bench.calibration,
                                          &bench.diag);
        MUST(CHECK_EQ_INT(code, 0));
        CHECK_EQ_INT(calibration_writes_kv(&bench.calibration), cases[i].writes);
    }
    arena_fini(&bench.arena);
}

/* The catalog's: of the H100 one set alone has rows of decoding whose window cuts the context. */
TEST(sets_of_a_gpu_share_the_time_of_a_window)
{
    static const char *const sets[] = {"vllm-0.24", "isolated", "trtllm-1.3"};
    const struct catalog catalog = {.root = "configs"};
    struct bench bench;
    double window_s = 0.0;
    arena_init(&bench.arena);
    diag_init(&bench.diag);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        MUST(calibration_load(&catalog, "h100-sxm", sets[i], &bench.arena, &bench.calibration, &bench.diag) == 0);
        const struct decode_params *params = &bench.calibration.kernels.params[KERNEL_DECODE_ATTENTION].decode;
        if (i == 0) window_s = params->window_s;
        CHECK(params->window_s > 1e-6 && params->window_s == window_s);
    }
    MUST(calibration_load(&catalog, "a100-80-sxm", "isolated", &bench.arena, &bench.calibration, &bench.diag) == 0);
    CHECK(bench.calibration.kernels.params[KERNEL_DECODE_ATTENTION].decode.window_s == 0.0);
    arena_fini(&bench.arena);
}

/* The shipped ranges: what was measured with heads of 128 in 16 bits says nothing about latent vectors, about weights
 * that are unpacked on the way, nor about launches that serve prompts and decoding sequences together. */
TEST(what_changes_a_kernel_is_outside)
{
    const struct catalog catalog = {.root = "configs"};
    struct kernel_call decode = {.class = KERNEL_DECODE_ATTENTION,
                                 .shape.decode = {.sequences = 64.0, .context = 1000.0, .q_heads = 32.0, .kv_heads = 1.0,
                                                  .key_dim = 128.0, .value_dim = 128.0, .kv = FORMAT_BF16,
                                                  .compute = FORMAT_BF16}};
    struct kernel_call product = {.class = KERNEL_GEMM, .shape.gemm = {512.0, 4096.0, 4096.0, FORMAT_BF16, FORMAT_BF16}};
    struct kernel_call chunk = {.class = KERNEL_PREFILL_ATTENTION,
                                .shape.prefill = {.sequences = 1.0, .tokens = 512.0, .q_heads = 32.0, .kv_heads = 8.0,
                                                  .key_dim = 128.0, .value_dim = 128.0, .kv = FORMAT_FP16,
                                                  .compute = FORMAT_BF16}};
    struct bench bench;
    arena_init(&bench.arena);
    diag_init(&bench.diag);
    MUST(calibration_load(&catalog, "a100-80-sxm", "isolated", &bench.arena, &bench.calibration, &bench.diag) == 0);
    const struct kernel_set *set = &bench.calibration.kernels;
    CHECK(kernel_in_range(set, &decode) && kernel_in_range(set, &product) && kernel_in_range(set, &chunk));
    chunk.shape.prefill.decodes = 4.0;
    CHECK(!kernel_in_range(set, &chunk));
    product.shape.gemm.weights = FORMAT_FP8;
    CHECK(!kernel_in_range(set, &product));
    decode.shape.decode.kv = FORMAT_INT8;
    CHECK(!kernel_in_range(set, &decode));
    decode.shape.decode.kv = FORMAT_BF16;
    decode.shape.decode.key_dim = 576.0;
    decode.shape.decode.value_dim = 512.0;
    CHECK(!kernel_in_range(set, &decode));
    decode.shape.decode.key_dim = decode.shape.decode.value_dim = 128.0;
    decode.shape.decode.shared_kv = true;
    CHECK(!kernel_in_range(set, &decode));
    arena_fini(&bench.arena);
}

TEST(what_a_fit_left_is_read)
{
    static const struct calibration_part parts[] = {
        {"in-model", KERNEL_GEMM, 3e-6, 200.0,
         ", 'profiles': [{'file': 'a.csv', 'hash': 'beef'}],"
         " 'fit': {'all': {'rows': 9, 'median': 0.05, 'p90': 0.1, 'worst': 0.7, 'bias': -0.01}},"
         " 'held_out': {'by': 'llm', 'error': {'17-256': {'rows': 3, 'median': 0.2, 'p90': 0.3, 'worst': 0.4,"
         " 'bias': 0}}, 'folds': {}}"},
    };
    struct bench bench;
    struct calibration_file file;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, parts, 1);
    MUST(calibration_file_read(bench.gpu_path, &bench.arena, &file, &bench.diag) == 0);
    CHECK_EQ_STR(file.gpu, "made-up");
    CHECK(calibration_file_set(&file, "isolated") == NULL);
    const struct calibration_class *gemm = &calibration_file_set(&file, "in-model")->classes[KERNEL_GEMM];
    const struct calibration_error *fit = gemm->fit.items, *band = gemm->held_out.error.items;
    MUST(gemm->rows == 7 && gemm->profiles.n == 1 && gemm->fit.n == 1 && gemm->held_out.error.n == 1);
    CHECK_EQ_STR(((const struct calibration_profile *)gemm->profiles.items)->hash, "beef");
    CHECK(fit->rows == 9 && fit->median == 0.05 && fit->p90 == 0.1 && fit->worst == 0.7 && fit->bias == -0.01);
    CHECK_EQ_STR(band->name, "17-256");
    CHECK_EQ_STR(gemm->held_out.by, "llm");
    arena_fini(&bench.arena);
}

/* '@' stands for all parameters of a norm. */
static void write_document(FILE *file, const char *text)
{
    const struct kernel_class_info *info = kernel_class_info(KERNEL_NORM);
    for (const char *c = text; *c != 0; c++) {
        if (*c != '@') fputc(*c == '\'' ? '"' : *c, file);
        for (size_t i = 0; *c == '@' && i < info->n_params; i++) {
            const bool is_time = info->params[i].unit == PARAM_SECONDS;
            fprintf(file, is_time ? "%s\"%s\": \"%.17gs\"" : "%s\"%s\": %.17g", i > 0 ? ", " : "", info->params[i].name,
                    info->params[i].initial);
        }
    }
}

static void check_refused(struct bench *bench, const char *text, const char *message)
{
    FILE *file = fopen(bench->gpu_path, "w");
    MUST(file != NULL);
    write_document(file, text);
    fclose(file);
    CHECK_EQ_INT(load(bench, "mine", "in-model"), SIM_E_CONFIG);
    if (strstr(bench->message, message) == NULL) CHECK_EQ_STR(bench->message, message);
}

#define NORM(more) "{'gpu': 'g', 'sets': {'s': {'norm': {'parameters': {" more "}}}}"

TEST(malformed_files_are_refused)
{
    struct bench bench;
    set_up(&bench);
    check_refused(&bench, "{'gpu': 'g', 'sets': {'s': {'norn': {}}}}", "'norn'");
    check_refused(&bench, NORM("'start': '1us'}, 'rows': 1"), "missing 'bandwidth_efficiency' in 'sets.s.norm.param");
    check_refused(&bench, NORM("'start': 1}, 'rows': 1"), "needs a unit");
    check_refused(&bench, NORM("'start': '1s'}, 'rows': 1"), "'start' must be between ");
    check_refused(&bench, NORM("@}, 'fit': {}"), "missing 'rows'");
    check_refused(&bench, NORM("@}, 'rows': 1, 'ranges': {}"), "did you mean 'range'");
    check_refused(&bench, NORM("@}, 'rows': 1, 'range': {'tokens': [1, 5]}"), "missing 'width'");
    check_refused(&bench, NORM("@}, 'rows': 1, 'range': {'tokens': [1, 5], 'width': [9]}"), "width");
    check_refused(&bench, NORM("@}, 'rows': 1, 'range': {'tokens': [1, 5], 'width': [9, 8]}"),
                  "the range of 'width' ends at 8, before it starts at 9");
    CHECK(strstr(bench.message, "mine.json:1:") != NULL);
    arena_fini(&bench.arena);
}

#define TABLE(more) NORM("@}, 'rows': 1, 'table': [{'number_bytes': 2, " more "}]")

TEST(malformed_tables_are_refused)
{
    struct bench bench;
    char folder[300];
    set_up(&bench);
    snprintf(folder, sizeof folder, "%s/hardware", bench.root);
    MUST(mkdir(folder, 0777) == 0);
    check_refused(&bench, TABLE("'width': 64, 'tokens': [1, 2], 'seconds': [1e-6]"),
                  "'tokens' has 2 numbers, but 'seconds' has 1");
    CHECK(strstr(bench.message, "mine.json:1:") != NULL);
    check_refused(&bench, TABLE("'tokens': [1], 'seconds': [1e-6]"), "missing 'width' in 'sets.s.norm.table.0'");
    check_refused(&bench, TABLE("'width': 64, 'seconds': [1e-6]"), "missing 'tokens'");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [1], 'seconds': [0]"), "must be");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [1], 'seconds': [-1e-6]"), "must be");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [0], 'seconds': [1e-6]"), "must be");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [], 'seconds': []"), "tokens");
    check_refused(&bench, TABLE("'width': 64, 'tokens': ['1'], 'seconds': [1e-6]"), "tokens");
    check_refused(&bench, TABLE("'width': 64, 'token': [1], 'seconds': [1e-6]"), "did you mean 'tokens'");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [1], 'seconds': [1e999]"), "1e999");
    check_refused(&bench, TABLE("'width': 64, 'tokens': [1], 'seconds': [1e-6]"), "unknown GPU 'g'");
    arena_fini(&bench.arena);
}

#define ON_A100(more) "{'gpu': 'a100-80-sxm', 'sets': {'s': {'norm': {'parameters': {@}, 'rows': 1, 'table': [" more "]}}}}"
#define SHAPE(more) "{'number_bytes': 2, 'width': 8192, " more "}"

TEST(impossible_points_are_refused)
{
    struct bench bench;
    set_up(&bench);
    char link[300], target[1024];
    MUST(realpath("configs/hardware", target) != NULL);
    snprintf(link, sizeof link, "%s/hardware", bench.root);
    MUST(symlink(target, link) == 0);
    check_refused(&bench, ON_A100(SHAPE("'tokens': [1, 2, 1], 'seconds': [5e-6, 6e-6, 7e-6]")),
                  "error: the same call stands twice in a table, with 5e-06 s and 7e-06 s");
    check_refused(&bench,
                  ON_A100(SHAPE("'tokens': [1], 'seconds': [5e-6]") ", " SHAPE("'tokens': [1], 'seconds': [5e-6]")),
                  "the same call stands twice");
    check_refused(&bench, ON_A100(SHAPE("'tokens': [1, 2], 'seconds': [5e-6, 6]")), "the measured time of 6 s is ");
    CHECK(strstr(bench.message, "mine.json:1:") != NULL);
    check_refused(&bench, ON_A100(SHAPE("'tokens': [1], 'seconds': [5e-12]")), "are these seconds?");
    FILE *file = fopen(bench.gpu_path, "w");
    MUST(file != NULL);
    write_document(file, ON_A100(SHAPE("'tokens': [1, 2], 'seconds': [5e-6, 6e-6]")));
    fclose(file);
    CHECK_EQ_INT(load(&bench, "mine", "s"), 0);
    CHECK(bench.calibration.kernels.tables[KERNEL_NORM] != NULL);
    arena_fini(&bench.arena);
}

TEST(exhausted_memory_is_reported)
{
    static const struct calibration_part part = {"in-model", KERNEL_GEMM, 3e-6, 200.0, NULL};
    struct bench bench;
    set_up(&bench);
    calibration_fixture_write(bench.gpu_path, &part, 1);
    int failures = 0, code = SIM_E_NOMEM;
    for (long n = 0; code == SIM_E_NOMEM && n < 10000; n++) {
        SCOPED(arena) arena = {0};
        diag_init(&bench.diag);
        mem_fail_after(n);
        code = calibration_load(&bench.catalog, "mine", "in-model", &arena, &bench.calibration, &bench.diag);
        mem_fail_never();
        failures += code == SIM_E_NOMEM;
    }
    CHECK_EQ_INT(code, 0);
    CHECK(failures > 3);
    arena_fini(&bench.arena);
}

/* Over PCIe a GPU's own collectives come first where they were measured so, else those of the GPU measured over PCIe,
 * and last those over NVLink. */
TEST(collectives_over_pcie_come_from_pcie)
{
    static const struct {
        const char *gpu;
        int64_t nvlink_gpus;
        bool over_pcie;
        const char *all_reduce, *all_gather;
    } cases[] = {{"a100-80-pcie", 2, true, "in-model", "l40s"},
                 {"a100-80-pcie", 2, false, "in-model", "a100-80-sxm"},
                 {"a100-80-sxm", 2, true, "isolated", "isolated"}, /* of 8 GPUs: as if only pairs had NVLink */
                 {"a100-80-sxm", 8, true, "l40s", "l40s"},
                 {"a40", 2, true, "l40s", "l40s"},
                 {"rtx-4090", 0, true, "l40s", "l40s"},
                 {"rtx-4090", 0, false, "default", "default"}};
    const struct catalog shipped = {.root = "configs"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct calibration_request request = {.gpu = cases[i].gpu, .kernels = "isolated",
                                                    .collectives = "isolated", .over_pcie = cases[i].over_pcie,
                                                    .nvlink_gpus = cases[i].nvlink_gpus};
        struct calibration calibration;
        struct arena arena;
        struct diag diag;
        arena_init(&arena);
        diag_init(&diag);
        CHECK_EQ_INT(calibration_read(&shipped, &request, &arena, &calibration, &diag), 0);
        CHECK_EQ_STR(calibration.origin[KERNEL_ALL_REDUCE], cases[i].all_reduce);
        CHECK_EQ_STR(calibration.origin[KERNEL_ALL_GATHER], cases[i].all_gather);
        arena_fini(&arena);
    }
}

/* A profile of one kernel has its name behind '@'. One of them is enough, wherever it stands. */
TEST(a_class_is_of_one_kernel_if_any_profile_is)
{
    enum { N = 3 };
    for (int with = 0; with < 1 << N; with++) {
        struct calibration_profile profiles[N];
        for (int i = 0; i < N; i++) profiles[i].file = with >> i & 1 ? "gemm.csv@wgmma" : "gemm.csv";
        const struct calibration_class class = {.profiles = {N, profiles}}, none = {.profiles = {0, profiles}};
        CHECK_EQ_INT(calibration_class_is_of_one_kernel(&class), with != 0);
        CHECK(!calibration_class_is_of_one_kernel(&none));
    }
}

/* The version of a library is checked in every class of every set. */
TEST(versions_are_checked_in_every_class)
{
#define STATED ", 'measured_with': [{'library': 'vLLM', 'version': '0.14.0', 'year': 2026}"
    static const char right[] = STATED "]", wrong[] = STATED ", {'library': 'cuBLAS', 'version': 'new', 'year': 2026}]";
#undef STATED
    for (int at = 0; at < 2 * KERNEL_CLASS_COUNT; at++) {
        struct calibration_part parts[2 * KERNEL_CLASS_COUNT];
        struct calibration_file file;
        struct bench bench;
        for (int i = 0; i < 2 * KERNEL_CLASS_COUNT; i++)
            parts[i] = (struct calibration_part){i < KERNEL_CLASS_COUNT ? "isolated" : "in-model",
                                                 (enum kernel_class)(i % KERNEL_CLASS_COUNT), 1e-6, 100.0,
                                                 i == at ? wrong : right};
        set_up(&bench);
        calibration_fixture_write(bench.gpu_path, parts, 2 * KERNEL_CLASS_COUNT);
        CHECK_EQ_INT(calibration_file_read(bench.gpu_path, &bench.arena, &file, &bench.diag), SIM_E_CONFIG);
        CHECK_EQ_INT(bench.diag.n_items, 1);
        CHECK(strstr(bench.diag.items[0].text, "the version 'new' of cuBLAS does not begin with a digit") != NULL);
        arena_fini(&bench.arena);
    }
}
