/* Jobs that keep their GPUs after their work, as a scheduler sees them: to it they have ended, and hold nothing. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"

enum { MOST_PENDING = 16 };

/* Starts jobs in the order of their submission, where there is room, and lets the others exchange GPUs before or after
 * that. */
struct watcher {
    const struct job_view *pending[MOST_PENDING];
    int n_pending, n_running;
    bool has_changed; /* without a decision so far */
    sim_ns changed_ns;
};

static int n_ended;               /* in all runs of a test */
static int n_exchanges;
static bool exchanges_first;
static int64_t total_gpus_at[2][64]; /* by node type, at whole seconds, at the latest decision of that moment */

static void remove_from(struct watcher *watcher, const struct job_view *job)
{
    int n = 0;
    for (int i = 0; i < watcher->n_pending; i++)
        if (watcher->pending[i] != job) watcher->pending[n++] = watcher->pending[i];
    watcher->n_pending = n;
}

static void check_ended(const struct watcher *watcher, const struct cluster_view *view, const struct job_view *job)
{
    CHECK_EQ_INT(job->state, JOB_FINISHED);
    CHECK(!(job->held_gpus > 0) && !(job->held_gpus < 0));
    CHECK(!(job->speed > 0) && !(job->speed < 0));
    CHECK_EQ_INT(view->n_running, watcher->n_running);
    n_ended++;
}

static void watch(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct watcher *watcher = state;
    CHECK(!watcher->has_changed || watcher->changed_ns == view->now_ns);
    watcher->has_changed = true;
    watcher->changed_ns = view->now_ns;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT)
        watcher->pending[watcher->n_pending++] = note->job;
    if (note->event == JOB_EVENT_START) remove_from(watcher, note->job);
    watcher->n_running += note->event == JOB_EVENT_START;
    watcher->n_running -= note->event == JOB_EVENT_PREEMPT || note->event == JOB_EVENT_FINISH;
    if (note->event == JOB_EVENT_FINISH) check_ended(watcher, view, note->job);
}

static bool start(const struct cluster_view *view, struct job_plan *plan, const struct job_view *job)
{
    struct job_grant grant = {.gpus = job->gpus};
    for (; view != NULL; view = view->next_type, grant.node_type++)
        if (job_view_speed_on(view, job, job->gpus) > 0 && job_plan_start_as(plan, job, &grant, "there is room"))
            return true;
    return false;
}

static void exchange(const struct watcher *watcher, struct job_plan *plan)
{
    while (watcher->n_pending > 0 && job_plan_exchange(plan, true)) n_exchanges++;
}

static int start_what_fits(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct watcher *watcher = state;
    CHECK(!watcher->has_changed || watcher->changed_ns == view->now_ns);
    const double now_s = sim_s_from_ns(view->now_ns);
    int type = 0;
    for (const struct cluster_view *at = view; at != NULL && now_s < 64; at = at->next_type)
        total_gpus_at[type++][(int)now_s] = at->total_gpus;
    if (exchanges_first) exchange(watcher, plan);
    for (int i = 0; i < watcher->n_pending;)
        if (!start(view, plan, watcher->pending[i])) i++;
    exchange(watcher, plan);
    watcher->has_changed = false;
    return 0;
}

static const struct scheduler watcher = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                    .family = POLICY_SCHEDULER, .name = "watcher", .summary = "",
                                                    .source = "", .state_bytes = sizeof(struct watcher)},
                                         .uses_node_types = true,
                                         .notify = watch,
                                         .decide = start_what_fits};

/* Jobs find free GPUs after a while, or take those that are kept for them. A decision follows each end at once. */
TEST(to_a_scheduler_a_job_that_keeps_its_gpus_has_ended)
{
    static const char *const chains[] = {
        TRACE("{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE(
            "{'duration': '5s', 'gpus': 2}, {'duration': '9s', 'gpus': 2}, {'duration': '1s', 'gpus': 2, 'after':"
            " [{'job': 0, 'keeps_gpus': true}]}, {'duration': '1s', 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}]}"),
        TRACE(
            "{'duration': '5s', 'gpus': 4}, {'duration': '1s', 'gpus': 4, 'after': [{'job': 0, 'keeps_gpus': true}]},"
            " {'duration': '2s', 'gpus': 2, 'after': [{'job': 1}]}, {'duration': '2s', 'gpus': 2, 'after': [{'job': 2,"
            " 'keeps_gpus': true}]}"),
        TRACE("{'duration': '5s'}, {'duration': '9s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true},"
              " {'job': 1}]}")};
    static const int n_jobs[] = {2, 4, 4, 3};
    for (int i = 0; i < 4; i++) {
        n_ended = 0;
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .policy = &watcher.policy),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': 'watcher', %s}}",
            chains[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(n_ended, n_jobs[i]);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
    }
}

#define TWO_KINDS(p100s, t4s)                                                                                          \
    "{'cluster': {'nodes': 1, 'gpus_per_node': " #p100s ", 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"            \
    " 'gpus_per_node': " #t4s ", 'gpu': 't4'}}}, 'jobs': {'scheduler': {'policy': 'dispatch', 'swap': true},"          \
    " 'types': {'p': {'speeds': {'t4': 0}}, 't': {'speeds': {'p100': 0}}, 'any': {'speeds': {'p100': 1, 't4': 1}}}, "

/* Job 2 runs on the P100 alone, which is kept for job 3; for job 2 the T4 is kept. Job 3 could have either: it leaves
 * the older job the P100 that it would otherwise take itself. */
TEST(who_could_take_its_own_exchanges_with_an_older_job)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(1, 1) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'}, {'duration': '4s', 'type': 'p', 'after':"
            " [{'job': 1, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 'any', 'after': [{'job': 0, 'keeps_gpus':"
            " true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 5, 1e-9);
    CHECK_NEAR(bed_job(rows, 3)->start_s, 5, 1e-9);
    CHECK_NEAR(bed_job(rows, 2)->end_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 8, 1e-9);
    CHECK(isnan(bed_metric(rows, "job.kept_gpu_s.sum")));
}

/* Two P100s are kept for job 4, which goes on to the T4 that is kept for job 3. Job 3 takes one of them. */
TEST(gpus_of_two_keepers_are_for_one_job)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(2, 1) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'},"
            " {'duration': '4s', 'type': 'p', 'after': [{'job': 2, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 't',"
            " 'after': [{'job': 0, 'keeps_gpus': true}, {'job': 1, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 4)->end_s, 8, 1e-9);
    for (int i = 0; i < 3; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 5, 1e-9);
}

/* Jobs 5 and 6 wait for one another, but job 6 asks for two T4s. At 9 s a P100 is free for job 5, and then both
 * T4s. */
TEST(who_finds_no_cycle_waits)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        TWO_KINDS(3, 2) TRACE(
            "{'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 'p'}, {'duration': '5s', 'type': 't'},"
            " {'duration': '9s', 'type': 'p'}, {'duration': '8s', 'type': 't'},"
            " {'duration': '4s', 'type': 'p', 'after': [{'job': 2, 'keeps_gpus': true}]}, {'duration': '3s', 'type': 't',"
            " 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}, {'job': 1, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 5)->start_s, 9, 1e-9);
    CHECK_NEAR(bed_job(rows, 6)->start_s, 9, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 3 * 4, 1e-9);
}

/* --- Decisions without a job that runs --- */

/* Asks to be woken every second, and starts a job only after a time. */
struct sleeper {
    const struct job_view *pending;
    sim_ns known_ns;
};

static int patience_s, n_hasty; /* of all runs of a test; the first n_hasty jobs start at once */

static void sleeper_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct sleeper *sleeper = state;
    if (note->event == JOB_EVENT_SUBMIT) *sleeper = (struct sleeper){note->job, view->now_ns};
    if (note->event == JOB_EVENT_START) sleeper->pending = NULL;
}

static int start_late(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct sleeper *sleeper = state;
    if (sleeper->pending == NULL) return 0;
    if (sleeper->pending->id >= n_hasty && view->now_ns - sleeper->known_ns < patience_s * SIM_NS_PER_S)
        job_plan_wake_at(plan, view->now_ns + SIM_NS_PER_S);
    else
        job_plan_start(plan, sleeper->pending, "it has waited");
    return 0;
}

static const struct scheduler sleeper = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                    .family = POLICY_SCHEDULER, .name = "sleeper", .summary = "",
                                                    .source = "", .state_bytes = sizeof(struct sleeper)},
                                         .notify = sleeper_notify,
                                         .decide = start_late};

/* Three jobs in a chain, of which each keeps its GPU until the next one starts. */
static struct bed_rows *run_sleeper(int patience)
{
    patience_s = patience;
    return bed_run(BED(.check = true, .quiet = true, .policy = &sleeper.policy),
                   "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'scheduler': 'sleeper', %s}}",
                   TRACE("{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]},"
                         " {'duration': '3s', 'after': [{'job': 1, 'keeps_gpus': true}]}"));
}

/* A deadlock is 1,000 decisions in a row that let GPUs be kept and start nothing. A job that runs ends the row: two
 * rows of 600 are no deadlock, and one of 1,100 is. */
TEST(a_job_that_runs_begins_the_count_of_idle_decisions_anew)
{
    const struct bed_rows *rows = run_sleeper(600);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 3);
    CHECK_NEAR(rows->end_s, 3 * 600 + 5 + 4 + 3, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 2 * 600, 1e-9);
    const struct bed_rows *stuck = run_sleeper(1100);
    CHECK_EQ_INT(stuck->code, SIM_E_STALLED);
}

/* From 1,100 s on job 0 runs. From 3,105 s on job 1 keeps its GPU for 1,100 decisions, which are no deadlock. */
TEST(decisions_beside_a_job_that_runs_are_not_idle)
{
    patience_s = 1100;
    const struct bed_rows *rows = bed_run(
        BED(.check = true, .quiet = true, .policy = &sleeper.policy),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 3}, 'jobs': {'scheduler': 'sleeper', %s}}",
        TRACE("{'duration': '5000s'}, {'submit': '2000s', 'duration': '5s'}, {'submit': '2000s', 'duration': '3s',"
              " 'after': [{'job': 1, 'keeps_gpus': true}]}"));
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 1100, 1e-9);
    CHECK_NEAR(rows->end_s, 6100, 1e-9);
}

/* Without jobs that keep GPUs, 100,000 decisions in a row with nothing else to come are a deadlock: not two rows of
 * 60,000, nor one of 110,000 beside a job that runs. */
TEST_OPTIMISED(decisions_with_nothing_else_to_come_are_counted_in_a_row)
{
    static const char two[] = TRACE("{'duration': '5s'}, {'duration': '5s', 'after': [{'job': 0}]}"),
                      beside[] = TRACE("{'duration': '200000s'}, {'submit': '1s', 'duration': '5s'}");
    static const struct {
        const char *trace;
        int patience_s, n_hasty, code;
        double end_s; /* of job 1 */
    } cases[] = {{two, 60000, 0, 0, 120010}, {two, 110000, 0, SIM_E_STALLED, 0}, {beside, 110000, 1, 0, 110006}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        patience_s = cases[i].patience_s;
        n_hasty = cases[i].n_hasty;
        struct bed_rows *rows = bed_run(
            BED(.quiet = true, .policy = &sleeper.policy),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'scheduler': 'sleeper', %s}}", cases[i].trace);
        CHECK_EQ_INT(rows->code, cases[i].code);
        if (rows->code == 0) CHECK_NEAR(bed_job(rows, 1)->end_s, cases[i].end_s, 1e-9);
        bed_free(rows);
    }
    n_hasty = 0;
}

/* Starts job 0 at once. After many decisions it asks to be woken between two seconds, and then starts job 1. */
struct counter {
    const struct job_view *next;
    int n_decisions;
};

enum { COUNTED = 1100 };

static void counter_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT && note->job->id < 2) ((struct counter *)state)->next = note->job;
}

static int counter_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct counter *counter = state;
    const struct job_view *next = counter->next;
    if (next == NULL) return 0;
    counter->n_decisions++;
    if (next->id == 0 || view->now_ns % SIM_NS_PER_S != 0) {
        job_plan_start(plan, next, "it is its turn");
        counter->next = NULL;
    } else if (counter->n_decisions == COUNTED) {
        job_plan_wake_at(plan, view->now_ns + SIM_NS_PER_S / 2);
    }
    return 0;
}

/* Job 0 keeps its GPU for job 1, while others come. Their decisions are not idle: the scheduler asked for none. */
TEST(decisions_that_nobody_asked_for_are_not_idle)
{
    static const struct scheduler counter = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                        .family = POLICY_SCHEDULER, .name = "counter", .summary = "",
                                                        .source = "", .state_bytes = sizeof(struct counter)},
                                             .notify = counter_notify,
                                             .decide = counter_decide};
    SCOPED(text) jobs = {0};
    for (int i = 0; i < COUNTED + 10; i++)
        text_printf(&jobs, ", {'submit': '%ds', 'duration': '1s', 'gpus': 2}", 10 + i);
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true, .policy = &counter.policy),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'scheduler': 'counter', 'trace': {'format':"
        " 'inline-jobs', 'jobs': [{'duration': '5s'}, {'duration': '3s', 'after': [{'job': 0, 'keeps_gpus': true}]}%s]}}}",
        jobs.chars);
    CHECK_EQ_STR(bed_job(rows, 1)->status, "finished");
    CHECK(bed_metric(rows, "job.kept_gpu_s.sum") > COUNTED - 10);
}

/* Job 0 keeps a GPU from 5 s until job 2 has one of the two, which job 1 leaves at 9 s. A scheduler sees one GPU of
 * their node type meanwhile, and then both again; those of the other type it sees always. */
TEST(kept_gpus_are_gone_to_a_scheduler_until_they_are_let_go)
{
    static const int64_t expected[][2] = {{0, 2}, {5, 1}, {7, 1}, {9, 2}, {20, 2}};
    for (int type = 0; type < 2; type++) {
        memset(total_gpus_at, 0, sizeof total_gpus_at);
        const char *const speeds = type == 0 ? "'speeds': {'t4': 0}" : "'speeds': {'p100': 0, 't4': 1}";
        const struct bed_rows *rows = bed_ok(
            BED(.check = true, .policy = &watcher.policy),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"
            " 'gpus_per_node': 2, 'gpu': 't4'}}}, 'jobs': {'scheduler': 'watcher', 'types': {'default': {%s}}, " TRACE(
                "{'duration': '5s', 'gpus': 1}, {'duration': '9s', 'gpus': 1}, {'duration': '1s', 'gpus': 1, 'after':"
                " [{'job': 0, 'keeps_gpus': true}, {'job': 1}]}, {'submit': '7s', 'duration': '1s', 'gpus': 2},"
                " {'submit': '20s', 'duration': '1s', 'gpus': 2}") "}}",
            speeds);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            CHECK_EQ_INT(total_gpus_at[type][expected[i][0]], expected[i][1]);
            CHECK_EQ_INT(total_gpus_at[1 - type][expected[i][0]], 2);
        }
        CHECK_NEAR(bed_job(rows, 4)->start_s, 20, 0);
    }
}

/* The P100 is kept for a job that finds a T4 free. To a scheduler of all types that job waits for nobody, and
 * exchanges nothing; to one of the first type alone it takes what is kept for it. */
TEST(only_who_finds_no_gpus_that_its_scheduler_uses_exchanges)
{
    exchanges_first = true;
    for (int uses_types = 0; uses_types < 2; uses_types++) {
        struct scheduler scheduler = watcher;
        scheduler.uses_node_types = uses_types;
        n_exchanges = 0;
        const struct bed_rows *rows = bed_ok(
            BED(.check = true, .policy = &scheduler.policy),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"
            " 'gpus_per_node': 1, 'gpu': 't4'}}}, 'jobs': {'scheduler': 'watcher', 'types': {'default': {'speeds':"
            " {'p100': 1, 't4': 0.5}}}, " TRACE(
                "{'duration': '5s'}, {'duration': '4s', 'after': [{'job': 0, 'keeps_gpus': true}]}") "}}");
        CHECK_EQ_INT(n_exchanges, !uses_types);
        CHECK_NEAR(bed_job(rows, 1)->start_s, 5, 0);
        CHECK_NEAR(bed_job(rows, 1)->end_s, 5 + (uses_types ? 8 : 4), 1e-9);
    }
    exchanges_first = false;
}

/* Nodes of two GPUs. At 9 s job 1 leaves the first node to job 5. Job 6 wants a whole node and is refused, since the
 * others have a free GPU each. But job 5 lets the GPU go which job 4 kept: a scheduler that remembers its refusals
 * tries job 6 again at this very moment. */
TEST(gpus_that_are_let_go_are_found_at_once)
{
    static const char *const schedulers[] = {"'sjf'", "'srtf'", "{'policy': 'dispatch', 'rule': 'spt'}"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 3, 'gpus_per_node': 2}, 'jobs': {'scheduler': %s, 'placement': 'consolidated', " TRACE(
                "{'duration': '100s'}, {'submit': '0.1s', 'duration': '8.9s'}, {'submit': '0.2s', 'duration': '100s'},"
                " {'submit': '0.3s', 'duration': '2s'}, {'submit': '0.4s', 'duration': '4.6s'}, {'submit': '0.5s',"
                " 'duration': '1s', 'after': [{'job': 4, 'keeps_gpus': true}, {'job': 1}]}, {'submit': '6s', 'duration':"
                " '20s', 'gpus': 2}") "}}",
            schedulers[i]);
        CHECK_NEAR(bed_job(rows, 5)->start_s, 9, 1e-9);
        CHECK_NEAR(bed_job(rows, 6)->start_s, 9, 1e-9);
        CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 4, 1e-9);
    }
}

/* Jobs 0 and 1 send over one fabric, and save to one storage from 50 s of work on. At 55 s of work job 0 ends amid
 * its save. Whether it keeps its GPUs until job 2 starts or not, it sends and saves nothing more: job 1 does not feel
 * it. */
TEST(a_job_that_keeps_its_gpus_sends_and_saves_nothing)
{
    double end_s[2], bytes[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 4, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'fabric':"
            " '20GB/s'}, 'storage': {'files': {'device': 'rdma-h800', 'ceiling': '10GB/s'}}}, 'jobs': {'scheduler':"
            " 'fifo', 'types': {'default': {'step': {'compute': '1s', 'collectives': [{'kind': 'all-reduce', 'group':"
            " 'rail', 'bytes': '10GB'}]}, 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes':"
            " '100GB', 'to': 'files', 'model': '%s', 'overlap': '20s', 'gpu_copy': '1TB/s'}}}, " TRACE(
                "{'duration': '55s', 'gpus': 4}, {'duration': '100s', 'gpus': 4}, {'duration': '1s', 'gpus': 4,"
                " 'after': [{'job': 0, 'keeps_gpus': %s}, {'job': 1}]}") "}}",
            "fastpersist", keeps ? "true" : "false");
        end_s[keeps] = bed_job(rows, 1)->end_s;
        bytes[keeps] = bed_metric(rows, "link.network.bytes");
        if (keeps) CHECK(bed_metric(rows, "job.kept_gpu_s.sum") > 100);
    }
    CHECK(end_s[0] > 101);
    CHECK_NEAR(end_s[1], end_s[0], 1e-9);
    CHECK_NEAR(bytes[1], bytes[0], 1);
}

/* --- What a run without progress says --- */

/* GPUs of `n` jobs are kept for `n` others, one for each: the error names the first three pairs, and no other. */
TEST(a_deadlock_names_three_jobs_that_keep_gpus)
{
    for (int n = 1; n <= 6; n++) {
        SCOPED(text) jobs = {0}, expected = {0};
        for (int i = 0; i < n; i++) text_add(&jobs, "{'duration': '5s'}, ");
        for (int i = 0; i < n; i++)
            text_printf(&jobs, "%s{'duration': '5s', 'after': [{'job': %d, 'keeps_gpus': true}]}", i > 0 ? ", " : "",
                        i);
        for (int i = 0; i < n && i < 3; i++)
            text_printf(&expected, "%sjob %d for job %d", i > 0 ? ", " : n > 1 ? "keep: " : "keeps: ", i, n + i);
        if (n > 3) text_add(&expected, ", ..");
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': %d}, 'jobs': {'scheduler': 'fifo', 'trace':"
                                " {'format': 'inline-jobs', 'jobs': [%s]}}}",
            n, jobs.chars);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        const char *said = rows->diag.n_items > 0 ? strstr(rows->diag.items[0].text, expected.chars) : NULL;
        if (CHECK(said != NULL)) CHECK_EQ_STR(said, expected.chars);
    }
}
