#include "sim/world/replica/speculation.h"

#include <math.h>

/* --- Acceptance --- */

/* A whole number is below x exactly if it is below x rounded up. Here x is 2^53 right_frac, without rounding. */
void acceptance_set_right(struct acceptance *acceptance, int64_t i, double right_frac)
{
    acceptance->right_frac[i] = right_frac;
    acceptance->right_draws[i] = (uint64_t)ceil(right_frac * 0x1p53);
}

void acceptance_from_rates(struct acceptance *acceptance, const double *rates, int64_t n)
{
    acceptance_set_right(acceptance, 0, 1.0);
    for (int64_t i = 1; i <= SPECULATION_MAX_DEPTH; i++)
        acceptance_set_right(acceptance, i, acceptance->right_frac[i - 1] * rates[i <= n ? i - 1 : n - 1]);
}

void acceptance_of_trees(const struct acceptance *acceptance, const struct draft_tree *trees, int32_t n,
                         struct acceptance *of_trees)
{
    double reach[DRAFT_MAX_DEPTH + 1];
    draft_trees_reach(acceptance->ranks, trees, n, reach);
    *of_trees = *acceptance;
    for (int64_t i = 0; i <= SPECULATION_MAX_DEPTH; i++) acceptance_set_right(of_trees, i, reach[i]);
}

int64_t acceptance_draw(const struct acceptance *acceptance, int64_t request, int64_t position, int64_t most)
{
    const struct acceptance_of of = acceptance_of(acceptance, request);
    return acceptance_draw_of(acceptance, &of, position, most);
}

/* --- Drafting --- */

/* A pass over the decoding sequences as they stand, with so many tokens of each. */
static struct iteration_work pass_of(int64_t width, const struct iteration_work *work)
{
    return (struct iteration_work){.decode_sequences = work->decode_sequences,
                                   .decode_context_tokens = work->decode_context_tokens,
                                   .decode_longest_tokens = work->decode_longest_tokens,
                                   .decode_drafts = width > 1 ? width - 1 : 0};
}

/* The passes have one batch, whose sequences grow by a token each. The first has their newest tokens alone. */
static double passes_s(const struct speculation_model *model, const struct speculation_plan *plan,
                       const struct iteration_work *work)
{
    const struct iteration_work first = pass_of(1, work), later = pass_of(plan->width, work);
    const double n = (double)plan->passes;
    struct iteration_cost cost;
    model->draft.cost(model->draft.model, &first, &cost);
    const double first_s = cost.first_s;
    if (plan->width > 1) model->draft.cost(model->draft.model, &later, &cost);
    return n * (model->draft_frac * cost.first_s + model->pass_s) +
           0.5 * n * (n - 1.0) * model->draft_frac * cost.slope_s + model->draft_frac * (first_s - cost.first_s);
}

double speculation_prompts_s(const struct speculation_model *model, const struct iteration_work *lacking)
{
    struct iteration_cost cost;
    model->draft.cost(model->draft.model, lacking, &cost);
    return model->draft_frac * cost.first_s + model->pass_s;
}

double speculation_draft_s(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *lacking, const struct iteration_work *work)
{
    if (work->decode_drafts == 0) return 0.0;
    const double seconds = plan->host_s + model->sequence_s * (double)work->decode_sequences;
    if (model->draft.cost == NULL) return seconds + (double)plan->passes * model->pass_s;
    const double drafts_s = plan->passes > 0 ? seconds + passes_s(model, plan, work) : seconds;
    return lacking->prefill_tokens > 0 ? drafts_s + speculation_prompts_s(model, lacking) : drafts_s;
}

static double pass_j(const struct speculation_model *model, const struct iteration_work *pass)
{
    const struct work_parts parts = work_parts_of(&model->draft_reads, pass);
    return work_flop_j(&parts, &model->draft_energy) + work_bytes_j(&parts, &model->draft_energy);
}

double speculation_draft_j(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *lacking, const struct iteration_work *work)
{
    if (model->draft.cost == NULL || work->decode_drafts == 0) return 0.0;
    struct iteration_work first = pass_of(1, work), mean = pass_of(plan->width, work);
    mean.decode_context_tokens += mean.decode_sequences * (plan->passes - 1) / 2;
    double joules = plan->passes > 0 ? (double)plan->passes * pass_j(model, &mean) : 0.0;
    if (plan->passes > 0 && plan->width > 1) {
        const struct iteration_work wide = pass_of(plan->width, work);
        joules += pass_j(model, &first) - pass_j(model, &wide);
    }
    return lacking->prefill_tokens > 0 ? joules + pass_j(model, lacking) : joules;
}
