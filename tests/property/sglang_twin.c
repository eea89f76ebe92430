/* The batcher `sglang` against a naive twin that follows SGLang's rules iteration by iteration with lists and sorting
 * (sgl-project/sglang, python/sglang/srt/managers, files and commits as in policies/batching/sglang.c). */
#include "policies/declared.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Every iteration takes 10 ms. */
static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'services': {'s': {"
    "'llm': '%s', 'kv': {'blocks': %d, 'block_tokens': %d}, 'batching': {'policy': '%s', %s},"
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms'}, 'decode': {'fixed': '10ms'}}, 'trace': {'format': 'csv',"
    " 'path': '%s', 'columns': {'arrival': 'arrival', 'prompt': 'prompt', 'output': 'output'}}}}}";

/* --- The twin --- */

enum { MOST = 200, STEP_NS = 10 * 1000 * 1000, NOBODY = -1 };

/* What is drawn: `long_prompts` reach the end of the LLM's context, in a large cache. */
enum mode { PLAIN, PRIORITIES, LONG_PROMPTS };

struct twin_request {
    int64_t arrival_ns, first_ns, end_ns;
    int prompt, output, generated, done, preemptions, priority; /* lower numbers go first */
};

struct twin {
    struct twin_request requests[MOST];
    enum mode mode;
    int n, blocks, page, context, max_sequences, chunk, max_prefill, max_tokens;
    bool mixed, overlap, by_priority;
    int threshold;
    double conservativeness;
    int queue[MOST], n_queue, batch[MOST], n_batch, cut; /* cut: the prompt that goes on, or NOBODY */
    int added[MOST], added_tokens[MOST], n_added;
    int preempted[MOST], n_preempted;
    bool is_full, is_late, has_ended;
    double ratio, total_offset;
    int current_offset, rem_input, rem_chunk;
};

static int pages(const struct twin *twin, int tokens)
{
    return (tokens + twin->page - 1) / twin->page;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int held(const struct twin *twin, int id)
{
    const struct twin_request *r = &twin->requests[id];
    return pages(twin, r->prompt + r->generated - 1);
}

static int free_pages(const struct twin *twin)
{
    int left = twin->blocks;
    for (int i = 0; i < twin->n_batch; i++) left -= held(twin, twin->batch[i]);
    return twin->cut != NOBODY ? left - pages(twin, twin->requests[twin->cut].done) : left;
}

static int limit(const struct twin *twin, const struct twin_request *r)
{
    int tokens = twin->max_tokens > 0 ? twin->max_tokens : 1 << 30;
    tokens = least(tokens, twin->context - r->prompt - 1);
    tokens = least(tokens, (twin->blocks - pages(twin, r->prompt) - 1) * twin->page - 1);
    return tokens > 0 ? tokens : 0;
}

static int to_come(const struct twin *twin, const struct twin_request *r)
{
    const int left = limit(twin, r) - r->generated;
    return left > 0 ? least(left, 4096) : 0;
}

static double rem_total(const struct twin *twin)
{
    return (double)(free_pages(twin) * twin->page) - twin->total_offset;
}

static void add(struct twin *twin, int id, int tokens, int new_tokens)
{
    const int paged = pages(twin, tokens) * twin->page;
    twin->added[twin->n_added] = id;
    twin->added_tokens[twin->n_added++] = tokens;
    twin->total_offset += paged + new_tokens + twin->page;
    twin->current_offset += paged + twin->page;
    twin->rem_input -= paged;
    twin->rem_chunk -= paged;
}

/* 0: the next one may follow; 1: no tokens; 2: another reason. */
static int add_one(struct twin *twin, int id, bool alone)
{
    struct twin_request *r = &twin->requests[id];
    const int left = r->prompt + r->generated, paged = pages(twin, left) * twin->page;
    const bool chunks = twin->chunk > 0;
    if (!alone && left + to_come(twin, r) + twin->page >= rem_total(twin)) return 1;
    if (!chunks && twin->n_added > 0 && paged >= twin->rem_input) return 2;
    if (!chunks || paged <= twin->rem_chunk) {
        add(twin, id, left, least(limit(twin, r), 4096));
    } else {
        const int cut = twin->rem_chunk / twin->page * twin->page;
        if (cut <= 0) return 2;
        add(twin, id, cut, 0);
    }
    if (rem_total(twin) <= 0 || free_pages(twin) * twin->page - twin->current_offset <= 0) return 1;
    return twin->rem_input <= 0 || (chunks && twin->rem_chunk <= 0) ? 2 : 0;
}

/* Growth into new pages of the sequences of the batch. */
static int growth(const struct twin *twin)
{
    int n = 0;
    for (int i = 0; i < twin->n_batch; i++) {
        const struct twin_request *r = &twin->requests[twin->batch[i]];
        n += pages(twin, r->prompt + r->generated) - held(twin, twin->batch[i]);
    }
    return n;
}

static void remove_at(int *list, int *n, int at)
{
    for (--*n; at < *n; at++) list[at] = list[at + 1];
}

static bool is_before(const struct twin *twin, int a, int b)
{
    const struct twin_request *x = &twin->requests[a], *y = &twin->requests[b];
    if (x->priority != y->priority) return x->priority < y->priority;
    return x->arrival_ns != y->arrival_ns ? x->arrival_ns < y->arrival_ns : a < b;
}

/* The place in the batch of the sequence to retract next, of those that are not picked; -1: none. */
static int last_of_batch(const struct twin *twin, const bool *is_picked)
{
    int last = -1;
    for (int i = 0; i < twin->n_batch; i++) {
        const struct twin_request *r = &twin->requests[twin->batch[i]];
        if (is_picked[i]) continue;
        const struct twin_request *l = last >= 0 ? &twin->requests[twin->batch[last]] : NULL;
        if (l == NULL || r->priority > l->priority || (r->priority == l->priority && r->arrival_ns > l->arrival_ns))
            last = i;
    }
    return last;
}

/* preempt_to_schedule: picks, then retracts all that were picked. Returns whether that suffices. */
static bool preempt_for(struct twin *twin, int id)
{
    const struct twin_request *r = &twin->requests[id];
    bool is_picked[MOST] = {false};
    double lacking = r->prompt + r->generated + least(limit(twin, r), 4096) - rem_total(twin);
    int n = 0;
    for (int at; (n == 0 || lacking > 0) && (at = last_of_batch(twin, is_picked)) >= 0; n++) {
        const struct twin_request *victim = &twin->requests[twin->batch[at]];
        if (victim->priority - r->priority <= twin->threshold) break;
        is_picked[at] = true;
        lacking -= to_come(twin, victim) * twin->ratio;
    }
    if (n == 0 || lacking > 0) return false;
    for (int i = twin->n_batch - 1; i >= 0; i--) {
        if (!is_picked[i]) continue;
        struct twin_request *victim = &twin->requests[twin->batch[i]];
        twin->total_offset -= to_come(twin, victim) * twin->ratio;
        victim->preemptions++;
        victim->done = 0;
        twin->preempted[twin->n_preempted++] = twin->batch[i];
        remove_at(twin->batch, &twin->n_batch, i);
    }
    return true;
}

/* The queue in order of priority; those that are retracted join it afterwards. */
static void compose_by_priority(struct twin *twin, bool idle)
{
    bool is_full = false;
    int verdict = 0;
    twin->n_preempted = 0;
    while (verdict == 0 && twin->n_queue > 0) {
        int first = 0;
        for (int i = 1; i < twin->n_queue; i++)
            if (is_before(twin, twin->queue[i], twin->queue[first])) first = i;
        const int before = twin->n_added;
        is_full = is_full || twin->n_added >= twin->max_sequences - twin->n_batch;
        if (is_full && !preempt_for(twin, twin->queue[first])) break;
        verdict = add_one(twin, twin->queue[first], idle && twin->n_added == 0);
        if (twin->n_added > before) remove_at(twin->queue, &twin->n_queue, first);
    }
    for (int i = 0; i < twin->n_preempted; i++) twin->queue[twin->n_queue++] = twin->preempted[i];
}

static void compose_prompts(struct twin *twin)
{
    const int decoding = twin->mixed ? twin->n_batch : 0;
    twin->total_offset = twin->current_offset = decoding;
    twin->rem_input = twin->max_prefill - decoding;
    twin->rem_chunk = twin->chunk - decoding;
    twin->n_added = 0;
    if (twin->mixed && growth(twin) > free_pages(twin)) return;
    int sum = 0;
    for (int i = 0; i < twin->n_batch; i++) sum += to_come(twin, &twin->requests[twin->batch[i]]);
    twin->total_offset += sum * twin->ratio;
    if (twin->cut != NOBODY && twin->rem_chunk > 0) {
        struct twin_request *r = &twin->requests[twin->cut];
        const int left = r->prompt + r->generated - r->done,
                  usable = free_pages(twin) - (twin->mixed ? growth(twin) : 0);
        int most = twin->rem_chunk;
        if (rem_total(twin) >= 1 && rem_total(twin) < most) most = (int)rem_total(twin);
        const int tokens = least(least(left, most), (pages(twin, r->done) + usable) * twin->page - r->done);
        if (tokens > 0) add(twin, twin->cut, tokens, tokens == left ? least(limit(twin, r), 4096) : 0);
        if (tokens < left) return;
    }
    const bool idle = twin->n_batch == 0 && twin->cut == NOBODY;
    int verdict = 0;
    if (twin->by_priority) {
        compose_by_priority(twin, idle);
        return;
    }
    while (!twin->is_full && verdict == 0 && twin->n_queue > 0) {
        const int before = twin->n_added;
        twin->is_full = twin->n_added >= twin->max_sequences - twin->n_batch;
        if (twin->is_full) return;
        verdict = add_one(twin, twin->queue[0], idle && twin->n_added == 0);
        if (twin->n_added > before) remove_at(twin->queue, &twin->n_queue, 0);
    }
    if (verdict == 1) twin->is_full = true;
}

/* Sorts stably as Python does, most output tokens first, then shorter prompts, and pops from the end. */
static void retract(struct twin *twin)
{
    int sorted[MOST], n = twin->n_batch;
    for (int i = 0; i < n; i++) {
        const struct twin_request *r = &twin->requests[twin->batch[i]];
        int at = i;
        for (; at > 0; at--) {
            const struct twin_request *before = &twin->requests[sorted[at - 1]];
            if (before->generated > r->generated || (before->generated == r->generated && before->prompt <= r->prompt))
                break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = twin->batch[i];
    }
    while (growth(twin) > free_pages(twin) && n > 1) {
        const int id = sorted[--n];
        int at = 0;
        while (twin->batch[at] != id) at++;
        remove_at(twin->batch, &twin->n_batch, at);
        twin->requests[id].preemptions++;
        twin->requests[id].done = 0;
        twin->queue[twin->n_queue++] = id;
    }
    if (growth(twin) > free_pages(twin) && twin->cut != NOBODY) {
        twin->requests[twin->cut].preemptions++;
        twin->requests[twin->cut].done = 0;
        twin->queue[twin->n_queue++] = twin->cut;
        twin->cut = NOBODY;
    }
    int made = 0, limits = 1;
    for (int i = 0; i < twin->n_batch; i++) {
        made += twin->requests[twin->batch[i]].generated;
        limits += limit(twin, &twin->requests[twin->batch[i]]);
    }
    const double ratio = (double)(made + 20 * twin->n_batch) / limits;
    twin->ratio = ratio < 1 ? ratio : 1;
    twin->is_full = twin->is_late = false;
}

/* The request has one token more at `now`. Returns whether it was the last. */
static bool give_token(struct twin_request *r, int64_t now)
{
    r->generated++;
    if (r->first_ns < 0) r->first_ns = now;
    if (r->generated == r->output) r->end_ns = now;
    return r->generated == r->output;
}

static void decode_all(struct twin *twin, int64_t now)
{
    for (int i = 0; i < twin->n_batch;) {
        const bool ends = give_token(&twin->requests[twin->batch[i]], now);
        twin->has_ended |= ends;
        if (ends)
            remove_at(twin->batch, &twin->n_batch, i);
        else
            i++;
    }
}

static void process_prompts(struct twin *twin, int64_t now)
{
    if (twin->mixed) decode_all(twin, now);
    twin->cut = NOBODY;
    for (int i = 0; i < twin->n_added; i++) {
        struct twin_request *r = &twin->requests[twin->added[i]];
        r->done += twin->added_tokens[i];
        if (r->done < r->prompt + r->generated)
            twin->cut = twin->added[i];
        else if (give_token(r, now))
            twin->has_ended = true;
        else
            twin->batch[twin->n_batch++] = twin->added[i];
    }
}

static double first_ratio(const struct twin *twin)
{
    return 0.7 * twin->conservativeness < 1 ? 0.7 * twin->conservativeness : 1;
}

/* One iteration. */
static void twin_step(struct twin *twin, int64_t end_ns)
{
    const double first = first_ratio(twin);
    const bool was_empty = twin->n_batch == 0;
    if (twin->is_late || was_empty) twin->is_full = twin->is_late = false;
    if (twin->has_ended && twin->is_full) {
        twin->is_late = twin->overlap;
        twin->is_full = twin->overlap;
    }
    if (twin->by_priority) twin->is_full = false;
    twin->has_ended = false;
    twin->n_added = 0;
    if (twin->cut != NOBODY || (!twin->is_full && twin->n_queue > 0)) compose_prompts(twin);
    if (was_empty) twin->is_full = false;
    if (twin->n_added > 0) {
        process_prompts(twin, end_ns);
        return;
    }
    if (growth(twin) > free_pages(twin)) {
        retract(twin);
    } else {
        twin->ratio -= first * 0.86 / 600;
        if (twin->ratio < first * 0.14) twin->ratio = first * 0.14;
    }
    decode_all(twin, end_ns);
}

static void twin_run(struct twin *twin)
{
    int64_t now = 0;
    int next = 0, left = twin->n;
    twin->cut = NOBODY;
    twin->ratio = first_ratio(twin);
    while (left > 0) {
        while (next < twin->n && twin->requests[next].arrival_ns <= now) twin->queue[twin->n_queue++] = next++;
        if (twin->n_queue + twin->n_batch == 0 && twin->cut == NOBODY) {
            twin->ratio = first_ratio(twin);
            now = twin->requests[next].arrival_ns;
            continue;
        }
        now += STEP_NS;
        twin_step(twin, now);
        left = 0;
        for (int i = 0; i < twin->n; i++) left += twin->requests[i].end_ns < 0;
    }
}

static const char *write_requests(struct twin *twin, struct rng *rng)
{
    static const char *const classes[] = {"interactive", "default", "batch"};
    SCOPED(text) trace = {0};
    const int whole = twin->blocks * twin->page;
    int64_t now_ns = 0;
    twin->n = 5 + (int)rng_below(rng, 80);
    text_printf(&trace, "arrival,prompt,output,class\n");
    for (int i = 0; i < twin->n; i++) {
        struct twin_request *r = &twin->requests[i];
        if (rng_below(rng, 4) > 0) now_ns += 1 + (int64_t)rng_below(rng, 150 * 1000 * 1000);
        *r = (struct twin_request){.arrival_ns = now_ns, .first_ns = -1, .end_ns = -1};
        r->prompt = 1 + (int)rng_below(rng, (uint64_t)(whole / (twin->by_priority ? 8 : 2)));
        r->output = 1 + (int)rng_below(rng, (uint64_t)(whole / (twin->by_priority ? 8 : 3)));
        if (twin->mode == LONG_PROMPTS) {
            r->prompt = twin->context - 1 - (int)rng_below(rng, rng_below(rng, 2) ? 60 : 2000);
            r->output = 1 + (int)rng_below(rng, (uint64_t)least(twin->context - r->prompt, 80));
        }
        r->priority = twin->by_priority ? 10 * (int)rng_below(rng, 3) : 0;
        text_printf(&trace, "%.9f,%d,%d,%s\n", (double)now_ns * 1e-9, r->prompt, r->output, classes[r->priority / 10]);
        if (twin->max_tokens > 0 && twin->mode != PLAIN) r->output = least(r->output, twin->max_tokens);
    }
    return test_file("requests.csv", "%s", trace.chars);
}

/* With priorities there are few slots and many blocks, so that slots are short. */
static const char *random_twin(struct twin *twin, enum mode mode, struct rng *rng)
{
    const bool by_priority = mode == PRIORITIES;
    *twin = (struct twin){.mode = mode, .context = 131072, .page = 1 + (int)rng_below(rng, 16), .max_sequences = 1 + (int)rng_below(rng, 20),
                          .max_prefill = 20 + (int)rng_below(rng, 300), .mixed = rng_below(rng, 3) == 0,
                          .overlap = rng_below(rng, 2) > 0, .conservativeness = (double)rng_below(rng, 5) * 0.375};
    twin->blocks = 12 + (int)rng_below(rng, (uint64_t)(600 / twin->page));
    twin->chunk = rng_below(rng, 3) > 0 ? twin->page + (int)rng_below(rng, 200) : 0;
    twin->max_tokens = rng_below(rng, 2) > 0 ? 5 + (int)rng_below(rng, 100) : 0;
    twin->by_priority = by_priority;
    if (by_priority) {
        twin->threshold = 5 * (int)rng_below(rng, 3);
        twin->max_tokens = 5 + (int)rng_below(rng, 60);
        twin->max_sequences = 1 + (int)rng_below(rng, 5);
        twin->blocks *= 1 + (int)rng_below(rng, 4);
    }
    if (mode == LONG_PROMPTS) {
        twin->context = 2048;
        twin->blocks = (2100 + (int)rng_below(rng, 12000)) / twin->page;
        twin->max_prefill = 500 + (int)rng_below(rng, 6000);
        twin->mixed = rng_below(rng, 2) > 0;
        twin->chunk = rng_below(rng, 2) > 0 ? 100 + (int)rng_below(rng, 1000) : 0;
    }
    const char *order = test_json(
        ", 'order': 'priority', 'preemption_threshold': %d, 'priorities': {'default': 10, 'batch': 20}",
        twin->threshold);
    return test_json("'max_sequences': %d, 'chunked_prefill_tokens': %d, 'max_prefill_tokens': %d, 'max_tokens': %d,"
                     " 'conservativeness': %g, 'mixed': %s, 'overlap': %s%s",
                     twin->max_sequences, twin->chunk, twin->max_prefill, twin->max_tokens, twin->conservativeness,
                     twin->mixed ? "true" : "false", twin->overlap ? "true" : "false", by_priority ? order : "");
}

/* Returns the retractions, or -1 when a request differs. */
static int compare(const struct twin *twin, const struct bed_rows *rows)
{
    int retractions = 0;
    bool equal = true;
    for (int i = 0; i < twin->n && equal; i++) {
        const struct twin_request *r = &twin->requests[i];
        const struct request_row *row = bed_request(rows, i);
        equal = CHECK_NEAR(row->ttft_s, (double)(r->first_ns - r->arrival_ns) * 1e-9, 1e-9) &&
                CHECK_NEAR(row->e2e_s, (double)(r->end_ns - r->arrival_ns) * 1e-9, 1e-9) &&
                CHECK_EQ_INT(row->preemptions, r->preemptions);
        if (!equal) printf("\n  request %d", i);
        retractions += r->preemptions;
    }
    return equal ? retractions : -1;
}

/* Returns the retractions, or with priorities those for the sake of another request; -1 when a request differs. */
static int check_twins(uint64_t n_seeds, enum mode mode)
{
    static const char *const streams[] = {"sglang", "sglang priorities", "sglang long prompts"};
    static struct twin twin;
    int retractions = 0, preempted = 0;
    struct batcher uncut = batching_sglang; /* outputs beyond the limit make blocks short */
    uncut.policy.name = "sglang-uncut";
    uncut.most_output_tokens = NULL;
    const char *name = mode == PLAIN ? uncut.policy.name : "sglang";
    for (uint64_t seed = 0; seed < n_seeds; seed++) {
        struct rng rng = test_rng(seed, streams[mode], 0);
        const char *batching = random_twin(&twin, mode, &rng);
        const char *path = write_requests(&twin, &rng);
        const char *llm = mode == LONG_PROMPTS ? "phi-2" : "llama-3.1-8b";
        twin_run(&twin);
        struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &uncut.policy), scenario, llm, twin.blocks, twin.page,
                                       name, batching, path);
        const int n = compare(&twin, rows);
        for (size_t i = 0; i < rows->n_decisions; i++)
            preempted += strcmp(rows->decisions[i].reason, "a request of higher priority has no slot") == 0;
        if (n < 0)
            printf(", seed %d, %d blocks of %d: %s\n", (int)seed, twin.blocks, twin.page, batching);
        else
            retractions += n;
        if (seed % 5 == 0) {
            struct bed_rows *single = bed_ok(BED(.check = true, .single_step = true, .queue = QUEUE_HEAP, .policy = &uncut.policy), scenario,
                                             llm, twin.blocks, twin.page, name, batching, path);
            CHECK(bed_equal(rows, single));
            bed_free(single);
        }
        bed_free(rows);
        if (n < 0) return -1;
    }
    return mode == PRIORITIES ? preempted : retractions;
}

TEST_SIZED(equals_the_naive_twin_in_every_mode)
{
    const int n = check_twins((uint64_t)test_part(150), PLAIN);
    CHECK(n >= 0);
    CHECK_WHOLE(n > 150); /* the loads do run out of blocks */
}

TEST_SIZED(priorities_equal_the_naive_twin)
{
    const int n = check_twins((uint64_t)test_part(150), PRIORITIES);
    CHECK(n >= 0);
    CHECK_WHOLE(n > 500); /* slots are short */
}

TEST(long_prompts_equal_the_naive_twin)
{
    CHECK(check_twins(60, LONG_PROMPTS) >= 0); /* limits end with the context, and caches hold several prompts */
}
