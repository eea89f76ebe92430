#include "tests/support/worlds/reach.h"

#include "sim/core/check.h"

#include <stdio.h>
#include <string.h>

bool reach_needs_file(const struct config_field *fields)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        const bool is_required = (field->flags & CONFIG_REQUIRED) != 0;
        if (is_required && field->kind == CONFIG_PATH) return true;
        if (field->kind == CONFIG_SECTION && !(field->flags & CONFIG_OPTIONAL) && reach_needs_file(field->fields))
            return true;
    }
    return false;
}

const void *reach_thing(const struct config_alternative *alternative)
{
    return alternative->entry != NULL ? alternative->entry : alternative->name;
}

static struct reach_item *find(struct reach *reach, const void *thing)
{
    for (size_t i = 0; i < reach->n; i++)
        if (reach->items[i].thing == thing) return &reach->items[i];
    return NULL;
}

static bool add(struct reach *reach, const void *thing, bool is_alternative, const char *prefix, const char *between,
                const char *name)
{
    if (find(reach, thing) != NULL) return false;
    SIM_REQUIRE(reach->n < REACH_MAX);
    struct reach_item *item = &reach->items[reach->n++];
    *item = (struct reach_item){.thing = thing, .is_alternative = is_alternative};
    snprintf(item->label, sizeof item->label, "%s%s%s", prefix, between, name);
    return true;
}

/* Where the walk is. */
struct walk {
    struct reach *reach;
    const struct config_families *families;
    const char *prefix;
};

static int walk_key(void *context, const char *path, const struct config_field *field);

static void walk_family(const struct walk *walk, const char *family)
{
    struct config_alternative alternative;
    for (size_t i = 0; walk->families->alternative(walk->families->context, family, i, &alternative); i++) {
        if (reach_needs_file(alternative.fields)) continue;
        if (!add(walk->reach, reach_thing(&alternative), true, family, "=", alternative.name)) continue;
        char prefix[REACH_LABEL_CHARS];
        snprintf(prefix, sizeof prefix, "%s.%s.", family, alternative.name);
        struct walk below = {walk->reach, walk->families, prefix};
        config_each_key(alternative.fields, walk_key, &below);
    }
}

static int walk_key(void *context, const char *path, const struct config_field *field)
{
    const struct walk *walk = context;
    add(walk->reach, field, false, walk->prefix, "", path);
    if (field->kind == CONFIG_VARIANT) walk_family(walk, field->family);
    return 0;
}

void reach_init(struct reach *reach, const struct config_field *fields, const struct config_families *families)
{
    struct walk walk = {reach, families, ""};
    reach->n = 0;
    config_each_key(fields, walk_key, &walk);
}

void reach_note(struct reach_world *world, const void *thing)
{
    for (size_t i = 0; i < world->n; i++)
        if (world->things[i] == thing) return;
    SIM_REQUIRE(world->n < REACH_MAX);
    world->things[world->n++] = thing;
}

void reach_count(struct reach *reach, const struct reach_world *world, bool is_valid)
{
    for (size_t i = 0; i < world->n; i++) {
        struct reach_item *item = find(reach, world->things[i]);
        if (item == NULL) continue;
        __atomic_add_fetch(&item->n_drawn, 1, __ATOMIC_RELAXED);
        if (is_valid) __atomic_add_fetch(&item->n_valid, 1, __ATOMIC_RELAXED);
    }
}

void reach_sum(const struct reach *reach, bool of_alternatives, size_t *n, size_t *n_valid)
{
    *n = *n_valid = 0;
    for (size_t i = 0; i < reach->n; i++) {
        if (reach->items[i].is_alternative != of_alternatives) continue;
        ++*n;
        *n_valid += reach->items[i].n_valid > 0;
    }
}
