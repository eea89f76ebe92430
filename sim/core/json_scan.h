/* A strict scan of JSON text: checks the grammar of RFC 8259 and notes where every value and key starts.
 *
 * It knows nothing of what the values mean; json_doc lets cJSON make them and joins the two. Beyond the grammar it
 * rejects what would not survive: invalid UTF-8, halves of surrogate pairs, U+0000 in strings, numbers too long to
 * convert, and nesting over JSON_MAX_DEPTH. */
#ifndef ORRERY_CORE_JSON_SCAN_H
#define ORRERY_CORE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_MAX_DEPTH = 64, JSON_MAX_NUMBER_CHARS = 60 };

/* Offsets into the text, in document order: of a member's key just before those of its value. */
struct json_marks {
    size_t *offsets;
    size_t n, capacity;
};

struct json_scan {
    const char *text; /* without comments; text[bytes] is 0 */
    size_t bytes;
    size_t at; /* where the scan stands */
    int depth;
    struct json_marks marks;
    size_t error_at;  /* set on failure, with what is wrong and what to do about it (may be empty) */
    char error[160], hint[160];
};

/* Overwrites // comments outside strings by blanks, so that positions hold. */
void json_blank_comments(char *text, size_t bytes);

/* Overwrites the word Infinity outside strings by a number of as many characters that is too large for a double, if
 * nothing before it but a sign belongs to a number or a word. The text is free of comments. */
void json_spell_infinity(char *text, size_t bytes);

/* Returns 0, SIM_E_CONFIG with error, hint and error_at set, or SIM_E_NOMEM. The marks are to be freed by the caller
 * with json_scan_fini in every case. */
int json_scan(struct json_scan *scan, const char *text, size_t bytes);
void json_scan_fini(struct json_scan *scan);

#endif
