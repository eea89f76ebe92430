/* The serving clock against a naive twin that walks through every iteration and touches every member, with the same
 * batching rules written down a second time; and macro-steps against single steps, bit for bit. Loads are random and KV
 * is scarce, so that preemptions, full batches and idle times all happen. */
#include "policies/declared.h"
#include "policies/registry.h"
#include "sim/world/policy/batching.h"
#include "sim/world/policy/routing.h"
#include "sim/world/replica/replica.h"
#include "sim/world/rows/priority.h"
#include "tests/support/harness.h"

enum { MAX_REQUESTS = 400, BLOCK_TOKENS = 4 };

struct spec {
    sim_ns arrival_ns;
    int32_t prompt, output;
};

struct outcome {
    sim_ns scheduled_ns, first_ns, end_ns, max_gap_ns, gap_from_ns;
    int32_t preemptions;
    bool rejected;
};

struct load {
    int n;
    struct spec specs[MAX_REQUESTS];
    int64_t blocks, max_sequences, budget;
    double watermark;
    bool padded;
};

/* Durations in whole nanoseconds, growing with context, so that both twins can be exact. */
static void test_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    (void)model;
    bool prefill = work->prefill_sequences > 0;
    cost->first_s = 1e-9 * (5e6 + 50e3 * (double)(work->prefill_tokens + work->decode_sequences) +
                            100 * (double)work->decode_context_tokens + 30 * (double)work->decode_longest_tokens +
                            2 * work->prefill_pairs);
    cost->slope_s = prefill ? 0 : 1e-9 * (100 * (double)work->decode_sequences + 30);
    cost->until = prefill ? 1 : work->decode_context_tokens % 5 == 0 ? 7 : INT64_MAX;
    cost->extrapolated_frac = (double)(work->decode_context_tokens % 4) / 3;
}

/* --- The world's replica, driven by a source of its own --- */

struct bed {
    struct owner owner;
    const struct load *load;
    int next, left;
    struct replica replica;
    struct replica_load view;
    struct request requests[MAX_REQUESTS];
    struct outcome *outcomes;
    struct histogram gaps;
};

static struct outcome outcome_of(const struct request *request, sim_ns now, bool rejected)
{
    return (struct outcome){.scheduled_ns = request->scheduled_ns, .first_ns = request->first_token_ns, .end_ns = now,
                            .max_gap_ns = request->max_gap.ns, .gap_from_ns = request->max_gap.from_ns,
                            .preemptions = request->view.preemptions, .rejected = rejected};
}

static int on_finish(struct replica *replica, struct request *request, sim_ns now)
{
    struct bed *bed = replica->env->owner;
    bed->outcomes[request->view.id] = outcome_of(request, now, false);
    bed->left--;
    return 0;
}

static int on_reject(struct replica *replica, struct request *request, sim_ns now, const char *reason)
{
    struct bed *bed = replica->env->owner;
    bed->outcomes[request->view.id] = outcome_of(request, now, true);
    bed->left--;
    return reason == NULL;
}

static int on_preempt(struct replica *replica, struct request *request, sim_ns now, const char *reason)
{
    (void)replica;
    (void)request;
    (void)now;
    return reason == NULL;
}

static void arrive(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct bed *bed = OWNER_ENTITY(owner, struct bed, owner);
    const struct spec *spec = &bed->load->specs[bed->next];
    struct request *request = &bed->requests[bed->next];
    *request = (struct request){.view = {.id = bed->next, .arrival_ns = now, .prompt_tokens = spec->prompt},
                                .prompt_tokens = spec->prompt,
                                .output_tokens = spec->output,
                                .scheduled_ns = TIME_UNSET,
                                .first_token_ns = TIME_UNSET};
    replica_enqueue(&bed->replica, request, now);
    if (++bed->next < bed->load->n)
        engine_schedule(engine, bed->load->specs[bed->next].arrival_ns, PRIORITY_ARRIVAL, arrive, owner);
}

struct run_facts {
    uint64_t events;
    struct replica_counts counts;
    int64_t free_blocks, gap_count;
    double gap_p99;
};

static void find_batcher_params(const struct load *load, void *params)
{
    /* The layout of the policy's parameters is its own affair: set them through its table. */
    const struct config_field *fields = batching_vllm_v0.policy.params;
    memset(params, 0, batching_vllm_v0.policy.params_bytes);
    for (const struct config_field *field = fields; field->name != NULL; field++) {
        void *at = (char *)params + field->offset;
        if (strcmp(field->name, "max_sequences") == 0) *(int64_t *)at = load->max_sequences;
        if (strcmp(field->name, "max_batched_tokens") == 0) *(int64_t *)at = load->budget;
        if (strcmp(field->name, "padded") == 0) *(bool *)at = load->padded;
        if (strcmp(field->name, "watermark") == 0) *(double *)at = load->watermark;
    }
}

static void run_bed(const struct load *load, bool single_step, enum queue_kind queue, struct outcome *outcomes,
                    struct run_facts *facts)
{
    struct diag *diag = calloc(1, sizeof *diag);
    struct bed *bed = calloc(1, sizeof *bed);
    struct engine *engine = engine_create(&(struct engine_options){.queue = queue});
    void *params = calloc(1, batching_vllm_v0.policy.params_bytes);
    *bed = (struct bed){.load = load, .left = load->n, .outcomes = outcomes};
    histogram_init(&bed->gaps);
    struct replica_env env = {.engine = engine, .diag = diag, .batcher = &batching_vllm_v0,
                              .model = {.kind = "test", .cost = test_cost, .reads_longest = true}, .token_gap_s = &bed->gaps,
                              .max_context_tokens = 1 << 20, .single_step = single_step, .owner = bed,
                              .on_finish = on_finish, .on_reject = on_reject, .on_preempt = on_preempt};
    find_batcher_params(load, params);
    owner_init(&bed->owner, 0);
    CHECK_EQ_INT(replica_init(&bed->replica, &env, 0, 1, BLOCK_TOKENS, load->blocks, params, &bed->view), 0);
    engine_schedule(engine, load->specs[0].arrival_ns, PRIORITY_ARRIVAL, arrive, &bed->owner);
    CHECK_EQ_INT(engine_run(engine, diag), 0);
    CHECK_EQ_INT(bed->left, 0);
    CHECK_EQ_INT(bed->view.outstanding, 0);
    CHECK_EQ_INT(bed->view.waiting, 0);
    *facts = (struct run_facts){.events = engine_stats(engine).fired,
                                .counts = bed->replica.counts,
                                .free_blocks = bed->replica.kv.free_blocks,
                                .gap_count = (int64_t)bed->gaps.count,
                                .gap_p99 = histogram_quantile(&bed->gaps, 0.99)};
    replica_fini(&bed->replica);
    histogram_fini(&bed->gaps);
    engine_destroy(engine);
    free(bed);
    free(diag);
    free(params);
}

/* --- The naive twin --- */

struct twin_request {
    int id, prompt, rest; /* prompt to prefill now; output tokens still to come */
    int processed, blocks;
    sim_ns last_token_ns;
};

struct twin {
    const struct load *load;
    struct outcome *outcomes;
    struct twin_request all[MAX_REQUESTS];
    struct twin_request *waiting[MAX_REQUESTS], *running[MAX_REQUESTS];
    int n_waiting, n_running, n_arrived;
    int64_t free_blocks;
};

static int blocks_of(int tokens)
{
    return (tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
}

static void twin_token(struct twin *twin, struct twin_request *request, sim_ns now)
{
    struct outcome *outcome = &twin->outcomes[request->id];
    request->processed++;
    request->rest--;
    if (outcome->first_ns == TIME_UNSET)
        outcome->first_ns = now;
    else if (now - request->last_token_ns >= outcome->max_gap_ns) {
        outcome->max_gap_ns = now - request->last_token_ns;
        outcome->gap_from_ns = request->last_token_ns;
    }
    request->last_token_ns = now;
    if (request->rest == 0) {
        outcome->end_ns = now;
        twin->free_blocks += request->blocks;
        request->blocks = 0;
    }
}

static void twin_drop_finished(struct twin *twin)
{
    int n = 0;
    for (int i = 0; i < twin->n_running; i++)
        if (twin->running[i]->rest > 0) twin->running[n++] = twin->running[i];
    twin->n_running = n;
}

static struct twin_request *twin_pop(struct twin *twin)
{
    struct twin_request *head = twin->waiting[0];
    memmove(twin->waiting, twin->waiting + 1, (size_t)--twin->n_waiting * sizeof *twin->waiting);
    return head;
}

/* Prompts admitted at this boundary are appended to running; returns how many. */
static int twin_admit(struct twin *twin, sim_ns now)
{
    const struct load *load = twin->load;
    int admitted = 0, longest = 0, sum = 0, watermark = (int)(load->watermark * (double)load->blocks);
    while (twin->n_waiting > 0) {
        struct twin_request *head = twin->waiting[0];
        int need = blocks_of(head->prompt), longer = head->prompt > longest ? head->prompt : longest;
        if (head->prompt > load->budget || need + watermark > load->blocks) {
            twin->outcomes[twin_pop(twin)->id].end_ns = now;
            twin->outcomes[head->id].rejected = true;
            continue;
        }
        int64_t counted = load->padded ? (int64_t)(admitted + 1) * longer : sum + head->prompt;
        if (twin->free_blocks - need < watermark || counted > load->budget || twin->n_running >= load->max_sequences)
            break;
        longest = longer;
        sum += head->prompt;
        admitted++;
        twin->free_blocks -= need;
        head->blocks = need;
        twin_pop(twin);
        twin->running[twin->n_running++] = head;
        if (twin->outcomes[head->id].scheduled_ns == TIME_UNSET) twin->outcomes[head->id].scheduled_ns = now;
    }
    return admitted;
}

static void twin_preempt_last(struct twin *twin)
{
    struct twin_request *victim = twin->running[--twin->n_running];
    twin->free_blocks += victim->blocks;
    victim->blocks = 0;
    victim->prompt = victim->processed;
    victim->processed = 0;
    twin->outcomes[victim->id].preemptions++;
    memmove(twin->waiting + 1, twin->waiting, (size_t)twin->n_waiting++ * sizeof *twin->waiting);
    twin->waiting[0] = victim;
}

static void twin_make_room(struct twin *twin)
{
    for (int i = 0; i < twin->n_running; i++) {
        while (twin->free_blocks < 1 && twin->n_running > i) twin_preempt_last(twin);
        if (i >= twin->n_running) return;
        struct twin_request *member = twin->running[i];
        if (member->processed > member->blocks * BLOCK_TOKENS) {
            member->blocks++;
            twin->free_blocks--;
        }
    }
}

static sim_ns twin_iterate(struct twin *twin, sim_ns now)
{
    struct iteration_work work = {0};
    struct iteration_cost cost;
    int admitted = twin_admit(twin, now), first = admitted > 0 ? twin->n_running - admitted : 0;
    if (admitted == 0) twin_make_room(twin);
    for (int i = first; i < twin->n_running; i++) {
        double n = twin->running[i]->prompt;
        if (admitted > 0) {
            work.prefill_sequences++;
            work.prefill_tokens += twin->running[i]->prompt;
            work.prefill_pairs += n * n;
        } else {
            work.decode_sequences++;
            work.decode_context_tokens += twin->running[i]->processed;
            if (twin->running[i]->processed > work.decode_longest_tokens)
                work.decode_longest_tokens = twin->running[i]->processed;
        }
    }
    if (twin->n_running == 0) return now;
    test_cost(NULL, &work, &cost);
    now += llrint(cost.first_s * 1e9);
    for (int i = first; i < twin->n_running; i++) {
        if (admitted > 0) twin->running[i]->processed = twin->running[i]->prompt;
        twin_token(twin, twin->running[i], now);
    }
    twin_drop_finished(twin);
    return now;
}

static void twin_take_arrivals(struct twin *twin, sim_ns now)
{
    while (twin->n_arrived < twin->load->n && twin->load->specs[twin->n_arrived].arrival_ns <= now)
        twin->waiting[twin->n_waiting++] = &twin->all[twin->n_arrived++];
}

static void run_twin(const struct load *load, struct outcome *outcomes)
{
    struct twin *twin = calloc(1, sizeof *twin);
    twin->load = load;
    twin->outcomes = outcomes;
    twin->free_blocks = load->blocks;
    for (int i = 0; i < load->n; i++) {
        twin->all[i] = (struct twin_request){.id = i, .prompt = load->specs[i].prompt, .rest = load->specs[i].output};
        outcomes[i] = (struct outcome){TIME_UNSET, TIME_UNSET, TIME_UNSET, 0, 0, 0, false};
    }
    sim_ns now = 0;
    while (twin->n_arrived < load->n || twin->n_waiting > 0 || twin->n_running > 0) {
        if (twin->n_waiting == 0 && twin->n_running == 0 && load->specs[twin->n_arrived].arrival_ns > now)
            now = load->specs[twin->n_arrived].arrival_ns;
        twin_take_arrivals(twin, now);
        now = twin_iterate(twin, now);
    }
    CHECK_EQ_INT(twin->free_blocks, load->blocks);
    free(twin);
}

/* --- Random loads --- */

/* Every other cache is hardly larger than a request, and its budget smaller than some. */
static void make_load(struct load *load, uint64_t seed)
{
    struct rng rng = test_rng(seed, "replica test", 0);
    bool tiny = seed % 2;
    load->n = 1 + (int)rng_below(&rng, MAX_REQUESTS - 1);
    load->blocks = tiny ? 46 + (int64_t)rng_below(&rng, 30) : 60 + (int64_t)rng_below(&rng, 200);
    load->max_sequences = 1 + (int64_t)rng_below(&rng, 40);
    load->budget = tiny ? 100 + (int64_t)rng_below(&rng, 200) : 200 + (int64_t)rng_below(&rng, 600);
    load->watermark = rng_below(&rng, 2) ? rng_uniform(&rng) * 0.4 : 0;
    load->padded = rng_below(&rng, 2);
    double gap_ms = rng_uniform(&rng) * 200;
    sim_ns now = 0;
    for (int i = 0; i < load->n; i++) {
        bool together = rng_below(&rng, 8) == 0;
        if (!together) now += (sim_ns)(rng_exponential(&rng, gap_ms) * 1e6);
        load->specs[i] = (struct spec){now, 1 + (int32_t)rng_below(&rng, 120), 1 + (int32_t)rng_below(&rng, 60)};
    }
}

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->scheduled_ns == b->scheduled_ns && a->first_ns == b->first_ns && a->end_ns == b->end_ns &&
           a->max_gap_ns == b->max_gap_ns && a->gap_from_ns == b->gap_from_ns && a->preemptions == b->preemptions &&
           a->rejected == b->rejected;
}

static void check_equal(const struct load *load, const struct outcome *a, const struct outcome *b, uint64_t seed)
{
    for (int i = 0; i < load->n; i++) {
        if (same_outcome(&a[i], &b[i])) continue;
        char text[300];
        snprintf(
            text, sizeof text,
            "seed %d request %d: scheduled %lld/%lld first %lld/%lld end %lld/%lld gap %lld/%lld from %lld/%lld preempted %d/%d",
            (int)seed, i, (long long)a[i].scheduled_ns, (long long)b[i].scheduled_ns, (long long)a[i].first_ns,
            (long long)b[i].first_ns, (long long)a[i].end_ns, (long long)b[i].end_ns, (long long)a[i].max_gap_ns,
            (long long)b[i].max_gap_ns, (long long)a[i].gap_from_ns, (long long)b[i].gap_from_ns, a[i].preemptions,
            b[i].preemptions);
        test_check(false, text, __FILE__, __LINE__);
        return;
    }
}

TEST(replica_equals_the_naive_twin)
{
    static struct outcome ours[MAX_REQUESTS], theirs[MAX_REQUESTS];
    int64_t preemptions = 0, rejections = 0;
    for (uint64_t seed = 0; seed < 240; seed++) {
        struct load load;
        struct run_facts facts;
        make_load(&load, seed);
        memset(ours, 0, sizeof ours);
        memset(theirs, 0, sizeof theirs);
        run_bed(&load, false, QUEUE_CALENDAR, ours, &facts);
        run_twin(&load, theirs);
        check_equal(&load, ours, theirs, seed);
        CHECK_EQ_INT(facts.free_blocks, load.blocks);
        preemptions += facts.counts.preemptions;
        for (int i = 0; i < load.n; i++) rejections += theirs[i].rejected;
    }
    CHECK(preemptions > 1000 && rejections > 100); /* the loads do exercise the scarce case */
}

TEST(single_steps_change_nothing)
{
    static struct outcome macro[MAX_REQUESTS], single[MAX_REQUESTS];
    uint64_t macro_events = 0, single_events = 0;
    for (uint64_t seed = 1000; seed < 1100; seed++) {
        struct load load;
        struct run_facts a, b;
        make_load(&load, seed);
        memset(macro, 0, sizeof macro);
        memset(single, 0, sizeof single);
        run_bed(&load, false, QUEUE_CALENDAR, macro, &a);
        run_bed(&load, true, QUEUE_HEAP, single, &b);
        check_equal(&load, macro, single, seed);
        CHECK(memcmp(&a.counts, &b.counts, sizeof a.counts) == 0);
        CHECK_EQ_INT(a.gap_count, b.gap_count);
        CHECK(a.gap_p99 == b.gap_p99);
        macro_events += a.events;
        single_events += b.events;
    }
    CHECK(macro_events * 2 < single_events);
}
