/* Within the story: what story.c, story_requests.c and story_jobs.c share. */
#ifndef ORRERY_CLI_EXPLAIN_STORY_PARTS_H
#define ORRERY_CLI_EXPLAIN_STORY_PARTS_H

#include "sim/cli/explain/story.h"

/* What makes a word plural. */
static inline const char *story_plural(double n)
{
    return n == 1 ? "" : "s";
}

/* A stretch of time in words: "12 ns", "36.14 ms", "46.2 s", "20420 s". Returns text. */
const char *story_time(char text[static 32], double s);

/* Whether the action is in the list, which NULL ends. */
bool story_is_any(const char *action, const char *const *actions);

/* Commands of power policies: noted when they are given, in force from and until rows say so. Return 0 or
 * SIM_E_NOMEM. */
int story_note_command(struct story *story, const struct decision_row *row);
int story_on_power_command(void *context, const struct power_command_row *row);

/* The latest command to `target` of the domain that was given at this time; NULL: none was. */
struct story_command *story_find_command(const struct story *story, const char *domain, const char *target,
                                         double given_s);

/* The event of a command that slows the subject down: who gave it, when and why, how long it was in force, and its
 * effect in words. Returns 0 or SIM_E_NOMEM. */
int story_tell_command(struct story *story, double t_s, const struct story_command *command, const char *effect);

/* At the end of a run: the stretch from the request's arrival, or since a failure, in which no replica was up to take
 * it. Returns 0 or SIM_E_NOMEM. */
int story_end_request(struct story *story);

/* Requests: what a decision on any of the service's requests or replicas tells, and one on the request itself; batches
 * of its replica. All return 0 or SIM_E_NOMEM. */
int story_see_service(struct story *story, const struct decision_row *row);
const char *story_failure_of_replica(const struct story *story); /* the latest of the request's; NULL: none */
int story_follow_request(struct story *story, const struct decision_row *row);
int story_on_batch(void *context, const struct batch_row *row);
int story_on_admission(void *context, const struct admission_row *row);
int story_on_token_wait(void *context, const struct token_wait_row *row);

/* Ends the wait of a request that enters a batch or is taken at another replica: what its replica did meanwhile. Then,
 * for one whose KV has arrived, the iteration that it joins. Return 0 or SIM_E_NOMEM. */
int story_tell_wait(struct story *story, double t_s);
int story_tell_join(struct story *story, double t_s);

/* No sequence of the request is in the batch any more. */
void story_leave(struct story *story, double t_s);

/* Hand-over and sequences (story_moves.c). Return 0 or SIM_E_NOMEM. */
int story_on_handover(void *context, const struct handover_row *row);
int story_on_sequence(void *context, const struct sequence_row *row);

/* Jobs: the sink's functions for their live rows, and what a decision on the job means for its wait. All return 0 or
 * SIM_E_NOMEM. */
int story_on_queue(void *context, const struct queue_row *row);
int story_on_job_clock(void *context, const struct job_clock_row *row);
int story_on_job_idle(void *context, const struct job_idle_row *row);
int story_end_job(struct story *story);

/* The job's speed from `t_s` on, over that at its highest clock; 1 also while it holds no GPUs. */
void story_set_speed(struct story *story, double t_s, double speed_frac);
int story_follow_job(struct story *story, const struct decision_row *row);

/* Notes that a decision started or preempted another job, or a replica that the job yielded to. Returns 0 or
 * SIM_E_NOMEM. */
int story_see_other(struct story *story, const struct decision_row *row);

#endif
