/* Rows of an engine's log, in any format: checks them, turns them into requests, and keeps them on request. */
#ifndef ORRERY_TRACES_FORMATS_LOG_ROWS_H
#define ORRERY_TRACES_FORMATS_LOG_ROWS_H

#include "traces/engine_log.h"
#include "traces/reader.h"

#include <stdbool.h>

/* The times of a request in the order in which they come. */
enum log_time { LOG_ARRIVAL, LOG_QUEUED, LOG_SCHEDULED, LOG_FIRST_TOKEN, LOG_LAST_TOKEN, LOG_TIMES };

#define LOG_TIME_UNKNOWN INT64_MIN

/* One row. The arrival may be stamped by another clock than the other times: then it is more than LOG_CLOCKS_NS
 * away. */
struct log_row {
    struct csv_field name; /* empty: the row's number */
    int64_t prompt_tokens, output_tokens;
    sim_ns times_ns[LOG_TIMES];       /* LOG_TIME_UNKNOWN: not logged; never for arrival, first and last token */
    const char *time_names[LOG_TIMES]; /* as the log calls them */
    double tpot_s;                    /* NAN: from the times */
};

/* Requests end within a day; unrelated clocks differ by more. */
#define LOG_CLOCKS_NS (86400 * (int64_t)1000000000)

/* The state of a format (struct row_format, state). */
struct log_rows;

/* NULL when out of memory. With `keep` the rows are kept for log_rows_entries. */
struct log_rows *log_rows_create(bool keep);
void log_rows_destroy(void *rows);

/* Checks a row, keeps it, and makes it a request. */
enum row_result log_rows_take(struct reader *reader, const struct log_row *row, union trace_record *record);

/* The rows that were kept, as entries in `arena`. Returns 0 or SIM_E_NOMEM. */
int log_rows_entries(const struct log_rows *rows, struct arena *arena, struct engine_log *log);

/* The two formats, but for their state. */
extern const struct row_format vllm_log_rows, request_log_rows;

#endif
