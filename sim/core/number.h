/* Numbers and times as trace files write them. Every function takes exactly `n_chars` characters (no terminator needed)
 * and no blanks around them. The program stays in the C locale, so the decimal point is always a point. */
#ifndef ORRERY_CORE_NUMBER_H
#define ORRERY_CORE_NUMBER_H

#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum number_status {
    NUMBER_OK,
    NUMBER_BAD,  /* not written as such a number */
    NUMBER_RANGE /* a number, but too large for the type */
};

/* A whole number; "8.0" is one, "8.5" and "1e3" are not. */
enum number_status number_i64(const char *chars, size_t n_chars, int64_t *value);

/* A decimal number ("12", "-0.5", "1e-05"), correctly rounded (Clinger, PLDI 1990, for up to 19 digits; else
 * strtod). */
enum number_status number_f64(const char *chars, size_t n_chars, double *value);

/* A decimal number of units of `unit_ns` each, in nanoseconds: exact, and where it falls between two rounded half to
 * even. "0.209966" seconds are 209966000 ns. */
enum number_status number_ns(const char *chars, size_t n_chars, sim_ns unit_ns, sim_ns *value);

/* A calendar time, in nanoseconds since 1970-01-01T00:00:00Z: "2023-11-16 18:15:46.6805900" and the ISO 8601 forms with
 * "T" before the hour, without seconds, without a time of day, with a decimal comma, or "20231116T181546Z". The zone is
 * "Z", " UTC" or an offset such as "+08:00"; without one it is UTC. Digits past the ninth are dropped. */
enum number_status number_timestamp(const char *chars, size_t n_chars, sim_ns *value);

/* As number_timestamp, and whether the time names its zone. */
enum number_status number_timestamp_zoned(const char *chars, size_t n_chars, sim_ns *value, bool *has_zone);

/* The text of a calendar time from 1970 on, which number_timestamp reads back: "2026-03-01T08:00:00.75Z". */
enum { TIMESTAMP_CHARS = 40 };
void timestamp_show(sim_ns value, char text[TIMESTAMP_CHARS]);

#endif
