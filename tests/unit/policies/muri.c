/* Muri's groups by hand: jobs that complement each other are matched, and only when they do not all fit. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

static double long_first[] = {2, 1}, long_second[] = {1, 2};

static struct job_type types[] = {{.name = "x", .sharing.phases = {2, long_first}},
                                  {.name = "y", .sharing.phases = {2, long_second}}};

static void run_on(struct jobrun *run, const char *of, double duration_s, int32_t gpus, const char *placement)
{
    struct job_record records[16];
    size_t n = 0;
    for (; of[n] != 0; n++) {
        records[n] = jobrun_record((int64_t)n, 0, duration_s, 1);
        records[n].type = of[n] == 'x' ? "x" : "y";
    }
    const struct jobrun_spec spec = {.records = records, .n = n, .cluster = {.nodes = 1, .gpus_per_node = gpus},
                                     .scheduler = "muri", .placement = placement, .types = {2, types},
                                     .scheduler_params = "{\"round\": \"1s\"}"};
    jobrun_init(run, &spec, 0);
}

/* x beside y takes 3 s for an iteration of 3 s, x beside x takes 4 s. */
TEST(complements_are_matched)
{
    struct jobrun run;
    run_on(&run, "xxyy", 300, 2, NULL);
    for (int i = 0; i < 4; i++) CHECK_NEAR(run.jobs[i].jct_s, 300, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "xxxx", 300, 2, NULL);
    for (int i = 0; i < 4; i++) CHECK_NEAR(run.jobs[i].jct_s, 400, 1e-6);
    jobrun_fini(&run);
    run_on(&run, "xyxyxyxx", 300, 4, NULL); /* three pairs of x and y, and one of x and x */
    int n_fast = 0;
    for (int i = 0; i < 8; i++) n_fast += run.jobs[i].jct_s < 301;
    CHECK_EQ_INT(n_fast, 6);
    CHECK_NEAR(run.makespan_s, 300 + 300 - 300 * 3 / 4.0, 1e-6); /* the last two run alone once GPUs are free */
    jobrun_fini(&run);
}

TEST(jobs_that_fit_run_alone)
{
    struct jobrun run;
    run_on(&run, "xxx", 300, 3, NULL);
    for (int i = 0; i < 3; i++) CHECK_NEAR(run.jobs[i].jct_s, 300, 1e-6);
    jobrun_fini(&run);
}

/* Nodes take no groups, so the jobs run one after another. */
TEST(placed_jobs_run_alone)
{
    struct jobrun run;
    run_on(&run, "xy", 300, 1, "first-fit");
    CHECK_NEAR(run.jobs[0].jct_s, 300, 1e-6);
    CHECK_NEAR(run.jobs[1].jct_s, 600, 1e-6);
    jobrun_fini(&run);
}

/* Of three jobs of three types on two GPUs any two could share one. The best pair does, whatever the order, and no job
 * is slower than alone. Halves of three pairs would have a larger sum. */
TEST(the_best_pair_of_three_shares)
{
    static double even[] = {1.5, 1.5};
    struct job_type three[] = {types[0], types[1], {.name = "z", .sharing.phases = {2, even}}};
    static const char *const orders[] = {"xyz", "xzy", "yxz", "yzx", "zxy", "zyx"};
    for (int i = 0; i < 6; i++) {
        struct job_record records[3];
        SCOPED(jobrun) run;
        for (int id = 0; id < 3; id++) {
            records[id] = jobrun_record(id, 0, 300, 1);
            records[id].type = three[orders[i][id] - 'x'].name;
        }
        const struct jobrun_spec spec = {.records = records, .n = 3, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                         .scheduler = "muri", .types = {3, three},
                                         .scheduler_params = "{\"round\": \"1000s\", \"most\": 2}"};
        jobrun_init(&run, &spec, 0);
        for (int id = 0; id < 3; id++) CHECK_NEAR(run.jobs[id].jct_s, 300, 1e-6);
    }
}

/* Beyond the number of kinds that are matched exactly, the heaviest pair shares first, wherever it stands in the
 * order: the two jobs with even phases, which slow each other down by nothing. */
TEST(the_heaviest_pair_of_many_types_shares)
{
    enum { N_TYPES = 42, N = N_TYPES + 1 };
    static double even[] = {1.5, 1.5}, uneven[N_TYPES][2];
    static char names[N_TYPES][8];
    struct job_type many[N_TYPES] = {{.name = "even", .sharing.phases = {2, even}}};
    for (int k = 1; k < N_TYPES; k++) {
        uneven[k][0] = 2.5 + 0.01 * k;
        uneven[k][1] = 3 - uneven[k][0];
        snprintf(names[k], sizeof names[k], "x%d", k);
        many[k] = (struct job_type){.name = names[k], .sharing.phases = {2, uneven[k]}};
    }
    for (int first = 0; first < N - 1; first += 7) {
        struct job_record records[N];
        SCOPED(jobrun) run;
        for (int id = 0, next = 1; id < N; id++) {
            records[id] = jobrun_record(id, 0, 300, 1);
            records[id].type = id == first || id == N - 1 ? "even" : many[next++].name;
        }
        const struct jobrun_spec spec = {.records = records, .n = N, .cluster = {.nodes = 1, .gpus_per_node = N - 1},
                                         .scheduler = "muri", .types = {N_TYPES, many},
                                         .scheduler_params = "{\"round\": \"1000s\", \"most\": 2}"};
        jobrun_init(&run, &spec, 0);
        CHECK_NEAR(run.jobs[first].jct_s, 300, 1e-6);
        CHECK_NEAR(run.jobs[N - 1].jct_s, 300, 1e-6);
    }
}
