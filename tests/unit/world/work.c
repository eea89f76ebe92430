/* Sums over runs of iterations against loops over every iteration and block, and what comes out of them. */
#include "sim/catalog/catalog.h"
#include "sim/world/replica/work.h"
#include "sim/world/rows/metric.h"
#include "sim/world/service/slo.h"
#include "tests/support/harness.h"

#include <string.h>

static const struct catalog catalog = {.root = "configs"};

struct bench {
    struct arena arena;
    struct diag diag;
    struct llm_spec llm;
    struct llm_reads reads;
};

static bool bench_open(struct bench *bench, const char *llm)
{
    arena_init(&bench->arena);
    diag_init(&bench->diag);
    bool found = CHECK_EQ_INT(catalog_llm(&catalog, llm, "t", &bench->arena, &bench->llm, &bench->diag), 0);
    if (found) bench->reads = llm_reads(&bench->llm);
    return found;
}

/* Steps through a run, one iteration at a time. */
static void step_through(struct kvcache *kv, const struct kv_growth *growth, const struct llm_spec *llm,
                         const struct work_run *run, int64_t from_step, struct work_sums *sums)
{
    for (int64_t j = 0; j < run->iterations; j++) {
        const double lasted_s = 1e-9 * (run->clock->first_ns + run->clock->slope_ns * (double)(run->from_boundary + j));
        const int64_t context = run->context_tokens + j * run->sequences;
        sums->tokens += (double)run->sequences;
        sums->rows += (double)run->sequences;
        sums->pairs += (double)context;
        sums->context_tokens += (double)context;
        sums->weight_bytes += llm_read_bytes(llm, run->sequences);
        sums->held_slot_s += (double)(context - run->sequences + run->idle_tokens) * lasted_s;
        sums->reserved_slot_s += (double)((kv->total_blocks - kv->free_blocks) * kv->block_tokens) * lasted_s;
        sums->total_slot_s += (double)(kv->total_blocks * kv->block_tokens) * lasted_s;
        kvcache_take(kv, kv_growth_at(growth, from_step + j));
    }
}

static void check_sums(const struct work_sums *sums, const struct work_sums *naive)
{
    CHECK(sums->tokens == naive->tokens && sums->rows == naive->rows && sums->pairs == naive->pairs);
    CHECK(sums->context_tokens == naive->context_tokens);
    CHECK_NEAR(sums->weight_bytes / naive->weight_bytes, 1.0, 1e-12);
    CHECK_NEAR(sums->held_slot_s / naive->held_slot_s, 1.0, 1e-10);
    CHECK_NEAR(sums->reserved_slot_s / naive->reserved_slot_s, 1.0, 1e-10);
    CHECK_NEAR(sums->total_slot_s / naive->total_slot_s, 1.0, 1e-10);
    CHECK(sums->held_slot_s <= sums->reserved_slot_s * (1.0 + 1e-12));
    CHECK(sums->reserved_slot_s <= sums->total_slot_s * (1.0 + 1e-12));
}

/* Random sequences on a cache, and a run of random length from a random boundary of its clock, whole and cut in two. */
static void random_run(struct bench *bench, struct rng *rng)
{
    const int64_t blocks_of[] = {1, 7, 16, 128};
    const int64_t block = blocks_of[rng_below(rng, 4)], from_step = (int64_t)rng_below(rng, 1000);
    const int64_t n = 1 + (int64_t)rng_below(rng, 300), cut = (int64_t)rng_below(rng, (uint64_t)n + 1);
    const struct run_clock clock = {0, 1e6 + (double)rng_below(rng, 1000000), (double)rng_below(rng, 1000)};
    struct work_run run = {.clock = &clock, .from_boundary = (int64_t)rng_below(rng, 50), .iterations = n,
                           .sequences = 1 + (int64_t)rng_below(rng, 20),
                           .idle_tokens = (int64_t)rng_below(rng, 2) * block};
    struct work_sums naive = {0}, whole = {0}, parts = {0};
    struct kvcache kv, again;
    struct kv_growth growth;
    MUST(kv_growth_init(&growth, block) == 0);
    kvcache_init(&kv, block, 100000);
    kvcache_init(&again, block, 100000);
    kvcache_take(&kv, run.idle_tokens / block);
    for (int64_t i = 0; i < run.sequences; i++) {
        const int64_t context = 1 + (int64_t)rng_below(rng, 500);
        run.context_tokens += context;
        kv_growth_join(&growth, from_step, context);
        kvcache_take(&kv, kvcache_blocks(&kv, context - 1));
    }
    kvcache_take(&again, kv.total_blocks - kv.free_blocks);
    step_through(&kv, &growth, &bench->llm, &run, from_step, &naive);
    run.step = from_step + n;
    work_add_decode(&whole, &(struct work_of){.reads = &bench->reads, .kv = &kv}, &growth, &run);
    check_sums(&whole, &naive);

    struct work_run second = run;
    run.iterations = cut;
    run.step = from_step + cut;
    kvcache_take(&again, kv_growth_over(&growth, from_step, cut));
    if (cut > 0) work_add_decode(&parts, &(struct work_of){.reads = &bench->reads, .kv = &again}, &growth, &run);
    second.iterations = n - cut;
    second.from_boundary += cut;
    second.context_tokens += cut * second.sequences;
    kvcache_take(&again, kv_growth_over(&growth, from_step + cut, n - cut));
    if (cut < n) work_add_decode(&parts, &(struct work_of){.reads = &bench->reads, .kv = &again}, &growth, &second);
    check_sums(&parts, &naive);
    kv_growth_fini(&growth);
}

TEST(runs_equal_their_iterations)
{
    struct bench bench;
    struct rng rng = test_rng(1, "work", 0);
    if (bench_open(&bench, "mixtral-8x7b"))
        for (int i = 0; i < 300; i++) random_run(&bench, &rng);
    arena_fini(&bench.arena);
}

/* Iterations with drafts, counted in rows and one by one: the sums are the same to the bit, below the power limit and
 * beyond it. */
TEST(rows_equal_their_iterations)
{
    enum { STEPS = 16 };
    const struct energy_model energy = {.idle_w = 60, .busy_w = 100, .limit_w = 300, .token_j = 1e-3, .row_j = 1e-4,
                                        .pair_j = 3e-7, .weight_byte_j = 4e-11, .widened_byte_j = 1e-12, .context_j = 7e-6};
    struct bench bench;
    struct kvcache kv;
    struct rng rng = test_rng(1, "rows", 0);
    struct work_sums rows = {0}, iterations = {0};
    if (!bench_open(&bench, "llama-2-7b")) return;
    kvcache_init(&kv, 16, 100000);
    for (int run = 0; run < 200; run++) {
        struct work_of of = {.reads = &bench.reads, .kv = &kv, .energy = run % 4 > 0 ? &energy : NULL};
        struct iteration_work work = {.decode_sequences = 1 + (int64_t)rng_below(&rng, 9),
                                      .decode_drafts = (int64_t)rng_below(&rng, 5)};
        const int64_t idle_tokens = (int64_t)rng_below(&rng, 1000);
        const int32_t n = (int32_t)rng_below(&rng, STEPS + 1);
        struct work_step steps[STEPS];
        const struct work_steps row = {.parts = work_parts_of(&bench.reads, &work), .queries = 1 + work.decode_drafts,
                                       .beyond_tokens = idle_tokens - work.decode_sequences};
        for (int32_t i = 0; i < n; i++) {
            work.decode_context_tokens = work.decode_sequences * (1 + (int64_t)rng_below(&rng, 5000));
            kv.free_blocks = (int64_t)rng_below(&rng, 100000);
            of.draft_j = (double)rng_below(&rng, 2) * rng_uniform(&rng);
            steps[i] = (struct work_step){work.decode_context_tokens, kv.total_blocks - kv.free_blocks,
                                          1 + (sim_ns)rng_below(&rng, 20000000), of.draft_j};
            work_add_iteration(&iterations, &of, &work, work.decode_context_tokens + row.beyond_tokens,
                               steps[i].lasted_ns);
        }
        work_add_steps(&rows, &of, &row, steps, n);
    }
    CHECK(memcmp(&rows, &iterations, sizeof rows) == 0);
    CHECK(rows.energy.excess_j > 0.0 && rows.energy.peak_w > 0.0 && rows.energy.draft_j > 0.0);
    arena_fini(&bench.arena);
}

/* A prompt of n tokens in one piece or in chunks, then decoding, costs the FLOP of its tokens one by one. */
TEST(flop_of_a_request)
{
    enum { PROMPT = 100, OUTPUT = 20 };
    struct bench bench;
    struct kvcache kv;
    struct kv_growth growth;
    if (!bench_open(&bench, "llama-2-7b") || !CHECK(kv_growth_init(&growth, 16) == 0)) return;
    kvcache_init(&kv, 16, 100);
    const struct llm_spec *llm = &bench.llm;
    const double head = llm_head_flop(llm);
    double expected = 0.0;
    for (int64_t i = 1; i < PROMPT + OUTPUT; i++) expected += llm_flop_per_token(llm, i) - (i < PROMPT ? head : 0.0);
    for (int64_t chunk = 25; chunk <= PROMPT; chunk += 75) {
        struct work_sums sums = {0};
        for (int64_t done = 0; done < PROMPT; done += chunk) {
            const struct iteration_work work = {
                .prefill_sequences = 1, .prefill_tokens = chunk, .prefill_context_tokens = done,
                .prefill_pairs = (double)(chunk * chunk + 2 * chunk * done)};
            work_add_iteration(&sums, &(struct work_of){.reads = &bench.reads, .kv = &kv}, &work, done, 1000000);
        }
        const struct run_clock clock = {0, 1e6, 10.0};
        const struct work_run run = {.clock = &clock, .iterations = OUTPUT - 1, .step = OUTPUT - 1, .sequences = 1,
                                     .context_tokens = PROMPT + 1};
        work_add_decode(&sums, &(struct work_of){.reads = &bench.reads, .kv = &kv}, &growth, &run);
        const double more_rows = (double)(PROMPT / chunk - 1) * head; /* of chunks that are not the last */
        CHECK_NEAR((work_flop(&sums, llm) - more_rows) / expected, 1.0, 1e-12);
        const double kv_read = llm_kv_bytes_per_token(llm) * sums.context_tokens;
        CHECK_NEAR(work_bytes(&sums, llm) - sums.weight_bytes, kv_read, 1e-3);
    }
    kv_growth_fini(&growth);
    arena_fini(&bench.arena);
}

struct caught {
    size_t n;
    char names[16][64];
    double values[16];
};

static int catch_metric(void *context, const struct metric_row *row)
{
    struct caught *caught = context;
    snprintf(caught->names[caught->n], sizeof caught->names[0], "%s", row->name);
    caught->values[caught->n++] = row->value;
    return 0;
}

static void check_caught(const struct caught *caught, const char *name, double value)
{
    for (size_t i = 0; i < caught->n; i++) {
        if (strcmp(caught->names[i], name) != 0) continue;
        CHECK_NEAR(caught->values[i], value, 1e-15);
        return;
    }
    test_check(false, name, __FILE__, __LINE__);
}

TEST(objectives)
{
    const double none = (double)NAN;
    const double unset[SLO_LIMITS] = {none, none, none, none}, slo[SLO_LIMITS] = {1.0, 0.1, none, none};
    const double good[] = {1.0, 0.1, 50.0, 3.0}, slow[] = {0.5, 0.2, 1.0, 1.0}, late[] = {1.5, 0.1, 1.0, 1.0};
    const double one_token[] = {0.5, none, 0.5, none};
    struct slo_counts counts = {0}, both = {0};
    slo_count(&counts, unset, good, 10);
    CHECK_EQ_INT(counts.requests, 0);
    slo_count(&counts, slo, good, 10);
    slo_count(&counts, slo, slow, 20);
    slo_count(&counts, slo, late, 40);
    slo_count(&counts, slo, one_token, 1);
    slo_count(&counts, slo, NULL, 0);
    slo_merge(&both, &counts);
    slo_merge(&both, &counts);
    struct caught caught = {0};
    const struct sink sink = {.context = &caught, .metric = catch_metric};
    CHECK_EQ_INT(slo_emit(&counts, NULL, 4.0, &sink), 0);
    CHECK_EQ_INT(caught.n, 5); /* there is no limit on end-to-end time, nor on gaps */
    check_caught(&caught, "slo.attained_frac", 2.0 / 5.0);
    check_caught(&caught, "slo.ttft_kept_frac", 3.0 / 5.0);
    check_caught(&caught, "slo.tpot_kept_frac", 3.0 / 5.0);
    check_caught(&caught, "slo.goodput_requests_per_s", 0.5);
    check_caught(&caught, "slo.goodput_tokens_per_s", 11.0 / 4.0);
    CHECK_EQ_INT(slo_emit(&both, "chat", 4.0, &sink), 0);
    check_caught(&caught, "slo.goodput_requests_per_s[chat]", 1.0);
    check_caught(&caught, "slo.attained_frac[chat]", 2.0 / 5.0);
}

TEST(names_of_entities)
{
    CHECK(metric_find("slo.attained_frac[chat]") == metric_find("slo.attained_frac"));
    CHECK(metric_find("slo.attained_frac") != NULL);
    CHECK(metric_find("slo.attained[chat]") == NULL && metric_find("") == NULL && metric_find("[x]") == NULL);
}
