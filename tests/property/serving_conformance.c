/* Every listed batching and routing policy through small services, whatever it decides: requests, tokens and KV blocks are
 * conserved after every event, every request finishes, and neither the queue, nor single steps, nor a second run change a
 * bit of the result. */
#include "tests/harness.h"

#include "policies/registry.h"
#include "tests/bed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct situation {
    const char *name;
    int replicas, blocks;
    const char *trace; /* parameters of the generator */
    bool constant_cost; /* all iterations last alike, so that boundaries of replicas coincide */
};

static const struct situation situations[] = {
    {"one request", 1, 1000,
     "\"count\": 1, \"arrival\": {\"process\": \"fixed\", \"rate\": \"1/s\"},"
     "\"prompt\": {\"distribution\": \"fixed\", \"tokens\": 100}, \"output\": {\"distribution\": \"fixed\", \"tokens\": 5}", false},
    {"one token each", 2, 1000,
     "\"count\": 50, \"arrival\": {\"process\": \"poisson\", \"rate\": \"20/s\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 500}, \"output\": {\"distribution\": \"fixed\", \"tokens\": 1}", false},
    {"all at once", 3, 400,
     "\"count\": 200, \"arrival\": {\"process\": \"fixed\", \"rate\": \"1000000000/s\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 300}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 80}", false},
    {"equal lengths, equal gaps", 2, 200,
     "\"count\": 100, \"arrival\": {\"process\": \"fixed\", \"rate\": \"10/s\"},"
     "\"prompt\": {\"distribution\": \"fixed\", \"tokens\": 64}, \"output\": {\"distribution\": \"fixed\", \"tokens\": 32}", false},
    {"scarce blocks", 2, 60,
     "\"count\": 200, \"arrival\": {\"process\": \"poisson\", \"rate\": \"30/s\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 300}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 300}", false},
    {"some never fit", 1, 30,
     "\"count\": 60, \"arrival\": {\"process\": \"poisson\", \"rate\": \"5/s\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 700}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 100}", false},
    {"long prompts", 2, 4000,
     "\"count\": 60, \"arrival\": {\"process\": \"poisson\", \"rate\": \"3/s\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1000, \"max\": 9000}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 200}", false},
    {"closed loop", 2, 300,
     "\"count\": 120, \"arrival\": {\"process\": \"closed\", \"users\": 8, \"think\": \"200ms\"},"
     "\"prompt\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 300}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 80}", false},
    {"users who do not think, boundaries that coincide", 3, 300,
     "\"count\": 120, \"arrival\": {\"process\": \"closed\", \"users\": 6, \"think\": \"0s\"},"
     "\"prompt\": {\"distribution\": \"fixed\", \"tokens\": 64}, \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 8}", true},
};

static struct bed_rows *run(const struct situation *situation, const char *batching, const char *routing,
                            const struct bed_options *options)
{
    char scenario[2048];
    snprintf(scenario, sizeof scenario,
             "{\"cluster\": {\"nodes\": 1, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"}, \"seed\": 3,"
             " \"services\": {\"chat\": {\"llm\": \"mistral-7b\", \"replicas\": %d, \"kv\": {\"blocks\": %d},"
             " \"cost\": %s, \"batching\": \"%s\", \"routing\": \"%s\", \"trace\": {\"format\": \"generate\", %s}}}}",
             situation->replicas, situation->blocks,
             situation->constant_cost
                 ? "{\"kind\": \"affine\", \"prefill\": {\"fixed\": \"10ms\"}, \"decode\": {\"fixed\": \"10ms\"}}"
                 : "\"operators\"",
             batching, routing, situation->trace);
    return bed_run(scenario, options);
}

/* What must hold of any run to the end. */
static void check_rows(const struct bed_rows *rows)
{
    double prompt_tokens = 0, output_tokens = 0, finished = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        bool done = strcmp(row->status, "finished") == 0;
        CHECK(done || strcmp(row->status, "rejected") == 0);
        CHECK(bed_request(rows, row->id) == row); /* one row per request */
        if (!done) continue;
        finished++;
        prompt_tokens += (double)row->prompt_tokens;
        output_tokens += (double)row->output_tokens;
        CHECK(row->queue_s >= 0 && row->queue_s < row->ttft_s && row->ttft_s <= row->e2e_s);
        CHECK(row->output_tokens == 1 ? row->e2e_s == row->ttft_s : row->e2e_s > row->ttft_s);
        CHECK(row->output_tokens == 1 || row->tpot_s <= row->max_gap_s + 1e-9);
        CHECK(row->output_tokens == 1 || row->max_gap_s <= row->e2e_s - row->ttft_s + 1e-9);
    }
    CHECK_EQ_INT(rows->n_token_gaps, output_tokens - finished); /* as many gaps as tokens after the first */
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), finished);
    CHECK_EQ_INT(bed_metric(rows, "request.arrived"), rows->n_requests);
    CHECK_EQ_INT(bed_metric(rows, "request.prompt_tokens.sum"), prompt_tokens);
    CHECK_EQ_INT(bed_metric(rows, "request.output_tokens.sum"), output_tokens);
}

/* Every request is routed once, unless it is too long for the service; whoever finishes was admitted once, resumed as often
 * as it was preempted, and finished once, in this order; the decisions come in the order of time. */
static void check_decisions(const struct bed_rows *rows)
{
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        size_t n_routed = bed_decisions(rows, "route", row->id), n_rejected = bed_decisions(rows, "reject", row->id);
        CHECK_EQ_INT(n_routed, row->replica >= 0);
        CHECK_EQ_INT(bed_decisions(rows, "preempt", row->id), row->preemptions);
        CHECK_EQ_INT(n_rejected, strcmp(row->status, "rejected") == 0);
        if (strcmp(row->status, "finished") != 0) continue;
        CHECK_EQ_INT(bed_decisions(rows, "admit", row->id), 1);
        CHECK_EQ_INT(bed_decisions(rows, "resume", row->id), row->preemptions);
        CHECK_EQ_INT(bed_decisions(rows, "finish", row->id), 1);
    }
    for (size_t i = 1; i < rows->n_decisions; i++) CHECK(rows->decisions[i - 1].t_s <= rows->decisions[i].t_s);
}

static void check_situation(const struct situation *situation, const char *batching, const char *routing)
{
    struct bed_rows *first = run(situation, batching, routing, &(struct bed_options){.check = true});
    struct bed_rows *again = run(situation, batching, routing, NULL);
    struct bed_rows *heap = run(situation, batching, routing, &(struct bed_options){.queue = QUEUE_HEAP});
    struct bed_rows *single = run(situation, batching, routing, &(struct bed_options){.single_step = true});
    check_rows(first);
    check_decisions(first);
    bool equal = bed_equal(first, again) && bed_equal(first, heap) && bed_equal(first, single);
    if (!equal) printf("\n  differs: %s, %s, %s", situation->name, batching, routing);
    CHECK(equal);
    bed_free(first);
    bed_free(again);
    bed_free(heap);
    bed_free(single);
}

static void every_policy_in_every_situation(void)
{
    struct policy_table table = policy_registry();
    size_t n = sizeof situations / sizeof *situations, n_policies = 0;
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        for (size_t k = 0; k < n; k++) {
            if (policy->family == POLICY_BATCHING) check_situation(&situations[k], policy->name, "round-robin");
            if (policy->family == POLICY_ROUTING) check_situation(&situations[k], "vllm-v0", policy->name);
        }
        n_policies += policy->family == POLICY_BATCHING || policy->family == POLICY_ROUTING;
    }
    CHECK(n_policies >= 3);
}

static void scarce_blocks_do_preempt(void)
{
    struct bed_rows *rows = run(&situations[4], "vllm-v0", "round-robin", NULL);
    CHECK(bed_metric(rows, "request.preemptions.sum") > 10);
    CHECK((double)rows->n_decisions >= bed_metric(rows, "request.preemptions.sum"));
    bed_free(rows);
}

static void what_never_fits_is_rejected(void)
{
    struct bed_rows *rows = run(&situations[5], "vllm-v0", "round-robin", NULL);
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
    bed_free(rows);
}

static void check_decision(const struct bed_decision *decision, const char *policy, const char *action,
                           const char *reason)
{
    CHECK_EQ_STR(decision->policy, policy);
    CHECK_EQ_STR(decision->action, action);
    CHECK_EQ_STR(decision->reason, reason);
}

static void decisions_explain_themselves(void)
{
    struct bed_rows *rows = run(&situations[0], "vllm-v0", "round-robin", NULL);
    CHECK_EQ_INT(rows->n_decisions, 3);
    check_decision(&rows->decisions[0], "round-robin", "route",
                   "to replica 0 of chat: 0 unfinished there, 0 of them waiting");
    check_decision(&rows->decisions[1], "vllm-v0", "admit",
                   "replica 0 of chat: prefills 100 of 100 tokens, takes 7 of 1000 free KV blocks, 0 decoding");
    check_decision(&rows->decisions[2], "services.chat", "finish",
                   "replica 0: 5 tokens generated; 1000 of 1000 KV blocks free now");
    CHECK(rows->decisions[1].t_s == rows->requests[0].queue_s);
    CHECK(rows->decisions[2].t_s == rows->requests[0].e2e_s);
    bed_free(rows);
}

/* Asking what every request meets with changes nothing else. */
static void nobody_has_to_ask(void)
{
    struct bed_rows *asked = run(&situations[4], "vllm-v0", "round-robin", NULL);
    struct bed_rows *quiet = run(&situations[4], "vllm-v0", "round-robin", &(struct bed_options){.no_detail = true});
    CHECK_EQ_INT(quiet->n_decisions, bed_decisions(asked, "preempt", -1));
    CHECK_EQ_INT(bed_decisions(quiet, "preempt", -1), quiet->n_decisions);
    CHECK_EQ_INT(asked->n_requests, quiet->n_requests);
    CHECK(memcmp(asked->requests, quiet->requests, asked->n_requests * sizeof *asked->requests) == 0);
    CHECK(memcmp(asked->metrics, quiet->metrics, asked->n_metrics * sizeof *asked->metrics) == 0);
    bed_free(asked);
    bed_free(quiet);
}

static void round_robin_is_even(void)
{
    struct bed_rows *rows = run(&situations[2], "vllm-v0", "round-robin", NULL);
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_INT(rows->requests[i].replica, rows->requests[i].id % 3);
    bed_free(rows);
}

/* With everything arriving before anything finishes, the fewest outstanding is the round in turn. */
static void least_outstanding_fills_evenly(void)
{
    struct bed_rows *rows = run(&situations[2], "vllm-v0", "least-outstanding", NULL);
    for (size_t i = 0; i < rows->n_requests; i++) CHECK_EQ_INT(rows->requests[i].replica, rows->requests[i].id % 3);
    bed_free(rows);
}

static void an_end_in_the_middle_is_the_same_in_every_mode(void)
{
    static const char *const sets[] = {"until=2.345s", NULL};
    for (size_t k = 0; k < sizeof situations / sizeof *situations; k++) {
        struct bed_rows *macro = run(&situations[k], "vllm-v0", "round-robin", &(struct bed_options){.sets = sets});
        struct bed_rows *single = run(&situations[k], "vllm-v0", "round-robin",
                                      &(struct bed_options){.sets = sets, .single_step = true, .check = true});
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
        bed_free(macro);
        bed_free(single);
    }
}

TEST_SUITE(serving_conformance)
{
    TEST(every_policy_in_every_situation);
    TEST(scarce_blocks_do_preempt);
    TEST(what_never_fits_is_rejected);
    TEST(decisions_explain_themselves);
    TEST(nobody_has_to_ask);
    TEST(round_robin_is_even);
    TEST(least_outstanding_fills_evenly);
    TEST(an_end_in_the_middle_is_the_same_in_every_mode);
}
