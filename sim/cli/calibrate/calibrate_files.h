/* The files that `orrery calibrate` writes. Each replaces an old one only once it is complete. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_FILES_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_FILES_H

#include "analysis/calibrate/calibrate.h"
#include "sim/cli/cli.h"

/* Writes a text and names the file on standard error. Returns 0, SIM_E_IO or SIM_E_NOMEM (also if `text` has
 * failed). */
int calibrate_write(struct cli *cli, const char *path, const struct text *text);

/* Puts the sets into the calibration file at `path`, replacing sets of their names. Returns 0, SIM_E_CONFIG,
 * SIM_E_IO or SIM_E_NOMEM. */
int calibrate_save(struct cli *cli, const char *path, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets);

/* Makes the directory of plots unless it exists. Returns 0 or SIM_E_IO. */
int calibrate_make_directory(struct cli *cli, const char *directory);

/* Draws the plots of every set into `directory`, which exists: SET-CLASS.svg and SET-error-by-band.svg. Returns 0,
 * SIM_E_IO or SIM_E_NOMEM. */
int calibrate_draw(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets);

#endif
