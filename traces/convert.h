/* Writes traces to files: as canonical tables, or with the columns of a public format. */
#ifndef ORRERY_TRACES_CONVERT_H
#define ORRERY_TRACES_CONVERT_H

#include "sim/core/err.h"
#include "sim/core/text.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A way to write records; the trace format of the same name reads it back.
 *     csv         arrival_s,prompt_tokens,output_tokens,prefix_blocks and, if requests have one, class; lossless
 *                 except for the size of the blocks
 *     csv-chunks  csv with a column chunks before class; lossless with the same exception
 *     azure-llm   times to 100 ns, from 2024-01-01 00:00:00 on
 *     mooncake    JSON Lines; times to 1 ms
 *     sessions    JSON Lines, one per session (traces/formats/sessions.c); lossless. Only of a source of sessions
 *     csv-jobs    job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group,user,type,fate,gpu_models,
 *                 cpu_milli,memory_bytes; lossless except for the loss of a trial. Not of jobs that come after others,
 *                 nor of those that state steps in place of a run time
 *     csv-graphs  the same, and after: the jobs that it comes after
 *     philly      times to 1 s, from 2024-01-01 00:00:00 on */
struct trace_writer {
    const char *name, *summary;
    const char *header;       /* "" for none */
    const char *class_header; /* for traces with classes; NULL: no other */
    bool says_needs;          /* which jobs a job comes after */
    bool writes_chunks;       /* of prompts; it warns where others leave them out */
    bool writes_sessions;     /* that a log names; likewise */
    bool writes_blocks;       /* prefix blocks, without their size; it warns where that is not the reader's default */
    bool writes_job_details;  /* what jobs ask for, and how they end; it warns where others leave them out */
    bool writes_classes;      /* of requests; it warns where others leave them out, as of blocks */
    void (*request)(struct text *text, const struct request_record *record);
    void (*session)(struct text *text, const struct request_record *first, const struct session_plan *plan);
    void (*job)(struct text *text, const struct job_record *record); /* exactly one of the three is set */
};

/* The writer of this name, or NULL; the index-th one, NULL past the last. */
const struct trace_writer *trace_writer_find(const char *name);
const struct trace_writer *trace_writer_at(size_t index);

/* Reads the source to its end and writes it to a file, compressed when the path ends in ".gz". Sets *n to the records
 * written: requests, sessions or jobs. A writer of sessions needs a source of sessions. Returns 0, what the source
 * returned, SIM_E_IO or SIM_E_NOMEM; after an error there is no file. */
int trace_convert_requests(struct request_source *source, const struct trace_writer *writer, const char *path,
                           int64_t *n, struct diag *diag);
int trace_convert_jobs(struct job_source *source, const struct trace_writer *writer, const char *path, int64_t *n,
                       struct diag *diag);

#endif
