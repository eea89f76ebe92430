#include "traces/formats/file_trace.h"

#include <string.h>

#include "traces/order.h"

const struct config_field file_trace_request_params[] = {
    TRACE_TIME_PARAMS, TRACE_LENGTH_PARAMS, TRACE_FILE_PARAMS("false"), {0}};

const struct config_field file_trace_unsorted_request_params[] = {
    TRACE_TIME_PARAMS, TRACE_LENGTH_PARAMS, TRACE_FILE_PARAMS("true"), {0}};

const struct config_field file_trace_job_params[] = {
    TRACE_TIME_PARAMS, TRACE_FILE_PARAMS("false"), TRACE_JOB_PARAMS, {0}};

const struct config_field file_trace_unsorted_job_params[] = {
    TRACE_TIME_PARAMS, TRACE_FILE_PARAMS("true"), TRACE_JOB_PARAMS, {0}};

static int open_stream(const struct row_format *format, const struct trace_file *file,
                       const struct source_options *options, struct stream **stream, struct diag *diag)
{
    int code = reader_open(format, file, stream, diag);
    if (code == 0) code = order_open(file->sort, format->from_first, format->requests, *stream, stream, diag);
    if (code == 0) code = transform_open(&file->transform, options, format->requests, *stream, stream, diag);
    return code;
}

int file_trace_requests(const struct row_format *format, const struct trace_file *file,
                        const struct source_options *options, struct request_source **source, struct diag *diag)
{
    struct stream *stream;
    int code = open_stream(format, file, options, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

int file_trace_jobs(const struct row_format *format, const struct job_file *file, const struct source_options *options,
                    struct job_source **source, struct diag *diag)
{
    struct stream *stream;
    int code = open_stream(format, &file->file, options, &stream, diag);
    if (code == 0) code = resample_open(&file->resample, options, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

enum row_result file_trace_job(struct reader *reader, struct job_record *job)
{
    const struct job_file *params = (const struct job_file *)reader->file;
    if (job->gpus == 0 && !params->cpu_jobs) return reader_leave_out(reader, "cpu-job", "jobs without GPUs left out");
    if (job->gpus != 1 || job->gpu_milli == 0) job->gpu_milli = 1000;
    if (job->estimate_ns == 0) job->estimate_ns = job->duration_ns;
    if (job->group == NULL) job->group = "";
    if (job->user == NULL) job->user = "";
    if (job->type == NULL) job->type = "";
    return ROW_KEPT;
}

enum job_fate file_trace_fate(struct reader *reader, int column, const struct fate_word *words)
{
    if (!reader_has(reader, column)) return JOB_COMPLETES;
    const struct csv_field text = reader_text(reader, column);
    for (; words->beginning != NULL; words++) {
        const size_t length = strlen(words->beginning);
        if (text.n_chars >= length && memcmp(text.chars, words->beginning, length) == 0) return words->fate;
    }
    reader_note(reader, "unknown-state", "jobs in a state that is not known taken for completed");
    return JOB_COMPLETES;
}
