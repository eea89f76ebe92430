/* Where the time of a job went that came to its end: work, and what came on top. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_SPENT_H
#define ORRERY_CLI_EXPLAIN_WHY_SPENT_H

#include "sim/cli/answer.h"
#include "sim/cli/explain/story.h"

/* "took 120 s for 100 s of work: 15 s waiting for GPUs, 5 s before it worked". Nothing of a job that has not
 * ended or was stopped, or that did nothing but wait and work at full speed. A job may end as failed or cancelled. */
void why_say_spent(const struct story *story, struct answer *answer);

/* The same as members, in seconds. Nothing of a job that has not ended, or was stopped. */
void why_write_spent(const struct story *story, struct answer *answer);

#endif
