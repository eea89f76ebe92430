#include "policies/eviction/marks.h"

void marks_fini(struct marks *marks)
{
    for (int i = 0; i < 4; i++) item_set_fini(&marks->sets[i / 2][i % 2]);
}

void marks_remove(struct marks *marks, const struct cache_view *view, int32_t item)
{
    struct marked_item *slot = cache_view_slot(view, item);
    if (slot->is_listed) item_set_remove(&marks->sets[slot->age][slot->bit], view, item);
    slot->is_listed = false;
}

int marks_use(struct marks *marks, const struct cache_view *view, int32_t item, bool bit)
{
    struct marked_item *slot = cache_view_slot(view, item);
    marks_remove(marks, view, item);
    slot->age = (unsigned char)marks->marked;
    slot->bit = bit;
    int code = item_set_add(&marks->sets[slot->age][slot->bit], view, item);
    slot->is_listed = code == 0;
    return code;
}

int32_t marks_victim(struct marks *marks, const struct cache_view *view)
{
    if (!marks->started) cache_view_stream(view, "marking", &marks->rng);
    marks->started = true;
    const struct item_set *unmarked = marks->sets[!marks->marked];
    if (unmarked[0].n + unmarked[1].n == 0) {
        unmarked = marks->sets[marks->marked];
        marks->marked = !marks->marked;
    }
    return item_set_draw(unmarked[1].n > 0 ? &unmarked[1] : &unmarked[0], &marks->rng);
}
