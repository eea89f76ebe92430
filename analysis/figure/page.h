/* Figures as documents: charts, a Markdown file of one, and a page of all that have been run. */
#ifndef ORRERY_ANALYSIS_FIGURE_PAGE_H
#define ORRERY_ANALYSIS_FIGURE_PAGE_H

#include "analysis/figure/claims.h"
#include "analysis/figure/data.h"
#include "sim/core/text.h"

/* A figure's charts: the paper's points as hollow markers beside ours. */

/* Adds chart number `index` as an <svg> element. Returns 0 or SIM_E_NOMEM. */
int figure_chart_svg(const struct figure_data *data, size_t index, struct text *svg);

/* Adds it as a gnuplot script and the numbers that it reads from `data_name`. */
int figure_chart_gnuplot(const struct figure_data *data, size_t index, const char *data_name, struct text *script,
                         struct text *numbers);

/* Figures as documents: a Markdown file of one, and a page of all that have been run. */

/* A file of a figure, as link from the page. */
struct figure_link {
    const char *label, *target;
};

/* A figure whose results were read. */
struct figure_entry {
    const struct figure_data *data;
    const struct claim_results *claims;
    size_t n_links;
    const struct figure_link *links;
};

/* Writes the table of claims, the fitted parameters, the set-up and the notes. */
void figure_markdown(const struct figure_entry *entry, struct text *markdown);

/* Writes one self-contained HTML page. Returns 0 or SIM_E_NOMEM. */
int figure_gallery(const struct figure_entry *entries, size_t n, struct text *html);

#endif
