/* What particular batching and routing policies do in scenarios of the conformance suite, which conformance.c runs for
 * all. */
#include "sim/study/conform_cases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* A scenario of the conformance suite with these policies. */
static struct bed_rows *run(const struct conform_case *wanted, const char *batching, const char *routing,
                            const struct bed_options *options)
{
    SCOPED(text) scenario = {0};
    conform_case_json(wanted, POLICY_BATCHING, batching, routing, &scenario);
    return bed_run(options, "%s", scenario.chars);
}

static struct bed_rows *run_with(const char *name, const char *routing, const struct bed_options *options)
{
    size_t n, i = 0;
    const struct conform_case *cases = conform_cases(POLICY_BATCHING, &n);
    while (i + 1 < n && strcmp(cases[i].name, name) != 0) i++;
    CHECK_EQ_STR(cases[i].name, name);
    return run(&cases[i], "vllm-v0", routing, options);
}

static struct bed_rows *run_named(const char *name, const char *routing)
{
    return run_with(name, routing, NULL);
}

TEST(scarce_blocks_do_preempt)
{
    struct bed_rows *rows = run_named("scarce blocks", "round-robin");
    CHECK(bed_metric(rows, "request.preemptions.sum") > 10);
    CHECK((double)rows->n_decisions >= bed_metric(rows, "request.preemptions.sum"));
}

TEST(what_never_fits_is_rejected)
{
    struct bed_rows *rows = run_named("some never fit", "round-robin");
    double rejected = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        bool was_rejected = strcmp(row->status, "rejected") == 0;
        if (!was_rejected) CHECK((row->prompt_tokens + row->output_tokens - 1 + 15) / 16 <= 30);
        rejected += was_rejected;
    }
    CHECK(rejected > 0);
    CHECK_EQ_INT(bed_metric(rows, "request.rejected"), rejected);
    CHECK(rows->n_warnings >= 1);
}

static void check_decision(const struct bed_decision *decision, const char *policy, const char *action,
                           const char *reason)
{
    CHECK_EQ_STR(decision->service, "chat");
    CHECK_EQ_STR(decision->policy, policy);
    CHECK_EQ_STR(decision->action, action);
    CHECK_EQ_STR(decision->reason, reason);
}

TEST(decisions_explain_themselves)
{
    struct bed_rows *rows = run_named("one request", "round-robin");
    CHECK_EQ_INT(rows->n_decisions, 3);
    check_decision(&rows->decisions[0], "round-robin", "route",
                   "to replica 0 of chat: 0 unfinished there, 0 of them waiting");
    check_decision(&rows->decisions[1], "vllm-v0", "admit",
                   "replica 0 of chat: prefills 100 of 100 tokens, takes 7 of 1000 free KV blocks, 0 decoding");
    check_decision(&rows->decisions[2], "services.chat", "finish",
                   "replica 0: 5 tokens generated; 1000 of 1000 KV blocks free now");
    CHECK(rows->decisions[1].t_s == rows->requests[0].queue_s);
    CHECK(rows->decisions[2].t_s == rows->requests[0].e2e_s);
}

/* Asking what every request meets with changes nothing else. */
TEST(details_change_no_results)
{
    struct bed_rows *asked = run_named("scarce blocks", "round-robin");
    struct bed_rows *quiet = run_with("scarce blocks", "round-robin", &(struct bed_options){.no_detail = true});
    CHECK_EQ_INT(quiet->n_decisions, bed_decisions(asked, "preempt", -1));
    CHECK_EQ_INT(bed_decisions(quiet, "preempt", -1), quiet->n_decisions);
    CHECK_EQ_INT(asked->n_requests, quiet->n_requests);
    CHECK(memcmp(asked->requests, quiet->requests, asked->n_requests * sizeof *asked->requests) == 0);
    CHECK(memcmp(asked->metrics, quiet->metrics, asked->n_metrics * sizeof *asked->metrics) == 0);
}

TEST(round_robin_is_even)
{
    struct bed_rows *rows = run_named("all at once", "round-robin");
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_INT(rows->requests[i].replica, rows->requests[i].id % 3);
}

/* With everything arriving before anything finishes, the fewest outstanding is the round in turn. */
TEST(least_outstanding_fills_evenly)
{
    struct bed_rows *rows = run_named("all at once", "least-outstanding");
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_INT(rows->requests[i].replica, rows->requests[i].id % 3);
}

TEST(an_end_in_the_middle_is_the_same_in_every_mode)
{
    static const char *const sets[] = {"until=2.345s", NULL};
    size_t n;
    const struct conform_case *cases = conform_cases(POLICY_BATCHING, &n);
    for (size_t k = 0; k < n && !cases[k].large; k++) {
        struct bed_rows *macro = run(&cases[k], "vllm-v0", "round-robin", &(struct bed_options){.sets = sets});
        struct bed_rows *single = run(&cases[k], "vllm-v0", "round-robin",
                                      &(struct bed_options){.sets = sets, .single_step = true, .check = true});
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
    }
}
