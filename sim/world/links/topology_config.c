#include "sim/world/links/topology_config.h"

#include <float.h>

#define RATE(text, type, member) .name = text, .kind = CONFIG_QUANTITY, .dim = UNIT_BYTES_PER_S,                       \
    .offset = offsetof(struct type, member), .min = DBL_MIN, .max = 0

const struct config_field pcie_switch_config_fields[] = {
    {.name = "gpus", .kind = CONFIG_INT, .flags = CONFIG_REQUIRED, .offset = offsetof(struct pcie_switch_config, gpus),
     .min = 1, .max = 1024, .help = "GPUs below each switch"},
    {RATE("bandwidth", pcie_switch_config, bytes_per_s), .flags = CONFIG_REQUIRED,
     .help = "of the link from the switch to the host, per direction"},
    {0}};

const struct config_field host_config_fields[] = {
    {.name = "device", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL | CONFIG_NAME_OR_PATH,
     .offset = offsetof(struct host_config, device),
     .help = "memory of the host and its PCIe links: of kind 'dram' in the catalog (orrery list storage)"},
    {.name = "software", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, .offset = offsetof(struct host_config, software),
     .help = "software that copies, one that the device lists: its ceiling is shared by the node"},
    {.name = "memory", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES,
     .offset = offsetof(struct host_config, memory_bytes), .min = DBL_MIN, .max = 0,
     .help = "memory of each host for KV cache; else as the device has, or without limit"},
    {0}};

static const char *const per_names[] = {"gpu", "node", NULL};

const struct config_field network_config_fields[] = {
    {RATE("bandwidth", network_config, bytes_per_s), .flags = CONFIG_REQUIRED, .help = "of each NIC, per direction"},
    {.name = "per", .kind = CONFIG_CHOICE, .offset = offsetof(struct network_config, per), .value = "gpu",
     .choices = per_names, .help = "a NIC beside every GPU, or one for all GPUs of a node"},
    {RATE("fabric", network_config, fabric_bytes_per_s), .flags = CONFIG_OPTIONAL,
     .help = "all that goes from node to node at once; else the NICs are the only limit"},
    {.name = "latency", .kind = CONFIG_TIME, .offset = offsetof(struct network_config, latency_ns), .value = "5us",
     .min = 0, .max = 10, .help = "from node to node"},
    {0}};

static const char *const way_names[] = {"usual", "host", "direct", NULL};

const struct config_field storage_config_fields[] = {
    {.name = "device", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED | CONFIG_NAME_OR_PATH,
     .offset = offsetof(struct storage_config, device), .help = "entry of the storage catalog (orrery list storage)"},
    {.name = "count", .kind = CONFIG_INT, .offset = offsetof(struct storage_config, count), .value = "1", .min = 1,
     .max = 4096, .help = "devices in each node, over which all data are striped; of kind 'remote': in all"},
    {.name = "software", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL,
     .offset = offsetof(struct storage_config, software),
     .help = "software on the way, one that the device lists: its ceiling is shared by all devices of the node"},
    {RATE("ceiling", storage_config, ceiling_bytes_per_s), .flags = CONFIG_OPTIONAL,
     .help = "of file system and software together, shared by all devices of the node, instead of the software's"},
    {.name = "capacity", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_BYTES,
     .offset = offsetof(struct storage_config, capacity_bytes), .min = DBL_MIN, .max = 0,
     .help = "of all devices together; else as the catalog says, or without limit"},
    {.name = "way", .kind = CONFIG_CHOICE, .offset = offsetof(struct storage_config, way), .value = "usual",
     .choices = way_names,
     .help = "to and from GPUs through host memory, or directly; usual: drives through the host, others directly"},
    {0}};
