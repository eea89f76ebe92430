#include "traces/formats/json_line.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

void json_line_init(struct json_line *line, const char *chars, size_t n_chars)
{
    *line = (struct json_line){.start = chars, .at = chars, .end = chars + n_chars};
}

static bool fail(struct json_line *line, const char *expected)
{
    if (line->error == NULL) line->error = expected;
    return false;
}

static void skip_blanks(struct json_line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t')) line->at++;
}

/* Steps over one character, if it is the next one. */
static bool accept(struct json_line *line, char c)
{
    skip_blanks(line);
    if (line->at == line->end || *line->at != c) return false;
    line->at++;
    return true;
}

static bool read_string(struct json_line *line, const char **chars, size_t *n_chars)
{
    if (!accept(line, '"')) return fail(line, "a string");
    const char *start = line->at;
    while (line->at < line->end && *line->at != '"') line->at += *line->at == '\\' && line->at + 1 < line->end ? 2 : 1;
    if (line->at >= line->end) return fail(line, "the closing quote of a string");
    *chars = start;
    *n_chars = (size_t)(line->at++ - start);
    return true;
}

static bool end_of_line(struct json_line *line)
{
    skip_blanks(line);
    if (line->at < line->end) fail(line, "the end of the line");
    return false;
}

bool json_line_inner_member(struct json_line *line, bool *first, const char **key, size_t *n_chars)
{
    if (line->error != NULL) return false;
    if (*first && !accept(line, '{')) return fail(line, "'{'");
    if (accept(line, '}')) return false;
    if (!*first && !accept(line, ',')) return fail(line, "',' or '}'");
    *first = false;
    if (!read_string(line, key, n_chars)) return false;
    return accept(line, ':') || fail(line, "':'");
}

bool json_line_member(struct json_line *line, const char **key, size_t *n_chars)
{
    bool first = line->at == line->start;
    if (json_line_inner_member(line, &first, key, n_chars)) return true;
    return line->error == NULL && end_of_line(line);
}

bool json_line_number(struct json_line *line, const char **chars, size_t *n_chars)
{
    skip_blanks(line);
    const char *start = line->at;
    while (line->at < line->end && memchr("+-.0123456789eE", *line->at, 15) != NULL) line->at++;
    if (line->at == start) return fail(line, "a number");
    *chars = start;
    *n_chars = (size_t)(line->at - start);
    return true;
}

char json_line_peek(struct json_line *line)
{
    skip_blanks(line);
    return line->at < line->end ? *line->at : 0;
}

bool json_line_is_string(struct json_line *line)
{
    return json_line_peek(line) == '"';
}

bool json_line_string(struct json_line *line, const char **chars, size_t *n_chars)
{
    return read_string(line, chars, n_chars);
}

bool json_line_null(struct json_line *line)
{
    skip_blanks(line);
    if (line->end - line->at < 4 || memcmp(line->at, "null", 4) != 0) return false;
    line->at += 4;
    return true;
}

bool json_line_element(struct json_line *line, bool *first)
{
    if (line->error != NULL) return false;
    if (*first && !accept(line, '[')) return fail(line, "'['");
    if (accept(line, ']')) return false;
    if (!*first && !accept(line, ',')) return fail(line, "',' or ']'");
    *first = false;
    return true;
}

static bool skip_word(struct json_line *line)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(line->end - line->at) < n || memcmp(line->at, words[i], n) != 0) continue;
        line->at += n;
        return true;
    }
    return fail(line, "a value");
}

static bool skip_scalar(struct json_line *line)
{
    const char *chars;
    size_t n_chars;
    skip_blanks(line);
    char c = line->at < line->end ? *line->at : 0;
    if (c == '"') return read_string(line, &chars, &n_chars);
    if (c == '-' || (c >= '0' && c <= '9')) return json_line_number(line, &chars, &n_chars);
    return skip_word(line);
}

/* Brackets are only counted; the text between them is not checked. */
bool json_line_skip(struct json_line *line)
{
    int depth = 0;
    do {
        if (accept(line, '{') || accept(line, '[')) {
            if (++depth > MAX_DEPTH) return fail(line, "less nesting");
        } else if (accept(line, '}') || accept(line, ']')) {
            if (--depth < 0) return fail(line, "a value");
        } else if (depth == 0 || !(accept(line, ',') || accept(line, ':'))) {
            if (!skip_scalar(line)) return false;
        }
    } while (depth > 0);
    return true;
}

int json_line_find(const char *const *names, int n, const char *key, size_t n_chars)
{
    int i = 0;
    while (i < n && (strlen(names[i]) != n_chars || memcmp(key, names[i], n_chars) != 0)) i++;
    return i;
}

bool json_line_bad(const struct json_line *line, struct reader *reader, const char *hint)
{
    reader_bad_at(reader, (size_t)(line->at - line->start), hint, "expected %s", line->error);
    return false;
}
