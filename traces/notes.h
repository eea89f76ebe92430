/* What a stage left out or changed, counted by reason. */
#ifndef ORRERY_TRACES_NOTES_H
#define ORRERY_TRACES_NOTES_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>

enum { NOTES_MAX = 8 }; /* reasons that one stage may have */

struct notes {
    size_t n;
    struct notes_item {
        const char *code, *text;
        int64_t count;
        char where[DIAG_WHERE_CHARS];
    } items[NOTES_MAX];
};

/* Counts one more of `code`. Both texts must outlive the notes. Returns the buffer for the place of the first of its
 * code, NULL for later ones. */
char *notes_count(struct notes *notes, const char *code, const char *text);

/* The index-th reason, in the order in which they first came up; false past the last one. */
bool notes_get(const struct notes *notes, size_t index, struct source_note *note);

#endif
