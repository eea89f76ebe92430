/* What services count, added up: times that saturate, and what is not known of one is not known of all. */
#include "sim/world/rows/metric.h"
#include "sim/world/service/service_stats.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static struct service_stats merged(sim_ns busy_ns, sim_ns extrapolated_ns, bool uncalibrated)
{
    struct service_stats all, one;
    CHECK_EQ_INT(service_stats_init(&all), 0);
    CHECK_EQ_INT(service_stats_init(&one), 0);
    all.work = (struct replica_counts){.busy_ns = 300, .extrapolated_ns = 60};
    one.work = (struct replica_counts){.busy_ns = busy_ns, .extrapolated_ns = extrapolated_ns};
    one.uncalibrated = uncalibrated;
    CHECK_EQ_INT(service_stats_merge(&all, &one), 0);
    service_stats_fini(&one);
    service_stats_fini(&all);
    return all;
}

/* What two services counted is counted by both together. */
TEST(counts_are_added_up)
{
    struct service_stats all, one;
    MUST(service_stats_init(&all) == 0 && service_stats_init(&one) == 0);
#define COUNTS(X)                                                                                                      \
    X(replicas) X(in_system_mean) X(kv_transfer_bytes) X(prefix_caches) X(prefix_blocks) X(prefix_evictions) X(flop)   \
    X(peak_flop) X(read_bytes) X(bandwidth_bytes) X(usd_per_h) X(late_usd_per_h) X(work.prefill_iterations)           \
    X(work.decode_iterations)                                                                                          \
    X(work.decode_steps) X(work.decode_tokens) X(work.preemptions) X(work.swaps) X(work.swapped_bytes)                 \
    X(work.recomputed_tokens) X(work.cached_tokens) X(work.busy_ns) X(work.extrapolated_ns)
    int n = 0;
#define FILL(member) all.member = 100, one.member = ++n;
    COUNTS(FILL)
    all.kv_peak_frac = 0.25;
    one.kv_peak_frac = 0.5;
    CHECK_EQ_INT(service_stats_merge(&all, &one), 0);
    int i = 0;
#define SUMS(member) CHECK_NEAR((double)all.member, 100 + ++i, 0);
    COUNTS(SUMS)
    CHECK_NEAR(all.kv_peak_frac, 0.5, 0);
    one.kv_peak_frac = 0.125;
    CHECK_EQ_INT(service_stats_merge(&all, &one), 0);
    CHECK_NEAR(all.kv_peak_frac, 0.5, 0);
    service_stats_fini(&one);
    service_stats_fini(&all);
}

/* The histograms of classes are added to their service once, however often that is asked for. */
TEST(classes_are_added_up_once)
{
    const struct slo_config slo = {0};
    struct arena arena;
    struct diag diag = {0};
    struct service_classes classes;
    struct service_class *chat;
    struct service_stats all;
    arena_init(&arena);
    MUST(service_classes_init(&classes, &slo, "s", "services.s.trace", &arena, &diag) == 0);
    MUST(service_stats_init(&all) == 0 && service_classes_find(&classes, "chat", &chat) == 0);
    for (int i = 1; i <= 3; i++) MUST(histogram_add(&chat->stats.ttft_s.histogram, 0.5 * i, 1) == 0);
    for (int call = 0; call < 2; call++) {
        CHECK_EQ_INT(service_classes_add_up(&classes, &all.requests), 0);
        CHECK_EQ_INT(all.requests.ttft_s.histogram.count, 3);
    }
    service_stats_fini(&all);
    service_classes_fini(&classes);
    arena_fini(&arena);
}

TEST(the_extrapolated_share_is_that_of_all_busy_time)
{
    struct service_stats all = merged(100, 40, false);
    CHECK_NEAR(service_stats_extrapolated_frac(&all), 0.25, 0);
}

TEST(an_uncalibrated_model_makes_the_share_unknown)
{
    struct service_stats all = merged(100, 0, true);
    CHECK(isnan(service_stats_extrapolated_frac(&all)));
}

TEST(busy_time_saturates)
{
    struct service_stats all = merged(SIM_NS_MAX - 5, SIM_NS_MAX - 10, false);
    CHECK_EQ_INT(all.work.busy_ns, SIM_NS_MAX);
    CHECK_EQ_INT(all.work.extrapolated_ns, SIM_NS_MAX);
}

/* What is no count, sum or mean over a time, and so neither begins nor ends. */
static bool is_fixed(const char *name)
{
    static const char *const fixed[] = {"cluster.gpus", "cluster.job_gpus", "cost.usd_per_h", "offload.interval_layers"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(name, fixed[i]) == 0) return true;
    return false;
}

TEST(every_metric_says_its_unit_and_what_it_covers)
{
    const char *missing = NULL;
    for (const struct metric_def *def = metric_dictionary; def->name != NULL; def++) {
        const bool says = strstr(def->definition, "warm-up") != NULL || strstr(def->definition, "of the run") != NULL ||
                          strstr(def->definition, "the run ended") != NULL ||
                          strstr(def->definition, "of these") != NULL;
        if (def->unit[0] == 0 || (!says && !is_fixed(def->name))) missing = def->name;
    }
    CHECK_EQ_STR(missing != NULL ? missing : "none", "none");
}

/* Money is counted in millionths of a dollar: tokens per dollar stay finite. */
TEST(the_least_price_of_a_gpu_is_a_millionth)
{
    static const char *const prices[] = {"$0.000001/h", "$0.0000001/h"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(
            BED(.quiet = true), "{'cluster': {'gpu': 'h100-sxm', 'gpu_price': '%s'}, 'services': {'a': {'llm':"
                                " 'llama-2-7b', 'trace': {'format': 'generate', 'count': 1}}}}",
            prices[i]);
        CHECK_EQ_INT(rows->code, i == 0 ? 0 : SIM_E_CONFIG);
        CHECK((i == 0) == (bool)isfinite(bed_metric(rows, "cost.output_tokens_per_usd")));
    }
}
