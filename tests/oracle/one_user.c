/* One user of a serving engine, on GPUs and LLMs that no preset was fitted to: IBM's runs of TGIS, its fork of
 * text-generation-inference of 2023, for LLM-Pilot (IBM/LLM-performance-prediction @ 3c66483f). With one user no
 * prompt interrupts an answer, so the mean time between tokens is that of a decode iteration of one sequence. TGIS
 * launches kernels one by one, as vLLM did that year. An iteration should then take the longer of its GPU time and of
 * its launches.
 *
 * Nothing was fitted to these runs. The form was chosen with a view of their times beside predicted GPU times. These
 * are the shipped ones; the kernels of A10 and T4 were never measured. Launch times are those of vLLM 0.2 on the A100s
 * and H100s of Splitwise's hosts; for A10 and T4 there are none, so only their GPU time counts. Bounds are what was
 * found, rounded up. configs/engines/README.md has all. */
#include "analysis/calibrate/engine/engine_fit.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

enum { MAX_RUNS = 64 };
enum { USERS, TENSOR, PROMPT, OUTPUT, GAP_MS, NUMBERS, GPU = NUMBERS, LLM, COLUMNS };

static const struct sheet_column columns[] = {
    [USERS] = {"users", 1.0}, [TENSOR] = {"tp", 1.0}, [PROMPT] = {"input_tokens_mean", 1.0},
    [OUTPUT] = {"output_tokens_mean", 1.0}, [GAP_MS] = {"itl_ms_mean", 0.0}, [GPU] = {"gpu", 0.0}, [LLM] = {"model", 0.0}};

/* Encoder-decoders, and LLMs whose batches TGIS pads, are left out. */
static const struct {
    const char *name, *llm;
} llms[] = {
    {"llama-7b", "llama-7b"}, {"EleutherAI/gpt-neox-20b", "gpt-neox-20b"}, {"bigcode/starcoder", "starcoder"}};

/* The name of a host of the table, and its GPU; `launches_of`: the GPU whose launches stand for those of the host. */
static const struct host {
    const char *name, *gpu, *launches_of;
} hosts[] = {{"A10-24GB", "a10", NULL},
             {"A100-40GB", "a100-40-sxm", "a100-80-sxm"},
             {"H100-80GB", "h100-sxm", "h100-sxm"},
             {"T4-16GB", "t4", NULL}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct run {
    struct measured_row row;
    const struct host *host;
    double predicted_s;
};

struct runs {
    struct arena arena;
    struct diag diag;
    struct engine_preset preset;
    struct engine_replicas replicas;
    struct run items[MAX_RUNS];
    size_t n;
};

/* Adds the current row, if it is of one user and of a known GPU and LLM. Returns 0 or a negative code. */
static int add_run(struct runs *runs, struct sheet *sheet)
{
    const struct host *host = NULL;
    const char *llm = NULL;
    double values[NUMBERS];
    for (size_t i = 0; i < COUNT(hosts); i++)
        if (sheet_text_is(sheet, GPU, hosts[i].name)) host = &hosts[i];
    for (size_t i = 0; i < COUNT(llms); i++)
        if (sheet_text_is(sheet, LLM, llms[i].name)) llm = llms[i].llm;
    const int code = sheet_numbers(sheet, 0, NUMBERS, values);
    if (code != 0 || host == NULL || llm == NULL || values[USERS] > 1.0 || runs->n == MAX_RUNS) return code;
    struct run *run = &runs->items[runs->n++];
    run->host = host;
    run->row = (struct measured_row){
        .kind = MEASURED_ITERATION, .engine = runs->preset.name, .gpu = host->gpu, .llm = llm, .weights = FORMAT_FP16,
        .kv = FORMAT_FP16, .tensor_parallel = (int64_t)values[TENSOR], .measured_s = 1e-3 * values[GAP_MS],
        .work = {.decode_sequences = 1, .decode_context_tokens = (int64_t)(values[PROMPT] + 0.5 * values[OUTPUT])}};
    return 0;
}

static int predict(struct runs *runs, struct run *run)
{
    struct engine_params params = {0};
    struct engine_point point;
    const int code = engine_point_init(&runs->replicas, &runs->preset, &run->row, &point, &runs->diag);
    if (code != 0) return code;
    if (run->host->launches_of != NULL)
        engine_preset_params(&runs->preset, run->host->launches_of, run->row.tensor_parallel, &params);
    run->predicted_s = fmax(point.gpu_s, point.layers * params.layer_launch_s);
    return 0;
}

/* Reads and predicts all runs of one user. Returns false after test_skip or a failed check. */
static bool load(struct runs *runs)
{
    const char *path = test_shared("llm_end_to_end/llm_pilot__tgi_serving_runs.csv");
    if (path == NULL) return false;
    arena_init(&runs->arena);
    diag_init(&runs->diag);
    engine_replicas_init(&runs->replicas, &catalog, &runs->arena);
    struct sheet sheet = {.path = path, .arena = &runs->arena, .diag = &runs->diag, .max = 1e9, .empty = 0.0};
    int code = catalog_engine(&catalog, "vllm-0.2", "test", &runs->arena, &runs->preset, &runs->diag);
    if (code == 0) code = sheet_open(&sheet, path);
    if (code == 0) code = sheet_choose(&sheet, columns, COLUMNS, COLUMNS) == 1 ? 0 : SIM_E_DATA;
    while (code == 0 && (code = sheet_next(&sheet)) > 0) code = add_run(runs, &sheet);
    sheet_close(&sheet);
    for (size_t i = 0; i < runs->n && code == 0; i++) code = predict(runs, &runs->items[i]);
    if (code != 0) arena_fini(&runs->arena);
    return CHECK_EQ_INT(code, 0);
}

/* Of the runs on some GPUs. */
static struct fit_error errors_of(const struct runs *runs, const char *const *gpus)
{
    double errors[MAX_RUNS];
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++)
        for (const char *const *gpu = gpus; *gpu != NULL; gpu++)
            if (strcmp(runs->items[i].row.gpu, *gpu) == 0)
                errors[n++] = runs->items[i].predicted_s / runs->items[i].row.measured_s - 1.0;
    return fit_error_of(errors, n);
}

static void check_error(const struct runs *runs, const char *const *gpus, int64_t n, double median, double p90)
{
    const struct fit_error error = errors_of(runs, gpus);
    CHECK_EQ_INT(error.rows, n);
    CHECK(error.median <= median);
    CHECK(error.p90 <= p90);
}

#define GPUS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(tokens_of_one_user_take_their_gpu_time_or_their_launches)
{
    struct runs *runs = mem_zalloc(1, sizeof *runs);
    if (!CHECK(runs != NULL)) return;
    if (load(runs)) {
        check_error(runs, GPUS("a10", "a100-40-sxm", "t4", "h100-sxm"), 25, 0.11, 0.32);
        check_error(runs, GPUS("a10", "a100-40-sxm", "t4"), 16, 0.028, 0.15);
        check_error(runs, GPUS("a10", "a100-40-sxm"), 12, 0.016, 0.085);
        check_error(runs, GPUS("t4"), 4, 0.15, 0.28);
        check_error(runs, GPUS("h100-sxm"), 9, 0.30, 0.34);
        arena_fini(&runs->arena);
    }
    mem_free(runs);
}
