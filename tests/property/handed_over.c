/* Who may be handed requests whose prompt was processed elsewhere, what that takes, and what the end of a run makes of
 * those who are still there. */
#include "sim/world/service/slo.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char pools[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'seed': 3,"
    " 'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'blocks': 400}, 'pools': {'prompts': {'role': 'prefill'},"
    " 'tokens': {'role': 'decode'}}, 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson',"
    " 'rate': '4/s'}, 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 3000},"
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 200}}}}}";

static struct bed_rows *run(const char *set, const char *set_too, bool single_step)
{
    const char *const sets[] = {set, set_too, NULL};
    return bed_run(BED(.sets = sets, .single_step = single_step, .check = true, .quiet = true), "%s", pools);
}

static size_t finished(const struct bed_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_requests; i++) n += strcmp(rows->requests[i].status, "finished") == 0;
    return n;
}

/* --- Who takes them --- */

TEST(every_batcher_that_says_so_takes_them)
{
    static const char *const decode[] = {
        "services.chat.pools.tokens.batching=vllm-v0",
        "services.chat.pools.tokens.batching=vllm-v1",
        "services.chat.pools.tokens.batching=sarathi",
        "services.chat.pools.tokens.batching=splitwise",
        "services.chat.pools.tokens.batching={'policy': 'trtllm', 'max_tokens': 200}",
        "services.chat.pools.tokens.batching={'policy': 'trtllm', 'limits': 'exact', 'max_sequences': 2}",
        "services.chat.pools.tokens.batching={'policy': 'trtllm', 'capacity': 'max-utilization'}",
        "services.chat.pools.tokens.batching={'policy': 'trtllm', 'capacity': 'static-batch', 'max_tokens': 200}"};
    static const char *const routing[] = {"services.chat.routing=round-robin", "services.chat.routing=splitwise"};
    for (size_t i = 0; i < sizeof decode / sizeof *decode; i++)
        for (size_t k = 0; k < 2; k++) {
            struct bed_rows *rows = run(decode[i], routing[k], false), *single = run(decode[i], routing[k], true);
            CHECK_EQ_INT(rows->code, 0);
            CHECK_EQ_INT(finished(rows), 60);
            CHECK(bed_metric(rows, "request.kv_transfer_bytes.sum") > 0);
            CHECK(bed_equal(rows, single));
        }
}

/* 4160 tokens hold one request of the longest. Reservations make the others wait, single blocks preempt. */
TEST(reservations_of_those_handed_over_last_to_their_end)
{
    static const char tight[] = "services.chat.pools.tokens={'role': 'decode', 'kv': {'blocks': 260}, 'batching': %s}";
    static const char *const roomy = "services.chat.pools.prompts.kv={'blocks': 6000}";
    static const char *const reserving[] = {
        "{'policy': 'trtllm', 'limits': 'exact'}", "{'policy': 'trtllm', 'max_tokens': 200}",
        "{'policy': 'trtllm', 'max_tokens': 50}", /* a longer output goes on */
        "{'policy': 'trtllm', 'limits': 'exact', 'capacity': 'static-batch'}"};
    for (size_t i = 0; i < sizeof reserving / sizeof *reserving; i++) {
        const char *set = test_json(tight, reserving[i]);
        struct bed_rows *rows = run(set, roomy, false);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(finished(rows), 60);
        CHECK(bed_metric(rows, "request.preemptions.sum") == 0);
        CHECK(bed_equal(rows, run(set, roomy, true)));
    }
    struct bed_rows *taking = run(test_json(tight, "{'policy': 'trtllm', 'capacity': 'max-utilization'}"), roomy,
                                  false);
    CHECK_EQ_INT(finished(taking), 60);
    CHECK(bed_metric(taking, "request.preemptions.sum") > 0);
}

TEST(the_others_are_refused_before_the_run)
{
    static const char *const sets[][2] = {
        {"services.chat.pools.tokens.batching=orca", "services.chat.pools.tokens.batching: error"},
        {"services.chat.pools.tokens.batching=fastertransformer", "services.chat.pools.tokens.batching: error"},
        {"services.chat.pools.tokens={'batching': 'orca'}", "services.chat.pools.tokens: error"}};
    for (size_t i = 0; i < 3; i++) {
        struct bed_rows *rows = run(sets[i][0], NULL, false);
        char told[2048];
        diag_format(&rows->diag.items[0], told, sizeof told);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(strstr(told, "takes no requests whose prompt was processed elsewhere, which pool 'tokens'") != NULL);
        CHECK(strstr(told, "vllm-v0") != NULL);
        CHECK(strstr(told, sets[i][1]) != NULL);
        CHECK_EQ_INT(rows->n_requests, 0);
    }
}

/* --- Reservations where another replica decodes --- */

TEST(no_slots_are_reserved_for_output_elsewhere)
{
    static const char *const prompts[] = {
        "services.chat.pools.prompts.batching=orca",
        "services.chat.pools.prompts.batching={'policy': 'orca', 'buddy': true}",
        "services.chat.pools.prompts.batching=fastertransformer"};
    for (size_t i = 0; i < 3; i++) { /* 190 blocks hold every prompt, but no longest sequence */
        struct bed_rows *rows = run(prompts[i], "services.chat.pools.prompts.kv={'blocks': 190}", false);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(finished(rows), 60);
    }
}

/* --- A pool's own stages --- */

TEST(pools_have_stages_of_their_own)
{
    const char *tokens = "services.chat.pools.tokens={'role': 'decode', 'pipeline_parallel': 2}";
    struct bed_rows *both = run("services.chat.pipeline_parallel=2", NULL, false);
    struct bed_rows *one = run(tokens, NULL, false);
    struct bed_rows *same = run(tokens, "services.chat.pools.prompts.pipeline_parallel=2", false);
    struct bed_rows *none = run("services.chat.pools.prompts.pipeline_parallel=1", NULL, false);
    CHECK_EQ_INT(both->code, 0);
    CHECK(bed_equal(both, same));
    CHECK_EQ_INT(one->code, 0);
    CHECK(!bed_equal(one, both));
    CHECK(!bed_equal(one, none));
}

/* --- Requests that nobody takes --- */

static int prompts_only(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    for (const struct request_view *r = view->waiting; r != NULL && !batch_plan_full(plan); r = r->next)
        if (blocks_for_tokens(view, r->prompt_tokens) <= view->free_blocks && plan->n_prefills == 0)
            batch_plan_prefill(plan, r, r->prompt_tokens);
    plan->decode = view->n_decoding > 0;
    return 0;
}

static const struct batcher keeps_nobody = {.policy = {.abi = POLICY_ABI,
                                                       .size = sizeof(struct batcher),
                                                       .family = POLICY_BATCHING,
                                                       .name = "keeps-nobody",
                                                       .summary = "says that it takes what is handed over, and does not",
                                                       .source = "-"},
                                            .compose = prompts_only,
                                            .accepts_remote = true};

TEST(reports_do_not_go_on_for_ever)
{
    static const char *const sets[] = {"services.chat.pools.tokens.batching=keeps-nobody",
                                       "services.chat.information_delay=1ms", "services.chat.trace.count=3", NULL};
    struct bed_rows *rows = bed_run(BED(.sets = sets, .policy = &keeps_nobody.policy, .quiet = true), "%s", pools);
    char told[2048];
    diag_format(&rows->diag.items[rows->diag.n_items - 1], told, sizeof told);
    CHECK(rows->code != 0);
    CHECK(strstr(told, "wait forever") != NULL);
    CHECK(rows->engine.fired < 5000);
}

/* --- Limits that were missed before the end --- */

TEST(missed_limits_count_before_the_end)
{
    const double limits_s[SLO_LIMITS] = {[SLO_TTFT] = 1, [SLO_TPOT] = 0.1, [SLO_E2E] = (double)NAN, [SLO_MAX_GAP] = 2};
    const double unset_s[SLO_LIMITS] = {(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    const double in_time[] = {0.5, 0.05, 100, 0.2}, late_first[] = {1.5, (double)NAN, 100, (double)NAN},
                 slow[] = {0.5, 0.2, 100, 0.2};
    struct slo_counts counts = {0};
    slo_count_unfinished(&counts, limits_s, in_time, true);
    CHECK_EQ_INT(counts.requests, 0); /* it might have kept all */
    slo_count_unfinished(&counts, limits_s, late_first, false);
    CHECK_EQ_INT(counts.requests, 1);
    CHECK_EQ_INT(counts.limited[SLO_TTFT], 1);
    CHECK_EQ_INT(counts.kept[SLO_TTFT], 0);
    CHECK_EQ_INT(counts.limited[SLO_TPOT] + counts.limited[SLO_E2E] + counts.limited[SLO_MAX_GAP], 0);
    slo_count_unfinished(&counts, limits_s, slow, true);
    CHECK_EQ_INT(counts.requests, 2);
    CHECK_EQ_INT(counts.limited[SLO_TTFT], 2);
    CHECK_EQ_INT(counts.kept[SLO_TTFT], 1);
    CHECK_EQ_INT(counts.limited[SLO_TPOT], 1);
    CHECK_EQ_INT(counts.kept[SLO_TPOT], 0);
    CHECK_EQ_INT(counts.limited[SLO_MAX_GAP] + counts.attained, 0);
    slo_count_unfinished(&counts, unset_s, slow, true);
    CHECK_EQ_INT(counts.requests, 2);
}

/* Attainment from the rows of an overloaded service that is cut off. */
TEST(overload_is_not_hidden_by_the_end)
{
    static const char site[] =
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'until': '10s',"
        " 'services': {'chat': {'llm': 'llama-2-7b', 'slo': {'ttft': '1s'}, 'trace': {'format': 'generate',"
        " 'count': 10000, 'arrival': {'process': 'poisson', 'rate': '60/s'}, 'prompt': {'distribution': 'fixed',"
        " 'tokens': 1500}, 'output': {'distribution': 'fixed', 'tokens': 30}}}}}";
    struct bed_rows *rows = bed_run(BED(.check = true), "%s", site);
    double decided = 0, attained = 0, unfinished = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        const bool ended = strcmp(row->status, "finished") == 0;
        const double ttft_s = isnan(row->ttft_s) ? rows->end_s - row->arrival_s : row->ttft_s;
        unfinished += !ended && ttft_s > 1;
        decided += ended || ttft_s > 1;
        attained += ended && ttft_s <= 1;
    }
    CHECK(unfinished > 100);
    CHECK_NEAR(bed_metric(rows, "slo.attained_frac"), attained / decided, 1e-12);
}
