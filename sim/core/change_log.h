/* Which of n things have changed, in order, so that a reader catches up from where it was. The log keeps the latest
 * changes, about as many as there are things. A reader that is further behind must look at all of them. */
#ifndef ORRERY_CORE_CHANGE_LOG_H
#define ORRERY_CORE_CHANGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: change_log_fini is allowed. */
struct change_log {
    uint64_t n;        /* changes so far */
    uint64_t capacity; /* a power of two */
    int32_t *things;   /* [capacity]: change i at i % capacity */
};

/* For n things, none of which has changed. Returns 0 or SIM_E_NOMEM. */
int change_log_init(struct change_log *log, int32_t n);
void change_log_fini(struct change_log *log);

static inline void change_log_add(struct change_log *log, int32_t thing)
{
    log->things[log->n++ & (log->capacity - 1)] = thing;
}

/* Whether the log still has the changes from number `first` on. */
static inline bool change_log_reaches(const struct change_log *log, uint64_t first)
{
    return log->n - first <= log->capacity;
}

/* What changed as number `index`: the log reaches it, and index < n. */
static inline int32_t change_log_get(const struct change_log *log, uint64_t index)
{
    return log->things[index & (log->capacity - 1)];
}

#endif
