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

#define ROW_OF struct network_config
const struct config_field network_config_fields[] = {
    ROW_QUANTITY("bandwidth", bytes_per_s, UNIT_BYTES_PER_S, REQUIRED, POSITIVE, "bandwidth of each NIC, per direction"),
    ROW_CHOICE("per", per, DEFAULT("gpu"), per_names, "one NIC for each GPU, or one for all GPUs of a node"),
    ROW_QUANTITY("fabric", fabric_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth that all transfers between nodes share; default: NICs are the only limit"),
    ROW_TIME("latency", latency_ns, DEFAULT("5us"), WITHIN(0, 10), "latency from node to node"),
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
