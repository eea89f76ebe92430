#include "sim/catalog/storage.h"

#include "sim/catalog/shelf.h"

#include <float.h>
#include <string.h>

static const char *const kinds[] = {
    [STORAGE_DRAM] = "dram", [STORAGE_SSD] = "ssd", [STORAGE_CSD] = "csd", [STORAGE_REMOTE] = "remote", NULL};

#define RATE(key, member, absence, what) ROW_QUANTITY(key, member, UNIT_BYTES_PER_S, absence, POSITIVE, what)
#define ROW_OF struct storage_spec

/* Sections hold no struct of their own: offsets are from the start of struct storage_spec. */
#define DIRECTION(fields, op)                                                                                          \
    static const struct config_field fields[] = {                                                                      \
        RATE("bandwidth", device.media[op].nominal_bytes_per_s, SOURCED_REQUIRED,                                      \
             "sequential bandwidth of the data sheet"),                                                                \
        RATE("sustained", device.media[op].sustained_bytes_per_s, SOURCED_REQUIRED,                                    \
             "bandwidth of large transfers with many requests under way"),                                             \
        ROW_QUANTITY("latency", device.latency_s[op], UNIT_TIME, SOURCED_REQUIRED, WITHIN(0, 1),                       \
                     "of a request on an idle device"),                                                          \
        ROW_QUANTITY("requests", device.requests_per_s[op], UNIT_RATE, SOURCED_OPTIONAL, POSITIVE,                     \
                     "requests per second at most"),                                                                   \
        {0},                                                                                                           \
    }

DIRECTION(read_fields, STORAGE_READ);
DIRECTION(write_fields, STORAGE_WRITE);

static const struct config_field link_fields[] = {
    RATE("bandwidth", device.link.nominal_bytes_per_s, SOURCED_REQUIRED,
         "bandwidth of the link to the host or its GPUs, per direction"),
    RATE("sustained", device.link.sustained_bytes_per_s, SOURCED_REQUIRED, "bandwidth after protocol overhead"),
    {0},
};

static const struct config_field csd_fields[] = {
    ROW_REAL("channels", csd.channels, SOURCED_OPTIONAL, WITHIN(1, 4096), "flash channels"),
    RATE("channel_bandwidth", csd.channel_bytes_per_s, SOURCED_OPTIONAL, "bandwidth of each channel"),
    ROW_REAL("read_share", csd.read_frac, SOURCED_OPTIONAL, WITHIN(DBL_MIN, 1),
             "share of the channels' bandwidth that reading sustains"),
    ROW_QUANTITY("page", csd.page_bytes, UNIT_BYTES, SOURCED_OPTIONAL, POSITIVE, "flash page"),
    RATE("stream", csd.stream_bytes_per_s, SOURCED_OPTIONAL, "bandwidth of keys and values through the arithmetic units"),
    ROW_QUANTITY("compute", csd.flop_per_s, UNIT_FLOP_PER_S, SOURCED_OPTIONAL, POSITIVE,
                 "all arithmetic units together"),
    ROW_QUANTITY("dram", csd.dram_bytes, UNIT_BYTES, SOURCED_OPTIONAL, POSITIVE, "memory on the device"),
    ROW_BOOL("dual_key", csd.dual_key, DEFAULT("false"),
             "keys are stored twice, also ordered by channel, so that sparse attention can choose channels"),
    ROW_REAL("page_channels", csd.page_channels, SOURCED_OPTIONAL, WITHIN(1, 4096),
             "dual_key: channels that share a page"),
    ROW_REAL("token_run", csd.token_run, SOURCED_OPTIONAL, WITHIN(1, 4096),
             "dual_key: tokens that sparse attention chooses side by side, on average"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct storage_stack
static const struct config_field stack_fields[] = {
    ROW_TEXT("summary", summary, REQUIRED, WITHIN(1, 512), "one-line description of the software"),
    RATE("read", limits.bytes_per_s[STORAGE_READ], SOURCED_OPTIONAL, "ceiling of reading"),
    RATE("write", limits.bytes_per_s[STORAGE_WRITE], SOURCED_OPTIONAL, "ceiling of writing"),
    ROW_QUANTITY("latency", limits.latency_s, UNIT_TIME, SOURCED_DEFAULT("0s"), WITHIN(0, 10),
                 "per request, on top of the device's"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct storage_spec
static const struct config_field catalog_storage_fields[] = {
    ROW_TEXT("summary", summary, REQUIRED, WITHIN(1, 512), "one-line description of the device"),
    ROW_CHOICE("kind", kind, REQUIRED, kinds,
               "memory of the host, a drive, a drive that computes, the memory of another node's GPUs"),
    ROW_QUANTITY("capacity", device.capacity_bytes, UNIT_BYTES, SOURCED_OPTIONAL, POSITIVE, "usable bytes"),
    ROW_QUANTITY("granularity", device.granularity_bytes, UNIT_BYTES, SOURCED_REQUIRED, POSITIVE,
                 "smallest unit of reading and writing"),
    ROW_REAL("queue_depth", device.queue_depth, SOURCED_REQUIRED, WITHIN(1, 1e9), "maximum number of requests in flight"),
    {.name = "read", .kind = CONFIG_SECTION, .fields = read_fields, .help = "reading, before the link"},
    {.name = "write", .kind = CONFIG_SECTION, .fields = write_fields, .help = "writing, before the link"},
    {.name = "link", .kind = CONFIG_SECTION, .fields = link_fields, .help = "PCIe or the network"},
    {.name = "csd", .kind = CONFIG_SECTION, .fields = csd_fields, .help = "of kind 'csd': flash and arithmetic units"},
    ROW_MAP("software", software, OPTIONAL, ANY, struct storage_stack, stack_fields,
            "ceilings of software on the way, by name"),
    {0},
};
#undef ROW_OF

static const struct shelf storage = {"storage", "storage device", "orrery list storage", NULL, NULL};

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
    if (problem) return diag_error(diag, SIM_E_CONFIG, path, NULL, "impossible device: %s", problem);
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
