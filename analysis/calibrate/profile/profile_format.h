/* For readers of one profile format: the sheet, and a list of rows.
 *
 * A format is a `const struct profile_format profile_NAME` in profile_SOURCE.c, and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H

#include "analysis/calibrate/profile/profile.h"

/* X(name): profile_NAME; the first that recognises a header reads the file. */
#define PROFILE_FORMATS(X)                                                                                             \
    X(simple)                                                                                                          \
    X(vidur_dense)                                                                                                     \
    X(vidur_attention)                                                                                                 \
    X(aiconfigurator_gemm)                                                                                             \
    X(aiconfigurator_attention)                                                                                        \
    X(llmservingsim_layers)                                                                                            \
    X(llmservingsim_dense)                                                                                             \
    X(llmservingsim_skew)                                                                                              \
    X(llmservingsim_attention)                                                                                         \
    X(llmservingsim_attention_v0)                                                                                      \
    X(aiconfigurator_moe)                                                                                              \
    X(nccl)                  \
    X(vidur_network)

struct profile_reader {
    struct sheet sheet;
    const struct profile_options *options;
    struct profile *profile;
    size_t row_capacity, group_capacity;
    struct profile_group *group_index;
    void *state; /* of the format, between its rows; set by its begin */
};

struct profile_format {
    const char *name;                   /* "vidur-dense" */
    const char *set, *grouped_by;       /* as in struct profile; NULL: set by begin */
    const struct sheet_column *columns; /* [n_columns] */
    size_t n_columns, n_required;       /* the first n_required are in every file of the format */
    bool (*recognise)(const struct profile_reader *reader); /* NULL: the required columns suffice */
    int (*begin)(struct profile_reader *reader);            /* after the header; NULL: nothing to do */
    int (*read_row)(struct profile_reader *reader);         /* of the sheet's current row; 0 or a negative code */
    void (*finish)(struct profile *profile);                /* after the last row; NULL: nothing to do */
};

#define PROFILE_FORMAT_DECLARE(name) extern const struct profile_format profile_##name;
PROFILE_FORMATS(PROFILE_FORMAT_DECLARE)
#undef PROFILE_FORMAT_DECLARE

/* The index of the group with this name, which is added when it is new. Returns 0 or SIM_E_NOMEM. */
int profile_group(struct profile_reader *reader, uint32_t *group, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a row with the GPU of the options and the line of the current row. A row without time or shape, or faster
 * than the peak of the data sheet, is dropped. Returns 0 or SIM_E_NOMEM. */
int profile_add(struct profile_reader *reader, const struct profile_row *row);

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int profile_drop(struct profile_reader *reader, const char *reason);

#endif
