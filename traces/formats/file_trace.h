/* From a format's row description to an open source: what the formats that read files share. */
#ifndef ORRERY_TRACES_FORMATS_FILE_TRACE_H
#define ORRERY_TRACES_FORMATS_FILE_TRACE_H

#include "traces/reader.h"
#include "traces/resample.h"
#include "traces/transform.h"

/* The first member of the parameters of every format of jobs. */
struct job_file {
    struct trace_file file;
    bool cpu_jobs;
    struct resample_config resample;
};

/* Opens reader, order and transforms. `file` is the first member of the format's parameters. */
int file_trace_requests(const struct row_format *format, const struct trace_file *file,
                        const struct source_options *options, struct request_source **source, struct diag *diag);
int file_trace_jobs(const struct row_format *format, const struct job_file *file, const struct source_options *options,
                    struct job_source **source, struct diag *diag);

/* Parameters of formats that have none of their own, in the order of the file or sorted by default. */
extern const struct config_field file_trace_request_params[], file_trace_unsorted_request_params[];

/* The same of jobs. */
extern const struct config_field file_trace_job_params[], file_trace_unsorted_job_params[];

#define TRACE_JOB_PARAMS                                                                                               \
    TRACE_PARAM(struct job_file, cpu_jobs, "cpu_jobs", CONFIG_BOOL, "true", 0, 0, "keep jobs that ask for no GPU"),    \
    {                                                                                                                  \
        .name = "resample", .kind = CONFIG_SECTION, .offset = offsetof(struct job_file, resample),                     \
        .fields = resample_config_fields, .help = "jobs at random and without end, until a cluster is full and beyond" \
    }

/* The last step of a job format's row: leaves CPU jobs out when that was asked for, and fills in what is not known (the
 * whole GPU, the duration as estimate, empty names). */
enum row_result file_trace_job(struct reader *reader, struct job_record *job);

/* What a log calls the end of a job, by how the word begins. */
struct fate_word {
    const char *beginning;
    enum job_fate fate;
};

/* The fate that the field tells: JOB_COMPLETES where it is empty, and, counted, where it begins like none of the words, whose
 * last one is NULL. */
enum job_fate file_trace_fate(struct reader *reader, int column, const struct fate_word *words);

#endif
