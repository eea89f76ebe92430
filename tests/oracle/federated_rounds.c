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

/* One GPU for n clients of 1 s: inputs come at 1 to n s. An eager aggregator folds as they come, and ends at the
 * latest of k + fold (n - k + 1); a lazy one at n + fold n. With `enough` only the first ones are folded. */
TEST(eager_folds_hide_behind_arrivals)
{
    static const struct {
        int n, enough;
        double fold_s, eager_s, lazy_s;
    } cases[] = {{8, 0, 0.5, 8.5, 12},  {1, 0, 0.5, 1.5, 1.5}, {8, 0, 1, 9, 16},  {8, 0, 2, 17, 24},
                 {8, 0, 0, 8, 8},       {8, 5, 0.5, 5.5, 7.5}, {8, 5, 2, 11, 15}, {64, 0, 0.5, 64.5, 96}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int eager = 0; eager <= 1; eager++) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'trace': {'format': 'generate-rounds',"
                " 'clients': %d, 'enough': %d, 'run_time': {'law': 'fixed', 'mean': '1s'}, 'fold': '%gs', 'folding': '%s'"
                "}}}",
                cases[i].n, cases[i].enough, cases[i].fold_s, eager ? "eager" : "lazy");
            double end_s = 0;
            CHECK_EQ_INT(rows->code, 0);
            for (size_t j = 0; j < rows->n_jobs; j++)
                if (rows->jobs[j].gpus == 0) end_s = fmax(end_s, rows->jobs[j].end_s);
            CHECK_NEAR(end_s, eager ? cases[i].eager_s : cases[i].lazy_s, 1e-9);
        }
}

/* A tree whose inputs are all there: eager and lazy ones take the folds of each level, and a hop into it. */
TEST(eager_trees_take_as_long_as_lazy_ones_if_all_is_there)
{
    static const int fan_ins[] = {2, 4, 5, 8, 64, 0};
    for (size_t i = 0; i < sizeof fan_ins / sizeof *fan_ins; i++) {
        double end_s[2];
        for (int eager = 0; eager <= 1; eager++) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'unlimited': true}, 'jobs': {'trace': {'format': 'generate-rounds', 'rounds': 3, 'clients':"
                " 64, 'run_time': {'law': 'fixed', 'mean': '1s'}, 'fan_in': %d, 'fold': '1s', 'hop': '2s', 'folding':"
                " '%s'}}}",
                fan_ins[i], eager ? "eager" : "lazy");
            CHECK_EQ_INT(rows->code, 0);
            end_s[eager] = bed_metric(rows, "job.makespan_s");
        }
        /* 64 = 12 x 5 + 4: the last of five is eager's gain, whose inputs come before those of the others. */
        if (fan_ins[i] == 5)
            CHECK(end_s[1] < end_s[0]);
        else
            CHECK_NEAR(end_s[1], end_s[0], 1e-9);
    }
}

/* Clients with exponential times: an eager aggregator is never later than a lazy one, nor earlier than the fold of the
 * last input, nor than all folds behind the first input. */
TEST(eager_rounds_lie_between_their_bounds)
{
    for (int seed = 1; seed <= 30; seed++) {
        double eager_s = 0, lazy_s = 0, first_s = INFINITY, last_s = 0;
        for (int eager = 0; eager <= 1; eager++) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'seed': %d, 'cluster': {'unlimited': true}, 'jobs': {'trace': {'format': 'generate-rounds', 'clients':"
                " 20, 'run_time': {'mean': '10s'}, 'fold': '1s', 'folding': '%s'}}}",
                seed, eager ? "eager" : "lazy");
            CHECK_EQ_INT(rows->code, 0);
            for (size_t i = 0; i < rows->n_jobs; i++) {
                double *end_s = eager ? &eager_s : &lazy_s;
                if (rows->jobs[i].gpus == 0) *end_s = fmax(*end_s, rows->jobs[i].end_s);
                if (rows->jobs[i].gpus > 0) first_s = fmin(first_s, rows->jobs[i].end_s);
                if (rows->jobs[i].gpus > 0) last_s = fmax(last_s, rows->jobs[i].end_s);
            }
        }
        CHECK_NEAR(lazy_s, last_s + 20, 1e-6);
        CHECK(eager_s <= lazy_s + 1e-6);
        CHECK(eager_s >= fmax(last_s + 1, first_s + 20) - 1e-6);
    }
}
