#include "sim/core/config/config_report.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BOUND_CHARS = 80 };

void config_report(struct config_reading *reading, const struct json_node *at, const char *hint, const char *format,
                   ...)
{
    char where[DIAG_WHERE_CHARS], text[DIAG_TEXT_CHARS + 1]; /* one more, so that a cut shows */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag_error(reading->diag, SIM_E_CONFIG, json_where(at, where, sizeof where), hint, "%s", text);
    if (reading->code == 0) reading->code = SIM_E_CONFIG;
}

void config_report_nomem(struct config_reading *reading)
{
    if (reading->code == SIM_E_NOMEM) return;
    reading->code = diag_nomem(reading->diag);
}

/* Adds formatted text at the end of what a fixed buffer holds; what does not fit is cut. */
__attribute__((format(printf, 3, 4))) static void append(char *buffer, size_t buffer_bytes, const char *format, ...)
{
    size_t used = strlen(buffer);
    va_list args;
    va_start(args, format);
    vsnprintf(buffer + used, buffer_bytes - used, format, args);
    va_end(args);
}

/* "a", "b", "c" with the given quote, cut to whole words: then the command `listing`, unless NULL, has all. */
static void append_words(char *buffer, size_t buffer_bytes, char quote, const char *const *words, size_t n,
                         const char *listing)
{
    char rest[96] = "...";
    size_t all_bytes = strlen(buffer) + 1;
    if (listing != NULL) snprintf(rest, sizeof rest, "... '%s' has all", listing);
    for (size_t i = 0; i < n; i++) all_bytes += strlen(words[i]) + strlen("'', ");
    for (size_t i = 0; i < n; i++) {
        const char *comma = i > 0 ? ", " : "";
        if (all_bytes > buffer_bytes &&
            strlen(buffer) + strlen(words[i]) + strlen(rest) + sizeof ", '', " > buffer_bytes) {
            append(buffer, buffer_bytes, "%s%s", comma, rest);
            return;
        }
        append(buffer, buffer_bytes, "%s%c%s%c", comma, quote, words[i], quote);
    }
}

void config_words(char *buffer, size_t buffer_bytes, const char *before, const char *const *words, size_t n,
                  const char *listing)
{
    snprintf(buffer, buffer_bytes, "%s", before);
    append_words(buffer, buffer_bytes, '\'', words, n, listing);
}

void config_report_unknown(struct config_reading *reading, const char *where, const char *what, const char *word,
                           const char *after, const char *const *known, size_t n_known)
{
    char hint[DIAG_TEXT_CHARS] = "";
    const char *nearest = text_nearest(word, known, n_known);
    if (nearest != NULL) {
        snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else if (n_known > 0) {
        const struct config_families *families = reading->families;
        const bool is_listed = families != NULL && families->listing != NULL;
        config_words(hint, sizeof hint, "known: ", known, n_known, is_listed ? families->listing(what) : NULL);
    }
    diag_error(reading->diag, SIM_E_CONFIG, where, hint, "unknown %s '%s'%s", what, word, after);
    if (reading->code == 0) reading->code = SIM_E_CONFIG;
}

static size_t count_choices(const char *const *choices)
{
    size_t n = 0;
    while (choices[n] != NULL) n++;
    return n;
}

const char *config_expected(const struct config_field *field, char *buffer, size_t buffer_bytes)
{
    snprintf(buffer, buffer_bytes, "an object");
    switch (field->kind) {
    case CONFIG_BOOL: snprintf(buffer, buffer_bytes, "true or false"); break;
    case CONFIG_INT: snprintf(buffer, buffer_bytes, "a whole number"); break;
    case CONFIG_REAL: snprintf(buffer, buffer_bytes, "a number"); break;
    case CONFIG_QUANTITY:
        if (field->dim == UNIT_NONE)
            snprintf(buffer, buffer_bytes, "a number");
        else
            snprintf(buffer, buffer_bytes, "a quantity such as \"%s\"", unit_example(field->dim));
        break;
    case CONFIG_TIME: snprintf(buffer, buffer_bytes, "a time such as \"%s\"", unit_example(UNIT_TIME)); break;
    case CONFIG_TEXT: snprintf(buffer, buffer_bytes, "a string"); break;
    case CONFIG_PATH: snprintf(buffer, buffer_bytes, "a path"); break;
    case CONFIG_CHOICE:
        snprintf(buffer, buffer_bytes, "one of ");
        append_words(buffer, buffer_bytes, '"', field->choices, count_choices(field->choices), NULL);
        break;
    case CONFIG_LIST: snprintf(buffer, buffer_bytes, "a list"); break;
    case CONFIG_VARIANT: snprintf(buffer, buffer_bytes, "an object with \"%s\"", field->tag); break;
    case CONFIG_SECTION:
    case CONFIG_MAP: break;
    }
    return buffer;
}

/* The limits of a field; infinite where there is none. Both 0 say none, and so does a max below the min. */
static void limits_of(const struct config_field *field, double *min, double *max)
{
    bool none = field->min == 0 && field->max == 0;
    *min = none ? -HUGE_VAL : field->min;
    *max = none || field->max < field->min ? HUGE_VAL : field->max;
}

static const char *show_bound(const struct config_field *field, double bound, char *buffer, size_t buffer_bytes)
{
    enum unit_dim dim = field->kind == CONFIG_TIME       ? UNIT_TIME
                        : field->kind == CONFIG_QUANTITY ? field->dim
                                                         : UNIT_NONE;
    char number[SHOWN_BOUND_CHARS - 2];
    unit_format(bound, dim, number, sizeof number);
    snprintf(buffer, buffer_bytes, dim == UNIT_NONE ? "%s" : "\"%s\"", number);
    return buffer;
}

bool config_range(const struct config_field *field, char *buffer, size_t buffer_bytes)
{
    double min, max;
    char low[SHOWN_BOUND_CHARS], high[SHOWN_BOUND_CHARS];
    limits_of(field, &min, &max);
    show_bound(field, min, low, sizeof low);
    show_bound(field, max, high, sizeof high);
    if (isinf(min) && isinf(max)) return false;
    if (min == DBL_MIN && isinf(max))
        snprintf(buffer, buffer_bytes, "above 0");
    else if (min == DBL_MIN)
        snprintf(buffer, buffer_bytes, "above 0 and at most %s", high);
    else if (isinf(max))
        snprintf(buffer, buffer_bytes, "at least %s", low);
    else if (isinf(min))
        snprintf(buffer, buffer_bytes, "at most %s", high);
    else if (min == max)
        snprintf(buffer, buffer_bytes, "%s", low);
    else
        snprintf(buffer, buffer_bytes, "between %s and %s", low, high);
    return true;
}

void config_report_type(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, const char *hint)
{
    char expected[DIAG_TEXT_CHARS / 2], got[DIAG_TEXT_CHARS / 2], range[2 * SHOWN_BOUND_CHARS + 16] = "";
    const bool has_range = field->kind == CONFIG_INT && config_range(field, range, sizeof range);
    config_report(reading, node, hint, "'%s' must be %s%s%s, got %s", name,
                  config_expected(field, expected, sizeof expected),
                  !has_range                      ? ""
                  : strncmp(range, "at ", 3) == 0 ? " of "
                                                  : " ",
                  range, json_show(node, got, sizeof got));
}

bool config_check_range(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, double value, const char *noun)
{
    double min, max;
    char range[2 * SHOWN_BOUND_CHARS + 40], got[DIAG_TEXT_CHARS / 2];
    limits_of(field, &min, &max);
    if ((value >= min && value <= max) || !config_range(field, range, sizeof range)) return false;
    int noun_chars = (int)strlen(noun != NULL ? noun : "") - ((isinf(max) ? min : max) == 1);
    if (noun != NULL)
        config_report(reading, node, NULL, "'%s' must have %s %.*s, got %.0f", name, range, noun_chars, noun, value);
    else
        config_report(reading, node, NULL, "'%s' must be %s, got %s", name, range, json_show(node, got, sizeof got));
    return true;
}
