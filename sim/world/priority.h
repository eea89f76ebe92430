/* The order of events at one moment: lower numbers first. What ends comes before what begins, so that a job or request
 * that comes at the moment another one leaves finds the room; decisions come after all changes of their moment. */
#ifndef ORRERY_WORLD_PRIORITY_H
#define ORRERY_WORLD_PRIORITY_H

enum event_priority {
    PRIORITY_JOB_FINISH = 8,
    PRIORITY_ARRIVAL = 16, /* of a request at its service */
    PRIORITY_JOB_SUBMIT = 24,
    PRIORITY_REPLICA = 32, /* an iteration boundary */
    PRIORITY_JOB_DECIDE = 40
};

/* Owner ids from here on are those of jobs, in the order of their submission; everything else has ids below. */
enum { OWNER_ID_JOBS = 1 << 27 };

#endif
