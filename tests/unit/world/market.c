/* The market in small worlds: what is paid for start-up, quanta and minima, lines at offers that are short, spot GPUs
 * that go and come back, fleets for the whole run, and a bill that is the sum of the leases that the run tells of. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* GPUs at a tenth of a cent per second; jobs rent what they ask for. */
#define SCENARIO(offer, jobs)                                                                                          \
    "{'cluster': {'unlimited': true}, 'market': {'offers': {'gpu': {'price': '$3.6/h'" offer "}}, "                    \
    "'renting': 'as-asked'}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}}}"
#define JOB(submit, duration, gpus)                                                                                    \
    "{'submit': '" submit "', 'duration': '" duration "', 'gpus': " #gpus "}"

/* What all leases came to, as their rows tell. */
static int64_t sum_of_rows(const struct bed_rows *rows)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->n_leases; i++) sum += rows->leases[i].cost_uusd;
    return sum;
}

static struct bed_rows *run(const char *scenario)
{
    struct bed_rows *rows = bed_ok(BED(.check = true), "%s", scenario);
    CHECK_EQ_INT(sum_of_rows(rows), llround(bed_metric(rows, "cost.usd") * 1e6));
    CHECK_EQ_INT(rows->n_leases, bed_metric(rows, "rental.leases"));
    return rows;
}

/* The bill in micro-dollars. */
static int64_t bill(const struct bed_rows *rows)
{
    return llround(bed_metric(rows, "cost.usd") * 1e6);
}

/* What the leases that ended came to, as their decisions tell. */
static int64_t sum_of_leases(const struct bed_rows *rows)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        const char *cost = strstr(decision->reason, "each: $");
        if (strncmp(decision->reason, "lease ", 6) == 0 && cost != NULL) sum += llround(strtod(cost + 7, NULL) * 1e6);
    }
    return sum;
}

static void check_one_job(const char *scenario, int64_t uusd, double jct_s)
{
    struct bed_rows *rows = run(scenario);
    CHECK_EQ_INT(bill(rows), uusd);
    CHECK_EQ_INT(sum_of_leases(rows), uusd);
    CHECK_NEAR(bed_metric(rows, "job.jct_s.mean"), jct_s, 1e-9);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_job"), (double)uusd / 1e6, 1e-12);
    CHECK_EQ_INT(bed_decisions(rows, "rent", 0), 1);
    CHECK_EQ_INT(bed_decisions(rows, "return", 0), 1);
}

TEST(terms_of_a_lease)
{
    check_one_job(SCENARIO("", JOB("5s", "100s", 2)), 200000, 100);
    check_one_job(SCENARIO(", 'start_up': '60s'", JOB("5s", "100s", 2)), 320000, 160);
    check_one_job(SCENARIO(", 'start_up': '60s', 'pays_start_up': false", JOB("5s", "100s", 2)), 200000, 160);
    check_one_job(SCENARIO(", 'billing': '1h'", JOB("5s", "100s", 2)), 7200000, 100);
    check_one_job(SCENARIO(", 'minimum': '5min'", JOB("5s", "100s", 2)), 600000, 100);
    check_one_job(SCENARIO("", JOB("0s", "0s", 2)), 0, 0);
}

/* At twice the price from 50 s on, and at none from 120 s on: on demand a lease keeps the price of its start, spot GPUs
 * follow. */
#define CHANGES "'price_changes': [{'at': '50s', 'price': '$7.2/h'}, {'at': '120s', 'price': '$0/h'}]"

TEST(prices_that_change)
{
    check_one_job(SCENARIO(", " CHANGES, JOB("5s", "100s", 2)), 200000, 100);
    check_one_job(SCENARIO(", " CHANGES, JOB("50s", "100s", 2)), 400000, 100);
    check_one_job(SCENARIO(", " CHANGES, JOB("200s", "100s", 2)), 0, 100);
    check_one_job(SCENARIO(", 'kind': 'spot', " CHANGES, JOB("5s", "100s", 2)), 2 * (45 * 1000 + 55 * 2000), 100);
    check_one_job(SCENARIO(", 'kind': 'spot', " CHANGES, JOB("100s", "100s", 2)), 2 * 20 * 2000, 100);
    check_one_job(SCENARIO(", 'kind': 'spot', 'billing': '1min', " CHANGES, JOB("10s", "100s", 2)),
                  2 * (60 * 1000 + 60 * 2000), 100);
}

/* One GPU for each $3.6/h of the price that it sees, and two more. */
static int rent_by_price(void *state, const struct market_view *view, const struct job_view *job, struct rental *rental)
{
    (void)state;
    (void)job;
    *rental = (struct rental){.gpus = 2 + view->offers[0].usd_per_h / 3.6};
    return 0;
}

/* Renters see the price in force when a job comes, in dollars per hour. */
TEST(renters_see_the_price_of_the_moment)
{
    const struct renter renter = {.policy = {POLICY_HEAD(renter, POLICY_RENTAL), .name = "by-price", .summary = "",
                                             .source = "", .state_bytes = 1},
                                  .rent = rent_by_price};
    const char *scenario = SCENARIO(", " CHANGES, JOB("0s", "10s", 1) ", " JOB("50s", "10s", 1) ", " JOB(
                                                      "119s", "10s", 1) ", " JOB("120s", "10s", 1));
    static const char by_price[] = "'renting': 'by-price'";
    char text[1024];
    const char *at = strstr(scenario, "'renting': 'as-asked'");
    MUST(at != NULL);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - scenario), scenario, by_price,
             at + strlen("'renting': 'as-asked'"));
    struct bed_rows *rows = bed_ok(BED(.check = true, .policy = &renter.policy), "%s", text);
    static const double gpus[] = {3, 4, 4, 2};
    MUST(rows->n_leases == 4);
    for (size_t i = 0; i < 4; i++) CHECK_NEAR(rows->leases[i].gpus, gpus[rows->leases[i].job], 1e-6);
}

/* At an offer of three GPUs the second job waits for the first, and the third for its turn. */
TEST(lines_where_supply_lacks)
{
    struct bed_rows *rows = run(
        SCENARIO(", 'limit': 3", JOB("0s", "100s", 2) ", " JOB("1s", "100s", 2) ", " JOB("2s", "10s", 1)));
    CHECK_NEAR(bed_job(rows, 0)->start_s, 0, 1e-9);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 100, 1e-9);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 100, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rental.gpus.max"), 3, 1e-9);
    CHECK_EQ_INT(bill(rows), 410000);
}

/* Job 1 asks for more GPUs than the offer ever has, once job 0 has ended. So it is rejected then, and with it all that
 * come after it: job 2, by way of it job 3, and job 4, which needs job 0 as well. */
TEST(what_comes_after_a_job_without_an_offer_is_rejected)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true, .quiet = true), "%s",
        SCENARIO(", 'limit': 3", JOB("0s", "10s", 1) ", {'duration': '9s', 'gpus': 4, 'after': [{'job': 0}]},"
                                                     "{'duration': '1s', 'after': [{'job': 1}]},"
                                                     "{'duration': '1s', 'after': [{'job': 2}]},"
                                                     "{'duration': '1s', 'after': [{'job': 0}, {'job': 1}]}"));
    CHECK_EQ_INT(rows->n_jobs, 5);
    for (int64_t id = 0; id < 5; id++) CHECK_EQ_STR(bed_job(rows, id)->status, id == 0 ? "finished" : "rejected");
    CHECK_NEAR(rows->end_s, 10, 1e-9);
}

static const char *write_ticks(const char *data)
{
    return test_file("spot.json", "{'metadata': {'gap_seconds': 10}, 'data': [%s]}", data);
}

/* Four GPUs, from 20 s to 40 s one, then four again. The youngest lease goes first; jobs go on where they were. */
TEST(spot_gpus_come_and_go)
{
    char scenario[1024], offer[640];
    snprintf(offer, sizeof offer, ", 'kind': 'spot', 'spot': {'availability': '%s'}", write_ticks("4, 4, 1, 1, 4, 4"));
    snprintf(scenario, sizeof scenario, SCENARIO("%s", JOB("0s", "100s", 1) ", " JOB("5s", "50s", 2)), offer);
    struct bed_rows *rows = run(scenario);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100, 1e-9);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 75, 1e-9); /* 15 s, then 35 s */
    CHECK_EQ_INT(bed_metric(rows, "rental.interruptions"), 1);
    CHECK_EQ_INT(bed_metric(rows, "rental.leases"), 3);
    CHECK_EQ_INT(bed_decisions(rows, "lose", 1), 1);
    CHECK_EQ_INT(bill(rows), 200000);
    CHECK_EQ_INT(sum_of_leases(rows), 200000);
}

/* GPUs that are taken away while they start up were of no use; the job gets others. */
TEST(interrupted_before_the_start)
{
    char scenario[1024], offer[640];
    snprintf(offer, sizeof offer, ", 'kind': 'spot', 'start_up': '30s', 'spot': {'availability': '%s'}",
             write_ticks("2, 0, 2, 2, 2, 2, 2, 2, 2"));
    snprintf(scenario, sizeof scenario, SCENARIO("%s", JOB("0s", "40s", 2)), offer);
    struct bed_rows *rows = run(scenario);
    CHECK_NEAR(bed_job(rows, 0)->start_s, 50, 1e-9);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 90, 1e-9);
    CHECK_EQ_INT(bill(rows), 20000 + 140000);
    CHECK_EQ_INT(bed_metric(rows, "rental.interruptions"), 1);
}

/* Lives of the given mean: as many interruptions per hour of use as they say, whatever their law; work and bill are
 * conserved. */
TEST(spot_lives_at_random)
{
    static const char *const laws[] = {"'law': 'exponential'", "'law': 'weibull', 'shape': 1"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(
            BED(.no_detail = false),
            "{'cluster': {'unlimited': true}, 'market': {'offers': {'gpu': {'price': '$3.6/h',"
            " 'kind': 'spot','spot': {'mean_life': '20min', %s}}}, 'renting': 'as-asked'},"
            " 'jobs': {'trace': {'format':'generate-job-types', 'count': 2000,"
            " 'types': {'a': {'arrival': {'process': 'poisson','rate': '20/h'}, 'run_time': {'law': 'fixed',"
            " 'mean': '30min'}, 'gpus': 2}}}}}",
            laws[i]);
        MUST(rows->code == 0);
        const double interruptions = bed_metric(rows, "rental.interruptions"), expected = 2000 * 30.0 / 20.0;
        CHECK_NEAR(interruptions, expected, 2.576 * sqrt(expected));
        CHECK_EQ_INT(bed_metric(rows, "rental.leases"), 2000 + interruptions);
        CHECK_NEAR(bed_metric(rows, "rental.gpu_s[gpu]"), 2000 * 2 * 1800.0, 1e-3);
        CHECK_EQ_INT(sum_of_leases(rows), bill(rows));
        const double billed_gpu_s = bed_metric(rows, "rental.billed_gpu_s[gpu]");
        const double n_leases = bed_metric(rows, "rental.leases"), rounded_s = billed_gpu_s - 2000 * 2 * 1800.0;
        CHECK(rounded_s > 0.0 && rounded_s < 2.0 * n_leases);
        CHECK_NEAR(bed_metric(rows, "cost.usd[gpu]"), billed_gpu_s * 3.6 / 3600.0, 0.5e-6 * n_leases);
    }
}

/* A cluster that is rented as a whole is paid for until the run ends, used or not. */
TEST(a_fixed_fleet)
{
    static const char scenario[] =
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'market': {'offers': {'own': {'price': '$3.6/h', 'kind':"
        " 'reserved'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [" JOB("0s", "100s", 1) ", " JOB(
            "150s", "50s", 8) "]}}}";
    struct bed_rows *rows = run(scenario);
    CHECK_EQ_INT(bill(rows), 8 * 200000);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_job"), 0.8, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rental.gpus.mean"), 8, 1e-9);
}

/* What services and jobs share of one bill. */
/* The whole cluster is paid for: also a spare node, and a node that is down. */
TEST(a_fixed_fleet_pays_for_spare_nodes)
{
    struct bed_rows *rows = run(
        "{'cluster': {'nodes': 4, 'gpus_per_node': 2}, 'market': {'offers': {'gpu': {'price': '$3.6/h'}},"
        " 'renting': 'fixed-fleet'}, 'failures': {'spare_nodes': 1, 'causes': {'n': {'scope': 'node',"
        " 'lifetime': {'mean': '1000h'}, 'repair': {'mean': '10s'}}}},"
        " 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s'}]}}}");
    CHECK_EQ_INT(bill(rows), 8 * 100 * 1000);
}

TEST(one_bill_for_services_and_jobs)
{
    static const char scenario[] =
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'},"
        "'market': {'prices': 'verda'}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [" JOB(
            "0s", "3600s",
            6) "]}}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2, 'slo': {'e2e': '1h'},"
               "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms'}},"
               "'trace': {'format': 'generate', 'count': 100, 'arrival': {'process': 'poisson', 'rate': '1/s'},"
               "'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 10}}}}}";
    struct bed_rows *rows = bed_ok(BED(.check = false), "%s", scenario);
    CHECK_EQ_INT(bill(rows), 8 * 1290000);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_job"), 6 * 1.29, 1e-9);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_output_token"), 2 * 1.29 / 1000, 1e-9);
    CHECK_NEAR(bed_metric(rows, "cost.usd_per_met_request"), 2 * 1.29 / 100, 1e-9);
}

/* A service on two of eight GPUs: 100 requests of 10 tokens that all attain their SLO, the last of which comes at 990
 * s. */
#define SERVICE(renting, more) SERVICE_ON(renting, "", more)
#define SERVICE_ON(renting, offer, more)                                                                               \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, " more                                        \
    "'market': {'offers': {'a100-80-sxm': {'gpu': 'a100-80-sxm', 'price': '$3.6/h'" offer "}},"                        \
    "'renting': '" renting "'}, 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2,'slo': {'e2e': '1h'},"        \
    " 'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'},'decode': {'fixed': '11ms'}},"                            \
    " 'trace': {'format': 'generate', 'count': 100,'arrival': {'process': 'fixed', 'rate': '0.1/s'},"                  \
    " 'prompt': {'distribution': 'fixed','tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 10}}}}}"

/* What is leased and idle is part of the price of what came of the rest: with closed forms, in dollars. */
TEST(idle_gpus_are_in_the_price)
{
    /* all eight GPUs, of which six have nothing to do, and two have it for a hundredth of the time */
    struct bed_rows *alone = run(SERVICE("fixed-fleet", ""));
    CHECK_NEAR(bed_metric(alone, "cost.usd"), 8 * 0.991, 1e-9);
    CHECK_NEAR(bed_metric(alone, "cost.usd_per_output_token"), 8 * 0.991 / 1000, 1e-12);
    CHECK_NEAR(bed_metric(alone, "cost.usd_per_met_request"), 8 * 0.991 / 100, 1e-12);
    CHECK(isnan(bed_metric(alone, "cost.usd_per_job")));
    /* half of the requests come in the warm-up, and so does the bill, by time */
    struct bed_rows *warm = run(SERVICE("fixed-fleet", "'warmup': '505s',"));
    CHECK_NEAR(bed_metric(warm, "cost.usd"), 8 * 0.991, 1e-9);
    const double met = bed_metric(warm, "request.finished") * bed_metric(warm, "slo.attained_frac");
    const double after_frac = 1 - 505 / bed_metric(warm, "sim.end_s");
    CHECK_NEAR(bed_metric(warm, "cost.usd_per_met_request"), 8 * 0.991 * after_frac / met, 1e-9);
    /* of what is rounded up, too: to an hour, as a quantum or a minimum */
    static const char *const coarse[] = {SERVICE_ON("fixed-fleet", ", 'billing': '1h'", "'warmup': '505s',"),
                                         SERVICE_ON("fixed-fleet", ", 'minimum': '1h'", "'warmup': '505s',")};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *hour = run(coarse[i]);
        CHECK_NEAR(bed_metric(hour, "cost.usd"), 8 * 3.6, 1e-9);
        CHECK_NEAR(bed_metric(hour, "cost.usd_per_met_request"), 8 * 3.6 * after_frac / met, 1e-9);
    }
    /* the service's two to the end, the job's four for 900 s; what nobody leased is free */
    struct bed_rows *both = run(
        SERVICE("as-asked", "'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [" JOB("0s", "900s", 4) "]}},"));
    CHECK_NEAR(bed_metric(both, "cost.usd"), 2 * 0.991 + 4 * 0.9, 1e-9);
    CHECK_NEAR(bed_metric(both, "cost.usd_per_job"), 4 * 0.9, 1e-9);
    CHECK_NEAR(bed_metric(both, "cost.usd_per_met_request"), 2 * 0.991 / 100, 1e-12);
}

#define FLEET(policy, more)                                                                                            \
    "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a10g', 'node_types': {'big': {'nodes': 1,"                   \
    " 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}}}, 'market': {'prices': 'melange-2024',"                               \
    "'offers': {'small': {'gpu': 'a10g'}, 'large': {'gpu': 'a100-80-sxm'}},"                                           \
    "'renting': {'policy': '" policy "', 'service': 'chat', 'rate': '30/s', 'slices': 1,"                              \
    "'buckets': [0.2, 0.1, 0.5, 0.2], 'kinds': {'small': {'max_throughput': ['2/s', '1/s', '5/s', '2/s']},"            \
    "'large': {'max_throughput': ['20/s', '20/s', '40/s', '20/s']}}" more "}},"                                        \
    "'services': {'chat': {'llm': 'mistral-7b', 'pools': {'small': {}, 'large': {'gpu': 'a100-80-sxm'}},"              \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms'}, 'decode': {'fixed': '11ms'}},"                            \
    "'trace': {'format': 'generate', 'count': 300, 'arrival': {'process': 'poisson', 'rate': '30/s'},"                 \
    "'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 10}}}}}"

/* The fleet of Mélange's example, and the one of A100s alone; all that it has is paid for until the run ends. */
TEST(a_planned_fleet)
{
    struct bed_rows *mixed = run(FLEET("melange", "")), *single = run(FLEET("cheapest-single-type", ""));
    CHECK_NEAR(bed_metric(mixed, "rental.gpus.mean"), 4, 1e-9);
    CHECK_NEAR(bed_metric(mixed, "cost.usd_per_h"), 6.70, 1e-9);
    CHECK_NEAR(bed_metric(single, "rental.gpus.mean"), 2, 1e-9);
    CHECK_NEAR(bed_metric(single, "cost.usd_per_h"), 7.34, 1e-9);
    const double seconds = ceil(bed_metric(mixed, "sim.end_s"));
    CHECK_NEAR(bed_metric(mixed, "cost.usd"), 6.70 * seconds / 3600, 2e-6);
}

static void check_refused(const char *scenario, const char *set, int code, const char *says)
{
    const char *const sets[] = {set, NULL};
    struct bed_rows *rows = bed_run(BED(.quiet = true, .sets = sets), "%s", scenario);
    CHECK_EQ_INT(rows->code, code);
    bool found = false;
    for (int i = 0; i < rows->diag.n_items; i++) found = found || strstr(rows->diag.items[i].text, says) != NULL;
    if (!CHECK(found)) printf("%s\n", rows->diag.items[0].text);
}

TEST(impossible_offers_are_refused)
{
    check_refused(SCENARIO(", 'gpu': 't4'", JOB("0s", "1s", 2)), NULL, SIM_E_CONFIG, "of which the site has no nodes");
    check_refused("{'cluster': {'unlimited': true}, 'market': {}, 'jobs': {'trace': {'format': 'inline-jobs',"
                  "'jobs': []}}}",
                  NULL, SIM_E_CONFIG, "no price");
    check_refused("{'cluster': {'unlimited': true}, 'market': {'offers': {'x': {'price': '$1/h'}}}, 'jobs':"
                  "{'trace': {'format': 'inline-jobs', 'jobs': []}}}",
                  NULL, SIM_E_CONFIG, "which has no limit");
    check_refused("{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 't4'}, 'market': {'prices': 'verdo'},"
                  "'jobs': {'trace': {'format': 'inline-jobs', 'jobs': []}}}",
                  NULL, SIM_E_CONFIG, "unknown price list");
    check_refused(SCENARIO(", 'price_changes': [{'at': '9s', 'price': '$1/h'}, {'at': '9s', 'price': '$2/h'}]",
                           JOB("0s", "1s", 2)),
                  NULL, SIM_E_CONFIG, "not after the one before it");
    check_refused(FLEET("melange", ""), "market.renting.service=caht", SIM_E_CONFIG, "which does not exist");
    check_refused(FLEET("melange", ""),
                  "services.chat.pools.small.scaling={\"policy\": {\"policy\": \"target-outstanding\", \"target\": 1},"
                  " \"max\": 3}",
                  SIM_E_CONFIG, "pool 'small' of service 'chat' scales");
}

static int catch_unused(void *context, const struct warning_row *row)
{
    struct text *found = context;
    if (strcmp(row->code, "offer-unused") == 0) text_printf(found, "%.20s;", row->text);
    return 0;
}

/* Leases for the whole run take the first offer that is never interrupted. Jobs that rent can use all. */
TEST(offers_that_no_lease_can_use_are_warned_of)
{
#define OFFERED(renting, work)                                                                                         \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'market': {'renting': '" renting              \
    "', 'offers': {'s': {'price': '$1/h', 'kind': 'spot'}, 'd': {'price': '$2/h'}, 'e': {'price': '$2/h'}}}, " work    \
    "}"
#define OFFERED_SERVICE                                                                                                \
    "'services': {'c': {'llm': 'mistral-7b', 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process':"       \
    " 'fixed', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed',"  \
    " 'tokens': 9}}}}"
#define OFFERED_JOB "'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '9s'}]}}"
    static const struct {
        const char *world, *found;
    } cases[] = {{OFFERED("as-asked", OFFERED_JOB), ""},
                 {OFFERED("fixed-fleet", OFFERED_JOB), "no lease can use off;no lease can use off;"},
                 {OFFERED("fixed-fleet", OFFERED_SERVICE), "no lease can use off;no lease can use off;"},
                 {OFFERED("as-asked", OFFERED_SERVICE),
                  "'as-asked' rents for;no lease can use off;no lease can use off;"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text found;
        text_init(&found);
        text_add(&found, "");
        const struct sink sink = {.context = &found, .warning = catch_unused};
        bed_free(bed_ok(BED(.also = &sink), "%s", cases[i].world));
        CHECK_EQ_STR(found.chars, cases[i].found);
        text_fini(&found);
    }
}

/* A renter for jobs without jobs is as none: the cluster is leased from start to end, also what no replica is on. */
TEST(a_renter_for_jobs_without_jobs_leases_the_cluster)
{
    const struct bed_rows *rows = bed_ok(NULL, "%s", OFFERED("as-asked", OFFERED_SERVICE));
    const char *text = bed_warning(rows, "offer-unused");
    if (CHECK(text != NULL))
        CHECK_EQ_STR(text,
                     "'as-asked' rents for jobs, and there are none: the whole cluster is leased for the whole run");
    CHECK_NEAR(bed_metric(rows, "rental.gpus.mean"), 2, 1e-12);
}
