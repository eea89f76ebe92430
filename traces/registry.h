/* The table of all trace formats and generators, also as alternatives of the configuration's families:
 * "request-trace", "job-trace" and "job-profile" (tag "format"), "arrival" (tag "process"), "length" (tag
 * "distribution"). Format files include it so that the compiler compares their definition with its declaration here. */
#ifndef ORRERY_TRACES_REGISTRY_H
#define ORRERY_TRACES_REGISTRY_H

#include "sim/core/config/config.h"
#include "sim/world/rows/source.h"

#include <stdbool.h>
#include <stddef.h>

#define TRACE_FORMAT(symbol) extern const struct trace_format symbol;
#include "traces/list.h"
#undef TRACE_FORMAT

size_t trace_format_count(void);

/* The index-th format in the order of list.h; index < trace_format_count(). */
const struct trace_format *trace_format_at(size_t index);

/* The format of this name, or NULL. Names are unique over requests and jobs. */
const struct trace_format *trace_format_find(const char *name);

/* A callback for struct config_families; `entry` is the struct trace_format, job_profile_format, arrival_process or
 * length_distribution. Returns false past the last alternative and for families of other rooms. */
bool trace_alternative(const void *context, const char *family, size_t index, struct config_alternative *out);

#endif
