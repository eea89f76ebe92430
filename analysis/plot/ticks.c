#include "analysis/plot/ticks.h"

#include "analysis/plot/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Labels --- */

/* m × 10ⁿ, the mantissa with the fewest digits that are exact, at most four. */
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

/* The suffix for numbers up to `most`, and its value. */
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

/* --- Ticks --- */

static const double gap_px = 10.0;       /* between labels side by side */
static const double least_minor_px = 7.0; /* between minor lines */
static const double rounding = 1e-9;

static double length_px(const struct scale *scale)
{
    return fabs(scale->to_px - scale->from_px);
}

double ticks_widest_px(const struct ticks *ticks, double size_px)
{
    double widest = 0.0;
    for (size_t i = 0; i < ticks->n; i++)
        widest = fmax(widest, text_width_px(ticks->at[i].label, strlen(ticks->at[i].label), size_px));
    return widest;
}

/* Whether neighbouring labels leave a gap. */
static bool labels_fit(const struct ticks *ticks, const struct scale *scale, bool beside, double size_px)
{
    double last_px = 0.0, last_width = -1.0;
    for (size_t i = 0; i < ticks->n; i++) {
        if (ticks->at[i].label[0] == 0) continue;
        const double px = scale_px(scale, ticks->at[i].value);
        const double width = text_width_px(ticks->at[i].label, strlen(ticks->at[i].label), size_px);
        const double needed = beside ? (width + last_width) / 2.0 + gap_px : 1.3 * size_px;
        if (last_width >= 0.0 && fabs(px - last_px) < needed) return false;
        last_px = px;
        last_width = width;
    }
    return true;
}

/* --- linear --- */

static void place_linear(struct ticks *ticks, const struct scale *scale, double step)
{
    const double first = ceil(scale->low / step - rounding), last = floor(scale->high / step + rounding);
    const double most = fmax(fabs(scale->low), fabs(scale->high));
    ticks->n = 0;
    for (double i = first; i <= last && ticks->n < TICKS_MAX; i += 1.0) {
        if (!scale_has(scale->kind, i * step)) continue;
        struct tick *tick = &ticks->at[ticks->n++];
        tick->value = i == 0.0 ? 0.0 : i * step;
        if (scale->kind == PLOT_TIME && step >= 1.0)
            time_label(tick->value, tick->label);
        else
            tick_number_label(tick->value, step, most, tick->label);
        const size_t length = strlen(tick->label);
        if (scale->kind == PLOT_TIME && step < 1.0 && i != 0.0)
            snprintf(tick->label + length, TICK_LABEL_BYTES - length, " s");
    }
}

/* The number of parts into which minor lines divide a step. */
static int minor_parts(enum plot_scale kind, double step)
{
    if (kind == PLOT_TIME && step >= 10.0) {
        static const double quarters_s[] = {60, 120, 3600, 7200, 43200, 86400};
        static const double thirds_s[] = {15, 30, 900, 1800, 10800};
        for (size_t i = 0; i < sizeof quarters_s / sizeof *quarters_s; i++)
            if (step == quarters_s[i]) return 4;
        for (size_t i = 0; i < sizeof thirds_s / sizeof *thirds_s; i++)
            if (step == thirds_s[i]) return 3;
        return step == 21600.0 ? 6 : 5;
    }
    const double lead = step / pow(10.0, floor(log10(step) + rounding));
    return fabs(lead - 2.0) < 0.1 ? 4 : 5;
}

static void place_linear_minor(struct ticks *ticks, const struct scale *scale, double step, bool whole)
{
    int parts = minor_parts(scale->kind, step);
    const double px = length_px(scale) * step / (scale->high - scale->low);
    if (parts == 4 && px / parts < least_minor_px) parts = 2;
    if (px / parts < least_minor_px || (whole && step < parts)) return;
    const double small = step / parts;
    const double first = ceil(scale->low / small - rounding), last = floor(scale->high / small + rounding);
    for (double i = first; i <= last && ticks->n_minor < MINOR_TICKS_MAX; i += 1.0)
        if (fmod(i, parts) != 0.0 && scale_has(scale->kind, i * small)) ticks->minor[ticks->n_minor++] = i * small;
}

static void find_linear(struct ticks *ticks, const struct scale *scale, bool beside, bool whole, double size_px,
                        double tick_px)
{
    double step = 0.8 * (scale->high - scale->low) * fmin(1.0, tick_px / length_px(scale));
    step = fmax(step, fmax(fabs(scale->low), fabs(scale->high)) * 1e-13);
    for (int tries = 0; tries < 12; tries++) {
        step = scale_round_step(scale->kind, whole ? fmax(step, 1.0) : step);
        place_linear(ticks, scale, step);
        if (labels_fit(ticks, scale, beside, size_px)) break;
        step *= 1.01;
    }
    place_linear_minor(ticks, scale, step, whole);
}

/* --- logarithmic --- */

/* Places ticks at the leading digits of a mask (bit 1: 1, ... bit 9: 9) in every `every`-th decade. */
static void place_log(struct ticks *ticks, const struct scale *scale, unsigned leads, int every)
{
    const int first = (int)floor(log10(scale->low) + rounding), last = (int)floor(log10(scale->high) + rounding);
    const bool as_power = scale->low < 1e-4 * (1.0 - rounding) || scale->high >= 1e16;
    ticks->n = 0;
    for (int decade = first; decade <= last; decade++) {
        for (int lead = 1; lead <= 9; lead++) {
            const double value = lead * pow(10.0, decade);
            if (!(leads >> lead & 1U) || decade % every != 0 || ticks->n == TICKS_MAX) continue;
            if (!scale_has(PLOT_LOG, value) || value < scale->low * (1.0 - rounding) ||
                value > scale->high * (1.0 + rounding))
                continue;
            struct tick *tick = &ticks->at[ticks->n++];
            tick->value = value;
            tick_number_label(value, value, as_power ? 1e16 : value, tick->label);
        }
    }
}

static void place_log_minor(struct ticks *ticks, const struct scale *scale)
{
    const double decade_px = length_px(scale) / (log10(scale->high) - log10(scale->low));
    const int first = (int)floor(log10(scale->low) + rounding), last = (int)floor(log10(scale->high) + rounding);
    if (decade_px < 5.0 * least_minor_px) return;
    for (int decade = first; decade <= last; decade++)
        for (int lead = 2; lead <= 9; lead++) {
            const double value = lead * pow(10.0, decade);
            if (scale_has(PLOT_LOG, value) && value > scale->low && value < scale->high &&
                ticks->n_minor < MINOR_TICKS_MAX)
                ticks->minor[ticks->n_minor++] = value;
        }
}

static void find_log(struct ticks *ticks, const struct scale *scale, bool beside, double size_px, double tick_px)
{
    enum { ALL = 0x3fe, ONE_TWO_FIVE = 0x26, ONE = 0x02 };
    static const unsigned leads[] = {ALL, ONE_TWO_FIVE, ONE};
    const double decades = log10(scale->high) - log10(scale->low);
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        place_log(ticks, scale, leads[i], 1);
        const bool is_dense = (leads[i] == ALL && decades > 1.0) ||
                              (leads[i] != ONE && (double)ticks->n * 0.6 * tick_px > length_px(scale));
        if (ticks->n >= 2 && ticks->n < TICKS_MAX && !is_dense && labels_fit(ticks, scale, beside, size_px)) {
            place_log_minor(ticks, scale);
            return;
        }
    }
    for (int every = (int)fmax(1.0, decades * 0.5 * tick_px / length_px(scale)); every < 700; every++) {
        place_log(ticks, scale, ONE, every);
        if (ticks->n < TICKS_MAX && labels_fit(ticks, scale, beside, size_px)) return;
    }
}

void ticks_find(struct ticks *ticks, const struct scale *scale, bool beside, bool whole, double size_px, double tick_px)
{
    *ticks = (struct ticks){0};
    if (scale->kind == PLOT_LOG)
        find_log(ticks, scale, beside, size_px, tick_px);
    else
        find_linear(ticks, scale, beside, whole, size_px, tick_px);
}

bool ticks_at(struct ticks *ticks, const struct scale *scale, const double *values, size_t n, double size_px)
{
    *ticks = (struct ticks){0};
    bool is_placed = n > 0 && n <= TICKS_MAX;
    for (size_t i = 0; is_placed && i < n; i++) {
        struct tick *tick = &ticks->at[ticks->n++];
        tick->value = values[i];
        if (scale->kind == PLOT_TIME)
            time_label(values[i], tick->label);
        else
            number_label(values[i], tick->label);
        const bool is_within = values[i] >= scale->low * (1.0 - rounding) &&
                               values[i] <= scale->high * (1.0 + rounding);
        is_placed = is_within && (i == 0 || strcmp(tick->label, tick[-1].label) != 0);
    }
    is_placed = is_placed && labels_fit(ticks, scale, true, size_px);
    if (!is_placed) *ticks = (struct ticks){0};
    return is_placed;
}
