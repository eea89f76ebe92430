/* The command line with every allocation failing in turn: it says so and ends with 70, or manages without; it never
 * crashes, leaks (under ASan) or leaves half a file. */
#include "tests/harness.h"

#include "sim/cli/cli.h"
#include "sim/core/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

/* Runs "orrery WORDS" with the allocation after `n` successful ones failing. Returns the exit status. */
static int run(const char *const *words, long n)
{
    char copies[MAX_WORDS][256], *argv[MAX_WORDS + 1] = {NULL};
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        argv[argc] = copies[argc];
    }
    static const volatile sig_atomic_t never = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    if (nowhere == NULL) abort();
    struct cli *cli = calloc(1, sizeof *cli);
    *cli = (struct cli){.out = nowhere, .err = nowhere, .interrupt = &never};
    mem_fail_after(n);
    int status = cli_main(cli, argc, argv);
    mem_fail_never();
    bool told = cli->diag.n_errors > 0 || status == 0 || status == 70;
    CHECK(told);
    free(cli);
    fclose(nowhere);
    return status;
}

/* Fails allocation after allocation until it works; `file`, if any, must then be absent. */
static void torture(const char *const *words, const char *file)
{
    long n = 0;
    int status;
    while ((status = run(words, n)) != 0) {
        if (!CHECK_EQ_INT(status, 70)) return;
        if (file != NULL && !CHECK(access(file, F_OK) != 0)) return;
        if (!CHECK(n++ < 100000)) return;
    }
    CHECK(n > 1);
}

static const char *write_scenario(char path[256])
{
    snprintf(path, 256, "%s/s.json", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    fputs("{\"cluster\": {\"gpu\": \"a100-80-sxm\", \"nodes\": 1},\n"
          " \"services\": {\"chat\": {\"llm\": \"llama-2-7b\", \"trace\": {\"format\": \"generate\", \"count\": 3,\n"
          "   \"arrival\": {\"process\": \"fixed\", \"rate\": \"5/s\"}}}}}\n",
          file);
    fclose(file);
    return path;
}

static void run_without_memory(void)
{
    char path[256], database[300];
    write_scenario(path);
    snprintf(database, sizeof database, "%s.db", path);
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
    char file[320];
    snprintf(file, sizeof file, "%s.json", database);
    torture((const char *const[]){"orrery", "run", path, "-o", database, "--timeline", file, NULL}, database);
    torture((const char *const[]){"orrery", "export", database, "job_waits", "-o", file, NULL}, NULL);
    torture((const char *const[]){"orrery", "export", database, "--list", NULL}, NULL);
}

static void prefix_caches_without_memory(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/p.json", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    fputs("{\"cluster\": {\"gpu\": \"a100-80-sxm\", \"nodes\": 1},\n"
          " \"services\": {\"chat\": {\"llm\": \"llama-2-7b\", \"kv\": {\"prefix_cache\": \"lru\", \"blocks\": 400},\n"
          "   \"routing\": \"prefix-aware\", \"trace\": {\"format\": \"generate\", \"count\": 6,\n"
          "   \"arrival\": {\"process\": \"fixed\", \"rate\": \"5/s\"}, \"max_total_tokens\": 2000,\n"
          "   \"sessions\": {\"continue\": 0.7, \"block_tokens\": 64}}}}}\n",
          file);
    fclose(file);
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
}

static void explain_without_memory(void)
{
    char path[256];
    write_scenario(path);
    torture((const char *const[]){"orrery", "explain", "config", path, NULL}, NULL);
    torture((const char *const[]){"orrery", "explain", "cost", path, NULL}, NULL);
    torture((const char *const[]){"orrery", "explain", "cost", path, "--operators", "--set",
                                  "services.chat.cost=operators", NULL},
            NULL);
    torture((const char *const[]){"orrery", "validate", path, NULL}, NULL);
}

static void list_without_memory(void)
{
    torture((const char *const[]){"orrery", "list", "policies", NULL}, NULL);
    torture((const char *const[]){"orrery", "list", "scenarios", "--json", NULL}, NULL);
}

static void trace_without_memory(void)
{
    char trace[256], copy[300];
    snprintf(trace, sizeof trace, "%s/t.csv", test_tmpdir());
    snprintf(copy, sizeof copy, "%s.gz", trace);
    torture((const char *const[]){"orrery", "trace", "generate", "-o", trace, "--set", "count=5", NULL}, trace);
    torture((const char *const[]){"orrery", "trace", "check", trace, "-f", "csv", NULL}, NULL);
    torture((const char *const[]){"orrery", "trace", "stat", trace, "-f", "csv", "--json", NULL}, NULL);
    torture((const char *const[]){"orrery", "trace", "convert", trace, "-f", "csv", "-o", copy, NULL}, copy);
    snprintf(trace, sizeof trace, "%s/t.jsonl", test_tmpdir());
    FILE *file = fopen(trace, "w");
    if (file == NULL) abort();
    for (int i = 0; i < 9; i++)
        fprintf(file, "{\"timestamp\": 0, \"input_length\": 9, \"output_length\": 9, \"hash_ids\": [%d, %d]}\n", i % 4,
                10 + i);
    fclose(file);
    torture((const char *const[]){"orrery", "trace", "stat", trace, "-f", "mooncake", "--prefix-cache", "lru=3,inf",
                                  "--prefix-cache", "s3-fifo=4", "--prefix-cache", "discard-bit:error=0.5=3", "--json",
                                  NULL},
            NULL);
}

static void calibrate_without_memory(void)
{
    char profile[256], fitted[300], plots[300];
    snprintf(profile, sizeof profile, "%s/p.csv", test_tmpdir());
    snprintf(fitted, sizeof fitted, "%s.json", profile);
    snprintf(plots, sizeof plots, "%s.plots", profile);
    FILE *file = fopen(profile, "w");
    if (file == NULL) abort();
    fputs("kernel,tokens,width,time_us,group\nnorm,1,4096,5,a\nnorm,64,4096,6,a\nnorm,512,4096,9,b\n", file);
    fputs("norm,4096,4096,60,b\n", file);
    fclose(file);
    torture((const char *const[]){"orrery", "calibrate", "--gpu", "a100-80-sxm", profile, "--json", "--report", plots,
                                  "-o", fitted, NULL},
            fitted);
    torture((const char *const[]){"orrery", "calibrate", "--predict", "a100-80-sxm", profile, "--json", NULL}, NULL);
}

TEST_SUITE(cli_memory)
{
    TEST(run_without_memory);
    TEST(prefix_caches_without_memory);
    TEST(explain_without_memory);
    TEST(list_without_memory);
    TEST(trace_without_memory);
    TEST(calibrate_without_memory);
}
