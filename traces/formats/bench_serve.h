/* Results of the serving benchmarks of vLLM and SGLang, read as logs. */
#ifndef ORRERY_TRACES_FORMATS_BENCH_SERVE_H
#define ORRERY_TRACES_FORMATS_BENCH_SERVE_H

#include "traces/engine_log.h"

/* Reads the only benchmark of a file into `arena`, with its measured times. End-to-end time is the TTFT and the times
 * between tokens, as both programs count them. Ids and names are the places in the file's lists. Requests that failed
 * are left out. Returns 0, SIM_E_IO, SIM_E_DATA (no detailed lists, or no request that was served) or SIM_E_NOMEM. */
int bench_log_read(const char *path, struct arena *arena, struct engine_log *log, struct diag *diag);

#endif
