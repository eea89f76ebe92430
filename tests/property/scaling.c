/* Replicas that come and go: closed forms of starting, holding and schedules, conservation of requests and GPUs under
 * an autoscaler that is never content, equal results in every mode, and a constant number as if nothing scaled. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'},"                                     \
    " 'decode': {'fixed': '11ms', 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define TRACE(count, rate, prompt, output)                                                                             \
    "'trace': {'format': 'generate', 'count': " #count ", 'arrival': {'process': 'poisson', 'rate': '" rate            \
    "'}, 'prompt': " prompt ", 'output': " output "}"
#define FIXED(tokens) "{'distribution': 'fixed', 'tokens': " #tokens "}"
#define UNIFORM(min, max) "{'distribution': 'uniform', 'min': " #min ", 'max': " #max "}"

/* %: the rest of the service, its trace included; on a cluster of 2 nodes with 4 GPUs each. */
__attribute__((format(printf, 2, 3))) static struct bed_rows *run(const struct bed_options *options, const char *format,
                                                                  ...)
{
    char service[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(service, sizeof service, format, arguments);
    va_end(arguments);
    return bed_run(options,
                   "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'keep': 'decisions',"
                   " 'services': {'chat': {'llm': 'mistral-7b', %s}}}",
                   service);
}

/* --- A constant number --- */

static void check_same_requests(const struct bed_rows *a, const struct bed_rows *b)
{
    CHECK_EQ_INT(a->n_requests, b->n_requests);
    for (size_t i = 0; i < a->n_requests && i < b->n_requests; i++) {
        const struct request_row *x = &a->requests[i], *y = &b->requests[i];
        bool same = x->id == y->id && x->replica == y->replica && x->ttft_s == y->ttft_s && x->e2e_s == y->e2e_s;
        if (!CHECK(same)) return;
    }
}

/* Whatever the router: a service that never changes is one that does not scale, in every metric that both have. */
TEST(a_constant_number_is_no_scaling)
{
    static const char *const routers[] = {"round-robin", "random", "power-of-two", "jsq-tokens", "least-kv"};
    static const char service[] = "'replicas': 3, 'routing': '%s', 'kv': {'blocks': 300}, %s " AFFINE
                                  ", " TRACE(800, "20/s", UNIFORM(1, 600), UNIFORM(1, 120));
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
        struct bed_rows *plain = run(NULL, service, routers[i], "");
        struct bed_rows *scaling = run(NULL, service, routers[i],
                                       "'scaling': {'policy': 'schedule', 'max': 6, 'interval': '1s'},");
        CHECK_EQ_INT(plain->code, 0);
        CHECK_EQ_INT(scaling->code, 0);
        check_same_requests(plain, scaling);
        for (size_t k = 0; k < plain->n_metrics; k++)
            if (!CHECK(bed_metric(scaling, plain->metrics[k].name) == plain->metrics[k].value))
                printf("\n  %s: %s", routers[i], plain->metrics[k].name);
        CHECK(bed_metric(scaling, "scaling.replicas.mean") == 3);
        CHECK(bed_metric(scaling, "scaling.starts.sum") == 0);
    }
}

/* --- Closed forms --- */

/* From nothing: the first decision after an arrival starts a replica, which the next one ends. The first request finds
 * the one that there is at the start. */
TEST(the_first_request_waits_for_a_replica)
{
    struct bed_rows *rows = run(&(struct bed_options){.check = true},
                                "'replicas': 1, 'scaling': {'policy': {'policy': 'target-outstanding',"
                                " 'down_window': '0s'}, 'min': 0, 'max': 2, 'interval': '10s', 'start_delay': '7s'},"
                                " 'cost': {'kind': 'affine', 'prefill': {'fixed': '50ms'},"
                                " 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'generate', 'count': 4,"
                                " 'arrival': {'process': 'fixed', 'rate': '0.04/s'}, 'prompt': " FIXED(
                                    100) ", 'output': " FIXED(1) "}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, 4);
    CHECK_NEAR(rows->requests[0].ttft_s, 0.050, 1e-9);
    for (size_t i = 1; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        double decided_s = ceil(row->arrival_s / 10) * 10;
        CHECK_NEAR(row->ttft_s, decided_s + 7 + 0.050 - row->arrival_s, 2e-9);
    }
    CHECK(bed_metric(rows, "scaling.held_requests.sum") == 3);
    CHECK(bed_metric(rows, "scaling.starts.sum") == 3);
}

/* Without a stated delay a replica reads its weights: 2 bytes for each of Mistral 7B's 7.24 billion. */
TEST(weights_take_their_time)
{
    struct bed_rows *rows = run(NULL,
                                "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
                                " 'replicas': 1}, {'at': '20s', 'replicas': 2}]}, 'max': 2, 'interval': '5s',"
                                " 'load_bandwidth': '2GB/s'}, " AFFINE ", " TRACE(100, "1/s", FIXED(100), FIXED(10)));
    double up_s = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, "up") == 0) up_s = rows->decisions[i].t_s;
    CHECK_NEAR(up_s, 20 + 2 * 7.2417e9 / 2e9, 0.001);
}

/* Prompts of one length, at random to one of so many replicas: each is an M/D/1, before and after the step. Half of the
 * requests come before it: mean TTFT = D + the mean of R D^2 / (2 (1 - R D)) at the two rates. */
TEST(a_step_is_two_queues)
{
    struct bed_rows *rows =
        run(&(struct bed_options){.no_detail = true},
            "'replicas': 2, 'routing': 'random', 'kv': {'blocks': 20000}, 'batching': {'policy': 'vllm-v0',"
            " 'max_batched_tokens': 500}, 'scaling': {'policy': {'policy': 'schedule', 'period': '10d',"
            " 'steps': [{'at': '0s', 'replicas': 2}, {'at': '1000s', 'replicas': 3}]}, 'max': 4,"
            " 'interval': '10s', 'start_delay': '0s'}, " AFFINE
            ", 'trace': {'format': 'generate', 'duration': '2000s', 'arrival': {'process': 'poisson',"
            " 'rate': '36/s'}, 'prompt': " FIXED(500) ", 'output': " FIXED(1) "}");
    const double d_s = 0.009 + 500 * 60e-6, rates[] = {18, 12};
    double expected_s = d_s;
    for (int i = 0; i < 2; i++) expected_s += rates[i] * d_s * d_s / (2 * (1 - rates[i] * d_s)) / 2;
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "request.ttft_s.mean"), expected_s, 0.02 * expected_s);
    CHECK_NEAR(bed_metric(rows, "scaling.replicas.mean"), 2.5, 0.001);
}

/* A schedule of an hour, four times: replicas, and the GPUs they hold, at every sample. */
TEST(a_schedule_repeats)
{
    static const char *const sets[] = {"sample.period=300s", NULL};
    struct bed_rows *rows = run(&(struct bed_options){.sets = sets, .no_detail = true},
                                "'tensor_parallel': 2, 'kv': {'blocks': 4000}, 'scaling': {'policy': {'policy':"
                                " 'schedule', 'period': '1h', 'steps': [{'at': '10min', 'replicas': 3}, {'at': '40min',"
                                " 'replicas': 1}]}, 'max': 4, 'interval': '100s', 'start_delay': '90s'}, " AFFINE
                                ", 'trace': {'format': 'generate', 'duration': '4h', 'arrival': {'process':"
                                " 'fixed', 'rate': '0.1/s'}, 'prompt': " FIXED(100) ", 'output': " FIXED(10) "}");
    size_t n = 0;
    for (size_t i = 0; i < rows->n_samples; i++) {
        const struct bed_sample *sample = &rows->samples[i];
        const double of_hour_s = fmod(sample->t_s, 3600);
        const bool wanted = of_hour_s >= 600 && of_hour_s < 2400, up = wanted && of_hour_s >= 690;
        if (sample->t_s >= 14390 || of_hour_s == 2400) continue; /* at the step down they still drain */
        if (strcmp(sample->series, "service.replicas") == 0) CHECK(sample->value == (up ? 3 : 1));
        if (strcmp(sample->series, "cluster.gpus_by_use") == 0) CHECK(sample->value == (wanted ? 6 : 2));
        n++;
    }
    CHECK(n > 40);
    CHECK(bed_metric(rows, "scaling.starts.sum") == 8);
    CHECK_NEAR(bed_metric(rows, "scaling.replicas.mean"), 1 + 2 * 1710.0 / 3600, 0.002);
}

/* --- Conservation --- */

enum life { DOWN, STARTING, UP, DRAINING };

/* Replicas as the decisions tell of them. */
struct lives {
    enum life of[16];
    double since_s[16], gpu_s;
    int n_kept, n_routed;
};

static void follow(struct lives *lives, const struct bed_decision *decision, int gpus)
{
    static const struct {
        const char *action;
        enum life from, to;
    } steps[] = {{"start", DOWN, STARTING}, {"up", STARTING, UP},  {"drain", UP, DRAINING},
                 {"keep", DRAINING, UP},    {"stop", DRAINING, DOWN}, {"stop", STARTING, DOWN}};
    int replica;
    if (strcmp(decision->action, "route") == 0 && sscanf(decision->reason, "to replica %d of", &replica) == 1) {
        lives->n_routed++;
        CHECK_EQ_INT(lives->of[replica], UP); /* routers see no other */
    }
    if (decision->subject >= 0 || sscanf(decision->reason, "replica %d:", &replica) != 1) return;
    lives->n_kept += strcmp(decision->action, "keep") == 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (strcmp(decision->action, steps[i].action) != 0 || lives->of[replica] != steps[i].from) continue;
        if (steps[i].from == DOWN) lives->since_s[replica] = decision->t_s;
        if (steps[i].to == DOWN) lives->gpu_s += gpus * (decision->t_s - lives->since_s[replica]);
        lives->of[replica] = steps[i].to;
        return;
    }
    CHECK(false && "a step that there is not");
}

/* What the decisions tell adds up to the metrics. */
static struct lives check_lives(const struct bed_rows *rows, int start, int gpus)
{
    struct lives lives = {{DOWN}, {0}, 0, 0, 0};
    for (int i = 0; i < start; i++) lives.of[i] = UP;
    for (size_t i = 0; i < rows->n_decisions; i++) follow(&lives, &rows->decisions[i], gpus);
    for (int i = 0; i < 16; i++)
        if (lives.of[i] != DOWN) lives.gpu_s += gpus * (rows->end_s - lives.since_s[i]);
    CHECK_NEAR(bed_metric(rows, "scaling.gpu_s.sum"), lives.gpu_s, 1e-9 * (1 + lives.gpu_s));
    CHECK_NEAR(bed_metric(rows, "cluster.gpus_in_use.mean") * rows->end_s, lives.gpu_s, 1e-9 * (1 + lives.gpu_s));
    return lives;
}

/* Wants any number, at random, and another one the next time. */
static int erratic_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    (void)state;
    struct rng rng = test_rng(11, "erratic", (uint64_t)(view->now_ns / view->interval_ns));
    plan->replicas = (int64_t)rng_below(&rng, (uint64_t)view->max + 2);
    const sim_ns age_ns = view->now_ns - view->seen_ns; /* of what it sees: the information delay at most */
    if (age_ns < 0 || age_ns > 100000000) return SIM_E_POLICY;
    if (view->queued_tokens < 0 || view->queued_tokens > 700 * view->outstanding) return SIM_E_POLICY;
    return view->up + view->starting + view->draining <= view->max + view->draining ? 0 : SIM_E_POLICY;
}

static const struct autoscaler erratic = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct autoscaler),
                                                     .family = POLICY_AUTOSCALING, .name = "erratic", .summary = "",
                                                     .source = ""},
                                          .decide = erratic_decide};

static const char *pick(struct rng *rng, const char *const *choices, uint64_t n)
{
    return choices[rng_below(rng, n)];
}

struct shape {
    int replicas, gpus;
};

/* A random service that scales at random: %s of the text are drawn. */
static struct shape random_service(struct rng *rng, struct text *text)
{
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi", "orca", "distserve",
                                           "{'policy': 'vllm-v0', 'preemption': 'swap'}"};
    static const char *const routers[] = {"round-robin",  "random",   "least-outstanding", "jsq-tokens",
                                          "power-of-two", "least-kv", "prefix-aware",      "distserve"};
    static const char *const caches[] = {"", "", "'prefix_cache': 'lru', ", "'prefix_cache': 's3-fifo', "};
    static const char *const delays[] = {"0s", "0s", "100ms"};
    static const char *const starts[] = {"0s", "300ms", "2s", "3.333333333s"};
    const int replicas = 1 + (int)rng_below(rng, 3), parallel = 1 + (int)rng_below(rng, 2);
    const int stages = parallel == 1 ? 1 + (int)rng_below(rng, 2) : 1;
    text_printf(text, "'replicas': %d, 'tensor_parallel': %d, 'pipeline_parallel': %d, ", replicas, parallel, stages);
    const char *batching = pick(rng, batchers, 6);
    text_printf(text, *batching == '{' ? "'batching': %s, " : "'batching': '%s', ", batching);
    text_printf(text, "'routing': '%s', 'information_delay': '%s', ", pick(rng, routers, 8), pick(rng, delays, 3));
    text_printf(text, "'kv': {%s'blocks': %d}, ", pick(rng, caches, 4), 150 + (int)rng_below(rng, 200));
    text_printf(text, "'scaling': {'policy': 'erratic', 'min': %d, 'max': %d, 'interval': '%s', 'start_delay': '%s'}, ",
                (int)rng_below(rng, 2), replicas + (int)rng_below(rng, 3), rng_below(rng, 2) ? "500ms" : "1.7s",
                pick(rng, starts, 4));
    text_printf(text, AFFINE ", " TRACE(120, "12/s", UNIFORM(1, 700), UNIFORM(1, 150)));
    return (struct shape){replicas, parallel * stages};
}

TEST(random_scaling_loses_nothing)
{
    double held = 0, preempted = 0;
    int64_t kept = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        SCOPED(text) text = {0};
        struct rng rng = test_rng(seed, "random scaling", 0);
        const struct shape shape = random_service(&rng, &text);
        struct bed_options options = {.check = true, .policy = &erratic.policy};
        struct bed_rows *macro = run(&options, "%s", text.chars);
        options = (struct bed_options){.single_step = true, .queue = QUEUE_HEAP, .policy = &erratic.policy};
        struct bed_rows *single = run(&options, "%s", text.chars);
        if (!CHECK_EQ_INT(macro->code, 0) || !CHECK(bed_equal(macro, single))) printf("\n  %s", text.chars);
        CHECK_EQ_INT(macro->n_requests, 120);
        for (size_t i = 0; i < macro->n_requests; i++) CHECK_EQ_STR(macro->requests[i].status, "finished");
        struct lives lives = check_lives(macro, shape.replicas, shape.gpus);
        CHECK_EQ_INT(lives.n_routed, 120);
        kept += lives.n_kept;
        held += bed_metric(macro, "scaling.held_requests.sum");
        preempted += bed_metric(macro, "request.preemptions.sum");
    }
    CHECK(held > 100);
    CHECK(kept > 30); /* draining ones that are wanted again */
    CHECK(preempted > 30);
}

/* Three services that want more than there is: what one gives back another one takes, and nothing is held twice. */
TEST(services_share_a_cluster)
{
    SCOPED(text) json = {0};
    text_printf(&json, "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {");
    for (int i = 0; i < 3; i++)
        text_printf(&json,
                    "%s's%d': {'llm': 'mistral-7b', 'tensor_parallel': %d, 'kv': {'blocks': 400}, 'scaling':"
                    " {'policy': 'erratic', 'min': 0, 'max': %d, 'interval': '%ds', 'start_delay': '1s'}, " AFFINE
                    ", " TRACE(200, "5/s", UNIFORM(1, 500), UNIFORM(1, 100)) "}",
                    i > 0 ? ", " : "", i, 1 << i % 2, i % 2 ? 3 : 6, 2 + i);
    text_printf(&json, "}}");
    struct bed_options options = {.check = true, .policy = &erratic.policy};
    struct bed_rows *macro = bed_run(&options, "%s", json.chars);
    options.single_step = true;
    struct bed_rows *single = bed_run(&options, "%s", json.chars);
    CHECK_EQ_INT(macro->code, 0);
    CHECK(bed_equal(macro, single));
    CHECK_EQ_INT(macro->n_requests, 600);
    for (size_t i = 0; i < macro->n_requests; i++) CHECK_EQ_STR(macro->requests[i].status, "finished");
    CHECK(bed_metric(macro, "cluster.gpus_in_use.max") == 8);
    CHECK(bed_metric(macro, "scaling.missing_replica_s.sum") > 1);
    CHECK_NEAR(bed_metric(macro, "scaling.gpu_s.sum[s0]") + bed_metric(macro, "scaling.gpu_s.sum[s1]") +
                   bed_metric(macro, "scaling.gpu_s.sum[s2]"),
               bed_metric(macro, "cluster.gpus_in_use.mean") * macro->end_s, 1e-6);
}

/* After the last request only `min` are left, and no decision keeps the run going. */
TEST(a_service_ends_with_its_last_request)
{
    struct bed_rows *rows = run(NULL,
                                "'replicas': 4, 'scaling': {'policy': 'schedule', 'max': 6, 'min': 1,"
                                " 'interval': '1h'}, " AFFINE ", " TRACE(50, "5/s", UNIFORM(1, 500), UNIFORM(1, 90)));
    double last_s = 0;
    for (size_t i = 0; i < rows->n_requests; i++)
        last_s = fmax(last_s, rows->requests[i].arrival_s + rows->requests[i].e2e_s);
    CHECK_NEAR(rows->end_s, last_s, 1e-9);
    CHECK_EQ_INT(bed_decisions(rows, "stop", -1), 3);
}

/* --- What is wrong --- */

static int none_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    (void)state;
    plan->replicas = view->now_ns > 0 ? -1 : 1;
    return 0;
}

static const struct autoscaler none = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct autoscaler),
                                                  .family = POLICY_AUTOSCALING, .name = "none", .summary = "",
                                                  .source = ""},
                                       .decide = none_decide};

static void check_refused(const char *text, const char *service)
{
    struct bed_rows *rows = run(&(struct bed_options){.quiet = true, .policy = &none.policy}, "%s, %s, %s", service,
                                AFFINE, TRACE(50, "1/s", FIXED(100), FIXED(5)));
    CHECK(rows->code < 0);
    if (!CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

#define SCALING(more) "'scaling': {'policy': 'schedule'" more "}"

TEST(impossible_scaling_is_refused)
{
    check_refused("has pools, which scale one by one", SCALING(", 'max': 4") ", 'pools': {'a': {}}");
    check_refused("'min' is above 'max'", SCALING(", 'max': 4, 'min': 5"));
    check_refused("chooses two", SCALING(", 'max': 4") ", 'routing': 'splitwise'");
    check_refused("places them elsewhere",
                  SCALING(", 'max': 4") ", 'kv': {'offload': 'zero-inference', 'tiers': {'host':"
                                        " {'device': 'host-dram-pcie4'}}}");
    check_refused("missing 'max'", "'scaling': {'policy': 'schedule'}");
    check_refused("unknown autoscaling policy", "'scaling': {'policy': 'scedule', 'max': 2}");
    check_refused("no node left with 1 free GPU", "'replicas': 9, " SCALING(", 'max': 9"));
    check_refused("step 2 of a replica schedule is not later",
                  "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '1h', 'replicas': 1},"
                  " {'at': '1h', 'replicas': 2}]}, 'max': 2}");
    check_refused("wants -1 replicas of service 'chat'", "'scaling': {'policy': 'none', 'max': 2}");
}

/* --- Utilisation --- */

/* Prompts of 50 ms each, 60 per second, make three replicas' work; at a target of 0.6 five are to do it, at one of 0.8
 * four. */
TEST_OPTIMISED(utilisation_comes_to_its_target)
{
    static const char service[] =
        "'replicas': 1, 'scaling': {'policy': {'policy': 'target-utilisation', 'of': 'time', 'target': %s,"
        " 'down_window': '0s'}, 'min': 1, 'max': 8, 'interval': '10s', 'start_delay': '2s'}, 'cost':"
        " {'kind': 'affine', 'prefill': {'per_token': '500us'}, 'decode': {'fixed': '1ms'}}, 'trace':"
        " {'format': 'generate', 'duration': '3000s', 'arrival': {'process': 'fixed', 'rate': '60/s'},"
        " 'prompt': " FIXED(100) ", 'output': " FIXED(1) "}";
    struct bed_rows *loose = run(NULL, service, "0.6"), *tight = run(NULL, service, "0.8");
    CHECK_EQ_INT(loose->code, 0);
    CHECK_NEAR(bed_metric(loose, "scaling.replicas.mean"), 5, 0.05);
    CHECK_NEAR(bed_metric(tight, "scaling.replicas.mean"), 4, 0.05);
}

/* --- The watchdog --- */

static int never_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state, (void)view, (void)plan;
    return 0;
}

/* Decisions about a service whose requests nobody takes are no progress. */
TEST(decisions_alone_keep_no_run_going)
{
    static const struct batcher idle = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher),
                                                   .family = POLICY_BATCHING, .name = "idle", .summary = "", .source = ""},
                                        .compose = never_compose};
    struct bed_rows *rows = run(
        &(struct bed_options){.policy = &idle.policy, .stall_events = 10000, .quiet = true},
        "'batching': 'idle', 'scaling': {'policy': 'schedule', 'max': 2}, " AFFINE ", " TRACE(
            3, "1/s", FIXED(10), FIXED(10)));
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
}
