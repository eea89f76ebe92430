/* Batches with deadlines (policies/batching/deadlines) against a naive server that keeps its queue in an array: on
 * random loads of prompts without decoding, whoever is served or dropped, and when, is the same to the nanosecond.
 * Where requests decode too, laws hold: nobody who is served misses a deadline. */
#include "sim/core/rng.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MOST = 300 };

struct load {
    int n, window, most, output, blocks;
    double deadline_s, arrival_s[MOST];
    int prompt[MOST];
};

static const double fixed_s = 7e-3, sequence_s = 300e-6, token_s = 20e-6, pair_s = 4e-9;

static struct load draw_load(struct rng *rng, int output)
{
    struct load load = {.n = 20 + (int)rng_below(rng, MOST - 20), .window = 1 + (int)rng_below(rng, 12),
                        .most = 1 + (int)rng_below(rng, 24), .output = output, .blocks = 7000};
    const double gap_s = 1e-3 + 8e-3 * rng_uniform(rng);
    load.deadline_s = 1e-3 * (double)(10 + rng_below(rng, 90));
    for (int i = 0; i < load.n; i++) {
        load.arrival_s[i] = (i > 0 ? load.arrival_s[i - 1] : 0) + 1e-6 * ceil(1e6 * rng_exponential(rng, gap_s));
        load.prompt[i] = 1 + (int)rng_below(rng, 200);
    }
    return load;
}

static struct bed_rows *simulate(const struct load *load, const struct bed_options *options)
{
    char path[512];
    snprintf(path, sizeof path, "%s/load.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    if (file == NULL) abort();
    fprintf(file, "t,prompt,output\n");
    for (int i = 0; i < load->n; i++) fprintf(file, "%.6f,%d,%d\n", load->arrival_s[i], load->prompt[i], load->output);
    fclose(file);
    struct bed_rows *rows = bed_run(
        options,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': 'llama-2-7b',"
        " 'kv': {'blocks': %d}, 'batching': {'policy': 'nexus', 'deadline': '%.6fs', 'window': %d, 'max_sequences':"
        " %d}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '7ms', 'per_token': '20us', 'per_sequence': '300us',"
        " 'per_pair': '4ns'}, 'decode': {'fixed': '3ms', 'per_sequence': '100us'}}, 'trace': {'format': 'csv', 'path':"
        " '%s', 'columns': {'arrival': 't', 'prompt': 'prompt', 'output': 'output'}}}}}",
        load->blocks, load->deadline_s, load->window, load->most, path);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

/* Of the waiting requests from the first on, n of them. */
static double batch_s(const struct load *load, const int *waiting, int n)
{
    double seconds = fixed_s;
    for (int i = 0; i < n; i++) {
        const double prompt = load->prompt[waiting[i]];
        seconds += sequence_s + token_s * prompt + pair_s * prompt * prompt;
    }
    return seconds;
}

/* Sets the TTFT of each request; -1: it was dropped. */
static void serve_naively(const struct load *load, double *ttft_s)
{
    int waiting[MOST], n = 0, next = 0;
    double now_s = 0;
    while (next < load->n || n > 0) {
        if (n == 0) now_s = fmax(now_s, load->arrival_s[next]);
        while (next < load->n && load->arrival_s[next] <= now_s) waiting[n++] = next++;
        int first = 0, size = 1;
        for (; first < n; first++) {
            const int others = n - first < load->window ? n - first : load->window;
            const double latest_s = load->arrival_s[waiting[first]] + load->deadline_s;
            if (now_s + batch_s(load, waiting + first, others) <= latest_s) break;
            ttft_s[waiting[first]] = -1;
        }
        n -= first;
        memmove(waiting, waiting + first, (size_t)n * sizeof *waiting);
        if (n == 0) continue;
        while (size < n && size < load->most &&
               now_s + batch_s(load, waiting, size + 1) <= load->arrival_s[waiting[0]] + load->deadline_s)
            size++;
        now_s = 1e-9 * round(1e9 * (now_s + batch_s(load, waiting, size)));
        for (int i = 0; i < size; i++) ttft_s[waiting[i]] = now_s - load->arrival_s[waiting[i]];
        n -= size;
        memmove(waiting, waiting + size, (size_t)n * sizeof *waiting);
    }
}

TEST(serves_and_drops_whom_a_naive_server_does)
{
    struct rng rng;
    rng_init(&rng, 7, 0, "nexus", 0);
    int served = 0, dropped = 0;
    for (int round = 0; round < 60; round++) {
        const struct load load = draw_load(&rng, 1);
        double ttft_s[MOST];
        struct bed_rows *rows = simulate(&load, BED(.check = true, .no_detail = true));
        serve_naively(&load, ttft_s);
        for (int i = 0; i < load.n; i++) {
            const struct request_row *row = bed_request(rows, i);
            MUST(row != NULL);
            CHECK_EQ_STR(row->status, ttft_s[i] < 0 ? "rejected" : "finished");
            if (ttft_s[i] < 0) {
                dropped++;
                continue;
            }
            CHECK_NEAR(row->ttft_s, ttft_s[i], 2e-9);
            CHECK(row->ttft_s <= load.deadline_s + 1e-9);
            served++;
        }
        bed_free(rows);
    }
    CHECK(served > 1000 && dropped > 1000);
}

/* What is predicted is what is taken, whatever the replica: a request that keeps its deadline to the nanosecond is
 * served, one that would miss it by two is dropped. Its prompt meets a prefix cache, and sequences that decode. */
TEST(predictions_are_exact)
{
    static const char *const replicas[] = {
        "'llama-3.1-8b', 'cost': {'kind': 'operators'}",
        "'llama-3.1-8b', 'cost': {'kind': 'roofline'}, 'tensor_parallel': 2",
        "'qwen3-30b-a3b', 'cost': {'kind': 'operators', 'expert_parallel': 4}, 'data_parallel': 4, 'tensor_parallel': 4",
        "'llama-3.1-8b', 'cost': {'kind': 'operators'}, 'kv': {'prefix_cache': 'lru'}"};
    static const char text[] =
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {'s': {'llm': %s,"
        " 'batching': {'policy': 'nexus', 'deadline': '%.9fs'}, 'trace': {'format': 'mooncake', 'path': '%s'}}}}";
    char path[512];
    snprintf(path, sizeof path, "%s/one.jsonl", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "{\"timestamp\": 0, \"input_length\": 1500, \"output_length\": 400, \"hash_ids\": [1,2,3]}\n");
    fprintf(file, "{\"timestamp\": 1003, \"input_length\": 3000, \"output_length\": 2, \"hash_ids\": [1,2,4,5,6,7]}\n");
    fclose(file);
    for (size_t i = 0; i < sizeof replicas / sizeof *replicas; i++) {
        struct bed_rows *rows = bed_run(BED(.check = true), text, replicas[i], 10.0, path);
        MUST(rows->code == 0 && rows->n_requests == 2);
        const double ttft_s = bed_request(rows, 1)->ttft_s;
        CHECK(bed_request(rows, 0)->e2e_s > 1.003 + ttft_s); /* still decodes */
        CHECK_EQ_INT(bed_request(rows, 1)->cached_tokens > 0, i == 3);
        bed_free(rows);
        for (int late = 0; late < 2; late++) {
            rows = bed_run(BED(.check = true), text, replicas[i], ttft_s + (late ? -2e-9 : 1e-9), path);
            CHECK_EQ_STR(bed_request(rows, 1)->status, late ? "rejected" : "finished");
            bed_free(rows);
        }
    }
}

/* With answers to decode and few KV blocks: who was never preempted and is served keeps the deadline. Neither single
 * steps nor the queue change anything. */
TEST(who_is_served_keeps_the_deadline)
{
    struct rng rng;
    rng_init(&rng, 8, 0, "nexus", 0);
    int kept = 0, preempted = 0;
    for (int round = 0; round < 12; round++) {
        struct load load = draw_load(&rng, 2 + (int)rng_below(&rng, 60));
        load.blocks = 30 + (int)rng_below(&rng, 60);
        struct bed_rows *rows = simulate(&load, BED(.check = true));
        struct bed_rows *stepped = simulate(&load, BED(.single_step = true, .queue = QUEUE_HEAP));
        for (size_t i = 0; i < rows->n_requests; i++) {
            const struct request_row *row = &rows->requests[i];
            preempted += row->preemptions > 0;
            if (row->preemptions > 0 || strcmp(row->status, "finished") != 0) continue;
            CHECK(row->ttft_s <= load.deadline_s + 1e-9);
            kept++;
        }
        CHECK(bed_equal(rows, stepped));
        bed_free(rows);
        bed_free(stepped);
    }
    CHECK(kept > 200 && preempted > 20);
}

/* Nexus's bound: prompts that come evenly, b in the time of a batch of b, all keep a deadline of two such batches. One
 * waits for at most the batch before. With a tenth more load some miss it. */
TEST(two_batches_are_enough)
{
    static const int sizes[] = {1, 2, 5, 20};
    for (size_t k = 0; k < 4; k++)
        for (int more = 0; more < 2; more++) {
            struct load load = {.n = MOST, .window = 1, .most = 64, .output = 1, .blocks = 7000};
            int alike[MOST] = {0};
            load.prompt[0] = 50;
            const double batch = batch_s(&load, alike, sizes[k]), gap_s = ceil(1e6 * batch / sizes[k]) / 1e6;
            load.deadline_s = ceil(2e6 * batch) / 1e6;
            for (int i = 0; i < load.n; i++) {
                load.prompt[i] = 50;
                load.arrival_s[i] = i * (more ? floor(0.9e6 * gap_s) / 1e6 : gap_s);
            }
            struct bed_rows *rows = simulate(&load, BED(.no_detail = true));
            CHECK_EQ_INT(bed_metric(rows, "request.rejected") > 0, more);
            bed_free(rows);
        }
}
