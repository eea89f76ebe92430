/* The legend: rows above the data, so that it never covers any. */
#include "analysis/plot/frame.h"

#include "analysis/plot/style.h"
#include "analysis/plot/text_width.h"

#include <math.h>
#include <string.h>

static const double sample_px = 24.0, sample_gap_px = 6.0, entry_gap_px = 18.0;

struct entry {
    const char *name;
    size_t series; /* n_series: a line that is no data */
    size_t line;
    size_t row;
    double x, width_px; /* from the start of the row */
};

/* Finds the next entry; begin with entry->name = NULL. Returns false after the last one. */
static bool next_entry(const struct plot_chart *chart, struct entry *entry, double width_px)
{
    const size_t n = chart->kind == PLOT_HEATMAP ? 0 : chart->n_series;
    size_t at = entry->name == NULL ? 0 : 1 + (entry->series < n ? entry->series : n + entry->line);
    while (at < n + chart->n_lines && (at < n ? chart->series[at].name : chart->lines[at - n].name) == NULL) at++;
    if (at >= n + chart->n_lines) return false;
    const bool is_first = entry->name == NULL;
    entry->x = is_first ? 0.0 : entry->x + entry->width_px + entry_gap_px;
    if (is_first) entry->row = 0;
    entry->series = at < n ? at : n;
    entry->line = at < n ? 0 : at - n;
    entry->name = at < n ? chart->series[at].name : chart->lines[at - n].name;
    const double text_px = text_width_px(entry->name, strlen(entry->name), STYLE_TEXT_PX);
    entry->width_px = fmin(sample_px + sample_gap_px + text_px, width_px);
    if (!is_first && entry->x + entry->width_px > width_px) {
        entry->row++;
        entry->x = 0.0;
    }
    return true;
}

size_t legend_rows(const struct plot_chart *chart, double width_px)
{
    struct entry entry = {0};
    size_t n = 0;
    while (next_entry(chart, &entry, width_px)) n = entry.row + 1;
    return n;
}

static void draw_line_sample(struct text *svg, double x, double y, const char *attributes)
{
    draw_px(svg, "<path d=\"M", x);
    draw_px(svg, " ", y);
    draw_px(svg, "h", sample_px);
    text_printf(svg, "\" fill=\"none\"%s/>", attributes);
}

static void draw_marker_sample(struct text *svg, const struct series_style *style, bool is_hollow, double x, double y)
{
    text_add(svg, "<path d=\"");
    draw_marker(svg, style->shape, x + sample_px / 2.0, y, STYLE_MARKER_PX);
    text_printf(svg, "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%s\"/>",
                is_hollow ? "#ffffff\" fill-opacity=\"0.5" : style->colour, is_hollow ? style->colour : "#ffffff",
                is_hollow ? "1.6" : "0.8");
}

static void draw_series_sample(const struct frame *frame, size_t i, double x, double y)
{
    const struct plot_chart *chart = frame->chart;
    const struct series_style style = style_of_series(chart, i);
    const bool is_reference = chart->series[i].is_reference;
    struct text *svg = frame->svg;
    if (chart->kind == PLOT_GANTT || (chart->kind == PLOT_BAR && !is_reference)) {
        text_add(svg, "<rect");
        draw_rect_place(svg, &(struct px_rect){x + 6.0, y - 6.0, x + 18.0, y + 6.0});
        text_printf(svg, " fill=\"%s\"/>", style.colour);
        return;
    }
    const bool is_line = chart->kind == PLOT_LINE || chart->kind == PLOT_STEP || chart->kind == PLOT_CDF;
    if (is_line && !is_reference) {
        draw_px(svg, "<path d=\"M", x);
        draw_px(svg, " ", y);
        draw_px(svg, "h", sample_px);
        text_printf(svg, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s/>", style.colour, style.dashes);
    }
    if (!is_line || is_reference || chart->n_series > 1) draw_marker_sample(svg, &style, is_reference, x, y);
}

void legend_draw(const struct frame *frame)
{
    const double left = FRAME_MARGIN_PX, width_px = frame->width - 2.0 * FRAME_MARGIN_PX;
    struct entry entry = {0};
    while (next_entry(frame->chart, &entry, width_px)) {
        const double y = frame->legend_top + LEGEND_ROW_PX * ((double)entry.row + 0.5);
        if (entry.series < frame->chart->n_series && frame->chart->kind != PLOT_HEATMAP)
            draw_series_sample(frame, entry.series, left + entry.x, y);
        else
            draw_line_sample(frame->svg, left + entry.x, y,
                             frame->chart->lines[entry.line].is_dashed
                                 ? " stroke=\"" STYLE_QUIET "\" stroke-width=\"1.2\" stroke-dasharray=\"5 4\""
                                 : " stroke=\"" STYLE_INK "\" stroke-width=\"1.2\"");
        draw_label(frame->svg, left + entry.x + sample_px + sample_gap_px, y + 4.5, " fill=\"" STYLE_INK "\"",
                   entry.name, STYLE_TEXT_PX, entry.width_px - sample_px - sample_gap_px + 1.0);
    }
}
