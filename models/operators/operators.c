#include "models/operators/operators.h"

#include "models/operators/kernel_table.h"

#include <math.h>
#include <string.h>

/* --- Cost by tables --- */

/* The point of a chord, `weight` of the way from a to b; beyond them where it is not in 0 .. 1. */
static struct operators_time chord(struct operators_time a, struct operators_time b, double weight)
{
    return (struct operators_time){a.seconds + weight * (b.seconds - a.seconds),
                                   a.outside_s + weight * (b.outside_s - a.outside_s)};
}

void operators_list(const struct operators_parts *parts, enum kernel_driver driver, const struct iteration_work *work,
                    struct operators_uses *list)
{
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(parts->llm, &parts->split, parts->gpu, work, uses);
    list->n = 0;
    for (size_t i = 0; i < n; i++)
        if (uses[i].driver == driver) list->uses[list->n++] = uses[i];
}

static struct operators_time use_time(const struct operators_parts *parts, const struct kernel_use *use)
{
    enum kernel_basis basis;
    const double seconds = use->count * kernel_set_time(parts->kernels, parts->gpu, &use->call, &basis).seconds;
    return (struct operators_time){seconds, basis == KERNEL_EXTRAPOLATED ? seconds : 0.0};
}

struct operators_time operators_use_time(const struct operators_parts *parts, const struct kernel_use *use)
{
    return use_time(parts, use);
}

struct operators_time operators_sum(const struct operators_parts *parts, const struct operators_uses *list)
{
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; i < list->n; i++) time = operators_add(time, use_time(parts, &list->uses[i]));
    return time;
}

static struct operators_time interpolated(const struct operators_curve *curve, int64_t x)
{
    if (curve->knots.n == 0 || x == 0) return (struct operators_time){0.0, 0.0};
    const size_t i = knots_find(&curve->knots, 1, x);
    return chord(curve->times[i], curve->times[i + 1], knots_weight(&curve->knots, i, (double)x));
}

static inline struct operators_time curve_time(const struct operators_curve *curve, int64_t x)
{
    return x < OPERATORS_FEW ? curve->few[x] : interpolated(curve, x);
}

/* Attention of the decoding sequences along the run, at whose beginning *outside_s of it are outside. With prompts the
 * run is one iteration. */
static inline __attribute__((always_inline)) struct piece
decode_attention(const struct operators_grid *grid, const struct iteration_work *work, double *outside_s)
{
    *outside_s = 0.0;
    if (work->decode_sequences == 0) return piece_line(0.0, 0.0);
    const int64_t n = work->decode_sequences, tokens = work->decode_context_tokens;
    const size_t i = knots_find(&grid->sequences, 1, n), j = knots_find(&grid->contexts, n, tokens);
    const double weight = knots_weight(&grid->sequences, i, (double)n);
    const struct operators_time *row = &grid->times[i * grid->contexts.n + j], *next_row = row + grid->contexts.n;
    const struct operators_time begin = chord(row[0], next_row[0], weight);
    const struct operators_time end = chord(row[1], next_row[1], weight);
    const struct operators_time now = chord(begin, end, knots_weight(&grid->contexts, j, (double)tokens / (double)n));
    const int64_t next = grid->contexts.at[j + 1];
    const bool is_last = j + 2 == grid->contexts.n;
    *outside_s = now.outside_s;
    int64_t until = 1;
    if (work->prefill_tokens == 0) until = is_last ? INT64_MAX : (n * next - tokens) / n + 1;
    return (struct piece){
        .now = now.seconds,
        .slope = (end.seconds - begin.seconds) / (double)(next - grid->contexts.at[j]),
        .until = until,
    };
}

bool operators_read_longest(const struct operators_parts *parts)
{
    const union kernel_params *params = parts->kernels->params;
    return params[KERNEL_DECODE_ATTENTION].decode.straggle_frac > 0.0 ||
           params[KERNEL_LATENT_DECODE].decode.straggle_frac > 0.0 ||
           params[KERNEL_PREFILL_ATTENTION].prefill.decode_straggle_frac > 0.0;
}

/* Delay by the longest sequence. Its lead over the mean is counted in whole tokens, times n: constant along a run. */
static inline __attribute__((always_inline)) struct operators_time straggle_time(const struct operators *operators,
                                                                                 const struct iteration_work *work)
{
    const struct operators_parts *parts = &operators->parts;
    const int64_t n = work->decode_sequences, ahead = n * work->decode_longest_tokens - work->decode_context_tokens;
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; n > 0 && ahead > 0 && i < operators->decode_attention.n; i++) {
        struct kernel_use use = operators->decode_attention.uses[i];
        if (kernel_is_scan(use.call.class)) continue;
        kernel_use_rebatch(&use, work);
        struct decode_shape shape = use.call.shape.decode;
        shape.longest = (double)ahead / (double)n;
        shape.context = 0.0;
        const struct decode_params *params = &parts->kernels->params[use.call.class].decode;
        const double seconds = use.count * decode_straggle_seconds(params, parts->gpu, &shape);
        time = operators_add(
            time, (struct operators_time){seconds, kernel_in_range(parts->kernels, &use.call) ? 0.0 : seconds});
    }
    return time;
}

/* The part that is constant along a run, but for sending by DeepEP's kernels. */
static struct operators_time steady_time(const struct operators *operators, const struct iteration_work *work)
{
    const int64_t decoded = iteration_decode_tokens(work), tokens = work->prefill_tokens + decoded;
    const int64_t keys = work->prefill_tokens + work->prefill_context_tokens;
    struct operators_time time = operators_prompts_time(&operators->prompts, &operators->parts, work);
    time = operators_add(time, curve_time(&operators->by_tokens, tokens));
    time = operators_add(time, curve_time(&operators->by_sequences, work->prefill_sequences + decoded));
    time = operators_add(time, curve_time(&operators->by_keys, keys));
    return operators_add(time, curve_time(&operators->by_decoding, decoded));
}

/* Attention of decoding sequences that verify drafts, evaluated as it is: the tables are of one query a sequence. */
static struct piece drafted_attention(const struct operators *operators, const struct iteration_work *work,
                                      double *outside_s)
{
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; i < operators->decode_attention.n; i++) {
        struct kernel_use use = operators->decode_attention.uses[i];
        kernel_use_rebatch(&use, work);
        time = operators_add(time, use_time(&operators->parts, &use));
    }
    *outside_s = time.outside_s;
    return piece_line(time.seconds, 0.0);
}

/* What decoding sequences take beside prompts whose attention serves them too: linear attention. */
static __attribute__((noinline)) struct piece linear_attention(const struct operators *operators,
                                                               const struct iteration_work *work, double *outside_s)
{
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; work->decode_sequences > 0 && i < operators->decode_attention.n; i++) {
        struct kernel_use use = operators->decode_attention.uses[i];
        if (!kernel_is_scan(use.call.class)) continue;
        kernel_use_rebatch(&use, work);
        time = operators_add(time, use_time(&operators->parts, &use));
    }
    *outside_s = time.outside_s;
    return piece_line(time.seconds, 0.0);
}

struct operators_time operators_steady(const struct operators *operators, const struct iteration_work *own,
                                       int64_t all_tokens)
{
    const struct operators_time steady = steady_time(operators, own);
    if (operators->parts.split.data <= 1) return steady;
    return operators_add(steady, curve_time(&operators->by_all_tokens, all_tokens));
}

struct operators_time operators_sending(const struct operators *operators, int64_t tokens)
{
    return curve_time(&operators->by_sent_tokens, tokens);
}

__attribute__((noinline)) struct operators_computing
operators_computing(const struct operators *operators, const struct iteration_work *own, int64_t all_tokens)
{
    struct operators_time steady = steady_time(operators, own);
    double decode_outside_s = 0.0;
    const bool is_alone = own->prefill_tokens == 0 || !operators->prompts.mix;
    struct piece decode = piece_line(0.0, 0.0);
    if (is_alone && own->decode_drafts > 0 && own->decode_sequences > 0)
        decode = drafted_attention(operators, own, &decode_outside_s);
    else if (is_alone)
        decode = decode_attention(&operators->decode, own, &decode_outside_s);
    else if (operators->is_hybrid)
        decode = linear_attention(operators, own, &decode_outside_s);
    if (is_alone && own->decode_drafts == 0) steady = operators_add(steady, straggle_time(operators, own));
    if (operators->parts.split.data > 1)
        steady = operators_add(steady, curve_time(&operators->by_all_tokens, all_tokens));
    return (struct operators_computing){piece_add(decode, piece_line(steady.seconds, 0.0)),
                                        steady.outside_s + decode_outside_s};
}

/* A batch that verifies drafts. */
static __attribute__((noinline)) void cost_of_drafts(const struct operators *operators,
                                                     const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct iteration_work own = llm_group_work(&operators->parts.split, work);
    const struct operators_computing whole = operators_computing(operators, &own,
                                                                 work->prefill_tokens + iteration_decode_tokens(work));
    const struct piece all = engine_iteration(&operators->parts.engine, operators->layers, &own, whole.gpu);
    *cost = (struct iteration_cost){
        .first_s = all.now,
        .until = 1,
        .extrapolated_frac = operators_share(whole.outside_s, whole.gpu.now),
    };
}

void operators_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    const struct operators *operators = model;
    if (llm_split_has_deepep(&operators->parts.split)) {
        operators_cost_at_share(model, work, 1.0, cost);
        return;
    }
    if (work->decode_drafts > 0) {
        cost_of_drafts(operators, work, cost);
        return;
    }
    const int64_t all_tokens = work->prefill_tokens + iteration_decode_tokens(work);
    const bool is_parted = operators->parts.split.data > 1;
    struct iteration_work own;
    if (is_parted) {
        own = llm_group_work(&operators->parts.split, work);
        work = &own;
    }
    const bool is_listed = work->prefill_tokens == 0 && work->decode_sequences < OPERATORS_FEW;
    struct operators_time steady = is_listed ? operators->steady[work->decode_sequences] : steady_time(operators, work);
    double decode_outside_s = 0.0;
    const bool is_alone = work->prefill_tokens == 0 || !operators->prompts.mix;
    struct piece decode = piece_line(0.0, 0.0);
    if (is_alone)
        decode = decode_attention(&operators->decode, work, &decode_outside_s);
    else if (operators->is_hybrid)
        decode = linear_attention(operators, work, &decode_outside_s);
    if (is_alone) steady = operators_add(steady, straggle_time(operators, work));
    if (is_parted) steady = operators_add(steady, curve_time(&operators->by_all_tokens, all_tokens));
    const struct piece gpu = piece_add(decode, piece_line(steady.seconds, 0.0));
    const struct piece all = engine_iteration(&operators->parts.engine, operators->layers, work, gpu);
    *cost = (struct iteration_cost){
        .first_s = all.now,
        .slope_s = all.slope,
        .until = work->prefill_tokens > 0 ? 1 : all.until,
        .extrapolated_frac = operators_share(steady.outside_s + decode_outside_s, gpu.now),
    };
}

/* --- Building the tables: their knots, and the times there --- */

/* Up to `last`, every row of `rows` tokens has a knot at both ends: a matrix product steps from one to the next. Long
 * batches hardly feel one row of tiles. */
struct stride {
    int64_t last, rows;
};

enum { LAST_TOKENS = 1 << 20, LAST_SEQUENCES = 1 << 16, BLOCK_TOKENS = 128 };

static void add_token_knots(struct knots *knots)
{
    /* Experts take other tiles for more tokens than there are experts on the GPU: 8, 16, 32 or as many as rows. */
    static const int64_t first_row[] = {1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 17, 20, 24, 28, 32, 33, 40, 48, 56, 64};
    static const struct stride strides[] = {{256, 16}, {2048, 64}, {4096, 128}, {16384, 256}};
    int64_t done = 64;
    for (size_t i = 0; i < sizeof first_row / sizeof *first_row; i++) knots_add(knots, first_row[i]);
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        for (; done < strides[i].last; done += strides[i].rows) {
            knots_add(knots, done + 1);
            knots_add(knots, done + strides[i].rows);
        }
    }
    for (; done <= LAST_TOKENS; done *= 2) knots_add(knots, done);
}

/* Small batches one by one: every sequence is another few blocks of threads. In larger ones the SMs are given one KV
 * head after another, whole or halved, so that knots enclose what fills them half, once, one and a half times ... */
static void add_sequence_knots(struct knots *knots, const struct gpu_spec *gpu, const struct operators_uses *attention)
{
    enum { HALF_WAVES = 32 };
    static const struct stride strides[] = {{128, 1}, {256, 2}, {512, 4}, {1024, 32}};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++)
        while (at < strides[i].last) knots_add(knots, at += strides[i].rows);
    for (; at <= LAST_SEQUENCES; at *= 2) knots_add(knots, at);
    for (size_t i = 0; i < attention->n; i++) {
        const struct kernel_call *call = &attention->uses[i].call;
        for (int64_t half = 1; half <= HALF_WAVES && !kernel_is_scan(call->class); half++) {
            const double full = 0.5 * (double)(half * gpu->sm_count) / call->shape.decode.kv_heads;
            knots_add(knots, (int64_t)full);
            knots_add(knots, (int64_t)full + 1);
        }
    }
}

/* The middles of blocks, two per octave from the fourth on, as far as the LLM reaches; and where a window is full. */
static void add_context_knots(struct knots *knots, const struct operators_uses *attention, int64_t max_context)
{
    knots_add(knots, 1);
    for (int64_t block = 0; block < 4; block++) knots_add(knots, block * BLOCK_TOKENS + BLOCK_TOKENS / 2);
    for (int64_t block = 4; block * BLOCK_TOKENS <= 2 * max_context; block *= 2) {
        knots_add(knots, block * BLOCK_TOKENS + BLOCK_TOKENS / 2);
        knots_add(knots, block * 3 / 2 * BLOCK_TOKENS + BLOCK_TOKENS / 2);
    }
    for (size_t i = 0; i < attention->n; i++) {
        const struct kernel_call *call = &attention->uses[i].call;
        const bool is_scan = kernel_is_scan(call->class);
        knots_add(knots, (int64_t)(is_scan ? call->shape.scan.window : call->shape.decode.window));
        if (is_scan || call->shape.decode.chunk <= 0.0) continue;
        knots_add(knots, (int64_t)call->shape.decode.chunk);
        knots_add(knots, 2 * (int64_t)call->shape.decode.chunk);
    }
}

/* Knots on both sides of where a call enters and leaves its range; it grows evenly, from `one` at 1 to `two` at 2. */
static void add_range_knots(struct knots *knots, const struct kernel_set *set, const struct kernel_call *one,
                            const struct kernel_call *two)
{
    const struct kernel_range *range = &set->ranges[one->class];
    double start[KERNEL_MAX_AXES] = {0.0}, next[KERNEL_MAX_AXES] = {0.0};
    if (!range->fitted) return;
    kernel_call_axes(one, start);
    kernel_call_axes(two, next);
    for (size_t i = 0; i < KERNEL_MAX_AXES; i++) {
        const double growth = next[i] - start[i], nudge = 1e-6;
        if (growth <= 0.0) continue;
        const double enters = ceil(1.0 + (range->low[i] - start[i]) / growth - nudge);
        const double leaves = floor(1.0 + (range->high[i] - start[i]) / growth + nudge);
        const double places[] = {enters - 1.0, enters, leaves, leaves + 1.0};
        for (size_t j = 0; j < sizeof places / sizeof *places; j++)
            if (places[j] > 0.0 && places[j] < LAST_TOKENS) knots_add(knots, (int64_t)places[j]);
    }
}

/* A running member of calls that grow evenly, from `start` at 1 by `growth`, and the knots of what they grow with. */
struct table_axis {
    struct knots *knots;
    size_t limit; /* of knots */
    double start, growth;
};

/* Knots on both sides of where the member has a value, and `beyond` of them. */
static void add_table_knot(const struct table_axis *axis, double at, int64_t beyond)
{
    const double x = 1.0 + (at - axis->start) / axis->growth, nudge = 1e-6;
    if (!(x >= 1.0 && x < LAST_TOKENS)) return;
    const int64_t places[] = {(int64_t)floor(x + nudge) + beyond, (int64_t)ceil(x - nudge) + beyond};
    for (size_t i = 0; i < sizeof places / sizeof *places && axis->knots->n < axis->limit; i++)
        knots_add(axis->knots, places[i]);
}

static void add_node_knots(const struct table_axis *axis, const struct kernel_table_node *nodes, size_t n)
{
    add_table_knot(axis, nodes[0].at, -1);
    add_table_knot(axis, nodes[n - 1].at, 1);
    for (size_t i = 0; i < n; i++) add_table_knot(axis, nodes[i].at, 0);
}

/* Knots where a call was measured, and next to where its table ends, as far as `limit` of them allows; the call grows
 * evenly, from `one` at 1 to `two` at 2. */
static void add_table_knots(struct knots *knots, size_t limit, const struct kernel_set *set,
                            const struct kernel_call *one, const struct kernel_call *two)
{
    const struct kernel_table *table = set->tables[one->class];
    const struct kernel_table_shape *shape = table ? kernel_table_find(table, one) : NULL;
    struct kernel_place start, next;
    if (!shape) return;
    kernel_call_place(one, &start);
    kernel_call_place(two, &next);
    for (size_t i = 0; i < KERNEL_MAX_RUNNING; i++) {
        const struct table_axis axis = {knots, limit, start.running[i], next.running[i] - start.running[i]};
        if (axis.growth <= 0.0) continue;
        if (i < table->inner) add_node_knots(&axis, &table->lines[shape->first], shape->n);
        for (size_t j = 0; i == table->inner && j < shape->n; j++) {
            const struct kernel_table_node *line = &table->lines[shape->first + j];
            add_node_knots(&axis, &table->points[line->first], line->n);
        }
    }
}

static bool is_attention(const struct kernel_use *use)
{
    const enum kernel_class class = use->call.class;
    return class >= KERNEL_PREFILL_ATTENTION && class <= KERNEL_LINEAR_DECODE;
}

/* The kernels of one driver when it stands at x, for each group, attention or all the others. */
static void list_kernels(const struct operators_parts *parts, enum kernel_driver driver, int64_t x, bool attention,
                         struct operators_uses *list)
{
    const int64_t n = driver == BY_ALL_TOKENS || parts->split.data < 1 ? 1 : parts->split.data;
    const struct iteration_work prompt = {.prefill_sequences = n, .prefill_tokens = n * x};
    const struct iteration_work decoding = {.decode_sequences = n * x, .decode_context_tokens = n * x};
    operators_list(parts, driver, driver == BY_PREFILL ? &prompt : &decoding, list);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (is_attention(&list->uses[i]) == attention) list->uses[kept++] = list->uses[i];
    list->n = kept;
}

static struct operators_time time_at(const struct operators_parts *parts, enum kernel_driver driver, int64_t x)
{
    struct operators_uses list;
    list_kernels(parts, driver, x, false, &list);
    return operators_sum(parts, &list);
}

/* Splits the segment after knot i if its middle is off the chord: a kernel has a step inside. */
static bool refine(struct operators_curve *curve, size_t i, const struct operators_parts *parts,
                   enum kernel_driver driver)
{
    static const double tolerance = 0.01;
    struct operators_time *times = &curve->times[i];
    const int64_t begin = curve->knots.at[i], end = curve->knots.at[i + 1], middle = begin + (end - begin) / 2;
    if (middle == begin || curve->knots.n == KNOTS_MAX) return false;
    const struct operators_time found = time_at(parts, driver, middle);
    const double weight = (double)(middle - begin) / (double)(end - begin);
    const double chord_s = times[0].seconds + weight * (times[1].seconds - times[0].seconds);
    if (fabs(found.seconds - chord_s) <= tolerance * found.seconds) return false;
    memmove(times + 2, times + 1, (curve->knots.n - i - 1) * sizeof *times);
    times[1] = found;
    knots_add(&curve->knots, middle);
    return true;
}

static void init_knots(struct operators_curve *curve, const struct operators_parts *parts, enum kernel_driver driver)
{
    struct operators_uses one, two;
    list_kernels(parts, driver, 1, false, &one);
    list_kernels(parts, driver, 2, false, &two);
    curve->knots.n = 0;
    if (one.n == 0) return;
    add_token_knots(&curve->knots);
    for (size_t i = 0; i < one.n; i++)
        add_range_knots(&curve->knots, parts->kernels, &one.uses[i].call, &two.uses[i].call);
    for (size_t i = 0; i < one.n; i++)
        add_table_knots(&curve->knots, KNOTS_MAX, parts->kernels, &one.uses[i].call, &two.uses[i].call);
    for (size_t i = 0; i < curve->knots.n; i++) curve->times[i] = time_at(parts, driver, curve->knots.at[i]);
    for (size_t i = 0; i + 1 < curve->knots.n;) i += refine(curve, i, parts, driver) ? 0 : 1;
    knots_index(&curve->knots);
}

static void init_curve(struct operators_curve *curve, const struct operators_parts *parts, enum kernel_driver driver)
{
    init_knots(curve, parts, driver);
    for (int64_t x = 0; x < OPERATORS_FEW; x++) curve->few[x] = interpolated(curve, x);
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* Knots of ranges and tables, along which attention grows from its first batch to the `grown` one. */
static void add_grown_knots(struct knots *knots, size_t limit, const struct operators_parts *parts,
                            const struct operators_uses *attention, const struct iteration_work *grown)
{
    struct operators_uses two = *attention;
    for (size_t i = 0; i < two.n; i++) {
        kernel_use_rebatch(&two.uses[i], grown);
        add_range_knots(knots, parts->kernels, &attention->uses[i].call, &two.uses[i].call);
    }
    for (size_t i = 0; i < two.n; i++)
        add_table_knots(knots, limit, parts->kernels, &attention->uses[i].call, &two.uses[i].call);
    knots->n = at_most(knots->n, limit);
}

static void init_grid_knots(struct operators_grid *grid, const struct operators_parts *parts,
                            const struct operators_uses *attention)
{
    static const struct iteration_work wider = {.decode_sequences = 2, .decode_context_tokens = 2};
    static const struct iteration_work longer = {.decode_sequences = 1, .decode_context_tokens = 2};
    grid->sequences.n = grid->contexts.n = 0;
    add_sequence_knots(&grid->sequences, parts->gpu, attention);
    add_context_knots(&grid->contexts, attention, parts->llm->max_context);
    add_grown_knots(&grid->sequences, OPERATORS_GRID_SEQUENCES, parts, attention, &wider);
    add_grown_knots(&grid->contexts, OPERATORS_GRID_CONTEXTS, parts, attention, &longer);
    knots_index(&grid->sequences);
    knots_index(&grid->contexts);
}

static void init_grid(struct operators_grid *grid, const struct operators_parts *parts)
{
    struct operators_uses attention;
    list_kernels(parts, BY_DECODE, 1, true, &attention);
    init_grid_knots(grid, parts, &attention);
    for (size_t i = 0; i < grid->sequences.n; i++) {
        for (size_t j = 0; j < grid->contexts.n; j++) {
            const int64_t n = grid->sequences.at[i];
            const struct iteration_work work = {.decode_sequences = n,
                                                .decode_context_tokens = n * grid->contexts.at[j]};
            for (size_t k = 0; k < attention.n; k++) kernel_use_rebatch(&attention.uses[k], &work);
            grid->times[i * grid->contexts.n + j] = operators_sum(parts, &attention);
        }
    }
}

static void init_prompts(struct operators *operators)
{
    struct operators_uses attention;
    list_kernels(&operators->parts, BY_PREFILL, 1, true, &attention);
    operators_prompts_init(&operators->prompts, &operators->parts, &attention);
}

void operators_init(struct operators *operators, const struct operators_parts *parts)
{
    operators->parts = *parts;
    operators->layers = (double)llm_shard(parts->llm, parts->split.tensor, parts->split.pipeline).layers;
    operators->is_hybrid = parts->llm->linear_layers > 0;
    init_curve(&operators->by_all_tokens, parts, BY_ALL_TOKENS);
    init_curve(&operators->by_tokens, parts, BY_TOKENS);
    init_curve(&operators->by_sent_tokens, parts, BY_SENT_TOKENS);
    init_curve(&operators->by_sequences, parts, BY_SEQUENCES);
    init_curve(&operators->by_keys, parts, BY_PREFILL);
    init_curve(&operators->by_decoding, parts, BY_DECODE);
    init_grid(&operators->decode, parts);
    init_prompts(operators);
    list_kernels(parts, BY_DECODE, 1, true, &operators->decode_attention);
    for (int64_t n = 0; n < OPERATORS_FEW; n++)
        operators->steady[n] = steady_time(operators, &(struct iteration_work){.decode_sequences = n});
}

static void copy_knots(struct knots *knots, const struct knots *from)
{
    knots->n = from->n;
    memcpy(knots->at, from->at, from->n * sizeof *from->at);
    memcpy(knots->first, from->first, sizeof from->first);
}

static void copy_curve(struct operators_curve *curve, const struct operators_curve *from)
{
    copy_knots(&curve->knots, &from->knots);
    memcpy(curve->times, from->times, from->knots.n * sizeof *from->times);
    memcpy(curve->few, from->few, sizeof from->few);
}

static void copy_grid(struct operators_grid *grid, const struct operators_grid *from)
{
    copy_knots(&grid->sequences, &from->sequences);
    copy_knots(&grid->contexts, &from->contexts);
    memcpy(grid->times, from->times, from->sequences.n * from->contexts.n * sizeof *from->times);
}

void operators_copy(struct operators *operators, const struct operators *from, const struct operators_parts *parts)
{
    operators->parts = *parts;
    operators->layers = from->layers;
    operators->is_hybrid = from->is_hybrid;
    copy_curve(&operators->by_all_tokens, &from->by_all_tokens);
    copy_curve(&operators->by_tokens, &from->by_tokens);
    copy_curve(&operators->by_sequences, &from->by_sequences);
    copy_curve(&operators->by_sent_tokens, &from->by_sent_tokens);
    copy_curve(&operators->by_keys, &from->by_keys);
    copy_curve(&operators->by_decoding, &from->by_decoding);
    copy_grid(&operators->decode, &from->decode);
    operators->decode_attention = from->decode_attention;
    init_prompts(operators);
    memcpy(operators->steady, from->steady, sizeof from->steady);
}
