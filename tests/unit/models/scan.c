/* The time of kernels that walk over a context, against the formulas of models/operators/scan.h. */
#include "models/kernel.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP32] = 50e12, [FORMAT_FP16] = 800e12, [FORMAT_FP8] = 1600e12},
    .memory_bytes_per_s = 3e12, .sm_count = 132, .boost_hz = 1.8e9,
};

static double number(struct rng *rng, double most)
{
    return most * rng_uniform(rng);
}

static struct scan_shape random_shape(struct rng *rng)
{
    static const enum number_format formats[] = {FORMAT_FP32, FORMAT_BF16, FORMAT_FP8};
    return (struct scan_shape){
        .queries = number(rng, 1e4), .pairs = number(rng, 1e8), .keys = number(rng, 1e6), .sequences = number(rng, 200),
        .query_flop = number(rng, 1e6), .pair_flop = number(rng, 1e5), .query_bytes = number(rng, 1e5),
        .pair_bytes = number(rng, 1e3), .key_bytes = number(rng, 1e3), .sequence_bytes = number(rng, 1e7),
        .compute = formats[rng_below(rng, 3)],
    };
}

/* Each class with the parameters that hold where nothing was measured: the larger of computing and reading. */
TEST(scans_take_the_larger_of_computing_and_reading)
{
    static const enum kernel_class classes[] = {KERNEL_SPARSE_PREFILL, KERNEL_SPARSE_DECODE, KERNEL_LINEAR_PREFILL,
                                                KERNEL_LINEAR_DECODE, KERNEL_INDEX};
    static const double peaks[FORMAT_COUNT] = {[FORMAT_FP32] = 50e12, [FORMAT_BF16] = 800e12, [FORMAT_FP8] = 1600e12};
    struct rng rng = test_rng(1, "scan", 0);
    struct kernel_set set;
    int n_computing = 0;
    kernel_set_init(&set);
    for (int i = 0; i < 2000; i++) {
        const struct scan_shape s = random_shape(&rng);
        const struct kernel_call call = {.class = classes[i % 5], .shape.scan = s};
        const struct scan_params *params = &set.params[call.class].scan;
        const struct kernel_time time = kernel_call_time(&set.params[call.class], &gpu, &call);
        const double flop = s.queries * s.query_flop + s.pairs * s.pair_flop;
        const double bytes = s.queries * s.query_bytes + s.pairs * s.pair_bytes + s.keys * s.key_bytes +
                             s.sequences * s.sequence_bytes;
        const double compute_s = flop / (params->flop_frac * peaks[s.compute]);
        const double memory_s = bytes / (params->bandwidth_frac * 3e12);
        n_computing += compute_s > memory_s;
        CHECK_NEAR(time.flop / flop, 1.0, 1e-12);
        CHECK_NEAR(time.bytes / bytes, 1.0, 1e-12);
        CHECK_NEAR(time.compute_s / compute_s, 1.0, 1e-12);
        CHECK_NEAR(time.memory_s / memory_s, 1.0, 1e-12);
        CHECK_NEAR(time.overhead_s, params->start_s, 0.0);
        CHECK_NEAR(time.seconds / (params->start_s + fmax(compute_s, memory_s)), 1.0, 1e-12);
        CHECK(params->start_s > 0.0 && params->flop_frac > 0.0 && params->flop_frac < 1.0);
    }
    CHECK(n_computing > 200 && n_computing < 1800);
}
