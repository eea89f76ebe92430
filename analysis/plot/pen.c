#include "analysis/plot/draw.h"

#include <math.h>

void pen_init(struct pen *pen, struct text *svg, const struct px_rect *clip)
{
    *pen = (struct pen){.svg = svg, .clip = *clip};
}

void pen_lift(struct pen *pen)
{
    pen->is_down = pen->has_drawn = false;
}

/* Draws to a point within the rectangle, but for errors of rounding; `moves`: without a line to it. */
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
        draw_px(pen->svg, moves ? "M" : "L", x);
        draw_px(pen->svg, " ", y);
    }
    if (moves) text_add(pen->svg, "h0"); /* a dot, should no line follow */
    pen->x_tenths = x_tenths;
    pen->y_tenths = y_tenths;
}

/* Narrows the part of a line, from share *from to share *to, that is not beyond one border. `delta` is how far the line
 * goes in the border's direction, `room` how much room its start has (Liang and Barsky 1984). */
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

/* Draws the column: its extremes between its ends, in the order in which they came. */
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
