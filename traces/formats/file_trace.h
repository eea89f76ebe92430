/* Shared by all formats that read files: opens a source from a format's row description. */
#ifndef ORRERY_TRACES_FORMATS_FILE_TRACE_H
#define ORRERY_TRACES_FORMATS_FILE_TRACE_H

#include "sim/world/rows/source.h"
#include "traces/generate/arrival.h"
#include "traces/reader.h"
#include "traces/resample.h"
#include "traces/transform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Starts the arrival process of a file whose requests have no times. *arrivals stays NULL if the variant names none.
 * Returns 0, SIM_E_CONFIG (a closed loop) or SIM_E_NOMEM. */
int file_trace_arrivals(const struct config_variant *variant, const struct source_options *options,
                        struct arrivals **arrivals, struct diag *diag);

/* Writes how to name an arrival process for such a file: as JSON and as --set, or for 'orrery trace' as --set alone. */
void file_trace_arrival_hint(const struct source_options *options, const char *process, const char *rate, char *hint,
                             size_t hint_bytes);

/* Puts order and transforms behind a stream of requests, which it takes over, also on failure. `from_first` must live
 * as long as the stream. */
int file_trace_stages(struct stream *stream, bool sort, const bool *from_first, const struct trace_transform *transform,
                      const struct source_options *options, struct request_source **source, struct diag *diag);

/* Parameters of request formats without further ones; in file order, or sorted by default. */
extern const struct config_field file_trace_request_params[], file_trace_unsorted_request_params[];

/* Parameters of job formats without further ones. */
extern const struct config_field file_trace_job_params[], file_trace_unsorted_job_params[];

#define TRACE_JOB_PARAMS                                                                                               \
    TRACE_PARAM(struct job_file, cpu_jobs, "cpu_jobs", CONFIG_BOOL, "true", 0, 0, "keep jobs without GPUs"),    \
    {                                                                                                                  \
        .name = "resample", .kind = CONFIG_SECTION, .offset = offsetof(struct job_file, resample),                     \
        .fields = resample_config_fields, .help = "jobs in random order that never end, until they overfill a cluster" \
    }

/* The last step of a job format's row. Leaves CPU jobs out unless cpu_jobs is set, and fills in defaults: the whole
 * GPU, the duration as estimate, empty names. */
enum row_result file_trace_job(struct reader *reader, struct job_record *job);

/* Sets id, group, user and type from the columns. The id stays as it is if the field is no whole number >= 0; a column
 * that is absent gives "". Returns false when memory ran out, which it notes. */
bool file_trace_names(struct reader *reader, int id, int group, int user, int type, struct job_record *job);

/* The type "TEXT-NUMBER" of the text in a column, interned. NULL after noting that the text is no name, or that memory
 * ran out. */
const char *file_trace_type(struct reader *reader, int column, int64_t number);

/* A job status as a log spells it, by the beginning of the word, in capitals or not. */
struct status_word {
    const char *beginning;
    enum job_status status;
};

/* The final status in the field: JOB_COMPLETES if it is empty or matches none of the words, which is counted. The last
 * word is NULL. */
enum job_status file_trace_status(struct reader *reader, int column, const struct status_word *words);

/* --- Prefix blocks --- */

/* Ids of the prompt blocks of the current row, and the block size of the trace. */
struct prefix_blocks {
    size_t n, capacity;
    uint64_t *ids;
};

void *prefix_blocks_create(void); /* NULL when out of memory */
void prefix_blocks_destroy(void *blocks);
bool prefix_blocks_add(struct prefix_blocks *blocks, uint64_t id); /* false when out of memory */

/* Lends the ids to a record, until the next row. */
void prefix_blocks_give(const struct prefix_blocks *blocks, int64_t block_tokens, struct request_record *request);

/* The parameter "block_tokens", of a struct ROW_OF with this member. */
#define PREFIX_BLOCK_PARAM                                                                                             \
    ROW_INT("block_tokens", block_tokens, DEFAULT("512"), WITHIN(1, 1e6), "tokens per prefix block")

#endif
