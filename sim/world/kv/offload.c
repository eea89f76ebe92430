#include "sim/world/kv/offload.h"

#include "sim/world/policy/instance.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double BLOCKS_AT_MOST = 0x1p40;

/* --- The plan --- */

static int fault(const struct offload_service *offload, const struct offload_request *request, const char *problem)
{
    return diag_error(request->diag, SIM_E_POLICY, request->where, NULL, "kv_offload policy '%s' %s",
                      offload->policy->policy.name, problem);
}

/* Whether shares are from 0 to 1 and add up to 1, and lie on tiers that there are. */
static bool are_shares(const struct offload_view *view, const double *shares)
{
    double sum = 0.0;
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        if (!(shares[tier] >= 0.0 && shares[tier] <= 1.0)) return false;
        if (shares[tier] > 0.0 && !(view->capacity_bytes[tier] > 0.0)) return false;
        sum += shares[tier];
    }
    return fabs(sum - 1.0) < 1e-9;
}

static int check_plan(const struct offload_service *offload, const struct offload_request *request)
{
    const struct offload_view *view = &offload->view;
    const struct offload_placement *placement = &offload->plan.placement;
    if (!are_shares(view, placement->shares.weights))
        return fault(offload, request, "places weights where there is nothing");
    if (!are_shares(view, placement->shares.cache))
        return fault(offload, request, "places KV cache where there is nothing");
    if (!are_shares(view, placement->shares.hidden))
        return fault(offload, request, "places hidden states where there is nothing");
    if (placement->shares.weights[OFFLOAD_CSD] > 0.0 || placement->shares.hidden[OFFLOAD_CSD] > 0.0)
        return fault(offload, request, "places more than KV cache in computational storage");
    if (placement->interval < 1 || (double)placement->interval > view->layer.layers)
        return fault(offload, request, "takes an interval that is no number of layers");
    if (!(placement->kept_frac > 0.0 && placement->kept_frac <= 1.0))
        return fault(offload, request, "keeps a share of the tokens that is not from 0 to 1");
    return 0;
}

static int missing_tier(const struct offload_service *offload, const struct offload_request *request)
{
    static const struct {
        const char *what, *hint;
    } tiers[OFFLOAD_TIERS] = {
        [OFFLOAD_HOST] = {"host memory", "add \"tiers\": {\"host\": {\"device\": \"host-dram-pcie4\"}} to \"kv\""},
        [OFFLOAD_DISK] = {"a drive", "add \"tiers\": {\"disk\": {\"device\": \"samsung-980-pro\"}} to \"kv\""},
        [OFFLOAD_CSD] = {"computational storage", "add \"tiers\": {\"csd\": {\"device\": \"instcsd\"}} to \"kv\""},
    };
    const enum offload_tier tier = offload->plan.missing;
    return diag_error(request->diag, SIM_E_CONFIG, request->where, tiers[tier].hint,
                      "kv_offload policy '%s' needs %s, and kv.tiers names none", offload->policy->policy.name,
                      tiers[tier].what);
}

/* Both directions of a bus are alike. */
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
    if (code != 0) return policy_failed(&offload->policy->policy, code, 0, request->diag);
    if (offload->plan.missing != OFFLOAD_GPU_MEMORY) return missing_tier(offload, request);
    if (!offload->plan.in_use) return 0;
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
        .bus_bytes_per_s = isnan(config->bus_bytes_per_s) ? (double)INFINITY : config->bus_bytes_per_s,
        .bus_gpus = config->bus_gpus,
        .ttft_slo_s = config->ttft_slo_s,
        .tpot_slo_s = config->tpot_slo_s,
    };
    view->capacity_bytes[OFFLOAD_GPU_MEMORY] = request->gpu_bytes;
    int code = offload_tiers_read(offload, request);
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

/* --- What iterations spent their time on --- */

/* Over n iterations from the first. */
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
