/* Generated jobs of Acme's clusters against every vertex of the curves that its study drew: of run times, of all jobs
 * and of each kind, of GPUs, and of GPU time over GPUs. No curve is further away than 5 points. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

enum { N_JOBS = 200000 };

struct vertex {
    char metric[32], cluster[16], type[16];
    double value, percent;
};

/* The share of the jobs of its type that lie below a vertex, or of the GPU time. */
static double share_below(const struct job_record *jobs, const struct vertex *vertex)
{
    const bool of_time = strcmp(vertex->metric, "gpus_per_job_cdf_of_gpu_time") == 0;
    const bool over_duration = strcmp(vertex->metric, "gpu_job_duration_s") == 0;
    double below = 0, all = 0;
    for (int i = 0; i < N_JOBS; i++) {
        const double duration_s = sim_s_from_ns(jobs[i].duration_ns), weight = of_time ? duration_s * jobs[i].gpus : 1;
        if (strcmp(vertex->type, "all") != 0 && strcmp(vertex->type, jobs[i].type) != 0) continue;
        all += weight;
        below += (over_duration ? duration_s : jobs[i].gpus) <= vertex->value ? weight : 0;
    }
    return below / all;
}

/* How many vertices of the cluster there are; those of queueing times are no property of the jobs. */
static int check_vertices(const char *path, const char *cluster, const struct job_record *jobs)
{
    FILE *file = fopen(path, "r");
    struct vertex vertex;
    char line[256];
    int n = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%31[^,],%15[^,],%15[^,],%lf,%lf", vertex.metric, vertex.cluster, vertex.type, &vertex.value,
                   &vertex.percent) != 5 ||
            strcmp(vertex.cluster, cluster) != 0 || strcmp(vertex.metric, "gpu_job_queue_s") == 0)
            continue;
        CHECK_NEAR(share_below(jobs, &vertex), vertex.percent / 100, 0.05);
        n++;
    }
    if (file != NULL) fclose(file);
    return n;
}

static void check_cluster(const char *mix, const char *cluster, int n_vertices)
{
    const char *path = test_shared("job_traces/five_clusters_duration_queue_size_cdfs.csv");
    if (path == NULL) return;
    struct job_record *jobs = calloc(N_JOBS, sizeof *jobs);
    SCOPED(trace_source) trace;
    CHECK_EQ_INT(trace_source_jobs(&trace, 1, "{'format': 'generate-jobs', 'mix': '%s', 'count': %d}", mix, N_JOBS), 0);
    for (int i = 0; i < N_JOBS; i++) CHECK_EQ_INT(trace_source_job(&trace, &jobs[i]), 1);
    CHECK_EQ_INT(check_vertices(path, cluster, jobs), n_vertices);
    free(jobs);
}

TEST_OPTIMISED(seren_jobs_follow_the_published_curves)
{
    check_cluster("seren", "Seren", 7 * 22 + 2 * 21);
}

TEST_OPTIMISED(kalos_jobs_follow_the_published_curves)
{
    check_cluster("kalos", "Kalos", 5 * 22 + 2 * 21);
}
