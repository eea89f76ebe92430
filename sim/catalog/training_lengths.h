/* Lengths of the sequences of training batches, drawn from a law. */
#ifndef ORRERY_CATALOG_TRAINING_LENGTHS_H
#define ORRERY_CATALOG_TRAINING_LENGTHS_H

#include "sim/catalog/training.h"

extern const struct config_field training_lengths_fields[];

/* Draws the batches of a plan into the arena. *out is NULL if all sequences are equal. `where`: path of the plan, for
 * findings. Returns 0, SIM_E_CONFIG or SIM_E_NOMEM. */
int training_lengths_draw(const struct training_config *config, const char *where, struct arena *arena,
                          struct training_lengths **out, struct diag *diag);

#endif
