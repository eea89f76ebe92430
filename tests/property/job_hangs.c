/* Jobs that hang at random moments, many of them amid a save. A naive twin walks from one change to the next: work
 * stands still in a hang, a save and a restore that have begun go on, and no save begins. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum design { SYNCHRONOUS, FASTPERSIST, DATASTATES, N_DESIGNS };

enum { GPUS = 4, MOST_HANGS = 1000 };

/* A job and its hangs; times in ms. The first hang begins after alive_ms, the next ones as long after the last. */
struct hang_case {
    enum design design;
    bool by_flows;  /* false: the closed form of 'write', and nothing is read at a restart */
    bool is_found;  /* a hang ends by a restart from what is saved; false: it ends and the job works on */
    int64_t work_ms, interval_ms, save_ms, overlap_ms, copy_ms, alive_ms, hang_ms;
};

static const int64_t NEVER_MS = INT64_MAX / 4;

/* The job as the twin sees it. -1: not so. */
struct twin {
    const struct hang_case *of;
    int64_t now_ms, done_ms, saved_ms;
    int64_t flow_ms, flow_work_ms;       /* left of a save that moves; the work that then counts */
    int64_t stall_ms;                    /* left without work; NEVER_MS: until the flow ends */
    int64_t read_ms;                     /* left of a restore */
    int64_t to_save_ms, overlap_left_ms; /* work */
    int64_t lost_ms, hung_ms, stalled_ms, read_in_all_ms, worked_ms;
    int32_t n_hung_saves, n_undone;      /* hangs that began amid a save; saves that a restart has cut off */
};

static bool works(const struct twin *twin, bool hangs)
{
    return !hangs && twin->stall_ms == 0 && twin->read_ms == 0;
}

/* Time to the next change, at most `most_ms`. */
static int64_t step_of(const struct twin *twin, bool hangs, int64_t most_ms)
{
    int64_t step_ms = most_ms;
    const int64_t left_ms = twin->of->work_ms - twin->done_ms;
    if (twin->flow_ms >= 0 && twin->flow_ms < step_ms) step_ms = twin->flow_ms;
    if (twin->stall_ms > 0 && twin->stall_ms < step_ms) step_ms = twin->stall_ms;
    if (twin->read_ms > 0 && twin->read_ms < step_ms) step_ms = twin->read_ms;
    if (!works(twin, hangs)) return step_ms;
    if (left_ms < step_ms) step_ms = left_ms;
    if (twin->to_save_ms < step_ms) step_ms = twin->to_save_ms;
    if (twin->overlap_left_ms >= 0 && twin->overlap_left_ms < step_ms) step_ms = twin->overlap_left_ms;
    return step_ms;
}

static void pass(struct twin *twin, bool hangs, int64_t step_ms)
{
    const bool at_work = works(twin, hangs);
    twin->now_ms += step_ms;
    if (at_work) {
        twin->done_ms += step_ms;
        twin->worked_ms += step_ms;
        twin->to_save_ms -= step_ms;
        if (twin->overlap_left_ms >= 0) twin->overlap_left_ms -= step_ms;
    } else if (twin->read_ms > 0) {
        twin->read_in_all_ms += step_ms;
    } else if (twin->stall_ms > 0) {
        twin->stalled_ms += step_ms;
    } else {
        twin->hung_ms += step_ms;
    }
    if (twin->read_ms > 0) twin->read_ms -= step_ms;
    if (twin->stall_ms > 0 && twin->stall_ms < NEVER_MS) twin->stall_ms -= step_ms;
    if (twin->flow_ms >= 0) twin->flow_ms -= step_ms;
}

static void begin_save(struct twin *twin)
{
    const struct hang_case *of = twin->of;
    twin->flow_ms = of->save_ms;
    twin->flow_work_ms = twin->done_ms;
    twin->to_save_ms = of->interval_ms;
    if (of->design == SYNCHRONOUS) twin->stall_ms = NEVER_MS;
    if (of->design == FASTPERSIST) twin->overlap_left_ms = of->overlap_ms;
    if (of->design == DATASTATES && of->copy_ms > of->overlap_ms) twin->stall_ms = of->copy_ms - of->overlap_ms;
}

/* What begins or ends at this moment. */
static void change(struct twin *twin, bool hangs)
{
    if (twin->flow_ms == 0) {
        CHECK(twin->flow_work_ms <= twin->done_ms);
        twin->saved_ms = twin->flow_work_ms;
        twin->flow_ms = -1;
        if (twin->stall_ms == NEVER_MS) twin->stall_ms = 0;
    }
    if (!works(twin, hangs) || twin->done_ms == twin->of->work_ms) return;
    if (twin->overlap_left_ms == 0) {
        twin->overlap_left_ms = -1;
        if (twin->flow_ms > 0) twin->stall_ms = NEVER_MS;
    }
    if (twin->to_save_ms == 0 && twin->stall_ms == 0) begin_save(twin);
}

/* A hang is found: what was not saved is lost. */
static void restart(struct twin *twin)
{
    twin->n_undone += twin->flow_ms > 0;
    twin->lost_ms += twin->done_ms - twin->saved_ms;
    twin->done_ms = twin->saved_ms;
    twin->read_ms = twin->of->by_flows && twin->done_ms > 0 ? twin->of->save_ms : 0;
    twin->flow_ms = twin->overlap_left_ms = -1;
    twin->stall_ms = 0;
    twin->to_save_ms = twin->of->interval_ms;
}

static struct twin simulate(const struct hang_case *of)
{
    struct twin twin = {.of = of, .flow_ms = -1, .overlap_left_ms = -1, .to_save_ms = of->interval_ms};
    for (int i = 0; i < MOST_HANGS; i++) {
        const bool hangs = i % 2 == 1;
        const int64_t until_ms = twin.now_ms + (hangs ? of->hang_ms : of->alive_ms);
        if (hangs) twin.n_hung_saves += twin.flow_ms > 0;
        while (twin.now_ms < until_ms) {
            pass(&twin, hangs, step_of(&twin, hangs, until_ms - twin.now_ms));
            if (twin.done_ms == of->work_ms) return twin;
            change(&twin, hangs);
        }
        if (hangs && of->is_found) restart(&twin);
        change(&twin, false);
    }
    CHECK(false);
    return twin;
}

/* Intervals are at least as long as a save. Hangs come often enough, and work between two of them saves. */
static struct hang_case draw(uint64_t index)
{
    struct rng rng = test_rng(index, "hangs", 0);
    struct hang_case of = {.design = (enum design)(index % N_DESIGNS), .is_found = rng_below(&rng, 2)};
    of.by_flows = of.design != SYNCHRONOUS || rng_below(&rng, 2);
    of.save_ms = 5000 + (int64_t)rng_below(&rng, 20000);
    of.overlap_ms = 1000 + (int64_t)rng_below(&rng, 30000);
    of.interval_ms = (of.save_ms > of.overlap_ms ? of.save_ms : of.overlap_ms) + 1 + (int64_t)rng_below(&rng, 20000);
    of.copy_ms = 1 + (int64_t)rng_below(&rng, (uint64_t)of.save_ms);
    of.alive_ms = 3 * of.save_ms + of.interval_ms + (int64_t)rng_below(&rng, 60000);
    of.hang_ms = 1 + (int64_t)rng_below(&rng, 60000);
    of.work_ms = 30000 + (int64_t)rng_below(&rng, 400000);
    return of;
}

static const struct bed_rows *run(const struct hang_case *of)
{
    static const char *const models[] = {"synchronous", "fastpersist", "datastates"};
    const double bytes = (double)of->save_ms * 1e7; /* at 10 GB/s */
    const char *copies = of->design == DATASTATES
                             ? test_json(", 'gpu_copy': '%.17gB/s'", bytes / ((double)of->copy_ms * 1e-3 * GPUS))
                             : "";
    const char *save = test_json("'model': '%s', 'overlap': '%dms'%s, %s", models[of->design], (int)of->overlap_ms,
                                 copies, of->by_flows ? "'to': 'files'" : "'write': '10GB/s'");
    return bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 2, 'network': {'bandwidth': '10GB/s', 'latency': '0s'}, 'storage': {"
        "'files': {'device': 'rdma-h800', 'ceiling': '10GB/s'}}}, 'failures': {'causes': {'hang': {'scope': 'site',"
        " 'slow': 0, 'lifetime': {'law': 'constant', 'mean': '%dms'}, '%s': {'law': 'constant', 'mean': '%dms'}}}},"
        " 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic', 'interval': '%dms'}, 'bytes':"
        " '%.0fB', %s}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '%dms', 'gpus': %d}]}}}",
        (int)of->alive_ms, of->is_found ? "detection" : "repair", (int)of->hang_ms, (int)of->interval_ms, bytes, save,
        (int)of->work_ms, GPUS);
}

/* A metric of nothing is absent. */
static void check_gpu_s(const struct bed_rows *rows, const char *metric, int64_t time_ms)
{
    const double gpu_s = bed_metric(rows, metric);
    CHECK_NEAR(isnan(gpu_s) ? 0 : gpu_s, (double)time_ms * 1e-3 * GPUS, 1e-5);
}

/* The end, the work lost and the stalls are the twin's, to the microsecond. Time is conserved: what a job holds its
 * GPUs for is work that counts, work that is lost, stalls, restores and hangs. */
TEST(hangs_amid_saves_cost_what_a_naive_twin_says)
{
    int32_t n_hung_saves = 0, n_undone = 0;
    for (uint64_t index = 1; index <= 300; index++) {
        const struct hang_case of = draw(index);
        const struct twin twin = simulate(&of);
        const struct bed_rows *rows = run(&of);
        const struct job_row *row = bed_job(rows, 0);
        CHECK_NEAR(row->end_s, (double)twin.now_ms * 1e-3, 1e-6);
        check_gpu_s(rows, "job.lost_gpu_s.sum", twin.lost_ms);
        check_gpu_s(rows, "job.checkpoint_gpu_s.sum", twin.stalled_ms);
        CHECK_EQ_INT(twin.worked_ms, of.work_ms + twin.lost_ms);
        CHECK_EQ_INT(twin.now_ms, twin.worked_ms + twin.stalled_ms + twin.read_in_all_ms + twin.hung_ms);
        n_hung_saves += twin.n_hung_saves;
        n_undone += twin.n_undone;
    }
    CHECK(n_hung_saves > 100); /* the cases are about that */
    CHECK(n_undone > 20);
}
