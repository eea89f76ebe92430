/* The numbers of a figure, read from the results of its studies. */
#ifndef ORRERY_ANALYSIS_FIGURE_DATA_H
#define ORRERY_ANALYSIS_FIGURE_DATA_H

#include "analysis/figure/figure.h"
#include "sim/core/database.h"

/* In order of rising x. */
struct data_curve {
    size_t n;
    double *x, *y;
    double *low, *high; /* NULL: no interval */
};

/* `replications` has n_replications[i] values of point i of `ours`, consecutive; NULL without "interval". */
struct data_series {
    const struct figure_series *series;
    struct data_curve ours, paper;
    double *replications;
    size_t *n_replications;
    bool is_bootstrap; /* the rows of one x replicate one trace: an interval is that of their spread */
};

struct figure_data {
    const struct figure *figure;
    struct arena *arena;
    struct database *databases; /* [n_studies] */
    size_t n_open;
    size_t n_series;
    struct data_series *series;
};

/* Opens the results databases, one path per study in the figure's order, and reads all series. Returns 0 or a
 * negative code with findings; figure_data_fini may be called in either case. */
int figure_data_read(const struct figure *figure, const char *const *paths, struct arena *arena,
                     struct figure_data *data, struct diag *diag);
void figure_data_fini(struct figure_data *data);

/* The data of a series of the figure, which must exist. */
const struct data_series *data_series_named(const struct figure_data *data, const char *name);

/* y of a curve at x, linear between its points; NAN outside of them. */
double data_curve_at(const struct data_curve *curve, double x);

/* The value of the curve at its point with this x up to rounding; NAN if there is none. */
double data_curve_point(const struct data_curve *curve, double x);

/* Reads one number by a query on a study's results. Returns 0 or a negative code, SIM_E_CONFIG if the query does not
 * give exactly one number. */
int figure_data_number(const struct figure_data *data, const char *study, const char *sql, double *value,
                       struct diag *diag);

#endif
