/* The library whose kernels a profile measured. Profiles do not state it: for those of the repository the part
 * "libraries" of configs/calibration/sources.json does, for others the user.
 *
 *     "libraries": [{"path": "__vllm0.14.0__", "library": "vLLM", "version": "0.14.0", "year": 2026, "source": "..."}]
 *
 * The part "calibration" of that file lists the repository's profiles. The first entry counts whose `path` is a part
 * of the profile's path in that list. A file that is not in it has no library, whatever its folders are called. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_LIBRARY_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_LIBRARY_H

#include "sim/catalog/catalog.h"
#include "sim/catalog/library.h"

/* The release behind a profile whose path ends in a listed one; release->library is NULL if it does not, if no entry
 * fits, or if the catalog has no sources.json. Texts live in `arena`. Returns 0, SIM_E_CONFIG (some entry is wrong),
 * SIM_E_IO or SIM_E_NOMEM. */
int profile_library_find(const struct catalog *catalog, const char *path, struct arena *arena,
                         struct library_release *release, struct diag *diag);

/* Reads "vLLM 0.14.0, 2026" or "NCCL, 2025": a library, a version that begins with a digit or "v", and a year. Returns
 * 0, SIM_E_USAGE or SIM_E_NOMEM. */
int profile_library_parse(const char *text, struct arena *arena, struct library_release *release, struct diag *diag);

#endif
