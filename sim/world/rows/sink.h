/* The stream of rows that a run emits. The store turns it into tables; tests count it. All times in seconds from the
 * start of the run, quantities in SI. Texts are borrowed for the call. */
#ifndef ORRERY_WORLD_ROWS_SINK_H
#define ORRERY_WORLD_ROWS_SINK_H

#include <stdbool.h>
#include <stdint.h>

/* struct metric_row, request_row, ...: tables.inc lists them with their members. */
#define TABLE(name, NAME, keep, text) struct name##_row {
#define INTEGER(column, text) int64_t column;
#define REAL(column, text) double column;
#define TEXT(column, text) const char *column;
#define END(storage) };
#include "sim/world/rows/tables.inc"

/* A run of iterations of a replica with one batch: prompts, in one iteration, or decoding alone in any number of them.
 * It is cut at every decision of the batcher, and where the shares of links of an offloaded batch change. For
 * timelines; no results database keeps it. */
struct batch_row {
    const char *service;
    int64_t replica;
    double start_s, end_s; /* the end of the simulation cuts the last one */
    int64_t iterations;    /* completed */
    int64_t prefill_sequences, prefill_tokens;
    int64_t decoding; /* sequences */
    double full_clock_s;      /* time that it would have taken at the highest clock */
    double clock_frac;        /* clock over the highest; 1: no command of a power policy slows it */
    const char *power_domain, *power_target; /* of that command: "row0", and "low", "high" or "brake"; else NULL */
    double power_given_s, power_since_s;     /* when it was given, and took effect */
};

/* What jobs that wait for whole GPUs meet: when one is submitted, and before each decision of the scheduler. A job on
 * a share of a GPU has no row of its own. Live only, as batch_row. Free GPUs are those of all node types the
 * scheduler uses; GPUs of services and failed nodes are not free. */
struct queue_row {
    double t_s;
    int64_t job, gpus;         /* the job submitted, and what it asks for; -1, 0: before a decision */
    int32_t gpu_milli;         /* of each of these GPUs; 1000: whole ones */
    double free_gpus;          /* INFINITY: unlimited */
    int64_t most_on_node_gpus; /* most free GPUs of one node; -1: jobs are on no node in particular */
    int64_t gpus_per_node;     /* of the largest nodes; 0: no nodes */
    int64_t whole_nodes;       /* of these, wholly free ones */
    int64_t most_beside_gpus;  /* most free GPUs of a node that is not wholly free */
    double other_gpus;         /* in use, but not by jobs */
    int64_t pending, running;  /* jobs, without the one submitted */
    const char *type;          /* of the job submitted; NULL: none, or before a decision */
};

/* A node goes down for repair; when it is back, or waits as a spare node; or a spare node takes the place of one. Live
 * only. */
enum node_step { NODE_DOWN, NODE_BACK, NODE_SPARE, NODE_REPLACES };

struct node_row {
    double t_s;
    enum node_step step;
    int64_t node, gpus;
    const char *cause; /* NODE_DOWN: of failures.causes or failures.domains */
    double down_s;     /* how long it is to be down (INFINITY: for good), or was */
};

/* The clock of a job's GPUs changes while the job holds them, another command sets the same one, or it is below the
 * highest when the job gets them. Live only. */
struct job_clock_row {
    double t_s;
    int64_t job;
    double speed_frac;                       /* of the job, over its speed at the highest clock */
    const char *power_domain, *power_target; /* of the slowest command: as in batch_row; NULL: none slows it */
    double power_given_s, power_since_s;
};

/* A job ceases to hold its GPUs, holds others from now on, or the run ends. What of the time since it last had such a
 * row was no work. Live only. */
struct job_idle_row {
    int64_t job;
    double work_s;                    /* all its work, at the speed that its trace states for the GPUs it asks for */
    double loaded_s, saved_s, moved_s; /* before it worked, stalled while it saved, on its way to other GPUs */
    bool has_interval, has_saved;      /* its policy chose an interval last, not no saves; a save by it has begun */
    double save_interval_s;            /* that: work between two saves; 0 without one */
    double halted_s, kept_s;           /* paused or hung, so that its speed is 0; after its work, until jobs start */
};

/* A command of a power policy takes effect: to the GPUs of a priority in a domain, or to all of them (the brake). Live
 * only. */
struct power_command_row {
    double t_s;
    const char *domain, *target; /* as in batch_row */
    bool holds;                  /* false: it lets go what was in force */
    double given_s;
    double reading_w, budget_w; /* the reading that the policy had when it gave the command; NAN: none yet */
};

/* A hand-over: a request whose prompt one replica has processed decodes at another one. It has a row when the prompt
 * is processed, when the decoding replica has room and takes the request, and when all KV has moved and is taken. A
 * hand-over that a failure ends has no further row. Live only. */
enum handover_step { HANDOVER_PROCESSED, HANDOVER_TAKEN, HANDOVER_ARRIVED };
enum { HANDOVER_PARTS = 2 }; /* all layers but the last, beside the prompt, where they go first; and the rest */

struct handover_row {
    double t_s;
    enum handover_step step;
    const char *service;
    int64_t request, from, to;   /* replicas; to -1: none that decodes is up */
    int64_t blocks, free_blocks; /* HANDOVER_TAKEN: KV blocks that it takes, of so many free ones */
    struct handover_part {       /* HANDOVER_ARRIVED */
        int64_t bytes;           /* 0: there is no such part */
        double start_s, moved_s; /* with the latency */
        double alone_s;          /* the time that it would have taken on otherwise unused links */
        const char *link, *last; /* that limit it then: the first and the last on the way; NULL: no link of the site */
        double link_bytes_per_s; /* of each of them, or of what limits it else; 0: only latency does */
    } parts[HANDOVER_PARTS];
};

/* A request that decodes as several sequences: each but the first has a row when it begins, each but the last one when
 * it ends. Live only. */
struct sequence_row {
    double t_s;
    const char *service;
    int64_t request, sequence; /* its number, from 0 */
    bool begins, is_dropped;   /* is_dropped: its end is that of a beam that loses its place with another one */
    int64_t sequences, live;   /* of the request: all, and those that have not ended */
    int64_t tokens;            /* that it has generated */
};

/* The longest time between two tokens of a request: max_gap_s of its row, which follows. Of equally long ones, the
 * latest; of several sequences, that of one of them. Live only. */
struct token_wait_row {
    const char *service;
    int64_t request;
    double wait_s, from_s; /* from the first of the two tokens on */
};

/* What the queue of a replica waits for from this moment on. Live only. */
enum admission_step {
    ADMISSION_PLANNED, /* the batcher has made a plan; the others say what ended its admissions */
    ADMISSION_HELD,    /* no iteration starts until the replica has new weights */
    ADMISSION_LOADS,   /* KV of the request's prompt comes from a prefix store */
    ADMISSION_LOADED   /* it has come */
};

struct admission_row {
    double t_s;
    const char *service;
    int64_t replica;
    enum admission_step step;
    int64_t request; /* that loads; ADMISSION_PLANNED: at which admissions ended, -1 at none of those that wait */
    int limit;       /* ADMISSION_PLANNED: enum batch_limit (policy/batching.h) */
    bool stands;     /* ADMISSION_PLANNED: the batcher is not asked again for an arrival */
};

/* Every function returns 0 or a negative code, which ends the run. A NULL member: such rows are not wanted. `decision`
 * gets what a policy decided on jobs and on requests that are preempted or rejected. `detail` gets, in the same table,
 * what happens to every request: routed, admitted. `seen`, live only, gets what a router, batcher or scheduler sees,
 * before each of its decisions: the text is the reason, the action "see". */
#define SINK_ROWS(X)                                                                                                   \
    X(request, request_row)                                                                                            \
    X(job, job_row)                                                                                                    \
    X(placement, placement_row)                                                                                        \
    X(lease, lease_row)                                                                                                \
    X(batch, batch_row)                                                                                                \
    X(queue, queue_row)                                                                                                \
    X(job_clock, job_clock_row)                                                                                        \
    X(job_idle, job_idle_row)                                                                                          \
    X(power_command, power_command_row)                                                                                \
    X(node, node_row)                                                                                                  \
    X(handover, handover_row)                                                                                          \
    X(sequence, sequence_row)                                                                                          \
    X(token_wait, token_wait_row)                                                                                      \
    X(admission, admission_row)                                                                                        \
    X(sample, sample_row)                                                                                              \
    X(histogram, histogram_row)                                                                                        \
    X(decision, decision_row)                                                                                          \
    X(detail, decision_row)                                                                                            \
    X(seen, decision_row)                                                                                              \
    X(warning, warning_row)                                                                                            \
    X(metric, metric_row)

struct sink {
    void *context;
#define SINK_MEMBER(name, row_struct) int (*name)(void *context, const struct row_struct *row);
    SINK_ROWS(SINK_MEMBER)
#undef SINK_MEMBER
};

#endif
