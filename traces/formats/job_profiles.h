/* Formats of measured speeds of job types, the family "job-profile". */
#ifndef ORRERY_TRACES_FORMATS_JOB_PROFILES_H
#define ORRERY_TRACES_FORMATS_JOB_PROFILES_H

#include "sim/world/rows/source.h"

extern const struct job_profile_format job_profile_gavel, job_profile_muri, job_profile_shockwave;

#endif
