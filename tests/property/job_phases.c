/* The power of jobs that train by a plan: phases of their steps on the law of models/power.h, clocks that slow the
 * computing and no messages, and energy that is the integral of power. */
#include "models/training/phases.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Nodes, bandwidth, further keys of the network; then capping. */
#define SITE                                                                                                           \
    "'cluster': {'nodes': %d, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '%gGB/s'%s}, "        \
    "'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '30kW', 'level': 'site', "            \
    "'telemetry': {'period': '20s'}, 'capping': %s}}"
#define TYPES "'types': {'t': {'training': {%s}%s}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}"
#define DENSE "'llm': 'llama-3.1-8b', 'tensor_parallel': 4, 'global_batch': 64"
#define STAGES "'llm': 'llama-3.1-8b', 'tensor_parallel': 2, 'pipeline_parallel': 4, 'global_batch': 64"
#define SMALL                                                                                                          \
    "'llm': 'llama-3.1-8b', 'shape': {'layers': 4, 'hidden': 2048, 'heads': 16}, 'global_batch': 8, "                  \
    "'sequence_tokens': 4096"
#define JOB(gpus) "{'submit': '0s', 'type': 't', 'gpus': " #gpus ", 'steps': 50}"
#define LOCK(mhz) "{'policy': 'static-lock', 'clock': '" #mhz "MHz'}"

static struct bed_rows *run(double gb_per_s, const char *capping, const char *plan, const char *power, const char *jobs)
{
    return bed_ok(BED(.check = true), "{" SITE ", 'jobs': {" TYPES "}}", 4, gb_per_s, "", capping, plan, power, jobs);
}

static double duration_of(const struct bed_rows *rows)
{
    return bed_job(rows, 0)->end_s - bed_job(rows, 0)->start_s;
}

/* --- The law --- */

static const struct power_model law = {.context_w = 60.0, .limit_w = 400.0, .active_w = 40.0, .compute_w = 420.0,
                                       .memory_w = 250.0, .voltage_floor = 0.7, .voltage_knee = 0.6};

TEST(one_stage_is_its_load)
{
    const struct power_stage stage = {3.0, {1.0, 0.4, 0.3, 0.0, 0.0}, 0.8};
    for (double clock = 0.2; clock < 1.01; clock += 0.2) {
        const struct power_state one = power_at_clock(&law, &stage.load, stage.clock_share, fmin(clock, 1.0));
        const struct power_state all = power_of_phases(&law, &stage, 1, fmin(clock, 1.0), law.limit_w);
        CHECK_NEAR(all.power_w, one.power_w, 1e-9);
        CHECK_NEAR(all.speed_frac, one.speed_frac, 1e-12);
    }
    for (double cap_w = 150.0; cap_w < 340.0; cap_w += 40.0) {
        const struct power_state one = power_under_cap(&law, &stage.load, stage.clock_share, cap_w);
        const struct power_state all = power_of_phases(&law, &stage, 1, 1.0, cap_w);
        CHECK_NEAR(all.power_w, one.power_w, 1e-9);
        CHECK_NEAR(all.speed_frac, one.speed_frac, 1e-12);
        CHECK(all.power_w <= cap_w);
    }
}

/* Time and energy are those of the stages one by one; a stage without a share of the clock keeps its time. */
TEST(stages_add_up)
{
    const struct power_stage stages[] = {
        {3.0, {1.0, 0.4, 0.3, 0.0, 0.0}, 0.8}, {1.0, {.busy_frac = 1.0}, 0.0}, {0.5, {.busy_frac = 0.0}, 0.6}};
    for (double clock = 0.2; clock < 1.0; clock += 0.2) {
        double time_s = 0.0, joules = 0.0;
        for (int i = 0; i < 3; i++) {
            const struct power_state state = power_at_clock(&law, &stages[i].load, stages[i].clock_share, clock);
            time_s += stages[i].time_s / state.speed_frac;
            joules += stages[i].time_s / state.speed_frac * state.power_w;
        }
        const struct power_state all = power_of_phases(&law, stages, 3, clock, law.limit_w);
        CHECK_NEAR(4.5 / all.speed_frac, time_s, 1e-9);
        CHECK_NEAR(4.5 / all.speed_frac * all.power_w, joules, 1e-6);
        CHECK_NEAR(time_s, 3.0 * (0.2 + 0.8 / clock) + 1.0 + 0.5 * (0.4 + 0.6 / clock), 1e-9);
    }
}

/* A load beyond the limit draws the limit, and loses no time at the highest clock. */
TEST(the_limit_costs_no_time)
{
    const struct power_stage stage = {1.0, {1.0, 0.9, 0.5, 0.0, 0.0}, 0.8};
    const struct power_state state = power_of_phases(&law, &stage, 1, 1.0, law.limit_w + 1e-9);
    CHECK_NEAR(state.power_w, law.limit_w, 1e-9);
    CHECK_NEAR(state.speed_frac, 1.0, 0.0);
}

/* --- Jobs --- */

/* GPUs that compute and send nothing: time follows 1 - s + s/f, whatever the clock. */
TEST(computing_follows_the_clock)
{
    const double full_s = duration_of(run(25.0, "'none'", SMALL, "", JOB(1)));
    double share = 0.0;
    static const struct {
        double mhz;
        const char *capping;
    } locks[] = {{1200, LOCK(1200)}, {900, LOCK(900)}, {600, LOCK(600)}};
    for (int i = 0; i < 3; i++) {
        const double s = (duration_of(run(25.0, locks[i].capping, SMALL, "", JOB(1))) / full_s - 1.0) /
                         (1410.0 / locks[i].mhz - 1.0);
        CHECK(s > 0.3 && s < 1.0);
        if (i > 0) CHECK_NEAR(s, share, 1e-6);
        share = s;
    }
}

/* A clock adds the same time to a step whatever its messages take, where they hide behind nothing. */
TEST(a_clock_slows_no_messages)
{
    double added_s = 0.0;
    for (double gb_per_s = 25.0; gb_per_s > 1.0; gb_per_s /= 4.0) {
        const double full_s = duration_of(run(gb_per_s, "'none'", DENSE, "", JOB(32)));
        const double slow_s = duration_of(run(gb_per_s, LOCK(900), DENSE, "", JOB(32)));
        CHECK(slow_s > full_s);
        if (added_s > 0.0) CHECK_NEAR(slow_s - full_s, added_s, 1e-5);
        added_s = slow_s - full_s;
    }
}

/* Each second more of messages costs the same energy, below that of a second of computing. */
TEST(messages_draw_their_own_power)
{
    double s[3], j[3];
    for (int i = 0; i < 3; i++) {
        const struct bed_rows *rows = run(i == 0 ? 25.0 : i == 1 ? 10.0 : 2.0, "'none'", DENSE, "", JOB(32));
        s[i] = duration_of(rows);
        j[i] = bed_job(rows, 0)->energy_j;
    }
    const double watts = (j[1] - j[0]) / (s[1] - s[0]) / 32.0;
    CHECK_NEAR((j[2] - j[1]) / (s[2] - s[1]) / 32.0, watts, 1e-3);
    CHECK(watts > 53.7 && watts < j[0] / s[0] / 32.0);
}

/* Congestion is a slower network for power as well as for time. */
TEST(congestion_draws_as_a_slower_network)
{
    const struct bed_rows *shared = bed_ok(BED(.check = true), "{" SITE ", 'jobs': {" TYPES "}}", 4, 25.0,
                                           ", 'fabric': '100GB/s'", "'none'", DENSE, "", JOB(32));
    const struct bed_rows *slow = run(25.0 / 8.0, "'none'", DENSE, "", JOB(32));
    CHECK_NEAR(bed_job(shared, 0)->energy_j / bed_job(slow, 0)->energy_j, 1.0, 1e-9);
    CHECK_NEAR(duration_of(shared), duration_of(slow), 1e-5);
}

/* A stated mean power is that of a job whose GPUs draw it all the time. */
TEST(a_plan_draws_its_mean_power)
{
    const char *const plans[] = {DENSE, STAGES};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *planned = run(25.0, "'none'", plans[i], "", JOB(16));
        const double mean_w = bed_job(planned, 0)->energy_j / 16.0 / duration_of(planned);
        const struct bed_rows *stated = run(25.0, "'none'", plans[i],
                                            test_json(", 'power': {'mean': '%.17gW'}", mean_w), JOB(16));
        CHECK_NEAR(bed_job(stated, 0)->energy_j / bed_job(planned, 0)->energy_j, 1.0, 1e-12);
        CHECK(mean_w > 100.0 && mean_w <= 400.0);
        const struct bed_rows *given = run(25.0, "'none'", plans[i], ", 'power': {'priority': 'high'}", JOB(16));
        CHECK_NEAR(bed_job(given, 0)->energy_j, bed_job(planned, 0)->energy_j, 0.0);
    }
}

/* GPUs beyond whole data ranks idle with a process. */
TEST(gpus_without_a_rank_idle)
{
    const struct bed_rows *six = run(25.0, "'none'", DENSE, "", JOB(6)), *four = run(25.0, "'none'", DENSE, "", JOB(4));
    const double idle_w = (bed_job(six, 0)->energy_j - bed_job(four, 0)->energy_j) / 2.0 / duration_of(four);
    CHECK_NEAR(duration_of(six), duration_of(four), 1e-9);
    CHECK(idle_w > 50.0 && idle_w < 90.0);
}

/* A wait before the work costs the power of idle GPUs with a process, and the network's claims none of training. */
TEST(a_wait_draws_idle_power)
{
    double j[2], s[2];
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{" SITE ", 'jobs': {'restart': {'start': '%ds'}, " TYPES "}}", 4, 25.0, "", LOCK(900),
            100 * i, STAGES, "", JOB(16));
        j[i] = bed_job(rows, 0)->energy_j;
        s[i] = duration_of(rows);
    }
    const struct bed_rows *six = run(25.0, LOCK(900), DENSE, "", JOB(6)),
                          *four = run(25.0, LOCK(900), DENSE, "", JOB(4));
    const double idle_w = (bed_job(six, 0)->energy_j - bed_job(four, 0)->energy_j) / 2.0 / duration_of(four);
    CHECK_NEAR(s[1] - s[0], 100.0, 1e-8);
    CHECK_NEAR((j[1] - j[0]) / 16.0 / 100.0, idle_w, 1e-6);
}

#define SAVES(keys) ", 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '7s'}, 'bytes': '100GB', " keys "}"

/* What saves add to a job's energy is the power of idle GPUs for as long as they stall it, whatever their design. None
 * of these moves data beside the messages of the job. */
TEST(a_save_that_stalls_draws_idle_power)
{
    static const char *const saves[] = {
        SAVES("'write': '20GB/s'"), SAVES("'to': 'peer'"),
        SAVES("'model': 'fastpersist', 'overlap': '2s', 'write': '20GB/s'"),
        SAVES("'model': 'datastates', 'overlap': '1s', 'gpu_copy': '1GB/s', 'write': '100GB/s'")};
    const struct bed_rows *six = run(25.0, LOCK(900), DENSE, "", JOB(6)),
                          *four = run(25.0, LOCK(900), DENSE, "", JOB(4));
    const double idle_w = (bed_job(six, 0)->energy_j - bed_job(four, 0)->energy_j) / 2.0 / duration_of(four);
    const struct bed_rows *none = run(25.0, LOCK(900), DENSE, "", JOB(16));
    for (int i = 0; i < 4; i++) {
        const struct bed_rows *saved = run(25.0, LOCK(900), DENSE, saves[i], JOB(16));
        const double stalled_s = duration_of(saved) - duration_of(none);
        CHECK(stalled_s > 1.0);
        CHECK_NEAR((bed_job(saved, 0)->energy_j - bed_job(none, 0)->energy_j) / 16.0 / stalled_s, idle_w,
                   1e-6 * idle_w);
    }
}

/* Whether somebody counts its power changes no time of a job that saves. */
TEST(counting_power_changes_no_saves)
{
    static const char *const saves[] = {
        SAVES("'write': '20GB/s'"), SAVES("'to': 'peer'"),
        SAVES("'model': 'fastpersist', 'overlap': '2s', 'write': '20GB/s'"),
        SAVES("'model': 'fastpersist', 'overlap': '100ms', 'to': 'peer'"),
        SAVES("'model': 'datastates', 'overlap': '1s', 'gpu_copy': '1GB/s', 'to': 'peer'")};
    for (int i = 0; i < 5; i++) {
        const struct bed_rows *dark = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s'}}, "
            "'jobs': {" TYPES "}}",
            DENSE, saves[i], JOB(16));
        CHECK_NEAR(duration_of(run(25.0, "'none'", DENSE, saves[i], JOB(16))), duration_of(dark), 1e-6);
    }
}

/* A restore is a wait whose end nobody knows before: a state at peers, of 40 GB or 4 TB, at 16 times 25 GB/s. The job's
 * messages leave the NICs to it. */
TEST(a_restore_draws_idle_power)
{
    double energy_j[2], held_s[2];
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '%dGB/s'}, "
            "'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '30kW', 'level': 'site', "
            "'telemetry': {'period': '20s'}, 'capping': 'none'}}, 'until': "
            "'150s', 'failures': {'causes': {'a': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}}}}, "
            "'jobs': {'types': {'t': {'training': {" DENSE "}, 'checkpoint': {'policy': {'policy': 'periodic', "
            "'interval': '50s'}, 'bytes': '%dGB', 'to': 'peer'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit':"
            " '0s', 'type': 't', 'gpus': 16, 'steps': 100000}]}}}",
            25, i == 0 ? 40 : 4000);
        energy_j[i] = bed_metric(rows, "energy.jobs_j");
        held_s[i] = bed_metric(rows, "job.wait_gpu_s.sum") / 16.0;
    }
    /* training draws over 100 W more than idling */
    CHECK(energy_j[1] < energy_j[0] - 16.0 * 100.0 * (held_s[1] - held_s[0]));
    CHECK_NEAR(held_s[1] - held_s[0], 9.9, 1e-3);
}

/* --- A site under one budget --- */

static const char *site_with_service(uint64_t index)
{
    static const char *const cappings[] = {
        "'polca'", "{'policy': 'single-threshold', 'on': 'all'}", "{'policy': 'static-cap', 'cap': '250W'}", "'brake'"};
    static const char *const networks[] = {"", ", 'fabric': '100GB/s'"};
    return test_json(
        "{'seed': %d, 'cluster': {'nodes': 5, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': "
        "'25GB/s'%s}, 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67}, 'power': {'budget': '%dkW', 'level': "
        "'%s', 'telemetry': {'period': '5s'}, 'capping': %s}}, 'services': {'a': {'llm': 'llama-2-70b', "
        "'tensor_parallel': 8, 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': "
        "'1/s'}, 'prompt': {'distribution': 'uniform', 'min': 100, 'max': 3000}, 'output': {'distribution': "
        "'uniform', 'min': 1, 'max': 300}}}}, 'jobs': {'scheduler': 'fifo-skip', 'types': {'t': {'training': {" DENSE
        "}}, 'u': {'training': {" STAGES "}, 'power': {'priority': 'high'}}}, 'trace': {'format': 'inline-jobs', "
        "'jobs': [{'submit': '0s', 'type': 't', 'gpus': 16, 'steps': 8}, {'submit': '20s', 'type': 'u', 'gpus': 8, "
        "'steps': 5}, {'submit': '30s', 'type': 't', 'gpus': 16, 'steps': 8}]}}}",
        (int)index, networks[index / 4 % 2], index % 2 == 0 ? 16 : 20, index % 3 == 0 ? "site" : "row",
        cappings[index % 4]);
}

/* INV-11 is checked after every event; services, jobs, idle GPUs and servers are the site. */
TEST(one_budget_holds_services_and_jobs)
{
    for (uint64_t index = 0; index < 8; index++) {
        const char *site = site_with_service(index);
        struct bed_rows *plain = bed_ok(BED(.check = true), "%s", site);
        struct bed_rows *heap = bed_ok(BED(.queue = QUEUE_HEAP), "%s", site);
        struct bed_rows *step = bed_ok(BED(.single_step = true, .check = true), "%s", site);
        double jobs_j = 0.0;
        CHECK(bed_equal(plain, heap));
        CHECK(bed_equal(plain, step));
        for (size_t i = 0; i < plain->n_jobs; i++) jobs_j += plain->jobs[i].energy_j;
        CHECK_NEAR(jobs_j / bed_metric(plain, "energy.jobs_j"), 1.0, 1e-9);
        const double gpus_j = bed_metric(plain, "energy.j") + jobs_j + bed_metric(plain, "energy.idle_j");
        CHECK_NEAR((gpus_j + bed_metric(plain, "energy.servers_j")) / bed_metric(plain, "energy.site_j"), 1.0, 1e-9);
        CHECK(bed_metric(plain, "power.commands") > 0.0);
        bed_free(plain);
        bed_free(heap);
        bed_free(step);
    }
}

TEST(a_power_without_mean_needs_a_plan)
{
    const struct bed_rows *rows = bed_run(BED(.quiet = true),
                                          "{'cluster': {'nodes': 1}, 'jobs': {'types': {'t': {'power': {'priority': "
                                          "'high'}}}, 'trace': {'format': 'inline-jobs', 'jobs': []}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (rows->code != 0) CHECK_EQ_STR(rows->diag.items[0].text, "misses 'mean'");
}

TEST(a_share_of_the_clock_needs_a_mean)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpu': 'a100-80-sxm'}, 'jobs': {'types': {'t': {'training': {" DENSE
        "}, 'power': {'clock_share': 0.1}}}, 'trace': {'format': 'inline-jobs', 'jobs': []}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    if (rows->code != 0) CHECK(strstr(rows->diag.items[0].text, "'clock_share' needs 'mean'") != NULL);
}

/* The power of an H100 is fitted on loads up to 31 % of its peak. Eight ranks of short sequences compute less, one rank
 * alone more. Two warnings of both are of kernels outside the range of their fit, and of the trainer's constants. */
TEST(only_loads_beyond_the_fit_of_power_are_warned_of)
{
    for (int parallel = 1; parallel <= 8; parallel *= 8) {
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true),
            "{'extends': ['configs/clusters/dgx-h100.json'], 'cluster': {'nodes': 2, 'power': {'budget': '100kW', 'level':"
            " 'site'}}, 'jobs': {'types': {'t': {'training': {'llm': 'llama-3.1-8b', 'global_batch': 64,"
            " 'sequence_tokens': 512, 'recompute': 'full', 'tensor_parallel': %d, 'micro_batch': 1}}}, 'trace': {'format':"
            " 'inline-jobs', 'jobs': [{'type': 't', 'gpus': 8, 'steps': 3}]}}}",
            parallel);
        CHECK_EQ_INT(rows->n_warnings, 2 + (parallel == 1));
    }
}
