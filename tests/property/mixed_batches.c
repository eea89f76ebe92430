/* Iterations that mix prompts with decoding: stall-free batching (Sarathi-Serve) must equal Vidur request by request,
 * and on random loads with scarce blocks neither single steps nor the queue may change a bit, whatever the batcher. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'peer': {'llm': 'llama-2-7b',"
    " 'kv': {'blocks': 7424}, 'batching': 'sarathi', 'cost': {'kind': 'affine', 'prefill': {'fixed': '5ms',"
    " 'per_token': '50us', 'per_sequence': '20us', 'per_pair': '2ns'}, 'decode': {'fixed': '5ms', 'per_token': '50us',"
    " 'per_sequence': '20us', 'per_context_token': '100ns'}}, 'trace': {'format': 'csv', 'path': '%s',"
    " 'columns': {'arrival': 'arrived_at', 'prompt': 'num_prefill_tokens', 'output': 'num_decode_tokens'}}}}}";

static struct bed_rows *run(const char *path, struct bed_options options)
{
    return bed_run(&options, scenario, path);
}

TEST(equals_vidur_sarathi)
{
    struct bed_rows *rows = run("tests/fixtures/vidur/r200.csv", (struct bed_options){.check = true});
    FILE *file = fopen("tests/fixtures/vidur/case2_requests.csv", "r");
    char line[512];
    int n = 0;
    MUST(rows->code == 0 && file != NULL && fgets(line, sizeof line, file) != NULL);
    for (; fgets(line, sizeof line, file) != NULL; n++) {
        char *at = line;
        const struct request_row *row = bed_request(rows, strtol(at, &at, 10));
        double v[7];
        MUST(row != NULL);
        for (int i = 0; i < 7; i++) v[i] = strtod(at + 1, &at);
        CHECK_NEAR(row->ttft_s, v[4], 1e-6);
        CHECK_NEAR(row->e2e_s, v[5], 1e-6);
        CHECK_EQ_INT(row->preemptions, v[6]);
    }
    CHECK_EQ_INT(n, 200);
    CHECK_EQ_INT(bed_metric(rows, "replica.iterations.sum"), 8144); /* summary.json of the case */
    CHECK(bed_decisions(rows, "chunk", -1) > 100); /* prompts that are processed in pieces say so */
    fclose(file);
}

/* Returns the time of the last arrival. */
static double write_trace(const char *path, struct rng *rng)
{
    FILE *file = fopen(path, "w");
    double now_s = 0, gap_s = rng_uniform(rng) * 0.1;
    int n = 1 + (int)rng_below(rng, 200);
    if (!CHECK(file != NULL)) return 0;
    fprintf(file, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
    for (int i = 0; i < n; i++) {
        if (rng_below(rng, 5) > 0) now_s += rng_exponential(rng, gap_s);
        int prompt = 1 + (int)rng_below(rng, 400), output = 1 + (int)rng_below(rng, 150);
        fprintf(file, "%.9f,%d,%d\n", now_s, prompt, output);
    }
    fclose(file);
    return now_s;
}

/* As many gaps as tokens after the first, also of requests that are cut off. */
static void check_gaps(const struct bed_rows *rows)
{
    double later_tokens = 0;
    for (size_t i = 0; i < rows->n_requests; i++)
        if (rows->requests[i].output_tokens > 0) later_tokens += (double)rows->requests[i].output_tokens - 1;
    CHECK_EQ_INT(rows->n_token_gaps, later_tokens);
}

enum { MAX_SETS = 8 };

struct sets {
    char texts[MAX_SETS][96];
    const char *all[MAX_SETS + 1];
    int n;
};

__attribute__((format(printf, 2, 3))) static void add_set(struct sets *sets, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sets->texts[sets->n], sizeof *sets->texts, format, arguments);
    va_end(arguments);
    sets->all[sets->n] = sets->texts[sets->n];
    sets->n++;
}

static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi", "orca", "fastertransformer"};
enum { N_BATCHERS = sizeof batchers / sizeof *batchers };

/* Parameters of the batcher at random; small caches, so that blocks run out. */
static void make_sets(struct sets *sets, int batcher, struct rng *rng)
{
    static const char *const kinds[] = {"max", "pow2", "oracle"};
    int max_sequences = 1 + (int)rng_below(rng, 60);
    *sets = (struct sets){.n = 0};
    add_set(sets, "services.peer.kv.blocks=%d", 40 + (int)rng_below(rng, 80));
    add_set(sets, "services.peer.batching=%s", batchers[batcher]);
    add_set(sets, "services.peer.batching.max_sequences=%d", max_sequences);
    switch (batcher) {
    case 1:
        add_set(sets, "services.peer.batching.token_budget=%d", max_sequences + (int)rng_below(rng, 300));
        break;
    case 2:
        add_set(sets, "services.peer.batching.token_budget=%d", 16 + (int)rng_below(rng, 300));
        add_set(sets, "services.peer.batching.chunked=%s", max_sequences % 4 == 1 ? "false" : "true");
        add_set(sets, "services.peer.batching.hybrid=%s", max_sequences % 4 == 2 ? "false" : "true"); /* fall through */
    case 0: add_set(sets, "services.peer.batching.watermark=%g", rng_uniform(rng) * 0.2); break;
    default:
        add_set(sets, "services.peer.batching.reservation=%s", kinds[rng_below(rng, 3)]);
        add_set(sets, "services.peer.batching.max_tokens=%d", rng_below(rng, 2) ? 0 : 300 + (int)rng_below(rng, 300));
        add_set(sets, "services.peer.batching.buddy=%s", rng_below(rng, 2) ? "true" : "false");
    }
}

/* Returns the preemptions. */
static double check_modes(const char *path, const struct sets *sets)
{
    struct bed_rows *macro = run(path, (struct bed_options){.sets = sets->all, .check = true});
    struct bed_rows *single = run(path, (struct bed_options){.sets = sets->all, .single_step = true, .queue = QUEUE_HEAP});
    double preemptions = bed_metric(macro, "replica.preemptions.sum");
    CHECK_EQ_INT(macro->code, 0);
    if (!CHECK(bed_equal(macro, single)))
        for (int i = 0; i < sets->n; i++) fprintf(stderr, "%s\n", sets->all[i]);
    check_gaps(macro);
    return preemptions;
}

TEST_SIZED(every_mode_gives_the_same_bytes)
{
    double preemptions[N_BATCHERS] = {0};
    for (uint64_t seed = 0; seed < (uint64_t)test_part(100); seed++) {
        char path[512];
        int batcher = (int)(seed % N_BATCHERS);
        struct sets sets;
        struct rng rng = test_rng(seed, "mixed batches", 0);
        snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
        double last_s = write_trace(path, &rng), until_s = last_s * rng_uniform(&rng) + 0.001;
        make_sets(&sets, batcher, &rng);
        add_set(&sets, "until=%.9fs", rng_below(&rng, 2) ? until_s : 0.0);
        preemptions[batcher] += check_modes(path, &sets);
    }
    for (int i = 0; i < 3; i++) CHECK_WHOLE(preemptions[i] > 100); /* the loads do exercise the scarce case */
    for (int i = 3; i < N_BATCHERS; i++) CHECK_EQ_INT(preemptions[i], 0);
}

/* Without its halves: prompts are not cut, or they and decoding are in different iterations. */
TEST(halves_of_sarathi)
{
    static const char *const whole[] = {"services.peer.batching.chunked=false", NULL};
    static const char *const turns[] = {"services.peer.batching.hybrid=false", NULL};
    char path[512];
    struct rng rng = test_rng(1, "mixed batches", 0);
    snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
    (void)write_trace(path, &rng);
    struct bed_rows *uncut = run(path, (struct bed_options){.sets = whole, .check = true});
    struct bed_rows *in_turns = run(path, (struct bed_options){.sets = turns, .check = true});
    int64_t prompts = 0, mixed = 0, together = 0;
    for (size_t i = 0; i < uncut->n_batches; i++) {
        prompts += uncut->batches[i].prefill_sequences;
        mixed += uncut->batches[i].prefill_sequences > 0 && uncut->batches[i].decoding > 0;
    }
    for (size_t i = 0; i < in_turns->n_batches; i++)
        together += in_turns->batches[i].prefill_sequences > 0 && in_turns->batches[i].decoding > 0;
    CHECK_EQ_INT(prompts, (int64_t)uncut->n_requests + (int64_t)bed_metric(uncut, "replica.preemptions.sum"));
    CHECK(mixed > 0);
    CHECK_EQ_INT(together, 0);
    /* Nobody waits for more than one turn of prompts. */
    double prompts_s = 0, decoding_s = 0;
    for (size_t i = 0; i < in_turns->n_batches; i++) {
        const struct batch_row *row = &in_turns->batches[i];
        double each_s = (row->end_s - row->start_s) / (double)row->iterations;
        double *longest_s = row->prefill_sequences > 0 ? &prompts_s : &decoding_s;
        if (each_s > *longest_s) *longest_s = each_s;
    }
    CHECK_EQ_INT(bed_metric(in_turns, "replica.preemptions.sum"), 0);
    CHECK(bed_metric(in_turns, "request.max_gap_s.max") <= prompts_s + 2 * decoding_s);
    CHECK(bed_metric(in_turns, "request.max_gap_s.max") > prompts_s);
}
