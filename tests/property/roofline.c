#include "models/roofline.h"
#include "tests/support/harness.h"

enum { CASES = 20000 };

static double between(struct rng *rng, double low, double high)
{
    return low * pow(high / low, rng_uniform(rng));
}

/* GPUs from far below to far above the ridge, so that every regime occurs. */
static struct gpu_spec random_gpu(struct rng *rng)
{
    return (struct gpu_spec){
        .peak_flop_per_s = {[FORMAT_FP32] = between(rng, 1e11, 1e15)},
        .memory_bytes_per_s = between(rng, 1e11, 1e13),
        .nvlink_gpus = (int64_t)rng_below(rng, 9),
        .nvlink_bytes_per_s = between(rng, 1e10, 1e12),
        .pcie_bytes_per_s = between(rng, 1e9, 1e11),
    };
}

static struct llm_spec random_llm(struct rng *rng)
{
    const int64_t kv_heads = (int64_t)1 << rng_below(rng, 6);
    struct llm_spec llm = {
        .layers = 1 + (int64_t)rng_below(rng, 96),
        .hidden = 128 * (1 + (int64_t)rng_below(rng, 100)),
        .kv_heads = kv_heads,
        .q_heads = (kv_heads < 8 ? 8 : kv_heads) * (1 + (int64_t)rng_below(rng, 8)),
        .head_dim = 64 * (1 + (int64_t)rng_below(rng, 2)),
        .ffn = 512 * (1 + (int64_t)rng_below(rng, 50)),
        .vocab = 32000,
        .gated_ffn = rng_below(rng, 2) == 1,
        .parallel_block = rng_below(rng, 2) == 1,
        .sliding_window = rng_below(rng, 3) == 0 ? 256 + (int64_t)rng_below(rng, 4000) : 0,
        .weights = FORMAT_INT8, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
    };
    if (rng_below(rng, 3) == 0) {
        llm.experts = 8 + (int64_t)rng_below(rng, 120);
        llm.experts_per_token = 1 + (int64_t)rng_below(rng, 8);
        llm.expert_ffn = 64 * (1 + (int64_t)rng_below(rng, 32));
        if (rng_below(rng, 2) == 1) llm.part_formats[LLM_PART_EXPERTS] = 1 + FORMAT_MXFP4;
    }
    static const enum llm_part parts[] = {LLM_PART_ATTENTION, LLM_PART_OUT, LLM_PART_HEAD};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (rng_below(rng, 3) == 0) llm.part_formats[parts[i]] = 1 + FORMAT_INT4;
    if (rng_below(rng, 3) == 0) llm.part_formats[llm.experts > 0 ? LLM_PART_SHARED : LLM_PART_DENSE] = 1 + FORMAT_FP16;
    if (llm.sliding_window > 0 && rng_below(rng, 2) == 1)
        llm.full_layers = (int64_t)rng_below(rng, (uint64_t)llm.layers);
    return llm;
}

static struct roofline_params random_params(struct rng *rng)
{
    return (struct roofline_params){
        .projection_flop_frac = between(rng, 0.2, 1.0), .projection_bandwidth_frac = between(rng, 0.2, 1.0),
        .attention_flop_frac = between(rng, 0.2, 1.0), .attention_bandwidth_frac = between(rng, 0.2, 1.0),
        .elementwise_bandwidth_frac = between(rng, 0.2, 1.0), .collective_bandwidth_frac = between(rng, 0.2, 1.0),
        .collective_s = between(rng, 1e-6, 1e-5), .collective_hop_s = between(rng, 1e-7, 1e-5),
        .layer_s = between(rng, 1e-6, 1e-4), .host_layer_s = rng_below(rng, 2) ? between(rng, 1e-5, 1e-2) : 0.0,
        .iteration_s = between(rng, 1e-4, 1e-2), .sequence_s = between(rng, 1e-6, 1e-4),
    };
}

static struct iteration_work random_decode(struct rng *rng)
{
    const int64_t sequences = 1 + (int64_t)rng_below(rng, 300);
    return (struct iteration_work){.decode_sequences = sequences,
                                   .decode_context_tokens = sequences * (1 + (int64_t)rng_below(rng, 8000))};
}

static struct iteration_work random_prefill(struct rng *rng)
{
    const int64_t prompts = 1 + (int64_t)rng_below(rng, 8), n = 1 + (int64_t)rng_below(rng, 4000);
    const int64_t p = rng_below(rng, 2) ? (int64_t)rng_below(rng, 8000) : 0;
    return (struct iteration_work){
        .prefill_sequences = prompts, .prefill_tokens = prompts * n, .prefill_context_tokens = prompts * p,
        .prefill_pairs = (double)prompts * ((double)n * (double)n + 2.0 * (double)n * (double)p),
    };
}

static struct iteration_cost cost_of(const struct roofline *model, const struct iteration_work *work, int64_t later)
{
    struct iteration_work advanced = *work;
    advanced.decode_context_tokens += later * work->decode_sequences;
    struct iteration_cost cost;
    roofline_cost(model, &advanced, &cost);
    return cost;
}

static const struct gpu_nodes on_one_node = {0};

static void random_model(struct rng *rng, struct roofline *model)
{
    const struct gpu_spec gpu = random_gpu(rng);
    const struct llm_spec llm = random_llm(rng);
    const struct roofline_params params = random_params(rng);
    roofline_init(model, &gpu, &llm, (int64_t)1 << rng_below(rng, 4), 1 + (int64_t)rng_below(rng, 2), &on_one_node,
                  &params);
}

/* Iteration i of a run costs what the model says for its context, for all i < until; and at until another line holds,
 * unless it is hidden behind the host. */
TEST(runs_are_exact_until_the_regime_changes)
{
    int changes = 0;
    for (uint64_t n = 0; n < CASES; n++) {
        struct rng rng = test_rng(7, "runs", n);
        struct roofline model;
        random_model(&rng, &model);
        const struct iteration_work work = random_decode(&rng);
        const struct iteration_cost first = cost_of(&model, &work, 0);
        MUST(first.until >= 1 && first.first_s > 0.0 && first.slope_s >= 0.0);
        const int64_t last = first.until < 100000 ? first.until - 1 : 100000;
        for (int probe = 0; probe < 4; probe++) {
            const int64_t i = probe == 0 ? last : (int64_t)rng_below(&rng, (uint64_t)last + 1);
            const double line_s = first.first_s + (double)i * first.slope_s;
            CHECK_NEAR(cost_of(&model, &work, i).first_s / line_s, 1.0, 1e-13);
        }
        if (first.until > 100000) continue;
        changes++;
        CHECK(model.host_s > 0.0 || cost_of(&model, &work, first.until + 1).slope_s != first.slope_s);
    }
    CHECK(changes > CASES / 20);
}

/* The same costs as the formulas of roofline.h stand, operator by operator, with nothing worked out beforehand. */
struct naive {
    const struct gpu_spec *gpu;
    const struct llm_spec *llm;
    const struct roofline_params *params;
    double tp;
};

static double naive_product_s(const struct naive *naive, double rows, double k, double n, double weight_format,
                              double copies)
{
    const double flop = 2.0 * rows * k * n, bytes = copies * k * n * weight_format + 2.0 * rows * (k + n);
    return fmax(flop / (naive->gpu->peak_flop_per_s[FORMAT_FP32] * naive->params->projection_flop_frac),
                bytes / (naive->gpu->memory_bytes_per_s * naive->params->projection_bandwidth_frac));
}

static double naive_ffn_s(const struct naive *naive, double tokens)
{
    const struct llm_spec *llm = naive->llm;
    const double h = (double)llm->hidden, gate = llm->gated_ffn ? 2.0 : 1.0, ffn = (double)llm->ffn / naive->tp;
    const double own = llm->part_formats[llm->experts > 0 ? LLM_PART_SHARED : LLM_PART_DENSE] > 0 ? 2.0 : 1.0;
    double seconds = naive_product_s(naive, tokens, h, gate * ffn, own, 1.0) +
                     naive_product_s(naive, tokens, ffn, h, own, 1.0);
    if (llm->experts == 0) return seconds;
    const double experts = (double)llm->experts, chosen = (double)llm->experts_per_token;
    const double wide = (double)llm->expert_ffn / naive->tp;
    const double touched = experts * (1.0 - pow(1.0 - chosen / experts, tokens));
    seconds += naive_product_s(naive, tokens, h, experts, 2.0, 1.0);
    const double weight_bytes = llm->part_formats[LLM_PART_EXPERTS] > 0 ? 0.5 + 1.0 / 32.0 : 1.0;
    seconds += naive_product_s(naive, tokens * chosen, h, gate * wide, weight_bytes, touched);
    return seconds + naive_product_s(naive, tokens * chosen, wide, h, weight_bytes, touched);
}

static double naive_attention_s(const struct naive *naive, const struct iteration_work *work)
{
    const double q = (double)(naive->llm->q_heads * naive->llm->head_dim) / naive->tp;
    const double kv = fmax(1.0, (double)naive->llm->kv_heads / naive->tp) * (double)naive->llm->head_dim;
    const double flop_per_s = naive->gpu->peak_flop_per_s[FORMAT_FP32] * naive->params->attention_flop_frac;
    const double bytes_per_s = naive->gpu->memory_bytes_per_s * naive->params->attention_bandwidth_frac;
    const double tokens = (double)work->prefill_tokens, sequences = (double)work->decode_sequences;
    const double context = (double)work->decode_context_tokens;
    const double read = 4.0 * kv * (tokens + (double)work->prefill_context_tokens) + 4.0 * q * tokens;
    const double prefill_s = fmax(4.0 * q * (work->prefill_pairs / 2.0) / flop_per_s, read / bytes_per_s);
    return prefill_s + fmax(4.0 * q * context / flop_per_s, (4.0 * kv * context + 4.0 * q * sequences) / bytes_per_s);
}

static double naive_layer_s(const struct naive *naive, const struct iteration_work *work)
{
    const struct llm_spec *llm = naive->llm;
    const struct roofline_params *params = naive->params;
    const double tokens = (double)(work->prefill_tokens + work->decode_sequences), tp = naive->tp;
    const double h = (double)llm->hidden, q = (double)(llm->q_heads * llm->head_dim) / tp;
    const double kv = fmax(1.0, (double)llm->kv_heads / tp) * (double)llm->head_dim;
    const double chosen = llm->experts ? (double)llm->experts_per_token : 0.0;
    const double activated = ((double)llm->ffn + chosen * (double)llm->expert_ffn) / tp;
    const double numbers = 10.0 * h + 2.0 * (q + kv) + (llm->gated_ffn ? 3.0 : 2.0) * activated + 2.0 * chosen * h;
    const double link = tp <= (double)naive->gpu->nvlink_gpus ? naive->gpu->nvlink_bytes_per_s
                                                              : naive->gpu->pcie_bytes_per_s;
    const double reduce_s = params->collective_s + 2.0 * (tp - 1.0) * params->collective_hop_s +
                            2.0 * (tp - 1.0) / tp * tokens * h * 2.0 / (link * params->collective_bandwidth_frac);
    const double inward = llm->part_formats[LLM_PART_ATTENTION] > 0 ? 0.5 : 1.0;
    const double out = llm->part_formats[LLM_PART_OUT] > 0 ? 0.5 : inward;
    return naive_product_s(naive, tokens, h, q + 2.0 * kv, inward, 1.0) +
           naive_product_s(naive, tokens, q, h, out, 1.0) + naive_ffn_s(naive, tokens) +
           naive_attention_s(naive, work) +
           2.0 * tokens * numbers / (naive->gpu->memory_bytes_per_s * params->elementwise_bandwidth_frac) +
           (tp > 1.0 ? (llm->parallel_block ? 1.0 : 2.0) * reduce_s : 0.0) + params->layer_s;
}

static double naive_cost_s(const struct naive *naive, const struct iteration_work *work)
{
    const double sequences = (double)(work->prefill_sequences + work->decode_sequences);
    const double layers = (double)naive->llm->layers;
    const double head_s = naive_product_s(naive, sequences, (double)naive->llm->hidden,
                                          (double)naive->llm->vocab / naive->tp,
                                          naive->llm->part_formats[LLM_PART_HEAD] > 0 ? 0.5 : 2.0, 1.0);
    return fmax(layers * naive_layer_s(naive, work) + head_s, layers * naive->params->host_layer_s) +
           naive->params->iteration_s + sequences * naive->params->sequence_s;
}

TEST(costs_are_those_of_the_plain_formulas)
{
    for (uint64_t n = 0; n < CASES; n++) {
        struct rng rng = test_rng(8, "formulas", n);
        const struct gpu_spec gpu = random_gpu(&rng);
        struct llm_spec llm = random_llm(&rng);
        llm.sliding_window = llm.full_layers = 0;
        const struct roofline_params params = random_params(&rng);
        const int64_t tp = (int64_t)1 << rng_below(&rng, 4);
        struct roofline model;
        roofline_init(&model, &gpu, &llm, tp, 1, &on_one_node, &params);
        struct iteration_work work = random_decode(&rng);
        if (rng_below(&rng, 3) > 0) {
            const struct iteration_work decode = work;
            work = random_prefill(&rng);
            if (rng_below(&rng, 2) == 0) {
                work.decode_sequences = decode.decode_sequences;
                work.decode_context_tokens = decode.decode_context_tokens;
            }
        }
        const struct naive naive = {&gpu, &llm, &params, (double)tp};
        CHECK_NEAR(cost_of(&model, &work, 0).first_s / naive_cost_s(&naive, &work), 1.0, 1e-12);
        CHECK(work.prefill_tokens == 0 || cost_of(&model, &work, 0).until == 1);
    }
}

/* With boundless memory and links, and no latencies, one token takes its floating-point operations over the peak. */
TEST(computing_alone_takes_the_flop_of_a_token)
{
    const struct roofline_params params = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (uint64_t n = 0; n < CASES / 10; n++) {
        struct rng rng = test_rng(9, "flop", n);
        struct gpu_spec gpu = random_gpu(&rng);
        gpu.memory_bytes_per_s = gpu.nvlink_bytes_per_s = gpu.pcie_bytes_per_s = 1e30;
        const struct llm_spec llm = random_llm(&rng);
        struct roofline model;
        roofline_init(&model, &gpu, &llm, 1, 1, &on_one_node, &params);
        const int64_t context = 1 + (int64_t)rng_below(&rng, 9000);
        const struct iteration_work work = {.decode_sequences = 1, .decode_context_tokens = context};
        const double flop = cost_of(&model, &work, 0).first_s * gpu.peak_flop_per_s[FORMAT_FP32];
        CHECK_NEAR(flop / llm_flop_per_token(&llm, context), 1.0, 1e-12);
    }
}

/* More work never takes less time: another sequence, more context, another prompt. */
TEST(costs_grow_with_the_work)
{
    for (uint64_t n = 0; n < CASES; n++) {
        struct rng rng = test_rng(10, "growth", n);
        struct roofline model;
        random_model(&rng, &model);
        const struct iteration_work work = random_decode(&rng);
        const double base_s = cost_of(&model, &work, 0).first_s;
        struct iteration_work more = work;
        more.decode_sequences++;
        CHECK(cost_of(&model, &more, 0).first_s >= base_s);
        more = work;
        more.decode_context_tokens += (int64_t)rng_below(&rng, 10000);
        CHECK(cost_of(&model, &more, 0).first_s >= base_s);
        more = random_prefill(&rng);
        more.decode_sequences = work.decode_sequences;
        more.decode_context_tokens = work.decode_context_tokens;
        CHECK(cost_of(&model, &more, 0).first_s >= base_s);
    }
}

/* A prompt cut into chunks computes the same attention, window or not. */
TEST(chunks_have_the_pairs_of_the_whole)
{
    const struct roofline_params params = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    for (uint64_t n = 0; n < CASES / 10; n++) {
        struct rng rng = test_rng(11, "chunks", n);
        struct gpu_spec gpu = random_gpu(&rng);
        gpu.memory_bytes_per_s = 1e30;
        const struct llm_spec llm = random_llm(&rng);
        struct roofline model;
        roofline_init(&model, &gpu, &llm, 1, 1, &on_one_node, &params);
        const int64_t tokens = 2 + (int64_t)rng_below(&rng, 9000);
        const int64_t cut = 1 + (int64_t)rng_below(&rng, (uint64_t)tokens - 1);
        const double a = (double)cut, b = (double)(tokens - cut), all = (double)tokens;
        const struct iteration_work whole = {.prefill_sequences = 1, .prefill_tokens = tokens,
                                             .prefill_pairs = all * all};
        const struct iteration_work first = {.prefill_sequences = 1, .prefill_tokens = cut, .prefill_pairs = a * a};
        const struct iteration_work second = {.prefill_sequences = 1, .prefill_tokens = tokens - cut,
                                              .prefill_context_tokens = cut, .prefill_pairs = b * b + 2.0 * a * b};
        const double head_s = 2.0 * (double)(llm.vocab * llm.hidden) / gpu.peak_flop_per_s[FORMAT_FP32];
        const double chunks_s = cost_of(&model, &first, 0).first_s + cost_of(&model, &second, 0).first_s - head_s;
        CHECK_NEAR(chunks_s / cost_of(&model, &whole, 0).first_s, 1.0, 1e-10);
    }
}

/* A ring over nodes takes as long as one on a node when the adapters of a node carry together what a GPU's link does.
 * With slower ones its bytes take longer by that ratio, and its steps as long. */
TEST(a_group_over_nodes_is_as_fast_as_the_slower_of_link_and_network)
{
    struct rng rng = test_rng(9, "nodes", 0);
    struct roofline_params params = random_params(&rng);
    params.elementwise_bandwidth_frac = 1e30;
    for (int i = 0; i < 100; i++) {
        struct gpu_spec gpu = random_gpu(&rng);
        const struct llm_spec llm = random_llm(&rng);
        const int64_t per_node = (int64_t)1 << rng_below(&rng, 4), tp = per_node << (1 + rng_below(&rng, 2));
        gpu.nvlink_gpus = 64;
        const double link = gpu_link_bytes_per_s(&gpu, tp), slower = 1.0 + (double)rng_below(&rng, 20);
        const struct gpu_nodes fast = {per_node, link / (double)per_node};
        const struct gpu_nodes slow = {per_node, link / (double)per_node / slower};
        struct roofline one, two, three;
        roofline_init(&one, &gpu, &llm, tp, 1, &on_one_node, &params);
        roofline_init(&two, &gpu, &llm, tp, 1, &fast, &params);
        roofline_init(&three, &gpu, &llm, tp, 1, &slow, &params);
        CHECK(one.layer_s == two.layer_s && two.layer_s == three.layer_s);
        CHECK_NEAR(two.token_s / one.token_s, 1.0, 1e-12);
        CHECK_NEAR(three.token_s / one.token_s / slower, 1.0, 1e-12);
    }
}

/* A stage sends its tokens' hidden states to the next one: one start, one hop, and the bytes of its part. */
TEST(a_stage_sends_its_part_once)
{
    struct rng rng = test_rng(9, "send", 0);
    const struct roofline_params params = {.attention_flop_frac = 1, .attention_bandwidth_frac = 1,
                                           .projection_flop_frac = 1, .projection_bandwidth_frac = 1,
                                           .elementwise_bandwidth_frac = 1, .collective_bandwidth_frac = 0.5,
                                           .collective_s = 3e-6, .collective_hop_s = 2e-6};
    for (int i = 0; i < 100; i++) {
        const struct gpu_spec gpu = random_gpu(&rng);
        struct llm_spec llm = random_llm(&rng);
        struct roofline one, two;
        llm.layers = 2 * llm.layers;
        roofline_init(&one, &gpu, &llm, 1, 1, &on_one_node, &params);
        roofline_init(&two, &gpu, &llm, 1, 2, &on_one_node, &params);
        const double bytes = (double)llm.hidden * 2, link = gpu_pair_bytes_per_s(&gpu, 2);
        CHECK(one.send_s == 0 && one.send_token_s == 0);
        CHECK_NEAR(two.send_s, 5e-6, 1e-18);
        CHECK_NEAR(two.send_token_s / (bytes / (link * 0.5)), 1, 1e-12);
    }
}
