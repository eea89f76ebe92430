/* The files that a bound configuration names by path: traces above all. */
#ifndef ORRERY_CLI_NAMED_FILES_H
#define ORRERY_CLI_NAMED_FILES_H

#include "sim/core/config/config.h"

/* Takes the path of a file, and returns 0 or a negative code, which ends the walk. */
typedef int (*named_file_fn)(void *context, const char *path);

/* Visits all that `bound` names, in the order of the fields, of lists, maps and the alternatives that were chosen, too. Returns
 * 0 or what `visit` returned. */
int named_files_each(const struct config_families *families, const struct config_field *fields, const void *bound,
                     named_file_fn visit, void *context);

#endif
