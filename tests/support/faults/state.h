/* The state of a directory, to compare what a call left with what was there before and what a whole call leaves. */
#ifndef ORRERY_TESTS_SUPPORT_FAULTS_STATE_H
#define ORRERY_TESTS_SUPPORT_FAULTS_STATE_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_FILES = 64, PATH_CHARS = 512 };

struct file_state {
    char path[PATH_CHARS]; /* below the directory */
    char digest[40];       /* of the bytes; of the runs in a results database, or what is wrong with it */
};

struct state {
    size_t n;
    struct file_state files[MAX_FILES]; /* sorted by path, without temporary files */
    char temporary[PATH_CHARS];         /* one of these; empty: there is none */
    bool is_unfinished;                 /* a database holds runs that are open or failed, or none */
};

void state_read(struct state *state, const char *directory);

/* The digest of a file; NULL: absent. */
const char *state_find(const struct state *state, const char *path);

bool state_equals(const struct state *a, const struct state *b);

#endif
