/* How failed jobs come back: at every hour of the day as a naive clock says, automatically or by people, and as often
 * by people as stated. The site fails as a whole, by constant lifetimes. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"

/* A job of 100 h on a site that fails once, at `fails_h`, without checkpoints. */
static const struct bed_rows *fail_at(int fails_h, const char *recovery)
{
    return bed_ok(BED(.check = true, .quiet = true),
                  "{'cluster': {'nodes': 2}, 'until': '400h', 'failures': {'causes': {'site': {'scope': 'site', 'lifetime': "
                  "{'law': 'constant', 'mean': '%dh'}, 'restart': " CONSTANT("10min") "}}, 'recovery': {%s}}, 'jobs': "
                  "{'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '1h'}, 'bytes': "
                  "'1GB', 'write': '1000000GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', "
                  "'duration': '%dh', 'gpus': 4}]}}}",
                  fails_h, recovery, fails_h + 5);
}

/* Hours from an hour of the day until people are there, hour by hour. */
static int hours_until(int hour, int from, int until)
{
    int waits = 0;
    for (int h = hour % 24; from < until ? h < from || h >= until : h < from && h >= until; h = (h + 1) % 24) waits++;
    return waits;
}

TEST(jobs_wait_for_the_next_shift)
{
    static const int shifts[][2] = {{9, 17}, {22, 6}, {0, 24}, {0, 1}, {13, 12}};
    for (size_t i = 0; i < sizeof shifts / sizeof *shifts; i++)
        for (int fails_h = 100; fails_h < 124; fails_h++) {
            const struct bed_rows *rows = fail_at(fails_h,
                                                  test_json("'automatic': 0, 'staff_from': '%dh', 'staff_until': "
                                                            "'%dh', 'staff_time': " CONSTANT("30min"),
                                                            shifts[i][0], shifts[i][1]));
            const double waits_h = hours_until(fails_h, shifts[i][0], shifts[i][1]) + 0.5;
            /* the save at the hour of the failure has not counted: an hour is lost; the site fails again later */
            CHECK_NEAR(bed_job(rows, 0)->end_s / 3600, fails_h + waits_h + 1 / 6.0 + 6, 1e-4);
            CHECK_EQ_INT(bed_metric(rows, "failure.by_staff"), 1);
            CHECK_NEAR(bed_metric(rows, "failure.diagnosis_s.mean") / 3600, waits_h, 1e-9);
        }
}

TEST(a_cause_that_is_found_automatically_waits_for_nobody)
{
    for (int fails_h = 100; fails_h < 124; fails_h += 5) {
        const struct bed_rows *rows = fail_at(fails_h, "'automatic': 1, 'staff_from': '9h', 'staff_until': '10h', "
                                                       "'diagnosis': " CONSTANT("15min"));
        CHECK_NEAR(bed_job(rows, 0)->end_s / 3600, fails_h + 0.25 + 1 / 6.0 + 6, 1e-4);
        CHECK_EQ_INT(bed_metric(rows, "failure.by_staff"), 0);
    }
}

/* Site failures at 100 h and 101 h, each found at once or in 30 h. The second never cuts the first one's wait
 * short. */
TEST(a_second_failure_ends_no_wait)
{
    int n_waits = 0;
    for (int seed = 1; seed <= 16; seed++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'seed': %d, 'cluster': {'nodes': 2}, 'until': '150h', 'failures': {'causes': {'a': {'scope': 'site', 'lifetime': " CONSTANT(
                "100h") "}, 'b': {'scope': 'site', 'lifetime': " CONSTANT("101h") "}}, 'recovery': {'automatic': 0.5, "
                                                                                  "'staff_time': " CONSTANT(
                                                                                      "30h") "}}, 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': "
                                                                                             "'periodic', 'interval': '1h'}, 'bytes': '1GB', 'write': '1000000GB/s'}}}, 'trace': {'format': "
                                                                                             "'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '105h', 'gpus': 4}]}}}",
            seed);
        if (!(bed_metric(rows, "failure.by_staff") > 0.0)) continue;
        n_waits++;
        CHECK(bed_job(rows, 0)->end_s >= 135 * 3600.0);
    }
    CHECK(n_waits > 8);
}

/* Where no cause is looked for, or nobody looks for it, keys of the recovery say nothing. */
TEST(recovery_without_effect_is_told)
{
    static const char site[] = "{'scope': 'site', 'lifetime': {'mean': '100h'}}",
                      job[] = "'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1h', 'gpus': 1}]}}",
                      service[] =
                          "'services': {'chat': {'llm': 'llama-2-7b', 'trace': {'format': 'generate', 'count': 1, "
                          "'arrival': {'process': 'fixed', 'rate': '1/s'}}}}";
    const struct {
        const char *failures, *users, *finding; /* NULL: none */
    } cases[] = {
        {"'recovery': {'automatic': 0.5}", job, "no cause or domain makes jobs fail"},
        {"'outages': {'o': {'node': 0, 'from': '2h', 'jobs': 'interrupt'}}, 'recovery': {'automatic': 0.5}", job,
         "planned outages"},
        {test_json("'causes': {'s': %s}, 'recovery': {}", site), job, "'recovery' has no effect: it takes no time"},
        {test_json("'causes': {'s': %s}, 'recovery': {'automatic': 0.5}", site), job, "it takes no time"},
        {test_json("'causes': {'s': {'scope': 'site', 'visible': 0, 'lifetime': {'mean': '9h'}}}, 'recovery': {}"), job,
         "no cause or domain"},
        {test_json("'causes': {'s': %s}, 'recovery': {'automatic': 0.5}", site), service, "replicas"},
        {test_json("'causes': {'s': %s}, 'recovery': {'diagnosis': {'mean': '1h'}, 'staff_time': {'mean': '1h'}}",
                   site),
         job, "people find none"},
        {test_json("'causes': {'s': %s}, 'recovery': {'diagnosis': {'mean': '1h'}, 'staff_from': '9h'}", site), job,
         "people find none"},
        {test_json(
             "'causes': {'s': %s}, 'recovery': {'automatic': 0, 'diagnosis': {'mean': '1h'}, 'staff_time': {'mean': '1h'}}",
             site),
         job, "people find all"},
        {test_json("'causes': {'s': %s}, 'recovery': {'automatic': 0.5, 'staff_from': '9h'}", site), job, NULL},
        {test_json("'causes': {'s': %s}, 'recovery': {'diagnosis': {'mean': '1h'}}", site), job, NULL},
        {test_json(
             "'domains': {'rack': {'nodes': 2, 'shock': '100h'}}, 'recovery': {'automatic': 0, 'staff_from': '9h'}"),
         job, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_ok(BED(.quiet = true),
                                             "{'cluster': {'gpu': 'h100-sxm', 'nodes': 2}, 'until': '1h', 'failures': "
                                             "{%s}, %s}",
                                             cases[i].failures, cases[i].users);
        const bool some = rows->diag.n_items > 0;
        CHECK_EQ_INT(some, cases[i].finding != NULL);
        if (some && cases[i].finding != NULL) CHECK(strstr(rows->diag.items[0].text, cases[i].finding) != NULL);
    }
}

/* Random failures of many jobs: a share of them needs people, who are there for a third of the day. */
TEST(people_find_the_share_that_is_left)
{
    for (int percent = 10; percent <= 90; percent += 40) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{'seed': %d, 'cluster': {'nodes': 64, 'gpus_per_node': 1}, 'until': '2000d', 'failures': {'causes': {'gpu': "
            "{'scope': 'gpu', 'lifetime': {'mean': '10d'}}}, 'recovery': {'automatic': %g, 'diagnosis': {'mean': '1h'}, "
            "'staff_from': '8h', 'staff_until': '16h', 'staff_time': {'mean': '2h'}}}, 'jobs': {'types': {'default': "
            "{'checkpoint': {'policy': 'young', 'bytes': '1GB', 'write': '1GB/s'}}}, 'trace': {'format': 'inline-jobs', "
            "'jobs': [%s{'duration': '300d', 'gpus': 1}]}}}",
            percent, percent / 100.0,
            test_json("%s%s%s", "{'duration': '300d', 'gpus': 1}, {'duration': '300d', 'gpus': 1}, ",
                      "{'duration': '300d', 'gpus': 4}, {'duration': '300d', 'gpus': 8}, ",
                      "{'duration': '300d', 'gpus': 16}, {'duration': '300d', 'gpus': 16}, "));
        const double n = bed_metric(rows, "failure.interrupts"), automatic = percent / 100.0;
        const double mean_h = automatic * 1 + (1 - automatic) * (16 * 16 / 48.0 + 2);
        CHECK(n > 800);
        CHECK_NEAR(bed_metric(rows, "failure.by_staff") / n, 1 - automatic, 5 * sqrt(automatic * (1 - automatic) / n));
        CHECK_NEAR(bed_metric(rows, "failure.diagnosis_s.mean") / 3600, mean_h, 5 * 7 / sqrt(n));
    }
}

/* The same failures come back in the same way, whatever the queue; nothing changes without the section. */
TEST(recovery_changes_no_failure)
{
    for (int seed = 1; seed <= 6; seed++) {
        struct bed_rows *runs[4];
        for (int i = 0; i < 4; i++)
            runs[i] = bed_ok(
                i == 1 ? BED(.queue = QUEUE_HEAP) : i == 2 ? BED(.single_step = true, .check = true) : NULL,
                "{'seed': %d, 'cluster': {'nodes': 8, 'gpus_per_node': 2}, 'failures': {'causes': {'gpu': {'scope': 'gpu', "
                "'lifetime': {'mean': '3d'}, 'repair': {'mean': '2h'}}, 'hang': {'scope': 'node', 'lifetime': {'mean': '9d'}, "
                "'detection': {'mean': '30min'}}}%s}, 'jobs': {'scheduler': 'fifo-skip', 'placement': 'consolidated', "
                "'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '2d', 'gpus': 4}, {'duration': '3d', 'gpus': 2}, "
                "{'submit': '5h', 'duration': '1d', 'gpus': 8}, {'submit': '9h', 'duration': '2d', 'gpus': 2}]}}, 'until': "
                "'30d'}",
                seed,
                i < 3
                    ? ", 'recovery': {'automatic': 0.5, 'staff_from': '8h', 'staff_until': '20h', 'staff_time': {'mean': "
                      "'1h'}}"
                    : "");
        CHECK(bed_equal(runs[0], runs[1]));
        CHECK(bed_equal(runs[0], runs[2]));
        CHECK(isnan(bed_metric(runs[3], "failure.by_staff")));
        for (int i = 0; i < 4; i++) bed_free(runs[i]);
    }
}

TEST(staff_who_are_never_present_are_refused)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {'nodes': 1}, 'failures': {'causes': {'job': {'scope': 'job', 'lifetime': {'mean': '1d'}}}, 'recovery': {'staff_from': '9h', 'staff_until': '9h'}}, 'jobs': {'trace': "
        "{'format': 'inline-jobs', 'jobs': [{'duration': '1h'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, "staff are never present") != NULL);
}
