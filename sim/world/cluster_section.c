#include "sim/world/cluster_section.h"

#include <float.h>

#define CPU_AND_MEMORY                                                                                                 \
    {.name = "cpus_per_node", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, .offset = FIELD(nodes.cpus_per_node), .min = DBL_MIN, \
     .max = 1e6, .help = "CPU cores of each node that jobs share; else CPU is not counted"},                           \
    {.name = "memory_per_node", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES,                  \
     .offset = FIELD(nodes.memory_per_node_bytes), .min = DBL_MIN, .max = 1e15,                                                    \
     .help = "memory of each node that jobs share; else memory is not counted"}

#define FIELD(name) offsetof(struct cluster_section, name)
const struct config_field cluster_section_fields[] = {
    {.name = "nodes", .kind = CONFIG_INT, .offset = FIELD(nodes.nodes), .value = "1", .min = 1, .max = 1e7,
     .help = "number of nodes"},
    {.name = "gpus_per_node", .kind = CONFIG_INT, .offset = FIELD(nodes.gpus_per_node), .value = "8", .min = 1, .max = 1024,
     .help = "GPUs of each node"},
    {.name = "gpu", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL | CONFIG_NAME_OR_PATH, .offset = FIELD(nodes.gpu),
     .help = "type of the GPUs: a name of the hardware catalog, or path of such a file; services need it"},
    {.name = "gpu_price", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_MONEY_PER_H,
     .offset = FIELD(nodes.gpu_usd_per_h), .min = DBL_MIN, .max = 0,
     .help = "of renting one of these GPUs, as \"$2.49/h\", for cost.*; else the GPU's list price, if it has one"},
    CPU_AND_MEMORY,
    {.name = "nodes_per_rack", .kind = CONFIG_INT, .offset = FIELD(nodes.nodes_per_rack), .value = "0", .min = 0, .max = 1e7,
     .help = "neighbouring nodes under one switch; 0: all of them"},
    {.name = "nodes_file", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(nodes.nodes_file),
     .fields = node_list_config_fields, .help = "nodes that differ, from a list, instead of nodes and gpus_per_node"},
    {.name = "unlimited", .kind = CONFIG_BOOL, .offset = FIELD(nodes.unlimited), .value = "false",
     .help = "as many GPUs as the jobs ask for: no nodes, nothing waits"},
    {.name = "pcie", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES_PER_S,
     .offset = FIELD(links.pcie_bytes_per_s), .min = DBL_MIN, .max = 0,
     .help = "PCIe link of each GPU, per direction; else what the host's device sustains, else the GPU's data sheet"},
    {.name = "pcie_switch", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(links.pcie_switch),
     .fields = pcie_switch_config_fields, .help = "switches between GPUs and host; else each GPU has its own way"},
    {.name = "host", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(links.host),
     .fields = host_config_fields, .help = "memory of each node's host; else endless, and as fast as PCIe"},
    {.name = "network", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(links.network),
     .fields = network_config_fields, .help = "between nodes; else they do not reach each other"},
    {.name = "storage", .kind = CONFIG_MAP, .flags = CONFIG_OPTIONAL, .offset = FIELD(links.storage),
     .fields = storage_config_fields, .elem_bytes = sizeof(struct storage_config),
     .help = "drives of each node, and memory behind the network, by name"},
    {.name = "server_power", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(server_power),
     .fields = server_power_config_fields, .help = "what a node draws beside its GPUs; \"power\" needs it"},
    {.name = "power", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(power),
     .fields = power_config_fields, .help = "its budget, how it is read and held; else nobody asks for power"},
    {.name = "node_types", .kind = CONFIG_MAP, .flags = CONFIG_OPTIONAL, .offset = FIELD(nodes.node_types),
     .fields = node_type_config_fields, .elem_bytes = sizeof(struct node_type_config),
     .help = "further nodes with other GPUs, by name, for pools of services that want them"},
    {0}};
#undef FIELD
