/* Laws of "upscale": a trace with copies of it, at its own clock. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include "sim/core/rng.h"
#include "traces/upscale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, BLOCKS = 3, CHUNKS = 2, MOST = 8 * N };

#define DAY_NS (INT64_C(86400) * SIM_NS_PER_S)

/* A day whose rate falls from its begin to its end. Every other request repeats the blocks of the one before it. */
struct day {
    struct stream stream;
    sim_ns at_ns[N];
    uint64_t blocks[BLOCKS];
    struct prompt_chunk chunks[CHUNKS];
    int64_t given;
};

static int day_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct day *day = (struct day *)stream;
    (void)diag;
    if (day->given == N) return 0;
    const int64_t i = day->given++;
    for (int block = 0; block < BLOCKS; block++) day->blocks[block] = (uint64_t)(i / 2 * BLOCKS + block);
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        day->chunks[chunk] = (struct prompt_chunk){.id = (uint64_t)(i * CHUNKS + chunk), .tokens = 1};
    *record = (union trace_record){.request = {.id = i, .arrival_ns = day->at_ns[i], .prompt_tokens = 1 + (int32_t)i,
                                               .output_tokens = 1, .prefix_blocks = day->blocks,
                                               .n_prefix_blocks = BLOCKS, .prefix_block_tokens = 16,
                                               .chunks = day->chunks, .n_chunks = CHUNKS}};
    return 1;
}

static struct source_place day_place(const struct stream *stream)
{
    (void)stream;
    return (struct source_place){0};
}

static bool day_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void day_close(struct stream *stream)
{
    (void)stream;
}

static const struct stream_ops day_ops = {.next = day_next, .place = day_place, .note = day_note, .close = day_close};

static int compare_times(const void *a, const void *b)
{
    const sim_ns x = *(const sim_ns *)a, y = *(const sim_ns *)b;
    return (x > y) - (x < y);
}

static void make_day(struct day *day)
{
    struct rng rng = test_rng(1, "day", 0);
    *day = (struct day){.stream = {&day_ops}};
    for (int i = 0; i < N; i++) day->at_ns[i] = (sim_ns)((double)DAY_NS * pow(rng_uniform(&rng), 2));
    qsort(day->at_ns, N, sizeof *day->at_ns, compare_times);
}

static const sim_ns whole_day[] = {0, DAY_NS};

/* The upscaled day, or a part of it. `blocks` gets the first block of each request. Returns their number. */
static int64_t upscaled_part(const sim_ns window_ns[static 2], double factor, sim_ns shift_ns, uint64_t seed,
                             struct request_record *result, uint64_t *blocks)
{
    static struct day day;
    struct diag *diag = &(struct diag){0};
    const struct source_options options = {.seed = seed, .stream = "chat", .where = "trace"};
    const struct upscale_config config = {factor, shift_ns};
    struct stream *stream;
    union trace_record record;
    int64_t n = 0;
    make_day(&day);
    if (!CHECK(upscale_open(&config, window_ns[0], window_ns[1], &options, &day.stream, &stream, diag) == 0)) return 0;
    while (stream_next(stream, &record, diag) == 1 && n < MOST) {
        if (blocks != NULL) blocks[n] = record.request.prefix_blocks[0];
        const struct prompt_chunk *chunks = record.request.chunks;
        for (int chunk = 0; chunk < CHUNKS && CHECK_EQ_INT(record.request.n_chunks, CHUNKS); chunk++)
            CHECK_EQ_INT(chunks[chunk].id, (record.request.prompt_tokens - 1) * CHUNKS + chunk); /* users share them */
        result[n++] = record.request;
    }
    stream_close(stream);
    return n;
}

static int64_t upscaled(double factor, sim_ns shift_ns, uint64_t seed, struct request_record *result, uint64_t *blocks)
{
    return upscaled_part(whole_day, factor, shift_ns, seed, result, blocks);
}

/* A whole factor has as many copies of every request; the trace itself stays; times are sorted and inside the day; ids
 * are new, in order. */
TEST(every_request_comes_as_often_as_the_factor_says)
{
    struct request_record *all = calloc(MOST, sizeof *all);
    int times[N] = {0}, n_own[N] = {0};
    struct day *day = calloc(1, sizeof *day);
    MUST(all != NULL && day != NULL);
    make_day(day);
    CHECK_EQ_INT(upscaled(3, 600 * SIM_NS_PER_S, 7, all, NULL), 3 * N);
    for (int i = 0; i < 3 * N; i++) {
        const int place = all[i].prompt_tokens - 1;
        const sim_ns late_ns = (all[i].arrival_ns - day->at_ns[place] + DAY_NS) % DAY_NS;
        CHECK_EQ_INT(all[i].id, i);
        CHECK(i == 0 || all[i].arrival_ns >= all[i - 1].arrival_ns);
        CHECK(all[i].arrival_ns >= 0 && all[i].arrival_ns < DAY_NS);
        CHECK(late_ns < 600 * SIM_NS_PER_S);
        times[place]++;
        n_own[place] += late_ns == 0;
    }
    for (int i = 0; i < N; i++) CHECK(times[i] == 3 && n_own[i] == 1);
    free(all);
    free(day);
}

/* Each request of [from, to) comes three times: itself, at its time in the part, and twice on a circle of this length,
 * by less than the shift later. */
static void check_part(sim_ns from_ns, sim_ns to_ns, sim_ns circle_ns)
{
    struct request_record *all = calloc(MOST, sizeof *all);
    struct day *day = calloc(1, sizeof *day);
    int times[N] = {0}, n_own[N] = {0}, n = 0;
    MUST(all != NULL && day != NULL);
    make_day(day);
    for (int i = 0; i < N; i++) n += day->at_ns[i] >= from_ns && day->at_ns[i] < to_ns;
    CHECK_EQ_INT(upscaled_part((const sim_ns[]){from_ns, to_ns}, 3, 600 * SIM_NS_PER_S, 7, all, NULL), 3 * n);
    for (int i = 0; i < 3 * n; i++) {
        const int place = all[i].prompt_tokens - 1;
        const sim_ns own_ns = day->at_ns[place] - from_ns;
        CHECK(all[i].arrival_ns >= 0 && all[i].arrival_ns < circle_ns);
        CHECK((all[i].arrival_ns - own_ns + circle_ns) % circle_ns < 600 * SIM_NS_PER_S);
        times[place]++;
        n_own[place] += all[i].arrival_ns == own_ns;
    }
    for (int i = 0; i < N; i++) {
        const bool is_in = day->at_ns[i] >= from_ns && day->at_ns[i] < to_ns;
        CHECK(times[i] == (is_in ? 3 : 0) && n_own[i] == is_in);
    }
    free(all);
    free(day);
}

/* A window is a circle of its own length. A trace without end closes one mean gap behind its last request. */
TEST(a_window_and_a_trace_without_end_are_circles)
{
    struct day *day = calloc(1, sizeof *day);
    MUST(day != NULL);
    make_day(day);
    check_part(DAY_NS / 4, DAY_NS / 4 * 3, DAY_NS / 2);
    check_part(0, SIM_NS_MAX, day->at_ns[N - 1] + day->at_ns[N - 1] / (N - 1));
    free(day);
}

/* An empty window is an error, as without copies. Sessions and closed loops make times of their own. */
TEST(what_cannot_be_upscaled_is_refused)
{
    SCOPED(trace_source) trace = {0};
    struct request_record record;
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'generate', 'count': 5, 'window': ['9d', '10d'],"
                               " 'upscale': {'factor': 2}}") == 0);
    CHECK_EQ_INT(trace_source_request(&trace, &record), SIM_E_CONFIG);
    CHECK_EQ_STR(trace.message,
                 "services.chat.trace: error: nothing is left of the trace after \"window\"; widen \"window\"");
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1,
                                       "{'format': 'sessions', 'path': 'traces/samples/agents.jsonl',"
                                       " 'upscale': {'factor': 2}}"),
                 SIM_E_CONFIG);
    CHECK(strstr(trace.message, "unknown key 'upscale'") != NULL);
    trace_source_fini(&trace);
    CHECK_EQ_INT(trace_source_requests(&trace, 1,
                                       "{'format': 'generate', 'count': 5, 'upscale': {'factor': 2},"
                                       " 'arrival': {'process': 'closed', 'users': 3}}"),
                 SIM_E_CONFIG);
    CHECK(strstr(trace.message, "a closed loop does not support window, rate_scale, thin, jitter, replicate, upscale"));
}

/* The shape of the day stays: each hour has the factor times its requests, up to those that a shift carries over its
 * ends. Half a copy is half of one in expectation, within five standard deviations. */
TEST(each_hour_grows_by_the_factor)
{
    struct request_record *all = calloc(MOST, sizeof *all);
    struct day *day = calloc(1, sizeof *day);
    MUST(all != NULL && day != NULL);
    make_day(day);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int hours[24] = {0}, own[24] = {0};
        const int64_t n = upscaled(2.5, SIM_NS_PER_S, seed, all, NULL);
        CHECK_NEAR((double)n, 2.5 * N, 5 * sqrt(0.25 * N));
        for (int64_t i = 0; i < n; i++) hours[all[i].arrival_ns / (3600 * SIM_NS_PER_S)]++;
        for (int i = 0; i < N; i++) own[day->at_ns[i] / (3600 * SIM_NS_PER_S)]++;
        for (int hour = 0; hour < 24; hour++) CHECK_NEAR(hours[hour], 2.5 * own[hour], 5 * sqrt(0.25 * own[hour]) + 4);
    }
    free(all);
    free(day);
}

/* One seed: a larger factor keeps the requests of a smaller one. Another seed: other shifts. */
TEST(a_larger_factor_keeps_what_a_smaller_one_has)
{
    struct request_record *few = calloc(MOST, sizeof *few), *many = calloc(MOST, sizeof *many);
    MUST(few != NULL && many != NULL);
    const int64_t n_few = upscaled(1.3, 600 * SIM_NS_PER_S, 5, few, NULL);
    const int64_t n_many = upscaled(2.2, 600 * SIM_NS_PER_S, 5, many, NULL);
    int64_t at = 0;
    for (int64_t i = 0; i < n_few; i++) {
        while (at < n_many &&
               (many[at].arrival_ns != few[i].arrival_ns || many[at].prompt_tokens != few[i].prompt_tokens))
            at++;
        if (!CHECK(at < n_many)) break;
        at++;
    }
    const int64_t n_other = upscaled(1.3, 600 * SIM_NS_PER_S, 6, many, NULL);
    bool differs = n_other != n_few;
    for (int64_t i = 0; i < n_few && !differs; i++) differs = few[i].arrival_ns != many[i].arrival_ns;
    CHECK(differs);
    CHECK_EQ_INT(upscaled(1, 600 * SIM_NS_PER_S, 5, few, NULL), N);
    free(few);
    free(many);
}

/* In each copy two requests share their blocks, as in the trace, and none does with another copy. */
TEST(a_copy_has_prompts_of_its_own)
{
    struct request_record *all = calloc(MOST, sizeof *all);
    uint64_t *blocks = calloc(MOST, sizeof *blocks);
    MUST(all != NULL && blocks != NULL);
    const int64_t n = upscaled(4, 600 * SIM_NS_PER_S, 3, all, blocks);
    CHECK_EQ_INT(n, 4 * N);
    qsort(blocks, (size_t)n, sizeof *blocks, compare_times);
    for (int64_t i = 0; i < n; i += 2) CHECK(blocks[i] == blocks[i + 1] && (i == 0 || blocks[i] != blocks[i - 1]));
    free(all);
    free(blocks);
}
