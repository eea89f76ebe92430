/* Synergy: all jobs for whom others can make room find it, and nobody makes room for one that cannot start. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Images are as fast as their GPUs from 6 CPUs for each on, half as fast with 3; language needs half a CPU. */
#define IMAGE "'image': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 6, 'speed': 2}]}}"
#define LANGUAGE "'language': {'host': {'cpus': [{'per_gpu': 0.5, 'speed': 1}]}}"

/* Two jobs ask for 3 CPUs beside 7 of 8. The image job does not fit; the other one needs half a CPU. */
TEST(a_job_that_needs_less_than_a_refused_one_starts)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 8}, 'jobs': {'scheduler': 'synergy',"
        " 'placement': 'best-fit', 'types': {" IMAGE ", " LANGUAGE "}, 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '100s', 'cpus': 7}, {'duration': '100s', 'cpus': 3, 'type': 'image'},"
        "{'duration': '100s', 'cpus': 3, 'type': 'language'}]}}}");
    CHECK_NEAR(bed_job(rows, 1)->start_s, 100, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 0, 0);
}

static struct bed_rows *run_gangs(const char *jobs)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 3, 'gpus_per_node': 4, 'cpus_per_node': 12}, 'jobs': {'scheduler': 'synergy',"
                  " 'placement': 'consolidated', 'types': {" IMAGE ", " LANGUAGE "}, 'trace': {'format': 'inline-jobs',"
                  " 'jobs': [%s]}}, 'keep': 'decisions'}",
                  jobs);
}

/* From 60 s on a job of 6 GPUs waits for a node of 4 free GPUs. Nobody gives back for it until there is one. */
TEST(nobody_gives_back_for_a_job_that_cannot_start)
{
    struct bed_rows *rows = run_gangs("{'duration': '400s', 'gpus': 2, 'type': 'image'},"
                                      "{'duration': '400s', 'gpus': 2, 'cpus': 6},"
                                      "{'duration': '20s', 'gpus': 2, 'cpus': 6},"
                                      "{'duration': '400s', 'gpus': 2, 'type': 'image'},"
                                      "{'submit': '60s', 'duration': '100s', 'gpus': 6, 'type': 'image'},"
                                      "{'submit': '61s', 'duration': '1s', 'cpus': 1},"
                                      "{'submit': '63s', 'duration': '1s', 'cpus': 1}");
    CHECK_EQ_INT(bed_decisions(rows, "tune", -1), 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 200, 0);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 200, 0);
    CHECK_NEAR(bed_job(rows, 4)->start_s, 200, 0);
}

/* Three jobs of 2 GPUs hold all 12 CPUs of a node. One of 4 GPUs on two nodes needs 6 CPUs on each of these: the last
 * two jobs give back 6, and the first keeps what it has. */
TEST(a_job_on_two_nodes_takes_back_what_is_missing)
{
    struct bed_rows *rows = run_gangs("{'duration': '400s', 'gpus': 2, 'type': 'image'},"
                                      "{'duration': '400s', 'gpus': 2, 'type': 'image'},"
                                      "{'duration': '400s', 'gpus': 2, 'type': 'image'},"
                                      "{'submit': '40s', 'duration': '100s', 'gpus': 4, 'nodes': 2, 'type': 'image'}");
    CHECK_NEAR(bed_job(rows, 3)->start_s, 40, 0);
    int n_given_back = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        n_given_back += strstr(rows->decisions[i].reason, "gives back") != NULL;
    CHECK_EQ_INT(n_given_back, 2);
}

/* An image job on each node holds 8 CPUs. Half a GPU of another needs its own share, 2 of them. */
TEST(an_excess_is_given_back_to_a_share_of_a_gpu)
{
    static const char format[] =
        "{'cluster': {'nodes': 2, 'gpus_per_node': 2, 'cpus_per_node': 6}, 'jobs': {'scheduler': 'synergy', 'placement':"
        " '%s', 'types': {" IMAGE "}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s', 'type':"
        " 'image'}, {'duration': '1000s', 'type': 'image'}, {'submit': '10s', 'duration': '100s', 'gpu_share': 0.5,"
        " 'type': 'image'}, {'submit': '20s', 'duration': '100s', 'gpu_share': 0.5, 'type': 'image'}]}}}";
    static const char *const placers[] = {"best-fit", "fgd", "first-fit"};
    for (int i = 0; i < 3; i++) {
        struct bed_rows *rows = bed_ok(BED(.check = true), format, placers[i]);
        CHECK_NEAR(bed_job(rows, 2)->start_s, 10, 0);
        CHECK_NEAR(bed_job(rows, 3)->start_s, 20, 0);
        for (int k = 2; k < 4; k++) CHECK(bed_job(rows, k)->end_s <= bed_job(rows, k)->start_s + 100);
        bed_free(rows);
    }
}

/* The image job holds all CPUs of the only node with a V100, and gives back for jobs that need one. */
TEST(an_excess_is_given_back_to_jobs_of_some_gpu_models)
{
    const char *path = test_file("hosts.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,100000,2,V100\n"
                                              "n1,8000,100000,2,T4\n");
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes_file': {'path': '%s'}}, 'jobs': {'scheduler': 'synergy', 'placement': 'best-fit', 'types':"
        " {'h': {'host': {'cpus': [{'per_gpu': 4, 'speed': 1}, {'per_gpu': 8, 'speed': 2}]}}}, 'trace': {'format':"
        " 'inline-jobs', 'jobs': [{'duration': '1000s', 'type': 'h'}, {'submit': '10s', 'duration': '100s', 'type': 'h',"
        " 'gpu_models': 'V100'}, {'submit': '20s', 'duration': '100s', 'type': 'h', 'gpu_models': 'V100'}]}}}",
        path);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 10, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 110, 0);
}

/* The image job has 16 of 24 CPUs, since others hold 6 and 2. A shorter job comes first by GPUs, and finds 22 of its 24
 * CPUs: the running jobs go on as they are. */
TEST(a_preempted_job_goes_on_where_others_find_no_room)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 24}, 'jobs': {'scheduler': {'policy': 'synergy',"
        " 'order': 'srtf'}, 'types': {" IMAGE "}, 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '1000s', 'gpus': 4, 'type': 'image'}, {'duration': '900s', 'gpus': 2, 'cpus': 6},"
        "{'duration': '2000s', 'gpus': 0, 'cpus': 2}, {'submit': '20s', 'duration': '5s', 'gpus': 8, 'cpus': 24}]}}}");
    CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 0);
    CHECK_EQ_INT(bed_job(rows, 1)->preemptions, 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 750, 1e-6);
    CHECK_NEAR(bed_job(rows, 3)->start_s, 2000, 0);
}

/* The second job makes more of memory than the first one of memory and CPUs, which gives back 8 of its 12 CPUs. */
TEST(a_job_of_cpus_starts_with_those_that_the_optimum_leaves)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 16, 'memory_per_node': '400GB'}, 'jobs':"
        " {'scheduler': {'policy': 'synergy', 'division': 'opt'}, 'placement': 'best-fit', 'types': {'m': {'host':"
        " {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 6, 'speed': 3}], 'memory': [{'per_gpu': '50GB', 'speed':"
        " 1}, {'per_gpu': '150GB', 'speed': 3}]}}, 'steep': {'host': {'memory': [{'per_gpu': '50GB', 'speed': 1},"
        " {'per_gpu': '150GB', 'speed': 10}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s',"
        " 'gpus': 2, 'cpus': 4, 'memory': '100GB', 'type': 'm'}, {'submit': '1s', 'duration': '50s', 'gpus': 0,"
        " 'cpus': 6}, {'submit': '10s', 'duration': '5000s', 'gpus': 2, 'cpus': 1, 'memory': '100GB', 'type':"
        " 'steep'}]}}}");
    CHECK_NEAR(bed_job(rows, 1)->start_s, 10, 0);
}

/* The most memory that a job may ask for, times its GPUs, is more than 63 bits hold. */
TEST(very_much_memory_is_divided)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 16, 'cpus_per_node': 16}, 'jobs': {'scheduler': 'synergy',"
        " 'placement': 'best-fit', 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s', 'gpus': 12,"
        " 'cpus': 4, 'memory': '1000PB'}, {'submit': '1s', 'duration': '10s'}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 1000, 0);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 1, 0);
}

/* A job is preempted once, and later starts like any other, with its best. Images are half as fast with 3 CPUs. */
TEST(a_job_that_was_preempted_starts_with_its_best_again)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 24}, 'jobs': {'scheduler': {'policy': 'synergy',"
        " 'order': 'srtf', 'division': 'greedy'}, 'types': {" IMAGE "}, 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '100s', 'gpus': 4, 'type': 'image'}, {'submit': '10s', 'duration': '10s', 'gpus': 8}]}}}");
    CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 1);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 20, 1e-6);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 20 + (100 - 10 * 2) / 2.0, 1e-6);
}

/* Four jobs hold 200 of 800 GB each, their best, and 100 are their own share. The fifth asks for 300 GB, of which it
 * gains by 200: two of the four give back 100 each, and the first two end in two thirds of the time of the trace. */
TEST(nobody_gives_back_for_more_than_a_job_gains_by)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 24, 'memory_per_node': '800GB'}, 'jobs':"
        " {'scheduler': 'synergy', 'placement': 'best-fit', 'types': {'cached': {'host': {'cpus': [{'per_gpu': 2,"
        " 'speed': 3}], 'memory': [{'per_gpu': '0B', 'speed': 1}, {'per_gpu': '100GB', 'speed': 2}, {'per_gpu':"
        " '200GB', 'speed': 3}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '300s', 'type': 'cached'},"
        "{'duration': '300s', 'type': 'cached'}, {'duration': '300s', 'type': 'cached'}, {'duration': '300s', 'type':"
        " 'cached'}, {'submit': '40s', 'duration': '400s', 'memory': '300GB', 'type': 'cached'}]}}}");
    CHECK_NEAR(bed_job(rows, 4)->start_s, 40, 0);
    CHECK_NEAR(bed_job(rows, 4)->end_s, 440, 1e-6);
    for (int i = 0; i < 4; i++) {
        if (i < 2) CHECK_NEAR(bed_job(rows, i)->end_s, 200, 1e-6);
        if (i >= 2) CHECK(bed_job(rows, i)->end_s > 210 && bed_job(rows, i)->end_s < 300);
    }
}

/* The first job holds 12.999 CPUs, as many for each of its 3 GPUs, and 7 are its own share. The second one needs 6: the
 * first gives back 5.999, although 6 would leave all GPUs as many. So it is then as fast as with what it asked for. */
TEST(nobody_gives_back_from_its_own_share)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'cpus_per_node': 13}, 'jobs': {'scheduler': 'synergy',"
        " 'placement': 'best-fit', 'types': {'steep': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 5.3,"
        " 'speed': 2}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 3, 'cpus': 7,"
        " 'type': 'steep'}, {'submit': '10s', 'duration': '1000s', 'cpus': 6}]}}}");
    const double before = (1 + (12.999 / 3 - 2) / 3.3) / (1 + (7.0 / 3 - 2) / 3.3);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 10, 0);
    CHECK_NEAR(bed_job(rows, 0)->end_s, 10 + (100 - 10 * before), 1e-6);
}

/* Three GPUs on two nodes have 4.667 of the 7 CPUs that the job asked for, all of the first node, and 2.334. Parts are
 * rounded up, so their sum is 7.001. The job gets memory all the same, 100 GB for each GPU instead of 10,
 * and is then as fast as its 2.3335 CPUs for each GPU. */
TEST(parts_that_are_rounded_up_do_not_keep_a_job_from_more)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 2, 'cpus_per_node': 4.667, 'memory_per_node': '1TB'}, 'jobs':"
        " {'scheduler': 'synergy', 'placement': 'consolidated', 'types': {'cached': {'host': {'cpus': [{'per_gpu': 3,"
        " 'speed': 3}], 'memory': [{'per_gpu': '0B', 'speed': 1}, {'per_gpu': '100GB', 'speed': 3}]}}}, 'trace':"
        " {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 3, 'cpus': 7, 'memory': '30GB', 'type':"
        " 'cached'}]}}}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100 * 1.2 / 2.3335, 1e-6);
}
