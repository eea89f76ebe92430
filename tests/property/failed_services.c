/* Services whose nodes fail: what is lost is repeated and nothing else, every request ends served once under every
 * batcher, equal results in every mode, and how long replicas and services are down. */
#include "policies/registry.h"
#include "sim/world/policy/batching.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define SMALL "'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output': {'distribution': 'fixed', 'tokens': 2}"
#define UNEQUAL                                                                                                        \
    "'prompt': {'distribution': 'uniform', 'min': 1, 'max': 700},"                                                     \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}"

/* %: a whole scenario but its braces, in single quotes. */
__attribute__((format(printf, 2, 3))) static struct bed_rows *run(const struct bed_options *options, const char *format,
                                                                  ...)
{
    char scenario[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scenario, sizeof scenario, format, arguments);
    va_end(arguments);
    return bed_run(options, "{%s}", scenario);
}

/* --- Closed forms --- */

enum { PROMPT = 100, OUTPUT = 40, ROUNDS = 200 };

/* The end of a request alone on a replica that fails every `life_s`, and is up again at once; a nanosecond later it is
 * routed. Returns it, with the tokens of KV that were lost. */
static double end_by_hand(double life_s, double *lost_tokens)
{
    double begin_s = 0;
    int context = PROMPT, made = 0;
    *lost_tokens = 0;
    for (int round = 1; round < ROUNDS; round++) {
        const double strike_s = round * life_s, first_s = begin_s + 0.009 + 60e-6 * context;
        double t_s = first_s;
        if (t_s < strike_s) made++, context++;
        while (t_s < strike_s && made < OUTPUT) {
            const double next_s = t_s + 0.011 + 20e-6 + 30e-9 * context;
            if (next_s >= strike_s) break;
            t_s = next_s, made++, context++;
        }
        if (made == OUTPUT) return t_s;
        if (first_s < strike_s) *lost_tokens += context - 1;
        begin_s = strike_s + 1e-9;
    }
    return -1;
}

/* With no repair and no delay only the lost work is repeated: of each round the iteration under way, and the KV. */
TEST(only_what_is_lost_is_repeated)
{
    static const double lives_s[] = {0.1, 0.0501, 0.2003, 0.3333, 9.0};
    for (size_t i = 0; i < sizeof lives_s / sizeof *lives_s; i++) {
        double lost_tokens;
        const double end_s = end_by_hand(lives_s[i], &lost_tokens);
        struct bed_rows *rows = run(
            &(struct bed_options){.check = true},
            "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'node':"
            " {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '%.9gs'}}}}, 'services': {'chat':"
            " {'llm': 'mistral-7b', 'restart': {'delay': '0s'}, " AFFINE ", 'trace': {'format': 'generate',"
            " 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100},"
            " 'output': {'distribution': 'fixed', 'tokens': 40}}}}",
            lives_s[i]);
        CHECK_EQ_INT(rows->code, 0);
        MUST(rows->n_requests == 1);
        CHECK_NEAR(rows->requests[0].arrival_s + rows->requests[0].e2e_s, end_s, 1e-7);
        CHECK_EQ_INT(rows->requests[0].preemptions, 0);
        CHECK_NEAR(bed_metric(rows, "failure.lost_kv_tokens"), lost_tokens, 0);
        CHECK_NEAR(bed_metric(rows, "failure.restarted_requests"), floor(end_s / lives_s[i]), 0);
        CHECK_NEAR(rows->end_s, end_s, 1e-7);
    }
}

/* Two replicas each on the first two of three nodes; every 100 s all nodes fail. */
static struct bed_rows *blackouts(const char *failures)
{
    return run(&(struct bed_options){.check = true},
               "'cluster': {'nodes': 3, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions',"
               " 'failures': {'causes': {'feed': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}%s},"
               " 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 4, 'restart': {'delay': '20s'}, " AFFINE
               ", 'trace': {'format': 'generate', 'duration': '160s', 'arrival': {'process': 'fixed', 'rate':"
               " '1/s'}, " SMALL "}}}",
               failures);
}

/* Down from 100 s on: repaired after 30 s, up after 20 more. Requests that come meanwhile wait; no repair prolongs the
 * run. */
TEST(services_are_down_until_they_have_started_again)
{
    struct bed_rows *rows = blackouts(", 'repair': {'law': 'constant', 'mean': '30s'}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "failure.service_down_s"), 50, 1e-6);
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), 4 * 50, 1e-6);
    CHECK_NEAR(bed_metric(rows, "failure.replica_stops"), 4, 0);
    CHECK(isnan(bed_metric(rows, "failure.replica_stops[chat]"))); /* a lone service is the whole */
    CHECK_EQ_INT(bed_decisions(rows, "fail", -1), 4);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        CHECK_EQ_STR(row->status, "finished");
        if (row->arrival_s > 100.0 && row->arrival_s < 149.0) CHECK(row->arrival_s + row->ttft_s > 150.0);
        if (row->arrival_s < 99.0 || row->arrival_s > 151.0) CHECK(row->e2e_s < 0.1);
    }
    CHECK_NEAR(rows->end_s, 160, 1.5);
}

/* What two services lose adds up to what the site reports. */
TEST(losses_of_services_add_up)
{
    static const char *const sums[] = {"failure.replica_stops", "failure.restarted_requests", "failure.lost_kv_tokens",
                                       "failure.replica_down_s", "failure.service_down_s"};
    struct bed_rows *rows = run(
        &(struct bed_options){.check = true},
        "'cluster': {'nodes': 3, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'fan': {'scope':"
        " 'node', 'lifetime': {'mean': '60s'}, 'repair': {'mean': '30s'}}}}, 'services': {'a': {'llm': 'mistral-7b', " AFFINE
        ", 'trace': {'format': 'generate', 'duration': '500s', 'arrival': {'process': 'fixed', 'rate': '1/s'}, " UNEQUAL
        "}}, 'b': {'llm': 'mistral-7b', 'replicas': 2, " AFFINE ", 'trace': {'format': 'generate', 'duration':"
        " '500s', 'arrival': {'process': 'fixed', 'rate': '2/s'}, " UNEQUAL "}}}");
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        double sum = 0;
        for (char entity = 'a'; entity <= 'b'; entity++) {
            char name[64];
            snprintf(name, sizeof name, "%s[%c]", sums[i], entity);
            sum += bed_metric(rows, name);
        }
        CHECK(bed_metric(rows, sums[i]) > 0);
        CHECK_NEAR(sum, bed_metric(rows, sums[i]), 1e-6);
    }
}

/* With a spare node that is there after 5 s: two replicas are up after 25 s, the others with their own node's
 * repair. */
TEST(spare_nodes_stand_in_for_services)
{
    struct bed_rows *rows = blackouts(
        ", 'repair': {'law': 'constant', 'mean': '30s'}}}, 'spare_nodes': 1, 'spare_delay': '5s'");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "failure.service_down_s"), 25, 1e-6);
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), 2 * 25 + 2 * 50, 1e-6);
}

/* The other node is free; nothing is repaired while the run lasts. */
TEST(replicas_start_again_where_there_is_room)
{
    struct bed_rows *rows = run(
        &(struct bed_options){.check = true},
        "'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions',"
        " 'failures': {'nodes_per_switch': 1, 'causes': {'fan': {'scope': 'node', 'lifetime': {'mean': '60s'},"
        " 'repair': {'law': 'constant', 'mean': '1000s'}}}}, 'seed': 4, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 1,"
        " 'tensor_parallel': 2, 'restart': {'delay': '3s'}, " AFFINE ", 'trace': {'format': 'generate',"
        " 'duration': '100s', 'arrival': {'process': 'fixed', 'rate': '1/s'}, " SMALL "}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "failure.replica_stops") >= 1);
    CHECK(bed_decisions(rows, "start", -1) >= 1);
}

/* From 1000 s on there is one node for two services. The first one takes it, and gives it back at 1300 s: the other is
 * up after 1 s. */
TEST(replicas_start_again_where_another_service_leaves)
{
    struct bed_rows *rows = run(
        &(struct bed_options){.check = true},
        "'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'until': '1500s', 'failures': {'spare_nodes': 1, 'causes': {'feed':"
        " {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '1000s'}, 'repair': {'law': 'constant', 'mean': '20000s'}}}},"
        " 'services': {'scaled': {'llm': 'mistral-7b', 'tensor_parallel': 4, 'scaling': {'policy': {'policy': 'schedule',"
        " 'steps': [{'at': '0s', 'replicas': 1}, {'at': '1300s', 'replicas': 0}]}, 'min': 0, 'max': 1, 'interval': '10s'},"
        " " AFFINE ", 'trace': {'format': 'generate', 'duration': '1500s', 'arrival': {'process': 'fixed', 'rate':"
        " '0.0301/s'}, " SMALL "}},"
        " 'fixed': {'llm': 'mistral-7b', 'tensor_parallel': 4, 'restart': {'delay': '1s'}, " AFFINE
        ", 'trace': {'format':"
        " 'generate', 'duration': '1500s', 'arrival': {'process': 'fixed', 'rate': '0.1/s'}, " SMALL "}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s[fixed]"), 301, 1e-6);
}

/* --- Conservation --- */

struct site {
    const char *batching, *how;
    int tensor_parallel, pipeline_parallel;
    const char *more; /* of the service */
};

enum { N_REQUESTS = 250 };

static struct bed_rows *stormy(const struct site *site, const struct bed_options *options)
{
    return run(
        options,
        "'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'host': {'device': 'host-dram-pcie4'}, 'server_power': {'idle': '680W',"
        " 'per_gpu_watt': 0.66}, 'power': {'budget': '100kW'}}, 'keep': 'decisions', 'failures': {"
        " 'nodes_per_switch': 2, 'causes': {'gpu': {'scope': 'gpu', 'lifetime': {'mean': '25s'}},"
        " 'switch': {'scope': 'switch', 'lifetime': {'mean': '20s'}, 'repair': {'mean': '2s'}}},"
        " 'domains': {'feed': {'nodes': 4, 'shock': '15s', 'hit': 0.5, 'spread': '100ms', 'repair':"
        " {'mean': '1s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 3, 'tensor_parallel': %d,"
        " 'pipeline_parallel': %d, 'batching': {'policy': '%s'%s}, 'kv': {'blocks': 150%s, 'restart': {'delay':"
        " '500ms'}, " AFFINE ", 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'poisson',"
        " 'rate': '16/s'}, " UNEQUAL "}}}",
        site->tensor_parallel, site->pipeline_parallel, site->batching, site->how, site->more, N_REQUESTS);
}

static void check_served_once(const struct bed_rows *rows)
{
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, N_REQUESTS);
    for (size_t i = 0; i < rows->n_requests; i++) {
        CHECK_EQ_STR(rows->requests[i].status, "finished");
        CHECK(bed_request(rows, rows->requests[i].id) == &rows->requests[i]);
    }
    CHECK(bed_metric(rows, "failure.restarted_requests") > 0);
    CHECK_EQ_INT(bed_decisions(rows, "requeue", -1), bed_metric(rows, "failure.restarted_requests"));
    CHECK(rows->n_token_gaps == (int64_t)(bed_metric(rows, "request.output_tokens.sum") - N_REQUESTS));
}

static void check_storm(const struct site *site)
{
    const unsigned before = CU_get_number_of_failures();
    struct bed_rows *rows = stormy(site, &(struct bed_options){.check = true});
    struct bed_rows *again = stormy(site, &(struct bed_options){.check = true, .single_step = true, .queue = QUEUE_HEAP});
    check_served_once(rows);
    CHECK(bed_metric(rows, "failure.restarted_requests") > 10);
    CHECK(bed_equal(rows, again));
    if (CU_get_number_of_failures() > before)
        printf("\n  %s, %d by %d GPUs%s", site->batching, site->tensor_parallel, site->pipeline_parallel, site->more);
}

TEST(requests_are_served_once_under_every_batcher)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_BATCHING) continue;
        const char *name = table.policies[i]->name;
        const char *how = batcher_drops(table.policies[i]) ? ", 'deadline': '1h'" : ""; /* so that it drops none */
        check_storm(&(struct site){name, how, 1, 1, "}"});
        check_storm(&(struct site){name, how, 2, 2, "}"});
        check_storm(&(struct site){name, how, 1, 1, "}, 'routing': 'least-kv', 'information_delay': '300ms'"});
    }
}

#define SWAP ", 'preemption': 'swap'"

TEST(what_is_swapped_or_cached_is_lost)
{
    check_storm(&(struct site){"vllm-v0", SWAP, 1, 1, "}"});
    check_storm(&(struct site){"vllm-v0", SWAP, 1, 3, "}"});
    check_storm(&(struct site){"vllm-v1", "", 1, 1, ", 'prefix_cache': 'lru'}"});
    check_storm(&(struct site){"vllm-v1", "", 1, 1, "}, 'routing': 'prefix-aware'"});
}

#define SESSIONS "'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl'"
static struct bed_rows *sessions(const char *failures, const struct bed_options *options)
{
    return run(
        options,
        "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm'}%s, 'services': {'chat': {'llm': 'llama-3.1-8b',"
        " 'restart': {'delay': '0s'}, 'kv': {'prefix_cache': 'lru'}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '5ms',"
        " 'per_token': '5us'}, 'decode': {'fixed': '100us'}}, 'trace': {" SESSIONS ", 'max_total_tokens': 8192}}}",
        failures);
}

/* Nobody has been served since the latest failure, one each second, nor was there anybody then. */
static bool finds_an_idle_service(const struct bed_rows *rows, const struct request_row *row)
{
    const double failed_s = floor(row->arrival_s);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *other = &rows->requests[i];
        if (other->arrival_s < row->arrival_s && other->arrival_s + other->e2e_s > failed_s) return false;
    }
    return failed_s > 0;
}

/* All sessions begin with the same block: whoever comes first after a failure finds it no more. */
TEST(shared_prefixes_are_lost)
{
    const char *fails =
        ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '1s'}}}}";
    struct bed_rows *rows = sessions(fails, &(struct bed_options){.check = true});
    struct bed_rows *steps = sessions(fails, &(struct bed_options){.check = true, .single_step = true, .queue = QUEUE_HEAP});
    struct bed_rows *plain = sessions("", &(struct bed_options){.quiet = true});
    int n_first = 0;
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, steps));
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        if (!finds_an_idle_service(rows, row)) continue;
        CHECK_EQ_INT(row->cached_tokens, 0);
        CHECK(bed_request(plain, row->id)->cached_tokens > 0);
        n_first++;
    }
    CHECK(n_first > 10);
}

/* The first request leaves two blocks in the cache. The third one would have them, but waits behind the second, which
 * has one block of its own and runs until 1.7 s: for a slot, or for the tokens of a long answer. What it has been
 * promised is gone if a node fails at 1 s, also when the second request has filled the cache with as many changes. */
TEST(what_a_waiting_request_would_find_is_lost)
{
    static const char *const limits[] = {"'order': 'lpm', 'max_sequences': 1",
                                         "'max_tokens': 2000, 'chunked_prefill_tokens': 592"};
    const char *path = test_file(
        "requests.jsonl", "{'timestamp': 0, 'input_length': 1100, 'output_length': 2, 'hash_ids': [1, 2, 3]}\n"
                          "{'timestamp': 100, 'input_length': 600, 'output_length': 160, 'hash_ids': [4, 5]}\n"
                          "{'timestamp': 200, 'input_length': 1100, 'output_length': 20, 'hash_ids': [1, 2, 6]}\n");
    for (int i = 0; i < 4; i++) {
        const bool fails = i % 2 == 1;
        const struct bed_rows *rows = run(
            &(struct bed_options){.check = true},
            "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm'}, 'failures': {'causes': {'node': {'scope':"
            " 'node', 'lifetime': {'law': 'constant', 'mean': '%ds'}}}}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
            " 'restart': {'delay': '0s'}, 'kv': {'blocks': 250, 'prefix_cache': 'lru'}, 'batching': {'policy': 'sglang', %s}, 'cost':"
            " {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format':"
            " 'mooncake', 'path': '%s'}}}, 'until': '1.9s'",
            fails ? 1 : 1000, limits[i / 2], path);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_request(rows, 2)->cached_tokens, fails ? 0 : 1024);
        CHECK_EQ_INT(bed_metric(rows, "prefix.evicted_blocks.sum"), fails ? 3 * 512 / 16 : 0);
        CHECK(bed_request(rows, 1)->e2e_s > 1 && bed_request(rows, 2)->ttft_s > 1);
    }
}

/* --- Beside an autoscaler --- */

/* Time for which failures keep replicas from being up, from the rows: each from its first `fail` to its next `up`. */
static double down_by_rows_s(const struct bed_rows *rows)
{
    double since_s[3] = {-1, -1, -1}, sum_s = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        int index = -1;
        if (sscanf(row->reason, "replica %d:", &index) != 1 || index > 2) continue;
        if (strcmp(row->action, "fail") == 0) CHECK_EQ_STR(row->policy, "failures");
        if (strcmp(row->action, "fail") == 0 && since_s[index] < 0) since_s[index] = row->t_s;
        if (strcmp(row->action, "up") != 0 || since_s[index] < 0) continue;
        sum_s += row->t_s - since_s[index];
        since_s[index] = -1;
    }
    for (int i = 0; i < 3; i++)
        if (since_s[i] >= 0) sum_s += rows->end_s - since_s[i];
    return sum_s;
}

/* One replica, from 50 s on three, which fail often while they start: what starts for the first time is not down. */
TEST(what_has_never_been_up_is_not_down)
{
    for (int seed = 1; seed <= 12; seed++) {
        struct bed_rows *rows = run(
            &(struct bed_options){.check = true},
            "'cluster': {'nodes': 6, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions', 'seed': %d, 'failures':"
            " {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '60s'}}}}, 'services': {'chat': {'llm': 'mistral-7b',"
            " 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1}, {'at': '50s', 'replicas': 3}]},"
            " 'min': 1, 'max': 3, 'interval': '50s', 'start_delay': '40s'}, " AFFINE ", 'trace': {'format': 'generate',"
            " 'duration': '200s', 'arrival': {'process': 'fixed', 'rate': '2/s'}, " SMALL "}}}",
            seed);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), down_by_rows_s(rows), 1e-6);
    }
}

#define SCALES "'scaling': {'policy': 'target-outstanding', 'max': 2}, "

static struct bed_rows *restarting(const char *failures, const char *more)
{
    return run(&(struct bed_options){.quiet = true},
               "'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}%s, 'services': {'chat': {'llm': 'mistral-7b',"
               " %s " AFFINE ", 'trace': {'format': 'generate', 'count': 9, 'arrival': {'process': 'fixed', 'rate': '1/s'}, " SMALL
               "}}}",
               failures, more);
}

/* Where it says nothing it does no harm; what fails by itself is no service. */
TEST(unused_restart_sections_are_warned_of)
{
    const char *of_jobs = ", 'failures': {'causes': {'bug': {'scope': 'job', 'lifetime': {'mean': '1s'}}}}";
    struct bed_rows *both = restarting("", SCALES "'restart': {'delay': '7s'},");
    struct bed_rows *idle = restarting("", "'restart': {'delay': '7s'},"), *plain = restarting("", "");
    struct bed_rows *spared = restarting(of_jobs, SCALES "'restart': {'delay': null, 'load_bandwidth': '3.4GB/s'},");
    CHECK_EQ_INT(both->code, SIM_E_CONFIG);
    CHECK_EQ_INT(plain->code, 0);
    CHECK_EQ_INT(idle->code, 0);
    CHECK_EQ_INT(idle->diag.n_items, plain->diag.n_items + 1);
    CHECK_EQ_INT(spared->code, 0);
}

/* Twelve GPUs of which one is held, and replicas of two stages on four each: the second one takes nothing. */
TEST(part_of_a_replica_takes_no_gpus)
{
    struct bed_rows *rows = run(
        &(struct bed_options){.check = true},
        "'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b',"
        " 'tensor_parallel': 4, 'pipeline_parallel': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
        " 'replicas': 1}, {'at': '50s', 'replicas': 2}]}, 'max': 2, 'interval': '10s'}, " AFFINE ", 'trace': {'format':"
        " 'generate', 'duration': '100s', 'arrival': {'process': 'fixed', 'rate': '0.1/s'}, " SMALL
        "}}}, 'jobs': {'placement':"
        " 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1s', 'gpus': 1}]}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "scaling.missing_replica_s.sum") > 40);
    CHECK_EQ_INT(bed_metric(rows, "cluster.gpus_in_use.max"), 9);
}

/* --- Beside jobs --- */

/* Causes of scope `job` strike those that hold GPUs, wherever the others are. */
TEST(jobs_of_cpus_alone_do_not_fail)
{
    static const char *const placements[] = {"", "'placement': 'fgd',"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = run(
            &(struct bed_options){.check = true},
            "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'cpus_per_node': 16, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'bug':"
            " {'scope': 'job', 'lifetime': {'law': 'constant', 'mean': '10s'}}}}, 'jobs': {%s 'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'duration': '99s', 'gpus': 0, 'cpus': 1}, {'duration': '9s', 'gpus': 1, 'cpus': 1}]}}",
            placements[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "failure.interrupts"), 0);
    }
}

/* Two nodes of 8 GPUs; the service's only replica holds one of them but while all nodes are down, from 100 s to 150 s.
 * A job that needs both is as impossible then as before and after. */
TEST(jobs_do_not_wait_for_the_gpus_of_a_failed_replica)
{
    static const char *const services[] = {
        "'restart': {'delay': '1s'},",
        "'scaling': {'policy': 'target-outstanding', 'min': 1, 'max': 1, 'interval': '3s', 'start_delay': '1s'},"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = run(
            &(struct bed_options){.check = true},
            "'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'node': {'scope':"
            " 'node', 'lifetime': {'law': 'constant', 'mean': '100s'}, 'repair': {'law': 'constant', 'mean': '50s'}}}},"
            " 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': 8, %s 'kv': {'blocks': 400}, " AFFINE
            ", 'trace': {'format': 'generate', 'count': 50, 'arrival': {'process': 'fixed', 'rate': '0.25/s'}, " SMALL
            "}}}, 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'submit': '1s', 'duration': '1s', 'gpus': 16}, {'submit': '110s', 'duration': '1s', 'gpus': 16},"
            " {'submit': '120s', 'duration': '1s', 'gpus': 8}, {'submit': '160s', 'duration': '1s', 'gpus': 16}]}}",
            services[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "failure.replica_stops") > 0 && bed_metric(rows, "failure.replica_down_s") > 0);
        for (int64_t k = 0; k < 4; k++)
            if (CHECK(bed_job(rows, k) != NULL))
                CHECK_EQ_STR(bed_job(rows, k)->status, k == 2 ? "finished" : "rejected");
    }
}

/* Starts a job, and from 170 s on lets it go on with half of its GPUs. */
struct shrinker {
    const struct job_view *job;
};

enum { SHRINKS_S = 170 };

static void shrinker_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    ((struct shrinker *)state)->job = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int shrinker_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *job = ((struct shrinker *)state)->job;
    const sim_ns shrinks_ns = SHRINKS_S * SIM_NS_PER_S;
    if (job == NULL || (job->state == JOB_PENDING && !job_plan_start(plan, job, "there is room"))) return 0;
    if (view->now_ns < shrinks_ns) job_plan_wake_at(plan, shrinks_ns);
    if (view->now_ns == shrinks_ns) CHECK(job_plan_resize(plan, job, 4, "half is enough"));
    return 0;
}

static const struct scheduler shrinking = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                      .family = POLICY_SCHEDULER, .name = "shrinking", .summary = "",
                                                      .source = "", .state_bytes = sizeof(struct shrinker)},
                                           .notify = shrinker_notify,
                                           .decide = shrinker_decide};

static double time_of(const struct bed_rows *rows, const char *service, const char *action, double from_s)
{
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        const bool is_it = strcmp(decision->service, service) == 0 && strcmp(decision->action, action) == 0;
        if (is_it && decision->t_s >= from_s) return decision->t_s;
    }
    return (double)INFINITY;
}

/* The service's node fails for good; the job holds the other one until it shrinks. */
TEST(a_job_that_shrinks_makes_room_for_a_failed_replica)
{
    int n_seen = 0;
    for (int seed = 0; seed < 40; seed++) {
        struct bed_rows *rows = run(
            &(struct bed_options){.check = true, .policy = &shrinking.policy, .quiet = true},
            "'seed': %d, 'keep': 'decisions', 'until': '300s', 'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu':"
            " 'a100-80-sxm'}, 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '200s'}, 'repair':"
            " {'law': 'constant', 'mean': '1000s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': 4,"
            " 'restart': {'delay': '1s'}, 'kv': {'blocks': 400}, " AFFINE
            ", 'trace': {'format': 'generate', 'count': 90, 'arrival': {'process': 'fixed', 'rate': '0.25/s'}, " SMALL
            "}}}, 'jobs': {'scheduler': 'shrinking', 'placement': 'consolidated', 'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'duration': '400s', 'gpus': 8}]}}",
            seed);
        const double fails_s = time_of(rows, "chat", "fail", 0.0);
        const bool is_case = fails_s < SHRINKS_S && time_of(rows, "", "interrupt", 0.0) > SHRINKS_S;
        if (is_case) CHECK_NEAR(time_of(rows, "chat", "start", fails_s), SHRINKS_S, 0.0);
        n_seen += is_case;
        bed_free(rows);
    }
    CHECK(n_seen > 0);
}

enum { N_JOBS = 60 };

/* Beside jobs that yield, and beside an autoscaler that wants another number each time. */
static struct bed_rows *mixed(const char *more, const struct bed_options *options)
{
    SCOPED(text) jobs = {0};
    struct rng rng = test_rng(3, "struck jobs", 0);
    for (int i = 0; i < N_JOBS; i++)
        text_printf(&jobs, "%s{'submit': '%d.5s', 'duration': '%dms', 'gpus': %d}", i > 0 ? ", " : "", 2 * i,
                    500 + (int)rng_below(&rng, 9000), 1 + (int)rng_below(&rng, 2));
    return run(options,
               "'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions', 'failures':"
               " {'spare_nodes': 1, 'spare_delay': '1s', 'causes': {'node': {'scope': 'node', 'lifetime': {'mean':"
               " '20s'}, 'repair': {'mean': '5s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 3,"
               " 'tensor_parallel': 2, %s 'kv': {'blocks': 400}, " AFFINE ", 'trace': {'format': 'generate',"
               " 'count': %d, 'arrival': {'process': 'poisson', 'rate': '2/s'}, " UNEQUAL
               "}}}, 'jobs': {'scheduler': 'srtf', 'placement': 'first-fit',"
               " 'preemptible': true, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}",
               more, N_REQUESTS, jobs.chars);
}

static double count_yields(const struct bed_rows *rows)
{
    double n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        n += strstr(rows->decisions[i].reason, "yields to a service") != NULL;
    return n;
}

static void check_mixed(const char *more)
{
    struct bed_rows *rows = mixed(more, &(struct bed_options){.check = true});
    struct bed_rows *again = mixed(more, &(struct bed_options){.check = true, .single_step = true, .queue = QUEUE_HEAP});
    check_served_once(rows);
    CHECK_EQ_INT(rows->n_jobs, N_JOBS);
    for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
    CHECK(bed_metric(rows, "failure.interrupts") > 0);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == count_yields(rows) && count_yields(rows) > 0);
    CHECK(bed_equal(rows, again));
}

TEST(services_and_jobs_bear_failures_together)
{
    check_mixed("'restart': {'delay': '1s'},");
    check_mixed("'scaling': {'policy': {'policy': 'target-outstanding', 'target': 4, 'down_window': '0s'},"
                " 'min': 0, 'max': 4, 'interval': '3s', 'start_delay': '1s'},");
}

static int count_ignored(void *context, const struct warning_row *row)
{
    *(int *)context += strcmp(row->code, "failures-ignored") == 0;
    return 0;
}

/* Replicas whose router chooses pairs go on; the run says so. */
TEST(a_service_that_ignores_failures_warns)
{
    static const char text[] =
        "'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'network': {'bandwidth':"
        " '50GB/s'}}, 'failures': {'causes': {'node': {'scope': '%s', 'lifetime': {'mean': '3s'}}}},"
        " 'services': {'chat': {'llm': 'mistral-7b', 'routing': 'splitwise', 'pools': {'prompts': {'role': 'prefill'},"
        " 'tokens': {'role': 'decode'}}, " AFFINE ", 'trace': {'format': 'generate', 'count': 40, 'arrival':"
        " {'process': 'poisson', 'rate': '2/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 30}}}}";
    int n_ignored[2] = {0};
    const struct sink sinks[2] = {{.context = &n_ignored[0], .warning = count_ignored},
                                  {.context = &n_ignored[1], .warning = count_ignored}};
    struct bed_rows *failing = run(BED(.check = true, .also = &sinks[0]), text, "node");
    struct bed_rows *plain = run(BED(.check = true, .also = &sinks[1]), text, "job");
    CHECK_EQ_INT(failing->code, 0);
    CHECK(n_ignored[0] == 1 && n_ignored[1] == 0);
    CHECK(bed_metric(failing, "failure.events") > 0);
    CHECK(bed_metric(failing, "request.e2e_s.mean") == bed_metric(plain, "request.e2e_s.mean"));
}

TEST(services_hold_no_spare_nodes)
{
    struct bed_rows *rows = run(
        &(struct bed_options){.quiet = true},
        "'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'failures': {'spare_nodes': 1, 'causes': {'node':"
        " {'scope': 'node', 'lifetime': {'mean': '1h'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 3, " AFFINE
        ", 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, " SMALL "}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (CHECK(rows->diag.n_errors == 1)) CHECK(strstr(rows->diag.items[0].text, "node 1 is a spare node") != NULL);
}
