#include "sim/core/lines.h"

#include "sim/core/mem.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_BUFFER_BYTES = 256 * 1024 };

int lines_init(struct lines *lines, struct input *input, struct diag *diag)
{
    *lines = (struct lines){.input = input, .buffer = mem_alloc(FIRST_BUFFER_BYTES), .capacity = FIRST_BUFFER_BYTES};
    if (lines->buffer != NULL) return 0;
    return diag_error(diag, SIM_E_NOMEM, input_name(input), NULL, "out of memory");
}

void lines_fini(struct lines *lines)
{
    input_close(lines->input);
    mem_free(lines->buffer);
    *lines = (struct lines){0};
}

static int grow(struct lines *lines, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    snprintf(where, sizeof where, "%s:%lld:1", input_name(lines->input), (long long)lines->number + 1);
    if (lines->capacity >= LINE_MAX_BYTES) {
        lines->ended = true;
        lines->begin = lines->end;
        return diag_error(diag, SIM_E_DATA, where, "is this a text file?", "line is longer than %d MiB",
                          LINE_MAX_BYTES / (1024 * 1024));
    }
    char *buffer = mem_realloc(lines->buffer, lines->capacity * 2);
    if (buffer == NULL) return diag_error(diag, SIM_E_NOMEM, where, NULL, "out of memory");
    lines->buffer = buffer;
    lines->capacity *= 2;
    return 0;
}

/* Moves the unfinished line to the front of the buffer and reads more behind it. */
static int refill(struct lines *lines, struct diag *diag)
{
    if (lines->begin > 0) {
        memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
    }
    if (lines->end == lines->capacity) {
        int code = grow(lines, diag);
        if (code != 0) return code;
    }
    size_t n_read;
    int code = input_read(lines->input, lines->buffer + lines->end, lines->capacity - lines->end, &n_read, diag);
    if (code != 0) {
        lines->ended = true;
        lines->begin = lines->end;
        return code;
    }
    lines->end += n_read;
    lines->ended = n_read == 0;
    return 0;
}

static const char *skip_byte_order_mark(const char *chars, size_t *n_chars)
{
    if (*n_chars < 3 || memcmp(chars, "\xEF\xBB\xBF", 3) != 0) return chars;
    *n_chars -= 3;
    return chars + 3;
}

int lines_next(struct lines *lines, const char **chars, size_t *n_chars, struct diag *diag)
{
    size_t searched = 0;
    const char *start, *line_end;
    for (;;) {
        start = lines->buffer + lines->begin;
        size_t n = lines->end - lines->begin;
        line_end = n > searched ? memchr(start + searched, '\n', n - searched) : NULL;
        if (line_end != NULL) break;
        if (lines->ended) {
            if (n == 0) return 0;
            line_end = start + n;
            break;
        }
        searched = n;
        int code = refill(lines, diag);
        if (code != 0) return code;
    }
    lines->begin = (size_t)(line_end - lines->buffer) + (line_end < lines->buffer + lines->end);
    size_t length = (size_t)(line_end - start);
    if (length > 0 && start[length - 1] == '\r') length--;
    if (lines->number++ == 0) start = skip_byte_order_mark(start, &length);
    *chars = start;
    *n_chars = length;
    return 1;
}
