/* Offloading in the world: what a service's policy of the family kv_offload changes, and what it says when it
 * cannot. */
#include "policies/declared.h"
#include "policies/kv_offload/flexgen_search.h"
#include "policies/kv_offload/select_n_bus.h"
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

/* Ten requests at once; `kv` are members of that section, `more` of the service. */
static struct bed_rows *serve(const char *kv, const char *more, const struct bed_options *options)
{
    return bed_run(
        options,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a10'}, 'services': {'s': {'llm': 'opt-6.7b',"
        " 'cost': {'kind': 'operators', 'engine': 'none'}, %s 'kv': {%s},'batching': {'policy': 'vllm-v0',"
        " 'max_batched_tokens': 100000},'trace': {'format': 'generate', 'count': 40, 'arrival': {'process': 'poisson',"
        " 'rate': '20/s'},'prompt': {'distribution': 'uniform', 'min': 10, 'max': 300},'output': {'distribution':"
        " 'uniform', 'min': 1, 'max': 200}}}}}",
        more, kv);
}

#define TIERS                                                                                                          \
    "'tiers': {'host': {'device': 'host-dram-pcie4'}, 'disk': {'device': 'samsung-980-pro'}, "                         \
    "'csd': {'device': 'instcsd'}}, "

/* Placements of every kind, in both modes of stepping: the same, and with all bytes accounted for. */
TEST(stepping_changes_nothing)
{
    static const char *const placements[] = {
        "'zero-inference'",
        "{'policy': 'vllm-cpu', 'cpu_offload': '6GB'}",
        "{'policy': 'select-n', 'interval': 5}",
        "'instinfer'",
        "{'policy': 'instinfer', 'keep': 0.125}",
        ("{'policy': 'flexgen', 'gpu_batch': 8, 'weights_gpu': 0.5, 'weights_host': 0.5, 'cache_gpu': 0.2, "
         "'cache_host': 0.5}")};
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        char kv[512];
        snprintf(kv, sizeof kv, TIERS "'offload': %s", placements[i]);
        struct bed_rows *runs = serve(kv, "", &(struct bed_options){.check = true});
        struct bed_rows *steps = serve(kv, "", &(struct bed_options){.single_step = true, .check = true});
        if (!CHECK_EQ_INT(runs->code, 0) || !CHECK(bed_equal(runs, steps))) printf("\n  %s", placements[i]);
        double share = 0.0;
        static const char *const names[] = {"gpu", "hbm", "host", "link", "flash", "device"};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            char name[64];
            snprintf(name, sizeof name, "bottleneck.%s_frac", names[k]);
            share += bed_metric(runs, name);
        }
        CHECK_NEAR(share, 1.0, 1e-9);
        CHECK_EQ_INT((int64_t)bed_metric(runs, "request.finished"), 40);
        bed_free(runs);
        bed_free(steps);
    }
}

/* Every iteration streams the same bytes: 6 GB, of 13.3 GB. */
TEST(streamed_bytes_are_counted)
{
    struct bed_rows *rows = serve(TIERS "'offload': {'policy': 'vllm-cpu', 'cpu_offload': '6GB'}", "",
                                  &(struct bed_options){0});
    CHECK_NEAR(bed_metric(rows, "offload.to_gpu_bytes.sum") / (6e9 * bed_metric(rows, "replica.iterations.sum")), 1.0,
               1e-9);
}

/* vLLM's CPU offload frees memory for the cache: what was preempted without it is not with it. */
TEST(offloaded_weights_make_room)
{
    struct bed_rows *plain = serve("'usable_frac': 0.65", "", &(struct bed_options){0});
    struct bed_rows *away = serve(TIERS "'usable_frac': 0.65, 'offload': 'vllm-cpu'", "", &(struct bed_options){0});
    CHECK(bed_metric(plain, "request.preemptions.sum") > 0);
    CHECK_EQ_INT((int64_t)bed_metric(away, "request.preemptions.sum"), 0);
}

/* The policy that swaps is the batcher's own way of swapping. */
TEST(swapping_policy)
{
    struct bed_rows *policy = serve("'blocks': 60, 'offload': 'swap'", "", &(struct bed_options){.check = true});
    struct bed_rows *own = serve("'blocks': 60", "", &(struct bed_options){
        .sets = (const char *const[]){"services.s.batching.preemption=swap", NULL}});
    struct bed_rows *none = serve("'blocks': 60, 'offload': 'recompute'", "", &(struct bed_options){0});
    CHECK(bed_metric(policy, "request.preemptions.sum") > 0);
    CHECK_NEAR(bed_metric(policy, "request.e2e_s.mean"), bed_metric(own, "request.e2e_s.mean"), 0);
    CHECK(bed_metric(policy, "request.e2e_s.mean") != bed_metric(none, "request.e2e_s.mean"));
}

TEST(out_of_memory)
{
    struct bed_rows *rows = serve(TIERS "'workload': {'sequences': 4096, 'prompt': 2048, 'output': 64}, 'offload': "
                                        "{'policy': 'flexgen', 'gpu_batch': 4096, 'memory_slack': 1}",
                                  "", &(struct bed_options){0});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "request.rejected"), 40);
    CHECK(rows->n_warnings >= 1);
}

static void finding_with(const char *kv, const char *set, const char *text)
{
    struct bed_rows *rows = serve(kv, "", &(struct bed_options){.quiet = true, .sets = (const char *const[]){set, NULL}});
    CHECK(rows->code != 0);
    bool found = false;
    for (int i = 0; i < rows->diag.n_items; i++) found = found || strstr(rows->diag.items[i].text, text) != NULL;
    if (!CHECK(found)) printf("\n  not found: %s", text);
}

static void finding(const char *kv, const char *text)
{
    finding_with(kv, NULL, text);
}

TEST(findings)
{
    finding(TIERS "'offload': {'policy': 'flexgen', 'gpu_batch': 1, 'weights_gpu': 0.9, 'weights_host': 0.2}",
            "shares on GPU and host exceed 1");
    finding(TIERS "'offload': {'policy': 'flexgen', 'gpu_batch': 1, 'token_products': '1TFLOP/s'}",
            "all four measured rates or none");
    finding("'offload': {'policy': 'flexgen', 'gpu_batch': 1, 'cache_gpu': 0}",
            "needs a drive, and kv.tiers names none");
    finding("'tiers': {'a': {'device': 'pm9a3'}, 'b': {'device': 'samsung-980-pro'}}", "two tiers are of one kind");
    finding("'tiers': {'a': {'device': 'pm9a3', 'software': 'dos'}}", "lists no software 'dos'");
}

/* The LLM has 32 layers. */
TEST(an_interval_without_a_whole_group_offloads_nothing)
{
    struct bed_rows *last = serve(TIERS "'offload': {'policy': 'select-n', 'interval': 32}", "", BED(.check = true));
    struct bed_rows *none = serve(TIERS "'offload': {'policy': 'select-n', 'interval': 33}", "", BED(.check = true));
    struct bed_rows *plain = serve("'offload': 'none'", "", BED(.check = true));
    CHECK_EQ_INT(none->code, 0);
    CHECK(bed_equal(none, plain) && !bed_equal(last, plain));
}

/* A GPU whose memory is full before the replica begins still has memory: requests are rejected. */
TEST(a_gpu_without_memory_to_spare_rejects_requests)
{
    static const char *const policies[] = {"instinfer", "select-n", "zero-inference", "vllm-cpu", "flexgen"};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        char kv[256];
        snprintf(kv, sizeof kv, TIERS "'usable_frac': 0.01, 'offload': '%s'", policies[i]);
        struct bed_rows *rows = serve(kv, "", BED(.check = true));
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT((int64_t)bed_metric(rows, "request.rejected"), 40);
    }
}

/* Tiers that a policy cannot do without, stages, and what two policies say of preempted sequences. */
TEST(findings_of_a_pool)
{
    static const char *const hosts[] = {"zero-inference", "select-n", "vllm-cpu", "flexgen-slo"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        char kv[64];
        snprintf(kv, sizeof kv, "'offload': '%s'", hosts[i]);
        finding(kv, "needs host memory, and kv.tiers names none");
    }
    finding("'offload': 'instinfer'", "needs computational storage, and kv.tiers names none");
    finding_with(TIERS "'offload': 'vllm-cpu'", "services.s.pipeline_parallel=2",
                 "places the layers of one stage, not of 2");
}

TEST(findings_of_preemption)
{
    static const char *const others[] = {"vllm-v1", "sarathi", "orca", "fastertransformer", "splitwise"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char set[128];
        snprintf(set, sizeof set, "services.s.batching={'policy': '%s', 'max_batched_tokens': null}", others[i]);
        finding_with("'offload': 'swap'", set, "does not take them back");
        finding_with(TIERS "'offload': {'policy': 'vllm-cpu', 'swap': true}", set, "does not take them back");
    }
    finding_with("'offload': 'recompute'", "services.s.batching.preemption=swap", "say different things");
    finding_with("'offload': 'swap'", "services.s.batching.preemption=recompute", "say different things");
    static const char *const agree[][2] = {{"swap", "swap"}, {"recompute", "recompute"}, {"none", "swap"}};
    for (size_t i = 0; i < sizeof agree / sizeof *agree; i++) {
        char kv[64], set[64];
        snprintf(kv, sizeof kv, "'blocks': 60, 'offload': '%s'", agree[i][0]);
        snprintf(set, sizeof set, "services.s.batching.preemption=%s", agree[i][1]);
        struct bed_rows *rows = serve(kv, "", &(struct bed_options){.sets = (const char *const[]){set, NULL}});
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(bed_metric(rows, "replica.swaps.sum") > 0, strcmp(agree[i][1], "swap") == 0);
        bed_free(rows);
    }
}

static double streaming_bytes_per_s(const char *const *sets)
{
    struct bed_rows *rows = serve(TIERS "'offload': 'zero-inference'", "", &(struct bed_options){.sets = sets});
    CHECK_EQ_INT(rows->code, 0);
    const double bytes = bed_metric(rows, "offload.to_gpu_bytes.sum");
    const double seconds = bed_metric(rows, "sim.end_s");
    return bytes / seconds;
}

/* Two replicas below one switch of 10 GB/s read from the host no faster than it, together. */
TEST(replicas_share_a_switch)
{
    const char *const alone[] = {"cluster.pcie_switch={'gpus': 2, 'bandwidth': '10GB/s'}", NULL};
    const char *const both[] = {alone[0], "services.s.replicas=2", NULL};
    const double one = streaming_bytes_per_s(alone), two = streaming_bytes_per_s(both);
    CHECK(one > 9e9 && one <= 10e9);
    CHECK(two > 9e9 && two <= 10e9);
}

/* The memory of a host that just holds one replica's weights does not hold those of two. */
TEST(replicas_share_their_host)
{
#define HALF "'tiers': {'host': {'device': 'host-dram-pcie4', 'capacity': '20GB'}}, "
    for (int replicas = 1; replicas <= 2; replicas++) {
        char set[64];
        snprintf(set, sizeof set, "services.s.replicas=%d", replicas);
        struct bed_rows *rows = serve(HALF "'offload': {'policy': 'zero-inference', 'host_cache': false}", "",
                                      &(struct bed_options){.sets = (const char *const[]){set, NULL}});
        CHECK_EQ_INT((int64_t)bed_metric(rows, "request.rejected"), replicas == 1 ? 0 : 40);
        /* No price, no energy, no calibration, and of one replica extrapolation, of two no memory: no word of the
         * requests' length. */
        CHECK_EQ_INT(rows->n_warnings, 4);
        bed_free(rows);
    }
}

/* --- The policies' own searches --- */

/* A GPU, an LLM of 48 layers, and memory as FlexGen's cost model states them. */
struct streaming {
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct offload_view view;
};

static void streaming_init(struct streaming *streaming)
{
    const double none = (double)INFINITY, gib = 0x1p30;
    *streaming = (struct streaming){
        .gpu = {.peak_flop_per_s = {[FORMAT_FP16] = 65e12}, .memory_bytes_per_s = 320e9},
        .llm = {.compute = FORMAT_FP16},
        .view = {.layer = {.layers = 48, .gpus = 1, .weight_bytes = 1.233e9, .kv_token_bytes = 28672,
                           .hidden_token_bytes = 14336, .token_flop = 1.233e9, .context_flop = 28672, .heads = 56,
                           .ffn = 28672, .hidden = 7168, .number_bytes = 2},
                 .rates = {12.89 * gib, 0.97 * gib, 4.82 * gib, 2 * gib, 1.9 * gib, 0.746 * gib, 2.015 * gib,
                           2.015 * gib, none, none, 0.0123e12, 21.24e12, 9.97e12, 4.3e12, 0.079e12},
                 .capacity_bytes = {12 * gib, 100 * gib, 1200 * gib, 0}, .workload = {96, 48, 512, 32},
                 .kv_block_tokens = 16}};
    streaming->view.gpu = &streaming->gpu;
    streaming->view.llm = &streaming->llm;
}

/* KV blocks of sequences of this workload, and a spare one. */
static double kv_blocks(const struct offload_view *view, double sequences)
{
    return sequences * ceil((view->workload.prompt + view->workload.output) / view->kv_block_tokens) + 1;
}

/* Prompts fit beside the cache of whole sequences. */
static bool fits(const struct offload_view *view, const struct offload_placement *placement, double rounding)
{
    const struct offload_layer *layer = &view->layer;
    const struct offload_block *block = &view->workload;
    const double token_bytes = layer->layers * layer->kv_token_bytes;
    const double cache_bytes = token_bytes * kv_blocks(view, block->sequences) * view->kv_block_tokens;
    const struct offload_memory memory = offload_memory(layer, placement, block, 1);
    for (int tier = 0; tier < OFFLOAD_CSD; tier++) {
        const double most_bytes = view->capacity_bytes[tier] * (1 + rounding), share = placement->shares.cache[tier];
        const double prompts_bytes = token_bytes * block->sequences * block->prompt;
        const double decoded_bytes = token_bytes * block->sequences * (block->prompt + block->output);
        if (memory.prefill[tier] + (cache_bytes - prompts_bytes) * share > most_bytes ||
            memory.decode[tier] + (cache_bytes - decoded_bytes) * share > most_bytes)
            return false;
    }
    return true;
}

/* FlexGen's linear program against a grid of placements: nothing on the grid is faster, by more than rounding. */
TEST(flexgen_beats_a_grid)
{
    struct streaming streaming;
    streaming_init(&streaming);
    const struct offload_view view = streaming.view;
    struct offload_plan plan;
    offload_plan_default(&view, &plan);
    plan.placement.schedule = OFFLOAD_RELEASED;
    plan.placement.attention = OFFLOAD_ATTEND_HOST;
    const struct flexgen_search search = {&view, &plan};
    struct offload_placement best = plan.placement;
    best.gpu_batch = 48;
    best.batches = 2;
    MUST(flexgen_best_shares(&search, &best));
    const double best_s = flexgen_sequence_s(&search, &best);
    int fitting = 0;
    for (int point = 0; point < 6 * 6 * 6 * 6 * 2; point++) {
        const double w = 0.2 * (point % 6), c = 0.2 * (point / 6 % 6), h = point / 1296;
        const double wh = (1.0 - w) * 0.2 * (point / 36 % 6), ch = (1.0 - c) * 0.2 * (point / 216 % 6);
        struct offload_placement other = best;
        other.shares = (struct offload_shares){
            .weights = {w, wh, 1 - w - wh, 0}, .cache = {c, ch, 1 - c - ch, 0}, .hidden = {h, 1 - h, 0, 0}};
        if (!fits(&view, &other, 0.0)) continue;
        fitting++;
        CHECK(flexgen_sequence_s(&search, &other) >= best_s * (1.0 - 1e-6));
    }
    CHECK(fitting > 10);
    CHECK(fits(&view, &best, 1e-6));
}

static struct offload_placement best_shares(const struct flexgen_search *search)
{
    struct offload_placement best = search->plan->placement;
    best.gpu_batch = 48;
    best.batches = 2;
    CHECK(flexgen_best_shares(search, &best));
    return best;
}

/* Of the best shares for each length of the answers that fit, those for the very length are the fastest. Nor do hidden
 * states all in one place make them faster. */
TEST(flexgen_knows_the_length_of_answers)
{
    enum { LENGTHS = 5 };
    static const double outputs[LENGTHS] = {1, 2, 4, 16, 64}, sizes[] = {1, 8};
    int tried = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct streaming streaming;
        struct offload_placement best[LENGTHS], other[LENGTHS + 3];
        struct offload_plan plan;
        streaming_init(&streaming);
        streaming.view.layer.hidden_token_bytes *= sizes[i];
        offload_plan_default(&streaming.view, &plan);
        plan.placement.schedule = OFFLOAD_RELEASED;
        plan.placement.attention = OFFLOAD_ATTEND_HOST;
        const struct flexgen_search search = {&streaming.view, &plan};
        for (int k = 0; k < LENGTHS; k++) {
            streaming.view.workload.output = outputs[k];
            best[k] = best_shares(&search);
            CHECK(fits(&streaming.view, &best[k], 1e-6));
        }
        for (int k = 0; k < LENGTHS; k++) {
            streaming.view.workload.output = outputs[k];
            memcpy(other, best, sizeof best);
            for (int tier = 0; tier < 3; tier++) {
                other[LENGTHS + tier] = best[k];
                for (int at = 0; at < 3; at++) other[LENGTHS + tier].shares.hidden[at] = at == tier;
            }
            for (int n = 0; n < LENGTHS + 3; n++) {
                if (!fits(&streaming.view, &other[n], 1e-9)) continue;
                CHECK(flexgen_sequence_s(&search, &other[n]) >= flexgen_sequence_s(&search, &best[k]) * (1 - 1e-6));
                tried++;
            }
        }
    }
    CHECK(tried > 30);
}

/* Makes the plan of FlexGen's search. */
static void flexgen_plan(const struct offload_view *view, const char *params, struct offload_plan *plan)
{
    const struct kv_offloader *policy = &kv_offload_flexgen;
    SCOPED(arena) arena;
    arena_init(&arena);
    void *state = arena_alloc(&arena, policy->policy.state_bytes);
    const void *given = policy_params(&policy->policy, params, &arena);
    MUST(state != NULL && given != NULL);
    memcpy(state, given, policy->policy.params_bytes);
    offload_plan_default(view, plan);
    CHECK_EQ_INT(policy->place(state, view, plan), 0);
    CHECK(plan->problem == NULL);
}

/* FlexGen's search finds a block with room for all of its sequences, prompts and answers. Each sequence holds whole KV
 * blocks, and one KV block is spare. A host without memory for the cache leaves the rest to the disk. */
TEST(flexgen_searches_room_for_its_whole_block)
{
    static const double sequences[] = {1, 3, 4, 16, 64}, lengths[][2] = {{512, 32}, {100, 400}, {511, 1}};
    static const char *const choices[] = {"", ", \"host_attention\": false", ", \"schedule\": \"published\""};
    enum { SITES = 4 }; /* one GPU or two, host and disk or a host too small for the cache */
    int on_disk = 0;
    for (int i = 0; i < 45 * SITES; i++) {
        struct streaming streaming;
        struct offload_plan plan;
        streaming_init(&streaming);
        struct offload_view *view = &streaming.view;
        view->layer.gpus = 1 + i / 45 % 2;
        if (i / 90 > 0) view->capacity_bytes[OFFLOAD_HOST] = 70 * view->layer.gpus * 0x1p30;
        view->workload = (struct offload_block){sequences[i % 5], 1, lengths[i / 5 % 3][0], lengths[i / 5 % 3][1]};
        char params[256];
        snprintf(params, sizeof params,
                 "{\"prompt_products\": \"21TFLOP/s\", \"prompt_attention\": \"10TFLOP/s\", \"token_products\": "
                 "\"4TFLOP/s\", \"token_attention\": \"0.08TFLOP/s\"%s}",
                 choices[i / 15 % 3]);
        flexgen_plan(view, params, &plan);
        const double block = (double)(plan.placement.gpu_batch * plan.placement.batches);
        const double blocks = kv_blocks(view, block);
        const double found = floor(offload_plan_tokens(view, &plan) / view->kv_block_tokens);
        CHECK(block >= 1 && block <= sequences[i % 5]);
        on_disk += plan.placement.shares.cache[OFFLOAD_DISK] > 0.01;
        if (!CHECK(found >= blocks)) printf("\n  %g of %g KV blocks, %d", found, blocks, i);
    }
    CHECK(on_disk > 10);
}

/* A block that is served alone preempts nothing, whatever its lengths, batcher and tiers. So few sequences are one
 * block. */
TEST(flexgens_block_alone_preempts_nothing)
{
    static const char *const batchers[] = {"vllm-v0', 'max_batched_tokens", "sarathi', 'token_budget",
                                           "vllm-v1', 'token_budget"};
    int held = 0;
    for (int i = 0; i < 36; i++) {
        const int sequences = i % 2 == 0 ? 4 : 10, prompt = 511 + i / 2 % 2, output = i / 4 % 3 == 0 ? 64 : 17;
        const int gpus = 1 + i / 12 % 2;
        struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-40-sxm'}, 'services': {'s': {'llm': 'opt-30b',"
            " 'tensor_parallel': %d, 'cost': {'kind': 'operators', 'engine': 'none'}, 'kv': {'usable_frac': %g, 'tiers':"
            " {'host': {'device': 'host-dram-pcie4', 'capacity': '%s'}, 'disk': {'device': 'samsung-980-pro'}},"
            " 'workload': {'sequences': %d, 'prompt': %d, 'output': %d}, 'offload': {'policy': 'flexgen',"
            " 'host_attention': %s}}, 'batching': {'max_sequences': 64, 'policy': '%s': 16384},"
            " 'trace': {'format': 'generate', 'count': %d, 'arrival': {'process': 'closed', 'users': %d},"
            " 'prompt': {'distribution': 'fixed', 'tokens': %d}, 'output': {'distribution': 'fixed', 'tokens': %d}}}}}",
            gpus, 0.9 / gpus, i % 4 < 2 ? "400GB" : "50GB", sequences, prompt, output, i % 3 == 0 ? "true" : "false",
            batchers[i / 4 % 3], sequences, sequences, prompt, output);
        CHECK_EQ_INT((int64_t)bed_metric(rows, "request.finished"), sequences);
        if (!CHECK_EQ_INT((int64_t)bed_metric(rows, "request.preemptions.sum"), 0)) printf("\n  case %d", i);
        held += bed_metric(rows, "replica.kv_peak_frac") > 0.97;
        bed_free(rows);
    }
    CHECK(held > 8); /* where memory is short */
}

/* --- Select-N --- */

/* Seconds of the batch whose times count, with the last of every `interval` layers in host memory; 0: none. */
static double grouped_s(const struct offload_view *view, const struct offload_plan *plan, bool decodes,
                        int64_t interval)
{
    const struct offload_block *of = &view->workload;
    const int64_t n = (int64_t)of->sequences, prompt = (int64_t)of->prompt;
    const struct iteration_work token = {.decode_sequences = n, .decode_context_tokens = n * (prompt + 1)};
    const struct iteration_work prompts = {.prefill_sequences = n, .prefill_tokens = n * prompt,
                                           .prefill_pairs = of->sequences * of->prompt * of->prompt};
    struct offload offload = offload_of_plan(view, plan);
    struct offload_step step;
    if (interval > 0) {
        const double on_host = floor(view->layer.layers / (double)interval) / view->layer.layers;
        offload.placement.schedule = OFFLOAD_GROUPED;
        offload.placement.interval = interval;
        offload.placement.shares.weights[OFFLOAD_HOST] = on_host;
        offload.placement.shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - on_host;
    }
    offload_step(&offload, decodes ? &token : &prompts, &step);
    return step.seconds.now;
}

/* Tries every interval. Returns the smallest that keeps the goal and leaves room for the cache; 0: none. */
static int64_t least_interval(const struct offload_view *view, const struct offload_plan *plan, bool decodes,
                              double slowdown)
{
    const struct offload_layer *layer = &view->layer;
    const double cache = layer->layers * layer->kv_token_bytes * view->workload.sequences *
                         (view->workload.prompt + view->workload.output);
    for (int64_t interval = 1; interval <= (int64_t)layer->layers; interval++) {
        const double resident = layer->layers - floor(layer->layers / (double)interval) + 1.0;
        const double others = layer->other_bytes + view->activation_bytes;
        const bool fits = resident * layer->weight_bytes + others + cache <= view->capacity_bytes[0];
        if (grouped_s(view, plan, decodes, interval) <= slowdown * grouped_s(view, plan, decodes, 0))
            return fits ? interval : 0; /* larger intervals leave less room */
    }
    return 0;
}

TEST(select_n_takes_the_smallest_interval_in_time)
{
    const struct kv_offloader *policy = &kv_offload_select_n;
    int64_t found = 0, smallest = INT64_MAX, largest = 0;
    for (int round = 0; round < 96; round++) {
        static const double slowdowns[] = {1.02, 1.3, 2, 8};
        const bool decodes = round % 2 == 0;
        const double slowdown = slowdowns[round / 2 % 4];
        struct streaming streaming;
        struct offload_plan plan;
        char params[80];
        SCOPED(arena) arena;
        arena_init(&arena);
        streaming_init(&streaming);
        struct offload_view *view = &streaming.view;
        view->workload = (struct offload_block){.sequences = 1 + round / 8 % 3 * 20, .gpu_batch = 1,
                                                .prompt = 3000, .output = 20};
        view->capacity_bytes[0] = (12 + 20.0 * (round / 24)) * 0x1p30;
        view->bus_bytes_per_s = (double)INFINITY;
        view->layer.other_bytes = 3e9;
        view->activation_bytes = 1e9;
        view->bus_gpus = 1;
        offload_plan_default(view, &plan);
        const int64_t least = least_interval(view, &plan, decodes, slowdown);
        snprintf(params, sizeof params, "{\"phase\": \"%s\", \"slowdown\": %g}", decodes ? "decode" : "prefill",
                 slowdown);
        void *state = arena_alloc(&arena, policy->policy.state_bytes);
        const void *given = policy_params(&policy->policy, params, &arena);
        MUST(state != NULL && given != NULL);
        memcpy(state, given, policy->policy.params_bytes);
        CHECK_EQ_INT(policy->place(state, view, &plan), 0);
        CHECK_EQ_INT(plan.problem != NULL, least == 0);
        if (least == 0) continue;
        CHECK_EQ_INT(plan.placement.interval, least);
        const double layers = view->layer.layers, bytes = view->layer.weight_bytes;
        const double on_host = floor(layers / (double)least) * bytes;
        CHECK_NEAR(plan.fixed_bytes[OFFLOAD_HOST], on_host, 1.0);
        CHECK_NEAR(plan.fixed_bytes[OFFLOAD_GPU_MEMORY], (layers + 1) * bytes - on_host + 4e9, 1.0);
        smallest = least < smallest ? least : smallest;
        largest = least > largest ? least : largest;
        found++;
    }
    CHECK(found > 10 && smallest < largest);
}

/* Two kinds of GPUs on a bus: all of it is used, none is late, and a bus too slow for anything hands back. */
TEST(bus_of_two_kinds)
{
    const struct select_n_member members[] = {{1, 40, 4, 40, 0.6e9, 0.1}, {1, 32, 2, 32, 0.4e9, 0.1}};
    int64_t intervals[2];
    MUST(select_n_coordinate(members, 2, 100e9, intervals));
    CHECK_EQ_INT(intervals[0], 4); /* 10 layers of 0.6 GB and 10 of 0.4 GB in 0.1 s take all of the 100 GB/s */
    CHECK_EQ_INT(intervals[1], 3);
    MUST(select_n_coordinate(members, 2, 10e9, intervals));
    const double load = (40.0 / 40.0 * 0.6e9 + (double)(32 / intervals[1]) * 0.4e9) / 0.1;
    CHECK(intervals[0] > 20 && load <= 10e9);
    CHECK(!select_n_coordinate(members, 2, 9e9, intervals));
    const struct select_n_member late = {1, 40, 41, 40, 0.6e9, 0.1};
    CHECK(!select_n_coordinate(&late, 1, 100e9, intervals));
}

/* All of the cache lies on the host, behind half a bus of 200 MB/s. Before its first token a prompt has written its
 * keys and values there: for each token two times 4096 numbers of two bytes in each of 32 layers. */
TEST(a_bus_bounds_what_is_written)
{
    const struct bed_rows *rows = serve(
        TIERS
        "'bus_bandwidth': '200MB/s', 'bus_gpus': 2, 'offload': {'policy': 'flexgen', 'gpu_batch': 8, 'weights_gpu': 1,"
        " 'weights_host': 0, 'cache_gpu': 0, 'cache_host': 1, 'hidden_gpu': 1, 'hidden_host': 0}",
        "", BED(.check = true));
    MUST(rows->code == 0);
    for (size_t i = 0; i < rows->n_requests; i++)
        CHECK(rows->requests[i].ttft_s >= (double)rows->requests[i].prompt_tokens * 2 * 4096 * 2 * 32 / 100e6);
}

/* --- Room --- */

/* Tokens that fit: of each tier, what is left of it by the bytes that a token puts there. */
TEST(the_tier_that_is_full_first_limits_the_tokens)
{
    const struct offload_view view = {.layer = {.gpus = 2, .layers = 10, .kv_token_bytes = 3}};
    struct offload_plan plan = {.cache_copies = 4};
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        plan.capacity_bytes[tier] = 6100;
        plan.fixed_bytes[tier] = 100;
    }
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        plan.placement.shares.cache[tier] = 0.5;
        const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1 : 2, copies = tier == OFFLOAD_CSD ? 4 : 1;
        CHECK_NEAR(offload_plan_tokens(&view, &plan), 6000 / (gpus * copies * 10 * 3 * 0.5), 1e-9);
        plan.placement.shares.cache[tier] = 0;
    }
    CHECK(isinf(offload_plan_tokens(&view, &plan)));
    plan.fixed_bytes[OFFLOAD_HOST] = 6101;
    CHECK(offload_plan_tokens(&view, &plan) == 0);
}
