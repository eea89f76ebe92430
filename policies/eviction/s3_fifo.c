/* S3-FIFO: new items enter a small queue of a tenth of the room. At its end, items used more than once move to the main
 * queue and the others leave; a ghost queue, as long as the main queue, remembers their keys. A key that returns while
 * remembered goes to the main queue at once. At the main queue's end, an item used since goes round again, up to three
 * times.
 *
 * One item leaves at a time: if a promotion makes the main queue too long, the end of the main queue leaves instead of
 * that of the small one. An item that was in use returns to the beginning of its queue. */
#include "policies/declared.h"
#include "policies/eviction/items.h"
#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/world/policy/eviction.h"

enum { MAX_USES = 3 };

struct s3_params {
    double small_frac;
    int64_t promote_uses;
};

struct s3_fifo {
    struct s3_params params;
    struct item_list small, main;
    /* A ring of keys in the order in which they left the small queue. A returned key stays in it, but not in the
     * map. */
    uint64_t *ghosts;
    int64_t n_places, next_ghost; /* next_ghost: number of ghosts so far */
    struct key_map ghost_of;      /* key -> number of its ghost */
    int32_t demoted;              /* the victim if it leaves the small queue, plus 1 */
};

struct s3_item {
    struct item_link link;
    unsigned char uses; /* since it entered its queue, at most MAX_USES */
    bool is_main, is_listed;
};

/* Capacity of the small queue, at least 1. */
static int64_t small_items(const struct s3_fifo *s3, const struct cache_view *view)
{
    int64_t items = (int64_t)(s3->params.small_frac * (double)view->capacity);
    return items < 1 ? 1 : items;
}

static int64_t main_items(const struct s3_fifo *s3, const struct cache_view *view)
{
    int64_t items = view->capacity - small_items(s3, view);
    return items < 1 ? 1 : items;
}

static void list(struct s3_fifo *s3, const struct cache_view *view, int32_t item)
{
    struct s3_item *slot = cache_view_slot(view, item);
    item_list_add(slot->is_main ? &s3->main : &s3->small, view, item);
    slot->is_listed = true;
}

static void unlist(struct s3_fifo *s3, const struct cache_view *view, int32_t item)
{
    struct s3_item *slot = cache_view_slot(view, item);
    if (slot->is_listed) item_list_remove(slot->is_main ? &s3->main : &s3->small, view, item);
    slot->is_listed = false;
}

/* --- Ghosts --- */

static int remember(struct s3_fifo *s3, const struct cache_view *view, uint64_t key)
{
    if (s3->ghosts == NULL) {
        s3->n_places = main_items(s3, view);
        s3->ghosts = mem_alloc((size_t)s3->n_places * sizeof *s3->ghosts);
        if (s3->ghosts == NULL) return SIM_E_NOMEM;
    }
    int64_t number = s3->next_ghost++;
    uint64_t *place = &s3->ghosts[number % s3->n_places];
    if (number >= s3->n_places && key_map_find(&s3->ghost_of, *place) == number - s3->n_places)
        key_map_remove(&s3->ghost_of, *place);
    *place = key;
    return key_map_set(&s3->ghost_of, key, number);
}

/* --- Queues --- */

static int s3_notify(void *state, const struct cache_view *view, int32_t item, enum cache_event event)
{
    struct s3_fifo *s3 = state;
    struct s3_item *slot = cache_view_slot(view, item);
    int code = 0;
    switch (event) {
    case CACHE_INSERT:
        slot->is_main = key_map_find(&s3->ghost_of, cache_view_key(view, item)) >= 0;
        key_map_remove(&s3->ghost_of, cache_view_key(view, item));
        list(s3, view, item);
        break;
    case CACHE_HIT:
        if (slot->uses < MAX_USES) slot->uses++;
        break;
    case CACHE_ACQUIRE: unlist(s3, view, item); break;
    case CACHE_RELEASE: list(s3, view, item); break;
    case CACHE_FORGET:
        unlist(s3, view, item);
        if (s3->demoted == item + 1) code = remember(s3, view, cache_view_key(view, item));
        s3->demoted = 0;
        break;
    }
    return code;
}

/* The first unused item from the end of the main queue; used ones go round. */
static int32_t main_victim(struct s3_fifo *s3, const struct cache_view *view)
{
    for (;;) {
        int32_t item = item_list_front(&s3->main);
        struct s3_item *slot = cache_view_slot(view, item);
        if (slot->uses == 0) return item;
        slot->uses--;
        item_list_remove(&s3->main, view, item);
        item_list_add(&s3->main, view, item);
    }
}

static int32_t s3_victim(void *state, const struct cache_view *view)
{
    struct s3_fifo *s3 = state;
    while (s3->small.n > 0 && (s3->small.n >= small_items(s3, view) || s3->main.n == 0)) {
        int32_t item = item_list_front(&s3->small);
        struct s3_item *slot = cache_view_slot(view, item);
        if (slot->uses < s3->params.promote_uses) {
            s3->demoted = item + 1;
            return item;
        }
        unlist(s3, view, item);
        slot->is_main = true;
        slot->uses = 0;
        list(s3, view, item);
        if (s3->main.n > main_items(s3, view)) break;
    }
    return main_victim(s3, view);
}

static void s3_fini(void *state)
{
    struct s3_fifo *s3 = state;
    mem_free(s3->ghosts);
    key_map_fini(&s3->ghost_of);
}

#define ROW_OF struct s3_params
static const struct config_field params[] = {
    ROW_REAL("small", small_frac, DEFAULT("0.1"), WITHIN(0, 1), "share of the room for the small queue"),
    ROW_INT("promote", promote_uses, DEFAULT("2"), WITHIN(1, MAX_USES),
            "hits of a new item that promote it to the main queue"),
    {0}};
#undef ROW_OF

const struct evictor eviction_s3_fifo = {
    .policy = {POLICY_HEAD(evictor, POLICY_EVICTION),
               .name = "s3-fifo",
               .summary = "new items leave soon unless used again; a small, a main and a ghost queue",
               .source = "Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023",
               .params = params,
               .params_bytes = sizeof(struct s3_params),
               .state_bytes = sizeof(struct s3_fifo),
               .fini = s3_fini},
    .item_bytes = sizeof(struct s3_item),
    .notify = s3_notify,
    .victim = s3_victim,
};
