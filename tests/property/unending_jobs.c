/* Jobs that make no progress, or lose all of it again and again, stay unfinished, and the run reports them: under every
 * scheduler no job ends at the end of time. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

/* More than a run of these few seconds takes, and less than the 292 years that a sim_ns holds. */
static const double long_s = 9e9;

static const struct bed_options quiet = {.quiet = true, .check = true, .stall_events = 20000};

/* Every job is finished, or the run reports that some never end. Schedulers that wake up again and again end by the
 * watchdog. */
static void check_reported(const struct bed_rows *rows, size_t n_jobs)
{
    size_t n_unfinished = 0;
    CHECK_EQ_INT(rows->n_jobs, n_jobs);
    CHECK(rows->end_s < long_s);
    for (size_t i = 0; i < rows->n_jobs; i++) n_unfinished += strcmp(rows->jobs[i].status, "unfinished") == 0;
    CHECK_EQ_INT(rows->code, n_unfinished > 0 ? SIM_E_STALLED : 0);
    CHECK(bed_metric(rows, "job.unfinished") == (double)n_unfinished);
    if (n_unfinished == 0) return;
    const struct diag_item *item = rows->diag.items;
    while (item < rows->diag.items + rows->diag.n_items && item->level != DIAG_ERROR) item++;
    const char *text = item->text;
    CHECK(strstr(text, "never finish") != NULL || strstr(text, "no progress") != NULL);
}

static struct bed_rows *run_apart(const struct bed_options *options, const char *scheduler, const char *jobs)
{
    return bed_run(options,
                   "{'cluster': {'nodes': 2, 'nodes_per_rack': 1, 'gpu': 'a100-80-sxm'}, 'jobs': {'scheduler': '%s',"
                   " 'network_penalty': {'racks': 1}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                   scheduler, jobs);
}

/* The job would end after the end of time. */
TEST(work_beyond_the_end_of_time_is_told)
{
    struct bed_rows *rows = bed_run(&quiet, "{'cluster': {'nodes': 2}, 'jobs': {'trace': {'format': 'inline-jobs',"
                                            " 'jobs': [{'submit': '2500000h', 'duration': '2500000h'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
    CHECK(strstr(rows->diag.items[0].text, "goes on past the 292 years that time covers") != NULL);
    bed_free(rows);
}

/* Schedulers under which the job runs on one rack: they begin with one GPU, or leave the other job one and take 8. */
static bool gives_fewer(const char *scheduler)
{
    static const char *const names[] = {"pollux", "sia", "elasticflow"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) found = found || strcmp(scheduler, names[i]) == 0;
    return found;
}

/* A job of 16 GPUs on two racks works at speed 0. */
TEST(a_job_at_speed_0_stays_unfinished_under_every_scheduler)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        if (policy->family != POLICY_SCHEDULER) continue;
        struct bed_rows *alone = run_apart(&quiet, policy->name, "{'duration': '5s', 'gpus': 16}");
        struct bed_rows *two = run_apart(&quiet, policy->name,
                                         "{'duration': '5s', 'gpus': 16}, {'duration': '5s', 'gpus': 1}");
        check_reported(alone, 1);
        check_reported(two, 2);
        if (!gives_fewer(policy->name))
            CHECK(bed_metric(alone, "job.unfinished") == 1 && bed_metric(two, "job.unfinished") >= 1);
        bed_free(alone);
        bed_free(two);
    }
}

/* The readings of power, which go on for ever, do not hide that nothing else is to come. */
TEST(a_job_at_speed_0_ends_its_run_beside_periodic_events)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true, .check = true),
        "{'cluster': {'nodes': 2, 'nodes_per_rack': 1, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '1kW',"
        " 'per_gpu_watt': 1}, 'power': {'budget': '9kW', 'telemetry': {'period': '1s'}}}, 'jobs': {'network_penalty':"
        " {'racks': 1}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '5s', 'gpus': 16}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
    CHECK(strstr(rows->diag.items[0].text, "never finish") != NULL);
    CHECK(rows->engine.fired < 100);
}

/* A window that holds a reading per millisecond of a year would take all memory. */
TEST(readings_without_number_are_refused)
{
    struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '1kW',"
                            " 'per_gpu_watt': 1}, 'power': {'budget': '9kW', 'telemetry': {'period': '1ms', 'window':"
                            " '365d'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '5s'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK(strstr(rows->diag.items[0].text, "more than 100000 at once") != NULL);
}

TEST(a_run_that_names_its_end_gets_there_with_a_job_at_speed_0)
{
    static const char *const sets[] = {"until=1h", NULL};
    struct bed_rows *rows = run_apart(&(struct bed_options){.sets = sets}, "fifo", "{'duration': '5s', 'gpus': 16}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(rows->end_s == 3600 && bed_metric(rows, "job.unfinished") == 1);
}

/* A cause that strikes every job before it is done, without checkpoints: in the end, time itself ends. */
TEST(a_job_that_loses_all_its_work_for_ever_stays_unfinished)
{
    static const char *const scopes[] = {"job", "gpu", "node"};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        struct bed_rows *rows = bed_run(
            &quiet,
            "{'cluster': {'nodes': 2, 'gpu': 'a100-80-sxm'}, 'failures': {'causes': {'bug': {'scope': '%s', 'lifetime':"
            " {'law': 'constant', 'mean': '9000h'}}}}, 'jobs': {'trace': {'format': 'inline-jobs',"
            " 'jobs': [{'duration': '10000h', 'gpus': 8}, {'duration': '10000h', 'gpus': 16}]}}}",
            scopes[i]);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        CHECK(rows->n_jobs == 2 && bed_metric(rows, "job.unfinished") == 2);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "unfinished");
    }
}

static struct bed_rows *run_failing(const char *until, const char *failures)
{
    return bed_run(&quiet,
                   "{'cluster': {'nodes': 1, 'gpu': 'a100-80-sxm'}, 'failures': %s, 'until': '%s', 'jobs': {'trace':"
                   " {'format': 'inline-jobs', 'jobs': [{'duration': '1s'}]}}}",
                   failures, until);
}

/* A component that fails again at the moment at which it failed would stop the clock. */
TEST(lifetimes_that_round_to_0_are_refused)
{
    static const char *const failures[] = {
        "{'causes': {'a': {'scope': 'gpu', 'lifetime': {'law': 'lognormal', 'mean': '31s', 'shape': 34.8}}}}",
        "{'causes': {'a': {'scope': 'job', 'lifetime': {'law': 'weibull', 'mean': '1d', 'shape': 0.05}}}}",
        "{'causes': {'a': {'scope': 'node', 'lifetime': {'mean': '0s'}}}}",
        "{'domains': {'a': {'nodes': 1, 'shock': '0.1ns'}}}", "{'domains': {'a': {'nodes': 1, 'lethal': '0.1ns'}}}"};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct bed_rows *rows = run_failing("1s", failures[i]);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(strstr(rows->diag.items[0].text, "median below 1 ns") != NULL);
    }
}

/* Each life takes a nanosecond at least: 0.8 ns on average would give more failures than nanoseconds. */
TEST(the_clock_moves_between_two_failures)
{
    struct bed_rows *rows = run_failing("1us", "{'causes': {'a': {'scope': 'site', 'lifetime': {'mean': '0.8ns'}}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "failure.events") > 500 && bed_metric(rows, "failure.events") <= 1000);
}

/* The first job has attained 2 s when its node fails: more than the threshold, which no decision has seen, since these
 * come every 4 s. At the next one the second job goes first. */
TEST(a_job_that_fails_beyond_the_threshold_waits_behind_others)
{
    const struct bed_options options = {.check = true, .stall_events = 20000};
    const struct bed_rows *rows = bed_run(
        &options, "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'until': '20s', 'keep': 'decisions', 'jobs': {'round':"
                  " '4s', 'preemptible': true, 'scheduler': {'policy': 'lucid-tiresias', 'threshold': 1.5}, 'trace':"
                  " {'format': 'inline-jobs', 'jobs': [{'duration': '10s'}, {'submit': '3s', 'duration': '4s'}]}},"
                  " 'failures': {'causes': {'a': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '2s'},"
                  " 'repair': {'mean': '100ms'}}}}}");
    CHECK_EQ_INT(rows->code, 0);
    const char *const wanted[] = {"start 0", "interrupt 0", "start 1"};
    MUST(rows->n_decisions >= 3);
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s %lld", rows->decisions[i].action, (long long)rows->decisions[i].subject);
        CHECK_EQ_STR(text, wanted[i]);
    }
}

/* Jobs that wait for GPUs count, and those that wait for other jobs; those that have ended, and came after others, do
 * not. Job 2 makes no progress on all GPUs. */
TEST(jobs_that_wait_for_others_are_counted)
{
    for (int n_after = 0; n_after < 4; n_after++) {
        char jobs[600] = "{'duration': '1s'}, {'duration': '1s', 'after': [{'job': 0}]},"
                         " {'submit': '10s', 'duration': '5s', 'gpus': 16}, {'submit': '10s', 'duration': '1s'}",
             expected[80];
        for (int i = 0; i < n_after; i++)
            snprintf(jobs + strlen(jobs), sizeof jobs - strlen(jobs),
                     ", {'submit': '%ds', 'duration': '1s', 'after': [{'job': %d}]}", 11 + i, 2 + i);
        snprintf(expected, sizeof expected, "1 running and %d waiting jobs never finish", 1 + n_after);
        const struct bed_rows *rows = run_apart(&quiet, "fifo", jobs);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        MUST(rows->diag.n_items > 0);
        if (!CHECK(strstr(rows->diag.items[0].text, expected) != NULL))
            fprintf(stderr, "  '%s' has no '%s'\n", rows->diag.items[0].text, expected);
    }
}

/* A run of 10 s among failures that come every 100 ms never gets to its end without saves. */
TEST(a_job_that_loses_all_it_gains_is_named)
{
    for (int saves = 0; saves < 2; saves++) {
        const struct bed_rows *rows = bed_run(
            &quiet,
            "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'types': {'default': {%s}}, 'trace': {'format':"
            " 'inline-jobs', 'jobs': [{'duration': '10s'}]}}, 'failures': {'causes': {'a': {'scope': 'node',"
            " 'lifetime': {'mean': '100ms'}, 'repair': {'mean': '10ms'}}}}}",
            saves
                ? "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '1s'}, 'bytes': '1kB', 'write': '1GB/s'}"
                : "");
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        CHECK_EQ_INT(rows->diag.n_errors, 1);
        MUST(rows->diag.n_items >= 2);
        const struct diag_item *item = &rows->diag.items[1];
        CHECK(strstr(item->text, "job 0 may never end") != NULL);
        CHECK(strstr(item->text, "has kept 0 s of its 10 s") != NULL);
        CHECK(strstr(item->hint, saves ? "save more often" : "'checkpoint'") != NULL);
    }
}
