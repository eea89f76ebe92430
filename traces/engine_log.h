/* Logs of real engines: arrivals, lengths and measured latencies of requests.
 *
 * Four formats are logs (list.h): "vllm-log", JSON Lines with the times of vLLM's RequestStateStats, "request-log", a
 * table, and "vllm-bench" and "sglang-bench", results of benchmarks. Read as traces they give arrivals and lengths;
 * read here they also give the measurements. */
#ifndef ORRERY_TRACES_ENGINE_LOG_H
#define ORRERY_TRACES_ENGINE_LOG_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request. Times in seconds, by the definitions of struct request_row (sim/world/rows/sink.h). */
struct log_entry {
    int64_t id;       /* 0-based row of the log, as in its request_record */
    const char *name; /* its id in the log */
    sim_ns arrival_ns; /* 0: the first arrival of the log */
    int64_t prompt_tokens, output_tokens;
    double queue_s; /* NAN: not logged */
    double ttft_s, tpot_s, e2e_s; /* TPOT: NAN for one output token; a benchmark: all NAN if it was not streamed */
};

struct engine_log {
    const char *format;        /* "vllm-log", "request-log", "vllm-bench", "sglang-bench" */
    struct log_entry *entries; /* in the order of the rows, without those that a trace leaves out */
    size_t n;
    bool draws_arrivals;     /* the file has no arrivals: those of the entries are 0, a trace draws its own */
    int64_t max_concurrency; /* of a benchmark whose requests waited for earlier ones to end; 0: no such limit */
    size_t n_untimed;        /* entries without times */
};

/* Guesses the format of a log: '{' begins JSON, of a benchmark if it has its keys. Sets its name. Returns 0, SIM_E_IO,
 * SIM_E_DATA (an empty file) or SIM_E_NOMEM. */
int engine_log_guess(const char *path, const char **format, struct diag *diag);

/* Whether a trace format is a log; one with a row for each request. */
bool engine_log_is(const char *format);
bool engine_log_has_rows(const char *format);

/* Reads a log into `arena`. `format` is one for which engine_log_is holds. Up to allow_bad_rows rows that cannot be
 * read are left out, of formats with rows. Returns 0, SIM_E_IO, SIM_E_DATA with file:line of the first bad row beyond
 * these, or SIM_E_NOMEM.
 *
 * vLLM stamps the arrival by the wall clock and all later times by a clock of its own. Then the two clocks are aligned
 * by the request that was queued soonest after its arrival, which is assumed to have been queued at once. */
int engine_log_read(const char *path, const char *format, int64_t allow_bad_rows, struct arena *arena,
                    struct engine_log *log, struct diag *diag);

#endif
