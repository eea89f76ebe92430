/* Laws of "replicate": what a block bootstrap and windows of a trace are, and how often an interval from bootstrap
 * replicates of one trace covers the mean over all traces. */
#include "tests/support/harness.h"

#include "analysis/stats/stats.h"
#include "sim/core/rng.h"
#include "traces/replicate.h"

enum { N = 600, N_LONG = 2000 };

/* A stream of records in memory. */
struct memory_stream {
    struct stream stream;
    const struct request_record *records;
    int64_t n, given;
};

static int memory_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct memory_stream *memory = (struct memory_stream *)stream;
    (void)diag;
    if (memory->given == memory->n) return 0;
    record->request = memory->records[memory->given++];
    return 1;
}

static struct source_place memory_place(const struct stream *stream)
{
    (void)stream;
    return (struct source_place){0};
}

static bool memory_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void memory_close(struct stream *stream)
{
    (void)stream;
}

static const struct stream_ops memory_ops = {
    .next = memory_next, .place = memory_place, .note = memory_note, .close = memory_close};

/* The replicate of a seed, at most `capacity` records, and whether it warns of few blocks. Returns their number or a
 * negative code; the message is in *diag. */
static int64_t warned_replicate(const struct request_record *records, int64_t n, struct replicate_config config,
                                sim_ns to_ns, uint64_t seed, struct request_record *result, int64_t capacity,
                                bool *is_warned, struct diag *diag)
{
    struct memory_stream memory = {.stream = {&memory_ops}, .records = records, .n = n};
    const struct source_options options = {.seed = seed, .stream = "test", .where = "trace"};
    struct stream *stream;
    union trace_record record;
    struct source_note note;
    int64_t n_given = 0;
    int code = replicate_open(&config, 0, to_ns, &options, true, &memory.stream, &stream, diag);
    if (code != 0) return code;
    while ((code = stream_next(stream, &record, diag)) == 1 && n_given < capacity) result[n_given++] = record.request;
    *is_warned = stream->ops->note(stream, 0, &note) && strcmp(note.code, "few-blocks") == 0;
    stream_close(stream);
    return code < 0 ? code : n_given;
}

static int64_t replicate(const struct request_record *records, int64_t n, struct replicate_config config, sim_ns to_ns,
                         uint64_t seed, struct request_record *result, int64_t capacity, struct diag *diag)
{
    bool is_warned;
    return warned_replicate(records, n, config, to_ns, seed, result, capacity, &is_warned, diag);
}

/* Poisson arrivals, 10 a second; lengths tell the records apart. */
static void make_trace(uint64_t seed, int n, struct request_record *trace)
{
    struct rng rng = test_rng(seed, "replicate", 0);
    double time_s = 0;
    for (int i = 0; i < n; i++) {
        time_s += rng_exponential(&rng, 0.1);
        trace[i] = (struct request_record){.id = i, .arrival_ns = sim_ns_from_s(time_s), .prompt_tokens = i + 1,
                                           .output_tokens = 1 + (int32_t)rng_exponential(&rng, 100)};
    }
}

/* The length of the circle of a trace without a window. */
static sim_ns circle_ns(const struct request_record trace[N])
{
    const sim_ns span_ns = trace[N - 1].arrival_ns - trace[0].arrival_ns;
    return span_ns + span_ns / (N - 1);
}

/* Blocks as long as the trace would all be that trace turned, without any spread. Fewer than ten blocks warn, more
 * than ten million are refused. */
TEST(blocks_are_much_shorter_than_the_trace)
{
    static struct request_record trace[N], other[3 * N];
    make_trace(1, N, trace);
    const sim_ns all_ns = circle_ns(trace);
    struct diag diag = {0};
    bool is_warned = false;
    struct replicate_config config = {REPLICATE_BLOCKS, all_ns};
    CHECK_EQ_INT(replicate(trace, N, config, SIM_NS_MAX, 1, other, 3 * N, &diag), SIM_E_CONFIG);
    CHECK(strstr(diag.items[0].text, "is as long as the trace") != NULL);
    config.length_ns = 2 * all_ns;
    CHECK_EQ_INT(replicate(trace, N, config, SIM_NS_MAX, 1, other, 3 * N, &diag), SIM_E_CONFIG);
    CHECK_EQ_INT(replicate(trace, N, config, all_ns, 1, other, 3 * N, &diag), SIM_E_CONFIG);
    diag = (struct diag){0};
    config.length_ns = all_ns / 10000001;
    CHECK_EQ_INT(replicate(trace, N, config, SIM_NS_MAX, 1, other, 3 * N, &diag), SIM_E_CONFIG);
    CHECK(strstr(diag.items[0].text, "is less than a ten-millionth of the trace") != NULL);
    config.length_ns = all_ns / 10 + 1;
    CHECK(warned_replicate(trace, N, config, SIM_NS_MAX, 1, other, 3 * N, &is_warned, &diag) > 0 && is_warned);
    config.length_ns = all_ns / 10;
    CHECK(warned_replicate(trace, N, config, SIM_NS_MAX, 1, other, 3 * N, &is_warned, &diag) > 0 && !is_warned);
}

/* Without a window the time before the first record is no part of the trace: a trace that begins a day later has the
 * same replicates. */
TEST(a_late_begin_changes_nothing)
{
    static struct request_record trace[N], late[N], of_trace[3 * N], of_late[3 * N];
    make_trace(4, N, trace);
    for (int i = 0; i < N; i++) {
        late[i] = trace[i];
        late[i].arrival_ns += 86400 * SIM_NS_PER_S;
    }
    struct diag diag = {0};
    for (int method = REPLICATE_BLOCKS; method <= REPLICATE_WINDOWS; method++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            const struct replicate_config config = {method, 4 * SIM_NS_PER_S};
            const int64_t n = replicate(trace, N, config, SIM_NS_MAX, seed, of_trace, 3 * N, &diag);
            const int64_t n_late = replicate(late, N, config, SIM_NS_MAX, seed, of_late, 3 * N, &diag);
            MUST(n > 0 && n_late == n);
            bool is_equal = true;
            for (int64_t i = 0; i < n; i++)
                is_equal &= of_late[i].arrival_ns == of_trace[i].arrival_ns &&
                            of_late[i].prompt_tokens == of_trace[i].prompt_tokens;
            CHECK(is_equal);
        }
}

/* Blocks are verbatim pieces, times rise, a record is expected once, and equal seeds give equal traces. */
TEST(blocks_are_pieces_of_the_trace)
{
    enum { SEEDS = 300 };
    static struct request_record trace[N], other[3 * N], again[3 * N];
    static int64_t times_drawn[N];
    make_trace(2, N, trace);
    const struct replicate_config config = {REPLICATE_BLOCKS, 4 * SIM_NS_PER_S};
    struct diag diag = {0};
    int64_t n_all = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const int64_t n = replicate(trace, N, config, SIM_NS_MAX, seed, other, 3 * N, &diag);
        bool is_sorted = true, is_verbatim = true;
        MUST(n > 0);
        for (int64_t i = 0; i < n; i++) {
            const int32_t from = other[i].prompt_tokens - 1;
            times_drawn[from]++;
            is_sorted &= other[i].id == i && other[i].arrival_ns < circle_ns(trace);
            if (i == 0) continue;
            is_sorted &= other[i].arrival_ns >= other[i - 1].arrival_ns;
            if (other[i].arrival_ns / config.length_ns != other[i - 1].arrival_ns / config.length_ns) continue;
            const int32_t before = other[i - 1].prompt_tokens - 1;
            const sim_ns turn_ns = from == 0 ? circle_ns(trace) : 0;
            is_verbatim &= from == (before + 1) % N && other[i].arrival_ns - other[i - 1].arrival_ns ==
                                                           trace[from].arrival_ns + turn_ns - trace[before].arrival_ns;
        }
        CHECK(is_sorted);
        CHECK(is_verbatim);
        n_all += n;
    }
    CHECK_NEAR((double)n_all / SEEDS, N, 4.5 * sqrt((double)N / SEEDS));
    for (int i = 0; i < N; i += 50) CHECK_NEAR((double)times_drawn[i], SEEDS, 4.5 * sqrt(SEEDS));
    const int64_t n = replicate(trace, N, config, SIM_NS_MAX, 7, other, 3 * N, &diag);
    MUST(replicate(trace, N, config, SIM_NS_MAX, 7, again, 3 * N, &diag) == n);
    CHECK(memcmp(other, again, (size_t)n * sizeof *other) == 0);
}

/* The windows of seeds 1, 2, ... are the trace cut into pieces, up to the last whole one. */
TEST(windows_divide_the_trace)
{
    static struct request_record trace[N], part[N];
    make_trace(3, N, trace);
    const struct replicate_config config = {REPLICATE_WINDOWS, 10 * SIM_NS_PER_S};
    const sim_ns begin_ns = trace[0].arrival_ns;
    const uint64_t n_whole = (uint64_t)((trace[N - 1].arrival_ns - begin_ns) / config.length_ns);
    struct diag diag = {0};
    int64_t at = 0;
    for (uint64_t seed = 1; seed <= n_whole; seed++) {
        const int64_t n = replicate(trace, N, config, SIM_NS_MAX, seed, part, N, &diag);
        bool is_part = n > 0;
        for (int64_t i = 0; i < n; i++, at++)
            is_part &= part[i].id == at &&
                       part[i].arrival_ns == trace[at].arrival_ns - begin_ns - (sim_ns)(seed - 1) * config.length_ns;
        CHECK(is_part);
    }
    CHECK(at > 0 && trace[at].arrival_ns - begin_ns >= (sim_ns)n_whole * config.length_ns);
    CHECK_EQ_INT(replicate(trace, N, config, SIM_NS_MAX, n_whole + 1, part, N, &diag), SIM_E_CONFIG);
    CHECK(strstr(diag.items[0].text, "is not whole") != NULL);
    CHECK_EQ_INT(replicate(trace, N, config, 20 * SIM_NS_PER_S, 3, part, N, &diag), SIM_E_CONFIG);
    CHECK(replicate(trace, N, config, 20 * SIM_NS_PER_S, 2, part, N, &diag) > 0);
    CHECK_EQ_INT(replicate(trace, N, config, SIM_NS_MAX, 0, part, N, &diag), SIM_E_CONFIG);
}

/* A window of the trace without records is an error, as is a bootstrap of no records. */
TEST(an_empty_replicate_is_an_error)
{
    static const struct request_record trace[] = {{.id = 0, .arrival_ns = 0},
                                                  {.id = 1, .arrival_ns = 100 * SIM_NS_PER_S}};
    struct request_record part[2];
    struct replicate_config config = {REPLICATE_WINDOWS, 10 * SIM_NS_PER_S};
    struct diag diag = {0};
    CHECK_EQ_INT(replicate(trace, 2, config, SIM_NS_MAX, 1, part, 2, &diag), 1);
    CHECK_EQ_INT(replicate(trace, 2, config, SIM_NS_MAX, 2, part, 2, &diag), SIM_E_CONFIG);
    CHECK(strstr(diag.items[0].text, "the window of seed 2 is empty: no record from 10 s to 20 s") != NULL);
    config.method = REPLICATE_BLOCKS;
    CHECK_EQ_INT(replicate(trace, 0, config, SIM_NS_MAX, 1, part, 2, &diag), SIM_E_CONFIG);
}

/* Mean wait of a queue of one server at a load of 0.5: 0.5 ms per output token. */
static double mean_wait_s(const struct request_record *requests, int64_t n)
{
    double free_s = 0, sum_s = 0;
    for (int64_t i = 0; i < n; i++) {
        const double arrival_s = sim_s_from_ns(requests[i].arrival_ns);
        const double start_s = fmax(arrival_s, free_s);
        sum_s += start_s - arrival_s;
        free_s = start_s + 0.0005 * requests[i].output_tokens;
    }
    return sum_s / (double)n;
}

static double normal(struct rng *rng)
{
    return sqrt(-2 * log(rng_uniform(rng))) * cos(2 * acos(-1.0) * rng_uniform(rng));
}

/* Of the intervals from 12 replicates of one trace each, how many hold the mean over all traces? The page
 * analysis/compare/README.md has the rates, of longer traces too: waits are skewed, so that the interval is a little
 * narrow, as any is that is made of few bursts. Student's interval, which takes each replicate for a new trace, holds
 * the mean in less than half of the cases. */
TEST_OPTIMISED(intervals_of_replicates_cover_the_true_mean)
{
    enum { TRACES = 200, REPLICATES = 12, TRUTHS = 1500 };
    static struct request_record trace[N_LONG], other[2 * N_LONG];
    const struct replicate_config config = {REPLICATE_BLOCKS, 2 * SIM_NS_PER_S};
    struct diag diag = {0};
    double truth_s = 0, values_s[REPLICATES];
    int n_covered = 0, n_by_student = 0;
    for (uint64_t seed = 0; seed < TRUTHS; seed++) {
        make_trace(100000 + seed, N_LONG, trace);
        truth_s += mean_wait_s(trace, N_LONG) / TRUTHS;
    }
    for (uint64_t seed = 0; seed < TRACES; seed++) {
        make_trace(1000 + seed, N_LONG, trace);
        for (uint64_t k = 0; k < REPLICATES; k++) {
            const int64_t n = replicate(trace, N_LONG, config, SIM_NS_MAX, k + 1, other, 2 * N_LONG, &diag);
            MUST(n > 0);
            values_s[k] = mean_wait_s(other, n);
        }
        const struct interval spread = stats_replicate_interval(values_s, REPLICATES, 0.95, NULL);
        const struct interval student = stats_mean_interval(values_s, REPLICATES, 0.95);
        n_covered += spread.low <= truth_s && truth_s <= spread.high;
        n_by_student += student.low <= truth_s && truth_s <= student.high;
    }
    CHECK(n_covered >= 0.87 * TRACES && n_covered <= 0.97 * TRACES);
    CHECK(n_by_student < 0.5 * TRACES);
}

/* An interval of replicates does not shrink: of independent normal values, 95 % of the intervals of n hold another
 * one, whether n is few or enough for percentiles. The p-value says what the interval says. */
TEST(intervals_of_replicates_do_not_shrink)
{
    enum { CASES = 1000 };
    static const int sizes[] = {2, 5, 39, 40, 200};
    double values[200], p;
    struct rng rng = test_rng(5, "normal", 0);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int n_held = 0, n_contrary = 0;
        for (int i = 0; i < CASES; i++) {
            for (int k = 0; k < sizes[s]; k++) values[k] = normal(&rng) + 1.5;
            const struct interval interval = stats_replicate_interval(values, (size_t)sizes[s], 0.95, &p);
            const double next = normal(&rng) + 1.5;
            n_held += interval.low <= next && next <= interval.high;
            n_contrary += (p < 0.05) != (interval.low > 0 || interval.high < 0);
        }
        CHECK_NEAR((double)n_held / CASES, 0.95, 4.5 * sqrt(0.95 * 0.05 / CASES));
        CHECK_EQ_INT(n_contrary, 0);
    }
    CHECK(isnan(stats_replicate_interval(values, 1, 0.95, &p).low) && isnan(p));
}
