/* Spare nodes: they stand in under every placer that gives jobs nodes. */
#include "tests/harness.h"

#include "policies/registry.h"
#include "tests/bed.h"

#include <stdio.h>

/* Node 0 is away from 100 s on, and node 1, which was the spare one, has the job of 110 s. */
static void check_stands_in(const char *placer)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"cluster\": {\"nodes\": 2, \"gpus_per_node\": 4}, \"failures\": {\"spare_nodes\": 1, \"causes\": {\"feed\":"
        " {\"scope\": \"site\", \"lifetime\": {\"law\": \"constant\", \"mean\": \"100s\"}, \"repair\": {\"law\":"
        " \"constant\", \"mean\": \"1000s\"}}}}, \"jobs\": {\"placement\": \"%s\", \"trace\": {\"format\":"
        " \"inline-jobs\", \"jobs\": [{\"submit\": \"0s\", \"duration\": \"50s\", \"gpus\": 4},"
        " {\"submit\": \"110s\", \"duration\": \"50s\", \"gpus\": 4}]}}}",
        placer);
    struct bed_rows *rows = bed_run(text, &(struct bed_options){.check = true});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(rows->end_s, 160.0, 0.0);
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1.0, 0.0);
    bed_free(rows);
}

static void every_placer_uses_a_spare_node(void)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++) {
        const struct policy *policy = table.policies[i];
        if (policy->family == POLICY_PLACEMENT && ((const struct placer *)policy)->place != NULL)
            check_stands_in(policy->name);
    }
}

TEST_SUITE(spare_nodes)
{
    TEST(every_placer_uses_a_spare_node);
}
