#include "models/training/placement.h"
#include "sim/catalog/training_lengths.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const schedules[] = {"gpipe", "1f1b", "interleaved", "zero-bubble", NULL};
static const char *const recomputes[] = {"none", "selective", "full", "as-needed", "fastest", NULL};
static const char *const context_forms[] = {"ring", "all-to-all", "token-ring", NULL};
static const char *const weight_messages[] = {"stored", "int8", NULL};
static const char *const gradient_messages[] = {"stored", "int8", "int4", NULL};
static const char *const precisions[] = {"bf16", "fp16", "fp8", NULL};
static const enum number_format formats[] = {FORMAT_BF16, FORMAT_FP16, FORMAT_FP8};

#define ROW_OF struct training_shape
static const struct config_field shape_fields[] = {
    ROW_INT("layers", layers, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS), "layers; 0: those of the LLM"),
    ROW_INT("hidden", hidden, DEFAULT("0"), WITHIN(0, LLM_MAX_HIDDEN),
            "width of the hidden state, with feed-forward layers in proportion; 0: that of the LLM"),
    ROW_INT("heads", heads, DEFAULT("0"), WITHIN(0, LLM_MAX_HEADS),
            "attention heads that share 'hidden' evenly, each with keys and values of its own; 0: those of the LLM"),
    ROW_INT("dense_layers", dense_layers, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),
            "first layers without experts; 0: those of the LLM"),
    ROW_INT("linear_layers", linear_layers, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),
            "layers whose attention is linear in place of softmax; their context ranks gather states (LASP-2)"),
    {0}};
#undef ROW_OF

static const char *const flushes[] = {"blocking", "overlapped", NULL};
static const char *const updates[] = {"at-end", "delayed", NULL};

#define ROW_OF struct training_offload_config
static const struct config_field offload_fields[] = {
    ROW_REAL("optimizer", optimizer_frac, DEFAULT("0"), WITHIN(0, 1),
             "share of the optimizer's states in host memory, which CPUs update"),
    ROW_CHOICE("flush", flush, DEFAULT("blocking"), flushes,
               "gradients go to the host before the backward pass goes on, or beside it"),
    ROW_CHOICE("update", update, DEFAULT("at-end"), updates,
               "CPUs update at the end of a step, or beside the next one, whose weights are then a step older"),
    ROW_INT("gpu_stride", gpu_stride, DEFAULT("0"), WITHIN(0, 1 << 20),
            "of so many groups of these states the GPU updates one; 0: none"),
    ROW_QUANTITY("cpu_update", cpu_update_per_s, UNIT_RATE, SOURCED_DEFAULT("6.64e9/s"), POSITIVE,
                 "parameters that the CPUs of a node update"),
    ROW_QUANTITY("flush_rate", flush_bytes_per_s, UNIT_BYTES_PER_S, SOURCED_DEFAULT("4.96GB/s"), POSITIVE,
                 "of a flush that blocks, per GPU"),
    ROW_QUANTITY("link", link_bytes_per_s, UNIT_BYTES_PER_S, SOURCED_OPTIONAL, POSITIVE,
                 "pinned host memory to a GPU and back, each way; default: its PCIe bandwidth"),
    {0}};
#undef ROW_OF

static const char *const homes[] = {"gpu", "host", "disk", NULL};
static const char *const flows[] = {"serial", "prefetched", "pipelined", NULL};
static const char *const placements[] = {"given", "search", NULL};
static const char *const gathers[] = {"all-links", "owner", NULL};

#define ROW_OF struct training_tiers_config
static const struct config_field tiers_fields[] = {
    ROW_CHOICE("weights", weights, DEFAULT("gpu"), homes, "where each rank keeps its weights"),
    ROW_CHOICE("gradients", gradients, DEFAULT("gpu"), homes, "where each rank keeps its gradients"),
    ROW_CHOICE("optimizer", optimizer, DEFAULT("gpu"), homes,
               "where each rank keeps its optimizer states; CPUs update those beyond the GPU"),
    ROW_CHOICE("activations", activations, DEFAULT("gpu"), homes,
               "where lies what the backward pass needs; disk: what host memory has no room for"),
    ROW_CHOICE("flow", flow, DEFAULT("prefetched"), flows,
               "serial: work and transfers take turns; prefetched: layers move beside computing (ZeRO-Infinity); "
               "pipelined: CPUs also update beside the backward pass (Fuyou)"),
    ROW_CHOICE("gather", gather, DEFAULT("all-links"), gathers,
               "all ranks bring their shard of a layer over their links, or one owner brings all of it"),
    ROW_INT("tiles", tiles, DEFAULT("1"), WITHIN(1, 1 << 16),
            "parts of a layer's weights and gradients that come to the GPU one after another"),
    ROW_CHOICE("placement", placement, DEFAULT("given"), placements,
               "the next three keys and recomputed layers are given, or searched for the shortest step (ProTrain)"),
    ROW_INT("persistent", persistent, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),
            "layers whose states stay on the GPU, wherever others lie"),
    ROW_INT("buffers", buffers, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),
            "layers of other weights that the GPU keeps for the backward pass; 0: two, which come again for each pass"),
    ROW_INT("swapped", swapped, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),
            "layers whose activations lie where 'activations' says; 0: all"),
    ROW_QUANTITY("host_memory", host_bytes, UNIT_BYTES, OPTIONAL, POSITIVE, "of a node; default: not limited"),
    ROW_QUANTITY("disk", disk_bytes, UNIT_BYTES, OPTIONAL, POSITIVE, "capacity of a node's drives; default: not limited"),
    ROW_QUANTITY("disk_read", read_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE, "of a node's drives together"),
    ROW_QUANTITY("disk_write", write_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE, "of a node's drives together"),
    ROW_QUANTITY("link", link_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "host memory to a GPU and back, each way; default: its PCIe bandwidth"),
    ROW_QUANTITY("cpu_update", cpu_update_per_s, UNIT_RATE, SOURCED_DEFAULT("6.64e9/s"), POSITIVE,
                 "parameters that the CPUs of a node update"),
    ROW_REAL("others_disk", others_disk_frac, DEFAULT("0"), WITHIN(0, 0.99),
             "share of the drives' bandwidth that others take, such as checkpoints"),
    ROW_REAL("others_link", others_link_frac, DEFAULT("0"), WITHIN(0, 0.99),
             "share of the link that others take, such as reading of data"),
    {0}};
#undef ROW_OF

static const char *const nic_groups[] = {"fastest", "apart", "mixed", NULL};
static const char *const nic_layers[] = {"by-speed", "even", NULL};

#define ROW_OF struct training_cluster_config
static const struct config_field cluster_fields[] = {
    ROW_INT("stages", stages, REQUIRED, WITHIN(1, TRAINING_NICS_STAGES), "stages of the pipeline in this cluster"),
    ROW_QUANTITY("network", network_bytes_per_s, UNIT_BYTES_PER_S, REQUIRED, POSITIVE,
                 "bandwidth between its nodes, per GPU and direction"),
    {0}};
#undef ROW_OF

#define ROW_OF struct training_nics_config
static const struct config_field nics_fields[] = {
    ROW_LIST("clusters", clusters, REQUIRED, WITHIN(1, TRAINING_CLUSTERS), struct training_cluster_config,
             cluster_fields, "clusters in the order of the pipeline's stages"),
    ROW_QUANTITY("between", between_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth between nodes of two clusters, per GPU and direction"),
    ROW_CHOICE("groups", groups, DEFAULT("fastest"), nic_groups,
               "apart: data ranks of a stage lie in one cluster (Holmes); mixed: in all; fastest: what is faster"),
    ROW_CHOICE("layers", layers, DEFAULT("by-speed"), nic_layers,
               "apart: stages with slower NICs get fewer layers, or all get as many"),
    {0}};
#undef ROW_OF

#define SIZE(key, member, what) ROW_INT(key, member, DEFAULT("1"), WITHIN(1, 1 << 20), what)

/* The rows of struct training_config inside ROW_OF, at `t`. */
#define TRAINING_ROWS(t)                                                                                               \
    ROW_NAME_OR_PATH("llm", t llm, REQUIRED, WITHIN(1, 4096), "LLM that is trained ('orrery list llms')"),              \
    ROW_SECTION("shape", t shape, FILLED, shape_fields, "changes of the LLM's shape"),                                 \
    ROW_NAME_OR_PATH("trainer", t trainer, DEFAULT("megatron-core"), WITHIN(1, 4096),                                  \
                     "training program ('orrery list trainers'): its kernels, states and constants"),                  \
    SIZE("tensor_parallel", t tensor_parallel, "GPUs that share each layer"),                                          \
    SIZE("pipeline_parallel", t pipeline_parallel, "stages of the pipeline"),                                          \
    SIZE("pipeline_chunks", t pipeline_chunks, "parts of the layers on each stage, of an interleaved schedule"),       \
    SIZE("context_parallel", t context_parallel, "GPUs that share each sequence"),                                     \
    SIZE("expert_parallel", t expert_parallel, "groups that the experts are dealt to, among context and data ranks"),  \
    ROW_INT("expert_parts", t expert_parts, DEFAULT("1"), WITHIN(0, 8),                                                \
            "parts of a micro-batch that experts get in turn, messages of one beside work on others; 0: the fastest"), \
    ROW_INT("gradient_parts", t gradient_parts, DEFAULT("0"), WITHIN(0, 8),                                            \
            "most messages of a layer's gradients, between others of the backward pass; 0: as overlap_gradients says"),\
    ROW_BOOL("sequence_parallel", t sequence_parallel, DEFAULT("true"),                                                \
             "the GPUs of a tensor group split norms and residuals by tokens"),                                        \
    ROW_BOOL("scatter_gather", t scatter_gather, DEFAULT("true"),                                                      \
             "without sequence_parallel: stages send shares of the hidden state, and gather them"),                    \
    ROW_CHOICE("schedule", t schedule, DEFAULT("1f1b"), schedules, "order of the passes in the pipeline"),             \
    ROW_INT("micro_batch", t micro_batch, DEFAULT("1"), WITHIN(0, 1 << 16),                                            \
            "sequences of a micro-batch; 0: the fastest number that fits"),                                            \
    ROW_INT("micro_batches", t micro_batches, DEFAULT("0"), WITHIN(0, 1 << 20),                                        \
            "micro-batches of a step on each data rank, in place of a global batch"),                                  \
    ROW_INT("global_batch", t global_batch, DEFAULT("0"), WITHIN(0, 1 << 24), "sequences of a step"),                  \
    ROW_INT("global_batch_tokens", t global_batch_tokens, DEFAULT("0"), WITHIN(0, 1e12),                               \
            "tokens of a step, in place of sequences"),                                                                \
    ROW_INT("sequence_tokens", t sequence_tokens, DEFAULT("4096"), WITHIN(1, 1 << 26), "tokens of a sequence"),        \
    ROW_CHOICE("recompute", t recompute, DEFAULT("none"), recomputes,                                                  \
               "what the backward pass computes again: nothing, the inside of attention, whole layers, as few whole "  \
               "layers of each stage as fit into memory, or as many as make the step shortest"),                       \
    ROW_INT("recompute_layers", t recompute_layers, DEFAULT("0"), WITHIN(0, LLM_MAX_LAYERS),                           \
            "full: layers of each stage that are recomputed; 0: all"),                                                 \
    ROW_INT("zero", t zero, DEFAULT("1"), WITHIN(0, 3),                                                                \
            "ZeRO stage over the data ranks: 1 shards optimizer states, 2 gradients too, 3 weights too"),              \
    ROW_INT("shard_weights", t shard_weights, DEFAULT("0"), WITHIN(0, 1 << 20),                                        \
            "neighbouring ranks that share weights, in place of 'zero'; with the next two keys"),                      \
    ROW_INT("shard_gradients", t shard_gradients, DEFAULT("0"), WITHIN(0, 1 << 20),                                    \
            "ranks that share gradients"),                                                                             \
    ROW_INT("shard_optimizer", t shard_optimizer, DEFAULT("0"), WITHIN(0, 1 << 20),                                    \
            "ranks that share optimizer states"),                                                                      \
    ROW_INT("shard_secondary", t shard_secondary, DEFAULT("0"), WITHIN(0, 1 << 20),                                    \
            "neighbouring ranks that share a second copy of shared weights, for the backward pass; 0: none"),          \
    ROW_CHOICE("weight_messages", t weight_message, DEFAULT("stored"), weight_messages,                                \
               "numbers in gathers of weights: as the trainer stores them, or in 8 bits"),                             \
    ROW_CHOICE("gradient_messages", t gradient_message, DEFAULT("stored"), gradient_messages,                          \
               "numbers in reductions of gradients: as stored, or in few bits by all-to-alls in and among nodes"),     \
    ROW_CHOICE("precision", t precision, DEFAULT("bf16"), precisions, "number format of matrix products"),             \
    ROW_BOOL("overlap_tensor", t overlap_tensor, DEFAULT("false"),                                                     \
             "backward, collectives of tensor parallelism run beside products"),                                       \
    ROW_BOOL("overlap_gradients", t overlap_gradients, DEFAULT("false"),                                               \
             "gradients are reduced beside the last backward pass"),                                                   \
    ROW_BOOL("overlap_weights", t overlap_weights, DEFAULT("false"), "weights are gathered beside computing"),         \
    ROW_CHOICE("context_form", t context_form, DEFAULT("ring"), context_forms,                                         \
               "how ranks of a sequence meet: keys and values circulate, heads are exchanged for tokens, or queries "  \
               "circulate and partial results return (TokenRing)"),                                                    \
    ROW_SECTION("offload", t offload, FILLED, offload_fields, "optimizer states in host memory"),                      \
    ROW_SECTION("tiers", t tiers, OPTIONAL, tiers_fields, "states in host memory and on drives of the node"),          \
    ROW_SECTION("nics", t nics, OPTIONAL, nics_fields, "clusters whose NICs differ"),                                  \
    ROW_SECTION("lengths", t lengths, FILLED, training_lengths_fields, "sequences of unlike length"),                  \
    ROW_REAL("reserve", t reserve_frac, DEFAULT("0.06"), WITHIN(0, 0.9),                                               \
             "share of the GPU's memory kept for fragments, the runtime and communication")

#define ROW_OF struct training_config
const struct config_field training_config_fields[] = {TRAINING_ROWS(), {0}};
#undef ROW_OF

#define ROW_OF struct training_job_config
const struct config_field training_job_config_fields[] = {
    TRAINING_ROWS(plan.),
    ROW_INT("steps", steps, DEFAULT("0"), WITHIN(0, 1e12),
            "steps of each job, in place of the trace's run time; 0: the trace says how long, or how many steps"),
    {0}};
#undef ROW_OF

#define ROW_OF struct training_request
const struct config_field training_request_fields[] = {
    ROW_NAME_OR_PATH("gpu", gpu, REQUIRED, WITHIN(1, 4096), "GPU ('orrery list gpus')"),
    ROW_INT("gpus", gpus, DEFAULT("8"), WITHIN(1, 1 << 20), "GPUs of the job"),
    ROW_INT("gpus_per_node", gpus_per_node, DEFAULT("8"), WITHIN(1, 1 << 16), "GPUs of a node"),
    ROW_QUANTITY("network", network_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth between nodes, per GPU and direction"),
    ROW_INT("nodes_per_rack", nodes_per_rack, DEFAULT("0"), WITHIN(0, 1 << 20),
            "nodes below one leaf switch, for the bytes between racks; 0: all are in one rack"),
    ROW_BOOL("nvlink", nvlink, DEFAULT("true"), "GPUs of a node are joined by NVLink, if they can be; else by PCIe"),
    ROW_INT("gpus_per_switch", gpus_per_switch, DEFAULT("0"), WITHIN(0, 1024),
            "GPUs behind one PCIe switch, one switch for each socket; 0: as in the file of the GPU"),
    ROW_REAL("bridge_share", bridge_share, OPTIONAL, WITHIN(0.01, 1),
             "share of the PCIe bandwidth beyond each bridge, of a switch and of a socket; default: as in that file"),
    ROW_REAL("link_share", link_share, DEFAULT("1"), WITHIN(0.01, 1),
             "share of the data sheet's bandwidth that the server leaves between GPUs of a node"),
    TRAINING_ROWS(training.),
    {0}};
#undef ROW_OF

/* --- The LLM --- */

static int64_t scaled(int64_t width, int64_t to, int64_t from)
{
    return (int64_t)llround((double)width * (double)to / (double)from);
}

static void reshape(struct llm_spec *llm, const struct training_shape *shape)
{
    if (shape->layers > 0) llm->layers = shape->layers;
    if (shape->dense_layers > 0) llm->dense_layers = shape->dense_layers;
    if (shape->hidden > 0) {
        llm->ffn = scaled(llm->ffn, shape->hidden, llm->hidden);
        llm->expert_ffn = scaled(llm->expert_ffn, shape->hidden, llm->hidden);
        llm->dense_ffn = scaled(llm->dense_ffn, shape->hidden, llm->hidden);
        llm->hidden = shape->hidden;
    }
    if (shape->heads > 0) {
        llm->q_heads = llm->kv_heads = shape->heads;
        llm->head_dim = llm->hidden / shape->heads;
    }
}

static int read_llm(const struct catalog *catalog, const struct training_config *config, const char *where,
                    struct arena *arena, struct llm_spec *llm, struct diag *diag)
{
    const int code = catalog_llm(catalog, config->llm, where, arena, llm, diag);
    if (code != 0) return code;
    reshape(llm, &config->shape);
    llm_set_weights(llm, FORMAT_BF16);
    llm->compute = llm->kv = FORMAT_BF16;
    const char *problem = llm_problem(llm);
    return problem == NULL ? 0 : diag_error(diag, SIM_E_CONFIG, where, "see the keys below 'shape'", "%s", problem);
}

/* --- The setup --- */

/* The links of this server. */
static void join_gpus(const struct training_request *request, struct gpu_spec *gpu)
{
    if (!request->nvlink) {
        gpu->fabric = FABRIC_NONE;
        gpu->nvlink_gpus = 0;
    }
    if (request->gpus_per_switch > 0) {
        gpu->gpus_per_switch = request->gpus_per_switch;
        gpu->switches_per_socket = 1;
    }
    if (!isnan(request->bridge_share)) gpu->bridge_share = request->bridge_share;
    gpu->nvlink_bytes_per_s *= request->link_share;
    gpu->pcie_bytes_per_s *= request->link_share;
}

int training_setup_make(const struct catalog *catalog, const struct training_request *request, const char *where,
                        struct arena *arena, struct training_setup *setup, struct diag *diag)
{
    const struct training_config *config = &request->training;
    *setup = (struct training_setup){.config = config, .gpus = request->gpus, .gpus_per_node = request->gpus_per_node,
                                     .nodes_per_rack = request->nodes_per_rack,
                                     .network_bytes_per_s = isnan(request->network_bytes_per_s)
                                                                ? 0.0 : request->network_bytes_per_s};
    if (training_chooses_layers(config->recompute) && config->recompute_layers > 0)
        return diag_error(diag, SIM_E_CONFIG, where, "leave 'recompute_layers' out, or give \"recompute\": \"full\"",
                          "'recompute_layers' needs \"full\": \"%s\" finds the number of layers itself",
                          recomputes[config->recompute]);
    if (config->nics.clusters.n > 0 && request->network_bytes_per_s > 0.0)
        return diag_error(diag, SIM_E_CONFIG, where, "leave out the network, or 'nics'",
                          "'nics' states the networks of its clusters, and there is another network between nodes");
    int code = catalog_gpu(catalog, request->gpu, where, arena, &setup->gpu, diag);
    if (code == 0) join_gpus(request, &setup->gpu);
    if (code == 0) code = read_llm(catalog, config, where, arena, &setup->llm, diag);
    if (code == 0) code = catalog_trainer(catalog, config->trainer, where, arena, &setup->preset, diag);
    if (code == 0) code = training_lengths_draw(config, where, arena, &setup->lengths, diag);
    if (code != 0) return code;
    const bool over_pcie = config->tensor_parallel > setup->gpu.nvlink_gpus ||
                           (request->gpus > setup->gpu.nvlink_gpus && setup->gpu.nvlink_gpus < request->gpus_per_node);
    const struct calibration_request wanted = {
        .gpu = gpu_whole_name(&setup->gpu), .is_slice = setup->gpu.slices > 0,
        .kernels = setup->preset.kernels, .collectives = setup->preset.collectives,
        .own_kernels = setup->preset.own_kernels, .over_pcie = over_pcie, .nvlink_gpus = setup->gpu.nvlink_gpus,
        .where = where, .sets_where = setup->preset.path};
    code = calibration_read(catalog, &wanted, arena, &setup->calibration, diag);
    if (code != 0) return code;
    calibration_leave_benchmarks(&setup->calibration.kernels);
    setup->trainer_measured = trainer_preset_constants(&setup->preset, gpu_whole_name(&setup->gpu), &setup->trainer);
    setup->parts = (struct training_parts){&setup->gpu, &setup->llm, &setup->calibration.kernels, &setup->plan,
                                           &setup->trainer};
    return 0;
}

/* --- The plan --- */

int64_t training_config_sequences(const struct training_config *config)
{
    if (config->global_batch_tokens > 0)
        return (config->global_batch_tokens + config->sequence_tokens / 2) / config->sequence_tokens;
    return config->global_batch;
}

static const char *find_batches(struct training_plan *plan, const struct training_config *config, bool rounds)
{
    const int64_t sequences = training_config_sequences(config), each = plan->data * plan->micro_batch;
    if (sequences == 0 && config->micro_batches == 0)
        return "a plan needs 'global_batch', 'global_batch_tokens' or 'micro_batches'";
    if (sequences > 0 && config->micro_batches > 0) return "'micro_batches' and a global batch exclude each other";
    if (config->global_batch > 0 && config->global_batch_tokens > 0)
        return "'global_batch' and 'global_batch_tokens' exclude each other";
    plan->micro_batches = config->micro_batches;
    if (sequences == 0) return NULL;
    if (sequences % each != 0 && !rounds)
        return "the global batch is not a multiple of the data ranks times 'micro_batch'";
    plan->micro_batches = (sequences + each - 1) / each;
    if (rounds && plan->schedule == SCHEDULE_INTERLEAVED)
        plan->micro_batches = (plan->micro_batches + plan->pipeline - 1) / plan->pipeline * plan->pipeline;
    return NULL;
}

static bool fits(const struct training_setup *setup)
{
    const struct training_memory memory = training_memory_of(&setup->parts);
    return training_memory_lacks(&setup->parts, &memory, setup->config->reserve_frac) == TRAINING_HOMES;
}

/* Of a stage. */
static int64_t most_layers(const struct training_setup *setup)
{
    int64_t most = 0;
    for (int64_t i = 0; i < setup->plan.pipeline; i++) {
        const int64_t layers = training_plan_layers(&setup->plan, &setup->llm, i);
        most = layers > most ? layers : most;
    }
    return most;
}

/* The plan recomputes as few layers of each stage as fit; if no number fits, all. From the first layer on, each further
 * one takes less memory. */
static void recompute_as_needed(struct training_setup *setup)
{
    struct training_plan *plan = &setup->plan;
    int64_t least = 1, most = most_layers(setup);
    plan->recompute = RECOMPUTE_NONE;
    if (fits(setup)) return;
    plan->recompute = RECOMPUTE_FULL;
    while (least < most) {
        plan->recompute_layers = least + (most - least) / 2;
        if (fits(setup))
            most = plan->recompute_layers;
        else
            least = plan->recompute_layers + 1;
    }
    plan->recompute_layers = least;
}

/* Of the numbers of layers whose plan fits the fastest, the smallest if several are; if none fits, all layers. */
static void recompute_fastest(struct training_setup *setup)
{
    struct training_plan *plan = &setup->plan;
    const int64_t layers = most_layers(setup);
    int64_t best = -1;
    double best_s = 0.0;
    for (int64_t n = 0; n <= layers; n++) {
        plan->recompute = n > 0 ? RECOMPUTE_FULL : RECOMPUTE_NONE;
        plan->recompute_layers = n;
        if (!fits(setup)) continue;
        const double step_s = training_step_of(&setup->parts, setup->config->reserve_frac).step_s;
        if (best >= 0 && step_s >= best_s) continue;
        best = n;
        best_s = step_s;
    }
    plan->recompute = best == 0 ? RECOMPUTE_NONE : RECOMPUTE_FULL;
    plan->recompute_layers = best >= 0 ? best : layers;
}

static double given(double value, double otherwise)
{
    return value > 0.0 ? value : otherwise;
}

static struct training_tiers tiers_of(const struct training_tiers_config *tiers, const struct gpu_spec *gpu)
{
    return (struct training_tiers){
        .weights = (enum training_home)tiers->weights, .gradients = (enum training_home)tiers->gradients,
        .optimizer = (enum training_home)tiers->optimizer, .activations = (enum training_home)tiers->activations,
        .flow = (enum training_flow)tiers->flow, .by_owner = tiers->gather == 1, .tiles = tiers->tiles,
        .persistent = tiers->persistent, .buffers = tiers->buffers, .swapped = tiers->swapped,
        .host_bytes = given(tiers->host_bytes, 0.0), .disk_bytes = given(tiers->disk_bytes, 0.0),
        .read_bytes_per_s = given(tiers->read_bytes_per_s, 0.0),
        .write_bytes_per_s = given(tiers->write_bytes_per_s, 0.0),
        .link_bytes_per_s = given(tiers->link_bytes_per_s, gpu->pcie_bytes_per_s),
        .cpu_update_per_s = tiers->cpu_update_per_s,
        .others_disk_frac = tiers->others_disk_frac, .others_link_frac = tiers->others_link_frac};
}

static struct training_nics nics_of(const struct training_nics_config *nics)
{
    struct training_nics layout = {.n = (int64_t)nics->clusters.n,
                               .between_bytes_per_s = given(nics->between_bytes_per_s, 0.0),
                               .is_mixed = nics->groups == NIC_GROUPS_MIXED,
                               .is_uneven = nics->groups != NIC_GROUPS_MIXED && nics->layers == 0};
    const struct training_cluster_config *clusters = nics->clusters.items;
    for (int64_t i = 0; i < layout.n; i++) {
        layout.stages[i] = clusters[i].stages;
        layout.network_bytes_per_s[i] = clusters[i].network_bytes_per_s;
    }
    return layout;
}

static bool places(const struct training_config *config)
{
    return config->tiers.placement == 1;
}

/* Why the layers of the plan cannot be placed by a search, or NULL. */
static const char *placement_problem(const struct training_setup *setup)
{
    const struct training_config *config = setup->config;
    const struct training_tiers_config *tiers = &config->tiers;
    if (!places(config)) return NULL;
    if (config->recompute != RECOMPUTE_NONE || config->recompute_layers > 0 ||
        tiers->persistent + tiers->buffers + tiers->swapped > 0)
        return "\"search\" as 'tiers.placement' and the layers that it finds, also 'recompute', exclude each other";
    if (tiers->weights == HOME_GPU || tiers->optimizer == HOME_GPU)
        return "\"search\" as 'tiers.placement' needs 'tiers.weights' and 'tiers.optimizer' beyond the GPU";
    if (setup->llm.layers > TRAINING_PLACED_LAYERS)
        return "\"search\" as 'tiers.placement' is for LLMs of at most 256 layers";
    return NULL;
}

static void place_layers(struct training_setup *setup)
{
    const enum training_home kept = setup->plan.tiers.activations;
    struct training_placement placement;
    training_placement_find(&setup->parts, setup->config->reserve_frac, &placement);
    training_placement_set(&setup->plan, kept, &placement);
}

/* What the plan leaves to the setup: the recomputed layers, and those on the GPU. */
static void finish_plan(struct training_setup *setup)
{
    if (places(setup->config)) place_layers(setup);
    if (setup->config->recompute == TRAINING_AS_NEEDED) recompute_as_needed(setup);
    if (setup->config->recompute == TRAINING_FASTEST) recompute_fastest(setup);
}

/* Finishes a layout of clusters, and keeps it if it is the first, or fits where the best does not, or is faster. */
static void try_nics(struct training_setup *setup, const struct training_nics *layout, struct training_plan *best,
                     struct training_step *best_step)
{
    const struct training_plan plan = setup->plan;
    setup->plan.nics = *layout;
    finish_plan(setup);
    const struct training_step step = training_step_of(&setup->parts, setup->config->reserve_frac);
    const bool is_first = best->nics.n == 0, fits_better = step.fits && !best_step->fits;
    if (is_first || fits_better || (step.fits == best_step->fits && step.step_s < best_step->step_s)) {
        *best = setup->plan;
        *best_step = step;
    }
    setup->plan = plan;
}

/* Of the layouts that the configuration leaves open the fastest that fits. */
static void choose_nics(struct training_setup *setup)
{
    const struct training_nics_config *nics = &setup->config->nics;
    const bool is_even = setup->llm.layers % setup->plan.pipeline == 0, is_open = nics->groups == NIC_GROUPS_FASTEST;
    struct training_plan best = {.nics.n = 0};
    struct training_step best_step = {.fits = false};
    struct training_nics layout = setup->plan.nics;
    if (nics->groups != NIC_GROUPS_MIXED && nics->layers == 0) {
        struct training_layer_cost costs[TRAINING_CLUSTERS];
        training_layer_costs_of(&setup->parts, costs);
        training_nics_split(&setup->plan, costs, setup->llm.layers);
        try_nics(setup, &setup->plan.nics, &best, &best_step);
    }
    if (is_even && (is_open || nics->layers == 1) && nics->groups != NIC_GROUPS_MIXED)
        try_nics(setup, &layout, &best, &best_step);
    layout.is_mixed = true;
    setup->plan.nics = layout;
    const bool can_mix = is_even && training_plan_problem(&setup->plan, &setup->llm) == NULL;
    if (can_mix && nics->groups != NIC_GROUPS_APART) try_nics(setup, &layout, &best, &best_step);
    setup->plan = best;
}

static const char *make_plan(struct training_setup *setup, int64_t gpus, int64_t micro_batch, bool rounds)
{
    const struct training_config *config = setup->config;
    const int64_t others = config->tensor_parallel * config->pipeline_parallel * config->context_parallel;
    setup->gpus = gpus;
    const struct training_offload_config *offload = &config->offload;
    setup->plan = (struct training_plan){
        .offload = {.optimizer_frac = offload->optimizer_frac, .blocks_flush = offload->flush == 0,
                    .is_delayed = offload->update == 1, .gpu_stride = offload->gpu_stride, .cpu_update_per_s = offload->cpu_update_per_s,
                    .flush_bytes_per_s = offload->flush_bytes_per_s,
                    .link_bytes_per_s = isnan(offload->link_bytes_per_s) ? setup->gpu.pcie_bytes_per_s
                                                                         : offload->link_bytes_per_s},
        .tiers = tiers_of(&config->tiers, &setup->gpu),
        .nics = nics_of(&config->nics),
        .tensor = config->tensor_parallel, .pipeline = config->pipeline_parallel, .chunks = config->pipeline_chunks,
        .context = config->context_parallel, .expert = config->expert_parallel,
        .data = gpus / others, .expert_parts = config->expert_parts == 0 ? -1 : config->expert_parts,
        .gradient_parts = config->gradient_parts,
        .sequence = config->sequence_parallel && config->tensor_parallel > 1,
        .scatter_gather = config->scatter_gather && config->tensor_parallel > 1,
        .schedule = (enum training_schedule)config->schedule,
        .micro_batch = micro_batch, .sequence_tokens = config->sequence_tokens,
        .recompute = training_chooses_layers(config->recompute) ? RECOMPUTE_NONE : (enum training_recompute)config->recompute,
        .recompute_layers = config->recompute_layers,
        .zero = config->zero, .shard_weights = config->shard_weights,
        .shard_gradients = config->shard_gradients, .shard_optimizer = config->shard_optimizer,
        .shard_secondary = config->shard_secondary,
        .weight_message = (enum training_message)config->weight_message,
        .gradient_message = (enum training_message)config->gradient_message, .compute = formats[config->precision],
        .overlap_tensor = config->overlap_tensor, .overlap_gradients = config->overlap_gradients, .overlap_weights = config->overlap_weights,
        .context_form = (enum context_form)config->context_form, .linear_layers = config->shape.linear_layers,
        .lengths = setup->lengths, .split = (enum training_split)config->lengths.split,
        .gpus_per_node = setup->gpus_per_node, .network_bytes_per_s = setup->network_bytes_per_s};
    setup->parts.plan = &setup->plan; /* of this setup, which may be a copy */
    if (gpus < others || gpus % others != 0)
        return "the GPUs are not a multiple of tensor, pipeline and context parallelism together";
    if (config->recompute_layers > 0 && config->recompute != RECOMPUTE_FULL)
        return "'recompute_layers' needs \"recompute\": \"full\"";
    const char *problem = find_batches(&setup->plan, config, rounds || setup->lengths != NULL);
    if (problem == NULL && config->precision == 2 && !(setup->gpu.peak_flop_per_s[FORMAT_FP8] > 0.0))
        return "this GPU has no units for fp8";
    if (problem == NULL && setup->lengths != NULL && !setup->trainer.flash_attention)
        return "sequences of unlike length need a trainer whose attention is one kernel ('flash_attention')";
    if (problem == NULL && setup->plan.linear_layers > 0 && !setup->trainer.flash_attention)
        return "'linear_layers' needs a trainer whose attention is one kernel ('flash_attention')";
    if (problem == NULL && setup->trainer.broadcasts && (config->weight_message != 0 || config->gradient_message != 0))
        return "messages in few bits need a trainer that scatters gradients: this one sums all and broadcasts weights";
    if (problem == NULL) problem = placement_problem(setup);
    if (problem == NULL) problem = training_plan_problem(&setup->plan, &setup->llm);
    if (problem != NULL) return problem;
    if (setup->plan.nics.n > 0)
        choose_nics(setup);
    else
        finish_plan(setup);
    return NULL;
}

const char *training_setup_plan(struct training_setup *setup, int64_t gpus, bool rounds)
{
    if (setup->gpu.slices > 0 && gpus > 1)
        return "MIG slices reach each other only over the host: a plan has one slice";
    return make_plan(setup, gpus, setup->config->micro_batch > 0 ? setup->config->micro_batch : 1, rounds);
}

void training_setup_hint(const struct training_setup *setup, const char *problem, char hint[TRAINING_HINT_CHARS])
{
    const int64_t layers = setup->llm.layers, stages = setup->plan.pipeline * setup->plan.chunks;
    int n = 0;
    hint[0] = 0;
    if (strncmp(problem, "the layers ", strlen("the layers ")) != 0) return;
    n += snprintf(hint, TRAINING_HINT_CHARS, "%" PRId64 " layers: the product can be", layers);
    for (int64_t i = 1, last = 0; i <= layers && n < TRAINING_HINT_CHARS - 80; i++)
        if (layers % i == 0) {
            n += snprintf(hint + n, (size_t)(TRAINING_HINT_CHARS - n), "%s %" PRId64, last > 0 ? "," : "", i);
            last = i;
        }
    const int64_t padded = (layers + stages - 1) / stages * stages;
    snprintf(hint + n, (size_t)(TRAINING_HINT_CHARS - n), "; or approximate it by shape.layers=%" PRId64, padded);
}

const char *training_setup_price(struct training_setup *setup, int64_t gpus, bool rounds, struct training_step *step)
{
    const char *problem = training_setup_plan(setup, gpus, rounds);
    enum { MOST_SEQUENCES = 64 };
    if (problem != NULL) return problem;
    *step = training_step_of(&setup->parts, setup->config->reserve_frac);
    struct training_plan best = setup->plan;
    /* a batch that is given stays, whatever is padded */
    const bool is_given = training_config_sequences(setup->config) > 0;
    for (int64_t n = 2; setup->config->micro_batch == 0 && n <= MOST_SEQUENCES; n *= 2) {
        if (make_plan(setup, gpus, n, rounds) != NULL) continue;
        const struct training_step other = training_step_of(&setup->parts, setup->config->reserve_frac);
        const double sequences = (double)training_plan_sequences(&setup->plan);
        const double more = is_given ? 1.0 : sequences / (double)training_plan_sequences(&best);
        if (!other.fits || more * step->step_s <= other.step_s) continue;
        *step = other;
        best = setup->plan;
    }
    setup->plan = best;
    return step->step_s < TRAINING_MOST_S ? NULL : TRAINING_TOO_LONG;
}
