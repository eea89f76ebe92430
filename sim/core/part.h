/* A new file beside the one that it is to become, in the same directory: ".BASE.N.orrery-part". The file gets its name
 * when it is whole and on the disk. A call that fails, or is killed, therefore leaves the old file as it was.
 *
 * Its process holds a lock (flock) on it until then, so that the part of a process that died differs from that of
 * one that runs. The next part beside the same file removes the former. */
#ifndef ORRERY_CORE_PART_H
#define ORRERY_CORE_PART_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct part {
    const char *target;      /* the caller's: no symbolic link */
    char path[PATH_MAX + 64]; /* empty: none */
    int lock;
};

/* Creates a locked part, after those that dead processes left are removed. The lock is a descriptor to write by.
 * Returns 0, or -1 with errno; ETXTBSY: too many processes write to the target. */
int part_create(struct part *part, const char *target, mode_t mode);

/* Locks the next part of a dead process from *number on, which begins at 0. Returns whether there is one. */
bool part_adopt(struct part *part, const char *target, int *number);

/* Flushes the part to the disk. Returns 0, or -1 with errno. */
int part_flush(const struct part *part);

/* Gives the part the target's name and closes the lock. With `replaces` false the target must not exist. Returns 0, or
 * -1 with errno; then nothing has changed. */
int part_take_name(struct part *part, bool replaces);

/* Removes the parts that dead processes left. */
void part_clean(const char *target);

/* Removes the part and closes the lock; errno stays. */
void part_discard(struct part *part);

/* Closes the lock: the part is as one of a dead process. */
void part_leave(struct part *part);

#endif
