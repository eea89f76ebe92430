#include "traces/formats/json_stream.h"

#include "sim/core/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, MAX_DEPTH = 64 };

int json_stream_open(struct input *input, const char *hint, struct json_stream *stream, struct diag *diag)
{
    *stream = (struct json_stream){.input = input, .place = {1, 1}, .token = {1, 1}, .hint = hint, .diag = diag};
    stream->buffer = mem_alloc(BUFFER_BYTES);
    if (stream->buffer != NULL) return 0;
    stream->code = diag_nomem_at(diag, input_name(input));
    return stream->code;
}

void json_stream_close(struct json_stream *stream)
{
    if (stream->input != NULL) input_close(stream->input);
    mem_free(stream->buffer);
    *stream = (struct json_stream){0};
}

const char *json_stream_where(const struct json_stream *stream, char where[DIAG_WHERE_CHARS])
{
    return diag_place(where, DIAG_WHERE_CHARS, input_name(stream->input), (long long)stream->token.line,
                      (long long)stream->token.column);
}

bool json_stream_bad(struct json_stream *stream, const char *hint, const char *format, ...)
{
    char where[DIAG_WHERE_CHARS], text[DIAG_TEXT_CHARS];
    va_list args;
    if (stream->code != 0) return false;
    stream->code = SIM_E_DATA;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (stream->diag == NULL) return false;
    diag_error(stream->diag, SIM_E_DATA, json_stream_where(stream, where), hint != NULL ? hint : stream->hint, "%s",
               text);
    return false;
}

/* Reports what was expected at the next byte. */
static bool expected(struct json_stream *stream, const char *what)
{
    stream->token = stream->place;
    return json_stream_bad(stream, stream->ended ? "the file is cut off, or still being written" : NULL,
                           "expected %s%s", what, stream->ended ? ", but the file ends here" : "");
}

/* Reads on where the buffer is used up. False at the end of the file and after an error. */
static bool fill(struct json_stream *stream)
{
    if (stream->code != 0 || stream->ended) return false;
    stream->at = stream->end = 0;
    const int code = input_read(stream->input, stream->buffer, BUFFER_BYTES, &stream->end, stream->diag);
    if (code != 0) stream->code = code;
    stream->ended = code != 0 || stream->end == 0;
    return !stream->ended;
}

/* The next byte, which stays unread, or -1. */
static inline int next_byte(struct json_stream *stream)
{
    if (stream->code != 0 || (stream->at == stream->end && !fill(stream))) return -1;
    return (unsigned char)stream->buffer[stream->at];
}

/* Steps over the byte that next_byte returned. Bytes within a character do not count as columns. */
static inline void step(struct json_stream *stream, int byte)
{
    stream->at++;
    stream->place.column += (byte & 0xc0) != 0x80;
    if (byte != '\n') return;
    stream->place.line++;
    stream->place.column = 1;
}

/* A byte order mark is taken for a blank. */
static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == 0xef || byte == 0xbb || byte == 0xbf;
}

char json_stream_peek(struct json_stream *stream)
{
    int byte;
    while (is_blank(byte = next_byte(stream))) step(stream, byte);
    return byte > 0 ? (char)byte : 0;
}

/* Steps over one character, if it is the next one. */
static bool accept(struct json_stream *stream, char c)
{
    if (json_stream_peek(stream) != c) return false;
    step(stream, c);
    return true;
}

bool json_stream_enter(struct json_stream *stream, char bracket)
{
    const char what[] = {'\'', bracket, '\'', 0};
    stream->first = true;
    return accept(stream, bracket) || expected(stream, what);
}

/* Steps to the next item of an object or list; false at its end. */
static bool next_item(struct json_stream *stream, char end, const char *what)
{
    const bool first = stream->first;
    stream->first = false;
    if (stream->code != 0 || accept(stream, end)) return false;
    return first || accept(stream, ',') || expected(stream, what);
}

bool json_stream_member(struct json_stream *stream)
{
    if (!next_item(stream, '}', "',' or '}'") || !json_stream_string(stream)) return false;
    return accept(stream, ':') || expected(stream, "':'");
}

bool json_stream_element(struct json_stream *stream)
{
    return next_item(stream, ']', "',' or ']'");
}

/* Adds a byte to the text if there is room. */
static void add_byte(struct json_stream *stream, size_t *length, int byte)
{
    if (*length + 1 < sizeof stream->text) stream->text[(*length)++] = (char)byte;
}

bool json_stream_scalar(struct json_stream *stream)
{
    static const char chars[] = "+-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t length = 0;
    json_stream_peek(stream);
    stream->token = stream->place;
    for (int byte; (byte = next_byte(stream)) > 0 && strchr(chars, byte) != NULL;) {
        add_byte(stream, &length, byte);
        step(stream, byte);
    }
    stream->text[length] = 0;
    return length > 0 || expected(stream, "a number");
}

/* Reads the four digits behind "\u". -1 after a report. */
static int read_hexadecimal(struct json_stream *stream)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    int code = 0;
    for (int i = 0; i < 4; i++) {
        const int byte = next_byte(stream);
        const char *digit = byte > 0 ? strchr(digits, byte) : NULL;
        if (digit == NULL) {
            expected(stream, "four hexadecimal digits");
            return -1;
        }
        code = 16 * code + (int)(digit - digits) % 16;
        step(stream, byte);
    }
    return code;
}

/* Reads what follows a backslash. Of characters that are not ASCII only the number is kept, as '?' in the text. */
static bool read_escape(struct json_stream *stream, size_t *length)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const int byte = next_byte(stream);
    const char *letter = byte > 0 ? strchr(letters, byte) : NULL;
    if (letter == NULL && byte != 'u') return expected(stream, "an escape such as \\n or \\u00e9");
    step(stream, byte);
    int code = letter != NULL ? meanings[letter - letters] : read_hexadecimal(stream);
    if (code < 0) return false;
    const bool is_second_half = code >= 0xdc00 && code < 0xe000;
    stream->n_chars += !is_second_half;
    if (!is_second_half) add_byte(stream, length, code > 0 && code < 0x80 ? code : '?');
    return true;
}

bool json_stream_string(struct json_stream *stream)
{
    size_t length = 0;
    stream->n_chars = 0;
    if (json_stream_peek(stream) != '"') return expected(stream, "a string");
    stream->token = stream->place;
    step(stream, '"');
    for (;;) {
        const int byte = next_byte(stream);
        if (byte < 0) return stream->code != 0 ? false : expected(stream, "the closing quote of a string");
        step(stream, byte);
        if (byte == '"') break;
        if (byte == '\\') {
            if (!read_escape(stream, &length)) return false;
        } else {
            add_byte(stream, &length, byte);
            stream->n_chars += (byte & 0xc0) != 0x80;
        }
    }
    stream->text[length] = 0;
    return true;
}

/* Whether the scalar read last is a JSON value, or one that Python writes. */
static bool is_value(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return text[strspn(text, "+-.0123456789eE")] == 0;
}

/* Brackets are only counted; whether those that open and close belong together is not checked. */
bool json_stream_skip(struct json_stream *stream)
{
    int depth = 0;
    do {
        const char c = json_stream_peek(stream);
        if (c == '{' || c == '[') {
            step(stream, c);
            if (++depth > MAX_DEPTH) return expected(stream, "less nesting");
        } else if (depth > 0 && (c == '}' || c == ']')) {
            step(stream, c);
            depth--;
        } else if (depth > 0 && (c == ',' || c == ':')) {
            step(stream, c);
        } else if (c == '"') {
            if (!json_stream_string(stream)) return false;
        } else if (!json_stream_scalar(stream)) {
            return false;
        } else if (!is_value(stream->text)) {
            return json_stream_bad(stream, NULL, "expected a value");
        }
    } while (depth > 0);
    stream->first = false;
    return true;
}
