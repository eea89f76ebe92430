/* Plans of training jobs under schedulers, power and the network: whole ranks, widths that gain nothing, messages of
 * several kinds, stages on several nodes. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"
#define DGX "'nodes': %d, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': {'bandwidth': '40GB/s'%s}"

static double duration_of(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s - row->start_s : (double)NAN;
}

/* The most GPUs that a job holds at any time. */
static int64_t most_held(const struct bed_rows *rows, int64_t job)
{
    int64_t most = 0;
    for (size_t i = 0; i < rows->n_placements; i++) {
        int64_t held = 0;
        if (rows->placements[i].job != job) continue;
        for (size_t k = 0; k < rows->n_placements; k++)
            if (rows->placements[k].job == job && rows->placements[k].start_s == rows->placements[i].start_s)
                held += rows->placements[k].gpus;
        most = held > most ? held : most;
    }
    return most;
}

/* --- Schedulers --- */

/* 64 sequences make 8 micro-batches on each of 8 ranks, and 8 on the fullest of 9: the ninth rank gains nothing. */
TEST(elastic_schedulers_step_over_widths_that_gain_nothing)
{
    static const char *const schedulers[] = {"optimus", "afs"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{'cluster': {" DGX "}, 'jobs': {'scheduler': '%s', 'types': {'t': {'training': {'llm': "
            "'phi-2', 'global_batch': 64, 'zero': 0}}}, " TRACE(
                "{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 5000}") "}}",
            8, "", schedulers[i]);
        CHECK_EQ_INT(most_held(rows, 0), 64);
    }
}

/* Ranks of 3 GPUs: all that schedulers of elastic jobs hand out is a multiple. */
TEST(schedulers_hold_whole_ranks)
{
    static const char *const schedulers[] = {"sia", "elasticflow", "pollux", "optimus", "afs", "equi"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++)
        for (int ranks = 3; ranks <= 6; ranks += 3) {
            const struct bed_rows *rows = bed_ok(
                BED(.check = true), "{'cluster': {" DGX "}, 'jobs': {'scheduler': '%s', 'types': {'t': {'training': "
                "{'llm': 'llama-3.1-8b', 'shape': {'layers': 24, 'hidden': 1536, 'heads': 12}, 'pipeline_parallel': %d, "
                "'global_batch': 64}}}, " TRACE(
                    "{'submit': '0s', 'type': 't', 'gpus': %d, 'steps': 900}, {'submit': '1s', 'type': 't', 'gpus': %d, "
                    "'steps': 900}, {'submit': '200s', 'type': 't', 'gpus': %d, 'steps': 900}") "}}",
                4, "", schedulers[i], ranks, ranks, ranks, 2 * ranks);
            for (int job = 0; job < 3; job++) {
                CHECK_EQ_STR(rows->jobs[job].status, "finished");
                CHECK(most_held(rows, job) > 0);
            }
            for (size_t k = 0; k < rows->n_placements; k++) {
                int64_t held = 0;
                for (size_t o = 0; o < rows->n_placements; o++)
                    if (rows->placements[o].job == rows->placements[k].job &&
                        rows->placements[o].start_s == rows->placements[k].start_s)
                        held += rows->placements[o].gpus;
                CHECK_EQ_INT(held % ranks, 0);
            }
        }
}

/* Where GPUs are only counted, parts are fractions. Those of three jobs with ranks of 8 GPUs are 5.33 each. */
TEST(counted_parts_smaller_than_a_rank_let_jobs_run)
{
    static const char *const schedulers[] = {"equi", "hesrpt", "all-to-shortest"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{'cluster': {" DGX "}, 'jobs': {'scheduler': '%s', 'placement': 'counted', 'types': {'t':"
            " {'training': {'llm': 'llama-3.1-8b', 'tensor_parallel': 8, 'global_batch': 8}}}, " TRACE(
                "{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 50}, {'submit': '1s', 'type': 't', 'gpus': 16, "
                "'steps': 50}, {'submit': '2s', 'type': 't', 'gpus': 8, 'steps': 50}") "}}",
            2, "", schedulers[i]);
        CHECK_EQ_INT(rows->n_jobs, 3);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
    }
}

/* --- Recomputed layers --- */

/* Seconds of a job whose 16 layers of each of two stages are recomputed so; NAN: it does not fit. */
static double recomputing_s(const char *recompute, int layers)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {" DGX "}, 'jobs': {'types': {'t': {'training': {'llm': 'llama-2-7b', 'tensor_parallel': 2, "
        "'pipeline_parallel': 2, 'micro_batch': 4, 'sequence_tokens': 8192, 'global_batch': 64, 'recompute': '%s', "
        "'recompute_layers': %d}}}, " TRACE("{'submit': '0s', 'type': 't', 'gpus': 16, 'steps': 20}") "}}",
        2, "", recompute, layers);
    return strcmp(bed_job(rows, 0)->status, "finished") == 0 ? duration_of(rows, 0) : (double)NAN;
}

/* The least number that fits, one by one. */
TEST(jobs_recompute_as_few_layers_as_fit)
{
    double least_s = recomputing_s("none", 0);
    CHECK(isnan(least_s));
    int layers = 0;
    while (isnan(least_s) && layers < 16) least_s = recomputing_s("full", ++layers);
    CHECK(layers > 1 && layers < 16);
    CHECK_NEAR(recomputing_s("as-needed", 0), least_s, 0.0);
}

/* --- Messages --- */

/* One kind of messages fills the NICs of the first job. The second job's NICs are as full of one kind or of several: it
 * takes no more of the fabric than any other. */
TEST(kinds_of_messages_share_the_part_of_their_nic)
{
    static const char *const others[] = {
        "'llm': 'llama-3.1-8b', 'zero': 3, 'global_batch': 64, 'recompute': 'full'",
        "'llm': 'qwen3-30b-a3b', 'expert_parallel': 16, 'global_batch': 64, 'recompute': 'full'"};
    double alike_s = 0.0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{'cluster': {" DGX "}, 'jobs': {'types': {'t': {'training': {'llm': 'llama-3.1-8b', "
            "'zero': 3, 'global_batch': 64, 'recompute': 'full'}}, 'u': {'training': {%s}}}, " TRACE(
                "{'submit': '0s', 'type': 't', 'gpus': 16, 'steps': 20}, {'submit': '0s', 'type': 'u', 'gpus': 16, "
                "'steps': 2000}") "}}",
            4, ", 'fabric': '320GB/s'", others[i]);
        if (i == 0) alike_s = duration_of(rows, 0);
        CHECK_NEAR(duration_of(rows, 0), alike_s, 1e-6 * alike_s);
    }
}

/* Two stages on each of two nodes: the second one sends to the third over the network, which a slower one delays. */
TEST(stages_on_different_nodes_send_over_the_network)
{
    double before_s = 0.0;
    for (int mb_per_s = 32000; mb_per_s >= 2000; mb_per_s /= 4) {
        double planned_s[2];
        for (int is_placed = 0; is_placed < 2; is_placed++)
            planned_s[is_placed] = duration_of(
                bed_ok(BED(.check = true),
                       "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'h100-sxm', 'network': {'bandwidth': '%dMB/s'"
                       "}}, 'jobs': {'placement': '%s', 'types': {'t': {'training': {'llm': 'llama-3.1-8b', "
                       "'tensor_parallel': 4, 'pipeline_parallel': 4, 'global_batch': 16}}}, " TRACE(
                           "{'submit': '0s', 'type': 't', 'gpus': 16, 'steps': 50}") "}}",
                       mb_per_s, is_placed ? "consolidated" : "counted"),
                0);
        CHECK_NEAR(planned_s[0], planned_s[1], 1e-8);
        CHECK(planned_s[0] > before_s);
        before_s = planned_s[0];
    }
}

/* Four GPUs of a node share its NIC, whatever the nodes of another type have. */
TEST(gpus_of_each_node_type_share_their_own_nic)
{
    static const char *const placements[] = {"consolidated", "counted"};
    for (int i = 0; i < 2; i++) {
        double job_s[2];
        for (int is_beside = 0; is_beside < 2; is_beside++) {
            const char *own = "'nodes': 2, 'gpus_per_node': 4, 'gpu': 'h100-sxm'";
            const char *nodes = test_json(
                "'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm', 'node_types': {'other': {%s}}", own);
            job_s[is_beside] = duration_of(
                bed_ok(BED(.check = true),
                       "{'cluster': {%s, 'network': {'bandwidth': '40GB/s', 'per': 'node'}}, 'jobs': {'placement': '%s', "
                       "'scheduler': 'gavel', 'types': {'t': {'training': {'llm': 'llama-3.1-8b', 'zero': 3, 'recompute':"
                       " 'full', 'global_batch': 64}}}, " TRACE(
                           "{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 50}") "}}",
                       is_beside ? nodes : own, placements[i]),
                0);
        }
        CHECK_NEAR(job_s[1], job_s[0], 1e-6 * job_s[0]);
    }
}
