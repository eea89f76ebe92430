#include "sim/core/json_scan.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"
#include "sim/core/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first character behind the string that begins at `at`. */
static size_t skip_string(const char *text, size_t bytes, size_t at)
{
    for (at++; at < bytes && text[at] != '"'; at++)
        if (text[at] == '\\') at++;
    return at + 1;
}

void json_blank_comments(char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        if (text[i] == '"')
            i = skip_string(text, bytes, i);
        else if (text[i] == '/' && i + 1 < bytes && text[i + 1] == '/')
            while (i < bytes && text[i] != '\n') text[i++] = ' ';
        else
            i++;
    }
}

/* Whether a number, with its sign, may begin at `at`: what stands before it belongs to none, and to no word. */
static bool may_begin_number(const char *text, size_t at)
{
    if (at > 0 && text[at - 1] == '-') at--;
    if (at == 0) return true;
    const char before = text[at - 1];
    const bool is_letter = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
    return !is_letter && !(before >= '0' && before <= '9') && strchr("_.+-", before) == NULL;
}

void json_spell_infinity(char *text, size_t bytes)
{
    static const char word[] = "Infinity", number[] = "1e999   ";
    enum { N = sizeof word - 1 };
    for (size_t i = 0; i < bytes;) {
        if (text[i] == '"')
            i = skip_string(text, bytes, i);
        else if (bytes - i >= N && memcmp(text + i, word, N) == 0 && may_begin_number(text, i))
            memcpy(text + i, number, N);
        else
            i++;
    }
}

void json_scan_fini(struct json_scan *scan)
{
    mem_free(scan->marks.offsets);
    scan->marks = (struct json_marks){0};
}

static int mark(struct json_scan *scan)
{
    struct json_marks *marks = &scan->marks;
    return vec_push(&marks->offsets, &marks->n, &marks->capacity, scan->at);
}

__attribute__((format(printf, 4, 5))) static int fail(struct json_scan *scan, size_t at, const char *hint,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(scan->error, sizeof scan->error, format, args);
    va_end(args);
    snprintf(scan->hint, sizeof scan->hint, "%s", hint != NULL ? hint : "");
    scan->error_at = at;
    return SIM_E_CONFIG;
}

/* "expected X, got what stands here". */
static int fail_expected(struct json_scan *scan, const char *hint, const char *expected)
{
    const char *here = scan->text + scan->at;
    size_t left = scan->bytes - scan->at, n = text_utf8_length(here, left);
    if (left == 0) return fail(scan, scan->at, hint, "expected %s, got the end of the text", expected);
    if (left > 1 && here[0] == '/' && here[1] == '*') hint = "comments start with //";
    if (here[0] == '#') hint = "comments start with //";
    if (here[0] == '\'') hint = "use double quotes";
    if (n == 0) return fail(scan, scan->at, NULL, "invalid UTF-8");
    if ((unsigned char)*here < 0x20 || *here == 0x7f)
        return fail(scan, scan->at, hint, "expected %s, got byte 0x%02x", expected, (unsigned)(unsigned char)*here);
    return fail(scan, scan->at, hint, "expected %s, got '%.*s'", expected, (int)n, here);
}

/* The character at the scan's place; 0 at the end, where a stray 0 byte is no valid character either. */
static char peek(const struct json_scan *scan)
{
    return scan->text[scan->at];
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(struct json_scan *scan)
{
    while (scan->at < scan->bytes && is_blank(peek(scan))) scan->at++;
}

/* The value of four hexadecimal digits, or -1. The text ends in 0, so this does not read past it. */
static int hex4(const char *digits)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char *all = "0123456789abcdefABCDEF", *digit = digits[i] ? strchr(all, digits[i]) : NULL;
        if (digit == NULL) return -1;
        int d = (int)(digit - all);
        value = value * 16 + (d > 15 ? d - 6 : d);
    }
    return value;
}

static bool is_high_surrogate(int unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(int unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* At the 'u' of \uXXXX. */
static int scan_unicode_escape(struct json_scan *scan)
{
    const char *here = scan->text + scan->at;
    size_t start = scan->at - 1;
    int unit = hex4(here + 1);
    if (unit < 0) return fail(scan, start, NULL, "'\\u' needs four hexadecimal digits");
    if (unit == 0) return fail(scan, start, NULL, "'\\u0000' cannot stand in a string");
    scan->at += 5;
    if (is_high_surrogate(unit) && here[5] == '\\' && here[6] == 'u' && is_low_surrogate(hex4(here + 7))) {
        scan->at += 6;
        return 0;
    }
    if (is_high_surrogate(unit) || is_low_surrogate(unit))
        return fail(scan, start, NULL, "'\\u%.4s' is half of a surrogate pair", here + 1);
    return 0;
}

static int scan_escape(struct json_scan *scan)
{
    scan->at++;
    char c = peek(scan);
    if (c == 'u') return scan_unicode_escape(scan);
    if (c == 0 || strchr("\"\\/bfnrt", c) == NULL) {
        size_t n = text_utf8_length(scan->text + scan->at, scan->bytes - scan->at);
        return fail(scan, scan->at - 1, "a backslash is written \\\\", "unknown escape '\\%.*s'", (int)n,
                    scan->text + scan->at);
    }
    scan->at++;
    return 0;
}

/* At the opening quote. */
static int scan_string(struct json_scan *scan)
{
    size_t start = scan->at++;
    for (;;) {
        char c = peek(scan);
        if (scan->at + (c == '\\') >= scan->bytes || c == '\n')
            return fail(scan, start, NULL, "the string is not closed");
        if (c == '"') break;
        if ((unsigned char)c < 0x20)
            return fail(scan, scan->at, "write it as \\t or \\u001f", "byte 0x%02x cannot stand in a string",
                        (unsigned)c);
        if (c == '\\') {
            int code = scan_escape(scan);
            if (code != 0) return code;
            continue;
        }
        size_t n = text_utf8_length(scan->text + scan->at, scan->bytes - scan->at);
        if (n == 0) return fail(scan, scan->at, NULL, "invalid UTF-8");
        scan->at += n;
    }
    scan->at++;
    return 0;
}

static size_t skip_digits(const char *chars)
{
    return strspn(chars, "0123456789");
}

/* Length of the number that the grammar allows at `chars`, 0 for none. */
static size_t number_length(const char *chars)
{
    const char *c = chars;
    if (*c == '-') c++;
    size_t whole = skip_digits(c);
    if (whole == 0 || (whole > 1 && *c == '0')) return 0;
    c += whole;
    if (*c == '.') {
        size_t fraction = skip_digits(++c);
        if (fraction == 0) return 0;
        c += fraction;
    }
    if (*c == 'e' || *c == 'E') {
        c++;
        if (*c == '+' || *c == '-') c++;
        size_t exponent = skip_digits(c);
        if (exponent == 0) return 0;
        c += exponent;
    }
    return (size_t)(c - chars);
}

static const char word_chars[] = "0123456789+-.ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";

static int scan_number(struct json_scan *scan)
{
    const char *here = scan->text + scan->at;
    size_t word = strspn(here, word_chars), n = number_length(here);
    if (word > JSON_MAX_NUMBER_CHARS)
        return fail(scan, scan->at, NULL, "the number has more than %d characters", JSON_MAX_NUMBER_CHARS);
    if (n != word) {
        char hint[JSON_MAX_NUMBER_CHARS + 40];
        snprintf(hint, sizeof hint, "text stands in quotes: \"%.*s\"", (int)word, here);
        return fail(scan, scan->at, n > 0 ? hint : NULL, "malformed number '%.*s'", (int)word, here);
    }
    scan->at += n;
    return 0;
}

static int scan_word(struct json_scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    const char *here = scan->text + scan->at;
    size_t n = strspn(here, word_chars);
    if (n == 0) return fail_expected(scan, NULL, "a value");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (n != strlen(words[i]) || memcmp(here, words[i], n) != 0) continue;
        scan->at += n;
        return 0;
    }
    char hint[80];
    snprintf(hint, sizeof hint, "text stands in quotes: \"%.*s\"", (int)(n < 40 ? n : 40), here);
    return fail(scan, scan->at, hint, "unknown word '%.*s'", (int)(n < 40 ? n : 40), here);
}

static int scan_value(struct json_scan *scan);

static int scan_key(struct json_scan *scan, bool after_comma)
{
    if (after_comma && peek(scan) == '}') return fail_expected(scan, "remove the comma before it", "a key");
    if (peek(scan) != '"') return fail_expected(scan, NULL, after_comma ? "a key in quotes" : "a key in quotes or '}'");
    int code = mark(scan);
    if (code == 0) code = scan_string(scan);
    if (code != 0) return code;
    skip_blanks(scan);
    if (peek(scan) != ':') return fail_expected(scan, NULL, "':' after the key");
    scan->at++;
    return 0;
}

/* What stands between the brackets of an object or list, from the opening to the closing one. */
static int scan_members(struct json_scan *scan, char close)
{
    if (++scan->depth > JSON_MAX_DEPTH)
        return fail(scan, scan->at, NULL, "nested more than %d levels deep", JSON_MAX_DEPTH);
    scan->at++;
    skip_blanks(scan);
    for (bool after_comma = false; after_comma || peek(scan) != close; after_comma = true) {
        if (after_comma && close == ']' && peek(scan) == ']')
            return fail_expected(scan, "remove the comma before it", "a value");
        int code = close == '}' ? scan_key(scan, after_comma) : 0;
        if (code == 0) code = scan_value(scan);
        if (code != 0) return code;
        skip_blanks(scan);
        if (peek(scan) == close) break;
        if (peek(scan) != ',') return fail_expected(scan, NULL, close == '}' ? "',' or '}'" : "',' or ']'");
        scan->at++;
        skip_blanks(scan);
    }
    scan->at++;
    scan->depth--;
    return 0;
}

static int scan_value(struct json_scan *scan)
{
    skip_blanks(scan);
    int code = mark(scan);
    if (code != 0) return code;
    char c = peek(scan);
    if (c == '{') return scan_members(scan, '}');
    if (c == '[') return scan_members(scan, ']');
    if (c == '"') return scan_string(scan);
    return c == '-' || (c >= '0' && c <= '9') ? scan_number(scan) : scan_word(scan);
}

int json_scan(struct json_scan *scan, const char *text, size_t bytes)
{
    *scan = (struct json_scan){.text = text, .bytes = bytes};
    skip_blanks(scan);
    if (scan->at == bytes) return fail_expected(scan, "the document is empty", "a value");
    int code = scan_value(scan);
    if (code != 0) return code;
    skip_blanks(scan);
    return scan->at < bytes ? fail_expected(scan, NULL, "the end of the document") : 0;
}
