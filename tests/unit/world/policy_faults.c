/* Policies that ask for the impossible: the run ends with SIM_E_POLICY (or SIM_E_STALLED) and a finding that names the
 * policy, the action and why it cannot be. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const char scenario[] =
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b',"
    " 'replicas': 2, 'kv': {'blocks': 20}, 'batching': '%s', 'routing': '%s', 'trace': {'format': 'generate',"
    " 'count': 10, 'arrival': {'process': 'fixed', 'rate': '1000000000/s'}, 'prompt': {'distribution': 'fixed',"
    " 'tokens': 64}, 'output': {'distribution': 'fixed', 'tokens': 40}}}}}";

static void check_fault(const struct policy *policy, int code, const char *text)
{
    bool batching = policy->family == POLICY_BATCHING;
    struct bed_rows *rows = bed_run(BED(.policy = policy, .quiet = true), scenario, batching ? policy->name : "vllm-v0",
                                    batching ? "round-robin" : policy->name);
    CHECK_EQ_INT(rows->code, code);
    if (CHECK(rows->diag.n_errors > 0)) {
        const char *found = rows->diag.items[0].text;
        if (strstr(found, text) == NULL) CHECK_EQ_STR(found, text);
    }
}

/* --- Batchers --- */

static const struct batcher faulty_batcher = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher), .family = POLICY_BATCHING, .name = "faulty",
               .summary = "", .source = ""}};

static void check_batcher(int (*compose)(void *, const struct replica_view *, struct batch_plan *), int code,
                          const char *text)
{
    struct batcher batcher = faulty_batcher;
    batcher.compose = compose;
    check_fault(&batcher.policy, code, text);
}

static int admits_no_request(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    (void)view;
    (void)plan;
    return 0;
}

static int names_one_twice(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill(plan, view->waiting, 1);
    batch_plan_prefill(plan, view->waiting, 1);
    return 0;
}

static int prefills_nothing(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill(plan, view->waiting, 0);
    return 0;
}

static int prefills_too_much(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens + 1);
    return 0;
}

static int admits_all(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next)
        batch_plan_prefill(plan, r, r->prompt_tokens);
    return 0;
}

static int evicts_no_request(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    (void)view;
    batch_plan_evict(plan, NULL, "for fun");
    return 0;
}

/* Of a batcher that takes sequences back, the offloading policy is asked about evictions: only of those that can
 * be. */
TEST(evictions_of_no_request_are_faults)
{
    struct batcher batcher = faulty_batcher;
    batcher.resumes_swapped = true;
    batcher.compose = evicts_no_request;
    check_fault(&batcher.policy, SIM_E_POLICY, "but it is not a request of this replica");
}

static int evicts_who_waits(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_evict(plan, view->waiting, "for fun");
    return 0;
}

static int rejects_who_decodes(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->n_decoding > 0)
        batch_plan_reject(plan, view->oldest_decoding, "for fun");
    else
        batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    return 0;
}

static int stands_for_no_time(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    plan->iterations = 0;
    return 0;
}

static int resumes_who_runs(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->n_decoding > 0)
        batch_plan_resume(plan, view->oldest_decoding, false);
    else
        batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    return 0;
}

TEST(only_requests_that_left_the_batch_return)
{
    check_batcher(resumes_who_runs, SIM_E_POLICY, "it is neither paused nor swapped out");
}

/* Five prompts of 4 blocks fill the cache; the next tokens have no room. */
static int decodes_without_blocks(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    plan->decode = true;
    for (const struct request_view *r = view->waiting; r != NULL && view->n_decoding == 0; r = r->next)
        batch_plan_prefill(plan, r, r->prompt_tokens);
    return 0;
}

static int fails_itself(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    (void)view;
    (void)plan;
    return SIM_E_POLICY;
}

/* Writes far beyond its plan: as many entries as requests wait, without asking whether there is room. */
static int never_asks_for_room(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    for (int i = 0; i < 1000; i++) batch_plan_prefill(plan, view->waiting, 1);
    return 0;
}

static int names_no_request(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    (void)view;
    batch_plan_prefill(plan, NULL, 1);
    return 0;
}

static int keeps_less_than_nothing(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    (void)view;
    plan->keep_free_blocks = -1;
    return 0;
}

static int holds_too_little(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill_holding(plan, view->waiting, 10, 9);
    return 0;
}

static int evicts_what_it_prefills(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->prefilling != NULL) batch_plan_evict(plan, view->prefilling, "for fun");
    batch_plan_prefill(plan, view->prefilling != NULL ? view->prefilling : view->waiting, 1);
    return 0;
}

static int sees_the_future(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_prefill_holding(plan, view->waiting, 1, replica_view_output_tokens(view, view->waiting));
    return 0;
}

static int loads_nothing(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_load(plan, view->waiting);
    return 0;
}

static int loads_who_decodes(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->n_decoding > 0)
        batch_plan_load(plan, view->oldest_decoding);
    else
        batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    return 0;
}

static int loads_beside_an_eviction(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (view->n_decoding > 0) {
        batch_plan_evict(plan, view->oldest_decoding, "for fun");
        batch_plan_load(plan, view->waiting);
    } else {
        batch_plan_prefill(plan, view->waiting, view->waiting->prompt_tokens);
    }
    return 0;
}

static int loads_without_end(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    for (int i = 0; i < 1000; i++) batch_plan_load(plan, view->waiting);
    return 0;
}

TEST(loads_that_cannot_be)
{
    check_batcher(loads_nothing, SIM_E_POLICY, "but it has no stored tokens to wait for");
    check_batcher(loads_who_decodes, SIM_E_POLICY, "but it is not waiting");
    check_batcher(loads_beside_an_eviction, SIM_E_POLICY, "but this plan evicts a request");
    check_batcher(loads_without_end, SIM_E_POLICY, "made a plan of more than");
}

static int names_no_limit(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_limit(plan, view->waiting, (enum batch_limit)N_BATCH_LIMITS);
    return 0;
}

static int names_a_limit_below_all(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    batch_plan_limit(plan, view->waiting, (enum batch_limit) - 1);
    return 0;
}

static const struct request_view *first_seen; /* it waits at replica 0 */

static int is_limited_elsewhere(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    if (first_seen == NULL) first_seen = view->waiting;
    batch_plan_limit(plan, first_seen, BATCH_LIMIT_TOKENS);
    return 0;
}

TEST(limits_that_there_are_not)
{
    check_batcher(names_no_limit, SIM_E_POLICY, "names limit 8 at 0.000000000 s; the last one is 7");
    check_batcher(names_a_limit_below_all, SIM_E_POLICY, "names limit 4294967295 at");
    first_seen = NULL;
    check_batcher(is_limited_elsewhere, SIM_E_POLICY,
                  "asked to end admissions at request 0 on replica 1 at 0.000000001 s, but it is not a request of");
}

TEST(batchers_that_ask_for_the_impossible)
{
    check_batcher(holds_too_little, SIM_E_POLICY, "but it would not hold the KV blocks of these tokens");
    check_batcher(evicts_what_it_prefills, SIM_E_POLICY, "but it has named it already");
    check_batcher(sees_the_future, SIM_E_POLICY,
                  "asked to see the output length of request 0 on replica 0 at 0.000000000 s, but it has not declared");
    check_batcher(never_asks_for_room, SIM_E_POLICY, "made a plan of more than");
    check_batcher(names_no_request, SIM_E_POLICY, "but it is not a request of this replica");
    check_batcher(keeps_less_than_nothing, SIM_E_POLICY, "while -1 blocks stay free");

    check_batcher(
        names_one_twice, SIM_E_POLICY,
        "batching policy 'faulty' asked to prefill request 0 on replica 0 at 0.000000000 s, but it has named it "
        "already");
    check_batcher(prefills_nothing, SIM_E_POLICY, "but its prompt has no such number of tokens left");
    check_batcher(prefills_too_much, SIM_E_POLICY, "but its prompt has no such number of tokens left");
    check_batcher(evicts_who_waits, SIM_E_POLICY,
                  "asked to evict request 0 on replica 0 at 0.000000000 s, but it is neither");
    check_batcher(rejects_who_decodes, SIM_E_POLICY, "but it is not waiting");
    check_batcher(stands_for_no_time, SIM_E_POLICY, "its choice stands for 0 iterations");
    check_batcher(decodes_without_blocks, SIM_E_POLICY, "but there are too few free KV blocks");
}

TEST(a_batcher_that_admits_beyond_the_cache)
{
    struct batcher batcher = faulty_batcher;
    batcher.compose = admits_all;
    static const char *const sets[] = {"services.chat.kv.blocks=10", NULL};
    struct bed_rows *rows = bed_run(BED(.policy = &batcher.policy, .quiet = true, .sets = sets), scenario, "faulty",
                                    "round-robin");
    CHECK_EQ_INT(rows->code, SIM_E_POLICY);
    CHECK(strstr(rows->diag.items[0].text, "there are too few free KV blocks") != NULL);
}

TEST(a_batcher_that_admits_no_request_stalls_the_run)
{
    check_batcher(admits_no_request, SIM_E_STALLED, "10 requests of service 'chat' wait forever");
}

TEST(a_batcher_that_fails_ends_the_run)
{
    struct batcher batcher = faulty_batcher;
    batcher.compose = fails_itself;
    struct bed_rows *rows = bed_run(BED(.policy = &batcher.policy, .quiet = true), scenario, "faulty", "round-robin");
    CHECK_EQ_INT(rows->code, SIM_E_POLICY);
    CHECK_EQ_STR(rows->diag.items[0].text, "batching policy 'faulty' failed: compose returned -7 at 0.000000000 s");
}

/* --- Routers --- */

static int routes_past_the_end(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)request;
    return view->n_replicas;
}

static int routes_below_zero(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)view;
    (void)request;
    return -1;
}

TEST(routers_that_leave_the_fleet)
{
    struct router router = {.policy = {.abi = POLICY_ABI, .size = sizeof router, .family = POLICY_ROUTING,
                                       .name = "faulty", .summary = "", .source = ""}};
    router.route = routes_past_the_end;
    check_fault(&router.policy, SIM_E_POLICY, "routing policy 'faulty' sent request 0 to replica 2 of 2");
    router.route = routes_below_zero;
    check_fault(&router.policy, SIM_E_POLICY, "routing policy 'faulty' sent request 0 to replica -1 of 2");
}

TEST(a_policy_of_another_abi_is_refused)
{
    struct router router = {.policy = {.abi = POLICY_ABI + 1, .size = sizeof router, .family = POLICY_ROUTING,
                                       .name = "foreign", .summary = "", .source = ""},
                            .route = routes_below_zero};
    check_fault(&router.policy, SIM_E_POLICY, "policy 'foreign' does not fit as a routing policy");
    router.policy.abi = POLICY_ABI;
    router.policy.size = 1;
    check_fault(&router.policy, SIM_E_POLICY, "policy 'foreign' does not fit as a routing policy");
}

/* --- Functions that return a negative code --- */

/* A code of a policy means nothing of its own: that of a gate or a configuration would give a wrong exit status. */
static const int some_codes[] = {SIM_E_GATE, SIM_E_CONFIG, SIM_E_STORE, SIM_E_INTERRUPTED, -99};

static int wanted_code; /* what the functions below return */

static void hears_nothing(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)state, (void)view, (void)note;
}

static int decides_or_fails(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state, (void)view, (void)plan;
    return wanted_code;
}

static int prepares_or_fails(void *state, const struct cluster_view *view, struct diag *diag)
{
    (void)state, (void)view, (void)diag;
    return wanted_code;
}

static int begins_or_fails(void *state, const void *params, struct diag *diag)
{
    (void)state, (void)params, (void)diag;
    return wanted_code;
}

static int places_or_fails(void *state, const struct cluster_view *view, const struct job_view *job,
                           struct placement *placement)
{
    (void)state, (void)view, (void)job, (void)placement;
    return wanted_code;
}

static int rents_or_fails(void *state, const struct market_view *view, struct diag *diag)
{
    (void)state, (void)view, (void)diag;
    return wanted_code;
}

static void check_code(const struct policy *policy, const char *call)
{
    char text[128];
    const bool schedules = policy->family == POLICY_SCHEDULER;
    const struct bed_rows *rows = bed_run(
        BED(.policy = policy, .quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'jobs': {'scheduler': '%s', 'placement': '%s', 'trace':"
        " {'format': 'inline-jobs', 'jobs': [{'duration': '1h', 'gpus': 1}]}}}",
        schedules ? policy->name : "fifo", schedules ? "consolidated" : policy->name);
    snprintf(text, sizeof text, "%s policy '%s' failed: %s returned %d", schedules ? "scheduler" : "placement",
             policy->name, call, wanted_code);
    CHECK_EQ_INT(rows->code, SIM_E_POLICY);
    CHECK_EQ_INT(rows->diag.n_errors, 1);
    CHECK(strstr(rows->diag.items[0].text, text) == rows->diag.items[0].text);
}

TEST(a_negative_code_is_a_fault_of_the_policy)
{
    const struct scheduler idle = {.policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "failing",
                                              .summary = "", .source = ""},
                                   .notify = hears_nothing, .decide = decides_or_fails};
    struct scheduler unprepared = idle, unmade = idle;
    const struct placer placer = {.policy = {POLICY_HEAD(placer, POLICY_PLACEMENT), .name = "failing",
                                             .summary = "", .source = ""},
                                  .place = places_or_fails};
    unprepared.prepare = prepares_or_fails;
    unmade.policy.init = begins_or_fails;
    for (size_t i = 0; i < sizeof some_codes / sizeof *some_codes; i++) {
        wanted_code = some_codes[i];
        check_code(&idle.policy, "decide");
        check_code(&unprepared.policy, "prepare");
        check_code(&unmade.policy, "init");
        check_code(&placer.policy, "place");
    }
}

TEST(a_negative_code_of_a_renter_is_its_fault)
{
    const struct renter renter = {.policy = {POLICY_HEAD(renter, POLICY_RENTAL), .name = "failing", .summary = "",
                                             .source = ""},
                                  .prepare = rents_or_fails};
    wanted_code = SIM_E_GATE;
    const struct bed_rows *rows = bed_run(
        BED(.policy = &renter.policy, .quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'market': {'renting': 'failing', 'offers':"
        " {'d': {'price': '$2/h'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1h'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_POLICY);
    if (CHECK(rows->diag.n_errors == 1))
        CHECK(strstr(rows->diag.items[0].text, "rental policy 'failing' failed: prepare returned ") != NULL);
}

/* --- Speculators --- */

static int plans_deep_trees(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    static const struct draft_tree tree = {.n = 2, .nodes = {{-1, 1, 1, 0}, {0, 2, 1, 0}}};
    (void)state, (void)view;
    *plan = (struct speculation_plan){.depth = 1, .tokens = 8, .iterations = 1, .trees = &tree, .n_trees = 1};
    return 0;
}

static int plans_equal_siblings(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    static const struct draft_tree tree = {.n = 2, .nodes = {{-1, 1, 1, 0}, {-1, 1, 1, 0}}};
    (void)state, (void)view;
    *plan = (struct speculation_plan){.depth = 1, .tokens = 8, .iterations = 1, .trees = &tree, .n_trees = 1};
    return 0;
}

static int plans_large_trees(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    static const struct draft_tree tree = {.n = 2, .nodes = {{-1, 1, 1, 0}, {-1, 1, 2, 0}}};
    (void)state, (void)view;
    *plan = (struct speculation_plan){.depth = 1, .tokens = 1, .iterations = 1, .trees = &tree, .n_trees = 1};
    return 0;
}

/* The same tree, at first with the levels that it has. */
static int plans_fewer_levels(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    static const struct draft_tree tree = {.n = 2, .nodes = {{-1, 1, 1, 0}, {0, 2, 1, 0}}};
    (void)state;
    *plan = (struct speculation_plan){.depth = view->history->steps == 0 ? 2 : 1, .tokens = 8, .iterations = 1,
                                      .trees = &tree, .n_trees = 1};
    return 0;
}

static int plans_without_rates(void *state, const struct speculation_view *view, struct speculation_plan *plan)
{
    static const struct draft_tree tree = {.n = 1, .nodes = {{-1, 1, 1, 0}}};
    (void)state, (void)view;
    *plan = (struct speculation_plan){.depth = 1, .tokens = 1, .iterations = 1, .trees = &tree, .n_trees = 1};
    return 0;
}

TEST(trees_that_are_none)
{
    static const struct {
        int (*plan)(void *, const struct speculation_view *, struct speculation_plan *);
        const char *acceptance;
    } cases[] = {{plans_deep_trees, ", 'rank_power': 0.5"},
                 {plans_equal_siblings, ", 'rank_power': 0.5"},
                 {plans_large_trees, ", 'rank_power': 0.5"},
                 {plans_fewer_levels, ", 'rank_power': 0.5"},
                 {plans_without_rates, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct speculator speculator = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct speculator),
                                                         .family = POLICY_SPECULATION, .name = "faulty", .summary = "",
                                                         .source = ""},
                                              .plan = cases[i].plan,
                                              .draft = SPECULATION_DRAFT_NONE};
        struct bed_rows *rows =
            bed_run(BED(.policy = &speculator.policy, .quiet = true),
                    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm':"
                    " 'mistral-7b', 'speculation': 'faulty', 'acceptance': {'rates': [0.6]%s}, 'trace': {'format':"
                    " 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}, 'prompt': {'distribution':"
                    " 'fixed', 'tokens': 64}, 'output': {'distribution': 'fixed', 'tokens': 40}}}}}",
                    cases[i].acceptance);
        CHECK_EQ_INT(rows->code, SIM_E_POLICY);
        if (CHECK(rows->diag.n_errors > 0)) CHECK(strstr(rows->diag.items[0].text, "trees that are none") != NULL);
        bed_free(rows);
    }
}
