/* The phases of a training step that differ in power, on the law that serving has (models/power.h):
 *
 *     compute   kernels of all passes, of messages that are narrowed, and the update: the FLOP and bytes
 *               of these kernels over their time. FLOP count
 *               as shares of the peak of their own format. The part of the time in kernels that the core bounds follows
 *               the clock
 *     messages  communication that nothing hides: a kernel runs and computes nothing. No clock changes its time
 *     bubble    the GPU idles until other stages are done, which take longer at a lower clock as its own passes do
 *     waiting   the GPU idles while the host works
 *
 * A GPU whose power is bound by its limit draws the limit. Its times were measured so. The clock lengthens compute and
 * bubble by 1 - s + s/f, where s is the share of the core. All ranks are taken to have the load of the slowest stage.
 *
 * Leaves out: memory traffic of messages, kernels that wait in the bubble instead of idling, and that hidden messages
 * or a delayed update may show when computing slows down or stop showing. */
#ifndef ORRERY_MODELS_TRAINING_PHASES_H
#define ORRERY_MODELS_TRAINING_PHASES_H

#include "models/power.h"
#include "models/training/step.h"

enum training_phase { PHASE_COMPUTE, PHASE_MESSAGES, PHASE_BUBBLE, PHASE_WAITING, TRAINING_PHASES };

/* Their times add up to step_s. */
void training_phases_of(const struct training_parts *parts, const struct training_step *step,
                        struct power_stage phases[TRAINING_PHASES]);

#endif
