/* How jobs of Shockwave's artifact enlarge their batches as they train (uw-mad-dash/shockwave, scheduler/utils.py).
 *
 *     static      never
 *     accordion   from the model's largest batch size to the first and back. The first 30 % of the epochs are at the
 *                 first size, and so are critical epochs, listed by model. Transformers never change it
 *     gns         twice the batch size at each of up to four epochs, listed by model, first batch size and GPUs
 *
 * In the artifact's profiles the last epoch of some gns jobs is at the first batch size, by an off-by-one. Here it
 * keeps its size. */
#ifndef ORRERY_TRACES_FORMATS_BATCH_GROWTH_H
#define ORRERY_TRACES_FORMATS_BATCH_GROWTH_H

#include <stddef.h>
#include <stdint.h>

enum growth_mode { GROWTH_STATIC, GROWTH_ACCORDION, GROWTH_GNS };

/* The modes' names, then NULL. */
extern const char *const growth_mode_names[];

struct growing_model {
    const char *name;     /* in lower case */
    int64_t samples;      /* of an epoch */
    int64_t largest;      /* batch size */
};

/* The model of this name, or NULL. */
const struct growing_model *growing_model_find(const char *chars, size_t n_chars);

/* Epochs of a job that takes so many steps with this batch size; a part of one counts as one. */
int64_t growth_epochs(const struct growing_model *model, int64_t batch, int64_t steps);

/* Batch size of a job in an epoch (0 <= epoch < epochs), of which the first is `batch`. */
int64_t growth_batch(const struct growing_model *model, enum growth_mode mode, int64_t batch, int64_t gpus,
                     int64_t epochs, int64_t epoch);

#endif
