/* Two groups of runs against each other, as `orrery compare` judges them. */
#ifndef ORRERY_ANALYSIS_REPORT_VERSUS_H
#define ORRERY_ANALYSIS_REPORT_VERSUS_H

#include "analysis/compare/compare.h"
#include "analysis/report/source.h"

/* Compares by the options' `base` and `changed`. Returns what compare_groups returns; comparison_fini is needed either way. */
int versus_read(const struct report_source *source, struct comparison *comparison);

/* Adds "routing=jsq against routing=rr: 3 better, 1 worse, 2 unclear.", as plain text. */
void versus_sentence(const struct report_source *source, const struct comparison *comparison, struct text *text);

/* Adds the section with the table. */
void versus_section(const struct report_source *source, const struct comparison *comparison, struct text *html);

#endif
