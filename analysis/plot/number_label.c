/* Numbers as people read them on an axis: 2,000 and 20k and 2×10⁻⁵. */
#include "analysis/plot/ticks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* m × 10ⁿ, the mantissa with as few digits as it takes, up to four. */
static void format_power(double value, char label[TICK_LABEL_BYTES])
{
    static const char *const digits[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
                                         "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
                                         "\xe2\x81\xb8", "\xe2\x81\xb9"};
    char plain[TICK_LABEL_BYTES], power[TICK_LABEL_BYTES] = "";
    snprintf(plain, sizeof plain, "%.3e", value);
    char *exponent = strchr(plain, 'e');
    if (exponent == NULL) return;
    const long n = strtol(exponent + 1, NULL, 10);
    *exponent = 0;
    const double mantissa = strtod(plain, NULL);
    char rest[TICK_LABEL_BYTES];
    snprintf(rest, sizeof rest, "%ld", labs(n));
    size_t length = 0;
    if (n < 0) length += (size_t)snprintf(power, sizeof power, "\xe2\x81\xbb");
    for (const char *c = rest; *c != 0; c++)
        length += (size_t)snprintf(power + length, sizeof power - length, "%s", digits[*c - '0']);
    if (fabs(mantissa) == 1.0)
        snprintf(label, TICK_LABEL_BYTES, "%s10%.20s", mantissa < 0.0 ? "-" : "", power);
    else
        snprintf(label, TICK_LABEL_BYTES,
                 "%.4g\xc3\x97"
                 "10%.16s",
                 mantissa, power);
}

/* The suffix for numbers up to `most`, and what it stands for. */
static const char *find_suffix(double most, double *unit)
{
    static const struct {
        double unit;
        const char *suffix;
    } suffixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (int i = 0; most >= 1e4 && i < 4; i++)
        if (most >= suffixes[i].unit) {
            *unit = suffixes[i].unit;
            return suffixes[i].suffix;
        }
    *unit = 1.0;
    return "";
}

void tick_number_label(double value, double step, double most, char label[TICK_LABEL_BYTES])
{
    double unit;
    const char *suffix = find_suffix(most, &unit);
    if (value == 0.0) {
        snprintf(label, TICK_LABEL_BYTES, "0");
    } else if (most >= 1e16 || most < 1e-4) {
        format_power(value, label);
    } else {
        const double places = ceil(-log10(step / unit) - 1e-9);
        const int decimals = places > 0.0 ? (int)fmin(places, 12.0) : 0;
        if (unit == 1.0 && decimals == 0 && fabs(value) >= 1000.0)
            snprintf(label, TICK_LABEL_BYTES, "%s%d,%03d", value < 0.0 ? "-" : "", (int)(fabs(value) / 1000.0),
                     (int)fmod(fabs(value), 1000.0));
        else
            snprintf(label, TICK_LABEL_BYTES, "%.*f%s", decimals, value / unit, suffix);
    }
}

void number_label(double value, char label[TICK_LABEL_BYTES])
{
    double unit;
    const char *suffix = find_suffix(fabs(value), &unit);
    if (value != 0.0 && (fabs(value) >= 1e16 || fabs(value) < 1e-4))
        format_power(value, label);
    else
        snprintf(label, TICK_LABEL_BYTES, "%.4g%s", value / unit, suffix);
}

void time_label(double value_s, char label[TICK_LABEL_BYTES])
{
    const char *sign = value_s < 0.0 ? "-" : "";
    const double s = fabs(value_s);
    if (s >= 1e11 || (s > 0.0 && s < 1e-4)) {
        char power[TICK_LABEL_BYTES];
        format_power(value_s, power);
        snprintf(label, TICK_LABEL_BYTES, "%.28s s", power);
        return;
    }
    const long days = (long)(s / 86400.0), hours = (long)(s / 3600.0) % 24, minutes = (long)(s / 60.0) % 60;
    const double rest = floor(fmod(s, 60.0));
    char hour_minute[TICK_LABEL_BYTES], *clock = hour_minute;
    clock += snprintf(clock, 16, "%ld:%02ld", hours, minutes);
    if (rest != 0.0) snprintf(clock, 8, ":%02.0f", rest);
    if (s < 60.0)
        snprintf(label, TICK_LABEL_BYTES, "%s%.4g%s", sign, s, s == 0.0 ? "" : " s");
    else if (s < 3600.0 && rest != 0.0)
        snprintf(label, TICK_LABEL_BYTES, "%s%ld:%02.0f min", sign, minutes, rest);
    else if (s < 3600.0)
        snprintf(label, TICK_LABEL_BYTES, "%s%ld min", sign, minutes);
    else if (days == 0 && (minutes != 0 || rest != 0.0))
        snprintf(label, TICK_LABEL_BYTES, "%s%.12s h", sign, hour_minute);
    else if (days == 0)
        snprintf(label, TICK_LABEL_BYTES, "%s%ld h", sign, hours);
    else if (minutes != 0 || rest != 0.0)
        snprintf(label, TICK_LABEL_BYTES, "%s%ld d %.8s", sign, days, hour_minute);
    else if (hours != 0)
        snprintf(label, TICK_LABEL_BYTES, "%s%ld d %ld h", sign, days, hours);
    else
        snprintf(label, TICK_LABEL_BYTES, "%s%ld d", sign, days);
}
