/* Gradient codes of jobs on nodes that are late in some rounds: a naive master that counts round by round, closed
 * forms of loads and of the slowest of several nodes, and what sequential codes do not bear. Nodes have one GPU;
 * exchanges stay within nodes and take no time. */
#include "models/gradient_code.h"
#include "sim/core/rng.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define JOB(step, duration, gpus)                                                                                      \
    "{'seed': %d, 'cluster': {'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', 'latency': '0s'}}, " \
    "'jobs': {'types': {'default': {'step': {" step ", 'collectives': [{'kind': 'all-reduce', 'group': 'node', "       \
    "'bytes': '1GB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '" duration         \
    "', 'gpus': " gpus "}]}}}"
#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"

static double jct(const struct bed_rows *rows)
{
    return bed_job(rows, 0) != NULL ? bed_job(rows, 0)->end_s : (double)NAN;
}

enum { MOST_NODES = 9, MOST_ROUNDS = 80 };

/* A way to code, and the nodes' lateness in each round. */
struct naive {
    int nodes, stragglers, burst, window, different;
    bool is_sequential;
    bool late[MOST_ROUNDS][MOST_NODES];
};

/* Whether the rounds 0 .. last keep to what the code bears: every window is counted anew, every pair compared. */
static bool bears(const struct naive *naive, int last)
{
    for (int first = 0; first <= last; first++) {
        int different = 0, at_once = 0;
        for (int i = 0; i < naive->nodes; i++) {
            bool any = false;
            at_once += naive->late[first][i];
            for (int a = first; a <= last && a < first + naive->window; a++)
                for (int b = a; b <= last && b < first + naive->window; b++) {
                    if (!naive->late[a][i] || !naive->late[b][i]) continue;
                    any = true;
                    if (naive->is_sequential && b - a >= naive->burst) return false;
                }
            different += any;
        }
        if (naive->is_sequential ? different > naive->different : at_once > naive->stragglers) return false;
    }
    return true;
}

/* Time of one round, whose delays are given: whoever answers in time, and the others if they are too many. */
static double round_s(struct naive *naive, int round, const double *delay_s, double work_s, double patience)
{
    double first_s = (double)INFINITY, last_s = 0;
    for (int i = 0; i < naive->nodes; i++) {
        first_s = fmin(first_s, work_s + delay_s[i]);
        last_s = fmax(last_s, work_s + delay_s[i]);
    }
    bool any = false;
    for (int i = 0; i < naive->nodes; i++) {
        naive->late[round][i] = work_s + delay_s[i] > (1 + patience) * first_s;
        any = any || naive->late[round][i];
    }
    if (bears(naive, round)) return any ? (1 + patience) * first_s : last_s;
    for (int i = 0; i < naive->nodes; i++) naive->late[round][i] = false;
    return last_s;
}

/* The chain of a node: the same draws as in the run, one for each node and round. */
static void draw(struct rng *rng, int nodes, double late, double rounds, double delay_s, bool starts, double *of)
{
    for (int i = 0; i < nodes; i++) {
        const double goes_on = 1 - 1 / rounds, begins = late / (1 - late) / rounds;
        const double p = starts ? late : of[i] > 0 ? goes_on : begins;
        of[i] = rng_uniform(rng) < p ? delay_s : 0;
    }
}

TEST(jobs_take_the_time_of_a_naive_master)
{
    int n_late = 0;
    for (uint64_t index = 0; index < 200; index++) {
        struct rng rng = test_rng(index, "codes of jobs", 0);
        const int scheme = (int)rng_below(&rng, 4), nodes = 2 + (int)rng_below(&rng, MOST_NODES - 1);
        const int steps = 5 + (int)rng_below(&rng, 50), burst = 1 + (int)rng_below(&rng, 3);
        const int window = scheme == 2 ? 1 + burst * (1 + (int)rng_below(&rng, 3)) + (burst == 1)
                                       : burst + 1 + (int)rng_below(&rng, 4);
        const int different = 1 + (int)rng_below(&rng, (uint64_t)nodes),
                  stragglers = scheme == 1 ? 1 + (int)rng_below(&rng, 3) : 0;
        const double late = 0.01 * (double)(1 + rng_below(&rng, 40)), rounds = 1 + 0.5 * (double)rng_below(&rng, 5);
        const double base_s = 0.25 * (double)rng_below(&rng, 3), delay_s = 0.25 * (double)(1 + rng_below(&rng, 20)),
                     patience = 0.5 * (double)rng_below(&rng, 4);
        const char *code = scheme < 2
                               ? test_json("'stragglers': %d", stragglers)
                               : test_json("'code': {'scheme': '%s', 'burst': %d, 'window': %d, 'different': %d}",
                                           scheme == 2 ? "sr-sgc" : "m-sgc", burst, window, different);
        if (late * (rounds + 1) > rounds) continue;
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true),
            JOB("'compute': '2s', %s, 'delays': {'late': %g, 'rounds': %g, 'delay': '%gs', 'base': '%gs', 'patience': %g}",
                "%ds", "%d"),
            (int)index, nodes, code, late, rounds, delay_s, base_s, patience, 2 * steps, nodes);
        struct naive naive = {.nodes = nodes,
                              .stragglers = stragglers < nodes ? stragglers : nodes - 1,
                              .burst = burst,
                              .window = scheme < 2 ? 1 : window,
                              .different = different,
                              .is_sequential = scheme >= 2};
        const double b = burst, w = window, l = different, n = nodes;
        const double load = scheme < 2    ? (naive.stragglers + 1) / n
                            : scheme == 2 ? (ceil(b * l / (w - 1 + b)) + 1) / n
                            : l == n      ? (w - 1 + b) / (n * (w - 1))
                                          : (l + 1) * (w - 1 + b) / (n * (b + (w - 1) * (l + 1)));
        const int more = scheme < 2 ? 0 : scheme == 2 ? burst : window - 2 + burst;
        double delays_s[MOST_NODES], sum_s = 0;
        struct rng delays;
        rng_init(&delays, index, 0, "jobs.delays", 0);
        for (int round = 0; round < steps + more; round++) {
            draw(&delays, nodes, late, rounds, delay_s, round == 0, delays_s);
            sum_s += round_s(&naive, round, delays_s, 2 * n * load + base_s, patience);
            for (int i = 0; i < nodes; i++) n_late += naive.late[round][i];
        }
        CHECK_NEAR(jct(rows), sum_s, 1e-6 * sum_s);
    }
    CHECK(n_late > 500);
}

/* Nodes late with probability p, whatever was before: the slowest of n is late with 1 - (1 - p)^n. The standard
 * deviation of the mean of 20,000 rounds is below 0.0036 delays. */
TEST(without_a_code_a_step_waits_for_the_slowest_node)
{
    for (int nodes = 1; nodes <= 16; nodes *= 2)
        for (int percent = 1; percent <= 21; percent += 10) {
            const double late = 0.01 * percent;
            const struct bed_rows *rows = bed_ok(
                NULL, JOB("'compute': '1s', 'delays': {'late': %.3g, 'rounds': %.12g, 'delay': '4s'}", "20000s", "%d"),
                percent, nodes, late, 1 / (1 - late), nodes);
            CHECK_NEAR(jct(rows) / 20000, 1 + 4 * (1 - pow(1 - late, nodes)), 5 * 4 * 0.0036);
        }
}

/* Each of K steps takes what its load does, and B or W-2+B rounds come after them. */
TEST(codes_cost_their_load_and_their_delay)
{
    for (int steps = 10; steps <= 1000; steps *= 10) {
        const struct bed_rows *sr = bed_ok(NULL,
                                           JOB("'compute': '1s', 'code': {'scheme': 'sr-sgc', 'burst': 2, 'window': 3, "
                                               "'different': 3}",
                                               "%ds", "8"),
                                           1, 8, steps),
                              *m = bed_ok(NULL,
                                          JOB("'compute': '1s', 'code': {'scheme': 'm-sgc', 'burst': 1, 'window': 4, "
                                              "'different': 2}",
                                              "%ds", "8"),
                                          1, 8, steps);
        CHECK_NEAR(jct(sr), (steps + 2) * 3.0, 1e-6); /* s = ceil(6/4) = 2 */
        CHECK_NEAR(jct(m), (steps + 3) * (3.0 * 4 / (1 + 3 * 3)), 1e-6);
    }
}

/* A node of two that a failure makes slow is slow for more rounds than a burst has: the code of 'stragglers' does
 * without it, and M-SGC does not. Two jobs of one GPU show when each node becomes slow. */
TEST(m_sgc_waits_for_a_node_that_stays_slow)
{
    static const char *const codes[] = {"'stragglers': 0", "'stragglers': 1",
                                        "'code': {'scheme': 'm-sgc', 'burst': 1, 'window': 2, 'different': 1}"};
    for (int seed = 1; seed <= 8; seed++)
        for (int i = -1; i < 3; i++) {
            static double slow_s[2];
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{'seed': %d, 'until': '1000s', 'cluster': {'nodes': 2, 'gpus_per_node': 1, 'network': {'bandwidth': "
                "'10GB/s'}}, 'failures': {'causes': {'slow': {'scope': 'node', 'slow': 0.5, 'lifetime': {'mean': '60s'}, "
                "'repair': " CONSTANT(
                    "100000s") "}}}, 'jobs': {'types': {'default': {'step': {'compute': '1s', %s, "
                               "'collectives': [{'kind': 'all-reduce', 'group': 'node', 'bytes': '1GB'}]}}}, 'trace': {'format': "
                               "'inline-jobs', 'jobs': [%s]}}}",
                seed, codes[i < 0 ? 0 : i],
                i < 0 ? "{'duration': '300s', 'gpus': 1}, {'duration': '300s', 'gpus': 1}"
                      : "{'duration': '60s', 'gpus': 2}");
            for (int k = 0; k < 2 && i < 0; k++) slow_s[k] = 600 - bed_job(rows, k)->end_s;
            if (i < 0) continue;
            const double all_s[] = {60, 120, 61 * 4.0 / 3};
            const double since_s = i == 1 ? fmax(slow_s[0], slow_s[1]) : fmin(slow_s[0], slow_s[1]);
            CHECK_NEAR(jct(rows), since_s < all_s[i] ? 2 * all_s[i] - since_s : all_s[i], 1e-5);
        }
}

/* What a first-come warning says of a run; NULL: nothing. */
static const char *first_finding(const struct bed_rows *rows)
{
    return rows->diag.n_items > 0 ? rows->diag.items[0].text : NULL;
}

/* Without a code nobody is left behind, however long the master would wait for the others. */
TEST(patience_without_a_code_is_told)
{
    static const struct {
        const char *code, *patience;
        bool warns;
    } cases[] = {{"", ", 'patience': 2", true},
                 {"", "", false},
                 {"'stragglers': 1, ", ", 'patience': 2", false},
                 {"'code': {'scheme': 'none', 'different': 1}, ", ", 'patience': 2", true},
                 {"'code': {'scheme': 'm-sgc', 'different': 1}, ", ", 'patience': 2", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.quiet = true), JOB("'compute': '1s', %s'delays': {'late': 0.1, 'delay': '1s'%s}", "10s", "2"), 1, 2,
            cases[i].code, cases[i].patience);
        const char *finding = first_finding(rows);
        CHECK_EQ_INT(finding != NULL && strstr(finding, "no node is left behind") != NULL, cases[i].warns);
    }
}

TEST(codes_that_cannot_be_are_refused)
{
    static const struct {
        const char *step, *finding;
    } cases[] = {
        {"'code': {'scheme': 'm-sgc', 'burst': 2, 'window': 2, 'different': 1}", "'burst' must be less than 'window'"},
        {"'code': {'scheme': 'sr-sgc', 'burst': 2, 'window': 4, 'different': 1}", "must divide 'window' - 1"},
        {"'stragglers': 1, 'code': {'scheme': 'm-sgc', 'different': 1}", "takes the place of 'stragglers'"},
        {"'delays': {'late': 0.6, 'delay': '1s'}", "late for more rounds in a row"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(BED(.quiet = true), JOB("'compute': '1s', %s", "10s", "2"), 1, 2, cases[i].step);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, cases[i].finding) != NULL);
    }
}
