/* The legend of a chart, and the names of categories beside an axis. */
#include "analysis/plot/frame.h"

#include "analysis/plot/draw.h"
#include "analysis/plot/mark.h"

#include <math.h>
#include <string.h>

/* --- Legend --- */

static const double sample_px = 24.0, sample_gap_px = 6.0, entry_gap_px = 18.0;

struct entry {
    const char *name;
    size_t at; /* index among series, then lines that are no data, then events */
    size_t row;
    double x, width_px; /* from the start of the row */
};

/* The number of series in the legend: none of a heat map, which has a scale of colours instead. */
static size_t count_series(const struct plot_chart *chart)
{
    return chart->kind == PLOT_HEATMAP ? 0 : chart->n_series;
}

static const char *entry_name(const struct plot_chart *chart, size_t at)
{
    const size_t n = count_series(chart);
    if (at < n) return chart->series[at].name;
    if (at < n + chart->n_lines) return chart->lines[at - n].name;
    return chart->events[at - n - chart->n_lines].name;
}

/* Finds the next entry; begin with entry->name = NULL. Returns false after the last one. */
static bool next_entry(const struct plot_chart *chart, struct entry *entry, double width_px)
{
    const size_t n_all = count_series(chart) + chart->n_lines + chart->n_events;
    const bool is_first = entry->name == NULL;
    size_t at = is_first ? 0 : entry->at + 1;
    while (at < n_all && entry_name(chart, at) == NULL) at++;
    if (at >= n_all) return false;
    entry->x = is_first ? 0.0 : entry->x + entry->width_px + entry_gap_px;
    if (is_first) entry->row = 0;
    entry->at = at;
    entry->name = entry_name(chart, at);
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

/* A piece of a line. */
static void draw_line_sample(struct text *svg, double x, double y, const char *colour, const char *width,
                             const char *dashes)
{
    draw_place(svg, "<path d=\"M", x, y);
    draw_px(svg, "h", sample_px);
    text_printf(svg, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>", colour, width, dashes);
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
    if (is_line && !is_reference) draw_line_sample(svg, x, y, style.colour, "2", style.dashes);
    if (is_line && !is_reference && chart->n_series == 1) return;
    mark_shape(svg, &style, is_reference, STYLE_MARKER_PX, x + sample_px / 2.0, y);
    text_add(svg, "/>");
}

static void draw_line_entry(const struct frame *frame, const struct plot_line *line, double x, double y)
{
    draw_line_sample(frame->svg, x, y, line->is_dashed ? STYLE_QUIET : STYLE_INK, "1.2",
                     style_dashes_of_line(frame->chart, line));
}

/* Three ticks. */
static void draw_events_sample(const struct frame *frame, const struct plot_events *events, double x, double y)
{
    text_printf(frame->svg, "<path stroke=\"%s\" stroke-width=\"1.6\" fill=\"none\" d=\"",
                events_colour(events->colour));
    for (int i = 0; i < 3; i++) {
        draw_place(frame->svg, "M", x + 6.0 + 6.0 * i, y - 4.0);
        draw_px(frame->svg, "v", 8.0);
    }
    text_add(frame->svg, "\"/>");
}

static void draw_sample(const struct frame *frame, size_t at, double x, double y)
{
    const struct plot_chart *chart = frame->chart;
    const size_t n = count_series(chart);
    if (at < n)
        draw_series_sample(frame, at, x, y);
    else if (at < n + chart->n_lines)
        draw_line_entry(frame, &chart->lines[at - n], x, y);
    else
        draw_events_sample(frame, &chart->events[at - n - chart->n_lines], x, y);
}

void legend_draw(const struct frame *frame)
{
    const double left = FRAME_MARGIN_PX, width_px = frame->width - 2.0 * FRAME_MARGIN_PX;
    struct entry entry = {0};
    while (next_entry(frame->chart, &entry, width_px)) {
        const double y = frame->legend_top + LEGEND_ROW_PX * ((double)entry.row + 0.5);
        draw_sample(frame, entry.at, left + entry.x, y);
        draw_label(frame->svg, left + entry.x + sample_px + sample_gap_px, y + 4.5, " fill=\"" STYLE_INK "\"",
                   entry.name, STYLE_TEXT_PX, entry.width_px - sample_px - sample_gap_px + 1.0);
    }
}

/* --- Names of categories --- */

enum { MOST_LINES = 3 };

static const double line_px = 15.0, side_gap_px = 8.0, slant_sine = 0.5736, slant_cosine = 0.8192; /* 35 degrees */
static const double longest_slanted_px = 150.0;

static const char *name_of(const struct plot_chart *chart, size_t i)
{
    const bool has_name = chart->categories != NULL && i < chart->n_categories && chart->categories[i] != NULL;
    return has_name ? chart->categories[i] : "";
}

const char *frame_category(const struct frame *frame, size_t i)
{
    return name_of(frame->chart, i);
}

static double widest_name_px(const struct plot_chart *chart)
{
    double widest = 0.0;
    for (size_t i = 0; i < chart->n_categories; i++) {
        const char *name = name_of(chart, i);
        widest = fmax(widest, text_width_px(name, strlen(name), STYLE_TEXT_PX));
    }
    return widest;
}

/* The bytes of the next line of a name: as many words as fit, at least one. A word ends after a blank, '-', '_' or
 * '/'. */
static size_t line_bytes(const char *name, double most_px)
{
    size_t taken = 0;
    for (size_t i = 0; name[i] != 0; i++) {
        const bool ends_word = name[i + 1] == 0 || strchr(" -_/", name[i]) != NULL;
        if (!ends_word) continue;
        const size_t shown = name[i] == ' ' ? i : i + 1;
        if (taken > 0 && text_width_px(name, shown, STYLE_TEXT_PX) > most_px) break;
        taken = i + 1;
    }
    return taken;
}

/* The number of lines of a name within `most_px`; MOST_LINES + 1 if it does not fit. */
static int count_lines(const char *name, double most_px)
{
    int n = 0;
    while (*name != 0 && n <= MOST_LINES) {
        const size_t n_bytes = line_bytes(name, most_px);
        if (text_width_px(name, n_bytes, STYLE_TEXT_PX) > most_px + 4.0) return MOST_LINES + 1;
        name += n_bytes;
        n++;
    }
    return n;
}

void names_fit_x(struct category_labels *names, const struct plot_chart *chart, double slot_px)
{
    const double most_px = slot_px - side_gap_px;
    int n_lines = 1;
    for (size_t i = 0; i < chart->n_categories; i++) {
        const int n = count_lines(name_of(chart, i), most_px);
        if (n > n_lines) n_lines = n;
    }
    *names = (struct category_labels){.every = 1, .n_lines = n_lines, .most_px = most_px};
    if (n_lines <= MOST_LINES) {
        names->depth_px = line_px * n_lines + 5.0;
        return;
    }
    names->is_slanted = true;
    names->n_lines = 1;
    names->every = (size_t)fmax(1.0, ceil(1.6 * STYLE_TEXT_PX / slot_px));
    names->most_px = fmin(widest_name_px(chart) + 1.0, longest_slanted_px);
    names->depth_px = names->most_px * slant_sine + line_px;
}

void names_fit_y(struct category_labels *names, const struct plot_chart *chart, double slot_px, double most_px)
{
    names->every = (size_t)fmax(1.0, ceil(1.15 * STYLE_TEXT_PX / slot_px));
    names->is_slanted = false;
    names->n_lines = 1;
    names->most_px = fmin(widest_name_px(chart) + 1.0, most_px);
    names->depth_px = names->most_px + side_gap_px;
}

/* --- drawing --- */

static void draw_lines_below(const struct frame *frame, const char *name, double x, double y)
{
    struct text *svg = frame->svg;
    draw_px(svg, "<text x=\"", x);
    draw_px(svg, "\" y=\"", y);
    text_add(svg, "\">");
    for (int i = 0; *name != 0 && i < MOST_LINES; i++) {
        struct text line;
        const size_t n_bytes = line_bytes(name, frame->names.most_px);
        text_init(&line);
        text_add_bytes(&line, name, n_bytes);
        if (line.failed) svg->failed = true;
        if (i > 0) {
            draw_px(svg, "<tspan x=\"", x);
            draw_px(svg, "\" dy=\"", line_px);
            text_add(svg, "\">");
        }
        if (!line.failed) draw_escaped(svg, line.chars);
        if (i > 0) text_add(svg, "</tspan>");
        text_fini(&line);
        name += n_bytes;
    }
    text_add(svg, "</text>\n");
}

static void draw_slanted(const struct frame *frame, const char *name, double x, double y)
{
    draw_place(frame->svg, "<g transform=\"translate(", x + 4.0, y);
    text_add(frame->svg, ") rotate(-35)\">");
    draw_label(frame->svg, 0.0, 0.0, "", name, STYLE_TEXT_PX, frame->names.most_px);
    text_add(frame->svg, "</g>\n");
}

/* The room for a slanted name: it must not leave the drawing to the left. */
static double slanted_room_px(double x)
{
    return (x - 2.0) / slant_cosine;
}

static void draw_x_names(const struct frame *frame)
{
    const struct category_labels *names = &frame->names;
    struct frame cut = *frame;
    text_printf(frame->svg, "<g fill=\"" STYLE_INK "\" text-anchor=\"%s\">\n", names->is_slanted ? "end" : "middle");
    for (size_t i = 0; i < frame->chart->n_categories; i += names->every) {
        const double x = scale_px(&frame->x, (double)i), bottom = frame->data.bottom;
        const char *name = frame_category(frame, i);
        if (*name == 0 || !(x >= frame->data.left && x <= frame->data.right)) continue;
        cut.names.most_px = fmin(names->most_px, slanted_room_px(x));
        if (names->is_slanted)
            draw_slanted(&cut, name, x, bottom + 14.0);
        else
            draw_lines_below(frame, name, x, bottom + 18.0);
    }
    text_add(frame->svg, "</g>\n");
}

static void draw_y_names(const struct frame *frame)
{
    text_add(frame->svg, "<g fill=\"" STYLE_INK "\" text-anchor=\"end\">\n");
    for (size_t i = 0; i < frame->chart->n_categories; i += frame->names.every) {
        const char *name = frame_category(frame, i);
        const double y = scale_px(&frame->y, (double)i);
        if (*name == 0 || !(y >= frame->data.top && y <= frame->data.bottom)) continue;
        draw_label(frame->svg, frame->data.left - side_gap_px, y + 4.5, "", name, STYLE_TEXT_PX, frame->names.most_px);
    }
    text_add(frame->svg, "</g>\n");
}

void names_draw(const struct frame *frame)
{
    if (frame->x_is_named) draw_x_names(frame);
    if (frame->y_is_named) draw_y_names(frame);
}
