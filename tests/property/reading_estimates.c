/* What schedulers know of jobs that load a model or read their state: how long that still takes. Each node reads
 * through a NIC of its own, and most jobs take whole nodes, so that none slows another and estimates are exact. */
#include "policies/registry.h"
#include "sim/core/rng.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>

#define CLUSTER(nodes)                                                                                                 \
    "'cluster': {'nodes': " #nodes ", 'gpus_per_node': 8, 'network': {'bandwidth': '1GB/s', 'per': 'node',"            \
    " 'latency': '1ms'}, 'storage': {'models': {'device': 'rdma-h800'}}}"

enum { NODES = 4, GPUS = 8 * NODES, MOST_RUNS = 64 };

/* One job in three has nothing to load; those of type 'state' save and restore 12 GB. */
static const char types[] =
    "'types': {'model': {'load': {'bytes': '40GB', 'from': 'models'}}, 'plain': {'preemptible': true}, 'state': {"
    "'load': {'bytes': '8GB', 'from': 'models'}, 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '20s'},"
    " 'bytes': '12GB', 'to': 'models', 'model': 'fastpersist', 'overlap': '15s'}}}";

static void write_jobs(char *text, size_t size, uint64_t seed, int n)
{
    static const char *const names[] = {"model", "plain", "state"};
    struct rng rng;
    size_t at = 0;
    int from_s = 0;
    rng_init(&rng, seed, 0, "reading_estimates", 0);
    for (int i = 0; i < n; i++) {
        const int nodes = 1 + (int)rng_below(&rng, NODES), type = (int)rng_below(&rng, 3);
        const int run_s = 20 + (int)rng_below(&rng, 180);
        from_s += (int)rng_below(&rng, 10);
        at += (size_t)snprintf(text + at, size - at, "%s{'submit': '%ds', 'gpus': %d, 'duration': '%ds', 'type': '%s'}",
                               i > 0 ? ", " : "", from_s, 8 * nodes, run_s, names[type]);
    }
}

/* A run of a job: from a start to its end, or to the failure of the site. */
struct run {
    int64_t job;
    double submit_s, from_s, to_s;
    int gpus;
};

static size_t list_runs(const struct bed_rows *rows, double after_s, struct run *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_placements; i++) {
        const struct placement_row *row = &rows->placements[i];
        size_t k = 0;
        if (row->start_s < after_s) continue;
        while (k < n && runs[k].job != row->job) k++;
        const struct job_row *job = bed_job(rows, row->job);
        if (k == n) runs[n++] = (struct run){row->job, job->submit_s, row->start_s, row->end_s, 0};
        runs[k].gpus += (int)row->gpus;
    }
    return n;
}

/* When enough GPUs are free for a job, beside the runs that have begun by then. */
static double reservation_s(const struct run *runs, size_t n, const struct run *job, double head_s)
{
    double best_s = INFINITY;
    for (size_t k = 0; k <= n; k++) {
        const double at_s = k < n ? runs[k].to_s : head_s;
        int held = 0;
        if (at_s < head_s || at_s >= best_s) continue;
        for (size_t i = 0; i < n; i++)
            if (&runs[i] != job && runs[i].from_s <= head_s && runs[i].to_s > at_s + 1e-6) held += runs[i].gpus;
        if (GPUS - held >= job->gpus) best_s = at_s;
    }
    return best_s;
}

static bool is_before(const struct run *a, const struct run *b)
{
    return a->submit_s < b->submit_s || (a->submit_s == b->submit_s && a->job < b->job);
}

/* Each job starts by the reservation that it has when all before it have started. Returns how many had to wait. */
static int check_reservations(const struct run *runs, size_t n, double after_s)
{
    int waited = 0;
    for (size_t i = 0; i < n; i++) {
        double head_s = fmax(runs[i].submit_s, after_s);
        for (size_t k = 0; k < n; k++)
            if (is_before(&runs[k], &runs[i])) head_s = fmax(head_s, runs[k].from_s);
        const double promised_s = reservation_s(runs, n, &runs[i], head_s);
        CHECK(runs[i].from_s <= promised_s + 1e-6);
        waited += runs[i].from_s > head_s;
    }
    return waited;
}

static const char *const reserving[] = {"fifo", "easy", "conservative"};

/* Runs 24 random jobs of each seed under each scheduler that reserves, on a site with these further sections. Checks
 * the reservations from after_s on. Returns how many jobs had to wait. */
static int check_random_jobs(const char *sections, double after_s)
{
    int waited = 0;
    for (size_t p = 0; p < sizeof reserving / sizeof *reserving; p++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            char jobs[4096];
            struct run runs[MOST_RUNS];
            write_jobs(jobs, sizeof jobs, seed, 24);
            struct bed_rows *rows = bed_ok(
                BED(.check = true),
                "{" CLUSTER(4) ", %s'jobs': {'scheduler': '%s', %s, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                sections, reserving[p], types, jobs);
            waited += check_reservations(runs, list_runs(rows, after_s, runs), after_s);
            bed_free(rows);
        }
    return waited;
}

/* The head of the queue starts by its reservation, beside jobs that load. */
TEST(a_load_delays_no_reservation)
{
    CHECK(check_random_jobs("", 0) > 100);
}

/* All lose their GPUs at 400 s, and jobs that have saved restore their state from 450 s on. */
TEST(a_restore_delays_no_reservation)
{
    const char *failures = "'failures': {'causes': {'site': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean':"
                           " '400s'}, 'repair': {'law': 'constant', 'mean': '50s'}}}}, 'until': '850s', ";
    CHECK(check_random_jobs(failures, 450) > 50);
}

/* Of two jobs the one that ends first keeps its GPUs, though it loads. */
TEST(a_shorter_job_that_loads_is_not_preempted)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{" CLUSTER(
            1) ", 'jobs': {'scheduler': 'srtf', %s, 'trace': {'format': 'inline-jobs', 'jobs': [{'gpus': 8,"
               " 'duration': '100s', 'type': 'model'}, {'submit': '5s', 'gpus': 8, 'duration': '1000s', 'type': 'model'}]}}}",
        types);
    CHECK_EQ_INT((int)bed_decisions(rows, "preempt", -1), 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 0.001 + 40 + 100, 1e-6);
}

/* A job that would have to load longer than the other one works comes second. */
TEST(the_load_of_a_waiting_job_counts)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{" CLUSTER(
            1) ", 'jobs': {'scheduler': 'srtf', %s, 'trace': {'format': 'inline-jobs', 'jobs': [{'gpus': 8,"
               " 'duration': '10s', 'type': 'plain'}, {'submit': '1s', 'gpus': 8, 'duration': '20s', 'type': 'model'},"
               " {'submit': '1s', 'gpus': 8, 'duration': '50s', 'type': 'plain'}]}}}",
        types);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 10, 1e-6);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 60, 1e-6);
}

/* Every scheduler ends jobs that load, on node types with and without room. */
TEST(every_scheduler_ends_jobs_that_load)
{
    const struct policy_table table = policy_registry();
    int n_run = 0;
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'gpu': 'p100', 'nodes': 2, 'gpus_per_node': 4, 'node_types': {'new': {'gpu': 'v100-32-pcie', 'nodes': 2,"
            " 'gpus_per_node': 4}}, 'network': {'bandwidth': '1GB/s', 'per': 'node'}, 'storage': {'models': {'device':"
            " 'rdma-h800'}}}, 'jobs': {'scheduler': '%s', %s, 'trace': {'format': 'inline-jobs', 'jobs': [{'gpus': 4,"
            " 'duration': '50s', 'type': 'model'}, {'gpus': 2, 'duration': '90s', 'type': 'state'}, {'submit': '5s',"
            " 'gpus': 8, 'duration': '30s', 'type': 'state'}, {'submit': '6s', 'gpus': 1, 'duration': '300s', 'type':"
            " 'model'}, {'submit': '300s', 'gpus': 4, 'duration': '20s', 'type': 'plain'}]}}}",
            table.policies[i]->name, types);
        if (rows->code == SIM_E_CONFIG) { /* it has parameters of its own, or needs another placement */
            bed_free(rows);
            continue;
        }
        n_run++;
        CHECK_EQ_INT(rows->code, 0);
        if (!CHECK(bed_metric(rows, "job.finished") == 5)) printf("\n  %s", table.policies[i]->name);
        bed_free(rows);
    }
    CHECK(n_run > 20);
}
