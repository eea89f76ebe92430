/* Each limit of an LLM's shape, and of its split: the value at it is allowed, and the next one beyond is refused for
 * the reason that belongs to it. */
#include "models/transformer.h"
#include "tests/support/harness.h"

#include <stddef.h>

#define SIZES                                                                                                           \
    .layers = 4, .hidden = 64, .q_heads = 4, .kv_heads = 4, .head_dim = 16, .vocab = 100, .max_context = 100,           \
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16
#define EXPERTS .experts = 8, .experts_per_token = 2, .expert_ffn = 64
#define LATENT .kv_latent = 32, .rotary_dim = 8, .value_dim = 16

static const struct llm_spec plain = {SIZES, .ffn = 128}, mixture = {SIZES, EXPERTS, .ffn = 64},
    first_dense = {SIZES, EXPERTS, .dense_layers = 3, .dense_ffn = 128}, latent = {SIZES, LATENT, .ffn = 128},
    windowed = {SIZES, .ffn = 128, .sliding_window = 16, .full_layers = 1},
    indexed = {SIZES, LATENT, .ffn = 128, .query_latent = 48, .index_heads = 2, .index_dim = 8, .index_tokens = 16,
               .index_layers = 2},
    linear = {SIZES, .ffn = 128, .linear_layers = 3, .linear_key_heads = 1, .linear_value_heads = 2, .linear_key_dim = 8,
              .linear_value_dim = 8, .linear_conv = 4};

static struct llm_spec with(const struct llm_spec *from, size_t offset, int64_t value)
{
    struct llm_spec llm = *from;
    *(int64_t *)(void *)((char *)&llm + offset) = value;
    return llm;
}

/* A NULL of `expected` asks for no problem. */
static void check(const char *problem, const char *expected, const char *what, int64_t value)
{
    const bool is_expected = expected == NULL ? problem == NULL : problem != NULL && strstr(problem, expected) != NULL;
    if (!CHECK(is_expected))
        printf("%s = %lld: '%s', expected '%s'\n", what, (long long)value, problem != NULL ? problem : "no problem",
               expected != NULL ? expected : "no problem");
}

#define FIELD(name) #name, offsetof(struct llm_spec, name)

TEST(a_shape_may_have_each_size_up_to_its_limits)
{
    static const char layers[] = "layers must be from 1", hidden[] = "hidden state must be from 1",
                      heads[] = "of key-value heads must be from 1", width[] = "attention heads must be from 1",
                      ffn[] = "feed-forward layers must be at most", vocab[] = "vocabulary must hold from 1",
                      context[] = "longest context must be from 1", learned[] = "too many learned positions",
                      vectors[] = "latent vectors must be at most", indexer[] = "an indexer has from 1",
                      own[] = "'index_layers' is from 1", counts[] = "of linear attention are from 1 to 4096",
                      chosen[] = "the experts per token must be", sparse[] = "none of its layers has experts",
                      softmax[] = "none of its layers has softmax", apart[] = "counted or described, not both";
    struct llm_spec many_queries = plain, many_values = linear, one_key = plain;
    many_queries.q_heads = LLM_MAX_HEADS, one_key.kv_heads = 1, many_values.linear_value_heads = LLM_MAX_HEADS;
    const struct {
        const struct llm_spec *llm;
        const char *name;
        size_t offset;
        int64_t least, most;
        const char *below, *above;
    } limits[] = {
        {&plain, FIELD(layers), 1, 1024, layers, layers},
        {&plain, FIELD(hidden), 1, 131072, hidden, hidden},
        {&one_key, FIELD(q_heads), 1, 4096, heads, heads},
        {&many_queries, FIELD(kv_heads), 1, 4096, heads, heads},
        {&plain, FIELD(head_dim), 1, 4096, width, width},
        {&plain, FIELD(ffn), 1, 524288, "neither a feed-forward layer nor experts", ffn},
        {&mixture, FIELD(ffn), 0, 524288, ffn, ffn},
        {&mixture, FIELD(expert_ffn), 1, 524288, "feed-forward layer is missing", ffn},
        {&mixture, FIELD(experts_per_token), 1, 8, chosen, chosen},
        {&mixture, FIELD(experts), 2, 1024, chosen, "number of experts must be at most 1024"},
        {&first_dense, FIELD(dense_ffn), 1, 524288, apart, ffn},
        {&first_dense, FIELD(dense_layers), 1, 3, apart, sparse},
        {&mixture, FIELD(dense_layers), 0, 0, sparse, apart},
        {&mixture, FIELD(dense_ffn), 0, 0, ffn, apart},
        {&plain, FIELD(vocab), 1, 16777216, vocab, vocab},
        {&plain, FIELD(max_context), 1, 1073741824, context, context},
        {&plain, FIELD(position_embeddings), 0, 1073741824, learned, learned},
        {&latent, FIELD(kv_latent), 1, 131072, "'kv_latent' is missing", vectors},
        {&latent, FIELD(query_latent), 0, 131072, vectors, vectors},
        {&latent, FIELD(rotary_dim), 0, 4096, "rotary key must be at most", "rotary key must be at most"},
        {&latent, FIELD(value_dim), 1, 4096, "values must be from 1", "values must be from 1"},
        {&indexed, FIELD(index_heads), 1, 4096, indexer, indexer},
        {&indexed, FIELD(index_dim), 1, 4096, indexer, indexer},
        {&indexed, FIELD(index_tokens), 1, 1073741824, "'index_tokens' is missing", indexer},
        {&indexed, FIELD(index_layers), 1, 4, own, own},
        {&many_values, FIELD(linear_key_heads), 1, 4096, counts, counts},
        {&linear, FIELD(linear_value_heads), 1, 4096, counts, counts},
        {&linear, FIELD(linear_key_dim), 1, 4096, counts, counts},
        {&linear, FIELD(linear_value_dim), 1, 4096, counts, counts},
        {&linear, FIELD(linear_conv), 1, 4096, counts, counts},
        {&linear, FIELD(linear_layers), 1, 3, "described but has no layers", softmax},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const int64_t values[] = {limits[i].least - 1, limits[i].least, limits[i].most, limits[i].most + 1};
        const char *const expected[] = {limits[i].below, NULL, NULL, limits[i].above};
        for (int k = 0; k < 4; k++) {
            const struct llm_spec llm = with(limits[i].llm, limits[i].offset, values[k]);
            check(llm_problem(&llm), expected[k], limits[i].name, values[k]);
        }
    }
}

/* No count, length or width is negative, in a shape of any kind. */
TEST(no_number_of_a_shape_is_negative)
{
    static const struct {
        const char *name;
        size_t offset;
    } keys[] = {
        {FIELD(layers)}, {FIELD(hidden)}, {FIELD(q_heads)}, {FIELD(kv_heads)}, {FIELD(head_dim)}, {FIELD(query_latent)},
        {FIELD(kv_latent)}, {FIELD(rotary_dim)}, {FIELD(value_dim)}, {FIELD(ffn)}, {FIELD(vocab)}, {FIELD(max_context)},
        {FIELD(sliding_window)}, {FIELD(full_layers)}, {FIELD(window_q_heads)}, {FIELD(window_kv_heads)},
        {FIELD(window_head_dim)}, {FIELD(window_value_dim)}, {FIELD(index_heads)}, {FIELD(index_dim)},
        {FIELD(index_tokens)}, {FIELD(index_layers)}, {FIELD(linear_layers)}, {FIELD(linear_key_heads)},
        {FIELD(linear_value_heads)}, {FIELD(linear_key_dim)}, {FIELD(linear_value_dim)}, {FIELD(linear_conv)},
        {FIELD(experts)}, {FIELD(experts_per_token)}, {FIELD(expert_ffn)}, {FIELD(dense_layers)}, {FIELD(dense_ffn)},
        {FIELD(mtp_layers)}, {FIELD(layer_norms)}, {FIELD(position_embeddings)}, {FIELD(published_parameters)}};
    static const struct llm_spec *const shapes[] = {&plain, &mixture, &first_dense, &latent, &windowed, &indexed, &linear};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct llm_spec llm = with(shapes[k], keys[i].offset, -1);
            check(llm_problem(shapes[k]), NULL, "shape", (int64_t)k);
            check(llm_problem(&llm), "", keys[i].name, -1);
            llm = with(shapes[k], keys[i].offset, INT64_MIN);
            check(llm_problem(&llm), "", keys[i].name, INT64_MIN);
        }
    const struct llm_spec most = with(&plain, offsetof(struct llm_spec, mtp_layers), LLM_MAX_MTP_LAYERS);
    const struct llm_spec many = with(&plain, offsetof(struct llm_spec, mtp_layers), LLM_MAX_MTP_LAYERS + 1);
    check(llm_problem(&most), NULL, "mtp_layers", most.mtp_layers);
    check(llm_problem(&many), "multi-token prediction must be from 0 to 16", "mtp_layers", many.mtp_layers);
}

/* What is described without what it belongs to, is negative, or does not go together. */
TEST(a_shape_has_no_parts_that_contradict_each_other)
{
    static const char missing[] = "'kv_latent' is missing", uncounted[] = "its experts are described but not counted",
                      vectors[] = "latent vectors must be at most", ffn[] = "feed-forward layers must be at most",
                      described[] = "indexer is described but 'index_tokens' is missing",
                      alone[] = "linear attention is described";
    const struct {
        const struct llm_spec *llm;
        const char *name;
        size_t offset;
        int64_t value;
        const char *problem;
    } cases[] = {
        {&plain, FIELD(kv_heads), 3, "is not a multiple of that of key-value heads"},
        {&plain, FIELD(query_latent), 1, missing}, {&plain, FIELD(rotary_dim), 1, missing},
        {&plain, FIELD(value_dim), 4097, "values must be at most 4096 wide"}, {&latent, FIELD(kv_latent), -1, vectors},
        {&latent, FIELD(kv_heads), 2, "every attention head has keys and values"},
        {&plain, FIELD(experts_per_token), 1, uncounted}, {&plain, FIELD(expert_ffn), 1, uncounted},
        {&plain, FIELD(experts), -1, "number of experts must be at most"}, {&plain, FIELD(ffn), -1, ffn},
        {&plain, FIELD(dense_layers), 1, "dense layers apart but no experts"}, {&mixture, FIELD(expert_ffn), -1, ffn},
        {&first_dense, FIELD(dense_ffn), -1, ffn}, {&mixture, FIELD(dense_layers), -1, "none of its layers has experts"},
        {&plain, FIELD(full_layers), 1, "no layer has one"}, {&windowed, FIELD(full_layers), 3, NULL},
        {&windowed, FIELD(full_layers), 4, "none of its layers has the sliding window"},
        {&latent, FIELD(full_layers), 1, "latent attention has no window in some"},
        {&plain, FIELD(index_heads), 1, described}, {&plain, FIELD(index_dim), 1, described},
        {&plain, FIELD(index_layers), 1, described}, {&plain, FIELD(index_tokens), 1, "an indexer needs latent"},
        {&indexed, FIELD(query_latent), 0, "an indexer needs latent"},
        {&indexed, FIELD(sliding_window), 1, "indexer and a sliding window exclude"},
        {&plain, FIELD(linear_key_heads), 1, alone}, {&plain, FIELD(linear_value_heads), 1, alone},
        {&plain, FIELD(linear_key_dim), 1, alone}, {&plain, FIELD(linear_value_dim), 1, alone},
        {&plain, FIELD(linear_conv), 1, alone}, {&linear, FIELD(linear_layers), -1, "has softmax attention"},
        {&linear, FIELD(sliding_window), 1, "plain heads only"},
        {&linear, FIELD(linear_key_heads), 3, "not a multiple of its key heads"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct llm_spec llm = with(cases[i].llm, cases[i].offset, cases[i].value);
        check(llm_problem(&llm), cases[i].problem, cases[i].name, cases[i].value);
    }
    struct llm_spec both = linear;
    both.kv_latent = 32, both.value_dim = 16;
    check(llm_problem(&both), "plain heads only", "kv_latent beside linear attention", 32);
}

TEST(a_shape_has_its_options_only_where_they_apply)
{
    static const char chunks[] = "'chunked' needs a 'sliding_window'", gate[] = "latent attention has no gate",
                      shared[] = "gate on the shared expert is described", half[] = "half of the layers are dense";
    struct llm_spec latent_window = latent, unshared = mixture, alternating = first_dense;
    latent_window.sliding_window = 16, unshared.ffn = 0, alternating.dense_layers = 2;
    const struct {
        const struct llm_spec *llm;
        const char *name;
        size_t offset;
        const char *problem;
    } cases[] = {
        {&plain, FIELD(chunked), chunks}, {&windowed, FIELD(chunked), NULL}, {&latent_window, FIELD(chunked), chunks},
        {&plain, FIELD(attention_gate), NULL}, {&latent, FIELD(attention_gate), gate},
        {&plain, FIELD(shared_gate), shared}, {&mixture, FIELD(shared_gate), NULL},
        {&unshared, FIELD(shared_gate), shared}, {&plain, FIELD(expert_bias), "described but not counted"},
        {&mixture, FIELD(expert_bias), NULL}, {&plain, FIELD(alternating_dense), "but it has no experts"},
        {&alternating, FIELD(alternating_dense), NULL}, {&first_dense, FIELD(alternating_dense), half},
        {&mixture, FIELD(alternating_dense), half}, {&plain, FIELD(qk_norm), NULL},
        {&plain, FIELD(wide_qk_norm), "has no 'qk_norm'"}, {&plain, FIELD(keys_as_values), NULL},
        {&latent, FIELD(keys_as_values), "no latent attention"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct llm_spec llm = *cases[i].llm;
        check(llm_problem(&llm), NULL, cases[i].name, 0);
        *(bool *)((char *)&llm + cases[i].offset) = true;
        check(llm_problem(&llm), cases[i].problem, cases[i].name, 1);
    }
}

TEST(an_llm_is_split_along_its_heads_and_layers)
{
    static const char q[] = "number of attention heads is not a multiple", kv[] = "neither a multiple nor a divisor",
                      wide[] = "width of the feed-forward layer is not",
                      keys[] = "number of key heads of linear attention",
                      stages[] = "fewer layers than pipeline stages", starts[] = "parallelism starts at 1";
    struct llm_spec six_heads = plain;
    six_heads.q_heads = 6, six_heads.ffn = 120;
    const struct {
        const struct llm_spec *llm;
        const char *name;
        size_t offset;
        int64_t value, tensor, pipeline;
        const char *problem;
    } cases[] = {
        {&plain, FIELD(layers), 4, 0, 1, starts}, {&plain, FIELD(layers), 4, 1, 0, starts},
        {&plain, FIELD(layers), 4, 4, 4, NULL}, {&plain, FIELD(layers), 4, 4, 5, stages},
        {&plain, FIELD(q_heads), 8, 3, 1, q}, {&plain, FIELD(q_heads), 8, 8, 1, NULL},
        {&plain, FIELD(kv_heads), 2, 4, 1, NULL}, {&plain, FIELD(kv_heads), 4, 2, 1, NULL},
        {&six_heads, FIELD(kv_heads), 2, 3, 1, kv}, {&six_heads, FIELD(kv_heads), 3, 6, 1, NULL},
        {&plain, FIELD(ffn), 126, 4, 1, wide}, {&plain, FIELD(ffn), 126, 2, 1, NULL},
        {&mixture, FIELD(expert_ffn), 62, 4, 1, wide}, {&mixture, FIELD(expert_ffn), 62, 2, 1, NULL},
        {&first_dense, FIELD(dense_ffn), 126, 4, 1, wide}, {&first_dense, FIELD(dense_ffn), 126, 2, 1, NULL},
        {&linear, FIELD(linear_key_heads), 1, 2, 1, keys}, {&linear, FIELD(linear_key_heads), 2, 2, 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct llm_spec llm = with(cases[i].llm, cases[i].offset, cases[i].value);
        check(llm_parallel_problem(&llm, cases[i].tensor, cases[i].pipeline), cases[i].problem, cases[i].name,
              cases[i].value);
        check(llm_data_problem(&llm, cases[i].tensor, cases[i].pipeline, 1), cases[i].problem, cases[i].name,
              cases[i].value);
    }
}

/* Groups of data parallelism split attention and dense layers only; the experts lie on all GPUs, whole. */
TEST(groups_of_data_parallelism_split_all_but_experts)
{
    const struct llm_spec odd_experts = with(&mixture, offsetof(struct llm_spec, expert_ffn), 63);
    const struct llm_spec odd_shared = with(&mixture, offsetof(struct llm_spec, ffn), 63);
    const struct {
        const struct llm_spec *llm;
        int64_t tensor, pipeline, groups;
        const char *problem;
    } cases[] = {
        {&mixture, 8, 1, 0, "not a multiple of the data parallelism"}, {&mixture, 8, 1, 3, "of the data parallelism"},
        {&mixture, 8, 1, 2, NULL}, {&mixture, 8, 1, 1, "number of attention heads is not"}, {&mixture, 8, 5, 8, "fewer layers"},
        {&plain, 4, 1, 2, "no experts for groups of data parallelism"}, {&odd_experts, 4, 1, 2, NULL},
        {&odd_experts, 4, 1, 1, "feed-forward layer is not"}, {&odd_shared, 4, 1, 2, "feed-forward layer is not"},
        {&odd_shared, 4, 4, 4, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(llm_data_problem(cases[i].llm, cases[i].tensor, cases[i].pipeline, cases[i].groups), cases[i].problem,
              "case", (int64_t)i);
}
