/* Whole iterations of serving engines against public measurements: the shipped calibrations and presets, end to end.
 * The constants of a preset were fitted on one part of the rows, which is named in its file; bounds hold for the
 * others, or for all where the text says so, and lie where the errors are, rounded up. configs/engines/README.md gives
 * the bars.
 *
 * Sources: Mutinifni/splitwise-sim @ 8f99e7dc, ai-dynamo/aiconfigurator @ 095f58a5 (silicon_sample), LLMServe/DistServe
 * @ 82831f16, casys-kaist/LLMServingSim @ 5daddb21. */
#include "analysis/calibrate/engine/engine_calibrate.h"
#include "analysis/calibrate/engine/engine_hosts.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* The rows of an engine, as points, and its shipped preset. */
struct measurements {
    struct arena arena;
    struct diag diag;
    struct engine_replicas replicas;
    struct engine_preset preset;
    struct measured file;
    struct engine_point *points;
    size_t n;
};

static bool load(struct measurements *m, const char *engine, const char *file)
{
    const char *path = test_shared(file);
    if (path == NULL) return false;
    arena_init(&m->arena);
    diag_init(&m->diag);
    engine_replicas_init(&m->replicas, &catalog, &m->arena);
    int code = catalog_engine(&catalog, engine, "test", &m->arena, &m->preset, &m->diag);
    if (code == 0) code = measured_read(path, &catalog, &m->arena, &m->file, &m->diag);
    if (code == 0) code = engine_points(&m->replicas, &m->preset, &m->file, 1, &m->points, &m->n, &m->diag);
    if (code != 0) arena_fini(&m->arena);
    return CHECK_EQ_INT(code, 0) && CHECK(m->n > 0);
}

/* Median of |predicted / measured - 1| over the rows of a group, NULL for all. */
static double median_error(const struct measurements *m, const struct engine_preset *preset, const char *group,
                           bool held_out_only)
{
    double *errors = mem_alloc((m->n + 1) * sizeof *errors);
    size_t n = 0;
    if (!CHECK(errors != NULL)) return (double)NAN;
    for (size_t i = 0; i < m->n; i++) {
        const struct measured_row *row = m->points[i].row;
        if ((group != NULL && strcmp(row->group, group) != 0) || (held_out_only && row->fit)) continue;
        errors[n++] = engine_point_s(preset, &m->points[i]) / row->measured_s - 1.0;
    }
    CHECK(n > 0);
    const double median = fit_error_of(errors, n).median;
    mem_free(errors);
    return median;
}

#define HELD_OUT(m, group) median_error(m, &(m)->preset, group, true)
#define ALL(m, group) median_error(m, &(m)->preset, group, false)

static int64_t dropped(const struct measured *file, const char *reason)
{
    for (size_t i = 0; i < file->n_dropped; i++)
        if (strstr(file->dropped[i].reason, reason) != NULL) return file->dropped[i].rows;
    return 0;
}

static const char llama[] = "llm_end_to_end/splitwise__llama2-70b__latency_and_power.csv";
static const char bloom[] = "llm_end_to_end/splitwise__bloom-176b__latency_and_power.csv";
static const char serving[] = "llm_end_to_end/h100_sxm__measured_ttft_tpot.csv";

/* Medians of |predicted / measured - 1| over the prompts of at most 2048 tokens in a batch, those of more, over all
 * prompts, and over the tokens of one LLM. */
struct splitwise_medians {
    double prompts, long_prompts, all_prompts, tokens;
};

static double prompts_error(const struct measurements *m, const struct engine_preset *preset)
{
    double *errors = mem_alloc((m->n + 1) * sizeof *errors);
    size_t n = 0;
    if (!CHECK(errors != NULL)) return (double)NAN;
    for (size_t i = 0; i < m->n; i++)
        if (m->points[i].prompts > 0.0)
            errors[n++] = engine_point_s(preset, &m->points[i]) / m->points[i].row->measured_s - 1.0;
    const double median = fit_error_of(errors, n).median;
    mem_free(errors);
    return median;
}

static void check_splitwise(const struct measurements *m, const struct engine_preset *preset,
                            const struct splitwise_medians *most)
{
    CHECK(median_error(m, preset, "prompts", false) <= most->prompts);
    CHECK(median_error(m, preset, "long-prompts", false) <= most->long_prompts);
    CHECK(prompts_error(m, preset) <= most->all_prompts);
    CHECK(median_error(m, preset, "tokens", false) <= most->tokens);
}

/* Past 2048 tokens in a batch of prompts that engine fell off a cliff, which no law here has. */
TEST(splitwise_llama_2_70b)
{
    struct measurements m;
    if (!load(&m, "vllm-0.2", llama)) return;
    CHECK_EQ_INT(m.n, 2 * (630 - 10));
    CHECK_EQ_INT(dropped(&m.file, "not measured"), 315);
    CHECK_EQ_INT(dropped(&m.file, "fit into memory"), 10);
    check_splitwise(&m, &m.preset, &(struct splitwise_medians){0.045, 0.27, 0.06, 0.02});
    CHECK(HELD_OUT(&m, "tokens") <= 0.05); /* batches of 8 to 64 */
    arena_fini(&m.arena);
}

/* None of the constants has seen it, but the form by host was chosen in view of its rows. The bound of its prompts was
 * raised from 3 % for that form: their median rose from 2.4 to 4.1 %, while all other medians fell. */
TEST(splitwise_bloom_176b)
{
    struct measurements m;
    if (!load(&m, "vllm-0.2", bloom)) return;
    check_splitwise(&m, &m.preset, &(struct splitwise_medians){0.045, 0.30, 0.05, 0.04});
    arena_fini(&m.arena);
}

/* Nothing but one constant per degree of tensor parallelism, the same on both GPUs and for prompts and tokens, fitted
 * on Llama-2-70B: of an iteration, or of a layer. */
static void check_one_constant(bool per_layer, const struct splitwise_medians *of_llama,
                               const struct splitwise_medians *of_bloom)
{
    static const struct engine_recipe plain = {.name = "vllm-0.2", .summary = "", .source = "", .kernels = "in-model",
                                               .collectives = "in-model", .terms = ENGINE_ITERATION};
    struct measurements m, other;
    if (!load(&m, "vllm-0.2", llama)) return;
    if (load(&other, "vllm-0.2", bloom)) {
        const double layers = m.points[0].layers; /* in whose number the layers of the other are counted */
        struct engine_preset preset = engine_recipe_preset(&plain);
        for (size_t i = 0; per_layer && i < other.n; i++) other.points[i].iterations = other.points[i].layers / layers;
        CHECK_EQ_INT(engine_fit(&plain, m.points, m.n, &m.arena, &preset, &m.diag), 0);
        CHECK_EQ_INT(preset.overheads.n, 3);
        check_splitwise(&m, &preset, of_llama);
        check_splitwise(&other, &preset, of_bloom);
        arena_fini(&other.arena);
    }
    arena_fini(&m.arena);
}

/* BLOOM has 70 layers, Llama 80: counted by layers, the constant carries over better. */
TEST(one_constant_per_degree)
{
    check_one_constant(false, &(struct splitwise_medians){0.06, 0.36, 0.11, 0.04},
                       &(struct splitwise_medians){0.03, 0.40, 0.06, 0.18});
    check_one_constant(true, &(struct splitwise_medians){0.06, 0.36, 0.11, 0.04},
                       &(struct splitwise_medians){0.045, 0.40, 0.05, 0.115});
}

/* --- Constants by host --- */

static const struct engine_recipe *recipe_of(const char *engine)
{
    size_t i = 0;
    while (strcmp(engine_recipe_at(i)->name, engine) != 0) i++;
    return engine_recipe_at(i);
}

/* Median error of an LLM on a host, by constants fitted without it: to that host, or to all. */
static double left_out_error(struct measurements *m, const char *engine, const char *gpu, const char *llm, bool joint)
{
    struct fit_error error;
    CHECK_EQ_INT(engine_hosts_leave_out(recipe_of(engine), m->points, m->n, gpu, llm, joint, &m->arena, &error), 0);
    CHECK(error.rows > 0);
    return error.median;
}

/* Appends the points of another file. */
static void join(struct measurements *m, const struct measurements *other)
{
    struct engine_point *points = arena_alloc(&m->arena, (m->n + other->n) * sizeof *points);
    MUST(points != NULL);
    memcpy(points, m->points, m->n * sizeof *points);
    memcpy(points + m->n, other->points, other->n * sizeof *points);
    m->points = points;
    m->n += other->n;
}

/* These bounds were written down before the first fit by host. Both hosts of Splitwise are predicted for an LLM that
 * their constants have not seen; constants of the host lose at most a point against those of all hosts. With
 * all constants by host, the last bound was missed (14.6 %), so those common to all degrees hold for all hosts. */
TEST(splitwise_by_host)
{
    static const char *const gpus[] = {"a100-80-sxm", "h100-sxm"};
    struct measurements m, other;
    if (!load(&m, "vllm-0.2", llama)) return;
    if (load(&other, "vllm-0.2", bloom)) {
        join(&m, &other);
        for (size_t i = 0; i < 2; i++) {
            const double bloom_error = left_out_error(&m, "vllm-0.2", gpus[i], "bloom-176b", false);
            const double llama_error = left_out_error(&m, "vllm-0.2", gpus[i], "llama-2-70b", false);
            CHECK(bloom_error <= 0.08);
            CHECK(llama_error <= 0.15);
            CHECK(bloom_error <= left_out_error(&m, "vllm-0.2", gpus[i], "bloom-176b", true) + 0.01);
            CHECK(llama_error <= left_out_error(&m, "vllm-0.2", gpus[i], "llama-2-70b", true) + 0.01);
        }
        arena_fini(&other.arena);
    }
    arena_fini(&m.arena);
}

/* Written down before the first fit, too. Vidur's A100 has one LLM for each of two degrees, so an LLM that is left out
 * there takes its degree along. */
TEST(vidur_by_host)
{
    static const char *const llms[] = {"internlm-20b", "llama-2-70b", "llama-2-7b", "phi-2"};
    struct measurements m, other;
    if (!load(&m, "vllm-2024", "gpu_profiles/vidur/a40__cpu_overheads.csv")) return;
    if (load(&other, "vllm-2024", "gpu_profiles/vidur/a100__cpu_overheads.csv")) {
        join(&m, &other);
        for (size_t i = 0; i < 4; i++) {
            /* no other LLM ran on two A100 */
            const bool is_alone = i == 0;
            CHECK(left_out_error(&m, "vllm-2024", "a40", llms[i], false) <= 0.20);
            CHECK(left_out_error(&m, "vllm-2024", "a100-80-sxm", llms[i], false) <= (is_alone ? 0.60 : 0.10));
        }
        arena_fini(&other.arena);
    }
    arena_fini(&m.arena);
}

TEST(tpot_of_vllm)
{
    struct measurements m;
    if (!load(&m, "vllm-0.12", serving)) return;
    CHECK_EQ_INT(m.n, 90);
    CHECK(HELD_OUT(&m, "qwen3-32b") <= 0.15);
    arena_fini(&m.arena);
}

TEST(tpot_of_tensorrt_llm)
{
    struct measurements m;
    if (!load(&m, "trtllm-1.0", serving)) return;
    CHECK_EQ_INT(m.n, 353);
    CHECK(HELD_OUT(&m, "llama-3.1-8b") <= 0.15);
    CHECK(HELD_OUT(&m, "qwen3-32b") <= 0.15);
    arena_fini(&m.arena);
}

TEST(tpot_of_sglang)
{
    struct measurements m;
    if (!load(&m, "sglang-0.5", serving)) return;
    CHECK(HELD_OUT(&m, NULL) <= 0.15);
    arena_fini(&m.arena);
}

TEST(times_of_distserve)
{
    struct measurements m;
    if (!load(&m, "swifttransformer", "llm_end_to_end/distserve__a100-80g__fitted_coefficients_distserve.json")) return;
    CHECK(ALL(&m, "opt-13b") <= 0.12);
    CHECK(HELD_OUT(&m, "opt-66b") <= 0.12);
    arena_fini(&m.arena);
}

/* How many of the iterations are predicted within 5 %. */
static size_t count_within_5_percent(const struct measurements *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += fabs(engine_point_s(&m->preset, &m->points[i]) / m->points[i].row->measured_s - 1.0) <= 0.05;
    return n;
}

/* The fitted laws against sums of the kernels that they were fitted to, batches of 1 to 256. Not all come within 5 %,
 * as they do with the measured tables (suite table_mode). */
TEST(decode_iterations_of_rtx_cards)
{
    static const struct {
        const char *file;
        size_t rows, within; /* as configs/engines/README.md says */
        double median;
    } cards[] = {{"gpu_profiles/llmservingsim/RTX4090__Llama-3.1-8B__bf16_tp1__attention.csv", 98, 83, 0.035},
                 {"gpu_profiles/llmservingsim/RTXPRO6000__Llama-3.1-8B__bf16_tp1__attention.csv", 171, 168, 0.015}};
    for (size_t i = 0; i < 2; i++) {
        struct measurements m;
        if (!load(&m, "vllm-0.19", cards[i].file)) return;
        CHECK_EQ_INT(m.n, cards[i].rows);
        for (size_t j = 0; j < m.n; j++) CHECK(m.points[j].row->kernels_fit && !m.points[j].row->fit);
        CHECK(ALL(&m, NULL) <= cards[i].median);
        CHECK_EQ_INT(count_within_5_percent(&m), cards[i].within);
        arena_fini(&m.arena);
    }
}

/* What a token of a single request takes beyond reading the weights once at the memory's peak, late in 2023 (medians of
 * Splitwise's rows with prompts of 512 tokens; on two A100 21 ms for short answers, 26 ms for others). Two years later
 * the host is a matter of a few milliseconds. */
TEST(overhead_by_year)
{
    static const struct {
        const char *gpu;
        int64_t tensor_parallel;
        double memory_bytes_per_s, residual_ms;
    } rows[] = {{"a100-80-sxm", 2, 2.039e12, 26.0}, {"a100-80-sxm", 4, 2.039e12, 28.1}, {"a100-80-sxm", 8, 2.039e12, 36.4},
                {"h100-sxm", 2, 3.35e12, 16.4},     {"h100-sxm", 4, 3.35e12, 19.4},     {"h100-sxm", 8, 3.35e12, 24.6}};
    const struct iteration_work work = {.decode_sequences = 1, .decode_context_tokens = 576};
    const double weight_bytes = 138e9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED(cost_fixture) fixture;
        MUST(cost_fixture_init(&fixture, "{'cost': {'kind': 'operators', 'engine': 'vllm-0.2'}}", rows[i].gpu,
                               "llama-2-70b", rows[i].tensor_parallel, 1) == 0);
        const double read_s = weight_bytes / (double)rows[i].tensor_parallel / rows[i].memory_bytes_per_s;
        CHECK_NEAR(1e3 * (cost_fixture_s(&fixture, work) - read_s), rows[i].residual_ms, 5.0);
    }
    SCOPED(arena) arena = {0};
    struct engine_preset preset;
    struct engine_params params;
    MUST(catalog_engine(&catalog, "vllm-0.12", "test", &arena, &preset, NULL) == 0);
    engine_preset_params(&preset, "h100-sxm", 8, &params);
    CHECK(params.iteration_s + 64.0 * params.sequence_s < 5e-3);
}

/* An iteration of the whole model. */
struct whole {
    const struct operators *operators;
    struct engine_params engine;
};

static double whole_s(const void *context, const struct iteration_work *work)
{
    const struct whole *whole = context;
    struct iteration_cost gpu;
    operators_cost(whole->operators, work, &gpu);
    return engine_iteration(&whole->engine, whole->operators->layers, work, piece_line(gpu.first_s, 0.0)).now;
}

/* What counting iterations, sequences and prompts adds to the GPU's time is what a closed loop of whole iterations
 * takes. */
TEST(counts_are_as_good_as_loops)
{
    struct measurements m;
    if (!load(&m, "vllm-0.12", serving)) return;
    for (size_t i = 0; i < m.n; i += 13) {
        const struct measured_row *row = m.points[i].row;
        struct closed_loop_times times;
        struct whole whole;
        MUST(engine_replicas_find(&m.replicas, &m.preset, row, &whole.operators, &m.diag) == 0);
        engine_preset_params(&m.preset, row->gpu, row->tensor_parallel, &whole.engine);
        MUST(closed_loop_run(&row->loop, whole_s, &whole, &times) == 0);
        CHECK_NEAR(times.tpot_s / engine_point_s(&m.preset, &m.points[i]), 1.0, 1e-9);
    }
    arena_fini(&m.arena);
}
