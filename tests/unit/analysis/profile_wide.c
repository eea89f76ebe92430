/* Reading layers of experts behind DeepEP's dispatch. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

static const char named[] = "h100_sxm__wideep_generation_moe_perf.csv";

#define HEADER "distribution,num_tokens,moe_ep_size,latency\n"

TEST(masked_experts_are_those_of_one_of_many_gpus)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, named,
                                      HEADER "uniform,1024,32,0.1534\n"
                                             "power_law_0.8,16384,256,0.199\n"
                                             "eplb,16384,256,0.2\n"),
                 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->format, "aiconfigurator-masked-experts");
    MUST(profile->n == 2 && profile->n_dropped == 1);
    CHECK_EQ_STR(profile->dropped[0].reason, "choice of experts not known");
    const struct moe_shape *even = &profile->rows[0].call.shape.moe, *skewed = &profile->rows[1].call.shape.moe;
    CHECK(even->tokens == 1024.0 && even->held == 8.0 && even->experts == 256.0 && even->inner == 2048.0);
    CHECK(even->in_turn && !even->dealt && even->skew == 0.0 && even->dispatched);
    CHECK(skewed->held == 1.0 && skewed->skew == 0.8 && skewed->dealt && !skewed->in_turn);
    CHECK_EQ_STR(profile->groups[profile->rows[1].group], "256 GPUs");
    CHECK_NEAR(profile->rows[1].measured_s, 199e-6, 1e-12);
}

/* The table of prompts has the same columns. Rows within twice the fastest measure the host; 2048 uniform tokens are
 * 64 rows of an expert, half a tile. */
TEST(contiguous_experts_fill_tiles_and_outlast_the_host)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "h100_sxm__wideep_context_moe_perf.csv",
                                      HEADER "uniform,1024,32,0.389\n"
                                             "uniform,4096,32,0.403\n"
                                             "uniform,2048,4,0.8626\n"
                                             "uniform,4096,4,1.56\n"
                                             "power_law_0.6,8192,32,0.805\n"
                                             "power_law_0.6,16384,32,0.807\n"
                                             "power_law_0.6,64,4,1.344\n"),
                 0);
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->format, "aiconfigurator-contiguous-experts");
    MUST(profile->n == 3 && profile->n_dropped == 2);
    CHECK_EQ_STR(profile->dropped[0].reason, "rows of an expert fill no whole tiles");
    CHECK(profile->dropped[0].rows == 2 && profile->dropped[1].rows == 2);
    const struct moe_shape *even = &profile->rows[0].call.shape.moe;
    CHECK(even->tokens == 4096.0 && even->held == 64.0 && even->in_turn && !even->dispatched);
}

/* The name tells the tables apart. */
TEST(wide_experts_of_another_table_are_not_read)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    CHECK(profile_fixture_text(&fixture, "h100_sxm__wideep_moe_perf.csv", HEADER "uniform,1024,32,0.389\n") != 0);
}

/* Of 256 experts, 512 GPUs cannot hold whole ones. */
TEST(impossible_numbers_of_gpus_are_left_out)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, named, HEADER "uniform,1024,512,0.03\nuniform,1024,32,0.1534\n"), 0);
    MUST(fixture.files[0].n == 1 && fixture.files[0].n_dropped == 1);
}
