#include "sim/study/nest.h"

#include "sim/core/config/config_tree.h"
#include "sim/core/json_scan.h"

#include <string.h>

bool nest_is_key(const char *key)
{
    int depth = 0;
    for (; depth < JSON_MAX_DEPTH && *key != '.' && *key != 0; depth++) {
        key += strcspn(key, ".=");
        if (*key != '.') return *key == 0;
        key++;
    }
    return false;
}

bool nest_within(const char *outer, const char *inner)
{
    size_t n = strlen(outer);
    return strncmp(outer, inner, n) == 0 && inner[n] == '.';
}

bool nest_is_variant(const struct json_node *node)
{
    return json_name_member(node) != NULL;
}

/* Parses the value as an object; NULL if it is none. */
static struct json_node *read_as_object(const char *value, struct arena *arena)
{
    const struct json_source source = {.name = "", .directory = "."};
    struct json_node *node;
    if (value[0] != '{' || json_parse(arena, &source, value, strlen(value), &node, NULL) != 0) return NULL;
    return node;
}

bool nest_replaces(const char *value, struct arena *arena)
{
    const struct json_node *node = read_as_object(value, arena);
    return node == NULL || nest_is_variant(node);
}

bool nest_has(const char *value, const char *path, struct arena *arena)
{
    const struct config document = {.root = read_as_object(value, arena)};
    const char *rest;
    if (document.root == NULL) return false;
    const struct json_node *node = config_find(&document, path, &rest);
    return *rest == 0 || (node != document.root && node->kind != JSON_OBJECT);
}
