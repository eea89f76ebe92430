/* What a scheduler sees of jobs that save and read by flows, at every second; and such jobs beside equal ones whose
 * saves take a time of the model. The network is idle: nodes have 2 GPUs and NICs of 10 GB/s without latency, storage
 * takes 10 GB/s. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

/* Keys of the checkpoint; further sections; GPUs and duration of the job. */
#define SITE                                                                                                           \
    "{'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s', 'latency':" \
    " '0s'}, 'storage': {'files': {'device': 'rdma-h800', 'ceiling': '10GB/s'}}}, %s 'jobs': {'scheduler': '%s', " \
    "'types': {'plain': {}, 'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': " \
    "'100GB', %s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '%gs', 'gpus': 4}%s]}}}"
#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"
#define FAILS_AT_100                                                                                                   \
    "'failures': {'causes': {'a': {'scope': 'site', 'lifetime': " CONSTANT("100s") ", 'restart': " CONSTANT("5s") "}}},"

/* --- Estimates --- */

/* Starts a job at once, and looks at it every second. */
struct watcher {
    const struct job_view *job;
};

static struct {
    double at_s[1000], left_s[1000];
    int n, n_speed_events;
} seen;

static void watcher_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    ((struct watcher *)state)->job = note->event == JOB_EVENT_FINISH ? NULL : note->job;
    seen.n_speed_events += note->event == JOB_EVENT_SPEED;
}

static int watcher_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *job = ((struct watcher *)state)->job;
    if (job == NULL) return 0;
    if (job->state == JOB_PENDING) CHECK(job_plan_start(plan, job, "it is there"));
    if (job->state == JOB_RUNNING && seen.n < 1000) {
        seen.at_s[seen.n] = (double)view->now_ns * 1e-9;
        seen.left_s[seen.n++] = (double)job_view_estimated_remaining_ns(view, job) * 1e-9;
    }
    job_plan_wake_at(plan, view->now_ns - view->now_ns % SIM_NS_PER_S + SIM_NS_PER_S);
    return 0;
}

static const struct scheduler watcher = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "watcher", .summary = "", .source = "",
               .state_bytes = sizeof(struct watcher)},
    .notify = watcher_notify,
    .decide = watcher_decide,
    .wants_speed_events = true};

/* At any moment the scheduler expects what is left, but for the stalls of saves that have not begun. FastPersist
 * stalls when its overlap of 4 s is over. After the failure at 100 s with 90 s of work done, 50 s of them saved, the
 * job reads from 105 s on: 10 s from storage, 2.5 s from a peer, also if its type loads its start from storage.
 * DataStates stalls for 2.25 s of the copy. */
TEST(estimates_lack_only_the_saves_to_come)
{
    static const struct {
        const char *save, *failures;
        double duration_s, from_s, stalls_at_s[4], stall_s, end_s;
        int speed_events;
    } cases[] = {
        {"'to': 'files'", "", 170, 0, {50, 110, 170}, 10, 200, 0},
        {"'to': 'peer'", "", 170, 0, {50, 102.5, 155}, 2.5, 177.5, 0},
        {"'to': 'files', 'model': 'fastpersist', 'overlap': '4s'", "", 170, 0, {54, 110, 166}, 6, 188, 0},
        {"'to': 'files', 'model': 'datastates', 'overlap': '4s', 'gpu_copy': '4GB/s'", "", 170, 0,
         {50, 102.25, 154.5}, 2.25, 176.75, 0},
        {"'to': 'files'", FAILS_AT_100, 95, 100, {0}, 0, 160, 1},
        {"'to': 'peer'", FAILS_AT_100, 105, 100, {157.5}, 2.5, 165, 1},
        {"'to': 'files'}, 'load': {'from': 'files', 'bytes': '40GB'", "", 170, 0, {54, 114, 174}, 10, 204, 1},
        {"'to': 'peer'}, 'load': {'from': 'files', 'bytes': '40GB'", FAILS_AT_100, 105, 100, {157.5}, 2.5, 165, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&seen, 0, sizeof seen);
        const struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &watcher.policy), SITE, cases[i].failures,
                                             "watcher", cases[i].save, cases[i].duration_s, "");
        CHECK_NEAR(bed_job(rows, 0)->end_s, cases[i].end_s, 1e-6);
        CHECK_EQ_INT(seen.n_speed_events, cases[i].speed_events);
        CHECK(seen.n > 100);
        for (int k = 0; k < seen.n; k++) {
            double expected_s = seen.at_s[k] + seen.left_s[k];
            for (int s = 0; s < 4; s++)
                if (cases[i].stalls_at_s[s] > seen.at_s[k]) expected_s += cases[i].stall_s;
            if (seen.at_s[k] <= cases[i].from_s || floor(seen.at_s[k]) == cases[i].stalls_at_s[0]) continue;
            if (CHECK_NEAR(expected_s, cases[i].end_s, 1e-6)) continue;
            printf("\n  case %d at %g s", (int)i, seen.at_s[k]);
            return;
        }
    }
}

/* --- Flows beside the model --- */

static const char *const paced[] = {"'model': 'synchronous'", "'model': 'fastpersist', 'overlap': '4s'",
                                    "'model': 'fastpersist', 'overlap': '20s'",
                                    "'model': 'datastates', 'overlap': '4s', 'gpu_copy': '1GB/s'"};

/* Nodes are slow or stand still at random times, which may overlap, also amid saves: flows in an idle network stall
 * the job as the model's saves do. Those of FastPersist stall it less if it stands still in the overlap of 4 s. */
TEST(random_paces_leave_flows_as_the_model)
{
    for (int i = 0; i < 40; i++) {
        const char *sections = test_json(
            "'seed': %d, 'failures': {'causes': {'slow': {'scope': 'node', 'slow': 0.5, 'lifetime': {'mean': '90s'}, "
            "'repair': {'mean': '30s'}}, 'still': {'scope': 'node', 'slow': 0, 'lifetime': {'mean': '90s'}, 'repair': "
            "{'mean': '20s'}}}},",
            i);
        const double duration_s = 130.0 + 7.0 * i;
        const struct bed_rows *flows = bed_ok(BED(.check = true), SITE, sections, "fifo",
                                              test_json("%s, 'to': 'files'", paced[i % 4]), duration_s, ""),
                              *model = bed_ok(BED(.check = true), SITE, sections, "fifo",
                                              test_json("%s, 'write': '10GB/s'", paced[i % 4]), duration_s, "");
        if (i % 4 == 1)
            CHECK(bed_job(flows, 0)->end_s <= bed_job(model, 0)->end_s + 1e-6);
        else
            CHECK_NEAR(bed_job(flows, 0)->end_s, bed_job(model, 0)->end_s, 1e-6);
    }
}

/* Starts its job, and moves it to other nodes every 37 s, but not soon after the failures, at every 250 s. */
struct mover {
    const struct job_view *job;
};

static int n_moved;

static void mover_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)view;
    ((struct mover *)state)->job = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int mover_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct job_view *job = ((struct mover *)state)->job;
    const int64_t now_s = view->now_ns / SIM_NS_PER_S;
    if (job == NULL) return 0;
    if (job->state == JOB_PENDING)
        job_plan_start(plan, job, "there is room");
    else if (now_s % 250 > 60 && view->now_ns % (37 * SIM_NS_PER_S) == 0)
        n_moved += job_plan_migrate(plan, job, 0, 0, "it is time");
    job_plan_wake_at(plan, (now_s / 37 + 1) * 37 * SIM_NS_PER_S);
    return 0;
}

static const struct scheduler mover = {.policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "mover", .summary = "",
                                                  .source = "", .state_bytes = sizeof(struct mover)},
                                       .notify = mover_notify,
                                       .decide = mover_decide,
                                       .migrates = true};

/* The job moves to other nodes for 7 s at a time, also amid saves and while its nodes stand still. Saves beside the
 * work do not stall it. Every 250 s it loses the work that no save has, and waits 5 s before it reads its state for
 * 10 s: with the model it waits 15 s. */
TEST(moves_leave_saves_beside_the_work_as_the_model)
{
    static const char *const sets[] = {"jobs.placement=random", "cluster.nodes=6", "jobs.restart.migrate=7s", NULL};
    static const char *const beside[] = {"'model': 'fastpersist', 'overlap': '20s'",
                                         "'model': 'datastates', 'overlap': '4s', 'gpu_copy': '1TB/s'"};
    n_moved = 0;
    for (int i = 0; i < 40; i++) {
        double end_s[2];
        for (int k = 0; k < 2; k++) {
            const char *sections = test_json(
                "'seed': %d, 'failures': {'causes': {'slow': {'scope': 'node', 'slow': 0.5, 'lifetime': {'mean':"
                " '190s'}, 'repair': {'mean': '30s'}}, 'still': {'scope': 'node', 'slow': 0, 'lifetime': {'mean':"
                " '190s'}, 'repair': {'mean': '20s'}}, 'all': {'scope': 'site', 'lifetime': " CONSTANT(
                    "250s") ", 'restart': {'law': 'constant', 'mean': '%ds'}}}},",
                i, k == 0 ? 5 : 15);
            const char *save = test_json("%s, %s", beside[i % 2], k == 0 ? "'to': 'files'" : "'write': '10GB/s'");
            const struct bed_rows *rows = bed_ok(BED(.check = true, .sets = sets, .policy = &mover.policy), SITE,
                                                 sections, "mover", save, 230.0 + 7.0 * i, "");
            end_s[k] = bed_job(rows, 0)->end_s;
        }
        CHECK_NEAR(end_s[0], end_s[1], 1e-6);
    }
    CHECK(n_moved > 300);
}

/* From 20 s on the job has two of its four GPUs, and works half as fast. A copy to the host takes twice as long. */
TEST(a_smaller_job_copies_its_state_more_slowly)
{
    const struct bed_rows *rows = bed_ok(BED(.check = true), SITE, "'until': '500s',", "equi",
                                         "'to': 'files', 'model': 'datastates', 'overlap': '4s', 'gpu_copy': '4GB/s'",
                                         100.0, ", {'submit': '20s', 'type': 'plain', 'duration': '1000s', 'gpus': 2}");
    /* 20 s of work, 15 s by 50 s, 25 s by 108.5 s and by 167 s, each with a stall of 8.5 s; then the other 15 s */
    CHECK_NEAR(bed_job(rows, 0)->end_s, 167 + 8.5 + 2 * 15, 1e-6);
}

/* A state of 3 bytes more than four flows share equally arrives whole. */
TEST(every_byte_of_a_state_moves)
{
    static const char *const sets[] = {"jobs.types.default.checkpoint.bytes=100000000003B", NULL};
    const struct bed_rows *rows = bed_ok(BED(.sets = sets, .check = true), SITE, "", "fifo", "'to': 'peer'", 60.0, "");
    CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 100000000003.0, 0.1);
}
