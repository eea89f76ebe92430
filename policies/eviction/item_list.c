#include "policies/eviction/item_list.h"

int32_t item_list_front(const struct item_list *list)
{
    return list->front - 1;
}

/* Of an item plus 1. */
static struct item_link *link_of(const struct cache_view *view, int32_t item_1)
{
    return cache_view_slot(view, item_1 - 1);
}

void item_list_add(struct item_list *list, const struct cache_view *view, int32_t item)
{
    struct item_link *link = cache_view_slot(view, item);
    *link = (struct item_link){.before = list->back};
    *(list->back != 0 ? &link_of(view, list->back)->after : &list->front) = item + 1;
    list->back = item + 1;
    list->n++;
}

void item_list_remove(struct item_list *list, const struct cache_view *view, int32_t item)
{
    const struct item_link *link = cache_view_slot(view, item);
    *(link->before != 0 ? &link_of(view, link->before)->after : &list->front) = link->after;
    *(link->after != 0 ? &link_of(view, link->after)->before : &list->back) = link->before;
    list->n--;
}
