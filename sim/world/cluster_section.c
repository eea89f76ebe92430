#include "sim/world/cluster_section.h"

#include "sim/catalog/catalog.h"

#include <stdio.h>

#define ROW_OF struct cluster_section
const struct config_field cluster_section_fields[] = {
    ROW_INT("nodes", nodes.nodes, SOURCED_DEFAULT("1"), WITHIN(1, 1e7), "number of nodes"),
    ROW_INT("gpus_per_node", nodes.gpus_per_node, DEFAULT("8"), WITHIN(1, 1024), "GPUs of each node"),
    ROW_NAME_OR_PATH("gpu", nodes.gpu, OPTIONAL, ANY,
                     "GPU type: a name of the hardware catalog, or the path of such a file; services need it"),
    ROW_TEXT("mig", nodes.mig, OPTIONAL, WITHIN(1, 64),
             "MIG profile that cuts each GPU into as many equal slices as it allows; jobs and services count slices as GPUs; default: GPUs are whole"),
    ROW_QUANTITY("gpu_price", nodes.gpu_usd_per_h, UNIT_MONEY_PER_H, OPTIONAL, WITHIN(1e-6, 1e6),
                 "price of renting one GPU, as \"$2.49/h\", for cost.*; a price of 'market' goes before; default: the list price"),
    ROW_REAL("cpus_per_node", nodes.cpus_per_node, OPTIONAL, WITHIN(DBL_MIN, 1e6),
             "CPU cores of each node that jobs share; default: CPU is not counted"),
    ROW_QUANTITY("memory_per_node", nodes.memory_per_node_bytes, UNIT_BYTES, OPTIONAL, WITHIN(DBL_MIN, 1e15),
                 "memory of each node that jobs share; default: memory is not counted"),
    ROW_INT("nodes_per_rack", nodes.nodes_per_rack, DEFAULT("0"), WITHIN(0, 1e7),
            "nodes of each rack, neighbours by number; 0: all nodes are one rack"),
    ROW_SECTION("nodes_file", nodes.nodes_file, OPTIONAL, node_list_config_fields,
                "list of nodes that differ, instead of nodes and gpus_per_node"),
    ROW_BOOL("unlimited", nodes.unlimited, DEFAULT("false"), "a cluster without nodes and limits: each job gets its GPUs at once"),
    ROW_QUANTITY("pcie", links.pcie_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "PCIe link of each GPU, per direction; default: what the host's device sustains, else the GPU's data sheet"),
    ROW_SECTION("pcie_switch", links.pcie_switch, OPTIONAL, pcie_switch_config_fields,
                "switches between GPUs and host; default: each GPU has its own path"),
    ROW_SECTION("host", links.host, OPTIONAL, host_config_fields,
                "memory of each node's host; default: unlimited, and as fast as PCIe"),
    ROW_SECTION("network", links.network, OPTIONAL, network_config_fields,
                "links between nodes; default: nodes exchange no data"),
    ROW_MAP("storage", links.storage, OPTIONAL, ANY, struct storage_config, storage_config_fields,
            "drives of each node, and memory behind the network, by name"),
    ROW_SECTION("server_power", server_power, OPTIONAL, server_power_config_fields,
                "power of a node without its GPUs; \"power\" needs it"),
    ROW_SECTION("power", power, OPTIONAL, power_config_fields,
                "power budget, telemetry and capping; default: power is not simulated"),
    ROW_MAP("node_types", nodes.node_types, OPTIONAL, ANY, struct node_type_config, node_type_config_fields,
            "further nodes with other GPUs, by name"),
    {0}};
#undef ROW_OF

static void warn_price(const struct config *config, const char *key, struct diag *diag)
{
    config_warn_idle(config, key, "gpu_price", "jobs have costs only in a scenario with a section 'market'",
                     "\"market\": {} rents the site for the whole run", diag);
}

void cluster_section_warn_prices(const struct cluster_section *section, const struct config *config, struct diag *diag)
{
    const struct config_list *types = &section->nodes.node_types;
    struct arena arena;
    arena_init(&arena);
    warn_price(config, "cluster.gpu_price", diag);
    for (size_t i = 0; i < types->n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)types->items + i;
        const char *key = arena_printf(&arena, "cluster.node_types.%s.gpu_price", type->name);
        if (key != NULL) warn_price(config, key, diag);
    }
    arena_fini(&arena);
}

void cluster_section_warn_unlimited(const struct cluster_section *section, const struct config *config,
                                    struct diag *diag)
{
    static const char *const keys[] = {"nodes", "nodes_per_rack", "pcie", "pcie_switch", "host", "storage", "network"};
    for (size_t i = 0; section->nodes.unlimited && i < sizeof keys / sizeof *keys; i++) {
        char path[64];
        snprintf(path, sizeof path, "cluster.%s", keys[i]);
        config_warn_idle(config, path, keys[i], "an unlimited cluster has no nodes",
                         "leave out \"unlimited\" to have nodes", diag);
    }
}

int cluster_section_check_gpus(const struct cluster_section *section, const struct catalog *catalog,
                               const struct config *config, struct arena *arena, struct diag *diag)
{
    const struct config_list *types = &section->nodes.node_types;
    int code = 0;
    for (size_t i = 0; i < types->n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)types->items + i;
        const char *path = arena_printf(arena, "cluster.node_types.%s.gpu", type->name);
        struct gpu_spec gpu;
        if (path == NULL) return SIM_E_NOMEM;
        const int type_code = catalog_gpu(catalog, type->gpu, config_where(config, path), arena, &gpu, diag);
        if (code == 0) code = type_code;
    }
    return code;
}
