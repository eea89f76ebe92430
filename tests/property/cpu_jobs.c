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
