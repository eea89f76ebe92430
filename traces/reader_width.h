/* How many fields the rows of a trace have, beside the columns that are read. */
#ifndef ORRERY_TRACES_READER_WIDTH_H
#define ORRERY_TRACES_READER_WIDTH_H

#include "traces/reader.h"

/* Looks at the row read last. */
void reader_see_width(struct widest_row *widest, const struct csv *csv);

/* ROW_BAD, with a problem of the reader, if the current row has a field beyond the columns that the header names:
 * often half of a number, as in "1,200". */
enum row_result reader_check_width(struct reader *reader);

/* Checks the numbers of columns in a file without header, against its widest row: at the end of the file, or before
 * the run, which may not read all rows. What is no file, such as a pipe, can be read once, and is checked at its end
 * alone. Returns 0, SIM_E_DATA or SIM_E_NOMEM. */
int reader_check_numbers(const struct reader *reader, struct diag *diag);
int reader_check_numbers_ahead(const struct reader *reader, struct diag *diag);

#endif
