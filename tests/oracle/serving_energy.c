/* Energy of a run where every iteration can be written down: requests come once a second to one GPU, a prefill of 160
 * tokens lasts 100 ms, each of the ten decode iterations 10 ms. Then that parts add up, and that nothing is guessed. */
#include "analysis/calibrate/power/power_data.h"
#include "sim/catalog/power.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': '%s'}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
    " 'kv': {'blocks': 40}%s, 'cost': {'kind': 'affine', 'prefill': {'fixed': '100ms'}, 'decode': {'fixed': '10ms'}},"
    " 'trace': {'format': 'csv', 'path': '%s'}}}}";

enum { REQUESTS = 10, PROMPT = 160, OUTPUT = 11 };

static struct bed_rows *run(const char *gpu, const char *more, bool single_step)
{
    char path[512];
    snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) return NULL;
    fprintf(file, "arrival_s,prompt_tokens,output_tokens\n");
    for (int i = 0; i < REQUESTS; i++) fprintf(file, "%d,%d,%d\n", i, PROMPT, OUTPUT);
    fclose(file);
    return bed_run(BED(.check = true, .no_detail = true, .single_step = single_step), scenario, gpu, more, path);
}

/* The integral of one GPU's power over the run, iteration by iteration. */
static double integral_j(double end_s)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct llm_spec llm;
    struct gpu_spec gpu;
    struct gpu_power power;
    CHECK_EQ_INT(catalog_llm(&catalog, "llama-3.1-8b", NULL, &arena, &llm, &diag), 0);
    CHECK_EQ_INT(catalog_gpu(&catalog, "a100-80-sxm", NULL, &arena, &gpu, &diag), 0);
    CHECK_EQ_INT(catalog_gpu_power(&catalog, &gpu, &arena, &power, &diag), 0);
    const struct iteration_work prompt = {.prefill_sequences = 1, .prefill_tokens = PROMPT,
                                          .prefill_pairs = PROMPT * PROMPT};
    struct power_load load = power_load_of(&gpu, &llm, 1, &prompt, 0.1);
    double joules = 0.1 * power_draw_w(&power.model, &load);
    for (int j = 1; j < OUTPUT; j++) {
        const struct iteration_work work = {.decode_sequences = 1, .decode_context_tokens = PROMPT + j};
        load = power_load_of(&gpu, &llm, 1, &work, 0.01);
        joules += 0.01 * power_draw_w(&power.model, &load);
    }
    return REQUESTS * joules + (end_s - REQUESTS * 0.2) * gpu.context_w;
}

TEST(energy_is_the_integral_of_power)
{
    struct bed_rows *rows = run("a100-80-sxm", "", false), *stepped = run("a100-80-sxm", "", true);
    MUST(rows->code == 0 && stepped->code == 0);
    const double joules = bed_metric(rows, "energy.j"), end_s = bed_metric(rows, "sim.end_s");
    CHECK_NEAR(joules / integral_j(end_s), 1.0, 1e-9);
    CHECK(joules == bed_metric(stepped, "energy.j"));
    CHECK_NEAR(bed_metric(rows, "power.gpus_w.mean"), joules / end_s, 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.j_per_request"), joules / REQUESTS, 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.j_per_output_token"), joules / (REQUESTS * OUTPUT), 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.output_tokens_per_j"), REQUESTS * OUTPUT / joules, 1e-12);
    CHECK(bed_metric(rows, "power.replica_w.max") > bed_metric(rows, "power.gpus_w.mean"));
    CHECK_EQ_INT(rows->n_warnings, 0);
}

/* Each replica's GPU is there from the beginning to the end of the run. */
TEST(parts_add_up)
{
    static const char pools[] = ", 'pools': {'prompts': {'role': 'prefill'}, 'tokens': {'role': 'decode'}}";
    struct bed_rows *rows = run("a100-80-sxm", pools, false);
    MUST(rows->code == 0);
    const double prompts = bed_metric(rows, "energy.j[chat/prompts]"),
                 tokens = bed_metric(rows, "energy.j[chat/tokens]");
    CHECK_NEAR((prompts + tokens) / bed_metric(rows, "energy.j"), 1.0, 1e-12);
    CHECK(prompts > 80.0 * bed_metric(rows, "sim.end_s") && tokens > 80.0 * bed_metric(rows, "sim.end_s"));
}

static double of(const struct bed_rows *rows, const char *name, const char *entity)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, entity);
    return bed_metric(rows, text);
}

/* Checks the rates of an entity that finished so many requests of so many tokens in all. */
static void check_rates(const struct bed_rows *rows, const char *entity, double requests, double tokens)
{
    const double joules = of(rows, "energy.j", entity);
    CHECK_NEAR(of(rows, "energy.j_per_request", entity) / (joules / requests), 1.0, 1e-12);
    CHECK_NEAR(of(rows, "energy.j_per_output_token", entity) / (joules / tokens), 1.0, 1e-12);
    CHECK_NEAR(of(rows, "energy.output_tokens_per_j", entity) / (tokens / joules), 1.0, 1e-12);
    CHECK_NEAR(of(rows, "power.gpus_w.mean", entity) / (joules / bed_metric(rows, "sim.end_s")), 1.0, 1e-12);
}

#define AFFINE "'kv': {'blocks': 400}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '%s'}, 'decode': {'fixed': '800ms'}}"
#define FIXED(n, output)                                                                                               \
    "'trace': {'format': 'generate', 'count': " n ", 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt':"         \
    " {'distribution': 'fixed', 'tokens': 160}, 'output': {'distribution': 'fixed', 'tokens': " output "}}"

/* Two services, one of them with pools, which have no rates. Slower prompts take less power. */
TEST(services_add_up)
{
    static const char *const paces[][2] = {{"100ms", "400ms"}, {"400ms", "100ms"}};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true, .no_detail = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {"
            "'chat': {'llm': 'llama-3.1-8b', 'pools': {'prompts': {'role': 'prefill'}, 'tokens': {'role': 'decode'}}, " AFFINE
            ", " FIXED("10", "11") "}, 'code': {'llm': 'llama-3.1-8b', " AFFINE ", " FIXED("7", "5") "}}}",
            paces[i][0], paces[i][1]);
        const double chat = bed_metric(rows, "energy.j[chat]"), code = bed_metric(rows, "energy.j[code]");
        const double prompts = bed_metric(rows, "energy.j[chat/prompts]"),
                     tokens = bed_metric(rows, "energy.j[chat/tokens]");
        CHECK_NEAR((chat + code) / bed_metric(rows, "energy.j"), 1.0, 1e-12);
        CHECK_NEAR((prompts + tokens) / chat, 1.0, 1e-12);
        check_rates(rows, "", 17, 10 * 11 + 7 * 5);
        check_rates(rows, "[chat]", 10, 10 * 11);
        check_rates(rows, "[code]", 7, 7 * 5);
        CHECK(isnan(bed_metric(rows, "energy.j_per_request[chat/prompts]")));
        CHECK(isnan(bed_metric(rows, "energy.output_tokens_per_j[chat/tokens]")));
        CHECK(isnan(bed_metric(rows, "energy.j[code/default]")));
        const double peaks[] = {bed_metric(rows, "power.replica_w.max[chat]"),
                                bed_metric(rows, "power.replica_w.max[code]")};
        const double pools = fmax(bed_metric(rows, "power.replica_w.max[chat/prompts]"),
                                  bed_metric(rows, "power.replica_w.max[chat/tokens]"));
        CHECK((peaks[0] > peaks[1]) == (i == 0) && peaks[0] != peaks[1]);
        CHECK(peaks[0] == pools && bed_metric(rows, "power.replica_w.max") == fmax(peaks[0], peaks[1]));
    }
}

TEST(nothing_is_guessed)
{
    struct bed_rows *rows = run("l4", "", false);
    MUST(rows->code == 0);
    CHECK(isnan(bed_metric(rows, "energy.j")) && isnan(bed_metric(rows, "power.gpus_w.mean")));
    CHECK(isnan(bed_metric(rows, "power.replica_w.max")) && isnan(bed_metric(rows, "energy.output_tokens_per_j")));
    CHECK_EQ_INT(rows->n_warnings, 1);
    rows = run("a100-40-sxm", "", false); /* by a GPU with the same chip */
    MUST(rows->code == 0);
    CHECK(bed_metric(rows, "energy.j") > 0.0);
    CHECK_EQ_INT(rows->n_warnings, 2); /* this, and that it has no price */
}
