/* Batchers that swap KV to the host over the links of the site. That the times are right to the nanosecond where each
 * GPU has a link of its own is shown by the naive simulator (oracle/serving_differential.c); here links are shared. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define CLUSTER "{'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'host': {'device': 'host-dram-pcie4'%s}%s}"
#define SERVICE                                                                                                        \
    "'llm': 'llama-2-7b', 'replicas': 4, 'tensor_parallel': %d, 'kv': {'blocks': %d},'cost': 'roofline',"              \
    " 'batching': {'policy': 'vllm-v0', 'preemption': '%s'},'trace': {'format': 'generate', 'count': 200,"             \
    " 'max_total_tokens': 3000, 'arrival': {'process': 'poisson', 'rate': '16/s'}}"

struct site {
    const char *memory, *links, *preemption;
    int tensor_parallel, blocks;
};

static struct bed_rows *run(const struct site *site, const struct bed_options *options)
{
    return bed_run(options, "{'cluster': " CLUSTER ", 'services': {'chat': {" SERVICE "}}, 'keep': 'curves'}",
                   site->memory, site->links, site->tensor_parallel, site->blocks, site->preemption);
}

static const struct bed_options checked = {.check = true}, stepped = {.single_step = true, .queue = QUEUE_HEAP};

/* Every byte that leaves the GPUs comes back, unless the run ends before: never here. KV of a block of 16 tokens: 8
 * MiB. */
TEST(every_byte_goes_there_and_back)
{
    const struct site site = {"", "", "swap", 1, 400};
    struct bed_rows *rows = run(&site, &checked);
    CHECK_EQ_INT(rows->code, 0);
    double bytes = bed_metric(rows, "link.pcie.bytes");
    CHECK(bytes > 1e9 && fmod(bytes, 2 * 8 * 1048576) == 0);
    CHECK(bed_metric(rows, "link.host.bytes") == bytes);
    CHECK(bed_metric(rows, "tier.dram.used_bytes.max") < bytes / 2);
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), 200);
    CHECK(isnan(bed_metric(rows, "link.nvlink.bytes")));
}

TEST(stepping_and_queues_change_nothing)
{
    const struct site site = {"", ", 'pcie_switch': {'gpus': 4, 'bandwidth': '3GB/s'}", "swap", 2, 800};
    struct bed_rows *macro = run(&site, &checked), *single = run(&site, &stepped);
    CHECK_EQ_INT(macro->code, 0);
    CHECK(bed_metric(macro, "link.pcie.bytes") > 0);
    CHECK(bed_equal(macro, single));
}

/* Four replicas below one switch of 3 GB/s, or with 24 GB/s each. */
TEST(a_shared_switch_makes_swapping_slower)
{
    const struct site own = {"", "", "swap", 1, 400};
    const struct site shared = {"", ", 'pcie_switch': {'gpus': 4, 'bandwidth': '3GB/s'}", "swap", 1, 400};
    struct bed_rows *fast = run(&own, &checked), *slow = run(&shared, &checked);
    CHECK(bed_metric(slow, "request.tpot_s.mean") > 1.05 * bed_metric(fast, "request.tpot_s.mean"));
    CHECK(bed_metric(slow, "link.pcie.busy_frac.max") > 4 * bed_metric(fast, "link.pcie.busy_frac.max"));
}

TEST(recomputing_moves_nothing)
{
    const struct site site = {"", "", "recompute", 1, 400};
    struct bed_rows *rows = run(&site, &checked);
    CHECK(bed_metric(rows, "replica.preemptions.sum") > 0);
    CHECK(isnan(bed_metric(rows, "link.pcie.bytes")));
    CHECK(isnan(bed_metric(rows, "tier.dram.used_bytes.max")));
}

/* What the host has no room for is computed again, and told of. */
TEST(a_full_host_makes_the_others_compute_again)
{
    const struct site ample = {"", "", "swap", 1, 400}, scarce = {", 'memory': '500MB'", "", "swap", 1, 400};
    const struct bed_options *all[] = {&checked, &stepped};
    struct bed_rows *roomy = run(&ample, &checked), *rows[2];
    for (int i = 0; i < 2; i++) rows[i] = run(&scarce, all[i]);
    CHECK_EQ_INT(rows[0]->code, 0);
    CHECK(bed_equal(rows[0], rows[1]));
    CHECK_EQ_INT(bed_metric(rows[0], "request.finished"), 200);
    CHECK(bed_metric(rows[0], "replica.swaps.sum") > 0);
    CHECK(bed_metric(rows[0], "replica.swaps.sum") < bed_metric(rows[0], "replica.preemptions.sum"));
    CHECK(bed_metric(rows[0], "replica.recomputed_tokens.sum") > 0);
    CHECK(bed_metric(roomy, "replica.swaps.sum") == bed_metric(roomy, "replica.preemptions.sum"));
    CHECK(bed_metric(rows[0], "tier.dram.used_bytes.max") <= 500e6);
    CHECK_EQ_INT(rows[0]->n_warnings, roomy->n_warnings + 1);
}

/* Of 25 blocks of 16 tokens, two sequences of 160 tokens fill 24 when each has 192. One takes the last block, and the
 * other leaves with its 12 full ones, 8 MiB each: the host needs room for just these. */
TEST(the_host_needs_room_for_the_blocks_that_leave)
{
    for (int mib = 95; mib <= 96; mib++) {
        struct bed_rows *rows = bed_ok(
            &checked,
            "{'cluster': {'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'host': {'device': 'host-dram-pcie4', 'memory': '%dMiB'}},"
            " 'services': {'chat': {'llm': 'llama-2-7b', 'replicas': 1, 'kv': {'blocks': 25}, 'cost': 'roofline',"
            " 'batching': {'policy': 'vllm-v0', 'preemption': 'swap'}, 'trace': {'format': 'generate', 'count': 2,"
            " 'arrival': {'process': 'closed', 'users': 2}, 'prompt': {'distribution': 'fixed', 'tokens': 160},"
            " 'output': {'distribution': 'fixed', 'tokens': 40}}}}}",
            mib);
        CHECK(bed_metric(rows, "replica.preemptions.sum") >= 1);
        CHECK_EQ_INT(bed_metric(rows, "replica.swaps.sum"), mib == 96);
        if (mib == 96) CHECK(bed_metric(rows, "tier.dram.used_bytes.max") == 96.0 * 1048576);
        bed_free(rows);
    }
}

/* Rows tell of every sequence that leaves and comes back. */
TEST(rows_record_every_swap)
{
    const struct site site = {"", "", "swap", 1, 400};
    struct bed_rows *rows = run(&site, &checked);
    double swaps = bed_metric(rows, "replica.swaps.sum");
    CHECK(swaps > 0);
    CHECK_EQ_INT(bed_decisions(rows, "preempt", -1), swaps);
    CHECK_EQ_INT(bed_decisions(rows, "swap-out", -1), swaps);
    CHECK_EQ_INT(bed_decisions(rows, "swap-in", -1), swaps);
}
