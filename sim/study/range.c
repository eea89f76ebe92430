#include "sim/study/range.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads one end in a unit; with UNIT_DIM_COUNT the first unit that it can be read in. */
static bool read_end(struct config_reading *reading, const struct json_node *node, enum unit_dim *dim, double *value)
{
    char shown[DIAG_TEXT_CHARS / 2];
    const char *why;
    *value = node->number;
    bool any = *dim == UNIT_DIM_COUNT;
    if (node->kind == JSON_NUMBER && (any || *dim == UNIT_NONE)) {
        *dim = UNIT_NONE;
        return true;
    }
    for (int i = UNIT_NONE + 1; node->kind == JSON_STRING && i < UNIT_DIM_COUNT; i++) {
        if ((!any && (int)*dim != i) || unit_parse(node->text, (enum unit_dim)i, value, &why) != 0) continue;
        *dim = (enum unit_dim)i;
        return true;
    }
    json_show(node, shown, sizeof shown);
    if (any)
        config_report(reading, node, "such as 1 or \"5.5/s\"", "a range goes from a number or quantity, got %s", shown);
    else
        config_report(reading, node, NULL, "%s is no end of a range that starts with another unit", shown);
    return false;
}

static bool is_spelled_whole(const struct json_node *node)
{
    return node->kind == JSON_NUMBER && strpbrk(node->text, ".eE") == NULL;
}

bool range_read(struct config_reading *reading, const struct json_node *from, const struct json_node *to, bool is_log,
                struct range *range)
{
    *range = (struct range){.dim = UNIT_DIM_COUNT, .is_log = is_log};
    if (!read_end(reading, from, &range->dim, &range->from) || !read_end(reading, to, &range->dim, &range->to))
        return false;
    range->is_whole = is_spelled_whole(from) && is_spelled_whole(to);
    if (is_log && !(range->from > 0 && range->to > 0)) {
        config_report(reading, range->from > 0 ? to : from, NULL, "a logarithmic range has no end at or below 0");
        return false;
    }
    return true;
}

static double round_digits(double value)
{
    char digits[64];
    snprintf(digits, sizeof digits, "%.12g", value);
    return strtod(digits, NULL);
}

static double between(const struct range *range, double from, double to, double share)
{
    return range->is_log ? from * pow(to / from, share) : from + (to - from) * share;
}

double range_at(const struct range *range, double share)
{
    if (share <= 0) return range->from;
    if (share >= 1) return range->to;
    double value = between(range, range->from, range->to, share);
    return range->is_whole ? rint(value) : round_digits(value);
}

double range_sample(const struct range *range, double share)
{
    if (!range->is_whole) return range_at(range, share);
    double low = fmin(range->from, range->to), high = fmax(range->from, range->to);
    double value = range->is_log ? exp(log(low) + share * log((high + 1) / low)) : low + share * (high + 1 - low);
    return fmin(floor(value), high);
}

const char *range_show(const struct range *range, double value, struct arena *arena)
{
    char quantity[64];
    struct text text;
    if (range->dim != UNIT_NONE) {
        unit_format(value, range->dim, quantity, sizeof quantity);
        return arena_strdup(arena, quantity);
    }
    text_init(&text);
    text_json_number(&text, value);
    const char *shown = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return shown;
}
