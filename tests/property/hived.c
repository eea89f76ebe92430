/* HiveD's promise: a tenant's jobs run as on a cluster of their own, whatever others do. Compared with a private
 * cluster that is simulated second by second, and with quotas, which do not keep the promise. */
#include "policies/scheduler/cells/cells.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <string.h>

enum { MOST_JOBS = 60, MOST_CELLS = 64, TENANTS = 3, MOST_GPUS = 64 };

struct site {
    int n_nodes, per_node;
    int n_cells[TENANTS], cells[TENANTS][MOST_CELLS]; /* GPUs of each promised cell, the largest first */
    char params[4096];
};

static const char *const names[] = {"a", "b", "c", "none"};

/* A job's cells, and where it is in its tenant's private cluster. */
struct private_job {
    int submit, run, n_parts, part[MOST_GPUS], size[MOST_GPUS], at[MOST_GPUS];
    int start, end; /* -1: not yet */
};

/* One GPU per entry; true: in use. Cells lie one behind the other, the largest first. */
struct private_cluster {
    int n_cells, cells[MOST_CELLS];
    bool used[MOST_CELLS * 8];
};

static bool is_free(const struct private_cluster *cluster, int at, int size)
{
    for (int i = at; i < at + size; i++)
        if (cluster->used[i]) return false;
    return true;
}

/* The size of the largest free block that has the GPU, by doubling; 0: in use. */
static int block_of(const struct private_cluster *cluster, int cell_at, int cell, int at)
{
    int size = 1;
    if (cluster->used[at]) return 0;
    while (size < cell) {
        const int twice = size * 2, first = cell_at + (at - cell_at) / twice * twice;
        if (!is_free(cluster, first, twice)) break;
        size = twice;
    }
    return size;
}

/* The place of the first of the smallest free blocks with at least `size` GPUs, or -1. */
static int find_block(const struct private_cluster *cluster, int size)
{
    int best = -1, least = 1 << 20, cell_at = 0;
    for (int c = 0; c < cluster->n_cells; cell_at += cluster->cells[c++])
        for (int at = cell_at; at < cell_at + cluster->cells[c]; at += size) {
            const int block = cluster->cells[c] >= size ? block_of(cluster, cell_at, cluster->cells[c], at) : 0;
            if (block < size || block >= least) continue;
            best = at;
            least = block;
        }
    return best;
}

static void mark(struct private_cluster *cluster, const struct private_job *job, int n, bool used)
{
    for (int i = 0; i < n; i++) memset(&cluster->used[job->at[i]], used, (size_t)job->part[i] * sizeof(bool));
}

static bool place(struct private_cluster *cluster, struct private_job *job)
{
    for (int i = 0; i < job->n_parts; i++) {
        job->at[i] = find_block(cluster, job->part[i]);
        if (job->at[i] >= 0) memset(&cluster->used[job->at[i]], true, (size_t)job->part[i] * sizeof(bool));
        if (job->at[i] >= 0) continue;
        mark(cluster, job, i, false);
        return false;
    }
    return true;
}

static void run_private(struct private_cluster *cluster, struct private_job *jobs, int n)
{
    int left = n;
    for (int now = 0; left > 0 && now < 100000; now++) {
        for (int i = 0; i < n; i++)
            if (jobs[i].start >= 0 && jobs[i].end == now) mark(cluster, &jobs[i], jobs[i].n_parts, false);
        for (int i = 0; i < n; i++) {
            if (jobs[i].start >= 0 || jobs[i].submit > now || !place(cluster, &jobs[i])) continue;
            jobs[i].start = now;
            jobs[i].end = now + jobs[i].run;
            left--;
        }
    }
    CHECK_EQ_INT(left, 0);
}

static int by_size(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

/* Cells of random sizes, together no more than the cluster has. */
static void draw_site(struct rng *rng, struct site *site)
{
    *site = (struct site){.n_nodes = 2 + (int)rng_below(rng, 5), .per_node = 4 << rng_below(rng, 2)};
    int left = site->n_nodes * site->per_node;
    while (left > 0) {
        const int t = (int)rng_below(rng, TENANTS), size = 1 << rng_below(rng, 4);
        if (size > left || size > site->per_node || rng_below(rng, 12) == 0) {
            left--; /* nobody was promised this GPU */
            continue;
        }
        site->cells[t][site->n_cells[t]++] = size;
        left -= size;
    }
    strcpy(site->params, "\"virtual_clusters\": {");
    for (int t = 0; t < TENANTS; t++) {
        qsort(site->cells[t], (size_t)site->n_cells[t], sizeof(int), by_size);
        sprintf(site->params + strlen(site->params), "%s\"%s\": {\"cells\": [", t > 0 ? ", " : "", names[t]);
        for (int i = 0; i < site->n_cells[t]; i++)
            sprintf(site->params + strlen(site->params), "%s{\"gpus\": %d}", i > 0 ? ", " : "", site->cells[t][i]);
        strcat(site->params, "]}");
    }
    strcat(site->params, "}");
}

/* GPUs of a job that the tenant's cells could take: as many as a part of a cell, or several whole nodes. */
static int draw_gpus(struct rng *rng, const struct site *site, int t)
{
    int whole = 0;
    for (int i = 0; i < site->n_cells[t]; i++) whole += site->cells[t][i] == site->per_node;
    if (whole > 1 && rng_below(rng, 4) == 0) return site->per_node * (2 + (int)rng_below(rng, (uint64_t)(whole - 1)));
    return 1 + (int)rng_below(rng, (uint64_t)site->cells[t][rng_below(rng, (uint64_t)site->n_cells[t])]);
}

static size_t draw_jobs(struct rng *rng, const struct site *site, bool alone, struct job_record records[MOST_JOBS])
{
    const int n = 10 + (int)rng_below(rng, MOST_JOBS - 10);
    double submit_s = 0;
    for (int i = 0; i < n; i++) {
        int t = (int)rng_below(rng, alone ? TENANTS : TENANTS + 1);
        if (t < TENANTS && site->n_cells[t] == 0) t = TENANTS;
        const int gpus = t < TENANTS ? draw_gpus(rng, site, t)
                                     : 1 + (int)rng_below(rng, (uint64_t)(site->n_nodes * site->per_node));
        submit_s += (double)rng_below(rng, 6);
        records[i] = jobrun_record(i, submit_s, 1 + (double)rng_below(rng, 40), gpus);
        if (t == TENANTS || i % 2 == 0)
            records[i].type = names[t];
        else
            records[i].group = names[t];
    }
    return (size_t)n;
}

static bool belongs(const struct job_record *record, int t)
{
    return strcmp(record->type != NULL ? record->type : record->group, names[t]) == 0;
}

/* Compares the jobs of a tenant with its private cluster. Returns the number of jobs that start later than there. */
static int compare(const struct site *site, int t, const struct job_record *records, size_t n, const struct jobrun *run,
                   bool is_kept)
{
    struct private_cluster cluster = {.n_cells = site->n_cells[t]};
    struct private_job jobs[MOST_JOBS];
    int n_jobs = 0, later = 0;
    memcpy(cluster.cells, site->cells[t], sizeof cluster.cells);
    for (size_t i = 0; i < n; i++) {
        if (!belongs(&records[i], t)) continue;
        struct private_job *job = &jobs[n_jobs++];
        *job = (struct private_job){.submit = (int)sim_s_from_ns(records[i].submit_ns),
                                    .run = (int)sim_s_from_ns(records[i].duration_ns), .start = -1, .end = -1};
        for (int left = records[i].gpus; left > 0; left -= site->per_node) {
            int size = 1;
            while (size < left && size < site->per_node) size *= 2;
            job->part[job->n_parts++] = size;
        }
    }
    run_private(&cluster, jobs, n_jobs);
    for (size_t i = 0, k = 0; i < n; i++) {
        if (!belongs(&records[i], t)) continue;
        later += run->jobs[i].start_s > jobs[k].start;
        if (is_kept && !(CHECK_NEAR(run->jobs[i].start_s, jobs[k].start, 0) &&
                         CHECK_NEAR(run->jobs[i].end_s, jobs[k].end, 0) && CHECK_EQ_INT(run->jobs[i].preemptions, 0)))
            return later;
        k++;
    }
    return later;
}

static int check_round(uint64_t round, bool alone, bool cells)
{
    struct rng rng = test_rng(9, "hived", round);
    struct job_record records[MOST_JOBS];
    struct site site;
    char params[4200];
    int later = 0;
    draw_site(&rng, &site);
    const size_t n = draw_jobs(&rng, &site, alone, records);
    snprintf(params, sizeof params, "{%s, \"cells\": %s}", site.params, cells ? "true" : "false");
    const struct jobrun_spec spec = {.records = records, .n = n, .placement = "consolidated", .scheduler = "hived",
                                     .cluster = {.nodes = site.n_nodes, .gpus_per_node = site.per_node},
                                     .scheduler_params = params};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, 0);
    for (int t = 0; t < TENANTS; t++) later += compare(&site, t, records, n, &run, cells);
    return later;
}

TEST(jobs_run_as_on_clusters_of_their_own)
{
    for (uint64_t round = 0; round < 300; round++) check_round(round, true, true);
}

TEST(opportunistic_jobs_change_nothing)
{
    for (uint64_t round = 0; round < 300; round++) check_round(round, false, true);
}

/* The paper's point: a quota of as many GPUs leaves tenants waiting for GPUs that are free on the wrong nodes. */
TEST(quotas_without_cells_break_the_promise)
{
    int later = 0;
    for (uint64_t round = 0; round < 300; round++) later += check_round(round, true, false);
    CHECK(later > 0);
}

/* Two nodes of 4 GPUs; tenants a and b were promised a node each. Quotas let jobs of b fill both nodes by halves. */
TEST(a_node_is_kept_whole)
{
    struct job_record records[] = {jobrun_record(0, 0, 10, 2), jobrun_record(1, 1, 100, 2), jobrun_record(2, 2, 10, 2),
                                   jobrun_record(3, 3, 100, 2), jobrun_record(4, 20, 10, 4)};
    static const char *const of[] = {"a", "b", "a", "b", "a"};
    static const char promised[] = "\"virtual_clusters\": {\"a\": {\"cells\": [{\"gpus\": 4}]},"
                                   " \"b\": {\"cells\": [{\"gpus\": 4}]}}";
    for (size_t i = 0; i < 5; i++) records[i].type = of[i];
    for (int cells = 0; cells < 2; cells++) {
        char params[256];
        snprintf(params, sizeof params, "{%s, \"cells\": %s}", promised, cells ? "true" : "false");
        const struct jobrun_spec spec = {.records = records, .n = 5, .placement = "consolidated", .scheduler = "hived",
                                         .cluster = {.nodes = 2, .gpus_per_node = 4}, .scheduler_params = params};
        SCOPED(jobrun) run;
        jobrun_init(&run, &spec, 0);
        CHECK_NEAR(run.jobs[4].start_s, cells ? 20 : 101, 0);
    }
}

/* An opportunistic job on 2 of 3 nodes of 2 GPUs yields to the tenant, whose cell is bound to the free node first. */
TEST(cells_are_bound_where_little_is_preempted)
{
    struct job_record records[] = {jobrun_record(0, 0, 100, 4), jobrun_record(1, 1, 10, 2), jobrun_record(2, 5, 10, 2)};
    records[1].type = records[2].type = "a";
    const struct jobrun_spec spec = {.records = records, .n = 3, .placement = "consolidated", .scheduler = "hived",
                                     .cluster = {.nodes = 3, .gpus_per_node = 2},
                                     .scheduler_params = "{\"virtual_clusters\": {\"a\": {\"cells\": "
                                                         "[{\"gpus\": 2, \"count\": 2}]}}}"};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, 0);
    CHECK_NEAR(run.jobs[1].start_s, 1, 0);
    CHECK_NEAR(run.jobs[2].start_s, 5, 0);
    CHECK_EQ_INT(run.jobs[0].preemptions, 1);
    CHECK_NEAR(run.jobs[0].end_s, 106, 0); /* it waits from 5 to 11 s */
}

/* A service holds the first node of a rack all the time. Jobs start on its other nodes: with a promised rack, and with
 * a promised GPU for which the rack is divided. */
TEST(a_held_node_does_not_close_its_rack)
{
    static const char *const promised[] = {"{\"virtual_clusters\": {\"a\": {\"cells\": [{\"gpus\": 8}]}}}",
                                           "{\"virtual_clusters\": {\"a\": {\"cells\": [{\"gpus\": 2}]}}}"};
    for (int i = 0; i < 2; i++) {
        struct job_record record = jobrun_record(0, 1, 10, 2);
        record.type = "a";
        const struct jobrun_spec spec = {.records = &record, .n = 1, .placement = "consolidated", .scheduler = "hived",
                                         .cluster = {.nodes = 4, .gpus_per_node = 2, .nodes_per_rack = 4},
                                         .group_gpus = 2, .scheduler_params = promised[i]};
        SCOPED(jobrun) run;
        jobrun_init(&run, &spec, 0);
        CHECK_NEAR(run.jobs[0].start_s, 1, 0);
    }
}

/* Two racks of 4 GPUs. A service holds one GPU of the first, an opportunistic job all others. The promised rack is
 * bound to the second one, of which no GPU is lost. */
TEST(a_promised_rack_is_bound_where_nothing_is_lost)
{
    struct job_record records[] = {jobrun_record(0, 0, 100, 7), jobrun_record(1, 5, 10, 1)};
    records[1].type = "a";
    const struct jobrun_spec spec = {.records = records, .n = 2, .placement = "consolidated", .scheduler = "hived",
                                     .cluster = {.nodes = 4, .gpus_per_node = 2, .nodes_per_rack = 2},
                                     .group_gpus = 1,
                                     .scheduler_params = "{\"virtual_clusters\": {\"a\": {\"cells\": [{\"gpus\": 4}]}}}"};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, 0);
    CHECK_NEAR(run.jobs[1].start_s, 5, 0);
    int64_t rack = -1;
    for (size_t i = 0; i < run.n_placements; i++)
        if (run.placements[i].job == 1) rack = run.placements[i].node / 2;
    CHECK_EQ_INT(rack, 1);
}

/* Every cell of a random list of takes and gives is free and has GPUs of its own. At the end the roots are whole. */
TEST(cells_never_overlap)
{
    for (uint64_t round = 0; round < 50; round++) {
        struct rng rng = test_rng(10, "cells", round);
        const struct cell_levels levels = cell_levels_of(6, 8, round % 2 == 0 ? 3 : 0);
        const int32_t top = levels.n - 1;
        int32_t roots[CELL_LEVELS] = {0}, taken[64][2], n = 0;
        bool used[64] = {0};
        struct cells cells;
        roots[top] = 48 / levels.gpus[top] - 1;
        roots[1] = 3;
        CHECK_EQ_INT(cells_init(&cells, &levels, roots), 0);
        const int32_t all = roots[top] * levels.gpus[top] + 6;
        for (int step = 0; step < 400; step++) {
            if (n > 0 && rng_below(&rng, 2) == 0) {
                const int32_t i = (int32_t)rng_below(&rng, (uint64_t)n), gpus = levels.gpus[taken[i][0]];
                memset(&used[taken[i][1] * gpus], 0, (size_t)gpus);
                CHECK_EQ_INT(cells_give(&cells, taken[i][0], taken[i][1]), 0);
                memcpy(taken[i], taken[--n], sizeof taken[i]);
                continue;
            }
            const int32_t level = (int32_t)rng_below(&rng, (uint64_t)levels.n), gpus = levels.gpus[level];
            int32_t cell;
            CHECK_EQ_INT(cells_take(&cells, level, NULL, NULL, &cell), 0);
            if (cell < 0) continue;
            for (int32_t gpu = cell * gpus; gpu < (cell + 1) * gpus; gpu++) CHECK(gpu < all && !used[gpu]);
            memset(&used[cell * gpus], 1, (size_t)gpus);
            taken[n][0] = level;
            taken[n++][1] = cell;
        }
        while (n-- > 0) CHECK_EQ_INT(cells_give(&cells, taken[n][0], taken[n][1]), 0);
        CHECK_EQ_INT(cells.free[top].n, roots[top]);
        CHECK_EQ_INT(cells.free[1].n, 3);
        cells_fini(&cells);
    }
}

/* --- Racks, failures, services --- */

/* Four racks of two nodes of 4 GPUs, of which two are promised whole, beside a service and on nodes that fail. All jobs
 * end, and the GPU time of all is their work, what failures undo, and waits. */
TEST(cells_of_racks_bear_failures_and_services)
{
    int n_failures = 0;
    for (int seed = 1; seed <= 6; seed++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'seed': %d, 'cluster': {'gpu': 'a100-80-sxm', 'nodes': 8, 'gpus_per_node': 4, 'nodes_per_rack': 2},"
            " 'services': {'chat': {'llm': 'phi-2', 'trace': {'format': 'generate', 'count': 20, 'arrival': {'process':"
            " 'poisson', 'rate': '6/h'}}}},"
            " 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '30h'}, 'repair': {'mean': '1h'}}}},"
            " 'jobs': {'scheduler': {'policy': 'hived', 'virtual_clusters': {'a': {'cells': [{'gpus': 8, 'count': 2}]},"
            " 'b': {'cells': [{'gpus': 4}, {'gpus': 2, 'count': 2}]}}}, 'trace': {'format': 'generate-job-types',"
            " 'count': 60, 'types': {"
            "'a': {'gpus': 8, 'arrival': {'process': 'poisson', 'rate': '0.5/h'}, 'run_time': {'mean': '2h'}},"
            "'b': {'gpus': 2, 'arrival': {'process': 'poisson', 'rate': '1/h'}, 'run_time': {'mean': '2h'}},"
            "'c': {'gpus': 1, 'arrival': {'process': 'poisson', 'rate': '2/h'}, 'run_time': {'mean': '2h'}}}}}}",
            seed);
        CHECK_EQ_INT(rows->code, 0);
        for (size_t i = 0; i < rows->n_jobs; i++) CHECK_EQ_STR(rows->jobs[i].status, "finished");
        const double lost_s = bed_metric(rows, "job.lost_gpu_s.sum");
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"),
                   bed_metric(rows, "job.useful_gpu_s.sum") + (isnan(lost_s) ? 0 : lost_s), 1e-3);
        n_failures += lost_s > 0;
        bed_free(rows);
    }
    CHECK(n_failures > 1);
}

/* A virtual cluster that no job names is a slip, or too much; one whose jobs are all too large for it has jobs. */
TEST(virtual_clusters_without_jobs_are_named)
{
    static const struct {
        const char *name;
        int gpus;
        bool is_told;
    } cases[] = {{"left", 4, false}, {"left", 1, false}, {"letf", 4, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'jobs': {'scheduler': {'policy': 'hived',"
            " 'virtual_clusters': {'%s': {'cells': [{'gpus': %d}]}, 'right': {'cells': [{'gpus': 4}]}}},"
            " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '9s', 'gpus': 4, 'type': 'left'},"
            " {'duration': '9s', 'type': 'right'}, {'duration': '9s', 'type': 'other'}]}}}",
            cases[i].name, cases[i].gpus);
        const char *text = bed_warning(rows, "hived-absent");
        CHECK((text != NULL) == cases[i].is_told);
        CHECK(text == NULL || strstr(text, "'letf'") != NULL);
    }
}
