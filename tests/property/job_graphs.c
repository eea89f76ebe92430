/* Jobs that come after others: when they start, and what becomes of them when a need is rejected. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"

static const struct job_row *row_of(const struct bed_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].id == id) return &rows->jobs[i];
    CHECK(!"the job has a row");
    return &rows->jobs[0];
}

/* --- A chain and a fork --- */

/* Two nodes of two GPUs. Job 1 runs where job 0 ran; job 2 has no room there and waits 7 s for its data. */
TEST(a_job_waits_for_its_needs_and_for_their_data)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 2, 'gpu': 'p100'}, 'jobs': {" TRACE(
            "{'duration': '10s', 'gpus': 2}, {'duration': '5s', 'gpus': 2, 'after': [{'job': 0, 'delay': '7s'}]},"
            "{'duration': '4s', 'gpus': 2, 'after': [{'job': 0, 'delay': '7s'}]},"
            "{'duration': '1s', 'gpus': 0, 'after': [{'job': 1}, {'job': 2}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 1)->start_s, 10, 1e-9);
    CHECK_NEAR(row_of(rows, 1)->end_s, 15, 1e-9);
    CHECK_NEAR(row_of(rows, 2)->start_s, 10, 1e-9);
    CHECK_NEAR(row_of(rows, 2)->end_s, 21, 1e-9);
    CHECK_NEAR(row_of(rows, 3)->start_s, 21, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.queue_s.max"), 21, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.held_s.mean"), (10.0 + 10 + 21) / 3, 1e-9);
}

/* Needs that had ended before a job's submission hold nothing up, nor do jobs that fail. */
TEST(needs_that_have_ended_hold_nothing_up)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100'}, 'jobs': {" TRACE(
                                "{'duration': '10s'},"
                                " {'submit': '20s', 'duration': '5s', 'after': [{'job': 0}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 1)->start_s, 20, 1e-9);
    CHECK(isnan(bed_metric(rows, "job.held_s.mean")));
}

/* Job 0 is larger than the cluster. Jobs 1 to 4 come after it, some by way of others; job 4 is submitted later. */
TEST(what_comes_after_a_rejected_job_is_rejected)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true, .quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {" TRACE(
            "{'duration': '10s', 'gpus': 1}, {'duration': '9s', 'gpus': 9, 'after': [{'job': 0}]},"
            "{'duration': '1s', 'after': [{'job': 1}, {'job': 0}]}, {'duration': '1s', 'after': [{'job': 2}]},"
            "{'submit': '30s', 'duration': '1s', 'after': [{'job': 3}]}, {'submit': '30s', 'duration': '1s'}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 6);
    for (int64_t id = 1; id < 5; id++) CHECK_EQ_STR(row_of(rows, id)->status, "rejected");
    CHECK_EQ_STR(row_of(rows, 0)->status, "finished");
    CHECK_NEAR(row_of(rows, 5)->end_s, 31, 1e-9);
}

/* The same, where no need was known when the first job was rejected. */
TEST(the_first_need_may_be_a_rejected_job)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true, .quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'},"
                                           " 'jobs': {" TRACE(
                                               "{'duration': '9s', 'gpus': 9},"
                                               " {'duration': '1s', 'after': [{'job': 0}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_STR(row_of(rows, 1)->status, "rejected");
}

/* Schedulers get to know job 1 after jobs 2 and 3, which were submitted later; all end. */
TEST(every_scheduler_bears_jobs_that_come_late)
{
    const struct policy_table table = policy_registry();
    int n_run = 0;
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'placement': 'counted', 'scheduler':"
            " '%s', " TRACE("{'duration': '100s'}, {'duration': '300s', 'after': [{'job': 0}]},"
                            "{'duration': '3000s'}, {'submit': '1000s', 'duration': '400s'},"
                            "{'submit': '1001s', 'duration': '40s', 'after': [{'job': 3}]},"
                            "{'submit': '1002s', 'duration': '50s', 'gpus': 3}") "}}",
            table.policies[i]->name);
        if (rows->code == SIM_E_CONFIG) continue; /* it has parameters of its own */
        n_run++;
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_jobs, 6);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
        if (rows->code != 0) printf("  %s\n", table.policies[i]->name);
        bed_free(rows);
    }
    CHECK(n_run > 30);
}

/* Two of three end at 3 s and 5 s; the third one goes on for nothing. */
TEST(a_job_starts_when_enough_of_its_needs_have_ended)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {" TRACE(
                                "{'duration': '3s'}, {'duration': '9s'}, {'duration': '5s'},"
                                " {'duration': '1s', 'enough': 2,"
                                " 'after': [{'job': 0}, {'job': 1}, {'job': 2}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 3)->start_s, 5, 1e-9);
    CHECK_NEAR(row_of(rows, 1)->end_s, 9, 1e-9);
}

TEST(a_job_may_need_earlier_ones_only)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100'}, 'jobs': {" TRACE(
                                "{'duration': '1s'}, {'duration': '1s', 'after': [{'job': 1}]}") "}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
}

/* --- Jobs that keep their GPUs --- */

#define TWO_MACHINES                                                                                                   \
    "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 1,"  \
    " 'gpu': 't4'}}}, 'jobs': {'scheduler': {'policy': 'dispatch', 'swap': %s}, 'types': {'a': {'speeds': {'t4': 0}}, 'b': {'speeds': "        \
    "{'p100': 0}}}, "

/* Job 0 keeps its GPU from 5 s until job 1 finds its own at 8 s, so that job 3 starts at 8 s. */
TEST(a_job_keeps_its_gpus_until_the_next_one_starts)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{" TWO_MACHINES TRACE("{'duration': '5s', 'type': 'a'}, {'duration': '4s', 'type': 'b',"
                            " 'after': [{'job': 0, 'keeps_gpus': true}]}, {'duration': '8s', 'type': 'b'},"
                            " {'duration': '2s', 'type': 'a'}") "}}", "true");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 0)->end_s, 8, 1e-9);
    CHECK_NEAR(row_of(rows, 1)->start_s, 8, 1e-9);
    CHECK_NEAR(row_of(rows, 3)->start_s, 8, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 3, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 5 + 3 + 4 + 8 + 2, 1e-9);
}

/* Two jobs go on to each other's machine: at 5 s both at once, or never. */
TEST(jobs_exchange_gpus_or_wait_forever)
{
    for (int swaps = 0; swaps < 2; swaps++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{" TWO_MACHINES TRACE(
                "{'duration': '5s', 'type': 'a'}, {'duration': '4s', 'type': 'b', 'after': [{'job': 0, 'keeps_gpus':"
                " true}]}, {'duration': '3s', 'type': 'b'}, {'duration': '2s', 'type': 'a', 'after': [{'job': 2,"
                " 'keeps_gpus': true}]}") "}}",
            swaps ? "true" : "false");
        CHECK_EQ_INT(rows->code, swaps ? 0 : SIM_E_STALLED);
        if (!swaps) {
            CHECK(strstr(rows->diag.items[0].text, "job 0 for job 1, job 2 for job 3") != NULL);
            CHECK_EQ_STR(row_of(rows, 1)->status, "unfinished");
            continue;
        }
        CHECK_NEAR(row_of(rows, 1)->start_s, 5, 1e-9);
        CHECK_NEAR(row_of(rows, 3)->start_s, 5, 1e-9);
        CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 2, 1e-9);
    }
}

/* Job 0 keeps its GPUs for two jobs, which find others at 9 s. */
TEST(a_job_keeps_its_gpus_until_all_have_started)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {" TRACE(
                                "{'duration': '5s', 'gpus': 2}, {'duration': '9s', 'gpus': 2},"
                                " {'duration': '1s', 'after': [{'job': 0, 'keeps_gpus': true}]},"
                                " {'duration': '1s', 'after': [{'job': 0, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 2)->start_s, 9, 1e-9);
    CHECK_NEAR(row_of(rows, 3)->start_s, 9, 1e-9);
    CHECK_NEAR(row_of(rows, 0)->end_s, 9, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 8, 1e-9);
}

/* Job 1 takes the GPUs that are kept for it, whether others may exchange theirs or not. */
TEST(a_job_takes_the_gpus_that_are_kept_for_it)
{
    for (int swaps = 0; swaps < 2; swaps++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': {'policy':"
                                " 'dispatch', 'swap': %s}, " TRACE(
                                    "{'duration': '5s', 'gpus': 4}, {'duration': '1s', 'gpus': 4, 'after': [{'job': 0,"
                                    " 'keeps_gpus': true}]}, {'duration': '1s'}") "}}",
            swaps ? "true" : "false");
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(row_of(rows, 1)->start_s, 5, 1e-9);
        CHECK_NEAR(row_of(rows, 2)->start_s, 6, 1e-9);
        CHECK(isnan(bed_metric(rows, "job.kept_gpu_s.sum")));
    }
}

/* Job 0 keeps as many GPUs as job 2 asks for, but on one node, and job 2 asks for two. */
TEST(a_job_takes_no_kept_gpus_on_fewer_nodes_than_it_asks_for)
{
    for (int nodes = 1; nodes <= 2; nodes++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': 'dispatch', " TRACE(
                "{'duration': '5s', 'gpus': 4, 'nodes': 1}, {'duration': '9s', 'gpus': 4, 'nodes': 1},"
                " {'duration': '1s', 'gpus': 4, 'nodes': %d, 'after': [{'job': 0, 'keeps_gpus': true}]}") "}}",
            nodes);
        CHECK_EQ_INT(rows->code, nodes == 1 ? 0 : SIM_E_STALLED);
        CHECK_EQ_STR(row_of(rows, 2)->status, nodes == 1 ? "finished" : "unfinished");
        if (nodes == 1) CHECK_NEAR(row_of(rows, 2)->start_s, 5, 1e-9);
    }
}

/* Job 0 keeps 4 CPUs with its GPUs. Job 2 takes them if it asks for 4 CPUs as well, and waits for 8 forever. */
TEST(a_job_takes_no_kept_gpus_with_other_cpus_than_it_asks_for)
{
    for (int cpus = 4; cpus <= 8; cpus += 4) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 8, 'gpu': 'p100'}, 'jobs': {'scheduler':"
            " 'dispatch', 'placement': 'best-fit', " TRACE(
                "{'duration': '5s', 'gpus': 4, 'cpus': 4},"
                " {'duration': '1s', 'gpus': 4, 'cpus': %d, 'after': [{'job': 0, 'keeps_gpus': true}]}") "}}",
            cpus);
        CHECK_EQ_INT(rows->code, cpus == 4 ? 0 : SIM_E_STALLED);
        CHECK_EQ_STR(row_of(rows, 1)->status, cpus == 4 ? "finished" : "unfinished");
    }
}

/* Two jobs wait for the only GPUs, which job 0 keeps for both: neither may take them from the other. */
TEST(gpus_kept_for_two_jobs_are_taken_by_neither)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true, .quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'p100'}, 'jobs': {'scheduler': 'dispatch', " TRACE(
            "{'duration': '5s', 'gpus': 4}, {'duration': '1s', 'gpus': 4, 'after': [{'job': 0, 'keeps_gpus': true}]},"
            " {'duration': '1s', 'gpus': 4, 'after': [{'job': 0, 'keeps_gpus': true}]}") "}}");
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
    CHECK_EQ_STR(row_of(rows, 1)->status, "unfinished");
    CHECK_EQ_STR(row_of(rows, 2)->status, "unfinished");
}

/* A run that ends while job 0 keeps its GPU counts the time so far. */
TEST(a_run_may_end_while_gpus_are_kept)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{'until': '7s', " TWO_MACHINES TRACE(
                                "{'duration': '5s', 'type': 'a'}, {'duration': '4s', 'type': 'b',"
                                " 'after': [{'job': 0, 'keeps_gpus': true}]}, {'duration': '8s', 'type': 'b'}") "}}", "true");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_STR(row_of(rows, 0)->status, "unfinished");
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 2, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.useful_gpu_s.sum"), 5 + 7, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 7 + 7, 1e-9);
}

/* A need that keeps its GPUs for a job that is rejected lets them go. */
TEST(gpus_kept_for_a_rejected_job_are_let_go)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true, .quiet = true),
        "{" TWO_MACHINES TRACE("{'duration': '5s', 'type': 'a'}, {'duration': '9s', 'type': 'a', 'gpus': 9},"
                               " {'duration': '4s', 'type': 'b', 'after': [{'job': 0, 'keeps_gpus': true},"
                               " {'job': 1}]}, {'duration': '2s', 'type': 'a'}") "}}",
        "true");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_STR(row_of(rows, 2)->status, "rejected");
    CHECK_NEAR(row_of(rows, 0)->end_s, 5, 1e-9);
    CHECK(isnan(bed_metric(rows, "job.kept_gpu_s.sum")));
}

/* Jobs that come after one another; some schedulers preempt, resize or move them meanwhile. On three nodes each finds
 * GPUs in the end. On two nodes some schedulers end in a deadlock, of which the run tells. */
TEST(every_scheduler_bears_jobs_that_keep_their_gpus)
{
    static const char *const placements[] = {"counted", "consolidated"};
    const struct policy_table table = policy_registry();
    int n_run = 0, n_stuck = 0, n_stuck_on_three = 0, n_told = 0;
    for (size_t i = 0; i < 4 * table.n; i++) {
        const struct policy *policy = table.policies[i / 4];
        const int nodes = i % 4 < 2 ? 3 : 2;
        if (policy->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true, .stall_events = 20000),
            "{'cluster': {'nodes': %d, 'gpus_per_node': 2, 'gpu': 'p100'}, 'jobs': {'placement': '%s', 'scheduler':"
            " '%s', " TRACE("{'duration': '100s', 'gpus': 2}, {'duration': '300s', 'gpus': 2},"
                            "{'duration': '3000s', 'gpus': 2, 'after': [{'job': 0, 'keeps_gpus': true}]},"
                            "{'duration': '70s', 'gpus': 2, 'after': [{'job': 1, 'keeps_gpus': true}]},"
                            "{'submit': '50s', 'duration': '40s', 'gpus': 2}") "}}",
            nodes, placements[i % 2], policy->name);
        if (rows->code == SIM_E_CONFIG || rows->code == SIM_E_UNFIT) continue; /* parameters of its own, or counted */
        const bool is_stuck = rows->code == SIM_E_STALLED;
        n_run++;
        n_stuck += is_stuck;
        n_stuck_on_three += is_stuck && nodes == 3;
        CHECK(rows->code == 0 || is_stuck);
        /* warnings come before the error */
        n_told += is_stuck && strstr(rows->diag.items[rows->diag.n_items - 1].text, "deadlock") != NULL;
        CHECK_EQ_INT(rows->n_jobs, 5);
        for (size_t k = 0; k < rows->n_jobs && !is_stuck; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
        const double no_work_s = bed_metric(rows, "job.gpu_s.sum") - bed_metric(rows, "job.useful_gpu_s.sum");
        CHECK(!(bed_metric(rows, "job.kept_gpu_s.sum") > no_work_s + 1e-6));
        if (rows->code != 0 && !is_stuck) printf("  %s, %s\n", policy->name, placements[i % 2]);
        bed_free(rows);
    }
    CHECK(n_run > 120);
    CHECK_EQ_INT(n_stuck_on_three, 0);
    CHECK(n_stuck > 0 && n_stuck < n_run / 2);
    CHECK_EQ_INT(n_told, n_stuck);
}

/* The run ends when the scheduler has looked a thousand times, however long its rounds are; one that asks for no wake
 * ends it at once. */
TEST(a_deadlock_lasts_a_thousand_rounds)
{
    static const struct {
        const char *scheduler;
        double end_s;
    } cases[] = {{"'pollux'", 60e3},
                 {"{'policy': 'pollux', 'round': '10s'}", 10e3},
                 {"{'policy': 'afs', 'round': '10s'}", 10e3},
                 {"'fifo'", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_run(BED(.quiet = true),
                                        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm'}, 'jobs': {'scheduler': %s, " TRACE(
                                            "{'duration': '1s', 'gpus': 1}, {'duration': '1s', 'gpus': 1, 'after': [{'job': 0, "
                                            "'keeps_gpus': true}]}") "}}",
                                        cases[i].scheduler);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        CHECK_NEAR(rows->end_s, cases[i].end_s, cases[i].end_s / 500); /* two rounds */
        bed_free(rows);
    }
}

/* Jobs 0, 2 and 3 keep their GPUs for others, and nodes fail meanwhile. A job that loses the GPUs that it keeps runs
 * again. There is room for all: under every scheduler all jobs end. */
TEST(every_scheduler_bears_keepers_that_fail)
{
    const struct policy_table table = policy_registry();
    int n_run = 0, n_again = 0;
    for (size_t i = 0; i < 3 * table.n; i++) {
        const struct policy *policy = table.policies[i / 3];
        if (policy->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true, .stall_events = 200000),
            "{'seed': %d, 'cluster': {'nodes': 3, 'gpus_per_node': 8, 'gpu': 'p100'}, 'failures': {'causes': {'node':"
            " {'scope': 'node', 'lifetime': {'mean': '150s'}, 'repair': {'mean': '7s'}}}}, 'jobs': {'scheduler': '%s', " TRACE(
                "{'duration': '5s', 'gpus': 2}, {'duration': '35s', 'gpus': 2, 'after': [{'job': 0}]},"
                "{'duration': '30s', 'gpus': 3, 'after': [{'job': 1}]}, {'duration': '28s', 'gpus': 3, 'after':"
                " [{'job': 0, 'keeps_gpus': true}, {'job': 2, 'delay': '7s', 'keeps_gpus': true}]},"
                "{'duration': '40s', 'gpus': 2, 'after': [{'job': 3, 'keeps_gpus': true}]}") "}}",
            (int)(1 + i % 3), policy->name);
        if (rows->code == SIM_E_CONFIG || rows->code == SIM_E_UNFIT) continue;
        n_run++;
        if (!CHECK_EQ_INT(rows->code, 0)) printf("  %s\n", policy->name);
        CHECK_EQ_INT(rows->n_jobs, 5);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
        n_again += bed_decisions(rows, "interrupt", 0) > 0;
        bed_free(rows);
    }
    CHECK(n_run > 90);
    CHECK(n_again > 10);
}

/* --- Tables of jobs --- */

#define TABLE                                                                                                          \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'p100'}, 'jobs': {'trace': {'format': 'csv-jobs',"            \
    " 'path': '%s'}}}"

TEST(a_table_says_what_comes_after_what)
{
    const char *path = test_file("graph.csv", "job_id,submit_s,duration_s,gpus,after\n"
                                              "7,0,10,1,\n9,0,3,1,7:2.5\n4,5,1,1,9 7\n5,5,1,1,1of 9 7\n");
    const struct bed_rows *rows = bed_run(BED(.check = true), TABLE, path);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 9)->end_s, 13, 1e-9);
    CHECK_NEAR(row_of(rows, 4)->start_s, 13, 1e-9);
    CHECK_NEAR(row_of(rows, 5)->start_s, 10, 1e-9);
}

TEST(a_table_says_what_keeps_its_gpus)
{
    const char *path = test_file("graph.csv", "job_id,submit_s,duration_s,gpus,after\n"
                                              "0,0,10,1,\n1,0,30,1,\n2,0,3,1,0!\n3,5,1,1,0:2.5!\n");
    const struct bed_rows *rows = bed_run(BED(.check = true), TABLE, path);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 0)->end_s, 33, 1e-9);
    CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), 23, 1e-9);
}

TEST(a_table_whose_jobs_need_what_is_not_there_is_refused)
{
    static const char *const bad[] = {"8", "9", "7:", "7:-1", "x", "7,", "4", "2of 7", "0of 7", "!", "7:!", "7!!"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = test_file(
            "graph.csv", "job_id,submit_s,duration_s,gpus,after\n7,0,10,1,\n9,0,3,1,\"%s\"\n4,5,1,1,\n", bad[i]);
        const struct bed_rows *rows = bed_run(BED(.quiet = true), TABLE, path);
        CHECK_EQ_INT(rows->code, SIM_E_DATA);
        CHECK(strstr(rows->diag.items[0].where, "graph.csv:3:") != NULL);
    }
}

TEST(replicates_of_blocks_forget_the_order)
{
    const char *path = test_file("graph.csv", "job_id,submit_s,duration_s,gpus,after\n"
                                              "0,0,1,1,\n1,0,1,1,0\n2,5,1,1,1\n3,9,1,1,2 0\n");
    const struct bed_rows *rows = bed_run(
        BED(.check = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'p100'}, 'jobs': {'trace': {'format':"
                            " 'csv-jobs', 'path': '%s', 'replicate': {'method': 'block-bootstrap', 'length': '3s'}}}}",
        path);
    CHECK_EQ_INT(rows->code, 0);
    CHECK(rows->n_warnings > 0);
    for (size_t i = 0; i < rows->n_jobs; i++) CHECK_EQ_STR(rows->jobs[i].status, "finished");
}

/* --- List schedulers against all schedules --- */

#define TWO_ELEMENTS                                                                                                   \
    "'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 1,"  \
    " 'gpu': 't4'}}}"

/* Job 3 must not be planned in the gap before job 1, from which it comes by way of a job without GPUs. */
TEST(a_plan_follows_needs_through_jobs_without_gpus)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{" TWO_ELEMENTS
        ", 'jobs': {'scheduler': 'heft', 'types': {'a': {'speeds': {'t4': 0}}, 'b': {'speeds': {'p100':"
        " 0}}}, " TRACE("{'duration': '10s', 'type': 'b'}, {'duration': '10s', 'type': 'a', 'after': [{'job': 0}]},"
                        "{'duration': '1s', 'gpus': 0, 'after': [{'job': 1}]},"
                        "{'duration': '1s', 'type': 'a', 'after': [{'job': 2}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(row_of(rows, 3)->end_s, 22, 1e-9);
}

/* Three equal chains of three on three elements need 30 s; only one of them is the critical path. */
TEST(one_path_is_critical)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'b': {'nodes': 1,"
        " 'gpus_per_node': 1, 'gpu': 't4'}, 'c': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'k80'}}}, 'jobs':"
        " {'scheduler': {'policy': 'heft', 'order': 'critical-path'}, " TRACE(
            "{'duration': '10s'}, {'duration': '10s'}, {'duration': '10s'}, {'duration': '10s', 'after': [{'job': 0}]},"
            "{'duration': '10s', 'after': [{'job': 1}]}, {'duration': '10s', 'after': [{'job': 2}]},"
            "{'duration': '10s', 'after': [{'job': 3}]}, {'duration': '10s', 'after': [{'job': 4}]},"
            "{'duration': '10s', 'after': [{'job': 5}]}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 30, 1e-9);
}

/* Job 2 fits between the data of job 0 on its way and job 1 there; without insertion it comes behind. */
TEST(insertion_uses_gaps)
{
    for (int inserts = 0; inserts < 2; inserts++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{" TWO_ELEMENTS
            ", 'jobs': {'scheduler': {'policy': 'heft', 'insertion': %s}, 'types': {'a': {'speeds': {'t4':"
            " 0}}, 'b': {'speeds': {'p100': 0}}}, " TRACE(
                "{'duration': '10s', 'type': 'b'},"
                " {'duration': '10s', 'type': 'a', 'after': [{'job': 0, 'delay': '5s'}]},"
                "{'duration': '6s', 'type': 'a'}") "}}",
            inserts ? "true" : "false");
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(row_of(rows, 2)->end_s, inserts ? 6 : 31, 1e-9);
    }
}

TEST(a_plan_bears_times_beyond_all_measure)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{" TWO_ELEMENTS
        ", 'until': '1h', 'jobs': {'scheduler': 'heft', 'types': {'t': {'speeds': {'p100': 0.001, 't4':"
        " 0.5}}}, " TRACE("{'duration': '1000000h', 'type': 't'}, {'duration': '1000000h', 'type': 't'}") "}}");
    CHECK_EQ_INT(rows->code, 0);
}
