#include "sim/catalog/cost_kind.h"

#include "models/stated.h"

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
    ROW_SECTION("large", large, FILLED, terms_fields, "coefficients of large batches, in place of those above"),
    ROW_QUANTITY("per_stage", stage_s, UNIT_TIME, DEFAULT("0s"), ANY, "added once per pipeline stage"),
    ROW_SECTION("undivided", undivided, FILLED, terms_fields,
                "coefficients that are not divided by the number of pipeline stages"),
    ROW_SECTION("first_stage", first_stage, FILLED, terms_fields,
                "coefficients of the first pipeline stage only, not divided by the number of stages"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct affine_params
static const struct config_field fields[] = {
    ROW_SECTION("prefill", prefill, FILLED, phase_fields, "prompts"),
    ROW_SECTION("decode", decode, FILLED, phase_fields, "sequences that generate"),
    {0},
};
#undef ROW_OF

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
