/* The SVG image of a chart as PDF 1.4: one page of paths and texts, as large as the image. It reads what plot_svg
 * writes (<g>, <rect>, <path>, <text>, <tspan>) and no other SVG. Texts are in the standard fonts of PDF readers, by
 * their published widths (Adobe Core 14 AFM): no font is embedded. */
#include "analysis/plot/plot.h"

#include "sim/core/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8, VALUE_CHARS = 64, WORD_CHARS = 512, PERCENTS = 101 };

/* What an element inherits. */
struct look {
    char fill[VALUE_CHARS], anchor[VALUE_CHARS];
    double size, opacity;
    bool is_bold;
};

struct page {
    struct text content;
    double width, height, zoom; /* of the image in its own pixels; points of the page to one */
    const short *widths;        /* of ' ' to '~' in thousandths of the size; NULL: all are 600 */
    struct look looks[DEPTH];
    int depth;
    bool opacities[PERCENTS]; /* those in use */
};

static const short helvetica[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584,
};

static const short times[] = {
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500,
    500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611,
    556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722,
    722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500,
    278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
};

/* --- Elements --- */

/* A tag up to its '>'. */
struct tag {
    const char *chars;
    size_t n;
};

static bool tag_is(const struct tag *tag, const char *name)
{
    const size_t n = strlen(name);
    return tag->n > n && strncmp(tag->chars + 1, name, n) == 0 && strchr(" >/", tag->chars[n + 1]) != NULL;
}

/* The value of an attribute; false if the tag lacks it. */
static bool tag_value(const struct tag *tag, const char *name, char value[VALUE_CHARS])
{
    const size_t n_name = strlen(name);
    for (const char *c = tag->chars; c + n_name + 3 < tag->chars + tag->n; c++) {
        if (c[0] != ' ' || strncmp(c + 1, name, n_name) != 0 || strncmp(c + 1 + n_name, "=\"", 2) != 0) continue;
        const char *from = c + n_name + 3;
        snprintf(value, VALUE_CHARS, "%.*s", (int)strcspn(from, "\""), from);
        return true;
    }
    return false;
}

/* Reads a decimal number at *chars, with blanks before it, and moves behind it; 0 if there is none. */
static double next_number(const char **chars)
{
    double value = 0.0;
    *chars += strspn(*chars, " ,");
    const size_t n = (size_t)(**chars == '-') + strspn(*chars + (**chars == '-'), "0123456789.");
    if (number_f64(*chars, n, &value) != NUMBER_OK) value = 0.0;
    *chars += n;
    return value;
}

static double tag_number(const struct tag *tag, const char *name, double otherwise)
{
    char value[VALUE_CHARS];
    const char *at = value;
    return tag_value(tag, name, value) ? next_number(&at) : otherwise;
}

/* --- Colours and lines --- */

static void set_colour(struct page *page, const char *colour, const char *operator)
{
    const unsigned long rgb = colour[0] == '#' ? strtoul(colour + 1, NULL, 16) : 0;
    text_printf(&page->content, "%.3g %.3g %.3g %s\n", (double)(rgb >> 16 & 255) / 255.0,
                (double)(rgb >> 8 & 255) / 255.0, (double)(rgb & 255) / 255.0, operator);
}

static void set_opacity(struct page *page, const struct tag *tag, const struct look *look)
{
    const double own = tag_number(tag, "fill-opacity", tag_number(tag, "stroke-opacity", 1.0)) * look->opacity;
    const int percent = (int)lrint(100.0 * fmin(fmax(own, 0.0), 1.0));
    page->opacities[percent] = true;
    text_printf(&page->content, "/G%d gs\n", percent);
}

static void set_stroke(struct page *page, const struct tag *tag)
{
    char value[VALUE_CHARS];
    const bool is_round = tag_value(tag, "stroke-linecap", value) || tag_value(tag, "stroke-linejoin", value);
    text_printf(&page->content, "%.4g w %d j %d J ", tag_number(tag, "stroke-width", 1.0), is_round, is_round);
    if (tag_value(tag, "stroke-dasharray", value)) text_printf(&page->content, "[%s] 0 d ", value);
}

/* --- Paths --- */

/* Half a circle from (x, y) to (x + dx, y), as two Bezier curves; below the line if dx > 0. */
static void add_half_circle(struct page *page, double x, double y, double dx)
{
    const double r = dx / 2.0, k = 0.5523 * r, middle = x + r, low = y + r;
    text_printf(&page->content, "%.2f %.2f %.2f %.2f %.2f %.2f c ", x, y + k, middle - k, low, middle, low);
    text_printf(&page->content, "%.2f %.2f %.2f %.2f %.2f %.2f c ", middle + k, low, x + dx, y + k, x + dx, y);
}

/* The next coordinates of a path and its operator; (x, y) is the place of the pen. */
static void add_step(struct page *page, char command, const char **d, double *x, double *y)
{
    switch (command) {
    case 'H': *x = next_number(d); break;
    case 'V': *y = next_number(d); break;
    case 'h': *x += next_number(d); break;
    case 'v': *y += next_number(d); break;
    case 'a':
        for (int i = 0; i < 5; i++) next_number(d);
        const double dx = next_number(d);
        next_number(d);
        add_half_circle(page, *x, *y, dx);
        *x += dx;
        return;
    default: *x = next_number(d); *y = next_number(d);
    }
    text_printf(&page->content, "%.2f %.2f %c ", *x, *y, command == 'M' ? 'm' : 'l');
}

static void add_shape(struct page *page, const char *d)
{
    double x = 0.0, y = 0.0;
    char command = 'M';
    while (*d != 0 && *d != '"') {
        if (*d == 'z') {
            text_add(&page->content, "h ");
            d += 1 + strspn(d + 1, " ");
            command = 'M';
            continue;
        }
        if ((*d >= 'A' && *d <= 'Z') || (*d >= 'a' && *d <= 'z')) command = *d++;
        const char *before = d;
        add_step(page, command, &d, &x, &y);
        if (d == before) break;
        d += strspn(d, " ");
    }
}

/* Paints a shape by the tag's fill and stroke. */
static void add_painted(struct page *page, const struct tag *tag, void (*add)(struct page *, const struct tag *))
{
    char fill[VALUE_CHARS] = "", stroke[VALUE_CHARS] = "none";
    const struct look *look = &page->looks[page->depth];
    if (!tag_value(tag, "fill", fill)) snprintf(fill, sizeof fill, "%s", look->fill);
    tag_value(tag, "stroke", stroke);
    const bool has_fill = strcmp(fill, "none") != 0, has_stroke = strcmp(stroke, "none") != 0;
    text_add(&page->content, "q ");
    set_opacity(page, tag, look);
    if (has_fill) set_colour(page, fill, "rg");
    if (has_stroke) set_colour(page, stroke, "RG");
    if (has_stroke) set_stroke(page, tag);
    add(page, tag);
    text_add(&page->content, has_fill && has_stroke ? "B Q\n" : has_fill ? "f Q\n" : has_stroke ? "S Q\n" : "n Q\n");
}

static void add_path(struct page *page, const struct tag *tag)
{
    const char *d = strstr(tag->chars, " d=\"");
    if (d != NULL && d < tag->chars + tag->n) add_shape(page, d + 4);
}

static void add_rect(struct page *page, const struct tag *tag)
{
    text_printf(&page->content, "%.2f %.2f %.2f %.2f re ", tag_number(tag, "x", 0.0), tag_number(tag, "y", 0.0),
                tag_number(tag, "width", 0.0), tag_number(tag, "height", 0.0));
}

/* --- Texts --- */

enum { UNKNOWN = 0xfffd };

/* A character of the text: its byte in Windows' Latin-1, and whether it is raised. */
struct glyph {
    unsigned char byte;
    bool is_raised;
};

/* The code point of a character; UNKNOWN for one of four bytes, which no standard font has, and for none. */
static unsigned code_of(const char *bytes, size_t n)
{
    const unsigned char *c = (const unsigned char *)bytes;
    if (n == 2) return (c[0] & 0x1fU) << 6 | (c[1] & 0x3fU);
    if (n == 3) return (c[0] & 0x0fU) << 12 | (c[1] & 0x3fU) << 6 | (c[2] & 0x3fU);
    return n == 1 && c[0] < 0x80 ? c[0] : UNKNOWN;
}

static struct glyph glyph_of(unsigned code)
{
    if (code == 0x2026) return (struct glyph){0x85, false}; /* an ellipsis */
    if (code == 0x2013 || code == 0x2212) return (struct glyph){0x96, false};
    if (code == 0xb9) return (struct glyph){'1', true};
    if (code == 0xb2 || code == 0xb3) return (struct glyph){(unsigned char)('0' + code - 0xb0), true};
    if (code == 0x207b) return (struct glyph){'-', true};
    if (code == 0x2070 || (code >= 0x2074 && code <= 0x2079))
        return (struct glyph){(unsigned char)('0' + code - 0x2070), true};
    const bool is_known = (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0x100);
    return (struct glyph){is_known ? (unsigned char)code : '?', false};
}

/* Decodes the content of an element up to the next tag. Returns the number of glyphs. */
static size_t read_glyphs(const char *chars, struct glyph glyphs[WORD_CHARS])
{
    static const struct {
        const char *name;
        unsigned char byte;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    size_t n = 0;
    while (*chars != 0 && *chars != '<' && n < WORD_CHARS) {
        size_t n_bytes = text_utf8_length(chars, strlen(chars));
        if (n_bytes == 0) n_bytes = 1;
        glyphs[n] = glyph_of(code_of(chars, n_bytes));
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (strncmp(chars, entities[i].name, strlen(entities[i].name)) == 0) {
                glyphs[n].byte = entities[i].byte;
                n_bytes = strlen(entities[i].name);
                break;
            }
        n++;
        chars += n_bytes;
    }
    return n;
}

static const double raised_size = 0.65, raised_by = 0.38; /* of the size */

static double width_of(const struct page *page, const struct glyph *glyphs, size_t n)
{
    double width = 0.0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = glyphs[i].byte;
        const double each = page->widths == NULL ? 600.0 : c >= ' ' && c <= '~' ? page->widths[c - ' '] : 556.0;
        width += each / 1000.0 * (glyphs[i].is_raised ? raised_size : 1.0);
    }
    return width;
}

static void add_word(struct page *page, const struct look *look, const char *chars, double x, double y)
{
    struct glyph glyphs[WORD_CHARS];
    struct text *out = &page->content;
    const size_t n = read_glyphs(chars, glyphs);
    const double width = look->size * width_of(page, glyphs, n);
    if (n == 0) return;
    if (strcmp(look->anchor, "end") == 0) x -= width;
    if (strcmp(look->anchor, "middle") == 0) x -= width / 2.0;
    text_add(out, "BT ");
    set_colour(page, look->fill, "rg");
    text_printf(out, "1 0 0 -1 %.2f %.2f Tm ", x, y);
    for (size_t i = 0, to; i < n; i = to) {
        const bool is_raised = glyphs[i].is_raised;
        text_printf(out, "/F%d %.4g Tf %.4g Ts (", look->is_bold ? 2 : 1, look->size * (is_raised ? raised_size : 1.0),
                    is_raised ? raised_by * look->size : 0.0);
        for (to = i; to < n && glyphs[to].is_raised == is_raised; to++) {
            const unsigned char c = glyphs[to].byte;
            const bool is_plain = c >= ' ' && c <= '~' && strchr("()\\", c) == NULL;
            text_printf(out, is_plain ? "%c" : "\\%03o", c);
        }
        text_add(out, ") Tj ");
    }
    text_add(out, "ET\n");
}

/* The look within an element: that around it, changed by its attributes. */
static struct look look_of(const struct tag *tag, const struct look *around)
{
    struct look look = *around;
    char value[VALUE_CHARS];
    tag_value(tag, "fill", look.fill);
    tag_value(tag, "text-anchor", look.anchor);
    look.size = tag_number(tag, "font-size", look.size);
    look.opacity *= tag_number(tag, "opacity", 1.0);
    look.is_bold |= tag_value(tag, "font-weight", value);
    return look;
}

/* Adds the lines of a <text>, which are its own and those of its <tspan>. */
static void add_text(struct page *page, const struct tag *tag)
{
    const struct look look = look_of(tag, &page->looks[page->depth]);
    const double x = tag_number(tag, "x", 0.0);
    double y = tag_number(tag, "y", 0.0);
    const char *end = strstr(tag->chars, "</text>"), *at = tag->chars + tag->n;
    add_word(page, &look, at, x, y);
    while (end != NULL && (at = strstr(at, "<tspan ")) != NULL && at < end) {
        const struct tag line = {at, strcspn(at, ">") + 1};
        y += tag_number(&line, "dy", 0.0);
        at += line.n;
        add_word(page, &look, at, x, y);
    }
}

/* --- The page --- */

static void begin_group(struct page *page, const struct tag *tag)
{
    const struct look look = look_of(tag, &page->looks[page->depth]);
    const char *turn = strstr(tag->chars, "translate(");
    if (page->depth + 1 < DEPTH) page->looks[++page->depth] = look;
    text_add(&page->content, "q\n");
    if (turn == NULL || turn > tag->chars + tag->n) return;
    turn += strlen("translate(");
    const double x = next_number(&turn), y = next_number(&turn);
    turn += strlen(") rotate(");
    const double angle = next_number(&turn) * acos(-1.0) / 180.0;
    text_printf(&page->content, "%.6f %.6f %.6f %.6f %.2f %.2f cm\n", cos(angle), sin(angle), -sin(angle), cos(angle),
                x, y);
}

static void end_group(struct page *page)
{
    if (page->depth > 0) page->depth--;
    text_add(&page->content, "Q\n");
}

static void begin_page(struct page *page, const struct tag *tag)
{
    const double points_per_px = 72.0 / 96.0;
    const char *box = strstr(tag->chars, "viewBox=\"0 0 ");
    if (box != NULL) {
        box += strlen("viewBox=\"0 0 ");
        page->width = next_number(&box);
        page->height = next_number(&box);
    }
    if (page->width > 0.0) page->zoom = points_per_px * tag_number(tag, "width", page->width) / page->width;
    page->looks[0] = (struct look){.fill = "#000000", .anchor = "start", .size = 13.0, .opacity = 1.0};
    text_printf(&page->content, "%.6f 0 0 %.6f 0 %.3f cm\n", page->zoom, -page->zoom, page->zoom * page->height);
}

static void add_elements(struct page *page, const char *svg)
{
    for (const char *at = strchr(svg, '<'); at != NULL; at = strchr(at + 1, '<')) {
        const struct tag tag = {at, strcspn(at, ">") + 1};
        if (tag_is(&tag, "svg")) begin_page(page, &tag);
        if (tag_is(&tag, "g")) begin_group(page, &tag);
        if (tag_is(&tag, "/g")) end_group(page);
        if (tag_is(&tag, "rect")) add_painted(page, &tag, add_rect);
        if (tag_is(&tag, "path")) add_painted(page, &tag, add_path);
        if (tag_is(&tag, "text")) add_text(page, &tag);
    }
}

enum { OBJECTS = 6 };

static void add_objects(const struct page *page, const char *font, struct text *pdf, size_t offsets[OBJECTS])
{
    const bool is_times = strcmp(font, "Times") == 0;
    offsets[0] = pdf->length;
    text_add(pdf, "1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n");
    offsets[1] = pdf->length;
    text_add(pdf, "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n");
    offsets[2] = pdf->length;
    text_printf(pdf, "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.3f %.3f] /Contents 4 0 R\n",
                page->zoom * page->width, page->zoom * page->height);
    text_add(pdf, "/Resources << /Font << /F1 5 0 R /F2 6 0 R >> /ExtGState <<");
    for (int i = 0; i < PERCENTS; i++)
        if (page->opacities[i]) text_printf(pdf, " /G%d << /ca %.2f /CA %.2f >>", i, i / 100.0, i / 100.0);
    text_add(pdf, " >> >> >>\nendobj\n");
    offsets[3] = pdf->length;
    text_printf(pdf, "4 0 obj\n<< /Length %zu >>\nstream\n", page->content.length);
    text_add_bytes(pdf, page->content.chars, page->content.length);
    text_add(pdf, "endstream\nendobj\n");
    for (int i = 4; i < OBJECTS; i++) {
        offsets[i] = pdf->length;
        text_printf(pdf, "%d 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /%s%s", i + 1, font,
                    i == 5     ? "-Bold"
                    : is_times ? "-Roman"
                               : "");
        text_add(pdf, " /Encoding /WinAnsiEncoding >>\nendobj\n");
    }
}

void plot_pdf(const struct text *svg, const char *font, struct text *pdf)
{
    struct page page = {.zoom = 0.75};
    size_t offsets[OBJECTS];
    page.widths = strcmp(font, "Helvetica") == 0 ? helvetica : strcmp(font, "Times") == 0 ? times : NULL;
    text_init(&page.content);
    if (svg->chars != NULL) add_elements(&page, svg->chars);
    if (svg->failed || page.content.failed) pdf->failed = true;
    text_add(pdf, "%PDF-1.4\n");
    if (!pdf->failed) add_objects(&page, font, pdf, offsets);
    text_fini(&page.content);
    if (pdf->failed) return;
    const size_t table = pdf->length;
    text_printf(pdf, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS + 1);
    for (int i = 0; i < OBJECTS; i++) text_printf(pdf, "%010zu 00000 n \n", offsets[i]);
    text_printf(pdf, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%zu\n%%%%EOF\n", OBJECTS + 1, table);
}
