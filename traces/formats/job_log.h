/* Logs of a batch scheduler with calendar times of submission, start and end: the shape that Acme and Helios share. */
#ifndef ORRERY_TRACES_FORMATS_JOB_LOG_H
#define ORRERY_TRACES_FORMATS_JOB_LOG_H

#include "traces/formats/file_trace.h"

struct job_log_columns {
    const char *submit, *duration, *gpus;
    const char *start, *end, *nodes, *id, *user, *group, *type, *state; /* may be absent from a file */
};

/* `params` is a struct job_file. */
int job_log_open(const struct job_log_columns *columns, const struct job_file *params,
                 const struct source_options *options, struct job_source **source, struct diag *diag);

#endif
