/* Pools that scale one by one: closed forms of replicas that drain while KV is on its way, conservation of requests and
 * GPUs under autoscalers that are never content, on sites where nodes fail and jobs yield. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define STEPS(first, at, then)                                                                                         \
    "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': " #first "}, {'at': '" at         \
    "', 'replicas': " #then "}]}, 'min': 1, 'max': 2, 'interval': '500ms', 'start_delay': '1s'}"

/* The time of the first decision of this action about this replica; -1: none. */
static double time_of(const struct bed_rows *rows, const char *action, int replica)
{
    char of[32];
    snprintf(of, sizeof of, "replica %d:", replica);
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, action) == 0 && rows->decisions[i].subject < 0 &&
            strncmp(rows->decisions[i].reason, of, strlen(of)) == 0)
            return rows->decisions[i].t_s;
    return -1;
}

/* --- Closed forms --- */

/* Two prompts of 100 tokens come at 0 and 1 s, one to each replica, and take a second. At 2 s a single replica is
 * wanted: the second one has processed its prompt, whose KV needs until 12 s to leave. It stops at that moment, which
 * is none of a decision. The request ends after one more step of 100 ms. */
TEST(a_replica_of_prompts_stops_when_its_kv_has_left)
{
    const double token_bytes = 2.0 * 32 * 8 * 128 * 2; /* Mistral 7B: keys and values, layers, heads, numbers, bytes */
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm':"
        " 'mistral-7b', 'routing': 'round-robin', 'pools': {'p': {'role': 'prefill', 'replicas': 2, " STEPS(
            2, "2s",
            1) "}, 'd': {'role': 'decode'}}, 'kv_transfer': {'bandwidth': '%.17gB/s'}, 'cost': {'kind':"
               " 'affine', 'prefill': {'fixed': '1s'}, 'decode': {'fixed': '100ms'}}, 'trace': {'format': 'generate', 'count':"
               " 2, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100},"
               " 'output': {'distribution': 'fixed', 'tokens': 2}}}}}",
        100 * token_bytes / 10.03);
    const struct request_row *last = bed_request(rows, 1);
    MUST(last != NULL);
    const double arrival_s = last->arrival_s, left_s = arrival_s + 1 + 10.03;
    CHECK_NEAR(time_of(rows, "drain", 1), 2.0, 1e-9);
    CHECK_NEAR(time_of(rows, "stop", 1), left_s, 1e-8);
    CHECK_NEAR(arrival_s + last->e2e_s, left_s + 0.1, 1e-8);
    CHECK_EQ_INT(last->replica, 2);
    CHECK_NEAR(bed_metric(rows, "scaling.gpu_s.sum"), 2 * rows->end_s + left_s, 1e-6);
    CHECK_EQ_INT(bed_decisions(rows, "stop", -1), 1); /* the pool that does not scale stays as it is to the end */
}

/* Layer by layer the KV sets out, to the idle one of two replicas that decode, while the prompt is still processed. At
 * 1.5 s a single replica is wanted: the other one has nothing yet, and finishes the request that it was chosen for. */
TEST(a_replica_that_decodes_finishes_what_it_was_chosen_for)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm':"
        " 'mistral-7b', 'routing': 'round-robin', 'pools': {'p': {'role': 'prefill', 'replicas': 2}, 'd': {'role':"
        " 'decode', 'replicas': 2, " STEPS(
            2, "1500ms",
            1) "}}, 'kv_transfer': {'mode': 'layer-wise', 'bandwidth':"
               " '100GB/s'}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '1s'}, 'decode': {'fixed': '100ms'}}, 'trace':"
               " {'format': 'generate', 'count': 2, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution':"
               " 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 4}}}}}");
    const struct request_row *last = bed_request(rows, 1);
    MUST(last != NULL);
    CHECK_EQ_INT(last->replica, 3);
    CHECK_NEAR(time_of(rows, "drain", 3), 1.5, 1e-9);
    CHECK_NEAR(time_of(rows, "stop", 3), last->arrival_s + last->e2e_s, 1e-8);
    CHECK_NEAR(last->e2e_s, 1.3, 0.001);
}

/* Starts of replicas 0 and 1, which process prompts, while no GPUs are held by replica 2, which decodes. */
static int starts_before_decode(const struct bed_rows *rows, int *starts)
{
    bool decodes = true;
    int n = 0, of;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        if (decision->subject >= 0 || sscanf(decision->reason, "replica %d:", &of) != 1) continue;
        const bool is_start = strcmp(decision->action, "start") == 0;
        if (of == 2 && (is_start || strcmp(decision->action, "fail") == 0)) decodes = is_start;
        *starts += of < 2 && is_start;
        n += of < 2 && is_start && !decodes;
    }
    return n;
}

/* Two nodes, with room for one replica each, fail at different times. The pool that decodes takes the node that returns
 * first, although the other pool comes before it: no processed prompt holds GPUs that its KV cannot leave. */
TEST(pools_get_their_min_first)
{
    int starts = 0;
    for (int seed = 1; seed <= 6; seed++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'seed': %d, 'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm', 'network': {'bandwidth':"
            " '25GB/s'}}, 'failures': {'causes': {'x': {'scope': 'node', 'lifetime': {'mean': '6s'}, 'repair': {'mean':"
            " '2s'}}}}, 'services': {'chat': {'llm': 'mistral-7b', 'routing': 'least-outstanding', 'pools': {'p': {'role':"
            " 'prefill', 'scaling': {'policy': {'policy': 'target-outstanding', 'target': 1}, 'max': 2, 'interval': '1s',"
            " 'start_delay': '100ms'}}, 'd': {'role': 'decode', 'scaling': {'policy': {'policy': 'target-outstanding',"
            " 'target': 40}, 'max': 1, 'interval': '1s', 'start_delay': '100ms'}}}, 'cost': {'kind': 'affine', 'prefill':"
            " {'fixed': '100ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'generate', 'count': 120, 'arrival':"
            " {'process': 'fixed', 'rate': '2/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output':"
            " {'distribution': 'fixed', 'tokens': 10}}}}}",
            seed);
        CHECK_EQ_INT(starts_before_decode(rows, &starts), 0);
        bed_free(rows);
    }
    CHECK(starts > 20);
}

/* --- Conservation --- */

/* Wants any number, at random, and another one the next time: of each pool, by its bounds. */
static int erratic_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    (void)state;
    struct rng rng = test_rng(12, "erratic", (uint64_t)(view->now_ns / view->interval_ns * view->max));
    plan->replicas = (int64_t)rng_below(&rng, (uint64_t)view->max + 2);
    if (view->waiting > view->outstanding || view->kv_used_frac > 1 || view->busy_frac > 1.0 + 1e-9)
        return SIM_E_POLICY;
    return view->up + view->starting <= view->max ? 0 : SIM_E_POLICY;
}

static const struct autoscaler erratic = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct autoscaler),
                                                     .family = POLICY_AUTOSCALING, .name = "erratic", .summary = "",
                                                     .source = ""},
                                          .decide = erratic_decide};

enum { N_POOLS = 3 };

/* Replicas are numbered by role: prefill, mixed, decode. */
struct shape {
    int most[N_POOLS], gpus[N_POOLS], start[N_POOLS];
};

static int between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

/* A pool scales at random, or is constant. */
static void add_pool(struct text *text, const char *name, const char *role, int pool, struct shape *shape,
                     struct rng *rng)
{
    const bool scales = rng_below(rng, 4) > 0;
    shape->most[pool] = scales ? between(rng, 1, 4) : between(rng, 1, 2);
    shape->start[pool] = scales ? between(rng, 1, shape->most[pool]) : shape->most[pool];
    shape->gpus[pool] = 1 << rng_below(rng, 3);
    text_printf(text, "%s'%s': {'role': '%s', 'replicas': %d, 'tensor_parallel': %d", pool > 0 ? ", " : "", name, role,
                shape->start[pool], shape->gpus[pool]);
    if (scales)
        text_printf(
            text, ", 'scaling': {'policy': 'erratic', 'min': %d, 'max': %d, 'interval': '%dms', 'start_delay': '%dms'}",
            pool == N_POOLS - 1 ? 1 : between(rng, 0, 1), shape->most[pool], between(rng, 200, 2000),
            between(rng, 0, 1) * between(rng, 0, 3000));
    text_printf(text, "}");
}

static struct shape random_site(struct rng *rng, struct text *text)
{
    static const char *const routers[] = {"round-robin", "least-outstanding", "jsq-tokens", "least-kv", "prefix-aware"};
    static const char *const modes[] = {"'start': 'pull'", "'start': 'push'", "'mode': 'layer-wise'"};
    struct shape shape = {{0}, {0}, {0}};
    text_printf(text,
                "{'cluster': {'nodes': 6, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'gpu_price': '$3/h',"
                " 'network': {'bandwidth': '%dMB/s'}}, 'keep': 'decisions', ",
                between(rng, 100, 3000));
    if (rng_below(rng, 2))
        text_printf(text,
                    "'failures': {'causes': {'x': {'scope': 'node', 'lifetime': {'mean': '%ds'}, 'repair':"
                    " {'mean': '%ds'}}}}, ",
                    between(rng, 6, 30), between(rng, 0, 8));
    if (rng_below(rng, 2))
        text_printf(text,
                    "'jobs': {'preemptible': true, 'scheduler': 'fifo-skip', 'trace': {'format': 'inline-jobs',"
                    " 'jobs': [{'duration': '9s', 'gpus': 24}, {'submit': '2s', 'duration': '15s', 'gpus': 16}]}}, ");
    text_printf(text,
                "'services': {'chat': {'llm': 'mistral-7b', 'routing': '%s', 'decode_routing': '%s',"
                " 'kv_transfer': {%s}, 'kv': {%s'blocks': %d}, 'pools': {",
                routers[rng_below(rng, 5)], routers[rng_below(rng, 4)], modes[rng_below(rng, 3)],
                rng_below(rng, 2) ? "'prefix_cache': 'lru', " : "", between(rng, 120, 300));
    add_pool(text, "p", "prefill", 0, &shape, rng);
    if (rng_below(rng, 2)) add_pool(text, "m", "mixed", 1, &shape, rng);
    add_pool(text, "d", "decode", 2, &shape, rng);
    text_printf(text, "}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode':"
                      " {'fixed': '11ms', 'per_sequence': '20us'}}, 'trace': {'format': 'generate', 'count': 120,"
                      " 'arrival': {'process': 'poisson', 'rate': '12/s'}, 'prompt': {'distribution': 'uniform', 'min':"
                      " 1, 'max': 700}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}}}}");
    return shape;
}

/* What the decisions tell of a pool's replicas: GPUs held while they are up, start or drain; time up; steps. */
struct told {
    double gpu_s, up_s;
    int starts, drains;
};

static void follow(struct told *told, const struct bed_decision *decision, int gpus, double *held_s, double *up_s)
{
    const char *action = decision->action;
    const bool starts = strcmp(action, "start") == 0, drains = strcmp(action, "drain") == 0;
    const bool ends = strcmp(action, "stop") == 0 || strcmp(action, "fail") == 0;
    if (ends) told->gpu_s += gpus * (decision->t_s - *held_s);
    if ((ends || drains) && *up_s >= 0) told->up_s += decision->t_s - *up_s;
    if (ends || drains) *up_s = -1;
    if (starts || ends) *held_s = starts ? decision->t_s : -1;
    if (strcmp(action, "up") == 0 || strcmp(action, "keep") == 0) *up_s = decision->t_s;
    told->starts += starts;
    told->drains += drains;
}

static struct told told_of(const struct bed_rows *rows, const struct shape *shape, int pool)
{
    struct told told = {0, 0, 0, 0};
    int first = 0;
    for (int i = 0; i < pool; i++) first += shape->most[i];
    for (int k = 0; k < shape->most[pool]; k++) {
        double held_s = k < shape->start[pool] ? 0 : -1, up_s = held_s;
        for (size_t i = 0; i < rows->n_decisions; i++) {
            int of;
            if (rows->decisions[i].subject >= 0 || sscanf(rows->decisions[i].reason, "replica %d:", &of) != 1) continue;
            if (of == first + k) follow(&told, &rows->decisions[i], shape->gpus[pool], &held_s, &up_s);
        }
        if (held_s >= 0) told.gpu_s += shape->gpus[pool] * (rows->end_s - held_s);
        if (up_s >= 0) told.up_s += rows->end_s - up_s;
    }
    return told;
}

static double metric_of_pool(const struct bed_rows *rows, const char *name, int pool)
{
    char text[64];
    snprintf(text, sizeof text, "scaling.%s[chat/%c]", name, "pmd"[pool]);
    return bed_metric(rows, text);
}

/* Metrics of each pool that scales, and of the service, are what the decisions tell. Returns the GPU seconds, and adds
 * to the number of pools and of services that were compared. */
static double check_told(const struct bed_rows *rows, const struct shape *shape, int *n_pools, int *n_services)
{
    double gpu_s = 0, missing_s = 0;
    int starts = 0, drains = 0;
    for (int pool = 0; pool < N_POOLS; pool++) {
        const struct told told = told_of(rows, shape, pool);
        const double mean = metric_of_pool(rows, "replicas.mean", pool);
        gpu_s += told.gpu_s;
        starts += told.starts;
        drains += told.drains;
        if (shape->most[pool] > 0) missing_s += metric_of_pool(rows, "missing_replica_s.sum", pool);
        if (isnan(mean)) continue;
        CHECK_NEAR(mean * rows->end_s, told.up_s, 1e-9 * (1 + told.up_s));
        CHECK_NEAR(metric_of_pool(rows, "gpu_s.sum", pool), told.gpu_s, 1e-9 * (1 + told.gpu_s));
        CHECK_EQ_INT(metric_of_pool(rows, "starts.sum", pool), told.starts);
        CHECK_EQ_INT(metric_of_pool(rows, "drains.sum", pool), told.drains);
        ++*n_pools;
    }
    if (isnan(bed_metric(rows, "scaling.gpu_s.sum"))) return gpu_s;
    CHECK_EQ_INT(bed_metric(rows, "scaling.starts.sum"), starts);
    CHECK_EQ_INT(bed_metric(rows, "scaling.drains.sum"), drains);
    if (isnan(missing_s)) return gpu_s;
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), missing_s, 1e-9 * (1 + missing_s));
    ++*n_services;
    return gpu_s;
}

TEST(random_pools_lose_nothing)
{
    double drains = 0, yielded = 0, lost = 0;
    int n_pools = 0, n_services = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        SCOPED(text) text = {0};
        struct rng rng = test_rng(seed, "random pools", 0);
        const struct shape shape = random_site(&rng, &text);
        struct bed_rows *macro = bed_run(BED(.check = true, .policy = &erratic.policy), "%s", text.chars);
        struct bed_rows *single = bed_run(BED(.single_step = true, .queue = QUEUE_HEAP, .policy = &erratic.policy), "%s",
                                          text.chars);
        if (!CHECK_EQ_INT(macro->code, 0) || !CHECK(bed_equal(macro, single))) test_quotes(text.chars);
        CHECK_EQ_INT(macro->n_requests, 120);
        for (size_t i = 0; i < macro->n_requests; i++) CHECK_EQ_STR(macro->requests[i].status, "finished");
        const double gpu_s = bed_metric(macro, "scaling.gpu_s.sum"),
                     held_s = check_told(macro, &shape, &n_pools, &n_services);
        if (!isnan(gpu_s)) CHECK_NEAR(gpu_s, held_s, 1e-9 * (1 + held_s));
        if (!isnan(gpu_s)) /* what the GPUs cost in this time, per hour of it */
            CHECK_NEAR(bed_metric(macro, "cost.usd_per_h"), 3 * held_s / macro->end_s, 1e-9 * (1 + held_s));
        if (!isnan(gpu_s)) drains += bed_metric(macro, "scaling.drains.sum");
        if (!isnan(gpu_s)) yielded += bed_metric(macro, "scaling.yielded_jobs.sum");
        const double restarted = bed_metric(macro, "failure.restarted_requests");
        if (!isnan(restarted)) lost += restarted;
        bed_free(macro);
        bed_free(single);
    }
    CHECK(drains > 300 && yielded > 3 && lost > 100 && n_pools > 0 && n_services > 0);
}

/* --- Refusals --- */

static void check_refused(const char *problem, const char *pools)
{
    struct bed_rows *rows = bed_run(BED(.quiet = true),
                                    "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'%s}, 'services':"
                                    " {'chat': {'llm': 'mistral-7b', %s, 'trace': {'format': 'generate', 'count': 1}}}}",
                                    strstr(problem, "network") != NULL ? "" : ", 'network': {'bandwidth': '9GB/s'}",
                                    pools);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, problem) != NULL);
}

#define POOLS(prompts, tokens)                                                                                         \
    "'pools': {'p': {'role': 'prefill', 'scaling': {'policy': 'schedule', 'max': 2" prompts                            \
    "}}, 'd': {'role': 'decode', 'scaling': {'policy': 'schedule', 'max': 2" tokens "}}}"

TEST(pools_that_cannot_scale_are_refused)
{
    check_refused("none of its pools that decode always has a replica", POOLS("", ", 'min': 0"));
    check_refused("'min' is above 'max'", POOLS(", 'min': 3", ""));
    check_refused("no network connects nodes", POOLS("", ""));
    check_refused("it has a 'restart'", POOLS("", "") ", 'restart': {'delay': '1s'}");
    check_refused("chooses two", POOLS("", "") ", 'routing': 'splitwise'");
    check_refused("which scale one by one", POOLS("", "") ", 'scaling': {'policy': 'schedule', 'max': 2}");
}
