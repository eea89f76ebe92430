#include "sim/world/kv/offload.h"

#include "sim/world/policy/instance.h"
#include "sim/world/rows/metric.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double BLOCKS_AT_MOST = 0x1p40;

/* --- The tiers of a service: devices of the catalog, with what the scenario changes, as rates and capacities --- */

#define ROW_OF struct offload_tier_config
const struct config_field offload_tier_fields[] = {
    ROW_NAME_OR_PATH("device", device, REQUIRED, WITHIN(1, 4096),
                     "storage device of the catalog (orrery list storage)"),
    ROW_TEXT("software", software, OPTIONAL, WITHIN(1, 256),
             "software on the path, from the device's list; default: the bare device"),
    ROW_TEXT("hidden_software", hidden_software, OPTIONAL, WITHIN(1, 256),
             "software for hidden states and for the cache of single tokens; default: `software`"),
    ROW_REAL("count", count, DEFAULT("1"), WITHIN(1, 4096), "devices, which share the software on the path"),
    ROW_QUANTITY("capacity", capacity_bytes, UNIT_BYTES, OPTIONAL, POSITIVE, "capacity of each device; default: that of the catalog"),
    ROW_QUANTITY("read", read_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "sustained read bandwidth of all devices and software together"),
    ROW_QUANTITY("write", write_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "sustained write bandwidth of all devices and software together"),
    ROW_QUANTITY("link", link_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE, "sustained bandwidth of each device's link"),
    ROW_REAL("channels", channels, OPTIONAL, WITHIN(1, 4096), "flash channels of a drive that computes"),
    ROW_QUANTITY("channel_bandwidth", channel_bytes_per_s, UNIT_BYTES_PER_S, OPTIONAL, POSITIVE,
                 "bandwidth of each flash channel"),
    ROW_REAL("read_share", read_frac, OPTIONAL, WITHIN(DBL_MIN, 1),
             "share of the channels' bandwidth that reading sustains"),
    {0}};
#undef ROW_OF

#define ROW_OF struct offload_workload_config
const struct config_field offload_workload_fields[] = {
    ROW_INT("sequences", sequences, DEFAULT("64"), WITHIN(1, 1e6), "sequences at once"),
    ROW_INT("prompt", prompt_tokens, DEFAULT("512"), WITHIN(1, 1e9), "tokens of a prompt"),
    ROW_INT("output", output_tokens, DEFAULT("128"), WITHIN(1, 1e9), "tokens of an answer"),
    {0}};
#undef ROW_OF

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

/* Applies the scenario's changes to the catalog entry. */
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

/* Write rate of the flash of computational storage: its link is a separate resource. */
static double flash_write(const struct storage_spec *spec, const struct storage_software *software,
                          const struct offload_tier_config *config)
{
    if (!isnan(config->write_bytes_per_s)) return config->write_bytes_per_s;
    const double flash = config->count * spec->device.media[STORAGE_WRITE].sustained_bytes_per_s;
    return software != NULL ? fmin(flash, software->bytes_per_s[STORAGE_WRITE]) : flash;
}

/* Rate of `count` devices behind one software stack. */
static double rate(const struct storage_spec *spec, const struct storage_software *software, enum storage_op op,
                   const struct offload_tier_config *config)
{
    const double given = op == STORAGE_READ ? config->read_bytes_per_s : config->write_bytes_per_s;
    if (!isnan(given)) return given;
    const double devices = config->count * storage_rate_bytes_per_s(&spec->device, NULL, op);
    return software != NULL ? fmin(devices, software->bytes_per_s[op]) : devices;
}

/* Rates between host and GPU are limited by the GPU's port. */
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

/* Reads the tiers of the config: their devices, rates and capacities. Returns 0 or a negative code with findings. */
static int read_tiers(struct offload_service *offload, const struct offload_request *request)
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

/* --- The plan --- */

static int fault(const struct offload_service *offload, const struct offload_request *request, const char *problem)
{
    return diag_error(request->diag, SIM_E_POLICY, request->where, NULL, "kv_offload policy '%s' %s",
                      offload->policy->policy.name, problem);
}

/* Whether shares are from 0 to 1 and add up to 1. */
static bool are_shares(const double *shares)
{
    double sum = 0.0;
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        if (!(shares[tier] >= 0.0 && shares[tier] <= 1.0)) return false;
        sum += shares[tier];
    }
    return fabs(sum - 1.0) < 1e-9;
}

/* A tier that does not exist but has a share; OFFLOAD_GPU_MEMORY: none. A GPU has memory, even if nothing is left of
 * it. */
static enum offload_tier absent_tier(const struct offload_view *view, const struct offload_shares *shares)
{
    for (int tier = OFFLOAD_GPU_MEMORY + 1; tier < OFFLOAD_TIERS; tier++) {
        const bool is_used = shares->weights[tier] > 0.0 || shares->cache[tier] > 0.0 || shares->hidden[tier] > 0.0;
        if (is_used && !(view->capacity_bytes[tier] > 0.0)) return (enum offload_tier)tier;
    }
    return OFFLOAD_GPU_MEMORY;
}

static int check_plan(const struct offload_service *offload, const struct offload_request *request)
{
    const struct offload_view *view = &offload->view;
    const struct offload_placement *placement = &offload->plan.placement;
    if (!are_shares(placement->shares.weights))
        return fault(offload, request, "places shares of the weights that do not add up to 1");
    if (!are_shares(placement->shares.cache))
        return fault(offload, request, "places shares of the KV cache that do not add up to 1");
    if (!are_shares(placement->shares.hidden))
        return fault(offload, request, "places shares of the hidden states that do not add up to 1");
    if (placement->shares.weights[OFFLOAD_CSD] > 0.0 || placement->shares.hidden[OFFLOAD_CSD] > 0.0)
        return fault(offload, request, "places more than KV cache in computational storage");
    if (placement->interval < 1 || (double)placement->interval > view->layer.layers)
        return fault(offload, request, "takes an interval that is no number of layers");
    if (!(placement->kept_frac > 0.0 && placement->kept_frac <= 1.0))
        return fault(offload, request, "keeps a share of the tokens that is not from 0 to 1");
    return 0;
}

static int missing_tier(const struct offload_service *offload, const struct offload_request *request,
                        enum offload_tier tier)
{
    static const struct {
        const char *what, *hint;
    } tiers[OFFLOAD_TIERS] = {
        [OFFLOAD_HOST] = {"host memory", "add \"tiers\": {\"host\": {\"device\": \"host-dram-pcie4\"}} to \"kv\""},
        [OFFLOAD_DISK] = {"a drive", "add \"tiers\": {\"disk\": {\"device\": \"samsung-980-pro\"}} to \"kv\""},
        [OFFLOAD_CSD] = {"computational storage", "add \"tiers\": {\"csd\": {\"device\": \"instcsd\"}} to \"kv\""},
    };
    return diag_error(request->diag, SIM_E_CONFIG, request->where, tiers[tier].hint,
                      "kv_offload policy '%s' needs %s, and kv.tiers names none", offload->policy->policy.name,
                      tiers[tier].what);
}

/* A bus limits both directions equally. */
static void share_bus(struct offload_rates *rates, double bytes_per_s)
{
    rates->host_read = fmin(rates->host_read, bytes_per_s);
    rates->host_write_cache = fmin(rates->host_write_cache, bytes_per_s);
    rates->host_write_hidden = fmin(rates->host_write_hidden, bytes_per_s);
}

static int make_plan(struct offload_service *offload, const struct offload_request *request)
{
    enum offload_tier full;
    offload_plan_default(&offload->view, &offload->plan);
    if (offload->policy->place == NULL) return 0;
    int code = offload->policy->place(offload->state, &offload->view, &offload->plan);
    if (code != 0) return policy_failed(&offload->policy->policy, "place", code, 0, request->diag);
    if (offload->plan.missing != OFFLOAD_GPU_MEMORY) return missing_tier(offload, request, offload->plan.missing);
    if (!offload->plan.in_use) return 0;
    const enum offload_tier absent = absent_tier(&offload->view, &offload->plan.placement.shares);
    if (absent != OFFLOAD_GPU_MEMORY) return missing_tier(offload, request, absent);
    if ((code = check_plan(offload, request)) != 0) return code;
    offload->model = offload_of_plan(&offload->view, &offload->plan);
    if (!request->bus_on_links)
        share_bus(&offload->model.rates, offload->view.bus_bytes_per_s / (double)offload->view.bus_gpus);
    if (offload->plan.problem != NULL)
        snprintf(offload->problem, sizeof offload->problem, "%s", offload->plan.problem);
    else if (!offload_plan_fits(&offload->plan, &full))
        snprintf(offload->problem, sizeof offload->problem,
                 "out of memory (%s): %.4g GB are needed without KV cache, of %.4g GB", offload_tier_name(full),
                 1e-9 * offload->plan.fixed_bytes[full], 1e-9 * offload->plan.capacity_bytes[full]);
    if (offload->plan.placement.schedule == OFFLOAD_GROUPED)
        offload->totals.interval = (double)offload->plan.placement.interval;
    return 0;
}

int offload_service_init(struct offload_service *offload, const struct offload_request *request)
{
    const struct offload_config *config = request->config;
    memset(offload, 0, sizeof *offload);
    offload->policy = (const struct kv_offloader *)config->policy.entry;
    offload->base = *request->model;
    struct offload_view *view = &offload->view;
    *view = (struct offload_view){
        .gpu = request->gpu,
        .llm = request->llm,
        .model = &offload->base,
        .layer = offload_layer(request->llm, request->tensor_parallel),
        .activation_bytes = request->activation_bytes,
        .activation_tokens = (double)request->activation_tokens,
        .workload = {.sequences = (double)config->workload.sequences,
                     .gpu_batch = (double)config->workload.sequences,
                     .prompt = (double)config->workload.prompt_tokens,
                     .output = (double)config->workload.output_tokens},
        .kv_block_tokens = (double)request->kv_block_tokens,
        .bus_bytes_per_s = isnan(config->bus_bytes_per_s) ? (double)INFINITY : config->bus_bytes_per_s,
        .bus_gpus = config->bus_gpus,
        .ttft_slo_s = config->ttft_slo_s,
        .tpot_slo_s = config->tpot_slo_s,
    };
    view->capacity_bytes[OFFLOAD_GPU_MEMORY] = request->gpu_bytes;
    int code = read_tiers(offload, request);
    if (code == 0)
        code = policy_state_create(&offload->policy->policy, POLICY_KV_OFFLOAD, sizeof *offload->policy,
                                   config->policy.params, &offload->state, request->diag);
    return code != 0 ? code : make_plan(offload, request);
}

void offload_service_fini(struct offload_service *offload)
{
    if (offload->policy != NULL) policy_state_destroy(&offload->policy->policy, offload->state);
}

bool offload_in_use(const struct offload_service *offload)
{
    return offload->plan.in_use;
}

int64_t offload_kv_blocks(const struct offload_service *offload, int64_t block_tokens)
{
    if (offload->problem[0] != '\0') return 0;
    const double blocks = floor(offload_plan_tokens(&offload->view, &offload->plan) / (double)block_tokens);
    return (int64_t)fmin(blocks, BLOCKS_AT_MOST);
}

enum offload_tier offload_evicted(const struct offload_service *offload, const struct request_view *request)
{
    if (offload->policy->evicted == NULL) return OFFLOAD_GPU_MEMORY;
    return offload->policy->evicted(offload->state, &offload->view, request);
}

/* --- Use of resources --- */

/* The sum of a piece over its first n iterations. */
static double piece_sum(struct piece piece, double n)
{
    return n * piece.now + 0.5 * n * (n - 1.0) * piece.slope;
}

int64_t offload_lane_bytes(const struct offload_step *step, enum offload_lane lane, int64_t iterations)
{
    return llrint(piece_sum(step->lanes[lane], (double)iterations));
}

void offload_count(struct offload_service *offload, const struct offload_step *step, int64_t iterations)
{
    struct offload_totals *totals = &offload->totals;
    const double n = (double)iterations;
    totals->seconds += piece_sum(step->seconds, n);
    for (int i = 0; i < OFFLOAD_RESOURCES; i++) {
        totals->critical_s[i] += piece_sum(step->critical_s[i], n);
        totals->bytes[i] += piece_sum(step->bytes[i], n);
    }
}

void offload_totals_add(struct offload_totals *into, const struct offload_totals *from)
{
    into->seconds += from->seconds;
    into->interval = fmax(into->interval, from->interval);
    for (int i = 0; i < OFFLOAD_RESOURCES; i++) {
        into->critical_s[i] += from->critical_s[i];
        into->bytes[i] += from->bytes[i];
    }
}

static double frac_named(const struct offload_totals *totals, const char *name)
{
    double seconds = 0.0;
    for (int i = 0; i < OFFLOAD_RESOURCES; i++)
        if (strcmp(offload_resource_name((enum offload_resource)i), name) == 0) seconds += totals->critical_s[i];
    return seconds / totals->seconds;
}

int offload_totals_emit(const struct offload_totals *totals, const struct sink *sink)
{
    const struct {
        const char *metric;
        double value;
    } rows[] = {
        {"bottleneck.gpu_frac", frac_named(totals, "gpu")},
        {"bottleneck.hbm_frac", frac_named(totals, "hbm")},
        {"bottleneck.host_frac", frac_named(totals, "host")},
        {"bottleneck.link_frac", frac_named(totals, "link")},
        {"bottleneck.flash_frac", frac_named(totals, "flash")},
        {"bottleneck.device_frac", frac_named(totals, "device")},
        {"offload.interval_layers", totals->interval > 0.0 ? totals->interval : (double)NAN},
        {"offload.to_gpu_bytes.sum", totals->bytes[OFFLOAD_TO_GPU]},
        {"offload.from_gpu_bytes.sum", totals->bytes[OFFLOAD_FROM_GPU]},
        {"offload.disk_read_bytes.sum", totals->bytes[OFFLOAD_DISK_READ]},
        {"offload.disk_write_bytes.sum", totals->bytes[OFFLOAD_DISK_WRITE]},
        {"offload.csd_link_bytes.sum", totals->bytes[OFFLOAD_CSD_LINK] + totals->bytes[OFFLOAD_CSD_FILL]},
        {"offload.csd_read_bytes.sum", totals->bytes[OFFLOAD_FLASH]},
        {"offload.csd_write_bytes.sum", totals->bytes[OFFLOAD_CSD_WRITE]},
    };
    int code = 0;
    if (!(totals->seconds > 0.0)) return 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && code == 0; i++)
        code = metric_emit(sink, rows[i].metric, rows[i].value);
    return code;
}
