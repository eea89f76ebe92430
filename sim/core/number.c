#include "sim/core/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__extension__ typedef unsigned __int128 uint128;

enum { MAX_DIGITS = 19, MAX_EXPONENT = 9999, MAX_STRTOD_CHARS = 512, MAX_EXACT_POWER = 22, POWERS = 20 };

static const uint64_t powers_of_10[POWERS] = {1,
                                              10,
                                              100,
                                              1000,
                                              10000,
                                              100000,
                                              1000000,
                                              10000000,
                                              100000000,
                                              1000000000,
                                              10000000000,
                                              100000000000,
                                              1000000000000,
                                              10000000000000,
                                              100000000000000,
                                              1000000000000000,
                                              10000000000000000,
                                              100000000000000000,
                                              1000000000000000000,
                                              UINT64_C(10000000000000000000)};

static inline bool is_digit(char c)
{
    return (unsigned)(c - '0') < 10;
}

/* Whether "." and zeros are all that is left: "8.0" is whole. */
static bool is_zero_fraction(const char *at, const char *end)
{
    if (*at++ != '.') return false;
    while (at < end && *at == '0') at++;
    return at == end;
}

enum number_status number_i64(const char *chars, size_t n_chars, int64_t *value)
{
    const char *at = chars, *end = chars + n_chars;
    bool negative = n_chars > 0 && *at == '-';
    at += negative;
    if (at == end || !is_digit(*at)) return NUMBER_BAD;
    int64_t sum = 0;
    bool overflow = false;
    if (n_chars < MAX_DIGITS) {
        for (; at < end && is_digit(*at); at++) sum = sum * 10 + (*at - '0');
        if (negative) sum = -sum;
    } else {
        for (; at < end && is_digit(*at); at++) {
            int64_t digit = negative ? -(*at - '0') : *at - '0';
            overflow |= __builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum);
        }
    }
    if (at < end && !is_zero_fraction(at, end)) return NUMBER_BAD;
    *value = sum;
    return overflow ? NUMBER_RANGE : NUMBER_OK;
}

/* mantissa * 10^exponent, and whether non-zero digits after the 19th were left out. */
struct decimal {
    uint64_t mantissa;
    int exponent;
    bool negative, inexact;
};

/* Adds digits to the mantissa; returns how many there were, and in *kept how many of them count. */
static size_t scan_digits(const char **at, const char *end, struct decimal *decimal, int *n_significant, int *kept)
{
    const char *start = *at;
    for (; *at < end && is_digit(**at); ++*at) {
        if (*n_significant == MAX_DIGITS) {
            decimal->inexact |= **at != '0';
            continue;
        }
        decimal->mantissa = decimal->mantissa * 10 + (uint64_t)(**at - '0');
        *n_significant += decimal->mantissa > 0;
        ++*kept;
    }
    return (size_t)(*at - start);
}

static bool scan_exponent(const char *at, const char *end, int *exponent)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return false;
    int sum = 0;
    for (; at < end; at++) {
        if (!is_digit(*at)) return false;
        if (sum < MAX_EXPONENT) sum = sum * 10 + (*at - '0');
    }
    *exponent += negative ? -sum : sum;
    return true;
}

/* "-123.45" with up to 18 digits and no exponent, the form that nearly all numbers have. False for any other text. */
static inline bool scan_plain(const char *at, const char *end, struct decimal *decimal)
{
    bool negative = at < end && *at == '-';
    at += negative;
    const char *start = at, *point = NULL;
    uint64_t mantissa = 0;
    if (end - at >= MAX_DIGITS) return false;
    for (; at < end && is_digit(*at); at++) mantissa = mantissa * 10 + (uint64_t)(*at - '0');
    if (at < end && *at == '.') {
        point = at++;
        for (; at < end && is_digit(*at); at++) mantissa = mantissa * 10 + (uint64_t)(*at - '0');
    }
    if (at < end || at - start <= (point != NULL)) return false;
    *decimal = (struct decimal){.mantissa = mantissa, .negative = negative};
    if (point != NULL) decimal->exponent = (int)(point + 1 - end);
    return true;
}

static bool scan_decimal(const char *at, const char *end, struct decimal *decimal)
{
    if (scan_plain(at, end, decimal)) return true;
    *decimal = (struct decimal){.negative = at < end && *at == '-'};
    at += decimal->negative;
    int n_significant = 0, kept = 0;
    size_t n_whole = scan_digits(&at, end, decimal, &n_significant, &kept), n_fraction = 0;
    if (n_whole > MAX_EXPONENT) return false;
    decimal->exponent = (int)n_whole - kept;
    if (at < end && *at == '.') {
        at++;
        kept = 0;
        n_fraction = scan_digits(&at, end, decimal, &n_significant, &kept);
        decimal->exponent -= kept;
    }
    if (n_whole + n_fraction == 0) return false;
    return at == end || ((*at == 'e' || *at == 'E') && scan_exponent(at + 1, end, &decimal->exponent));
}

static enum number_status by_strtod(const char *chars, size_t n_chars, double *value)
{
    char copy[MAX_STRTOD_CHARS];
    if (n_chars >= sizeof copy) return NUMBER_BAD;
    memcpy(copy, chars, n_chars);
    copy[n_chars] = 0;
    *value = strtod(copy, NULL);
    return isinf(*value) ? NUMBER_RANGE : NUMBER_OK;
}

enum number_status number_f64(const char *chars, size_t n_chars, double *value)
{
    static const double exact_powers[MAX_EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d;
    if (!scan_decimal(chars, chars + n_chars, &d)) return NUMBER_BAD;
    bool exact = !d.inexact && d.mantissa <= UINT64_C(1) << 53 && abs(d.exponent) <= MAX_EXACT_POWER;
    if (!exact) return by_strtod(chars, n_chars, value);
    double mantissa = (double)d.mantissa;
    double size = d.exponent < 0 ? mantissa / exact_powers[-d.exponent] : mantissa * exact_powers[d.exponent];
    *value = d.negative ? -size : size;
    return NUMBER_OK;
}

/* value / 10^n, rounded half to even; `more`: the true value is a little larger. */
static uint128 divide_by_power(uint128 value, int n, bool more)
{
    while (n >= POWERS) { /* the remainder only matters as "a little more" */
        more |= value % powers_of_10[POWERS - 1] != 0;
        value /= powers_of_10[POWERS - 1];
        n -= POWERS - 1;
        if (value == 0) return 0;
    }
    uint64_t divisor = powers_of_10[n], rest;
    uint128 quotient;
    if (value <= UINT64_MAX) {
        quotient = (uint64_t)value / divisor;
        rest = (uint64_t)value % divisor;
    } else {
        quotient = value / divisor;
        rest = (uint64_t)(value % divisor);
    }
    uint64_t other = divisor - rest;
    bool up = n > 0 && (rest > other || (rest == other && (more || (quotient & 1))));
    return quotient + up;
}

enum number_status number_ns(const char *chars, size_t n_chars, sim_ns unit_ns, sim_ns *value)
{
    struct decimal d;
    if (!scan_decimal(chars, chars + n_chars, &d)) return NUMBER_BAD;
    uint64_t unit = (uint64_t)unit_ns;
    if (d.exponent < 0 && d.exponent > -POWERS && !d.inexact && unit % powers_of_10[-d.exponent] == 0) {
        unit /= powers_of_10[-d.exponent]; /* the usual case: a whole number of nanoseconds */
        d.exponent = 0;
    }
    uint128 scaled = (uint128)d.mantissa * unit;
    if (d.exponent > 0 && scaled > 0) {
        if (d.exponent >= POWERS) return NUMBER_RANGE;
        if (scaled > INT64_MAX / powers_of_10[d.exponent]) return NUMBER_RANGE;
        scaled *= powers_of_10[d.exponent];
    } else if (d.exponent < 0) {
        scaled = divide_by_power(scaled, -d.exponent, d.inexact);
    }
    if (scaled > INT64_MAX) return NUMBER_RANGE;
    *value = d.negative ? -(sim_ns)scaled : (sim_ns)scaled;
    return NUMBER_OK;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar: years are counted from March, so that the leap day comes
 * last, in eras of 400 years (146097 days). */
static int64_t days_from_date(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Reads exactly `n` digits; -1 if there are fewer. */
static int fixed_digits(const char *at, const char *end, int n)
{
    if (end - at < n) return -1;
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (!is_digit(at[i])) return -1;
        sum = sum * 10 + (at[i] - '0');
    }
    return sum;
}

/* "YYYY-MM-DD", or "YYYYMMDD" of the basic format. */
static bool scan_date(const char **at, const char *end, bool *basic, int64_t *days)
{
    const char *p = *at;
    *basic = end - p >= 8 && is_digit(p[4]);
    if (end - p < (*basic ? 8 : 10) || (!*basic && (p[4] != '-' || p[7] != '-'))) return false;
    int year = fixed_digits(p, end, 4), month = fixed_digits(p + 5 - *basic, end, 2);
    int day = fixed_digits(p + (*basic ? 6 : 8), end, 2);
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) return false;
    *days = days_from_date(year, month, day);
    *at = p + (*basic ? 8 : 10);
    return true;
}

/* A fraction of a second, behind a point or a comma; none is 0. */
static bool scan_fraction(const char **at, const char *end, int64_t *ns)
{
    const char *p = *at;
    int n = 0;
    if (p == end || (*p != '.' && *p != ',')) return true;
    for (p++; p < end && is_digit(*p); p++, n++) {
        if (n < 9) *ns = *ns * 10 + (*p - '0');
    }
    if (n < 9) *ns *= (int64_t)powers_of_10[9 - n];
    *at = p;
    return n > 0;
}

/* "HH:MM", "HH:MM:SS" with or without a fraction; in the basic format without colons. Second 60 (a leap second) counts
 * as the first of the next minute. */
static bool scan_clock(const char **at, const char *end, bool basic, int64_t *seconds, int64_t *ns)
{
    const char *p = *at;
    const int colon = !basic;
    int hour = fixed_digits(p, end, 2), minute = -1, second = 0;
    if (hour >= 0 && (basic || (end - p > 2 && p[2] == ':'))) minute = fixed_digits(p + 2 + colon, end, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return false;
    p += 4 + colon;
    const bool has_second = p < end && (basic ? is_digit(*p) : *p == ':');
    if (has_second) {
        second = fixed_digits(p + colon, end, 2);
        p += 2 + colon;
    }
    *at = p;
    *seconds = (hour * 60 + minute) * 60 + second;
    return second >= 0 && second <= 60 && (!has_second || scan_fraction(at, end, ns));
}

/* Nothing, "Z", " UTC" or an offset "+08:00", "+0800", "+08", also behind a blank, in seconds east of UTC. */
static bool scan_zone(const char *at, const char *end, int64_t *offset_s)
{
    size_t n = (size_t)(end - at);
    if (n == 0 || (n == 1 && (*at == 'Z' || *at == 'z')) || (n == 4 && memcmp(at, " UTC", 4) == 0)) return true;
    if (n > 1 && *at == ' ') {
        at++;
        n--;
    }
    bool colon = n == 6 && at[3] == ':';
    if ((*at != '+' && *at != '-') || (n != 3 && n != 5 && !colon)) return false;
    int hours = fixed_digits(at + 1, end, 2), minutes = n == 3 ? 0 : fixed_digits(at + 3 + colon, end, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    *offset_s = (hours * 60 + minutes) * 60 * (*at == '-' ? -1 : 1);
    return true;
}

enum number_status number_timestamp_zoned(const char *chars, size_t n_chars, sim_ns *value, bool *has_zone)
{
    const char *at = chars, *end = chars + n_chars;
    int64_t days, seconds = 0, ns = 0, offset_s = 0;
    bool basic;
    *has_zone = false;
    if (!scan_date(&at, end, &basic, &days) || (basic && at == end)) return NUMBER_BAD;
    if (at < end) {
        if (*at != 'T' && *at != 't' && (basic || *at != ' ')) return NUMBER_BAD;
        at++;
        if (!scan_clock(&at, end, basic, &seconds, &ns) || !scan_zone(at, end, &offset_s)) return NUMBER_BAD;
        *has_zone = at < end;
    }
    int64_t total = days * 86400 + seconds - offset_s;
    if (__builtin_mul_overflow(total, SIM_NS_PER_S, &total) || __builtin_add_overflow(total, ns, &total)) {
        return NUMBER_RANGE;
    }
    *value = total;
    return NUMBER_OK;
}

enum number_status number_timestamp(const char *chars, size_t n_chars, sim_ns *value)
{
    bool has_zone;
    return number_timestamp_zoned(chars, n_chars, value, &has_zone);
}

void timestamp_show(sim_ns value, char text[TIMESTAMP_CHARS])
{
    const time_t second = (time_t)(value / SIM_NS_PER_S);
    struct tm tm;
    size_t n = strftime(text, TIMESTAMP_CHARS, "%Y-%m-%dT%H:%M:%S", gmtime_r(&second, &tm));
    if (value % SIM_NS_PER_S != 0) {
        n += (size_t)snprintf(text + n, TIMESTAMP_CHARS - n, ".%09d", (int)(value % SIM_NS_PER_S));
        while (text[n - 1] == '0') n--;
    }
    snprintf(text + n, TIMESTAMP_CHARS - n, "Z");
}
