/* Time to move data between a GPU or its host and what lies beyond its memory: host DRAM, NVMe drives, computational
 * storage, the memory of a remote GPU.
 *
 * n pieces, each rounded up to whole granules of the device, with at most `depth` requests under way:
 *
 *     t = max(latency + bytes/rate, pieces (latency + piece/rate)/depth, latency + pieces/requests_per_s)
 *     rate = min(media, link, software)
 *
 * the asymptotic bounds of a closed queueing system (Little's law; Denning and Buzen 1978). Each limit has a nominal
 * value, of the data sheet, and a sustained one, which times are made of; a stack of software on the way (file system,
 * driver, framework) may set a ceiling far below both. Leaves out caches of a drive, garbage collection, wear, and
 * other traffic on the same link. */
#ifndef ORRERY_MODELS_STORAGE_H
#define ORRERY_MODELS_STORAGE_H

#include <stdbool.h>

enum storage_op { STORAGE_READ, STORAGE_WRITE };

/* One direction of a device's media or of its link. */
struct storage_flow {
    double nominal_bytes_per_s;   /* as the data sheet states it */
    double sustained_bytes_per_s; /* by large transfers, many under way */
};

struct storage_device {
    double capacity_bytes;    /* NAN where it does not matter */
    double granularity_bytes; /* what is read or written at least */
    double queue_depth;       /* requests under way at most */
    struct storage_flow media[2], link; /* media by storage_op; the link has the same rate either way */
    double latency_s[2];      /* of a request that waits for no other, by storage_op */
    double requests_per_s[2]; /* by storage_op; NAN: not limited */
};

/* What stands between device and user, and slows both: ceilings per direction, NAN without one. */
struct storage_software {
    double bytes_per_s[2]; /* by storage_op */
    double latency_s;      /* per request, on top of the device's */
};

struct storage_transfer {
    enum storage_op op;
    double bytes;
    double piece_bytes; /* of one request; 0: all in one */
    double in_flight;   /* requests that the user keeps under way; 0: as many as the device takes */
};

/* LATENCY: too few requests under way for their size, or too many per second. */
enum storage_bound { STORAGE_BOUND_MEDIA, STORAGE_BOUND_LINK, STORAGE_BOUND_SOFTWARE, STORAGE_BOUND_LATENCY };

struct storage_time {
    double seconds;
    double bytes; /* moved, whole granules */
    double media_s, link_s, software_s, latency_s; /* what each limit alone would take; 0 without one */
    enum storage_bound bound;
};

/* Over the bare device when software is NULL. No bytes take no time. */
struct storage_time storage_transfer_time(const struct storage_device *device, const struct storage_software *software,
                                          const struct storage_transfer *transfer);

/* What large transfers with many requests under way reach: min(media, link, software), sustained. */
double storage_rate_bytes_per_s(const struct storage_device *device, const struct storage_software *software,
                                enum storage_op op);

#endif
