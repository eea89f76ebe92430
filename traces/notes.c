#include "traces/notes.h"

#include "sim/core/check.h"

#include <string.h>

char *notes_count(struct notes *notes, const char *code, const char *text)
{
    for (size_t i = 0; i < notes->n; i++) {
        if (strcmp(notes->items[i].code, code) != 0) continue;
        notes->items[i].count++;
        return NULL;
    }
    SIM_REQUIRE(notes->n < NOTES_MAX);
    struct notes_item *item = &notes->items[notes->n++];
    *item = (struct notes_item){.code = code, .text = text, .count = 1};
    return item->where;
}

bool notes_get(const struct notes *notes, size_t index, struct source_note *note)
{
    if (index >= notes->n) return false;
    const struct notes_item *item = &notes->items[index];
    *note = (struct source_note){
        .code = item->code, .text = item->text, .where = item->where[0] ? item->where : NULL, .count = item->count};
    return true;
}
