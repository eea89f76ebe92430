/* The section "rl" of a scenario: what it refuses, incomplete steps, what samples and steps share, bytes on links. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <inttypes.h>

#define TWO "'replicas': 2,"

/* A site with two nodes of two GPUs; members of the document, the service, the trace and the section. */
static struct bed_rows *run(const char *document, const char *service, int count, const char *rl)
{
    return bed_run(BED(.quiet = true, .check = true),
                   "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}},"
                   " %s 'services': {'a': {'llm': 'phi-2', %s 'trace': {'format': 'generate', 'count': %d,"
                   " 'arrival': {'process': 'poisson', 'rate': '5/s'}, 'prompt': {'distribution': 'uniform', 'min': 1,"
                   " 'max': 200}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 40}}}}, 'rl': {'service': 'a',"
                   " 'prompts': 4, 'samples': 2, 'steps': 3, 'training': {'llm': 'phi-2', 'recompute': 'full'}, %s}}",
                   document, service, count, rl);
}

static void check_refused(const char *document, const char *service, const char *rl, const char *text)
{
    char message[DIAG_TEXT_CHARS];
    const struct bed_rows *rows = run(document, service, 24, rl);
    CHECK(rows->code != 0);
    snprintf(message, sizeof message, "%s",
             rows->diag.n_items > 0 ? rows->diag.items[rows->diag.n_items - 1].text : "");
    if (!CHECK(strstr(message, text) != NULL)) fprintf(stderr, "  '%s' has no '%s'\n", message, text);
}

TEST(what_is_not_simulated_is_refused)
{
    check_refused("", TWO, "'gpus': 0", "needs 'gpus'");
    check_refused("", TWO, "'gpus': 2, 'layout': 'together'", "runs on the GPUs of service 'a'");
    check_refused("", TWO, "'layout': 'together', 'staleness': 1", "are synchronous");
    check_refused("", TWO, "'gpus': 3", "whole nodes of 2");
    check_refused("", TWO, "'gpus': 4", "has not 4 GPUs left");
    check_refused("", "'scaling': {'policy': 'schedule', 'max': 2},", "'gpus': 2", "varies");
    check_refused("", "'kv': {'offload': 'flexgen', 'tiers': {'host': {'device': 'host-dram-pcie4'}}},", "'gpus': 2",
                  "places weights or cache elsewhere");
    check_refused(
        "",
        "'pools': {'p': {}, 'q': {'kv': {'offload': 'flexgen', 'tiers': {'host': {'device': 'host-dram-pcie4'}}}}},",
        "'gpus': 2", "places weights or cache elsewhere");
    check_refused("", "'sampling': {'sequences': 2}," TWO, "'gpus': 2", "several sequences of a request");
    check_refused("", "'pipeline_parallel': 2, 'replicas': 1,", "'gpus': 2, 'update': 'halt'", "cannot halt");
    check_refused("'failures': {'causes': {'c': {'scope': 'node', 'lifetime': {'law': 'exponential', 'mean': '1d'}}}},",
                  TWO, "'gpus': 2", "not simulated together with failures");
    check_refused("'market': {},", TWO, "'gpus': 2", "not simulated together with rented GPUs");
}

TEST(two_services_do_not_share_a_name)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2}, 'services': {'a': {'llm': 'phi-2', 'trace': {'format': 'generate',"
        " 'count': 3, 'arrival': {'process': 'poisson', 'rate': '5/s'}}}}, 'rl': {'service': 'b', 'prompts': 1,"
        " 'steps': 1, 'gpus': 1, 'training': {'llm': 'phi-2'}}}");
    CHECK(rows->code != 0 && strstr(rows->diag.items[0].text, "there is no service 'b'") != NULL);
    CHECK(strstr(rows->diag.items[0].where, "rl.service") != NULL || rows->diag.items[0].where[0] != '\0');
}

/* 20 requests are two steps of eight, and a half: its four samples are generated and dropped. */
TEST(an_incomplete_step_is_dropped)
{
    const struct bed_rows *rows = run("", TWO, 20, "'gpus': 2");
    int64_t trained = 0, dropped = 0;
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT((int64_t)rows->n_requests, 20);
    for (size_t i = 0; i < rows->n_requests; i++)
        *(rows->requests[i].id < 16 ? &trained : &dropped) += rows->requests[i].output_tokens;
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.steps"), 2);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.trained_output_tokens.sum"), trained);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.dropped_tokens.sum"), dropped);
    CHECK(rows->n_warnings > 0);
}

/* Rollouts are in progress from the arrival of a step's samples until the last one leaves, also those of the half step
 * behind which the trace ends, while training goes on. */
TEST(rollouts_idle_once_the_trace_has_ended)
{
    const struct bed_rows *rows = run("", TWO, 20, "'gpus': 2, 'staleness': 1");
    double begin_s[3] = {INFINITY, INFINITY, INFINITY}, end_s[3] = {0}, busy_s = 0;
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT((int64_t)rows->n_requests, 20);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const int64_t step = rows->requests[i].id / 8;
        begin_s[step] = fmin(begin_s[step], rows->requests[i].arrival_s);
        end_s[step] = fmax(end_s[step], rows->requests[i].arrival_s + rows->requests[i].e2e_s);
    }
    for (int i = 0; i < 3; i++) busy_s += end_s[i] - begin_s[i];
    const double span_s = bed_metric(rows, "rl.span_s");
    CHECK(span_s > end_s[2] + 0.01);
    CHECK_NEAR(bed_metric(rows, "rl.rollout_idle_frac"), 1 - busy_s / span_s, 1e-6);
}

TEST(steps_end_before_the_trace)
{
    const struct bed_rows *rows = run("", TWO, 100, "'gpus': 2");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT((int64_t)rows->n_requests, 24);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.dropped_tokens.sum"), 0);
}

/* An end within a step: what is trained, waits and is in progress adds up (INV-13, checked after every event). */
TEST(a_run_may_end_within_a_step)
{
    for (int ms = 100; ms <= 2100; ms += 100) {
        char until[32];
        snprintf(until, sizeof until, "'until': '%dms',", ms);
        const struct bed_rows *rows = run(until, TWO, 24,
                                          ms % 200 == 0 ? "'gpus': 2, 'staleness': 1" : "'layout': 'together'");
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "rl.span_s") <= 0.001 * ms + 1e-9);
        CHECK(bed_metric(rows, "rl.trained_output_tokens.sum") <= bed_metric(rows, "rl.generated_tokens.sum"));
        CHECK(bed_metric(rows, "rl.rollout_idle_frac") >= 0 && bed_metric(rows, "rl.training_idle_frac") >= 0);
    }
}

/* Rows about steps are not taken for rows about the request or job of the same number. */
TEST(rows_of_steps_belong_to_no_request)
{
    const struct bed_rows *rows = run("'keep': 'decisions',", TWO, 24, "'gpus': 2");
    int n = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        const bool is_step = strcmp(row->policy, "rl") == 0;
        CHECK(is_step == (strcmp(row->service, "(rl)") == 0));
        n += is_step;
    }
    CHECK_EQ_INT(n, 9); /* three steps that generate, train and send */
}

/* A step takes from the end of the training before it, or from the start of the run, to the end of its own, when its
 * weights are sent. */
TEST(times_of_steps_add_up_to_the_last_training)
{
    const struct bed_rows *rows = run("'keep': 'decisions',", TWO, 24, "'gpus': 2");
    double before_s = 0, longest_s = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_decisions; i++) {
        if (strcmp(rows->decisions[i].policy, "rl") != 0 || strcmp(rows->decisions[i].action, "send") != 0) continue;
        longest_s = fmax(longest_s, rows->decisions[i].t_s - before_s);
        before_s = rows->decisions[i].t_s;
    }
    CHECK(before_s > 0);
    CHECK_NEAR(bed_metric(rows, "rl.step_s.mean"), before_s / 3, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rl.step_s.max"), longest_s, 1e-9);
}

/* Samples that KV blocks are short for are preempted and recomputed. They are trained as long as they are. */
TEST(recomputed_tokens_are_trained_once)
{
    const struct bed_rows *rows = run("", "'replicas': 1, 'kv': {'blocks': 20},", 24, "'gpus': 2");
    int64_t tokens = 0, preemptions = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        tokens += rows->requests[i].prompt_tokens + rows->requests[i].output_tokens;
        preemptions += rows->requests[i].preemptions;
    }
    CHECK(preemptions > 0);
    CHECK_NEAR(bed_metric(rows, "rl.tokens_per_s") * bed_metric(rows, "rl.span_s"), (double)tokens, 1e-6);
}

/* Samples of a prompt share its blocks, if the replica that has them caches prefixes: a second sample that comes to a
 * replica after the first finds the whole blocks of the prompt. */
TEST(samples_share_the_prompt)
{
    static const char cached[] = "'replicas': 1, 'kv': {'prefix_cache': 'lru'}, 'batching': {'policy': 'vllm-v1',"
                                 " 'max_sequences': 1},";
    const struct bed_rows *rows = run("", cached, 24, "'gpus': 2");
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        const int64_t whole = (row->prompt_tokens - 1) / 16 * 16; /* the last token is always processed */
        CHECK_EQ_INT(row->cached_tokens, row->id % 2 == 1 ? whole : 0);
    }
}

/* All prompts begin with the same block. The first request of a step finds it if the step before has generated with the
 * same weights; what older weights have computed is not reused. */
TEST(new_weights_reuse_no_older_cache)
{
    for (int staleness = 0; staleness < 2; staleness++) {
        int64_t weights[3] = {-1, -1, -1};
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true, .check = true),
            "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}},"
            " 'keep': 'decisions', 'services': {'a': {'llm': 'phi-2', 'kv': {'prefix_cache': 'lru'}, 'batching':"
            " {'policy': 'vllm-v1', 'max_sequences': 1}, 'trace': {'format': 'generate', 'count': 12, 'arrival':"
            " {'process': 'poisson', 'rate': '5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 40}, 'output':"
            " {'distribution': 'fixed', 'tokens': 9}, 'sessions': {'continue': 1e-9, 'block_tokens': 32}}}}, 'rl':"
            " {'service': 'a', 'prompts': 4, 'steps': 3, 'gpus': 2, 'staleness': %d, 'training': {'llm': 'phi-2',"
            " 'recompute': 'full'}}}",
            staleness);
        for (size_t i = 0; i < rows->n_decisions; i++)
            if (strcmp(rows->decisions[i].action, "generate") == 0)
                sscanf(rows->decisions[i].reason, "weights of %" SCNd64, &weights[rows->decisions[i].subject]);
        CHECK_EQ_INT((int64_t)rows->n_requests, 12);
        CHECK_EQ_INT(weights[2], 2 - staleness);
        for (size_t i = 0; i < rows->n_requests; i++) {
            const int64_t step = rows->requests[i].id / 4;
            const bool is_first = rows->requests[i].id % 4 == 0;
            const bool is_new = is_first && (step == 0 || weights[step] != weights[step - 1]);
            CHECK_EQ_INT(rows->requests[i].cached_tokens, is_new ? 0 : 32);
        }
    }
}

/* Weights for the next step reach replicas over the network, states of training over PCIe alone. */
TEST(bytes_on_links_are_those_of_the_weights)
{
    const struct bed_rows *apart = run("", TWO, 24, "'gpus': 2"), *together = run("", TWO, 24, "'layout': 'together'");
    const double bytes = bed_metric(apart, "rl.weight_bytes.sum");
    CHECK_NEAR(bed_metric(apart, "link.network.bytes"), 2 * bytes, 0.5); /* the ports of the sender and the receiver */
    CHECK_NEAR(bed_metric(together, "rl.weight_bytes.sum"), bytes, 0.5);
    CHECK_NEAR(bed_metric(together, "link.pcie.bytes"), bytes + bed_metric(together, "rl.swap_bytes.sum"), 0.5);
    CHECK(isnan(bed_metric(together, "link.network.bytes")));
}

/* The states of a training belong to its GPUs, however these are cut into replicas. The host of the node holds them,
 * and the weights for each replica, to the byte. */
TEST(states_fit_into_the_host_to_the_byte)
{
    static const char *const cuts[] = {TWO, "'tensor_parallel': 2,"};
    double moved[2];
    for (int64_t i = 0; i < 2; i++) {
        const int64_t replicas = 2 - i, steps = 3;
        const struct bed_rows *rows = run("", cuts[i], 24, "'layout': 'together'");
        MUST(rows->code == 0);
        moved[i] = bed_metric(rows, "rl.swap_bytes.sum");
        CHECK_EQ_INT((int64_t)bed_metric(rows, "rl.sends"), steps);
        const int64_t states = (int64_t)moved[i] / (2 * steps); /* out and back in each step */
        const int64_t weights = (int64_t)bed_metric(rows, "rl.weight_bytes.sum") / (steps * replicas);
        CHECK(states > 0 && weights > 0);
        for (int64_t lacking = 0; lacking < 2; lacking++) {
            char host[64];
            snprintf(host, sizeof host, "'gpus_per_node': 2, 'host': {'memory': '%" PRId64 "B'}",
                     states + replicas * weights - lacking);
            const struct bed_rows *fits = bed_run(
                BED(.quiet = true, .check = true),
                "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, %s}, 'services': {'a': {'llm': 'phi-2', %s 'trace':"
                " {'format': 'generate', 'count': 8, 'arrival': {'process': 'poisson', 'rate': '5/s'}}}}, 'rl':"
                " {'service': 'a', 'prompts': 4, 'samples': 2, 'steps': 1, 'layout': 'together', 'training': {'llm':"
                " 'phi-2', 'recompute': 'full'}}}",
                host, cuts[i]);
            CHECK_EQ_INT(fits->code, lacking == 0 ? 0 : SIM_E_UNFIT);
        }
    }
    CHECK(moved[0] == moved[1]);
}

/* GPUs of a node that share a NIC are those of the training's own node type. */
TEST(training_has_the_network_of_its_own_nodes)
{
    double training_s[2];
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true),
            "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': %d, 'network': {'bandwidth': '16GB/s', 'per': "
            "'node'}, 'node_types': {'b': {'gpu': 'a100-80-sxm', 'nodes': 2, 'gpus_per_node': 2}}}, 'services': {'a': "
            "{'llm': 'phi-2', 'trace': {'format': 'generate', 'count': 4, 'arrival': {'process': 'poisson', 'rate': "
            "'5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 512}, 'output': {'distribution': 'fixed', 'tokens': "
            "512}}}}, 'rl': {'service': 'a', 'prompts': 4, 'steps': 1, 'gpu': 'a100-80-sxm', 'gpus': 4, 'training': "
            "{'llm': 'phi-2', 'tensor_parallel': 4, 'recompute': 'full'}}}",
            i == 0 ? 1 : 8);
        training_s[i] = bed_metric(rows, "rl.training_s.mean");
    }
    CHECK(training_s[0] > 0 && training_s[0] == training_s[1]);
}

/* With gpipe, memory grows with the sequences of a step, which are known when the step is trained. */
TEST(steps_that_do_not_fit_are_refused)
{
    static const char scenario[] =
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '16GB/s'}}, 'services':"
        " {'a': {'llm': 'phi-2', 'trace': {'format': 'generate', 'count': 64, 'arrival': {'process': 'poisson', 'rate':"
        " '5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 8}, 'output': {'distribution': 'fixed', 'tokens':"
        " %d}}}}, 'rl': {'service': 'a', 'prompts': 64, 'steps': 1, 'gpus': 2, 'training': {'llm': 'phi-2',"
        " 'pipeline_parallel': 2, 'schedule': 'gpipe', 'sequence_tokens': 512}}}";
    const struct bed_rows *few = bed_ok(NULL, scenario, 8), *many = bed_run(BED(.quiet = true), scenario, 2000);
    CHECK_EQ_INT((int64_t)bed_metric(few, "rl.steps"), 1);
    CHECK_EQ_INT(many->code, SIM_E_UNFIT);
    MUST(many->diag.n_items > 0);
    double needed_gib = 0, usable_gib = 0;
    CHECK_EQ_INT(sscanf(many->diag.items[0].text,
                        "training on 2 GPUs does not fit: %lf GiB of a GPU, and %lf are usable", &needed_gib,
                        &usable_gib),
                 2);
    CHECK_NEAR(usable_gib, (1 - 0.06) * 81559 / 1024, 0.01); /* of the 81,559 MiB of the GPU, all but reserve_frac */
    CHECK(needed_gib > usable_gib && needed_gib < 1000);
}

/* GPUs in use are those of the replicas and of the training, and an hour of them has its price. */
TEST(gpus_are_those_of_replicas_and_training)
{
    for (int gpus = 1; gpus <= 4; gpus += gpus) {
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true, .check = true),
            "{'cluster': {'gpu': 'h100-sxm', 'nodes': 4, 'gpus_per_node': 2, 'gpu_price': '$2/h', 'network': {"
            " 'bandwidth': '16GB/s'}}, 'services': {'a': {'llm': 'phi-2', 'trace': {'format': 'generate', 'count': 8,"
            " 'arrival': {'process': 'poisson', 'rate': '5/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 64},"
            " 'output': {'distribution': 'fixed', 'tokens': 16}}}}, 'rl': {'service': 'a', 'prompts': 4, 'steps': 2,"
            " 'gpus': %d, 'training': {'llm': 'phi-2', 'recompute': 'full', 'zero': 3}}}",
            gpus);
        const double usd_per_s = bed_metric(rows, "rl.usd_per_h") / 3600;
        CHECK_EQ_INT(bed_metric(rows, "cluster.gpus_in_use.max"), 1 + gpus);
        CHECK_NEAR(usd_per_s, 2.0 * (1 + gpus) / 3600, 1e-12);
        CHECK_NEAR(bed_metric(rows, "rl.tokens_per_usd") * usd_per_s / bed_metric(rows, "rl.tokens_per_s"), 1, 1e-9);
    }
}
