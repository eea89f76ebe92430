/* Laws of an element-wise pass's time: its limits, its waves of rows, and the cache. */
#include "models/kernel.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {.memory_bytes_per_s = 2e12, .l2_bytes = 40e6, .sm_count = 100, .boost_hz = 1.5e9};

static const struct elementwise_params params = {.start_s = 1e-6,
                                                 .bandwidth_frac = 0.8,
                                                 .softness = 2.0,
                                                 .row_cycles = 600.0,
                                                 .number_cycles = 0.5,
                                                 .rows_per_sm = 2.0,
                                                 .wave_frac = 1.0,
                                                 .cache_frac = 1.2};

static struct kernel_time pass(const struct elementwise_params *law, double tokens, double width)
{
    const struct elementwise_shape shape = {tokens, width, 2.0};
    return elementwise_time(law, &gpu, &shape);
}

/* Many rows and quick thread blocks: the bytes over the bandwidth. */
TEST(large_passes_are_bound_by_memory)
{
    struct elementwise_params law = params;
    law.number_cycles = 1e-3;
    const struct kernel_time time = pass(&law, 1e6, 8192);
    CHECK_NEAR(time.bytes, 1e6 * 8192 * 2.0, 1.0);
    CHECK_NEAR(time.memory_s, time.bytes / (0.8 * 2e12), 1e-9);
    CHECK_NEAR(time.seconds / time.memory_s, 1.0, 0.2);
    CHECK_EQ_INT(kernel_time_bound(&time), BOUND_MEMORY);
}

/* Up to a full wave of rows, a pass takes what one thread block needs for its row. */
TEST(a_row_takes_its_walk)
{
    const double row_s = (600.0 + 8192.0 * 0.5) / 1.5e9;
    CHECK_NEAR(pass(&params, 1, 8192).seconds, 1e-6 + row_s, 1e-9);
    CHECK_NEAR(pass(&params, 1, 8192).overhead_s, 1e-6 + row_s, 1e-15);
    CHECK_NEAR(pass(&params, 200, 8192).overhead_s, 1e-6 + row_s, 1e-15);
    CHECK_NEAR(pass(&params, 201, 8192).overhead_s, 1e-6 + 2.0 * row_s, 1e-15);
    struct elementwise_params smooth = params;
    smooth.wave_frac = 0.0;
    CHECK_NEAR(pass(&smooth, 300, 8192).overhead_s, 1e-6 + 1.5 * row_s, 1e-15);
}

/* Operands of half the cache stay in it, those of one and a half times its size do not; in between time rises
 * steadily. */
TEST(the_cache_holds_small_operands)
{
    const double per_token = 8192 * 2.0;
    CHECK_NEAR(pass(&params, 20e6 / per_token, 8192).memory_s, 20e6 / (1.2 * 2e12), 1e-12);
    CHECK_NEAR(pass(&params, 60e6 / per_token, 8192).memory_s, 60e6 / (0.8 * 2e12), 1e-12);
    double before = 0.0;
    for (double tokens = 1.0; tokens < 8000.0; tokens += 1.0) {
        const double now = pass(&params, tokens, 8192).seconds;
        CHECK(now > before);
        before = now;
    }
    struct gpu_spec unknown = gpu;
    unknown.l2_bytes = (double)NAN;
    const struct elementwise_shape shape = {100, 8192, 2.0};
    CHECK_NEAR(elementwise_time(&params, &unknown, &shape).memory_s, 100 * per_token / (0.8 * 2e12), 1e-15);
}
