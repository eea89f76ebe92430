/* Doing the studies of figures. */
#ifndef ORRERY_CLI_STUDY_FIGURE_STUDY_H
#define ORRERY_CLI_STUDY_FIGURE_STUDY_H

#include "sim/cli/cli.h"
#include "sim/study/study.h"

#include <stdbool.h>

struct figure_study_options {
    int workers; /* 0: as many as there are cores */
    bool resume; /* take what is finished; else results that are there are made anew */
    bool quiet;  /* no progress, no closing line */
};

/* Does all runs of the study into the results database `output`. Returns 0 or a negative code with findings. */
int figure_study_run(struct cli *cli, const struct study *study, const char *output,
                     const struct figure_study_options *options);

#endif
