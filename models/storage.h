/* Time to move data between a GPU or its host and memory beyond it: host DRAM, NVMe drives, computational storage, the
 * memory of a remote GPU.
 *
 *     t = latency + bytes/rate,  rate = min(media, link, software)
 *
 * with bytes rounded up to whole granules of the device. Each limit has a nominal value, from the data sheet, and a
 * sustained one, which determines times. A software stack (file system, driver, framework) may set a ceiling far below
 * both. Leaves out caches of a drive, garbage collection, wear, and a shortage of requests in flight: tests compare
 * `queue_depth` and `requests_per_s` with measurements, and no run reads them. */
#ifndef ORRERY_MODELS_STORAGE_H
#define ORRERY_MODELS_STORAGE_H

#include <stdbool.h>

enum storage_op { STORAGE_READ, STORAGE_WRITE };

/* One direction of a device's media or of its link. */
struct storage_flow {
    double nominal_bytes_per_s;   /* as the data sheet states it */
    double sustained_bytes_per_s; /* of large transfers, many in flight */
};

struct storage_device {
    double capacity_bytes;    /* NAN if irrelevant */
    double granularity_bytes; /* least amount read or written */
    double queue_depth;       /* most requests in flight */
    struct storage_flow media[2], link; /* media by storage_op; the link has the same rate either way */
    double latency_s[2];      /* of a request that does not queue, by storage_op */
    double requests_per_s[2]; /* by storage_op; NAN: not limited */
};

/* Software between device and user: ceilings per direction, NAN without one. */
struct storage_software {
    double bytes_per_s[2]; /* by storage_op */
    double latency_s;      /* per request, on top of the device's */
};

/* Sustained rate of large transfers with many requests in flight: min(media, link, software). */
double storage_rate_bytes_per_s(const struct storage_device *device, const struct storage_software *software,
                                enum storage_op op);

/* Attention inside computational storage: a drive that reads keys and values from its own flash and returns only the
 * result (InstInfer, Pan et al. 2024, arXiv 2409.04992; HILOS, Jang et al. 2025, arXiv 2502.09921).
 *
 * One layer of a decode step, for sequences of L tokens and the heads on this device:
 *
 *     t = query in + latency + max(flash, compute) + result out
 *     flash = bytes / (channels channel_rate read_frac),  compute = max(bytes / stream_rate, flop / flop_rate)
 *
 * Dense attention reads all keys and values, in pages of one head's tokens. SparF (InstInfer, algorithm 1) keeps a
 * share f of the channels and of the tokens, in two steps: f of the channels of all keys, from a second copy of the
 * keys that is ordered by channel; then keys and values of f of the tokens. Flash is read by pages, of which only a
 * part is used, so both steps read more than f:
 *
 *     channel pages read: 1 - prod_{i < c} (d - f d - i)/(d - i), for c of d channels in a page
 *     token pages read:   1 - (1 - f)^(tokens in a page / token_run)
 *
 * where chosen tokens come in runs (token_run; 1: independent). Leaves out softmax, filtering and merging, which
 * overlap with reading, and writes that go on in the background. */
struct csd_spec {
    double channels, channel_bytes_per_s; /* flash, each channel */
    double read_frac;         /* share of that rate sustained by reading */
    double page_bytes;
    double stream_bytes_per_s; /* rate of keys and values through the arithmetic units */
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
    bool spread;                /* `context` is a mean of different lengths: last pages are half full on average */
};

enum csd_bound { CSD_BOUND_FLASH, CSD_BOUND_COMPUTE, CSD_BOUND_LINK };

struct csd_time {
    double seconds;
    double flash_s, compute_s, link_s; /* each alone */
    double flash_bytes, link_bytes, flop;
    double result_bytes; /* part of link_bytes that leaves the device */
    enum csd_bound bound; /* the largest; of equals the first */
};

/* A device without a second copy of the keys reads densely, whatever `kept_frac`. */
struct csd_time csd_attention_time(const struct csd_spec *csd, const struct storage_device *device,
                                   const struct csd_attention *attention);

/* Bytes on flash per byte of keys and values: keys are half of these, and stored twice if there is a second copy. */
double csd_copies(const struct csd_spec *csd);

#endif
