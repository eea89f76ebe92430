/* Processes figures: runs their studies, reads the results, writes the documents and the gallery.
 *
 * In the directory of results, a figure PAPER/NAME has PAPER/NAME.db (PAPER/NAME.STUDY.db with several studies),
 * PAPER/NAME.md, PAPER/NAME.svg (NAME.1.svg, NAME.2.svg ... with several charts) and, on request, NAME.gp with
 * NAME.dat. A figure with a board also has PAPER/NAME.rows.html, every row of it. index.html shows all figures with
 * results. */
#ifndef ORRERY_CLI_STUDY_FIGURE_WORK_H
#define ORRERY_CLI_STUDY_FIGURE_WORK_H

#include "analysis/figure/page.h"
#include "sim/cli/cli.h"
#include "sim/cli/study/figure_shelf.h"

struct figure_study_options {
    int workers;        /* 0: one per core */
    double limit_bytes; /* of the results of a study */
    bool resume; /* continue an earlier call; else its results are removed */
    bool quiet;  /* no progress, no closing line */
};

struct figure_options {
    const char *directory; /* of results */
    const char *data;      /* folder of public data, as in struct cli */
    bool gnuplot;
    bool skips; /* figures whose measurements are absent are left out */
    size_t n_settings; /* of all runs, "key=value"; above 0 the figure is another one, with "-changed" in its id */
    const char *const *settings;
    struct figure_study_options study;
};

/* A figure, its results and documents; the arena holds all. */
struct figure_work {
    struct arena arena;
    const char *data_folder; /* of public data; NULL: the default */
    size_t n_settings;
    const char *const *settings;
    struct figure figure;
    const char **databases; /* one per study */
    struct figure_data data;
    struct claim_results claims;
    const struct figure_link *links;
    size_t n_links;
};

/* Loads the figure and names its results. Returns 0 or a negative code with findings; figure_work_fini may follow
 * either. */
int figure_work_load(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                     struct diag *diag);
void figure_work_fini(struct figure_work *work);

/* Checks that no result replaces the figure or one of its studies, whose scenarios are there. Returns 0 or a negative
 * code with findings. */
int figure_work_check(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                      struct diag *diag);

/* As sweep_refused, of each study of a figure that settings change. */
int figure_work_refused(struct figure_work *work, struct cli *cli);

/* Sets *file to a file that the figure, its board or plans need and that is absent, *obtain to where to get it;
 * NULL: all are there. Returns 0 or a negative code. */
int figure_work_missing(struct figure_work *work, const char **file, const char **obtain, struct diag *diag);

/* Runs the studies, and predicts the boards. */
int figure_work_simulate(struct figure_work *work, const struct figure_options *options, struct cli *cli);

/* Reads the results and evaluates the claims. */
int figure_work_read(struct figure_work *work, struct diag *diag);

/* Writes the documents. */
int figure_work_write(struct figure_work *work, const struct figure_options *options, struct diag *diag);

/* Writes the page of all figures that come with the program, and of those in `own`, if they have results. */
int figure_work_gallery(const struct figure_file *own, size_t n_own, const struct figure_options *options,
                        struct diag *diag);

#endif
