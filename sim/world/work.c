#include "sim/world/work.h"

/* Sums of j, and of j^2, over j = 0 .. n - 1. */
static double sum_1(double n)
{
    return 0.5 * n * (n - 1.0);
}

static double sum_2(double n)
{
    return n * (n - 1.0) * (2.0 * n - 1.0) / 6.0;
}

/* Nanoseconds of the first n of iterations that last first, first + slope ... */
static double elapsed_ns(double first_ns, double slope_ns, double n)
{
    return n * first_ns + sum_1(n) * slope_ns;
}

/* How often a sequence takes a block, once in b boundaries, and the sums over that. */
struct takings {
    int64_t n;
    double m, sum_1, bb_sum_2;
};

static struct takings takings_of(int64_t n, double b)
{
    const double m = (double)n;
    return (struct takings){n, m, sum_1(m), b * b * sum_2(m)};
}

/* Blocks that the run takes. */
struct taken {
    int64_t blocks;
    double block_ns; /* each from its boundary k to the end of the run */
};

static struct taken blocks_taken(const struct kv_growth *growth, const struct work_run *run, double first_ns,
                                 double slope_ns)
{
    const int64_t block = growth->block_tokens, n = run->iterations, rounds = n / block, rest = n % block;
    const int64_t phase = (run->step - n) % block, end = n < block ? n : block;
    const double b = (double)block, end_ns = elapsed_ns(first_ns, slope_ns, (double)n);
    const struct takings more = takings_of(rounds + 1, b), fewer = takings_of(rounds, b);
    struct taken taken = {0, 0.0};
    for (int64_t i = kv_growth_next(growth, phase, 0); i < end; i = kv_growth_next(growth, phase, i + 1)) {
        const struct takings *each = i < rest ? &more : &fewer;
        const int64_t takers = growth->phases[phase + i < block ? phase + i : phase + i - block];
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

/* A token is in the cache from the iteration after the one that makes it. */
static void add_decode_slots(struct work_sums *sums, const struct kvcache *kv, const struct kv_growth *growth,
                             const struct work_run *run)
{
    const double slope_ns = run->clock->slope_ns, n = (double)run->iterations, sequences = (double)run->sequences;
    const double first_ns = run->clock->first_ns + slope_ns * (double)run->from_boundary;
    const double lasted_ns = elapsed_ns(first_ns, slope_ns, n);
    const int64_t used = kv->total_blocks - kv->free_blocks;
    const struct taken taken = blocks_taken(growth, run, first_ns, slope_ns);
    const double held = (double)(run->context_tokens - run->sequences + run->resting_tokens);
    const double held_ns = held * lasted_ns + sequences * (first_ns * sum_1(n) + slope_ns * sum_2(n));
    add_slots(sums, kv, (double)(used - taken.blocks) * lasted_ns + taken.block_ns, held_ns, lasted_ns);
}

/* Joules of an iteration beside those of its time. */
static double iteration_j(const struct energy_law *law, double tokens, double rows, double pairs, double weight_bytes,
                          double context)
{
    return law->token_j * tokens + law->row_j * rows + law->pair_j * pairs + law->weight_byte_j * weight_bytes +
           law->context_j * context;
}

static void add_decode_energy(struct work_sums *sums, const struct energy_law *law, const struct work_run *run,
                              double weight_bytes)
{
    const double sequences = (double)run->sequences, context = (double)run->context_tokens;
    const double slope_ns = run->clock->slope_ns,
                 first_ns = run->clock->first_ns + slope_ns * (double)run->from_boundary;
    energy_add(&sums->energy, law, run->iterations,
               iteration_j(law, sequences, sequences, context, weight_bytes, context),
               (law->pair_j + law->context_j) * sequences, 1e-9 * first_ns, 1e-9 * slope_ns);
}

void work_add_decode(struct work_sums *sums, const struct work_of *of, const struct kv_growth *growth,
                     const struct work_run *run)
{
    const double weight_bytes = llm_reads_bytes(of->reads, run->sequences);
    const double n = (double)run->iterations, sequences = (double)run->sequences;
    const double context = n * (double)run->context_tokens + sequences * sum_1(n);
    sums->tokens += n * sequences;
    sums->rows += n * sequences;
    sums->pairs += context;
    sums->context_tokens += context;
    sums->weight_bytes += n * weight_bytes;
    add_decode_slots(sums, of->kv, growth, run);
    if (of->energy != NULL) add_decode_energy(sums, of->energy, run, weight_bytes);
}

void work_add_iteration(struct work_sums *sums, const struct work_of *of, const struct iteration_work *work,
                        int64_t held_tokens, sim_ns lasted_ns)
{
    const struct kvcache *kv = of->kv;
    const double tokens = (double)(work->prefill_tokens + work->decode_sequences), lasted = (double)lasted_ns;
    const double rows = (double)(work->prefill_sequences + work->decode_sequences);
    /* prefill_pairs counts twice the pairs; of a prompt's n tokens each sees itself, too */
    const double pairs = 0.5 * (work->prefill_pairs + (double)work->prefill_tokens) +
                         (double)work->decode_context_tokens;
    const double context = (double)(work->prefill_context_tokens + work->prefill_tokens + work->decode_context_tokens);
    const double weight_bytes = llm_reads_bytes(of->reads, work->prefill_tokens + work->decode_sequences);
    sums->tokens += tokens;
    sums->rows += rows;
    sums->pairs += pairs;
    sums->context_tokens += context;
    sums->weight_bytes += weight_bytes;
    add_slots(sums, kv, (double)(kv->total_blocks - kv->free_blocks) * lasted, (double)held_tokens * lasted, lasted);
    if (of->energy == NULL) return;
    energy_add(&sums->energy, of->energy, 1, iteration_j(of->energy, tokens, rows, pairs, weight_bytes, context), 0.0,
               1e-9 * lasted, 0.0);
}

void work_merge(struct work_sums *into, const struct work_sums *from)
{
    into->tokens += from->tokens;
    into->rows += from->rows;
    into->pairs += from->pairs;
    into->weight_bytes += from->weight_bytes;
    into->context_tokens += from->context_tokens;
    into->reserved_slot_s += from->reserved_slot_s;
    into->held_slot_s += from->held_slot_s;
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

double work_energy_j(const struct work_sums *sums, const struct energy_law *law, double busy_s, double idle_s)
{
    return law->idle_w * idle_s + law->busy_w * busy_s - sums->energy.excess_j +
           iteration_j(law, sums->tokens, sums->rows, sums->pairs, sums->weight_bytes, sums->context_tokens);
}
