/* The default of scaling.load_bandwidth against measured loads (ServerlessLLM, benchmark results on an H100 server:
 * weight files of format safetensors, read cold from NVMe): the rate is that of the two models of 32 billion
 * parameters, and tells the third one, a quarter of their size, which it was not taken from. */
#include "sim/core/real_list.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MAX_LOADS = 64 };

/* Median seconds of the cold loads of a model; 0: the file has none. */
static double median_load_s(const char *path, const char *model)
{
    char line[512];
    double seconds[MAX_LOADS];
    size_t n = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && n < MAX_LOADS && fgets(line, sizeof line, file) != NULL) {
        const char *field = line;
        if (strncmp(line, "h100,random,", 12) != 0 || strstr(line, model) == NULL ||
            strstr(line, "safetensors") == NULL)
            continue;
        for (int i = 0; i < 5; i++) field = strchr(field, ',') + 1;
        seconds[n++] = atof(field);
    }
    if (file != NULL) fclose(file);
    qsort(seconds, n, sizeof *seconds, real_compare);
    return n > 0 ? (seconds[(n - 1) / 2] + seconds[n / 2]) / 2 : 0;
}

/* Seconds from taking its GPUs to being up, of a second replica that a scenario says nothing more about. */
static double simulated_load_s(const char *llm)
{
    struct bed_rows *rows = bed_run(
        NULL,
        "{'cluster': {'nodes': 1, 'gpu': 'h100-sxm'}, 'keep': 'decisions', 'services': {'s': {'llm': '%s',"
        " 'tensor_parallel': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1},"
        " {'at': '30s', 'replicas': 2}]}, 'max': 2}, 'trace': {'format': 'generate', 'duration': '2min',"
        " 'arrival': {'process': 'fixed', 'rate': '1/s'}}}}}",
        llm);
    double start_s = 0, up_s = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        if (strcmp(rows->decisions[i].action, "start") == 0) start_s = rows->decisions[i].t_s;
        if (strcmp(rows->decisions[i].action, "up") == 0) up_s = rows->decisions[i].t_s;
    }
    CHECK_EQ_INT(rows->code, 0);
    return up_s - start_s;
}

static void check_load(const char *path, const char *measured, const char *llm, double tolerance)
{
    const double measured_s = median_load_s(path, measured);
    CHECK_NEAR(simulated_load_s(llm), measured_s, tolerance * measured_s);
}

TEST(weights_load_as_measured)
{
    const char *path = test_shared("llm_end_to_end/serverlessllm__model_load_times.csv");
    if (path == NULL) return;
    check_load(path, "Qwen/Qwen3-32B", "qwen3-32b", 0.05);
    check_load(path, "DeepSeek-R1-Distill-Qwen-32B", "qwen3-32b", 0.05); /* as many weights */
    check_load(path, "Llama-3.1-8B-Instruct", "llama-3.1-8b", 0.08);
}
