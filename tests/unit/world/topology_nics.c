/* Which adapters of a node a job leaves to the services. */
#include "sim/world/cluster_section.h"
#include "sim/world/links/topology.h"
#include "tests/support/harness.h"

enum { GPUS = 8 };

static const struct catalog catalog = {.root = "configs"};

static void check_taken(const struct topology *topology, int32_t node, int32_t n)
{
    for (int32_t nic = 0; nic < GPUS + 2; nic++)
        CHECK_EQ_INT(topology_nic_is_taken(topology, (struct graph_nic){node, nic}), nic < n);
}

/* As many as it has GPUs, the first of the node, until it leaves; and none of other nodes. */
TEST(a_service_takes_the_adapters_of_its_gpus)
{
    static const struct config_field fields[] = {
        {.name = "cluster", .kind = CONFIG_SECTION, .fields = cluster_section_fields, .help = "nodes"}, {0}};
    const char *text = test_json("{'cluster': {'nodes': 2, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'network':"
                                 " {'bandwidth': '25GB/s'}}}");
    SCOPED(arena) arena = {0};
    struct diag diag;
    struct config *config;
    struct cluster_section cluster = {0};
    struct topology *topology;
    struct gpu_spec gpu;
    diag_init(&diag);
    MUST(config_parse("site.json", ".", text, strlen(text), &config, &diag) == 0);
    MUST(config_bind(config, fields, NULL, &arena, &cluster, sizeof cluster, &diag) == 0);
    MUST(catalog_gpu(&catalog, cluster.nodes.gpu, "test", &arena, &gpu, &diag) == 0);
    struct site_env site = {.engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR}), .diag = &diag,
                            .catalog = &catalog, .config = config, .arena = &arena, .next_owner_id = 1};
    const struct topology_env env = {.site = &site, .cluster = &cluster.nodes, .links = &cluster.links};
    MUST(topology_create(&env, &topology) == 0);
    for (int32_t n = 1; n <= GPUS; n++) {
        struct topology_placement placement = {0};
        CHECK_EQ_INT(topology_placement_add(topology, &placement, 1, n, &gpu), 0);
        check_taken(topology, 1, n);
        check_taken(topology, 0, 0);
        topology_placement_release(&placement);
        check_taken(topology, 1, 0);
    }
    engine_destroy(site.engine);
    topology_destroy(topology);
    config_destroy(config);
}
