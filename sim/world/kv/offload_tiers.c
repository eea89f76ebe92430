/* The tiers of a service: devices of the catalog, with what the scenario changes, as rates and capacities. */
#include "sim/world/kv/offload.h"

#include <float.h>
#include <math.h>

#define TIER(member) .offset = offsetof(struct offload_tier_config, member)
#define OVERRIDE(text, unit, member, what)                                                                             \
    {.name = text, .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = unit, TIER(member), .min = DBL_MIN,       \
     .max = 0, .help = what}

const struct config_field offload_tier_fields[] = {
    {.name = "device", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED | CONFIG_NAME_OR_PATH, TIER(device), .min = 1,
     .max = 4096, .help = "storage device of the catalog (orrery list storage)"},
    {.name = "software", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, TIER(software), .min = 1, .max = 256,
     .help = "software on the way, of those that the device lists; none: the bare device"},
    {.name = "hidden_software", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, TIER(hidden_software), .min = 1,
     .max = 256, .help = "the same for hidden states and for the cache of single tokens; none: as the other"},
    {.name = "count", .kind = CONFIG_REAL, TIER(count), .value = "1", .min = 1, .max = 4096,
     .help = "devices; software on the way is the same for all"},
    OVERRIDE("capacity", UNIT_BYTES, capacity_bytes, "of each device, in place of its own"),
    OVERRIDE("read", UNIT_BYTES_PER_S, read_bytes_per_s, "what reading sustains over all devices and software together"),
    OVERRIDE("write", UNIT_BYTES_PER_S, write_bytes_per_s, "what writing sustains over all devices and software together"),
    OVERRIDE("link", UNIT_BYTES_PER_S, link_bytes_per_s, "what each device's link sustains"),
    {.name = "channels", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, TIER(channels), .min = 1, .max = 4096,
     .help = "flash channels of a drive that computes"},
    OVERRIDE("channel_bandwidth", UNIT_BYTES_PER_S, channel_bytes_per_s, "of each of them"),
    {.name = "read_share", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, TIER(read_frac), .min = DBL_MIN, .max = 1,
     .help = "share of their bandwidth that reading sustains"},
    {0}};

#define WORKLOAD(member) .offset = offsetof(struct offload_workload_config, member)
const struct config_field offload_workload_fields[] = {
    {.name = "sequences", .kind = CONFIG_INT, WORKLOAD(sequences), .value = "64", .min = 1, .max = 1e6,
     .help = "sequences at once"},
    {.name = "prompt", .kind = CONFIG_INT, WORKLOAD(prompt_tokens), .value = "512", .min = 1, .max = 1e9,
     .help = "tokens of a prompt"},
    {.name = "output", .kind = CONFIG_INT, WORKLOAD(output_tokens), .value = "128", .min = 1, .max = 1e9,
     .help = "tokens of an answer"},
    {0}};

static enum offload_tier tier_of(enum storage_kind kind)
{
    static const enum offload_tier tiers[] = {[STORAGE_DRAM] = OFFLOAD_HOST,
                                              [STORAGE_SSD] = OFFLOAD_DISK,
                                              [STORAGE_CSD] = OFFLOAD_CSD,
                                              [STORAGE_REMOTE] = OFFLOAD_HOST};
    return tiers[kind];
}

static void set_flow(struct storage_flow *flow, double bytes_per_s)
{
    if (isnan(bytes_per_s)) return;
    *flow = (struct storage_flow){bytes_per_s, bytes_per_s};
}

/* What the scenario says in place of the entry. */
static void change(struct storage_spec *spec, const struct offload_tier_config *config)
{
    if (!isnan(config->capacity_bytes)) spec->device.capacity_bytes = config->capacity_bytes;
    if (!isnan(config->channels)) spec->csd.channels = config->channels;
    if (!isnan(config->channel_bytes_per_s)) spec->csd.channel_bytes_per_s = config->channel_bytes_per_s;
    if (!isnan(config->read_frac)) spec->csd.read_frac = config->read_frac;
    set_flow(&spec->device.link, config->link_bytes_per_s);
}

static int find_software(const struct storage_spec *spec, const char *name, const struct offload_request *request,
                         const struct storage_software **software)
{
    *software = name != NULL ? storage_spec_software(spec, name) : NULL;
    if (name == NULL || *software != NULL) return 0;
    return diag_error(request->diag, SIM_E_CONFIG, request->where, "look at its entry below configs/storage",
                      "storage device '%s' lists no software '%s'", spec->name, name);
}

/* What the flash of computational storage takes: its link is another resource. */
static double flash_write(const struct storage_spec *spec, const struct storage_software *software,
                          const struct offload_tier_config *config)
{
    if (!isnan(config->write_bytes_per_s)) return config->write_bytes_per_s;
    const double flash = config->count * spec->device.media[STORAGE_WRITE].sustained_bytes_per_s;
    return software != NULL ? fmin(flash, software->bytes_per_s[STORAGE_WRITE]) : flash;
}

/* Of `count` devices behind one software. */
static double rate(const struct storage_spec *spec, const struct storage_software *software, enum storage_op op,
                   const struct offload_tier_config *config)
{
    const double given = op == STORAGE_READ ? config->read_bytes_per_s : config->write_bytes_per_s;
    if (!isnan(given)) return given;
    const double devices = config->count * storage_rate_bytes_per_s(&spec->device, NULL, op);
    return software != NULL ? fmin(devices, software->bytes_per_s[op]) : devices;
}

/* Between host and GPU nothing is faster than the GPU's port. */
static void set_host_rates(struct offload_rates *rates, double port, double read, double write, double little)
{
    rates->host_read = fmin(read, port);
    rates->host_write_cache = fmin(write, port);
    rates->host_write_hidden = fmin(little, port);
}

static void set_rates(struct offload_service *offload, double port, enum offload_tier tier,
                      const struct offload_tier_config *config, const struct storage_software *software,
                      const struct storage_software *hidden)
{
    struct offload_rates *rates = &offload->view.rates;
    const struct storage_spec *spec = &offload->stores[tier];
    const double read = rate(spec, software, STORAGE_READ, config), write = rate(spec, software, STORAGE_WRITE, config);
    const double little = hidden != NULL ? rate(spec, hidden, STORAGE_WRITE, config) : write;
    if (tier == OFFLOAD_HOST) {
        set_host_rates(rates, port, read, write, little);
    } else if (tier == OFFLOAD_DISK) {
        rates->disk_read = rates->disk_read_weights = read;
        rates->disk_write_cache = write;
        rates->disk_write_hidden = rates->disk_write_token = little;
    } else {
        rates->csd_write = flash_write(spec, software, config);
        offload->view.csd = (struct offload_csd){&spec->csd, &spec->device, config->count};
    }
}

static int read_tier(struct offload_service *offload, const struct offload_tier_config *config,
                     const struct offload_request *request)
{
    const struct storage_software *software, *hidden;
    struct storage_spec spec;
    int code = catalog_storage(request->catalog, config->device, request->where, request->arena, &spec, request->diag);
    if (code == 0) code = find_software(&spec, config->software, request, &software);
    if (code == 0) code = find_software(&spec, config->hidden_software, request, &hidden);
    if (code != 0) return code;
    const enum offload_tier tier = tier_of(spec.kind);
    if (offload->stores[tier].name != NULL)
        return diag_error(request->diag, SIM_E_CONFIG, request->where, "raise 'count' for more devices of one kind",
                          "two tiers are of one kind: '%s' and '%s'", offload->stores[tier].name, spec.name);
    change(&spec, config);
    offload->stores[tier] = spec;
    offload->tier_names[tier] = config->name;
    double capacity = config->count * spec.device.capacity_bytes;
    if (spec.kind == STORAGE_DRAM) capacity /= (double)request->node_replicas;
    offload->view.capacity_bytes[tier] = isnan(capacity) ? (double)INFINITY : capacity;
    set_rates(offload, request->port_bytes_per_s, tier, config, software, hidden);
    return 0;
}

int offload_tiers_read(struct offload_service *offload, const struct offload_request *request)
{
    const double none = (double)INFINITY, unknown = (double)NAN;
    const double port = request->port_bytes_per_s * (double)request->tensor_parallel;
    const struct config_list *tiers = &request->config->tiers;
    offload->view.rates = (struct offload_rates){none,    none,    none,    none,   none,
                                                 none,    none,    none,    none,   port,
                                                 unknown, unknown, unknown, unknown, unknown};
    int code = 0;
    for (size_t i = 0; i < tiers->n && code == 0; i++)
        code = read_tier(offload, (const struct offload_tier_config *)tiers->items + i, request);
    return code;
}
