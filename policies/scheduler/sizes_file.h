/* Job sizes from a file: the history of a cluster that a scheduler may know. */
#ifndef ORRERY_POLICIES_SCHEDULER_SIZES_FILE_H
#define ORRERY_POLICIES_SCHEDULER_SIZES_FILE_H

#include "sim/core/err.h"
#include "sim/core/real_list.h"

/* Adds the column gpu_s (GPU-seconds, one job per row) of a CSV file, plain or gzip-compressed, and sorts the list in
 * rising order. Returns 0, SIM_E_NOMEM, SIM_E_IO, or SIM_E_DATA with a finding: an invalid size, or no row. */
int sizes_file_read(const char *path, struct real_list *sizes_gpu_s, struct diag *diag);

#endif
