/* Jobs of a log in random order that never end, until they overfill a cluster ("resample"): what they ask for, when
 * they come, and how they are placed where ties are broken by a shuffled order. */
#include "sim/world/rows/source.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { NODES = 8, GPUS_PER_NODE = 8, GPUS = NODES * GPUS_PER_NODE, LARGEST = 8, WHOLE_KINDS = 3, KINDS = 6 };

/* A list of pods without times: of six kinds, or of those three that ask for whole GPUs. */
static const char *pods(int n, bool with_shares)
{
    static const char *const kinds[KINDS] = {"1,1000,4000,4096", "2,1000,8000,4096", "8,1000,16000,8192",
                                             "4,1000,8000,8192", "1,250,1000,1024",  "1,500,2000,2048"};
    char text[8192] = "name,num_gpu,gpu_milli,cpu_milli,memory_mib\n";
    size_t used = strlen(text);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "pod-%d,%s\n", i,
                                 kinds[i % (with_shares ? KINDS : WHOLE_KINDS)]);
    return test_file("pods.csv", "%s", text);
}

static struct bed_rows *fill(const char *path, double load, const char *placement, int seed)
{
    return bed_ok(NULL,
                  "{'cluster': {'nodes': %d, 'gpus_per_node': %d}, 'seed': %d, 'until': '200s',"
                  " 'jobs': {'scheduler': 'fifo-skip', 'placement': %s, 'fragmentation': {'measure': true},"
                  " 'trace': {'format': 'openb', 'path': '%s', 'resample': {'gpus': %d, 'load': %.17g}}}}",
                  NODES, GPUS_PER_NODE, seed, placement, path, GPUS, load);
}

/* What is asked for comes as near to the load as the next job drawn allows, from fewer jobs than the log has or
 * more. */
TEST(jobs_are_drawn_up_to_the_load)
{
    static const double loads[] = {0.5, 1, 1.3, 1.9};
    for (size_t l = 0; l < sizeof loads / sizeof *loads; l++) {
        for (int n_pods = 12; n_pods <= 96; n_pods *= 8) {
            const struct bed_rows *rows = fill(pods(n_pods, false), loads[l], "'best-fit'", (int)l + n_pods);
            double gpus = 0;
            for (size_t i = 0; i < rows->n_jobs; i++) gpus += (double)rows->jobs[i].gpus;
            CHECK(gpus <= loads[l] * GPUS);
            CHECK(gpus > loads[l] * GPUS - LARGEST);
        }
    }
}

/* A job comes when those up to it ask for that part of the cluster, which is full after 100 s. */
TEST(jobs_come_as_the_cluster_fills)
{
    const struct bed_rows *rows = fill(pods(96, false), 1.3, "'random'", 3);
    double gpus = 0;
    for (size_t i = 0; i < rows->n_jobs; i++) {
        const struct job_row *job = bed_job(rows, (int64_t)i);
        if (!CHECK(job != NULL)) return;
        gpus += (double)job->gpus;
        CHECK_NEAR(job->submit_s, 100 * gpus / GPUS, 1e-6);
    }
}

/* Scoring placers, in both orders of ties: one seed gives one run. All but the one that spreads jobs fill the
 * cluster. */
TEST(placers_fill_the_cluster)
{
    static const char *const names[] = {"worst-fit", "best-fit", "dot-product", "clustering", "packing", "fgd"};
    const char *path = pods(96, true);
    for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
        const char *placement = test_json("{'policy': '%s', 'ties': '%s'}", names[i / 2],
                                          i % 2 ? "shuffled" : "listed");
        const struct bed_rows *rows = fill(path, 1.3, placement, 7), *again = fill(path, 1.3, placement, 7);
        const double gpus = bed_metric(rows, "cluster.gpus_in_use.max");
        CHECK(bed_equal(rows, again));
        CHECK(gpus <= GPUS);
        CHECK((gpus > GPUS - 1) == (i / 2 > 0));
    }
}
