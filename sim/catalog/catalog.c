#include "sim/catalog/catalog.h"

#include "sim/catalog/huggingface.h"
#include "sim/catalog/huggingface_fields.h"
#include "sim/catalog/llm_names.h"
#include "sim/catalog/mig.h"
#include "sim/catalog/shelf.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"

#include <float.h>
#include <string.h>
#include <unistd.h>

/* --- Fields. A number may say where it comes from: {"value": V, "source": "...", "sure": "..."} --- */

static const char *const fabrics[] = {"none", "bridge", "mesh", "full", "switch", NULL};

static const char *const formats[] = {
#define FORMAT_NAME(id, name, bytes) name,
    NUMBER_FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
        NULL,
};

static const char *const part_formats[] = {
    "default",
#define FORMAT_NAME(id, name, bytes) name,
    NUMBER_FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
        NULL,
};

/* Offsets are from the start of struct gpu_spec: the section holds no struct of its own. */
#define PEAK(format_name, format, more)                                                                                \
    {.name = format_name, .kind = CONFIG_QUANTITY, .flags = CONFIG_SOURCED | (more),                                   \
     .offset = (format) * sizeof(double), .dim = UNIT_FLOP_PER_S, .min = DBL_MIN, .max = 0,                                \
     .help = "dense peak of matrix products in " format_name ", accumulating in fp32"}

static const struct config_field peak_fields[] = {
    PEAK("fp32", FORMAT_FP32, CONFIG_REQUIRED),
    PEAK("tf32", FORMAT_TF32, CONFIG_OPTIONAL),
    PEAK("fp16", FORMAT_FP16, CONFIG_OPTIONAL),
    PEAK("bf16", FORMAT_BF16, CONFIG_OPTIONAL),
    PEAK("fp8", FORMAT_FP8, CONFIG_OPTIONAL),
    PEAK("int8", FORMAT_INT8, CONFIG_OPTIONAL),
    PEAK("nvfp4", FORMAT_NVFP4, CONFIG_OPTIONAL),
    PEAK("mxfp4", FORMAT_MXFP4, CONFIG_OPTIONAL),
    {0},
};

/* A file of ours: the whole GPU first, as the offsets of its fields say. */
struct gpu_file {
    struct gpu_spec gpu;
    struct config_list mig; /* struct mig_profile */
};

#define ROW_OF struct gpu_spec
static const struct config_field catalog_gpu_fields[] = {
    ROW_TEXT("architecture", architecture, REQUIRED, ANY, "generation of the chip"),
    ROW_CHOICE("vendor", vendor, DEFAULT("NVIDIA"), gpu_vendor_names,
               "who makes the chip; kernels of NVIDIA's GPUs alone were measured"),
    ROW_SECTION("peak", peak_flop_per_s, FILLED, peak_fields,
                "peaks by number format; an absent format runs in the next wider one"),
    ROW_QUANTITY("memory", memory_bytes, UNIT_BYTES, SOURCED_REQUIRED, POSITIVE,
                 "device memory as nvidia-smi reports it in total"),
    ROW_QUANTITY("memory_bandwidth", memory_bytes_per_s, UNIT_BYTES_PER_S, SOURCED_REQUIRED, POSITIVE,
                 "peak bandwidth of the device memory"),
    ROW_QUANTITY("l2", l2_bytes, UNIT_BYTES, SOURCED_REQUIRED, POSITIVE, "L2 cache"),
    ROW_INT("sms", sm_count, SOURCED_REQUIRED, AT_LEAST(1), "streaming multiprocessors"),
    ROW_QUANTITY("boost_clock", boost_hz, UNIT_FREQUENCY, SOURCED_REQUIRED, POSITIVE,
                 "highest SM clock; peaks of tensor cores may hold at a lower one"),
    ROW_QUANTITY("base_clock", base_hz, UNIT_FREQUENCY, SOURCED_OPTIONAL, POSITIVE,
                 "SM clock that is kept at the power limit"),
    ROW_QUANTITY("tdp", tdp_w, UNIT_POWER, SOURCED_REQUIRED, POSITIVE, "power limit as delivered"),
    ROW_QUANTITY("idle_power", idle_w, UNIT_POWER, SOURCED_OPTIONAL, POSITIVE, "power without any process on the GPU"),
    ROW_QUANTITY("context_power", context_w, UNIT_POWER, SOURCED_OPTIONAL, POSITIVE,
                 "power with an idle process on the GPU"),
    ROW_QUANTITY("price", usd_per_h, UNIT_MONEY_PER_H, SOURCED_OPTIONAL, POSITIVE,
                 "list price of renting one, on demand"),
    ROW_CHOICE(
        "fabric", fabric, DEFAULT("none"), fabrics,
        "links between the GPUs of a node besides PCIe: bridged pairs, a cube mesh, one for each pair, a switch"),
    ROW_INT("nvlink_gpus", nvlink_gpus, DEFAULT("0"), WITHIN(0, 1024), "GPUs that reach each other over NVLink"),
    ROW_QUANTITY("nvlink_bandwidth", nvlink_bytes_per_s, UNIT_BYTES_PER_S, SOURCED_DEFAULT("0GB/s"), ANY,
                 "NVLink bandwidth of a GPU, per direction"),
    ROW_QUANTITY("pcie_bandwidth", pcie_bytes_per_s, UNIT_BYTES_PER_S, SOURCED_REQUIRED, POSITIVE,
                 "PCIe bandwidth of a GPU, per direction"),
    ROW_BOOL("peer_to_peer", peer_to_peer, SOURCED_DEFAULT("true"),
             "whether GPUs write to each other over PCIe; else their messages pass host memory"),
    ROW_INT("gpus_per_switch", gpus_per_switch, SOURCED_DEFAULT("0"), WITHIN(0, 1024),
            "GPUs behind one PCIe switch of the server; 0: unknown, bridges are not modelled"),
    ROW_INT("switches_per_socket", switches_per_socket, SOURCED_DEFAULT("1"), WITHIN(1, 1024),
            "PCIe switches with GPUs of one socket"),
    ROW_REAL("bridge_share", bridge_share, SOURCED_DEFAULT("1"), WITHIN(DBL_MIN, 1),
             "share of the bandwidth that is left beyond a bridge between switches or sockets"),
#undef ROW_OF
#define ROW_OF struct gpu_file
    ROW_MAP("mig", mig, OPTIONAL, ANY, struct mig_profile, mig_profile_fields, "equal MIG slices by profile"),
    {0},
};
#undef ROW_OF

#define LLM_COUNT(key, member, most, what) ROW_INT(key, member, SOURCED_REQUIRED, WITHIN(1, most), what)
#define LLM_OPTION(key, member, most, what) ROW_INT(key, member, SOURCED_DEFAULT("0"), WITHIN(0, most), what)
#define LLM_FLAG(key, member, what) ROW_BOOL(key, member, DEFAULT("false"), what)
#define LLM_PART(key, part, what)                                                                                      \
    ROW_CHOICE(key, part_formats[LLM_PART_##part], DEFAULT("default"), part_formats, "number format " what)
#define LLM_FORMAT(key, member, what) ROW_CHOICE(key, member, DEFAULT("fp16"), formats, what)

#define ROW_OF struct llm_spec
const struct config_field catalog_llm_fields[] = {
    ROW_TEXT("source", source, REQUIRED, ANY, "source of all values of this file without a source of their own"),
    LLM_COUNT("layers", layers, LLM_MAX_LAYERS, "transformer layers"),
    LLM_COUNT("hidden", hidden, LLM_MAX_HIDDEN, "width of the hidden state"),
    LLM_COUNT("q_heads", q_heads, LLM_MAX_HEADS, "attention heads"),
    LLM_COUNT("kv_heads", kv_heads, LLM_MAX_HEADS,
              "heads of keys and values; fewer than q_heads: grouped-query attention"),
    LLM_COUNT("head_dim", head_dim, LLM_MAX_HEAD_DIM,
              "width of an attention head; with latent attention of its keys, the rotary part left out"),
    LLM_OPTION("query_latent", query_latent, LLM_MAX_HIDDEN,
               "latent attention: width of what queries are made of, 0 for the hidden state"),
    LLM_OPTION("kv_latent", kv_latent, LLM_MAX_HIDDEN,
               "latent attention: width of what keys and values are made of and the cache holds; 0: plain attention"),
    LLM_OPTION("rotary_dim", rotary_dim, LLM_MAX_HEAD_DIM, "latent attention: width of the rotary part of keys"),
    LLM_OPTION("value_dim", value_dim, LLM_MAX_HEAD_DIM,
               "width of a head's values; 0: that of keys, but with latent attention, which needs it"),
    LLM_OPTION("ffn", ffn, LLM_MAX_FFN, "width of the feed-forward layer; beside experts: of the shared expert"),
    LLM_COUNT("vocab", vocab, LLM_MAX_VOCAB, "rows of the vocabulary matrices"),
    LLM_COUNT("max_context", max_context, LLM_MAX_CONTEXT,
              "longest context the LLM was trained or extended for, in tokens"),
    LLM_OPTION("sliding_window", sliding_window, -1, "tokens that a query looks back, 0 for all"),
    LLM_OPTION("full_layers", full_layers, LLM_MAX_LAYERS, "layers without the sliding window that the others have"),
    LLM_OPTION("window_q_heads", window_q_heads, LLM_MAX_HEADS,
               "attention heads of layers with the sliding window beside full_layers; 0: q_heads"),
    LLM_OPTION("window_kv_heads", window_kv_heads, LLM_MAX_HEADS, "their heads of keys and values; 0: kv_heads"),
    LLM_OPTION("window_head_dim", window_head_dim, LLM_MAX_HEAD_DIM, "width of these; 0: head_dim"),
    LLM_OPTION("window_value_dim", window_value_dim, LLM_MAX_HEAD_DIM,
               "width of their values; 0: window_head_dim, or value_dim without that"),
    LLM_FLAG("keys_as_values", keys_as_values,
             "full_layers make values of what keys are made of, without a matrix of their own"),
    LLM_OPTION("index_heads", index_heads, LLM_MAX_HEADS, "sparse attention: heads of the indexer"),
    LLM_OPTION("index_dim", index_dim, LLM_MAX_HEAD_DIM, "sparse attention: width of these, and of the key it caches"),
    LLM_OPTION("index_tokens", index_tokens, LLM_MAX_CONTEXT,
               "sparse attention: tokens that the indexer chooses for a query; 0: a query attends to all"),
    LLM_OPTION("index_layers", index_layers, LLM_MAX_LAYERS,
               "sparse attention: layers with an indexer of their own; the others take its choice over"),
    LLM_OPTION("linear_layers", linear_layers, LLM_MAX_LAYERS,
               "layers with linear attention (Gated DeltaNet) in place of softmax attention"),
    LLM_OPTION("linear_key_heads", linear_key_heads, LLM_MAX_HEADS, "linear attention: heads of queries and keys"),
    LLM_OPTION("linear_value_heads", linear_value_heads, LLM_MAX_HEADS, "linear attention: heads of values and states"),
    LLM_OPTION("linear_key_dim", linear_key_dim, LLM_MAX_HEAD_DIM, "linear attention: width of a key"),
    LLM_OPTION("linear_value_dim", linear_value_dim, LLM_MAX_HEAD_DIM, "linear attention: width of a value"),
    LLM_OPTION("linear_conv", linear_conv, LLM_MAX_HEAD_DIM, "linear attention: tokens that its convolution spans"),
    LLM_FLAG("chunked", chunked, "whether a query sees its own chunk of sliding_window tokens alone"),
    LLM_OPTION("experts", experts, LLM_MAX_EXPERTS, "experts per layer, 0 for a dense LLM"),
    LLM_OPTION("experts_per_token", experts_per_token, LLM_MAX_EXPERTS, "experts that serve a token"),
    LLM_OPTION("expert_ffn", expert_ffn, LLM_MAX_FFN, "width of an expert's feed-forward layer"),
    LLM_OPTION("dense_layers", dense_layers, LLM_MAX_LAYERS,
               "first layers, which have a dense feed-forward layer instead"),
    LLM_OPTION("dense_ffn", dense_ffn, LLM_MAX_FFN, "width of the feed-forward layer of these"),
    LLM_FLAG("alternating_dense", alternating_dense, "whether dense layers alternate with the others instead"),
    LLM_OPTION("mtp_layers", mtp_layers, LLM_MAX_MTP_LAYERS,
               "further layers for multi-token prediction, which services load that draft with 'mtp'"),
    LLM_FLAG("gated_ffn", gated_ffn, "gate and up projection instead of up alone"),
    LLM_FLAG("parallel_block", parallel_block, "attention and feed-forward layer side by side"),
    LLM_FLAG("tied_embeddings", tied_embeddings, "the head shares the input embedding"),
    LLM_FLAG("qkv_bias", qkv_bias, "bias on query, key and value projections"),
    LLM_FLAG("output_bias", output_bias, "bias on the attention's output projection"),
    LLM_FLAG("ffn_bias", ffn_bias, "bias on the feed-forward projections"),
    LLM_FLAG("expert_bias", expert_bias, "bias on the experts' projections and on the router"),
    LLM_FLAG("head_bias", head_bias, "bias on the head"),
    LLM_FLAG("norm_bias", norm_bias, "norms with weight and bias (LayerNorm) instead of weight alone (RMSNorm)"),
    LLM_FLAG("qk_norm", qk_norm, "norms on queries and keys"),
    LLM_FLAG("wide_qk_norm", wide_qk_norm, "these norms span all heads, whose GPUs add up sums of squares"),
    LLM_FLAG("attention_gate", attention_gate, "a gate on the results of attention, made beside the queries"),
    LLM_FLAG("shared_gate", shared_gate, "a gate on what the shared expert makes, one number per token"),
    LLM_FLAG("attention_sinks", attention_sinks, "a learned number per head in each softmax"),
    LLM_FLAG("embedding_norm", embedding_norm, "norm after the input embedding"),
    ROW_INT("layer_norms", layer_norms, DEFAULT("2"), WITHIN(0, 8), "norms per layer"),
    LLM_OPTION("position_embeddings", position_embeddings, LLM_MAX_CONTEXT, "learned positions"),
    LLM_FORMAT("weights", weights, "number format of the layers' matrices"),
    LLM_PART("attention_weights", ATTENTION, "of the attention's projections"),
    LLM_PART("output_weights", OUT, "of the attention's output projection; default: that of attention_weights"),
    LLM_PART("dense_weights", DENSE, "of feed-forward layers, the shared expert left out"),
    LLM_PART("shared_weights", SHARED, "of the shared expert"),
    LLM_PART("expert_weights", EXPERTS, "of the experts' matrices"),
    LLM_PART("head_weights", HEAD, "of the head; default: that of compute"),
    LLM_FORMAT("compute", compute, "number format of computing, activations and all other weights"),
    LLM_FORMAT("kv", kv, "number format of the KV cache"),
    LLM_OPTION("parameters", published_parameters, -1, "number of parameters that the publisher states"),
    {0},
};
#undef ROW_OF

/* --- Entries --- */

static const struct shelf gpus = {"hardware", "GPU", "orrery list gpus", NULL,
                                  "only GPUs of NVIDIA and AMD are modelled, whole or in MIG slices"};
static const struct shelf llms = {"llms", "LLM", "orrery list llms", NULL, NULL};

int catalog_list_gpus(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return shelf_list(catalog, &gpus, arena, names, diag);
}

int catalog_list_llms(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return shelf_list(catalog, &llms, arena, names, diag);
}

/* Reads the file of an entry. */
static int read_gpu(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                    struct gpu_file *file, struct diag *diag)
{
    const char *path;
    *file = (struct gpu_file){.gpu = {.name = NULL}};
    int code = shelf_find(catalog, &gpus, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, catalog_gpu_fields, arena, file, sizeof *file, diag);
    if (code != 0) return code;
    file->gpu.name = shelf_entry_name(arena, path);
    return file->gpu.name ? 0 : diag_nomem(diag);
}

int catalog_gpu(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct gpu_spec *gpu, struct diag *diag)
{
    struct gpu_file file;
    struct mig_name parts;
    int code = mig_name_split(name, arena, &parts, diag);
    if (code == 0) code = read_gpu(catalog, parts.board, where, arena, &file, diag);
    if (code == 0 && parts.profile != NULL) code = mig_cut(&file.gpu, &file.mig, parts.profile, where, arena, diag);
    if (code == 0) *gpu = file.gpu;
    return code;
}

int catalog_gpu_profiles(const struct catalog *catalog, const char *name, struct arena *arena, const char **text,
                         struct diag *diag)
{
    struct gpu_file file;
    int code = read_gpu(catalog, name, name, arena, &file, diag);
    const struct mig_profile *profile = file.mig.items;
    *text = "";
    for (size_t i = 0; i < file.mig.n && code == 0; i++) {
        *text = arena_printf(arena, "%s%s%s", *text, i > 0 ? " " : "", profile[i].name);
        if (*text == NULL) code = diag_nomem(diag);
    }
    return code;
}

int catalog_gpu_price_origin(const struct catalog *catalog, const char *name, struct arena *arena, const char **text,
                             struct diag *diag)
{
    struct config_origin origin;
    struct config *config;
    struct mig_name parts;
    const char *path;
    *text = NULL;
    int code = mig_name_split(name, arena, &parts, diag);
    if (code == 0) code = shelf_find(catalog, &gpus, parts.board, "GPU", arena, &path, diag);
    if (code == 0) code = config_load(path, &config, diag);
    if (code != 0) return code;
    if (config_origin(config, "price", &origin) && origin.source != NULL) {
        const bool is_derived = origin.sure != NULL && strcmp(origin.sure, "derived") == 0;
        *text = arena_printf(arena, "%s%s", is_derived ? "derived: " : "", origin.source);
        if (*text == NULL) code = diag_nomem(diag);
    }
    config_destroy(config);
    return code;
}

/* A file of ours: the shape, and names that no run needs. */
struct llm_file {
    struct llm_spec llm;
    struct config_list aliases; /* of const char * */
};

static int bind_llm(const struct catalog *catalog, const char *path, struct arena *arena, struct llm_file *file,
                    struct diag *diag)
{
    enum { N_FIELDS = sizeof catalog_llm_fields / sizeof *catalog_llm_fields };
    static const struct config_field item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 200}};
    struct config_field fields[N_FIELDS + 1];
    memcpy(fields, catalog_llm_fields, sizeof catalog_llm_fields);
    fields[N_FIELDS] = fields[N_FIELDS - 1]; /* the end of the table */
    fields[N_FIELDS - 1] = (struct config_field){.name = "aliases",
                                                 .kind = CONFIG_LIST,
                                                 .flags = CONFIG_OPTIONAL,
                                                 .offset = offsetof(struct llm_file, aliases),
                                                 .fields = item,
                                                 .elem_bytes = sizeof(const char *),
                                                 .help = "other names, such as ids on the Hugging Face hub"};
    const struct catalog unkept = {.root = catalog->root, .files = catalog->files}; /* this table ends with the call */
    return shelf_bind(&unkept, path, fields, arena, file, sizeof *file, diag);
}

static int check_shape(const struct json_node *root, const struct llm_spec *llm, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    const char *problem = llm_problem(llm);
    if (!problem) return 0;
    return diag_error(diag, SIM_E_CONFIG, json_where(root, where, sizeof where), NULL, "no LLM has this shape: %s",
                      problem);
}

/* Loads the hf_quant_config.json that ModelOpt writes beside a config.json, if that says nothing of formats. */
static int load_beside(const struct catalog *catalog, const char *path, const struct json_node *root,
                       struct arena *arena, struct json_node **beside, struct diag *diag)
{
    if (strcmp(path_name(path), "config.json") != 0 || is_given(root, "quantization_config")) return 0;
    const char *folder = path_directory(arena, path);
    const char *other = folder != NULL ? path_join(arena, folder, "hf_quant_config.json") : NULL;
    if (other == NULL) return diag_nomem(diag);
    if (access(other, F_OK) != 0) return 0;
    const int code = json_load_python(arena, other, beside, diag);
    if (code == 0) shelf_note(catalog, &(*beside)->source->bytes);
    return code;
}

int catalog_llm(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct llm_spec *llm, struct diag *diag)
{
    const char *path;
    int code = llm_names_find(catalog, &llms, name, where, arena, &path, diag);
    if (code != 0) return code;
    struct json_node *root;
    struct llm_file file;
    code = json_load_python(arena, path, &root, diag); /* a file of our own is read again, and strictly */
    if (code != 0) return code;
    shelf_note(catalog, &root->source->bytes);
    if (huggingface_recognises(root)) {
        struct json_node *beside = NULL;
        code = load_beside(catalog, path, root, arena, &beside, diag);
        if (code == 0) code = huggingface_read(root, beside, llm, diag);
    } else {
        code = bind_llm(catalog, path, arena, &file, diag);
        if (code == 0) *llm = file.llm;
    }
    if (code == 0) code = check_shape(root, llm, diag);
    if (code != 0) return code;
    llm->name = shelf_entry_name(arena, path);
    return llm->name ? 0 : diag_nomem(diag);
}

int catalog_llm_aliases(const struct catalog *catalog, const char *name, struct arena *arena, const char **aliases,
                        struct diag *diag)
{
    const char *path;
    struct llm_file file;
    *aliases = "";
    int code = shelf_find(catalog, &llms, name, name, arena, &path, diag);
    if (code == 0) code = bind_llm(catalog, path, arena, &file, diag);
    for (size_t i = 0; code == 0 && i < file.aliases.n; i++) {
        *aliases = arena_printf(arena, "%s%s%s", *aliases, i > 0 ? " " : "",
                                ((const char *const *)file.aliases.items)[i]);
        if (*aliases == NULL) return diag_nomem(diag);
    }
    return code;
}

/* --- Prices --- */

static const struct shelf price_lists = {"prices", "price list", "orrery list prices", NULL, NULL};

#define PRICE(key, member, what)                                                                                       \
    ROW_QUANTITY(key, member, UNIT_MONEY_PER_H, SOURCED_OPTIONAL, WITHIN(0, 1e6), what)
#define ROW_OF struct price_entry
static const struct config_field entry_fields[] = {
    PRICE("on_demand", on_demand_usd_per_h, "of one GPU on demand"),
    PRICE("reserved", reserved_usd_per_h, "of one reserved GPU"),
    PRICE("spot", spot_usd_per_h, "of one spot GPU, which may be revoked"),
    {0}};
#undef PRICE
#undef ROW_OF

#define ROW_OF struct price_list
static const struct config_field catalog_price_fields[] = {
    ROW_TEXT("date", date, REQUIRED, WITHIN(4, 64), "date of these prices"),
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 1024), "source of the prices"),
    ROW_MAP("gpus", gpus, REQUIRED, WITHIN(1, 1000), struct price_entry, entry_fields, "prices by the name of the GPU"),
    {0}};
#undef ROW_OF

int catalog_list_prices(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                        struct diag *diag)
{
    return shelf_list(catalog, &price_lists, arena, names, diag);
}

int catalog_prices(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                   struct price_list *prices, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &price_lists, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, catalog_price_fields, arena, prices, sizeof *prices, diag);
    if (code != 0) return code;
    prices->name = shelf_entry_name(arena, path);
    return prices->name != NULL ? 0 : diag_nomem(diag);
}

const struct price_entry *price_list_find(const struct price_list *prices, const char *gpu)
{
    const struct price_entry *entry = prices->gpus.items;
    for (size_t i = 0; gpu != NULL && i < prices->gpus.n; i++, entry++)
        if (strcmp(entry->gpu, gpu) == 0) return entry;
    return NULL;
}

bool price_list_price(const struct price_list *prices, const struct gpu_spec *gpu, const char *name,
                      struct price_entry *price)
{
    const struct price_entry *entry = price_list_find(prices, name);
    const bool is_whole = entry == NULL && gpu->whole != NULL;
    if (is_whole) entry = price_list_find(prices, gpu->whole->name);
    if (entry == NULL) return false;
    const double parts = is_whole ? (double)gpu->slices : 1.0;
    *price = (struct price_entry){entry->gpu, entry->on_demand_usd_per_h / parts, entry->reserved_usd_per_h / parts,
                                  entry->spot_usd_per_h / parts};
    return true;
}
