/* The hardware of a cluster: what its file gives, with sources, and the switches that follow from it. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_CLUSTER_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_CLUSTER_H

#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"

/* Returns 0 or a negative code with findings: SIM_E_CONFIG without a GPU. `form`: enum answer_form. */
int explain_cluster(struct cli *cli, const struct setup *setup, int form);

#endif
