/* Goodput of a data-parallel training job: samples per second times statistical efficiency (Pollux, Qiao et al., OSDI
 * 2021, sections 3.1 and 3.2). A job on k GPUs splits its batch of M samples evenly. Each GPU computes gradients of m
 * samples at a time, s times before one exchange, so M = k m (s + 1).
 *
 *     T_grad = alpha_c + beta_c m
 *     T_sync = 0 on one GPU, else alpha + beta (k - 2), with one pair of numbers inside a node and one between nodes
 *     T_step = s T_grad + (T_grad^gamma + T_sync^gamma)^(1/gamma)
 *     efficiency(M) = (noise + M_0) / (noise + M)
 *     goodput = M / T_step * efficiency(M)
 *
 * The noise scale is the ratio of the variance of the gradient to its squared norm, in samples (McCandlish et al.,
 * arXiv 1812.06162). Here it is a constant; Pollux measures it as training proceeds.
 *
 * Batch sizes are tried as in the released code (AdaptDL, simulator/goodput.py): at most GOODPUT_BATCHES of them, in
 * geometric steps. One GPU with a batch above M_0 accumulates at least once. */
#ifndef ORRERY_MODELS_GOODPUT_H
#define ORRERY_MODELS_GOODPUT_H

#include <stdbool.h>
#include <stdint.h>

/* Step times on one type of GPU, in seconds; beta_c per sample, the other betas per GPU beyond two; gamma 1 .. 10. */
struct step_profile {
    double alpha_c, beta_c;
    double alpha_r, beta_r; /* on the GPUs of one node */
    double alpha_n, beta_n; /* on several nodes */
    double gamma;
};

struct goodput_batches {
    double first;     /* M_0: the batch size for which learning rate and work are stated */
    double most;      /* of the whole batch */
    double least_local, most_local; /* m, on one GPU */
    double noise;     /* gradient noise scale, in samples; INFINITY: efficiency 1 */
};

enum { GOODPUT_BATCHES = 50 };

/* T_grad for m samples, and T_step for s more accumulations, in seconds. */
double goodput_grad_s(const struct step_profile *profile, double local);
double goodput_step_s(const struct step_profile *profile, int32_t gpus, int32_t nodes, double local,
                      double accumulations);

/* (noise + first) / (noise + batch). */
double goodput_efficiency(const struct goodput_batches *batches, double batch);

/* Useful samples per second with this batch size, accumulated as memory needs; 0: it leaves each of
 * several GPUs less than least_local. */
double goodput_at(const struct step_profile *profile, const struct goodput_batches *batches, int32_t gpus,
                  int32_t nodes, double batch);

/* The highest goodput over batch sizes, and its batch size if `batch` is not NULL; 0: the largest batch is too small
 * for so many GPUs. */
double goodput_best(const struct step_profile *profile, const struct goodput_batches *batches, int32_t gpus,
                    int32_t nodes, double *batch);

#endif
