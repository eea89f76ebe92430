#include "models/speedup.h"

#include <math.h>

static double in_table(const struct speedup *speedup, double gpus)
{
    struct speedup_point low = {0.0, 0.0};
    for (size_t i = 0; i < speedup->n_points; i++) {
        const struct speedup_point high = speedup->points[i];
        if (gpus <= high.gpus) return low.speed + (high.speed - low.speed) * (gpus - low.gpus) / (high.gpus - low.gpus);
        low = high;
    }
    return low.speed;
}

double speedup_at(const struct speedup *speedup, double gpus)
{
    if (!(gpus > 0.0)) return 0.0;
    switch (speedup->law) {
    case SPEEDUP_POWER: return speedup->linear_below_one && gpus < 1.0 ? gpus : pow(gpus, speedup->exponent);
    case SPEEDUP_TABLE: return in_table(speedup, gpus);
    case SPEEDUP_AMDAHL:
        if (gpus < 1.0) return gpus;
        return gpus / ((1.0 - speedup->parallel_frac) * gpus + speedup->parallel_frac);
    case SPEEDUP_LINEAR: break;
    }
    return gpus;
}
