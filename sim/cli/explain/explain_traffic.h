/* What the collectives of one iteration send over each level of links, for replicas over nodes. */
#ifndef ORRERY_CLI_EXPLAIN_EXPLAIN_TRAFFIC_H
#define ORRERY_CLI_EXPLAIN_EXPLAIN_TRAFFIC_H

#include "sim/cli/answer.h"
#include "sim/cli/explain/explain_cost.h"

/* An empty table with its columns. */
void explain_traffic_init(struct answer_table *table);

/* Adds the levels of a pool; nothing if its replicas are on one node each, or its cost does not state what they send.
 * Returns 0 or a negative code with findings. */
int explain_traffic_add(struct cli *cli, const struct setup *setup, const struct modelled_pool *modelled,
                        const struct iteration_work *work, struct answer_table *table);

#endif
