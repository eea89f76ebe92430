/* Who runs in a round of Gavel: ties of priority, and shares that rounding errors may not exceed. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* Jobs of one GPU at once on GPUs of one type. */
static struct bed_rows *run(const char *scheduler, int gpus, int n, const char *const *types, double minutes)
{
    SCOPED(text) json = {0};
    text_printf(&json,
                "{'cluster': {'nodes': 1, 'gpus_per_node': %d}, 'jobs': {'placement': 'counted', 'scheduler':"
                " {'policy': 'gavel', 'idle_waits': false%s}, 'types': {'a': {}, 'b': {}}, 'trace': {'format':"
                " 'inline-jobs', 'jobs': [",
                gpus, scheduler);
    for (int i = 0; i < n; i++)
        text_printf(&json, "%s{'duration': '%gmin', 'type': '%s'}", i > 0 ? ", " : "", minutes,
                    types != NULL ? types[i] : "a");
    text_printf(&json, "]}}}");
    return bed_ok(BED(.check = true), "%s", json.chars);
}

/* Shares of 1/4 and 3/4. After a round of the latter its priority is 3/4 over a round and a half, the other's 1/4 over
 * half a round: the same. */
TEST(of_equal_priorities_the_larger_share_goes_first)
{
    const struct bed_rows *rows = run(", 'weights': {'b': 3}", 1, 2, (const char *const[]){"a", "b"}, 600);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 0, 0);
    CHECK_NEAR(bed_job(rows, 0)->start_s, 720, 0);
}

/* Shares of 1/n each: n equal jobs take turns. After every n rounds none is ahead, whatever the rounding. */
TEST(no_gpu_idles_while_jobs_have_their_shares)
{
    for (int gpus = 1; gpus <= 2; gpus++)
        for (int n = gpus; n <= 24; n += gpus) {
            const struct bed_rows *rows = run(", 'objective': 'cost'", gpus, n, NULL, 18.0 * gpus);
            double last_s = 0;
            for (int i = 0; i < n; i++) last_s = fmax(last_s, bed_job(rows, i)->end_s);
            CHECK_NEAR(last_s, 3 * n * 360, 1e-6);
        }
}

/* Eight types of node take jobs, in turn; nine are too many. */
TEST(eight_node_types_are_the_most)
{
    for (int n = 8; n <= 9; n++) {
        SCOPED(text) json = {0};
        text_printf(&json, "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm', 'node_types': {");
        for (int j = 1; j < n; j++)
            text_printf(&json, "%s'n%d': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}", j > 1 ? ", " : "", j);
        text_printf(&json, "}}, 'jobs': {'placement': 'counted', 'scheduler': 'gavel', 'trace': {'format':"
                           " 'inline-jobs', 'jobs': [");
        for (int i = 0; i < n; i++) text_printf(&json, "%s{'duration': '1h'}", i > 0 ? ", " : "");
        text_printf(&json, "]}}}");
        if (n > 8) {
            const struct bed_rows *refused = bed_run(BED(.quiet = true), "%s", json.chars);
            CHECK_EQ_INT(refused->code, SIM_E_CONFIG);
            CHECK_EQ_STR(refused->diag.items[0].text,
                         "the policies of Gavel divide at most 8 node types, and the cluster has 9");
            continue;
        }
        const struct bed_rows *rows = bed_ok(BED(.check = true), "%s", json.chars);
        for (int i = 0; i < n; i++) CHECK_NEAR(bed_job(rows, i)->end_s, 3600, 1e-6);
    }
}
