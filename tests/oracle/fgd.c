/* Weng et al., "Beware of Fragmentation" (USENIX ATC 2023): GPUs that six placers leave unallocated when what has
 * arrived asks for all that the 1213 GPU nodes of the cluster have, against the results that were released with the
 * paper, on four of its traces. Ten seeds stand for theirs, 42 to 51; the random numbers are others. */
#include "sim/core/csv.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { POLICIES = 6, SEEDS = 10, FIRST_SEED = 42 };

static const struct {
    const char *released, *placement;
    double tolerance_points;
} policies[POLICIES] = {
    {"01-Random", "'random'", 1.5},
    {"02-DotProd", "{'policy': 'dot-product', 'ties': 'shuffled'}", 1.5},
    {"03-GpuClustering", "{'policy': 'clustering', 'ties': 'shuffled'}", 1.5},
    {"04-GpuPacking", "{'policy': 'packing', 'ties': 'shuffled'}", 1.5},
    {"05-BestFit", "{'policy': 'best-fit', 'ties': 'shuffled'}", 0.3},
    {"06-FGD", "{'policy': 'fgd', 'ties': 'shuffled'}", 0.3},
};

struct mean {
    double mean, sd;
    int n;
};

static void add(struct mean *mean, double value)
{
    const double before = mean->mean;
    mean->mean += (value - before) / ++mean->n;
    mean->sd = mean->n == 1 ? 0
                            : sqrt(((mean->n - 2) * mean->sd * mean->sd + (value - before) * (value - mean->mean)) /
                                   (mean->n - 1));
}

static bool is_text(const struct csv_field *field, const char *text)
{
    return field->n_chars == strlen(text) && memcmp(field->chars, text, field->n_chars) == 0;
}

/* The released results in a column of a file, in %; by policy. False when there are none. */
static bool read_released(const char *file, const char *trace, int column, struct mean means[POLICIES])
{
    const char *path = test_shared(file);
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    memset(means, 0, POLICIES * sizeof *means);
    if (path == NULL || !CHECK_EQ_INT(input_open(path, &input, &diag), 0)) return false;
    if (!CHECK_EQ_INT(csv_create(input, &(struct csv_options){0}, &csv, &diag), 0)) return false;
    while (csv_next(csv, &diag) == 1) {
        const struct csv_field *fields = csv_fields(csv);
        for (int i = 0; i < POLICIES; i++)
            if (is_text(&fields[0], trace) && is_text(&fields[1], policies[i].released))
                add(&means[i], strtod(fields[column].chars, NULL));
    }
    csv_destroy(csv);
    for (int i = 0; i < POLICIES; i++) CHECK_EQ_INT(means[i].n, SEEDS);
    return true;
}

/* In % of the capacity, when `load` % of it has been asked for. */
struct outcome {
    double allocated, fragmented;
};

static struct outcome run(const char *trace, int policy, int seed, int load)
{
    char nodes[256], pods[256];
    snprintf(pods, sizeof pods, "job_traces/alibaba_openb2023_pods_%s.csv", trace);
    snprintf(nodes, sizeof nodes, "%s", test_shared("job_traces/alibaba_openb2023_nodes.csv"));
    struct bed_rows *rows = bed_ok(
        BED(.no_rows = true),
        "{'cluster': {'nodes_file': {'path': '%s', 'cpu_nodes': false}}, 'seed': %d, 'until': '%ds',"
        " 'jobs': {'scheduler': 'fifo-skip', 'placement': %s, 'fragmentation': {'measure': true},"
        " 'trace': {'format': 'openb', 'path': '%s', 'resample': {'gpus': 6212}}}, 'keep': 'metrics'}",
        nodes, seed, load, policies[policy].placement, test_shared(pods));
    CHECK(bed_metric(rows, "cluster.gpus") == 6212);
    const double allocated = 100 * bed_metric(rows, "cluster.gpus_in_use.max") / 6212; /* nobody leaves: at the end */
    const double fragmented = (100 - allocated) * bed_metric(rows, "cluster.frag_frac.end");
    bed_free(rows);
    return (struct outcome){allocated, fragmented};
}

/* Whether the means differ by more than three standard errors. */
static bool differ(const struct mean *a, const struct mean *b)
{
    return fabs(a->mean - b->mean) > 3 * sqrt((a->sd * a->sd + b->sd * b->sd) / SEEDS);
}

static void check_table(const char *trace, const char *released)
{
    struct mean expected[POLICIES], got[POLICIES] = {0};
    if (!read_released("job_traces/fgd_atc23_expected__gpu_allocation_pct_vs_arrived_load.csv", released, 5 + 100,
                       expected))
        return;
    for (int i = 0; i < POLICIES; i++) {
        for (int seed = 0; seed < SEEDS; seed++) add(&got[i], run(trace, i, FIRST_SEED + seed, 100).allocated);
        if (!CHECK_NEAR(got[i].mean, expected[i].mean, policies[i].tolerance_points))
            printf("\n  %s: %s %.2f, released %.2f", trace, policies[i].placement, got[i].mean, expected[i].mean);
    }
    for (int a = 0; a < POLICIES; a++)
        for (int b = 0; b < a; b++)
            if (differ(&expected[a], &expected[b]))
                CHECK((got[a].mean < got[b].mean) == (expected[a].mean < expected[b].mean));
}

TEST_OPTIMISED(the_default_trace)
{
    check_table("default", "openb_pod_list_default");
}

TEST_OPTIMISED(all_gpus_shared)
{
    check_table("gpushare100", "openb_pod_list_gpushare100");
}

TEST_OPTIMISED(half_of_the_tasks_on_several_gpus)
{
    check_table("multigpu50", "openb_pod_list_multigpu50");
}

TEST_OPTIMISED(a_third_of_the_tasks_with_a_model)
{
    check_table("gpuspec33", "openb_pod_list_gpuspec33");
}

/* GPUs that are of no use, as the cluster fills up. */
TEST_OPTIMISED(fragmentation_grows_as_released)
{
    static const int loads[] = {20, 50, 80, 90};
    static const int chosen[] = {0, 4, 5};
    for (size_t l = 0; l < sizeof loads / sizeof loads[0]; l++) {
        struct mean expected[POLICIES];
        if (!read_released("job_traces/fgd_atc23_expected__gpu_fragmentation_vs_arrived_load.csv",
                           "openb_pod_list_default", 4 + loads[l], expected))
            return;
        for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
            struct mean got = {0};
            for (int seed = 0; seed < SEEDS; seed++)
                add(&got, run("default", chosen[i], FIRST_SEED + seed, loads[l]).fragmented);
            CHECK_NEAR(got.mean, expected[chosen[i]].mean, 0.5);
        }
    }
}
