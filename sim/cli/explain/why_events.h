/* The events of an answer of orrery why: put in order, and told. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_EVENTS_H
#define ORRERY_CLI_EXPLAIN_WHY_EVENTS_H

#include "sim/cli/answer.h"
#include "sim/cli/explain/story.h"

/* By time, those of one moment as they were added. */
void why_sort_events(struct story *story);

/* One line each, for people. */
void why_say_events(const struct story *story, struct answer *answer);

/* The table "events", for programs. */
void why_write_events(const struct story *story, struct answer *answer);

#endif
