#include "sim/core/config/config_scalar.h"

#include "sim/core/path.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Above this, neighbouring whole numbers share a double, and other readers of JSON would mix them up. */
static const int64_t exact_max = (INT64_C(1) << 53) - 1;

/* Quantities without a dimension are plain numbers. */
static bool is_plain_number(const struct config_field *field)
{
    return field->kind == CONFIG_REAL || (field->kind == CONFIG_QUANTITY && field->dim == UNIT_NONE);
}

/* Whole numbers are read from their spelling, which keeps every digit. Returns false when `digits` is none. */
static bool read_digits(const char *digits, int64_t *value)
{
    size_t sign = *digits == '-', n = strspn(digits + sign, "0123456789");
    if (n == 0 || digits[sign + n] != 0) return false;
    errno = 0;
    *value = strtoll(digits, NULL, 10);
    return errno == 0;
}

static void read_int(struct config_reading *reading, const struct config_field *field, const char *name,
                     const struct json_node *node, int64_t *out)
{
    char got[DIAG_TEXT_CHARS / 2];
    bool is_number = node->kind == JSON_NUMBER, is_whole = is_number && node->number == floor(node->number);
    bool fits = (is_number || node->kind == JSON_STRING) && read_digits(node->text, out);
    if (!fits && is_whole && fabs(node->number) < 0x1p63) {
        *out = (int64_t)node->number;
        fits = true;
    }
    if (fits && (is_number || *out > exact_max || *out < -exact_max))
        config_check_range(reading, field, name, node, (double)*out, NULL);
    else if (is_whole)
        config_report(reading, node, NULL, "'%s' must fit in 64 bits, got %s", name, json_show(node, got, sizeof got));
    else
        config_report_type(reading, field, name, node, NULL);
}

static void read_real(struct config_reading *reading, const struct config_field *field, const char *name,
                      const struct json_node *node, double *out)
{
    if (node->kind != JSON_NUMBER) {
        char number[64], hint[80] = "";
        const char *why;
        if (node->kind == JSON_STRING && unit_rewrite(node->text, UNIT_NONE, number, sizeof number, &why)) {
            if (config_check_range(reading, field, name, node, strtod(number, NULL), NULL)) return;
            snprintf(hint, sizeof hint, "write %s", number);
        }
        config_report_type(reading, field, name, node, hint);
        return;
    }
    *out = node->number;
    config_check_range(reading, field, name, node, *out, NULL);
}

/* `write "80GB" or "80GiB"`, for a number that lacks its unit. */
static void hint_units(enum unit_dim dim, const char *number, char *hint, size_t hint_bytes)
{
    static const struct {
        const char *before, *one, *other;
    } units[UNIT_DIM_COUNT] = {
        [UNIT_TIME] = {"", "s", "ms"},          [UNIT_BYTES] = {"", "GB", "GiB"},
        [UNIT_BYTES_PER_S] = {"", "GB/s", "TB/s"}, [UNIT_FLOP_PER_S] = {"", "GFLOP/s", "TFLOP/s"},
        [UNIT_POWER] = {"", "W", "kW"},         [UNIT_ENERGY] = {"", "J", "kWh"},
        [UNIT_MONEY] = {"$", "", NULL},         [UNIT_MONEY_PER_H] = {"$", "/h", NULL},
        [UNIT_FREQUENCY] = {"", "MHz", "GHz"},  [UNIT_RATE] = {"", "/s", "/min"},
    };
    const char *before = units[dim].before;
    int n = snprintf(hint, hint_bytes, "write \"%s%.60s%s\"", before, number, units[dim].one);
    if (units[dim].other != NULL)
        snprintf(hint + n, hint_bytes - (size_t)n, " or \"%s%.60s%s\"", before, number, units[dim].other);
}

/* Parses the quantity of a node into SI units; false after a report. */
static bool read_quantity(struct config_reading *reading, const struct config_field *field, const char *name,
                          const struct json_node *node, enum unit_dim dim, double *value_si)
{
    char hint[DIAG_TEXT_CHARS], got[DIAG_TEXT_CHARS / 2], units[128];
    const char *why = "needs a unit";
    if (node->kind != JSON_NUMBER && node->kind != JSON_STRING) {
        config_report_type(reading, field, name, node, NULL);
        return false;
    }
    if (node->kind == JSON_STRING && unit_parse(node->text, dim, value_si, &why) == 0) return true;
    if (node->kind == JSON_STRING && unit_rewrite(node->text, dim, units, sizeof units, &why)) {
        snprintf(hint, sizeof hint, "write \"%s\"", units);
        config_report(reading, node, hint, "'%s' %s, got %s", name, why, json_show(node, got, sizeof got));
        return false;
    }
    if (strcmp(why, "needs a unit") == 0)
        hint_units(dim, node->text, hint, sizeof hint);
    else
        snprintf(hint, sizeof hint, "write it like \"%s\"", unit_example(dim));
    if (strstr(why, " unit") != NULL && strcmp(why, "needs a unit") != 0 && dim != UNIT_NONE) {
        const size_t n = strlen(hint);
        snprintf(hint + n, sizeof hint - n, "; units: %s", unit_list(dim, units, sizeof units));
    }
    config_report(reading, node, hint, "'%s' %s, got %s", name, why, json_show(node, got, sizeof got));
    return false;
}

static void read_si(struct config_reading *reading, const struct config_field *field, const char *name,
                    const struct json_node *node, double *out)
{
    if (read_quantity(reading, field, name, node, field->dim, out))
        config_check_range(reading, field, name, node, *out, NULL);
}

/* "123ns" in whole nanoseconds is taken as it is; through seconds, long times would lose their last digits. */
static bool read_whole_ns(const struct json_node *node, sim_ns *out)
{
    char digits[24];
    size_t length = node->kind == JSON_STRING ? strlen(node->text) : 0;
    if (length < 3 || length - 2 >= sizeof digits || strcmp(node->text + length - 2, "ns") != 0) return false;
    snprintf(digits, sizeof digits, "%.*s", (int)(length - 2), node->text);
    return read_digits(digits, out);
}

static void read_time(struct config_reading *reading, const struct config_field *field, const char *name,
                      const struct json_node *node, sim_ns *out)
{
    double seconds;
    if (!read_whole_ns(node, out)) {
        if (!read_quantity(reading, field, name, node, UNIT_TIME, &seconds)) return;
        *out = sim_ns_from_s(seconds);
        if (fabs(seconds) >= (double)SIM_NS_MAX / 1e9) {
            config_report(reading, node, NULL, "'%s' is longer than 292 years", name);
            return;
        }
    }
    config_check_range(reading, field, name, node, sim_s_from_ns(*out), NULL);
}

/* Whether the text begins as a date does: "2023-11-16". */
static bool is_date(const char *text)
{
    return strspn(text, "0123456789") == 4 && text[4] == '-';
}

void config_read_stretch(struct config_reading *reading, const struct config_field *item, const char *name,
                         const struct json_node *node, sim_ns ends[2])
{
    double from_s = item->min, to_s = item->max;
    const char *why = unit_parse_stretch(node->text, &from_s, &to_s);
    ends[0] = ends[1] = 0;
    if (why == NULL) {
        config_check_range(reading, item, name, node, from_s, NULL);
        config_check_range(reading, item, name, node, to_s, NULL);
        ends[0] = sim_ns_from_s(from_s);
        ends[1] = sim_ns_from_s(to_s);
        return;
    }
    if (is_date(node->text))
        config_report(reading, node, "time 0 is the first record of most logs: write \"2h:3h\", counted from there",
                      "'%s' takes no dates, such as '%s'", name, node->text);
    else
        config_report(reading, node, "write \"2h:3h\", or [\"2h\", \"3h\"]", "'%s' is \"%s\", which %s", name,
                      node->text, why);
}

/* The text of a string; on the command line also of 7 and true, which JSON takes for something else. NULL after a
 * report. */
static const char *text_of(struct config_reading *reading, const struct config_field *field, const char *name,
                           const struct json_node *node)
{
    bool is_word = !node->source->has_lines && (node->kind == JSON_NUMBER || node->kind == JSON_BOOL);
    if (node->kind == JSON_STRING || is_word) return node->text;
    config_report_type(reading, field, name, node, NULL);
    return NULL;
}

/* "FILE.json", or a part of what it describes, "FILE.json:PART". */
static bool names_file(const char *text)
{
    const char *part = strstr(text, ".json:");
    return path_is_json(text) || (part != NULL && part != text && strchr(part, '/') == NULL);
}

static void read_text(struct config_reading *reading, const struct config_field *field, const char *name,
                      const struct json_node *node, const char **out)
{
    const char *text = text_of(reading, field, name, node);
    if (text == NULL) return;
    config_check_range(reading, field, name, node, (double)strlen(text), "characters");
    const bool is_path = (field->flags & CONFIG_NAME_OR_PATH) && names_file(text);
    *out = is_path ? path_join(reading->arena, node->source->directory, text) : arena_strdup(reading->arena, text);
    if (*out == NULL) config_report_nomem(reading);
}

static void read_path(struct config_reading *reading, const struct config_field *field, const char *name,
                      const struct json_node *node, const char **out)
{
    const char *text = text_of(reading, field, name, node);
    if (text == NULL) return;
    if (*text == 0) {
        config_report_type(reading, field, name, node, NULL);
        return;
    }
    const char *data = reading->families != NULL ? reading->families->data : NULL;
    *out = path_join_data(reading->arena, node->source->directory, text, data);
    if (*out == NULL) config_report_nomem(reading);
}

static void read_choice(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, int *out)
{
    const char *text = text_of(reading, field, name, node);
    if (text == NULL) return;
    int n = 0;
    for (; field->choices[n] != NULL; n++) {
        if (strcmp(field->choices[n], text) != 0) continue;
        *out = n;
        return;
    }
    char where[DIAG_WHERE_CHARS], hint[DIAG_TEXT_CHARS];
    const struct config_families *families = reading->families;
    const char *alias = families != NULL && families->alias != NULL ? families->alias(field->name, text) : NULL;
    if (alias == NULL) {
        config_report_unknown(reading, json_where(node, where, sizeof where), name, text, "", field->choices,
                              (size_t)n);
        return;
    }
    snprintf(hint, sizeof hint, "did you mean '%s'?", alias);
    config_report(reading, node, hint, "unknown %s '%s'", name, text);
}

void config_read_scalar(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, void *out)
{
    switch (field->kind) {
    case CONFIG_BOOL:
        if (node->kind == JSON_BOOL)
            *(bool *)out = node->number != 0;
        else
            config_report_type(reading, field, name, node, NULL);
        break;
    case CONFIG_INT: read_int(reading, field, name, node, out); break;
    case CONFIG_REAL: read_real(reading, field, name, node, out); break;
    case CONFIG_QUANTITY:
        if (is_plain_number(field))
            read_real(reading, field, name, node, out);
        else
            read_si(reading, field, name, node, out);
        break;
    case CONFIG_TIME: read_time(reading, field, name, node, out); break;
    case CONFIG_TEXT: read_text(reading, field, name, node, out); break;
    case CONFIG_PATH: read_path(reading, field, name, node, out); break;
    case CONFIG_CHOICE: read_choice(reading, field, name, node, out); break;
    default: break;
    }
}

void config_clear_scalar(const struct config_field *field, void *out)
{
    if (field->kind == CONFIG_REAL || field->kind == CONFIG_QUANTITY) *(double *)out = (double)NAN;
}

static void write_int(int64_t value, struct text *json)
{
    bool exact = value <= exact_max && value >= -exact_max;
    text_printf(json, exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

static void write_time(sim_ns ns, struct text *json)
{
    char quantity[64];
    double seconds = 0;
    const char *why;
    bool exact = ns <= exact_max && ns >= -exact_max;
    unit_format(sim_s_from_ns(ns), UNIT_TIME, quantity, sizeof quantity);
    if (!exact || unit_parse(quantity, UNIT_TIME, &seconds, &why) != 0 || sim_ns_from_s(seconds) != ns)
        snprintf(quantity, sizeof quantity, "%" PRId64 "ns", ns);
    text_json_string(json, quantity);
}

static void write_quantity(double value_si, enum unit_dim dim, struct text *json)
{
    char quantity[64];
    unit_format(value_si, dim, quantity, sizeof quantity);
    text_json_string(json, quantity);
}

void config_write_scalar(const struct config_field *field, const void *value, struct text *json)
{
    switch (field->kind) {
    case CONFIG_BOOL: text_add(json, *(const bool *)value ? "true" : "false"); break;
    case CONFIG_INT: write_int(*(const int64_t *)value, json); break;
    case CONFIG_REAL: text_json_number(json, *(const double *)value); break;
    case CONFIG_QUANTITY:
        if (is_plain_number(field))
            text_json_number(json, *(const double *)value);
        else
            write_quantity(*(const double *)value, field->dim, json);
        break;
    case CONFIG_TIME: write_time(*(const sim_ns *)value, json); break;
    case CONFIG_TEXT:
    case CONFIG_PATH: text_json_string(json, *(const char *const *)value); break;
    case CONFIG_CHOICE: text_json_string(json, field->choices[*(const int *)value]); break;
    default: break;
    }
}
