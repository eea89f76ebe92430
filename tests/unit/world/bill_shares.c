/* How services and jobs share the bill of a site that rents all its GPUs: by the GPUs that each holds, over time. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Eight GPUs at 0.1 cents per second for 3600 s. The service has a replica of two GPUs, and `scaling` may add more.
 * It gets a request each 10 s. */
static struct bed_rows *run_site(const char *const *sets, const char *scaling, const char *more)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true, .sets = sets),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'until': '3600s', %s"
        " 'market': {'offers': {'gpu': {'gpu': 'a100-80-sxm', 'price': '$3.6/h'}}, 'renting': 'fixed-fleet'},"
        " 'services': {'chat': {'llm': 'mistral-7b', 'tensor_parallel': 2, 'replicas': 1, %s 'slo': {'e2e': '1h'},"
        " 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms'}},"
        " 'trace': {'format': 'generate', 'count': 360, 'arrival': {'process': 'fixed', 'rate': '0.1/s'},"
        " 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 10}}}}}",
        more, scaling);
    int64_t uusd = 0;
    for (size_t i = 0; i < rows->n_leases; i++) uusd += rows->leases[i].cost_uusd;
    CHECK_EQ_INT(uusd, llround(bed_metric(rows, "cost.usd") * 1e6));
    return rows;
}

#define SCHEDULE(replicas)                                                                                             \
    "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1}, {'at': '1000s',"               \
    " 'replicas': " #replicas "}, {'at': '2000s', 'replicas': 1}]}, 'min': 1, 'max': 4, 'interval': '10s'},"
#define JOBS                                                                                                           \
    "'jobs': {'preemptible': true, 'yield': 'latest-start', 'trace': {'format': 'inline-jobs', 'jobs': ["              \
    "{'duration': '100s', 'gpus': 1}, {'duration': '4h', 'gpus': 2}, {'duration': '4h', 'gpus': 2}]}},"

static double last_token_s(const struct bed_rows *rows)
{
    double last_s = 0;
    for (size_t i = 0; i < rows->n_requests; i++)
        last_s = fmax(last_s, rows->requests[i].arrival_s + rows->requests[i].e2e_s);
    return last_s;
}

static void check_shares(const struct bed_rows *rows, double services_gpu_s)
{
    const double services_usd = services_gpu_s * 0.001, jobs_usd = (8 * 3600 - services_gpu_s) * 0.001;
    CHECK_NEAR(bed_metric(rows, "cost.usd"), 8 * 3.6, 1e-9);
    CHECK_NEAR(bed_metric(rows, "cost.services_usd"), services_usd, 1e-6);
    CHECK_NEAR(bed_metric(rows, "cost.jobs_usd"), jobs_usd, 1e-6);
    const double idle_usd = bed_metric(rows, "cost.idle_usd");
    CHECK(idle_usd > 0);
    CHECK_NEAR(jobs_usd - idle_usd, 0.001 * bed_metric(rows, "job.gpu_s.sum"), 1e-6);
    CHECK_NEAR(idle_usd, 8 * 3.6 * (1 - bed_metric(rows, "cluster.gpu_util")), 1e-6);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_job"), jobs_usd / bed_metric(rows, "job.finished"), 1e-6);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_output_token"),
               services_usd / (10 * bed_metric(rows, "request.finished")), 1e-9);
}

/* GPU seconds of a replica of two GPUs that stops while it serves the request of 2000 s: one iteration of 9 ms, nine of
 * 11 ms. */
#define LAST_REQUEST (2 * 0.108)

/* A replica holds its GPUs from the decision that starts it until it is idle after the one that stops it. Idle GPUs are
 * charged to the jobs, whose scheduler could have them. */
TEST(the_bill_follows_who_holds_the_gpus)
{
    check_shares(run_site(NULL, "", JOBS), 2 * 3600);
    check_shares(run_site(NULL, SCHEDULE(1), JOBS), 2 * 3600);
    check_shares(run_site(NULL, SCHEDULE(2), JOBS), 2 * 3600 + 2 * 1000 + LAST_REQUEST);
    check_shares(run_site(NULL, SCHEDULE(4), JOBS), 2 * 3600 + 6 * 1000 + LAST_REQUEST);
}

/* One lease, of the site: it states no shares that do not hold. */
TEST(a_shared_fleet_is_one_lease)
{
    struct bed_rows *rows = run_site(NULL, SCHEDULE(2), JOBS);
    MUST(rows->n_leases == 1);
    CHECK_NEAR(rows->leases[0].gpus, 8, 0);
    CHECK(strcmp(rows->leases[0].use, "site") == 0);
    rows = run_site(NULL, SCHEDULE(2), "");
    MUST(rows->n_leases == 1);
    CHECK(strcmp(rows->leases[0].use, "services") == 0);
}

/* The shares add up to the bill, to the micro-dollar, however coarsely it is rounded up. */
TEST(shares_of_the_bill_add_up)
{
    static const char *const quanta[] = {"1s", "7s", "1h", "24h"};
    for (int i = 0; i < 4; i++) {
        char billing[64];
        snprintf(billing, sizeof billing, "market.offers.gpu.billing=%s", quanta[i]);
        const char *const sets[] = {billing, "market.offers.gpu.price=$1.234567/h", NULL};
        const struct bed_rows *rows = run_site(sets, SCHEDULE(4), JOBS);
        const int64_t services_uusd = llround(bed_metric(rows, "cost.services_usd") * 1e6);
        const int64_t jobs_uusd = llround(bed_metric(rows, "cost.jobs_usd") * 1e6);
        const double services_gpu_s = 2 * 3600 + 6 * 1000 + LAST_REQUEST;
        CHECK(services_uusd > 0 && jobs_uusd > 0);
        CHECK_EQ_INT(services_uusd + jobs_uusd, llround(bed_metric(rows, "cost.usd") * 1e6));
        CHECK_NEAR(bed_metric(rows, "cost.idle_usd") / bed_metric(rows, "cost.usd"),
                   1 - bed_metric(rows, "cluster.gpu_util"), 1e-6);
        CHECK_NEAR((double)services_uusd / (double)jobs_uusd, services_gpu_s / (8 * 3600 - services_gpu_s), 1e-6);
    }
}

/* A met request bears what the service held after the warm-up, not a part of the whole by time. */
TEST(a_met_request_bears_the_bill_after_the_warm_up)
{
    static const char *const sets[] = {"warmup=1500s", NULL};
    const struct bed_rows *rows = run_site(sets, SCHEDULE(4), JOBS);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_met_request"), (2 * 2100 + 6 * 500 + LAST_REQUEST) * 0.001 / 210, 1e-6);
}

/* Fixed leases of each job and service leave nothing idle. */
TEST(leases_of_their_own_leave_nothing_idle)
{
    static const char *const sets[] = {"market.renting=as-asked", NULL};
    const struct bed_rows *rows = run_site(sets, "", JOBS);
    CHECK(bed_metric(rows, "cost.jobs_usd") > 0);
    CHECK_NEAR(bed_metric(rows, "cost.idle_usd"), 0, 0);
}

/* Without jobs the service pays for the idle GPUs, too. */
TEST(a_service_alone_pays_for_idle_gpus)
{
    const struct bed_rows *rows = run_site(NULL, SCHEDULE(4), "");
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_output_token"),
               bed_metric(rows, "cost.usd") / (10 * bed_metric(rows, "request.finished")), 1e-9);
    CHECK(isnan(bed_metric(rows, "cost.services_usd")));
    CHECK(isnan(bed_metric(rows, "cost.idle_usd")));
}

/* Beside jobs, tokens per dollar are the inverse of dollars per token, but for the time from the last token to the end
 * and what the bill rounds up: both charge the GPUs that the service holds, at the price of the offer. */
TEST(tokens_per_dollar_invert_dollars_per_token)
{
    static const char *const scalings[] = {SCHEDULE(1), SCHEDULE(2), SCHEDULE(4)};
    static const char *const quanta[] = {"market.offers.gpu.billing=1s", "market.offers.gpu.billing=7000s",
                                         "market.offers.gpu.billing=24h"};
    static const double billed_s[] = {3600, 7000, 24 * 3600};
    for (int i = 0; i < 9; i++) {
        const char *const sets[] = {quanta[i / 3], NULL};
        const struct bed_rows *rows = run_site(sets, scalings[i % 3], JOBS);
        CHECK_NEAR(bed_metric(rows, "cost.usd_per_output_token") * bed_metric(rows, "cost.output_tokens_per_usd"),
                   billed_s[i / 3] / last_token_s(rows), 1e-5);
    }
}

/* After a warm-up tokens per dollar are the inverse of dollars per met request of ten tokens: both charge what the
 * service holds after the warm-up, which is more or less than before. */
TEST(tokens_per_dollar_charge_the_fleet_after_the_warm_up)
{
    static const char *const warmups[] = {"warmup=500s", "warmup=1500s", "warmup=2500s", "warmup=3500s"};
    for (int i = 0; i < 4; i++) {
        const char *const sets[] = {warmups[i], NULL};
        const struct bed_rows *rows = run_site(sets, SCHEDULE(4), JOBS);
        const double warmup_s = 500 + 1000 * i, last_s = last_token_s(rows);
        CHECK_NEAR(bed_metric(rows, "cost.usd_per_met_request") * bed_metric(rows, "cost.output_tokens_per_usd") / 10,
                   (rows->end_s - warmup_s) / (last_s - warmup_s), 1e-6);
    }
}

/* A price of zero is a price, not one that is left out. */
TEST(gpus_may_be_free_of_charge)
{
    static const char *const sets[] = {"market.offers.gpu.price=$0/h", NULL};
    const struct bed_rows *rows = run_site(sets, SCHEDULE(2), JOBS);
    static const char *const metrics[] = {
        "cost.usd",         "cost.services_usd",         "cost.jobs_usd",           "cost.usd_per_h", "cost.idle_usd",
        "cost.usd_per_job", "cost.usd_per_output_token", "cost.usd_per_met_request"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) CHECK_NEAR(bed_metric(rows, metrics[i]), 0, 0);
    CHECK(isnan(bed_metric(rows, "cost.output_tokens_per_usd")));
}

/* --- Sites of several parts --- */

/* A site of eight A100s on two nodes at $3.6/h. `nodes` adds to the cluster, `terms` to the offer, `offers` to the
 * market. */
struct site {
    const char *nodes, *terms, *offers, *services, *jobs, *more;
};

#define SERVICE(name, replicas)                                                                                        \
    "'" name "': {'llm': 'mistral-7b', " replicas                                                                      \
    " 'slo': {'e2e': '1h'}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms'}},"     \
    " 'trace': {'format': 'generate', 'count': 360, 'arrival': {'process': 'fixed', 'rate': '0.1/s'},"                 \
    " 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 10}}}"
#define CHAT(scaling) SERVICE("chat", "'tensor_parallel': 2, " scaling)
#define OTHER SERVICE("other", "'tensor_parallel': 2, ")
#define FAST(n)                                                                                                        \
    SERVICE("fast", "'pools': {'h100s': {'gpu': 'h100-sxm', 'tensor_parallel': 2, 'replicas': " #n "}}, ")
#define H100S ", 'node_types': {'more': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'h100-sxm'}}"
#define H100S_AT(price) ", 'h100': {'gpu': 'h100-sxm', 'price': '" price "'}"
#define JOBS_ON_BOTH                                                                                                   \
    "'jobs': {'preemptible': true, 'scheduler': 'gavel-fifo-perf', 'placement': 'counted',"                            \
    " 'types': {'t': {'speeds': {'h100-sxm': 2}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["                       \
    "{'duration': '100s', 'gpus': 2, 'type': 't'}, {'duration': '4h', 'gpus': 2, 'type': 't'}]}},"
#define FAILURES(more)                                                                                                 \
    ", 'failures': {" more "'causes': {'crash': {'scope': 'node', 'lifetime': {'mean': '20min'},"                      \
    " 'repair': {'law': 'constant', 'mean': '70s'}}}}"

/* Runs the site for an hour. Services and jobs bear its whole bill. */
static const struct bed_rows *run_parts(const struct site *site)
{
    struct bed_rows *rows = bed_ok(BED(.check = true),
                                   "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'%s},"
                                   " 'until': '3600s', 'market': {'offers': {'a100': {'gpu': 'a100-80-sxm',"
                                   " 'price': '$3.6/h'%s}%s}, 'renting': 'fixed-fleet'}, %s 'services': {%s}%s}",
                                   site->nodes, site->terms, site->offers, site->jobs, site->services, site->more);
    int64_t uusd = 0;
    if (rows->code != 0) return rows;
    for (size_t i = 0; i < rows->n_leases; i++) uusd += rows->leases[i].cost_uusd;
    CHECK_EQ_INT(uusd, llround(bed_metric(rows, "cost.usd") * 1e6));
    CHECK_EQ_INT(uusd, llround(bed_metric(rows, "cost.services_usd") * 1e6) +
                           llround(bed_metric(rows, "cost.jobs_usd") * 1e6));
    return rows;
}

/* Who uses GPUs of a type that the jobs' scheduler never gives them pays for the idle ones, too. */
TEST(jobs_do_not_pay_for_gpus_they_cannot_use)
{
    const struct bed_rows *rows = run_parts(&(struct site){H100S, "", H100S_AT("$36/h"), FAST(1), JOBS, ""});
    CHECK_NEAR(bed_metric(rows, "cost.services_usd"), 4 * 36, 1e-6);
    CHECK_NEAR(bed_metric(rows, "cost.jobs_usd"), 8 * 3.6, 1e-6);
    rows = run_parts(&(struct site){H100S, "", H100S_AT("$36/h"), FAST(1), JOBS_ON_BOTH, ""});
    CHECK_NEAR(bed_metric(rows, "cost.services_usd"), 2 * 36, 1e-6);
    CHECK_NEAR(bed_metric(rows, "cost.jobs_usd"), 8 * 3.6 + 2 * 36, 1e-6);
}

/* The bill of the services is their mean price per hour for the hours of the run, however many services, types of GPUs,
 * prices, failures and spare nodes there are. */
TEST(services_pay_their_price_per_hour)
{
    static const struct {
        struct site site;
        double site_usd;
    } cases[] = {
        {{"", "", "", CHAT(""), JOBS, ""}, 8 * 3.6},
        {{"", "", "", CHAT(SCHEDULE(3)), JOBS, ""}, 8 * 3.6},
        {{"", "", "", CHAT("") ", " OTHER, JOBS, ""}, 8 * 3.6},
        {{"", "", "", CHAT(SCHEDULE(2)) ", " OTHER, JOBS, ""}, 8 * 3.6},
        {{H100S, "", H100S_AT("$36/h"), CHAT(SCHEDULE(2)) ", " FAST(1), JOBS_ON_BOTH, ""}, 8 * 3.6 + 4 * 36},
        {{H100S, "", H100S_AT("$36/h"), CHAT(SCHEDULE(2)) ", " FAST(2), JOBS, ""}, 8 * 3.6 + 4 * 36},
        {{H100S, "", H100S_AT("$0/h"), CHAT(SCHEDULE(2)) ", " FAST(1), JOBS_ON_BOTH, ""}, 8 * 3.6},
        {{"", ", 'price_changes': [{'at': '600s', 'price': '$9/h'}]", "", CHAT(SCHEDULE(2)), JOBS, ""}, 8 * 3.6},
        {{"", "", "", CHAT(""), JOBS, FAILURES("")}, 8 * 3.6},
        {{"", "", "", CHAT(SCHEDULE(2)), JOBS, FAILURES("")}, 8 * 3.6},
        {{"", "", "", CHAT("") ", " OTHER, JOBS, FAILURES("")}, 8 * 3.6},
        {{"", "", "", CHAT(""), JOBS, FAILURES("'spare_nodes': 1, ")}, 8 * 3.6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = run_parts(&cases[i].site);
        CHECK_NEAR(rows->end_s, 3600, 0);
        CHECK_NEAR(bed_metric(rows, "cost.usd"), cases[i].site_usd, 1e-6);
        CHECK_NEAR(bed_metric(rows, "cost.services_usd"), bed_metric(rows, "cost.usd_per_h"), 2e-6);
        CHECK(bed_metric(rows, "cost.jobs_usd") > 0);
    }
}
