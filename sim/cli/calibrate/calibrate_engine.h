/* `orrery calibrate --engine`: the host time of a serving engine, fitted to measured iterations. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_ENGINE_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_ENGINE_H

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"

/* Fits the engine `name` to the files, prints what was found (as_json: the preset), and writes the preset to `output`
 * unless that is NULL. Returns 0, SIM_E_USAGE (no such engine), SIM_E_CONFIG, SIM_E_DATA, SIM_E_IO or SIM_E_NOMEM. */
int calibrate_engine(struct cli *cli, const struct catalog *catalog, const char *name, const char *const *paths,
                     size_t n_paths, const char *output, bool as_json);

#endif
