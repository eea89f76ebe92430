#include "sim/catalog/cost_kind.h"

#include "models/affine.h"

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

#define PHASE(member) .offset = offsetof(struct affine_phase, member)

static const struct config_field phase_fields[] = {
    TERMS(offsetof(struct affine_phase, small)),
    {.name = "large_from", .kind = CONFIG_INT, PHASE(large_from), .value = "0", .min = 0, .max = -1,
     .help = "sequences from which the coefficients of 'large' hold; 0: never"},
    {.name = "large", .kind = CONFIG_SECTION, PHASE(large), .fields = terms_fields,
     .help = "coefficients of large batches, in place of those above"},
    {.name = "per_stage", .kind = CONFIG_QUANTITY, PHASE(stage_s), .dim = UNIT_TIME, .value = "0s",
     .help = "added once per pipeline stage"},
    {.name = "undivided", .kind = CONFIG_SECTION, PHASE(undivided), .fields = terms_fields,
     .help = "coefficients that are not divided by the number of pipeline stages"},
    {.name = "first_stage", .kind = CONFIG_SECTION, PHASE(first_stage), .fields = terms_fields,
     .help = "coefficients of the first pipeline stage alone, not divided either"},
    {0},
};

static const struct config_field fields[] = {
    {.name = "prefill", .kind = CONFIG_SECTION, .offset = offsetof(struct affine_params, prefill),
     .fields = phase_fields, .help = "prompts"},
    {.name = "decode", .kind = CONFIG_SECTION, .offset = offsetof(struct affine_params, decode),
     .fields = phase_fields, .help = "sequences that generate"},
    {0},
};

static int build(const void *params, const struct cost_request *request, struct iteration_model *model)
{
    const struct affine_params *phases = params;
    struct affine *affine = arena_alloc(request->arena, sizeof *affine);
    if (!affine) return SIM_E_NOMEM;
    *affine = (struct affine){phases->prefill, phases->decode, (double)request->pipeline_parallel};
    model->model = affine;
    model->cost = affine_cost;
    model->calibrated = true;
    return 0;
}

const struct cost_kind cost_affine = {
    .name = "affine",
    .summary = "closed form of tokens, sequences, context and squared prompt lengths, per phase",
    .fields = fields,
    .params_bytes = sizeof(struct affine_params),
    .build = build,
};
