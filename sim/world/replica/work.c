#include "sim/world/replica/work.h"

#include "sim/core/check.h"

#include <math.h>

/* --- Energy --- */

struct energy_model energy_model_of(const struct power_model *model, const struct gpu_spec *gpu,
                                    const struct llm_spec *llm, int64_t gpus)
{
    const double n = (double)gpus, head = llm_head_flop(llm), one = llm_flop_per_token(llm, 0);
    const double flop_j = model->compute_w / gpu_peak_flop_per_s(gpu, llm->compute);
    const double byte_j = model->memory_w / gpu->memory_bytes_per_s;
    return (struct energy_model){
        .idle_w = n * fmin(model->context_w, model->limit_w),
        .busy_w = n * (model->context_w + model->active_w),
        .limit_w = n * model->limit_w,
        .token_j = flop_j * (one - head),
        .row_j = flop_j * head,
        .pair_j = flop_j * (llm_flop_per_token(llm, 1) - one),
        .weight_byte_j = byte_j,
        .widened_byte_j = model->widening_w / gpu->memory_bytes_per_s,
        .context_j = (byte_j + model->attention_w / gpu->memory_bytes_per_s) * llm_kv_bytes_per_token(llm),
    };
}

/* The sum of first + j slope over j = 0 .. n - 1. */
static double series(double first, double slope, double n)
{
    return n * first + 0.5 * n * (n - 1.0) * slope;
}

/* The sum over those j where the term is positive; exactly one end is positive. */
static double positive_part(double first, double slope, double n)
{
    if (slope < 0.0) return series(first, slope, fmin(n, ceil(-first / slope)));
    const double from = fmin(n, floor(-first / slope) + 1.0);
    return series(first + from * slope, slope, n - from);
}

/* An iteration would have taken so much beyond the limit: more than 0 is cut off there. */
static inline void add_peak(struct energy_sums *sums, const struct energy_model *model, double beyond_w)
{
    const double peak_w = model->limit_w + (beyond_w < 0.0 ? beyond_w : 0.0);
    if (peak_w > sums->peak_w) sums->peak_w = peak_w;
}

/* Adds n iterations: j takes work_j + j work_slope_j joules beside busy_w, and lasts time_s + j time_slope_s. */
static void energy_add(struct energy_sums *sums, const struct energy_model *model, int64_t n, double work_j,
                       double work_slope_j, double time_s, double time_slope_s)
{
    const double above_w = model->busy_w - model->limit_w, last = (double)(n - 1);
    const double first_j = work_j + above_w * time_s, slope_j = work_slope_j + above_w * time_slope_s;
    const double last_j = first_j + last * slope_j;
    /* a quotient of two affine functions has no extremum between its ends */
    const double first_w = first_j / time_s, last_w = last_j / (time_s + last * time_slope_s);
    add_peak(sums, model, first_w > last_w ? first_w : last_w);
    if (first_j <= 0.0 && last_j <= 0.0) return;
    const bool is_all = first_j > 0.0 && last_j > 0.0;
    sums->excess_j += is_all ? series(first_j, slope_j, (double)n) : positive_part(first_j, slope_j, (double)n);
}

/* energy_add for one iteration: what its sums come to, to the bit. */
static void energy_add_one(struct energy_sums *sums, const struct energy_model *model, double work_j, double time_s)
{
    const double first_j = work_j + (model->busy_w - model->limit_w) * time_s;
    add_peak(sums, model, first_j / time_s);
    if (first_j > 0.0) sums->excess_j += first_j;
}

/* Iterations at another clock than that of `base`, the model by which all work is counted. `at` is the model at their
 * clock. Iteration j takes at_j + j at_slope_j joules beside its busy_w. Energy not drawn goes to excess_j. */
struct energy_run {
    int64_t n;
    double base_j, base_slope_j, at_j, at_slope_j, time_s, time_slope_s;
};

static void energy_add_at(struct energy_sums *sums, const struct energy_model *base, const struct energy_model *at,
                          const struct energy_run *run)
{
    const double saved_w = base->busy_w - at->busy_w;
    sums->excess_j += series(run->base_j - run->at_j + saved_w * run->time_s,
                             run->base_slope_j - run->at_slope_j + saved_w * run->time_slope_s, (double)run->n);
    energy_add(sums, at, run->n, run->at_j, run->at_slope_j, run->time_s, run->time_slope_s);
}

/* The merged peak is the higher one. */
static void energy_merge(struct energy_sums *into, const struct energy_sums *from)
{
    into->excess_j += from->excess_j;
    into->peak_w = fmax(into->peak_w, from->peak_w);
    into->draft_j += from->draft_j;
}

/* Sums of j, and of j^2, over j = 0 .. n - 1. */
static double sum_1(double n)
{
    return 0.5 * n * (n - 1.0);
}

static double sum_2(double n)
{
    return n * (n - 1.0) * (2.0 * n - 1.0) / 6.0;
}

/* Duration of the first n iterations, which last first, first + slope, ... */
static double elapsed_ns(double first_ns, double slope_ns, double n)
{
    return n * first_ns + sum_1(n) * slope_ns;
}

/* Blocks that a run takes. */
struct taken {
    int64_t blocks;
    double block_ns; /* summed from each block's boundary k to the end of the run */
};

/* In a run no longer than a block each sequence takes at most one. */
static struct taken taken_once(const struct kv_growth *growth, const struct work_run *run, double first_ns,
                               double slope_ns)
{
    const int64_t n = run->iterations;
    const double before_ns = first_ns - 0.5 * slope_ns, half_ns = 0.5 * slope_ns;
    const double end_ns = elapsed_ns(first_ns, slope_ns, (double)n);
    struct taken taken = {0, 0.0};
    for (struct kv_growth_walk walk = kv_growth_walk(growth, (run->step - n) % growth->block_tokens, n);
         kv_growth_walk_next(&walk, growth);) {
        const int64_t takers = growth->phases[walk.phase];
        const double k = (double)(walk.phase + walk.behind + 1);
        taken.block_ns += (double)takers * (end_ns - before_ns * k - half_ns * (k * k));
        taken.blocks += takers;
    }
    return taken;
}

/* How often a sequence takes a block, once in b boundaries, and sums over these. */
struct takings {
    int64_t n;
    double m, sum_1, bb_sum_2;
};

static struct takings takings_of(int64_t n, double b)
{
    const double m = (double)n;
    return (struct takings){n, m, sum_1(m), b * b * sum_2(m)};
}

/* The sequences of the first n % block phases take one block more than the others. */
static struct taken taken_often(const struct kv_growth *growth, const struct work_run *run, double first_ns,
                                double slope_ns)
{
    const int64_t block = growth->block_tokens, n = run->iterations, rounds = n / block, rest = n % block;
    const double b = (double)block, end_ns = elapsed_ns(first_ns, slope_ns, (double)n);
    const struct takings more = takings_of(rounds + 1, b), fewer = takings_of(rounds, b);
    struct taken taken = {0, 0.0};
    for (struct kv_growth_walk walk = kv_growth_walk(growth, (run->step - n) % block, block);
         kv_growth_walk_next(&walk, growth);) {
        const int64_t takers = growth->phases[walk.phase], i = walk.phase + walk.behind;
        const struct takings *each = i < rest ? &more : &fewer;
        const double m = each->m, k = (double)(i + 1);
        const double sum_k = m * k + b * each->sum_1, sum_kk = m * k * k + 2.0 * k * b * each->sum_1 + each->bb_sum_2;
        taken.block_ns += (double)takers * (m * end_ns - (first_ns - 0.5 * slope_ns) * sum_k - 0.5 * slope_ns * sum_kk);
        taken.blocks += takers * each->n;
    }
    return taken;
}

static void add_slots(struct work_sums *sums, const struct kvcache *kv, double reserved_block_ns, double held_token_ns,
                      double lasted_ns)
{
    const double slots = (double)kv->block_tokens;
    sums->reserved_slot_s += slots * reserved_block_ns * 1e-9;
    sums->held_slot_s += held_token_ns * 1e-9;
    sums->total_slot_s += slots * (double)kv->total_blocks * lasted_ns * 1e-9;
}

/* A token is cached from the iteration after the one that generates it. */
static void add_decode_slots(struct work_sums *sums, const struct kvcache *kv, const struct kv_growth *growth,
                             const struct work_run *run)
{
    const double slope_ns = run->clock->slope_ns, n = (double)run->iterations, sequences = (double)run->sequences;
    const double first_ns = run->clock->first_ns + slope_ns * (double)run->from_boundary;
    const double lasted_ns = elapsed_ns(first_ns, slope_ns, n);
    const int64_t used = kv->total_blocks - kv->free_blocks;
    const struct taken taken = run->iterations <= growth->block_tokens ? taken_once(growth, run, first_ns, slope_ns)
                                                                       : taken_often(growth, run, first_ns, slope_ns);
    const double held = (double)(run->context_tokens - run->sequences + run->idle_tokens);
    const double held_ns = held * lasted_ns + sequences * (first_ns * sum_1(n) + slope_ns * sum_2(n));
    add_slots(sums, kv, (double)(used - taken.blocks) * lasted_ns + taken.block_ns, held_ns, lasted_ns);
}

/* Joules of an iteration beyond those of its duration. */
static double parts_j(const struct energy_model *model, const struct work_parts *parts)
{
    return model->token_j * parts->tokens + model->row_j * parts->rows + model->pair_j * parts->pairs +
           model->weight_byte_j * parts->weight_bytes + model->context_j * parts->context_tokens +
           model->widened_byte_j * parts->widened_bytes;
}

double work_flop_j(const struct work_parts *parts, const struct energy_model *model)
{
    return model->token_j * parts->tokens + model->row_j * parts->rows + model->pair_j * parts->pairs +
           model->widened_byte_j * parts->widened_bytes;
}

double work_bytes_j(const struct work_parts *parts, const struct energy_model *model)
{
    return model->weight_byte_j * parts->weight_bytes + model->context_j * parts->context_tokens;
}

/* Adds n iterations, the first with these parts, each further one with grows_tokens more context. */
static void add_energy(struct energy_sums *sums, const struct work_of *of, const struct work_parts *parts,
                       double grows_tokens, struct energy_run run)
{
    const struct energy_model *model = of->energy, *at = of->energy_at_clock;
    run.base_j = parts_j(model, parts) + of->draft_j;
    run.base_slope_j = (model->pair_j + model->context_j) * grows_tokens;
    if (at == NULL) {
        energy_add(sums, model, run.n, run.base_j, run.base_slope_j, run.time_s, run.time_slope_s);
        return;
    }
    run.at_j = parts_j(at, parts);
    if (of->draft_j > 0.0) run.at_j *= run.base_j / (run.base_j - of->draft_j);
    run.at_slope_j = (at->pair_j + at->context_j) * grows_tokens;
    energy_add_at(sums, model, at, &run);
}

static struct work_parts decode_parts(const struct llm_reads *reads, const struct work_run *run)
{
    const double sequences = (double)run->sequences, context = (double)run->context_tokens;
    return (struct work_parts){.tokens = sequences,
                               .rows = sequences,
                               .pairs = context,
                               .weight_bytes = llm_reads_bytes(reads, run->sequences, run->sequences),
                               .widened_bytes = llm_widened_bytes(reads, run->sequences, run->sequences),
                               .context_tokens = context};
}

static void add_decode_energy(struct energy_sums *sums, const struct work_of *of, const struct work_run *run,
                              const struct work_parts *parts)
{
    const double slope_ns = run->clock->slope_ns,
                 first_ns = run->clock->first_ns + slope_ns * (double)run->from_boundary;
    add_energy(sums, of, parts, (double)run->sequences,
               (struct energy_run){.n = run->iterations, .time_s = 1e-9 * first_ns, .time_slope_s = 1e-9 * slope_ns});
}

static double beyond_idle_j(const struct energy_model *model, const struct energy_sums *sums, double work_j,
                            double lasted_s)
{
    return (model->busy_w - model->idle_w) * lasted_s + work_j - sums->excess_j;
}

double work_run_j(const struct work_of *of, const struct work_run *run, double lasted_s)
{
    struct energy_sums sums = {0};
    const struct work_parts parts = decode_parts(of->reads, run);
    const double n = (double)run->iterations, grows_j = of->energy->pair_j + of->energy->context_j;
    add_decode_energy(&sums, of, run, &parts);
    return beyond_idle_j(of->energy, &sums,
                         n * parts_j(of->energy, &parts) + sum_1(n) * grows_j * (double)run->sequences, lasted_s);
}

double work_iteration_j(const struct work_of *of, const struct iteration_work *work, double lasted_s)
{
    struct energy_sums sums = {0};
    const struct work_parts parts = work_parts_of(of->reads, work);
    add_energy(&sums, of, &parts, 0.0, (struct energy_run){.n = 1, .time_s = lasted_s});
    return beyond_idle_j(of->energy, &sums, parts_j(of->energy, &parts) + of->draft_j, lasted_s);
}

void work_add_decode(struct work_sums *sums, const struct work_of *of, const struct kv_growth *growth,
                     const struct work_run *run)
{
    const struct work_parts parts = decode_parts(of->reads, run);
    const double n = (double)run->iterations, sequences = (double)run->sequences;
    const double context = n * (double)run->context_tokens + sequences * sum_1(n);
    sums->tokens += n * sequences;
    sums->rows += n * sequences;
    sums->pairs += context;
    sums->context_tokens += context;
    sums->weight_bytes += n * parts.weight_bytes;
    sums->widened_bytes += n * parts.widened_bytes;
    add_decode_slots(sums, of->kv, growth, run);
    if (of->energy != NULL) add_decode_energy(&sums->energy, of, run, &parts);
}

struct work_parts work_parts_of(const struct llm_reads *reads, const struct iteration_work *work)
{
    const int64_t decoded = iteration_decode_tokens(work);
    const int64_t tokens = work->prefill_tokens + decoded;
    const int64_t sequences = work->prefill_sequences + work->decode_sequences;
    return (struct work_parts){
        .tokens = (double)tokens,
        .rows = (double)(work->prefill_sequences + decoded),
        /* prefill_pairs is twice the pairs; each of a prompt's n tokens also attends to itself */
        .pairs = 0.5 * (work->prefill_pairs + (double)work->prefill_tokens) +
                 (double)(work->decode_context_tokens * (1 + work->decode_drafts)),
        .weight_bytes = llm_reads_bytes(reads, tokens, sequences),
        .widened_bytes = llm_widened_bytes(reads, tokens, sequences),
        .context_tokens = (double)(work->prefill_context_tokens + work->prefill_tokens + work->decode_context_tokens)};
}

/* All but the energy. */
static inline void add_parts(struct work_sums *sums, const struct kvcache *kv, const struct work_parts *parts,
                             int64_t used_blocks, int64_t held_tokens, sim_ns lasted_ns)
{
    const double lasted = (double)lasted_ns;
    sums->tokens += parts->tokens;
    sums->rows += parts->rows;
    sums->pairs += parts->pairs;
    sums->context_tokens += parts->context_tokens;
    sums->weight_bytes += parts->weight_bytes;
    sums->widened_bytes += parts->widened_bytes;
    add_slots(sums, kv, (double)used_blocks * lasted, (double)held_tokens * lasted, lasted);
}

static inline void add_parts_energy(struct energy_sums *sums, const struct energy_model *model,
                                    const struct work_parts *parts, double draft_j, sim_ns lasted_ns)
{
    energy_add_one(sums, model, parts_j(model, parts) + draft_j, 1e-9 * (double)lasted_ns);
}

void work_add_iteration(struct work_sums *sums, const struct work_of *of, const struct iteration_work *work,
                        int64_t held_tokens, sim_ns lasted_ns)
{
    const struct work_parts parts = work_parts_of(of->reads, work);
    add_parts(sums, of->kv, &parts, of->kv->total_blocks - of->kv->free_blocks, held_tokens, lasted_ns);
    sums->energy.draft_j += of->draft_j;
    if (of->energy == NULL) return;
    if (of->energy_at_clock == NULL)
        add_parts_energy(&sums->energy, of->energy, &parts, of->draft_j, lasted_ns);
    else
        add_energy(&sums->energy, of, &parts, 0.0, (struct energy_run){.n = 1, .time_s = 1e-9 * (double)lasted_ns});
}

void work_add_steps(struct work_sums *sums, const struct work_of *of, const struct work_steps *row,
                    const struct work_step *steps, int32_t n)
{
    struct work_sums to = *sums; /* nobody else sees it, so that it can be in registers */
    struct work_parts parts = row->parts;
    SIM_REQUIRE(of->energy_at_clock == NULL); /* replica_is_ordered: no row is counted then */
    for (int32_t i = 0; i < n; i++) {
        const struct work_step *step = &steps[i];
        parts.pairs = (double)(step->context_tokens * row->queries);
        parts.context_tokens = (double)step->context_tokens;
        add_parts(&to, of->kv, &parts, step->used_blocks, step->context_tokens + row->beyond_tokens, step->lasted_ns);
        to.energy.draft_j += step->draft_j;
        if (of->energy != NULL) add_parts_energy(&to.energy, of->energy, &parts, step->draft_j, step->lasted_ns);
    }
    *sums = to;
}

void work_merge(struct work_sums *into, const struct work_sums *from)
{
    into->tokens += from->tokens;
    into->rows += from->rows;
    into->pairs += from->pairs;
    into->weight_bytes += from->weight_bytes;
    into->widened_bytes += from->widened_bytes;
    into->context_tokens += from->context_tokens;
    into->reserved_slot_s += from->reserved_slot_s;
    into->held_slot_s += from->held_slot_s;
    into->shared_slot_s += from->shared_slot_s;
    into->total_slot_s += from->total_slot_s;
    energy_merge(&into->energy, &from->energy);
}

double work_flop(const struct work_sums *sums, const struct llm_spec *llm)
{
    const double head = llm_head_flop(llm), matrices = llm_flop_per_token(llm, 0) - head;
    const double pair = llm_flop_per_token(llm, 1) - llm_flop_per_token(llm, 0);
    return sums->tokens * matrices + sums->rows * head + sums->pairs * pair;
}

double work_bytes(const struct work_sums *sums, const struct llm_spec *llm)
{
    return sums->weight_bytes + sums->context_tokens * llm_kv_bytes_per_token(llm);
}

double work_energy_j(const struct work_sums *sums, const struct energy_model *model, double busy_s, double idle_s)
{
    const struct work_parts parts = {.tokens = sums->tokens, .rows = sums->rows, .pairs = sums->pairs,
                                     .weight_bytes = sums->weight_bytes, .widened_bytes = sums->widened_bytes,
                                     .context_tokens = sums->context_tokens};
    return model->idle_w * idle_s + model->busy_w * busy_s - sums->energy.excess_j + sums->energy.draft_j +
           parts_j(model, &parts);
}
