/* Settings that nothing in a scenario reads get a warning each; where they are read, or are as by default, none. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

#define JOB "'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '5s'}]}"
#define JOBS(cluster, more) "{'cluster': {'gpu': 'a100-80-sxm'" cluster "}, 'jobs': {" more ", " JOB "}}"
#define TYPE(more) JOBS("", "'types': {'default': {" more "}}")
#define CHAT(cluster, more)                                                                                            \
    "{'cluster': {'gpu': 'a100-80-sxm'" cluster "}, 'services': {'s': {'llm': 'llama-3-8b', " more                     \
    ", 'trace': {'format': 'generate', 'count': 2}}}}"
#define POWER(more) ", 'server_power': {'idle': '900W', 'per_gpu_watt': 1.2}, 'power': {'budget': '99kW'" more "}"
#define MARKET(offer, more)                                                                                            \
    "{'cluster': {'gpu': 'a100-80-sxm'}, 'market': {" more "'offers': {'h': {" offer "}}}, 'jobs': {" JOB "}}"

/* Whether a finding says that the key has no effect. */
static bool tells(const struct bed_rows *rows, const char *key)
{
    char text[64];
    snprintf(text, sizeof text, "%s' has no effect", key);
    for (int i = 0; i < rows->diag.n_items; i++)
        if (strstr(rows->diag.items[i].text, text) != NULL) return true;
    return false;
}

static void check(const char *key, bool is_told, const char *scenario)
{
    struct bed_rows *rows = bed_run(BED(.check = true), "%s", scenario);
    CHECK_EQ_INT(rows->code, 0);
    if (tells(rows, key) != is_told) CHECK_EQ_STR(scenario, is_told ? "is told" : "is silent");
    bed_free(rows);
}

/* A key, a scenario that gives it, and whether nothing reads it there. */
struct unread_case {
    const char *key, *scenario;
    bool is_told;
};

static void check_all(const struct unread_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) check(cases[i].key, cases[i].is_told, cases[i].scenario);
}

TEST(settings_of_jobs)
{
    static const struct unread_case cases[] = {
        {"estimates", JOBS("", "'scheduler': 'fifo', 'estimates': {'law': 'exact'}"), true},
        {"estimates", JOBS("", "'scheduler': 'easy', 'estimates': {'law': 'exact'}"), false},
        {"estimates", JOBS("", "'scheduler': 'fifo', 'estimates': {'law': 'traced'}"), false},
        {"sigma", JOBS("", "'scheduler': 'easy', 'estimates': {'sigma': 0.5}"), true},
        {"sigma", JOBS("", "'scheduler': 'easy', 'estimates': {'law': 'uniform', 'sigma': 0.5}"), true},
        {"sigma", JOBS("", "'scheduler': 'easy', 'estimates': {'law': 'lognormal', 'sigma': 0.5}"), false},
        {"sigma", JOBS("", "'scheduler': 'easy', 'estimates': {'sigma': 1}"), false},
        {"most", JOBS("", "'scheduler': 'easy', 'estimates': {'law': 'lognormal', 'most': 3}"), true},
        {"most", JOBS("", "'scheduler': 'easy', 'estimates': {'law': 'uniform', 'most': 3}"), false},
        {"parallel_frac", TYPE("'speedup': {'parallel_frac': 0.9}"), true},
        {"parallel_frac", TYPE("'speedup': {'law': 'power', 'parallel_frac': 0.9}"), true},
        {"parallel_frac", TYPE("'speedup': {'law': 'amdahl', 'parallel_frac': 0.9}"), false},
        {"exponent", TYPE("'speedup': {'law': 'amdahl', 'exponent': 0.9}"), true},
        {"exponent", TYPE("'speedup': {'law': 'power', 'exponent': 0.9}"), false},
        {"linear_below_one", TYPE("'speedup': {'linear_below_one': true}"), true},
        {"linear_below_one", TYPE("'speedup': {'law': 'power', 'linear_below_one': true}"), false},
        {"points", TYPE("'speedup': {'points': [{'gpus': 1, 'speed': 1}]}"), true},
        {"points", TYPE("'speedup': {'law': 'table', 'points': [{'gpus': 1, 'speed': 1}]}"), false},
        {"preemptible", JOBS("", "'preemptible': true"), true},
        {"preemptible", JOBS("", "'preemptible': false"), false},
        {"yield", JOBS("", "'yield': 'least-work'"), true},
        {"yield", JOBS("", "'preemptible': true, 'yield': 'least-work'"), false},
        {"priority", TYPE("'priority': 3"), true},
        {"priority", TYPE("'priority': 0"), false},
        {"racks", JOBS(", 'nodes': 4", "'network_penalty': {'racks': 0.5}"), true},
        {"racks", JOBS(", 'nodes': 4, 'nodes_per_rack': 4", "'network_penalty': {'racks': 0.5}"), true},
        {"racks", JOBS(", 'nodes': 4, 'nodes_per_rack': 2", "'network_penalty': {'racks': 0.5}"), false},
        {"migrate", JOBS(", 'nodes': 4", "'scheduler': 'fifo', 'restart': {'migrate': '9s'}"), true},
        {"migrate", JOBS(", 'nodes': 4", "'scheduler': 'fifo', 'restart': {'resume': '9s'}"), false},
        {"migrate", JOBS(", 'nodes': 4", "'scheduler': 'fifo-migrate', 'restart': {'migrate': '9s'}"), false},
        {"migrate", JOBS(", 'nodes': 1", "'scheduler': 'fifo-migrate', 'restart': {'migrate': '9s'}"), true},
        {"migrate", JOBS(", 'nodes': 4", "'scheduler': 'fifo-migrate', 'placement': 'counted', 'restart': "
                         "{'migrate': '9s'}"), true},
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

/* Tiers of a policy that uses one of them, and of one that places a share on each or on none. */
TEST(tiers_that_hold_nothing)
{
#define TIERS(more) CHAT("", "'kv': {'tiers': {'a': {'device': 'host-dram-pcie4'}, 'b': {'device': 'samsung-980-pro'}}, 'offload': " more "}")
    static const struct unread_case cases[] = {
        {"kv.tiers.a", TIERS("{'policy': 'vllm-cpu', 'cpu_offload': '2GB'}"), false},
        {"kv.tiers.b", TIERS("{'policy': 'vllm-cpu', 'cpu_offload': '2GB'}"), true},
        {"kv.tiers.b",
         TIERS("{'policy': 'flexgen', 'gpu_batch': 4, 'weights_gpu': 0.5, 'weights_host': 0.5, "
               "'cache_gpu': 0.5, 'cache_host': 0.5}"),
         true},
        {"kv.tiers.b",
         TIERS("{'policy': 'flexgen', 'gpu_batch': 4, 'weights_gpu': 0.5, 'weights_host': 0.4, "
               "'cache_gpu': 0.5, 'cache_host': 0.5}"),
         false},
        /* what lies on a drive is read through the host */
        {"kv.tiers.a",
         TIERS("{'policy': 'flexgen', 'gpu_batch': 4, 'weights_gpu': 1, 'weights_host': 0, "
               "'cache_gpu': 0.5, 'cache_host': 0}"),
         false},
        /* preempted sequences go there */
        {"kv.tiers.a", TIERS("{'policy': 'vllm-cpu', 'cpu_offload': '0GB', 'swap': true}, 'block_tokens': 16}, "
                             "'batching': {'policy': 'vllm-v0'"), false},
        {"kv.tiers.a", TIERS("{'policy': 'vllm-cpu', 'cpu_offload': '0GB'}"), true},
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

/* A tier of the service counts as used if one of the pools that inherit it uses it; one of a pool's own is its own. */
TEST(tiers_of_pools)
{
#define POOLS(first, second)                                                                                           \
    "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1}, 'services': {'s': {'llm': 'llama-3-8b', 'kv': {'tiers': "         \
    "{'a': {'device': 'host-dram-pcie4'}, 'b': {'device': 'samsung-980-pro'}}, 'offload': 'vllm-cpu'}, 'pools': "      \
    "{'p': {" first "}, 'q': {" second "}}, 'trace': {'format': 'generate', 'count': 2}}}}"
    static const char own[] =
        "'kv': {'tiers': {'c': {'device': 'host-dram-pcie4'}, 'd': {'device': 'samsung-980-pro'}}, "
        "'offload': 'vllm-cpu'}";
    static const struct unread_case cases[] = {
        {"'kv.tiers.b", POOLS("", ""), true},
        {"'kv.tiers.a", POOLS("", ""), false},
    };
    char text[1024];
    check_all(cases, sizeof cases / sizeof *cases);
    snprintf(text, sizeof text, POOLS("", "%s"), own);
    check("'kv.tiers.d", true, text);
    check("'kv.tiers.c", false, text);
    check("'kv.tiers.b", true, text);
    check("'kv.tiers.a", false, text);
    snprintf(text, sizeof text, POOLS("%s", "%s"), own, own);
    check("'kv.tiers.d", true, text);
}

TEST(settings_of_saves)
{
    static const struct unread_case cases[] = {
        {"overlap", TYPE("'checkpoint': {'overlap': '1s'}"), true},
        {"overlap", TYPE("'checkpoint': {'model': 'fastpersist', 'overlap': '1s'}"), false},
        {"model", TYPE("'checkpoint': {'model': 'fastpersist'}"), true},
        {"model", TYPE("'checkpoint': {'model': 'fastpersist', 'overlap': '0s'}"), true},
        {"model", TYPE("'checkpoint': {'model': 'fastpersist', 'overlap': '1s'}"), false},
        {"model", TYPE("'checkpoint': {'model': 'synchronous'}"), false},
        {"params", TYPE("'checkpoint': {'params': 7e9, 'bytes': '9GB'}"), true},
        {"params", TYPE("'checkpoint': {'params': 7e9}"), false},
        {"gpu_copy", TYPE("'checkpoint': {'gpu_copy': '1GB/s'}"), true},
        {"gpu_copy", TYPE("'checkpoint': {'model': 'datastates', 'gpu_copy': '1GB/s'}"), false},
        {"gpu_buffer", TYPE("'checkpoint': {'gpu_buffer': '1GB'}"), true},
        {"gpu_buffer", TYPE("'checkpoint': {'gpu_buffer': '16GB'}"), false},
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

TEST(settings_of_failures_and_power)
{
    static const char switches[] = "{'cluster': {'gpu': 'a100-80-sxm'}, 'failures': {'nodes_per_switch': %d, 'causes': "
                                   "{'c': {'scope': '%s', 'lifetime': {'mean': '9h'}}}}, 'jobs': {" JOB "}}";
    static const struct unread_case cases[] = {
        {"in_band", CHAT(POWER(", 'commands': {'in_band': '1s'}"), "'replicas': 1"), true},
        {"in_band", CHAT(POWER(", 'commands': {'in_band': '100ms'}"), "'replicas': 1"), false},
        {"in_band", CHAT(POWER(", 'commands': {'path': 'in-band', 'in_band': '1s'}"), "'replicas': 1"), false},
        {"out_of_band", CHAT(POWER(", 'commands': {'path': 'in-band', 'out_of_band': '1s'}"), "'replicas': 1"), true},
        {"out_of_band", CHAT(POWER(", 'commands': {'path': 'in-band', 'out_of_band': '40s'}"), "'replicas': 1"), false},
        {"priority", CHAT("", "'priority': 'low'"), true},
        {"priority", CHAT(POWER(""), "'priority': 'low'"), false},
        {"clock_share", CHAT("", "'clock_share': {'prefill': 0.5, 'decode': 0.1}"), true},
        {"clock_share", CHAT(POWER(""), "'clock_share': {'prefill': 0.5, 'decode': 0.1}"), false},
    };
    char text[512];
    check_all(cases, sizeof cases / sizeof *cases);
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, switches, i == 2 ? 32 : 4, i == 1 ? "switch" : "node");
        check("nodes_per_switch", i == 0, text);
    }
}

TEST(settings_of_routing)
{
    static const struct unread_case cases[] = {
        {"information_delay", CHAT("", "'replicas': 2, 'routing': 'random', 'information_delay': '1s'"), true},
        {"information_delay", CHAT("", "'replicas': 2, 'routing': 'random', 'information_delay': '0s'"), false},
        {"information_delay", CHAT("", "'replicas': 2, 'routing': 'least-kv', 'information_delay': '1s'"), false},
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

TEST(terms_of_offers)
{
    static const struct unread_case cases[] = {
        {"spot.mean_life", MARKET("'spot': {'mean_life': '10h'}", "'renting': 'as-asked', "), true},
        {"spot.mean_life", MARKET("'kind': 'spot', 'price': '$1/h', 'spot': {'mean_life': '10h'}", "'renting': 'as-asked', "), false},
        {"spot.law", MARKET("'spot': {'law': 'weibull'}", "'renting': 'as-asked', "), true},
        {"spot.gpus_per_instance", MARKET("'spot': {'gpus_per_instance': 4}", "'renting': 'as-asked', "), true},
        {"start_up", MARKET("'start_up': '1min'", ""), true},
        {"start_up", MARKET("'start_up': '1min'", "'renting': 'as-asked', "), false},
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

static bool finds(const char *scenario, const char *text)
{
    struct bed_rows *rows = bed_run(BED(.check = true), "%s", scenario);
    bool found = false;
    CHECK_EQ_INT(rows->code, 0);
    for (int i = 0; i < rows->diag.n_items; i++) found = found || strstr(rows->diag.items[i].text, text) != NULL;
    bed_free(rows);
    return found;
}

TEST(a_price_of_another_source_is_named)
{
    CHECK(finds(MARKET("'billing': '1s'", "'prices': 'vast', "), "price list 'vast' has no price of a100-80-sxm"));
    CHECK(!finds(MARKET("'price': '$1/h'", "'prices': 'vast', "), "price list"));
    CHECK(!finds(MARKET("'billing': '1s'", "'prices': 'verda', "), "price list"));
}

TEST(spot_offers_that_nothing_withdraws_are_named)
{
    CHECK(finds(MARKET("'kind': 'spot', 'price': '$1/h'", "'renting': 'as-asked', "), "never withdrawn"));
    CHECK(!finds(MARKET("'kind': 'spot', 'price': '$1/h', 'spot': {'mean_life': '9h'}", "'renting': 'as-asked', "),
                 "never withdrawn"));
}

/* Interruptions within the hour, of a job that keeps its work, and of one that saves it. */
TEST(interruptions_without_checkpoints_are_named)
{
    static const char saves[] =
        ", 'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '1min'}, 'bytes': '1GB', "
        "'write': '1GB/s'}}}";
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'gpu': 'a100-80-sxm'}, 'market': {'renting': 'as-asked', 'offers': {'h': {'kind': 'spot', "
            "'price': '$1/h', 'spot': {'mean_life': '10min'}}}}, 'jobs': {'trace': {'format': 'inline-jobs', "
            "'jobs': [{'duration': '5h'}]}%s}}",
            i == 0 ? "" : saves);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "rental.interruptions") > 0);
        CHECK((bed_warning(rows, "free-interruptions") != NULL) == (i == 0));
        bed_free(rows);
    }
}

TEST(routers_that_lack_what_they_follow_say_so)
{
    CHECK(finds(CHAT("", "'replicas': 2, 'routing': 'prefix-aware'"), "goes by loads alone"));
    CHECK(!finds(CHAT("", "'replicas': 2, 'routing': 'prefix-aware', 'kv': {'prefix_cache': 'lru'}"), "goes by loads"));
    struct bed_rows *rows = bed_run(BED(.check = true), CHAT("", "'replicas': 2, 'routing': 'session-affinity'"));
    CHECK(bed_warning(rows, "no-sessions") != NULL);
    bed_free(rows);
}

TEST(requests_that_a_placement_does_not_look_at_are_counted)
{
    static const char *const asks[] = {"'gpu_models': 'V100'", "'gpu_share': 0.5", "'gpus': 8",
                                       "'gpu_models': 'V100|a100-80-sxm'", "'nodes': 1"};
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct bed_rows *rows =
            bed_run(BED(.check = true),
                    "{'cluster': {'gpu': 'a100-80-sxm'}, 'jobs': {'placement': 'consolidated', 'trace': {'format': "
                    "'inline-jobs', 'jobs': [{'duration': '5s', %s}]}}}", asks[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK((bed_warning(rows, "unread-requests") != NULL) == (i < 2));
        bed_free(rows);
    }
}

/* The power of a job type is that of one GPU: that of a node is told, what a GPU may draw for a while is not. */
TEST(a_power_that_no_gpu_draws_is_told)
{
    static const struct {
        const char *mean;
        int n_warnings;
    } cases[] = {{"700W", 0}, {"760W", 0}, {"780W", 1}, {"6kW", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_run(
            BED(.quiet = true),
            "{'cluster': {'gpu': 'h200-sxm', 'nodes': 1, 'server_power': {'idle': '1kW', 'per_gpu_watt': 0.5}, 'power': "
            "{'budget': '100kW'}}, 'jobs': {'types': {'default': {'power': {'mean': '%s'}}}, 'trace': {'format': "
            "'inline-jobs', 'jobs': [{'duration': '1h', 'gpus': 8}]}}}",
            cases[i].mean);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->diag.n_warnings, cases[i].n_warnings);
        bed_free(rows);
    }
}

/* Schedulers that go by deadlines say so where no job has one. */
TEST(deadlines_that_no_job_has_are_missed)
{
    static const char *const schedulers[] = {"edf", "elasticflow", "chronus", "fifo"};
    static const char deadlines[] = ", 'deadlines': {'least': 0.5, 'most': 1.5}";
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++)
        for (int given = 0; given < 2; given++) {
            char scenario[512];
            snprintf(scenario, sizeof scenario, JOBS("", "'scheduler': '%s'%s"), schedulers[i], given ? deadlines : "");
            CHECK(finds(scenario, "goes by deadlines, and no job has one") == (i < 3 && !given));
        }
}

/* Half of the jobs may outrun twice their estimates, and a few say nothing; schedulers that read none do not care. */
TEST(estimates_of_another_unit_are_told)
{
    static const struct {
        const char *scheduler, *estimate;
        int n_short, n;
        bool is_told;
    } cases[] = {{"easy", "2s", 6, 10, true},    {"easy", "2s", 5, 10, false}, {"easy", "2s", 9, 9, false},
                 {"easy", "50s", 10, 10, false}, {"fifo", "2s", 10, 10, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char jobs[1024] = "";
        for (int k = 0; k < cases[i].n; k++)
            snprintf(jobs + strlen(jobs), sizeof jobs - strlen(jobs), "%s{'duration': '100s', 'estimate': '%s'}",
                     k > 0 ? ", " : "", k < cases[i].n_short ? cases[i].estimate : "100s");
        struct bed_rows *rows = bed_run(
            NULL,
            "{'cluster': {'nodes': 1}, 'jobs': {'scheduler': '%s', 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
            cases[i].scheduler, jobs);
        CHECK_EQ_INT(rows->code, 0);
        CHECK((bed_warning(rows, "short-estimates") != NULL) == cases[i].is_told);
        bed_free(rows);
    }
}

/* A cap that is far above the budget leaves it over the whole run. */
TEST(a_capper_that_does_not_keep_the_budget_says_so)
{
    static const char *const budgets[] = {"2kW", "99kW"};
    for (size_t i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'gpu': 'a100-80-sxm', 'server_power': {'idle': '900W', 'per_gpu_watt': 1.2}, 'power': "
            "{'budget': '%s', 'capping': {'policy': 'static-cap', 'share': 0.9}}}, 'services': {'s': {'llm': "
            "'llama-3-8b', 'replicas': 8, 'trace': {'format': 'generate', 'count': 400, 'arrival': {'process': "
            "'poisson', 'rate': '20/s'}}}}}",
            budgets[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK((bed_warning(rows, "over-budget") != NULL) == (i == 0));
        bed_free(rows);
    }
}
