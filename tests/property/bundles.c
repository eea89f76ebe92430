/* Transfers between groups of GPUs that are moved as one flow: every row and metric is that of a flow per GPU. */
#include "policies/registry.h"
#include "sim/world/policy/batching.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static const struct batcher *find_v1(void)
{
    const struct policy_table table = policy_registry();
    for (size_t i = 0; i < table.n; i++)
        if (strcmp(table.policies[i]->name, "vllm-v1") == 0) return (const void *)table.policies[i];
    return NULL;
}

struct site {
    int node_gpus, prompts_gpus, prompts, tokens_gpus, tokens;
    const char *transfer; /* of the service */
    int tokens_stages;    /* of equally many GPUs */
    int others_gpus;      /* of one more replica for prompts, in a pool of its own; 0: there is none */
};

/* Links are slow enough that most transfers share them. %s: the batcher. */
static struct bed_rows *run(const struct site *site, const struct bed_options *options, const char *batching)
{
    const int stages = site->tokens_stages;
    const int gpus = site->prompts_gpus * site->prompts + site->tokens_gpus * site->tokens + site->others_gpus;
    char others[80] = "";
    if (site->others_gpus > 0)
        snprintf(others, sizeof others, "'q': {'role': 'prefill', 'tensor_parallel': %d},", site->others_gpus);
    return bed_run(
        options,
        "{'cluster': {'nodes': %d, 'gpus_per_node': %d, 'gpu': 'a100-80-sxm', 'pcie': '1.3GB/s', 'network':"
        " {'bandwidth': '0.7GB/s', 'per': 'gpu', 'latency': '11us'}}, 'seed': 5, 'sample': {'period': '250ms'},"
        " 'services': {'chat': {'llm': 'mixtral-8x7b', 'routing': 'least-outstanding', 'batching': '%s',"
        " 'kv': {'blocks': 40000}, %s 'pools':"
        " {'p': {'role': 'prefill', 'tensor_parallel': %d, 'replicas': %d}, %s"
        " 'd': {'role': 'decode', 'tensor_parallel': %d, 'pipeline_parallel': %d, 'replicas': %d}},"
        " 'cost': {'kind': 'affine', 'prefill': {'fixed': '3ms', 'per_token': '7us'}, 'decode': {'fixed': '11ms', 'per_sequence':"
        " '20us'}}, 'trace': {'format': 'generate', 'count': 150, 'arrival': {'process': 'poisson', 'rate':"
        " '40/s'}, 'prompt': {'distribution': 'uniform', 'min': 20, 'max': 3000}, 'output':"
        " {'distribution': 'uniform', 'min': 1, 'max': 90}}}}}",
        gpus / site->node_gpus, site->node_gpus, batching, site->transfer, site->prompts_gpus, site->prompts, others,
        site->tokens_gpus / stages, stages, site->tokens);
}

/* Widths from one to the other end of what a path of one flow holds; and beyond it or unequal, where each GPU has its
 * own, also between the second pool and the third. A batcher that may swap uses the links of single GPUs, so transfers
 * of its service are not bundled. */
TEST(bundles_are_the_flows_of_all_gpus)
{
    static const struct site sites[] = {
        {4, 8, 2, 8, 3, "", 1, 0},
        {4, 4, 3, 16, 1, "", 1, 0},
        {2, 8, 2, 4, 3, "'kv_transfer': {'start': 'push'},", 1, 0},
        {8, 32, 1, 16, 2, "", 1, 0},
        {1, 4, 2, 2, 3, "", 1, 0},
        {4, 4, 1, 8, 2, "'kv_transfer': {'latency': '1ms'},", 1, 0},
        {1, 1, 4, 8, 2, "", 1, 0},
        {1, 8, 1, 1, 9, "", 1, 0},
        {2, 4, 3, 6, 1, "", 3, 0},
        {2, 8, 1, 4, 2, "", 1, 8},
        {1, 4, 1, 16, 1, "", 1, 1},
    };
    struct batcher apart = *find_v1();
    apart.policy.name = "apart";
    apart.resumes_swapped = true;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct bed_rows *rows = run(&sites[i], BED(.check = true, .no_detail = true), "vllm-v1");
        struct bed_rows *flows = run(&sites[i], BED(.check = true, .no_detail = true, .policy = &apart.policy), "apart");
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_requests, 150);
        CHECK(bed_metric(rows, "link.network.used_frac.max") > 0.2);
        CHECK(bed_equal(rows, flows));
        CHECK(bed_equal(rows, run(&sites[i], BED(.single_step = true, .no_detail = true, .queue = QUEUE_HEAP), "vllm-v1")));
    }
}

/* Odd bytes, a layer at a time, adapters that GPUs share: each GPU has its own flow, and all bytes move. */
TEST(other_transfers_are_not_bundled)
{
    static const char *const sets[][2] = {{"services.chat.kv_transfer={'mode': 'layer-wise'}", NULL},
                                          {"cluster.network.per=node", NULL},
                                          {"cluster.network.fabric=3GB/s", NULL},
                                          {"cluster.pcie_switch={'gpus': 2, 'bandwidth': '2GB/s'}", NULL}};
    const struct site site = {4, 8, 2, 8, 3, "", 1, 0};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct bed_rows *rows = run(&site, BED(.check = true, .sets = sets[i]), "vllm-v1");
        double tokens = 0;
        CHECK_EQ_INT(rows->code, 0);
        for (size_t k = 0; k < rows->n_requests; k++)
            if (rows->requests[k].output_tokens > 1) tokens += (double)rows->requests[k].prompt_tokens;
        CHECK_NEAR(bed_metric(rows, "request.kv_transfer_bytes.sum"), tokens * 131072.0, 0);
    }
}
