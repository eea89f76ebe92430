/* A gain of time counts only where no larger share of the requests is rejected. */
#include "tests/support/compare_fixture.h"
#include "tests/support/harness.h"

enum { SEEDS = 6, ARRIVED = 1000, ALLOWED = ARRIVED / 200 };

/* Two groups of seeds, of which the second is faster by 1 s, or slower; each run rejects so many of ARRIVED. */
static enum compare_verdict verdict_of(double changed_s, int rejected, int rejected_changed)
{
    const char *path = compare_path();
    struct made_run runs[2 * SEEDS];
    SCOPED(comparison) comparison = {0};
    struct diag diag = {0};
    for (int i = 0; i < 2 * SEEDS; i++) {
        const bool is_changed = i % 2 == 1;
        runs[i] = (struct made_run){.seed = i / 2, .routing = is_changed ? "jsq" : "random", .arrived = ARRIVED,
                                    .metric = 10 + 0.01 * (i / 2 % 3) + (is_changed ? changed_s - 0.002 * (i / 2) : 0),
                                    .rejected = is_changed ? rejected_changed : rejected};
    }
    if (!compare_make(path, runs, 2 * SEEDS)) return COMPARE_UNCLEAR;
    CHECK_EQ_INT(compare_groups(path, "routing=random", path, "routing=jsq", &compare_defaults, &comparison, &diag), 0);
    CHECK_NEAR(comparison.rejected_frac[0], (double)rejected / ARRIVED, 1e-12);
    CHECK_NEAR(comparison.rejected_frac[1], (double)rejected_changed / ARRIVED, 1e-12);
    const struct compare_row *row = compare_find(&comparison, "request.ttft_s.mean", NULL);
    if (!CHECK(row != NULL)) return COMPARE_UNCLEAR;
    CHECK_EQ_INT(row->note != NULL, row->verdict == COMPARE_DIFFERS);
    return row->verdict;
}

/* Up to half a per cent more may be rejected, and any number fewer. A loss of time is one whatever is rejected. */
TEST(a_gain_counts_unless_half_a_per_cent_more_is_rejected)
{
    static const int cases[][2] = {{0, 0},   {0, ALLOWED},      {0, ALLOWED + 1}, {0, ARRIVED}, {ALLOWED + 1, 0},
                                   {30, 30}, {30, ALLOWED + 28}, {30, 32 + ALLOWED}, {ARRIVED, 0}, {ARRIVED, ARRIVED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool rejects_more = cases[i][1] - cases[i][0] > ALLOWED;
        CHECK_EQ_INT(verdict_of(-1, cases[i][0], cases[i][1]), rejects_more ? COMPARE_DIFFERS : COMPARE_BETTER);
        if (i < 4) CHECK_EQ_INT(verdict_of(1, cases[i][0], cases[i][1]), COMPARE_WORSE);
    }
}
