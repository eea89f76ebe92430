/* Jobs that send in a part of their steps and meet by chance, "sends" in-part of the network: closed forms of their
 * times, and bounds. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>

/* Two jobs of two nodes each, with one GPU and a NIC of 10 GB/s, on a fabric of 20 GB/s: an all-reduce of two members
 * sends the whole buffer over either edge, so the fabric has just what one job wants. */
#define PAIR                                                                                                           \
    "{'cluster': {'nodes': 4, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'fabric': "      \
    "'20GB/s', 'sends': '%s'}}, 'jobs': {'types': {'a': {'step': {'compute': '%.12gs', 'collectives': [{'kind': "      \
    "'all-reduce', 'bytes': '%.12gGB'}]}}, 'b': {'step': {'compute': '%.12gs', 'collectives': [{'kind': 'all-reduce', " \
    "'bytes': '%.12gGB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '100s', "       \
    "'gpus': 2, 'type': 'a'}, {'submit': '0s', 'duration': '%.12gs', 'gpus': 2, 'type': 'b'}]}}}"

struct pair {
    double compute_s[2], gb[2];
};

static double end_s(const struct pair *pair, const char *sends, double second_s)
{
    const struct bed_rows *rows = bed_ok(NULL, PAIR, sends, pair->compute_s[0], pair->gb[0], pair->compute_s[1],
                                         pair->gb[1], second_s);
    return bed_job(rows, 0)->end_s;
}

/* Beside a job that sends for the share a of its step, a byte takes 1 + a times as long. */
TEST(a_byte_waits_for_those_that_send)
{
    static const struct pair pairs[] = {{{1.0, 1.0}, {10.0, 10.0}}, {{1.0, 9.0}, {10.0, 10.0}},
                                        {{1.0, 0.0}, {5.0, 10.0}},  {{0.0, 1.0}, {10.0, 2.0}}};
    for (int i = 0; i < 4; i++) {
        const struct pair *pair = &pairs[i];
        const double own_s = pair->gb[0] / 10.0, other_s = pair->gb[1] / 10.0;
        const double other = other_s / (other_s + pair->compute_s[1]);
        const double step_s = pair->compute_s[0] + own_s, slowed_s = pair->compute_s[0] + own_s * (1.0 + other);
        CHECK_NEAR(end_s(pair, "in-part", 10000.0), 100.0 * slowed_s / step_s, 1e-4);
        CHECK_NEAR(end_s(pair, "always", 10000.0), 100.0 * (step_s + own_s) / step_s, 1e-4);
    }
}

/* So does a byte of an exchange among three nodes: each adapter divides its 10 GB/s between two partners, and sends
 * two thirds of the buffer. The fabric has just what one job wants. */
TEST(a_byte_of_an_exchange_waits_for_those_that_send)
{
    static const struct pair pairs[] = {{{1.0, 1.5}, {10.0, 15.0}}, {{1.0, 9.0}, {10.0, 10.0}},
                                        {{0.0, 3.0}, {10.0, 2.0}}};
    for (int i = 0; i < 3; i++) {
        const struct pair *pair = &pairs[i];
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'nodes': 6, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'fabric':"
            " '30GB/s', 'sends': 'in-part'}}, 'jobs': {'types': {'a': {'step': {'compute': '%.12gs', 'collectives': [{"
            "'kind': 'all-to-all', 'bytes': '%.12gGB'}]}}, 'b': {'step': {'compute': '%.12gs', 'collectives': [{'kind':"
            " 'all-to-all', 'bytes': '%.12gGB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s',"
            " 'gpus': 3, 'type': 'a'}, {'duration': '10000s', 'gpus': 3, 'type': 'b'}]}}}",
            pair->compute_s[0], pair->gb[0], pair->compute_s[1], pair->gb[1]);
        const double own_s = pair->gb[0] * 2 / 3 / 10.0, other_s = pair->gb[1] * 2 / 3 / 10.0;
        const double other = other_s / (other_s + pair->compute_s[1]), step_s = pair->compute_s[0] + own_s;
        CHECK_NEAR(bed_job(rows, 0)->end_s, 100.0 * (step_s + own_s * other) / step_s, 1e-4);
    }
}

/* Jobs that do nothing but send are those of the worst case. */
TEST(jobs_that_always_send_are_the_worst_case)
{
    const struct pair pair = {{0.0, 0.0}, {10.0, 3.0}};
    CHECK_NEAR(end_s(&pair, "in-part", 10000.0), end_s(&pair, "always", 10000.0), 1e-6);
}

/* --- Many jobs on a wide link --- */

#define MANY                                                                                                           \
    "{'cluster': {'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'fabric': "      \
    "'%dGB/s', 'sends': '%s'}}, 'jobs': {'types': {'default': {'step': {'compute': '%.12gs', 'collectives': [{"         \
    "'kind': 'all-reduce', 'bytes': '10GB'}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}"

enum { MOST_JOBS = 20 };

/* Equal jobs, each of which computes and then sends 10 GB, alone at 10 GB/s. `wide`: of them fill the link together. */
struct crowd {
    int n, wide;
    double compute_s;
};

/* How many times as long as in an idle network the jobs take. */
static double crowd_slowdown(const struct crowd *crowd, const char *sends)
{
    static const char job[] = "{'submit': '0s', 'duration': '100s', 'gpus': 2}";
    char jobs[MOST_JOBS * (sizeof job + 2)] = "";
    for (int i = 0, at = 0; i < crowd->n; i++)
        at += snprintf(jobs + at, sizeof jobs - (size_t)at, "%s%s", i > 0 ? ", " : "", job);
    const struct bed_rows *rows = bed_ok(NULL, MANY, 2 * crowd->n, 20 * crowd->wide, sends, crowd->compute_s, jobs);
    return bed_job(rows, 0)->end_s / 100.0;
}

/* The same step by step, from random moments on. Times of computing vary by a tenth, so that jobs meet by chance. */
static double stepped_slowdown(const struct crowd *crowd, struct rng *rng)
{
    const double end_s = 5000.0, sends_s = 1.0;
    double left_s[MOST_JOBS], now_s = 0.0, steps = 0.0; /* left_s: of sending, alone */
    bool sending[MOST_JOBS];
    for (int i = 0; i < crowd->n; i++) {
        left_s[i] = (crowd->compute_s + sends_s) * rng_uniform(rng);
        sending[i] = left_s[i] < sends_s;
        if (!sending[i]) left_s[i] -= sends_s;
    }
    while (now_s < end_s) {
        int n = 0;
        double next_s = (double)INFINITY;
        for (int i = 0; i < crowd->n; i++) n += sending[i];
        const double slower = fmax(1.0, (double)n / crowd->wide);
        for (int i = 0; i < crowd->n; i++) next_s = fmin(next_s, left_s[i] * (sending[i] ? slower : 1.0));
        now_s += next_s;
        for (int i = 0; i < crowd->n; i++) {
            left_s[i] -= next_s / (sending[i] ? slower : 1.0);
            if (left_s[i] > 1e-12) continue;
            steps += sending[i];
            sending[i] = !sending[i];
            left_s[i] = sending[i] ? sends_s : crowd->compute_s * (0.9 + 0.2 * rng_uniform(rng));
        }
    }
    return now_s * crowd->n / (steps * (crowd->compute_s + sends_s));
}

/* Where a link is short only while many jobs send at once, not on the mean, what is said lies between single steps
 * and the worst case: a byte takes as long as if the others sent all at once or none. */
TEST(many_jobs_on_a_wide_link_lose_at_most_what_is_said)
{
    static const struct crowd crowds[] = {{4, 2, 1.0}, {10, 5, 1.0}, {10, 5, 3.0}, {10, 5, 9.0}, {10, 8, 0.5},
                                          {20, 5, 3.0}, {20, 10, 1.0}};
    struct rng rng = test_rng(1, "crowds", 0);
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++) {
        const struct crowd *crowd = &crowds[i];
        const double sends_frac = 1.0 / (1.0 + crowd->compute_s), always = crowd_slowdown(crowd, "always");
        const double in_part = crowd_slowdown(crowd, "in-part"), stepped = stepped_slowdown(crowd, &rng);
        CHECK(stepped > 0.995 && stepped <= in_part && in_part < always);
        CHECK_NEAR(in_part, 1.0 + sends_frac * sends_frac * ((double)crowd->n / crowd->wide - 1.0), 1e-4);
        CHECK_NEAR(always, 1.0 + sends_frac * ((double)crowd->n / crowd->wide - 1.0), 1e-4);
    }
}

/* A limit of the rule: it does not see that jobs send for a larger share of a step that the network slows. A link that
 * is short even of the mean of what jobs send is always full, and slows them more than is said. */
TEST(a_link_that_is_short_on_the_mean_slows_jobs_more_than_is_said)
{
    static const struct crowd crowds[] = {{10, 1, 1.0}, {10, 1, 3.0}, {10, 2, 1.0}};
    struct rng rng = test_rng(1, "full", 0);
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++) {
        const struct crowd *crowd = &crowds[i];
        const double full = (double)crowd->n / (crowd->wide * (1.0 + crowd->compute_s));
        CHECK_NEAR(stepped_slowdown(crowd, &rng), full, 0.01 * full);
        const double in_part = crowd_slowdown(crowd, "in-part");
        CHECK(in_part < full && full < crowd_slowdown(crowd, "always"));
    }
}

#define LONE                                                                                                           \
    "{'cluster': {'nodes': 8, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'topology': "    \
    "'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': %d, 'paths': 'planned', 'sends': '%s'}}, 'jobs': {"        \
    "'types': {'default': {'step': {'compute': '1s', 'collectives': [{'kind': '%s', 'group': 'all', 'bytes': '3GB'}]" \
    "}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '100s', 'gpus': 16}]}}}"

/* Nobody else sends: it makes no difference how seldom the job does. */
TEST(a_lone_job_waits_for_its_own_flows)
{
    static const char *const kinds[] = {"all-reduce", "all-to-all", "send"};
    for (int k = 0; k < 3; k++)
        for (int over = 1; over <= 8; over *= 2) {
            const struct bed_rows *always = bed_ok(NULL, LONE, over, "always", kinds[k]);
            const struct bed_rows *in_part = bed_ok(NULL, LONE, over, "in-part", kinds[k]);
            CHECK_NEAR(bed_job(in_part, 0)->end_s / bed_job(always, 0)->end_s, 1.0, 1e-6);
        }
}

#define PLANS                                                                                                          \
    "{'cluster': {'nodes': 8, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '2GB/s', 'latency': " \
    "'0s', 'fabric': '16GB/s', 'sends': '%s'}}, 'jobs': {'types': {'default': {'training': {'llm': "                  \
    "'llama-3.1-8b', 'global_batch': %d, 'recompute': 'full'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'steps': 200, 'gpus': 8}%s]}}}"

#define LONE_PLAN                                                                                                      \
    "{'cluster': {'nodes': 8, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '2GB/s', 'latency': " \
    "'0s', 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': %d, 'paths': 'planned', 'sends': "        \
    "'%s'}}, 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'global_batch': 64, 'recompute': "      \
    "'full', 'pipeline_parallel': %d}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'steps': 200, "  \
    "'gpus': 16}]}}}"

/* So it is with plans, whose adapters have messages to the same leaf and to others. */
TEST(a_lone_plan_waits_for_its_own_flows)
{
    double least = 1.0;
    for (int pipeline = 1; pipeline <= 4; pipeline *= 2)
        for (int over = 1; over <= 8; over *= 2) {
            const double always_s = bed_job(bed_ok(NULL, LONE_PLAN, over, "always", pipeline), 0)->end_s;
            const double in_part_s = bed_job(bed_ok(NULL, LONE_PLAN, over, "in-part", pipeline), 0)->end_s;
            CHECK_NEAR(in_part_s / always_s, 1.0, 1e-6);
            least = fmin(least, bed_job(bed_ok(NULL, LONE_PLAN, 1, "always", pipeline), 0)->end_s / always_s);
        }
    CHECK(least < 0.9); /* links are short, or the test is void */
}

#define LONE_NODES                                                                                                     \
    "{'cluster': {'nodes': 16, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '2GB/s', 'per': "    \
    "'node', 'latency': '0s', 'topology': 'leaf-spine', 'nodes_per_leaf': 4, 'oversubscription': %d, 'paths': "        \
    "'planned', 'sends': '%s'}}, 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'global_batch': "  \
    "256, 'recompute': 'full', 'pipeline_parallel': %d}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': "    \
    "'0s', 'steps': 20, 'gpus': 64}]}}}"

/* So it is where the NIC of a node has messages that the network squeezes beside others that it does not. */
TEST(a_lone_plan_of_nodes_waits_for_its_own_flows)
{
    for (int pipeline = 1; pipeline <= 4; pipeline *= 2)
        for (int over = 1; over <= 4; over++) {
            const double always_s = bed_job(bed_ok(NULL, LONE_NODES, over, "always", pipeline), 0)->end_s;
            const double in_part_s = bed_job(bed_ok(NULL, LONE_NODES, over, "in-part", pipeline), 0)->end_s;
            CHECK_NEAR(in_part_s / always_s, 1.0, 1e-6);
        }
}

#define LONE_KINDS                                                                                                     \
    "{'cluster': {'nodes': 16, 'gpus_per_node': %d, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '2GB/s', 'per': "   \
    "'%s', 'latency': '0s', 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': %d, 'paths': '%s', "    \
    "'sends': '%s'}}, 'jobs': {'types': {'default': {'training': {'llm': 'llama-3.1-8b', 'global_batch': 128, "        \
    "'recompute': 'full', 'pipeline_parallel': 4, 'tensor_parallel': %d}}}, 'trace': {'format': 'inline-jobs', "       \
    "'jobs': [{'submit': '0s', 'steps': 20, 'gpus': %d}]}}}"

/* So it is where several links are short on the path of a message, and kinds of unlike weights meet on one: what a link
 * holds back leaves room to others elsewhere. */
TEST(a_lone_plan_of_several_kinds_waits_for_its_own_flows)
{
    static const struct {
        const char *per, *paths;
        int gpus, over, tensor;
    } cases[] = {{"gpu", "planned", 4, 3, 2}, {"node", "ecmp", 2, 8, 1}, {"node", "planned", 2, 3, 2}};
    for (int i = 0; i < 3; i++) {
        double end_s[2];
        for (int in_part = 0; in_part < 2; in_part++)
            end_s[in_part] = bed_job(bed_ok(NULL, LONE_KINDS, cases[i].gpus, cases[i].per, cases[i].over,
                                            cases[i].paths, in_part ? "in-part" : "always", cases[i].tensor,
                                            16 * cases[i].gpus),
                                     0)
                                 ->end_s;
        CHECK_NEAR(end_s[1] / end_s[0], 1.0, 1e-6);
    }
}

/* Plans: beside another job, a job is no slower than in the worst case, and no faster than alone. The more it computes,
 * the less it loses of the difference. */
TEST(plans_meet_by_chance)
{
    static const char second[] = ", {'submit': '0s', 'steps': 4000, 'gpus': 8}";
    double before = 1.0;
    for (int batch = 8; batch <= 512; batch *= 4) {
        const double alone_s = bed_job(bed_ok(NULL, PLANS, "in-part", batch, ""), 0)->end_s;
        const double always_s = bed_job(bed_ok(NULL, PLANS, "always", batch, second), 0)->end_s;
        const double in_part_s = bed_job(bed_ok(NULL, PLANS, "in-part", batch, second), 0)->end_s;
        CHECK(in_part_s >= alone_s * (1 - 1e-9) && in_part_s <= always_s * (1 + 1e-9));
        CHECK(always_s > 1.01 * alone_s);
        const double lost = (in_part_s - alone_s) / (always_s - alone_s);
        CHECK(lost <= before + 1e-9);
        before = lost;
    }
    CHECK(before < 0.5);
}

TEST(queues_and_checks_change_nothing_when_jobs_meet_by_chance)
{
    static const char second[] = ", {'submit': '3s', 'steps': 50, 'gpus': 8}";
    struct bed_rows *rows = bed_ok(NULL, PLANS, "in-part", 32, second);
    CHECK(bed_equal(rows, bed_ok(BED(.queue = QUEUE_HEAP, .check = true, .single_step = true), PLANS, "in-part", 32, second)));
}
