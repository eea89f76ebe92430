/* Pairs of gavel-fifo-packed and gandiva whose types have speeds beside each other. Ends of jobs by hand. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

enum { MOST_TYPES = 3 };

/* Types "a", "b" and "c" of jobs that run 100 s alone; speed[i][k] is that of type i beside type k, 0: they cannot
 * share. */
struct types {
    struct gpu_speed speeds[MOST_TYPES][MOST_TYPES];
    struct pair_config pairs[MOST_TYPES][MOST_TYPES];
    struct job_type types[MOST_TYPES];
};

static const char *const names[] = {"a", "b", "c"};

static void make_types(struct types *made, const double speed[MOST_TYPES][MOST_TYPES])
{
    for (int i = 0; i < MOST_TYPES; i++) {
        for (int k = 0; k < MOST_TYPES; k++) {
            made->speeds[i][k] = (struct gpu_speed){"v100", speed[i][k]};
            made->pairs[i][k] = (struct pair_config){names[k], {1, &made->speeds[i][k]}};
        }
        made->types[i] = (struct job_type){.name = names[i], .sharing.pairs = {MOST_TYPES, made->pairs[i]}};
    }
}

/* Ends of one job of each of the first n types, each of one GPU. */
static void check_ends(const char *scheduler, const char *params, int gpus, const double speed[MOST_TYPES][MOST_TYPES],
                       int n, const double *end_s)
{
    struct types made;
    struct job_record records[MOST_TYPES];
    SCOPED(jobrun) result;
    make_types(&made, speed);
    for (int i = 0; i < n; i++) {
        records[i] = jobrun_record(i, 0, 100, 1);
        records[i].type = names[i];
    }
    jobrun_init(&result,
                &(struct jobrun_spec){.records = records, .n = (size_t)n, .cluster = {.nodes = 1, .gpus_per_node = gpus},
                                      .scheduler = scheduler, .scheduler_params = params,
                                      .types = {MOST_TYPES, made.types}},
                0);
    for (int i = 0; i < n; i++) CHECK_NEAR(result.jobs[i].end_s, end_s[i], 1e-6);
}

#define BESIDE(a_b, b_a, a_c, c_a, b_c, c_b) ((const double[3][3]){{0, a_b, a_c}, {b_a, 0, b_c}, {c_a, c_b, 0}})
#define ENDS(...) ((const double[]){__VA_ARGS__})

/* The last job has the GPU for itself when the first has ended. */
TEST(gandiva_packs_jobs_at_their_speeds_beside_each_other)
{
    check_ends("gandiva", NULL, 1, BESIDE(0.8, 0.8, 0, 0, 0, 0), 2, ENDS(125, 125));
    check_ends("gandiva", NULL, 1, BESIDE(1, 0.25, 0, 0, 0, 0), 2, ENDS(100, 175));
    check_ends("gandiva", NULL, 2, BESIDE(0.9, 0.9, 0, 0, 0, 0), 2, ENDS(100, 100));
}

/* By default a pair must gain half of what a GPU does. Without one, the second job waits for the first. */
TEST(jobs_in_order_share_where_both_gain_enough)
{
    check_ends("gavel-fifo-packed", NULL, 1, BESIDE(0.8, 0.8, 0, 0, 0, 0), 2, ENDS(125, 125));
    check_ends("gavel-fifo-packed", "{\"least_gain\": 1.3}", 1, BESIDE(0.7, 0.7, 0, 0, 0, 0), 2,
               ENDS(100 / 0.7, 100 / 0.7));
    check_ends("gavel-fifo-packed", "{\"least_gain\": 1.3, \"idle_waits\": false}", 1, BESIDE(0.6, 0.6, 0, 0, 0, 0), 2,
               ENDS(100, 200));
}

/* c gains more beside b. */
TEST(a_job_joins_the_one_that_it_gains_most_with)
{
    check_ends("gavel-fifo-packed", NULL, 2, BESIDE(0, 0, 0.8, 0.8, 1, 0.8), 3, ENDS(100, 100, 120));
    check_ends("gavel-fifo-packed", NULL, 2, BESIDE(0, 0, 1, 0.8, 0.8, 0.8), 3, ENDS(100, 100, 120));
}

/* While one cannot be packed, no later job is. */
TEST(no_job_goes_ahead_of_one_that_waits)
{
    check_ends("gavel-fifo-packed", "{\"idle_waits\": false}", 1, BESIDE(0, 0, 1, 1, 0, 0), 3, ENDS(100, 200, 300));
}

/* Pairs share V100s and were measured not to share K80s: two pairs wait for the one V100, one job has the K80. */
TEST(gandiva_packs_no_pair_where_it_cannot_share)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'k80', 'node_types': {'b': {'nodes': 1, 'gpus_per_node': 1,"
        " 'gpu': 'v100-16-sxm'}}}, 'jobs': {'scheduler': 'gandiva', 'placement': 'counted', 'types': {'lm': {'sharing':"
        " {'pairs': {'lm': {'speeds': {'v100-16-sxm': 0.9, 'k80': 0}}}}}}, 'trace': {'format': 'inline-jobs', 'jobs':"
        " [{'duration': '300s', 'type': 'lm'}, {'duration': '300s', 'type': 'lm'}, {'duration': '300s', 'type': 'lm'}]}}}");
    double sum_s = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_jobs; i++) sum_s += rows->jobs[i].end_s;
    CHECK_NEAR(sum_s, 300 + 2 * 300 / 0.9, 1e-6);
}

/* When the last of two jobs of 100 s ends that keep 80 % of this speed beside each other. */
static double packed_end_s(double speed, const char *params)
{
    struct gpu_speed alone = {"v100", speed}, beside = {"v100", 0.8 * speed};
    struct pair_config pairs[] = {{"a", {1, &beside}}};
    struct job_type type = {.name = "a", .speeds = {1, &alone}, .sharing.pairs = {1, pairs}};
    struct job_record records[2];
    SCOPED(jobrun) run;
    for (int i = 0; i < 2; i++) {
        records[i] = jobrun_record(i, 0, 100, 1);
        records[i].type = "a";
    }
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 2, .types = {1, &type},
                                      .cluster = {.nodes = 1, .gpus_per_node = 1, .gpu = "v100"},
                                      .scheduler = "gavel-packed", .scheduler_params = params},
                0);
    return fmax(run.jobs[0].end_s, run.jobs[1].end_s);
}

/* On a GPU of a quarter of the speed, with rounds four times as long, all takes four times as long. */
TEST(a_pair_gains_as_much_on_a_slow_gpu)
{
    const double fast_s = packed_end_s(1, "{\"round\": \"10s\"}"), slow_s = packed_end_s(0.25, "{\"round\": \"40s\"}");
    CHECK_NEAR(fast_s, 125, 1e-6);
    CHECK_NEAR(slow_s, 4 * fast_s, 1e-6);
}

/* A job that does not run beside another one never joins it, and is never joined by it. */
TEST(horus_shares_if_both_jobs_run)
{
    for (int stuck = 0; stuck < 2; stuck++)
        for (int first = 0; first < 2; first++) {
            struct types made;
            SCOPED(jobrun) result;
            make_types(&made, stuck == 0 ? BESIDE(0, 0.9, 0, 0, 0, 0) : BESIDE(0.9, 0, 0, 0, 0, 0));
            for (int i = 0; i < 2; i++) made.types[i].sharing.utilisation = 0.2;
            struct job_record records[] = {jobrun_record(0, 0, 100, 1), jobrun_record(1, 10, 100, 1)};
            records[0].type = names[first];
            records[1].type = names[!first];
            jobrun_init(&result,
                        &(struct jobrun_spec){.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                              .scheduler = "horus", .types = {2, made.types}},
                        0);
            CHECK_NEAR(result.jobs[0].end_s, 100, 1e-6);
            CHECK_NEAR(result.jobs[1].start_s, 100, 1e-6);
        }
}
