#define _GNU_SOURCE /* renameat2 */

#include "sim/core/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MAX_PARTS = 100, MAX_TRIES = 10, BASE_CHARS = 200 };

/* A long name is cut; its hash distinguishes it from others that begin alike. */
static int name_part(struct part *part, int number)
{
    const char *slash = strrchr(part->target, '/'), *base = slash != NULL ? slash + 1 : part->target;
    char hash[16] = "";
    const size_t length = strlen(base);
    if (length > BASE_CHARS) snprintf(hash, sizeof hash, "-%08x", (unsigned)XXH32(base, length, 0));
    const int n = snprintf(part->path, sizeof part->path, "%.*s.%.*s%s.%d.orrery-part", (int)(base - part->target),
                           part->target, BASE_CHARS, base, hash, number);
    if (n < (int)sizeof part->path) return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* Whether the name still leads to the file that is open. */
static bool has_name(const struct part *part)
{
    struct stat opened, named;
    return fstat(part->lock, &opened) == 0 && lstat(part->path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static void close_part(struct part *part)
{
    if (part->lock >= 0) close(part->lock);
    part->lock = -1;
    part->path[0] = 0;
}

bool part_adopt(struct part *part, const char *target, int *number)
{
    *part = (struct part){.target = target, .lock = -1};
    while (*number < MAX_PARTS && name_part(part, (*number)++) == 0) {
        part->lock = open(part->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (part->lock < 0) continue;
        if (flock(part->lock, LOCK_EX | LOCK_NB) == 0 && has_name(part)) return true;
        close(part->lock);
    }
    part->lock = -1;
    close_part(part);
    return false;
}

static void remove_journal(const struct part *part)
{
    char journal[sizeof part->path + 16];
    snprintf(journal, sizeof journal, "%s-journal", part->path);
    unlink(journal);
}

/* Of a database, the journal goes first: a new part may have the name once the part has gone. */
static void remove_part(const struct part *part)
{
    remove_journal(part);
    unlink(part->path);
}

void part_discard(struct part *part)
{
    const int error = errno;
    if (part->path[0] == 0) return;
    remove_part(part);
    close_part(part);
    errno = error;
}

void part_leave(struct part *part)
{
    if (part->path[0] != 0) close_part(part);
}

void part_clean(const char *target)
{
    struct part orphan;
    for (int number = 0; part_adopt(&orphan, target, &number);) part_discard(&orphan);
}

/* Creates a file under the first name that is free. */
static int create_file(struct part *part, mode_t mode)
{
    for (int i = 0; i < MAX_PARTS; i++) {
        if (name_part(part, i) != 0) return -1;
        part->lock = open(part->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (part->lock >= 0) return 0;
        if (errno != EEXIST) return -1;
    }
    errno = ETXTBSY;
    return -1;
}

/* Another process may take the new file for an orphan before it is locked. Then the file has lost its name, and the
 * next one is tried. On a file system without locks it stays unlocked, and orphans stay. */
int part_create(struct part *part, const char *target, mode_t mode)
{
    part_clean(target);
    *part = (struct part){.target = target, .lock = -1};
    for (int i = 0; i < MAX_TRIES && create_file(part, mode) == 0; i++) {
        const bool is_taken = flock(part->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_taken && has_name(part)) return 0;
        close(part->lock);
        part->lock = -1;
        errno = ETXTBSY;
    }
    part->path[0] = 0;
    return -1;
}

/* If the file system cannot rename without replacing, checks for the target first. */
static int rename_part(const struct part *part, bool replaces)
{
    if (replaces) return rename(part->path, part->target);
    if (renameat2(AT_FDCWD, part->path, AT_FDCWD, part->target, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (access(part->target, F_OK) != 0) return rename(part->path, part->target);
    errno = EEXIST;
    return -1;
}

/* Some file systems have nothing to flush, and refuse. */
int part_flush(const struct part *part)
{
    return fsync(part->lock) == 0 || errno == EINVAL || errno == ENOSYS ? 0 : -1;
}

int part_take_name(struct part *part, bool replaces)
{
    remove_journal(part); /* SQLite leaves an empty one if it cannot flush it */
    if (rename_part(part, replaces) != 0) return -1;
    close_part(part);
    return 0;
}
