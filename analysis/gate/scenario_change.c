#include "analysis/gate/scenario_change.h"

#include "sim/core/units.h"

#include <string.h>

int scenario_each_member(const char *key, const struct json_node *before, const struct json_node *now,
                         struct arena *arena, scenario_member_fn visit, void *context)
{
    const struct json_node *const objects[] = {before, now};
    for (int i = 0; i < 2; i++)
        for (const struct json_node *member = objects[i]->first; member != NULL; member = member->next) {
            const struct json_node *old = json_member(before, member->key), *new = json_member(now, member->key);
            if (i == 1 && old != NULL) continue;
            const char *path = key[0] != 0 ? arena_printf(arena, "%s.%s", key, member->key) : member->key;
            if (path == NULL) return SIM_E_NOMEM;
            visit(context, path, old, new);
        }
    return 0;
}

/* A list being made. A failure is kept until its end. */
struct listing {
    struct arena *arena;
    struct scenario_change *changes;
    size_t n;
    bool failed;
};

static bool is_scalar(const struct json_node *node)
{
    return node->kind != JSON_OBJECT && node->kind != JSON_LIST;
}

bool scenario_shows_time(const struct json_node *node, char time[TIME_CHARS])
{
    const char *why;
    double seconds;
    if (node->kind != JSON_STRING || unit_parse(node->text, UNIT_TIME, &seconds, &why) != 0) return false;
    unit_format_time(seconds, time, TIME_CHARS);
    return true;
}

static const char *show(struct listing *listing, const struct json_node *node)
{
    if (node == NULL) return NULL;
    if (!is_scalar(node)) return node->kind == JSON_OBJECT ? "an object" : "a list";
    if (node->kind != JSON_STRING) return node->text;
    char time[TIME_CHARS];
    const char *text = scenario_shows_time(node, time) ? time : node->text;
    const char *shown = arena_printf(listing->arena, "\"%s\"", text);
    listing->failed |= shown == NULL;
    return shown;
}

static void add(struct listing *listing, const char *key, const struct json_node *before, const struct json_node *now)
{
    listing->changes[listing->n++] = (struct scenario_change){key, show(listing, before), show(listing, now)};
}

static void list_values(void *context, const char *key, const struct json_node *before, const struct json_node *now);

static void list_items(struct listing *listing, const char *key, const struct json_node *before,
                       const struct json_node *now)
{
    const struct json_node *old = before->first, *new = now->first;
    for (size_t i = 0; old != NULL || new != NULL; i++) {
        const char *path = arena_printf(listing->arena, "%s.%zu", key, i);
        listing->failed |= path == NULL;
        if (path != NULL) list_values(listing, path, old, new);
        old = old != NULL ? old->next : NULL;
        new = new != NULL ? new->next : NULL;
    }
}

static void list_values(void *context, const char *key, const struct json_node *before, const struct json_node *now)
{
    struct listing *listing = context;
    if (before == NULL || now == NULL || before->kind != now->kind)
        add(listing, key, before, now);
    else if (before->kind == JSON_OBJECT)
        listing->failed |= scenario_each_member(key, before, now, listing->arena, list_values, listing) != 0;
    else if (before->kind == JSON_LIST)
        list_items(listing, key, before, now);
    else if (strcmp(before->text, now->text) != 0)
        add(listing, key, before, now);
}

static size_t count_nodes(const struct json_node *node)
{
    size_t n = 1;
    if (is_scalar(node)) return n;
    for (const struct json_node *child = node->first; child != NULL; child = child->next) n += count_nodes(child);
    return n;
}

int scenario_changes(const struct json_node *before, const struct json_node *now, struct arena *arena,
                     struct scenario_change **changes, size_t *n_changes)
{
    const size_t most = count_nodes(before) + count_nodes(now);
    struct listing listing = {.arena = arena, .changes = arena_alloc(arena, most * sizeof *listing.changes)};
    if (listing.changes == NULL) return SIM_E_NOMEM;
    list_values(&listing, "", before, now);
    *changes = listing.changes;
    *n_changes = listing.n;
    return listing.failed ? SIM_E_NOMEM : 0;
}

void scenario_write(struct json_writer *writer, const char *key, const struct json_node *value)
{
    if (value->kind == JSON_STRING) {
        json_write_string(writer, key, value->text);
    } else if (is_scalar(value)) {
        json_write_key(writer, key);
        text_add(writer->text, value->text);
    } else {
        const bool is_object = value->kind == JSON_OBJECT;
        json_write_open_row(writer, key, is_object ? '{' : '[');
        for (const struct json_node *child = value->first; child != NULL; child = child->next)
            scenario_write(writer, is_object ? child->key : NULL, child);
        json_write_close(writer, is_object ? '}' : ']');
    }
}
