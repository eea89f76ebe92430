#include "sim/world/links/topology_config.h"

#include <float.h>

#define ROW_OF struct pcie_switch_config
const struct config_field pcie_switch_config_fields[] = {
    ROW_INT("gpus", gpus, REQUIRED, WITHIN(1, 1024), "GPUs below each switch"),
    ROW_QUANTITY("bandwidth", bytes_per_s, UNIT_BYTES_PER_S, REQUIRED, POSITIVE,
                 "bandwidth of the link from the switch to the host, per direction"),
    {0}};
#undef ROW_OF

#define ROW_OF struct host_config
const struct config_field host_config_fields[] = {
    ROW_NAME_OR_PATH("device", device, OPTIONAL, ANY,
                     "entry of kind 'dram' in the storage catalog, for the memory of the host and its PCIe links"),
    ROW_TEXT("software", software, OPTIONAL, ANY,
             "software that copies, from the device's list; its bandwidth limit holds for the whole node"),
    ROW_QUANTITY("memory", memory_bytes, UNIT_BYTES, OPTIONAL, POSITIVE,
                 "memory of each host for KV cache; default: the device's capacity, or no limit without a device"),
    {0}};
#undef ROW_OF

static const char *const per_names[] = {"gpu", "node", NULL};
static const char *const network_topology_names[] = {
#define NETWORK_TOPOLOGY_NAME(id, name) name,
    NETWORK_TOPOLOGIES(NETWORK_TOPOLOGY_NAME) NULL
#undef NETWORK_TOPOLOGY_NAME
};
static const char *const paths_names[] = {"ecmp", "planned", NULL};
static const char *const sends_names[] = {"always", "in-part", NULL};
static const char *const collectives_names[] = {"alone", "shared", NULL};

#define ROW_OF struct network_config
const struct config_field network_config_fields[] = {
    ROW_QUANTITY("bandwidth", bytes_per_s, UNIT_BYTES_PER_S, SOURCED_REQUIRED, POSITIVE,
                 "bandwidth of each NIC, per direction"),
    ROW_CHOICE("per", per, DEFAULT("gpu"), per_names, "one NIC for each GPU, or one for all GPUs of a node"),
    ROW_QUANTITY("fabric", fabric_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth that all transfers between nodes share; default: NICs are the only limit"),
    ROW_TIME("latency", latency_ns, DEFAULT("5us"), WITHIN(0, 10), "latency from node to node"),
    ROW_CHOICE("topology", topology, OPTIONAL, network_topology_names,
               "switches between the NICs; default: flat, without limits but those of the NICs and 'fabric'"),
    ROW_INT("nodes_per_leaf", nodes_per_leaf, SOURCED_OPTIONAL, WITHIN(1, 1e6),
            "leaf-spine and rails: nodes below each leaf switch, or each set of rails; default: 32 NICs for each leaf"),
    ROW_INT("leaves_per_pod", leaves_per_pod, SOURCED_OPTIONAL, WITHIN(1, 1e6),
            "leaf-spine and rails: leaves of each pod; default: two levels of switches"),
    ROW_INT("ports", ports, OPTIONAL, WITHIN(2, 65536), "fat-tree: ports of each switch; default: 64"),
    ROW_INT("levels", levels, OPTIONAL, WITHIN(2, 3), "fat-tree: levels of switches; default: 3"),
    ROW_REAL("oversubscription", oversubscription, SOURCED_OPTIONAL, WITHIN(0.01, 1000),
             "bandwidth below a leaf over that of its ports to the switches above; default: 1"),
    ROW_REAL("pod_oversubscription", pod_oversubscription, SOURCED_OPTIONAL, WITHIN(0.01, 1000),
             "bandwidth below a switch of a pod over that of its ports to the core; default: 1"),
    ROW_QUANTITY("uplink", uplink_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "largest bandwidth of a port between switches, per direction; default: that of a NIC"),
    ROW_CHOICE(
        "paths", paths, OPTIONAL, paths_names,
        "which of the equal paths a flow takes: ecmp, by a hash (default); planned, the least loaded when it begins"),
    ROW_CHOICE(
        "sends", sends, DEFAULT("always"), sends_names,
        "when jobs send: always, all at one moment, the worst case; in-part, in the share of a step that it takes"),
    ROW_CHOICE("collectives", collectives, OPTIONAL, collectives_names,
               "of replicas over nodes: alone, as on a network of their own (default); shared, on the links with all "
               "other traffic"),
    {0}};
#undef ROW_OF

static const char *const way_names[] = {"usual", "host", "direct", NULL};

#define ROW_OF struct storage_config
const struct config_field storage_config_fields[] = {
    ROW_NAME_OR_PATH("device", device, REQUIRED, ANY, "entry of the storage catalog (orrery list storage)"),
    ROW_INT("count", count, DEFAULT("1"), WITHIN(1, 4096),
            "devices in each node, over which data are striped; kind 'remote': devices in total"),
    ROW_TEXT("software", software, OPTIONAL, ANY,
             "software on the path, from the device's list; its bandwidth limit holds for all devices of the node"),
    ROW_QUANTITY(
        "ceiling", ceiling_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
        "bandwidth limit of file system and software together, for all devices of the node; default: that of the software"),
    ROW_QUANTITY("capacity", capacity_bytes, UNIT_BYTES, OPTIONAL, POSITIVE,
                 "capacity of all devices together; default: that of the catalog, or no limit"),
    ROW_CHOICE("way", way, DEFAULT("usual"), way_names,
               "path to and from GPUs: through host memory, or direct; usual: host for drives, direct for others"),
    {0}};
#undef ROW_OF
