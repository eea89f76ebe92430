/* The hash of a file of measurements, by which a fit names what it was made from. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_FILE_HASH_H
#define ORRERY_ANALYSIS_CALIBRATE_FILE_HASH_H

#include "sim/core/err.h"
#include "sim/core/hash.h"

/* XXH3-128 of the bytes, uncompressed. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int file_hash(const char *path, char hex[HASH_HEX_CHARS], struct diag *diag);

#endif
