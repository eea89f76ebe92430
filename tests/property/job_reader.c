/* Data sets that jobs read step by step: the longer of computing and reading, max-min shares of the storage, buffers
 * that bridge short gaps, bytes on links, and equal results whatever the queue. Nodes have 2 GPUs and one NIC of
 * 10 GB/s without latency, unless a test says otherwise. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLUSTER                                                                                                        \
    "'cluster': {'nodes': %d, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s', 'per': '%s'}, "  \
    "'storage': {'files': {'device': 'rdma-h800', 'ceiling': '%gGB/s'}}}"
#define JOB "{'submit': '%gs', 'duration': '%gs', 'gpus': %d}"
#define CONSTANT(mean) "{'law': 'constant', 'mean': '" mean "'}"
enum { HOPS = 4 }; /* of class "network": media, port and ceiling of the storage, and the NIC */

static double jct(const struct bed_rows *rows, int64_t id)
{
    const struct job_row *row = bed_job(rows, id);
    return row != NULL ? row->end_s - row->submit_s : (double)NAN;
}

static double bytes_read(const struct bed_rows *rows)
{
    return bed_metric(rows, "link.network.bytes") / HOPS;
}

/* --- One job --- */

/* Steps of 1 s that read 1 to 40 GB from a storage of 8 GB/s. A job on one GPU has one NIC, one on four has two. */
TEST(a_job_alone_takes_the_longer_of_computing_and_reading)
{
    for (int gpus = 1; gpus <= 4; gpus += 3)
        for (double step_gb = 1; step_gb <= 40; step_gb *= 1.5)
            for (int prefetch = 1; prefetch <= 5; prefetch += 2) {
                const struct bed_rows *rows = bed_ok(
                    BED(.check = true),
                    "{" CLUSTER ", 'jobs': {'types': {'default': {'data': {'from': 'files', 'step_bytes': '%.15gGB', "
                    "'step_time': '1s', 'prefetch': %d}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
                    2, "node", 8.0, step_gb, prefetch, 0.0, 100.0, gpus);
                const double slow = fmax(1.0, step_gb / 8.0), steps = 100.0;
                CHECK_NEAR(jct(rows, 0), 100 * slow, 1e-6);
                CHECK_NEAR(bed_metric(rows, "job.data_wait_frac"), 1 - 1 / slow, 1e-9);
                const double ahead = step_gb < 8.0 ? fmin(prefetch * step_gb, steps * (8.0 - step_gb)) : 0.0;
                CHECK_NEAR(bytes_read(rows) / 1e9, steps * step_gb + ahead, 1e-5);
            }
}

/* 2 GPUs on one node and 1 on the other: the first NIC carries two thirds of the data. */
TEST(parts_of_unlike_size_read_by_their_gpus)
{
    for (double need_gb = 6; need_gb <= 24; need_gb += 3) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'jobs': {'placement': 'first-fit', 'types': {'default': {'data': {'from': 'files', "
            "'step_bytes': '%gGB', 'step_time': '1s', 'prefetch': 1}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB
            "]}}}",
            2, "node", need_gb < 20 ? 15.5 : 100.0, need_gb, 0.0, 100.0, 3);
        CHECK_NEAR(jct(rows, 0), 100 * fmax(1.0, need_gb / 15), 1e-5);
    }
}

/* Loaders of two nodes that decode 2 GB/s each. */
TEST(loaders_read_no_more_than_their_nodes_decode)
{
    for (double step_gb = 1; step_gb <= 8; step_gb += 1) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{" CLUSTER ", 'jobs': {'types': {'default': {'data': {'from': 'files', 'step_bytes': '%gGB', "
            "'step_time': '1s', 'node_read': '2GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            2, step_gb < 4.5 ? "node" : "gpu", 100.0, step_gb, 0.0, 60.0, 4);
        CHECK_NEAR(jct(rows, 0), 60 * fmax(1.0, step_gb / 4.0), 1e-6);
    }
}

/* At half its clock share of work a job needs half of the data: a slow node hides a slow storage. */
TEST(a_slow_node_needs_fewer_data)
{
    for (double step_gb = 4; step_gb <= 16; step_gb *= 2) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{" CLUSTER
            ", 'failures': {'causes': {'slow': {'scope': 'site', 'slow': 0.5, 'lifetime': " CONSTANT("40s") ", 'repair': " CONSTANT(
                "1000s") "}}}, 'jobs': {'types': {'default': {'data': {'from': 'files', "
                         "'step_bytes': '%gGB', 'step_time': '1s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB
                         "]}}}",
            2, "node", 4.0, step_gb, 0.0, 80.0, 4);
        const double before = fmin(1.0, 4.0 / step_gb), after = fmin(0.5, 4.0 / step_gb);
        CHECK_NEAR(jct(rows, 0), 40 + (80 - 40 * before) / after, 1e-6);
    }
}

/* The step is that of the type: 2 s of computing, and exchanges within nodes that take no time. */
TEST(steps_that_exchange_data_read_as_well)
{
    for (double step_gb = 4; step_gb <= 64; step_gb *= 2) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'jobs': {'types': {'default': {'step': {'compute': '2s', 'collectives': [{'kind': "
            "'all-reduce', 'group': 'node', 'bytes': '10GB'}]}, 'data': {'from': 'files', 'step_bytes': '%gGB'}}}, "
            "'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            2, "gpu", 8.0, step_gb, 0.0, 100.0, 4);
        CHECK_NEAR(jct(rows, 0), 100 * fmax(1.0, step_gb / 2.0 / 8.0), 1e-5);
    }
}

/* A batch of 32 sequences of a plan, each of 1 MB, is 32 MB for each step, and the plan's time is the step's. */
TEST(samples_of_a_plan_are_those_of_its_batch)
{
    static const char *const sizes[] = {"'sample_bytes': '1GB'", "'step_bytes': '32GB'"};
    double end_s[2], read_gb[2];
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            NULL,
            "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'gpus_per_node': 8, 'network': {'bandwidth': '25GB/s'}, "
            "'storage': {'files': {'device': 'rdma-h800', 'ceiling': '2GB/s'}}}, 'jobs': {'types': {'default': {"
            "'training': {'llm': 'llama-3.1-8b', 'tensor_parallel': 8, 'global_batch': 32, 'recompute': 'full'}, "
            "'data': {'from': 'files', %s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'steps': 20, "
            "'gpus': 8}]}}}",
            sizes[i]);
        end_s[i] = jct(rows, 0);
        read_gb[i] = bytes_read(rows) / 1e9;
    }
    CHECK_NEAR(end_s[0], 20 * 32 / 2.0, 1e-5); /* 16 s of reading are longer than the step */
    CHECK_NEAR(end_s[0], end_s[1], 0.0);
    CHECK_NEAR(read_gb[0], 640, 1e-4);
    CHECK_NEAR(read_gb[0], read_gb[1], 0.0);
}

/* --- Gaps --- */

/* A job that needs 6 of 8 GB/s, and at 50 s another that loads: the two share 8 GB/s for as long as the load takes.
 * The first lacks 2 GB/s meanwhile, of which it has read `prefetch` steps of 6 GB ahead. */
TEST(what_is_read_ahead_bridges_a_gap)
{
    for (int prefetch = 1; prefetch <= 6; prefetch++) {
        const double load_gb = 60, gap_s = load_gb / 4.0;
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'jobs': {'types': {'default': {'data': {'from': 'files', 'step_bytes': '6GB', 'step_time': "
            "'1s', 'prefetch': %d}}, 'loads': {'load': {'from': 'files', 'bytes': '%gGB'}}}, 'trace': {'format': "
            "'inline-jobs', 'jobs': [" JOB ", {'submit': '50s', 'duration': '1s', 'gpus': 2, 'type': 'loads'}]}}}",
            2, "node", 8.0, prefetch, load_gb, 0.0, 100.0, 2);
        const double lacks_gb = fmax(0.0, 2.0 * gap_s - prefetch * 6.0);
        CHECK_NEAR(jct(rows, 1), gap_s + 1, 1e-6);
        CHECK_NEAR(jct(rows, 0), 100 + lacks_gb / 6.0, 1e-6);
    }
}

/* A save stalls the job for 10 s, in which it reads on until its buffer is full; no step is read twice. */
TEST(a_job_that_saves_reads_ahead_meanwhile)
{
    static const char *const saves[] = {"'to': 'files'", "'write': '10GB/s'"};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': "
            "'20s'}, 'bytes': '100GB', %s}, 'data': {'from': 'files', 'step_bytes': '16GB', 'step_time': '1s', "
            "'prefetch': 4}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
            2, "node", 10.0, saves[i], 0.0, 70.0, 4);
        /* 20 s at 10 of 16 GB/s are 12.5 s of work. Each stall reads 64 GB ahead, which last for 64/6 s at full speed:
         * 20 s behind it are 64/6 + (20 - 64/6) 5/8 = 16.5 s of work. Of 70 s of work, 8 s at full speed are left
         * after the fourth stall. */
        CHECK_NEAR(jct(rows, 0), 4 * 30 + 8, 1e-5);
        CHECK_NEAR(bytes_read(rows) / 1e9 - (i == 0 ? 400 : 0), 70 * 16 + 64 - 8 * 6, 1e-4);
    }
}

/* Two jobs that need 3 GB/s share 4 GB/s. Node 0 pauses from 100 s on: the other job then has all that it needs. */
TEST(a_job_that_pauses_leaves_the_storage_to_others)
{
    static const char *const outages[] = {"'jobs': 'pause', ", "'jobs': 'interrupt', "};
    for (int i = 0; i < 2; i++) {
        const struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{" CLUSTER ", 'failures': {'outages': {'m': {'node': 0, %s'from': '100s', 'until': '1100s'}}}, 'jobs': "
            "{'placement': 'first-fit', 'types': {'default': {'data': {'from': 'files', 'step_bytes': '300MB', "
            "'step_time': '100ms'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB ", " JOB "]}}}",
            2, "node", 4.0, outages[i], 0.0, 500.0, 2, 0.0, 500.0, 2);
        /* 100 s at 2 of 3 GB/s; the pause first fills a buffer of 0.6 GB, which the other job reads the later */
        CHECK_NEAR(jct(rows, 1), 100 + 500 - 100 * 2 / 3.0, 0.3);
        if (i == 0) CHECK_NEAR(jct(rows, 0), 1100 + 500 - 100 * 2 / 3.0, 0.3);
    }
}

/* --- Failures --- */

/* All nodes fail at 100 s, when the last save, of 50 s of work, has counted. The rest is read again, and what was
 * ahead is lost: once at the failure, once at the end. */
TEST(a_job_that_restarts_reads_again_what_it_repeats)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{" CLUSTER
        ", 'failures': {'causes': {'site': {'scope': 'site', 'lifetime': " CONSTANT("100s") ", 'restart': " CONSTANT(
            "5s") "}}}, 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': "
                  "'50s'}, 'bytes': '1GB', 'write': '1000GB/s'}, 'data': {'from': 'files', 'step_bytes': '2GB', 'step_time': "
                  "'1s', 'prefetch': 3}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB "]}}}",
        2, "node", 8.0, 0.0, 120.0, 4);
    CHECK_NEAR(jct(rows, 0), 100 + 5 + 70 + 0.001, 1e-6);
    CHECK_NEAR(bed_metric(rows, "job.lost_gpu_s.sum"), 49.999 * 4, 1e-3);
    CHECK_NEAR(bytes_read(rows) / 1e9, 2 * (120 + 49.999) + 2 * (3 * 2), 1e-5);
}

/* --- Several jobs --- */

enum { N_JOBS = 7 };

/* A job with one NIC of 10 GB/s that needs need_gb each second of its work. */
struct naive_job {
    double from_s, work_s, need_gb, buffer_gb;
    double ahead_gb, read_gb, end_s, rate;
    bool fills, runs;
};

/* Max-min shares of `capacity` among the demands, by raising a level in small steps of exact halving. */
static void share(struct naive_job *jobs, double capacity)
{
    double low = 0, high = capacity;
    for (int k = 0; k < 200; k++) {
        const double level = 0.5 * (low + high);
        double sum = 0;
        for (int i = 0; i < N_JOBS; i++)
            if (jobs[i].runs) sum += fmin(jobs[i].fills ? 10.0 : jobs[i].need_gb, level);
        if (sum > capacity)
            high = level;
        else
            low = level;
    }
    for (int i = 0; i < N_JOBS; i++)
        jobs[i].rate = jobs[i].runs ? fmin(jobs[i].fills ? 10.0 : jobs[i].need_gb, low) : 0.0;
}

static bool is_short(const struct naive_job *job)
{
    return job->rate < job->need_gb * (1 - 1e-8);
}

static double speed_of(const struct naive_job *job)
{
    return job->ahead_gb <= 1e-7 && is_short(job) ? job->rate / job->need_gb : 1.0;
}

/* Whoever can read more than it needs fills its buffer, once a step of it is free, until it is full. */
static void settle(struct naive_job *jobs, double capacity)
{
    for (int pass = 0; pass < 2 * N_JOBS; pass++) {
        bool changed = false;
        share(jobs, capacity);
        for (int i = 0; i < N_JOBS; i++) {
            struct naive_job *job = &jobs[i];
            const double room = job->buffer_gb - job->ahead_gb;
            const bool fills = job->runs && !is_short(job) &&
                               (job->fills ? room > 1e-7 : room >= job->need_gb - 1e-7); /* steps of 1 s */
            changed = changed || fills != job->fills;
            job->fills = fills;
        }
        if (!changed) return;
    }
}

static double next_s(const struct naive_job *jobs, double now)
{
    double next = (double)INFINITY;
    for (int i = 0; i < N_JOBS; i++) {
        const struct naive_job *job = &jobs[i];
        if (job->from_s > now) next = fmin(next, job->from_s);
        if (!job->runs) continue;
        const double change = job->rate - speed_of(job) * job->need_gb;
        next = fmin(next, now + job->work_s / speed_of(job));
        if (job->fills && change > 0) next = fmin(next, now + (job->buffer_gb - job->ahead_gb) / change);
        if (is_short(job) && change < 0 && job->ahead_gb > 1e-7) next = fmin(next, now - job->ahead_gb / change);
    }
    return next;
}

static void run_naive(struct naive_job *jobs, double capacity)
{
    double now = 0;
    for (int events = 0; events < 10000; events++) {
        for (int i = 0; i < N_JOBS; i++) {
            if (jobs[i].runs && jobs[i].work_s <= 1e-9) {
                jobs[i].runs = jobs[i].fills = false;
                jobs[i].end_s = now;
            }
            if (!jobs[i].runs && jobs[i].end_s == 0 && jobs[i].from_s <= now) jobs[i].runs = true;
        }
        settle(jobs, capacity);
        const double next = next_s(jobs, now);
        if (isinf(next)) return;
        for (int i = 0; i < N_JOBS; i++) {
            struct naive_job *job = &jobs[i];
            if (!job->runs) continue;
            const double speed = speed_of(job), read = job->rate * (next - now);
            const double over = job->ahead_gb + read - speed * job->need_gb * (next - now) - job->buffer_gb;
            job->work_s -= speed * (next - now);
            job->read_gb += read - fmax(over, 0);
            job->ahead_gb = fmin(fmax(job->ahead_gb + read - speed * job->need_gb * (next - now), 0), job->buffer_gb);
        }
        now = next;
    }
}

/* Jobs of one GPU, each with a node of one NIC, come and go at one storage. */
TEST(jobs_share_the_storage_as_a_naive_fluid_does)
{
    int n_short = 0;
    for (uint64_t index = 0; index < 60; index++) {
        struct rng rng = test_rng(index, "reader", 0);
        struct naive_job jobs[N_JOBS] = {{0}};
        const double capacity = 3 + (double)rng_below(&rng, 25);
        char types[1536], list[1024];
        size_t n_types = 0, n = 0;
        for (int i = 0; i < N_JOBS; i++) {
            const int prefetch = 1 + (int)rng_below(&rng, 9);
            jobs[i].from_s = (i > 0 ? jobs[i - 1].from_s : 0) + (double)rng_below(&rng, 20);
            jobs[i].work_s = 20 + (double)rng_below(&rng, 80);
            jobs[i].need_gb = 0.5 + 0.25 * (double)rng_below(&rng, 34);
            jobs[i].buffer_gb = prefetch * jobs[i].need_gb;
            n_types += (size_t)snprintf(types + n_types, sizeof types - n_types,
                                        "%s'%d': {'data': {'from': 'files', 'step_bytes': '%gGB', 'step_time': '1s', "
                                        "'prefetch': %d}}",
                                        i > 0 ? ", " : "", i, jobs[i].need_gb, prefetch);
            n += (size_t)snprintf(list + n, sizeof list - n,
                                  "%s{'submit': '%gs', 'duration': '%gs', 'gpus': 2, 'type': '%d'}", i > 0 ? ", " : "",
                                  jobs[i].from_s, jobs[i].work_s, i);
        }
        const struct bed_rows *rows = bed_ok(BED(.check = true),
                                             "{" CLUSTER ", 'jobs': {'types': {%s}, 'trace': {'format': "
                                             "'inline-jobs', 'jobs': [%s]}}}",
                                             N_JOBS, "node", capacity, types, list);
        double read_gb = 0;
        for (int i = 0; i < N_JOBS; i++) n_short += jobs[i].need_gb > capacity / N_JOBS;
        run_naive(jobs, capacity);
        for (int i = 0; i < N_JOBS; i++) {
            CHECK_NEAR(bed_job(rows, i)->end_s, jobs[i].end_s, 1e-5);
            read_gb += jobs[i].read_gb;
        }
        CHECK_NEAR(bytes_read(rows) / 1e9, read_gb, 1e-4);
    }
    CHECK(n_short > 100);
}

/* Seven jobs at a storage of 8 GB/s, on shares of their GPUs that change at each start and end: at speeds far below 1
 * work is rounded more coarsely than reading. Each takes at least its bytes over the storage. */
TEST(slow_jobs_do_not_look_at_their_data_all_the_time)
{
    static const double submit_s[] = {291, 351, 699, 713, 1024, 1160, 1462};
    static const int work_s[] = {1258, 3029, 1384, 2596, 1008, 3955, 1418}, gpus[] = {16, 20, 20, 20, 20, 10, 16};
    char list[1024];
    size_t n = 0;
    double all_s = 0;
    for (int i = 0; i < 7; i++) {
        all_s += work_s[i];
        n += (size_t)snprintf(list + n, sizeof list - n, "%s{'submit': '%gs', 'duration': '%ds', 'gpus': %d}",
                              i > 0 ? "," : "", submit_s[i], work_s[i], gpus[i]);
    }
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'cluster': {'nodes': 4, 'gpus_per_node': 8, 'network': {'bandwidth': '10GB/s', 'per': 'node'}, 'storage': "
        "{'files': {'device': 'rdma-h800', 'ceiling': '8GB/s'}}}, 'jobs': {'placement': 'first-fit', 'scheduler': "
        "'hesrpt', 'types': {'default': {'data': {'from': 'files', 'step_bytes': '1GB', 'step_time': '50ms', "
        "'prefetch': 1}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        list);
    double last_s = 0;
    for (int i = 0; i < 7; i++) last_s = fmax(last_s, bed_job(rows, i)->end_s);
    CHECK(last_s >= 291 + all_s * 20 / 8);
}

/* --- Identity --- */

static const char *random_site(uint64_t index)
{
    struct rng rng = test_rng(index, "readers", 0);
    static char jobs[2048];
    static const char *const networks[] = {"", ", 'topology': 'leaf-spine', 'nodes_per_leaf': 2, 'oversubscription': 3",
                                           ", 'fabric': '12GB/s'", ", 'per': 'node'"};
    static const char *const schedulers[] = {"srtf", "fifo-skip", "hesrpt", "equi"};
    static const char *const saves[] = {"",
                                        "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '20s'}, 'bytes': "
                                        "'30GB', 'to': 'files'}, ",
                                        "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '20s'}, 'bytes': "
                                        "'30GB', 'write': '9GB/s'}, "};
    size_t n = 0;
    jobs[0] = 0;
    double at = 0;
    for (int i = 0; i < 12; i++) {
        static const char *const types[] = {"plain", "reads", "talks"};
        at += (double)rng_below(&rng, 30);
        n += (size_t)snprintf(jobs + n, sizeof jobs - n,
                              "%s{'submit': '%gs', 'duration': '%ds', 'gpus': %d, 'type': '%s'}", i > 0 ? "," : "", at,
                              5 + (int)rng_below(&rng, 100), 1 + (int)rng_below(&rng, 14), types[rng_below(&rng, 3)]);
    }
    return test_json(
        "{'seed': %d, 'cluster': {'nodes': 8, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s'%s}, "
        "'storage': {'files': {'device': 'rdma-h800', 'ceiling': '%dGB/s'}}}, "
        "'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '2000s'}, 'repair': {'mean': '30s'}}, "
        "'hang': {'scope': 'gpu', 'lifetime': {'mean': '4000s'}, 'detection': {'mean': '15s'}, 'repair': {'mean': "
        "'9s'}}, 'straggler': {'scope': 'node', 'lifetime': {'mean': '600s'}, 'slow': 0.5, 'repair': {'mean': '40s'}}}}, "
        "'jobs': {'scheduler': '%s', 'placement': 'consolidated', 'restart': {'resume': '3s'}, 'types': {'plain': {}, "
        "'reads': {%s'data': {'from': 'files', 'step_bytes': '%dGB', 'step_time': '700ms', 'prefetch': %d}}, "
        "'talks': {'step': {'compute': '1s', 'collectives': [{'kind': 'all-reduce', 'bytes': '3GB', 'overlap': 0.3}]}, "
        "'data': {'from': 'files', 'step_bytes': '4GB'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
        (int)index, networks[rng_below(&rng, 4)], 4 + (int)rng_below(&rng, 20), schedulers[rng_below(&rng, 4)],
        saves[rng_below(&rng, 3)], 1 + (int)rng_below(&rng, 12), 1 + (int)rng_below(&rng, 6), jobs);
}

TEST(queues_and_checks_change_nothing)
{
    for (uint64_t index = 1; index <= 24; index++) {
        const char *site = random_site(index);
        struct bed_rows *plain = bed_ok(NULL, "%s", site), *heap = bed_ok(BED(.queue = QUEUE_HEAP), "%s", site),
                        *step = bed_ok(BED(.single_step = true, .check = true), "%s", site);
        CHECK(bed_equal(plain, heap));
        CHECK(bed_equal(plain, step));
        const double waits_frac = bed_metric(plain, "job.data_wait_frac");
        CHECK(waits_frac >= 0.0 && waits_frac < 1.0);
        bed_free(plain);
        bed_free(heap);
        bed_free(step);
    }
}

/* More storage never makes a job wait longer; without end, jobs are as fast as those that read nothing. */
TEST(faster_storage_delays_no_job)
{
    for (int gpus = 2; gpus <= 4; gpus += 2) {
        double before_s = (double)INFINITY;
        for (double ceiling = 1; ceiling <= 1024; ceiling *= 2) {
            const struct bed_rows *rows = bed_ok(
                NULL,
                "{" CLUSTER ", 'jobs': {'types': {'default': {'data': {'from': 'files', 'step_bytes': '3GB', "
                "'step_time': '500ms'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB ", " JOB ", " JOB "]}}}",
                6, "gpu", ceiling, 0.0, 40.0, gpus, 3.0, 50.0, gpus, 9.0, 20.0, gpus);
            const double sum_s = jct(rows, 0) + jct(rows, 1) + jct(rows, 2);
            CHECK(sum_s <= before_s + 1e-6);
            before_s = sum_s;
        }
        CHECK_NEAR(before_s, 110.0, 1e-6);
    }
}

/* --- Findings --- */

TEST(data_that_cannot_be_read_are_refused)
{
    static const struct {
        const char *type, *finding;
    } cases[] = {
        {"'data': {'from': 'files', 'step_time': '1s'}", "'step_bytes' or 'sample_bytes', one of the two"},
        {"'data': {'from': 'files', 'step_bytes': '1GB', 'sample_bytes': '1MB', 'step_time': '1s'}", "one of the two"},
        {"'data': {'from': 'files', 'sample_bytes': '1MB', 'step_time': '1s'}", "no 'training' plan says how many"},
        {"'data': {'from': 'files', 'step_bytes': '1GB'}", "says how long steps take"},
        {"'data': {'from': 'files', 'step_bytes': '1GB', 'step_time': '0.5us'}", "between \"1us\" and \"1000000s\""},
        {"'data': {'from': 'disk', 'step_bytes': '1GB', 'step_time': '1s'}", "no storage behind the network"},
        {"'step': {'compute': '1s', 'collectives': [{'kind': 'send', 'bytes': '1GB'}]}, 'data': {'from': 'files', "
         "'step_bytes': '1GB', 'step_time': '1s'}",
         "which follows from 'training' or 'step'"},
        {"'regimes': [{'epochs': 1, 'speed': 1}], 'data': {'from': 'files', 'step_bytes': '1GB', 'step_time': '1s'}",
         "steps of one batch size"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true),
            "{" CLUSTER ", 'jobs': {'types': {'default': {%s}}, 'trace': {'format': 'inline-jobs', 'jobs': [" JOB
            "]}}}",
            2, "node", 8.0, cases[i].type, 0.0, 10.0, 2);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, cases[i].finding) != NULL);
    }
}
