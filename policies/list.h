/* Every policy, one line each: POLICY(struct of its family, symbol). The order is the order of listings. Whoever includes
 * this file defines POLICY first; registry.h turns it into declarations, registry.c into the table. */

/* batching */

/* routing */

/* scheduler */

/* placement */
