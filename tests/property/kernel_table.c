/* Measured kernels: points come back, between them the law's shape rules, elsewhere the law alone; random tables
 * against a search through all points; the tables of a whole model against its kernels one by one. */
#include "models/operators/operators.h"
#include "tests/support/harness.h"
#include "tests/support/table_fixture.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 20e12, [FORMAT_FP16] = 300e12}, .memory_bytes_per_s = 2e12, .l2_bytes = 40e6,
    .sm_count = 108, .boost_hz = 1.41e9, .fabric = FABRIC_SWITCH, .nvlink_gpus = 8, .nvlink_bytes_per_s = 300e9,
    .pcie_bytes_per_s = 32e9,
};

/* One call of each kind of model, where tests start from. */
static const struct kernel_call calls[] = {
    {.class = KERNEL_GEMM, .shape.gemm = {64, 4096, 4096, FORMAT_FP16, FORMAT_FP16}},
    {.class = KERNEL_PREFILL_ATTENTION,
     .shape.prefill = {.sequences = 1, .tokens = 100, .past = 100, .pairs = 3e4, .q_heads = 32, .kv_heads = 8,
                       .key_dim = 128, .value_dim = 128, .kv = FORMAT_FP16, .compute = FORMAT_FP16}},
    {.class = KERNEL_DECODE_ATTENTION,
     .shape.decode = {.sequences = 10, .context = 1000, .q_heads = 32, .kv_heads = 8, .key_dim = 128, .value_dim = 128,
                      .kv = FORMAT_FP16, .compute = FORMAT_FP16}},
    {.class = KERNEL_NORM, .shape.elementwise = {100, 8192, 2}},
    {.class = KERNEL_MOE,
     .shape.moe = {.tokens = 100, .hidden = 2048, .inner = 768, .chosen = 8, .experts = 64, .held = 64, .matrices = 3,
                   .weights = FORMAT_FP16, .compute = FORMAT_FP16}},
    {.class = KERNEL_ALL_REDUCE,
     .shape.collective = {.bytes = 1e6, .gpus = 4, .nodes = 1, .link_bytes_per_s = 300e9}},
};

enum { N_CALLS = sizeof calls / sizeof *calls, N_POINTS = 150 };

static double *member_at(struct kernel_call *call, const struct kernel_member *member)
{
    return (double *)(void *)((char *)call + member->offset);
}

/* Moves a call along what runs, to one of a few places for each, or anywhere among them. */
static void move_call(struct rng *rng, struct kernel_call *call, bool anywhere)
{
    for (const struct kernel_member *member = kernel_members(call->class); member->name; member++) {
        if (member->role != MEMBER_RUNNING) continue;
        const double step = anywhere ? 9.0 * rng_uniform(rng) : (double)rng_below(rng, 10);
        *member_at(call, member) = floor(pow(3.0, step));
    }
}

/* The fixed members of the first number among them: another shape. */
static void change_shape(struct kernel_call *call, double factor)
{
    const struct kernel_member *member = kernel_members(call->class);
    while (member->role != MEMBER_FIXED || member->kind != MEMBER_NUMBER) member++;
    *member_at(call, member) *= factor;
}

/* Points of three shapes at random places, each twice to half as slow as the law. */
static void make_points(struct rng *rng, const struct kernel_call *start, const struct kernel_set *set,
                        struct kernel_point points[N_POINTS])
{
    for (size_t i = 0; i < N_POINTS; i++) {
        points[i].call = *start;
        change_shape(&points[i].call, (double)(1 + rng_below(rng, 3)));
        move_call(rng, &points[i].call, false);
        const double law_s = kernel_call_time(&set->params[start->class], &gpu, &points[i].call).seconds;
        points[i].seconds = law_s * exp2(2.0 * rng_uniform(rng) - 1.0);
    }
}

/* --- A search through all points --- */

static bool is_alike(const struct kernel_call *a, const struct kernel_call *b)
{
    for (const struct kernel_member *member = kernel_members(a->class); member->name; member++)
        if (member->role == MEMBER_FIXED && kernel_member_value(a, member) != kernel_member_value(b, member))
            return false;
    return true;
}

/* What runs, the last first; 0 where there is no second. */
static void running_values(const struct kernel_call *call, double values[2])
{
    values[0] = values[1] = 0.0;
    for (const struct kernel_member *member = kernel_members(call->class); member->name; member++) {
        if (member->role != MEMBER_RUNNING) continue;
        values[1] = values[0];
        values[0] = kernel_member_value(call, member);
    }
}

static double log_between(double x, double low, double high, double at_low, double at_high)
{
    if (low == high) return at_low;
    const double weight = log((1.0 + x) / (1.0 + low)) / log((1.0 + high) / (1.0 + low));
    return (1.0 - weight) * at_low + weight * at_high;
}

/* The ratio of the point at (inner, outer) among those alike, if any. */
static double ratio_at(const struct kernel_point *points, size_t n, const struct kernel_set *set,
                       const struct kernel_call *call, double inner, double outer)
{
    for (size_t i = 0; i < n; i++) {
        double at[2];
        running_values(&points[i].call, at);
        if (at[0] == inner && at[1] == outer && is_alike(&points[i].call, call))
            return points[i].seconds / kernel_call_time(&set->params[call->class], &gpu, &points[i].call).seconds;
    }
    return (double)NAN;
}

/* Nearest values of a coordinate on both sides of x: of the outer one, or of the inner one at that outer value. */
static void neighbours(const struct kernel_point *points, size_t n, const struct kernel_call *call, int coordinate,
                       double outer, double x, double *low, double *high)
{
    *low = -1.0;
    *high = (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        double at[2];
        running_values(&points[i].call, at);
        if (!is_alike(&points[i].call, call) || (coordinate == 0 && at[1] != outer)) continue;
        if (at[coordinate] <= x) *low = fmax(*low, at[coordinate]);
        if (at[coordinate] >= x) *high = fmin(*high, at[coordinate]);
    }
}

/* NAN outside of what was measured. */
static double naive_line(const struct kernel_point *points, size_t n, const struct kernel_set *set,
                         const struct kernel_call *call, double outer, double x)
{
    double low, high;
    neighbours(points, n, call, 0, outer, x, &low, &high);
    if (low < 0.0 || isinf(high)) return (double)NAN;
    return log_between(x, low, high, ratio_at(points, n, set, call, low, outer),
                       ratio_at(points, n, set, call, high, outer));
}

static double naive_ratio(const struct kernel_point *points, size_t n, const struct kernel_set *set,
                          const struct kernel_call *call)
{
    double at[2], low, high;
    running_values(call, at);
    neighbours(points, n, call, 1, 0.0, at[1], &low, &high);
    if (low < 0.0 || isinf(high)) return (double)NAN;
    return log_between(at[1], low, high, naive_line(points, n, set, call, low, at[0]),
                       naive_line(points, n, set, call, high, at[0]));
}

/* --- Laws --- */

/* A table for one kind of call; `points` keeps the ones that are left, *n of them. */
static bool make_table(struct rng *rng, const struct kernel_call *start, struct kernel_set *set, struct arena *arena,
                       struct kernel_point points[N_POINTS], size_t *n)
{
    kernel_set_init(set);
    make_points(rng, start, set, points);
    *n = kernel_points_reduce(points, N_POINTS);
    set->tables[start->class] = table_fixture_make(points, *n, &set->params[start->class], &gpu, arena);
    return CHECK(set->tables[start->class] != NULL);
}

TEST(measured_points_come_back)
{
    for (size_t kind = 0; kind < N_CALLS; kind++) {
        struct kernel_point points[N_POINTS];
        struct kernel_set set;
        SCOPED(arena) arena = {0};
        size_t n;
        struct rng rng = test_rng(31, "points", kind);
        MUST(make_table(&rng, &calls[kind], &set, &arena, points, &n));
        CHECK(n > 20 && n <= N_POINTS);
        for (size_t i = 0; i < n; i++) {
            enum kernel_basis basis;
            const struct kernel_time time = kernel_set_time(&set, &gpu, &points[i].call, &basis);
            CHECK_NEAR(time.seconds / points[i].seconds, 1.0, 5e-16);
            CHECK_EQ_INT(basis, KERNEL_MEASURED);
        }
    }
}

TEST_SIZED(tables_do_what_a_search_through_all_points_does)
{
    int inside = 0, outside = 0;
    for (uint64_t n_tried = 0; n_tried < (uint64_t)test_part(40) * N_CALLS; n_tried++) {
        const struct kernel_call *start = &calls[n_tried % N_CALLS];
        struct kernel_point points[N_POINTS];
        struct kernel_set set;
        SCOPED(arena) arena = {0};
        size_t n;
        struct rng rng = test_rng(32, "naive", n_tried);
        MUST(make_table(&rng, start, &set, &arena, points, &n));
        for (int i = 0; i < 100; i++) {
            struct kernel_call call = *start;
            double ratio = (double)NAN;
            change_shape(&call, (double)(1 + rng_below(&rng, 3)));
            move_call(&rng, &call, rng_below(&rng, 4) > 0);
            const double expected = naive_ratio(points, n, &set, &call);
            const bool found = kernel_table_ratio(set.tables[start->class], &call, &ratio);
            CHECK(found == !isnan(expected));
            if (found) CHECK_NEAR(ratio, expected, 1e-13);
            inside += found;
            outside += !found;
        }
    }
    CHECK_WHOLE(inside > 3000 && outside > 500);
}

/* Two points, 1.5 and 0.8 times the law. */
TEST(between_points_the_law_has_its_shape)
{
    struct kernel_set set;
    SCOPED(arena) arena = {0};
    kernel_set_init(&set);
    struct kernel_point points[] = {{calls[0], 0.0}, {calls[0], 0.0}};
    points[0].call.shape.gemm.m = 1000.0;
    points[1].call.shape.gemm.m = 10.0;
    const double factors[] = {1.5, 0.8};
    const union kernel_params *law = &set.params[KERNEL_GEMM];
    for (int i = 0; i < 2; i++) points[i].seconds = factors[i] * kernel_call_time(law, &gpu, &points[i].call).seconds;
    set.tables[KERNEL_GEMM] = table_fixture_make(points, 2, law, &gpu, &arena);
    MUST(set.tables[KERNEL_GEMM] != NULL);
    double last = 0.8;
    for (int m = 11; m < 1000; m++) {
        struct kernel_call call = calls[0];
        enum kernel_basis basis;
        call.shape.gemm.m = (double)m;
        const struct kernel_time time = kernel_set_time(&set, &gpu, &call, &basis);
        const struct kernel_time alone = kernel_call_time(law, &gpu, &call);
        const double ratio = time.seconds / alone.seconds;
        CHECK(ratio > last && ratio < 1.5);
        CHECK_NEAR(time.memory_s / alone.memory_s, ratio, 1e-15);
        CHECK(time.flop == alone.flop && time.bytes == alone.bytes);
        last = ratio;
    }
}

/* Another shape, or one step beyond the points. */
TEST(elsewhere_the_law_is_alone)
{
    for (size_t kind = 0; kind < N_CALLS; kind++) {
        const enum kernel_class class = calls[kind].class;
        struct kernel_point points[N_POINTS];
        struct kernel_set set;
        SCOPED(arena) arena = {0};
        size_t n;
        struct rng rng = test_rng(33, "elsewhere", kind);
        MUST(make_table(&rng, &calls[kind], &set, &arena, points, &n));
        for (int i = 0; i < 200; i++) {
            struct kernel_call call = calls[kind];
            enum kernel_basis basis;
            move_call(&rng, &call, true);
            if (i % 2 == 0) change_shape(&call, 5.0);
            for (const struct kernel_member *member = kernel_members(class); i % 2 == 1 && member->name; member++)
                if (member->role == MEMBER_RUNNING) *member_at(&call, member) += 19683.0; /* 3^9 */
            set.ranges[class].fitted = i % 4 < 2;
            for (size_t axis = 0; axis < KERNEL_MAX_AXES; axis++) set.ranges[class].high[axis] = 1e9;
            kernel_range_add_formats(&set.ranges[class], kernel_call_formats(&call));
            const struct kernel_time time = kernel_set_time(&set, &gpu, &call, &basis);
            const struct kernel_time alone = kernel_call_time(&set.params[class], &gpu, &call);
            CHECK(memcmp(&time, &alone, sizeof time) == 0);
            CHECK_EQ_INT(basis, i % 4 < 2 ? KERNEL_FITTED : KERNEL_EXTRAPOLATED);
        }
    }
}

TEST(repeated_points_leave_their_median)
{
    static const double m[] = {8, 4, 8, 4, 8, 2, 4, 4}, seconds[] = {9, 3, 7, 1, 8, 5, 4, 2};
    static const double expected_m[] = {2, 4, 8}, expected_s[] = {5, 2, 8};
    struct kernel_point points[8];
    for (int i = 0; i < 8; i++) {
        points[i] = (struct kernel_point){calls[0], seconds[i]};
        points[i].call.shape.gemm.m = m[i];
    }
    MUST(CHECK_EQ_INT(kernel_points_reduce(points, 8), 3));
    for (int i = 0; i < 3; i++)
        CHECK(points[i].call.shape.gemm.m == expected_m[i] && points[i].seconds == expected_s[i]);
}

/* --- A whole model --- */

static const struct llm_spec llm = {
    .layers = 32, .hidden = 4096, .q_heads = 32, .kv_heads = 8, .head_dim = 128, .ffn = 14336, .vocab = 128256,
    .max_context = 131072, .gated_ffn = true, .layer_norms = 2,
    .weights = FORMAT_FP16, .compute = FORMAT_FP16, .kv = FORMAT_FP16,
};

static const int64_t batches[] = {1, 3, 7, 16, 50, 100, 187, 255, 300}, contexts[] = {17, 33, 500, 1025, 3000, 16385};

enum { N_BATCHES = sizeof batches / sizeof *batches, N_CONTEXTS = sizeof contexts / sizeof *contexts, MOST = 2000 };

/* Every kernel of those batches, at a random distance from the law. */
static size_t measure(struct rng *rng, const struct operators_parts *parts, enum kernel_class class,
                      struct kernel_point points[MOST])
{
    size_t n = 0;
    for (int i = 0; i < N_BATCHES * N_CONTEXTS; i++) {
        const int64_t batch = batches[i / N_CONTEXTS];
        const struct iteration_work work = {.decode_sequences = batch,
                                            .decode_context_tokens = batch * contexts[i % N_CONTEXTS]};
        struct kernel_use uses[LLM_MAX_USES];
        const size_t n_uses = llm_iteration_kernels(&llm, &parts->split, &gpu, &work, uses);
        for (size_t j = 0; j < n_uses; j++) {
            if (uses[j].call.class != class || n == MOST) continue;
            const double law_s = kernel_call_time(&parts->kernels->params[class], &gpu, &uses[j].call).seconds;
            points[n++] = (struct kernel_point){uses[j].call, law_s * exp2(2.0 * rng_uniform(rng) - 1.0)};
        }
    }
    return n;
}

static bool measure_all(struct rng *rng, const struct operators_parts *parts, struct arena *arena,
                        struct kernel_set *set)
{
    struct kernel_point *points = arena_alloc(arena, MOST * sizeof *points);
    bool made = points != NULL;
    for (int class = 0; made && class < KERNEL_CLASS_COUNT; class ++) {
        const size_t n = measure(rng, parts, (enum kernel_class) class, points);
        if (n == 0) continue;
        set->tables[class] = table_fixture_make(points, n, &set->params[class], &gpu, arena);
        made = set->tables[class] != NULL;
    }
    return CHECK(made);
}

static double tabled_s(const struct operators *operators, const struct iteration_work *work, double *outside_frac)
{
    struct iteration_cost cost;
    operators_cost(operators, work, &cost);
    *outside_frac = cost.extrapolated_frac;
    return cost.first_s;
}

/* At measured batches the model's own tables hold the kernels' times; between them nothing is extrapolated, although no
 * range was fitted, and beyond them everything is. */
TEST(a_model_holds_what_was_measured)
{
    struct kernel_set set;
    SCOPED(arena) arena = {0};
    struct rng rng = test_rng(34, "model", 0);
    kernel_set_init(&set);
    const struct operators_parts parts = {
        .gpu = &gpu, .llm = &llm, .kernels = &set,
        .split = {.tensor = 1, .pipeline = 1, .expert = 1, .gpus_per_node = 8}};
    struct operators *operators = arena_alloc(&arena, sizeof *operators);
    MUST(operators != NULL && measure_all(&rng, &parts, &arena, &set));
    operators_init(operators, &parts);
    for (int i = 0; i < N_BATCHES * N_CONTEXTS; i++) {
        const int64_t batch = batches[i / N_CONTEXTS], context = contexts[i % N_CONTEXTS];
        const struct iteration_work work = {.decode_sequences = batch, .decode_context_tokens = batch * context};
        struct iteration_breakdown breakdown;
        double outside_frac;
        iteration_breakdown(&parts, &work, &breakdown);
        CHECK_NEAR(tabled_s(operators, &work, &outside_frac) / breakdown.gpu_s, 1.0, 1e-12);
        CHECK(outside_frac == 0.0 && breakdown.outside_s == 0.0);
        for (size_t op = 0; op < breakdown.n; op++)
            CHECK(breakdown.operators[op].measured_s == breakdown.operators[op].time.seconds);
    }
    for (int64_t batch = 1; batch <= 302; batch++) {
        const struct iteration_work work = {.decode_sequences = batch, .decode_context_tokens = batch * 700};
        double outside_frac;
        tabled_s(operators, &work, &outside_frac);
        CHECK_NEAR(outside_frac, batch <= 300 ? 0.0 : 1.0, 1e-12);
    }
}
