/* Prices of the calls of RLHF, against closed forms of an affine cost model, a GPU, a split and a way at a time. */
#include "sim/cli/plan/rlhf.h"
#include "sim/cli/plugins.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

/* Milliseconds of the cost model that the document states. */
static const double prefill_ms = 40.0, token_ms = 0.5, pair_ms = 0.001;
static const double decode_ms = 20.0, sequence_ms = 1.0, context_ms = 0.01;

/* Of llama-2-7b with 8 layers: bytes of the parameters of a layer, of the embedding or the head, and of the last norm;
 * of keys and values of a token; of the logits of a token, in bf16, and as fp32 twice. */
static const double layer_bytes = 2.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008 + 2 * 4096.0);
static const double embedding_bytes = 2.0 * 4096 * 32000, norm_bytes = 2.0 * 4096, kv_bytes = 2.0 * 2 * 32 * 128 * 8;
static const double logit_bytes = 32000.0 * (2 + 4 + 4);

struct priced {
    struct arena arena;
    struct diag diag;
    struct config *config;
    struct rlhf_config rlhf;
    struct rlhf_setup setup;
    struct rlhf_space space;
};

static const struct catalog catalog = {.root = "configs"};

static int try_price(struct priced *priced, const char *json)
{
    const struct config_families families = cli_families(NULL);
    arena_init(&priced->arena);
    diag_init(&priced->diag);
    priced->config = NULL;
    priced->space = (struct rlhf_space){.gpus = 0};
    int code = config_parse("t.rlhf.json", ".", json, strlen(json), &priced->config, &priced->diag);
    if (code == 0)
        code = config_bind(priced->config, rlhf_config_fields, &families, &priced->arena, &priced->rlhf,
                           sizeof priced->rlhf, &priced->diag);
    priced->setup = (struct rlhf_setup){.config = &priced->rlhf, .document = priced->config, .catalog = &catalog};
    if (code == 0)
        code = rlhf_space_meshes(&priced->space, priced->rlhf.gpus, priced->rlhf.gpus_per_node, &priced->arena,
                                 &priced->diag);
    if (code == 0) code = rlhf_price(&priced->setup, &priced->space, &priced->arena, &priced->diag);
    return code;
}

static bool price(struct priced *priced, const char *json)
{
    return CHECK_EQ_INT(try_price(priced, json), 0);
}

static void priced_fini(struct priced *priced)
{
    config_destroy(priced->config);
    arena_fini(&priced->arena);
}

#define AFFINE                                                                                                         \
    "\"cost\": {\"kind\": \"affine\","                                                                                 \
    " \"prefill\": {\"fixed\": \"40ms\", \"per_token\": \"0.5ms\", \"per_pair\": \"1us\"},"                            \
    " \"decode\": {\"fixed\": \"20ms\", \"per_sequence\": \"1ms\", \"per_context_token\": \"10us\"}}"
#define MODELS                                                                                                         \
    "\"actor\": {\"llm\": \"llama-2-7b\", \"shape\": {\"layers\": 8}},"                                                \
    " \"critic\": {\"llm\": \"llama-2-7b\", \"shape\": {\"layers\": 8}}"

static void document_of(char *json, size_t bytes, int64_t prompt_tokens, const char *cluster, const char *cost)
{
    snprintf(json, bytes,
             "{\"gpu\": \"a100-80-sxm\", \"gpus\": 2, %s, " MODELS ", \"prompts\": 5, \"samples\": 2, "
             "\"prompt_tokens\": %d, \"output_tokens\": 28, \"updates\": 5, %s}",
             cluster, (int)prompt_tokens, cost);
}

static const struct rlhf_option *find(const struct rlhf_space *space, enum rlhf_call call, int64_t gpus, int64_t tensor,
                                      int64_t pipeline)
{
    for (int32_t size = 0; size < space->n_sizes; size++)
        for (int32_t i = 0; space->sizes[size] == gpus && i < space->options[call][size].n; i++) {
            const struct rlhf_option *option = &space->options[call][size].items[i];
            if (option->tensor == tensor && option->pipeline == pipeline) return option;
        }
    return NULL;
}

static int64_t ceil_of(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* `n` sequences of `tokens` tokens, `each` at a time, through p stages of which each does a p-th. */
static double passes_s(int64_t n, int64_t tokens, int64_t each, int64_t p)
{
    const double length = (double)tokens, count = (double)each;
    const double whole_ms = prefill_ms + token_ms * count * length + pair_ms * count * length * length;
    return (double)(ceil_of(n, each) + p - 1) * whole_ms * 1e-3 / (double)p;
}

/* A group is on one stage for a p-th of the model's time, and comes back after all p of them. */
static double tokens_s(int64_t group, int64_t prompt, int64_t rounds)
{
    double ms = 0.0;
    for (int64_t i = 1; i <= rounds; i++)
        ms += decode_ms + (double)group * (sequence_ms + context_ms * (double)(prompt + i));
    return ms * 1e-3;
}

static int64_t prompts_at_once(int64_t prompt, int64_t group)
{
    const int64_t most = 8192 / prompt;
    return most < group ? most : group;
}

static double generation_s(int64_t sequences, int64_t n, int64_t prompt, int64_t output, int64_t p)
{
    double seconds = 0.0;
    for (int64_t left = sequences; left > 0; left -= n) {
        const int64_t now = left < n ? left : n, group = ceil_of(now, p);
        seconds += passes_s(now, prompt, prompts_at_once(prompt, group), p) + tokens_s(group, prompt, output - 1);
    }
    return seconds;
}

/* Bytes of a token's activations, of calls that make no other logits than each sequence's last. */
static double token_bytes_of(const struct rlhf_option *reward, int64_t tokens)
{
    const struct rlhf_way *way = &reward->ways[0];
    return way->active_bytes / (double)(way->micro_batch * tokens) - logit_bytes / (double)tokens;
}

static void check_forward(const struct rlhf_option *option, int64_t tokens, bool has_all_logits, double token_bytes)
{
    const int64_t sequences = 10 / option->data;
    for (int way = 0; way < option->n_ways; way++) {
        const struct rlhf_way *at = &option->ways[way];
        const double heads = (double)(has_all_logits ? at->micro_batch * tokens : at->micro_batch);
        const double bytes = token_bytes * (double)(at->micro_batch * tokens) + heads * logit_bytes;
        CHECK_NEAR(at->seconds / passes_s(sequences, tokens, at->micro_batch, option->pipeline), 1.0, 1e-12);
        CHECK_NEAR(at->active_bytes / bytes, 1.0, 1e-12);
    }
    for (int64_t each = 1; each <= sequences; each *= 2)
        CHECK(option->ways[0].seconds <= passes_s(sequences, tokens, each, option->pipeline) * (1.0 + 1e-12));
    CHECK_EQ_INT(option->ways[option->n_ways - 1].micro_batch, 1);
}

/* Each size of a wave is a way, or another way is as fast and needs no more memory. */
static void check_generation(const struct rlhf_option *option, int64_t prompt, double token_bytes)
{
    const int64_t sequences = 10 / option->data, output = 28, p = option->pipeline, t = option->tensor;
    int n_met = 0;
    for (int64_t n = sequences; n > 0; n = n > 1 ? ceil_of(n, 2) : 0) {
        const int64_t batch = prompts_at_once(prompt, ceil_of(n, p)) * prompt;
        const double seconds = generation_s(sequences, n, prompt, output, p);
        const double cache = kv_bytes * (double)(n * (prompt + output)) / (double)(p * t);
        const double bytes = cache + token_bytes * (double)(batch > n ? batch : n) + (double)n * logit_bytes;
        bool is_covered = false;
        for (int way = 0; way < option->n_ways; way++) {
            const struct rlhf_way *at = &option->ways[way];
            is_covered |= at->seconds <= seconds * (1.0 + 1e-12) && at->active_bytes <= bytes * (1.0 + 1e-12);
            if (at->waves != ceil_of(sequences, n)) continue;
            n_met++;
            CHECK_EQ_INT(at->micro_batch, ceil_of(n, p));
            CHECK_NEAR(at->seconds / seconds, 1.0, 1e-12);
            CHECK_NEAR(at->active_bytes / bytes, 1.0, 1e-12);
        }
        CHECK(is_covered);
    }
    CHECK_EQ_INT(option->n_ways, n_met);
}

/* The fullest of the stages: the last one has the head and the last norm. */
static double weights_of(const struct rlhf_option *option)
{
    const double t = (double)option->tensor, copied = 2.0 * 2 * 4096 * 8 / (double)option->pipeline;
    const double layers = layer_bytes * 8 / (double)option->pipeline;
    const double ends = option->pipeline == 1 ? 2.0 * embedding_bytes : embedding_bytes;
    return (layers - copied + ends) / t + copied + norm_bytes;
}

TEST(calls_that_do_not_train_take_what_closed_forms_say)
{
    static const int64_t prompts[] = {100, 3000, 1, 4068}; /* 4096 tokens fill the context */
    static const int64_t splits[][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {2, 1, 2}}; /* GPUs, tensor, pipeline */
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        struct priced priced;
        char json[1024];
        document_of(json, sizeof json, prompts[i], "\"gpus_per_node\": 2", AFFINE);
        if (price(&priced, json))
            for (size_t k = 0; k < 4; k++) {
                const struct rlhf_option *options[RLHF_CALLS];
                const int64_t tokens = prompts[i] + 28;
                for (int call = 0; call < RLHF_CALLS; call++)
                    options[call] = find(&priced.space, (enum rlhf_call)call, splits[k][0], splits[k][1], splits[k][2]);
                if (!CHECK(options[RLHF_GENERATE] != NULL && options[RLHF_REWARD] != NULL)) continue;
                if (!CHECK(options[RLHF_REFERENCE] != NULL && options[RLHF_VALUES] != NULL)) continue;
                const double token_bytes = token_bytes_of(options[RLHF_REWARD], tokens);
                CHECK(token_bytes > 2.0 * 2 * 4096);
                check_forward(options[RLHF_REWARD], tokens, false, token_bytes);
                check_forward(options[RLHF_VALUES], tokens, false, token_bytes);
                check_forward(options[RLHF_REFERENCE], tokens, true, token_bytes);
                check_generation(options[RLHF_GENERATE], prompts[i], token_bytes);
                for (int call = RLHF_REWARD; call <= RLHF_REFERENCE; call++)
                    CHECK_NEAR(options[call]->home_bytes / weights_of(options[call]), 1.0, 1e-12);
                CHECK_NEAR(options[RLHF_GENERATE]->weight_bytes / weights_of(options[RLHF_GENERATE]), 1.0, 1e-12);
            }
        priced_fini(&priced);
    }
}

/* Five updates, each with two of the ten sequences. All memory is that of a step of its own. */
TEST(calls_that_train_are_steps_of_training)
{
    struct priced priced;
    char json[1024];
    document_of(json, sizeof json, 100, "\"gpus_per_node\": 2", AFFINE);
    if (price(&priced, json)) {
        const struct rlhf_option *option = find(&priced.space, RLHF_TRAIN_ACTOR, 2, 1, 2);
        for (int way = 0; CHECK(option != NULL) && way < option->n_ways; way++) {
            struct training_config config = *priced.setup.actor.config;
            struct training_step step;
            config.pipeline_parallel = 2;
            config.micro_batch = option->ways[way].micro_batch;
            config.global_batch = 2;
            config.sequence_tokens = 128;
            config.recompute = option->ways[way].recompute;
            priced.setup.actor.config = &config;
            CHECK(training_setup_price(&priced.setup.actor, 2, false, &step) == NULL);
            CHECK_NEAR(option->ways[way].seconds / (5.0 * step.step_s), 1.0, 1e-12);
            CHECK(step.memory.buffer_bytes > 0.0);
            CHECK_NEAR((option->home_bytes + option->ways[way].active_bytes) / step.memory.total_bytes, 1.0, 1e-12);
            priced.setup.actor.config = &priced.rlhf.actor;
        }
    }
    priced_fini(&priced);
}

/* Two stages on two nodes send over the network; one stage does not, however slow it is. */
TEST(stages_on_several_nodes_send_over_the_network)
{
    static const char *const clusters[] = {"\"gpus_per_node\": 1, \"network\": \"10MB/s\"", "\"gpus_per_node\": 2"};
    double seconds[2][2] = {{0.0}};
    for (int i = 0; i < 2; i++) {
        struct priced priced;
        char json[1024];
        document_of(json, sizeof json, 1000, clusters[i], "\"cost\": \"operators\"");
        if (price(&priced, json))
            for (int64_t stages = 1; stages <= 2; stages++) {
                const struct rlhf_option *option = find(&priced.space, RLHF_REWARD, 2, 1, stages);
                if (CHECK(option != NULL)) seconds[i][stages - 1] = option->ways[0].seconds;
            }
        priced_fini(&priced);
    }
    CHECK_NEAR(seconds[0][0], seconds[1][0], 0.0);
    CHECK(seconds[0][1] > 1.5 * seconds[1][1]);
}

/* --- Other documents --- */

/* Prices the models with these further keys of the document. */
static const char *other(const char *models, const char *keys)
{
    return test_json("{'gpu': 'a100-80-sxm', %s, 'output_tokens': 28, 'cost': {'kind': 'affine', 'prefill': {'fixed': "
                     "'40ms', 'per_token': '0.5ms', 'per_pair': '1us'}, 'decode': {'fixed': '20ms', 'per_sequence': "
                     "'1ms', 'per_context_token': '10us'}}, %s}",
                     models, keys);
}

#define SMALL(llm) "{'llm': '" llm "', 'shape': {'layers': 8}}"

static void check_equal_options(const struct rlhf_options *a, const struct rlhf_options *b)
{
    CHECK_EQ_INT(a->n, b->n);
    for (int32_t i = 0; i < a->n && i < b->n; i++) {
        CHECK_EQ_INT(a->items[i].n_ways, b->items[i].n_ways);
        CHECK_NEAR(a->items[i].home_bytes, b->items[i].home_bytes, 0.0);
        for (int way = 0; way < a->items[i].n_ways; way++) {
            CHECK_NEAR(a->items[i].ways[way].seconds, b->items[i].ways[way].seconds, 0.0);
            CHECK_NEAR(a->items[i].ways[way].active_bytes, b->items[i].ways[way].active_bytes, 0.0);
        }
    }
}

/* The prices of a model do not depend on other models. The reference is the actor's LLM, and the reward the critic's,
 * unless they are named. Each slower way needs less memory. */
TEST(each_model_has_prices_of_its_own)
{
    static const char keys[] = "'gpus': 4, 'gpus_per_node': 4, 'prompts': 8, 'prompt_tokens': 64, 'updates': 1";
    static const char *const models[] = {
        "'actor': " SMALL("llama-2-7b") ", 'critic': " SMALL("llama-2-7b"),
        "'actor': " SMALL("llama-3.1-8b") ", 'critic': " SMALL("llama-3.1-8b"),
        "'actor': " SMALL("llama-2-7b") ", 'critic': " SMALL("llama-3.1-8b")};
    struct priced priced[3];
    for (int i = 0; i < 3; i++) MUST(price(&priced[i], other(models[i], keys)));
    for (int call = 0; call < RLHF_CALLS; call++) {
        const bool is_actor = call == RLHF_GENERATE || call == RLHF_REFERENCE || call == RLHF_TRAIN_ACTOR;
        for (int32_t size = 0; size < priced[2].space.n_sizes; size++) {
            const struct rlhf_options *mixed = &priced[2].space.options[call][size];
            check_equal_options(mixed, &priced[is_actor ? 0 : 1].space.options[call][size]);
            for (int32_t i = 0; i < mixed->n; i++)
                for (int way = 1; way < mixed->items[i].n_ways; way++) {
                    CHECK(mixed->items[i].ways[way].seconds > mixed->items[i].ways[way - 1].seconds);
                    CHECK(mixed->items[i].ways[way].active_bytes < mixed->items[i].ways[way - 1].active_bytes);
                }
        }
    }
    const struct rlhf_option *reward = find(&priced[0].space, RLHF_REWARD, 1, 1, 1);
    CHECK_NEAR(reward->ways[0].seconds / passes_s(8, 92, 8, 1), 1.0, 1e-12); /* all eight at once */
    const double memory_bytes = priced[0].setup.actor.gpu.memory_bytes;
    CHECK_NEAR(priced[0].space.usable_bytes, memory_bytes * (1.0 - priced[0].rlhf.reserve_frac), 0.0);
    CHECK(priced[0].rlhf.reserve_frac > 0.0);
    for (int i = 0; i < 3; i++) priced_fini(&priced[i]);
}

/* As many data ranks as sequences have one each; three have four of ten. Tensor ranks divide a node of three GPUs. A
 * step of 64 short sequences on one GPU is fastest in one micro-batch. */
TEST(ranks_divide_sequences_and_nodes)
{
    static const char models[] = "'actor': " SMALL("llama-2-7b") ", 'critic': " SMALL("llama-2-7b");
    struct priced priced;
    if (price(&priced, other(models, "'gpus': 2, 'gpus_per_node': 2, 'prompts': 2, 'prompt_tokens': 64, 'updates': 1")))
        CHECK(find(&priced.space, RLHF_REWARD, 2, 1, 1) != NULL);
    priced_fini(&priced);
    if (price(&priced, other(models, "'gpus': 6, 'gpus_per_node': 3, 'network': '10GB/s', 'prompts': 10, "
                                     "'prompt_tokens': 64, 'updates': 1"))) {
        const struct rlhf_option *reward = find(&priced.space, RLHF_REWARD, 3, 1, 1);
        CHECK(find(&priced.space, RLHF_REWARD, 6, 2, 1) == NULL);
        if (CHECK(reward != NULL)) CHECK_NEAR(reward->ways[0].seconds / passes_s(4, 92, 4, 1), 1.0, 1e-12);
    }
    priced_fini(&priced);
    if (price(&priced, other(models, "'gpus': 1, 'gpus_per_node': 1, 'prompts': 64, 'prompt_tokens': 4, 'updates': 1")))
        CHECK_EQ_INT(find(&priced.space, RLHF_TRAIN_ACTOR, 1, 1, 1)->ways[0].micro_batch, 64);
    priced_fini(&priced);
}

/* Without coefficients of decoding only a single token, which the prompt's pass gives, has a price. */
TEST(decoding_needs_a_price_if_there_is_any)
{
    for (int output = 1; output <= 2; output++) {
        struct priced priced;
        const int code = try_price(
            &priced, test_json("{'gpu': 'a100-80-sxm', 'gpus': 1, 'actor': " SMALL("llama-2-7b") ", 'critic': " SMALL(
                                   "llama-2-7b") ", 'prompts': 2, 'prompt_tokens': 8, 'output_tokens': %d, 'cost': "
                                                 "{'kind': 'affine', 'prefill': {'fixed': '40ms'}}}",
                               output));
        CHECK_EQ_INT(code, output == 1 ? 0 : SIM_E_CONFIG);
        priced_fini(&priced);
    }
}

/* Three heads over three tensor ranks: each has a third of all but the norms. */
TEST(ranks_that_are_an_odd_number_split_weights_too)
{
    static const char json[] =
        "{\"gpu\": \"a100-80-sxm\", \"gpus\": 3, \"gpus_per_node\": 3, \"prompts\": 6, \"prompt_tokens\": 64,"
        " \"output_tokens\": 64, \"actor\": {\"llm\": \"llama-2-7b\", \"shape\": {\"layers\": 8, \"hidden\": 3072,"
        " \"heads\": 3}}, \"critic\": {\"llm\": \"llama-2-7b\"}, " AFFINE "}";
    struct priced priced;
    if (price(&priced, json)) {
        const struct rlhf_option *whole = find(&priced.space, RLHF_GENERATE, 3, 1, 1);
        const struct rlhf_option *third = find(&priced.space, RLHF_GENERATE, 3, 3, 1);
        const double norms = 2.0 * 3072 * (2 * 8 + 1);
        if (CHECK(whole != NULL && third != NULL))
            CHECK_NEAR(3.0 * (third->weight_bytes - norms) / (whole->weight_bytes - norms), 1.0, 1e-12);
    }
    priced_fini(&priced);
}

/* The page of plans names each key of the document, and of its search. */
static void check_named(const struct config_field *fields, const char *page)
{
    for (size_t i = 0; fields[i].name != NULL; i++) {
        char key[64];
        snprintf(key, sizeof key, "`%s`", fields[i].name);
        CHECK(strstr(page, key) != NULL);
        if (strcmp(fields[i].name, "search") == 0) check_named(fields[i].fields, page);
    }
}

TEST(the_page_of_plans_names_every_key)
{
    static char page[40000];
    FILE *file = fopen("sim/cli/plan/README.md", "r");
    MUST(file != NULL);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    const char *table = strstr(page, "| key | default |");
    MUST(table != NULL);
    check_named(rlhf_config_fields, table);
}
