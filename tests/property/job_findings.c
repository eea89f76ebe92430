/* Jobs whose speed is no whole ratio, whose link is slower than an adapter, or whose plan has ranks of several GPUs. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

#define TRACE(jobs) "'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}"

static double end_s(const struct bed_rows *rows)
{
    CHECK_EQ_INT(rows->code, 0);
    return bed_metric(rows, "job.jct_s.max");
}

/* Saves that are flows change what a job has done in the midst of its work. */
TEST(saves_as_flows_meet_any_speed)
{
    static const char *const designs[] = {"synchronous", "datastates", "fastpersist"};
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
        for (double speed = 0.7; speed < 0.78; speed += 0.009) {
            const struct bed_rows *rows = bed_run(
                BED(.check = true),
                "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s'},"
                " 'storage': {'store': {'device': 'rdma-h800'}}}, 'jobs': {'types': {'t': {'speeds': {'a100-80-sxm':"
                " %.3f}, 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '1min'}, 'params': 13e9, 'model':"
                " '%s', 'gpu_copy': '10GB/s', 'overlap': '10s', 'to': 'store'}}}, " TRACE(
                    "{'submit': '0s', 'type': 't', 'gpus': 16, 'duration': '1h'}") "}}",
                speed, designs[i]);
            CHECK(end_s(rows) >= 3600 / speed);
        }
}

/* A ring of two nodes sends the 10 GB once each way: 0.4 s at the adapters' 25 GB/s, 6.4 s at a sixteenth. */
TEST(a_link_slower_than_an_adapter_bounds_a_job_alone)
{
    for (int over = 1; over <= 16; over *= 4) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s',"
            " 'topology': 'leaf-spine', 'nodes_per_leaf': 1, 'oversubscription': %d}}, 'jobs': {'types': {'t': {'step':"
            " {'compute': '1s', 'collectives': [{'kind': 'all-reduce', 'bytes': '10GB'}]}}}, " TRACE(
                "{'submit': '0s', 'type': 't', 'gpus': 2, 'duration': '1000s'}") "}}",
            over);
        CHECK_NEAR(end_s(rows), 1000 * (1 + 0.4 * over) / 1.4, 0.1); /* latency */
    }
}

#define PLANNED                                                                                                        \
    "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '25GB/s'}}, 'jobs': "  \
    "{'scheduler': '%s', 'types': {'t': {'training': {'llm': 'llama-3.1-8b', 'tensor_parallel': 8, 'recompute': "       \
    "'full', 'global_batch': 8, 'micro_batch': %d}}}, "

/* Of the sizes of micro-batches, 0 takes the fastest. */
TEST(the_best_micro_batch_is_that_of_the_shortest_step)
{
    double least_s = (double)INFINITY;
    for (int n = 1; n <= 8; n *= 2)
        least_s = fmin(least_s, end_s(bed_run(BED(.check = true),
                                              PLANNED TRACE("{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 50}") "}}",
                                              "fifo", n)));
    CHECK_NEAR(end_s(bed_run(BED(.check = true),
                             PLANNED TRACE("{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 50}") "}}", "fifo", 0)),
               least_s, 1e-6);
}

/* Two of three jobs whose ranks have 8 GPUs start on 16 at once under schedulers that deal out GPUs. The third one
 * starts at the latest in the round after both have ended. */
TEST(elastic_schedulers_start_several_jobs_with_ranks)
{
    static const char *const schedulers[] = {"optimus", "afs", "pollux", "sia", "elasticflow"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true), PLANNED TRACE("{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 300}, {'submit': '0s', "
                                              "'type': 't', 'gpus': 8, 'steps': 300}, {'submit': '0s', 'type': 't', "
                                              "'gpus': 8, 'steps': 300}") "}}",
            schedulers[i], 1);
        CHECK_EQ_INT(rows->code, 0);
        int n_early = 0;
        double early_s = 0.0, last_s = 0.0;
        for (size_t k = 0; k < rows->n_jobs; k++) {
            const bool is_early = rows->jobs[k].start_s == 0.0;
            CHECK_EQ_STR(rows->jobs[k].status, "finished");
            if (is_early) early_s = fmax(early_s, rows->jobs[k].end_s);
            last_s = fmax(last_s, rows->jobs[k].start_s);
            n_early += is_early;
        }
        CHECK_EQ_INT(n_early, 2);
        CHECK(last_s <= early_s + 240.0);
    }
}

/* Three jobs whose ranks have 8 GPUs share 16: their parts of five run nowhere, and yet all of them end. */
TEST(parts_smaller_than_a_rank_let_jobs_run)
{
    static const char *const schedulers[] = {"equi", "hesrpt", "all-to-shortest"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true),
            PLANNED TRACE("{'submit': '0s', 'type': 't', 'gpus': 8, 'steps': 50}, {'submit': '1s', 'type': 't', 'gpus':"
                          " 16, 'steps': 50}, {'submit': '2s', 'type': 't', 'gpus': 8, 'steps': 50}") "}}",
            schedulers[i], 1);
        CHECK_EQ_INT(rows->code, 0);
        for (size_t k = 0; k < rows->n_jobs; k++) CHECK_EQ_STR(rows->jobs[k].status, "finished");
        CHECK_EQ_INT(rows->n_jobs, 3);
    }
}

/* Shards over more ranks at each level send in five kinds of rings, of dense parameters and of experts. */
TEST(a_plan_may_have_every_kind_of_message)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'extends': ['configs/clusters/dgx-h100.json'], 'cluster': {'nodes': 32, 'network': {'topology': 'leaf-spine',"
        " 'nodes_per_leaf': 2}}, 'jobs': {'types': {'t': {'training': {'llm': 'qwen3-30b-a3b', 'expert_parallel': 8,"
        " 'tensor_parallel': 2, 'context_parallel': 2, 'shard_weights': 2, 'shard_gradients': 4, 'shard_optimizer': 8,"
        " 'global_batch': 256, 'recompute': 'full'}}}, " TRACE(
            "{'submit': '0s', 'type': 't', 'gpus': 256, 'steps': 2}") "}}");
    CHECK(end_s(rows) > 0);
}

/* A restore waits for the restart; meanwhile the job shrinks to one node, where nothing is read from a peer. */
TEST(a_job_may_lose_its_peer_before_it_restores)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s'}}, 'until':"
        " '500s', 'failures': {'causes': {'a': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'},"
        " 'restart': {'law': 'constant', 'mean': '5s'}}}}, 'jobs': {'scheduler': 'equi', 'types': {'plain': {}, 'default':"
        " {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': '1000GB', 'to': 'peer'}}}, " TRACE(
            "{'duration': '95s', 'gpus': 16}, {'submit': '102s', 'type': 'plain', 'duration': '8s', 'gpus': 8}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, 2);
}

/* 1600 GB are read back at 160 GB/s from 105 s on, and at 80 GB/s from a node that the job gives up at 107 s. With 8 s
 * of the plain job, 640 GB are left when both nodes are back at 115 s: 45 s of work begin at 119 s. With 60 s, half as
 * fast work begins at 123 s, and is as fast as before from 167 s on. */
TEST(a_restore_goes_on_without_the_peer)
{
    static const struct {
        int plain_s;
        double end_s;
    } cases[] = {{8, 164.0}, {60, 190.0}};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s'}}, "
            "'until': '199s', 'failures': {'causes': {'a': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': "
            "'100s'}, 'restart': {'law': 'constant', 'mean': '5s'}}}}, 'jobs': {'scheduler': 'equi', 'types': {'plain': "
            "{}, 'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': '1600GB', "
            "'to': 'peer'}}}, " TRACE(
                "{'duration': '95s', 'gpus': 16}, {'submit': '107s', 'type': 'plain', 'duration': "
                "'%ds', 'gpus': 8}") "}}",
            cases[i].plain_s);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_job(rows, 0)->end_s, cases[i].end_s, 1e-3); /* latency */
    }
}

/* Starts what has no GPUs, a large job last, and at `shrink_ns` leaves that one 8 of its 15 GPUs. */
struct shrinker {
    const struct job_view *small, *large;
};

static sim_ns shrink_ns;

static void shrinker_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct shrinker *shrinker = state;
    (void)view;
    *(note->job->gpus == 15 ? &shrinker->large : &shrinker->small) = note->event == JOB_EVENT_FINISH ? NULL : note->job;
}

static int shrinker_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const struct shrinker *shrinker = state;
    const struct job_view *jobs[] = {shrinker->small, shrinker->large};
    if (view->now_ns < shrink_ns) job_plan_wake_at(plan, shrink_ns);
    for (int i = 0; i < 2; i++) {
        if (jobs[i] != NULL && jobs[i]->state == JOB_PENDING) CHECK(job_plan_start(plan, jobs[i], "it is there"));
        if (jobs[i] != NULL && view->now_ns >= shrink_ns && jobs[i]->held_gpus > 8)
            CHECK(job_plan_resize(plan, jobs[i], 8, "leaves a node"));
    }
    return 0;
}

static const struct scheduler shrinker = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler),
                                                     .family = POLICY_SCHEDULER, .name = "shrinker", .summary = "",
                                                     .source = "", .state_bytes = sizeof(struct shrinker)},
                                          .notify = shrinker_notify,
                                          .decide = shrinker_decide};

/* 15 GPUs on two nodes, 8 and 7 of them; a job of one GPU makes the first node that of 7. A save of 300 GB takes 4 s,
 * since two of the 8 adapters send to one of the 7. Both nodes fail at 100 s, with 92 s done and 80 s saved. From 105 s
 * on the state is read, and from 106 s on the last 160 GB of it by 8 adapters from the 7 of the node that the job has
 * left. From 110 s on the job is 8/15 as fast, without a save: no peer is left. At the next failure a longer job loses
 * what it did in these 90 s. */
TEST(nothing_is_saved_once_the_peer_is_lost)
{
    shrink_ns = 106 * (sim_ns)SIM_NS_PER_S;
    for (int i = 0; i < 4; i++) {
        const bool has_small = i % 2 == 1, is_long = i / 2 == 1;
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .policy = &shrinker.policy),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s', "
            "'latency': '0s'}}, 'until': '201s', 'failures': {'causes': {'a': {'scope': 'site', 'lifetime': {'law': "
            "'constant', 'mean': '100s'}, 'restart': {'law': 'constant', 'mean': '5s'}}}}, 'jobs': {'scheduler': "
            "'shrinker', 'placement': 'consolidated', 'types': {'plain': {}, 'default': {'checkpoint': {'policy': "
            "{'policy': 'periodic', 'interval': '40s'}, 'bytes': '300GB', 'to': 'peer'}}}, " TRACE(
                "{'duration': '%ds', 'gpus': 15}%s") "}}",
            is_long ? 150 : 97, has_small ? ", {'type': 'plain', 'duration': '1000s', 'gpus': 1}" : "");
        CHECK_EQ_INT(rows->code, 0);
        const double lost_gpu_s = bed_metric(rows, "job.lost_gpu_s.sum") - (has_small ? 100 + 95 : 0);
        CHECK_NEAR(lost_gpu_s, 12 * 15 + (is_long ? 90 * 8 : 0), 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 3 * 300e9 * 2, 100);
        if (!is_long) CHECK_NEAR(bed_job(rows, 0)->end_s, 110 + 17 * 15.0 / 8, 1e-6);
    }
}

/* The job stalls for a save from 40 s on, which would end at 44 s. At 42 s it leaves the node to which it saves, and
 * works on at once, whether it has loaded nothing or has had nothing to load. */
TEST(a_save_ends_with_its_peer)
{
    static const char *const loads[] = {"", ", 'load': {'from': 'files', 'bytes': '0.4B'}"};
    shrink_ns = 42 * (sim_ns)SIM_NS_PER_S;
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .policy = &shrinker.policy),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network': {'bandwidth': '10GB/s', "
            "'latency': '0s'}, 'storage': {'files': {'device': 'rdma-h800'}}}, 'jobs': {'scheduler': 'shrinker', 'types': "
            "{'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '40s'}, 'bytes': '300GB', 'to': "
            "'peer'}%s}}, " TRACE("{'duration': '97s', 'gpus': 15}") "}}",
            loads[i]);
        CHECK_EQ_INT(rows->code, 0);
        CHECK_NEAR(bed_job(rows, 0)->end_s, 42 + 57 * 15.0 / 8, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), (13 * 20e9 + 2 * 10e9) * 2, 100);
    }
}

/* The idle network has the job on nodes of 8 and 4 GPUs; on two of 6 the adapters carry more. */
TEST(no_network_makes_a_plan_faster)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'extends': ['configs/clusters/dgx-h100.json'], 'cluster': {'nodes': 2, 'network': {'bandwidth': '5GB/s', 'per':"
        " 'gpu'}}, 'jobs': {'placement': 'first-fit', 'types': {'t': {'training': {'llm': 'llama-3.1-8b', 'zero': 1,"
        " 'recompute': 'full', 'global_batch': 48}}, 'block': {}}, " TRACE(
            "{'submit': '0s', 'type': 'block', 'gpus': 2, 'duration': '9000s'},"
            " {'submit': '0s', 'type': 'block', 'gpus': 6, 'duration': '10s'},"
            " {'submit': '0s', 'type': 'block', 'gpus': 2, 'duration': '9000s'},"
            " {'submit': '20s', 'type': 't', 'gpus': 12, 'steps': 20}") "}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.network_speed"), 1, 1e-9);
}

/* Keys that describe nodes say nothing of a cluster without any. */
TEST(keys_of_nodes_warn_where_there_are_none)
{
    static const struct {
        const char *cluster;
        int n;
    } cases[] = {{"", 0},
                 {", 'nodes_per_rack': 4", 1},
                 {", 'nodes': 3, 'nodes_per_rack': 4, 'pcie': '10GB/s', 'network': {'bandwidth': '1GB/s'}", 4},
                 {", 'storage': {'files': {'device': 'pm9a3'}}, 'host': {'memory': '1TB'}", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true), "{'cluster': {'unlimited': true%s}, 'jobs': {" TRACE(
                "{'duration': '10s', 'gpus': 8}") "}}", cases[i].cluster);
        int n = 0;
        for (int k = 0; k < rows->diag.n_items; k++)
            n += strstr(rows->diag.items[k].text, "has no effect: an unlimited cluster has no nodes") != NULL;
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(n, cases[i].n);
    }
}
