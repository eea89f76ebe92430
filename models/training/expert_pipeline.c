#include "models/training/expert_pipeline.h"

#include <math.h>
#include <stdbool.h>

/* Whether task (kind, part) comes before (other, its part) on a lane. */
static bool precedes(const int lags[EXPERT_TASKS], int kind, int part, int other, int other_part)
{
    const int key = part + lags[kind], other_key = other_part + lags[other];
    return key != other_key ? key < other_key : kind < other;
}

/* The kind whose next part is first on the lane; -1: all is done. */
static int first_on_lane(const struct expert_pipeline *pipeline, const int lags[EXPERT_TASKS],
                         const int done[EXPERT_TASKS], int lane)
{
    int first = -1;
    for (int kind = 0; kind < EXPERT_TASKS; kind++) {
        if ((int)pipeline->lane[kind] != lane || done[kind] == pipeline->parts) continue;
        if (first < 0 || precedes(lags, kind, done[kind], first, done[first])) first = kind;
    }
    return first;
}

double expert_pipeline_lagged_s(const struct expert_pipeline *pipeline, int scatter, int combine)
{
    const int lags[EXPERT_TASKS] = {0, 0, 0, scatter, combine};
    double end_s[EXPERT_TASKS][EXPERT_PARTS], free_s[EXPERT_LANES] = {0.0}, last_s = 0.0;
    int done[EXPERT_TASKS] = {0};
    for (bool moves = true; moves;) {
        moves = false;
        for (int lane = 0; lane < EXPERT_LANES; lane++) {
            const int kind = first_on_lane(pipeline, lags, done, lane);
            if (kind < 0 || (kind > 0 && done[kind - 1] <= done[kind])) continue;
            const int part = done[kind]++;
            const double ready_s = kind > 0 ? end_s[kind - 1][part] : 0.0;
            free_s[lane] = fmax(free_s[lane], ready_s) + pipeline->seconds[kind];
            end_s[kind][part] = free_s[lane];
            last_s = fmax(last_s, free_s[lane]);
            moves = true;
        }
    }
    return last_s;
}

double expert_pipeline_s(const struct expert_pipeline *pipeline)
{
    double least_s = (double)INFINITY;
    for (int combine = 0; combine < pipeline->parts; combine++)
        for (int scatter = 0; scatter <= combine; scatter++)
            least_s = fmin(least_s, expert_pipeline_lagged_s(pipeline, scatter, combine));
    return least_s;
}

double expert_gradients_s(int64_t layers, int64_t parts, double part_s, double gap_s)
{
    const double most = part_s > 0.0 ? floor(gap_s / part_s) : 0.0; /* messages that a gap holds */
    double waiting = 0.0;
    for (int64_t i = 0; i < layers; i++) waiting = fmax(waiting - most, 0.0) + (double)parts;
    return waiting * part_s;
}
