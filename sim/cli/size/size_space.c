/* The options of a question, and the scenario of each. */
#include "sim/cli/size/size.h"
#include "sim/core/json_write.h"

#include <inttypes.h>
#include <string.h>

enum { NODE_GPUS = 8 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Budgets from short steps (even token times) to few steps (throughput). vllm-v0 processes whole prompts. */
#define VLLM_V1(budget) {"vllm-v1", budget, "token_budget", true, 0, NULL}
#define SGLANG(budget) {"sglang", budget, "chunked_prefill_tokens", false, SIZE_MOST_SEQUENCES, NULL}
#define TRTLLM(budget) {"trtllm", budget, "token_budget", true, SIZE_MOST_SEQUENCES, "max-utilization"}
#define VLLM_V0 {"vllm-v0", 0, NULL, false, 0, NULL}
static const struct size_batching vllm[] = {VLLM_V1(512), VLLM_V1(2048), VLLM_V1(8192), VLLM_V0};
static const struct size_batching vllm_v1[] = {VLLM_V1(512), VLLM_V1(2048), VLLM_V1(8192)};
static const struct size_batching vllm_v0[] = {VLLM_V0}, distserve[] = {{"distserve", 0, NULL, false, 0, NULL}};
static const struct size_batching sglang[] = {SGLANG(2048), SGLANG(8192), SGLANG(16384)};
static const struct size_batching trtllm[] = {TRTLLM(512), TRTLLM(2048), TRTLLM(8192)};

/* The batching policies of an engine, by the one in its preset. Others have those of vLLM. */
struct engine_batchings {
    const char *scheduler;
    const struct size_batching *batchings;
    size_t n;
};

static const struct engine_batchings *batchings_of(const char *scheduler)
{
    static const struct engine_batchings others = {NULL, vllm, COUNT(vllm)},
                                         own[] = {{"vllm-v1", vllm_v1, COUNT(vllm_v1)},
                                                  {"vllm-v0", vllm_v0, COUNT(vllm_v0)},
                                                  {"sglang", sglang, COUNT(sglang)},
                                                  {"trtllm", trtllm, COUNT(trtllm)},
                                                  {"distserve", distserve, COUNT(distserve)}};
    for (size_t i = 0; scheduler != NULL && i < COUNT(own); i++)
        if (strcmp(scheduler, own[i].scheduler) == 0) return &own[i];
    return &others;
}

static const int64_t widths[] = {1, 2, 4, 8};
static const int64_t group_widths[] = {2, 4, 8, 16, 32}; /* an attention group per GPU; beyond 8, over several nodes */
enum { MOST_PREFILL = 16 }; /* replicas of a pool for prompts; 0: no pools */

/* A small budget only divides prompts, which share no iteration with decoding here. */
static bool pools_are_tried(const struct size_question *question, const struct size_option *option)
{
    return question->disaggregated && option->batching->token_budget != vllm[0].token_budget;
}

enum { N_SHAPES = COUNT(widths) * COUNT(widths) };

/* Without groups, tensor and pipeline parallelism within a node; then groups of any width. */
static void set_shape(struct size_option *option, size_t shape)
{
    const bool has_groups = shape >= N_SHAPES;
    option->tensor_parallel = has_groups ? group_widths[shape - N_SHAPES] : widths[shape % COUNT(widths)];
    option->pipeline_parallel = has_groups ? 1 : widths[shape / COUNT(widths)];
    option->groups = has_groups ? option->tensor_parallel : 1;
}

int size_options(const struct size_question *question, const char *scheduler, bool names_engine, struct arena *arena,
                 struct size_option **options, size_t *n)
{
    const struct engine_batchings *of = batchings_of(scheduler);
    const size_t n_shapes = N_SHAPES + (question->has_experts ? COUNT(group_widths) : 0);
    const size_t n_ways = of->n * (MOST_PREFILL + 1);
    *n = 0;
    *options = arena_alloc(arena, question->n_gpus * n_shapes * n_ways * sizeof **options);
    if (*options == NULL) return SIM_E_NOMEM;
    for (size_t gpu = 0; gpu < question->n_gpus; gpu++)
        for (size_t shape = 0; shape < n_shapes; shape++)
            for (size_t way = 0; way < n_ways; way++) {
                struct size_option option = {.gpu = &question->gpus[gpu],
                                             .batching = &of->batchings[way % of->n],
                                             .is_engines = of->scheduler != NULL && names_engine,
                                             .prefill_replicas = (int64_t)(way / of->n)};
                set_shape(&option, shape);
                const int64_t gpus = size_replica_gpus(&option);
                if (gpus > NODE_GPUS && option.groups == 1) continue;
                if (gpus * size_first_replicas(&option) > question->most_gpus) continue;
                if (option.prefill_replicas > 0 && !pools_are_tried(question, &option)) continue;
                (*options)[(*n)++] = option;
            }
    return 0;
}

/* A policy that is not named is the engine's, with the parameters of its preset. Engines give each group a batch of
 * its own. */
static void write_batching(const struct size_option *option, struct json_writer *json)
{
    const struct size_batching *batching = option->batching;
    json_write_open_row(json, "batching", '{');
    if (!option->is_engines) json_write_string(json, "policy", batching->policy);
    if (batching->token_budget > 0) json_write_number(json, batching->budget_key, (double)size_token_budget(option));
    if (batching->max_sequences > 0 || option->groups > 1)
        json_write_number(json, "max_sequences", (double)(option->groups * SIZE_MOST_SEQUENCES));
    if (batching->capacity != NULL) {
        json_write_string(json, "capacity", batching->capacity);
        json_write_bool(json, "chunked", true);
    }
    json_write_close(json, '}');
}

static void write_groups(const struct size_option *option, struct json_writer *json)
{
    if (option->groups == 1) return;
    json_write_number(json, "data_parallel", (double)option->groups);
    json_write_open_row(json, "cost", '{');
    json_write_string(json, "kind", "operators");
    json_write_number(json, "expert_parallel", (double)option->tensor_parallel);
    json_write_close(json, '}');
}

static void write_pool(const char *role, int64_t replicas, struct json_writer *json)
{
    json_write_open_row(json, role, '{');
    json_write_string(json, "role", role);
    json_write_number(json, "replicas", (double)replicas);
    json_write_close(json, '}');
}

void size_write_service(const struct size_option *option, int64_t replicas, struct json_writer *json)
{
    json_write_number(json, "tensor_parallel", (double)option->tensor_parallel);
    json_write_number(json, "pipeline_parallel", (double)option->pipeline_parallel);
    write_groups(option, json);
    write_batching(option, json);
    if (option->prefill_replicas > 0) {
        json_write_open(json, "pools", '{');
        write_pool("prefill", option->prefill_replicas, json);
        write_pool("decode", replicas - option->prefill_replicas, json);
        json_write_close(json, '}');
        json_write_string(json, "routing", "jsq-tokens");
        json_write_string(json, "decode_routing", "least-outstanding");
    } else {
        json_write_number(json, "replicas", (double)replicas);
        json_write_string(json, "routing", "least-outstanding");
    }
}

/* Replicas have powers of two of GPUs, so they fill nodes without gaps. */
void size_write_cluster(const struct size_option *option, int64_t replicas, struct json_writer *json)
{
    json_write_string(json, "gpu", option->gpu->name);
    json_write_number(json, "gpus_per_node", NODE_GPUS);
    json_write_number(json, "nodes", (double)((replicas * size_replica_gpus(option) + NODE_GPUS - 1) / NODE_GPUS));
    if (option->prefill_replicas > 0 || size_replica_gpus(option) > NODE_GPUS) {
        json_write_open_row(json, "network", '{');
        json_write_string(json, "bandwidth", "50GB/s");
        if (option->groups > 1) json_write_string(json, "per", "gpu"); /* as sites that serve experts over nodes have */
        json_write_close(json, '}');
    }
}

void size_describe_shape(const struct size_option *option, struct text *text)
{
    if (option->groups > 1) {
        text_printf(text, "DP %" PRId64 " EP %" PRId64, option->groups, option->tensor_parallel);
        return;
    }
    text_printf(text, "TP %" PRId64, option->tensor_parallel);
    if (option->pipeline_parallel > 1) text_printf(text, " PP %" PRId64, option->pipeline_parallel);
}

int size_load(const struct size_question *question, const struct size_option *option, int64_t replicas,
              struct setup *setup, struct diag *diag)
{
    struct text text;
    struct json_writer json;
    text_init(&text);
    json_writer_init(&json, &text);
    json_write_open(&json, NULL, '{');
    json_write_string(&json, "name", "size");
    json_write_open(&json, "cluster", '{');
    size_write_cluster(option, replicas, &json);
    json_write_close(&json, '}');
    json_write_open(&json, "services", '{');
    json_write_open(&json, "llm", '{');
    json_write_string(&json, "llm", question->llm);
    size_write_service(option, replicas, &json);
    json_write_key(&json, "trace");
    text_add(&text, question->trace_json);
    json_write_close(&json, '}');
    json_write_close(&json, '}');
    json_write_close(&json, '}');
    const struct setup_options over = {.settings = question->settings, .plugins = question->plugins,
                                       .memory = question->memory};
    const int code = text.failed ? diag_nomem(diag) : setup_load_json(setup, "size", text.chars, &over, diag);
    text_fini(&text);
    return code;
}

void size_describe(const struct size_option *option, int64_t replicas, struct text *text)
{
    text_printf(text, "%" PRId64 " x %s: ", replicas * size_replica_gpus(option), option->gpu->name);
    if (option->prefill_replicas > 0) {
        const int64_t prefill = option->prefill_replicas, decode = replicas - prefill;
        const bool is_alike = (prefill == 1) == (decode == 1); /* one noun for both */
        text_printf(text, "%" PRId64 " prefill%s%s and %" PRId64 " decode replica%s", prefill,
                    is_alike ? "" : " replica", is_alike || prefill == 1 ? "" : "s", decode, decode == 1 ? "" : "s");
    } else {
        text_printf(text, "%" PRId64 " replica%s", replicas, replicas == 1 ? "" : "s");
    }
    text_add(text, " of ");
    size_describe_shape(option, text);
    text_printf(text, ", %s", option->batching->policy);
    if (option->batching->token_budget == 0) return;
    text_add(text, " with ");
    if (option->groups > 1) text_printf(text, "%" PRId64 " x ", option->groups);
    text_printf(text, "%" PRId64 " tokens", option->batching->token_budget);
}
