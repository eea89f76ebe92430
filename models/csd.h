/* Attention inside computational storage: a drive that reads keys and values from its own flash and returns only the
 * result (InstInfer, Pan et al. 2024, arXiv 2409.04992; HILOS, Jang et al. 2025, arXiv 2502.09921).
 *
 * One layer of a decode step, for sequences of L tokens and the heads that lie on this device:
 *
 *     t = query in + latency + max(flash, compute) + result out
 *     flash = bytes / (channels channel_rate read_frac),  compute = max(bytes / stream_rate, flop / flop_rate)
 *
 * Dense attention reads all keys and values, in pages of one head's tokens. SparF (InstInfer, algorithm 1) keeps a
 * share f of the channels and of the tokens, in two steps: f of the channels of all keys, from a second copy of the
 * keys that is ordered by channel; then keys and values of f of the tokens. Flash gives pages, of which a part is kept,
 * so that both steps read more than f:
 *
 *     channel pages read: 1 - prod_{i < c} (d - f d - i)/(d - i), for c of d channels in a page
 *     token pages read:   1 - (1 - f)^(tokens in a page / token_run)
 *
 * where chosen tokens come in runs (token_run; 1: independent). Leaves out softmax, filtering and merging, which
 * overlap with reading, and writes that go on in the background. */
#ifndef ORRERY_MODELS_CSD_H
#define ORRERY_MODELS_CSD_H

#include "models/storage.h"

struct csd_spec {
    double channels, channel_bytes_per_s; /* flash, each channel */
    double read_frac;         /* share of them that reading sustains */
    double page_bytes;
    double stream_bytes_per_s; /* keys and values through the arithmetic units, whatever is computed on them */
    double flop_per_s;        /* all units together */
    double dram_bytes;        /* on the device */
    bool dual_key;            /* keys are stored twice, the second time ordered by channel: SparF is possible */
    double page_channels;     /* channels that share a page of the second copy */
    double token_run;         /* chosen tokens that lie side by side, on average */
};

/* One decode step of one layer on one device. */
struct csd_attention {
    double sequences, context;  /* tokens per sequence */
    double q_heads, kv_heads;   /* on this device */
    double head_dim, number_bytes;
    double kept_frac;           /* SparF: channels and tokens kept; 1: dense */
    bool spread;                /* `context` is a mean of different lengths: last pages are half full, on average */
};

enum csd_bound { CSD_BOUND_FLASH, CSD_BOUND_COMPUTE, CSD_BOUND_LINK };

struct csd_time {
    double seconds;
    double flash_s, compute_s, link_s; /* each alone */
    double flash_bytes, link_bytes, flop;
    double result_bytes; /* of link_bytes, what leaves the device */
    enum csd_bound bound; /* the largest; of equals the first */
};

/* A device without a second copy of the keys reads densely, whatever `kept_frac`. */
struct csd_time csd_attention_time(const struct csd_spec *csd, const struct storage_device *device,
                                   const struct csd_attention *attention);

/* Bytes on flash per byte of keys and values: keys are half of these, and stored twice where there is a second copy. */
double csd_copies(const struct csd_spec *csd);

/* Bytes that new tokens of one layer make on flash: keys, values and, if there is one, the second copy of the keys. */
double csd_append_bytes(const struct csd_spec *csd, const struct csd_attention *attention, double tokens);

#endif
