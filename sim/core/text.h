/* A growing text buffer, what escapes texts for terminals, JSON, CSV and LaTeX, numbers as texts, and the nearest of
 * several words (nearest.c). json_write.h writes whole JSON documents. */
#ifndef ORRERY_CORE_TEXT_H
#define ORRERY_CORE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_SHOWN_CHARS = 5 }; /* of one character or byte, and the end */

/* Always terminated once something was added. When memory runs out, `failed` is set and later additions do nothing, so
 * that a writer checks once, at the end. */
struct text {
    char *chars; /* NULL while empty */
    size_t length, capacity;
    bool failed;
};

void text_init(struct text *text);
void text_fini(struct text *text);
void text_add(struct text *text, const char *chars);
void text_add_bytes(struct text *text, const char *bytes, size_t n);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Bytes (1 to 4) of the UTF-8 character that starts at `bytes`, 0 when there is no valid one within `left` bytes. */
size_t text_utf8_length(const char *bytes, size_t left);

/* Adds a text for a terminal: control characters, which terminals act on, and bytes that are no UTF-8 as \xNN. Those of
 * `kept` stay as they are. */
void text_add_shown(struct text *text, const char *chars, const char *kept);

/* Writes the next bytes of *chars as text_add_shown shows them, and moves *chars behind these. Returns their number; 0
 * at the end of the text. */
size_t text_show_next(const char **chars, const char *kept, char shown[TEXT_SHOWN_CHARS]);

/* A JSON string with quotes and escapes; invalid UTF-8 bytes become U+FFFD. NULL is written as null. */
void text_json_string(struct text *text, const char *chars);

/* A field of CSV by RFC 4180: quoted when it is empty, holds a comma, quote or line break, or begins or ends with a
 * blank. */
void text_csv_field(struct text *text, const char *chars);

/* A text in a paragraph or table cell of LaTeX: special characters escaped, line breaks as blanks, and the '-' of a
 * negative number as a minus sign. Characters beyond ASCII stay as they are. Control characters and bytes that are no
 * UTF-8, which LaTeX refuses, become \xNN. */
void text_latex(struct text *text, const char *chars);

/* The shortest decimal that reads back as the same double; null for NaN and infinities. Integers have no ".0". */
void text_json_number(struct text *text, double value);

/* A number for people: integers as they are, others with five significant digits. Returns `buffer`. */
const char *text_show_number(double value, char *buffer, size_t buffer_bytes);

/* --- nearest.c --- */

/* Edit distance (Levenshtein, with transpositions of neighbours), for did-you-mean. Upper case counts as lower case,
 * '_' and blanks as '-'. Words over 64 bytes differ by the length of the longer one unless they are equal. */
size_t text_distance(const char *a, const char *b);

/* The candidate nearest to `word`, or NULL when none is near enough to suggest. One that goes on where `word` ends,
 * with '-', '_' or '.' ("h100", "h100-sxm") comes first, then one at a distance of at most 2, then one that `word`
 * goes on from ("sarathi-serve"), else one at a distance of at most 1/3 of the length, at least 1, else the shortest
 * that contains it ("4090"). The first of equals. A single letter has none. */
const char *text_nearest(const char *word, const char *const *candidates, size_t n);

/* As text_nearest, but first a candidate whose letters and digits begin with those of the word, at least four of them:
 * "llama3" is "llama-3-8b". */
const char *text_nearest_name(const char *word, const char *const *candidates, size_t n);

/* Of dotted names, the one nearest to `word`, or the end of one behind any of its dots: "ttft" is near "ttft_s.mean" of
 * "request.ttft_s.mean". Of statistics that the word leaves open, the mean, else the 99th percentile. Writes its name
 * to `whole` unless that is NULL. Returns NULL when none is near enough, or when out of memory. */
const char *text_nearest_end(const char *word, const char *const *names, size_t n, const char **whole);

#endif
