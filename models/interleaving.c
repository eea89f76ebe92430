#include "models/interleaving.h"

#include <math.h>
#include <stdbool.h>

double interleaving_alone_s(const struct interleaving_job *job, int32_t resources)
{
    double sum = 0;
    for (int32_t r = 0; r < resources; r++) sum += job->phase_s[r];
    return sum;
}

static double period_s(const struct interleaving_job *jobs, int32_t n, int32_t resources, const int32_t *shifts)
{
    double sum = 0;
    for (int32_t j = 0; j < resources; j++) {
        double slot = 0;
        for (int32_t i = 0; i < n; i++) slot = fmax(slot, jobs[i].phase_s[(j + shifts[i]) % resources]);
        sum += slot;
    }
    return sum;
}

/* Tries all shifts of the jobs from `at` on that none before them has. */
static double least_s(const struct interleaving_job *jobs, int32_t n, int32_t resources, int32_t at, int32_t *shifts,
                      uint32_t used)
{
    double least = (double)INFINITY;
    if (at == n || at == INTERLEAVING_MOST) return period_s(jobs, n, resources, shifts);
    for (int32_t shift = 0; shift < resources; shift++) {
        if ((used >> shift & 1) != 0) continue;
        shifts[at] = shift;
        least = fmin(least, least_s(jobs, n, resources, at + 1, shifts, used | 1u << shift));
    }
    return least;
}

/* Turning all shifts alike changes nothing, so the first job has none. */
double interleaving_period_s(const struct interleaving_job *jobs, int32_t n, int32_t resources)
{
    int32_t shifts[INTERLEAVING_MOST] = {0};
    return least_s(jobs, n, resources, 1, shifts, 1);
}
