/* Figures on their way from a file to a gallery: their studies done, their results read, their documents written.
 *
 * Below the directory of results a figure PAPER/NAME has PAPER/NAME.db (PAPER/NAME.STUDY.db with several studies),
 * PAPER/NAME.md, PAPER/NAME.svg (NAME.1.svg, NAME.2.svg ... with several charts) and, when asked for, NAME.gp with NAME.dat;
 * index.html shows all figures whose results are there. */
#ifndef ORRERY_CLI_STUDY_FIGURE_WORK_H
#define ORRERY_CLI_STUDY_FIGURE_WORK_H

#include "analysis/figure/page.h"
#include "sim/cli/cli.h"
#include "sim/cli/study/figure_shelf.h"

struct figure_study_options {
    int workers; /* 0: as many as there are cores */
    bool resume; /* take what is finished; else results that are there are made anew */
    bool quiet;  /* no progress, no closing line */
};

struct figure_options {
    const char *directory; /* of results */
    bool gnuplot;
    struct figure_study_options study;
};

/* Everything about one figure; its arena holds it all. */
struct figure_work {
    struct arena arena;
    struct figure figure;
    const char **databases; /* one per study */
    struct figure_data data;
    struct claim_results claims;
    const struct figure_link *links;
    size_t n_links;
};

/* Loads the figure and finds out where its results lie. Returns 0 or a negative code with findings; figure_work_fini may be
 * called in either case. */
int figure_work_load(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                     struct diag *diag);
void figure_work_fini(struct figure_work *work);

/* Whether a result would take the place of the figure or of one of its studies. Returns 0, SIM_E_USAGE or SIM_E_NOMEM. */
int figure_work_check(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                      struct diag *diag);

/* Does the studies. */
int figure_work_simulate(struct figure_work *work, const struct figure_options *options, struct cli *cli);

/* Reads the results and evaluates the claims. */
int figure_work_read(struct figure_work *work, struct diag *diag);

/* Writes its documents. */
int figure_work_write(struct figure_work *work, const struct figure_options *options, struct diag *diag);

/* Writes the page of all figures that come with the program, and of those in `own`, as far as they have results. */
int figure_work_gallery(const struct figure_file *own, size_t n_own, const struct figure_options *options,
                        struct diag *diag);

#endif
