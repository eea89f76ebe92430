/* Rows of ticks above the data, one row for each group of events. Ticks closer than a pixel are drawn once. */
#include "analysis/plot/frame.h"

#include "analysis/plot/mark.h"

#include <math.h>

/* Dark enough for thin ticks on white, and apart in lightness. */
static const char *const colours[PLOT_EVENT_COLOURS] = {"#b3261e", "#24292f", "#6f42c1",
                                                        "#1a7f5a", "#9a6700", "#0b5a8f"};

const char *events_colour(unsigned colour)
{
    return colours[colour % PLOT_EVENT_COLOURS];
}

static void draw_ticks(const struct frame *frame, const struct plot_events *events, double top)
{
    double last_px = -(double)INFINITY;
    for (size_t i = 0; i < events->n; i++) {
        const double x = scale_px(&frame->x, events->x[i]);
        if (isnan(x) || x < frame->data.left || x > frame->data.right || x - last_px < 1.0) continue;
        draw_place(frame->svg, "M", x, top);
        draw_px(frame->svg, "v", EVENTS_ROW_PX - 2.0);
        last_px = x;
    }
}

void events_draw(const struct frame *frame)
{
    const struct plot_chart *chart = frame->chart;
    for (size_t i = 0; i < chart->n_events; i++) {
        const double top = frame->data.top - 3.0 - EVENTS_ROW_PX * (double)(chart->n_events - i);
        text_printf(frame->svg, "<path stroke=\"%s\" stroke-width=\"1.2\" fill=\"none\" d=\"",
                    events_colour(chart->events[i].colour));
        draw_ticks(frame, &chart->events[i], top);
        text_add(frame->svg, "\"><title>");
        draw_escaped(frame->svg, chart->events[i].name);
        text_add(frame->svg, "</title></path>\n");
    }
}
