/* A test bed: runs a scenario given as text, in memory, and keeps every row. */
#ifndef ORRERY_TESTS_SUPPORT_BED_H
#define ORRERY_TESTS_SUPPORT_BED_H

#include "sim/core/engine.h"
#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/world/policy/all.h"
#include "sim/world/rows/sink.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Batchers as configured, of every way to order, to chunk and to preempt that prefixes could disturb. */
enum { BED_BATCHERS = 8 };
extern const char *const bed_batchers[BED_BATCHERS];

struct bed_options {
    enum queue_kind queue;
    bool single_step, check;
    const char *const *sets;     /* NULL-terminated "a.b=c" */
    const struct policy *policy; /* one more than those that are listed, by its own name */
    uint64_t stall_events;       /* of the watchdog; 0: its default */
    bool quiet;                  /* findings are expected: do not print them */
    bool no_detail;              /* do not ask what every request meets with */
    bool no_batches;             /* nor for batches, so that iterations with drafts are computed ahead */
    const struct sink *also;     /* gets all rows that it wants, too */
    bool no_rows;                /* nor for rows of requests, whose classes may have any name then */
};

struct bed_metric {
    char name[64];
    double value;
};

struct bed_decision {
    double t_s;
    char service[16], policy[32], action[16], reason[192];
    int64_t subject;
};

struct bed_warning {
    const char *code, *text; /* equal texts are one text */
};

struct bed_sample {
    const char *series, *entity; /* equal texts are one text, in all rows */
    double t_s, value;
};

/* Texts of the rows point to static strings or are NULL. */
struct bed_rows {
    int code; /* of the run */
    struct request_row *requests;
    size_t n_requests;
    struct job_row *jobs;
    size_t n_jobs;
    struct bed_metric *metrics;
    size_t n_metrics;
    struct bed_decision *decisions; /* in the order in which they came */
    struct placement_row *placements;
    size_t n_placements;
    struct lease_row *leases; /* without the names of offers and GPUs */
    size_t n_leases;
    struct batch_row *batches; /* without the service's name */
    size_t n_batches;
    struct bed_warning *warnings;
    struct bed_sample *samples;
    size_t n_samples;
    size_t n_decisions, n_warnings;
    char others[HASH_HEX_CHARS]; /* hash of all decision, warning and histogram rows, in order */
    int64_t n_token_gaps; /* in the histogram rows */
    double end_s;
    struct engine_stats engine;
    struct diag diag;
    struct hash *hash; /* while it runs */
};

#define BED(...) (&(const struct bed_options){__VA_ARGS__})

/* Runs a scenario: JSON with ' for " and printf's conversions; \\u0027 is an apostrophe. Its paths are relative to the
 * repository. NULL: no options. A failure of any kind is in rows->code and rows->diag. The rows live until the test
 * ends; a test that runs very many scenarios calls bed_free before. */
struct bed_rows *bed_run(const struct bed_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Runs, and checks that the code is 0. */
struct bed_rows *bed_ok(const struct bed_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct bed_rows *bed_vrun(const struct bed_options *options, const char *format, va_list arguments);
void bed_free(struct bed_rows *rows);

/* NAN when there is no such metric. */
double bed_metric(const struct bed_rows *rows, const char *name);

/* The row of this id, or NULL. */
const struct request_row *bed_request(const struct bed_rows *rows, int64_t id);
const struct job_row *bed_job(const struct bed_rows *rows, int64_t id);

/* The text of the warning with this code, or NULL. */
const char *bed_warning(const struct bed_rows *rows, const char *code);

/* How many decisions are of this action, about this subject or (-1) about any. */
size_t bed_decisions(const struct bed_rows *rows, const char *action, int64_t subject);

/* Whether both runs gave the same rows and metrics, bit for bit. */
bool bed_equal(const struct bed_rows *a, const struct bed_rows *b);

#endif
