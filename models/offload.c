#include "models/offload.h"

#include <math.h>

const char *offload_resource_name(enum offload_resource resource)
{
    static const char *const names[] = {
        [OFFLOAD_GPU_COMPUTE] = "gpu",  [OFFLOAD_HBM] = "hbm",         [OFFLOAD_HOST_COMPUTE] = "host",
        [OFFLOAD_CSD_LINK] = "link",    [OFFLOAD_FLASH] = "flash",     [OFFLOAD_CSD_COMPUTE] = "device",
        [OFFLOAD_TO_GPU] = "link",      [OFFLOAD_FROM_GPU] = "link",   [OFFLOAD_DISK_READ] = "flash",
        [OFFLOAD_DISK_WRITE] = "flash", [OFFLOAD_CSD_WRITE] = "flash", [OFFLOAD_CSD_FILL] = "link"};
    return names[resource];
}

const char *offload_tier_name(enum offload_tier tier)
{
    static const char *const names[] = {
        [OFFLOAD_GPU_MEMORY] = "gpu", [OFFLOAD_HOST] = "host", [OFFLOAD_DISK] = "disk", [OFFLOAD_CSD] = "csd"};
    return names[tier];
}

double offload_host_frac(double gpu_batch, double hidden)
{
    const double x = fmax(0.0, log2(64.0 / gpu_batch)), y = fmax(0.0, log2(4096.0 / hidden));
    return fmax(0.1, 1.0 + 0.0168 * x * y - 0.0328 * x - 0.0621 * y);
}

struct offload_placement offload_placement_none(void)
{
    struct offload_placement none = {.schedule = OFFLOAD_OVERLAPPED, .interval = 1, .kept_frac = 1.0};
    none.shares.weights[OFFLOAD_GPU_MEMORY] = none.shares.cache[OFFLOAD_GPU_MEMORY] = 1.0;
    none.shares.hidden[OFFLOAD_GPU_MEMORY] = 1.0;
    return none;
}

struct offload_layer offload_layer(const struct llm_spec *llm, int64_t tensor_parallel)
{
    const double gpus = (double)tensor_parallel, layers = (double)llm->layers;
    struct llm_spec shorter = *llm;
    shorter.layers--;
    const struct llm_shard shard = llm_shard(llm, tensor_parallel, 1);
    const double weight_bytes = llm->layers > 1
                                    ? shard.weight_bytes - llm_shard(&shorter, tensor_parallel, 1).weight_bytes
                                    : shard.weight_bytes;
    const double number_bytes = number_format_bytes(llm->kv);
    return (struct offload_layer){
        .layers = layers,
        .gpus = gpus,
        .weight_bytes = weight_bytes,
        .other_bytes = shard.weight_bytes - layers * weight_bytes,
        .kv_token_bytes = shard.kv_bytes_per_token / layers,
        .hidden_token_bytes = (double)llm->hidden * number_format_bytes(llm->compute),
        .token_flop = (llm_flop_per_token(llm, 0) - llm_head_flop(llm)) / (layers * gpus),
        .context_flop = 2.0 * shard.q_heads * (double)(llm_key_dim(llm) + llm_value_dim(llm)),
        .heads = shard.q_heads,
        .ffn = llm->experts > 0 ? shard.ffn + (double)llm->experts_per_token * shard.expert_ffn : shard.ffn,
        .hidden = (double)llm->hidden,
        .number_bytes = number_bytes,
        .attention = {.q_heads = (double)llm->q_heads, .kv_heads = (double)llm->kv_heads,
                      .head_dim = (double)llm->head_dim, .number_bytes = number_bytes, .kept_frac = 1.0},
    };
}

/* --- Demand of a layer on each resource --- */

/* Tokens of an iteration. */
struct demand {
    double new_tokens, prompt_tokens, prompt_context, prompt_pairs, decoding;
    struct piece context; /* of the decoding sequences */
};

static struct demand demand_of(const struct iteration_work *work)
{
    const double decoding = (double)work->decode_sequences, prompt = (double)work->prefill_tokens;
    return (struct demand){
        .new_tokens = prompt + decoding,
        .prompt_tokens = prompt,
        .prompt_context = (double)work->prefill_context_tokens,
        .prompt_pairs = work->prefill_pairs,
        .decoding = decoding,
        .context = piece_line((double)work->decode_context_tokens, decoding),
    };
}

/* Share of the KV cache in host memory or on disk, which goes through the host. */
static double cache_beyond(const struct offload_shares *shares)
{
    return shares->cache[OFFLOAD_HOST] + shares->cache[OFFLOAD_DISK];
}

static double hidden_beyond(const struct offload_shares *shares)
{
    return shares->hidden[OFFLOAD_HOST] + shares->hidden[OFFLOAD_DISK];
}

static double weights_beyond(const struct offload_shares *shares)
{
    return shares->weights[OFFLOAD_HOST] + shares->weights[OFFLOAD_DISK];
}

/* Share of the KV cache that the GPU attends to while decoding. */
static double attended_by_gpu(const struct offload_placement *placement)
{
    const double beyond = placement->attention == OFFLOAD_ATTEND_GPU ? cache_beyond(&placement->shares) : 0.0;
    return placement->shares.cache[OFFLOAD_GPU_MEMORY] + beyond;
}

static struct piece measured_gpu(const struct offload *offload, const struct demand *demand)
{
    const struct offload_layer *layer = &offload->layer;
    const struct offload_rates *rates = &offload->rates;
    const double prompt_s = demand->prompt_tokens * layer->token_flop / rates->prompt_product_flop_per_s +
                            demand->prompt_pairs * layer->context_flop / rates->prompt_attention_flop_per_s;
    const double token_s = demand->decoding * layer->token_flop / rates->token_product_flop_per_s;
    const double context_s = attended_by_gpu(&offload->placement) * layer->context_flop /
                             rates->token_attention_flop_per_s;
    const struct piece gpu = piece_add(piece_line(prompt_s + token_s, 0.0), piece_scale(demand->context, context_s));
    return piece_scale(gpu, layer->layers);
}

/* The base model's iteration, of whose attention only a share runs on the GPU. */
static struct piece modelled_gpu(const struct offload *offload, const struct iteration_work *work,
                                 double *extrapolated_frac)
{
    struct iteration_cost full, bare;
    const double share = attended_by_gpu(&offload->placement);
    offload->base->cost(offload->base->model, work, &full);
    *extrapolated_frac = full.extrapolated_frac;
    const struct piece whole = {full.first_s, full.slope_s, full.until};
    if (share >= 1.0 || work->decode_sequences == 0) return whole;
    struct iteration_work alone = *work; /* the shortest possible contexts */
    alone.decode_context_tokens = work->decode_sequences;
    alone.decode_longest_tokens = 0;
    offload->base->cost(offload->base->model, &alone, &bare);
    const struct piece rest = piece_line(bare.first_s, 0.0);
    const struct piece attention = piece_max(piece_add(whole, piece_line(-bare.first_s, 0.0)), piece_line(0.0, 0.0));
    return piece_add(rest, piece_scale(attention, share));
}

/* Whether the GPU would read for longer than it would compute, both at its peaks. */
static bool is_bound_by_memory(const struct offload *offload, const struct demand *demand, double gpu_bytes)
{
    const struct offload_layer *layer = &offload->layer;
    const double attended = attended_by_gpu(&offload->placement) * demand->context.now;
    const double flop = demand->new_tokens * layer->token_flop +
                        (attended + 0.5 * demand->prompt_pairs) * layer->context_flop;
    return gpu_bytes / offload->memory_bytes_per_s > layer->layers * flop / offload->peak_flop_per_s;
}

static void add_gpu(const struct offload *offload, const struct iteration_work *work, const struct demand *demand,
                    struct offload_step *step)
{
    const struct offload_layer *layer = &offload->layer;
    const bool measured = !isnan(offload->rates.token_product_flop_per_s);
    const struct piece gpu = measured ? measured_gpu(offload, demand)
                                      : modelled_gpu(offload, work, &step->extrapolated_frac);
    const double kv = layer->layers * layer->kv_token_bytes;
    step->bytes[OFFLOAD_HBM] = piece_add(
        piece_line(layer->layers * layer->weight_bytes + kv * demand->prompt_context, 0.0),
        piece_scale(demand->context, kv * attended_by_gpu(&offload->placement)));
    const bool reads = is_bound_by_memory(offload, demand, step->bytes[OFFLOAD_HBM].now);
    step->busy_s[reads ? OFFLOAD_HBM : OFFLOAD_GPU_COMPUTE] = gpu;
}

static void put(struct offload_step *step, enum offload_resource resource, struct piece bytes, double bytes_per_s)
{
    step->bytes[resource] = piece_add(step->bytes[resource], bytes);
    step->busy_s[resource] = piece_add(step->busy_s[resource], piece_scale(bytes, 1.0 / bytes_per_s));
}

static void put_fixed(struct offload_step *step, enum offload_resource resource, double bytes, double bytes_per_s)
{
    put(step, resource, piece_line(bytes, 0.0), bytes_per_s);
}

static void lane(struct offload_step *step, enum offload_lane at, struct piece bytes)
{
    step->lanes[at] = piece_add(step->lanes[at], bytes);
}

/* Between a GPU and its host. */
static void add_host(const struct offload *offload, const struct demand *demand, struct offload_step *step)
{
    const struct offload_layer *layer = &offload->layer;
    const struct offload_rates *rates = &offload->rates;
    const struct offload_placement *placement = &offload->placement;
    const double layers = layer->layers, kv = layers * layer->kv_token_bytes * cache_beyond(&placement->shares);
    const double hidden = layers * layer->hidden_token_bytes * hidden_beyond(&placement->shares) * demand->new_tokens;
    const double weights = layers * layer->weight_bytes * weights_beyond(&placement->shares);
    put_fixed(step, OFFLOAD_TO_GPU, weights + hidden + kv * demand->prompt_context, rates->host_read);
    if (placement->attention == OFFLOAD_ATTEND_GPU) {
        put(step, OFFLOAD_TO_GPU, piece_scale(demand->context, kv), rates->host_read);
    } else {
        const double flop = layers * layer->gpus * layer->context_flop * cache_beyond(&placement->shares);
        step->busy_s[OFFLOAD_HOST_COMPUTE] = piece_scale(demand->context, flop / rates->host_flop_per_s);
    }
    put_fixed(step, OFFLOAD_FROM_GPU, kv * demand->new_tokens, rates->host_write_cache);
    put_fixed(step, OFFLOAD_FROM_GPU, hidden, rates->host_write_hidden);
    lane(step, OFFLOAD_HOST_TO_GPU, piece_scale(step->bytes[OFFLOAD_TO_GPU], layer->gpus));
    lane(step, OFFLOAD_GPU_TO_HOST, piece_scale(step->bytes[OFFLOAD_FROM_GPU], layer->gpus));
}

/* Between the host and its disks, which all GPUs share. */
static void add_disk(const struct offload *offload, const struct demand *demand, struct offload_step *step)
{
    const struct offload_layer *layer = &offload->layer;
    const struct offload_rates *rates = &offload->rates;
    const struct offload_shares *shares = &offload->placement.shares;
    const double all = layer->layers * layer->gpus, kv = all * layer->kv_token_bytes * shares->cache[OFFLOAD_DISK];
    const double hidden = all * layer->hidden_token_bytes * shares->hidden[OFFLOAD_DISK] * demand->new_tokens;
    const bool prompts = demand->prompt_tokens > 0.0;
    put_fixed(step, OFFLOAD_DISK_READ, all * layer->weight_bytes * shares->weights[OFFLOAD_DISK],
              prompts ? rates->disk_read : rates->disk_read_weights);
    put_fixed(step, OFFLOAD_DISK_READ, hidden + kv * demand->prompt_context, rates->disk_read);
    put(step, OFFLOAD_DISK_READ, piece_scale(demand->context, kv), rates->disk_read);
    put_fixed(step, OFFLOAD_DISK_WRITE, kv * demand->new_tokens,
              prompts ? rates->disk_write_cache : rates->disk_write_token);
    put_fixed(step, OFFLOAD_DISK_WRITE, hidden, prompts ? rates->disk_write_hidden : rates->disk_write_token);
    lane(step, OFFLOAD_DISK_TO_HOST, step->bytes[OFFLOAD_DISK_READ]);
    lane(step, OFFLOAD_HOST_TO_DISK, step->bytes[OFFLOAD_DISK_WRITE]);
}

/* Time of each device for one layer, for `sequences` sequences of mean context. */
static struct csd_time device_time(const struct offload *offload, double sequences, double context)
{
    struct csd_attention attention = offload->layer.attention;
    attention.sequences = sequences;
    attention.context = context;
    attention.q_heads /= offload->csd.count;
    attention.kv_heads /= offload->csd.count;
    attention.kept_frac = offload->placement.kept_frac;
    attention.spread = true;
    return csd_attention_time(offload->csd.csd, offload->csd.device, &attention);
}

/* Rate between all devices and the GPUs: one link per device, limited by the ports of the GPUs. */
static double csd_link_bytes_per_s(const struct offload *offload)
{
    return fmin(offload->csd.count * offload->csd.device->link.sustained_bytes_per_s, offload->rates.csd_port);
}

/* Computational storage: attention of decoding sequences, prompts' keys and values in the background. */
static void add_csd(const struct offload *offload, const struct demand *demand, struct offload_step *step)
{
    const struct offload_layer *layer = &offload->layer;
    const double share = offload->placement.shares.cache[OFFLOAD_CSD], layers = layer->layers;
    if (share <= 0.0) return;
    const struct csd_spec *csd = offload->csd.csd;
    const double kv = layers * layer->gpus * layer->kv_token_bytes * share, copies = csd_copies(csd);
    const double link_per_s = csd_link_bytes_per_s(offload);
    put_fixed(step, OFFLOAD_CSD_WRITE, copies * kv * demand->new_tokens, offload->rates.csd_write);
    put_fixed(step, OFFLOAD_CSD_FILL, kv * demand->prompt_tokens, link_per_s);
    put_fixed(step, OFFLOAD_CSD_LINK, kv * demand->prompt_context, link_per_s);
    lane(step, OFFLOAD_CSD_TO_GPU, piece_line(kv * demand->prompt_context, 0.0));
    lane(step, OFFLOAD_GPU_TO_CSD, piece_line(kv * demand->prompt_tokens, 0.0));
    if (demand->decoding <= 0.0) return;
    const double sequences = demand->decoding * share, mean = demand->context.now / demand->decoding;
    const struct csd_time now = device_time(offload, sequences, mean),
                          next = device_time(offload, sequences, mean + 1.0);
    const double count = offload->csd.count, flash_per_s = csd->channels * csd->channel_bytes_per_s * csd->read_frac;
    const struct piece bytes = piece_scale(piece_line(now.flash_bytes, next.flash_bytes - now.flash_bytes), layers);
    const struct piece flop = piece_scale(piece_line(now.flop, next.flop - now.flop), layers);
    put(step, OFFLOAD_FLASH, piece_scale(bytes, count), count * flash_per_s);
    step->bytes[OFFLOAD_CSD_COMPUTE] = piece_scale(bytes, count);
    step->busy_s[OFFLOAD_CSD_COMPUTE] = piece_max(piece_scale(bytes, 1.0 / csd->stream_bytes_per_s),
                                                  piece_scale(flop, 1.0 / csd->flop_per_s));
    put_fixed(step, OFFLOAD_CSD_LINK, layers * count * now.link_bytes, link_per_s);
    const struct piece latency_s = piece_line(layers * offload->csd.device->latency_s[STORAGE_READ], 0.0);
    step->busy_s[OFFLOAD_CSD_LINK] = piece_add(step->busy_s[OFFLOAD_CSD_LINK], latency_s);
    lane(step, OFFLOAD_CSD_TO_GPU, piece_line(layers * count * now.result_bytes, 0.0));
    lane(step, OFFLOAD_GPU_TO_CSD, piece_line(layers * count * (now.link_bytes - now.result_bytes), 0.0));
}

/* --- How they overlap --- */

#define BIT(resource) (1u << (resource))

/* Resources that the layers use one after another; of flash and arithmetic units, which overlap, the slower one. */
static unsigned chain_of(const struct offload_step *step, int64_t *until)
{
    const struct piece flash = step->busy_s[OFFLOAD_FLASH], units = step->busy_s[OFFLOAD_CSD_COMPUTE];
    const bool flash_leads = flash.now != units.now ? flash.now > units.now : flash.slope >= units.slope;
    *until = piece_max(flash, units).until;
    return BIT(OFFLOAD_GPU_COMPUTE) | BIT(OFFLOAD_HBM) | BIT(OFFLOAD_HOST_COMPUTE) | BIT(OFFLOAD_CSD_LINK) |
           BIT(flash_leads ? OFFLOAD_FLASH : OFFLOAD_CSD_COMPUTE);
}

struct offload_overlap offload_overlap(enum offload_schedule schedule, bool prompts, unsigned chain)
{
    const unsigned to = BIT(OFFLOAD_TO_GPU), from = BIT(OFFLOAD_FROM_GPU), read = BIT(OFFLOAD_DISK_READ),
                   write = BIT(OFFLOAD_DISK_WRITE), device = BIT(OFFLOAD_CSD_WRITE), fill = BIT(OFFLOAD_CSD_FILL);
    if (schedule == OFFLOAD_SERIAL)
        return (struct offload_overlap){chain | to | from | read | write | device | fill, {0}, 0};
    if (schedule != OFFLOAD_RELEASED) return (struct offload_overlap){0, {chain, to, from, read, write, device, fill}, 7};
    if (prompts) return (struct offload_overlap){0, {to | read, from | write, chain, device, fill}, 5};
    return (struct offload_overlap){to, {chain, from, read, write, device, fill}, 6};
}

static struct piece sum_of(const struct piece *parts, unsigned set)
{
    struct piece sum = piece_line(0.0, 0.0);
    for (int i = 0; i < OFFLOAD_RESOURCES; i++)
        if (set & BIT(i)) sum = piece_add(sum, parts[i]);
    return sum;
}

/* The branch that lasts longest; of equals the one that grows fastest, then the first. Shortens *until to where another
 * one takes over. */
static int longest(const struct piece *sums, int n, int64_t *until)
{
    int lead = 0;
    for (int i = 1; i < n; i++)
        if (sums[i].now != sums[lead].now ? sums[i].now > sums[lead].now : sums[i].slope > sums[lead].slope) lead = i;
    for (int i = 0; i < n; i++) {
        const int64_t lasts = piece_lead(sums[lead].now - sums[i].now, sums[i].slope - sums[lead].slope);
        *until = piece_sooner(*until, piece_sooner(sums[i].until, lasts));
    }
    return lead;
}

static void add_critical(struct offload_step *step, unsigned set, double factor)
{
    for (int i = 0; i < OFFLOAD_RESOURCES; i++)
        if (set & BIT(i)) step->critical_s[i] = piece_add(step->critical_s[i], piece_scale(step->busy_s[i], factor));
}

/* Share of the layers in whole groups. */
static double grouped_frac(const struct offload *offload)
{
    const double layers = offload->layer.layers, interval = (double)offload->placement.interval;
    return offload->placement.schedule == OFFLOAD_GROUPED ? floor(layers / interval) * interval / layers : 1.0;
}

static void overlap_resources(const struct offload *offload, bool prompts, struct offload_step *step)
{
    int64_t until;
    const unsigned chain = chain_of(step, &until);
    const struct offload_overlap overlap = offload_overlap(offload->placement.schedule, prompts, chain);
    const double grouped = grouped_frac(offload);
    struct piece sums[OFFLOAD_BRANCHES];
    for (int i = 0; i < overlap.n; i++) {
        sums[i] = sum_of(step->busy_s, overlap.branches[i]);
        if (overlap.branches[i] == chain) sums[i] = piece_scale(sums[i], grouped);
    }
    add_critical(step, overlap.serial, 1.0);
    if (grouped < 1.0) add_critical(step, chain, 1.0 - grouped);
    if (overlap.n > 0) {
        const int lead = longest(sums, overlap.n, &until);
        add_critical(step, overlap.branches[lead], overlap.branches[lead] == chain ? grouped : 1.0);
    }
    step->seconds = sum_of(step->critical_s, ~0u);
    step->seconds.until = piece_sooner(step->seconds.until, until);
}

void offload_step(const struct offload *offload, const struct iteration_work *work, struct offload_step *step)
{
    const struct demand demand = demand_of(work);
    const struct piece nothing = piece_line(0.0, 0.0);
    step->extrapolated_frac = 0.0;
    step->seconds = nothing;
    for (int i = 0; i < OFFLOAD_RESOURCES; i++) step->critical_s[i] = step->busy_s[i] = step->bytes[i] = nothing;
    for (int i = 0; i < OFFLOAD_LANES; i++) step->lanes[i] = nothing;
    add_gpu(offload, work, &demand, step);
    add_host(offload, &demand, step);
    add_disk(offload, &demand, step);
    add_csd(offload, &demand, step);
    overlap_resources(offload, demand.prompt_tokens > 0.0, step);
}

void offload_limit(const struct offload_limits *limits, struct offload_step *step)
{
    static const enum offload_resource names[OFFLOAD_LANES] = {
        [OFFLOAD_HOST_TO_GPU] = OFFLOAD_TO_GPU,     [OFFLOAD_GPU_TO_HOST] = OFFLOAD_FROM_GPU,
        [OFFLOAD_DISK_TO_HOST] = OFFLOAD_DISK_READ, [OFFLOAD_HOST_TO_DISK] = OFFLOAD_DISK_WRITE,
        [OFFLOAD_CSD_TO_GPU] = OFFLOAD_CSD_LINK,    [OFFLOAD_GPU_TO_CSD] = OFFLOAD_CSD_LINK};
    for (int i = 0; i < OFFLOAD_LANES; i++) {
        const struct piece before = step->seconds, alone = piece_scale(step->lanes[i], 1.0 / limits->bytes_per_s[i]);
        step->seconds = piece_max(before, alone);
        if (step->seconds.now == before.now && step->seconds.slope == before.slope) continue;
        for (int k = 0; k < OFFLOAD_RESOURCES; k++) step->critical_s[k] = piece_line(0.0, 0.0);
        step->critical_s[names[i]] = alone;
    }
}

void offload_cost_of_step(const struct offload_step *step, const struct iteration_work *work,
                          struct iteration_cost *cost)
{
    *cost = (struct iteration_cost){
        .first_s = step->seconds.now,
        .slope_s = work->prefill_sequences > 0 ? 0.0 : step->seconds.slope,
        .until = work->prefill_sequences > 0 ? 1 : step->seconds.until,
        .extrapolated_frac = step->extrapolated_frac,
    };
}

void offload_cost(const void *model, const struct iteration_work *work, struct iteration_cost *cost)
{
    struct offload_step step;
    offload_step(model, work, &step);
    offload_cost_of_step(&step, work, cost);
}

/* --- Memory at the peak, tier by tier --- */

/* Activations of the widest moments of a layer for prompts, all at once (FlexGen, cost_model.py: queries, keys and
 * values, scores, both results of attention, its output, both feed-forward products). */
static double prefill_activations(const struct offload_layer *layer, double sequences, double prompt)
{
    const double row = layer->number_bytes * prompt;
    return sequences * (9.0 * row * layer->hidden + row * layer->heads * prompt + row * layer->ffn);
}

/* The same for one token each; attention only over cache that the GPU attends to. */
static double decode_activations(const struct offload_layer *layer, double sequences, double context, double attended)
{
    const double row = layer->number_bytes;
    const double attention = 2.0 * row * layer->hidden * (context + 1.0) + row * layer->heads * context;
    return sequences * (7.0 * row * layer->hidden + row * layer->ffn + attended * attention);
}

static void add_homes(const struct offload_layer *layer, const struct offload_shares *shares,
                      const struct offload_block *block, double tokens, double hidden_tokens, double *bytes)
{
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : layer->gpus;
        bytes[tier] += gpus * (layer->layers * layer->weight_bytes * shares->weights[tier] +
                               layer->layers * layer->kv_token_bytes * block->sequences * tokens * shares->cache[tier] +
                               layer->hidden_token_bytes * block->sequences * hidden_tokens * shares->hidden[tier]);
    }
    bytes[OFFLOAD_GPU_MEMORY] += layer->other_bytes;
}

struct offload_memory offload_memory(const struct offload_layer *layer, const struct offload_placement *placement,
                                     const struct offload_block *block, double cache_copies)
{
    const struct offload_shares *shares = &placement->shares;
    const double batch = block->gpu_batch, context = block->prompt + block->output;
    const double streamed = 1.0 - shares->weights[OFFLOAD_GPU_MEMORY], moved = 1.0 - shares->hidden[OFFLOAD_GPU_MEMORY];
    const double attended = shares->cache[OFFLOAD_GPU_MEMORY];
    struct offload_memory memory = {{0}, {0}};
    add_homes(layer, shares, block, block->prompt, block->prompt, memory.prefill);
    add_homes(layer, shares, block, context, 1.0, memory.decode);
    memory.prefill[OFFLOAD_GPU_MEMORY] += 2.0 * layer->weight_bytes * streamed +
                                          layer->hidden_token_bytes * block->prompt * batch * moved +
                                          prefill_activations(layer, batch, block->prompt);
    memory.decode[OFFLOAD_GPU_MEMORY] += 2.0 * layer->weight_bytes * streamed +
                                         layer->hidden_token_bytes * batch * moved +
                                         layer->kv_token_bytes * batch * context * attended +
                                         decode_activations(layer, batch, context, attended);
    const double through_host = 1.0 - shares->weights[OFFLOAD_GPU_MEMORY];
    memory.prefill[OFFLOAD_HOST] += layer->gpus * (layer->weight_bytes * through_host +
                                                   layer->hidden_token_bytes * block->prompt * batch * moved);
    memory.decode[OFFLOAD_HOST] += layer->gpus *
                                   (layer->weight_bytes * shares->weights[OFFLOAD_DISK] +
                                    2.0 * layer->hidden_token_bytes * batch * shares->hidden[OFFLOAD_DISK] +
                                    2.0 * layer->kv_token_bytes * batch * context * shares->cache[OFFLOAD_DISK]);
    memory.prefill[OFFLOAD_CSD] *= cache_copies;
    memory.decode[OFFLOAD_CSD] *= cache_copies;
    return memory;
}

static double cache_bytes(const struct offload_layer *layer, const struct offload_placement *placement,
                          const struct offload_block *block, int tier, double tokens)
{
    const double gpus = tier == OFFLOAD_GPU_MEMORY ? 1.0 : layer->gpus;
    return gpus * layer->layers * layer->kv_token_bytes * block->sequences * tokens * placement->shares.cache[tier];
}

void offload_fixed_bytes(const struct offload_layer *layer, const struct offload_placement *placement,
                         const struct offload_block *block, double *bytes)
{
    const struct offload_memory memory = offload_memory(layer, placement, block, 1.0);
    for (int tier = 0; tier < OFFLOAD_TIERS; tier++) {
        const double prefill = memory.prefill[tier] - cache_bytes(layer, placement, block, tier, block->prompt);
        const double decode = memory.decode[tier] -
                              cache_bytes(layer, placement, block, tier, block->prompt + block->output);
        bytes[tier] = prefill > decode ? prefill : decode;
    }
}
