#include "analysis/calibrate/write_table.h"

#include "models/operators/kernel_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many of the sorted points have the shape of the first. */
static size_t count_alike(const struct kernel_point *points, size_t n)
{
    struct kernel_place first, next;
    size_t alike = 1;
    kernel_call_place(&points[0].call, &first);
    for (; alike < n; alike++) {
        kernel_call_place(&points[alike].call, &next);
        if (memcmp(first.fixed, next.fixed, sizeof first.fixed) != 0) break;
    }
    return alike;
}

static void write_fixed(struct json_writer *json, const struct kernel_call *call, const struct kernel_member *member)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME
    const double value = kernel_member_value(call, member);
    if (member->kind == MEMBER_NUMBER) json_write_number(json, member->name, value);
    if (member->kind == MEMBER_FORMAT) json_write_string(json, member->name, names[(size_t)value]);
    if (member->kind == MEMBER_FLAG && value > 0.0) json_write_bool(json, member->name, true);
}

/* Times are kept to nine digits. */
static double round_digits(double seconds)
{
    char shown[32];
    snprintf(shown, sizeof shown, "%.9g", seconds);
    return strtod(shown, NULL);
}

/* What a call does not use may not be known. */
static void write_column(struct json_writer *json, const struct kernel_member *member,
                         const struct kernel_point *points, size_t n)
{
    json_write_open_row(json, member->name, '[');
    for (size_t i = 0; i < n; i++) {
        const double value = kernel_member_value(&points[i].call, member);
        json_write_number(json, NULL, isfinite(value) ? value : 0.0);
    }
    json_write_close(json, ']');
}

static void write_shape(struct json_writer *json, const struct kernel_point *points, size_t n)
{
    const struct kernel_member *members = kernel_members(points[0].call.class);
    json_write_open(json, NULL, '{');
    for (const struct kernel_member *member = members; member->name != NULL; member++)
        if (member->role == MEMBER_FIXED) write_fixed(json, &points[0].call, member);
    for (const struct kernel_member *member = members; member->name != NULL; member++)
        if (member->role != MEMBER_FIXED) write_column(json, member, points, n);
    json_write_open_row(json, "seconds", '[');
    for (size_t i = 0; i < n; i++) json_write_number(json, NULL, round_digits(points[i].seconds));
    json_write_close(json, ']');
    json_write_close(json, '}');
}

void calibration_write_table(struct json_writer *json, const struct profile_row *rows, size_t n)
{
    struct kernel_point *points = mem_zalloc(n, sizeof *points);
    if (points == NULL) {
        json->text->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++) points[i] = (struct kernel_point){rows[i].call, rows[i].measured_s};
    const size_t kept = kernel_points_reduce(points, n);
    json_write_open(json, "table", '[');
    for (size_t first = 0, alike; first < kept; first += alike) {
        alike = count_alike(&points[first], kept - first);
        write_shape(json, &points[first], alike);
    }
    json_write_close(json, ']');
    mem_free(points);
}
