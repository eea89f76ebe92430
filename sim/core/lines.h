/* The lines of an input, one at a time, in bounded memory. A line ends at LF or CRLF, the last one also at the end of
 * the file; a UTF-8 byte order mark at the start of the file is not part of the first line. */
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
};

/* Takes the input over, also when it fails. Returns 0 or SIM_E_NOMEM. */
int lines_init(struct lines *lines, struct input *input, struct diag *diag);
void lines_fini(struct lines *lines);

/* 1 with a line, valid until the next call and without its line end; 0 at the end; SIM_E_IO; SIM_E_DATA for a line of
 * more than LINE_MAX_BYTES; SIM_E_NOMEM. */
int lines_next(struct lines *lines, const char **chars, size_t *n_chars, struct diag *diag);

#endif
