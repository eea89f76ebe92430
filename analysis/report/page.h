/* The HTML of a report: one self-contained page. Everything from a database goes through page_escape. */
#ifndef ORRERY_ANALYSIS_REPORT_PAGE_H
#define ORRERY_ANALYSIS_REPORT_PAGE_H

#include "analysis/plot/plot.h"
#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds text, safe in elements and in quoted attributes. Bytes that are no UTF-8 become U+FFFD; control characters
 * are dropped. */
void page_escape(struct text *html, const char *chars);

/* Formats, escapes and adds text. */
void page_printf(struct text *html, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add the page before and after its content. The policy of the head forbids every request. */
void page_open(struct text *html, const char *title);
void page_close(struct text *html);

/* A section of a page, which folds. `page` is the context of all its sections. */
struct page_section {
    const char *id, *title;
    bool (*applies)(const void *page); /* NULL: always */
    int (*add)(const void *page, struct text *html); /* the content; 0 or a negative code */
    bool is_open; /* at first; the script also opens the others on a wide screen */
};

/* Adds links to the sections that apply, and these sections. The list ends with a zero entry. */
void page_contents(struct text *html, const struct page_section *sections, const void *page);
int page_sections(struct text *html, const struct page_section *sections, const void *page);

/* Adds a row of a list of terms; nothing when the value is empty. */
void page_term(struct text *html, const char *term, const char *value);

/* Adds a paragraph that explains what is missing, or why. */
void page_note(struct text *html, const char *text);

/* A statement whose answer a figure or table shows. */
struct page_query {
    const char *sql;
    size_t n_rows; /* of its answer */
};

/* A chart with the statements behind it. */
struct page_figure {
    const struct plot_chart *chart;
    const char *note; /* what to notice, what was left out; or NULL */
    const struct page_query *queries;
    size_t n_queries;
    const char *group; /* figures of one group zoom together along x; NULL: no zoom */
    bool wide;         /* takes the whole width */
};

/* Figures are side by side if there is room. */
void page_figures(struct text *html);
void page_figures_end(struct text *html);
void page_figure(struct text *html, const struct page_figure *figure);

/* Small multiples: one figure with a small chart of each of the charts[n], under one title. `figure->chart` is
 * unused. */
void page_multiples(struct text *html, const char *title, const struct plot_chart *charts, size_t n,
                    const struct page_figure *figure);

/* Folds the figures after the first `most` that were added from offset `from` on; small multiples count as three. */
void page_fold_figures(struct text *html, size_t from, size_t most);

/* Adds the events of the charts over time, for the script: once for the page. */
void page_events(struct text *html, const struct plot_events *events, size_t n);

/* A chart of a page that is written: a document of SVG within it. */
struct page_chart {
    const char *svg; /* NULL: before the first chart */
    size_t svg_bytes;
    const char *title; /* escaped, as it stands in the page */
    size_t title_bytes;
};

/* Goes on to the next chart of the page. Returns false past the last one. */
bool page_next_chart(const struct text *html, struct page_chart *chart);

/* Adds the statements, folded. */
void page_sql(struct text *html, const struct page_query *queries, size_t n);

#endif
