/* The stream of rows that a run emits. The store turns it into tables; tests count it. All times in seconds from the start of
 * the run, quantities in SI. Texts are borrowed for the call. NAN stands for "does not apply" and becomes NULL. */
#ifndef ORRERY_WORLD_ROWS_SINK_H
#define ORRERY_WORLD_ROWS_SINK_H

#include <stdint.h>

struct request_row {
    int64_t id;
    const char *service;
    double arrival_s;
    int64_t prompt_tokens, output_tokens; /* output: generated so far when not finished */
    int64_t replica;                      /* -1: none */
    double queue_s;                       /* arrival to first scheduled */
    double ttft_s, tpot_s, e2e_s;         /* TPOT: (finish - first token) / (output tokens - 1); NAN for one token */
    double max_gap_s;                     /* longest time between two of its tokens */
    int64_t preemptions, cached_tokens;
    const char *status;                   /* "finished", "rejected", "unfinished" */
    const char *class_name;               /* "" or NULL: its service has no classes */
};

struct job_row {
    int64_t id;
    double submit_s, start_s, end_s; /* first start; NAN when it never happened */
    int64_t gpus;
    double gpu_s;  /* GPU-seconds held */
    double jct_s;  /* end - submit */
    int64_t preemptions, restarts;
    double lost_gpu_s;
    const char *status; /* "finished", "cancelled", "failed" (what became of it at its end), "rejected", "unfinished" */
    double energy_j;    /* that its GPUs drew while it held them; NAN: nobody counts power */
};

/* A stretch of time that a job holds GPUs of one node. */
struct placement_row {
    int64_t job;
    int64_t node; /* of the site; -1: on no node in particular */
    int64_t gpus; /* that it holds there, or one of which it holds a share */
    double start_s, end_s;
};

/* GPUs that were rented, with their bill: the bills of all rows add up to the run's, to the micro-dollar. */
struct lease_row {
    int64_t id;
    const char *offer, *kind; /* "on-demand", "reserved", "spot" */
    const char *gpu;          /* type of the GPUs; "": the scenario does not say */
    const char *use;          /* "jobs", "services" */
    int64_t job;              /* that it was for; -1: for whoever there was, the whole run */
    int64_t node;             /* of the site, where all of them were; -1: on several, or on none in particular */
    double gpus;
    double start_s, end_s; /* billed from, and held until */
    int64_t quanta;        /* of billing */
    double usd_per_h;      /* of one GPU, at its start */
    int64_t cost_uusd;     /* micro-dollars */
    const char *fate;      /* "returned", "lost" before its time, "open" at the end of the run */
};

/* A run of iterations that a replica does with the same batch, cut at every decision of the batcher, and where an offloaded
 * batch goes on with other shares of its links: prompts, in one
 * iteration, or decoding alone in any number of them. For timelines; no results database keeps it. */
struct batch_row {
    const char *service;
    int64_t replica;
    double start_s, end_s; /* the end of the simulation cuts the last one */
    int64_t iterations;    /* completed */
    int64_t prefill_sequences, prefill_tokens;
    int64_t decoding; /* sequences */
};

/* The value of a time series at one moment, when everything of that moment has happened. */
struct sample_row {
    const char *series, *entity; /* sampler.h lists the series; entity: "chat", "chat/0"; empty: of the whole site */
    double t_s, value;
};

struct histogram_row {
    const char *name;
    double lower, upper; /* lower <= value < upper */
    int64_t count;
};

struct decision_row {
    double t_s;
    const char *service; /* whose request it is about, since services count their requests each; empty: it is about a job */
    const char *policy, *action;
    int64_t subject; /* id of the job or request */
    const char *reason;
};

struct warning_row {
    double t_s;
    const char *code, *text;
    int64_t count;
};

struct metric_row {
    const char *name, *unit;
    double value;
};

/* Every function returns 0 or a negative code, which ends the run. A NULL member: such rows are not wanted. `decision` gets
 * what a policy did to jobs and to requests that were out of luck; `detail` gets, in the same table, what every request
 * meets with: routed, admitted. */
#define SINK_ROWS(X)                                                                                                   \
    X(request, request_row)                                                                                            \
    X(job, job_row)                                                                                                    \
    X(placement, placement_row)                                                                                        \
    X(lease, lease_row)                                                                                                \
    X(batch, batch_row)                                                                                                \
    X(sample, sample_row)                                                                                              \
    X(histogram, histogram_row)                                                                                        \
    X(decision, decision_row)                                                                                          \
    X(detail, decision_row)                                                                                            \
    X(warning, warning_row)                                                                                            \
    X(metric, metric_row)

struct sink {
    void *context;
#define SINK_MEMBER(name, row_struct) int (*name)(void *context, const struct row_struct *row);
    SINK_ROWS(SINK_MEMBER)
#undef SINK_MEMBER
};

#endif
