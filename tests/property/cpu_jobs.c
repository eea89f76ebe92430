/* Jobs of CPUs alone beside jobs of GPUs: every scheduler runs them all to their end. */
#include "policies/registry.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static struct bed_rows *run(const char *scheduler)
{
    return bed_run(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'cpus_per_node': 16, 'gpu': 'a100-80-sxm'},"
        " 'jobs': {'scheduler': '%s', 'placement': 'best-fit', 'types': {'default': {'speedup': {'law': 'amdahl',"
        " 'parallel_frac': 0.9}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '1000s', 'gpus': 4},"
        " {'submit': '1s', 'duration': '900s', 'gpus': 0, 'cpus': 2},{'submit': '2s', 'duration': '300s', 'gpus': 1,"
        " 'cpus': 8}, {'submit': '3s', 'duration': '11s', 'gpus': 0, 'cpus': 8}, {'submit': '4s', 'duration': '9000s',"
        " 'gpus': 2, 'cpus': 1},{'submit': '5s', 'duration': '8000s', 'gpus': 0, 'cpus': 16}]}}}",
        scheduler);
}

/* Policies in rounds divide GPUs alone: jobs of CPUs start where they fit, at once, whatever the objective. */
TEST(rounds_of_gavel_leave_them_out)
{
    static const char *const schedulers[] = {
        "'gavel-fifo'", "'gavel-fifo-perf'", "'gavel-isolated'", "'gandiva'",
        "{'policy': 'gavel', 'objective': 'las'}", "{'policy': 'gavel', 'objective': 'makespan'}",
        "{'policy': 'gavel', 'objective': 'ftf'}", "{'policy': 'gavel', 'objective': 'fifo'}",
        "{'policy': 'gavel', 'objective': 'cost'}"};
    static const char *const jobs_of_gpus[] = {"", ", {'duration': '900s', 'gpus': 2}, {'duration': '500s', 'gpus': 1}"};
    for (size_t i = 0; i < 2 * (sizeof schedulers / sizeof *schedulers); i++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 2, 'cpus_per_node': 8}, 'jobs': {'scheduler': %s, 'trace':"
            " {'format': 'inline-jobs', 'jobs': [{'duration': '10s', 'gpus': 0, 'cpus': 6}%s,"
            " {'submit': '1s', 'duration': '10s', 'gpus': 0, 'cpus': 4},"
            " {'submit': '2s', 'duration': '10s', 'gpus': 0, 'cpus': 2}]}}}",
            schedulers[i / 2], jobs_of_gpus[i % 2]);
        const int64_t last = (int64_t)rows->n_jobs - 1;
        CHECK_NEAR(bed_job(rows, 0)->end_s, 10, 0);
        CHECK_NEAR(bed_job(rows, last - 1)->end_s, 20, 0);
        CHECK_NEAR(bed_job(rows, last)->end_s, 12, 0);
        CHECK(rows->n_warnings == 0 && bed_metric(rows, "job.finished") == (double)rows->n_jobs);
        if (last > 2) CHECK_EQ_INT(bed_decisions(rows, "preempt", 0) + bed_decisions(rows, "preempt", last), 0);
    }
}

TEST(every_scheduler_runs_them)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        if (table.policies[i]->family != POLICY_SCHEDULER) continue;
        struct bed_rows *rows = run(table.policies[i]->name);
        if (!CHECK_EQ_INT(rows->code, 0) || !CHECK(bed_metric(rows, "job.finished") == 6))
            printf("\n  %s", table.policies[i]->name);
    }
}

/* --- Growth --- */

static const struct placer *first_fit;
static int64_t n_placings;

static int place(void *state, const struct cluster_view *view, const struct job_view *job, struct placement *placement)
{
    n_placings++;
    return first_fit->place(state, view, job, placement);
}

/* Jobs of two sizes wait for one node: a decision asks the placer for one of each, however many wait. */
TEST(a_waiting_job_is_not_tried_at_every_decision)
{
    static const char *const schedulers[] = {"gavel",   "gavel-fifo", "gavel-fifo-perf", "gavel-isolated",
                                             "gandiva", "equi",       "hesrpt",          "all-to-shortest"};
    enum { N = 200 };
    first_fit = (const void *)policy_find(POLICY_PLACEMENT, "first-fit");
    struct placer counting = *first_fit;
    counting.policy.name = "counting";
    counting.place = place;
    char jobs[N * 48];
    for (int i = 0, n = 0; i < N; i++)
        n += snprintf(jobs + n, sizeof jobs - (size_t)n, "%s{'duration': '%ds', 'gpus': 0, 'cpus': %d}",
                      i > 0 ? ", " : "", 1 + i * 37 % 100, 8 + i % 2);
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        n_placings = 0;
        struct bed_rows *rows =
            bed_ok(BED(.policy = &counting.policy),
                   "{'cluster': {'nodes': 1, 'cpus_per_node': 17}, 'jobs': {'scheduler': '%s', 'placement': 'counting',"
                   " 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                   schedulers[i], jobs);
        CHECK(bed_metric(rows, "job.finished") == N);
        if (!CHECK(n_placings < 4 * N)) printf("\n  %s: %lld", schedulers[i], (long long)n_placings);
    }
}
