/* The events of an answer of orrery why: put in order, and told. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_EVENTS_H
#define ORRERY_CLI_EXPLAIN_WHY_EVENTS_H

#include "sim/cli/answer.h"
#include "sim/cli/explain/story.h"

/* By time, those of one moment as they were added. */
void why_sort_events(struct story *story);

/* One line each, for people. Unless `all`, several clocks of a job one after the other are one line, up to the highest
 * one, and so are the pieces of a long prompt between the first and the last. */
void why_say_events(const struct story *story, bool all, struct answer *answer);

/* "runs at 66.7 to 94.3 % of its full speed", of least and most shares. */
void why_say_speeds(double least_frac, double most_frac, struct answer *answer);

/* The queue time of a request by what it waited for: lines for people, the table "queue_parts" for programs. */
void why_say_blocked(const struct story *story, struct answer *answer);
void why_write_blocked(const struct story *story, struct answer *answer);

/* The table "events", for programs. */
void why_write_events(const struct story *story, struct answer *answer);

#endif
