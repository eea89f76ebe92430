/* The cost of an iteration kernel by kernel: its tables against the kernels themselves, its runs against single
 * iterations, and the share of it that lies outside the fitted range. */
#include "models/operators/operators.h"
#include "sim/catalog/catalog.h"
#include "sim/world/replica/run_clock.h"
#include "tests/support/bed.h"
#include "tests/support/calibration_fixture.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

static const struct subject {
    const char *gpu, *llm;
    int64_t tensor_parallel;
} subjects[] = {
    {"h100-sxm", "llama-3.1-8b", 1}, {"a100-80-sxm", "llama-2-70b", 4},   {"h100-sxm", "mixtral-8x7b", 2},
    {"a40", "mistral-7b", 1}, {"h100-sxm", "qwen3-30b-a3b", 1}, {"h200-sxm", "deepseek-v3", 8},
    {"h200-sxm", "deepseek-v3.2", 8}, {"h200-sxm", "qwen3.5-122b-a10b", 8},
};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

static double between(struct rng *rng, double low, double high)
{
    return low * pow(high / low, rng_uniform(rng));
}

static int64_t whole_between(struct rng *rng, double low, double high)
{
    return (int64_t)between(rng, low, high);
}

static void add_decode(struct rng *rng, struct iteration_work *work)
{
    work->decode_sequences = whole_between(rng, 1, 600);
    work->decode_context_tokens = (int64_t)((double)work->decode_sequences * between(rng, 16, 30000));
    if (rng_below(rng, 2))
        work->decode_longest_tokens = 1 + work->decode_context_tokens / work->decode_sequences +
                                      whole_between(rng, 1, 9000);
}

static void add_prefill(struct rng *rng, struct iteration_work *work)
{
    const int64_t prompts = 1 + (int64_t)rng_below(rng, 4), n = whole_between(rng, 1, 6000);
    const int64_t p = rng_below(rng, 2) ? whole_between(rng, 1, 8000) : 0;
    work->prefill_sequences = prompts;
    work->prefill_tokens = prompts * n;
    work->prefill_context_tokens = prompts * p;
    work->prefill_pairs = (double)prompts * ((double)n * (double)n + 2.0 * (double)n * (double)p);
}

static struct iteration_work random_work(struct rng *rng)
{
    struct iteration_work work = {.prefill_sequences = 0};
    const uint64_t kind = rng_below(rng, 3);
    if (kind != 0) add_decode(rng, &work);
    if (kind != 1) add_prefill(rng, &work);
    return work;
}

/* A model whose parameters are the initial ones, fitted from 0 to `high` along every axis. */
static int make(struct cost_fixture *fixture, const struct subject *subject, double high, const char *engine)
{
    char path[256], document[600];
    snprintf(path, sizeof path, "%s/%g.json", test_tmpdir(), high);
    calibration_fixture_write_all(path, subject->gpu, high);
    snprintf(document, sizeof document, "{'cost': {'kind': 'operators', 'calibration': '%s', 'engine': '%s'}}", path,
             engine);
    const int code = cost_fixture_init(fixture, document, subject->gpu, subject->llm, subject->tensor_parallel, 1);
    CHECK_EQ_STR(fixture->message, "");
    return code;
}

static struct iteration_cost cost_after(const struct cost_fixture *fixture, const struct iteration_work *work,
                                        int64_t steps)
{
    struct iteration_work later = *work;
    struct iteration_cost cost;
    later.decode_context_tokens += steps * work->decode_sequences;
    if (work->decode_longest_tokens > 0) later.decode_longest_tokens += steps;
    fixture->model.cost(fixture->model.model, &later, &cost);
    return cost;
}

/* Kernel by kernel, without a table. */
static struct operators_time driven_by(const struct cost_fixture *fixture, enum kernel_driver driver,
                                       const struct iteration_work *work)
{
    const struct operators *operators = fixture->model.model;
    struct operators_uses list;
    operators_list(&operators->parts, driver, work, &list);
    return operators_sum(&operators->parts, &list);
}

/* The mean over contexts that are spread evenly over a block of an attention kernel around that of the batch, none
 * beyond its chunk. What lies outside is that of the batch itself. */
static struct operators_time decoding(const struct cost_fixture *fixture, const struct iteration_work *work)
{
    enum { BLOCK = 128, STEP = 8 };
    const struct llm_spec *llm = ((const struct operators *)fixture->model.model)->parts.llm;
    const int64_t first_chunk = llm->chunked ? work->decode_sequences * llm->sliding_window : INT64_MAX;
    struct operators_time mean = {0.0, 0.0};
    for (int64_t apart = (STEP - BLOCK) / 2; apart < BLOCK / 2; apart += STEP) {
        struct iteration_work other = *work;
        other.decode_context_tokens += apart * work->decode_sequences;
        if (other.decode_context_tokens < work->decode_sequences) other.decode_context_tokens = work->decode_sequences;
        if ((other.decode_context_tokens > first_chunk) != (work->decode_context_tokens > first_chunk)) other = *work;
        mean.seconds += driven_by(fixture, BY_DECODE, &other).seconds * STEP / BLOCK;
    }
    const struct operators_time own = driven_by(fixture, BY_DECODE, work);
    if (own.seconds > 0.0) mean.outside_s = mean.seconds * own.outside_s / own.seconds;
    return mean;
}

static struct operators_time direct(const struct cost_fixture *fixture, const struct iteration_work *work)
{
    struct operators_time all = decoding(fixture, work);
    for (int driver = BY_TOKENS; driver < BY_DECODE; driver++) {
        const struct operators_time time = driven_by(fixture, (enum kernel_driver)driver, work);
        all.seconds += time.seconds;
        all.outside_s += time.outside_s;
    }
    return all;
}

/* The exceptions are batches close to a step of a kernel that no knot encloses. */
static void check_tables(const struct cost_fixture *fixture, uint32_t run, uint64_t cases)
{
    double worst = 0.0, off = 0.0;
    for (uint64_t n = 0; n < cases; n++) {
        struct rng rng;
        rng_init(&rng, 11, run, "tables", n);
        const struct iteration_work work = random_work(&rng);
        const double error = fabs(cost_after(fixture, &work, 0).first_s / direct(fixture, &work).seconds - 1.0);
        if (!(error <= worst)) worst = error;
        off += error > 0.01;
    }
    CHECK_NEAR(worst, 0.0, 0.02);
    CHECK_NEAR(off / (double)cases, 0.0, 0.015);
}

TEST_SIZED(tables_keep_to_the_kernels)
{
    for (uint32_t s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 1e9, "none") == 0);
        check_tables(&fixture, s, (uint64_t)test_part(3000));
    }
}

static void check_shipped(const char *gpu, const char *llm)
{
    SCOPED(cost_fixture) fixture;
    MUST(cost_fixture_init(&fixture, "{'cost': {'kind': 'operators', 'engine': 'none'}}", gpu, llm, 1, 1) == 0);
    check_tables(&fixture, SUBJECTS, 200);
}

TEST_OPTIMISED(so_they_do_for_all_of_the_catalog)
{
    static const struct catalog catalog = {.root = "configs"};
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct catalog_names names;
    MUST(catalog_list_gpus(&catalog, &arena, &names, &diag) == 0);
    for (size_t i = 0; i < names.n; i++) check_shipped(names.names[i], "llama-3.1-8b");
    MUST(catalog_list_llms(&catalog, &arena, &names, &diag) == 0);
    for (size_t i = 0; i < names.n; i++) check_shipped("h100-sxm", names.names[i]);
}

/* What the clock of a run says of its first `steps` iterations, against one evaluation after another. The next run
 * begins where this one ends: at the knot between their chords, less than a token away. */
static void check_run(const struct cost_fixture *fixture, const struct iteration_work *work, int64_t steps)
{
    const struct iteration_cost first = cost_after(fixture, work, 0);
    const struct run_clock clock = {0, first.first_s * 1e9, first.slope_s * 1e9};
    double sum_ns = 0.0;
    MUST(first.until >= 1 && first.first_s > 0.0);
    if (steps > first.until) steps = first.until;
    for (int64_t i = 0; i < steps; i++) sum_ns += cost_after(fixture, work, i).first_s * 1e9;
    CHECK_NEAR((double)run_clock_boundary_ns(&clock, steps) - sum_ns, 0.0, 0.5 + 1e-4);
    if (first.until == INT64_MAX) return;
    const struct iteration_cost next = cost_after(fixture, work, first.until);
    const double bend_s = next.first_s - (first.first_s + (double)first.until * first.slope_s);
    CHECK_NEAR(bend_s, 0.0, fabs(next.slope_s - first.slope_s) + 1e-15);
}

TEST(runs_add_up_to_their_closed_form)
{
    enum { CASES = 100000 };
    int cut = 0;
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 5000, "none") == 0);
        for (uint64_t n = 0; n < CASES / SUBJECTS + 1; n++) {
            struct rng rng;
            struct iteration_work work = {.prefill_sequences = 0};
            rng_init(&rng, 12, (uint32_t)s, "runs", n);
            add_decode(&rng, &work);
            check_run(&fixture, &work, 1 + (int64_t)rng_below(&rng, 40));
            cut += cost_after(&fixture, &work, 0).until < 40;
        }
    }
    CHECK(cut > CASES / 50);
}

/* A host that is slower than the GPU sets the pace, until attention has grown past it. */
TEST(a_run_ends_where_the_gpu_overtakes_the_host)
{
    SCOPED(cost_fixture) fixture = {0};
    const char *path = test_file("slow.json", "{'summary': 'slow', 'launch': [{'gpu': 'a40', 'layer': '1.5ms'}]}");
    MUST(make(&fixture, &subjects[3], 1e9, path) == 0);
    struct iteration_work work = {.decode_sequences = 64, .decode_context_tokens = 64 * 100};
    struct iteration_cost cost = cost_after(&fixture, &work, 0);
    int segments = 0;
    for (; cost.slope_s == 0.0 && cost.until < INT64_MAX; segments++) {
        CHECK_NEAR(cost.first_s, 32 * 1.5e-3, 1e-12);
        work.decode_context_tokens += cost.until * work.decode_sequences;
        cost = cost_after(&fixture, &work, 0);
    }
    CHECK(segments > 1 && cost.slope_s > 0.0 && cost.first_s >= 32 * 1.5e-3);
}

TEST(longer_work_takes_no_less)
{
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 1e9, "none") == 0);
        for (uint64_t n = 0; n < 2000; n++) {
            struct rng rng;
            rng_init(&rng, 13, (uint32_t)s, "longer", n);
            struct iteration_work work = {.prefill_sequences = 0}, more;
            add_decode(&rng, &work);
            more = work;
            more.decode_context_tokens += (int64_t)rng_below(&rng, 100000);
            CHECK(cost_after(&fixture, &more, 0).first_s >= cost_after(&fixture, &work, 0).first_s);
            more.prefill_sequences = 1;
            more.prefill_tokens = 1 + (int64_t)rng_below(&rng, 4096);
            more.prefill_pairs = (double)more.prefill_tokens * (double)more.prefill_tokens;
            CHECK(cost_after(&fixture, &more, 0).first_s >= cost_after(&fixture, &work, 0).first_s);
        }
    }
}

/* What a curve lists for few tokens or sequences, against its knots. */
static void check_listed(const struct operators_curve *curve)
{
    const struct knots *knots = &curve->knots;
    for (int64_t x = 0; x < OPERATORS_FEW; x++) {
        struct operators_time found = {0.0, 0.0};
        if (knots->n > 0 && x > 0) {
            const size_t i = knots_find(knots, 1, x);
            const struct operators_time *ends = &curve->times[i];
            const double weight = knots_weight(knots, i, (double)x);
            found.seconds = ends[0].seconds + weight * (ends[1].seconds - ends[0].seconds);
            found.outside_s = ends[0].outside_s + weight * (ends[1].outside_s - ends[0].outside_s);
        }
        if (!CHECK(curve->few[x].seconds == found.seconds && curve->few[x].outside_s == found.outside_s)) return;
    }
}

/* To the bit, also in a copy. */
TEST(listed_times_are_those_of_the_knots)
{
    int curves = 0;
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 500, "none") == 0);
        const struct operators *operators = fixture.model.model;
        struct operators *copy = arena_alloc(&fixture.arena, sizeof *copy);
        MUST(copy != NULL);
        operators_copy(copy, operators, &operators->parts);
        const struct operators_curve *const all[] = {&copy->by_all_tokens,  &copy->by_tokens, &copy->by_sequences,
                                                     &copy->by_sent_tokens, &copy->by_keys,   &copy->by_decoding};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            check_listed(all[i]);
            curves += all[i]->knots.n > 0;
        }
        for (int64_t n = 0; n < OPERATORS_FEW; n++) {
            const struct iteration_work work = {.decode_sequences = n};
            const struct operators_time steady = operators_steady(operators, &work, n);
            CHECK(copy->steady[n].seconds == steady.seconds && copy->steady[n].outside_s == steady.outside_s);
        }
    }
    CHECK(curves > 2 * SUBJECTS);
}

/* --- The share outside the fitted range --- */

TEST(inside_nothing_is_extrapolated_and_without_a_range_all)
{
    struct cost_fixture fitted, unfitted;
    MUST(make(&fitted, &subjects[2], 1e12, "none") == 0);
    MUST(make(&unfitted, &subjects[2], 0.0, "none") == 0);
    for (uint64_t n = 0; n < 2000; n++) {
        struct rng rng = test_rng(14, "domain", n);
        const struct iteration_work work = random_work(&rng);
        CHECK(cost_after(&fitted, &work, 0).extrapolated_frac == 0.0);
        CHECK_NEAR(cost_after(&unfitted, &work, 0).extrapolated_frac, 1.0, 1e-12);
    }
    cost_fixture_fini(&fitted);
    cost_fixture_fini(&unfitted);
}

/* A batch changes five axes of prompts, which models/operators/prompt_cost.c knows by their places. */
TEST(axes_of_prompts_are_where_they_are_sought)
{
    static const enum kernel_class classes[] = {KERNEL_PREFILL_ATTENTION, KERNEL_LATENT_PREFILL};
    for (int i = 0; i < 2; i++) {
        const char *const *axes = kernel_class_info(classes[i])->axes;
        CHECK_EQ_STR(axes[0], "sequences");
        CHECK_EQ_STR(axes[1], "tokens");
        CHECK_EQ_STR(axes[2], "past");
        CHECK_EQ_STR(axes[8], "decodes");
        CHECK_EQ_STR(axes[9], "decode_context");
    }
}

/* With every axis fitted up to 5000, batches lie inside for some of their kernels. */
TEST(the_share_is_that_of_the_kernels_outside)
{
    SCOPED(cost_fixture) fixture = {0};
    int partly = 0;
    MUST(make(&fixture, &subjects[0], 5000, "none") == 0);
    for (uint64_t n = 0; n < 5000; n++) {
        struct rng rng = test_rng(15, "share", n);
        const struct iteration_work work = random_work(&rng);
        const struct operators_time time = direct(&fixture, &work);
        const double share = cost_after(&fixture, &work, 0).extrapolated_frac;
        CHECK_NEAR(share, time.outside_s / time.seconds, 0.03);
        partly += share > 0.01 && share < 0.99;
    }
    CHECK(partly > 1000);
}

/* One more token, one more sequence, one more token of context: the share jumps where the range ends. */
TEST(ranges_end_exactly)
{
    enum { START = 303, END = 777 };
    SCOPED(cost_fixture) fixture;
    MUST(make(&fixture, &subjects[0], 1e9, "none") == 0);
    const struct operators *operators = fixture.model.model;
    struct kernel_set set = *operators->parts.kernels;
    set.ranges[KERNEL_GEMM].high[0] = set.ranges[KERNEL_DECODE_ATTENTION].high[1] = END;
    set.ranges[KERNEL_DECODE_ATTENTION].low[1] = START;
    struct operators_parts parts = operators->parts;
    parts.kernels = &set;
    struct operators *narrow = arena_alloc(&fixture.arena, sizeof *narrow);
    MUST(narrow != NULL);
    operators_init(narrow, &parts);
    fixture.model.model = narrow;
    for (int64_t past = -3; past <= 3; past++) {
        const struct iteration_work wide = {.decode_sequences = END + past,
                                            .decode_context_tokens = 500 * (END + past)};
        const struct iteration_work prompt = {.prefill_sequences = 1, .prefill_tokens = END + past};
        const struct iteration_work deep = {.decode_sequences = 2, .decode_context_tokens = 2 * (END + past)};
        CHECK((cost_after(&fixture, &wide, 0).extrapolated_frac > 0.0) == (past > 0));
        CHECK((cost_after(&fixture, &prompt, 0).extrapolated_frac > 0.0) == (past > 0));
        CHECK((cost_after(&fixture, &deep, 0).extrapolated_frac > 0.0) == (past > 0));
    }
    for (int64_t past = -3; past <= 3; past++) {
        const struct iteration_work deep = {.decode_sequences = 303, .decode_context_tokens = 303 * (START + past)};
        CHECK((cost_after(&fixture, &deep, 0).extrapolated_frac > 0.0) == (past < 0));
    }
}

TEST(a_cost_allocates_nothing)
{
    SCOPED(cost_fixture) fixture;
    MUST(make(&fixture, &subjects[5], 1e9, "none") == 0);
    for (uint64_t n = 0; n < 500; n++) {
        struct rng rng = test_rng(16, "memory", n);
        const struct iteration_work work = random_work(&rng);
        const struct iteration_cost before = cost_after(&fixture, &work, 0);
        mem_fail_after(0);
        const struct iteration_cost after = cost_after(&fixture, &work, 0);
        mem_fail_never();
        CHECK(before.first_s == after.first_s && before.slope_s == after.slope_s && before.until == after.until);
    }
}

/* --- In a service --- */

/* Runs whose share changes as contexts grow past the range, in macro-steps and step by step. */
TEST(single_steps_change_nothing)
{
    static const double ends[] = {150, 400, 3000, 1e9};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char path[256], scenario[1200];
        snprintf(path, sizeof path, "%s/%g.json", test_tmpdir(), ends[i]);
        calibration_fixture_write_all(path, "a100-80-sxm", ends[i]);
        snprintf(scenario, sizeof scenario,
                 "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'seed': 3,"
                 " 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2, 'kv': {'blocks': 500},"
                 " 'cost': {'kind': 'operators', 'calibration': '%s'}, 'trace': {'format': 'generate', 'count': 300,"
                 " 'arrival': {'process': 'poisson', 'rate': '20/s'}, 'prompt': {'distribution': 'uniform', 'min': 1,"
                 " 'max': 900}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 300}}}}}",
                 path);
        struct bed_rows *macro = bed_run(BED(.check = true), "%s", scenario);
        struct bed_rows *single = bed_run(BED(.single_step = true), "%s", scenario);
        const double share = bed_metric(macro, "model.extrapolated_frac");
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
        CHECK(macro->engine.fired < single->engine.fired);
        CHECK(ends[i] < 1e6 ? share > 0.0 && share < 1.0 : share == 0.0);
    }
}

static void check_row(const struct iteration_model *model, void *memo, const struct iteration_work *works, int32_t n)
{
    struct iteration_cost alone, row[20];
    MUST(n <= 20);
    model->cost_row(model->model, memo, works, n, row);
    for (int32_t i = 0; i < n; i++) {
        model->cost(model->model, &works[i], &alone);
        CHECK(alone.first_s == row[i].first_s && alone.slope_s == row[i].slope_s && alone.until == row[i].until &&
              alone.extrapolated_frac == row[i].extrapolated_frac);
    }
}

/* Of 7 sequences with 7 drafts each and of 8 with 6, the fullest of four groups has two sequences, and all groups have
 * 56 tokens: only the drafts tell them apart. */
TEST(a_memo_tells_drafts_apart)
{
    const struct cost_shape shape = {.tensor_parallel = 4, .pipeline_parallel = 1, .data_parallel = 4};
    SCOPED(cost_fixture) fixture = {0};
    MUST(cost_fixture_init_on(&fixture, NULL, "{'cost': {'kind': 'operators'}}", "a100-80-sxm", "mixtral-8x7b",
                              &shape) == 0);
    const struct iteration_model *model = &fixture.model;
    const struct iteration_work works[] = {
        {.decode_sequences = 7, .decode_context_tokens = 8000, .decode_drafts = 7},
        {.decode_sequences = 8, .decode_context_tokens = 8000, .decode_drafts = 6},
    };
    struct iteration_cost costs[2];
    void *memo = mem_zalloc(1, model->memo_bytes);
    MUST(memo != NULL);
    for (int i = 0; i < 2; i++) model->cost(model->model, &works[i], &costs[i]);
    CHECK(costs[0].first_s != costs[1].first_s);
    for (int i = 0; i < 4; i++) check_row(model, memo, &works[i % 2], 1);
    mem_free(memo);
}

/* Batches with drafts in rows cost what each alone does, in whatever order of numbers and drafts the rows come; some
 * have prompts or no drafts. */
TEST(what_a_memo_keeps_is_not_seen)
{
    static const struct subject more[] = {{"h100-sxm", "gpt-oss-20b", 1}};
    for (size_t s = 0; s <= SUBJECTS; s++) {
        const struct subject *subject = s < SUBJECTS ? &subjects[s] : &more[0];
        SCOPED(cost_fixture) fixture = {0};
        struct rng rng = test_rng(1, "memo", s);
        if (make(&fixture, subject, 3000.0, "vllm-0.12") != 0) continue;
        const struct iteration_model *model = &fixture.model;
        MUST(model->cost_row != NULL);
        void *memo = mem_zalloc(1, model->memo_bytes);
        MUST(memo != NULL);
        for (int k = 0; k < 40; k++) {
            enum { N = 20 };
            struct iteration_work works[N] = {random_work(&rng)};
            works[0].decode_drafts = (int64_t)rng_below(&rng, 6);
            for (int i = 1; i < N; i++) {
                works[i] = works[i - 1];
                if (works[i].decode_sequences > 0)
                    works[i].decode_context_tokens += works[i].decode_sequences + (int64_t)rng_below(&rng, 200);
            }
            check_row(model, memo, works, N);
        }
        mem_free(memo);
    }
}

/* Sequences that verify drafts: all kernels have that many rows more, attention that many queries. */
TEST(drafts_take_what_their_kernels_take)
{
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 1e9, "none") == 0);
        for (uint64_t n = 0; n < 100; n++) {
            struct rng rng = test_rng(16 + (uint64_t)s, "drafts", n);
            struct iteration_work work = {.prefill_sequences = 0};
            double expected_s = 0;
            add_decode(&rng, &work);
            work.decode_longest_tokens = 0;
            work.decode_drafts = 1 + (int64_t)rng_below(&rng, 4);
            for (int driver = BY_TOKENS; driver <= BY_DECODE; driver++)
                expected_s += driven_by(&fixture, (enum kernel_driver)driver, &work).seconds;
            CHECK_NEAR(cost_after(&fixture, &work, 0).first_s / expected_s, 1, 0.02);
        }
    }
}

/* With all of the GPU a batch costs what it costs without sharing. The two are evaluated apart. */
TEST(the_whole_gpu_is_no_share)
{
    int n_mixing = 0; /* prompts and decoding sequences in one kernel */
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 5000, s % 2 == 0 ? "vllm-0.12" : "none") == 0);
        n_mixing += ((const struct operators *)fixture.model.model)->prompts.mix;
        for (uint64_t n = 0; n < 300; n++) {
            struct rng rng = test_rng(30 + (uint64_t)s, "shares", n);
            struct iteration_work work = random_work(&rng);
            struct iteration_cost shared;
            if (n % 3 == 0 && work.decode_sequences > 0) work.decode_drafts = 1 + (int64_t)rng_below(&rng, 4);
            if (work.decode_drafts > 0) work.decode_longest_tokens = 0;
            fixture.model.cost_at_share(fixture.model.model, &work, 1.0, &shared);
            const struct iteration_cost whole = cost_after(&fixture, &work, 0);
            CHECK_NEAR(shared.first_s / whole.first_s, 1, 1e-12);
            CHECK_NEAR(shared.slope_s, whole.slope_s, 1e-12 * whole.first_s);
            CHECK_NEAR(shared.extrapolated_frac, whole.extrapolated_frac, 1e-9);
            CHECK_EQ_INT(shared.until, whole.until);
        }
    }
    CHECK(n_mixing > 0 && n_mixing < SUBJECTS);
}

/* --- Knots --- */

static void check_knot(const struct knots *knots, const char *of, int64_t at)
{
    bool found = false;
    for (size_t i = 0; i < knots->n; i++) found |= knots->at[i] == at;
    if (!CHECK(found)) printf("\n  no knot of %s at %lld", of, (long long)at);
}

/* Rows of tiles have a knot at both ends, the fewer the longer the batch. */
static void check_token_knots(const struct operators *operators)
{
    static const int64_t few[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 17, 20, 24, 28, 32, 33, 40, 48, 56, 64};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) check_knot(&operators->by_tokens.knots, "tokens", few[i]);
    for (int64_t n = 65; n <= 16384; n++) {
        const int64_t rows = n <= 256 ? 16 : n <= 2048 ? 64 : n <= 4096 ? 128 : 256;
        if (n % rows == 0 || n % rows == 1) check_knot(&operators->by_tokens.knots, "tokens", n);
    }
    for (int64_t n = 16384; n <= 1 << 20; n *= 2) check_knot(&operators->by_tokens.knots, "tokens", n);
}

/* Small batches one by one; where KV heads fill the SMs 0.5, 1, 1.5 ... 16 times. */
static void check_sequence_knots(const struct operators *operators)
{
    const struct kernel_call *call = &operators->decode_attention.uses[0].call;
    const double heads = kernel_is_scan(call->class) ? 0.0 : call->shape.decode.kv_heads;
    for (int64_t n = 1; n <= 1024; n++)
        if (n % (n <= 128 ? 1 : n <= 256 ? 2 : n <= 512 ? 4 : 32) == 0)
            check_knot(&operators->decode.sequences, "sequences", n);
    for (int64_t n = 1024; n <= 1 << 16; n *= 2) check_knot(&operators->decode.sequences, "sequences", n);
    for (int half = 1; half <= 32 && heads > 0.0; half++) {
        const int64_t full = (int64_t)floor(half * (double)operators->parts.gpu->sm_count / (2.0 * heads));
        if (full > 0) check_knot(&operators->decode.sequences, "sequences", full);
        check_knot(&operators->decode.sequences, "sequences", full + 1);
    }
}

/* Middles of blocks of 128 tokens, two per octave, to twice the context; and full windows. */
static void check_context_knots(const struct operators *operators)
{
    const struct knots *knots = &operators->decode.contexts;
    check_knot(knots, "contexts", 1);
    for (int64_t block = 0; block < 4; block++) check_knot(knots, "contexts", 128 * block + 64);
    for (int64_t block = 4; 128 * block <= 2 * operators->parts.llm->max_context; block *= 2) {
        check_knot(knots, "contexts", 128 * block + 64);
        check_knot(knots, "contexts", 192 * block + 64);
    }
    for (size_t i = 0; i < operators->decode_attention.n; i++) {
        const struct kernel_call *call = &operators->decode_attention.uses[i].call;
        const double window = kernel_is_scan(call->class) ? call->shape.scan.window : call->shape.decode.window;
        if (window >= 1) check_knot(knots, "contexts", (int64_t)window);
    }
}

/* Both sides of where a fitted range of 0 to 5000 ends. */
TEST(knots_enclose_what_steps)
{
    for (int s = 0; s < SUBJECTS; s++) {
        SCOPED(cost_fixture) fixture;
        MUST(make(&fixture, &subjects[s], 5000, "none") == 0);
        const struct operators *operators = fixture.model.model;
        check_token_knots(operators);
        check_sequence_knots(operators);
        check_context_knots(operators);
        for (int64_t n = 5000; n <= 5001; n++) {
            check_knot(&operators->by_tokens.knots, "range", n);
            check_knot(&operators->decode.contexts, "range", n);
        }
    }
}

/* One of three kernels delayed by the longest sequence is enough to make it matter. */
TEST(any_straggling_kernel_reads_the_longest)
{
    struct kernel_set set = {.ranges = {{0}}};
    const struct operators_parts parts = {.kernels = &set};
    CHECK(!operators_read_longest(&parts));
    set.params[KERNEL_DECODE_ATTENTION].decode.straggle_frac = 0.1;
    CHECK(operators_read_longest(&parts));
    set.params[KERNEL_DECODE_ATTENTION].decode.straggle_frac = 0.0;
    set.params[KERNEL_LATENT_DECODE].decode.straggle_frac = 0.1;
    CHECK(operators_read_longest(&parts));
    set.params[KERNEL_LATENT_DECODE].decode.straggle_frac = 0.0;
    set.params[KERNEL_PREFILL_ATTENTION].prefill.decode_straggle_frac = 0.1;
    CHECK(operators_read_longest(&parts));
}
