/* What is said to a user whose replicas have no memory for a KV cache: how many GPUs would do, and what to set. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

static void check_hint(const char *cluster, const char *service, const char *expected)
{
    const struct bed_rows *rows = bed_run(BED(.quiet = true),
                                          "{'cluster': {'gpu': 'h100-sxm', %s}, 'services': {'chat': {%s, 'trace':"
                                          " {'format': 'generate', 'count': 1, 'arrival': {'process': 'poisson', 'rate': '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 2}}}}}",
                                          cluster, service);
    CHECK_EQ_INT(rows->code, SIM_E_UNFIT);
    MUST(rows->diag.n_items > 0);
    const char *hint = rows->diag.items[0].hint, *fits = strstr(hint, "; tensor_parallel");
    CHECK_EQ_STR(fits != NULL ? fits : hint, expected);
}

/* 70 billion parameters of 16 bits fit into two GPUs of 80 GB, 405 billion into 16, of which a node has 8. */
TEST(the_least_parallelism_that_fits_is_named)
{
    static const char small[] = "'llm': 'llama-3.1-70b'", large[] = "'llm': 'llama-3.1-405b', 'tensor_parallel': 8";
    static const char fabric[] = "'network': {'bandwidth': '50GB/s'}";
    static const struct {
        const char *llm;
        int replicas, nodes;
        bool has_network;
        const char *expected;
    } cases[] = {
        {small, 1, 1, false, "; tensor_parallel 2 fits"},
        {small, 4, 1, false, "; tensor_parallel 2 fits"},
        {small, 5, 1, false,
         "; tensor_parallel 2 fits on 2 nodes of 8 GPUs, the cluster has 1: --set cluster.nodes=2 --set "
         "services.chat.tensor_parallel=2"},
        {small, 8, 2, false, "; tensor_parallel 2 fits"},
        {small, 9, 2, false,
         "; tensor_parallel 2 fits on 3 nodes of 8 GPUs, the cluster has 2: --set cluster.nodes=3 --set "
         "services.chat.tensor_parallel=2"},
        {large, 1, 2, true, "; tensor_parallel 16 fits"},
        {large, 1, 2, false,
         "; tensor_parallel 16 fits on 2 nodes of 8 GPUs, the cluster has 2: --set cluster.network.bandwidth=50GB/s "
         "--set services.chat.tensor_parallel=16"},
        {large, 3, 6, true, "; tensor_parallel 16 fits"},
        {large, 3, 5, true,
         "; tensor_parallel 16 fits on 6 nodes of 8 GPUs, the cluster has 5: --set cluster.nodes=6 --set "
         "services.chat.tensor_parallel=16"},
        {large, 2, 3, false,
         "; tensor_parallel 16 fits on 4 nodes of 8 GPUs, the cluster has 3: --set cluster.nodes=4 --set "
         "cluster.network.bandwidth=50GB/s --set services.chat.tensor_parallel=16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char cluster[128], service[128];
        snprintf(cluster, sizeof cluster, "'nodes': %d, 'gpus_per_node': 8%s%s", cases[i].nodes,
                 cases[i].has_network ? ", " : "", cases[i].has_network ? fabric : "");
        snprintf(service, sizeof service, "%s, 'replicas': %d", cases[i].llm, cases[i].replicas);
        check_hint(cluster, service, cases[i].expected);
    }
}
