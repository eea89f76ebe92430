/* The table of a figure's file, and the kinds of claims as its only family. */
#ifndef ORRERY_ANALYSIS_FIGURE_FIELDS_H
#define ORRERY_ANALYSIS_FIGURE_FIELDS_H

#include "sim/core/config/config.h"

extern const struct config_field figure_fields[]; /* of struct figure */
extern const struct config_families figure_families;

#endif
