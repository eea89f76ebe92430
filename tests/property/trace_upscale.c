/* Laws of "upscale": a trace with copies of it, at its own clock. */
#include "tests/support/harness.h"

#include "sim/core/rng.h"
#include "traces/upscale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, BLOCKS = 3, MOST = 8 * N };

#define DAY_NS (INT64_C(86400) * SIM_NS_PER_S)

/* A day whose rate falls from its begin to its end. Every other request repeats the blocks of the one before it. */
struct day {
    struct stream stream;
    sim_ns at_ns[N];
    uint64_t blocks[BLOCKS];
    int64_t given;
};

static int day_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct day *day = (struct day *)stream;
    (void)diag;
    if (day->given == N) return 0;
    const int64_t i = day->given++;
    for (int block = 0; block < BLOCKS; block++) day->blocks[block] = (uint64_t)(i / 2 * BLOCKS + block);
    *record = (union trace_record){.request = {.id = i, .arrival_ns = day->at_ns[i], .prompt_tokens = 1 + (int32_t)i,
                                               .output_tokens = 1, .prefix_blocks = day->blocks,
                                               .n_prefix_blocks = BLOCKS, .prefix_block_tokens = 16}};
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

/* The upscaled day. `blocks` gets the first block of each request. Returns their number. */
static int64_t upscaled(double factor, sim_ns shift_ns, uint64_t seed, struct request_record *result, uint64_t *blocks)
{
    static struct day day;
    struct diag *diag = &(struct diag){0};
    const struct source_options options = {.seed = seed, .stream = "chat", .where = "trace"};
    const struct upscale_config config = {factor, shift_ns};
    struct stream *stream;
    union trace_record record;
    int64_t n = 0;
    make_day(&day);
    if (!CHECK(upscale_open(&config, 0, DAY_NS, &options, &day.stream, &stream, diag) == 0)) return 0;
    while (stream_next(stream, &record, diag) == 1 && n < MOST) {
        if (blocks != NULL) blocks[n] = record.request.prefix_blocks[0];
        result[n++] = record.request;
    }
    stream_close(stream);
    return n;
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
