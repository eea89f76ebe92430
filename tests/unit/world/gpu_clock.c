/* The clock state of a replica under a clock or a cap, against the model of one GPU (models/power.h) at that clock. */
#include "analysis/calibrate/power/power_data.h"
#include "sim/world/replica/gpu_clock.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};
static const struct power_model law = {.context_w = 80, .limit_w = 400, .active_w = 33, .compute_w = 881,
                                       .memory_w = 283, .voltage_floor = 0.839, .voltage_knee = 0.727,
                                       .attention_w = 70, .widening_w = 50};

struct bench {
    struct arena arena;
    struct diag diag;
    struct llm_spec llm;
    struct llm_reads reads;
    struct gpu_spec gpu;
};

static bool bench_open(struct bench *bench)
{
    *bench = (struct bench){0};
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    bool found = CHECK_EQ_INT(catalog_llm(&catalog, "llama-2-70b", "t", &bench->arena, &bench->llm, &bench->diag), 0) &&
                 CHECK_EQ_INT(catalog_gpu(&catalog, "a100-80-sxm", "t", &bench->arena, &bench->gpu, &bench->diag), 0);
    if (found) bench->reads = llm_reads(&bench->llm);
    return found;
}

/* Joules of a replica in an iteration that lasts so long at the highest clock. */
static double joules_at(const struct bench *bench, const struct iteration_work *work, int64_t gpus, double seconds,
                        const struct clock_order *order, double *lasts_s)
{
    const struct energy_model base = energy_model_of(&law, &bench->gpu, &bench->llm, gpus);
    const struct clock_model model = {law, gpus, {0.9, 0.1}};
    const struct clock_state clock_state = clock_state_of(&model, &base, order, &bench->reads, work, 0.0, seconds);
    const struct work_of of = {&bench->reads, NULL, &base, clock_state.is_slow ? &clock_state.energy : NULL, 0.0};
    *lasts_s = clock_state.is_slow ? seconds / clock_state.speed_frac : seconds;
    return work_iteration_j(&of, work, *lasts_s) + base.idle_w * *lasts_s;
}

static struct iteration_work random_work(struct rng *rng)
{
    struct iteration_work work = {.decode_sequences = 1 + (int64_t)rng_below(rng, 100)};
    work.decode_context_tokens = work.decode_sequences * (1 + (int64_t)rng_below(rng, 3000));
    if (rng_below(rng, 2) == 0) return work;
    work.prefill_sequences = 1;
    work.prefill_tokens = 1 + (int64_t)rng_below(rng, 4000);
    work.prefill_pairs = (double)work.prefill_tokens * (double)work.prefill_tokens;
    return work;
}

TEST(locks_and_caps)
{
    struct bench bench;
    int n_saturated = 0, n_free = 0;
    struct rng rng = test_rng(1, "pace", 0);
    for (int i = 0; i < 2000 && (i > 0 || bench_open(&bench)); i++) {
        const int64_t gpus = 1 + (int64_t)rng_below(&rng, 8);
        const struct iteration_work work = random_work(&rng);
        const double seconds = 0.02 * pow(50.0, rng_uniform(&rng)), f = 0.2 + 0.8 * rng_uniform(&rng);
        const bool caps = rng_below(&rng, 2) == 0;
        const double cap_w = caps ? 150 + 300 * rng_uniform(&rng) : (double)INFINITY;
        struct power_load load = power_load_of(&bench.gpu, &bench.llm, gpus, &work, seconds);
        const double above_w = power_demand_w(&law, &load) - law.context_w, room_w = law.limit_w - law.context_w;
        const double kept = fmin(1.0, room_w / above_w), share = work.prefill_tokens > 0 ? 0.9 : 0.1;
        load = (struct power_load){kept, kept * load.compute_frac, kept * load.memory_frac, kept * load.attention_frac,
                                   kept * load.widening_frac};
        const struct power_state state = caps ? power_under_cap(&law, &load, share, cap_w)
                                              : power_at_clock(&law, &load, share, f);
        double lasts_s;
        const struct clock_order order = {.clock_frac = caps ? 1.0 : f, .cap_w = cap_w};
        const double joules = joules_at(&bench, &work, gpus, seconds, &order, &lasts_s);
        CHECK_NEAR(lasts_s * state.speed_frac / seconds, 1.0, 1e-9);
        CHECK_NEAR(joules / ((double)gpus * state.power_w * lasts_s), 1.0, 1e-9);
        n_saturated += kept < 1.0;
        n_free += state.clock_frac >= 1.0;
    }
    CHECK(n_saturated > 50 && n_free > 50);
    arena_fini(&bench.arena);
}

/* A run of decode iterations in closed form, at a lower clock, is the sum of its iterations. */
TEST(runs_at_a_lower_clock)
{
    struct bench bench;
    struct rng rng = test_rng(2, "pace", 0);
    for (int i = 0; i < 300 && (i > 0 || bench_open(&bench)); i++) {
        const struct energy_model base = energy_model_of(&law, &bench.gpu, &bench.llm, 4);
        const struct clock_model model = {law, 4, {0.9, 0.1}};
        struct iteration_work work = {.decode_sequences = 1 + (int64_t)rng_below(&rng, 200)};
        work.decode_context_tokens = 1000 * work.decode_sequences;
        const struct clock_order order = {.clock_frac = 0.3 + 0.6 * rng_uniform(&rng), .cap_w = (double)INFINITY};
        const double seconds = 0.01 * pow(20.0, rng_uniform(&rng));
        const struct clock_state clock_state = clock_state_of(&model, &base, &order, &bench.reads, &work, 0.0, seconds);
        const struct work_of of = {&bench.reads, NULL, &base, &clock_state.energy, 0.0};
        const struct run_clock clock = {0, 1e9 * seconds / clock_state.speed_frac, 1e4 * rng_uniform(&rng)};
        struct work_run run = {.clock = &clock, .iterations = 1 + (int64_t)rng_below(&rng, 300),
                               .sequences = work.decode_sequences, .context_tokens = work.decode_context_tokens};
        double whole_s = 0.0, sum_j = 0.0;
        for (int64_t j = 0; j < run.iterations; j++) {
            const double lasts_s = 1e-9 * (clock.first_ns + clock.slope_ns * (double)j);
            sum_j += work_iteration_j(&of, &work, lasts_s);
            whole_s += lasts_s;
            work.decode_context_tokens += work.decode_sequences;
        }
        CHECK_NEAR(work_run_j(&of, &run, whole_s) / sum_j, 1.0, 1e-9);
    }
    arena_fini(&bench.arena);
}
