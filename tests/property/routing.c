/* Laws of routing: chances, closed forms of queues under each policy, and what an information delay shows and does. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char *const routers[] = {"round-robin",
                                      "least-outstanding",
                                      "random",
                                      "power-of-two",
                                      "jsq-tokens",
                                      "{'policy': 'jsq-tokens', 'running_weight': 0.1}",
                                      "least-kv",
                                      "{'policy': 'least-outstanding', 'count': 'queued'}",
                                      "{'policy': 'jsq-tokens', 'choices': 3}",
                                      "{'policy': 'least-kv', 'choices': 2}",
                                      "{'policy': 'prefix-aware', 'choices': 5}",
                                      "{'policy': 'distserve', 'choices': 2}"};
enum { N_ROUTERS = sizeof routers / sizeof *routers };

/* --- Queues: one request at a time at each replica, 1 ms per prompt token, one token of output --- */

enum { SERVERS = 100, CUSTOMERS = 40000 };

static const char queues[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 100, 'gpu': 'a100-80-sxm'}, 'warmup': '60s',"
    " 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 100, 'kv': {'blocks': 10000},"
    " 'batching': {'policy': 'vllm-v0', 'max_sequences': 1}, 'routing': %s, 'information_delay': '%gs',"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '1ns', 'per_token': '1ms'}, 'decode': {'fixed': '1ms'}},"
    " 'trace': {'format': 'csv', 'path': '%s', 'columns': {'arrival': 'at', 'prompt': 'in', 'output': 'out'}}}}}";

/* A policy's name in quotes; an object as it is. */
static const char *quoted(char text[static 128], const char *routing)
{
    snprintf(text, 128, routing[0] == '{' ? "%s" : "'%s'", routing);
    return text;
}

/* Poisson arrivals, `load` per second and server; exponential service times of 1 s. Returns the mean time in the
 * system. */
static double time_in_system_s(const char *routing, double load, double delay_s)
{
    char path[512], text[128];
    struct rng rng;
    snprintf(path, sizeof path, "%s/queues.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL)) return 0;
    fprintf(file, "at,in,out\n");
    double now_s = 0;
    rng_init(&rng, 5, 0, "queues", 0);
    for (int i = 0; i < CUSTOMERS; i++) {
        now_s += rng_exponential(&rng, 1 / (load * SERVERS));
        fprintf(file, "%.9f,%d,1\n", now_s, (int)ceil(rng_exponential(&rng, 1000)));
    }
    fclose(file);
    struct bed_rows *rows = bed_ok(BED(.no_detail = true), queues, quoted(text, routing), delay_s, path);
    return bed_metric(rows, "request.e2e_s.mean");
}

/* The supermarket model for many servers and d choices (Mitzenmacher 2001): sum over i >= 1 of
 * rho^((d^i - d) / (d - 1)). */
static double supermarket_s(double load, double d)
{
    double sum = 0;
    for (int i = 1; i < 12; i++) sum += pow(load, (pow(d, i) - d) / (d - 1));
    return sum;
}

TEST(queues_are_those_of_theory)
{
    double random_s = time_in_system_s("random", 0.7, 0), two_s = time_in_system_s("power-of-two", 0.9, 0);
    double jsq_s = time_in_system_s("least-outstanding", 0.9, 0);
    CHECK_NEAR(supermarket_s(0.9, 2), 2.61, 0.01);
    CHECK_NEAR(random_s, 1 / (1 - 0.7), 0.2); /* M/M/1 on each */
    CHECK_NEAR(two_s, supermarket_s(0.9, 2), 0.1);
    CHECK(jsq_s >= 0.98);
    CHECK(jsq_s < 1.2);
    CHECK(time_in_system_s("round-robin", 0.7, 0) < random_s); /* more regular arrivals */
}

/* Routers that ask all replicas may ask a few instead. The queue that `distserve` reads has the request that is being
 * processed, as the model's. */
TEST_OPTIMISED(few_choices_are_the_supermarket_model)
{
    for (int d = 2; d <= 3; d++) {
        char routing[64];
        snprintf(routing, sizeof routing, "{'policy': 'distserve', 'choices': %d}", d);
        CHECK_NEAR(time_in_system_s(routing, 0.9, 0), supermarket_s(0.9, d), 0.1);
    }
}

/* Old information hurts those most who trust it most. */
TEST_OPTIMISED(stale_information_makes_herds)
{
    double fresh_jsq_s = time_in_system_s("least-outstanding", 0.9, 0);
    double fresh_two_s = time_in_system_s("power-of-two", 0.9, 0), random_s = time_in_system_s("random", 0.9, 5);
    double stale_jsq_s = time_in_system_s("least-outstanding", 0.9, 5),
           stale_two_s = time_in_system_s("power-of-two", 0.9, 5);
    CHECK(fresh_jsq_s < fresh_two_s);
    CHECK(fresh_two_s < stale_two_s);
    CHECK(stale_two_s < random_s);
    CHECK(random_s < stale_jsq_s);
    CHECK(random_s == time_in_system_s("random", 0.9, 0)); /* it never looks */
    CHECK(stale_two_s > time_in_system_s("power-of-two", 0.9, 1));
}

/* --- Chances --- */

static const char scenario_format[] =
    "{'seed': %d, 'cluster': {'nodes': %d, 'gpu': 'a100-80-sxm'}, 'services': {%s 'chat': {'llm': 'mistral-7b',"
    " 'replicas': 8, 'routing': %s, 'kv': {'blocks': 120}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms',"
    " 'per_token': '60us'}, 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}},"
    " 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'poisson', 'rate': '%g/s'},"
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 300}, 'output': {'distribution': 'uniform', 'min': 1,"
    " 'max': 200}}}}}";

static struct bed_rows *run_seeded(int seed, const char *other, const char *routing, int n, double rate_per_s,
                                   const struct bed_options *options)
{
    char text[128];
    return bed_run(options, scenario_format, seed, other[0] ? 2 : 1, other, quoted(text, routing), n, rate_per_s);
}

/* With as many choices as replicas, a router sees them all. */
TEST(all_choices_are_all_replicas)
{
    static const char *const asking[] = {"jsq-tokens", "least-kv", "prefix-aware", "distserve"};
    for (int i = 0; i < 4; i++) {
        char all[64], two[64];
        snprintf(all, sizeof all, "{'policy': '%s', 'choices': 8}", asking[i]);
        snprintf(two, sizeof two, "{'policy': '%s', 'choices': 2}", asking[i]);
        struct bed_rows *plain = run_seeded(4, "", asking[i], 200, 60, NULL);
        CHECK(bed_equal(plain, run_seeded(4, "", all, 200, 60, NULL)));
        CHECK(!bed_equal(plain, run_seeded(4, "", two, 200, 60, NULL)));
    }
}

TEST(random_is_uniform)
{
    enum { N = 4000 };
    struct bed_rows *rows = run_seeded(1, "", "random", N, 400, &(struct bed_options){.no_detail = true});
    double counts[8] = {0}, pairs[8][8] = {{0}}, chi2 = 0, pairs_chi2 = 0;
    CHECK_EQ_INT(rows->n_requests, N);
    for (int i = 0; i < N; i++) {
        int64_t replica = bed_request(rows, i)->replica;
        counts[replica]++;
        if (i % 2 != 0) pairs[bed_request(rows, i - 1)->replica][replica]++;
    }
    for (int i = 0; i < 8; i++) {
        chi2 += pow(counts[i] - N / 8.0, 2) / (N / 8.0);
        for (int k = 0; k < 8; k++) pairs_chi2 += pow(pairs[i][k] - N / 128.0, 2) / (N / 128.0);
    }
    CHECK(chi2 < 24.3); /* 7 degrees of freedom, 99.9 % */
    CHECK(chi2 > 0.6);  /* 0.1 %: nor in turn */
    CHECK(pairs_chi2 < 103.4); /* 63 */
    CHECK(pairs_chi2 > 33);
}

static bool same_replicas(const struct bed_rows *a, const struct bed_rows *b, int n)
{
    for (int i = 0; i < n; i++)
        if (bed_request(a, i)->replica != bed_request(b, i)->replica) return false;
    return true;
}

/* A service's stream depends on the seed and its name alone: another service beside it changes nothing. */
TEST(chances_are_the_services_own)
{
    static const char other[] =
        "'a': {'llm': 'mistral-7b', 'replicas': 2, 'routing': 'random', 'cost': {'kind': 'affine',"
        " 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '9ms'}}, 'trace': {'format': 'generate',"
        " 'count': 500, 'arrival': {'process': 'poisson', 'rate': '50/s'}, 'prompt': {'distribution':"
        " 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 1}}},";
    const struct bed_options options = {.no_detail = true};
    struct bed_rows *alone = run_seeded(1, "", "random", 200, 20, &options);
    struct bed_rows *reseeded = run_seeded(2, "", "random", 200, 20, &options);
    struct bed_rows *beside = run_seeded(1, other, "random", 200, 20, &(struct bed_options){.no_detail = true});
    CHECK_EQ_INT(beside->n_requests, 700);
    CHECK(!same_replicas(alone, reseeded, 200));
    int64_t theirs[200], n = 0; /* the rows of both services, told apart by their prompts */
    for (size_t i = 0; i < beside->n_requests; i++) {
        const struct request_row *row = &beside->requests[i];
        if (row->id >= 200 || (row->prompt_tokens == 9 && row->output_tokens == 1)) continue;
        theirs[row->id] = row->replica;
        n++;
    }
    for (int i = 0; i < 200 && n == 200; i++) CHECK_EQ_INT(theirs[i], bed_request(alone, i)->replica);
    CHECK(n > 190);
}

/* --- What they choose --- */

/* Two replicas; the first request is long. Returns how many of the others go to replica 0, where it is. */
static int beside_the_long_one(const char *routing)
{
    char path[512];
    snprintf(path, sizeof path, "%s/long.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (!CHECK(file != NULL)) return -1;
    fprintf(file, "at,in,out\n0,8000,400\n");
    for (int i = 0; i < 6; i++) fprintf(file, "%.3f,100,50\n", 1.0 + i * 0.001);
    fclose(file);
    struct bed_rows *rows = bed_run(
        NULL,
        "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2,"
        " 'kv': {'blocks': 4000}, 'routing': %s, 'cost': {'kind': 'affine', 'prefill': {'fixed': '1ms',"
        " 'per_token': '60us'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv', 'path': '%s',"
        " 'columns': {'arrival': 'at', 'prompt': 'in', 'output': 'out'}}}}}",
        routing, path);
    CHECK_EQ_INT(rows->n_requests, 7);
    CHECK_EQ_INT(bed_request(rows, 0)->replica, 0);
    int beside = 0;
    for (int i = 1; i < 7; i++) beside += bed_request(rows, i)->replica == 0;
    return beside;
}

TEST(each_looks_at_its_own)
{
    /* One decodes at 0, in the batch since 0.48 s: all count requests but for the tokens and blocks that it holds. */
    CHECK_EQ_INT(beside_the_long_one("'least-outstanding'"), 3);
    CHECK_EQ_INT(beside_the_long_one("{'policy': 'least-outstanding', 'count': 'queued'}"), 3);
    CHECK_EQ_INT(beside_the_long_one("'jsq-tokens'"), 3);
    CHECK_EQ_INT(beside_the_long_one("{'policy': 'jsq-tokens', 'running_weight': 1}"), 0);
    CHECK_EQ_INT(beside_the_long_one("{'policy': 'jsq-tokens', 'running_weight': 0.01}"), 3);
    CHECK_EQ_INT(beside_the_long_one("'least-kv'"), 0);
}

/* --- Information delay --- */

/* A router that notes what it is shown and goes round. */
struct seen {
    sim_ns now_ns, seen_ns;
    struct replica_load loads[8];
    double kv_used_frac[8];
};

enum { MAX_SEEN = 2000 };
static struct seen seen[MAX_SEEN];

static int noting_route(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)request;
    int *n = state;
    if (*n < MAX_SEEN) {
        struct seen *entry = &seen[*n];
        entry->now_ns = view->now_ns;
        entry->seen_ns = view->seen_ns;
        memcpy(entry->loads, view->loads, sizeof entry->loads);
        for (int i = 0; i < 8; i++)
            entry->kv_used_frac[i] = (double)fleet_view_kv_used_blocks(view, i) /
                                     (double)fleet_view_kv_total_blocks(view, i);
    }
    return (*n)++ % 8;
}

static const struct router noting = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router),
                                                .family = POLICY_ROUTING, .name = "noting", .summary = "notes",
                                                .source = "test", .state_bytes = sizeof(int)},
                                     .route = noting_route};

/* The sample of a replica at a time. */
static double sample_of(const struct bed_rows *rows, const char *series, int replica, double t_s)
{
    char entity[16];
    snprintf(entity, sizeof entity, "chat/%d", replica);
    for (size_t i = 0; i < rows->n_samples; i++)
        if (rows->samples[i].t_s == t_s && strcmp(rows->samples[i].series, series) == 0 &&
            strcmp(rows->samples[i].entity, entity) == 0)
            return rows->samples[i].value;
    return (double)NAN;
}

/* Every report is how the replicas stood at its time, as the time series of the same run tell it. */
TEST(reports_equal_the_series_at_their_time)
{
    static const char *const sets[] = {"services.chat.information_delay=250ms", "sample.period=250ms", NULL};
    struct bed_rows *rows = run_seeded(3, "", "noting", 300, 60,
                                       &(struct bed_options){.policy = &noting.policy, .sets = sets, .check = true});
    CHECK_EQ_INT(rows->code, 0);
    int busy = 0;
    for (int i = 0; i < 300; i++) {
        const struct seen *entry = &seen[i];
        CHECK_EQ_INT(entry->seen_ns, entry->now_ns - entry->now_ns % 250000000);
        if (i > 0 && entry->seen_ns == seen[i - 1].seen_ns) {
            CHECK(memcmp(entry->loads, seen[i - 1].loads, sizeof entry->loads) == 0);
            continue;
        }
        for (int k = 0; k < 8; k++) {
            double t_s = sim_s_from_ns(entry->seen_ns);
            const struct replica_load *load = &entry->loads[k];
            if (entry->seen_ns == 0) { /* before the first arrival; time series begin later */
                CHECK(load->outstanding == 0 && load->queued_tokens == 0 && entry->kv_used_frac[k] == 0);
                continue;
            }
            CHECK(sample_of(rows, "replica.waiting", k, t_s) == (double)load->waiting);
            CHECK(sample_of(rows, "replica.running", k, t_s) == (double)(load->outstanding - load->waiting));
            CHECK(sample_of(rows, "replica.kv_used_frac", k, t_s) == entry->kv_used_frac[k]);
            busy += load->outstanding > 0;
        }
    }
    CHECK(busy > 100);
}

TEST(delayed_runs_are_the_same_in_every_mode)
{
    static const char *const delays[] = {"services.chat.information_delay=0s", "services.chat.information_delay=37ms",
                                         "services.chat.information_delay=1s", NULL};
    for (int i = 0; i < N_ROUTERS; i++) {
        for (int k = 0; delays[k] != NULL; k++) {
            const char *const sets[] = {delays[k], NULL};
            struct bed_rows *macro = run_seeded(7, "", routers[i], 150, 80,
                                                &(struct bed_options){.sets = sets, .check = k == 1});
            struct bed_rows *single = run_seeded(7, "", routers[i], 150, 80,
                                                 &(struct bed_options){.sets = sets, .single_step = true,
                                                                       .queue = QUEUE_HEAP});
            CHECK_EQ_INT(macro->code, 0);
            CHECK_EQ_INT(macro->n_requests, 150);
            CHECK(bed_equal(macro, single));
        }
    }
}

/* Who does not look is not touched by how old the view is: reports neither end runs nor move the end. */
TEST(reports_change_no_other_event)
{
    static const char *const sets[] = {"services.chat.information_delay=10ms", NULL};
    for (int rate = 1; rate <= 100; rate *= 10) {
        struct bed_rows *present = run_seeded(2, "", "round-robin", 60, rate, &(struct bed_options){.no_detail = true});
        struct bed_rows *delayed = run_seeded(2, "", "round-robin", 60, rate,
                                              &(struct bed_options){.sets = sets, .no_detail = true});
        CHECK(bed_equal(present, delayed));
        CHECK(present->end_s == delayed->end_s);
        CHECK(present->engine.fired < delayed->engine.fired);
    }
}

TEST(without_reports_all_requests_go_to_the_first_replica)
{
    static const char *const sets[] = {"services.chat.information_delay=9000000000s", NULL};
    static const char *const looking[] = {"least-outstanding", "jsq-tokens", "least-kv"};
    for (int i = 0; i < 3; i++) {
        struct bed_rows *rows = run_seeded(2, "", looking[i], 60, 5, &(struct bed_options){.sets = sets});
        CHECK_EQ_INT(rows->code, 0);
        for (size_t k = 0; k < rows->n_requests; k++) CHECK_EQ_INT(rows->requests[k].replica, 0);
    }
}
