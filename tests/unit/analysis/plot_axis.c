/* Axes, ticks and texts of charts: laws and closed forms. */
#include "analysis/plot/draw.h"
#include "analysis/plot/mark.h"
#include "analysis/plot/ticks.h"
#include "tests/support/harness.h"

TEST(ends_of_an_axis_lie_at_its_pixels)
{
    const struct scale linear = {PLOT_LINEAR, 0, 2, 140, 40}, logarithmic = {PLOT_LOG, 1, 100, 50, 150};
    CHECK_NEAR(scale_px(&linear, 0), 140, 1e-9);
    CHECK_NEAR(scale_px(&linear, 0.5), 115, 1e-9);
    CHECK_NEAR(scale_px(&linear, 2), 40, 1e-9);
    CHECK_NEAR(scale_px(&logarithmic, 1), 50, 1e-9);
    CHECK_NEAR(scale_px(&logarithmic, 10), 100, 1e-9);
    CHECK_NEAR(scale_px(&logarithmic, 100), 150, 1e-9);
}

TEST(values_off_the_axis_are_nan)
{
    const struct scale linear = {PLOT_LINEAR, 0, 2, 140, 40}, logarithmic = {PLOT_LOG, 1, 100, 50, 150};
    CHECK(isnan(scale_px(&linear, (double)NAN)) && isnan(scale_px(&linear, (double)INFINITY)));
    CHECK(isnan(scale_px(&linear, -1.7e308)));
    CHECK(isnan(scale_px(&logarithmic, 0.0)) && isnan(scale_px(&logarithmic, -1.0)));
    CHECK(fabs(scale_px(&linear, 1e300)) <= 1e6);
}

static bool is_one_two_five(double value)
{
    const double lead = value / pow(10.0, floor(log10(value * (1.0 + 1e-9))));
    return fabs(lead - 1.0) < 1e-6 || fabs(lead - 2.0) < 1e-6 || fabs(lead - 5.0) < 1e-6;
}

TEST(steps_are_one_two_five)
{
    for (double value = 1e-12; value < 1e12; value *= 1.37) {
        const double step = scale_round_step(PLOT_LINEAR, value);
        CHECK(is_one_two_five(step));
        CHECK(step >= value * (1.0 - 1e-9) && step < 2.5001 * value);
    }
    CHECK_NEAR(scale_round_step(PLOT_TIME, 40.0), 60.0, 0.0);
    CHECK_NEAR(scale_round_step(PLOT_TIME, 3601.0), 7200.0, 0.0);
    CHECK_NEAR(scale_round_step(PLOT_TIME, 100000.0), 172800.0, 0.0);
}

/* The data lies within the axis; ticks are one step apart, round, and leave less than a step at either end. */
static void check_linear(const struct scale *scale, const struct ticks *ticks, double low, double high)
{
    const double slack = 1e-6 * (scale->high - scale->low);
    CHECK(scale->low <= low + slack && scale->high >= high - slack);
    MUST(ticks->n >= 2);
    const double step = ticks->at[1].value - ticks->at[0].value;
    CHECK(scale->kind == PLOT_TIME || is_one_two_five(step));
    CHECK(ticks->at[0].value - scale->low < step * 1.000001);
    CHECK(scale->high - ticks->at[ticks->n - 1].value < step * 1.000001);
    for (size_t i = 0; i < ticks->n; i++) {
        const double steps = ticks->at[i].value / step;
        CHECK(fabs(steps - rint(steps)) < 1e-5 || fabs(steps) > 1e9);
        CHECK(ticks->at[i].value >= scale->low - slack && ticks->at[i].value <= scale->high + slack);
        CHECK(ticks->at[i].label[0] != 0);
    }
}

static void check_log(const struct scale *scale, const struct ticks *ticks, double low, double high)
{
    CHECK(scale->low <= low * (1.0 + 1e-6) && scale->high >= high * (1.0 - 1e-6));
    CHECK(ticks->n >= 1);
    const bool within_decade = scale->high / scale->low < 10.0 * (1.0 + 1e-9);
    for (size_t i = 0; i < ticks->n; i++) CHECK(within_decade || is_one_two_five(ticks->at[i].value));
}

/* Neighbours' labels keep apart. */
static void check_labels(const struct scale *scale, const struct ticks *ticks, bool beside)
{
    for (size_t i = 1; i < ticks->n; i++) {
        const char *a = ticks->at[i - 1].label, *b = ticks->at[i].label;
        const double distance = fabs(scale_px(scale, ticks->at[i].value) - scale_px(scale, ticks->at[i - 1].value));
        const double half = (text_width_px(a, strlen(a), 13.0) + text_width_px(b, strlen(b), 13.0)) / 2.0;
        CHECK(distance >= (beside ? half : 13.0));
        CHECK(strcmp(a, b) != 0);
    }
}

TEST(ticks_cover_and_are_round)
{
    struct rng rng = test_rng(7, "ticks", 0);
    for (int i = 0; i < 3000; i++) {
        static const enum plot_scale kinds[] = {PLOT_LINEAR, PLOT_LOG, PLOT_TIME};
        const struct plot_axis axis = {.scale = kinds[i % 3]};
        const double size = pow(10.0, 12.0 * rng_uniform(&rng) - 6.0);
        const double low = axis.scale == PLOT_LOG ? size : size * (rng_uniform(&rng) - 0.5);
        const double high = axis.scale == PLOT_LOG ? size * pow(10.0, 8.0 * rng_uniform(&rng))
                                                   : low + size * (0.01 + rng_uniform(&rng));
        const bool beside = rng_below(&rng, 2) == 0;
        const double length = (beside ? 300.0 : 150.0) + 500.0 * rng_uniform(&rng), tick_px = beside ? 76.0 : 38.0;
        struct extent data;
        struct ticks ticks;
        struct scale scale = {.from_px = 0.0, .to_px = length};
        extent_init(&data, axis.scale);
        extent_add(&data, low);
        extent_add(&data, high);
        scale_fit(&scale, &axis, &data, (enum scale_fit)rng_below(&rng, 4), length, tick_px);
        ticks_find(&ticks, &scale, beside, false, 13.0, tick_px);
        if (axis.scale == PLOT_LOG)
            check_log(&scale, &ticks, low, high);
        else
            check_linear(&scale, &ticks, low, high);
        check_labels(&scale, &ticks, beside);
    }
}

TEST(whole_numbers_have_no_fractions)
{
    const struct scale scale = {PLOT_LINEAR, 0, 3, 300, 0};
    struct ticks ticks;
    ticks_find(&ticks, &scale, false, true, 13.0, 38.0);
    CHECK_EQ_INT(ticks.n, 4);
    ticks_find(&ticks, &scale, false, false, 13.0, 38.0);
    CHECK_EQ_INT(ticks.n, 7);
    CHECK_EQ_STR(ticks.at[1].label, "0.5");
}

static void check_number(double value, const char *expected)
{
    char label[TICK_LABEL_BYTES];
    number_label(value, label);
    CHECK_EQ_STR(label, expected);
}

static void check_time(double value_s, const char *expected)
{
    char label[TICK_LABEL_BYTES];
    time_label(value_s, label);
    CHECK_EQ_STR(label, expected);
}

static void check_tick(double value, double step, double most, const char *expected)
{
    char label[TICK_LABEL_BYTES];
    tick_number_label(value, step, most, label);
    CHECK_EQ_STR(label, expected);
}

TEST(numbers_read_well)
{
    check_number(0.12345678, "0.1235");
    check_number(1234.0, "1234");
    check_number(25300.0, "25.3k");
    check_number(-4.2e9, "-4.2G");
    check_number(2e-5, "2\xc3\x97"
                       "10\xe2\x81\xbb\xe2\x81\xb5");
    check_number(1e20, "10\xc2\xb2\xe2\x81\xb0");
    check_tick(0.5, 0.5, 2.0, "0.5");
    check_tick(2.0, 0.5, 2.0, "2.0");
    check_tick(2000.0, 1000.0, 8000.0, "2,000");
    check_tick(-12000.0, 2000.0, 12000.0, "-12k");
    check_tick(1.5e6, 5e5, 2e6, "1.5M");
    check_tick(0.0, 0.01, 0.1, "0");
}

TEST(times_read_well)
{
    check_time(0.0, "0");
    check_time(0.25, "0.25 s");
    check_time(45.0, "45 s");
    check_time(90.0, "1:30 min");
    check_time(1800.0, "30 min");
    check_time(5400.0, "1:30 h");
    check_time(3615.0, "1:00:15 h");
    check_time(90061.0, "1 d 1:01:01");
    check_time(21600.0, "6 h");
    check_time(129600.0, "1 d 12 h");
    check_time(-172800.0, "-2 d");
}

TEST(widths_are_of_whole_characters)
{
    CHECK_NEAR(text_width_px("iW", 2, 10.0), 2.78 + 9.89, 1e-9);
    CHECK_NEAR(text_width_px("\xc3\xa9", 2, 10.0), 6.4, 1e-9);
    CHECK_EQ_INT(text_fit_bytes("abc", 10.0, 100.0), 3);
    CHECK_EQ_INT(text_fit_bytes("a\xc3\xa9", 10.0, 8.0), 1);
    CHECK_EQ_INT(text_fit_bytes("abc", 10.0, 0.0), 0);
}

/* At the blank that makes the longer half shortest. */
TEST(titles_break_between_words)
{
    CHECK_EQ_INT(text_halve("change of mean JCT from tiresias (%)"), 19);
    CHECK_EQ_INT(text_halve("a bbbbbbbb"), 2);
    CHECK_EQ_INT(text_halve("unbroken") + text_halve("") + text_halve(" x") + text_halve("x "), 0);
}

/* WCAG 2.1: relative luminance, and the contrast of two colours. */
static double luminance(const char *colour)
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const char digits[] = {colour[1 + 2 * i], colour[2 + 2 * i], 0};
        const double share = (double)strtol(digits, NULL, 16) / 255.0;
        sum += weights[i] * (share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4));
    }
    return sum;
}

static double contrast(const char *a, const char *b)
{
    const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
    return x > y ? x / y : y / x;
}

TEST(texts_stand_out)
{
    CHECK(contrast(STYLE_INK, "#ffffff") >= 7.0);
    CHECK(contrast(STYLE_QUIET, "#ffffff") >= 4.5);
    double last = 1.0;
    for (int level = 0; level < STYLE_HEAT_LEVELS; level++) {
        char colour[8];
        style_heat(level, colour);
        CHECK(contrast(colour, style_text_on(colour)) >= 3.0);
        CHECK(luminance(colour) < last); /* darker step by step: readable in grey */
        last = luminance(colour);
    }
}

TEST(references_share_colours_and_bars)
{
    static const double y[] = {1.0};
    const struct plot_series series[] = {{.n = 1, .y = y}, {.n = 1, .y = y, .is_reference = true}, {.n = 1, .y = y},
                                         {.n = 1, .y = y, .is_reference = true}, {.n = 1, .y = y, .is_reference = true, .colour = 5}};
    const struct plot_chart chart = {.kind = PLOT_BAR, .n_series = 5, .series = series, .n_categories = 1};
    CHECK_EQ_STR(style_of_series(&chart, 1).colour, style_of_series(&chart, 0).colour);
    CHECK_EQ_STR(style_of_series(&chart, 3).colour, style_of_series(&chart, 2).colour);
    CHECK(strcmp(style_of_series(&chart, 0).colour, style_of_series(&chart, 2).colour) != 0);
    CHECK_EQ_INT(bar_places(&chart), 3);
    CHECK_NEAR(bar_place(&chart, 1), bar_place(&chart, 0), 0.0);
    CHECK_NEAR(bar_place(&chart, 0), -1.0, 0.0);
    CHECK_NEAR(bar_place(&chart, 4), 1.0, 0.0);
}

/* Ticks stand at the given values, with their labels, or nowhere: where these overlap, are equal, or lie outside. */
TEST(ticks_stand_at_given_values_that_fit)
{
    const struct scale scale = {.kind = PLOT_LINEAR, .low = 30, .high = 50, .from_px = 0, .to_px = 200};
    const struct scale narrow = {.kind = PLOT_LINEAR, .low = 30, .high = 50, .from_px = 0, .to_px = 40};
    struct ticks ticks;
    CHECK(ticks_at(&ticks, &scale, (double[]){32, 40, 48}, 3, 13.0));
    CHECK_EQ_INT(ticks.n, 3);
    CHECK(ticks.at[0].value == 32 && ticks.at[2].value == 48);
    CHECK_EQ_STR(ticks.at[1].label, "40");
    CHECK(!ticks_at(&ticks, &narrow, (double[]){32, 40, 48}, 3, 13.0));
    CHECK_EQ_INT(ticks.n, 0);
    CHECK(!ticks_at(&ticks, &scale, (double[]){32, 60}, 2, 13.0));
    CHECK(!ticks_at(&ticks, &scale, (double[]){40, 40.0000001}, 2, 13.0));
    CHECK(!ticks_at(&ticks, &scale, NULL, 0, 13.0));
}

/* Lines with error bars stand side by side only where bars of two lines overlap at one value. */
TEST(lines_stand_apart_only_if_their_bars_overlap)
{
    const double x[] = {1, 2}, other_x[] = {1.5, 2.5}, low_y[] = {1, 1}, high_y[] = {5, 5};
    const double low[] = {0, 0}, high[] = {2, 2}, above_low[] = {3, 3}, above_high[] = {7, 7}, far_low[] = {3, 1.5};
    struct plot_series series[2] = {{.n = 2, .x = x, .y = low_y, .low = low, .high = high},
                                    {.n = 2, .x = x, .y = high_y, .low = above_low, .high = above_high}};
    const struct plot_chart chart = {.kind = PLOT_LINE, .has_whiskers = true, .n_series = 2, .series = series};
    SCOPED(text) svg = {0};
    struct frame frame;
    frame_init(&frame, &chart, &svg);
    CHECK(!frame.is_apart);
    series[1].low = far_low; /* at 2 it begins below the end of the other */
    frame_init(&frame, &chart, &svg);
    CHECK(frame.is_apart);
    series[1].x = other_x;
    frame_init(&frame, &chart, &svg);
    CHECK(!frame.is_apart);
}
