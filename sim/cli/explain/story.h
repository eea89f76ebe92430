/* The life of one request or job, gathered from the rows of its run: what happened to it when, what its replica did
 * meanwhile, and which commands of the power policy slowed it down. */
#ifndef ORRERY_CLI_EXPLAIN_STORY_H
#define ORRERY_CLI_EXPLAIN_STORY_H

#include "sim/cli/explain/story_blocked.h"
#include "sim/core/mem.h"
#include "sim/world/rows/sink.h"

#include <stdbool.h>
#include <stddef.h>

/* The request or job. */
struct story_subject {
    bool is_job;
    int64_t id;
    const char *service; /* of a request; empty for a job */
    bool drafts;         /* the service speculates: an iteration may bring several tokens */
    bool has_stages;     /* pipeline stages: batches overlap, and their rows do not tell which is its own */
};

struct story_event {
    double t_s;
    size_t number;           /* order of arrival */
    const char *what, *text; /* "admit", and its reason or a description; of a command the effect, until story_end */
    int64_t command;         /* of the power policy, index in the story's; -1: none */
    double speed_frac;       /* of a job from then on, if its clock is set; NAN: no such event */
    int64_t held_gpus;       /* of a node, by a job from then on; 0: no such event */
    double held_s;
};

/* Time in which a job runs slower than at its highest clock. */
struct story_slowed {
    double total_s, from_s;      /* from_s: of the present stretch; NAN: none is */
    double least_frac, most_frac; /* of its full speed meanwhile */
};

/* The work of a job, and the time in which it held GPUs without working. */
struct story_idle {
    double work_s;                     /* 0: not known yet */
    double loaded_s, saved_s, moved_s, halted_s, kept_s; /* as in job_idle_row */
    bool has_interval, has_saved;
    double save_interval_s;
};

/* Work of a replica over some time. */
struct story_work {
    int64_t prefill_iterations, decode_iterations, prefill_tokens;
    double slowed_s; /* time that lower clocks added */
};

/* Iterations with prompts of others, while a request decodes. */
struct story_prompts {
    int64_t n, tokens;
    double time_s;
};

/* What a request decodes beside, from its first token in the batch until it leaves the batch. */
struct story_decoding {
    int64_t n;               /* iterations that gave it tokens */
    double time_s, slowed_s; /* between these tokens; what lower clocks added */
    double sequences, own;   /* that decode, all and its own, summed over these iterations */
    struct story_prompts others; /* between these tokens */
};

/* The sequences that a request has become. */
struct story_sequences {
    int64_t n;        /* 0: it is one */
    int64_t decoding; /* in the batch */
    int64_t prompts;  /* pieces of prompts of its sequences in the next batch */
    double forked_at_s; /* NAN: never */
};

/* A replica of the request's service. */
struct story_replica {
    double up_s;                      /* since when it takes requests; NAN: since the start */
    const char *failed_by;            /* "gpu on node 3"; NULL: it has not failed */
    int64_t n_routed, n_service;      /* requests since then, to it and to all replicas */
    struct queue_state queue;         /* by the latest row of its queue */
};

/* A command of a power policy to a group of GPUs, or its brake, in a domain. */
struct story_command {
    const char *domain, *target; /* "row0"; "low", "high" or "brake" */
    const char *policy, *reason;
    double t_s;
    double since_s, until_s;    /* in force; NAN: not yet, not so far */
    double reading_w, budget_w; /* that the policy saw when it gave the command; NAN: no reading yet */
    bool is_told;               /* among the events */
};

/* A job's wait for GPUs since its submission, a preemption or a failure. */
struct story_queue {
    bool waits, has_latest;
    double from_s, most_free_gpus;
    int64_t gpus;                /* that it asks for */
    int32_t gpu_milli;           /* of each of them */
    int64_t n_decisions;         /* that did not start it */
    int64_t n_enough, n_divided; /* before which enough GPUs were free; enough, but not on one node or whole ones */
    int64_t node_parts;          /* nodes on which its GPUs have room, if these are empty */
    int64_t n_others, other;     /* that had room for it, but started others; one of these */
    struct queue_row latest;     /* before a decision whose outcome is not yet known */
    int64_t started;             /* a job that this decision started; -1: none so far */
};

/* All waits of a job for GPUs. */
struct story_waits {
    int64_t n, n_stops;              /* waits of some length; preemptions and failures that took its GPUs */
    double total_s, before_start_s;  /* of all waits, and of the one before its first start */
    double longest_s, longest_from_s;
};

struct story {
    struct arena *arena;
    struct story_subject subject;
    struct request_row request; /* service is NULL until the row arrives */
    struct job_row job;         /* status is NULL until the row arrives */
    struct story_event *events;
    size_t n_events, capacity;
    struct story_command *commands;
    size_t n_commands, commands_capacity;
    bool in_batch;            /* according to the rows so far */
    int64_t replica;          /* routed to; -1: not yet */
    double last_token_s;      /* NAN: none yet, or the request left the batch */
    double token_before_s;    /* last_token_s before the latest piece of its prompt, which may give no token */
    double prompt_from_s;     /* a piece of its prompt is in the next batch from then on; NAN: none is */
    double gap_s, gap_from_s; /* longest wait for a token, and its start; NAN: it has at most one token */
    struct story_decoding decoding;
    struct story_prompts others; /* since its last token: no part of `decoding` unless another one follows */
    struct story_sequences sequences;
    double joins_at_s;        /* batches that began before this time are not its own; NAN: all may be */
    bool has_arrived;         /* its KV has been handed over, and its first iteration there is to come */
    double processed_s;       /* its prompt, before its KV was handed over */
    struct story_queue queue;
    struct story_waits waits;
    double end_s;             /* of the run; NAN until its metrics arrive */
    double waits_from_s;         /* the request, outside the batch */
    double unrouted_s;           /* since when a failure has left it without a replica; NAN: it has one */
    double first_routed_s;       /* NAN: never */
    bool is_over;                /* the request has finished or was rejected */
    struct story_blocked blocked; /* until it is first admitted */
    struct story_work meanwhile; /* work of the replica while the request waits */
    struct story_replica *replicas; /* by number */
    size_t n_replicas, replicas_capacity;
    int64_t n_routed;      /* requests of the service so far */
    int64_t *displaced;    /* jobs that were preempted at displaced_at_s */
    size_t n_displaced, displaced_capacity;
    double displaced_at_s; /* NAN: none was so far */
    size_t clock_event;    /* 1 + index of the event of the command that sets the job's clock; 0: none since a stop */
    struct story_slowed slowed;
    struct story_idle idle;
    double queued_s;       /* since when a job may start, others that it awaits having ended; NAN: it needs no node */
    double yields_at_s;    /* when the job last gave its GPUs to a service; NAN: that is told, or it never did */
};

/* Texts go to the arena. story_fini frees the rest. */
void story_init(struct story *story, const struct story_subject *subject, struct arena *arena);
void story_fini(struct story *story);

/* Adds an event of this moment. Returns 0 or SIM_E_NOMEM. */
__attribute__((format(printf, 4, 5))) int story_tell(struct story *story, double t_s, const char *what,
                                                     const char *format, ...);

/* Ends the story once the run has ended: what the subject still waits for, and how long commands were in force.
 * Returns 0 or SIM_E_NOMEM. */
int story_end(struct story *story);

/* Receives the rows of the run. Its functions return 0 or SIM_E_NOMEM. */
struct sink story_sink(struct story *story);

#endif
