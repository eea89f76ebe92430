/* Federated rounds against closed forms: the depth and time of a tree of aggregators, and the mean time of the k-th of
 * n exponential clients, H_n - H_(n-k). */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* A round of 64 clients that take no time: levels of folds at 1 s each, and a hop into each level. */
TEST(a_tree_takes_its_folds_and_its_hops)
{
    static const struct {
        int fan_in, levels;
        double folds_s;
    } trees[] = {{2, 6, 12}, {4, 3, 12}, {8, 2, 16}, {64, 1, 64}, {0, 1, 64}, {5, 3, 5 + 5 + 3}};
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
        for (int hop_s = 0; hop_s <= 5; hop_s += 5) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'unlimited': true}, 'jobs': {'trace': {'format': 'generate-rounds', 'clients': 64,"
                " 'run_time': {'law': 'fixed', 'mean': '0s'}, 'fan_in': %d, 'fold': '1s', 'hop': '%ds'}}}",
                trees[i].fan_in, hop_s);
            CHECK_EQ_INT(rows->code, 0);
            CHECK_NEAR(bed_metric(rows, "job.makespan_s"), trees[i].folds_s + hop_s * trees[i].levels, 1e-9);
        }
}

/* Rounds follow each other: the second one's clients wait for the first one's root and a hop. */
TEST(rounds_add_up)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'unlimited': true}, 'jobs': {'trace': {'format': 'generate-rounds', 'rounds': 5, 'clients': 3,"
        " 'run_time': {'law': 'fixed', 'mean': '10s'}, 'fold': '2s', 'hop': '1s'}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 5 * (3 + 1));
    CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 5 * (10 + 1 + 6) + 4, 1e-9);
}

/* Waiting for 8 of 10 clients saves half of the time of the slowest. Standard errors are about 0.03, 0.02, 0.01 s. */
TEST(rounds_take_the_time_of_the_last_client_that_counts)
{
    enum { ROUNDS = 2000 };
    static const double mean_s[] = {2.92897, 1.92897, 1.42897};
    for (int spared = 0; spared < 3; spared++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'unlimited': true}, 'jobs': {'trace': {'format': 'generate-rounds', 'rounds': %d, 'clients':"
            " 10, 'enough': %d, 'run_time': {'mean': '1s'}}}}",
            ROUNDS, 10 - spared);
        CHECK_EQ_INT(rows->code, 0);
        double end_s = 0;
        for (size_t i = 0; i < rows->n_jobs; i++)
            if (rows->jobs[i].gpus == 0) end_s = fmax(end_s, rows->jobs[i].end_s);
        CHECK_NEAR(end_s / ROUNDS, mean_s[spared], 0.09);
    }
}
