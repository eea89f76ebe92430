/* The kinds of claims: each has parameters, and evaluates a claim on the figure's data. */
#ifndef ORRERY_ANALYSIS_FIGURE_CLAIM_KIND_H
#define ORRERY_ANALYSIS_FIGURE_CLAIM_KIND_H

#include "analysis/figure/data.h"
#include "analysis/figure/figure.h"

/* A number: the value of a series at an x, or the answer of a query. */
struct claim_value {
    const char *name; /* in an order; NULL: none */
    const char *series;
    double x;
    const char *sql, *study;
};

struct level_params {
    struct claim_value of;
};
struct ratio_params {
    struct claim_value of, over;
};
struct order_params {
    struct config_list values; /* struct claim_value, rising */
};
struct crossing_params {
    const char *of, *with; /* series */
    double level;          /* in place of `with` */
};
struct curve_params {
    struct config_list series; /* const char * */
    double from, to;
};
struct interval_params {
    struct config_list series; /* const char *, with "interval" */
    double level;
};

/* The outcome of a claim. */
struct claim_outcome {
    double ours;      /* NAN: not one number */
    double deviation; /* ours / paper - 1; of a curve the 90th percentile of its size; NAN: none */
    double worst;     /* the largest size of a curve; NAN: that of the deviation */
    bool holds;
    char text[320];   /* shown for ours; empty: the number */
    char paper[200];  /* shown for the paper's; empty: its value */
    char bound[32];   /* the bound applied; empty: the claim's tolerance */
};

/* Receives the places in the figure's data that a claim rests on: x = from .. to of a series. */
struct claim_places {
    void *context;
    void (*visit)(void *context, const char *series, double from, double to);
    void (*visit_query)(void *context, const char *sql, const char *study);
};

struct claim_kind {
    const char *name, *summary;
    const struct config_field *fields;
    size_t params_bytes;
    bool has_value, has_tolerance; /* whether the paper states one number, and whether a tolerance applies */
    /* The problem of the parameters, whose series all exist; NULL: none. */
    const char *(*problem)(const void *params, const struct figure *figure);
    /* Where the claim's numbers come from. */
    void (*places)(const void *params, const struct claim_places *places);
    int (*evaluate)(const struct figure_claim *claim, const struct figure_data *data, struct claim_outcome *outcome,
                    struct diag *diag);
};

/* All of them, NULL at the end. */
extern const struct claim_kind *const claim_kinds[];

#endif
