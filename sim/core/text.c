#include "sim/core/text.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_init(struct text *text)
{
    *text = (struct text){0};
}

void text_fini(struct text *text)
{
    mem_free(text->chars);
    text_init(text);
}

/* Makes room for `extra` more characters and the terminator. */
static bool text_reserve(struct text *text, size_t extra)
{
    if (text->failed) return false;
    size_t needed = text->length + extra + 1;
    text->failed = vec_reserve(&text->chars, &text->capacity, needed) != 0;
    return !text->failed;
}

void text_add_bytes(struct text *text, const char *bytes, size_t n)
{
    if (!text_reserve(text, n)) return;
    if (n > 0) memcpy(text->chars + text->length, bytes, n);
    text->length += n;
    text->chars[text->length] = 0;
}

void text_add(struct text *text, const char *chars)
{
    text_add_bytes(text, chars, strlen(chars));
}

void text_vprintf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && text_reserve(text, (size_t)length)) {
        vsnprintf(text->chars + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

/* Lead bytes C0, C1 and F5 up never occur; the second byte excludes overlong forms, surrogates and above U+10FFFF. */
size_t text_utf8_length(const char *bytes, size_t left)
{
    const unsigned char *c = (const unsigned char *)bytes;
    if (left == 0) return 0;
    if (c[0] < 0x80) return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    size_t n = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    if (left < n) return 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f)) return 0;
    if ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) return 0;
    return n;
}

/* Terminals act on control characters, those of U+0080 to U+009F too. */
static bool is_printable(const char *character, size_t n)
{
    const unsigned char first = (unsigned char)character[0];
    if (n == 1) return first >= 0x20 && first != 0x7f;
    return n > 1 && !(first == 0xc2 && (unsigned char)character[1] < 0xa0);
}

size_t text_show_next(const char **chars, const char *kept, char shown[TEXT_SHOWN_CHARS])
{
    const size_t n = text_utf8_length(*chars, strnlen(*chars, TEXT_SHOWN_CHARS));
    if (**chars == 0) return 0;
    if (is_printable(*chars, n) || strchr(kept, **chars) != NULL) {
        memcpy(shown, *chars, n);
        *chars += n;
        return n;
    }
    snprintf(shown, TEXT_SHOWN_CHARS, "\\x%02x", (unsigned char)*(*chars)++);
    return TEXT_SHOWN_CHARS - 1;
}

void text_add_shown(struct text *text, const char *chars, const char *kept)
{
    char shown[TEXT_SHOWN_CHARS];
    for (size_t n; (n = text_show_next(&chars, kept, shown)) > 0;) text_add_bytes(text, shown, n);
}

static void add_escaped(struct text *text, unsigned char c)
{
    switch (c) {
    case '"': text_add(text, "\\\""); break;
    case '\\': text_add(text, "\\\\"); break;
    case '\n': text_add(text, "\\n"); break;
    case '\r': text_add(text, "\\r"); break;
    case '\t': text_add(text, "\\t"); break;
    default:
        if (c < 0x20 || c == 0x7f)
            text_printf(text, "\\u%04x", c);
        else
            text_add_bytes(text, (const char *)&c, 1);
    }
}

void text_json_string(struct text *text, const char *chars)
{
    if (chars == NULL) {
        text_add(text, "null");
        return;
    }
    text_add(text, "\"");
    for (size_t left = strlen(chars); left > 0;) {
        size_t n = text_utf8_length(chars, left);
        if (n == 1)
            add_escaped(text, (unsigned char)*chars);
        else if (n > 1)
            text_add_bytes(text, chars, n);
        else
            text_add(text, "\xef\xbf\xbd");
        chars += n > 0 ? n : 1;
        left -= n > 0 ? n : 1;
    }
    text_add(text, "\"");
}

void text_csv_field(struct text *text, const char *chars)
{
    const size_t length = strlen(chars);
    const bool quoted = length == 0 || strcspn(chars, ",\"\r\n") < length || *chars == ' ' || chars[length - 1] == ' ';
    if (quoted) text_add(text, "\"");
    for (size_t n; *chars != 0; chars += n) {
        n = strcspn(chars, "\"");
        text_add_bytes(text, chars, n);
        if (chars[n] != '"') continue;
        text_add(text, "\"\"");
        n++;
    }
    if (quoted) text_add(text, "\"");
}

/* What LaTeX prints as the character; NULL: the character itself. Behind the end of a row, LaTeX takes '[' and '*' as
 * an argument. '<', '>', '|' and '"' depend on the font's encoding. */
static const char *latex_of(char c)
{
    switch (c) {
    case '&': return "\\&";
    case '%': return "\\%";
    case '$': return "\\$";
    case '#': return "\\#";
    case '_': return "\\_";
    case '{': return "\\{";
    case '}': return "\\}";
    case '[': return "{[}";
    case '*': return "{*}";
    case '~': return "\\textasciitilde{}";
    case '^': return "\\textasciicircum{}";
    case '\\': return "\\textbackslash{}";
    case '<': return "\\textless{}";
    case '>': return "\\textgreater{}";
    case '|': return "\\textbar{}";
    case '"': return "{''}";
    case '\n':
    case '\r': return " ";
    default: return NULL;
    }
}

void text_latex(struct text *text, const char *chars)
{
    if (chars[0] == '-' && chars[1] >= '0' && chars[1] <= '9') {
        text_add(text, "$-$");
        chars++;
    }
    char shown[TEXT_SHOWN_CHARS];
    for (size_t n; (n = text_show_next(&chars, "\n\r\t", shown)) > 0;) {
        const char *latex = latex_of(shown[0]);
        if (latex != NULL)
            text_add(text, latex);
        else
            text_add_bytes(text, shown, 1);
        text_add_bytes(text, shown + 1, n - 1);
    }
}

/* Fifteen digits survive the way through a normal double, so a shorter decimal shows up there with its zeros trimmed;
 * subnormal numbers carry fewer digits. */
static void format_shortest(double value, char *buffer, size_t buffer_bytes)
{
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(buffer, buffer_bytes, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) return;
    }
}

const char *text_show_number(double value, char *buffer, size_t buffer_bytes)
{
    if (value == rint(value) && fabs(value) < 1e15)
        snprintf(buffer, buffer_bytes, "%.0f", value + 0.0);
    else if (fabs(value) >= 1e5 && fabs(value) < 1e15)
        snprintf(buffer, buffer_bytes, "%.0f", value);
    else
        snprintf(buffer, buffer_bytes, "%.5g", value);
    return buffer;
}

void text_json_number(struct text *text, double value)
{
    char buffer[40] = "null";
    if (isfinite(value)) {
        if (fabs(value) < 1e15 && value == floor(value))
            snprintf(buffer, sizeof buffer, "%.0f", value);
        else
            format_shortest(value, buffer, sizeof buffer);
    }
    text_add(text, buffer);
}
