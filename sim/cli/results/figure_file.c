#include "sim/cli/results/figure_file.h"

#include "sim/core/number.h"
#include "sim/core/output.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define PX_PER_CM (96.0 / 2.54)
#define TEXT_PT (13.0 * 72.0 / 96.0) /* of the type in a chart without zoom */

static const char *const endings[] = {"svg", "pdf", "tex", "gp", "csv", NULL};

int figure_form_of(const char *path, enum figure_form *form, struct diag *diag)
{
    const char *dot = strrchr(path, '.'), *end = dot != NULL ? dot + 1 : "";
    for (int i = 0; endings[i] != NULL; i++) {
        *form = (enum figure_form)i;
        if (strcmp(end, endings[i]) == 0) return 0;
    }
    return diag_error(diag, SIM_E_USAGE, "--output", "name a file that ends in .svg, .pdf, .tex, .gp or .csv",
                      "'%s' does not say in which form", path);
}

/* --- Size and font --- */

int figure_read_size(const char *text, struct figure_style *style, struct diag *diag)
{
    style->width_cm = 8.5;
    style->height_cm = 6;
    style->is_sized = text != NULL;
    if (text == NULL) return 0;
    const size_t n = strcspn(text, "x");
    const bool is_read = text[n] == 'x' && number_f64(text, n, &style->width_cm) == NUMBER_OK &&
                         number_f64(text + n + 1, strlen(text + n + 1), &style->height_cm) == NUMBER_OK;
    const bool is_within = style->width_cm >= 3 && style->height_cm >= 3 && style->width_cm <= 100 &&
                           style->height_cm <= 100;
    if (is_read && is_within) return 0;
    return diag_error(diag, SIM_E_USAGE, "--size", "write width and height of 3 to 100 cm, like 8.5x6",
                      "'%s' is no size", text);
}

int figure_read_font(const char *family, const char *points, struct figure_style *style, struct diag *diag)
{
    style->font = family;
    style->font_pt = 9;
    for (const char *c = family; c != NULL && *c != 0; c++)
        if (!isalnum((unsigned char)*c) && strchr(" -", *c) == NULL)
            return diag_error(diag, SIM_E_USAGE, "--font", "names of fonts have letters, digits, blanks and '-'",
                              "'%s' is no name of a font", family);
    if (points == NULL) return 0;
    if (number_f64(points, strlen(points), &style->font_pt) == NUMBER_OK && style->font_pt >= 4 && style->font_pt <= 40)
        return 0;
    return diag_error(diag, SIM_E_USAGE, "--font-size", "write 4 to 40, in points", "'%s' is no size of type", points);
}

/* --- Points --- */

/* The axes that the table of points has: that along x, then those of the lines. */
static size_t list_axes(const struct study *study, const struct study_view *view, size_t axes[STUDY_MAX_AXES])
{
    size_t n = 0;
    axes[n++] = view->x;
    for (size_t a = 0; a < study->n_axes; a++)
        if ((view->by >> a & 1) != 0) axes[n++] = a;
    return n;
}

void figure_points(const struct study *study, const struct study_view *view, struct answer *answer)
{
    const struct study_metric *metric = &study->metrics[view->metric];
    const char *const names[] = {study->relative_to != NULL ? "pairs" : "runs", metric->heading, "low", "high"};
    struct table_column columns[STUDY_MAX_AXES + 4];
    struct answer_table table;
    size_t axes[STUDY_MAX_AXES];
    const size_t n_axes = list_axes(study, view, axes);
    for (size_t i = 0; i < n_axes; i++)
        columns[i] = (struct table_column){study->axes[axes[i]].name, study->axes[axes[i]].name, COLUMN_LEFT};
    for (size_t i = 0; i < 4; i++) columns[n_axes + i] = (struct table_column){names[i], names[i], COLUMN_RIGHT};
    table_init(&table, columns, n_axes + 4);
    for (size_t p = 0; p < study->n_points; p++) {
        const struct study_point *point = &study->points[p];
        if (!study_view_has(study, view, point)) continue;
        const struct interval *value = &point->metrics[view->metric];
        for (size_t i = 0; i < n_axes; i++) table_text(&table, study->axes[axes[i]].values[point->levels[axes[i]]]);
        table_number(&table, (double)point->n_runs);
        table_number(&table, value->mean);
        table_number(&table, value->low);
        table_number(&table, value->high);
    }
    answer_add(answer, NULL, NULL, &table);
}

static int add_csv(const struct study *study, const struct study_view *view, struct text *out, struct diag *diag)
{
    struct answer answer;
    answer_init(&answer, ANSWER_CSV, NULL);
    figure_points(study, view, &answer);
    return answer_take(&answer, out, diag);
}

/* --- Drawings --- */

/* A size that nobody asked for may grow with the content. */
static int check_size(const struct plot_chart *chart, const struct figure_style *style, struct diag *diag)
{
    const double px = PX_PER_CM / chart->zoom, off_px = 0.01;
    double width, height;
    plot_size(chart, &width, &height);
    if (!style->is_sized || (width <= chart->width + off_px && height <= chart->height + off_px)) return 0;
    return diag_error(diag, SIM_E_USAGE, "--size", "make it larger, or the type smaller by --font-size",
                      "%gx%g is too small for this figure with type of %g points, which takes %.1fx%.1f",
                      style->width_cm, style->height_cm, style->font_pt, ceil(10 * (width - off_px) / px) / 10,
                      ceil(10 * (height - off_px) / px) / 10);
}

static void set_size(struct plot_chart *chart, const struct figure_style *style)
{
    chart->zoom = style->font_pt / TEXT_PT;
    chart->width = style->width_cm * PX_PER_CM / chart->zoom;
    chart->height = style->height_cm * PX_PER_CM / chart->zoom;
}

static int add_svg(struct plot_chart *chart, const struct figure_style *style, struct text *svg, struct diag *diag)
{
    set_size(chart, style);
    chart->font = style->font;
    const char *note = chart->subtitle;
    if (style->may_drop_note && note != NULL && check_size(chart, style, NULL) != 0) chart->subtitle = NULL;
    const int code = check_size(chart, style, diag);
    if (code == 0 && note != chart->subtitle)
        diag_warning(diag, NULL, "say it in the caption, or make the figure larger by --size",
                     "the line '%s' does not fit and is left out", note);
    if (code == 0) plot_svg(chart, svg);
    return code;
}

static int add_pdf(struct plot_chart *chart, const struct figure_style *style, struct text *pdf, struct diag *diag)
{
    static const char *const fonts[] = {"Helvetica", "Times", "Courier"};
    struct text svg;
    int found = style->font == NULL ? 0 : -1;
    for (int i = 0; style->font != NULL && i < 3; i++)
        if (strcmp(fonts[i], style->font) == 0) found = i;
    if (found < 0)
        return diag_error(diag, SIM_E_USAGE, "--font", "a PDF may have Helvetica, Times or Courier; SVG takes any font",
                          "'%s' is no standard font of PDF", style->font);
    text_init(&svg);
    const int code = add_svg(chart, style, &svg, diag);
    if (code == 0) plot_pdf(&svg, fonts[found], pdf);
    text_fini(&svg);
    return code;
}

/* A script that holds its data and names its own output: gnuplot fig.gp writes fig.pdf. */
static void add_gnuplot(const struct plot_chart *chart, const struct figure_style *style, const char *path,
                        struct text *out)
{
    struct text script, data;
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    text_init(&script);
    text_init(&data);
    struct plot_chart sized = *chart;
    set_size(&sized, style);
    plot_gnuplot(&sized, "$data", &script, &data);
    text_printf(out, "set terminal pdfcairo size %.4gcm,%.4gcm font '%s,%.4g'\nset output '", style->width_cm,
                style->height_cm, style->font != NULL ? style->font : "", style->font_pt);
    for (const char *c = name; c < name + strlen(name) - strlen("gp"); c++)
        text_printf(out, *c == '\'' ? "''" : "%c", *c);
    text_add(out, "pdf'\n$data << END_OF_DATA\n");
    if (data.chars != NULL) text_add_bytes(out, data.chars, data.length);
    text_add(out, "END_OF_DATA\n");
    if (script.chars != NULL) text_add_bytes(out, script.chars, script.length);
    out->failed |= script.failed || data.failed;
    text_fini(&script);
    text_fini(&data);
}

int figure_write(const struct study *study, const struct study_view *view, struct plot_chart *chart,
                 const struct figure_style *style, const char *path, enum figure_form form, struct diag *diag)
{
    struct output *output;
    int code = output_open(path, &output, diag);
    if (code != 0) return code;
    struct text *out = output_text(output);
    switch (form) {
    case FIGURE_SVG: code = add_svg(chart, style, out, diag); break;
    case FIGURE_PDF: code = add_pdf(chart, style, out, diag); break;
    case FIGURE_TEX: plot_tikz(chart, style->width_cm, style->height_cm, out); break;
    case FIGURE_GP: add_gnuplot(chart, style, path, out); break;
    case FIGURE_CSV: code = add_csv(study, view, out, diag); break;
    }
    if (code == 0 && out->failed) code = diag_nomem(diag);
    const int closed = output_close(output, code != 0, diag);
    return code != 0 ? code : closed;
}
