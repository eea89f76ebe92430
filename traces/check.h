#ifndef ORRERY_TRACES_CHECK_H
#define ORRERY_TRACES_CHECK_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"

#include <stdint.h>

/* Reads a trace to its end and reports everything that is wrong with it. */
struct trace_check {
    int64_t n_rows, n_records, n_bad_rows; /* rows of the file; records read; rows reported as errors */
    sim_ns first_ns, last_ns;              /* arrivals of the first and the last record */
    int64_t prompt_tokens, output_tokens;  /* of all records that are requests */
    int64_t n_same_ids, first_same_id;     /* jobs with the id of an earlier one; that of the first of them */
};

/* All bad rows go to the diag, which keeps the first ones and counts the rest. If no row is right, rows that are wrong
 * in one way are one finding. Ids of jobs are kept: memory grows with their number. Returns 0 when there was none,
 * else the code of the first one. */
int trace_check_requests(struct request_source *source, struct trace_check *check, struct diag *diag);
int trace_check_jobs(struct job_source *source, struct trace_check *check, struct diag *diag);

#endif
