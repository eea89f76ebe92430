/* How wide a text will be, by a fixed table: no font is asked, so that the same chart has the same bytes everywhere. */
#ifndef ORRERY_ANALYSIS_PLOT_TEXT_WIDTH_H
#define ORRERY_ANALYSIS_PLOT_TEXT_WIDTH_H

#include <stddef.h>

/* Pixels of n bytes of UTF-8 in regular type of that size. The widths are those of DejaVu Sans, the widest of the usual
 * system fonts: in others a text takes less. */
double text_width_px(const char *chars, size_t n_bytes, double size_px);

/* Bytes of the longest start of `chars` within `most_px`, whole characters. */
size_t text_fit_bytes(const char *chars, double size_px, double most_px);

#endif
