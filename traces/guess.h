/* The format of a trace from the beginning of its file, for scenarios and calls that name none.
 *
 * A format fits when the header has all its columns, the first JSON object all its keys, or the first row its form
 * (struct trace_format). A format gives way to one that fits and asks for more: request-log before csv. */
#ifndef ORRERY_TRACES_GUESS_H
#define ORRERY_TRACES_GUESS_H

#include "sim/core/err.h"
#include "sim/world/rows/source.h"

enum trace_kinds { TRACE_REQUESTS = 1, TRACE_JOBS = 2, TRACE_BOTH = 3 };

/* Finds the one format of these kinds that fits. Returns 0, SIM_E_DATA with `hint` when none or several fit, SIM_E_IO
 * or SIM_E_NOMEM. A pipe is not looked into, as its bytes come once: SIM_E_DATA. */
int trace_guess(const char *path, enum trace_kinds kinds, const char *hint, const struct trace_format **format,
                struct diag *diag);

/* Whether a regular file begins as JSON does: with an object or a list. */
bool trace_is_json(const char *path);

/* A callback for struct config_families, for the families request-trace and job-trace. */
const char *trace_guess_alternative(const void *context, const char *family, const char *key, const char *path,
                                    char problem[DIAG_TEXT_CHARS], char hint[DIAG_TEXT_CHARS]);

#endif
