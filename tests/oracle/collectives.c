/* Measured collectives of NCCL, vLLM and Vidur: what the files say of bus bandwidths, and how far the law is off on
 * sizes that it was not fitted to. */
#include "analysis/calibrate/folds.h"
#include "sim/core/real_list.h"
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

#define MIB 1048576.0

static const double nccl_bar = 0.10, custom_bar = 0.05, vidur_bar = 0.10; /* held-out medians */

/* Reads a file of shared data. False when it is absent; in every case profile_fixture_fini is due. */
static bool read_shared(struct profile_fixture *fixture, const char *gpu, const char *path_below_data)
{
    const char *path = test_shared(path_below_data);
    if (!CHECK(profile_fixture_init(fixture, gpu) == 0) || path == NULL) return false;
    return CHECK_EQ_INT(profile_fixture_read(fixture, path), 0);
}

struct rates {
    double low, high;
};

/* 2 (n-1)/n bytes / t of the all-reduces among the eight GPUs of a node over `bytes`, with or without numbers that the
 * switch could add. */
static struct rates bus_bytes_per_s(const struct profile *profile, double bytes, bool switch_adds)
{
    struct rates rates = {(double)INFINITY, 0.0};
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct collective_shape *shape = &row->call.shape.collective;
        if (row->call.class != KERNEL_ALL_REDUCE || shape->gpus != 8.0 || shape->nodes != 1.0) continue;
        if (shape->bytes != bytes || shape->switch_adds != switch_adds) continue;
        const double rate = 2.0 * (7.0 / 8.0) * bytes / row->measured_s;
        rates = (struct rates){fmin(rates.low, rate), fmax(rates.high, rate)};
    }
    return rates;
}

TEST(buses_of_an_a100_node)
{
    struct profile_fixture vidur, nccl;
    if (read_shared(&vidur, "a100-80-sxm", "gpu_profiles/vidur/network__a100_dgx__all_reduce.csv"))
        CHECK_NEAR(bus_bytes_per_s(&vidur.files[0], 64 * MIB, false).high, 174e9, 2e9);
    if (read_shared(&nccl, "a100-80-sxm", "gpu_profiles/aiconfigurator/a100_sxm__nccl_2.27.3.csv")) {
        CHECK_NEAR(bus_bytes_per_s(&nccl.files[0], 512 * MIB, false).low, 215e9, 1e9);
        CHECK_NEAR(bus_bytes_per_s(&nccl.files[0], 512 * MIB, false).high, 222e9, 1e9);
    }
    profile_fixture_fini(&vidur);
    profile_fixture_fini(&nccl);
}

/* Integers are not added by the switch: 353 GB/s; halves are, faster than a ring over the same links. */
TEST(buses_of_an_h100_node)
{
    struct profile_fixture vidur, nccl;
    if (read_shared(&vidur, "h100-sxm", "gpu_profiles/vidur/network__h100_dgx__all_reduce.csv"))
        CHECK_NEAR(bus_bytes_per_s(&vidur.files[0], 64 * MIB, true).low, 365e9, 2e9);
    if (read_shared(&nccl, "h100-sxm", "gpu_profiles/aiconfigurator/h100_sxm__nccl_2.27.3.csv")) {
        CHECK_NEAR(bus_bytes_per_s(&nccl.files[0], 512 * MIB, false).high, 353e9, 1e9);
        CHECK_NEAR(bus_bytes_per_s(&nccl.files[0], 512 * MIB, true).low, 445e9, 1e9);
    }
    profile_fixture_fini(&vidur);
    profile_fixture_fini(&nccl);
}

/* One node says nothing about the network. */
static void check_network_is_not_fitted(const union kernel_params *params)
{
    const struct fit_model model = fit_model_of(KERNEL_ALL_REDUCE);
    const union kernel_params initial = fit_model_initial(&model);
    CHECK(params->collective.network_hop_s == initial.collective.network_hop_s);
    CHECK(params->collective.network_frac == initial.collective.network_frac);
}

/* Fits a class to all sizes but each fifth of them in turn. */
static void run_folds(struct profile_fixture *fixture, enum kernel_class class, struct fold_report *report)
{
    CHECK_EQ_INT(folds_run(class, &fixture->files[0], FOLD_BY_GROUP, &fixture->arena, report, &fixture->diag), 0);
    CHECK(report->n_rows > 40 && report->n_folds == 5);
}

/* The median error over the sizes that were left out. */
static double held_out_median(struct profile_fixture *fixture, enum kernel_class class)
{
    struct fold_report report = {0};
    run_folds(fixture, class, &report);
    return report.held_out.cuts[CUT_ALL].median;
}

/* Keeps every `step`-th row, so that a fit takes a moment. */
static void thin_rows(struct profile *profile, size_t step)
{
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i += step) profile->rows[n++] = profile->rows[i];
    profile->n = n;
}

static void check_nccl(const char *gpu, const char *path, size_t step)
{
    static const enum kernel_class classes[] = {KERNEL_ALL_REDUCE, KERNEL_ALL_GATHER, KERNEL_REDUCE_SCATTER,
                                                KERNEL_ALL_TO_ALL};
    SCOPED(profile_fixture) fixture;
    if (read_shared(&fixture, gpu, path)) {
        thin_rows(&fixture.files[0], step);
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            CHECK(held_out_median(&fixture, classes[i]) < nccl_bar);
    }
}

TEST(nccl_is_predicted)
{
    check_nccl("a100-80-sxm", "gpu_profiles/aiconfigurator/a100_sxm__nccl_2.27.3.csv", 1);
    check_nccl("h100-sxm", "gpu_profiles/aiconfigurator/h100_sxm__nccl_2.27.3.csv", 2);
}

static void check_custom(const char *gpu, const char *path)
{
    SCOPED(profile_fixture) fixture = {0};
    struct fold_report report = {0};
    if (read_shared(&fixture, gpu, path)) {
        run_folds(&fixture, KERNEL_DIRECT_ALL_REDUCE, &report);
        CHECK(report.held_out.cuts[CUT_ALL].median < custom_bar);
        check_network_is_not_fitted(&report.params);
    }
}

TEST(custom_all_reduces_are_predicted)
{
    check_custom("a100-80-sxm", "gpu_profiles/aiconfigurator/a100_sxm__vllm0.14.0__custom_allreduce.csv");
    check_custom("h100-sxm", "gpu_profiles/aiconfigurator/h100_sxm__vllm0.14.0__custom_allreduce.csv");
}

static void check_vidur(const char *gpu, const char *path, enum kernel_class class)
{
    SCOPED(profile_fixture) fixture;
    if (read_shared(&fixture, gpu, path)) {
        thin_rows(&fixture.files[0], fixture.files[0].n / 200);
        CHECK(held_out_median(&fixture, class) < vidur_bar);
    }
}

TEST(vidur_is_predicted)
{
    check_vidur("a100-80-sxm", "gpu_profiles/vidur/network__a100_dgx__all_reduce.csv", KERNEL_ALL_REDUCE);
    check_vidur("h100-sxm", "gpu_profiles/vidur/network__h100_dgx__all_reduce.csv", KERNEL_ALL_REDUCE);
    check_vidur("a100-80-pcie", "gpu_profiles/vidur/network__a100_pairwise_nvlink__all_reduce.csv", KERNEL_ALL_REDUCE);
    check_vidur("h100-pcie", "gpu_profiles/vidur/network__h100_pairwise_nvlink__all_reduce.csv", KERNEL_ALL_REDUCE);
    check_vidur("a100-80-sxm", "gpu_profiles/vidur/network__a100_dgx__send_recv.csv", KERNEL_SEND);
    check_vidur("h100-sxm", "gpu_profiles/vidur/network__h100_dgx__send_recv.csv", KERNEL_SEND);
    check_vidur("a40", "gpu_profiles/vidur/network__a40_pairwise_nvlink__send_recv.csv", KERNEL_SEND);
}

/* --- Over PCIe --- */

static const double pcie_median_bar = 0.12, pcie_p90_bar = 0.30; /* of all held-out rows together */

enum { COUNTS = 3, PCIE_CLASSES = 4, MAX_ERRORS = 1024 };

static const double counts[COUNTS] = {2.0, 4.0, 8.0};
static const enum kernel_class pcie_classes[PCIE_CLASSES] = {KERNEL_ALL_REDUCE, KERNEL_ALL_GATHER,
                                                             KERNEL_REDUCE_SCATTER, KERNEL_ALL_TO_ALL};

struct errors {
    size_t n;
    double items[MAX_ERRORS];
};

static void add_error(struct errors *errors, double predicted_s, double measured_s)
{
    MUST(errors->n < MAX_ERRORS);
    errors->items[errors->n++] = predicted_s / measured_s - 1.0;
}

static void check_pcie_bars(struct errors *errors)
{
    const struct fit_error error = fit_error_of(errors->items, errors->n);
    CHECK_EQ_INT(error.rows, 504);
    CHECK(error.median <= pcie_median_bar && error.p90 <= pcie_p90_bar);
}

TEST(pcie_sizes_left_out_are_predicted)
{
    SCOPED(profile_fixture) fixture;
    struct errors errors = {0};
    if (!read_shared(&fixture, "l40s", "gpu_profiles/aiconfigurator/l40s__nccl_2.27.3.csv")) return;
    for (int i = 0; i < PCIE_CLASSES; i++) {
        struct fold_report report = {0};
        run_folds(&fixture, pcie_classes[i], &report);
        for (size_t j = 0; j < report.n_rows; j++) add_error(&errors, report.held_out_s[j], report.rows[j].measured_s);
    }
    check_pcie_bars(&errors);
}

/* Median bus bandwidth of an operation on so many GPUs, over messages from 4 MiB on. */
static double large_bus_bytes_per_s(const struct profile *profile, enum kernel_class class, double gpus)
{
    double rates[64];
    size_t n = 0;
    for (size_t i = 0; i < profile->n && n < 64; i++) {
        const struct profile_row *row = &profile->rows[i];
        const struct collective_shape *shape = &row->call.shape.collective;
        if (row->call.class != class || shape->gpus != gpus || shape->bytes < 4 * MIB) continue;
        rates[n++] = (class == KERNEL_ALL_REDUCE ? 2.0 : 1.0) * (gpus - 1.0) / gpus * shape->bytes / row->measured_s;
    }
    qsort(rates, n, sizeof *rates, real_compare);
    return n > 0 ? 0.5 * (rates[(n - 1) / 2] + rates[n / 2]) : 0.0;
}

/* The share of the bandwidth left beyond a bridge, from two numbers of GPUs: the mean over the operations. */
static double bridge_share_of(const struct profile *profile, const struct gpu_spec *gpu, double few, double many)
{
    const double bridges = (double)(gpu_bridges(gpu, (int64_t)many) - gpu_bridges(gpu, (int64_t)few));
    double sum = 0.0;
    for (int i = 0; i < PCIE_CLASSES; i++)
        sum += log(large_bus_bytes_per_s(profile, pcie_classes[i], many) /
                   large_bus_bytes_per_s(profile, pcie_classes[i], few));
    return exp(sum / (bridges * PCIE_CLASSES));
}

/* Fits a class to the rows of two numbers of GPUs, and adds the errors of the rows of the third. */
static void hold_out_count(const struct profile *profile, enum kernel_class class, double held_out,
                           struct errors *errors, struct diag *diag)
{
    const struct fit_model model = fit_model_of(class);
    union kernel_params params = fit_model_initial(&model);
    const bool out[2] = {false, true};
    for (size_t i = 0; i < profile->n; i++)
        profile->rows[i].group = profile->rows[i].call.shape.collective.gpus == held_out;
    MUST(fit_model_to(&model, profile->rows, profile->n, out, &params, diag) == 0);
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        if (row->call.class != class || row->group == 0) continue;
        add_error(errors, kernel_call_time(&params, row->gpu, &row->call).seconds, row->measured_s);
    }
}

/* The server's share is found anew from the numbers of GPUs that are kept, so that nothing of the rows left out is
 * known. */
TEST(pcie_numbers_of_gpus_left_out_are_predicted)
{
    SCOPED(profile_fixture) fixture;
    struct errors errors = {0};
    if (!read_shared(&fixture, "l40s", "gpu_profiles/aiconfigurator/l40s__nccl_2.27.3.csv")) return;
    const struct profile *profile = &fixture.files[0];
    for (int i = 0; i < COUNTS; i++) {
        struct gpu_spec gpu = fixture.gpu;
        gpu.bridge_share = bridge_share_of(profile, &gpu, counts[i == 0], counts[i == COUNTS - 1 ? 1 : 2]);
        for (size_t j = 0; j < profile->n; j++) {
            struct collective_shape *shape = &profile->rows[j].call.shape.collective;
            collective_set_link(shape, &gpu, (int64_t)shape->gpus);
        }
        for (int j = 0; j < PCIE_CLASSES; j++)
            hold_out_count(profile, pcie_classes[j], counts[i], &errors, &fixture.diag);
    }
    check_pcie_bars(&errors);
}

/* The share that the file of the L40S states is that of all its rows. */
TEST(the_stated_share_is_the_measured_one)
{
    SCOPED(profile_fixture) fixture;
    if (!read_shared(&fixture, "l40s", "gpu_profiles/aiconfigurator/l40s__nccl_2.27.3.csv")) return;
    CHECK_NEAR(bridge_share_of(&fixture.files[0], &fixture.gpu, 2.0, 8.0), fixture.gpu.bridge_share, 5e-4);
}
