/* The intervals of metrics against their rules, which intervals.h states, on the rows of the runs at both ends. The
 * predicted values are the test's own, so that shares of unfinished requests meet their limits exactly. */
#include "sim/cli/run/intervals.h"
#include "sim/cli/run/simulate.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

enum { MOST = 512 };

struct found_rows {
    char names[MOST][64];
    double values[MOST];
    size_t n;
    double power_error;
};

/* The scenario, its rows at both ends, and the metrics that are asked for. */
struct session {
    struct setup setup;
    struct arena arena;
    struct diag diag;
    struct world_options how;
    struct found_rows fast, slow;
    struct metric_row metrics[MOST];
    struct metric_interval expected[MOST];
    size_t n, n_expected;
    const char *left_out;
    double left_out_share;
};

static int on_metric(void *context, const struct metric_row *row)
{
    struct found_rows *rows = context;
    if (!CHECK(rows->n < MOST)) return SIM_E_NOMEM;
    snprintf(rows->names[rows->n], sizeof rows->names[0], "%s", row->name);
    rows->values[rows->n++] = row->value;
    return 0;
}

static double value_in(const struct found_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->names[i], name) == 0) return rows->values[i];
    return (double)NAN;
}

static void run_end(struct session *s, enum time_case time_case, struct found_rows *rows)
{
    const struct sink sink = {.context = rows, .metric = on_metric};
    struct world_result result;
    struct world *world = NULL;
    s->how.time_case = time_case;
    if (!CHECK_EQ_INT(world_create(&s->setup.scenario, &s->how, &world, &s->diag), 0)) return;
    rows->power_error = world_power_error(world);
    CHECK_EQ_INT(world_run(world, &sink, &result), 0);
    world_destroy(world);
    s->how.time_case = TIMES_PREDICTED;
}

/* Two services and jobs, cut at 20 s; each end has other requests under way. */
static const char scenario[] =
    "{'cluster': {'gpu': 'h100-sxm', 'nodes': 4}, 'until': '%s', 'services': {"
    "'a': {'llm': 'llama-3.1-8b', 'replicas': 1, 'cost': %s, 'slo': {'ttft': '1s', 'classes': {'x': {'ttft':"
    " '2s'}, 'y': {'ttft': '0.1s'}}}, 'trace': {'format': 'generate', 'classes': {'x': {'share': 2}, 'y': {'share': 1}},"
    " 'count': 4000, 'arrival': {'process': 'poisson', 'rate': '6/s'}, 'prompt': {'distribution': 'fixed', 'tokens':"
    " 300}, 'output': {'distribution': 'fixed', 'tokens': 120}}},"
    "'b': {'llm': 'llama-3.1-8b', 'replicas': 1, 'cost': %s, 'trace': {'format': 'generate', 'count': 4000, 'arrival':"
    " {'process': 'poisson', 'rate': '3/s'}, 'sessions': {'continue': 0.5}}}},"
    " 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '10s', 'gpus': 1},"
    " {'submit': '1s', 'duration': '30s', 'gpus': 2}]}}}";

static void begin(struct session *s, const char *until, const char *cost)
{
    *s = (struct session){.how = {.queue = QUEUE_CALENDAR}};
    arena_init(&s->arena);
    diag_init(&s->diag);
    const char *json = test_json(scenario, until, cost, cost);
    if (!CHECK_EQ_INT(setup_load_json(&s->setup, "t", json, &(struct setup_options){0}, &s->diag), 0)) return;
    s->how.config = s->setup.config;
    s->how.catalog = &s->setup.catalog;
    run_end(s, TIMES_FAST, &s->fast);
    run_end(s, TIMES_SLOW, &s->slow);
    CHECK(s->fast.n > 100 && s->fast.n == s->slow.n);
}

static void end(struct session *s)
{
    arena_fini(&s->arena);
    setup_fini(&s->setup);
}

/* --- The rules --- */

static const char *const entities[] = {"[a]", "[b]", "[a/x]", "[a/y]"}; /* services and classes of requests */

static bool ends_with(const char *name, const char *end, const char *entity)
{
    char whole[32];
    const size_t n = strlen(name), n_whole = (size_t)snprintf(whole, sizeof whole, "%s%s", end, entity);
    return n >= n_whole && strcmp(name + n - n_whole, whole) == 0;
}

static const char *entity_of(const char *name)
{
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (ends_with(name, entities[i], "")) return entities[i];
    return "";
}

/* Half of the share beyond a statistic: as many requests may differ. INFINITY: a count or sum of the run itself. */
static double most_other(const char *name)
{
    static const struct {
        const char *end;
        double most;
    } rules[] = {{".p50", 0.25},     {".p90", 0.05},   {".p95", 0.025}, {".p99", 0.005},
                 {"_s.mean", 0.005}, {"_frac", 0.005}, {".max", 0.0}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (ends_with(name, rules[i].end, entity_of(name))) return rules[i].most;
    return (double)INFINITY;
}

static double listed(const struct session *s, const char *base, const char *entity)
{
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->metrics[i].name, base, strlen(base)) == 0 &&
            strcmp(s->metrics[i].name + strlen(base), entity) == 0)
            return s->metrics[i].value;
    return (double)NAN;
}

/* The share of requests or jobs of a metric that may differ between the runs. */
static double share_of(const struct session *s, const char *name)
{
    static const char *const prefixes[] = {"request.", "slo.", "session."};
    const char *entity = entity_of(name), *all = NULL, *left = NULL;
    char whole[64];
    for (size_t i = 0; i < 3; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) all = "request.arrived", left = "request.unfinished";
    if (strncmp(name, "job.", 4) == 0) all = "job.submitted", left = "job.unfinished";
    if (all == NULL) return 0;
    snprintf(whole, sizeof whole, "%s%s", left, entity);
    const double n = listed(s, all, entity), unfinished = listed(s, left, entity);
    const double fast = value_in(&s->fast, whole), slow = value_in(&s->slow, whole);
    if (isnan(n) || isnan(unfinished) || (fast == unfinished && slow == unfinished)) return 0;
    return (unfinished + fmax(fast, slow)) / fmax(1, n);
}

static bool is_kind(const char *unit, const char *const *units, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(unit, units[i]) == 0) return true;
    return false;
}

/* Returns false where the error of power is not a factor of the metric. */
static bool add_power(const struct metric_row *metric, double error, double *low, double *high)
{
    static const char *const in_joules[] = {"J", "W", "J/token"}, *const for_joules[] = {"token/J"};
    if (strncmp(metric->name, "job.", 4) == 0) return true;
    if (is_kind(metric->unit, for_joules, 1)) {
        *low *= 1 - error;
        *high *= 1 + error;
        return true;
    }
    if (strcmp(metric->unit, "W") == 0 && ends_with(metric->name, ".max", entity_of(metric->name))) return false;
    if (is_kind(metric->unit, in_joules, 3)) {
        *low /= 1 + error;
        *high /= 1 - error;
        return true;
    }
    return strncmp(metric->name, "power.", 6) != 0 && strncmp(metric->name, "energy.", 7) != 0;
}

static void expect(struct session *s)
{
    s->n_expected = 0;
    s->left_out = NULL;
    s->left_out_share = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct metric_row *metric = &s->metrics[i];
        const double fast = value_in(&s->fast, metric->name), slow = value_in(&s->slow, metric->name);
        const double share = share_of(s, metric->name), most = most_other(metric->name);
        if (share > most) {
            if (most > 0 && strncmp(metric->name, "job.", 4) != 0 && share > s->left_out_share) {
                s->left_out = metric->name;
                s->left_out_share = share;
            }
            continue;
        }
        if (isnan(metric->value) || isnan(fast) || isnan(slow)) continue;
        double low = fmin(metric->value, fmin(fast, slow)), high = fmax(metric->value, fmax(fast, slow));
        if (!add_power(metric, s->slow.power_error, &low, &high) || low >= high) continue;
        s->expected[s->n_expected++] = (struct metric_interval){metric->name, low, high, fast, slow};
    }
}

/* --- Lists of metrics --- */

/* All metrics of the runs with a value between the ends, in an order of its own. */
static void list_metrics(struct session *s, size_t first, bool backwards)
{
    s->n = s->fast.n;
    for (size_t i = 0; i < s->n; i++) {
        const size_t at = (first + (backwards ? s->n - i : i)) % s->n;
        const double fast = s->fast.values[at], slow = value_in(&s->slow, s->fast.names[at]);
        s->metrics[i] = (struct metric_row){.name = s->fast.names[at], .value = 0.5 * (fast + slow), .unit = "s"};
    }
}

static struct metric_row *metric_named(struct session *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->metrics[i].name, name) == 0) return &s->metrics[i];
    CHECK(false);
    return &s->metrics[0];
}

/* Returns how many intervals there are. */
static size_t check(struct session *s)
{
    struct run_intervals found;
    struct diag why;
    char told[DIAG_TEXT_CHARS], share[64];
    diag_init(&why);
    expect(s);
    CHECK_EQ_INT(intervals_find(&s->setup, &s->how, s->metrics, s->n, &s->arena, &found, &why), 0);
    CHECK_NEAR(found.share, 0.9, 0);
    if (!CHECK_EQ_INT(found.n, s->n_expected)) {
        for (size_t i = 0; i < found.n && i < s->n_expected; i++)
            if (strcmp(found.items[i].name, s->expected[i].name) != 0) {
                printf("\n  %s, expected %s", found.items[i].name, s->expected[i].name);
                return 0;
            }
        return 0;
    }
    for (size_t i = 0; i < found.n; i++) {
        const struct metric_interval *a = &found.items[i], *b = &s->expected[i];
        CHECK_EQ_STR(a->name, b->name);
        CHECK_NEAR(a->low, b->low, 1e-12 * fabs(b->low));
        CHECK_NEAR(a->high, b->high, 1e-12 * fabs(b->high));
        CHECK(a->fast == b->fast && a->slow == b->slow);
    }
    CHECK_EQ_INT(why.n_items, s->left_out != NULL);
    if (s->left_out != NULL && why.n_items > 0) {
        snprintf(told, sizeof told, "no interval of %s,", s->left_out);
        snprintf(share, sizeof share, " up to %.3g %% ", 100 * fmin(1, s->left_out_share));
        CHECK(strncmp(why.items[0].text, told, strlen(told)) == 0);
        CHECK(strstr(why.items[0].text, share) != NULL);
    }
    return found.n;
}

/* --- The tests --- */

TEST(intervals_follow_their_rules_whatever_the_order_of_metrics)
{
    static struct session s;
    begin(&s, "20s", "'operators'");
    for (size_t first = 0; first < s.fast.n; first += s.fast.n / 2) {
        list_metrics(&s, first, false);
        CHECK(check(&s) > 20);
        list_metrics(&s, first, true);
        CHECK(check(&s) > 20);
    }
    end(&s);
}

/* As many requests may be unfinished as the limit says, and not one more. */
TEST(shares_meet_their_limits_exactly)
{
    static const double limits[] = {0.25, 0.05, 0.025, 0.005};
    static struct session s;
    begin(&s, "20s", "'operators'");
    const double most = fmax(value_in(&s.fast, "request.unfinished[a/x]"),
                             value_in(&s.slow, "request.unfinished[a/x]"));
    CHECK(most > 0);
    for (size_t i = 0; i < 4; i++)
        for (int more = 0; more < 2; more++) {
            list_metrics(&s, 0, false);
            metric_named(&s, "request.unfinished[a/x]")->value = most + 2;
            metric_named(&s, "request.arrived[a/x]")->value = (2 * most + 2) / limits[i] - 0.5 * more;
            metric_named(&s, "request.arrived[a/y]")->value = 1e9; /* the others are comparable but for maxima */
            metric_named(&s, "request.arrived")->value = 1e9;
            metric_named(&s, "job.submitted")->value = more > 0 ? 0 : 3;
            metric_named(&s, "job.unfinished")->value = 1000;
            CHECK(check(&s) > 20);
        }
    end(&s);
}

TEST(equal_numbers_of_unfinished_requests_are_comparable)
{
    static struct session s;
    begin(&s, "1000s", "'operators'"); /* requests end, and all metrics have intervals */
    list_metrics(&s, 0, false);
    CHECK_NEAR(value_in(&s.fast, "job.unfinished"), value_in(&s.slow, "job.unfinished"), 0);
    CHECK(check(&s) > 20);
    metric_named(&s, "job.unfinished")->value += 1; /* other jobs than at the ends */
    metric_named(&s, "job.submitted")->value = 4;
    CHECK(check(&s) > 20);
    end(&s);
}

/* Units decide what the error of power is a factor of, and maxima of power have no interval. */
TEST(power_widens_by_its_error)
{
    static const char *const units[] = {"J", "W", "J/token", "token/J", "s"};
    static struct session s;
    begin(&s, "20s", "'operators'");
    CHECK(s.slow.power_error > 0.01 && s.slow.power_error < 1);
    for (size_t unit = 0; unit < 5; unit++) {
        list_metrics(&s, 0, false);
        for (size_t i = 0; i < s.n; i++) {
            s.metrics[i].unit = units[unit];
            if (strncmp(s.metrics[i].name, "request.arrived", 15) == 0) s.metrics[i].value = 1e9;
        }
        CHECK(check(&s) > 20);
    }
    end(&s);
}

static void begin_json(struct session *s, const char *world)
{
    *s = (struct session){.how = {.queue = QUEUE_CALENDAR}};
    arena_init(&s->arena);
    diag_init(&s->diag);
    MUST(setup_load_json(&s->setup, "t", world, &(struct setup_options){0}, &s->diag) == 0);
    s->how.config = s->setup.config;
    s->how.catalog = &s->setup.catalog;
    run_end(s, TIMES_FAST, &s->fast);
    run_end(s, TIMES_SLOW, &s->slow);
}

/* Jobs that no service disturbs have one energy in all three runs, and so no interval. What they draw is a share of
 * the site's energy that does not widen; the rest widens by the error of power and of times. */
TEST(energy_of_jobs_has_no_part_in_the_error)
{
    static const char site[] =
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'server_power': {'idle': '680W', 'per_gpu_watt': 0.66},"
        " 'power': {'budget': '40kW'}}, 'until': '60s', 'services': {'a':"
        " {'llm': 'llama-3.1-8b', 'trace': {'format': 'generate', 'count': 400, 'arrival': {'process': 'poisson', 'rate':"
        " '4/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 300}, 'output': {'distribution': 'fixed', 'tokens': 120}}}},"
        " 'jobs': {'types': {'default': {'power': {'mean': '171W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit':"
        " '0s', 'duration': '40s', 'gpus': 8}]}}}";
    static const char *const fixed[] = {"energy.jobs_j", "energy.j_per_job", "job.energy_j.mean", "job.energy_j.max"};
    static struct session s;
    struct run_intervals found;
    begin_json(&s, test_json("%s", site));
    list_metrics(&s, 0, false);
    for (size_t i = 0; i < s.n; i++)
        if (strstr(s.metrics[i].name, "_j") != NULL || strcmp(s.metrics[i].name, "energy.j") == 0) s.metrics[i].unit = "J";
    CHECK_EQ_INT(intervals_find(&s.setup, &s.how, s.metrics, s.n, &s.arena, &found, &s.diag), 0);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        CHECK(metric_named(&s, fixed[i])->value > 0);
        for (size_t k = 0; k < found.n; k++) CHECK(strcmp(found.items[k].name, fixed[i]) != 0);
    }
    const double error = s.slow.power_error, jobs_j = metric_named(&s, "energy.jobs_j")->value;
    const double others_j = metric_named(&s, "energy.j")->value + metric_named(&s, "energy.idle_j")->value;
    int n_seen = 0;
    for (size_t k = 0; k < found.n; k++) {
        const struct metric_interval *ends = &found.items[k];
        const double high = fmax(ends->fast, ends->slow), widest = high / (1 - error);
        n_seen += strcmp(ends->name, "energy.j") == 0 && fabs(ends->high / widest - 1) < 1e-12;
        if (strcmp(ends->name, "energy.site_j") != 0) continue;
        n_seen += ends->high < widest && ends->low < ends->high;
        CHECK_NEAR(ends->high, high * (jobs_j + others_j / (1 - error)) / (jobs_j + others_j), 1e-9 * high);
    }
    CHECK_EQ_INT(n_seen, 2);
    end(&s);
}

/* Jobs that train draw what a power model says, whose error is not known here: the energy that they have a part in has
 * no interval, unless the scenario states their power, or no job of the type that trains runs. */
TEST(energy_of_jobs_that_train_has_no_interval)
{
    static const char site[] =
        "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'server_power': {'idle': '680W', 'per_gpu_watt': 0.66},"
        " 'power': {'budget': '40kW'}}, 'until': '60s', 'services': {'a':"
        " {'llm': 'llama-3.1-8b', 'trace': {'format': 'generate', 'count': 400, 'arrival': {'process': 'poisson', 'rate':"
        " '4/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 300}, 'output': {'distribution': 'fixed', 'tokens': 120}}}},"
        " 'jobs': {'types': {'trains': {%s 'training': {'llm': 'llama-3.1-8b', 'tensor_parallel': 4, 'global_batch':"
        " 64}}, 'other': {'power': {'mean': '171W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s',"
        " %s}]}}}";
    static const struct {
        const char *power, *job;
        int n_site;
    } cases[] = {{"", "'type': 'trains', 'steps': 2, 'gpus': 8", 0},
                 {"'power': {'mean': '171W'},", "'type': 'trains', 'steps': 2, 'gpus': 8", 3},
                 {"", "'type': 'other', 'duration': '40s', 'gpus': 8", 3},
                 {"", "'type': 'trains', 'steps': 2, 'gpus': 1024", 3}}; /* rejected: there are too few GPUs */
    static const char *const names[] = {"energy.site_j", "energy.servers_j", "power.site_w.mean", "energy.jobs_j",
                                        "job.energy_j.mean"};
    static struct session s;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct run_intervals found;
        int n_site = 0, n_service = 0;
        begin_json(&s, test_json(site, cases[c].power, cases[c].job));
        list_metrics(&s, 0, false);
        for (size_t i = 0; i < s.n; i++)
            if (strstr(s.metrics[i].name, "_j") != NULL || strcmp(s.metrics[i].name, "energy.j") == 0)
                s.metrics[i].unit = "J";
        metric_named(&s, "power.site_w.mean")->unit = "W";
        CHECK((metric_named(&s, "energy.jobs_j")->value > 0) == (strstr(cases[c].job, "1024") == NULL));
        CHECK_EQ_INT(intervals_find(&s.setup, &s.how, s.metrics, s.n, &s.arena, &found, &s.diag), 0);
        for (size_t k = 0; k < found.n; k++) {
            n_service += strcmp(found.items[k].name, "energy.j") == 0;
            for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                n_site += strcmp(found.items[k].name, names[i]) == 0;
        }
        CHECK_EQ_INT(n_service, 1);
        CHECK_EQ_INT(n_site, cases[c].n_site);
        end(&s);
    }
}

TEST(what_has_no_value_or_no_row_has_no_interval)
{
    static struct session s;
    begin(&s, "20s", "'operators'");
    list_metrics(&s, 0, false);
    metric_named(&s, "service.output_tokens_per_s")->value = (double)NAN;
    metric_named(&s, "request.arrived")->name = "request.arrive";
    metric_named(&s, "request.unfinished[a/y]")->name = "request.unfinishe[a/y]";
    CHECK(check(&s) > 20);
    end(&s);
}

TEST(no_error_no_intervals)
{
    static struct session s;
    begin(&s, "20s", "'roofline'");
    struct run_intervals found;
    list_metrics(&s, 0, false);
    metric_named(&s, "request.arrived")->value *= 2;
    CHECK_EQ_INT(intervals_find(&s.setup, &s.how, s.metrics, s.n, &s.arena, &found, &s.diag), 0);
    CHECK_EQ_INT(found.n, 0);
    CHECK(found.basis == NULL && found.systems == NULL);
    end(&s);
}

TEST(an_interrupt_leaves_none)
{
    static const volatile sig_atomic_t interrupt = 1;
    static struct session s;
    struct run_intervals found;
    begin(&s, "20s", "'operators'");
    list_metrics(&s, 0, false);
    const int before = s.diag.n_items;
    s.how.interrupt = &interrupt;
    CHECK_EQ_INT(intervals_find(&s.setup, &s.how, s.metrics, s.n, &s.arena, &found, &s.diag), SIM_E_INTERRUPTED);
    CHECK_EQ_INT(found.n, 0);
    CHECK_EQ_INT(s.diag.n_items, before);
    end(&s);
}
