/* Sequences that a batcher pauses keep what they have, get no tokens until they go on, and rows say when. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char scenario[] =
    "{'cluster': {'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'llama-2-7b', 'replicas': 2, 'cost': 'roofline',"
    "'kv': {'blocks': 4000, 'block_tokens': 16}, 'pipeline_parallel': %d, 'batching': 'turns', 'trace': {"
    "'format': 'generate', 'count': 200, 'max_total_tokens': 1000, 'arrival': {'process': 'poisson', 'rate': '20/s'}}}},"
    "'keep': 'decisions'}";

enum { AT_ONCE = 6, ITERATIONS = 5, SPARE_BLOCKS = 200 };

/* Everybody has a turn: after every few iterations the longest paused goes on and the youngest is paused. */
static int take_turns(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    int64_t free_blocks = view->free_blocks, n = replica_view_running(view);
    for (const struct request_view *r = view->waiting; r != NULL && n < AT_ONCE && !batch_plan_full(plan);
         r = r->next) {
        free_blocks -= blocks_for_tokens(view, r->prompt_tokens);
        if (free_blocks < SPARE_BLOCKS) break; /* for the growth of those at once: they need not be evicted */
        batch_plan_prefill(plan, r, r->prompt_tokens);
        n++;
    }
    if (plan->n_prefills > 0) return 0;
    if (view->n_paused > 0) batch_plan_resume(plan, view->paused, false);
    if (view->n_decoding > 1) batch_plan_pause(plan, view->youngest_decoding);
    plan->decode = view->n_decoding + view->n_paused > 0;
    plan->iterations = ITERATIONS;
    plan->recheck_on_arrival = true;
    return 0;
}

static const struct batcher turns = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher), .family = POLICY_BATCHING, .name = "turns",
               .summary = "the youngest pauses, the longest paused goes on", .source = "a test"},
    .compose = take_turns};

static struct bed_rows *run(int stages, struct bed_options options)
{
    options.policy = &turns.policy;
    return bed_run(&options, scenario, stages);
}

TEST(stepping_and_queues_change_nothing)
{
    for (int stages = 1; stages <= 2; stages++) {
        struct bed_rows *macro = run(stages, (struct bed_options){.check = true});
        struct bed_rows *single = run(stages, (struct bed_options){.single_step = true, .queue = QUEUE_HEAP, .check = true});
        CHECK_EQ_INT(macro->code, 0);
        CHECK(bed_equal(macro, single));
        CHECK_EQ_INT(bed_metric(macro, "request.finished"), 200);
        CHECK(bed_decisions(macro, "pause", -1) > 200);
    }
}

/* Pauses and their ends take turns, none is left open, and the longest is no longer than the longest gap between two
 * tokens. Returns how long it was. */
static double check_pauses(const struct bed_rows *rows, const struct request_row *request)
{
    double paused_s = (double)NAN, longest_s = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *row = &rows->decisions[i];
        if (row->subject != request->id) continue;
        if (strcmp(row->action, "pause") == 0) {
            CHECK(isnan(paused_s));
            paused_s = row->t_s;
        } else if (strcmp(row->action, "continue") == 0) {
            CHECK(!isnan(paused_s));
            longest_s = fmax(longest_s, row->t_s - paused_s);
            paused_s = (double)NAN;
        }
    }
    CHECK(isnan(paused_s));
    CHECK(longest_s == 0 || longest_s < request->max_gap_s);
    return longest_s;
}

TEST(rows_record_every_pause)
{
    struct bed_rows *rows = run(1, (struct bed_options){0});
    int n_paused = 0;
    for (size_t i = 0; i < rows->n_requests; i++) n_paused += check_pauses(rows, &rows->requests[i]) > 0;
    CHECK(n_paused > 20);
    CHECK_EQ_INT(bed_decisions(rows, "pause", -1), bed_decisions(rows, "continue", -1));
}

TEST(paused_requests_recompute_nothing)
{
    struct bed_rows *rows = run(1, (struct bed_options){0});
    CHECK_EQ_INT(bed_metric(rows, "replica.preemptions.sum"), 0);
    CHECK_EQ_INT(bed_metric(rows, "replica.recomputed_tokens.sum"), 0);
    CHECK_EQ_INT(bed_decisions(rows, "resume", -1) + bed_decisions(rows, "preempt", -1), 0);
}
