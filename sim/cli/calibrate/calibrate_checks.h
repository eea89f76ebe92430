/* What `orrery calibrate` warns of in a profile that was read. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_CHECKS_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_CHECKS_H

#include "analysis/calibrate/profile/profile.h"

/* Warns of options that the profile had no use for, and of many rows that no such GPU can have taken. */
void calibrate_check_profile(const struct profile *profile, const struct profile_options *options, struct diag *diag);

/* Checks the LLM that was given, NULL: none. Returns 0, SIM_E_CONFIG (there is no such LLM), SIM_E_IO or SIM_E_NOMEM. */
int calibrate_check_llm(const struct catalog *catalog, const char *llm, struct arena *arena, struct diag *diag);

#endif
