/* Laws of a matrix product's time: its limits, what it never falls below, and in which direction it may go. */
#include "models/kernel.h"
#include "models/operators/dense.h"
#include "tests/support/harness.h"

static const struct gpu_spec gpu = {
    .peak_flop_per_s = {[FORMAT_FP16] = 312e12, [FORMAT_FP8] = 624e12}, .memory_bytes_per_s = 2e12, .sm_count = 108};

static const struct gemm_params params = {.start_s = 4e-6,
                                          .flop_frac = 0.8,
                                          .bandwidth_frac = 0.85,
                                          .softness = 2.5,
                                          .prologue_k = 70.0,
                                          .tile_loss = 7.0,
                                          .wave_frac = 0.33,
                                          .split_cost = 2.5};

static struct gemm_shape fp16_shape(double m, double n, double k)
{
    return (struct gemm_shape){m, n, k, FORMAT_FP16, FORMAT_FP16};
}

static double seconds(const struct gemm_params *law, double m, double n, double k)
{
    const struct gemm_shape shape = fp16_shape(m, n, k);
    return gemm_time(law, &gpu, &shape).seconds;
}

/* A product of one row with a large matrix takes the time of reading the matrix. */
TEST(few_rows_are_bound_by_memory)
{
    struct gemm_params law = params;
    law.softness = 20.0;
    const struct gemm_shape shape = fp16_shape(1, 65536, 65536);
    const struct kernel_time time = gemm_time(&law, &gpu, &shape);
    const double read_s = 2.0 * 65536.0 * 65536.0 / (0.85 * 2e12);
    CHECK_NEAR(time.seconds / (params.start_s + read_s), 1.0, 1e-3);
    CHECK_NEAR(time.memory_s / read_s, 1.0, 1e-4);
    CHECK_EQ_INT(kernel_time_bound(&time), BOUND_MEMORY);
}

/* Where tiles and waves come out even, computing takes the operations over the rate of the best tile. */
TEST(large_products_are_bound_by_computing)
{
    const double m = 256.0 * 108.0, n = 128.0 * 108.0, k = 1e6;
    const struct gemm_shape shape = fp16_shape(m, n, k);
    const struct kernel_time time = gemm_time(&params, &gpu, &shape);
    const double loss = 1.0 / 0.8 + 7.0 * (256.0 + 128.0) / (256.0 * 128.0);
    const double compute_s = 2.0 * m * n * (k + 70.0) * loss / 312e12;
    CHECK_NEAR(time.compute_s / compute_s, 1.0, 1e-9);
    CHECK_NEAR(time.seconds / compute_s, 1.0, 0.01);
    CHECK_EQ_INT(kernel_time_bound(&time), BOUND_COMPUTE);
    CHECK_NEAR(time.flop, 2.0 * m * n * k, 1.0);
}

/* Nothing is faster than its start and the slower of reading and of computing at the asymptotic rate, or slower than
 * the two after one another in the smallest tile without a split. */
TEST(time_lies_between_its_limits)
{
    struct rng rng = test_rng(1, "gemm", 0);
    for (int i = 0; i < 2000; i++) {
        const double m = 1.0 + (double)rng_below(&rng, 9000), n = 32.0 + (double)rng_below(&rng, 30000);
        const double k = 32.0 + (double)rng_below(&rng, 30000);
        const struct gemm_shape shape = fp16_shape(m, n, k);
        const struct kernel_time time = gemm_time(&params, &gpu, &shape);
        const double ideal_s = time.flop / (0.8 * 312e12);
        CHECK(time.seconds >= params.start_s + fmax(ideal_s, time.memory_s));
        const double tiles = ceil(m / 64.0) * ceil(n / 64.0), loss = 1.0 / 0.8 + 7.0 * 128.0 / 4096.0;
        const double waves = ceil(tiles / 108.0);
        const double tile_s = waves * (k + 70.0) * 2.0 * 4096.0 * loss * 108.0 / 312e12;
        CHECK(time.seconds <= params.start_s + tile_s + time.memory_s);
    }
}

/* Within a tile's rows more rows cost more bytes only; a longer inner dimension or more columns never cost less. */
TEST(larger_products_take_no_less)
{
    static const double rows[] = {1, 7, 16, 33, 64};
    for (size_t i = 0; i + 1 < sizeof rows / sizeof *rows; i++)
        CHECK(seconds(&params, rows[i], 4096, 4096) < seconds(&params, rows[i + 1], 4096, 4096));
    double before = 0.0;
    for (double k = 64.0; k <= 65536.0; k *= 2.0) {
        const double now = seconds(&params, 500, 3000, k);
        CHECK(now > before);
        before = now;
    }
    before = 0.0;
    for (double n = 64.0; n <= 65536.0; n += 64.0) {
        const double now = seconds(&params, 500, n, 3000);
        CHECK(now >= before);
        before = now;
    }
}

/* A wave that is not full costs as much as a full one when waves quantise fully, and its share when they do not. */
TEST(waves_quantise_by_wave_frac)
{
    struct gemm_params law = params;
    law.start_s = 0.0;
    law.tile_loss = 1e-9; /* so that the largest tile has no advantage */
    law.split_cost = 1e9;
    law.bandwidth_frac = 1e6;
    const double k = 1e6, one_wave = 64.0 * 108.0;
    law.wave_frac = 1.0;
    CHECK_NEAR(seconds(&law, 64, one_wave + 64.0, k) / seconds(&law, 64, 2.0 * one_wave, k), 1.0, 1e-3);
    law.wave_frac = 0.0;
    CHECK_NEAR(seconds(&law, 64, one_wave * 1.5, k) / seconds(&law, 64, one_wave, k), 1.5, 1e-3);
}

/* A thin product with a long inner dimension is split where splitting costs little. */
TEST(splits_pay_where_they_are_cheap)
{
    struct gemm_params law = params;
    law.split_cost = 0.1;
    const double cheap_s = seconds(&law, 16, 256, 65536);
    law.split_cost = 1e9;
    const double dear_s = seconds(&law, 16, 256, 65536);
    CHECK(cheap_s < 0.4 * dear_s);
    CHECK(seconds(&law, 8192, 8192, 8192) == seconds(&params, 8192, 8192, 8192));
}

TEST(narrow_weights_are_read_faster)
{
    struct gemm_shape shape = fp16_shape(1, 16384, 16384);
    const struct kernel_time wide = gemm_time(&params, &gpu, &shape);
    shape.weights = FORMAT_INT4;
    const struct kernel_time narrow = gemm_time(&params, &gpu, &shape);
    CHECK_NEAR(narrow.bytes / wide.bytes, 0.25, 1e-3);
    CHECK_NEAR(narrow.memory_s / wide.memory_s, 0.25, 1e-3);
    CHECK(narrow.seconds < wide.seconds);
    CHECK(narrow.flop == wide.flop);
}

/* Narrowing A to 8 bits first moves three bytes for each of its numbers. */
TEST(narrowing_activations_takes_its_time)
{
    struct gemm_params law = params;
    const struct gemm_shape shape = {4096, 4096, 8192, FORMAT_FP8, FORMAT_FP8};
    const struct kernel_time before = gemm_time(&law, &gpu, &shape);
    law.quantise_frac = 0.1;
    const struct kernel_time after = gemm_time(&law, &gpu, &shape);
    CHECK_NEAR(after.seconds - before.seconds, 3.0 * 4096.0 * 8192.0 / (0.1 * 2e12), 1e-12);
    CHECK_NEAR(before.bytes, 4096.0 * 8192.0 * 2.0 + 4096.0 * 4096.0 * 2.0, 1.0); /* C is 16 bits wide */
}

/* --- Tiles by rows --- */

static const struct gpu_spec sm90 = {.peak_flop_per_s = {[FORMAT_FP16] = 1000e12, [FORMAT_FP8] = 2000e12},
                                     .memory_bytes_per_s = 3e12,
                                     .l2_bytes = 50e6,
                                     .sm_count = 100};
static const struct gpu_spec sm100 = {
    .peak_flop_per_s = {[FORMAT_FP16] = 1000e12, [FORMAT_FP8] = 2000e12, [FORMAT_NVFP4] = 4000e12},
    .memory_bytes_per_s = 3e12,
    .l2_bytes = 50e6,
    .sm_count = 100};

/* Computing at the peak in whole waves, and nothing else. */
static const struct gemm_params by_rows = {.flop_frac = 1.0,
                                           .bandwidth_frac = 1.0,
                                           .softness = 20.0,
                                           .wave_frac = 1.0,
                                           .tiles_by_rows = 1.0};

static struct gemm_shape fp8_shape(double m, double n, double k)
{
    return (struct gemm_shape){m, n, k, FORMAT_FP8, FORMAT_FP8};
}

/* On both sides of each border computing takes the waves of the tile that vLLM has there, on the SMs that share it. */
TEST(tiles_follow_from_the_rows)
{
    static const struct {
        const struct gpu_spec *gpu;
        double m, n, k, a, b, sms;
    } tiles[] = {
        {&sm100, 1, 4096, 8192, 32, 128, 2},      {&sm100, 16, 4096, 8192, 32, 128, 2},
        {&sm100, 17, 4096, 2048, 64, 128, 2},     {&sm100, 63, 4096, 2048, 64, 128, 2},
        {&sm100, 64, 4096, 4095, 64, 64, 1},      {&sm100, 64, 4096, 4096, 64, 128, 2},
        {&sm100, 65, 4096, 2048, 128, 128, 2},    {&sm100, 256, 4096, 2048, 128, 128, 2},
        {&sm100, 257, 4096, 2048, 256, 128, 2},   {&sm100, 8192, 4096, 8192, 256, 128, 2},
        {&sm90, 1, 1280, 8192, 16, 64, 1},        {&sm90, 16, 1281, 8192, 16, 64, 1},
        {&sm90, 17, 1280, 8192, 16, 64, 1},       {&sm90, 17, 1281, 8192, 64, 64, 1},
        {&sm90, 64, 8192, 8192, 64, 64, 1},       {&sm90, 65, 8192, 8192, 64, 128, 1},
        {&sm90, 128, 8192, 8192, 64, 128, 1},     {&sm90, 129, 8192, 8192, 128, 128, 1},
        {&sm90, 8191, 8192, 6144, 128, 128, 1},   {&sm90, 8192, 8192, 6143, 128, 128, 1},
        {&sm90, 8192, 8192, 6144, 256, 128, 1},
    };
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        const struct gemm_shape shape = fp8_shape(tiles[i].m, tiles[i].n, tiles[i].k);
        const struct kernel_time time = gemm_time(&by_rows, tiles[i].gpu, &shape);
        const double n_tiles = ceil(shape.m / tiles[i].a) * ceil(shape.n / tiles[i].b);
        const double waves = ceil(n_tiles * tiles[i].sms / 100.0);
        const double tile_s = 2.0 * tiles[i].a * tiles[i].b * shape.k / (tiles[i].sms * 2000e12 / 100.0);
        CHECK_NEAR(time.compute_s / (waves * tile_s), 1.0, 1e-12);
        CHECK(time.seconds >= time.compute_s);
    }
}

/* Loads of a tile take their time at each step of k, however small the tile. */
TEST(a_tile_takes_its_steps)
{
    struct gemm_params law = by_rows;
    const struct gemm_shape small = fp8_shape(8, 256, 16384), large = fp8_shape(8192, 8192, 4096);
    const double large_s = gemm_time(&law, &sm90, &large).compute_s;
    law.step_s = 1e-9;
    CHECK_NEAR(gemm_time(&law, &sm90, &small).compute_s, 16384.0 * 1e-9, 1e-15);
    CHECK(gemm_time(&law, &sm90, &large).compute_s == large_s);
}

/* The best tile takes its steps in each wave, too. Such a kernel has no splits, cheap as they are: its time is the
 * smallest over tiles, here written out. */
TEST(the_best_tile_takes_its_steps)
{
    static const double tiles[][2] = {{64, 64}, {128, 128}, {256, 128}};
    struct gemm_params law = by_rows;
    struct rng rng = test_rng(4, "gemm", 0);
    law.tiles_by_rows = 0.0;
    law.split_cost = 0.1;
    law.softness = 2.0;
    law.step_s = 2e-9;
    const struct gemm_shape thin = fp8_shape(16, 256, 65536);
    CHECK_NEAR(gemm_time(&law, &sm90, &thin).compute_s, 65536.0 * 2e-9, 1e-12);
    for (int i = 0; i < 500; i++) {
        const struct gemm_shape shape = fp8_shape(1.0 + (double)rng_below(&rng, 9000),
                                                  64.0 + (double)rng_below(&rng, 9000),
                                                  64.0 + (double)rng_below(&rng, 9000));
        const double memory_s = (shape.m * shape.k + shape.n * shape.k + 2.0 * shape.m * shape.n) / 3e12;
        double best_s = (double)INFINITY;
        for (size_t t = 0; t < 3; t++) {
            const double waves = ceil(ceil(shape.m / tiles[t][0]) * ceil(shape.n / tiles[t][1]) / 100.0);
            const double tile_s = 2.0 * tiles[t][0] * tiles[t][1] * shape.k / (2000e12 / 100.0);
            best_s = fmin(best_s, hypot(waves * fmax(tile_s, shape.k * 2e-9), memory_s));
        }
        CHECK_NEAR(gemm_time(&law, &sm90, &shape).seconds / best_s, 1.0, 1e-9);
    }
}

/* Steps wait for whole waves, also where computing counts but a part of the last one. 64 rows, first with the best
 * tile: 110 tiles of 256 x 128 are 1.1 waves, which take the steps of two. 220 of 64 x 64 are the fastest to compute.
 * Then with tiles by rows: 110 of 64 x 64. */
TEST(steps_take_whole_waves)
{
    static const struct {
        double columns, waves, whole_waves; /* of 64 x 64 tiles */
    } cases[] = {{110.0 * 128.0, 2.2, 3.0}, {110.0 * 64.0, 1.1, 2.0}};
    const double k = 8192.0, wave_frac = 0.3;
    for (int by = 0; by < 2; by++) {
        struct gemm_params law = by_rows;
        law.tiles_by_rows = by;
        law.wave_frac = wave_frac;
        law.step_s = 1e-15; /* no splits, hardly any time */
        const struct gemm_shape shape = fp8_shape(64, cases[by].columns, k);
        const double tile_s = 2.0 * 64.0 * 64.0 * k / (2000e12 / 100.0);
        const double wave = wave_frac * cases[by].whole_waves + (1.0 - wave_frac) * cases[by].waves;
        CHECK_NEAR(gemm_time(&law, &sm90, &shape).compute_s / (wave * tile_s), 1.0, 1e-12);
        law.step_s = 1e-6;
        CHECK_NEAR(gemm_time(&law, &sm90, &shape).compute_s / (2.0 * k * law.step_s), 1.0, 1e-12);
    }
}

/* What the cache does not hold of the operand along the shorter side is read again by each wave that walks along it:
 * here 32 x 64 tiles on 100 SMs, 21 waves. Where a line fills the SMs, by each line. */
TEST(operands_beyond_the_cache_are_read_again)
{
    const double k = 16384.0;
    const struct gemm_shape square = fp8_shape(8192, 8192, 4096), deep = fp8_shape(4096, 8192, k);
    CHECK(gemm_time(&by_rows, &sm90, &square).memory_s * 3e12 == gemm_time(&by_rows, &sm90, &square).bytes);
    const struct kernel_time time = gemm_time(&by_rows, &sm90, &deep);
    CHECK_NEAR(time.memory_s * 3e12, time.bytes + 20.0 * (4096.0 * k - 50e6), 1.0);
    const struct gemm_shape wide = fp8_shape(32768, 65536, 8192);
    const struct kernel_time lines = gemm_time(&by_rows, &sm90, &wide);
    CHECK_NEAR(lines.memory_s * 3e12, lines.bytes + 511.0 * (32768.0 * 8192.0 - 50e6), 10.0);
}

/* One row takes its extra time, two do not; with the best tile, too. */
TEST(one_row_may_take_longer)
{
    for (int by = 0; by < 2; by++) {
        struct gemm_params law = by_rows;
        const struct gemm_shape one = fp8_shape(1, 4096, 4096), two = fp8_shape(2, 4096, 4096);
        law.tiles_by_rows = by;
        law.split_cost = 2.0;
        const double one_s = gemm_time(&law, &sm100, &one).seconds, two_s = gemm_time(&law, &sm100, &two).seconds;
        law.one_row_s = 14e-6;
        CHECK_NEAR(gemm_time(&law, &sm100, &one).seconds, one_s + 14e-6, 1e-15);
        CHECK(gemm_time(&law, &sm100, &two).seconds == two_s);
    }
}

/* Beside tiles by rows, a row is narrowed in no less than its time, and not in the sum of both. */
TEST(rows_are_narrowed_in_no_less_than_their_time)
{
    struct gemm_params law = by_rows;
    law.quantise_frac = 0.1;
    law.quantise_row_s = 1e-6;
    const struct gemm_shape narrow = fp8_shape(8192, 256, 128), wide = fp8_shape(8192, 256, 65536);
    CHECK_NEAR(gemm_narrowing_s(&law, &sm90, &narrow) / (8192.0 / 100.0 * 1e-6), 1.0, 1e-3);
    CHECK_NEAR(gemm_narrowing_s(&law, &sm90, &wide) / (3.0 * 8192.0 * 65536.0 / (0.1 * 3e12)), 1.0, 1e-3);
    CHECK(gemm_narrowing_s(&law, &sm90, &wide) >= 3.0 * 8192.0 * 65536.0 / (0.1 * 3e12));
    law.tiles_by_rows = 0.0;
    CHECK_NEAR(gemm_narrowing_s(&law, &sm100, &narrow), 3.0 * 8192.0 * 128.0 / (0.1 * 3e12) + 8192.0 / 100.0 * 1e-6,
               1e-15);
}
