#include "sim/catalog/catalog.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <ctype.h>
#include <strings.h>

static const struct catalog catalog = {.root = "configs"};

typedef void (*gpu_fn)(const struct gpu_spec *gpu);
typedef void (*llm_fn)(const struct llm_spec *llm);

static void for_each_gpu(gpu_fn visit)
{
    SCOPED(session) session = {0};
    struct catalog_names names;
    MUST(catalog_list_gpus(&catalog, &session.arena, &names, &session.diag) == 0 && names.n >= 18);
    for (size_t i = 0; i < names.n; i++) {
        struct gpu_spec gpu;
        MUST(catalog_gpu(&catalog, names.names[i], "test", &session.arena, &gpu, &session.diag) == 0);
        CHECK_EQ_STR(gpu.name, names.names[i]);
        CHECK(i == 0 || strcmp(names.names[i - 1], names.names[i]) < 0);
        visit(&gpu);
    }
}

static void for_each_llm(llm_fn visit)
{
    SCOPED(session) session = {0};
    struct catalog_names names;
    MUST(catalog_list_llms(&catalog, &session.arena, &names, &session.diag) == 0 && names.n >= 22);
    for (size_t i = 0; i < names.n; i++) {
        struct llm_spec llm;
        MUST(catalog_llm(&catalog, names.names[i], "test", &session.arena, &llm, &session.diag) == 0);
        CHECK_EQ_STR(llm.name, names.names[i]);
        visit(&llm);
    }
}

/* Every quantity and count in a GPU's file stands beside its source and how sure it is. */
static void check_gpu_file(const struct gpu_spec *gpu)
{
    char path[128], text[8192];
    snprintf(path, sizeof path, "configs/hardware/%s.json", gpu->name);
    FILE *file = fopen(path, "r");
    MUST(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    int values = 0, sourced = 0;
    for (const char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *colon = strchr(line, ':');
        if (strstr(line, "//") == line || !colon || strstr(line, "\"peak\"") || strstr(line, "\"architecture\"") ||
            strstr(line, "\"mig\"") || strstr(line, "\"vendor\"") || strstr(line, "\"fabric\"") ||
            strstr(line, "\"nvlink_gpus\""))
            continue;
        values++;
        sourced += strstr(line, "\"source\": \"") && strstr(line, "\"sure\": \"");
    }
    CHECK(values >= 9);
    CHECK_EQ_INT(sourced, values);
}

TEST(every_gpu_value_is_sourced)
{
    for_each_gpu(check_gpu_file);
}

static bool near(double value, double expected, double tolerance_frac)
{
    return fabs(value / expected - 1.0) <= tolerance_frac;
}

/* fp32 runs on CUDA cores: two operations each per clock, on 64, 128 or (Kepler) 192 cores per SM. */
static void check_fp32_peak(const struct gpu_spec *gpu)
{
    const double cores = gpu->peak_flop_per_s[FORMAT_FP32] / (2.0 * (double)gpu->sm_count * gpu->boost_hz);
    CHECK(near(cores, 64.0, 0.01) || near(cores, 128.0, 0.01) || near(cores, 192.0, 0.01));
}

TEST(fp32_peaks_follow_from_cores_and_clock)
{
    for_each_gpu(check_fp32_peak);
}

/* Tensor cores do a power of two of FLOP per SM and clock, at boost or, on Hopper, 8 % below it. */
static void check_fp16_peak(const struct gpu_spec *gpu)
{
    if (!(gpu->peak_flop_per_s[FORMAT_FP16] > 0.0)) return;
    const double per_clock = gpu->peak_flop_per_s[FORMAT_FP16] / ((double)gpu->sm_count * gpu->boost_hz);
    const double power = exp2(ceil(log2(per_clock / 1.01)));
    CHECK(per_clock / power > 0.92 && per_clock / power < 1.01);
}

TEST(fp16_peaks_follow_from_sms_and_clock)
{
    for_each_gpu(check_fp16_peak);
}

static void check_gpu_orders(const struct gpu_spec *gpu)
{
    const double *peak = gpu->peak_flop_per_s, fp16 = gpu_peak_flop_per_s(gpu, FORMAT_FP16);
    CHECK(fp16 >= peak[FORMAT_FP32]);
    const bool ultra = peak[FORMAT_NVFP4] > 2.5 * peak[FORMAT_FP8]; /* Blackwell Ultra: 4 bits in place of int8 */
    CHECK(!(peak[FORMAT_TF32] > fp16) && !(peak[FORMAT_FP8] < fp16) && !(peak[FORMAT_INT8] < fp16 && !ultra));
    CHECK(!(peak[FORMAT_NVFP4] < peak[FORMAT_FP8]) &&
          !(peak[FORMAT_MXFP4] != peak[FORMAT_NVFP4] && !isnan(peak[FORMAT_NVFP4])));
    CHECK(fp16 / gpu->memory_bytes_per_s > 10.0 && fp16 / gpu->memory_bytes_per_s < 500.0);
    CHECK(gpu->memory_bytes > 8e9 && gpu->memory_bytes < 300e9 && gpu->l2_bytes < 0.01 * gpu->memory_bytes);
    CHECK(gpu->memory_bytes_per_s > 5.0 * gpu->pcie_bytes_per_s);
    CHECK(!(gpu->idle_w >= 0.3 * gpu->tdp_w) && gpu->tdp_w >= 70.0 && gpu->tdp_w <= 1400.0);
    CHECK(isnan(gpu->context_w) || (gpu->idle_w > 0.0 && gpu->idle_w <= gpu->context_w && gpu->context_w < gpu->tdp_w));
    CHECK(!(gpu->base_hz >= gpu->boost_hz));
    CHECK((gpu->fabric == FABRIC_NONE) == (gpu->nvlink_gpus == 0));
    CHECK((gpu->fabric == FABRIC_NONE) == (gpu->nvlink_bytes_per_s == 0.0));
    CHECK(gpu->nvlink_gpus == 0 || gpu->nvlink_bytes_per_s > gpu->pcie_bytes_per_s);
}

TEST(gpu_values_are_in_order)
{
    for_each_gpu(check_gpu_orders);
}

/* A checkpoint's count is met exactly, but for the rotary frequencies, head_dim / 2 per layer, that those of Llama 2
 * hold beside the parameters; a nominal one ("66B") within 2 %. */
static void check_parameters(const struct llm_spec *llm)
{
    const int64_t counted = llm_parameters(llm), published = llm->published_parameters;
    const int64_t rotary = llm->layers * llm->head_dim / 2;
    CHECK(strlen(llm->source) > 3 && published > 0);
    if (published % 100000000 == 0)
        CHECK(near((double)counted, (double)published, 0.02));
    else
        CHECK_EQ_INT(counted, published - (strncmp(llm->name, "llama-2-", 8) == 0 ? rotary : 0));
    CHECK(llm_active_parameters(llm) <= counted);
    CHECK((llm->experts > 0) == (llm_active_parameters(llm) < counted));
}

TEST(parameters_are_the_published_ones)
{
    for_each_llm(check_parameters);
}

static void check_llm_orders(const struct llm_spec *llm)
{
    CHECK(llm_problem(llm) == NULL);
    CHECK(llm->q_heads * llm->head_dim == llm->hidden || llm->qk_norm || llm->kv_latent > 0 || llm->attention_sinks);
    CHECK(llm->max_context >= 2048 && llm->vocab >= 32000);
    CHECK(llm_parallel_problem(llm, 2, 1) == NULL && llm_parallel_problem(llm, 4, 2) == NULL);
    if (llm->weights == llm->compute && llm_format(llm, LLM_PART_EXPERTS) == llm->weights)
        CHECK(llm_weight_bytes(llm) == 2.0 * (double)llm_parameters(llm));
}

TEST(llm_values_are_in_order)
{
    for_each_llm(check_llm_orders);
}

/* Every alias stands for its entry, in letters of either case, and no name stands for two. */
TEST(aliases_are_names_of_one_llm)
{
    SCOPED(session) session = {0};
    struct catalog_names names;
    const char *seen[256];
    size_t n_seen = 0;
    MUST(catalog_list_llms(&catalog, &session.arena, &names, &session.diag) == 0);
    for (size_t i = 0; i < names.n; i++) {
        const char *list;
        MUST(catalog_llm_aliases(&catalog, names.names[i], &session.arena, &list, &session.diag) == 0);
        char *copy = arena_strdup(&session.arena, list);
        for (char *alias = strtok(copy, " "); alias && n_seen < 256; alias = strtok(NULL, " ")) {
            struct llm_spec llm;
            for (size_t j = 0; j < n_seen; j++) CHECK(strcasecmp(seen[j], alias) != 0);
            seen[n_seen++] = arena_strdup(&session.arena, alias);
            if (n_seen % 2 == 0)
                for (char *c = alias; *c; c++) *c = (char)toupper((unsigned char)*c);
            MUST(catalog_llm(&catalog, alias, "t", &session.arena, &llm, &session.diag) == 0);
            CHECK_EQ_STR(llm.name, names.names[i]);
            const char *slash = strchr(alias, '/'); /* as people write it: without its owner */
            MUST(slash != NULL);
            MUST(catalog_llm(&catalog, slash + 1, "t", &session.arena, &llm, &session.diag) == 0);
            CHECK_EQ_STR(llm.name, names.names[i]);
        }
    }
    CHECK(n_seen >= 40);
}

TEST(llms_by_the_names_of_their_model_cards)
{
    static const char *const called[][2] = {{"llama-3.3-70b", "llama-3.1-70b"},
                                            {"Llama-3.3-70B-Instruct", "llama-3.1-70b"},
                                            {"deepseek-r1", "deepseek-v3"},
                                            {"Qwen3-235B-A22B-2507", NULL},
                                            {"3.3-70B-Instruct", NULL},
                                            {"", NULL}};
    for (size_t i = 0; i < sizeof called / sizeof *called; i++) {
        SCOPED(session) session = {0};
        struct llm_spec llm;
        const int code = catalog_llm(&catalog, called[i][0], "t", &session.arena, &llm, &session.diag);
        CHECK_EQ_INT(code, called[i][1] != NULL ? 0 : SIM_E_CONFIG);
        if (code == 0 && called[i][1] != NULL) CHECK_EQ_STR(llm.name, called[i][1]);
    }
}

static void check_llm_message(const char *name, const char *expected)
{
    SCOPED(session) session = {0};
    struct llm_spec llm;
    CHECK_EQ_INT(catalog_llm(&catalog, name, "exp.json:3:12", &session.arena, &llm, &session.diag), SIM_E_CONFIG);
    CHECK_EQ_STR(session_message(&session), expected);
}

TEST(unknown_llms_get_suggestions_among_aliases)
{
    check_llm_message(
        "meta-llama/Llama-3.1-8b-Instrukt",
        "exp.json:3:12: error: unknown LLM 'meta-llama/Llama-3.1-8b-Instrukt'; did you mean "
        "'meta-llama/Llama-3.1-8B-Instruct'? 'orrery list llms' shows all; the path of a Hugging Face config.json will "
        "do, too");
    check_llm_message(
        "stabilityai/stablelm-3b",
        "exp.json:3:12: error: unknown LLM 'stabilityai/stablelm-3b'; 'orrery list llms' shows what there is; the "
        "path of a Hugging Face config.json will do, too");
}

/* Qwen3-30B-A3B: 3,353,032,704 of its parameters are active (model card: 3.3B). */
TEST(active_parameters_of_a_mixture)
{
    SCOPED(session) session = {0};
    struct llm_spec llm;
    MUST(catalog_llm(&catalog, "qwen3-30b-a3b", "test", &session.arena, &llm, &session.diag) == 0);
    CHECK_EQ_INT(llm_active_parameters(&llm), INT64_C(3353032704));
}

static void check_gpu_message(const char *name, const char *expected)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    CHECK(catalog_gpu(&catalog, name, "exp.json:3:12", &session.arena, &gpu, &session.diag) != 0);
    CHECK_EQ_INT(session.diag.n_errors, 1);
    if (!strstr(session_message(&session), expected)) CHECK_EQ_STR(session.message, expected);
}

TEST(unknown_names_get_suggestions)
{
    check_gpu_message("a100-80-smx", "exp.json:3:12: error: unknown GPU 'a100-80-smx'; did you mean 'a100-80-sxm'? "
                                     "'orrery list gpus' shows all");
    check_gpu_message("tpu-v5",
                      "unknown GPU 'tpu-v5'; only GPUs of NVIDIA and AMD are modelled, whole or in MIG slices; "
                      "'orrery list gpus' "
                      "shows what there is");
    check_gpu_message("../llms/opt-13b", "unknown GPU '../llms/opt-13b'");
    check_gpu_message("", "unknown GPU ''");
    check_gpu_message("no/such/file.json", "no/such/file.json");
}

TEST(a_missing_catalog_is_named)
{
    const struct catalog nowhere = {.root = "no-such-directory"};
    SCOPED(session) session = {0};
    struct llm_spec llm;
    CHECK_EQ_INT(catalog_llm(&nowhere, "opt-13b", "t", &session.arena, &llm, &session.diag), SIM_E_IO);
    CHECK(strstr(session_message(&session), "no-such-directory/llms: error: cannot list the LLMs of the catalog"));
}

TEST(paths_are_read_as_they_are)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    MUST(catalog_gpu(&catalog, "configs/hardware/t4.json", "t", &session.arena, &gpu, &session.diag) == 0);
    CHECK_EQ_STR(gpu.name, "t4");
    CHECK(isnan(gpu.peak_flop_per_s[FORMAT_FP8]));
    CHECK(gpu_peak_flop_per_s(&gpu, FORMAT_FP8) == 65e12);
}

/* A file with `text`, in which ' stands for ", is refused with this finding at its place. */
static void check_llm_file(const char *text, const char *expected)
{
    char message[1024];
    const char *path = test_file("llm.json", "%s", text);
    SCOPED(session) session = {0};
    struct llm_spec llm;
    CHECK_EQ_INT(catalog_llm(&catalog, path, "t", &session.arena, &llm, &session.diag), SIM_E_CONFIG);
    snprintf(message, sizeof message, "%s:%s", path, expected);
    if (strncmp(session_message(&session), message, strlen(message)) != 0) CHECK_EQ_STR(session.message, message);
}

#define LLAMA                                                                                                          \
    "{'model_type': 'llama', 'hidden_size': 64, 'intermediate_size': 128, 'vocab_size': 100, "                         \
    "'max_position_embeddings': 512, "
#define OURS "{'source': 'test', 'hidden': 64, 'vocab': 100, 'max_context': 512, 'head_dim': 16,\n"

/* Our own files know their bounds by field; what hangs together, and a checkpoint's file, is told of the whole. */
TEST(impossible_shapes_are_refused)
{
    check_llm_file(LLAMA "'num_hidden_layers': 2, 'num_attention_heads': 0, 'head_dim': 16}",
                   "1:1: error: no LLM has this shape: the number of attention and of key-value heads must be");
    check_llm_file(LLAMA "'num_hidden_layers': 4000000000, 'num_attention_heads': 4}",
                   "1:1: error: no LLM has this shape: the number of layers must be from 1 to 1024");
    check_llm_file(LLAMA "'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 8}",
                   "1:1: error: no LLM has this shape: the number of attention heads is not a multiple");
    check_llm_file(OURS "'layers': 4000000000000, 'q_heads': 4, 'kv_heads': 4, 'ffn': 256}",
                   "2:11: error: 'layers' must be between 1 and 1024, got 4000000000000");
    check_llm_file(OURS "'layers': 2, 'q_heads': 4, 'kv_heads': 4}",
                   "1:1: error: no LLM has this shape: it has neither a feed-forward layer nor experts");
    check_llm_file(OURS "'layers': 2, 'q_heads': 4, 'kv_heads': 4, 'experts': 4, 'experts_per_token': 8,\n"
                        "'expert_ffn': 9}",
                   "1:1: error: no LLM has this shape: the experts per token must be");
}

static struct gpu_spec read_gpu(const struct catalog *from, const char *path, struct session *session)
{
    struct gpu_spec gpu = {0};
    CHECK_EQ_INT(catalog_gpu(from, path, "test", &session->arena, &gpu, &session->diag), 0);
    CHECK_EQ_STR(gpu.name, "mine");
    return gpu;
}

static void check_equal(const struct gpu_spec *gpu, const struct gpu_spec *other)
{
    CHECK(gpu->tdp_w > 0.0 && gpu->tdp_w == other->tdp_w);
    CHECK(gpu->memory_bytes > 0.0 && gpu->memory_bytes == other->memory_bytes);
    CHECK(gpu->memory_bytes_per_s > 0.0 && gpu->memory_bytes_per_s == other->memory_bytes_per_s);
    CHECK(gpu_peak_flop_per_s(gpu, FORMAT_FP16) == gpu_peak_flop_per_s(other, FORMAT_FP16));
}

/* What a memory keeps is not read again, and still counts as read. Without one the file is. */
TEST(a_memory_keeps_files)
{
    SCOPED(session) session = {0};
    char text[8192];
    FILE *file = fopen("configs/hardware/a40.json", "r");
    MUST(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *path = test_file("mine.json", "%s", text);
    struct hash_sum twice = {0}, counted = {0};
    struct catalog_memory memory;
    catalog_memory_init(&memory);
    const struct catalog anew = {.root = "configs", .files = &twice};
    const struct catalog kept = {.root = "configs", .files = &counted, .memory = &memory};
    read_gpu(&anew, path, &session);
    const struct gpu_spec plain = read_gpu(&anew, path, &session), before = read_gpu(&kept, path, &session);
    test_write(path, "{}");
    const struct gpu_spec after = read_gpu(&kept, path, &session);
    check_equal(&before, &plain);
    check_equal(&after, &plain);
    CHECK(memcmp(&twice, &counted, sizeof twice) == 0);
    struct gpu_spec gpu;
    CHECK_EQ_INT(catalog_gpu(&anew, path, "test", &session.arena, &gpu, &session.diag), SIM_E_CONFIG);
    catalog_memory_fini(&memory);
}

/* Wherever memory runs out, the reader says so and leaks nothing. */
TEST(running_out_of_memory_is_survived)
{
    int successes = 0;
    for (long n = 0; n < 400 && successes == 0; n++) {
        SCOPED(session) session = {0};
        struct gpu_spec gpu;
        struct llm_spec llm;
        mem_fail_after(n);
        int code = catalog_gpu(&catalog, "a100-80-sxm", "t", &session.arena, &gpu, &session.diag);
        if (code == 0) code = catalog_llm(&catalog, "opt-13b", "t", &session.arena, &llm, &session.diag);
        if (code == 0 && n % 16 == 0)
            code = catalog_llm(&catalog, "facebook/opt-13b", "t", &session.arena, &llm, &session.diag);
        if (code == 0) code = catalog_gpu(&catalog, "a100-80-smx", "t", &session.arena, &gpu, &session.diag);
        mem_fail_never();
        CHECK(code == SIM_E_NOMEM || code == SIM_E_CONFIG);
        if (code == SIM_E_CONFIG) successes++;
    }
    CHECK_EQ_INT(successes, 1);
}
