/* Checkpoints at peers, in closed form: each GPU's NIC sends a slice of the state to the next node of the job, and a
 * restart reads it from there. So the nodes and GPUs of the job decide how long that takes, also when they change
 * amid a save or a restore. Nodes have 2 GPUs and NICs of 10 GB/s without latency; a state has 100 GB. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

#define SITE(network)                                                                                                  \
    "'cluster': {'nodes': %d, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s'" network "}, "    \
    "'storage': {'files': {'device': 'rdma-h800', 'ceiling': '10GB/s'}}}, "
#define TYPE "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': '100GB', 'to': 'peer'%s}"
/* Every node fails at 100 s, and the job waits 5 s before it reads. */
#define FAILS                                                                                                          \
    "'failures': {'causes': {'node': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}, 'restart': {"  \
    "'law': 'constant', 'mean': '5s'}}}},"

static double end_of(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s : (double)NAN;
}

/* --- How long a save takes --- */

/* A node sends as fast as its NICs and those of the next node are: of three GPUs two send to the only NIC of the
 * third. Where nodes have one NIC each, two nodes send half the state each. */
TEST(a_save_lasts_as_the_nics_of_sender_and_receiver_say)
{
    static const struct {
        int nodes, gpus;
        bool one_nic;
        double save_s;
    } cases[] = {{2, 4, false, 2.5}, {2, 3, false, 20.0 / 3}, {3, 6, false, 10.0 / 6}, {3, 5, false, 4},
                 {2, 4, true, 5},    {2, 3, true, 5},         {3, 6, true, 10.0 / 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *per = cases[i].one_nic ? ", 'per': 'node'" : "";
        const struct bed_rows *rows = bed_ok(BED(.check = true),
                                             "{" SITE("%s") "'jobs': {'types': {'default': {" TYPE
                                                            "}}, 'trace': {'format': 'inline-jobs', 'jobs': [{"
                                                            "'submit': '0s', 'duration': '170s', 'gpus': %d}]}}}",
                                             cases[i].nodes, per, "", cases[i].gpus);
        if (!CHECK_NEAR(end_of(rows, 0), 170 + 3 * cases[i].save_s, 1e-6)) printf("\n  case %d\n", (int)i);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 3 * 100e9 * 2, 8); /* out of a NIC, into a NIC */
    }
}

/* --- Jobs whose nodes change --- */

/* The first job has the four GPUs of two nodes. From at_s on it has two on one node, half as fast, for hold_s. */
static const struct bed_rows *shrinks(const char *others, const char *design, double duration_s, double at_s,
                                      double hold_s)
{
    return bed_ok(
        BED(.check = true),
        "{" SITE(
            "") "%s 'jobs': {'scheduler': 'equi', 'types': {'plain': {}, 'default': {" TYPE "}}, 'trace':"
                " {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '%gs', 'gpus': 4}, {'submit': '%gs',"
                " 'type': 'plain', 'duration': '%gs', 'gpus': 2}]}}}",
        2, others, design, duration_s, at_s, hold_s);
}

/* Work is done until at_s; a save is given up, and no other one begins. */
TEST(a_job_without_a_peer_gives_up_its_save)
{
    static const char until[] = "'until': '500s',";
    static const char *const designs[] = {"", ", 'model': 'fastpersist', 'overlap': '1s'",
                                          ", 'model': 'fastpersist', 'overlap': '4s'",
                                          ", 'model': 'datastates', 'overlap': '1s', 'gpu_copy': '20GB/s'"};
    static const double stalls_s[] = {2.5, 1.5, 0, 0.25}, from_s[] = {50, 51, 54, 50};
    for (int i = 0; i < 4; i++)
        for (double at_s = 20.125; at_s < 90; at_s += i == 0 && at_s < 50 ? 30.125 : 1.125) {
            /* by then stalled, and stalled further: a copy to the host goes on */
            const double stalled_s = fmin(fmax(at_s - from_s[i], 0), stalls_s[i]);
            const double left_s = i == 3 && at_s > 50 ? stalls_s[i] - stalled_s : 0;
            const struct bed_rows *rows = shrinks(until, designs[i], 100, at_s, 1000);
            if (!CHECK_NEAR(end_of(rows, 0), at_s + left_s + 2 * (100 - at_s + stalled_s), 1e-6))
                printf("\n  design %d, from %g s on\n", i, at_s);
            CHECK(bed_warning(rows, "no-peer") != NULL);
        }
}

/* The job loads 40 GB from storage until 4 s, on one node as well. What it has loaded is no state: on one node it has
 * nowhere to save, and what was under way from 54 s on is given up. */
TEST(a_job_that_has_loaded_needs_a_peer_to_save)
{
    static const double at_s[] = {1, 3, 20, 55}, done_s[] = {0, 0, 16, 50};
    for (int i = 0; i < 4; i++) {
        const struct bed_rows *rows = shrinks("'until': '500s',", "}, 'load': {'from': 'files', 'bytes': '40GB'", 100,
                                              at_s[i], 1000);
        CHECK_NEAR(end_of(rows, 0), fmax(at_s[i], 4) + 2 * (100 - done_s[i]), 1e-6);
    }
}

/* From 60 s on, with 40 s of work done, the job has a peer again: an interval begins, and a save at 110 s. */
TEST(a_job_that_finds_a_peer_begins_an_interval)
{
    const struct bed_rows *rows = shrinks("'until': '500s',", "", 100, 20, 40);
    CHECK_NEAR(end_of(rows, 1), 60, 1e-6);
    CHECK_NEAR(end_of(rows, 0), 122.5, 1e-6);
    CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 100e9 * 2, 8);
}

/* Of the 97.5 s of work by the failure 50 s are saved. From 105 s on the job reads 40 GB/s, or 20 GB/s from the node
 * that it has left. It works half as fast until 20 s after at_s. */
TEST(a_restore_goes_on_from_the_node_that_was_left)
{
    for (double at_s = 101; at_s < 110; at_s += 0.75) {
        const double read_gb = fmin(40 * fmax(at_s - 105, 0), 100);
        const double works_s = read_gb < 100 ? fmax(at_s, 105) + (100 - read_gb) / 20 : 107.5;
        const double done_s = 50 + fmax(at_s - works_s, 0) + 0.5 * (at_s + 20 - fmax(at_s, works_s));
        const struct bed_rows *rows = shrinks("'until': '199s'," FAILS, "", 98, at_s, 20);
        CHECK_NEAR(end_of(rows, 0), at_s + 20 + 98 - done_s, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 100e9 * 2, 16);
    }
}

/* One second on one node: then both nodes read again what is left, 40 GB/s. */
TEST(a_restore_goes_on_with_the_node_that_comes_back)
{
    for (double at_s = 101; at_s < 107; at_s += 0.75) {
        double read_gb = 40 * fmax(at_s - 105, 0);
        if (at_s + 1 > 105) read_gb += 20 * (at_s + 1 - fmax(at_s, 105));
        if (read_gb >= 100) continue;
        const double works_s = fmax(at_s + 1, 105) + (100 - read_gb) / 40;
        const struct bed_rows *rows = shrinks("'until': '199s'," FAILS, "", 98, at_s, 1);
        CHECK_NEAR(end_of(rows, 1), at_s + 1, 1e-6);
        CHECK_NEAR(end_of(rows, 0), works_s + 48, 1e-6);
    }
}
