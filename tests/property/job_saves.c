/* Checkpoints as flows: as the closed forms say in an idle network, slower beside others, read back at a restart, and
 * equal whatever the queue. Nodes have 2 GPUs and NICs of 10 GB/s without latency; storage takes 10 GB/s. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>

#define CLUSTER                                                                                                        \
    "'cluster': {'nodes': %d, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s'%s}, "             \
    "'storage': {'files': {'device': 'rdma-h800', 'ceiling': '10GB/s'}}}"
#define SAVES                                                                                                          \
    "'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '50s'}, 'bytes': '100GB', %s}}}"
#define JOB "{'submit': '%gs', 'duration': '%gs', 'gpus': %d}"
#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"

static double jct(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s - row->submit_s : (double)NAN;
}

static const struct bed_rows *one_job(double duration_s, const char *save, const char *failures)
{
    return bed_ok(BED(.check = true), "{" CLUSTER ", %s 'jobs': {" SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
                  2, "", failures, save, 0.0, duration_s, 4);
}

/* 100 GB at 10 GB/s: 10 s for each save. */
TEST(an_idle_network_gives_the_times_of_the_model)
{
    static const char *const designs[] = {"'model': 'synchronous'", "'model': 'fastpersist', 'overlap': '4s'",
                                          "'model': 'fastpersist', 'overlap': '20s'",
                                          "'model': 'datastates', 'overlap': '4s', 'gpu_copy': '4GB/s'"};
    for (int i = 0; i < 4; i++)
        for (double duration_s = 40; duration_s < 600; duration_s += 93) {
            const struct bed_rows *flows = one_job(duration_s, test_json("%s, 'to': 'files'", designs[i]), ""),
                                  *model = one_job(duration_s, test_json("%s, 'write': '10GB/s'", designs[i]), "");
            CHECK_NEAR(jct(flows, 0), jct(model, 0), 1e-6);
            const double saves = ceil(duration_s / 50) - 1, bytes = bed_metric(flows, "link.network.bytes");
            if (i == 0 && saves > 0) CHECK_NEAR(bytes, saves * 100e9 * 4, 1); /* NIC, write, port, software */
        }
}

/* Four NICs send to the four of the other node: 2.5 s. */
TEST(a_peer_takes_what_the_nics_carry)
{
    const struct bed_rows *rows = one_job(170, "'to': 'peer'", "");
    CHECK_NEAR(jct(rows, 0), 170 + 3 * 2.5, 1e-6);
    CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 3 * 100e9 * 2, 1);
}

/* A load of 40 GB comes before the work, whatever the saves are: none at a peer that is not there. Where the job gets
 * four GPUs or one node makes no difference to the load, of which storage takes 10 GB/s. */
TEST(a_job_that_loads_saves_as_one_that_does_not)
{
    static const struct {
        const char *to;
        int gpus;
        double save_s;
    } cases[] = {{"files", 1, 10}, {"files", 2, 10}, {"files", 4, 10}, {"peer", 1, 0}, {"peer", 2, 0}, {"peer", 4, 2.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *save = test_json("'to': '%s'}, 'load': {'from': 'files', 'bytes': '40GB'", cases[i].to);
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval':"
            " '50s'}, 'bytes': '100GB', %s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            2, "", save, 0.0, 170.0, cases[i].gpus);
        CHECK_NEAR(jct(rows, 0), 4 + 170 + 3 * cases[i].save_s, 1e-6);
        CHECK_EQ_INT(rows->n_warnings, cases[i].save_s == 0);
    }
}

/* Two jobs begin their saves together and share the storage: 20 s for each save. */
TEST(saves_of_two_jobs_share_the_storage)
{
    const struct bed_rows *rows = bed_ok(
        NULL, "{" CLUSTER ", 'jobs': {" SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOB ", " JOB "]}}}", 4,
        "", "'to': 'files'", 0.0, 170.0, 4, 0.0, 170.0, 4);
    for (int i = 0; i < 2; i++) CHECK_NEAR(jct(rows, i), 170 + 3 * 20.0, 1e-6);
    CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 3 * (100e9 * 4), 1); /* NIC, write, port, software */
}

/* The node fails at 100 s: at 60 s a save has ended, of 50 s of work; the next begins at 110 s. After 5 s the job reads
 * its state for 10 s, and does the other 20 s. */
TEST(a_job_reads_its_state_back_before_it_works)
{
    const struct bed_rows *rows = one_job(70, "'to': 'files'",
                                          "'failures': {'causes': {'node': {'scope': 'site', 'lifetime': " CONSTANT(
                                              "100s") ", 'restart': " CONSTANT("5s") "}}},");
    /* 50 s work, 10 s save, 20 s work to the end at 80 s: the failure comes too late */
    CHECK_NEAR(jct(rows, 0), 80, 1e-6);
    const struct bed_rows *longer = one_job(95, "'to': 'files'",
                                            "'failures': {'causes': {'node': {'scope': 'site', 'lifetime': " CONSTANT(
                                                "100s") ", 'restart': " CONSTANT("5s") "}}},");
    CHECK_NEAR(jct(longer, 0), 100 + 5 + 10 + 45, 1e-6);
    CHECK_NEAR(bed_metric(longer, "job.lost_gpu_s.sum"), 40 * 4, 1e-3);
}

/* A failure during a save falls back to the one before. */
TEST(a_save_counts_from_its_end)
{
    const struct bed_rows *rows = one_job(
        200, "'to': 'files'", "'failures': {'causes': {'node': {'scope': 'site', 'lifetime': " CONSTANT("115s") "}}},");
    /* saves at 50 (to 60), 110 (to 120): struck at 115 with 50 s saved; reads to 125; saves at 175 (to 185): work 100;
     * at 230 struck: 145 done, 100 saved; reads to 240; at 290 a save to 300; at 345 struck with 150 saved; reads to
     * 355; works the last 50 s, the end of which needs no save */
    CHECK_NEAR(jct(rows, 0), 405, 1e-6);
}

/* FastPersist saves beside the work: a save of 50 s to 60 s counts 50 s of work, not 60 s. Struck at 100 s, the job
 * restarts with these, reads for 10 s, and works 80 s, during which it saves at 165 s. */
TEST(work_beside_a_save_does_not_count_with_it)
{
    const struct bed_rows *rows = one_job(130, "'to': 'files', 'model': 'fastpersist', 'overlap': '20s'",
                                          "'failures': {'causes': {'node': {'scope': 'site', 'lifetime': " CONSTANT(
                                              "100s") ", 'restart': " CONSTANT("5s") "}}},");
    CHECK_NEAR(jct(rows, 0), 100 + 5 + 10 + 80, 1e-6);
}

/* Two jobs flush every 12 s of work what takes the shared storage 20 s: each save waits for the end of the last one.
 * 12 s of work are followed by 8 s of waiting, but for the first 12 s and the last. */
TEST(saves_wait_until_the_last_one_has_been_flushed)
{
    const char *const sets[] = {"jobs.types.default.checkpoint.policy.interval=12s", NULL};
    const struct bed_rows *rows = bed_ok(
        BED(.sets = sets, .check = true),
        "{" CLUSTER ", 'jobs': {" SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOB ", " JOB "]}}}", 4, "",
        "'to': 'files', 'model': 'datastates', 'overlap': '2s', 'gpu_copy': '25GB/s'", 0.0, 60.0, 4, 0.0, 60.0, 4);
    for (int i = 0; i < 2; i++) CHECK_NEAR(jct(rows, i), 60 + 3 * 8, 1e-6);
}

/* --- Jobs that hang or pause --- */

/* 50 s of work, a save until 60 s, 10 s of work. Then the job hangs for 100 s, until that is found, and has lost 10 s
 * on 4 GPUs: no save began. It reads its state back for 10 s if it is behind the network, and works for 15 s. */
TEST(a_job_that_hangs_begins_no_save)
{
    for (int has_flows = 0; has_flows <= 1; has_flows++) {
        const struct bed_rows *rows = one_job(
            65, has_flows ? "'to': 'files'" : "'write': '10GB/s'",
            "'failures': {'causes': {'hang': {'scope': 'site', 'slow': 0, 'lifetime': " CONSTANT(
                "70s") ", 'detection': " CONSTANT("100s") "}}},");
        CHECK_NEAR(bed_metric(rows, "job.lost_gpu_s.sum"), 10 * 4, 1e-6);
        CHECK_NEAR(jct(rows, 0), 170 + 10 * has_flows + 15, 1e-6);
    }
}

/* Saves come after 50 s of work each. The job stands still from 75 s on, 15 s after its first save, by a hang that ends
 * or an outage. The second save is as much later, and so is the end. */
TEST(a_job_that_stands_still_saves_as_much_later)
{
    static const char *const designs[] = {"'model': 'synchronous'", "'model': 'fastpersist', 'overlap': '4s'",
                                          "'model': 'fastpersist', 'overlap': '20s'",
                                          "'model': 'datastates', 'overlap': '4s', 'gpu_copy': '4GB/s'"};
    static const int lengths_s[] = {1, 34, 35, 36, 100, 1000};
    for (int i = 0; i < 4 * 2 * 6; i++) {
        const int length_s = lengths_s[i / 8];
        const bool hangs = i / 4 % 2;
        const char *failures =
            hangs ? test_json("'failures': {'causes': {'hang': {'scope': 'site', 'slow': 0, 'lifetime': " CONSTANT(
                                  "75s") ", 'repair': {'law': 'constant', 'mean': '%ds'}}}},",
                              length_s)
                  : test_json("'failures': {'outages': {'o': {'node': 0, 'from': '75s', 'until':"
                              " '%ds'}}},",
                              75 + length_s);
        const struct bed_rows *flows = one_job(120, test_json("%s, 'to': 'files'", designs[i % 4]), failures),
                              *model = one_job(120, test_json("%s, 'write': '10GB/s'", designs[i % 4]), failures);
        CHECK_NEAR(jct(flows, 0), jct(model, 0), 1e-6);
        if (i % 4 == 0) CHECK_NEAR(jct(flows, 0), 120 + 2 * 10 + length_s, 1e-6);
        CHECK_NEAR(bed_metric(flows, "link.network.bytes"), 2 * 100e9 * 4, 1);
    }
}

/* --- Jobs whose GPUs change --- */

#define RESIZED                                                                                                        \
    "{" CLUSTER ", %s 'jobs': {'scheduler': 'equi', 'types': {'plain': {}, 'default': {'checkpoint': {'policy': "       \
    "{'policy': 'periodic', 'interval': '50s'}, 'bytes': '100GB', 'to': '%s'}}}, 'trace': {'format': 'inline-jobs', "  \
    "'jobs': [" JOB ", {'submit': '%gs', 'type': 'plain', 'duration': '%gs', 'gpus': 2}]}}}"

/* 50 s work and the save until 60 s, though the job has two GPUs instead of four from 55 s on. Then half as fast: 25 s
 * of work, a save from 110 to 120 s, the other 25 s. No byte moves twice. */
TEST(a_save_goes_on_when_its_job_is_resized)
{
    for (double at_s = 51; at_s < 60; at_s += 1) { /* with a NIC for each GPU, or one for each node */
        const char *per = fmod(at_s, 2) > 0 ? "" : ", 'per': 'node'";
        const struct bed_rows *rows = bed_ok(BED(.check = true), RESIZED, 2, per, "'until': '500s',", "files", 0.0,
                                             100.0, 4, at_s, 1000.0);
        CHECK_NEAR(jct(rows, 0), 170, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 100e9 * 4, 1); /* NIC, write, port, software */
    }
}

/* A failure of all nodes at 100 s takes 40 s of work. The job reads its state from 105 s to 115 s, though it has two
 * GPUs instead of four for 8 s meanwhile, and does the other 45 s of its work. */
TEST(a_restore_goes_on_when_its_job_is_resized)
{
    for (double at_s = 101; at_s < 107; at_s += 1) {
        const struct bed_rows *rows = bed_ok(BED(.check = true), RESIZED, 2, "",
                                             "'until': '180s', 'failures': {'causes': {'node': {'scope': 'site', "
                                             "'lifetime': " CONSTANT("100s") ", 'restart': " CONSTANT("5s") "}}},",
                                             "files", 0.0, 95.0, 4, at_s, 8.0);
        CHECK_NEAR(jct(rows, 1), 8, 1e-6);
        CHECK_NEAR(jct(rows, 0), 160, 1e-6);
        CHECK_NEAR(bed_metric(rows, "link.network.bytes"), 2 * 100e9 * 4, 1);
    }
}

/* A shorter job takes the GPUs for 10 s while the job reads its state from 105 s to 115 s. Then it reads all of it
 * again, for 10 s, and does the other 45 s of its work. */
TEST(a_job_that_is_preempted_amid_a_restore_reads_again)
{
    for (double at_s = 106; at_s < 115; at_s += 4) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'until': '199s', 'failures': {'causes': {'node': {'scope': 'site', 'lifetime': " CONSTANT(
                "100s") ", 'restart': " CONSTANT("5s") "}}}, 'jobs': {'scheduler': 'srtf', " SAVES
                                                       ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOB ", " JOB
                                                       "]}}}",
            2, "", "'to': 'files'", 0.0, 95.0, 4, at_s, 10.0, 4);
        CHECK_NEAR(jct(rows, 1), 10, 1e-6);
        CHECK_NEAR(bed_job(rows, 0)->end_s, at_s + 10 + 10 + 45, 1e-6);
    }
}

/* --- Jobs that save no more --- */

/* A policy that saves after 50 s of work if the job has four GPUs, and never on fewer. */
static double wide_interval_s(void *state, const struct checkpoint_view *view)
{
    (void)state;
    return view->job->held_gpus >= 4 ? 50.0 : (double)INFINITY;
}

static const struct checkpointer wide = {
    .policy = {POLICY_HEAD(checkpointer, POLICY_CHECKPOINTING), .name = "wide", .summary = "", .source = ""},
    .interval_s = wide_interval_s};

/* 100 s of work on four GPUs. From at_s on the job has two of them, for `hold_s`. */
static const struct bed_rows *shrunk(const char *save, double at_s, double hold_s)
{
    return bed_ok(BED(.check = true, .policy = &wide.policy),
                  "{" CLUSTER ", 'until': '500s', 'jobs': {'scheduler': 'equi', 'types': {'plain': {}, 'default': "
                  "{'checkpoint': {'policy': 'wide', 'bytes': '100GB', %s}}}, 'trace': {'format': 'inline-jobs', "
                  "'jobs': [" JOB ", {'submit': '%gs', 'type': 'plain', 'duration': '%gs', 'gpus': 2}]}}}",
                  2, "", save, 0.0, 100.0, 4, at_s, hold_s);
}

/* The job shrinks before its first save at 50 s: it saves nothing. Or amid the save, from 50 s to 60 s: that one ends.
 * Or after it: no other one follows. Work of `at_s`, less a stall, is done by then, and the rest takes twice as
 * long. */
TEST(a_job_that_saves_no_more_begins_no_save)
{
    static const double at_s[] = {20, 49, 55, 70, 99};
    static const char *const designs[] = {"'model': 'synchronous'", "'model': 'fastpersist', 'overlap': '20s'",
                                          "'model': 'datastates', 'overlap': '20s', 'gpu_copy': '25GB/s'"};
    for (int i = 0; i < 3 * 5; i++) {
        const double at = at_s[i / 3], stall_s = i % 3 == 0 && at > 50 ? 10 : 0,
                     worked_s = fmin(at, 50) + fmax(at - 50 - stall_s, 0);
        const struct bed_rows *flows = shrunk(test_json("%s, 'to': 'files'", designs[i % 3]), at, 1000),
                              *model = shrunk(test_json("%s, 'write': '10GB/s'", designs[i % 3]), at, 1000);
        const double end_s = fmax(at, at > 50 ? 50 + stall_s : 0) + 2 * (100 - worked_s);
        CHECK_NEAR(jct(flows, 0), end_s, 1e-6);
        CHECK_NEAR(jct(model, 0), end_s, 1e-6);
        if (at > 50)
            CHECK_NEAR(bed_metric(flows, "link.network.bytes"), 100e9 * 4, 8);
        else
            CHECK(isnan(bed_metric(flows, "link.network.bytes"))); /* nothing moved */
    }
}

/* Two GPUs from 20 s to 60 s, for 20 s of work: an interval of 50 s begins at 60 s, with 60 s of work left. */
TEST(a_job_that_saves_again_begins_an_interval)
{
    const struct bed_rows *rows = shrunk("'to': 'files'", 20, 40);
    CHECK_NEAR(jct(rows, 1), 40, 1e-6);
    CHECK_NEAR(jct(rows, 0), 60 + 50 + 10 + 10, 1e-6);
}

/* What its policy chose last counts, whether or not it has saved. The policy sees the job again after 20 s, and after
 * 60 s. */
TEST(the_mean_interval_is_over_jobs_whose_policy_chose_one_last)
{
    static const char *const saves[] = {"'to': 'files'", "'write': '10GB/s'"};
    for (int i = 0; i < 2; i++) {
        CHECK(isnan(bed_metric(shrunk(saves[i], 20, 1000), "job.checkpoint_interval_s.mean")));
        CHECK(isnan(bed_metric(shrunk(saves[i], 70, 1000), "job.checkpoint_interval_s.mean")));
        CHECK_NEAR(bed_metric(shrunk(saves[i], 20, 40), "job.checkpoint_interval_s.mean"), 50, 0.0);
    }
}

/* A job on one node has no peer: it saves nothing, and the run says so. */
TEST(a_job_without_a_peer_is_warned_of)
{
    for (int gpus = 2; gpus <= 4; gpus += 2) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true), "{" CLUSTER ", 'jobs': {" SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            2, "", "'to': 'peer'", 0.0, 170.0, gpus);
        CHECK_EQ_INT(rows->n_warnings, gpus == 2);
        CHECK_NEAR(jct(rows, 0), gpus == 2 ? 170 : 170 + 3 * 2.5, 1e-6);
    }
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{" CLUSTER ", 'jobs': {" SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': []}}}", 1, "",
        "'to': 'peer'");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
}

/* --- Identity --- */

static const char *random_site(uint64_t index)
{
    static const char *const saves[] = {"'to': 'files'", "'to': 'peer'",
                                        "'to': 'files', 'model': 'fastpersist', 'overlap': '7s'",
                                        "'to': 'files', 'model': 'datastates', 'overlap': '2s', 'gpu_copy': '5GB/s'"};
    struct rng rng = test_rng(index, "saves", 0);
    static char jobs[2048];
    size_t n = 0;
    double at = 0;
    jobs[0] = 0;
    for (int i = 0; i < 8; i++) {
        at += (double)rng_below(&rng, 60);
        n += (size_t)snprintf(jobs + n, sizeof jobs - n, "%s" JOB, i > 0 ? "," : "", at,
                              50.0 + (double)rng_below(&rng, 300), 1 + (int)rng_below(&rng, 8));
    }
    const char *scheduler = rng_below(&rng, 2) ? "fifo-skip" : "equi";
    return test_json(
        "{'seed': %d, " CLUSTER ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '1500s'}, "
        "'repair': {'mean': '20s'}}, 'slow': {'scope': 'nic', 'slow': 0.3, 'lifetime': {'mean': '400s'}, 'repair': "
        "{'mean': '30s'}}, 'hang': {'scope': 'node', 'slow': 0, 'lifetime': {'mean': '700s'}, 'detection': {'mean': "
        "'40s'}}, 'still': {'scope': 'node', 'slow': 0, 'lifetime': {'mean': '300s'}, 'repair': {'mean': '30s'}}}}, "
        "'jobs': {'scheduler': '%s', " SAVES ", 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        (int)index, 6,
        rng_below(&rng, 2) ? "" : ", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': 4", scheduler,
        saves[rng_below(&rng, 4)], jobs);
}

TEST(queues_and_checks_change_no_save)
{
    for (uint64_t index = 1; index <= 12; index++) {
        const char *site = random_site(index);
        struct bed_rows *plain = bed_ok(NULL, "%s", site), *heap = bed_ok(BED(.queue = QUEUE_HEAP), "%s", site),
                        *step = bed_ok(BED(.single_step = true, .check = true), "%s", site);
        CHECK(bed_equal(plain, heap));
        CHECK(bed_equal(plain, step));
        bed_free(plain);
        bed_free(heap);
        bed_free(step);
    }
}

/* --- Errors --- */

TEST(saves_that_cannot_be_are_refused)
{
    static const char *const cases[][2] = {
        {"'network': {'bandwidth': '1GB/s'}", "checkpoints of type 'default' go to 'files', which is no storage behind the network"},
        {"'host': {}", "checkpoints of type 'default' go to 'files', and there is no network"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(BED(.quiet = true), "{'cluster': {%s}, 'jobs': {" SAVES ", 'trace': {'format': "
                                                                  "'inline-jobs', 'jobs': [" JOB "]}}}",
                                              cases[i][0], "'to': 'files'", 0.0, 1.0, 1);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        if (rows->code != 0) CHECK_EQ_STR(rows->diag.items[0].text, cases[i][1]);
    }
}

/* A load has the same reasons, and its own subject. */
TEST(loads_that_cannot_be_are_refused)
{
    static const char *const cases[][2] = {
        {"'network': {'bandwidth': '1GB/s'}", "jobs of type 'default' load from 'files', which is no storage behind the network"},
        {"'host': {}", "jobs of type 'default' load from 'files', and there is no network"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true),
            "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1, %s}, 'jobs': {'placement': 'first-fit', 'types': {'default': {'load': {"
            "'from': 'files', 'bytes': '1GB'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            cases[i][0], 0.0, 1.0, 1);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        if (rows->code != 0) CHECK_EQ_STR(rows->diag.items[0].text, cases[i][1]);
    }
}
