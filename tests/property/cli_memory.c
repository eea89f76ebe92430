/* The command line with one allocation after another failing: it says so and ends with 70, or manages without; it never
 * crashes, leaks (under ASan) or leaves half a file.
 *
 * Of commands that allocate much, some 60 of the allocations fail, at equal distances from a place that depends on
 * their number; FULL=1 in the environment lets each of them fail. */
#include "sim/cli/cli.h"
#include "tests/support/harness.h"

#include <sqlite3.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

/* Runs "orrery WORDS" with the allocation after `n` successful ones failing. Returns the exit status, and how many of
 * the `n` were not needed. */
static int run(const char *const *words, long n, long *left)
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
    *left = mem_fail_never();
    bool told = cli->diag.n_errors > 0 || status == 0 || status == 70;
    CHECK(told);
    free(cli);
    fclose(nowhere);
    return status;
}

/* And the timeline beside it. */
static void remove_result(const char *file)
{
    char timeline[400];
    snprintf(timeline, sizeof timeline, "%s.json", file);
    unlink(file);
    unlink(timeline);
}

/* Whether it is a results database with a run that is done: then only the summary was not printed. */
static bool is_whole(const char *file)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    const char *sql = "SELECT count(*) FROM run WHERE status = 'done'";
    const bool whole = sqlite3_open_v2(file, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                       sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
                       sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return whole;
}

/* With the allocation after `n` failing it ends with 70, and `file`, if any, is absent or whole; or it works. Returns
 * whether it failed; removes the file. */
static bool fails_well(const char *const *words, const char *file, long n)
{
    long left;
    const int status = run(words, n, &left);
    if (status != 0) {
        CHECK_EQ_INT(status, 70);
        if (file != NULL && access(file, F_OK) == 0) CHECK(is_whole(file));
    }
    if (file != NULL) remove_result(file);
    return status != 0;
}

/* Fails the first and the last allocations and those at equal distances between them; then it works. */
static void torture(const char *const *words, const char *file)
{
    enum { POINTS = 40, EDGE = 10, ENOUGH = 1 << 20 };
    long left;
    CHECK_EQ_INT(run(words, ENOUGH, &left), 0);
    if (file != NULL) remove_result(file);
    const long n_needed = ENOUGH - left, step = getenv("FULL") != NULL ? 1 : n_needed / POINTS + 1;
    CHECK(n_needed > 1 && left > 0);
    for (long n = 0; n < n_needed; n++)
        if (n < EDGE || n >= n_needed - EDGE || n % step == n_needed % step) fails_well(words, file, n);
    CHECK_EQ_INT(run(words, 2 * n_needed, &left), 0);
}

static const char *write_scenario(void)
{
    return test_file("s.json",
                     "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1},\n"
                     " 'services': {'chat': {'llm': 'llama-2-7b', 'trace': {'format': 'generate', 'count': 3,\n"
                     "   'arrival': {'process': 'fixed', 'rate': '5/s'}}}}}\n");
}

TEST(run_without_memory)
{
    char database[300];
    const char *path = write_scenario();
    snprintf(database, sizeof database, "%s.db", path);
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
    char file[320];
    snprintf(file, sizeof file, "%s.json", database);
    torture((const char *const[]){"orrery", "run", path, "-o", database, "--timeline", file, NULL}, database);
    snprintf(file, sizeof file, "%s.csv", database);
    torture((const char *const[]){"orrery", "export", database, "job_waits", "-o", file, NULL}, NULL);
    torture((const char *const[]){"orrery", "export", database, "--list", NULL}, NULL);
}

TEST(prefix_caches_without_memory)
{
    const char *path = test_file(
        "p.json", "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1},\n"
                  " 'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'prefix_cache': 'lru', 'blocks': 400},\n"
                  "   'routing': 'prefix-aware', 'trace': {'format': 'generate', 'count': 6,\n"
                  "   'arrival': {'process': 'fixed', 'rate': '5/s'}, 'max_total_tokens': 2000,\n"
                  "   'sessions': {'continue': 0.7, 'block_tokens': 64}}}}}\n");
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
}

/* Below it two tiers, the first one fetched into. */
TEST(prefix_stores_without_memory)
{
    const char *path = test_file(
        "tiers.json",
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1, 'storage': {'d': {'device': 'pm9a3'}}},\n"
        " 'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'prefix_cache': 'lru', 'blocks': 100,\n"
        "   'prefix_store': {'load': 'when-faster', 'prefetch': true, 'tiers': {'host': {'capacity': '200MB'},\n"
        "   'disk': {'device': 'd', 'capacity': '1GB'}}}}, 'trace': {'format': 'generate', 'count': 9,\n"
        "   'arrival': {'process': 'fixed', 'rate': '5/s'}, 'max_total_tokens': 1500,\n"
        "   'sessions': {'continue': 0.7, 'block_tokens': 64}}}}}\n");
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
}

TEST(sessions_without_memory)
{
    const char *path = test_file(
        "s.json",
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1},\n"
        " 'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'prefix_cache': 'lru', 'blocks': 100},\n"
        "   'routing': 'session-affinity', 'trace': {'format': 'generate-sessions', 'count': 3,\n"
        "   'arrival': {'process': 'fixed', 'rate': '5/s'}, 'classes': {'a': {'shape': 'agent', 'max_turns': 5,\n"
        "   'max_context': 1500, 'system_tokens': 50, 'branches': {'share': 0.5}}}}}}}\n");
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
    path = test_file("s.jsonl",
                     "{'arrival_s': 0, 'class': 'a', 'system': 'b', 'system_tokens': 70, 'input': [30, 5, 6, 7],"
                     " 'output': [9, 9, 9, 9], 'parent': [-1, 0, 0, 0], 'join': [-1, 3, 3, -1]}\n"
                     "{'arrival_s': 1, 'input': [90], 'output': [9]}\n");
    char copy[300];
    snprintf(copy, sizeof copy, "%s.copy", path);
    torture((const char *const[]){"orrery", "trace", "convert", path, "-o", copy, NULL}, copy);
    torture((const char *const[]){"orrery", "trace", "stat", path, "--prefix-cache", "lru=2", "--json", NULL}, NULL);
}

/* Two kinds of replicas, caches of prefixes where prompts are processed, KV that moves layer by layer over links, or of
 * its own bandwidth when it is pulled; few blocks, so that sequences are preempted. */
TEST(pools_without_memory)
{
    static const char pools[] =
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1, 'gpus_per_node': 8},\n"
        " 'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'prefix_cache': 'lru', 'blocks': 80},\n"
        "   'pools': {'p': {'role': 'prefill', 'pipeline_parallel': 2}, 'd': {'role': 'decode', 'replicas': 2}},\n"
        "   'kv_transfer': {'mode': 'layer-wise', 'layer_wise_from': 64}, 'decode_routing': 'least-outstanding',\n"
        "   'trace': {'format': 'generate', 'count': 12, 'max_total_tokens': 900,\n"
        "   'arrival': {'process': 'fixed', 'rate': '50/s'},\n"
        "   'sessions': {'continue': 0.7, 'block_tokens': 64}}}}}\n";
    char database[300];
    const char *path = test_file("pools.json", "%s", pools);
    snprintf(database, sizeof database, "%s.db", path);
    torture((const char *const[]){"orrery", "run", path, "--keep", "decisions", "-o", database, NULL}, database);
    torture((const char *const[]){"orrery", "run", path, "--set", "services.chat.routing=splitwise", "--set",
                                  "services.chat.kv_transfer={\"start\": \"pull\", \"bandwidth\": \"10GB/s\"}", "--json", NULL},
            NULL);
}

/* FlexGen's search solves linear programs with GLPK, whose own memory is not what fails here (tests/unit/core/lp.c). */
/* Jobs that exchange data and save it over planned paths, with slow NICs and a node that fails. */
TEST(networks_of_jobs_without_memory)
{
    const char *path = test_file(
        "graph.json",
        "{'cluster': {'nodes': 4, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'topology': 'leaf-spine',\n"
        " 'nodes_per_leaf': 2, 'paths': 'planned'}, 'storage': {'files': {'device': 'rdma-h800', 'ceiling': '5GB/s'}}},\n"
        " 'failures': {'causes': {'nic': {'scope': 'nic', 'slow': 0.5, 'lifetime': {'law': 'constant', 'mean': '7s'},\n"
        " 'repair': {'mean': '3s'}}, 'node': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '21s'}}}},\n"
        " 'jobs': {'types': {'default': {'step': {'compute': '1s', 'collectives': [{'kind': 'all-reduce', 'bytes': '3GB'}]},\n"
        " 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '5s'}, 'bytes': '10GB', 'to': 'files'}}},\n"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '20s', 'gpus': 6}]}}}");
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
}

TEST(linear_programs_without_memory)
{
    static const char flexgen[] =
        "{'cluster': {'gpu': 't4', 'nodes': 1},\n"
        " 'services': {'chat': {'llm': 'opt-6.7b', 'batching': 'fastertransformer', 'kv': {'offload': 'flexgen',\n"
        "   'tiers': {'host': {'device': 'host-dram-pcie4'}}},\n"
        "   'trace': {'format': 'generate', 'count': 2, 'max_total_tokens': 100,\n"
        "   'arrival': {'process': 'fixed', 'rate': '50/s'}}}}}\n";
    const char *path = test_file("flexgen.json", "%s", flexgen);
    torture((const char *const[]){"orrery", "run", path, "--json", NULL}, NULL);
}

TEST(explain_without_memory)
{
    const char *path = write_scenario();
    torture((const char *const[]){"orrery", "explain", "config", path, NULL}, NULL);
    torture((const char *const[]){"orrery", "explain", "cost", path, NULL}, NULL);
    torture((const char *const[]){"orrery", "explain", "cost", path, "--operators", "--set",
                                  "services.chat.cost=operators", NULL},
            NULL);
    torture((const char *const[]){"orrery", "validate", path, NULL}, NULL);
}

TEST(list_without_memory)
{
    torture((const char *const[]){"orrery", "list", "policies", NULL}, NULL);
    torture((const char *const[]){"orrery", "list", "scenarios", "--json", NULL}, NULL);
}

TEST(trace_without_memory)
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
        fputs(
            test_json("{'timestamp': 0, 'input_length': 9, 'output_length': 9, 'hash_ids': [%d, %d]}\n", i % 4, 10 + i),
            file);
    fclose(file);
    torture((const char *const[]){"orrery", "trace", "stat", trace, "-f", "mooncake", "--prefix-cache", "lru=3,inf",
                                  "--prefix-cache", "s3-fifo=4", "--prefix-cache", "discard-bit:error=0.5=3", "--json",
                                  NULL},
            NULL);
}

TEST(calibrate_without_memory)
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
