#include "sim/world/cluster/nodeset.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <stddef.h>

int nodeset_init(struct nodeset *set, int32_t n_ids)
{
    *set = (struct nodeset){.n_ids = n_ids};
    int64_t n_words = n_ids;
    do {
        n_words = (n_words + 63) / 64;
        set->words[set->n_levels] = mem_zalloc((size_t)n_words + 1, sizeof(uint64_t));
        if (set->words[set->n_levels++] == NULL) {
            nodeset_fini(set);
            return SIM_E_NOMEM;
        }
    } while (n_words > 1);
    return 0;
}

void nodeset_fini(struct nodeset *set)
{
    for (int32_t i = 0; i < set->n_levels; i++) mem_free(set->words[i]);
    *set = (struct nodeset){0};
}

void nodeset_add(struct nodeset *set, int32_t id)
{
    SIM_ASSERT(id >= 0 && id < set->n_ids && !(set->words[0][id >> 6] >> (id & 63) & 1));
    set->n_members++;
    for (int32_t level = 0; level < set->n_levels; level++, id >>= 6) {
        uint64_t before = set->words[level][id >> 6];
        set->words[level][id >> 6] = before | UINT64_C(1) << (id & 63);
        if (before != 0) return;
    }
}

void nodeset_remove(struct nodeset *set, int32_t id)
{
    SIM_ASSERT(id >= 0 && id < set->n_ids && (set->words[0][id >> 6] >> (id & 63) & 1));
    set->n_members--;
    for (int32_t level = 0; level < set->n_levels; level++, id >>= 6) {
        uint64_t after = set->words[level][id >> 6] & ~(UINT64_C(1) << (id & 63));
        set->words[level][id >> 6] = after;
        if (after != 0) return;
    }
}

/* The lowest id below the set bit `id` of this level. */
static int32_t descend(const struct nodeset *set, int32_t level, int32_t id)
{
    while (level-- > 0) id = id << 6 | (int32_t)__builtin_ctzll(set->words[level][id]);
    return id;
}

int32_t nodeset_next(const struct nodeset *set, int32_t from)
{
    if (from >= set->n_ids) return -1;
    int64_t id = from;
    for (int32_t level = 0; level < set->n_levels; level++, id = (id >> 6) + 1) {
        uint64_t word = set->words[level][id >> 6] >> (id & 63);
        if (word != 0) return descend(set, level, (int32_t)id + (int32_t)__builtin_ctzll(word));
    }
    return -1;
}
