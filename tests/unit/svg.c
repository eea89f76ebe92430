/* Plots: the bytes of a small one, and the laws of points and axes. */
#include "tests/harness.h"

#include "analysis/calibrate/svg.h"

#include <math.h>
#include <string.h>

static struct plot make_plot(struct text *svg)
{
    return (struct plot){.svg = svg, .left = 50, .top = 40, .width = 100, .height = 100,
                         .x = {"tokens", 1, 100, true, false}, .y = {"time (s)", 0, 2, false, false}};
}

static void a_small_plot_has_these_bytes(void)
{
    struct text svg;
    text_init(&svg);
    svg_open(&svg, 200, 200, "a < b & c", NULL);
    const struct plot plot = make_plot(&svg);
    plot_line(&plot, 1, 0, 100, 2, SVG_INK, true);
    plot_points(&plot, (struct plot_point[]){{10, 1}, {10, 1}, {1, 0.5}, {1000, 1}}, 4, svg_colour(0));
    svg_close(&svg);
    CHECK_EQ_STR(
        svg.chars,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"200\" viewBox=\"0 0 200 200\" "
        "font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"12\">\n"
        "<title>a &lt; b &amp; c</title>\n"
        "<rect width=\"200\" height=\"200\" fill=\"#ffffff\"/>\n"
        "<text x=\"16\" y=\"24\" font-size=\"15\" font-weight=\"bold\" fill=\"#222222\">a &lt; b &amp; c</text>\n"
        "<path d=\"M50 140L150 40\" stroke=\"#222222\" stroke-dasharray=\"5 4\"/>\n"
        "<path d=\"M100 90h0M50 115h0\" stroke=\"#0072b2\" stroke-width=\"3\" stroke-linecap=\"round\" "
        "stroke-opacity=\"0.5\" fill=\"none\"/>\n"
        "</svg>\n");
    text_fini(&svg);
}

static void axes_map_their_ends_to_the_frame(void)
{
    const struct plot plot = make_plot(NULL);
    CHECK_NEAR(plot_x(&plot, 1), 50, 1e-9);
    CHECK_NEAR(plot_x(&plot, 10), 100, 1e-9);
    CHECK_NEAR(plot_x(&plot, 100), 150, 1e-9);
    CHECK_NEAR(plot_y(&plot, 0), 140, 1e-9);
    CHECK_NEAR(plot_y(&plot, 2), 40, 1e-9);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word)) n++;
    return n;
}

static void every_decade_has_a_tick(void)
{
    struct text svg;
    text_init(&svg);
    const struct plot plot = make_plot(&svg);
    plot_axes(&plot);
    CHECK_EQ_INT(count(svg.chars, "text-anchor=\"end\""), 5); /* 0, 0.5 .. 2 */
    CHECK(strstr(svg.chars, ">1</text>") && strstr(svg.chars, ">10</text>") && strstr(svg.chars, ">100</text>"));
    CHECK(strstr(svg.chars, ">1.5</text>") && strstr(svg.chars, ">time (s)</text>"));
    text_fini(&svg);
}

static void ranges_are_rounded_outwards(void)
{
    double low = 3.0, high = 4.0;
    plot_fit_decades(&low, &high);
    CHECK(low == 1.0 && high == 10.0);
    low = high = 1000.0;
    plot_fit_decades(&low, &high);
    CHECK(low == 1000.0 && high == 10000.0);
    for (double value = 1e-3; value < 1e4; value *= 1.37) {
        const double rounded = plot_round_up(value);
        const double lead = rounded / pow(10.0, floor(log10(rounded * (1.0 + 1e-12))));
        CHECK(rounded >= value * (1.0 - 1e-12) && rounded < 2.5001 * value);
        CHECK(fabs(lead - 1.0) < 1e-9 || fabs(lead - 2.0) < 1e-9 || fabs(lead - 5.0) < 1e-9);
    }
}

TEST_SUITE(svg)
{
    TEST(a_small_plot_has_these_bytes);
    TEST(axes_map_their_ends_to_the_frame);
    TEST(every_decade_has_a_tick);
    TEST(ranges_are_rounded_outwards);
}
