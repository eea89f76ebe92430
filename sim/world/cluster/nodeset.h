/* A set of node ids with a fast "next member": a bitmap with a summary word above every 64 words, and so on. Adding,
 * removing and finding the next member take one step per level: four levels hold 16 million nodes. */
#ifndef ORRERY_WORLD_CLUSTER_NODESET_H
#define ORRERY_WORLD_CLUSTER_NODESET_H

#include <stdint.h>

enum { NODESET_MAX_LEVELS = 6 };

struct nodeset {
    uint64_t *words[NODESET_MAX_LEVELS]; /* words[0]: the members; words[i + 1]: which words of level i are not zero */
    int32_t n_levels;
    int32_t n_ids;     /* ids are 0 .. n_ids - 1 */
    int32_t n_members;
};

int nodeset_init(struct nodeset *set, int32_t n_ids); /* empty; 0 or SIM_E_NOMEM */
void nodeset_fini(struct nodeset *set);

void nodeset_add(struct nodeset *set, int32_t id);    /* not a member before */
void nodeset_remove(struct nodeset *set, int32_t id); /* a member before */

/* The lowest member >= `from`, or -1. */
int32_t nodeset_next(const struct nodeset *set, int32_t from);

#endif
