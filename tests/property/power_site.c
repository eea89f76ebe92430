/* The power of a site: energy is the integral of power, readings are what they say, commands take effect when they
 * should, and nothing depends on how a run is stepped through. */
#include "sim/catalog/catalog.h"
#include "sim/world/power/power_config.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <stdlib.h>

static const char scenario[] =
    "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
    " 'per_gpu_watt': 0.67}, 'power': {'budget': '%s', 'level': '%s', 'servers_per_rack': 2, 'telemetry': {%s},"
    " 'commands': {'out_of_band': '4s', 'brake': '500ms'}, 'capping': %s}}, 'services': {'low': {'llm': 'llama-2-70b',"
    " 'priority': 'low', %s}, 'high': {'llm': 'llama-2-70b', %s}}}";

#define LOW "'tensor_parallel': 8, 'replicas': 2, "
#define HIGH "'tensor_parallel': 4, 'replicas': 3, "
#define SCALING "'scaling': {'policy': 'target-outstanding', 'min': 0, 'max': 4, 'interval': '2s', 'start_delay': '3s'}, "
#define SCALED_POOL(role)                                                                                              \
    "{'role': '" role "', 'tensor_parallel': 4, 'scaling': {'policy': 'target-outstanding', 'max': 2,"                 \
    " 'interval': '2s', 'start_delay': '3s'}}"
#define SCALED_POOLS                                                                                                   \
    "'pools': {'prompts': " SCALED_POOL("prefill") ", 'tokens': " SCALED_POOL("decode") "},"                           \
    " 'kv_transfer': {'bandwidth': '25GB/s'}, "
#define TRACE(rate, process)                                                                                           \
    "'trace': {'format': 'generate', 'count': 120, 'arrival': {'process': '" process "', 'rate': '" rate "'},"         \
    " 'prompt': {'distribution': 'uniform', 'min': 100, 'max': 3000},"                                                 \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 300}}"

struct setting {
    const char *budget, *level, *telemetry, *capping, *low, *high;
};

static const struct setting settings[] = {
    {"19kW", "row", "", "'none'", LOW TRACE("1/s", "poisson"), HIGH TRACE("2/s", "poisson")},
    {"15kW", "row", "'period': '500ms'", "'polca'", LOW TRACE("1/s", "poisson"), HIGH TRACE("2/s", "poisson")},
    {"4kW", "server", "'period': '300ms', 'window': '100ms', 'delay': '70ms'", "'polca'", LOW TRACE("2/s", "poisson"),
     HIGH "'batching': 'sarathi', " TRACE("2/s", "poisson")},
    {"9kW", "rack", "'period': '100ms', 'window': '1s', 'delay': '250ms'",
     "{'policy': 'single-threshold', 'on': 'all'}", LOW TRACE("2/s", "gamma"),
     HIGH "'batching': 'vllm-v1', " TRACE("1/s", "poisson")},
    {"12kW", "site", "'period': '1s'", "{'policy': 'static-cap', 'cap': '200W'}", LOW TRACE("2/s", "poisson"),
     HIGH TRACE("1/s", "poisson")},
    {"12kW", "site", "'period': '1s'", "{'policy': 'static-lock', 'clock': '600MHz', 'on': 'low'}",
     LOW TRACE("2/s", "poisson"), HIGH TRACE("1/s", "poisson")},
    {"12kW", "row", "'period': '1s'", "'brake'", LOW TRACE("1/s", "poisson"),
     "'tensor_parallel': 2, 'pipeline_parallel': 2, 'replicas': 3, " TRACE("1/s", "poisson")},
    {"4kW", "server", "'period': '700ms'", "'polca'", LOW SCALING TRACE("2/s", "poisson"),
     HIGH SCALING TRACE("2/s", "gamma")},
    {"12kW", "row", "'period': '700ms'", "'polca'", SCALED_POOLS TRACE("2/s", "gamma"),
     HIGH SCALING TRACE("2/s", "poisson")},
};
enum { LOW_PROMPT = 400, HIGH_PROMPT = 500 };
enum { N_SETTINGS = sizeof settings / sizeof *settings };

static struct bed_rows *run(const struct setting *setting, const struct bed_options *options)
{
    return bed_run(options, scenario, setting->budget, setting->level, setting->telemetry, setting->capping,
                   setting->low, setting->high);
}

/* A lock of low priority's clock at 600 of 1410 MHz: their batches say how long they would take at the highest clock,
 * and which command it was; those of high priority are not slowed. */
TEST(batches_know_what_slows_them)
{
    struct bed_rows *rows = run(&settings[5], &(struct bed_options){0});
    const double frac = 600.0 / 1410.0;
    int slowed[2] = {0}, others = 0;
    for (size_t i = 0; i < rows->n_batches; i++) {
        const struct batch_row *row = &rows->batches[i];
        const double lasted_s = row->end_s - row->start_s;
        const bool has_prompts = row->prefill_sequences > 0;
        const double share = has_prompts ? 0.95 : 0.05;
        if (row->clock_frac >= 1) {
            CHECK_NEAR(row->full_clock_s, lasted_s, 0);
            others++;
            continue;
        }
        CHECK_NEAR(row->clock_frac, frac, 1e-12);
        CHECK_NEAR(row->full_clock_s, lasted_s / (1 - share + share / frac), 1e-9);
        CHECK(row->power_given_s == 0 && row->power_since_s >= row->power_given_s &&
              row->start_s >= row->power_since_s);
        slowed[has_prompts]++;
    }
    CHECK(slowed[0] > 10 && slowed[1] > 10 && others > 10);
}

#define CAPPED(gpu, capping)                                                                                           \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': '" gpu "', 'server_power': {'idle': '670W',"                  \
    " 'per_gpu_watt': 0.67}, 'power': {'budget': '9kW', 'capping': " capping "}}, 'services': {'s': {'llm':"            \
    " 'llama-2-7b', 'trace': {'format': 'generate', 'count': 40, 'arrival': {'process': 'fixed', 'rate': '9/s'},"       \
    " 'prompt': {'distribution': 'fixed', 'tokens': 500}, 'output': {'distribution': 'fixed', 'tokens': 50}}}}}"

/* Without `cap` it is a share of the GPU's own TDP, by default the 325 W of an A100. */
TEST(a_static_cap_follows_the_gpu)
{
    CHECK(bed_equal(bed_ok(NULL, CAPPED("a100-80-sxm", "'static-cap'")),
                    bed_ok(NULL, CAPPED("a100-80-sxm", "{'policy': 'static-cap', 'cap': '325W'}"))));
    CHECK(bed_equal(bed_ok(NULL, CAPPED("h100-sxm", "{'policy': 'static-cap', 'share': 0.5}")),
                    bed_ok(NULL, CAPPED("h100-sxm", "{'policy': 'static-cap', 'cap': '350W'}"))));
}

static int catch_hint(void *context, const struct warning_row *row)
{
    int *n = context;
    if (strcmp(row->code, "power-limit") == 0 && strstr(row->text, "700 W has no effect on a100-80-sxm") == NULL)
        *n += 9;
    if (strcmp(row->code, "power-limit") == 0) *n += strstr(row->text, "give static-cap a 'cap' below it") != NULL;
    return 0;
}

#define TWO_TYPES                                                                                                      \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'node_types': {'new': {'nodes': 1,"            \
    " 'gpus_per_node': 2, 'gpu': 'h100-sxm'}}, 'server_power': {'idle': '670W', 'per_gpu_watt': 0.67},"                \
    " 'power': {'budget': '9kW', 'level': '%s', 'capping': {'policy': 'static-cap', %s}}}, 'jobs': {'scheduler':"      \
    " 'gavel', 'types': {'default': {'power': {'mean': '%s', 'clock_share': 0.5}}}, 'trace': {'format':"               \
    " 'inline-jobs', 'jobs': [{'duration': '30s', 'gpus': 2}, {'duration': '30s', 'gpus': 2}]}}}"

/* A cap in watts may be above the TDP of a type; a share never is. */
TEST(a_cap_for_several_types_may_be_above_one)
{
    static const char *const caps[] = {"'cap': '700W'", "'cap': '390W'", "'share': 1", "'share': 0.6"};
    for (int i = 0; i < 4; i++) {
        int n = 0;
        const struct sink sink = {.context = &n, .warning = catch_hint};
        bed_ok(BED(.also = &sink), TWO_TYPES, "row", caps[i], "200W");
        CHECK_EQ_INT(n, i == 0 ? 1 : 0);
    }
}

/* The mean power of a job's GPUs while it ran, of which it had two. */
static double gpu_w_of(const struct bed_rows *rows, size_t job)
{
    const struct job_row *row = bed_job(rows, (int64_t)job);
    return row->energy_j / (2.0 * row->jct_s);
}

/* Decisions of the capper that begin their reason so. */
static int caps_that_say(const struct bed_rows *rows, const char *level)
{
    int n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        n += strcmp(rows->decisions[i].policy, "static-cap") == 0 &&
             strncmp(rows->decisions[i].reason, level, strlen(level)) == 0;
    return n;
}

/* A share is of each GPU's own TDP, whether a domain has one type of GPU or both: jobs of 600 W draw 0.6 of the 400 W
 * of an A100, and of the 700 W of an H100. At the whole TDP the H100 draws what the job states. */
TEST(a_share_is_of_each_gpu)
{
    static const char *const levels[] = {"server", "row", "site"};
    for (int i = 0; i < 3; i++) {
        const struct bed_rows *rows = bed_ok(NULL, TWO_TYPES, levels[i], "'share': 0.6", "600W");
        const struct bed_rows *full = bed_ok(NULL, TWO_TYPES, levels[i], "'share': 1", "600W");
        MUST(rows->n_jobs == 2 && full->n_jobs == 2);
        CHECK_NEAR(gpu_w_of(rows, 0), 0.6 * 400.0, 1e-6);
        CHECK_NEAR(gpu_w_of(rows, 1), 0.6 * 700.0, 1e-6);
        CHECK_NEAR(gpu_w_of(full, 0), 400.0, 1e-6);
        CHECK_NEAR(gpu_w_of(full, 1), 600.0, 1e-6);
        CHECK_EQ_INT(caps_that_say(rows, "60 % of the limit of each: "), i == 0 ? 0 : 2);
        CHECK_EQ_INT(caps_that_say(rows, "240 W: "), i == 0 ? 2 : 0);
        CHECK_EQ_INT(caps_that_say(rows, "420 W: "), i == 0 ? 2 : 0);
    }
}

struct floors {
    double budget_w, floor_w, stuck_w;
    int64_t n_domains, n_stuck;
};

static int catch_floor(void *context, const struct warning_row *row)
{
    struct floors *floors = context;
    if (strcmp(row->code, "power-floor") != 0) return 0;
    const bool is_stuck = strncmp(row->text, "readings", strlen("readings")) == 0;
    const char *watts = strstr(row->text, is_stuck ? "drew " : "draws ");
    *(is_stuck ? &floors->n_stuck : &floors->n_domains) = row->count;
    *(is_stuck ? &floors->stuck_w : &floors->floor_w) = watts != NULL ? atof(watts + (is_stuck ? 5 : 6)) : 0.0;
    return 0;
}

static struct floors floors_of(double budget_w, const char *capping, const struct bed_rows **rows)
{
    struct floors floors = {.budget_w = budget_w};
    const struct sink sink = {.context = &floors, .warning = catch_floor};
    *rows = bed_ok(BED(.also = &sink),
                   "{'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
                   " 'per_gpu_watt': 0.5}, 'power': {'budget': '%.17gW', 'level': 'rack', 'servers_per_rack': 2,"
                   " 'telemetry': {'period': '1s'}, 'capping': %s}}, 'jobs': {'types': {'default': {'power': {'mean':"
                   " '390W', 'clock_share': 0.5}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '30s',"
                   " 'gpus': 12}]}}}",
                   budget_w, capping);
    return floors;
}

/* Two racks, of two servers and of one. The floor is that of idle GPUs with a process, to the watt that a budget has
 * more or less; under a lock to the lowest clock from the beginning, all time above the budget is of such readings. */
TEST(budgets_that_no_clock_keeps_are_warned_of)
{
    struct gpu_spec gpu;
    const struct bed_rows *rows;
    SCOPED(session) session = {0};
    const struct catalog catalog = {.root = "configs"};
    MUST(catalog_gpu(&catalog, "a100-80-sxm", "", &session.arena, &gpu, &session.diag) == 0);
    const double rack_w = 2.0 * (670.0 + 4.0 * 1.5 * gpu.context_w);
    struct floors floors = floors_of(rack_w + 0.01, "{'policy': 'static-lock', 'clock': '288MHz', 'on': 'all'}", &rows);
    CHECK_EQ_INT(floors.n_domains, 0);
    CHECK(floors.n_stuck > 10 && floors.stuck_w > rack_w);
    CHECK_NEAR((double)floors.n_stuck, bed_metric(rows, "power.over_budget_s"), 1e-9);
    CHECK_NEAR(floors.stuck_w / floors.budget_w, bed_metric(rows, "power.budget_frac.max"), 1e-5);
    floors = floors_of(rack_w - 0.01, "'none'", &rows);
    CHECK_EQ_INT(floors.n_domains, 1);
    CHECK_NEAR(floors.floor_w, rack_w, 1e-5 * rack_w);
    CHECK_EQ_INT(floors.n_stuck, 0);
    CHECK(bed_metric(rows, "power.over_budget_s") > 0.0);
    floors = floors_of(rack_w / 2.0 - 0.01, "{'policy': 'static-lock', 'clock': '600MHz', 'on': 'all'}", &rows);
    CHECK_EQ_INT(floors.n_domains, 2);
    CHECK_EQ_INT(floors.n_stuck, 0);
}

/* A lock of the jobs of low priority. It holds all GPUs in use only once those of high priority have ended at 10 s,
 * however many these are: only then is a reading above the budget one that no clock keeps. */
TEST(a_lock_of_one_priority_holds_all_gpus_once_the_other_has_none)
{
    for (int high = 0; high <= 4; high++) {
        char first[96] = "";
        struct floors floors = {0};
        const struct sink sink = {.context = &floors, .warning = catch_floor};
        if (high > 0) snprintf(first, sizeof first, "{'duration': '10s', 'gpus': %d, 'type': 'a'}, ", high);
        const struct bed_rows *rows = bed_ok(
            BED(.also = &sink),
            "{'until': '30s', 'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle':"
            " '670W', 'per_gpu_watt': 0.5}, 'power': {'budget': '1.4kW', 'level': 'server', 'telemetry': {'period':"
            " '1s'}, 'capping': {'policy': 'static-lock', 'clock': '288MHz', 'on': 'low'}}}, 'jobs': {'types': {'a':"
            " {'power': {'mean': '390W', 'priority': 'high'}}, 'b': {'power': {'mean': '390W', 'clock_share': 0.5}}},"
            " 'trace': {'format': 'inline-jobs', 'jobs': [%s{'duration': '300s', 'gpus': 4, 'type': 'b'}]}}}",
            first);
        const double over_s = bed_metric(rows, "power.over_budget_s");
        CHECK(over_s >= 28.0);
        CHECK_NEAR((double)floors.n_stuck, over_s - (high > 0 ? 10.0 : 0.0), 1e-9);
    }
}

static int catch_limit(void *context, const struct warning_row *row)
{
    const char **text = context;
    if (strcmp(row->code, "power-limit") == 0)
        *text = strstr(row->text, "no effect on") != NULL ? "no effect"
                : strstr(row->text, "below") != NULL      ? "below"
                                                          : "?";
    return 0;
}

TEST(limits_beyond_tdp_idle_power_and_clock_are_warned_of)
{
    static const struct {
        const char *world, *text;
    } cases[] = {{CAPPED("h100-sxm", "{'policy': 'static-cap', 'cap': '701W'}"), "no effect"},
                 {CAPPED("h100-sxm", "{'policy': 'static-cap', 'cap': '700W'}"), "none"},
                 {CAPPED("h100-sxm", "{'policy': 'static-cap', 'cap': '122W'}"), "none"},
                 {CAPPED("h100-sxm", "{'policy': 'static-cap', 'cap': '121W'}"), "below"},
                 {CAPPED("h100-sxm", "{'policy': 'static-lock', 'clock': '1980MHz'}"), "none"},
                 {CAPPED("h100-sxm", "{'policy': 'static-lock', 'clock': '1981MHz'}"), "no effect"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = "none";
        const struct sink sink = {.context = &text, .warning = catch_limit};
        bed_free(bed_ok(BED(.also = &sink), "%s", cases[i].world));
        CHECK_EQ_STR(text, cases[i].text);
    }
}

/* The integral is checked after every event of a run that visits every boundary (INV-11). */
TEST(stepping_does_not_show)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        struct bed_rows *whole = run(&settings[i], &(struct bed_options){0});
        struct bed_rows *steps = run(&settings[i], &(struct bed_options){.single_step = true, .check = true});
        struct bed_rows *heap = run(&settings[i], &(struct bed_options){.queue = QUEUE_HEAP, .check = true});
        CHECK_EQ_INT(whole->code, 0);
        CHECK(bed_equal(whole, steps));
        CHECK(bed_equal(whole, heap));
        CHECK((bed_metric(whole, "power.commands") > 0) == (i > 0));
    }
}

/* What is kept while it runs, and what the services' work comes to in the end, is the same energy. */
TEST(the_site_is_the_sum_of_its_parts)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        struct bed_rows *rows = run(&settings[i], &(struct bed_options){0});
        const double end_s = rows->end_s, free_gpus = 32 - bed_metric(rows, "cluster.gpus_in_use.mean");
        const double gpus_j = bed_metric(rows, "energy.j") + free_gpus * 53.7 * end_s;
        CHECK_NEAR(bed_metric(rows, "energy.site_j") / (1.67 * gpus_j + 4 * 670 * end_s), 1.0, 1e-9);
        CHECK_NEAR(bed_metric(rows, "power.site_w.mean") * end_s / bed_metric(rows, "energy.site_j"), 1.0, 1e-12);
        CHECK(bed_metric(rows, "power.site_w.max") >= bed_metric(rows, "power.site_w.mean"));
    }
}

/* Decisions tell a clock in MHz and a cap in W. A brake counts when it begins, not when it is ordered again. */
TEST(brakes_are_counted_as_they_begin)
{
    for (int i = 0; i < N_SETTINGS; i++) {
        const struct bed_rows *rows = run(&settings[i], &(struct bed_options){0});
        bool brakes[32] = {0};
        int n_brakes = 0;
        for (size_t d = 0; d < rows->n_decisions; d++) {
            const struct bed_decision *decision = &rows->decisions[d];
            const bool brake = strcmp(decision->action, "brake") == 0,
                       lock = strncmp(decision->action, "lock ", 5) == 0;
            CHECK((strstr(decision->reason, " MHz: ") != NULL) == (brake || lock));
            CHECK((strstr(decision->reason, " W: ") != NULL) == (strncmp(decision->action, "cap ", 4) == 0));
            if (!brake && strcmp(decision->action, "release") != 0) continue;
            n_brakes += brake && !brakes[decision->subject];
            brakes[decision->subject] = brake;
        }
        CHECK_EQ_INT((int)bed_metric(rows, "power.brakes"), n_brakes);
    }
}

/* A command takes effect sooner than the next reading comes: there is no rise within its latency. */
TEST(rises_are_those_within_a_latency)
{
    struct setting setting = settings[1];
    for (int slow = 0; slow < 2; slow++) {
        setting.telemetry = slow ? "'period': '5s'" : "'period': '500ms'";
        const struct bed_rows *rows = run(&setting, &(struct bed_options){0});
        CHECK((bed_metric(rows, "power.rise_frac.max") > 0) == !slow);
    }
}

/* --- What a policy sees --- */

/* Adds up readings, and commands a lock of high priority in between, for HELD readings. */
enum { HELD = 60 };
struct probe {
    double joules;
    sim_ns until_ns, period_ns, delay_ns;
    int64_t n, faults;
};

static struct probe *probe_of; /* of the run under way; tests run one after the other */

static int probe_setup(void *state, const struct power_view *view, struct power_plan *plan)
{
    (void)state;
    (void)plan;
    probe_of->faults += !isnan(view->reading.mean_w) || view->now_ns != 0;
    return 0;
}

static int probe_decide(void *state, const struct power_view *view, struct power_plan *plan)
{
    (void)state;
    struct probe *probe = probe_of;
    const struct power_reading *reading = &view->reading;
    const struct power_group_view *high = &view->groups[POWER_HIGH];
    probe->faults += reading->to_ns + probe->delay_ns != view->now_ns;
    probe->faults += reading->from_ns != probe->until_ns || reading->to_ns % probe->period_ns != 0;
    probe->joules += reading->mean_w * sim_s_from_ns(reading->to_ns - reading->from_ns);
    probe->until_ns = reading->to_ns;
    probe->n++;
    if (probe->n == 5) power_plan_lock(plan, POWER_HIGH, 700e6, "the fifth");
    if (probe->n == 5 + HELD) power_plan_free(plan, POWER_HIGH, "the last");
    if (probe->n >= 5 + HELD) return 0;
    const bool given = probe->n > 5, due = given && view->now_ns >= high->effect_ns;
    probe->faults += high->in_flight != (given && !due);
    probe->faults += (high->ordered.clock_hz > 0.0) != given || (high->in_force.clock_hz > 0.0) != due;
    return 0;
}

static const struct power_capper prober = {
    .policy = {.abi = POLICY_ABI, .size = sizeof(struct power_capper), .family = POLICY_POWER_CAP, .name = "probe",
               .summary = "", .source = ""},
    .setup = probe_setup,
    .decide = probe_decide};

TEST(readings_tile_the_run_and_come_late)
{
    for (int delay = 0; delay <= 1100; delay += 550) {
        char telemetry[96];
        snprintf(telemetry, sizeof telemetry, "'period': '250ms', 'delay': '%dms'", delay);
        struct setting setting = settings[0];
        struct probe probe = {.period_ns = 250000000, .delay_ns = (sim_ns)delay * 1000000};
        setting.telemetry = telemetry;
        setting.capping = "'probe'";
        probe_of = &probe;
        struct bed_rows *rows = run(&setting, &(struct bed_options){.policy = &prober.policy, .no_detail = true});
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(probe.faults, 0);
        CHECK(probe.n > 100);
        const double site_j = bed_metric(rows, "energy.site_j"), left_s = rows->end_s - sim_s_from_ns(probe.until_ns);
        CHECK(left_s >= 0.0 && left_s <= 0.25 + delay * 1e-3);
        CHECK(probe.joules <= site_j && probe.joules >= site_j - left_s * 24000.0);
        CHECK_NEAR(bed_metric(rows, "power.held_s[high]"), HELD * 0.25, 1e-9);
    }
}

/* --- What commands do --- */

/* Iterations of a known length: requests come every 10 s, a prompt takes 1 s, then 100 iterations of 50 ms. A lock of
 * 705 MHz, half the highest clock, is in force 12.25 s after the beginning: 250 ms into the second prompt, which ends
 * as it began. */
static int locks_at_once(void *state, const struct power_view *view, struct power_plan *plan)
{
    (void)state;
    if (view->now_ns == 8250000000) power_plan_lock(plan, POWER_HIGH, 705e6, "");
    return 0;
}

TEST(a_lock_holds_from_the_next_boundary_on)
{
    static const char known[] =
        "'tensor_parallel': 4, 'clock_share': {'prefill': 1, 'decode': 0.5}, 'replicas': 1,"
        "'cost': {'kind': 'affine', 'prefill': {'fixed': '1s'}, 'decode': {'fixed': '50ms'}},"
        "'trace': {'format': 'generate', 'count': 3, 'arrival': {'process': 'fixed', 'rate': '%s'},"
        " 'prompt': {'distribution': 'fixed', 'tokens': %d}, 'output': {'distribution': 'fixed', 'tokens': 101}}";
    const struct power_capper locker = {.policy = prober.policy, .decide = locks_at_once};
    char low[1024], high[1024];
    int n_slow = 0, n_between = 0;
    snprintf(low, sizeof low, known, "0.1/s", LOW_PROMPT);
    snprintf(high, sizeof high, known, "0.0833333333333333333/s", HIGH_PROMPT); /* every 12 s */
    const struct setting setting = {"12kW", "row", "'period': '250ms'", "'probe'", low, high};
    struct bed_rows *rows = run(&setting, &(struct bed_options){.policy = &locker.policy});
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        const bool is_high = row->prompt_tokens == HIGH_PROMPT;
        const bool slow_prompt = is_high && row->arrival_s > 12.25, slow = is_high && row->arrival_s + 1 > 12.25;
        CHECK_NEAR(row->ttft_s, slow_prompt ? 2.0 : 1.0, 1e-6);
        CHECK_NEAR(row->tpot_s, slow ? 0.075 : 0.05, 1e-6); /* speed: 1 / (1 - 0.5 + 0.5 / 0.5) */
        n_slow += slow_prompt;
        n_between += slow && !slow_prompt;
    }
    CHECK(n_slow >= 1 && n_between == 1);
}

/* --- Jobs --- */

static struct bed_rows *run_jobs(const char *capping, const struct bed_options *options)
{
    static const char jobs[] =
        "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
        " 'per_gpu_watt': 0.67}, 'power': {'budget': '7kW', 'level': 'site', 'commands': {'out_of_band': '10s'},"
        " 'capping': %s}}, 'jobs': {'scheduler': 'srtf', 'placement': 'consolidated',"
        " 'types': {'default': {'power': {'mean': '380W', 'clock_share': 0.5}}}, 'trace': {'format': 'inline-jobs',"
        " 'jobs': [   {'submit': '0s', 'duration': '200s', 'gpus': 8}, {'submit': '5s', 'duration': '100s',"
        " 'gpus': 16}, {'submit': '20s', 'duration': '30s', 'gpus': 4}, {'submit': '400s', 'duration': '60s',"
        " 'gpus': 16}]}}}";
    return bed_run(options, jobs, capping);
}

static void check_jobs(const char *capping, double speed, double gpu_w)
{
    struct bed_rows *rows = run_jobs(capping, &(struct bed_options){.single_step = true, .check = true});
    struct bed_rows *heap = run_jobs(capping, &(struct bed_options){.queue = QUEUE_HEAP});
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_equal(rows, heap));
    const double gpu_s = bed_metric(rows, "job.gpu_s.sum"), jobs_j = bed_metric(rows, "energy.jobs_j");
    const double work_s = 8 * 200 + 16 * 100 + 4 * 30 + 16 * 60;
    if (speed > 0) CHECK_NEAR(gpu_s * speed / work_s, 1.0, 1e-8);
    if (speed > 0) CHECK_NEAR(jobs_j / (gpu_s * gpu_w), 1.0, 1e-12);
    CHECK_NEAR(bed_metric(rows, "energy.j_per_job"), jobs_j / 4, 1e-6);
    CHECK_NEAR(bed_metric(rows, "energy.site_j") /
                   (1.67 * (jobs_j + (16 * rows->end_s - gpu_s) * 53.7) + 2 * 670 * rows->end_s),
               1.0, 1e-9);
}

/* Half the highest clock: speed 2/3; the voltage is at its floor, that of V100: 80 W idle with a process, 300 W of
 * kernels. */
TEST(jobs_draw_what_their_type_says)
{
    const double floor = 0.83901;
    check_jobs("'none'", 1.0, 380.0);
    check_jobs("{'policy': 'static-lock', 'clock': '705MHz'}", 2.0 / 3.0, 80.0 + 300.0 * 0.5 * floor * floor);
    check_jobs("'polca'", 0.0, 0.0);
}

/* --- Commands that cannot be --- */

/* A server may draw nothing beside its GPUs, if the scenario says so. */
TEST(servers_without_a_draw_of_their_own_are_told_from_missing_ones)
{
    static const char *const keys[] = {"'server_power': {'idle': '0W', 'per_gpu_watt': 0}, ", "",
                                       "'server_power': null, "};
    for (int i = 0; i < 3; i++) {
        struct bed_rows *rows = bed_run(
            &(struct bed_options){.quiet = true, .check = true},
            "{'cluster': {'gpu': 'a100-80-sxm', %s'power': {'budget': '9kW'}}, 'jobs': {'types': {'default': {'power':"
            " {'mean': '200W', 'clock_share': 0.5}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration':"
            " '30s'}]}}}",
            keys[i]);
        CHECK_EQ_INT(rows->code, i == 0 ? 0 : SIM_E_CONFIG);
        bed_free(rows);
    }
}

/* A job on a GPU in a row that is always above its budget. */
static int code_above_budget(const char *gpu, const char *capping)
{
    struct bed_rows *rows = bed_run(
        &(struct bed_options){.quiet = true, .check = true},
        "{'cluster': {'gpu': '%s', 'server_power': {'idle': '900W', 'per_gpu_watt': 1.2}, 'power': {'budget': '1kW',"
        " 'commands': {'path': 'in-band'}, 'capping': %s}},"
        " 'jobs': {'types': {'default': {'power': {'mean': '200W', 'clock_share': 0.5}}},"
        " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '30s'}]}}}",
        gpu, capping);
    const int code = rows->code;
    bed_free(rows);
    return code;
}

/* Clocks below those of the GPU keep it at its lowest one: no capper of the list asks for a clock that GPUs lack. */
TEST(no_clock_is_too_low_for_any_gpu)
{
    static const char *const cappings[] = {
        "'brake'", "'polca'", "'single-threshold'", "{'policy': 'polca', 'low_t1': '1MHz', 'low_t2': '1MHz'}",
        "{'policy': 'single-threshold', 'clock': '1MHz', 'on': 'all'}", "{'policy': 'static-lock', 'clock': '1MHz'}"};
    const struct catalog catalog = {.root = "configs"};
    SCOPED(session) session = {0};
    struct catalog_names gpus;
    int n_modelled = 0;
    MUST(catalog_list_gpus(&catalog, &session.arena, &gpus, &session.diag) == 0);
    for (size_t i = 0; i < gpus.n; i++) {
        if (code_above_budget(gpus.names[i], "'none'") != 0) continue; /* without an idle power */
        n_modelled++;
        for (size_t k = 0; k < sizeof cappings / sizeof *cappings; k++)
            CHECK_EQ_INT(code_above_budget(gpus.names[i], cappings[k]), 0);
    }
    CHECK(n_modelled > 5);
}

static int asks_for_no_clock(void *state, const struct power_view *view, struct power_plan *plan)
{
    (void)state;
    (void)view;
    power_plan_lock(plan, POWER_LOW, 1e6, "");
    return 0;
}

static int asks_for_no_power(void *state, const struct power_view *view, struct power_plan *plan)
{
    (void)state;
    (void)view;
    power_plan_cap(plan, POWER_HIGH, -1.0, "");
    return 0;
}

TEST(faults_name_policy_and_place)
{
    int (*const faulty[])(void *, const struct power_view *, struct power_plan *) = {asks_for_no_clock,
                                                                                     asks_for_no_power};
    static const char *const texts[] = {
        "power_cap policy 'probe' asked for a setting of 'low' in row0 at 2.000000000 s, but no GPU has such a clock",
        "power_cap policy 'probe' asked for a setting of 'high' in row0 at 2.000000000 s, but its cap is no power"};
    for (int i = 0; i < 2; i++) {
        const struct power_capper capper = {.policy = prober.policy, .decide = faulty[i]};
        struct setting setting = settings[0];
        setting.capping = "'probe'";
        struct bed_rows *rows = run(&setting, &(struct bed_options){.policy = &capper.policy, .quiet = true});
        CHECK_EQ_INT(rows->code, SIM_E_POLICY);
        if (CHECK(rows->diag.n_errors > 0)) CHECK_EQ_STR(rows->diag.items[0].text, texts[i]);
    }
}

/* The share of the network of an iteration changes while it is under way: KV is handed over beside its collectives.
 * What was drawn by then stays drawn (INV-11), and what steps draw is what runs of iterations draw. */
TEST(a_change_of_speed_leaves_what_was_drawn)
{
    static const char *const batchers[] = {"vllm-v0", "vllm-v1", "sarathi"};
    for (size_t i = 0; i < sizeof batchers / sizeof *batchers; i++) {
        static const char world[] =
            "{'cluster': {'nodes': 4, 'gpus_per_node': 2, 'gpu': 'a100-40-sxm', 'network': {'bandwidth': '5GB/s', "
            "'collectives': 'shared'}, 'power': {'budget': '11kW'}, 'server_power': {'idle': '100W', 'per_gpu_watt': "
            "1}}, 'services': {'a': {'llm': 'llama-2-7b', 'tensor_parallel': 4, 'batching': '%s', 'pools': {'p': "
            "{'role': 'prefill'}, 'd': {}}, 'trace': {'format': 'generate', 'count': 40, 'arrival': {'process': "
            "'poisson', 'rate': '2/s'}}}}}";
        struct bed_rows *whole = bed_ok(BED(.single_step = false), world, batchers[i]);
        struct bed_rows *steps = bed_ok(BED(.single_step = true, .check = true), world, batchers[i]);
        CHECK(bed_equal(whole, steps));
        CHECK(bed_metric(whole, "energy.site_j") > 0);
    }
}
