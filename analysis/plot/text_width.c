#include "analysis/plot/text_width.h"

#include "sim/core/text.h"

#include <string.h>

enum { FIRST_CHAR = ' ', LAST_CHAR = '~', PER_EM = 1000, OTHER_WIDTH = 640, WIDE_WIDTH = 1000 };

/* Advance widths of DejaVu Sans 2.37, in thousandths of the size. */
static const short widths[] = {
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361,  318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635,  611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352,  635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592,  525, 636, 337, 636, 838,
};

/* Letters outside of ASCII are taken as a usual one; those of three and four bytes as a full square, as most are. */
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
