#include "sim/catalog/huggingface_formats.h"

#include "sim/catalog/huggingface_modules.h"

#include <ctype.h>
#include <stdio.h>

/* A format, and the modules that have it. */
struct scheme {
    struct module_patterns modules;
    bool is_of_all; /* whatever no other scheme names */
    enum number_format format;
};

/* What a quantization_config says of the matrices. Those that no scheme has are in the format of computing. */
struct quantisation {
    struct reading *reading;
    const struct json_node *node; /* the section */
    const struct llm_spec *llm;
    struct module_patterns left_out;
    struct scheme schemes[FORMAT_COUNT]; /* by format */
    bool keeps_head;                     /* the method leaves the head as it is */
};

static void refuse(struct quantisation *q, const struct json_node *node, const char *why)
{
    report(q->reading, node != NULL ? node : q->node, "quantization_config", why);
}

/* --- Modules --- */

static void add_module(struct quantisation *q, struct module_patterns *patterns, const struct json_node *node,
                       const char *text)
{
    const char *why;
    char unread[256];
    long expert;
    /* The first and the last expert stand for those between. Wildcards are looked at for all (check_experts). */
    if (module_names_expert(text, &expert) && expert != 0 && expert != q->llm->experts - 1) return;
    const int code = module_patterns_add(patterns, text, &why);
    if (code == SIM_E_NOMEM) refuse(q, node, "lists more modules than memory holds");
    if (code != SIM_E_CONFIG) return;
    snprintf(unread, sizeof unread, "has a regular expression with %s", why);
    refuse(q, node, unread);
}

/* The modules of a list; NULL: none. */
static void add_modules(struct quantisation *q, struct module_patterns *patterns, const struct json_node *list)
{
    for (const struct json_node *item = list != NULL && list->kind == JSON_LIST ? list->first : NULL; item != NULL;
         item = item->next)
        if (item->kind == JSON_STRING) add_module(q, patterns, item, item->text);
}

/* --- Methods --- */

static void give_all(struct quantisation *q, enum number_format format)
{
    q->schemes[format].is_of_all = true;
}

static double number_of(const struct json_node *node, const char *key)
{
    const struct json_node *value = json_member(node, key);
    return value != NULL && value->kind == JSON_NUMBER ? value->number : 0.0;
}

/* Whether a list is [128, 128], the blocks that kernels were measured with. */
static bool is_of_blocks(const struct json_node *list)
{
    const struct json_node *first = list->kind == JSON_LIST && list->n == 2 ? list->first : NULL;
    return first != NULL && first->kind == JSON_NUMBER && first->number == 128.0 && first->next->kind == JSON_NUMBER &&
           first->next->number == 128.0;
}

static void read_fp8(struct quantisation *q)
{
    const struct json_node *blocks = json_member(q->node, "weight_block_size");
    const bool has_blocks = is_given(q->node, "weight_block_size");
    q->keeps_head = true;
    if (is_given(q->node, "quant_algo")) refuse(q, NULL, "mixes the methods fp8 and modelopt, which is not read");
    if (has_blocks && !is_of_blocks(blocks))
        refuse(q, blocks, "has other blocks than 128 x 128: no kernel of such blocks was measured");
    give_all(q, has_blocks ? FORMAT_FP8_BLOCK : FORMAT_FP8);
}

/* awq, gptq: weights alone are narrow. */
static void read_by_bits(struct quantisation *q, bool is_gptq)
{
    const double bits = number_of(q->node, "bits");
    const struct json_node *rules = json_member(q->node, "dynamic"), *with_head = json_member(q->node, "lm_head");
    q->keeps_head = !(is_gptq && with_head != NULL && with_head->number != 0.0);
    if (rules != NULL && rules->first != NULL) refuse(q, rules, "has rules by module ('dynamic') that are not read");
    if (bits == 4.0)
        give_all(q, FORMAT_INT4);
    else if (bits == 8.0)
        give_all(q, FORMAT_INT8);
    else
        refuse(q, NULL, "has another number of bits than 4 and 8");
}

static void read_mxfp4(struct quantisation *q)
{
    q->keeps_head = true;
    if (q->llm->experts == 0) refuse(q, NULL, "is mxfp4, which is read of experts alone");
    add_module(q, &q->schemes[FORMAT_MXFP4].modules, NULL, "experts");
}

/* The format of 8 bits of a scheme of compressed-tensors, as 1 + enum number_format; 0: refused. */
static int eight_bits(struct quantisation *q, const struct json_node *weights, const struct json_node *inputs)
{
    const struct json_node *strategy = json_member(weights, "strategy");
    const struct json_node *blocks = json_member(weights, "block_structure");
    const bool is_float = has_text(json_member(weights, "type"), "float");
    const bool narrows = inputs != NULL && inputs->kind == JSON_OBJECT;
    if (narrows && number_of(inputs, "num_bits") != 8.0)
        refuse(q, inputs, "has activations of another width beside weights of 8 bits");
    if (!is_float && narrows) {
        char where[DIAG_WHERE_CHARS];
        diag_warning(q->reading->diag, json_where(inputs, where, sizeof where), NULL,
                     "activations in int8 are not modelled: products take as long as with activations of 16 bits");
    }
    if (!is_float) return 1 + FORMAT_INT8;
    if (!narrows) refuse(q, weights, "has weights in fp8 beside activations of 16 bits: no such kernel was measured");
    if (has_text(strategy, "group")) refuse(q, weights, "has a scale per group in fp8: no such kernel was measured");
    if (!has_text(strategy, "block")) return 1 + FORMAT_FP8;
    if (is_given(weights, "block_structure") && !is_of_blocks(blocks) && !has_text(blocks, "128x128"))
        refuse(q, blocks, "has other blocks than 128 x 128: no kernel of such blocks was measured");
    return 1 + FORMAT_FP8_BLOCK;
}

/* The same of 4 bits. */
static int four_bits(struct quantisation *q, const struct json_node *weights, const struct json_node *inputs)
{
    const bool is_float = has_text(json_member(weights, "type"), "float");
    const bool narrows = inputs != NULL && inputs->kind == JSON_OBJECT;
    const double group = number_of(weights, "group_size");
    if (!is_float) {
        if (narrows) refuse(q, inputs, "has narrow activations beside weights in int4: no such kernel was measured");
        return 1 + FORMAT_INT4;
    }
    if (group == 32.0) {
        if (narrows) refuse(q, inputs, "has narrow activations beside weights in mxfp4: no such kernel was measured");
        return 1 + FORMAT_MXFP4;
    }
    if (group != 16.0) refuse(q, weights, "has floats of 4 bits in other groups than 16 (nvfp4) and 32 (mxfp4)");
    if (!narrows || number_of(inputs, "num_bits") != 4.0)
        refuse(q, weights, "has weights in nvfp4 beside wider activations: no such kernel was measured");
    return 1 + FORMAT_NVFP4;
}

/* A class of modules, not the name of one: "Linear". */
static bool is_class(const char *target)
{
    return isupper((unsigned char)*target) && strchr(target, '.') == NULL;
}

static void read_group(struct quantisation *q, const struct json_node *group)
{
    const struct json_node *weights = json_member(group, "weights"), *inputs = json_member(group, "input_activations");
    const struct json_node *targets = json_member(group, "targets");
    const double bits = number_of(weights, "num_bits");
    if (bits != 4.0 && bits != 8.0) {
        refuse(q, group, "has weights of another width than 4 and 8 bits");
        return;
    }
    const int format = bits == 8.0 ? eight_bits(q, weights, inputs) : four_bits(q, weights, inputs);
    struct scheme *scheme = &q->schemes[format - 1];
    if (targets == NULL || targets->kind != JSON_LIST) scheme->is_of_all = true;
    for (const struct json_node *target = targets != NULL ? targets->first : NULL; target; target = target->next) {
        if (target->kind != JSON_STRING) continue;
        if (!is_class(target->text)) add_module(q, &scheme->modules, target, target->text);
        if (strcmp(target->text, "Linear") == 0) scheme->is_of_all = true;
    }
}

static void read_compressed_tensors(struct quantisation *q)
{
    const struct json_node *groups = json_member(q->node, "config_groups");
    const struct json_node *sparse = json_member(q->node, "sparsity_config");
    const struct json_node *pattern = json_member(sparse, "format");
    if (groups == NULL || groups->kind != JSON_OBJECT || groups->first == NULL)
        refuse(q, NULL, "has no 'config_groups'");
    if (pattern != NULL && !has_text(pattern, "dense")) refuse(q, sparse, "has sparse weights, which are not modelled");
    for (const struct json_node *group = groups != NULL ? groups->first : NULL; group != NULL; group = group->next)
        read_group(q, group);
}

/* The format of an algorithm of ModelOpt, as 1 + enum number_format; 0: refused. */
static int algorithm_format(struct quantisation *q, const struct json_node *algorithm)
{
    static const struct {
        const char *name;
        enum number_format format;
    } known[] = {{"FP8", FORMAT_FP8},        {"FP8_PER_CHANNEL_PER_TOKEN", FORMAT_FP8},
                 {"NVFP4", FORMAT_NVFP4},    {"NVFP4_AWQ", FORMAT_NVFP4},
                 {"W4A16_AWQ", FORMAT_INT4}, {"FP8_PB_WO", FORMAT_FP8_BLOCK}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_text(algorithm, known[i].name)) return 1 + (int)known[i].format;
    refuse(q, algorithm,
           "has an algorithm without kernels here (FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, NVFP4, "
           "NVFP4_AWQ and W4A16_AWQ have some)");
    return 0;
}

static void read_modelopt(struct quantisation *q)
{
    const struct json_node *algorithm = json_member(q->node, "quant_algo");
    const struct json_node *layers = json_member(q->node, "quantized_layers");
    if (!has_text(algorithm, "MIXED_PRECISION")) {
        const int format = algorithm_format(q, algorithm);
        if (format > 0) give_all(q, (enum number_format)(format - 1));
        return;
    }
    if (layers == NULL || layers->kind != JSON_OBJECT) refuse(q, NULL, "is MIXED_PRECISION without 'quantized_layers'");
    for (const struct json_node *layer = layers != NULL ? layers->first : NULL; layer && !q->reading->failed;
         layer = layer->next) {
        const int format = algorithm_format(q, json_member(layer, "quant_algo"));
        if (format > 0) add_module(q, &q->schemes[format - 1].modules, layer, layer->key);
    }
}

static bool is_modelopt(const struct json_node *node)
{
    const struct json_node *method = json_member(node, "quant_method");
    const bool is_named = method != NULL && method->kind == JSON_STRING && strncmp(method->text, "modelopt", 8) == 0;
    return is_named || (method == NULL && json_member(node, "quant_algo") != NULL);
}

static void read_method(struct quantisation *q)
{
    const struct json_node *method = json_member(q->node, "quant_method");
    if (is_modelopt(q->node)) {
        read_modelopt(q);
    } else if (has_text(method, "fp8")) {
        read_fp8(q);
    } else if (has_text(method, "fbgemm_fp8")) {
        q->keeps_head = true;
        give_all(q, FORMAT_FP8);
    } else if (has_text(method, "awq") || has_text(method, "gptq")) {
        read_by_bits(q, has_text(method, "gptq"));
    } else if (has_text(method, "mxfp4")) {
        read_mxfp4(q);
    } else if (has_text(method, "compressed-tensors")) {
        read_compressed_tensors(q);
    } else {
        refuse(q, method,
               "is of a kind that is not modelled (awq, gptq, fp8, fbgemm_fp8, mxfp4 of experts, "
               "compressed-tensors and modelopt are)");
    }
    add_modules(q, &q->left_out, json_member(q->node, "ignore"));
    add_modules(q, &q->left_out, json_member(q->node, "exclude_modules"));
    add_modules(q, &q->left_out, json_member(q->node, "modules_to_not_convert"));
    add_modules(q, &q->left_out, json_member(q->node, "ignored_layers"));
}

/* --- Parts --- */

/* `by_number`: as in module_patterns_mean. */
static enum number_format format_of(const struct quantisation *q, const struct module_name *name, bool by_number)
{
    if (module_patterns_mean(&q->left_out, name, by_number)) return q->llm->compute;
    for (int format = 0; format < FORMAT_COUNT; format++)
        if (module_patterns_mean(&q->schemes[format].modules, name, by_number)) return (enum number_format)format;
    for (int format = 0; format < FORMAT_COUNT; format++)
        if (q->schemes[format].is_of_all) return (enum number_format)format;
    return q->llm->compute;
}

static const char *const part_names[] = {"attention's projections",
                                         "attention's output projection",
                                         "dense feed-forward layers",
                                         "shared expert",
                                         "experts",
                                         "head"};

static void refuse_mix(struct quantisation *q, enum llm_part part, const struct module_name *first,
                       const struct module_name *other)
{
    char why[512];
    snprintf(why, sizeof why, "gives %s another format than %s: the %s must have one format here", other->text[0],
             first->text[0], part_names[part]);
    refuse(q, NULL, why);
}

/* The one format of all matrices of a part that has some. */
static enum number_format part_format(struct quantisation *q, enum llm_part part)
{
    const int64_t n = module_count(q->llm, part);
    struct module_name first, other;
    module_name_of(q->llm, part, 0, &first);
    const enum number_format format = format_of(q, &first, true);
    for (int64_t i = 1; i < n; i++) {
        module_name_of(q->llm, part, i, &other);
        if (format_of(q, &other, true) == format) continue;
        refuse_mix(q, part, &first, &other);
        return format;
    }
    return format;
}

static bool may_tell_experts_apart(const struct quantisation *q, const struct module_name *name)
{
    if (module_patterns_tell_experts_apart(&q->left_out, name)) return true;
    for (int format = 0; format < FORMAT_COUNT; format++)
        if (module_patterns_tell_experts_apart(&q->schemes[format].modules, name)) return true;
    return false;
}

/* Whether no wildcards mean some experts of a layer and others not. */
static void check_experts(struct quantisation *q)
{
    struct module_name first, other;
    for (int64_t layer = q->llm->dense_layers; layer < q->llm->layers; layer++)
        for (int64_t number = 0; number < (q->llm->gated_ffn ? 3 : 2); number++) {
            module_name_of_expert(q->llm, layer, number, 0, &first);
            if (!may_tell_experts_apart(q, &first)) continue;
            const enum number_format format = format_of(q, &first, false);
            for (int64_t expert = 1; expert < q->llm->experts && !q->reading->failed; expert++) {
                module_name_of_expert(q->llm, layer, number, expert, &other);
                if (format_of(q, &other, false) != format) refuse_mix(q, LLM_PART_EXPERTS, &first, &other);
            }
        }
}

/* `weights` is what the attention's projections have; other parts say what differs. */
static void set_parts(struct quantisation *q, struct llm_spec *llm)
{
    const struct llm_spec shape = *llm;
    q->llm = &shape;
    llm_set_weights(llm, part_format(q, LLM_PART_ATTENTION));
    for (enum llm_part part = LLM_PART_OUT; part < LLM_PART_COUNT; part++) {
        const bool is_kept = part == LLM_PART_HEAD && q->keeps_head;
        if (module_count(&shape, part) == 0 || is_kept) continue;
        const enum number_format format = part_format(q, part);
        if (part == LLM_PART_EXPERTS && !q->reading->failed) check_experts(q);
        if (format != llm_format(llm, part)) llm->part_formats[part] = 1 + (int)format;
    }
}

/* The format of keys and values that the checkpoint has scales for. */
static void read_kv(struct quantisation *q, struct llm_spec *llm)
{
    const struct json_node *scheme = json_member(q->node, "kv_cache_scheme");
    const struct json_node *name = is_given(q->node, "kv_cache_scheme") ? scheme
                                                                        : json_member(q->node, "kv_cache_quant_algo");
    if (name == NULL || name->kind == JSON_NULL) return;
    const bool is_float = has_text(json_member(name, "type"), "float") && number_of(name, "num_bits") == 8.0;
    if (is_float || has_text(name, "FP8"))
        llm->kv = FORMAT_FP8;
    else
        refuse(q, name, "has keys and values in a format that is not modelled (fp8 is)");
}

void huggingface_read_formats(struct reading *reading, const struct json_node *beside, struct llm_spec *llm)
{
    const struct json_node *own = find(reading, "quantization_config");
    const struct json_node *node = own != NULL ? own : json_member(beside, "quantization");
    struct quantisation q = {.reading = reading, .node = node, .llm = llm};
    if (node == NULL) return;
    read_method(&q);
    read_kv(&q, llm);
    if (!reading->failed) set_parts(&q, llm);
    module_patterns_fini(&q.left_out);
    for (int format = 0; format < FORMAT_COUNT; format++) module_patterns_fini(&q.schemes[format].modules);
}

/* --- Keys that the type does not read --- */

/* Keys of huggingface*.c that make a shape another one. Names of what every LLM has (layers, hidden size, heads,
 * vocabulary) are no part of it: files state them under several names. */
static const char *const shape_keys[] = {
    /* experts */
    "num_experts", "num_local_experts", "n_routed_experts", "n_shared_experts", "num_experts_per_tok", "top_k_experts",
    "moe_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size", "first_k_dense_replace",
    "decoder_sparse_step", "mlp_only_layers", "interleave_moe_layer_step", "intermediate_size_mlp", "n_group",
    "topk_group",
    /* layers that predict several tokens */
    "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules",
    /* latent and sparse attention */
    "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_n_heads",
    "index_head_dim", "index_topk",
    /* heads and windows */
    "num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query", "head_dim", "kv_channels", "global_head_dim",
    "num_global_key_value_heads", "attention_k_eq_v", "sliding_window", "sliding_window_pattern",
    "attention_chunk_size", "swa_num_attention_heads", "swa_num_key_value_heads", "swa_head_dim", "swa_v_head_dim",
    "hybrid_layer_pattern", "use_qk_norm", "add_swa_attention_sink_bias",
    /* linear attention */
    "full_attention_interval", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
    "linear_value_head_dim", "linear_conv_kernel_dim",
    /* feed-forward layers and biases */
    "intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "attention_bias", "mlp_bias"};

static bool is_taken(const struct taken_keys *taken, const char *key)
{
    for (size_t i = 0; i < taken->n; i++)
        if (strcmp(taken->keys[i], key) == 0) return true;
    return false;
}

static bool states_something(const struct json_node *node)
{
    if (node == NULL || node->kind == JSON_NULL) return false;
    if (node->kind == JSON_LIST || node->kind == JSON_OBJECT) return node->n > 0;
    return node->kind == JSON_STRING || node->number != 0.0;
}

/* Adds a name to the list, unless it or " and 99 more" after it would not fit. */
static bool add_name(char *names, size_t bytes, const char *name)
{
    enum { REST = sizeof " and 99 more" };
    const size_t used = strlen(names);
    if (used + strlen(", ") + strlen(name) + REST > bytes) return false;
    snprintf(names + used, bytes - used, "%s%s", used > 0 ? ", " : "", name);
    return true;
}

void huggingface_warn_unread(struct reading *reading, const struct json_node *root, const char *model_type)
{
    char names[DIAG_TEXT_CHARS / 2] = "", where[DIAG_WHERE_CHARS];
    const struct json_node *first = NULL;
    size_t n_more = 0;
    if (reading->failed) return;
    for (size_t i = 0; i < sizeof shape_keys / sizeof *shape_keys; i++) {
        const char *key = shape_keys[i];
        const struct json_node *node = json_member(reading->root, key);
        if (node == NULL) node = json_member(root, key);
        if (!states_something(node) || is_taken(reading->taken, key)) continue;
        n_more += n_more > 0 || !add_name(names, sizeof names, key);
        if (first == NULL) first = node;
    }
    if (first == NULL) return;
    const size_t used = strlen(names);
    if (n_more > 0) snprintf(names + used, sizeof names - used, " and %zu more", n_more);
    diag_warning(reading->diag, json_where(first, where, sizeof where), "see that 'model_type' is right",
                 "model type '%s' does not read %s: the LLM is taken without", model_type, names);
}

/* --- The number format of the checkpoint --- */

static bool is_one_of_names(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

enum number_format huggingface_dtype(struct reading *reading, const struct json_node *part)
{
    static const char *const wide[] = {"float16", "half", "float32", "float", "float64", "double", "auto", NULL};
    static const char *const narrow[] = {"float8_e4m3fn",  "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
                                         "float8_e8m0fnu", "int8",        "uint8",           NULL};
    const char *key = is_given(part, "torch_dtype") ? "torch_dtype" : "dtype";
    const struct json_node *node = json_member(part, key);
    char where[DIAG_WHERE_CHARS], problem[160], shown[64];
    if (node == NULL || node->kind == JSON_NULL) return FORMAT_FP16;
    const char *name = node->kind == JSON_STRING ? node->text : "";
    if (strncmp(name, "torch.", 6) == 0) name += 6;
    if (strcmp(name, "bfloat16") == 0) return FORMAT_BF16;
    if (is_one_of_names(name, wide)) return FORMAT_FP16;
    if (is_one_of_names(name, narrow) && reading->is_quantised) {
        diag_warning(reading->diag, json_where(node, where, sizeof where), NULL,
                     "'%s' is %s, in which no engine computes: the LLM is taken to compute in float16", key, name);
        return FORMAT_FP16;
    }
    if (is_one_of_names(name, narrow))
        snprintf(
            problem, sizeof problem,
            "is %s, in which no engine computes; weights of 8 bits need a quantization_config, or 'formats' of the "
            "service",
            name);
    else
        snprintf(problem, sizeof problem, "must be float16, bfloat16, float32 or float64, got %s",
                 json_show(node, shown, sizeof shown));
    report(reading, node, key, problem);
    return FORMAT_FP16;
}
