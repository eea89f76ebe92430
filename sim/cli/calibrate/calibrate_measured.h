/* The fits of `orrery calibrate` beside those of kernels: the CPU overhead of a serving engine, and the power of a
 * GPU. */
#ifndef ORRERY_CLI_CALIBRATE_CALIBRATE_MEASURED_H
#define ORRERY_CLI_CALIBRATE_CALIBRATE_MEASURED_H

#include "sim/catalog/catalog.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

struct calibrate_inputs {
    const char *const *paths;
    size_t n;
};

struct calibrate_output {
    const char *path;      /* of the file to write; NULL: none */
    enum answer_form form; /* JSON: the file's content; CSV: the errors */
};

/* Fits the engine `name` to files of measured iterations, prints the fit and writes the engine's preset. Returns 0,
 * SIM_E_USAGE, SIM_E_CONFIG, SIM_E_DATA, SIM_E_IO or SIM_E_NOMEM. */
int calibrate_engine(struct cli *cli, const struct catalog *catalog, const char *name,
                     const struct calibrate_inputs *inputs, const struct calibrate_output *output);

/* Fits the power of `gpu` in the same way. The `like` of a replaced file stays. */
int calibrate_power(struct cli *cli, const struct catalog *catalog, const char *gpu,
                    const struct calibrate_inputs *inputs, const struct calibrate_output *output);

/* Predicts a board (one file, NAME.board.json), prints the intervals of its errors, and writes them as the file of what
 * no fit has seen. CSV: the printed table. Returns 0, SIM_E_CONFIG, SIM_E_DATA, SIM_E_IO or SIM_E_NOMEM. */
int calibrate_board(struct cli *cli, const struct catalog *catalog, const struct calibrate_inputs *inputs,
                    const struct calibrate_output *output);

/* Of a log of failures, as the options say it; NULL: not given. */
struct calibrate_observation {
    const char *from, *until, *nodes;
};

/* Fits a Weibull law to field data of lifetimes (one file, lifetimes_read.h), prints it, and writes the member
 * "lifetime" of a cause of failures. Returns 0, SIM_E_DATA, SIM_E_IO or SIM_E_NOMEM. */
int calibrate_lifetimes(struct cli *cli, const struct calibrate_inputs *inputs,
                        const struct calibrate_observation *observation, const struct calibrate_output *output);

#endif
