/* The paths between a GPU and the memories it reaches, with the rate of one GPU and of all GPUs of a node. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_LINKS_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_LINKS_H

#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

/* Returns 0 or a negative code with findings. */
int explain_links(struct cli *cli, const struct setup *setup, enum answer_form form);

#endif
