#include "analysis/plot/draw.h"

#include "sim/core/text.h"

#include <math.h>
#include <string.h>

/* --- Widths of texts --- */

enum { FIRST_CHAR = ' ', LAST_CHAR = '~', PER_EM = 1000, OTHER_WIDTH = 640, WIDE_WIDTH = 1000 };

/* Advance widths of DejaVu Sans 2.37, in thousandths of the size. */
static const short widths[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};

/* Characters of two bytes count as a usual letter; those of three and four bytes as a full square. */
static int char_width(const char *chars, size_t n_bytes)
{
    const unsigned char c = (unsigned char)*chars;
    if (c >= FIRST_CHAR && c <= LAST_CHAR) return widths[c - FIRST_CHAR];
    return n_bytes > 2 ? WIDE_WIDTH : OTHER_WIDTH;
}

static size_t char_bytes(const char *chars, size_t left)
{
    const size_t n = text_utf8_length(chars, left);
    return n > 0 ? n : 1;
}

double text_width_px(const char *chars, size_t n_bytes, double size_px)
{
    double width = 0.0;
    for (size_t i = 0, n; i < n_bytes; i += n) {
        n = char_bytes(chars + i, n_bytes - i);
        width += char_width(chars + i, n);
    }
    return width * size_px / PER_EM;
}

size_t text_fit_bytes(const char *chars, double size_px, double most_px)
{
    const size_t n_bytes = strlen(chars);
    double width = 0.0;
    for (size_t i = 0, n; i < n_bytes; i += n) {
        n = char_bytes(chars + i, n_bytes - i);
        width += char_width(chars + i, n) * size_px / PER_EM;
        if (width > most_px) return i;
    }
    return n_bytes;
}

size_t text_halve(const char *chars)
{
    const size_t n_bytes = strlen(chars);
    double shortest = HUGE_VAL;
    size_t second = 0;
    for (size_t i = 1; i + 1 < n_bytes; i++) {
        if (chars[i] != ' ') continue;
        const double longer = fmax(text_width_px(chars, i, 1.0), text_width_px(chars + i + 1, n_bytes - i - 1, 1.0));
        if (longer >= shortest) continue;
        shortest = longer;
        second = i + 1;
    }
    return second;
}

/* --- Marks --- */

static const char *const replacement = "\xef\xbf\xbd";

/* XML excludes control characters but tab and line ends, U+FFFE and U+FFFF. */
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

/* Formats tenths without printf: a chart has tens of thousands of them. */
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

void draw_place(struct text *svg, const char *before, double x, double y)
{
    draw_px(svg, before, x);
    draw_px(svg, " ", y);
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

static void add_polygon(struct text *svg, double x, double y, double radius, const struct px_point *corners, size_t n)
{
    draw_place(svg, "M", x + radius * corners[0].x, y + radius * corners[0].y);
    for (size_t i = 1; i < n; i++)
        draw_place(svg, i == 1 ? "L" : " ", x + radius * corners[i].x, y + radius * corners[i].y);
    text_add(svg, "z");
}

static void add_circle(struct text *svg, double x, double y, double radius)
{
    draw_place(svg, "M", x - radius, y);
    for (int half = 0; half < 2; half++) {
        draw_place(svg, "a", radius, radius);
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

/* --- Lines --- */

void pen_init(struct pen *pen, struct text *svg, const struct px_rect *clip)
{
    *pen = (struct pen){.svg = svg, .clip = *clip};
}

void pen_lift(struct pen *pen)
{
    pen->is_down = pen->has_drawn = false;
}

/* Draws to a point within the rectangle, up to rounding; `moves`: without a line to it. */
static void draw_to(struct pen *pen, double x_px, double y_px, bool moves)
{
    const double x = fmin(fmax(x_px, pen->clip.left), pen->clip.right);
    const double y = fmin(fmax(y_px, pen->clip.top), pen->clip.bottom);
    const long x_tenths = lrint(x * 10.0), y_tenths = lrint(y * 10.0);
    const bool same_x = x_tenths == pen->x_tenths, same_y = y_tenths == pen->y_tenths;
    if (!moves && same_x && same_y) return;
    if (!moves && same_y) {
        draw_px(pen->svg, "H", x);
    } else if (!moves && same_x) {
        draw_px(pen->svg, "V", y);
    } else {
        draw_place(pen->svg, moves ? "M" : "L", x, y);
    }
    if (moves) text_add(pen->svg, "h0"); /* a dot, if no line follows */
    pen->x_tenths = x_tenths;
    pen->y_tenths = y_tenths;
}

/* Narrows the visible part of a line, from share *from to share *to, by one border. `delta`: the line's extent
 * towards the border; `room`: the distance from its start to it (Liang and Barsky 1984). */
static bool cut(double delta, double room, double *from, double *to)
{
    if (delta == 0.0) return room >= 0.0;
    const double share = room / delta;
    if (delta > 0.0)
        *to = fmin(*to, share);
    else
        *from = fmax(*from, share);
    return *from <= *to;
}

static void draw_cut(struct pen *pen, struct px_point a, struct px_point b)
{
    const struct px_rect *clip = &pen->clip;
    const double dx = b.x - a.x, dy = b.y - a.y;
    double from = 0.0, to = 1.0;
    if (!cut(dx, clip->right - a.x, &from, &to) || !cut(-dx, a.x - clip->left, &from, &to) ||
        !cut(dy, clip->bottom - a.y, &from, &to) || !cut(-dy, a.y - clip->top, &from, &to)) {
        pen->has_drawn = false;
        return;
    }
    if (!pen->has_drawn || from > 0.0) draw_to(pen, a.x + from * dx, a.y + from * dy, true);
    draw_to(pen, a.x + to * dx, a.y + to * dy, false);
    pen->has_drawn = to >= 1.0;
}

void pen_to(struct pen *pen, double x, double y)
{
    const struct px_point to = {x, y};
    if (pen->is_down) {
        draw_cut(pen, pen->at, to);
    } else {
        const struct px_rect *clip = &pen->clip;
        pen->has_drawn = x >= clip->left && x <= clip->right && y >= clip->top && y <= clip->bottom;
        if (pen->has_drawn) draw_to(pen, x, y, true);
    }
    pen->is_down = true;
    pen->at = to;
}

void thinner_init(struct thinner *thinner, struct pen *pen)
{
    *thinner = (struct thinner){.pen = pen};
}

/* Draws the column: its extremes between its ends, in their order. */
static void draw_column(struct thinner *thinner)
{
    struct pen *pen = thinner->pen;
    if (thinner->n == 0) return;
    pen_to(pen, thinner->first.x, thinner->first.y);
    const bool low_is_first = thinner->low_at < thinner->high_at;
    const struct px_point *one = low_is_first ? &thinner->low : &thinner->high;
    const struct px_point *two = low_is_first ? &thinner->high : &thinner->low;
    if (thinner->n > 2) {
        pen_to(pen, one->x, one->y);
        pen_to(pen, two->x, two->y);
    }
    if (thinner->n > 1) pen_to(pen, thinner->last.x, thinner->last.y);
    thinner->n = 0;
}

void thinner_to(struct thinner *thinner, double x, double y)
{
    const struct px_point point = {x, y};
    const double column = floor(x);
    if (thinner->n > 0 && column != thinner->column) draw_column(thinner);
    if (thinner->n == 0) {
        thinner->column = column;
        thinner->first = thinner->low = thinner->high = point;
        thinner->low_at = thinner->high_at = 0;
    }
    if (y > thinner->low.y) {
        thinner->low = point;
        thinner->low_at = thinner->n;
    }
    if (y < thinner->high.y) {
        thinner->high = point;
        thinner->high_at = thinner->n;
    }
    thinner->last = point;
    thinner->n++;
}

void thinner_end(struct thinner *thinner)
{
    draw_column(thinner);
    pen_lift(thinner->pen);
}
