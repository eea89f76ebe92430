#include "models/goodput.h"

#include <math.h>
#include <stddef.h>

/* Tolerance of whole numbers. */
static const double SLACK = 1e-8;

double goodput_grad_s(const struct step_profile *profile, double local)
{
    return profile->alpha_c + profile->beta_c * local;
}

static double sync_s(const struct step_profile *profile, int32_t gpus, int32_t nodes)
{
    if (gpus < 2) return 0;
    return nodes > 1 ? profile->alpha_n + profile->beta_n * (gpus - 2)
                     : profile->alpha_r + profile->beta_r * (gpus - 2);
}

/* (a^gamma + b^gamma)^(1/gamma), scaled by the larger one. */
static double overlapped(double a, double b, double gamma)
{
    const double high = fmax(a, b), low = fmin(a, b);
    return low > 0 ? high * pow(1 + pow(low / high, gamma), 1 / gamma) : high;
}

double goodput_step_s(const struct step_profile *profile, int32_t gpus, int32_t nodes, double local,
                      double accumulations)
{
    const double grad_s = goodput_grad_s(profile, local);
    return accumulations * grad_s + overlapped(grad_s, sync_s(profile, gpus, nodes), profile->gamma);
}

double goodput_efficiency(const struct goodput_batches *batches, double batch)
{
    return isinf(batches->noise) ? 1 : (batches->noise + batches->first) / (batches->noise + batch);
}

double goodput_at(const struct step_profile *profile, const struct goodput_batches *batches, int32_t gpus,
                  int32_t nodes, double batch)
{
    const double share = batch / gpus;
    if (gpus > 1 && share < batches->least_local - SLACK) return 0;
    double accumulations = ceil(share / batches->most_local - SLACK) - 1;
    if (gpus == 1 && batch > batches->first + SLACK) accumulations = fmax(accumulations, 1);
    const double local = ceil(share / (accumulations + 1) - SLACK);
    const double whole = gpus * local * (accumulations + 1);
    return whole / goodput_step_s(profile, gpus, nodes, local, accumulations) * goodput_efficiency(batches, whole);
}

double goodput_best(const struct step_profile *profile, const struct goodput_batches *batches, int32_t gpus,
                    int32_t nodes, double *batch)
{
    const double low = gpus > 1 ? fmax(batches->first, batches->least_local * gpus) : batches->first,
                 high = batches->most;
    double best = 0, best_batch = 0;
    for (int i = 0; i < GOODPUT_BATCHES && low <= high; i++) {
        const double tried = low * pow(high / low, (double)i / (GOODPUT_BATCHES - 1));
        const double goodput = goodput_at(profile, batches, gpus, nodes, tried);
        if (goodput <= best) continue;
        best = goodput;
        best_batch = tried;
    }
    if (batch != NULL) *batch = best_batch;
    return best;
}
