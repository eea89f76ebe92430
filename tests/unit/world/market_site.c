/* The market on the nodes of a site: what jobs can rent of nodes that are there, jobs without GPUs, work that spot GPUs
 * take with them, and what a site that rents job by job refuses. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* The parts are GPUs at a tenth of a cent per second. */
#define run(quiet_, ...) bed_run(BED(.check = true, .quiet = quiet_), __VA_ARGS__)

#define MARKET(offer, renting) "'market': {'offers': {'gpu': {'price': '$3.6/h'" offer "}}, 'renting': " renting "}"
#define JOBS(list) "'trace': {'format': 'inline-jobs', 'jobs': [" list "]}"

static struct bed_rows *run_well(const char *scenario)
{
    struct bed_rows *rows = run(false, "%s", scenario);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

static int64_t bill(const struct bed_rows *rows)
{
    return llround(bed_metric(rows, "cost.usd") * 1e6);
}

/* --- Jobs without GPUs --- */

/* They run at once where a node has CPU, whatever waits for GPUs, and cost nothing: GPUs are what is rented. */
TEST(jobs_without_gpus_rent_nothing)
{
    static const char *const renters[] = {
        "'as-asked'", "{'policy': 'fixed-width', 'classes': {'t': {'rate': '1/s', 'size': '1s', 'width': 2}}}"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = run(
            false,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'cpus_per_node': 8}, " MARKET("", "%s") ", 'jobs': {'types': {'t': {}}, " JOBS(
                "{'duration': '100s', 'gpus': 2, 'cpus': 4, 'type': 't'},{'submit': '1s', 'duration': '10s',"
                " 'gpus': 2, 'type': 't'},{'submit': '2s', 'duration': '5s', 'gpus': 0, 'cpus': 4,"
                " 'type': 't'},{'submit': '3s', 'duration': '5s', 'gpus': 0, 'cpus': 1, 'type': 't'},{'submit': '3s',"
                " 'duration': '5s', 'gpus': 0, 'type': 't'}") "}}",
            renters[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_job(rows, 2)->end_s, 7, 1e-9);
        CHECK_NEAR(bed_job(rows, 3)->end_s, 12, 1e-9); /* after it, for its CPU */
        CHECK_NEAR(bed_job(rows, 4)->end_s, 8, 1e-9);
        CHECK_EQ_INT(bill(rows), 2 * 100000 + 2 * 10000);
        CHECK_EQ_INT(bed_metric(rows, "rental.leases"), 2);
    }
}

/* --- Nodes that are not there --- */

/* Both nodes fail after 100 s and are back after 50 more: until then no lease begins, since nobody could use it. */
TEST(no_lease_of_failed_nodes)
{
    struct bed_rows *rows = run_well("{'cluster': {'nodes': 2, 'gpus_per_node': 4}, " MARKET(
        "", "'as-asked'") ", 'failures': {'causes': {'crash': {'scope': 'node', 'lifetime': {'law': 'constant',"
                          " 'mean': '100s'},'repair': {'law': 'constant', 'mean': '50s'}}}}, 'jobs': {" JOBS(
                              "{'duration': '1s', 'gpus': 1}, {'submit': '110s', 'duration': '10s', 'gpus': 8}") "}}");
    CHECK_NEAR(bed_job(rows, 1)->start_s, 150, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rental.gpu_s[gpu]"), 1 + 80, 1e-9);
    CHECK_EQ_INT(bill(rows), 81000);
}

/* Two GPUs are free, one on each node: a job for two, which its nodes cannot have apart, leases them when it starts,
 * not before. Those that have to start up are leased by their number, and it waits on its lease. */
TEST(no_lease_without_a_place)
{
    for (int start_up_s = 0; start_up_s <= 10; start_up_s += 10) {
        struct bed_rows *rows = run(
            false,
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, " MARKET(", 'start_up': '%ds'", "'as-asked'") ", 'jobs': {" JOBS(
                "{'duration': '100s', 'gpus': 3}, {'duration': '100s', 'gpus': 3}, {'duration': '100s', 'gpus': 2}") "}}",
            start_up_s);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_job(rows, 2)->start_s, 100 + start_up_s, 1e-9);
        CHECK_EQ_INT(bill(rows), start_up_s == 0 ? 800000 : 6 * 110000 + 2 * 210000);
        for (size_t i = 0; i < rows->n_leases && start_up_s == 0; i++)
            CHECK_NEAR(rows->leases[i].start_s, bed_job(rows, rows->leases[i].job)->start_s, 1e-9);
    }
}

/* Eight GPUs beside a spare node: leases that start up leave none, whatever the spare node has. The second job leases
 * its GPUs when those of the first are free, and pays for no wait. */
TEST(no_lease_beside_leases_that_start)
{
    struct bed_rows *rows = run_well("{'cluster': {'nodes': 3, 'gpus_per_node': 4}, " MARKET(
        ", 'start_up': '10s'",
        "'as-asked'") ", 'failures': {'spare_nodes': 1, 'causes': {'never': {'scope': 'node', 'lifetime':"
                      " {'law': 'constant', 'mean': '1000000s'}, 'repair': {'mean': '1s'}}}}, 'jobs': {" JOBS(
                          "{'duration': '100s', 'gpus': 8}, {'submit': '1s', 'duration': '100s', 'gpus': 4}") "}}");
    CHECK_NEAR(bed_job(rows, 1)->start_s, 120, 1e-9);
    CHECK_EQ_INT(bill(rows), 8 * 110000 + 4 * 110000);
}

static void check_reported(struct bed_rows *rows, int code, const char *says, const char *hint)
{
    CHECK_EQ_INT(rows->code, code);
    bool found = false;
    for (int i = 0; i < rows->diag.n_items; i++)
        found = found ||
                (strstr(rows->diag.items[i].text, says) != NULL && strstr(rows->diag.items[i].hint, hint) != NULL);
    if (!CHECK(found)) printf("%s (%s)\n", rows->diag.items[0].text, rows->diag.items[0].hint);
}

#define WIDE(cluster, offer)                                                                                           \
    "{'cluster': {" cluster "}, " MARKET(offer, "{'policy': 'fixed-width', 'classes': {'t': {'rate': '1/s', 'size': '1s',"\
    "'width': 9}}}") ", 'jobs': {'types': {'t': {'speedup': {'law': 'power', 'exponent': 0.5}}}, "                     \
    JOBS("{'duration': '10s', 'type': 't', 'cpus': 1}") "}}"

static void check_rejected(const char *scenario, const char *why)
{
    struct bed_rows *rows = run(true, "%s", scenario);
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "job.rejected") == 1 && bed_metric(rows, "rental.leases") == 0);
    CHECK_EQ_INT(bed_decisions(rows, "reject", 0), 1);
    for (size_t i = 0; i < rows->n_decisions; i++) CHECK(strstr(rows->decisions[i].reason, why) != NULL);
}

/* A job that rents more than there will ever be would wait for ever, and all behind it: it is rejected. */
TEST(more_than_there_will_ever_be)
{
    const char *const too_few = "its offer never has what it rents for 1 GPU";
    check_rejected(WIDE("'nodes': 2, 'gpus_per_node': 4", ""), too_few);
    check_rejected(WIDE("'nodes': 3, 'gpus_per_node': 4", ", 'limit': 8"), too_few);
    check_rejected(WIDE("'nodes': 3, 'gpus_per_node': 4, 'cpus_per_node': 2", ""), "no node ever has room");
    check_rejected("{'cluster': {'nodes': 1}, " MARKET(", 'limit': 0.2534",
                                                       "'as-asked'") ", 'jobs': {" JOBS("{'duration': '10s'}") "}}",
                   too_few);
}

/* GPUs of a service are leased for the whole run. Of twelve, a job can rent nine beside a service on three of them. */
TEST(no_job_rents_the_gpus_of_a_service)
{
    for (int gpus = 3; gpus <= 4; gpus++) {
        struct bed_rows *rows = run(
            true,
            "{'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'opt-6.7b',"
            " 'replicas': %d, 'trace': {'format': 'generate', 'count': 1}}},"
            " 'market': {'offers': {'gpu': {'price': '$3.6/h', 'gpu': 'a100-80-sxm'}}, 'renting': {'policy': 'fixed-width',"
            " 'classes': {'t': {'rate': '1/s', 'size': '1s', 'width': 9}}}}, 'jobs': {'types': {'t': {'speedup':"
            " {'law': 'power', 'exponent': 0.5}}}, " JOBS("{'duration': '10s', 'type': 't'}") "}}",
            gpus);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_metric(rows, "job.rejected"), gpus > 3, 0);
        CHECK_EQ_INT(bed_decisions(rows, "reject", 0), gpus > 3);
        for (size_t i = 0; i < rows->n_decisions; i++)
            if (strcmp(rows->decisions[i].action, "reject") == 0)
                CHECK(strstr(rows->decisions[i].reason, "its offer never has what it rents for 1 GPU") != NULL);
    }
}

/* As-asked goes by what there is: of two offers the one with enough nodes, though it is dearer. */
TEST(offers_are_as_large_as_their_nodes)
{
    struct bed_rows *rows = run_well(
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 't4', 'node_types': {'big': {'nodes': 2, 'gpus_per_node': 8,"
        "'gpu': 'v100-16-sxm'}}}, 'market': {'offers': {'few': {'gpu': 't4', 'price': '$1/h'},"
        "'many': {'gpu': 'v100-16-sxm', 'price': '$3.6/h'}}, 'renting': 'as-asked'}, 'jobs': {" JOBS(
            "{'duration': '100s', 'gpus': 8}, {'duration': '100s', 'gpus': 2}") "}}");
    CHECK_NEAR(bed_metric(rows, "rental.gpu_s[many]"), 800, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rental.gpu_s[few]"), 200, 1e-9);
}

/* What a file of spot GPUs had earlier does not come back. It has three GPUs in the first ten seconds only, so that
 * as-asked takes the dearer offer. Two will come after 20 s. */
TEST(spot_gpus_of_earlier_do_not_count)
{
    for (int gpus = 2; gpus <= 3; gpus++) {
        struct bed_rows *rows = run(
            false,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 't4', 'node_types': {'big': {'nodes': 1,"
            " 'gpus_per_node': 8, 'gpu': 'v100-16-sxm'}}}, 'market': {'offers': {'few': {'gpu': 't4', 'price': '$1/h',"
            " 'kind': 'spot', 'spot': {'availability': '%s'}}, 'many': {'gpu': 'v100-16-sxm', 'price': '$3.6/h'}},"
            " 'renting': 'as-asked'}, 'jobs': {" JOBS("{'submit': '12s', 'duration': '5s', 'gpus': %d}") "}}",
            test_file("spot.json", "{'metadata': {'gap_seconds': 10}, 'data': [4, 1, 2, 1]}"), gpus);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_job(rows, 0)->start_s, gpus == 2 ? 20 : 12, 1e-9);
        CHECK_NEAR(bed_metric(rows, gpus == 2 ? "rental.gpu_s[few]" : "rental.gpu_s[many]"), gpus * 5, 1e-9);
    }
}

TEST(two_types_of_nodes_with_one_gpu)
{
    check_reported(
        run(true,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 't4', 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 8,"
            "'gpu': 't4'}}}, 'market': {'offers': {'t4': {'gpu': 't4', 'price': '$1/h'}}, 'renting': 'as-asked'},"
            "'jobs': {" JOBS("{'duration': '10s', 'gpus': 8}") "}}"),
        SIM_E_CONFIG, "two types of nodes have GPU 't4'", "one type");
}

/* A budget in dollars is that of the first prices: a scenario is told so where they change, and only there. */
TEST(a_budget_while_prices_change)
{
    static const struct {
        const char *budget, *at;
        int warnings;
    } cases[] = {{"'budget': '$100/h'", "1h", 1}, {"'budget': '$100/h'", "0s", 0}, {"'budget_gpus': 9", "1h", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = run(
            true,
            "{'cluster': {'unlimited': true}, " MARKET(
                ", 'price_changes': [{'at': '%s', 'price': '$5/h'}]",
                "{'policy': 'fixed-width', %s, 'classes': {'t': {'rate': '1/h', 'size': '1h'}}}") ", 'jobs': {'types': {"
                                                                                                  "'t': {'speedup': {'law': 'power', 'exponent': 0.5}}}, " JOBS(
                                                                                                      "{'duration': '10s', 'type': 't'}") "}}",
            cases[i].at, cases[i].budget);
        int warnings = 0;
        for (int k = 0; k < rows->diag.n_items; k++)
            warnings += strstr(rows->diag.items[k].text, "the price of offer 'gpu' changes") != NULL;
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(warnings, cases[i].warnings);
    }
}

TEST(a_scheduler_that_would_not_be_asked)
{
    check_reported(
        run(true, "{'cluster': {'unlimited': true}, " MARKET(
                      "", "'as-asked'") ", 'jobs': {'scheduler': 'tiresias', " JOBS("{'duration': '10s'}") "}}"),
        SIM_E_CONFIG, "'tiresias' would have no effect", "fixed-fleet");
}

/* --- Spot GPUs take what was not saved with them --- */

/* Four GPUs that are gone from 60 s to 70 s. A job of 100 s saves every 25 s of work for 2 s: at 25 and 52 s, so that
 * 25 s count at 27 s and 50 s at 54 s; by 60 s it has done 56 s. A last save of 2 s before the end leaves 54 s. */
static struct bed_rows *run_spot(const char *checkpoint, const char *notice)
{
    const char *path = test_file("spot.csv", "0,4\n60000,0\n70000,4\n");
    struct bed_rows *rows = run(
        false,
        "{'cluster': {'unlimited': true}, 'market': {'offers': {'gpu': {'price': '$3.6/h', 'kind': 'spot', 'spot': {"
        "'availability': '%s', 'format': 'instance-counts', 'notice': '%s'}}}, 'renting': 'as-asked'}, 'jobs': {"
        "'types': {'default': {%s}}, " JOBS("{'duration': '100s', 'gpus': 4}") "}}",
        path, notice, checkpoint);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

static void check_spot(const char *checkpoint, const char *notice, double end_s, double lost_gpu_s)
{
    struct bed_rows *rows = run_spot(checkpoint, notice);
    MUST(rows != NULL);
    CHECK_NEAR(bed_job(rows, 0)->end_s, end_s, 1e-9);
    CHECK_NEAR(bed_job(rows, 0)->lost_gpu_s, lost_gpu_s, 1e-9);
    CHECK_NEAR(bed_metric(rows, "rental.lost_gpu_s"), lost_gpu_s, 1e-9);
    CHECK_EQ_INT(bed_metric(rows, "rental.interruptions"), 1);
}

TEST(interruptions_leave_what_is_saved)
{
#define EVERY_25_S                                                                                                     \
    "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '25s'}, 'bytes': '2GB', 'write': '1GB/s'}"
    check_spot("", "0s", 110, 0);                   /* no checkpoints: it keeps its work, as after a preemption */
    check_spot(EVERY_25_S, "0s", 122, 4 * 6.0);     /* 50 s are left, with one more save */
    check_spot(EVERY_25_S, "1.9s", 122, 4 * 6.0);   /* no time for a save */
    check_spot(EVERY_25_S, "2s", 118, 4 * 2.0);     /* 46 s are left */
    check_spot(EVERY_25_S, "2min", 118, 4 * 2.0);
#undef EVERY_25_S
}

/* A renter that leaves the site as it is compares no offers: jobs that say what they train last as long as without a
 * market, and the site is paid to their end. Others refuse such jobs. */
TEST(a_fixed_fleet_trains)
{
#define TRAINS                                                                                                         \
    "'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'jobs': {'types': {'t': {'training': {"        \
    "'llm': 'llama-3.1-8b', 'tensor_parallel': 4, 'global_batch': 16}}}, " JOBS(                                       \
        "{'type': 't', 'gpus': 8, 'steps': 5}") "}"
    const struct bed_rows *alone = run(true, "{" TRAINS "}");
    CHECK_EQ_INT(alone->code, 0);
    const double end_s = bed_job(alone, 0)->end_s;
    CHECK(end_s > 10);
    struct bed_rows *rented = run(true, "{" TRAINS ", " MARKET("", "'fixed-fleet'") "}");
    CHECK_EQ_INT(rented->code, 0);
    CHECK_NEAR(bed_job(rented, 0)->end_s, end_s, 1e-9);
    CHECK_NEAR(bed_metric(rented, "cost.usd"), 8 * ceil(end_s) * 0.001, 1e-6);
    check_reported(run(true, "{" TRAINS ", " MARKET("", "'as-asked'") "}"), SIM_E_CONFIG,
                   "'as-asked' compares offers by 'speeds', but type 't' has 'training'", "fixed-fleet");
#undef TRAINS
}

/* Jobs have costs under a market alone, which takes the prices that the cluster states. */
TEST(prices_that_nothing_reads_are_told)
{
    static const struct {
        const char *price, *type_price, *market;
        int told;
    } cases[] = {{"'gpu_price': '$3.6/h', ", "", "", 1},
                 {"", ", 'gpu_price': '$5/h'", "", 1},
                 {"'gpu_price': '$3.6/h', ", ", 'gpu_price': '$5/h'", "", 2},
                 {"", "", "", 0},
                 {"'gpu_price': '$3.6/h', ", ", 'gpu_price': '$5/h'", "'market': {}, ", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', %s'node_types': {'h': {'nodes': 1, "
            "'gpus_per_node': 1, 'gpu': 'h100-sxm'%s}}}, %s'jobs': {" JOBS("{'duration': '10s'}") "}}",
            cases[i].price, cases[i].type_price, cases[i].market);
        CHECK_EQ_INT(rows->diag.n_items, cases[i].told);
        for (int k = 0; k < rows->diag.n_items; k++)
            CHECK(strstr(rows->diag.items[k].text, "'gpu_price' has no effect") != NULL);
    }
    const struct bed_rows *rented = bed_ok(
        BED(.quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'gpu_price': '$3.6/h'}, 'market': {}, "
        "'jobs': {" JOBS("{'duration': '10s'}") "}}");
    CHECK_EQ_INT(bill(rented), 2 * 10000);
}

/* A micro-dollar has no parts: a price with half of one is rounded, and said so. */
TEST(prices_are_whole_micro_dollars)
{
    static const char *const prices[] = {"1.000001", "1.0000015"};
    for (size_t i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(BED(.quiet = true),
                                             "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'market': {'offers': {'gpu':"
                                             " {'price': '$%s/h'}}, 'renting': 'as-asked'}, 'jobs': {" JOBS(
                                                 "{'duration': '1s'}") "}}",
                                             prices[i]);
        CHECK_EQ_INT(rows->diag.n_items, i);
        if (i > 0) CHECK(strstr(rows->diag.items[0].text, "rounded to whole micro-dollars") != NULL);
    }
}
