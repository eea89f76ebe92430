/* Output generated from the tables of verbs and options, besides the help: the manual page and the shell completion. */
#ifndef ORRERY_CLI_MANUAL_H
#define ORRERY_CLI_MANUAL_H

#include "sim/cli/cli.h"

#include <stdio.h>

/* The manual page, section 1, for man(1). */
void manual_page(FILE *out);

/* A bash script that completes verbs, options, choices, and the names of `orrery list`. */
void manual_bash(FILE *out);

#endif
