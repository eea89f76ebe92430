/* Trace events as text. Only the timeline*.c files include this. */
#ifndef ORRERY_STORE_TIMELINE_EVENT_H
#define ORRERY_STORE_TIMELINE_EVENT_H

#include "sim/core/text.h"
#include "sim/core/units.h"

#include <stdint.h>

/* Process ids: the site, then the services in the order in which they come up, then GPUs on no node, then nodes. */
enum { PID_SITE = 1, PID_SERVICES = 2, PID_NO_NODE = 999999, PID_NODES = 1000000 };

struct span {
    int64_t from_ns, to_ns;
};

/* Seconds as rows have them, in whole nanoseconds. */
int64_t timeline_ns(double time_s);

/* Begins an event: what goes before it, its kind ('X', 'b' ...), process, thread and time. The caller adds members, each with a
 * comma before it, and "}". */
void timeline_begin(struct text *text, char kind, int64_t pid, int64_t tid, int64_t at_ns);

/* Adds ,"dur": the length of a slice. */
void timeline_duration(struct text *text, struct span span);

/* Names a process (tid 0) or a thread, and puts processes in the order of their ids. */
void timeline_name(struct text *text, int64_t pid, int64_t tid, const char *name);

#endif
