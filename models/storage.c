#include "models/storage.h"

#include <math.h>

/* Limits that do not exist are NAN, which fmin passes over. */
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

static double whole_granules(const struct storage_device *device, double bytes)
{
    return ceil(bytes / device->granularity_bytes) * device->granularity_bytes;
}

/* Requests under way at a time. */
static double depth_of(const struct storage_device *device, const struct storage_transfer *transfer, double pieces)
{
    const double wanted = transfer->in_flight > 0.0 ? transfer->in_flight : device->queue_depth;
    return fmin(fmin(wanted, device->queue_depth), pieces);
}

/* The largest part; of equals the first. */
static enum storage_bound largest_part(const struct storage_time *time)
{
    const double parts[] = {[STORAGE_BOUND_MEDIA] = time->media_s,
                            [STORAGE_BOUND_LINK] = time->link_s,
                            [STORAGE_BOUND_SOFTWARE] = time->software_s,
                            [STORAGE_BOUND_LATENCY] = time->latency_s};
    int largest = STORAGE_BOUND_MEDIA;
    for (int i = STORAGE_BOUND_LINK; i <= STORAGE_BOUND_LATENCY; i++)
        if (parts[i] > parts[largest]) largest = i;
    return (enum storage_bound)largest;
}

struct storage_time storage_transfer_time(const struct storage_device *device, const struct storage_software *software,
                                          const struct storage_transfer *transfer)
{
    const enum storage_op op = transfer->op;
    const double piece = transfer->piece_bytes > 0.0 ? transfer->piece_bytes : transfer->bytes;
    if (!(transfer->bytes > 0.0)) return (struct storage_time){0};
    const double full = floor(transfer->bytes / piece), rest = transfer->bytes - full * piece;
    const double pieces = rest > 0.0 ? full + 1.0 : full, depth = depth_of(device, transfer, pieces);
    const double bytes = full * whole_granules(device, piece) + whole_granules(device, rest);
    const double latency_s = device->latency_s[op] + (software ? software->latency_s : 0.0);
    const double moving_s = bytes / storage_rate_bytes_per_s(device, software, op);
    const double issuing_s = fmax(pieces / device->requests_per_s[op], 0.0);
    struct storage_time time = {
        .bytes = bytes,
        .media_s = bytes / device->media[op].sustained_bytes_per_s,
        .link_s = bytes / device->link.sustained_bytes_per_s,
        .software_s = fmax(bytes / software_bytes_per_s(software, op), 0.0),
        .latency_s = fmax(pieces * latency_s / depth, issuing_s),
    };
    const double waiting_s = (pieces * latency_s + moving_s) / depth;
    time.seconds = fmax(latency_s + fmax(moving_s, issuing_s), waiting_s);
    time.bound = largest_part(&time);
    return time;
}
