/* Synergy: CPUs and memory go to the jobs that gain by them, and no job is slower than with its own share. */
#include "sim/core/text.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* CPUs of images: as fast as its GPUs from 6 for each on, half as fast with 3; language needs half a CPU. */
#define IMAGE "'image': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 6, 'speed': 2}]}}"
#define LANGUAGE "'language': {'host': {'cpus': [{'per_gpu': 0.5, 'speed': 1}]}}"
#define CACHE                                                                                                          \
    "'cached': {'host': {'cpus': [{'per_gpu': 2, 'speed': 3}], 'memory': [{'per_gpu': '0B', 'speed': 1},"              \
    " {'per_gpu': '100GB', 'speed': 2}, {'per_gpu': '200GB', 'speed': 3}]}}"

/* One node of 8 GPUs and 24 CPUs, 3 for each. */
static struct bed_rows *run(const char *scheduler, const char *more, const char *jobs)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 24, 'memory_per_node': '800GB'},"
                  " 'jobs': {'scheduler': %s, 'types': {" IMAGE ", " LANGUAGE ", " CACHE "}, %s 'trace': {'format':"
                  " 'inline-jobs', 'jobs': [%s]}}, 'keep': 'decisions'}",
                  scheduler, more, jobs);
}

#define DIVISION(name) "{'policy': 'synergy', 'division': '" name "'}"

TEST(a_job_that_gains_by_cpus_has_them)
{
    static const char jobs[] = "{'duration': '100s', 'type': 'image'}, {'duration': '100s', 'type': 'language'},"
                               "{'duration': '100s'}";
    const struct bed_rows *tuned = run(DIVISION("tune"), "", jobs), *equal = run(DIVISION("proportional"), "", jobs);
    const struct bed_rows *greedy = run(DIVISION("greedy"), "", jobs);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(bed_job(tuned, i)->end_s, i == 0 ? 50 : 100, 0);
        CHECK_NEAR(bed_job(greedy, i)->end_s, i == 0 ? 50 : 100, 0);
        CHECK_NEAR(bed_job(equal, i)->end_s, 100, 0);
    }
}

/* Eight images want 48 of 24 CPUs. With greedy half of them wait; tuned they share as if nobody knew. */
TEST(images_alone_gain_nothing_and_greedy_leaves_gpus_idle)
{
    SCOPED(text) jobs;
    text_init(&jobs);
    for (int i = 0; i < 8; i++) text_printf(&jobs, "%s{'duration': '100s', 'type': 'image'}", i > 0 ? ", " : "");
    const struct bed_rows *tuned = run(DIVISION("tune"), "", jobs.chars);
    const struct bed_rows *greedy = run(DIVISION("greedy"), "", jobs.chars);
    for (int i = 0; i < 8; i++) {
        CHECK_NEAR(bed_job(tuned, i)->end_s, 100, 0);
        CHECK_NEAR(bed_job(greedy, i)->start_s, i < 4 ? 0 : 50, 0);
        CHECK_NEAR(bed_job(greedy, i)->end_s, i < 4 ? 50 : 100, 0);
    }
}

/* Two images on 4 GPUs each want 24 CPUs; the first has them until the second comes and takes back its own share. At
 * 60 s the first has done 40 s at twice the speed and needs 20 s more; then the second has all CPUs. */
TEST(an_excess_is_given_back_to_those_who_come)
{
    const struct bed_rows *rows = run(DIVISION("tune"), "",
                                      "{'duration': '100s', 'gpus': 4, 'type': 'image'},"
                                      "{'submit': '40s', 'duration': '100s', 'gpus': 4, 'type': 'image'}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 60, 0);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 60 + 40, 0);
    CHECK_EQ_INT(bed_decisions(rows, "tune", 0), 1);
    CHECK_EQ_INT(bed_decisions(rows, "tune", 1), 1);
    const struct bed_rows *cpus = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 12}, 'jobs': {'scheduler': 'synergy', 'placement':"
        " 'first-fit', 'types': {" IMAGE
        "}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 2,"
        " 'type': 'image'}, {'submit': '9s', 'duration': '9s', 'gpus': 2, 'cpus': 6}]}}, 'keep': 'decisions'}");
    CHECK_EQ_INT(bed_decisions(cpus, "tune", 0), 2);
    for (size_t i = 0; i < cpus->n_decisions; i++) CHECK(strstr(cpus->decisions[i].reason, "GB") == NULL);
}

/* 100 GB for each GPU are its own share, and twice as fast as none; it has 200 GB while the others need none. */
TEST(memory_is_divided_too)
{
    const struct bed_rows *rows = run(DIVISION("tune"), "",
                                      "{'duration': '90s', 'gpus': 4, 'type': 'cached'},"
                                      "{'duration': '90s', 'gpus': 4, 'type': 'language'}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 60, 0);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 90, 0);
    const struct bed_rows *two = run(DIVISION("tune"), "",
                                     "{'duration': '90s', 'gpus': 4, 'type': 'cached'},"
                                     "{'duration': '90s', 'gpus': 4, 'type': 'cached'}");
    for (int i = 0; i < 2; i++) CHECK_NEAR(bed_job(two, i)->end_s, 90, 0);
}

/* The second job has 2 GPUs of node 0, where 8 CPUs are free, and 1 of node 1, where 12 are. It has 4 CPUs for each. */
TEST(each_gpu_of_a_job_has_as_much_as_the_fullest_node_allows)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'cpus_per_node': 12}, 'jobs': {'scheduler': 'synergy', 'placement':"
        " 'first-fit', 'types': {" IMAGE
        "}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 2,"
        " 'cpus': 4}, {'duration': '100s', 'gpus': 3, 'type': 'image'}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100, 0);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 75, 0);
}

/* --- Random lists --- */

enum { LISTS = 40, JOBS = 60 };

/* durations_s [JOBS]; NULL: nobody asks. */
static void draw_jobs(struct text *text, struct rng *rng, int most_gpus, bool asks, double *durations_s)
{
    static const char *const types[] = {"image", "language", "cached", "other"};
    double submit_s = 0;
    for (int i = 0; i < JOBS; i++) {
        submit_s += rng_below(rng, 4) == 0 ? 0 : (double)rng_below(rng, 40);
        const int duration_s = 1 + (int)rng_below(rng, 200);
        if (durations_s != NULL) durations_s[i] = duration_s;
        text_printf(text, "%s{'submit': '%gs', 'duration': '%ds', 'gpus': %d, 'type': '%s'", i > 0 ? ", " : "",
                    submit_s, duration_s, 1 + (int)rng_below(rng, (uint64_t)most_gpus), types[rng_below(rng, 4)]);
        if (asks && rng_below(rng, 3) == 0)
            text_printf(text, ", 'cpus': %d, 'memory': '%dGB'", 1 + (int)rng_below(rng, 12), (int)rng_below(rng, 300));
        text_add(text, "}");
    }
}

static struct bed_rows *run_list(const char *scheduler, const char *types, const char *jobs, const char *placement)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 3, 'gpus_per_node': 4, 'cpus_per_node': 14, 'memory_per_node': '500GB'}, 'jobs':"
                  " {'scheduler': %s, 'types': {%s}, 'placement': '%s', 'trace': {'format': 'inline-jobs', 'jobs':"
                  " [%s]}}, 'keep': 'decisions'}",
                  scheduler, types, placement, jobs);
}

static const char *const placements[] = {"consolidated", "first-fit", "best-fit", "fgd"};

/* A job's time on GPUs is at most its run time, which is that with its own share. */
TEST(no_job_is_slower_than_with_its_own_share)
{
    struct rng rng = test_rng(2022, "synergy", 0);
    int n_faster = 0;
    for (int i = 0; i < LISTS; i++) {
        SCOPED(text) jobs;
        text_init(&jobs);
        double durations_s[JOBS];
        draw_jobs(&jobs, &rng, i % 2 == 0 ? 4 : 8, true, durations_s);
        struct bed_rows *rows = run_list(i % 3 == 0 ? "{'policy': 'synergy', 'order': 'srtf'}" : "'synergy'",
                                         IMAGE ", " LANGUAGE ", " CACHE, jobs.chars, placements[i % 4]);
        for (size_t k = 0; k < rows->n_jobs; k++) {
            const struct job_row *job = &rows->jobs[k];
            if (strcmp(job->status, "finished") != 0) continue;
            const double held_s = job->gpu_s / (double)job->gpus, duration_s = durations_s[job->id];
            CHECK(held_s <= duration_s + 1e-6);
            n_faster += held_s < 0.9 * duration_s;
        }
        bed_free(rows);
    }
    CHECK(n_faster > LISTS);
}

/* Jobs that gain by nothing: all divisions decide alike, byte for byte, whatever jobs ask for. */
TEST(jobs_that_gain_by_nothing_run_as_without)
{
    struct rng rng = test_rng(2022, "synergy", 1);
    for (int i = 0; i < LISTS; i++) {
        SCOPED(text) jobs;
        text_init(&jobs);
        draw_jobs(&jobs, &rng, i % 2 == 0 ? 4 : 8, true, NULL);
        struct bed_rows *tuned = run_list(DIVISION("tune"), "", jobs.chars, placements[i % 4]);
        struct bed_rows *equal = run_list(DIVISION("proportional"), "", jobs.chars, placements[i % 4]);
        struct bed_rows *greedy = run_list(DIVISION("greedy"), "", jobs.chars, placements[i % 4]);
        CHECK(bed_equal(tuned, equal));
        CHECK(bed_equal(greedy, equal));
        CHECK_EQ_INT(bed_decisions(tuned, "tune", -1), 0);
        bed_free(tuned);
        bed_free(equal);
        bed_free(greedy);
    }
}

/* With jobs of one GPU, which fit wherever one is free, the base orders are the schedulers of these names. */
TEST(base_orders_are_those_of_their_names)
{
    static const char *const pairs[][2] = {{"{'policy': 'synergy', 'order': 'fifo'}", "'fifo'"},
                                           {"{'policy': 'synergy', 'order': 'srtf'}", "'srtf'"}};
    struct rng rng = test_rng(2022, "synergy", 2);
    for (int i = 0; i < LISTS; i++) {
        SCOPED(text) jobs;
        text_init(&jobs);
        draw_jobs(&jobs, &rng, 1, false, NULL);
        struct bed_rows *rows[2];
        for (int k = 0; k < 2; k++) rows[k] = run_list(pairs[i % 2][k], "", jobs.chars, "consolidated");
        for (int k = 0; k < JOBS; k++) {
            CHECK_NEAR(bed_job(rows[0], k)->start_s, bed_job(rows[1], k)->start_s, 0);
            CHECK_NEAR(bed_job(rows[0], k)->end_s, bed_job(rows[1], k)->end_s, 0);
        }
        for (int k = 0; k < 2; k++) bed_free(rows[k]);
    }
}

/* --- By a naive division of one node's CPUs --- */

enum { GPUS = 6, NODE_MILLI = 20000, OWN_MILLI = NODE_MILLI / GPUS };

struct naive_job {
    double submit_s, left_s, end_s; /* left_s: of work, at the speed with its own share */
    int gpus, knee, top;            /* table: (knee CPUs, 1), (top CPUs, gain) for each GPU */
    double gain;
    int64_t held_milli;
    bool runs;
};

static double table_at(const struct naive_job *job, double cpus)
{
    if (cpus <= job->knee) return cpus / job->knee;
    if (cpus >= job->top) return job->gain;
    return 1 + (job->gain - 1) * (cpus - job->knee) / (job->top - job->knee);
}

static double speed_with(const struct naive_job *job, int64_t milli)
{
    return table_at(job, (double)milli / 1000 / job->gpus) / table_at(job, OWN_MILLI / 1000.0);
}

static int64_t best_of(const struct naive_job *job)
{
    return INT64_C(1000) * job->gpus * (job->gain > 1 ? job->top : job->knee);
}

static int64_t own_of(const struct naive_job *job)
{
    const int64_t own = (int64_t)OWN_MILLI * job->gpus, best = best_of(job);
    return own < best ? own : best;
}

static int64_t free_milli(const struct naive_job *jobs, int n)
{
    int64_t left = NODE_MILLI;
    for (int i = 0; i < n; i++) left -= jobs[i].runs ? jobs[i].held_milli : 0;
    return left;
}

/* Gives back, in multiples of one for each GPU, until `wanted` is free. */
static void take_back(struct naive_job *jobs, int n, int64_t wanted)
{
    for (int i = n; i-- > 0;) {
        struct naive_job *job = &jobs[i];
        const int64_t missing = wanted - free_milli(jobs, n), excess = job->runs ? job->held_milli - own_of(job) : 0;
        if (missing <= 0) return;
        if (excess <= 0) continue;
        const int64_t part = missing < excess ? missing : excess;
        job->held_milli -= (part + job->gpus - 1) / job->gpus * job->gpus;
        if (job->held_milli < own_of(job)) job->held_milli = own_of(job);
    }
}

static void grow(struct naive_job *jobs, int n)
{
    for (int i = 0; i < n; i++) {
        struct naive_job *job = &jobs[i];
        if (!job->runs) continue;
        const int64_t room = (job->held_milli + free_milli(jobs, n)) / job->gpus * job->gpus;
        const int64_t more = room < best_of(job) ? room : best_of(job);
        if (more > job->held_milli) job->held_milli = more;
    }
}

static void begin(struct naive_job *jobs, int n, int at)
{
    struct naive_job *job = &jobs[at];
    int64_t wants = best_of(job);
    if (wants > free_milli(jobs, n)) wants = own_of(job);
    if (wants > free_milli(jobs, n)) take_back(jobs, n, wants);
    job->held_milli = wants;
    job->runs = true;
}

/* Jobs that all fit by GPUs: each runs from its submission on. */
static void naive_run(struct naive_job *jobs, int n)
{
    double now_s = 0;
    for (int n_left = n; n_left > 0;) {
        double next_s = INFINITY;
        for (int i = 0; i < n; i++) {
            if (jobs[i].runs) next_s = fmin(next_s, now_s + jobs[i].left_s / speed_with(&jobs[i], jobs[i].held_milli));
            if (!jobs[i].runs && jobs[i].left_s > 0) next_s = fmin(next_s, jobs[i].submit_s);
        }
        for (int i = 0; i < n; i++) {
            if (!jobs[i].runs) continue;
            jobs[i].left_s -= (next_s - now_s) * speed_with(&jobs[i], jobs[i].held_milli);
            if (jobs[i].left_s > 1e-7) continue;
            jobs[i].runs = false;
            jobs[i].left_s = 0;
            jobs[i].end_s = next_s;
            n_left--;
        }
        now_s = next_s;
        for (int i = 0; i < n; i++)
            if (!jobs[i].runs && jobs[i].left_s > 0 && jobs[i].submit_s <= now_s) begin(jobs, n, i);
        grow(jobs, n);
        CHECK(free_milli(jobs, n) >= 0);
    }
}

/* The most that jobs at the same time can do, over all divisions in steps of 1/4 CPU that leave each its own share. */
static double best_sum(const struct naive_job *jobs, int n, int64_t left)
{
    if (n == 0) return 0;
    double most = 0;
    for (int64_t milli = own_of(jobs); milli <= left; milli += 250) {
        const double sum = speed_with(jobs, milli) + best_sum(jobs + 1, n - 1, left - milli);
        if (sum > most) most = sum;
        if (milli >= best_of(jobs)) break;
    }
    return most;
}

static int draw_naive(struct rng *rng, struct naive_job *jobs)
{
    int n = 0, gpus = 0;
    double submit_s = 0;
    while (n < 4 && gpus < GPUS) {
        struct naive_job *job = &jobs[n++];
        *job = (struct naive_job){.submit_s = submit_s, .left_s = 100 + (double)rng_below(rng, 400)};
        job->gpus = 1 + (int)rng_below(rng, (uint64_t)(GPUS - gpus < 3 ? GPUS - gpus : 3));
        job->knee = 1 + (int)rng_below(rng, 3);
        job->top = job->knee + 1 + (int)rng_below(rng, 6);
        job->gain = rng_below(rng, 3) == 0 ? 1 : 1 + (double)rng_below(rng, 4) / 2;
        gpus += job->gpus;
        submit_s += rng_below(rng, 2) == 0 ? 0 : 1 + (double)rng_below(rng, 90);
    }
    return n;
}

static struct bed_rows *run_naive(const struct naive_job *jobs, int n)
{
    SCOPED(text) types, list;
    text_init(&types);
    text_init(&list);
    for (int i = 0; i < n; i++) {
        const struct naive_job *job = &jobs[i];
        text_printf(&types, "%s't%d': {'host': {'cpus': [{'per_gpu': %d, 'speed': 1}", i > 0 ? ", " : "", i, job->knee);
        if (job->gain > 1) text_printf(&types, ", {'per_gpu': %d, 'speed': %g}", job->top, job->gain);
        text_add(&types, "]}}");
        text_printf(&list, "%s{'submit': '%gs', 'duration': '%gs', 'gpus': %d, 'type': 't%d'}", i > 0 ? ", " : "",
                    job->submit_s, job->left_s, job->gpus, i);
    }
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 1, 'gpus_per_node': %d, 'cpus_per_node': %d}, 'jobs': {'scheduler': 'synergy',"
                  " 'types': {%s}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                  GPUS, NODE_MILLI / 1000, types.chars, list.chars);
}

TEST(jobs_of_one_node_end_as_in_a_naive_division)
{
    enum { CASES = 300 };
    struct rng rng = test_rng(2022, "synergy", 3);
    int n_tuned = 0;
    for (int i = 0; i < CASES; i++) {
        struct naive_job jobs[4];
        const int n = draw_naive(&rng, jobs);
        struct bed_rows *rows = run_naive(jobs, n);
        double before_s[4];
        for (int k = 0; k < n; k++) before_s[k] = jobs[k].submit_s + jobs[k].left_s;
        naive_run(jobs, n);
        for (int k = 0; k < n; k++) {
            CHECK_NEAR(bed_job(rows, k)->end_s, jobs[k].end_s, 1e-5);
            CHECK(jobs[k].end_s <= before_s[k] + 1e-6);
            n_tuned += jobs[k].end_s < before_s[k] - 1;
        }
        bed_free(rows);
    }
    CHECK(n_tuned > CASES / 2);
}

/* Jobs that come at one moment, in the naive division, in which the test before finds those of Orrery: what they do
 * together is no less than with own shares and no more than the best of all
 * divisions by brute force; with one job that gains it is the best. */
TEST(a_division_lies_between_own_shares_and_the_best_of_all)
{
    enum { CASES = 150 };
    static const double step = 1.5e-3; /* of speed: the steepest table gains that by 1/1000 CPU for each GPU */
    struct rng rng = test_rng(2022, "synergy", 4);
    int n_best = 0, n_alone = 0;
    for (int i = 0; i < CASES; i++) {
        struct naive_job jobs[4];
        const int n = draw_naive(&rng, jobs);
        int n_gaining = 0;
        double sum = 0;
        for (int k = 0; k < n; k++) begin(jobs, n, k);
        grow(jobs, n);
        for (int k = 0; k < n; k++) {
            sum += speed_with(&jobs[k], jobs[k].held_milli);
            n_gaining += best_of(&jobs[k]) > own_of(&jobs[k]);
        }
        const double best = best_sum(jobs, n, NODE_MILLI);
        CHECK(sum >= n - 1e-9);
        CHECK(best >= n - 1e-9);
        CHECK(sum <= best * 1.02 + 1e-9); /* amounts between two steps of 1/4 CPU */
        if (n_gaining <= 1) CHECK(sum >= best - step);
        n_alone += n_gaining == 1;
        n_best += sum >= best - step;
    }
    CHECK(n_alone > 10);
    CHECK(n_best > CASES / 2);
}

/* --- What is refused --- */

static void check_hint(const char *cluster, const char *placement, const char *host, const char *text, const char *hint)
{
    const struct bed_rows *rows = bed_run(BED(.quiet = true),
                                          "{'cluster': {'nodes': 2%s}, 'jobs': {'placement': '%s', 'types': {'default':"
                                          " {'host': {%s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration':"
                                          " '1s'}]}}}",
                                          cluster, placement, host);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    MUST(rows->diag.n_items > 0);
    if (strstr(rows->diag.items[0].text, text) == NULL) CHECK_EQ_STR(rows->diag.items[0].text, text);
    if (hint == NULL) return;
    CHECK(strstr(rows->diag.items[0].hint, hint) != NULL);
    CHECK(strstr(rows->diag.items[0].where, ":1:") != NULL); /* file, line and column */
}

static void check_refused(const char *cluster, const char *placement, const char *host, const char *text)
{
    check_hint(cluster, placement, host, text, NULL);
}

TEST(wrong_needs_are_refused)
{
    static const char cpus[] = "'cpus': [{'per_gpu': 3, 'speed': 1}]", counted[] = ", 'cpus_per_node': 8";
    check_refused("", "consolidated", cpus, "needs 'cluster.cpus_per_node', and nodes with GPUs");
    check_refused(counted, "consolidated", "'memory': [{'per_gpu': '3GB', 'speed': 1}]",
                  "needs 'cluster.memory_per_node', and nodes with GPUs");
    check_refused(counted, "counted", cpus, "needs jobs on nodes, and the placement policy only counts GPUs");
    static const char table[] = "a table needs points with rising 'per_gpu', and a 'speed' that does not fall";
    check_hint(counted, "consolidated", "'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 3, 'speed': 2}]", table,
               "in the order of 'per_gpu'");
    check_hint(counted, "consolidated", "'cpus': [{'per_gpu': 3, 'speed': 2}, {'per_gpu': 4, 'speed': 1}]", table,
               "slower than the one before");
    check_hint(counted, "consolidated", "'cpus': []", table, "add a point");
}

/* Other schedulers give a job what it asks for; one that asks for nothing has an equal part for each GPU. */
TEST(a_job_under_another_scheduler_has_its_own_share)
{
    const struct bed_rows *rows = run("'fifo'", "",
                                      "{'duration': '100s', 'type': 'image', 'cpus': 6},"
                                      "{'duration': '100s', 'type': 'image'}, {'submit': '1s', 'duration':"
                                      " '10s', 'gpus': 6, 'type': 'image', 'cpus': 16}");
    for (int i = 0; i < 2; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 100, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 100, 0); /* 16 CPUs are not free beside 6 and 3 */
}

/* Two jobs on one GPU, the first with a = k m + 1 rounds of work, the other with k times as many. The first runs for a
 * round. From then on the other one runs for one round and the first for k: that keeps their waits in proportion to
 * their run times. So the first ends after 1 + (k + 1) m rounds, and both after (k + 1) a. */
TEST(fair_finish_times_have_a_closed_form)
{
    for (int k = 1; k <= 4; k++)
        for (int m = 1; m <= 4; m++) {
            const int a = k * m + 1;
            const struct bed_rows *rows = bed_ok(
                BED(.check = true),
                "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': {'policy': 'synergy', 'order':"
                " 'ftf', 'round': '60s'}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '%ds'}, {'duration':"
                " '%ds'}]}}}",
                60 * a, 60 * k * a);
            CHECK_NEAR(bed_job(rows, 0)->end_s, 60 * (1 + (k + 1) * m), 0);
            CHECK_NEAR(bed_job(rows, 1)->end_s, 60 * (k + 1) * a, 0);
        }
}

/* --- Policies that ask for the impossible --- */

static const struct job_view *known; /* the only job of a run */
static struct job_host wanted;
static bool starts_first;

static void take_note(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)state;
    (void)view;
    known = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int set_wanted(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state;
    (void)view;
    if (known == NULL || known->state != JOB_PENDING) return 0;
    if (starts_first) CHECK(job_plan_start(plan, known, "first"));
    const bool is_set = job_plan_set_host(plan, known, &wanted, "wanted");
    struct job_part part = {0};
    if (is_set) CHECK(job_view_next_part(known, &part) && part.cpu_milli == wanted.cpu_milli);
    return 0;
}

static struct bed_rows *run_wanted(bool starts, int64_t cpu_milli)
{
    static const struct scheduler wants = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                      .family = POLICY_SCHEDULER, .name = "wants", .summary = "",
                                                      .source = ""},
                                           .notify = take_note,
                                           .decide = set_wanted};
    starts_first = starts;
    wanted = (struct job_host){cpu_milli, 0};
    known = NULL;
    return bed_run(BED(.check = true, .quiet = true, .policy = &wants.policy),
                   "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'cpus_per_node': 8}, 'jobs': {'scheduler': 'wants',"
                   " 'types': {" IMAGE "}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'type':"
                   " 'image', 'cpus': 3}]}}}");
}

TEST(amounts_that_cannot_be_are_refused_or_faults)
{
    const struct bed_rows *rows = run_wanted(true, 6000);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 50, 0);
    rows = run_wanted(true, 9000); /* of 8 CPUs: no room, and the job goes on as before */
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100, 0);
    CHECK_EQ_INT(run_wanted(true, -1)->code, SIM_E_POLICY);
    rows = run_wanted(false, 1000);
    CHECK_EQ_INT(rows->code, SIM_E_POLICY);
    CHECK(strstr(rows->diag.items[0].text, "does not run") != NULL);
}
