/* "How to Rent GPUs on a Budget" (arXiv 2406.15560) by simulation: jobs that rent the optimal widths take on average
 * what theory says, whatever the law of their sizes, and leave the mean bill at the budget; and every rule that
 * deviates takes longer at the same mean number of GPUs. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { JOBS = 60000 };

static const double BUDGET = 3.0, THEORY_S = 0.246270; /* of Fig. 1 at b = 3 */
static const double Z99 = 2.5758;

/* Two types, 0.4 jobs per second each, of mean size 1 s: Amdahl's law with 0.8, and a square root. */
#define TYPE(law) "{'arrival': {'process': 'poisson', 'rate': '0.4/s'}, 'run_time': {'mean': '1s', " law "}}"
#define SCENARIO                                                                                                       \
    "{'cluster': {'unlimited': true}, 'seed': 1, 'market': {'offers': {'gpu': {'price': '$1/h'%s}},"                   \
    "'renting': %s}, 'jobs': {'types': {'amdahl': {'speedup': {'law': 'amdahl', 'parallel_frac': 0.8}},"               \
    "'root': {'speedup': {'law': 'power', 'exponent': 0.5}}}, 'trace': {'format': 'generate-job-types',"               \
    "'count': 60000, 'types': {'amdahl': " TYPE("%s") ", 'root': " TYPE("%s") "}}}}"
#define OPTIMUM                                                                                                        \
    "{'policy': 'fixed-width', 'budget_gpus': 3, 'classes': {'amdahl': {'rate': '0.4/s', 'size': '1s'},"               \
    "'root': {'rate': '0.4/s', 'size': '1s'}}}"

static struct bed_rows *run(const char *renting, const char *law, const char *terms, const struct policy *own)
{
    struct bed_rows *rows = bed_ok(BED(.no_detail = true, .policy = own), SCENARIO, terms, renting, law, law);
    CHECK_EQ_INT(rows->n_jobs, JOBS);
    return rows;
}

static int by_submission(const void *a, const void *b)
{
    const struct job_row *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Half of the 99 % interval of the mean response time, and of the mean GPUs: sizes and gaps between arrivals are
 * independent. */
struct interval {
    double response_s, gpus;
};

static struct interval intervals(struct bed_rows *rows)
{
    double sum = 0, squares = 0, excess = 0, excess_squares = 0, before_s = 0;
    const double mean_gpus = bed_metric(rows, "rental.gpus.mean");
    qsort(rows->jobs, rows->n_jobs, sizeof *rows->jobs, by_submission);
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const struct job_row *job = &rows->jobs[i];
        const double off = job->gpu_s - mean_gpus * (job->submit_s - before_s);
        before_s = job->submit_s;
        sum += job->jct_s;
        squares += job->jct_s * job->jct_s;
        excess += off;
        excess_squares += off * off;
    }
    const double n = (double)rows->n_jobs, span_s = bed_metric(rows, "sim.end_s");
    return (struct interval){Z99 * sqrt((squares / n - sum / n * sum / n) / n),
                             Z99 * sqrt((excess_squares - excess * excess / n) * n) / sqrt(n) / span_s};
}

TEST_OPTIMISED(as_theory_whatever_the_sizes) /* R10 */
{
    static const char *const laws[] = {"'law': 'exponential'", "'law': 'fixed'", "'law': 'two-mode'",
                                       "'law': 'hyperexponential', 'short_frac': 0.8, 'short': 0.2"};
    for (int i = 0; i < 4; i++) {
        struct bed_rows *rows = run(OPTIMUM, laws[i], "", NULL);
        const struct interval within = intervals(rows);
        CHECK_NEAR(bed_metric(rows, "job.jct_s.mean"), THEORY_S, within.response_s);
        CHECK_NEAR(bed_metric(rows, "rental.gpus.mean"), BUDGET, within.gpus);
        CHECK(within.response_s < 0.04 * THEORY_S && within.gpus < 0.08 * BUDGET);
        CHECK_NEAR(bed_metric(rows, "job.queue_s.mean"), 0, 0);
        bed_free(rows);
    }
}

/* --- Deviations, for the square roots alone: one class at a mean of 2.4 GPUs has width 36 and takes 1/6 s --- */

static const double ROOT_BUDGET = 2.4, ROOT_RATE_PER_S = 0.4, ROOT_S = 1.0 / 6.0;

/* Which jobs get which width: `high` those of size above 1 (or by the flip of a coin), `low` the others. */
struct deviation {
    double low, high;
    bool by_size;
};

static int rent_two(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental)
{
    const struct deviation *deviation = state;
    const bool is_high = deviation->by_size ? job->estimate_ns > SIM_NS_PER_S : rng_uniform(view->random) < 0.5;
    *rental = (struct rental){0, is_high ? deviation->high : deviation->low};
    return 0;
}

/* Share of the work that gets the high width, with exponential sizes of mean 1. */
static double high_work_frac(bool by_size)
{
    return by_size ? 2.0 * exp(-1.0) : 0.5;
}

static struct deviation made;

static int init_two(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    *(struct deviation *)state = made;
    return 0;
}

#define ROOT_SCENARIO                                                                                                  \
    "{'cluster': {'unlimited': true}, 'seed': 1, 'market': {'offers': {'gpu': {'price': '$1/h'%s}},"                   \
    "'renting': %s}, 'jobs': {'types': {'root': {'speedup': {'law': 'power', 'exponent': 0.5}}},"                      \
    "'trace': {'format': 'generate-job-types', 'count': 60000, 'types': {'root': " TYPE("'law': 'exponential'") "}}}}"
#define ROOT_OPTIMUM                                                                                                   \
    "{'policy': 'fixed-width', 'budget_gpus': 2.4, 'classes': {'root': {'rate': '0.4/s', 'size': '1s'}}}"

static struct bed_rows *run_root(const char *renting, const char *terms, const struct policy *own)
{
    return bed_ok(BED(.no_detail = true, .policy = own), ROOT_SCENARIO, terms, renting);
}

/* The mean of GPUs is r sum frac sqrt(k): the other width follows from one. */
static void two_widths_take_longer(bool by_size, double high)
{
    const double frac = high_work_frac(by_size),
                 root = (ROOT_BUDGET / ROOT_RATE_PER_S - frac * sqrt(high)) / (1.0 - frac);
    const double theory_s = frac / sqrt(high) + (1.0 - frac) / root;
    made = (struct deviation){root * root, high, by_size};
    const struct renter two = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct renter), .family = POLICY_RENTAL,
                                          .name = "two-widths", .summary = "", .source = "",
                                          .state_bytes = sizeof(struct deviation), .init = init_two},
                               .rent = rent_two};
    struct bed_rows *best = run_root(ROOT_OPTIMUM, "", NULL), *rows = run_root("'two-widths'", "", &two.policy);
    const struct interval within = intervals(rows);
    CHECK_NEAR(bed_metric(rows, "job.jct_s.mean"), theory_s, within.response_s);
    CHECK_NEAR(bed_metric(rows, "rental.gpus.mean"), ROOT_BUDGET, within.gpus);
    CHECK(theory_s > ROOT_S);
    CHECK(bed_metric(rows, "job.jct_s.mean") > bed_metric(best, "job.jct_s.mean"));
}

TEST_OPTIMISED(no_width_by_size)
{
    two_widths_take_longer(true, 20.0);
    two_widths_take_longer(true, 60.0);
}

TEST_OPTIMISED(no_two_widths_in_one_class)
{
    two_widths_take_longer(false, 20.0);
    two_widths_take_longer(false, 60.0);
}

/* Jobs that wait for a limited supply are paid for no longer, and come to their end later. */
TEST_OPTIMISED(no_queueing)
{
    struct bed_rows *best = run_root(ROOT_OPTIMUM, "", NULL), *rows = run_root(ROOT_OPTIMUM, ", 'limit': 36.5", NULL);
    CHECK_NEAR(bed_metric(best, "job.jct_s.mean"), ROOT_S, intervals(best).response_s);
    CHECK_NEAR(bed_metric(rows, "rental.gpu_s[gpu]"), bed_metric(best, "rental.gpu_s[gpu]"), 1e-3);
    CHECK(bed_metric(rows, "job.queue_s.mean") > 0);
    CHECK(bed_metric(rows, "job.jct_s.mean") > bed_metric(best, "job.jct_s.mean"));
    CHECK_NEAR(bed_metric(rows, "rental.gpus.max"), 36, 1e-9);
}
