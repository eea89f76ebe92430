/* The order of events at one moment: lower numbers first. Decisions come after all changes of their moment. So a job
 * that is submitted when another one ends finds its GPUs free. A request that arrives at a boundary between
 * iterations is seen by the batcher there; its router still counts what leaves at that boundary. */
#ifndef ORRERY_WORLD_ROWS_PRIORITY_H
#define ORRERY_WORLD_ROWS_PRIORITY_H

#include "sim/core/engine.h"

enum event_priority {
    PRIORITY_REPORT = 4, /* routers get reports of the state before this moment */
    PRIORITY_POWER = 6,  /* telemetry of the time before this moment; commands take effect */
    PRIORITY_JOB_FINISH = 8,
    PRIORITY_FAILURE = 12, /* after the ends of jobs */
    PRIORITY_MARKET = 14, /* spot GPUs come and go */
    PRIORITY_ARRIVAL = 16, /* of a request at its service */
    PRIORITY_JOB_SUBMIT = 24,
    PRIORITY_LINK = 28,    /* a transfer ends */
    PRIORITY_REPLICA = 32, /* an iteration boundary */
    PRIORITY_SCALE = 36,   /* replicas of a service come and go */
    PRIORITY_JOB_DECIDE = 40,
    PRIORITY_LINK_SETTLE = 48 /* the flows of this moment share the links anew; claims learn of it */
};

/* First owner ids of passing owners (owner_init_passing). Requests and transfers of services are numbered as they
 * begin, jobs and their failures in order of submission. All other owners have ids below. */
enum {
    OWNER_ID_SERVICES = 1 << PASSING_ID_BITS,
    OWNER_ID_JOBS = 2 << PASSING_ID_BITS,
    OWNER_ID_JOB_FAILURES = 3 << PASSING_ID_BITS,
    OWNER_ID_JOB_SAVES = OWNER_ID_JOB_FAILURES + (1 << (PASSING_ID_BITS - 1)), /* failures: half of the ids */
    OWNER_ID_JOB_WORKS = OWNER_ID_JOB_SAVES + (1 << (PASSING_ID_BITS - 2)),    /* a quarter */
    OWNER_ID_JOB_READS = OWNER_ID_JOB_WORKS + (1 << (PASSING_ID_BITS - 3))     /* an eighth each */
};

#endif
