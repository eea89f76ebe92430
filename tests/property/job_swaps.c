/* States of training jobs beyond their GPUs, on links of hosts that they share: a job alone has its modelled step, two
 * equal jobs on one link have that of a closed form, bytes on links are those of the steps, and random small sites
 * agree with a naive twin. The twin fills links by itself, and prices steps by the model of training alone. */
#include "models/training/tiers.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/training.h"
#include "sim/core/config/config.h"
#include "tests/support/bed.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

#include <math.h>
#include <string.h>

#define PLAN                                                                                                           \
    "'llm': 'phi-2', 'trainer': 'deepspeed-zero3', 'global_batch': 16, 'micro_batch': 2, 'sequence_tokens': 2048, "     \
    "'recompute': 'full', 'zero': 3"
#define ON_HOST "'weights': 'host', 'gradients': 'host', 'optimizer': 'host', 'activations': 'host'"
#define ON_DISK                                                                                                        \
    "'weights': 'disk', 'gradients': 'disk', 'optimizer': 'disk', 'disk_read': '7GB/s', 'disk_write': '5.1GB/s'"
#define HOST "'host': {'device': 'host-dram-pcie5'}"
#define TYPE "'types': {'a': {'training': {" PLAN "%s}%s}}"

static const struct catalog catalog = {.root = "configs"};

/* The plan on so many GPUs of a node with 8, and its step. The setup lives as long as the session. */
static struct training_step price(struct session *session, const char *plan, int gpus, struct training_setup *setup)
{
    const char *text = test_json("{'gpu': 'h100-sxm', 'gpus': %d, 'gpus_per_node': 8, %s}", gpus, plan);
    struct training_request *request = arena_alloc(&session->arena, sizeof *request);
    struct training_step step = {.step_s = 0};
    struct config *config;
    if (!CHECK(request != NULL && config_parse(text, ".", text, strlen(text), &config, &session->diag) == 0))
        return step;
    const int code = config_bind(config, training_request_fields, NULL, &session->arena, request, sizeof *request,
                                 &session->diag);
    config_destroy(config);
    if (!CHECK(code == 0 &&
               training_setup_make(&catalog, request, "test", &session->arena, setup, &session->diag) == 0))
        return step;
    if (training_setup_price(setup, gpus, true, &step) != NULL || !step.fits) step.step_s = 0;
    return step;
}

static const struct bed_rows *run(const char *site, const char *plan, const char *type, const char *jobs)
{
    return bed_ok(BED(.check = true, .quiet = true),
                  "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 8%s}, 'jobs': {" TYPE
                  ", 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                  site, plan, type, jobs);
}

#define JOBS(gpus, steps) "{'type': 'a', 'gpus': " #gpus ", 'steps': " #steps "}"

/* --- Alone --- */

static const char *const plans[] = {", 'tiers': {" ON_HOST "}",
                                    ", 'tiers': {" ON_HOST ", 'flow': 'serial', 'link': '20GB/s'}",
                                    ", 'tiers': {" ON_DISK "}",
                                    ", 'tiers': {" ON_DISK ", 'flow': 'pipelined', 'gather': 'owner'}",
                                    ", 'offload': {'optimizer': 1, 'link': '20GB/s'}",
                                    ", 'offload': {'optimizer': 0.8, 'flush': 'overlapped', 'gpu_stride': 2}"};
enum { N_PLANS = sizeof plans / sizeof *plans };

#define WIDE                                                                                                           \
    ", 'pcie': '1TB/s', 'pcie_switch': {'gpus': 4, 'bandwidth': '4TB/s'}, 'storage': {'nvme': {'device': "             \
    "'samsung-980-pro', 'count': 64}}"

TEST(a_job_alone_takes_its_modelled_step)
{
    for (int i = 0; i < N_PLANS; i++)
        for (int gpus = 1; gpus <= 8; gpus *= 2) {
            const char *job = test_json("{'type': 'a', 'gpus': %d, 'steps': 37}", gpus);
            const struct bed_rows *bare = run("", plans[i], "", job), *linked = run(WIDE, plans[i], "", job);
            CHECK(bed_job(bare, 0)->end_s > 0);
            CHECK_NEAR(bed_job(linked, 0)->end_s, bed_job(bare, 0)->end_s, 0.0);
            CHECK_EQ_INT(isnan(bed_metric(bare, "job.offload_speed")), true);
            CHECK_NEAR(bed_metric(linked, "job.offload_speed"), 1.0, 0.0);
        }
}

/* Jobs that keep everything on their GPUs are as they were, whatever links the site has. */
TEST(jobs_that_keep_their_states_change_in_nothing)
{
    const struct bed_rows *bare = run("", "", "", JOBS(2, 30) ", " JOBS(2, 30)),
                          *linked = run(", 'pcie': '1GB/s', " HOST, "", "", JOBS(2, 30) ", " JOBS(2, 30));
    CHECK(bed_equal(bare, linked));
}

/* --- Two jobs --- */

/* The rate while a job moves beside another one like it, of its own; from below. */
static double share_beside(double bytes, double link, double step_s)
{
    return fmax(0.5, 1.0 - bytes / (step_s * link));
}

/* In series a step is what computing takes, g, and bytes over rates. Two equal jobs share a link in each direction. */
TEST(two_equal_jobs_take_the_closed_form)
{
    static const double links[] = {2e9, 8e9, 20e9, 60e9};
    for (int i = 0; i < 4; i++) {
        SCOPED(session) session = {0};
        struct training_setup setup;
        const char *plan = test_json(", 'tiers': {" ON_HOST ", 'flow': 'serial', 'link': '%.9gGB/s'}", links[i] / 1e9);
        const char *site = test_json(", 'pcie_switch': {'gpus': 2, 'bandwidth': '%.9gGB/s'}", links[i] / 1e9);
        const struct training_step step = price(&session, test_json(PLAN "%s", plan), 1, &setup);
        MUST(step.step_s > 0);
        const double up = step.up_bytes / links[i], down = step.down_bytes / links[i];
        double step_s = step.step_s;
        for (int k = 0; k < 400; k++)
            step_s = 0.5 * step_s +
                     0.5 * (step.step_s - up - down + up / share_beside(step.up_bytes, links[i], step_s) +
                            down / share_beside(step.down_bytes, links[i], step_s));
        const struct bed_rows *rows = run(site, plan, "", JOBS(1, 50) ", " JOBS(1, 50));
        CHECK(step_s > 1.001 * step.step_s);
        CHECK_NEAR(bed_job(rows, 0)->end_s, 50 * step_s, 1e-3 * 50 * step_s);
        CHECK_NEAR(bed_job(rows, 1)->end_s, 50 * step_s, 1e-3 * 50 * step_s);
        const struct bed_rows *apart = run(site, plan, "", JOBS(1, 50));
        CHECK_NEAR(bed_job(apart, 0)->end_s, 50 * step.step_s, 1e-6 * 50 * step.step_s);
    }
}

/* Where drives are the bottleneck of a prefetched step by far, each of n jobs takes n times as long, but for what the
 * first layer brings and the last one leaves. */
TEST(jobs_on_one_drive_share_it)
{
    const char *plan = ", 'tiers': {" ON_DISK ", 'flow': 'prefetched', 'cpu_update': '1e12/s'}",
               *site = ", 'storage': {'nvme': {'device': 'samsung-980-pro'}}";
    const double alone_s = bed_job(run(site, plan, "", JOBS(1, 20)), 0)->end_s;
    for (int n = 2; n <= 4; n++) {
        const char *jobs = JOBS(1, 20);
        for (int i = 1; i < n; i++) jobs = test_json("%s, " JOBS(1, 20), jobs);
        const struct bed_rows *rows = run(site, plan, "", jobs);
        for (int i = 0; i < n; i++) CHECK_NEAR(bed_job(rows, i)->end_s / alone_s, n, 0.06 * n);
    }
}

/* What is on no link is told. */
TEST(what_jobs_have_alone_is_told)
{
    static const char *const sites[][2] = {
        {"", "host memory, drives and CPUs"},
        {", 'pcie': '20GB/s'", "host memory, drives and CPUs"},
        {", " HOST, "alone on its drives and CPUs"},
        {", 'storage': {'nvme': {'device': 'samsung-980-pro'}}", "host memory and CPUs"},
        {", " HOST ", 'storage': {'nvme': {'device': 'samsung-980-pro'}}", "alone on its CPUs"}};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        const struct bed_rows *rows = run(sites[i][0], plans[0], "", JOBS(1, 9) ", " JOBS(1, 9));
        const char *text = bed_warning(rows, "shared-host");
        CHECK(text != NULL && strstr(text, sites[i][1]) != NULL);
    }
}

/* Where jobs have the links of hosts to themselves, the scenario's links say nothing, and that is told. On node types
 * with more than 64 GPUs they do; beside one, jobs of other nodes share their links as if it were not there. */
TEST(links_that_jobs_do_not_share_are_told)
{
    static const char site[] =
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': %d, 'pcie': '20GB/s', 'pcie_switch': {'gpus': 2, "
        "'bandwidth': '20GB/s'}%s}, 'jobs': {%s" TYPE
        ", 'trace': {'format': 'inline-jobs', 'jobs': [" JOBS(1, 50) ", " JOBS(1, 50) "]}}}";
    static const char big[] = ", 'node_types': {'z': {'gpu': 'a100-80-sxm', 'gpus_per_node': 72}}";
    const struct {
        int gpus;
        const char *more, *jobs, *finding; /* NULL: none */
    } cases[] = {{8, "", "", NULL},
                 {8, big, "", "72 GPUs"},
                 {8, "", "'placement': 'counted', ", "on no nodes in particular"},
                 {72, "", "", "72 GPUs"}};
    double speed[4];
    for (int i = 0; i < 4; i++) {
        const char *plan = ", 'tiers': {" ON_HOST ", 'flow': 'serial', 'link': '20GB/s'}";
        const struct bed_rows *rows = bed_ok(BED(.quiet = true), site, cases[i].gpus, cases[i].more, cases[i].jobs, plan, "");
        bool is_told = false;
        for (int k = 0; k < rows->diag.n_items; k++) {
            const char *text = rows->diag.items[k].text;
            if (strstr(text, "to themselves") == NULL) continue;
            is_told = true;
            if (CHECK(cases[i].finding != NULL)) CHECK(strstr(text, cases[i].finding) != NULL);
        }
        CHECK_EQ_INT(is_told, cases[i].finding != NULL);
        speed[i] = bed_metric(rows, "job.offload_speed");
    }
    CHECK(speed[0] < 0.9);
    CHECK_NEAR(speed[1], speed[0], 0);
    CHECK(isnan(speed[2]) && isnan(speed[3]));
}

/* --- Bytes --- */

/* Each step leaves its bytes on each link of their way, also those that a failure has repeated. */
TEST(bytes_on_links_are_those_of_the_steps)
{
    const char *const types[] = {"", ", 'checkpoint': {'policy': {'policy': 'periodic', 'interval': '20s'}, 'bytes': "
                                     "'1GB', 'write': '1000GB/s'}"};
    for (int i = 0; i < 2 * N_PLANS; i++) {
        SCOPED(session) session = {0};
        struct training_setup setup;
        const struct training_step step = price(&session, test_json(PLAN "%s", plans[i / 2]), 2, &setup);
        const bool fails = i % 2 == 1; /* then the links are wide: work that is lost was done at full speed */
        const char *site = test_json(", 'pcie': '%s', 'pcie_switch': {'gpus': 2, 'bandwidth': '%s'}, 'host': "
                                     "{'device': 'host-dram-pcie5'}, 'storage': {'nvme': {'device': "
                                     "'samsung-980-pro', 'count': %d}}}, 'failures': {'causes': {%s}",
                                     fails ? "1TB/s" : "40GB/s", fails ? "1TB/s" : "30GB/s", fails ? 64 : 1,
                                     fails ? "'x': {'scope': 'job', 'lifetime': {'mean': '100s'}}" : "");
        const struct bed_rows *rows = run(site, plans[i / 2], types[i % 2], JOBS(2, 150) ", " JOBS(2, 150));
        const double lost_gpu_s = bed_job(rows, 0)->lost_gpu_s + bed_job(rows, 1)->lost_gpu_s;
        const double steps = 300 + lost_gpu_s / 2 / step.step_s;
        const double up = 2 * (step.up_bytes + step.fetched_bytes), down = 2 * (step.down_bytes + step.flushed_bytes),
                     drives = step.read_bytes + step.written_bytes;
        CHECK_EQ_INT(lost_gpu_s > 0, fails);
        const double slack = 1e-6 * steps * (up + down + drives) + 64;
        CHECK_NEAR(bed_metric(rows, "link.pcie.bytes"), steps * 2 * (up + down), slack);
        CHECK_NEAR(bed_metric(rows, "link.host.bytes"), steps * (up + down + drives), slack);
        if (drives > 0) CHECK_NEAR(bed_metric(rows, "link.storage.bytes"), steps * 2 * drives, slack);
    }
}

/* --- With networks, failures and schedulers --- */

#define NETWORKED                                                                                                      \
    "{'seed': %d, 'cluster': {'gpu': 'h100-sxm', 'nodes': 3, 'gpus_per_node': 4, 'pcie': '%s', 'pcie_switch': {'gpus': 2, " \
    "'bandwidth': '%s'}, 'network': {'bandwidth': '%s'}, 'storage': {'nvme': {'device': 'samsung-980-pro', 'count': %d}}}, " \
    "%s'jobs': {'scheduler': '%s', 'types': {'a': {'training': {" PLAN "%s}, 'checkpoint': {'policy': {'policy': "        \
    "'periodic', 'interval': '15s'}, 'bytes': '1GB', 'write': '10GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}"

/* A job over two nodes that exchanges gradients has the step of its plan on this network, whatever its host links. */
TEST(a_job_on_an_idle_network_takes_its_modelled_step)
{
    for (int i = 0; i < N_PLANS; i++) {
        const struct bed_rows *linked = bed_ok(BED(.check = true, .quiet = true), NETWORKED, 1, "1TB/s", "4TB/s", "50GB/s",
                                               64, "", "fifo", plans[i], JOBS(8, 20));
        const char *const sets[] = {"cluster.pcie=null", "cluster.pcie_switch=null", "cluster.storage=null", NULL};
        const struct bed_rows *bare = bed_ok(BED(.check = true, .quiet = true, .sets = sets), NETWORKED, 1, "1TB/s",
                                             "4TB/s", "50GB/s", 64, "", "fifo", plans[i], JOBS(8, 20));
        CHECK_NEAR(bed_job(linked, 0)->end_s, bed_job(bare, 0)->end_s, 0.0);
        CHECK(bed_metric(linked, "job.network_speed") > 0.999);
    }
}

/* Narrower links never make a site of jobs that fail, are preempted and resized faster; and each order of events at a
 * moment, queue and check gives the same rows. */
TEST(queues_and_checks_change_nothing)
{
    static const char *const schedulers[] = {"fifo", "srtf", "equi", "tiresias"},
                             failures[] =
                                 "'failures': {'causes': {'x': {'scope': 'node', 'lifetime': {'mean': '300s'}, "
                                 "'repair': {'mean': '20s'}}}}, ";
    const char *jobs = JOBS(2, 90) ", " JOBS(1, 150) ", " JOBS(4, 60) ", " JOBS(8, 80) ", " JOBS(1, 30) ", " JOBS(3,
                                                                                                                  60);
    for (int i = 0; i < N_PLANS; i++)
        for (int k = 0; k < 4; k++) {
            struct bed_rows *rows[4];
            for (int n = 0; n < 4; n++)
                rows[n] = bed_ok(BED(.quiet = true, .check = n == 2, .queue = n == 1 ? QUEUE_HEAP : QUEUE_CALENDAR),
                                 NETWORKED, i + 7 * k, n == 3 ? "1TB/s" : "12GB/s", n == 3 ? "4TB/s" : "20GB/s",
                                 "4GB/s", n == 3 ? 64 : 1, k % 2 == 0 ? failures : "", schedulers[k], plans[i], jobs);
            CHECK(bed_equal(rows[0], rows[1]));
            CHECK(bed_equal(rows[0], rows[2]));
            const bool is_slower = i != 4; /* a flush that blocks has less than these links, by itself */
            CHECK_EQ_INT(bed_metric(rows[0], "job.offload_speed") < 1, is_slower);
            CHECK_NEAR(bed_metric(rows[3], "job.offload_speed"), 1, 0);
            for (int n = 0; n < 4; n++) bed_free(rows[n]);
        }
}

/* --- Beside a service --- */

/* A service swaps sequences over the bridge of a job's GPU, and both wait for each other. */
TEST(jobs_and_services_slow_each_other_on_a_bridge)
{
    static const char jobs[] = "'jobs': {'types': {'a': {'training': {" PLAN ", 'tiers': {" ON_HOST
                               ", 'flow': 'serial', "
                               "'link': '8GB/s'}}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOBS(1, 12) "]}}",
                      chat[] =
                          "'services': {'chat': {'llm': 'llama-2-7b', 'kv': {'blocks': 200}, 'batching': {'policy': "
                          "'vllm-v0', 'preemption': 'swap'}, 'trace': {'format': 'generate', 'count': 200, "
                          "'arrival': {'process': 'poisson', 'rate': '4/s'}, 'prompt': {'distribution': 'fixed', "
                          "'tokens': 400}, 'output': {'distribution': 'fixed', 'tokens': 400}}}}";
    const struct bed_rows *of[2][3];
    for (int wide = 0; wide < 2; wide++)
        for (int i = 0; i < 3; i++)
            of[wide][i] = bed_ok(BED(.check = true, .quiet = true),
                                 "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 2, 'pcie_switch': {'gpus': "
                                 "2, 'bandwidth': '%s'}, " HOST "}, %s%s%s}",
                                 wide ? "800GB/s" : "8GB/s", i == 1 ? "" : jobs, i == 2 ? ", " : "", i == 0 ? "" : chat);
    CHECK(bed_metric(of[0][1], "replica.swaps.sum") > 20);
    CHECK_NEAR(bed_metric(of[0][0], "job.offload_speed"), 1.0, 0.0);
    CHECK(bed_metric(of[0][2], "job.offload_speed") < 0.995);
    CHECK(bed_metric(of[0][2], "request.e2e_s.mean") > 1.001 * bed_metric(of[0][1], "request.e2e_s.mean"));
    CHECK_NEAR(bed_metric(of[1][2], "job.offload_speed"), 1.0, 0.0);
    CHECK_NEAR(bed_metric(of[1][2], "request.e2e_s.mean"), bed_metric(of[1][1], "request.e2e_s.mean"), 0.0);
}

/* --- Beside checkpoints --- */

/* States in host memory leave it over the switch of their NIC. So saves take from what another job moves there, and
 * their bytes are on the switch and in memory. Those of a job that keeps its states on its GPU do not pass the
 * host. */
TEST(saves_of_states_on_the_host_cross_its_links)
{
    const struct bed_rows *of[2][2];
    for (int on_host = 0; on_host < 2; on_host++)
        for (int saves = 0; saves < 2; saves++)
            of[on_host][saves] = bed_ok(
                BED(.check = true, .quiet = true),
                "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 2, 'pcie_switch': {'gpus': 2, 'bandwidth': "
                "'8GB/s'}, " HOST
                ", 'network': {'bandwidth': '50GB/s'}, 'storage': {'files': {'device': 'rdma-h800'}}}, "
                "'jobs': {'types': {'a': {'training': {" PLAN ", 'tiers': {" ON_HOST ", 'flow': 'serial', 'link': "
                "'8GB/s'}}}, 'b': {'training': {" PLAN
                "%s, 'steps': 200}, 'checkpoint': {'policy': {'policy': 'periodic', "
                "'interval': '%s'}, 'bytes': '40GB', 'to': 'files'}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
                "{'type': 'a', 'gpus': 1, 'steps': 20}, {'type': 'b', 'gpus': 1, 'steps': 30}]}}}",
                on_host ? ", 'tiers': {'optimizer': 'host', 'link': '8GB/s'}" : "", saves ? "21s" : "1000000s");
    const double more[] = {
        bed_metric(of[0][1], "link.pcie.bytes") - bed_metric(of[0][0], "link.pcie.bytes"),
        bed_metric(of[1][1], "link.pcie.bytes") - bed_metric(of[1][0], "link.pcie.bytes")};
    const double saved = more[1] / 40e9;
    CHECK(saved >= 1 && fabs(saved - round(saved)) < 1e-6);
    CHECK_NEAR(more[0], 0, 1e-6 * 40e9);
    CHECK_NEAR(bed_metric(of[1][1], "link.host.bytes") - bed_metric(of[1][0], "link.host.bytes"), more[1], 64);
    CHECK(bed_job(of[1][1], 0)->end_s > bed_job(of[1][0], 0)->end_s + 1);
    CHECK_NEAR(bed_job(of[0][1], 0)->end_s, bed_job(of[0][0], 0)->end_s, 1e-6);
}

/* --- A naive twin --- */

enum { UP, DOWN, READ, WRITE, TURNS, KINDS, MOST_JOBS = 4, MOST_FLOWS = 64, GPUS = 8 };
/* Links of a node: memory, two of each GPU and switch, drives' media and ports, and the time of the drives. */
enum { MEMORY, PCIE, SWITCH = PCIE + 2 * GPUS, MEDIA = SWITCH + 2 * GPUS, PORT = MEDIA + 2, TIME = PORT + 2, LINKS };

struct twin_flow {
    int job, kind, n_links, links[4];
    double bytes, peak, demand, rate;
    bool is_open;
};

struct twin_job {
    struct training_setup setup;
    struct training_step step;
    double shares[KINDS], flush_frac, step_s, time_s, left_steps, end_s;
    bool runs;
};

struct twin {
    double rates[LINKS];
    int n_jobs, n_flows;
    struct twin_job jobs[MOST_JOBS];
    struct twin_flow flows[MOST_FLOWS];
};

/* Raises all rates at once, and stops those that have what they want or a full link. */
static void fill(struct twin *twin)
{
    double left[LINKS];
    memcpy(left, twin->rates, sizeof left);
    for (int i = 0; i < twin->n_flows; i++) {
        twin->flows[i].is_open = twin->jobs[twin->flows[i].job].runs;
        twin->flows[i].rate = 0;
    }
    for (;;) {
        int users[LINKS] = {0}, open = 0;
        double more = INFINITY;
        for (int i = 0; i < twin->n_flows; i++)
            for (int k = 0; k < twin->flows[i].n_links && twin->flows[i].is_open; k++) users[twin->flows[i].links[k]]++;
        for (int i = 0; i < twin->n_flows; i++) {
            const struct twin_flow *flow = &twin->flows[i];
            if (!flow->is_open) continue;
            open++;
            more = fmin(more, flow->demand - flow->rate);
            for (int k = 0; k < flow->n_links; k++) more = fmin(more, left[flow->links[k]] / users[flow->links[k]]);
        }
        if (open == 0) return;
        for (int i = 0; i < twin->n_flows; i++)
            for (int k = -1; k < twin->flows[i].n_links && twin->flows[i].is_open; k++)
                *(k < 0 ? &twin->flows[i].rate : &left[twin->flows[i].links[k]]) += k < 0 ? more : -more;
        for (int i = 0; i < twin->n_flows; i++) {
            struct twin_flow *flow = &twin->flows[i];
            bool ends = flow->rate >= flow->demand * (1 - 1e-12);
            for (int k = 0; k < flow->n_links; k++)
                ends = ends || left[flow->links[k]] <= 1e-12 * twin->rates[flow->links[k]];
            flow->is_open = flow->is_open && !ends;
        }
    }
}

static double share_of(struct twin *twin, int job, int kind)
{
    double least = 1;
    for (int i = 0; i < twin->n_flows; i++) {
        struct twin_flow *flow = &twin->flows[i];
        const bool moves = flow->job == job && flow->kind == kind;
        flow->demand = moves ? flow->peak : flow->bytes / twin->jobs[flow->job].step_s;
    }
    fill(twin);
    for (int i = 0; i < twin->n_flows; i++)
        if (twin->flows[i].job == job && twin->flows[i].kind == kind)
            least = fmin(least, twin->flows[i].rate / twin->flows[i].peak);
    return least < 1 - 1e-6 ? least : 1;
}

/* Prices one job after another until nothing changes. */
static void settle(struct twin *twin)
{
    double changed = 1;
    for (int sweep = 0; sweep < 2000 && changed > 1e-9; sweep++) {
        changed = 0;
        for (int j = 0; j < twin->n_jobs; j++) {
            struct twin_job *job = &twin->jobs[j];
            if (!job->runs) continue;
            double of[KINDS];
            for (int k = 0; k < KINDS; k++) of[k] = share_of(twin, j, k);
            const double down = of[DOWN] < 1 ? of[DOWN] * job->flush_frac : 1;
            const struct training_link_shares left = {of[UP], down, fmin(of[READ], of[TURNS]),
                                                      fmin(of[WRITE], of[TURNS])};
            job->setup.plan.link_shares = &left;
            const double before_s = job->step_s;
            job->step_s = training_step_of(&job->setup.parts, 0.06).step_s;
            job->setup.plan.link_shares = NULL;
            changed = fmax(changed, fabs(job->step_s / before_s - 1));
        }
    }
    for (int i = 0; i < twin->n_flows; i++) twin->flows[i].demand = twin->flows[i].bytes / twin->jobs[twin->flows[i].job].step_s;
    fill(twin);
    for (int j = 0; j < twin->n_jobs; j++) twin->jobs[j].time_s = twin->jobs[j].step_s;
    for (int i = 0; i < twin->n_flows; i++) {
        struct twin_job *job = &twin->jobs[twin->flows[i].job];
        if (job->runs) job->time_s = fmax(job->time_s, twin->flows[i].bytes / twin->flows[i].rate);
    }
}

/* Runs all jobs, which begin together. */
static void simulate(struct twin *twin)
{
    double now_s = 0;
    for (int n = 0; n < twin->n_jobs; n++) {
        double next_s = INFINITY;
        settle(twin);
        for (int j = 0; j < twin->n_jobs; j++)
            if (twin->jobs[j].runs) next_s = fmin(next_s, twin->jobs[j].left_steps * twin->jobs[j].time_s);
        now_s += next_s;
        for (int j = 0; j < twin->n_jobs; j++) {
            struct twin_job *job = &twin->jobs[j];
            if (!job->runs) continue;
            job->left_steps -= next_s / job->time_s;
            job->runs = job->left_steps > 1e-9;
            job->end_s = now_s;
        }
    }
}

static void add_flow(struct twin *twin, const struct twin_flow *flow)
{
    if (flow->bytes > 0 && flow->n_links > 0) twin->flows[twin->n_flows++] = *flow;
}

/* Flows of a job on GPUs `first` to `first + gpus - 1`. */
static void add_job(struct twin *twin, int j, int first, int gpus, int per_switch, bool has_drives)
{
    const struct training_step *step = &twin->jobs[j].step;
    const struct training_plan *plan = &twin->jobs[j].setup.plan;
    const bool offloads = plan->offload.optimizer_frac > 0;
    const double link = offloads ? plan->offload.link_bytes_per_s : plan->tiers.link_bytes_per_s;
    const bool flushes = offloads && plan->offload.blocks_flush && plan->offload.gpu_stride <= 1;
    twin->jobs[j].flush_frac = flushes ? fmin(plan->offload.flush_bytes_per_s / link, 1) : 1;
    for (int g = first; g < first + gpus; g++)
        for (int way = UP; way <= DOWN; way++)
            add_flow(twin, &(struct twin_flow){.job = j, .kind = way, .peak = link * (way == UP ? 1 : twin->jobs[j].flush_frac),
                                               .bytes = way == UP ? step->up_bytes + step->fetched_bytes
                                                                  : step->down_bytes + step->flushed_bytes,
                                               .n_links = 3,
                                               .links = {MEMORY, PCIE + 2 * g + way, SWITCH + 2 * (g / per_switch) + way}});
    const double bytes[] = {step->read_bytes, step->written_bytes},
                 peaks[] = {plan->tiers.read_bytes_per_s, plan->tiers.write_bytes_per_s};
    double busy_s = 0, plan_s = 0;
    for (int way = 0; way < 2 && has_drives; way++) {
        add_flow(twin, &(struct twin_flow){.job = j, .kind = READ + way, .peak = peaks[way], .bytes = bytes[way],
                                           .n_links = 3, .links = {MEMORY, MEDIA + way, PORT + way}});
        if (!(bytes[way] > 0)) continue;
        busy_s += bytes[way] / fmin(twin->rates[MEDIA + way], twin->rates[PORT + way]);
        plan_s += bytes[way] / peaks[way];
    }
    add_flow(twin, &(struct twin_flow){.job = j, .kind = TURNS, .peak = fmin(busy_s / plan_s, 1), .bytes = busy_s,
                                       .n_links = 1, .links = {TIME}});
}

static const char *draw_plan(struct rng *rng)
{
    static const char *const homes[] = {"gpu", "host", "disk"}, *const flows[] = {"serial", "prefetched", "pipelined"};
    const double link = 4.0 + (double)rng_below(rng, 40);
    if (rng_below(rng, 4) == 0)
        return test_json(PLAN ", 'offload': {'optimizer': 1, 'link': '%gGB/s', 'flush': '%s', 'gpu_stride': %d}", link,
                         rng_below(rng, 2) == 0 ? "blocking" : "overlapped", (int)rng_below(rng, 4));
    return test_json(PLAN ", 'tiers': {'weights': '%s', 'gradients': '%s', 'optimizer': '%s', 'activations': '%s', "
                          "'flow': '%s', 'link': '%gGB/s', 'disk_read': '%dGB/s', 'disk_write': '%dGB/s', "
                          "'cpu_update': '2e10/s'}",
                     homes[rng_below(rng, 3)], homes[rng_below(rng, 3)], homes[1 + rng_below(rng, 2)],
                     homes[rng_below(rng, 2)], flows[rng_below(rng, 3)], link, 3 + (int)rng_below(rng, 12),
                     2 + (int)rng_below(rng, 8));
}

/* Random plans of two to four jobs on a node with random switches and drives. Shares settle to 1/16384 each. */
TEST_SIZED(random_sites_agree_with_a_naive_twin)
{
    int n_slowed = 0;
    for (uint64_t index = 0; index < (uint64_t)test_part(60); index++) {
        SCOPED(session) session = {0};
        struct rng rng = test_rng(index, "swaps of jobs", 0);
        static struct twin twin;
        memset(&twin, 0, sizeof twin);
        const int per_switch = 1 << rng_below(&rng, 4), drives = (int)rng_below(&rng, 3);
        const double pcie = 8e9 * (double)(1 + rng_below(&rng, 8)),
                     bridge = pcie * (0.5 + 0.5 * (double)rng_below(&rng, 4));
        const char *types = "", *jobs = "";
        int first = 0;
        twin.rates[MEMORY] = 245.76e9; /* of configs/storage */
        for (int i = 0; i < 2 * GPUS; i++) {
            twin.rates[PCIE + i] = pcie;
            twin.rates[SWITCH + i] = bridge;
        }
        for (int way = 0; way < 2; way++) {
            twin.rates[MEDIA + way] = drives * (way == 0 ? 7e9 : 5.1e9);
            twin.rates[PORT + way] = drives * 7.2e9;
        }
        twin.rates[TIME] = 1;
        twin.n_jobs = 2 + (int)rng_below(&rng, MOST_JOBS - 1);
        for (int j = 0; j < twin.n_jobs; j++) {
            struct twin_job *job = &twin.jobs[j];
            const int gpus = 1 + (int)rng_below(&rng, 2), steps = 5 + (int)rng_below(&rng, 40);
            const char *plan = draw_plan(&rng);
            while ((job->step = price(&session, plan, gpus, &job->setup)).step_s == 0) plan = draw_plan(&rng);
            job->step_s = job->step.step_s;
            job->left_steps = steps;
            job->runs = true;
            add_job(&twin, j, first, gpus, per_switch, drives > 0);
            first += gpus;
            types = test_json("%s%s'%d': {'training': {%s}}", types, j > 0 ? ", " : "", j, plan);
            jobs = test_json("%s%s{'type': '%d', 'gpus': %d, 'steps': %d}", jobs, j > 0 ? ", " : "", j, gpus, steps);
        }
        const char *storage = drives > 0
                                  ? test_json(", 'storage': {'nvme': {'device': 'samsung-980-pro', 'count': %d}}",
                                              drives)
                                  : "";
        const struct bed_rows *rows = bed_ok(
            BED(.check = true, .quiet = true),
            "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 8, 'pcie': '%.9gGB/s', 'pcie_switch': {'gpus': "
            "%d, 'bandwidth': '%.9gGB/s'}, " HOST "%s}, 'jobs': {'types': {%s}, 'trace': {'format': 'inline-jobs', "
            "'jobs': [%s]}}}",
            pcie / 1e9, per_switch, bridge / 1e9, storage, types, jobs);
        simulate(&twin);
        for (int j = 0; j < twin.n_jobs; j++) {
            const double end_s = bed_job(rows, j)->end_s;
            CHECK_NEAR(end_s, twin.jobs[j].end_s, 5e-4 * end_s);
        }
        n_slowed += bed_metric(rows, "job.offload_speed") < 0.99;
    }
    CHECK_WHOLE(n_slowed > 30);
}
