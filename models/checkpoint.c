#include "models/checkpoint.h"

#include <math.h>

double checkpoint_young_s(const struct checkpoint_cost *cost)
{
    if (isinf(cost->mtbf_s)) return cost->mtbf_s;
    return sqrt(2.0 * cost->stall_s * cost->mtbf_s);
}

double checkpoint_daly_s(const struct checkpoint_cost *cost)
{
    const double ratio = cost->stall_s / (2.0 * cost->mtbf_s);
    if (isinf(cost->mtbf_s) || ratio >= 1.0) return cost->mtbf_s;
    return checkpoint_young_s(cost) * (1.0 + sqrt(ratio) / 3.0 + ratio / 9.0) - cost->stall_s;
}

static struct checkpoint_time overlapped(double held_s, double saved_s, double overlap_s)
{
    const double stall_s = fmax(held_s - overlap_s, 0.0);
    return (struct checkpoint_time){.stall_s = stall_s, .flush_s = saved_s - stall_s};
}

/* The buffer is filled at one rate and drained at another: the last byte is copied once there is room for it. A save
 * begins after the previous one has left the buffer. */
static struct checkpoint_time datastates(const struct checkpoint_save *save, double interval_s)
{
    const double written_s = save->bytes / save->write_bytes_per_s;
    const double room_s = (save->bytes - save->buffer_bytes) / save->write_bytes_per_s;
    const double copied_s = fmax(save->bytes / save->copy_bytes_per_s, room_s);
    struct checkpoint_time time = overlapped(copied_s, fmax(written_s, copied_s), save->overlap_s);
    const double behind_s = written_s - interval_s - time.stall_s;
    if (behind_s > 0.0) time = (struct checkpoint_time){time.stall_s + behind_s, time.flush_s - behind_s};
    return time;
}

struct checkpoint_time checkpoint_save_time(const struct checkpoint_save *save, double interval_s)
{
    const double written_s = save->bytes / save->write_bytes_per_s;
    switch (save->design) {
    case CHECKPOINT_SYNCHRONOUS: break;
    case CHECKPOINT_FASTPERSIST: return overlapped(written_s, written_s, save->overlap_s);
    case CHECKPOINT_DATASTATES: return datastates(save, interval_s);
    }
    return (struct checkpoint_time){.stall_s = written_s};
}
