/* Breakers: they trip after the time that the square of the overload says, start cold after the warm-up, and where they
 * leave a domain dark its jobs fall back, its nodes come back with its power, and nothing there draws any. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Two racks of two servers, of which jobs of 16 GPUs fill one: 2 (670 W + 1.67 x 8 x 380 W) = 11494 W there, and 2774.9
 * W bare. */
static const char scenario[] =
    "{'warmup': '%ds', 'until': '1000s', 'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm',"
    " 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '10kW', 'level': 'rack',"
    " 'servers_per_rack': 2, 'capping': 'none', 'breaker': {'overload': 1.2, 'after': '%ds', 'outage': '%ds'}}},"
    " %s 'jobs': {'scheduler': 'fifo-skip', 'placement': 'first-fit', 'types': {'default': {'power': {'mean':"
    " '380W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}";
static const double busy_w = 11493.6, bare_w = 2774.864;

#define JOB(submit, duration) "{'submit': '" submit "', 'duration': '" duration "', 'gpus': 16}"

struct setting {
    int warmup_s, after_s, outage_s;
    const char *more, *jobs;
};

static struct bed_rows *run(const struct setting *setting, bool steps)
{
    return bed_run(BED(.check = true, .queue = steps ? QUEUE_HEAP : QUEUE_CALENDAR), scenario, setting->warmup_s,
                   setting->after_s, setting->outage_s, setting->more, setting->jobs);
}

/* At 1.14936 times its rating it takes after (1.2^2 - 1) / (1.14944^2 - 1) seconds, and is looked at every 2 s. */
static double trip_s(int after_s)
{
    const double load = busy_w / 1e4;
    return 2.0 * ceil(after_s * 0.44 / (load * load - 1.0) / 2.0);
}

TEST(overloads_trip_by_their_square)
{
    const int after_s[] = {10, 50, 200};
    for (int i = 0; i < 3; i++) {
        struct bed_rows *rows = run(&(struct setting){0, after_s[i], 0, "", JOB("0s", "800s")}, false);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_metric(rows, "power.breaker_trips"), floor(800 / trip_s(after_s[i])), 0.0);
        CHECK_EQ_INT(rows->n_warnings, 1);
        CHECK(isnan(bed_metric(rows, "power.dark_s")));
    }
}

/* An overload before the end of the warm-up heats up nothing, and one that reaches beyond it counts from there. */
TEST(breakers_start_cold_after_the_warm_up)
{
    const int after_s = 50, warmup_s[] = {0, 301, 500, 600};
    for (int i = 0; i < 4; i++) {
        struct bed_rows *rows = run(&(struct setting){warmup_s[i], after_s, 0, "", JOB("0s", "500s")}, false);
        const double first_s = 2.0 * ceil(warmup_s[i] / 2.0), left_s = fmax(500.0 - first_s, 0.0);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_metric(rows, "power.breaker_trips"), floor(left_s / trip_s(after_s)), 0.0);
    }
}

/* The second job's rack goes dark; the job begins anew on the other one, and ends before that trips, too. */
TEST(a_dark_domain_draws_nothing)
{
    const double trip = trip_s(50), again_s = trip - 60.0;
    const struct setting setting = {0, 50, 30, "", JOB("0s", "60s") ", " JOB("60s", "60s")};
    struct bed_rows *rows = run(&setting, false), *heap = run(&setting, true);
    const struct job_row *job = bed_job(rows, 1);
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, heap));
    if (CHECK(job != NULL)) {
        CHECK_NEAR(job->end_s, trip + 60.0, 1e-9);
        CHECK_NEAR(job->lost_gpu_s, 16 * again_s, 1e-6);
        CHECK_NEAR(job->energy_j, 16 * 380 * (again_s + 60.0), 1e-3);
    }
    CHECK_NEAR(bed_metric(rows, "power.breaker_trips"), 1.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "power.dark_s"), 30.0, 1e-9);
    CHECK_NEAR(bed_metric(rows, "failure.events[breaker]"), 1.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[breaker]"), 16 * again_s, 1e-6);
    CHECK_NEAR(bed_metric(rows, "energy.site_j"), (busy_w + bare_w) * rows->end_s - 30.0 * bare_w, 1.0);
}

/* The first job pauses on server 0 from 1 s on. The second one's power, beside it, trips the rack's breaker: both lose
 * their servers and run elsewhere. Server 0 has its power back long before its second outage ends, and returns only
 * then. */
TEST(paused_jobs_lose_their_servers_to_a_breaker)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
        " 'per_gpu_watt': 0.67}, 'power': {'budget': '7kW', 'level': 'rack', 'servers_per_rack': 2, 'capping': 'none',"
        " 'breaker': {'overload': 1.2, 'after': '50s', 'outage': '100s'}}}, 'failures': {'outages': {'o': {'node': 0,"
        " 'from': '1s', 'until': '200s'}, 'q': {'node': 0, 'from': '2s', 'until': '5000s'}}},"
        " 'jobs': {'scheduler': 'fifo-skip', 'placement': 'first-fit', 'types': {'default': {'power': {'mean': '380W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s',"
        " 'gpus': 8}, {'duration': '200s', 'gpus': 8}, {'submit': '10s', 'duration': '1s', 'gpus': 32}]}}}");
    CHECK(bed_metric(rows, "failure.interrupts[breaker]") >= 2);
    CHECK(bed_job(rows, 0)->end_s < 1000);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 5000, 1e-9);
}

/* A job on all four servers waits for the reset, to the moment. */
TEST(jobs_wait_for_the_reset)
{
    const struct setting setting = {0, 50, 200, "", JOB("0s", "60s") ", " JOB("60s", "60s") ", "
                                    "{'submit': '72s', 'duration': '5s', 'gpus': 32}"};
    struct bed_rows *rows = run(&setting, false);
    CHECK_EQ_INT(rows->code, 0);
    if (CHECK_EQ_INT(rows->n_jobs, 3)) CHECK_NEAR(bed_job(rows, 2)->start_s, trip_s(50) + 200.0, 1e-9);
}

/* Nodes that fail by themselves, too, are repaired in the dark and come with the light; energy has nothing of what was
 * dark. */
TEST(failures_and_outages_go_together)
{
    const struct setting setting = {
        0, 10, 50,
        "'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '300s'}, 'repair': {'mean': '20s'}}}},",
        JOB("0s", "50s") ", " JOB("1s", "50s") ", " JOB("2s", "50s") ", " JOB("3s", "50s") ", " JOB("300s", "50s")};
    struct bed_rows *rows = run(&setting, false), *heap = run(&setting, true);
    const double dark_s = bed_metric(rows, "power.dark_s"),
                 gpus_j = bed_metric(rows, "energy.jobs_j") + bed_metric(rows, "energy.idle_j");
    const double servers_j = 0.67 * gpus_j + 670 * (4 * rows->end_s - 2 * dark_s);
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, heap));
    CHECK(dark_s > 0 && bed_metric(rows, "failure.events[node]") > 0);
    CHECK_NEAR(bed_metric(rows, "energy.site_j") / (gpus_j + servers_j), 1.0, 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.idle_j") /
                   (53.7 * (32 * rows->end_s - 16 * dark_s - bed_metric(rows, "job.gpu_s.sum"))),
               1.0, 1e-9);
}

/* Two replicas, a rack for each: one goes dark and comes back, and no request is lost. */
TEST(services_lose_replicas)
{
    static const char text[] =
        "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
        " 'per_gpu_watt': 0.67}, 'power': {'budget': '3500W', 'level': 'server', 'capping': 'none',"
        " 'breaker': {'overload': 1.2, 'after': '50s', 'outage': '60s'}}}, 'services': {'chat': {'llm': 'llama-2-70b',"
        " 'tensor_parallel': 8, 'replicas': 2, 'trace': {'format': 'generate', 'count': 600,"
        " 'arrival': {'process': 'poisson', 'rate': '2/s'}, 'prompt': {'distribution': 'uniform', 'min': 100,"
        " 'max': 3000}, 'output': {'distribution': 'uniform', 'min': 1, 'max': 300}}}}}";
    struct bed_rows *rows = bed_run(BED(.check = true), "%s", text);
    struct bed_rows *steps = bed_run(BED(.check = true, .single_step = true), "%s", text);
    const double gpus_j = bed_metric(rows, "energy.j") + bed_metric(rows, "energy.idle_j");
    const double dark_s = bed_metric(rows, "power.dark_s");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, steps));
    CHECK(dark_s > 0 && bed_metric(rows, "failure.replica_stops") == bed_metric(rows, "power.breaker_trips"));
    CHECK_NEAR(bed_metric(rows, "request.finished"), 600.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "energy.site_j") / (1.67 * gpus_j + 670 * (2 * rows->end_s - dark_s)), 1.0, 1e-9);
}

/* From 140 s on the site is dark. Until then a service whose only request leaves at once holds 8 of its 16 GPUs, and a
 * job the others for 40 s: they are bare for 100 s. */
TEST(services_go_dark_when_their_last_request_has_left)
{
    struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'until': '730s', 'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm',"
        " 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '7kW', 'level': 'site',"
        " 'capping': 'none', 'breaker': {'overload': 1.2, 'after': '20s', 'outage': '600s'}}},"
        " 'services': {'chat': {'llm': 'llama-2-70b', 'tensor_parallel': 8, 'replicas': 1,"
        " 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'},"
        " 'prompt': {'distribution': 'fixed', 'tokens': 10}, 'output': {'distribution': 'fixed', 'tokens': 2}}}},"
        " 'jobs': {'placement': 'first-fit', 'types': {'default': {'power': {'mean': '400W'}}},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '100s', 'duration': '60s', 'gpus': 8},"
        " {'submit': '300s', 'duration': '500s', 'gpus': 1}]}}}");
    const double dark_s = 730.0 - 140.0;
    const double gpus_j = bed_metric(rows, "energy.j") + bed_metric(rows, "energy.jobs_j") +
                          bed_metric(rows, "energy.idle_j");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "power.dark_s"), dark_s, 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.idle_j") / (53.7 * 8 * 100), 1.0, 1e-9);
    CHECK_NEAR(bed_metric(rows, "energy.site_j") / (1.67 * gpus_j + 670 * 2 * (rows->end_s - dark_s)), 1.0, 1e-9);
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), 0.0, 0.0);
}

/* Replicas of two stages that come and go by an autoscaler, racks that go dark beneath them, a spare server, and
 * failures. */
TEST(outages_spare_nodes_scaling_and_stages_combine)
{
    static const char text[] =
        "{'seed': 2, 'cluster': {'nodes': 5, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm',"
        " 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '1600W', 'level': 'server',"
        " 'capping': 'none', 'breaker': {'overload': 1.2, 'after': '20s', 'outage': '30s'}}},"
        " 'failures': {'spare_nodes': 1, 'spare_delay': '2s', 'causes': {'node': {'scope': 'node',"
        " 'lifetime': {'mean': '200s'}, 'repair': {'mean': '20s'}}}}, 'services': {'chat': {'llm': 'llama-2-70b',"
        " 'tensor_parallel': 2, 'pipeline_parallel': 2, 'scaling': {'policy': {'policy': 'target-outstanding',"
        " 'target': 8, 'down_window': '0s'}, 'min': 0, 'max': 4, 'interval': '5s', 'start_delay': '3s'},"
        " 'trace': {'format': 'generate', 'count': 150, 'arrival': {'process': 'poisson', 'rate': '2/s'},"
        " 'prompt': {'distribution': 'uniform', 'min': 100, 'max': 3000}, 'output': {'distribution': 'uniform',"
        " 'min': 1, 'max': 300}}}}}";
    struct bed_rows *rows = bed_run(BED(.check = true), "%s", text);
    struct bed_rows *steps = bed_run(BED(.check = true, .single_step = true, .queue = QUEUE_HEAP), "%s", text);
    const double gpus_j = bed_metric(rows, "energy.j") + bed_metric(rows, "energy.idle_j");
    const double dark_s = bed_metric(rows, "power.dark_s");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, steps));
    CHECK(dark_s > 0 && bed_metric(rows, "failure.events[breaker]") > 0 &&
          bed_metric(rows, "failure.events[node]") > 0);
    CHECK(bed_metric(rows, "failure.restarted_requests") > 0 && bed_metric(rows, "scaling.drains.sum") > 0);
    CHECK_NEAR(bed_metric(rows, "request.finished"), 150.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "energy.site_j") / (1.67 * gpus_j + 670 * (5 * rows->end_s - dark_s)), 1.0, 1e-9);
}

static int count_idle_brake(void *context, const struct warning_row *row)
{
    *(int *)context += strcmp(row->code, "power-limit") == 0 &&
                       strcmp(row->text,
                              "a brake_clock of 3000 MHz does not slow a100-80-sxm: its highest is 1410 MHz") == 0;
    return 0;
}

/* Whether or not the brake engages: the budget is above what the site draws. */
TEST(a_brake_clock_above_that_of_the_gpu_is_warned_of)
{
    static const char *const clocks[] = {"3GHz", "1409MHz"};
    for (int i = 0; i < 2; i++) {
        int n = 0;
        const struct sink sink = {.context = &n, .warning = count_idle_brake};
        bed_free(bed_ok(BED(.also = &sink),
                        "{'cluster': {'gpu': 'a100-80-sxm', 'server_power': {'idle': '900W', 'per_gpu_watt': 1.2},"
                        " 'power': {'budget': '100kW', 'commands': {'brake_clock': '%s'}, 'capping': 'brake'}},"
                        " 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '30s'}]}}}",
                        clocks[i]));
        CHECK_EQ_INT(n, i == 0);
    }
}
