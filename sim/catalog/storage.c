#include "sim/catalog/storage.h"

#include "sim/catalog/shelf.h"

#include <float.h>
#include <string.h>

static const char *const kinds[] = {
    [STORAGE_DRAM] = "dram", [STORAGE_SSD] = "ssd", [STORAGE_CSD] = "csd", [STORAGE_REMOTE] = "remote", NULL};

#define SPEC(member) .offset = offsetof(struct storage_spec, member)
#define STACK(member) .offset = offsetof(struct storage_stack, member)
#define POSITIVE .min = DBL_MIN, .max = 0
#define QUANTITY(text, unit, more) .name = text, .kind = CONFIG_QUANTITY, .flags = CONFIG_SOURCED | (more), .dim = unit
#define NUMBER(text, more) .name = text, .kind = CONFIG_REAL, .flags = CONFIG_SOURCED | (more)
#define RATE(text, more) QUANTITY(text, UNIT_BYTES_PER_S, more)

/* Sections hold no struct of their own: offsets are from the start of struct storage_spec. */
#define DIRECTION(fields, op)                                                                                          \
    static const struct config_field fields[] = {                                                                      \
        {RATE("bandwidth", CONFIG_REQUIRED), SPEC(device.media[op].nominal_bytes_per_s), POSITIVE,                     \
         .help = "sequential bandwidth of the data sheet"},                                                            \
        {RATE("sustained", CONFIG_REQUIRED), SPEC(device.media[op].sustained_bytes_per_s), POSITIVE,                   \
         .help = "bandwidth of large transfers with many requests under way"},                                         \
        {QUANTITY("latency", UNIT_TIME, CONFIG_REQUIRED), SPEC(device.latency_s[op]), .min = 0, .max = 1,              \
         .help = "of a request that waits for no other"},                                                              \
        {QUANTITY("requests", UNIT_RATE, CONFIG_OPTIONAL), SPEC(device.requests_per_s[op]), POSITIVE,                  \
         .help = "requests per second at most"},                                                                       \
        {0},                                                                                                           \
    }

DIRECTION(read_fields, STORAGE_READ);
DIRECTION(write_fields, STORAGE_WRITE);

static const struct config_field link_fields[] = {
    {RATE("bandwidth", CONFIG_REQUIRED), SPEC(device.link.nominal_bytes_per_s), POSITIVE,
     .help = "bandwidth of the link to the host or its GPUs, per direction"},
    {RATE("sustained", CONFIG_REQUIRED), SPEC(device.link.sustained_bytes_per_s), POSITIVE,
     .help = "what the link's protocol leaves of it"},
    {0},
};

static const struct config_field csd_fields[] = {
    {NUMBER("channels", CONFIG_OPTIONAL), SPEC(csd.channels), .min = 1, .max = 4096, .help = "flash channels"},
    {RATE("channel_bandwidth", CONFIG_OPTIONAL), SPEC(csd.channel_bytes_per_s), POSITIVE,
     .help = "bandwidth of each channel"},
    {NUMBER("read_share", CONFIG_OPTIONAL), SPEC(csd.read_frac), .min = DBL_MIN, .max = 1,
     .help = "share of the channels' bandwidth that reading sustains"},
    {QUANTITY("page", UNIT_BYTES, CONFIG_OPTIONAL), SPEC(csd.page_bytes), POSITIVE, .help = "flash page"},
    {RATE("stream", CONFIG_OPTIONAL), SPEC(csd.stream_bytes_per_s), POSITIVE,
     .help = "keys and values that pass through the arithmetic units"},
    {QUANTITY("compute", UNIT_FLOP_PER_S, CONFIG_OPTIONAL), SPEC(csd.flop_per_s), POSITIVE,
     .help = "all arithmetic units together"},
    {QUANTITY("dram", UNIT_BYTES, CONFIG_OPTIONAL), SPEC(csd.dram_bytes), POSITIVE, .help = "memory on the device"},
    {.name = "dual_key", .kind = CONFIG_BOOL, SPEC(csd.dual_key), .value = "false",
     .help = "keys are stored twice, also ordered by channel, so that sparse attention can choose channels"},
    {NUMBER("page_channels", CONFIG_OPTIONAL), SPEC(csd.page_channels), .min = 1, .max = 4096,
     .help = "dual_key: channels that share a page"},
    {NUMBER("token_run", CONFIG_OPTIONAL), SPEC(csd.token_run), .min = 1, .max = 4096,
     .help = "dual_key: tokens that sparse attention chooses side by side, on average"},
    {0},
};

static const struct config_field stack_fields[] = {
    {.name = "summary", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, STACK(summary), .min = 1, .max = 512,
     .help = "what the software is"},
    {RATE("read", CONFIG_OPTIONAL), STACK(limits.bytes_per_s[STORAGE_READ]), POSITIVE, .help = "ceiling of reading"},
    {RATE("write", CONFIG_OPTIONAL), STACK(limits.bytes_per_s[STORAGE_WRITE]), POSITIVE, .help = "ceiling of writing"},
    {QUANTITY("latency", UNIT_TIME, 0), STACK(limits.latency_s), .value = "0s", .min = 0, .max = 10,
     .help = "per request, on top of the device's"},
    {0},
};

const struct config_field catalog_storage_fields[] = {
    {.name = "summary", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, SPEC(summary), .min = 1, .max = 512,
     .help = "the device, in a line"},
    {.name = "kind", .kind = CONFIG_CHOICE, .flags = CONFIG_REQUIRED, SPEC(kind), .choices = kinds,
     .help = "memory of the host, a drive, a drive that computes, the memory of another node's GPUs"},
    {QUANTITY("capacity", UNIT_BYTES, CONFIG_OPTIONAL), SPEC(device.capacity_bytes), POSITIVE, .help = "usable bytes"},
    {QUANTITY("granularity", UNIT_BYTES, CONFIG_REQUIRED), SPEC(device.granularity_bytes), POSITIVE,
     .help = "what is read or written at least"},
    {NUMBER("queue_depth", CONFIG_REQUIRED), SPEC(device.queue_depth), .min = 1, .max = 1e9,
     .help = "requests under way at most"},
    {.name = "read", .kind = CONFIG_SECTION, .fields = read_fields, .help = "reading, before the link"},
    {.name = "write", .kind = CONFIG_SECTION, .fields = write_fields, .help = "writing, before the link"},
    {.name = "link", .kind = CONFIG_SECTION, .fields = link_fields, .help = "PCIe or the network"},
    {.name = "csd", .kind = CONFIG_SECTION, .fields = csd_fields, .help = "of kind 'csd': flash and arithmetic units"},
    {.name = "software", .kind = CONFIG_MAP, SPEC(software), .fields = stack_fields,
     .elem_bytes = sizeof(struct storage_stack), .help = "ceilings of software on the way, by name"},
    {0},
};

static const struct shelf storage = {"storage", "storage device", "orrery list storage"};

static bool is_flow_possible(const struct storage_flow *flow)
{
    return flow->sustained_bytes_per_s <= flow->nominal_bytes_per_s;
}

static bool is_csd_complete(const struct csd_spec *csd)
{
    return csd->channels > 0.0 && csd->channel_bytes_per_s > 0.0 && csd->read_frac > 0.0 && csd->page_bytes > 0.0 &&
           csd->stream_bytes_per_s > 0.0 && csd->flop_per_s > 0.0 &&
           (!csd->dual_key || (csd->page_channels > 0.0 && csd->token_run > 0.0));
}

/* What the table of fields cannot say. NULL when all is well. */
static const char *find_problem(const struct storage_spec *spec)
{
    const struct storage_device *device = &spec->device;
    if (!is_flow_possible(&device->media[STORAGE_READ])) return "reading sustains more than its bandwidth";
    if (!is_flow_possible(&device->media[STORAGE_WRITE])) return "writing sustains more than its bandwidth";
    if (!is_flow_possible(&device->link)) return "the link sustains more than its bandwidth";
    if (spec->kind == STORAGE_CSD && !is_csd_complete(&spec->csd))
        return "kind 'csd' needs channels, channel_bandwidth, read_share, page, stream and compute in 'csd', with "
               "dual_key also page_channels and token_run";
    if (spec->kind != STORAGE_CSD && spec->csd.channels > 0.0) return "only kind 'csd' has flash channels of its own";
    return NULL;
}

int catalog_storage(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                    struct storage_spec *spec, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &storage, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, catalog_storage_fields, arena, spec, sizeof *spec, diag);
    if (code != 0) return code;
    const char *problem = find_problem(spec);
    if (problem) return diag_error(diag, SIM_E_CONFIG, path, NULL, "no device is like this: %s", problem);
    spec->name = shelf_entry_name(arena, path);
    return spec->name ? 0 : diag_nomem(diag);
}

int catalog_list_storage(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                         struct diag *diag)
{
    return shelf_list(catalog, &storage, arena, names, diag);
}

const struct storage_software *storage_spec_software(const struct storage_spec *spec, const char *name)
{
    const struct storage_stack *stacks = spec->software.items;
    for (size_t i = 0; i < spec->software.n; i++)
        if (strcmp(stacks[i].name, name) == 0) return &stacks[i].limits;
    return NULL;
}

const char *storage_kind_name(enum storage_kind kind)
{
    return kinds[kind];
}
