#include "analysis/plot/style.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Okabe and Ito, Color Universal Design (2008), without yellow, which white swallows; black as ink, and a grey. */
static const char *const colours[PLOT_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#000000", "#8c8c8c"};

/* Number of the colour of series i among those of its sort: how many of that sort stand before it. */
static unsigned rank_among(const struct plot_chart *chart, size_t i)
{
    unsigned rank = 0;
    for (size_t k = 0; k < i; k++) rank += chart->series[k].is_reference == chart->series[i].is_reference;
    return rank;
}

static unsigned colour_number(const struct plot_chart *chart, size_t i)
{
    const unsigned asked = chart->series[i].colour;
    return asked > 0 ? asked - 1 : rank_among(chart, i);
}

struct series_style style_of_series(const struct plot_chart *chart, size_t i)
{
    static const char *const dashes[] = {"", " stroke-dasharray=\"7 3\"", " stroke-dasharray=\"2 3\""};
    const unsigned number = colour_number(chart, i);
    const unsigned round = number / PLOT_COLOURS;
    return (struct series_style){colours[number % PLOT_COLOURS], number, dashes[round < 3 ? round : 2]};
}

size_t style_partner(const struct plot_chart *chart, size_t i)
{
    const unsigned number = colour_number(chart, i);
    for (size_t k = 0; k < chart->n_series; k++)
        if (!chart->series[k].is_reference && colour_number(chart, k) == number) return k;
    return chart->n_series;
}

/* From pale yellow over green to deep blue, in even steps of lightness in OKLab (Ottosson 2020), 0.965 to 0.28: lightness
 * alone tells values apart, with any kind of colour vision and in grey. */
void style_heat(int level, char colour[8])
{
    static const int anchors[][3] = {{248, 246, 204}, {188, 231, 161}, {102, 214, 151}, {0, 192, 160}, {0, 163, 171},
                                     {0, 129, 171},   {0, 94, 153},    {8, 62, 118},    {30, 38, 72}};
    enum { PARTS = sizeof anchors / sizeof anchors[0] - 1 };
    const double place = (double)level * PARTS / (STYLE_HEAT_LEVELS - 1);
    const int part = place < PARTS ? (int)place : PARTS - 1;
    int mixed[3];
    for (int i = 0; i < 3; i++)
        mixed[i] = (int)lrint(anchors[part][i] + (place - part) * (anchors[part + 1][i] - anchors[part][i]));
    snprintf(colour, 8, "#%02x%02x%02x", (unsigned)mixed[0] & 0xffU, (unsigned)mixed[1] & 0xffU,
             (unsigned)mixed[2] & 0xffU);
}

const char *style_text_on(const char *colour)
{
    static const double weights[] = {0.0722, 0.7152, 0.2126}; /* of blue, green and red, as in WCAG 2.1 */
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    double luminance = 0.0;
    for (int i = 0; i < 3; i++, rgb >>= 8) luminance += weights[i] * pow((double)(rgb & 0xff) / 255.0, 2.2);
    return luminance > 0.215 ? STYLE_INK : "#ffffff"; /* where both contrast alike */
}
