/* What can be wrong in a profile of our own format beyond a single field: its columns, the formats of a class, members
 * of a shape that contradict each other. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_SIMPLE_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_SIMPLE_H

#include "analysis/calibrate/profile/profile_format.h"

/* The finding "WHAT 'FIELD'" at a field of the row read last. Returns SIM_E_DATA. */
int profile_simple_fail(struct profile_reader *reader, int column, const char *hint, const char *what);

/* Whether the header, which was read last, has only columns that are known, each once, and one of time. Returns 0 or
 * SIM_E_DATA. */
int profile_simple_check_columns(struct profile_reader *reader);

/* The format that a member has where its field is empty: that of the class's weights, products in fp16 otherwise. */
enum number_format profile_simple_format(enum kernel_class class, const char *member);

/* Whether a complete call can be: its formats are those of its class, and no member contradicts another. Returns 0 or
 * SIM_E_DATA. */
int profile_simple_check_call(struct profile_reader *reader, const struct kernel_call *call);

#endif
