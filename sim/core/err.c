#include "sim/core/err.h"

#include "sim/core/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void diag_init(struct diag *diag)
{
    memset(diag, 0, sizeof *diag);
}

/* Ends a text of `n` bytes that was cut to the size of its buffer with "...", behind a whole character. */
static void mark_cut(char *text, size_t text_bytes, int n)
{
    if (n < 0 || (size_t)n < text_bytes) return;
    size_t end = text_bytes - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    memcpy(text + end, "...", sizeof "...");
}

static void copy_text(char *to, size_t to_bytes, const char *from)
{
    mark_cut(to, to_bytes, snprintf(to, to_bytes, "%s", from != NULL ? from : ""));
}

__attribute__((format(printf, 6, 0))) static void diag_add(struct diag *diag, enum diag_level level, int code,
                                                           const char *where, const char *hint, const char *format,
                                                           va_list args)
{
    if (level == DIAG_ERROR) {
        if (diag->n_errors++ == 0) diag->code = code;
    } else {
        diag->n_warnings++;
    }
    if (diag->n_items == DIAG_MAX_ITEMS) return;

    struct diag_item *item = &diag->items[diag->n_items++];
    item->level = level;
    item->code = code;
    copy_text(item->where, sizeof item->where, where);
    copy_text(item->hint, sizeof item->hint, hint);
    mark_cut(item->text, sizeof item->text, vsnprintf(item->text, sizeof item->text, format, args));
}

int diag_error(struct diag *diag, int code, const char *where, const char *hint, const char *format, ...)
{
    if (diag != NULL) {
        va_list args;
        va_start(args, format);
        diag_add(diag, DIAG_ERROR, code, where, hint, format, args);
        va_end(args);
    }
    return code;
}

int diag_nomem(struct diag *diag)
{
    return diag_nomem_at(diag, NULL);
}

int diag_nomem_at(struct diag *diag, const char *where)
{
    return diag_error(diag, SIM_E_NOMEM, where, NULL, "%s", sim_err_text(SIM_E_NOMEM));
}

int diag_system_error(struct diag *diag, const char *path, const char *what, int error)
{
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error);
    const char *hint = error == ENOENT && strcmp(what, "cannot write") == 0 ? "create the directory first" : NULL;
    return diag_error(diag, SIM_E_IO, path, hint, "%s: %s", what, reason);
}

/* Whether a warning was given before: replicas of a service find the same. */
static bool is_repeated(const struct diag_item *before, const struct diag_item *item)
{
    return before->level == item->level && strcmp(before->where, item->where) == 0 &&
           strcmp(before->text, item->text) == 0;
}

void diag_warning(struct diag *diag, const char *where, const char *hint, const char *format, ...)
{
    if (diag == NULL) return;
    va_list args;
    const int n = diag->n_items;
    va_start(args, format);
    diag_add(diag, DIAG_WARNING, SIM_OK, where != NULL ? where : diag->place, hint, format, args);
    va_end(args);
    for (int i = 0; i < n && n < diag->n_items; i++) {
        if (!is_repeated(&diag->items[i], &diag->items[n])) continue;
        diag->n_items = n;
        diag->n_warnings--;
    }
}

void diag_add_hint(struct diag *diag, int first, const char *format, ...)
{
    for (int i = first; diag != NULL && i < diag->n_items; i++) {
        struct diag_item *item = &diag->items[i];
        if (item->hint[0] != 0) continue;
        va_list args;
        va_start(args, format);
        mark_cut(item->hint, sizeof item->hint, vsnprintf(item->hint, sizeof item->hint, format, args));
        va_end(args);
    }
}

/* A line of which `n` bytes are written, of which the first buffer_bytes - 1 are kept. */
struct line {
    char *buffer;
    size_t buffer_bytes, n;
};

static void add_byte(struct line *line, char byte)
{
    if (line->n + 1 < line->buffer_bytes) line->buffer[line->n] = byte;
    line->n++;
}

static void add_text(struct line *line, const char *text)
{
    char shown[TEXT_SHOWN_CHARS];
    for (size_t n; (n = text_show_next(&text, "", shown)) > 0;)
        for (size_t i = 0; i < n; i++) add_byte(line, shown[i]);
}

static bool is_inside_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80; /* of UTF-8 */
}

const char *diag_place(char *buffer, size_t buffer_bytes, const char *name, long long line, long long column)
{
    static const char cut[] = "...";
    char place[64];
    size_t n_place = (size_t)snprintf(place, sizeof place, ":%lld:%lld", line, column), n_name = strlen(name);
    bool fits = n_name + n_place < buffer_bytes;
    if (!fits && n_place + sizeof cut <= buffer_bytes) {
        name += n_name - (buffer_bytes - n_place - sizeof cut);
        while (is_inside_character(*name)) name++;
    }
    snprintf(buffer, buffer_bytes, "%s%s%s", fits ? "" : cut, name, place);
    return buffer;
}

static int write_item(const struct diag_item *item, const char *level, char *buffer, size_t buffer_bytes)
{
    struct line line = {buffer, buffer_bytes, 0};
    add_text(&line, item->where);
    add_text(&line, item->where[0] != 0 ? ": " : "");
    add_text(&line, level);
    add_text(&line, item->text);
    add_text(&line, item->hint[0] != 0 ? "; " : "");
    add_text(&line, item->hint);
    if (buffer_bytes > 0) buffer[line.n < buffer_bytes ? line.n : buffer_bytes - 1] = 0;
    return (int)line.n;
}

int diag_format(const struct diag_item *item, char *buffer, size_t buffer_bytes)
{
    return write_item(item, item->level == DIAG_ERROR ? "error: " : "warning: ", buffer, buffer_bytes);
}

int diag_quote(const struct diag_item *item, char *buffer, size_t buffer_bytes)
{
    return write_item(item, "", buffer, buffer_bytes);
}

const char *sim_err_name(int code)
{
    switch (code) {
#define SIM_ERR_NAME(name, value, status, text)                                                                        \
    case value: return #name;
        SIM_ERRORS(SIM_ERR_NAME)
#undef SIM_ERR_NAME
    default: return "SIM_E_UNKNOWN";
    }
}

const char *sim_err_text(int code)
{
    switch (code) {
#define SIM_ERR_TEXT(name, value, status, text)                                                                        \
    case value: return text;
        SIM_ERRORS(SIM_ERR_TEXT)
#undef SIM_ERR_TEXT
    default: return "unknown error";
    }
}

int sim_err_exit_status(int code)
{
    switch (code) {
#define SIM_ERR_STATUS(name, value, status, text)                                                                      \
    case value: return status;
        SIM_ERRORS(SIM_ERR_STATUS)
#undef SIM_ERR_STATUS
    default: return 70;
    }
}
