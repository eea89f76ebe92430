/* What kinds of charts share when they draw data: markers, whiskers, what is said on hovering. */
#ifndef ORRERY_ANALYSIS_PLOT_MARK_H
#define ORRERY_ANALYSIS_PLOT_MARK_H

#include "analysis/plot/frame.h"
#include "analysis/plot/style.h"

/* Above this many elements with a text each, a series is drawn as one path without: pages stay small. */
enum { MARK_MOST_ELEMENTS = 400 };

/* A <title>: name of the series, label of the entry when it has one, and "x, y" as people read them. */
void mark_title(const struct frame *frame, const struct plot_series *series, size_t i);

/* Adds "name: " or nothing. */
void mark_name(struct text *svg, const char *name);

/* A value as the axis writes it. */
void mark_value(struct text *svg, enum plot_scale kind, double value);

/* One marker at a place within the frame, filled, or hollow for a reference, with its own <title>. */
void mark_point(const struct frame *frame, size_t series, size_t i, double x, double y);

/* A vertical interval from low to high, with serifs. */
void mark_whisker(const struct frame *frame, const char *colour, double x, double low, double high);

/* Whether a point in pixels lies within the frame (a little beyond, for rounding); false for NAN. */
bool mark_is_inside(const struct frame *frame, double x, double y);

#endif
