/* Each plan of the batcher `sglang` against that of a naive composer, on the view that the simulator hands to both. So
 * pipeline stages, pools, cached prefixes, drafts and priorities are judged, which sglang_twin.c leaves out. */
#include "policies/declared.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/naive_sglang.h"

/* --- The batcher, checked --- */

static struct naive_sglang_settings settings;

/* What the runs of a test met with. */
static struct naive_sglang_seen seen;
static int moving, in_flight, late; /* plans */

struct checked {
    _Alignas(16) unsigned char real[1024]; /* state of the batcher itself */
    struct naive_sglang naive;
};

static void check_plan(const struct naive_sglang_plan *naive, const struct batch_plan *plan)
{
    bool same = plan->n_prefills == naive->n_prefills && plan->n_evictions == naive->n_evicted &&
                plan->n_resumptions == naive->n_resumptions && plan->n_pauses + plan->n_rejections == 0 &&
                plan->n_loads == 0;
    for (int i = 0; same && i < naive->n_prefills; i++)
        same = plan->prefills[i].request == naive->prefills[i].request &&
               plan->prefills[i].tokens == naive->prefills[i].tokens &&
               plan->prefills[i].hold_tokens == naive->prefills[i].hold_tokens;
    for (int i = 0; same && i < naive->n_evicted; i++)
        same = plan->evictions[i].request == naive->evicted[i] && plan->evictions[i].kind == EVICT_REQUEUE;
    for (int i = 0; same && i < naive->n_resumptions; i++)
        same = plan->resumptions[i].request == naive->resumptions[i].request &&
               plan->resumptions[i].wait == naive->resumptions[i].wait;
    CHECK(same);
    CHECK_EQ_INT(plan->decode, naive->decode);
    CHECK_EQ_INT(plan->decode_sequences, INT64_MAX);
    CHECK_EQ_INT(plan->keep_free_blocks, 0);
    CHECK_EQ_INT(plan->recheck_on_arrival, naive->recheck);
    CHECK_EQ_INT(plan->iterations, naive->iterations);
    CHECK_EQ_INT(plan->limit, naive->limit);
    CHECK(plan->limited == naive->limited);
}

static int checked_init(void *state, const void *params, struct diag *diag)
{
    struct checked *c = state;
    c->naive.settings = &settings;
    c->naive.seen = &seen;
    c->naive.ratio = new_token_ratio_of(settings.conservativeness);
    if (!CHECK(batching_sglang.policy.state_bytes <= sizeof c->real)) return SIM_E_POLICY;
    return batching_sglang.policy.init(c->real, params, diag);
}

static int checked_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct checked *c = state;
    naive_sglang_compose(&c->naive, view);
    const int code = batching_sglang.compose(c->real, view, plan);
    check_plan(&c->naive.plan, plan);
    naive_sglang_remember(&c->naive);
    moving += view->n_moving > 0;
    in_flight += view->n_in_flight > 0;
    late += c->naive.is_late;
    return code;
}

/* --- Random services --- */

/* IN_STEP: blocks are short and tokens are not, as many prompts fill one page and all sequences grow at one moment;
 * or prompts of few pages preempt others. TINY: prompts of few tokens. PIECES: long prompts are cut in small pieces
 * beside sequences that decode. */
enum mode { ONE_STAGE, STAGES, POOLS, DRAFTS, IN_STEP, TINY, PIECES, N_MODES };

static const char *const modes[] = {
    "", "", /* STAGES: as drawn */
    "'pools': {'prompts': {'role': 'prefill'}, 'tokens': {'role': 'decode'}}, 'kv_transfer': {'start': '%s'},",
    "'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.8, 0.6]},", "", "", ""};

static const char *random_batching(enum mode mode, struct rng *rng)
{
    enum { ORDER_FCFS, ORDER_LPM, ORDER_PRIORITY };
    static const char *const orders[] = {"fcfs", "lpm", "priority"};
    const int order = (int[]){ORDER_FCFS, ORDER_LPM, ORDER_PRIORITY, ORDER_PRIORITY}[rng_below(rng, 4)];
    settings = (struct naive_sglang_settings){
        .max_sequences = rng_below(rng, 4) > 0 ? 2 + (int64_t)rng_below(rng, 10) : 0,
        .chunk = rng_below(rng, 3) > 0 ? 8 + (int64_t)rng_below(rng, 150) : 0,
        .max_prefill = 20 + (int64_t)rng_below(rng, 300),
        .max_tokens = rng_below(rng, 4) > 0 ? 1 + (int64_t)rng_below(rng, rng_below(rng, 4) > 0 ? 80 : 3) : 0,
        .threshold = 5 * (int64_t)rng_below(rng, 3),
        .mixed = rng_below(rng, 2) > 0,
        .overlap = rng_below(rng, 2) > 0,
        .by_prefix = order == ORDER_LPM,
        .by_priority = order == ORDER_PRIORITY};
    if (settings.by_priority) settings.max_sequences = 1 + (int64_t)rng_below(rng, 6); /* slots are short */
    settings.conservativeness = fmax(0, 0.5 * (double)rng_below(rng, 5) - 0.5);
    if (mode == PIECES) {
        settings.mixed = true;
        settings.max_sequences = rng_below(rng, 3) > 0 ? 2 : 12; /* more than tokens of a piece */
        settings.conservativeness = 0;
        settings.chunk = 3 + (int64_t)rng_below(rng, 4);
        settings.max_tokens = 1;
    }
    if (mode == IN_STEP) {
        settings.mixed = settings.mixed || !settings.by_priority;
        settings.max_sequences = settings.by_priority ? 6 + (int64_t)rng_below(rng, 15) : 0;
        settings.chunk = 0;
        settings.max_tokens = 1;
        settings.conservativeness = 0;
    }
    return test_json("'max_sequences': %d, 'chunked_prefill_tokens': %d, 'max_prefill_tokens': %d, 'max_tokens': %d,"
                     " 'conservativeness': %g, 'mixed': %s, 'overlap': %s, 'order': '%s'%s",
                     (int)settings.max_sequences, (int)settings.chunk, (int)settings.max_prefill,
                     (int)settings.max_tokens, settings.conservativeness, settings.mixed ? "true" : "false",
                     settings.overlap ? "true" : "false", orders[order],
                     settings.by_priority ? test_json(", 'preemption_threshold': %d, 'priorities': {'default': 10,"
                                                      " 'batch': 20}",
                                                      (int)settings.threshold)
                                          : "");
}

static const char *random_mode(enum mode mode, struct rng *rng)
{
    if (mode == STAGES) return test_json("'pipeline_parallel': %d,", 2 << rng_below(rng, 2));
    if (mode == POOLS) return test_json(modes[mode], rng_below(rng, 2) > 0 ? "push" : "pull");
    return modes[mode];
}

/* Tokens of the KV cache beyond one sequence, at most. */
static uint64_t spare_below(enum mode mode)
{
    switch (mode) {
    case TINY: return 30;
    case PIECES: return settings.max_sequences > 2 ? 900 : 4;
    case IN_STEP: return 900;
    default: return 300;
    }
}

static void check_mode(enum mode mode, int n_runs)
{
    struct batcher checked = batching_sglang;
    checked.policy.name = "sglang-checked";
    checked.policy.state_bytes = sizeof(struct checked);
    checked.policy.init = checked_init;
    checked.compose = checked_compose;
    checked.most_output_tokens = NULL; /* outputs beyond the limit make blocks short */
    seen = (struct naive_sglang_seen){0};
    moving = in_flight = late = 0;
    for (int seed = 0; seed < n_runs; seed++) {
        struct rng rng = test_rng((uint64_t)seed, "sglang plans", mode);
        const char *batching = random_batching(mode, &rng), *how = random_mode(mode, &rng);
        const int page = mode == IN_STEP ? 4 << rng_below(&rng, 4)
                         : mode == TINY  ? 1
                                         : 1 + (int)rng_below(&rng, 16),
                  prefix_page = page * (1 + (int)rng_below(&rng, mode == TINY ? 1 : 3)),
                  longest = mode == IN_STEP ? page * (settings.by_priority ? 1 + (int)rng_below(&rng, 6) : 1)
                            : mode == TINY  ? 1 + (int)rng_below(&rng, 6)
                                            : 40 + (int)rng_below(&rng, settings.by_priority ? 60 : 200);
        const int output = 1 + (int)rng_below(&rng, mode == TINY ? 20 : 100),
                  spare = (int)rng_below(&rng, 1 + rng_below(&rng, spare_below(mode)));
        const int blocks = (longest + output + spare) / page + 1 + (int)rng_below(&rng, 3);
        const unsigned failures = CU_get_number_of_failures();
        struct bed_rows *rows = bed_ok(
            BED(.check = true, .policy = &checked.policy, .no_batches = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'seed': %d, 'services': {'s': {'llm':"
            " 'llama-2-7b', %s 'kv': {'blocks': %d, 'block_tokens': %d%s}, 'batching': {'policy': 'sglang-checked', %s},"
            " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms', 'per_token': '50us'}, 'decode': {'fixed': '10ms',"
            " 'per_sequence': '1ms'}}, 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson',"
            " 'rate': '%d/s'}, 'prompt': {'distribution': 'uniform', 'min': %d, 'max': %d}, 'output': {'distribution':"
            " 'uniform', 'min': 1, 'max': %d}, %s}}}}",
            seed, how, blocks, page, rng_below(&rng, 2) > 0 ? ", 'prefix_cache': 'lru'" : "", batching,
            mode == IN_STEP ? 200 : 5 + (int)rng_below(&rng, 60),
            mode == IN_STEP && !settings.by_priority ? longest : 1, longest, output,
            settings.by_priority
                ? "'classes': {'interactive': {'share': 1}, 'default': {'share': 1}, 'batch': {'share': 1}}"
                : test_json("'sessions': {'continue': 0.6, 'block_tokens': %d}", prefix_page));
        if (CU_get_number_of_failures() > failures) {
            printf("\n  mode %d, seed %d, %d blocks of %d, %s %s\n", mode, seed, blocks, page, how, batching);
            return;
        }
        bed_free(rows);
    }
}

TEST_SIZED(plans_of_one_stage_are_those_of_the_naive_composer)
{
    check_mode(ONE_STAGE, test_part(80));
    CHECK_WHOLE(seen.cut > 500 && seen.cached > 500 && late > 100 && seen.preempted > 20 && seen.retracted > 30);
}

TEST_SIZED(plans_of_stages_are_those_of_the_naive_composer)
{
    check_mode(STAGES, test_part(45));
    CHECK_WHOLE(in_flight > 10000 && seen.cut > 500 && seen.preempted > 20 && seen.retracted > 30);
}

TEST(plans_of_pools_are_those_of_the_naive_composer)
{
    check_mode(POOLS, 60);
    CHECK(seen.resumed > 1000 && seen.waited > 500 && moving > 0 && seen.retracted > 100);
}

TEST(plans_beside_drafts_are_those_of_the_naive_composer)
{
    check_mode(DRAFTS, 30);
    CHECK(seen.cut > 500 && late > 50);
}

TEST(plans_beside_sequences_in_step_are_those_of_the_naive_composer)
{
    check_mode(IN_STEP, 50);
    CHECK(seen.retracted > 30 && seen.preempted > 30);
}

TEST(plans_of_tiny_prompts_are_those_of_the_naive_composer)
{
    check_mode(TINY, 40);
    CHECK(seen.cached > 100 && seen.retracted > 10);
}

TEST(plans_of_pieces_are_those_of_the_naive_composer)
{
    check_mode(PIECES, 20);
    CHECK(seen.cut > 500 && seen.given_up > 2);
}
