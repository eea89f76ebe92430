/* Whose energy it is: what jobs, services, GPUs that nobody holds and servers draw is what the site draws, whatever is
 * shared, preempted, held down by clocks, failed or kept as a spare. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { NODES = 4, BARE_W = 670 };
static const double idle_w = 53.7, context_w = 80.0, per_gpu = 0.67; /* of an A100, bare and with a process */

#define CLUSTER(capping)                                                                                               \
    "'cluster': {'nodes': 4, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"               \
    " 'per_gpu_watt': 0.67}, 'power': {'budget': '9kW', 'level': 'rack', 'servers_per_rack': 2,"                       \
    " 'commands': {'out_of_band': '7s'}, 'capping': " capping "}}"
#define TYPES                                                                                                          \
    "'types': {'default': {'power': {'mean': '380W', 'clock_share': 0.5}},"                                            \
    " 'light': {'power': {'mean': '150W', 'priority': 'high'}}}"
#define SHARED_JOBS                                                                                                    \
    "'jobs': {'scheduler': 'fifo-skip', 'placement': 'fgd', " TYPES ", 'trace': {'format': 'inline-jobs',"             \
    " 'jobs': [  {'submit': '0s', 'duration': '100s', 'gpus': 1, 'gpu_share': 0.3}, {'submit': '0s',"                 \
    " 'duration': '60s', 'gpus': 1, 'gpu_share': 0.5, 'type': 'light'}, {'submit': '10s', 'duration': '50s',"         \
    " 'gpus': 12}, {'submit': '20s', 'duration': '0s', 'gpus': 2}]}}"
#define GENERATED_JOBS(scheduler)                                                                                      \
    "'jobs': {'scheduler': '" scheduler "', 'placement': 'consolidated', " TYPES ","                                   \
    " 'trace': {'format': 'generate-jobs', 'mix': 'helios', 'count': 80, 'max_gpus': 16, 'rate_scale': 4}}"
#define FAILURES                                                                                                       \
    "'failures': {'spare_nodes': 1, 'causes': {'node': {'scope': 'node',"                                              \
    " 'lifetime': {'mean': '2d'}, 'repair': {'mean': '6h'}}}}"
#define SERVICE                                                                                                        \
    "'services': {'chat': {'llm': 'llama-2-70b', 'tensor_parallel': 8, 'replicas': 1,"                                 \
    " 'trace': {'format': 'generate', 'count': 100, 'arrival': {'process': 'poisson', 'rate': '1/s'},"                 \
    " 'prompt': {'distribution': 'uniform', 'min': 100, 'max': 3000},"                                                \
    " 'output': {'distribution': 'uniform', 'min': 1, 'max': 300}}}}"

static double or_zero(double value)
{
    return isnan(value) ? 0.0 : value;
}

static double rows_j(const struct bed_rows *rows)
{
    double all_j = 0.0;
    for (size_t i = 0; i < rows->n_jobs; i++) all_j += rows->jobs[i].energy_j;
    return all_j;
}

/* All of these stand for themselves: rows, the services' work, GPUs that nobody holds, and servers by what they
 * hold. */
static void check_parts(const struct bed_rows *rows)
{
    const double jobs_j = rows_j(rows), services_j = or_zero(bed_metric(rows, "energy.j"));
    const double idle_j = bed_metric(rows, "energy.idle_j"), servers_j = bed_metric(rows, "energy.servers_j");
    const double gpus_j = jobs_j + services_j + idle_j;
    CHECK_EQ_INT(rows->code, 0);
    CHECK(rows->n_jobs > 3);
    CHECK_NEAR(jobs_j / bed_metric(rows, "energy.jobs_j"), 1.0, 1e-9);
    CHECK_NEAR(servers_j / (per_gpu * gpus_j + NODES * BARE_W * rows->end_s), 1.0, 1e-9);
    CHECK_NEAR((gpus_j + servers_j) / bed_metric(rows, "energy.site_j"), 1.0, 1e-9);
}

TEST(the_parts_make_up_the_site)
{
    static const char *const scenarios[] = {
        "{" CLUSTER("'none'") ", " SHARED_JOBS "}", "{" CLUSTER("'none'") ", " GENERATED_JOBS("srtf") ", " SERVICE "}",
        "{" CLUSTER("{'policy': 'polca', 't1': 0.6, 't2': 0.7}") ", " GENERATED_JOBS("tiresias") ", " SERVICE "}",
        "{" CLUSTER("{'policy': 'static-lock', 'clock': '705MHz'}") ", " GENERATED_JOBS("fifo") ", " FAILURES "}",
        "{" CLUSTER("'brake'") ", " GENERATED_JOBS("srtf") ", " FAILURES ", 'until': '1d'}"};
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct bed_rows *rows = bed_run(NULL, "%s", scenarios[i]);
        struct bed_rows *heap = bed_run(BED(.queue = QUEUE_HEAP, .check = true), "%s", scenarios[i]);
        check_parts(rows);
        CHECK(bed_equal(rows, heap));
    }
}

/* A job on 0.3 of a GPU draws 0.3 of what its type says; the rest of that GPU idles. */
TEST(a_share_draws_its_share)
{
    struct bed_rows *rows = bed_run(NULL, "{" CLUSTER("'none'") ", " SHARED_JOBS "}");
    if (CHECK_EQ_INT(rows->code, 0) && CHECK_EQ_INT(rows->n_jobs, 4)) {
        CHECK_NEAR(bed_job(rows, 0)->energy_j, 0.3 * 380 * 100, 1e-6);
        CHECK_NEAR(bed_job(rows, 1)->energy_j, 0.5 * 150 * 60, 1e-6);
        CHECK_NEAR(bed_job(rows, 2)->energy_j, 12 * 380 * 50, 1e-6);
        CHECK_NEAR(bed_job(rows, 3)->energy_j, 0.0, 0.0);
        CHECK_NEAR(bed_metric(rows, "energy.idle_j"), idle_w * (NODES * 8 * 100 - 0.3 * 100 - 0.5 * 60 - 12 * 50),
                   1e-6);
        CHECK_NEAR(bed_metric(rows, "job.energy_j.max"), 12 * 380 * 50, 1e-6);
    }
}

/* One node waits as a spare, others fail: they stay switched on, and their GPUs idle. */
TEST(nodes_out_of_service_idle)
{
    struct bed_rows *rows = bed_run(NULL, "{" CLUSTER("'none'") ", " GENERATED_JOBS("fifo") ", " FAILURES "}");
    const double held_gpu_s = bed_metric(rows, "job.gpu_s.sum");
    CHECK_EQ_INT(rows->code, 0);
    CHECK(bed_metric(rows, "failure.events") > 0);
    CHECK_NEAR(bed_metric(rows, "energy.idle_j") / (idle_w * (NODES * 8 * rows->end_s - held_gpu_s)), 1.0, 1e-9);
}

/* A type that says nothing of its power idles with a process; without a section "power" no row tells of energy. */
TEST(unknown_power_gives_no_energy)
{
    static const char jobs[] = "'jobs': {'placement': 'first-fit', 'trace': {'format': 'inline-jobs',"
                               " 'jobs': [{'submit': '0s', 'duration': '40s', 'gpus': 2}]}}";
    struct bed_rows *known = bed_run(NULL, "{" CLUSTER("'none'") ", %s}", jobs);
    struct bed_rows *unknown = bed_run(NULL, "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, %s}", jobs);
    if (CHECK_EQ_INT(known->n_jobs, 1) && CHECK_EQ_INT(unknown->n_jobs, 1)) {
        CHECK_NEAR(known->jobs[0].energy_j, 2 * context_w * 40, 1e-9);
        CHECK(isnan(unknown->jobs[0].energy_j) && isnan(bed_metric(unknown, "job.energy_j.mean")));
    }
}
