#include "sim/catalog/cost.h"

#include "models/roofline.h"
#include "models/stated.h"
#include "sim/catalog/cost_kind.h"

#include <math.h>
#include <stdio.h>

/* --- Affine --- */

/* What a scenario states; the pipeline stages come from the service. */
struct affine_params {
    struct affine_phase prefill, decode;
};

#define TERM(base, text, member, what)                                                                                 \
    {.name = text, .kind = CONFIG_QUANTITY, .offset = (base) + offsetof(struct affine_terms, member),                  \
     .dim = UNIT_TIME, .value = "0s", .help = what}
#define TERMS(base)                                                                                                    \
    TERM(base, "fixed", fixed_s, "per iteration"), TERM(base, "per_token", token_s, "per token processed"),            \
        TERM(base, "per_sequence", sequence_s, "per sequence"),                                                        \
        TERM(base, "per_context_token", context_token_s,                                                               \
             "per token of context: decoding, tokens processed so far; prompts, tokens before this chunk"),            \
        TERM(base, "per_pair", pair_s, "per n^2 + 2 n p of a prompt chunk of n tokens on top of p")

static const struct config_field terms_fields[] = {TERMS(0), {0}};

#define ROW_OF struct affine_phase
static const struct config_field phase_fields[] = {
    TERMS(offsetof(struct affine_phase, small)),
    ROW_INT("large_from", large_from, DEFAULT("0"), AT_LEAST(0),
            "number of sequences from which 'large' applies; 0: never"),
    ROW_SECTION("large", large, FILLED, terms_fields, "coefficients of large batches, instead of the ones above"),
    ROW_QUANTITY("per_stage", stage_s, UNIT_TIME, DEFAULT("0s"), ANY, "added once per pipeline stage"),
    ROW_SECTION("undivided", undivided, FILLED, terms_fields,
                "coefficients that are not divided by the number of pipeline stages"),
    ROW_SECTION("first_stage", first_stage, FILLED, terms_fields,
                "coefficients of the first pipeline stage only, not divided by the number of stages"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct affine_params
static const struct config_field affine_fields[] = {
    ROW_SECTION("prefill", prefill, FILLED, phase_fields, "prompts"),
    ROW_SECTION("decode", decode, FILLED, phase_fields, "decoding sequences; keys as of prefill"),
    {0},
};
#undef ROW_OF

static bool has_pairs(const struct affine_phase *phase)
{
    return fabs(phase->small.pair_s) + fabs(phase->large.pair_s) + fabs(phase->undivided.pair_s) +
               fabs(phase->first_stage.pair_s) >
           0;
}

static bool has_terms(const struct affine_terms *terms)
{
    return fabs(terms->fixed_s) + fabs(terms->token_s) + fabs(terms->sequence_s) + fabs(terms->context_token_s) +
               fabs(terms->pair_s) >
           0;
}

/* Coefficients that multiply nothing. */
static void warn_affine(const struct affine_params *phases, const struct cost_request *request)
{
    const struct {
        const char *name;
        const struct affine_phase *phase;
    } parts[] = {{"prefill", &phases->prefill}, {"decode", &phases->decode}};
    if (has_pairs(&phases->decode))
        diag_warning(request->diag, request->where, "leave it out",
                     "'per_pair' of 'decode' has no effect: decoding sequences have no prompt chunks");
    for (size_t i = 0; i < 2; i++)
        if (parts[i].phase->large_from == 0 && has_terms(&parts[i].phase->large))
            diag_warning(request->diag, request->where, "set it, or leave 'large' out",
                         "'large' of '%s' has no effect: its 'large_from' is 0", parts[i].name);
}

static int affine_build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct affine_params *phases = params;
    struct affine *affine = arena_alloc(request->arena, sizeof *affine);
    if (!affine) return SIM_E_NOMEM;
    warn_affine(phases, request);
    *affine = (struct affine){phases->prefill, phases->decode, (double)request->pipeline_parallel};
    model->model = affine;
    model->cost = affine_cost;
    model->calibrated = true;
    return 0;
}

static const struct cost_kind cost_affine = {
    .name = "affine",
    .summary = "closed form of tokens, sequences, context and squared prompt lengths, per phase",
    .fields = affine_fields,
    .params_bytes = sizeof(struct affine_params),
    .build = affine_build,
};

/* --- Roofline --- */

#define EFFICIENCY(key, member, share, what) ROW_REAL(key, member, DEFAULT(share), WITHIN(DBL_MIN, 1.0), what)
#define DURATION(key, member, time, what) ROW_QUANTITY(key, member, UNIT_TIME, DEFAULT(time), WITHIN(0.0, 10.0), what)

#define ROW_OF struct roofline_params
static const struct config_field roofline_fields[] = {
    EFFICIENCY("projection_compute_efficiency", projection_flop_frac, "0.7",
               "share of the peak that matrix products with weights reach"),
    EFFICIENCY("projection_bandwidth_efficiency", projection_bandwidth_frac, "0.75",
               "share of the memory bandwidth that reading weights reaches"),
    EFFICIENCY("attention_compute_efficiency", attention_flop_frac, "0.53",
               "share of the peak that attention of prompts reaches"),
    EFFICIENCY("attention_bandwidth_efficiency", attention_bandwidth_frac, "0.64",
               "share of the memory bandwidth that reading the KV cache reaches"),
    EFFICIENCY("elementwise_bandwidth_efficiency", elementwise_bandwidth_frac, "0.5",
               "share of the memory bandwidth that norms, activations and residuals reach"),
    EFFICIENCY("collective_bandwidth_efficiency", collective_bandwidth_frac, "0.65",
               "share of the link bandwidth that a ring all-reduce reaches"),
    DURATION("collective_latency", collective_s, "4us", "start of a collective"),
    DURATION("collective_hop_latency", collective_hop_s, "1.5us", "each step of a collective's ring"),
    DURATION("layer_overhead", layer_s, "40us", "start and ramp of the kernels of a layer"),
    DURATION("host_layer_time", host_layer_s, "0s",
             "CPU time to launch the kernels of a layer, as far as the GPU does not hide it; 0 with CUDA graphs"),
    DURATION("iteration_overhead", iteration_s, "0.85ms", "CPU time of the engine per iteration"),
    DURATION("sequence_overhead", sequence_s, "42us", "CPU time of the engine per sequence in the batch"),
    {0},
};
#undef ROW_OF

static int roofline_build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct llm_spec *llm = request->llm;
    if (llm->kv_latent > 0 || llm->dense_layers > 0 || llm->linear_layers > 0 || llm->chunked ||
        !llm_heads_are_plain(llm))
        return diag_error(
            request->diag, SIM_E_CONFIG, request->where, "choose another kind, such as \"operators\"",
            "the roofline knows neither latent, linear nor chunked attention, nor layers or heads of two kinds, nor "
            "values of another width than keys, as %s has them",
            llm->name);
    if (request->data_parallel > 1)
        return diag_error(request->diag, SIM_E_CONFIG, request->where, "choose another kind, such as \"operators\"",
                          "the roofline does not know data_parallel");
    struct roofline *roofline = arena_alloc(request->arena, sizeof *roofline);
    struct roofline_params own = *(const struct roofline_params *)params;
    if (!roofline) return SIM_E_NOMEM;
    if (request->no_overhead) own.iteration_s = own.sequence_s = 0.0;
    roofline_init(roofline, request->gpu, request->llm, request->tensor_parallel, request->pipeline_parallel,
                  &request->nodes, &own);
    model->model = roofline;
    model->cost = roofline_cost;
    return 0;
}

static const struct cost_kind cost_roofline = {
    .name = "roofline",
    .summary = "from the GPU's data sheet and the LLM's shape, with default efficiencies; uncalibrated",
    .fields = roofline_fields,
    .params_bytes = sizeof(struct roofline_params),
    .build = roofline_build,
};

/* --- All kinds --- */

static const struct cost_kind *const kinds[] = {&cost_operators, &cost_roofline, &cost_affine, &cost_table};

bool cost_alternative(size_t index, struct config_alternative *alternative)
{
    if (index >= sizeof kinds / sizeof *kinds) return false;
    const struct cost_kind *kind = kinds[index];
    *alternative = (struct config_alternative){
        .name = kind->name,
        .summary = kind->summary,
        .fields = kind->fields,
        .params_bytes = kind->params_bytes,
        .entry = kind,
    };
    return true;
}

/* Writes the numbers of GPUs that tensor parallelism can split the LLM over, as far as nodes have them; "": none. */
static void show_widths(const struct llm_spec *llm, int64_t groups, char *text, size_t bytes)
{
    enum { MOST_GPUS = 64 };
    size_t n = 0;
    for (int64_t gpus = 1; gpus <= MOST_GPUS && n + 8 < bytes; gpus++)
        if (llm_data_problem(llm, gpus, 1, groups) == NULL)
            n += (size_t)snprintf(text + n, bytes - n, "%s%lld", n > 0 ? ", " : "tensor_parallel can be ",
                                  (long long)gpus);
}

static int check_split(const struct cost_request *request)
{
    const struct llm_spec *llm = request->llm;
    const int64_t groups = llm_groups(request->data_parallel);
    if (request->gpu->slices > 0 && request->tensor_parallel * request->pipeline_parallel > 1)
        return diag_error(
            request->diag, SIM_E_UNFIT, request->tensor_where != NULL ? request->tensor_where : request->where,
            "take one slice for each replica, a larger profile, or whole GPUs",
            "%s is a MIG slice, which reaches others only over the host: no LLM is split over %lld x %lld",
            request->gpu->name, (long long)request->tensor_parallel, (long long)request->pipeline_parallel);
    const char *problem = llm_data_problem(llm, request->tensor_parallel, request->pipeline_parallel, groups);
    if (problem == NULL) return 0;
    const bool is_tensor = llm_data_problem(llm, request->tensor_parallel, 1, groups) != NULL;
    const char *where = is_tensor ? request->tensor_where : request->pipeline_where;
    char hint[DIAG_TEXT_CHARS] = "";
    if (is_tensor)
        show_widths(llm, groups, hint, sizeof hint);
    else if (request->pipeline_parallel > llm->layers)
        snprintf(hint, sizeof hint, "it has %lld layers: pipeline_parallel can be 1 to %lld", (long long)llm->layers,
                 (long long)llm->layers);
    return diag_error(request->diag, SIM_E_UNFIT, where != NULL ? where : request->where, hint,
                      "cannot split %s over %lld x %lld GPUs: %s", llm->name, (long long)request->tensor_parallel,
                      (long long)request->pipeline_parallel, problem);
}

int cost_build(const struct config_variant *cost, const struct cost_request *request, struct iteration_model *model)
{
    const int split = check_split(request);
    if (split != 0) return split;
    const struct cost_kind *kind = cost->entry;
    *model = (struct iteration_model){.kind = kind->name};
    const int code = kind->build(cost->params, request, model);
    if (code == SIM_E_NOMEM) return diag_nomem_at(request->diag, request->where);
    return code;
}

int cost_time_error(const struct config_variant *cost, const struct cost_request *request,
                    const struct iteration_model *model, struct time_error *error)
{
    const struct cost_kind *kind = cost->entry;
    const struct catalog unnoted = {.root = request->catalog->root, .memory = request->catalog->memory};
    struct cost_request quiet = *request;
    quiet.catalog = &unnoted;
    *error = (struct time_error){0};
    return kind->time_error != NULL ? kind->time_error(cost->params, &quiet, model, error) : 0;
}

const char *cost_engine(const struct config_variant *cost)
{
    const struct cost_kind *kind = cost->entry;
    return kind->engine != NULL ? kind->engine(cost->params) : NULL;
}

int64_t cost_redundant_experts(const struct config_variant *cost)
{
    const struct cost_kind *kind = cost->entry;
    return kind->redundant_experts != NULL ? kind->redundant_experts(cost->params) : 0;
}
