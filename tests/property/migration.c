/* Running jobs that move to other nodes: laws that hold whoever moves them, by a scheduler that moves them at random;
 * and fifo-migrate, by hand. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* --- A scheduler that starts whoever fits, oldest first, and moves running jobs every few seconds --- */

enum { MOST_JOBS = 128 };

struct wanderer {
    const struct job_view *jobs[MOST_JOBS]; /* in the system, oldest first */
    int n;
    int64_t n_done;
};

static void wanderer_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct wanderer *wanderer = state;
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT) wanderer->jobs[wanderer->n++] = note->job;
    if (note->event != JOB_EVENT_FINISH) return;
    int kept = 0;
    for (int i = 0; i < wanderer->n; i++)
        if (wanderer->jobs[i] != note->job) wanderer->jobs[kept++] = wanderer->jobs[i];
    wanderer->n = kept;
    wanderer->n_done++;
}

static void start_all(struct wanderer *wanderer, struct job_plan *plan)
{
    for (int i = 0; i < wanderer->n; i++)
        if (wanderer->jobs[i]->state == JOB_PENDING) job_plan_start(plan, wanderer->jobs[i], "fits");
}

static int stays_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)view;
    start_all(state, plan);
    return 0;
}

static double least_part; /* of its speed that a job asks for elsewhere */

static int wanders_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct wanderer *wanderer = state;
    start_all(wanderer, plan);
    for (int i = 0; i < wanderer->n; i++)
        if (wanderer->jobs[i]->state == JOB_RUNNING && rng_below(view->random, 3) == 0)
            job_plan_migrate(plan, wanderer->jobs[i], 0, least_part * wanderer->jobs[i]->speed, "it wanders");
    if (wanderer->n > 0) job_plan_wake_at(plan, view->now_ns + 7 * SIM_NS_PER_S / 3);
    return 0;
}

static struct scheduler wanderer_of(int (*decide)(void *, const struct cluster_view *, struct job_plan *))
{
    return (struct scheduler){.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler), .family = POLICY_SCHEDULER,
                                         .name = "wanderer", .summary = "", .source = "",
                                         .state_bytes = sizeof(struct wanderer)},
                              .notify = wanderer_notify,
                              .decide = decide,
                              .migrates = decide == wanders_decide};
}

/* --- Runs --- */

enum { JOBS = 60 };

/* Jobs of 1 to 6 GPUs and up to two minutes, in a text that lasts. */
static const char *random_jobs(uint64_t round, int mean_gap_s)
{
    static char text[JOBS * 80];
    struct rng rng = test_rng(8, "migration", round);
    size_t length = 0;
    double submit_s = 0;
    for (int i = 0; i < JOBS; i++) {
        submit_s += rng_exponential(&rng, mean_gap_s);
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "%s{'submit': '%.3fs', 'duration': '%.3fs', 'gpus': %d}", i > 0 ? ", " : "",
                                   submit_s, 1 + 120 * rng_uniform(&rng), 1 + (int)rng_below(&rng, 6));
    }
    return text;
}

/* `more` in the section of jobs, `rest` behind it. */
static struct bed_rows *run_jobs(int nodes, const char *trace, const char *more, const char *rest,
                                 const struct scheduler *scheduler)
{
    return bed_ok(
        BED(.check = true, .policy = &scheduler->policy),
        "{'cluster': {'nodes': %d, 'gpus_per_node': 4}, 'jobs': {%s, 'trace': {'format': 'inline-jobs',"
        " 'jobs': [%s]}}%s}",
        nodes, more, trace, rest);
}

static int moves_of(const struct bed_rows *rows, int64_t job)
{
    int n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        n += rows->decisions[i].subject == job && strcmp(rows->decisions[i].action, "migrate") == 0;
    return n;
}

/* The sum of a metric that is not there is 0. */
static double sum_of(const struct bed_rows *rows, const char *name)
{
    const double value = bed_metric(rows, name);
    return isnan(value) ? 0 : value;
}

/* --- Laws --- */

#define RESTART "'restart': {'start': '3s', 'resume': '10s', 'migrate': '%s'}"
#define SAVES "'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '20s'}, 'bytes': '10GB',"\
    " 'write': '2.5GB/s', 'model': 'synchronous'}}}"

/* Nodes are alike: a job that asks for its very speed moves as one that takes any, and one that asks for more
 * never. */
TEST(a_job_moves_at_the_least_speed_that_it_asks_for)
{
    const struct scheduler wanders = wanderer_of(wanders_decide);
    static const double parts[] = {0, 1, 1 + 1e-9};
    int n_moves[3] = {0};
    for (uint64_t round = 0; round < 5; round++)
        for (int i = 0; i < 3; i++) {
            least_part = parts[i];
            struct bed_rows *rows = run_jobs(6, random_jobs(round, 6), "'scheduler': 'wanderer'", "", &wanders);
            least_part = 0;
            for (int64_t job = 0; job < JOBS; job++) n_moves[i] += moves_of(rows, job);
        }
    CHECK(n_moves[0] > 0);
    CHECK_EQ_INT(n_moves[1], n_moves[0]);
    CHECK_EQ_INT(n_moves[2], 0);
}

/* Under a placer that never refuses what fits by count. */
TEST(moves_that_cost_nothing_change_no_end)
{
    const struct scheduler stays = wanderer_of(stays_decide), wanders = wanderer_of(wanders_decide);
    double n_moves = 0;
    for (uint64_t round = 0; round < 20; round++) {
        char more[1024];
        snprintf(more, sizeof more, "'scheduler': 'wanderer', 'placement': 'first-fit', " SAVES ", " RESTART, "0s");
        const char *trace = random_jobs(round, 6);
        struct bed_rows *a = run_jobs(6, trace, more, "", &stays), *b = run_jobs(6, trace, more, "", &wanders);
        MUST(a->n_jobs == JOBS && b->n_jobs == JOBS);
        for (size_t i = 0; i < JOBS; i++) {
            CHECK_EQ_INT(a->jobs[i].id, b->jobs[i].id);
            CHECK_NEAR(b->jobs[i].start_s, a->jobs[i].start_s, 0);
            CHECK_NEAR(b->jobs[i].end_s, a->jobs[i].end_s, 0);
            CHECK_NEAR(b->jobs[i].gpu_s, a->jobs[i].gpu_s, 0);
        }
        n_moves += sum_of(b, "job.migrations.sum");
        CHECK_NEAR(sum_of(b, "job.migration_gpu_s.sum"), 0, 0);
        CHECK_NEAR(bed_metric(b, "job.checkpoint_gpu_s.sum"), bed_metric(a, "job.checkpoint_gpu_s.sum"), 1e-9);
    }
    CHECK(n_moves > 300);
}

/* On a cluster with room for all, a job ends as much later as its moves take, whatever it was at. */
TEST(each_move_takes_its_time)
{
    const struct scheduler stays = wanderer_of(stays_decide), wanders = wanderer_of(wanders_decide);
    char more[1024];
    snprintf(more, sizeof more, "'scheduler': 'wanderer', 'placement': 'random', " SAVES ", " RESTART, "4.5s");
    const char *trace = random_jobs(100, 6);
    struct bed_rows *a = run_jobs(100, trace, more, "", &stays), *b = run_jobs(100, trace, more, "", &wanders);
    double n_moves = 0, gpu_s = 0;
    MUST(a->n_jobs == JOBS && b->n_jobs == JOBS);
    for (int64_t i = 0; i < JOBS; i++) {
        const struct job_row *before = bed_job(a, i), *after = bed_job(b, i);
        const int moves = moves_of(b, i);
        n_moves += moves;
        gpu_s += 4.5 * moves * (double)after->gpus;
        CHECK_NEAR(after->end_s, before->end_s + 4.5 * moves, 1e-9);
        CHECK_EQ_INT(after->preemptions, 0);
    }
    CHECK(n_moves > 300);
    CHECK_NEAR(bed_metric(b, "job.migrations.sum"), n_moves, 0);
    CHECK_NEAR(bed_metric(b, "job.migration_gpu_s.sum"), gpu_s, 1e-6);
}

#define BREAKS                                                                                                         \
    ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '10min'}, 'repair': {'mean': '30s'},"    \
    " 'restart': {'mean': '5s'}}, 'software': {'scope': 'job', 'lifetime': {'mean': '2min'}}}}, 'seed': %d"

/* At speed 1 all GPU time that jobs hold is work that counts, work that was lost, or one of the waits. */
TEST(gpu_time_adds_up_by_cause)
{
    static const char *const causes[] = {"job.useful_gpu_s.sum", "job.lost_gpu_s.sum", "job.wait_gpu_s.sum",
                                         "job.checkpoint_gpu_s.sum", "job.migration_gpu_s.sum"};
    const struct scheduler wanders = wanderer_of(wanders_decide);
    for (int round = 0; round < 10; round++) {
        char more[1024], rest[512];
        snprintf(more, sizeof more, "'scheduler': 'wanderer', 'placement': 'first-fit', " SAVES ", " RESTART, "2.5s");
        snprintf(rest, sizeof rest, BREAKS, round);
        struct bed_rows *rows = run_jobs(6, random_jobs((uint64_t)round, 6), more, rest, &wanders);
        double sum = 0;
        for (int i = 0; i < 5; i++) {
            sum += bed_metric(rows, causes[i]);
            CHECK(bed_metric(rows, causes[i]) > 0);
        }
        CHECK_NEAR(sum, bed_metric(rows, "job.gpu_s.sum"), 1e-9 * sum);
    }
}

/* --- fifo-migrate --- */

#define APART                                                                                                          \
    "{'submit': '0s', 'duration': '10s', 'gpus': 3}, {'submit': '0s', 'duration': '100s', 'gpus': 2}"

/* The second job is on both nodes, at half of its speed. At 10 s it can be on one: 5 s of its work are done. */
TEST(jobs_move_together_when_there_is_room)
{
    const struct scheduler unused = wanderer_of(stays_decide);
    struct bed_rows *rows = run_jobs(2, APART,
                                     "'scheduler': 'fifo-migrate', 'placement': 'first-fit',"
                                     " 'restart': {'migrate': '5s'}, 'network_penalty': {'nodes': 0.5}",
                                     "", &unused);
    MUST(bed_job(rows, 1) != NULL);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 10 + 5 + 95, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.migrations.sum"), 1, 0);
    CHECK_NEAR(bed_metric(rows, "job.migration_gpu_s.sum"), 2 * 5, 1e-9);
    rows = run_jobs(2, APART,
                    "'scheduler': {'policy': 'fifo-migrate', 'gain': 1.1}, 'placement': 'first-fit',"
                    " 'network_penalty': {'nodes': 0.5}",
                    "", &unused);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 200, 1e-9);
}

/* Without a penalty nobody gains by a move. */
TEST(without_a_penalty_it_is_fifo_skip)
{
    const struct scheduler unused = wanderer_of(stays_decide);
    const char *trace = random_jobs(7, 6);
    struct bed_rows *a = run_jobs(6, trace, "'scheduler': 'fifo-skip'", "", &unused);
    struct bed_rows *b = run_jobs(6, trace, "'scheduler': 'fifo-migrate'", "", &unused);
    for (int64_t i = 0; i < JOBS; i++) CHECK_NEAR(bed_job(a, i)->end_s, bed_job(b, i)->end_s, 0);
    CHECK(isnan(bed_metric(b, "job.migrations.sum")));
}

/* With one, and moves that cost nothing, the mean completion time is shorter. */
TEST(moves_pay_where_distance_costs)
{
    const struct scheduler unused = wanderer_of(stays_decide);
    double jct_s[2] = {0};
    for (uint64_t round = 0; round < 20; round++) {
        for (int i = 0; i < 2; i++) {
            char more[256];
            snprintf(more, sizeof more,
                     "'scheduler': '%s', 'placement': 'first-fit', 'restart': {'migrate': '0s'},"
                     " 'network_penalty': {'nodes': 0.5}",
                     i == 0 ? "fifo-skip" : "fifo-migrate");
            struct bed_rows *rows = run_jobs(6, random_jobs(round, 7), more, "", &unused);
            jct_s[i] += bed_metric(rows, "job.jct_s.mean") / 20;
        }
    }
    CHECK(jct_s[1] < 0.97 * jct_s[0]);
}
