/* orrery calibrate power: fits the laws of a GPU's power to measurements. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_POWER_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_POWER_H

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"

/* `output` NULL: nothing is written. `like` of an old file at `output` stays. Returns 0, SIM_E_DATA (no rows of the GPU) or what
 * reading the files, the GPU and writing return. */
int calibrate_power(struct cli *cli, const struct catalog *catalog, const char *gpu, const char *const *paths,
                    size_t n_paths, const char *output, bool as_json);

#endif
