/* Costs and intervals of checkpoints: the worked cases, limits, and the three designs. */
#include "models/checkpoint.h"
#include "tests/support/harness.h"

static const struct {
    struct checkpoint_cost cost;
    double young_s, daly_s;
} cases[] = {
    {{60, 0, 300, 10800}, 1138.4, 1098.8},
    {{5, 0, 120, 10800}, 328.6, 325.3},
    {{60, 0, 300, 86400}, 3219.9, 3180.1},
    {{300, 0, 600, 10800}, 2545.6, 2349.5}};
enum { N_CASES = sizeof cases / sizeof *cases };

TEST(the_worked_cases)
{
    for (int i = 0; i < N_CASES; i++) {
        const struct checkpoint_cost *cost = &cases[i].cost;
        CHECK_NEAR(checkpoint_young_s(cost), cases[i].young_s, 0.05);
        CHECK_NEAR(checkpoint_daly_s(cost), cases[i].daly_s, 0.05);
    }
}

TEST(limits)
{
    const struct checkpoint_cost never = {60, 5, 300, (double)INFINITY}, slow = {50, 0, 0, 20};
    CHECK(isinf(checkpoint_young_s(&never)) && isinf(checkpoint_daly_s(&never)));
    CHECK_NEAR(checkpoint_daly_s(&slow), 20, 0.0);
    const struct checkpoint_cost free = {0, 5, 300, (double)INFINITY};
    CHECK(isinf(checkpoint_young_s(&free)) && isinf(checkpoint_daly_s(&free)));
}

static const struct checkpoint_save save = {.bytes = 14e9 * 7, .write_bytes_per_s = 7e9, .copy_bytes_per_s = 49e9,
                                            .buffer_bytes = 98e9, .overlap_s = 3};

static struct checkpoint_time time_of(enum checkpoint_design design, double overlap_s, double buffer_bytes,
                                      double interval_s)
{
    struct checkpoint_save changed = save;
    changed.design = design;
    changed.overlap_s = overlap_s;
    changed.buffer_bytes = buffer_bytes;
    return checkpoint_save_time(&changed, interval_s);
}

static void check_time(struct checkpoint_time time, double stall_s, double flush_s)
{
    CHECK_NEAR(time.stall_s, stall_s, 1e-12);
    CHECK_NEAR(time.flush_s, flush_s, 1e-12);
}

/* 98 GB: 14 s to storage, 2 s to the hosts. */
TEST(the_three_designs)
{
    check_time(time_of(CHECKPOINT_SYNCHRONOUS, 3, 98e9, 100), 14, 0);
    check_time(time_of(CHECKPOINT_FASTPERSIST, 3, 98e9, 100), 11, 3);
    check_time(time_of(CHECKPOINT_FASTPERSIST, 20, 98e9, 100), 0, 14);
    check_time(time_of(CHECKPOINT_DATASTATES, 3, 98e9, 100), 0, 14);
    check_time(time_of(CHECKPOINT_DATASTATES, 0.5, 98e9, 100), 1.5, 12.5);
}

/* A buffer for half of it: the copy has to wait until the other half has left. Saves every 5 s: storage needs 14 s
 * each. */
TEST(a_full_buffer_stalls)
{
    check_time(time_of(CHECKPOINT_DATASTATES, 3, 49e9, 100), 4, 10);
    check_time(time_of(CHECKPOINT_DATASTATES, 3, 98e9, 5), 9, 5);
    check_time(time_of(CHECKPOINT_DATASTATES, 3, 49e9, 5), 9, 5);
    check_time(time_of(CHECKPOINT_DATASTATES, 3, 0, 100), 11, 3);
}
