/* Select-N (arXiv 2502.08182, ICS 2026): of every `interval` layers the last one lies in host memory and streams in
 * while its group computes. The interval is the smallest that meets the latency goal, by times recorded beforehand. A
 * coordinator shares the bandwidth of a bus among its GPUs. If no interval meets the goal and fits the memory, requests
 * are returned. An interval above the number of layers has no whole group: everything is on the GPU.
 *
 * Prompts and tokens are served by separate instances, so a replica has the goal of its phase. */
#include "policies/declared.h"
#include "policies/kv_offload/select_n_bus.h"
#include "sim/world/policy/kv_offload.h"

#include <math.h>

struct select_n {
    int64_t interval;
    int phase;
    double slowdown;
};

enum { PHASE_PREFILL, PHASE_DECODE };
static const char *const phases[] = {[PHASE_PREFILL] = "prefill", [PHASE_DECODE] = "decode", NULL};

#define ROW_OF struct select_n
static const struct config_field select_n_fields[] = {
    ROW_INT("interval", interval, DEFAULT("0"), WITHIN(0, 1024),
            "layers of a group, of which one is in host memory; 0: the smallest that meets the goal"),
    ROW_CHOICE("phase", phase, DEFAULT("decode"), phases,
               "phase whose goal counts: time to first token, or time per output token"),
    ROW_REAL("slowdown", slowdown, OPTIONAL, WITHIN(1, 100),
             "goal as a multiple of the latency with everything on the GPU; default: kv.slo_ttft or kv.slo_tpot"),
    {0}};
#undef ROW_OF

/* The batch whose times are recorded. */
static struct iteration_work work_of(const struct select_n *params, const struct offload_block *block)
{
    const int64_t n = (int64_t)block->sequences, prompt = (int64_t)block->prompt;
    if (params->phase == PHASE_DECODE)
        return (struct iteration_work){.decode_sequences = n, .decode_context_tokens = n * (prompt + 1)};
    return (struct iteration_work){.prefill_sequences = n, .prefill_tokens = n * prompt,
                                   .prefill_pairs = block->sequences * block->prompt * block->prompt};
}

static void set_interval(const struct offload_layer *layer, int64_t interval, struct offload_placement *placement)
{
    const double on_host = floor(layer->layers / (double)interval) / layer->layers;
    placement->schedule = OFFLOAD_GROUPED;
    placement->interval = interval;
    placement->shares.weights[OFFLOAD_HOST] = on_host;
    placement->shares.weights[OFFLOAD_GPU_MEMORY] = 1.0 - on_host;
}

/* Recorded seconds of an iteration at an interval; 0: everything on the GPU. */
static double recorded_s(const struct offload_view *view, const struct offload_plan *plan,
                         const struct iteration_work *work, int64_t interval)
{
    struct offload offload = offload_of_plan(view, plan);
    struct offload_step step;
    if (interval > 0) set_interval(&view->layer, interval, &offload.placement);
    offload_step(&offload, work, &step);
    return step.seconds.now;
}

/* GPU bytes of weights at an interval: resident layers, and one layer to stream into. */
static double weights_on_gpu(const struct offload_layer *layer, int64_t interval)
{
    return (layer->layers - floor(layer->layers / (double)interval) + 1.0) * layer->weight_bytes;
}

/* The largest interval whose weights leave room for the cache of the workload; 0: none. */
static int64_t largest_that_fits(const struct offload_view *view, const struct offload_plan *plan)
{
    const struct offload_layer *layer = &view->layer;
    const double cache = layer->layers * layer->kv_token_bytes * view->workload.sequences *
                         (view->workload.prompt + view->workload.output);
    const double others = plan->fixed_bytes[OFFLOAD_GPU_MEMORY] - layer->layers * layer->weight_bytes;
    int64_t interval = (int64_t)layer->layers;
    while (interval > 0 && weights_on_gpu(layer, interval) + cache + others > plan->capacity_bytes[OFFLOAD_GPU_MEMORY])
        interval--;
    return interval;
}

static double goal_of(const struct select_n *params, const struct offload_view *view, const struct offload_plan *plan,
                      const struct iteration_work *work)
{
    if (!isnan(params->slowdown)) return params->slowdown * recorded_s(view, plan, work, 0);
    const double goal_s = params->phase == PHASE_DECODE ? view->tpot_slo_s : view->ttft_slo_s;
    return isnan(goal_s) ? (double)INFINITY : goal_s;
}

/* The smallest interval that meets the goal; more than the layers: none. */
static int64_t least_in_time(const struct offload_view *view, const struct offload_plan *plan,
                             const struct iteration_work *work, double goal_s)
{
    int64_t interval = 1;
    while ((double)interval <= view->layer.layers && recorded_s(view, plan, work, interval) > goal_s) interval++;
    return interval;
}

static int select_n_place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    const struct select_n *params = state;
    const struct iteration_work work = work_of(params, &view->workload);
    const struct offload_layer *layer = &view->layer;
    plan->in_use = true;
    if (!(view->capacity_bytes[OFFLOAD_HOST] > 0.0)) {
        plan->missing = OFFLOAD_HOST;
        return 0;
    }
    int64_t interval = params->interval;
    if (interval == 0) {
        const double goal_s = goal_of(params, view, plan, &work);
        const struct select_n_member alike = {view->bus_gpus,
                                              (int64_t)layer->layers,
                                              least_in_time(view, plan, &work, goal_s),
                                              largest_that_fits(view, plan),
                                              layer->weight_bytes,
                                              goal_s};
        if (!select_n_coordinate(&alike, 1, view->bus_bytes_per_s, &interval)) {
            plan->problem = "requests go back: no interval keeps the goal within the GPU's memory and the bus";
            return 0;
        }
    }
    if ((double)interval > layer->layers) {
        plan->in_use = false;
        return 0;
    }
    set_interval(layer, interval, &plan->placement);
    const double on_host = layer->layers * layer->weight_bytes * plan->placement.shares.weights[OFFLOAD_HOST];
    plan->fixed_bytes[OFFLOAD_HOST] = layer->gpus * on_host;
    plan->fixed_bytes[OFFLOAD_GPU_MEMORY] += layer->weight_bytes - on_host;
    return 0;
}

static uint32_t select_n_reads(const void *state)
{
    const struct select_n *params = state;
    if (params->interval > 0) return 0;
    if (!isnan(params->slowdown)) return OFFLOAD_READS_WORKLOAD;
    return OFFLOAD_READS_WORKLOAD | (params->phase == PHASE_DECODE ? OFFLOAD_READS_TPOT : OFFLOAD_READS_TTFT);
}

const struct kv_offloader kv_offload_select_n = {
    .policy = {POLICY_HEAD(kv_offloader, POLICY_KV_OFFLOAD),
               .name = "select-n",
               .summary = "the last of every N layers in host memory, N as small as the latency goal allows",
               .source = "Select-N, arXiv 2502.08182",
               .params = select_n_fields,
               .params_bytes = sizeof(struct select_n),
               .state_bytes = sizeof(struct select_n)},
    .place = select_n_place,
    .reads = select_n_reads,
};
