/* A chart of a study as a file for a paper. */
#ifndef ORRERY_CLI_RESULTS_FIGURE_FILE_H
#define ORRERY_CLI_RESULTS_FIGURE_FILE_H

#include "analysis/report/study_chart.h"
#include "sim/cli/answer.h"

enum figure_form { FIGURE_SVG, FIGURE_PDF, FIGURE_TEX, FIGURE_GP, FIGURE_CSV };

struct figure_style {
    double width_cm, height_cm, font_pt;
    bool may_drop_note; /* the chart's subtitle, where it makes the chart larger than was asked for */
    bool is_sized; /* by the user: the figure must not become larger */
    const char *font; /* family; NULL: that of the system, in PDF Helvetica */
};

/* The form by the end of the file's name. Returns 0, or SIM_E_USAGE with the forms that exist. */
int figure_form_of(const char *path, enum figure_form *form, struct diag *diag);

/* Reads "8.5x6", in centimetres, and a size of type in points. NULL: the default. Return 0 or SIM_E_USAGE. */
int figure_read_size(const char *text, struct figure_style *style, struct diag *diag);
int figure_read_font(const char *family, const char *points, struct figure_style *style, struct diag *diag);

/* Writes the chart, or as CSV the points of the view. The file appears only when it is whole. Returns 0, SIM_E_USAGE
 * (a font that PDF readers lack, or a size that is too small for the chart), SIM_E_IO or SIM_E_NOMEM. */
int figure_write(const struct study *study, const struct study_view *view, struct plot_chart *chart,
                 const struct figure_style *style, const char *path, enum figure_form form, struct diag *diag);

/* Adds the shown points to the answer: value on each axis, number of runs, mean, and the ends of its interval. */
void figure_points(const struct study *study, const struct study_view *view, struct answer *answer);

#endif
