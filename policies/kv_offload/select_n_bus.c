#include "policies/kv_offload/select_n_bus.h"

#include <string.h>

/* Sets the next combination. Returns false past the last one. */
static bool next(const struct select_n_member *members, int n, int64_t *intervals)
{
    for (int i = n - 1; i >= 0; i--) {
        if (intervals[i] < members[i].interval_max) {
            intervals[i]++;
            return true;
        }
        intervals[i] = members[i].interval_min;
    }
    return false;
}

static double host_bytes(const struct select_n_member *members, int n, const int64_t *intervals)
{
    double bytes = 0.0;
    for (int i = 0; i < n; i++)
        bytes += (double)members[i].gpus * (double)(members[i].layers / intervals[i]) * members[i].weight_bytes;
    return bytes;
}

static double load_bytes_per_s(const struct select_n_member *members, int n, const int64_t *intervals)
{
    double load = 0.0;
    for (int i = 0; i < n; i++)
        load += (double)members[i].gpus * (double)(members[i].layers / intervals[i]) * members[i].weight_bytes /
                members[i].goal_s;
    return load;
}

bool select_n_coordinate(const struct select_n_member *members, int n, double bus_bytes_per_s, int64_t *intervals)
{
    int64_t tried[SELECT_N_MEMBERS];
    double most = -1.0;
    for (int i = 0; i < n; i++) {
        if (members[i].interval_min > members[i].interval_max) return false;
        tried[i] = members[i].interval_min;
    }
    do {
        const double bytes = host_bytes(members, n, tried);
        if (bytes <= most || load_bytes_per_s(members, n, tried) > bus_bytes_per_s) continue;
        most = bytes;
        memcpy(intervals, tried, (size_t)n * sizeof *tried);
    } while (next(members, n, tried));
    return most >= 0.0;
}
