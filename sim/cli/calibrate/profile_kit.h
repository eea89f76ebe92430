/* The measuring kit that comes with the program: Python files for the machine with the GPU. */
#ifndef ORRERY_CLI_CALIBRATE_PROFILE_KIT_H
#define ORRERY_CLI_CALIBRATE_PROFILE_KIT_H

#include "sim/cli/cli.h"

/* Prints the way from a GPU to its calibration file. */
void profile_kit_recipe(FILE *out);

/* Writes the files of the kit into a folder, which is made unless it exists, and prints what to do next. Returns 0,
 * SIM_E_CONFIG (the installation has no kit), SIM_E_IO or SIM_E_NOMEM. */
int profile_kit_write(struct cli *cli, const char *folder);

#endif
