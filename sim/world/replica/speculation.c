#include "sim/world/replica/speculation.h"

#include <math.h>

/* --- Acceptance --- */

void acceptance_from_rates(struct acceptance *acceptance, const double *rates, int64_t n)
{
    acceptance->right_frac[0] = 1.0;
    for (int64_t i = 1; i <= SPECULATION_MAX_DEPTH; i++)
        acceptance->right_frac[i] = acceptance->right_frac[i - 1] * rates[i <= n ? i - 1 : n - 1];
}

/* The output function of SplitMix64 (Steele et al., OOPSLA 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* In [0, 1), for a request and a position. */
static double uniform(uint64_t key, int64_t request, int64_t position)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t of_request = mixed(key + golden * ((uint64_t)request + 1));
    return (double)(mixed(of_request + golden * ((uint64_t)position + 1)) >> 11) * 0x1p-53;
}

int64_t acceptance_draw(const struct acceptance *acceptance, int64_t request, int64_t position, int64_t most)
{
    const double drawn = uniform(acceptance->key, request, position);
    int64_t n = 0;
    if (acceptance->rates == NULL) {
        while (n < most && drawn < acceptance->right_frac[n + 1]) n++;
        return n;
    }
    const double rate = acceptance->rates[request % acceptance->n_rates];
    for (double right_frac = rate; n < most && drawn < right_frac; right_frac *= rate) n++;
    return n;
}

/* --- Drafting --- */

/* The first of the passes over the decoding sequences, each of which gets a token from it. */
static struct iteration_work first_pass(const struct speculation_plan *plan, const struct iteration_work *work)
{
    return (struct iteration_work){.decode_sequences = work->decode_sequences,
                                   .decode_context_tokens = work->decode_context_tokens,
                                   .decode_longest_tokens = work->decode_longest_tokens,
                                   .decode_drafts = plan->width > 1 ? plan->width - 1 : 0};
}

static struct iteration_work prompt_pass(const struct iteration_work *work)
{
    return (struct iteration_work){.prefill_sequences = work->prefill_sequences,
                                   .prefill_tokens = work->prefill_tokens,
                                   .prefill_context_tokens = work->prefill_context_tokens,
                                   .prefill_pairs = work->prefill_pairs};
}

/* The passes have one batch, whose sequences grow by a token each. */
static double passes_s(const struct speculation_model *model, const struct speculation_plan *plan,
                       const struct iteration_work *work)
{
    const struct iteration_work pass = first_pass(plan, work);
    const double n = (double)plan->passes;
    struct iteration_cost cost;
    model->draft.cost(model->draft.model, &pass, &cost);
    return n * (model->draft_frac * cost.first_s + model->pass_s) +
           0.5 * n * (n - 1.0) * model->draft_frac * cost.slope_s;
}

double speculation_draft_s(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *work)
{
    const bool drafts = work->decode_drafts > 0;
    double seconds = drafts ? plan->host_s : 0.0;
    if (model->draft.cost == NULL) return seconds + (drafts ? (double)plan->passes * model->pass_s : 0.0);
    if (drafts && plan->passes > 0) seconds += passes_s(model, plan, work);
    if (work->prefill_tokens > 0) {
        const struct iteration_work pass = prompt_pass(work);
        struct iteration_cost cost;
        model->draft.cost(model->draft.model, &pass, &cost);
        seconds += model->draft_frac * cost.first_s + model->pass_s;
    }
    return seconds;
}

static double pass_j(const struct speculation_model *model, const struct iteration_work *pass)
{
    const struct work_parts parts = work_parts_of(&model->draft_reads, pass);
    return work_flop_j(&parts, &model->draft_energy) + work_bytes_j(&parts, &model->draft_energy);
}

double speculation_draft_j(const struct speculation_model *model, const struct speculation_plan *plan,
                           const struct iteration_work *work)
{
    double joules = 0.0;
    if (model->draft.cost == NULL) return 0.0;
    if (work->decode_drafts > 0 && plan->passes > 0) {
        struct iteration_work pass = first_pass(plan, work);
        pass.decode_context_tokens += pass.decode_sequences * (plan->passes - 1) / 2;
        joules += (double)plan->passes * pass_j(model, &pass);
    }
    if (work->prefill_tokens > 0) {
        const struct iteration_work pass = prompt_pass(work);
        joules += pass_j(model, &pass);
    }
    return joules;
}
