/* The energy of drafting passes: their sum, pass by pass. The first pass of a layer that drafts trees has the newest
 * token of each sequence alone, later ones have all tokens of a level. */
#include "sim/catalog/catalog.h"
#include "sim/world/replica/speculation.h"
#include "tests/support/harness.h"

/* Never asked for times here; that there is one means that a model drafts. */
static void no_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    (void)model;
    (void)work;
    *cost = (struct iteration_cost){0};
}

/* The draft model's work is priced by each member of the energy model, so that none can hide another. */
static void make(struct speculation_model *model, struct arena *arena)
{
    static const struct catalog catalog = {.root = "configs"};
    struct diag diag = {0};
    *model = (struct speculation_model){.draft = {.cost = no_cost}};
    MUST(catalog_llm(&catalog, "deepseek-v3", "test", arena, &model->draft_llm, &diag) == 0);
    model->draft_reads = llm_reads(&model->draft_llm);
    model->draft_reads.groups = 1;
    model->draft_energy = (struct energy_model){.token_j = 0.3, .row_j = 0.05, .pair_j = 2e-7, .weight_byte_j = 4e-12,
                                                .widened_byte_j = 1e-12, .context_j = 3e-6};
}

static double joules_of(const struct speculation_model *model, const struct iteration_work *pass)
{
    const struct work_parts parts = work_parts_of(&model->draft_reads, pass);
    return work_flop_j(&parts, &model->draft_energy) + work_bytes_j(&parts, &model->draft_energy);
}

/* A pass with `width` tokens of each sequence, whose contexts have grown by `grown` tokens since `work`. */
static double joules_of_pass(const struct speculation_model *model, const struct iteration_work *work, int64_t width,
                             int64_t grown)
{
    const struct iteration_work pass = {.decode_sequences = work->decode_sequences,
                                        .decode_context_tokens = work->decode_context_tokens +
                                                                 grown * work->decode_sequences,
                                        .decode_drafts = width - 1};
    return joules_of(model, &pass);
}

TEST(passes_take_what_each_of_them_takes)
{
    SCOPED(arena) arena = {0};
    struct speculation_model model;
    struct rng rng = test_rng(1, "draft-energy", 0);
    const struct iteration_work none = {0};
    make(&model, &arena);
    for (int run = 0; run < 200; run++) {
        const int64_t sequences = 2 * (1 + (int64_t)rng_below(&rng, 40)); /* even: half a token has no half */
        const struct iteration_work work = {.decode_sequences = sequences, .decode_drafts = 16,
                                            .decode_context_tokens = sequences * (int64_t)(1 + rng_below(&rng, 4000))};
        const struct speculation_plan plan = {.passes = 1 + (int64_t)rng_below(&rng, 8),
                                              .width = (int64_t)rng_below(&rng, 12)};
        double joules = joules_of_pass(&model, &work, 1, 0);
        for (int64_t i = 1; i < plan.passes; i++)
            joules += joules_of_pass(&model, &work, plan.width > 1 ? plan.width : 1, i);
        CHECK_NEAR(speculation_draft_j(&model, &plan, &none, &work), joules, 1e-9 * joules);
    }
}

/* What the model lacks is a pass of its own, also where no pass follows; without drafts nothing is drafted. */
TEST(lacking_prompts_come_on_top)
{
    SCOPED(arena) arena = {0};
    struct speculation_model model;
    const struct iteration_work none = {0}, work = {.decode_sequences = 4, .decode_context_tokens = 900,
                                                    .decode_drafts = 3};
    const struct iteration_work lacking = {.prefill_sequences = 2, .prefill_tokens = 300, .prefill_pairs = 44850,
                                           .prefill_context_tokens = 0};
    make(&model, &arena);
    const struct speculation_plan passes = {.passes = 3, .width = 4}, no_pass = {.passes = 0};
    const double more = joules_of(&model, &lacking), drafted = speculation_draft_j(&model, &passes, &none, &work);
    CHECK(more > 0 && drafted > 0);
    CHECK_NEAR(speculation_draft_j(&model, &passes, &lacking, &work), drafted + more, 1e-9 * (drafted + more));
    CHECK_NEAR(speculation_draft_j(&model, &no_pass, &lacking, &work), more, 1e-9 * more);
    CHECK(speculation_draft_j(&model, &passes, &lacking, &none) == 0);
}
