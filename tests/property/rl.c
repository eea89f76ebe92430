/* Reinforcement learning: rollouts of a service beside training. On random cases the site's times are those of a naive
 * twin, to the nanosecond. Tokens and weights are conserved. The time of all steps lies between the bounds: the longer
 * of the two sides, and the sum of all that happens. */
#include "sim/catalog/catalog.h"
#include "sim/catalog/training.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"
#include "tests/support/naive_rl.h"

enum { CASES = 100, MOST_REQUESTS = 400 }; /* of a case */

static const struct catalog catalog = {.root = "configs"};
static const char *const updates[] = {"drain", "halt", "beside"};

/* A case: the twin's settings, and what only the scenario has. */
struct rl_case {
    struct naive_rl twin;
    struct naive_rl_request requests[MOST_REQUESTS];
    int gpus; /* of the training, and of each node */
    uint64_t seed;
    int64_t prompt_max, output_max, sequence_tokens, n_updates, forward_passes;
};

static int64_t between(struct rng *rng, int64_t least, int64_t most)
{
    return least + (int64_t)rng_below(rng, (uint32_t)(most - least + 1));
}

/* One request for each step, of very unlike lengths that take as long as training in the mean: steps pile up before
 * training, and weights come due during one request more than once. */
static void make_backlog(struct rl_case *c, struct rng *rng)
{
    struct naive_rl *twin = &c->twin;
    twin->together = false;
    twin->update = NAIVE_RL_DRAIN;
    twin->staleness = between(rng, 2, 5);
    twin->prompts = twin->samples = 1;
    twin->steps = between(rng, 10, 30);
    c->output_max = 60;
    c->n_updates = 1;
    twin->cost.decode_ns = between(rng, 4000000, 12000000);
}

/* Replicas of one GPU fill their node no more than training fills its own. Each has its NIC to itself: no more replicas
 * than NICs of the training. */
static void draw_case(struct rl_case *c, uint64_t number)
{
    struct rng rng = test_rng(number, "rl", 0);
    struct naive_rl *twin = &c->twin;
    *c = (struct rl_case){.seed = number, .prompt_max = between(&rng, 1, 300), .output_max = between(&rng, 1, 60),
                          .sequence_tokens = 512, .n_updates = between(&rng, 1, 3),
                          .forward_passes = between(&rng, 0, 2)};
    twin->replicas = 1 << between(&rng, 0, 2);
    c->gpus = twin->replicas;
    twin->together = between(&rng, 0, 3) == 0;
    twin->update = (enum naive_rl_update)between(&rng, 0, 2);
    twin->staleness = twin->together ? 0 : between(&rng, 0, 3);
    twin->prompts = between(&rng, 1, 8);
    twin->samples = between(&rng, 1, 5);
    twin->steps = between(&rng, 1, 7);
    twin->max_sequences = between(&rng, 1, 16);
    twin->budget = between(&rng, 16, 400);
    /* from rollouts that are much shorter than training to much longer ones */
    const int64_t scale = 1 << between(&rng, 0, 6);
    twin->cost = (struct naive_rl_cost){.prefill_ns = 1000 * scale * between(&rng, 0, 9000),
                                        .prefill_token_ns = scale * between(&rng, 0, 9000),
                                        .decode_ns = 1000 * scale * between(&rng, 1, 9000),
                                        .sequence_ns = scale * between(&rng, 0, 9000),
                                        .context_token_ns = scale * between(&rng, 0, 90)};
    twin->requests = c->requests;
    if (number % 5 == 0) make_backlog(c, &rng);
}

/* Runs the scenario of a case. With `learns` false the service alone, at the trace's own times. */
static struct bed_rows *run_case(const struct rl_case *c, const struct bed_options *how, bool learns)
{
    const struct naive_rl *twin = &c->twin;
    const struct naive_rl_cost *cost = &twin->cost;
    char rl[600] = "", gpus[32] = "";
    if (!twin->together) snprintf(gpus, sizeof gpus, "'gpus': %d,", c->gpus);
    if (learns)
        snprintf(rl, sizeof rl,
                 "'rl': {'service': 'a', 'layout': '%s', %s 'update': '%s', 'prompts': %lld, 'samples': %lld, 'steps': "
                 "%lld, 'staleness': %lld, 'updates': %lld, 'forward_passes': %lld, 'training': {'llm': 'phi-2', "
                 "'sequence_tokens': %lld, 'recompute': 'full'}},",
                 twin->together ? "together" : "apart", gpus, updates[twin->update], (long long)twin->prompts,
                 (long long)twin->samples, (long long)twin->steps, (long long)twin->staleness, (long long)c->n_updates,
                 (long long)c->forward_passes, (long long)c->sequence_tokens);
    return bed_ok(
        how,
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': %d, 'network': {'bandwidth': '16GB/s', 'latency': "
        "'0s'}}, %s 'seed': %llu, 'keep': 'decisions', 'services': {'a': {'llm': 'phi-2', 'replicas': %d, 'routing': "
        "'round-robin', 'kv': {'blocks': 100000}, 'batching': {'policy': 'vllm-v1', 'max_sequences': %lld, "
        "'token_budget': %lld}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '%lldns', 'per_token': '%lldns'}, "
        "'decode': {'fixed': '%lldns', 'per_sequence': '%lldns', 'per_context_token': '%lldns'}}, 'trace': {'format': "
        "'generate', 'count': %lld, 'arrival': {'process': 'poisson', 'rate': '5/s'}, 'prompt': {'distribution': "
        "'uniform', 'min': 1, 'max': %lld}, 'output': {'distribution': 'uniform', 'min': 1, 'max': %lld}}}}}",
        c->gpus, rl, (unsigned long long)c->seed, twin->replicas, (long long)twin->max_sequences,
        (long long)twin->budget, (long long)cost->prefill_ns, (long long)cost->prefill_token_ns,
        (long long)cost->decode_ns, (long long)cost->sequence_ns, (long long)cost->context_token_ns,
        (long long)(twin->steps * twin->prompts * twin->samples), (long long)c->prompt_max, (long long)c->output_max);
}

/* --- The twin's inputs --- */

/* The plan of a case, priced apart from the site. */
struct pricing {
    const struct rl_case *c;
    struct training_config config;
    struct training_setup setup;
};

static void make_pricing(struct pricing *pricing, const struct rl_case *c, struct session *session)
{
    pricing->c = c;
    pricing->config = (struct training_config){
        .llm = "phi-2", .trainer = "megatron-core", .tensor_parallel = 1, .pipeline_parallel = 1, .pipeline_chunks = 1,
        .context_parallel = 1, .expert_parallel = 1, .sequence_parallel = true, .scatter_gather = true, .schedule = 1,
        .micro_batch = 1, .recompute = 2, .zero = 1, .sequence_tokens = c->sequence_tokens, .reserve_frac = 0.06,
        .offload = {.cpu_update_per_s = 6.64e9, .flush_bytes_per_s = 4.96e9, .link_bytes_per_s = (double)NAN}};
    struct training_request request = {.gpu = "h100-sxm", .gpus = c->gpus, .gpus_per_node = c->gpus, .nvlink = true,
                                       .link_share = 1.0, .bridge_share = (double)NAN, .network_bytes_per_s = 16e9,
                                       .training = pricing->config};
    MUST(training_setup_make(&catalog, &request, "test", &session->arena, &pricing->setup, &session->diag) == 0);
    pricing->setup.config = &pricing->config;
}

static struct training_step price(struct pricing *pricing, int64_t tokens)
{
    struct training_step step;
    pricing->config.global_batch = (tokens + pricing->c->sequence_tokens - 1) / pricing->c->sequence_tokens;
    CHECK(training_setup_price(&pricing->setup, pricing->c->gpus, true, &step) == NULL);
    return step;
}

static sim_ns training_ns(void *context, int64_t tokens)
{
    struct pricing *pricing = context;
    const int64_t n = pricing->c->n_updates;
    const struct training_step part = price(pricing, (tokens + n - 1) / n), whole = price(pricing, tokens);
    const double computing_s = whole.forward_s + whole.backward_s + whole.recompute_s;
    return sim_ns_from_s((double)n * part.step_s +
                         (double)pricing->c->forward_passes * (whole.passes_s * whole.forward_s / computing_s));
}

/* Nanoseconds of bytes at a whole number of bytes per nanosecond, half to even. */
static sim_ns time_of(int64_t bytes, int64_t rate)
{
    const int64_t ns = bytes / rate, twice = bytes % rate * 2;
    return ns + (twice > rate || (twice == rate && ns % 2 == 1));
}

/* The trace in its order, with the prompt of each group's first request. */
static void read_trace(struct rl_case *c)
{
    struct naive_rl *twin = &c->twin;
    struct bed_rows *rows = run_case(c, BED(.quiet = true), false);
    const int64_t n = twin->steps * twin->prompts * twin->samples;
    MUST((int64_t)rows->n_requests == n);
    for (int64_t i = 0; i < n; i++) {
        const struct request_row *first = bed_request(rows, i - i % twin->samples), *own = bed_request(rows, i);
        c->requests[i] = (struct naive_rl_request){.prompt = first->prompt_tokens, .output = own->output_tokens};
    }
    bed_free(rows);
}

static int64_t weight_bytes(struct session *session)
{
    struct llm_spec llm;
    CHECK(catalog_llm(&catalog, "phi-2", "test", &session->arena, &llm, &session->diag) == 0);
    return llround(llm_weight_bytes(&llm));
}

static void run_twin(struct rl_case *c, struct pricing *pricing, int64_t bytes)
{
    struct naive_rl *twin = &c->twin;
    const struct training_memory memory = price(pricing, 1).memory;
    const int64_t shards = twin->together ? 1 : c->gpus, states = llround(memory.weight_bytes + memory.optimizer_bytes);
    twin->training_ns = training_ns;
    twin->context = pricing;
    twin->send_ns = twin->together ? time_of(bytes, 64) : time_of((bytes + shards - 1) / shards, 16 / shards);
    twin->swap_ns = time_of(states, 64);
    naive_rl_run(twin);
}

/* --- Comparing --- */

static sim_ns ns_of(double seconds)
{
    return llround(seconds * 1e9);
}

static void compare_events(const struct naive_rl *twin, const struct bed_rows *rows)
{
    static const char *const names[] = {"generate", "train", "send"};
    int n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        if (strcmp(row->policy, "rl") != 0) continue;
        MUST(n < twin->n_events);
        const struct naive_rl_event *event = &twin->events[n++];
        CHECK(strcmp(row->action, names[event->action]) == 0);
        CHECK_EQ_INT(row->subject, event->step);
        CHECK_EQ_INT(ns_of(row->t_s), event->at_ns);
    }
    CHECK_EQ_INT(n, twin->n_events);
}

static void compare_requests(const struct naive_rl *twin, const struct bed_rows *rows)
{
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        const struct naive_rl_request *request = &twin->requests[row->id];
        CHECK_EQ_INT(row->prompt_tokens, request->prompt);
        CHECK_EQ_INT(ns_of(row->arrival_s), request->arrival_ns);
        CHECK_EQ_INT(ns_of(row->arrival_s + row->e2e_s), request->end_ns);
    }
}

/* Conservation, and the bounds: all apart the longer side, all together the sum. */
static void check_laws(const struct naive_rl *twin, const struct bed_rows *rows, int64_t bytes)
{
    const double span_ns = (double)ns_of(bed_metric(rows, "rl.span_s"));
    const sim_ns sum_ns = twin->generating_ns + twin->training_time_ns + twin->sending_ns + twin->swapping_ns;
    const sim_ns longer_ns = twin->generating_ns > twin->training_time_ns ? twin->generating_ns
                                                                          : twin->training_time_ns;
    int64_t generated = 0, prompts = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        generated += rows->requests[i].output_tokens;
        prompts += rows->requests[i].prompt_tokens;
    }
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.trained_output_tokens.sum"), generated);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.trained_tokens.sum"), generated + prompts);
    CHECK_NEAR(bed_metric(rows, "rl.tokens_per_s") * bed_metric(rows, "rl.span_s"), (double)(generated + prompts),
               1e-3);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.generated_tokens.sum"), generated);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.steps"), twin->steps);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.weight_bytes.sum"), twin->n_sends * twin->replicas * bytes);
    CHECK(twin->staleness > 1 || twin->n_sends == twin->steps);
    CHECK_NEAR(bed_metric(rows, "rl.staleness.mean") * (double)(twin->steps * twin->prompts * twin->samples),
               twin->stale_sum, 1e-6);
    CHECK((double)longer_ns <= span_ns);
    CHECK(span_ns <= (double)(sum_ns + twin->steps)); /* requests arrive 1 ns after the decision */
    /* one after another, without a gap but the nanosecond */
    if (twin->staleness == 0) CHECK_EQ_INT((sim_ns)span_ns, sum_ns + twin->steps - 1);
}

/* How often a case is one in which the sides meet, so that the comparison says something. */
struct met {
    int n_overlaps, n_stale, n_skips, n_halts;
};

static void count_met(struct met *met, const struct naive_rl *twin)
{
    met->n_overlaps += twin->end_ns < twin->generating_ns + twin->training_time_ns + twin->sending_ns;
    met->n_stale += twin->stale_sum > (double)(twin->steps * twin->prompts * twin->samples);
    met->n_skips += twin->n_sends < twin->steps;
    met->n_halts += twin->update == NAIVE_RL_HALT && twin->sending_ns > twin->n_sends * twin->send_ns;
}

TEST_SIZED(times_are_those_of_a_naive_twin)
{
    struct met met = {0};
    SCOPED(session) session = {0};
    const int64_t bytes = weight_bytes(&session);
    for (uint64_t i = 0; i < (uint64_t)test_part(CASES); i++) {
        struct rl_case *c = calloc(1, sizeof *c);
        struct pricing *pricing = calloc(1, sizeof *pricing);
        draw_case(c, i);
        make_pricing(pricing, c, &session);
        read_trace(c);
        run_twin(c, pricing, bytes);
        struct bed_rows *rows = run_case(c, BED(.check = true), true);
        compare_events(&c->twin, rows);
        compare_requests(&c->twin, rows);
        CHECK_EQ_INT(ns_of(bed_metric(rows, "rl.span_s")), c->twin.end_ns);
        check_laws(&c->twin, rows, bytes);
        count_met(&met, &c->twin);
        bed_free(rows);
        free(pricing);
        free(c);
    }
    CHECK_WHOLE(met.n_overlaps >= 10 && met.n_stale >= 10 && met.n_skips >= 5 && met.n_halts >= 3);
}

/* With staleness 0 no request is in progress when weights are sent: what replicas would do with it does not matter. */
TEST(synchronous_steps_do_not_depend_on_the_update)
{
    for (uint64_t i = 0; i < 8; i++) {
        struct rl_case *c = calloc(1, sizeof *c);
        struct bed_rows *rows[3];
        draw_case(c, 2000 + i);
        c->twin.staleness = 0;
        for (int update = 0; update < 3; update++) {
            c->twin.update = (enum naive_rl_update)update;
            rows[update] = run_case(c, NULL, true);
        }
        CHECK(bed_equal(rows[0], rows[1]) && bed_equal(rows[0], rows[2]));
        for (int update = 0; update < 3; update++) bed_free(rows[update]);
        free(c);
    }
}

/* Steps that are alike: in the long run the longer side and the sending with staleness 1, the sum without. */
TEST(alike_steps_take_the_longer_side)
{
    static const char scenario[] =
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}}, 'rl': "
        "{'service': 'a', 'gpus': 2, 'prompts': 8, 'steps': 20, 'staleness': %d, 'training': {'llm': 'phi-2', "
        "'recompute': 'full', 'sequence_tokens': 512}}, 'services': {'a': {'llm': 'phi-2', 'replicas': 2, 'cost': {'kind': 'affine', 'prefill': "
        "{'fixed': '5ms'}, 'decode': {'fixed': '%dms'}}, 'trace': {'format': 'generate', 'count': 160, 'arrival': {'process': 'poisson', 'rate': "
        "'5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': "
        "101}}}}}";
    for (int decode_ms = 1; decode_ms <= 64; decode_ms *= 2) {
        const struct bed_rows *serial = bed_ok(NULL, scenario, 0, decode_ms);
        const struct bed_rows *stale = bed_ok(NULL, scenario, 1, decode_ms);
        const double rollout_s = bed_metric(stale, "rl.rollout_s.mean"),
                     send_s = bed_metric(stale, "rl.sending_s.mean");
        const double training_s = bed_metric(stale, "rl.training_s.mean");
        const double longer_s = rollout_s > training_s ? rollout_s : training_s;
        CHECK_NEAR(rollout_s, 0.005 + 0.1 * decode_ms, 1e-9);
        CHECK_NEAR(bed_metric(serial, "rl.span_s"), 20.0 * (rollout_s + training_s + send_s), 1e-6);
        CHECK_NEAR(bed_metric(stale, "rl.span_s"), rollout_s + training_s + 19.0 * longer_s + 20.0 * send_s, 1e-6);
    }
}

TEST(steps_and_queues_change_nothing)
{
    for (uint64_t i = 0; i < 12; i++) {
        struct rl_case *c = calloc(1, sizeof *c);
        draw_case(c, 1000 + i);
        struct bed_rows *rows = run_case(c, BED(.check = true), true);
        struct bed_rows *other = run_case(c, BED(.check = true, .single_step = true, .queue = QUEUE_HEAP), true);
        CHECK(bed_equal(rows, other));
        bed_free(rows);
        bed_free(other);
        free(c);
    }
}

/* Iterations with drafts are computed ahead of their ends. A replica halts at the first boundary all the same: within
 * an iteration, and not after those that have been computed. */
TEST(replicas_with_drafts_halt_at_the_next_boundary)
{
    static const char scenario[] =
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}}, 'rl': "
        "{'service': 'a', 'gpus': 2, 'prompts': 2, 'steps': 6, 'staleness': 1, 'update': '%s', 'training': {'llm': "
        "'phi-2', 'recompute': 'full', 'sequence_tokens': 512}}, 'services': {'a': {'llm': 'phi-2', 'replicas': 2, "
        "'speculation': {'policy': 'eagle', 'depth': 2}, 'acceptance': {'rates': [0.6]}, 'cost': {'kind': 'affine', "
        "'prefill': {'fixed': '5ms'}, 'decode': {'fixed': '40ms'}}, 'trace': {'format': 'generate', 'count': 12, "
        "'arrival': {'process': 'poisson', 'rate': '5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 100}, "
        "'output': {'distribution': 'uniform', 'min': 100, 'max': 900}}}}}";
    const struct bed_rows *rows = bed_ok(BED(.check = true, .no_batches = true), scenario, "halt");
    const struct bed_rows *stepped = bed_ok(BED(.check = true, .single_step = true, .no_batches = true), scenario, "halt");
    const struct bed_rows *beside = bed_ok(NULL, scenario, "beside");
    const double halted_s = bed_metric(rows, "rl.sending_s.max"), sent_s = bed_metric(beside, "rl.sending_s.mean");
    CHECK(bed_equal(rows, stepped));
    CHECK(halted_s > sent_s + 1e-6 && halted_s < sent_s + 0.05);
}
