/* The conformance suite: every listed policy passes it, and policies that are wrong in the ways it looks for do not. */
#include "policies/registry.h"
#include "sim/cli/plugins.h"
#include "sim/study/conform.h"
#include "sim/world/policy/all.h"
#include "tests/support/harness.h"

static struct catalog_memory memory; /* of calibration files: each is read once per test */
static const struct catalog catalog = {.root = "configs", .memory = &memory};

/* --- Listed policies --- */

/* Of the ten thousand of the longest scenarios: policies that look at all that wait take a hundred times as long for
 * ten times as many. The verb `conform` runs all of them. */
enum { AT_LENGTH = 1250 };

/* A brief run makes one run of each scenario, with one partner after the other. Its policy is that of this number. */
static void run_listed(const struct policy *policy, size_t number, bool large, bool brief)
{
    struct conform_suite suite = {.families = cli_families(NULL), .catalog = &catalog, .brief = brief};
    size_t n;
    const struct conform_case *cases = conform_cases(policy->family, &n);
    for (size_t i = 0; i < n; i++) {
        struct conform_case wanted = cases[i];
        struct conform_result result;
        struct diag diag = {0};
        if (wanted.large != large) continue;
        if (large) wanted.n = AT_LENGTH;
        suite.turn = (int)(number + i);
        conform_run(&suite, policy, &wanted, &result, &diag);
        if (!CHECK_EQ_INT(result.code, 0)) printf("\n  %s, %s: %s", policy->name, cases[i].name, result.text);
        for (int k = 0; k < CONFORM_N_CHECKS; k++) CHECK(result.verdicts[k] != CONFORM_FAILED);
        CHECK_EQ_INT(result.verdicts[CONFORM_LAWS], CONFORM_PASSED);
        if (brief) continue;
        CHECK_EQ_INT(result.verdicts[CONFORM_REPEATS], CONFORM_PASSED);
        if (policy->family != POLICY_EVICTION) CHECK_EQ_INT(result.verdicts[CONFORM_QUEUE], CONFORM_PASSED);
    }
}

static void run_all_listed(bool large, bool brief)
{
    struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) run_listed(table.policies[i], i, large, brief);
    catalog_memory_fini(&memory);
    memory = (struct catalog_memory){0};
}

/* With each partner in some of the scenarios: every_policy_conforms has each in all of them, without sanitizers. */
TEST(every_policy_runs_with_each_partner)
{
    run_all_listed(false, true);
}

TEST(every_policy_runs_at_length)
{
    run_all_listed(true, true);
}

TEST_OPTIMISED(every_policy_conforms)
{
    run_all_listed(false, false);
}

TEST_OPTIMISED(every_policy_conforms_at_length)
{
    run_all_listed(true, false);
}

TEST(every_family_has_scenarios_and_partners)
{
    for (int family = 0; family < POLICY_FAMILY_COUNT; family++) {
        size_t n;
        const struct conform_case *cases = conform_cases((enum policy_family)family, &n);
        CHECK(n >= 15);
        struct text json;
        text_init(&json);
        conform_case_json(&cases[0], (enum policy_family)family, "under-test", "its-partner", &json);
        CHECK(strstr(json.chars, "\"under-test\"") != NULL && strstr(json.chars, "\"its-partner\"") != NULL);
        text_fini(&json);
        const enum policy_family met = policy_family_partner_family((enum policy_family)family);
        const char *const *partners = policy_family_partners((enum policy_family)family);
        CHECK(partners[0] != NULL);
        for (; *partners != NULL; partners++) CHECK(policy_find(met, *partners) != NULL);
    }
}

/* --- Policies that are wrong --- */

/* The one policy under test, behind the listed ones. */
static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    const struct policy *policy = context;
    struct config_families listed = cli_families(NULL);
    bool mine = strcmp(policy_family_name(policy->family), family) == 0;
    if (!mine || index > 0) return listed.alternative(listed.context, family, index - mine, out);
    *out = (struct config_alternative){.name = policy->name, .entry = policy};
    return true;
}

/* The policy fails this check in this scenario, with this text. */
static void check_caught(const struct policy *policy, const char *scenario, enum conform_check check, int code,
                         const char *text)
{
    const struct conform_suite suite = {.families = {.alternative = alternative, .context = policy}, .catalog = &catalog};
    size_t n, i = 0;
    const struct conform_case *cases = conform_cases(policy->family, &n);
    while (i + 1 < n && strcmp(cases[i].name, scenario) != 0) i++;
    struct conform_result result;
    struct diag diag = {0};
    CHECK_EQ_INT(conform_run(&suite, policy, &cases[i], &result, &diag), code);
    CHECK_EQ_INT(diag.n_errors, 0);
    for (int k = 0; k < CONFORM_N_CHECKS; k++)
        if ((k == (int)check) != (result.verdicts[k] == CONFORM_FAILED) && k <= (int)check)
            CHECK_EQ_STR(conform_check_name((enum conform_check)k), "another verdict");
    if (strstr(result.text, text) == NULL) CHECK_EQ_STR(result.text, text);
}

/* A scheduler that starts whatever fits, oldest first, from a list of its own; each fault below bends it. */
struct bent_job {
    const struct job_view *next;
};

struct bent {
    const struct job_view *first;
    void *block;
    int64_t n_calls;
};

static struct bent_job *slot(const struct job_view *job)
{
    return job_view_slot(job);
}

static void bent_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    const struct job_view **link = &((struct bent *)state)->first;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) {
        while (*link != NULL) link = &slot(*link)->next;
        slot(note->job)->next = NULL;
        *link = note->job;
    } else if (note->event == JOB_EVENT_START) {
        while (*link != note->job) link = &slot(*link)->next;
        *link = slot(note->job)->next;
    }
}

static void start_all(struct bent *bent, struct job_plan *plan, const char *reason)
{
    for (const struct job_view *job = bent->first, *next; job != NULL; job = next) {
        next = slot(job)->next;
        job_plan_start(plan, job, reason);
    }
}

typedef int decide_fn(void *state, const struct cluster_view *view, struct job_plan *plan);

static struct scheduler bent_scheduler(decide_fn *decide)
{
    return (struct scheduler){.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler), .family = POLICY_SCHEDULER,
                                         .name = "bent", .summary = "", .source = "", .state_bytes = sizeof(struct bent)},
                              .job_bytes = sizeof(struct bent_job), .notify = bent_notify, .decide = decide};
}

static void catch_scheduler(decide_fn *decide, const char *scenario, enum conform_check check, int code,
                            const char *text)
{
    const struct scheduler scheduler = bent_scheduler(decide);
    check_caught(&scheduler.policy, scenario, check, code, text);
}

static int straight(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    start_all(state, plan, "it fits");
    return 0;
}

static int starts_twice(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *first = ((struct bent *)state)->first;
    straight(state, view, plan);
    if (first != NULL && first->state == JOB_RUNNING) job_plan_start(plan, first, "once more");
    return 0;
}

static int sleeps_for_ever(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state, (void)view, (void)plan;
    return 0;
}

/* Wakes up all the time and does nothing. */
static int never_rests(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state;
    if (view->n_pending > 0) job_plan_wake_at(plan, view->now_ns + 1);
    return 0;
}

static int reads_the_future(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *first = ((struct bent *)state)->first;
    if (first != NULL) job_view_remaining_ns(view, first);
    return straight(state, view, plan);
}

/* Counts over all runs of the process. */
static int counts_for_ever(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    static int64_t n_calls;
    return ++n_calls % 7 == 0 && view->n_running > 0 ? 0 : straight(state, view, plan);
}

/* Counts over one run at a time, which init starts anew. */
static int64_t calls_since_init;

static int start_counting(void *state, const void *params, struct diag *diag)
{
    (void)state, (void)params, (void)diag;
    calls_since_init = 0;
    return 0;
}

static int counts_one_run(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    return ++calls_since_init % 7 == 0 && view->n_running > 0 ? 0 : straight(state, view, plan);
}

static int spoils_the_view(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    int code = straight(state, view, plan);
    if (view->n_running > 3) ((struct cluster_view *)(uintptr_t)view)->free_gpus -= 1;
    return code;
}

/* What the policy below has forgotten, for whoever cleans up behind it. */
static void *forgotten[64];
static size_t n_forgotten;

static int forgets_memory(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct bent *bent = state;
    if (bent->block == NULL) bent->block = forgotten[n_forgotten++ % 64] = mem_alloc(64);
    return straight(state, view, plan);
}

/* The job that runs gives way to itself, whether anybody waits or not. */
static int is_restless(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct bent *bent = state;
    static const struct job_view *last;
    if (++bent->n_calls > 1 && view->n_pending == 0 && view->n_running == 1 && last != NULL &&
        last->state == JOB_RUNNING)
        job_plan_preempt(plan, last, "on second thoughts");
    else
        last = bent->first, start_all(bent, plan, "it fits");
    return 0;
}

TEST(faults_of_schedulers_are_caught)
{
    const char *busy = "all at once";
    catch_scheduler(starts_twice, busy, CONFORM_ENDS, SIM_E_POLICY, "which is running (reason: once more)");
    catch_scheduler(reads_the_future, busy, CONFORM_ENDS, SIM_E_POLICY, "without declaring it");
    catch_scheduler(sleeps_for_ever, busy, CONFORM_ENDS, SIM_E_GATE, "60 jobs wait forever");
    catch_scheduler(never_rests, busy, CONFORM_ENDS, SIM_E_GATE, "no progress");
    catch_scheduler(spoils_the_view, busy, CONFORM_LAWS, SIM_E_GATE,
                    "held by running jobs are not the 12 of the cluster");
    catch_scheduler(counts_for_ever, busy, CONFORM_REPEATS, SIM_E_GATE, "differs");
    catch_scheduler(forgets_memory, busy, CONFORM_MEMORY, SIM_E_GATE, "blocks are never freed");
    CHECK(n_forgotten > 1 && n_forgotten <= 64);
    while (n_forgotten > 0) mem_free(forgotten[--n_forgotten]);
    catch_scheduler(is_restless, "one job, one GPU", CONFORM_STABLE, SIM_E_GATE, "no job waits");
}

TEST(state_outside_of_the_state_is_caught)
{
    struct scheduler scheduler = bent_scheduler(counts_one_run);
    scheduler.policy.init = start_counting;
    check_caught(&scheduler.policy, "all at once", CONFORM_STATE, SIM_E_GATE, "differs");
}

TEST(a_straight_scheduler_passes)
{
    const struct scheduler scheduler = bent_scheduler(straight);
    const struct conform_suite suite = {.families = {.alternative = alternative, .context = &scheduler.policy},
                                        .catalog = &catalog};
    size_t n;
    const struct conform_case *cases = conform_cases(POLICY_SCHEDULER, &n);
    for (size_t i = 0; i < n && !cases[i].large; i++) {
        struct conform_result result;
        struct diag diag = {0};
        CHECK_EQ_INT(conform_run(&suite, &scheduler.policy, &cases[i], &result, &diag), 0);
    }
}

/* --- Of the other families --- */

static int routes_beyond(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    return view->n_replicas;
}

static int routes_by_habit(void *state, const struct fleet_view *view, const struct request_view *request)
{
    static uint32_t n_calls;
    (void)state, (void)request;
    return (int)(n_calls++ / 7 % (uint32_t)view->n_replicas);
}

static int spoils_the_time(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state, (void)request;
    ((struct fleet_view *)(uintptr_t)view)->now_ns++;
    return 0;
}

static void catch_router(int (*route)(void *, const struct fleet_view *, const struct request_view *),
                         enum conform_check check, int code, const char *text)
{
    const struct router router = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router), .family = POLICY_ROUTING,
                                             .name = "bent", .summary = "", .source = ""},
                                  .route = route};
    check_caught(&router.policy, "bursts", check, code, text);
}

static int over_commits(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    (void)state;
    for (const struct request_view *request = view->waiting; request != NULL && !batch_plan_full(plan);
         request = request->next)
        batch_plan_prefill(plan, request, request->prompt_tokens);
    plan->decode = true;
    return 0;
}

static void catch_batcher(int (*compose)(void *, const struct replica_view *, struct batch_plan *),
                          enum conform_check check, const char *text)
{
    const struct batcher batcher = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct batcher),
                                               .family = POLICY_BATCHING, .name = "bent", .summary = "", .source = "",
                                               .state_bytes = sizeof(int64_t)},
                                    .compose = compose};
    check_caught(&batcher.policy, "scarce blocks", check, SIM_E_POLICY, text);
}

static int places_anywhere(void *state, const struct cluster_view *view, const struct job_view *job,
                           struct placement *placement)
{
    (void)state, (void)view;
    placement_add(placement, 0, job->gpus);
    return 1;
}

/* Evictors that go through all items. */
static int hears_nothing(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    (void)state;
    *(int32_t *)cache_view_slot(view, item) = event == CACHE_FORGET ? 0 : 1;
    return 0;
}

/* The n-th item that nobody holds, from 0 and round. */
static int32_t nth_free(const struct cache_view *view, uint32_t n)
{
    int32_t item = 0;
    n %= (uint32_t)(view->size - view->held);
    for (;; item++) {
        bool is_free = *(int32_t *)cache_view_slot(view, item) != 0 && !cache_view_held(view, item);
        if (is_free && n-- == 0) return item;
    }
}

static int32_t evicts_by_habit(void *state, const struct cache_view *view)
{
    static uint32_t n_calls;
    (void)state;
    return nth_free(view, n_calls++ / 3);
}

static int32_t evicts_the_first(void *state, const struct cache_view *view)
{
    (void)state, (void)view;
    return 0;
}

static int32_t spoils_the_capacity(void *state, const struct cache_view *view)
{
    (void)state;
    int32_t item = nth_free(view, 0);
    ((struct cache_view *)(uintptr_t)view)->capacity++;
    return item;
}

static int32_t foresees(void *state, const struct cache_view *view)
{
    (void)state;
    return cache_view_next_use(view, 0) > 0 ? nth_free(view, 0) : 0;
}

static void catch_evictor(int32_t (*victim)(void *, const struct cache_view *), const char *scenario,
                          enum conform_check check, int code, const char *text)
{
    const struct evictor evictor = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct evictor),
                                               .family = POLICY_EVICTION, .name = "bent", .summary = "", .source = "",
                                               .state_bytes = sizeof(struct bent)},
                                    .item_bytes = sizeof(int32_t), .notify = hears_nothing, .victim = victim};
    check_caught(&evictor.policy, scenario, check, code, text);
}

TEST(faults_of_evictors_are_caught)
{
    catch_evictor(evicts_the_first, "all but one in use", CONFORM_ENDS, SIM_E_POLICY, "which is in use");
    catch_evictor(evicts_by_habit, "up and down", CONFORM_REPEATS, SIM_E_GATE, "differs");
    catch_evictor(spoils_the_capacity, "all different", CONFORM_VIEW, SIM_E_GATE, "changed what it was shown");
    catch_evictor(foresees, "all different", CONFORM_ENDS, SIM_E_POLICY, "asked for the future");
}

TEST(faults_of_others_are_caught)
{
    catch_router(routes_beyond, CONFORM_ENDS, SIM_E_POLICY, "'bent'");
    catch_router(routes_by_habit, CONFORM_REPEATS, SIM_E_GATE, "decision 1 differs: 'route' of 0");
    catch_router(spoils_the_time, CONFORM_VIEW, SIM_E_GATE, "changed what it was shown");
    catch_batcher(over_commits, CONFORM_ENDS, "'bent'");
    const struct placer placer = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct placer), .family = POLICY_PLACEMENT,
                                             .name = "bent", .summary = "", .source = ""},
                                  .place = places_anywhere};
    check_caught(&placer.policy, "all at once", CONFORM_ENDS, SIM_E_POLICY, "GPUs that are not free");
}
