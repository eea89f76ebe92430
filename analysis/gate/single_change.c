#include "analysis/gate/single_change.h"

#include "analysis/gate/scenario_change.h"

#include <stdbool.h>
#include <string.h>

static bool is_same(const struct json_node *a, const struct json_node *b)
{
    if (a == NULL || b == NULL) return a == b;
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind != JSON_OBJECT && a->kind != JSON_LIST) return strcmp(a->text, b->text) == 0;
    const struct json_node *other = b->first;
    for (const struct json_node *child = a->first; child != NULL; child = child->next) {
        if (!is_same(child, a->kind == JSON_LIST ? other : json_member(b, child->key))) return false;
        other = other->next;
    }
    return true;
}

/* Whether the members of two values are compared one by one: objects of the same name, or without one. */
static bool is_divided(const struct json_node *before, const struct json_node *now)
{
    if (before == NULL || now == NULL || before->kind != JSON_OBJECT || now->kind != JSON_OBJECT) return false;
    return is_same(json_name_member(before), json_name_member(now));
}

/* Both walks below go through the members of both scenarios in this order: those of `before`, then new ones. */
struct listing {
    struct arena *arena;
    struct single_change *changes; /* NULL: they are counted only */
    size_t n;
    bool failed;
};

static void list_value(void *context, const char *key, const struct json_node *before, const struct json_node *now)
{
    struct listing *listing = context;
    if (is_divided(before, now)) {
        listing->failed |= scenario_each_member(key, before, now, listing->arena, list_value, listing) != 0;
    } else if (!is_same(before, now)) {
        if (listing->changes != NULL) listing->changes[listing->n] = (struct single_change){key, before, now};
        listing->n++;
    }
}

int single_changes(const struct json_node *before, const struct json_node *now, struct arena *arena,
                   struct single_change **changes, size_t *n_changes)
{
    struct listing listing = {.arena = arena};
    list_value(&listing, "", before, now);
    *changes = listing.changes = arena_alloc(arena, (listing.n + 1) * sizeof **changes);
    *n_changes = 0;
    if (listing.failed || listing.changes == NULL) return SIM_E_NOMEM;
    listing.n = 0;
    list_value(&listing, "", before, now);
    *n_changes = listing.n;
    return listing.failed ? SIM_E_NOMEM : 0;
}

static void write_value(struct json_writer *writer, const char *key, const struct json_node *before,
                        const struct json_node *now, const struct single_change *change)
{
    if (is_divided(before, now)) {
        json_write_open(writer, key, '{');
        for (const struct json_node *member = before->first; member != NULL; member = member->next)
            write_value(writer, member->key, member, json_member(now, member->key), change);
        for (const struct json_node *member = now->first; member != NULL; member = member->next)
            if (json_member(before, member->key) == NULL) write_value(writer, member->key, NULL, member, change);
        json_write_close(writer, '}');
        return;
    }
    const bool is_taken = change != NULL && change->before == before && change->now == now;
    const struct json_node *value = is_taken ? now : before;
    if (value != NULL) scenario_write(writer, key, value);
}

void single_change_write(const struct json_node *before, const struct json_node *now,
                         const struct single_change *change, struct text *json)
{
    struct json_writer writer;
    json_writer_init(&writer, json);
    write_value(&writer, NULL, before, now, change);
}
