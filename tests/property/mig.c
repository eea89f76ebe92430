/* MIG slices: together they have no more than their GPU, each is the GPU that a file with its numbers describes, and
 * GPU hours, money and power of a site are those of its whole GPUs. */
#include "models/power.h"
#include "sim/catalog/mig.h"
#include "sim/catalog/power.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

static const struct catalog catalog = {.root = "configs"};

/* --- The catalog --- */

typedef void (*slice_fn)(struct session *session, const struct gpu_spec *slice);

/* Visits all slices of all GPUs, at least 29. */
static void for_each_slice(slice_fn visit)
{
    SCOPED(session) session = {0};
    struct catalog_names gpus;
    size_t n = 0;
    MUST(catalog_list_gpus(&catalog, &session.arena, &gpus, &session.diag) == 0);
    for (size_t i = 0; i < gpus.n; i++) {
        const char *profile;
        MUST(catalog_gpu_profiles(&catalog, gpus.names[i], &session.arena, &profile, &session.diag) == 0);
        for (; *profile != 0; profile += strspn(profile, " "), n++) {
            const int n_chars = (int)strcspn(profile, " ");
            const char *name = arena_printf(&session.arena, "%s:%.*s", gpus.names[i], n_chars, profile);
            struct gpu_spec slice;
            profile += n_chars;
            MUST(catalog_gpu(&catalog, name, "t", &session.arena, &slice, &session.diag) == 0);
            CHECK_EQ_STR(slice.name, name);
            CHECK_EQ_STR(gpu_whole_name(&slice), gpus.names[i]);
            visit(&session, &slice);
        }
    }
    CHECK(n >= 29);
}

static void check_shares(struct session *session, const struct gpu_spec *slice)
{
    const struct gpu_spec *whole = slice->whole;
    const double n = (double)slice->slices, rounding = 1.0 + 1e-12;
    (void)session;
    CHECK(slice->slices >= 1);
    CHECK(slice->slices * slice->sm_count <= whole->sm_count);
    CHECK(n * slice->memory_bytes <= whole->memory_bytes);
    CHECK(n * slice->memory_bytes_per_s <= whole->memory_bytes_per_s * rounding);
    CHECK(n * slice->l2_bytes <= whole->l2_bytes * rounding);
    CHECK(n * slice->pcie_bytes_per_s <= whole->pcie_bytes_per_s * rounding);
    for (int i = 0; i < FORMAT_COUNT; i++)
        CHECK(!(n * slice->peak_flop_per_s[i] > whole->peak_flop_per_s[i] * rounding));
    CHECK_NEAR(n * slice->tdp_w, whole->tdp_w, 1e-9 * whole->tdp_w);
    CHECK_NEAR(n * slice->idle_w, whole->idle_w, 1e-9 * whole->idle_w);
    CHECK(isnan(whole->usd_per_h) || fabs(n * slice->usd_per_h - whole->usd_per_h) < 1e-9);
    CHECK(slice->nvlink_gpus == 0 && slice->fabric == FABRIC_NONE && !slice->peer_to_peer);
}

TEST(slices_together_have_at_most_the_whole)
{
    for_each_slice(check_shares);
}

static struct power_load random_load(struct rng *rng)
{
    const double busy = rng_uniform(rng);
    return (struct power_load){busy, busy * rng_uniform(rng), busy * rng_uniform(rng), rng_uniform(rng) * busy, 0.0};
}

/* Whether slices leave no SM and no bandwidth of their GPU unused. */
static bool has_all(const struct gpu_spec *slice)
{
    return slice->slices * slice->sm_count == slice->whole->sm_count &&
           (double)slice->slices * slice->memory_bytes_per_s == slice->whole->memory_bytes_per_s;
}

/* Equal loads on all slices draw at most what the load draws on the whole GPU, and at most its limit. Slices that
 * together have all SMs and all bandwidth draw exactly that. */
static void check_power(struct session *session, const struct gpu_spec *slice)
{
    struct gpu_power part, whole;
    struct rng rng = test_rng(1, slice->name, 0);
    const double n = (double)slice->slices;
    MUST(catalog_gpu_power(&catalog, slice, &session->arena, &part, &session->diag) == 0);
    MUST(catalog_gpu_power(&catalog, slice->whole, &session->arena, &whole, &session->diag) == 0);
    CHECK((part.from == NULL) == (whole.from == NULL) && !part.is_measured);
    for (int i = 0; part.from != NULL && i < 50; i++) {
        const struct power_load load = random_load(&rng);
        CHECK(n * power_draw_w(&part.model, &load) <= power_draw_w(&whole.model, &load) * (1.0 + 1e-12));
        CHECK(n * power_draw_w(&part.model, &load) <= slice->whole->tdp_w * (1.0 + 1e-12));
        if (has_all(slice))
            CHECK_NEAR(n * power_draw_w(&part.model, &load) / power_draw_w(&whole.model, &load), 1.0, 1e-12);
    }
    const struct power_load none = {0};
    if (part.from != NULL) CHECK_NEAR(n * power_draw_w(&part.model, &none), power_draw_w(&whole.model, &none), 1e-9);
}

TEST(slices_together_draw_at_most_the_power_of_the_whole)
{
    SCOPED(session) session = {0};
    struct gpu_spec largest;
    MUST(catalog_gpu(&catalog, "h100-sxm:7g.80gb", "t", &session.arena, &largest, &session.diag) == 0);
    CHECK(has_all(&largest)); /* else the equality would hold of none */
    for_each_slice(check_power);
}

/* --- Times --- */

static const struct iteration_work works[] = {
    {.prefill_sequences = 1, .prefill_tokens = 700, .prefill_pairs = 700.0 * 700.0 / 2.0},
    {.decode_sequences = 1, .decode_context_tokens = 300},
    {.decode_sequences = 64, .decode_context_tokens = 64 * 900},
    {.prefill_sequences = 2, .prefill_tokens = 900, .prefill_pairs = 250000.0, .decode_sequences = 17,
     .decode_context_tokens = 17 * 400},
};
enum { N_WORKS = sizeof works / sizeof *works };

/* A GPU of 128 SMs that can be cut into quarters, or somebody's own file for such a quarter. */
static const char *gpu_file(const char *name, int sms, double peak_tflop_per_s, const char *mig)
{
    return test_file(
        name,
        "{\"architecture\": \"Hopper GH100\", \"sms\": %d, \"memory\": \"%dGiB\", \"boost_clock\": \"2GHz\","
        " \"tdp\": \"%dW\", \"memory_bandwidth\": \"%.17gTB/s\", \"l2\": \"%dMiB\", \"pcie_bandwidth\":"
        " \"%dGB/s\", \"peak\": {\"fp32\": \"%.17gTFLOP/s\", \"fp16\": \"%.17gTFLOP/s\"}%s}",
        sms, 80 * sms / 128, 800 * sms / 128, 4.0 * sms / 128, 48 * sms / 128, 64 * sms / 128, peak_tflop_per_s / 16.0,
        peak_tflop_per_s, mig);
}

#define SERVICE_BY(calibration)                                                                                        \
    "'services': {'s': {'llm': 'phi-2', 'replicas': 3, 'cost': {'kind': 'operators', 'calibration': '"          \
    calibration "'},"                                                                                                  \
    " 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '4/s'},"                  \
    " 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 900}, 'output': {'distribution': 'uniform', 'min': 1,"   \
    " 'max': 80}}}}"

#define SERVICE SERVICE_BY("default")

#define ONE                                                                                                            \
    "'services': {'s': {'llm': 'phi-2', 'cost': {'kind': 'operators', 'calibration': 'h100-sxm'}, 'trace': {'format':" \
    " 'generate', 'count': 20, 'arrival': {'process': 'poisson', 'rate': '1/s'}}}}"

/* Every request has the very times that the file gives. */
TEST(a_slice_takes_the_time_of_a_file_with_its_numbers)
{
    const char *whole = gpu_file("whole.json", 128, 1024.0,
                                 ", \"mig\": {\"quarter\": {\"instances\": 4, \"sms\": 32, \"memory\": \"20GiB\","
                                 " \"bandwidth_share\": 0.25, \"l2_share\": 0.25}}");
    const char *twin = gpu_file("twin.json", 32, 256.0, "");
    struct bed_rows *sliced = bed_ok(
        NULL, "{'cluster': {'gpu': '%s', 'mig': 'quarter', 'gpus_per_node': 1}, " SERVICE "}", whole);
    struct bed_rows *other = bed_ok(NULL, "{'cluster': {'gpu': '%s', 'gpus_per_node': 4}, " SERVICE "}", twin);
    MUST(sliced->n_requests == 60 && other->n_requests == 60);
    for (size_t i = 0; i < sliced->n_requests; i++) {
        CHECK(sliced->requests[i].ttft_s == other->requests[i].ttft_s);
        CHECK(sliced->requests[i].e2e_s == other->requests[i].e2e_s);
    }
    CHECK(bed_warning(sliced, "uncalibrated") != NULL);
    /* Where the file counts as measured, its decode runs end where that range does: times differ by rounding. */
    sliced = bed_ok(
        NULL, "{'cluster': {'gpu': '%s', 'mig': 'quarter', 'gpus_per_node': 1}, " SERVICE_BY("h100-sxm") "}", whole);
    other = bed_ok(NULL, "{'cluster': {'gpu': '%s', 'gpus_per_node': 4}, " SERVICE_BY("h100-sxm") "}", twin);
    for (size_t i = 0; i < sliced->n_requests; i++) {
        CHECK(sliced->requests[i].ttft_s == other->requests[i].ttft_s);
        CHECK_NEAR(sliced->requests[i].e2e_s, other->requests[i].e2e_s, 1e-6);
    }
}

/* A calibration of the whole GPU, named or found, puts no time of a slice within a measured range. */
TEST(a_named_calibration_measured_no_slice)
{
    static const char site[] = "{'cluster': {'gpu': '%s', 'gpus_per_node': 1}, " ONE "}";
    const char *of_slice = bed_warning(bed_ok(NULL, site, "h100-sxm:1g.20gb"), "extrapolated");
    const char *of_whole = bed_warning(bed_ok(NULL, site, "h100-sxm"), "extrapolated");
    MUST(of_slice != NULL);
    CHECK(strstr(of_slice, ": 100 % of the kernels' time is outside the range") != NULL);
    CHECK(of_whole == NULL || strstr(of_whole, ": 100 %") == NULL);
}

/* The speed of a type of jobs under a GPU's name is that of its slices, too. */
TEST(speeds_by_gpu_hold_for_its_slices)
{
    static const char site[] =
        "{'cluster': {'gpu': 'h100-sxm', 'mig': '1g.10gb', 'gpus_per_node': 1}, 'jobs': {'types': {'t': {'speeds':"
        " {'%s': 2}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'type': 't', 'duration': '1h'}]}}}";
    CHECK_NEAR(bed_metric(bed_ok(NULL, site, "h100-sxm"), "job.jct_s.mean"), 1800.0, 1.0);
    CHECK_NEAR(bed_metric(bed_ok(NULL, site, "a100-80-sxm"), "job.jct_s.mean"), 3600.0, 1.0);
}

#define HALVES_TOO(scheduler)                                                                                          \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm', 'node_types': {'halves': {'nodes': 1,"            \
    " 'gpus_per_node': 1, 'gpu': 'h100-sxm', 'mig': '3g.40gb'}}}, 'jobs': {'scheduler': {'policy': 'gavel', " scheduler \
    "}, 'placement': 'counted', 'types': {'big': {'speeds': {'h100-sxm': 1, 'h100-sxm:3g.40gb': 0.25}}, 'small':"      \
    " {'speeds': {'h100-sxm:3g.40gb': 0.8}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '8h', 'type':"  \
    " 'small'}, {'duration': '10h', 'type': 'small'}, {'duration': '10h', 'type': 'big'}]}}}"

/* One GPU whole and one cut in two. The scheduler knows the speeds on both: the job that loses most by a slice has the
 * whole GPU, and the others the slices. Without speeds of slices these would be as fast as the GPU. By price a slice
 * is worth more to the small jobs and less to the big one. */
TEST(a_scheduler_chooses_slices_by_their_speeds)
{
    const struct bed_rows *rows = bed_ok(NULL, HALVES_TOO("'objective': 'throughput'"));
    CHECK_NEAR(bed_job(rows, 0)->jct_s, 10 * 3600, 1.0);
    CHECK_NEAR(bed_job(rows, 2)->jct_s, 10 * 3600, 1.0);
    rows = bed_ok(NULL, HALVES_TOO("'objective': 'cost', 'rates': {'big': 1}, 'prices': {'h100-sxm': '$4/h',"
                                   " 'h100-sxm:3g.40gb': '$2/h'}"));
    CHECK_NEAR(bed_job(rows, 0)->jct_s, 10 * 3600, 1.0);
    CHECK_NEAR(bed_job(rows, 2)->jct_s, 10 * 3600, 1.0);
}

/* What no GPU is called, and a profile that the GPU does not have. */
TEST(speeds_of_slices_name_profiles)
{
    static const char *const wrong[][2] = {{"h100-sxm:", "a MIG slice is GPU:PROFILE"},
                                           {"h100-sxm:1g:2g", "a MIG slice is GPU:PROFILE"},
                                           {"h100-sxm:9g.90gb", "1g.10gb"}};
    for (int i = 0; i < 3; i++) {
        const struct bed_rows *rows =
            bed_run(BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpu': 'h100-sxm'}, 'jobs': {'types': {'a': {'speeds':"
                                        " {'%s': 0.5}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1s',"
                                        " 'type': 'a'}]}}}",
                    wrong[i][0]);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(strstr(rows->diag.items[0].hint, wrong[i][1]) != NULL);
    }
}

/* A slice's name as `gpu` stands for the GPU and its profile. */
TEST(the_name_of_a_slice_stands_for_gpu_and_profile)
{
    CHECK(bed_equal(bed_ok(NULL, "{'cluster': {'gpu': 'h100-sxm', 'mig': '1g.20gb', 'gpus_per_node': 1}, " SERVICE "}"),
                    bed_ok(NULL, "{'cluster': {'gpu': 'h100-sxm:1g.20gb', 'gpus_per_node': 1}, " SERVICE "}")));
}

/* 7g leaves no SM of an H100 unused, and 10 of the 108 of an A100. Prompts take up to that much longer there; decoding
 * reads memory, and its kernels may divide among 98 SMs as well as among 108. */
TEST(the_largest_slice_is_the_whole_gpu_but_for_unused_sms)
{
    static const struct {
        const char *whole, *slice;
        double sms_frac;
    } pairs[] = {{"h100-sxm", "h100-sxm:7g.80gb", 1.0}, {"h100-pcie", "h100-pcie:7g.80gb", 1.0},
                 {"a100-80-sxm", "a100-80-sxm:7g.80gb", 98.0 / 108.0},
                 {"a100-40-sxm", "a100-40-sxm:7g.40gb", 98.0 / 108.0}};
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        struct cost_fixture whole, slice;
        MUST(cost_fixture_init(&whole, "{'cost': 'operators'}", pairs[k].whole, "phi-2", 1, 1) == 0);
        MUST(cost_fixture_init(&slice, "{'cost': 'operators'}", pairs[k].slice, "phi-2", 1, 1) == 0);
        CHECK_NEAR(slice.gpu.peak_flop_per_s[FORMAT_FP16] / whole.gpu.peak_flop_per_s[FORMAT_FP16], pairs[k].sms_frac,
                   1e-12);
        CHECK(slice.gpu.memory_bytes_per_s == whole.gpu.memory_bytes_per_s && slice.gpu.l2_bytes == whole.gpu.l2_bytes);
        for (int i = 0; i < N_WORKS; i++) {
            const double slower = cost_fixture_s(&slice, works[i]) / cost_fixture_s(&whole, works[i]);
            if (pairs[k].sms_frac == 1.0) CHECK(slower == 1.0);
            if (works[i].prefill_tokens > 0) CHECK(slower >= 1.0 && slower <= 1.0 / pairs[k].sms_frac);
        }
        cost_fixture_fini(&whole);
        cost_fixture_fini(&slice);
    }
}

/* --- Sites --- */

#define JOBS                                                                                                           \
    "'jobs': {'scheduler': 'easy', 'placement': 'consolidated', 'trace': {'format': 'generate-jobs', 'mix':"           \
    " 'helios', 'count': 40, 'max_gpus': 8}}"

/* Jobs that state their durations cannot tell slices from as many GPUs. */
TEST(jobs_count_slices_as_gpus)
{
    struct bed_rows *sliced = bed_ok(NULL, "{'cluster': {'gpu': 'a100-80-sxm', 'mig': '2g.20gb', 'nodes': 2,"
                                           " 'gpus_per_node': 4, 'node_types': {'b': {'gpu': 'h100-sxm', 'mig':"
                                           " '1g.10gb', 'nodes': 1, 'gpus_per_node': 2}}}, " JOBS "}");
    struct bed_rows *counted = bed_ok(NULL,
                                      "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'gpus_per_node': 12,"
                                      " 'node_types': {'b': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 14}}},"
                                      " " JOBS "}");
    MUST(sliced->n_jobs == 40 && counted->n_jobs == 40);
    for (size_t i = 0; i < sliced->n_jobs; i++) {
        CHECK(sliced->jobs[i].start_s == counted->jobs[i].start_s);
        CHECK(sliced->jobs[i].end_s == counted->jobs[i].end_s);
    }
}

/* A site costs the same cut or whole: 8 GPUs for an hour. */
static double rent_of(const char *cluster, const char *market)
{
    return bed_metric(bed_ok(NULL,
                             "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, %s}, 'market': {%s 'renting':"
                             " 'fixed-fleet'}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration':"
                             " '1h'}]}}}",
                             cluster, market),
                      "cost.usd");
}

TEST(a_site_costs_the_same_cut_or_whole)
{
    static const char *const markets[] = {"'offers': {'a': {}},", "'prices': 'verda', 'offers': {'a': {}},"};
    static const char *const profiles[] = {"'mig': '1g.10gb'", "'mig': '1g.20gb'", "'mig': '3g.40gb'"};
    for (size_t i = 0; i < 2; i++) {
        const double whole = rent_of("'nodes': 1", markets[i]);
        CHECK(whole > 0);
        for (size_t k = 0; k < 3; k++) CHECK_NEAR(rent_of(profiles[k], markets[i]), whole, 7 * 8 * 1e-6);
    }
    CHECK_NEAR(rent_of("'nodes': 1, 'gpu_price': '$4/h'", ""), 32.0, 1e-9);
    CHECK_NEAR(rent_of("'mig': '2g.20gb', 'gpu_price': '$3/h'", ""), 24.0, 1e-9);
    CHECK_NEAR(rent_of("'mig': '2g.20gb'", "'offers': {'a': {'price': '$2/h'}},"), 48.0, 1e-9);
}

#define POWER                                                                                                          \
    "'server_power': {'idle': '670W', 'per_gpu_watt': 0.5}, 'power': {'budget': '60kW', 'level': 'site', 'capping':"   \
    " 'none', 'clock_like': 'a40'}"

static double idle_w(const char *mig)
{
    return bed_metric(bed_ok(NULL,
                             "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 2, %s " POWER "},"
                             " 'until': '100s', 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'submit':"
                             " '90s', 'gpus': 0, 'duration': '1s'}]}}}",
                             mig),
                      "power.site_w.mean");
}

TEST(an_idle_site_draws_the_same_cut_or_whole)
{
    const double whole_w = idle_w("");
    CHECK(whole_w > 0);
    CHECK_NEAR(idle_w("'mig': '1g.10gb',"), whole_w, 1e-6 * whole_w);
    CHECK_NEAR(idle_w("'mig': '2g.20gb',"), whole_w, 1e-6 * whole_w);
}

/* A GPU fails with all of its slices: as often as a whole one, on the same node. The job of one GPU loses as much. */
TEST(gpus_fail_as_often_cut_or_whole)
{
    static const char scenario[] =
        "{'cluster': {'gpu': 'h100-sxm', 'gpus_per_node': 8, 'nodes': 3%s}, 'until': '9d', 'failures': {'causes': {'a':"
        " {'scope': 'gpu', 'lifetime': {'mean': '20d'}, 'repair': {'mean': '1h'}}}}, 'jobs': {'placement':"
        " 'first-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '9d'}]}}}";
    struct bed_rows *whole = bed_ok(NULL, scenario, ""), *sliced = bed_ok(NULL, scenario, ", 'mig': '1g.10gb'");
    CHECK(bed_metric(whole, "failure.events") > 3 && bed_metric(whole, "failure.lost_gpu_s") > 0);
    CHECK(bed_metric(whole, "failure.events") == bed_metric(sliced, "failure.events"));
    CHECK(bed_metric(whole, "failure.lost_gpu_s") == bed_metric(sliced, "failure.lost_gpu_s"));
}

/* --- What is refused --- */

static void check_refused(const char *finding, const char *cluster, const char *service)
{
    char text[1024];
    static const char site[] =
        "{'cluster': {%s}, 'services': {'s': {'llm': 'phi-2', %s 'trace': {'format': 'generate', 'count': 1}}}}";
    struct bed_rows *rows = bed_run(BED(.quiet = true), site, cluster, service);
    CHECK(rows->code != 0);
    snprintf(text, sizeof text, "%s", rows->diag.n_errors > 0 ? rows->diag.items[0].text : "");
    if (strstr(text, finding) == NULL) CHECK_EQ_STR(text, finding);
}

TEST(what_slices_cannot_do_is_refused)
{
    check_refused("is a MIG slice, which reaches others only over the host", "'gpu': 'h100-sxm', 'mig': '1g.10gb'",
                  "'tensor_parallel': 2,");
    check_refused("is a MIG slice, which reaches others only over the host", "'gpu': 'h100-sxm', 'mig': '3g.40gb'",
                  "'pipeline_parallel': 2,");
    check_refused("'h100-sxm' has no MIG profile '1g.11gb'", "'gpu': 'h100-sxm', 'mig': '1g.11gb'", "");
    check_refused("'l4' cannot be cut", "'gpu': 'l4', 'mig': '1g.10gb'", "");
    check_refused("'gpu' names a slice '1g.10gb', and 'mig' is '7g.80gb'",
                  "'gpu': 'h100-sxm:1g.10gb', 'mig': '7g.80gb'", "");
    check_refused("'mig' cuts the GPU that 'gpu' names, and there is none", "'mig': '7g.80gb'", "");
    check_refused("node types have different numbers of MIG slices per GPU",
                  "'gpu': 'h100-sxm', 'mig': '1g.10gb', 'network': {'bandwidth': '5GB/s'}, 'node_types': {'b': {'gpu':"
                  " 'h100-sxm'}}",
                  "");
    const char *nodes = test_file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,2,H\n");
    char cluster[512];
    snprintf(cluster, sizeof cluster, "'gpu': 'h100-sxm:1g.10gb', 'nodes_file': {'path': '%s'}", nodes);
    check_refused("MIG slices are of the GPUs of equal nodes", cluster, "");
}
