/* The manual page, generated from the tables of verbs and options like the help. */
#ifndef ORRERY_CLI_MANUAL_H
#define ORRERY_CLI_MANUAL_H

#include "sim/cli/cli.h"

#include <stdio.h>

/* The manual page, section 1, for man(1). */
void manual_page(FILE *out);

#endif
