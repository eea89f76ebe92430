/* Trials in a process of their own, which a bug may end, and the smallest world with a finding. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_SHRINK_H
#define ORRERY_TESTS_SUPPORT_WORLDS_SHRINK_H

#include "tests/support/worlds/trial.h"

#include <cjson/cJSON.h>

/* Processor time that a trial may take before it counts as a finding. */
enum { TRIAL_MOST_S = 10 };

/* Like trial_run, in a child. Its end by a bug, a sanitizer or the time limit is a finding, with the first line that
 * names the reason. */
void trial_in_child(const char *json, const struct trial_options *options, struct trial *trial);

/* The finding without its numbers: equal for equal causes. */
void trial_signature(const struct trial *trial, char signature[TRIAL_TEXT_CHARS]);

/* Removes members and items of a world, and lowers its numbers, while trials have a finding of the same signature.
 * Returns the number of trials; `trial` gets the last finding. */
int shrink(cJSON *world, const struct trial_options *options, struct trial *trial);

#endif
