#include "analysis/plot/draw.h"

#include "analysis/plot/text_width.h"

#include <math.h>
#include <string.h>

static const char *const replacement = "\xef\xbf\xbd";

/* XML has no control characters but tab and line ends, and neither U+FFFE nor U+FFFF. */
static bool is_xml_char(const char *chars, size_t n)
{
    const unsigned char *c = (const unsigned char *)chars;
    if (n == 1) return c[0] >= 0x20 ? c[0] != 0x7f : c[0] == '\t' || c[0] == '\n';
    return n > 0 && !(n == 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe);
}

static void add_escaped(struct text *svg, const char *chars, size_t n_bytes)
{
    for (size_t i = 0, n; i<n_bytes; i += n> 0 ? n : 1) {
        n = text_utf8_length(chars + i, n_bytes - i);
        if (!is_xml_char(chars + i, n))
            text_add(svg, replacement);
        else if (chars[i] == '&')
            text_add(svg, "&amp;");
        else if (chars[i] == '<')
            text_add(svg, "&lt;");
        else if (chars[i] == '>')
            text_add(svg, "&gt;");
        else
            text_add_bytes(svg, chars + i, n);
    }
}

void draw_escaped(struct text *svg, const char *chars)
{
    add_escaped(svg, chars, strlen(chars));
}

static long tenths_of(double px)
{
    return lrint(px * 10.0);
}

/* Writes a number of tenths by hand: a chart holds tens of thousands of them. */
static void add_tenths(struct text *svg, const char *before, long tenths)
{
    char digits[24];
    size_t at = sizeof digits;
    const bool is_negative = tenths < 0;
    unsigned long left = is_negative ? 0UL - (unsigned long)tenths : (unsigned long)tenths;
    if (left % 10 != 0) {
        digits[--at] = (char)('0' + left % 10);
        digits[--at] = '.';
    }
    left /= 10;
    do digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (is_negative) digits[--at] = '-';
    text_add(svg, before);
    text_add_bytes(svg, digits + at, sizeof digits - at);
}

void draw_px(struct text *svg, const char *before, double px)
{
    add_tenths(svg, before, tenths_of(px));
}

void draw_rect_place(struct text *svg, const struct px_rect *rect)
{
    const long left = tenths_of(rect->left), top = tenths_of(rect->top);
    add_tenths(svg, " x=\"", left);
    add_tenths(svg, "\" y=\"", top);
    add_tenths(svg, "\" width=\"", tenths_of(rect->right) - left);
    add_tenths(svg, "\" height=\"", tenths_of(rect->bottom) - top);
    text_add(svg, "\"");
}

void draw_label(struct text *svg, double x, double y, const char *attributes, const char *chars, double size_px,
                double most_px)
{
    const size_t n_bytes = strlen(chars);
    const bool fits = most_px <= 0.0 || text_width_px(chars, n_bytes, size_px) <= most_px;
    draw_px(svg, "<text x=\"", x);
    draw_px(svg, "\" y=\"", y);
    text_printf(svg, "\"%s>", attributes);
    if (fits) {
        add_escaped(svg, chars, n_bytes);
    } else {
        add_escaped(svg, chars, text_fit_bytes(chars, size_px, most_px - size_px));
        text_add(svg, "\xe2\x80\xa6<title>");
        add_escaped(svg, chars, n_bytes);
        text_add(svg, "</title>");
    }
    text_add(svg, "</text>\n");
}

/* --- markers --- */

static void add_move(struct text *svg, double x, double y)
{
    draw_px(svg, "M", x);
    draw_px(svg, " ", y);
}

static void add_polygon(struct text *svg, double x, double y, double radius, const struct px_point *corners, size_t n)
{
    add_move(svg, x + radius * corners[0].x, y + radius * corners[0].y);
    for (size_t i = 1; i < n; i++) {
        draw_px(svg, i == 1 ? "L" : " ", x + radius * corners[i].x);
        draw_px(svg, " ", y + radius * corners[i].y);
    }
    text_add(svg, "z");
}

static void add_circle(struct text *svg, double x, double y, double radius)
{
    add_move(svg, x - radius, y);
    for (int half = 0; half < 2; half++) {
        draw_px(svg, "a", radius);
        draw_px(svg, " ", radius);
        draw_px(svg, " 0 1 0 ", half == 0 ? 2.0 * radius : -2.0 * radius);
        text_add(svg, " 0");
    }
    text_add(svg, "z");
}

/* All of about the same area. */
void draw_marker(struct text *svg, unsigned shape, double x, double y, double radius)
{
    static const struct px_point square[] = {{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}};
    static const struct px_point up[] = {{0.0, -1.25}, {1.15, 0.85}, {-1.15, 0.85}};
    static const struct px_point diamond[] = {{0.0, -1.3}, {1.3, 0.0}, {0.0, 1.3}, {-1.3, 0.0}};
    static const struct px_point down[] = {{0.0, 1.25}, {1.15, -0.85}, {-1.15, -0.85}};
    static const struct px_point plus[] = {{-0.4, -1.2}, {0.4, -1.2}, {0.4, -0.4}, {1.2, -0.4},
                                           {1.2, 0.4},   {0.4, 0.4},  {0.4, 1.2},  {-0.4, 1.2},
                                           {-0.4, 0.4},  {-1.2, 0.4}, {-1.2, -0.4}, {-0.4, -0.4}};
    switch (shape % DRAW_MARKERS) {
    case 0: add_circle(svg, x, y, radius); break;
    case 1: add_polygon(svg, x, y, radius, square, 4); break;
    case 2: add_polygon(svg, x, y, radius, up, 3); break;
    case 3: add_polygon(svg, x, y, radius, diamond, 4); break;
    case 4: add_polygon(svg, x, y, radius, down, 3); break;
    default: add_polygon(svg, x, y, radius, plus, 12); break;
    }
}
