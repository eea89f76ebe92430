/* The stream of records that a run consumes. Every trace reader and generator is a source. The world pulls one
 * record at a time, so memory does not grow with the length of a trace.
 *
 * Times are relative to the start of the run and never run backwards: a reader of a format that is not sorted sorts. */
#ifndef ORRERY_WORLD_ROWS_SOURCE_H
#define ORRERY_WORLD_ROWS_SOURCE_H

#include "sim/core/config/config.h"
#include "sim/core/err.h"
#include "sim/core/units.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { REQUEST_CLASS_CHARS = 64 }; /* of the longest name of a class */

/* A piece of a prompt with a content of its own, such as a retrieved text: equal ids mean equal tokens. */
struct prompt_chunk {
    uint64_t id;
    int32_t tokens; /* >= 1 */
};

struct request_record {
    int64_t id;          /* 0-based row of the trace, before thinning: the same request under every transform */
    sim_ns arrival_ns;
    int32_t prompt_tokens; /* >= 1 */
    int32_t output_tokens; /* >= 1: the first one comes out of the prefill */
    int32_t n_prefix_blocks;
    /* of each prefix block but the last; 0 when the source names none, in this row or others */
    int32_t prefix_block_tokens;
    const uint64_t *prefix_blocks; /* hash ids of the prompt's blocks, valid until the next record; NULL when unknown */
    /* The blocks go on over the output: they are the full ones of all tokens but the last, which is never processed. */
    bool prefix_covers_output;
    int32_t n_chunks;
    /* The prompt begins with these, in this order; their tokens are at most the prompt's. Valid until the next record;
     * NULL: none are known. */
    const struct prompt_chunk *chunks;
    int64_t session_id; /* from 1 on; 0: of no session */
    sim_ns session_start_ns;
    int32_t repeated_tokens; /* of the prompt, those of the session so far or of its system prompt */
    bool starts_session, ends_session; /* its first request; its last one */
    /* The session is what a log names: later requests arrive at their own times. Whether others follow is unknown, as
     * are the tokens that it repeats. */
    bool session_is_logged;
    const char *class_name;        /* interned for the life of the source; NULL: as all of its requests, of no class */
};

/* Status of a job at the end of its run time. No scheduler decides it. */
enum job_status { JOB_COMPLETES, JOB_IS_CANCELLED, JOB_FAILS };

/* A job that must have ended before another one starts, and what the other then waits for. */
struct job_need {
    int64_t job;     /* its id: of an earlier record */
    sim_ns delay_ns; /* >= 0: of its data, unless the other runs on its first node */
    bool keeps_gpus; /* it keeps its GPUs after its end, until the other one starts */
};

struct job_record {
    int64_t id;           /* as in the trace when it is a number, else the 0-based row */
    sim_ns submit_ns;
    sim_ns duration_ns;   /* run time on the requested GPUs until it ends, >= 0 */
    enum job_status status; /* JOB_COMPLETES when unknown */
    int64_t steps;        /* of training, in place of the run time; 0: the run time counts; -1: neither is known */
    sim_ns estimate_ns;   /* run time stated by the user; the duration when unknown */
    int32_t gpus;         /* >= 0; 0: a CPU job */
    int32_t nodes;        /* asked for; 0: free choice */
    int32_t gpu_milli;    /* share of one GPU in 1/1000 when gpus == 1; else 1000 */
    const char *group;    /* virtual cluster, partition or type; interned for the life of the source; "" when unknown */
    const char *user;     /* who submitted it; interned for the life of the source; "" or NULL when unknown */
    const char *type; /* name of its kind, interned for the life of the source; "" or NULL when unknown */
    int64_t cpu_milli, memory_bytes; /* of all its nodes together; 0: unknown */
    const char *gpu_models; /* acceptable GPU models, "A|B"; interned for the life of the source; NULL or "": any */
    const struct job_need *needs; /* [n_needs], for the life of the source. However they end, the job may start then */
    bool has_loss;
    double loss; /* of a trial: that it reaches at its end, if has_loss */
    int32_t n_needs, n_enough; /* n_enough: of the needs, so many must have ended; 0: all */
};

/* Where a source is in its file, for messages and progress. */
struct source_place {
    int64_t row;
    double done_frac; /* of the bytes read; 0 when unknown */
    sim_ns origin_ns; /* calendar time of time 0, since 1970, once a record was read; 0: unknown, or not the user's */
};

/* Code of notes about jobs whose batch size changes. No warning where types have regimes (sim/world/jobs). */
#define SOURCE_UNPROFILED "unprofiled"

/* Records that a source left out or changed, counted by reason: a warning of the run. */
struct source_note {
    const char *code; /* "failed-request" */
    const char *text; /* "requests without response tokens left out" */
    const char *where; /* file:line of the first; may be NULL */
    int64_t count;
};

/* note->where without its folders, so that a warning does not depend on where the file lies; "" if it is NULL. */
static inline const char *source_note_place(const struct source_note *note)
{
    const char *slash = note->where != NULL ? strrchr(note->where, '/') : NULL;
    return slash != NULL ? slash + 1 : note->where != NULL ? note->where : "";
}

struct session_plan;

/* A request that has left the service. */
struct request_end {
    int64_t id, session_id;
    sim_ns now_ns;
    bool is_answered; /* false: it was rejected */
};

enum { FOLLOW_MORE = 2 };

/* next: 1 with a record, 0 at the end, or a negative code with file:line:col in the diag. After SIM_E_DATA the next
 * call goes on behind the bad row, so that a check can report them all; after any other error the source is at its
 * end.
 *
 * note: writes the index-th note; false past the last one. Notes are complete at the end of the source.
 *
 * follow: NULL unless the source is a closed loop. Called once for every request that ends, including those that
 * follow returned. Returns 1 with the next request of the same user, which arrives at or after `now_ns`; FOLLOW_MORE
 * with one of several, so that it is called again for the next one; 0 if there is none; or a negative code.
 *
 * session: NULL unless its closed loops are sessions (traces/session.h), which begin at their own times. The plan of a
 * session that has not ended, until the next call of next or follow; NULL: there is none. */
struct request_source {
    int (*next)(struct request_source *source, struct request_record *record, struct diag *diag);
    int (*follow)(struct request_source *source, const struct request_end *end, struct request_record *record,
                  struct diag *diag);
    const struct session_plan *(*session)(const struct request_source *source, int64_t session_id);
    struct source_place (*place)(const struct request_source *source);
    bool (*note)(const struct request_source *source, size_t index, struct source_note *note);
    void (*close)(struct request_source *source);
};

struct job_source {
    int (*next)(struct job_source *source, struct job_record *record, struct diag *diag);
    struct source_place (*place)(const struct job_source *source);
    bool (*note)(const struct job_source *source, size_t index, struct source_note *note);
    void (*close)(struct job_source *source);
};

struct source_options {
    uint64_t seed;
    uint32_t run;
    const char *stream;  /* name of the service or "jobs": keys the random streams of transforms and generators */
    const char *where;   /* config path of the trace section, for findings about its parameters */

    /* `next` returns SIM_E_INTERRUPTED, without a finding, soon after this becomes non-zero. NULL: never. */
    const volatile sig_atomic_t *interrupt;
};

/* For loops over records that are not given to the world: they may be many. */
static inline bool source_is_interrupted(const volatile sig_atomic_t *interrupt)
{
    return interrupt != NULL && *interrupt != 0;
}

/* A trace format or generator, as the roof lists it: the family "request-trace" or "job-trace", tag "format". Exactly
 * one of the two open functions is set. Every alternative's parameters start with the transforms they share (window,
 * rate scale, thinning, clipping, jitter), so that a scenario writes them beside the format's own. `params` and
 * `options` must outlive the source. */
/* Where a public trace can be had. */
struct public_trace {
    const char *address; /* of its repository; NULL: no public trace is known */
    const char *path;    /* a file or folder there; NULL: not known */
    const char *licence; /* as the repository states it; NULL: not known */
};

/* What a trace's jobs meet. */
struct trace_site {
    int64_t n_nodes, gpus_per_node;  /* 0: GPUs are only counted */
    const char *const *loading_types; /* types of jobs that load something; ends with NULL */
};

struct trace_format {
    const char *name, *summary, *source;
    struct public_trace published;
    const struct config_field *params;
    size_t params_bytes;

    const char *const *job_types; /* types that its jobs may have, by its parameters; NULL, or ends with NULL */

    /* What of a cluster does not suit the trace with these parameters, as a sentence without its end; NULL: nothing is.
     * NULL function: everything suits. */
    const char *(*misfit)(const void *params, const struct trace_site *site);

    /* What its files begin with, for traces that name no format; all NULL: it cannot be recognised. */
    const char *header;    /* column names that its header has: "a,b", in any order */
    const char *members;   /* keys that its first JSON object has: "a,b" */
    const char *first_row; /* in files without header: an extended regular expression for the first row */

    int (*open_requests)(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag);
    int (*open_jobs)(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag);
};

/* --- Profiles of job types --- */

/* Speed on GPUs of a type: 1 is that of the trace's run times. */
struct gpu_speed {
    const char *gpu;
    double speed;
};

/* Speeds beside a job of another type, or of its own. */
struct pair_config {
    const char *type;          /* of the other job */
    struct config_list speeds; /* struct gpu_speed */
};

/* A part of a job's epochs, with one batch size. */
struct job_regime {
    double epochs;      /* relative to the other regimes of the type */
    double speed;       /* epochs per time; 1: that of the first batch size */
    double steps_per_s; /* on the requested GPUs at speed 1 there; 0: not stated */
};

/* What a file of measurements tells of a type of jobs; lists may be empty. */
struct job_profile {
    const char *type;
    struct config_list speeds; /* struct gpu_speed: alone */
    struct config_list pairs;  /* struct pair_config */
    struct config_list phases; /* double: seconds of an iteration on each resource */
    struct config_list regimes; /* struct job_regime: its batch sizes */
};

/* A format of such files, as the roof lists it: the family "job-profile", tag "format". */
struct job_profile_format {
    const char *name, *summary, *source;
    const struct config_field *params;
    size_t params_bytes;

    /* Sets *profiles to the types of the file, struct job_profile, in its order, in the arena. Returns 0 or a negative
     * code with a finding. */
    int (*read)(const void *params, struct arena *arena, struct config_list *profiles, struct diag *diag);
};

#endif
