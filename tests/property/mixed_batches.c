/* Iterations that mix chunks of prompts with decoding, which no listed batcher asks for yet: a stall-free batcher of the
 * test's own (Sarathi-Serve, Agrawal et al., OSDI 2024, as Vidur has it) must equal Vidur request by request, and on random
 * loads with scarce blocks neither single steps nor the queue may change a bit. */
#include "tests/harness.h"

#include "sim/core/rng.h"
#include "tests/bed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stall_free {
    int64_t chunk_tokens, max_sequences;
    double watermark;
};

#define FIELD(name) offsetof(struct stall_free, name)
static const struct config_field stall_free_fields[] = {
    {.name = "chunk", .kind = CONFIG_INT, .offset = FIELD(chunk_tokens), .value = "512", .help = "tokens"},
    {.name = "max_sequences", .kind = CONFIG_INT, .offset = FIELD(max_sequences), .value = "128", .help = "sequences"},
    {.name = "watermark", .kind = CONFIG_REAL, .offset = FIELD(watermark), .value = "0.01", .help = "share"},
    {0}};
#undef FIELD

static int stall_free_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    *(struct stall_free *)state = *(const struct stall_free *)params;
    return 0;
}

/* Oldest first; the youngest make room. Returns the blocks that are free after the growth of those who stay. */
static int64_t decode_all(const struct replica_view *view, struct batch_plan *plan)
{
    int64_t free_blocks = view->free_blocks;
    const struct request_view *youngest = view->youngest_decoding, *member = view->oldest_decoding;
    for (; member != NULL; member = member == youngest ? NULL : member->next) {
        for (; free_blocks < 1 && youngest != member; youngest = youngest->prev) {
            batch_plan_evict(plan, youngest, "no free KV block");
            free_blocks += replica_view_blocks(view, youngest);
        }
        if (free_blocks < 1) {
            batch_plan_evict(plan, member, "no free KV block");
            free_blocks += replica_view_blocks(view, member);
            break;
        }
        free_blocks -= replica_view_grows(view, member);
    }
    plan->decode = view->n_decoding > plan->n_evictions;
    return free_blocks;
}

static int32_t chunk(const struct request_view *request, int64_t room)
{
    int64_t left = request->prompt_tokens - request->prefilled_tokens;
    return (int32_t)(left < room ? left : room);
}

static int stall_free_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct stall_free *params = state;
    int64_t free_blocks = decode_all(view, plan), watermark = (int64_t)(params->watermark * (double)view->total_blocks);
    int64_t room = params->chunk_tokens - (view->n_decoding - plan->n_evictions);
    int64_t present = view->n_decoding - plan->n_evictions + view->n_prefilling;
    for (const struct request_view *r = view->prefilling; r != NULL && room > 0 && !batch_plan_full(plan);
         r = r->next) {
        batch_plan_prefill(plan, r, chunk(r, room));
        room -= chunk(r, room);
    }
    for (const struct request_view *r = view->waiting; r != NULL && room > 0 && !batch_plan_full(plan); r = r->next) {
        int64_t blocks = blocks_for_tokens(view, r->prompt_tokens);
        if (present++ >= params->max_sequences || free_blocks - blocks < watermark) break;
        free_blocks -= blocks;
        batch_plan_prefill(plan, r, chunk(r, room));
        room -= chunk(r, room);
    }
    plan->keep_free_blocks = 1;
    plan->recheck_on_arrival = true;
    if (plan->n_evictions > 0) plan->iterations = 1;
    return 0;
}

static const struct batcher stall_free = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher), .family = POLICY_BATCHING, .name = "stall-free",
               .summary = "", .source = "", .params = stall_free_fields, .params_bytes = sizeof(struct stall_free),
               .state_bytes = sizeof(struct stall_free), .init = stall_free_init},
    .compose = stall_free_compose};

static const char scenario[] =
    "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 1, \"gpu\": \"a100-80-sxm\"},"
    " \"services\": {\"peer\": {\"llm\": \"llama-2-7b\", \"kv\": {\"blocks\": 7424}, \"batching\": \"stall-free\","
    " \"cost\": {\"kind\": \"affine\","
    " \"prefill\": {\"fixed\": \"5ms\", \"per_token\": \"50us\", \"per_sequence\": \"20us\", \"per_pair\": \"2ns\"},"
    " \"decode\": {\"fixed\": \"5ms\", \"per_token\": \"50us\", \"per_sequence\": \"20us\", \"per_context_token\": \"100ns\"}},"
    " \"trace\": {\"format\": \"csv\", \"path\": \"%s\", \"columns\": {\"arrival\": \"arrived_at\","
    " \"prompt\": \"num_prefill_tokens\", \"output\": \"num_decode_tokens\"}}}}}";

static struct bed_rows *run(const char *path, struct bed_options options)
{
    char text[2048];
    snprintf(text, sizeof text, scenario, path);
    options.policy = &stall_free.policy;
    return bed_run(text, &options);
}

static void equals_vidur_sarathi(void)
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
    bed_free(rows);
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

static void every_mode_gives_the_same_bytes(void)
{
    double preemptions = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        char path[512], sets[5][96];
        struct rng rng;
        rng_init(&rng, seed, 0, "mixed batches", 0);
        snprintf(path, sizeof path, "%s/trace.csv", test_tmpdir());
        double last_s = write_trace(path, &rng), until_s = last_s * rng_uniform(&rng) + 0.001;
        snprintf(sets[0], sizeof *sets, "services.peer.kv.blocks=%d", 60 + (int)rng_below(&rng, 200));
        snprintf(sets[1], sizeof *sets, "services.peer.batching.chunk=%d", 16 + (int)rng_below(&rng, 300));
        snprintf(sets[2], sizeof *sets, "services.peer.batching.max_sequences=%d", 1 + (int)rng_below(&rng, 60));
        snprintf(sets[3], sizeof *sets, "services.peer.batching.watermark=%g", rng_uniform(&rng) * 0.2);
        snprintf(sets[4], sizeof *sets, "until=%.9fs", seed % 2 ? until_s : 0.0);
        const char *const all[] = {sets[0], sets[1], sets[2], sets[3], sets[4], NULL};
        struct bed_rows *macro = run(path, (struct bed_options){.sets = all, .check = true});
        struct bed_rows *single = run(path, (struct bed_options){.sets = all, .single_step = true, .queue = QUEUE_HEAP});
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
        check_gaps(macro);
        preemptions += bed_metric(macro, "replica.preemptions.sum");
        bed_free(macro);
        bed_free(single);
    }
    CHECK(preemptions > 100); /* the loads do exercise the scarce case */
}

TEST_SUITE(mixed_batches)
{
    TEST(equals_vidur_sarathi);
    TEST(every_mode_gives_the_same_bytes);
}
