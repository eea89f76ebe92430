/* Attention in groups with sequences of their own beside common experts: what each GPU computes and sends, what the
 * memory holds, and that runs are those of single steps. */
#include "models/operators/operators.h"
#include "sim/catalog/catalog.h"
#include "sim/world/service/service.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>

static const struct catalog catalog = {.root = "configs"};

/* An H100 and an LLM. Returns whether both are in the catalog. */
static bool find(struct session *session, const char *name, struct gpu_spec *gpu, struct llm_spec *llm)
{
    return catalog_gpu(&catalog, "h100-sxm", "t", &session->arena, gpu, &session->diag) == 0 &&
           catalog_llm(&catalog, name, "t", &session->arena, llm, &session->diag) == 0;
}

/* --- Work of a group --- */

static struct iteration_work random_work(struct rng *rng)
{
    const int64_t prompts = (int64_t)rng_below(rng, 20), decodes = (int64_t)rng_below(rng, 200);
    const int64_t tokens = prompts * (1 + (int64_t)rng_below(rng, 3000)), past = prompts * (int64_t)rng_below(rng, 500);
    return (struct iteration_work){.prefill_sequences = prompts,
                                   .prefill_tokens = tokens,
                                   .prefill_context_tokens = past,
                                   .prefill_pairs = (double)(tokens * tokens),
                                   .decode_sequences = decodes,
                                   .decode_context_tokens = decodes * (1 + (int64_t)rng_below(rng, 9000))};
}

/* All groups together have at least the batch, and each has less than one sequence too many. */
TEST(a_group_has_its_part_rounded_up)
{
    struct rng rng = test_rng(1, "group", 0);
    for (int i = 0; i < 2000; i++) {
        const int64_t groups = 1 + (int64_t)rng_below(&rng, 40);
        const struct llm_split split = {.tensor = groups, .data = groups};
        const struct iteration_work all = random_work(&rng), own = llm_group_work(&split, &all);
        CHECK(own.prefill_sequences * groups >= all.prefill_sequences);
        CHECK((own.prefill_sequences - 1) * groups < all.prefill_sequences);
        CHECK(own.decode_sequences * groups >= all.decode_sequences);
        CHECK((own.decode_sequences - 1) * groups < all.decode_sequences);
        CHECK_EQ_INT(own.prefill_tokens * all.prefill_sequences, all.prefill_tokens * own.prefill_sequences);
        CHECK_EQ_INT(own.decode_context_tokens * all.decode_sequences,
                     all.decode_context_tokens * own.decode_sequences);
        struct iteration_work later = all;
        later.decode_context_tokens += 7 * all.decode_sequences; /* seven iterations on, each context is longer by 7 */
        CHECK_EQ_INT(llm_group_work(&split, &later).decode_context_tokens,
                     own.decode_context_tokens + 7 * own.decode_sequences);
    }
}

/* --- Kernels --- */

struct totals {
    double product_flop, moe_tokens, dispatched_bytes, combined_bytes, gathered_bytes;
};

static struct totals totals_of(const struct llm_spec *llm, const struct gpu_spec *gpu, const struct llm_split *split,
                               const struct iteration_work *work)
{
    struct kernel_use uses[LLM_MAX_USES];
    struct totals totals = {0};
    const size_t n = llm_iteration_kernels(llm, split, gpu, work, uses);
    for (size_t i = 0; i < n; i++) {
        const struct kernel_use *use = &uses[i];
        const struct gemm_shape *gemm = &use->call.shape.gemm;
        if (use->op == OP_QKV || use->op == OP_OUT)
            totals.product_flop += use->count * 2.0 * gemm->m * gemm->n * gemm->k;
        if (use->op == OP_EXPERTS) totals.moe_tokens = use->call.shape.moe.tokens;
        const double bytes = use->count * use->call.shape.collective.bytes;
        if (use->op == OP_ALL_TO_ALL)
            *(totals.dispatched_bytes > 0 ? &totals.combined_bytes : &totals.dispatched_bytes) += bytes;
        if (use->op == OP_ALL_GATHER && use->call.shape.collective.gpus == (double)split->tensor)
            totals.gathered_bytes += bytes;
    }
    return totals;
}

/* For batches that divide evenly a GPU multiplies as much however many groups there are, the experts meet all tokens,
 * and every token goes once to each other part that holds one of its experts. */
TEST(work_is_dealt_and_none_is_lost)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "mixtral-8x7b", &gpu, &llm));
    const struct iteration_work work = {.prefill_sequences = 8, .prefill_tokens = 8 * 300, .prefill_pairs = 8 * 9e4,
                                        .decode_sequences = 64, .decode_context_tokens = 64 * 1000};
    const double tokens = 8 * 300 + 64, token_bytes = (double)llm.hidden * 2.0, layers = (double)llm.layers;
    const struct llm_split whole = {.tensor = 8, .pipeline = 1, .expert = 1, .gpus_per_node = 8};
    const double flop = totals_of(&llm, &gpu, &whole, &work).product_flop;
    for (int64_t data = 2; data <= 8; data *= 2) {
        struct llm_split split = whole;
        split.data = data;
        struct totals totals = totals_of(&llm, &gpu, &split, &work);
        CHECK_NEAR(totals.product_flop / flop, 1.0, 1e-12);
        CHECK_NEAR(totals.moe_tokens, tokens, 0);
        CHECK_NEAR(totals.gathered_bytes, layers * tokens * token_bytes, 1e-3);
        split.expert = 8; /* gathered all the same, unless tokens travel */
        CHECK_NEAR(totals_of(&llm, &gpu, &split, &work).gathered_bytes, layers * tokens * token_bytes, 1e-3);
        split.dispatch = DISPATCH_ALL_TO_ALL;
        totals = totals_of(&llm, &gpu, &split, &work);
        CHECK_NEAR(totals.gathered_bytes, 0, 0);
        const double met = 8.0 * (1.0 - pow(7.0 / 8.0, 2.0)); /* top-2 of 8 */
        CHECK_NEAR(totals.dispatched_bytes * 8.0 / (layers * tokens * token_bytes * met), 1.0, 1e-12);
        CHECK_NEAR(totals.combined_bytes / totals.dispatched_bytes, 1.0, 1e-12);
    }
    llm.weights = FORMAT_FP8; /* then tokens travel in 8 bits, and their results in 16 */
    const struct llm_split wide = {.tensor = 8, .pipeline = 1, .expert = 8, .dispatch = DISPATCH_ALL_TO_ALL, .data = 8,
                                   .gpus_per_node = 8};
    const struct totals narrow = totals_of(&llm, &gpu, &wide, &work);
    CHECK_NEAR(narrow.combined_bytes / narrow.dispatched_bytes, 2.0, 1e-12);
}

/* Groups of two GPUs put together what they sum up: a shared expert, and tokens that come back in shares. */
TEST(groups_of_several_gpus_gather_and_sum)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    MUST(find(&session, "deepseek-v3", &gpu, &llm));
    const struct iteration_work work = {.decode_sequences = 64, .decode_context_tokens = 64 * 1000};
    for (int64_t expert = 1; expert <= 8; expert *= 8)
        for (int64_t data = 4; data <= 8; data *= 2) {
            const struct llm_split split = {.tensor = 8, .pipeline = 1, .expert = expert, .data = data,
                                            .gpus_per_node = 8};
            struct kernel_use uses[LLM_MAX_USES];
            double sums = 0, gathers = 0;
            const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
            for (size_t i = 0; i < n; i++) {
                if (uses[i].op == OP_ALL_REDUCE) sums += uses[i].count;
                if (uses[i].op == OP_ALL_GATHER && uses[i].call.shape.collective.gpus == 2.0) gathers += uses[i].count;
            }
            /* Embedding, attention, dense layers, shared expert; layers with experts, head. */
            CHECK_NEAR(sums, data == 8 ? 0 : 1 + 61 + 3 + 58, 0);
            CHECK_NEAR(gathers, data == 8 ? 0 : 58 + 1, 0);
        }
}

/* With sequence parallelism each GPU has its own tokens. A shared expert is whole on it where the others are on GPUs
 * of their own. Then layers with experts need no sum after it; with all-gathers one gather and one scatter for the
 * others, as dense layers do. */
TEST(shared_experts_of_own_tokens_need_no_sum)
{
    static const char *const names[] = {"deepseek-v3", "mixtral-8x7b"};
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    const struct iteration_work work = {.decode_sequences = 64, .decode_context_tokens = 64 * 1000};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        MUST(find(&session, names[k], &gpu, &llm));
        for (int form = 0; form < 3; form++) {
            static const enum llm_dispatch dispatches[] = {DISPATCH_ALL_GATHER, DISPATCH_ALL_GATHER, DISPATCH_ALL_TO_ALL};
            const struct llm_split split = {.tensor = 8, .pipeline = 1, .expert = form == 0 ? 1 : 8,
                                            .dispatch = dispatches[form], .sequence = true, .gpus_per_node = 8};
            struct kernel_use uses[LLM_MAX_USES];
            double scatters = 0, gathers = 0;
            const size_t n = llm_iteration_kernels(&llm, &split, &gpu, &work, uses);
            for (size_t i = 0; i < n; i++) {
                if (uses[i].op == OP_REDUCE_SCATTER) scatters += uses[i].count;
                if (uses[i].op == OP_ALL_GATHER) gathers += uses[i].count;
                CHECK(uses[i].op != OP_ALL_REDUCE);
            }
            const double sums = (double)(llm.layers + (form < 2 ? llm.layers : llm.dense_layers));
            CHECK_NEAR(scatters, 1 + sums, 0); /* of the embedding, too */
            CHECK_NEAR(gathers, sums + 2, 0);  /* for the head, and of its results */
        }
    }
}

/* The tables give what the kernels one by one do, the CPU overhead of the engine included. */
TEST(costs_are_those_of_the_kernels_one_by_one)
{
    SCOPED(session) session = {0};
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct kernel_set set;
    struct operators *operators = arena_alloc(&session.arena, sizeof *operators);
    kernel_set_init(&set);
    MUST(operators != NULL);
    MUST(find(&session, "mixtral-8x7b", &gpu, &llm));
    struct operators_parts parts = {
        .gpu = &gpu, .llm = &llm, .kernels = &set,
        .split = {.tensor = 8, .pipeline = 1, .expert = 8, .data = 4, .gpus_per_node = 8},
        .engine = {.iteration_s = 1e-4, .sequence_s = 1e-4, .prompt_s = 1e-3}};
    operators_init(operators, &parts);
    struct rng rng = test_rng(2, "breakdown", 0);
    for (int i = 0; i < 50; i++) {
        const struct iteration_work work = random_work(&rng);
        struct iteration_breakdown breakdown;
        struct iteration_cost cost;
        if (work.prefill_sequences + work.decode_sequences == 0) continue;
        iteration_breakdown(&parts, &work, &breakdown);
        operators_cost(operators, &work, &cost);
        CHECK_NEAR(cost.first_s / (breakdown.gpu_s + breakdown.host_s), 1.0, 0.03);
    }
}

/* --- Memory --- */

/* An LLM with experts, and the same without their weights. */
static bool find_mixtral(struct session *session, struct llm_spec *llm, struct llm_spec *bare)
{
    if (catalog_llm(&catalog, "mixtral-8x7b", "t", &session->arena, llm, &session->diag) != 0) return false;
    *bare = *llm;
    bare->expert_ffn = 0;
    return true;
}

/* A GPU holds its share of the experts as without groups, and of the rest what one of a replica of its group's size
 * does. */
TEST(memory_holds_the_experts_once_and_the_rest_by_group)
{
    SCOPED(session) session = {0};
    struct llm_spec llm, bare;
    MUST(find_mixtral(&session, &llm, &bare));
    for (int64_t data = 1; data <= 8; data *= 2) {
        const struct llm_shard shard = llm_data_shard(&llm, 8, 1, data), rest = llm_shard(&bare, 8 / data, 1);
        const double experts = llm_shard(&llm, 8, 1).weight_bytes - llm_shard(&bare, 8, 1).weight_bytes;
        CHECK_NEAR((shard.weight_bytes - rest.weight_bytes) / experts, 1.0, 1e-12);
    }
}

/* Each group reads all but the experts, once it has a sequence. */
TEST(groups_read_weights_of_their_own)
{
    SCOPED(session) session = {0};
    struct llm_spec llm, bare;
    MUST(find_mixtral(&session, &llm, &bare));
    for (int64_t groups = 1; groups <= 64; groups *= 2)
        for (int64_t sequences = 1; sequences <= 64; sequences *= 2) {
            struct llm_reads reads = llm_reads(&llm);
            reads.groups = (double)groups;
            const double shared = llm_read_bytes(&bare, 512), experts = llm_read_bytes(&llm, 512) - shared;
            const double copies = (double)(sequences < groups ? sequences : groups);
            CHECK_NEAR(llm_reads_bytes(&reads, 512, sequences) / (copies * shared + experts), 1.0, 1e-12);
        }
}

/* --- Runs --- */

#define SERVICE                                                                                                        \
    "'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '6/s'},"                   \
    " 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 900},"                                                   \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 150}}"

static struct bed_rows *run(const struct bed_options *options, const char *service)
{
    return bed_run(
        options,
        "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'h100-sxm', 'network': {'bandwidth': '50GB/s'}},"
        " 'seed': 5, 'services': {'chat': {'llm': 'mixtral-8x7b', %s, " SERVICE "}}}",
        service);
}

TEST(runs_are_those_of_single_steps)
{
    static const char *const services[] = {
        "'tensor_parallel': 4, 'data_parallel': 4", "'tensor_parallel': 8, 'data_parallel': 2, 'replicas': 2",
        "'tensor_parallel': 8, 'data_parallel': 8, 'cost': {'kind': 'operators', 'expert_parallel': 8}",
        "'tensor_parallel': 4, 'pools': {'p': {'role': 'prefill', 'data_parallel': 2}, 'd': {'role': 'decode',"
        " 'tensor_parallel': 8, 'data_parallel': 8}}"};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        struct bed_rows *rows = run(BED(.check = true), services[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_requests, 60);
        CHECK(bed_equal(rows, run(BED(.single_step = true), services[i])));
        CHECK(bed_equal(rows, run(BED(.queue = QUEUE_HEAP), services[i])));
    }
}

static void check_refused(const char *service, const char *text)
{
    struct bed_rows *rows = run(BED(.quiet = true), service);
    CHECK(rows->code < 0);
    if (!CHECK(rows->diag.n_items == 1 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

TEST(what_cannot_be_dealt_is_named)
{
    check_refused("'tensor_parallel': 4, 'data_parallel': 3", "not a multiple of the data parallelism");
    check_refused("'tensor_parallel': 4, 'data_parallel': 2, 'cost': 'roofline'", "the roofline does not know");
    check_refused("'tensor_parallel': 4, 'data_parallel': 2, 'cost': {'kind': 'operators', 'sequence_parallel': true}",
                  "exclude each other");
    check_refused("'tensor_parallel': 4, 'data_parallel': 2, 'kv': {'offload': 'flexgen'}", "knows no data_parallel");
    struct bed_rows *dense = bed_run(BED(.quiet = true),
                                     "{'cluster': {'nodes': 1, 'gpu': 'h100-sxm'}, 'services': {'chat': {'llm':"
                                     " 'llama-2-7b', 'tensor_parallel': 4, 'data_parallel': 2, " SERVICE "}}}");
    CHECK(dense->code < 0);
    CHECK(strstr(dense->diag.items[0].text, "it has no experts") != NULL);
    struct bed_rows *odd = bed_run(BED(.quiet = true),
                                   "{'cluster': {'nodes': 2, 'gpus_per_node': 7, 'gpu': 'h100-sxm', 'network':"
                                   " {'bandwidth': '50GB/s'}}, 'services': {'chat': {'llm': 'mixtral-8x7b',"
                                   " 'tensor_parallel': 14, 'data_parallel': 7, " SERVICE "}}}");
    CHECK_EQ_INT(odd->code, SIM_E_UNFIT);
    CHECK(strstr(odd->diag.items[0].text, "attention groups of 2 GPUs, some of which straddle nodes of 7") != NULL);
}

/* 160 blocks of 16 tokens, a quarter of them for each of four groups: 640 tokens of a sequence, but for its last. */
TEST(a_sequence_has_the_memory_of_its_group)
{
    static const int groups[] = {1, 4}, prompts[] = {600, 631, 632, 2000};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++) {
            struct bed_rows *rows = bed_run(
                BED(.check = true, .quiet = true),
                "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'h100-sxm'}, 'services': {'chat': {'llm':"
                " 'mixtral-8x7b', 'tensor_parallel': 4, 'data_parallel': %d, 'kv': {'blocks': 160}, 'trace': {'format':"
                " 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution':"
                " 'fixed', 'tokens': %d}, 'output': {'distribution': 'fixed', 'tokens': 10}}}}}",
                groups[i], prompts[k]);
            CHECK_EQ_INT(rows->code, 0);
            const bool fits = groups[i] == 1 || prompts[k] + 10 - 1 <= 640;
            CHECK_EQ_STR(rows->requests[0].status, fits ? "finished" : "rejected");
        }
}

/* The KV of 1,000 tokens leaves over the adapters of the GPUs that have it, at 50 bytes per nanosecond each. */
TEST(kv_uses_the_adapters_of_its_group)
{
    for (int prompts = 1; prompts <= 8; prompts *= 2)
        for (int tokens = 1; tokens <= 8; tokens *= 2) {
            struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 'h100-sxm', 'pcie': '100GB/s', 'network':"
                " {'bandwidth': '50GB/s', 'per': 'gpu', 'latency': '0s'}}, 'services': {'chat': {'llm': 'mixtral-8x7b',"
                " 'tensor_parallel': 8, 'pools': {'p': {'role': 'prefill', 'data_parallel': %d}, 'd': {'role':"
                " 'decode', 'data_parallel': %d}}, 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process':"
                " 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 1000}, 'output':"
                " {'distribution': 'fixed', 'tokens': 10}}}}}",
                prompts, tokens);
            const double gpus = 8.0 / (prompts > tokens ? prompts : tokens); /* of the side with fewer */
            CHECK_NEAR(bed_metric(rows, "request.kv_transfer_s.mean"), 1000 * 131072.0 / (gpus * 50e9), 1e-9);
        }
}
