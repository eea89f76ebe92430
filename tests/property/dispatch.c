/* Tokens that travel by DeepEP's kernels: an iteration's calls and cost, copies of experts, and two halves of a batch
 * that take turns. */
#include "models/operators/operators.h"
#include "sim/catalog/calibration.h"
#include "sim/catalog/catalog.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

static bool find(struct session *session, const char *name, struct gpu_spec *gpu, struct llm_spec *llm)
{
    return catalog_gpu(&catalog, "h100-sxm", "t", &session->arena, gpu, &session->diag) == 0 &&
           catalog_llm(&catalog, name, "t", &session->arena, llm, &session->diag) == 0;
}

static struct iteration_work random_work(struct rng *rng)
{
    const int64_t prompts = (int64_t)rng_below(rng, 20), decodes = 1 + (int64_t)rng_below(rng, 400);
    const int64_t tokens = prompts * (1 + (int64_t)rng_below(rng, 3000));
    return (struct iteration_work){.prefill_sequences = prompts,
                                   .prefill_tokens = tokens,
                                   .prefill_pairs = (double)tokens * (double)tokens,
                                   .decode_sequences = decodes,
                                   .decode_context_tokens = decodes * (1 + (int64_t)rng_below(rng, 9000))};
}

static struct llm_split split_of(enum llm_dispatch dispatch)
{
    return (struct llm_split){.tensor = 16, .pipeline = 1, .expert = 16, .data = 16, .dispatch = dispatch,
                              .dispatch_sms = 20, .gpus_per_node = 8, .network_bytes_per_s = 50e9};
}

/* --- Calls --- */

/* A dispatch and a combine in every layer with experts, of the tokens of a GPU: in 8 bits there, in 16 back. */
TEST(tokens_go_and_come_back_once_a_layer)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    const struct iteration_work work = {.decode_sequences = 160, .decode_context_tokens = 160 * 1000};
    for (enum llm_dispatch dispatch = DISPATCH_NORMAL; dispatch <= DISPATCH_LOW_LATENCY; dispatch++) {
        const struct llm_split split = split_of(dispatch);
        struct kernel_use uses[LLM_MAX_USES];
        int sent = 0;
        const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
        for (size_t i = 0; i < n; i++) {
            CHECK(uses[i].op != OP_ALL_TO_ALL);
            if (uses[i].driver != BY_SENT_TOKENS) continue;
            const struct exchange_shape *shape = &uses[i].call.shape.exchange;
            CHECK_NEAR(uses[i].count, 58, 0);
            CHECK_NEAR(shape->tokens, 10, 0);
            CHECK_NEAR(shape->nodes, 2, 0);
            CHECK_EQ_INT(shape->low_latency, dispatch == DISPATCH_LOW_LATENCY);
            CHECK_EQ_INT(shape->sent, uses[i].op == OP_DISPATCH ? FORMAT_FP8_BLOCK : FORMAT_BF16);
            sent++;
        }
        CHECK_EQ_INT(sent, 2);
    }
}

/* DeepEP has grouped products; NCCL's all-to-all the fused kernel. Behind DeepEP 288 experts, copies included, lie
 * within what was measured of 256: a GPU sees those that it holds. */
TEST(experts_take_the_kernel_of_their_dispatch)
{
    static const enum kernel_class classes[] = {
        [DISPATCH_ALL_TO_ALL] = KERNEL_MOE_FP8, [DISPATCH_NORMAL] = KERNEL_MOE_FP8_CONTIGUOUS,
        [DISPATCH_LOW_LATENCY] = KERNEL_MOE_FP8_MASKED};
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct calibration calibration;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    MUST(calibration_load(&catalog, "h100-sxm", "sglang-0.5", &session.arena, &calibration, &session.diag) == 0);
    for (enum llm_dispatch dispatch = DISPATCH_ALL_TO_ALL; dispatch <= DISPATCH_LOW_LATENCY; dispatch++) {
        const int64_t sequences = dispatch == DISPATCH_NORMAL ? 16384 : 160;
        const struct iteration_work work = {.decode_sequences = sequences, .decode_context_tokens = sequences * 1000};
        struct llm_split split = split_of(dispatch);
        split.redundant_experts = 32;
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
        int found = 0;
        for (size_t i = 0; i < n; i++) {
            if (uses[i].op != OP_EXPERTS) continue;
            found++;
            CHECK_EQ_INT(uses[i].call.class, classes[dispatch]);
            CHECK_NEAR(uses[i].call.shape.moe.experts, 288, 0);
            CHECK(dispatch == DISPATCH_ALL_TO_ALL || kernel_in_range(&calibration.kernels, &uses[i].call));
        }
        CHECK_EQ_INT(found, 1);
    }
}

/* Rows of experts of a GPU: its share of all choices, however many copies there are. */
TEST(copies_of_experts_share_their_tokens)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    struct llm_split split = {.tensor = 144, .pipeline = 1, .expert = 144, .data = 144,
                              .dispatch = DISPATCH_LOW_LATENCY, .gpus_per_node = 8, .network_bytes_per_s = 50e9};
    const struct iteration_work work = {.decode_sequences = 144 * 64, .decode_context_tokens = 144 * 64};
    CHECK_EQ_STR(llm_split_problem(&llm, &split),
                 "the number of experts, copies included, is not a multiple of expert parallelism");
    split.redundant_experts = 32;
    CHECK(llm_split_problem(&llm, &split) == NULL);
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
    for (size_t i = 0; i < n; i++) {
        if (uses[i].op != OP_EXPERTS) continue;
        const struct moe_shape *moe = &uses[i].call.shape.moe;
        CHECK_NEAR(moe->held, 2, 0);
        const struct expert_load_shape shape = {.tokens = moe->tokens, .chosen = moe->chosen, .experts = moe->experts,
                                                .held = moe->held};
        CHECK_NEAR(expert_load_of(&shape, 64.0).rows * 144.0, 144.0 * 64.0 * 8.0, 1e-6);
    }
}

/* Of all GPUs and layers: each choice of an expert takes a token there, in 8 bits with a scale per 128 numbers,
 * and its result back in 16. Normal kernels send a token once to a GPU, which with one expert each is once per choice.
 * Rows of all experts are as many. */
TEST(what_travels_is_tokens_times_choices_times_width)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    struct rng rng = test_rng(3, "bytes", 0);
    const double hidden = (double)llm.hidden, sparse = 58.0;
    for (int i = 0; i < 60; i++) {
        const bool is_low = i % 2 == 1;
        const int64_t gpus = is_low ? (int64_t)1 << (1 + rng_below(&rng, 8)) : llm.experts;
        const int64_t decodes = gpus * (1 + (int64_t)rng_below(&rng, 300));
        const struct llm_split split = {.tensor = gpus, .pipeline = 1, .expert = gpus, .data = gpus,
                                        .dispatch = is_low ? DISPATCH_LOW_LATENCY : DISPATCH_NORMAL, .dispatch_sms = 20,
                                        .gpus_per_node = 8, .network_bytes_per_s = 50e9};
        const struct iteration_work work = {.decode_sequences = decodes, .decode_context_tokens = decodes * 100};
        const double choices = sparse * (double)(decodes * llm.experts_per_token);
        struct kernel_use uses[LLM_MAX_USES];
        double out_bytes = 0.0, back_bytes = 0.0, rows = 0.0;
        const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
        for (size_t k = 0; k < n; k++) {
            const double all = uses[k].count * (double)gpus;
            if (uses[k].op == OP_DISPATCH)
                out_bytes += all * exchange_traffic_of(&uses[k].call.shape.exchange).moved_bytes;
            if (uses[k].op == OP_COMBINE)
                back_bytes += all * exchange_traffic_of(&uses[k].call.shape.exchange).moved_bytes;
            if (uses[k].op != OP_EXPERTS) continue;
            const struct moe_shape *moe = &uses[k].call.shape.moe;
            const struct expert_load_shape shape = {.tokens = moe->tokens, .chosen = moe->chosen,
                                                    .experts = moe->experts, .held = moe->held};
            rows += all * expert_load_of(&shape, 64.0).rows;
        }
        CHECK_NEAR(out_bytes / (choices * (hidden + hidden / 128.0 * 4.0 + (is_low ? 16.0 : 0.0))), 1.0, 1e-9);
        CHECK_NEAR(back_bytes / (choices * 2.0 * hidden), 1.0, 1e-9);
        CHECK_NEAR(rows / choices, 1.0, 1e-9);
    }
}

/* On the nodes that a token may choose lie as many experts as it chooses, or more. */
TEST(few_nodes_hold_enough_experts)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    struct llm_split split = {.tensor = 256, .pipeline = 1, .expert = 256, .data = 256, .dispatch = DISPATCH_NORMAL,
                              .dispatch_sms = 20, .dispatch_nodes = 1, .gpus_per_node = 4,
                              .network_bytes_per_s = 50e9};
    const char *problem = llm_split_problem(&llm, &split);
    CHECK(problem != NULL && strstr(problem, "hold fewer experts than it chooses") != NULL);
    split.dispatch_nodes = 2;
    CHECK(llm_split_problem(&llm, &split) == NULL);
}

/* The busiest GPU decides: its experts get so many times the rows of a mean one, and it gets as many more copies. Its
 * own tokens stay as they are. */
TEST(an_imbalance_is_that_of_the_busiest_gpu)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    const struct llm_split even = split_of(DISPATCH_NORMAL);
    struct llm_split uneven = even;
    uneven.imbalance = 1.25;
    const struct iteration_work work = {.decode_sequences = 160, .decode_context_tokens = 160 * 1000};
    struct kernel_use a[LLM_MAX_USES], b[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm, &even, &gpu, &work, a);
    MUST(llm_iteration_kernels(&llm, &uneven, &gpu, &work, b) == n);
    for (size_t i = 0; i < n; i++) {
        if (a[i].driver == BY_SENT_TOKENS) {
            const struct exchange_shape *mean = &a[i].call.shape.exchange, *most = &b[i].call.shape.exchange;
            CHECK(most->tokens == mean->tokens);
            const double copies = exchange_traffic_of(mean).copies;
            CHECK_NEAR(exchange_traffic_of(most).copies, 1.25 * copies, 1e-9 * copies);
        } else if (a[i].op == OP_EXPERTS)
            CHECK_NEAR(b[i].call.shape.moe.tokens, 1.25 * a[i].call.shape.moe.tokens, 1e-9);
        else
            CHECK(memcmp(&a[i].call, &b[i].call, sizeof a[i].call) == 0);
    }
}

/* --- Costs --- */

static double cost_s(const struct operators *operators, const struct iteration_work *work)
{
    struct iteration_cost cost;
    operators_cost(operators, work, &cost);
    return cost.first_s;
}

/* Of dispatch and combine. */
static double sent_seconds(const struct iteration_breakdown *breakdown)
{
    double sent_s = 0.0;
    for (size_t i = 0; i < breakdown->n; i++) {
        const enum llm_operator op = breakdown->operators[i].op;
        if (op == OP_DISPATCH || op == OP_COMBINE) sent_s += breakdown->operators[i].time.seconds;
    }
    return sent_s;
}

/* The tables give what the kernels one by one do. Two halves are never slower, and no faster than the GPU's computing
 * or its sending alone. */
TEST(costs_are_those_of_the_kernels_and_halves_hide_some)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct kernel_set set;
    struct operators *plain = arena_alloc(&session.arena, sizeof *plain);
    struct operators *halved = arena_alloc(&session.arena, sizeof *halved);
    kernel_set_init(&set);
    MUST(plain != NULL && halved != NULL && find(&session, "deepseek-v3", &gpu, &llm));
    int hidden = 0;
    for (enum llm_dispatch dispatch = DISPATCH_NORMAL; dispatch <= DISPATCH_LOW_LATENCY; dispatch++) {
        struct operators_parts parts = {.gpu = &gpu, .llm = &llm, .kernels = &set, .split = split_of(dispatch)};
        operators_init(plain, &parts);
        parts.two_batches = true;
        operators_init(halved, &parts);
        struct rng rng = test_rng(3, "dispatch", dispatch);
        for (int i = 0; i < 60; i++) {
            const struct iteration_work work = random_work(&rng);
            struct iteration_breakdown breakdown;
            iteration_breakdown(&parts, &work, &breakdown);
            const double plain_s = cost_s(plain, &work), halved_s = cost_s(halved, &work);
            const double sent_s = sent_seconds(&breakdown);
            CHECK_NEAR(plain_s / breakdown.gpu_s, 1.0, 0.03);
            CHECK(halved_s <= plain_s * (1.0 + 1e-12));
            CHECK(halved_s >= 0.97 * fmin(fmax(sent_s, breakdown.gpu_s - sent_s), plain_s));
            hidden += halved_s < 0.99 * plain_s;
        }
    }
    CHECK(hidden > 20);
}

/* Two halves of a batch that decodes, each priced as a batch of its own: one sends while the other computes. Of an odd
 * number of sequences the larger half counts. */
TEST(halves_of_a_decoding_batch_are_batches)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct kernel_set set;
    struct operators *plain = arena_alloc(&session.arena, sizeof *plain);
    struct operators *halved = arena_alloc(&session.arena, sizeof *halved);
    kernel_set_init(&set);
    MUST(plain != NULL && halved != NULL && find(&session, "deepseek-v3", &gpu, &llm));
    struct operators_parts parts = {.gpu = &gpu, .llm = &llm, .kernels = &set, .split = split_of(DISPATCH_LOW_LATENCY)};
    operators_init(plain, &parts);
    parts.two_batches = true;
    operators_init(halved, &parts);
    int hidden = 0;
    for (int64_t each = 63; each <= 511; each = 2 * each + 1)
        for (int64_t context = 100; context <= 6400; context *= 4) {
            const int64_t n = 16 * each, most = 16 * (each + 1) / 2;
            const struct iteration_work work = {.decode_sequences = n, .decode_context_tokens = n * context};
            const struct iteration_work half = {.decode_sequences = most, .decode_context_tokens = most * context};
            struct iteration_breakdown breakdown;
            iteration_breakdown(&parts, &half, &breakdown);
            const double sent_s = sent_seconds(&breakdown);
            const double computed_s = cost_s(plain, &half) - sent_s;
            const double turns_s = 2 * fmax(computed_s, sent_s) + fmin(computed_s, sent_s) / 61;
            CHECK_NEAR(cost_s(halved, &work) / fmin(cost_s(plain, &work), turns_s), 1.0, 0.03);
            hidden += turns_s < 0.9 * cost_s(plain, &work);
        }
    CHECK(hidden > 2);
}

/* 16 GPUs on one node, and each on a node of its own whose adapter is as fast as the link: iterations take as long. */
TEST(a_network_like_the_link_makes_one_node)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct kernel_set set;
    struct operators *together = arena_alloc(&session.arena, sizeof *together);
    struct operators *apart = arena_alloc(&session.arena, sizeof *apart);
    kernel_set_init(&set);
    MUST(together != NULL && apart != NULL && find(&session, "deepseek-v3", &gpu, &llm));
    gpu.nvlink_gpus = 16;
    static const enum kernel_class classes[] = {KERNEL_DISPATCH, KERNEL_COMBINE, KERNEL_LOW_DISPATCH,
                                                KERNEL_LOW_COMBINE};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct exchange_params *params = &set.params[classes[i]].exchange;
        params->network_hop_s = 0.0;
        params->network_frac = params->link_frac;
    }
    for (int i = 0; i < 4; i++) {
        struct operators_parts parts = {.gpu = &gpu, .llm = &llm, .kernels = &set, .two_batches = i >= 2,
                                        .split = split_of(i % 2 == 0 ? DISPATCH_NORMAL : DISPATCH_LOW_LATENCY)};
        parts.split.gpus_per_node = 16;
        operators_init(together, &parts);
        parts.split.gpus_per_node = 1;
        parts.split.network_bytes_per_s = gpu_link_bytes_per_s(&gpu, 16);
        operators_init(apart, &parts);
        struct rng rng = test_rng(3, "one node", (uint64_t)i);
        for (int k = 0; k < 60; k++) {
            const struct iteration_work work = random_work(&rng);
            CHECK_NEAR(cost_s(apart, &work) / cost_s(together, &work), 1.0, 1e-9);
        }
        parts.split.network_bytes_per_s *= 0.01;
        operators_init(apart, &parts);
        const struct iteration_work work = random_work(&rng);
        CHECK(cost_s(apart, &work) > 1.01 * cost_s(together, &work));
    }
}

/* Two jobs that alternate between two machines, `rounds` times: when both have ended. Each takes the machine that it
 * needs as soon as it is free; the first one goes first. */
static double alternate(double computing_s, double sending_s, int rounds)
{
    double compute_free = 0.0, send_free = 0.0, ready[2] = {0.0, 0.0};
    for (int round = 0; round < rounds; round++)
        for (int machine = 0; machine < 2; machine++)
            for (int job = 0; job < 2; job++) {
                double *unused = machine == 0 ? &compute_free : &send_free;
                const double begin = fmax(ready[job], *unused);
                *unused = ready[job] = begin + (machine == 0 ? computing_s : sending_s);
            }
    return fmax(ready[0], ready[1]);
}

TEST(halves_take_turns_like_two_jobs_on_two_machines)
{
    struct rng rng = test_rng(3, "overlap", 0);
    for (int i = 0; i < 300; i++) {
        const int layers = 1 + (int)rng_below(&rng, 60);
        const double computing_s = 1e-6 * (double)rng_below(&rng, 1000);
        const double sending_s = 1e-6 * (double)rng_below(&rng, 1000);
        const struct piece whole = operators_overlap(piece_line(layers * computing_s, 0.0), layers * sending_s, layers);
        CHECK_NEAR(whole.now, alternate(computing_s, sending_s, layers), 1e-12);
    }
}

/* --- Runs --- */

#define SERVICE                                                                                                        \
    "'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '6/s'},"                   \
    " 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 900},"                                                   \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}"

static struct bed_rows *run(const struct bed_options *options, const char *cost)
{
    return bed_run(
        options,
        "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': {'bandwidth': '50GB/s'}},"
        " 'seed': 5, 'services': {'chat': {'llm': 'deepseek-v3', 'tensor_parallel': 16, 'data_parallel': 16,"
        " 'cost': {'kind': 'operators', %s}, " SERVICE "}}}",
        cost);
}

TEST(runs_with_halves_are_those_of_single_steps)
{
    static const char *const costs[] = {
        "'expert_parallel': 16, 'dispatch': 'deepep-normal', 'expert_skew': 0.6, 'expert_groups': 8",
        "'expert_parallel': 16, 'dispatch': 'deepep-normal', 'overlap': 'two-batches', 'dispatch_sms': 24",
        "'expert_parallel': 16, 'dispatch': 'deepep-low-latency', 'overlap': 'two-batches', 'redundant_experts': 32"};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        struct bed_rows *rows = run(BED(.check = true), costs[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_requests, 60);
        CHECK(bed_equal(rows, run(BED(.single_step = true), costs[i])));
    }
}

/* A file has the loads of each layer with experts: of DeepSeek-V3 58 of 61. Equal ones are no skew. */
TEST(loads_are_of_the_layers_that_have_experts)
{
    static const char format[] = "'expert_parallel': 16, 'dispatch': 'deepep-normal', 'expert_loads': '%s'";
    char path[300], cost[400];
    snprintf(path, sizeof path, "%s/loads.csv", test_tmpdir());
    snprintf(cost, sizeof cost, format, path);
    for (int layers = 57; layers <= 59; layers++) {
        FILE *file = fopen(path, "w");
        MUST(file != NULL);
        for (int layer = 0; layer < layers; layer++)
            for (int expert = 0; expert < 256; expert++) fprintf(file, "7%s", expert < 255 ? "," : "\n");
        fclose(file);
        struct bed_rows *rows = run(BED(.quiet = true), cost);
        CHECK_EQ_INT(rows->code, layers == 58 ? 0 : SIM_E_DATA);
        if (rows->code != 0) continue;
        struct bed_rows *even = run(BED(.quiet = true), "'expert_parallel': 16, 'dispatch': 'deepep-normal'");
        CHECK_EQ_INT(rows->n_requests, even->n_requests);
        for (size_t i = 0; i < rows->n_requests; i++)
            CHECK_NEAR(bed_request(rows, (int64_t)i)->e2e_s, bed_request(even, (int64_t)i)->e2e_s, 1e-9);
    }
}

static void check_refused(const char *cost, const char *text)
{
    struct bed_rows *rows = run(BED(.quiet = true), cost);
    CHECK(rows->code < 0);
    if (!CHECK(rows->diag.n_items == 1 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

TEST(what_cannot_be_dispatched_is_named)
{
    check_refused("'dispatch': 'deepep-normal'", "DeepEP's kernels need data or sequence parallelism");
    check_refused("'expert_parallel': 8, 'dispatch': 'deepep-normal'", "as much expert as tensor parallelism");
    check_refused("'expert_parallel': 16, 'overlap': 'two-batches'", "two-batches need DeepEP's kernels");
    check_refused("'expert_parallel': 16, 'redundant_experts': 8", "copies included");
    check_refused("'expert_parallel': 16, 'expert_skew': 0.5", "loads of experts need DeepEP's kernels");
    check_refused("'expert_parallel': 16, 'dispatch': 'pplx'", "dispatch");
    check_refused("'redundant_experts': 16", "redundant experts need expert parallelism");
#define NORMAL "'expert_parallel': 16, 'dispatch': 'deepep-normal', "
    check_refused(NORMAL "'dispatch_sms': 132", "'dispatch_sms' 132 leaves none of the 132 SMs of h100-sxm");
    check_refused(NORMAL "'expert_groups': 8", "'expert_groups' place experts by their loads");
    check_refused(NORMAL "'expert_skew': 0.5, 'expert_loads': 'loads.csv'", "leave one out");
    CHECK_EQ_INT(run(BED(.quiet = true), NORMAL "'dispatch_sms': 131")->code, 0);
#undef NORMAL
#define LOW "'expert_parallel': 16, 'dispatch': 'deepep-low-latency', "
    check_refused(LOW "'dispatch_sms': 24", "'dispatch_sms' is of DeepEP's normal kernels");
    check_refused(LOW "'dispatch_nodes': 1", "'dispatch_nodes' is of DeepEP's normal kernels");
    check_refused("'expert_parallel': 16, 'dispatch_sms': 24", "'dispatch_sms' is of DeepEP's normal kernels");
    CHECK_EQ_INT(run(BED(.quiet = true), LOW "'dispatch_sms': 20, 'dispatch_nodes': 0")->code, 0);
#undef LOW
#define SKEWED "'expert_parallel': 16, 'dispatch': 'deepep-normal', 'expert_skew': 0.5, "
    check_refused(SKEWED "'expert_groups': 24", "not a multiple of 'expert_groups'");
    check_refused(SKEWED "'expert_groups': 1", "'expert_groups' is not a multiple of the nodes");
#undef SKEWED
}
