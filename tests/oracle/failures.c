/* Failures in the world: lifetimes by their laws, availability under common causes against the stationary distribution
 * of its Markov chain, repairs and spare nodes by hand, and the same failures whatever the policies. */
#include "models/failure.h"
#include "sim/core/real_list.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>

/* --- Lifetimes --- */

/* Times between the interruptions of a job that is back at once. Returns how many; they are sorted. */
static size_t lives(const char *lifetime, double *lives_s, size_t most)
{
    struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'until': '5000000s',"
        " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {%s, 'mean': '1000s'}}}},"
        " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s',"
        " 'duration': '9000000s', 'gpus': 1}]}}}",
        lifetime);
    double before_s = 0;
    size_t n = 0;
    for (size_t i = 0; i < rows->n_decisions && n < most; i++) {
        if (strcmp(rows->decisions[i].action, "interrupt") != 0) continue;
        lives_s[n++] = rows->decisions[i].t_s - before_s;
        before_s = rows->decisions[i].t_s;
    }
    return n;
}

/* The share of lives that end within t_s. */
static double failed_frac(const struct lifetime *law, double t_s)
{
    switch (law->kind) {
    case LIFETIME_EXPONENTIAL: return gsl_cdf_exponential_P(t_s, law->mean_s);
    case LIFETIME_WEIBULL: return gsl_cdf_weibull_P(t_s, law->mean_s / tgamma(1 + 1 / law->shape), law->shape);
    case LIFETIME_LOGNORMAL:
        return gsl_cdf_lognormal_P(t_s, log(law->mean_s) - law->shape * law->shape / 2, law->shape);
    case LIFETIME_CONSTANT: break;
    }
    return t_s >= law->mean_s;
}

/* The Kolmogorov-Smirnov distance stays below its 99 % point. */
static void check_law(const char *lifetime, const struct lifetime *law)
{
    enum { MOST = 3000 };
    double *lives_s = malloc(MOST * sizeof *lives_s), distance = 0;
    const size_t n = lives(lifetime, lives_s, MOST);
    CHECK_EQ_INT(n, MOST);
    qsort(lives_s, n, sizeof *lives_s, real_compare);
    for (size_t i = 0; i < n; i++) {
        const double p = failed_frac(law, lives_s[i]);
        distance = fmax(distance, fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p));
    }
    CHECK(distance < 1.628 / sqrt((double)n));
    free(lives_s);
}

TEST(lifetimes_follow_their_laws)
{
    check_law("'law': 'exponential'", &(struct lifetime){LIFETIME_EXPONENTIAL, 1000, 0});
    check_law("'law': 'weibull', 'shape': 0.6", &(struct lifetime){LIFETIME_WEIBULL, 1000, 0.6});
    check_law("'law': 'weibull', 'shape': 3", &(struct lifetime){LIFETIME_WEIBULL, 1000, 3});
    check_law("'law': 'lognormal', 'shape': 1.2", &(struct lifetime){LIFETIME_LOGNORMAL, 1000, 1.2});
}

/* --- k of m under common causes --- */

struct group {
    int m, needed;
    double own_per_s, shock_per_s, hit_frac, lethal_per_s, repair_per_s;
};

/* The binomial failure rate model (Atwood, Technometrics 28, 1986): rate of events in which exactly k of n nodes fail.
 * A node fails alone; a shock hits each node with probability hit_frac; a lethal shock hits all. */
static double event_rate(const struct group *group, int n, int k)
{
    double share = 1;
    for (int i = 1; i <= k; i++) share *= (double)(n - k + i) / i * group->hit_frac;
    double per_s = group->shock_per_s * share * pow(1 - group->hit_frac, n - k);
    if (k == 1) per_s += n * group->own_per_s;
    if (k == n) per_s += group->lethal_per_s;
    return per_s;
}

/* From `down` nodes down to `to`: events among those that are up, or one of the repairs. */
static double rate(const struct group *group, int down, int to)
{
    const int up = group->m - down;
    if (to == down - 1) return down * group->repair_per_s;
    if (to < down) return 0;
    return event_rate(group, up, to - down);
}

/* Share of time with at least `needed` of the nodes up: pi Q = 0, the last equation replaced by sum pi = 1. */
static double exact_availability(const struct group *group)
{
    const size_t n = (size_t)group->m + 1;
    gsl_matrix *equations = gsl_matrix_calloc(n, n);
    gsl_vector *right = gsl_vector_calloc(n), *pi = gsl_vector_alloc(n);
    gsl_permutation *order = gsl_permutation_alloc(n);
    for (size_t from = 0; from < n; from++) {
        for (size_t to = 0; to < n; to++) {
            if (to == from) continue;
            const double flow = rate(group, (int)from, (int)to);
            *gsl_matrix_ptr(equations, to, from) += flow;
            *gsl_matrix_ptr(equations, from, from) -= flow;
        }
    }
    for (size_t i = 0; i < n; i++) gsl_matrix_set(equations, n - 1, i, 1);
    gsl_vector_set(right, n - 1, 1);
    int sign;
    gsl_linalg_LU_decomp(equations, order, &sign);
    gsl_linalg_LU_solve(equations, order, right, pi);
    double available = 0;
    for (int down = 0; down <= group->m - group->needed; down++) available += gsl_vector_get(pi, (size_t)down);
    gsl_permutation_free(order);
    gsl_vector_free(right);
    gsl_vector_free(pi);
    gsl_matrix_free(equations);
    return available;
}

static double simulated_availability(const struct group *group, int seed)
{
    struct bed_rows *rows = bed_ok(
        BED(.no_detail = true),
        "{'cluster': {'nodes': %d, 'gpus_per_node': 1}, 'keep': 'metrics', 'until': '20000000s', 'seed': %d,"
        " 'failures': {'causes': {'own': {'scope': 'node', 'lifetime': {'mean': '%.17gs'},"
        " 'repair': {'mean': '%.17gs'}}}, 'domains': {'feed': {'nodes': %d, 'needed': %d, 'shock': '%.17gs',"
        " 'hit': %.17g, 'lethal': '%.17gs', 'repair': {'mean': '%.17gs'}}}}, 'jobs': {'placement': 'first-fit',"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '90000000s', 'gpus': 0}]}}}",
        group->m, seed, 1 / group->own_per_s, 1 / group->repair_per_s, group->m, group->needed, 1 / group->shock_per_s,
        group->hit_frac, 1 / group->lethal_per_s, 1 / group->repair_per_s);
    return bed_metric(rows, "failure.available_frac[feed]");
}

/* The mean of 30 runs, each 2 * 10^7 s long, and its 99 % interval (Student). */
static void check_availability(const struct group *group)
{
    enum { RUNS = 30 };
    double sum = 0, squares = 0;
    for (int seed = 1; seed <= RUNS; seed++) {
        const double available = simulated_availability(group, seed);
        sum += available;
        squares += available * available;
    }
    const double mean = sum / RUNS, variance = (squares - sum * mean) / (RUNS - 1);
    const double half = gsl_cdf_tdist_Pinv(0.995, RUNS - 1) * sqrt(variance / RUNS);
    CHECK(half < 0.01);
    CHECK_NEAR(mean, exact_availability(group), half);
}

TEST_OPTIMISED(groups_are_available_as_their_chain_says)
{
    check_availability(&(struct group){4, 2, 1e-4, 2e-4, 0.3, 1e-5, 1e-3});
    check_availability(&(struct group){8, 7, 1e-5, 2e-5, 0.3, 1e-6, 1e-3});
    check_availability(&(struct group){3, 3, 2e-5, 1e-4, 0.6, 1e-5, 5e-4});
}

/* --- By hand --- */

static double available(const char *failures, const char *until)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 3, 'gpus_per_node': 2}, 'until': '%s', 'failures': {%s},"
        " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s',"
        " 'duration': '9000s', 'gpus': 0}]}}}",
        until, failures);
    return bed_metric(rows, "cluster.available_frac");
}

#define EVERY_1000S "'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '1000s'},"           \
    " 'repair': {'law': 'constant', 'mean': '300s'}}}"

/* All nodes fail at 1000 s and are back at 1300 s. With one of them spare: two fail, it stands in for one from 1050 s
 * on. */
TEST(spare_nodes_stand_in)
{
    CHECK_NEAR(available(EVERY_1000S, "1500s"), 1 - 3 * 300 / 4500.0, 1e-12);
    CHECK_NEAR(available(EVERY_1000S ", 'spare_nodes': 1, 'spare_delay': '50s'", "1500s"),
               1 - (2 * 50 + 250) / 3000.0, 1e-12);
    CHECK_NEAR(available(EVERY_1000S ", 'spare_nodes': 2, 'spare_delay': '0s'", "1500s"), 1, 1e-12);
}

/* A job of two nodes: it starts again when both are there, falls back to its start, and waits for its restart. */
TEST(jobs_wait_for_repairs)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'causes': {'node': {'scope': 'site',"
        " 'lifetime': {'law': 'constant', 'mean': '1000s'}, 'repair': {'law': 'constant', 'mean': '300s'},"
        " 'restart': {'law': 'constant', 'mean': '60s'}}}}, 'jobs': {'placement': 'first-fit',"
        " 'restart': {'start': '5s', 'resume': '10s'}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '500s',"
        " 'duration': '700s', 'gpus': 8}]}}}");
    MUST(rows->n_jobs == 1);
    CHECK_NEAR(rows->jobs[0].end_s, 1300 + 10 + 60 + 700, 1e-9);
    CHECK_EQ_INT(rows->jobs[0].restarts, 1);
    CHECK_NEAR(rows->jobs[0].lost_gpu_s, 8 * 495, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.wait_gpu_s.sum"), 8 * (5 + 70), 1e-9);
    CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[node]"), 8 * 495, 1e-9);
    CHECK_NEAR(rows->end_s, 2070, 1e-9);
}

/* A job of CPUs alone goes down with its node, and starts again when that is back. */
TEST(node_failures_interrupt_jobs_without_gpus)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'cpus_per_node': 16},"
        " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '1000s'},"
        " 'repair': {'law': 'constant', 'mean': '300s'}}}}, 'jobs': {'placement': 'best-fit',"
        " 'scheduler': 'fifo-skip', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '500s',"
        " 'duration': '700s', 'gpus': 0, 'cpus': 8}, {'submit': '1100s', 'duration': '10s', 'gpus': 0, 'cpus': 8}]}}}");
    MUST(rows->n_jobs == 2);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 1300 + 700, 1e-9);
    CHECK_EQ_INT(bed_job(rows, 0)->restarts, 1);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 1310, 1e-9); /* no job starts on a failed node */
}

/* A shock whose nodes fail one by one is one event, as when they fail at once: the same shocks. */
TEST(staggered_shocks_count_once)
{
    double events[2], unseen[2];
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'nodes': 8, 'gpus_per_node': 2}, 'until': '100000s',"
            " 'failures': {'domains': {'rack': {'nodes': 4, 'shock': '1000s', 'hit': 0.4, 'spread': '%s'}}},"
            " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s',"
            " 'duration': '900000s', 'gpus': 0}]}}}",
            i == 0 ? "0s" : "50s");
        events[i] = bed_metric(rows, "failure.events[rack]");
        unseen[i] = bed_metric(rows, "failure.unseen[rack]");
    }
    CHECK(events[0] > 150 && events[0] == events[1]);
    CHECK(unseen[0] == unseen[1]);
}

/* How often a job saves its state depends on the nodes that it has, not on the order in which its placer names them. */
TEST(neighbours_need_not_stand_side_by_side)
{
    double saves_s = 0;
    for (int seed = 0; seed < 5; seed++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 8, 'gpus_per_node': 1}, 'seed': %d, 'failures': {'domains': {'rack': {'nodes': 4,"
            " 'shock': '1e9s', 'hit': 0.9}}}, 'jobs': {'placement': '%s', 'types': {'default': {'checkpoint':"
            " {'policy': 'young', 'bytes': '1GB', 'write': '1GB/s'}}}, 'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'submit': '0s', 'duration': '500000s', 'gpus': 8}]}}}",
            seed, seed == 0 ? "first-fit" : "random");
        if (seed == 0) saves_s = bed_metric(rows, "job.checkpoint_gpu_s.sum");
        CHECK(saves_s > 0 && bed_metric(rows, "job.checkpoint_gpu_s.sum") == saves_s);
    }
}

/* A node of four GPUs and one of two: the larger one is away for 300 of 1500 s, then the smaller one. */
TEST(unequal_nodes_are_missed_by_their_gpus)
{
    const char *path = test_file("nodes.csv",
                                 "sn,cpu_milli,memory_mib,gpu,model\na,8000,1000,4,T4\nb,8000,1000,2,T4\n");
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes_file': {'path': '%s'}}, 'until': '2000s', 'failures': {'causes': {'gpu': {'scope': 'site',"
        " 'lifetime': {'law': 'constant', 'mean': '1500s'}, 'repair': {'law': 'constant', 'mean': '300s'}}}},"
        " 'jobs': {'placement': 'fgd', 'scheduler': 'fifo-skip', 'trace': {'format': 'inline-jobs',"
        " 'jobs': [{'submit': '0s', 'duration': '1700s', 'gpus': 1, 'gpu_share': 0.5, 'cpus': 2}, {'submit': '1600s',"
        " 'duration': '100s', 'gpus': 2}]}}}",
        path);
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1 - 300 / 2000.0, 1e-12);
    CHECK_EQ_INT(bed_metric(rows, "failure.interrupts"), 1);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 1900, 1e-9);
}

/* The last job is rejected, when a repair is still to come: the run ends there. */
TEST(repairs_do_not_outlast_a_rejected_job)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 2}, 'failures': {'causes': {'node': {'scope': 'site',"
        " 'lifetime': {'law': 'constant', 'mean': '1000s'}, 'repair': {'law': 'constant', 'mean': '9000s'}}}},"
        " 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s',"
        " 'duration': '900s', 'gpus': 2}, {'submit': '1200s', 'duration': '700s', 'gpus': 64}]}}}");
    CHECK_EQ_STR(bed_job(rows, 1)->status, "rejected");
    CHECK_NEAR(rows->end_s, 1200, 1e-9);
}

static void check_refused(const char *cluster, const char *failures, const char *text)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {%s}, 'failures': {%s}, 'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs',"
        " 'jobs': [{'duration': '9s'}]}}}",
        cluster, failures);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (CHECK(rows->diag.n_errors == 1)) CHECK(strstr(rows->diag.items[0].text, text) != NULL);
}

TEST(spare_nodes_without_failing_nodes_are_refused)
{
    check_refused("'nodes': 4", "'spare_nodes': 1", "no cause or domain makes nodes fail");
    check_refused("'nodes': 4", "'spare_nodes': 1, 'causes': {'bug': {'scope': 'job', 'lifetime': {'mean': '1h'}}}",
                  "no cause or domain makes nodes fail");
}

TEST(sources_of_one_name_are_refused)
{
    static const char outage[] =
        "'nodes': 2, 'gpu': 'a100-80-sxm', 'power': {'budget': '9kW', 'breaker': {'outage': '9s'}}";
    check_refused("'nodes': 4",
                  "'causes': {'rack': {'scope': 'node', 'lifetime': {'mean': '1h'}}},"
                  " 'domains': {'rack': {'nodes': 2, 'shock': '1h'}}",
                  "'rack' is the name of a cause as well");
    check_refused(outage, "'causes': {'breaker': {'scope': 'node', 'lifetime': {'mean': '1h'}}}",
                  "'breaker' is the name of breaker failures as well");
    check_refused(outage, "'domains': {'breaker': {'nodes': 2, 'shock': '1h'}}",
                  "'breaker' is the name of breaker failures as well");
}

/* A job that shares a GPU copies its state over that GPU's link: as one that has it alone. */
TEST(sharers_copy_their_state_from_a_whole_gpu)
{
    double stall_s[2];
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'cpus_per_node': 8}, 'jobs': {'placement': 'fgd',"
            " 'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '100s'},"
            " 'model': 'datastates', 'bytes': '10GB', 'write': '1GB/s', 'gpu_copy': '2GB/s'}}},"
            " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s', 'gpu_share': %s}]}}}",
            i == 0 ? "1" : "0.5");
        stall_s[i] = rows->n_jobs == 1 ? rows->jobs[0].end_s - 1000 : 0;
    }
    CHECK(stall_s[0] > 1);
    CHECK_NEAR(stall_s[0], stall_s[1], 1e-9);
}

/* Where its scheduler takes its GPUs, a job falls back to what it saved if it is told so. */
TEST(preempted_jobs_keep_what_preempt_keeps_names)
{
    for (int saved = 0; saved < 2; saved++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'jobs': {'scheduler': 'srtf',"
            " 'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '100s'},"
            " 'bytes': '10GB', 'write': '1GB/s', 'preempt_keeps': '%s'}}}, 'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'submit': '0s', 'duration': '1000s', 'gpus': 4}, {'submit': '260s', 'duration': '50s',"
            " 'gpus': 4}]}}}",
            saved ? "saved" : "all");
        const struct job_row *job = bed_job(rows, 0);
        MUST(job != NULL);
        CHECK_NEAR(job->lost_gpu_s, saved ? 4 * 40 : 0, 1e-9); /* two saves by 220 s, then 40 s of work */
        /* 240 s are done, or 200: the rest with a save after each 100 s but the last */
        CHECK_NEAR(job->end_s, saved ? 310 + 800 + 7 * 10 : 310 + 760 + 7 * 10, 1e-9);
    }
}

/* Without saves nothing is saved: a job that keeps saved work only begins anew, whoever takes its GPUs. */
TEST(preempted_jobs_without_saves_begin_anew)
{
    for (int saved = 0; saved < 2; saved++) {
        const char *keeps = saved ? "saved" : "all";
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'jobs': {'scheduler': 'srtf',"
            " 'types': {'default': {'checkpoint': {'preempt_keeps': '%s'}}}, 'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'submit': '0s', 'duration': '1000s', 'gpus': 4}, {'submit': '260s', 'duration': '50s',"
            " 'gpus': 4}]}}}",
            keeps);
        const struct job_row *job = bed_job(rows, 0);
        MUST(job != NULL);
        CHECK_NEAR(job->lost_gpu_s, saved ? 4 * 260 : 0, 1e-9);
        CHECK_NEAR(job->end_s, 310 + (saved ? 1000 : 740), 1e-9);

        rows = bed_ok(BED(.check = true),
                      "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'market': {'offers':"
                      " {'spot': {'kind': 'spot', 'price': '$1/h', 'spot': {'mean_life': '300s'}}},"
                      " 'renting': 'as-asked'}, 'jobs': {'types': {'default': {'checkpoint':"
                      " {'preempt_keeps': '%s'}}}, 'trace': {'format': 'inline-jobs',"
                      " 'jobs': [{'duration': '1000s', 'gpus': 4}]}}}",
                      keeps);
        job = bed_job(rows, 0);
        MUST(job != NULL);
        CHECK(job->preemptions > 0);
        CHECK_NEAR(job->end_s, 1000 + job->lost_gpu_s / 4, 1e-6);
        CHECK_NEAR(bed_metric(rows, "rental.lost_gpu_s"), job->lost_gpu_s, 1e-6);
        CHECK((job->lost_gpu_s > 0) == saved);
        CHECK((bed_warning(rows, "free-interruptions") == NULL) == saved);
    }
}

/* --- One seed, one world --- */

static struct bed_rows *busy(const char *scheduler, const char *placement)
{
    return bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 16, 'gpus_per_node': 8}, 'until': '20d', 'failures': {'spare_nodes': 1,"
        " 'spare_delay': '5min', 'nodes_per_switch': 4, 'causes': {'gpu': {'scope': 'gpu',"
        " 'lifetime': {'law': 'weibull', 'mean': '60d', 'shape': 0.7}, 'repair': {'law': 'lognormal', 'mean': '6h',"
        " 'median': '1h'}, 'visible': 0.8}, 'switch': {'scope': 'switch', 'lifetime': {'mean': '10d'},"
        " 'repair': {'mean': '1h'}}}, 'domains': {'rack': {'nodes': 8, 'shock': '5d', 'hit': 0.3, 'lethal': '20d',"
        " 'spread': '10min', 'repair': {'mean': '2h'}, 'needed': 7}}}, 'jobs': {'scheduler': '%s', 'placement': '%s',"
        " 'trace': {'format': 'generate-jobs', 'mix': 'philly', 'arrival': {'process': 'poisson', 'rate': '0.001/s'},"
        " 'max_gpus': 64, 'duration': '20d'}}}",
        scheduler, placement);
}

TEST(policies_meet_the_same_failures)
{
    static const char *const metrics[] = {
        "failure.events[gpu]", "failure.unseen[gpu]",    "failure.events[switch]",      "failure.events[rack]",
        "failure.unseen",      "cluster.available_frac", "failure.available_frac[rack]"};
    struct bed_rows *a = busy("fifo-skip", "first-fit"), *b = busy("srtf", "consolidated"),
                    *again = busy("srtf", "consolidated");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        CHECK(bed_metric(a, metrics[i]) == bed_metric(b, metrics[i]) && bed_metric(a, metrics[i]) > 0);
    CHECK(bed_metric(a, "failure.interrupts") > 0 && bed_metric(b, "failure.interrupts") > 0);
    CHECK(bed_equal(b, again));
}
