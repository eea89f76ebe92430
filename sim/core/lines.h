/* The lines of an input, one at a time, in bounded memory. A line ends at LF or CRLF, the last one also at the end of
 * the file; a UTF-8 byte order mark at the start of the file is not part of the first line. A reader that looks ahead
 * marks where it may have to go back to. */
#ifndef ORRERY_CORE_LINES_H
#define ORRERY_CORE_LINES_H

#include "sim/core/err.h"
#include "sim/core/input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_MAX_BYTES = 16 * 1024 * 1024 };

struct lines {
    struct input *input; /* owned */
    char *buffer;
    size_t capacity, begin, end; /* bytes begin .. end of the buffer are not handed out yet */
    int64_t number;              /* 1-based, of the line handed out last */
    bool ended;                  /* the input has no more bytes */
    bool marked;
    size_t mark; /* in the buffer, and the number of the line before it */
    int64_t mark_number;
};

/* Takes the input over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int lines_init(struct lines *lines, struct input *input, struct diag *diag);
void lines_fini(struct lines *lines);

/* 1 with a line, valid until the next call and without its line end; 0 at the end, and where more than LINE_MAX_BYTES
 * would lie behind a mark; SIM_E_IO; SIM_E_DATA for a line of more than LINE_MAX_BYTES, which is skipped: the next call
 * goes on behind it; SIM_E_NOMEM. */
int lines_next(struct lines *lines, const char **chars, size_t *n_chars, struct diag *diag);

/* Keeps the lines that come next in memory, until lines_rewind goes back to the first of them or lines_release lets
 * go of them. */
void lines_mark(struct lines *lines);
void lines_rewind(struct lines *lines);
void lines_release(struct lines *lines);

#endif
