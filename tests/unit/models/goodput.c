/* Goodput against closed forms of its parts, and the best batch size against a search over all whole batch sizes. */
#include "models/goodput.h"
#include "tests/support/harness.h"

#include <math.h>

static const struct step_profile linear = {.alpha_c = 0.1, .beta_c = 0.01, .gamma = 1};

TEST(one_gpu_has_no_exchange)
{
    const struct step_profile profile = {0.1, 0.01, 5, 5, 9, 9, 2};
    CHECK_NEAR(goodput_step_s(&profile, 1, 1, 20, 0), 0.3, 1e-12);
    CHECK_NEAR(goodput_step_s(&profile, 1, 1, 20, 3), 1.2, 1e-12);
}

/* gamma 1 adds the exchange, a large gamma hides the shorter of the two. */
TEST(exchange_overlaps_by_gamma)
{
    struct step_profile profile = {0.1, 0.01, 0.2, 0.05, 1.5, 0.25, 1};
    CHECK_NEAR(goodput_step_s(&profile, 4, 1, 10, 0), 0.2 + 0.2 + 2 * 0.05, 1e-12);
    CHECK_NEAR(goodput_step_s(&profile, 4, 2, 10, 0), 0.2 + 1.5 + 2 * 0.25, 1e-12);
    CHECK_NEAR(goodput_step_s(&profile, 4, 2, 10, 2), 0.2 + 1.5 + 2 * 0.25 + 2 * 0.2, 1e-12);
    profile.gamma = 2;
    CHECK_NEAR(goodput_step_s(&profile, 4, 2, 10, 0), hypot(0.2, 2.0), 1e-12);
    profile.gamma = 10;
    const double step_s = goodput_step_s(&profile, 4, 2, 10, 0);
    CHECK(step_s >= 2.0 && step_s < 2.0001);
}

/* Pollux, equation 7: var and sqr of the gradient at batch size M_0, with noise = M_0 var / sqr. */
TEST(efficiency_is_that_of_the_gradient)
{
    const struct goodput_batches batches = {.first = 128, .most = 4096, .noise = 128 * 9.0 / 2};
    for (double batch = 128; batch <= 4096; batch *= 2) {
        const double scale = batch / 128, var = 9, sqr = 2;
        CHECK_NEAR(goodput_efficiency(&batches, batch), (var + sqr) / (var / scale + sqr) / scale, 1e-12);
    }
    const struct goodput_batches loud = {.first = 128, .most = 4096, .noise = (double)INFINITY};
    CHECK(goodput_efficiency(&loud, 4096) == 1);
}

/* Samples per second: a batch of 64 on 4 GPUs, 8 at a time, is computed twice before an exchange. */
TEST(batches_accumulate)
{
    const struct goodput_batches batches = {.first = 64, .most = 64, .least_local = 1, .most_local = 8, .noise = 1};
    CHECK_NEAR(goodput_at(&linear, &batches, 4, 1, 64), 64 / (2 * 0.18), 1e-9);
    CHECK_NEAR(goodput_at(&linear, &batches, 8, 1, 64), 64 / 0.18, 1e-9);
    CHECK(goodput_at(&linear, &batches, 65, 1, 64) == 0);
}

/* Of geometric batch sizes none beats all whole ones, and the best of these is near one of them. */
TEST(best_batch_is_near_the_best_of_all)
{
    const struct step_profile profile = {0.02, 0.0007, 0.03, 0.004, 0.13, 0.002, 2};
    const struct goodput_batches batches = {.first = 128, .most = 4096, .least_local = 32, .most_local = 1024, .noise = 700};
    for (int32_t gpus = 1; gpus <= 16; gpus++) {
        double most = 0, batch;
        for (int m = gpus * 32 > 128 ? gpus * 32 : 128; m <= 4096; m++)
            most = fmax(most, goodput_at(&profile, &batches, gpus, (gpus + 3) / 4, m));
        const double best = goodput_best(&profile, &batches, gpus, (gpus + 3) / 4, &batch);
        CHECK(best <= most * (1 + 1e-12));
        CHECK(best >= 0.98 * most);
        CHECK_NEAR(goodput_at(&profile, &batches, gpus, (gpus + 3) / 4, batch), best, 1e-9);
    }
}
