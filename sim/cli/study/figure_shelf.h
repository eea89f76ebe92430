/* Finds figures of papers: configs/figures/PAPER/NAME.json, with the id PAPER/NAME; or a file of the user's own. */
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

/* For qsort: by id. */
int figure_file_compare(const void *a, const void *b);

/* Lists the figures that come with the program. A file with a second dot in its name (profile.study.json) belongs to
 * a figure and is none. Returns 0, SIM_E_IO or SIM_E_NOMEM with findings. */
int figure_shelf_list(struct arena *arena, struct figure_files *files, struct diag *diag);

/* Finds the figure with this id; "board" is also the figure board/board. A name that ends in ".json" is the file
 * itself, with the id DIRECTORY/NAME. Returns 0, SIM_E_USAGE with did-you-mean, SIM_E_IO or SIM_E_NOMEM. */
int figure_shelf_find(struct arena *arena, const char *name, struct figure_file *file, struct diag *diag);

#endif
