#include "analysis/plot/ticks.h"

#include "analysis/plot/text_width.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Whether labels of neighbours leave a gap. */
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

/* Into how many parts minor lines divide a step. */
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

/* Ticks at the leads of a mask (bit 1: 1, ... bit 9: 9) of every `every`-th decade. */
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
