/* The batcher `trtllm` against a naive twin with the lists of the engine: one list of active requests in order of
 * arrival, which a capacity scheduler and then a micro-batch scheduler go through in every iteration
 * (NVIDIA/TensorRT-LLM, files and commits as in policies/batching/trtllm.c). The twin counts blocks that are still to
 * be taken, where the batcher holds them. Chunks have units of one token, so that no request overtakes another. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Every iteration takes 10 ms. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
    "'llm': 'llama-3.1-8b', 'kv': {'blocks': %d, 'block_tokens': %d}, 'batching': {'policy': 'trtllm', %s},"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
    " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

enum { MOST = 160, STEP_NS = 10 * 1000 * 1000 };
enum capacity { NO_EVICT, MAX_UTILIZATION, STATIC_BATCH };

struct twin_request {
    int64_t arrival_ns, first_ns, end_ns;
    int prompt, output;             /* as they arrived */
    int generated, context, done;   /* context: tokens of the present prompt */
    int blocks, preemptions, chunk; /* blocks allocated; chunk: of this iteration */
    bool decodes;
};

struct twin {
    struct twin_request requests[MOST];
    int n, blocks, page, most, budget, max_tokens;
    enum capacity capacity;
    bool chunked, equal, exact;
    int active[MOST], n_active;
    int fitting[MOST], n_fitting; /* of this iteration */
};

static int blocks_of(const struct twin *twin, int tokens)
{
    return (tokens + twin->page - 1) / twin->page;
}

static int free_blocks(const struct twin *twin)
{
    int left = twin->blocks;
    for (int i = 0; i < twin->n_active; i++) left -= twin->requests[twin->active[i]].blocks;
    return left;
}

/* Blocks that the request still takes to its end. */
static int to_completion(const struct twin *twin, const struct twin_request *r)
{
    const int limit = twin->exact ? r->output : twin->max_tokens, whole = blocks_of(twin, r->prompt + limit);
    return (whole < twin->blocks ? whole : twin->blocks) - r->blocks;
}

static void reserve(struct twin *twin)
{
    int available = free_blocks(twin);
    for (int i = 0; i < twin->n_active; i++) {
        const struct twin_request *r = &twin->requests[twin->active[i]];
        if (!r->decodes) continue;
        twin->fitting[twin->n_fitting++] = twin->active[i];
        available -= to_completion(twin, r);
    }
    if (twin->capacity == STATIC_BATCH && twin->n_fitting > 0) return;
    for (int i = 0; i < twin->n_active && twin->n_fitting < twin->most; i++) {
        const struct twin_request *r = &twin->requests[twin->active[i]];
        if (r->decodes) continue;
        if (to_completion(twin, r) > available) return;
        available -= to_completion(twin, r);
        twin->fitting[twin->n_fitting++] = twin->active[i];
    }
}

/* Blocks that the request takes in the next iteration. */
static int next_blocks(const struct twin *twin, const struct twin_request *r)
{
    if (r->decodes) return blocks_of(twin, r->prompt + r->generated) - r->blocks;
    return r->blocks == 0 ? blocks_of(twin, r->context) : 0;
}

static void pause(struct twin_request *r)
{
    r->blocks = r->done = 0;
    r->decodes = false;
    r->context = r->prompt + r->generated;
    r->preemptions++;
}

/* A request without room pauses the last started one of those that follow, or itself. */
static void utilize(struct twin *twin)
{
    int end = twin->n_active, free = free_blocks(twin), taken = 0, paused[MOST], n_paused = 0;
    for (int i = 0; i < end;) {
        const int needed = next_blocks(twin, &twin->requests[twin->active[i]]);
        if (twin->n_fitting < twin->most && taken + needed <= free) {
            taken += needed;
            twin->fitting[twin->n_fitting++] = twin->active[i++];
            continue;
        }
        int last = end - 1;
        while (last >= i && twin->requests[twin->active[last]].blocks == 0) last--;
        if (last < i) break;
        free += twin->requests[twin->active[last]].blocks;
        paused[n_paused++] = twin->active[last];
        end = last;
    }
    for (int i = 0; i < n_paused; i++) pause(&twin->requests[paused[i]]);
}

static void divide_equally(struct twin *twin, const int *prompts, int n, int tokens)
{
    for (bool grows = true; grows && tokens > 0;) {
        grows = false;
        for (int i = 0; i < n && tokens > 0; i++) {
            struct twin_request *r = &twin->requests[prompts[i]];
            if (r->done + r->chunk == r->context) continue;
            r->chunk++;
            tokens--;
            grows = true;
        }
    }
}

/* Sets the chunk of every prompt, and to 1 that of decoding requests. */
static void fill_micro_batch(struct twin *twin)
{
    int prompts[MOST], n_prompts = 0, tokens = twin->budget;
    for (int i = 0; i < twin->n_active; i++) twin->requests[twin->active[i]].chunk = 0;
    for (int i = 0; i < twin->n_fitting && i < twin->most; i++) {
        struct twin_request *r = &twin->requests[twin->fitting[i]];
        if (r->decodes && tokens < 1) break;
        if (!r->decodes && !twin->chunked && r->context - r->done > tokens) break;
        if (r->decodes || !twin->chunked) {
            r->chunk = r->decodes ? 1 : r->context - r->done;
            tokens -= r->chunk;
        } else {
            prompts[n_prompts++] = twin->fitting[i];
        }
    }
    if (twin->equal) divide_equally(twin, prompts, n_prompts, tokens);
    for (int i = 0; i < n_prompts && !twin->equal; i++) {
        struct twin_request *r = &twin->requests[prompts[i]];
        r->chunk = r->context - r->done < tokens ? r->context - r->done : tokens;
        tokens -= r->chunk;
    }
}

/* The request has processed its chunk. Returns whether it has ended. */
static bool forward(const struct twin *twin, struct twin_request *r, int64_t now)
{
    if (r->decodes) {
        r->blocks = blocks_of(twin, r->prompt + r->generated);
    } else {
        if (r->blocks == 0) r->blocks = blocks_of(twin, r->context);
        r->done += r->chunk;
        if (r->done < r->context) return false;
        r->decodes = true;
    }
    r->generated++;
    if (r->first_ns < 0) r->first_ns = now;
    if (r->generated == r->output) r->end_ns = now;
    return r->generated == r->output;
}

static void twin_step(struct twin *twin, int64_t end_ns)
{
    int n = 0;
    twin->n_fitting = 0;
    if (twin->capacity == MAX_UTILIZATION)
        utilize(twin);
    else
        reserve(twin);
    fill_micro_batch(twin);
    for (int i = 0; i < twin->n_active; i++) {
        struct twin_request *r = &twin->requests[twin->active[i]];
        if (r->chunk == 0 || !forward(twin, r, end_ns)) twin->active[n++] = twin->active[i];
    }
    twin->n_active = n;
}

static void twin_run(struct twin *twin)
{
    int64_t now = 0;
    for (int next = 0; next < twin->n || twin->n_active > 0;) {
        if (twin->n_active == 0 && twin->requests[next].arrival_ns > now) now = twin->requests[next].arrival_ns;
        while (next < twin->n && twin->requests[next].arrival_ns <= now) twin->active[twin->n_active++] = next++;
        now += STEP_NS;
        twin_step(twin, now);
    }
}

/* --- Random loads --- */

/* Without chunks, prompts with all their output stay within the budget. */
static const char *write_requests(struct twin *twin, struct rng *rng)
{
    SCOPED(text) trace = {0};
    const int whole = twin->blocks * twin->page;
    const int most = twin->chunked || twin->budget > whole ? whole : twin->budget;
    int64_t now_ns = 0;
    twin->n = 5 + (int)rng_below(rng, MOST - 5);
    text_printf(&trace, "arrival,prompt,output\n");
    for (int i = 0; i < twin->n; i++) {
        struct twin_request *r = &twin->requests[i];
        if (rng_below(rng, 4) > 0) now_ns += 1 + (int64_t)rng_below(rng, 120 * 1000 * 1000);
        *r = (struct twin_request){.arrival_ns = now_ns, .first_ns = -1, .end_ns = -1};
        r->prompt = r->context = 1 + (int)rng_below(rng, (uint64_t)(most / 2));
        r->output = 1 + (int)rng_below(rng, (uint64_t)(most / 2 < twin->max_tokens ? most / 2 : twin->max_tokens));
        text_printf(&trace, "%.9f,%d,%d\n", (double)now_ns * 1e-9, r->prompt, r->output);
    }
    return test_file("requests.csv", "%s", trace.chars);
}

static const char *random_twin(struct twin *twin, struct rng *rng)
{
    static const char *const capacities[] = {"guaranteed-no-evict", "max-utilization", "static-batch"};
    *twin = (struct twin){.page = 1 + (int)rng_below(rng, 16), .most = 1 + (int)rng_below(rng, 20),
                          .capacity = (enum capacity)rng_below(rng, 3), .chunked = rng_below(rng, 2) > 0,
                          .exact = rng_below(rng, 3) == 0, .max_tokens = 10 + (int)rng_below(rng, 100)};
    twin->blocks = 12 + (int)rng_below(rng, (uint64_t)(600 / twin->page));
    twin->budget = 20 + (int)rng_below(rng, 200);
    twin->equal = twin->chunked && rng_below(rng, 2) > 0;
    return test_json("'max_sequences': %d, 'token_budget': %d, 'capacity': '%s', 'max_tokens': %d, 'limits': '%s',"
                     " 'chunked': %s, 'chunking': '%s', 'chunk_unit_tokens': 1",
                     twin->most, twin->budget, capacities[twin->capacity], twin->max_tokens,
                     twin->exact ? "exact" : "max", twin->chunked ? "true" : "false",
                     twin->equal ? "equal-progress" : "first-come-first-served");
}

static bool is_equal(const struct twin *twin, const struct bed_rows *rows)
{
    for (int i = 0; i < twin->n; i++) {
        const struct twin_request *r = &twin->requests[i];
        const struct request_row *row = bed_request(rows, i);
        if (CHECK_NEAR(row->ttft_s, (double)(r->first_ns - r->arrival_ns) * 1e-9, 1e-9) &&
            CHECK_NEAR(row->e2e_s, (double)(r->end_ns - r->arrival_ns) * 1e-9, 1e-9) &&
            CHECK_EQ_INT(row->preemptions, r->preemptions))
            continue;
        printf("\n  request %d", i);
        return false;
    }
    return true;
}

TEST_SIZED(equals_the_naive_twin)
{
    static struct twin twin;
    double pauses = 0;
    for (uint64_t seed = 0; seed < (uint64_t)test_part(150); seed++) {
        struct rng rng = test_rng(seed, "trtllm twin", 0);
        const char *batching = random_twin(&twin, &rng), *path = write_requests(&twin, &rng);
        twin_run(&twin);
        struct bed_rows *rows = bed_ok(BED(.check = true), scenario, twin.blocks, twin.page, batching, path);
        if (!is_equal(&twin, rows)) {
            printf(", seed %d, %d blocks of %d: %s\n", (int)seed, twin.blocks, twin.page, batching);
            return;
        }
        pauses += bed_metric(rows, "request.preemptions.sum");
        bed_free(rows);
    }
    CHECK_WHOLE(pauses > 200); /* the loads do run out of blocks */
}
