/* Placers on nodes that differ, in shares of GPUs, and what distance costs: whole runs of scenarios. */
#include "policies/placement/scored.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static struct bed_rows *run(const char *cluster, const char *jobs, const char *list)
{
    return bed_ok(
        BED(.check = true),
        "{'cluster': {%s}, 'jobs': {%s, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}, 'until': '100s'}", cluster,
        jobs, list);
}

static double start_s(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *job = bed_job(rows, id);
    return CHECK(job != NULL) ? job->start_s : (double)NAN;
}

#define SHARE(submit, share) "{'submit': '" submit "', 'duration': '1h', 'gpu_share': " share "}"

/* Figure 8 of the paper: with 0.5 and 1 GPU left, 0.3 goes to the whole GPU, 0.5 to the half one and 0.7 fits exactly.
 * The job in the way is one of 0.5, and two more make the three kinds equally likely. */
TEST(fgd_does_as_in_figure_8)
{
    struct bed_rows *rows = run("'gpus_per_node': 2, 'cpus_per_node': 64",
                                "'scheduler': 'fifo', 'placement': {'policy': 'fgd', 'exact': true},"
                                "'fragmentation': {'measure': true, 'cover': 1}",
                                SHARE("0s", "0.5") ", " SHARE("1s", "0.3") ", " SHARE("2s", "0.5") ", " SHARE(
                                    "3s", "0.7") ", " SHARE("4s", "0.3") ", " SHARE("5s", "0.7"));
    for (int64_t id = 0; id < 4; id++) CHECK(start_s(rows, id) == (double)id);
    CHECK(isnan(start_s(rows, 4)));
    CHECK(bed_metric(rows, "cluster.gpus_in_use.max") == 2);
    /* the empty node 0 for a second, then as worked out by hand: 1/6 for two seconds, and 0 from the third second on */
    CHECK_NEAR(bed_metric(rows, "cluster.frag_gpus.mean"), 2.0 / 6 / 100, 1e-6);
}

/* Node 0 has 0.72 of its GPU left and node 1 0.92, when a job of 0.05 comes. Of 100 jobs 5 want 0.7 and one wants 0.9.
 * So the job adds 0.033 GPUs to the fragmentation of node 0, and 0.009 to that of node 1. */
static int64_t node_of_small_job(const char *placement)
{
    SCOPED(text) jobs = {0};
    static const char *const shares[] = {"0.28", "0.08", "0.05", "0.7", "0.7", "0.7", "0.7", "0.7", "0.9"};
    for (int i = 0; i < 100; i++)
        text_printf(&jobs, "%s{'submit': '%ds', 'duration': '1h', 'gpu_share': %s}", i > 0 ? ", " : "",
                    i < 3 ? i : 1000, i < 9 ? shares[i] : "0.01");
    char settings[200];
    snprintf(settings, sizeof settings, "'placement': %s, 'fragmentation': {'cover': 1}", placement);
    struct bed_rows *rows = run("'nodes': 2, 'gpus_per_node': 1, 'cpus_per_node': 64", settings, jobs.chars);
    int64_t nodes[3] = {-1, -1, -1};
    for (size_t i = 0; i < rows->n_placements; i++)
        if (rows->placements[i].job < 3) nodes[rows->placements[i].job] = rows->placements[i].node;
    CHECK_EQ_INT(nodes[0], 0);
    CHECK_EQ_INT(nodes[1], 1);
    return nodes[2];
}

/* Growth of fragmentation that is not 0 but below 0.04 GPUs has the score 49, and the first node wins. */
TEST(fgd_ties_below_a_hundredth_of_its_score)
{
    CHECK_EQ_INT(node_of_small_job("'fgd'"), 0);
    CHECK_EQ_INT(node_of_small_job("{'policy': 'fgd', 'exact': true}"), 1);
}

TEST(jobs_hold_shares_cpu_and_memory)
{
    static const char *const placers[] = {"first-fit", "consolidated", "best-fit",   "worst-fit", "topology-aware",
                                          "random",    "dot-product",  "clustering", "packing",   "fgd"};
    for (size_t i = 0; i < sizeof placers / sizeof placers[0]; i++) {
        char jobs[80];
        snprintf(jobs, sizeof jobs, "'scheduler': 'fifo-skip', 'placement': '%s'", placers[i]);
        struct bed_rows *rows = run("'nodes': 1, 'gpus_per_node': 1, 'cpus_per_node': 8, 'memory_per_node': '16GiB'",
                                    jobs,
                                    "{'duration': '10s', 'gpu_share': 0.6, 'cpus': 4}," /* 0 */
                                    "{'duration': '10s', 'gpu_share': 0.6}, "           /* 1: no room on the GPU */
                                    "{'duration': '10s', 'gpu_share': 0.4, 'cpus': 5}," /* 2: nor is there CPU */
                                    "{'duration': '10s', 'gpu_share': 0.4, 'cpus': 4}," /* 3: fills both */
                                    "{'duration': '1s', 'gpus': 0, 'cpus': 1},"         /* 4: waits for CPU */
                                    "{'duration': '1s', 'gpus': 0, 'memory': '16GiB'}," /* 5: memory only */
                                    "{'duration': '1s', 'gpus': 0, 'memory': '1GiB'}"); /* 6: after it */
        const double starts[] = {0, 10, 10, 0, 10, 0, 1};
        for (int64_t id = 0; id < 7; id++)
            if (!CHECK(start_s(rows, id) == starts[id])) printf("\n  %s: job %d", placers[i], (int)id);
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 6 + 6 + 4 + 4, 1e-9);
    }
}

/* Three nodes of 8 GPUs: jobs of 5, 4 and 6 go to one each. The best fit of the fourth is the last node, its worst fit
 * the second, and so on. */
TEST(fits_are_best_and_worst)
{
    static const struct {
        const char *placement;
        int nodes[6];
    } cases[] = {{"best-fit", {0, 1, 2, 2, 0, 1}}, {"worst-fit", {0, 1, 2, 1, 0, 1}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char jobs[80], list[400] = "";
        snprintf(jobs, sizeof jobs, "'scheduler': 'fifo', 'placement': '%s'", cases[i].placement);
        static const int gpus[] = {5, 4, 6, 1, 2, 2};
        for (int id = 0; id < 6; id++)
            snprintf(list + strlen(list), sizeof list - strlen(list),
                     "%s{'submit': '%ds', 'duration': '1h', 'gpus': %d}", id > 0 ? ", " : "", id, gpus[id]);
        const struct bed_rows *rows = run("'nodes': 3, 'gpus_per_node': 8", jobs, list);
        CHECK_EQ_INT(rows->n_placements, 6);
        for (size_t p = 0; p < rows->n_placements; p++)
            CHECK_EQ_INT(rows->placements[p].node, cases[i].nodes[rows->placements[p].job]);
    }
}

TEST(the_network_slows_jobs_that_are_spread)
{
    static const struct {
        const char *placement;
        double wide_end_s; /* of a job of 10 s */
    } cases[] = {{"topology-aware", 20}, {"consolidated", 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char jobs[160];
        snprintf(jobs, sizeof jobs, "'placement': '%s', 'network_penalty': {'nodes': 0.5, 'racks': 0.75}",
                 cases[i].placement);
        struct bed_rows *rows = run("'nodes': 4, 'gpus_per_node': 2, 'nodes_per_rack': 2", jobs,
                                    "{'duration': '1h', 'gpus': 2}, {'duration': '10s', 'gpus': 4},"
                                    "{'duration': '10s', 'gpus': 2}");
        CHECK_NEAR(bed_job(rows, 1)->end_s, cases[i].wide_end_s, 1e-9);
        CHECK_NEAR(bed_job(rows, 2)->end_s, 10, 1e-9);
    }
}

/* Of two node types with a stock, each job goes to the one that has its model, however they are listed. */
TEST(models_are_those_of_all_node_types)
{
    static const char *const schedulers[] = {"gavel-fifo", "gavel-isolated"};
    for (size_t i = 0; i < sizeof schedulers / sizeof schedulers[0]; i++) {
        char jobs[80];
        snprintf(jobs, sizeof jobs, "'scheduler': '%s', 'placement': 'first-fit'", schedulers[i]);
        struct bed_rows *rows = run("'gpu': 't4', 'gpus_per_node': 2, 'cpus_per_node': 8,"
                                    "'node_types': {'big': {'gpu': 'a100-80-sxm', 'gpus_per_node': 4}}",
                                    jobs,
                                    "{'duration': '10s', 'gpus': 1, 'gpu_models': 'a100-80-sxm'},"
                                    "{'duration': '10s', 'gpus': 1, 'gpu_models': 't4'},"
                                    "{'duration': '10s', 'gpus': 1, 'gpu_models': 'l4'}");
        CHECK_EQ_STR(bed_job(rows, 0)->status, "finished");
        CHECK_EQ_STR(bed_job(rows, 1)->status, "finished");
        CHECK_EQ_STR(bed_job(rows, 2)->status, "rejected");
        for (size_t p = 0; p < rows->n_placements; p++)
            CHECK_EQ_INT(rows->placements[p].node, rows->placements[p].job == 0);
    }
}

/* Jobs whose CPUs or memory only the nodes of one type have run there, beside those that only fit on the other. */
TEST(gavel_knows_where_cpus_and_memory_suffice)
{
    static const char *const schedulers[] = {"gavel", "gavel-fifo", "gavel-fifo-perf", "gavel-isolated", "gandiva"};
    static const char *const clusters[] = {
        "'gpus_per_node': 2, 'cpus_per_node': 2, 'memory_per_node': '100GB', 'node_types': {'t': {'gpus_per_node': 2,"
        " 'gpu': 'v100-32-pcie', 'cpus_per_node': 8, 'memory_per_node': '1GB'}}",
        "'gpus_per_node': 2, 'cpus_per_node': 8, 'memory_per_node': '1GB', 'node_types': {'t': {'gpus_per_node': 2,"
        " 'gpu': 'v100-32-pcie', 'cpus_per_node': 2, 'memory_per_node': '100GB'}}"};
    for (size_t i = 0; i < 2 * sizeof schedulers / sizeof schedulers[0]; i++) {
        char jobs[80];
        snprintf(jobs, sizeof jobs, "'scheduler': '%s'", schedulers[i / 2]);
        struct bed_rows *rows = run(clusters[i % 2], jobs,
                                    "{'duration': '10s', 'cpus': 6}, {'duration': '10s', 'memory': '30GB'},"
                                    "{'duration': '10s', 'cpus': 6}, {'duration': '10s', 'memory': '30GB'}");
        if (!CHECK(bed_metric(rows, "job.finished") == 4)) printf("\n  %s\n", schedulers[i / 2]);
    }
}

/* Schedulers that divide all GPUs among all jobs give none to those that ask for none. */
TEST(jobs_without_gpus_are_given_none)
{
    static const char *const schedulers[] = {"equi", "hesrpt"};
    for (size_t i = 0; i < sizeof schedulers / sizeof schedulers[0]; i++) {
        char jobs[80];
        snprintf(jobs, sizeof jobs, "'scheduler': '%s', 'placement': 'first-fit'", schedulers[i]);
        struct bed_rows *rows = run("'gpus_per_node': 4, 'cpus_per_node': 8", jobs,
                                    "{'duration': '10s', 'gpus': 2}, {'duration': '10s', 'gpus': 0, 'cpus': 4}");
        CHECK_NEAR(bed_job(rows, 1)->end_s, 10, 1e-9);
        CHECK_NEAR(bed_job(rows, 1)->gpu_s, 0, 0);
    }
}

TEST(more_than_64_gpu_models_are_refused)
{
    char path[512];
    snprintf(path, sizeof path, "%s/nodes.csv", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fputs("sn,cpu_milli,memory_mib,gpu,model\n", file);
    for (int i = 0; i < 65; i++) fprintf(file, "n%d,1000,1024,1,model-%d\n", i, i);
    fclose(file);
    struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {'nodes_file': {'path': '%s'}}, 'jobs': {'trace': {'format':'inline-jobs', 'jobs': []}}}", path);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    CHECK_EQ_STR(rows->diag.items[0].text, "nodes have GPUs of more than 64 models; 'model-64' is one too many");
    CHECK(strstr(rows->diag.items[0].where, ":1:") != NULL && strstr(rows->diag.items[0].hint, "one name") != NULL);
}

/* Of the first node type or another; the least CPU and the least memory already count, and 64 GPUs are allowed. */
TEST(where_cpu_or_memory_counts_nodes_have_64_gpus)
{
    static const struct {
        const char *own, *other; /* keys of the first node type, and of another */
        int code;
    } cases[] = {{"'gpus_per_node': 65", "'gpus_per_node': 65", 0},
                 {"'gpus_per_node': 65, 'cpus_per_node': 1", "'gpus_per_node': 1", SIM_E_CONFIG},
                 {"'gpus_per_node': 65, 'memory_per_node': '1B'", "'gpus_per_node': 1", SIM_E_CONFIG},
                 {"'gpus_per_node': 65", "'cpus_per_node': 1", SIM_E_CONFIG},
                 {"'gpus_per_node': 65", "'memory_per_node': '1B'", SIM_E_CONFIG},
                 {"'cpus_per_node': 1", "'gpus_per_node': 65", SIM_E_CONFIG},
                 {"'gpus_per_node': 64, 'cpus_per_node': 1, 'memory_per_node': '1B'", "'gpus_per_node': 64", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_run(BED(.quiet = true),
                                        "{'cluster': {%s, 'node_types': {'a': {'nodes': 1, 'gpu': 't4', %s}}},"
                                        " 'jobs': {'trace': {'format':'inline-jobs', 'jobs': []}}}",
                                        cases[i].own, cases[i].other);
        if (!CHECK_EQ_INT(rows->code, cases[i].code)) printf("\n  %s; %s", cases[i].own, cases[i].other);
        if (rows->code != 0)
            CHECK_EQ_STR(rows->diag.items[0].text, "where CPU or memory counts, a node may have 64 GPUs, not 65");
    }
}

/* What a part would leave of a node: of GPUs, of the largest node's; where CPUs count, half each. */
TEST(what_a_part_leaves_is_a_share_of_the_largest_node)
{
    struct scored scored = {.most_gpus = 8};
    for (int32_t gpus = 1; gpus <= 4; gpus++)
        for (int32_t milli = 250; milli <= 1000; milli += 250) {
            const struct node_view node = {.gpus = 4, .left_milli = 4000, .cpu_milli = 64000, .cpu_left_milli = 48000};
            const struct part part = {.gpus = gpus, .gpu_milli = milli, .cpu_milli = 16000};
            const double gpus_frac = (4 - gpus * milli / 1000.0) / 8;
            scored.most_cpu_milli = 0;
            CHECK_NEAR(scored_rest_frac(&scored, &node, &part), gpus_frac, 1e-12);
            scored.most_cpu_milli = 128000;
            CHECK_NEAR(scored_rest_frac(&scored, &node, &part), (gpus_frac + 0.25) / 2, 1e-12);
        }
}
