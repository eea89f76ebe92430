/* Time series and batches against the rows of requests and jobs: each tells the same story, counted another way. That
 * they do not depend on queue, stepping or a second run is checked by serving_conformance for every policy. */
#include "sim/world/rows/sampler.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Two replicas with few blocks (so that some requests are preempted) or few places in the batch, beside jobs. */
static const char site[] =
    "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'seed': 5,"
    " 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2, 'kv': {'blocks': 200}, 'cost': {'kind': 'affine',"
    " 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'generate', 'count': 150,"
    " 'arrival': {'process': 'poisson', 'rate': '12/s'}, 'prompt': {'distribution': 'uniform', 'min': 1,"
    " 'max': 600}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 300}}}}, 'jobs': {'scheduler': 'srtf',"
    " 'trace': {'format': 'csv-jobs', 'path': 'tests/fixtures/tiresias/jobs400.csv',"
    " 'columns': {'submit': 'submit_s', 'gpus': 'num_gpus'}}}}";

static struct bed_rows *run_site(const char *set, const char *set_too) /* both or the second may be NULL */
{
    const char *const sets[] = {set, set_too, NULL};
    return bed_ok(BED(.sets = sets), "%s", site);
}

static double sample_at(const struct bed_rows *rows, const char *series, const char *entity, double t_s)
{
    for (size_t i = 0; i < rows->n_samples; i++)
        if (rows->samples[i].t_s == t_s && strcmp(rows->samples[i].series, series) == 0 &&
            strcmp(rows->samples[i].entity, entity) == 0)
            return rows->samples[i].value;
    return (double)NAN;
}

/* A time in whole nanoseconds, from parts that were rounded each. */
static int64_t ns(double time_s)
{
    return llrint(time_s * 1e9);
}

/* Requests in the system and, unless they were preempted, those that wait; replica -1: of all. */
static void count_requests(const struct bed_rows *rows, int64_t replica, double t_s, int *in_system, int *waiting)
{
    *in_system = *waiting = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        if (replica >= 0 && row->replica != replica) continue;
        bool is_there = row->arrival_s <= t_s && ns(t_s) < ns(row->arrival_s + row->e2e_s);
        *in_system += is_there;
        *waiting += is_there && ns(t_s) < ns(row->arrival_s + row->queue_s);
    }
}

TEST(requests_are_where_their_rows_say)
{
    static const char *const entities[] = {"chat/0", "chat/1"};
    struct bed_rows *scarce = run_site("sample.period=130ms", "jobs=null");
    struct bed_rows *ample = run_site("services.chat.batching.max_sequences=4", "jobs=null");
    int in_system, waiting;
    size_t n = 0, n_waiting = 0;
    CHECK(bed_metric(scarce, "request.preemptions.sum") > 0);
    for (double t_s = 0; t_s < 20; t_s = sim_s_from_ns(130 * 1000 * 1000 * (int64_t)++n))
        for (int replica = 0; replica < 2; replica++) {
            count_requests(scarce, replica, t_s, &in_system, &waiting);
            CHECK_EQ_INT(sample_at(scarce, "replica.waiting", entities[replica], t_s) +
                             sample_at(scarce, "replica.running", entities[replica], t_s),
                         in_system);
        }
    for (size_t i = 0; i < ample->n_samples; i++) {
        const struct bed_sample *sample = &ample->samples[i];
        if (strncmp(sample->series, "service.", 8) != 0) continue;
        count_requests(ample, -1, sample->t_s, &in_system, &waiting);
        n_waiting += (size_t)waiting;
        if (strcmp(sample->series, "service.waiting") == 0) CHECK_EQ_INT(sample->value, waiting);
        if (strcmp(sample->series, "service.running") == 0) CHECK_EQ_INT(sample->value, in_system - waiting);
    }
    CHECK(n > 100 && n_waiting > 100);
}

TEST(jobs_and_gpus_are_where_their_rows_say)
{
    struct bed_rows *rows = run_site(NULL, NULL);
    size_t n = 0;
    for (size_t i = 0; i < rows->n_samples; i++) {
        const struct bed_sample *sample = &rows->samples[i];
        if (strcmp(sample->series, "job.running") != 0) continue;
        double t_s = sample->t_s, gpus = 2;
        int in_system = 0, running = 0;
        bool holds[512] = {false};
        for (size_t k = 0; k < rows->n_jobs; k++)
            in_system += rows->jobs[k].submit_s <= t_s && t_s < rows->jobs[k].end_s;
        for (size_t k = 0; k < rows->n_placements; k++) {
            const struct placement_row *row = &rows->placements[k];
            if (!CHECK(row->job >= 0 && row->job < 512) || t_s < row->start_s || t_s >= row->end_s) continue;
            gpus += (double)row->gpus;
            running += !holds[row->job];
            holds[row->job] = true;
        }
        CHECK_EQ_INT(sample->value, running);
        CHECK_EQ_INT(sample_at(rows, "job.pending", "", t_s), in_system - running);
        CHECK_EQ_INT(sample_at(rows, "cluster.gpus_in_use", "", t_s), gpus);
        n++;
    }
    CHECK(bed_metric(rows, "job.preemptions.sum") > 0);
    CHECK(n > SAMPLER_POINTS / 2 && n <= SAMPLER_POINTS);
}

/* One request decodes alone: after k iterations of 10 ms it has processed its prompt and k tokens more. */
TEST(kv_blocks_grow_between_the_events)
{
    const char *const sets[] = {"services.chat.replicas=1",
                                "services.chat.trace.count=1",
                                "services.chat.trace.prompt={'min': 100, 'max': 100}",
                                "services.chat.trace.output={'min': 250, 'max': 250}",
                                "jobs=null",
                                "sample.period=7ms",
                                NULL};
    struct bed_rows *rows = bed_run(BED(.sets = sets), "%s", site);
    MUST(rows->code == 0 && rows->n_requests == 1);
    const struct request_row *request = &rows->requests[0];
    int64_t first_token = ns(request->arrival_s + request->ttft_s), end = ns(request->arrival_s + request->e2e_s);
    int grown = 0;
    for (size_t i = 0; i < rows->n_samples; i++) {
        const struct bed_sample *sample = &rows->samples[i];
        if (strcmp(sample->series, "replica.kv_used_frac") != 0) continue;
        int64_t t = ns(sample->t_s), tokens = 100 + (t > first_token ? (t - first_token) / 10000000 : 0);
        bool holds = t >= ns(request->arrival_s) && t < end;
        CHECK_NEAR(200 * sample->value, holds ? (double)((tokens + 15) / 16) : 0, 1e-9);
        grown += holds && tokens > 112;
    }
    CHECK(grown > 200);
    CHECK(rows->engine.fired < 10); /* the run of iterations was not ended by any look at it */
}

/* A grid of one's own has other samples, and nothing else is different. */
TEST(looking_changes_nothing)
{
    struct bed_rows *adaptive = run_site(NULL, NULL), *fixed = run_site("sample.period=30s", NULL);
    CHECK(adaptive->n_samples != fixed->n_samples);
    CHECK_EQ_INT(adaptive->engine.fired, fixed->engine.fired);
    size_t n = fixed->n_samples;
    fixed->n_samples = adaptive->n_samples = 0;
    CHECK(bed_equal(adaptive, fixed));
    fixed->n_samples = n;
    for (size_t i = 0; i < n; i++) CHECK(fmod(fixed->samples[i].t_s, 30) == 0 && fixed->samples[i].t_s <= fixed->end_s);
}

/* As the run gets longer the grid gets coarser, by whole doublings, from time 0 to the end. */
TEST(the_grid_adapts)
{
    for (int run = 0; run < 12; run++) {
        char until[32];
        double until_s = 0.5 * (1 << run), step_s = 1.0 / 512;
        snprintf(until, sizeof until, "until=%gs", until_s);
        const char *const sets[] = {until, "services=null", NULL};
        struct bed_rows *rows = bed_run(BED(.sets = sets), "%s", site);
        while (floor(until_s / step_s) + 1 > SAMPLER_POINTS) step_s *= 2;
        size_t n = (size_t)floor(until_s / step_s) + 1;
        MUST(rows->n_samples == 3 * n);
        for (size_t i = 0; i < rows->n_samples; i++) CHECK(rows->samples[i].t_s == step_s * (double)(i % n));
    }
}

static void check_batches(const struct bed_rows *rows)
{
    double busy_s = 0, iterations = 0, prefills = 0, last_s[2] = {0, 0};
    for (size_t i = 0; i < rows->n_batches; i++) {
        const struct batch_row *row = &rows->batches[i];
        bool has_prefill = row->prefill_sequences > 0;
        CHECK(row->start_s >= last_s[row->replica] && row->start_s < row->end_s && row->end_s <= rows->end_s);
        CHECK(has_prefill == (row->prefill_tokens > 0) && (has_prefill ? row->iterations <= 1 : row->decoding > 0));
        last_s[row->replica] = row->end_s;
        busy_s += row->end_s - row->start_s;
        iterations += (double)row->iterations;
        if (has_prefill) prefills += (double)row->iterations;
    }
    CHECK_EQ_INT(iterations, bed_metric(rows, "replica.iterations.sum"));
    CHECK_EQ_INT(prefills, bed_metric(rows, "replica.prefill_iterations.sum"));
    CHECK_NEAR(busy_s / rows->end_s / 2, bed_metric(rows, "replica.busy_frac"), 1e-9);
}

TEST(batches_are_all_that_replicas_do)
{
    struct bed_rows *scarce = run_site("jobs=null", NULL), *cut = run_site("jobs=null", "until=4321ms");
    struct bed_rows *ample = run_site("jobs=null", "services.chat.kv.blocks=9000");
    double tokens = 0, steps = 0, prompt_tokens = 0, output_tokens = 0;
    check_batches(scarce);
    check_batches(cut);
    check_batches(ample);
    for (size_t i = 0; i < ample->n_batches; i++) {
        tokens += (double)ample->batches[i].prefill_tokens;
        steps += (double)(ample->batches[i].iterations * ample->batches[i].decoding);
    }
    for (size_t i = 0; i < ample->n_requests; i++) {
        prompt_tokens += (double)ample->requests[i].prompt_tokens;
        output_tokens += (double)ample->requests[i].output_tokens - 1; /* the first one comes of the prompt */
    }
    CHECK_EQ_INT(tokens, prompt_tokens);
    CHECK_EQ_INT(steps, output_tokens);
}

struct endless {
    volatile sig_atomic_t interrupt;
    int n_left;
};

static int count_down(void *context, const struct sample_row *row)
{
    struct endless *endless = context;
    (void)row;
    if (--endless->n_left == 0) endless->interrupt = 1;
    return 0;
}

static void read_nothing(void *context, sim_ns at, double *values)
{
    (void)context;
    (void)at;
    values[0] = 0;
}

/* A year of nanoseconds between two events. */
TEST(an_interrupt_ends_a_long_row_of_samples)
{
    struct endless endless = {.n_left = 10};
    const struct sink sink = {.context = &endless, .sample = count_down};
    struct sampler sampler;
    MUST(sampler_init(&sampler, &(struct sample_config){.period_ns = 1}, 1) == 0);
    sampler.sink = &sink;
    sampler.interrupt = &endless.interrupt;
    sampler.read = read_nothing;
    CHECK_EQ_INT(sampler_take(&sampler, INT64_C(31536000) * SIM_NS_PER_S), 0);
    CHECK_EQ_INT(sampler.next_ns, 10);
    sampler_fini(&sampler);
}

/* A run that ends within the first batch has a row for it, of no complete iteration. */
TEST(the_batch_at_the_end_has_a_row)
{
    const struct bed_rows *rows = bed_ok(
        NULL, "{'cluster': {'gpu': 'a100-80-sxm'}, 'until': '500ms', 'services': {'chat': {'llm': 'mistral-7b', 'cost':"
              " {'kind': 'affine', 'prefill': {'fixed': '1s'}}, 'trace': {'format': 'generate', 'count': 1, 'arrival':"
              " {'process': 'fixed', 'rate': '1000/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 64}}}}}");
    MUST(rows->n_batches == 1);
    CHECK_EQ_INT(rows->batches[0].iterations, 0);
    CHECK_EQ_INT(rows->batches[0].prefill_tokens, 64);
    CHECK_NEAR(rows->batches[0].end_s, 0.5, 1e-9);
}
