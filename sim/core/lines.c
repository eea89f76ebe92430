#include "sim/core/lines.h"

#include "sim/core/mem.h"

#include <string.h>

enum { FIRST_BUFFER_BYTES = 256 * 1024 };

int lines_init(struct lines *lines, struct input *input, struct diag *diag)
{
    *lines = (struct lines){.input = input, .buffer = mem_alloc(FIRST_BUFFER_BYTES), .capacity = FIRST_BUFFER_BYTES};
    if (lines->buffer != NULL) return 0;
    return diag_nomem_at(diag, input_name(input));
}

void lines_fini(struct lines *lines)
{
    input_close(lines->input);
    mem_free(lines->buffer);
    *lines = (struct lines){0};
}

static const char *next_place(const struct lines *lines, char where[DIAG_WHERE_CHARS])
{
    return diag_place(where, DIAG_WHERE_CHARS, input_name(lines->input), lines->number + 1, 1);
}

static int grow(struct lines *lines, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    char *buffer = mem_realloc(lines->buffer, lines->capacity * 2);
    if (buffer == NULL) return diag_nomem_at(diag, next_place(lines, where));
    lines->buffer = buffer;
    lines->capacity *= 2;
    return 0;
}

/* Reads more into the rest of the buffer. */
static int fill(struct lines *lines, struct diag *diag)
{
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

/* Moves what is still needed to the front of the buffer. */
static void compact(struct lines *lines)
{
    size_t first = lines->marked ? lines->mark : lines->begin;
    if (first == 0) return;
    memmove(lines->buffer, lines->buffer + first, lines->end - first);
    lines->begin -= first;
    lines->end -= first;
    lines->mark = 0;
}

static bool is_full(const struct lines *lines)
{
    return lines->end == lines->capacity && lines->capacity >= LINE_MAX_BYTES;
}

static int refill(struct lines *lines, struct diag *diag)
{
    int code = lines->end == lines->capacity ? grow(lines, diag) : 0;
    return code == 0 ? fill(lines, diag) : code;
}

/* Reads on to the end of a line that is too long, keeping nothing of it. */
static int skip_line(struct lines *lines, struct diag *diag)
{
    const char *line_end;
    do {
        lines->begin = lines->end = 0;
        int code = fill(lines, diag);
        if (code != 0) return code;
        line_end = memchr(lines->buffer, '\n', lines->end);
    } while (line_end == NULL && !lines->ended);
    lines->begin = line_end != NULL ? (size_t)(line_end - lines->buffer) + 1 : lines->end;
    char where[DIAG_WHERE_CHARS];
    next_place(lines, where);
    lines->number++;
    return diag_error(diag, SIM_E_DATA, where, "is this a text file?", "line is longer than %d MiB",
                      LINE_MAX_BYTES / (1024 * 1024));
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
        compact(lines);
        if (is_full(lines)) return lines->marked ? 0 : skip_line(lines, diag);
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

void lines_mark(struct lines *lines)
{
    lines->marked = true;
    lines->mark = lines->begin;
    lines->mark_number = lines->number;
}

void lines_rewind(struct lines *lines)
{
    lines->begin = lines->mark;
    lines->number = lines->mark_number;
    lines_release(lines);
}

void lines_release(struct lines *lines)
{
    lines->marked = false;
}
