/* Where figures of papers are found: configs/figures/PAPER/NAME.json, called PAPER/NAME; or a file of one's own. */
#ifndef ORRERY_CLI_STUDY_FIGURE_SHELF_H
#define ORRERY_CLI_STUDY_FIGURE_SHELF_H

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stddef.h>

struct figure_file {
    const char *id, *path;
};

struct figure_files {
    size_t n;
    struct figure_file *items; /* in the arena, sorted by id */
};

/* The figures that come with the program. Files with a second dot in their names (profile.study.json) belong to a figure and
 * are none. Returns 0, SIM_E_IO or SIM_E_NOMEM with findings. */
int figure_shelf_list(struct arena *arena, struct figure_files *files, struct diag *diag);

/* The figure of that id, or with a name that ends in ".json" the file itself, which gets the id DIRECTORY/NAME. Returns 0,
 * SIM_E_USAGE with did-you-mean, SIM_E_IO or SIM_E_NOMEM. */
int figure_shelf_find(struct arena *arena, const char *name, struct figure_file *file, struct diag *diag);

#endif
