/* What a scheduler learns of CPUs and memory beside the GPUs of a job, whole GPUs or a share of one: the amounts of
 * its best speed, and its speed with others, against the tables of its type. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

enum { JOBS = 4 };

static struct seen {
    int n;
    struct job_host best[JOBS];
    double slow[JOBS]; /* with half of the best amounts */
} seen;

static void look(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)state;
    if (note->event != JOB_EVENT_SUBMIT || seen.n == JOBS) return;
    const struct job_host best = job_view_host_best(view, note->job);
    const struct job_host half = {best.cpu_milli / 2, best.memory_bytes / 2};
    seen.best[seen.n] = best;
    seen.slow[seen.n++] = job_view_host_speed(view, note->job, &half);
}

static int start_none(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state, (void)view, (void)plan;
    return 0;
}

static const struct scheduler looking = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "looking", .oracle = ORACLE_SPEEDS},
    .notify = look,
    .decide = start_none,
};

/* The best speed is the lesser of 2 and 1.5, which 4 CPUs and 30 GB for each GPU reach; half of them give 1 and 0.75.
 * What was asked for, 3 CPUs and 20 GB, gives 1.25 and 1. */
TEST(schedulers_learn_what_cpus_and_memory_are_worth)
{
    static const double gpus[JOBS] = {1.0, 4.0, 0.5, 0.25};
    seen = (struct seen){0};
    bed_run(BED(.policy = &looking.policy, .quiet = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'cpus_per_node': 64, 'memory_per_node': '512GB'},"
            " 'jobs': {'scheduler': 'looking', 'placement': 'best-fit', 'types': {'a': {'host': {'cpus':"
            " [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 6, 'speed': 2}], 'memory': [{'per_gpu': '10GB', 'speed': 0.5},"
            " {'per_gpu': '30GB', 'speed': 1.5}]}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'type': 'a', 'duration': '9s', 'gpus': 1, 'cpus': 3, 'memory': '20GB'},"
            "{'type': 'a', 'duration': '9s', 'gpus': 4, 'cpus': 12, 'memory': '80GB'},"
            "{'type': 'a', 'duration': '9s', 'gpus': 1, 'gpu_share': 0.5, 'cpus': 1.5, 'memory': '10GB'},"
            "{'type': 'a', 'duration': '9s', 'gpus': 1, 'gpu_share': 0.25, 'cpus': 0.75, 'memory': '5GB'}]}}}");
    CHECK_EQ_INT(seen.n, JOBS);
    for (int i = 0; i < seen.n; i++) {
        CHECK_EQ_INT(seen.best[i].cpu_milli, 4000.0 * gpus[i]);
        CHECK_EQ_INT(seen.best[i].memory_bytes, 30e9 * gpus[i]);
        CHECK_NEAR(seen.slow[i], 0.75, 1e-12);
    }
}
