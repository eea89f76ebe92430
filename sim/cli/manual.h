/* What is made from the tables of verbs and options besides the help: the manual page and the completion of shells. */
#ifndef ORRERY_CLI_MANUAL_H
#define ORRERY_CLI_MANUAL_H

#include "sim/cli/cli.h"

#include <stdio.h>

/* The manual page, section 1, for man(1). */
void manual_page(FILE *out);

/* A script for bash that completes verbs, options, their choices, and names that `orrery list` knows. */
void manual_bash(FILE *out);

#endif
