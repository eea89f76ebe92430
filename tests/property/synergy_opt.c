/* Synergy's optimum by a linear program, against brute force and the other divisions; and its orders that change while
 * jobs wait, against naive rounds. */
#include "sim/core/text.h"
#include "sim/world/policy/scheduler.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

extern const struct scheduler scheduler_synergy;

/* --- A policy that divides as synergy does, and measures its first decision --- */

enum { MOST_JOBS = 16 };

static struct measured {
    const struct job_view *jobs[MOST_JOBS];
    int n, n_running;
    double sum, least; /* of the speeds of running jobs; 1: with what a job asked for */
    bool is_done;
} measured;

static void measured_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    if (note->event == JOB_EVENT_SUBMIT && measured.n < MOST_JOBS) measured.jobs[measured.n++] = note->job;
    scheduler_synergy.notify(state, view, note);
}

static double speed_of(const struct cluster_view *view, const struct job_view *job)
{
    struct job_host held = {0, 0};
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        held.cpu_milli += part.cpu_milli;
        held.memory_bytes += part.memory_bytes;
    }
    return job_view_host_speed(view, job, &held);
}

static int measured_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const int code = scheduler_synergy.decide(state, view, plan);
    for (int i = 0; i < measured.n && !measured.is_done; i++) {
        if (measured.jobs[i]->state != JOB_RUNNING) continue;
        const double speed = speed_of(view, measured.jobs[i]);
        measured.sum += speed;
        measured.least = fmin(measured.least, speed);
        measured.n_running++;
    }
    measured.is_done = true;
    return code;
}

static struct measured measure(const char *division, const char *cluster, const char *types, const char *jobs)
{
    struct scheduler policy = scheduler_synergy;
    policy.policy.name = "measured";
    policy.notify = measured_notify;
    policy.decide = measured_decide;
    measured = (struct measured){.least = (double)INFINITY};
    struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &policy.policy),
                                   "{'cluster': {%s}, 'jobs': {'scheduler': {'policy': 'measured', 'division': '%s'},"
                                   " 'placement': 'consolidated', 'types': {%s}, 'trace': {'format': 'inline-jobs',"
                                   " 'jobs': [%s]}}}",
                                   cluster, division, types, jobs);
    bed_free(rows);
    return measured;
}

/* --- The optimum --- */

/* 24 CPUs and 8 GPUs; a job asks for 3 CPUs for each GPU. Its speed rises by a straight line from 3 CPUs to `top`. */
enum { NODE_CPUS = 24, NODE_GPUS = 8, OWN_CPUS = 3 };

struct toy {
    int gpus, knee, top;
    double gain; /* at the top, over the knee */
    int mid;     /* where two thirds of that gain are reached; 0: the line is straight */
};

static double toy_at(const struct toy *toy, double cpus)
{
    if (cpus <= toy->knee) return cpus / toy->knee;
    if (cpus >= toy->top) return toy->gain;
    if (toy->mid > 0 && cpus <= toy->mid)
        return 1 + (toy->gain - 1) * 2 / 3 * (cpus - toy->knee) / (toy->mid - toy->knee);
    if (toy->mid > 0) return toy->gain - (toy->gain - 1) / 3 * (toy->top - cpus) / (toy->top - toy->mid);
    return 1 + (toy->gain - 1) * (cpus - toy->knee) / (toy->top - toy->knee);
}

/* The most that jobs do together, over all divisions in whole CPUs. Lines bend only at whole CPUs, and so do optima. */
static double brute_force(const struct toy *toys, int n, int left)
{
    double most = -1;
    if (n == 0) return 0;
    for (int cpus = OWN_CPUS * toys->gpus; cpus <= left && cpus <= toys->top * toys->gpus; cpus++) {
        const double speed = toy_at(toys, (double)cpus / toys->gpus) / toy_at(toys, OWN_CPUS);
        most = fmax(most, speed + brute_force(toys + 1, n - 1, left - cpus));
    }
    return most;
}

TEST(the_optimum_is_that_of_brute_force)
{
    enum { CASES = 60 };
    struct rng rng = test_rng(2022, "synergy_opt", 0);
    int n_better = 0;
    for (int i = 0; i < CASES; i++) {
        SCOPED(text) types, jobs;
        text_init(&types);
        text_init(&jobs);
        struct toy toys[3];
        int n = 0, gpus = 0;
        for (; n < 3 && gpus < NODE_GPUS; gpus += toys[n++].gpus) {
            const int most = NODE_GPUS - gpus < 4 ? NODE_GPUS - gpus : 4, knee = 1 + (int)rng_below(&rng, OWN_CPUS);
            toys[n] = (struct toy){.gpus = 1 + (int)rng_below(&rng, (uint64_t)most),
                                   .knee = knee,
                                   .top = OWN_CPUS + 1 + (int)rng_below(&rng, 6),
                                   .gain = 1.25 + (double)rng_below(&rng, 8) / 4};
            text_printf(&types,
                        "%s't%d': {'host': {'cpus': [{'per_gpu': %d, 'speed': 1},"
                        " {'per_gpu': %d, 'speed': %g}]}}",
                        n > 0 ? ", " : "", n, knee, toys[n].top, toys[n].gain);
            text_printf(&jobs, "%s{'duration': '100s', 'gpus': %d, 'type': 't%d'}", n > 0 ? ", " : "", toys[n].gpus, n);
        }
        const char *cluster = "'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 24";
        const struct measured opt = measure("opt", cluster, types.chars, jobs.chars),
                              tune = measure("tune", cluster, types.chars, jobs.chars);
        CHECK_EQ_INT(opt.n_running, n);
        CHECK_NEAR(opt.sum, brute_force(toys, n, NODE_CPUS), 2e-3); /* amounts are whole milli-CPUs for each GPU */
        n_better += opt.sum > tune.sum + 0.01;
    }
    CHECK(n_better > CASES / 10); /* the first in the order is not always the one that gains most */
}

/* Tables have a bend at two thirds of the gain, where a level is. */
TEST(the_optimum_of_bent_tables_is_that_of_brute_force)
{
    enum { CASES = 40 };
    struct rng rng = test_rng(2022, "synergy_opt", 3);
    for (int i = 0; i < CASES; i++) {
        SCOPED(text) types, jobs;
        text_init(&types);
        text_init(&jobs);
        struct toy toys[3];
        for (int n = 0; n < 3; n++) {
            const int mid = OWN_CPUS + 1 + (int)rng_below(&rng, 3), top = 2 * mid - OWN_CPUS + (int)rng_below(&rng, 3);
            const int gpus = n < 2 ? 1 + (int)rng_below(&rng, 3) : NODE_GPUS - toys[0].gpus - toys[1].gpus;
            toys[n] = (struct toy){gpus, OWN_CPUS, top, 1.75 + (double)rng_below(&rng, 4) / 4, mid};
            text_printf(&types,
                        "%s't%d': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': %d, 'speed': %.17g},"
                        " {'per_gpu': %d, 'speed': %g}]}}",
                        n > 0 ? ", " : "", n, mid, toy_at(&toys[n], mid), top, toys[n].gain);
            text_printf(&jobs, "%s{'duration': '100s', 'gpus': %d, 'cpus': %d, 'type': 't%d'}", n > 0 ? ", " : "", gpus,
                        OWN_CPUS * gpus, n);
        }
        const int cpus = NODE_CPUS + 1 + (int)rng_below(&rng, 16);
        char cluster[80];
        snprintf(cluster, sizeof cluster, "'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': %d", cpus);
        const struct measured opt = measure("opt", cluster, types.chars, jobs.chars);
        CHECK_EQ_INT(opt.n_running, 3);
        CHECK_NEAR(opt.sum, brute_force(toys, 3, cpus), 2e-3);
    }
}

/* The first third of what a job gains by brings two thirds of its gain. */
static double amount_for(double gain)
{
    return gain < 2.0 / 3 ? gain / 2 : 1 - 2 * (1 - gain);
}

static double gain_with(double amount)
{
    return amount < 1.0 / 3 ? 2 * amount : 1 - (1 - fmin(amount, 1)) / 2;
}

/* Two jobs of 2 GPUs gain by CPUs and memory, from own shares of 2 CPUs and 50 GB for each on to the same speed. So
 * each speed has its least amounts, and for each of the first job the other one has what is left. */
TEST(the_optimum_of_cpus_and_memory_is_that_of_a_scan)
{
    enum { CASES = 60, STEPS = 4000 };
    struct rng rng = test_rng(2022, "synergy_opt", 4);
    int n_better = 0;
    for (int i = 0; i < CASES; i++) {
        double cpus[2], gb[2], gain[2], best = 0; /* cpus, gb: for each GPU beyond the own share, at the best */
        SCOPED(text) types, cluster;
        text_init(&types);
        text_init(&cluster);
        for (int n = 0; n < 2; n++) {
            cpus[n] = 1 + (double)rng_below(&rng, 6);
            gb[n] = 10 + (double)rng_below(&rng, 200);
            gain[n] = 0.5 + (double)rng_below(&rng, 20) / 10;
            text_printf(&types,
                        "%s't%d': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': %.17g, 'speed': %.17g},"
                        " {'per_gpu': %g, 'speed': %g}], 'memory': [{'per_gpu': '50GB', 'speed': 1}, {'per_gpu':"
                        " '%.17gGB', 'speed': %.17g}, {'per_gpu': '%gGB', 'speed': %g}]}}",
                        n > 0 ? ", " : "", n, 2 + cpus[n] / 3, 1 + gain[n] * 2 / 3, 2 + cpus[n], 1 + gain[n],
                        50 + gb[n] / 3, 1 + gain[n] * 2 / 3, 50 + gb[n], 1 + gain[n]);
        }
        /* Of what is left, for each GPU of a job: less than both jobs need at their best. */
        const double left_cpus = 0.25 * (1 + (double)rng_below(&rng, (uint64_t)(4 * (cpus[0] + cpus[1]) - 1))),
                     left_gb = 1 + (double)rng_below(&rng, (uint64_t)(gb[0] + gb[1]));
        for (int k = 0; k <= STEPS; k++) {
            const double first = (double)k / STEPS, amount = amount_for(first);
            const double rest = fmin((left_cpus - amount * cpus[0]) / cpus[1], (left_gb - amount * gb[0]) / gb[1]);
            if (rest >= 0) best = fmax(best, 2 + first * gain[0] + gain_with(rest) * gain[1]);
        }
        text_printf(&cluster, "'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': %g, 'memory_per_node': '%gGB'",
                    8 + 2 * left_cpus, 200 + 2 * left_gb);
        static const char jobs[] = "{'duration': '100s', 'gpus': 2, 'cpus': 4, 'memory': '100GB', 'type': 't0'},"
                                   "{'duration': '100s', 'gpus': 2, 'cpus': 4, 'memory': '100GB', 'type': 't1'}";
        const struct measured opt = measure("opt", cluster.chars, types.chars, jobs),
                              tune = measure("tune", cluster.chars, types.chars, jobs);
        CHECK_EQ_INT(opt.n_running, 2);
        CHECK_NEAR(opt.sum, best, 5e-3); /* amounts are whole milli-CPUs, and the scan has steps */
        n_better += opt.sum > tune.sum + 0.01;
    }
    CHECK(n_better > CASES / 10);
}

/* The wide job has a GPU of each node, and 4 of 6 CPUs make it twice as fast. Other jobs, which come before or after
 * it, gain little. So it has its best, and they keep 2 CPUs each. */
TEST(a_job_on_all_nodes_gets_its_best_from_each)
{
    const struct measured opt = measure(
        "opt", "'nodes': 3, 'gpus_per_node': 2, 'cpus_per_node': 6",
        "'steep': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 4, 'speed': 2}]}},"
        "'flat': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 6, 'speed': 1.1}]}}",
        "{'duration': '100s', 'cpus': 2, 'type': 'flat'},"
        " {'duration': '100s', 'gpus': 3, 'nodes': 3, 'cpus': 6, 'type': 'steep'},"
        " {'duration': '100s', 'cpus': 2, 'type': 'flat'}, {'duration': '100s', 'cpus': 2, 'type': 'flat'}");
    CHECK_EQ_INT(opt.n_running, 4);
    CHECK_NEAR(opt.sum, 2 + 3, 2e-3); /* amounts are whole milli-CPUs */
}

/* Of 14 CPUs the flat job keeps its own 7, which its 3 GPUs do not divide, and the steep one has 7 of the 8 that it
 * gains by. Nodes count no memory, whatever jobs ask for. */
TEST(an_own_share_that_gpus_do_not_divide_is_kept)
{
    const struct measured opt = measure(
        "opt", "'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 14",
        "'steep': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 8, 'speed': 2.2}]}},"
        "'flat': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 6, 'speed': 1.1}]}}",
        "{'duration': '100s', 'gpus': 3, 'cpus': 7, 'memory': '10GB', 'type': 'flat'},"
        " {'duration': '100s', 'cpus': 2, 'memory': '10GB', 'type': 'steep'}");
    CHECK_NEAR(opt.least, 1, 1e-12);
    CHECK_NEAR(opt.sum, 1 + 2, 1e-3);
}

/* Each of 100 nodes has two jobs, and a program of its own: together they would have 400 rows, too many to be solved.
 * Flat jobs start with 6 of 8 CPUs, and leave these to those that are twice as fast with them. */
TEST(nodes_without_jobs_in_common_are_divided_apart)
{
    SCOPED(text) jobs;
    text_init(&jobs);
    for (int i = 0; i < 200; i++)
        text_printf(&jobs, "%s{'duration': '100s', 'cpus': 2, 'type': '%s'}", i > 0 ? ", " : "",
                    i < 100 ? "flat" : "steep");
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 100, 'gpus_per_node': 2, 'cpus_per_node': 8}, 'jobs': {'scheduler': {'policy':"
        " 'synergy', 'division': 'opt'}, 'placement': 'best-fit', 'types': {'steep': {'host': {'cpus': [{'per_gpu': 2,"
        " 'speed': 1}, {'per_gpu': 6, 'speed': 2}]}}, 'flat': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1},"
        " {'per_gpu': 6, 'speed': 1.1}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        jobs.chars);
    CHECK_EQ_INT(rows->n_warnings, 0);
    for (int i = 100; i < 200; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 50, 0.1);
}

#define TYPES                                                                                                          \
    "'image': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 6, 'speed': 1.7}, "                           \
    "{'per_gpu': 9, 'speed': 2}]}},"                                                                                   \
    "'language': {'host': {'cpus': [{'per_gpu': 0.5, 'speed': 1}]}},"                                                  \
    "'flat': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 9, 'speed': 1.1}]}},"                          \
    "'steep': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 5, 'speed': 2}]}},"                           \
    "'cached': {'host': {'cpus': [{'per_gpu': 4, 'speed': 3}], 'memory': [{'per_gpu': '0B', 'speed': 1},"              \
    " {'per_gpu': '100GB', 'speed': 2}, {'per_gpu': '250GB', 'speed': 3}]}}"

/* Jobs on three nodes, some on two, ask for 2 of 3.5 CPUs for each GPU. The optimum does at least as much as `tune`,
 * which does at least what own shares do. No job is slower than with its own share. */
TEST(the_optimum_is_at_least_tuned_and_that_at_least_proportional)
{
    enum { CASES = 80 };
    static const char *const types[] = {"image", "flat", "steep", "cached", "language"};
    static const char cluster[] = "'nodes': 3, 'gpus_per_node': 4, 'cpus_per_node': 14, 'memory_per_node': '500GB'";
    struct rng rng = test_rng(2022, "synergy_opt", 1);
    int n_alike = 0, n_better = 0, n_wide = 0;
    for (int i = 0; i < CASES; i++) {
        SCOPED(text) jobs;
        text_init(&jobs);
        for (int gpus = 0, left = 12; left > 0; left -= gpus) {
            gpus = 1 + (int)rng_below(&rng, (uint64_t)(left < 6 ? left : 6));
            n_wide += gpus > 4;
            text_printf(&jobs, "%s{'duration': '100s', 'gpus': %d, 'cpus': %d, 'type': '%s'}", left < 12 ? ", " : "",
                        gpus, 2 * gpus, types[rng_below(&rng, 5)]);
        }
        const struct measured opt = measure("opt", cluster, TYPES, jobs.chars),
                              tune = measure("tune", cluster, TYPES, jobs.chars),
                              own = measure("proportional", cluster, TYPES, jobs.chars);
        CHECK_EQ_INT(opt.n_running, tune.n_running);
        CHECK(opt.sum >= tune.sum - 1e-9);
        CHECK(opt.least >= 1 - 1e-9);
        CHECK(tune.least >= 1 - 1e-9);
        CHECK_NEAR(own.sum, own.n_running, 1e-9);
        if (tune.n_running == own.n_running) CHECK(tune.sum >= own.sum - 1e-9);
        n_alike += tune.n_running == own.n_running;
        n_better += opt.sum > tune.sum + 1e-3;
    }
    CHECK(n_alike > CASES / 2);
    CHECK(n_better > CASES / 10);
    CHECK(n_wide > CASES / 10);
}

/* One job on 130 nodes has a program of 261 rows, more than the solver takes: it keeps what it holds, and is as fast as
 * with that. The program of two jobs on a further node is solved. */
TEST(a_program_that_is_too_large_is_given_up)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 131, 'gpus_per_node': 2, 'cpus_per_node': 8}, 'jobs': {'scheduler':"
        " {'policy': 'synergy', 'division': 'opt'}, 'placement': 'consolidated', 'types': {'steep': {'host': {'cpus':"
        " [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 5, 'speed': 2}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '100s', 'gpus': 260, 'type': 'steep'}, {'duration': '100s', 'type': 'steep'},"
        " {'duration': '100s', 'type': 'steep'}]}}}");
    MUST(rows->n_jobs == 3);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100, 1e-6);
    CHECK_EQ_INT(rows->n_warnings, 1);
}

static bool is_divided(const struct bed_decision *row)
{
    return strcmp(row->action, "tune") == 0 && strstr(row->reason, "gives back") == NULL;
}

/* No amount is handed out that goes to another job at the same moment. What a job gives back lets another start. */
TEST(a_job_has_one_amount_at_a_moment)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 32, 'memory_per_node': '800GB'}, 'jobs': {"
        "'scheduler': {'policy': 'synergy', 'division': 'opt'}, 'types': {" TYPES "}, 'trace': {"
        "'format': 'inline-jobs', 'jobs': [{'duration': '90s', 'gpus': 2, 'cpus': 6, 'type': 'flat'},"
        " {'duration': '80s', 'gpus': 2, 'cpus': 6, 'type': 'image'}, {'duration': '70s', "
        "'gpus': 4, 'cpus': 12, 'type': 'steep'}, {'submit': '10s', 'duration': '0.5s',"
        " 'gpus': 8}]}}, 'keep': 'decisions'}");
    size_t n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        for (size_t k = 0; k < i; k++) {
            const struct bed_decision *one = &rows->decisions[k], *other = &rows->decisions[i];
            if (!is_divided(one) || !is_divided(other)) continue;
            n++;
            CHECK(one->t_s != other->t_s || one->subject != other->subject);
        }
    CHECK(n > 3);
}

/* --- Orders that change --- */

/* Two jobs of 1,000 s take turns of 100 s on one GPU. */
TEST(equal_jobs_take_turns_by_attained_service)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': {'policy': 'synergy', 'order': 'las',"
        " 'round': '100s'}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s'},"
        " {'duration': '1000s'}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 1900, 0);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 2000, 0);
    CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 9);
}

/* The end of a round that is past the end of time never comes. */
TEST(a_round_may_end_after_the_end_of_time)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': {'policy': 'synergy', 'order': 'las',"
        " 'round': '60000d'}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '60001d', 'duration': '100s'},"
        " {'submit': '60001d', 'duration': '100s'}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 60001.0 * 86400 + 100, 1e-3);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 60001.0 * 86400 + 200, 1e-3);
}

struct naive {
    int submit_s, duration_s, gpus, done_s, end_s;
    bool runs;
};

static double naive_key(const struct naive *job, bool is_fair, int now_s)
{
    if (!is_fair) return (double)job->done_s * 1e9 * job->gpus;
    return -((double)(now_s - job->submit_s) * 1e9 + (double)(job->duration_s - job->done_s) * 1e9) /
           ((double)job->duration_s * 1e9);
}

/* Second by second; jobs are chosen anew at arrivals, ends and multiples of the round. */
static void run_naive(struct naive *jobs, int n, int gpus, int round_s, bool is_fair)
{
    int n_left = n;
    for (int now_s = 0; n_left > 0; now_s++) {
        bool decides = now_s % round_s == 0;
        for (int i = 0; i < n; i++) {
            decides = decides || jobs[i].submit_s == now_s;
            if (jobs[i].runs && ++jobs[i].done_s == jobs[i].duration_s) {
                jobs[i].runs = false;
                jobs[i].end_s = now_s;
                n_left--;
                decides = true;
            }
        }
        if (!decides) continue;
        bool is_seen[32] = {false};
        for (int left = gpus, k = 0; k < n; k++) {
            int best = -1;
            for (int i = 0; i < n; i++)
                if (!is_seen[i] && jobs[i].submit_s <= now_s && jobs[i].end_s < 0 &&
                    (best < 0 || naive_key(&jobs[i], is_fair, now_s) < naive_key(&jobs[best], is_fair, now_s)))
                    best = i;
            if (best < 0) break;
            is_seen[best] = true;
            jobs[best].runs = jobs[best].gpus <= left;
            if (jobs[best].runs) left -= jobs[best].gpus;
        }
    }
}

TEST(orders_that_change_are_those_of_naive_rounds)
{
    enum { CASES = 60, MOST = 12 };
    struct rng rng = test_rng(2022, "synergy_opt", 2);
    int n_preempted = 0;
    for (int i = 0; i < CASES; i++) {
        SCOPED(text) list;
        text_init(&list);
        struct naive jobs[MOST];
        const bool is_fair = i % 2 == 1;
        for (int k = 0, submit_s = 0; k < MOST; k++, submit_s += (int)rng_below(&rng, 60)) {
            jobs[k] = (struct naive){.submit_s = submit_s,
                                     .duration_s = 1 + (int)rng_below(&rng, 300),
                                     .gpus = 1 + (int)rng_below(&rng, 4),
                                     .end_s = -1};
            text_printf(&list, "%s{'submit': '%ds', 'duration': '%ds', 'gpus': %d}", k > 0 ? ", " : "", submit_s,
                        jobs[k].duration_s, jobs[k].gpus);
        }
        run_naive(jobs, MOST, 4, 25, is_fair);
        struct bed_rows *rows = bed_ok(BED(.check = true),
                                       "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'jobs': {'scheduler': {'policy':"
                                       " 'synergy', 'order': '%s', 'round': '25s'}, 'trace': {'format': 'inline-jobs',"
                                       " 'jobs': [%s]}}}",
                                       is_fair ? "ftf" : "las", list.chars);
        for (int k = 0; k < MOST; k++) {
            CHECK_NEAR(bed_job(rows, k)->end_s, jobs[k].end_s, 0);
            n_preempted += bed_job(rows, k)->preemptions > 0;
        }
        bed_free(rows);
    }
    CHECK(n_preempted > CASES);
}
