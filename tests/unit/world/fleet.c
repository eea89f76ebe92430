/* Services with pools: what they take from the service, where their GPUs come from, what is found wrong. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* A site of A100s and one node of H100s; %s: the pools, and what else the service has. */
static const char site[] =
    "{'cluster': {'nodes': 1, 'gpu': 'a100-80-sxm', 'node_types': {'new': {'gpu': 'h100-sxm', 'gpus_per_node': 4}}},"
    " 'services': {'chat': {'llm': 'mistral-7b', 'replicas': 2, 'kv': {'blocks': 500}, 'cost': {'kind': 'affine',"
    " 'prefill': {'fixed': '10ms', 'per_token': '60us'}, 'decode': {'fixed': '10ms'}},"
    " %s 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson', 'rate': '20/s'},"
    " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 300}, 'output': {'distribution': 'uniform', 'min': 1,"
    " 'max': 50}}}}}";

static struct bed_rows *run(const char *service, const struct bed_options *options)
{
    return bed_run(options, site, service);
}

TEST(one_mixed_pool_is_no_pool)
{
    struct bed_rows *plain = run("", NULL), *pool = run("'pools': {'all': {}},", NULL);
    CHECK_EQ_INT(pool->code, 0);
    CHECK_EQ_INT(plain->n_requests, 60);
    CHECK(bed_equal(plain, pool));
}

TEST(pools_have_gpus_and_costs_of_their_own)
{
    static const char pools[] =
        "'pools': {'old': {'replicas': 3}, 'new': {'gpu': 'h100-sxm', 'replicas': 2, 'tensor_parallel': 2,"
        " 'cost': {'kind': 'affine', 'prefill': {'fixed': '1ms'}, 'decode': {'fixed': '1ms'}}}},";
    struct bed_rows *rows = run(pools, &(struct bed_options){.check = true});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_requests, 60);
    CHECK_EQ_INT(bed_metric(rows, "cluster.gpus"), 12);
    CHECK_EQ_INT(bed_metric(rows, "cluster.gpus_in_use.max"), 3 + 4);
    CHECK_NEAR(bed_metric(rows, "cluster.gpu_util"), 7 / 12.0, 1e-12);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        CHECK_EQ_INT(row->replica, row->id % 5);
        if (row->output_tokens < 2) continue;
        if (row->replica >= 3) CHECK_NEAR(row->tpot_s, 0.001, 0.0005);
        if (row->replica < 3) CHECK(row->tpot_s >= 0.01);
    }
}

static void check_refused(const char *service, const char *text)
{
    struct bed_rows *rows = run(service, &(struct bed_options){.quiet = true});
    CHECK(rows->code < 0);
    CHECK(rows->diag.n_errors == 1);
    if (!CHECK(rows->diag.n_items > 0 && strstr(rows->diag.items[0].text, text) != NULL) && rows->diag.n_items > 0)
        printf("\n  %s", rows->diag.items[0].text);
}

TEST(what_is_wrong_is_named)
{
    check_refused("'pools': {'old': {'gpu': 'h200-sxm'}},",
                  "the cluster has no nodes with the GPU 'h200-sxm' of pool 'old' of service 'chat'");
    check_refused("'pools': {'old': {'gpu': 'h900'}},", "h900");
    check_refused("'pools': {'new': {'gpu': 'h100-sxm', 'replicas': 5}},",
                  "the cluster has no node left with 1 free GPU for replica 4 of service 'chat'");
    check_refused("'pools': {'new': {'gpu': 'h100-sxm', 'replicas': 1000000}},", /* within little memory */
                  "the cluster has no node left with 1 free GPU for replica 4 of service 'chat'");
    check_refused("'pools': {'new': {'gpu': 'h100-sxm', 'tensor_parallel': 16}},",
                  "service 'chat' splits each layer over 16 GPUs, of which a node has");
    check_refused("'pools': {'new': {'rolle': 'mixed'}},", "rolle");
}
