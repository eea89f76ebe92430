/* A figure of a paper: the stated set-up, the studies that simulate it, the series drawn from them, the paper's own
 * points, the paper's claims, and the parameters that were chosen to match points.
 *
 * Every fact, point and claim of a paper has a tag for its origin: "src" (the paper's text or artifact), "src2"
 * (somebody's account of the paper), "derived" (arithmetic on such numbers), "own" (a limit or an expectation of
 * Orrery's authors, in no paper) or "memory" (unverified), with a key after a colon ("src:sw-sim") if useful. A claim
 * from memory, on points from memory, or stated as "up to" is reported beside our number and never passes or fails. */
#ifndef ORRERY_ANALYSIS_FIGURE_FIGURE_H
#define ORRERY_ANALYSIS_FIGURE_FIGURE_H

#include "sim/core/config/config.h"

#include <stdbool.h>
#include <stddef.h>

/* Texts and lists live in the arena of the binding; absent optional texts are NULL, numbers NAN. */

struct figure_fact {
    const char *says, *tag;
};

/* A study that the figure uses, by name; or a board, whose path ends in ".board.json", or training plans, whose path
 * ends in ".plans.json", or bandwidths of dispatch kernels (".exchanges.json"). */
struct figure_study {
    const char *name, *path;
};

struct figure_point {
    double x, y;
    double low, high; /* the paper's interval */
};

/* The paper's data for a series: points, or a query (x, y, maybe low, high) for its formula. */
struct figure_curve {
    const char *tag;
    struct config_list points; /* struct figure_point */
    const char *sql;
};

/* Columns x and y of a query, maybe low and high. With `interval`: one row per replication, whose mean and t
 * interval at that level are drawn. */
struct figure_series {
    const char *name, *study, *sql; /* study: NULL for the only one */
    double interval;
    struct figure_curve paper;
};

struct figure_axis {
    const char *title;
    int scale; /* enum plot_scale */
};

struct figure_chart {
    const char *title, *subtitle;
    struct figure_axis x, y;
    struct config_list series; /* struct figure_series */
};

/* Points of a series of the paper, from x = from to x = to; NAN: no limit. */
struct figure_span {
    const char *series;
    double from, to;
};

struct figure_claim {
    const char *says;
    double value;                 /* the paper's; with the tag "own" that of Orrery's authors */
    double low, high;             /* the paper's range, whose midpoint is the value; NAN: it gives one number */
    const char *unit, *tag;
    bool up_to;
    bool is_arithmetic;           /* an identity: its value follows from the set-up */
    double tolerance_frac;        /* share of the paper's value; of a curve claim: nine in ten points keep it */
    struct config_variant test;   /* claim_kind.h; no entry: not covered by the simulator */
    struct config_list rests_on;  /* struct figure_span: the paper's points behind a query */
    const char *reported_because; /* why it does not gate although its tag allows it */
    const char *known_to_fail;    /* why it fails, where that is expected */
    const char *chosen_by;        /* what was chosen in view of its numbers; NULL: nothing */
};

/* An error of the model that the figure is about: the answer of a query. */
struct figure_error {
    const char *says, *sql, *study, *unit; /* study: NULL for the only one */
};

/* A file that the studies read and that is no part of Orrery. */
struct figure_file_needed {
    const char *path, *obtain; /* obtain: where to get it */
};

/* A parameter that was chosen to match points; `elsewhere`: points that the figure does not show. */
struct figure_fit {
    const char *parameter, *value, *why;
    int64_t constants;         /* how many they are */
    struct config_list points; /* struct figure_span */
    const char *elsewhere;
};

/* When the tolerances were committed; OF_ANOTHER: settings have changed the figure. */
enum figure_tolerances { TOLERANCES_WITH_RESULTS, TOLERANCES_FIRST, TOLERANCES_FIRST_IN_PART, TOLERANCES_OF_ANOTHER };

struct figure {
    const char *id; /* "splitwise/profile" */
    const char *title, *citation, *place; /* place: section, figure or table of the paper */
    struct config_list setup;   /* struct figure_fact */
    struct config_list data;    /* struct figure_file_needed */
    struct config_list studies; /* struct figure_study */
    int tolerances;             /* enum figure_tolerances */
    const char *views;          /* SQL file of temporary views, run on each study's results first */
    struct config_list charts;  /* struct figure_chart */
    struct config_list claims;  /* struct figure_claim */
    struct config_list fitted;  /* struct figure_fit */
    struct config_list inputs;  /* const char *: values fitted or inferred from measurements that it does not show */
    struct config_list errors;  /* struct figure_error: the first line has them in place of the claims' deviations */
    struct config_list notes;   /* const char * */
};

/* Reads and checks a figure: every named series, study and tag exists, every claim has what its kind needs and
 * nothing that it excludes. data: the folder of public data, NULL for the default (path_join_data). Returns 0 or a
 * negative code with findings. */
int figure_load(const char *id, const char *path, const char *data, struct arena *arena, struct figure *figure,
                struct diag *diag);

/* The constants of all entries of `fitted`. */
int64_t figure_count_fitted(const struct figure *figure);

/* The index-th item of a list of the figure, as its type. */
#define FIGURE_ITEM(type, list, index) ((const type *)(list).items + (index))

/* Whether it is a tag; whether it lets a claim pass or fail (all but memory); whether the number is in no paper. */
bool figure_tag_exists(const char *tag);
bool figure_tag_gates(const char *tag);
bool figure_tag_is_own(const char *tag);

/* The reason why a claim is not judged, after "a claim that is"; NULL: it is judged. Claims from memory, on the
 * paper's points from memory, or stated as "up to" are not. */
const char *figure_claim_unjudged(const struct figure *figure, const struct figure_claim *claim);

/* Whether a claim passes or fails; if not, it is only reported. */
bool figure_claim_gates(const struct figure *figure, const struct figure_claim *claim);

/* Series are numbered over all charts, in order. figure_series_at: NULL past the last one. figure_series_index: of a
 * name, or SIZE_MAX. */
const struct figure_series *figure_series_at(const struct figure *figure, size_t index);
size_t figure_series_index(const struct figure *figure, const char *name);

/* Whether it is a board of measured rows instead of a study of runs. */
bool figure_study_is_board(const struct figure_study *study);

/* Whether it is a list of training plans instead of a study of runs. */
bool figure_study_is_plans(const struct figure_study *study);
bool figure_study_is_exchanges(const struct figure_study *study);

/* Whether it has no scenario: one of the three above. */
bool figure_study_is_made(const struct figure_study *study);

/* The index of a study by name, of the only one for NULL; SIZE_MAX if there is none. */
size_t figure_study_index(const struct figure *figure, const char *name);

#endif
