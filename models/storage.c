#include "models/storage.h"

#include <math.h>

/* Absent limits are NAN, which fmin ignores. */
static double software_bytes_per_s(const struct storage_software *software, enum storage_op op)
{
    return software ? software->bytes_per_s[op] : (double)NAN;
}

double storage_rate_bytes_per_s(const struct storage_device *device, const struct storage_software *software,
                                enum storage_op op)
{
    const double hardware = fmin(device->media[op].sustained_bytes_per_s, device->link.sustained_bytes_per_s);
    return fmin(hardware, software_bytes_per_s(software, op));
}

/* --- Computational storage --- */

/* Whether attention on the device is sparse. */
static bool is_sparse(const struct csd_spec *csd, const struct csd_attention *attention)
{
    return csd->dual_key && attention->kept_frac < 1.0;
}

/* Pages that hold the rows of a context. */
static double context_pages(const struct csd_attention *attention, double page_tokens)
{
    if (!attention->spread) return ceil(attention->context / page_tokens);
    return (attention->context + 0.5 * (page_tokens - 1.0)) / page_tokens;
}

/* Pages of tokens' rows, of keys or of values, over all sequences and heads. */
static double token_pages(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double page_tokens = csd->page_bytes / (attention->head_dim * attention->number_bytes);
    return attention->sequences * attention->kv_heads * context_pages(attention, page_tokens);
}

/* Pages of the keys' second copy, over all sequences and heads. */
static double channel_pages(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double page_tokens = csd->page_bytes / (csd->page_channels * attention->number_bytes);
    return attention->sequences * attention->kv_heads * ceil(attention->head_dim / csd->page_channels) *
           context_pages(attention, page_tokens);
}

/* The share of pages that no query of a group needs, from the share that one query does not need. */
static double untouched_by_group(const struct csd_attention *attention, double untouched)
{
    return pow(untouched, attention->q_heads / attention->kv_heads);
}

static double channel_pages_read_frac(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double all = attention->head_dim, left_out = all * (1.0 - attention->kept_frac);
    double untouched = 1.0;
    for (double i = 0.0; i < csd->page_channels; i += 1.0) untouched *= fmax(left_out - i, 0.0) / (all - i);
    return 1.0 - untouched_by_group(attention, untouched);
}

static double token_pages_read_frac(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double page_tokens = csd->page_bytes / (attention->head_dim * attention->number_bytes);
    const double runs = fmax(page_tokens / csd->token_run, 1.0);
    return 1.0 - untouched_by_group(attention, pow(1.0 - attention->kept_frac, runs));
}

static double flash_bytes(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double rows = 2.0 * token_pages(csd, attention) * csd->page_bytes;
    if (!is_sparse(csd, attention)) return rows;
    return channel_pages(csd, attention) * csd->page_bytes * channel_pages_read_frac(csd, attention) +
           rows * token_pages_read_frac(csd, attention);
}

/* Scores and weighted sum, two operations per number of keys and values; SparF scores all tokens over the kept channels
 * first. */
static double attention_flop(const struct csd_spec *csd, const struct csd_attention *attention)
{
    const double per_token = attention->sequences * attention->q_heads * attention->head_dim;
    const double dense = 4.0 * per_token * attention->context;
    return is_sparse(csd, attention) ? (0.5 + 1.0) * attention->kept_frac * dense : dense;
}

static double result_bytes(const struct csd_attention *attention)
{
    return attention->sequences * attention->q_heads * attention->head_dim * attention->number_bytes;
}

/* Queries and the new keys and values in, results out. */
static double link_bytes(const struct csd_attention *attention)
{
    const double heads = 2.0 * attention->q_heads + 2.0 * attention->kv_heads;
    return attention->sequences * heads * attention->head_dim * attention->number_bytes;
}

static enum csd_bound largest_csd_part(const struct csd_time *time)
{
    if (time->flash_s >= time->compute_s && time->flash_s >= time->link_s) return CSD_BOUND_FLASH;
    return time->compute_s >= time->link_s ? CSD_BOUND_COMPUTE : CSD_BOUND_LINK;
}

struct csd_time csd_attention_time(const struct csd_spec *csd, const struct storage_device *device,
                                   const struct csd_attention *attention)
{
    struct csd_time time = {
        .flash_bytes = flash_bytes(csd, attention),
        .link_bytes = link_bytes(attention),
        .result_bytes = result_bytes(attention),
        .flop = attention_flop(csd, attention),
    };
    time.flash_s = time.flash_bytes / (csd->channels * csd->channel_bytes_per_s * csd->read_frac);
    time.compute_s = fmax(time.flash_bytes / csd->stream_bytes_per_s, time.flop / csd->flop_per_s);
    time.link_s = time.link_bytes / device->link.sustained_bytes_per_s;
    time.seconds = time.link_s + device->latency_s[STORAGE_READ] + fmax(time.flash_s, time.compute_s);
    time.bound = largest_csd_part(&time);
    return time;
}

double csd_copies(const struct csd_spec *csd)
{
    return csd->dual_key ? (2.0 + 1.0) / 2.0 : 1.0;
}
