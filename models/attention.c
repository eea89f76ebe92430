#include "models/attention.h"

#include "models/smooth.h"

#include <math.h>

enum { QUERY_BLOCK = 128, KEY_BLOCK = 64, DECODE_BLOCK = 128, MAX_SPLITS = 128 };

static double at_most(double value, double limit)
{
    return limit > 0.0 && value > limit ? limit : value;
}

struct kernel_time decode_attention_time(const struct decode_params *params, const struct gpu_spec *gpu,
                                         const struct decode_shape *shape)
{
    const double sms = (double)gpu->sm_count, b = shape->sequences;
    const double context = at_most(shape->context, shape->window);
    const double kv_width = shape->kv_heads * (shape->key_dim + (shape->shared_kv ? 0.0 : shape->value_dim));
    const double query_width = shape->q_heads * (shape->key_dim + shape->value_dim);
    struct kernel_time time = {
        .overhead_s = params->start_s,
        .flop = 2.0 * b * query_width * context,
        .bytes = b * (context * kv_width * number_format_bytes(shape->kv) +
                      query_width * number_format_bytes(shape->compute)),
    };
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    const bool grouped = shape->q_heads > shape->kv_heads;
    if (grouped && shape->kv_heads > 1.0 && b > 1.0) time.overhead_s += params->group_s;
    const double blocks = ceil(context / DECODE_BLOCK);
    const double most = grouped || params->split_frac > 0.5 ? MAX_SPLITS : 1.0;
    double best = INFINITY;
    for (double split = 1.0; split <= most; split *= 2.0) {
        const double parts = split < blocks ? split : blocks;
        const double passes = ceil(b * shape->kv_heads * parts / sms);
        const double compute_s = passes * (params->unit_s + params->block_s * ceil(blocks / parts));
        const double seconds = soft_max(compute_s, time.memory_s, params->softness) +
                               (parts > 1.0 ? params->combine_s : 0.0);
        if (seconds < best) {
            best = seconds;
            time.compute_s = compute_s;
        }
        if (parts < split) break;
    }
    time.seconds = time.overhead_s + best;
    return time;
}

/* Key blocks that a chunk of n queries on top of p tokens meets, summed over its rows of query blocks. */
static double causal_blocks(double n, double p)
{
    const double rows = ceil(n / QUERY_BLOCK), per_row = (double)QUERY_BLOCK / KEY_BLOCK;
    const double cut = per_row * rows - ceil(n / KEY_BLOCK); /* of the last row, which n does not fill */
    return per_row * rows * (rows + 1.0) / 2.0 - cut + rows * ceil(p / KEY_BLOCK);
}

struct kernel_time prefill_attention_time(const struct prefill_params *params, const struct gpu_spec *gpu,
                                          const struct prefill_shape *shape)
{
    const double sms = (double)gpu->sm_count, chunks = shape->sequences;
    const double n = shape->tokens / chunks, p = shape->past / chunks, width = shape->key_dim + shape->value_dim;
    const double rows = ceil(n / QUERY_BLOCK), columns = ceil((n + p) / KEY_BLOCK);
    const double pairs = shape->full ? 2.0 * shape->tokens * (n + p) : shape->pairs;
    /* Chunks of unequal length have more pairs than as many equal ones. */
    const double equal = chunks * (n * n + 2.0 * n * p), uneven = equal > 0.0 && !shape->full ? pairs / equal : 1.0;
    const double blocks = (shape->full ? rows * columns : causal_blocks(n, p)) * uneven;
    struct kernel_time time = {
        .overhead_s = params->start_s,
        .flop = pairs * shape->q_heads * width,
        .bytes = (shape->tokens + shape->past) * shape->kv_heads *
                     (shape->key_dim + (shape->shared_kv ? 0.0 : shape->value_dim)) * number_format_bytes(shape->kv) +
                 shape->tokens * shape->q_heads * width * number_format_bytes(shape->compute),
    };
    const double block_s = 2.0 * QUERY_BLOCK * KEY_BLOCK * width /
                           (params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute) / sms);
    const double average = chunks * shape->q_heads * (blocks + params->edge_blocks * rows) / sms;
    const double longest = columns + params->edge_blocks;
    time.compute_s = block_s * soft_max(average, longest, params->path_softness);
    time.memory_s = time.bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    time.seconds = params->start_s + soft_max(time.compute_s, time.memory_s, params->softness);
    return time;
}
