/* What a reader of one profile format works with: rows by column name, and a profile that grows row by row.
 *
 * A format is one file profile_NAME.c with a `const struct profile_format profile_NAME`, and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H

#include "analysis/calibrate/profile/profile.h"
#include "sim/core/csv.h"

/* X(name): profile_NAME; the first that recognises a header reads the file. */
#define PROFILE_FORMATS(X)                                                                                             \
    X(simple)                                                                                                          \
    X(vidur_dense)                                                                                                     \
    X(vidur_attention)                                                                                                 \
    X(aiconfigurator_gemm)                                                                                             \
    X(aiconfigurator_attention)                                                                                        \
    X(llmservingsim_layers)                                                                                            \
    X(llmservingsim_dense)                                                                                             \
    X(llmservingsim_skew) \
    X(llmservingsim_attention)                                                                                         \
    X(llmservingsim_attention_v0)                                                                                      \
    X(aiconfigurator_moe)                                                                                              \
    X(nccl)                                                                                                            \
    X(vidur_network)

struct profile_reader {
    const struct profile_options *options;
    struct arena *arena;
    struct diag *diag;
    struct profile *profile; /* the format fills in set and grouped_by */
    struct csv *csv;
    const char **columns; /* of the header */
    size_t n_columns, row_capacity, group_capacity;
    struct profile_group *group_index;
};

struct profile_format {
    const char *name; /* "vidur-dense" */
    bool (*recognise)(const struct profile_reader *reader); /* by its columns */
    int (*read)(struct profile_reader *reader);             /* all rows; 0 or what the functions below return */
};

#define PROFILE_FORMAT_DECLARE(name) extern const struct profile_format profile_##name;
PROFILE_FORMATS(PROFILE_FORMAT_DECLARE)
#undef PROFILE_FORMAT_DECLARE

/* The 0-based column of a name, -1 when the file has none. */
int profile_column(const struct profile_reader *reader, const char *name);

/* Whether the file has all columns of a list that ends with NULL. */
bool profile_has_columns(const struct profile_reader *reader, const char *const *names);

/* 1 with the next row, 0 at the end, SIM_E_DATA, SIM_E_IO or SIM_E_NOMEM. */
int profile_next(struct profile_reader *reader);

/* A field of the row read last; empty when the row or the file lacks it. */
struct csv_field profile_text(const struct profile_reader *reader, int column);
bool profile_text_is(const struct profile_reader *reader, int column, const char *text);

/* A number of at least `min`, and at most 1e18. Returns 0, or SIM_E_DATA with its place; an empty field is 0 with *value NAN. */
int profile_number(struct profile_reader *reader, int column, double min, double *value);

/* The index of the group with this name, which is added when it is new. Returns 0 or SIM_E_NOMEM. */
int profile_group(struct profile_reader *reader, uint32_t *group, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a row with the GPU of the options and the line of the row read last. One without time or shape, or that would
 * be faster than the peak of the data sheet, is dropped. Returns 0 or SIM_E_NOMEM. */
int profile_add(struct profile_reader *reader, const struct profile_row *row);

/* Counts a row as left out; `reason` is a static text. */
void profile_drop(struct profile *profile, const char *reason, int64_t rows);

#endif
