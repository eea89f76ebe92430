/* Opens traces as a scenario would: from a JSON text, through the tables of parameters. */
#ifndef ORRERY_TESTS_SUPPORT_TRACE_SOURCE_H
#define ORRERY_TESTS_SUPPORT_TRACE_SOURCE_H

#include "sim/core/config/config.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_source {
    struct config *config;
    struct arena arena;
    struct diag diag;
    struct source_options options;
    struct config_variant variant;
    struct request_source *requests;
    struct job_source *jobs;
    int code;
    char message[1024]; /* the first finding, as the command line prints it */
};

/* Opens {'format': ...}, with ' for " and printf's conversions, as requests or jobs. Returns the code, also kept in
 * trace->code. To be closed in every case. */
int trace_source_requests(struct trace_source *trace, uint64_t seed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int trace_source_jobs(struct trace_source *trace, uint64_t seed, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void trace_source_fini(struct trace_source *trace);

/* The next record: 1, 0, or a code with the message set. */
int trace_source_request(struct trace_source *trace, struct request_record *record);
int trace_source_job(struct trace_source *trace, struct job_record *record);

struct trace_totals {
    int code; /* what the last call returned: 0 at a sound end */
    int64_t n, prompt_tokens, output_tokens, blocks;
    sim_ns first_ns, last_ns;
    bool ordered; /* by time */
};

/* Reads all requests that are left. */
struct trace_totals trace_source_totals(struct trace_source *trace);

/* The count of a note of the source; 0 when it has none of this code. */
int64_t trace_source_note(const struct trace_source *trace, const char *code);

/* Reads the job profiles of {"profiles": {"format": ...}}, struct job_profile; findings go to `diag`. */
int trace_source_profiles(const char *json, struct arena *arena, struct config_list *profiles, struct diag *diag);

/* Writes a file into a fresh directory and returns its path. */
const char *trace_source_file(const char *name, const char *text);
const char *trace_source_file_bytes(const char *name, const void *bytes, size_t n_bytes);

#endif
