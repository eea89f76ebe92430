/* Numbers for sentences: three or four significant digits, with a unit that fits their size. */
#ifndef ORRERY_ANALYSIS_REPORT_WORDS_H
#define ORRERY_ANALYSIS_REPORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { WORDS_CHARS = 48 };

/* Whole numbers up to 10^15 in groups of three ("1,000,000"), others with four significant digits; "-" for NAN. Returns
 * `buffer`, as all of these do. */
const char *words_number(double value, char buffer[WORDS_CHARS]);

/* "250 us", "12.3 ms", "4.5 s"; from 120 s on in two units, rounded to the second one: "2 min 10 s", "5 h 6 min",
 * "2 d 7 h". */
const char *words_seconds(double seconds, char buffer[WORDS_CHARS]);

/* "12.3 %" of a share; never 100 % for a share below 1. */
const char *words_percent(double share, char buffer[WORDS_CHARS]);

/* A value of a metric with its unit: seconds and shares of one as above; counts (unit "1") as number. */
const char *words_value(double value, const char *unit, char buffer[WORDS_CHARS]);

/* Dollars and cents, "$165.12"; from a million on whole dollars. */
const char *words_usd(double usd, char buffer[WORDS_CHARS]);

/* The name of a metric in sentences and titles: "TTFT p99" for request.ttft_s.p99; the metric's own name if there is
 * none. The text lives as long as `name` and `buffer`. */
const char *words_metric(const char *name, char buffer[WORDS_CHARS]);

/* The code of a warning: "failed" for a run that could not begin, whose code names an error, as SIM_E_CONFIG. */
const char *words_code(const char *code);

/* Whether n values say something about their quantile q: at least one is expected beyond it, which takes 10 values for
 * the 90th percentile, 20 for the 95th, 100 for the 99th. Below that it is little else than the maximum. The median and
 * lower ones always do; so do n values that are NAN, unknown. */
bool words_has_quantile(double n, double q);

#endif
