/* Jobs with a goodput profile run as much faster on other GPUs as their goodput is higher there. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <math.h>

static struct gpu_profile profile = {.gpu = "t4", .step = {0.02, 0.0007, 0.03, 0.004, 0.13, 0.002, 2}};

static struct job_type type_of(double batch)
{
    return (struct job_type){
        .name = "default",
        .goodput = {.batches = {.first = 128, .most = 4096, .least_local = 32, .most_local = 1024, .noise = 700},
                    .batch = batch,
                    .profiles = {.n = 1, .items = &profile}}};
}

/* All GPUs go to the only job. */
static double jct_on(struct job_type *type, int32_t nodes, int32_t asked)
{
    const struct job_record record = jobrun_record(0, 0, 1000, asked);
    const struct jobrun_spec spec = {.records = &record, .n = 1, .cluster = {.nodes = nodes, .gpus_per_node = 4},
                                     .scheduler = "equi", .placement = "first-fit",
                                     .types = {.n = 1, .items = type}};
    struct jobrun run;
    jobrun_init(&run, &spec, 0);
    const double jct_s = run.jobs[0].jct_s;
    jobrun_fini(&run);
    return jct_s;
}

TEST(speed_is_relative_to_the_requested_run)
{
    struct job_type type = type_of(512);
    const struct goodput_batches *batches = &type.goodput.batches;
    CHECK_NEAR(jct_on(&type, 1, 4), 1000, 1e-6);
    const double asked = goodput_at(&profile.step, batches, 2, 1, 512);
    CHECK_NEAR(jct_on(&type, 1, 2), 1000 * asked / goodput_at(&profile.step, batches, 4, 1, 512), 1e-5);
    CHECK_NEAR(jct_on(&type, 3, 2), 1000 * asked / goodput_at(&profile.step, batches, 12, 3, 512), 1e-5);
}

/* The run of the trace was on the fewest nodes of the type's own size, or of the cluster's. */
TEST(the_requested_run_was_on_nodes_of_its_own)
{
    for (int64_t node_gpus = 0; node_gpus <= 8; node_gpus++) {
        struct job_type type = type_of(512);
        const struct goodput_batches *batches = &type.goodput.batches;
        type.goodput.node_gpus = node_gpus;
        const int64_t own = node_gpus == 0 ? 4 : node_gpus;
        const int32_t nodes = (int32_t)((8 + own - 1) / own);
        const double asked = goodput_at(&profile.step, batches, 8, nodes, 512);
        CHECK_NEAR(jct_on(&type, 2, 8), 1000 * asked / goodput_at(&profile.step, batches, 8, 2, 512), 1e-5);
    }
}

/* Two types ask for 8 GPUs, one of a run on one node, the other of a run on two. Both get two nodes. */
TEST(types_in_one_run_keep_their_own_requests)
{
    struct job_type types[] = {type_of(512), type_of(256)};
    types[0].name = "one";
    types[0].goodput.node_gpus = 8;
    types[1].name = "two";
    types[1].goodput.node_gpus = 4;
    struct job_record records[] = {jobrun_record(0, 0, 1000, 8), jobrun_record(1, 0, 1000, 8),
                                   jobrun_record(2, 0, 1000, 8)};
    for (int i = 0; i < 3; i++) records[i].type = types[i % 2].name;
    const struct jobrun_spec spec = {.records = records, .n = 3, .cluster = {.nodes = 6, .gpus_per_node = 4},
                                     .scheduler = "fifo", .placement = "first-fit",
                                     .types = {.n = 2, .items = types}};
    struct jobrun run;
    jobrun_init(&run, &spec, 0);
    const struct goodput_batches *batches = &types[0].goodput.batches;
    const double slower = goodput_at(&profile.step, batches, 8, 1, 512) / goodput_at(&profile.step, batches, 8, 2, 512);
    CHECK(slower > 1.01);
    for (int i = 0; i < 3; i++) CHECK_NEAR(run.jobs[i].jct_s, i % 2 == 0 ? 1000 * slower : 1000, 1e-5);
    jobrun_fini(&run);
}

/* A batch of 128 splits over 4 GPUs at most. */
TEST(gpus_beyond_the_batch_idle)
{
    struct job_type type = type_of(128);
    const struct goodput_batches *batches = &type.goodput.batches;
    const double asked = goodput_at(&profile.step, batches, 1, 1, 128);
    CHECK_NEAR(jct_on(&type, 1, 1), 1000 * asked / goodput_at(&profile.step, batches, 4, 1, 128), 1e-5);
    CHECK_NEAR(jct_on(&type, 2, 1), 1000 * asked / goodput_at(&profile.step, batches, 4, 2, 128), 1e-5);
}

/* Without a batch size of its own, the job takes the best for its GPUs. */
TEST(batch_may_be_left_to_the_job)
{
    struct job_type type = type_of((double)NAN);
    const double asked = goodput_best(&profile.step, &type.goodput.batches, 1, 1, NULL);
    const double on_all = goodput_best(&profile.step, &type.goodput.batches, 8, 2, NULL);
    CHECK_NEAR(jct_on(&type, 2, 1), 1000 * asked / on_all, 1e-5);
}

/* The share of the job under sia is one of both types: its speed there is the mean of its goodput, over that on the
 * T4s of its trace. With 4 GPUs the job never fits on the two K80s, though sia may give it fewer. */
TEST(finish_time_fairness_compares_with_goodput_on_every_type)
{
    struct gpu_profile both[] = {profile, {.gpu = "k80", .step = {0.05, 0.003, 0.05, 0.006, 0.2, 0.004, 2}}};
    struct job_type type = type_of((double)NAN);
    type.goodput.profiles = (struct config_list){.n = 2, .items = both};
    struct node_type_config more = {.name = "more", .nodes = 1, .gpus_per_node = 2, .gpu = "k80"};
    for (int32_t asked = 1; asked <= 4; asked *= 2) {
        const struct job_record record = jobrun_record(0, 0, 1000, asked);
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = &record, .n = 1, .scheduler = "sia", .placement = "consolidated",
                                          .cluster = {.nodes = 1, .gpus_per_node = 4, .gpu = "t4",
                                                      .node_types = {1, &more}},
                                          .types = {.n = 1, .items = &type}},
                    0);
        const struct goodput_batches *batches = &type.goodput.batches;
        const double slower = goodput_best(&both[1].step, batches, asked, 1, NULL) /
                              goodput_best(&both[0].step, batches, asked, 1, NULL);
        CHECK(slower > 0.1 && slower < 0.9);
        const double speed = (4 + (asked <= 2 ? 2 * slower : 0)) / 6;
        CHECK_NEAR(jobrun_metric(&run, "job.finish_time_fairness.mean"), run.jobs[0].jct_s * speed / 1000, 1e-6);
    }
}
